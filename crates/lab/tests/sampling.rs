//! More runs where statements are undecided.

mod common;

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use common::{STUDY, run, study};
use polypath_lab::results::Dataset;
use polypath_lab::run::{Budget, Limits, Program, Request, Shard, Sharing, Silent};
use polypath_lab::sampling::{Caps, Ended, Sampled, run_until_decided};
use polypath_lab::study::{Extent, Study};
use polypath_lab::verdict::{Expectations, Statement, Verdict, judge};
use polypath_sim::document::Document;

/// Statements from rules; each is about the first rate only if its name begins with `slow`.
fn statements(rules: &[(&str, &str)]) -> Vec<Statement> {
    let mut text = "paper = \"p\"\n".to_owned();
    for (id, rule) in rules {
        text += &format!(
            "[[statements]]\nid = \"{id}\"\nfigure = \"1\"\nstudy = \"study.toml\"\nstatement = \"words\"\nrule = {rule}\n"
        );
        if id.starts_with("slow") {
            text += "where = { rate = { at = [\"1 Mbit/s\"] } }\n";
        }
    }
    let document = Document::parse("expected.toml", text).expect("TOML");
    Expectations::from_document(&document).expect("statements").statements
}

fn sampled(
    study: &Study,
    statements: &[Statement],
    directory: &Path,
    (max_runs, budget): (u32, Option<&Budget>),
) -> Sampled {
    let request = Request {
        jobs: NonZeroUsize::new(2),
        shard: Shard::WHOLE,
        sharing: Sharing::Alone,
        limits: Limits { budget, ..Limits::default() },
        at_least: &[],
        program: Program::default(),
        test_bed: None,
        stop: &AtomicBool::new(false),
        progress: &Silent,
    };
    let statements: Vec<&Statement> = statements.iter().collect();
    run_until_decided(study, &statements, directory, &request, Caps { max_runs }).expect("results")
}

fn counts(directory: &Path) -> [usize; 4] {
    let data = Dataset::read(directory).expect("results");
    [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(point, variant)| data.values(point, variant, 0).len())
}

/// Several times as much as that is carried, so that the first runs say it.
const CLEAR: (&str, &str) = ("clear", "{ between = { of = { variant = \"both\" }, from = 0.1 } }");

#[test]
fn what_is_clear_takes_the_first_runs_only() {
    let directory = tempfile::tempdir().expect("a directory");
    let fixed = study(STUDY, Extent::Full);
    assert_eq!(run(&fixed, directory.path()).rows, 12);
    let found =
        sampled(&fixed.until_decided(), &statements(&[CLEAR]), directory.path(), (1000, None));
    assert_eq!((found.ended, found.undecided.len()), (Ended::Decided, 0));
    assert_eq!(found.summary.new, 20, "runs that were there are not made again");
    assert_eq!(counts(directory.path()), [8; 4]);
}

#[test]
fn runs_are_added_only_where_a_statement_is_undecided() {
    let directory = tempfile::tempdir().expect("a directory");
    let study = study(STUDY, Extent::Full).until_decided();
    let hopeless = ("slow", "{ about = { of = {}, value = 3, within = \"0.01 %\" } }");
    let all = statements(&[CLEAR, hopeless]);
    let found = sampled(&study, &all[..1], directory.path(), (20, None));
    assert_eq!((found.summary.new, found.summary.rows), (32, 32));
    let data = Dataset::read(directory.path()).expect("results");
    let mean = data.estimate(0, 0, 0).expect("a mean").value;
    let near = format!("{{ about = {{ of = {{}}, value = {mean}, within = \"0.01 %\" }} }}");
    let all = statements(&[CLEAR, ("slow", &near)]);
    let found = sampled(&study, &all, directory.path(), (20, None));
    assert_eq!((found.ended, found.undecided), (Ended::MostRuns, vec!["slow".to_owned()]));
    assert_eq!((counts(directory.path()), found.summary.new), ([20, 20, 8, 8], 24));
    let again = sampled(&study, &all, directory.path(), (20, None));
    assert_eq!((again.summary.new, again.summary.rows), (0, 56), "what is there belongs to it");
}

/// Two variants that are the same: no number of equal runs below 59 says so, and that many do.
#[test]
fn runs_that_are_all_equal_decide() {
    let directory = tempfile::tempdir().expect("a directory");
    let text = STUDY
        .replace("set = { \"sctp.preset\" = \"rfc9260\" }", "set = { \"sctp.preset\" = \"cmt\" }");
    let study = study(&text, Extent::Full).until_decided();
    let all = statements(&[("slow", "{ better = { of = { variant = \"both\" }, than = [{}] } }")]);
    let found = sampled(&study, &all, directory.path(), (1000, None));
    assert_eq!(found.ended, Ended::Decided);
    let data = Dataset::read(directory.path()).expect("results");
    let judged = judge(&all[0], "p", &data).expect("judged");
    assert_eq!(judged.verdict, Verdict::Differs);
    assert!((59..100).contains(&judged.n), "{}", judged.n);
}

#[test]
fn a_budget_ends_it_and_the_next_command_goes_on() {
    let directory = tempfile::tempdir().expect("a directory");
    let study = study(STUDY, Extent::Full).until_decided();
    let all = statements(&[CLEAR]);
    let nothing = Budget::of_seconds(0.0);
    let found = sampled(&study, &all, directory.path(), (1000, Some(&nothing)));
    assert_eq!((found.ended, found.summary.new), (Ended::Budget, 0));
    let enough = Budget::of_seconds(3600.0);
    let found = sampled(&study, &all, directory.path(), (1000, Some(&enough)));
    assert_eq!((found.ended, found.summary.new), (Ended::Decided, 32));
    assert!(enough.used_s() > 0.0 && !enough.is_spent());
}
