//! Concurrent Multipath Transfer: one file per mechanism, each a pure step from a plain struct to a plain decision.

pub(crate) mod autoclose;
pub(crate) mod blocking_estimation;
pub(crate) mod buffer_split;
pub(crate) mod copies;
pub(crate) mod cuc;
pub(crate) mod custom_scheduler;
pub(crate) mod dac;
pub(crate) mod earliest_completion;
pub(crate) mod early_answers;
pub(crate) mod goodput_guard;
pub(crate) mod loss_rate;

pub(crate) mod multiple_fast_rtx;
pub(crate) mod nagle;
pub(crate) mod outage;
pub(crate) mod path_scheduler;
pub(crate) mod peer_limit;
pub(crate) mod reneging_limit;
pub(crate) mod reordering;
pub(crate) mod reschedule;
pub(crate) mod rtx_policy;
pub(crate) mod sack_path;
pub(crate) mod sfr;
pub(crate) mod size_black_hole;
pub(crate) mod slow_path_rtt;
pub(crate) mod smart_fast_rtx;
pub(crate) mod stale_sack;
pub(crate) mod t3_policy;
pub(crate) mod tail_probe;
pub(crate) mod tail_reinjection;
