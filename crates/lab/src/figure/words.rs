//! Descriptions of series for legends and axes: `paths.a.path 2.cwnd_bytes` is the congestion window of path 2.

use std::collections::BTreeSet;

/// What a series is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct SeriesWords {
    /// The quantity.
    quantity: String,
    /// The unit of its numbers, if it has one.
    unit: Option<&'static str>,
    /// The path, flow or bottleneck, with its kind; `None` for whole hosts and runs.
    element: Option<String>,
    /// The sending host, or the host of the series.
    host: Option<String>,
    /// The pair of hosts, if there are several.
    pair: Option<String>,
}

/// Quantities by the last steps of names. Others are described by the words of their names.
const QUANTITIES: [(&str, &str); 31] = [
    ("goodput_bit_s", "goodput"),
    ("sent_bit_s", "data sent"),
    ("cwnd_bytes", "congestion window"),
    ("ssthresh_bytes", "slow-start threshold"),
    ("flight_bytes", "outstanding data"),
    ("srtt_s", "smoothed round-trip time"),
    ("rtt_s", "round-trip time"),
    ("rttvar_s", "round-trip time variation"),
    ("rto_s", "retransmission timeout"),
    ("peer_window_bytes", "peer's receive window"),
    ("peer_window.bytes", "peer's receive window"),
    ("send_buffer.bytes", "send buffer"),
    ("receive_buffer.bytes", "receive buffer"),
    ("queue_packets", "queue"),
    ("queue_bytes", "queue"),
    ("delivered.tsn", "delivered"),
    ("acked.tsn", "acknowledged"),
    ("first_sent.tsn", "first sent"),
    ("fast_retransmitted.tsn", "fast retransmitted"),
    ("timer_retransmitted.tsn", "retransmitted after a timeout"),
    ("report_retransmitted.tsn", "retransmitted after a drop report"),
    ("rescheduled.tsn", "rescheduled"),
    ("tail_probes.tsn", "tail probe"),
    ("window_probes.tsn", "window probe"),
    ("received.tsn", "received"),
    ("lives.retransmissions", "retransmissions of a TSN"),
    ("lives.transfer_s", "time to the receiver"),
    ("lives.delivery_s", "time to the application"),
    ("lives.acknowledgement_s", "time to the acknowledgement"),
    ("stalls.measured_s", "stall of the delivery"),
    ("stalls.from_trace_s", "stall after equation 3"),
];

/// Endings of names with their units, and the names of multiples.
const UNITS: [(&str, &[(f64, &str)]); 6] = [
    ("_bit_s", &[(1.0, "bit/s"), (1e-3, "kbit/s"), (1e-6, "Mbit/s"), (1e-9, "Gbit/s")]),
    ("_bytes", BYTES),
    (".bytes", BYTES),
    ("_packets", &[(1.0, "packets")]),
    ("_s", &[(1.0, "s"), (1e3, "ms"), (1e6, "us")]),
    (".tsn", &[(1.0, "")]),
];

const BYTES: &[(f64, &str)] =
    &[(1.0, "B"), (1e-3, "kB"), (1e-6, "MB"), (1.0 / 1024.0, "KiB"), (1.0 / 1_048_576.0, "MiB")];

impl SeriesWords {
    /// Describes a series by its name, or several by a pattern, whose numbers are multiplied by `scale`. `None` if the name
    /// does not have this form.
    pub fn of(series: &str, scale: f64) -> Option<Self> {
        let mut steps: Vec<&str> = series.split('.').collect();
        // In lists of events, the quantity has two steps.
        let is_event = |group: &str| ["tsns", "changes"].contains(&group);
        let depth = if is_event(steps[0]) { 2 } else { 1 };
        if steps.len() <= depth && steps.len() != 1 {
            return None;
        }
        let last = steps.split_off(steps.len() - depth.min(steps.len()));
        let name = last.join(".");
        let (quantity, unit) = (quantity(&name), unit(&name, scale));
        let all = Self { quantity, unit, element: None, host: None, pair: None };
        let text = |step: &str| Some(step.to_owned());
        let of = |kind: &str, host: &str, element: &str| Self {
            element: Some(element_words(kind, element)),
            host: text(host),
            ..all.clone()
        };
        Some(match steps.as_slice() {
            [] => all,
            ["hosts" | "tsns" | "changes" | "blocking" | "timeouts", host] => {
                Self { host: text(host), ..all }
            }
            ["hosts" | "tsns" | "changes" | "blocking" | "timeouts", pair, host] => {
                Self { host: text(host), pair: text(pair), ..all }
            }
            ["paths", host, path] | ["tsns" | "changes", host, "paths", path] => {
                of("path", host, path)
            }
            ["paths", pair, host, path] | ["tsns" | "changes", pair, host, "paths", path] => {
                Self { pair: text(pair), ..of("path", host, path) }
            }
            ["flows", host, flow] => of("flow", host, flow),
            ["flows", pair, host, flow] => Self { pair: text(pair), ..of("flow", host, flow) },
            ["bottlenecks", from, path] => of("bottleneck", from, path),
            _ => return None,
        })
    }

    /// Label of an axis.
    pub fn title(&self) -> String {
        match self.unit {
            Some(unit) if !unit.is_empty() => format!("{} ({unit})", self.quantity),
            _ => self.quantity.clone(),
        }
    }

    /// Label in a legend beside others: hosts and pairs only if they differ.
    pub fn label(&self, beside: &[Self]) -> String {
        let several = |of: fn(&Self) -> Option<&String>| {
            beside.iter().map(of).collect::<BTreeSet<_>>().len() > 1
        };
        let mut parts = vec![self.quantity.clone()];
        parts.extend(self.element.clone());
        if several(|words| words.host.as_ref()) {
            parts.extend(self.host.as_ref().map(|host| element_words("host", host)));
        }
        if several(|words| words.pair.as_ref()) {
            parts.extend(self.pair.as_ref().map(|pair| element_words("pair", pair)));
        }
        parts.join(", ")
    }
}

/// A name after its kind, unless the name contains it: `path 2`.
fn element_words(kind: &str, name: &str) -> String {
    match name.to_lowercase().starts_with(kind) {
        true => name.to_owned(),
        false => format!("{kind} {name}"),
    }
}

fn quantity(name: &str) -> String {
    let last = name.rsplit('.').next().unwrap_or(name);
    let known = |wanted: &str| {
        QUANTITIES.iter().find(|(key, _)| *key == wanted).map(|(_, words)| (*words).to_owned())
    };
    known(name).or_else(|| known(last)).unwrap_or_else(|| {
        let ending = UNITS.iter().find_map(|(ending, _)| name.strip_suffix(ending));
        ending.unwrap_or(last).replace(['_', '.'], " ")
    })
}

/// The unit of numbers that were multiplied by `scale`, if it has a name.
fn unit(name: &str, scale: f64) -> Option<&'static str> {
    let (_, multiples) = UNITS.iter().find(|(ending, _)| name.ends_with(ending))?;
    let is = |factor: f64| (factor - scale).abs() <= 1e-9 * factor;
    multiples.iter().find(|(factor, _)| is(*factor)).map(|(_, unit)| *unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_have_names_in_words() {
        for (series, scale, title, label) in [
            ("goodput_bit_s", 1e-6, "goodput (Mbit/s)", "goodput"),
            ("paths.a.p1.cwnd_bytes", 1e-3, "congestion window (kB)", "congestion window, path p1"),
            (
                "paths.a.path 2.srtt_s",
                1e3,
                "smoothed round-trip time (ms)",
                "smoothed round-trip time, path 2",
            ),
            (
                "paths.a.*.rto_s",
                1.0,
                "retransmission timeout (s)",
                "retransmission timeout, path *",
            ),
            (
                "hosts.a.peer_window_bytes",
                1.0,
                "peer's receive window (B)",
                "peer's receive window",
            ),
            ("hosts.a.send_buffer_bytes", 0.3, "send buffer", "send buffer"),
            ("flows.a.bulk.goodput_bit_s", 1.0, "goodput (bit/s)", "goodput, flow bulk"),
            ("bottlenecks.a.WiFi.queue_packets", 1.0, "queue (packets)", "queue, bottleneck WiFi"),
            ("tsns.a.paths.path 2.first_sent.tsn", 1.0, "first sent", "first sent, path 2"),
            ("changes.a.send_buffer.bytes", 1.0, "send buffer (B)", "send buffer"),
            (
                "changes.a.paths.p.window.cwnd_bytes",
                1.0,
                "congestion window (B)",
                "congestion window, path p",
            ),
            ("paths.a.p1.state", 1.0, "state", "state, path p1"),
        ] {
            let words = SeriesWords::of(series, scale).unwrap_or_else(|| panic!("{series}"));
            let found = (words.title(), words.label(std::slice::from_ref(&words)));
            assert_eq!(found, (title.to_owned(), label.to_owned()), "{series}");
        }
        assert_eq!(SeriesWords::of("one.two", 1.0), None);
    }

    #[test]
    fn hosts_and_pairs_are_named_where_they_differ() {
        let names =
            ["paths.one.a.p1.cwnd_bytes", "paths.one.b.p1.cwnd_bytes", "paths.two.a.p1.cwnd_bytes"];
        let words: Vec<SeriesWords> =
            names.iter().filter_map(|name| SeriesWords::of(name, 1.0)).collect();
        let labels: Vec<String> = words.iter().map(|one| one.label(&words)).collect();
        assert_eq!(labels[1], "congestion window, path p1, host b, pair one");
        assert_eq!(labels[2], "congestion window, path p1, host a, pair two");
        assert_eq!(words[0].label(&words[..2]), "congestion window, path p1, host a");
    }
}
