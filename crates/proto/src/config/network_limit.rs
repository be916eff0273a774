//! Limits on the associations that the peers of one network initiate.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Maximum number of associations initiated by the peers of one network: of all addresses whose first bits are the same.
///
/// One host may have all addresses of a network of IPv6, and whoever has many hosts often has them in few networks.
///
/// ```
/// use polypath_proto::config::NetworkLimit;
///
/// # fn main() -> Result<(), core::net::AddrParseError> {
/// let limit = NetworkLimit::new(100);
/// assert_eq!(limit.network("192.0.2.77".parse()?), "192.0.2.0".parse::<core::net::IpAddr>()?);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NetworkLimit {
    /// Maximum number of associations.
    pub associations: u32,
    /// Number of bits that the IPv4 addresses of a network have in common; 32 and more: all of them.
    pub ipv4_prefix: u8,
    /// Number of bits that the IPv6 addresses of a network have in common; 128 and more: all of them.
    pub ipv6_prefix: u8,
}

impl NetworkLimit {
    /// Networks with 24 common bits in IPv4 and 48 in IPv6, the longest prefixes that are usually assigned to a site.
    pub const fn new(associations: u32) -> Self {
        Self { associations, ipv4_prefix: 24, ipv6_prefix: 48 }
    }

    /// The first address of the network of `address`.
    pub fn network(&self, address: IpAddr) -> IpAddr {
        match address {
            IpAddr::V4(address) => {
                let host_bits = 32_u32.saturating_sub(self.ipv4_prefix.into());
                let mask = u32::MAX.checked_shl(host_bits).unwrap_or(0);
                Ipv4Addr::from_bits(address.to_bits() & mask).into()
            }
            IpAddr::V6(address) => {
                let host_bits = 128_u32.saturating_sub(self.ipv6_prefix.into());
                let mask = u128::MAX.checked_shl(host_bits).unwrap_or(0);
                Ipv6Addr::from_bits(address.to_bits() & mask).into()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_has_the_first_bits_in_common() {
        let limit =
            |ipv4_prefix, ipv6_prefix| NetworkLimit { associations: 1, ipv4_prefix, ipv6_prefix };
        for (limit, address, network) in [
            (NetworkLimit::new(1), "192.0.2.255", "192.0.2.0"),
            (NetworkLimit::new(1), "2001:db8:1:2:3:4:5:6", "2001:db8:1::"),
            (limit(32, 128), "192.0.2.255", "192.0.2.255"),
            (limit(32, 128), "2001:db8::1", "2001:db8::1"),
            (limit(255, 255), "192.0.2.255", "192.0.2.255"),
            (limit(255, 255), "2001:db8::1", "2001:db8::1"),
            (limit(0, 0), "192.0.2.255", "0.0.0.0"),
            (limit(0, 0), "2001:db8::1", "::"),
            (limit(20, 56), "192.0.255.1", "192.0.240.0"),
            (limit(20, 56), "2001:db8:0:1ff::1", "2001:db8:0:100::"),
        ] {
            let [address, network] = [address, network].map(|it| it.parse::<IpAddr>().unwrap());
            assert_eq!(limit.network(address), network, "{address} {limit:?}");
        }
    }
}
