//! Peers to connect to.

use std::net::IpAddr;

use tokio::net::lookup_host;

use crate::error::ConnectError;

/// UDP port registered for encapsulated SCTP (RFC 6951 section 5.1).
pub const ENCAPSULATION_PORT: u16 = 9899;

/// A peer: its addresses, its SCTP port, and its UDP port unless it uses IP itself.
///
/// One address is enough: the peer lists the others in the handshake. With further ones, the handshake succeeds even if
/// the first is unreachable.
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
    /// `None`: IP itself.
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

    /// The peer with these names and SCTP port, encapsulated in UDP port 9899: `sctp.example.net:5001`, or several
    /// names and addresses of one host, separated by commas, with the same port:
    /// `a.example.net:5001,[2001:db8::1]:5001`. All addresses from the resolver of the system are used, in its order.
    /// They must all belong to the peer: names of several hosts are not suitable.
    ///
    /// ```
    /// use polypath::Peer;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let peer = Peer::resolve("localhost:5001,127.0.0.2:5001").await?;
    /// assert!(peer.addresses().iter().all(|address| address.is_loopback()));
    /// assert_eq!(peer.port(), 5001);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// A name has no address or no port, or the ports differ.
    pub async fn resolve(names: &str) -> Result<Self, ConnectError> {
        let mut addresses: Vec<IpAddr> = Vec::new();
        let mut port = None;
        for name in names.split(',').map(str::trim) {
            let failed = |reason: String| ConnectError::Name { name: name.to_owned(), reason };
            let found = lookup_host(name).await.map_err(|error| failed(error.to_string()))?;
            for socket in found {
                if *port.get_or_insert(socket.port()) != socket.port() {
                    return Err(failed("all addresses of a peer have one port".to_owned()));
                }
                if !addresses.contains(&socket.ip()) {
                    addresses.push(socket.ip());
                }
            }
        }
        match port {
            Some(port) => Ok(Self::new(addresses, port)),
            None => {
                let reason = "it has no address".to_owned();
                Err(ConnectError::Name { name: names.to_owned(), reason })
            }
        }
    }

    /// Sets the peer's UDP port (`SCTP_REMOTE_UDP_ENCAPS_PORT`).
    #[must_use]
    pub fn encapsulation_port(mut self, port: u16) -> Self {
        self.encapsulation_port = Some(port);
        self
    }

    /// Uses IP itself instead of UDP; the endpoint must be bound for that ([`Carriers`](crate::Carriers)).
    #[must_use]
    pub fn raw_ip(mut self) -> Self {
        self.encapsulation_port = None;
        self
    }

    /// Its addresses.
    pub fn addresses(&self) -> &[IpAddr] {
        &self.addresses
    }

    /// Whether it uses IP itself.
    pub fn is_over_ip(&self) -> bool {
        self.encapsulation_port.is_none()
    }

    /// Its SCTP port.
    pub fn port(&self) -> u16 {
        self.port
    }
}
