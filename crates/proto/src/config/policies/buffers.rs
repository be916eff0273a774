//! Shares of the paths in the buffers, and sizes of the buffers.

use super::{policy_enum, policy_group};

policy_enum!(
    /// Buffers of which new data on one path may use only its share (`dreibholz-asymmetric` section IV-B; INET
    /// `cmtBufferSplitVariant`).
    BufferSplit {
        /// None: one path may fill both buffers.
        None = "none",
        /// The send buffer (`senderOnly`).
        Sender = "sender",
        /// The receive buffer, as shown by the peer's receive window (`receiverOnly`).
        Receiver = "receiver",
        /// Both (`bothSides`).
        Both = "both",
    }
);

policy_enum!(
    /// Which bytes of a path are compared with its share of a buffer (INET `cmtBufferSplittingUsesOSB`).
    BufferSplitBy {
        /// Bytes in the buffer: sent on the path and not yet released.
        Buffered = "buffered",
        /// Bytes in flight.
        Outstanding = "outstanding",
    }
);

policy_enum!(
    /// Size of a path's share.
    BufferSplitShares {
        /// Equal for all paths (`dreibholz-asymmetric` section IV-B).
        Equal = "equal",
        /// Equal for all paths, and the fastest path may also use what the others leave unused: a
        /// path with a small congestion window does not fill its share, and a fast path may need
        /// more.
        ByNeed = "by-need",
    }
);

policy_enum!(
    /// Whether new data waits for a lower-RTT path if it would block the buffers on a slow one (BLEST).
    BlockingEstimation {
        /// No: every path whose congestion window has room carries data.
        Off = "off",
        /// Yes, if the lower-RTT paths would fill the buffer during one round trip of the slow
        /// path. If a path nevertheless blocks the path that would carry most on its own, its
        /// congestion window is halved, once per round trip. A path that carries less than a
        /// thirty-second of another one, and has a higher RTT than all that carry more, gets no
        /// ordered data until data has been sent without a pause for a hundred of its RTTs.
        On = "on",
    }
);

policy_enum!(
    /// Whether the last data waits for other paths that would deliver all of it earlier (ECF).
    EarliestCompletion {
        /// No: every path whose congestion window has room carries data.
        Off = "off",
        /// Yes, once the application has submitted everything.
        On = "on",
    }
);

policy_enum!(
    /// Whether the sender learns that the peer drops chunks too far above a gap, although its receive window is open.
    PeerReorderLimit {
        /// No: chunks beyond such a limit are lost like any others.
        Off = "off",
        /// After four SACKs without progress, the number of chunks above the gap becomes the limit,
        /// and no more are sent. `blocking_estimation` treats it as a buffer. The limit grows by an
        /// eighth after 10 s, and after longer pauses if that was wrong.
        Learned = "learned",
    }
);

policy_enum!(
    /// Whether chunks on a slow path are retransmitted on a faster one when no new data waits.
    TailReinjection {
        /// No: they stay on their path.
        Off = "off",
        /// Yes, if they arrive earlier there, or if their acknowledgement is late by a quarter of a
        /// round trip. If the slow path may have lost them, it then carries no new data for a round
        /// trip.
        On = "on",
    }
);

policy_enum!(
    /// Buffers whose blocking causes rescheduling (INET `cmtChunkReschedulingVariant`).
    RescheduleSide {
        /// None: there is no rescheduling.
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
    /// Messages whose chunks are rescheduled.
    RescheduleFor {
        /// All messages.
        All = "all",
        /// Only ordered messages; for unordered ones, NR-SACK solves the problem
        /// (`dreibholz-asymmetric` section IV-C).
        Ordered = "ordered",
    }
);

policy_enum!(
    /// Reduction of the congestion window of the path that the chunk leaves.
    OldPathPays {
        /// By the chunk's size, but not below 1 MTU (`dreibholz-asymmetric` section IV-C).
        ChunkSize = "chunk-size",
        /// By half, as for a loss (INET).
        Half = "half",
    }
);

policy_enum!(
    /// Which chunks may be rescheduled.
    RescheduleConditions {
        /// The lowest chunk that blocks, if it is on another path; a chunk that was rescheduled
        /// before, only after a round-trip time of its path (`dreibholz-asymmetric` section IV-C).
        Paper = "paper",
        /// Only a chunk that was never rescheduled, and was sent on the other path or more than two
        /// round-trip times ago, to a path that is not in fast recovery (INET). With `old_path =
        /// half`, a path that a chunk leaves during fast recovery receives only lost chunks for a
        /// round-trip time.
        Inet = "inet",
        /// As `paper`, but only if the chunk is late by more than a quarter of the SRTT and by more
        /// than the reordering window, or if the buffers will be full before it is acknowledged on
        /// its own path and the other path would be faster (Polypath's own).
        Stall = "stall",
    }
);

policy_group!(
    /// Chunk rescheduling: an overdue chunk that blocks a buffer is retransmitted on another path
    /// (`dreibholz-asymmetric` section IV-C). Acknowledgements of rescheduled chunks grow no window.
    Reschedule {
        /// Buffers whose blocking causes rescheduling.
        side: RescheduleSide,
        /// Blocked fraction of a path's share of the buffer above which a chunk is rescheduled.
        threshold: f64,
        /// Messages whose chunks are rescheduled.
        traffic: RescheduleFor,
        /// Reduction of the congestion window of the old path.
        old_path: OldPathPays,
        /// Which chunks may be rescheduled.
        conditions: RescheduleConditions,
    }
);

policy_enum!(
    /// Size of a buffer. The formulas are those of `dreibholz-asymmetric` section IV-A, up to the configured size in bytes. A send buffer
    /// that follows one begins with 64 KiB, and holds at least two of each message that it has taken.
    BufferSize {
        /// As configured in bytes.
        Bytes = "bytes",
        /// Without limit.
        Infinite = "infinite",
        /// Enough for fast retransmissions: 2 max(RTT) × sum(bandwidth).
        AutoFast = "auto-fast",
        /// Enough for timeouts: (3 max(RTT) + max(RTO)) × sum(bandwidth).
        AutoTimeout = "auto-timeout",
    }
);
