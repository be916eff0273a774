//! Sending: from messages of the program to frames.

use std::mem::size_of;
use std::net::SocketAddr;

use libc::{c_int, cmsghdr, iovec, msghdr};
use polypath_sockets::abi::{IPPROTO_SCTP, SOL_SOCKET, ancillary, flag, socket_option};
use polypath_sockets::address;
use polypath_sockets::control::{Abort, Operation, outlook};
use polypath_sockets::frame::{Head, Kind, MAX_MESSAGE_BYTES, MAX_PIECE_BYTES, wanted};
use polypath_sockets::init::InitMessage;
use polypath_sockets::layout::Fields;

use crate::client;
use crate::connecting;
use crate::errors;
use crate::facts;
use crate::fault::{Fault, Outcome};
use crate::frames::{send_frame, send_large};
use crate::memory;
use crate::peers;
use crate::table::Sctp;

/// Messages of so many bytes fit into a packet of any path, so that the service is not asked about them. Where `SCTP_MAXSEG` is less, they
/// come back (`SCTP_SEND_FAILED`).
const LEAST_LIMIT: usize = 128;

/// Flags of a call that mean the same to the descriptor.
pub(crate) const PASSED_FLAGS: c_int = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;

/// What a program says of a message.
#[derive(Clone, Debug)]
pub(crate) struct Letter {
    pub(crate) head: Head,
    /// Further addresses of the peer, where the association begins with the message.
    pub(crate) others: Vec<SocketAddr>,
}

impl Letter {
    /// A message without ancillary data.
    pub(crate) fn plain() -> Self {
        Self::from(Head { wanted: wanted::DEFAULTS | wanted::DEFAULT_PR, ..Head::of(Kind::Data) })
    }

    /// All addresses of the peer.
    pub(crate) fn peers(&self) -> Vec<SocketAddr> {
        self.head.peer.into_iter().chain(self.others.iter().copied()).collect()
    }
}

impl From<Head> for Letter {
    fn from(head: Head) -> Self {
        Self { head, others: Vec::new() }
    }
}

/// Sends the parts of a message; gives their bytes.
pub(crate) fn send(socket: Sctp, letter: &Letter, parts: &[iovec], flags: c_int) -> Outcome<usize> {
    socket.ensure_known()?;
    let head = &letter.head;
    let bytes: usize = parts.iter().map(|part| part.iov_len).sum();
    if bytes == 0 && head.flags & (flag::EOF | flag::ABORT) == 0 {
        return Err(Fault(libc::EINVAL));
    }
    if socket.is_one_to_one() {
        ensure_taken(socket, letter)?;
    }
    if !socket.is_one_to_one()
        && head.peer.is_none()
        && head.association == 0
        && head.flags & flag::SENDALL == 0
    {
        return Err(Fault(libc::EPIPE));
    }
    if !socket.is_one_to_one() && head.peer.is_none() && head.flags & flag::SENDALL == 0 {
        ensure_association(socket, head.association)?;
    }
    let may_begin = !socket.is_one_to_one() && head.association == 0;
    let ends = head.flags & (flag::EOF | flag::ABORT) != 0;
    let begins = match head.peer.filter(|_| may_begin && !ends) {
        Some(peer) => introduce(socket, letter, peer)?,
        None => false,
    };
    if let Some(key) = head.key {
        let peer = client::packed(head.peer.as_slice());
        client::ask(Operation::CheckKey, socket, (head.association, key.into()), &peer)?;
    }
    if head.flags & flag::ABORT != 0 {
        abort(socket, head, parts)?;
        return Ok(bytes);
    }
    if bytes > LEAST_LIMIT && facts::may_be_unfragmented(socket) {
        ensure_size(socket, head, bytes)?;
    }
    let flags = flags & PASSED_FLAGS;
    if bytes <= MAX_PIECE_BYTES {
        send_frame(socket.fd, head, parts, flags)?;
    } else if bytes > send_buffer(socket)? {
        return Err(Fault(libc::EMSGSIZE));
    } else {
        send_large(socket.fd, head, parts, flags)?;
    }
    if begins && flags & libc::MSG_DONTWAIT == 0 {
        connecting::wait(socket);
    }
    if head.flags & flag::EOF != 0 {
        peers::forget_association(socket.id, head.association);
    }
    Ok(bytes)
}

/// A one-to-one socket takes messages as long as its association does not end; one that has none begins it. As in Linux, the error that has ended it is
/// told first.
fn ensure_taken(socket: Sctp, letter: &Letter) -> Outcome<()> {
    if socket.is_write_shut() || facts::refuses(socket) || facts::is_listening(socket) {
        return Err(errors::take_or(socket, libc::EPIPE));
    }
    match connecting::ensure_connected(socket, &letter.peers(), letter.head.init) {
        // The association may have ended since.
        Err(Fault(libc::EPIPE)) => Err(errors::take_or(socket, libc::EPIPE)),
        other => other,
    }
}

/// Begins an association with the peer, unless there is one; whether it begins. This is asked once, as long as the socket loses none.
fn introduce(socket: Sctp, letter: &Letter, peer: SocketAddr) -> Outcome<bool> {
    let ended = facts::ended(socket);
    let is_known = |ended| peers::knows(socket.id, ended, peer);
    if letter.others.is_empty() && ended.is_some_and(is_known) {
        return Ok(false);
    }
    let begins = connecting::introduce(socket, &letter.peers(), letter.head.init)?;
    if let Some(ended) = ended {
        peers::note(socket.id, ended, peer);
    }
    Ok(begins)
}

/// A message that must fit into a packet does.
fn ensure_size(socket: Sctp, head: &Head, bytes: usize) -> Outcome<()> {
    let peer = client::packed(head.peer.as_slice());
    let size = c_int::try_from(bytes).unwrap_or(c_int::MAX);
    match client::ask(Operation::CheckSize, socket, (head.association, size), &peer) {
        // Who may not ask hears of it by `SCTP_SEND_FAILED`.
        Err(fault) if fault == Fault(libc::EMSGSIZE) => Err(fault),
        _ => Ok(()),
    }
}

/// A message goes to an association only if the socket has it; this is asked once, as long as the socket loses none. A program that may not ask, because it has given up
/// rights or has no descriptor left, sends without an answer.
fn ensure_association(socket: Sctp, association: c_int) -> Outcome<()> {
    let ended = facts::ended(socket);
    if ended.is_some_and(|ended| peers::knows_association(socket.id, ended, association)) {
        return Ok(());
    }
    match client::ask(Operation::Outlook, socket, (0, association), &[]).map(|reply| reply.value) {
        Ok(outlook::OPEN) => {
            if let Some(ended) = ended {
                peers::note_association(socket.id, ended, association);
            }
        }
        Ok(_) => return Err(Fault(libc::EPIPE)),
        Err(_) => {}
    }
    Ok(())
}

impl Letter {
    /// A one-to-one socket is ended by `close` and `shutdown`, and not with a message (RFC 6458 section 5.3.4). As in Linux, that does
    /// not hold for an association that was peeled off.
    pub(crate) fn ensure_fits(&self, socket: Sctp) -> Outcome<()> {
        let ends = self.head.flags & (flag::EOF | flag::ABORT) != 0;
        if ends && socket.is_one_to_one() && !socket.is_peeled_off() {
            Err(Fault(libc::EINVAL))
        } else {
            Ok(())
        }
    }
}

/// Ends an association at once, and not behind the messages that wait: what it says is for the peer.
fn abort(socket: Sctp, head: &Head, parts: &[iovec]) -> Outcome<()> {
    /// Most bytes of a reason: it has to fit into a packet.
    const MOST: usize = 8192;
    let mut reason = Vec::new();
    for part in parts {
        let count = part.iov_len.min(MOST - reason.len());
        reason.extend(memory::copy_in(part.iov_base, count)?);
    }
    let all = head.flags & flag::SENDALL != 0;
    let bytes = Abort { peer: head.peer, reason }.encoded();
    client::ask(Operation::Abort, socket, (head.association, all.into()), &bytes).map(drop)
}

/// Bytes of messages that may wait to be sent.
fn send_buffer(socket: Sctp) -> Outcome<usize> {
    let option = (SOL_SOCKET, socket_option::SNDBUF);
    let reply = client::ask(Operation::GetOption, socket, option, &[])?;
    // It is said twice as large as it is.
    let doubled = Fields(&reply.bytes).i32(0).ok_or(Fault(libc::EPROTO))?;
    Ok(usize::try_from(doubled).unwrap_or(0).div_ceil(2).min(MAX_MESSAGE_BYTES as usize))
}

/// Most bytes of ancillary data.
const MAX_CONTROL_BYTES: usize = 64 * 1024;

/// What a program's `struct msghdr` says of the message that is to be sent.
pub(crate) fn letter_of(message: &msghdr, flags: c_int) -> Outcome<Letter> {
    let mut letter = Letter::plain();
    letter.head.peer = address_at(message.msg_name.cast(), message.msg_namelen)?;
    if flags & libc::MSG_FIN != 0 {
        letter.head.flags |= flag::EOF;
    }
    if message.msg_control.is_null() || message.msg_controllen < size_of::<cmsghdr>() {
        return Ok(letter);
    } else if message.msg_controllen > MAX_CONTROL_BYTES {
        return Err(Fault(libc::ENOBUFS));
    }
    read_control(&mut letter, &memory::copy_in(message.msg_control, message.msg_controllen)?)?;
    Ok(letter)
}

/// Takes the items of ancillary data into the letter: each a `struct cmsghdr` with what follows, up to the next that is aligned.
fn read_control(letter: &mut Letter, mut control: &[u8]) -> Outcome<()> {
    while let Some(header) = control.get(..size_of::<cmsghdr>()).map(Fields) {
        let wrong = Fault(libc::EINVAL);
        let length = usize::try_from(header.u64(0).ok_or(wrong)?).map_err(|_| wrong)?;
        let data = control.get(size_of::<cmsghdr>()..length).ok_or(wrong)?;
        let (level, kind) = header.i32(8).zip(header.i32(12)).ok_or(wrong)?;
        if level == IPPROTO_SCTP {
            read_ancillary(letter, kind, Fields(data))?;
        }
        control = control.get(length.next_multiple_of(size_of::<usize>())..).unwrap_or_default();
    }
    Ok(())
}

/// Whether all flags of a message are defined; Linux refuses others.
pub(crate) fn are_known(flags: &u16) -> bool {
    const KNOWN: u16 = flag::UNORDERED
        | flag::ADDR_OVER
        | flag::ABORT
        | flag::SACK_IMMEDIATELY
        | flag::SENDALL
        | flag::EOF
        | flag::PR_MASK;
    flags & !KNOWN == 0
}

/// Takes an item of ancillary data into the letter.
pub(crate) fn read_ancillary(letter: &mut Letter, kind: c_int, item: Fields<'_>) -> Outcome<()> {
    let wrong = Fault(libc::EINVAL);
    let head = &mut letter.head;
    match kind {
        ancillary::INIT => head.init = InitMessage::read(item, 0).ok_or(wrong)?,
        ancillary::AUTHINFO => head.key = Some(item.u16(0).ok_or(wrong)?),
        ancillary::SNDRCV => {
            head.wanted &= !(wanted::DEFAULTS | wanted::DEFAULT_PR);
            head.stream = item.u16(0).ok_or(wrong)?;
            let flags = item.u16(4).filter(are_known).ok_or(wrong)?;
            head.ppid = item.u32(8).ok_or(wrong)?;
            head.context = item.u32(12).ok_or(wrong)?;
            head.value = item.u32(16).ok_or(wrong)?;
            head.association = item.i32(28).ok_or(wrong)?;
            head.flags |= flags & !flag::PR_MASK;
            head.pr_policy = match flags & flag::PR_MASK {
                0 if head.value > 0 => flag::PR_TTL,
                policy => policy,
            };
        }
        ancillary::SNDINFO => {
            head.wanted &= !wanted::DEFAULTS;
            head.stream = item.u16(0).ok_or(wrong)?;
            head.flags |= item.u16(2).filter(are_known).ok_or(wrong)? & !flag::PR_MASK;
            head.ppid = item.u32(4).ok_or(wrong)?;
            head.context = item.u32(8).ok_or(wrong)?;
            head.association = item.i32(12).ok_or(wrong)?;
        }
        ancillary::PRINFO => {
            head.wanted &= !wanted::DEFAULT_PR;
            head.pr_policy = item.u16(0).ok_or(wrong)?;
            head.value = item.u32(4).ok_or(wrong)?;
            if head.pr_policy & !flag::PR_MASK != 0 {
                return Err(wrong);
            }
        }
        ancillary::DSTADDRV4 => {
            let ip = std::net::Ipv4Addr::from(item.bytes::<4>(0).ok_or(wrong)?);
            // The port is that of the first address. Without one, the association exists, and has its addresses.
            letter.others.extend(head.peer.map(|peer| SocketAddr::new(ip.into(), peer.port())));
        }
        ancillary::DSTADDRV6 => {
            let ip = std::net::Ipv6Addr::from(item.bytes::<16>(0).ok_or(wrong)?);
            letter.others.extend(head.peer.map(|peer| SocketAddr::new(ip.into(), peer.port())));
        }
        _ => return Err(wrong),
    }
    Ok(())
}

/// The address that a program hands over; `None` if it hands over none.
pub(crate) fn address_at(
    address: *const libc::sockaddr,
    length: libc::socklen_t,
) -> Outcome<Option<SocketAddr>> {
    if address.is_null() || length == 0 {
        return Ok(None);
    }
    if length as usize > address::STORAGE_BYTES {
        return Err(Fault(libc::EINVAL));
    }
    let bytes = memory::copy_in(address.cast(), length as usize)?;
    // Linux requires the whole structure, including its padding.
    let whole = address::read(&bytes).filter(|(_, size)| *size <= bytes.len());
    let (address, _) = whole.ok_or(Fault(libc::EINVAL))?;
    Ok(Some(address))
}
