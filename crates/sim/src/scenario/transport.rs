//! Transport protocols of flows.

use polypath_units::{BitRate, ByteCount, Duration};
use serde::{Deserialize, Serialize};

use super::{Flow, Link, Network, Scenario};

/// Transport protocol of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// SCTP: the association between its hosts.
    #[default]
    Sctp,
    /// UDP, over one path.
    Udp,
    /// TCP, over one path.
    Tcp,
}

impl Transport {
    /// Its name in files and results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sctp => "sctp",
            Self::Udp => "udp",
            Self::Tcp => "tcp",
        }
    }
}

/// Settings of a TCP connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct TcpSettings {
    /// Congestion control.
    pub congestion: TcpCongestion,
    /// Size of the send buffer.
    pub send_buffer: ByteCount,
    /// Largest receive window.
    pub receive_buffer: ByteCount,
    /// Longest delay of an acknowledgement that waits for a second segment.
    pub ack_delay: Duration,
}

/// Congestion control of TCP.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum TcpCongestion {
    /// RFC 5681.
    #[default]
    Reno,
    /// RFC 9438.
    Cubic,
}

impl Default for TcpSettings {
    fn default() -> Self {
        Self {
            congestion: TcpCongestion::Reno,
            send_buffer: ByteCount::from_mib(1),
            receive_buffer: ByteCount::from_mib(1),
            ack_delay: Duration::from_millis(40),
        }
    }
}

impl Scenario {
    /// Whether the hosts of a pair have an association: not if all flows between them use UDP or TCP, or one is
    /// external.
    pub fn has_association(&self, pair: usize) -> bool {
        let hosts = self.pairs.get(pair).map(|pair| pair.hosts).into_iter().flatten();
        if hosts.into_iter().any(|host| self.is_external(host)) {
            return false;
        }
        let mut flows = self.traffic.iter().filter(|flow| flow.ends.pair == pair).peekable();
        flows.peek().is_none() || flows.any(|flow| flow.transport == Transport::Sctp)
    }

    /// Longest IP packet between the hosts of a flow.
    pub fn mtu_of(&self, flow: &Flow) -> u32 {
        let mtu = self.sctp_of_flow(flow).map(|sctp| sctp.mtu.as_bytes());
        u32::try_from(mtu[0].min(mtu[1])).unwrap_or(u32::MAX)
    }

    /// Names of the paths between the hosts of a flow, if the network names them.
    pub(super) fn paths_of(&self, flow: &Flow) -> Option<Vec<&str>> {
        self.paths_of_pair(flow.ends.pair)
    }

    /// Names of the paths between the hosts of a pair, if the network names them.
    pub(super) fn paths_of_pair(&self, pair: usize) -> Option<Vec<&str>> {
        match &self.network {
            Network::Disjoint(plan) => {
                Some(plan.paths.iter().map(|path| path.name.as_str()).collect())
            }
            Network::Shared(plan) => {
                let pair = plan.pairs.get(pair)?;
                Some(pair.paths.iter().map(|path| path.name.as_str()).collect())
            }
            Network::Dumbbell(plan) => {
                Some(plan.paths.iter().map(|path| path.name.as_str()).collect())
            }
            Network::Star(_) | Network::Graph(_) => None,
        }
    }

    /// Rate of the bottleneck of a flow, if the network defines one.
    pub fn bottleneck_of(&self, flow: &Flow) -> Option<BitRate> {
        let name = flow.path.as_deref();
        let is_it = |known: &str| name.is_none_or(|name| name == known);
        let link: &Link = match &self.network {
            Network::Disjoint(plan) => {
                &plan.paths.iter().find(|path| is_it(&path.name))?.bottleneck
            }
            Network::Shared(plan) => {
                let mut paths = plan.pairs.get(flow.ends.pair)?.paths.iter();
                let path = paths.find(|path| is_it(&path.name))?;
                &plan.routes.iter().find(|route| route.name == path.route)?.bottleneck
            }
            Network::Dumbbell(plan) => {
                // Hosts for cross traffic are connected to one core, the others to all.
                let hosts = self.network.hosts();
                let host = hosts.get(flow.ends.hosts[0])?;
                let at_one = plan.paths.iter().find(|path| {
                    let mut pairs = 1..=path.cross.map_or(0, |cross| cross.pairs);
                    pairs.any(|pair| path.cross_names(pair).iter().any(|name| *name == host.name))
                });
                let by_name = || plan.paths.iter().find(|path| is_it(&path.name));
                &at_one.or_else(by_name)?.bottleneck
            }
            Network::Star(_) | Network::Graph(_) => return None,
        };
        Some(link.channel(flow.ends.from.way(), Duration::ZERO).rate)
    }
}
