//! Why a scenario cannot be run.

use polypath_netsim::BuildError;
use polypath_workload::FlowError;

/// Why a scenario cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The network is inconsistent.
    #[error(transparent)]
    Network(#[from] BuildError),
    /// A flow is invalid.
    #[error(transparent)]
    Flow(#[from] FlowError),
}
