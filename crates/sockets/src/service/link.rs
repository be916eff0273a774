//! An association of a socket, and the two tasks that carry its messages.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use polypath::config::PartialReliability;
use polypath::{
    Association, AssociationError, Delivery, Event, Message, PathId, PathStatus, Piece,
    ReceivedMessage,
};
use rustix::io::Errno;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::notify::Told;
use super::options::Each;
use super::reports::{Reports, Subscription};
use super::socket::{Socket, Turn, peer_of};
use super::under_way::{Sent, UnderWay};
use super::{errors, keyed, lock, notify};
use crate::abi::flag;
use crate::frame::{Head, Kind, MAX_PIECE_BYTES};

/// Messages that may wait for an association, before the program's descriptor is not writable any more.
const WAITING_MESSAGES: usize = 16;

/// KiB that large messages among them may take.
const LARGE_KIB: u32 = 4096;

/// How long an association may take to shut down when nobody waits for it.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(super) struct Link {
    pub(super) id: i32,
    association: OnceLock<Arc<Association>>,
    outgoing: mpsc::Sender<Outgoing>,
    /// What large messages may take while they wait, in KiB; one that takes more waits alone.
    large: Arc<Semaphore>,
    /// Where the program said that the peer is.
    named: Vec<SocketAddr>,
    /// What the program has set for it.
    each: Mutex<Each>,
    /// What the association reports, from the moment when the program asked for it.
    subscription: Mutex<Subscription>,
    /// Messages that the program wants back if they do not arrive.
    under_way: Mutex<UnderWay>,
    /// The socket that it moved to.
    moved: Mutex<Option<Arc<Socket>>>,
}

/// What waits for an association.
pub(super) type OutgoingQueue = mpsc::Receiver<Outgoing>;

/// What is to be done with an association.
#[derive(Debug)]
pub(super) enum Outgoing {
    /// A message; an empty one only says that the association ends behind it.
    Message {
        message: Message,
        /// The address that it is to go to (`SCTP_ADDR_OVER`).
        over: Option<IpAddr>,
        /// The key that authenticates it.
        key: Option<u16>,
        ends: bool,
        /// Its share of what large messages may take while they wait.
        share: Option<OwnedSemaphorePermit>,
    },
    /// A graceful end.
    End,
    /// An abort, with the reason for the peer.
    Abort(Bytes),
}

impl Outgoing {
    /// What a frame of the program asks for.
    pub(super) fn new(head: &Head, payload: Bytes) -> Self {
        if head.flags & flag::ABORT != 0 {
            return Self::Abort(payload);
        }
        let mut message = Message::new(head.stream, payload);
        message.ppid = u32::from_be(head.ppid);
        message.context = head.context;
        message.sack_immediately = head.flags & flag::SACK_IMMEDIATELY != 0;
        if head.flags & flag::UNORDERED != 0 {
            message.delivery = Delivery::Unordered;
        }
        message.reliability = reliability(head.pr_policy, head.value);
        let over = head.peer.filter(|_| head.flags & flag::ADDR_OVER != 0);
        let ends = head.flags & flag::EOF != 0;
        let (over, key) = (over.map(|peer| peer.ip()), head.key);
        Self::Message { message, over, key, ends, share: None }
    }
}

/// The policy with this number; `None` leaves that of the association.
pub(super) fn reliability(policy: u16, value: u32) -> Option<PartialReliability> {
    match policy & flag::PR_MASK {
        flag::PR_TTL if value > 0 => {
            let lifetime = polypath::Duration::from_millis(value.into());
            Some(PartialReliability::Timed(lifetime))
        }
        flag::PR_RTX => {
            let limit = u16::try_from(value).unwrap_or(u16::MAX);
            Some(PartialReliability::LimitedRetransmissions(limit))
        }
        flag::PR_PRIO => Some(PartialReliability::Priority(value)),
        _ => None,
    }
}

impl Link {
    pub(super) fn new(id: i32, named: &[SocketAddr], each: Each) -> (Self, OutgoingQueue) {
        let (outgoing, waiting) = mpsc::channel(WAITING_MESSAGES);
        let link = Self {
            id,
            association: OnceLock::new(),
            outgoing,
            large: Arc::new(Semaphore::new(LARGE_KIB as usize)),
            named: named.to_vec(),
            each: Mutex::new(each),
            subscription: Mutex::default(),
            under_way: Mutex::default(),
            moved: Mutex::default(),
        };
        (link, waiting)
    }

    /// What the program has set for it.
    pub(super) fn each(&self) -> Each {
        *lock(&self.each)
    }

    /// Changes it. When this returns, no event is missed that the program wants to hear of.
    pub(super) fn change_each(&self, change: impl Fn(&mut Each)) {
        change(&mut lock(&self.each));
        self.subscribe();
    }

    /// Begins to listen to the association, if there is one and the program wants that.
    fn subscribe(&self) {
        if let Some(association) = self.association.get()
            && self.each().wants_events()
        {
            lock(&self.subscription).begin(association);
        }
    }

    /// The message that the association names so will not arrive.
    pub(super) fn take_back(&self, stream: u16, context: u32) -> Sent {
        let kept = lock(&self.under_way).take(context);
        kept.unwrap_or(Sent { stream, context, ..Sent::default() })
    }

    /// All messages have arrived.
    pub(super) fn settle(&self, association: &Association) {
        if association.stats().send_buffer_bytes == 0 {
            lock(&self.under_way).settle();
        }
    }

    /// The handshake is over.
    pub(super) fn come_up(&self, association: &Arc<Association>) {
        let _ = self.association.set(Arc::clone(association));
        self.subscribe();
    }

    pub(super) fn is_up(&self) -> bool {
        self.association.get().is_some()
    }

    pub(super) fn association(&self) -> Option<&Arc<Association>> {
        self.association.get()
    }

    /// Address and port of the peer.
    pub(super) fn peer(&self) -> Option<SocketAddr> {
        let known = self.association.get().and_then(|association| peer_of(association));
        known.or_else(|| self.named.first().copied())
    }

    /// Where the peer is, as far as it is known.
    pub(super) fn peer_addresses(&self) -> Vec<SocketAddr> {
        let mut all = self.named.clone();
        if let Some(association) = self.association.get() {
            let port = association.remote_port();
            let addresses = association.remote_addresses().into_iter();
            all.extend(addresses.map(|ip| SocketAddr::new(ip, port)));
            all.sort_unstable();
            all.dedup();
        }
        all
    }

    pub(super) fn has_peer(&self, peer: SocketAddr) -> bool {
        self.named.contains(&peer)
            || self.association.get().is_some_and(|association| {
                association.remote_port() == peer.port()
                    && association.remote_addresses().contains(&peer.ip())
            })
    }

    /// Another socket has it from now on.
    pub(super) fn move_to(&self, socket: &Arc<Socket>) {
        *lock(&self.moved) = Some(Arc::clone(socket));
    }

    /// The socket that has it.
    fn owner(&self, first: &Arc<Socket>) -> Arc<Socket> {
        Arc::clone(lock(&self.moved).as_ref().unwrap_or(first))
    }

    /// Does something with the socket that has it, which is given. `done` says false if the socket has it no more.
    fn with_owner(&self, first: &Arc<Socket>, done: impl Fn(&Arc<Socket>) -> bool) -> Arc<Socket> {
        let mut owner = self.owner(first);
        while !done(&owner) {
            // It has moved just now.
            let next = self.owner(first);
            if Arc::ptr_eq(&owner, &next) {
                break;
            }
            owner = next;
        }
        owner
    }

    /// Takes it away from the socket that has it, which is given; what has ended it, if that is an error.
    fn let_go(&self, first: &Arc<Socket>, error: Option<Errno>) -> Arc<Socket> {
        self.with_owner(first, |owner| owner.lose(self, error))
    }

    fn peer_has_shut_down(self: &Arc<Self>, first: &Arc<Socket>) {
        self.with_owner(first, |owner| owner.peer_has_shut_down(self));
    }

    /// Hands a message or a notification to the program, by the socket that has the association by then. An error says that the program has
    /// closed that.
    pub(super) async fn deliver(
        &self,
        first: &Arc<Socket>,
        mut turn: Option<(&mut Turn, Piece)>,
        (head, fragments): (Head, &[&[u8]]),
    ) -> io::Result<()> {
        loop {
            let owner = self.owner(first);
            // From now on none is missed.
            let mut peeled = pin!(owner.peels_off());
            let belongs = || Arc::ptr_eq(&owner, &self.owner(first));
            let delivered = async {
                if let Some((turn, piece)) = &mut turn {
                    owner.wait_for_turn(turn, *piece).await;
                }
                owner.deliver(head, fragments, belongs).await
            };
            tokio::select! {
                biased;
                () = &mut peeled => {}
                delivered = delivered => if delivered? {
                    return Ok(());
                },
            }
        }
    }

    /// Waits until there is room for what is to be done; gives it back if the association has ended.
    pub(super) async fn enqueue(&self, mut outgoing: Outgoing) -> Option<Outgoing> {
        if let Outgoing::Message { message, share, .. } = &mut outgoing
            && message.len() > MAX_PIECE_BYTES
        {
            let kib = u32::try_from(message.len() / 1024).unwrap_or(u32::MAX);
            let all = Arc::clone(&self.large).acquire_many_owned(kib.min(LARGE_KIB)).await;
            *share = all.ok();
        }
        self.outgoing.send(outgoing).await.err().map(|refused| refused.0)
    }

    /// Ends the association at once: what waits is lost, and the peer may never take it.
    pub(super) async fn abort(&self, reason: Bytes) {
        match self.association.get() {
            Some(association) => association.abort(reason),
            None => drop(self.enqueue(Outgoing::Abort(reason)).await),
        }
    }

    /// The program has closed the socket.
    pub(super) async fn leave(self: Arc<Self>, aborts: bool) {
        match aborts {
            true => self.abort(Bytes::new()).await,
            false => drop(self.enqueue(Outgoing::End).await),
        }
    }

    /// Carries what waits, until the association ends.
    pub(super) async fn send(
        self: Arc<Self>,
        socket: Arc<Socket>,
        association: Arc<Association>,
        mut waiting: OutgoingQueue,
    ) {
        let ended = Arc::clone(&association);
        let mut ended = pin!(ended.closed());
        let (mut is_shut, shut) = (false, Arc::clone(&association));
        let mut shut = pin!(shut.shut_by_peer());
        loop {
            let outgoing = tokio::select! {
                biased;
                () = &mut shut, if !is_shut => {
                    is_shut = true;
                    // It may have ended otherwise.
                    if association.is_shut_by_peer() {
                        self.peer_has_shut_down(&socket);
                    }
                    continue;
                }
                Some(outgoing) = waiting.recv() => outgoing,
                ended = &mut ended => {
                    let errno = ended.err().map_or(Errno::PIPE, |error| errors::of_end(&error));
                    return self.give_back(&socket, waiting, errno).await;
                }
            };
            let ends = match outgoing {
                Outgoing::Message { message, over, key, ends, share } => {
                    let sent = sent(&message);
                    let handed_over = match message.is_empty() {
                        true => Ok(()),
                        false => self.hand_over(&association, message, (over, key)).await,
                    };
                    drop(share);
                    if let Err(errno) = handed_over {
                        let owner = self.owner(&socket);
                        notify::not_sent(Told::of(&owner, &self), &sent, errno).await;
                    }
                    ends
                }
                Outgoing::End => true,
                Outgoing::Abort(reason) => {
                    association.abort(reason);
                    return self.give_back(&socket, waiting, Errno::CONNABORTED).await;
                }
            };
            if ends {
                // What is written meanwhile is too late.
                let ended = association.shutdown_within(SHUTDOWN_LIMIT);
                let (_, ()) = tokio::join!(ended, self.give_back(&socket, waiting, Errno::PIPE));
                return;
            }
        }
    }

    /// Tells the program of messages that the association never had.
    async fn give_back(&self, socket: &Arc<Socket>, mut waiting: OutgoingQueue, errno: Errno) {
        waiting.close();
        while let Some(outgoing) = waiting.recv().await {
            self.refuse(socket, outgoing, errno).await;
        }
    }

    /// Tells the program of a message that the association does not get.
    pub(super) async fn refuse(&self, socket: &Arc<Socket>, outgoing: Outgoing, errno: Errno) {
        let owner = self.owner(socket);
        notify::refused(Told::of(&owner, self), outgoing, errno).await;
    }

    /// Gives a message to the association.
    async fn hand_over(
        &self,
        association: &Association,
        mut message: Message,
        (over, key): (Option<IpAddr>, Option<u16>),
    ) -> Result<(), Errno> {
        if let Some(address) = over {
            message.path = Some(path_to(association, address).ok_or(Errno::INVAL)?);
        }
        let kept = self.each().wants_messages_back().then(|| {
            let most = association.options().send_buffer_bytes.unwrap_or(0);
            let most = usize::try_from(most).unwrap_or(usize::MAX);
            message.context = lock(&self.under_way).keep(sent(&message), most);
            message.context
        });
        let active = association.active_key();
        let done = match key.filter(|key| active.is_some_and(|active| active != *key)) {
            Some(key) => keyed::send(association, message, key).await,
            None => association.send(message).await,
        };
        if let (Err(_), Some(number)) = (&done, kept) {
            lock(&self.under_way).take(number);
        }
        done.map_err(|error| errors::of_send(&error))
    }

    /// Hands what arrives to the program, and notifications, until the association ends.
    pub(super) async fn receive(
        self: Arc<Self>,
        socket: Arc<Socket>,
        association: Arc<Association>,
    ) {
        let mut peer = peer_of(&association);
        let mut reports = Reports::default();
        let mut turn = Turn::default();
        let ended = loop {
            let owner = self.owner(&socket);
            let reconfigured = owner.reconfigured.notified();
            reports.follow(&mut lock(&self.subscription));
            let has_reports = reports.are_wanted();
            tokio::select! {
                biased;
                event = reports.next() => {
                    notify::event(&owner, &self, &association, &event).await;
                }
                () = reconfigured, if !has_reports => {}
                received = association.receive() => match received {
                    Ok(Some(message)) => {
                        while let Some(event) = reports.earlier() {
                            notify::event(&owner, &self, &association, &event).await;
                        }
                        let cumulative_tsn = association.cumulative_tsn().unwrap_or_default();
                        let head = Head { cumulative_tsn, ..self.head_of(&message, peer) };
                        let fragments: Vec<_> = message.fragments().collect();
                        // Fails when the program has closed the socket: what still comes is for nobody.
                        let piece = message.piece();
                        let own = Some((&mut turn, piece));
                        let delivered = self.deliver(&socket, own, (head, &fragments)).await;
                        turn.delivered(piece);
                        if delivered.is_err_and(|error| is_shortage(&error)) {
                            // A message cannot be left out.
                            association.abort("this side has no memory or no descriptors left");
                        }
                    }
                    Ok(None) => break Ok(()),
                    Err(AssociationError::PeerRestarted) => {
                        association.accept_restart();
                        peer = peer_of(&association);
                        notify::restarted(&owner, &self, &association).await;
                    }
                    Err(error) => break Err(error),
                },
            }
        };
        drop(turn);
        let owner = self.owner(&socket);
        reports.follow(&mut lock(&self.subscription));
        while let Some(event) = reports.earlier() {
            notify::event(&owner, &self, &association, &event).await;
        }
        // It may have happened before the subscription.
        if association.is_shut_by_peer() {
            owner.note_end_of_peer(&mut owner.state());
            notify::event(&owner, &self, &association, &Event::PeerShutdown).await;
        }
        // Notifications of the end would be lost behind it.
        if ended.is_ok() && !self.each().listens_to_the_end() {
            owner.hang_up();
        }
        let ended = match ended {
            // The peer sends nothing more; what was sent to it may still be under way.
            Ok(()) => self.wait_for_end(&socket, &association, &mut reports).await,
            failed => failed,
        };
        reports.follow(&mut lock(&self.subscription));
        while let Some(event) = reports.last().await {
            notify::event(&owner, &self, &association, &event).await;
        }
        let error = ended.err();
        let errno = error.as_ref().map(errors::of_end);
        let owner = self.let_go(&socket, errno);
        notify::ended(Told::of(&owner, &self), error.as_ref()).await;
        owner.ended(errno).await;
    }

    /// Waits for the end of an association whose last message has been received. Meanwhile the program gets notifications, also those
    /// that it asks for only now.
    async fn wait_for_end(
        &self,
        socket: &Arc<Socket>,
        association: &Association,
        reports: &mut Reports,
    ) -> Result<(), AssociationError> {
        let mut closed = pin!(association.closed());
        loop {
            let owner = self.owner(socket);
            let reconfigured = owner.reconfigured.notified();
            reports.follow(&mut lock(&self.subscription));
            let has_reports = reports.are_wanted();
            tokio::select! {
                biased;
                event = reports.next() => notify::event(&owner, self, association, &event).await,
                () = reconfigured, if !has_reports => {}
                ended = &mut closed => return ended,
            }
        }
    }

    fn head_of(&self, message: &ReceivedMessage, peer: Option<SocketAddr>) -> Head {
        let flags = match message.delivery() {
            Delivery::Unordered => flag::UNORDERED,
            Delivery::Ordered => 0,
        };
        Head {
            ends: message.piece().ends(),
            flags,
            stream: message.stream(),
            ssn: message.ssn(),
            ppid: message.ppid().to_be(),
            association: self.id,
            context: self.each().receive_context,
            peer,
            tsn: message.tsn(),
            ..Head::of(Kind::Data)
        }
    }
}

/// A message, to be given back.
pub(super) fn sent(message: &Message) -> Sent {
    let flags = match message.delivery {
        Delivery::Unordered => flag::UNORDERED,
        Delivery::Ordered => 0,
    };
    let Message { stream, ppid, context, payload, .. } = message;
    Sent { stream: *stream, flags, ppid: *ppid, context: *context, content: payload.clone() }
}

/// Whether the system lacks memory or descriptors.
fn is_shortage(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    errno.is_some_and(|errno| {
        matches!(
            errno,
            Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::TOOMANYREFS | Errno::NOSPC
        )
    })
}

/// The path to an address of the peer that most likely works.
fn path_to(association: &Association, address: IpAddr) -> Option<PathId> {
    let paths = association.path_stats();
    let there = paths.iter().filter(|path| path.remote == address);
    there
        .min_by_key(|path| (path.status != PathStatus::Active, !path.primary))
        .map(|path| path.path)
}
