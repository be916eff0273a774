//! Attacks without an association: whoever can send UDP to the server can do these.

use std::net::IpAddr;
use std::time::Duration;

use polypath_wire::{Cause, Causes, Chunk, DataFlags, Parameter, Parameters, Raw, UnknownChunk};

use crate::Attack;
use crate::field::Field;
use crate::peer::{Peer, extended, init, packet, send_raw, socket_at};

pub const ATTACKS: [(&str, Attack); 11] = [
    ("init-flood", init_flood),
    ("unusual-inits", unusual_inits),
    ("forged-cookies", forged_cookies),
    ("replayed-cookies", replayed_cookies),
    ("moved-cookies", moved_cookies),
    ("garbage", garbage),
    ("damaged-packets", damaged_packets),
    ("blind-chunks", blind_chunks),
    ("half-open", half_open),
    ("hoard", hoard),
    ("listed-victims", listed_victims),
];

/// A socket for each address of the attackers.
fn sockets(field: &Field) -> anyhow::Result<Vec<std::net::UdpSocket>> {
    Ok((0..field.addresses()).map(|it| socket_at(field, it)).collect::<Result<_, _>>()?)
}

/// Reads and counts what came to a socket.
fn count_answers(field: &mut Field, socket: &std::net::UdpSocket) {
    let mut buffer = [0; 65_536];
    while let Ok(len) = socket.recv(&mut buffer) {
        field.counts.got_packets += 1;
        field.counts.got_bytes += len as u64;
    }
}

/// Sends what `make` makes from all addresses in turn.
fn flood(
    field: &mut Field,
    mut make: impl FnMut(&mut Field, usize) -> Vec<u8>,
) -> anyhow::Result<()> {
    let sockets = sockets(field)?;
    for number in 0.. {
        if !field.goes_on() {
            break;
        }
        let socket = &sockets[number % sockets.len()];
        let bytes = make(field, number);
        send_raw(field, socket, &bytes);
        count_answers(field, socket);
    }
    std::thread::sleep(Duration::from_millis(100));
    sockets.iter().for_each(|it| count_answers(field, it));
    Ok(())
}

/// The shortest INITs.
fn init_flood(field: &mut Field) -> anyhow::Result<()> {
    flood(field, |field, _| {
        let (tag, port) = (field.random() | 1, field.random() as u16 | 1);
        packet([port, field.port], 0, vec![init(tag, 100_000, Parameters::empty())])
    })
}

/// INITs with tag 0, without a window, with a hundred addresses, with those of nobody and of everybody, with unknown parameters.
fn unusual_inits(field: &mut Field) -> anyhow::Result<()> {
    let many: Vec<IpAddr> = (0..100_u8).map(|it| IpAddr::from([10, 200, it, 1])).collect();
    let odd: Vec<IpAddr> =
        ["255.255.255.255", "224.0.0.1", "127.0.0.1", "0.0.0.0", "ff02::1", "::1"]
            .iter()
            .map(|it| it.parse().expect("an address"))
            .collect();
    let unknown = vec![0; 1000];
    flood(field, |field, number| {
        let (tag, ports) = (field.random() | 1, [field.random() as u16 | 1, field.port]);
        let chunks = match number % 7 {
            0 => vec![init(0, 100_000, Parameters::empty())],
            1 => vec![init(tag, 0, Parameters::empty())],
            2 => vec![init(tag, 100_000, extended(&many))],
            3 => vec![init(tag, 100_000, extended(&odd))],
            4 => {
                vec![init(tag, 100_000, Parameters::build([Parameter::HostName(b"example.org\0")]))]
            }
            5 => {
                let one = Parameter::Unknown { parameter_type: 0xC0FF, value: &unknown };
                vec![init(tag, 100_000, Parameters::build([one]))]
            }
            // Not alone in its packet.
            _ => vec![init(tag, 100_000, Parameters::empty()), Chunk::CookieAck],
        };
        packet(ports, 0, chunks)
    })
}

/// Cookies of the server with a bit turned, cut off or continued.
fn forged_cookies(field: &mut Field) -> anyhow::Result<()> {
    let peers = with_cookies(field)?;
    for number in 0.. {
        if !field.goes_on() {
            break;
        }
        let peer = &peers[number % peers.len()];
        let mut cookie = peer.cookie.clone();
        let at = field.random() as usize % cookie.len();
        match number % 3 {
            0 => cookie[at] ^= 1 << (field.random() % 8),
            1 => cookie.truncate(at),
            _ => cookie.extend(std::iter::repeat_n(0x5a, at + 1)),
        }
        peer.send(field, vec![Chunk::CookieEcho(Raw::Shared(cookie.into()))]);
        count_answers(field, &peer.socket);
    }
    Ok(())
}

/// Peers that have sent an INIT each, and got a cookie.
fn with_cookies(field: &mut Field) -> anyhow::Result<Vec<Peer>> {
    let mut peers = Vec::new();
    for number in 0..field.associations {
        let mut peer = Peer::new(field, number)?;
        if peer.ask(field, 100_000, Parameters::empty()) {
            peers.push(peer);
        }
    }
    anyhow::ensure!(!peers.is_empty(), "the server answers no INIT");
    Ok(peers)
}

/// The same cookies over and over, and again after the end of their associations.
fn replayed_cookies(field: &mut Field) -> anyhow::Result<()> {
    let mut peers = with_cookies(field)?;
    for number in 0.. {
        if !field.goes_on() {
            break;
        }
        let count = peers.len();
        let peer = &mut peers[number % count];
        if number % 1000 == 999 {
            peer.send(
                field,
                vec![Chunk::Abort(polypath_wire::Abort {
                    reflected_tag: false,
                    causes: Causes::build([Cause::UserInitiatedAbort(b"again")]),
                })],
            );
        }
        peer.echo_cookie(field);
        peer.read(field, |_| ());
    }
    Ok(())
}

/// Cookies from other addresses, ports and with other tags than they were made for.
fn moved_cookies(field: &mut Field) -> anyhow::Result<()> {
    let peers = with_cookies(field)?;
    let others = sockets(field)?;
    for number in 0.. {
        if !field.goes_on() {
            break;
        }
        let (peer, other) = (&peers[number % peers.len()], &others[(number + 100) % others.len()]);
        let chunks = vec![Chunk::CookieEcho(Raw::Shared(peer.cookie.clone().into()))];
        let (port, tag) = match number % 3 {
            0 => (peer.source_port, peer.tag),
            1 => (peer.source_port ^ 1, peer.tag),
            _ => (peer.source_port, peer.tag ^ 1),
        };
        let bytes = packet([port, field.port], tag, chunks);
        send_raw(field, other, &bytes);
        count_answers(field, other);
    }
    Ok(())
}

/// Datagrams of any length with any content; every second one with a header and a checksum that are right.
fn garbage(field: &mut Field) -> anyhow::Result<()> {
    flood(field, |field, number| {
        let longest = if number % 64 == 0 { 65_000 } else { 1500 };
        let len = field.random() as usize % longest;
        let mut bytes: Vec<u8> = (0..len).map(|_| field.random() as u8).collect();
        if number % 2 == 0 && len >= 12 {
            bytes[2..4].copy_from_slice(&field.port.to_be_bytes());
            polypath_wire::write_checksum(&mut bytes);
        }
        bytes
    })
}

/// Handshake packets with turned bits, without a checksum, and with a wrong one.
fn damaged_packets(field: &mut Field) -> anyhow::Result<()> {
    flood(field, |field, number| {
        let (tag, port) = (field.random() | 1, field.random() as u16 | 1);
        let mut bytes = packet([port, field.port], 0, vec![init(tag, 100_000, extended(&[]))]);
        let at = field.random() as usize % bytes.len();
        match number % 4 {
            0 => bytes[at] ^= 1 << (field.random() % 8),
            1 => bytes[8..12].fill(0),
            2 => bytes.truncate(at),
            _ => {
                bytes[at] = field.random() as u8;
                if bytes.len() >= 12 {
                    polypath_wire::write_checksum(&mut bytes);
                }
            }
        }
        bytes
    })
}

/// Every kind of chunk, with a tag that is a guess.
fn blind_chunks(field: &mut Field) -> anyhow::Result<()> {
    flood(field, |field, number| {
        let (guess, port) = (field.random(), field.random() as u16 | 1);
        let causes = || Causes::build([Cause::UserInitiatedAbort(b"end")]);
        let chunk = match number % 12 {
            0 => Chunk::Abort(polypath_wire::Abort { reflected_tag: false, causes: causes() }),
            1 => Chunk::Shutdown { cumulative_tsn_ack: guess },
            2 => Chunk::ShutdownAck,
            3 => Chunk::ShutdownComplete { reflected_tag: true },
            4 => Chunk::Error(causes()),
            5 => Chunk::CookieEcho(Raw::Shared(vec![guess as u8; 120].into())),
            6 => Chunk::CookieAck,
            7 => Chunk::Heartbeat(Parameters::build([Parameter::HeartbeatInfo(&[7; 40])])),
            8 => Chunk::ReConfig(Parameters::build([Parameter::SsnTsnReset {
                request_sequence: guess,
            }])),
            9 => Chunk::Data(polypath_wire::Data {
                flags: DataFlags::BEGIN | DataFlags::END,
                tsn: guess,
                stream: 0,
                ssn: 0,
                ppid: 0,
                payload: polypath_wire::Payload::Borrowed(&[1; 100]),
            }),
            10 => Chunk::Asconf(polypath_wire::Asconf {
                serial: guess,
                parameters: Parameters::build([Parameter::from(IpAddr::from([10, 9, 9, 9]))]),
            }),
            _ => Chunk::Unknown(UnknownChunk {
                chunk_type: 0xC0 | guess as u8 >> 2,
                flags: 0,
                value: Raw::Shared(vec![0; 600].into()),
            }),
        };
        packet([port, field.port], guess | 1, vec![chunk])
    })
}

/// Associations that are silent from the moment on when they exist: the server must find out by itself.
fn half_open(field: &mut Field) -> anyhow::Result<()> {
    begin_associations(field, false)
}

/// As many associations as the server gives to sixteen addresses, all of which answer its HEARTBEATs and do nothing else.
fn hoard(field: &mut Field) -> anyhow::Result<()> {
    begin_associations(field, true)
}

/// Handshakes that are watched at a time.
const UNDER_WAY: usize = 128;

fn begin_associations(field: &mut Field, stays: bool) -> anyhow::Result<()> {
    let mut peers: Vec<Peer> = Vec::new();
    while peers.len() < field.most && field.goes_on() {
        let place = if stays { peers.len() % 16 } else { peers.len() };
        let peer = Peer::new(field, place)?;
        peer.send_with(field, 0, vec![init(peer.own_tag, 100_000, extended(&[]))]);
        peers.push(peer);
        let from = peers.len().saturating_sub(UNDER_WAY);
        peers[from..].iter_mut().for_each(|peer| complete(field, peer));
    }
    while stays && !field.is_over() {
        peers.iter_mut().for_each(|peer| complete(field, peer));
        std::thread::sleep(Duration::from_millis(20));
    }
    field.counts.refused = peers.iter().filter(|it| it.is_dead && !it.has_answered).count() as u64;
    Ok(())
}

/// Reads what has come, and returns the cookie when it is there.
fn complete(field: &mut Field, peer: &mut Peer) {
    let (had_cookie, had_answered) = (!peer.cookie.is_empty(), peer.has_answered);
    peer.read(field, |_| ());
    if !had_cookie && !peer.cookie.is_empty() {
        peer.echo_cookie(field);
    }
    field.counts.established += u64::from(!had_answered && peer.has_answered);
}

/// Associations that list addresses of victims, and make the server send.
fn listed_victims(field: &mut Field) -> anyhow::Result<()> {
    let victims = field.victims();
    let mut peers = Vec::new();
    for number in 0..field.associations {
        let mut peer = Peer::new(field, number)?;
        if let Some(local) = peer.local() {
            field.watch_victims(local.port())?;
        }
        peer.establish(field, 1_000_000, extended(&victims));
        peers.push(peer);
    }
    for number in 0.. {
        if !field.goes_on() {
            break;
        }
        let count = peers.len();
        let peer = &mut peers[number % count];
        let chunk =
            peer.data(0, (number / count) as u32, DataFlags::BEGIN | DataFlags::END, &[9; 1000]);
        peer.send(field, vec![chunk]);
        peer.read(field, |_| ());
    }
    field.count_victims();
    Ok(())
}
