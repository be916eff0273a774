//! Parameters of associations initiated by peers.

use std::fmt;
use std::sync::Arc;

use polypath_proto::config::{AssociationOptions, ConfigError};
use polypath_proto::{Association as Protocol, AssociationId};

use crate::clock::Context;
use crate::probe::{Initiator, ObservedAssociation};

type Choose = dyn Fn(&ObservedAssociation) -> AssociationOptions + Send + Sync;

/// The program's choice of parameters, if it makes one.
#[derive(Clone, Default)]
pub(crate) struct AcceptOptions(pub(crate) Option<Arc<Choose>>);

impl AcceptOptions {
    /// Applies the program's parameters to an association that a peer has just initiated.
    ///
    /// # Errors
    ///
    /// A value of the program is invalid.
    pub(crate) fn apply(
        &self,
        id: AssociationId,
        protocol: &mut Protocol,
        context: &mut Context,
    ) -> Result<(), ConfigError> {
        let Some(choose) = &self.0 else { return Ok(()) };
        let now = context.last();
        let options = choose(&ObservedAssociation::of(id, Initiator::Peer, protocol, now));
        context.lend(now, |cx| protocol.set_options(cx, &options))
    }
}

impl fmt::Debug for AcceptOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_set = if self.0.is_some() { "set" } else { "unset" };
        f.debug_tuple("AcceptOptions").field(&is_set).finish()
    }
}
