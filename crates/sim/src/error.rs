//! Why a scenario cannot be run.

use polypath_netsim::BuildError;
use polypath_workload::FlowError;

/// Why a scenario cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The network does not fit together.
    #[error(transparent)]
    Network(#[from] BuildError),
    /// A flow makes no sense.
    #[error(transparent)]
    Flow(#[from] FlowError),
}
