//! How associations begin.

use polypath_units::Duration;
use serde::{Deserialize, Serialize};

/// Default port of both ends (`dreibholz-model` table 2).
const PORT: u16 = 9000;

/// The associations between the hosts. Addresses are those of the paths of the network, and are named by the path.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct AssociationPlan {
    /// The host that initiates an association, if it is one of its ends. Default: host a; among
    /// hosts with names of their own, the sender of the first flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// When.
    pub connect: Duration,
    /// Port of the host that begins. Further associations of a host have the next free ports.
    pub local_port: u16,
    /// Port of the other host.
    pub remote_port: u16,
    /// The path whose address is the only one of the host that begins; all of its addresses where it is empty.
    pub local_address: String,
    /// The path to whose address it turns first; the first one where it is empty.
    pub remote_address: String,
    /// The path that becomes the primary one of the host that begins; the first one where it is empty.
    pub primary_path: String,
    /// When the applications of both hosts read what has arrived.
    pub reads: Reading,
}

/// When an application reads what a packet brought. The SACK for that packet tells how much room there is, with the packet or without.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Reading {
    /// After the SACK has left, as a program that the system wakes for it.
    #[default]
    AfterSack,
    /// Before the SACK is built, as where the stack hands data to the application in the same step (ns-2's agents).
    BeforeSack,
}

impl Default for AssociationPlan {
    fn default() -> Self {
        Self {
            client: None,
            connect: Duration::ZERO,
            local_port: PORT,
            remote_port: PORT,
            local_address: String::new(),
            remote_address: String::new(),
            primary_path: String::new(),
            reads: Reading::default(),
        }
    }
}
