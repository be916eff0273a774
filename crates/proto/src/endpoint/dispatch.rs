//! The destination of each packet (RFC 9260 sections 5.1, 8.4 and 8.5).

use core::net::IpAddr;

use polypath_wire::{Abort, Cause, Causes, Chunk, chunk_type};

use super::Endpoint;
use super::init::ReturnPath;
use super::route::{Beginning, Contents, DropReason, Incoming, Route, ports_of_damaged};
use super::table::{Ports, TableEntry};
use crate::config::AuthDemand;
use crate::types::PeerAddress;
use crate::types::address_scope::is_unicast;
use crate::{AssociationId, Cx, Encapsulation, Received};

impl Endpoint {
    pub(super) fn route(
        &mut self,
        cx: &mut Cx<'_>,
        received: &Received<'_>,
    ) -> Result<Route, DropReason> {
        let packet = match Incoming::open(received, self.table.checksum_policy(&received.body)) {
            Err(DropReason::WrongChecksum) => return self.route_damaged(received),
            opened => opened?,
        };
        let ports = packet.ports();
        if ports.local != self.local_port
            && !self.is_bound(ports.local)
            && !self.table.has_local_port(ports.local)
        {
            return self.route_other_port(cx, received, &packet);
        }
        let tag = packet.tag();
        // The way of nearly all packets: no chunk is read.
        if tag != 0
            && let Some(entry) = self.table.by_tag(tag)
            && entry.has_peer(ports, received.remote)
        {
            return match packet.first_type() {
                Some(chunk_type::COOKIE_ECHO) => Ok(Route::Collision(entry.id)),
                Some(chunk_type::INIT) => Err(DropReason::TaggedInit),
                _ => Ok(Route::Association(entry.id)),
            };
        }
        self.check_source(received, &packet)?;
        if tag == 0 {
            self.route_init(cx, received, &packet)
        } else {
            self.route_stranger(cx, received, &packet)
        }
    }

    /// As [`route`](Self::route) would decide for nearly all packets, without looking beyond the headers.
    pub(super) fn peek_owner(&self, received: &Received<'_>) -> Option<AssociationId> {
        let Beginning { ports: [remote, local], tag, first_type } = Beginning::of(&received.body)?;
        let entry = self.table.by_tag(tag)?;
        let is_owned = entry.has_peer(Ports { local, remote }, received.remote);
        let is_handshake = matches!(first_type, chunk_type::COOKIE_ECHO | chunk_type::INIT);
        (is_owned && !is_handshake).then_some(entry.id)
    }

    /// Sent to an SCTP port that is not this endpoint's. Over UDP, the UDP port is this endpoint's alone, so no other program can
    /// say that the SCTP port is not in use (RFC 9260 sections 5.1 and 8.4). Over IP, another program may have it.
    fn route_other_port(
        &mut self,
        cx: &Cx<'_>,
        received: &Received<'_>,
        packet: &Incoming<'_, '_>,
    ) -> Result<Route, DropReason> {
        if received.encapsulation == Encapsulation::None || packet.destination_port() == 0 {
            return Err(DropReason::OtherPort);
        }
        self.check_source(received, packet)?;
        let to = ReturnPath::of(received, packet);
        if packet.tag() != 0 {
            return self.answer_out_of_the_blue(cx, &to, packet, packet.contents()?);
        }
        match packet.lone_init()?.initiate_tag {
            0 => Err(DropReason::InitiateTagZero),
            tag => self.refuse(cx, &to, tag, Causes::empty()).map(Route::Reply),
        }
    }

    /// A wrong checksum: the peer of an association may want to know.
    fn route_damaged(&mut self, received: &Received<'_>) -> Result<Route, DropReason> {
        let (remote, local) = ports_of_damaged(&received.body).ok_or(DropReason::WrongChecksum)?;
        let (ports, carried) = (Ports { local, remote }, received.encapsulation);
        let id =
            self.table.by_peer(ports, received.remote, carried).ok_or(DropReason::WrongChecksum)?;
        self.count(DropReason::WrongChecksum);
        Ok(Route::Damaged(id))
    }

    /// A sender that must not be answered.
    fn check_source(
        &self,
        received: &Received<'_>,
        packet: &Incoming<'_, '_>,
    ) -> Result<(), DropReason> {
        let (port, to) = (packet.source_port(), packet.destination_port());
        let source =
            PeerAddress { address: received.remote, encapsulation: received.encapsulation };
        if port == 0 {
            Err(DropReason::PortZero)
        } else if !is_unicast(received.remote) || !is_unicast(received.local) {
            Err(DropReason::NotUnicast)
        } else if self.is_self(to, port, &source) {
            Err(DropReason::OwnAddress)
        } else {
            Ok(())
        }
    }

    /// Verification tag 0: INIT (RFC 9260 sections 5.1, 5.1.2 D and 8.5.1 A).
    fn route_init(
        &mut self,
        cx: &mut Cx<'_>,
        received: &Received<'_>,
        packet: &Incoming<'_, '_>,
    ) -> Result<Route, DropReason> {
        let to = ReturnPath::of(received, packet);
        let demanded = AuthDemand::of(&self.accepted_at(to.local_port).policies);
        let peer = match self.read_init(received, packet, demanded)? {
            Ok(peer) => peer,
            Err((tag, problem)) => {
                return self.refuse(cx, &to, tag, problem.causes()).map(Route::Reply);
            }
        };
        let carried = received.encapsulation;
        if let Some(id) = self.table.by_any_peer(packet.ports(), &peer.addresses, carried) {
            return Ok(Route::Collision(id));
        }
        if let Some(causes) = self.refusal((to.local, to.local_port), received.remote) {
            return self.refuse(cx, &to, peer.tag, causes).map(Route::Reply);
        }
        let own = self.fresh_init(cx, to.local_port);
        self.init_ack(cx, &to, &peer, &own).map(Route::Reply)
    }

    /// Why no association can begin now, at this local address and port, with a peer at `address`.
    pub(super) fn refusal(
        &self,
        (local, local_port): (IpAddr, u16),
        address: IpAddr,
    ) -> Option<Causes<'static>> {
        if !self.is_listening(local_port, local) {
            Some(Causes::empty())
        } else if let Some(reason) = self.origins.exhausted(address) {
            Some(Causes::build([Cause::UserInitiatedAbort(reason.as_bytes())]))
        } else if !(self.has_place() || self.departures.is_possible())
            || self.budget.as_ref().is_some_and(|budget| !budget.has_room())
        {
            Some(Causes::build([Cause::OutOfResource]))
        } else {
            None
        }
    }

    /// A verification tag that no association has given to the peer at this address.
    fn route_stranger(
        &mut self,
        cx: &mut Cx<'_>,
        received: &Received<'_>,
        packet: &Incoming<'_, '_>,
    ) -> Result<Route, DropReason> {
        let contents = packet.contents()?;
        let ports = packet.ports();
        // The association looks for its proof; the address may be that of another one's peer, too.
        if let Some(entry) = self.table.by_tag(packet.tag())
            && entry.ports() == ports
            && match packet.first_type() {
                Some(chunk_type::HEARTBEAT) => entry.takes_newcomers(),
                // RFC 5061 section 5.2, rule D2: the tag finds what the address parameter would.
                Some(chunk_type::ASCONF) => entry.takes_address_changes(),
                _ => false,
            }
        {
            return Ok(Route::Association(entry.id));
        }
        let carried = received.encapsulation;
        if packet.first_type() == Some(chunk_type::COOKIE_ECHO) && !contents.any(Contents::ABORT) {
            return match self.table.by_any_peer(ports, &[received.remote], carried) {
                Some(id) => Ok(Route::Collision(id)),
                None => self.route_cookie_echo(cx, received, packet),
            };
        }
        let known = self.table.by_peer(ports, received.remote, carried);
        if let Some(id) = known {
            return if contents.any(Contents::REFLECTED) {
                // The tag may be the peer's: the association knows (RFC 9260 section 8.5.1 B and C).
                Ok(Route::Association(id))
            } else if contents.any(Contents::SHUTDOWN_ACK) {
                // Matters while the association is being set up (section 8.5.1 E).
                Ok(Route::Collision(id))
            } else {
                Err(DropReason::WrongTag)
            };
        }
        if let Some(entry) = self.table.by_tag(packet.tag())
            && entry.ports() == ports
        {
            return self.route_foreign_address(entry, packet);
        }
        self.answer_out_of_the_blue(cx, &ReturnPath::of(received, packet), packet, contents)
    }

    /// The right tag and port, but from an unknown address.
    ///
    /// NOTE(deviation): by RFC 9260 section 8.4, ABORT with the tag reflected would be due. A peer that uses an address
    /// which it did not list (address translation) would end a working association by it.
    fn route_foreign_address(
        &self,
        entry: &TableEntry,
        packet: &Incoming<'_, '_>,
    ) -> Result<Route, DropReason> {
        // RFC 9260 section 5.1.2 D: any address in an INIT ACK identifies the association.
        if let Chunk::InitAck(init) = &*packet.first()?
            && init.parameters.addresses().any(|a| entry.has_peer(packet.ports(), a))
        {
            return Ok(Route::Association(entry.id));
        }
        Err(DropReason::ForeignAddress)
    }

    /// RFC 9260 section 8.4, from rule 5 on; ABORT comes before everything else (rule 2).
    fn answer_out_of_the_blue(
        &mut self,
        cx: &Cx<'_>,
        to: &ReturnPath,
        packet: &Incoming<'_, '_>,
        contents: Contents,
    ) -> Result<Route, DropReason> {
        if contents.any(Contents::ABORT) {
            return Err(DropReason::OutOfTheBlue);
        }
        let answer = if contents.any(Contents::SHUTDOWN_ACK) {
            Chunk::ShutdownComplete { reflected_tag: true }
        } else if contents.any(Contents::SHUTDOWN_COMPLETE | Contents::HANDSHAKE_REMAINS) {
            return Err(DropReason::OutOfTheBlue);
        } else {
            Chunk::Abort(Abort { reflected_tag: true, causes: Causes::empty() })
        };
        self.answer_stranger(cx, to, packet.tag(), answer).map(Route::Reply)
    }
}
