//! Traits for congestion controllers and path schedulers of a program. [`crate::congestion`] and [`crate::scheduling`] export
//! them.

mod controller;
mod custom_congestion;
mod scheduler;
mod view;

pub use controller::{
    Acked, Context, Controller, Correction, CorrectionCause, EcnMarks, Idle, Loss, LossCause,
    LossSample, MeasuredRate, Pause, RateLimit, RateSample, Sent, SpuriousLoss, Timeout,
};
pub use custom_congestion::CustomCongestion;
pub use scheduler::{CustomScheduler, NewData, PathScheduler, PathView, Readiness};
pub use view::{GroupView, NewPath, Parameters, Rates};
