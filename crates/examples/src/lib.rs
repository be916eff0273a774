//! A congestion controller and a path scheduler as a program of your own would have them.
//!
//! [`Gentle`] and [`EarliestFirst`] use the public interface only. The programs in `examples/` run them in the simulator
//! and on the loopback interface; `docs/your-own-congestion-control.md` leads through both.
#![forbid(unsafe_code)]

mod earliest_first;
mod gentle;

pub use earliest_first::EarliestFirst;
pub use gentle::Gentle;

use polypath::AssociationConfig;
use polypath::congestion::CustomCongestion;
use polypath::scheduling::CustomScheduler;

/// Puts the controller into a configuration.
pub fn with_gentle(config: &mut AssociationConfig) {
    config.custom_congestion =
        Some(CustomCongestion::new("gentle", |path| Box::new(Gentle::new(path))));
}

/// Puts the scheduler into a configuration.
pub fn with_earliest_first(config: &mut AssociationConfig) {
    config.custom_scheduler =
        Some(CustomScheduler::new("earliest-first", || Box::new(EarliestFirst)));
}
