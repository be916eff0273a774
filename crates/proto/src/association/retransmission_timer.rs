//! T3-rtx after an acknowledgement.

use super::Association;
use crate::config::T3Restart;
use crate::mechanism::t3_policy::{self, T3Action, T3View};
use crate::transmit::sack::AckDelta;
use crate::{Cx, Instant, PathId};

/// What the timer's policy must know of a path from before and after the SACK.
#[derive(Clone, Copy)]
pub(super) struct T3Ends {
    /// [`Association::oldest_transmission`] before.
    pub(super) oldest_before: Option<Instant>,
    /// The lowest outstanding TSN was acknowledged.
    pub(super) lowest_acked: bool,
}

impl Association {
    /// When the oldest transmission on the path was made that is not acknowledged, if the policy wants to know. First
    /// transmissions are in the order of their TSNs, retransmissions in that of the log.
    #[inline]
    pub(super) fn oldest_transmission(&mut self, id: PathId) -> Option<Instant> {
        match self.config.policies.t3_restart {
            T3Restart::Smart => self.search_oldest_transmission(id),
            _ => None,
        }
    }

    fn search_oldest_transmission(&mut self, id: PathId) -> Option<Instant> {
        let window = &mut self.sender.window;
        let first = window.lowest_on(id).0.map(|tsn| window.get(tsn).sent_at);
        let again = self.paths[id].retransmissions.oldest(|tsn, at| {
            window.contains(tsn) && {
                let chunk = window.get(tsn);
                chunk.path == id && chunk.sent_at == at && !chunk.is_acked()
            }
        });
        first.into_iter().chain(again).min()
    }

    /// RFC 9260 section 6.3.2, rules R2 to R4.
    pub(super) fn adjust_t3(
        &mut self,
        cx: &mut Cx<'_>,
        ends: impl Iterator<Item = T3Ends>,
        delta: &AckDelta,
        reneged: u32,
    ) {
        let policy = self.config.policies.t3_restart;
        let guard = self.sender.forward.guarded_by();
        for ((id, ends), news) in self.paths.ids().zip(ends).zip(&delta.paths) {
            let view = T3View {
                flight: self.paths[id].flight,
                lowest_acked: ends.lowest_acked,
                cumulative_ack_on_path: news.by_cumulative_ack,
                oldest_before: ends.oldest_before,
                oldest_after: self.oldest_transmission(id),
                reneged: reneged > 0,
            };
            let path = &mut self.paths[id];
            match t3_policy::on_ack(policy, &view) {
                // It may guard a FORWARD-TSN (RFC 3758 section 3.5, C5).
                T3Action::Stop if guard == Some(id) => {}
                T3Action::Stop => path.t3 = None,
                T3Action::Restart => path.restart_t3(cx.now),
                T3Action::Start => path.start_t3(cx.now),
                T3Action::Keep => {}
            }
        }
    }
}
