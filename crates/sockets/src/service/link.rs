//! An association of a socket, and the two tasks that carry its messages.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use polypath::config::PartialReliability;
use polypath::{
    Association, AssociationError, Delivery, Event, Events, Message, ReceivedMessage, SendError,
    SendRefusal,
};
use tokio::sync::mpsc;

use super::socket::{Socket, peer_of};
use super::{errors, lock, notify};
use crate::abi::flag;
use crate::frame::{Head, Kind};

/// Messages that may wait for an association, before the program's descriptor is not writable any more.
const WAITING_MESSAGES: usize = 16;

/// How long an association may take to shut down when nobody waits for it.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(super) struct Link {
    pub(super) id: i32,
    association: OnceLock<Arc<Association>>,
    outgoing: mpsc::Sender<Outgoing>,
    /// Where the program said that the peer is.
    named: Vec<SocketAddr>,
    /// The socket that it moved to.
    moved: Mutex<Option<Arc<Socket>>>,
}

/// What waits for an association.
pub(super) type OutgoingQueue = mpsc::Receiver<Outgoing>;

/// What is to be done with an association.
#[derive(Debug)]
pub(super) enum Outgoing {
    /// A message; an empty one only carries the flag `EOF`.
    Message(Message, bool),
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
        if head.flags & flag::UNORDERED != 0 {
            message.delivery = Delivery::Unordered;
        }
        message.reliability = reliability(head.pr_policy, head.value);
        Self::Message(message, head.flags & flag::EOF != 0)
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
    pub(super) fn new(id: i32, named: &[SocketAddr]) -> (Self, OutgoingQueue) {
        let (outgoing, waiting) = mpsc::channel(WAITING_MESSAGES);
        let named = named.to_vec();
        let link =
            Self { id, association: OnceLock::new(), outgoing, named, moved: Mutex::default() };
        (link, waiting)
    }

    /// The handshake is over.
    pub(super) fn come_up(&self, association: &Arc<Association>) {
        let _ = self.association.set(Arc::clone(association));
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

    pub(super) async fn enqueue(&self, outgoing: Outgoing) {
        // Fails when the association has ended.
        let _ = self.outgoing.send(outgoing).await;
    }

    /// The program has closed the socket.
    pub(super) async fn leave(self: Arc<Self>, aborts: bool) {
        match self.association.get().filter(|_| aborts) {
            // At once: what waits is lost, and the peer may never take it.
            Some(association) => association.abort(Bytes::new()),
            None if aborts => self.enqueue(Outgoing::Abort(Bytes::new())).await,
            None => self.enqueue(Outgoing::End).await,
        }
    }

    /// Carries what waits, until the association ends.
    pub(super) async fn send(
        self: Arc<Self>,
        socket: Arc<Socket>,
        association: Arc<Association>,
        mut waiting: OutgoingQueue,
    ) {
        while let Some(outgoing) = waiting.recv().await {
            let ends = match outgoing {
                Outgoing::Message(message, ends) => {
                    if !message.is_empty() && !self.hand_over(&socket, &association, message).await
                    {
                        return;
                    }
                    ends
                }
                Outgoing::End => true,
                Outgoing::Abort(reason) => return association.abort(reason),
            };
            if ends {
                let _ = association.shutdown_within(SHUTDOWN_LIMIT).await;
                return;
            }
        }
    }

    /// Gives a message to the association; whether that lives on.
    async fn hand_over(
        &self,
        socket: &Arc<Socket>,
        association: &Association,
        message: Message,
    ) -> bool {
        let (stream, context, ppid) = (message.stream, message.context, message.ppid);
        match association.send(message).await {
            Ok(()) => true,
            Err(error) => {
                let errno = errors::of_send(&error);
                let owner = self.owner(socket);
                notify::not_sent(&owner, self.id, (stream, context, ppid), errno).await;
                !matches!(error, SendError::Ended(_) | SendError::Refused(SendRefusal::Closed))
            }
        }
    }

    /// Hands what arrives to the program, and notifications, until the association ends.
    pub(super) async fn receive(
        self: Arc<Self>,
        socket: Arc<Socket>,
        association: Arc<Association>,
    ) {
        // Costs memory, so that it is there only where a program listens.
        let mut events: Option<Events> = None;
        let mut peer = peer_of(&association);
        let mut has_events = true;
        let ended = loop {
            let owner = self.owner(&socket);
            let reconfigured = owner.reconfigured.notified();
            if has_events && events.is_none() && owner.state().options.wants_events() {
                events = Some(association.events());
            }
            tokio::select! {
                biased;
                event = next_event(&mut events), if has_events => match event {
                    Some(event) => notify::event(&owner, &self, &association, &event).await,
                    None => has_events = false,
                },
                () = reconfigured, if events.is_none() => {}
                received = association.receive() => match received {
                    Ok(Some(message)) => {
                        let cumulative_tsn = association.cumulative_tsn().unwrap_or_default();
                        let head = Head { cumulative_tsn, ..self.head_of(&message, peer) };
                        let fragments: Vec<_> = message.fragments().collect();
                        // Fails when the program has closed the socket: what still comes is for nobody.
                        let _ = owner.deliver(head, &fragments).await;
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
        let owner = self.owner(&socket);
        owner.hang_up_if(ended.is_ok());
        let ended = match ended {
            // The peer sends nothing more; what was sent to it may still be under way.
            Ok(()) => association.closed().await,
            failed => failed,
        };
        if let Some(events) = &mut events {
            while let Some(event) = events.next().await {
                notify::event(&owner, &self, &association, &event).await;
            }
        }
        let error = ended.err().map(|error| errors::of_end(&error));
        notify::ended(&owner, self.id, error).await;
        owner.ended(&self, error).await;
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
            peer,
            tsn: message.tsn(),
            ..Head::of(Kind::Data)
        }
    }
}

/// The next event, where somebody listens; otherwise it never comes.
async fn next_event(events: &mut Option<Events>) -> Option<Event> {
    match events {
        Some(events) => events.next().await,
        None => std::future::pending().await,
    }
}

impl Socket {
    /// The peer has ended the association gracefully: reading gives 0 from now on.
    fn hang_up_if(&self, is_graceful: bool) {
        // Notifications of the end would be lost behind it.
        if is_graceful && !self.state().options.listens_to_the_end() {
            self.hang_up();
        }
    }
}
