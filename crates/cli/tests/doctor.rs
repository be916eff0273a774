//! `polypath doctor` from outside.

#[allow(dead_code)]
mod common;

use common::{polypath, texts};
use serde_json::Value;

#[test]
fn every_check_has_a_line_and_the_exit_code_follows_the_verdicts() {
    let output = polypath(&["doctor", "--json"]);
    let json: Value = serde_json::from_str(&texts(&output).0).expect("JSON");
    let checks = json["checks"].as_array().expect("a list");
    let text = texts(&polypath(&["doctor"])).0;
    for check in checks {
        let name = check["check"].as_str().expect("a name");
        assert!(text.lines().any(|line| line.split_whitespace().nth(1) == Some(name)), "{name}");
        assert_eq!(check["remedy"].is_null(), check["verdict"] == "ok", "{check}");
    }
    let failed = checks.iter().any(|check| check["verdict"] == "fail");
    assert_eq!(json["ok"], !failed);
    assert_eq!(output.status.code(), Some(if failed { 5 } else { 0 }));
    // An association on the loopback interface is what all these tests need.
    assert_eq!(checks[0]["check"], "loopback");
    assert_eq!(checks[0]["verdict"], "ok", "{}", checks[0]);
}

#[test]
fn what_is_required_must_not_warn() {
    let output = polypath(&["doctor", "--json"]);
    let json: Value = serde_json::from_str(&texts(&output).0).expect("JSON");
    for check in json["checks"].as_array().expect("a list") {
        let name = check["check"].as_str().expect("a name");
        // Whether a port is free may change meanwhile.
        if name != "udp-port" {
            let code = if check["verdict"] == "ok" { 0 } else { 5 };
            let required = polypath(&["doctor", "--require", name]);
            assert_eq!(required.status.code(), Some(code), "{name}");
        }
    }
    assert_eq!(polypath(&["doctor", "--require", "luck"]).status.code(), Some(2));
}
