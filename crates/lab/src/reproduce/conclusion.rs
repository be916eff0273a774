//! Conclusions of papers from their figures.

use super::row::{Answer, Row};
use crate::verdict::Conclusion;

/// A conclusion holds if all statements that it rests on hold, and differs if one of them differs.
pub(super) fn conclude(paper: &str, conclusion: &Conclusion, rows: &[Row]) -> Row {
    let grounds: Vec<&Row> = rows.iter().filter(|row| conclusion.from.contains(&row.id)).collect();
    let count = |answer| grounds.iter().filter(|row| row.verdict == answer).count();
    let holds = count(Answer::Holds);
    let verdict = if count(Answer::Differs) > 0 {
        Answer::Differs
    } else if holds == conclusion.from.len() {
        Answer::Holds
    } else if count(Answer::NotRun) == grounds.len() {
        Answer::NotRun
    } else {
        Answer::Undecided
    };
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
        expected: Some(format!("all {} statements that it rests on", conclusion.from.len())),
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
