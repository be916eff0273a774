//! The best single path, measured before all paths together.

use std::net::IpAddr;

use polypath::{AssociationConfig, PathStats};
use polypath_meter::document::{Alone, Document};

use super::client::{Target, connect, measure};
use super::options::ClientOptions;
use super::reporter::Reporter;
use super::text;
use crate::failure::Failure;
use crate::runtime::{self, Interruption};

/// Failure to measure the single paths.
#[derive(Debug)]
pub(crate) struct Broken {
    pub failure: Failure,
    /// The partial measurement of a path alone.
    pub document: Option<Box<Document>>,
}

impl From<Failure> for Broken {
    fn from(failure: Failure) -> Self {
        Self { failure, document: None }
    }
}

impl From<anyhow::Error> for Broken {
    fn from(error: anyhow::Error) -> Self {
        Failure::Failed(error).into()
    }
}

/// Measures each path alone, with the options that all paths together will have. A failure contains the partial measurement of
/// the last path.
pub(crate) async fn alone(
    target: &Target,
    options: &ClientOptions,
    reporter: &mut Reporter,
    interruption: &Interruption,
) -> Result<Vec<Alone>, Broken> {
    let mut measured = Vec::new();
    for path in paths(target, options, interruption).await? {
        let name = path.path;
        reporter.remark(&format!("{name} alone: {} -> {}", path.local, path.remote));
        let (document, outcome) =
            measure(&single(target, path.local, path.remote), options, reporter, interruption)
                .await;
        match outcome {
            Ok(()) | Err(Failure::CannotConnect(_)) => {}
            Err(failure) => {
                measured.iter().for_each(|alone| reporter.remark(&text::alone(alone)));
                return Err(Broken { failure, document: Some(Box::new(document)) });
            }
        }
        if let Some(error) = &document.error {
            reporter.remark(&format!("{name} does not work alone: {error}"));
        }
        measured.push(Alone::new(&path, &document));
    }
    Ok(measured)
}

/// The paths of the association.
async fn paths(
    target: &Target,
    options: &ClientOptions,
    interruption: &Interruption,
) -> Result<Vec<PathStats>, Failure> {
    let endpoint = runtime::bind(target.builder())?;
    let connected = tokio::select! {
        connected = connect(&endpoint, target, options) => connected,
        () = interruption.happened() => Err(Failure::Interrupted),
    };
    let paths = connected.map(|association| {
        let paths = association.path_stats();
        association.abort("the paths are known");
        paths
    });
    runtime::drain(&endpoint, interruption).await;
    paths
}

fn single(target: &Target, local: IpAddr, remote: IpAddr) -> Target {
    let config = AssociationConfig { max_paths: 1, ..target.config.clone() };
    let from = target.from.iter().filter(|from| from.address == local).cloned().collect();
    Target { from, to: vec![remote], config, ..target.clone() }
}
