//! Interning: values and their numbers.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Interned values, each with a number.
#[derive(Debug)]
pub(super) struct Numbered<T> {
    numbers: BTreeMap<Arc<T>, usize>,
    things: Vec<Arc<T>>,
}

impl<T: Ord> Numbered<T> {
    pub const EMPTY: Self = Self { numbers: BTreeMap::new(), things: Vec::new() };

    /// Number of a value, which is added if it is new.
    pub fn number(&mut self, thing: impl Into<Arc<T>>) -> usize {
        let thing = thing.into();
        if let Some(number) = self.numbers.get(&thing) {
            return *number;
        }
        self.numbers.insert(Arc::clone(&thing), self.things.len());
        self.things.push(thing);
        self.things.len() - 1
    }

    /// Value with this number.
    pub fn thing(&self, number: usize) -> Option<&Arc<T>> {
        self.things.get(number)
    }
}
