//! What keeps slow paths from holding the others up: new data that stays away from them, and chunks that come back from
//! them at the end.

use super::Association;
use super::packet_builder::PacketBuilder;
use super::tail_probe::is_answered_at_once;
use crate::Delivery;
use crate::config::{BlockingEstimation, PathOrder, TailReinjection};
use crate::mechanism::blocking_estimation::{self, PathView, SlowPath};
use crate::mechanism::tail_reinjection::{self, Waiting};
use crate::paths::Path;
use crate::probe::TransmissionCause;
use crate::transmit::outstanding::{History, OutstandingChunk};
use crate::transmit::queue::Asking;
use crate::types::{Capabilities, Fate, PathSet};
use crate::{Cx, Duration, Instant, PathId, Tsn};

/// Packets that may be acknowledged on a path without telling its round trip.
const MOST_TRIES: u64 = 10;

impl Association {
    /// Whether new data has to wait for a quicker path, because it would block the buffers on this one.
    pub(super) fn waits_for_quicker(&self, path: PathId, usable: PathSet, user_bytes: u32) -> bool {
        if !self.estimates_blocking(usable) || self.sender.queue.names(path) {
            return false;
        }
        let Some(buffer) = self.buffer_that_blocks(path, usable) else { return false };
        let own = &self.paths[path];
        let others = || {
            let carries = move |other: &&Path| other.id != path && usable.contains(other.id);
            self.paths.iter().filter(carries).filter_map(blocking_view)
        };
        let Some(view) = blocking_view(own) else {
            // One packet, or an answer to come, tells how long its round trip is. If so many did not, for their
            // acknowledgements took another path, it has to be tried.
            let is_asked = own.flight > 0 || own.heartbeat.outstanding.is_some();
            let tries = own.counters.data_bytes_acked / u64::from(self.max_fragment.max(1));
            return is_asked && tries < MOST_TRIES && others().next().is_some();
        };
        let rtt = blocking_estimation::expected_rtt(&view, own.flight, user_bytes.into());
        let in_flight = self.sender.window.in_flight_on(path).user_bytes;
        let slow = SlowPath { rtt, in_flight, chunk: user_bytes.into(), buffer };
        blocking_estimation::would_block(&slow, others())
    }

    fn estimates_blocking(&self, usable: PathSet) -> bool {
        let policies = &self.config.policies;
        policies.blocking_estimation == BlockingEstimation::On
            && policies.path_order != PathOrder::Primary
            && usable.len() > 1
    }

    /// Nothing more can be sent. If buffers are what stops the path that would carry most alone, and a slower one has filled
    /// them, that one pays, once per round trip.
    pub(super) fn penalize_what_blocks(&mut self, cx: &mut Cx<'_>, usable: PathSet) {
        if !self.estimates_blocking(usable) || self.sender.window.is_empty() {
            return;
        }
        let buffer = self.sender.queue.limit().min(self.receive_room());
        let usable_paths = self.paths.iter().filter(|path| usable.contains(path.id));
        let views = usable_paths.filter_map(|path| Some((path, blocking_view(path)?)));
        let Some((best, view)) = views.max_by_key(|(_, view)| view.alone(buffer)) else { return };
        let best = best.id;
        if view.is_full() || !self.paths[best].has_window() || !self.is_held_up(best, usable) {
            return;
        }
        let lowest = self.sender.window.get(self.sender.window.base());
        let slow = &mut self.paths[lowest.path];
        let is_slow = slow.rtt.srtt().is_some_and(|rtt| view.is_quicker_than(rtt));
        if slow.id == best || !is_slow || cx.now < slow.spared_until {
            return;
        }
        let unit = slow.congestion_parameters(&self.config).unit;
        slow.spared_until = cx.now + slow.rtt.srtt().unwrap_or_default();
        slow.window.cwnd = blocking_estimation::penalized(slow.window.cwnd, unit);
        cx.probe.on(cx.now, slow.window_event());
    }

    /// Whether a full buffer keeps the path from sending.
    fn is_held_up(&self, path: PathId, usable: PathSet) -> bool {
        if self.sender.queue.is_empty() {
            return self.sender.room_is_wanted();
        }
        let asking = Asking { path, usable, bundled: None };
        let next = self.sender.queue.peek(asking, self.max_fragment);
        next.is_some_and(|user_bytes| !self.admits_new(path, usable, user_bytes))
    }

    /// Size of the peer's receive buffer, as far as its window tells.
    fn receive_room(&self) -> u64 {
        let window = &self.sender.window;
        let held = |path| window.booked_on(path).user_bytes + window.kept_on(path);
        self.sender.peer_window().saturating_add(self.paths.ids().map(held).sum())
    }

    /// Size of the buffer in which data waits for a chunk on this path; nothing if none does.
    fn buffer_that_blocks(&self, path: PathId, usable: PathSet) -> Option<u64> {
        // Non-renegable acknowledgements empty the send buffer, and unordered messages wait for nobody.
        let sender = match self.extensions.contains(Capabilities::NR_SACK) {
            true => None,
            false => Some(self.sender.queue.limit()),
        };
        let asking = Asking { path, usable, bundled: None };
        let receiver = match self.sender.queue.peek_delivery(asking) {
            Some(Delivery::Unordered) => None,
            _ => Some(self.receive_room()),
        };
        sender.into_iter().chain(receiver).min()
    }

    /// At the tail of what there is to send: the chunk that arrives earlier if another path sends it again, and that path.
    /// What is passed here is looked at again only when something is overdue: until then it comes closer to its answer.
    pub(super) fn late_chunk(&mut self, now: Instant, usable: PathSet) -> Option<(Tsn, PathId)> {
        if !self.moves_at_tail(usable) {
            return None;
        }
        let fastest = self.fastest_path(usable)?;
        let (fastest, new_rtt, has_window) =
            (fastest.id, fastest.rtt.srtt()?, fastest.has_window());
        if let Some(overdue) = self.lowest_overdue(fastest, now)
            && overdue.is_before(self.sender.tail_seen)
        {
            self.sender.tail_seen = overdue;
        }
        if !has_window {
            // It will have, long before another one could help.
            return None;
        }
        let window = &self.sender.window;
        let end = window.next_tsn();
        let mut from = self.sender.tail_seen;
        if !window.contains(from) && from != end {
            from = window.base();
        }
        let mut found = None;
        while let Some(tsn) = window.next_unacked(from, end) {
            let chunk = window.get(tsn);
            from = tsn;
            if chunk.path != fastest
                && is_movable(chunk, now)
                && (self.is_overdue(chunk, now) || self.arrives_earlier(chunk, now, new_rtt))
            {
                found = Some((tsn, fastest));
                break;
            }
            from = tsn.next();
        }
        self.sender.tail_seen = if found.is_some() { from } else { end };
        found
    }

    /// The lowest of the chunks that are the lowest of their paths, other than this one, and overdue.
    fn lowest_overdue(&self, fastest: PathId, now: Instant) -> Option<Tsn> {
        let others = self.paths.ids().filter(|id| *id != fastest);
        let lowest = others.filter_map(|id| self.lowest_outstanding(id)).filter(|tsn| {
            let chunk = self.sender.window.get(*tsn);
            is_movable(chunk, now) && self.is_overdue(chunk, now)
        });
        lowest.reduce(|low, tsn| if tsn.is_before(low) { tsn } else { low })
    }

    fn is_overdue(&self, chunk: &OutstandingChunk, now: Instant) -> bool {
        self.overdue_at(chunk).is_some_and(|at| at <= now)
    }

    fn overdue_at(&self, chunk: &OutstandingChunk) -> Option<Instant> {
        let srtt = self.paths[chunk.path].rtt.srtt()?;
        let in_flight: u64 = self.paths.iter().map(|path| path.flight).sum();
        let is_alone = in_flight <= u64::from(chunk.charge);
        let delay = match is_alone && !is_answered_at_once(chunk) {
            true => self.config.policies.delayed_ack.delay,
            false => Duration::ZERO,
        };
        Some(tail_reinjection::overdue_at(chunk.sent_at, srtt, delay))
    }

    fn arrives_earlier(&self, chunk: &OutstandingChunk, now: Instant, new_rtt: Duration) -> bool {
        let (age, its_rtt) = (now.since(chunk.sent_at), self.shortest_round_trip_of(chunk.path));
        tail_reinjection::arrives_earlier(&Waiting { age, its_rtt, new_rtt })
    }

    /// When the lowest chunk of the path is overdue and another path could take it, if that is later than `now`.
    pub(super) fn overdue_aside(&self, id: PathId, now: Instant) -> Option<Instant> {
        let usable = self.usable_paths();
        if !self.moves_at_tail(usable) {
            return None;
        }
        let fastest = self.fastest_path(usable)?;
        if fastest.id == id || !fastest.has_window() {
            return None;
        }
        let lowest = self.sender.window.get(self.lowest_outstanding(id)?);
        let at = self.overdue_at(lowest)?;
        (is_movable(lowest, now) && at > now).then_some(at)
    }

    fn moves_at_tail(&self, usable: PathSet) -> bool {
        self.config.policies.tail_reinjection == TailReinjection::On
            && usable.len() > 1
            && self.sender.is_all_sent()
    }

    fn fastest_path(&self, usable: PathSet) -> Option<&Path> {
        let measured = |path: &&Path| usable.contains(path.id) && path.rtt.srtt().is_some();
        self.paths.iter().filter(measured).min_by_key(|path| (path.rtt.srtt(), path.id))
    }

    fn shortest_round_trip_of(&self, path: PathId) -> Duration {
        let rtt = &self.paths[path].rtt;
        rtt.smallest().unwrap_or_else(|| rtt.rto())
    }

    /// Puts chunks that arrive earlier on `path` into the packet.
    pub(super) fn fill_with_late(
        &mut self,
        cx: &mut Cx<'_>,
        path: PathId,
        usable: PathSet,
        packet: &mut PacketBuilder<'_>,
    ) {
        while let Some((tsn, to)) = self.late_chunk(cx.now, usable)
            && to == path
        {
            let chunk = self.sender.window.get(tsn);
            let (user_bytes, charge, old) = (chunk.user_bytes(), chunk.charge, chunk.path);
            if !packet.fits_data(user_bytes) {
                break;
            }
            self.withdraw_from(cx, old, tsn, charge);
            self.push_moved(cx, path, tsn, TransmissionCause::Rescheduled, packet);
            self.paths[path].start_t3(cx.now);
        }
    }

    /// Takes a chunk out of what is outstanding on `old`. The transmission is still on its way there, so nothing new
    /// follows for a round trip; its window has done nothing wrong.
    fn withdraw_from(&mut self, cx: &mut Cx<'_>, old: PathId, tsn: Tsn, charge: u32) {
        let path = &mut self.paths[old];
        path.tail_probe.begin_anew();
        path.take_out(tsn, charge);
        path.banned_until = path.rtt.srtt().map(|round_trip| cx.now + round_trip);
        if path.flight == 0 {
            path.t3 = None;
            self.watch_emptied_path(cx, old);
        }
    }
}

fn is_movable(chunk: &OutstandingChunk, now: Instant) -> bool {
    chunk.fate == Fate::InFlight
        && !chunk.history.contains(History::RESCHEDULED)
        && chunk.may_be_sent_again(now)
}

fn blocking_view(path: &Path) -> Option<PathView> {
    Some(PathView {
        cwnd: path.window.cwnd,
        ssthresh: path.window.ssthresh,
        srtt: path.rtt.srtt()?,
        smallest_rtt: path.rtt.smallest()?,
    })
}
