//! The applications on the hosts.

mod messages;
mod number_set;
mod receiver;
mod sender;

pub(crate) use messages::{MessagePlan, RECOGNISABLE};
pub use receiver::Violations;
pub(crate) use receiver::{Gaps, Receiver, recognise};
pub(crate) use sender::{Fed, Sender};
