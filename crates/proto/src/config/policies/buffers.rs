//! How paths share the buffers, and how large those are.

use super::{policy_enum, policy_group};

policy_enum!(
    /// Which buffers new data of one path may fill only to its share (`dreibholz-asymmetric` section IV-B; INET
    /// `cmtBufferSplitVariant`).
    BufferSplit {
        /// None: one path may fill them.
        None = "none",
        /// The send buffer (`senderOnly`).
        Sender = "sender",
        /// The receive buffer, as the peer's window shows it (`receiverOnly`).
        Receiver = "receiver",
        /// Both (`bothSides`).
        Both = "both",
    }
);

policy_enum!(
    /// Which bytes of a path are compared with its share of a buffer (INET `cmtBufferSplittingUsesOSB`).
    BufferSplitBy {
        /// Those that take room: sent on it and not yet released.
        Buffered = "buffered",
        /// Those in flight.
        Outstanding = "outstanding",
    }
);

policy_enum!(
    /// How large the share of a path is.
    BufferSplitShares {
        /// The same for each path (`dreibholz-asymmetric` section IV-B).
        Equal = "equal",
        /// The same for each, and for the fastest path also what others leave of theirs: a path whose window is small does
        /// not fill its share, and a fast one may need more than an equal one.
        ByNeed = "by-need",
    }
);

policy_enum!(
    /// Whether new data waits for a lower-RTT path where it would block the buffers on a slow one (BLEST).
    BlockingEstimation {
        /// It does not: every path that has window carries data.
        Off = "off",
        /// It does, if the lower-RTT paths would fill the buffer during a round trip of the slow one; a path that nevertheless
        /// blocks the one that would carry most alone loses half its window, once per round trip.
        On = "on",
    }
);

policy_enum!(
    /// Whether new data waits for other paths where all that remains is delivered there before it would arrive (ECF).
    EarliestCompletion {
        /// It does not: every path that has window carries data.
        Off = "off",
        /// It does, once the user has handed over all that it has.
        On = "on",
    }
);

policy_enum!(
    /// Whether the sender learns that the peer drops what lies too far above a gap, although its receive window is open.
    PeerReorderLimit {
        /// No: such chunks are lost as others are.
        Off = "off",
        /// After four SACKs that say nothing, the number of chunks that wait above the gap is taken for the limit, and no more are
        /// sent than fit in. `blocking_estimation` takes the limit for a buffer. It grows again by an eighth after 10 s, and
        /// after longer pauses where that was wrong.
        Learned = "learned",
    }
);

policy_enum!(
    /// Whether chunks on a slow path are retransmitted on a faster one when nothing new waits.
    TailReinjection {
        /// They stay where they are.
        Off = "off",
        /// They are, if they arrive earlier so or their answer is late by a quarter of a round trip; nothing new takes the slow path
        /// for a round trip then.
        On = "on",
    }
);

policy_enum!(
    /// Which buffer's blocking makes a chunk move (INET `cmtChunkReschedulingVariant`).
    RescheduleSide {
        /// None: chunks stay on their path until they are lost.
        None = "none",
        /// The send buffer's.
        Sender = "sender",
        /// The receive buffer's.
        Receiver = "receiver",
        /// Either.
        Both = "both",
    }
);

policy_enum!(
    /// Which traffic is rescheduled.
    RescheduleFor {
        /// Any.
        All = "all",
        /// Ordered messages only; for unordered ones NR-SACK does it (`dreibholz-asymmetric` section IV-C).
        Ordered = "ordered",
    }
);

policy_enum!(
    /// What the path pays that a chunk leaves.
    OldPathPays {
        /// The chunk's size, never below 1 MTU (`dreibholz-asymmetric` section IV-C).
        ChunkSize = "chunk-size",
        /// Half its window, as for a loss (INET).
        Half = "half",
    }
);

policy_enum!(
    /// Which chunks may move.
    RescheduleConditions {
        /// The lowest one that blocks, if it is on another path; one that has moved already, after a round-trip time of its
        /// path (`dreibholz-asymmetric` section IV-C).
        Paper = "paper",
        /// Only one that never moved, and was sent on the other path or over two round-trip times ago, to a path that is
        /// not in fast recovery (INET). With `old_path = half`, a path that is in fast recovery when a chunk leaves it takes
        /// no chunks but lost ones for a round-trip time.
        Inet = "inet",
        /// As `paper`, but only where the chunk is late, or the buffers will be full before it is answered on its own path and it is
        /// answered sooner on the other one. Polypath's own.
        Stall = "stall",
    }
);

policy_group!(
    /// Chunk rescheduling: what blocks a buffer and is overdue on its path is retransmitted on a path that waits
    /// (`dreibholz-asymmetric` section IV-C). Acknowledgements of moved chunks grow no window.
    Reschedule {
        /// Which buffer's blocking makes a chunk move.
        side: RescheduleSide,
        /// Part of a path's share of the buffer that is blocked, above which a chunk moves.
        threshold: f64,
        /// Which traffic.
        traffic: RescheduleFor,
        /// What the old path pays.
        old_path: OldPathPays,
        /// Which chunks may move.
        conditions: RescheduleConditions,
    }
);

policy_enum!(
    /// How large a buffer is. The formulas are those of `dreibholz-asymmetric` section IV-A; what is configured in bytes
    /// bounds them.
    BufferSize {
        /// As configured in bytes.
        Bytes = "bytes",
        /// Without limit.
        Infinite = "infinite",
        /// Enough for fast retransmissions: 2 max(RTT) sum(bandwidth).
        AutoFast = "auto-fast",
        /// Enough for timeouts: (3 max(RTT) + max(RTO)) sum(bandwidth).
        AutoTimeout = "auto-timeout",
    }
);
