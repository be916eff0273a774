//! Requests to change the local addresses of an endpoint.

use polypath_proto::LocalAddressChange;
use tokio::sync::oneshot;

use crate::error::BindError;

/// A request of a handle, and the receiver of its result.
#[derive(Debug)]
pub(crate) struct Rebind {
    pub(crate) change: LocalAddressChange,
    /// The interface for an added address; `None`: the previous one, if any.
    pub(crate) device: Option<String>,
    pub(crate) done: oneshot::Sender<Result<(), BindError>>,
}
