//! Random operations over random faults: every message exactly once, in order per stream and intact, or one defined
//! error; never stuck; buffers and flight return to zero.

#![allow(clippy::disallowed_types)] // proptest's macros use Arc

use polypath_proto::config::{
    AssociationConfig, Burst, CwndUpdate, DacCount, FastRecoveryScope, GapAck, NoWindow, PathFill,
    PathOrder, Preset, RetransmissionPath, SplitFastRetransmit,
};
use polypath_proto::{AssociationEnd, Duration};
use polypath_testkit::{Faults, Op, Outcome, run_script, script_strategy};
use proptest::prelude::*;

/// Any combination of policies.
fn policies() -> impl Strategy<Value = AssociationConfig> {
    use RetransmissionPath::{Alternate, Cwnd, Same, Ssthresh};
    let rtx = || prop::sample::select(vec![Same, Alternate, Cwnd, Ssthresh]);
    let first = (
        prop::sample::select(vec![SplitFastRetransmit::Off, SplitFastRetransmit::Sfr]),
        prop::sample::select(vec![
            CwndUpdate::Normal,
            CwndUpdate::PseudoCumAck,
            CwndUpdate::PseudoCumAckV2,
        ]),
        prop::sample::select(vec![GapAck::Immediate, GapAck::Delayed]),
        prop::sample::select(vec![DacCount::Off, DacCount::SackFlags]),
        prop::sample::select(vec![FastRecoveryScope::AssociationWide, FastRecoveryScope::PerPath]),
    );
    let second = (
        prop::sample::select(vec![
            PathOrder::Primary,
            PathOrder::Fixed,
            PathOrder::SmallestLastTransmission,
            PathOrder::Rotating,
        ]),
        prop::sample::select(vec![PathFill::PacketByPacket, PathFill::FillWindow]),
        (rtx(), rtx()),
        prop::sample::select(vec![NoWindow::Wait, NoWindow::Next]),
        prop::sample::select(vec![Burst::Off, Burst::MaxBurst(1), Burst::MaxBurst(4)]),
        prop_oneof![Just(1u32 << 20), 6_000u32..100_000],
    );
    // Without heartbeats nothing wakes a sender that is stuck.
    let heartbeats = prop::option::of(Just(Duration::from_secs(30)));
    (first, second, heartbeats).prop_map(
        |(
            (split, cuc, on_gap, count, recovery),
            (order, fill, (fast, timer), no_window, burst, buffer),
            heartbeat_interval,
        )| {
            let mut config = AssociationConfig::with_preset(Preset::Cmt);
            let p = &mut config.policies;
            p.fast_retransmit.split = split;
            p.cwnd_update = cuc;
            p.delayed_ack.on_gap = on_gap;
            p.delayed_ack.count = count;
            p.fast_recovery = recovery;
            p.path_order = order;
            p.path_fill = fill;
            p.retransmission.fast = fast;
            p.retransmission.timer = timer;
            p.retransmission.no_window = no_window;
            p.burst = burst;
            config.receive_buffer_bytes = buffer;
            config.heartbeat_interval = heartbeat_interval;
            config
        },
    )
}

/// Faults of what comes back, SACKs above all, on paths where they differ.
fn faults_back() -> impl Strategy<Value = Vec<Option<Faults>>> {
    let faults = (0u16..300, 0u16..60).prop_map(|(loss, reordering)| Faults {
        loss,
        reordering,
        ..Faults::default()
    });
    prop::collection::vec(prop::option::of(faults), 3)
}

fn cases() -> u32 {
    std::env::var("POLYPATH_SCRIPT_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(300)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), max_shrink_iters: 4000, ..ProptestConfig::default() })]

    #[test]
    fn every_message_arrives_or_the_association_ends(
        mut script in script_strategy(),
        config in policies(),
        back in faults_back(),
    ) {
        for (path, back) in script.paths.iter_mut().zip(back) {
            path.faults_back = back;
        }
        match run_script(&script, &config) {
            Ok(Outcome::Delivered { .. }) => {}
            // Only paths that were cut can make a peer unreachable; neither side ever breaks the protocol.
            Ok(Outcome::Ended(end)) => {
                let unreachable = match &end {
                    AssociationEnd::Unreachable => true,
                    AssociationEnd::AbortedByPeer(causes) => causes.is_empty(),
                    _ => false,
                };
                let cut = script.ops.iter().any(|op| matches!(op, Op::Cut(_)));
                prop_assert!(unreachable && cut, "{end:?}");
            }
            Err(failure) => prop_assert!(false, "{failure}"),
        }
    }
}
