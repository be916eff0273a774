//! Options of the socket itself: notifications, defaults for messages, addresses.

use std::net::SocketAddr;
use std::sync::Arc;

use rustix::io::Errno;

use super::super::socket::Socket;
use super::{
    EXPOSE_ENABLE, FUTURE, answer_value, assoc_value, association, configure, established,
};
use crate::abi::option;
use crate::address;
use crate::init::InitMessage;
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
        option::I_WANT_MAPPED_V4_ADDR => match int() {
            // Addresses of IPv4 come mapped to sockets of IPv6, and not otherwise.
            Ok(0) if socket.name.is_ipv6 => Err(Errno::OPNOTSUPP),
            other => other.map(|on| socket.state().options.flags.mapped_v4 = on),
        },
        option::FRAGMENT_INTERLEAVE => match int() {
            Ok(level @ 0..=2) => {
                socket.state().options.flags.fragment_interleave = level;
                match level {
                    0 => association::switch(socket, option::INTERLEAVING_SUPPORTED, false),
                    _ => Ok(()),
                }
            }
            _ => Err(Errno::INVAL),
        },
        // Sockets with all addresses follow those that come and go; others do not.
        option::AUTO_ASCONF => {
            int().and_then(|on| match (on != 0, socket.state().bound_addresses().is_empty()) {
                (true, true) | (false, false) => Ok(()),
                (true, false) => Err(Errno::INVAL),
                (false, true) => Err(Errno::OPNOTSUPP),
            })
        }
        option::REUSE_PORT => int().map(|on| socket.state().options.flags.reuse_port = on),
        option::EXPOSE_POTENTIALLY_FAILED_STATE => assoc_value(value).and_then(|(id, how)| {
            super::only_future(socket, id, Errno::OPNOTSUPP)?;
            let how = i32::try_from(how).ok().filter(|how| *how <= EXPOSE_ENABLE);
            socket.state().options.flags.expose_pf = how.ok_or(Errno::INVAL)?;
            Ok(())
        }),
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
            let init = InitMessage {
                outbound_streams: config.outbound_streams,
                inbound_streams: config.max_inbound_streams,
                attempts: u16::try_from(config.max_init_retransmits).unwrap_or(u16::MAX),
                max_timeout_ms: options.max_init_timeout_ms,
            };
            Ok(init.encoded())
        }
        option::ADAPTATION_LAYER => {
            int(options.association.adaptation_layer.unwrap_or(0).cast_signed())
        }
        option::RECVRCVINFO => int(options.gives_rcvinfo.into()),
        option::RECVNXTINFO => int(options.gives_nxtinfo.into()),
        option::I_WANT_MAPPED_V4_ADDR => int(options.flags.mapped_v4),
        option::FRAGMENT_INTERLEAVE => int(options.flags.fragment_interleave),
        option::AUTO_ASCONF => int(state.bound_addresses().is_empty().into()),
        option::REUSE_PORT => int(options.flags.reuse_port),
        option::EXPOSE_POTENTIALLY_FAILED_STATE => {
            Ok(answer_value(given, options.flags.expose_pf.cast_unsigned()))
        }
        option::REMOTE_UDP_ENCAPS_PORT => {
            let port = options.encapsulation_port.unwrap_or(0);
            let peer = given.0.get(..136).unwrap_or(given.0);
            Ok(Building::new().bytes(peer).padded(136).bytes(&port.to_be_bytes()).padded(144).0)
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

/// `struct sctp_initmsg`; 0 leaves a value as it is.
fn set_initmsg(socket: &Socket, value: Fields<'_>) -> Result<(), Errno> {
    let init = InitMessage::read(value, 0).ok_or(Errno::INVAL)?;
    let mut state = socket.state();
    let changed = state.options.clone().with_init(init)?;
    state.options = changed;
    socket.options_changed(&state);
    Ok(())
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
                Some(association) => association.local_addresses(),
                None => socket.local_addresses(&state),
            };
            ips.into_iter().map(|ip| SocketAddr::new(ip, port)).collect()
        }
    };
    let list = Building::new().i32(id).u32(all.len() as u32);
    let is_ipv6 = socket.name.is_ipv6;
    Ok(all.into_iter().fold(list, |list, one| list.bytes(&address::written(one, is_ipv6))).0)
}
