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
    /// The host that initiates an association, if it is one of its ends. Default: host a, or between named hosts the
    /// sender of the first flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// Time at which the client initiates it.
    pub connect: Duration,
    /// Port of the client. Further associations of a host have the next free ports.
    pub local_port: u16,
    /// Port of the server.
    pub remote_port: u16,
    /// A path: the client has the address of that path only. Default (empty): all of its addresses.
    pub local_address: String,
    /// The path whose remote address the client contacts first. Default (empty): the first path.
    pub remote_address: String,
    /// Primary path of the client. Default (empty): the first path.
    pub primary_path: String,
    /// When the applications of both hosts read received data.
    pub reads: Reading,
}

/// When an application reads the data of a packet: it decides the receive window that the SACK for that packet
/// advertises.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Reading {
    /// After the SACK is sent, like a program that the system wakes up.
    #[default]
    AfterSack,
    /// Before the SACK is built, like a stack that delivers data in the same step (ns-2's agents).
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
