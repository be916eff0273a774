//! Where this host's routes towards a peer begin.

use std::net::IpAddr;

use anyhow::anyhow;
use polypath::source_address;

use crate::failure::Failure;

/// The local address towards each of the peer's, each once. Fails if no address of the peer can be reached.
pub(crate) fn towards(peer: &[IpAddr]) -> Result<Vec<IpAddr>, Failure> {
    let mut local = Vec::new();
    let mut unreachable = None;
    for address in peer {
        match source_address(*address) {
            Ok(source) if !local.contains(&source) => local.push(source),
            Ok(_) => {}
            Err(error) => {
                unreachable = Some(anyhow!(
                    "no route to {address}: is the interface up that leads there, and has it an address of that family? \
                     ({error})"
                ));
            }
        }
    }
    match unreachable {
        Some(error) if local.is_empty() => Err(Failure::CannotConnect(error)),
        _ => Ok(local),
    }
}
