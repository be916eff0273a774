//! Packet taps: programs can capture the packets of an endpoint.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use polypath_proto::{Encapsulation, Received, Transmit};

/// Receives every SCTP packet that an endpoint sends and receives.
///
/// It is called by the task that drives the endpoint, so it must not block.
pub trait PacketTap: Send + Sync {
    /// Called for a packet that was passed to the system or received from it.
    fn packet(&self, packet: &TappedPacket<'_>);
}

/// Direction of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TapDirection {
    /// Sent by this endpoint.
    Sent,
    /// Received by this endpoint.
    Received,
}

/// A sent or received packet.
#[derive(Clone, Copy, Debug)]
pub struct TappedPacket<'a> {
    /// Its direction.
    pub direction: TapDirection,
    /// Address of this endpoint.
    pub local: IpAddr,
    /// Address of the peer.
    pub remote: IpAddr,
    /// UDP ports of this endpoint and of the peer; `None` over IP itself.
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
    /// Passes a sent packet to the tap.
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

    /// Passes a received packet to the tap.
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
