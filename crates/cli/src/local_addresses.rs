//! Source addresses of this host's routes to a peer.

use anyhow::{Error, anyhow};
use polypath::source_address;

use crate::failure::Failure;
use crate::interfaces;
use crate::zoned::{self, Zoned};

/// The source address for each address of the peer, without duplicates. Fails if no address of the peer is reachable.
pub(crate) fn towards(peer: &[Zoned]) -> Result<Vec<Zoned>, Failure> {
    let mut local = Vec::new();
    let mut unreachable = None;
    for remote in peer {
        match source(remote) {
            Ok(source) if !local.contains(&source) => local.push(source),
            Ok(_) => {}
            Err(error) => unreachable = Some(error),
        }
    }
    match unreachable {
        Some(error) if local.is_empty() => Err(Failure::CannotConnect(error)),
        _ => Ok(local),
    }
}

/// Checks the addresses of a peer before connecting.
pub(crate) fn check_peer(peer: &[Zoned]) -> Result<(), Failure> {
    match peer.iter().find(|remote| remote.device.is_some() != remote.is_link_local()) {
        Some(Zoned { address, device: Some(device) }) => Err(Failure::usage(anyhow!(
            "{address}%{device}: an interface is named with local addresses, and with link-local ones of the peer"
        ))),
        Some(Zoned { address, device: None }) => {
            Err(Failure::Usage(zoned::without_interface(*address)))
        }
        None => Ok(()),
    }
}

fn source(remote: &Zoned) -> Result<Zoned, Error> {
    let address = remote.address;
    if !remote.is_link_local() {
        return source_address(address).map(Zoned::from).map_err(|error| {
            anyhow!(
                "no route to {address}: is the interface up that leads there, and has it an address of that family? \
                 ({error})"
            )
        });
    }
    let device = remote.device.as_ref().ok_or_else(|| zoned::without_interface(address))?;
    let places = interfaces::places().unwrap_or_default();
    places
        .into_iter()
        .filter(|place| place.interface == *device)
        .map(|place| Zoned { address: place.address, device: Some(device.clone()) })
        .find(Zoned::is_link_local)
        .ok_or_else(|| {
            anyhow!("no interface {device} has a link-local IPv6 address (`ip address` shows them)")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zoned(text: &str) -> Zoned {
        text.parse().unwrap()
    }

    #[test]
    fn interfaces_of_peers_matter_at_the_link_only() {
        assert!(check_peer(&[zoned("192.0.2.1"), zoned("fe80::1%eth0")]).is_ok());
        assert!(check_peer(&[zoned("192.0.2.1%eth0")]).is_err());
        let without = check_peer(&[zoned("192.0.2.1"), zoned("fe80::1")]).unwrap_err();
        assert!(matches!(&without, Failure::Usage(_)), "{without:?}");
        assert!(without.to_string().contains("as in fe80::1%eth0"), "{without}");
    }

    #[test]
    fn link_local_peers_are_reached_from_their_interface() {
        let told = |text: &str| source(&zoned(text)).unwrap_err().to_string();
        assert!(told("fe80::1").contains("fe80::1%eth0"));
        assert!(told("fe80::1%none-such").contains("none-such"));
        assert_eq!(
            towards(&[zoned("127.0.0.1"), zoned("127.0.0.1")]).unwrap(),
            [zoned("127.0.0.1")]
        );
    }
}
