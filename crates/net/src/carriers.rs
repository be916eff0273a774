//! Carriers of SCTP packets.

/// The carrier of an endpoint's SCTP packets. Answers use the carrier of the packet that they answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Carriers {
    /// UDP (RFC 6951): needs no privileges, and passes network address translators.
    #[default]
    Udp,
    /// IP itself, protocol 132, like most other stacks. Needs raw sockets (on Linux the capability `CAP_NET_RAW`), and
    /// a kernel that has not loaded its own SCTP.
    RawIp,
    /// Both at once; a [`Peer`](crate::Peer) has one of them.
    Both,
}

impl Carriers {
    pub(crate) fn udp(self) -> bool {
        self != Self::RawIp
    }

    pub(crate) fn raw_ip(self) -> bool {
        self != Self::Udp
    }
}
