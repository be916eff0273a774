//! Random operations over random faults: every message exactly once, in order per stream and intact, or one defined
//! error; never stuck; buffers and flight return to zero.

#![allow(clippy::disallowed_types)] // proptest's macros use Arc

use polypath_proto::config::{
    AddressJoin, AddressReconfiguration, AllPf, AssociationConfig, AuthenticatedChunks,
    BeyondWindow, Burst, BytesCounted, CongestionAlgorithm, CwndUpdate, DacCount,
    ExplicitCongestionNotification, FailureDetection, FastRecoveryScope, FirstData, GapAck,
    GroupList, HandshakePaths, IdleRule, InitialCwnd, InitialSsthresh, LossRateSource,
    MessageInterleaving, MissingReports, NoWindow, NrSack, PacketDropReport, PartialReliability,
    PathFill, PathGroups, PathOrder, PeerReorderLimit, PerTsn, PmtuDiscovery, Preset, Reduction,
    Reneging, RepeatedTimeout, RetransmissionPath, RttSample, SackPath, SlowStart,
    SplitFastRetransmit, StaleSack, StreamReconfiguration, StreamScheduler, T3Restart, Window,
    WindowUnit,
};
use polypath_proto::config::{
    AvoidanceBytes, BlockingEstimation, BufferSize, BufferSplit, BufferSplitBy, BufferSplitShares,
    OldPathPays, Policies, RecoveryGrowth, Reschedule, RescheduleConditions, RescheduleFor,
    RescheduleSide, SmartFastRtx, TailProbes, TailReinjection,
};
use polypath_proto::{AssociationEnd, Duration};
use polypath_testkit::{
    Extension, Faults, Form, Op, Outcome, PathModel, Script, Side, extension_strategy,
    mtu_strategy, run_script, script_strategy, shutdown_strategy,
};
use polypath_units::Fraction;
use polypath_wire::chunk_type;
use proptest::prelude::*;

/// Random choices, which shrink towards the first value of each list.
struct Draw(std::vec::IntoIter<u8>);

impl Draw {
    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[usize::from(self.0.next().expect("enough choices")) % from.len()]
    }
}

/// More choices than there are policies.
const CHOICES: usize = 96;

/// How paths share the buffers.
fn draw_buffers(p: &mut Policies, draw: &mut Draw) {
    p.buffer_split = draw.pick(BufferSplit::ALL);
    p.buffer_split_by = draw.pick(BufferSplitBy::ALL);
    p.buffer_split_shares = draw.pick(BufferSplitShares::ALL);
    p.blocking_estimation = draw.pick(BlockingEstimation::ALL);
    p.tail_reinjection = draw.pick(TailReinjection::ALL);
    p.tail_probe = draw.pick(TailProbes::ALL);
    p.reschedule = Reschedule {
        side: draw.pick(RescheduleSide::ALL),
        threshold: draw.pick(&[0.5, 0.05]),
        traffic: draw.pick(RescheduleFor::ALL),
        old_path: draw.pick(OldPathPays::ALL),
        conditions: draw.pick(RescheduleConditions::ALL),
    };
    p.send_buffer = draw.pick(BufferSize::ALL);
    p.receive_buffer = draw.pick(BufferSize::ALL);
    p.smart_fast_rtx = match p.fast_retransmit.split {
        SplitFastRetransmit::Sfr => draw.pick(SmartFastRtx::ALL),
        _ => SmartFastRtx::Off,
    };
}

/// Any combination of policies.
fn policies() -> impl Strategy<Value = AssociationConfig> {
    let choices = prop::collection::vec(any::<u8>(), CHOICES);
    let receive_buffer = prop_oneof![Just(1u32 << 20), 6_000u32..100_000];
    // Without heartbeats nothing wakes a sender that is stuck.
    let heartbeats = prop::option::of(Just(Duration::from_secs(30)));
    (choices, receive_buffer, heartbeats).prop_map(|(choices, buffer, heartbeat_interval)| {
        let mut config = AssociationConfig::with_preset(Preset::Cmt);
        let mut draw = Draw(choices.into_iter());
        let p = &mut config.policies;
        p.fast_retransmit.split = draw.pick(SplitFastRetransmit::ALL);
        p.fast_retransmit.reports = draw.pick(MissingReports::ALL);
        p.fast_retransmit.per_tsn = draw.pick(PerTsn::ALL);
        p.fast_retransmit.beyond_window = draw.pick(BeyondWindow::ALL);
        p.fast_retransmit.threshold = draw.pick(&[3, 1, 2, 5]);
        p.cwnd_update = draw.pick(CwndUpdate::ALL);
        p.delayed_ack.on_gap = draw.pick(GapAck::ALL);
        p.delayed_ack.count = draw.pick(DacCount::ALL);
        p.delayed_ack.packets = draw.pick(&[2, 1, 4]);
        p.delayed_ack.first_data = draw.pick(FirstData::ALL);
        p.fast_recovery = draw.pick(FastRecoveryScope::ALL);
        p.path_order = draw.pick(PathOrder::ALL);
        p.path_fill = draw.pick(PathFill::ALL);
        p.retransmission.fast = draw.pick(RetransmissionPath::ALL);
        p.retransmission.timer = draw.pick(RetransmissionPath::ALL);
        p.retransmission.repeated = draw.pick(RepeatedTimeout::ALL);
        p.retransmission.no_window = draw.pick(NoWindow::ALL);
        p.retransmission.loss_rate = draw.pick(LossRateSource::ALL);
        p.failover.detection = draw.pick(FailureDetection::ALL);
        p.failover.pf_threshold = draw.pick(&[0, 1, 2]);
        p.failover.primary_switchover = draw.pick(&[None, Some(0), Some(1), Some(5)]);
        p.failover.all_pf = draw.pick(AllPf::ALL);
        p.t3_restart = draw.pick(T3Restart::ALL);
        config.path_max_retrans = draw.pick(&[5, 1, 0]);
        p.packet_drop_report = draw.pick(PacketDropReport::ALL);
        p.sack_path = draw.pick(SackPath::ALL);
        p.rtt_sample = draw.pick(RttSample::ALL);
        p.burst = draw.pick(BURSTS);
        p.congestion = draw.pick(CongestionAlgorithm::ALL);
        let groups = draw.pick(&groups());
        if p.congestion.couples() {
            p.path_groups = groups;
        }
        p.window = window(&mut draw);
        p.stream_scheduler = draw.pick(StreamScheduler::ALL);
        draw_buffers(p, &mut draw);
        config.send_buffer_bytes = draw.pick(&[1 << 20, 6_000, 40_000]);
        p.stale_sack = draw.pick(StaleSack::ALL);
        let often = Reneging::Simulated(Fraction::from_percent(20));
        p.reneging = draw.pick(&[Reneging::Never, Reneging::UnderPressure, often]);
        p.nr_sack = match p.reneging {
            Reneging::Never => draw.pick(NrSack::ALL),
            _ => draw.pick(&[NrSack::Off, NrSack::Deliverable]),
        };
        p.handshake = draw.pick(HandshakePaths::ALL);
        p.peer_reorder_limit = draw.pick(PeerReorderLimit::ALL);
        p.simulated_reorder_limit = draw.pick(&[None, Some(100)]);
        p.failover.outage_probe_interval = draw.pick(&[None, Some(Duration::from_secs(2))]);
        p.message_interleaving = draw.pick(MessageInterleaving::ALL);
        p.explicit_congestion_notification = draw.pick(ExplicitCongestionNotification::ALL);
        config.partial_delivery_point = draw.pick(&[None, Some(1), Some(3000)]);
        config.receive_buffer_bytes = buffer;
        config.heartbeat_interval = heartbeat_interval;
        config
    })
}

/// Every extension that both sides may have, negotiated.
fn with_extensions(config: AssociationConfig, chunks: AuthenticatedChunks) -> AssociationConfig {
    let mut config = AssociationConfig { address_join: AddressJoin::On, ..config };
    let p = &mut config.policies;
    p.authenticated_chunks = chunks;
    p.address_reconfiguration = AddressReconfiguration::Authenticated;
    p.stream_reconfiguration = StreamReconfiguration::On;
    p.message_interleaving = MessageInterleaving::On;
    p.explicit_congestion_notification = ExplicitCongestionNotification::On;
    p.packet_drop_report = PacketDropReport::On;
    if p.nr_sack == NrSack::Off {
        p.nr_sack = NrSack::Deliverable;
    }
    // A change to a congestion control that couples nothing must not be refused.
    p.path_groups = PathGroups::All;
    config
}

const BURSTS: &[Burst] = &[
    Burst::MaxBurst(4),
    Burst::Off,
    Burst::MaxBurst(1),
    Burst::UseItOrLoseIt(1),
    Burst::CongestionWindowLimiting(2),
    Burst::MaxBurstAfterLoss(2),
];

fn groups() -> [PathGroups; 3] {
    let listed = GroupList::new(&[0, 1, 0]).expect("a list of three");
    [PathGroups::All, PathGroups::Separate, PathGroups::Listed(listed)]
}

fn window(draw: &mut Draw) -> Window {
    use InitialSsthresh::{Bytes, PeerWindow, Unlimited};
    Window {
        initial_cwnd: draw.pick(&[
            InitialCwnd::Rfc9260,
            InitialCwnd::Bytes(100_000),
            InitialCwnd::Mtu(1),
        ]),
        initial_ssthresh: draw.pick(&[Unlimited, PeerWindow, Bytes(0)]),
        unit: draw.pick(WindowUnit::ALL),
        ssthresh_floor_mtu: draw.pick(&[4, 1, 2]),
        bytes_counted: draw.pick(BytesCounted::ALL),
        slow_start: draw.pick(SlowStart::ALL),
        avoidance: draw.pick(AvoidanceBytes::ALL),
        recovery_growth: draw.pick(RecoveryGrowth::ALL),
        reduction: draw.pick(Reduction::ALL),
        idle: draw.pick(IdleRule::ALL),
    }
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

fn judge(script: &Script, config: &AssociationConfig) -> Result<(), TestCaseError> {
    match run_script(script, config) {
        Ok(Outcome::Delivered { .. } | Outcome::HandshakeLost) => {}
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
    Ok(())
}

/// A COOKIE ECHO that arrives once more after the end makes no association that takes the messages of the script.
#[test]
fn a_late_cookie_changes_nothing_after_a_shutdown() {
    let path = |ms| PathModel {
        delay: Duration::from_millis(ms),
        faults: Faults { duplication: 300, reordering: 300, ..Faults::default() },
        ..PathModel::default()
    };
    let send = Op::Send {
        from_client: false,
        stream: 0,
        unordered: false,
        size: 1,
        count: 1,
        reliability: PartialReliability::None,
    };
    let mut config = AssociationConfig::with_preset(Preset::Cmt);
    config.policies.handshake = HandshakePaths::AllPaths;
    for seed in 0..300 {
        let wait = 20 + 5 * (seed % 20) as u16;
        let script = Script {
            paths: vec![path(41), path(9)],
            ops: vec![Op::Shutdown(Side::Client), Op::Wait(wait), send.clone()],
            seed,
            form: Form::Structured,
        };
        let outcome = run_script(&script, &config);
        assert!(matches!(outcome, Ok(Outcome::Delivered { .. })), "{seed}: {outcome:?}");
    }
}

/// A reset of all and a reset of the other side's streams, each of which waits for the other to end; and a reset of all that
/// is still going on when the association ends.
#[test]
fn a_reset_of_all_meets_another_request_or_the_end() {
    let send = |count| Op::Send {
        from_client: false,
        stream: 0,
        unordered: false,
        size: 1000,
        count,
        reliability: PartialReliability::None,
    };
    let client = |extension| Op::Use(Side::Client, extension);
    let server = |extension| Op::Use(Side::Server, extension);
    let incoming = server(Extension::ResetIncoming(0));
    let all = client(Extension::ResetAssociation);
    for ops in [
        vec![incoming.clone(), all.clone(), send(2)],
        vec![all.clone(), incoming.clone(), send(2)],
        vec![send(20), all.clone(), incoming.clone(), Op::Wait(1), send(2)],
        vec![send(20), incoming, all.clone(), Op::Shutdown(Side::Server)],
        vec![send(20), all.clone(), Op::Shutdown(Side::Client)],
        vec![send(20), Op::Wait(3), all.clone(), Op::Shutdown(Side::Server), Op::Wait(500)],
        vec![all.clone(), Op::Wait(35), send(20), Op::Shutdown(Side::Client)],
        vec![all, Op::Wait(35), send(20), Op::Shutdown(Side::Server)],
    ] {
        for (seed, loss) in (0..60).map(|seed| (seed, 100 * (seed % 3) as u16)) {
            let faults = Faults { loss, reordering: loss, ..Faults::default() };
            let path = PathModel { faults, ..PathModel::default() };
            let script =
                Script { paths: vec![path; 2], ops: ops.clone(), seed, form: Form::Structured };
            let config = AssociationConfig::with_preset(Preset::Cmt);
            let outcome = run_script(&script, &with_extensions(config, AuthenticatedChunks::All));
            assert!(
                matches!(outcome, Ok(Outcome::Delivered { .. })),
                "{seed} {ops:?}: {outcome:?}"
            );
        }
    }
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
        judge(&script, &config)?;
    }

    #[test]
    fn mtus_may_be_any_and_change_at_any_time(
        script in mtu_strategy(),
        mut config in policies(),
        mtu_bytes in prop_oneof![Just(1500u16), 600u16..9001],
    ) {
        config.pmtu_discovery = Some(PmtuDiscovery::Probe);
        config.mtu_bytes = mtu_bytes;
        judge(&script, &config)?;
    }

    #[test]
    fn all_extensions_together_lose_nothing(
        mut script in extension_strategy(),
        config in policies(),
        chunks in prop::sample::select(vec![
            AuthenticatedChunks::All,
            AuthenticatedChunks::Offered,
            AuthenticatedChunks::Demanded([chunk_type::DATA, chunk_type::I_DATA].into_iter().collect()),
        ]),
        back in faults_back(),
    ) {
        for (path, back) in script.paths.iter_mut().zip(back) {
            path.faults_back = back;
        }
        judge(&script, &with_extensions(config, chunks))?;
    }

    #[test]
    fn a_shutdown_at_any_time_loses_nothing(
        mut script in shutdown_strategy(),
        config in policies(),
        back in faults_back(),
    ) {
        for (path, back) in script.paths.iter_mut().zip(back) {
            path.faults_back = back;
        }
        judge(&script, &config)?;
    }
}
