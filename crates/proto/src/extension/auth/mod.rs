//! Authenticated chunks (AUTH, RFC 4895): what both sides tell in the handshake, the keys that follow from it, and the
//! codes of packets.
//!
//! A side tells a random number, the types of chunks that it accepts only if they are authenticated, and the algorithms
//! that it knows ([`offer`]). What both told, and a key that they share, is the key of the codes ([`session`]).

mod mac;
mod offer;
mod session;

pub(crate) use offer::{AuthOffer, AuthPair, AuthParameters, AuthProblem};
pub(crate) use session::{AuthProof, AuthVerdict, Covered, Session, Trust, vouch_by_cookie};
