//! What counts as lost, and what a loss or a timeout begins.

use super::{policy_enum, policy_group};

policy_enum!(
    /// Which missing reports count (Iyengar, Amer, Stewart 2006; INET `cmtUseSFR`).
    SplitFastRetransmit {
        /// Below the highest TSN newly acknowledged, whatever its path (RFC 9260 section 7.2.4).
        Off = "off",
        /// Split fast retransmit (SFR): below the highest TSN newly acknowledged *on the same path*.
        Sfr = "sfr",
    }
);

policy_enum!(
    /// How often missing reports may retransmit one TSN.
    PerTsn {
        /// Once; after that only T3 repairs it (RFC 9260 section 7.2.4).
        Once = "once",
        /// Again, when chunks sent after its retransmission on the same path are reported (MFR; Caro, Amer, Stewart
        /// 2004; ns-2 `Agent/SCTP/MultipleFastRtx`).
        Multiple = "multiple",
    }
);

policy_enum!(
    /// When a fast retransmission may leave though the window is full: one packet, at once.
    BeyondWindow {
        /// With the loss that begins a fast recovery (RFC 9260 section 7.2.4, rule 3).
        OncePerRecovery = "once-per-recovery",
        /// With every SACK that tells of a loss (RFC 4960 section 7.2.4, rule 3; ns-2, INET).
        EveryLoss = "every-loss",
    }
);

policy_enum!(
    /// How many missing reports a SACK is.
    MissingReports {
        /// One (RFC 9260 section 7.2.4), or as many as delayed acknowledgement for CMT counts.
        PerSack = "per-sack",
        /// As many; but what was sent a quarter of a round trip more than one ago is lost at once when something arrives that
        /// was sent later on its path: a SACK that arrives before earlier ones stands for them (RACK, RFC 8985 section 6.2, for TCP).
        Overdue = "overdue",
        /// As many, as long as the path keeps the order; and what is a round trip and a reordering window old is lost as soon as
        /// something that was sent later on its path has arrived, with a timer of its own. The window begins with a quarter
        /// of a round trip, grows to what came late, up to a round trip, and shrinks after recoveries that did not need it;
        /// a reaction to losses that were none is taken back (after RACK, RFC 8985).
        Adaptive = "adaptive",
    }
);

policy_group!(
    /// Fast retransmit (RFC 9260 section 7.2.4).
    FastRetransmit {
        /// Which missing reports count.
        split: SplitFastRetransmit,
        /// Missing reports that make a TSN lost.
        #[cfg_attr(feature = "serde", serde(deserialize_with = "super::values::positive"))]
        threshold: u8,
        /// How many of them a SACK is.
        reports: MissingReports,
        /// How often one TSN is retransmitted because of them.
        per_tsn: PerTsn,
        /// When one packet may leave beyond the window.
        beyond_window: BeyondWindow,
    }
);

policy_enum!(
    /// Whose losses begin and end fast recovery.
    FastRecoveryScope {
        /// One recovery for the association (RFC 9260 section 7.2.4).
        AssociationWide = "association-wide",
        /// One recovery per path (FRC; Iyengar, Amer, Stewart 2006).
        PerPath = "per-path",
    }
);

policy_enum!(
    /// Whether chunks that came from another path report chunks of their new path missing (`dreibholz-asymmetric`
    /// sections III-C and IV-D; INET `cmtSmartFastRTX`).
    SmartFastRtx {
        /// They do.
        Off = "off",
        /// They do not: an acknowledgement of the original that is late tells nothing about the new path.
        On = "on",
    }
);

policy_enum!(
    /// Whether a path that is silent at the tail is probed before T3-rtx expires (after RFC 8985 section 7).
    TailProbes {
        /// It is not: T3-rtx finds what no later chunk reports missing.
        Off = "off",
        /// It is, after two round trips without an answer, and the delay of SACKs where only one packet is in flight there:
        /// its last chunk is retransmitted, once, on the lowest-RTT path. When that is answered, what was overdue before is
        /// lost as after missing reports.
        TwoRtts = "two-rtts",
    }
);

policy_enum!(
    /// When an acknowledgement restarts T3-rtx of a path that still has outstanding data.
    T3Restart {
        /// When the lowest outstanding TSN of the path is acknowledged (RFC 9260 section 6.3.2 R3, per path).
        Rfc = "rfc",
        /// When the oldest unacknowledged transmission of the path changes, or the cumulative ack newly acknowledges a
        /// chunk of the path (INET `cmtSmartT3Reset`).
        Smart = "smart",
    }
);

policy_enum!(
    /// What a SACK proves that may have arrived after a later one, which took a faster path (`sarwar` section IV and fig. 6).
    StaleSack {
        /// SACKs below the cumulative ack are dropped; an equal one tells the window, and what it no longer acknowledges
        /// was reneged if it also acknowledges something for the first time (RFC 9260 section 6.2.1).
        Classic = "classic",
        /// At an equal cumulative ack a TSN counts as reneged only if the SACK came over the path that had
        /// acknowledged it; otherwise such a SACK makes neither missing reports nor window.
        SamePath = "same-path",
    }
);
