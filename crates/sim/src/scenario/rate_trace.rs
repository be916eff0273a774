//! Traces of links, from files beside the scenario.

use std::path::Path;
use std::sync::Arc;

use polypath_netsim::Streams;
use polypath_netsim::impair::{AfterEnd, RateTrace};
use polypath_units::{ByteCount, Duration};
use rand_core::Rng;
use serde::{Deserialize, Serialize};

use super::text_file::TextFile;
use super::{Link, Network, Scenario, WirePath};
use crate::document::{Document, DocumentError, Place, Step};

use Step::Key;

/// A file with what a link can carry over time.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, expecting = "a table, for example { file = \"lte.csv\" }")]
pub struct TraceFile {
    /// Its name; a relative one starts from the folder of the scenario.
    pub file: String,
    /// How it is written; a file `….csv` is a table, any other one of Mahimahi.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<TraceFormat>,
    /// What happens at the end of a table; one of Mahimahi always repeats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_end: Option<AfterEnd>,
    /// Where a run begins in it. Default: at its beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begin: Option<TraceBegin>,
    /// Bytes of IP packets that each opportunity of Mahimahi carries. Default: 1500 B.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opportunity: Option<ByteCount>,
    /// Hash of its content. Another content is an error where it is given.
    #[serde(default)]
    pub digest: Option<String>,
    #[serde(skip)]
    content: Option<Arc<RateTrace>>,
}

/// Where in a trace a run begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    rename_all = "kebab-case",
    expecting = "a place in the trace, for example { at = \"10 s\" } or \"anywhere\""
)]
pub enum TraceBegin {
    /// So far into it.
    At(Duration),
    /// Anywhere, drawn for each run: all traces of a run that say so begin after the same part of their cycles, so that
    /// traces that were recorded together stay together.
    Anywhere,
}

/// How a trace is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum TraceFormat {
    /// Times of opportunities in ms, one in each line.
    Mahimahi,
    /// A table of rate, delay and loss.
    Csv,
}

const OPPORTUNITY: ByteCount = ByteCount::from_bytes(1_500);

impl TraceFile {
    /// What was read from it.
    pub fn content(&self) -> Option<Arc<RateTrace>> {
        self.content.clone()
    }

    /// How it is written.
    fn format(&self) -> TraceFormat {
        let is_table = Path::new(&self.file).extension().is_some_and(|end| end == "csv");
        self.format.unwrap_or(if is_table { TraceFormat::Csv } else { TraceFormat::Mahimahi })
    }

    /// A key that the format has no use for.
    fn misplaced(&self) -> Option<(&'static str, &'static str)> {
        match self.format() {
            TraceFormat::Mahimahi if self.after_end.is_some() => {
                Some(("after_end", "a trace of Mahimahi always repeats"))
            }
            TraceFormat::Csv if self.opportunity.is_some() => {
                Some(("opportunity", "a table of rates has none"))
            }
            _ => None,
        }
    }
}

/// Reads the files of all traces.
pub(super) fn load(network: &mut Network, document: &Document) -> Result<(), DocumentError> {
    for (steps, link) in network.written_links() {
        load_link(link, &steps, document)?;
    }
    Ok(())
}

fn load_link(
    link: &mut Link,
    steps: &[Step<'_>],
    document: &Document,
) -> Result<(), DocumentError> {
    let sides = [
        (None, &mut link.rate_trace),
        (Some("forward"), &mut link.forward.rate_trace),
        (Some("backward"), &mut link.backward.rate_trace),
    ];
    for (side, trace) in sides {
        let Some(trace) = trace else { continue };
        let keys = side.into_iter().chain(["rate_trace"]).map(Key);
        let steps: Vec<Step<'_>> = steps.iter().copied().chain(keys).collect();
        load_trace(trace, &steps, document)?;
    }
    Ok(())
}

fn load_trace(
    trace: &mut TraceFile,
    steps: &[Step<'_>],
    document: &Document,
) -> Result<(), DocumentError> {
    let at = |key: &'static str| [steps, &[Key(key)]].concat();
    if let Some((key, message)) = trace.misplaced() {
        return Err(document.complain(&at(key), message));
    }
    let TextFile { name, text, digest } =
        TextFile::beside(document, steps, &trace.file, trace.digest.as_deref())?;
    let content = match trace.format() {
        TraceFormat::Mahimahi => {
            RateTrace::from_mahimahi(&text, trace.opportunity.unwrap_or(OPPORTUNITY))
        }
        TraceFormat::Csv => RateTrace::from_csv(&text, trace.after_end.unwrap_or_default()),
    };
    let mut content = content.map_err(|error| DocumentError {
        place: Place::File { name: name.clone(), line: error.line, column: 1 },
        message: error.message,
        ..document.complain(&at("file"), "")
    })?;
    if let Some(begin) = trace.begin {
        content =
            begun(content, begin).map_err(|message| document.complain(&at("begin"), message))?;
    }
    // What the name of the file said is said without it, too.
    trace.format = Some(trace.format());
    trace.digest = Some(digest);
    trace.content = Some(Arc::new(content));
    Ok(())
}

/// A trace that a run can begin there; where that is drawn, it is still to be.
fn begun(content: RateTrace, begin: TraceBegin) -> Result<RateTrace, String> {
    let Some(period) = content.period() else {
        return Err("a trace that does not repeat has one begin: say after_end = \"repeat\"".into());
    };
    match begin {
        TraceBegin::Anywhere => Ok(content),
        TraceBegin::At(at) if at >= period => Err(format!("the trace is {period} long")),
        TraceBegin::At(at) => Ok(content.begun_at(at)),
    }
}

/// The scenario with its traces as the run of this seed begins them; nothing where no trace leaves that open.
pub(crate) fn drawn(scenario: &Scenario, seed: u64) -> Option<Scenario> {
    let links = scenario.network.paths().iter().flat_map(WirePath::links);
    let named = scenario.network.named_links();
    let mut all = links.chain(named.into_iter().map(|(_, link)| link));
    let is_open = |trace: &TraceFile| trace.begin == Some(TraceBegin::Anywhere);
    if !all.any(|link| link.traces().any(is_open)) {
        return None;
    }
    let part = Streams::new(seed).stream("traces").next_u64();
    let mut drawn = scenario.clone();
    for (_, link) in drawn.network.written_links() {
        for trace in link.traces_mut().filter(|trace| is_open(trace)) {
            let Some(content) = &mut trace.content else { continue };
            let period = content.period().unwrap_or(Duration::ZERO).as_nanos();
            let offset = (u128::from(part) * u128::from(period)) >> 64;
            *content = Arc::new(content.begun_at(Duration::from_nanos(offset as u64)));
        }
    }
    Some(drawn)
}
