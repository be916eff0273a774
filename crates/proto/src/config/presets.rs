//! Named sets of policies.

use crate::Duration;

use super::*;

macro_rules! presets {
    ($($(#[doc = $doc:literal])+ $variant:ident = $key:literal),+ $(,)?) => {
        /// A named set of policies.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[non_exhaustive]
        pub enum Preset {
            $($(#[doc = $doc])+ #[cfg_attr(feature = "serde", serde(rename = $key))] $variant),+
        }

        impl Preset {
            /// All presets, in the order in which help texts list them.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The name used in files and on the command line.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $key),+ }
            }

            /// Its purpose.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => concat!($($doc, "\n"),+)),+ }
            }
        }
    };
}

presets!(
    /// RFC 9260: new data on one primary path; the other paths are backups.
    Rfc9260 = "rfc9260",
    /// Concurrent multipath transfer as the papers describe it: SFR, CUCv2, DAC, least recently used path first,
    /// fast recovery per path.
    Cmt = "cmt",
    /// CMT with potentially failed paths (CMT-PF2; `natarajan`).
    CmtPf = "cmt-pf",
    /// CMT with resource pooling by slow-start thresholds (`dreibholz-asymmetric` section II).
    CmtRpV1 = "cmt-rp-v1",
    /// CMT with resource pooling by bandwidth.
    CmtRpV2 = "cmt-rp-v2",
    /// CMT with the linked increases of MPTCP.
    Lia = "lia",
    /// CMT with opportunistic linked increases.
    Olia = "olia",
    /// CMT with balanced linked adaptation.
    Balia = "balia",
    /// CMT with the mechanisms of `dreibholz-asymmetric` for unequal paths: NR-SACK, buffer splitting, chunk
    /// rescheduling, smart fast retransmit and packet drop reports.
    DreibholzAsymmetric = "dreibholz-asymmetric",
    /// The rules of ns-2's CMT of 2005, for comparing results with it.
    Ns22005 = "ns2-2005",
    /// The rules of ns-2.35's CMT agent, for comparing runs with it packet by packet; its applications read before the SACK
    /// (`association.reads` of scenarios).
    Ns2235 = "ns2-2.35",
    /// The rules of INET's SCTP with the defaults of `dreibholz-model` table 1 and CMT on, for
    /// comparing results with it. Later versions of INET have other defaults.
    Inet = "inet",
    /// For users: every mechanism that helps on unequal paths, and potentially failed paths.
    Recommended = "recommended",
);

impl Preset {
    /// The preset with a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|preset| preset.name() == name)
    }

    /// Its policies.
    pub fn policies(self) -> Policies {
        match self {
            Self::Rfc9260 => rfc9260(),
            Self::Cmt => cmt(),
            Self::CmtPf => Policies { failover: pf_2(), ..cmt() },
            Self::CmtRpV1 => coupled(CongestionAlgorithm::RpV1),
            Self::CmtRpV2 => coupled(CongestionAlgorithm::RpV2),
            Self::Lia => coupled(CongestionAlgorithm::Lia),
            Self::Olia => coupled(CongestionAlgorithm::Olia),
            Self::Balia => coupled(CongestionAlgorithm::Balia),
            Self::DreibholzAsymmetric => dreibholz_asymmetric(),
            Self::Ns22005 => ns2_2005(),
            Self::Ns2235 => ns2_2_35(),
            Self::Inet => inet(),
            Self::Recommended => recommended(),
        }
    }
}

fn rfc9260() -> Policies {
    Policies {
        fast_retransmit: FastRetransmit {
            split: SplitFastRetransmit::Off,
            threshold: 3,
            per_tsn: PerTsn::Once,
            reports: MissingReports::PerSack,
            beyond_window: BeyondWindow::OncePerRecovery,
        },
        cwnd_update: CwndUpdate::Normal,
        delayed_ack: DelayedAck {
            packets: 2,
            delay: Duration::from_millis(200),
            on_gap: GapAck::Immediate,
            first_data: FirstData::Immediate,
            count: DacCount::Off,
            scope: AckScope::Association,
            volume: AckVolume::Any,
        },
        fast_recovery: FastRecoveryScope::AssociationWide,
        handshake: HandshakePaths::Primary,
        path_order: PathOrder::Primary,
        path_fill: PathFill::PacketByPacket,
        retransmission: Retransmission {
            fast: RetransmissionPath::Same,
            timer: RetransmissionPath::Alternate,
            repeated: RepeatedTimeout::AsChosen,
            no_window: NoWindow::Wait,
            loss_rate: LossRateSource::Measured,
        },
        failover: Failover {
            detection: FailureDetection::Rfc9260,
            pf_threshold: 0,
            primary_switchover: None,
            all_pf: AllPf::Send,
            outage_probe_interval: None,
        },
        buffer_split: BufferSplit::None,
        buffer_split_by: BufferSplitBy::Buffered,
        buffer_split_shares: BufferSplitShares::Equal,
        send_room_notice: SendRoomNotice::Batch,
        blocking_estimation: BlockingEstimation::Off,
        earliest_completion: EarliestCompletion::Off,
        data_copies: DataCopies::Off,
        data_ahead: DataAhead::Off,
        loss_delay: LossDelays::Off,
        goodput_guard: GoodputGuarding::Off,
        reschedule: Reschedule {
            side: RescheduleSide::None,
            threshold: 0.5,
            traffic: RescheduleFor::Ordered,
            old_path: OldPathPays::ChunkSize,
            conditions: RescheduleConditions::Paper,
        },
        tail_reinjection: TailReinjection::Off,
        tail_probe: TailProbes::Off,
        smart_fast_rtx: SmartFastRtx::Off,
        t3_restart: T3Restart::Rfc,
        advertised_window: AdvertisedWindow {
            bytes_counted: BytesCounted::Payload,
            updates: WindowUpdates::On,
        },
        nr_sack: NrSack::Off,
        reneging: Reneging::Never,
        peer_reorder_limit: PeerReorderLimit::Off,
        simulated_reorder_limit: None,
        packet_drop_report: PacketDropReport::Off,
        authenticated_chunks: AuthenticatedChunks::Off,
        sack_path: SackPath::LastData,
        rtt_sample: RttSample::Classic,
        control_rtt: ControlRtt::Counts,
        sack_request: SackRequest::AtShutdown,
        stale_sack: StaleSack::Classic,
        burst: Burst::MaxBurst(4),
        pacing: Pacing::Off,
        congestion: CongestionAlgorithm::Rfc9260,
        path_groups: PathGroups::All,
        window: rfc9260_window(),
        rto: Rto {
            initial: Duration::from_secs(1),
            min: Duration::from_secs(1),
            max: Duration::from_secs(60),
            margin: Duration::ZERO,
            alpha: 0.125,
            beta: 0.25,
            data_before_confirmation: DataBeforeConfirmation::On,
        },
        partial_reliability: PartialReliability::None,
        stream_scheduler: StreamScheduler::Fcfs,
        stream_reconfiguration: StreamReconfiguration::Off,
        address_reconfiguration: AddressReconfiguration::Off,
        explicit_congestion_notification: ExplicitCongestionNotification::Off,
        message_interleaving: MessageInterleaving::Off,
        send_buffer: BufferSize::Bytes,
        receive_buffer: BufferSize::Bytes,
    }
}

fn rfc9260_window() -> Window {
    Window {
        initial_cwnd: InitialCwnd::Rfc9260,
        initial_ssthresh: InitialSsthresh::Unlimited,
        unit: WindowUnit::Pmdcs,
        ssthresh_floor_mtu: 4,
        bytes_counted: BytesCounted::WithHeader,
        slow_start: SlowStart::PerSack,
        avoidance: AvoidanceBytes::All,
        recovery_growth: RecoveryGrowth::Off,
        reduction: Reduction::AtOnce,
        idle: IdleRule::Rfc9260,
    }
}

fn cmt() -> Policies {
    Policies {
        fast_retransmit: FastRetransmit {
            split: SplitFastRetransmit::Sfr,
            // The rule of RFC 4960, the standard at the time.
            beyond_window: BeyondWindow::EveryLoss,
            ..rfc9260().fast_retransmit
        },
        cwnd_update: CwndUpdate::PseudoCumAckV2,
        delayed_ack: DelayedAck {
            on_gap: GapAck::Delayed,
            count: DacCount::SackFlags,
            ..rfc9260().delayed_ack
        },
        fast_recovery: FastRecoveryScope::PerPath,
        path_order: PathOrder::SmallestLastTransmission,
        retransmission: Retransmission {
            fast: RetransmissionPath::Ssthresh,
            timer: RetransmissionPath::Ssthresh,
            no_window: NoWindow::Next,
            ..rfc9260().retransmission
        },
        congestion: CongestionAlgorithm::Uncoupled,
        ..rfc9260()
    }
}

fn pf_2() -> Failover {
    Failover { detection: FailureDetection::Pf2, ..rfc9260().failover }
}

/// The floors of several paths would add up to more than that of one flow.
fn coupled(congestion: CongestionAlgorithm) -> Policies {
    Policies { congestion, window: Window { ssthresh_floor_mtu: 1, ..cmt().window }, ..cmt() }
}

fn dreibholz_asymmetric() -> Policies {
    Policies {
        buffer_split: BufferSplit::Both,
        // The sender side alone has no effect here: NR-SACKs free the send buffer.
        reschedule: Reschedule { side: RescheduleSide::Both, ..cmt().reschedule },
        smart_fast_rtx: SmartFastRtx::On,
        nr_sack: NrSack::All,
        packet_drop_report: PacketDropReport::On,
        authenticated_chunks: AuthenticatedChunks::Off,
        ..cmt()
    }
}

fn ns2_2005() -> Policies {
    Policies {
        path_order: PathOrder::Rotating,
        path_fill: PathFill::FillWindow,
        retransmission: Retransmission { no_window: NoWindow::Wait, ..cmt().retransmission },
        window: Window {
            initial_cwnd: InitialCwnd::Bytes(4380),
            initial_ssthresh: InitialSsthresh::Bytes(65_536),
            ssthresh_floor_mtu: 2,
            ..cmt().window
        },
        rto: Rto {
            initial: Duration::from_secs(3),
            data_before_confirmation: DataBeforeConfirmation::Off,
            ..cmt().rto
        },
        burst: Burst::MaxBurstAfterLoss(4),
        ..cmt()
    }
}

fn ns2_2_35() -> Policies {
    Policies {
        path_order: PathOrder::RotatingNewData,
        burst: Burst::MaxBurstFromRetransmission(4),
        delayed_ack: DelayedAck {
            first_data: FirstData::Delayed,
            count: DacCount::SackFlagsInGaps,
            ..ns2_2005().delayed_ack
        },
        advertised_window: AdvertisedWindow {
            bytes_counted: BytesCounted::WithHeader,
            updates: WindowUpdates::Off,
        },
        window: Window {
            avoidance: AvoidanceBytes::OfFullWindow,
            recovery_growth: RecoveryGrowth::On,
            ..ns2_2005().window
        },
        ..ns2_2005()
    }
}

fn inet() -> Policies {
    Policies {
        delayed_ack: DelayedAck { first_data: FirstData::Delayed, ..cmt().delayed_ack },
        path_fill: PathFill::FillWindow,
        retransmission: Retransmission {
            fast: RetransmissionPath::Same,
            timer: RetransmissionPath::Alternate,
            no_window: NoWindow::Wait,
            ..cmt().retransmission
        },
        window: Window {
            initial_cwnd: InitialCwnd::Bytes(4380),
            initial_ssthresh: InitialSsthresh::PeerWindow,
            unit: WindowUnit::PathMtu,
            bytes_counted: BytesCounted::Payload,
            idle: IdleRule::Reset,
            ..cmt().window
        },
        rto: Rto { initial: Duration::from_secs(3), ..cmt().rto },
        ..cmt()
    }
}

fn recommended() -> Policies {
    Policies {
        fast_retransmit: FastRetransmit {
            reports: MissingReports::Adaptive,
            per_tsn: PerTsn::Multiple,
            beyond_window: BeyondWindow::OncePerRecovery,
            ..dreibholz_asymmetric().fast_retransmit
        },
        retransmission: Retransmission {
            fast: RetransmissionPath::EarliestAnswer,
            no_window: NoWindow::Sooner,
            repeated: RepeatedTimeout::AvoidDoubtful,
            ..dreibholz_asymmetric().retransmission
        },
        handshake: HandshakePaths::AllPaths,
        path_order: PathOrder::LowestSrtt,
        path_fill: PathFill::Runs,
        buffer_split_shares: BufferSplitShares::ByNeed,
        reschedule: Reschedule {
            conditions: RescheduleConditions::Stall,
            ..dreibholz_asymmetric().reschedule
        },
        send_room_notice: SendRoomNotice::WhenIdle,
        blocking_estimation: BlockingEstimation::On,
        earliest_completion: EarliestCompletion::On,
        peer_reorder_limit: PeerReorderLimit::Learned,
        data_copies: DataCopies::On,
        data_ahead: DataAhead::On,
        loss_delay: LossDelays::On,
        goodput_guard: GoodputGuarding::On,
        tail_reinjection: TailReinjection::On,
        tail_probe: TailProbes::TwoRtts,
        failover: Failover { outage_probe_interval: Some(Duration::from_secs(2)), ..pf_2() },
        t3_restart: T3Restart::Smart,
        nr_sack: NrSack::AllInTurn,
        delayed_ack: DelayedAck {
            scope: AckScope::Path,
            volume: AckVolume::PartOfData,
            ..dreibholz_asymmetric().delayed_ack
        },
        // Packets count per path, so this is the path whose SACK is due.
        sack_path: SackPath::LastData,
        rtt_sample: RttSample::SlowPathUpdate,
        // The longest delay of a SACK.
        rto: Rto {
            min: Duration::from_millis(200),
            margin: Duration::from_millis(200),
            ..dreibholz_asymmetric().rto
        },
        control_rtt: ControlRtt::Provisional,
        sack_request: SackRequest::WhenNeeded,
        stale_sack: StaleSack::SamePath,
        // BBR does not react to random loss, and tells the scheduler the rate of each path.
        congestion: CongestionAlgorithm::Bbr,
        // Paced packets need no burst limit.
        pacing: Pacing::On,
        burst: Burst::Off,
        window: Window {
            slow_start: SlowStart::PerSecondPacket,
            reduction: Reduction::Proportional,
            ..dreibholz_asymmetric().window
        },
        send_buffer: BufferSize::AutoFast,
        receive_buffer: BufferSize::AutoFast,
        ..dreibholz_asymmetric()
    }
}
