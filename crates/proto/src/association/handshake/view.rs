//! The endpoint's view of an association in a handshake of the peer, and the data that it passes.

use core::net::IpAddr;

use smallvec::SmallVec;

use super::init_parameters::Indications;
use super::{Cookie, TieTags};
use crate::config::AuthDemand;
use crate::extension::auth::AuthOffer;
use crate::types::{Capabilities, PeerAddress};

/// The state of an association with regard to INIT and COOKIE ECHO (RFC 9260 section 5.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HandshakePhase {
    /// INIT sent.
    CookieWait,
    /// COOKIE ECHO sent.
    CookieEchoed,
    /// Established or shutting down, but not yet in SHUTDOWN-ACK-SENT.
    Established,
    /// SHUTDOWN ACK sent.
    ShutdownAckSent,
    /// Ended; the endpoint has not been notified yet.
    Closed,
}

/// An association as the rules for duplicate and unexpected handshake chunks see it.
#[derive(Clone, Debug)]
pub(crate) struct HandshakeView {
    /// The state.
    pub(crate) phase: HandshakePhase,
    /// Verification tag in packets to us.
    pub(crate) local_tag: u32,
    /// Verification tag of packets to the peer, once known.
    pub(crate) peer_tag: Option<u32>,
    /// Random numbers, none of them 0, that represent both tags in cookies, so that cookies do not reveal the tags.
    pub(crate) tie_tags: TieTags,
    /// Initial TSN of our INIT.
    pub(crate) initial_tsn: u32,
    /// Receive window of our INIT, in bytes.
    pub(crate) a_rwnd: u32,
    /// Outbound streams of our INIT.
    pub(crate) outbound_streams: u16,
    /// Most inbound streams of our INIT.
    pub(crate) max_inbound_streams: u16,
    /// Extensions that this side offers.
    pub(crate) offered: Capabilities,
    /// What this side demands of authentication.
    pub(crate) authentication: AuthDemand,
    /// Further announcements of this side.
    pub(crate) indications: Indications,
    /// The announcement of this side on authentication.
    pub(crate) auth: Option<AuthOffer>,
    /// Addresses of the peer: those of the user's request until the peer named its own, without any that was abandoned.
    pub(crate) peer_addresses: SmallVec<[PeerAddress; 2]>,
}

/// A COOKIE ECHO that was found good: what an association is made of.
#[derive(Clone, Debug)]
pub(crate) struct Established {
    /// The state of the handshake. The only confirmed address is [`Cookie::source`] (RFC 9260 section 5.4).
    pub(crate) cookie: Cookie,
    /// Our address that the COOKIE ECHO arrived at.
    pub(crate) local: IpAddr,
    /// Source of the COOKIE ECHO: an address of the cookie, not necessarily its first.
    pub(crate) remote: PeerAddress,
}

impl Established {
    /// Whether the COOKIE ECHO arrived over the path of the INIT ACK.
    pub(crate) fn came_back(&self) -> bool {
        self.local == self.cookie.local_address && self.cookie.source() == Some(self.remote)
    }
}

/// Why a SHUTDOWN ACK is retransmitted although no timer expired (RFC 9260 sections 5.2.4 and 9.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ShutdownAckTrigger {
    /// INIT in SHUTDOWN-ACK-SENT.
    Init,
    /// COOKIE ECHO of a restarted peer in SHUTDOWN-ACK-SENT: an ERROR with the cause "cookie received while shutting
    /// down" is sent with it.
    CookieEcho,
}
