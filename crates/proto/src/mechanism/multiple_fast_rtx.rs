//! Which missing reports count for a chunk that was retransmitted (multiple fast retransmit, MFR).
//!
//! Caro, Amer, Stewart, "Retransmission Policies for Multihomed Transport Protocols", 2004 (ns-2:
//! `Agent/SCTP/MultipleFastRtx`). RFC 9260 section 7.2.4 retransmits a TSN after missing reports once, because the next
//! SACKs report the *first* transmission missing; if the retransmission is lost too, only T3-rtx detects it. Chunks
//! sent on the same path after the retransmission show more: once one of them is acknowledged, the retransmission is
//! overdue.

use crate::Tsn;
use crate::config::PerTsn;

/// A chunk below the highest TSN that a SACK newly acknowledges.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RepeatView {
    /// How often it was sent.
    pub(crate) transmissions: u16,
    /// The first TSN that was sent after its last transmission.
    pub(crate) sent_before: Tsn,
    /// Highest TSN that the SACK newly acknowledges on the path of its last transmission.
    pub(crate) highest_newly_acked_on_path: Option<Tsn>,
}

/// Whether the SACK reports the chunk's last transmission missing. With [`PerTsn::Once`], this is not called for chunks
/// that may not be retransmitted again.
pub(crate) fn reports_missing(policy: PerTsn, view: &RepeatView) -> bool {
    let sent_later = |highest: Tsn| view.sent_before.is_at_or_before(highest);
    match policy {
        PerTsn::Once => true,
        PerTsn::Multiple => {
            view.transmissions == 1 || view.highest_newly_acked_on_path.is_some_and(sent_later)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// TSN x was retransmitted when x + 20 was the next new one: x + 19 and lower ones say nothing, x + 20 does.
    #[test]
    fn only_what_was_sent_after_the_retransmission_counts() {
        for x in [100u32, u32::MAX - 10] {
            let tsn = |n: u32| Tsn(x.wrapping_add(n));
            for (policy, transmissions, highest, expected) in [
                (PerTsn::Multiple, 1, Some(1), true),
                (PerTsn::Multiple, 2, Some(1), false),
                (PerTsn::Multiple, 2, Some(19), false),
                (PerTsn::Multiple, 2, Some(20), true),
                (PerTsn::Multiple, 3, Some(25), true),
                (PerTsn::Multiple, 2, None, false),
                (PerTsn::Once, 2, Some(1), true),
            ] {
                let view = RepeatView {
                    transmissions,
                    sent_before: tsn(20),
                    highest_newly_acked_on_path: highest.map(tsn),
                };
                assert_eq!(reports_missing(policy, &view), expected, "{policy:?} {view:?}");
            }
        }
    }
}
