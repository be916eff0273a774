//! Goodput of two endpoints in one thread: real encoding, checksums, MTU 1500, no network between them.
//!
//! `cargo run --release -p polypath-testkit --example bench_in_memory -- [--json] [--size BYTES] [--seconds S]
//! [--preset NAME] [--paths N]`

use std::net::IpAddr;
use std::process::ExitCode;
use std::time::Instant as WallClock;

use polypath_proto::config::{AssociationConfig, EndpointConfig, Preset};
use polypath_proto::{
    Association, AssociationId, Body, Cx, Ecn, Encapsulation, Endpoint, Instant, NoProbe,
    OutgoingMessage, PeerAddress, Received, Route, Transmit,
};
use polypath_wire::Checksum;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// What the command line asks for.
struct Options {
    json: bool,
    size: usize,
    seconds: f64,
    preset: Preset,
    paths: u8,
}

struct Side {
    endpoint: Endpoint,
    association: Option<(AssociationId, Association)>,
    rng: Xoshiro256PlusPlus,
    addresses: Vec<IpAddr>,
    received_bytes: u64,
}

impl Side {
    fn new(number: u8, config: &AssociationConfig, options: &Options) -> Self {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(u64::from(number));
        let addresses: Vec<IpAddr> =
            (0..options.paths).map(|path| IpAddr::from([10, 0, path, number])).collect();
        let config = EndpointConfig {
            listening: true,
            association: config.clone(),
            ..EndpointConfig::default()
        };
        let mut cx = Cx { now: Instant::ZERO, rng: &mut rng, probe: &mut NoProbe };
        let endpoint = Endpoint::new(config, 5000 + u16::from(number), &addresses, &mut cx);
        Self { endpoint, association: None, rng, addresses, received_bytes: 0 }
    }

    fn receive(&mut self, now: Instant, transmit: &Transmit, bytes: &[u8]) {
        let received = Received {
            local: transmit.remote,
            remote: transmit.local,
            encapsulation: Encapsulation::None,
            ecn: Ecn::NotEct,
            body: Body::Datagram(bytes),
        };
        let mut cx = Cx { now, rng: &mut self.rng, probe: &mut NoProbe };
        match self.endpoint.handle(&mut cx, &received) {
            Route::Association(_) => {
                if let Some((_, association)) = &mut self.association {
                    association.handle(&mut cx, &received);
                    while let Some(message) = association.receive(&mut cx) {
                        self.received_bytes += message.len() as u64;
                    }
                }
            }
            Route::New(id, association) => self.association = Some((id, *association)),
            _ => {}
        }
    }
}

/// Hands every packet that waits at `from` to `to`; answers of the endpoint (INIT ACK) included.
fn deliver(now: Instant, from: &mut Side, to: &mut Side, buffer: &mut [u8]) -> u64 {
    let mut packets = 0;
    while let Some((_, association)) = &mut from.association {
        let mut cx = Cx { now, rng: &mut from.rng, probe: &mut NoProbe };
        let Some(transmit) = association.poll_transmit(&mut cx) else { break };
        let len = transmit.packet.encode_into(buffer, Checksum::Crc32c).expect("it fits the MTU");
        packets += 1;
        to.receive(now, &transmit, &buffer[..len]);
        while association.poll_event().is_some() {}
        while association.poll_notice().is_some() {}
    }
    packets
}

fn connect(client: &mut Side, server: &mut Side, config: &AssociationConfig, buffer: &mut [u8]) {
    let peer: Vec<PeerAddress> = server
        .addresses
        .iter()
        .map(|&address| PeerAddress { address, encapsulation: Encapsulation::None })
        .collect();
    let port = server.endpoint.local_port();
    let mut cx = Cx { now: Instant::ZERO, rng: &mut client.rng, probe: &mut NoProbe };
    client.association = Some(
        client
            .endpoint
            .connect(&mut cx, config.clone(), port, &peer)
            .expect("addresses that can be paired"),
    );
    // INIT and INIT ACK by hand: the server's answer comes from its endpoint.
    let (_, association) = client.association.as_mut().expect("just set");
    let mut cx = Cx { now: Instant::ZERO, rng: &mut client.rng, probe: &mut NoProbe };
    let init = association.poll_transmit(&mut cx).expect("INIT");
    let len = init.packet.encode_into(buffer, Checksum::Crc32c).expect("it fits");
    let received = Received {
        local: init.remote,
        remote: init.local,
        encapsulation: Encapsulation::None,
        ecn: Ecn::NotEct,
        body: Body::Datagram(&buffer[..len]),
    };
    let mut cx = Cx { now: Instant::ZERO, rng: &mut server.rng, probe: &mut NoProbe };
    let Route::Reply(ack) = server.endpoint.handle(&mut cx, &received) else {
        panic!("no INIT ACK")
    };
    let len = ack.packet.encode_into(buffer, Checksum::Crc32c).expect("it fits");
    client.receive(Instant::ZERO, &ack, &buffer[..len]);
    while deliver(Instant::ZERO, client, server, buffer)
        + deliver(Instant::ZERO, server, client, buffer)
        > 0
    {}
}

fn cpu_seconds(start: WallClock) -> f64 {
    let run_time = std::fs::read_to_string("/proc/self/schedstat").ok();
    let nanos = run_time.and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok());
    nanos.map_or_else(|| start.elapsed().as_secs_f64(), |nanos| nanos as f64 / 1e9)
}

fn run(options: &Options) -> f64 {
    let config = AssociationConfig::with_preset(options.preset);
    let mut client = Side::new(1, &config, options);
    let mut server = Side::new(2, &config, options);
    let mut buffer = [0; 2048];
    connect(&mut client, &mut server, &config, &mut buffer);
    let message = bytes::Bytes::from(vec![0x5a; options.size]);
    let wall = WallClock::now();
    let begin = cpu_seconds(wall);
    let mut rounds = 0u64;
    let mut now = Instant::ZERO;
    loop {
        // A round trip of 10 us; the virtual clock only has to move.
        now += polypath_proto::Duration::from_micros(10);
        if let Some((_, association)) = &mut client.association {
            let mut cx = Cx { now, rng: &mut client.rng, probe: &mut NoProbe };
            while association.send(&mut cx, OutgoingMessage::new(0, message.clone())).is_ok() {}
        }
        deliver(now, &mut client, &mut server, &mut buffer);
        deliver(now, &mut server, &mut client, &mut buffer);
        for side in [&mut client, &mut server] {
            if let Some((_, association)) = &mut side.association
                && association.poll_timeout().is_some_and(|due| due <= now)
            {
                let mut cx = Cx { now, rng: &mut side.rng, probe: &mut NoProbe };
                association.handle_timeout(&mut cx);
            }
        }
        rounds += 1;
        if rounds.is_multiple_of(64) && wall.elapsed().as_secs_f64() >= options.seconds {
            break;
        }
    }
    let (_, association) = client.association.as_ref().expect("connected");
    let stats = association.stats();
    assert_eq!(
        stats.fast_retransmissions + stats.timeout_retransmissions,
        0,
        "nothing is lost in memory"
    );
    server.received_bytes as f64 * 8.0 / (cpu_seconds(wall) - begin)
}

fn parse() -> Result<Options, String> {
    let mut options =
        Options { json: false, size: 1400, seconds: 3.0, preset: Preset::Cmt, paths: 1 };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--json" => options.json = true,
            "--size" => {
                options.size = value()?.parse().map_err(|_| "--size needs a number of bytes")?
            }
            "--seconds" => {
                options.seconds = value()?.parse().map_err(|_| "--seconds needs a number")?
            }
            "--paths" => options.paths = value()?.parse().map_err(|_| "--paths needs a number")?,
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
