//! Conclusions of papers from their figures.

use super::row::{Answer, Row};
use crate::verdict::Conclusion;

/// The verdict of a conclusion from those of the statements that it rests on: it holds if all of them hold, and differs if one
/// differs.
pub(super) fn follows(grounds: &[Answer]) -> Answer {
    let all = |answer| grounds.iter().all(|ground| *ground == answer);
    if grounds.contains(&Answer::Differs) {
        Answer::Differs
    } else if all(Answer::NotRun) {
        Answer::NotRun
    } else if all(Answer::Holds) {
        Answer::Holds
    } else {
        Answer::Undecided
    }
}

/// Text of the expected number: that of all statements that a conclusion rests on.
pub(super) fn expected(conclusion: &Conclusion) -> String {
    format!("all {} statements that it rests on", conclusion.from.len())
}

/// A conclusion, from the verdicts of a run.
pub(super) fn conclude(paper: &str, conclusion: &Conclusion, rows: &[Row]) -> Row {
    let grounds: Vec<&Row> = rows.iter().filter(|row| conclusion.from.contains(&row.id)).collect();
    let holds = grounds.iter().filter(|row| row.verdict == Answer::Holds).count();
    let verdict = follows(&grounds.iter().map(|row| row.verdict).collect::<Vec<_>>());
    let others: Vec<String> = grounds
        .iter()
        .filter(|row| row.verdict != Answer::Holds)
        .map(|row| format!("{} {}", row.id, row.verdict.name()))
        .collect();
    let grounds_text = (!others.is_empty()).then(|| format!("It rests on: {}.", others.join(", ")));
    let cause = conclusion.cause.clone().filter(|_| verdict == Answer::Differs);
    let cause: Vec<String> = cause.into_iter().chain(grounds_text).collect();
    Row {
        id: conclusion.id.clone(),
        paper: paper.to_owned(),
        figure: conclusion.figure.clone(),
        study: None,
        statement: conclusion.statement.clone(),
        rule: Some("all of"),
        n: grounds.iter().map(|row| row.n).min().unwrap_or_default(),
        verdict,
        measured: Some(holds as f64),
        interval: None,
        place: None,
        unit: String::new(),
        expected: Some(expected(conclusion)),
        cause: (!cause.is_empty()).then(|| cause.join(" ")),
        shown_by: match verdict {
            Answer::Differs => conclusion.shown_by.clone(),
            Answer::Holds | Answer::Undecided | Answer::NotRun => Vec::new(),
        },
        places: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::NotRun;

    fn verdict(answers: &[Answer]) -> Answer {
        let row = |(number, answer): (usize, &Answer)| {
            let not_run = NotRun {
                id: format!("p-{number}"),
                figure: "1".into(),
                statement: "words".into(),
                reason: "none".into(),
            };
            Row { verdict: *answer, ..Row::not_run("p", &not_run) }
        };
        let rows: Vec<Row> = answers.iter().enumerate().map(row).collect();
        let conclusion = Conclusion {
            id: "p-c".into(),
            figure: "conclusions".into(),
            statement: "therefore".into(),
            from: rows.iter().map(|row| row.id.clone()).collect(),
            cause: None,
            shown_by: Vec::new(),
        };
        conclude("p", &conclusion, &rows).verdict
    }

    #[test]
    fn a_conclusion_is_as_good_as_what_it_rests_on() {
        use Answer::{Differs, Holds, Undecided};
        for (answers, expected) in [
            (vec![Holds, Holds], Holds),
            (vec![Holds, Undecided], Undecided),
            (vec![Holds, Answer::NotRun], Undecided),
            (vec![Answer::NotRun, Answer::NotRun], Answer::NotRun),
            (vec![Undecided, Differs], Differs),
        ] {
            assert_eq!(verdict(&answers), expected, "{answers:?}");
        }
    }
}
