//! The keys of an association, and authenticated packets (RFC 4895 section 6).

use alloc::vec::Vec;
use core::cmp::Ordering;
use core::fmt;

use bytes::BytesMut;
use polypath_wire::{Auth, Chunk, ChunkList, Raw, chunk_type};
use smallvec::SmallVec;
use zeroize::Zeroizing;

use super::mac::{Code, HmacAlgorithm, MAX_CODE};
use super::{AuthOffer, AuthPair};
use crate::config::{ChunkTypes, SharedKeys};

/// Bytes of an AUTH chunk before the code.
const AUTH_HEADER: usize = 8;

/// Size of the memory that is allocated at a time for codes, in bytes.
const CODES_AT_A_TIME: usize = 64 * MAX_CODE;

/// Types of chunks that this side sends and that may be demanded.
const SENT: [u8; 19] = [
    chunk_type::DATA,
    chunk_type::SACK,
    chunk_type::HEARTBEAT,
    chunk_type::HEARTBEAT_ACK,
    chunk_type::ABORT,
    chunk_type::SHUTDOWN,
    chunk_type::SHUTDOWN_ACK,
    chunk_type::ERROR,
    chunk_type::COOKIE_ECHO,
    chunk_type::COOKIE_ACK,
    chunk_type::NR_SACK,
    chunk_type::PACKET_DROP,
    chunk_type::RE_CONFIG,
    chunk_type::PAD,
    chunk_type::FORWARD_TSN,
    chunk_type::I_DATA,
    chunk_type::I_FORWARD_TSN,
    chunk_type::ECNE,
    chunk_type::CWR,
];

/// The types that share packets with data.
const BULK: [u8; 7] = [
    chunk_type::DATA,
    chunk_type::SACK,
    chunk_type::NR_SACK,
    chunk_type::FORWARD_TSN,
    chunk_type::I_DATA,
    chunk_type::I_FORWARD_TSN,
    chunk_type::ECNE,
];

/// The negotiated authentication of an association.
pub(crate) struct Session {
    /// The key vectors of both sides in the order of section 6.1.
    vectors: Vec<u8>,
    pair: AuthPair,
    /// Algorithm of sent packets.
    algorithm: HmacAlgorithm,
    /// Types of sent chunks that must be authenticated.
    to_authenticate: ChunkTypes,
    /// Types of chunks that are accepted only if they are authenticated.
    demanded: ChunkTypes,
    /// Prepared keys that were used before.
    ready: SmallVec<[Ready; 2]>,
    /// Buffer for encoding chunks.
    scratch: Vec<u8>,
    /// Buffer for codes.
    codes: BytesMut,
}

/// An association shared key.
struct Ready {
    id: u16,
    algorithm: HmacAlgorithm,
    code: Code,
}

/// Data that a code covers after the AUTH chunk itself.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Covered<'a> {
    /// The AUTH chunk and everything behind it, as it arrived.
    Bytes(&'a [u8]),
    /// The chunks behind the AUTH chunk.
    Chunks(&'a [Chunk<'static>]),
}

/// Result of the verification of an AUTH chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AuthVerdict {
    /// The chunks that follow are authentic.
    Authentic,
    /// This side did not list the algorithm, which is reported to the peer.
    UnknownAlgorithm(u16),
    /// The key is unknown, or the code is wrong.
    Refused,
}

/// An AUTH chunk in front of a packet.
#[derive(Clone, Debug)]
pub(crate) struct AuthProof<'a> {
    pub(crate) auth: Auth<'a>,
    pub(crate) covered: Covered<'a>,
}

/// Authentication of the chunks of the packet that is being processed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Trust {
    /// Not negotiated: all chunks are accepted.
    Unguarded,
    /// No AUTH has been seen so far.
    Unproved,
    /// The AUTH chunk at the start was verified before.
    Vouched,
    /// After a valid AUTH chunk.
    Proved,
}

/// Whether a packet with a COOKIE ECHO may be processed without an association, according to its cookie (RFC 4895
/// section 6.3).
pub(crate) fn vouch_by_cookie(
    keys: &SharedKeys,
    proof: Option<&AuthProof<'_>>,
    cookie: Option<&AuthPair>,
) -> Option<Trust> {
    match cookie.and_then(|pair| Session::new(pair.clone())) {
        Some(mut session) => session.vouch(keys, proof),
        // Without negotiation, AUTH is an unknown chunk type: the chunks that follow are discarded.
        None => proof.is_none().then_some(Trust::Unguarded),
    }
}

impl Session {
    /// `None` if there is no common algorithm, which [`AuthParameters::offer`](super::AuthParameters::offer) refuses.
    pub(crate) fn new(pair: AuthPair) -> Option<Self> {
        let algorithm = pair.peer.algorithm()?;
        let sent: ChunkTypes = SENT.into_iter().collect();
        Some(Self {
            vectors: in_order(pair.own.key_vector(), pair.peer.key_vector()),
            algorithm,
            to_authenticate: pair.peer.demanded().intersection(sent),
            demanded: pair.own.demanded(),
            pair,
            ready: SmallVec::new(),
            scratch: Vec::new(),
            codes: BytesMut::new(),
        })
    }

    /// Authenticates these types in both directions, whatever was negotiated.
    pub(crate) fn require(&mut self, chunk_types: ChunkTypes) {
        self.to_authenticate = self.to_authenticate.union(chunk_types);
        self.demanded = self.demanded.union(chunk_types);
    }

    /// Types of chunks that are accepted only if they are authenticated.
    pub(crate) fn demanded(&self) -> ChunkTypes {
        self.demanded
    }

    /// The same, and AUTH itself.
    #[inline]
    pub(crate) fn guarded(&self) -> ChunkTypes {
        self.demanded.with(chunk_type::AUTH)
    }

    /// Types of chunks that this side and the peer accept only if they are authenticated, as negotiated.
    pub(crate) fn demanded_by_both(&self) -> [ChunkTypes; 2] {
        [&self.pair.own, &self.pair.peer].map(AuthOffer::demanded)
    }

    /// Bytes of AUTH that a packet with control chunks may need.
    pub(crate) fn room(&self) -> u32 {
        match self.to_authenticate.is_empty() {
            true => 0,
            false => (AUTH_HEADER + self.algorithm.code_len()) as u32,
        }
    }

    /// The same for packets with data: 0 if only other control chunks must be authenticated.
    pub(crate) fn data_room(&self) -> u32 {
        match self.to_authenticate.intersects(BULK.into_iter().collect()) {
            true => self.room(),
            false => 0,
        }
    }

    /// Bytes of AUTH in a packet with these types of chunks.
    pub(crate) fn room_of(&self, chunk_types: &[u8]) -> u32 {
        let is_sealed = chunk_types.iter().any(|it| self.to_authenticate.contains(*it));
        if is_sealed { self.room() } else { 0 }
    }

    /// Whether a packet with a COOKIE ECHO may be processed, with this AUTH in front of it or none.
    pub(crate) fn vouch(
        &mut self,
        keys: &SharedKeys,
        proof: Option<&AuthProof<'_>>,
    ) -> Option<Trust> {
        match proof {
            Some(AuthProof { auth, covered }) => {
                let verdict = self.verify(keys, auth, *covered);
                (verdict == AuthVerdict::Authentic).then_some(Trust::Vouched)
            }
            None => (!self.demanded.contains(chunk_type::COOKIE_ECHO)).then_some(Trust::Unproved),
        }
    }

    /// Replaces the keys.
    pub(crate) fn forget_keys(&mut self) {
        self.ready.clear();
    }

    /// Whether the peer demands that one of these chunks is authenticated.
    #[inline]
    pub(crate) fn must_cover(&self, chunks: &ChunkList<'static>) -> bool {
        match &chunks[..] {
            // Most packets.
            [Chunk::Data(_)] => self.to_authenticate.contains(chunk_type::DATA),
            [Chunk::IData(_)] => self.to_authenticate.contains(chunk_type::I_DATA),
            chunks => chunks.iter().any(|chunk| self.to_authenticate.contains(chunk.chunk_type())),
        }
    }

    /// Prepends AUTH to the chunks if the peer demands it for one of them. Returns whether it did.
    pub(crate) fn seal(&mut self, keys: &SharedKeys, chunks: &mut ChunkList<'static>) -> bool {
        if !self.must_cover(chunks) {
            return false;
        }
        let (id, algorithm) = (keys.active(), self.algorithm);
        let header = auth_header(0, id, algorithm);
        let Some(mut code) = self.code(keys, id, algorithm, header) else { return false };
        if self.cover(&mut code, chunks).is_none() {
            return false;
        }
        let (bytes, len) = code.finish();
        if self.codes.capacity() < len {
            self.codes.reserve(CODES_AT_A_TIME);
        }
        self.codes.extend_from_slice(&bytes[..len]);
        let hmac = Raw::Shared(self.codes.split().freeze());
        chunks.insert(0, Chunk::Auth(Auth { shared_key_id: id, hmac_id: algorithm.id(), hmac }));
        true
    }

    /// Verifies the AUTH chunk.
    pub(crate) fn verify(
        &mut self,
        keys: &SharedKeys,
        auth: &Auth<'_>,
        covered: Covered<'_>,
    ) -> AuthVerdict {
        let own = &self.pair.own;
        let accepted = HmacAlgorithm::of_id(auth.hmac_id).filter(|known| own.accepts(*known));
        let Some(algorithm) = accepted else { return AuthVerdict::UnknownAlgorithm(auth.hmac_id) };
        if auth.hmac.len() != algorithm.code_len() {
            return AuthVerdict::Refused;
        }
        let flags = match covered {
            Covered::Bytes(bytes) => bytes.get(1).copied().unwrap_or(0),
            Covered::Chunks(_) => 0,
        };
        let header = auth_header(flags, auth.shared_key_id, algorithm);
        let Some(mut code) = self.code(keys, auth.shared_key_id, algorithm, header) else {
            return AuthVerdict::Refused;
        };
        let complete = match covered {
            Covered::Bytes(bytes) => {
                bytes.get(AUTH_HEADER + algorithm.code_len()..).map(|behind| code.update(behind))
            }
            Covered::Chunks(chunks) => self.cover(&mut code, chunks),
        };
        match complete.is_some() && code.is(auth.hmac.as_slice()) {
            true => AuthVerdict::Authentic,
            false => AuthVerdict::Refused,
        }
    }

    /// The code of a packet up to the end of its AUTH chunk, in which the code itself counts as zeros; `None` for an
    /// unknown key.
    fn code(
        &mut self,
        keys: &SharedKeys,
        id: u16,
        algorithm: HmacAlgorithm,
        header: [u8; AUTH_HEADER],
    ) -> Option<Code> {
        let place = self.ready.iter().position(|it| it.id == id && it.algorithm == algorithm);
        let mut code = match place {
            Some(place) => self.ready.get(place)?.code.clone(),
            None => self.make_ready(keys, id, algorithm)?,
        };
        code.update(&header);
        code.update(&[0; MAX_CODE][..algorithm.code_len()]);
        Some(code)
    }

    /// The association shared key (section 6.1).
    #[cold]
    fn make_ready(&mut self, keys: &SharedKeys, id: u16, algorithm: HmacAlgorithm) -> Option<Code> {
        let shared = keys.get(id)?;
        // With its capacity from the start: a vector that grows leaves a copy behind.
        let mut key = Zeroizing::new(Vec::with_capacity(shared.len() + self.vectors.len()));
        key.extend_from_slice(shared);
        key.extend_from_slice(&self.vectors);
        let code = Code::new(algorithm, &key)?;
        self.ready.push(Ready { id, algorithm, code: code.clone() });
        Some(code)
    }

    /// Adds chunks that are not encoded yet.
    fn cover(&mut self, code: &mut Code, chunks: &[Chunk<'_>]) -> Option<()> {
        for chunk in chunks {
            self.scratch.resize(chunk.padded_len(), 0);
            let len = chunk.encode_into(&mut self.scratch).ok()?;
            code.update(self.scratch.get(..len)?);
        }
        Some(())
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("algorithm", &self.algorithm)
            .field("to_authenticate", &self.to_authenticate)
            .field("demanded", &self.demanded)
            .finish_non_exhaustive()
    }
}

fn auth_header(flags: u8, id: u16, algorithm: HmacAlgorithm) -> [u8; AUTH_HEADER] {
    let [l0, l1] = ((AUTH_HEADER + algorithm.code_len()) as u16).to_be_bytes();
    let ([k0, k1], [h0, h1]) = (id.to_be_bytes(), algorithm.id().to_be_bytes());
    [chunk_type::AUTH, flags, l0, l1, k0, k1, h0, h1]
}

/// The numerically smaller vector first; of two that are equal as numbers, the shorter one.
fn in_order(one: Vec<u8>, other: Vec<u8>) -> Vec<u8> {
    let (mut first, second) = match compare(&one, &other) {
        Ordering::Greater => (other, one),
        Ordering::Less | Ordering::Equal => (one, other),
    };
    first.extend_from_slice(&second);
    first
}

fn compare(one: &[u8], other: &[u8]) -> Ordering {
    let significant =
        |bytes: &[u8]| bytes.iter().position(|byte| *byte != 0).unwrap_or(bytes.len());
    let (a, b) = (&one[significant(one)..], &other[significant(other)..]);
    (a.len().cmp(&b.len())).then_with(|| a.cmp(b)).then(one.len().cmp(&other.len()))
}

#[cfg(test)]
mod tests;
