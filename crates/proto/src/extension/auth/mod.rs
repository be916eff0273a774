//! Authenticated chunks (AUTH, RFC 4895): negotiation in the handshake, derived keys, and the codes of
//! packets.
//!
//! Each side sends a random number, the types of chunks that it accepts only if they are authenticated, and the algorithms
//! that it supports ([`offer`]). The key of the codes consists of these parameters and a shared key ([`session`]).

mod mac;
mod offer;
mod session;

pub(crate) use offer::{AuthOffer, AuthPair, AuthParameters, AuthProblem};
pub(crate) use session::{AuthProof, AuthVerdict, Covered, Session, Trust, vouch_by_cookie};
