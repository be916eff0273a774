//! What a state cookie says (RFC 9260 section 5.1.3): all that is known of a handshake. The endpoint seals and opens it.

use core::net::IpAddr;

use rand_core::Rng;

use crate::extension::auth::AuthPair;
use crate::types::{AddressList, Capabilities, PeerAddress};
use crate::{Duration, Encapsulation, Instant};

/// What an association is made of when its COOKIE ECHO arrives.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Cookie {
    /// When the INIT arrived.
    pub(crate) created: Instant,
    /// How long the cookie is good.
    pub(crate) life: Duration,
    /// Verification tag in packets to us, not 0.
    pub(crate) local_tag: u32,
    /// Verification tag in packets to the peer, not 0.
    pub(crate) peer_tag: u32,
    /// Tie-tags of the association that the INIT met.
    pub(crate) tie_tags: TieTags,
    /// Our first TSN.
    pub(crate) local_initial_tsn: u32,
    /// The peer's first TSN.
    pub(crate) peer_initial_tsn: u32,
    /// The peer's receive window in bytes.
    pub(crate) a_rwnd: u32,
    /// Streams on which we may send, not 0.
    pub(crate) outbound_streams: u16,
    /// Streams on which the peer may send, not 0.
    pub(crate) inbound_streams: u16,
    /// Our SCTP port.
    pub(crate) local_port: u16,
    /// The peer's SCTP port.
    pub(crate) remote_port: u16,
    /// What the peer can do.
    pub(crate) capabilities: Capabilities,
    /// The adaptation code point of the peer's program.
    pub(crate) adaptation: Option<u32>,
    /// Which of its addresses the peer would like to be primary.
    pub(crate) preferred: Option<IpAddr>,
    /// The announcements of both sides on authentication, if both made one. It never contains a key.
    pub(crate) auth: Option<AuthPair>,
    /// How packets were carried when the INIT arrived.
    pub(crate) encapsulation: Encapsulation,
    /// Our source address of the INIT ACK.
    pub(crate) local_address: IpAddr,
    /// The peer's addresses, the one that the INIT ACK went to first; never empty.
    pub(crate) peer_addresses: AddressList,
}

/// Random numbers that represent the two tags of an association; 0 for none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct TieTags {
    /// For the tag in packets to us.
    pub(crate) local: u32,
    /// For the tag in packets to the peer.
    pub(crate) peer: u32,
}

impl TieTags {
    /// Numbers for both tags, neither of them 0.
    pub(crate) fn draw(rng: &mut dyn Rng) -> Self {
        Self { local: rng.next_u32().max(1), peer: rng.next_u32().max(1) }
    }
}

impl Cookie {
    /// The address that has shown that it receives our packets, with its encapsulation.
    pub(crate) fn source(&self) -> Option<PeerAddress> {
        let address = *self.peer_addresses.first()?;
        Some(PeerAddress { address, encapsulation: self.encapsulation })
    }
}
