//! Which address pairs become paths.

use core::net::IpAddr;

use smallvec::SmallVec;

use crate::config::{PathPairing, SourceRoute};
use crate::types::PeerAddress;
use crate::types::address_scope::{Scope, scope};

/// The pairs that become paths, the most important first.
type Pairs = SmallVec<[(IpAddr, PeerAddress); 4]>;

/// Pairs of a local and a remote address of the same family and scope, in order of preference, each pair once.
pub(crate) fn pairs(
    pairing: PathPairing,
    routes: &[SourceRoute],
    local: &[IpAddr],
    remote: &[PeerAddress],
) -> Pairs {
    let mut all = Pairs::new();
    let kinds =
        || local.iter().copied().chain(remote.iter().map(|r| r.address)).map(AddressKind::of);
    if kinds().all(|kind| Some(kind) == kinds().next()) {
        add_pairs(&mut all, pairing, routes, local, remote);
        return all;
    }
    for kind in KINDS {
        let local: SmallVec<[IpAddr; 4]> =
            local.iter().copied().filter(|a| AddressKind::of(*a) == kind).collect();
        let remote: SmallVec<[PeerAddress; 4]> =
            remote.iter().copied().filter(|r| AddressKind::of(r.address) == kind).collect();
        add_pairs(&mut all, pairing, routes, &local, &remote);
    }
    all
}

/// What two addresses have in common that packets go between: a link-local address and one of the world do not reach each
/// other, nor do two families.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct AddressKind {
    is_ipv4: bool,
    scope: Scope,
}

/// All of them, those that reach furthest first.
const KINDS: [AddressKind; 6] = [
    AddressKind { is_ipv4: true, scope: Scope::Network },
    AddressKind { is_ipv4: false, scope: Scope::Network },
    AddressKind { is_ipv4: true, scope: Scope::Link },
    AddressKind { is_ipv4: false, scope: Scope::Link },
    AddressKind { is_ipv4: true, scope: Scope::Host },
    AddressKind { is_ipv4: false, scope: Scope::Host },
];

impl AddressKind {
    fn of(address: IpAddr) -> Self {
        Self { is_ipv4: address.is_ipv4(), scope: scope(address) }
    }
}

/// Adds the pairs of addresses that are all of one kind.
fn add_pairs(
    all: &mut Pairs,
    pairing: PathPairing,
    routes: &[SourceRoute],
    local: &[IpAddr],
    remote: &[PeerAddress],
) {
    let (Some(&last_local), Some(&last_remote)) = (local.last(), remote.last()) else { return };
    let count = local.len().max(remote.len());
    match pairing {
        PathPairing::ByIndex => {
            for i in 0..count {
                let pair =
                    (*local.get(i).unwrap_or(&last_local), *remote.get(i).unwrap_or(&last_remote));
                push(all, pair);
            }
        }
        PathPairing::ByRoute => {
            for (i, &r) in remote.iter().enumerate() {
                let route = routes.iter().find(|route| route.remote == r.address);
                let routed = route.map(|route| route.local).filter(|l| local.contains(l));
                let by_index = || *local.get(i).unwrap_or(&last_local);
                push(all, (routed.unwrap_or_else(by_index), r));
            }
        }
        // Diagonal by diagonal, so that a limit on paths cuts pairs and not addresses.
        PathPairing::FullMesh => {
            for (shift, i) in (0..count).flat_map(|shift| (0..count).map(move |i| (shift, i))) {
                if let (Some(&l), Some(&r)) = (local.get(i), remote.get((i + shift) % remote.len()))
                {
                    push(all, (l, r));
                }
                if let (Some(&l), Some(&r)) = (local.get((i + shift) % local.len()), remote.get(i))
                {
                    push(all, (l, r));
                }
            }
        }
        PathPairing::Rfc9260 => {
            for (i, &r) in remote.iter().enumerate() {
                push(all, (*local.get(i).unwrap_or(&local[0]), r));
            }
        }
    }
}

fn push(all: &mut Pairs, pair: (IpAddr, PeerAddress)) {
    if !all.iter().any(|(l, r)| *l == pair.0 && r.address == pair.1.address) {
        all.push(pair);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Encapsulation;
    use std::vec::Vec;

    fn addresses(last_octets: &[u8]) -> Vec<IpAddr> {
        last_octets.iter().map(|&o| IpAddr::from([10, 0, 0, o])).collect()
    }

    fn run(pairing: PathPairing, local: &[u8], remote: &[u8]) -> Vec<(u8, u8)> {
        let remote: Vec<PeerAddress> = addresses(remote)
            .into_iter()
            .map(|address| PeerAddress { address, encapsulation: Encapsulation::None })
            .collect();
        let octet = |address: IpAddr| match address {
            IpAddr::V4(v4) => v4.octets()[3],
            IpAddr::V6(_) => 0,
        };
        pairs(pairing, &[], &addresses(local), &remote)
            .into_iter()
            .map(|(l, r)| (octet(l), octet(r.address)))
            .collect()
    }

    #[test]
    fn every_address_is_used() {
        assert_eq!(run(PathPairing::ByIndex, &[1, 2], &[11, 12]), [(1, 11), (2, 12)]);
        assert_eq!(run(PathPairing::ByIndex, &[1, 2], &[11]), [(1, 11), (2, 11)]);
        assert_eq!(run(PathPairing::ByIndex, &[1], &[11, 12, 13]), [(1, 11), (1, 12), (1, 13)]);
        assert_eq!(
            run(PathPairing::FullMesh, &[1, 2], &[11, 12]),
            [(1, 11), (2, 12), (1, 12), (2, 11)]
        );
        let mesh = run(PathPairing::FullMesh, &[1, 2, 3, 4], &[11, 12, 13, 14]);
        assert_eq!(mesh.len(), 16);
        assert_eq!(
            mesh[..4],
            [(1, 11), (2, 12), (3, 13), (4, 14)],
            "every address before any second use"
        );
        let wide = run(PathPairing::FullMesh, &[1, 2], &[11, 12, 13]);
        assert_eq!(wide.len(), 6);
        assert_eq!(wide[..3], [(1, 11), (2, 12), (1, 13)]);
        assert_eq!(run(PathPairing::Rfc9260, &[1, 2, 3], &[11, 12]), [(1, 11), (2, 12)]);
        assert_eq!(run(PathPairing::Rfc9260, &[1], &[11, 12]), [(1, 11), (1, 12)]);
    }

    #[test]
    fn routes_decide_where_the_system_knows_them() {
        let (local, remote) = (addresses(&[1, 2, 3]), addresses(&[11, 12, 13]));
        let route = |r: usize, l: usize| SourceRoute { remote: remote[r], local: local[l] };
        let gone = SourceRoute { remote: remote[2], local: addresses(&[9])[0] };
        let peer: Vec<PeerAddress> = remote
            .iter()
            .map(|&address| PeerAddress { address, encapsulation: Encapsulation::None })
            .collect();
        for (routes, expected) in [
            (&[][..], [0, 1, 2]),
            (&[route(0, 2), route(1, 0), route(2, 0)], [2, 0, 0]),
            (&[route(1, 0)], [0, 0, 2]),
            (&[gone], [0, 1, 2]),
        ] {
            let all = pairs(PathPairing::ByRoute, routes, &local, &peer);
            let got: Vec<_> = all.iter().map(|(l, r)| (*l, r.address)).collect();
            let expected: Vec<_> =
                expected.iter().zip(&remote).map(|(&l, &r)| (local[l], r)).collect();
            assert_eq!(got, expected, "{routes:?}");
        }
    }

    #[test]
    fn families_do_not_mix() {
        let local = [IpAddr::from([10, 0, 0, 1]), "fd00::1".parse().unwrap()];
        let remote = [PeerAddress {
            address: "fd00::2".parse().unwrap(),
            encapsulation: Encapsulation::None,
        }];
        let all = pairs(PathPairing::ByIndex, &[], &local, &remote);
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].0, local[1]);
    }

    #[test]
    fn link_local_addresses_reach_those_of_the_link() {
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        let peer =
            |address| PeerAddress { address: ip(address), encapsulation: Encapsulation::None };
        let local = ["fe80::1", "fd00::1", "10.0.0.1", "169.254.0.1"].map(ip);
        let remote = ["fd00::2", "169.254.0.2", "fe80::2"].map(peer);
        for pairing in [PathPairing::ByIndex, PathPairing::ByRoute, PathPairing::FullMesh] {
            let all = pairs(pairing, &[], &local, &remote);
            let all: Vec<_> = all.iter().map(|(l, r)| (*l, r.address)).collect();
            let expected =
                [("fd00::1", "fd00::2"), ("169.254.0.1", "169.254.0.2"), ("fe80::1", "fe80::2")];
            assert_eq!(all, expected.map(|(l, r)| (ip(l), ip(r))), "{pairing:?}");
        }
    }
}
