//! Parameters of associations that peers begin.

use std::fmt;
use std::sync::Arc;

use polypath_proto::config::{AssociationOptions, ConfigError};
use polypath_proto::{Association as Protocol, AssociationId};

use crate::clock::Context;
use crate::probe::{Initiator, ObservedAssociation};

type Choose = dyn Fn(&ObservedAssociation) -> AssociationOptions + Send + Sync;

/// Chooses them, where the program wants that.
#[derive(Clone, Default)]
pub(crate) struct AcceptOptions(pub(crate) Option<Arc<Choose>>);

impl AcceptOptions {
    /// Gives an association that a peer has just begun its own parameters.
    ///
    /// # Errors
    ///
    /// What the program has chosen cannot be used.
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
