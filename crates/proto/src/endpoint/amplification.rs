//! Limits the size of the answer to an INIT (RFC 9260 section 5.1 B; RFC 5062 section 5, bombing attack 4).
//!
//! The source address of an INIT may be forged. Counted in bytes of IP packets, an INIT ACK is at most [`FACTOR`] times
//! as large as the INIT. A larger one lists fewer of our addresses, and none to a peer without extensions.

use core::net::IpAddr;

use crate::Encapsulation;
use crate::types::AddressList;

/// Maximum size of the INIT ACK, as a multiple of the INIT.
const FACTOR: usize = 3;

/// Bytes of the headers below SCTP.
fn headers(remote: IpAddr, carried: Encapsulation) -> usize {
    let ip = if remote.is_ipv4() { 20 } else { 40 };
    match carried {
        Encapsulation::None => ip,
        Encapsulation::Udp { .. } => ip + 8,
        // What is below belongs to one peer, whose address was proved.
        Encapsulation::LowerLayer => 0,
    }
}

/// Most bytes of SCTP in the answer to an INIT whose packet has `init` bytes of SCTP.
pub(super) fn most_answer_bytes(init: usize, remote: IpAddr, carried: Encapsulation) -> usize {
    if carried == Encapsulation::LowerLayer {
        return usize::MAX;
    }
    let headers = headers(remote, carried);
    (init + headers) * FACTOR - headers
}

/// The address `first`, and as many of the others, in their order, as take no more than `room` bytes as parameters. If
/// not even two fit, only `first`, which is not listed then: it is the source of the packet.
pub(super) fn first_that_fit(all: &[IpAddr], first: IpAddr, room: usize) -> AddressList {
    let mut list = AddressList::from_slice(&[first]);
    let mut taken = parameter_bytes(first);
    for address in all.iter().copied().filter(|address| *address != first) {
        taken += parameter_bytes(address);
        if taken > room {
            break;
        }
        list.push(address);
    }
    list
}

/// Bytes of an address as a parameter (RFC 9260 sections 3.3.2.1.1 and 3.3.2.1.2).
fn parameter_bytes(address: IpAddr) -> usize {
    if address.is_ipv4() { 8 } else { 20 }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;
    use core::net::{Ipv4Addr, Ipv6Addr};

    use super::*;

    const UDP: Encapsulation = Encapsulation::Udp { local_port: 9899, remote_port: 9899 };

    #[test]
    fn the_headers_count_on_both_sides() {
        let (v4, v6) = (Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into());
        for (init, remote, carried, most) in [
            (32, v4, UDP, 152),
            (32, v4, Encapsulation::None, 136),
            (32, v6, UDP, 192),
            (32, v6, Encapsulation::None, 176),
            (100, v4, UDP, 356),
            (32, v4, Encapsulation::LowerLayer, usize::MAX),
        ] {
            assert_eq!(most_answer_bytes(init, remote, carried), most, "{init} {carried:?}");
        }
    }

    #[test]
    fn as_many_addresses_as_fit_are_listed() {
        let ip = |last| IpAddr::from([192, 0, 2, last]);
        let all: Vec<_> = (1..=32).map(ip).collect();
        for (room, expected) in [(0, 1), (15, 1), (16, 2), (23, 2), (24, 3), (255, 31), (256, 32)] {
            let list = first_that_fit(&all, ip(7), room);
            assert_eq!((list[0], list.len()), (ip(7), expected), "{room}");
        }
    }
}
