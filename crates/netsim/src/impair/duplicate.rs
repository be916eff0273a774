//! Some packets arrive twice.

use polypath_units::Fraction;

use crate::{Chance, Stream, Streams};

/// Duplication on one channel: a copy arrives right behind the packet, and is neither lost nor copied again there.
#[derive(Debug)]
pub(crate) struct Duplication {
    chance: Chance,
    stream: Stream,
    /// Places in the order of events of the copies that have not arrived yet.
    copies: Vec<u64>,
}

impl Duplication {
    pub fn new(probability: Fraction, channel: &str, streams: &Streams) -> Self {
        let stream = streams.stream(&format!("{channel}/duplication"));
        Self { chance: Chance::new(probability), stream, copies: Vec::new() }
    }

    /// Whether a packet is copied; draws one number.
    pub fn judge(&mut self) -> bool {
        self.chance.draw(&mut self.stream)
    }

    /// Notes that what has this place in the order is a copy.
    pub fn expect(&mut self, order: u64) {
        self.copies.push(order);
    }

    /// Whether what arrives is a copy; it is forgotten then.
    pub fn is_copy(&mut self, order: u64) -> bool {
        let found = self.copies.iter().position(|copy| *copy == order);
        found.map(|at| self.copies.swap_remove(at)).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_are_copied_as_the_probability_says() {
        let streams = Streams::new(1);
        let mut duplication = Duplication::new(Fraction::from_percent(10), "test", &streams);
        let copied = (0..100_000).filter(|_| duplication.judge()).count();
        // Four standard deviations are 380.
        assert!(copied.abs_diff(10_000) < 380, "{copied}");
    }

    #[test]
    fn copies_are_known_once() {
        let mut duplication = Duplication::new(Fraction::ONE, "test", &Streams::new(1));
        duplication.expect(7);
        duplication.expect(9);
        assert_eq!(
            [7, 8, 9, 7].map(|order| duplication.is_copy(order)),
            [true, false, true, false]
        );
    }
}
