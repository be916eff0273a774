//! Valid addresses of an endpoint.

use std::net::IpAddr;

use crate::device::Devices;
use crate::error::BindError;

/// Checks that an endpoint can use these addresses.
pub(crate) fn check_all(addresses: &[IpAddr], devices: &Devices) -> Result<(), BindError> {
    if addresses.is_empty() {
        return Err(BindError::NoAddress);
    }
    for (index, &address) in addresses.iter().enumerate() {
        check(address, devices)?;
        if addresses[..index].contains(&address) {
            return Err(BindError::Duplicate(address));
        }
    }
    Ok(())
}

/// Checks that an endpoint can use this address.
pub(crate) fn check(address: IpAddr, devices: &Devices) -> Result<(), BindError> {
    match address {
        _ if !is_unicast(address) => Err(BindError::NotUnicast(address)),
        IpAddr::V6(v6) if v6.is_unicast_link_local() && devices.of(address).is_none() => {
            Err(BindError::LinkLocal(address))
        }
        _ => Ok(()),
    }
}

/// Whether an address can belong to one host.
pub(crate) fn is_unicast(address: IpAddr) -> bool {
    let broadcast = matches!(address, IpAddr::V4(v4) if v4.is_broadcast());
    let mapped = matches!(address, IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some());
    !(address.is_unspecified() || address.is_multicast() || broadcast || mapped)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(addresses: &[&str]) -> Result<(), BindError> {
        let mut devices = Devices::default();
        devices.set("fe80::2".parse().unwrap(), "eth0");
        check_all(&addresses.iter().map(|a| a.parse().unwrap()).collect::<Vec<_>>(), &devices)
    }

    #[test]
    fn only_named_unicast_addresses_are_bound() {
        assert!(matches!(checked(&[]), Err(BindError::NoAddress)));
        for wrong in
            ["0.0.0.0", "::", "224.0.0.1", "ff02::1", "255.255.255.255", "::ffff:192.0.2.1"]
        {
            assert!(matches!(checked(&[wrong]), Err(BindError::NotUnicast(_))), "{wrong}");
        }
        assert!(matches!(checked(&["fe80::1"]), Err(BindError::LinkLocal(_))));
        assert!(checked(&["fe80::2"]).is_ok(), "bound to an interface");
        assert!(matches!(
            checked(&["192.0.2.1", "2001:db8::1", "192.0.2.1"]),
            Err(BindError::Duplicate(_))
        ));
        assert!(checked(&["192.0.2.1", "2001:db8::1", "127.0.0.1", "::1"]).is_ok());
    }
}
