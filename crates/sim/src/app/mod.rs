//! The applications on the hosts.

mod ledger;
mod messages;
mod receiver;
mod sender;

pub(crate) use ledger::{Arrived, FlowLedger, Ledger};
pub(crate) use messages::{MessagePlan, RECOGNISABLE};
pub use receiver::Violations;
pub(crate) use receiver::{Gaps, Receiver, recognise};
pub(crate) use sender::{Fed, Sender};
