//! Stateless answers of an endpoint: INIT ACK, and answers to unknown peers.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::net::IpAddr;

use polypath_wire::{Abort, Causes, Checksum, Chunk, Init, Packet};
use smallvec::smallvec;

use super::Endpoint;
use super::amplification::{first_that_fit, most_answer_bytes};
use super::cookie::CodeLength;
use super::route::{DropReason, Incoming};
use crate::association::handshake::cookie::{Cookie, TieTags};
use crate::association::handshake::init_parameters::{
    Indications, InitKind, InitLimits, InitProblem, MIN_INITIAL_WINDOW, PeerInit,
    init_ack_parameters,
};
use crate::association::handshake::view::HandshakeView;
use crate::config::AuthDemand;
use crate::extension::auth::{AuthOffer, AuthPair};
use crate::types::{AddressList, Capabilities, PeerAddress};
use crate::{Cx, Ecn, Fragmentation, Received, Transmit};

/// An answer longer than this may be fragmented by IP: with its headers it might not fit the least MTU of IPv6.
const SAFE_PACKET_BYTES: usize = 1200;

/// Source and destination of an answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReturnPath {
    pub(super) local: IpAddr,
    /// SCTP port that the packet was sent to.
    pub(super) local_port: u16,
    pub(super) remote: PeerAddress,
    pub(super) remote_port: u16,
    /// Size of the packet that is answered, from the common header on.
    pub(super) received_bytes: usize,
}

/// What this side puts into an INIT ACK.
#[derive(Clone, Debug)]
pub(super) struct OwnInit {
    pub(super) tag: u32,
    pub(super) initial_tsn: u32,
    pub(super) a_rwnd: u32,
    pub(super) outbound_streams: u16,
    pub(super) max_inbound_streams: u16,
    pub(super) offered: Capabilities,
    pub(super) indications: Indications,
    pub(super) auth: Option<AuthOffer>,
    pub(super) tie_tags: TieTags,
}

impl ReturnPath {
    /// Back to the source of a packet.
    pub(super) fn of(received: &Received<'_>, packet: &Incoming<'_, '_>) -> Self {
        let remote =
            PeerAddress { address: received.remote, encapsulation: received.encapsulation };
        Self {
            local: received.local,
            local_port: packet.destination_port(),
            remote,
            remote_port: packet.source_port(),
            received_bytes: received.body.encoded_len(),
        }
    }
}

impl OwnInit {
    /// As in the INIT of an association that is being set up (RFC 9260 section 5.2.1).
    pub(super) fn repeated(view: &HandshakeView, tie_tags: TieTags) -> Self {
        Self {
            tag: view.local_tag,
            initial_tsn: view.initial_tsn,
            a_rwnd: view.a_rwnd,
            outbound_streams: view.outbound_streams,
            max_inbound_streams: view.max_inbound_streams,
            offered: view.offered,
            indications: view.indications,
            auth: view.auth.clone(),
            tie_tags,
        }
    }
}

impl Endpoint {
    /// Reads the INIT of a packet with tag 0; the inner error is the problem, with the tag for reporting it.
    pub(super) fn read_init(
        &self,
        received: &Received<'_>,
        packet: &Incoming<'_, '_>,
        authentication: AuthDemand,
    ) -> Result<Result<PeerInit, (u32, InitProblem)>, DropReason> {
        let init = packet.lone_init()?;
        let port = packet.destination_port();
        let limits = InitLimits {
            max_addresses: usize::from(self.accepted_at(port).max_paths).max(1),
            local_addresses: &self.local_addresses,
            authentication,
        };
        let tag = init.initiate_tag;
        match PeerInit::parse(&init, InitKind::Init, received.remote, &limits) {
            // RFC 9260 section 3.3.2: silently discarded.
            Err(InitProblem::ZeroTag) => Err(DropReason::InitiateTagZero),
            parsed => Ok(parsed.map_err(|problem| (tag, problem))),
        }
    }

    /// What this side puts into the INIT ACK for a peer without association, at this port.
    pub(super) fn fresh_init(&self, cx: &mut Cx<'_>, port: u16) -> OwnInit {
        let config = self.accepted_at(port);
        OwnInit {
            tag: self.table.draw_tag(cx.rng),
            initial_tsn: cx.rng.next_u32(),
            a_rwnd: config.first_window(),
            outbound_streams: config.outbound_streams,
            max_inbound_streams: config.max_inbound_streams,
            offered: Capabilities::offered(config),
            indications: Indications::of(config),
            auth: AuthOffer::draw(AuthDemand::of(&config.policies), cx.rng),
            tie_tags: TieTags::default(),
        }
    }

    /// INIT ACK with a cookie that holds everything; nothing of it stays here (RFC 9260 section 5.1 B).
    ///
    /// It is no larger than [`most_answer_bytes`] says: otherwise the code of the cookie is shorter, and fewer addresses are listed.
    /// If even that were too large, it would count among the answers to strangers.
    pub(super) fn init_ack(
        &mut self,
        cx: &mut Cx<'_>,
        to: &ReturnPath,
        peer: &PeerInit,
        own: &OwnInit,
    ) -> Result<Box<Transmit>, DropReason> {
        let sealed = self.seal_cookie(cx, to, peer, (own, CodeLength::Long));
        let remote = to.remote;
        let most = most_answer_bytes(to.received_bytes, remote.address, remote.encapsulation);
        let listed = self.addresses_at(to.local_port);
        let whole = self.init_ack_listing(to, peer, own, (&sealed, &listed));
        if whole.packet.encoded_len() <= most {
            return Ok(whole);
        }
        let sealed = self.seal_cookie(cx, to, peer, (own, CodeLength::Short));
        let bare = &OwnInit { offered: own.offered & peer.capabilities, ..own.clone() };
        let least = self.init_ack_listing(to, peer, bare, (&sealed, &[to.local]));
        let Some(room) = most.checked_sub(least.packet.encoded_len()) else {
            return match self.limits.take_answer(cx.now) {
                true => Ok(least),
                false => Err(DropReason::AnswerLimit),
            };
        };
        let listed = first_that_fit(&listed, to.local, room);
        Ok(self.init_ack_listing(to, peer, bare, (&sealed, &listed)))
    }

    /// All that the COOKIE ECHO is to bring back.
    fn seal_cookie(
        &mut self,
        cx: &mut Cx<'_>,
        to: &ReturnPath,
        peer: &PeerInit,
        (own, code): (&OwnInit, CodeLength),
    ) -> Vec<u8> {
        let outbound_streams = own.outbound_streams.clamp(1, peer.inbound_streams);
        let max_inbound_streams = own.max_inbound_streams.max(1);
        let mut peer_addresses = AddressList::from_slice(&[to.remote.address]);
        peer_addresses.extend(peer.addresses.iter().copied().filter(|a| *a != to.remote.address));
        // Without an offer of the peer, none is made.
        let auth = own.auth.as_ref().filter(|_| peer.auth.is_some());
        let pair = auth.cloned().zip(peer.auth.clone());
        let cookie = Cookie {
            created: cx.now,
            life: self.config.cookie_life + peer.life_extension.min(self.config.cookie_life),
            local_tag: own.tag,
            peer_tag: peer.tag,
            tie_tags: own.tie_tags,
            local_initial_tsn: own.initial_tsn,
            peer_initial_tsn: peer.initial_tsn,
            a_rwnd: peer.a_rwnd,
            outbound_streams,
            inbound_streams: peer.outbound_streams.min(max_inbound_streams),
            local_port: to.local_port,
            remote_port: to.remote_port,
            capabilities: peer.capabilities,
            adaptation: peer.adaptation,
            preferred: peer.preferred,
            auth: pair.map(|(own, peer)| AuthPair { own, peer }),
            encapsulation: to.remote.encapsulation,
            local_address: to.local,
            peer_addresses,
        };
        self.secrets.seal(&cookie, code, cx.now, cx.rng)
    }

    /// INIT ACK with this cookie, which lists these of our addresses as far as they mean something to the peer.
    fn init_ack_listing(
        &self,
        to: &ReturnPath,
        peer: &PeerInit,
        own: &OwnInit,
        (sealed, local): (&[u8], &[IpAddr]),
    ) -> Box<Transmit> {
        let outbound_streams = own.outbound_streams.clamp(1, peer.inbound_streams);
        let max_inbound_streams = own.max_inbound_streams.max(1);
        // Without an offer of the peer, none is made.
        let auth = own.auth.as_ref().filter(|_| peer.auth.is_some());
        let parameters =
            init_ack_parameters(local, to.local, to.remote, peer, sealed, own.offered, auth);
        let init_ack = Init {
            initiate_tag: own.tag,
            a_rwnd: own.a_rwnd.max(MIN_INITIAL_WINDOW),
            outbound_streams,
            inbound_streams: max_inbound_streams,
            initial_tsn: own.initial_tsn,
            parameters: own.indications.added_to(parameters, to.local),
        };
        let mut answer = self.answer(to, peer.tag, Chunk::InitAck(init_ack));
        if (peer.capabilities & own.offered).contains(Capabilities::ZERO_CHECKSUM) {
            answer.checksum = Checksum::Zero;
        }
        answer
    }

    /// ABORT for a peer that is not accepted, with the peer's own tag.
    pub(super) fn refuse(
        &mut self,
        cx: &Cx<'_>,
        to: &ReturnPath,
        tag: u32,
        causes: Causes<'static>,
    ) -> Result<Box<Transmit>, DropReason> {
        let abort = Chunk::Abort(Abort { reflected_tag: false, causes });
        self.answer_stranger(cx, to, tag, abort)
    }

    /// Answers a packet from outside any association, at a limited rate.
    pub(super) fn answer_stranger(
        &mut self,
        cx: &Cx<'_>,
        to: &ReturnPath,
        tag: u32,
        chunk: Chunk<'static>,
    ) -> Result<Box<Transmit>, DropReason> {
        if !self.limits.take_answer(cx.now) {
            return Err(DropReason::AnswerLimit);
        }
        Ok(self.answer(to, tag, chunk))
    }

    fn answer(&self, to: &ReturnPath, tag: u32, chunk: Chunk<'static>) -> Box<Transmit> {
        let packet = Packet {
            source_port: to.local_port,
            destination_port: to.remote_port,
            verification_tag: tag,
            chunks: smallvec![chunk],
        };
        Box::new(Transmit {
            path: None,
            local: to.local,
            remote: to.remote.address,
            encapsulation: to.remote.encapsulation,
            ecn: Ecn::NotEct,
            traffic: self.accepted_at(to.local_port).traffic(),
            fragmentation: match packet.encoded_len() > SAFE_PACKET_BYTES {
                true => Fragmentation::Allowed,
                false => Fragmentation::Avoided,
            },
            checksum: Checksum::Crc32c,
            packet,
        })
    }
}
