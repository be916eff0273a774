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
        "Missing reports that make a TSN lost.",
        "RFC 9260 section 7.2.4",
        "missing reports, from 1 to 255",
        "3",
    ),
    choice(
        "fast_retransmit.reports",
        "How many missing reports a SACK is.",
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
        "When a fast retransmission may leave though the window is full.",
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
        "Packets with data that a SACK answers at most.",
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
        "What a gap in the received TSNs means for delaying the SACK.",
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
        "How much of the way back SACKs may take.",
        "here: SACKs of several paths have many gap ack blocks",
        AckVolume::VALUES,
    ),
    choice(
        "fast_recovery",
        "Whose losses begin and end fast recovery.",
        "RFC 9260 section 7.2.4; Iyengar, Amer, Stewart 2006",
        FastRecoveryScope::VALUES,
    ),
    choice(
        "handshake",
        "Over which paths INIT goes.",
        "RFC 9260 sections 5.1, 5.2.2 and 5.2.3",
        HandshakePaths::VALUES,
    ),
    choice(
        "path_order",
        "In which order paths are asked to carry new data.",
        "dreibholz-model 4.1, table 1; RFC 9260 section 6.4 (primary); the lowest round-trip time is what MPTCP schedulers use",
        PathOrder::VALUES,
    ),
    choice(
        "path_fill",
        "How much a path takes before the next one is asked.",
        "dreibholz-model 4.1; ns-2 and INET fill a window; runs are our own",
        PathFill::VALUES,
    ),
    choice(
        "retransmission.fast",
        "Which path a fast retransmission takes.",
        "iyengar IV; RFC 9260 section 6.4.1",
        RetransmissionPath::VALUES,
    ),
    choice(
        "retransmission.timer",
        "Which path a retransmission after a timeout takes.",
        "iyengar IV; RFC 9260 section 6.4.1",
        RetransmissionPath::VALUES,
    ),
    choice(
        "retransmission.repeated",
        "What a path's unanswered timeouts mean when a retransmission has timed out too.",
        "natarajan II",
        RepeatedTimeout::VALUES,
    ),
    choice(
        "retransmission.no_window",
        "What happens when the path chosen for a retransmission has no window.",
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
        "How a path that stops answering is treated.",
        "natarajan II; RFC 7829",
        FailureDetection::VALUES,
    ),
    quantity(
        "failover.pf_threshold",
        "Consecutive timeouts that a path may have before it is potentially failed (PFMR).",
        "RFC 7829 section 3",
        "timeouts, from 0",
        "0",
    ),
    quantity(
        "failover.primary_switchover",
        "Consecutive timeouts beyond which another path becomes the primary one for good (PSMR); never where it is \
         missing.",
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
        "Longest pause between the heartbeats of a path while no path answers and data waits, early in such an outage a quarter \
         of the silence; and of a path that has failed while data is sent on others. INIT, COOKIE ECHO, SHUTDOWN and SHUTDOWN ACK are repeated that often, too. While no path answers, timeouts \
         count against `association_max_retrans` and `max_init_retransmits` as those of one timer that doubles up to `rto.max`. \
         With `\"off\"`, and if omitted, heartbeats and timers back off to `rto.max`.",
        "RFC 9260 sections 6.3.3 and 8.3 without it; RFC 8085 section 3.1.1",
        "time, more than 0, or \"off\"",
        "\"2 s\"",
    ),
    choice(
        "buffer_split",
        "Which buffers new data of one path may fill only to its share.",
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
        "How large the share of a path is.",
        "dreibholz-asymmetric IV-B (equal)",
        BufferSplitShares::VALUES,
    ),
    choice(
        "send_room_notice",
        "When a program that met a full send buffer is told that there is room again.",
        "here: paths of unlike length share one buffer",
        SendRoomNotice::VALUES,
    ),
    choice(
        "blocking_estimation",
        "Whether new data waits for a quicker path where it would block the buffers on a slow one.",
        "Ferlin, Alay, Mehani, Boreli 2016 (BLEST); Raiciu et al. 2012, section 4.2 (penalty)",
        BlockingEstimation::VALUES,
    ),
    choice(
        "earliest_completion",
        "Whether new data waits for other paths where all that remains is delivered there before it would arrive.",
        "after Lim, Nahum, Towsley, Gibbens 2017 (ECF)",
        EarliestCompletion::VALUES,
    ),
    choice(
        "data_copies",
        "Whether a second path carries copies of data.",
        "draft-zuo-mptcp-scheduler-00",
        DataCopies::VALUES,
    ),
    choice(
        "data_ahead",
        "Whether a path that data has not measured takes data that no other path can take yet.",
        "here: what arrives early saves round trips, and what does not costs nothing",
        DataAhead::VALUES,
    ),
    choice(
        "goodput_guard",
        "Whether paths rest while one of them delivers more than all together.",
        "here: a control loop over what the other mechanisms achieve",
        GoodputGuarding::VALUES,
    ),
    choice(
        "reschedule.side",
        "Which buffer's blocking makes a chunk move to another path.",
        "dreibholz-asymmetric IV-C",
        RescheduleSide::VALUES,
    ),
    quantity(
        "reschedule.threshold",
        "Part of the buffer, or of a path's share of it, that is blocked before a chunk moves.",
        "dreibholz-asymmetric IV-C",
        "a number above 0 and at most 1",
        "0.5",
    ),
    choice(
        "reschedule.traffic",
        "Which messages' chunks move.",
        "dreibholz-asymmetric IV-C",
        RescheduleFor::VALUES,
    ),
    choice(
        "reschedule.old_path",
        "What the path pays that a chunk leaves.",
        "dreibholz-asymmetric IV-C",
        OldPathPays::VALUES,
    ),
    choice(
        "reschedule.conditions",
        "Which chunks may move.",
        "dreibholz-asymmetric IV-C",
        RescheduleConditions::VALUES,
    ),
    choice(
        "tail_reinjection",
        "Whether chunks on a slow path are sent again on a faster one when nothing new waits.",
        "after Raiciu et al. 2012, section 4.2 (opportunistic retransmission)",
        TailReinjection::VALUES,
    ),
    choice(
        "tail_probe",
        "Whether a path that is silent while nothing more may be sent there is probed before its retransmission timer expires.",
        "after RFC 8985 sections 6.2 and 7",
        TailProbes::VALUES,
    ),
    choice(
        "smart_fast_rtx",
        "Whether chunks that came from another path report chunks of their new path missing.",
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
        "Which bytes of a chunk take room in the receive window, at both ends.",
        "RFC 9260 section 6.2.1; ns-2",
        BytesCounted::VALUES,
    ),
    choice(
        "advertised_window.updates",
        "How the receiver advertises a window that the application has opened again.",
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
        "Whether the receiver discards what it has acknowledged in gap blocks.",
        "RFC 9260 section 6.2.1",
        &[
            example("never", "Never.", "\"never\""),
            example(
                "under-pressure",
                "The highest TSNs, when a lower one needs their room.",
                "\"under-pressure\"",
            ),
            example(
                "simulated",
                "The highest TSNs, with this probability per packet with data: for tests of senders.",
                "{ simulated = \"5 %\" }",
            ),
        ],
    ),
    choice(
        "peer_reorder_limit",
        "Whether the sender learns how many chunks may wait above a gap at the peer.",
        "Polypath; usrsctp `max_chunks_on_queue`",
        PeerReorderLimit::VALUES,
    ),
    quantity(
        "simulated_reorder_limit",
        "Chunks that wait above a gap beyond which this receiver drops what lies higher, without a word. If omitted, the receive \
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
        "Which chunks the peer must authenticate (AUTH). What the peer demands of this side is met in any case but `off`.",
        "RFC 4895",
        &[
            example("off", "Authentication is not offered.", "\"off\""),
            example(
                "offered",
                "Authentication is offered, and the peer authenticates what it wants to.",
                "\"offered\"",
            ),
            example(
                "demanded",
                "Chunks of these types count only if they are authenticated. A peer without authentication is refused.",
                "{ demanded = [\"DATA\", \"ABORT\"] }",
            ),
            example(
                "all",
                "All but INIT, INIT ACK and SHUTDOWN COMPLETE count only if they are authenticated. A peer without \
                 authentication is refused.",
                "\"all\"",
            ),
        ],
    ),
    choice(
        "sack_path",
        "The path on which SACKs return.",
        "RFC 9260 section 6.4; sarwar",
        SackPath::VALUES,
    ),
    choice(
        "rtt_sample",
        "Which SACKs measure a path's round-trip time.",
        "RFC 9260 section 6.3.1; sarwar IV-C",
        RttSample::VALUES,
    ),
    choice(
        "control_rtt",
        "How answers to control chunks count as measurements of a path's round-trip time.",
        "RFC 9260 section 8.3",
        ControlRtt::VALUES,
    ),
    choice(
        "sack_request",
        "When data asks for its SACK at once (I bit).",
        "RFC 7053",
        SackRequest::VALUES,
    ),
    choice(
        "stale_sack",
        "What a SACK proves that another may have overtaken.",
        "RFC 9260 section 6.2.1; sarwar IV",
        StaleSack::VALUES,
    ),
    choice(
        "pacing",
        "Whether the packets that a window admits are spaced.",
        "RFC 9002 section 7.7",
        Pacing::VALUES,
    ),
    parameterized(
        "burst",
        "Limit on packets sent in one go.",
        "RFC 9260 section 6.1",
        &[
            example(
                "max-burst",
                "The window is treated as flight + n units while that is less.",
                "{ max-burst = 4 }",
            ),
            example(
                "max-burst-after-loss",
                "The same, but only from the first retransmission of the association on (ns-2).",
                "{ max-burst-after-loss = 4 }",
            ),
            example(
                "max-burst-once",
                "n packets per path and SACK, however many that one acknowledges; but only once a fast retransmission has been \
                 cumulatively acknowledged, until it has limited a flush (ns-2.35).",
                "{ max-burst-once = 4 }",
            ),
            example(
                "max-burst-from-retransmission",
                "The same limit, from the first time on that a retransmitted chunk is cumulatively acknowledged (ns-2.35's CMT).",
                "{ max-burst-from-retransmission = 4 }",
            ),
            example(
                "use-it-or-lose-it",
                "A larger window is cut to flight + n units.",
                "{ use-it-or-lose-it = 4 }",
            ),
            example(
                "congestion-window-limiting",
                "The same, and the slow-start threshold takes what the window was.",
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
        "Which paths are taken to share a bottleneck, for coupled congestion control.",
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
        "Congestion window that a path begins with; RPv1 and RPv2 share it among the paths of a group.",
        "RFC 9260 section 7.2.1",
        &[
            example(
                "rfc9260",
                "min(4 PMDCS, max(2 PMDCS, 4404 bytes)), with 4344 bytes over IPv6.",
                "\"rfc9260\"",
            ),
            example("bytes", "This many bytes.", "{ bytes = 4380 }"),
            example("mtu", "This many times the unit of windows.", "{ mtu = 10 }"),
        ],
    ),
    parameterized(
        "window.initial_ssthresh",
        "Slow-start threshold that a path begins with.",
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
        "Unit of congestion windows: what the formulas take for one MTU.",
        "RFC 9260 section 7.2; RFC 4960 section 7.2",
        WindowUnit::VALUES,
    ),
    choice(
        "window.bytes_counted",
        "Which bytes count against congestion windows.",
        "RFC 9260 section 7.2",
        BytesCounted::VALUES,
    ),
    choice(
        "window.slow_start",
        "How much a SACK lets a window grow in slow start.",
        "RFC 9260 section 7.2.1",
        SlowStart::VALUES,
    ),
    choice(
        "window.avoidance",
        "Which acknowledged bytes let a window grow in congestion avoidance.",
        "RFC 9260 section 7.2.2; ns-2",
        AvoidanceBytes::VALUES,
    ),
    choice(
        "window.recovery_growth",
        "Whether windows grow in fast recovery.",
        "RFC 9260 section 7.2.1; ns-2",
        RecoveryGrowth::VALUES,
    ),
    choice(
        "window.reduction",
        "What a path sends while fast recovery halves its window.",
        "RFC 9260 section 7.2.4; RFC 9937",
        Reduction::VALUES,
    ),
    choice(
        "window.idle",
        "What happens to the window of a path that sends nothing.",
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
        "Least time by which the retransmission timeout is above the smoothed round-trip time, for a path whose round trips hardly \
         vary: a delayed SACK, or one that arrives at the same moment, is not late.",
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
        "Weight of a new sample in the variation of the round-trip time (RTO.Beta).",
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
        "Reliability of messages that do not say it themselves.",
        "RFC 3758; RFC 7496",
        &[
            example("none", "Fully reliable.", "\"none\""),
            example("timed", "Given up after this time.", "{ timed = \"100 ms\" }"),
            example(
                "limited-retransmissions",
                "Given up when it would have to be retransmitted more often than this.",
                "{ limited-retransmissions = 0 }",
            ),
            example(
                "priority",
                "Given up when a message of higher priority, that is with a lower number, needs its room.",
                "{ priority = 1 }",
            ),
        ],
    ),
    choice(
        "stream_scheduler",
        "Which stream's message is sent next.",
        "RFC 8260 section 3",
        StreamScheduler::VALUES,
    ),
    choice(
        "stream_reconfiguration",
        "Whether streams may begin anew with SSN 0, and be added (RE-CONFIG).",
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
        "Whether fragments of messages of different streams alternate (I-DATA).",
        "RFC 8260 section 2",
        MessageInterleaving::VALUES,
    ),
    choice(
        "send_buffer",
        "Size of the send buffer; configured bytes bound it.",
        "dreibholz-asymmetric IV-A",
        BufferSize::VALUES,
    ),
    choice(
        "receive_buffer",
        "Size of the receive buffer; configured bytes bound it.",
        "dreibholz-asymmetric IV-A",
        BufferSize::VALUES,
    ),
];
