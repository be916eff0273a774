use std::io::Write as _;
use std::path::Path;
use std::process::Command;

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
    data_of(|point, variant, run| (100 * point + 10 * variant + run) as f64)
}

/// A value for each point, variant and run.
fn data_of(value: impl Fn(usize, usize, usize) -> f64) -> Dataset {
    let document = Document::parse("study.toml", STUDY).expect("TOML");
    let study =
        Study::from_document(&document, Path::new(""), Reading::default()).expect("a study");
    let places = (0..4).flat_map(|point| (0..2).map(move |variant| (point, variant)));
    let observations = places.flat_map(|(point, variant)| {
        let value = &value;
        (0..3).map(move |replication| Observation {
            point,
            variant,
            replication,
            measure: 0,
            value: Some(value(point, variant, replication)),
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
    let labels: Vec<String> = picture.curves.iter().map(|curve| curve.label()).collect();
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
fn intervals_stay_in_the_range_of_the_quantity() {
    let lowest = |data: &Dataset| {
        let picture = of_measures(&data.study().figures()[1], data).expect("a picture");
        picture.curves[0].spots.iter().map(|spot| spot.low).fold(f64::INFINITY, f64::min)
    };
    // 0, 10 and 20: the interval of the mean reaches to -14.8.
    assert_eq!(lowest(&data_of(|_, _, run| 10.0 * run as f64)), 0.0);
    let signed = lowest(&data_of(|_, _, run| 10.0 * run as f64 - 1.0));
    assert!((signed + 15.84).abs() < 0.01, "{signed}");
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
    assert_eq!(picture.curves[0].label(), "rp, rate of path 2 1 Mbit/s");
    let spots: Vec<(f64, f64)> =
        picture.curves[0].spots.iter().map(|spot| (spot.x, spot.y)).collect();
    assert_eq!(spots, [(0.0, 211.0), (1.0, 311.0)]);
}

#[test]
fn pictures_have_their_words_and_colours() {
    for (number, words) in [(0, "plain CMT, split both"), (1, "half")] {
        for style in FigureStyle::ALL {
            let drawing = picture(number).draw(style);
            assert!(drawing.svg().contains(words), "{words}");
            assert!(drawing.svg().contains("#0072b2"), "the first colour of Okabe and Ito");
            let title = drawing.svg().matches("made-up numbers").count();
            // The caption of a paper has the title.
            assert_eq!(title, if style == FigureStyle::Paper { 1 } else { 2 });
            for (format, start) in
                [(Format::Svg, &b"<svg"[..]), (Format::Pdf, b"%PDF"), (Format::Png, b"\x89PNG")]
            {
                let bytes = drawing.bytes(format, style).expect("a picture");
                assert!(bytes.starts_with(start), "{format:?}");
            }
        }
    }
}

/// Width and height of a PNG.
fn pixels(png: &[u8]) -> [u32; 2] {
    [16, 20].map(|at| u32::from_be_bytes(png[at..at + 4].try_into().expect("four bytes")))
}

#[test]
fn all_formats_have_the_size_of_the_style() {
    for style in FigureStyle::ALL {
        let sizes = style.dimensions();
        let drawing = picture(0).draw(style);
        assert!(drawing.svg().contains(&format!("width=\"{}mm\"", sizes.column_mm)), "{style}");
        let png = drawing.bytes(Format::Png, style).expect("a PNG");
        let wanted = sizes.column_mm / 25.4 * sizes.pixels_per_inch;
        assert!((f64::from(pixels(&png)[0]) - wanted).abs() < 2.0, "{style}");
        let pdf = drawing.bytes(Format::Pdf, style).expect("a PDF");
        let text = String::from_utf8_lossy(&pdf);
        let (_, page) = text.split_once("/MediaBox [").expect("a page");
        let numbers = page.split(']').next().expect("its end").split_whitespace();
        let width: f64 = numbers.map(|n| n.parse().expect("a number")).nth(2).expect("a width");
        assert!((width - sizes.column_pt()).abs() < 0.5, "{style}: {width}");
    }
}

/// Pictures with everything that is hard to place.
fn hard_pictures() -> Vec<Picture> {
    let (lines, bars) = (picture(0), picture(1));
    let long = "the median of the delays of all messages that were sent on any of the paths (ms)";
    let mut wide = lines.clone();
    wide.title = "a title that does not fit into one line of a figure, ".repeat(4);
    wide.y_label = long.into();
    wide.x_label = long.repeat(3);
    for (curve, number) in wide.curves.iter_mut().zip(1..) {
        curve.parts = vec![format!("{number} {long}"), long.into(), "W".repeat(200 * number)];
    }
    let mut log = lines.clone();
    (log.x_scale, log.y_scale) = (Scale::Log, Scale::Log);
    log.curves[0].spots = (-7..8).map(|n| Spot::exact(10f64.powi(n), 10f64.powi(-n))).collect();
    let mut names = bars.clone();
    let name = |n: usize| Spot { low: 0.0, ..Spot::exact(n as f64, n as f64 * 1e-6) };
    names.categories = (0..14).map(|n| format!("{n} a-long-name of_a_place_{n}")).collect();
    names.curves[0].spots = (0..14).map(name).collect();
    let mut stacked = names.clone();
    stacked.shape = Shape::StackedBars;
    stacked.curves.push(Curve::new("second", 1, (0..14).map(name).collect()));
    let mut facets = lines.clone();
    facets.curves = (0..30)
        .map(|n| Curve {
            parts: vec![format!("{long} {}", n % 6), format!("{n}")],
            ..lines.curves[n % 4].clone()
        })
        .collect();
    let mut turns = lines.clone();
    turns.curves = (0..9)
        .map(|n| Curve { parts: vec![format!("{n} {long}")], ..lines.curves[n % 4].clone() })
        .collect();
    let mut empty = lines.clone();
    empty.curves.clear();
    vec![lines, bars, wide, log, names, stacked, facets, empty, turns]
}

#[test]
fn every_text_lies_within_the_picture() {
    let mut seen = 0;
    for (number, picture) in hard_pictures().iter().enumerate() {
        for style in FigureStyle::ALL {
            let drawing = picture.draw(style);
            let tree = drawing.tree().expect("an SVG");
            let [width, height] = [tree.size().width(), tree.size().height()];
            // As the library for PDF and PNG lays it out, with the same font.
            for text in texts_of(tree.root()) {
                let sides = text.abs_bounding_box();
                let within = sides.left() >= -0.01
                    && sides.top() >= -0.01
                    && sides.right() <= width + 0.01
                    && sides.bottom() <= height + 0.01;
                let words: String = text.chunks().iter().map(|chunk| chunk.text()).collect();
                assert!(within, "{number}, {style}: `{words}` at {sides:?} of {width} x {height}");
                seen += 1;
            }
        }
    }
    assert!(seen > 500, "{seen}");
}

/// All texts of a group.
fn texts_of(group: &resvg::usvg::Group) -> Vec<&resvg::usvg::Text> {
    let texts = group.children().iter().flat_map(|node| match node {
        resvg::usvg::Node::Text(text) => vec![&**text],
        resvg::usvg::Node::Group(group) => texts_of(group),
        _ => Vec::new(),
    });
    texts.collect()
}

#[test]
fn texts_of_a_picture_do_not_lie_over_each_other() {
    for (number, picture) in hard_pictures().iter().enumerate() {
        for style in FigureStyle::ALL {
            let drawing = picture.draw(style);
            for (place, text) in drawing.texts().iter().enumerate() {
                for other in &drawing.texts()[..place] {
                    assert!(!text.meets(other), "{number}, {style}: {text:?} and {other:?}");
                }
            }
        }
    }
}

#[test]
fn all_lines_of_curves_are_equally_wide() {
    for style in FigureStyle::ALL {
        let sizes = style.dimensions();
        let drawing = picture(0).draw(style);
        let curves = drawing.svg().lines().filter(|line| line.starts_with("<polyline"));
        let width = format!("stroke-width=\"{}\"", sizes.line_pt);
        let (named, others): (Vec<&str>, Vec<&str>) =
            curves.partition(|line| line.contains("<title>"));
        assert!(named.len() == 4 && named.iter().all(|line| line.contains(&width)), "{named:?}");
        // Each has its line in the legend.
        let samples = others.into_iter().filter(|line| line.contains(&width));
        let curves: Vec<&str> = named.iter().copied().chain(samples).collect();
        assert_eq!(curves.len(), 8);
        assert_eq!(curves.iter().filter(|line| line.contains("stroke-dasharray")).count(), 6);
    }
}

#[test]
fn a_logarithmic_picture_leaves_out_what_has_no_place_in_it() {
    let mut picture = picture(0);
    picture.x_scale = Scale::Log;
    picture.y_scale = Scale::Log;
    picture.curves[0].spots.insert(0, Spot { x: 0.0, y: 1.0, low: 0.0, high: 2.0 });
    picture.curves[1].spots[0] = Spot { x: 1.0, y: 0.0, low: -1.0, high: 1.0 };
    let drawing = picture.draw(FigureStyle::Screen);
    // Where a number could stand.
    for before in [" ", "\"", ","] {
        for wrong in ["NaN", "inf", "-inf"] {
            assert!(!drawing.svg().contains(&format!("{before}{wrong}")), "{before}{wrong}");
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
    let drawing = picture.draw(FigureStyle::Screen);
    assert!(drawing.svg().starts_with("<svg") && drawing.png(96.0).is_ok());
}

#[test]
fn a_place_that_is_no_quantity_is_an_error() {
    for wrong in ["at = [\"1 Mbits\"]", "from = \"1 Mbits\""] {
        let text = STUDY.replacen("at = [\"1 Mbit/s\"]", wrong, 1);
        let document = Document::parse("study.toml", text).expect("TOML");
        let study = Study::from_document(&document, Path::new(""), Reading::default());
        let error = study.expect_err("no quantity").to_string();
        assert!(error.contains("figures.1.where: `1 Mbits` is not a quantity"), "{error}");
        assert!(error.contains("such as `10 Mbit/s`"), "{error}");
    }
}

#[test]
fn the_numbers_of_a_figure_are_those_of_its_curves() {
    let csv = picture(1).sheet().csv().expect("CSV");
    let text = String::from_utf8(csv).expect("text");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "panel,curve,x,place,y,low,high");
    assert!(lines[1].starts_with(",\"rp, rate of path 2 1 Mbit/s\",0,none,211,"), "{}", lines[1]);
    assert_eq!(lines.len(), 3);
    let facets = hard_pictures().swap_remove(6).sheet();
    let csv = String::from_utf8(facets.csv().expect("CSV")).expect("text");
    let spots: usize =
        facets.panels.iter().flat_map(|panel| &panel.curves).map(|curve| curve.spots.len()).sum();
    assert!(facets.panels.len() > 1 && spots > 30);
    assert_eq!(csv.lines().count(), spots + 1);
}

/// A Python with matplotlib; without it the test is skipped, unless POLYPATH_REQUIRE has `matplotlib`.
fn has_matplotlib() -> bool {
    let import = Command::new("python3").args(["-c", "import matplotlib"]).output();
    let found = import.is_ok_and(|output| output.status.success());
    let required = std::env::var("POLYPATH_REQUIRE").unwrap_or_default();
    let required = required.split(',').any(|name| name.trim() == "matplotlib");
    assert!(found || !required, "POLYPATH_REQUIRE has matplotlib, but python3 cannot import it");
    if !found {
        // Written past the test harness, which would keep it to itself.
        let _ = writeln!(std::io::stderr(), "SKIPPED: python3 has no matplotlib");
    }
    found
}

#[test]
fn scripts_draw_every_figure_again() {
    if !has_matplotlib() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut pictures = hard_pictures();
    for (picture, shape) in pictures[1..4].iter_mut().zip([Shape::Bars, Shape::Lines, Shape::Dots])
    {
        picture.shape = shape;
    }
    pictures[0].title = "\"quoted\"\\ \n and more".into();
    // Starting the program takes longer than all the rest.
    for number in [0, 1, 3, 5, 6] {
        let (picture, style) = (&pictures[number], FigureStyle::ALL[number % 3]);
        let name = format!("figure-{number}");
        let written = write(picture, folder.path(), &name, style).expect("files");
        let script = written.files().last().expect("a script");
        let target = folder.path().join(format!("{name}-own.svg"));
        let output = Command::new("python3").arg(script).arg(&target).output().expect("a run");
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{number}: {complaint}");
        let drawn = fs::read_to_string(&target).expect("its file");
        assert!(drawn.contains("<svg"), "{number}");
    }
}
