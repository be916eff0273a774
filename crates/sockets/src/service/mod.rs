//! The service that owns the associations of programs: one for each user and network name space.

mod board;
mod calls;
mod carried;
mod channel;
mod conversation;
mod counts;
mod cut;
mod errors;
mod keyed;
mod link;
mod network;
mod notify;
mod options;
mod reports;
mod socket;
mod status;
#[cfg(test)]
mod tests;
mod under_way;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use polypath::{AssociationConfig, Endpoint};
use rustix::process::{Resource, getrlimit};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Notify;

pub use crate::names::Style;
use board::Board;
pub use carried::{Carried, Packet};
use counts::Counts;
use network::Network;
use socket::{SharedPorts, Socket};

/// Most sockets that one process may have.
const MAX_SOCKETS_PER_PROCESS: usize = 65_536;

/// Most connections with questions that one process may have at a time: one for each of its threads that asks.
const MAX_CONVERSATIONS_PER_PROCESS: usize = 1024;

/// Most attempts to connect that are under way, of one process and of all.
const MAX_ATTEMPTS_PER_PROCESS: usize = 4096;
const MAX_ATTEMPTS: usize = 8192;

/// How long no connection is accepted after the system had no descriptor for one.
const SHORTAGE_PAUSE: Duration = Duration::from_millis(10);

/// Least identifier of an association; those below mean "future", "current" and "all" ones.
const FIRST_ASSOCIATION: i32 = 3;

/// What the user wants of the sockets of a program.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Configuration of associations, before the program's own options.
    pub association: AssociationConfig,
    /// UDP port of peers; `None` reaches them over IP itself.
    pub encapsulation_port: Option<u16>,
    /// Whether sockets use all addresses of the host, whatever they are bound to.
    pub all_addresses: bool,
}

/// Reads settings from the text that a program's environment has.
pub type ReadSettings = dyn Fn(&str) -> Result<Settings, String> + Send + Sync;

/// All sockets, over one endpoint or lower layers of a program.
pub struct Service {
    network: Network,
    read_settings: Box<ReadSettings>,
    sockets: Mutex<BTreeMap<u64, Arc<Socket>>>,
    /// Identifier of the next association.
    next_association: AtomicI32,
    /// Sockets of each process.
    counts: Counts,
    /// Ports that several sockets may have.
    shared_ports: Mutex<SharedPorts>,
    /// Connections of each process.
    conversations: Counts,
    /// Those among them that wait until no attempt to connect is under way.
    waiting: Counts,
    /// Attempts of each process to connect that are under way.
    attempts: Counts,
    /// What programs may know of their sockets.
    board: Board,
    /// A port was given back.
    port_is_free: Notify,
    /// Options that programs asked for and that there are none of, by level and number.
    refused_options: Mutex<BTreeMap<(i32, i32), u64>>,
    idle: Notify,
}

impl std::fmt::Debug for Service {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Service").field("network", &self.network).finish_non_exhaustive()
    }
}

/// A lock that a panic elsewhere does not spoil.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Service {
    /// A service over this endpoint.
    pub fn new(
        endpoint: Endpoint,
        read_settings: impl Fn(&str) -> Result<Settings, String> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Self::over(Network::Host(endpoint), read_settings)
    }

    fn over(
        network: Network,
        read_settings: impl Fn(&str) -> Result<Settings, String> + Send + Sync + 'static,
    ) -> Arc<Self> {
        // What is left is for content that is handed over, and for the endpoint.
        let descriptors = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let descriptors = usize::try_from(descriptors).unwrap_or(usize::MAX);
        Arc::new(Self {
            network,
            read_settings: Box::new(read_settings),
            sockets: Mutex::default(),
            next_association: AtomicI32::new(FIRST_ASSOCIATION),
            counts: Counts::new(MAX_SOCKETS_PER_PROCESS, descriptors / 8 * 7),
            shared_ports: Mutex::default(),
            conversations: Counts::new(MAX_CONVERSATIONS_PER_PROCESS, descriptors / 16),
            waiting: Counts::new(MAX_CONVERSATIONS_PER_PROCESS / 2, descriptors / 32),
            attempts: Counts::new(MAX_ATTEMPTS_PER_PROCESS, MAX_ATTEMPTS),
            board: Board::new(),
            port_is_free: Notify::new(),
            refused_options: Mutex::default(),
            idle: Notify::new(),
        })
    }

    /// Serves programs that connect to `listener`, until no socket has been open for `patience`. Programs of other users are refused,
    /// but for the superuser's.
    pub async fn serve(self: Arc<Self>, listener: UnixListener, patience: Duration) {
        let user = rustix::process::getuid().as_raw();
        loop {
            tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => self.begin(stream, user),
                    // Programs that hold all descriptors of the system end nobody else's associations.
                    Err(_) => tokio::time::sleep(SHORTAGE_PAUSE).await,
                },
                () = self.rested(patience) => return,
            }
        }
    }

    /// Talks with a program, unless it is another user's.
    fn begin(self: &Arc<Self>, stream: UnixStream, user: u32) {
        // Fails if the program is gone.
        let Ok(peer) = stream.peer_cred() else { return };
        let process = peer.pid().unwrap_or_default();
        let may = peer.uid() == user || peer.uid() == 0;
        if may {
            self.attend(stream, process);
        }
    }

    /// Talks with a process, unless it has too many connections.
    fn attend(self: &Arc<Self>, stream: UnixStream, process: i32) {
        if !self.conversations.take(process) {
            return;
        }
        let service = Arc::clone(self);
        tokio::spawn(async move {
            conversation::converse(Arc::clone(&service), stream, process).await;
            service.conversations.give_back(process);
        });
    }

    /// Waits until there has been no socket for `patience`, and no association is there that shuts down: programs that begin meanwhile find the
    /// service, which has the UDP port.
    async fn rested(&self, patience: Duration) {
        loop {
            let changed = self.idle.notified();
            if !lock(&self.sockets).is_empty() {
                changed.await;
                continue;
            }
            let rest = async {
                tokio::time::sleep(patience).await;
                self.network.idle().await;
            };
            tokio::select! {
                () = rest => return,
                () = changed => {}
            }
        }
    }

    fn socket(&self, id: u64) -> Option<Arc<Socket>> {
        lock(&self.sockets).get(&id).cloned()
    }

    /// Adds a socket, unless its process has too many.
    fn add(&self, socket: &Arc<Socket>) -> bool {
        if !self.counts.take(socket.process) {
            return false;
        }
        lock(&self.sockets).insert(socket.name.id, Arc::clone(socket));
        self.idle.notify_waiters();
        true
    }

    /// The program has closed a socket.
    fn remove(&self, socket: &Arc<Socket>) {
        lock(&self.sockets).remove(&socket.name.id);
        self.counts.give_back(socket.process);
        self.idle.notify_waiters();
    }

    /// Whether a socket has this port that its program has not closed.
    fn has_port_in_use(&self, port: u16) -> bool {
        let all: Vec<_> = lock(&self.sockets).values().cloned().collect();
        all.iter().any(|socket| socket.uses_port(port))
    }

    /// A number that no socket has.
    fn draw_id(&self) -> Option<u64> {
        let sockets = lock(&self.sockets);
        loop {
            let id = getrandom::u64().ok()?;
            // The first and the last stand for others.
            if !matches!(id, 0 | u64::MAX) && !sockets.contains_key(&id) {
                return Some(id);
            }
        }
    }

    /// An identifier for an association; those of all sockets differ until all numbers have been in use.
    fn draw_association(&self) -> i32 {
        let next = |id: i32| Some(id.checked_add(1).unwrap_or(FIRST_ASSOCIATION));
        let (set, read) = (Ordering::Relaxed, Ordering::Relaxed);
        self.next_association.fetch_update(set, read, next).unwrap_or(FIRST_ASSOCIATION)
    }

    fn count_refused(&self, level: i32, option: i32) {
        let mut refused = lock(&self.refused_options);
        // A program could otherwise fill the memory with numbers.
        if refused.len() < 1024 || refused.contains_key(&(level, option)) {
            *refused.entry((level, option)).or_default() += 1;
        }
    }
}
