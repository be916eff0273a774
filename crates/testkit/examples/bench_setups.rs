//! How many associations can begin and end: four-way handshake with its cookie, then graceful shutdown, in one thread, both
//! sides counted.
//!
//! `cargo run --release -p polypath-testkit --example bench_setups -- [--json] [--setups N] [--living N] [--paths N]`
//!
//! `--living` is how many other associations the server has meanwhile.

use std::process::ExitCode;

use polypath_proto::config::AssociationConfig;
use polypath_proto::{Duration, Instant};
use polypath_testkit::{CpuClock, Crowd};

/// Clients that take turns.
const CLIENTS: usize = 16;

struct Options {
    json: bool,
    setups: usize,
    living: usize,
    paths: u8,
}

/// Associations begun and ended per CPU second.
fn measure(options: &Options) -> f64 {
    let mut crowd = Crowd::new(&AssociationConfig::default(), options.paths);
    let mut now = Instant::ZERO + Duration::from_millis(1);
    for client in 0..options.living + CLIENTS {
        crowd.add_client();
        if client < options.living {
            crowd.connect(now, client);
        }
    }
    let clock = CpuClock::start();
    for number in 0..options.setups {
        now += Duration::from_micros(10);
        let client = options.living + number % CLIENTS;
        crowd.connect(now, client);
        crowd.shutdown(now, client);
    }
    options.setups as f64 / clock.seconds()
}

fn parse() -> Option<Options> {
    let mut options = Options { json: false, setups: 100_000, living: 0, paths: 1 };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut number = || arguments.next()?.parse().ok();
        match argument.as_str() {
            "--json" => options.json = true,
            "--setups" => options.setups = number().filter(|n| *n > 0)?,
            "--living" => options.living = number()?,
            "--paths" => {
                options.paths = u8::try_from(number()?).ok().filter(|n| (1..=32).contains(n))?;
            }
            _ => return None,
        }
    }
    Some(options)
}

fn main() -> ExitCode {
    let Some(options) = parse() else {
        eprintln!("bench_setups: [--json] [--setups N] [--living N] [--paths N]");
        return ExitCode::from(2);
    };
    let rate = measure(&options);
    let Options { json, setups, living, paths } = options;
    if json {
        println!(
            "{{\"setups_per_cpu_s\": {rate:.0}, \"setups\": {setups}, \"living\": {living}, \"paths\": {paths}}}"
        );
    } else {
        println!(
            "{rate:.0} handshakes and shutdowns per CPU second (of {setups}; {living} others living, {paths} paths)"
        );
    }
    ExitCode::SUCCESS
}
