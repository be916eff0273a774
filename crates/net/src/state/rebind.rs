//! Requests to change the local addresses of an endpoint.

use polypath_proto::LocalAddressChange;
use tokio::sync::oneshot;

use crate::error::BindError;

/// A request of a handle, and where its outcome goes.
#[derive(Debug)]
pub(crate) struct Rebind {
    pub(crate) change: LocalAddressChange,
    /// The interface to bind an added address to; if `None`, the one that it was bound to before, if any.
    pub(crate) device: Option<String>,
    pub(crate) done: oneshot::Sender<Result<(), BindError>>,
}
