//! What is said of wrong files: in words of those who write them, with the place, the key and what would be right.

use std::fs;
use std::path::{Path, PathBuf};

use polypath_lab::paper::Places;
use polypath_lab::study::{Reading, Study, StudyFile};
use polypath_lab::verdict::Expectations;
use polypath_sim::Scenario;
use polypath_sim::document::{Document, DocumentError, Layer, Place};
use toml::Value;

/// Words of the program's language, or of its libraries, that say nothing to a reader.
const STRANGE: [&str; 31] = [
    "struct ",
    "enum ",
    "variant identifier",
    "tuple",
    "newtype",
    "sequence",
    " map",
    "found string",
    "expected a string",
    "integer `",
    "floating point",
    "boolean",
    "unit value",
    "target type",
    "invalid length",
    "invalid type",
    "invalid value",
    "array of length",
    "deserial",
    "u8",
    "u16",
    "u32",
    "u64",
    "i32",
    "i64",
    "f32",
    "f64",
    "usize",
    "Some(",
    "None",
    "literal string",
];

/// What tells how to do it right.
const HELPFUL: [&str; 8] = [
    "for example",
    "such as",
    "did you mean",
    "choices",
    "keys here",
    "write",
    "one of",
    "true or false",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).expect("readable")
}

/// Kinds of files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Scenario,
    Study,
    Statements,
    Comparisons,
}

impl Kind {
    /// Reads a document as this kind, and checks it.
    fn check(self, document: &Document) -> Result<(), DocumentError> {
        match self {
            Self::Scenario => Scenario::from_document(document).map(drop),
            Self::Study => {
                document.decode::<StudyFile>(&[Layer::At(&[])])?;
                let study =
                    Study::from_document(document, &root().join("studies"), Reading::default())?;
                study.scenario(&study.points().at(0), 0).map(drop)
            }
            Self::Statements => Expectations::from_document(document).map(drop),
            Self::Comparisons => Places::from_document(document).map(drop),
        }
    }
}

/// A word of the program in a message.
fn strange(message: &str) -> Option<&'static str> {
    STRANGE.into_iter().find(|strange| message.contains(strange))
}

const SCENARIO: &str = r#"title = "two paths"

[run]
duration = "5 s"
seed = 3

[[network.disjoint.paths]]
name = "path 1"
bottleneck = { rate = "10 Mbit/s", delay = "10 ms" }

[[traffic]]
name = "bulk"
source = "saturated"
message_size = "1452 B"
"#;

const STUDY: &str = r#"title = "two delays"
scenario = "../scenarios/demo.toml"

[[axes]]
name = "delay"
unit = "ms"
keys = ["network.disjoint.paths.0.bottleneck.delay"]
values = ["10 ms", "40 ms"]

[[variants]]
name = "cmt"

[[measures]]
name = "goodput"
result = "goodput_bit_s"

[[figures]]
name = "one"
"#;

const STATEMENTS: &str = r#"paper = "ours"

[[statements]]
id = "ours-1"
figure = "1"
study = "x.toml"
statement = "it is fast"
rule = { about = { of = { variant = "cmt" }, value = 10 } }
"#;

const PATH: &str = r#"bottleneck = { rate = "10 Mbit/s", delay = "10 ms" }"#;

/// A wrong file: what stands in place of what, the line and the key of the complaint, and words of it.
type Wrong = (Kind, &'static str, &'static str, usize, &'static str, &'static str);

use Kind::{Scenario as S, Statements as E, Study as T};

/// What stands in a link beside rate and delay, the key below the link, and words of the complaint.
const LINKS: &[(&str, &str, &str)] = &[
    (
        "loss = \"2 %\"",
        "loss",
        "a table, for example { forward = \"1 %\" }, found the text \"2 %\"",
    ),
    ("loss = [\"1 %\"]", "loss", "for example { forward = \"1 %\" }, found a list of one value"),
    (
        "loss = { forward = 2 }",
        "loss.forward",
        "for example \"1 %\" or \"1e-6\", found the number 2",
    ),
    ("loss = { forward = \"0.5\" }", "loss.forward", "has no unit: write for example \"1 %\""),
    ("loss = { forward = \"120 %\" }", "loss.forward", "`120 %` is too large"),
    ("queue = 100", "queue", "for example { drop-tail = { packets = 100 } }, found the number 100"),
    ("queue = \"100 packets\"", "queue", "for example { drop-tail = { packets = 100 } }"),
    ("queue = { drop_tail = 5 }", "queue", "did you mean `drop-tail`?"),
    ("queue = { drop-tail = 100 }", "queue.drop-tail", "for example { packets = 100 }"),
    (
        "queue = { drop-tail = { packets = -1 } }",
        "queue.drop-tail.packets",
        "a whole number, 0 or more",
    ),
    (
        "queue = { drop-tail = { packets = 1.5 } }",
        "queue.drop-tail.packets",
        "found the number 1.5",
    ),
    ("queue = { red = { weight = \"x\" } }", "queue.red.weight", "`x` is not a"),
    ("framing = 14", "framing", "for example \"64 KiB\", found the number 14"),
    ("jitter = \"5 ms\"", "jitter", "{ extra = { uniform = { to = \"5 ms\" } } }"),
    ("jitter = { extra = \"5 ms\" }", "jitter.extra", "{ uniform = { to = \"5 ms\" } }"),
    (
        "gilbert_elliott = true",
        "gilbert_elliott",
        "{ to_bad = \"1 %\", to_good = \"25 %\" }, found true",
    ),
    ("bit_errors = \"1e-6\"", "bit_errors", "for example { rate = \"1e-6\" }"),
    ("bit_errors = { rate = 1e-6 }", "bit_errors.rate", "found the number 1e-6"),
    ("reordering = \"1 %\"", "reordering", "{ probability = \"1 %\", extra_delay = \"5 ms\" }"),
    ("duplication = [\"1 %\"]", "duplication", "found a list"),
    ("rate_trace = \"lte.csv\"", "rate_trace", "for example { file = \"lte.csv\" }"),
    ("forward = \"5 Mbit/s\"", "forward", "for example { rate = \"5 Mbit/s\" }"),
];

const OTHERS: &[Wrong] = &[
    (
        S,
        "\"10 Mbit/s\"",
        "10",
        9,
        "network.disjoint.paths.0.bottleneck.rate",
        "for example \"100 Mbit/s\", found the number 10",
    ),
    (
        S,
        "\"10 Mbit/s\"",
        "\"10 Mb\"",
        9,
        "network.disjoint.paths.0.bottleneck.rate",
        "`Mb` is not a unit",
    ),
    (
        S,
        "\"10 ms\"",
        "\"10 m\"",
        9,
        "network.disjoint.paths.0.bottleneck.delay",
        "`m` is not a unit of a time, did you mean `min`?",
    ),
    (
        S,
        PATH,
        "bottleneck = \"fast\"",
        9,
        "network.disjoint.paths.0.bottleneck",
        "a table with keys such as `rate`",
    ),
    (S, "\"5 s\"", "\"5\"", 4, "run.duration", "has no unit"),
    (S, "\"5 s\"", "5 s", 4, "", "text has to stand in quotes"),
    (S, "seed = 3", "seed = \"one\"", 5, "run.seed", "a whole number, 0 or more"),
    (S, "seed = 3", "seed = 99999999999999999999", 5, "run.seed", "the number is too large"),
    (S, "title = \"two paths\"", "title = 4", 1, "title", "text in quotes"),
    (
        S,
        "\"saturated\"",
        "5",
        13,
        "traffic.0.source",
        "for example \"saturated\" or { file = \"64 MiB\" }",
    ),
    (S, "\"saturated\"", "\"saturation\"", 13, "traffic.0.source", "did you mean `saturated`?"),
    (S, "\"saturated\"", "{ file = 5 }", 13, "traffic.0.source.file", "for example \"64 KiB\""),
    (
        S,
        "\"saturated\"",
        "{ trace = \"x.csv\" }",
        13,
        "traffic.0.source.trace",
        "for example { file = \"messages.csv\" }",
    ),
    (S, "\"1452 B\"", "1452", 14, "traffic.0.message_size", "for example"),
    (S, "[[traffic]]", "[traffic]", 11, "traffic", "write [{ … }], or [[…]] above its keys"),
    (S, "[run]", "[runs]", 3, "", "did you mean `run`?"),
    (
        S,
        "[run]",
        "faults = [1]\n[run]",
        3,
        "faults.0",
        "{ outage = { path = \"path 1\", from = \"5 s\" } }",
    ),
    (
        S,
        "[run]",
        "faults = [{ outage = \"5 s\" }]\n[run]",
        3,
        "faults.0.outage",
        "{ path = \"path 1\", from = \"5 s\" }",
    ),
    (S, "[run]", "steps = [\"5 s\"]\n[run]", 3, "steps.0", "at = \"5 s\""),
    (
        S,
        "[run]",
        "sctp = { policies = { nr_sack = 1 } }\n[run]",
        3,
        "sctp.policies.nr_sack",
        "one of `off`",
    ),
    (
        S,
        "[run]",
        "sctp = { policies = { rto = \"1 s\" } }\n[run]",
        3,
        "sctp.policies.rto",
        "a table with keys such as",
    ),
    (
        S,
        "[run]",
        "sctp = { heartbeat = \"30 s\" }\n[run]",
        3,
        "sctp.heartbeat",
        "{ interval = \"30 s\" }",
    ),
    (
        T,
        "[\"10 ms\", \"40 ms\"]",
        "\"10 ms\"",
        8,
        "axes.0.values",
        "a list such as [1, 2], found the text \"10 ms\"\n  write [\"10 ms\"]",
    ),
    (
        T,
        "keys = [\"network.disjoint.paths.0.bottleneck.delay\"]\nvalues = [\"10 ms\", \"40 ms\"]",
        "values = [\"10 ms\", \"40 m\"]\nscaled = { \"network.disjoint.paths.0.bottleneck.delay\" = 1 }",
        7,
        "axes.0.values.1",
        "`m` is not a unit",
    ),
    (
        T,
        "unit = \"ms\"",
        "scaled = { \"run.duration\" = \"x\" }",
        6,
        "axes.0.scaled.run.duration",
        "a number, for example 0.5",
    ),
    (
        T,
        "unit = \"ms\"",
        "scaled = { \"run.duration\" = -1 }",
        6,
        "axes.0.scaled",
        "it must be a finite number from 0, such as 0.5",
    ),
    (
        T,
        "name = \"cmt\"",
        "name = \"cmt\"\nset = [5]",
        12,
        "variants.0.set",
        "a table, for example { key = value }, found a list",
    ),
    (
        T,
        "[[axes]]",
        "replications = { runs = 5000000000 }\n[[axes]]",
        4,
        "replications.runs",
        "a whole number from 0 to 4294967295",
    ),
    (T, "[[axes]]", "replications = 10\n[[axes]]", 4, "replications", "for example { runs = 10 }"),
    (
        T,
        "[[axes]]",
        "series = \"5 s\"\n[[axes]]",
        4,
        "series",
        "for example { interval = \"100 ms\" }",
    ),
    (
        T,
        "name = \"one\"",
        "name = \"one\"\nwhere = { delay = 5 }",
        19,
        "figures.0.where.delay",
        "for example { from = 1, to = 4 }",
    ),
    (
        T,
        "name = \"one\"",
        "name = \"one\"\nwhere = { delay = { at = \"10 ms\" } }",
        19,
        "figures.0.where.delay.at",
        "write [\"10 ms\"]",
    ),
    (
        T,
        "name = \"one\"",
        "name = \"one\"\nreferences = [5]",
        19,
        "figures.0.references.0",
        "for example { value = 5, label = \"half\" }",
    ),
    (
        T,
        "name = \"one\"",
        "name = \"one\"\ndivided_by = \"cmt\"",
        19,
        "figures.0.divided_by",
        "for example { variant = \"cmt\" }",
    ),
    (
        E,
        "{ variant = \"cmt\" }",
        "\"cmt\"",
        8,
        "statements.0.rule.about.of",
        "for example { variant = \"cmt\" }",
    ),
    (
        E,
        "{ about = { of = { variant = \"cmt\" }, value = 10 } }",
        "10",
        8,
        "statements.0.rule",
        "for example { about =",
    ),
];

#[test]
fn a_complaint_names_place_and_key_and_says_what_would_be_right() {
    for (kind, text) in [(S, SCENARIO), (T, STUDY), (E, STATEMENTS)] {
        assert_eq!(check(kind, text), Ok(()), "{kind:?}");
    }
    let links = LINKS.iter().filter_map(|(with, key, words)| {
        let link = PATH.replace(" }", &format!(", {with} }}"));
        let key = format!("network.disjoint.paths.0.bottleneck.{key}");
        unclear(S, (PATH, &link), (9, &key), words)
    });
    let others = OTHERS.iter().filter_map(|(kind, right, wrong, line, key, words)| {
        unclear(*kind, (right, wrong), (*line, key), words)
    });
    let unclear: Vec<String> = links.chain(others).collect();
    assert!(unclear.is_empty(), "{}", unclear.join("\n\n"));
}

/// Puts something wrong in place of what is right; tells what is wrong with the complaint.
fn unclear(
    kind: Kind,
    (right, wrong): (&str, &str),
    (line, key): (usize, &str),
    words: &str,
) -> Option<String> {
    let text = match kind {
        Kind::Scenario => SCENARIO,
        Kind::Study => STUDY,
        Kind::Statements | Kind::Comparisons => STATEMENTS,
    };
    assert!(text.contains(right), "{right}");
    let Err(error) = check(kind, &text.replacen(right, wrong, 1)) else {
        return Some(format!("{wrong}: no complaint"));
    };
    let message = error.to_string();
    let at = match &error.place {
        Place::File { name, line, .. } if name == "wrong.toml" => *line,
        _ => 0,
    };
    if let Some(strange) = strange(&message) {
        return Some(format!("{wrong}: `{strange}` in: {message}"));
    }
    let is_clear = message.contains(words) && error.key == key && at == line;
    (!is_clear).then(|| format!("{wrong}: not {line}, {key}, {words}: {message}"))
}

fn check(kind: Kind, text: &str) -> Result<(), DocumentError> {
    kind.check(&Document::parse("wrong.toml", text)?)
}

/// One of every kind of value.
fn anything() -> Vec<Value> {
    let table = |text: &str| Value::Table(toml::from_str(text).expect("TOML"));
    vec![
        Value::from(-7),
        Value::from(70_000_000_000_i64),
        Value::from(0.5),
        Value::from(f64::NAN),
        Value::from(true),
        Value::from("some text"),
        Value::from("5 m"),
        Value::from(Vec::<Value>::new()),
        Value::from(vec![Value::from(1), Value::from("two"), Value::from(3.5)]),
        table("some = \"key\"\nother = 1"),
        table("file = 1"),
    ]
}

/// Keys of all values that a document has, with dots.
fn keys(value: &Value, to: &str, all: &mut Vec<String>) {
    let mut visit = |step: &str, value: &Value| {
        // Such a key cannot be named with dots.
        if !step.contains('.') {
            let key = if to.is_empty() { step.to_owned() } else { format!("{to}.{step}") };
            keys(value, &key, all);
            all.push(key);
        }
    };
    match value {
        Value::Table(table) => table.iter().for_each(|(key, value)| visit(key, value)),
        Value::Array(values) => {
            values.iter().enumerate().for_each(|(at, value)| visit(&at.to_string(), value));
        }
        _ => {}
    }
}

/// Whatever stands wherever: nothing is said in words of the program, and what is not read says what could stand there.
#[test]
fn anything_anywhere_is_complained_of_in_plain_words() {
    let files = [
        (Kind::Scenario, "scenarios/demo.toml"),
        (Kind::Scenario, "scenarios/failover.toml"),
        (Kind::Study, "studies/asymmetry.toml"),
        (Kind::Statements, "papers/sarwar/expected.toml"),
        (Kind::Comparisons, "papers/sarwar/reference.toml"),
    ];
    let mut unclear = Vec::new();
    for (kind, path) in files {
        let document = Document::parse("wrong.toml", read(path)).expect("TOML");
        assert_eq!(kind.check(&document), Ok(()), "{path}");
        let mut all = Vec::new();
        keys(&document.to_value(), "", &mut all);
        // Lists of statements are long, and alike.
        let long = |key: &String| key.split('.').nth(1).is_some_and(|at| at.len() > 1);
        all.retain(|key| kind == Kind::Scenario || !long(key));
        assert!(all.len() > 10, "{path}");
        let mut complaints = 0;
        let wrong = all.iter().flat_map(|key| anything().into_iter().map(move |any| (key, any)));
        for (key, value) in wrong {
            let place = Place::File { name: "wrong.toml".into(), line: 1, column: 1 };
            let mut document = document.clone();
            let what = format!("{path}: {key} = {value}");
            if document.put(key, value, place).is_err() {
                continue;
            }
            let Err(error) = kind.check(&document) else { continue };
            complaints += 1;
            let text = error.to_string();
            if let Some(strange) = strange(&text) {
                unclear.push(format!("{what}: `{strange}` in: {text}"));
            } else if text.contains("expected ") && !HELPFUL.iter().any(|word| text.contains(word))
            {
                unclear.push(format!("{what}: what would be right? {text}"));
            }
        }
        assert!(complaints > 3 * all.len(), "{path}: {complaints} complaints");
    }
    assert!(unclear.is_empty(), "{}", unclear.join("\n"));
}
