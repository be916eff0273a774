use std::path::Path;

use polypath_sim::document::Document;

use super::*;
use crate::results::Observation;
use crate::study::{Operand, Reading, Study};

const STUDY: &str = r#"
title = "made-up numbers"
[replications]
runs = 3
[[axes]]
name = "rate"
label = "rate of path 2"
unit = "Mbit/s"
keys = ["x.y"]
values = ["10 Mbit/s", "1 Mbit/s"]
[[axes]]
name = "split"
keys = ["x.z"]
values = ["none", "both"]
[[variants]]
name = "cmt"
label = "plain CMT"
[[variants]]
name = "rp"
[[measures]]
name = "goodput"
result = "goodput_bit_s"
unit = "Mbit/s"
[[figures]]
name = "lines"
[[figures]]
name = "bars"
kind = "bars"
x = "split"
where = { rate = { at = ["1 Mbit/s"] } }
variants = ["rp"]
references = [{ value = 5, label = "half" }]
[inline]
title = "none"
"#;

/// A value for each point and variant: 100 times the point, 10 times the variant, and a little for the run.
fn data() -> Dataset {
    let document = Document::parse("study.toml", STUDY).expect("TOML");
    let study =
        Study::from_document(&document, Path::new(""), Reading::default()).expect("a study");
    let places = (0..4).flat_map(|point| (0..2).map(move |variant| (point, variant)));
    let observations = places.flat_map(|(point, variant)| {
        (0..3).map(move |replication| Observation {
            point,
            variant,
            replication,
            measure: 0,
            value: Some((100 * point + 10 * variant + replication) as f64),
        })
    });
    Dataset::of(study, observations)
}

fn picture(number: usize) -> Picture {
    let data = data();
    of_measures(&data.study().figures()[number], &data).expect("a picture")
}

#[test]
fn there_is_a_curve_for_each_variant_and_each_value_of_other_axes() {
    let picture = picture(0);
    let labels: Vec<&str> = picture.curves.iter().map(|curve| curve.label.as_str()).collect();
    assert_eq!(
        labels,
        ["plain CMT, split none", "plain CMT, split both", "rp, split none", "rp, split both"]
    );
    assert_eq!(picture.x_label, "rate of path 2 (Mbit/s)");
    assert_eq!(picture.y_label, "goodput (Mbit/s)");
    assert!(picture.categories.is_empty());
    // Points 1 and 3 have split both; places are in order, whatever that of the values is.
    let spots: Vec<(f64, f64)> =
        picture.curves[3].spots.iter().map(|spot| (spot.x, spot.y)).collect();
    assert_eq!(spots, [(1.0, 311.0), (10.0, 111.0)]);
    let spot = picture.curves[3].spots[0];
    // Three runs, one apart: 4.303 / sqrt(3).
    assert!((spot.high - spot.y - 2.484).abs() < 0.01 && (spot.y - spot.low - 2.484).abs() < 0.01);
}

#[test]
fn curves_are_divided_run_by_run() {
    let data = data();
    let mut plan = data.study().figures()[0].clone();
    plan.divided_by = Some(Operand { variant: Some("cmt".into()), ..Operand::default() });
    let picture = of_measures(&plan, &data).expect("a picture");
    // The variant `rp` at point 3, by `cmt` there: 310 / 300, 311 / 301, 312 / 302.
    let spot = picture.curves[3].spots[0];
    let mean = (310.0 / 300.0 + 311.0 / 301.0 + 312.0 / 302.0) / 3.0;
    assert!((spot.y - mean).abs() < 1e-12 && spot.low < spot.y && spot.high < spot.y + 1e-3);
    assert!(picture.curves[0].spots.iter().all(|spot| spot.y == 1.0));
    // At another point, by its own variant.
    let at = [("rate".to_owned(), toml::Value::from("10 Mbit/s"))].into();
    plan.divided_by = Some(Operand { at, ..Operand::default() });
    let picture = of_measures(&plan, &data).expect("a picture");
    assert!((picture.curves[3].spots[0].y - 311.0 / 111.0).abs() < 0.01);
    assert_eq!(picture.curves[3].spots[1].y, 1.0);
}

#[test]
fn bars_stand_over_names() {
    let picture = picture(1);
    assert_eq!(picture.categories, ["none", "both"]);
    assert_eq!(picture.curves.len(), 1);
    assert_eq!(picture.curves[0].label, "rp, rate of path 2 1 Mbit/s");
    let spots: Vec<(f64, f64)> =
        picture.curves[0].spots.iter().map(|spot| (spot.x, spot.y)).collect();
    assert_eq!(spots, [(0.0, 211.0), (1.0, 311.0)]);
}

#[test]
fn pictures_have_their_words_and_colours() {
    for (number, words) in [(0, "plain CMT, split both"), (1, "half")] {
        let svg = picture(number).svg();
        assert!(svg.contains(words), "{words}");
        assert!(svg.contains("#0072b2"), "the first colour of Okabe and Ito");
        let png = picture(number).png().expect("a picture");
        assert!(png.starts_with(b"\x89PNG") && png.len() > 10_000);
    }
}

#[test]
fn a_logarithmic_picture_leaves_out_what_has_no_place_in_it() {
    let mut picture = picture(0);
    picture.x_scale = Scale::Log;
    picture.y_scale = Scale::Log;
    picture.curves[0].spots.insert(0, Spot { x: 0.0, y: 1.0, low: 0.0, high: 2.0 });
    picture.curves[1].spots[0] = Spot { x: 1.0, y: 0.0, low: -1.0, high: 1.0 };
    let svg = picture.svg();
    // Where a number could stand.
    for before in [" ", "\"", ","] {
        for wrong in ["NaN", "inf", "-inf"] {
            assert!(!svg.contains(&format!("{before}{wrong}")), "{before}{wrong}");
        }
    }
}

#[test]
fn bars_without_a_place_are_an_empty_picture() {
    let mut plan = data().study().figures()[1].clone();
    let nowhere = toml::from_str("rate = { from = \"20 Mbit/s\" }").expect("TOML");
    plan.selection = nowhere;
    let picture = of_measures(&plan, &data()).expect("a picture");
    assert!(picture.categories.is_empty());
    assert!(picture.svg().starts_with("<svg") && picture.png().is_ok());
}

#[test]
fn a_place_that_is_no_quantity_is_an_error() {
    for wrong in ["at = [\"1 Mbits\"]", "from = \"1 Mbits\""] {
        let text = STUDY.replacen("at = [\"1 Mbit/s\"]", wrong, 1);
        let document = Document::parse("study.toml", text).expect("TOML");
        let study = Study::from_document(&document, Path::new(""), Reading::default());
        let error = study.expect_err("no quantity").to_string();
        assert!(error.contains("figures.1.where: `1 Mbits` is no quantity"), "{error}");
        assert!(error.contains("such as `10 Mbit/s`"), "{error}");
    }
}
