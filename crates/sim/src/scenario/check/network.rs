//! Checks of the network.

use polypath_netsim::impair::Distribution;
use polypath_netsim::queue_discipline::Limit;
use polypath_netsim::{ChannelConfig, Direction, QueueConfig};
use polypath_units::{BitRate, ByteCount, Duration};

use super::super::{Access, Link, Network, Queue, QueueLimit, SharedNetwork, WirePath};
use super::{Result, name_problem, nodes};
use crate::document::{Document, Step};

use Step::{Index, Key};

pub(super) const MOST_PATHS: usize = 32;
const MOST_PAIRS: usize = 1_000;
/// Maximum number of links of a path beside the bottleneck and the access links.
const MOST_FURTHER_LINKS: usize = 64;
/// A smaller queue cannot hold a single packet of common length.
const LEAST_BDP_BYTES: u64 = 1_500;

/// Every link carries IP packets of this length (RFC 791 section 3.2).
const LEAST_MTU: ByteCount = ByteCount::from_bytes(68);

/// A key with its parents, and the error.
pub(super) type Found = (Vec<Step<'static>>, String);

pub(in super::super) fn check(network: &Network, document: &Document) -> Result {
    let to_paths = match network {
        Network::Disjoint(_) => [Key("network"), Key("disjoint"), Key("paths")],
        Network::Shared(shared) => {
            check_pairs(shared, document)?;
            [Key("network"), Key("shared"), Key("routes")]
        }
        Network::Star(star) => return nodes::check_star(star, document),
        Network::Dumbbell(dumbbell) => return nodes::check_dumbbell(dumbbell, document),
        Network::Graph(graph) => return nodes::check_graph(graph, document),
    };
    let paths = network.paths();
    if paths.is_empty() || paths.len() > MOST_PATHS {
        let message = format!("a network has 1 to {MOST_PATHS} paths, not {}", paths.len());
        return Err(document.complain(&to_paths, message));
    }
    for (index, path) in paths.iter().enumerate() {
        let steps = |keys: Vec<Step<'static>>| -> Vec<Step<'static>> {
            to_paths.into_iter().chain([Index(index)]).chain(keys).collect()
        };
        let name = name_problem(&path.name).or_else(|| {
            let twice = paths[..index].iter().any(|other| other.name == path.name);
            twice.then(|| format!("there is another path `{}`", path.name))
        });
        let problem =
            name.map(|message| (vec![Key("name")], message)).or_else(|| path_problem(path));
        if let Some((keys, message)) = problem {
            return Err(document.complain(&steps(keys), message));
        }
        for (keys, _) in links(path) {
            check_loss(&steps(keys), document)?;
        }
    }
    Ok(())
}

/// Rejects loss that is set twice.
pub(super) fn check_loss(to_link: &[Step<'_>], document: &Document) -> Result {
    for way in ["forward", "backward"] {
        let twice = [[Key("loss"), Key(way)], [Key(way), Key("loss")]]
            .map(|last| [to_link, &last[..]].concat());
        if twice.iter().all(|steps| document.has(steps)) {
            let message = format!("loss.{way} says the same; one of them is enough");
            return Err(document.complain(&twice[1], message));
        }
    }
    Ok(())
}

fn check_pairs(network: &SharedNetwork, document: &Document) -> Result {
    let to_pairs = [Key("network"), Key("shared"), Key("pairs")];
    let wrong = |keys: &[Step<'static>], message: String| {
        let steps: Vec<Step<'_>> = to_pairs.iter().chain(keys).copied().collect();
        Err(document.complain(&steps, message))
    };
    if let Some(index) = network.routes.iter().position(|route| route.access.is_some()) {
        let steps = [Key("network"), Key("shared"), Key("routes"), Index(index), Key("access")];
        return Err(document.complain(&steps, "a route has none: the paths of the pairs have them"));
    }
    if network.pairs.is_empty() || network.pairs.len() > MOST_PAIRS {
        return wrong(
            &[],
            format!("there are 1 to {MOST_PAIRS} pairs, not {}", network.pairs.len()),
        );
    }
    for (index, pair) in network.pairs.iter().enumerate() {
        if let Some(message) = name_problem(&pair.name) {
            return wrong(&[Index(index), Key("name")], message);
        }
        if network.pairs[..index].iter().any(|other| other.name == pair.name) {
            return wrong(
                &[Index(index), Key("name")],
                format!("there is another pair `{}`", pair.name),
            );
        }
        if pair.paths.is_empty() || pair.paths.len() > MOST_PATHS {
            let message = format!("a pair has 1 to {MOST_PATHS} paths, not {}", pair.paths.len());
            return wrong(&[Index(index), Key("paths")], message);
        }
        for (at, path) in pair.paths.iter().enumerate() {
            let to = |key| [Index(index), Key("paths"), Index(at), Key(key)];
            if let Some(message) = name_problem(&path.name) {
                return wrong(&to("name"), message);
            }
            if pair.paths[..at].iter().any(|other| other.name == path.name) {
                return wrong(&to("name"), format!("there is another path `{}`", path.name));
            }
            if path.access.rate.is_zero() {
                return wrong(&to("access"), "the rate must not be zero".into());
            }
            let Some(route) = network.routes.iter().find(|route| route.name == path.route) else {
                return wrong(&to("route"), format!("there is no route `{}`", path.route));
            };
            let round_trip = path.over(route).round_trip();
            let found = access_queue_problem(&path.access, round_trip);
            if let Some((last, message)) = found {
                let keys = to("access").into_iter().chain([Key("queue")]).chain(last);
                return wrong(&keys.collect::<Vec<_>>(), message);
            }
        }
    }
    Ok(())
}

/// The links of a path except access links, with the keys that lead to them.
fn links(path: &WirePath) -> impl Iterator<Item = (Vec<Step<'static>>, &Link)> {
    let all = |key, links: &'_ [Link]| -> Vec<Vec<Step<'static>>> {
        (0..links.len()).map(|index| vec![Key(key), Index(index)]).collect()
    };
    let keys = all("before", &path.before).into_iter().chain([vec![Key("bottleneck")]]);
    keys.chain(all("after", &path.after)).zip(path.links())
}

fn path_problem(path: &WirePath) -> Option<Found> {
    for (key, further) in [("before", &path.before), ("after", &path.after)] {
        if further.len() > MOST_FURTHER_LINKS {
            let message =
                format!("there are {} links, more than {MOST_FURTHER_LINKS}", further.len());
            return Some((vec![Key(key)], message));
        }
    }
    let round_trip = path.round_trip();
    if let Some(access) = &path.access {
        let at = |key| vec![Key("access"), Key(key)];
        if access.rate.is_zero() {
            return Some((at("rate"), "must not be zero".into()));
        }
        if let Some((last, message)) = access_queue_problem(access, round_trip) {
            return Some((at("queue").into_iter().chain(last).collect(), message));
        }
    }
    links(path).find_map(|(keys, link)| {
        let (last, message) = link_problem(link, round_trip)?;
        Some((keys.into_iter().chain(last).collect(), message))
    })
}

pub(super) fn link_problem(link: &Link, round_trip: Duration) -> Option<Found> {
    let mtus = [
        (None, link.mtu),
        (Some("forward"), link.forward.mtu),
        (Some("backward"), link.backward.mtu),
    ];
    for (side, mtu) in mtus {
        if let Some(message) = mtu.and_then(mtu_problem) {
            return Some((side.into_iter().chain(["mtu"]).map(Key).collect(), message));
        }
    }
    let sides = [
        (vec![], link.rate, &link.jitter),
        (vec![Key("forward")], link.forward.rate.unwrap_or(link.rate), &link.forward.jitter),
        (vec![Key("backward")], link.backward.rate.unwrap_or(link.rate), &link.backward.jitter),
    ];
    for (keys, rate, jitter) in sides {
        let at = |last: &[&'static str]| -> Vec<Step<'static>> {
            keys.iter().copied().chain(last.iter().map(|key| Key(key))).collect()
        };
        if rate.is_zero() {
            return Some((at(&["rate"]), "must not be zero".into()));
        }
        if let Some(Distribution::Uniform(range)) = jitter.map(|jitter| jitter.extra)
            && range.from > range.to
        {
            let message = format!("{} is longer than the longest, {}", range.from, range.to);
            return Some((at(&["jitter", "extra", "uniform", "from"]), message));
        }
    }
    let queues = [
        (vec![], Direction::Forward, link.forward.queue),
        (vec![], Direction::Backward, link.backward.queue),
    ];
    for (mut keys, direction, own) in queues {
        let ChannelConfig { rate, delay, .. } = link.channel(direction, round_trip);
        let found = queue_problem(own.unwrap_or(link.queue), rate, delay, round_trip);
        if let Some((last, message)) = found {
            if own.is_some() {
                keys.push(Key(match direction {
                    Direction::Forward => "forward",
                    Direction::Backward => "backward",
                }));
            }
            keys.push(Key("queue"));
            keys.extend(last);
            return Some((keys, message));
        }
    }
    None
}

/// What is wrong with the MTU of a link.
pub(super) fn mtu_problem(mtu: ByteCount) -> Option<String> {
    (mtu < LEAST_MTU)
        .then(|| format!("{mtu} is less than {LEAST_MTU}, which every link carries (RFC 791)"))
}

/// The same for the queue of an access link.
pub(super) fn access_queue_problem(access: &Access, round_trip: Duration) -> Option<Found> {
    queue_problem(access.queue, access.rate, access.delay, round_trip)
}

/// Keys below that of a queue, and the error.
fn queue_problem(
    queue: Queue,
    rate: BitRate,
    delay: Duration,
    round_trip: Duration,
) -> Option<Found> {
    let config = queue.resolve(rate, delay, round_trip);
    let discipline = match queue {
        Queue::DropTail(QueueLimit::Bdp(times)) => {
            let time = format!("{round_trip} there and back");
            return bdp_problem(times, config, rate, &time).map(|message| (vec![], message));
        }
        Queue::DropTail(QueueLimit::LinkBdp(times)) => {
            let time = format!("{delay} one way");
            return bdp_problem(times, config, rate, &time).map(|message| (vec![], message));
        }
        Queue::DropTail(_) => "drop-tail",
        Queue::Red(_) => "red",
        Queue::Codel(_) => "codel",
        Queue::FqCodel(_) => "fq-codel",
    };
    config.problem().map(|(key, message)| (vec![Key(discipline), Key(key)], message))
}

fn bdp_problem(times: f64, config: QueueConfig, rate: BitRate, time: &str) -> Option<String> {
    if !(times.is_finite() && times > 0.0) {
        return Some(format!("{times} times the bandwidth-delay product is no length of a queue"));
    }
    match config {
        QueueConfig::DropTail(Limit::Bytes(bytes)) if bytes.as_bytes() < LEAST_BDP_BYTES => {
            Some(format!(
                "{times} times the bandwidth-delay product ({rate}, {time}) is {bytes}, less \
                 than a packet of {LEAST_BDP_BYTES} B"
            ))
        }
        _ => None,
    }
}
