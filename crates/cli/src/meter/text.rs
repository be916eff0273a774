//! Results as text, in columns like those of iperf3.

use std::fmt::Write as _;

use polypath_meter::document::{
    Alone, Blocked, BothSides, ClockRelation, ClockSource, CpuUtilization, Delay, Document, End,
    FlowDirection, Interval, PathReport, Start, StreamReport, Sum, Threshold,
};

use super::columns::Columns;
use super::numbers::{show_bytes, show_rate};
use crate::table::Width;

const LINE: &str = "- - - - - - - - - - - - - - - - - - - - - - - - -";

/// Lines before the measurement.
pub(crate) fn start(start: &Start) -> Vec<String> {
    let mut lines = Vec::new();
    for path in &start.connected {
        lines.push(format!(
            "[{:>5}] local {} port {} connected to {} port {}",
            path.path, path.local_host, path.local_port, path.remote_host, path.remote_port
        ));
    }
    let test = &start.test_start;
    for (name, id) in test.flows.iter().zip(1..).filter(|(name, _)| !name.is_empty()) {
        lines.push(format!("[{id:>5}] {name}"));
    }
    lines
}

/// Lines of an interval.
pub(crate) fn interval(
    interval: &Interval,
    (has_header, shows_paths): (bool, bool),
    width: Width,
) -> Vec<String> {
    let bidir = interval.sum_bidir_reverse.is_some();
    let columns = Columns::new(bidir, width);
    let mut lines: Vec<String> = has_header.then(|| columns.header()).into_iter().collect();
    let of = |it: &StreamReport| stream(it, columns, role(bidir.then_some(it.sender)), "");
    lines.extend(interval.streams.iter().map(of));
    let of_sender =
        |sender| interval.streams.iter().filter(|stream| stream.sender == sender).count();
    for report in std::iter::once(&interval.sum).chain(&interval.sum_bidir_reverse) {
        if of_sender(report.sender) > 1 {
            lines.push(sum(report, columns, role(bidir.then_some(report.sender)), ""));
        }
    }
    if shows_paths {
        lines.extend(interval.paths.iter().map(|report| path(report, columns)));
    }
    lines
}

/// Lines after the measurement.
pub(crate) fn end(document: &Document, width: Width) -> Vec<String> {
    let end = &document.end;
    let bidir = end.sum_sent_bidir_reverse.is_some() || end.sum_received_bidir_reverse.is_some();
    let columns = Columns::new(bidir, width);
    let mut lines = vec![LINE.to_owned(), columns.header()];
    let is_client = document.start.connecting_to.is_some();
    let role_in = |way| role(bidir.then_some((way == FlowDirection::ToServer) == is_client));
    for both in &end.streams {
        let role = role_in(both.direction);
        lines.extend(both.sender.iter().map(|report| stream(report, columns, role, "  sender")));
        lines
            .extend(both.receiver.iter().map(|report| stream(report, columns, role, "  receiver")));
    }
    if document.start.test_start.num_streams > 1 {
        // If both directions are measured, the one to the server comes first.
        let sums = [
            (&end.sum_sent, FlowDirection::ToServer, "  sender"),
            (&end.sum_received, FlowDirection::ToServer, "  receiver"),
            (&end.sum_sent_bidir_reverse, FlowDirection::ToClient, "  sender"),
            (&end.sum_received_bidir_reverse, FlowDirection::ToClient, "  receiver"),
        ];
        for (report, way, tail) in sums {
            lines.extend(report.iter().map(|report| sum(report, columns, role_in(way), tail)));
        }
    }
    lines.extend(end.paths.iter().map(|report| path(report, columns)));
    lines.extend(end.paths.iter().filter_map(repairs));
    lines.extend(delays(end, bidir, document.start.clock.as_ref()));
    lines.extend(lost(end));
    lines.extend(blocked(&end.blocked, "here"));
    lines.extend(end.peer_blocked.as_ref().and_then(|times| blocked(times, "at the peer")));
    lines.extend(end.cpu_utilization_percent.as_ref().map(processor));
    lines.extend(gain(end));
    lines.extend(end.thresholds.iter().map(threshold));
    lines.extend(
        end.malformed_messages
            .gt(&0)
            .then(|| format!("{} messages were none of this measurement", end.malformed_messages)),
    );
    if let Some(output) = &document.server_output_text {
        lines.push(String::new());
        lines.push("Server output:".to_owned());
        lines.extend(output.lines().map(str::to_owned));
    }
    lines.push(String::new());
    lines
}

fn stream(report: &StreamReport, columns: Columns, role: &str, tail: &str) -> String {
    let retransmits = report.retransmits.map(|count| count.to_string());
    let delay = report.delay.map(|delay| milliseconds(delay.p99_us));
    let rest = [retransmits, report.snd_cwnd.map(show_bytes), report.rtt.map(milliseconds), delay];
    let (id, times) = (report.socket.to_string(), [report.start, report.end]);
    let line = columns.row(&id, role, times, (report.bytes, report.bits_per_second), rest);
    finish(line, report.omitted, tail)
}

fn sum(report: &Sum, columns: Columns, role: &str, tail: &str) -> String {
    let rest = [report.retransmits.map(|count| count.to_string()), None, None, None];
    let (times, numbers) = ([report.start, report.end], (report.bytes, report.bits_per_second));
    finish(columns.row("SUM", role, times, numbers, rest), report.omitted, tail)
}

/// A path in the direction in which it carried more.
fn path(report: &PathReport, columns: Columns) -> String {
    let numbers = match report.sent_bytes >= report.received_bytes {
        true => (report.sent_bytes, report.sent_bits_per_second),
        false => (report.received_bytes, report.received_bits_per_second),
    };
    let rest = [
        Some(report.retransmits.to_string()),
        Some(show_bytes(report.snd_cwnd)),
        report.rtt.map(milliseconds),
        None,
    ];
    let line = columns.row(&report.path, "", [report.start, report.end], numbers, rest);
    finish(line, false, if report.status == "active" { "" } else { &report.status })
}

fn finish(mut line: String, omitted: bool, tail: &str) -> String {
    if omitted {
        line.push_str("  (omitted)");
    }
    if !tail.is_empty() {
        let _ = write!(line, "  {}", tail.trim_start());
    }
    line.truncate(line.trim_end().len());
    line
}

/// Whether this side sends in a direction, if both are measured.
fn role(sends: Option<bool>) -> &'static str {
    match sends {
        None => "",
        Some(true) => "[ TX ]",
        Some(false) => "[ RX ]",
    }
}

/// Causes of the retransmissions on a path, and the time for which it was potentially failed.
fn repairs(path: &PathReport) -> Option<String> {
    let causes = [
        (path.fast_retransmits, "fast"),
        (path.timeout_retransmits, "after timeouts"),
        (path.reported_retransmits, "reported"),
        (path.rescheduled, "rescheduled"),
        (path.tail_probes, "tail probes"),
    ];
    let mut told: Vec<String> = causes
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, name)| format!("{count} {name}"))
        .collect();
    if path.timeouts > 0 {
        told.push(format!("{} timeouts", path.timeouts));
    }
    if path.potentially_failed_seconds > 0.0 {
        told.push(format!("potentially failed for {:.2} s", path.potentially_failed_seconds));
    }
    (!told.is_empty()).then(|| format!("[{:>5}] retransmissions: {}", path.path, told.join(", ")))
}

fn delays(end: &End, bidir: bool, clock: Option<&ClockRelation>) -> Vec<String> {
    let told = |both: &BothSides| {
        let report = both.receiver.as_ref()?;
        let way = match (bidir, both.direction) {
            (false, _) => "",
            (true, FlowDirection::ToServer) => " to the server",
            (true, _) => " to the client",
        };
        let delay = percentiles(&report.delay?);
        Some(format!("[{:>5}] one-way delay{way}: {delay}", report.socket))
    };
    let mut lines: Vec<String> = end.streams.iter().filter_map(told).collect();
    if let (false, Some(clock)) = (lines.is_empty(), clock) {
        lines.push(match clock.source {
            ClockSource::Shared => "        (both ends have one clock)".to_owned(),
            ClockSource::Synchronized => {
                "        (the clocks are taken to be synchronised)".to_owned()
            }
            _ => format!(
                "        (clocks differ by {}, give or take {}: estimated from round trips)",
                signed_milliseconds(clock.offset_us),
                milliseconds(clock.uncertainty_us)
            ),
        });
    }
    lines
}

fn percentiles(delay: &Delay) -> String {
    format!(
        "50 % {}, 90 % {}, 99 % {}, max {}, jitter {}",
        milliseconds(delay.p50_us),
        milliseconds(delay.p90_us),
        milliseconds(delay.p99_us),
        milliseconds(delay.max_us),
        milliseconds(delay.jitter_us)
    )
}

fn lost(end: &End) -> Vec<String> {
    let received = end.streams.iter().filter_map(|both| both.receiver.as_ref());
    let told = |report: &StreamReport| {
        let lost = report.lost_messages.filter(|lost| *lost > 0)?;
        Some(format!("[{:>5}] {lost} messages were abandoned and never arrived", report.socket))
    };
    let dropped = |report: &StreamReport| {
        let dropped = report.dropped_messages.filter(|dropped| *dropped > 0)?;
        Some(format!(
            "[{:>5}] {dropped} messages found the queue full and were never sent",
            report.socket
        ))
    };
    let sent = end.streams.iter().filter_map(|both| both.sender.as_ref());
    sent.filter_map(dropped).chain(received.filter_map(told)).collect()
}

fn processor(share: &CpuUtilization) -> String {
    let side = |total: f64, user: f64, system: f64| {
        format!("{total:.1} % (user {user:.1} %, system {system:.1} %)")
    };
    let here = side(share.host_total, share.host_user, share.host_system);
    let remote = share.remote_total.zip(share.remote_user).zip(share.remote_system);
    let there = remote.map(|((total, user), system)| side(total, user, system));
    format!(
        "CPU: {here} here{}",
        there.map_or_else(String::new, |there| format!(", {there} at the peer"))
    )
}

fn blocked(times: &Blocked, place: &str) -> Option<String> {
    let causes = [
        (times.application, "nothing to send"),
        (times.congestion_window, "congestion windows full"),
        (times.peer_window, "peer's window full"),
        (times.send_buffer, "send buffer full"),
        (times.buffer_share, "share of the buffers used up"),
        (times.no_path, "no path"),
    ];
    let told: Vec<String> = causes
        .iter()
        .filter(|(time, _)| *time >= 0.005)
        .map(|(time, cause)| format!("{cause} {time:.2} s"))
        .collect();
    (!told.is_empty()).then(|| format!("Sending waited {place}: {}", told.join(", ")))
}

/// A path that was measured alone.
pub(crate) fn alone(alone: &Alone) -> String {
    let rate = alone.bits_per_second.map_or("no result".to_owned(), show_rate);
    format!("[{:>5}] alone {} -> {}: {rate}", alone.path, alone.local_host, alone.remote_host)
}

fn gain(end: &End) -> Vec<String> {
    let Some(gain) = &end.gain else { return Vec::new() };
    let alone = gain.alone.iter().map(alone);
    let all = format!(
        "Gain: {} over all paths, {:.2} times the best one",
        show_rate(gain.bits_per_second),
        gain.ratio
    );
    alone.chain([all]).collect()
}

fn threshold(threshold: &Threshold) -> String {
    let value = |value: f64| match threshold.name.as_str() {
        "rate" => show_rate(value),
        "p99" => delay(value),
        _ => format!("{value:.3}"),
    };
    let measured = threshold.measured.map_or("unknown".to_owned(), value);
    let verdict = if threshold.met { "met" } else { "MISSED" };
    format!("Required {} {}: {measured}, {verdict}", threshold.name, value(threshold.required))
}

/// A delay in seconds, with a suitable unit.
fn delay(seconds: f64) -> String {
    match (seconds * 1e6).round() {
        micros if micros < 1e3 => format!("{micros} us"),
        micros if micros < 1e6 => format!("{} ms", micros / 1e3),
        _ => format!("{seconds:.3} s"),
    }
}

fn milliseconds(micros: u64) -> String {
    let ms = micros as f64 / 1000.0;
    match ms {
        ms if ms < 10.0 => format!("{ms:.2} ms"),
        ms if ms < 100.0 => format!("{ms:.1} ms"),
        _ => format!("{ms:.0} ms"),
    }
}

fn signed_milliseconds(micros: i64) -> String {
    let sign = if micros < 0 { "-" } else { "" };
    format!("{sign}{}", milliseconds(micros.unsigned_abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_required_delay_is_shown_as_none() {
        let shown = [1e-6, 250e-6, 0.0125, 0.2, 0.999_999_6, 12.0].map(delay);
        assert_eq!(shown, ["1 us", "250 us", "12.5 ms", "200 ms", "1.000 s", "12.000 s"]);
    }
}
