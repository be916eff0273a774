//! A receiver that takes back what it has acknowledged, again and again.

mod common;

use common::{PEER_WINDOW, Victim, config, ip, sack};
use polypath_proto::Transmit;
use polypath_proto::config::{Preset, StaleSack};
use polypath_wire::Chunk;

/// Pairs of SACKs: one that acknowledges all but the first chunk, and one that takes that back.
const PAIRS: u64 = 1000;

/// What a peer that reneges so often withdraws, and how many chunks were outstanding in the end.
fn renege(preset: Preset, stale_sack: StaleSack) -> (Victim, u64, u64) {
    let mut config = config(preset);
    config.policies.stale_sack = stale_sack;
    let mut victim = Victim::established(config);
    let first = victim.first_tsn();
    let before_first = first.wrapping_sub(1);
    victim.send(200, 20);
    let mut chunks = 0;
    for _ in 0..PAIRS {
        chunks = chunks.max(highest(&victim.sent(), first).map_or(0, |offset| offset + 1));
        assert!(chunks > 20, "{preset:?}: {chunks}");
        let end = u16::try_from(chunks).unwrap();
        victim.receive(ip(2), vec![sack(before_first, PEER_WINDOW, &[(2, end)])]);
        chunks = chunks.max(highest(&victim.sent(), first).map_or(0, |offset| offset + 1));
        victim.receive(ip(2), vec![sack(before_first, PEER_WINDOW, &[])]);
    }
    let withdrawn = victim.association().stats().chunks_withdrawn;
    (victim, withdrawn, chunks.into())
}

/// How far above `first` the highest TSN among the packets is.
fn highest(packets: &[Transmit], first: u32) -> Option<u32> {
    let chunks = packets.iter().flat_map(|transmit| &transmit.packet.chunks);
    let offset = |chunk: &Chunk<'_>| match chunk {
        Chunk::Data(data) => Some(data.tsn.wrapping_sub(first)),
        _ => None,
    };
    chunks.filter_map(offset).max()
}

#[test]
fn withdrawing_for_ever_costs_a_few_windows_of_chunks() {
    for &preset in Preset::ALL {
        for stale_sack in [StaleSack::Classic, StaleSack::SamePath] {
            let what = format!("{preset:?} {stale_sack:?}");
            let (_, withdrawn, outstanding) = renege(preset, stale_sack);
            // Each chunk that is withdrawn is visited once for it, and once when it is acknowledged again.
            assert!(withdrawn <= 4 * outstanding + 64, "{what}: {withdrawn} of {outstanding}");
            if stale_sack == StaleSack::SamePath {
                assert!(withdrawn >= outstanding / 2, "{what}: {withdrawn} were withdrawn at all");
            }
        }
    }
}

#[test]
fn a_receiver_that_lost_its_gap_acks_still_gets_everything() {
    let (mut victim, ..) = renege(Preset::Recommended, StaleSack::SamePath);
    let withdrawn = victim.association().stats().chunks_withdrawn;
    let first = victim.first_tsn();
    // Gap acks change nothing any more, the cumulative one does.
    victim.receive(ip(2), vec![sack(first, PEER_WINDOW, &[(2, 5)])]);
    victim.receive(ip(2), vec![sack(first, PEER_WINDOW, &[])]);
    assert_eq!(victim.association().stats().chunks_withdrawn, withdrawn);
    let mut acked = 0;
    for _ in 0..20_000 {
        if victim.association().stats().send_buffer_bytes == 0 {
            return;
        }
        match highest(&victim.sent(), first) {
            Some(offset) => {
                acked = acked.max(offset);
                let all = first.wrapping_add(acked);
                victim.receive(ip(2), vec![sack(all, PEER_WINDOW, &[])]);
            }
            None => assert!(victim.wait_for_timer(), "it is stuck"),
        }
    }
    panic!("not all was acknowledged");
}
