use std::path::Path;

use polypath_sim::document::Document;

use super::*;
use crate::results::{Dataset, Observation};
use crate::study::{Reading, Study};

const STUDY: &str = r#"
title = "made-up numbers"
[replications]
runs = 4
[[axes]]
name = "loss"
unit = "%"
keys = ["x.y"]
values = ["0 %", "1 %", "2 %", "4 %"]
[[variants]]
name = "same"
[[variants]]
name = "cwnd"
label = "largest window"
[[variants]]
name = "ssthresh"
[[measures]]
name = "goodput"
result = "goodput_bit_s"
[[measures]]
name = "time"
result = "completed_s"
better = "lower"
[inline]
title = "none"
"#;

/// Means of goodput by variant and loss; runs lie around them with common noise.
const GOODPUT: [[f64; 4]; 3] =
    [[100.0, 60.0, 30.0, 2.0], [100.0, 90.0, 80.0, 60.0], [100.0, 91.0, 81.0, 61.0]];

fn data(study: &str) -> Dataset {
    let document = Document::parse("study.toml", study).expect("TOML");
    let study =
        Study::from_document(&document, Path::new(""), Reading::default()).expect("a study");
    let mut observations = Vec::new();
    for (variant, means) in GOODPUT.iter().enumerate() {
        for (point, mean) in means.iter().enumerate() {
            // Common random numbers: the same noise for all variants, and a little of their own.
            for (replication, noise) in [-1.5, 0.5, 2.0, -1.0].into_iter().enumerate() {
                let own = [0.01, -0.01, 0.02, -0.02][(replication + variant) % 4];
                let value = mean * (1.0 + (noise + own) / 100.0);
                let observe = |measure, value| Observation {
                    point,
                    variant,
                    replication,
                    measure,
                    value: Some(value),
                };
                observations.extend([observe(0, value), observe(1, 1000.0 / value)]);
            }
        }
    }
    Dataset::of(study, observations)
}

fn judged(rule: &str, rest: &str) -> Judgement {
    judged_with(rule, rest, STUDY)
}

fn judged_with(rule: &str, rest: &str, study: &str) -> Judgement {
    let text = format!(
        "paper = \"p\"\n[[statements]]\nid = \"p-1\"\nfigure = \"1\"\nstudy = \"s.toml\"\n\
         statement = \"words\"\nrule = {rule}\n{rest}\n"
    );
    let document = Document::parse("expected.toml", text).expect("TOML");
    let file = Expectations::from_document(&document).unwrap_or_else(|error| panic!("{error}"));
    judge(&file.statements[0], &file.paper, &data(study)).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_rule_can_say_that_it_holds_and_that_it_differs() {
    use Verdict::{Differs, Holds, Undecided};
    let some_loss = "where = { loss = { from = \"1 %\" } }";
    let no_loss = "where = { loss = { at = [\"0 %\"] } }";
    let cases = [
        ("{ about = { of = {}, value = 101 } }", no_loss, Holds),
        ("{ about = { of = {}, value = 120 } }", no_loss, Differs),
        ("{ about = { of = {}, value = 100, within = \"1 %\" } }", no_loss, Undecided),
        ("{ between = { of = {}, from = 90, to = 110 } }", no_loss, Holds),
        ("{ between = { of = { measure = \"time\" }, to = 5 } }", no_loss, Differs),
        ("{ between = { of = { measure = \"time\" }, from = 5 } }", no_loss, Holds),
        ("{ alike = { of = [{ variant = \"cwnd\" }, { variant = \"ssthresh\" }] } }", "", Holds),
        ("{ alike = { of = [{ variant = \"cwnd\" }, { variant = \"same\" }] } }", "", Differs),
        ("{ alike = { of = [{ variant = \"cwnd\" }, { variant = \"same\" }] } }", no_loss, Holds),
        (
            "{ worse = { of = {}, than = [{ variant = \"cwnd\" }, { variant = \"ssthresh\" }] } }",
            some_loss,
            Holds,
        ),
        ("{ better = { of = {}, than = [{ variant = \"cwnd\" }] } }", some_loss, Differs),
        // Without loss there is surely no difference: less than 1 %.
        ("{ worse = { of = {}, than = [{ variant = \"cwnd\" }] } }", "", Differs),
        (
            "{ worse = { of = {}, than = [{ variant = \"cwnd\", at = { loss = \"0 %\" } }] } }",
            no_loss,
            Differs,
        ),
        (
            "{ worse = { of = {}, than = [{ variant = \"cwnd\" }], by = \"clearly\" } }",
            some_loss,
            Holds,
        ),
        (
            "{ worse = { of = {}, than = [{ variant = \"cwnd\" }], by = { at-least = 1.0 } } }",
            some_loss,
            Differs,
        ),
        (
            "{ better = { of = { variant = \"ssthresh\" }, than = [{ variant = \"cwnd\" }], by = \"slightly\" } }",
            some_loss,
            Holds,
        ),
        (
            "{ better = { of = { variant = \"ssthresh\" }, than = [{ variant = \"cwnd\" }], by = \"clearly\" } }",
            some_loss,
            Differs,
        ),
        // A measure of which less is better turns the comparison.
        (
            "{ worse = { of = { measure = \"time\" }, than = [{ variant = \"cwnd\", measure = \"time\" }] } }",
            some_loss,
            Holds,
        ),
        (
            "{ ranking = { of = [{ variant = \"ssthresh\" }, { variant = \"cwnd\" }, { variant = \"same\" }] } }",
            some_loss,
            Holds,
        ),
        (
            "{ ranking = { of = [{ variant = \"same\" }, { variant = \"cwnd\" }] } }",
            some_loss,
            Differs,
        ),
        (
            "{ almost-nothing = { of = {}, beside = [{ variant = \"cwnd\" }, { variant = \"ssthresh\" }] } }",
            "where = { loss = { at = [\"4 %\"] } }",
            Holds,
        ),
        ("{ almost-nothing = { of = {}, beside = [{ variant = \"cwnd\" }] } }", "", Differs),
        ("{ falls = { of = {}, along = \"loss\" } }", "", Holds),
        ("{ rises = { of = {}, along = \"loss\" } }", "", Differs),
        // The gap grows.
        (
            "{ rises = { of = { variant = \"cwnd\", minus = { variant = \"same\" } }, along = \"loss\" } }",
            "",
            Holds,
        ),
        (
            "{ rises = { of = { variant = \"cwnd\", divided_by = { variant = \"same\" } }, along = \"loss\" } }",
            "",
            Holds,
        ),
        ("{ proportional = { of = {}, along = \"loss\" } }", some_loss, Differs),
        // The curve bends at 2 %, where it is 22 % of its height below the line, and 16 % at 1 %.
        ("{ knee = { of = {}, along = \"loss\", at = \"2 %\" } }", "", Holds),
        ("{ knee = { of = {}, along = \"loss\", at = \"1 %\" } }", "", Differs),
        ("{ about = { of = {}, value = [100, 60, 30, 2] } }", "", Holds),
        ("{ about = { of = {}, value = [100, 60, 40, 2] } }", "", Differs),
        // Compared with the same curve elsewhere.
        ("{ alike = { of = [{}, { at = { loss = \"0 %\" } }] } }", some_loss, Differs),
        ("{ worse = { of = {}, than = [{ at = { loss = \"0 %\" } }] } }", some_loss, Holds),
    ];
    for (rule, rest, expected) in cases {
        assert_eq!(judged(rule, rest).verdict, expected, "{rule} {rest}");
    }
}

/// What is judged of a curve that eight runs measured as 100 and a little noise at each place.
fn of_level_curve(rule: &str, noise: f64) -> Verdict {
    let text = STUDY.replace("runs = 4", "runs = 8");
    let document = Document::parse("study.toml", text).expect("TOML");
    let study = Study::from_document(&document, Path::new(""), Reading::default());
    let observation = |number: usize| {
        let (replication, point) = (number / 4, number % 4);
        // All sequences of signs for three of the places: the mean of the slopes is zero.
        let up = (replication >> (point % 3)) % 2 == 1;
        let value = Some(100.0 + if up { noise } else { -noise });
        Observation { point, variant: 0, replication, measure: 0, value }
    };
    let text = format!(
        "paper = \"p\"\n[[statements]]\nid = \"p-1\"\nfigure = \"1\"\nstudy = \"s.toml\"\nstatement = \"words\"\n\
         rule = {{ {rule} = {{ of = {{}}, along = \"loss\" }} }}\n"
    );
    let document = Document::parse("expected.toml", text).expect("TOML");
    let file = Expectations::from_document(&document).expect("statements");
    let data = Dataset::of(study.expect("a study"), (0..32).map(observation));
    judge(&file.statements[0], &file.paper, &data).expect("a judgement").verdict
}

#[test]
fn a_curve_that_changes_by_less_than_a_hundredth_neither_rises_nor_falls() {
    for rule in ["rises", "falls"] {
        assert_eq!(of_level_curve(rule, 0.1), Verdict::Differs, "{rule}: within a hundredth");
        assert_eq!(of_level_curve(rule, 10.0), Verdict::Undecided, "{rule}: too much noise");
        assert_eq!(of_level_curve(rule, 0.0), Verdict::Undecided, "{rule}: few equal runs");
    }
}

/// In the made-up numbers, a measure minus itself: no run differs.
#[test]
fn runs_without_any_difference_decide_only_where_nothing_is_random() {
    let zero = "{ variant = \"cwnd\", minus = { variant = \"cwnd\" } }";
    for by in ["any", "slightly"] {
        let rule = format!("{{ better = {{ of = {zero}, than = [{zero}], by = \"{by}\" }} }}");
        assert_eq!(judged(&rule, "").verdict, Verdict::Undecided, "{by}");
        let sure = judged_with(&rule, "", &STUDY.replace("runs = 4", "deterministic = true"));
        assert_eq!(sure.verdict, Verdict::Differs, "{by}");
    }
}

#[test]
fn points_are_judged_each_any_or_as_a_mean() {
    let rule = "{ about = { of = {}, value = 30, within = \"10 %\" } }";
    for (over, expected) in
        [("each", Verdict::Differs), ("any", Verdict::Holds), ("mean", Verdict::Differs)]
    {
        assert_eq!(judged(rule, &format!("over = \"{over}\"")).verdict, expected, "{over}");
    }
    let mean = judged("{ about = { of = {}, value = 48 } }", "over = \"mean\"");
    assert_eq!(mean.verdict, Verdict::Holds);
    assert!((mean.measured.expect("a mean") - 48.0).abs() < 0.1);
}

#[test]
fn a_judgement_names_the_place_that_decided() {
    let rule = "{ alike = { of = [{ variant = \"cwnd\" }, { variant = \"same\" }] } }";
    let judgement = judged(rule, "cause = \"found out by experiment\"");
    assert_eq!((judgement.verdict, judgement.places.len()), (Verdict::Differs, 4));
    assert!((judgement.measured.expect("a difference") - 29.0).abs() < 0.1, "60 beside 2");
    assert_eq!(judgement.place.as_deref(), Some("largest window against same; loss 4 %"));
    assert_eq!(judgement.n, 4);
    assert_eq!(judgement.expected, "within ± 5 %");
    assert_eq!(judgement.unit, super::RELATIVE, "0.5 is 50 %");
    assert_eq!(judgement.cause.as_deref(), Some("found out by experiment"));
    let second = &judgement.places[1];
    assert!((second.estimate.expect("a number").value - 0.5).abs() < 0.01, "90 beside 60");
    assert_eq!(second.what, "largest window against same; loss 1 %");
    let json = serde_json::to_value(&judgement).expect("JSON");
    for key in [
        "id",
        "paper",
        "figure",
        "statement",
        "rule",
        "n",
        "verdict",
        "measured",
        "interval",
        "expected",
    ] {
        assert!(json.get(key).is_some(), "{key}");
    }
}

/// Means of `same` are 100, 60, 30 and 2.
#[test]
fn the_place_furthest_from_a_rule_decides_or_the_nearest_if_one_is_enough() {
    let cases = [
        ("{ about = { of = {}, value = 75 } }", 2.0, "4 %"),
        ("{ between = { of = {}, from = 40, to = 70 } }", 2.0, "4 %"),
        ("{ between = { of = {}, to = 1 } }", 100.0, "0 %"),
        ("{ between = { of = {}, from = 500 } }", 2.0, "4 %"),
    ];
    for (rule, worst, at) in cases {
        let judgement = judged(rule, "");
        assert_eq!(judgement.verdict, Verdict::Differs, "{rule}");
        assert!((judgement.measured.expect("a mean") - worst).abs() < 0.1, "{rule}");
        assert_eq!(judgement.place, Some(format!("same; loss {at}")), "{rule}");
    }
    let nearest = judged("{ about = { of = {}, value = 75 } }", "over = \"any\"");
    assert_eq!(nearest.place.as_deref(), Some("same; loss 1 %"));
    let single = judged("{ about = { of = {}, value = 75 } }", "over = \"mean\"");
    assert_eq!((single.verdict, single.place), (Verdict::Differs, None));
}

#[test]
fn paired_runs_see_what_apart_is_lost_in_noise() {
    let data = data(STUDY);
    let [one, other] = [1, 2].map(|variant| data.estimate(1, variant, 0).expect("a mean"));
    assert!(!one.interval.is_apart_from(other.interval));
    let rule = "{ better = { of = { variant = \"ssthresh\" }, than = [{ variant = \"cwnd\" }] } }";
    assert_eq!(judged(rule, "where = { loss = { at = [\"1 %\"] } }").verdict, Verdict::Holds);
}

#[test]
fn what_the_study_does_not_have_is_named() {
    for (rule, expected) in [
        (
            "{ about = { of = { variant = \"cwn\" }, value = 1 } }",
            "there is no variant `cwn`; did you mean `cwnd`?",
        ),
        ("{ about = { of = { measure = \"x\" }, value = 1 } }", "there is no measure `x`"),
        (
            "{ about = { of = { at = { loss = \"9 %\" } }, value = 1 } }",
            "the study has no point with loss",
        ),
        (
            "{ rises = { of = {}, along = \"los\" } }",
            "there is no axis `los`; did you mean `loss`?",
        ),
        ("{ alike = { of = [{}] } }", "`alike` needs at least two curves"),
        (
            "{ knee = { of = {}, along = \"loss\", at = \"0 %\" } }",
            "a knee must lie between the first",
        ),
    ] {
        let text = format!(
            "paper = \"p\"\n[[statements]]\nid = \"1\"\nfigure = \"1\"\nstudy = \"s\"\nstatement = \"w\"\nrule = {rule}\n"
        );
        let document = Document::parse("expected.toml", text).expect("TOML");
        let file = Expectations::from_document(&document).expect("statements");
        let error = judge(&file.statements[0], "p", &data(STUDY)).expect_err(expected).to_string();
        assert!(error.contains(expected), "{error}");
    }
    let text = "paper = \"p\"\n[[statements]]\nid = \"1\"\nrule = { abuot = {} }\n";
    let document = Document::parse("expected.toml", text).expect("TOML");
    let error = Expectations::from_document(&document).expect_err("a slip").to_string();
    assert!(
        error.starts_with("expected.toml:4:10: statements.0.rule: `abuot` is not a choice"),
        "{error}"
    );
}

#[test]
fn runs_that_are_all_equal_say_something_when_they_are_many() {
    let verdict_of = |runs: usize| {
        let text = STUDY.replace("runs = 4", &format!("runs = {runs}"));
        let document = Document::parse("study.toml", text).expect("TOML");
        let study = Study::from_document(&document, Path::new(""), Reading::default());
        let observation = |number: usize| {
            let (replication, place) = (number % runs, number / runs);
            let value = Some(replication as f64);
            Observation { point: place % 4, variant: place / 4, replication, measure: 0, value }
        };
        let all = (0..runs * 12).map(observation);
        let text = "paper = \"p\"\n[[statements]]\nid = \"p-1\"\nfigure = \"1\"\nstudy = \"s.toml\"\nstatement = \"words\"\n\
                    rule = { better = { of = { variant = \"cwnd\" }, than = [{ variant = \"same\" }] } }\n";
        let document = Document::parse("expected.toml", text.to_owned()).expect("TOML");
        let file = Expectations::from_document(&document).expect("statements");
        let data = Dataset::of(study.expect("a study"), all);
        judge(&file.statements[0], &file.paper, &data).expect("a judgement").verdict
    };
    assert_eq!(verdict_of(58), Verdict::Undecided);
    assert_eq!(verdict_of(59), Verdict::Differs);
}
