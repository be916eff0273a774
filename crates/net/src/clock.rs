//! Clock, randomness and probes for calls into the protocol.

use std::time;

use polypath_proto::{Cx, EarlyEvents, Instant, NoProbe, Probe};
use rand_chacha::ChaCha12Rng;
use rand_core::SeedableRng;

use crate::probe::Probes;

/// Monotonic time since an endpoint was bound.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    origin: time::Instant,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self { origin: time::Instant::now() }
    }

    pub(crate) fn now(self) -> Instant {
        Instant::from_nanos(u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// The system's form of an instant of this clock.
    pub(crate) fn to_system(self, instant: Instant) -> time::Instant {
        let nanos = time::Duration::from_nanos(instant.as_nanos());
        // Deadlines beyond the system's clock never expire.
        self.origin
            .checked_add(nanos)
            .unwrap_or_else(|| self.origin + time::Duration::from_secs(1 << 30))
    }
}

/// A cryptographically secure generator seeded by the operating system.
pub(crate) fn secure_rng() -> Result<ChaCha12Rng, getrandom::Error> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed)?;
    Ok(ChaCha12Rng::from_seed(seed))
}

/// Time, randomness and probes of an owner of protocol state. Time never runs backwards, even if the calling threads
/// read the clock in another order.
#[derive(Debug)]
pub(crate) struct Context {
    last: Instant,
    rng: ChaCha12Rng,
    probes: Probes,
}

impl Context {
    pub(crate) fn new(rng: ChaCha12Rng) -> Self {
        Self { last: Instant::ZERO, rng, probes: Probes::default() }
    }

    /// A separate context for an association, seeded from this one; it has no probes yet.
    pub(crate) fn fork(&mut self) -> Self {
        let rng = ChaCha12Rng::from_rng(&mut self.rng);
        Self { last: self.last, rng, probes: Probes::default() }
    }

    /// The time of the last call; in a new context, that of the last call of its parent before.
    pub(crate) fn last(&self) -> Instant {
        self.last
    }

    /// The probes of the owner.
    pub(crate) fn probes(&mut self) -> &mut Probes {
        &mut self.probes
    }

    /// Passes time, randomness, and the probes of `other` to a call on something whose context is `other`. Time runs
    /// backwards for neither.
    pub(crate) fn lend_both<R>(
        &mut self,
        other: &mut Self,
        now: Instant,
        call: impl FnOnce(&mut Cx<'_>) -> R,
    ) -> R {
        other.last = other.last.max(self.last).max(now);
        self.last = other.last;
        call(&mut Cx { now: self.last, rng: &mut self.rng, probe: other.probes.lend() })
    }

    /// Passes time and randomness to a call that may begin an association. Returns the association's events for its
    /// probes, if they are `wanted`.
    pub(crate) fn lend_early<R>(
        &mut self,
        now: Instant,
        wanted: bool,
        call: impl FnOnce(&mut Cx<'_>) -> R,
    ) -> (R, EarlyEvents) {
        self.last = self.last.max(now);
        let mut early = EarlyEvents::default();
        let probe: &mut dyn Probe = if wanted { &mut early } else { &mut NoProbe };
        let result = call(&mut Cx { now: self.last, rng: &mut self.rng, probe });
        (result, early)
    }

    /// Passes time, randomness and probes to `call`.
    pub(crate) fn lend<R>(&mut self, now: Instant, call: impl FnOnce(&mut Cx<'_>) -> R) -> R {
        self.last = self.last.max(now);
        call(&mut Cx { now: self.last, rng: &mut self.rng, probe: self.probes.lend() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_does_not_run_backwards() {
        let mut context = Context::new(ChaCha12Rng::from_seed([7; 32]));
        context.lend(Instant::from_nanos(50), |cx| assert_eq!(cx.now.as_nanos(), 50));
        context.lend(Instant::from_nanos(40), |cx| assert_eq!(cx.now.as_nanos(), 50));
        context.lend(Instant::from_nanos(60), |cx| assert_eq!(cx.now.as_nanos(), 60));
    }

    #[test]
    fn nor_where_two_are_concerned() {
        let new = |at| Context { last: at, ..Context::new(ChaCha12Rng::from_seed([7; 32])) };
        let (mut ours, mut theirs) = (new(Instant::ZERO), new(Instant::from_nanos(50)));
        for (now, lent) in [(40, 50), (60, 60)] {
            ours.lend_both(&mut theirs, Instant::from_nanos(now), |cx| {
                assert_eq!(cx.now.as_nanos(), lent);
            });
        }
        for mut context in [ours, theirs] {
            context.lend(Instant::ZERO, |cx| assert_eq!(cx.now.as_nanos(), 60));
        }
    }

    #[test]
    fn every_instant_has_a_system_time() {
        let clock = Clock::start();
        assert!(clock.to_system(Instant::FAR_FUTURE) > clock.to_system(Instant::ZERO));
    }

    #[test]
    fn forks_draw_different_numbers() {
        let mut context = Context::new(ChaCha12Rng::from_seed([7; 32]));
        let (mut a, mut b) = (context.fork(), context.fork());
        let draw = |context: &mut Context| context.lend(Instant::ZERO, |cx| cx.rng.next_u64());
        assert_ne!(draw(&mut a), draw(&mut b));
    }
}
