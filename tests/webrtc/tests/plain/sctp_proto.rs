//! sctp-proto, the SCTP stack of str0m.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use ::sctp_proto::{
    Association, AssociationHandle, ClientConfig, DatagramEvent, Endpoint, Event, Payload,
    ReliabilityType, ServerConfig, StreamEvent, Transmit, TransportConfig,
};
use bytes::Bytes;

use crate::program::{End, HERE, LARGEST, Plan, Seen, Stack};

pub struct SctpProto {
    endpoint: Endpoint,
    association: Option<(AssociationHandle, Association)>,
    /// Before, an association is closed, too.
    is_connected: bool,
    is_over: bool,
}

impl Stack for SctpProto {
    fn new(plan: Plan, _local: SocketAddr) -> Self {
        let transport = TransportConfig::default()
            .with_max_send_message_size(LARGEST)
            .with_max_receive_message_size(LARGEST);
        let transport = Arc::new(transport);
        let mut server = ServerConfig::new();
        server.transport = Arc::clone(&transport);
        let mut endpoint = Endpoint::new(Arc::default(), Some(Arc::new(server)));
        let mut client = ClientConfig::new();
        client.transport = transport;
        let association = plan.connects.map(|port| {
            endpoint.connect(client, SocketAddr::new(HERE, port)).expect("a client can begin")
        });
        Self { endpoint, association, is_connected: false, is_over: false }
    }

    fn handle(&mut self, packet: Bytes, from: SocketAddr) {
        match self.endpoint.handle(Instant::now(), from, None, None, packet) {
            Some((handle, DatagramEvent::NewAssociation(association))) => {
                self.association = Some((handle, association));
            }
            Some((_, DatagramEvent::AssociationEvent(event))) => {
                if let Some((_, association)) = &mut self.association {
                    association.handle_event(event);
                }
            }
            None => {}
        }
    }

    fn timeout(&self) -> Option<Instant> {
        self.association.as_ref().and_then(|(_, it)| it.poll_timeout())
    }

    fn handle_timeout(&mut self) {
        if let Some((_, association)) = &mut self.association {
            association.handle_timeout(Instant::now());
        }
    }

    fn drain(&mut self, plan: &Plan, seen: &mut Seen) -> Vec<(SocketAddr, Bytes)> {
        let mut out = Vec::new();
        while let Some(transmit) = self.endpoint.poll_transmit() {
            packets(transmit, &mut out);
        }
        let Some((handle, mut association)) = self.association.take() else { return out };
        loop {
            let mut is_dry = true;
            while let Some(event) = association.poll() {
                is_dry = false;
                self.on_event(&mut association, event, plan, seen);
            }
            while let Some(transmit) = association.poll_transmit(Instant::now()) {
                is_dry = false;
                packets(transmit, &mut out);
            }
            while let Some(event) = association.poll_endpoint_event() {
                is_dry = false;
                if let Some(event) = self.endpoint.handle_event(handle, event) {
                    association.handle_event(event);
                }
            }
            if is_dry {
                break;
            }
        }
        self.is_over |= self.is_connected && association.is_closed();
        self.association = Some((handle, association));
        out
    }

    fn is_over(&self) -> bool {
        self.is_over
    }
}

impl SctpProto {
    fn on_event(
        &mut self,
        association: &mut Association,
        event: Event,
        plan: &Plan,
        seen: &mut Seen,
    ) {
        match event {
            Event::Stream(StreamEvent::Readable { id }) => read(association, id, plan, seen),
            Event::Stream(StreamEvent::Finished { .. }) => seen.finished += 1,
            Event::Connected => self.is_connected = true,
            Event::AssociationLost { .. } => (self.is_over, seen.is_lost) = (true, true),
            Event::HandshakeFailed { reason } => panic!("{reason}"),
            _ => while association.accept_stream().is_some() {},
        }
    }
}

fn read(association: &mut Association, id: u16, plan: &Plan, seen: &mut Seen) {
    loop {
        let Ok(mut stream) = association.stream(id) else { return };
        let Ok(Some(chunks)) = stream.read_sctp() else { return };
        let (ppid, mut bytes) = (chunks.ppi, vec![0; chunks.len()]);
        chunks.read(&mut bytes).unwrap();
        seen.message(id, &bytes);
        if plan.echoes {
            stream.set_reliability_params(false, ReliabilityType::Reliable, 0).unwrap();
            stream.write_with_ppi(&bytes, ppid).unwrap();
        }
        match plan.ends_after {
            Some((after, End::Shutdown)) if after == seen.messages => {
                association.shutdown().unwrap()
            }
            Some((after, End::Abort)) if after == seen.messages => association.close().unwrap(),
            _ => {}
        }
    }
}

fn packets(transmit: Transmit, out: &mut Vec<(SocketAddr, Bytes)>) {
    if let Payload::RawEncode(packets) = transmit.payload {
        out.extend(packets.into_iter().map(|packet| (transmit.remote, packet)));
    }
}
