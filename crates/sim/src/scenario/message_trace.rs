//! Message traces: files beside the scenario.

use std::sync::Arc;

use polypath_workload::{MessageTrace, Source};

use super::Flow;
use super::text_file::TextFile;
use crate::document::{Document, DocumentError, Place, Step};

use Step::{Index, Key};

/// Reads the files of all flows with a message trace.
pub(super) fn load(traffic: &mut [Flow], document: &Document) -> Result<(), DocumentError> {
    for (index, flow) in traffic.iter_mut().enumerate() {
        let Source::Trace(trace) = &mut flow.source else { continue };
        let steps = [Key("traffic"), Index(index), Key("source"), Key("trace")];
        let TextFile { name, text, digest } =
            TextFile::beside(document, &steps, &trace.file, trace.digest.as_deref())?;
        let content = MessageTrace::from_csv(&text).map_err(|error| DocumentError {
            place: Place::File { name, line: error.line, column: 1 },
            message: error.message,
            ..document.complain(&steps, "")
        })?;
        trace.digest = Some(digest);
        trace.content = Some(Arc::new(content));
    }
    Ok(())
}
