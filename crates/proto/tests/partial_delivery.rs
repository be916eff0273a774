//! Messages that are larger than the receive buffer, or than the partial delivery point, between two stacks.

mod common;

use common::{config, message, secs};
use polypath_proto::config::{AssociationConfig, MessageInterleaving, PartialReliability, Preset};
use polypath_proto::{Delivery, Event, OutgoingMessage, Piece, ReceivedMessage};
use polypath_testkit::{Faults, Form, Pair, PairConfig, PathModel, Side};
use polypath_wire::{Payload, VirtualPayload};

const BUFFER: u32 = 50_000;

fn small(preset: Preset, interleaving: MessageInterleaving) -> AssociationConfig {
    let mut config = config(preset);
    config.policies.message_interleaving = interleaving;
    (config.receive_buffer_bytes, config.send_buffer_bytes) = (BUFFER, 4_000_000);
    config
}

fn on_stream(stream: u16, number: u64, size: u32) -> OutgoingMessage {
    OutgoingMessage { stream, ..message(number, size) }
}

/// Messages as they were sent, from the pieces that a user got: by stream and delivery one at a time. With the number of pieces.
fn joined(received: &[ReceivedMessage]) -> Vec<(u32, Vec<u8>, usize)> {
    let mut under_way: Vec<((u16, Delivery), Vec<u8>, usize)> = Vec::new();
    let mut all = Vec::new();
    for message in received {
        let key = (message.stream, message.delivery);
        let at = under_way.iter().position(|(known, ..)| *known == key);
        let (mut content, pieces) = match (at, message.piece.begins()) {
            (None, true) => (Vec::new(), 0),
            (Some(at), false) => {
                let (_, content, pieces) = under_way.remove(at);
                (content, pieces)
            }
            (at, _) => panic!("{:?} of {key:?} behind {at:?}", message.piece),
        };
        content.extend_from_slice(&message.clone().into_bytes());
        match message.piece.ends() {
            true => all.push((message.ppid, content, pieces + 1)),
            false => under_way.push((key, content, pieces + 1)),
        }
    }
    assert!(under_way.is_empty(), "all have ended");
    all
}

fn content(number: u32, len: u32) -> Vec<u8> {
    let mut content = vec![0; len as usize];
    let message = u64::from(number);
    Payload::Virtual(VirtualPayload { message, offset: 0, len }).copy_to(&mut content);
    content
}

#[test]
fn a_message_larger_than_the_receive_buffer_arrives_in_pieces() {
    let off = MessageInterleaving::Off;
    let on = MessageInterleaving::On;
    for (preset, interleaving, loss, form) in [
        (Preset::Rfc9260, off, 0, Form::Structured),
        (Preset::Cmt, off, 20, Form::Encoded),
        (Preset::Recommended, off, 20, Form::Structured),
        (Preset::Cmt, on, 20, Form::Structured),
        (Preset::Recommended, on, 0, Form::Encoded),
    ] {
        let case = format!("{preset:?}, {interleaving:?}, {loss} per mille lost");
        let mut pair = PairConfig::new(2, small(preset, interleaving));
        let faults = Faults { loss, reordering: loss, ..Faults::default() };
        pair.paths = vec![PathModel::default().with_faults(faults); 2];
        pair.form = form;
        let mut pair = Pair::connected(pair);
        let sizes = [1000, 400_000, 1000, 300_000, 20_000, 200_000, 100];
        let begun = pair.now;
        for (number, size) in sizes.into_iter().enumerate() {
            let stream = number as u16 % 3;
            while pair.send(Side::Client, on_stream(stream, number as u64, size)).is_err() {
                assert!(pair.step(pair.now + secs(100)), "{case}");
            }
        }
        let done = |pair: &Pair| {
            let messages = &pair.slot(Side::Server).messages;
            messages.iter().filter(|it| it.piece.ends()).count() == sizes.len()
        };
        assert!(pair.run_until(secs(600), done), "{case}: {:?}", pair.slot(Side::Server).events);
        let took = pair.now.since(begun);
        assert!(took < secs(60), "{case}: {took:?} of virtual time");

        let server = pair.slot(Side::Server);
        let mut messages = joined(&server.messages);
        messages.sort_by_key(|(number, ..)| *number);
        for (number, (size, (ppid, bytes, pieces))) in sizes.into_iter().zip(&messages).enumerate()
        {
            assert_eq!(*ppid, number as u32, "{case}");
            assert!(*bytes == content(*ppid, size), "{case}: the content of {number}");
            let whole = *pieces == 1;
            assert!(whole || size > 20_000, "{case}: {number} in {pieces} pieces");
            assert!(!whole || size < BUFFER, "{case}: {number} fits");
        }
        let stats = server.association.stats();
        assert_eq!(stats.messages_received, sizes.len() as u64, "{case}");
        assert_eq!(stats.bytes_received, sizes.iter().map(|it| u64::from(*it)).sum::<u64>());
        assert_eq!(stats.receive_buffer_bytes, 0, "{case}");
        assert!(!server.events.iter().any(|it| matches!(it, Event::PartialDeliveryAborted { .. })));
        pair.shutdown(Side::Client);
        let closed = |pair: &Pair| pair.slot(Side::Server).association.is_closed();
        assert!(pair.run_until(secs(600), closed), "{case}");
    }
}

#[test]
fn a_delivery_point_lets_large_messages_begin_early() {
    for (point, pieces) in [(None, 1), (Some(5000), 2)] {
        let mut config = config(Preset::Cmt);
        config.partial_delivery_point = point;
        config.check().unwrap();
        let mut pair = Pair::connected(PairConfig::new(1, config));
        pair.send(Side::Client, message(0, 5000)).unwrap();
        pair.send(Side::Client, message(1, 50_000)).unwrap();
        let done = |pair: &Pair| {
            pair.slot(Side::Server)
                .messages
                .last()
                .is_some_and(|it| it.ppid == 1 && it.piece.ends())
        };
        assert!(pair.run_until(secs(60), done));
        let messages = &pair.slot(Side::Server).messages;
        assert_eq!(messages[0].piece, Piece::Whole, "not larger than the point");
        let joined = joined(messages);
        assert!(joined[1].2 >= pieces && (pieces > 1 || joined[1].2 == 1), "{:?}", joined[1].2);
        assert!(joined[1].1 == content(1, 50_000));
    }
}

#[test]
fn an_abandoned_or_aborted_message_that_was_begun_is_reported() {
    for interleaving in [MessageInterleaving::Off, MessageInterleaving::On] {
        for ends in [false, true] {
            let mut pair = Pair::connected(PairConfig::new(1, small(Preset::Cmt, interleaving)));
            pair.hosts[1].reads = false;
            let reliability = Some(PartialReliability::Timed(secs(10)));
            let large = OutgoingMessage { reliability, ..on_stream(2, 0, 300_000) };
            pair.send(Side::Client, large).unwrap();
            pair.send(Side::Client, on_stream(1, 1, 100)).unwrap();
            pair.run_for(secs(5));
            let begun = |event: &Event| matches!(event, Event::Readable);
            assert!(pair.slot(Side::Server).events.iter().any(begun));
            match ends {
                false => pair.run_for(secs(60)),
                true => pair.abort(Side::Client, "no more"),
            }
            pair.hosts[1].reads = true;
            pair.read(Side::Server);
            pair.run_for(secs(60));
            let server = pair.slot(Side::Server);
            let aborted = |event: &&Event| matches!(event, Event::PartialDeliveryAborted { .. });
            let reports: Vec<_> = server.events.iter().filter(aborted).collect();
            let expected = Event::PartialDeliveryAborted { stream: 2, ssn: Some(0) };
            assert_eq!(reports, [&expected], "{interleaving:?}, ends: {ends}");
            let pieces: Vec<_> = server.messages.iter().map(|it| (it.ppid, it.piece)).collect();
            match ends {
                false => assert_eq!(pieces, [(0, Piece::First), (1, Piece::Whole)]),
                true => assert_eq!(pieces, [(0, Piece::First)]),
            }
        }
    }
}
