//! Which path carries what, and when a path fails.

use super::{policy_enum, policy_group};
use crate::Duration;

policy_enum!(
    /// Over which paths INIT goes. The peer answers each INIT without keeping state (RFC 9260 section 5.1.3); the first
    /// INIT ACK is taken, and later ones are discarded (section 5.2.3).
    HandshakePaths {
        /// One at a time, the next one when T1-init expires (RFC 9260 sections 5.1 and 6.4.1).
        Primary = "primary",
        /// As many at once as it takes to use every address of both sides. COOKIE ECHO goes over each path that brings an
        /// INIT ACK, and the first of these paths becomes the primary one. INIT ACKs measure round-trip times, and the
        /// retransmission timeout of the primary path, at most RTO.Initial, is that of T1-cookie. Link-local addresses come
        /// first: only over them both sides name all addresses.
        AllPaths = "all-paths",
    }
);

policy_enum!(
    /// In which order paths are asked to carry new data (INET `cmtSendAllComparisonFunction`).
    PathOrder {
        /// The primary path only, or its alternate while it has failed (RFC 9260 section 6.4).
        Primary = "primary",
        /// All paths, in the order of the path table.
        Fixed = "fixed",
        /// The path that has not sent for the longest time first (INET `cmtSendAllVariant = smallestLastTransmission`).
        SmallestLastTransmission = "smallest-last-transmission",
        /// All paths, beginning after the one that began the last time (usrsctp).
        Rotating = "rotating",
        /// The same, but a path that only retransmitted has not had its turn (ns-2).
        RotatingNewData = "rotating-new-data",
        /// In random order (INET `cmtSendAllVariant = randomized`).
        Random = "random",
        /// The path with most free window first (INET `largestSpace`).
        LargestSpace = "largest-space",
        /// The path with the largest slow-start threshold first (INET `largestSSThreshold`).
        LargestSsthresh = "largest-ssthresh",
        /// The largest slow-start threshold first, ties by free window (INET `largestSpaceAndSSThreshold`).
        LargestSpaceAndSsthresh = "largest-space-and-ssthresh",
        /// The path with the smallest smoothed round-trip time first; unmeasured ones last.
        LowestSrtt = "lowest-srtt",
    }
);

policy_enum!(
    /// How much a path takes before the next one is asked.
    PathFill {
        /// One packet.
        PacketByPacket = "packet-by-packet",
        /// As much as its window allows.
        FillWindow = "fill-window",
        /// One packet, but beside a lower-RTT path one with 128 full packets in flight and more waits until its window has room
        /// for up to four, and sends them in a row, so that SACKs have fewer gaps to report.
        Runs = "runs",
    }
);

policy_enum!(
    /// Which path a retransmission takes (`iyengar` section IV; ns-2 `cmtRtxPolicy_`).
    RetransmissionPath {
        /// The path of the lost transmission, while it is active (RTX-SAME).
        Same = "same",
        /// A path with free window now, at random among several (RTX-ASAP).
        Asap = "asap",
        /// The path with the largest congestion window, ties at random (RTX-CWND).
        Cwnd = "cwnd",
        /// The path with the largest slow-start threshold, ties at random (RTX-SSTHRESH).
        Ssthresh = "ssthresh",
        /// The path with the lowest loss rate, ties at random (RTX-LOSSRATE).
        LossRate = "lossrate",
        /// The path with the smallest smoothed round-trip time, unmeasured ones last, of equal ones its own.
        LowestSrtt = "lowest-srtt",
        /// The path on which it is expected to be answered first: by round trip, rate, and what is on its way there. Unmeasured ones
        /// last, of equal ones its own.
        EarliestAnswer = "earliest-answer",
        /// Another active path if there is one (RFC 9260 section 6.4.1).
        Alternate = "alternate",
    }
);

policy_enum!(
    /// What happens when the path chosen for a retransmission has no window.
    NoWindow {
        /// The chunk waits for it.
        Wait = "wait",
        /// The next best path with window takes it.
        Next = "next",
        /// So does it, unless the chosen path would bring it earlier, with all else that is lost going before it.
        Sooner = "sooner",
    }
);

policy_enum!(
    /// Where the loss rates of RTX-LOSSRATE come from.
    LossRateSource {
        /// Lost chunks over sent chunks among the last 100 of the path; unknown below 10.
        Measured = "measured",
        /// From outside (a simulation knows them); measured where nothing was told.
        Oracle = "oracle",
    }
);

policy_enum!(
    /// What a path's unanswered timeouts mean when a retransmission has timed out too.
    RepeatedTimeout {
        /// Nothing, while it is active: the policy chooses as before (the papers).
        AsChosen = "as-chosen",
        /// Paths without them come first.
        AvoidDoubtful = "avoid-doubtful",
    }
);

policy_group!(
    /// Where retransmissions go.
    Retransmission {
        /// After missing reports.
        fast: RetransmissionPath,
        /// After a T3 timeout.
        timer: RetransmissionPath,
        /// After a T3 timeout of a chunk that was retransmitted before.
        repeated: RepeatedTimeout,
        /// When the chosen path has no window.
        no_window: NoWindow,
        /// How loss rates are known.
        loss_rate: LossRateSource,
    }
);

policy_enum!(
    /// How a path that stops answering is treated (`natarajan` section II; RFC 7829).
    FailureDetection {
        /// Active until its timeouts exceed Path.Max.Retrans (RFC 9260 section 8.2).
        Rfc9260 = "rfc9260",
        /// Potentially failed after the first timeout, probed by heartbeats; works again with a window of 1 MTU
        /// (CMT-PF1).
        Pf1 = "pf-1",
        /// The same, with a window of 2 MTU (CMT-PF2).
        Pf2 = "pf-2",
    }
);

policy_enum!(
    /// What happens when every path is potentially failed; the one with the fewest consecutive timeouts carries data,
    /// of several the one active last.
    AllPf {
        /// The one with the fewest consecutive timeouts, of several the one active last, carries data as it is
        /// (`natarajan` section II-C; RFC 7829).
        Send = "send",
        /// It becomes active again, with no timeouts counted (`natarajan` section III-B.1).
        MakeActive = "make-active",
    }
);

policy_group!(
    /// Failure of paths. Path.Max.Retrans itself is `path_max_retrans` of the association.
    Failover {
        /// Whether there is a state between active and failed.
        detection: FailureDetection,
        /// PFMR: a path is potentially failed when its consecutive timeouts exceed this (RFC 7829 section 3; the
        /// papers' 0: at the first).
        pf_threshold: u32,
        /// PSMR: the primary path is replaced by its alternate, which becomes the primary, when its consecutive timeouts
        /// exceed this (RFC 7829 section 5); `None` never gives it up.
        primary_switchover: Option<u32>,
        /// What happens when every path is potentially failed.
        all_pf: AllPf,
        /// Longest pause between the heartbeats of a path while no path answers and data waits, or while it has failed and data
        /// is sent on others, and between repetitions of INIT, COOKIE ECHO, SHUTDOWN and SHUTDOWN ACK, if the timeout that the
        /// path had before is not longer. While others work, a failed path is asked more often at first, and errors count as often as its timer would back off. While no path answers, timeouts count as those of one timer do that backs off. `None` (in files: `"off"`, or no key): heartbeats back off to
        /// RTO.Max or HB.interval, the others to RTO.Max.
        #[cfg_attr(feature = "serde", serde(default, with = "super::values::or_off"))]
        #[cfg_attr(feature = "schema", schemars(with = "super::values::TimeOrOff"))]
        outage_probe_interval: Option<Duration>,
    }
);

policy_enum!(
    /// Whether paths rest while one of them delivers more than all together.
    GoodputGuarding {
        /// Never.
        Off = "off",
        /// Where all paths together deliver less than the best one would alone, as far as its controller and the buffers tell, it is tried
        /// alone for some round trips. If that delivers more, the others rest for a time that doubles.
        On = "on",
    }
);

policy_enum!(
    /// Whether a path that data has not measured takes data that no other path can take yet.
    DataAhead {
        /// No: while another path is measured it carries copies only (`data_copies`).
        Off = "off",
        /// Up to its congestion window, while more waits than all windows hold and the buffers have room. What was not answered goes over
        /// the other paths, too, once a buffer is half full or has no room for two more windows, or everything is sent.
        On = "on",
    }
);

policy_enum!(
    /// When a program that met a full send buffer is told that there is room again.
    SendRoomNotice {
        /// When an eighth of the buffer is free: waking a program has a price.
        Batch = "batch",
        /// Over several paths also when one message fits and nothing waits to be sent: a path may be idle while the data of a longer one
        /// fills the rest of the buffer.
        WhenIdle = "when-idle",
    }
);

policy_enum!(
    /// Whether a second path carries copies of data.
    DataCopies {
        /// Never.
        Off = "off",
        /// A path whose round-trip time data has not measured carries one copy at a time, and no data of its own while
        /// another path is measured, until three copies had no answer. When nothing else waits, a measured path carries
        /// copies, too, up to 20 kB/s, so that a message of a thin flow arrives by whichever path is faster.
        On = "on",
    }
);
