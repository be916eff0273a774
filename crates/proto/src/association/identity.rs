//! Who an association is between.

use core::net::IpAddr;

use smallvec::SmallVec;

/// Who an association is between, fixed when it begins.
#[derive(Clone, Debug)]
pub struct Identity {
    /// SCTP port of this side.
    pub local_port: u16,
    /// SCTP port of the peer.
    pub remote_port: u16,
    /// Addresses of this side.
    pub local_addresses: SmallVec<[IpAddr; 2]>,
    /// Verification tag that the peer must put into packets to us.
    pub local_tag: u32,
    /// First TSN that this side sends.
    pub initial_tsn: u32,
}
