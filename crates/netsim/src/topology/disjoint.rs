//! Two hosts and paths between them that share nothing.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::{
    BuildError, ChannelConfig, End, LinkConfig, LinkId, NetworkBuilder, NetworkId, NodeId,
};

/// Hosts A and B and any number of disjoint paths between them.
///
/// A path is one direct link, or several links over routers of its own: access, any number of further links, bottleneck,
/// any number of further links, access. Path *p* (from 1) is network *p*. The interface of link *l* (from 1, A's side first) has the address `10.p.l.1` on A's side and `10.p.l.2`
/// on B's, or `fd00:p:l::1` and `fd00:p:l::2`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DisjointPaths {
    /// Version of all addresses.
    pub ip: IpVersion,
    /// The paths.
    pub paths: Vec<PathConfig>,
}

/// Version of the Internet Protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
pub enum IpVersion {
    /// IPv4.
    #[default]
    V4,
    /// IPv6.
    V6,
}

/// One path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PathConfig {
    /// Its name; links and routers are named after it.
    pub name: String,
    /// The link in the middle, or the only one.
    pub bottleneck: Duplex,
    /// The links between the hosts and the routers, both alike; `None` where the other links begin at the hosts.
    pub access: Option<Duplex>,
    /// Further links on A's side of the bottleneck, from A to B.
    pub before: Vec<Duplex>,
    /// Further links on B's side of the bottleneck, from A to B.
    pub after: Vec<Duplex>,
}

/// Both directions of a link.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Duplex {
    /// From A to B.
    pub forward: ChannelConfig,
    /// From B to A.
    pub backward: ChannelConfig,
}

/// A network made by [`DisjointPaths::add_to`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Disjoint {
    /// Host "A".
    pub a: NodeId,
    /// Host "B".
    pub b: NodeId,
    /// The paths, in the order of the configuration; path *i* is at interface *i* of both hosts.
    pub paths: Vec<DisjointPath>,
}

/// A path that was made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DisjointPath {
    /// Its name.
    pub name: String,
    /// Address of A on it.
    pub a_address: IpAddr,
    /// Address of B on it.
    pub b_address: IpAddr,
    /// Its links from A to B; `Forward` is the direction from A to B.
    pub links: Vec<LinkId>,
    /// The link in the middle, or the only one.
    pub bottleneck: LinkId,
}

/// Path numbers are one octet of an IPv4 address.
const MAX_PATHS: usize = 254;

/// So are the numbers of links.
const MAX_LINKS: usize = 254;

impl From<ChannelConfig> for Duplex {
    /// Both directions alike.
    fn from(both: ChannelConfig) -> Self {
        Self { forward: both.clone(), backward: both }
    }
}

impl PathConfig {
    /// A direct link.
    pub fn direct(name: impl Into<String>, link: impl Into<Duplex>) -> Self {
        Self {
            name: name.into(),
            bottleneck: link.into(),
            access: None,
            before: Vec::new(),
            after: Vec::new(),
        }
    }

    /// Two routers with the bottleneck between them.
    pub fn routed(
        name: impl Into<String>,
        access: impl Into<Duplex>,
        bottleneck: impl Into<Duplex>,
    ) -> Self {
        Self { access: Some(access.into()), ..Self::direct(name, bottleneck) }
    }
}

impl PathConfig {
    /// The links from A to B with their names; a link alone has the name of the path.
    pub(super) fn links(&self) -> Vec<(String, &Duplex)> {
        let name = &self.name;
        let all = |word: &'static str, links: &'_ [Duplex]| -> Vec<String> {
            (1..=links.len()).map(|number| format!("{name}/{word}-{number}")).collect()
        };
        let mut links: Vec<(String, &Duplex)> = Vec::new();
        links.extend(self.access.iter().map(|access| (format!("{name}/access-a"), access)));
        links.extend(all("before", &self.before).into_iter().zip(&self.before));
        links.push((format!("{name}/bottleneck"), &self.bottleneck));
        links.extend(all("after", &self.after).into_iter().zip(&self.after));
        links.extend(self.access.iter().map(|access| (format!("{name}/access-b"), access)));
        if let [(only, _)] = &mut links[..] {
            only.clone_from(name);
        }
        links
    }
}

impl DisjointPaths {
    /// Adds hosts, routers and links to a network.
    ///
    /// # Errors
    /// No path, or more than 254. Other mistakes are found when the network is built.
    pub fn add_to(&self, network: &mut NetworkBuilder) -> Result<Disjoint, BuildError> {
        if self.paths.is_empty() || self.paths.len() > MAX_PATHS {
            let found = self.paths.len();
            return Err(BuildError::Topology(format!(
                "disjoint paths: give 1 to {MAX_PATHS} paths, not {found}"
            )));
        }
        if let Some(long) = self.paths.iter().find(|path| path.links().len() > MAX_LINKS) {
            return Err(BuildError::Topology(format!(
                "path `{}`: give at most {MAX_LINKS} links, not {}",
                long.name,
                long.links().len()
            )));
        }
        let (a, b) = (network.add_host("A"), network.add_host("B"));
        let paths = self
            .paths
            .iter()
            .zip(1..)
            .map(|(config, number)| Path { config, number, ip: self.ip }.add_to(network, a, b))
            .collect();
        Ok(Disjoint { a, b, paths })
    }
}

/// A path in the making.
struct Path<'a> {
    config: &'a PathConfig,
    number: u8,
    ip: IpVersion,
}

impl Path<'_> {
    fn add_to(&self, network: &mut NetworkBuilder, a: NodeId, b: NodeId) -> DisjointPath {
        let name = &self.config.name;
        let configs = self.config.links();
        let mut links = Vec::with_capacity(configs.len());
        let mut near = a;
        for (at, (link_name, config)) in configs.iter().enumerate() {
            let far = if at + 1 == configs.len() {
                b
            } else {
                network.add_router(format!("{name}/router-{}", at + 1))
            };
            let number = at as u8 + 1;
            links.push(self.link(network, [near, far], number, link_name.clone(), config));
            near = far;
        }
        let bottleneck = self.config.before.len() + usize::from(self.config.access.is_some());
        DisjointPath {
            name: name.clone(),
            a_address: self.address(1, 1),
            b_address: self.address(links.len() as u8, 2),
            bottleneck: links[bottleneck],
            links,
        }
    }

    fn link(
        &self,
        network: &mut NetworkBuilder,
        [near, far]: [NodeId; 2],
        number: u8,
        name: String,
        config: &Duplex,
    ) -> LinkId {
        let link = LinkConfig::new(name, config.forward.clone(), config.backward.clone());
        network.connect(
            End::at(near).address(self.address(number, 1)),
            End::at(far).address(self.address(number, 2)),
            link.in_network(NetworkId(u32::from(self.number))),
        )
    }

    fn address(&self, link: u8, host: u8) -> IpAddr {
        match self.ip {
            IpVersion::V4 => Ipv4Addr::new(10, self.number, link, host).into(),
            IpVersion::V6 => {
                Ipv6Addr::new(0xfd00, self.number.into(), link.into(), 0, 0, 0, 0, host.into())
                    .into()
            }
        }
    }
}
