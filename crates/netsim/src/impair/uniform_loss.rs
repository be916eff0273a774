//! Every packet is lost with the same probability.

use polypath_units::Fraction;

use crate::{Chance, DropCause, Stream};

/// Independent losses: each packet on the medium is lost with a fixed probability, whatever its length.
#[derive(Debug)]
pub(crate) struct UniformLoss {
    chance: Chance,
    stream: Stream,
}

impl UniformLoss {
    /// Losses with this probability, drawn from `stream`, one number per packet.
    pub const fn new(probability: Fraction, stream: Stream) -> Self {
        Self { chance: Chance::new(probability), stream }
    }

    /// Changes the probability; the stream goes on.
    pub const fn set(&mut self, probability: Fraction) {
        self.chance = Chance::new(probability);
    }

    /// Draws for one packet.
    pub fn judge(&mut self) -> Option<DropCause> {
        self.chance.draw(&mut self.stream).then_some(DropCause::UniformLoss)
    }
}
