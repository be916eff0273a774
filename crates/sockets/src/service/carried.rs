//! The service within a process whose program carries packets itself (`AF_CONN` of usrsctp): each address that it registers is the name of
//! a lower layer with an endpoint of its own.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::net::UnixStream;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread;

use bytes::Bytes;
use polypath::{AssociationConfig, Endpoint, LowerLayer};
use tokio::runtime::{Builder, Handle};
use tokio::sync::{mpsc, oneshot};

use super::network::Network;
use super::{Service, Settings, lock};
use crate::address;

/// Bytes of a packet, unless the program sets the path MTU: what RFC 8261 section 6.1 recommends where the path below is unknown.
const MTU_BYTES: u16 = 1200;

/// Packets that may wait in each direction. Those beyond are lost, as in a network.
const MAX_WAITING: usize = 8192;

/// Largest packet that is taken.
const MAX_PACKET_BYTES: usize = 65_535;

/// The SCTP port of an endpoint itself, at which nothing listens.
const UNUSED_PORT: u16 = 1;

/// A packet for the program to carry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Packet {
    /// Address of `AF_CONN`.
    pub pointer: u64,
    /// The packet, from the common header on.
    pub content: Bytes,
}

/// A service in a thread of this process. Dropping it ends the thread, and all associations.
#[derive(Debug)]
pub struct Carried {
    runtime: Handle,
    service: Arc<Service>,
    outgoing: SyncSender<Packet>,
    /// Packets that were given to the program.
    given: Arc<AtomicU64>,
    /// Where received packets go, by address. It stays after the address is withdrawn, for associations that are still there.
    incoming: Mutex<BTreeMap<u64, mpsc::Sender<Bytes>>>,
    _stop: oneshot::Sender<()>,
}

impl Carried {
    /// Starts the service; gives it with the packets that the program is to carry.
    ///
    /// # Errors
    ///
    /// The system has no thread or descriptor for it.
    pub fn start() -> io::Result<(Self, Receiver<Packet>)> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel::<()>();
        let name = thread::Builder::new().name("polypath-stack".into());
        name.spawn(move || {
            // It ends with its sender.
            let _ = runtime.block_on(stopped);
        })?;
        let (outgoing, packets) = sync_channel(MAX_WAITING);
        let settings = |_: &str| {
            Ok(Settings {
                association: AssociationConfig::over_lower_layer(MTU_BYTES),
                encapsulation_port: None,
                all_addresses: false,
            })
        };
        let service = Service::over(Network::Carried(Mutex::default()), settings);
        let carried = Self {
            runtime: handle,
            service,
            outgoing,
            given: Arc::default(),
            incoming: Mutex::default(),
            _stop: stop,
        };
        Ok((carried, packets))
    }

    /// Registers an address. Has no effect if it is registered.
    ///
    /// # Errors
    ///
    /// The system has no random numbers.
    pub fn register(&self, pointer: u64) -> io::Result<()> {
        let Network::Carried(endpoints) = &self.service.network else { return Ok(()) };
        let name = address::of_pointer(pointer);
        let mut endpoints = lock(endpoints);
        if pointer == 0 || endpoints.contains_key(&name) {
            return Ok(());
        }
        let (sender, incoming) = mpsc::channel(MAX_WAITING);
        let (outgoing, given) = (self.outgoing.clone(), Arc::clone(&self.given));
        let layer = Layer { pointer, outgoing, given, incoming };
        let _entered = self.runtime.enter();
        let builder = Endpoint::over_lower_layer_named(name, MTU_BYTES).port(UNUSED_PORT);
        endpoints.insert(name, builder.start(layer).map_err(io::Error::other)?);
        let mut all = lock(&self.incoming);
        // Those that nobody reads any more.
        all.retain(|_, sender| !sender.is_closed());
        all.insert(pointer, sender);
        Ok(())
    }

    /// Withdraws an address: no socket can be bound to it any more. Associations that are there end as they would.
    pub fn deregister(&self, pointer: u64) {
        if let Network::Carried(endpoints) = &self.service.network {
            let endpoint = lock(endpoints).remove(&address::of_pointer(pointer));
            drop(endpoint);
        }
    }

    /// Takes a packet that the program has received. It is lost if the address is unknown, or too many wait.
    pub fn input(&self, pointer: u64, packet: &[u8]) {
        if packet.len() > MAX_PACKET_BYTES {
            return;
        }
        let layer = lock(&self.incoming).get(&pointer).cloned();
        if let Some(layer) = layer {
            // Full, or at its end.
            let _ = layer.try_send(Bytes::copy_from_slice(packet));
        }
    }

    /// Whether a socket is open. One that aborts its associations when it is closed is open until their ABORTs are among the packets for
    /// the program.
    pub fn has_socket(&self, id: u64) -> bool {
        lock(&self.service.sockets).contains_key(&id)
    }

    /// Packets that were given to the program so far.
    pub fn given(&self) -> u64 {
        self.given.load(Ordering::Acquire)
    }

    /// Whether no association is left, nor one of an address that is withdrawn.
    pub fn is_idle(&self) -> bool {
        let Network::Carried(endpoints) = &self.service.network else { return true };
        let endpoints = lock(endpoints).clone();
        let mut cx = Context::from_waker(Waker::noop());
        let is_done = |endpoint: &Endpoint| pin!(endpoint.idle()).poll(&mut cx).is_ready();
        let is_left = |(pointer, sender): (&u64, &mpsc::Sender<Bytes>)| {
            !endpoints.contains_key(&address::of_pointer(*pointer)) && !sender.is_closed()
        };
        !lock(&self.incoming).iter().any(is_left) && endpoints.values().all(is_done)
    }

    /// Answers the questions of a connection.
    ///
    /// # Errors
    ///
    /// The system refuses the descriptor.
    pub fn attend(&self, stream: UnixStream) -> io::Result<()> {
        let _entered = self.runtime.enter();
        stream.set_nonblocking(true)?;
        let stream = tokio::net::UnixStream::from_std(stream)?;
        let process = i32::try_from(std::process::id()).unwrap_or_default();
        self.service.attend(stream, process);
        Ok(())
    }
}

/// The lower layer that an address names.
#[derive(Debug)]
struct Layer {
    pointer: u64,
    outgoing: SyncSender<Packet>,
    given: Arc<AtomicU64>,
    incoming: mpsc::Receiver<Bytes>,
}

impl LowerLayer for Layer {
    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<()> {
        // The stack never waits for the program, which may wait for the stack.
        Poll::Ready(())
    }

    fn send(&mut self, packet: Bytes) {
        let packet = Packet { pointer: self.pointer, content: packet };
        // Otherwise full, or not carried any more.
        if self.outgoing.try_send(packet).is_ok() {
            self.given.fetch_add(1, Ordering::Release);
        }
    }

    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        self.incoming.poll_recv(cx)
    }
}

#[cfg(test)]
mod tests;
