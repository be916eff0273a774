//! Addresses of the server.

use std::net::IpAddr;

use anyhow::{Context, Result, anyhow};
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
