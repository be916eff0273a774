//! What a SACK shows that may have been reordered after a newer one.
//!
//! `sarwar` section IV and fig. 6: SACKs return over paths of different delay, so one that was sent earlier may arrive
//! later. If its cumulative ack is lower, it is dropped (RFC 9260 section 6.2.1, D i). If the cumulative ack is equal,
//! it must not be taken for news: TSNs that it does not report were not discarded, and its receive window is outdated.
//!
//! Dropping it loses what only it names: one SACK over a short path would make all those useless that were sent before it
//! over long paths, and where SACKs leave blocks out, their chunks would be taken for lost. What an NR-SACK names for good
//! is true however old it is. So with [`StaleSack::SamePath`] that is acknowledged, and nothing else in it counts.
//!
//! A SACK that advances the cumulative ack was sent after all that were applied. Within a path, SACKs keep their order;
//! so one that arrives over the path on which a TSN was acknowledged, and no longer reports it, was sent later.

use crate::PathId;
use crate::config::StaleSack;

/// A TSN that a gap block acknowledged, and a later SACK that does not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct OmissionView {
    /// Whether the SACK advanced the cumulative ack.
    pub(crate) cumulative_ack_advanced: bool,
    /// Whether the SACK acknowledged anything for the first time.
    pub(crate) anything_new: bool,
    /// Path on which the SACK arrived.
    pub(crate) arrival: PathId,
    /// Path on which the TSN's acknowledgement arrived.
    pub(crate) acked_over: PathId,
}

/// What that means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Omission {
    /// The receiver has discarded the TSN.
    Reneged,
    /// The SACK is stale: nothing in it is news.
    Overtaken,
    /// Nothing: the SACK may be old, and what else it says is taken as it is.
    Nothing,
}

/// Judges an omission.
pub(crate) fn judge(policy: StaleSack, view: &OmissionView) -> Omission {
    match policy {
        _ if view.cumulative_ack_advanced => Omission::Reneged,
        StaleSack::Classic if view.anything_new => Omission::Reneged,
        StaleSack::Classic => Omission::Nothing,
        StaleSack::SamePath if view.acked_over == view.arrival => Omission::Reneged,
        StaleSack::SamePath => Omission::Overtaken,
    }
}

#[cfg(test)]
mod tests;
