//! Usable addresses, and the scope in which they are valid.

use core::net::IpAddr;

/// Scope of an address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Scope {
    /// Loopback: this host.
    Host,
    /// Link-local: one link.
    Link,
    /// Everything else. Private addresses count here: path verification finds out whether a peer can reach them.
    Network,
}

/// Whether `address` names one interface, so that packets may be sent to it.
///
/// Directed broadcast addresses cannot be recognised without the netmask.
pub(crate) fn is_unicast(address: IpAddr) -> bool {
    match address {
        // 0.0.0.0/8 is "this network", 224.0.0.0/4 multicast, 240.0.0.0/4 reserved and limited broadcast.
        IpAddr::V4(address) => (1..224).contains(&address.octets()[0]),
        // RFC 9260 section 3.3.2.1.2: IPv4-mapped addresses must not be used.
        IpAddr::V6(address) => {
            !address.is_unspecified()
                && !address.is_multicast()
                && address.to_ipv4_mapped().is_none()
        }
    }
}

/// Whether `address` of a host is valid for a peer that communicates with the host at `seen_at`.
///
/// A loopback address is valid on the host only, and a link-local one only on its link.
pub(crate) fn is_meaningful(address: IpAddr, seen_at: IpAddr) -> bool {
    is_unicast(address) && scope(address) >= scope(seen_at)
}

/// Whether an address is private (RFC 1918, RFC 6598, RFC 4193), so that many hosts may have it.
pub(crate) fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            let [first, second, ..] = address.octets();
            address.is_private() || first == 100 && second & 0xC0 == 64
        }
        IpAddr::V6(address) => address.is_unique_local(),
    }
}

/// Whether the addresses of two hosts are valid for each other.
pub(crate) fn reaches(local: IpAddr, remote: IpAddr) -> bool {
    is_meaningful(local, remote) && is_meaningful(remote, local)
}

/// Whether a packet from `source` was sent by this very host.
pub(crate) fn is_this_host(source: IpAddr, local: &[IpAddr]) -> bool {
    scope(source) == Scope::Host || local.contains(&source)
}

/// The scope of an address.
pub(crate) fn scope(address: IpAddr) -> Scope {
    let (loopback, link_local) = match address {
        IpAddr::V4(address) => (address.is_loopback(), address.is_link_local()),
        IpAddr::V6(address) => (address.is_loopback(), address.is_unicast_link_local()),
    };
    match (loopback, link_local) {
        (true, _) => Scope::Host,
        (_, true) => Scope::Link,
        _ => Scope::Network,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn unicast_addresses() {
        for text in [
            "10.0.0.1",
            "127.0.0.1",
            "169.254.1.1",
            "223.255.255.255",
            "::1",
            "fe80::1",
            "2001:db8::1",
        ] {
            assert!(is_unicast(ip(text)), "{text}");
        }
        for text in [
            "0.0.0.0",
            "0.1.2.3",
            "224.0.0.1",
            "239.1.1.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "ff02::1",
            "::ffff:10.0.0.1",
        ] {
            assert!(!is_unicast(ip(text)), "{text}");
        }
    }

    #[test]
    fn private_addresses() {
        for (text, expected) in [
            ("10.1.2.3", true),
            ("172.31.0.1", true),
            ("172.32.0.1", false),
            ("192.168.7.7", true),
            ("100.64.0.1", true),
            ("100.127.255.1", true),
            ("100.128.0.1", false),
            ("192.0.2.1", false),
            ("fd00::1", true),
            ("2001:db8::1", false),
        ] {
            assert_eq!(is_private(ip(text)), expected, "{text}");
        }
    }

    #[test]
    fn addresses_are_told_only_where_they_mean_something() {
        let table = [
            ("127.0.0.1", "127.0.0.2", true),
            ("127.0.0.1", "10.0.0.1", false),
            ("::1", "2001:db8::1", false),
            ("::1", "fe80::2", false),
            ("169.254.0.1", "10.0.0.1", false),
            ("fe80::1", "2001:db8::1", false),
            ("fe80::1", "fe80::2", true),
            ("10.0.0.1", "127.0.0.1", true),
            ("10.0.0.1", "192.0.2.1", true),
            ("2001:db8::1", "fe80::2", true),
            ("224.0.0.1", "127.0.0.1", false),
        ];
        for (address, seen_at, expected) in table {
            assert_eq!(is_meaningful(ip(address), ip(seen_at)), expected, "{address} at {seen_at}");
        }
    }
}
