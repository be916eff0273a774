//! Interfaces that local addresses are bound to; their packets use no other interface, whatever the routes say.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use socket2::Socket;

use crate::error::BindError;

/// Interfaces that addresses are bound to, by address.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Devices(Vec<(IpAddr, Arc<str>)>);

impl Devices {
    /// Binds an address to another interface.
    pub(crate) fn set(&mut self, address: IpAddr, device: &str) {
        self.0.retain(|(other, _)| *other != address);
        self.0.push((address, device.into()));
    }

    /// The interface of the address.
    pub(crate) fn of(&self, address: IpAddr) -> Option<&Arc<str>> {
        self.0.iter().find(|(other, _)| *other == address).map(|(_, device)| device)
    }
}

/// Whether a socket can be bound to both. The system would accept an address of another interface, but no answer would
/// arrive.
pub(crate) fn check(address: IpAddr, device: &str) -> Result<(), BindError> {
    system::check(address, device)
}

/// The addresses of the host's interfaces that an endpoint can use without an interface name.
pub(crate) fn host_addresses() -> io::Result<Vec<IpAddr>> {
    system::host_addresses()
}

/// The present number of the interface with this name. A socket is bound to the number, and not to a new
/// interface of the same name, such as a modem that was plugged in again.
pub(crate) fn index(device: &str) -> Option<u32> {
    system::index(device)
}

/// Binds a socket to an interface.
pub(crate) fn attach(socket: &Socket, device: Option<&str>) -> io::Result<()> {
    device.map_or(Ok(()), |device| system::attach(socket, device))
}

#[cfg(any(target_os = "linux", target_os = "android"))]
mod system {
    use std::io;
    use std::net::IpAddr;

    use nix::ifaddrs::{InterfaceAddress, getifaddrs};
    use nix::net::if_::{InterfaceFlags, if_nametoindex};
    use socket2::{Domain, Protocol, Socket, Type};

    use crate::error::BindError;

    pub(super) fn attach(socket: &Socket, device: &str) -> io::Result<()> {
        socket.bind_device(Some(device.as_bytes()))
    }

    pub(super) fn index(device: &str) -> Option<u32> {
        if_nametoindex(device).ok()
    }

    /// Whether an interface has an address.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    enum Presence {
        Here,
        /// The interface exists, but does not have the address.
        Elsewhere,
        /// The interface does not exist.
        NoDevice,
    }

    pub(super) fn check(address: IpAddr, device: &str) -> Result<(), BindError> {
        let name = || device.to_owned();
        let tried = presence(address, device).and_then(|presence| {
            if presence == Presence::Here {
                let domain = Domain::for_address((address, 0).into());
                attach(&Socket::new(domain, Type::DGRAM, Some(Protocol::UDP))?, device)?;
            }
            Ok(presence)
        });
        match tried {
            Ok(Presence::Here) => Ok(()),
            Ok(Presence::Elsewhere) => Err(BindError::NotOnDevice { address, device: name() }),
            Ok(Presence::NoDevice) => Err(BindError::NoDevice { address, device: name() }),
            Err(source) => Err(BindError::Device { address, device: name(), source }),
        }
    }

    fn presence(address: IpAddr, device: &str) -> io::Result<Presence> {
        let mut found = Presence::NoDevice;
        // Every interface is in the list, with or without addresses.
        for entry in getifaddrs()?.filter(|entry| entry.interface_name == device) {
            if has(&entry, address) {
                return Ok(Presence::Here);
            }
            found = Presence::Elsewhere;
        }
        Ok(found)
    }

    pub(super) fn host_addresses() -> io::Result<Vec<IpAddr>> {
        let up = |entry: &InterfaceAddress| entry.flags.contains(InterfaceFlags::IFF_UP);
        let mut addresses: Vec<_> =
            getifaddrs()?.filter(up).filter_map(|entry| address_of(&entry)).collect();
        addresses
            .retain(|address| !matches!(address, IpAddr::V6(v6) if v6.is_unicast_link_local()));
        addresses.sort_unstable();
        addresses.dedup();
        Ok(addresses)
    }

    fn address_of(entry: &InterfaceAddress) -> Option<IpAddr> {
        let own = entry.address?;
        let v4 = own.as_sockaddr_in().map(|v4| IpAddr::V4(v4.ip()));
        v4.or_else(|| own.as_sockaddr_in6().map(|v6| IpAddr::V6(v6.ip())))
    }

    /// Loopback has all addresses of its network, but lists one.
    fn has(entry: &InterfaceAddress, address: IpAddr) -> bool {
        if entry.flags.contains(InterfaceFlags::IFF_LOOPBACK) && address.is_loopback() {
            return true;
        }
        address_of(entry) == Some(address)
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod system {
    use std::io;
    use std::net::IpAddr;

    use socket2::Socket;

    use crate::error::BindError;

    /// There is no portable method.
    pub(super) fn host_addresses() -> io::Result<Vec<IpAddr>> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn attach(_socket: &Socket, _device: &str) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn index(_device: &str) -> Option<u32> {
        None
    }

    pub(super) fn check(address: IpAddr, device: &str) -> Result<(), BindError> {
        let source = io::ErrorKind::Unsupported.into();
        Err(BindError::Device { address, device: device.to_owned(), source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_counts() {
        let (one, other) = (IpAddr::from([192, 0, 2, 1]), IpAddr::from([192, 0, 2, 2]));
        let mut devices = Devices::default();
        assert_eq!(devices.of(one), None);
        devices.set(one, "eth0");
        devices.set(other, "eth1");
        devices.set(one, "wwan0");
        assert_eq!(devices.of(one).map(|device| &**device), Some("wwan0"));
        assert_eq!(devices.of(other).map(|device| &**device), Some("eth1"));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn interfaces_have_their_addresses() {
        assert!(check(IpAddr::from([127, 0, 0, 77]), "lo").is_ok());
        assert!(index("lo").is_some() && index("none-such").is_none());
        for (address, device, expected) in [
            ([192, 0, 2, 1], "lo", "ip address show dev lo"),
            ([127, 0, 0, 1], "none-such", "ip link"),
            ([127, 0, 0, 1], "", "ip link"),
        ] {
            let error = check(IpAddr::from(address), device).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
