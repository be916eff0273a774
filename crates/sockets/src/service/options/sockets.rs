//! Options of the socket itself: notifications, defaults for messages, addresses.

use std::net::SocketAddr;
use std::sync::Arc;

use rustix::io::Errno;

use super::super::socket::Socket;
use super::{DefaultSend, FUTURE, answer_value, assoc_value, configure, established};
use crate::abi::{flag, notification, option};
use crate::address;
use crate::layout::{Building, Fields};

/// `None` if the option is not one of these.
pub(super) fn set(
    socket: &Arc<Socket>,
    number: i32,
    value: Fields<'_>,
) -> Option<Result<(), Errno>> {
    let int = || value.i32(0).ok_or(Errno::INVAL);
    Some(match number {
        option::SOCKOPT_BINDX_ADD => {
            addresses(value).and_then(|addresses| socket.bind_more(&addresses))
        }
        option::SOCKOPT_BINDX_REM => {
            addresses(value).and_then(|addresses| socket.bind_fewer(&addresses))
        }
        option::INITMSG => set_initmsg(socket, value),
        option::EVENTS => subscribe_all(socket, value),
        option::EVENT => subscribe(socket, value),
        option::DEFAULT_SEND_PARAM | option::DEFAULT_SNDINFO | option::DEFAULT_PRINFO => {
            set_default_send(socket, number, value)
        }
        option::CONTEXT => assoc_value(value).map(|(_, context)| {
            let mut state = socket.state();
            state.options.receive_context = context;
            socket.options_changed(&state);
        }),
        option::ADAPTATION_LAYER => value.u32(0).ok_or(Errno::INVAL).and_then(|indication| {
            configure(socket, |config| {
                config.adaptation_layer = Some(indication);
                Ok(())
            })
        }),
        option::RECVRCVINFO | option::RECVNXTINFO => int().map(|on| {
            let mut state = socket.state();
            match number {
                option::RECVRCVINFO => state.options.gives_rcvinfo = on != 0,
                _ => state.options.gives_nxtinfo = on != 0,
            }
            socket.options_changed(&state);
        }),
        // Data is sent as soon as it may be; there is no Nagle to switch off.
        option::NODELAY => int().map(|on| socket.state().options.flags.nodelay = on),
        option::I_WANT_MAPPED_V4_ADDR => match int() {
            // Addresses of IPv4 come mapped to sockets of IPv6, and not otherwise.
            Ok(0) if socket.name.is_ipv6 => Err(Errno::OPNOTSUPP),
            other => other.map(|on| socket.state().options.flags.mapped_v4 = on),
        },
        option::FRAGMENT_INTERLEAVE => match int() {
            Ok(level @ 0..=2) => {
                socket.state().options.flags.fragment_interleave = level;
                Ok(())
            }
            _ => Err(Errno::INVAL),
        },
        option::REUSE_PORT => int().map(|on| socket.state().options.flags.reuse_port = on),
        option::EXPOSE_POTENTIALLY_FAILED_STATE => {
            assoc_value(value).map(|(_, on)| socket.state().options.flags.expose_pf = on as i32)
        }
        option::REMOTE_UDP_ENCAPS_PORT => {
            // struct sctp_udpencaps: the port in network order, behind an address that is aligned.
            let port = value.bytes::<2>(136).map(u16::from_be_bytes).ok_or(Errno::INVAL);
            port.map(|port| socket.state().options.encapsulation_port = (port != 0).then_some(port))
        }
        _ => return None,
    })
}

/// `None` if the option is not one of these.
pub(super) fn get(
    socket: &Arc<Socket>,
    number: i32,
    given: Fields<'_>,
) -> Option<Result<Vec<u8>, Errno>> {
    let int = |value: i32| Ok(Building::new().i32(value).0);
    let id = given.i32(0).unwrap_or(FUTURE);
    if let option::GET_PEER_ADDRS | option::GET_LOCAL_ADDRS = number {
        return Some(listed(socket, number, id));
    }
    let state = socket.state();
    let options = &state.options;
    Some(match number {
        option::INITMSG => {
            let config = &options.association;
            Ok(Building::new()
                .u16(config.outbound_streams)
                .u16(config.max_inbound_streams)
                .u16(u16::try_from(config.max_init_retransmits).unwrap_or(u16::MAX))
                .u16(options.max_init_timeout_ms)
                .0)
        }
        option::EVENTS => {
            let kinds = notification::DATA_IO..notification::DATA_IO + notification::COUNT;
            Ok(kinds.map(|kind| options.is_subscribed(kind).into()).collect())
        }
        option::EVENT => match given.u16(4) {
            Some(kind) if is_kind(kind) => Ok(Building::new()
                .i32(id)
                .u16(kind)
                .u8(options.is_subscribed(kind).into())
                .padded(8)
                .0),
            _ => Err(Errno::INVAL),
        },
        option::DEFAULT_SEND_PARAM | option::DEFAULT_SNDINFO | option::DEFAULT_PRINFO => {
            Ok(default_send(number, id, &options.default_send))
        }
        option::CONTEXT => Ok(answer_value(given, options.receive_context)),
        option::ADAPTATION_LAYER => {
            int(options.association.adaptation_layer.unwrap_or(0).cast_signed())
        }
        option::RECVRCVINFO => int(options.gives_rcvinfo.into()),
        option::RECVNXTINFO => int(options.gives_nxtinfo.into()),
        option::NODELAY => int(options.flags.nodelay),
        option::I_WANT_MAPPED_V4_ADDR => int(options.flags.mapped_v4),
        option::FRAGMENT_INTERLEAVE => int(options.flags.fragment_interleave),
        option::REUSE_PORT => int(options.flags.reuse_port),
        option::EXPOSE_POTENTIALLY_FAILED_STATE => {
            Ok(answer_value(given, options.flags.expose_pf.cast_unsigned()))
        }
        option::REMOTE_UDP_ENCAPS_PORT => {
            let port = options.encapsulation_port.unwrap_or(0);
            Ok(Building::new().bytes(given.0).padded(136).bytes(&port.to_be_bytes()).padded(144).0)
        }
        option::GET_ASSOC_NUMBER => int(state.links().count() as i32),
        option::GET_ASSOC_ID_LIST => {
            let ids: Vec<_> = state.links().map(|link| link.id).collect();
            let list = Building::new().u32(ids.len() as u32);
            Ok(ids.into_iter().fold(list, Building::i32).0)
        }
        _ => return None,
    })
}

fn is_kind(kind: u16) -> bool {
    (notification::DATA_IO..notification::DATA_IO + notification::COUNT).contains(&kind)
}

/// `struct sctp_initmsg`; 0 leaves a value as it is.
fn set_initmsg(socket: &Socket, value: Fields<'_>) -> Result<(), Errno> {
    let at = |offset| value.u16(offset).ok_or(Errno::INVAL);
    let (outbound, inbound, attempts, timeout) = (at(0)?, at(2)?, at(4)?, at(6)?);
    configure(socket, |config| {
        if outbound > 0 {
            config.outbound_streams = outbound;
        }
        if inbound > 0 {
            config.max_inbound_streams = inbound;
        }
        if attempts > 0 {
            config.max_init_retransmits = attempts.into();
        }
        Ok(())
    })?;
    if timeout > 0 {
        socket.state().options.max_init_timeout_ms = timeout;
    }
    Ok(())
}

/// `struct sctp_event_subscribe`: a byte for each kind, of which older programs know fewer.
fn subscribe_all(socket: &Socket, value: Fields<'_>) -> Result<(), Errno> {
    if value.0.is_empty() || value.0.len() > usize::from(notification::COUNT) {
        return Err(Errno::INVAL);
    }
    let mut state = socket.state();
    for (kind, on) in (notification::DATA_IO..).zip(value.0) {
        state.options.subscribe(kind, *on != 0);
    }
    socket.options_changed(&state);
    Ok(())
}

/// `struct sctp_event`.
fn subscribe(socket: &Socket, value: Fields<'_>) -> Result<(), Errno> {
    let kind = value.u16(4).filter(|kind| is_kind(*kind)).ok_or(Errno::INVAL)?;
    let on = value.u8(6).ok_or(Errno::INVAL)?;
    let mut state = socket.state();
    state.options.subscribe(kind, on != 0);
    socket.options_changed(&state);
    Ok(())
}

/// `struct sctp_sndrcvinfo`, `struct sctp_sndinfo` or `struct sctp_default_prinfo`.
fn set_default_send(socket: &Socket, number: i32, value: Fields<'_>) -> Result<(), Errno> {
    let mut state = socket.state();
    let send = &mut state.options.default_send;
    let missing = Errno::INVAL;
    match number {
        option::DEFAULT_SEND_PARAM => {
            send.stream = value.u16(0).ok_or(missing)?;
            let flags = value.u16(4).ok_or(missing)?;
            send.ppid = value.u32(8).ok_or(missing)?;
            send.context = value.u32(12).ok_or(missing)?;
            send.pr_value = value.u32(16).ok_or(missing)?;
            send.pr_policy = match flags & flag::PR_MASK {
                0 if send.pr_value > 0 => flag::PR_TTL,
                policy => policy,
            };
            send.flags = flags & !flag::PR_MASK;
        }
        option::DEFAULT_SNDINFO => {
            send.stream = value.u16(0).ok_or(missing)?;
            send.flags = value.u16(2).ok_or(missing)? & !flag::PR_MASK;
            send.ppid = value.u32(4).ok_or(missing)?;
            send.context = value.u32(8).ok_or(missing)?;
        }
        _ => {
            send.pr_value = value.u32(4).ok_or(missing)?;
            send.pr_policy = value.u16(8).ok_or(missing)? & flag::PR_MASK;
        }
    }
    Ok(())
}

fn default_send(number: i32, id: i32, send: &DefaultSend) -> Vec<u8> {
    let built = Building::new();
    match number {
        option::DEFAULT_SEND_PARAM => built
            .u16(send.stream)
            .u16(0)
            .u16(send.flags | send.pr_policy)
            .padded(8)
            .u32(send.ppid)
            .u32(send.context)
            .u32(send.pr_value)
            .u32(0)
            .u32(0)
            .i32(id),
        option::DEFAULT_SNDINFO => {
            built.u16(send.stream).u16(send.flags).u32(send.ppid).u32(send.context).i32(id)
        }
        _ => built.i32(id).u32(send.pr_value).u16(send.pr_policy).padded(12),
    }
    .0
}

fn addresses(value: Fields<'_>) -> Result<Vec<SocketAddr>, Errno> {
    address::read_all(value.0).filter(|all| !all.is_empty()).ok_or(Errno::INVAL)
}

/// `struct sctp_getaddrs`.
fn listed(socket: &Arc<Socket>, number: i32, id: i32) -> Result<Vec<u8>, Errno> {
    let all: Vec<SocketAddr> = match number {
        option::GET_PEER_ADDRS => {
            let association = established(socket, id)?;
            let port = association.remote_port();
            let ips = association.remote_addresses();
            ips.into_iter().map(|ip| SocketAddr::new(ip, port)).collect()
        }
        _ => {
            let state = socket.state();
            let port = Socket::local_port(&state);
            let ips = match state.link(socket, id).as_ref().and_then(|link| link.association()) {
                Some(association) => {
                    let mut ips: Vec<_> =
                        association.path_stats().into_iter().map(|path| path.local).collect();
                    ips.sort_unstable();
                    ips.dedup();
                    ips
                }
                None => socket.local_addresses(&state),
            };
            ips.into_iter().map(|ip| SocketAddr::new(ip, port)).collect()
        }
    };
    let list = Building::new().i32(id).u32(all.len() as u32);
    let is_ipv6 = socket.name.is_ipv6;
    Ok(all.into_iter().fold(list, |list, one| list.bytes(&address::written(one, is_ipv6))).0)
}
