//! Traces of links, from files beside the scenario.

use std::path::Path;
use std::sync::Arc;

use polypath_netsim::impair::{AfterEnd, RateTrace};
use polypath_units::ByteCount;
use serde::{Deserialize, Serialize};

use super::text_file::TextFile;
use super::{Link, Network};
use crate::document::{Document, DocumentError, Place, Step};

use Step::Key;

/// A file with what a link can carry over time.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TraceFile {
    /// Its name; a relative one starts from the folder of the scenario.
    pub file: String,
    /// How it is written; a file `….csv` is a table, any other one of Mahimahi.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<TraceFormat>,
    /// What happens at the end of a table; one of Mahimahi always repeats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_end: Option<AfterEnd>,
    /// What each opportunity of Mahimahi carries of IP packets; 1500 B where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opportunity: Option<ByteCount>,
    /// Hash of its content. Another content is an error where it is given.
    #[serde(default)]
    pub digest: Option<String>,
    #[serde(skip)]
    content: Option<Arc<RateTrace>>,
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
    let content = content.map_err(|error| DocumentError {
        place: Place::File { name: name.clone(), line: error.line, column: 1 },
        message: error.message,
        ..document.complain(&at("file"), "")
    })?;
    trace.digest = Some(digest);
    trace.content = Some(Arc::new(content));
    Ok(())
}
