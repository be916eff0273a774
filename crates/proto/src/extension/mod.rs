//! Extensions of SCTP that both sides agree on in the handshake.

pub(crate) mod packet_drop;
