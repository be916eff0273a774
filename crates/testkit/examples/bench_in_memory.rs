//! Goodput of two endpoints in one thread: real encoding, checksums unless `--no-crc`, MTU 1500, no network between them.
//!
//! With `--bytes` the work is always the same, for counting instructions.
//!
//! `cargo run --release -p polypath-testkit --example bench_in_memory -- [--json] [--size BYTES] [--seconds S]
//! [--bytes N] [--preset NAME] [--pf] [--paths N] [--no-crc]`

use std::process::ExitCode;
use std::time::Instant as WallClock;

use polypath_proto::Instant;
use polypath_proto::config::{AssociationConfig, ErrorDetection, FailureDetection, Preset};
use polypath_testkit::{CpuClock, Side, WirePair};

/// What the command line asks for.
struct Options {
    json: bool,
    size: usize,
    seconds: f64,
    most_bytes: Option<u64>,
    preset: Preset,
    detection: FailureDetection,
    paths: u8,
    error_detection: ErrorDetection,
}

fn run(options: &Options) -> f64 {
    let mut config = AssociationConfig::with_preset(options.preset);
    config.policies.failover.detection = options.detection;
    config.error_detection = options.error_detection;
    let mut pair = WirePair::connect(&config, options.paths);
    let message = bytes::Bytes::from(vec![0x5a; options.size]);
    let wall = WallClock::now();
    let clock = CpuClock::start();
    let mut rounds = 0u64;
    let mut now = Instant::ZERO;
    loop {
        // A round trip of 10 us; the virtual clock only has to move.
        now += polypath_proto::Duration::from_micros(10);
        pair.fill(now, &message, u64::MAX);
        pair.deliver(now, Side::Client, |_| true);
        pair.deliver(now, Side::Server, |_| true);
        pair.handle_timeouts(now);
        rounds += 1;
        let timed_out =
            || rounds.is_multiple_of(64) && wall.elapsed().as_secs_f64() >= options.seconds;
        if options
            .most_bytes
            .map_or_else(timed_out, |most| pair.host(Side::Server).received_bytes() >= most)
        {
            break;
        }
    }
    let stats = pair.host(Side::Client).association().stats();
    assert_eq!(
        stats.fast_retransmissions + stats.timeout_retransmissions,
        0,
        "nothing is lost in memory"
    );
    pair.host(Side::Server).received_bytes() as f64 * 8.0 / clock.seconds()
}

fn parse() -> Result<Options, String> {
    let mut options = Options {
        json: false,
        size: 1400,
        seconds: 3.0,
        most_bytes: None,
        preset: Preset::Cmt,
        detection: FailureDetection::Rfc9260,
        paths: 1,
        error_detection: ErrorDetection::Crc32c,
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--json" => options.json = true,
            "--no-crc" => options.error_detection = ErrorDetection::LowerLayerDtls,
            "--pf" => options.detection = FailureDetection::Pf2,
            "--size" => {
                options.size = value()?.parse().map_err(|_| "--size needs a number of bytes")?
            }
            "--seconds" => {
                options.seconds = value()?.parse().map_err(|_| "--seconds needs a number")?
            }
            "--paths" => options.paths = value()?.parse().map_err(|_| "--paths needs a number")?,
            "--bytes" => {
                options.most_bytes =
                    Some(value()?.parse().map_err(|_| "--bytes needs a number of bytes")?);
            }
            "--preset" => {
                options.preset = Preset::from_name(&value()?)
                    .ok_or("--preset: unknown name; try cmt or rfc9260")?;
            }
            other => return Err(format!("unknown option {other}")),
        }
    }
    Ok(options)
}

fn main() -> ExitCode {
    let options = match parse() {
        Ok(options) => options,
        Err(error) => {
            eprintln!("bench_in_memory: {error}");
            return ExitCode::from(2);
        }
    };
    let goodput = run(&options);
    if options.json {
        println!("{{\"goodput_bit_s\": {goodput:.0}, \"size\": {}}}", options.size);
    } else {
        println!(
            "{:.2} Gbit/s of user data per CPU second ({} B messages)",
            goodput / 1e9,
            options.size
        );
    }
    ExitCode::SUCCESS
}
