//! Kinds of values.

use super::Cell;

/// Kind of the values of a column.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// True or false.
    Bool,
    /// Whole numbers.
    Int,
    /// Numbers.
    Float,
    /// Text.
    Text,
}

impl Kind {
    /// Kind of a value; `None` for null.
    pub fn of(cell: &Cell) -> Option<Self> {
        match cell {
            Cell::Null => None,
            Cell::Bool(_) => Some(Self::Bool),
            Cell::Int(_) => Some(Self::Int),
            Cell::Float(_) => Some(Self::Float),
            Cell::Text(_) => Some(Self::Text),
        }
    }

    /// Most specific kind that covers both.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Bool, Self::Int | Self::Float) | (Self::Int | Self::Float, Self::Bool) => {
                Self::Text
            }
            (a, b) => a.max(b),
        }
    }
}
