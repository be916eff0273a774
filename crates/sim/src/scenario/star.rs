//! Hosts around the routers of several networks.

use polypath_netsim::topology::IpVersion;
use polypath_units::Duration;
use serde::{Deserialize, Serialize};

use super::Link;
use crate::document::Step;

use Step::{Index, Key};

/// Hosts with an interface in each of several networks, each a star around its router (`dreibholz-model` fig. 6).
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct StarNetwork {
    /// Version of the addresses.
    #[serde(default)]
    pub ip: IpVersion,
    /// Names of the hosts.
    pub hosts: Vec<String>,
    /// The networks. Each gives every host an address.
    pub networks: Vec<StarPlan>,
}

/// A router and the links of all hosts to it. Faults and steps name a link by network and host: `NETWORK/HOST`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct StarPlan {
    /// Name of the network, and of the paths through it.
    pub name: String,
    /// The link of each host to the router; `forward` is towards the router.
    pub link: Link,
    /// Hosts whose link differs.
    #[serde(default)]
    pub except: Vec<StarLink>,
}

/// The link of one host.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct StarLink {
    /// The host.
    pub host: String,
    /// Its link.
    pub link: Link,
}

impl StarPlan {
    /// The link of a host.
    pub fn link_of(&self, host: &str) -> &Link {
        let own = self.except.iter().find(|own| own.host == host);
        own.map_or(&self.link, |own| &own.link)
    }

    /// Round-trip propagation delay between two hosts with this link.
    pub fn round_trip(link: &Link) -> Duration {
        link.round_trip() * 2
    }
}

impl StarNetwork {
    /// The links of the file, with the keys that lead to them.
    pub(super) fn written_links(&mut self) -> Vec<(Vec<Step<'static>>, &mut Link)> {
        let mut all = Vec::new();
        for (index, network) in self.networks.iter_mut().enumerate() {
            let to = [Key("networks"), Index(index)];
            all.push((to.into_iter().chain([Key("link")]).collect(), &mut network.link));
            all.extend(network.except.iter_mut().enumerate().map(|(place, own)| {
                let own_keys = [Key("except"), Index(place), Key("link")];
                (to.into_iter().chain(own_keys).collect(), &mut own.link)
            }));
        }
        all
    }

    /// The link of each host in each network, with its name.
    pub fn links(&self) -> impl Iterator<Item = (String, &Link)> {
        self.networks.iter().flat_map(|network| {
            let named = |host: &String| (format!("{}/{host}", network.name), network.link_of(host));
            self.hosts.iter().map(named)
        })
    }
}
