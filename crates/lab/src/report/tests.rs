use std::collections::BTreeMap;

use super::*;
use crate::reproduce::{Agreement, Beside, StudyFailure, StudyReport};
use crate::run::{Program, Status};
use crate::stats::{Estimate, Interval};

pub(super) fn row(id: &str, verdict: Answer) -> Row {
    Row {
        id: id.into(),
        paper: "p".into(),
        figure: "4, <left>".into(),
        study: Some("fig4.toml".into()),
        statement: format!("{id}: a & b are \"alike\""),
        rule: Some("better"),
        n: 3,
        verdict,
        measured: Some(0.251_234),
        interval: Some(Interval { low: 0.2, high: 0.3 }),
        place: None,
        unit: "1".into(),
        expected: Some("at least 20 %".into()),
        cause: (verdict == Answer::Differs).then(|| "because of <b>".into()),
        shown_by: match verdict {
            Answer::Differs => vec!["p-2".into(), "fig<1>.toml".into()],
            _ => Vec::new(),
        },
        places: Vec::new(),
    }
}

fn beside(value: f64, agreement: Agreement) -> Beside {
    let ours = Estimate { value, interval: Interval::around(value, 1.0), n: 3 };
    Beside {
        figure: "4".into(),
        study: "fig4.toml".into(),
        curve: "cmt".into(),
        x: "1 %".into(),
        unit: "Mbit/s".into(),
        ours: Some(ours),
        theirs: 10.0,
        their_interval: Interval::around(10.0, 0.5),
        tool: "tool 1.0".into(),
        agreement,
        note: (agreement == Agreement::Differs).then(|| "a timer".into()),
    }
}

fn report() -> Report {
    let study = StudyReport {
        study: "fig4.toml".into(),
        title: "a study".into(),
        directory: "nowhere".into(),
        rows: 6,
        new: 6,
        statuses: BTreeMap::from([(Status::Ok, 5), (Status::Crashed, 1)]),
        errors: vec!["it <broke>".into()],
        seed: 7,
        deterministic: false,
        points: 2,
        variants: 3,
        core_s: 100.0,
        programs: vec!["1.0 (abc) on here".into()],
        pictures: Vec::new(),
    };
    let paper = PaperReport {
        key: "p".into(),
        title: "p: a paper".into(),
        figure: None,
        statements: Answer::ALL
            .iter()
            .map(|answer| row(&format!("p-{}", *answer as u8), *answer))
            .collect(),
        references: vec![beside(10.2, Agreement::Agrees), beside(14.0, Agreement::Differs)],
        studies: vec![study],
        failures: vec![StudyFailure { study: "fig9.toml".into(), error: "no <disk>".into() }],
        left_out: Vec::new(),
        core_s: 100.0,
        wall_s: 50.0,
    };
    Report {
        program: Program { version: "0.1".into(), revision: "abc".into(), host: "here".into() },
        extent: "quick",
        runs: None,
        target: "all".into(),
        shard: None,
        complete: true,
        verdicts: BTreeMap::new(),
        papers: vec![paper],
        wall_s: 50.0,
    }
}

const WORDS: &str = "# p: a paper\n\nIt claims.\n\n## What differs\n\nMuch.\n";

/// Void elements.
const VOID: [&str; 5] = ["meta", "link", "br", "img", "input"];

/// Checks that every element is closed in its order; returns all tags with their attributes.
fn tags(html: &str) -> Vec<String> {
    let body = html.strip_prefix("<!DOCTYPE html>").expect("HTML");
    let (mut open, mut tags) = (Vec::new(), Vec::new());
    let mut rest = body;
    while let Some((_, after)) = rest.split_once('<') {
        let (tag, after) = after.split_once('>').expect("a tag that ends");
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name.to_owned()), "an element that is not closed");
            continue;
        }
        let name = tag.split([' ', '\n']).next().unwrap_or_default().to_owned();
        tags.push(tag.to_owned());
        if tag.ends_with('/') || VOID.contains(&name.as_str()) {
            continue;
        }
        if name == "style" {
            (_, rest) = rest.split_once("</style>").expect("a style that ends");
            continue;
        }
        open.push(name);
    }
    assert!(open.is_empty(), "{open:?}");
    tags
}

fn pages() -> [String; 2] {
    let report = report();
    let page = paper_page(&report, &report.papers[0], WORDS).expect("a page");
    [page, index_page(&report, &[("p", "p/report.html".into())])]
}

#[test]
fn pages_are_whole_and_need_nothing_else() {
    for page in pages() {
        let tags = tags(&page);
        let mut ids = std::collections::BTreeSet::new();
        for tag in &tags {
            let value = |name: &str| {
                let (_, value) = tag.split_once(&format!(" {name}=\""))?;
                value.split_once('"').map(|(value, _)| value)
            };
            if let Some(id) = value("id") {
                assert!(ids.insert(id.to_owned()), "two elements are {id}");
            }
            assert!(value("src").is_none_or(|source| source.starts_with("data:")), "{tag}");
            let elsewhere = |link: &str| link.contains("//") && !link.starts_with("data:");
            assert!(!value("href").is_some_and(elsewhere), "{tag}");
        }
        for tag in tags.iter().filter(|tag| tag.starts_with("a href=\"#")) {
            let target = tag.trim_start_matches("a href=\"#").trim_end_matches('"');
            assert!(ids.contains(target) || tag.contains("class"), "{tag} leads nowhere");
        }
        assert!(!page.contains("<b>") && !page.contains("<broke>"), "text became marks");
    }
}

#[test]
fn a_page_has_everything_about_a_paper() {
    let [page, index] = pages();
    for words in [
        "p: a paper",
        "It claims.",
        "quick",
        "✗</span> differs",
        "✓</span> holds",
        "–</span> not run",
        "<td role=\"cell\" data-label=\"Measured\">25.12\u{a0}%</td>",
        "20\u{a0}% to 30\u{a0}%",
        "at least 20\u{a0}%",
        "because of &lt;b&gt; Shown by <a href=\"#p-2\">p-2</a>, <code>fig&lt;1&gt;.toml</code>.",
        "10.2 ± 1",
        "▲ differs",
        "a timer",
        "1 of 6 runs of",
        "it &lt;broke&gt;",
        "no &lt;disk&gt;",
        "0.1 (abc) on here",
        "<pre>polypath reproduce p/p-1 --quick</pre>",
    ] {
        assert!(page.contains(words), "{words} is not in the page of the paper");
    }
    let decided = "Decided by 25.12\u{a0}% (20\u{a0}% to 30\u{a0}%); expected: at least 20\u{a0}%.";
    for words in [
        "p/report.html#p-1",
        decided,
        "What holds",
        "What differs",
        "What was not run",
        "1 of 6 runs of",
    ] {
        assert!(index.contains(words), "{words} is not in the index");
    }
}
