//! Samples of networks.

use std::num::NonZeroU32;

use serde::Serialize;

use super::kind::Kind;
use super::network::Network;

/// A sample of networks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sample {
    /// Kinds of traffic, in the order of tables.
    pub kinds: Vec<Kind>,
    /// Which networks of each kind.
    pub numbers: Numbers,
    /// Runs of each network with all paths and with each alone. Their seeds follow each other, and their means are compared,
    /// since the best of several single runs is partly the luckiest one.
    pub runs: NonZeroU32,
    /// Seed that all networks are drawn from.
    pub seed: u64,
    /// Changes of every scenario, of the form `key.to.value=value`.
    pub edits: Vec<String>,
}

/// Which networks of each kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Numbers {
    /// A number of networks, from number 1.
    First(u32),
    /// The network with this number.
    One(u32),
}

/// The form of a sample in its directory.
#[derive(Serialize)]
struct SampleFile {
    kinds: Vec<String>,
    networks: u32,
    runs: u32,
    seed: u64,
    set: Vec<String>,
}

impl Sample {
    /// All networks, in the order of tables.
    pub fn networks(&self) -> Vec<Network> {
        let numbers = match self.numbers {
            Numbers::First(count) => 1..=count,
            Numbers::One(number) => number..=number,
        };
        let of = |kind: &Kind| {
            let kind = *kind;
            numbers.clone().map(move |number| Network::draw(kind, self.seed, number))
        };
        self.kinds.iter().flat_map(of).collect()
    }

    /// Its description, as TOML.
    pub(super) fn file(&self) -> Result<String, toml::ser::Error> {
        toml::to_string(&SampleFile {
            kinds: self.kinds.iter().map(|kind| kind.label()).collect(),
            networks: match self.numbers {
                Numbers::First(count) => count,
                Numbers::One(_) => 1,
            },
            runs: self.runs.get(),
            seed: self.seed,
            set: self.edits.clone(),
        })
    }
}
