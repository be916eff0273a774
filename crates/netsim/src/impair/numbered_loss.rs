//! Losses of packets given by number.

use thiserror::Error;

use crate::DropCause;

/// Numbers of packets, from 1, each larger than the one before it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(try_from = "Vec<u64>", into = "Vec<u64>")
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(with = "Vec<u64>"))]
pub struct PacketNumbers(Vec<u64>);

/// Numbers that are out of order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum PacketNumbersError {
    /// Packets are counted from 1.
    #[error("packets are counted from 1, so that there is no packet 0")]
    Zero,
    /// A number is not larger than the one before it.
    #[error("{number} follows {before}; list the packets in rising order, each once")]
    Order {
        /// The number.
        number: u64,
        /// The one before it.
        before: u64,
    },
}

impl PacketNumbers {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl TryFrom<Vec<u64>> for PacketNumbers {
    type Error = PacketNumbersError;

    fn try_from(numbers: Vec<u64>) -> Result<Self, PacketNumbersError> {
        let mut before = 0;
        for &number in &numbers {
            if number == 0 {
                return Err(PacketNumbersError::Zero);
            }
            if number <= before {
                return Err(PacketNumbersError::Order { number, before });
            }
            before = number;
        }
        Ok(Self(numbers))
    }
}

impl From<PacketNumbers> for Vec<u64> {
    fn from(numbers: PacketNumbers) -> Self {
        numbers.0
    }
}

/// Losses of one channel by number.
#[derive(Debug, Default)]
pub(crate) struct NumberedLoss {
    /// Numbers of the packets that are still to be lost, the next one last.
    numbers: Vec<u64>,
    /// Packets so far.
    count: u64,
}

impl NumberedLoss {
    pub fn new(numbers: &PacketNumbers) -> Self {
        Self { numbers: numbers.0.iter().rev().copied().collect(), count: 0 }
    }

    /// Whether any packet is to be lost.
    pub fn is_any(&self) -> bool {
        !self.numbers.is_empty()
    }

    /// Whether the next packet is lost.
    pub fn judge(&mut self) -> Option<DropCause> {
        self.count += 1;
        (self.numbers.last() == Some(&self.count)).then(|| {
            self.numbers.pop();
            DropCause::UniformLoss
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(numbers: &[u64]) -> Result<PacketNumbers, PacketNumbersError> {
        numbers.to_vec().try_into()
    }

    #[test]
    fn the_packets_named_are_lost_and_no_others() {
        let mut loss = NumberedLoss::new(&numbers(&[1, 4, 5]).unwrap());
        let lost: Vec<u64> = (1..=9).filter(|_| loss.judge().is_some()).collect();
        assert_eq!(lost, [1, 4, 5]);
        assert!(!loss.is_any() && !NumberedLoss::new(&PacketNumbers::default()).is_any());
    }

    #[test]
    fn numbers_rise_from_1() {
        assert_eq!(numbers(&[0, 1]), Err(PacketNumbersError::Zero));
        for (list, number, before) in [(&[3, 3][..], 3, 3), (&[1, 7, 2], 2, 7)] {
            assert_eq!(numbers(list), Err(PacketNumbersError::Order { number, before }));
        }
    }
}
