//! The order in which a path delivers, and losses that were none, where the reordering window adapts.

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use super::SendPath;
use crate::congestion::{Controller, GroupView, SpuriousLoss};
use crate::mechanism::reordering::{Reordering, RoundTrips, Transmission};
use crate::mechanism::tail_reinjection;
use crate::probe::TransmissionCause;
use crate::transmit::loss_episode::LossEpisode;
use crate::transmit::loss_log::{LossLog, LostChunk};
use crate::transmit::outstanding::OutstandingChunk;
use crate::{Duration, Instant, Tsn};

/// State of one path. Apart from the rest, because idle paths need none of it.
#[derive(Debug)]
pub(crate) struct Arrivals {
    pub(crate) order: Reordering,
    /// Retransmissions in the order of sending, which is not that of their TSNs. What is no longer in flight leaves when it
    /// comes to the front.
    pub(crate) retransmitted: VecDeque<Transmission>,
    log: LossLog,
    episode: LossEpisode,
    /// When the next chunk is lost unless it arrives; in the far future if none is passed.
    pub(crate) due: Instant,
}

impl Default for Arrivals {
    fn default() -> Self {
        Self {
            order: Reordering::default(),
            retransmitted: VecDeque::new(),
            log: LossLog::default(),
            episode: LossEpisode::default(),
            due: Instant::FAR_FUTURE,
        }
    }
}

impl SendPath {
    /// The shortest time in which a chunk that was sent once on the path was acknowledged, if its order is watched.
    pub(crate) fn soonest_answer(&self) -> Option<Duration> {
        self.arrivals().and_then(|arrivals| arrivals.order.soonest().shortest())
    }

    /// A copy of so many bytes on the path takes at least so long until it is acknowledged over whatever path, as far as that is known: as
    /// long as others took so far; before there were any, half of the smallest round trip, as if the ways there and back were equal.
    pub(crate) fn soonest_answer_of_copy(&self, bytes: u32) -> Option<Duration> {
        let control = self.rtt.smallest_control();
        let soonest = self.arrivals().map(|arrivals| arrivals.order.soonest());
        soonest.and_then(|it| it.least(bytes, control)).or_else(|| self.rtt.way_back())
    }

    /// A copy of so many bytes was answered after this time.
    pub(crate) fn note_copy_answered(&mut self, time: Duration, bytes: u32) {
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.order.on_copy_answered(time, bytes);
        }
    }

    /// What is known of the order in which it delivers, where the policy wants to know.
    #[inline]
    pub(crate) fn arrivals(&self) -> Option<&Arrivals> {
        self.arrivals.as_deref()
    }

    /// The same, to be changed; begins it.
    pub(crate) fn arrivals_mut(&mut self) -> &mut Arrivals {
        self.arrivals.get_or_insert_with(Box::default)
    }

    /// When a chunk is lost that something passed, or the far future.
    #[inline]
    pub(crate) fn late_due(&self) -> Instant {
        self.arrivals.as_ref().map_or(Instant::FAR_FUTURE, |arrivals| arrivals.due)
    }

    /// Whether missing reports prove a loss here: not where the path is known to reorder.
    pub(crate) fn counts_reports(&self) -> bool {
        self.arrivals().is_none_or(|arrivals| arrivals.order.counts_reports())
    }

    /// What the reordering window depends on.
    pub(crate) fn round_trips(&self) -> RoundTrips {
        RoundTrips {
            smoothed: self.rtt.srtt(),
            smallest: self.rtt.smallest(),
            control: self.rtt.smallest_control(),
        }
    }

    /// The reordering window, where it adapts.
    pub(crate) fn reordering_window(&self) -> Option<Duration> {
        self.arrivals().map(|arrivals| arrivals.order.window(self.round_trips()))
    }

    /// How much later than its round-trip time an answer may come.
    pub(crate) fn lateness_allowed(&self) -> Duration {
        tail_reinjection::allowed(self.rtt.srtt().unwrap_or_default(), self.reordering_window())
    }

    /// The SACK has acknowledged all that it does. Returns whether the path has sent anything of which it tells.
    pub(crate) fn end_sack(&mut self) -> bool {
        let arrivals = self.arrivals.as_mut();
        arrivals.map(|arrivals| arrivals.order.end_sack()).is_some()
    }

    /// A chunk of so many bytes is acknowledged that was sent once and is not lost.
    pub(crate) fn note_arrived(&mut self, now: Instant, sent: Transmission, bytes: u32) {
        let rtts = self.round_trips();
        self.arrivals_mut().order.on_arrived(now, sent, bytes, rtts);
    }

    /// The chunk is lost. Only a first transmission can be proved to have arrived after all.
    pub(super) fn log_loss(
        &mut self,
        now: Instant,
        tsn: Tsn,
        chunk: &OutstandingChunk,
        cause: TransmissionCause,
    ) {
        let Some(arrivals) = &mut self.arrivals else { return };
        let episode = arrivals.episode.on_lost();
        if chunk.transmissions == 1 {
            arrivals.log.on_lost(LostChunk {
                tsn,
                sent_at: chunk.sent_at,
                lost_at: now,
                flight_bytes: chunk.flight_bytes,
                episode,
                is_by_timer: cause == TransmissionCause::TimerRetransmission,
                is_answered: false,
            });
        }
    }

    /// A chunk that was lost here was acknowledged before its retransmission could be: it had only been late.
    pub(crate) fn on_original_arrived(&mut self, now: Instant, tsn: Tsn) {
        let rtts = self.round_trips();
        let Some(arrivals) = &mut self.arrivals else { return };
        let Some(lost) = arrivals.log.take(tsn) else { return };
        if !lost.is_by_timer {
            arrivals.order.on_late(now, lost.sent_at, rtts);
        }
        self.find(&lost);
    }

    /// A chunk that was lost here may have arrived twice.
    pub(crate) fn on_duplicate(&mut self, now: Instant, tsn: Tsn) {
        let rtts = self.round_trips();
        let Some(arrivals) = &mut self.arrivals else { return };
        let Some(lost) = arrivals.log.take_duplicate(tsn) else { return };
        if !lost.is_by_timer {
            arrivals.order.on_spurious(now, lost.lost_at, rtts);
        }
        self.find(&lost);
    }

    /// A chunk that was lost here was acknowledged, and it is unknown which transmission was; nothing can be proved of what
    /// was sent more than twice.
    pub(crate) fn on_either_arrived(&mut self, tsn: Tsn, sent_twice: bool) {
        let Some(arrivals) = &mut self.arrivals else { return };
        match sent_twice {
            true => arrivals.log.on_answered(tsn),
            false => drop(arrivals.log.take(tsn)),
        }
    }

    /// A chunk was not lost.
    fn find(&mut self, lost: &LostChunk) {
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.episode.on_arrived(lost.episode);
        }
        if let Some(feedback) = &mut self.feedback {
            feedback.rates.on_found(lost.flight_bytes.into());
        }
    }

    /// Fast recovery begins.
    pub(crate) fn on_recovery(&mut self) {
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.order.on_recovery();
        }
    }

    /// The chunk was retransmitted here, perhaps as the first that the path carries.
    pub(crate) fn note_retransmitted(&mut self, sent: Transmission) {
        self.arrivals_mut().retransmitted.push_back(sent);
    }

    /// A chunk that was sent here before is in flight again.
    pub(crate) fn watch_again(&mut self, sent: Transmission) {
        let retransmitted = &mut self.arrivals_mut().retransmitted;
        let place = retransmitted.partition_point(|other| other.at < sent.at);
        let known = retransmitted.iter().skip(place).take_while(|other| other.at == sent.at);
        if !known.into_iter().any(|other| other.tsn == sent.tsn) {
            retransmitted.insert(place, sent);
        }
    }

    /// A SACK was handled: if all that was lost has arrived, the controller takes its reaction back, once. Returns whether.
    #[inline]
    pub(crate) fn undo_spurious(
        &mut self,
        now: Instant,
        group: &GroupView,
        in_recovery: bool,
    ) -> bool {
        let is_over = !in_recovery && self.lost_bytes == 0;
        let Some(arrivals) = &mut self.arrivals else { return false };
        let Some(chunks) = arrivals.episode.take_spurious() else {
            if is_over {
                arrivals.episode.end();
            }
            return false;
        };
        let spurious = SpuriousLoss { chunks };
        self.control(now, group, |it, cx| it.on_spurious_loss(cx, &spurious));
        true
    }
}
