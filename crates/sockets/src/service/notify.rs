//! Notifications (RFC 6458 section 6) in the layouts of Linux.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use polypath::{
    AddressChange, Association, AssociationError, AuthenticationChange, ConnectError, Event,
    PathChange,
};
use rustix::io::Errno;

use super::errors;
use super::link::{Link, Outgoing, sent};
use super::options::Each;
use super::socket::Socket;
use super::under_way::Sent;
use crate::abi::notification as kind;
use crate::address;
use crate::frame::{Head, Kind};
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

/// The socket that gets a notification, and the association that it is about.
#[derive(Clone, Copy)]
pub(super) struct Told<'a> {
    socket: &'a Arc<Socket>,
    /// Knows if it has moved to another socket.
    link: Option<&'a Link>,
    id: i32,
    each: Each,
    peer: Option<SocketAddr>,
}

impl<'a> Told<'a> {
    /// The socket of an association, which may have forgotten it.
    pub(super) fn of(socket: &'a Arc<Socket>, link: &'a Link) -> Self {
        let (id, each, peer) = (link.id, link.each(), link.peer());
        Self { socket, link: Some(link), id, each, peer }
    }

    /// A socket, of an association that there never was.
    pub(super) fn without_association(socket: &'a Arc<Socket>) -> Self {
        Self::of_former(socket, 0)
    }

    /// A socket, of an association that it had.
    pub(super) fn of_former(socket: &'a Arc<Socket>, id: i32) -> Self {
        let each = socket.state().options.each;
        Self { socket, link: None, id, each, peer: None }
    }
}

/// An association is established.
pub(super) async fn came_up(socket: &Arc<Socket>, link: &Link, association: &Association) {
    let told = Told::of(socket, link);
    let streams = association.streams();
    let streams = streams.map_or((0, 0), |all| (all.outbound, all.inbound));
    tell_change(told, sac::COMM_UP, None, streams).await;
    if let Some(indication) = association.peer_adaptation() {
        tell_adaptation(told, indication).await;
    }
    if !association.is_authenticated() {
        tell_authentication(told, AuthenticationChange::Unsupported).await;
    }
}

/// The peer has lost its state and begun anew.
pub(super) async fn restarted(socket: &Arc<Socket>, link: &Link, association: &Association) {
    let streams = association.streams();
    let streams = streams.map_or((0, 0), |all| (all.outbound, all.inbound));
    tell_change(Told::of(socket, link), sac::RESTART, None, streams).await;
}

/// An association could not be begun.
pub(super) async fn cannot_start(told: Told<'_>, error: &ConnectError) {
    let causes = match error {
        ConnectError::Ended(ended) => causes_of(ended),
        _ => None,
    };
    let errno = Some(errors::of_connect(error));
    tell_change_with(told, sac::CANT_START, errno, (0, 0), causes).await;
}

/// An association could not even be tried.
pub(super) async fn not_tried(told: Told<'_>, errno: Errno) {
    tell_change(told, sac::CANT_START, Some(errno), (0, 0)).await;
}

/// The error causes with which the peer has aborted.
fn causes_of(error: &AssociationError) -> Option<&[u8]> {
    match error {
        AssociationError::AbortedByPeer(causes) => Some(causes),
        _ => None,
    }
}

/// An association has ended.
pub(super) async fn ended(told: Told<'_>, error: Option<&AssociationError>) {
    let state = if error.is_some() { sac::COMM_LOST } else { sac::SHUTDOWN_COMP };
    let causes = error.and_then(causes_of);
    tell_change_with(told, state, error.map(errors::of_end), (0, 0), causes).await;
}

/// A message was refused.
pub(super) async fn not_sent(told: Told<'_>, sent: &Sent, errno: Errno) {
    let code = errno.raw_os_error().unsigned_abs();
    tell_failure(told, sent, (false, code)).await;
}

/// An association does not get this.
pub(super) async fn refused(told: Told<'_>, outgoing: Outgoing, errno: Errno) {
    if let Outgoing::Message { message, .. } = outgoing
        && !message.is_empty()
    {
        not_sent(told, &sent(&message), errno).await;
    }
}

/// What an association tells of itself.
pub(super) async fn event(
    socket: &Arc<Socket>,
    link: &Link,
    association: &Association,
    event: &Event,
) {
    let (told, id) = (Told::of(socket, link), link.id);
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
                tell_address(told, association.remote_port(), remote, state).await;
            }
        }
        Event::PeerAddress { address, change } => {
            let state = match change {
                AddressChange::Added => spc::ADDED,
                AddressChange::Removed => spc::REMOVED,
                AddressChange::MadePrimary => spc::MADE_PRIMARY,
                _ => return,
            };
            tell_address(told, association.remote_port(), *address, state).await;
        }
        Event::SendFailed { stream, context, transmitted }
        | Event::Abandoned { stream, context, transmitted } => {
            let sent = link.take_back(*stream, *context);
            tell_failure(told, &sent, (*transmitted, 0)).await;
        }
        Event::RemoteError(causes) => {
            for (code, content) in each_cause(causes) {
                let body = Building::new().bytes(&code).u16(0).i32(id).bytes(content);
                let bytes = body.0.len().next_multiple_of(4);
                tell(told, kind::REMOTE_ERROR, 0, body.padded(bytes)).await;
            }
        }
        Event::PeerShutdown => {
            tell(told, kind::SHUTDOWN_EVENT, 0, Building::new().i32(id)).await;
        }
        Event::PartialDeliveryAborted { stream, ssn } => {
            let (stream, ssn) = (u32::from(*stream), ssn.map_or(0, u32::from));
            let body = Building::new().u32(0).i32(id).u32(stream).u32(ssn);
            tell(told, kind::PARTIAL_DELIVERY, 0, body).await;
        }
        Event::AdaptationIndication(indication) => {
            tell_adaptation(told, *indication).await;
        }
        Event::Authentication(change) => tell_authentication(told, *change).await,
        Event::SenderDry => {
            link.settle(association);
            tell(told, kind::SENDER_DRY, 0, Building::new().i32(id)).await;
        }
        Event::OutgoingStreamsReset { streams } => tell_reset(told, 2, streams).await,
        Event::IncomingStreamsReset { streams } => tell_reset(told, 1, streams).await,
        Event::AssociationReset { local_tsn, remote_tsn } => {
            let body = Building::new().i32(id).u32(*local_tsn).u32(*remote_tsn);
            tell(told, kind::ASSOC_RESET, 0, body).await;
        }
        Event::StreamsAdded { outbound_streams, inbound_streams } => {
            let body = Building::new().i32(id).u16(*inbound_streams).u16(*outbound_streams);
            tell(told, kind::STREAM_CHANGE, 0, body).await;
        }
        Event::ReconfigurationRefused { .. } => {
            // Denied: which request it was, the association does not say.
            tell(told, kind::STREAM_RESET, 4, Building::new().i32(id)).await;
        }
        // The descriptor itself shows what can be read and written. Associations that begin and end are handled above.
        _ => {}
    }
}

/// The code of each error cause, as it is in the packet, and its content.
fn each_cause(causes: &[u8]) -> impl Iterator<Item = ([u8; 2], &[u8])> {
    let mut left = causes;
    std::iter::from_fn(move || {
        let (code, rest) = left.split_first_chunk::<2>()?;
        let length = usize::from(u16::from_be_bytes(*rest.first_chunk::<2>()?));
        let content = left.get(4..length)?;
        left = left.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((*code, content))
    })
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
async fn tell_change(told: Told<'_>, state: u16, errno: Option<Errno>, streams: (u16, u16)) {
    tell_change_with(told, state, errno, streams, None).await;
}

/// The same with the causes of the peer's ABORT, if that ended the association: as Linux has them, without the head of the chunk.
async fn tell_change_with(
    told: Told<'_>,
    state: u16,
    errno: Option<Errno>,
    (outbound, inbound): (u16, u16),
    causes: Option<&[u8]>,
) {
    let error = errno.map_or(0, |errno| errno.raw_os_error() as u16);
    let body = Building::new().u16(state).u16(error).u16(outbound).u16(inbound).i32(told.id);
    tell_with(told, kind::ASSOC_CHANGE, 0, body, causes.unwrap_or_default()).await;
}

/// `struct sctp_adaptation_event`.
async fn tell_adaptation(told: Told<'_>, indication: u32) {
    let body = Building::new().u32(indication).i32(told.id);
    tell(told, kind::ADAPTATION, 0, body).await;
}

/// `struct sctp_authkey_event`.
async fn tell_authentication(told: Told<'_>, change: AuthenticationChange) {
    let (key, indication) = match change {
        AuthenticationChange::PeerUsesKey(key) => (key, 0),
        AuthenticationChange::KeyUnused(key) => (key, 1),
        AuthenticationChange::Unsupported => (0, 2),
        _ => return,
    };
    let body = Building::new().u16(key).u16(0).u32(indication).i32(told.id);
    tell(told, kind::AUTHENTICATION, 0, body).await;
}

/// `struct sctp_paddr_change`.
async fn tell_address(told: Told<'_>, port: u16, remote: IpAddr, state: i32) {
    let peer = SocketAddr::new(remote, port);
    let stored = address::stored(peer, told.socket.name.is_ipv6);
    let body = Building::new().bytes(&stored).i32(state).i32(0).i32(told.id);
    tell(told, kind::PEER_ADDR_CHANGE, 0, body).await;
}

/// `struct sctp_stream_reset_event`.
async fn tell_reset(told: Told<'_>, flags: u16, streams: &[u16]) {
    let body = streams.iter().copied().fold(Building::new().i32(told.id), Building::u16);
    tell(told, kind::STREAM_RESET, flags, body).await;
}

/// `struct sctp_send_failed` and `struct sctp_send_failed_event`, with the message.
async fn tell_failure(told: Told<'_>, sent: &Sent, (was_sent, error): (bool, u32)) {
    let (flags, ppid, id) = (was_sent.into(), sent.ppid.to_be(), told.id);
    let Sent { stream, context, content, .. } = sent;
    let start = || Building::new().u32(error).u16(*stream);
    let long = start().u16(0).u16(sent.flags).padded(12);
    let long = long.u32(ppid).u32(*context).u32(0).u32(0).u32(0).i32(id).i32(id);
    tell_with(told, kind::SEND_FAILED, flags, long, content).await;
    let short = start().u16(sent.flags).u32(ppid).u32(*context).i32(id).i32(id);
    tell_with(told, kind::SEND_FAILED_EVENT, flags, short, content).await;
}

/// A notification with its head, if the program wants it.
async fn tell(told: Told<'_>, kind: u16, flags: u16, body: Building) {
    tell_with(told, kind, flags, body, &[]).await;
}

/// The same with what follows on the structure.
async fn tell_with(told: Told<'_>, kind: u16, flags: u16, body: Building, content: &[u8]) {
    if !told.each.is_subscribed(kind) {
        return;
    }
    let length = u32::try_from(8 + body.0.len() + content.len()).unwrap_or(u32::MAX);
    let start = Building::new().u16(kind).u16(flags).u32(length);
    let content = [&start.0[..], &body.0, content];
    // As in Linux, it comes from the peer that it is about.
    let (association, peer) = (told.id, told.peer);
    let head = Head { association, peer, ..Head::of(Kind::Notification) };
    // Fails when the program has closed the socket.
    match told.link {
        Some(link) => drop(link.deliver(told.socket, None, (head, &content)).await),
        None => drop(told.socket.deliver(head, &content, || true).await),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cause_has_its_code_and_its_content() {
        let found = |causes: &[u8]| -> Vec<(u16, Vec<u8>)> {
            let all = each_cause(causes);
            all.map(|(code, content)| (u16::from_be_bytes(code), content.to_vec())).collect()
        };
        let two = [0, 6, 0, 9, 1, 2, 3, 4, 5, 0, 0, 0, 0, 10, 0, 4];
        assert_eq!(found(&two), [(6, vec![1, 2, 3, 4, 5]), (10, vec![])]);
        assert_eq!(found(&two[..9]), [(6, vec![1, 2, 3, 4, 5])], "without the padding");
        for wrong in [&[][..], &[0, 6], &[0, 6, 0, 3], &[0, 6, 0, 5]] {
            assert!(found(wrong).is_empty(), "{wrong:?}");
        }
    }
}
