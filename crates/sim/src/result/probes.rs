//! Records of the probes of all hosts.

use polypath_netsim::topology::Disjoint;
use polypath_proto::{Association, PathStats};
use polypath_units::Instant;

use crate::host::Host;
use crate::meter::{Series, path_name};
use crate::probe::{ProbeResult, View};
use crate::scenario::{Detail, HostName, Scenario};
use crate::wiring::Wired;

/// Records of all sending hosts, if the scenario has any.
pub(crate) fn gather(
    scenario: &Scenario,
    network: &Wired,
    pairs: &[[Host; 2]],
    ends_at: Instant,
) -> Vec<ProbeResult> {
    let record = &scenario.record;
    if [record.tsns, record.blocking, record.timeouts] == [Detail::Off; 3] {
        return Vec::new();
    }
    views(scenario, network, pairs, ends_at).map(|view| view.result(scenario)).collect()
}

/// Adds the recorded lists to the time series, which are created if necessary.
pub(crate) fn add_lists(
    series: &mut Option<Series>,
    scenario: &Scenario,
    network: &Wired,
    pairs: &[[Host; 2]],
    ends_at: Instant,
) {
    for view in views(scenario, network, pairs, ends_at) {
        let series = series.get_or_insert_default();
        if view.record.tsns == Detail::List {
            series.tsns.push(view.tsn_series());
        }
        if view.record.blocking == Detail::List {
            series.blocking.push(view.blocked_series());
        }
        if view.record.timeouts == Detail::List {
            series.timeouts.push(view.timeout_series());
        }
    }
    for (index, hosts) in pairs.iter().enumerate() {
        for (host, name) in hosts.iter().zip(HostName::ALL) {
            let names = names(&network.pairs[index], &path_stats(host));
            let name_of = |path: usize| names.get(path).cloned().unwrap_or_default();
            let recorder = host.watch().recorder();
            let Some(mut found) = recorder.and_then(|seen| seen.changes(name_of)) else { continue };
            found.pair = scenario.pairs[index].name.clone();
            found.from = scenario.host_name(index, name).to_owned();
            series.get_or_insert_default().changes.push(found);
        }
    }
}

fn path_stats(host: &Host) -> Vec<PathStats> {
    host.association().map(Association::path_stats).unwrap_or_default()
}

fn names(network: &Disjoint, paths: &[PathStats]) -> Vec<String> {
    paths.iter().map(|path| path_name(network, path)).collect()
}

/// All sending hosts, if probes were used.
fn views<'a>(
    scenario: &'a Scenario,
    network: &'a Wired,
    pairs: &'a [[Host; 2]],
    ends_at: Instant,
) -> impl Iterator<Item = View<'a>> {
    pairs.iter().enumerate().zip(&scenario.pairs).flat_map(move |((index, hosts), pair)| {
        HostName::ALL.into_iter().filter_map(move |name| {
            let mut flows = scenario.traffic.iter();
            flows.find(|flow| flow.is_from(index, name))?;
            let (sender, receiver) = (&hosts[name.index()], &hosts[name.peer().index()]);
            let paths = path_stats(sender);
            Some(View {
                record: &scenario.record,
                pair: &pair.name,
                index,
                host_name: scenario.host_name(index, name),
                name,
                seen: sender.watch().recorder()?,
                seen_by_peer: receiver.watch().recorder()?,
                names: names(&network.pairs[index], &paths),
                delivered: receiver.deliveries(),
                peer_paths: path_stats(receiver),
                paths,
                network: &network.pairs[index],
                configs: network.oracles[index].paths(),
                ends_at,
            })
        })
    })
}
