//! When to acknowledge (RFC 9260 section 6.2), and delayed ack for CMT.
//!
//! Delayed ack for CMT (DAC; Iyengar, Amer, Stewart, "Concurrent Multipath Transfer Using SCTP Multihoming Over
//! Independent End-to-End Paths", IEEE/ACM ToN 14(5), 2006; INET `cmtUseDAC`, usrsctp `cmt_dac_pkts_rcvd`): paths of
//! different delay reorder all the time, so a gap is no reason to acknowledge at once. Instead, the SACK contains the
//! number of data packets that it acknowledges, and the sender counts missing reports by that number.

mod volume;

use alloc::boxed::Box;

use self::volume::Volumes;
use crate::config::{AckScope, AckVolume, DacCount, DelayedAck, FirstData, GapAck};
use crate::{Duration, Instant, PathId};

/// SACK.Delay must not be larger (RFC 9260 section 6.2).
const MAX_DELAY: Duration = Duration::from_millis(500);

/// Paths that have counters of their own.
pub(super) const COUNTED_PATHS: usize = 4;

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
    /// Whether TSNs are missing after it.
    pub leaves_gaps: bool,
}

impl PacketSummary {
    /// Whether there was any DATA chunk.
    pub fn has_data(&self) -> bool {
        self.new_chunks > 0 || self.duplicate_chunks > 0 || self.refused_chunks > 0
    }
}

/// How long the packets of a path with parameters of its own wait for their SACK, and how many of them it answers at most
/// (RFC 6458 section 8.1.19, `SCTP_DELAYED_SACK` with an address).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathDelay {
    pub delay: Duration,
    pub packets: u8,
}

/// Decides when a SACK is due.
#[derive(Debug)]
pub struct AckPolicy {
    policy: DelayedAck,
    /// Packets that brought new data since the last SACK.
    packets: u8,
    /// The same for each path, if paths count separately; paths beyond these share one counter.
    on_path: [u8; COUNTED_PATHS],
    /// The amount of data, if the policy needs it; unset while nothing is missing.
    volumes: Option<Box<Volumes>>,
    need: Need,
    /// The next packet brings the first DATA, which does not wait.
    first: bool,
    /// A path with a delay of its own waits for the SACK, which other paths do not put off.
    is_promised: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Need {
    Nothing,
    /// By then, or with the next packet.
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
            is_promised: false,
        }
    }

    /// Sets the delay and the number of packets after which to acknowledge at the latest. A SACK that is being delayed
    /// keeps its deadline.
    pub fn set_delay(&mut self, delay: Duration, packets: u8) {
        self.policy.delay = delay.min(MAX_DELAY);
        self.policy.packets = packets;
    }

    /// Notes a packet that arrived on `path`, which may have a delay of its `own`; a packet without DATA chunks changes
    /// nothing. A SACK would have `sack_bytes`.
    pub fn on_packet(
        &mut self,
        now: Instant,
        path: PathId,
        own: Option<PathDelay>,
        packet: PacketSummary,
        sack_bytes: impl FnOnce() -> usize,
    ) {
        if !packet.has_data() {
            return;
        }
        let PathDelay { delay, packets } =
            own.unwrap_or(PathDelay { delay: self.policy.delay, packets: self.policy.packets });
        let is_urgent = self.is_urgent(packet, delay);
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
        if !is_urgent && counted < packets {
            if own.is_some() {
                self.promise(now + delay);
            } else if self.need == Need::Nothing {
                self.need = Need::Until(now + delay);
            }
        } else if !is_urgent
            && own.is_none()
            && let Some(volumes) = &mut self.volumes
            && let Some(until) = volumes.wait(now, path, sack_bytes(), delay)
        {
            match self.need {
                Need::Now => {}
                Need::Until(_) if self.is_promised => {}
                Need::Nothing | Need::Until(_) => self.need = Need::Until(until),
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

    /// Makes a SACK wait until then at the latest, for a path with a delay of its own.
    fn promise(&mut self, latest: Instant) {
        self.need = match self.need {
            Need::Nothing => Need::Until(latest),
            Need::Until(deadline) => Need::Until(deadline.min(latest)),
            Need::Now => Need::Now,
        };
        self.is_promised = true;
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

    fn is_urgent(&self, packet: PacketSummary, delay: Duration) -> bool {
        let only_repeated = packet.new_chunks == 0;
        // RFC 9260 section 6.7: while there is a gap; RFC 5681 section 4.2: also when one is filled.
        let gap = match self.policy.on_gap {
            GapAck::Immediate => packet.gaps,
            GapAck::WhileOpen => packet.leaves_gaps,
            GapAck::Delayed => false,
        };
        // RFC 9260 section 5.1: the first DATA chunk of the association.
        self.first
            || only_repeated
            || packet.refused_chunks > 0
            || packet.immediate
            || gap
            || delay.is_zero()
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

    /// Starts again after a SACK, whatever caused it; returns the flags for it.
    pub fn on_sack(&mut self) -> u8 {
        let flags = match self.policy.count {
            DacCount::Off => 0,
            DacCount::CountZeroWhenNotDelayed if self.answers_every_packet() => 0,
            DacCount::SackFlags | DacCount::SackFlagsInGaps | DacCount::CountZeroWhenNotDelayed => {
                self.packets.min(3) << 6
            }
        };
        self.packets = 0;
        self.need = Need::Nothing;
        self.is_promised = false;
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
mod tests;
