//! Checks of networks whose nodes have names: stars, dumbbells and graphs.

use polypath_netsim::topology::MAX_NETWORK;
use polypath_units::Duration;

use super::super::hosts::unknown;
use super::super::{
    DumbbellNetwork, DumbbellPath, GraphNetwork, Link, Network, Queue, QueueLimit, StarNetwork,
    StarPlan,
};
use super::network::{Found, MOST_PATHS, access_queue_problem, check_loss, link_problem};
use super::{Result, name_problem};
use crate::document::{Document, Step};

use Step::{Index, Key};

const MOST_HOSTS: usize = 1_000;
const MOST_ADDRESSES: usize = 2_000;
const MOST_LINKS: usize = 4_000;
const MOST_PAIRS: u8 = 254;

/// Reports errors below a network of this kind.
struct Place<'a> {
    kind: &'static str,
    document: &'a Document,
}

impl Place<'_> {
    fn wrong<T>(&self, keys: &[Step<'_>], message: impl Into<String>) -> Result<T> {
        let steps = [&[Key("network"), Key(self.kind)], keys].concat();
        Err(self.document.complain(&steps, message.into()))
    }

    fn found(&self, keys: &[Step<'_>], found: Option<Found>) -> Result {
        match found {
            Some((last, message)) => self.wrong(&[keys, &last].concat(), message),
            None => Ok(()),
        }
    }

    /// Checks that names are suitable, unique, and different from `others`.
    fn check_names<'n>(
        &self,
        what: &str,
        names: impl Iterator<Item = (Vec<Step<'static>>, &'n str)>,
        others: &[String],
    ) -> Result {
        let mut known: Vec<&str> = others.iter().map(String::as_str).collect();
        for (keys, name) in names {
            if let Some(message) = name_problem(name) {
                return self.wrong(&keys, message);
            }
            if known.contains(&name) {
                return self.wrong(&keys, format!("there is another {what} `{name}`"));
            }
            known.push(name);
        }
        Ok(())
    }

    fn check_link(&self, keys: &[Step<'static>], link: &Link, round_trip: Duration) -> Result {
        self.found(keys, link_problem(link, round_trip))?;
        check_loss(&[&[Key("network"), Key(self.kind)], keys].concat(), self.document)
    }

    fn check_count(
        &self,
        keys: &[Step<'_>],
        what: &str,
        count: usize,
        least: usize,
        most: usize,
    ) -> Result {
        if (least..=most).contains(&count) {
            return Ok(());
        }
        self.wrong(keys, format!("a network has {least} to {most} {what}, not {count}"))
    }
}

/// Names in a list, with the keys that lead to them.
fn listed<'a>(
    key: &'static str,
    names: &'a [String],
) -> impl Iterator<Item = (Vec<Step<'static>>, &'a str)> {
    names.iter().enumerate().map(move |(index, name)| (vec![Key(key), Index(index)], &name[..]))
}

/// Names of tables in a list, with the keys that lead to them.
fn named<'a, T>(
    key: &'static str,
    tables: &'a [T],
    name: impl Fn(&'a T) -> &'a str,
) -> impl Iterator<Item = (Vec<Step<'static>>, &'a str)> {
    let keys = move |index| vec![Key(key), Index(index), Key("name")];
    tables.iter().enumerate().map(move |(index, table)| (keys(index), name(table)))
}

pub(super) fn check_star(star: &StarNetwork, document: &Document) -> Result {
    let place = Place { kind: "star", document };
    place.check_count(&[Key("hosts")], "hosts", star.hosts.len(), 2, MOST_HOSTS)?;
    place.check_names("host", listed("hosts", &star.hosts), &[])?;
    place.check_count(&[Key("networks")], "networks", star.networks.len(), 1, MOST_PATHS)?;
    let addresses = star.hosts.len() * star.networks.len();
    if addresses > MOST_ADDRESSES {
        let message = format!("that makes {addresses} links, more than {MOST_ADDRESSES}");
        return place.wrong(&[Key("networks")], message);
    }
    let names = named("networks", &star.networks, |network: &StarPlan| &network.name);
    place.check_names("network", names, &[])?;
    for (index, network) in star.networks.iter().enumerate() {
        let to = [Key("networks"), Index(index)];
        let keys = [&to[..], &[Key("link")]].concat();
        place.check_link(&keys, &network.link, StarPlan::round_trip(&network.link))?;
        for (at, own) in network.except.iter().enumerate() {
            let keys = |key| [&to[..], &[Key("except"), Index(at), Key(key)]].concat();
            if !star.hosts.contains(&own.host) {
                let hosts = star.hosts.iter().map(String::as_str);
                return place.wrong(&keys("host"), unknown("host", &own.host, hosts));
            }
            if network.except[..at].iter().any(|other| other.host == own.host) {
                let message = format!("there is another link of `{}`", own.host);
                return place.wrong(&keys("host"), message);
            }
            place.check_link(&keys("link"), &own.link, StarPlan::round_trip(&own.link))?;
        }
    }
    Ok(())
}

pub(super) fn check_dumbbell(dumbbell: &DumbbellNetwork, document: &Document) -> Result {
    let place = Place { kind: "dumbbell", document };
    place.check_count(&[Key("paths")], "paths", dumbbell.paths.len(), 1, MOST_PATHS)?;
    let names = named("paths", &dumbbell.paths, |path: &DumbbellPath| &path.name);
    place.check_names("path", names, &[])?;
    for (index, path) in dumbbell.paths.iter().enumerate() {
        let keys = |key| [Key("paths"), Index(index), Key(key)];
        let round_trip = path.round_trip();
        if path.access.rate.is_zero() {
            let rate = [&keys("access")[..], &[Key("rate")]].concat();
            return place.wrong(&rate, "must not be zero");
        }
        let queue = [&keys("access")[..], &[Key("queue")]].concat();
        place.found(&queue, access_queue_problem(&path.access, round_trip))?;
        place.check_link(&keys("bottleneck"), &path.bottleneck, round_trip)?;
        check_cross(&place, &keys("cross"), path)?;
    }
    let hosts = Network::Dumbbell(dumbbell.clone()).hosts().len();
    place.check_count(&[Key("paths")], "hosts", hosts, 2, MOST_HOSTS)
}

fn check_cross(place: &Place<'_>, to: &[Step<'static>], path: &DumbbellPath) -> Result {
    let Some(cross) = &path.cross else { return Ok(()) };
    let keys = |key| [to, &[Key(key)]].concat();
    if cross.pairs == 0 || cross.pairs > MOST_PAIRS {
        let message = format!("there are 1 to {MOST_PAIRS} pairs, not {}", cross.pairs);
        return place.wrong(&keys("pairs"), message);
    }
    if cross.rate.is_zero() {
        return place.wrong(&keys("rate"), "must not be zero");
    }
    let [least, most] = cross.delays();
    if most < least {
        let message = format!("{most} is shorter than the shortest, {least}");
        return place.wrong(&keys("delay_max"), message);
    }
    let shortest = cross.link(least);
    place.found(&keys("queue"), access_queue_problem(&shortest, path.round_trip()))
}

pub(super) fn check_graph(graph: &GraphNetwork, document: &Document) -> Result {
    let place = Place { kind: "graph", document };
    place.check_count(&[Key("hosts")], "hosts", graph.hosts.len(), 2, MOST_HOSTS)?;
    place.check_count(&[Key("routers")], "routers", graph.routers.len(), 0, MOST_HOSTS)?;
    place.check_count(&[Key("links")], "links", graph.links.len(), 1, MOST_LINKS)?;
    place.check_names("node", listed("hosts", &graph.hosts), &[])?;
    place.check_names("node", listed("routers", &graph.routers), &graph.hosts)?;
    place.check_names("link", named("links", &graph.links, |link| &link.name), &[])?;
    for (index, link) in graph.links.iter().enumerate() {
        let keys = |key| [Key("links"), Index(index), Key(key)];
        for (end, name) in link.ends.iter().enumerate() {
            if !graph.nodes().any(|node| node == name) {
                let steps = [&keys("ends")[..], &[Index(end)]].concat();
                return place.wrong(&steps, unknown("node", name, graph.nodes()));
            }
        }
        if link.ends[0] == link.ends[1] {
            return place.wrong(&keys("ends"), "a link joins two nodes, not one with itself");
        }
        if link.network > MAX_NETWORK {
            let message = format!("networks have numbers up to {MAX_NETWORK}");
            return place.wrong(&keys("network"), message);
        }
        if uses_path_bdp(&link.link) {
            let message =
                "a link of a graph is part of no one path: say `link-bdp`, `bytes` or `packets`";
            return place.wrong(&keys("queue"), message);
        }
        place.check_link(&[Key("links"), Index(index)], &link.link, link.link.round_trip())?;
    }
    for (key, names) in [("hosts", &graph.hosts), ("routers", &graph.routers)] {
        for (index, name) in names.iter().enumerate() {
            if !graph.links.iter().any(|link| link.ends.contains(name)) {
                let message = format!("no link ends at `{name}`");
                return place.wrong(&[Key(key), Index(index)], message);
            }
        }
    }
    let is_host = |name: &&String| graph.hosts.contains(name);
    let addresses = graph.links.iter().flat_map(|link| &link.ends).filter(is_host).count();
    place.check_count(&[Key("links")], "links to hosts", addresses, 2, MOST_ADDRESSES)
}

/// Whether the length of a queue depends on the path.
fn uses_path_bdp(link: &Link) -> bool {
    let queues = [Some(link.queue), link.forward.queue, link.backward.queue];
    queues.into_iter().flatten().any(|queue| matches!(queue, Queue::DropTail(QueueLimit::Bdp(_))))
}
