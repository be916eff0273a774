//! What goes wrong on a link.

mod outage;
mod uniform_loss;

pub use outage::{Outage, OutageError};
pub(crate) use outage::{OutageSchedule, Turn};
pub use uniform_loss::UniformLoss;
