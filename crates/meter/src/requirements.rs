//! Requirements for results, and whether they are met.

use std::time::Duration;

use polypath_units::BitRate;

use crate::document::{BothSides, End, Threshold};

/// Requirements for the results of a measurement.
///
/// ```
/// use std::time::Duration;
///
/// use polypath_meter::Requirements;
/// use polypath_meter::document::End;
///
/// let requirements = Requirements::new().gain(1.2).p99(Duration::from_millis(200));
/// // What is unknown is not met.
/// assert!(requirements.judge(&End::default()).iter().all(|threshold| !threshold.met));
/// ```
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Requirements {
    rate: Option<BitRate>,
    gain: Option<f64>,
    p99: Option<Duration>,
}

impl Requirements {
    /// No requirements.
    pub fn new() -> Self {
        Self::default()
    }

    /// Least rate of what is received, in each direction. Default: none.
    #[must_use]
    pub fn rate(mut self, rate: impl Into<Option<BitRate>>) -> Self {
        self.rate = rate.into();
        self
    }

    /// Least rate of what is received, as a ratio to that over the best path alone ([`Gain`](crate::document::Gain)). Default:
    /// none.
    #[must_use]
    pub fn gain(mut self, ratio: impl Into<Option<f64>>) -> Self {
        self.gain = ratio.into();
        self
    }

    /// Largest 99th percentile of the one-way delays of each flow. Default: none.
    #[must_use]
    pub fn p99(mut self, delay: impl Into<Option<Duration>>) -> Self {
        self.p99 = delay.into();
        self
    }

    /// Compares every requirement with the results. What is unknown is not met.
    pub fn judge(&self, end: &End) -> Vec<Threshold> {
        judge(self, end)
    }
}

fn judge(required: &Requirements, end: &End) -> Vec<Threshold> {
    let mut thresholds = Vec::new();
    let at_least = |name: &str, required: f64, measured: Option<f64>| {
        let met = measured.is_some_and(|measured| measured >= required);
        Threshold { name: name.to_owned(), required, measured, met }
    };
    if let Some(rate) = required.rate {
        thresholds.push(at_least("rate", rate.as_bits_per_second() as f64, end.received_rate()));
    }
    if let Some(gain) = required.gain {
        let measured = end.gain.as_ref().map(|gain| gain.ratio);
        thresholds.push(at_least("gain", gain, measured));
    }
    if let Some(longest) = required.p99 {
        let measured = slowest(end);
        let required = longest.as_secs_f64();
        let met = measured.is_some_and(|measured| measured <= required);
        thresholds.push(Threshold { name: "p99".to_owned(), required, measured, met });
    }
    thresholds
}

/// The largest 99th percentile of the delays of a flow, in seconds; nothing where a flow has none in a direction that was
/// planned, be it that nothing of it came or counts.
fn slowest(end: &End) -> Option<f64> {
    let p99 = |both: &BothSides| {
        let counts = both.receiver.as_ref().filter(|report| !report.omitted)?;
        Some(counts.delay?.p99_us)
    };
    let all: Option<Vec<u64>> = end.streams.iter().map(p99).collect();
    Some(all?.into_iter().max()? as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Delay, FlowDirection, Gain, StreamReport, Sum};

    fn required(rate: Option<&str>, gain: Option<f64>) -> Requirements {
        let rate: Option<BitRate> = rate.map(|rate| rate.parse().unwrap());
        Requirements::new().rate(rate).gain(gain).p99(Duration::from_millis(1))
    }

    fn sum(bits_per_second: f64) -> Option<Sum> {
        Some(Sum { bits_per_second, ..Sum::default() })
    }

    #[test]
    fn what_is_unknown_is_not_met() {
        let verdicts = judge(&required(Some("1 bit/s"), Some(1.0)), &End::default());
        assert_eq!(verdicts.len(), 3);
        assert!(verdicts.iter().all(|verdict| !verdict.met && verdict.measured.is_none()));
    }

    #[test]
    fn the_slower_direction_decides() {
        let mut end = End { sum_received: sum(3e6), ..End::default() };
        assert_eq!(end.received_rate(), Some(3e6));
        end.sum_sent_bidir_reverse = sum(9e6);
        assert_eq!(end.received_rate(), None, "the other side did not report");
        end.sum_received_bidir_reverse = sum(2e6);
        let met = |rate| judge(&required(Some(rate), None), &end)[0].met;
        assert!(met("2 Mbit/s") && !met("2.5 Mbit/s"));
        end.sum_received_bidir_reverse = sum(2e6).map(|sum| Sum { omitted: true, ..sum });
        assert_eq!(end.received_rate(), None, "it does not count");
    }

    #[test]
    fn every_flow_has_to_have_delays() {
        let delay = |p99_us| Some(Delay { p99_us, ..Delay::default() });
        let received = |delay| Some(StreamReport { delay, ..StreamReport::default() });
        let omitted = StreamReport { delay: delay(300), omitted: true, ..StreamReport::default() };
        for (receivers, measured) in [
            (vec![received(delay(300)), received(delay(700))], Some(0.0007)),
            (vec![received(delay(300)), received(None)], None),
            (vec![None, received(delay(300))], None),
            (vec![Some(omitted)], None),
            (vec![], None),
        ] {
            let flow =
                |receiver| BothSides { direction: FlowDirection::ToServer, sender: None, receiver };
            let streams = receivers.into_iter().map(flow).collect();
            let end = End { streams, ..End::default() };
            let verdict = &judge(&required(None, None), &end)[0];
            assert_eq!((verdict.measured, verdict.met), (measured, measured.is_some()));
        }
    }

    #[test]
    fn gain_is_a_ratio() {
        let gain = Gain { ratio: 1.5, bits_per_second: 3e6, alone: Vec::new() };
        let end = End { gain: Some(gain), ..End::default() };
        assert!(judge(&required(None, Some(1.5)), &end)[0].met);
        assert!(!judge(&required(None, Some(1.6)), &end)[0].met);
    }
}
