//! Floods over real sockets, of INITs, forged cookies and blind packets: peers are served meanwhile, and memory stays as it was.

mod common;

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use common::{client_on, pair_with, peer_of, server_with};
use polypath::{AssociationConfig, Endpoint, Message};
use polypath_wire::{Checksum, Chunk, Init, Packet, Parameters, Raw};

/// Packets that are sent before the server is given time to read.
const BURST: u64 = 50;

/// Packets of a flood: `POLYPATH_FLOOD_PACKETS`, or so many.
fn packets() -> u64 {
    std::env::var("POLYPATH_FLOOD_PACKETS").map_or(20_000, |text| text.parse().expect("a number"))
}

fn init(tag: u32) -> Chunk<'static> {
    Chunk::Init(Init {
        initiate_tag: tag,
        a_rwnd: 100_000,
        outbound_streams: 10,
        inbound_streams: 10,
        initial_tsn: tag,
        parameters: Parameters::empty(),
    })
}

/// What a stranger sends that knows addresses and ports, and guesses the rest.
fn forged(number: u64, ports: [u16; 2]) -> Vec<u8> {
    let guess = (number as u32).wrapping_mul(0x9E37_79B1) | 1;
    let (tag, chunk) = match number % 8 {
        0..=3 => (0, init(guess)),
        4 => (guess, Chunk::CookieEcho(Raw::Shared(vec![guess as u8; 120].into()))),
        5 => (guess, Chunk::Shutdown { cumulative_tsn_ack: guess }),
        6 => (guess, Chunk::ShutdownComplete { reflected_tag: true }),
        _ => (guess, Chunk::CookieAck),
    };
    let [source_port, destination_port] = ports;
    let chunks = [chunk].into_iter().collect();
    let packet = Packet { source_port, destination_port, verification_tag: tag, chunks };
    let mut bytes = Vec::new();
    packet.append_to(&mut bytes, Checksum::Crc32c).expect("a packet that can be encoded");
    bytes
}

/// Sends forged packets to a server from many addresses until `stop`: about as many as it reads, since what overruns its socket tests
/// the system and not the server.
fn flood(server: &Endpoint, ports: [u16; 2], stop: &AtomicBool, sent: &AtomicU64) {
    let to = SocketAddr::new(server.local_addresses()[0], server.encapsulation_port());
    let strangers: Vec<_> = (1..=40)
        .map(|last| {
            let socket = UdpSocket::bind((IpAddr::from([127, 9, 9, last]), 0)).expect("loopback");
            socket.set_nonblocking(true).expect("a socket");
            socket
        })
        .collect();
    let mut answer = [0; 2048];
    let mut read_before = 0;
    for number in 0_u64.. {
        if number.is_multiple_of(BURST) {
            let read = || server.stats().packets_received;
            for _ in 0..5 {
                if read() >= read_before + BURST * 4 / 5 {
                    break;
                }
                thread::sleep(Duration::from_millis(1));
            }
            read_before = read();
        }
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let from = &strangers[(number % strangers.len() as u64) as usize];
        // A full socket is the flood's problem.
        let _ = from.send_to(&forged(number, ports), to);
        while from.recv(&mut answer).is_ok() {}
        sent.fetch_add(1, Ordering::Relaxed);
    }
}

/// Bytes of this process in memory, where the system says.
fn resident_bytes() -> Option<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split(' ').nth(1)?.parse().ok()?;
    Some(pages * 4096)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn peers_are_served_during_a_flood_that_takes_no_memory() {
    let config = AssociationConfig::default();
    let server = server_with(&["127.0.14.1"], config.clone());
    let client = client_on(&["127.0.14.2"]);
    let pair = pair_with(server.clone(), client.clone(), config.clone()).await;
    let ports = [pair.near.local_port(), server.port()];
    let (stop, sent) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let attack = {
        let (server, stop, sent) = (server.clone(), Arc::clone(&stop), Arc::clone(&sent));
        thread::spawn(move || flood(&server, ports, &stop, &sent))
    };
    let (mut before, mut rounds) = (None, 0);
    while sent.load(Ordering::Relaxed) < packets() || rounds < 20 {
        // The association that the flood pretends to belong to carries messages, both ways.
        let content = vec![rounds as u8; 50_000];
        pair.near.send(Message::new(0, content.clone())).await.unwrap();
        let got = pair.far.receive().await.unwrap().unwrap();
        assert_eq!(got.into_bytes(), content);
        pair.far.send(Message::new(0, content.clone())).await.unwrap();
        let got = pair.near.receive().await.unwrap().unwrap();
        assert_eq!(got.into_bytes(), content);
        // And others connect.
        let near = client.connect(&peer_of(&server), config.clone()).await.unwrap();
        let far = server.accept().await.unwrap();
        let (left, none) = tokio::join!(near.shutdown(), far.receive());
        assert!(left.is_ok() && none.unwrap().is_none());
        rounds += 1;
        if rounds == 10 {
            before = resident_bytes();
        }
    }
    stop.store(true, Ordering::Relaxed);
    attack.join().unwrap();
    if let (Some(before), Some(after)) = (before, resident_bytes()) {
        let grown = after.saturating_sub(before);
        println!("{} packets, {rounds} rounds: {grown} bytes more", sent.load(Ordering::Relaxed));
        // An association for each INIT would be 20 kB times thousands.
        assert!(grown < 16 << 20, "{grown} bytes more");
    }
    let dropped = server.stats().packets_dropped;
    assert!(dropped > 1000, "{dropped}: the flood did not arrive");
}
