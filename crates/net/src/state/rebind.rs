//! Wishes to change the local addresses of an endpoint.

use polypath_proto::LocalAddressChange;
use tokio::sync::oneshot;

use crate::error::BindError;

/// A wish of a handle, and where its outcome is told.
#[derive(Debug)]
pub(crate) struct Rebind {
    pub(crate) change: LocalAddressChange,
    /// The interface that an added address is to be bound to; otherwise the one of before, if any.
    pub(crate) device: Option<String>,
    pub(crate) done: oneshot::Sender<Result<(), BindError>>,
}
