//! Extensions of SCTP that both sides agree on in the handshake.

pub(crate) mod address_join;
pub(crate) mod asconf;
pub(crate) mod auth;
pub(crate) mod ecn;
pub(crate) mod nr_sack;
pub(crate) mod packet_drop;
pub(crate) mod reconfig;
