//! Detection of losses, and reactions to losses and timeouts.

use super::{policy_enum, policy_group};

policy_enum!(
    /// Which missing reports count (Iyengar, Amer, Stewart 2006; INET `cmtUseSFR`).
    SplitFastRetransmit {
        /// Reports for TSNs below the highest newly acknowledged TSN of any path (RFC 9260 section
        /// 7.2.4).
        Off = "off",
        /// Split fast retransmit (SFR): reports for TSNs below the highest TSN newly acknowledged
        /// *on the same path*.
        Sfr = "sfr",
    }
);

policy_enum!(
    /// How often missing reports may retransmit one TSN.
    PerTsn {
        /// Once; after that, only T3-rtx retransmits it (RFC 9260 section 7.2.4).
        Once = "once",
        /// Again, once chunks that were sent after its retransmission on the same path are
        /// acknowledged (MFR; Caro, Amer, Stewart 2004; ns-2 `Agent/SCTP/MultipleFastRtx`).
        Multiple = "multiple",
    }
);

policy_enum!(
    /// When a fast retransmission of one packet may exceed the congestion window.
    BeyondWindow {
        /// Only for the loss that starts a fast recovery (RFC 9260 section 7.2.4, rule 3).
        OncePerRecovery = "once-per-recovery",
        /// For every SACK that reports a loss (RFC 4960 section 7.2.4, rule 3; ns-2, INET).
        EveryLoss = "every-loss",
    }
);

policy_enum!(
    /// How many missing reports a SACK stands for, and whether time counts as well.
    MissingReports {
        /// A SACK stands for one missing report (RFC 9260 section 7.2.4), or for as many as delayed
        /// acknowledgement for CMT (DAC) counts.
        PerSack = "per-sack",
        /// As `per-sack`. In addition, a chunk sent more than 1.25 round trips ago counts as lost
        /// as soon as a chunk sent later on its path is acknowledged, since a reordered SACK may
        /// stand for several (RACK, RFC 8985 section 6.2, for TCP).
        Overdue = "overdue",
        /// As `per-sack` while the path keeps packets in order. In addition, a chunk older than a
        /// round trip plus a reordering window counts as lost as soon as a chunk sent later on its
        /// path has arrived; a timer of its own covers the end. The window starts at a quarter of a
        /// round trip, grows with the reordering seen, up to one round trip, and shrinks after
        /// recoveries that did not need it. The reaction to a spurious loss is undone (after RACK,
        /// RFC 8985).
        Adaptive = "adaptive",
    }
);

policy_group!(
    /// Fast retransmit (RFC 9260 section 7.2.4).
    FastRetransmit {
        /// Which missing reports count.
        split: SplitFastRetransmit,
        /// Missing reports after which a TSN counts as lost.
        #[cfg_attr(feature = "serde", serde(deserialize_with = "super::values::positive"))]
        threshold: u8,
        /// How many of them a SACK stands for.
        reports: MissingReports,
        /// How often one TSN is retransmitted because of them.
        per_tsn: PerTsn,
        /// When one packet may exceed the window.
        beyond_window: BeyondWindow,
    }
);

policy_enum!(
    /// Scope of fast recovery.
    FastRecoveryScope {
        /// One recovery for the association (RFC 9260 section 7.2.4).
        AssociationWide = "association-wide",
        /// One recovery per path (FRC; Iyengar, Amer, Stewart 2006).
        PerPath = "per-path",
    }
);

policy_enum!(
    /// Whether rescheduled chunks count as missing reports on their new path (`dreibholz-asymmetric`
    /// sections III-C and IV-D; INET `cmtSmartFastRTX`).
    SmartFastRtx {
        /// Yes, even if it acknowledges the original (RFC 9260).
        Off = "off",
        /// No: it may be a late acknowledgement of the original, which says nothing about the new
        /// path.
        On = "on",
    }
);

policy_enum!(
    /// Whether a path that is silent at the tail is probed before T3-rtx expires (after RFC 8985 section 7).
    TailProbes {
        /// No: only T3-rtx detects losses that no later chunk reports.
        Off = "off",
        /// Yes, after two round trips without an acknowledgement (plus the SACK delay if only one
        /// packet is in flight): the path's last chunk is retransmitted once, on the lowest-RTT
        /// path. When that is acknowledged, overdue chunks count as lost, as after missing reports.
        TwoRtts = "two-rtts",
    }
);

policy_enum!(
    /// When an acknowledgement restarts T3-rtx of a path that still has outstanding data.
    T3Restart {
        /// When the lowest outstanding TSN of the path is acknowledged (RFC 9260 section 6.3.2 R3, per path).
        Rfc = "rfc",
        /// When a chunk of the path is newly acknowledged, and either the cumulative ack covers it or the oldest unacknowledged
        /// transmission on the path is another one than at the previous such acknowledgement (after INET
        /// `cmtSmartT3Reset`).
        Smart = "smart",
    }
);

policy_enum!(
    /// Interpretation of a SACK that may have been reordered behind a later one on a faster path (`sarwar` section IV and fig. 6).
    StaleSack {
        /// SACKs below the cumulative ack are dropped. One with an equal cumulative ack updates the
        /// peer's receive window; chunks that it no longer acknowledges count as reneged if it also
        /// acknowledges new ones (RFC 9260 section 6.2.1).
        Classic = "classic",
        /// With an equal cumulative ack, a TSN counts as reneged only if the SACK arrived on the
        /// path that had acknowledged it. Otherwise the SACK yields neither missing reports nor a
        /// receive window. Below the cumulative ack, what an NR-SACK names for good is acknowledged.
        SamePath = "same-path",
    }
);
