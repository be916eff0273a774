//! Two endpoints in one thread that exchange real packets, encoded and with checksums, over no network at all.
//!
//! For benchmarks; tests use [`Pair`](crate::Pair), which has a network, losses and a clock.

use std::net::IpAddr;

use bytes::Bytes;
use polypath_proto::config::{AssociationConfig, EndpointConfig};
use polypath_proto::{
    Association, AssociationId, Body, Cx, Ecn, Encapsulation, Endpoint, Instant, NoProbe,
    OutgoingMessage, PeerAddress, Received, Route,
};
use polypath_wire::Packet;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::Side;

/// One end.
#[derive(Debug)]
pub struct WireHost {
    endpoint: Endpoint,
    association: Option<(AssociationId, Box<Association>)>,
    rng: Xoshiro256PlusPlus,
    addresses: Vec<IpAddr>,
    received_bytes: u64,
}

/// Both ends, connected.
#[derive(Debug)]
pub struct WirePair {
    client: WireHost,
    server: WireHost,
    buffer: Vec<u8>,
    /// Memory for the packet that is being built.
    packet: Packet<'static>,
}

impl WireHost {
    fn new(number: u8, config: &AssociationConfig, paths: u8) -> Self {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(u64::from(number));
        let addresses: Vec<IpAddr> =
            (0..paths).map(|path| IpAddr::from([10, 0, path, number])).collect();
        let config = EndpointConfig {
            listening: true,
            association: config.clone(),
            ..EndpointConfig::default()
        };
        let mut cx = Cx { now: Instant::ZERO, rng: &mut rng, probe: &mut NoProbe };
        let endpoint = Endpoint::new(config, 5000 + u16::from(number), &addresses, &mut cx);
        Self { endpoint, association: None, rng, addresses, received_bytes: 0 }
    }

    /// The association.
    ///
    /// # Panics
    ///
    /// Before the pair is connected.
    pub fn association(&self) -> &Association {
        &self.association.as_ref().expect("connected").1
    }

    /// Bytes of user data that were received and read.
    pub fn received_bytes(&self) -> u64 {
        self.received_bytes
    }

    /// Handles a packet from `remote` to `local`.
    fn receive(&mut self, now: Instant, [remote, local]: [IpAddr; 2], bytes: &[u8]) {
        let received = Received {
            local,
            remote,
            encapsulation: Encapsulation::None,
            ecn: Ecn::NotEct,
            body: Body::Datagram(bytes),
        };
        let mut cx = Cx { now, rng: &mut self.rng, probe: &mut NoProbe };
        match self.endpoint.handle(&mut cx, &received) {
            Route::Association(_) => {
                if let Some((_, association)) = &mut self.association {
                    association.handle(&mut cx, &received);
                    while let Some(message) = association.receive(&mut cx) {
                        self.received_bytes += message.len() as u64;
                    }
                }
            }
            Route::New(id, association) => self.association = Some((id, association)),
            _ => {}
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if let Some((_, association)) = &mut self.association
            && association.poll_timeout().is_some_and(|due| due <= now)
        {
            let mut cx = Cx { now, rng: &mut self.rng, probe: &mut NoProbe };
            association.handle_timeout(&mut cx);
        }
    }
}

impl WirePair {
    /// Two ends with this many paths between them, after the handshake.
    ///
    /// # Panics
    ///
    /// If the configuration makes a handshake impossible.
    pub fn connect(config: &AssociationConfig, paths: u8) -> Self {
        let mut pair = Self {
            client: WireHost::new(1, config, paths),
            server: WireHost::new(2, config, paths),
            buffer: vec![0; 1 << 16],
            packet: Packet::default(),
        };
        pair.begin(config);
        while pair.deliver(Instant::ZERO, Side::Client, |_| true)
            + pair.deliver(Instant::ZERO, Side::Server, |_| true)
            > 0
        {}
        pair
    }

    /// INIT and INIT ACK: the server's answer comes from its endpoint.
    fn begin(&mut self, config: &AssociationConfig) {
        let Self { client, server, buffer, .. } = self;
        let peer: Vec<PeerAddress> = server
            .addresses
            .iter()
            .map(|&address| PeerAddress { address, encapsulation: Encapsulation::None })
            .collect();
        let port = server.endpoint.local_port();
        let mut cx = Cx { now: Instant::ZERO, rng: &mut client.rng, probe: &mut NoProbe };
        let connected = client.endpoint.connect(&mut cx, config.clone(), port, &peer);
        client.association = Some(connected.expect("addresses that can be paired"));
        let (_, association) = client.association.as_mut().expect("just set");
        let mut cx = Cx { now: Instant::ZERO, rng: &mut client.rng, probe: &mut NoProbe };
        let init = association.poll_transmit(&mut cx).expect("INIT");
        let len = init.packet.encode_into(buffer, init.checksum).expect("it fits");
        let received = Received {
            local: init.remote,
            remote: init.local,
            encapsulation: Encapsulation::None,
            ecn: Ecn::NotEct,
            body: Body::Datagram(&buffer[..len]),
        };
        let mut cx = Cx { now: Instant::ZERO, rng: &mut server.rng, probe: &mut NoProbe };
        let Route::Reply(ack) = server.endpoint.handle(&mut cx, &received) else {
            panic!("no INIT ACK")
        };
        let len = ack.packet.encode_into(buffer, ack.checksum).expect("it fits");
        client.receive(Instant::ZERO, [ack.local, ack.remote], &buffer[..len]);
    }

    /// One end.
    pub fn host(&self, side: Side) -> &WireHost {
        match side {
            Side::Client => &self.client,
            Side::Server => &self.server,
        }
    }

    /// Lets the client send this message as often as its buffer takes it. Returns how often that was.
    pub fn fill(&mut self, now: Instant, message: &Bytes, most: u64) -> u64 {
        let WireHost { association, rng, .. } = &mut self.client;
        let Some((_, association)) = association else { return 0 };
        let mut cx = Cx { now, rng, probe: &mut NoProbe };
        let mut sent = 0;
        while sent < most
            && association.send(&mut cx, OutgoingMessage::new(0, message.clone())).is_ok()
        {
            sent += 1;
        }
        sent
    }

    /// Hands the packets that wait at one end to the other, all that `keep` does not drop, by their number from 0 on.
    /// Returns how many packets there were.
    ///
    /// # Panics
    ///
    /// If a packet is too large for any network.
    pub fn deliver(&mut self, now: Instant, from: Side, mut keep: impl FnMut(u64) -> bool) -> u64 {
        let (from, to) = match from {
            Side::Client => (&mut self.client, &mut self.server),
            Side::Server => (&mut self.server, &mut self.client),
        };
        let mut packets = 0;
        while let Some((_, association)) = &mut from.association {
            let mut cx = Cx { now, rng: &mut from.rng, probe: &mut NoProbe };
            let Some(envelope) = association.poll_transmit_into(&mut cx, &mut self.packet) else {
                break;
            };
            let buffer = &mut self.buffer;
            let len = self.packet.encode_into(buffer, envelope.checksum).expect("it fits");
            if keep(packets) {
                to.receive(now, [envelope.local, envelope.remote], &buffer[..len]);
            }
            packets += 1;
            while association.poll_event().is_some() {}
            while association.poll_notice().is_some() {}
        }
        packets
    }

    /// Handles the timers of both ends that are due.
    pub fn handle_timeouts(&mut self, now: Instant) {
        self.client.handle_timeout(now);
        self.server.handle_timeout(now);
    }
}
