//! Cwnd update for CMT (CUC, CUCv2): whether a path's congestion window may grow although the association's cumulative
//! ack does not advance.
//!
//! `dreibholz-model` section 3.2 and fig. 4; Iyengar, Amer, Stewart 2006. INET: `cmtCUCVariant` = `normal`,
//! `pseudoCumAck`, `pseudoCumAckV2`; usrsctp: always CUCv2 while CMT is on.
//!
//! A path's *pseudo cumulative ack* is its lowest unacknowledged TSN. Because new chunks always get higher TSNs, it
//! need not be kept between SACKs: it advances exactly if a SACK acknowledges the chunk that was lowest before. CUCv2
//! has one for chunks transmitted once and one for retransmissions, so that a chunk that moved to another path neither
//! blocks the old path nor hides the new path's own order.

use crate::Tsn;
use crate::config::CwndUpdate;

/// Lowest unacknowledged TSN of some chunks of a path, before and after a SACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct LowEnd {
    pub(crate) before: Option<Tsn>,
    pub(crate) after: Option<Tsn>,
}

/// What a SACK did at the low end of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct CucView {
    /// The cumulative ack newly acknowledged a chunk of this path.
    pub(crate) cumulative_ack_on_path: bool,
    /// Chunks transmitted once.
    pub(crate) first: LowEnd,
    /// Retransmitted chunks.
    pub(crate) again: LowEnd,
}

impl LowEnd {
    /// Whether the lowest chunk was acknowledged: there was one, and the lowest now is another, higher one.
    pub(crate) fn advanced(&self) -> bool {
        self.before.is_some_and(|before| self.after.is_none_or(|after| after.is_after(before)))
    }

    /// The low end of the chunks of both together.
    pub(crate) fn joined(&self, other: &Self) -> Self {
        Self { before: lower(self.before, other.before), after: lower(self.after, other.after) }
    }
}

/// Whether the path's in-order point advanced.
pub(crate) fn advanced(policy: CwndUpdate, view: &CucView) -> bool {
    match policy {
        CwndUpdate::Normal => view.cumulative_ack_on_path,
        // The first version does not distinguish retransmissions.
        CwndUpdate::PseudoCumAck => {
            view.cumulative_ack_on_path || view.first.joined(&view.again).advanced()
        }
        CwndUpdate::PseudoCumAckV2 => {
            view.cumulative_ack_on_path || view.first.advanced() || view.again.advanced()
        }
    }
}

fn lower(a: Option<Tsn>, b: Option<Tsn>) -> Option<Tsn> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if b.is_before(a) { b } else { a }),
        (a, b) => a.or(b),
    }
}

#[cfg(test)]
mod tests;
