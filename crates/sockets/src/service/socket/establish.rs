//! How associations of a socket begin: `listen` and `connect`.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use polypath::{
    Association, AssociationConfig, BoundPort, ConnectError, ConnectRefusal, Peer, WaitingPlace,
};
use rustix::io::Errno;

use super::{Socket, State, names_of, peer_of};
use crate::frame::{Head, Kind};
use crate::init::InitMessage;
use crate::names::Style;
use crate::service::link::{Link, OutgoingQueue};
use crate::service::notify::Told;
use crate::service::{errors, notify};

/// Most associations that may wait beyond the first, as in Linux (`net.core.somaxconn`). One-to-many sockets have no other limit.
const MAX_BACKLOG: usize = 4096;

/// How often, and how long in between, it is looked whether an association that has ended is gone.
const REMAINS_TRIES: usize = 50;
const REMAINS_PAUSE: Duration = Duration::from_millis(2);

impl Socket {
    /// `listen`.
    pub(in crate::service) fn listen(self: &Arc<Self>, backlog: i32) -> Result<(), Errno> {
        let mut state = self.state();
        state.ensure_open()?;
        let begins = !state.links.is_empty() || state.connecting > 0 || state.names.is_some();
        if self.is_one_to_one() && begins {
            return Err(Errno::INVAL);
        }
        // As in Linux, where one that does not listen cannot stop.
        let Some(wanted) = NonZeroUsize::new(usize::try_from(backlog).unwrap_or(MAX_BACKLOG))
        else {
            if state.backlog.is_none() {
                return Err(Errno::INVAL);
            }
            self.stop_listening(&mut state);
            self.options_changed(&state);
            drop(state);
            self.settled.notify_waiters();
            return Ok(());
        };
        if state.port.is_none() {
            let wished = state.wished_port;
            self.take_port(&mut state, wished)?;
        }
        self.begin_listening(&state)?;
        let accepts = std::mem::replace(&mut state.accepts, true);
        // As in Linux, one more than the backlog may wait.
        state.backlog = Some(match self.is_one_to_one() {
            true => wanted.get().min(MAX_BACKLOG) + 1,
            false => MAX_BACKLOG,
        });
        self.options_changed(&state);
        // What held the port here would let it go without a notice.
        let port = state.port.as_ref().map(Arc::downgrade).ok_or(Errno::INVAL)?;
        drop(state);
        self.settled.notify_waiters();
        if !accepts {
            tokio::spawn(Arc::clone(self).accept(port));
        }
        Ok(())
    }

    pub(in crate::service) fn is_listening(&self) -> bool {
        self.is_listening_now(&self.state())
    }

    pub(in crate::service) fn is_listening_now(&self, state: &State) -> bool {
        state.backlog.is_some()
    }

    /// Takes associations that peers begin, as long as the socket is there.
    async fn accept(self: Arc<Self>, port: std::sync::Weak<BoundPort>) {
        while let Some(bound) = port.upgrade() {
            let closed = self.settled.notified();
            if self.state().is_closed {
                break;
            }
            tokio::select! {
                accepted = bound.accept_with_place() => match accepted {
                    Ok((association, place)) => self.accepted(association, place).await,
                    Err(_) => break,
                },
                () = closed => {}
            }
        }
        self.service.port_is_free.notify_waiters();
    }

    async fn accepted(self: &Arc<Self>, association: Association, place: WaitingPlace) {
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
        socket.state().place = Some(place);
        let peer = peer_of(&association);
        socket.adopt(Arc::new(association), None).await;
        let wanted = self.state().options.wanted();
        let head = Head { peer, wanted, ..Head::of(Kind::Accepted) };
        // What cannot be accepted any more would lie in front of all that comes later. A socket that listens gives no frames to others, so that nobody
        // holds its state and waits for the channel.
        let listens = || self.is_listening();
        // Fails if the program has closed the socket; then, as where it listens no more, the new one has no descriptor left, and ends.
        let _ = self.channel.give_descriptor(&head, theirs.as_fd(), listens).await;
    }

    /// `connect`: begins an association with the peer at these addresses; gives its identifier.
    pub(in crate::service) fn connect(
        self: &Arc<Self>,
        addresses: &[SocketAddr],
        init: InitMessage,
    ) -> Result<i32, Errno> {
        let mut state = self.state();
        state.ensure_open()?;
        let options = state.options.clone().with_init(init)?;
        if self.is_one_to_one() {
            if state.backlog.is_some() || state.names.is_some() {
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
        self.ensure_carried(&mut state, addresses)?;
        if state.port.is_none() {
            let wished = state.wished_port;
            self.take_port(&mut state, wished)?;
        }
        let from = state.port.clone().ok_or(Errno::INVAL)?;
        let peer = Peer::new(addresses.iter().map(SocketAddr::ip), port);
        let peer = match state.options.encapsulation_port {
            Some(udp_port) => peer.encapsulation_port(udp_port),
            None => peer.raw_ip(),
        };
        let (config, afterwards) = (options.for_connecting(addresses), options.after_connecting());
        // Each takes memory until the peer has answered, or long enough has not.
        if !self.service.attempts.take(self.process) {
            return Err(Errno::NOBUFS);
        }
        state.connecting += 1;
        (state.error, state.failure) = (None, None);
        let each = state.options.each;
        let id = self.draw_association(&state);
        let (link, outgoing) = Link::new(id, addresses, each);
        let link = Arc::new(link);
        state.links.insert(&link);
        drop(state);
        let socket = Arc::clone(self);
        tokio::spawn(async move {
            let outcome = attempt(&from, &peer, &config).await;
            socket.service.attempts.give_back(socket.process);
            drop(from);
            socket.service.port_is_free.notify_waiters();
            match outcome {
                Ok(association) => {
                    if let Some(options) = afterwards {
                        // They were accepted as the configuration.
                        let _ = association.set_options(&options);
                    }
                    let waiting = Some((link, outgoing));
                    socket.adopt(Arc::new(association), waiting).await;
                    socket.settle(None).await;
                }
                Err(error) => {
                    socket.forget(&link);
                    notify::cannot_start(Told::of(&socket, &link), &error).await;
                    socket.settle(Some(errors::of_connect(&error))).await;
                    // Who asks what to expect finds the error in the descriptor then.
                    socket.has_told_the_end();
                }
            }
        });
        Ok(id)
    }

    /// Where the program carries packets, both sides have the address that names the lower layer.
    fn ensure_carried(&self, state: &mut State, peer: &[SocketAddr]) -> Result<(), Errno> {
        if !self.name.is_carried {
            return Ok(());
        }
        let [peer] = peer else { return Err(Errno::INVAL) };
        if state.port.is_none() && self.service.network.local_addresses().contains(&peer.ip()) {
            state.addresses = vec![peer.ip()];
        }
        if state.addresses == [peer.ip()] { Ok(()) } else { Err(Errno::ADDRNOTAVAIL) }
    }

    /// An attempt to connect has ended.
    async fn settle(&self, error: Option<Errno>) {
        {
            let mut state = self.state();
            (state.error, state.failure) = (error, error);
        }
        if let Some(errno) = error.filter(|_| self.is_one_to_one()) {
            // Before whoever waits for the attempt goes on, and takes it out of the descriptor.
            self.tell_of_error(errno).await;
        }
        self.state().connecting -= 1;
        self.settled.notify_waiters();
    }

    /// Waits until no attempt to connect is under way; gives what came of the last one.
    pub(in crate::service) async fn connected(&self) -> Result<(), Errno> {
        loop {
            let settled = self.settled.notified();
            {
                let mut state = self.state();
                if state.connecting == 0 || state.is_closed {
                    state.error = state.error.filter(|_| state.failure.is_none());
                    return state.failure.map_or(Ok(()), Err);
                }
            }
            settled.await;
        }
    }

    /// `SO_ERROR`, which is gone then.
    pub(in crate::service) fn take_error(&self) -> i32 {
        self.state().error.take().map_or(0, Errno::raw_os_error)
    }

    /// An association belongs to the socket from now on.
    pub(super) async fn adopt(
        self: &Arc<Self>,
        association: Arc<Association>,
        waiting: Option<(Arc<Link>, OutgoingQueue)>,
    ) {
        let (link, outgoing) = match waiting {
            Some(waiting) => waiting,
            None => {
                let mut state = self.state();
                if state.is_closed {
                    // Nobody would ever end it.
                    return association.abort("the socket is closed");
                }
                let peers: Vec<_> = peer_of(&association).into_iter().collect();
                let each = state.options.each;
                let id = self.draw_association(&state);
                let (link, outgoing) = Link::new(id, &peers, each);
                let link = Arc::new(link);
                state.links.insert(&link);
                (link, outgoing)
            }
        };
        link.come_up(&association);
        self.state().links.learn_addresses(&link);
        if self.is_one_to_one() {
            self.state().names = names_of(&association);
        }
        notify::came_up(self, &link, &association).await;
        tokio::spawn(link.clone().send(Arc::clone(self), Arc::clone(&association), outgoing));
        tokio::spawn(link.receive(Arc::clone(self), association));
    }
}

/// Begins an association. The one before with the peer may have ended, as the program has heard, and still be in the endpoint's table.
async fn attempt(
    from: &BoundPort,
    peer: &Peer,
    config: &AssociationConfig,
) -> Result<Association, ConnectError> {
    for _ in 0..REMAINS_TRIES {
        match from.connect(peer, config.clone()).await {
            Err(ConnectError::Invalid(ConnectRefusal::AlreadyConnected)) => {
                tokio::time::sleep(REMAINS_PAUSE).await;
            }
            outcome => return outcome,
        }
    }
    from.connect(peer, config.clone()).await
}

#[cfg(test)]
mod tests {
    use polypath::{Endpoint, Message};

    use super::*;
    use crate::abi::{IPPROTO_SCTP, notification, option};
    use crate::service::options;
    use crate::service::tests::{frame, open, service};

    /// `SCTP_EVENTS` for changes of the association, its shutdown and its authentication.
    const EVENTS: [u8; 14] = [0, 1, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0];

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn what_happened_before_an_association_is_accepted_is_reported_once() {
        let endpoint = || Endpoint::builder(["127.0.0.89".parse().unwrap()]).encapsulation_port(0);
        let server = endpoint().listen(1).bind().unwrap();
        let client = endpoint().bind().unwrap();
        let to = Peer::new(server.local_addresses(), server.port());
        let to = to.encapsulation_port(server.encapsulation_port());
        let near = client.connect(&to, AssociationConfig::default()).await.unwrap();
        near.send(Message::new(0, "all")).await.unwrap();
        near.shutdown().await.unwrap();
        let far = server.accept().await.unwrap();
        far.closed().await.unwrap();

        let (service, port) = service("127.0.0.88");
        let (socket, fd) = open(&service, Style::OneToOne, port);
        options::set(&socket, IPPROTO_SCTP, option::EVENTS, &EVENTS).unwrap();
        socket.adopt(Arc::new(far), None).await;
        let mut kinds = Vec::new();
        while kinds.len() < 5 {
            let (head, content) = frame(&fd).await;
            kinds.push(match head.kind {
                Kind::Notification => u16::from_ne_bytes([content[0], content[1]]),
                _ => notification::DATA_IO,
            });
        }
        let expected = [
            notification::ASSOC_CHANGE,
            notification::AUTHENTICATION,
            notification::DATA_IO,
            notification::SHUTDOWN_EVENT,
            notification::ASSOC_CHANGE,
        ];
        assert_eq!(kinds, expected);
    }
}
