//! Limits of the places that peers without a key may take of a server.

use std::time::Duration;

use polypath::config::NetworkLimit;
use polypath::{EndpointConfig, MakeWay};
use polypath_units::BitRate;

use crate::counts;
use crate::meter::numbers;

/// Bits of an IPv4 and of an IPv6 address that are those of its network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Prefixes {
    ipv4: u8,
    ipv6: u8,
}

/// The options.
#[derive(Debug, clap::Args)]
pub(crate) struct CrowdingArgs {
    /// Maximum number of peers at a time from one address (of IPv6: one /64 network)
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = counts::within(1..=10_000_u32))]
    max_per_address: u32,
    /// Maximum number of peers at a time from one network, see --network-prefixes. Default:
    /// unlimited, or three quarters of all places if anybody may connect: without --key, on other
    /// than loopback addresses
    #[arg(long, value_name = "N", value_parser = counts::within(1..=10_000_u32))]
    max_per_network: Option<u32>,
    /// What counts as one network: the number of bits that its addresses have in common, in IPv4 and
    /// in IPv6
    #[arg(long, value_name = "BITS,BITS", default_value = "24,48", value_parser = prefixes)]
    network_prefixes: Prefixes,
    /// When every place is taken, a peer without a key that was slower than --make-way-below for so
    /// many seconds is aborted for a new one, the slowest first; 0: never
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = numbers::time)]
    make_way_after: Duration,
    /// Rate below which a peer makes way, see --make-way-after
    #[arg(long, value_name = "RATE", default_value = "64 kbit/s")]
    make_way_below: BitRate,
}

impl CrowdingArgs {
    /// Adds the limits to a configuration with a number of places. `anybody` says whether peers need no key.
    pub(crate) fn limit(&self, config: EndpointConfig, anybody: bool) -> EndpointConfig {
        let places = config.max_associations;
        let most = self.max_per_network.or_else(|| anybody.then(|| places - places / 4));
        let Prefixes { ipv4, ipv6 } = self.network_prefixes;
        let network =
            |associations| NetworkLimit { associations, ipv4_prefix: ipv4, ipv6_prefix: ipv6 };
        EndpointConfig {
            max_associations_per_address: Some(self.max_per_address),
            max_associations_per_network: most.map(network),
            ..config
        }
    }

    /// Which peers make way for others.
    pub(crate) fn make_way(&self) -> Option<MakeWay> {
        let below_bytes_per_second = self.make_way_below.as_bits_per_second() / 8;
        let after = self.make_way_after;
        (!after.is_zero()).then_some(MakeWay { after, below_bytes_per_second })
    }
}

fn prefixes(text: &str) -> Result<Prefixes, String> {
    let bits = |text: &str, most: u8| text.trim().parse().ok().filter(|bits| *bits <= most);
    let read = || {
        let (ipv4, ipv6) = text.split_once(',')?;
        Some(Prefixes { ipv4: bits(ipv4, 32)?, ipv6: bits(ipv6, 128)? })
    };
    read().ok_or_else(|| "two numbers are needed, at most 32 and 128, for example 24,48".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Program {
        #[command(flatten)]
        crowding: CrowdingArgs,
    }

    fn parse(options: &[&str]) -> CrowdingArgs {
        Program::try_parse_from([&["program"], options].concat()).unwrap().crowding
    }

    #[test]
    fn strangers_of_one_network_do_not_get_every_place() {
        let config = || EndpointConfig { max_associations: 32, ..EndpointConfig::default() };
        let limit = |options: &[&str], anybody| {
            let limited = parse(options).limit(config(), anybody);
            assert_eq!(limited.max_associations, 32);
            limited.max_associations_per_network
        };
        assert_eq!(limit(&[], false), None, "holders of keys may be in one network");
        assert_eq!(limit(&[], true), Some(NetworkLimit::new(24)));
        assert_eq!(limit(&["--max-per-network", "40"], true), Some(NetworkLimit::new(40)));
        let wide = NetworkLimit { associations: 5, ipv4_prefix: 16, ipv6_prefix: 32 };
        let options = ["--max-per-network", "5", "--network-prefixes", "16,32"];
        assert_eq!(limit(&options, false), Some(wide));
        let one = EndpointConfig { max_associations: 1, ..EndpointConfig::default() };
        let one = parse(&[]).limit(one, true);
        assert_eq!(one.max_associations_per_network, Some(NetworkLimit::new(1)));
        assert_eq!(one.max_associations_per_address, Some(16));
    }

    #[test]
    fn who_makes_way_is_the_operators_choice() {
        assert_eq!(parse(&[]).make_way(), Some(MakeWay::default()));
        assert_eq!(parse(&["--make-way-after", "0"]).make_way(), None);
        let rule = parse(&["--make-way-after", "30", "--make-way-below", "1 Mbit/s"]).make_way();
        let after = Duration::from_secs(30);
        assert_eq!(rule, Some(MakeWay { after, below_bytes_per_second: 125_000 }));
    }

    #[test]
    fn prefixes_are_two_numbers_within_the_length_of_addresses() {
        assert_eq!(prefixes("0,128"), Ok(Prefixes { ipv4: 0, ipv6: 128 }));
        assert_eq!(prefixes("32, 56"), Ok(Prefixes { ipv4: 32, ipv6: 56 }));
        for wrong in ["", "24", "33,48", "24,129", "24,48,64", "a,b", "-1,4"] {
            assert!(prefixes(wrong).unwrap_err().contains("for example 24,48"), "{wrong}");
        }
    }
}
