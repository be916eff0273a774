//! Traces of link capacity, from files beside the scenario.

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

/// A file with the capacity of a link over time.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, expecting = "a table, for example { file = \"lte.csv\" }")]
pub struct TraceFile {
    /// Name of the file, relative to the folder of the scenario.
    pub file: String,
    /// Format of the file. Default: a table if the name ends in `.csv`, else Mahimahi's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<TraceFormat>,
    /// What follows the end of a table. Traces of Mahimahi always repeat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_end: Option<AfterEnd>,
    /// Position at which a run begins. Default: the start of the trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begin: Option<TraceBegin>,
    /// Bytes of IP packets per delivery opportunity of Mahimahi. Default: 1500 B.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opportunity: Option<ByteCount>,
    /// Hash of the content. If set, a file with other content is an error.
    #[serde(default)]
    pub digest: Option<String>,
    #[serde(skip)]
    content: Option<Arc<RateTrace>>,
}

/// Position in a trace at which a run begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    rename_all = "kebab-case",
    expecting = "a place in the trace, for example { at = \"10 s\" } or \"anywhere\""
)]
pub enum TraceBegin {
    /// This long after its start.
    At(Duration),
    /// Drawn for each run. All such traces of a run are shifted by the same fraction of their length, so that traces
    /// that were recorded together stay aligned.
    Anywhere,
}

/// Format of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum TraceFormat {
    /// Delivery opportunities in ms, one per line.
    Mahimahi,
    /// A table of rate, delay and loss.
    Csv,
}

const OPPORTUNITY: ByteCount = ByteCount::from_bytes(1_500);

impl TraceFile {
    /// Its content, once it was read.
    pub fn content(&self) -> Option<Arc<RateTrace>> {
        self.content.clone()
    }

    /// Its format.
    fn format(&self) -> TraceFormat {
        let is_table = Path::new(&self.file).extension().is_some_and(|end| end == "csv");
        self.format.unwrap_or(if is_table { TraceFormat::Csv } else { TraceFormat::Mahimahi })
    }

    /// A key that does not apply to its format.
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
    // The format is set even if the name implied it.
    trace.format = Some(trace.format());
    trace.digest = Some(digest);
    trace.content = Some(Arc::new(content));
    Ok(())
}

/// A trace whose start is `begin`; a random start is not drawn yet.
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

/// The scenario with the trace positions of this seed; none if no position is random.
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
