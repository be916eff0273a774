//! Parameters of INIT and INIT ACK (RFC 4895 section 3), and the validation of the peer's.

use alloc::vec::Vec;

use polypath_wire::{Parameter, Parameters, U16List, parameter_type};
use rand_core::Rng;
use smallvec::SmallVec;

use super::mac::HmacAlgorithm;
use crate::config::{AuthDemand, ChunkTypes};

/// Length of the random number in bytes (RFC 4895 section 3.1).
const RANDOM_LEN: usize = 32;

/// Maximum number of entries in a list of chunk types (RFC 4895 section 3.2).
const MAX_CHUNKS: usize = 256;

/// Maximum number of algorithms that a peer may list; two are registered.
const MAX_ALGORITHMS: usize = 16;

/// Count of an omitted list in a cookie.
const NO_LIST: u16 = u16::MAX;

/// The parameters RANDOM, CHUNKS and HMAC-ALGO of one side.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct AuthOffer {
    random: [u8; RANDOM_LEN],
    /// `None` if the parameter is omitted, which gives another key than an empty one.
    chunks: Option<SmallVec<[u8; 24]>>,
    algorithms: SmallVec<[u16; 4]>,
}

/// Parameters of both sides.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct AuthPair {
    /// This side.
    pub(crate) own: AuthOffer,
    /// The peer.
    pub(crate) peer: AuthOffer,
}

/// The parameters of a peer during parsing.
#[derive(Clone, Debug, Default)]
pub(crate) struct AuthParameters<'a> {
    random: Option<&'a [u8]>,
    chunks: Option<&'a [u8]>,
    algorithms: Option<U16List<'a>>,
    repeats: bool,
}

/// Why a peer is refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum AuthProblem {
    /// These parameters are missing: authentication is demanded, or the peer's parameters are incomplete.
    Missing(SmallVec<[u16; 2]>),
    /// A parameter is invalid.
    Violation(&'static str),
}

impl AuthOffer {
    /// The parameters of this side; `None` if authentication is off.
    pub(crate) fn draw(demand: impl Into<AuthDemand>, rng: &mut dyn Rng) -> Option<Self> {
        let demand = demand.into();
        if !demand.offers {
            return None;
        }
        let mut random = [0; RANDOM_LEN];
        rng.fill_bytes(&mut random);
        let demanded = demand.listed;
        Some(Self {
            random,
            chunks: (!demanded.is_empty()).then(|| demanded.iter().collect()),
            algorithms: HmacAlgorithm::ALL.iter().map(|algorithm| algorithm.id()).collect(),
        })
    }

    /// The types of chunks that the side accepts only if they are authenticated.
    pub(crate) fn demanded(&self) -> ChunkTypes {
        self.chunks.iter().flatten().copied().collect()
    }

    /// The algorithm for packets to the side: the first supported one of its list.
    pub(crate) fn algorithm(&self) -> Option<HmacAlgorithm> {
        self.algorithms.iter().find_map(|id| HmacAlgorithm::of_id(*id))
    }

    /// Whether the side accepts the algorithm.
    pub(crate) fn accepts(&self, algorithm: HmacAlgorithm) -> bool {
        self.algorithms.contains(&algorithm.id())
    }

    /// The parameters as they are sent.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = Parameter<'_>> {
        core::iter::once(Parameter::Random(&self.random))
            .chain(self.chunks.iter().map(|chunks| Parameter::Chunks(chunks)))
            .chain([Parameter::HmacAlgorithms(U16List::Numbers(&self.algorithms))])
    }

    /// The parameters one after the other, without padding (RFC 4895 section 6.1).
    pub(super) fn key_vector(&self) -> Vec<u8> {
        let mut vector = Vec::new();
        for parameter in self.parameters() {
            vector.extend_from_slice(Parameters::build([parameter]).as_slice());
        }
        vector
    }

    /// Appends what [`read`](Self::read) reads.
    pub(crate) fn append_to(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.random);
        let count = self.chunks.as_ref().map_or(NO_LIST, |chunks| chunks.len() as u16);
        out.extend_from_slice(&count.to_be_bytes());
        out.extend(self.chunks.iter().flatten());
        out.push(self.algorithms.len() as u8);
        self.algorithms.iter().for_each(|id| out.extend_from_slice(&id.to_be_bytes()));
    }

    /// Reads an offer from the start of a cookie.
    pub(crate) fn read(bytes: &mut &[u8]) -> Option<Self> {
        let random = *take(bytes, RANDOM_LEN)?.first_chunk()?;
        let count = u16::from_be_bytes(*take(bytes, 2)?.first_chunk()?);
        let chunks = match count {
            NO_LIST => None,
            count if usize::from(count) <= MAX_CHUNKS => {
                Some(SmallVec::from_slice(take(bytes, usize::from(count))?))
            }
            _ => return None,
        };
        let count = usize::from(*take(bytes, 1)?.first()?);
        if count > MAX_ALGORITHMS {
            return None;
        }
        let ids = take(bytes, 2 * count)?.chunks_exact(2);
        let algorithms = ids.map(|id| u16::from_be_bytes([id[0], id[1]])).collect();
        Some(Self { random, chunks, algorithms })
    }

    /// Maximum size in a cookie, in bytes.
    pub(crate) const MAX_COOKIE_BYTES: usize = RANDOM_LEN + 2 + MAX_CHUNKS + 1 + 2 * MAX_ALGORITHMS;
}

fn take<'a>(bytes: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(count)?;
    *bytes = rest;
    Some(taken)
}

impl<'a> AuthParameters<'a> {
    /// Reads a parameter. Returns whether it belongs to the extension.
    pub(crate) fn take(&mut self, parameter: &Parameter<'a>) -> bool {
        match *parameter {
            Parameter::Random(random) => self.repeats |= self.random.replace(random).is_some(),
            Parameter::Chunks(chunks) => self.repeats |= self.chunks.replace(chunks).is_some(),
            Parameter::HmacAlgorithms(list) => {
                self.repeats |= self.algorithms.replace(list).is_some();
            }
            _ => return false,
        }
        true
    }

    /// The peer's offer to a side with these demands; `None` if authentication is not used.
    ///
    /// # Errors
    ///
    /// The peer must be refused. A peer with incomplete parameters is refused even if authentication is not demanded, because an
    /// attacker on the path may have removed the others.
    pub(crate) fn offer(
        self,
        demand: impl Into<AuthDemand>,
    ) -> Result<Option<AuthOffer>, AuthProblem> {
        let demand = demand.into();
        if !demand.offers {
            return Ok(None);
        }
        if self.repeats {
            return Err(AuthProblem::Violation("a parameter of AUTH twice"));
        }
        let (Some(random), Some(algorithms)) = (self.random, self.algorithms) else {
            return self.incomplete(demand);
        };
        let Ok(random) = random.try_into() else {
            return Err(AuthProblem::Violation("RANDOM is not 32 bytes long"));
        };
        let too_many = algorithms.iter().nth(MAX_ALGORITHMS).is_some()
            || self.chunks.is_some_and(|chunks| chunks.len() > MAX_CHUNKS);
        if too_many {
            return Err(AuthProblem::Violation("a list of AUTH is too long"));
        }
        let offer = AuthOffer {
            random,
            chunks: self.chunks.map(SmallVec::from_slice),
            algorithms: algorithms.iter().collect(),
        };
        match offer.algorithm() {
            Some(_) => Ok(Some(offer)),
            None => Err(AuthProblem::Violation("HMAC-ALGO lists neither SHA-1 nor SHA-256")),
        }
    }

    fn incomplete(&self, demand: AuthDemand) -> Result<Option<AuthOffer>, AuthProblem> {
        let nothing = self.random.is_none() && self.chunks.is_none() && self.algorithms.is_none();
        if nothing && !demand.insists {
            return Ok(None);
        }
        let missing = [
            self.random.is_none().then_some(parameter_type::RANDOM),
            self.algorithms.is_none().then_some(parameter_type::HMAC_ALGO),
        ];
        Err(AuthProblem::Missing(missing.into_iter().flatten().collect()))
    }
}

#[cfg(test)]
mod tests;
