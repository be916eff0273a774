//! Reports, opened in a browser.

mod common;
#[path = "common/paper.rs"]
mod paper;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use common::{directory, polypath, texts};
use paper::papers_in;

/// Headless Chromium, if there is one. POLYPATH_REQUIRE=browser makes its absence a failure.
fn chromium() -> Option<&'static str> {
    let runs = |name: &&str| {
        Command::new(name).arg("--version").output().is_ok_and(|o| o.status.success())
    };
    let found =
        ["chromium", "chromium-browser", "google-chrome"].into_iter().find(|name| runs(name));
    let required = std::env::var("POLYPATH_REQUIRE").unwrap_or_default();
    let required = required.split(',').any(|name| name == "browser");
    assert!(found.is_some() || !required, "POLYPATH_REQUIRE has browser, but there is no Chromium");
    if found.is_none() {
        let _ = writeln!(std::io::stderr(), "SKIPPED: Chromium is not installed");
    }
    found
}

/// Opens a page without any network, and does something with it.
fn open(chromium: &str, place: &Path, page: &Path, what: &[String]) -> Output {
    let mut command = Command::new(chromium);
    command.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        "--no-first-run",
    ]);
    // Whatever a page asks for goes to a place where nobody answers, and the browser says so.
    command.args(["--proxy-server=127.0.0.1:9", "--disable-background-networking"]);
    command.args(["--enable-logging=stderr", "--window-size=1280,2400"]);
    command.arg(format!("--user-data-dir={}", place.join("profile").display()));
    command.args(what).arg(format!("file://{}", page.display()));
    command.output().expect("a browser that runs")
}

fn text_of(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

fn written(place: &Path) -> PathBuf {
    let papers = papers_in(place);
    let out = place.join("out");
    let [papers, out_text] = [&papers, &out].map(|path| path.to_str().expect("UTF-8"));
    let output = polypath(&["reproduce", "all", "--papers", papers, "--out", out_text]);
    assert!(output.status.success(), "{}", texts(&output).1);
    out
}

#[test]
fn a_browser_shows_the_report_and_complains_about_nothing() {
    let Some(chromium) = chromium() else { return };
    let place = directory("report-in-browser");
    let out = written(&place);
    for (page, words) in [
        ("index.html", vec!["tiny: a paper", "What differs"]),
        ("tiny/report.html", vec!["Two paths carry clearly more.", "<svg", "made up", "▼ differs"]),
    ] {
        let page = out.join(page);
        let (dom, log) = text_of(&open(chromium, &place, &page, &["--dump-dom".into()]));
        for words in words {
            assert!(dom.contains(words), "{words} is not shown in {}", page.display());
        }
        // Refused by the page's own policy, not found, or no element: all of it is written to the console.
        let complaints: Vec<&str> = log.lines().filter(|line| line.contains("CONSOLE")).collect();
        assert!(complaints.is_empty(), "{complaints:?}");
        let [picture, print] =
            ["png", "pdf"].map(|ending| place.join("shown").with_extension(ending));
        open(chromium, &place, &page, &[format!("--screenshot={}", picture.display())]);
        let picture = fs::read(&picture).expect("a screenshot");
        assert!(
            picture.starts_with(b"\x89PNG") && picture.len() > 20_000,
            "{} bytes",
            picture.len()
        );
        open(chromium, &place, &page, &[format!("--print-to-pdf={}", print.display())]);
        assert!(fs::read(&print).expect("a print").starts_with(b"%PDF"));
    }
}
