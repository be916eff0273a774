//! Recorded verdicts of the statements of a paper: `verdicts.csv`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::conclusion::{expected, follows};
use super::row::{Answer, Row};
use super::{Report, ReproduceError};
use crate::paper::Paper;
use crate::results::read_csv;
use crate::run::RESULTS_VERSION;
use crate::verdict::Conclusion;

/// File with the verdicts, in the folder of a paper.
pub const VERDICTS: &str = "verdicts.csv";

const HEADER: [&str; 9] =
    ["id", "verdict", "n", "measured", "low", "high", "expected", "form", "results"];

/// The last verdict of a statement.
#[derive(Clone, PartialEq, Debug)]
pub struct Recorded {
    /// Name of the statement.
    pub id: String,
    /// The verdict.
    pub verdict: Answer,
    /// Runs behind the number.
    pub n: usize,
    /// The number, its interval and the required range, as text.
    pub numbers: [String; 4],
    /// `quick` or `full`.
    pub form: String,
    /// Version of the results on which it is based.
    pub results: u32,
}

impl Recorded {
    fn of(row: &Row, form: &str) -> Self {
        let number = |number: Option<f64>| number.map_or(String::new(), |x| format!("{x:.6}"));
        let interval = row.interval.filter(|interval| interval.half_width().is_finite());
        Self {
            id: row.id.clone(),
            verdict: row.verdict,
            n: row.n,
            numbers: [
                number(row.measured),
                number(interval.map(|interval| interval.low)),
                number(interval.map(|interval| interval.high)),
                row.expected.clone().unwrap_or_default(),
            ],
            form: form.to_owned(),
            results: RESULTS_VERSION,
        }
    }

    /// A conclusion from the recorded verdicts that it rests on; `None` if one of them is missing. It is of the quick form if one
    /// of them is.
    fn concluded(conclusion: &Conclusion, known: &BTreeMap<String, Self>) -> Option<Self> {
        let grounds: Option<Vec<&Self>> = conclusion.from.iter().map(|id| known.get(id)).collect();
        let grounds = grounds?;
        let verdicts: Vec<Answer> = grounds.iter().map(|row| row.verdict).collect();
        let holds = verdicts.iter().filter(|verdict| **verdict == Answer::Holds).count();
        let quick = grounds.iter().find(|row| row.form != "full");
        let none = String::new();
        Some(Self {
            id: conclusion.id.clone(),
            verdict: follows(&verdicts),
            n: grounds.iter().map(|row| row.n).min().unwrap_or_default(),
            numbers: [format!("{:.6}", holds as f64), none.clone(), none, expected(conclusion)],
            form: quick.map_or_else(|| "full".to_owned(), |row| row.form.clone()),
            results: grounds.iter().map(|row| row.results).min().unwrap_or(RESULTS_VERSION),
        })
    }

    /// From a line of the file; `None` if it is invalid.
    fn read(fields: Vec<String>) -> Option<Self> {
        let [id, verdict, n, measured, low, high, expected, form, results] =
            <[String; HEADER.len()]>::try_from(fields).ok()?;
        let verdict = Answer::ALL.into_iter().find(|answer| answer.name() == verdict)?;
        let numbers = [measured, low, high, expected];
        let (n, results) = (n.parse().ok()?, results.parse().ok()?);
        Some(Self { id, verdict, n, numbers, form, results })
    }

    fn line(&self) -> String {
        let [measured, low, high, expected] = &self.numbers;
        let (n, results) = (self.n.to_string(), self.results.to_string());
        let fields: [&str; HEADER.len()] = [
            &self.id,
            self.verdict.name(),
            &n,
            measured,
            low,
            high,
            expected,
            &self.form,
            &results,
        ];
        fields.join(",") + "\n"
    }

    /// Whether it replaces an earlier one. One of the full form or from more runs stays, unless its results are of another
    /// version, or the statement expected something else then; and no verdict is removed because nothing was run this time.
    fn replaces(&self, other: &Self) -> bool {
        let knows = |of: &Self| (of.form == "full", of.n);
        match (self.verdict, other.verdict) {
            (Answer::NotRun, now) if now != Answer::NotRun => false,
            (now, Answer::NotRun) if now != Answer::NotRun => true,
            _ => {
                let expected = |of: &Self| of.numbers[3].clone();
                other.results != self.results
                    || expected(self) != expected(other)
                    || knows(self) >= knows(other)
            }
        }
    }
}

/// Reads the verdicts of a paper; empty without a file. Invalid lines are ignored.
pub fn read(folder: &Path) -> Vec<Recorded> {
    let text = fs::read_to_string(folder.join(VERDICTS)).unwrap_or_default();
    let lines = read_csv(&text).into_iter().skip(1);
    lines.filter_map(|(_, fields)| Recorded::read(fields)).collect()
}

impl Report {
    /// Records the verdicts in the folders of the papers, in the order of the statements. A verdict stays as it is if the
    /// statement was not judged now, or was judged from more runs before. Conclusions follow from what is then recorded. Returns
    /// the files.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn record(&self, papers: &[Paper]) -> Result<Vec<PathBuf>, ReproduceError> {
        let mut files = Vec::new();
        for report in &self.papers {
            let Some(paper) = papers.iter().find(|paper| paper.key() == report.key) else {
                continue;
            };
            let mut known: BTreeMap<String, Recorded> =
                read(&paper.folder).into_iter().map(|row| (row.id.clone(), row)).collect();
            for row in &report.statements {
                let new = Recorded::of(row, self.extent);
                if known.get(&row.id).is_none_or(|old| new.replaces(old)) {
                    known.insert(row.id.clone(), new);
                }
            }
            for conclusion in &paper.expectations.conclusions {
                let concluded = Recorded::concluded(conclusion, &known);
                known.extend(concluded.map(|row| (row.id.clone(), row)));
            }
            let ids = paper.expectations.ids();
            let lines = ids.iter().filter_map(|id| known.get(*id)).map(Recorded::line);
            let path = paper.folder.join(VERDICTS);
            let text = HEADER.join(",") + "\n" + &lines.collect::<String>();
            fs::write(&path, text)
                .map_err(|error| ReproduceError::Io { path: path.clone(), error })?;
            files.push(path);
        }
        Ok(files)
    }
}

/// The recorded verdicts as a table in Markdown: a row for each paper that has some, and the sums.
pub fn table(papers: &[Paper]) -> String {
    let mut text = "| paper | figures, tables, sections | statements | of them ours | hold | differ, cause shown | \
                    undecided | not run |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n"
        .to_owned();
    let mut sums = [0; 7];
    for paper in papers.iter().filter(|paper| paper.folder.join(VERDICTS).exists()) {
        let counts = counts(paper);
        sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        text += &line(&format!("`{}`", paper.key()), counts);
    }
    text + &line("all", sums)
}

fn line(name: &str, counts: [usize; 7]) -> String {
    let cells: Vec<String> = counts.iter().map(ToString::to_string).collect();
    format!("| {name} | {} |\n", cells.join(" | "))
}

/// Numbers of figures, statements, our own statements, and each verdict, in this order.
fn counts(paper: &Paper) -> [usize; 7] {
    let rows = read(&paper.folder);
    let count = |answer| rows.iter().filter(|row| row.verdict == answer).count();
    let [holds, differs, undecided, not_run] = Answer::ALL.map(count);
    let figures = paper.expectations.figures().len();
    let ours = paper.expectations.statements.iter().filter(|row| row.ours).count();
    [figures, rows.len(), ours, holds, differs, undecided, not_run]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::Expectations;

    fn recorded(verdict: Answer, n: usize, form: &str, results: u32) -> Recorded {
        let numbers = ["1.5", "1", "2", "above 0"].map(str::to_owned);
        Recorded { id: "p-1".into(), verdict, n, numbers, form: form.into(), results }
    }

    #[test]
    fn lines_read_back() {
        let row = recorded(Answer::NotRun, 7, "quick", 3);
        let fields = row.line().trim_end().split(',').map(str::to_owned).collect();
        assert_eq!(Recorded::read(fields), Some(row));
        assert_eq!(Recorded::read(vec!["p-1".into()]), None);
    }

    #[test]
    fn what_knows_more_stays() {
        use Answer::{Differs, Holds, NotRun, Undecided};
        let old = recorded(Undecided, 8, "quick", 1);
        for (new, expected) in [
            (recorded(Holds, 8, "quick", 1), true),
            (recorded(Holds, 7, "quick", 1), false),
            (recorded(Differs, 1, "full", 1), true),
            (recorded(Differs, 1, "quick", 2), true),
            (recorded(NotRun, 0, "full", 1), false),
            (recorded(NotRun, 0, "full", 2), false),
        ] {
            assert_eq!(new.replaces(&old), expected, "{new:?}");
        }
        let mut other = recorded(Holds, 2, "quick", 1);
        other.numbers[3] = "at least 20 %".into();
        assert!(other.replaces(&old), "the old verdict is about another rule");
    }

    #[test]
    fn conclusions_follow_from_what_is_recorded() {
        let conclusion = Conclusion {
            id: "p-c".into(),
            figure: "conclusions".into(),
            statement: "therefore".into(),
            from: vec!["p-1".into(), "p-2".into()],
            cause: None,
            shown_by: Vec::new(),
        };
        let row = |id: &str, verdict, n, form| {
            (id.to_owned(), Recorded { id: id.into(), ..recorded(verdict, n, form, 3) })
        };
        let first = row("p-1", Answer::Holds, 8, "full");
        let mut known = BTreeMap::from([first]);
        assert_eq!(Recorded::concluded(&conclusion, &known), None, "p-2 has no verdict");
        for (verdict, form, expected) in [
            (Answer::Holds, "full", (Answer::Holds, 4, "full", "2.000000")),
            (Answer::Differs, "quick", (Answer::Differs, 4, "quick", "1.000000")),
            (Answer::Undecided, "full", (Answer::Undecided, 4, "full", "1.000000")),
        ] {
            known.extend([row("p-2", verdict, 4, form)]);
            let found = Recorded::concluded(&conclusion, &known).expect("a verdict");
            let [holds, low, ..] = &found.numbers;
            assert_eq!((found.verdict, found.n, &*found.form, &**holds), expected);
            assert!(low.is_empty());
        }
    }

    /// A cause is known for whatever differs, every statement has a verdict where verdicts were recorded, and nothing else
    /// has one.
    #[test]
    fn the_records_of_the_project_are_complete() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../papers");
        let papers = Paper::read_all(Path::new(folder)).expect("papers");
        for paper in papers.iter().filter(|paper| paper.folder.join(VERDICTS).exists()) {
            let rows = read(&paper.folder);
            let ids: Vec<&str> = rows.iter().map(|row| row.id.as_str()).collect();
            let Paper { expectations, .. } = paper;
            assert_eq!(ids, expectations.ids(), "`polypath reproduce {} --record`", paper.key());
            for row in rows.iter().filter(|row| row.verdict == Answer::Differs) {
                assert!(is_known(expectations, &row.id), "{} differs without a cause", row.id);
            }
        }
    }

    /// A conclusion differs for what it rests on, which has causes of its own.
    fn is_known(expectations: &Expectations, id: &str) -> bool {
        let rests_on = |row: &crate::verdict::Conclusion| row.id == id && !row.from.is_empty();
        expectations.conclusions.iter().any(rests_on)
            || expectations.causes().iter().any(|cause| cause.id == id && cause.words.is_some())
    }
}
