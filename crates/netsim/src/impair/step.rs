//! Parameters of a channel that change at set times.

use polypath_units::{BitRate, ByteCount, Duration, Fraction, Instant};

/// A change of a channel. What it does not name stays as it is.
///
/// * A new **rate** holds for packets whose transmission starts from then on; the one being sent is sent to its end as it
///   was begun. A limit of the queue stays.
/// * A new **delay** holds for packets whose transmission starts from then on, and so does not
///   reach those that propagate already: packets are reordered when it gets shorter.
/// * A new probability of **loss** holds for packets that would arrive from then on.
/// * A new **MTU** holds for packets that are offered from then on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct Step {
    /// When, before anything else that happens at that instant but a begin or end of an outage.
    pub at: Instant,
    /// The new rate; must not be zero.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub rate: Option<BitRate>,
    /// The new propagation delay.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub delay: Option<Duration>,
    /// The new probability of uniform loss.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub uniform_loss: Option<Fraction>,
    /// The new MTU in bytes of IP packets.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub mtu: Option<ByteCount>,
}

/// A list of steps that makes no sense.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum StepError {
    /// Two steps at one time, or out of order.
    #[error(
        "the step at {at} is listed behind one at {earlier}: list steps in order of time, one for each"
    )]
    NotInOrder {
        /// The later one in the list.
        at: Instant,
        /// The one before it.
        earlier: Instant,
    },
    /// A rate of zero.
    #[error("the step at {at} sets the rate to zero: to stop a channel, give it an outage")]
    ZeroRate {
        /// When.
        at: Instant,
    },
    /// A step without content.
    #[error("the step at {at} changes nothing")]
    Nothing {
        /// When.
        at: Instant,
    },
}

/// The steps of a channel that are still to come.
#[derive(Debug, Default)]
pub(crate) struct StepSchedule {
    steps: Vec<Step>,
    done: usize,
}

impl StepSchedule {
    pub fn new(steps: &[Step]) -> Result<Self, StepError> {
        for step in steps {
            let Step { at, rate, delay, uniform_loss, mtu } = *step;
            if rate.is_some_and(BitRate::is_zero) {
                return Err(StepError::ZeroRate { at });
            }
            if rate.is_none() && delay.is_none() && uniform_loss.is_none() && mtu.is_none() {
                return Err(StepError::Nothing { at });
            }
        }
        match steps.windows(2).find(|pair| pair[0].at >= pair[1].at) {
            Some(pair) => Err(StepError::NotInOrder { at: pair[1].at, earlier: pair[0].at }),
            None => Ok(Self { steps: steps.to_vec(), done: 0 }),
        }
    }

    /// When the next step is due.
    pub fn next(&self) -> Option<Instant> {
        self.steps.get(self.done).map(|step| step.at)
    }

    /// Takes the next step.
    pub fn take(&mut self) -> Option<Step> {
        let step = self.steps.get(self.done).copied()?;
        self.done += 1;
        Some(step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(at: u64, mbit: u64) -> Step {
        let at = Instant::from_nanos(at);
        Step {
            at,
            rate: Some(BitRate::from_mbit(mbit)),
            delay: None,
            uniform_loss: None,
            mtu: None,
        }
    }

    #[test]
    fn steps_come_one_after_the_other() {
        let mut schedule = StepSchedule::new(&[step(5, 1), step(9, 2)]).unwrap();
        assert_eq!(schedule.next(), Some(Instant::from_nanos(5)));
        assert_eq!(schedule.take(), Some(step(5, 1)));
        assert_eq!(schedule.take(), Some(step(9, 2)));
        assert_eq!((schedule.next(), schedule.take()), (None, None));
    }

    #[test]
    fn senseless_lists_are_refused() {
        let error = |steps: &[Step]| StepSchedule::new(steps).unwrap_err().to_string();
        assert_eq!(
            error(&[step(5, 1), step(5, 2)]),
            "the step at 5 ns is listed behind one at 5 ns: list steps in order of time, one for each"
        );
        assert!(error(&[step(5, 0)]).contains("sets the rate to zero"));
        assert_eq!(error(&[Step { rate: None, ..step(5, 1) }]), "the step at 5 ns changes nothing");
    }
}
