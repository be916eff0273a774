//! The interfaces of this host, and faults of those with local addresses.

use std::net::IpAddr;

pub(crate) use system::places;

/// An address of an interface, and the state of the interface.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    pub(crate) interface: String,
    pub(crate) address: IpAddr,
    pub(crate) state: State,
}

/// State of an interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    Works,
    /// It is down.
    Down,
    /// It is up without a carrier: no cable or no network is connected.
    NoCarrier,
}

/// Describes those of `addresses` whose interface has no carrier; `None` if all have one.
pub(crate) fn trouble(addresses: &[IpAddr]) -> Option<String> {
    describe(addresses, &places().unwrap_or_default())
}

/// The interface that has a local address, if one has.
pub(crate) fn name_of(address: IpAddr, places: &[Place]) -> Option<&str> {
    // The loopback interface has all of 127.0.0.0/8, whichever of them it lists.
    let is_same = |place: &&Place| {
        place.address == address || place.address.is_loopback() && address.is_loopback()
    };
    places.iter().find(is_same).map(|place| place.interface.as_str())
}

/// The way of a path in words: its interface, if one has the local address, and both addresses.
pub(crate) fn way(local: IpAddr, remote: IpAddr) -> String {
    match name_of(local, &places().unwrap_or_default()) {
        Some(name) => format!("{name} {local} -> {remote}"),
        None => format!("{local} -> {remote}"),
    }
}

/// Short names of paths between these addresses, by the same rule: the interface, with addresses if several paths have it; or the local
/// address, if no interface has it.
pub(crate) fn names(paths: &[[IpAddr; 2]], places: &[Place]) -> Vec<String> {
    let name =
        |local: IpAddr| name_of(local, places).map_or_else(|| local.to_string(), str::to_owned);
    let named: Vec<_> = paths.iter().map(|[local, _]| name(*local)).collect();
    let short = |(own, [local, remote]): (&String, &[IpAddr; 2])| {
        let alike = named.iter().zip(paths).filter(|(name, _)| *name == own);
        let same_source = alike.clone().filter(|(_, path)| path[0] == *local).count();
        match (alike.count(), same_source) {
            (1, _) => own.clone(),
            (_, 1) => format!("{own} {local}"),
            _ if *own == local.to_string() => format!("{local} -> {remote}"),
            _ => format!("{own} {local} -> {remote}"),
        }
    };
    named.iter().zip(paths).map(short).collect()
}

fn describe(addresses: &[IpAddr], places: &[Place]) -> Option<String> {
    let trouble = |address: &IpAddr| {
        let mut has_it = places.iter().filter(|place| place.address == *address).peekable();
        let Some(first) = has_it.peek().copied() else {
            return Some(format!("no interface has {address} any more"));
        };
        let name = &first.interface;
        // More than one interface may have the address.
        match first.state {
            _ if has_it.any(|place| place.state == State::Works) => None,
            State::NoCarrier => {
                Some(format!("the interface {name}, which has {address}, has no carrier"))
            }
            _ => Some(format!(
                "the interface {name}, which has {address}, is down (ip link set {name} up)"
            )),
        }
    };
    let found: Vec<String> = addresses.iter().filter_map(trouble).collect();
    // Without any entry, the state is unknown.
    (!found.is_empty() && !places.is_empty()).then(|| found.join("; "))
}

#[cfg(unix)]
mod system {
    use std::io;
    use std::net::IpAddr;

    use nix::ifaddrs::getifaddrs;
    use nix::net::if_::InterfaceFlags;

    use super::{Place, State};

    /// The addresses of all interfaces, in the order of the system.
    pub(crate) fn places() -> io::Result<Vec<Place>> {
        let place = |entry: nix::ifaddrs::InterfaceAddress| {
            let address = entry.address?;
            let v4 = address.as_sockaddr_in().map(|v4| IpAddr::V4(v4.ip()));
            let v6 = || address.as_sockaddr_in6().map(|v6| IpAddr::V6(v6.ip()));
            let state = if !entry.flags.contains(InterfaceFlags::IFF_UP) {
                State::Down
            } else if entry.flags.contains(InterfaceFlags::IFF_RUNNING) {
                State::Works
            } else {
                State::NoCarrier
            };
            Some(Place { interface: entry.interface_name, address: v4.or_else(v6)?, state })
        };
        Ok(getifaddrs()?.filter_map(place).collect())
    }
}

#[cfg(not(unix))]
mod system {
    use std::io;

    use super::Place;

    pub(crate) fn places() -> io::Result<Vec<Place>> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(interface: &str, address: &str, state: State) -> Place {
        Place { interface: interface.to_owned(), address: address.parse().unwrap(), state }
    }

    #[test]
    fn paths_are_named_by_interface_and_only_as_long_as_needed() {
        let places = [
            place("lo", "127.0.0.1", State::Works),
            place("eth0", "192.0.2.1", State::Works),
            place("eth0", "192.0.2.2", State::Works),
            place("wwan0", "198.51.100.1", State::Works),
        ];
        let named = |paths: &[[&str; 2]]| {
            let ip = |text: &str| text.parse().unwrap();
            let paths: Vec<_> =
                paths.iter().map(|[local, remote]| [ip(local), ip(remote)]).collect();
            names(&paths, &places)
        };
        assert_eq!(
            named(&[["192.0.2.1", "203.0.113.1"], ["198.51.100.1", "203.0.113.1"]]),
            ["eth0", "wwan0"]
        );
        assert_eq!(
            named(&[["127.0.0.1", "127.0.0.1"], ["127.0.0.2", "127.0.0.2"]]),
            ["lo 127.0.0.1", "lo 127.0.0.2"]
        );
        assert_eq!(
            named(&[["192.0.2.1", "203.0.113.1"], ["192.0.2.1", "203.0.113.2"]]),
            ["eth0 192.0.2.1 -> 203.0.113.1", "eth0 192.0.2.1 -> 203.0.113.2"]
        );
        // An interface that is gone, with its address.
        assert_eq!(named(&[["10.0.0.1", "203.0.113.1"]]), ["10.0.0.1"]);
        assert_eq!(
            named(&[["10.0.0.1", "203.0.113.1"], ["10.0.0.1", "203.0.113.2"]]),
            ["10.0.0.1 -> 203.0.113.1", "10.0.0.1 -> 203.0.113.2"]
        );
    }

    #[test]
    fn the_interface_that_is_down_is_named() {
        let places = [
            place("eth0", "192.0.2.1", State::Works),
            place("wwan0", "198.51.100.1", State::Down),
            place("eth1", "203.0.113.1", State::NoCarrier),
            place("old", "192.0.2.7", State::Down),
            place("new", "192.0.2.7", State::Works),
        ];
        let told = |addresses: &[&str]| {
            let addresses: Vec<_> = addresses.iter().map(|text| text.parse().unwrap()).collect();
            describe(&addresses, &places)
        };
        assert_eq!(told(&["192.0.2.1", "192.0.2.7"]), None);
        let both = told(&["192.0.2.1", "198.51.100.1", "203.0.113.1"]).unwrap();
        assert!(both.contains("wwan0, which has 198.51.100.1, is down"), "{both}");
        assert!(both.contains("eth1, which has 203.0.113.1, has no carrier"), "{both}");
        assert!(!both.contains("eth0"), "{both}");
        assert!(told(&["192.0.2.9"]).unwrap().contains("no interface has 192.0.2.9"));
        assert_eq!(describe(&["192.0.2.9".parse().unwrap()], &[]), None, "nothing is known");
    }

    #[cfg(unix)]
    #[test]
    fn nothing_is_wrong_with_loopback() {
        assert_eq!(trouble(&[IpAddr::from([127, 0, 0, 1])]), None);
    }
}
