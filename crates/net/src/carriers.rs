//! How SCTP packets travel.

/// What an endpoint's sockets carry SCTP packets in. Answers go the way the packet came.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Carriers {
    /// UDP (RFC 6951): needs no privileges, and passes network address translators.
    #[default]
    Udp,
    /// IP itself, protocol 132, which most other stacks speak. Needs raw sockets (on Linux the capability
    /// `CAP_NET_RAW`), and a kernel that has not loaded its own SCTP.
    RawIp,
    /// Both at once; a [`Peer`](crate::Peer) says which one reaches it.
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
