//! Errors of the public interface.

use std::fmt;
use std::io;
use std::net::IpAddr;

use polypath_proto::AssociationEnd;
use thiserror::Error;

/// Why an endpoint could not be bound.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BindError {
    /// No address was given, or no interface has one of the family of a wildcard.
    #[error(
        "no local address was given, or no interface has one: name every address that the endpoint is to use"
    )]
    NoAddress,
    /// A multicast or broadcast address, or a wildcard on a system that does not list the host's addresses.
    #[error(
        "{0} is not the address of an interface: name the addresses that the endpoint is to use"
    )]
    NotUnicast(IpAddr),
    /// Link-local IPv6 addresses are ambiguous without an interface.
    #[error(
        "{0} is a link-local address, which has no meaning without its interface: name that, too ({0}%eth0, \
         `bind_to_device`), or use another address"
    )]
    LinkLocal(IpAddr),
    /// The interface for an address does not exist.
    #[error(
        "cannot bind {address} to {device:?}: no interface has that name (`ip link` shows them)"
    )]
    NoDevice {
        /// Local address.
        address: IpAddr,
        /// Name of the interface.
        device: String,
    },
    /// The interface for an address does not have it.
    #[error(
        "cannot bind {address} to {device}: the interface does not have that address (`ip address show dev {device}` \
         shows those that it has)"
    )]
    NotOnDevice {
        /// Local address.
        address: IpAddr,
        /// Name of the interface.
        device: String,
    },
    /// The system refused to bind a socket to an interface.
    #[error("cannot bind {address} to the interface {device}{}", device_remedy(.source))]
    Device {
        /// Local address.
        address: IpAddr,
        /// Name of the interface.
        device: String,
        /// Error of the system.
        source: io::Error,
    },
    /// The same address was given twice.
    #[error("the local address {0} was given twice")]
    Duplicate(IpAddr),
    /// An address for a port is not one of the endpoint.
    #[error("{0} is not one of the endpoint's addresses")]
    NotLocal(IpAddr),
    /// The SCTP port is in use.
    #[error("the SCTP port {0} is in use: choose another one, or 0 for any that is free")]
    PortInUse(u16),
    /// All dynamic SCTP ports are in use.
    #[error("no SCTP port is free")]
    NoFreePort,
    /// The endpoint already has the address to add.
    #[error("{0} is already a local address of the endpoint")]
    AlreadyBound(IpAddr),
    /// The endpoint does not have the address to remove.
    #[error("{0} is not a local address of the endpoint")]
    NotBound(IpAddr),
    /// An endpoint needs at least one address.
    #[error("{0} is the last local address of the endpoint")]
    LastAddress(IpAddr),
    /// The endpoint has a lower layer instead of addresses.
    #[error("the endpoint runs over a lower layer and has no addresses")]
    LowerLayer,
    /// The endpoint is closed.
    #[error("the endpoint is closed")]
    EndpointClosed,
    /// The system refused to bind a UDP socket.
    #[error("cannot bind {}{}", udp_port(*port, *address), remedy(.source))]
    Socket {
        /// Local address.
        address: IpAddr,
        /// UDP port (0: any).
        port: u16,
        /// Error of the system.
        source: io::Error,
    },
    /// The system refused a raw socket.
    #[error("cannot open a raw socket for SCTP at {address}{}", raw_remedy(.source))]
    RawSocket {
        /// Local address.
        address: IpAddr,
        /// Error of the system.
        source: io::Error,
    },
    /// The kernel has loaded its own SCTP, which would abort every association over IP.
    #[error(
        "the kernel's own SCTP is loaded and would abort associations over IP: unload it (modprobe -r sctp), or use UDP"
    )]
    KernelSctp,
    /// No UDP port was free on all local addresses at once.
    #[error("found no UDP port that is free on every local address; name one")]
    NoCommonPort,
    /// The system has no randomness.
    #[error("the system provides no random numbers")]
    Random(#[from] getrandom::Error),
    /// An endpoint needs a runtime for its driver.
    #[error("an endpoint must be bound inside a tokio runtime with I/O and time enabled")]
    NoRuntime,
}

/// A UDP port of an address, which may be any.
fn udp_port(port: u16, address: IpAddr) -> String {
    match port {
        0 => format!("a UDP port of {address}"),
        port => format!("UDP port {port} of {address}"),
    }
}

/// What to do about a socket that the system refuses; the error of the system follows as the source.
fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrNotAvailable => {
            ", since no interface of this host has the address: name one that an interface has (`ip address` shows them)"
        }
        io::ErrorKind::AddrInUse => {
            ", since another program uses the port: stop it, or choose another port"
        }
        io::ErrorKind::PermissionDenied => {
            ", since ports below 1024 need privileges: choose another port"
        }
        _ => "",
    }
}

/// The same for a raw socket.
fn raw_remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            ", since that needs the capability CAP_NET_RAW: run as root, give it to the program (setcap cap_net_raw+ep), \
             or use UDP"
        }
        _ => remedy(error),
    }
}

/// The same for binding to an interface.
fn device_remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            ", since that needs the capability CAP_NET_RAW before Linux 5.7: run as root, or give it to the program \
             (setcap cap_net_raw+ep)"
        }
        io::ErrorKind::Unsupported => {
            ", which is possible on Linux only: route by source address instead"
        }
        _ => "",
    }
}

/// Why an association could not be established.
#[derive(Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConnectError {
    /// The parameters are invalid.
    #[error(transparent)]
    Invalid(#[from] polypath_proto::ConnectError),
    /// A name of the peer has no address, or is not of the form `host:port`.
    #[error("cannot resolve {name:?}: {reason}")]
    Name {
        /// The name.
        name: String,
        /// Error of the resolver.
        reason: String,
    },
    /// An address of the peer that cannot be a destination.
    #[error("{0} is not the address of a host")]
    NotUnicast(IpAddr),
    /// The peer uses UDP and the endpoint has no UDP sockets, or IP and the endpoint has no raw sockets.
    #[error(
        "the endpoint has no socket for the peer's carrier, UDP or IP: bind it with `Carriers` that include it"
    )]
    Carrier,
    /// It ended before it was established.
    #[error(transparent)]
    Ended(#[from] AssociationError),
    /// The endpoint does not accept associations.
    #[error("the endpoint does not listen")]
    NotListening,
    /// The endpoint is closed.
    #[error("the endpoint is closed")]
    EndpointClosed,
}

/// Why an association did not end gracefully, or waits for its user.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum AssociationError {
    /// The peer restarted: unacknowledged data is lost, streams restart at SSN 0, and the peer may be another one (RFC
    /// 5062 section 4). The association still exists; [`accept_restart`](crate::Association::accept_restart) continues
    /// it.
    #[error("the peer restarted the association")]
    PeerRestarted,
    /// This side aborted it.
    #[error("the association was aborted by this side")]
    Aborted,
    /// The peer aborted it.
    #[error("the peer aborted the association{}", Described(.0))]
    AbortedByPeer(Vec<u8>),
    /// An association over IP ended without a reason, and this host's kernel has loaded its own SCTP since the endpoint
    /// was bound: it does not know the association and answers the peer's packets with ABORT (RFC 9260 section 8.4),
    /// which the peer accepts.
    #[error(
        "this host's kernel has loaded its own SCTP meanwhile, which aborts associations over IP: unload it \
         (modprobe -r sctp), or use UDP"
    )]
    KernelSctp,
    /// The peer did not answer the handshake.
    #[error("the peer does not answer")]
    CannotConnect,
    /// The peer's answer to the handshake cannot be accepted.
    #[error("the handshake with the peer failed{}", Described(.0))]
    HandshakeRefused(Vec<u8>),
    /// The shutdown took too long (T5-shutdown-guard).
    #[error("the shutdown took too long, and the association was aborted")]
    ShutdownTimeout,
    /// Too many retransmissions on all paths.
    #[error("the peer became unreachable on every path")]
    Unreachable,
    /// Packets with a chunk of this much user data are lost on every path, while smaller ones arrive.
    #[error(
        "no path carries packets with {user_bytes} bytes of user data any more, though smaller ones get through: set the MTU \
         lower, or send smaller messages"
    )]
    ChunkTooLarge {
        /// User data of the chunk, in bytes.
        user_bytes: u32,
    },
    /// The peer violated the protocol.
    #[error("the peer broke the protocol{}", Described(.0))]
    ProtocolViolation(Vec<u8>),
    /// The peer's host reports by ICMP that SCTP is unreachable there (RFC 9260 section 10, ICMP8): the UDP port is closed, or
    /// no SCTP runs over IP.
    #[error(
        "no program accepts SCTP at the peer's address: it is not running, or uses another UDP port or carrier"
    )]
    ProtocolUnreachable,
    /// The endpoint or its runtime has ended.
    #[error("the endpoint is closed")]
    EndpointClosed,
}

impl AssociationError {
    /// `None` for a graceful end.
    pub(crate) fn from_end(end: AssociationEnd) -> Option<Self> {
        Some(match end {
            AssociationEnd::ShutdownComplete => return None,
            AssociationEnd::Aborted => Self::Aborted,
            AssociationEnd::AbortedByPeer(causes) => Self::AbortedByPeer(causes),
            AssociationEnd::CannotConnect => Self::CannotConnect,
            AssociationEnd::HandshakeRefused(causes) => Self::HandshakeRefused(causes),
            AssociationEnd::ShutdownTimeout => Self::ShutdownTimeout,
            AssociationEnd::Unreachable => Self::Unreachable,
            AssociationEnd::ChunkTooLarge { user_bytes } => Self::ChunkTooLarge { user_bytes },
            AssociationEnd::ProtocolViolation(causes) => Self::ProtocolViolation(causes),
            AssociationEnd::ProtocolUnreachable => Self::ProtocolUnreachable,
        })
    }
}

/// Why a message was not sent.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum SendError {
    /// The message or the state is invalid; the message was not queued.
    #[error(transparent)]
    Refused(#[from] polypath_proto::SendError),
    /// The association has ended with an error.
    #[error(transparent)]
    Ended(#[from] AssociationError),
}

impl SendError {
    /// Whether the message may be accepted later, when the send buffer has space.
    pub fn is_would_block(&self) -> bool {
        matches!(self, Self::Refused(polypath_proto::SendError::WouldBlock))
    }
}

/// With the kind of the corresponding error of TCP.
impl From<AssociationError> for io::Error {
    fn from(error: AssociationError) -> Self {
        let kind = match &error {
            AssociationError::AbortedByPeer(_) | AssociationError::PeerRestarted => {
                io::ErrorKind::ConnectionReset
            }
            AssociationError::Aborted | AssociationError::EndpointClosed => {
                io::ErrorKind::ConnectionAborted
            }
            AssociationError::HandshakeRefused(_) | AssociationError::ProtocolUnreachable => {
                io::ErrorKind::ConnectionRefused
            }
            AssociationError::CannotConnect
            | AssociationError::ShutdownTimeout
            | AssociationError::Unreachable => io::ErrorKind::TimedOut,
            AssociationError::ProtocolViolation(_) => io::ErrorKind::InvalidData,
            AssociationError::ChunkTooLarge { .. } | AssociationError::KernelSctp => {
                io::ErrorKind::Other
            }
        };
        Self::new(kind, error)
    }
}

/// With the kind of the corresponding error of TCP.
impl From<SendError> for io::Error {
    fn from(error: SendError) -> Self {
        use polypath_proto::SendError as Refusal;
        let kind = match error {
            SendError::Ended(error) => return error.into(),
            SendError::Refused(Refusal::WouldBlock) => io::ErrorKind::WouldBlock,
            SendError::Refused(Refusal::Closed) => io::ErrorKind::BrokenPipe,
            SendError::Refused(_) => io::ErrorKind::InvalidInput,
        };
        Self::new(kind, error)
    }
}

/// Why there is no object for a stream.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum StreamError {
    /// The stream does not exist, or something else reads it.
    #[error(transparent)]
    Refused(#[from] polypath_proto::ClaimError),
    /// The peer has restarted, and the program has not accepted the restart.
    #[error(transparent)]
    Ended(#[from] AssociationError),
}

/// No message is available yet, or none will arrive.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum TryReceiveError {
    /// All received messages were read.
    #[error("no message has arrived")]
    Empty,
    /// The association has ended with an error.
    #[error(transparent)]
    Ended(#[from] AssociationError),
}

/// The first error cause of an encoded list (RFC 9260 section 3.3.10), for the end of a sentence.
struct Described<'a>(&'a [u8]);

impl fmt::Display for Described<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let &[hi, lo, len_hi, len_lo, ref rest @ ..] = self.0 else {
            return Ok(());
        };
        let len =
            usize::from(u16::from_be_bytes([len_hi, len_lo])).saturating_sub(4).min(rest.len());
        match (u16::from_be_bytes([hi, lo]), &rest[..len]) {
            (12, b"") => f.write_str(": it gave no reason"),
            (12, reason) => write!(f, ": {:?}", String::from_utf8_lossy(reason)),
            (code, _) => match cause_name(code) {
                Some(name) => write!(f, ": {name}"),
                None => write!(f, ": error cause {code}"),
            },
        }
    }
}

/// Names of the error causes of RFC 9260 section 3.3.10 and its extensions.
const fn cause_name(code: u16) -> Option<&'static str> {
    Some(match code {
        1 => "invalid stream identifier",
        2 => "missing mandatory parameter",
        3 => "stale cookie",
        4 => "out of resource",
        5 => "unresolvable address",
        6 => "unrecognized chunk type",
        7 => "invalid mandatory parameter",
        8 => "unrecognized parameters",
        9 => "no user data",
        10 => "cookie received while shutting down",
        11 => "restart of an association with new addresses",
        13 => "protocol violation",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_told_in_words() {
        let told = |causes: &[u8]| AssociationError::AbortedByPeer(causes.to_vec()).to_string();
        assert_eq!(told(&[]), "the peer aborted the association");
        assert_eq!(told(&[0, 12, 0, 4]), "the peer aborted the association: it gave no reason");
        assert_eq!(told(b"\0\x0c\0\x07bye\0"), "the peer aborted the association: \"bye\"");
        assert_eq!(told(&[0, 4, 0, 4]), "the peer aborted the association: out of resource");
        assert_eq!(told(&[9, 9, 0, 4]), "the peer aborted the association: error cause 2313");
    }

    #[test]
    fn what_the_system_refuses_comes_with_what_to_do() {
        let told = |kind: io::ErrorKind| {
            let address = [192, 0, 2, 1].into();
            let raw = BindError::RawSocket { address, source: kind.into() };
            (
                BindError::Socket { address, port: 9899, source: kind.into() }.to_string(),
                raw.to_string(),
            )
        };
        for (kind, remedy) in [
            (io::ErrorKind::AddrNotAvailable, "name one that an interface has"),
            (io::ErrorKind::AddrInUse, "choose another port"),
        ] {
            let (udp, raw) = told(kind);
            assert!(udp.contains(remedy) && raw.contains(remedy), "{udp}; {raw}");
        }
        assert!(told(io::ErrorKind::PermissionDenied).1.contains("CAP_NET_RAW"));
    }

    #[test]
    fn a_lying_cause_length_is_cut() {
        let error = AssociationError::AbortedByPeer(b"\0\x0c\xff\xffx".to_vec());
        assert_eq!(error.to_string(), "the peer aborted the association: \"x\"");
    }
}
