//! A socket of a program.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::pin::pin;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use bytes::Bytes;
use polypath::{Association, BoundPort, Peer, PortAddresses, PortConfig};
use rustix::io::Errno;
use tokio::sync::Notify;

use super::channel::Channel;
use super::cut::Cut;
use super::link::{Link, Outgoing};
use super::options::Options;
use super::{Service, errors, lock, notify};
use crate::abi::flag;
use crate::frame::{Head, Kind, wanted};
use crate::names::{SocketName, Style};

/// Least identifier of an association; those below mean "future", "current" and "all" ones.
const FIRST_ASSOCIATION: i32 = 3;

/// How often a program is looked for whose association takes nothing.
const ABANDONED_CHECK: Duration = Duration::from_millis(100);

/// Sockets that a peer's associations may wait for, where the program names no backlog.
const DEFAULT_BACKLOG: usize = 128;

#[derive(Debug)]
pub(super) struct Socket {
    pub(super) name: SocketName,
    /// Process that opened it.
    pub(super) process: i32,
    pub(super) service: Arc<Service>,
    channel: Channel,
    state: Mutex<State>,
    /// An attempt to connect has ended, or the socket is closed.
    settled: Notify,
    /// The program has set options.
    pub(super) reconfigured: Notify,
    /// Ancillary data that goes with each message.
    wanted: AtomicU8,
    /// `SCTP_CONTEXT`.
    context: AtomicU32,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) options: Options,
    port: Option<Arc<BoundPort>>,
    /// Local addresses that it is bound to; none means all of its family.
    addresses: Vec<IpAddr>,
    backlog: Option<usize>,
    /// Whether a task takes what peers begin; it stays when the socket listens no more.
    accepts: bool,
    /// Attempts to connect that are under way.
    connecting: usize,
    /// What `SO_ERROR` gives next.
    error: Option<Errno>,
    links: BTreeMap<i32, Arc<Link>>,
    next_association: i32,
    is_closed: bool,
    /// The association of a one-to-one socket has ended.
    has_ended: bool,
    /// Addresses of this side and of the peer, once a one-to-one socket is connected.
    names: Option<[SocketAddr; 2]>,
}

impl Socket {
    /// A new socket, and the descriptor for the program. Its process must not have too many.
    pub(super) fn open(
        service: &Arc<Service>,
        (style, is_ipv6): (Style, bool),
        process: i32,
        options: Options,
    ) -> Result<(Arc<Self>, OwnedFd), Errno> {
        let id = service.draw_id().ok_or(Errno::IO)?;
        let name = SocketName { id, style, is_ipv6 };
        let (channel, theirs) = Channel::pair(name).map_err(|error| errno_of(&error))?;
        let wanted = AtomicU8::new(options.wanted());
        let context = AtomicU32::new(options.receive_context);
        let socket = Arc::new(Self {
            name,
            process,
            service: Arc::clone(service),
            channel,
            state: Mutex::new(State {
                options,
                port: None,
                addresses: Vec::new(),
                backlog: None,
                accepts: false,
                connecting: 0,
                error: None,
                links: BTreeMap::new(),
                next_association: FIRST_ASSOCIATION,
                is_closed: false,
                has_ended: false,
                names: None,
            }),
            settled: Notify::new(),
            reconfigured: Notify::new(),
            wanted,
            context,
        });
        if !service.add(&socket) {
            return Err(Errno::MFILE);
        }
        tokio::spawn(Arc::clone(&socket).read());
        Ok((socket, theirs))
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    pub(super) fn is_one_to_one(&self) -> bool {
        self.name.style == Style::OneToOne
    }

    /// After options have changed.
    pub(super) fn options_changed(&self, state: &State) {
        self.wanted.store(state.options.wanted(), Ordering::Relaxed);
        self.context.store(state.options.receive_context, Ordering::Relaxed);
        self.reconfigured.notify_waiters();
        if let Some(port) = &state.port {
            port.set(state.port_config(self), state.backlog.unwrap_or(0));
        }
    }

    /// Local addresses that belong to the socket.
    pub(super) fn local_addresses(&self, state: &State) -> Vec<IpAddr> {
        let of_port = self.port_addresses(state);
        let all = self.service.endpoint.local_addresses();
        all.into_iter().filter(|address| of_port.has(*address)).collect()
    }

    fn port_addresses(&self, state: &State) -> PortAddresses {
        if !state.addresses.is_empty() && !state.options.all_addresses {
            return PortAddresses::Listed(state.addresses.clone());
        }
        match (self.name.is_ipv6, state.options.is_ipv6_only()) {
            (false, _) => PortAddresses::Ipv4,
            (true, true) => PortAddresses::Ipv6,
            (true, false) => PortAddresses::All,
        }
    }

    /// SCTP port; 0 if it has none yet.
    pub(super) fn local_port(state: &State) -> u16 {
        let link = state.links.values().find_map(|link| link.association());
        match (&state.port, link) {
            (Some(port), _) => port.port(),
            (None, Some(association)) => association.local_port(),
            (None, None) => 0,
        }
    }

    /// `bind`: the first addresses, and the port.
    pub(super) fn bind(&self, addresses: &[SocketAddr]) -> Result<(), Errno> {
        let port = addresses.first().ok_or(Errno::INVAL)?.port();
        // As on Linux, addresses are looked at first.
        let checked = self.checked(addresses, port)?;
        let mut state = self.state();
        if state.port.is_some() || !state.links.is_empty() {
            return Err(Errno::INVAL);
        }
        state.addresses = checked;
        self.take_port(&mut state, port).inspect_err(|_| state.addresses.clear())
    }

    /// `sctp_bindx`: more addresses.
    pub(super) fn bind_more(&self, addresses: &[SocketAddr]) -> Result<(), Errno> {
        let mut state = self.state();
        if state.port.is_none() {
            drop(state);
            return self.bind(addresses);
        }
        let port = Self::local_port(&state);
        let more = self.checked(addresses, port)?;
        if state.addresses.is_empty() || more.is_empty() {
            // All of them are bound.
            return Err(Errno::INVAL);
        }
        if more.iter().any(|address| state.addresses.contains(address)) {
            return Err(Errno::ADDRINUSE);
        }
        state.addresses.extend(more);
        self.options_changed(&state);
        Ok(())
    }

    /// `sctp_bindx`: fewer addresses. The last one stays.
    pub(super) fn bind_fewer(&self, addresses: &[SocketAddr]) -> Result<(), Errno> {
        let mut state = self.state();
        let mut left = self.local_addresses(&state);
        for address in addresses {
            let place = left.iter().position(|one| *one == address.ip()).ok_or(Errno::INVAL)?;
            left.remove(place);
        }
        if left.is_empty() {
            return Err(Errno::BUSY);
        }
        state.addresses = left;
        self.options_changed(&state);
        Ok(())
    }

    /// Addresses to bind to, of which each must be one of the host's; none if one is a wildcard.
    fn checked(&self, addresses: &[SocketAddr], port: u16) -> Result<Vec<IpAddr>, Errno> {
        let ours = self.service.endpoint.local_addresses();
        let mut all = Vec::new();
        for address in addresses {
            let ip = address.ip();
            if address.port() != port && address.port() != 0 {
                return Err(Errno::INVAL);
            } else if ip.is_unspecified() {
                return Ok(Vec::new());
            } else if ip.is_ipv6() && !self.name.is_ipv6 {
                return Err(Errno::AFNOSUPPORT);
            } else if !ours.contains(&ip) {
                return Err(Errno::ADDRNOTAVAIL);
            }
            all.push(ip);
        }
        Ok(all)
    }

    fn take_port(&self, state: &mut State, port: u16) -> Result<(), Errno> {
        let config = state.port_config(self);
        let bound = self.service.endpoint.bind_port(port, config, 0);
        state.port = Some(Arc::new(bound.map_err(|error| errors::of_bind(&error))?));
        Ok(())
    }

    /// `listen`.
    pub(super) fn listen(self: &Arc<Self>, backlog: i32) -> Result<(), Errno> {
        let mut state = self.state();
        if self.is_one_to_one() && (!state.links.is_empty() || state.connecting > 0) {
            return Err(Errno::INVAL);
        }
        if state.port.is_none() {
            self.take_port(&mut state, 0)?;
        }
        let accepts = std::mem::replace(&mut state.accepts, true);
        // One-to-many sockets stop with 0; the others take it for the least.
        state.backlog = match usize::try_from(backlog).unwrap_or(DEFAULT_BACKLOG) {
            0 if !self.is_one_to_one() => None,
            wanted => Some(wanted.clamp(1, 4096)),
        };
        self.options_changed(&state);
        let port = state.port.clone().ok_or(Errno::INVAL)?;
        drop(state);
        if !accepts {
            tokio::spawn(Arc::clone(self).accept(Arc::downgrade(&port)));
        }
        Ok(())
    }

    pub(super) fn is_listening(&self) -> bool {
        self.is_listening_now(&self.state())
    }

    pub(super) fn is_listening_now(&self, state: &State) -> bool {
        state.backlog.is_some()
    }

    /// Takes associations that peers begin, as long as the socket is there.
    async fn accept(self: Arc<Self>, port: std::sync::Weak<BoundPort>) {
        while let Some(bound) = port.upgrade() {
            let closed = self.settled.notified();
            if self.state().is_closed {
                return;
            }
            tokio::select! {
                accepted = bound.accept() => match accepted {
                    Ok(association) => self.accepted(association).await,
                    Err(_) => return,
                },
                () = closed => {}
            }
        }
    }

    async fn accepted(self: &Arc<Self>, association: Association) {
        if self.state().backlog.is_none() {
            return association.abort("the socket does not listen");
        }
        if !self.is_one_to_one() {
            self.adopt(Arc::new(association), None).await;
            return;
        }
        let options = self.state().options.clone();
        let kind = (Style::OneToOne, self.name.is_ipv6);
        let Ok((socket, theirs)) = Self::open(&self.service, kind, self.process, options) else {
            return association.abort("there are too many sockets");
        };
        let peer = peer_of(&association);
        socket.adopt(Arc::new(association), None).await;
        let head = Head { peer, ..Head::of(Kind::Accepted) };
        // Fails if the program has closed the socket; then the new one has no descriptor left, and ends.
        let _ = self.channel.give_descriptor(&head, theirs.as_fd()).await;
    }

    /// `connect`: begins an association with the peer at these addresses; gives its identifier.
    pub(super) fn connect(self: &Arc<Self>, addresses: &[SocketAddr]) -> Result<i32, Errno> {
        let mut state = self.state();
        if self.is_one_to_one() {
            if state.backlog.is_some() || state.links.values().any(|link| link.is_up()) {
                return Err(Errno::ISCONN);
            } else if state.connecting > 0 {
                return Err(Errno::ALREADY);
            }
        } else if addresses.iter().any(|address| state.link_with(*address).is_some()) {
            return Err(Errno::ISCONN);
        }
        let port = addresses.first().ok_or(Errno::INVAL)?.port();
        if port == 0 || addresses.iter().any(|address| address.port() != port) {
            return Err(Errno::INVAL);
        }
        if state.port.is_none() {
            self.take_port(&mut state, 0)?;
        }
        let from = state.port.clone().ok_or(Errno::INVAL)?;
        let peer = Peer::new(addresses.iter().map(SocketAddr::ip), port);
        let peer = match state.options.encapsulation_port {
            Some(udp_port) => peer.encapsulation_port(udp_port),
            None => peer.raw_ip(),
        };
        let config = state.options.for_connecting();
        let afterwards = state.options.after_connecting();
        state.connecting += 1;
        state.error = None;
        let (link, outgoing) = Link::new(state.draw_association(), addresses);
        let link = Arc::new(link);
        state.links.insert(link.id, Arc::clone(&link));
        drop(state);
        let (socket, id) = (Arc::clone(self), link.id);
        tokio::spawn(async move {
            let outcome = from.connect(&peer, config).await;
            drop(from);
            match outcome {
                Ok(association) => {
                    if let Some(options) = afterwards {
                        // They were accepted as the configuration.
                        let _ = association.set_options(&options);
                    }
                    let waiting = Some((link, outgoing));
                    socket.adopt(Arc::new(association), waiting).await;
                    socket.settle(id, None);
                }
                Err(error) => {
                    let errno = errors::of_connect(&error);
                    notify::cannot_start(&socket, id, errno).await;
                    socket.settle(id, Some(errno));
                }
            }
        });
        Ok(id)
    }

    /// An attempt to connect has ended.
    fn settle(&self, id: i32, error: Option<Errno>) {
        let mut state = self.state();
        state.connecting -= 1;
        state.error = error;
        if error.is_some() {
            state.links.remove(&id);
        }
        drop(state);
        self.settled.notify_waiters();
    }

    /// Waits until no attempt to connect is under way; gives what came of the last one.
    pub(super) async fn connected(&self) -> Result<(), Errno> {
        loop {
            let settled = self.settled.notified();
            {
                let mut state = self.state();
                if state.connecting == 0 || state.is_closed {
                    return state.error.take().map_or(Ok(()), Err);
                }
            }
            settled.await;
        }
    }

    /// `SO_ERROR`, which is gone then.
    pub(super) fn take_error(&self) -> i32 {
        self.state().error.take().map_or(0, Errno::raw_os_error)
    }

    /// An association belongs to the socket from now on.
    async fn adopt(
        self: &Arc<Self>,
        association: Arc<Association>,
        waiting: Option<(Arc<Link>, super::link::OutgoingQueue)>,
    ) {
        let (link, outgoing) = match waiting {
            Some(waiting) => waiting,
            None => {
                let mut state = self.state();
                let peers: Vec<_> = peer_of(&association).into_iter().collect();
                let (link, outgoing) = Link::new(state.draw_association(), &peers);
                let link = Arc::new(link);
                state.links.insert(link.id, Arc::clone(&link));
                (link, outgoing)
            }
        };
        link.come_up(&association);
        if self.is_one_to_one() {
            self.state().names = names_of(&association);
        }
        notify::came_up(self, &link, &association).await;
        tokio::spawn(link.clone().send(Arc::clone(self), Arc::clone(&association), outgoing));
        tokio::spawn(link.receive(Arc::clone(self), association));
    }

    /// Takes an association away from the socket, for one of its own (`sctp_peeloff`).
    pub(super) fn peel_off(self: &Arc<Self>, id: i32) -> Result<OwnedFd, Errno> {
        if self.is_one_to_one() {
            return Err(Errno::INVAL);
        }
        let (link, options) = {
            let state = self.state();
            let link = state.links.get(&id).cloned().ok_or(Errno::INVAL)?;
            (link, state.options.clone())
        };
        if !link.is_up() {
            return Err(Errno::INVAL);
        }
        let kind = (Style::OneToOne, self.name.is_ipv6);
        let (socket, theirs) = Self::open(&self.service, kind, self.process, options)?;
        link.move_to(&socket);
        self.state().links.remove(&id);
        socket.state().links.insert(id, link);
        Ok(theirs)
    }

    /// Reads what the program sends, until it has closed its last descriptor.
    async fn read(self: Arc<Self>) {
        loop {
            let (head, size) = match self.channel.peek().await {
                Ok(Some(frame)) => frame,
                Ok(None) | Err(_) => break,
            };
            if head.is_some_and(|head| head.kind == Kind::Filler) {
                // As long as it lies there, the descriptor is not writable.
                self.wait_for_settlement().await;
            }
            let Ok(payload) = self.channel.take(size) else { break };
            match head {
                Some(head) if head.kind == Kind::Data => {
                    let goes_on = self.outgoing(&head, payload).await;
                    if !goes_on {
                        break;
                    }
                }
                Some(head) if head.kind == Kind::Shutdown => self.leave_all().await,
                _ => {}
            }
        }
        self.finish().await;
    }

    async fn wait_for_settlement(&self) {
        loop {
            let settled = self.settled.notified();
            {
                let state = self.state();
                if state.connecting == 0 || state.is_closed {
                    return;
                }
            }
            settled.await;
        }
    }

    /// A message of the program; whether there may be more.
    async fn outgoing(self: &Arc<Self>, head: &Head, payload: Bytes) -> bool {
        let head = &self.completed(*head);
        let links = {
            let state = self.state();
            match head.flags & flag::SENDALL != 0 && !self.is_one_to_one() {
                true => state.links.values().cloned().collect(),
                false => Vec::from_iter(self.link_for(&state, head)),
            }
        };
        let links = match (links.is_empty(), head.peer) {
            (true, Some(peer)) if head.flags & (flag::EOF | flag::ABORT) == 0 => {
                // The association begins with its first message.
                match self.connect(&[peer]) {
                    Ok(id) => Vec::from_iter(self.state().links.get(&id).cloned()),
                    Err(errno) => {
                        notify::cannot_start(self, 0, errno).await;
                        return true;
                    }
                }
            }
            _ => links,
        };
        for link in links {
            if !self.pass_on(&link, Outgoing::new(head, payload.clone())).await {
                return false;
            }
        }
        true
    }

    /// Waits until an association takes what is to be done. Meanwhile the end of the descriptor is behind what lies there, so that a program
    /// which is gone, and whose associations are to be aborted then, has to be looked for; false if that is so.
    async fn pass_on(&self, link: &Link, outgoing: Outgoing) -> bool {
        let mut enqueued = pin!(link.enqueue(outgoing));
        loop {
            tokio::select! {
                biased;
                () = &mut enqueued => return true,
                () = tokio::time::sleep(ABANDONED_CHECK) => {
                    if self.state().options.aborts_on_close() && self.channel.is_hung_up() {
                        return false;
                    }
                }
            }
        }
    }

    /// With what the program has set for messages that say nothing of it.
    fn completed(&self, mut head: Head) -> Head {
        let defaults = head.wanted & (wanted::DEFAULTS | wanted::DEFAULT_PR);
        if defaults == 0 {
            return head;
        }
        let send = self.state().options.default_send;
        if defaults & wanted::DEFAULTS != 0 {
            head.stream = send.stream;
            head.flags |= send.flags;
            head.ppid = send.ppid;
            head.context = send.context;
        }
        if defaults & wanted::DEFAULT_PR != 0 {
            head.pr_policy = send.pr_policy;
            head.value = send.pr_value;
        }
        head
    }

    fn link_for(&self, state: &State, head: &Head) -> Option<Arc<Link>> {
        if self.is_one_to_one() {
            return state.links.values().next().cloned();
        }
        match head.peer {
            Some(peer) if head.association == 0 || head.flags & flag::ADDR_OVER == 0 => {
                state.link_with(peer).or_else(|| state.links.get(&head.association).cloned())
            }
            _ => state.links.get(&head.association).cloned(),
        }
    }

    /// `shutdown`: no more messages follow.
    async fn leave_all(&self) {
        let links: Vec<_> = self.state().links.values().cloned().collect();
        for link in links {
            link.enqueue(Outgoing::End).await;
        }
    }

    /// The program has closed the socket, or is gone.
    async fn finish(self: Arc<Self>) {
        let (links, port, aborts, has_ended) = {
            let mut state = self.state();
            state.is_closed = true;
            let links = std::mem::take(&mut state.links);
            (links, state.port.take(), state.options.aborts_on_close(), state.has_ended)
        };
        self.settled.notify_waiters();
        drop(port);
        self.service.remove(&self, has_ended);
        for link in links.into_values() {
            link.leave(aborts).await;
        }
    }

    /// An association has ended, and all that it brought is delivered.
    pub(super) async fn ended(&self, link: &Link, error: Option<Errno>) {
        self.state().links.remove(&link.id);
        if !self.is_one_to_one() {
            return;
        }
        self.state().has_ended = true;
        if let Some(errno) = error {
            self.state().error = Some(errno);
            let value = errno.raw_os_error().unsigned_abs();
            let _ = self.channel.give(&Head { value, ..Head::of(Kind::Fault) }, &[]).await;
        }
        self.hang_up();
    }

    /// Nothing more comes over the association of a one-to-one socket.
    pub(super) fn hang_up(&self) {
        if self.is_one_to_one() {
            self.state().has_ended = true;
            self.channel.close();
        }
    }

    /// Hands a message to the program; waits while its queue is full. An error says that the program has closed the socket.
    pub(super) async fn deliver(&self, head: Head, fragments: &[&[u8]]) -> io::Result<()> {
        let wanted = self.wanted.load(Ordering::Relaxed);
        let context = self.context.load(Ordering::Relaxed);
        let head = Head { wanted, context, ..head };
        for (parts, is_last) in Cut::new(fragments) {
            self.channel.give(&Head { ends: head.ends && is_last, ..head }, &parts).await?;
        }
        Ok(())
    }

    /// Hands a notification to the program. As in Linux, it comes from the peer that it is about.
    pub(super) async fn tell(&self, association: i32, content: &[u8]) {
        let peer = self.state().links.get(&association).and_then(|link| link.peer());
        let head = Head { association, peer, ..Head::of(Kind::Notification) };
        let _ = self.channel.give(&head, &[content]).await;
    }
}

impl State {
    fn port_config(&self, socket: &Socket) -> PortConfig {
        PortConfig {
            local_addresses: socket.port_addresses(self),
            listening: self.backlog.is_some(),
            association: self.options.association.clone(),
        }
    }

    fn draw_association(&mut self) -> i32 {
        let id = self.next_association;
        self.next_association = id.checked_add(1).unwrap_or(FIRST_ASSOCIATION);
        id
    }

    /// The association with the peer that has this address.
    pub(super) fn link_with(&self, peer: SocketAddr) -> Option<Arc<Link>> {
        self.links.values().find(|link| link.has_peer(peer)).cloned()
    }

    /// The association with this identifier; of a one-to-one socket its own one, whatever the identifier.
    pub(super) fn link(&self, socket: &Socket, id: i32) -> Option<Arc<Link>> {
        match socket.is_one_to_one() {
            true => self.links.values().next().cloned(),
            false => self.links.get(&id).cloned(),
        }
    }

    /// Addresses of this side and of the peer of a one-to-one socket that is connected, or was.
    pub(super) fn names(&self) -> Option<[SocketAddr; 2]> {
        self.names
    }

    /// Addresses that the program has bound; none means all.
    pub(super) fn bound_addresses(&self) -> &[IpAddr] {
        &self.addresses
    }

    /// Associations that are there.
    pub(super) fn links(&self) -> impl Iterator<Item = &Arc<Link>> {
        self.links.values()
    }
}

/// Address and port of the peer, by its primary path.
pub(super) fn peer_of(association: &Association) -> Option<SocketAddr> {
    names_of(association).map(|[_, peer]| peer)
}

/// Addresses and ports of this side and of the peer, by the primary path.
fn names_of(association: &Association) -> Option<[SocketAddr; 2]> {
    let paths = association.path_stats();
    let path = paths.iter().find(|path| path.primary).or(paths.first())?;
    Some([
        SocketAddr::new(path.local, association.local_port()),
        SocketAddr::new(path.remote, association.remote_port()),
    ])
}

/// The number of an error of the system.
pub(super) fn errno_of(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}
