//! `--qlog DIR`: traces of associations, in simulations and on the network.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use polypath::{BoxedProbe, EndpointBuilder, Initiator, ObservedAssociation, Observer};
use polypath_qlog::{Ends, Limits, QlogDirectory, TraceHeader, VantagePoint, WhenFull, WriteError};
use polypath_sim::Simulation;

use crate::failure::{Failure, Outcome};
use crate::output::tell;

/// Limits for the traces of a command that peers connect to.
const LIMITS: Limits = Limits { traces: 10_000, bytes: 10_000_000_000 };

/// The option.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct QlogArgs {
    /// Write a trace of each association to a file in this directory, in qlog (docs/qlog.md)
    #[arg(long, value_name = "DIR")]
    qlog: Option<PathBuf>,
}

/// The traces of a command, if requested.
#[derive(Debug)]
pub(crate) struct Qlog(Option<QlogDirectory>);

impl QlogArgs {
    /// Opens the directory for a command on the network, which never blocks on its traces.
    pub(crate) fn of_network(&self) -> Result<Qlog, Failure> {
        self.open(WhenFull::LeaveOut, Limits::NONE)
    }

    /// The same for a command that waits for peers, which may begin any number of associations.
    pub(crate) fn of_server(&self) -> Result<Qlog, Failure> {
        self.open(WhenFull::LeaveOut, LIMITS)
    }

    /// Opens the directory for a simulation.
    pub(crate) fn of_simulation(&self) -> Result<Qlog, Failure> {
        self.open(WhenFull::Wait, Limits::NONE)
    }

    fn open(&self, when_full: WhenFull, limits: Limits) -> Result<Qlog, Failure> {
        let open = |folder: &PathBuf| QlogDirectory::open_within(folder, when_full, limits);
        Ok(Qlog(self.qlog.as_ref().map(open).transpose().map_err(Failure::usage)?))
    }
}

impl Qlog {
    /// The observer for the associations of `polypath COMMAND`.
    pub(crate) fn observer(&self, command: &'static str) -> Option<Arc<dyn Observer>> {
        let traces = self.0.as_ref()?.traces();
        Some(Arc::new(move |begins: &ObservedAssociation| {
            let vantage_point = match begins.initiator {
                Initiator::Local => VantagePoint::Client,
                Initiator::Peer => VantagePoint::Server,
            };
            let mut header = TraceHeader::new(format!("polypath {command}"), vantage_point);
            header.origin = begins.begins;
            header.wall_clock = Some(SystemTime::now());
            header.ends = Some(Ends {
                local_port: begins.local_port,
                remote_port: begins.remote_port,
                remote_addresses: begins.remote_addresses.clone(),
            });
            let prefix = command.replace(' ', "-");
            Some(Box::new(traces.begin_numbered(&prefix, header)) as BoxedProbe)
        }))
    }

    /// Makes an endpoint of `polypath COMMAND` write traces.
    pub(crate) fn attach(
        &self,
        builder: EndpointBuilder,
        command: &'static str,
    ) -> EndpointBuilder {
        match self.observer(command) {
            Some(observer) => builder.observer(observer),
            None => builder,
        }
    }

    /// Makes a simulation write traces, in files named after the scenario.
    pub(crate) fn observe(&self, simulation: &mut Simulation<'_>, scenario: &Path) {
        let Some(directory) = &self.0 else { return };
        let traces = directory.traces();
        let stem = scenario.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let title = format!("polypath sim {}", scenario.display());
        let observer = move |begins: &polypath_sim::ObservedAssociation| {
            let vantage_point =
                if begins.is_client { VantagePoint::Client } else { VantagePoint::Server };
            let mut header = TraceHeader::new(&title, vantage_point);
            header.host = Some(begins.host.clone());
            header.ends = Some(Ends {
                local_port: begins.local_port,
                remote_port: begins.remote_port,
                remote_addresses: begins.remote_addresses.clone(),
            });
            let names = [stem.as_str(), &begins.pair, &begins.host];
            let names: Vec<&str> = names.into_iter().filter(|name| !name.is_empty()).collect();
            Some(Box::new(traces.begin(&names.join("-"), header)) as BoxedProbe)
        };
        simulation.observe(&(Arc::new(observer) as Arc<dyn polypath_sim::Observer>));
    }

    /// Ends the traces of a command that ended with `outcome`. A trace that could not be written is a failure if the command
    /// itself succeeded; gaps only cause a warning.
    pub(crate) fn end(self, outcome: Outcome) -> Outcome {
        let written = self.0.map_or(Ok(()), QlogDirectory::finish);
        match (outcome, written) {
            (outcome, Ok(())) => outcome,
            (outcome, Err(gaps @ (WriteError::Missed { .. } | WriteError::Beyond { .. }))) => {
                tell(format_args!("warning: {gaps}"));
                outcome
            }
            (Ok(()), Err(error)) => Err(Failure::Failed(error.into())),
            (Err(failure), Err(error)) => {
                tell(format_args!("error: {error}"));
                Err(failure)
            }
        }
    }
}
