//! Addresses of both ends.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};

use anyhow::{Context, Result, anyhow};
use polypath::source_address;
use tokio::net::lookup_host;

use super::options::Family;
use crate::failure::Failure;
use crate::zoned::Zoned;

/// The addresses that were written, and one for each name.
pub(crate) async fn resolve(hosts: &[String], family: &Family) -> Result<Vec<Zoned>, Failure> {
    let mut addresses = Vec::new();
    for host in hosts {
        let address = match host.parse::<Zoned>() {
            Ok(address) => address,
            Err(reason) if host.contains('%') => return Err(Failure::Usage(anyhow!(reason))),
            Err(_) => look_up(host, family).await.map_err(Failure::CannotConnect)?.into(),
        };
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    Ok(addresses)
}

async fn look_up(host: &str, family: &Family) -> Result<IpAddr> {
    let found = lookup_host((host, 0)).await.with_context(|| format!("cannot resolve {host:?}"))?;
    let mut addresses = found.map(|socket| socket.ip());
    addresses
        .find(|address| family.includes(address))
        .with_context(|| format!("{host:?} has no address of that family"))
}

/// Where the default routes of this host begin, and its loopback addresses. Peers elsewhere are not told the latter.
pub(crate) fn main_addresses() -> Vec<IpAddr> {
    // Addresses for documentation: nothing is sent to them.
    let somewhere = [
        IpAddr::from(Ipv4Addr::new(192, 0, 2, 1)),
        IpAddr::from(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1)),
    ];
    let usable = |address: &IpAddr| !address.is_loopback() && !address.is_unspecified();
    let routed = somewhere.into_iter().filter_map(|to| source_address(to).ok()).filter(usable);
    let loopback = [IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv6Addr::LOCALHOST)];
    routed.chain(loopback.into_iter().filter(|&own| UdpSocket::bind((own, 0)).is_ok())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_of_this_host_find_the_server_at_its_loopback_address() {
        assert!(main_addresses().contains(&Ipv4Addr::LOCALHOST.into()));
    }
}
