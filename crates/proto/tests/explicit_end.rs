//! Messages that the user hands over in pieces (RFC 6458 section 8.1.26).

mod common;

use common::{config, secs};
use polypath_proto::config::{AssociationConfig, MessageInterleaving, Preset, StreamScheduler};
use polypath_proto::{AssociationEnd, Delivery, Event, OutgoingMessage, Piece, SendError};
use polypath_testkit::{Faults, Pair, PairConfig, PathModel, Side};
use polypath_wire::{Payload, VirtualPayload};

use Piece::{First, Last, Middle, Whole};

fn with(preset: Preset, interleaving: MessageInterleaving) -> AssociationConfig {
    let mut config = config(preset);
    config.policies.message_interleaving = interleaving;
    if interleaving == MessageInterleaving::On {
        config.policies.stream_scheduler = StreamScheduler::RoundRobin;
    }
    config
}

/// `len` bytes of message `number` from `offset` on.
fn piece(stream: u16, piece: Piece, number: u32, offset: u32, len: u32) -> OutgoingMessage {
    let payload = Payload::Virtual(VirtualPayload { message: number.into(), offset, len });
    OutgoingMessage { ppid: number, piece, ..OutgoingMessage::from_payload(stream, payload) }
}

fn content(number: u32, len: u32) -> Vec<u8> {
    let mut content = vec![0; len as usize];
    let message = u64::from(number);
    Payload::Virtual(VirtualPayload { message, offset: 0, len }).copy_to(&mut content);
    content
}

/// Numbers of the messages that have arrived whole.
fn arrived(pair: &Pair) -> Vec<u32> {
    pair.slot(Side::Server).messages.iter().map(|it| it.ppid).collect()
}

#[test]
fn pieces_make_one_message() {
    let (on, off) = (MessageInterleaving::On, MessageInterleaving::Off);
    let sizes: [&[u32]; 5] =
        [&[10, 10], &[5000, 1, 7000], &[1468, 1468, 1468], &[1; 20], &[30_000, 40_000, 1]];
    for (preset, interleaving, loss) in [
        (Preset::Rfc9260, off, 0),
        (Preset::Cmt, off, 30),
        (Preset::Recommended, off, 30),
        (Preset::Cmt, on, 30),
        (Preset::Recommended, on, 0),
    ] {
        for pause in [secs(0), secs(3)] {
            let case = format!("{preset:?} {interleaving:?} {loss} {pause:?}");
            let mut pair = PairConfig::new(2, with(preset, interleaving));
            let faults = Faults { loss, reordering: loss, ..Faults::default() };
            pair.paths = vec![PathModel::default().with_faults(faults); 2];
            let mut pair = Pair::connected(pair);
            for (number, sizes) in (0..).zip(sizes) {
                let mut offset = 0;
                for (at, size) in sizes.iter().enumerate() {
                    let which = match at {
                        0 => First,
                        _ if at + 1 == sizes.len() => Last,
                        _ => Middle,
                    };
                    let stream = number as u16 % 3;
                    let next = || piece(stream, which, number, offset, *size);
                    while pair.send(Side::Client, next()).is_err() {
                        assert!(pair.step(pair.now + secs(10)), "{case}");
                    }
                    offset += size;
                    pair.run_for(pause);
                }
            }
            let done = |pair: &Pair| arrived(pair).len() == sizes.len();
            assert!(pair.run_until(secs(100), done), "{case}: {:?}", arrived(&pair));
            for message in &pair.slot(Side::Server).messages {
                let len = sizes[message.ppid as usize].iter().sum();
                assert_eq!(message.piece, Whole, "{case}");
                assert!(message.clone().into_bytes() == content(message.ppid, len), "{case}");
            }
            let dry = |pair: &Pair| {
                let events = &pair.slot(Side::Client).events;
                events.iter().filter(|it| **it == Event::SenderDry).count() > 0
            };
            assert!(pair.run_until(secs(10), dry), "{case}");
            let stats = pair.slot(Side::Client).association.stats();
            assert_eq!((stats.messages_sent, stats.send_buffer_bytes), (5, 0), "{case}");
            let free = pair.slot(Side::Client).association.send_capacity() as u64;
            assert_eq!(free, stats.send_buffer_size_bytes, "{case}");
            pair.shutdown(Side::Client);
            let closed = |pair: &Pair| pair.slot(Side::Server).association.is_closed();
            assert!(pair.run_until(secs(100), closed), "{case}");
        }
    }
}

#[test]
fn others_wait_for_the_end_unless_messages_are_interleaved() {
    for (interleaving, early) in
        [(MessageInterleaving::Off, &[][..]), (MessageInterleaving::On, &[1, 2])]
    {
        let mut pair = Pair::connected(PairConfig::new(1, with(Preset::Cmt, interleaving)));
        pair.send(Side::Client, piece(0, First, 0, 0, 3000)).unwrap();
        pair.run_for(secs(1));
        pair.send(Side::Client, piece(1, Whole, 1, 0, 3000)).unwrap();
        let unordered =
            OutgoingMessage { delivery: Delivery::Unordered, ..piece(2, Whole, 2, 0, 10) };
        pair.send(Side::Client, unordered).unwrap();
        pair.run_for(secs(5));
        assert_eq!(arrived(&pair), early, "{interleaving:?}");
        pair.send(Side::Client, piece(0, Last, 0, 3000, 10)).unwrap();
        pair.run_for(secs(5));
        let mut all = arrived(&pair);
        all.sort_unstable();
        assert_eq!(all, [0, 1, 2], "{interleaving:?}");
    }
}

#[test]
fn pieces_out_of_place_are_refused() {
    for interleaving in [MessageInterleaving::Off, MessageInterleaving::On] {
        let mut pair = Pair::connected(PairConfig::new(1, with(Preset::Cmt, interleaving)));
        let none = Err(SendError::NoMessageBegun { stream: 0 });
        let open = Err(SendError::MessageNotEnded { stream: 0 });
        for (which, expected) in [
            (Middle, none),
            (Last, none),
            (First, Ok(())),
            (First, open),
            (Whole, open),
            (Middle, Ok(())),
            (Last, Ok(())),
            (Last, none),
            // The one before need not have been sent.
            (First, Ok(())),
            (Last, Ok(())),
            (Whole, Ok(())),
        ] {
            let sent = pair.send(Side::Client, piece(0, which, 0, 0, 100));
            assert_eq!(sent, expected, "{which:?}");
        }
        pair.run_for(secs(5));
        assert_eq!(arrived(&pair).len(), 3);
    }
}

#[test]
fn a_shutdown_before_the_end_aborts() {
    for (interleaving, side) in [
        (MessageInterleaving::Off, Side::Client),
        (MessageInterleaving::On, Side::Client),
        (MessageInterleaving::Off, Side::Server),
    ] {
        let mut pair = Pair::connected(PairConfig::new(1, with(Preset::Cmt, interleaving)));
        pair.send(Side::Client, piece(0, First, 0, 0, 3000)).unwrap();
        pair.run_for(secs(5));
        pair.shutdown(side);
        pair.run_for(secs(5));
        let client = pair.slot(Side::Client).events.last();
        assert_eq!(client, Some(&Event::Ended(AssociationEnd::Aborted)), "{side:?}");
        let server = pair.slot(Side::Server).events.last();
        assert!(matches!(server, Some(Event::Ended(AssociationEnd::AbortedByPeer(_)))), "{side:?}");
    }
}
