//! What goes wrong on a link.

mod bit_error;
mod duplicate;
mod gilbert_elliott;
mod jitter;
mod numbered_loss;
mod outage;
mod rate_trace;
mod reorder;
mod step;
mod uniform_loss;

pub use bit_error::{BitErrorConfig, Damage, Damaged, Within};
pub use gilbert_elliott::GilbertElliottConfig;
pub use jitter::{Distribution, JitterConfig, JitterOrder, Normal, Uniform};
pub use outage::{Outage, OutageError};
pub(crate) use outage::{OutageSchedule, Turn};
pub(crate) use rate_trace::Cursor;
pub use rate_trace::{AfterEnd, RateTrace, TraceError};
pub use reorder::ReorderingConfig;
pub(crate) use step::StepSchedule;
pub use step::{Step, StepError};
pub(crate) use uniform_loss::UniformLoss;

pub(crate) use bit_error::{BitErrors, Hit, hit_probability};
pub(crate) use duplicate::Duplication;
pub(crate) use gilbert_elliott::GilbertElliott;
pub(crate) use jitter::Jitter;
pub(crate) use numbered_loss::NumberedLoss;
pub use numbered_loss::{PacketNumbers, PacketNumbersError};
pub(crate) use reorder::Reordering;
