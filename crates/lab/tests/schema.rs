//! The JSON Schemas accept every file that we have, and refuse mistakes.

use std::fs;
use std::path::{Path, PathBuf};

use boon::{Compiler, SchemaIndex, Schemas};
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

/// TOML files of a folder of the project, with their text.
fn files(folder: &str) -> Vec<(PathBuf, String)> {
    let mut paths: Vec<PathBuf> = fs::read_dir(root().join(folder))
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        .collect();
    paths.sort();
    let text = |path: &PathBuf| fs::read_to_string(path).expect("readable");
    paths.iter().map(|path| (path.clone(), text(path))).collect()
}

#[test]
fn every_scenario_fits_its_schema() {
    let validator = Validator::new(&polypath_sim::scenario::schema());
    let scenarios = files("scenarios")
        .into_iter()
        .chain(files("studies").into_iter().filter(|(path, _)| kind(path) == Kind::Scenario));
    let mut count = 0;
    for (path, text) in scenarios {
        validator.check(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        count += 1;
    }
    assert!(count >= 9);
}

#[test]
fn every_study_fits_its_schema_and_makes_sense() {
    use polypath_lab::study::{Extent, Reading, Study};
    let validator = Validator::new(&polypath_lab::study::schema());
    let studies: Vec<_> =
        files("studies").into_iter().filter(|(path, _)| kind(path) == Kind::Study).collect();
    assert!(!studies.is_empty());
    for (path, text) in studies {
        validator.check(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for extent in [Extent::Full, Extent::Quick] {
            let study = Study::read(&path, Reading { extent, edits: &[] })
                .unwrap_or_else(|error| panic!("{error}"));
            for (point, variant) in study.sample() {
                let scenario = study.scenario(&study.points()[point], variant);
                scenario.unwrap_or_else(|error| panic!("{error}"));
            }
        }
    }
}

/// Scenarios of studies, and statements about them, are named so.
fn kind(path: &Path) -> Kind {
    match path.file_stem().map(|stem| stem.to_string_lossy()) {
        Some(stem) if stem.ends_with("-scenario") => Kind::Scenario,
        Some(stem) if stem.ends_with("-expected") => Kind::Statements,
        _ => Kind::Study,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Scenario,
    Study,
    Statements,
}

#[test]
fn every_file_of_statements_fits_its_schema() {
    let validator = Validator::new(&polypath_lab::verdict::schema());
    let files = files("studies").into_iter().filter(|(path, _)| kind(path) == Kind::Statements);
    let mut count = 0;
    for (path, text) in files {
        validator.check(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        polypath_lab::verdict::Expectations::read(&path).unwrap_or_else(|error| panic!("{error}"));
        count += 1;
    }
    assert!(count > 0);
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
