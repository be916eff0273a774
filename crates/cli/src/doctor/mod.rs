//! Checks of this machine: one per feature that the network or missing privileges may deny, each with a remedy.

mod capability;
mod interfaces;
mod loopback;
mod privileges;
mod sockets;

use std::fmt::Write;

use clap::ValueEnum;
use serde::Serialize;

use crate::failure::Failure;

/// A check, in the order of the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Check {
    /// An association over UDP on the loopback interface
    Loopback,
    /// Interfaces that are up, their addresses and MTU
    Interfaces,
    /// IPv6 sockets
    Ipv6,
    /// The UDP port of encapsulated SCTP
    UdpPort,
    /// Segmentation and receive offload of UDP
    Offload,
    /// Sizes of socket buffers
    Buffers,
    /// Raw sockets, for SCTP over IP
    Raw,
    /// The kernel's own SCTP, which aborts associations over IP
    KernelSctp,
    /// TUN interfaces
    Tun,
    /// Network namespaces
    Namespaces,
}

impl Check {
    /// Its name in arguments and in JSON.
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

/// Status of a check.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Verdict {
    /// The feature works.
    Ok,
    /// The feature is unavailable or limited, which affects some uses.
    Warn,
    /// The feature is unavailable and needed.
    Fail,
}

/// The outcome of one check.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct Finding {
    pub(crate) check: Check,
    pub(crate) verdict: Verdict,
    /// What was found, in one sentence without a full stop.
    found: String,
    /// Remedy.
    remedy: Option<String>,
}

impl Finding {
    fn ok(check: Check, found: impl Into<String>) -> Self {
        Self { check, verdict: Verdict::Ok, found: found.into(), remedy: None }
    }

    fn warn(check: Check, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        let remedy = Some(remedy.into());
        Self { check, verdict: Verdict::Warn, found: found.into(), remedy }
    }

    fn fail(check: Check, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { verdict: Verdict::Fail, ..Self::warn(check, found, remedy) }
    }

    /// The same for a needed feature.
    pub(crate) fn required(mut self) -> Self {
        if self.verdict == Verdict::Warn {
            self.verdict = Verdict::Fail;
        }
        self
    }
}

/// Runs one check.
pub(crate) fn examine(check: Check) -> Finding {
    match check {
        Check::Loopback => loopback::examine(),
        Check::Interfaces => interfaces::examine(),
        Check::Ipv6 => interfaces::examine_ipv6(),
        Check::UdpPort => sockets::examine_udp_port(),
        Check::Offload => sockets::examine_offload(),
        Check::Buffers => sockets::examine_buffers(),
        Check::Raw => sockets::examine_raw(),
        Check::KernelSctp => sockets::examine_kernel(),
        Check::Tun => privileges::examine_tun(),
        Check::Namespaces => privileges::examine_namespaces(),
    }
}

/// The findings as text.
pub(crate) fn to_text(findings: &[Finding]) -> String {
    let mut text = String::new();
    for finding in findings {
        let verdict = match finding.verdict {
            Verdict::Ok => "ok",
            Verdict::Warn => "warn",
            Verdict::Fail => "FAIL",
        };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{verdict:<5} {:<12} {}", finding.check.name(), finding.found);
        if let Some(remedy) = &finding.remedy {
            let _ = writeln!(text, "{:<18} -> {remedy}", "");
        }
    }
    text
}

/// The findings as JSON.
pub(crate) fn to_json(findings: &[Finding]) -> Result<String, Failure> {
    let ok = findings.iter().all(|finding| finding.verdict != Verdict::Fail);
    let value = serde_json::json!({ "ok": ok, "checks": findings });
    Ok(format!("{value}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings() -> [Finding; 2] {
        [Finding::ok(Check::Ipv6, "there it is"), Finding::warn(Check::Raw, "no", "ask for it")]
    }

    #[test]
    fn text_has_a_line_for_each_and_one_for_what_to_do() {
        assert_eq!(
            to_text(&findings()),
            "ok    ipv6         there it is\n\
             warn  raw          no\n                   -> ask for it\n"
        );
    }

    #[test]
    fn what_is_required_fails_where_it_would_warn() {
        let [good, bad] = findings().map(Finding::required);
        assert_eq!((good.verdict, bad.verdict), (Verdict::Ok, Verdict::Fail));
        let json = to_json(&[good, bad]).unwrap();
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(json["ok"], false);
        assert_eq!(json["checks"][1]["check"], "raw");
        assert_eq!(json["checks"][1]["verdict"], "fail");
        assert_eq!(json["checks"][0]["remedy"], serde_json::Value::Null);
        let warned: serde_json::Value =
            serde_json::from_str(&to_json(&findings()).unwrap()).unwrap();
        assert_eq!(warned["ok"], true);
    }

    #[test]
    fn names_in_arguments_and_json_are_the_same() {
        for check in Check::value_variants() {
            assert_eq!(serde_json::to_value(check).unwrap(), check.name());
        }
    }
}
