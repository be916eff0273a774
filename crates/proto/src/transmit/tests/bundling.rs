//! Small messages that share packets.

use std::vec::Vec;

use super::*;
use crate::config::{Preset, SmallMessages};
use crate::transmit::SendPhase;
use crate::transmit::partial_reliability::Reliability;

fn bench(preset: Preset, small_messages: SmallMessages) -> Bench {
    let mut bench = Bench::tuned(preset, 1, |config| config.small_messages = small_messages);
    bench.shape(0, 20, 20, 50);
    bench
}

/// Hands over messages of 100 bytes.
fn small(bench: &mut Bench, messages: u32) {
    for _ in 0..messages {
        bench.send_one(100, Reliability::Full).1.unwrap();
    }
}

#[test]
fn small_messages_wait_for_the_acknowledgement_and_share_a_packet() {
    for preset in [Preset::Rfc9260, Preset::Recommended] {
        let mut bench = bench(preset, SmallMessages::Bundled);
        small(&mut bench, 1);
        assert_eq!(bench.sends(), [(0, [0].into())], "nothing is outstanding");
        for _ in 0..3 {
            small(&mut bench, 1);
            assert_eq!(bench.sends(), []);
        }
        assert!(bench.tx.is_all_sent(), "nothing more comes until the acknowledgement");
        bench.sack(&Answer::of(1));
        assert_eq!(bench.sends(), [(0, [1, 2, 3].into())]);
    }
}

#[test]
fn otherwise_each_is_sent_at_once() {
    let mut bench = bench(Preset::Rfc9260, SmallMessages::Immediate);
    for chunk in 0..4 {
        small(&mut bench, 1);
        assert_eq!(bench.sends(), [(0, [chunk].into())]);
    }
}

#[test]
fn a_full_packet_and_the_rest_of_a_message_do_not_wait() {
    let mut bench = bench(Preset::Rfc9260, SmallMessages::Bundled);
    small(&mut bench, 1);
    bench.flush();
    small(&mut bench, 20);
    let sent = bench.sends();
    assert_eq!(sent.len(), 1, "{sent:?}");
    let chunks: Vec<u32> = (1..13).collect();
    assert_eq!(sent[0].1, chunks, "as many as fit a packet; the others wait");
    // The last bytes of it fill no packet.
    bench.send_one(2 * FULL, Reliability::Full).1.unwrap();
    let sent: Vec<u32> = bench.sends().into_iter().flat_map(|(_, chunks)| chunks).collect();
    assert_eq!(sent, (13..23).collect::<Vec<u32>>());
    assert!(bench.tx.queue.is_empty());
}

#[test]
fn the_end_of_the_association_waits_for_nothing() {
    let mut bench = bench(Preset::Rfc9260, SmallMessages::Bundled);
    small(&mut bench, 1);
    bench.flush();
    small(&mut bench, 1);
    assert_eq!(bench.sends(), []);
    bench.phase = SendPhase::Draining;
    assert_eq!(bench.sends(), [(0, [1].into())]);
}

#[test]
fn what_is_lost_is_retransmitted_and_takes_what_waits_along() {
    let mut bench = bench(Preset::Rfc9260, SmallMessages::Bundled);
    small(&mut bench, 1);
    bench.flush();
    small(&mut bench, 1);
    assert_eq!(bench.sends(), []);
    bench.expire(0);
    assert_eq!(bench.sends(), [(0, [0, 1].into())]);
}
