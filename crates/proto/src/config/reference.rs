//! The reference of policies: every key with its values, what they mean and where they come from.

use super::*;

mod entry;

pub use entry::{PolicyExample, PolicyKey, PolicyValues};
use entry::{choice, example, parameterized, quantity};

/// Every key of [`Policies`], in the order in which reference pages list them.
pub const POLICY_KEYS: &[PolicyKey] = &[
    choice(
        "fast_retransmit.split",
        "Which missing reports count.",
        "Iyengar, Amer, Stewart 2006; dreibholz-model 3.1",
        SplitFastRetransmit::VALUES,
    ),
    quantity(
        "fast_retransmit.threshold",
        "Missing reports after which a TSN counts as lost.",
        "RFC 9260 section 7.2.4",
        "missing reports, from 1 to 255",
        "3",
    ),
    choice(
        "fast_retransmit.reports",
        "How many missing reports a SACK stands for, and whether time counts as well.",
        "RFC 9260 section 7.2.4; dreibholz-model 3.3; RFC 8985 section 6.2",
        MissingReports::VALUES,
    ),
    choice(
        "fast_retransmit.per_tsn",
        "How often missing reports may retransmit one TSN.",
        "RFC 9260 section 7.2.4; Caro, Amer, Stewart 2004",
        PerTsn::VALUES,
    ),
    choice(
        "fast_retransmit.beyond_window",
        "When a fast retransmission may exceed the congestion window.",
        "RFC 9260 section 7.2.4, rule 3; RFC 8540 section 3.15",
        BeyondWindow::VALUES,
    ),
    choice(
        "cwnd_update",
        "When a path's congestion window may grow.",
        "Iyengar, Amer, Stewart 2006; dreibholz-model 3.2",
        CwndUpdate::VALUES,
    ),
    quantity(
        "delayed_ack.packets",
        "Packets with data after which a SACK is sent at the latest.",
        "RFC 9260 section 6.2",
        "packets, from 1 to 255",
        "2",
    ),
    quantity(
        "delayed_ack.delay",
        "Longest delay of a SACK (SACK.Delay).",
        "RFC 9260 section 6.2",
        "time, at most 500 ms",
        "\"200 ms\"",
    ),
    choice(
        "delayed_ack.on_gap",
        "Whether a gap in the received TSNs makes the receiver acknowledge immediately.",
        "RFC 9260 section 6.7; dreibholz-model 3.3",
        GapAck::VALUES,
    ),
    choice(
        "delayed_ack.first_data",
        "How the first DATA of an association is acknowledged.",
        "RFC 9260 section 5.1",
        FirstData::VALUES,
    ),
    choice(
        "delayed_ack.count",
        "Whether SACKs carry the number of data packets they answer.",
        "draft-tuexen-tsvwg-sctp-multipath section 3; dreibholz-model 3.3",
        DacCount::VALUES,
    ),
    choice(
        "delayed_ack.scope",
        "Which packets count towards a SACK.",
        "RFC 9260 section 6.2",
        AckScope::VALUES,
    ),
    choice(
        "delayed_ack.volume",
        "How much of the return path's capacity SACKs may use.",
        "Polypath; with several paths, SACKs have many gap ack blocks",
        AckVolume::VALUES,
    ),
    choice(
        "fast_recovery",
        "Scope of fast recovery.",
        "RFC 9260 section 7.2.4; Iyengar, Amer, Stewart 2006",
        FastRecoveryScope::VALUES,
    ),
    choice(
        "handshake",
        "Paths on which INIT is sent.",
        "RFC 9260 sections 5.1, 5.2.2 and 5.2.3",
        HandshakePaths::VALUES,
    ),
    choice(
        "path_order",
        "Order in which the scheduler offers new data to the paths.",
        "dreibholz-model 4.1, table 1; RFC 9260 section 6.4 (primary); MPTCP schedulers use the lowest round-trip time",
        PathOrder::VALUES,
    ),
    choice(
        "path_fill",
        "How much one path takes before the next one has its turn.",
        "dreibholz-model 4.1; ns-2 and INET fill a window; `runs` is Polypath's own",
        PathFill::VALUES,
    ),
    choice(
        "retransmission.fast",
        "Path of a fast retransmission.",
        "iyengar IV; RFC 9260 section 6.4.1",
        RetransmissionPath::VALUES,
    ),
    choice(
        "retransmission.timer",
        "Path of a retransmission after a timeout.",
        "iyengar IV; RFC 9260 section 6.4.1",
        RetransmissionPath::VALUES,
    ),
    choice(
        "retransmission.repeated",
        "How a path's unanswered timeouts affect the choice of the path, once a retransmission has timed out as well.",
        "natarajan II",
        RepeatedTimeout::VALUES,
    ),
    choice(
        "retransmission.no_window",
        "What happens when the congestion window of the path chosen for a retransmission is full.",
        "iyengar IV",
        NoWindow::VALUES,
    ),
    choice(
        "retransmission.loss_rate",
        "Where the loss rates of `lossrate` come from.",
        "iyengar IV",
        LossRateSource::VALUES,
    ),
    choice(
        "failover.detection",
        "How the failure of a path is detected.",
        "natarajan II; RFC 7829",
        FailureDetection::VALUES,
    ),
    quantity(
        "failover.pf_threshold",
        "Consecutive timeouts that a path may have before it counts as potentially failed (PFMR).",
        "RFC 7829 section 3",
        "timeouts, from 0",
        "0",
    ),
    quantity(
        "failover.primary_switchover",
        "Consecutive timeouts beyond which another path becomes the primary path permanently (PSMR). If omitted, \
         never.",
        "RFC 7829 section 5",
        "timeouts, from 0",
        "5",
    ),
    choice(
        "failover.all_pf",
        "What happens when every path is potentially failed.",
        "natarajan II-C, III-B.1",
        AllPf::VALUES,
    ),
    quantity(
        "failover.outage_probe_interval",
        "Longest interval between the heartbeats of a path during an outage, that is while no path answers and data \
         waits (early in an outage, a quarter of the silence), and of a failed path while data is sent on others. \
         INIT, COOKIE ECHO, SHUTDOWN and SHUTDOWN ACK are retransmitted at this interval as well. During an outage, \
         timeouts count against `association_max_retrans` and `max_init_retransmits` like those of one timer that \
         doubles up to `rto.max`. With `\"off\"`, or if omitted, heartbeats and timers back off to `rto.max`.",
        "RFC 9260 sections 6.3.3 and 8.3 without it; RFC 8085 section 3.1.1",
        "time, more than 0, or \"off\"",
        "\"2 s\"",
    ),
    choice(
        "buffer_split",
        "Buffers of which new data on one path may use only its share.",
        "dreibholz-asymmetric IV-B",
        BufferSplit::VALUES,
    ),
    choice(
        "buffer_split_by",
        "Which bytes of a path are compared with its share.",
        "dreibholz-asymmetric IV-B",
        BufferSplitBy::VALUES,
    ),
    choice(
        "buffer_split_shares",
        "Size of a path's share.",
        "dreibholz-asymmetric IV-B (equal)",
        BufferSplitShares::VALUES,
    ),
    choice(
        "send_room_notice",
        "When an application that found the send buffer full is notified of free space.",
        "Polypath; paths of different RTT share one buffer",
        SendRoomNotice::VALUES,
    ),
    choice(
        "blocking_estimation",
        "Whether new data waits for a lower-RTT path if it would block the buffers on a slow path.",
        "Ferlin, Alay, Mehani, Boreli 2016 (BLEST); Raiciu et al. 2012, section 4.2 (penalty)",
        BlockingEstimation::VALUES,
    ),
    choice(
        "earliest_completion",
        "Whether the last data of a transfer waits for paths that would deliver all of it earlier.",
        "after Lim, Nahum, Towsley, Gibbens 2017 (ECF)",
        EarliestCompletion::VALUES,
    ),
    choice(
        "data_copies",
        "Whether a second path carries duplicates of data.",
        "draft-zuo-mptcp-scheduler-00",
        DataCopies::VALUES,
    ),
    choice(
        "data_ahead",
        "Whether a path whose RTT is not yet measured by data carries data that no other path can take yet.",
        "Polypath; data that arrives early saves round trips, and a failure costs nothing",
        DataAhead::VALUES,
    ),
    choice(
        "goodput_guard",
        "Whether paths are suspended while one path alone delivers more than all together.",
        "Polypath; a control loop around the other mechanisms",
        GoodputGuarding::VALUES,
    ),
    choice(
        "reschedule.side",
        "Buffers whose blocking causes rescheduling: a chunk is retransmitted on another path before it is lost.",
        "dreibholz-asymmetric IV-C",
        RescheduleSide::VALUES,
    ),
    quantity(
        "reschedule.threshold",
        "Fraction of the buffer, or of a path's share of it, that must be blocked before a chunk is rescheduled.",
        "dreibholz-asymmetric IV-C",
        "a number above 0 and at most 1",
        "0.5",
    ),
    choice(
        "reschedule.traffic",
        "Messages whose chunks are rescheduled.",
        "dreibholz-asymmetric IV-C",
        RescheduleFor::VALUES,
    ),
    choice(
        "reschedule.old_path",
        "Reduction of the congestion window of the path that the chunk leaves.",
        "dreibholz-asymmetric IV-C",
        OldPathPays::VALUES,
    ),
    choice(
        "reschedule.conditions",
        "Which chunks may be rescheduled.",
        "dreibholz-asymmetric IV-C",
        RescheduleConditions::VALUES,
    ),
    choice(
        "tail_reinjection",
        "Whether the last outstanding chunks of a slow path are retransmitted on a faster path when no new data waits.",
        "after Raiciu et al. 2012, section 4.2 (opportunistic retransmission)",
        TailReinjection::VALUES,
    ),
    choice(
        "tail_probe",
        "Whether a path without acknowledgements, on which nothing more may be sent, is probed before T3-rtx expires.",
        "after RFC 8985 sections 6.2 and 7",
        TailProbes::VALUES,
    ),
    choice(
        "smart_fast_rtx",
        "Whether the acknowledgement of a chunk that was sent on another path before counts as a missing report on its new path.",
        "dreibholz-asymmetric III-C, IV-D",
        SmartFastRtx::VALUES,
    ),
    choice(
        "t3_restart",
        "When an acknowledgement restarts a path's retransmission timer.",
        "RFC 9260 section 6.3.2",
        T3Restart::VALUES,
    ),
    choice(
        "advertised_window.bytes_counted",
        "Bytes of a chunk that count against the receive window, at both ends.",
        "RFC 9260 section 6.2.1; ns-2",
        BytesCounted::VALUES,
    ),
    choice(
        "advertised_window.updates",
        "How the receiver advertises receive-buffer space that the application has freed.",
        "RFC 9260 section 6.2; ns-2",
        WindowUpdates::VALUES,
    ),
    choice(
        "nr_sack",
        "Non-renegable acknowledgement.",
        "draft-tuexen-tsvwg-sctp-multipath section 4; dreibholz-asymmetric II",
        NrSack::VALUES,
    ),
    parameterized(
        "reneging",
        "Whether the receiver discards data that it has acknowledged in gap ack blocks.",
        "RFC 9260 section 6.2.1",
        &[
            example("never", "Never.", "\"never\""),
            example(
                "under-pressure",
                "The highest TSNs, when a lower TSN needs the space.",
                "\"under-pressure\"",
            ),
            example(
                "simulated",
                "The highest TSNs, with this probability per packet with data; for testing senders.",
                "{ simulated = \"5 %\" }",
            ),
        ],
    ),
    choice(
        "peer_reorder_limit",
        "Whether the sender learns a limit of the peer on chunks above a gap.",
        "Polypath; usrsctp `max_chunks_on_queue`",
        PeerReorderLimit::VALUES,
    ),
    quantity(
        "simulated_reorder_limit",
        "Limit of this receiver on chunks above a gap; it silently drops chunks beyond it. If omitted, the receive \
         window is the only limit.",
        "usrsctp `max_chunks_on_queue`, 512 there",
        "chunks, from 1",
        "512",
    ),
    choice(
        "packet_drop_report",
        "Reports of damaged packets.",
        "draft-stewart-sctp-pktdrprep; dreibholz-asymmetric II",
        PacketDropReport::VALUES,
    ),
    parameterized(
        "authenticated_chunks",
        "Chunks that the peer must authenticate (AUTH). Demands of the peer are met with every value except `off`.",
        "RFC 4895",
        &[
            example("off", "Authentication is not offered.", "\"off\""),
            example(
                "offered",
                "Authentication is offered, and nothing is demanded of the peer.",
                "\"offered\"",
            ),
            example(
                "demanded",
                "Chunks of these types are discarded unless they are authenticated. A peer without authentication is refused.",
                "{ demanded = [\"DATA\", \"ABORT\"] }",
            ),
            example(
                "all",
                "All chunks but INIT, INIT ACK and SHUTDOWN COMPLETE are discarded unless they are authenticated. A peer \
         without authentication is refused.",
                "\"all\"",
            ),
        ],
    ),
    choice(
        "sack_path",
        "Path on which SACKs are sent.",
        "RFC 9260 section 6.4; sarwar",
        SackPath::VALUES,
    ),
    choice(
        "rtt_sample",
        "SACKs that measure a path's round-trip time.",
        "RFC 9260 section 6.3.1; sarwar IV-C",
        RttSample::VALUES,
    ),
    choice(
        "control_rtt",
        "How RTT samples of control chunks count.",
        "RFC 9260 section 8.3",
        ControlRtt::VALUES,
    ),
    choice(
        "sack_request",
        "When DATA requests an immediate SACK (I bit).",
        "RFC 7053",
        SackRequest::VALUES,
    ),
    choice(
        "stale_sack",
        "What a SACK means that may have been reordered.",
        "RFC 9260 section 6.2.1; sarwar IV",
        StaleSack::VALUES,
    ),
    choice("pacing", "Whether packets are paced.", "RFC 9002 section 7.7", Pacing::VALUES),
    parameterized(
        "burst",
        "Limit on bursts.",
        "RFC 9260 section 6.1",
        &[
            example(
                "max-burst",
                "The usable window is at most the flight size plus n units.",
                "{ max-burst = 4 }",
            ),
            example(
                "max-burst-after-loss",
                "As `max-burst`, but only from the first retransmission of the association (ns-2).",
                "{ max-burst-after-loss = 4 }",
            ),
            example(
                "max-burst-once",
                "n packets per path and SACK. Applies once a fast retransmission has been cumulatively acknowledged, until it \
         has limited one burst (ns-2.35).",
                "{ max-burst-once = 4 }",
            ),
            example(
                "max-burst-from-retransmission",
                "As `max-burst-once`, but permanently from the first cumulative acknowledgement of a retransmitted chunk (ns-2.35's CMT).",
                "{ max-burst-from-retransmission = 4 }",
            ),
            example(
                "use-it-or-lose-it",
                "The congestion window is reduced to the flight size plus n units.",
                "{ use-it-or-lose-it = 4 }",
            ),
            example(
                "congestion-window-limiting",
                "As `use-it-or-lose-it`, and the slow-start threshold keeps the old window.",
                "{ congestion-window-limiting = 4 }",
            ),
            example("off", "No limit.", "\"off\""),
        ],
    ),
    choice(
        "congestion",
        "Congestion control.",
        "RFC 9260 section 7.2; dreibholz-asymmetric II; RFC 6356; draft-khalili-mptcp-congestion-control; \
         draft-walid-mptcp-congestion-control; RFC 9438, RFC 9406; draft-ietf-ccwg-bbr",
        CongestionAlgorithm::VALUES,
    ),
    parameterized(
        "path_groups",
        "Paths that coupled congestion control assumes to share a bottleneck.",
        "dreibholz-asymmetric II",
        &[
            example("all", "All paths of the association are one group.", "\"all\""),
            example("separate", "Each path is a group of its own.", "\"separate\""),
            example(
                "listed",
                "The group of each path, in the order of path ids; a path beyond the list is a group of its own.",
                "{ listed = [0, 0, 1] }",
            ),
        ],
    ),
    parameterized(
        "window.initial_cwnd",
        "Initial congestion window of a path; RPv1 and RPv2 divide it among the paths of a group.",
        "RFC 9260 section 7.2.1",
        &[
            example(
                "rfc9260",
                "min(4 PMDCS, max(2 PMDCS, 4404 bytes)), with 4344 bytes over IPv6.",
                "\"rfc9260\"",
            ),
            example("bytes", "This many bytes.", "{ bytes = 4380 }"),
            example("mtu", "This many units of windows.", "{ mtu = 10 }"),
        ],
    ),
    parameterized(
        "window.initial_ssthresh",
        "Initial slow-start threshold of a path.",
        "RFC 9260 section 7.2.1",
        &[
            example(
                "peer-window",
                "The receive window that the peer announced in the handshake.",
                "\"peer-window\"",
            ),
            example("bytes", "This many bytes.", "{ bytes = 65536 }"),
            example("unlimited", "Without limit.", "\"unlimited\""),
        ],
    ),
    quantity(
        "window.ssthresh_floor_mtu",
        "Smallest slow-start threshold.",
        "RFC 9260 section 7.2.3 (4); RFC 2960 (2); coupled control (1)",
        "units of windows, from 1 to 255",
        "4",
    ),
    choice(
        "window.unit",
        "Unit of congestion windows: the value that the formulas use for one MTU.",
        "RFC 9260 section 7.2; RFC 4960 section 7.2",
        WindowUnit::VALUES,
    ),
    choice(
        "window.bytes_counted",
        "Bytes of a chunk that count against congestion windows.",
        "RFC 9260 section 7.2",
        BytesCounted::VALUES,
    ),
    choice(
        "window.slow_start",
        "Growth of a congestion window per SACK in slow start.",
        "RFC 9260 section 7.2.1",
        SlowStart::VALUES,
    ),
    choice(
        "window.avoidance",
        "Acknowledged bytes that count for window growth in congestion avoidance.",
        "RFC 9260 section 7.2.2; ns-2",
        AvoidanceBytes::VALUES,
    ),
    choice(
        "window.recovery_growth",
        "Whether congestion windows grow during fast recovery.",
        "RFC 9260 section 7.2.1; ns-2",
        RecoveryGrowth::VALUES,
    ),
    choice(
        "window.reduction",
        "What a path sends while fast recovery halves its congestion window.",
        "RFC 9260 section 7.2.4; RFC 9937",
        Reduction::VALUES,
    ),
    choice(
        "window.idle",
        "What happens to the congestion window of an idle path.",
        "RFC 9260 section 7.2.1",
        IdleRule::VALUES,
    ),
    quantity(
        "rto.initial",
        "Retransmission timeout before the first measurement (RTO.Initial).",
        "RFC 9260 section 16",
        "time, from 1 ms",
        "\"1 s\"",
    ),
    quantity(
        "rto.min",
        "Smallest retransmission timeout (RTO.Min).",
        "RFC 9260 section 16",
        "time, from 1 ms",
        "\"1 s\"",
    ),
    quantity(
        "rto.max",
        "Largest retransmission timeout (RTO.Max).",
        "RFC 9260 section 16",
        "time, not below rto.min",
        "\"60 s\"",
    ),
    quantity(
        "rto.margin",
        "Minimum difference between RTO and SRTT. On a path whose RTT hardly varies, a delayed SACK would otherwise \
         count as late.",
        "RFC 6298 section 2.3 (its clock granularity G); Linux adds RTO.Min",
        "time, not above rto.max",
        "\"0 s\"",
    ),
    quantity(
        "rto.alpha",
        "Weight of a new sample in the smoothed round-trip time (RTO.Alpha).",
        "RFC 9260 section 6.3.1",
        "a number above 0 and at most 1",
        "0.125",
    ),
    quantity(
        "rto.beta",
        "Weight of a new sample in the RTT variation (RTO.Beta).",
        "RFC 9260 section 6.3.1",
        "a number above 0 and at most 1",
        "0.25",
    ),
    choice(
        "rto.data_before_confirmation",
        "Whether confirmed paths carry data before all paths are confirmed.",
        "RFC 9260 section 5.4",
        DataBeforeConfirmation::VALUES,
    ),
    parameterized(
        "partial_reliability",
        "Reliability of messages for which none is set.",
        "RFC 3758; RFC 7496",
        &[
            example("none", "Fully reliable.", "\"none\""),
            example("timed", "The message is abandoned after this time.", "{ timed = \"100 ms\" }"),
            example(
                "limited-retransmissions",
                "The message is abandoned when it would need more retransmissions than this.",
                "{ limited-retransmissions = 0 }",
            ),
            example(
                "priority",
                "The message is abandoned when one of higher priority (a lower number) needs its buffer space.",
                "{ priority = 1 }",
            ),
        ],
    ),
    choice(
        "stream_scheduler",
        "Order in which the messages of streams are sent.",
        "RFC 8260 section 3",
        StreamScheduler::VALUES,
    ),
    choice(
        "stream_reconfiguration",
        "Whether streams may be reset and added (RE-CONFIG).",
        "RFC 6525",
        StreamReconfiguration::VALUES,
    ),
    choice(
        "address_reconfiguration",
        "Whether either side may add and delete its addresses (ASCONF).",
        "RFC 5061",
        AddressReconfiguration::VALUES,
    ),
    choice(
        "explicit_congestion_notification",
        "Whether queues may mark new data instead of dropping it (ECN).",
        "draft-stewart-tsvwg-sctpecn-05; RFC 3168",
        ExplicitCongestionNotification::VALUES,
    ),
    choice(
        "message_interleaving",
        "Whether the fragments of messages of different streams are interleaved (I-DATA).",
        "RFC 8260 section 2",
        MessageInterleaving::VALUES,
    ),
    choice(
        "send_buffer",
        "Size of the send buffer, within the configured limits.",
        "dreibholz-asymmetric IV-A",
        BufferSize::VALUES,
    ),
    choice(
        "receive_buffer",
        "Size of the receive buffer, within the configured limits.",
        "dreibholz-asymmetric IV-A",
        BufferSize::VALUES,
    ),
];
