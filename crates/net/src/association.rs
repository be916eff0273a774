//! The handle of an association.

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

/// An association: what RFC 6458 reaches through a one-to-one style socket.
///
/// Clones are handles of the same association, for use from several tasks. When the last handle is dropped, an
/// established association shuts down gracefully in the background (messages already accepted for sending are still
/// delivered, what arrives is discarded), and one that is not yet established is aborted.
///
/// Every `async` method is cancellation safe: dropping its future neither loses nor duplicates a message.
///
/// # Back-pressure
///
/// Messages that are not read stay in the receive buffer and close the window that the peer sees; [`send`](Self::send)
/// waits while the send buffer is full. Both buffers are set by the
/// [`AssociationConfig`](crate::AssociationConfig).
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

    /// Sends a message, waiting until the send buffer has room for it. Messages of concurrent callers are accepted in
    /// the order of their calls.
    pub async fn send(&self, message: Message) -> Result<(), SendError> {
        // The driver has its turn, too, where it shares a thread with the sender.
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

    /// Why the association takes no message any more: where the protocol has ended and the driver has not told of it yet, that
    /// is waited for.
    async fn with_cause(&self, done: Result<(), SendError>) -> Result<(), SendError> {
        let closed = SendError::Refused(polypath_proto::SendError::Closed);
        let is_over = || matches!(self.shared.lock().phase(), Phase::Pending | Phase::Ended(_));
        if done.as_ref() != Err(&closed) || !is_over() {
            return done;
        }
        self.closed().await?;
        Err(closed)
    }

    /// Sends a message, or gives it back where it has to wait: for room, or for others that wait.
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

    /// Sends a message if the send buffer has room for it now; otherwise gives
    /// [`WouldBlock`](polypath_proto::SendError::WouldBlock), and nothing was queued.
    pub fn try_send(&self, message: Message) -> Result<(), SendError> {
        let now = self.shared.clock.now();
        self.shared.lock().send(now, message)?;
        self.shared.command();
        Ok(())
    }

    /// Sends messages from the front of `messages` while the send buffer has room for the next one; gives how many were taken. Many
    /// messages at a time cost less than one by one: the association is locked, and its driver woken, once.
    ///
    /// # Errors
    ///
    /// Why the first one that is left can never be sent; those before it were taken. That there is no room is no error.
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

    /// The next message; `None` when the peer has shut the association down and everything was read.
    pub async fn receive(&self) -> Result<Option<ReceivedMessage>, AssociationError> {
        // The driver has its turn, too, where it shares a thread with the receiver.
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

    /// The next message if there is one; `None` when the peer has shut the association down and everything was read.
    pub fn try_receive(&self) -> Result<Option<ReceivedMessage>, TryReceiveError> {
        let mut next = None;
        self.read_into(1, |message| next = Some(message))?;
        Ok(next)
    }

    /// Appends the messages that are there to `messages`, at most `most`, and gives how many there were; none when the peer has
    /// shut the association down and everything was read. As with [`try_send_many`](Self::try_send_many) many at a time cost
    /// less.
    ///
    /// # Errors
    ///
    /// As [`try_receive`](Self::try_receive), if there is not even one.
    pub fn try_receive_many(
        &self,
        messages: &mut impl Extend<ReceivedMessage>,
        most: usize,
    ) -> Result<usize, TryReceiveError> {
        self.read_into(most, |message| messages.extend([message]))
    }

    /// Hands the messages that are there to `take`, at most `most`; gives their number.
    fn read_into(
        &self,
        most: usize,
        mut take: impl FnMut(ReceivedMessage),
    ) -> Result<usize, TryReceiveError> {
        let now = self.shared.clock.now();
        let mut inner = self.shared.lock();
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
        // Reading may have made a window update due. The driver is woken for that, not for every message.
        let update_due = inner.protocol.acknowledgement_is_due();
        drop(inner);
        if update_due {
            self.shared.command();
        }
        Ok(count)
    }

    /// Ends the association gracefully: every message sent so far is delivered first. Waits for the end. Messages
    /// that the peer still sends meanwhile must be read, by another task if need be.
    ///
    /// Dropping the future does not stop the shutdown.
    pub async fn shutdown(&self) -> Result<(), AssociationError> {
        let now = self.shared.clock.now();
        self.shared.lock().leave(now);
        self.shared.command();
        self.closed().await
    }

    /// Like [`shutdown`](Self::shutdown), but aborts the association if that takes longer than `limit`.
    ///
    /// # Errors
    ///
    /// The association ended otherwise than by a graceful shutdown: [`Aborted`](AssociationError::Aborted) after `limit`.
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

    /// Ends the association at once; messages not yet delivered are lost. The peer is sent `reason` as text or
    /// whatever the application agreed on (RFC 9260 section 3.3.10.12).
    pub fn abort(&self, reason: impl Into<Bytes>) {
        self.shared.abort(&reason.into());
    }

    /// Goes on with a peer that restarted (`SCTP_RESTART`; RFC 9260 section 5.2.4.1). Until then [`send`](Self::send) and
    /// [`sender_dry`](Self::sender_dry) give [`PeerRestarted`](AssociationError::PeerRestarted), and so does
    /// [`receive`](Self::receive) after the messages of before: what was agreed with the peer that is no more must not be
    /// taken for agreed with the one that is (RFC 5062 section 4). Whoever does not want that calls
    /// [`abort`](Self::abort).
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

    /// Waits until fewer than `bytes` of the messages accepted for sending have not been sent at all, as with
    /// `TCP_NOTSENT_LOWAT`; 0 counts as 1. What is under way does not count, nor do retransmissions.
    ///
    /// A send buffer is as large as what may be under way. A program that fills it before it knows that the path carries so
    /// much sends old news; one that calls this before [`send`](Self::send) has little waiting, and its later messages are
    /// not behind that. Half a congestion window keeps paths busy.
    ///
    /// # Errors
    ///
    /// Why the association ended, if not gracefully, or
    /// [`PeerRestarted`](AssociationError::PeerRestarted).
    pub async fn unsent_below(&self, bytes: u64) -> Result<(), AssociationError> {
        // Otherwise it would never come true.
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

    /// Waits for the end of the handshake.
    pub(crate) async fn established(&self) -> Result<(), AssociationError> {
        self.wait(&self.shared.changed, |association| match association.shared.lock().phase() {
            Phase::Pending => None,
            Phase::Ended(Some(error)) => Some(Err(error.clone())),
            Phase::Open | Phase::PeerShutdown | Phase::Ended(None) => Some(Ok(())),
        })
        .await
    }

    /// Number of streams on which messages can be sent and received; `None` before the handshake is over and after
    /// the peer has shut down.
    pub fn streams(&self) -> Option<Streams> {
        let inner = self.shared.lock();
        (inner.phase() == Phase::Open).then(|| Streams {
            outbound: inner.protocol.outbound_streams(),
            inbound: inner.protocol.inbound_streams(),
        })
    }

    /// Where the association is between its handshake and its end (`sstat_state`).
    pub fn state(&self) -> AssociationState {
        self.shared.lock().protocol.state()
    }

    /// Free bytes of the send buffer.
    pub fn send_capacity(&self) -> usize {
        self.shared.lock().protocol.send_capacity()
    }

    /// Most bytes that the send buffer may hold.
    pub(crate) fn send_buffer_bytes(&self) -> usize {
        self.shared.lock().protocol.config().send_buffer_bytes as usize
    }

    /// Counters of the association.
    pub fn stats(&self) -> AssociationStats {
        self.shared.lock().protocol.stats()
    }

    /// State and counters of every path, by path id; paths that failed are among them.
    pub fn path_stats(&self) -> Vec<PathStats> {
        self.shared.lock().protocol.path_stats()
    }

    /// Bytes of user data that the peer has acknowledged or sent so far, over all paths. They grow as long as the peer works:
    /// see [`IdleWatch`](crate::IdleWatch).
    pub fn progress_bytes(&self) -> u64 {
        let paths = self.path_stats();
        paths.iter().map(|path| path.data_bytes_acked + path.data_bytes_received).sum()
    }

    /// Makes a path the primary one (`SCTP_PRIMARY_ADDR`), which matters to policies that prefer it.
    pub fn set_primary(&self, path: PathId) -> Result<(), SendError> {
        self.shared.lock().protocol.set_primary(path)?;
        self.shared.command();
        Ok(())
    }

    /// Gives an outbound stream its priority or weight, as the policy `stream_scheduler` asks for it
    /// (`SCTP_STREAM_SCHEDULER_VALUE`): the lowest number goes first, the largest weight gets most.
    pub fn set_stream_value(&self, stream: u16, value: u16) -> Result<(), SendError> {
        self.shared.lock().protocol.set_stream_value(stream, value)?;
        Ok(())
    }

    /// Asks the peer to prefer an address of this side for what it sends (`SCTP_SET_PEER_PRIMARY_ADDR`, RFC 5061).
    /// [`Event::LocalAddress`](crate::Event::LocalAddress) follows, or [`Event::AddressChangeRefused`](crate::Event::AddressChangeRefused).
    ///
    /// # Errors
    ///
    /// If one of both sides does not have it (policy `address_reconfiguration`), the peer does not know the address, or too many
    /// requests wait.
    pub fn set_peer_primary(&self, address: IpAddr) -> Result<(), AddressChangeError> {
        self.shared.lock().protocol.set_peer_primary(address)?;
        self.shared.command();
        Ok(())
    }

    /// Messages of a stream that were abandoned (`SCTP_PR_STREAM_STATUS`); those of all streams are in [`stats`](Self::stats).
    pub fn abandoned_on(&self, stream: u16) -> AbandonedMessages {
        self.shared.lock().protocol.abandoned_on(stream)
    }

    /// The adaptation code point of the peer's program, if it has told one (`SCTP_ADAPTATION_INDICATION`, RFC 5061 section 4.2.6).
    pub fn peer_adaptation(&self) -> Option<u32> {
        self.shared.lock().protocol.peer_adaptation()
    }

    /// Whether fragments of messages of different streams alternate: both sides have the policy `message_interleaving`
    /// (`SCTP_INTERLEAVING_SUPPORTED`, RFC 8260 section 4.3.1).
    pub fn interleaves_messages(&self) -> bool {
        self.shared.lock().protocol.interleaves_messages()
    }

    /// Whether the peer can be told of addresses of this side that come and go.
    pub fn can_change_addresses(&self) -> bool {
        self.shared.lock().protocol.can_change_addresses()
    }

    /// Lets streams of this side begin anew with stream sequence number 0; all of them if none is named (`SCTP_RESET_STREAMS`,
    /// RFC 6525). What was sent on them is acknowledged first, and [`send`](Self::send) waits on them meanwhile.
    /// [`Event::OutgoingStreamsReset`](crate::Event::OutgoingStreamsReset) follows, or [`Event::ReconfigurationRefused`](crate::Event::ReconfigurationRefused).
    ///
    /// # Errors
    ///
    /// If one of both sides does not have it (policy `stream_reconfiguration`), a stream does not exist, or too many requests wait.
    pub fn reset_outgoing_streams(&self, streams: &[u16]) -> Result<(), ReconfigurationError> {
        self.shared.lock().protocol.reset_outgoing_streams(streams)?;
        self.shared.command();
        Ok(())
    }

    /// Asks the peer to let its streams begin anew; all of them if none is named. [`Event::IncomingStreamsReset`](crate::Event::IncomingStreamsReset) follows, or
    /// [`Event::ReconfigurationRefused`](crate::Event::ReconfigurationRefused).
    ///
    /// # Errors
    ///
    /// As [`reset_outgoing_streams`](Self::reset_outgoing_streams).
    pub fn reset_incoming_streams(&self, streams: &[u16]) -> Result<(), ReconfigurationError> {
        self.shared.lock().protocol.reset_incoming_streams(streams)?;
        self.shared.command();
        Ok(())
    }

    /// Lets the TSNs and all streams of both sides begin anew (`SCTP_RESET_ASSOC`, RFC 6525 section 6.3.3). What both sides have sent is
    /// acknowledged first, and [`send`](Self::send) waits meanwhile. [`Event::AssociationReset`](crate::Event::AssociationReset) follows on
    /// both sides, or [`Event::ReconfigurationRefused`](crate::Event::ReconfigurationRefused), as where both ask for it at once.
    ///
    /// # Errors
    ///
    /// If one of both sides does not have it, too many requests wait, or the last one of this kind is less than 30 s ago.
    pub fn reset_association(&self) -> Result<(), ReconfigurationError> {
        let now = self.shared.clock.now();
        self.shared.lock().call(now, |protocol, cx| protocol.reset_association(cx))?;
        self.shared.command();
        Ok(())
    }

    /// Adds streams on which this side may send (`SCTP_ADD_STREAMS`, RFC 6525). [`Event::StreamsAdded`](crate::Event::StreamsAdded) follows, or
    /// [`Event::ReconfigurationRefused`](crate::Event::ReconfigurationRefused).
    ///
    /// # Errors
    ///
    /// If one of both sides does not have it, there would be too many streams, or too many requests wait.
    pub fn add_outgoing_streams(&self, count: u16) -> Result<(), ReconfigurationError> {
        self.shared.lock().protocol.add_outgoing_streams(count)?;
        self.shared.command();
        Ok(())
    }

    /// Asks the peer to add streams on which it may send. [`Event::StreamsAdded`](crate::Event::StreamsAdded) follows when it has, or
    /// [`Event::ReconfigurationRefused`](crate::Event::ReconfigurationRefused).
    ///
    /// # Errors
    ///
    /// As [`add_outgoing_streams`](Self::add_outgoing_streams).
    pub fn add_incoming_streams(&self, count: u16) -> Result<(), ReconfigurationError> {
        self.shared.lock().protocol.add_incoming_streams(count)?;
        self.shared.command();
        Ok(())
    }

    /// Attaches a probe, which receives the association's events from now on, or detaches it; returns the previous one. It is
    /// called as the probes of an [`Observer`](crate::Observer) are, and dropped when the association has ended.
    pub fn set_probe(&self, probe: Option<BoxedProbe>) -> Option<BoxedProbe> {
        self.shared.lock().context.probes().replace_user(probe)
    }

    /// Last TSN of the peer that has arrived with all before it (`rcv_cumtsn`).
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

    /// Addresses of the peer that paths lead to (`sctp_getpaddrs`).
    pub fn remote_addresses(&self) -> Vec<IpAddr> {
        let mut addresses: Vec<_> = self.path_stats().into_iter().map(|path| path.remote).collect();
        addresses.sort_unstable();
        addresses.dedup();
        addresses
    }

    /// Waits until `attempt` gives a result, trying again whenever `notify` is signalled.
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
    /// Streams on which this side sends: identifiers below this number.
    pub outbound: u16,
    /// Streams on which the peer sends.
    pub inbound: u16,
}
