//! A flow of a measurement, settled to the last number.

use serde::{Deserialize, Serialize};

use crate::payload::Role;
use crate::traffic::Traffic;

/// A flow: it has the stream of its number.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FlowPlan {
    /// From 1.
    pub id: u32,
    /// What the user calls it.
    pub description: Option<String>,
    /// What the client sends.
    pub to_server: Option<Traffic>,
    /// What the server sends.
    pub to_client: Option<Traffic>,
}

impl FlowPlan {
    /// What the side sends.
    pub fn sent_by(&self, role: Role) -> Option<&Traffic> {
        match role {
            Role::Client => self.to_server.as_ref(),
            Role::Server => self.to_client.as_ref(),
        }
    }

    /// The stream that carries it.
    pub fn stream(&self) -> u16 {
        self.id as u16
    }
}
