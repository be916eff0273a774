//! What a path tells controllers beside the bytes that it acknowledges: how fast it delivers, what it loses, and whether
//! that was a loss.

use alloc::boxed::Box;

use super::SendPath;
use crate::congestion::{Controller, GroupView, LossSample, RateSample, SpuriousLoss};
use crate::mechanism::copies::AnsweredCopy;
use crate::probe::TransmissionCause;
use crate::transmit::backlog::Backlog;
use crate::transmit::dispersion::Dispersion;
use crate::transmit::known_early::{KnownEarly, OwnSack};
use crate::transmit::left_behind::LeftBehind;
use crate::transmit::loss_episode::LossEpisode;
use crate::transmit::originals::Originals;
use crate::transmit::outstanding::{History, Newly, OutstandingChunk};
use crate::transmit::rate_sampler::{RateSampler, SackArrival};
use crate::transmit::sack::Report;
use crate::{Instant, PathId, Tsn};

/// What brought a chunk that a SACK acknowledges.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AckOrigin {
    /// Its own path, over which the SACK came as well.
    AnsweredHere,
    /// The path of its last transmission, as far as copies are concerned. The SACK came over another one, or answers something else there.
    CameHere,
    /// That, or the path of a copy.
    Unknown,
}

/// State of one path.
#[derive(Clone, Debug, Default)]
pub(super) struct Feedback {
    pub(super) rates: RateSampler,
    /// Losses, unless the path has a log of them: where the reordering window adapts, that log has the episode.
    episode: LossEpisode,
    dispersion: Dispersion,
    pub(super) backlog: Backlog,
    left_behind: LeftBehind,
    originals: Originals,
    known_early: KnownEarly,
    /// Bytes that the present SACK acknowledges, and that may have come over another path.
    elsewhere: u64,
    /// Of copied chunks that it acknowledges over another path: bytes that count for the cwnd of this one.
    credited_elsewhere: u64,
}

impl Feedback {
    /// Forgets what is kept by TSN.
    pub(super) fn forget_tsns(&mut self) {
        self.originals.clear();
        self.known_early.clear();
    }

    /// Of a path that carries data already, of which nothing was noted.
    pub(super) fn amid_transfer(now: Instant) -> Self {
        Self { rates: RateSampler::amid_transfer(now), ..Self::default() }
    }
}

impl SendPath {
    /// A chunk is acknowledged.
    #[inline]
    pub(crate) fn note_acked(
        &mut self,
        now: Instant,
        tsn: Tsn,
        newly: &Newly,
        arrival: PathId,
        origin: AckOrigin,
    ) {
        let Some(feedback) = &mut self.feedback else { return };
        if origin == AckOrigin::AnsweredHere {
            feedback.left_behind.on_acked(newly.sent_at);
        }
        let in_flight = if newly.was_in_flight { u64::from(newly.flight_bytes) } else { 0 };
        let over_another = arrival != self.id;
        if origin == AckOrigin::Unknown {
            feedback.elsewhere += in_flight;
            if over_another {
                if !newly.history.intersects(History::CREDITED | History::RESCHEDULED) {
                    feedback.credited_elsewhere += u64::from(newly.flight_bytes);
                }
                if newly.transmissions == 1 {
                    feedback.originals.on_acked_elsewhere(tsn, newly.sent_at, newly.flight_bytes);
                }
            }
        } else {
            feedback.rates.on_delivered(newly.sent_at, in_flight);
            if over_another {
                feedback.known_early.on_acked(now, tsn, newly);
            }
        }
        if newly.transmissions == 1 && origin != AckOrigin::Unknown {
            feedback.rates.on_chunk_acked(newly.sent_at);
            feedback.dispersion.on_chunk_acked(newly.sent_at, newly.asked_for_sack);
        }
        if self.arrivals.is_none() {
            feedback.episode.on_acked(now, newly, feedback.rates.shortest_round_trip());
        }
    }

    /// A chunk is lost.
    pub(crate) fn note_lost(
        &mut self,
        now: Instant,
        tsn: Tsn,
        chunk: &OutstandingChunk,
        cause: TransmissionCause,
    ) {
        self.lost_bytes = self.lost_bytes.saturating_add(chunk.flight_bytes);
        // What was damaged, or dropped by a middlebox that says so, is no sign of congestion.
        if cause == TransmissionCause::DropReport {
            return;
        }
        if let Some(feedback) = &mut self.feedback {
            feedback.rates.on_lost(chunk.sent_at, chunk.flight_bytes.into());
            if self.arrivals.is_none() {
                feedback.episode.on_lost();
            }
        }
        self.log_loss(now, tsn, chunk, cause);
    }

    /// A chunk that was sent here at `sent_at` leaves for another path; what is on its way should be answered at `until`.
    pub(crate) fn leave_behind(
        &mut self,
        now: Instant,
        sent_at: Instant,
        bytes: u32,
        until: Instant,
    ) {
        if let Some(feedback) = &mut self.feedback {
            feedback.left_behind.on_left(now, sent_at, bytes, until);
        }
    }

    /// Counted bytes that are on their way here: in flight, or left behind by chunks that moved to another path.
    pub(crate) fn on_the_way(&self, now: Instant) -> u64 {
        let left_behind = self.feedback.as_ref().map_or(0, |it| it.left_behind.bytes(now));
        self.flight + left_behind
    }

    /// Bytes that were found lost since this was last asked, and what is known of the newest; for the controller.
    pub(crate) fn take_losses(&mut self, now: Instant) -> (u64, Option<LossSample>) {
        if let Some(spread) = &mut self.spread {
            spread.buffer_pace.on_loss(now);
        }
        let sample = self.feedback.as_mut().and_then(|feedback| {
            feedback.episode.on_told(now);
            feedback.rates.loss_sample()
        });
        (core::mem::take(&mut self.lost_bytes).into(), sample)
    }

    /// A SACK over another path acknowledges data of this one.
    #[inline]
    pub(crate) fn hear_elsewhere(&mut self, now: Instant) {
        self.note_answer(now);
        if let Some(feedback) = &mut self.feedback {
            feedback.dispersion.forget_newest();
        }
    }

    /// A SACK over the path acknowledges so many bytes that no SACK did before, and may cover others that one over another path did.
    #[inline]
    pub(crate) fn note_dispersion(
        &mut self,
        now: Instant,
        bytes: u64,
        report: &Report<'_>,
        may_answer_copy: bool,
    ) {
        self.note_answer(now);
        let round_trip = self.rtt.expected();
        let Some(feedback) = &mut self.feedback else { return };
        // Some are retransmitted chunks, which tell nothing, and no duplicates will.
        let is_unclear = feedback.dispersion.newest().is_none() && bytes > feedback.elsewhere;
        let is_partial = report.may_be_partial();
        let own = OwnSack { now, round_trip, is_partial, may_answer_copy };
        let confirmed = feedback.known_early.on_sack(own, |tsn| report.covers(tsn));
        if is_unclear || confirmed.may_be_more {
            feedback.dispersion.end_train();
        }
        if let Some((sent_at, asked_for_sack)) = confirmed.newest {
            feedback.dispersion.on_chunk_acked(sent_at, asked_for_sack);
        }
        feedback.dispersion.on_sack(now, bytes + confirmed.bytes);
    }

    /// The present SACK tells how long the newest chunk took that it acknowledges.
    #[inline]
    fn note_answer(&mut self, now: Instant) {
        if let (Some(feedback), Some(spread)) = (&self.feedback, &mut self.spread)
            && let Some(sent_at) = feedback.dispersion.newest()
        {
            spread.buffer_pace.on_answer(now.since(sent_at));
        }
    }

    /// A SACK over the path reports duplicates: some may be first transmissions whose copies came first.
    pub(crate) fn note_reported_originals(
        &mut self,
        now: Instant,
        duplicates: impl Iterator<Item = Tsn>,
    ) {
        let Some(feedback) = &mut self.feedback else { return };
        if let Some(reported) = feedback.originals.on_duplicates(duplicates) {
            if !reported.is_whole {
                feedback.dispersion.end_train();
            }
            feedback.dispersion.on_chunk_acked(reported.sent_at, true);
            feedback.dispersion.on_sack(now, reported.bytes);
        }
    }

    /// A SACK over the path answers a copy there: a packet like others, for what the bottleneck passes on.
    pub(crate) fn note_copy_delivered(&mut self, now: Instant, copy: &AnsweredCopy) {
        if !self.control.hears_of_packets() {
            return;
        }
        // It may have carried nothing else.
        let feedback = self.feedback.get_or_insert_with(Box::default);
        if !copy.is_next {
            feedback.dispersion.end_train();
        }
        feedback.dispersion.on_chunk_acked(copy.sent_at, true);
        feedback.dispersion.on_sack(now, copy.bytes.into());
    }

    /// Bytes per second that the bottleneck passes on, once a train of packets has been measured.
    pub(crate) fn bottleneck_rate(&self) -> Option<u64> {
        self.feedback.as_ref()?.dispersion.rate()
    }

    /// Bytes that the present SACK acknowledges, and that count for the cwnd of this path although the SACK came over another one, where
    /// copies may have brought them.
    #[inline]
    pub(crate) fn take_credited_elsewhere(&mut self) -> u64 {
        self.feedback
            .as_mut()
            .map_or(0, |feedback| core::mem::take(&mut feedback.credited_elsewhere))
    }

    /// When the newest chunk was sent that the present SACK acknowledges on this path, if that is noted.
    pub(crate) fn newest_acked(&self) -> Option<Instant> {
        self.feedback.as_ref()?.rates.newest_acked()
    }

    /// How fast the path delivers, after a SACK that takes so many bytes out of its flight.
    #[inline]
    pub(crate) fn sample_rate(&mut self, sack: SackArrival, bytes: u64) -> Option<RateSample> {
        match self.feedback.is_some() {
            true => self.take_sample(sack, bytes),
            false => None,
        }
    }

    // Apart: a sample is large, and the caller copies it unless it is written in its place.
    #[inline(never)]
    fn take_sample(&mut self, sack: SackArrival, bytes: u64) -> Option<RateSample> {
        let feedback = self.feedback.as_mut()?;
        let elsewhere = core::mem::take(&mut feedback.elsewhere);
        let patience = self.rtt.expected();
        feedback.rates.sample(sack, bytes.saturating_sub(elsewhere), patience)
    }

    /// A SACK has acknowledged data of the path: tells the controller if what was lost has arrived.
    #[inline]
    pub(crate) fn judge_losses(&mut self, now: Instant, group: &GroupView, in_recovery: bool) {
        // Where the reordering window adapts, a log of losses judges them.
        if self.feedback.is_some() && self.arrivals.is_none() {
            self.judge_episode(now, group, in_recovery);
        }
    }

    #[inline(never)]
    fn judge_episode(&mut self, now: Instant, group: &GroupView, in_recovery: bool) {
        let is_over = !in_recovery && self.lost_bytes == 0;
        let Some(feedback) = &mut self.feedback else { return };
        if let Some(chunks) = feedback.episode.take_spurious() {
            let spurious = SpuriousLoss { chunks };
            self.control(now, group, |it, cx| it.on_spurious_loss(cx, &spurious));
        } else if is_over {
            feedback.episode.end();
        }
    }

    /// Nothing more is sent in this flush.
    #[inline]
    pub(crate) fn note_spare_cwnd(&mut self, train: u64) {
        // What waits until a whole train fits waits for the congestion window.
        let is_spare =
            self.cwnd_admits() && self.flight.saturating_add(train) < self.congestion.cwnd;
        if let Some(feedback) = &mut self.feedback
            && is_spare
        {
            feedback.rates.on_spare_cwnd(self.flight);
        }
    }
}
