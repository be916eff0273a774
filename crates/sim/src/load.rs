//! Reads scenarios, and checks what only the resulting network shows.

use std::path::Path;

use polypath_netsim::NetworkBuilder;

use crate::document::{Document, DocumentError, Step};
use crate::scenario::{GraphNetwork, Network, Scenario};
use crate::wiring::{self, Wired};

use Step::{Index, Key};

impl Scenario {
    /// Reads the file at `path` and applies `edits` of the form `key.to.value=value`.
    ///
    /// # Errors
    /// See [`Scenario::from_document`].
    pub fn read<S: AsRef<str>>(path: &Path, edits: &[S]) -> Result<Self, DocumentError> {
        let mut document = Document::read(path)?;
        for edit in edits {
            document.set(edit.as_ref())?;
        }
        Self::from_document(&document)
    }

    /// Reads a document.
    ///
    /// # Errors
    /// A key is unknown or missing, or a value is invalid; the error says where and why.
    pub fn from_document(document: &Document) -> Result<Self, DocumentError> {
        let scenario = Self::without_network(document)?;
        check_ways(&scenario, document)?;
        Ok(scenario)
    }
}

/// Checks that each flow has a route, and that each network of a graph connects hosts.
fn check_ways(scenario: &Scenario, document: &Document) -> Result<(), DocumentError> {
    if !scenario.network.has_named_hosts() {
        return Ok(());
    }
    let seed = scenario.run.seed;
    let wired = match wiring::wire(scenario, seed, &mut NetworkBuilder::new()) {
        Ok(wired) => wired,
        Err(error) => return Err(document.complain(&[Key("network")], error.to_string())),
    };
    if let Network::Graph(graph) = &scenario.network {
        check_networks(graph, &wired, document)?;
    }
    let hosts = scenario.network.hosts();
    for (index, flow) in scenario.traffic.iter().enumerate() {
        if wired.between(flow.ends.hosts, None).is_none() {
            let [from, to] = flow.ends.hosts.map(|host| &hosts[host].name);
            let message =
                format!("no network has links all the way from `{from}` to `{to}` and back");
            return Err(document.complain(&[Key("traffic"), Index(index), Key("to")], message));
        }
    }
    Ok(())
}

fn check_networks(
    graph: &GraphNetwork,
    wired: &Wired,
    document: &Document,
) -> Result<(), DocumentError> {
    let hosts = 0..graph.hosts.len();
    let ends: Vec<[usize; 2]> = hosts
        .clone()
        .flat_map(|a| hosts.clone().map(move |b| [a, b]))
        .filter(|[a, b]| a != b)
        .collect();
    let mut known = Vec::new();
    for (index, link) in graph.links.iter().enumerate() {
        if link.network == 0 || known.contains(&link.network) {
            continue;
        }
        known.push(link.network);
        let name = link.network.to_string();
        if !ends.iter().any(|ends| wired.has_way(*ends, &name)) {
            let message = format!("network {name} joins no two hosts");
            let steps = [Key("network"), Key("graph"), Key("links"), Index(index), Key("network")];
            return Err(document.complain(&steps, message));
        }
    }
    Ok(())
}
