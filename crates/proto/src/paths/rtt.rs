//! Round-trip time and retransmission timeout of a path (RFC 9260 section 6.3.1).

#[cfg(test)]
mod tests;

use crate::config::{ControlRtt, Rto, SharedConfig};
use crate::{Duration, Instant};

/// How long a measurement of data is believed on a path that carries none, when control chunks tell something else.
const BELIEVED: Duration = Duration::from_secs(10);

/// Estimator of one path.
#[derive(Clone, Debug)]
pub(crate) struct RttEstimator {
    config: SharedConfig,
    /// Smoothed round-trip time and its variation in nanoseconds.
    smoothed: Option<(f64, f64)>,
    /// The former in whole nanoseconds, which is asked for more often than it changes.
    srtt: Duration,
    smallest: Duration,
    /// Smallest sample of the largest packets: what small ones take says little of how long links need to send a full one.
    smallest_full: Duration,
    /// Bytes of the largest chunk of these; 0 if there was none. Two fields, because each path keeps them.
    full_bytes: u32,
    /// What is known is an estimate, and not even control chunks have measured the path.
    is_guess: bool,
    /// Smallest sample of control chunks.
    smallest_control: Duration,
    rto: Duration,
    /// When data was measured last.
    of_data: Option<Instant>,
}

/// Samples of the largest packets.
#[derive(Clone, Copy, Debug)]
struct FullPackets {
    /// The largest chunk.
    bytes: u32,
    smallest: Duration,
}

impl FullPackets {
    /// With a further sample: it counts if its chunk is about as large, and counts alone if it is larger.
    fn joined(self, other: Self) -> Self {
        let is_larger = |one: u32, other: u32| one - one / 8 > other;
        if is_larger(self.bytes, other.bytes) {
            self
        } else if is_larger(other.bytes, self.bytes) {
            other
        } else {
            let bytes = self.bytes.max(other.bytes);
            Self { bytes, smallest: self.smallest.min(other.smallest) }
        }
    }
}

impl RttEstimator {
    pub(crate) fn new(config: &SharedConfig) -> Self {
        Self {
            config: config.clone(),
            smoothed: None,
            srtt: Duration::ZERO,
            smallest: Duration::MAX,
            smallest_full: Duration::MAX,
            full_bytes: 0,
            is_guess: false,
            smallest_control: Duration::MAX,
            rto: config.policies.rto.initial,
            of_data: None,
        }
    }

    /// Goes by the rules of another configuration from now on.
    pub(crate) fn take_rules(&mut self, config: &SharedConfig) {
        self.config = config.clone();
        self.rto = self.rto.max(self.rules().min).min(self.rules().max);
    }

    /// Takes a sample of a data chunk of so many bytes. It takes the place of what was known only from control chunks, where that is provisional.
    pub(crate) fn on_data_sample(&mut self, now: Instant, sample: Duration, bytes: u32) {
        let is_first = self.of_data.is_none() || self.is_guess;
        if self.control() == ControlRtt::Provisional && is_first {
            (self.smoothed, self.smallest, self.full_bytes) = (None, Duration::MAX, 0);
        }
        self.is_guess = false;
        let full = FullPackets { bytes: bytes.max(1), smallest: sample };
        let full = self.full().map_or(full, |known| known.joined(full));
        (self.full_bytes, self.smallest_full) = (full.bytes, full.smallest);
        self.of_data = Some(now);
        self.on_sample(sample);
    }

    /// Data of so many bytes was answered after this time by a SACK that took so long over another path. Returns an estimate of the round
    /// trip, which counts like a sample: the first one may contain the time in a queue, and this does not.
    ///
    /// It is at least what control chunks took. Where they have not measured the path, the way back counts as long as the way there, and
    /// the first sample takes the place of this guess.
    pub(crate) fn estimate(
        &mut self,
        now: Instant,
        answered: Duration,
        took: Duration,
        bytes: u32,
    ) -> Duration {
        let there = answered - took;
        let way_back = self.way_back();
        let round_trip = match way_back {
            Some(back) => (there + back).max(back * 2),
            None => (there * 2).max(answered),
        };
        // A bound may be known.
        let round_trip = self.srtt().map_or(round_trip, |srtt| srtt.max(round_trip));
        self.on_data_sample(now, round_trip, bytes);
        self.is_guess = way_back.is_none();
        round_trip
    }

    /// For tests of other parts: an estimator with these rules.
    #[cfg(test)]
    pub(crate) fn with_rules(rto: Rto, control_rtt: ControlRtt) -> Self {
        let mut config = crate::config::AssociationConfig::default();
        (config.policies.rto, config.policies.control_rtt) = (rto, control_rtt);
        Self::new(&config.shared())
    }

    fn rules(&self) -> &Rto {
        &self.config.policies.rto
    }

    fn control(&self) -> ControlRtt {
        self.config.policies.control_rtt
    }

    fn full(&self) -> Option<FullPackets> {
        let full = FullPackets { bytes: self.full_bytes, smallest: self.smallest_full };
        (full.bytes > 0).then_some(full)
    }

    /// Takes a sample of control chunks: where that is provisional, as a beginning, until data is measured, and anew when that
    /// was long ago.
    pub(crate) fn on_control_sample(&mut self, now: Instant, sample: Duration) {
        self.smallest_control = self.smallest_control.min(sample);
        if self.control() == ControlRtt::Counts {
            return self.on_sample(sample);
        }
        if !self.is_guess && self.of_data.is_some_and(|last| now.since(last) < BELIEVED) {
            // The path works: its timeout is what it was before it expired.
            return self.set_rto();
        }
        self.is_guess = false;
        if self.of_data.take().is_some() {
            (self.smoothed, self.smallest) = (None, Duration::MAX);
        }
        // Queues come and go, but links stay as fast as they are: data will take that much longer than this sample.
        self.on_sample(sample + self.serialisation());
    }

    /// A round trip of data probably takes at least so long, on a path that data has not measured. Returns whether that is news. What was
    /// the smallest sample remains that: the path may have lost what would have been answered sooner.
    pub(crate) fn on_data_bound(&mut self, least: Duration) -> bool {
        let is_news = self.of_data.is_none() && self.srtt().is_none_or(|srtt| srtt < least);
        if is_news {
            self.smoothed = None;
            self.on_sample(least);
        }
        is_news
    }

    /// Smoothed round-trip time of data, and the smallest of full packets, once there is a sample that is not provisional.
    pub(crate) fn of_data(&self) -> Option<(Duration, Duration)> {
        let is_known = self.control() == ControlRtt::Counts || self.of_data.is_some();
        is_known.then_some(self.srtt()?).zip(self.smallest_full())
    }

    /// Smoothed round-trip time, once there is a sample.
    pub(crate) fn srtt(&self) -> Option<Duration> {
        self.smoothed.map(|_| self.srtt)
    }

    /// How long an answer is expected to take: a smoothed round-trip time, or the timeout until there is a sample.
    pub(crate) fn expected(&self) -> Duration {
        self.srtt().unwrap_or(self.rto)
    }

    /// Smallest sample so far, once there is one.
    pub(crate) fn smallest(&self) -> Option<Duration> {
        self.smoothed.map(|_| self.smallest)
    }

    /// Smallest sample of control chunks, once there is one.
    pub(crate) fn smallest_control(&self) -> Option<Duration> {
        Some(self.smallest_control).filter(|smallest| *smallest < Duration::MAX)
    }

    /// How long a SACK takes over the path, which is small like a control chunk: half of the smallest sample so far of any kind, once there
    /// is one.
    pub(crate) fn way_back(&self) -> Option<Duration> {
        let smallest = self.smallest().map(|data| data.min(self.smallest_control));
        Some(smallest? / 2)
    }

    /// Smallest sample of the largest packets.
    fn smallest_full(&self) -> Option<Duration> {
        self.full().map(|full| full.smallest).or(self.smallest())
    }

    /// How much longer a round trip of data takes than one of control chunks, which are small: the time that the links of the path
    /// need to send a packet. Zero if one of both is unknown.
    pub(crate) fn serialisation(&self) -> Duration {
        self.full().map_or(Duration::ZERO, |full| full.smallest - self.smallest_control)
    }

    /// Bytes per second that the links of the path pass on, as the round trips of full packets tell where sending them takes a good part
    /// of the time: a quarter.
    pub(crate) fn links_pass_on(&self) -> Option<u64> {
        let (full, sending) = (self.full()?, self.serialisation());
        let tells = sending > Duration::ZERO && sending >= full.smallest / 4;
        tells.then(|| u64::from(full.bytes) * 1_000_000_000 / sending.as_nanos())
    }

    /// Retransmission timeout.
    pub(crate) fn rto(&self) -> Duration {
        self.rto
    }

    /// Takes a sample (rules C2, C3, C6, C7).
    fn on_sample(&mut self, sample: Duration) {
        self.smallest = self.smallest.min(sample);
        let r = sample.as_nanos() as f64;
        let Rto { alpha, beta, .. } = *self.rules();
        let (srtt, rttvar) = match self.smoothed {
            None => (r, r / 2.0),
            Some((srtt, rttvar)) => {
                let deviation = if srtt > r { srtt - r } else { r - srtt };
                ((1.0 - alpha) * srtt + alpha * r, (1.0 - beta) * rttvar + beta * deviation)
            }
        };
        self.smoothed = Some((srtt, rttvar));
        self.srtt = Duration::from_nanos(srtt as u64);
        self.set_rto();
    }

    fn set_rto(&mut self) {
        if self.smoothed.is_some() {
            self.rto = self.rto_without_backoff();
        }
    }

    /// Retransmission timeout as if none had expired since the last sample.
    pub(crate) fn rto_without_backoff(&self) -> Duration {
        let Some((srtt, rttvar)) = self.smoothed else { return self.rules().initial };
        // RFC 6298 section 2.3 has the granularity of the clock in the place of the margin.
        let above = (4.0 * rttvar).max(self.rules().margin.as_nanos() as f64);
        let rto = Duration::from_nanos((srtt + above) as u64);
        rto.max(self.rules().min).min(self.rules().max)
    }

    /// Doubles the timeout after it expired (rule E2).
    pub(crate) fn back_off(&mut self) {
        self.rto = (self.rto * 2).min(self.rules().max);
    }
}
