//! Burst losses: a channel with a good and a bad state.

use polypath_units::Fraction;

use crate::{Chance, DropCause, Stream, Streams};

/// Burst losses by the model of Gilbert (1960) and Elliott (1963): a Markov chain of two states with a loss probability
/// each, and one transition per packet. A channel begins in the good state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(
        deny_unknown_fields,
        expecting = "a table, for example { to_bad = \"1 %\", to_good = \"25 %\" }"
    )
)]
pub struct GilbertElliottConfig {
    /// Probability per packet of a transition from the good to the bad state; often called p.
    pub to_bad: Fraction,
    /// Probability per packet of a transition from the bad to the good state; often called r. The mean length of a
    /// burst is 1 / r packets.
    pub to_good: Fraction,
    /// Probability of loss in the good state; often written 1 - k.
    #[cfg_attr(feature = "serde", serde(default))]
    pub loss_good: Fraction,
    /// Probability of loss in the bad state; often written 1 - h.
    #[cfg_attr(feature = "serde", serde(default = "always"))]
    pub loss_bad: Fraction,
}

#[cfg(feature = "serde")]
fn always() -> Fraction {
    Fraction::ONE
}

impl GilbertElliottConfig {
    /// Long-run fraction of lost packets.
    pub fn mean_loss(&self) -> f64 {
        let (to_bad, to_good) = (self.to_bad.as_f64(), self.to_good.as_f64());
        let moves = to_bad + to_good;
        let bad = if moves > 0.0 { to_bad / moves } else { 0.0 };
        (1.0 - bad) * self.loss_good.as_f64() + bad * self.loss_bad.as_f64()
    }
}

/// The state of one channel.
#[derive(Debug)]
pub(crate) struct GilbertElliott {
    state: State,
    /// Leaving the good state, leaving the bad one.
    leave: [Chance; 2],
    /// Loss in the good state, in the bad one.
    loss: [Chance; 2],
    stream: Stream,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Good,
    Bad,
}

impl GilbertElliott {
    pub fn new(config: &GilbertElliottConfig, channel: &str, streams: &Streams) -> Self {
        Self {
            state: State::Good,
            leave: [config.to_bad, config.to_good].map(Chance::new),
            loss: [config.loss_good, config.loss_bad].map(Chance::new),
            stream: streams.stream(&format!("{channel}/burst-loss")),
        }
    }

    /// Moves on for one packet, then draws its loss: two numbers per packet.
    pub fn judge(&mut self) -> Option<DropCause> {
        if self.leave[self.state as usize].draw(&mut self.stream) {
            self.state = match self.state {
                State::Good => State::Bad,
                State::Bad => State::Good,
            };
        }
        self.loss[self.state as usize].draw(&mut self.stream).then_some(DropCause::BurstLoss)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn losses(config: &GilbertElliottConfig, packets: usize) -> Vec<bool> {
        let mut model = GilbertElliott::new(config, "test", &Streams::new(1));
        (0..packets).map(|_| model.judge().is_some()).collect()
    }

    fn config(to_bad: u64, to_good: u64) -> GilbertElliottConfig {
        GilbertElliottConfig {
            to_bad: Fraction::from_percent(to_bad),
            to_good: Fraction::from_percent(to_good),
            loss_good: Fraction::ZERO,
            loss_bad: Fraction::ONE,
        }
    }

    #[test]
    fn certain_moves_alternate() {
        assert_eq!(losses(&config(100, 100), 5), [true, false, true, false, true]);
        assert_eq!(losses(&config(100, 0), 4), [true; 4]);
        assert_eq!(losses(&config(0, 100), 4), [false; 4]);
    }

    #[test]
    fn losses_and_their_bursts_are_as_long_as_the_model_says() {
        let config = config(1, 20);
        let lost = losses(&config, 400_000);
        let count = lost.iter().filter(|lost| **lost).count() as f64;
        let bursts = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
        // Stationary: 0.01 / 0.21. Four standard deviations of the share are about 0.0042, of the length 0.3.
        assert!((count / 400_000.0 - 0.01 / 0.21).abs() < 0.0042, "{count}");
        assert!((config.mean_loss() - 0.01 / 0.21).abs() < 1e-9);
        assert!((count / bursts - 5.0).abs() < 0.3, "{}", count / bursts);
    }

    #[test]
    fn each_state_has_its_loss() {
        let config = GilbertElliottConfig {
            loss_good: Fraction::from_percent(1),
            loss_bad: Fraction::from_percent(50),
            ..config(5, 5)
        };
        assert!((config.mean_loss() - 0.255).abs() < 1e-9);
        let count = losses(&config, 400_000).iter().filter(|lost| **lost).count() as f64;
        // Neighbours are correlated: 19 packets long, so a standard deviation of about 0.0019.
        assert!((count / 400_000.0 - 0.255).abs() < 0.0076, "{count}");
    }

    #[test]
    fn a_channel_that_never_moves_has_the_loss_of_the_good_state() {
        let config = GilbertElliottConfig { loss_good: Fraction::from_percent(3), ..config(0, 0) };
        assert!((config.mean_loss() - 0.03).abs() < 1e-12);
    }
}
