//! What extensions cost: goodput of two endpoints in one thread with and without them, in turn in one run, so that whatever else the
//! machine does meets all of them alike. Real encoding and checksums, messages of 1400 bytes, one path, no network.
//!
//! `cargo run --release -p polypath-testkit --example bench_extensions -- [ROUNDS]`
//!
//! With a number of bytes and a name the work is always the same, for counting instructions: `bench_extensions --bytes 40000000 ECN`.

use std::time::Instant as WallClock;

use polypath_proto::config::{
    AddressReconfiguration, AssociationConfig, AuthenticatedChunks, ExplicitCongestionNotification,
    MessageInterleaving, NrSack, PacketDropReport, Policies, Preset, StreamReconfiguration,
};
use polypath_proto::{Duration, Instant};
use polypath_testkit::{CpuClock, Side, WirePair};
use polypath_wire::chunk_type;

/// Length of each measurement in seconds.
const SECONDS: f64 = 0.5;

/// A name, and what it changes.
type Variant = (&'static str, fn(&mut Policies));

const VARIANTS: [Variant; 7] = [
    ("none", |_| ()),
    ("I-DATA", |p| p.message_interleaving = MessageInterleaving::On),
    ("NR-SACK", |p| p.nr_sack = NrSack::Deliverable),
    ("ECN", |p| p.explicit_congestion_notification = ExplicitCongestionNotification::On),
    ("all but AUTH on DATA", all),
    ("AUTH on DATA", |p| p.authenticated_chunks = data_only()),
    ("all, AUTH on DATA", |p| {
        all(p);
        p.authenticated_chunks = data_only();
    }),
];

fn all(p: &mut Policies) {
    p.message_interleaving = MessageInterleaving::On;
    p.nr_sack = NrSack::Deliverable;
    p.explicit_congestion_notification = ExplicitCongestionNotification::On;
    p.stream_reconfiguration = StreamReconfiguration::On;
    p.packet_drop_report = PacketDropReport::On;
    p.authenticated_chunks = AuthenticatedChunks::Offered;
    p.address_reconfiguration = AddressReconfiguration::Authenticated;
}

fn data_only() -> AuthenticatedChunks {
    AuthenticatedChunks::Demanded([chunk_type::DATA, chunk_type::I_DATA].into_iter().collect())
}

/// When a measurement ends.
#[derive(Clone, Copy)]
enum Until {
    /// After [`SECONDS`].
    Time,
    Bytes(u64),
}

/// Bits of user data per second of processor time.
fn goodput(variant: fn(&mut Policies), until: Until) -> f64 {
    let mut config = AssociationConfig::with_preset(Preset::Cmt);
    variant(&mut config.policies);
    let mut pair = WirePair::connect(&config, 1);
    let message = bytes::Bytes::from(vec![0x5a; 1400]);
    let (wall, clock, mut now) = (WallClock::now(), CpuClock::start(), Instant::ZERO);
    let mut rounds = 0_u64;
    loop {
        let is_over = match until {
            Until::Time => rounds % 16 == 15 && wall.elapsed().as_secs_f64() >= SECONDS,
            Until::Bytes(bytes) => pair.host(Side::Server).received_bytes() >= bytes,
        };
        if is_over {
            break;
        }
        now += Duration::from_micros(10);
        pair.fill(now, &message, u64::MAX);
        pair.deliver(now, Side::Client, |_| true);
        pair.deliver(now, Side::Server, |_| true);
        pair.handle_timeouts(now);
        rounds += 1;
    }
    pair.host(Side::Server).received_bytes() as f64 * 8.0 / clock.seconds()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The variant of this name, with so many bytes.
fn only(bytes: &str, name: &str) -> Result<(), String> {
    let bytes = bytes.parse().map_err(|_| format!("{bytes} is no number of bytes"))?;
    let names = || VARIANTS.map(|(name, _)| name).join(", ");
    let variant = VARIANTS.iter().find(|it| it.0 == name);
    let (_, change) = variant.ok_or_else(|| format!("{name} is none of: {}", names()))?;
    println!("{name}: {:.2} Gbit/s per CPU second", goodput(*change, Until::Bytes(bytes)) / 1e9);
    Ok(())
}

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [option, bytes, name] = &arguments[..]
        && option == "--bytes"
    {
        return only(bytes, name);
    }
    let rounds = arguments.first().and_then(|it| it.parse().ok()).unwrap_or(5).max(1);
    let runs: Vec<Vec<f64>> = (0..rounds)
        .map(|_| VARIANTS.iter().map(|(_, it)| goodput(*it, Until::Time)).collect())
        .collect();
    println!("extensions, Gbit/s per CPU second, part of the rate without (medians of {rounds})");
    for (index, (name, _)) in VARIANTS.iter().enumerate() {
        let rate = median(runs.iter().map(|run| run[index]).collect());
        let part = median(runs.iter().map(|run| run[index] / run[0]).collect());
        println!("{name:22} {:6.2} {part:5.2}", rate / 1e9);
    }
    Ok(())
}
