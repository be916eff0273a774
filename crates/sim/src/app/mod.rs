//! The applications on the hosts.

mod ledger;
mod messages;
mod pieces;
mod receiver;
mod sender;
mod turns;

pub(crate) use ledger::{Arrived, FlowLedger, Ledger};
pub(crate) use messages::MessagePlan;
pub(crate) use pieces::Pieces;
pub use receiver::Violations;
use receiver::recognise;
pub(crate) use receiver::{Gaps, Receiver};
use sender::Fed;
pub(crate) use sender::Sender;
pub(crate) use turns::Applications;
