//! Things that are known by their number.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Things that are known by their number.
#[derive(Debug)]
pub(super) struct Numbered<T> {
    numbers: BTreeMap<Arc<T>, usize>,
    things: Vec<Arc<T>>,
}

impl<T: Ord> Numbered<T> {
    pub const EMPTY: Self = Self { numbers: BTreeMap::new(), things: Vec::new() };

    /// The number of a thing, a new one if it is new.
    pub fn number(&mut self, thing: impl Into<Arc<T>>) -> usize {
        let thing = thing.into();
        if let Some(number) = self.numbers.get(&thing) {
            return *number;
        }
        self.numbers.insert(Arc::clone(&thing), self.things.len());
        self.things.push(thing);
        self.things.len() - 1
    }

    /// The thing of a number.
    pub fn thing(&self, number: usize) -> Option<&Arc<T>> {
        self.things.get(number)
    }
}
