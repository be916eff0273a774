use serde::{Deserialize, Serialize};

use super::*;

#[derive(Deserialize, Serialize, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
struct Top {
    name: String,
    inner: Inner,
    #[serde(default)]
    list: Vec<Inner>,
}

#[derive(Deserialize, Serialize, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
struct Inner {
    rate: u32,
    #[serde(default)]
    limit: Option<f64>,
    choice: Choice,
}

#[derive(Deserialize, Serialize, PartialEq, Debug)]
#[serde(rename_all = "kebab-case")]
enum Choice {
    Off,
    MaxBurst(u8),
    Window { bytes: u32 },
}

const TEXT: &str = "\
name = 'x'

[inner]
rate = 5
choice = 'off'

[[list]]
rate = 6
choice = { max-burst = 4 }
";

const ROOT: [Layer<'static>; 1] = [Layer::At(&[])];

fn document(text: &str) -> Document {
    Document::parse("file.toml", text).unwrap()
}

fn error_of(text: &str) -> String {
    document(text).decode::<Top>(&ROOT).unwrap_err().to_string()
}

#[test]
fn a_good_document_is_read() {
    let top: Top = document(TEXT).decode(&ROOT).unwrap();
    assert_eq!(top.inner, Inner { rate: 5, limit: None, choice: Choice::Off });
    assert_eq!(top.list, [Inner { rate: 6, limit: None, choice: Choice::MaxBurst(4) }]);
}

#[test]
fn an_unknown_key_is_named_with_its_place_and_the_nearest_one() {
    assert_eq!(
        error_of(&TEXT.replace("rate = 6", "rat = 6")),
        "file.toml:8:1: list.0: unknown key `rat`\n  did you mean `rate`? keys here: `rate`, `limit`, `choice`"
    );
}

#[test]
fn an_unknown_choice_is_named_with_the_nearest_one() {
    assert_eq!(
        error_of(&TEXT.replace("max-burst", "max_bust")),
        "file.toml:9:12: list.0.choice: `max_bust` is not a choice here\n  \
         did you mean `max-burst`? choices: `off`, `max-burst`, `window`"
    );
}

#[test]
fn a_value_of_the_wrong_kind_or_size_is_refused_where_it_stands() {
    assert_eq!(
        error_of(&TEXT.replace("rate = 6", "rate = 'six'")),
        "file.toml:8:8: list.0.rate: expected a whole number from 0 to 4294967295, for example 5, found the text \"six\""
    );
    assert_eq!(
        error_of(&TEXT.replace("max-burst = 4", "max-burst = 400")),
        "file.toml:9:24: list.0.choice.max-burst: expected a whole number from 0 to 255, for example 5, found the number 400"
    );
    assert_eq!(
        error_of(&TEXT.replace("{ max-burst = 4 }", "'max-burst'")),
        "file.toml:9:10: list.0.choice: `max-burst` needs a value\n  write { max-burst = … }"
    );
    assert_eq!(
        error_of(&TEXT.replace("'off'", "{ off = 1 }")),
        "file.toml:5:18: inner.choice: `off` takes no value\n  write \"off\""
    );
    assert_eq!(
        error_of(&TEXT.replace("'off'", "{ off = 1, max-burst = 2 }")),
        "file.toml:5:10: inner.choice: expected one of `off`, `max-burst`, `window`, by itself or as the only key of a \
         table, found a table with 2 keys"
    );
}

#[test]
fn a_missing_key_is_named_at_its_table() {
    let error = error_of(&TEXT.replace("rate = 5\n", ""));
    assert_eq!(error, "file.toml:3:1: inner: the key `rate` is missing");
}

#[test]
fn text_that_is_not_toml_is_refused_with_its_line() {
    let error = Document::parse("file.toml", "name = 'x'\nrate = \n").unwrap_err();
    assert!(matches!(&error.place, Place::File { line: 2, .. }), "{error}");
}

#[test]
fn edits_go_on_top_and_are_named_in_complaints() {
    let mut document = document(TEXT);
    document.set("inner.rate=7").unwrap();
    document.set("inner.limit = 0.5").unwrap();
    document.set("inner.choice.window.bytes=9").unwrap();
    document.set("list.0.choice=off").unwrap();
    let top: Top = document.decode(&ROOT).unwrap();
    assert_eq!(top.inner, Inner { rate: 7, limit: Some(0.5), choice: Choice::Window { bytes: 9 } });
    assert_eq!(top.list[0].choice, Choice::Off);

    document.set("inner.rte=7").unwrap();
    assert_eq!(
        document.decode::<Top>(&ROOT).unwrap_err().to_string(),
        "--set inner.rte: inner: unknown key `rte`\n  did you mean `rate`? keys here: `rate`, `limit`, `choice`"
    );
}

#[test]
fn edits_that_lead_nowhere_are_refused() {
    let mut document = document(TEXT);
    for (edit, message) in [
        (
            "inner.rate",
            "--set inner.rate: an edit has the form key=value\n  for example: run.duration=\"10 s\"",
        ),
        ("inner..rate=1", "--set inner..rate: a key has names with dots between them"),
        ("inner.rate.x=1", "--set inner.rate.x: inner.rate: a number has no key `x`"),
        (
            "list.1.rate=1",
            "--set list.1.rate: list: there is no element `1`; elements are named by number from 0 or by their name, \
             and there are 1",
        ),
    ] {
        assert_eq!(document.set(edit).unwrap_err().to_string(), message);
    }
    assert!(document.set("name=\"x").is_err());
}

#[test]
fn elements_can_be_named() {
    let mut document = document("[[list]]\nname = 'one'\nx = 1\n[[list]]\nname = 'two'\nx = 2\n");
    document.set("list.two.x=3").unwrap();
    assert_eq!(
        document
            .root
            .child(&Step::Key("list"))
            .map(|list| format!("{list:?}").contains("Integer(3)")),
        Some(true)
    );
    let error = document.set("list.tow.x=3").unwrap_err();
    assert_eq!(error.help.as_deref(), Some("did you mean `two`?"));
}

#[test]
fn layers_merge_structures_and_replace_choices() {
    let defaults =
        Defaults::of(&Inner { rate: 1, limit: Some(2.0), choice: Choice::Window { bytes: 10 } })
            .unwrap();
    let document = document("[a]\nrate = 5\n[b]\nchoice = { max-burst = 3 }\n");
    let [a, b] = [[Step::Key("a")], [Step::Key("b")]];
    let layers = [Layer::At(&b), Layer::At(&a), Layer::Defaults(&defaults)];
    let inner: Inner = document.decode(&layers).unwrap();
    assert_eq!(inner, Inner { rate: 5, limit: Some(2.0), choice: Choice::MaxBurst(3) });

    let error = document
        .decode::<Inner>(&[Layer::At(&b), Layer::At(&a)])
        .map(|_| ())
        .map(|()| document.complain(&a, "is odd"))
        .unwrap();
    assert_eq!(error.to_string(), "file.toml:1:1: a: is odd");
}

#[test]
fn a_value_from_elsewhere_names_its_own_place() {
    let mut document = Document::parse("a.toml", "[table]\nnumber = 1\n").expect("TOML");
    let place = Place::File { name: "b.toml".into(), line: 7, column: 3 };
    document.put("table.number", toml::Value::String("x".into()), place).expect("a place for it");
    let error = document
        .decode::<std::collections::BTreeMap<String, std::collections::BTreeMap<String, i64>>>(&[
            Layer::At(&[]),
        ]);
    let text = error.expect_err("not a number").to_string();
    assert!(text.starts_with("b.toml:7:3: table.number: "), "{text}");
}

#[test]
fn a_part_of_a_document_keeps_its_lines() {
    let document = Document::parse("a.toml", "[one]\nx = 1\n[two]\ny = true\n").expect("TOML");
    let part = document.part(&[Step::Key("two")]).expect("there is one");
    assert!(part.has(&[Step::Key("y")]) && !part.has(&[Step::Key("one")]));
    assert_eq!(part.place(&[Step::Key("y")]).to_string(), "a.toml:4:5");
    assert_eq!(part.to_value().to_string(), "{ y = true }");
}

/// Work that grows with the square of the keys would take minutes here.
#[test]
fn a_table_with_very_many_unknown_keys_is_refused_for_one_of_them() {
    let text: String = (0..200_000).map(|number| format!("k{number} = 1\n")).collect();
    let error = error_of(&text);
    assert!(error.contains("unknown key `k0`"), "{error}");
}
