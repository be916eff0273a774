//! The best single path, measured before all of them together.

use std::net::IpAddr;

use polypath::{AssociationConfig, PathStats};

use super::client::{Target, connect, measure};
use super::document::{Alone, Document, Gain};
use super::options::ClientOptions;
use super::reporter::Reporter;
use super::snapshot::path_name;
use super::text;
use super::thresholds::received;
use crate::failure::Failure;
use crate::runtime::{self, Interruption};

/// Why there is nothing to compare with.
#[derive(Debug)]
pub(crate) struct Broken {
    pub failure: Failure,
    /// What was measured of a path alone, as far as it came.
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

/// Measures each path alone, with the same options as all together later. Where that breaks off, what there is of the last
/// one comes with the failure.
pub(crate) async fn alone(
    target: &Target,
    options: &ClientOptions,
    reporter: &mut Reporter,
    interruption: &Interruption,
) -> Result<Vec<Alone>, Broken> {
    let mut measured = Vec::new();
    for path in paths(target, options, interruption).await? {
        let name = path_name(&path);
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
        measured.push(Alone {
            path: name,
            local_host: path.local,
            remote_host: path.remote,
            bits_per_second: rate(&document),
        });
    }
    Ok(measured)
}

/// All paths together against the best of those alone; nothing where none worked.
pub(crate) fn gain(together: &Document, alone: Vec<Alone>) -> Option<Gain> {
    let bits_per_second = rate(together)?;
    let best = alone.iter().filter_map(|alone| alone.bits_per_second).fold(0.0, f64::max);
    (best > 0.0).then(|| Gain { ratio: bits_per_second / best, bits_per_second, alone })
}

fn rate(document: &Document) -> Option<f64> {
    document.complete.then(|| received(&document.end)).flatten()
}

/// The paths that there are.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::document::Sum;

    #[test]
    fn the_best_path_alone_is_the_measure() {
        let alone = |rate| Alone {
            path: "path0".to_owned(),
            local_host: IpAddr::from([192, 0, 2, 1]),
            remote_host: IpAddr::from([192, 0, 2, 2]),
            bits_per_second: rate,
        };
        let mut document = crate::meter::start::document();
        document.end.sum_received = Some(Sum { bits_per_second: 3e6, ..Sum::default() });
        let both = || vec![alone(Some(1e6)), alone(None), alone(Some(2e6))];
        assert_eq!(gain(&document, both()), None, "it is not complete");
        document.complete = true;
        assert_eq!(gain(&document, both()).map(|gain| gain.ratio), Some(1.5));
        assert_eq!(gain(&document, vec![alone(None)]), None);
    }
}
