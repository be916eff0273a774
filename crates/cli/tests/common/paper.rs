//! A small paper.

use std::fs;
use std::path::{Path, PathBuf};

const README: &str = "# tiny: a paper\n\nIt says that two paths carry more.\n\n## Set-up\n\nTwo paths of 1 Mbit/s.\n\n\
    ## What differs, and why\n\n* Nothing.\n";

const EXPECTED: &str = r#"
paper = "tiny"
[[statements]]
id = "tiny-1"
figure = "1, left"
study = "fig1.toml"
statement = "Two paths carry clearly more."
rule = { better = { of = { variant = "both" }, than = [{ variant = "one" }], by = "clearly" } }
[[statements]]
id = "tiny-2"
figure = "1, right"
study = "fig1.toml"
statement = "Two paths carry less."
rule = { worse = { of = { variant = "both" }, than = [{ variant = "one" }] } }
cause = "made up"
[[statements]]
id = "tiny-3"
figure = "2"
study = "fig2.toml"
statement = "Fast paths carry more."
rule = { rises = { of = { variant = "both" }, along = "rate" } }
[[not_run]]
id = "tiny-4"
figure = "3"
statement = "On the moon too."
reason = "it is far away"
"#;

const REFERENCE: &str = "figure,curve,x,unit,value,lower,upper,tool\n\
    \"1, left\",both,1 Mbit/s,Mbit/s,1.9,1.0,2.8,a tool\n\
    \"1, left\",one,1 Mbit/s,Mbit/s,5,,,a tool\n\
    \"1, left\",three,1 Mbit/s,Mbit/s,5,,,a tool\n";

const PLACES: &str = "[[comparisons]]\nfigure = \"1, left\"\nstudy = \"fig1.toml\"\nmeasure = \"goodput\"\nx = [\"rate\"]\n";

const SCENARIO: &str = r#"
title = "two paths"
[run]
duration = "2 s"
[[network.disjoint.paths]]
name = "path 1"
bottleneck = { rate = "1 Mbit/s", delay = "10 ms" }
[[network.disjoint.paths]]
name = "path 2"
bottleneck = { rate = "1 Mbit/s", delay = "10 ms" }
[[traffic]]
name = "bulk"
source = "saturated"
message_size = "1452 B"
"#;

const STUDY: &str = r#"
title = "one path and two"
scenario = "scenario.toml"
[replications]
runs = 4
[[axes]]
name = "rate"
unit = "Mbit/s"
keys = ["network.disjoint.paths.path 2.bottleneck.rate"]
values = ["1 Mbit/s", "2 Mbit/s"]
[[variants]]
name = "one"
set = { "sctp.preset" = "rfc9260" }
[[variants]]
name = "both"
set = { "sctp.preset" = "cmt" }
[[measures]]
name = "goodput"
result = "goodput_bit_s"
unit = "Mbit/s"
scale = 1e-6
[[figures]]
name = "1"
[quick]
runs = 2
"#;

/// Writes a folder of papers with this one in it.
pub fn papers_in(directory: &Path) -> PathBuf {
    let papers = directory.join("papers");
    let paper = papers.join("tiny");
    fs::create_dir_all(&paper).expect("a directory");
    let second = STUDY.replace("one path and two", "rates").replace("name = \"1\"", "name = \"2\"");
    let files = [
        ("README.md", README),
        ("expected.toml", EXPECTED),
        ("reference.csv", REFERENCE),
        ("reference.toml", PLACES),
        ("scenario.toml", SCENARIO),
        ("fig1.toml", STUDY),
        ("fig2.toml", &second),
    ];
    for (name, content) in files {
        fs::write(paper.join(name), content).expect("writable");
    }
    papers
}
