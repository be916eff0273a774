//! rtc-sctp, the SCTP stack of webrtc-rs without input and output.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use ::rtc_sctp::{
    Association, AssociationError, AssociationHandle, ClientConfig, DatagramEvent, Endpoint, Event,
    Payload, ReliabilityType, ServerConfig, StreamEvent, TransportConfig,
};
use bytes::Bytes;
use rtc_shared::TransportProtocol;

use crate::program::{End, HERE, LARGEST, Plan, Seen, Stack};

pub struct RtcSctp {
    endpoint: Endpoint,
    association: Option<(AssociationHandle, Association)>,
    /// Before, an association is closed, too.
    is_connected: bool,
    is_over: bool,
}

impl Stack for RtcSctp {
    fn new(plan: Plan, local: SocketAddr) -> Self {
        let transport = TransportConfig::default().with_max_message_size(LARGEST);
        let server = Some(Arc::new(ServerConfig::new(transport.clone())));
        let mut endpoint = Endpoint::new(local, TransportProtocol::UDP, Arc::default(), server);
        let association = plan.connects.map(|port| {
            let (client, to) = (ClientConfig::new(transport), SocketAddr::new(HERE, port));
            endpoint.connect(Instant::now(), client, to).expect("a client can begin")
        });
        Self { endpoint, association, is_connected: false, is_over: false }
    }

    fn handle(&mut self, packet: Bytes, from: SocketAddr) {
        match self.endpoint.handle(Instant::now(), from, None, packet) {
            Some((handle, DatagramEvent::NewAssociation(association))) => {
                self.association = Some((handle, association));
            }
            Some((_, DatagramEvent::AssociationEvent(event))) => {
                if let Some((_, association)) = &mut self.association {
                    association.handle_event(event);
                }
            }
            _ => {}
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
        let Some((handle, mut association)) = self.association.take() else { return out };
        loop {
            let mut is_dry = true;
            while let Some(event) = association.poll() {
                is_dry = false;
                self.on_event(&mut association, event, plan, seen);
            }
            while let Some(transmit) = association.poll_transmit(Instant::now()) {
                is_dry = false;
                let to = transmit.transport.peer_addr;
                if let Payload::RawEncode(packets) = transmit.message {
                    out.extend(packets.into_iter().map(|packet| (to, packet)));
                }
            }
            if is_dry {
                break;
            }
        }
        // It says that it is drained when its shutdown begins; the endpoint would forget it before the peer has answered.
        if association.is_closed() {
            while let Some(event) = association.poll_endpoint_event() {
                self.endpoint.handle_event(handle, event);
            }
            self.is_over |= self.is_connected;
        }
        self.association = Some((handle, association));
        out
    }

    fn is_over(&self) -> bool {
        self.is_over
    }
}

impl RtcSctp {
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
            // Of each stream that is reset, too.
            Event::AssociationLost { reason: AssociationError::Reset, .. } => seen.finished += 1,
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
            stream.write_with_ppi(Instant::now(), &bytes, ppid).unwrap();
        }
        match plan.ends_after {
            Some((after, End::Shutdown)) if after == seen.messages => {
                association.shutdown().unwrap()
            }
            Some((after, End::Abort)) if after == seen.messages => association.abort().unwrap(),
            _ => {}
        }
    }
}
