//! What a server allows, and measurements that exceed it.

use std::time::Duration;

use polypath_units::BitRate;
use thiserror::Error;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

use crate::ensure::ensure;
use crate::proposal::{Extent, Proposal};
use crate::tally::Tally;
use crate::traffic::Traffic;

/// Rates are limited over this time: no burst is larger than the limit allows in it.
const LIMIT_SPAN: Duration = Duration::from_secs(5);
/// How often rates are looked at. A sender without limit is stopped when it has used up its span, not after it.
const LIMIT_LOOK: Duration = Duration::from_millis(100);
/// A measurement may last so much longer than the limit that its plan keeps: its last data are under way, and results.
const GRACE: Duration = Duration::from_secs(10);

/// How a measurement exceeds what a server allows.
#[derive(Clone, PartialEq, Debug, Error)]
#[non_exhaustive]
pub enum Excess {
    /// It would take too long.
    #[error("{seconds} s are more than this server's limit, {} s", limit.as_secs_f64())]
    Planned {
        /// Seconds that it would take.
        seconds: f64,
        /// Seconds that it may take.
        limit: Duration,
    },
    /// It takes longer than the limit, which is given.
    #[error("it takes longer than this server's limit, {} s", .0.as_secs_f64())]
    Duration(Duration),
    /// It carries, or would carry, too much.
    #[error("{bit_s:.0} bit/s are more than this server's limit, {limit}")]
    Rate {
        /// Rate of both directions together in bit/s.
        bit_s: f64,
        /// Rate that is allowed.
        limit: BitRate,
    },
}

/// What a server allows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Longest measurement.
    pub duration: Option<Duration>,
    /// Largest rate of a measurement, both directions together.
    pub bitrate: Option<BitRate>,
    /// Longest time without progress.
    pub idle: Duration,
}

impl Limits {
    /// Whether a server allows what is proposed.
    pub fn check(&self, plan: &Proposal) -> Result<(), Excess> {
        if let (Some(longest), Extent::Seconds(seconds)) = (self.duration, plan.extent) {
            let seconds = seconds + plan.omit_s;
            let excess = Excess::Planned { seconds, limit: longest };
            ensure(seconds <= longest.as_secs_f64(), excess)?;
        }
        if let Some(limit) = self.bitrate {
            let sides =
                plan.flows.iter().flat_map(|flow| flow.to_server.iter().chain(&flow.to_client));
            let wanted: f64 = sides.filter_map(Traffic::mean_bit_s).sum();
            let excess = Excess::Rate { bit_s: wanted, limit };
            ensure(wanted <= limit.as_bits_per_second() as f64, excess)?;
        }
        Ok(())
    }
}

/// Waits until a measurement is more than the server allows.
pub(crate) async fn exceed(tally: &Tally, limits: &Limits) -> Excess {
    let begin = Instant::now();
    let (mut bytes, mut looked) = (0, begin);
    let mut surplus = Surplus::default();
    let mut ticks = interval(LIMIT_LOOK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks.tick().await;
    loop {
        let longest = limits.duration.unwrap_or(Duration::MAX);
        let left = longest.saturating_add(GRACE).saturating_sub(begin.elapsed());
        if timeout(left, ticks.tick()).await.is_err() {
            return Excess::Duration(longest);
        }
        let sent: u64 = tally.sent_counts().iter().map(|count| count.bytes).sum();
        let received: u64 = tally.lock().received.iter().map(|count| count.bytes).sum();
        let now = sent + received;
        let span = looked.elapsed();
        if let Some(limit) = limits.bitrate
            && surplus.add(now - bytes, span, limit)
        {
            let rate = now as f64 * 8.0 / begin.elapsed().as_secs_f64();
            return Excess::Rate { bit_s: rate, limit };
        }
        (bytes, looked) = (now, looked + span);
    }
}

/// Bits beyond what a limit allowed. A rate that equals the limit comes a little unevenly, and what an outage held up
/// comes at once.
#[derive(Debug, Default)]
struct Surplus(f64);

impl Surplus {
    /// Adds what came in `span`; gives whether it is more now than the limit allows in [`LIMIT_SPAN`].
    fn add(&mut self, bytes: u64, span: Duration, limit: BitRate) -> bool {
        let limit = limit.as_bits_per_second() as f64;
        self.0 = (self.0 + bytes as f64 * 8.0 - limit * span.as_secs_f64()).max(0.0);
        self.0 > limit * LIMIT_SPAN.as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payload::Role;
    use crate::proposal::tests::proposal;

    #[tokio::test(start_paused = true)]
    async fn whoever_sends_all_it_can_is_stopped_when_its_share_is_used_up() {
        let limit = BitRate::from_bits_per_second(8_000_000);
        let limits = Limits { duration: None, bitrate: Some(limit), idle: Duration::MAX };
        let tally = Tally::new(&proposal(1), Role::Server);
        // Five megabytes are what five seconds allow.
        tally.sent(0, 500, 5_000_000, 0);
        let mut exceeded = std::pin::pin!(exceed(&tally, &limits));
        assert!(timeout(Duration::from_secs(3), &mut exceeded).await.is_err());
        tally.sent(0, 500, 5_000_000, 0);
        let begin = Instant::now();
        let error = exceeded.await.to_string();
        assert!(error.contains("more than this server's limit, 8 Mbit/s"), "{error}");
        assert!(begin.elapsed() <= 2 * LIMIT_LOOK, "in the time of the test");
    }

    #[test]
    fn what_exceeds_a_rate_is_told_from_what_comes_unevenly() {
        let limit = BitRate::from_bits_per_second(8_000_000);
        let told = |megabytes: &[u64]| {
            let mut surplus = Surplus::default();
            megabytes.iter().position(|bytes| surplus.add(bytes * 1_000_000, LIMIT_SPAN, limit))
        };
        assert_eq!(told(&[5; 100]), None);
        assert_eq!(told(&[6, 4, 6, 4, 0, 10, 0, 10, 5]), None);
        assert_eq!(told(&[11]), Some(0));
        assert_eq!(told(&[0, 0, 0, 6, 6, 6, 6, 6, 6]), Some(8));
    }
}
