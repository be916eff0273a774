//! `polypath bmin`: the minimum size of buffers.

use std::fmt::Write;
use std::str::FromStr;

use anyhow::{Context, anyhow};
use polypath::config::BufferSize;
use polypath_units::{BitRate, ByteCount, Duration};
use serde::Serialize;

use crate::failure::{Failure, Outcome};
use crate::output;

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
B_min to cover fast retransmissions: 2 max(RTT) sum(rate); to cover timeouts: (3 max(RTT) + max(RTO)) sum(rate).
(Dreibholz, Becke, Rathgeb, Tuexen 2010, section IV-A.) A window allows at most window / RTT.

Examples:
  polypath bmin --path '100 Mbit/s, 110 ms' --path '100 Mbit/s, 110 ms'
  polypath bmin --path '10 Mbit/s, 20 ms' --path '1 Mbit/s, 400 ms, 2 s' --json
  polypath bmin --path '100 Mbit/s, 10 ms' --window '64 KiB'")]
pub(crate) struct Args {
    /// A path: its rate, its round-trip time and, if it differs from --rto, its retransmission timeout
    #[arg(long, value_name = "RATE, RTT[, RTO]", required = true)]
    path: Vec<PathArgument>,
    /// Retransmission timeout of paths that name none
    #[arg(long, default_value = "1 s")]
    rto: Duration,
    /// Also print what a window or buffer of this size allows on each path
    #[arg(long, value_name = "SIZE")]
    window: Option<ByteCount>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// A path as on the command line.
#[derive(Clone, Copy, Debug)]
struct PathArgument {
    rate: BitRate,
    rtt: Duration,
    rto: Option<Duration>,
}

impl FromStr for PathArgument {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts: Vec<&str> = text.split(',').map(str::trim).collect();
        let (rate, rtt, rto) = match parts[..] {
            [rate, rtt] => (rate, rtt, None),
            [rate, rtt, rto] => (rate, rtt, Some(rto)),
            _ => return Err(anyhow!("write it as 'RATE, RTT' or 'RATE, RTT, RTO'")),
        };
        Ok(Self {
            rate: rate.parse::<BitRate>().map_err(|error| anyhow!("rate: {error}"))?,
            rtt: time("round-trip time", rtt)?,
            rto: rto.map(|rto| time("retransmission timeout", rto)).transpose()?,
        })
    }
}

/// A time of a path.
fn time(what: &str, text: &str) -> anyhow::Result<Duration> {
    text.parse::<Duration>().map_err(|error| anyhow!("{what}: {error}"))
}

/// The result.
#[derive(Debug, Serialize)]
struct Answer {
    paths: Vec<PathAnswer>,
    /// Sum of the rates.
    rate_bit_s: u64,
    max_rtt_s: f64,
    max_rto_s: f64,
    /// Smallest buffer that covers fast retransmissions.
    fast_retransmission_bytes: u64,
    /// Smallest buffer that covers timeouts.
    timeout_bytes: u64,
}

/// A path with what a window allows on it.
#[derive(Debug, Serialize)]
struct PathAnswer {
    rate_bit_s: u64,
    rtt_s: f64,
    rto_s: f64,
    /// What the window given allows per second, if one was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    window_allows_bit_s: Option<u64>,
}

/// Computes and prints the sizes.
pub(crate) fn run(args: &Args) -> Outcome {
    let answer = answer(args).map_err(Failure::usage)?;
    let text = match args.json {
        true => serde_json::to_string_pretty(&answer)? + "\n",
        false => table(&answer)?,
    };
    output::answer(args.json, &text)
}

fn answer(args: &Args) -> anyhow::Result<Answer> {
    let sum = args.path.iter().try_fold(0u64, |sum, path| {
        sum.checked_add(path.rate.as_bits_per_second()).context("the rates are too large")
    })?;
    let rto_of = |path: &PathArgument| path.rto.unwrap_or(args.rto);
    let rtt = args.path.iter().map(|path| path.rtt).max().unwrap_or_default();
    let rto = args.path.iter().map(rto_of).max().unwrap_or_default();
    let least = |size: BufferSize| {
        let bytes = size.least(rtt, rto, BitRate::from_bits_per_second(sum));
        bytes.map_or(0, ByteCount::as_bytes)
    };
    let path = |path: &PathArgument| PathAnswer {
        rate_bit_s: path.rate.as_bits_per_second(),
        rtt_s: path.rtt.as_secs_f64(),
        rto_s: rto_of(path).as_secs_f64(),
        window_allows_bit_s: args
            .window
            .filter(|_| !path.rtt.is_zero())
            .map(|window| BitRate::of(window, path.rtt).as_bits_per_second()),
    };
    Ok(Answer {
        paths: args.path.iter().map(path).collect(),
        rate_bit_s: sum,
        max_rtt_s: rtt.as_secs_f64(),
        max_rto_s: rto.as_secs_f64(),
        fast_retransmission_bytes: least(BufferSize::AutoFast),
        timeout_bytes: least(BufferSize::AutoTimeout),
    })
}

fn table(answer: &Answer) -> Result<String, std::fmt::Error> {
    let mut out = String::new();
    for (what, bytes) in [
        ("fast retransmissions", answer.fast_retransmission_bytes),
        ("timeouts", answer.timeout_bytes),
    ] {
        let mib = bytes as f64 / f64::from(1 << 20);
        writeln!(out, "B_min to cover {what:<22}{bytes:>14} B {mib:>12.2} MiB")?;
    }
    for (index, path) in answer.paths.iter().enumerate() {
        if let Some(allows) = path.window_allows_bit_s {
            let allows = allows as f64 / 1e6;
            writeln!(out, "the window allows on path {}   {allows:>18.2} Mbit/s", index + 1)?;
        }
    }
    Ok(out)
}
