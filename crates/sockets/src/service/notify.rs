//! Notifications (RFC 6458 section 6) in the layouts of Linux.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use polypath::{AddressChange, Association, AuthenticationChange, Event, PathChange};
use rustix::io::Errno;

use super::link::Link;
use super::socket::Socket;
use crate::abi::notification as kind;
use crate::address;
use crate::layout::Building;

/// States of `struct sctp_assoc_change`.
mod sac {
    pub(super) const COMM_UP: u16 = 0;
    pub(super) const COMM_LOST: u16 = 1;
    pub(super) const RESTART: u16 = 2;
    pub(super) const SHUTDOWN_COMP: u16 = 3;
    pub(super) const CANT_START: u16 = 4;
}

/// States of `struct sctp_paddr_change`.
mod spc {
    pub(super) const AVAILABLE: i32 = 0;
    pub(super) const UNREACHABLE: i32 = 1;
    pub(super) const REMOVED: i32 = 2;
    pub(super) const ADDED: i32 = 3;
    pub(super) const MADE_PRIMARY: i32 = 4;
    pub(super) const CONFIRMED: i32 = 5;
    pub(super) const POTENTIALLY_FAILED: i32 = 6;
}

/// An association is established.
pub(super) async fn came_up(socket: &Arc<Socket>, link: &Link, association: &Association) {
    let streams = association.streams();
    let streams = streams.map_or((0, 0), |all| (all.outbound, all.inbound));
    tell_change(socket, link.id, sac::COMM_UP, None, streams).await;
    if let Some(indication) = association.peer_adaptation() {
        tell_adaptation(socket, link.id, indication).await;
    }
}

/// The peer has lost its state and begun anew.
pub(super) async fn restarted(socket: &Arc<Socket>, link: &Link, association: &Association) {
    let streams = association.streams();
    let streams = streams.map_or((0, 0), |all| (all.outbound, all.inbound));
    tell_change(socket, link.id, sac::RESTART, None, streams).await;
}

/// An association could not be begun.
pub(super) async fn cannot_start(socket: &Arc<Socket>, id: i32, errno: Errno) {
    tell_change(socket, id, sac::CANT_START, Some(errno), (0, 0)).await;
}

/// An association has ended.
pub(super) async fn ended(socket: &Arc<Socket>, id: i32, errno: Option<Errno>) {
    let state = if errno.is_some() { sac::COMM_LOST } else { sac::SHUTDOWN_COMP };
    tell_change(socket, id, state, errno, (0, 0)).await;
}

/// A message was refused.
pub(super) async fn not_sent(
    socket: &Arc<Socket>,
    id: i32,
    message: (u16, u32, u32),
    errno: Errno,
) {
    let code = errno.raw_os_error().unsigned_abs();
    tell_failure(socket, id, message, (false, code)).await;
}

/// What an association tells of itself.
pub(super) async fn event(
    socket: &Arc<Socket>,
    link: &Link,
    association: &Association,
    event: &Event,
) {
    let id = link.id;
    match event {
        Event::Path { path, change } => {
            let is_hidden = *change == PathChange::PotentiallyFailed
                && !socket.state().options.tells_potentially_failed();
            if is_hidden {
                return;
            }
            let paths = association.path_stats();
            let remote = paths.iter().find(|one| one.path == *path).map(|one| one.remote);
            if let Some((remote, state)) = remote.zip(path_state(*change)) {
                tell_address(socket, (id, association.remote_port()), remote, state).await;
            }
        }
        Event::PeerAddress { address, change } => {
            let state = match change {
                AddressChange::Added => spc::ADDED,
                AddressChange::Removed => spc::REMOVED,
                AddressChange::MadePrimary => spc::MADE_PRIMARY,
                _ => return,
            };
            tell_address(socket, (id, association.remote_port()), *address, state).await;
        }
        Event::SendFailed { stream, context, transmitted }
        | Event::Abandoned { stream, context, transmitted } => {
            tell_failure(socket, id, (*stream, *context, 0), (*transmitted, 0)).await;
        }
        Event::RemoteError(cause) => {
            let code: [u8; 2] =
                cause.get(..2).and_then(|two| two.try_into().ok()).unwrap_or([0; 2]);
            let body = Building::new().bytes(&code).u16(0).i32(id).bytes(cause);
            tell(socket, kind::REMOTE_ERROR, 0, id, body).await;
        }
        Event::PeerShutdown => {
            tell(socket, kind::SHUTDOWN_EVENT, 0, id, Building::new().i32(id)).await;
        }
        Event::PartialDeliveryAborted { stream, ssn } => {
            let (stream, ssn) = (u32::from(*stream), ssn.map_or(0, u32::from));
            let body = Building::new().u32(0).i32(id).u32(stream).u32(ssn);
            tell(socket, kind::PARTIAL_DELIVERY, 0, id, body).await;
        }
        Event::AdaptationIndication(indication) => {
            tell_adaptation(socket, id, *indication).await;
        }
        Event::Authentication(change) => {
            let (key, indication) = match change {
                AuthenticationChange::PeerUsesKey(key) => (*key, 0),
                AuthenticationChange::KeyUnused(key) => (*key, 1),
                AuthenticationChange::Unsupported => (0, 2),
                _ => return,
            };
            let body = Building::new().u16(key).u16(0).u32(indication).i32(id);
            tell(socket, kind::AUTHENTICATION, 0, id, body).await;
        }
        Event::SenderDry => {
            tell(socket, kind::SENDER_DRY, 0, id, Building::new().i32(id)).await;
        }
        Event::OutgoingStreamsReset { streams } => tell_reset(socket, id, 2, streams).await,
        Event::IncomingStreamsReset { streams } => tell_reset(socket, id, 1, streams).await,
        Event::AssociationReset => {
            let body = Building::new().i32(id).u32(0).u32(0);
            tell(socket, kind::ASSOC_RESET, 0, id, body).await;
        }
        Event::StreamsAdded { outbound_streams, inbound_streams } => {
            let body = Building::new().i32(id).u16(*inbound_streams).u16(*outbound_streams);
            tell(socket, kind::STREAM_CHANGE, 0, id, body).await;
        }
        Event::ReconfigurationRefused { .. } => {
            // Denied: which request it was, the association does not say.
            tell(socket, kind::STREAM_RESET, 4, id, Building::new().i32(id)).await;
        }
        // The descriptor itself shows what can be read and written. Associations that begin and end are handled above.
        _ => {}
    }
}

fn path_state(change: PathChange) -> Option<i32> {
    Some(match change {
        PathChange::Confirmed => spc::CONFIRMED,
        PathChange::Available => spc::AVAILABLE,
        PathChange::Unreachable => spc::UNREACHABLE,
        PathChange::PotentiallyFailed => spc::POTENTIALLY_FAILED,
        PathChange::MadePrimary => spc::MADE_PRIMARY,
        _ => return None,
    })
}

/// `struct sctp_assoc_change`.
async fn tell_change(
    socket: &Arc<Socket>,
    id: i32,
    state: u16,
    errno: Option<Errno>,
    (outbound, inbound): (u16, u16),
) {
    let error = errno.map_or(0, |errno| errno.raw_os_error() as u16);
    let body = Building::new().u16(state).u16(error).u16(outbound).u16(inbound).i32(id);
    tell(socket, kind::ASSOC_CHANGE, 0, id, body).await;
}

/// `struct sctp_adaptation_event`.
async fn tell_adaptation(socket: &Arc<Socket>, id: i32, indication: u32) {
    let body = Building::new().u32(indication).i32(id);
    tell(socket, kind::ADAPTATION, 0, id, body).await;
}

/// `struct sctp_paddr_change`.
async fn tell_address(socket: &Arc<Socket>, (id, port): (i32, u16), remote: IpAddr, state: i32) {
    let peer = SocketAddr::new(remote, port);
    let stored = address::stored(peer, socket.name.is_ipv6);
    let body = Building::new().bytes(&stored).i32(state).i32(0).i32(id);
    tell(socket, kind::PEER_ADDR_CHANGE, 0, id, body).await;
}

/// `struct sctp_stream_reset_event`.
async fn tell_reset(socket: &Arc<Socket>, id: i32, flags: u16, streams: &[u16]) {
    let body = streams.iter().copied().fold(Building::new().i32(id), Building::u16);
    tell(socket, kind::STREAM_RESET, flags, id, body).await;
}

/// `struct sctp_send_failed` and `struct sctp_send_failed_event`, without the message.
async fn tell_failure(
    socket: &Arc<Socket>,
    id: i32,
    (stream, context, ppid): (u16, u32, u32),
    (was_sent, error): (bool, u32),
) {
    let (flags, ppid) = (was_sent.into(), ppid.to_be());
    let start = || Building::new().u32(error).u16(stream);
    let long = start().padded(12).u32(ppid).u32(context).u32(0).u32(0).u32(0).i32(id).i32(id);
    tell(socket, kind::SEND_FAILED, flags, id, long).await;
    let short = start().u16(0).u32(ppid).u32(context).i32(id).i32(id);
    tell(socket, kind::SEND_FAILED_EVENT, flags, id, short).await;
}

/// A notification with its head, if the program wants it.
async fn tell(socket: &Arc<Socket>, kind: u16, flags: u16, id: i32, body: Building) {
    let is_wanted = {
        let state = socket.state();
        let each = state.link(socket, id).map_or(state.options.each, |link| link.each());
        each.is_subscribed(kind)
    };
    if !is_wanted {
        return;
    }
    let length = (8 + body.0.len()) as u32;
    let whole = Building::new().u16(kind).u16(flags).u32(length).bytes(&body.0);
    socket.tell(id, &whole.0).await;
}
