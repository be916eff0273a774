//! Split fast retransmit (SFR): a TSN is reported missing only by later TSNs *of its own path*.
//!
//! `dreibholz-model` section 3.1 and fig. 3; Iyengar, Amer, Stewart 2006. INET: `cmtUseSFR`; usrsctp: on while CMT
//! is on. Without it, TSNs that overtake each other on paths of different delay look lost.

use crate::Tsn;
use crate::config::SplitFastRetransmit;

/// What a SACK says about one path and the association.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct SfrView {
    /// Highest TSN newly acknowledged on the path, if any.
    pub(crate) highest_newly_acked_on_path: Option<Tsn>,
    /// Highest TSN newly acknowledged on any path (HTNA).
    pub(crate) highest_newly_acked: Option<Tsn>,
    /// Highest TSN that the gap blocks report.
    pub(crate) highest_gap_acked: Option<Tsn>,
    /// Fast recovery is on and the cumulative ack advanced: every hole counts (RFC 9260 section 7.2.4).
    pub(crate) every_hole: bool,
}

/// Chunks of the path before the TSN returned get a missing report; `None`: none does.
pub(crate) fn missing_before(policy: SplitFastRetransmit, view: &SfrView) -> Option<Tsn> {
    match policy {
        SplitFastRetransmit::Sfr => view.highest_newly_acked_on_path,
        SplitFastRetransmit::Off if view.every_hole => view.highest_gap_acked,
        SplitFastRetransmit::Off => view.highest_newly_acked,
    }
}
