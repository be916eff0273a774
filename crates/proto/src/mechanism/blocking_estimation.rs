//! Blocking estimation: new data is not sent on a path on which it would arrive so late that a path with a lower RTT
//! would have filled the buffers by then. A path that still blocks one with a lower RTT loses half of its congestion
//! window.
//!
//! The estimate is that of Ferlin, Alay, Mehani, Boreli 2016 ("BLEST: Blocking estimation-based MPTCP scheduler for
//! heterogeneous networks", section III), the penalty that of Raiciu et al. 2012 ("How hard can it be?", section 4.2),
//! with paths instead of subflows. Data that waits for a chunk of the slow path occupies the buffers for a round trip
//! of that path. If the data that the lower-RTT path could send in that time does not fit beside the slow path's
//! flight, the chunk waits for the lower-RTT path.
//!
//! BLEST assumes that the lower-RTT path could send its congestion window per round trip. But the window of a blocked
//! path never grew to the size that it would have alone, so here the window counts only if a queue shows that the path
//! is full. And where a path carries next to nothing beside another one, ordered data does not wait for it before the
//! transfer has lasted long enough, even if there is room for all that would wait.

use crate::mechanism::arrival::ArrivalTime;
use crate::mechanism::loss_delay::LossDelay;
use crate::types::{NANOS_PER_SECOND, mul_div};
use crate::{Duration, Instant};

/// Packets that may be acknowledged on a path without telling its round trip before it is tried with more.
pub(crate) const MOST_TRIES: u64 = 10;

/// A path that carries less than this part of another one has to be able to lose a packet without stopping that one.
const NEGLIGIBLE: u128 = 32;

/// Once data was sent for so many times as long as such a path delays what waits for it, this delay is forgotten beside what the
/// path brings.
const REPAYS_AFTER: u64 = 100;

/// How much lower the RTT of a path is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Lead {
    /// Not at all, or by less than round trips vary: up to a thirty-second.
    None,
    /// By up to an eighth.
    Small,
    /// By more.
    Clear,
}

/// How fast a path delivers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct KnownRate {
    pub(crate) bytes_per_second: u64,
    /// It does not carry more.
    pub(crate) is_final: bool,
}

/// What is known of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct MeasuredPath {
    /// Its congestion window in bytes.
    pub(crate) cwnd: u64,
    /// Its slow-start threshold in bytes.
    pub(crate) ssthresh: u64,
    /// Its smoothed round-trip time.
    pub(crate) srtt: Duration,
    /// The smallest one that was measured.
    pub(crate) smallest_rtt: Duration,
    /// Time that its links need to send a packet, estimated from round-trip times.
    pub(crate) serialisation: Duration,
    /// How fast it delivers, where its controller measures that.
    pub(crate) rate: Option<KnownRate>,
    /// Rate of its bottleneck in bytes per second, once measured by a train of packets or by round-trip times.
    pub(crate) bottleneck: Option<u64>,
    /// How long a packet that is sent now waits there for those that were sent before.
    pub(crate) backlog: Duration,
    /// When the chunk would be there, if paths are compared by that, too: of two equal paths, neither is then slower than the other,
    /// and neither waits for the other.
    pub(crate) arrival: ArrivalTime,
    /// What losses add to a round trip.
    pub(crate) losses: LossDelay,
    /// Bytes that wait for a lost chunk, where there are so many.
    pub(crate) dependents: u64,
    /// Bytes of its largest chunk.
    pub(crate) chunk: u64,
}

impl MeasuredPath {
    /// Whether packets wait in a queue of the path: then a larger window would not make it faster.
    pub(crate) fn is_full(&self) -> bool {
        self.srtt > self.smallest_rtt + self.smallest_rtt / 2
    }

    /// Whether its packets probably wait in a queue, so that it delivers at its capacity.
    fn has_queue(&self) -> bool {
        self.srtt > self.smallest_rtt + self.smallest_rtt / 4 + self.serialisation
    }

    /// What it could have in flight with a buffer of this size for itself.
    fn could_send(&self, buffer: u64) -> u64 {
        if self.is_full() {
            self.cwnd
        } else if self.cwnd < self.ssthresh {
            buffer.max(self.cwnd)
        } else {
            self.cwnd.saturating_add(self.cwnd / 4).min(buffer).max(self.cwnd)
        }
    }

    /// A congestion window per round trip, in bytes per second.
    fn window_rate(&self) -> u64 {
        u64::try_from(proven(None, self.cwnd, self.srtt)).unwrap_or(u64::MAX)
    }

    /// What a buffer of this size lets it send at most, in bytes per second.
    fn buffer_rate(&self, buffer: u64) -> u128 {
        let chunks = buffer.min(self.cwnd).min(self.dependents) / self.chunk.max(1);
        let rtt = self.smallest_rtt + self.losses.of(self.srtt, chunks);
        u128::from(buffer) * NANOS_PER_SECOND / u128::from(rtt.as_nanos().max(1))
    }

    /// What it could send in a time, in bytes.
    fn sends_in(&self, time: Duration, buffer: u64) -> u128 {
        if let Some(rate) = self.final_rate() {
            let most = self.buffer_rate(buffer.max(self.cwnd));
            return u128::from(rate).min(most) * u128::from(time.as_nanos()) / NANOS_PER_SECOND;
        }
        let srtt = u128::from(self.srtt.as_nanos().max(1));
        let bytes = u128::from(self.could_send(buffer)) * u128::from(time.as_nanos()) / srtt;
        let bottleneck = self.bottleneck.map_or(u128::MAX, |rate| {
            u128::from(rate) * u128::from(time.as_nanos()) / NANOS_PER_SECOND
        });
        bytes.min(self.sends_in_slow_start(time)).min(bottleneck)
    }

    /// The same if two packets leave for each that is acknowledged: two congestion windows in the first round trip, four in the second,
    /// and so on.
    fn sends_in_slow_start(&self, time: Duration) -> u128 {
        let (time, srtt) = (u128::from(time.as_nanos()), u128::from(self.srtt.as_nanos().max(1)));
        let round_trips = (time / srtt).min(62);
        let in_next = u128::from(self.cwnd) << (round_trips + 1);
        let before = in_next - u128::from(self.cwnd) * 2;
        before + in_next.saturating_mul(time % srtt) / srtt
    }

    /// What it needs in flight, in bytes, beside a path with this round-trip time. With its rate times its own round-trip time it
    /// sometimes has too little, because SACKs are delayed and chunks are lost. The longer the round trip of the other path, the
    /// less buffer space brings there: from sixteen times on this path gets a quarter more, another quarter with each doubling, and
    /// twice as much from 128 times on.
    fn keeps_in_flight(&self, rtt: Duration, buffer: u64) -> u128 {
        let bytes = self.sends_in(self.srtt, buffer);
        if self.carries().is_none() {
            return bytes;
        }
        let times = rtt.as_nanos() / self.srtt.as_nanos().max(1);
        let quarters = times.max(1).ilog2().saturating_sub(3).min(4);
        bytes.max((bytes + bytes * u128::from(quarters) / 4).min(self.cwnd.into()))
    }

    /// Whether a round trip of `rtt` is clearly longer than one of this path.
    pub(crate) fn has_lower_rtt_than(&self, rtt: Duration) -> bool {
        self.lead_over(rtt) == Lead::Clear
    }

    /// Whether the data of this path is there sooner without the slow one, be it a little.
    pub(crate) fn leads(&self, slow: &SlowPath<'_>) -> bool {
        self.lead_over(self.lasts_beside(slow)) != Lead::None
    }

    /// How much shorter a round trip of this path is than `rtt`.
    fn lead_over(&self, rtt: Duration) -> Lead {
        lead(self.srtt.max(self.arrival.alone()), rtt)
    }

    /// How long data of this path takes if some of it goes over the slow one.
    ///
    /// Of two paths that delay each other, because one has the longer round trip and the other one more losses, only the one that carries
    /// less alone waits: if both did, nobody would send.
    fn lasts_beside(&self, slow: &SlowPath<'_>) -> Duration {
        let (own, other) = (&self.arrival, &slow.path.arrival);
        let together = own.beside(other);
        let is_mutual = leads(own.alone(), together) && leads(other.alone(), together);
        if is_mutual && self.strength(slow.buffer) <= slow.path.strength(slow.buffer) {
            return Duration::ZERO;
        }
        together
    }

    /// What it carries alone at most with this buffer, in bytes per second, for a comparison of paths.
    fn strength(&self, buffer: u64) -> u128 {
        self.at_most_alone(buffer).map_or_else(|| self.alone(buffer), u128::from)
    }

    pub(crate) fn final_rate(&self) -> Option<u64> {
        self.rate.filter(|rate| rate.is_final).map(|rate| rate.bytes_per_second)
    }

    /// Its rate in bytes per second, if known.
    fn carries(&self) -> Option<u64> {
        self.final_rate().or(self.bottleneck)
    }

    /// What it carried at least, in bytes per second.
    fn proven(&self) -> u128 {
        proven(self.rate, self.cwnd, self.srtt)
    }

    /// Whether it may still grow to more than it carried.
    pub(crate) fn is_growing(&self) -> bool {
        self.rate.map_or(self.cwnd < self.ssthresh, |rate| !rate.is_final)
    }

    /// What it carries alone at most, in bytes per second, with a buffer of this size: what its bottleneck passes on, or was
    /// measured when it was full. One that was never full, because it never had the buffer for itself, may carry twice what it has
    /// carried so far. `None` while nothing is known.
    pub(crate) fn at_most_alone(&self, buffer: u64) -> Option<u64> {
        let twice = || self.rate.map(|rate| rate.bytes_per_second.saturating_mul(2));
        let carries = self.final_rate().max(self.bottleneck).or_else(twice)?;
        let most = self.buffer_rate(buffer);
        Some(u64::try_from(most).unwrap_or(u64::MAX).min(carries))
    }

    /// What it would carry alone, in bytes per second.
    pub(crate) fn alone(&self, buffer: u64) -> u128 {
        self.sends_in(Duration::from_secs(1), buffer)
    }
}

/// The path that could take a chunk, in bytes of user data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SlowPath<'a> {
    /// With the time when the chunk would be there.
    pub(crate) path: &'a MeasuredPath,
    /// In flight on it.
    pub(crate) in_flight: u64,
    /// Length of the chunk.
    pub(crate) chunk: u64,
    /// The buffer that would fill.
    pub(crate) buffer: u64,
    pub(crate) waits: Waits,
}

/// What waits for the chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Waits {
    /// All that is sent later: the message is ordered, or the chunk is a part of it.
    Everything,
    /// Nothing; but the chunk takes buffer space until it has arrived, and a path with a lower RTT needs space for what it keeps in flight.
    Nothing,
}

/// Bytes per second that a path may deliver in the next round trip, from its present rate: up to twice as much, or the
/// congestion window if nothing waits in a queue (`window`, per round trip), and at most what its links can send, if a
/// packet needs `serialisation` there. The first samples of a rate are those of single packets.
fn grows_to(now: KnownRate, window: u64, chunk: u64, serialisation: Duration) -> u64 {
    let delivers = now.bytes_per_second.max(1);
    let most = delivers.saturating_mul(2).max(window);
    match serialisation.as_nanos() {
        0 => most,
        nanos => {
            let links = mul_div(chunk, NANOS_PER_SECOND as u64, nanos);
            u64::try_from(links).unwrap_or(u64::MAX).clamp(delivers, most)
        }
    }
}

/// The round-trip time that counts for a chunk on a path with so much in flight: twice the time until it arrives, because all
/// that waits for it waits at the receiver.
///
/// Where the rate of the path is known, that is half the shortest round trip, the time to send the chunk, and the time for which it
/// waits: to send what is in flight beyond a round trip, or what was sent just before. A thin path needs most of its round trip for sending, and its SACKs return
/// quickly: its round trip tells too little. Otherwise it is the shortest round trip, or what the path needs for all that is
/// in flight at a congestion window per round trip. With nothing in flight nothing of ours waits there, whatever it was when
/// the smoothed round trip was measured.
pub(crate) fn expected_rtt(path: &MeasuredPath, flight: u64, chunk: u64) -> Duration {
    let (smallest, srtt) = (path.smallest_rtt, path.srtt);
    let bytes = flight.saturating_add(chunk);
    let second = NANOS_PER_SECOND as u64;
    // A queue of its own packets shows that it delivers at its capacity, even if its controller has not detected that
    // yet.
    let measured = path.rate.filter(|_| path.has_queue()).map(|rate| rate.bytes_per_second);
    let carries = path.carries().or(measured).map(|rate| rate.max(1));
    // A path that grows delivers up to twice as much in the next round trip, and its rate says little of a single chunk.
    let known = match (carries, path.rate) {
        (Some(rate), _) => Some((rate, mul_div(chunk, second, rate))),
        (None, Some(grows)) => {
            let sending = path.serialisation;
            let window = if path.has_queue() { 0 } else { path.window_rate() };
            Some((grows_to(grows, window, chunk, sending), sending.as_nanos().into()))
        }
        (None, None) => None,
    };
    if let Some((rate, sending)) = known {
        let smallest = u128::from(smallest.as_nanos());
        let beyond = mul_div(bytes, second, rate).saturating_sub(smallest);
        let queue = beyond.max(path.backlog.as_nanos().into());
        let twice = smallest + sending + 2 * queue;
        return Duration::from_nanos(u64::try_from(twice).unwrap_or(u64::MAX));
    }
    let smallest = smallest + path.serialisation;
    if flight == 0 {
        return smallest;
    }
    let time = mul_div(bytes, srtt.as_nanos(), path.cwnd.max(1));
    let time = u64::try_from(time).unwrap_or(u64::MAX);
    Duration::from_nanos(time).min(srtt).max(smallest)
}

fn lead(own: Duration, rtt: Duration) -> Lead {
    if rtt > own + own / 8 {
        Lead::Clear
    } else if rtt > own + own / 32 {
        Lead::Small
    } else {
        Lead::None
    }
}

/// Whether a path with this round-trip time has a lower RTT than `rtt`, be it a little.
#[inline]
pub(crate) fn leads(own: Duration, rtt: Duration) -> bool {
    lead(own, rtt) != Lead::None
}

/// The proven rate of a path in bytes per second: the measured one, or a congestion window per round trip.
pub(crate) fn proven(rate: Option<KnownRate>, cwnd: u64, srtt: Duration) -> u128 {
    match rate {
        Some(rate) => rate.bytes_per_second.into(),
        None => mul_div(cwnd, NANOS_PER_SECOND as u64, srtt.as_nanos().max(1)),
    }
}

/// Whether the path carries so little beside another one that a single stall would cost more than it ever brings. Of the
/// others, what they carried at least.
pub(crate) fn is_negligible(path: &MeasuredPath, mut others: impl Iterator<Item = u128>) -> bool {
    if path.is_growing() {
        return false;
    }
    let own = path.proven();
    others.any(|other| is_small_part(own, other))
}

/// Whether a rate is next to nothing beside this one.
pub(crate) fn is_small_part(rate: u128, most: u128) -> bool {
    rate.saturating_mul(NEGLIGIBLE) < most
}

/// Whether what a negligible path brings repays that all later data waits for what it carries, however large the buffers are. A
/// transfer that has lasted for so long (`busy`) is expected to go on for as long again, and if it ends now, it has lost a
/// hundredth at most.
pub(crate) fn repays(rtt: Duration, busy: Duration) -> bool {
    rtt * REPAYS_AFTER <= busy
}

/// Whether other paths with lower RTTs would fill the buffer while the chunk is on its way.
///
/// A path whose RTT is only a little lower has to show that it would: a full buffer makes every transfer as slow as its longest
/// round trip, but what a window could grow to counts only where the difference is clear.
pub(crate) fn would_block(path: &SlowPath<'_>, others: &[MeasuredPath]) -> bool {
    let mut meanwhile = 0u128;
    for other in others {
        let rtt = other.lasts_beside(path);
        let space = match other.lead_over(rtt) {
            Lead::Clear => path.buffer,
            Lead::Small => 0,
            Lead::None => continue,
        };
        let takes = match path.waits {
            Waits::Everything => other.sends_in(rtt, space),
            Waits::Nothing => other.keeps_in_flight(rtt, space),
        };
        meanwhile = meanwhile.saturating_add(takes);
    }
    let own = u128::from(path.in_flight) + u128::from(path.chunk);
    meanwhile > 0 && meanwhile.saturating_add(own) > u128::from(path.buffer)
}

/// Congestion window of a path that blocked one with a lower RTT.
pub(crate) fn penalized(cwnd: u64, unit: u64) -> u64 {
    (cwnd / 2).max(unit.min(cwnd))
}

/// Limits the penalty of a path to one per round-trip time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PenaltyInterval {
    /// No further penalty before; unset if there was none yet.
    ends: Option<Instant>,
}

impl PenaltyInterval {
    /// There was no penalty yet.
    pub(crate) const fn new() -> Self {
        Self { ends: None }
    }

    /// Whether the path may be penalised at `now`.
    pub(crate) fn is_over(&self, now: Instant) -> bool {
        self.ends.is_none_or(|ends| now >= ends)
    }

    /// The path was penalised at `now`: the next penalty is possible one round-trip time later.
    pub(crate) fn begin(&mut self, now: Instant, round_trip: Duration) {
        self.ends = Some(now + round_trip);
    }
}

#[cfg(test)]
mod tests;
