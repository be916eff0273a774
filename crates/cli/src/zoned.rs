//! Addresses with an interface, in the form `10.1.0.2%wwan0`, `fe80::1%eth0` (RFC 4007 section 11).

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use anyhow::{Error, anyhow};
use polypath::{Endpoint, EndpointBuilder};

/// Longest name of an interface in bytes (`IFNAMSIZ` of Linux, without its end).
const LONGEST_NAME: usize = 15;

/// An address, and the interface to which it is bound or local.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Zoned {
    pub(crate) address: IpAddr,
    pub(crate) device: Option<String>,
}

impl Zoned {
    /// Whether the address is unique only together with its interface.
    pub(crate) fn is_link_local(&self) -> bool {
        matches!(self.address, IpAddr::V6(v6) if v6.is_unicast_link_local())
    }
}

impl From<IpAddr> for Zoned {
    fn from(address: IpAddr) -> Self {
        Self { address, device: None }
    }
}

/// Why a text is not an address with or without an interface.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum NotZoned {
    /// What should be the address is none.
    Address(String),
    Missing,
    Port(String),
    NoInterface,
    Interface(String),
}

impl fmt::Display for NotZoned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(text) => {
                write!(f, "{text:?} is not an IP address (`ip address` shows those of this host)")
            }
            Self::Missing => f.write_str("an address is missing, before or behind a comma"),
            Self::Port(text) => write!(
                f,
                "{text:?} has a port: --port names the SCTP port, and --encapsulation-port the UDP port"
            ),
            Self::NoInterface => f.write_str("an interface has to follow %, as in 10.1.0.2%wwan0"),
            Self::Interface(name) => {
                write!(f, "{name:?} is not the name of an interface (`ip link` shows them)")
            }
        }
    }
}

impl std::error::Error for NotZoned {}

impl FromStr for Zoned {
    type Err = NotZoned;

    fn from_str(text: &str) -> Result<Self, NotZoned> {
        let (address, device) = match text.split_once('%') {
            Some((address, device)) => (address, Some(device)),
            None => (text, None),
        };
        let address = address.parse().map_err(|_| no_address(address))?;
        match device {
            Some("") => Err(NotZoned::NoInterface),
            Some(name)
                if name.len() > LONGEST_NAME
                    || name.contains(|c: char| c == '/' || c.is_whitespace() || c.is_control()) =>
            {
                Err(NotZoned::Interface(name.to_owned()))
            }
            device => Ok(Self { address, device: device.map(str::to_owned) }),
        }
    }
}

/// The error for a text that is not an address.
fn no_address(text: &str) -> NotZoned {
    let has_port = text.rsplit_once(':').is_some_and(|(host, port)| {
        (!host.contains(':') || host.ends_with(']')) && port.parse::<u16>().is_ok()
    });
    if text.is_empty() {
        NotZoned::Missing
    } else if has_port {
        NotZoned::Port(text.to_owned())
    } else {
        NotZoned::Address(text.to_owned())
    }
}

impl fmt::Display for Zoned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.device {
            Some(device) => write!(f, "{}%{device}", self.address),
            None => self.address.fmt(f),
        }
    }
}

/// An endpoint with these local addresses, those with an interface bound to it.
pub(crate) fn builder(local: &[Zoned]) -> EndpointBuilder {
    let addresses: Vec<_> = addresses(local);
    local.iter().fold(Endpoint::builder(addresses), |builder, zoned| match &zoned.device {
        Some(device) => builder.bind_to_device(zoned.address, device),
        None => builder,
    })
}

/// The error for a link-local address without an interface.
pub(crate) fn without_interface(address: IpAddr) -> Error {
    anyhow!(
        "{address} is a link-local address, which means something only at an interface: name that, too, as in \
         {address}%eth0 (`ip link` shows interfaces)"
    )
}

/// The addresses alone.
pub(crate) fn addresses(zoned: &[Zoned]) -> Vec<IpAddr> {
    zoned.iter().map(|zoned| zoned.address).collect()
}

/// All of them, separated by commas.
pub(crate) fn list(zoned: &[Zoned]) -> String {
    zoned.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for text in ["10.1.0.2", "10.1.0.2%wwan0", "fe80::1%eth0.7", "2001:db8::1"] {
            let read: Zoned = text.parse().unwrap();
            assert_eq!(read.to_string(), text);
        }
        let read: Zoned = "fe80::1%eth0".parse().unwrap();
        assert!(read.is_link_local() && read.device.as_deref() == Some("eth0"));
    }

    #[test]
    fn nonsense_is_refused_with_a_reason() {
        for (text, reason) in [
            ("10.1.0", "not an IP address"),
            ("10.1.0.2:9899", "--encapsulation-port"),
            ("[2001:db8::1]:9899", "has a port"),
            ("", "an address is missing"),
            ("%eth0", "an address is missing"),
            ("10.1.0.2%", "has to follow %"),
            ("10.1.0.2%eth 0", "not the name of an interface"),
            ("10.1.0.2%a/b", "not the name of an interface"),
            ("10.1.0.2%sixteen-letters-", "not the name of an interface"),
        ] {
            let error = text.parse::<Zoned>().unwrap_err().to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
