//! Round-trip time and retransmission timeout of a path (RFC 9260 section 6.3.1).

use crate::Duration;
use crate::config::Rto;

/// Shortest timeout: with none at all, timers would expire without time passing.
const LEAST: Duration = Duration::from_millis(1);

/// Estimator of one path.
#[derive(Clone, Debug)]
pub(crate) struct RttEstimator {
    config: Rto,
    /// Smoothed round-trip time and its variation in nanoseconds.
    smoothed: Option<(f64, f64)>,
    /// The former in whole nanoseconds, which is asked for more often than it changes.
    srtt: Duration,
    smallest: Duration,
    rto: Duration,
}

impl RttEstimator {
    pub(crate) fn new(config: Rto) -> Self {
        let least = |span: Duration| span.max(LEAST);
        let config = Rto {
            initial: least(config.initial),
            min: least(config.min),
            max: least(config.max),
            ..config
        };
        Self {
            config,
            smoothed: None,
            srtt: Duration::ZERO,
            smallest: Duration::MAX,
            rto: config.initial,
        }
    }

    /// Smoothed round-trip time, once there is a sample.
    pub(crate) fn srtt(&self) -> Option<Duration> {
        self.smoothed.map(|_| self.srtt)
    }

    /// Smallest sample so far, once there is one.
    pub(crate) fn smallest(&self) -> Option<Duration> {
        self.smoothed.map(|_| self.smallest)
    }

    /// Retransmission timeout.
    pub(crate) fn rto(&self) -> Duration {
        self.rto
    }

    /// Takes a sample (rules C2, C3, C6, C7).
    pub(crate) fn on_sample(&mut self, sample: Duration) {
        self.smallest = self.smallest.min(sample);
        let r = sample.as_nanos() as f64;
        let (srtt, rttvar) = match self.smoothed {
            None => (r, r / 2.0),
            Some((srtt, rttvar)) => {
                let deviation = if srtt > r { srtt - r } else { r - srtt };
                (
                    (1.0 - self.config.alpha) * srtt + self.config.alpha * r,
                    (1.0 - self.config.beta) * rttvar + self.config.beta * deviation,
                )
            }
        };
        self.smoothed = Some((srtt, rttvar));
        self.srtt = Duration::from_nanos(srtt as u64);
        let rto = Duration::from_nanos((srtt + 4.0 * rttvar) as u64);
        self.rto = rto.max(self.config.min).min(self.config.max);
    }

    /// Doubles the timeout after it expired (rule E2).
    pub(crate) fn back_off(&mut self) {
        self.rto = (self.rto * 2).min(self.config.max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Preset;

    fn estimator(min_ms: u64) -> RttEstimator {
        RttEstimator::new(Rto {
            min: Duration::from_millis(min_ms),
            ..Preset::Rfc9260.policies().rto
        })
    }

    #[test]
    fn samples_follow_the_formulas() {
        let mut rtt = estimator(1);
        assert_eq!(rtt.rto(), Duration::from_secs(1));
        // First sample: SRTT = R, RTTVAR = R/2, RTO = SRTT + 4 RTTVAR = 3 R.
        rtt.on_sample(Duration::from_millis(100));
        assert_eq!(rtt.srtt(), Some(Duration::from_millis(100)));
        assert_eq!(rtt.rto(), Duration::from_millis(300));
        // RTTVAR = 3/4 50 + 1/4 |100 - 180| = 57.5; SRTT = 7/8 100 + 1/8 180 = 110; RTO = 110 + 230.
        rtt.on_sample(Duration::from_millis(180));
        assert_eq!(rtt.srtt(), Some(Duration::from_millis(110)));
        assert_eq!(rtt.rto(), Duration::from_millis(340));
    }

    #[test]
    fn bounds_and_backoff() {
        let mut rtt = estimator(1000);
        rtt.on_sample(Duration::from_millis(10));
        assert_eq!(rtt.rto(), Duration::from_secs(1), "RTO.Min");
        for expected in [2, 4, 8, 16, 32, 60, 60] {
            rtt.back_off();
            assert_eq!(rtt.rto(), Duration::from_secs(expected));
        }
        rtt.on_sample(Duration::from_millis(10));
        assert_eq!(rtt.rto(), Duration::from_secs(1), "a new sample ends the backoff");
        rtt.on_sample(Duration::from_secs(1000));
        assert_eq!(rtt.rto(), Duration::from_secs(60), "RTO.Max");
    }
}
