//! Results of the association of a run.

use polypath_proto::AssociationEnd;
use serde::Serialize;

use crate::host::{Host, Outcome};
use crate::scenario::HostName;

/// Results of the association.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct AssociationResult {
    /// When the client had established it.
    pub established_s: Option<f64>,
    /// Final state, in one or two words.
    pub state: &'static str,
    /// Whether it ended other than by a shutdown, or was never established.
    pub failed: bool,
}

impl AssociationResult {
    /// For scenarios without an association.
    pub(super) fn none() -> Self {
        Self { established_s: None, state: "none", failed: false }
    }

    /// Results as seen by the client, or by the server if only the server saw a failure.
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

/// Name of the final state of a host's association, and whether it is a failure.
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
