//! Options of level `SOL_SOCKET`. Time limits and the like are those of the descriptor itself, and never get here.

use polypath::AssociationOptions;
use rustix::io::Errno;

use super::super::socket::Socket;
use super::{ALL, change, current};
use crate::abi::{IPPROTO_SCTP, socket_option};
use crate::address;
use crate::layout::{Building, Fields};
use crate::names::Style;

/// Least send buffer, as in Linux.
const MIN_SEND_BYTES: u32 = 2304;
/// Least receive buffer (RFC 9260 section 3.3.2).
const MIN_RECEIVE_BYTES: u32 = 1500;

/// `SOCK_STREAM`.
const STREAM: i32 = 1;
/// `SOCK_SEQPACKET`.
const SEQPACKET: i32 = 5;

pub(super) fn set(socket: &Socket, number: i32, value: Fields<'_>) -> Result<(), Errno> {
    let int = value.i32(0).ok_or(Errno::INVAL);
    if let socket_option::SNDBUF | socket_option::RCVBUF = number {
        return set_buffer(socket, number, int?);
    }
    let mut state = socket.state();
    let options = &mut state.options;
    match number {
        socket_option::LINGER => {
            let seconds = value.i32(4).ok_or(Errno::INVAL)?;
            options.linger = (int? != 0).then_some(seconds.max(0));
        }
        socket_option::REUSEADDR => options.flags.reuse_address = int?,
        socket_option::REUSEPORT => options.flags.reuse_port = int?,
        socket_option::KEEPALIVE => options.flags.keep_alive = int?,
        _ => return Err(Errno::NOPROTOOPT),
    }
    Ok(())
}

/// `SO_SNDBUF` and `SO_RCVBUF`. The receive buffer of an association that lives only grows, since its peer may use what it was told is there.
fn set_buffer(socket: &Socket, number: i32, bytes: i32) -> Result<(), Errno> {
    let least = if number == socket_option::SNDBUF { MIN_SEND_BYTES } else { MIN_RECEIVE_BYTES };
    let bytes = u32::try_from(bytes).unwrap_or(0).max(least);
    if number == socket_option::SNDBUF {
        let send_buffer_bytes = Some(bytes.into());
        let options = AssociationOptions { send_buffer_bytes, ..AssociationOptions::default() };
        return change(socket, ALL, &options);
    }
    let mut state = socket.state();
    let larger =
        AssociationOptions { receive_buffer_bytes: Some(bytes), ..AssociationOptions::default() };
    for association in state.links().filter_map(|link| link.association()) {
        if association.options().receive_buffer_bytes.is_some_and(|now| bytes > now) {
            association.set_options(&larger).map_err(|_| Errno::INVAL)?;
        }
    }
    let config = &mut state.options.association;
    config.receive_buffer_bytes = bytes;
    // It would be no point within the buffer.
    config.partial_delivery_point = config.partial_delivery_point.map(|point| point.min(bytes));
    socket.options_changed(&state);
    Ok(())
}

pub(super) fn get(socket: &Socket, number: i32) -> Result<Vec<u8>, Errno> {
    let int = match number {
        socket_option::ERROR => socket.take_error(),
        socket_option::TYPE => match socket.name.style {
            Style::OneToOne => STREAM,
            // As in Linux, also for a single association that was peeled off.
            Style::OneToMany | Style::PeeledOff => SEQPACKET,
        },
        socket_option::DOMAIN => match socket.name.is_ipv6 {
            true => address::INET6.into(),
            false => address::INET.into(),
        },
        socket_option::PROTOCOL => IPPROTO_SCTP,
        socket_option::ACCEPTCONN => socket.is_listening().into(),
        // As Linux, twice of what was set: half of it counts for what the system keeps beside the data.
        socket_option::SNDBUF | socket_option::RCVBUF => {
            let bytes = match number {
                socket_option::SNDBUF => current(socket, 0)?.send_buffer_bytes.unwrap_or(0),
                // What was set last, also where associations that live keep a larger one.
                _ => socket.state().options.association.receive_buffer_bytes.into(),
            };
            i32::try_from(bytes.saturating_mul(2)).unwrap_or(i32::MAX)
        }
        _ => {
            let state = socket.state();
            let options = &state.options;
            match number {
                socket_option::LINGER => {
                    let (on, seconds) = options.linger.map_or((0, 0), |seconds| (1, seconds));
                    return Ok(Building::new().i32(on).i32(seconds).0);
                }
                socket_option::REUSEADDR => options.flags.reuse_address,
                socket_option::REUSEPORT => options.flags.reuse_port,
                socket_option::KEEPALIVE => options.flags.keep_alive,
                _ => return Err(Errno::NOPROTOOPT),
            }
        }
    };
    Ok(Building::new().i32(int).0)
}
