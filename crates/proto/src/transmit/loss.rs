//! Missing reports: what a SACK proves to be lost (RFC 9260 section 7.2.4).

use smallvec::SmallVec;

use super::send_path::SendPath;
use super::{SendCx, Transmitter};
use crate::config::{FastRecoveryScope, MissingReports, Policies, SplitFastRetransmit};
use crate::mechanism::dac::{self, DacView};
use crate::mechanism::multiple_fast_rtx::{self, RepeatView};
use crate::mechanism::sfr::{self, SfrView};
use crate::mechanism::smart_fast_rtx;
use crate::mechanism::tail_reinjection;
use crate::transmit::outstanding::OutstandingChunk;
use crate::transmit::sack::{AckDelta, Silence, Unnamed};
use crate::types::PathSet;
use crate::{Duration, Instant, LossDetection, ProbeEvent, Tsn};

/// As many missing reports as there can be: the chunk is overdue.
const OVERDUE: u8 = u8::MAX;

/// What a SACK that acknowledges something says about chunks that it does not name.
struct Evidence<'a> {
    policies: &'a Policies,
    delta: &'a AckDelta,
    dac: DacView,
    now: Instant,
    /// The round-trip time of each path where what is overdue is lost.
    srtt: SmallVec<[Option<Duration>; 4]>,
}

impl Evidence<'_> {
    /// How many missing reports it is for a chunk, if it is any.
    fn against(&self, tsn: Tsn, chunk: &OutstandingChunk, unnamed: Unnamed) -> Option<u8> {
        let policies = self.policies;
        let news = &self.delta.paths[chunk.path.index()];
        let repeat = RepeatView {
            transmissions: chunk.transmissions,
            sent_before: chunk.sent_before,
            highest_newly_acked_on_path: smart_fast_rtx::highest(policies.smart_fast_rtx, news),
        };
        if !multiple_fast_rtx::reports_missing(policies.fast_retransmit.per_tsn, &repeat) {
            return None;
        }
        if unnamed == Unnamed::Doubtful {
            return Some(1);
        }
        let overdue_at = |srtt| tail_reinjection::overdue_at(chunk.sent_at, srtt, Duration::ZERO);
        if self.srtt[chunk.path.index()].is_some_and(|srtt| overdue_at(srtt) <= self.now) {
            return Some(OVERDUE);
        }
        Some(dac::missing_report_weight(policies.delayed_ack.count, &self.dac, tsn))
    }
}

impl Transmitter {
    /// Counts missing reports and marks what is lost. Returns the paths that lost something.
    #[inline(never)]
    pub(super) fn count_missing(
        &mut self,
        cx: &mut SendCx<'_>,
        cumulative: Tsn,
        flags: u8,
        delta: &AckDelta,
        silence: &Silence,
    ) -> PathSet {
        let mut lost_on = PathSet::EMPTY;
        let Some(lowest_newly_acked) = delta.lowest_newly_acked else { return lost_on };
        let config = cx.config;
        let policies = &config.policies;
        let dac = DacView {
            paths_with_news: delta.paths_with_news(),
            lowest_newly_acked,
            packets: dac::count_in_flags(flags),
        };
        let srtt = self.round_trips_that_count(cx);
        let evidence = Evidence { policies, delta, dac, now: cx.now, srtt };
        let split = policies.fast_retransmit.split;
        let mut view = self.holes_that_count(cx, delta);
        for path in self.paths.ids() {
            view.highest_newly_acked_on_path =
                smart_fast_rtx::highest(policies.smart_fast_rtx, &delta.paths[path.index()]);
            if let Some(highest) = view.highest_newly_acked_on_path {
                self.paths[path].count_repaired_again(&mut self.outstanding, highest);
            }
            let Some(end) = sfr::missing_before(split, &view) else { continue };
            let mut from = cumulative.next();
            while let Some(tsn) = match split {
                SplitFastRetransmit::Sfr => self.outstanding.next_countable_on(path, from, end),
                SplitFastRetransmit::Off => self.outstanding.next_countable(from, end),
            } {
                let unnamed = silence.around(tsn);
                if let Unnamed::Silent(end) = unnamed {
                    from = end;
                    continue;
                }
                from = tsn.next();
                let chunk = self.outstanding.get_mut(tsn);
                let Some(reports) = evidence.against(tsn, chunk, unnamed) else { continue };
                chunk.missing_reports = chunk.missing_reports.saturating_add(reports);
                if chunk.missing_reports < policies.fast_retransmit.threshold {
                    continue;
                }
                let detection = match reports {
                    OVERDUE => LossDetection::Overdue,
                    _ => LossDetection::MissingReports,
                };
                if let Some(path) = self.mark_lost(tsn, detection.cause()) {
                    cx.probe.on(cx.now, ProbeEvent::ChunkLost { path, tsn, detection });
                    self.paths[path].loss_rate.on_lost();
                    lost_on.insert(path);
                }
            }
            if split == SplitFastRetransmit::Off {
                break;
            }
        }
        lost_on
    }

    /// The round-trip time of each path, where what is overdue is lost.
    fn round_trips_that_count(&self, cx: &SendCx<'_>) -> SmallVec<[Option<Duration>; 4]> {
        let srtt = |path: &SendPath| match cx.config.policies.fast_retransmit.reports {
            MissingReports::PerSack => None,
            MissingReports::Overdue => path.rtt.srtt(),
        };
        self.paths.iter().map(srtt).collect()
    }

    fn holes_that_count(&self, cx: &SendCx<'_>, delta: &AckDelta) -> SfrView {
        let in_recovery = match cx.config.policies.fast_recovery {
            FastRecoveryScope::AssociationWide => self.recovery.is_active(),
            FastRecoveryScope::PerPath => false,
        };
        SfrView {
            highest_newly_acked_on_path: None,
            highest_newly_acked: delta.highest_newly_acked,
            highest_gap_acked: delta.highest_gap_acked,
            every_hole: in_recovery && delta.cumulative_ack_advanced,
        }
    }
}
