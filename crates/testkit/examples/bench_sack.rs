//! What a SACK costs while a receiver has many gaps: every second packet of a large window is dropped, one after the
//! other, and the time is taken that packets, SACKs built and SACKs processed need.
//!
//! `cargo run --release -p polypath-testkit --example bench_sack -- [--json] [--gaps N]`
//!
//! The window of an association admits 30,000 gaps: gap ack blocks reach 65,535 TSNs far.

use std::process::ExitCode;
use std::time::Instant as WallClock;

use polypath_proto::config::{
    AssociationConfig, Burst, InitialCwnd, InitialSsthresh, Policies, Preset,
};
use polypath_proto::{Duration, Instant};
use polypath_testkit::{Side, WirePair};

/// More gaps than this do not fit the window of an association.
const MOST_GAPS: u64 = 29_900;
/// Packets delivered per measurement: enough for a time that can be measured, few enough to leave the gaps as they are.
const MEASURED: u64 = 200;

fn config() -> AssociationConfig {
    let cmt = Preset::Cmt.policies();
    let mut policies = Policies { burst: Burst::Off, ..cmt };
    policies.window.initial_cwnd = InitialCwnd::Bytes(1 << 30);
    policies.window.initial_ssthresh = InitialSsthresh::Unlimited;
    // What is dropped stays dropped.
    policies.fast_retransmit.threshold = u8::MAX;
    policies.rto.initial = Duration::from_secs(60);
    policies.rto.min = Duration::from_secs(60);
    AssociationConfig {
        send_buffer_bytes: 1 << 30,
        receive_buffer_bytes: 1 << 30,
        policies,
        ..AssociationConfig::with_preset(Preset::Cmt)
    }
}

/// Nanoseconds per data packet that arrives, SACKs included, while there are this many gaps.
fn nanos_per_packet(gaps: u64) -> f64 {
    let mut pair = WirePair::connect(&config(), 1);
    let message = bytes::Bytes::from(vec![0x5a; 1400]);
    let mut now = Instant::ZERO + Duration::from_millis(1);
    let mut exchange = |pair: &mut WirePair, packets: u64| {
        now += Duration::from_micros(100);
        assert_eq!(pair.fill(now, &message, packets), packets, "the send buffer is large enough");
        pair.deliver(now, Side::Client, |number| number % 2 == 1);
        pair.deliver(now, Side::Server, |_| true);
    };
    exchange(&mut pair, 2 * gaps);
    let begin = WallClock::now();
    for _ in 0..MEASURED / 4 {
        exchange(&mut pair, 4);
    }
    begin.elapsed().as_nanos() as f64 / MEASURED as f64
}

fn main() -> ExitCode {
    let (mut json, mut gaps) = (false, 10_000);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--json" => json = true,
            "--gaps" => match arguments.next().and_then(|n| n.parse().ok()) {
                Some(n) if n <= MOST_GAPS => gaps = n,
                _ => {
                    eprintln!("bench_sack: --gaps needs a number up to {MOST_GAPS}");
                    return ExitCode::from(2);
                }
            },
            other => {
                eprintln!("bench_sack: unknown option {other}");
                return ExitCode::from(2);
            }
        }
    }
    // The shortest of several is the one that nothing disturbed.
    let nanos = (0..7).map(|_| nanos_per_packet(gaps)).fold(f64::INFINITY, f64::min);
    match json {
        true => println!("{{\"ns_per_packet\": {nanos:.1}, \"gaps\": {gaps}}}"),
        false => println!("{nanos:.0} ns per data packet with {gaps} gaps"),
    }
    ExitCode::SUCCESS
}
