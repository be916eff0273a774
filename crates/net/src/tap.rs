//! Lets a program see the packets of an endpoint, for captures.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use polypath_proto::{Encapsulation, Received, Transmit};

/// Sees every SCTP packet that an endpoint sends and receives.
///
/// It is called by the task that drives the endpoint, so it must not block.
pub trait PacketTap: Send + Sync {
    /// A packet was handed to the system, or came from it.
    fn packet(&self, packet: &TappedPacket<'_>);
}

/// Which way a packet went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TapDirection {
    /// From this endpoint.
    Sent,
    /// To this endpoint.
    Received,
}

/// A packet that passed.
#[derive(Clone, Copy, Debug)]
pub struct TappedPacket<'a> {
    /// Which way it went.
    pub direction: TapDirection,
    /// Address of this endpoint.
    pub local: IpAddr,
    /// Address of the peer.
    pub remote: IpAddr,
    /// UDP ports of this endpoint and of the peer; nothing where SCTP is carried by IP itself.
    pub udp_ports: Option<(u16, u16)>,
    /// The SCTP packet.
    pub contents: &'a [u8],
}

/// A tap, if there is one.
#[derive(Clone, Default)]
pub(crate) struct Tap(pub(crate) Option<Arc<dyn PacketTap>>);

impl fmt::Debug for Tap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Tap(some)" } else { "Tap(none)" })
    }
}

impl Tap {
    /// A packet is handed to the system.
    pub(crate) fn sent(&self, transmit: &Transmit) {
        let Some(tap) = &self.0 else { return };
        let mut contents = vec![0; transmit.packet.encoded_len()];
        let Ok(written) = transmit.packet.encode_into(&mut contents, transmit.checksum) else {
            return;
        };
        tap.packet(&TappedPacket {
            direction: TapDirection::Sent,
            local: transmit.local,
            remote: transmit.remote,
            udp_ports: ports(transmit.encapsulation),
            contents: &contents[..written],
        });
    }

    /// A packet came from the system.
    pub(crate) fn received(&self, received: &Received<'_>) {
        let (Some(tap), Some(contents)) = (&self.0, received.body.datagram()) else { return };
        tap.packet(&TappedPacket {
            direction: TapDirection::Received,
            local: received.local,
            remote: received.remote,
            udp_ports: ports(received.encapsulation),
            contents,
        });
    }
}

fn ports(encapsulation: Encapsulation) -> Option<(u16, u16)> {
    match encapsulation {
        Encapsulation::Udp { local_port, remote_port } => Some((local_port, remote_port)),
        Encapsulation::None | Encapsulation::LowerLayer => None,
    }
}
