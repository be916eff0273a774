//! The codes of an association: keys, and packets with them (RFC 4895 section 6).

use alloc::vec::Vec;
use core::cmp::Ordering;
use core::fmt;

use bytes::BytesMut;
use polypath_wire::{Auth, Chunk, ChunkList, Raw, chunk_type};
use smallvec::SmallVec;

use super::mac::{Code, HmacAlgorithm, MAX_CODE};
use super::{AuthOffer, AuthPair};
use crate::config::{ChunkTypes, SharedKeys};

/// Bytes of an AUTH chunk before the code.
const AUTH_HEADER: usize = 8;

/// Bytes of memory for codes that are taken at a time, so that not every packet asks for some.
const CODES_AT_A_TIME: usize = 64 * MAX_CODE;

/// Types of chunks that this side sends and that may be demanded.
const SENT: [u8; 17] = [
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
];

/// Those that share packets with data.
const BULK: [u8; 6] = [
    chunk_type::DATA,
    chunk_type::SACK,
    chunk_type::NR_SACK,
    chunk_type::FORWARD_TSN,
    chunk_type::I_DATA,
    chunk_type::I_FORWARD_TSN,
];

/// What both sides agreed on.
pub(crate) struct Session {
    /// The key vectors of both sides in the order of section 6.1.
    vectors: Vec<u8>,
    pair: AuthPair,
    /// Algorithm of what is sent.
    algorithm: HmacAlgorithm,
    /// Types of chunks that must be authenticated in packets to the peer, of those that are sent.
    to_authenticate: ChunkTypes,
    /// Types of chunks that count only if they are authenticated.
    demanded: ChunkTypes,
    /// Keys that were used, ready for the next packet.
    ready: SmallVec<[Ready; 2]>,
    /// Memory for chunks that are not encoded yet.
    scratch: Vec<u8>,
    /// Memory for codes.
    codes: BytesMut,
}

/// An association shared key.
struct Ready {
    id: u16,
    algorithm: HmacAlgorithm,
    code: Code,
}

/// What a code is over, after the AUTH chunk itself.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Covered<'a> {
    /// The AUTH chunk and everything behind it, as it arrived.
    Bytes(&'a [u8]),
    /// The chunks behind the AUTH chunk.
    Chunks(&'a [Chunk<'static>]),
}

/// What an AUTH chunk proves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AuthVerdict {
    /// What follows it is the peer's.
    Authentic,
    /// This side did not list the algorithm: the peer is to be told.
    UnknownAlgorithm(u16),
    /// Nothing: the key is not known, or the code is wrong.
    Refused,
}

/// An AUTH chunk in front of a packet.
#[derive(Clone, Debug)]
pub(crate) struct AuthProof<'a> {
    pub(crate) auth: Auth<'a>,
    pub(crate) covered: Covered<'a>,
}

/// What is known of the chunks of a packet that is being processed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Trust {
    /// Nothing was agreed on: all chunks count.
    Unguarded,
    /// No AUTH has been seen so far.
    Unproved,
    /// The AUTH in front was found right before the packet came here.
    Vouched,
    /// Behind an AUTH that is right.
    Proved,
}

/// Whether a packet with a COOKIE ECHO may be processed where there is no association that could say: by what its cookie says
/// (RFC 4895 section 6.3).
pub(crate) fn vouch_by_cookie(
    keys: &SharedKeys,
    proof: Option<&AuthProof<'_>>,
    cookie: Option<&AuthPair>,
) -> Option<Trust> {
    match cookie.and_then(|pair| Session::new(pair.clone())) {
        Some(mut session) => session.vouch(keys, proof),
        // Without an agreement AUTH is a chunk of an unknown type: what follows it is discarded.
        None => proof.is_none().then_some(Trust::Unguarded),
    }
}

impl Session {
    /// `None` if the peer knows no algorithm in common, which [`AuthParameters::offer`](super::AuthParameters::offer) refuses.
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

    /// These types are authenticated in both directions, whatever was told of them.
    pub(crate) fn require(&mut self, chunk_types: ChunkTypes) {
        self.to_authenticate = self.to_authenticate.union(chunk_types);
        self.demanded = self.demanded.union(chunk_types);
    }

    /// Types of chunks that count only if they are authenticated.
    pub(crate) fn demanded(&self) -> ChunkTypes {
        self.demanded
    }

    /// Types of chunks that this side and the peer accept only if they are authenticated, as they told it.
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

    /// The same for packets with data: nothing where only other control chunks are to be authenticated.
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

    /// The keys have changed.
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

    /// Puts AUTH in front of the chunks if the peer demands it of one of them. Returns whether it did.
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

    /// What the AUTH chunk proves of what it covers.
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

    /// The code of a packet up to the end of its AUTH chunk, in which the code itself counts as zeros; `None` for a key
    /// that is not known.
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
        let mut key = keys.get(id)?.to_vec();
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
