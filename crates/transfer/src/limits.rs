//! How slow a peer may be: neither silence nor a trickle can hold a transfer up for ever.

use std::time::Duration;

use polypath::IdleWatch;
use polypath_units::BitRate;
use thiserror::Error;

/// How slow a peer may be while it is waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PeerLimits {
    /// Longest time without any progress.
    pub idle_timeout: Duration,
    /// Least rate; `None`: any progress is enough.
    pub min_rate: Option<MinRate>,
}

impl Default for PeerLimits {
    /// Those of `polypath receive`: 300 s without progress, and 8 kbit/s over 300 s.
    fn default() -> Self {
        let rate = BitRate::from_bits_per_second(8000);
        let min_rate = MinRate { rate, span: Duration::from_secs(300) };
        Self { idle_timeout: Duration::from_secs(300), min_rate: Some(min_rate) }
    }
}

/// A least rate, required of the mean over each span of waiting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MinRate {
    /// Rate of user data.
    pub rate: BitRate,
    /// Time of waiting over which the mean is taken. It should be long enough that interruptions of a path do not matter.
    pub span: Duration,
}

/// Why a peer is not waited for any longer.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum Stalled {
    /// It made no progress for the idle timeout, which is given.
    #[error("the peer was silent for {} s", .0.as_secs())]
    Idle(Duration),
    /// It was slower than the least rate.
    #[error("the peer was slower than {} for {} s", .0.rate, .0.span.as_secs())]
    TooSlow(MinRate),
}

/// Watches a peer. Only time spent waiting for it counts: it cannot help a slow disk of ours.
#[derive(Clone, Debug)]
pub(crate) struct Watch {
    idle: IdleWatch,
    min_rate: Option<MinRate>,
    /// Time of the present span.
    spent: Duration,
    /// Bytes when it began.
    bytes_before: u64,
}

impl Watch {
    /// A watch over a peer that has moved `bytes` already.
    pub(crate) fn new(limits: PeerLimits, bytes: u64) -> Self {
        Self {
            idle: IdleWatch::new(limits.idle_timeout, bytes),
            min_rate: limits.min_rate,
            spent: Duration::ZERO,
            bytes_before: bytes,
        }
    }

    /// How long to wait before the next look.
    pub(crate) fn next_look(&self) -> Duration {
        let idle = self.idle.next_look();
        match self.min_rate {
            Some(min_rate) => idle.min(min_rate.span.saturating_sub(self.spent)),
            None => idle,
        }
    }

    /// Looks at the peer after `waited` more without what is waited for; `bytes` are all that have been moved so far.
    pub(crate) fn look(&mut self, waited: Duration, bytes: u64) -> Result<(), Stalled> {
        if self.idle.look(waited, bytes) {
            return Err(Stalled::Idle(self.idle.limit()));
        }
        self.check_rate(waited, bytes)
    }

    /// The same when what was waited for has come after `waited` more, which is progress.
    pub(crate) fn arrived(&mut self, waited: Duration, bytes: u64) -> Result<(), Stalled> {
        self.idle.look(waited, bytes);
        self.idle.progressed();
        self.check_rate(waited, bytes)
    }

    fn check_rate(&mut self, waited: Duration, bytes: u64) -> Result<(), Stalled> {
        let Some(min_rate) = self.min_rate else { return Ok(()) };
        self.spent += waited;
        if self.spent >= min_rate.span {
            // What is required of the whole time, which a late look may have made longer.
            let least = min_rate.rate.bytes_in(nanoseconds(self.spent));
            if bytes - self.bytes_before < least.as_bytes() {
                return Err(Stalled::TooSlow(min_rate));
            }
            self.spent = Duration::ZERO;
            self.bytes_before = bytes;
        }
        Ok(())
    }
}

fn nanoseconds(time: Duration) -> polypath_units::Duration {
    polypath_units::Duration::from_nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn watch(idle: u64, min_rate: Option<(u64, u64)>) -> Watch {
        let min_rate = min_rate.map(|(bits, span)| MinRate {
            rate: BitRate::from_bits_per_second(bits),
            span: SECOND * span as u32,
        });
        Watch::new(PeerLimits { idle_timeout: SECOND * idle as u32, min_rate }, 1000)
    }

    /// Looks every second at a peer that moves so many bytes in each; gives the number of checks before it is abandoned.
    fn seconds(watch: &mut Watch, bytes: impl IntoIterator<Item = u64>) -> (u64, String) {
        let mut total = 1000;
        for (second, moved) in (0..).zip(bytes) {
            total += moved;
            if let Err(error) = watch.look(SECOND, total) {
                return (second + 1, error.to_string());
            }
        }
        (0, "patient".to_owned())
    }

    #[test]
    fn silence_is_given_up_and_any_progress_ends_it() {
        assert_eq!(seconds(&mut watch(3, None), [0; 5]), (3, "the peer was silent for 3 s".into()));
        let mut now_and_then = watch(3, None);
        assert_eq!(seconds(&mut now_and_then, [0, 0, 1].repeat(100)).0, 0);
        assert_eq!(seconds(&mut watch(3, None), [1, 0, 0, 0]).0, 4);
    }

    #[test]
    fn a_trickle_is_given_up_at_the_end_of_a_span() {
        // 80 bit/s over 10 s are 100 bytes.
        let told = "the peer was slower than 80 bit/s for 10 s".to_owned();
        assert_eq!(seconds(&mut watch(3, Some((80, 10))), [9; 20]), (10, told));
        assert_eq!(seconds(&mut watch(3, Some((80, 10))), [10; 1000]).0, 0);
        assert_eq!(seconds(&mut watch(3, None), [1; 1000]).0, 0);
    }

    #[test]
    fn a_burst_pays_for_a_pause_within_its_span_only() {
        let burst = || [100].into_iter().chain([1; 9]);
        assert_eq!(seconds(&mut watch(3, Some((80, 10))), burst()).0, 0);
        assert_eq!(seconds(&mut watch(3, Some((80, 10))), burst().chain([1; 20])).0, 20);
    }

    #[test]
    fn what_comes_is_no_silence_but_has_to_come_fast_enough() {
        let mut watch = watch(3, Some((80, 10)));
        // Messages that had arrived before they were waited for.
        for _ in 0..100 {
            watch.arrived(Duration::ZERO, 1000).unwrap();
        }
        for _ in 0..4 {
            watch.arrived(SECOND * 2, 1000).unwrap();
        }
        watch.arrived(SECOND * 2 - SECOND / 10, 1000).unwrap();
        assert_eq!(watch.next_look(), SECOND / 10, "what is left of the span");
        assert!(watch.arrived(SECOND / 10, 1000).is_err());
    }

    #[test]
    fn a_late_look_asks_for_the_whole_time() {
        let mut late = watch(60, Some((80, 10)));
        assert!(late.look(SECOND * 20, 1000 + 199).is_err());
        let mut late = watch(60, Some((80, 10)));
        late.look(SECOND * 20, 1000 + 200).unwrap();
        assert!(late.look(SECOND * 9, 1000 + 200).is_ok(), "a new span");
    }

    #[test]
    fn silence_is_noticed_soon_after_it_is_due() {
        assert_eq!(watch(60, None).next_look(), SECOND);
        let mut watch = watch(5, None);
        assert_eq!(watch.next_look(), SECOND / 2);
        let (mut waited, mut bytes) = (Duration::ZERO, 1000);
        let given_up = loop {
            let look = watch.next_look();
            waited += look;
            // Something moves in the first second, then never again.
            bytes += u64::from(waited <= SECOND);
            if watch.look(look, bytes).is_err() {
                break waited;
            }
        };
        assert_eq!(given_up, SECOND * 6);
    }
}
