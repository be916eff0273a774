//! One association: its data and its public contract.

mod abort;
mod asconf;
mod auth;
mod claims;
mod ecn;
mod effects;
mod heartbeat;
mod icmp;
mod input;
mod interleaving;
mod lower_layer;
mod newcomers;
mod observe;
mod options;
mod outage;
mod output;
mod packet_drop;
mod partial_delivery;
mod path_mtu;
mod path_table;
mod reachability;
mod reconfig;
mod renumber;
mod shutdown;
mod state;
mod statistics;
mod timers;

pub(crate) mod handshake;

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use core::net::IpAddr;

use bytes::Bytes;
use polypath_units::Fraction;
use polypath_wire::Packet;
use smallvec::SmallVec;

use self::asconf::AddressChanges;
use self::auth::Authentication;
use self::effects::Events;
use self::handshake::{Handshake, T1, TieTags};
use self::options::Tuning;
use self::output::{ControlQueue, OutputFlush};
use self::path_mtu::MtuWork;
use self::reconfig::Reconfiguration;
use self::state::{ConnectedPhase, State};
use self::statistics::{AssociationCounters, Blocked};
use crate::config::{AssociationConfig, SharedConfig, SourceRoute};
use crate::extension::address_join::JoinSecrets;
use crate::extension::auth::Trust;
use crate::extension::packet_drop::report::Allowance;
use crate::mechanism::outage::Outage;
use crate::mechanism::size_black_hole::SizeBlackHole;
use crate::paths::newcomers::Newcomers;
use crate::paths::{PathBook, Suspicions};
use crate::receive::Receiver;
use crate::transmit::partial_reliability::Reliability;
use crate::transmit::{Effects, SendCx, Transmitter};
use crate::types::{Lazy, PeerAddress, UserDataChunk};
use crate::{
    AssociationState, Cx, Encapsulation, Envelope, Event, Instant, LocalAddressChange,
    OutgoingMessage, PathError, PathId, Piece, Received, SendError, Transmit, Tsn,
};

/// One SCTP association with all its paths.
///
/// # Contract
///
/// Inputs: [`handle`](Self::handle), [`handle_timeout`](Self::handle_timeout) and the commands. After any of them, and
/// after reading messages, poll in this order:
///
/// 1. [`poll_transmit`](Self::poll_transmit) until it gives `None`; each call gives one packet. Packets of different
///    paths alternate, so a driver that sends batches gathers them per path.
/// 2. [`poll_event`](Self::poll_event) until it gives `None`, and [`receive`](Self::receive) as far as the user reads;
///    reading may make a window update due, so poll for packets again.
/// 3. [`poll_notice`](Self::poll_notice) until it gives `None`, handing each to
///    [`Endpoint::on_notice`](crate::Endpoint::on_notice).
/// 4. [`poll_timeout`](Self::poll_timeout): call `handle_timeout` at that instant or later.
///
/// Time is passed in with every call and must not run backwards. An association that has ended gives
/// [`Event::Ended`] as its last event; drop it after the last packet was polled.
#[derive(Debug)]
pub struct Association {
    /// Shared by the associations of an endpoint that peers began.
    config: SharedConfig,
    identity: Identity,
    state: State,
    /// The state last reported to the probe.
    reported_state: AssociationState,
    /// Random numbers that represent this association in cookies made while it exists (RFC 9260 section 5.2.2).
    tie_tags: TieTags,
    streams: Streams,
    /// Addresses of the paths, and whether these work.
    paths: PathBook,
    /// Addresses of the peer that are to be proved before a path uses them.
    newcomers: Lazy<Newcomers>,
    /// What proves them, if both sides have it.
    join: Option<Box<JoinSecrets>>,
    transmitter: Transmitter,
    /// What the transmitter wants done; empty in between.
    effects: Effects,
    control: ControlQueue,
    flush: OutputFlush,
    events: Events,
    notices: VecDeque<Notice>,
    /// The time in which no path has answered.
    outage: Outage,
    /// Timeouts of a chunk that may be too large for every path.
    size_black_hole: Option<Box<SizeBlackHole>>,
    /// Paths that became potentially failed.
    suspicions: Lazy<Suspicions>,
    /// Parameters of single paths, and other seldom ones.
    tuning: Lazy<Tuning>,
    /// When and where the discovery of path MTUs has something to do.
    mtu_work: MtuWork,
    /// The user was notified of messages and has not emptied the queue since.
    readable_told: bool,
    /// What limits reports of damaged packets.
    reports_allowed: Allowance,
    /// Where authentication is offered.
    auth: Option<Box<Authentication>>,
    /// Where both sides have stream reconfiguration.
    reconfig: Option<Box<Reconfiguration>>,
    /// Where both sides have address reconfiguration.
    address_changes: Option<Box<AddressChanges>>,
    /// The adaptation code point of the peer's program, if any. Stored separately from the flag, it needs no padding.
    peer_adaptation: u32,
    has_peer_adaptation: bool,
    blocked: Blocked,
    stats: AssociationCounters,
}

/// Negotiated streams; during the handshake, the requested number and the accepted maximum.
#[derive(Clone, Copy, Debug)]
struct Streams {
    outbound: u16,
    inbound: u16,
}

/// Who an association is between, fixed when it begins.
#[derive(Clone, Debug)]
pub struct Identity {
    /// SCTP port of this side.
    pub local_port: u16,
    /// SCTP port of the peer.
    pub remote_port: u16,
    /// Addresses of this side.
    pub local_addresses: SmallVec<[IpAddr; 2]>,
    /// Verification tag that the peer must put into packets to us.
    pub local_tag: u32,
    /// First TSN that this side sends.
    pub initial_tsn: u32,
}

/// What the endpoint must know of changes inside an association.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Notice {
    /// Packets from this address belong to the association too.
    PeerAddress(IpAddr),
    /// The peer has answered from this address, which it had only said to have.
    PeerAddressConfirmed(IpAddr),
    /// The peer has left this address.
    PeerAddressGone(IpAddr),
    /// Packets with its tag that begin with an ASCONF belong to it, whatever their source.
    TakesAddressChanges,
    /// Packets with its tag that begin with a HEARTBEAT belong to it, whatever their source.
    TakesNewcomers,
    /// The association has ended: forget it.
    Closed,
}

impl Association {
    /// Begins an association as the client: sends INIT to the peer's addresses, in turn or at once as the policy says.
    ///
    /// Addresses for which no local address of the same family exists are left out; the endpoint has checked that one
    /// remains.
    pub(crate) fn connect(
        cx: &mut Cx<'_>,
        config: SharedConfig,
        identity: Identity,
        peer: &[PeerAddress],
    ) -> Box<Self> {
        let timer = T1::first(cx.now, config.policies.rto.initial);
        let state = State::Handshake(Handshake::new(timer, peer));
        let mut association = Box::new(Self::new(cx, config, identity, state));
        association.auth = Authentication::begin(&association.config, cx.rng);
        association.report_state(cx);
        association.build_paths(peer, None);
        association.report_paths(cx);
        association.send_init(cx.now);
        association
    }

    fn new(cx: &mut Cx<'_>, config: SharedConfig, identity: Identity, state: State) -> Self {
        Self {
            transmitter: Transmitter::new(Tsn(identity.initial_tsn), &config),
            streams: Streams {
                outbound: config.outbound_streams,
                inbound: config.max_inbound_streams,
            },
            config,
            identity,
            state,
            reported_state: AssociationState::Closed,
            tie_tags: TieTags::draw(cx.rng),
            paths: PathBook::default(),
            newcomers: Lazy::default(),
            join: None,
            effects: Effects::new(),
            control: ControlQueue::new(),
            flush: OutputFlush::default(),
            events: Events::default(),
            notices: VecDeque::new(),
            outage: Outage::default(),
            size_black_hole: None,
            suspicions: Lazy::default(),
            tuning: Lazy::default(),
            mtu_work: MtuWork::default(),
            readable_told: false,
            reports_allowed: Allowance::default(),
            auth: None,
            reconfig: None,
            address_changes: None,
            peer_adaptation: 0,
            has_peer_adaptation: false,
            blocked: Blocked::default(),
            stats: AssociationCounters::default(),
        }
    }

    /// Handles a packet that the endpoint routed here; it has verified the checksum.
    pub fn handle(&mut self, cx: &mut Cx<'_>, received: &Received<'_>) {
        self.stir();
        self.handle_packet(cx, received, self.initial_trust());
    }

    /// The same for a packet with a COOKIE ECHO, whose AUTH the endpoint has verified.
    pub(crate) fn handle_echo(&mut self, cx: &mut Cx<'_>, received: &Received<'_>, trust: Trust) {
        self.stir();
        let trust = if trust == Trust::Vouched { trust } else { self.initial_trust() };
        self.handle_packet(cx, received, trust);
    }

    /// Handles a packet for which the endpoint returned [`Route::Damaged`](crate::Route::Damaged): its checksum is
    /// wrong. Its content is ignored; its sender may be informed.
    pub fn handle_damaged(&mut self, _cx: &mut Cx<'_>, received: &Received<'_>) {
        self.stir();
        self.note_damage(received);
    }

    /// Handles every timer that is due at `cx.now`.
    pub fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        self.stir();
        self.expire_timers(cx);
    }

    /// Handles a report of the system about a path: an ICMP message that the endpoint attributed to a packet of this
    /// association, or an error from sending.
    ///
    /// A pair of addresses that the system refuses becomes inactive, and its data is retransmitted elsewhere.
    /// Heartbeats continue, an RTO apart, since asking the system costs the network nothing; an answer makes the path
    /// active again. During the handshake, the next pair is tried at once, each at most once between two expiries of
    /// the timer.
    pub fn handle_path_error(&mut self, cx: &mut Cx<'_>, path: PathId, error: PathError) {
        self.stir();
        self.apply_path_error(cx, path, error);
    }

    /// Handles a report of ICMP that a host does not accept SCTP: "protocol unreachable" and "unrecognized next
    /// header", and for packets in UDP "port unreachable" (RFC 6951 section 5.5). `quoted` is the beginning of the
    /// packet that it quotes, and `carried` the encapsulation of that packet. Reports about packets that were not
    /// [sent](Self::has_sent), or about a UDP port that the peer no longer uses, are ignored.
    ///
    /// The report ends the association like an ABORT (RFC 9260 section 10, ICMP8), or only this path while other paths
    /// work. After the handshake it is a hint: it takes effect only if it is repeated for five seconds while nothing
    /// arrives on the path, since address translators report it for a port that they have just forgotten, and Linux for
    /// packets that do not fit into the buffer of a raw socket. Meanwhile the path is probed. The handshake continues
    /// with the next pair of addresses, each at most once between two expiries of the timer.
    pub fn handle_protocol_unreachable(
        &mut self,
        cx: &mut Cx<'_>,
        path: PathId,
        carried: Encapsulation,
        quoted: &[u8],
    ) {
        self.stir();
        self.apply_protocol_unreachable(cx, path, carried, quoted);
    }

    /// Handles the addition or removal of an address of this host.
    ///
    /// A new address gets paths according to the pairing, which are probed before they carry data; an address that is
    /// meaningless to the peer (a loopback address, for a remote peer) gets none. Paths of a lost address become
    /// inactive and keep their counters, and their data in flight is retransmitted elsewhere; when the address returns,
    /// they are probed again with their old ids.
    ///
    /// If both sides have [`AddressReconfiguration`](crate::config::AddressReconfiguration), an ASCONF announces the
    /// change (RFC 5061), and a new address is used once the peer has acknowledged it; [`Event::LocalAddress`] reports
    /// that. The last address is deleted only when another one is added. Otherwise the peer learns a new address from
    /// the packets of its paths, and accepts them if both sides have [`AddressJoin`](crate::config::AddressJoin) or the
    /// handshake listed the address.
    pub fn handle_local_address(&mut self, cx: &mut Cx<'_>, change: LocalAddressChange) {
        self.stir();
        self.apply_local_address(cx, change);
    }

    /// Takes note of the routes of the system, for [`PathPairing::ByRoute`](crate::config::PathPairing::ByRoute): pairs
    /// that they ask for become paths. Paths that they do not ask for stay; those that the system refuses become inactive
    /// by [`handle_path_error`](Self::handle_path_error).
    pub fn handle_routes(&mut self, cx: &mut Cx<'_>, routes: &[SourceRoute]) {
        self.stir();
        self.apply_routes(cx, routes);
    }

    /// Takes note that links, addresses or routes of this host have changed: paths that do not answer are probed at once.
    pub fn handle_network_change(&mut self, cx: &mut Cx<'_>) {
        self.stir();
        self.probe_silent_paths(cx);
    }

    /// Handles a change of the path below the lower layer, for example when ICE chooses another pair of candidates:
    /// path MTU probing and congestion control start again (RFC 8261 section 6.1).
    pub fn handle_lower_layer_change(&mut self, cx: &mut Cx<'_>) {
        self.stir();
        self.begin_on_another_way(cx);
    }

    /// The next packet to send; see the contract. After `None`, there is none until another call or a later time.
    pub fn poll_transmit(&mut self, cx: &mut Cx<'_>) -> Option<Transmit> {
        let mut packet = Packet::default();
        let envelope = self.poll_packet(cx, &mut packet)?;
        Some(Transmit::new(envelope, packet))
    }

    /// The same, built in memory of the caller, which avoids copies; the previous content of `packet` is dropped.
    pub fn poll_transmit_into(
        &mut self,
        cx: &mut Cx<'_>,
        packet: &mut Packet<'static>,
    ) -> Option<Envelope> {
        if self.is_dry_at(cx.now) { None } else { self.poll_packet(cx, packet) }
    }

    /// When to call [`handle_timeout`](Self::handle_timeout); `None` when no timer runs.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.next_deadline()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop()
    }

    /// The next notice for the endpoint.
    pub fn poll_notice(&mut self) -> Option<Notice> {
        self.notices.pop_front()
    }

    /// Queues a message; during the handshake it waits until the association is established.
    ///
    /// # Errors
    ///
    /// On error nothing was queued. After [`SendError::WouldBlock`], an [`Event::Writable`] follows when the message
    /// fits and there is as much space as the policy `send_room_notice` requires, or, for a stream that is being reset,
    /// when it has been.
    pub fn send(&mut self, cx: &mut Cx<'_>, message: OutgoingMessage) -> Result<(), SendError> {
        self.stir();
        let size = message.payload.len();
        if !self.state.accepts_messages() {
            return Err(SendError::Closed);
        }
        if size == 0 {
            return Err(SendError::Empty);
        }
        if message.piece == Piece::Whole {
            self.admits_fragments(size)?;
        }
        if message.stream >= self.streams.outbound {
            return Err(SendError::InvalidStream {
                stream: message.stream,
                count: self.streams.outbound,
            });
        }
        self.transmitter.queue.admits_piece(message.stream, message.piece)?;
        if message.piece.begins() && self.is_resetting(message.stream) {
            return Err(SendError::WouldBlock);
        }
        if message.path.is_some_and(|path| self.paths.get(path).is_none()) {
            return Err(SendError::NoSuchPath);
        }
        let policy = message.reliability.unwrap_or(self.config.policies.partial_reliability);
        let wanted = match message.piece {
            Piece::Whole => Reliability::of(policy, cx.now),
            Piece::First | Piece::Middle | Piece::Last => Reliability::Full,
        };
        let (transmitter, mut send_cx) = self.sending(cx);
        let queued = transmitter.enqueue(&mut send_cx, message, wanted);
        self.apply_effects(cx);
        if self.outage.is_on() {
            self.probe_in_outage(cx.now);
        }
        queued
    }

    /// Whether the send buffer has space for a message of this many bytes now. Otherwise, [`send`](Self::send) may
    /// still make space by abandoning less important messages.
    pub fn has_room(&self, bytes: usize) -> bool {
        self.transmitter.queue.has_room(bytes)
    }

    /// Whether an acknowledgement is to go out at once: after [`receive`](Self::receive), that the window has opened.
    pub fn acknowledgement_is_due(&self) -> bool {
        self.state.receiver().is_some_and(Receiver::sack_is_due)
    }

    /// Ends the association gracefully once all messages are acknowledged (RFC 9260 section 9.2). If a message sent in
    /// pieces has not ended, the association is aborted: nothing else tells the peer that the rest will not arrive.
    pub fn shutdown(&mut self, cx: &mut Cx<'_>) {
        self.stir();
        if self.transmitter.queue.has_open_message() {
            return self.abort_by_user(cx, &Bytes::from_static(b"a message has not ended"));
        }
        self.begin_shutdown(cx);
    }

    /// Aborts the association (RFC 9260 section 9.1); `reason` is sent in a user-initiated abort cause.
    pub fn abort(&mut self, cx: &mut Cx<'_>, reason: &Bytes) {
        self.stir();
        self.abort_by_user(cx, reason);
    }

    /// Makes a path the primary path.
    ///
    /// # Errors
    ///
    /// [`SendError::NoSuchPath`] if the path does not exist.
    pub fn set_primary(&mut self, path: PathId) -> Result<(), SendError> {
        self.stir();
        if self.paths.get(path).is_none() {
            return Err(SendError::NoSuchPath);
        }
        self.paths.primary = path;
        Ok(())
    }

    /// Sets the loss rate of a path from outside, for `retransmission.loss_rate = "oracle"` (`iyengar` section IV).
    ///
    /// # Errors
    ///
    /// [`SendError::NoSuchPath`] if the path does not exist.
    pub fn set_oracle_loss_rate(&mut self, path: PathId, rate: Fraction) -> Result<(), SendError> {
        self.stir();
        let path = self.transmitter.paths.get_mut(path).ok_or(SendError::NoSuchPath)?;
        path.record.loss_rate.oracle = Some(rate);
        Ok(())
    }

    /// Sets the value of an outbound stream for the stream scheduler (RFC 6458 `SCTP_SS_VALUE`): with
    /// [`Priority`](crate::config::StreamScheduler::Priority) its priority, where the lowest number goes first and 0 is
    /// the default; with [`WeightedFair`](crate::config::StreamScheduler::WeightedFair) its weight, where 1 is the
    /// default and 0 counts as 1. Other schedulers do not use it.
    ///
    /// # Errors
    ///
    /// [`SendError::InvalidStream`] if the stream does not exist.
    pub fn set_stream_value(&mut self, stream: u16, value: u16) -> Result<(), SendError> {
        self.stir();
        let count = self.streams.outbound;
        if stream >= count {
            return Err(SendError::InvalidStream { stream, count });
        }
        self.transmitter.queue.set_stream_value(stream, value);
        Ok(())
    }

    /// Whether the handshake is done and the association has not ended.
    pub fn is_established(&self) -> bool {
        self.state.is_connected()
    }

    /// Whether the association has ended and its last packet was polled.
    pub fn is_closed(&self) -> bool {
        self.state.is_closed() && self.control.is_empty()
    }

    /// Bytes of the send buffer that are free. A message takes its length, but at least 128 bytes.
    pub fn send_capacity(&self) -> usize {
        usize::try_from(self.transmitter.queue.free()).unwrap_or(usize::MAX)
    }

    /// Negotiated outbound streams; during the handshake, the requested ones.
    pub fn outbound_streams(&self) -> u16 {
        self.streams.outbound
    }

    /// Inbound streams agreed with the peer, before that those accepted at most.
    pub fn inbound_streams(&self) -> u16 {
        self.streams.inbound
    }

    /// The adaptation code point of the peer's program, if it sent one (RFC 5061 section 4.2.6).
    pub fn peer_adaptation(&self) -> Option<u32> {
        self.has_peer_adaptation.then_some(self.peer_adaptation)
    }

    /// Whether fragments of messages of different streams alternate: both sides have I-DATA (RFC 8260 section 4.3.1). False until
    /// the handshake has agreed on it.
    pub fn interleaves_messages(&self) -> bool {
        self.transmitter.chunk == UserDataChunk::IData
    }

    /// Whether the peer has shut down: it sends nothing more.
    pub fn is_shut_by_peer(&self) -> bool {
        let phase = self.state.phase();
        matches!(
            phase,
            Some(
                ConnectedPhase::ShutdownHeld(_)
                    | ConnectedPhase::ShutdownReceived(_)
                    | ConnectedPhase::ShutdownAckSent(_)
            )
        )
    }

    /// The configuration.
    pub fn config(&self) -> &AssociationConfig {
        &self.config
    }

    /// The identity fixed at the start.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Whether its packets go over IP itself, on every path; also once it has ended.
    pub fn is_over_ip(&self) -> bool {
        self.paths.iter().all(|path| path.encapsulation == Encapsulation::None)
    }

    /// Gives memory back that nothing needs at present: rings for outstanding chunks, queues that have become empty.
    ///
    /// It happens by itself when a heartbeat is due and all paths have been idle since the last one, so that long idle
    /// associations are small and busy ones keep what they will need again, and what they know of their paths. Drivers call it where heartbeats are off.
    pub fn release_memory(&mut self) {
        self.transmitter.release_memory();
        if let Some(receiver) = self.state.receiver_mut() {
            receiver.release_memory();
        }
        self.effects.shrink_to_fit();
        self.control.shrink_to_fit();
        self.notices.shrink_to_fit();
        self.events.release_memory();
    }

    /// The transmitter, and its context.
    fn sending<'a>(&'a mut self, cx: &'a mut Cx<'_>) -> (&'a mut Transmitter, SendCx<'a>) {
        let Self { transmitter, config, paths, state, effects, .. } = self;
        debug_assert!(effects.is_empty(), "what was wanted before was not done");
        let (rng, probe) = (&mut *cx.rng, &mut *cx.probe);
        let phase = state.send_phase();
        (transmitter, SendCx { now: cx.now, rng, probe, config, book: paths, phase, effects })
    }

    /// Tells the user once that messages wait.
    #[inline]
    fn announce_messages(&mut self) {
        let Some(receiver) = self.state.receiver() else { return };
        let has_news = receiver.has_claim_news();
        if !self.readable_told && receiver.has_unclaimed() {
            self.report_readable();
        }
        if has_news {
            self.report_claims();
        }
    }

    #[inline]
    fn report_readable(&mut self) {
        self.readable_told = true;
        self.events.push(Event::Readable);
    }
}
