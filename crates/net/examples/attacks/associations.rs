//! Attacks by peers that have an association: they lie about what they have, send what they may not, or never finish.

use std::net::{IpAddr, Ipv4Addr};

use polypath_wire::{
    Asconf, Cause, Causes, Chunk, Cwr, DataFlags, DuplicateTsns, Ecne, ForwardTsn, GapAckBlock,
    GapAckBlocks, NrSack, PacketDrop, Parameter, Parameters, Raw, Sack, SkippedStream, U16List,
    UnknownChunk,
};

use crate::Attack;
use crate::field::Field;
use crate::peer::{Peer, extended, init, packet, send_raw, socket_at};

pub const ATTACKS: [(&str, Attack); 24] = [
    ("slow-readers", |field| each(field, 1_000_000, slow_reader)),
    ("silly-windows", |field| each(field, 1_000_000, silly_window)),
    ("huge-sacks", |field| each(field, 1_000_000, huge_sack)),
    ("reneging", |field| each(field, 1_000_000, reneging)),
    ("early-acks", |field| each(field, 1_000_000, early_ack)),
    ("acks-of-nothing", |field| each(field, 1_000_000, ack_of_nothing)),
    ("ecn-lies", |field| each(field, 1_000_000, ecn_lie)),
    ("drop-reports", |field| each(field, 1_000_000, drop_report)),
    ("endless-fragments", |field| each(field, 1_000_000, endless_fragment)),
    ("first-fragments", |field| each(field, 1_000_000, first_fragment)),
    ("every-second-tsn", |field| each(field, 1_000_000, every_second_tsn)),
    ("gaps-on-streams", |field| each(field, 1_000_000, gap_on_streams)),
    ("same-tsn", |field| each(field, 1_000_000, same_tsn)),
    ("tiny-chunks", |field| each(field, 1_000_000, tiny_chunks)),
    ("forward-tsn", |field| each(field, 1_000_000, forward_tsn)),
    ("heartbeats", |field| each(field, 1_000_000, heartbeat)),
    ("errors", |field| each(field, 1_000_000, error)),
    ("unknown-chunks", |field| each(field, 1_000_000, unknown_chunks)),
    ("reconfig", |field| each(field, 1_000_000, reconfig)),
    ("asconf", |field| each(field, 1_000_000, asconf)),
    ("stripped-auth", |field| each(field, 1_000_000, stripped_auth)),
    ("moving-ports", |field| each(field, 1_000_000, moving_port)),
    ("restarts", |field| each(field, 1_000_000, restart)),
    ("shutdowns", |field| each(field, 1_000_000, shutdown)),
];

/// What one packet of an attack is.
type Step = fn(&mut Field, &mut Peer, u32);

/// Packets until a peer reads what has come.
const READ_EVERY: u32 = 8;

/// Lets many peers attack in turn; those that the server ended come again.
fn each(field: &mut Field, window: u32, step: Step) -> anyhow::Result<()> {
    let mut peers: Vec<(Peer, u32)> = Vec::new();
    for number in 0..field.associations {
        let mut peer = Peer::new(field, number)?;
        peer.establish(field, window, extended(&[]));
        peers.push((peer, 0));
    }
    anyhow::ensure!(field.counts.established > 0, "the server accepts no association");
    let count = peers.len();
    for number in 0.. {
        if !field.goes_on() {
            break;
        }
        let (peer, steps) = &mut peers[number % count];
        if peer.is_dead || !peer.has_answered {
            *peer = Peer::new(field, number)?;
            *steps = 0;
            peer.establish(field, window, extended(&[]));
            continue;
        }
        step(field, peer, *steps);
        *steps += 1;
        if steps.is_multiple_of(READ_EVERY) {
            peer.read(field, |_| ());
        }
    }
    std::thread::sleep(std::time::Duration::from_millis(100));
    peers.iter_mut().for_each(|(peer, _)| peer.read(field, |_| ()));
    field.count_victims();
    Ok(())
}

const WHOLE: DataFlags = DataFlags::BEGIN.union(DataFlags::END);

/// Acknowledges up to `tsn`, with blocks above and a window.
fn sack(tsn: u32, window: u32, blocks: impl IntoIterator<Item = (u16, u16)>) -> Chunk<'static> {
    let blocks = blocks.into_iter().map(|(start, end)| GapAckBlock { start, end });
    Chunk::Sack(Sack {
        flags: 0,
        cumulative_tsn_ack: tsn,
        a_rwnd: window,
        gap_ack_blocks: GapAckBlocks::Owned(blocks.collect()),
        duplicate_tsns: DuplicateTsns::Owned([].into_iter().collect()),
    })
}

/// Sends a message, which a server that echoes sends back.
fn ask(field: &mut Field, peer: &mut Peer, number: u32) {
    let chunk = peer.data(0, number, WHOLE, &[3; 1000]);
    peer.send(field, vec![chunk]);
}

/// Wants everything echoed and takes nothing.
fn slow_reader(field: &mut Field, peer: &mut Peer, number: u32) {
    ask(field, peer, number);
    if number.is_multiple_of(4) {
        peer.send(field, vec![sack(peer.first_tsn.wrapping_sub(1), 0, [])]);
    }
}

/// A window that is a byte, nothing, all there is.
fn silly_window(field: &mut Field, peer: &mut Peer, number: u32) {
    if number.is_multiple_of(4) {
        ask(field, peer, number / 4);
    }
    let window = [1, 0, u32::MAX, 100][number as usize % 4];
    peer.send(field, vec![sack(peer.seen_tsn, window, [])]);
}

/// As many blocks as a datagram holds: of what was sent, the same one again and again, or of anything; of each second packet NR-SACK.
fn huge_sack(field: &mut Field, peer: &mut Peer, number: u32) {
    if number < 200 {
        ask(field, peer, number);
        return;
    }
    let sent = peer.seen_tsn.wrapping_sub(peer.first_tsn) as u16;
    let block = |it: u16| match number % 64 {
        63 => GapAckBlock { start: it * 2, end: it * 2 },
        1..32 => GapAckBlock { start: 2, end: 2 },
        _ => GapAckBlock { start: 2 + it * 2 % sent.max(1), end: 2 + it * 2 % sent.max(1) },
    };
    let count = if number % 64 < 32 { 8_000 } else { sent / 2 };
    let blocks = || (1..count).map(block);
    let cumulative_tsn_ack = peer.first_tsn.wrapping_sub(1);
    let duplicates = || DuplicateTsns::Owned((0..4_000).collect());
    let chunk = if number.is_multiple_of(2) {
        Chunk::Sack(Sack {
            flags: 0,
            cumulative_tsn_ack,
            a_rwnd: 100_000,
            gap_ack_blocks: GapAckBlocks::Owned(blocks().collect()),
            duplicate_tsns: duplicates(),
        })
    } else {
        Chunk::NrSack(NrSack {
            flags: 0,
            cumulative_tsn_ack,
            a_rwnd: 100_000,
            renegable_blocks: GapAckBlocks::Owned(blocks().take(3_000).collect()),
            non_renegable_blocks: GapAckBlocks::Owned(blocks().skip(3_000).collect()),
            duplicate_tsns: duplicates(),
            reserved: 0,
        })
    };
    peer.send(field, vec![chunk]);
}

/// Has everything but the first chunk, and has it no more.
fn reneging(field: &mut Field, peer: &mut Peer, number: u32) {
    if number < 200 {
        ask(field, peer, number);
        return;
    }
    let seen = peer.seen_tsn.wrapping_sub(peer.first_tsn) as u16;
    let has = number.is_multiple_of(2) && seen > 1;
    let blocks = has.then_some((2, seen + 1));
    peer.send(field, vec![sack(peer.first_tsn.wrapping_sub(1), 1_000_000, blocks)]);
}

/// Acknowledges what has been sent before it can have come, as far as one can guess.
fn early_ack(field: &mut Field, peer: &mut Peer, number: u32) {
    ask(field, peer, number);
    peer.send(field, vec![sack(peer.seen_tsn.wrapping_add(number % 8), 1_000_000, [])]);
}

/// Acknowledges what was never sent.
fn ack_of_nothing(field: &mut Field, peer: &mut Peer, number: u32) {
    let chunk = if number.is_multiple_of(2) {
        sack(peer.seen_tsn.wrapping_add(100_000), 1_000_000, [])
    } else {
        sack(peer.seen_tsn, 1_000_000, [(500, 60_000)])
    };
    peer.send(field, vec![chunk]);
}

/// Reports marks of packets that had none, of the future and of the past; confirms what nobody reported.
fn ecn_lie(field: &mut Field, peer: &mut Peer, number: u32) {
    if number.is_multiple_of(4) {
        ask(field, peer, number / 4);
    }
    let lowest_tsn =
        [peer.seen_tsn, peer.seen_tsn.wrapping_add(1_000), peer.first_tsn, field.random()]
            [number as usize % 4];
    let chunks = vec![
        Chunk::Ecne(Ecne { lowest_tsn, marked_packets: Some(field.random()) }),
        Chunk::Cwr(Cwr { override_mark: number.is_multiple_of(2), tsn: field.random() }),
        sack(peer.seen_tsn, 1_000_000, []),
    ];
    peer.send(field, chunks);
}

/// Reports drops of packets that were never sent, with windows of nobody.
fn drop_report(field: &mut Field, peer: &mut Peer, number: u32) {
    if number.is_multiple_of(4) {
        ask(field, peer, number / 4);
    }
    let chunk = peer.data_at(peer.seen_tsn.wrapping_sub(number % 16), 0, 0, WHOLE, &[0; 100]);
    let quoted = packet([field.port, peer.source_port], peer.own_tag, vec![chunk]);
    let report = PacketDrop {
        flags: (number % 16) as u8,
        bandwidth_or_limit: field.random(),
        queued: field.random(),
        truncated_length: quoted.len() as u16,
        reserved: 0,
        packet: Raw::Shared(quoted.into()),
    };
    peer.send(field, vec![Chunk::PacketDrop(report), sack(peer.seen_tsn, 1_000_000, [])]);
}

/// A message that never ends.
fn endless_fragment(field: &mut Field, peer: &mut Peer, number: u32) {
    let flags = if number == 0 { DataFlags::BEGIN } else { DataFlags::empty() };
    let tsn = peer.tsn;
    peer.tsn = peer.tsn.wrapping_add(1);
    // All are fragments of one message: I-DATA counts them, and DATA has the number of the message.
    let fragment = if peer.interleaves {
        let Chunk::IData(data) = peer.data_at(tsn, 0, number, flags, &[4; 1400]) else { return };
        Chunk::IData(polypath_wire::IData { mid: 0, ..data })
    } else {
        peer.data_at(tsn, 0, 0, flags, &[4; 1400])
    };
    peer.send(field, vec![fragment]);
}

/// Messages of which only the first fragment comes, on all streams.
fn first_fragment(field: &mut Field, peer: &mut Peer, number: u32) {
    let stream = (number % u32::from(peer.streams.max(1))) as u16;
    let first = if number == 0 { peer.tsn } else { peer.tsn.wrapping_add(1) };
    peer.tsn = first.wrapping_add(1);
    let chunk = peer.data_at(
        first,
        stream,
        number / u32::from(peer.streams.max(1)),
        DataFlags::BEGIN,
        &[5; 1400],
    );
    peer.send(field, vec![chunk]);
}

/// Every second TSN, a byte each.
fn every_second_tsn(field: &mut Field, peer: &mut Peer, number: u32) {
    let from = peer.tsn.wrapping_add(number * 64);
    let chunks = (0..32)
        .map(|it| peer.data_at(from.wrapping_add(it * 2 + 1), 0, number * 32 + it, WHOLE, &[6]));
    peer.send(field, chunks.collect());
}

/// Messages that wait on each stream for the first one, which never comes.
fn gap_on_streams(field: &mut Field, peer: &mut Peer, number: u32) {
    let streams = u32::from(peer.streams.max(1));
    let chunk = peer.data((number % streams) as u16, 1 + number / streams, WHOLE, &[7; 1400]);
    peer.send(field, vec![chunk]);
}

/// A chunk that has come.
fn same_tsn(field: &mut Field, peer: &mut Peer, _: u32) {
    let chunks = (0..40).map(|_| peer.data_at(peer.tsn, 0, 0, WHOLE, &[8; 8]));
    peer.send(field, chunks.collect());
}

/// Forty messages of a byte in a packet.
fn tiny_chunks(field: &mut Field, peer: &mut Peer, number: u32) {
    let chunks = (0..40).map(|it| peer.data(0, number * 40 + it, WHOLE, &[9])).collect();
    peer.send(field, chunks);
    peer.send(field, vec![sack(peer.seen_tsn, 1_000_000, [])]);
}

/// Skips ahead, far ahead and back, over streams that do not exist.
fn forward_tsn(field: &mut Field, peer: &mut Peer, number: u32) {
    let to = [peer.tsn, peer.tsn.wrapping_add(70_000), peer.tsn.wrapping_sub(9), field.random()]
        [number as usize % 4];
    let streams = (0..300).map(|it| SkippedStream { stream: it * 200, ssn: number as u16 });
    let skip = ForwardTsn::of_streams(to, streams);
    peer.tsn = peer.tsn.wrapping_add(1);
    let chunk = if peer.interleaves { Chunk::IForwardTsn(skip) } else { Chunk::ForwardTsn(skip) };
    peer.send(field, vec![chunk]);
}

/// Long HEARTBEATs and answers to none.
fn heartbeat(field: &mut Field, peer: &mut Peer, number: u32) {
    let info = Parameters::build([Parameter::HeartbeatInfo(&[number as u8; 1300])]);
    let chunk =
        if number.is_multiple_of(4) { Chunk::HeartbeatAck(info) } else { Chunk::Heartbeat(info) };
    peer.send(field, vec![chunk]);
}

/// Error reports, of everything that there is no error about.
fn error(field: &mut Field, peer: &mut Peer, number: u32) {
    let causes = match number % 3 {
        0 => Causes::build([Cause::UnrecognizedChunk(&[0; 1200])]),
        1 => Causes::build([Cause::InvalidStream { stream: number as u16 }]),
        _ => Causes::build([Cause::StaleCookie { staleness_us: number }]),
    };
    peer.send(field, vec![Chunk::Error(causes)]);
}

/// Hundreds of chunks that are to be reported.
fn unknown_chunks(field: &mut Field, peer: &mut Peer, number: u32) {
    let one = UnknownChunk {
        chunk_type: 0xC8,
        flags: number as u8,
        value: Raw::Shared(vec![0; 4].into()),
    };
    peer.send(field, (0..150).map(|_| Chunk::Unknown(one.clone())).collect());
}

/// Requests with old, far and wrong numbers, for streams without number and for everything.
fn reconfig(field: &mut Field, peer: &mut Peer, number: u32) {
    let base = peer.own_tag;
    let request_sequence = [base, base.wrapping_add(number), base.wrapping_sub(1), field.random()]
        [number as usize / 6 % 4];
    let all: Vec<u16> = (0..500).collect();

    let parameter = match number % 6 {
        0 => Parameter::OutgoingSsnReset {
            request_sequence,
            response_sequence: field.random(),
            last_tsn: peer.tsn.wrapping_add(number % 1000),
            streams: U16List::Numbers(&all),
        },
        1 => Parameter::IncomingSsnReset { request_sequence, streams: U16List::Numbers(&all) },
        2 => Parameter::AddOutgoingStreams { request_sequence, new_streams: u16::MAX },
        3 => Parameter::AddIncomingStreams { request_sequence, new_streams: u16::MAX },
        4 => Parameter::SsnTsnReset { request_sequence },
        _ => Parameter::ReConfigResponse {
            response_sequence: request_sequence,
            result: number % 8,
            next_tsns: None,
        },
    };
    peer.send(field, vec![Chunk::ReConfig(Parameters::build([parameter]))]);
}

/// Requests without authentication: old and new numbers, addresses of others, the last one deleted.
fn asconf(field: &mut Field, peer: &mut Peer, number: u32) {
    if let (0, Some(local)) = (number, peer.local()) {
        // Without a socket there, they are not counted, but the attack goes on.
        let _ = field.watch_victims(local.port());
    }
    let victim = field.victims()[number as usize % 8];
    let own = peer.local().map_or(IpAddr::from(Ipv4Addr::UNSPECIFIED), |it| it.ip());
    let correlation_id = number;
    let change = match number % 4 {
        0 => Parameter::AddIp { correlation_id, address: victim },
        1 => Parameter::DeleteIp { correlation_id, address: own },
        2 => Parameter::SetPrimary { correlation_id, address: victim },
        _ => Parameter::AddIp { correlation_id, address: Ipv4Addr::UNSPECIFIED.into() },
    };
    let serial = [peer.own_tag.wrapping_add(number / 8), peer.own_tag, field.random()]
        [number as usize / 4 % 3];
    let parameters = Parameters::build([Parameter::from(own), change]);
    peer.send(field, vec![Chunk::Asconf(Asconf { serial, parameters })]);
}

/// AUTH chunks whose codes are none, before chunks that ask for something.
fn stripped_auth(field: &mut Field, peer: &mut Peer, number: u32) {
    let hmac = Raw::Shared(vec![number as u8; 32].into());
    let auth = polypath_wire::Auth {
        shared_key_id: (number % 3) as u16,
        hmac_id: [1, 3, 9][number as usize % 3],
        hmac,
    };
    let info = Parameters::build([Parameter::HeartbeatInfo(&[1; 40])]);
    peer.send(field, vec![Chunk::Auth(auth), Chunk::Heartbeat(info)]);
}

/// Packets with the right tag from one new port after the other.
fn moving_port(field: &mut Field, peer: &mut Peer, number: u32) {
    ask(field, peer, number);
    if let (0, Ok(other)) = (number % 4, socket_at(field, 0)) {
        let chunk = sack(peer.seen_tsn, 1_000_000, []);
        let bytes = packet([peer.source_port, field.port], peer.tag, vec![chunk]);
        send_raw(field, &other, &bytes);
    }
}

/// INITs within the association: of a restart, and of one with other addresses; and the cookies for it.
fn restart(field: &mut Field, peer: &mut Peer, number: u32) {
    let others: Vec<IpAddr> = (0..8).map(|it| field.address(it * 3).into()).collect();
    let parameters = if number.is_multiple_of(2) { extended(&[]) } else { extended(&others) };
    let tag = field.random() | 1;
    peer.send_with(field, 0, vec![init(tag, 100_000, parameters)]);
    let mut answer = None;
    let (old_tag, old_first) = (peer.tag, peer.first_tsn);
    peer.read(field, |chunk| {
        if let Chunk::InitAck(init) = chunk {
            answer = init.parameters.state_cookie().map(|it| (init.initiate_tag, it.to_vec()));
        }
    });
    (peer.tag, peer.first_tsn) = (old_tag, old_first);
    if let Some((tag, cookie)) = answer {
        peer.send_with(field, tag, vec![Chunk::CookieEcho(Raw::Shared(cookie.into()))]);
        if number % 16 == 15 {
            peer.tag = tag;
        }
    }
}

/// The chunks of an end in any order, and messages after it.
fn shutdown(field: &mut Field, peer: &mut Peer, number: u32) {
    let chunk = match number % 5 {
        0 => Chunk::ShutdownAck,
        1 => Chunk::ShutdownComplete { reflected_tag: false },
        2 => Chunk::Shutdown { cumulative_tsn_ack: peer.seen_tsn.wrapping_add(number) },
        3 => Chunk::CookieAck,
        _ => peer.data(0, number, WHOLE, &[1; 100]),
    };
    peer.send(field, vec![chunk]);
}
