//! The runs of a study.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use polypath_sim::scenario::Record;
use rayon::prelude::*;

use super::{Identity, RunId};
use crate::study::{Point, Study};

/// A part of a study, for job arrays.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shard {
    index: usize,
    of: usize,
}

impl Shard {
    /// The whole study.
    pub const WHOLE: Self = Self { index: 0, of: 1 };

    /// Whether the unit of work with this number belongs to it.
    pub fn has(self, number: usize) -> bool {
        number % self.of == self.index
    }

    /// Whether it is the whole study.
    pub fn is_whole(self) -> bool {
        self.of == 1
    }

    /// Whether both are parts of the same division.
    pub(crate) fn is_of_same_division(self, other: Self) -> bool {
        self.of == other.of
    }

    /// Numbers, below `count`, of the units of work that belong to it.
    fn of(self, count: usize) -> impl ExactSizeIterator<Item = usize> {
        (self.index.min(count)..count).step_by(self.of)
    }
}

/// `i/n`, from `1/n` to `n/n`.
impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/').and_then(|(i, n)| {
            Some((i.trim().parse::<usize>().ok()?, n.trim().parse::<usize>().ok()?))
        });
        match parts {
            Some((index, of)) if 1 <= index && index <= of => Ok(Self { index: index - 1, of }),
            _ => Err(format!("`{text}` is not I/N with I from 1 to N, for example 1/2")),
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index + 1, self.of)
    }
}

/// Division of a study: by points if each part has several, otherwise by runs. A part then plans only its own points. With `until`, the
/// number of runs depends on all runs of a point, so parts always have whole points.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Division {
    Points,
    Runs,
}

impl Division {
    /// Minimum number of points of a part: with fewer, parts would be too unequal.
    const FEWEST: usize = 4;

    fn of(study: &Study, shard: Shard) -> Self {
        let is_fine = study.points().len() / Self::FEWEST >= shard.of;
        match is_fine || study.replications().until.is_some() {
            true => Self::Points,
            false => Self::Runs,
        }
    }
}

/// The points of a study of which a part has runs.
pub(crate) fn points_of(study: &Study, shard: Shard) -> impl ExactSizeIterator<Item = usize> {
    let shard = match Division::of(study, shard) {
        Division::Points => shard,
        Division::Runs => Shard::WHOLE,
    };
    shard.of(study.points().len())
}

/// Configurations of a part of a study. A study can have a million, so for most of them only the names of runs are kept.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Its points, in order.
    points: Vec<usize>,
    variants: usize,
    /// Names of the first runs of each configuration, by point and variant.
    names: Vec<RunId>,
    /// Number of first runs of each configuration.
    first: usize,
    /// By number: configurations without a scenario, and all configurations if the number of runs is not known in advance.
    kept: BTreeMap<usize, Configuration>,
}

/// Common part of all runs of a variant at a point.
#[derive(Debug)]
struct Configuration {
    /// Configurations of recorded and of unrecorded runs.
    identities: [Identity; 2],
    /// Why there is no scenario.
    refused: Option<String>,
}

impl Plan {
    /// Resolves every configuration of a part, which costs about as much as reading a scenario for each. Call it inside a thread
    /// pool.
    pub fn of(study: &Study, shard: Shard) -> Self {
        let variants = study.variants().len();
        let points: Vec<usize> = points_of(study, shard).collect();
        let replications = study.replications();
        let is_open = replications.until.is_some() || replications.sequential;
        let first = first_target(study).max(1) as usize;
        let mut names = vec![RunId::default(); points.len() * variants * first];
        let resolve = |(number, names): (usize, &mut [RunId])| {
            let (point, variant) =
                (study.points().at(points[number / variants]), number % variants);
            let configuration = Configuration::of(study, &point, variant);
            for (replication, name) in (0..).zip(names) {
                *name = configuration.run(study, &point, variant, replication);
            }
            let is_kept = is_open || configuration.refused.is_some();
            is_kept.then_some((number, configuration))
        };
        let kept: Vec<_> = names.par_chunks_mut(first).enumerate().filter_map(resolve).collect();
        Self { kept: kept.into_iter().collect(), points, variants, names, first }
    }

    /// Number of a configuration.
    ///
    /// # Panics
    /// The part does not have the point.
    fn number(&self, point: usize, variant: usize) -> usize {
        let place = match self.points.get(point) {
            Some(found) if *found == point => point,
            _ => self.points.binary_search(&point).expect("a point of this part"),
        };
        place * self.variants + variant
    }

    /// Reason why a variant has no scenario at a point of the part.
    ///
    /// # Panics
    /// The part does not have the point.
    pub fn refused(&self, point: usize, variant: usize) -> Option<&str> {
        self.kept.get(&self.number(point, variant))?.refused.as_deref()
    }

    /// The name of a run.
    ///
    /// # Panics
    /// The part does not have the point.
    pub fn id(&self, study: &Study, point: usize, variant: usize, replication: u32) -> RunId {
        let number = self.number(point, variant);
        if (replication as usize) < self.first {
            return self.names[number * self.first + replication as usize];
        }
        let at = study.points().at(point);
        match self.kept.get(&number) {
            Some(configuration) => configuration.run(study, &at, variant, replication),
            // Few ask for more runs than the study says.
            None => Configuration::of(study, &at, variant).run(study, &at, variant, replication),
        }
    }
}

impl Configuration {
    fn of(study: &Study, point: &Point, variant: usize) -> Self {
        let identities = study
            .scenario(point, variant)
            .map_err(|error| (format!("{} {}", error.key, error.message), error.to_string()))
            .and_then(|mut scenario| {
                let [plain, recorded] =
                    [false, true].map(|recorded| record(study, scenario.record, recorded));
                let mut of = |record| {
                    scenario.record = record;
                    Identity::of(&scenario).map_err(|error| (error.to_string(), error.to_string()))
                };
                let identity = of(plain)?;
                // Most studies record nothing.
                let other = if recorded == plain { identity.clone() } else { of(recorded)? };
                Ok([identity, other])
            });
        match identities {
            Ok(identities) => Self { identities, refused: None },
            Err((reason, error)) => {
                // Not where it is written: the same study can stand in another file.
                let what = format!("{:?} {variant} {reason}", point.values);
                let identity = Identity::refused(&what);
                Self { identities: [identity.clone(), identity], refused: Some(error) }
            }
        }
    }

    /// Name of one of its runs.
    fn run(&self, study: &Study, point: &Point, variant: usize, replication: u32) -> RunId {
        let recorded = usize::from(is_recorded(study, replication));
        self.identities[recorded].run(study.seed(point, variant, replication))
    }
}

/// Whether the series of a run are kept.
pub(crate) fn is_recorded(study: &Study, replication: u32) -> bool {
    study.series().is_some_and(|series| replication < series.runs)
}

/// What a run records if the scenario requests `asked`: series only if the study keeps them, since unread lists would fill the
/// memory.
pub(crate) fn record(study: &Study, asked: Record, recorded: bool) -> Record {
    match study.series().filter(|_| recorded) {
        Some(series) => Record { series: Some(series.interval), ..asked },
        None => asked.without_lists(),
    }
}

/// Initial number of runs of each configuration.
pub(crate) fn first_target(study: &Study) -> u32 {
    let replications = study.replications();
    match &replications.until {
        Some(until) => until.min,
        None => replications.runs.unwrap_or(1),
    }
}

/// All runs in the order of results: point, variant, replication.
pub(crate) fn keys(
    study: &Study,
    targets: &[u32],
    shard: Shard,
) -> impl Iterator<Item = (usize, usize, u32)> {
    let variants = study.variants().len();
    let by_runs = Division::of(study, shard) == Division::Runs;
    let all = points_of(study, shard).flat_map(move |point| {
        let target = targets.get(point).copied().unwrap_or_default();
        (0..variants).flat_map(move |variant| (0..target).map(move |run| (point, variant, run)))
    });
    all.enumerate().filter(move |(number, _)| !by_runs || shard.has(*number)).map(|(_, key)| key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_have_everything_once() {
        let shards: Vec<Shard> =
            ["1/3", "2/3", "3/3"].map(|text| text.parse().expect("a shard")).to_vec();
        for number in 0..20 {
            assert_eq!(shards.iter().filter(|shard| shard.has(number)).count(), 1);
            assert!(Shard::WHOLE.has(number));
        }
        assert_eq!(shards[1].to_string(), "2/3");
        for text in ["0/3", "4/3", "1", "1/0", "a/b", ""] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
    }
}
