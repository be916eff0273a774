//! How long a peer is waited for: neither silence nor a trickle can hold a transfer up for ever.

use std::time::Duration;

use polypath_units::BitRate;
use thiserror::Error;

/// Longest time between two looks at a peer; with a shorter patience it is looked at ten times within it.
const LONGEST_LOOK: Duration = Duration::from_secs(1);
/// See [`LONGEST_LOOK`].
const LOOKS: u32 = 10;

/// What is asked of a peer while it is waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Patience {
    /// Longest time without any progress.
    pub idle: Duration,
    /// Least rate; `None`: any progress is enough.
    pub pace: Option<Pace>,
}

impl Default for Patience {
    /// That of `polypath receive`: a minute of silence, and 8 kbit/s over five minutes.
    fn default() -> Self {
        let rate = BitRate::from_bits_per_second(8000);
        let pace = Pace { rate, span: Duration::from_secs(300) };
        Self { idle: Duration::from_secs(60), pace: Some(pace) }
    }
}

/// A least rate, asked of the mean over each `span` of waiting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pace {
    /// User data per time.
    pub rate: BitRate,
    /// Long enough that interruptions of a path do not matter.
    pub span: Duration,
}

/// Why a peer was given up.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum Impatience {
    /// It made no progress at all.
    #[error("the peer was silent for {} s", .0.as_secs())]
    Silent(Duration),
    /// It made too little.
    #[error("the peer was slower than {} for {} s", .0.rate, .0.span.as_secs())]
    Slow(Pace),
}

/// What was seen of a peer. Only time spent waiting for it counts: it cannot help a slow disk of ours.
#[derive(Clone, Debug)]
pub(crate) struct Watch {
    patience: Patience,
    /// Bytes when the peer was looked at last, so far.
    bytes: u64,
    /// Time since then without any more.
    silent: Duration,
    /// Time of the present span.
    spent: Duration,
    /// Bytes when it began.
    bytes_before: u64,
}

/// Whether what was waited for has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wait {
    Goes,
    Over,
}

impl Watch {
    /// A watch over a peer that has moved `bytes` already.
    pub(crate) fn new(patience: Patience, bytes: u64) -> Self {
        Self { patience, bytes, silent: Duration::ZERO, spent: Duration::ZERO, bytes_before: bytes }
    }

    /// How long to wait before the next look. Silence begins at a look that saw something move, so it is noticed later
    /// than it is due by as much as this.
    pub(crate) fn next_look(&self) -> Duration {
        let idle = self.patience.idle;
        let silence = idle.saturating_sub(self.silent).min(idle / LOOKS).min(LONGEST_LOOK);
        match self.patience.pace {
            Some(pace) => silence.min(pace.span.saturating_sub(self.spent)),
            None => silence,
        }
    }

    /// Looks at the peer after `waited` more; `bytes` are all that have been moved so far. Gives an error when it is to
    /// be given up.
    pub(crate) fn look(
        &mut self,
        waited: Duration,
        bytes: u64,
        wait: Wait,
    ) -> Result<(), Impatience> {
        let moved = bytes != self.bytes || wait == Wait::Over;
        self.bytes = bytes;
        self.silent = if moved { Duration::ZERO } else { self.silent + waited };
        if self.silent >= self.patience.idle {
            return Err(Impatience::Silent(self.patience.idle));
        }
        let Some(pace) = self.patience.pace else { return Ok(()) };
        self.spent += waited;
        if self.spent >= pace.span {
            // What is asked of the whole time, which a late look may have made longer.
            let least = pace.rate.bytes_in(nanoseconds(self.spent));
            if bytes - self.bytes_before < least.as_bytes() {
                return Err(Impatience::Slow(pace));
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

    fn watch(idle: u64, pace: Option<(u64, u64)>) -> Watch {
        let pace = pace.map(|(bits, span)| Pace {
            rate: BitRate::from_bits_per_second(bits),
            span: SECOND * span as u32,
        });
        Watch::new(Patience { idle: SECOND * idle as u32, pace }, 1000)
    }

    /// Looks every second at a peer that moves so many bytes in each; gives the number of looks before it was given up.
    fn seconds(watch: &mut Watch, bytes: impl IntoIterator<Item = u64>) -> (u64, String) {
        let mut total = 1000;
        for (second, moved) in (0..).zip(bytes) {
            total += moved;
            if let Err(error) = watch.look(SECOND, total, Wait::Goes) {
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
            watch.look(Duration::ZERO, 1000, Wait::Over).unwrap();
        }
        for _ in 0..4 {
            watch.look(SECOND * 2, 1000, Wait::Over).unwrap();
        }
        watch.look(SECOND * 2 - SECOND / 10, 1000, Wait::Over).unwrap();
        assert_eq!(watch.next_look(), SECOND / 10, "what is left of the span");
        assert!(watch.look(SECOND / 10, 1000, Wait::Over).is_err());
    }

    #[test]
    fn a_late_look_asks_for_the_whole_time() {
        let mut late = watch(60, Some((80, 10)));
        assert!(late.look(SECOND * 20, 1000 + 199, Wait::Goes).is_err());
        let mut late = watch(60, Some((80, 10)));
        late.look(SECOND * 20, 1000 + 200, Wait::Goes).unwrap();
        assert!(late.look(SECOND * 9, 1000 + 200, Wait::Goes).is_ok(), "a new span");
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
            if watch.look(look, bytes, Wait::Goes).is_err() {
                break waited;
            }
        };
        assert_eq!(given_up, SECOND * 6);
    }
}
