//! What crosses the border of the stack: packets in, packets out, and the context of each call.

use core::net::{IpAddr, Ipv6Addr};

use bytes::Bytes;
use polypath_wire::{Checksum, Packet};
use rand_core::Rng;

use crate::config::TrafficMarks;
use crate::{Instant, PathId, Probe};

/// What the caller lends to each call: the time, a random number generator and a probe.
///
/// `now` must not run backwards between calls. On real networks `rng` must be cryptographically secure, because
/// verification tags, initial TSNs and heartbeat nonces are drawn from it.
pub struct Cx<'a> {
    /// The present.
    pub now: Instant,
    /// Source of randomness.
    pub rng: &'a mut dyn Rng,
    /// Observer of protocol events; [`NoProbe`](crate::NoProbe) for none.
    pub probe: &'a mut dyn Probe,
}

/// ECN codepoint of the IP header (RFC 3168).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotEct,
    /// ECN-capable (1).
    Ect1,
    /// ECN-capable (0).
    Ect0,
    /// Congestion experienced.
    Ce,
}

/// How SCTP packets are carried to and from an address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Hash)]
pub enum Encapsulation {
    /// Directly over IP (protocol 132).
    #[default]
    None,
    /// In UDP (RFC 6951).
    Udp {
        /// UDP port on this side.
        local_port: u16,
        /// UDP port of the peer.
        remote_port: u16,
    },
    /// By a lower layer that leads to one peer and whose addresses SCTP does not see, such as DTLS (RFC 8261). The addresses beside
    /// it name nothing.
    LowerLayer,
}

/// The address of this side over a lower layer, from the discard-only block (RFC 6666).
pub(crate) const LOWER_LAYER_LOCAL: IpAddr = IpAddr::V6(Ipv6Addr::new(0x100, 0, 0, 0, 0, 0, 0, 1));

/// The address of the peer over a lower layer.
pub(crate) const LOWER_LAYER_REMOTE: IpAddr = IpAddr::V6(Ipv6Addr::new(0x100, 0, 0, 0, 0, 0, 0, 2));

/// What may happen to a packet that is larger than a link on its way carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum Fragmentation {
    /// It is dropped, preferably with a report to the sender. This host may send it in fragments instead.
    #[default]
    Avoided,
    /// IP may fragment it: it is larger than its path's MTU although its chunks were cut to the association's minimum
    /// at the time.
    Allowed,
    /// It is dropped: the packet is sent to find out whether one of its size passes (RFC 8899).
    Forbidden,
}

/// The content of a received packet.
#[derive(Debug)]
pub enum Body<'a> {
    /// Bytes from a network; checksum not yet verified.
    Datagram(&'a [u8]),
    /// The same, in memory that is kept as long as data of the packet is: nothing is copied out of it.
    Part {
        /// The bytes.
        datagram: &'a [u8],
        /// The memory that they are part of.
        of: &'a Bytes,
    },
    /// A packet handed over without encoding (simulations).
    Structured(&'a Packet<'static>),
    /// The same, with a wrong checksum because of damage. The content is as sent; only the checksum is damaged.
    Damaged {
        /// The packet.
        packet: &'a Packet<'static>,
        /// The bits of the checksum that are wrong, as the number that the field holds.
        checksum_flips: u32,
    },
}

impl<'a> Body<'a> {
    /// Size of the packet in bytes, from the common header on.
    pub fn encoded_len(&self) -> usize {
        match self {
            Self::Datagram(bytes) | Self::Part { datagram: bytes, .. } => bytes.len(),
            Self::Structured(packet) | Self::Damaged { packet, .. } => packet.encoded_len(),
        }
    }

    /// The encoded packet; `None` if it is a structure.
    pub fn datagram(&self) -> Option<&'a [u8]> {
        match *self {
            Self::Datagram(bytes) | Self::Part { datagram: bytes, .. } => Some(bytes),
            Self::Structured(_) | Self::Damaged { .. } => None,
        }
    }

    /// Whether the checksum field of a datagram is zero.
    #[inline]
    pub(crate) fn has_zero_checksum(&self) -> bool {
        self.datagram().and_then(|bytes| bytes.get(8..12)) == Some(&[0; 4])
    }

    /// Verification tag in the common header; `None` if the packet is too short.
    pub(crate) fn verification_tag(&self) -> Option<u32> {
        match self {
            Self::Datagram(bytes) | Self::Part { datagram: bytes, .. } => {
                Some(u32::from_be_bytes(*bytes.get(4..)?.first_chunk()?))
            }
            Self::Structured(packet) | Self::Damaged { packet, .. } => {
                Some(packet.verification_tag)
            }
        }
    }
}

/// A packet that arrived.
#[derive(Debug)]
pub struct Received<'a> {
    /// Address of this host that the packet was sent to.
    pub local: IpAddr,
    /// Source address of the packet.
    pub remote: IpAddr,
    /// How it was carried.
    pub encapsulation: Encapsulation,
    /// ECN codepoint it arrived with.
    pub ecn: Ecn,
    /// The packet.
    pub body: Body<'a>,
}

impl<'a> Received<'a> {
    /// A packet that a lower layer has carried ([`Encapsulation::LowerLayer`]).
    pub fn from_lower_layer(body: Body<'a>) -> Self {
        Self {
            local: LOWER_LAYER_LOCAL,
            remote: LOWER_LAYER_REMOTE,
            encapsulation: Encapsulation::LowerLayer,
            ecn: Ecn::NotEct,
            body,
        }
    }

    /// A packet for an endpoint whose lower layer has a name
    /// ([`Endpoint::over_lower_layer_named`](crate::Endpoint::over_lower_layer_named)).
    pub fn from_lower_layer_named(name: IpAddr, body: Body<'a>) -> Self {
        Self { local: name, remote: name, ..Self::from_lower_layer(body) }
    }
}

/// What the system says of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PathError {
    /// A packet was larger than the path carries (ICMP "fragmentation needed", "packet too big", or EMSGSIZE).
    PacketTooBig {
        /// The reported path MTU, including the IP header. Implausible values are bounded.
        mtu_bytes: u32,
    },
    /// Packets from this local to this remote address cannot be sent at all (no route, address not usable).
    Refused,
}

/// A change of the addresses of this host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LocalAddressChange {
    /// It can be used from now on.
    Added(IpAddr),
    /// It is gone.
    Removed(IpAddr),
}

/// How a packet is to be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Envelope {
    /// Path that it belongs to.
    pub path: PathId,
    /// Source address.
    pub local: IpAddr,
    /// Destination address.
    pub remote: IpAddr,
    /// How to carry it.
    pub encapsulation: Encapsulation,
    /// ECN codepoint to send with.
    pub ecn: Ecn,
    /// DSCP and flow label to send with.
    pub traffic: TrafficMarks,
    /// What happens if it is too large.
    pub fragmentation: Fragmentation,
    /// How to fill in its checksum.
    pub checksum: Checksum,
}

/// A packet to be sent.
#[derive(Debug)]
pub struct Transmit {
    /// Path that it belongs to; `None` for answers that belong to no association.
    pub path: Option<PathId>,
    /// Source address.
    pub local: IpAddr,
    /// Destination address.
    pub remote: IpAddr,
    /// How to carry it.
    pub encapsulation: Encapsulation,
    /// ECN codepoint to send with.
    pub ecn: Ecn,
    /// DSCP and flow label to send with.
    pub traffic: TrafficMarks,
    /// What happens if it is too large.
    pub fragmentation: Fragmentation,
    /// How to fill in its checksum.
    pub checksum: Checksum,
    /// The packet.
    pub packet: Packet<'static>,
}

impl Transmit {
    /// A packet in its envelope.
    pub fn new(envelope: Envelope, packet: Packet<'static>) -> Self {
        let Envelope { path, local, remote, encapsulation, ecn, traffic, fragmentation, checksum } =
            envelope;
        let path = Some(path);
        Self { path, local, remote, encapsulation, ecn, traffic, fragmentation, checksum, packet }
    }
}
