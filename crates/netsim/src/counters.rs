//! What happened on a channel, in numbers.

use std::fmt;

use polypath_units::{Duration, Instant};

/// Why a packet was not delivered.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum DropCause {
    /// The queue had no room: for the packet itself when it was offered, or, with fair queueing, for all that waited.
    QueueFull,
    /// Lost on the medium by uniform loss, or because the configuration names the packet.
    UniformLoss,
    /// Offered, waiting or being sent while the channel was down.
    Outage,
    /// Arrived at a router after its last permitted hop.
    HopLimit,
    /// Arrived at a node that has no way to the destination.
    NoRoute,
    /// Lost on the medium by loss in bursts.
    BurstLoss,
    /// Hit by a bit error, and found out by the link.
    BitError,
    /// Dropped by a queue that had room: RED, or a waiting time that was too long.
    EarlyDrop,
    /// Larger than the MTU of the channel; nobody was told.
    TooLarge,
}

impl DropCause {
    /// Every cause, in the order of the codes in a trace.
    pub const ALL: [Self; 9] = [
        Self::QueueFull,
        Self::UniformLoss,
        Self::Outage,
        Self::HopLimit,
        Self::NoRoute,
        Self::BurstLoss,
        Self::BitError,
        Self::EarlyDrop,
        Self::TooLarge,
    ];

    /// Name as used in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::QueueFull => "queue-full",
            Self::UniformLoss => "uniform-loss",
            Self::Outage => "outage",
            Self::HopLimit => "hop-limit",
            Self::NoRoute => "no-route",
            Self::BurstLoss => "burst-loss",
            Self::BitError => "bit-error",
            Self::EarlyDrop => "early-drop",
            Self::TooLarge => "too-large",
        }
    }

    /// Code in a trace, from 1.
    pub(crate) const fn code(self) -> u8 {
        self as u8 + 1
    }
}

impl fmt::Display for DropCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A number of packets and their bytes; bytes are those of the IP packets, without framing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// Packets.
    pub packets: u64,
    /// Bytes of them.
    pub bytes: u64,
}

impl Tally {
    pub(crate) fn add(&mut self, bytes: u32) {
        self.packets += 1;
        self.bytes += u64::from(bytes);
    }

    pub(crate) fn take_back(&mut self, bytes: u32) {
        self.packets = self.packets.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(u64::from(bytes));
    }
}

/// What happened on a channel since the start of the run.
///
/// Every offered packet and every copy is delivered, dropped with one cause, or still on the way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Handed to the channel for sending.
    pub offered: Tally,
    /// Arrived at its other end.
    pub delivered: Tally,
    /// Copies that the medium made.
    pub duplicated: Tally,
    /// Delivered with a bit error.
    pub damaged: Tally,
    /// Marked with "congestion experienced" by the queue.
    pub marked: Tally,
    /// Time in which the transmitter was sending.
    pub busy: Duration,
    /// Most packets that ever waited at once.
    pub peak_queue_packets: u64,
    /// Most bytes that ever waited at once.
    pub peak_queue_bytes: u64,
    dropped: [Tally; DropCause::ALL.len()],
}

impl Counters {
    /// Dropped for this cause.
    pub const fn dropped(&self, cause: DropCause) -> Tally {
        self.dropped[cause as usize]
    }

    /// Dropped for any cause.
    pub fn dropped_total(&self) -> Tally {
        self.dropped.iter().fold(Tally::default(), |sum, tally| Tally {
            packets: sum.packets + tally.packets,
            bytes: sum.bytes + tally.bytes,
        })
    }

    /// Packets that are waiting, being sent or propagating.
    pub fn on_the_way(&self) -> u64 {
        self.offered.packets + self.duplicated.packets
            - self.delivered.packets
            - self.dropped_total().packets
    }

    /// Part of the time from the start of the run to `now` in which the transmitter was sending.
    pub fn utilisation(&self, now: Instant) -> f64 {
        let elapsed = now.since(Instant::ZERO);
        if elapsed.is_zero() { 0.0 } else { self.busy.as_secs_f64() / elapsed.as_secs_f64() }
    }

    pub(crate) fn drop(&mut self, cause: DropCause, bytes: u32) {
        self.dropped[cause as usize].add(bytes);
    }
}
