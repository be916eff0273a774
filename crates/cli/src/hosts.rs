//! Hosts as they are written: addresses, and names that the system resolves.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use anyhow::{Context, Result};
use polypath::source_address;
use tokio::net::lookup_host;

use crate::failure::Failure;
use crate::zoned::{NotZoned, Zoned};

/// An address or a name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Host {
    Address(Zoned),
    Name(String),
}

impl Host {
    /// The address, if one was written.
    pub(crate) fn address(&self) -> Option<IpAddr> {
        match self {
            Self::Address(zoned) => Some(zoned.address),
            Self::Name(_) => None,
        }
    }
}

impl FromStr for Host {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse::<Zoned>() {
            Ok(address) => Ok(Self::Address(address)),
            Err(_) if is_name(text) => Ok(Self::Name(text.to_owned())),
            Err(NotZoned::Address(wrong)) => Err(format!(
                "{wrong:?} is neither an IP address nor a host name{}",
                why_no_address(&wrong).unwrap_or_default()
            )),
            Err(reason) => Err(reason.to_string()),
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => address.fmt(f),
            Self::Name(name) => f.write_str(name),
        }
    }
}

/// Whether a text can be the name of a host. If its last part is a number, it is an incomplete IPv4 address.
fn is_name(text: &str) -> bool {
    let name = text.strip_suffix('.').unwrap_or(text);
    let last = name.rsplit('.').next().unwrap_or_default();
    text.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'))
        && last.chars().any(|c| !c.is_ascii_digit())
}

/// What is wrong with numbers and dots that are no IPv4 address, as the end of a sentence.
fn why_no_address(text: &str) -> Option<String> {
    let parts: Vec<&str> = text.split('.').collect();
    let is_number = |part: &&str| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit());
    if !parts.iter().all(is_number) {
        return None;
    }
    let large = parts.iter().find(|part| part.parse::<u8>().is_err());
    Some(match (parts.len(), large) {
        (4, Some(part)) => format!(": {part} is larger than 255"),
        (4, None) => ": a number of an IPv4 address does not begin with 0".to_owned(),
        (count, _) => format!(": an IPv4 address has four numbers, and this has {count}"),
    })
}

/// All hosts, separated by commas.
pub(crate) fn list(hosts: &[Host]) -> String {
    hosts.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

/// The addresses of all hosts that `accepts` allows: those that were written, and of each name all to which a route leads.
pub(crate) async fn resolve(
    hosts: &[Host],
    accepts: impl Fn(&IpAddr) -> bool,
) -> Result<Vec<Zoned>, Failure> {
    let mut addresses: Vec<Zoned> = Vec::new();
    for host in hosts {
        let found = match host {
            Host::Address(address) => vec![address.clone()],
            Host::Name(name) => look_up(name, &accepts).await.map_err(Failure::CannotConnect)?,
        };
        for address in found {
            if !addresses.contains(&address) {
                addresses.push(address);
            }
        }
    }
    Ok(addresses)
}

/// The addresses of a name to which a route leads; if there are none, the first one, whose error explains it.
async fn look_up(name: &str, accepts: impl Fn(&IpAddr) -> bool) -> Result<Vec<Zoned>> {
    let found = lookup_host((name, 0)).await.with_context(|| format!("cannot resolve {name:?}"))?;
    let found: Vec<_> = found.map(|socket| socket.ip()).filter(accepts).collect();
    let first =
        *found.first().with_context(|| format!("{name:?} has no address of that family"))?;
    let mut reachable: Vec<_> =
        found.into_iter().filter(|address| source_address(*address).is_ok()).collect();
    if reachable.is_empty() {
        reachable.push(first);
    }
    Ok(reachable.into_iter().map(Zoned::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_addresses_are_told_apart() {
        for name in ["localhost", "server.example.net", "server.example.net.", "a-1", "1.a"] {
            assert_eq!(name.parse(), Ok(Host::Name(name.to_owned())));
        }
        for address in ["192.0.2.1", "2001:db8::1", "fe80::1%eth0"] {
            let host: Host = address.parse().unwrap();
            assert!(matches!(host, Host::Address(_)), "{address}");
            assert_eq!(host.to_string(), address);
        }
        for (text, reason) in [
            ("192.0.2", "an IPv4 address has four numbers, and this has 3"),
            ("999.1.2.3", "neither an IP address nor a host name: 999 is larger than 255"),
            ("1.2.3.04", "does not begin with 0"),
            ("192.0.2.1:9899", "port"),
            ("server.example.net:9899", "port"),
            ("server%eth0", "\"server\" is neither an IP address nor a host name"),
            ("a/b", "neither an IP address nor a host name"),
            ("", "an address is missing"),
        ] {
            let error = text.parse::<Host>().unwrap_err();
            assert!(error.contains(reason), "{text}: {error}");
            // Those of this host are no help.
            assert!(!error.contains("`ip address`"), "{text}: {error}");
        }
    }

    #[tokio::test]
    async fn a_name_stands_for_its_addresses_and_duplicates_count_once() {
        let hosts = ["127.0.0.1", "localhost", "127.0.0.1"].map(|host| host.parse().unwrap());
        let found = resolve(&hosts, IpAddr::is_ipv4).await.unwrap();
        assert_eq!(found, [Zoned::from(IpAddr::from([127, 0, 0, 1]))]);
        let none = resolve(&hosts[1..2], |_| false).await.unwrap_err();
        assert!(matches!(&none, Failure::CannotConnect(_)), "{none:?}");
        assert!(none.to_string().contains("no address of that family"), "{none}");
    }
}
