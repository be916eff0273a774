//! The handle of an association.

mod defaults;
mod keys;
mod options;

use std::collections::VecDeque;
use std::net::IpAddr;
use std::pin::pin;

use bytes::Bytes;
use polypath_proto::{
    AbandonedMessages, AddressChangeError, AssociationState, AssociationStats, PathId, PathStats,
    ReconfigurationError,
};
use tokio::sync::Notify;

use crate::error::{AssociationError, SendError, TryReceiveError};
use crate::message::{Message, ReceivedMessage};
use crate::probe::BoxedProbe;
use crate::state::{Handle, Phase};

/// An association, like a one-to-one style socket of RFC 6458.
///
/// Clones are handles of the same association, for use from several tasks. When the last handle is dropped, an
/// established association shuts down gracefully in the background (accepted messages are still delivered, received
/// ones discarded), and one that is not yet established is aborted.
///
/// Every `async` method is cancellation safe: dropping its future neither loses nor duplicates a message.
///
/// # Back-pressure
///
/// Unread messages stay in the receive buffer and shrink the receive window that the peer sees; [`send`](Self::send)
/// waits while the send buffer is full. [`AssociationConfig`](crate::AssociationConfig) sets the size of both buffers.
///
/// # Example
///
/// ```
/// use polypath::{AssociationConfig, Endpoint, Message, Peer};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let server = Endpoint::builder(["127.0.0.11".parse()?]).encapsulation_port(0).listen(16).bind()?;
/// let client = Endpoint::builder(["127.0.0.12".parse()?]).encapsulation_port(0).bind()?;
///
/// let peer = Peer::new(["127.0.0.11".parse()?], server.port()).encapsulation_port(server.encapsulation_port());
/// let association = client.connect(&peer, AssociationConfig::default()).await?;
/// association.send(Message::new(0, "ping")).await?;
///
/// let accepted = server.accept().await?;
/// let message = accepted.receive().await?.ok_or("no message")?;
/// assert_eq!(message.into_bytes(), "ping");
///
/// association.shutdown().await?;
/// assert!(accepted.receive().await?.is_none());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Association {
    pub(crate) shared: Handle,
}

impl Association {
    pub(crate) fn new(shared: Handle) -> Self {
        Self { shared }
    }

    /// Sends a message, and waits while the send buffer has no space for it. Messages of concurrent callers are
    /// accepted in the order of their calls.
    pub async fn send(&self, message: Message) -> Result<(), SendError> {
        // Lets the driver run if it shares a thread with the sender.
        tokio::task::consume_budget().await;
        let message = match self.send_if_room(message) {
            Ok(done) => return self.with_cause(done).await,
            Err(message) => message,
        };
        let _turn = self.shared.turn.lock().await;
        let done = self
            .wait(&self.shared.writable, |association| {
                match association.try_send(message.clone()) {
                    Err(error) if error.is_would_block() => None,
                    done => Some(done),
                }
            })
            .await;
        self.with_cause(done).await
    }

    /// Why the association accepts no more messages. If the protocol has ended and the driver has not reported the
    /// cause yet, this waits for it.
    async fn with_cause(&self, done: Result<(), SendError>) -> Result<(), SendError> {
        let closed = SendError::Refused(polypath_proto::SendError::Closed);
        let is_over = || matches!(self.shared.lock().phase(), Phase::Pending | Phase::Ended(_));
        if done.as_ref() != Err(&closed) || !is_over() {
            return done;
        }
        self.closed().await?;
        Err(closed)
    }

    /// Sends a message, or returns it if it has to wait for space or for earlier messages.
    fn send_if_room(&self, message: Message) -> Result<Result<(), SendError>, Message> {
        let Ok(_turn) = self.shared.turn.try_lock() else { return Err(message) };
        let now = self.shared.clock.now();
        let mut inner = self.shared.lock();
        let waits_for_reset = message.piece.begins() && inner.protocol.is_resetting(message.stream);
        if !inner.protocol.has_room(message.len()) || waits_for_reset {
            return Err(message);
        }
        let done = inner.send(now, message);
        drop(inner);
        if done.is_ok() {
            self.shared.command();
        }
        Ok(done)
    }

    /// Sends a message if the send buffer has space for it now; otherwise fails with
    /// [`WouldBlock`](polypath_proto::SendError::WouldBlock) and queues nothing.
    pub fn try_send(&self, message: Message) -> Result<(), SendError> {
        let now = self.shared.clock.now();
        self.shared.lock().send(now, message)?;
        self.shared.command();
        Ok(())
    }

    /// Sends messages from the front of `messages` while the send buffer has space; returns the number sent. This costs
    /// less than single calls: the association is locked, and its driver woken, only once.
    ///
    /// # Errors
    ///
    /// Why the first remaining message can never be sent; those before it were sent. A full send buffer is not an
    /// error.
    pub fn try_send_many(&self, messages: &mut VecDeque<Message>) -> Result<usize, SendError> {
        let now = self.shared.clock.now();
        let mut inner = self.shared.lock();
        let mut taken = 0;
        let mut done = Ok(());
        while let Some(message) = messages.front() {
            done = inner.send(now, message.clone());
            if done.is_err() {
                break;
            }
            messages.pop_front();
            taken += 1;
        }
        drop(inner);
        if taken > 0 {
            self.shared.command();
        }
        match done {
            Err(error) if !error.is_would_block() => Err(error),
            _ => Ok(taken),
        }
    }

    /// Receives the next message; `None` once the peer has shut down the association and everything was read.
    pub async fn receive(&self) -> Result<Option<ReceivedMessage>, AssociationError> {
        // Lets the driver run if it shares a thread with the receiver.
        tokio::task::consume_budget().await;
        match self.try_receive() {
            Ok(message) => return Ok(message),
            Err(TryReceiveError::Ended(error)) => return Err(error),
            Err(TryReceiveError::Empty) => {}
        }
        self.wait(&self.shared.readable, |association| match association.try_receive() {
            Ok(message) => Some(Ok(message)),
            Err(TryReceiveError::Empty) => None,
            Err(TryReceiveError::Ended(error)) => Some(Err(error)),
        })
        .await
    }

    /// Returns the next message if there is one; `None` once the peer has shut down the association and everything was
    /// read.
    pub fn try_receive(&self) -> Result<Option<ReceivedMessage>, TryReceiveError> {
        let mut next = None;
        self.read_into(1, |message| next = Some(message))?;
        Ok(next)
    }

    /// Appends at most `most` available messages to `messages` and returns their number; 0 once the peer has shut down
    /// the association and everything was read. Like [`try_send_many`](Self::try_send_many), this costs less than
    /// single calls.
    ///
    /// # Errors
    ///
    /// Like [`try_receive`](Self::try_receive), if no message is available.
    pub fn try_receive_many(
        &self,
        messages: &mut impl Extend<ReceivedMessage>,
        most: usize,
    ) -> Result<usize, TryReceiveError> {
        self.read_into(most, |message| messages.extend([message]))
    }

    /// Passes at most `most` available messages to `take`; returns their number.
    fn read_into(
        &self,
        most: usize,
        mut take: impl FnMut(ReceivedMessage),
    ) -> Result<usize, TryReceiveError> {
        let now = self.shared.clock.now();
        let mut inner = self.shared.lock();
        if inner.has_subscribers() {
            inner.note_events();
        }
        let mut count = 0;
        while count < most {
            if !inner.admits_receive() {
                break;
            }
            let Some(message) = inner.call(now, |protocol, cx| protocol.receive(cx)) else { break };
            take(message.into());
            count += 1;
        }
        if count == 0 && most > 0 {
            return inner.nothing_to_read();
        }
        // Reading may make a window update due. Only then, the driver is woken.
        let update_due = inner.protocol.acknowledgement_is_due();
        drop(inner);
        if update_due {
            self.shared.command();
        }
        Ok(count)
    }

    /// Shuts down gracefully, after all messages sent so far are delivered, and waits for the end. Messages that the
    /// peer still sends must be read, by another task if necessary.
    ///
    /// Dropping the future does not stop the shutdown.
    pub async fn shutdown(&self) -> Result<(), AssociationError> {
        let now = self.shared.clock.now();
        self.shared.lock().leave(now);
        self.shared.command();
        self.closed().await
    }

    /// Like [`shutdown`](Self::shutdown), but aborts the association if it takes longer than `limit`.
    ///
    /// # Errors
    ///
    /// The association did not end by a graceful shutdown: [`Aborted`](AssociationError::Aborted) after `limit`.
    pub async fn shutdown_within(
        &self,
        limit: std::time::Duration,
    ) -> Result<(), AssociationError> {
        match tokio::time::timeout(limit, self.shutdown()).await {
            Ok(ended) => ended,
            Err(_) => {
                self.abort("the shutdown takes too long");
                self.closed().await
            }
        }
    }

    /// Aborts the association; undelivered messages are lost. `reason` is sent to the peer: text, or whatever the
    /// applications agree on (RFC 9260 section 3.3.10.12).
    pub fn abort(&self, reason: impl Into<Bytes>) {
        self.shared.abort(&reason.into());
    }

    /// Continues with a peer that has restarted (`SCTP_RESTART`; RFC 9260 section 5.2.4.1). Until then,
    /// [`send`](Self::send) and [`sender_dry`](Self::sender_dry) fail with
    /// [`PeerRestarted`](AssociationError::PeerRestarted), and so does [`receive`](Self::receive) after the earlier
    /// messages: agreements with the peer from before the restart must not be applied to the restarted one (RFC 5062
    /// section 4). To end the association instead, call [`abort`](Self::abort).
    pub fn accept_restart(&self) {
        self.shared.lock().accept_restart();
        self.shared.wake_all();
    }

    /// Waits until the peer has acknowledged every message sent so far (`SCTP_SENDER_DRY_EVENT`).
    pub async fn sender_dry(&self) -> Result<(), AssociationError> {
        self.wait(&self.shared.changed, |association| {
            let inner = association.shared.lock();
            match inner.phase() {
                Phase::Ended(Some(error)) => Some(Err(error.clone())),
                _ if inner.is_restarted() => Some(Err(AssociationError::PeerRestarted)),
                _ if inner.protocol.stats().send_buffer_bytes == 0 => Some(Ok(())),
                _ => None,
            }
        })
        .await
    }

    /// Waits until fewer than `bytes` of the accepted messages are unsent, like `TCP_NOTSENT_LOWAT`; 0 counts as 1.
    /// Data in flight and retransmissions do not count.
    ///
    /// The send buffer has space for a full flight of data. A program that fills it before the paths carry that much
    /// queues data that becomes outdated; one that calls this before [`send`](Self::send) keeps its queue short. Half a
    /// congestion window keeps paths busy.
    ///
    /// # Errors
    ///
    /// Why the association ended, if not gracefully, or [`PeerRestarted`](AssociationError::PeerRestarted).
    pub async fn unsent_below(&self, bytes: u64) -> Result<(), AssociationError> {
        // With 0, it would never return.
        let bytes = bytes.max(1);
        self.wait(&self.shared.drained, |association| {
            let mut inner = association.shared.lock();
            match inner.phase() {
                Phase::Ended(Some(error)) => Some(Err(error.clone())),
                Phase::Ended(None) => Some(Ok(())),
                _ if inner.is_restarted() => Some(Err(AssociationError::PeerRestarted)),
                _ => inner.drains_below(bytes).then_some(Ok(())),
            }
        })
        .await
    }

    /// Waits for the end of the association; `Ok` if it was graceful.
    pub async fn closed(&self) -> Result<(), AssociationError> {
        self.wait(&self.shared.changed, |association| match association.shared.lock().phase() {
            Phase::Ended(None) => Some(Ok(())),
            Phase::Ended(Some(error)) => Some(Err(error.clone())),
            _ => None,
        })
        .await
    }

    /// Waits until the peer has asked for shutdown (`SCTP_SHUTDOWN_EVENT`) or the association has ended.
    pub async fn shut_by_peer(&self) {
        self.wait(&self.shared.changed, |association| {
            let inner = association.shared.lock();
            matches!(inner.phase(), Phase::PeerShutdown | Phase::Ended(_)).then_some(())
        })
        .await;
    }

    /// Whether the peer has asked for shutdown: it sends nothing more. Remains true once the association has ended; a restart of the peer
    /// makes it false.
    pub fn is_shut_by_peer(&self) -> bool {
        self.shared.lock().is_shut_by_peer()
    }

    /// Waits for the end of the handshake.
    pub(crate) async fn established(&self) -> Result<(), AssociationError> {
        self.wait(&self.shared.changed, |association| match association.shared.lock().phase() {
            Phase::Pending => None,
            Phase::Ended(Some(error)) => Some(Err(error.clone())),
            Phase::Open | Phase::PeerShutdown | Phase::Ended(None) => Some(Ok(())),
        })
        .await
    }

    /// Number of streams for sending and receiving; `None` before the end of the handshake and after the peer has shut
    /// down.
    pub fn streams(&self) -> Option<Streams> {
        let inner = self.shared.lock();
        (inner.phase() == Phase::Open).then(|| Streams {
            outbound: inner.protocol.outbound_streams(),
            inbound: inner.protocol.inbound_streams(),
        })
    }

    /// State of the association (`sstat_state`).
    pub fn state(&self) -> AssociationState {
        self.shared.lock().protocol.state()
    }

    /// Free bytes of the send buffer.
    pub fn send_capacity(&self) -> usize {
        self.shared.lock().protocol.send_capacity()
    }

    /// Maximum size of the send buffer.
    pub(crate) fn send_buffer_bytes(&self) -> usize {
        self.shared.lock().protocol.config().send_buffer_bytes as usize
    }

    /// Counters of the association.
    pub fn stats(&self) -> AssociationStats {
        self.shared.lock().protocol.stats()
    }

    /// State and counters of every path, by path id, including failed paths.
    pub fn path_stats(&self) -> Vec<PathStats> {
        self.shared.lock().protocol.path_stats()
    }

    /// Bytes of user data that the peer has acknowledged or sent so far, over all paths. The value grows as long as the
    /// peer works: see [`IdleWatch`](crate::IdleWatch).
    pub fn progress_bytes(&self) -> u64 {
        self.shared.lock().progress_bytes()
    }

    /// Makes a path the primary path (`SCTP_PRIMARY_ADDR`), for policies that prefer it.
    pub fn set_primary(&self, path: PathId) -> Result<(), SendError> {
        self.shared.lock().protocol.set_primary(path)?;
        self.shared.command();
        Ok(())
    }

    /// Sets the priority or weight of an outbound stream for the policy `stream_scheduler`
    /// (`SCTP_STREAM_SCHEDULER_VALUE`): the lowest priority value goes first, the largest weight gets most.
    pub fn set_stream_value(&self, stream: u16, value: u16) -> Result<(), SendError> {
        self.shared.lock().protocol.set_stream_value(stream, value)?;
        Ok(())
    }

    /// Requests the peer to prefer an address of this side for what it sends (`SCTP_SET_PEER_PRIMARY_ADDR`, RFC 5061).
    /// [`Event::LocalAddress`](crate::Event::LocalAddress) or
    /// [`Event::AddressChangeRefused`](crate::Event::AddressChangeRefused) follows.
    ///
    /// # Errors
    ///
    /// One side lacks the extension (policy `address_reconfiguration`), the peer does not know the address, or too many
    /// requests are pending.
    pub fn set_peer_primary(&self, address: IpAddr) -> Result<(), AddressChangeError> {
        self.shared.lock().protocol.set_peer_primary(address)?;
        self.shared.command();
        Ok(())
    }

    /// Messages of a stream that were abandoned (`SCTP_PR_STREAM_STATUS`); those of all streams are in
    /// [`stats`](Self::stats).
    pub fn abandoned_on(&self, stream: u16) -> AbandonedMessages {
        self.shared.lock().protocol.abandoned_on(stream)
    }

    /// The adaptation code point of the peer's program, if it sent one (`SCTP_ADAPTATION_INDICATION`, RFC 5061 section
    /// 4.2.6).
    pub fn peer_adaptation(&self) -> Option<u32> {
        self.shared.lock().protocol.peer_adaptation()
    }

    /// Whether fragments of messages of different streams are interleaved: both sides have the policy
    /// `message_interleaving` (`SCTP_INTERLEAVING_SUPPORTED`, RFC 8260 section 4.3.1).
    pub fn interleaves_messages(&self) -> bool {
        self.shared.lock().protocol.interleaves_messages()
    }

    /// The most bytes of a message that goes in one packet, over the paths that there are now.
    pub fn max_chunk_payload(&self) -> usize {
        self.shared.lock().protocol.max_chunk_payload()
    }

    /// Whether changes of this side's addresses can be announced to the peer.
    pub fn can_change_addresses(&self) -> bool {
        self.shared.lock().protocol.can_change_addresses()
    }

    /// Resets streams of this side to stream sequence number 0; all of them if none is named (`SCTP_RESET_STREAMS`, RFC
    /// 6525). Data sent on them is acknowledged first, and [`send`](Self::send) waits on them meanwhile.
    /// [`Event::OutgoingStreamsReset`](crate::Event::OutgoingStreamsReset) or
    /// [`Event::ReconfigurationRefused`](crate::Event::ReconfigurationRefused) follows.
    ///
    /// # Errors
    ///
    /// One side lacks the extension (policy `stream_reconfiguration`), a stream does not exist, or too many requests
    /// are pending.
    pub fn reset_outgoing_streams(&self, streams: &[u16]) -> Result<(), ReconfigurationError> {
        self.shared.lock().protocol.reset_outgoing_streams(streams)?;
        self.shared.command();
        Ok(())
    }

    /// Requests the peer to reset its streams; all of them if none is named.
    /// [`Event::IncomingStreamsReset`](crate::Event::IncomingStreamsReset) or
    /// [`Event::ReconfigurationRefused`](crate::Event::ReconfigurationRefused) follows.
    ///
    /// # Errors
    ///
    /// As [`reset_outgoing_streams`](Self::reset_outgoing_streams).
    pub fn reset_incoming_streams(&self, streams: &[u16]) -> Result<(), ReconfigurationError> {
        self.shared.lock().protocol.reset_incoming_streams(streams)?;
        self.shared.command();
        Ok(())
    }

    /// Resets the TSNs and all streams of both sides (`SCTP_RESET_ASSOC`, RFC 6525 section 6.3.3). Data that both sides
    /// have sent is acknowledged first, and [`send`](Self::send) waits meanwhile.
    /// [`Event::AssociationReset`](crate::Event::AssociationReset) follows on both sides, or
    /// [`Event::ReconfigurationRefused`](crate::Event::ReconfigurationRefused), for example if both sides request it at
    /// once.
    ///
    /// # Errors
    ///
    /// One side lacks the extension, too many requests are pending, or the last such reset is less than 30 s ago.
    pub fn reset_association(&self) -> Result<(), ReconfigurationError> {
        let now = self.shared.clock.now();
        self.shared.lock().call(now, |protocol, cx| protocol.reset_association(cx))?;
        self.shared.command();
        Ok(())
    }

    /// Adds outbound streams (`SCTP_ADD_STREAMS`, RFC 6525). [`Event::StreamsAdded`](crate::Event::StreamsAdded) or
    /// [`Event::ReconfigurationRefused`](crate::Event::ReconfigurationRefused) follows.
    ///
    /// # Errors
    ///
    /// One side lacks the extension, there would be too many streams, or too many requests are pending.
    pub fn add_outgoing_streams(&self, count: u16) -> Result<(), ReconfigurationError> {
        self.shared.lock().protocol.add_outgoing_streams(count)?;
        self.shared.command();
        Ok(())
    }

    /// Requests the peer to add outbound streams of its own. [`Event::StreamsAdded`](crate::Event::StreamsAdded) or
    /// [`Event::ReconfigurationRefused`](crate::Event::ReconfigurationRefused) follows.
    ///
    /// # Errors
    ///
    /// As [`add_outgoing_streams`](Self::add_outgoing_streams).
    pub fn add_incoming_streams(&self, count: u16) -> Result<(), ReconfigurationError> {
        self.shared.lock().protocol.add_incoming_streams(count)?;
        self.shared.command();
        Ok(())
    }

    /// Attaches a probe, which receives the association's events from now on, or detaches it; returns the previous one.
    /// It is called like the probes of an [`Observer`](crate::Observer), and dropped when the association ends.
    pub fn set_probe(&self, probe: Option<BoxedProbe>) -> Option<BoxedProbe> {
        self.shared.lock().context.probes().replace_user(probe)
    }

    /// The cumulative TSN of received data (`rcv_cumtsn`).
    pub fn cumulative_tsn(&self) -> Option<u32> {
        self.shared.lock().protocol.cumulative_tsn().map(|tsn| tsn.0)
    }

    /// SCTP port of this side.
    pub fn local_port(&self) -> u16 {
        self.shared.lock().protocol.identity().local_port
    }

    /// SCTP port of the peer.
    pub fn remote_port(&self) -> u16 {
        self.shared.lock().protocol.identity().remote_port
    }

    /// Addresses of this side that belong to the association (`sctp_getladdrs`).
    pub fn local_addresses(&self) -> Vec<IpAddr> {
        self.shared.lock().protocol.identity().local_addresses.to_vec()
    }

    /// Addresses of the peer that have paths (`sctp_getpaddrs`).
    pub fn remote_addresses(&self) -> Vec<IpAddr> {
        let mut addresses: Vec<_> = self.path_stats().into_iter().map(|path| path.remote).collect();
        addresses.sort_unstable();
        addresses.dedup();
        addresses
    }

    /// Waits until `attempt` returns a result, retrying whenever `notify` is signalled.
    pub(crate) async fn wait<R>(
        &self,
        notify: &Notify,
        mut attempt: impl FnMut(&Self) -> Option<R>,
    ) -> R {
        loop {
            let mut notified = pin!(notify.notified());
            // Registered before the attempt, so that a signal in between is not missed.
            notified.as_mut().enable();
            if let Some(result) = attempt(self) {
                return result;
            }
            notified.await;
        }
    }
}

/// Number of streams agreed in the handshake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Streams {
    /// Streams on which this side sends, with identifiers below this number.
    pub outbound: u16,
    /// Streams on which the peer sends.
    pub inbound: u16,
}
