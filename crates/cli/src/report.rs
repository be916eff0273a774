//! Results as text.

use std::fmt::Write;

use polypath_lab::verdict::RELATIVE;
use polypath_sim::{FlowResult, HostResult, PathResult, RunResult};

use crate::table::{Table, Width};

/// The result of a run as text.
pub(crate) fn table(result: &RunResult, width: Width) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write_summary(&mut out, result)
        .map(|()| out += &paths(result).text(width))
        .and_then(|()| write_flows(&mut out, result, width))
        .and_then(|()| write_hosts(&mut out, &result.hosts, width))
        .and_then(|()| write_bottlenecks(&mut out, result, width))
        .and_then(|()| write_execution(&mut out, result));
    out
}

fn write_summary(out: &mut String, result: &RunResult) -> std::fmt::Result {
    writeln!(out, "{}", result.title)?;
    writeln!(
        out,
        "\n  goodput      {}  (from {:.3} s to {:.3} s of {:.3} s)",
        rate(result.goodput_bit_s),
        result.measured_from_s,
        result.measured_until_s,
        result.duration_s
    )?;
    if let Some(completed) = result.completed_s {
        writeln!(out, "  completed    {completed:.3} s")?;
    }
    writeln!(out, "  association  {}", result.association.state)?;
    if !result.violations.is_empty() {
        let found = result.violations;
        writeln!(
            out,
            "  VIOLATIONS   {} damaged, {} never sent, {} duplicated, {} out of order",
            found.damaged, found.strange, found.duplicated, found.out_of_order
        )?;
    }
    Ok(())
}

fn paths(result: &RunResult) -> Table {
    let header = [
        "path",
        "from",
        "goodput",
        "data pkts",
        "fast rtx",
        "T3 rtx",
        "rescheduled",
        "timeouts",
        "srtt",
        "cwnd",
        "status",
    ];
    let row = |path: &PathResult| {
        vec![
            in_pair(&path.pair, &path.name),
            path.from.to_owned(),
            rate(path.goodput_bit_s),
            count(path.data_packets_sent),
            count(path.fast_retransmissions),
            count(path.timeout_retransmissions),
            count(path.rescheduled_chunks),
            count(path.timeouts),
            path.srtt_s.map_or("-".to_owned(), seconds),
            format!("{} B", count(path.cwnd_bytes)),
            path.status.to_owned(),
        ]
    };
    Table::new(&header, result.paths.iter().map(row)).keys(2)
}

fn write_flows(out: &mut String, result: &RunResult, width: Width) -> std::fmt::Result {
    let header = [
        "flow",
        "from",
        "goodput",
        "messages",
        "delivered",
        "bytes",
        "delay mean",
        "p99",
        "jitter",
        "complete",
    ];
    let time = |seconds_or: Option<f64>| seconds_or.map_or("-".to_owned(), seconds);
    let rows = result.flows.iter().map(|flow| {
        vec![
            in_pair(&flow.pair, &flow.name),
            flow.from.to_owned(),
            rate(flow.goodput_bit_s),
            count(flow.messages_sent),
            count(flow.messages_delivered),
            count(flow.bytes_delivered),
            time(flow.delay.mean_s),
            time(flow.delay.p99_s),
            time(flow.delay.jitter_s),
            if flow.complete { "yes" } else { "no" }.to_owned(),
        ]
    });
    *out += &Table::new(&header, rows).keys(2).text(width);
    write_background(out, &result.flows)?;
    let dropped = result.flows.iter().filter(|flow| flow.messages_dropped > 0);
    dropped.into_iter().try_for_each(|flow| {
        let [dropped, offered] = [flow.messages_dropped, flow.messages_offered].map(count);
        let name = in_pair(&flow.pair, &flow.name);
        writeln!(out, "  flow {name}: {dropped} of {offered} messages found its queue full")
    })
}

/// Results of flows without an association.
fn write_background(out: &mut String, flows: &[FlowResult]) -> std::fmt::Result {
    for flow in flows {
        let name = in_pair(&flow.pair, &flow.name);
        if let Some(udp) = &flow.udp {
            let [lost, sent] = [udp.lost, udp.sent].map(count);
            writeln!(out, "  flow {name}: {lost} of {sent} UDP datagrams lost")?;
        }
        if let Some(tcp) = &flow.tcp {
            let [again, sent] = [tcp.retransmissions, tcp.segments_sent].map(count);
            writeln!(out, "  flow {name}: {again} of {sent} TCP segments are retransmissions")?;
        }
    }
    Ok(())
}

fn write_hosts(out: &mut String, hosts: &[HostResult], width: Width) -> std::fmt::Result {
    let header =
        ["host", "send buffer mean", "peak", "receive buffer mean", "peak", "SACKs", "duplicates"];
    let rows = hosts.iter().map(|host| {
        vec![
            in_pair(&host.pair, &host.name),
            format!("{:.0} B", host.send_buffer_mean_bytes),
            format!("{} B", count(host.send_buffer_peak_bytes)),
            format!("{:.0} B", host.receive_buffer_mean_bytes),
            format!("{} B", count(host.receive_buffer_peak_bytes)),
            count(host.sacks_sent),
            count(host.duplicate_chunks_received),
        ]
    });
    *out += &Table::new(&header, rows).text(width);
    let header = [
        "host",
        "blocked by: application",
        "send buffer",
        "congestion windows",
        "peer window",
        "buffer share",
        "no path",
    ];
    let rows = hosts.iter().map(|host| {
        let blocked = host.blocked;
        let times = [
            blocked.application_s,
            blocked.send_buffer_s,
            blocked.congestion_window_s,
            blocked.peer_window_s,
            blocked.buffer_share_s,
            blocked.no_path_s,
        ];
        [in_pair(&host.pair, &host.name)].into_iter().chain(times.map(seconds)).collect()
    });
    *out += &Table::new(&header, rows).text(width);
    write_host_troubles(out, hosts)
}

/// Warnings about unexpected events.
fn write_host_troubles(out: &mut String, hosts: &[HostResult]) -> std::fmt::Result {
    for host in hosts {
        let counts = [
            (host.checksum_failures, "packets with a wrong checksum received"),
            (host.packets_unroutable, "packets sent without a route"),
            (host.packets_unencodable, "packets that cannot be encoded"),
        ];
        for (number, what) in counts.into_iter().filter(|(number, _)| *number > 0) {
            writeln!(out, "  host {}: {} {what}", in_pair(&host.pair, &host.name), count(number))?;
        }
    }
    Ok(())
}

fn write_bottlenecks(out: &mut String, result: &RunResult, width: Width) -> std::fmt::Result {
    let header = [
        "bottleneck",
        "from",
        "delivered",
        "queue full",
        "early drop",
        "lost",
        "outage",
        "queue mean",
        "queue peak",
        "busy",
    ];
    let rows = result.bottlenecks.iter().map(|bottleneck| {
        vec![
            bottleneck.path.clone(),
            bottleneck.from.to_owned(),
            count(bottleneck.packets_delivered),
            count(bottleneck.dropped_queue_full),
            count(bottleneck.dropped_early),
            count(
                bottleneck.dropped_loss
                    + bottleneck.dropped_burst_loss
                    + bottleneck.dropped_bit_error,
            ),
            count(bottleneck.dropped_outage),
            format!("{:.1} pkts", bottleneck.queue_mean_packets),
            format!("{} pkts", count(bottleneck.queue_peak_packets)),
            format!("{:.1} %", 100.0 * bottleneck.utilisation),
        ]
    });
    *out += &Table::new(&header, rows).keys(2).text(width);
    for bottleneck in result.bottlenecks.iter().filter(|b| b.dropped_too_large > 0) {
        let dropped = count(bottleneck.dropped_too_large);
        let (path, from) = (&bottleneck.path, &bottleneck.from);
        writeln!(out, "  bottleneck {path} from {from}: {dropped} packets larger than its MTU")?;
    }
    Ok(())
}

fn write_execution(out: &mut String, result: &RunResult) -> std::fmt::Result {
    write!(
        out,
        "\nseed {}, trace {}, {} events",
        result.seed,
        result.trace_hash,
        count(result.events)
    )?;
    if let (Some(wall), Some(speed)) = (result.wall_s, result.data_packets_per_wall_s()) {
        write!(
            out,
            ", {wall:.3} s of wall time, {} data packets per second of it",
            count(speed as u64)
        )?;
    }
    writeln!(out)
}

/// A name, with that of its pair of hosts if there are several.
fn in_pair(pair: &str, name: &str) -> String {
    if pair.is_empty() { name.to_owned() } else { format!("{pair}/{name}") }
}

/// A number of a verdict, with its unit; fractions as per cent.
pub(crate) fn measured(number: f64, unit: &str) -> String {
    match unit {
        RELATIVE => format!("{:.2} %", number * 100.0),
        "" => format!("{number:.4}"),
        unit => format!("{number:.4} {unit}"),
    }
}

/// Where a statement did not hold: the number of places out of all, and the place of the measured value.
pub(crate) fn decided_at(verdict: &str, place: &str, (count, all): (usize, usize)) -> String {
    format!("\n    {verdict} in {count} of {all} places; measured: {place}")
}

/// A rate in Mbit/s.
pub(crate) fn rate(bit_s: f64) -> String {
    format!("{:.2} Mbit/s", bit_s / 1e6)
}

/// A time in a suitable unit.
fn seconds(seconds: f64) -> String {
    match seconds {
        0.0 => "0 s".to_owned(),
        ..1.0 => format!("{:.2} ms", seconds * 1e3),
        _ => format!("{seconds:.3} s"),
    }
}

/// A number with its digits in groups of three.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_grouped() {
        assert_eq!([0, 999, 1_000, 12_345_678].map(count), ["0", "999", "1,000", "12,345,678"]);
    }

    #[test]
    fn times_have_a_suitable_unit() {
        assert_eq!([0.0, 0.02, 1.5].map(seconds), ["0 s", "20.00 ms", "1.500 s"]);
    }
}
