//! Whom to connect to.

use std::net::IpAddr;

/// UDP port registered for encapsulated SCTP (RFC 6951 section 5.1).
pub const ENCAPSULATION_PORT: u16 = 9899;

/// A peer: its addresses, its SCTP port, and its UDP port unless it is reached over IP itself.
///
/// One address suffices: the peer names its others in the handshake. Further ones let the handshake succeed when the
/// first cannot be reached.
///
/// ```
/// use polypath::Peer;
///
/// let peer = Peer::new(["192.0.2.1".parse()?, "198.51.100.1".parse()?], 5001).encapsulation_port(19899);
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    pub(crate) addresses: Vec<IpAddr>,
    pub(crate) port: u16,
    /// `None`: over IP itself.
    pub(crate) encapsulation_port: Option<u16>,
}

impl Peer {
    /// The peer with these addresses and this SCTP port, encapsulated in UDP port 9899.
    pub fn new(addresses: impl IntoIterator<Item = IpAddr>, port: u16) -> Self {
        Self {
            addresses: addresses.into_iter().collect(),
            port,
            encapsulation_port: Some(ENCAPSULATION_PORT),
        }
    }

    /// Sets the peer's UDP port (`SCTP_REMOTE_UDP_ENCAPS_PORT`).
    #[must_use]
    pub fn encapsulation_port(mut self, port: u16) -> Self {
        self.encapsulation_port = Some(port);
        self
    }

    /// Reaches the peer over IP itself, not in UDP; the endpoint must be bound so ([`Carriers`](crate::Carriers)).
    #[must_use]
    pub fn raw_ip(mut self) -> Self {
        self.encapsulation_port = None;
        self
    }

    /// Its addresses.
    pub fn addresses(&self) -> &[IpAddr] {
        &self.addresses
    }

    /// Whether it is reached over IP itself.
    pub fn is_over_ip(&self) -> bool {
        self.encapsulation_port.is_none()
    }

    /// Its SCTP port.
    pub fn port(&self) -> u16 {
        self.port
    }
}
