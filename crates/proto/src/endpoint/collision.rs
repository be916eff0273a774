//! INIT and COOKIE ECHO from the peer of an association that exists (RFC 9260 section 5.2).

use alloc::boxed::Box;
use alloc::vec::Vec;

use polypath_wire::{Cause, Causes, Chunk, Parameter, Parameters, chunk_type};

use super::Endpoint;
use super::init::{OwnInit, ReturnPath};
use super::route::{Collision, Contents, DropReason, Incoming};
use crate::association::handshake::cookie::{Cookie, TieTags};
use crate::association::handshake::init_parameters::PeerInit;
use crate::association::handshake::view::{HandshakePhase, HandshakeView, ShutdownAckTrigger};
use crate::extension::auth::AuthOffer;
use crate::types::PeerAddress;
use crate::{Association, Cx, Duration, Encapsulation, Instant, Received, Transmit};

/// What an INIT calls for.
#[derive(Debug)]
pub(super) enum InitAction {
    /// An answer; the association stays as it is.
    Reply(Box<Transmit>),
    /// The association shall send SHUTDOWN ACK again.
    ResendShutdownAck,
}

/// What a COOKIE ECHO calls for (RFC 9260 section 5.2.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CookieAction {
    /// Action A: the peer restarted.
    Restart,
    /// Action A in SHUTDOWN-ACK-SENT: the peer restarted, but has to wait.
    RefuseWhileShuttingDown,
    /// Actions B and D.
    Complete,
    /// The cookie expired this long ago.
    Stale(Duration),
}

impl Endpoint {
    /// A packet for which [`Route::Collision`](super::Route::Collision) was given.
    pub(super) fn collide(
        &mut self,
        cx: &mut Cx<'_>,
        received: &Received<'_>,
        association: &mut Association,
    ) -> Result<Collision, DropReason> {
        let packet = Incoming::open(received, self.table.checksum_policy(&received.body))?;
        match packet.first_type() {
            Some(chunk_type::INIT) => {
                let view = association.handshake_view();
                match self.answer_colliding_init(cx, received, &packet, &view)? {
                    InitAction::Reply(transmit) => Ok(Collision::Reply(transmit)),
                    InitAction::ResendShutdownAck => {
                        association.resend_shutdown_ack(cx, ShutdownAckTrigger::Init);
                        Ok(Collision::Handled)
                    }
                }
            }
            Some(chunk_type::COOKIE_ECHO) => {
                self.collide_cookie_echo(cx, received, &packet, association)
            }
            _ => {
                let view = association.handshake_view();
                self.answer_shutdown_ack(cx, received, &packet, &view)
            }
        }
    }

    /// COOKIE ECHO (RFC 9260 section 5.2.4).
    fn collide_cookie_echo(
        &mut self,
        cx: &mut Cx<'_>,
        received: &Received<'_>,
        packet: &Incoming<'_, '_>,
        association: &mut Association,
    ) -> Result<Collision, DropReason> {
        let view = association.handshake_view();
        let id = self.table.by_tag(view.local_tag).ok_or(DropReason::NoAssociation)?.id;
        let established = self.open_cookie(cx, received, packet)?;
        let cookie = &established.cookie;
        let trust = association.vouch(packet.proof().as_ref(), cookie.auth.as_ref());
        let trust = trust.ok_or(DropReason::NotAuthenticated)?;
        match judge_cookie(&view, cookie, cx.now)? {
            CookieAction::Stale(by) => {
                let to = ReturnPath::of(received, packet);
                let answer = self.answer_stranger(cx, &to, cookie.peer_tag, stale_cookie(by));
                return answer.map(Collision::Reply);
            }
            CookieAction::RefuseWhileShuttingDown => {
                association.resend_shutdown_ack(cx, ShutdownAckTrigger::CookieEcho);
                return Ok(Collision::Handled);
            }
            CookieAction::Restart if self.table.by_tag(cookie.local_tag).is_some() => {
                return Err(DropReason::TagTaken);
            }
            CookieAction::Restart => {
                let Cookie { local_tag, peer_addresses, encapsulation, .. } = cookie;
                let proved = peer_addresses.get(..1).unwrap_or_default();
                let addresses = (proved, &peer_addresses[..]);
                self.table.renew(id, *local_tag, addresses, *encapsulation);
                association.restart(cx, established);
            }
            CookieAction::Complete => association.complete_handshake(cx, established),
        }
        // It passes over the COOKIE ECHO; DATA may follow.
        association.handle_echo(cx, received, trust);
        Ok(Collision::Handled)
    }

    /// SHUTDOWN ACK with an unknown tag while an association is being set up: a remnant of one before it, to be answered
    /// as if there were none (RFC 9260 sections 8.5.1 E and 9.2).
    pub(super) fn answer_shutdown_ack(
        &mut self,
        cx: &Cx<'_>,
        received: &Received<'_>,
        packet: &Incoming<'_, '_>,
        view: &HandshakeView,
    ) -> Result<Collision, DropReason> {
        let forming =
            matches!(view.phase, HandshakePhase::CookieWait | HandshakePhase::CookieEchoed);
        if !forming || packet.tag() == 0 || !packet.contents()?.any(Contents::SHUTDOWN_ACK) {
            return Err(DropReason::WrongTag);
        }
        let to = ReturnPath::of(received, packet);
        let complete = Chunk::ShutdownComplete { reflected_tag: true };
        self.answer_stranger(cx, &to, packet.tag(), complete).map(Collision::Reply)
    }

    /// INIT (RFC 9260 sections 5.2.1, 5.2.2 and 9.2).
    pub(super) fn answer_colliding_init(
        &mut self,
        cx: &mut Cx<'_>,
        received: &Received<'_>,
        packet: &Incoming<'_, '_>,
        view: &HandshakeView,
    ) -> Result<InitAction, DropReason> {
        let mut to = ReturnPath::of(received, packet);
        let peer = match self.read_init(received, packet, view.authentication)? {
            Ok(peer) => peer,
            Err((tag, problem)) => {
                return self.refuse(cx, &to, tag, problem.causes()).map(InitAction::Reply);
            }
        };
        let own = match view.phase {
            HandshakePhase::Closed => return Err(DropReason::NoAssociation),
            HandshakePhase::ShutdownAckSent => return Ok(InitAction::ResendShutdownAck),
            HandshakePhase::CookieWait => {
                to.remote = requested_address(view, &to.remote, &peer)
                    .ok_or(DropReason::UnrequestedAddress)?;
                OwnInit::repeated(view, TieTags::default())
            }
            HandshakePhase::CookieEchoed => OwnInit::repeated(view, view.tie_tags),
            HandshakePhase::Established => OwnInit {
                tag: self.table.draw_tag(cx.rng),
                initial_tsn: cx.rng.next_u32(),
                auth: AuthOffer::draw(view.authentication, cx.rng),
                ..OwnInit::repeated(view, view.tie_tags)
            },
        };
        if view.phase != HandshakePhase::CookieWait
            && let Some(added) = added_addresses(view, &to.remote, &peer)
        {
            return self.refuse(cx, &to, peer.tag, added).map(InitAction::Reply);
        }
        self.init_ack(cx, &to, &peer, &own).map(InitAction::Reply)
    }
}

/// Destination of the INIT ACK in COOKIE-WAIT: an address that the user named and the INIT lists, the source if
/// possible (RFC 9260 section 5.2.1).
fn requested_address(
    view: &HandshakeView,
    source: &PeerAddress,
    peer: &PeerInit,
) -> Option<PeerAddress> {
    if find(view, source).is_some() {
        return Some(*source);
    }
    view.peer_addresses.iter().find(|known| peer.addresses.contains(&known.address)).copied()
}

/// The error cause that lists the addresses which the INIT would add to the association; `None` when there is none.
///
/// NOTE(deviation): another UDP port at a known address counts as another address. RFC 9260 does not know UDP; without
/// this rule, a host behind the same address translator could take the association over.
fn added_addresses(
    view: &HandshakeView,
    source: &PeerAddress,
    peer: &PeerInit,
) -> Option<Causes<'static>> {
    let is_new = |address| match address == source.address {
        true => find(view, source).is_none(),
        false => view.peer_addresses.iter().all(|known| known.address != address),
    };
    let added: Vec<_> = peer.addresses.iter().copied().filter(|a| is_new(*a)).collect();
    if added.is_empty() {
        return None;
    }
    let list = Parameters::build(added.into_iter().map(Parameter::from));
    Some(Causes::build([Cause::RestartWithNewAddresses(list.as_slice())]))
}

/// The address of the association with the source `source`.
fn find<'v>(view: &'v HandshakeView, source: &PeerAddress) -> Option<&'v PeerAddress> {
    view.peer_addresses.iter().find(|known| {
        known.address == source.address && same_port(&known.encapsulation, &source.encapsulation)
    })
}

/// Whether both lead to the same UDP port, or to none.
pub(super) fn same_port(a: &Encapsulation, b: &Encapsulation) -> bool {
    let port = |encapsulation: &Encapsulation| match encapsulation {
        Encapsulation::None | Encapsulation::LowerLayer => None,
        Encapsulation::Udp { remote_port, .. } => Some(*remote_port),
    };
    port(a) == port(b)
}

/// Compares tags and tie-tags of an authentic cookie with the association (RFC 9260 section 5.2.4, table 12).
pub(super) fn judge_cookie(
    view: &HandshakeView,
    cookie: &Cookie,
    now: Instant,
) -> Result<CookieAction, DropReason> {
    let local = cookie.local_tag == view.local_tag;
    let peer = Some(cookie.peer_tag) == view.peer_tag;
    match cookie.staleness(now) {
        // A peer that did not get our COOKIE ACK may repeat its COOKIE ECHO for long.
        Some(by) if !(local && peer) => return Ok(CookieAction::Stale(by)),
        _ => {}
    }
    let tie_tags = view.tie_tags;
    let tied = cookie.tie_tags == tie_tags && tie_tags.local != 0 && tie_tags.peer != 0;
    match (local, peer, view.phase) {
        (_, _, HandshakePhase::Closed) => Err(DropReason::NoAssociation),
        (true, _, _) => Ok(CookieAction::Complete),
        (false, false, HandshakePhase::ShutdownAckSent) if tied => {
            Ok(CookieAction::RefuseWhileShuttingDown)
        }
        (false, false, _) if tied => match adds_addresses(view, cookie) {
            // Addresses may have been abandoned since the INIT was answered.
            true => Err(DropReason::CookieSuperseded),
            false => Ok(CookieAction::Restart),
        },
        // Action C, and what the table does not list.
        _ => Err(DropReason::CookieSuperseded),
    }
}

fn adds_addresses(view: &HandshakeView, cookie: &Cookie) -> bool {
    let known = |address| view.peer_addresses.iter().any(|known| known.address == address);
    !cookie.peer_addresses.iter().all(|address| known(*address))
}

/// ERROR with the time since the cookie expired, in microseconds rounded up (RFC 9260 section 3.3.10.3).
pub(super) fn stale_cookie(by: Duration) -> Chunk<'static> {
    let microseconds = by.as_nanos().div_ceil(1_000);
    let staleness_us = u32::try_from(microseconds).unwrap_or(u32::MAX);
    Chunk::Error(Causes::build([Cause::StaleCookie { staleness_us }]))
}
