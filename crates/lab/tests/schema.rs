//! The JSON Schemas accept every file that we have, and refuse mistakes.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use boon::{Compiler, SchemaIndex, Schemas};
use polypath_lab::figure::check_selections;
use polypath_lab::run::check_names;
use polypath_lab::study::{Extent, Reading, Study};
use polypath_lab::verdict::Expectations;
use polypath_sim::document::Document;
use polypath_units::{BitRate, ByteCount, Duration, Fraction, Frequency, Instant, ParseError};
use serde_json::Value;

struct Validator {
    schemas: Schemas,
    index: SchemaIndex,
}

impl Validator {
    fn new(schema: &schemars::Schema) -> Self {
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        compiler.add_resource("schema.json", schema.as_value().clone()).expect("a resource");
        let index = compiler.compile("schema.json", &mut schemas).expect("a schema");
        Self { schemas, index }
    }

    fn check(&self, text: &str) -> Result<(), String> {
        let value: Value = toml::from_str(text).map_err(|error| error.to_string())?;
        self.schemas.validate(&value, self.index).map_err(|error| error.to_string())
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What a folder has, in order.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let entry = |entry: std::io::Result<fs::DirEntry>| entry.expect("an entry").path();
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).expect("a folder").map(entry).collect();
    paths.sort();
    paths
}

/// TOML files of a folder of the project, with their text.
fn files(folder: &str) -> Vec<(PathBuf, String)> {
    let text = |path: PathBuf| {
        let text = fs::read_to_string(&path).expect("readable");
        (path, text)
    };
    let is_toml = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "toml");
    entries(&root().join(folder)).into_iter().filter(is_toml).map(text).collect()
}

/// The folders of the papers, and that of our own studies.
fn folders_of_studies() -> Vec<String> {
    let papers = entries(&root().join("papers")).into_iter().filter(|path| path.is_dir());
    let name = |path: PathBuf| format!("papers/{}", path.file_name().unwrap().to_string_lossy());
    papers.map(name).chain(["studies".to_owned()]).collect()
}

/// Files of a kind that studies have, from all folders.
fn of_studies(wanted: Kind) -> impl Iterator<Item = (PathBuf, String)> {
    let all = folders_of_studies().into_iter().flat_map(|folder| files(&folder));
    all.filter(move |(path, text)| kind(path, text) == wanted)
}

#[test]
fn every_scenario_fits_its_schema() {
    let validator = Validator::new(&polypath_sim::scenario::schema());
    let scenarios = files("scenarios").into_iter().chain(of_studies(Kind::Scenario));
    let mut count = 0;
    for (path, text) in scenarios {
        validator.check(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        count += 1;
    }
    assert!(count >= 9);
}

#[test]
fn every_study_fits_its_schema_and_makes_sense() {
    let validator = Validator::new(&polypath_lab::study::schema());
    let mut count = 0;
    for (path, text) in of_studies(Kind::Study) {
        validator.check(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for extent in [Extent::Full, Extent::Quick] {
            let study = Study::read(&path, Reading { extent, edits: &[] })
                .unwrap_or_else(|error| panic!("{error}"));
            for (point, variant) in study.sample() {
                let scenario = study.scenario(&study.points().at(point), variant);
                scenario.unwrap_or_else(|error| panic!("{error}"));
            }
            if extent == Extent::Full {
                check_selections(&study).unwrap_or_else(|error| panic!("{error}"));
            }
            check_names(&study).unwrap_or_else(|error| panic!("{error}"));
        }
        count += 1;
    }
    assert!(count > folders_of_studies().len(), "{count} studies");
}

#[test]
fn every_list_of_comparisons_fits_its_schema() {
    let validator = Validator::new(&polypath_lab::paper::schema());
    for (path, text) in of_studies(Kind::Comparisons) {
        validator.check(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
    assert_eq!(of_studies(Kind::Comparisons).count(), 5);
    let wrong = "[[comparisons]]\nfigure = \"1\"\nstudy = \"s\"\nmeasures = \"m\"\n";
    assert!(validator.check(wrong).is_err());
}

/// Only studies measure, and only statements state.
fn kind(path: &Path, text: &str) -> Kind {
    let table: toml::Table =
        toml::from_str(text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    match table {
        table if table.contains_key("statements") => Kind::Statements,
        table if table.contains_key("measures") => Kind::Study,
        table if table.contains_key("comparisons") => Kind::Comparisons,
        _ => Kind::Scenario,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Scenario,
    Comparisons,
    Study,
    Statements,
}

#[test]
fn every_file_of_statements_fits_its_schema_and_its_studies() {
    let validator = Validator::new(&polypath_lab::verdict::schema());
    let mut ids = BTreeSet::new();
    for (path, text) in of_studies(Kind::Statements) {
        validator.check(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let document = Document::read(&path).unwrap_or_else(|error| panic!("{error}"));
        let read = Expectations::from_document(&document).unwrap_or_else(|error| panic!("{error}"));
        let folder = path.parent().expect("a folder");
        read.check_studies(&document, folder).unwrap_or_else(|error| panic!("{error}"));
        for statement in &read.statements {
            let id = &statement.id;
            assert!(ids.insert(id.clone()), "{id} is there twice");
            assert!(id.starts_with(&read.paper) || read.paper == "example", "{id}");
        }
    }
    assert!(!ids.is_empty());
}

/// A study without statements is an experiment, and README.md tells what it shows.
#[test]
fn every_paper_has_readme_and_statements_and_no_study_stands_alone() {
    for folder in folders_of_studies().iter().filter(|folder| folder.starts_with("papers/")) {
        let read = |name: &str| {
            let text = fs::read_to_string(root().join(folder).join(name));
            text.unwrap_or_else(|error| panic!("{folder}/{name}: {error}"))
        };
        let (readme, statements) = (read("README.md"), read("expected.toml"));
        let is_study = |(path, text): &&(PathBuf, String)| kind(path, text) == Kind::Study;
        for (path, _) in files(folder).iter().filter(is_study) {
            let name = path.file_name().expect("a name").to_string_lossy();
            let judged = statements.contains(&format!("study = \"{name}\""));
            assert!(judged || readme.contains(&*name), "{folder}: nothing is said about {name}");
        }
    }
}

#[test]
fn mistakes_do_not_fit() {
    let scenario = Validator::new(&polypath_sim::scenario::schema());
    let text = fs::read_to_string(root().join("scenarios/demo.toml")).expect("readable");
    assert_eq!(scenario.check(&text), Ok(()));
    for (right, wrong) in [
        ("[run]", "[runs]"),
        ("title =", "titel ="),
        ("source = \"saturated\"", "source = \"saturation\""),
        ("[run]\n", "[run]\nseed = \"one\"\n"),
    ] {
        assert!(text.contains(right), "{right}");
        assert!(scenario.check(&text.replacen(right, wrong, 1)).is_err(), "{wrong}");
    }
    let study = Validator::new(&polypath_lab::study::schema());
    let text = fs::read_to_string(root().join("studies/asymmetry.toml")).expect("readable");
    for (right, wrong) in [
        ("scale = 1e-6", "scale = \"1e-6\""),
        ("values =", "value ="),
        ("x_scale = \"log\"", "x_scale = \"logarithmic\""),
    ] {
        assert!(text.contains(right), "{right}");
        assert!(study.check(&text.replacen(right, wrong, 1)).is_err(), "{wrong}");
    }
}

/// What could be written for quantities: every number with every unit, and none.
fn texts() -> impl Iterator<Item = String> {
    const NUMBERS: [&str; 21] = [
        "", "5", "0", "05", "5.5", "5.", ".5", "5e3", "5E-3", "5e+2", "5e", "1_000", "-5", "+5",
        "1,5", "\u{663}", "0x5", "5 5", "inf", "120", "100.0",
    ];
    const GAPS: [&str; 5] = ["", " ", "  ", "\t", "\u{a0}"];
    const UNITS: [&str; 50] = [
        "", "bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s", "mbit/s", "Mbit", "Mb", "Mbps", "B",
        "kB", "KB", "KiB", "MB", "MiB", "GB", "GiB", "TB", "TiB", "b", "kb", "bytes", "k", "M",
        "Hz", "kHz", "MHz", "hz", "1/s", "ns", "us", "\u{b5}s", "\u{3bc}s", "ms", "s", "min", "h",
        "m", "sec", "S", "%", "percent", "%%", "e", "E5", "s.", "ss", "m s", "bit/s/s",
    ];
    let numbers = NUMBERS.iter().flat_map(|number| GAPS.iter().map(move |gap| (number, gap)));
    let inner = numbers
        .flat_map(|(number, gap)| UNITS.iter().map(move |unit| format!("{number}{gap}{unit}")));
    inner.flat_map(|text| [format!(" {text} "), text])
}

/// The pattern takes what the program takes; what is too large or too fine for a quantity, it need not know.
fn assert_pattern<T>()
where
    T: schemars::JsonSchema + serde::de::DeserializeOwned + std::str::FromStr<Err = ParseError>,
{
    let schema = schemars::schema_for!(T);
    let validator = Validator::new(&schema);
    let (mut taken, mut refused) = (0, 0);
    for text in texts() {
        let value = Value::String(text.clone());
        let fits = validator.schemas.validate(&value, validator.index).is_ok();
        let reads = serde_json::from_value::<T>(value).is_ok();
        let beyond = matches!(
            text.parse::<T>(),
            Err(ParseError::TooLarge { .. } | ParseError::TooFine { .. })
        );
        assert!(fits == reads || beyond, "{}: `{text}`, {fits} {reads}", T::schema_name());
        taken += usize::from(reads);
        refused += usize::from(!reads && !beyond);
    }
    assert!(taken > 50 && refused > 5_000, "{}: {taken}, {refused}", T::schema_name());
}

#[test]
fn patterns_of_quantities_take_what_the_program_takes() {
    assert_pattern::<BitRate>();
    assert_pattern::<ByteCount>();
    assert_pattern::<Frequency>();
    assert_pattern::<Duration>();
    assert_pattern::<Instant>();
    assert_pattern::<Fraction>();
    // As editors meet them.
    let scenario = Validator::new(&polypath_sim::scenario::schema());
    let text = fs::read_to_string(root().join("scenarios/demo.toml")).expect("readable");
    for (right, wrong) in [
        ("duration = \"", "duration = \"20\" #"),
        ("rate = \"", "rate = \"10 Mb\" #"),
        ("rate = \"", "rate = \"10 mbit/s\" #"),
        ("delay = \"", "delay = \"40 m\" #"),
    ] {
        assert!(text.contains(right), "{right}");
        assert!(scenario.check(&text.replacen(right, wrong, 1)).is_err(), "{wrong}");
    }
    let fraction = Validator::new(&schemars::schema_for!(Fraction));
    for (text, expected) in [("100 %", true), ("100.5 %", false), ("120 %", false), ("0.5", false)]
    {
        let fits = fraction.schemas.validate(&text.into(), fraction.index).is_ok();
        assert_eq!(fits, expected, "{text}");
    }
}
