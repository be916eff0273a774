//! Options of authentication (RFC 4895; RFC 6458 sections 8.1.17 to 8.1.19, 8.2.3, 8.2.4 and 8.3): keys, and chunks that must be authenticated.

use std::net::SocketAddr;
use std::sync::Arc;

use polypath::config::{AddressReconfiguration, AuthenticatedChunks, ChunkTypes};
use polypath::{AssociationConfig, KeyError};
use rustix::io::Errno;

use super::super::socket::Socket;
use super::{FUTURE, configure, established};
use crate::abi::option;
use crate::layout::{Building, Fields};

/// Identifiers of the algorithms that are offered, the preferred one first: SHA-256 and SHA-1.
const ALGORITHMS: [u16; 2] = [3, 1];

/// `None` if the option is not one of these.
pub(super) fn set(
    socket: &Arc<Socket>,
    number: i32,
    value: Fields<'_>,
) -> Option<Result<(), Errno>> {
    Some(match number {
        option::AUTH_KEY
        | option::AUTH_ACTIVE_KEY
        | option::AUTH_DELETE_KEY
        | option::AUTH_DEACTIVATE_KEY => set_key(socket, number, value),
        option::AUTH_CHUNK => value.u8(0).ok_or(Errno::INVAL).and_then(|it| demand(socket, it)),
        option::HMAC_IDENT => check_algorithms(value),
        _ => return None,
    })
}

/// `None` if the option is not one of these.
pub(super) fn get(
    socket: &Arc<Socket>,
    number: i32,
    given: Fields<'_>,
) -> Option<Result<Vec<u8>, Errno>> {
    let id = given.i32(0).unwrap_or(FUTURE);
    let answer = match number {
        option::AUTH_ACTIVE_KEY => active_key(socket, id)
            .map(|key| Building::new().i32(id).u16(key.unwrap_or(0)).padded(8).0),
        option::HMAC_IDENT => {
            let list = Building::new().u32(ALGORITHMS.len() as u32);
            Ok(ALGORITHMS.into_iter().fold(list, Building::u16).0)
        }
        option::LOCAL_AUTH_CHUNKS | option::PEER_AUTH_CHUNKS => {
            demanded(socket, number, id).map(|types| {
                let types: Vec<_> = types.iter().collect();
                Building::new().i32(id).u32(types.len() as u32).bytes(&types).0
            })
        }
        _ => return None,
    };
    // As Linux: a list that does not fit is no list.
    let fits = |bytes: &Vec<u8>| bytes.len() <= given.0.len();
    Some(answer.and_then(|bytes| Some(bytes).filter(fits).ok_or(Errno::INVAL)))
}

/// Whether associations to come have authentication, if their peers do.
fn is_offered(config: &AssociationConfig) -> bool {
    let policies = &config.policies;
    policies.authenticated_chunks != AuthenticatedChunks::Off
        || policies.address_reconfiguration == AddressReconfiguration::Authenticated
}

fn errno_of(error: KeyError) -> Errno {
    match error {
        KeyError::Off => Errno::ACCESS,
        _ => Errno::INVAL,
    }
}

/// `struct sctp_authkey` and `struct sctp_authkeyid`.
fn set_key(socket: &Socket, number: i32, value: Fields<'_>) -> Result<(), Errno> {
    let id = value.i32(0).ok_or(Errno::INVAL)?;
    let key_number = value.u16(4).ok_or(Errno::INVAL)?;
    let key = match number {
        option::AUTH_KEY => {
            let length = usize::from(value.u16(6).ok_or(Errno::INVAL)?);
            value.rest(8).get(..length).ok_or(Errno::INVAL)?
        }
        _ => &[],
    };
    if let Ok(association) = established(socket, id) {
        return match number {
            option::AUTH_KEY => association.set_shared_key(key_number, key),
            option::AUTH_ACTIVE_KEY => association.activate_shared_key(key_number),
            option::AUTH_DEACTIVATE_KEY => association.deactivate_shared_key(key_number),
            _ => association.delete_shared_key(key_number),
        }
        .map_err(errno_of);
    }
    let mut state = socket.state();
    if !is_offered(&state.options.association) {
        return Err(Errno::ACCESS);
    }
    let mut keys = state.options.association.shared_keys.clone();
    // Key 0 is there from the beginning, and is empty; it goes with the first that takes its place.
    let mut is_null_there = state.options.flags.null_key != 0;
    if number == option::AUTH_KEY && keys.ids().next().is_none() {
        keys.set(0, &[]).map_err(errno_of)?;
        is_null_there = true;
    }
    match number {
        option::AUTH_KEY => keys.set(key_number, key),
        option::AUTH_ACTIVE_KEY => keys.activate(key_number),
        option::AUTH_DEACTIVATE_KEY => keys.deactivate(key_number),
        _ => keys.delete(key_number),
    }
    .map_err(errno_of)?;
    if key_number == 0 {
        is_null_there = false;
    } else if is_null_there && number == option::AUTH_ACTIVE_KEY {
        keys.delete(0).map_err(errno_of)?;
        is_null_there = false;
    }
    state.options.flags.null_key = is_null_there.into();
    state.options.association.shared_keys = keys;
    socket.options_changed(&state);
    Ok(())
}

/// `struct sctp_authchunk`: associations to come accept chunks of this type only if they are authenticated.
fn demand(socket: &Socket, chunk_type: u8) -> Result<(), Errno> {
    configure(socket, |config| {
        if !is_offered(config) {
            return Err(Errno::ACCESS);
        }
        let policy = &mut config.policies.authenticated_chunks;
        let types: ChunkTypes = policy.demanded().iter().chain([chunk_type]).collect();
        // Some types are never authenticated.
        if !types.contains(chunk_type) {
            return Err(Errno::INVAL);
        }
        *policy = AuthenticatedChunks::Demanded(types);
        Ok(())
    })
}

/// `struct sctp_hmacalgo`: what is offered can be named, and nothing else.
fn check_algorithms(value: Fields<'_>) -> Result<(), Errno> {
    let count = value.u32(0).ok_or(Errno::INVAL)? as usize;
    let list = value.rest(4).chunks_exact(2).take(count);
    let named: Vec<u16> = list.map(|pair| u16::from_ne_bytes([pair[0], pair[1]])).collect();
    if named.len() != count || count == 0 {
        return Err(Errno::INVAL);
    }
    if named == ALGORITHMS { Ok(()) } else { Err(Errno::OPNOTSUPP) }
}

/// The key that authenticates what an association sends, or those to come; `None` if nothing does.
fn active_key(socket: &Socket, id: i32) -> Result<Option<u16>, Errno> {
    if let Ok(association) = established(socket, id) {
        return Ok(association.active_key());
    }
    if id != FUTURE && !socket.is_one_to_one() {
        return Err(Errno::INVAL);
    }
    let config = &socket.state().options.association;
    match is_offered(config) {
        true => Ok(Some(config.shared_keys.active())),
        false => Err(Errno::ACCESS),
    }
}

/// `struct sctp_authchunks`: types that this side or the peer accepts only if they are authenticated.
fn demanded(socket: &Socket, number: i32, id: i32) -> Result<ChunkTypes, Errno> {
    let is_local = number == option::LOCAL_AUTH_CHUNKS;
    if is_local && (id == FUTURE || socket.is_one_to_one()) && established(socket, id).is_err() {
        let config = &socket.state().options.association;
        return match is_offered(config) {
            true => Ok(config.policies.authenticated_chunks.demanded()),
            false => Err(Errno::ACCESS),
        };
    }
    let [local, peer] = established(socket, id)?.demanded_chunks().ok_or(Errno::ACCESS)?;
    Ok(if is_local { local } else { peer })
}

/// Checks that messages of an association, or of the one with this peer, can be authenticated with this key.
pub(in crate::service) fn check(
    socket: &Socket,
    id: i32,
    peer: Option<SocketAddr>,
    key: i32,
) -> Result<(), Errno> {
    let of_peer = peer.and_then(|peer| socket.state().link_with(peer));
    let id = of_peer.filter(|_| id == FUTURE).map_or(id, |link| link.id);
    match active_key(socket, id) {
        // As in Linux, key 0 is active even where nothing is authenticated.
        Ok(None) | Err(Errno::ACCESS) if key == 0 => return Ok(()),
        active => active?.ok_or(Errno::INVAL)?,
    };
    let has_key = match established(socket, id) {
        Ok(association) => {
            association.shared_key_ids().iter().any(|known| i32::from(*known) == key)
        }
        Err(_) => {
            let keys = &socket.state().options.association.shared_keys;
            keys.ids().any(|known| i32::from(known) == key)
        }
    };
    if has_key { Ok(()) } else { Err(Errno::INVAL) }
}
