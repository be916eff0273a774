//! The hosts of a network by name, and the pairs of them that have an association.

use std::borrow::Cow;

use super::{AssociationPlan, Flow, HostName, Network};
use crate::document::{Document, DocumentError, Step, nearest};

use Step::{Index, Key};

type Result<T> = std::result::Result<T, DocumentError>;

/// A host of a network.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostRef<'a> {
    /// Name of its pair in a network of pairs, else empty.
    pub pair: &'a str,
    /// Its name, as in flows and `[hosts]`.
    pub name: Cow<'a, str>,
}

/// Two hosts and their association.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pair {
    /// Name in results; empty for a single pair without a name.
    pub name: String,
    /// Positions of host a and host b among the hosts of the network.
    pub hosts: [usize; 2],
    /// Names of both in results.
    pub names: [String; 2],
    /// Positions of their settings in [`Scenario::sctp`](super::Scenario::sctp).
    pub sctp: [usize; 2],
    /// The host that initiates the association.
    pub client: HostName,
}

/// Both ends of a flow; determined when the scenario is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlowEnds {
    /// Positions of the sending and the receiving host among the hosts of the network.
    pub hosts: [usize; 2],
    /// Position of their pair.
    pub pair: usize,
    /// Which host of the pair sends.
    pub from: HostName,
}

impl Default for FlowEnds {
    /// From the first host to the second.
    fn default() -> Self {
        Self { hosts: [0, 1], pair: 0, from: HostName::A }
    }
}

/// Finds the ends of all flows, and the pairs of hosts that need an association.
pub(super) fn resolve(
    network: &Network,
    association: &AssociationPlan,
    traffic: &mut [Flow],
    document: &Document,
) -> Result<Vec<Pair>> {
    let hosts = network.hosts();
    if let Some(client) = &association.client
        && !hosts.iter().any(|host| host.name == *client)
    {
        let message = unknown_host(client, distinct(network, &hosts));
        return Err(document.complain(&[Key("association"), Key("client")], message));
    }
    let client = association.client.as_deref();
    let mut pairs = fixed_pairs(network, &hosts, client);
    for (index, flow) in traffic.iter_mut().enumerate() {
        let found = if network.has_named_hosts() {
            named_ends(flow, &hosts, network.main_hosts()).map(|hosts| (hosts, None))
        } else {
            paired_ends(flow, &hosts, &pairs).map(|(hosts, pair)| (hosts, Some(pair)))
        };
        let (ends, pair) = found.map_err(|(key, message)| {
            document.complain(&[Key("traffic"), Index(index), Key(key)], message)
        })?;
        flow.from = Some(hosts[ends[0]].name.to_string());
        if network.has_named_hosts() {
            flow.to = Some(hosts[ends[1]].name.to_string());
        }
        let pair = pair.unwrap_or_else(|| pair_of(ends, &mut pairs, &hosts, client));
        let from = if pairs[pair].hosts[0] == ends[0] { HostName::A } else { HostName::B };
        flow.ends = FlowEnds { hosts: ends, pair, from };
    }
    if network.has_named_hosts() {
        number_settings(&mut pairs);
    }
    if let ([only], true) = (&mut pairs[..], network.has_named_hosts()) {
        only.name.clear();
    }
    Ok(pairs)
}

/// Gives each host that is part of a pair a place for its settings, in the order of the hosts.
fn number_settings(pairs: &mut [Pair]) {
    let mut hosts: Vec<usize> = pairs.iter().flat_map(|pair| pair.hosts).collect();
    hosts.sort_unstable();
    hosts.dedup();
    for pair in pairs {
        pair.sctp = pair.hosts.map(|host| hosts.binary_search(&host).unwrap_or_default());
    }
}

/// The pairs that the network itself defines.
fn fixed_pairs(network: &Network, hosts: &[HostRef<'_>], client: Option<&str>) -> Vec<Pair> {
    if network.has_named_hosts() {
        return Vec::new();
    }
    let client = if client == Some("b") { HostName::B } else { HostName::A };
    let pair = |(index, two): (usize, &[HostRef<'_>])| Pair {
        name: two[0].pair.to_owned(),
        hosts: [2 * index, 2 * index + 1],
        names: [two[0].name.to_string(), two[1].name.to_string()],
        sctp: [0, 1],
        client,
    };
    hosts.chunks_exact(2).enumerate().map(pair).collect()
}

/// What is wrong, and the key that it belongs to.
type Found = (&'static str, String);

/// The ends of a flow between host a and host b of a pair, and the pair.
fn paired_ends(
    flow: &Flow,
    hosts: &[HostRef<'_>],
    pairs: &[Pair],
) -> std::result::Result<([usize; 2], usize), Found> {
    let pair = match &flow.pair {
        None => 0,
        Some(name) => pairs.iter().position(|pair| pair.name == *name).ok_or_else(|| {
            let names = pairs.iter().map(|pair| pair.name.as_str());
            match pairs {
                [only] if only.name.is_empty() => {
                    ("pair", format!("there is no pair `{name}`; this network has none"))
                }
                _ => ("pair", unknown("pair", name, names)),
            }
        })?,
    };
    let [a, b] = pairs[pair].hosts;
    let position = |name: &String| match name.as_str() {
        "a" => Ok(a),
        "b" => Ok(b),
        _ => Err(unknown_host(name, &hosts[a..=b])),
    };
    let from = flow.from.as_ref().map_or(Ok(a), position).map_err(|message| ("from", message))?;
    let other = a + b - from;
    let to = flow.to.as_ref().map_or(Ok(other), position).map_err(|message| ("to", message))?;
    if from == to { Err(("to", to_itself(&hosts[to].name))) } else { Ok(([from, to], pair)) }
}

/// The ends of a flow between named hosts. If the network has two main hosts, each is the default peer of the other.
fn named_ends(
    flow: &Flow,
    hosts: &[HostRef<'_>],
    main_hosts: usize,
) -> std::result::Result<[usize; 2], Found> {
    if flow.pair.is_some() {
        return Err(("pair", "this network has no pairs: say `from` and `to`".into()));
    }
    let position = |key: &'static str, name: &Option<String>| match name {
        None => Ok(None),
        Some(name) => match hosts.iter().position(|host| host.name == *name) {
            None => Err((key, unknown_host(name, hosts))),
            found => Ok(found),
        },
    };
    let has_peer = |host: usize| main_hosts == 2 && host < 2;
    let ends = match (position("from", &flow.from)?, position("to", &flow.to)?) {
        (Some(from), Some(to)) => [from, to],
        (Some(from), None) if has_peer(from) => [from, 1 - from],
        (None, Some(to)) if has_peer(to) => [1 - to, to],
        (None, None) if has_peer(0) => [0, 1],
        (from, _) => {
            let key = if from.is_none() { "from" } else { "to" };
            return Err((key, format!("say which host; {}", list("hosts", names(hosts)))));
        }
    };
    if ends[0] == ends[1] { Err(("to", to_itself(&hosts[ends[1]].name))) } else { Ok(ends) }
}

/// The pair of these hosts, a new one if there was none. Host a is the one that the network lists first.
fn pair_of(
    [from, to]: [usize; 2],
    pairs: &mut Vec<Pair>,
    hosts: &[HostRef<'_>],
    client: Option<&str>,
) -> usize {
    let both = [from.min(to), from.max(to)];
    if let Some(known) = pairs.iter().position(|pair| pair.hosts == both) {
        return known;
    }
    let [a, b] = both.map(|host| hosts[host].name.to_string());
    let client = match client {
        Some(client) if client == a => HostName::A,
        Some(client) if client == b => HostName::B,
        _ if from == both[0] => HostName::A,
        _ => HostName::B,
    };
    let name = format!("{a} and {b}");
    pairs.push(Pair { name, hosts: both, names: [a, b], sctp: both, client });
    pairs.len() - 1
}

/// Hosts with different names.
pub(super) fn distinct<'a, 'b>(network: &Network, hosts: &'b [HostRef<'a>]) -> &'b [HostRef<'a>] {
    if network.has_named_hosts() { hosts } else { &hosts[..hosts.len().min(2)] }
}

fn names<'a>(hosts: &'a [HostRef<'_>]) -> impl Iterator<Item = &'a str> + Clone {
    hosts.iter().map(|host| &host.name[..])
}

fn to_itself(name: &str) -> String {
    format!("`{name}` cannot send to itself")
}

/// The error for an unknown host.
pub(super) fn unknown_host(given: &str, hosts: &[HostRef<'_>]) -> String {
    unknown("host", given, names(hosts))
}

/// The error for an unknown name, with the nearest one and the valid ones.
pub(super) fn unknown<'a>(
    what: &str,
    given: &str,
    known: impl Iterator<Item = &'a str> + Clone,
) -> String {
    let near = nearest(given, known.clone()).map(|near| format!("; did you mean `{near}`?"));
    let near = near.unwrap_or_else(|| ";".into());
    format!("there is no {what} `{given}`{near} {}", list(&format!("{what}s"), known))
}

/// Names after a colon; a long list is cut.
fn list<'a>(what: &str, known: impl Iterator<Item = &'a str>) -> String {
    const MOST: usize = 20;
    let all: Vec<String> = known.map(|name| format!("`{name}`")).collect();
    match all.get(..MOST) {
        Some(first) if all.len() > MOST => {
            format!("{what}: {} and {} more", first.join(", "), all.len() - MOST)
        }
        _ => format!("{what}: {}", all.join(", ")),
    }
}
