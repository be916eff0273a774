//! Sending no faster than at a rate.

use std::time::Duration;

use polypath_units::BitRate;
use tokio::time::{Instant, sleep_until};

/// Time that a sender may be behind and make up for.
const CATCH_UP: Duration = Duration::from_millis(200);

/// Spreads content over time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pace {
    rate: Option<BitRate>,
    /// When the next content may be sent.
    next: Option<Instant>,
}

impl Pace {
    /// At this rate, or as fast as it goes.
    pub(crate) fn of(rate: Option<BitRate>) -> Self {
        Self { rate: rate.filter(|rate| !rate.is_zero()), next: None }
    }

    /// Waits until `bytes` more may be sent.
    pub(crate) async fn wait(&mut self, bytes: u64) {
        let Some(rate) = self.rate else { return };
        let now = Instant::now();
        // After a pause it does not send all at once what it could have sent meanwhile.
        let earliest = now.checked_sub(CATCH_UP).unwrap_or(now);
        let next = self.next.unwrap_or(now).max(earliest);
        let takes = bytes as f64 * 8.0 / rate.as_bits_per_second() as f64;
        self.next = Some(next + Duration::try_from_secs_f64(takes).unwrap_or(Duration::MAX / 4));
        sleep_until(next).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn seconds(pace: &mut Pace, messages: u32) -> u64 {
        let begin = Instant::now();
        for _ in 0..messages {
            pace.wait(1000).await;
        }
        begin.elapsed().as_millis() as u64 / 1000
    }

    #[tokio::test(start_paused = true)]
    async fn a_rate_is_kept_and_pauses_are_not_made_up_for() {
        let mut pace = Pace::of(Some(BitRate::from_bits_per_second(80_000)));
        assert_eq!(seconds(&mut pace, 101).await, 10);
        tokio::time::sleep(Duration::from_secs(100)).await;
        assert!((9..=10).contains(&seconds(&mut pace, 101).await));
        assert_eq!(seconds(&mut Pace::of(None), 100_000).await, 0);
        assert_eq!(seconds(&mut Pace::of(Some(BitRate::from_bits_per_second(0))), 1000).await, 0);
    }
}
