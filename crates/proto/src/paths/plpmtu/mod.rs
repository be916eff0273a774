//! Datagram packetization layer path MTU discovery of one path (RFC 8899): which sizes are probed when, and the
//! resulting MTU.
//!
//! Sizes are those of IP packets, including headers, as everywhere in a path. A probe is a HEARTBEAT with a PAD chunk,
//! so no data depends on it.
//!
//! Three choices where the standard leaves room or is widened:
//!
//! * PROBE_TIMER is the path's RTO, and a second at least. Section 5.1.1 wants 15 s where nothing is known of the path;
//!   SCTP measures round trips and waits as long for any other HEARTBEAT.
//! * MAX_PROBES losses of a size bound the search instead of ending it (section 5.3.1: "a new probe of the same size or
//!   any other size (determined by the search algorithm)"), so that a path of 1400 bytes does not stay at the base size
//!   because 1500 failed.
//! * T3-rtx raises a doubt about the MTU (section 4.3, third indicator); probes of the present size remove it, or
//!   confirm it together with further expiries. An acknowledged PL has no CONFIRMATION_TIMER (section 6.2.1.3).

mod search;

use crate::{Duration, Instant};

/// MAX_PROBES (RFC 8899 section 5.1.2).
const MAX_PROBES: u8 = 3;
/// BASE_PLPMTU: bytes of an SCTP packet.
const BASE_PLPMTU: u32 = 1200;
/// PMTU_RAISE_TIMER (RFC 8899 section 5.1.1).
pub(crate) const RAISE_INTERVAL: Duration = Duration::from_secs(600);
/// Least PROBE_TIMER (RFC 8899 section 5.1.1).
const LEAST_PROBE_TIMER: Duration = Duration::from_secs(1);

/// Sizes of packets that are tried, in bytes, IP header included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SizeLimits {
    /// MIN_PLPMTU.
    min: u32,
    /// BASE_PLPMTU.
    base: u32,
    /// MAX_PLPMTU.
    max: u32,
}

impl SizeLimits {
    /// For packets with `headers` bytes of IP and UDP, at most `max` bytes long; `least` is what every path of that IP
    /// version carries.
    pub(crate) fn new(headers: u32, least: u32, max: u32) -> Self {
        let base = (BASE_PLPMTU + headers).max(least).min(max);
        Self { min: least.min(base), base, max }
    }
}

/// What is known of the path's times when a probe is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Timing {
    /// Smoothed round-trip time, or a substitute.
    pub(crate) rtt: Duration,
    /// Retransmission timeout.
    pub(crate) rto: Duration,
}

/// Whether the path has carried data since the search ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Traffic {
    Some,
    None,
}

/// States of RFC 8899 section 5.2.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum PlpmtuState {
    /// The path is not known to work.
    Disabled,
    /// The base size is to be confirmed.
    Base,
    /// Larger sizes are tried.
    Search,
    /// Found.
    Complete,
    /// The path does not carry the base size.
    Error(Floor),
}

/// Whether the least size was seen to pass: until then the path may just as well carry nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Floor {
    Unproven,
    Proven,
}

/// A probe on its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct MtuProbe {
    nonce: u64,
    size: u32,
    sent: Instant,
    /// When it counts as lost.
    due: Instant,
}

/// What was done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Counts {
    /// Probes sent.
    pub(crate) sent: u64,
    /// Probes not answered in time.
    pub(crate) lost: u64,
    /// Times that the MTU fell to the base size because it did not pass any more.
    pub(crate) black_holes: u64,
}

/// The discovery on one path.
#[derive(Clone, Debug)]
pub(crate) struct Plpmtu {
    limits: SizeLimits,
    phase: PlpmtuState,
    /// The path is doubtful: nothing is sent and nothing is concluded.
    paused: bool,
    /// The MTU to use.
    mtu: u32,
    /// Nothing of this size or larger passes, as far as is known.
    too_big: u32,
    /// Size reported by a router.
    told: Option<u32>,
    /// PROBE_COUNT: losses of the present size in a row.
    lost: u8,
    /// Signs in a row that the present MTU does not pass any more.
    doubts: u8,
    probe: Option<MtuProbe>,
    /// When the next probe is sent, or the search begins again.
    next: Instant,
    /// Probes are a round-trip time apart (RFC 8899 section 8).
    spaced: Instant,
    /// Round-trip time of the last answer; the path's own estimate may be missing while it carries no data.
    rtt: Option<Duration>,
    pub(crate) counts: Counts,
}

impl Plpmtu {
    /// The discovery on a path that is not known to work yet.
    pub(crate) fn new(limits: SizeLimits) -> Self {
        Self {
            limits,
            phase: PlpmtuState::Disabled,
            paused: false,
            mtu: limits.max,
            too_big: limits.max + 1,
            told: None,
            lost: 0,
            doubts: 0,
            probe: None,
            next: Instant::ZERO,
            spaced: Instant::ZERO,
            rtt: None,
            counts: Counts::default(),
        }
    }

    /// The MTU to use; `None` as long as the path is not known to work.
    pub(crate) fn mtu(&self) -> Option<u32> {
        (self.phase != PlpmtuState::Disabled).then_some(self.mtu)
    }

    /// The value that the MTU may reach in the current search.
    pub(crate) fn sought(&self) -> u32 {
        match self.phase {
            PlpmtuState::Disabled | PlpmtuState::Base | PlpmtuState::Search => self.too_big - 1,
            PlpmtuState::Complete | PlpmtuState::Error(_) => self.mtu,
        }
    }

    /// The path works, for the first time or again.
    pub(crate) fn connect(&mut self) {
        if self.phase == PlpmtuState::Disabled {
            self.begin_base();
        } else if self.phase == PlpmtuState::Base && self.lost >= MAX_PROBES {
            self.begin_error();
        } else if self.paused && self.doubts > 0 {
            self.next = Instant::ZERO;
        }
        self.paused = false;
    }

    /// The path is in doubt, so losses there say nothing about sizes.
    ///
    /// But data of the base size may repeatedly put it in doubt before three probes of that size are lost, while
    /// heartbeats make it work each time. These probes therefore count; at worst, smaller sizes are tried.
    pub(crate) fn pause(&mut self) {
        self.paused = true;
        if self.probe.take().is_some() && self.phase == PlpmtuState::Base {
            self.lost = self.lost.saturating_add(1);
        }
    }

    /// The path has failed after timeouts. If its MTU is in question, that may be why: the least size is tried, as slowly
    /// as heartbeats are.
    pub(crate) fn fail(&mut self) {
        self.paused = false;
        match self.phase {
            PlpmtuState::Search | PlpmtuState::Complete if self.doubts == 0 => self.disconnect(),
            PlpmtuState::Disabled => {}
            _ => {
                self.mtu = self.mtu.min(self.limits.base);
                self.begin_error();
            }
        }
    }

    /// Nothing can be sent on the path.
    pub(crate) fn disconnect(&mut self) {
        self.reset(PlpmtuState::Disabled, self.limits.max);
        self.paused = false;
    }

    /// When [`expire`](Self::expire) and [`take`](Self::take) have something to do.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        if self.paused || self.phase == PlpmtuState::Disabled {
            return None;
        }
        Some(self.probe.map_or(self.next.max(self.spaced), |probe| probe.due))
    }

    /// Handles expired timers.
    pub(crate) fn expire(&mut self, now: Instant, traffic: Traffic) {
        if self.deadline().is_none_or(|due| due > now) {
            return;
        }
        if let Some(probe) = self.probe.take() {
            self.on_lost(now, probe.size);
        } else if self.wanted().is_none() {
            match traffic {
                Traffic::Some => self.begin_raise(now),
                Traffic::None => self.next = now + RAISE_INTERVAL,
            }
        }
    }

    /// The size of a probe that is to be sent now.
    pub(crate) fn take(&self, now: Instant) -> Option<u32> {
        let is_due = self.deadline().is_some_and(|due| due <= now);
        self.wanted().filter(|_| is_due && self.probe.is_none())
    }

    /// A probe of the size that [`take`](Self::take) gave went out.
    pub(crate) fn on_sent(&mut self, now: Instant, nonce: u64, size: u32, timing: Timing) {
        let due = now + timing.rto.max(LEAST_PROBE_TIMER);
        self.probe = Some(MtuProbe { nonce, size, sent: now, due });
        self.spaced = now + self.rtt.unwrap_or(timing.rtt);
        self.counts.sent += 1;
    }

    /// A probe was answered. Says whether it is the one that is awaited.
    pub(crate) fn on_answer(&mut self, now: Instant, nonce: u64) -> bool {
        let Some(MtuProbe { size, sent, .. }) = self.probe.take_if(|probe| probe.nonce == nonce)
        else {
            return false;
        };
        self.rtt = Some(now.since(sent));
        self.spaced = now;
        self.lost = 0;
        self.doubts = 0;
        self.told = self.told.filter(|told| *told > size);
        match self.phase {
            PlpmtuState::Base => self.begin_search(size),
            PlpmtuState::Error(_) if size >= self.limits.base => self.begin_search(size),
            PlpmtuState::Error(_) => {
                self.mtu = size;
                self.phase = PlpmtuState::Error(Floor::Proven);
            }
            PlpmtuState::Search | PlpmtuState::Complete => self.mtu = self.mtu.max(size),
            PlpmtuState::Disabled => {}
        }
        self.go_on(now);
        true
    }

    /// T3-rtx expired: the data in flight was not acknowledged in time.
    pub(crate) fn on_data_timeout(&mut self, now: Instant) {
        if matches!(
            self.phase,
            PlpmtuState::Disabled | PlpmtuState::Base | PlpmtuState::Error(Floor::Unproven)
        ) {
            return;
        }
        // The present size comes first.
        self.probe = self.probe.filter(|probe| probe.size == self.mtu);
        self.next = now;
        self.doubt();
    }

    /// A router, or this host, says that a packet was larger than the `told` bytes that go through (RFC 8899 section
    /// 4.6.2).
    pub(crate) fn on_too_big(&mut self, now: Instant, told: u32) {
        let largest = self.probe.map_or(0, |probe| probe.size).max(self.mtu);
        if self.phase == PlpmtuState::Disabled || told < self.limits.min || told >= largest {
            return;
        }
        let is_in_error = matches!(self.phase, PlpmtuState::Error(_));
        if told < self.limits.base && self.phase == PlpmtuState::Base {
            self.begin_error();
        } else if told < self.limits.base && !is_in_error {
            // No message alone makes the MTU smaller than that (section 8).
            return self.begin_base();
        } else if told < self.mtu && !is_in_error {
            self.begin_search(self.limits.base);
        } else if told < self.mtu {
            self.begin_error();
        }
        self.too_big = told + 1;
        self.told = Some(told);
        self.lost = 0;
        self.probe = None;
        self.next = now;
        self.go_on(now);
    }

    /// The size that is to be probed next, if any.
    fn wanted(&self) -> Option<u32> {
        let SizeLimits { min, base, max } = self.limits;
        let larger = |max| {
            let told = self.told.filter(|told| *told > self.mtu && *told <= max);
            told.or_else(|| search::next(self.mtu, self.too_big, max))
        };
        match self.phase {
            PlpmtuState::Disabled => None,
            PlpmtuState::Base => Some(base),
            PlpmtuState::Error(Floor::Unproven) => Some(min),
            _ if self.doubts > 0 => Some(self.mtu),
            PlpmtuState::Error(Floor::Proven) => larger(base),
            PlpmtuState::Search => larger(max),
            PlpmtuState::Complete => None,
        }
    }

    fn on_lost(&mut self, now: Instant, size: u32) {
        self.counts.lost += 1;
        self.lost = self.lost.saturating_add(1);
        match self.phase {
            PlpmtuState::Base if self.lost >= MAX_PROBES => self.begin_error(),
            PlpmtuState::Disabled | PlpmtuState::Base | PlpmtuState::Error(Floor::Unproven) => {}
            _ if self.doubts > 0 => self.doubt(),
            _ if self.lost >= MAX_PROBES => {
                self.too_big = size;
                self.told = None;
                self.lost = 0;
            }
            _ => {}
        }
        self.go_on(now);
    }

    /// One more sign that the present MTU does not pass.
    fn doubt(&mut self) {
        self.doubts += 1;
        if self.doubts >= MAX_PROBES {
            self.counts.black_holes += 1;
            // What has failed is not tried once more as the base size: with several paths, their timeouts might end the association.
            match self.mtu <= self.limits.base {
                true => self.begin_error(),
                false => self.begin_base(),
            }
        }
    }

    fn begin_base(&mut self) {
        self.mtu = self.mtu.min(self.limits.base);
        self.reset(PlpmtuState::Base, self.limits.max);
    }

    /// The base size does not pass. The MTU stays until the least size was seen to.
    fn begin_error(&mut self) {
        self.reset(PlpmtuState::Error(Floor::Unproven), self.limits.base);
    }

    fn begin_search(&mut self, mtu: u32) {
        self.mtu = mtu;
        self.reset(PlpmtuState::Search, self.limits.max);
    }

    /// The search begins again: the path may carry more by now.
    fn begin_raise(&mut self, now: Instant) {
        let (phase, max) = match self.phase {
            PlpmtuState::Complete => (PlpmtuState::Search, self.limits.max),
            phase => (phase, self.limits.base),
        };
        self.reset(phase, max);
        self.go_on(now);
    }

    fn reset(&mut self, phase: PlpmtuState, max: u32) {
        self.phase = phase;
        self.too_big = max + 1;
        self.told = None;
        self.lost = 0;
        self.doubts = 0;
        self.probe = None;
        self.next = Instant::ZERO;
    }

    /// After a step of the search: continues at once, or rests when there is nothing left to try.
    fn go_on(&mut self, now: Instant) {
        self.next = now;
        if self.probe.is_none() && self.wanted().is_none() {
            self.next = now + RAISE_INTERVAL;
            if self.phase == PlpmtuState::Search {
                self.phase = PlpmtuState::Complete;
            }
        }
    }
}

#[cfg(test)]
mod tests;
