//! Paths of new data and retransmissions, and failure of paths.

use super::{policy_enum, policy_group};
use crate::Duration;

policy_enum!(
    /// Paths on which INIT is sent. The peer answers each INIT without keeping state (RFC 9260
    /// section 5.1.3); the first INIT ACK is taken, and later ones are discarded (section 5.2.3).
    HandshakePaths {
        /// One path at a time; the next one when T1-init expires (RFC 9260 sections 5.1 and 6.4.1).
        Primary = "primary",
        /// At the same time on as many paths as it takes to use every address of both sides. COOKIE
        /// ECHO is sent on each path that returns an INIT ACK, and with the first one on the others as
        /// well, because their INITs may be lost. The first path to answer becomes the primary path.
        /// INIT ACKs measure round-trip times; T1-cookie is the retransmission timeout of the
        /// primary path, at most RTO.Initial. Link-local addresses come first, since
        /// only over them do both sides list all addresses.
        AllPaths = "all-paths",
    }
);

policy_enum!(
    /// Order in which the scheduler offers new data to the paths (INET `cmtSendAllComparisonFunction`).
    PathOrder {
        /// Only the primary path, or an alternate path while it has failed (RFC 9260 section 6.4).
        Primary = "primary",
        /// All paths, in the order of the path table.
        Fixed = "fixed",
        /// The path that has not sent for the longest time first (INET `cmtSendAllVariant = smallestLastTransmission`).
        SmallestLastTransmission = "smallest-last-transmission",
        /// All paths, starting after the path that was first the last time (usrsctp).
        Rotating = "rotating",
        /// As `rotating`, but a path that only retransmitted has not had its turn (ns-2).
        RotatingNewData = "rotating-new-data",
        /// In random order (INET `cmtSendAllVariant = randomized`).
        Random = "random",
        /// The path with the most free congestion window first (INET `largestSpace`).
        LargestSpace = "largest-space",
        /// The path with the largest slow-start threshold first (INET `largestSSThreshold`).
        LargestSsthresh = "largest-ssthresh",
        /// The largest slow-start threshold first, ties by free window (INET `largestSpaceAndSSThreshold`).
        LargestSpaceAndSsthresh = "largest-space-and-ssthresh",
        /// The path with the smallest smoothed round-trip time first; unmeasured paths last.
        LowestSrtt = "lowest-srtt",
    }
);

policy_enum!(
    /// How much one path sends before the next one has its turn.
    PathFill {
        /// One packet.
        PacketByPacket = "packet-by-packet",
        /// As much as its congestion window allows.
        FillWindow = "fill-window",
        /// One packet. A path with at least 128 full packets in flight beside a lower-RTT path
        /// waits until its window admits up to four, and sends them as a train, so that SACKs have
        /// fewer gaps to report.
        Runs = "runs",
    }
);

policy_enum!(
    /// Path of a retransmission (`iyengar` section IV; ns-2 `cmtRtxPolicy_`).
    RetransmissionPath {
        /// The path of the lost transmission, while it is active (RTX-SAME).
        Same = "same",
        /// A path whose congestion window has room now; a random one of several (RTX-ASAP).
        Asap = "asap",
        /// The path with the largest congestion window, ties at random (RTX-CWND).
        Cwnd = "cwnd",
        /// The path with the largest slow-start threshold, ties at random (RTX-SSTHRESH).
        Ssthresh = "ssthresh",
        /// The path with the lowest loss rate, ties at random (RTX-LOSSRATE).
        LossRate = "lossrate",
        /// The path with the smallest smoothed round-trip time; unmeasured paths last, ties to the
        /// path of the lost transmission.
        LowestSrtt = "lowest-srtt",
        /// The path on which its acknowledgement is expected first, by round-trip time, rate and
        /// flight size. Unmeasured paths last, ties to the path of the lost transmission.
        EarliestAnswer = "earliest-answer",
        /// Another active path if there is one (RFC 9260 section 6.4.1).
        Alternate = "alternate",
    }
);

policy_enum!(
    /// What happens when the congestion window of the path chosen for a retransmission is full.
    NoWindow {
        /// The chunk waits for that path.
        Wait = "wait",
        /// The next best path whose window has room retransmits the chunk.
        Next = "next",
        /// As `next`, unless the chosen path would still deliver it earlier, after all other lost
        /// chunks.
        Sooner = "sooner",
    }
);

policy_enum!(
    /// Where the loss rates of RTX-LOSSRATE come from.
    LossRateSource {
        /// Lost chunks over sent chunks among the last 100 of the path; unknown below 10.
        Measured = "measured",
        /// Set from outside (a simulation knows them); measured if unset.
        Oracle = "oracle",
    }
);

policy_enum!(
    /// How a path's unanswered timeouts affect the choice of the path, once a retransmission has
    /// timed out as well.
    RepeatedTimeout {
        /// Not at all while the path is active: the retransmission policy chooses as before (the
        /// papers).
        AsChosen = "as-chosen",
        /// Paths without unanswered timeouts come first.
        AvoidDoubtful = "avoid-doubtful",
    }
);

policy_group!(
    /// Paths of retransmissions.
    Retransmission {
        /// After missing reports.
        fast: RetransmissionPath,
        /// After a T3 timeout.
        timer: RetransmissionPath,
        /// After a T3 timeout of a chunk that was retransmitted before.
        repeated: RepeatedTimeout,
        /// If the congestion window of the chosen path is full.
        no_window: NoWindow,
        /// Where loss rates come from.
        loss_rate: LossRateSource,
    }
);

policy_enum!(
    /// How a path that stops answering is treated (`natarajan` section II; RFC 7829).
    FailureDetection {
        /// Active until its timeouts exceed Path.Max.Retrans (RFC 9260 section 8.2).
        Rfc9260 = "rfc9260",
        /// Potentially failed after the first timeout and probed by heartbeats; an answer makes it
        /// active again with a congestion window of 1 MTU (CMT-PF1).
        Pf1 = "pf-1",
        /// As `pf-1`, with a congestion window of 2 MTU (CMT-PF2).
        Pf2 = "pf-2",
    }
);

policy_enum!(
    /// What happens when every path is potentially failed; the one with the fewest consecutive timeouts carries data,
    /// of several the one active last.
    AllPf {
        /// The path with the fewest consecutive timeouts carries data in its present state; of
        /// several, the one that was active last (`natarajan` section II-C; RFC 7829).
        Send = "send",
        /// That path becomes active again, and its timeouts are reset (`natarajan` section
        /// III-B.1).
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
        /// exceed this (RFC 7829 section 5); `None`: never.
        primary_switchover: Option<u32>,
        /// What happens when every path is potentially failed.
        all_pf: AllPf,
        /// Longest interval between the heartbeats of a path during an outage (no path answers and
        /// data waits), or of a failed path while data is sent on others, and between retransmissions
        /// of INIT, COOKIE ECHO, SHUTDOWN and SHUTDOWN ACK, unless the timeout that the path had before
        /// is longer. While other paths work, a failed path is probed more often at first, and errors
        /// count as often as its timer would back off. During an outage, timeouts count like those of
        /// one timer that backs off. `None` (in files: `"off"`, or no key): heartbeats back off to
        /// RTO.Max or HB.interval, the others to RTO.Max.
        #[cfg_attr(feature = "serde", serde(default, with = "super::values::or_off"))]
        #[cfg_attr(feature = "schema", schemars(with = "super::values::TimeOrOff"))]
        outage_probe_interval: Option<Duration>,
    }
);

policy_enum!(
    /// Whether what losses add to a round trip counts where paths are compared.
    LossDelays {
        /// Paths are compared as if nothing were lost.
        Off = "off",
        /// A retransmission takes a further round trip, and with short buffers everything waits for
        /// it, or, if messages are unordered, the rest of its message. That time, multiplied by how
        /// often one of the chunks that wait is lost, is added to the RTT of the path.
        On = "on",
    }
);

policy_enum!(
    /// Whether paths are suspended while one path alone delivers more than all together.
    GoodputGuarding {
        /// Never.
        Off = "off",
        /// If all paths together seem to deliver less than the best one would alone (by its
        /// controller and the buffers), that path is tried alone for some round trips. If it
        /// delivers more, the others are suspended, for a time that doubles.
        On = "on",
    }
);

policy_enum!(
    /// Whether a path whose RTT is not yet measured by data carries data that no other path can
    /// take yet.
    DataAhead {
        /// No: while another path is measured, it carries only duplicates (`data_copies`).
        Off = "off",
        /// Up to its congestion window, while more data waits than all windows admit and the
        /// buffers have room. Data that is not acknowledged is retransmitted on the other paths
        /// once a buffer is half full or has no room for two more windows, or everything is sent.
        On = "on",
    }
);

policy_enum!(
    /// When an application that found the send buffer full is notified of free space.
    SendRoomNotice {
        /// When an eighth of the buffer is free, since each notification costs time.
        Batch = "batch",
        /// As `batch`; over several paths also when one message fits and nothing waits to be sent,
        /// since a path may be idle while the data of a longer path fills the rest of the buffer.
        WhenIdle = "when-idle",
    }
);

policy_enum!(
    /// Whether a second path carries duplicates of data.
    DataCopies {
        /// Never.
        Off = "off",
        /// A path whose RTT is not yet measured by data carries one duplicate at a time, and no
        /// data of its own while another path is measured, until three duplicates were not
        /// answered. When nothing else waits, measured paths carry duplicates as well, as far as
        /// data leaves room in their congestion windows, so that messages of thin flows arrive
        /// over the faster path.
        On = "on",
    }
);
