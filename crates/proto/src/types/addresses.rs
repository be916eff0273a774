//! Addresses of a peer.

use core::net::IpAddr;

use smallvec::SmallVec;

use crate::Encapsulation;
use crate::io::LOWER_LAYER_REMOTE;

/// Maximum number of addresses of one side, sent or accepted: the maximum number of paths of an association.
pub(crate) const MAX_ADDRESSES: usize = 32;

/// A list of addresses, the most important first.
pub(crate) type AddressList = SmallVec<[IpAddr; 2]>;

/// An address of a peer and how packets are carried to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PeerAddress {
    /// IP address.
    pub address: IpAddr,
    /// Encapsulation, with the peer's UDP port.
    pub encapsulation: Encapsulation,
}

impl PeerAddress {
    /// The peer of a connected lower layer.
    pub(crate) const BEHIND_LOWER_LAYER: Self =
        Self { address: LOWER_LAYER_REMOTE, encapsulation: Encapsulation::LowerLayer };
}
