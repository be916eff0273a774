//! Interfaces, their addresses, and IPv6.

use std::io;
use std::net::{IpAddr, Ipv6Addr, UdpSocket};

use super::{Check, Finding};
use crate::interfaces::{self, State};

/// An interface, with what matters to associations.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Interface {
    name: String,
    addresses: Vec<IpAddr>,
    mtu_bytes: Option<u32>,
}

pub(super) fn examine() -> Finding {
    match present() {
        Ok(interfaces) => judge(&interfaces),
        Err(error) => Finding::warn(
            Check::Interfaces,
            format!("the system does not tell its interfaces: {error}"),
            "name the addresses yourself: --from, --listen",
        ),
    }
}

fn judge(interfaces: &[Interface]) -> Finding {
    let useful: Vec<_> =
        interfaces.iter().filter(|interface| interface.addresses.iter().any(is_useful)).collect();
    let told: Vec<_> = useful.iter().map(|interface| tell(interface)).collect();
    match useful.len() {
        0 => Finding::warn(
            Check::Interfaces,
            "no interface but loopback is up with an address: peers are on this machine only",
            "bring one up: ip link set NAME up, ip address add ADDRESS dev NAME",
        ),
        1 => Finding::ok(
            Check::Interfaces,
            format!("{}; several paths need a second one, here or at the peer", told[0]),
        ),
        _ => Finding::ok(Check::Interfaces, told.join("; ")),
    }
}

fn tell(interface: &Interface) -> String {
    let useful = interface.addresses.iter().filter(|address| is_useful(address));
    let addresses: Vec<_> = useful.map(ToString::to_string).collect();
    let mtu = interface.mtu_bytes.map_or_else(String::new, |mtu| format!(" (MTU {mtu})"));
    format!("{} {}{mtu}", interface.name, addresses.join(", "))
}

/// Whether an endpoint can bind it and other hosts can reach it.
fn is_useful(address: &IpAddr) -> bool {
    let link_local = matches!(address, IpAddr::V6(v6) if v6.is_unicast_link_local());
    !(address.is_loopback() || link_local)
}

pub(super) fn examine_ipv6() -> Finding {
    let interfaces = present().unwrap_or_default();
    let addresses: Vec<_> =
        interfaces.into_iter().flat_map(|interface| interface.addresses).collect();
    judge_ipv6(UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).map(drop), &addresses)
}

fn judge_ipv6(bound: io::Result<()>, addresses: &[IpAddr]) -> Finding {
    let check = Check::Ipv6;
    match bound {
        Err(error) => Finding::warn(
            check,
            format!("no IPv6 socket can be bound: {error}"),
            "sysctl -w net.ipv6.conf.all.disable_ipv6=0 net.ipv6.conf.lo.disable_ipv6=0",
        ),
        Ok(()) if addresses.iter().any(|address| address.is_ipv6() && is_useful(address)) => {
            Finding::ok(check, "IPv6 works, and an interface has an IPv6 address")
        }
        Ok(()) => Finding::warn(
            check,
            "IPv6 works on this machine, but no interface has an address that peers could reach",
            "ask your network for IPv6, or use IPv4",
        ),
    }
}

/// The interfaces that are up, in the order of the system.
fn present() -> io::Result<Vec<Interface>> {
    let mut found: Vec<Interface> = Vec::new();
    for place in interfaces::places()?.into_iter().filter(|place| place.state != State::Down) {
        match found.iter_mut().find(|interface| interface.name == place.interface) {
            Some(interface) => interface.addresses.push(place.address),
            None => {
                let mtu_bytes = mtu_of(&place.interface);
                let (name, addresses) = (place.interface, vec![place.address]);
                found.push(Interface { name, addresses, mtu_bytes });
            }
        }
    }
    Ok(found)
}

/// As Linux reports it.
fn mtu_of(name: &str) -> Option<u32> {
    let text = std::fs::read_to_string(format!("/sys/class/net/{name}/mtu")).ok()?;
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::*;

    fn interface(name: &str, addresses: &[&str], mtu_bytes: Option<u32>) -> Interface {
        let addresses = addresses.iter().map(|address| address.parse().unwrap()).collect();
        Interface { name: name.to_owned(), addresses, mtu_bytes }
    }

    #[test]
    fn interfaces_count_that_peers_can_reach() {
        let lo = interface("lo", &["127.0.0.1", "::1"], Some(65_536));
        let silent = interface("wlan0", &["fe80::1"], None);
        let one = interface("eth0", &["192.0.2.1", "fe80::2", "2001:db8::1"], Some(1500));
        let two = interface("wwan0", &["198.51.100.1"], None);
        let none = judge(&[lo.clone(), silent.clone()]);
        assert_eq!(none.verdict, Verdict::Warn);
        let single = judge(&[lo.clone(), silent, one.clone()]);
        assert_eq!(single.verdict, Verdict::Ok);
        assert!(
            single.found.starts_with("eth0 192.0.2.1, 2001:db8::1 (MTU 1500);"),
            "{}",
            single.found
        );
        let both = judge(&[lo, one, two]);
        assert_eq!(both.found, "eth0 192.0.2.1, 2001:db8::1 (MTU 1500); wwan0 198.51.100.1");
    }

    #[test]
    fn ipv6_needs_sockets_and_an_address() {
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        for (bound, addresses, verdict) in [
            (Ok(()), &["192.0.2.1", "2001:db8::1"][..], Verdict::Ok),
            (Ok(()), &["192.0.2.1", "::1", "fe80::1"], Verdict::Warn),
            (Err(io::ErrorKind::AddrNotAvailable.into()), &["2001:db8::1"], Verdict::Warn),
        ] {
            let addresses: Vec<_> = addresses.iter().map(|text| address(text)).collect();
            assert_eq!(judge_ipv6(bound, &addresses).verdict, verdict, "{addresses:?}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn the_system_tells_the_loopback_interface() {
        let interfaces = present().unwrap();
        let loopback = |interface: &Interface| interface.addresses.iter().any(IpAddr::is_loopback);
        assert!(interfaces.iter().any(loopback), "{interfaces:?}");
    }
}
