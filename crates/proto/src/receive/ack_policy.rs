//! When to acknowledge (RFC 9260 section 6.2), and delayed ack for CMT.
//!
//! Delayed ack for CMT (DAC; Iyengar, Amer, Stewart, "Concurrent Multipath Transfer Using SCTP Multihoming Over
//! Independent End-to-End Paths", IEEE/ACM ToN 14(5), 2006; INET `cmtUseDAC`, usrsctp `cmt_dac_pkts_rcvd`): paths of
//! different delay reorder all the time, so a gap is no reason to hurry; instead the SACK tells how many data packets
//! it answers, and the sender counts missing reports by that.

mod volume;

use alloc::boxed::Box;

use self::volume::Volumes;
use crate::config::{AckScope, AckVolume, DacCount, DelayedAck, FirstData, GapAck};
use crate::{Duration, Instant, PathId};

/// SACK.Delay must not be larger (RFC 9260 section 6.2).
const MAX_DELAY: Duration = Duration::from_millis(500);

/// Paths that have counters of their own.
const COUNTED_PATHS: usize = 4;

/// What a packet with DATA chunks brought.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PacketSummary {
    /// DATA chunks received for the first time.
    pub new_chunks: u32,
    /// DATA chunks received before.
    pub duplicate_chunks: u32,
    /// DATA chunks that could not be kept.
    pub refused_chunks: u32,
    /// User data of the new chunks, in bytes.
    pub new_bytes: u32,
    /// Whether a chunk had the I bit.
    pub immediate: bool,
    /// Whether TSNs were missing before the packet or are missing after it.
    pub gaps: bool,
}

impl PacketSummary {
    /// Whether there was any DATA chunk.
    pub fn has_data(&self) -> bool {
        self.new_chunks > 0 || self.duplicate_chunks > 0 || self.refused_chunks > 0
    }
}

/// Decides when a SACK is due.
#[derive(Debug)]
pub struct AckPolicy {
    policy: DelayedAck,
    /// Packets that brought new data since the last SACK.
    packets: u8,
    /// The same for each path, where they count apart; paths beyond these share.
    on_path: [u8; COUNTED_PATHS],
    /// How much data that was, where it decides; unset while nothing is missing.
    volumes: Option<Box<Volumes>>,
    need: Need,
    /// The next packet brings the first DATA, which does not wait.
    first: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Need {
    Nothing,
    /// By then, or with the next packet that goes out.
    Until(Instant),
    Now,
}

impl AckPolicy {
    pub fn new(policy: DelayedAck) -> Self {
        let delay = policy.delay.min(MAX_DELAY);
        Self {
            policy: DelayedAck { delay, ..policy },
            packets: 0,
            on_path: [0; COUNTED_PATHS],
            volumes: None,
            need: Need::Nothing,
            first: policy.first_data == FirstData::Immediate,
        }
    }

    /// Delays by so much, and acknowledges at the latest after so many packets. What is being delayed goes out when it would have.
    pub fn set_delay(&mut self, delay: Duration, packets: u8) {
        self.policy.delay = delay.min(MAX_DELAY);
        self.policy.packets = packets;
    }

    /// Takes note of a packet that came on `path`; one without DATA chunks changes nothing. A SACK would have `sack_bytes`.
    pub fn on_packet(
        &mut self,
        now: Instant,
        path: PathId,
        packet: PacketSummary,
        sack_bytes: impl FnOnce() -> usize,
    ) {
        if !packet.has_data() {
            return;
        }
        let is_urgent = self.is_urgent(packet);
        self.weigh(now, path, packet);
        let on_path = &mut self.on_path[path.index() % COUNTED_PATHS];
        if packet.new_chunks > 0 {
            self.packets = self.packets.saturating_add(1);
            *on_path = on_path.saturating_add(1);
        }
        let counted = match self.policy.scope {
            AckScope::Association => self.packets,
            AckScope::Path => *on_path,
        };
        if !is_urgent && counted < self.policy.packets {
            if self.need == Need::Nothing {
                self.need = Need::Until(now + self.policy.delay);
            }
        } else if !is_urgent
            && let Some(volumes) = &mut self.volumes
            && let Some(until) = volumes.wait(now, path, sack_bytes(), self.policy.delay)
        {
            if self.need != Need::Now {
                self.need = Need::Until(until);
            }
        } else {
            self.need = Need::Now;
            *on_path = 0;
            if let Some(volumes) = &mut self.volumes {
                volumes.answer(path);
            }
        }
        self.first = false;
    }

    /// Counts the data of a packet, while something is missing.
    fn weigh(&mut self, now: Instant, path: PathId, packet: PacketSummary) {
        if self.policy.volume == AckVolume::Any {
            return;
        }
        if packet.gaps && self.volumes.is_none() {
            self.volumes = Some(Box::default());
        }
        if let Some(volumes) = &mut self.volumes {
            volumes.on_packet(now, path, packet.new_bytes);
        }
    }

    /// Gives memory back that nothing needs now.
    pub fn release_memory(&mut self) {
        self.volumes = None;
    }

    fn is_urgent(&self, packet: PacketSummary) -> bool {
        let only_repeated = packet.new_chunks == 0;
        // RFC 9260 section 6.7: as long as there is a gap; RFC 5681 section 4.2: also when one is filled.
        let gap = packet.gaps && self.policy.on_gap == GapAck::Immediate;
        // RFC 9260 section 5.1: the first DATA chunk of the association.
        self.first
            || only_repeated
            || packet.refused_chunks > 0
            || packet.immediate
            || gap
            || self.policy.delay.is_zero()
    }

    fn answers_every_packet(&self) -> bool {
        self.policy.packets <= 1 || self.policy.delay.is_zero()
    }

    /// Makes a SACK due for a reason that lies outside.
    pub fn request(&mut self) {
        self.need = Need::Now;
    }

    /// Makes the SACK due whose delay is over.
    pub fn on_timeout(&mut self, now: Instant) {
        if matches!(self.need, Need::Until(deadline) if deadline <= now) {
            self.need = Need::Now;
            if let Some(volumes) = &mut self.volumes {
                volumes.answer_all();
                self.on_path = [0; COUNTED_PATHS];
            }
        }
    }

    /// Begins anew after a SACK, whatever made it go out; gives the flags for it.
    pub fn on_sack(&mut self) -> u8 {
        let flags = match self.policy.count {
            DacCount::Off => 0,
            DacCount::CountZeroWhenNotDelayed if self.answers_every_packet() => 0,
            DacCount::SackFlags | DacCount::CountZeroWhenNotDelayed => self.packets.min(3) << 6,
        };
        self.packets = 0;
        self.need = Need::Nothing;
        flags
    }

    /// Whether a SACK must go out now.
    pub fn is_due(&self) -> bool {
        self.need == Need::Now
    }

    /// Whether a SACK is due or waits for its delay.
    pub fn is_pending(&self) -> bool {
        self.need != Need::Nothing
    }

    /// When the delay of the waiting SACK is over.
    pub fn deadline(&self) -> Option<Instant> {
        match self.need {
            Need::Until(deadline) => Some(deadline),
            Need::Nothing | Need::Now => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: PathId = PathId(0);
    const RFC9260: DelayedAck = DelayedAck {
        packets: 2,
        delay: Duration::from_millis(200),
        on_gap: GapAck::Immediate,
        first_data: FirstData::Immediate,
        count: DacCount::Off,
        scope: AckScope::Association,
        volume: AckVolume::Any,
    };
    const DAC: DelayedAck =
        DelayedAck { on_gap: GapAck::Delayed, count: DacCount::SackFlags, ..RFC9260 };

    const NEW: PacketSummary = PacketSummary {
        new_chunks: 1,
        duplicate_chunks: 0,
        refused_chunks: 0,
        new_bytes: 0,
        immediate: false,
        gaps: false,
    };

    /// A policy that has sent its first SACK.
    fn started(policy: DelayedAck) -> AckPolicy {
        let mut acks = AckPolicy::new(policy);
        acks.on_packet(Instant::ZERO, PATH, NEW, || 0);
        acks.on_sack();
        acks
    }

    #[test]
    fn what_makes_a_sack_due_at_once() {
        let duplicates = PacketSummary { new_chunks: 0, duplicate_chunks: 1, ..NEW };
        let refused = PacketSummary { new_chunks: 0, refused_chunks: 1, ..NEW };
        for (policy, packet, due) in [
            (RFC9260, NEW, false),
            (RFC9260, PacketSummary { new_chunks: 5, ..NEW }, false),
            (RFC9260, PacketSummary { duplicate_chunks: 1, ..NEW }, false),
            (RFC9260, PacketSummary { immediate: true, ..NEW }, true),
            (RFC9260, PacketSummary { gaps: true, ..NEW }, true),
            (RFC9260, PacketSummary { refused_chunks: 1, ..NEW }, true),
            (RFC9260, duplicates, true),
            (RFC9260, refused, true),
            (DAC, PacketSummary { gaps: true, ..NEW }, false),
            (DAC, PacketSummary { immediate: true, ..NEW }, true),
            (DAC, PacketSummary { gaps: true, ..duplicates }, true),
            (DAC, PacketSummary { gaps: true, ..refused }, true),
        ] {
            let mut acks = started(policy);
            acks.on_packet(Instant::ZERO, PATH, packet, || 0);
            assert_eq!(acks.is_due(), due, "{policy:?} {packet:?}");
            assert!(acks.is_pending());
        }
    }

    #[test]
    fn a_packet_without_data_changes_nothing() {
        let mut acks = AckPolicy::new(DAC);
        acks.on_packet(
            Instant::ZERO,
            PATH,
            PacketSummary { new_chunks: 0, gaps: true, ..NEW },
            || 0,
        );
        assert!(!acks.is_pending());
        acks.on_packet(Instant::ZERO, PATH, NEW, || 0);
        assert!(acks.is_due(), "this one is the first");
    }

    #[test]
    fn the_delay_runs_from_the_first_packet_and_is_limited() {
        let policy = DelayedAck { packets: 9, delay: Duration::from_secs(3), ..DAC };
        let mut acks = AckPolicy::new(policy);
        acks.on_packet(Instant::ZERO, PATH, NEW, || 0);
        acks.on_sack();
        let at = |millis| Instant::ZERO + Duration::from_millis(millis);
        acks.on_packet(at(100), PATH, NEW, || 0);
        acks.on_packet(at(300), PATH, NEW, || 0);
        assert_eq!(acks.deadline(), Some(at(600)));
        acks.on_timeout(at(599));
        assert!(!acks.is_due());
        acks.on_timeout(at(600));
        assert!(acks.is_due());
        assert_eq!(acks.deadline(), None);
        // A late timer after the SACK has no effect.
        acks.on_sack();
        acks.on_timeout(at(700));
        assert!(!acks.is_pending());
    }

    #[test]
    fn without_delay_every_packet_is_answered() {
        for policy in [
            DelayedAck { packets: 1, ..RFC9260 },
            DelayedAck { packets: 0, ..RFC9260 },
            DelayedAck { delay: Duration::ZERO, ..RFC9260 },
        ] {
            let mut acks = AckPolicy::new(policy);
            for _ in 0..3 {
                acks.on_packet(Instant::ZERO, PATH, NEW, || 0);
                assert!(acks.is_due());
                acks.on_sack();
            }
        }
    }

    #[test]
    fn the_artefact_counts_nothing_without_delay() {
        let count = |policy| {
            let mut acks = started(policy);
            acks.on_packet(Instant::ZERO, PATH, NEW, || 0);
            acks.request();
            acks.on_sack() >> 6
        };
        let artefact = DelayedAck { count: DacCount::CountZeroWhenNotDelayed, ..DAC };
        assert_eq!(count(artefact), 1);
        for policy in [artefact, DAC] {
            let expected = u8::from(policy.count == DacCount::SackFlags);
            assert_eq!(count(DelayedAck { packets: 1, ..policy }), expected);
            assert_eq!(count(DelayedAck { delay: Duration::ZERO, ..policy }), expected);
        }
    }

    #[test]
    fn only_packets_with_new_data_are_counted() {
        let mut acks = started(DAC);
        acks.on_packet(Instant::ZERO, PATH, NEW, || 0);
        acks.on_packet(
            Instant::ZERO,
            PATH,
            PacketSummary { new_chunks: 0, duplicate_chunks: 1, ..NEW },
            || 0,
        );
        acks.request();
        assert_eq!(acks.on_sack(), 0x40);
        acks.request();
        assert_eq!(acks.on_sack(), 0);
        for _ in 0..300 {
            acks.on_packet(Instant::ZERO, PATH, NEW, || 0);
        }
        assert_eq!(acks.on_sack(), 0xc0);
    }

    #[test]
    fn each_path_answers_for_its_own_packets() {
        let mut acks = started(DelayedAck { scope: AckScope::Path, ..DAC });
        let (slow, quick) = (PathId(1), PathId(2));
        acks.on_packet(Instant::ZERO, slow, NEW, || 0);
        acks.on_packet(Instant::ZERO, quick, NEW, || 0);
        assert!(!acks.is_due(), "one packet of each");
        acks.on_packet(Instant::ZERO, quick, NEW, || 0);
        assert!(acks.is_due());
        assert_eq!(acks.on_sack(), 0xc0, "it answers three packets all the same");
        // The SACK covered the slow path's packet, but its next one is the second on that path.
        acks.on_packet(Instant::ZERO, slow, NEW, || 0);
        assert!(acks.is_due());
    }

    /// Two packets make a SACK due, but one of 242 bytes waits for the data of five, or for quiet; never longer than the delay.
    #[test]
    fn a_large_sack_waits_but_only_while_something_is_missing() {
        const VOLUME: DelayedAck =
            DelayedAck { scope: AckScope::Path, volume: AckVolume::PartOfData, ..DAC };
        let data = PacketSummary { new_bytes: 1452, ..NEW };
        let gaps = PacketSummary { gaps: true, ..data };
        let at = |us| Instant::ZERO + Duration::from_micros(us);
        let after = |policy, packets: &[PacketSummary]| {
            let mut acks = started(policy);
            for (n, packet) in (1..).zip(packets) {
                acks.on_packet(at(n * 100), PATH, *packet, || 242);
            }
            acks
        };
        let immediate = PacketSummary { immediate: true, ..gaps };
        assert!(after(VOLUME, &[data, data]).is_due(), "nothing is missing");
        assert!(after(DAC, &[gaps, gaps]).is_due(), "another policy");
        assert!(after(VOLUME, &[gaps, immediate]).is_due(), "the peer asks for it");
        assert!(!after(VOLUME, &[gaps; 4]).is_due());
        assert!(after(VOLUME, &[gaps; 5]).is_due(), "enough data");
        let mut acks = after(VOLUME, &[gaps; 3]);
        assert_eq!(acks.deadline(), Some(at(700)), "four times the time between packets");
        acks.on_timeout(at(700));
        assert!(acks.is_due());
        acks.on_sack();
        acks.on_packet(at(800), PATH, gaps, || 242);
        assert_eq!(acks.deadline(), Some(at(200_800)), "a single packet");
        let short = DelayedAck { delay: Duration::from_micros(300), ..VOLUME };
        assert_eq!(after(short, &[gaps, gaps]).deadline(), Some(at(400)), "the delay");
    }
}
