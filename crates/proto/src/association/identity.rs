//! Who an association is between.

use core::net::IpAddr;

use smallvec::SmallVec;

use crate::Encapsulation;

/// An address of a peer and how packets are carried to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PeerAddress {
    /// IP address.
    pub address: IpAddr,
    /// Encapsulation, with the peer's UDP port.
    pub encapsulation: Encapsulation,
}

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
