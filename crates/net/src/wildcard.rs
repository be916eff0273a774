//! Endpoints that follow all addresses of the host.

use std::net::IpAddr;

use polypath_proto::LocalAddressChange;

use crate::device::host_addresses;

/// The addresses that an endpoint has because of wildcards (`0.0.0.0`, `::`).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Wildcard {
    v4: bool,
    v6: bool,
    /// Addresses added for the wildcard; they are removed with their interfaces.
    brought: Vec<IpAddr>,
    /// Addresses that the program has removed.
    unwanted: Vec<IpAddr>,
}

impl Wildcard {
    /// Replaces wildcards by the host's addresses; if the system does not list them, wildcards stay.
    pub(crate) fn expand(addresses: &[IpAddr]) -> (Self, Vec<IpAddr>) {
        if !addresses.iter().any(IpAddr::is_unspecified) {
            return (Self::default(), addresses.to_vec());
        }
        match host_addresses() {
            Ok(host) => Self::expand_with(addresses, &host),
            Err(_) => (Self::default(), addresses.to_vec()),
        }
    }

    fn expand_with(addresses: &[IpAddr], host: &[IpAddr]) -> (Self, Vec<IpAddr>) {
        let is_wild =
            |v4: bool| addresses.iter().any(|it| it.is_unspecified() && it.is_ipv4() == v4);
        let mut all: Vec<_> = addresses.iter().copied().filter(|it| !it.is_unspecified()).collect();
        let mut own = Self { v4: is_wild(true), v6: is_wild(false), ..Self::default() };
        for &address in host {
            if own.covers(address) && !all.contains(&address) {
                own.brought.push(address);
                all.push(address);
            }
        }
        (own, all)
    }

    fn covers(&self, address: IpAddr) -> bool {
        if address.is_ipv4() { self.v4 } else { self.v6 }
    }

    /// The changes that an endpoint with these addresses needs to have those of the host. Additions come first, since
    /// the last address of an endpoint cannot be removed.
    pub(crate) fn changes(&self, bound: impl Fn(IpAddr) -> bool) -> Vec<LocalAddressChange> {
        if !self.v4 && !self.v6 {
            return Vec::new();
        }
        host_addresses().map(|host| self.changes_to(&host, bound)).unwrap_or_default()
    }

    fn changes_to(
        &self,
        host: &[IpAddr],
        bound: impl Fn(IpAddr) -> bool,
    ) -> Vec<LocalAddressChange> {
        let is_new = |it: &IpAddr| self.covers(*it) && !bound(*it) && !self.unwanted.contains(it);
        let is_gone = |it: &IpAddr| bound(*it) && !host.contains(it);
        let added = host.iter().copied().filter(is_new).map(LocalAddressChange::Added);
        let removed = self.brought.iter().copied().filter(is_gone);
        added.chain(removed.map(LocalAddressChange::Removed)).collect()
    }

    /// Notes one of these changes.
    pub(crate) fn on_followed(&mut self, change: LocalAddressChange) {
        match change {
            LocalAddressChange::Added(address) => self.brought.push(address),
            LocalAddressChange::Removed(address) => self.brought.retain(|it| *it != address),
        }
    }

    /// Notes a change by the program, which takes precedence from now on.
    pub(crate) fn on_wanted(&mut self, change: LocalAddressChange) {
        let (LocalAddressChange::Added(address) | LocalAddressChange::Removed(address)) = change;
        self.brought.retain(|it| *it != address);
        self.unwanted.retain(|it| *it != address);
        if matches!(change, LocalAddressChange::Removed(_)) && self.covers(address) {
            self.unwanted.push(address);
        }
    }
}

#[cfg(test)]
mod tests {
    use polypath_proto::LocalAddressChange::{Added, Removed};

    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn ips(texts: &[&str]) -> Vec<IpAddr> {
        texts.iter().map(|text| ip(text)).collect()
    }

    #[test]
    fn a_wildcard_stands_for_the_addresses_of_its_family() {
        let host = ips(&["127.0.0.1", "192.0.2.1", "::1", "2001:db8::1"]);
        for (given, expected) in [
            (&["0.0.0.0"][..], &["127.0.0.1", "192.0.2.1"][..]),
            (&["::"], &["::1", "2001:db8::1"]),
            (&["::", "0.0.0.0"], &["127.0.0.1", "192.0.2.1", "::1", "2001:db8::1"]),
            (&["192.0.2.1", "127.0.0.9", "0.0.0.0"], &["192.0.2.1", "127.0.0.9", "127.0.0.1"]),
            (&["::1"], &["::1"]),
        ] {
            let (_, addresses) = Wildcard::expand_with(&ips(given), &host);
            assert_eq!(addresses, ips(expected), "{given:?}");
        }
        assert_eq!(Wildcard::expand(&ips(&["::1"])), (Wildcard::default(), ips(&["::1"])));
    }

    #[test]
    fn addresses_follow_their_interfaces_unless_the_program_decides() {
        let host = ips(&["127.0.0.1", "192.0.2.1"]);
        let (mut own, mut bound) = Wildcard::expand_with(&ips(&["0.0.0.0"]), &host);
        let changes = |own: &Wildcard, bound: &[IpAddr], host: &[&str]| {
            own.changes_to(&ips(host), |it| bound.contains(&it))
        };
        assert_eq!(changes(&own, &bound, &["127.0.0.1", "192.0.2.1", "::1"]), []);
        // One is removed, another one added.
        let wanted = [Added(ip("192.0.2.2")), Removed(ip("192.0.2.1"))];
        assert_eq!(changes(&own, &bound, &["127.0.0.1", "192.0.2.2"]), wanted);
        wanted.into_iter().for_each(|change| own.on_followed(change));
        bound = ips(&["127.0.0.1", "192.0.2.2"]);
        assert_eq!(changes(&own, &bound, &["127.0.0.1"]), [Removed(ip("192.0.2.2"))]);
        // What the program removes stays away, and what it adds stays.
        own.on_wanted(Removed(ip("192.0.2.2")));
        own.on_wanted(Added(ip("127.0.0.9")));
        bound = ips(&["127.0.0.1", "127.0.0.9"]);
        assert_eq!(changes(&own, &bound, &["127.0.0.1", "192.0.2.2"]), []);
        own.on_wanted(Added(ip("192.0.2.2")));
        assert_eq!(changes(&own, &bound, &["127.0.0.1", "192.0.2.3"]), [Added(ip("192.0.2.3"))]);
    }
}
