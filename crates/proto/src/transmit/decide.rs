//! What goes into the next packet with DATA, and on which path. Decided once per packet, from a view that changes nothing,
//! and handed on to what fills the packet.

use rand_core::Rng;
use smallvec::SmallVec;

use super::Transmitter;
use super::outstanding::{History, MAX_SPAN};
use super::queue::Asking;
use super::send_path::SendPath;
use crate::config::{
    AssociationConfig, DataBeforeConfirmation, LossRateSource, PathFill, PathOrder,
    RetransmissionPath,
};
use crate::congestion::path_fill;
use crate::mechanism::path_scheduler::{self, LastTurn};
use crate::mechanism::rtx_policy::{self, Attempt};
use crate::paths::PathBook;
use crate::probe::TransmissionCause;
use crate::types::{Fate, PathSet};
use crate::{Duration, Instant, PathId, PathStatus, Tsn};

/// What one packet carries first. Where it has room for more, more follows in this order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum What {
    /// The chunk that blocks the buffers moves to this path.
    Move(Tsn),
    /// A chunk that ran ahead on a path that did not answer goes over this one.
    TakeBack(Tsn),
    /// Lost chunks are retransmitted.
    Retransmit,
    /// A new chunk with so many bytes of user data.
    New(u32),
    /// A chunk at the tail of what there is to send arrives earlier here.
    Late(Tsn),
    /// A copy of a chunk that went over another path, and nothing else.
    Copy(Tsn),
}

/// One packet with DATA.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Decision {
    pub(crate) path: PathId,
    pub(crate) what: What,
    /// Paths that can carry data.
    pub(super) usable: PathSet,
    pub(super) targets: Targets,
    /// Something at the tail arrives earlier on another path.
    pub(super) has_late: bool,
}

/// Where lost chunks go: for each path, the path that takes what was lost on it; `None` where that has to wait.
pub(super) type Targets = SmallVec<[Option<PathId>; 4]>;

/// What a decision looks at. It holds while one packet is chosen.
#[derive(Clone, Copy)]
pub(super) struct Snapshot<'a> {
    pub(super) tx: &'a Transmitter,
    pub(super) now: Instant,
    pub(super) config: &'a AssociationConfig,
    pub(super) book: &'a PathBook,
    /// Paths that can carry data.
    pub(super) usable: PathSet,
}

/// Decides. `late` is the chunk at the tail that arrives earlier on another path, and that path. Random numbers break ties
/// where a policy wants that.
pub(super) fn decide(
    view: &Snapshot<'_>,
    late: Option<(Tsn, PathId)>,
    rng: &mut dyn Rng,
) -> Option<Decision> {
    let has_lost = view.tx.outstanding.lost_count() > 0;
    let targets = if has_lost { view.retransmission_targets(rng) } else { Targets::new() };
    let (path, what) = if let Some((tsn, path)) = view.chunk_to_move() {
        (path, What::Move(tsn))
    } else if has_lost && let Some((_, path)) = view.tx.lowest_lost(&targets, None) {
        (path, What::Retransmit)
    } else if let Some((tsn, path)) = view.chunk_to_take_back() {
        (path, What::TakeBack(tsn))
    } else if let Some((path, user_bytes)) = view.new_data(rng) {
        (path, What::New(user_bytes))
    } else if let Some((tsn, path)) = late {
        (path, What::Late(tsn))
    } else {
        let (tsn, path) = view.copy()?;
        (path, What::Copy(tsn))
    };
    Some(Decision { path, what, usable: view.usable, targets, has_late: late.is_some() })
}

impl Snapshot<'_> {
    /// The path for new data, and the length of the next chunk there: the first in the order of the path scheduler that has
    /// congestion window left and need not wait.
    fn new_data(&self, rng: &mut dyn Rng) -> Option<(PathId, u32)> {
        let tx = self.tx;
        if tx.queue.is_empty() || tx.outstanding.span() >= MAX_SPAN || tx.gathers() {
            return None;
        }
        let policies = &self.config.policies;
        if policies.rto.data_before_confirmation == DataBeforeConfirmation::Off
            && self.book.iter().any(|path| path.status() == PathStatus::Unconfirmed)
        {
            return None;
        }
        match &tx.scheduler {
            Some(scheduler) if self.cwnd_admits() => self.scheduled(&**scheduler, rng),
            Some(_) => None,
            None => self.in_order(rng),
        }
    }

    /// Whether a usable path has congestion window left.
    fn cwnd_admits(&self) -> bool {
        self.tx.paths.among(self.usable).any(SendPath::cwnd_admits)
    }

    /// The same where the order is a policy.
    fn in_order(&self, rng: &mut dyn Rng) -> Option<(PathId, u32)> {
        let (tx, policies) = (self.tx, &self.config.policies);
        let takes = |id: PathId| {
            let path = &tx.paths[id];
            let may = path.cwnd_admits() && !path.new_data_ban.is_active(self.now);
            may.then(|| self.next_chunk(id))?
        };
        let mut candidates = self.candidates();
        if candidates.is_empty() && !self.cwnd_admits() {
            return None;
        }
        let lots = self.lots(rng);
        let members = candidates;
        let serving = match policies.path_fill {
            PathFill::PacketByPacket => None,
            PathFill::FillWindow => tx.flush.serving,
            PathFill::Runs => tx.flush.train,
        };
        if let Some(serving) = serving.filter(|path| candidates.contains(*path))
            && let Some(user_bytes) = takes(serving)
        {
            return Some((serving, user_bytes));
        }
        while let Some(path) = self.first_of(candidates, &lots) {
            if let Some(user_bytes) = self.next_chunk(path) {
                return Some((path, user_bytes));
            }
            candidates = candidates.without(PathSet::of(path));
        }
        // A message that names a path may use it even where the order does not.
        let others = tx.paths.among(self.usable.without(members)).map(|path| path.id);
        let mut named = others.filter(|path| tx.queue.names(*path));
        named.find_map(|path| Some((path, takes(path)?)))
    }

    /// Whether new data keeps off the path: a chunk that it may have lost has just left it, or it rests.
    #[inline]
    pub(super) fn keeps_off(&self, path: &SendPath) -> bool {
        path.new_data_ban.is_active(self.now) || self.tx.rests(path.id, self.usable)
    }

    /// Random numbers for the usable paths, where the path scheduler draws lots.
    fn lots(&self, rng: &mut dyn Rng) -> SmallVec<[u32; 4]> {
        match self.config.policies.path_order {
            PathOrder::Random => self.usable.iter().map(|_| rng.next_u32()).collect(),
            _ => SmallVec::new(),
        }
    }

    /// The usable paths that take new data now, as far as their congestion windows decide.
    fn candidates(&self) -> PathSet {
        // Only the primary path takes new data where the order says so.
        let eligible = match self.config.policies.path_order {
            PathOrder::Primary => PathSet::of(self.book.primary_or_stand_in(self.usable)),
            _ => PathSet::ALL,
        };
        // A plain loop, because every packet comes by here; so below.
        let mut candidates = PathSet::EMPTY;
        for path in self.tx.paths.among(self.usable) {
            if path.cwnd_admits()
                && eligible.contains(path.id)
                && !self.keeps_off(path)
                && !self.waits_for_train(path)
            {
                candidates.insert(path.id);
            }
        }
        candidates
    }

    /// The candidate that the path scheduler puts first.
    fn first_of(&self, candidates: PathSet, lots: &[u32]) -> Option<PathId> {
        let first = candidates.first()?;
        if candidates == PathSet::of(first) {
            return Some(first);
        }
        let policies = &self.config.policies;
        let by_srtt = policies.path_order == PathOrder::LowestSrtt;
        let candidate = |id: PathId| {
            let path = &self.tx.paths[id];
            path_scheduler::SchedulerCandidate {
                index: id.0,
                last_transmission: path.last_transmission(policies.path_fill),
                free_cwnd: path.congestion.cwnd.saturating_sub(path.flight),
                ssthresh: path.congestion.ssthresh,
                srtt: if by_srtt { self.srtt_with_losses(path) } else { None },
                lot: match lots {
                    [] => 0,
                    lots => lots.get(self.usable.place_of(id)).copied().unwrap_or(0),
                },
            }
        };
        path_scheduler::first(policies.path_order, candidates.iter().map(candidate), self.turn())
    }

    /// The SRTT of a path, and what losses add to it.
    fn srtt_with_losses(&self, path: &SendPath) -> Option<Duration> {
        let losses = &path.record.loss_delay;
        Some(path.rtt.srtt()? + self.loss_delay(path.id, losses, path.congestion.cwnd))
    }

    fn turn(&self) -> LastTurn {
        LastTurn {
            primary: self.book.primary_or_stand_in(self.usable).0,
            last_served: self.tx.last_served,
            last_new: self.tx.last_new,
        }
    }

    /// Whether the path waits until its congestion window has space for a burst of packets. Where it is being reduced, or the
    /// train has begun, it does not.
    #[inline]
    pub(super) fn waits_for_train(&self, path: &SendPath) -> bool {
        let beside = train_bytes_beside(self.config, path);
        beside > 0 && self.lacks_train(path, beside)
    }

    fn lacks_train(&self, path: &SendPath, beside: u64) -> bool {
        if path.flight.saturating_add(beside) < path.congestion.cwnd
            || self.tx.flush.train == Some(path.id)
            || path.record.reduction.is_under_way()
        {
            return false;
        }
        let Some(srtt) = path.rtt.srtt() else { return false };
        let mut others = self.tx.paths.among(self.usable);
        others.any(|other| other.rtt.srtt().is_some_and(|it| path_fill::leaves_holes(srtt, it)))
    }

    /// The length of the next new chunk on the path, if it may be sent there now.
    #[inline]
    pub(super) fn next_chunk(&self, path: PathId) -> Option<u32> {
        let asking = Asking { path, usable: self.usable, bundled: None };
        let user_bytes = self.tx.queue.peek(asking, self.tx.max_fragment)?;
        self.admits_new(path, user_bytes).then_some(user_bytes)
    }

    /// Which path takes what was lost on each path. Ties are broken at random.
    #[inline(never)]
    fn retransmission_targets(&self, rng: &mut dyn Rng) -> Targets {
        let candidates = self.retransmission_candidates(rng);
        self.tx
            .paths
            .ids()
            .map(|lost_on| self.retransmission_target(lost_on, &candidates))
            .collect()
    }

    /// Which path takes what was lost on `lost_on`.
    fn retransmission_target(
        &self,
        lost_on: PathId,
        candidates: &[rtx_policy::RetransmissionCandidate],
    ) -> Option<PathId> {
        let (tx, policy) = (self.tx, &self.config.policies.retransmission);
        let chunk = tx.outstanding.get(tx.outstanding.lowest_lost_on(lost_on)?);
        let is_damaged = chunk.fate == Fate::Lost(TransmissionCause::DropReport);
        let (chosen, attempt) = match chunk.fate {
            Fate::Lost(TransmissionCause::TimerRetransmission) => {
                let again = chunk.history.contains(History::TIMER_RETRANSMITTED);
                (policy.timer, if again { Attempt::Repeated } else { Attempt::First })
            }
            // What was merely damaged does not leave its path.
            _ if is_damaged => (RetransmissionPath::Same, Attempt::First),
            _ => (policy.fast, Attempt::First),
        };
        let order = rtx_policy::preference(chosen, policy.repeated, attempt, candidates, lost_on.0);
        if tx.paths[lost_on].free_retransmission {
            return order.first().map(|&index| PathId(index));
        }
        let lost_bytes = u64::from(tx.outstanding.lost_count()) * u64::from(tx.max_fragment);
        let tried = match is_damaged {
            true => 1,
            false => rtx_policy::eligible(policy.no_window, &order, candidates, lost_bytes),
        };
        let mut tried = order.iter().take(tried).map(|&index| PathId(index));
        tried.find(|path| tx.paths[*path].cwnd_admits())
    }

    fn retransmission_candidates(
        &self,
        rng: &mut dyn Rng,
    ) -> SmallVec<[rtx_policy::RetransmissionCandidate; 4]> {
        let policy = &self.config.policies.retransmission;
        let asks_for_answers =
            [policy.fast, policy.timer].contains(&RetransmissionPath::EarliestAnswer);
        let candidate = |path: &SendPath| rtx_policy::RetransmissionCandidate {
            index: path.id.0,
            cwnd: path.congestion.cwnd,
            ssthresh: path.congestion.ssthresh,
            errors: self.book[path.id].errors,
            cwnd_admits: path.cwnd_admits(),
            srtt: path.rtt.srtt(),
            answer: asks_for_answers.then(|| self.tx.latest_answer(path, self.now)),
            loss_ppm: match policy.loss_rate {
                LossRateSource::Measured => path.record.loss_rate.measured_ppm(),
                LossRateSource::Oracle => path.record.loss_rate.oracle_ppm(),
            },
            lot: 0,
        };
        let mut candidates: SmallVec<[_; 4]> =
            self.tx.paths.among(self.usable).map(candidate).collect();
        let wants_lots =
            rtx_policy::wants_lots(policy.fast) || rtx_policy::wants_lots(policy.timer);
        if candidates.len() > 1 && wants_lots {
            candidates.iter_mut().for_each(|candidate| candidate.lot = rng.next_u32());
        }
        candidates
    }
}

/// Bytes beside those of one packet that make a train on the path; 0 where it makes none.
#[inline]
pub(super) fn train_bytes_beside(config: &AssociationConfig, path: &SendPath) -> u64 {
    let policies = &config.policies;
    if policies.path_fill != PathFill::Runs || policies.path_order == PathOrder::Primary {
        return 0;
    }
    path_fill::gathered(policies.path_fill, path.flight, path.parameters().unit)
}
