//! How the association of a run went.

use polypath_proto::AssociationEnd;
use serde::Serialize;

use crate::host::{Host, Outcome};
use crate::scenario::HostName;

/// How the association went.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct AssociationResult {
    /// When the client was established.
    pub established_s: Option<f64>,
    /// In one word or two.
    pub state: &'static str,
    /// Whether it ended otherwise than by a shutdown, or never began.
    pub failed: bool,
}

impl AssociationResult {
    /// Where nothing goes over an association.
    pub(super) fn none() -> Self {
        Self { established_s: None, state: "none", failed: false }
    }

    /// What became of the association: as the client saw it, or, if only the server saw it fail, as the server did.
    pub(super) fn gather(hosts: &[Host; 2], client: HostName) -> Self {
        let client = client.index();
        let (mut state, mut failed) = outcome_name(&hosts[client]);
        if !failed && let Outcome::Ended(_) = hosts[1 - client].outcome() {
            let (server_state, server_failed) = outcome_name(&hosts[1 - client]);
            if server_failed {
                (state, failed) = (server_state, true);
            }
        }
        let established_s = hosts[client].established().map(|at| at.as_secs_f64());
        Self { established_s, state, failed }
    }
}

/// Name of what became of a host's association, and whether it is a failure.
fn outcome_name(host: &Host) -> (&'static str, bool) {
    match host.outcome() {
        Outcome::None => ("not established", true),
        Outcome::NotConnected(_) => ("could not be begun", true),
        Outcome::Established => ("established", false),
        Outcome::Ended(end) => match end {
            AssociationEnd::ShutdownComplete => ("shut down", false),
            AssociationEnd::Aborted => ("aborted", true),
            AssociationEnd::AbortedByPeer(_) => ("aborted by the peer", true),
            AssociationEnd::CannotConnect => ("no answer", true),
            AssociationEnd::HandshakeRefused(_) => ("handshake refused", true),
            AssociationEnd::ShutdownTimeout => ("shutdown timeout", true),
            AssociationEnd::Unreachable => ("peer unreachable", true),
            AssociationEnd::ChunkTooLarge { .. } => ("chunk too large for every path", true),
            AssociationEnd::ProtocolViolation(_) => ("protocol violation", true),
            AssociationEnd::ProtocolUnreachable => ("protocol unreachable", true),
        },
    }
}
