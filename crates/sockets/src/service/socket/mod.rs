//! A socket of a program.

mod binding;
mod departures;
mod ending;
mod establish;
mod input;
mod links;
mod outlook;
mod peel_off;
mod shared_port;
mod theirs;
mod turns;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::ops::{Deref, DerefMut};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use polypath::{Association, BoundPort, WaitingPlace};
use rustix::io::Errno;
use tokio::sync::Notify;

use self::departures::Departures;
use self::ending::Endings;
use self::links::Links;
use self::outlook::Reading;
pub(super) use self::shared_port::SharedPorts;
pub(super) use self::theirs::Theirs;
pub(super) use self::turns::Turn;
use self::turns::Turns;
use super::board::Known;
use super::channel::Channel;
use super::link::Link;
use super::options::Options;
use super::{Service, lock};
use crate::board::{Posted, posted};
use crate::frame::{Head, Kind};
use crate::names::{SocketName, Style};

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
    /// Associations deliver messages one at a time.
    turns: Turns,
    /// A peer has shut down, or an association has left.
    ending: Notify,
    /// An association has got a socket of its own.
    peeled: Notify,
    /// The program has set options.
    pub(super) reconfigured: Notify,
    /// Ancillary data that goes with each message.
    wanted: AtomicU8,
    /// The service has a descriptor of the program, too.
    is_in_transit: AtomicBool,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) options: Options,
    port: Option<Arc<BoundPort>>,
    /// The port that it is to have, as soon as it is known which lower layer it uses.
    wished_port: u16,
    /// Local addresses that it is bound to; none means all of its family.
    addresses: Vec<IpAddr>,
    backlog: Option<usize>,
    /// Whether a task takes what peers begin; it stays when the socket listens no more.
    accepts: bool,
    /// Attempts to connect that are under way.
    connecting: usize,
    /// What `SO_ERROR` gives next.
    error: Option<Errno>,
    /// Why the last attempt to connect has failed, if it has.
    failure: Option<Errno>,
    links: Links,
    /// Associations that were aborted, or have a socket of their own.
    departures: Departures<Arc<Link>>,
    /// Associations that their peers shut down.
    endings: Endings<Arc<Link>>,
    /// What it keeps of the backlog of the socket that listens until the program has accepted it.
    place: Option<WaitingPlace>,
    reading: Reading,
    /// Associations that have ended, of which the program is being told.
    farewells: usize,
    is_closed: bool,
    /// The association of a one-to-one socket ends, or has ended: no more messages are taken.
    refuses: bool,
    /// Addresses of this side and of the peer, once a one-to-one socket is connected.
    names: Option<[SocketAddr; 2]>,
    /// What programs know of the socket.
    posted: Known,
}

impl Socket {
    /// A new socket, and the descriptor for the program. Its process must not have too many.
    pub(super) fn open(
        service: &Arc<Service>,
        (style, is_ipv6): (Style, bool),
        process: i32,
        options: Options,
    ) -> Result<(Arc<Self>, OwnedFd), Errno> {
        let (socket, theirs) = Self::unread(service, (style, is_ipv6), process, options)?;
        tokio::spawn(Arc::clone(&socket).read());
        Ok((socket, theirs))
    }

    /// The same of which nothing is read yet.
    fn unread(
        service: &Arc<Service>,
        (style, is_ipv6): (Style, bool),
        process: i32,
        options: Options,
    ) -> Result<(Arc<Self>, OwnedFd), Errno> {
        let id = service.draw_id().ok_or(Errno::IO)?;
        let is_carried = service.network.is_carried();
        let place = service.board.take(id);
        let name = SocketName { id, style, is_ipv6, is_carried, place };
        let (channel, theirs) = Channel::pair(name)
            .inspect_err(|_| service.board.give_back(place))
            .map_err(|error| errno_of(&error))?;
        let wanted = AtomicU8::new(options.wanted());
        let socket = Arc::new(Self {
            name,
            process,
            service: Arc::clone(service),
            channel,
            state: Mutex::new(State {
                options,
                port: None,
                wished_port: 0,
                addresses: Vec::new(),
                backlog: None,
                accepts: false,
                connecting: 0,
                error: None,
                failure: None,
                links: Links::new(style == Style::OneToMany),
                departures: Departures::NONE,
                endings: Endings::NONE,
                place: None,
                reading: Reading::Open,
                farewells: 0,
                is_closed: false,
                refuses: false,
                names: None,
                posted: Known::NOTHING,
            }),
            settled: Notify::new(),
            turns: Turns::default(),
            ending: Notify::new(),
            peeled: Notify::new(),
            reconfigured: Notify::new(),
            wanted,
            is_in_transit: AtomicBool::new(false),
        });
        drop(socket.state());
        if service.add(&socket) {
            return Ok((socket, theirs));
        }
        // Nobody looks at its place then.
        drop(theirs);
        Err(Errno::MFILE)
    }

    /// The state, locked. What programs may know of it is posted when it is given back.
    pub(super) fn state(&self) -> Locked<'_> {
        Locked { socket: self, state: lock(&self.state) }
    }

    /// What programs may know.
    fn posted(&self, state: &State) -> Posted {
        let is_expected = self.expects(state);
        let flags = [
            (self.is_listening_now(state), posted::LISTENS),
            (is_expected, posted::EXPECTS),
            (state.refuses, posted::REFUSES),
            (state.names.is_some(), posted::CONNECTED),
        ];
        let flags = flags.into_iter().filter(|(is_so, _)| *is_so);
        Posted {
            flags: flags.fold(0, |all, (_, flag)| all | flag),
            wanted: state.options.wanted(),
            ended: state.links.removed(),
        }
    }

    pub(super) fn is_one_to_one(&self) -> bool {
        self.name.style != Style::OneToMany
    }

    /// After options have changed.
    pub(super) fn options_changed(&self, state: &State) {
        self.wanted.store(state.options.wanted(), Ordering::Relaxed);
        self.reconfigured.notify_waiters();
        if let Some(port) = &state.port
            && self.configures(state, port)
        {
            port.set(state.port_config(self), state.backlog.unwrap_or(0));
        }
    }

    /// The program has closed the socket, or is gone.
    async fn finish(self: Arc<Self>) {
        self.has_been_taken();
        let (links, port, aborts) = {
            let mut state = self.state();
            state.is_closed = true;
            state.endings = Endings::NONE;
            state.departures = Departures::NONE;
            self.stop_listening(&mut state);
            let links = std::mem::take(&mut state.links);
            let links: Vec<_> = links.values().cloned().collect();
            (links, state.port.take(), state.options.aborts_on_close())
        };
        self.settled.notify_waiters();
        drop(port);
        self.service.port_is_free.notify_waiters();
        if self.name.is_carried && aborts {
            // The program takes it for gone once the ABORTs are on their way: it may free what carries them then.
            for link in links {
                let association = link.association().cloned();
                link.leave(aborts).await;
                if let Some(association) = association {
                    let _ = association.closed().await;
                }
            }
            return self.service.remove(&self);
        }
        self.service.remove(&self);
        for link in links {
            link.leave(aborts).await;
        }
    }

    /// An association is none of the socket's any more: a program that hears of its end can begin another one with the peer. False if
    /// it has moved to another socket meanwhile.
    pub(super) fn forget(&self, link: &Link) -> bool {
        let mut state = self.state();
        state.forget(link) || state.is_closed
    }

    /// Like [`forget`](Self::forget), for an association that was established. From now on, writing to a one-to-one socket fails with `error`.
    pub(super) fn lose(&self, link: &Link, error: Option<Errno>) -> bool {
        let mut state = self.state();
        let was_there = state.forget(link);
        if was_there && self.is_one_to_one() {
            state.refuses = true;
            state.error = error.or(state.error);
        }
        was_there || state.is_closed
    }

    /// The program has been told of the end of an association that was forgotten.
    pub(super) fn has_told_the_end(&self) {
        let mut state = self.state();
        state.farewells = state.farewells.saturating_sub(1);
        drop(state);
        self.settled.notify_waiters();
    }

    /// The program has accepted the socket: another association may wait in its place.
    fn has_been_taken(&self) {
        let place = self.state().place.take();
        drop(place);
    }

    /// An identifier that no association of this socket has. As in Linux, no other socket has it either, until all have been in use.
    fn draw_association(&self, state: &State) -> i32 {
        loop {
            let id = self.service.draw_association();
            if state.links.get(id).is_none() {
                return id;
            }
        }
    }

    /// An association has ended, and all that it brought is delivered.
    pub(super) async fn ended(&self, error: Option<Errno>) {
        // Unless the program has heard of it already.
        let is_new = |errno: &Errno| self.is_one_to_one() && self.state().error == Some(*errno);
        if let Some(errno) = error.filter(is_new) {
            self.tell_of_error(errno).await;
        }
        self.has_told_the_end();
        self.hang_up();
    }

    /// Wakes a program that reads from a one-to-one socket whose `SO_ERROR` is set.
    async fn tell_of_error(&self, errno: Errno) {
        let value = errno.raw_os_error().unsigned_abs();
        // Fails if the program has closed the socket.
        let _ = self.channel.give(&Head { value, ..Head::of(Kind::Fault) }, &[]).await;
    }

    /// Nothing more comes over the association of a one-to-one socket.
    pub(super) fn hang_up(&self) {
        if self.is_one_to_one() {
            self.state().refuses = true;
            self.channel.end();
        }
    }

    /// Hands a message or a notification to the program; waits while its queue is full. Does nothing, and gives false, if it `belongs` here no
    /// more by then. An error says that the program has closed the socket.
    pub(super) async fn deliver(
        &self,
        head: Head,
        fragments: &[&[u8]],
        belongs: impl Fn() -> bool,
    ) -> io::Result<bool> {
        let wanted = match head.kind {
            Kind::Data => self.wanted.load(Ordering::Relaxed),
            _ => head.wanted,
        };
        self.channel.give_message(&Head { wanted, ..head }, fragments, belongs).await
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // As long as the program has it, it may look there.
        if self.channel.is_hung_up() {
            self.service.board.give_back(self.name.place);
        }
    }
}

/// The state of a socket, while it is locked.
pub(super) struct Locked<'a> {
    socket: &'a Socket,
    state: MutexGuard<'a, State>,
}

impl Deref for Locked<'_> {
    type Target = State;

    fn deref(&self) -> &State {
        &self.state
    }
}

impl DerefMut for Locked<'_> {
    fn deref_mut(&mut self) -> &mut State {
        &mut self.state
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        let posted = self.socket.posted(&self.state);
        let SocketName { id, place, .. } = self.socket.name;
        // What cannot be written now is written when somebody looks next.
        let board = &self.socket.service.board;
        self.state.posted.bring(posted, || board.post(place, posted, id));
    }
}

impl State {
    /// For calls that give a socket something which only closing it takes away.
    fn ensure_open(&self) -> Result<(), Errno> {
        if self.is_closed { Err(Errno::NOTCONN) } else { Ok(()) }
    }

    /// An association is none of the socket's any more, of which the program is still to be told; whether it was there.
    fn forget(&mut self, link: &Link) -> bool {
        let was_there = self.links.remove(link.id).is_some();
        self.farewells += usize::from(was_there);
        was_there
    }

    /// The association with the peer that has this address.
    pub(super) fn link_with(&self, peer: SocketAddr) -> Option<Arc<Link>> {
        self.links.with_peer(peer).cloned()
    }

    /// The association with this identifier; of a one-to-one socket its own one, whatever the identifier.
    pub(super) fn link(&self, socket: &Socket, id: i32) -> Option<Arc<Link>> {
        match socket.is_one_to_one() {
            true => self.links.first().cloned(),
            false => self.links.get(id).cloned(),
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
