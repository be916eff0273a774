//! The table of timers: in which states each runs, when it expires, and what it calls.
//!
//! Each deadline is kept by the component that it belongs to. Only this table knows in which states a timer runs. It
//! visits all timers in one order, both to find the next deadline and to expire what is due.

use super::Association;
use super::state::{Connected, State};
use crate::congestion::coupled::group::GroupViews;
use crate::paths::Path;
use crate::transmit::SendPath;
use crate::transmit::zero_window::Expiry;
use crate::{Cx, Instant, PathId, ProbeEvent, TimerKind};

/// A timer that an association has once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Timer {
    /// T5-shutdown-guard (RFC 9260 section 9.2).
    ShutdownGuard,
    /// T1-init, T1-cookie or T2-shutdown: the one that the state owns.
    State,
    /// A SACK that was delayed (section 6.2).
    Sack,
    /// A message whose lifetime ends (RFC 3758).
    Abandon,
    /// A user that was notified of space in the send buffer is no longer expected to use it: the next poll may find the
    /// tail.
    Demand,
    /// The next probe of a closed receive window (RFC 9260 section 6.1 A).
    ZeroWindow,
    /// Repetition of a request for reconfiguration (RFC 6525 section 5.1.1).
    Reconfiguration,
    /// T-4: an ASCONF was not answered (RFC 5061 section 5.1).
    AddressChanges,
    /// Checks whether the association is idle (RFC 6458 section 8.1.8).
    Autoclose,
    /// Discovery of path MTUs (RFC 8899).
    PathMtu,
}

/// A timer that each path has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum PathTimer {
    /// No new data until then, because chunks left the path.
    Ban,
    /// T3-rtx (RFC 9260 section 6.3).
    T3,
    /// The reordering window of a path has run out for a chunk.
    Late,
    /// A path that is silent at the tail: the next poll gives a probe.
    TailProbe,
    /// Its lowest chunk is overdue at the tail: the next poll may give it to another path.
    Overdue,
    /// The pace lets the next packet go: the next poll gives it.
    Pace,
    /// Heartbeats (RFC 9260 section 8.3).
    Heartbeat,
}

/// In this order timers expire that are due together.
const BEFORE_PATHS: [Timer; 9] = [
    Timer::ShutdownGuard,
    Timer::State,
    Timer::Sack,
    Timer::Abandon,
    Timer::Demand,
    Timer::ZeroWindow,
    Timer::Reconfiguration,
    Timer::AddressChanges,
    Timer::Autoclose,
];
const OF_PATHS: [PathTimer; 7] = [
    PathTimer::Ban,
    PathTimer::T3,
    PathTimer::Late,
    PathTimer::TailProbe,
    PathTimer::Overdue,
    PathTimer::Pace,
    PathTimer::Heartbeat,
];
const AFTER_PATHS: Timer = Timer::PathMtu;

/// The deadline of what does not run.
const NEVER: Instant = Instant::FAR_FUTURE;

/// Which timers run in a state, found out once for all of them.
#[derive(Clone, Copy)]
struct Runs<'a> {
    /// Those of data.
    may_send: bool,
    /// Those of an association whose handshake is done.
    connected: Option<&'a Connected>,
}

impl<'a> Runs<'a> {
    #[inline]
    fn of(state: &'a State) -> Self {
        let connected = match state {
            State::Connected(connected) => Some(connected),
            State::Handshake(_) | State::Closed(_) => None,
        };
        Self { may_send: state.may_send_data(), connected }
    }
}

impl Association {
    /// The earliest deadline.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        // The driver calls this after every packet.
        let runs = Runs::of(&self.state);
        let next = self
            .deadline(AFTER_PATHS, runs)
            .min(self.earliest_before_paths(runs))
            .min(self.earliest_of_paths(runs));
        (next != NEVER).then_some(next)
    }

    /// Handles every timer that is due.
    pub(super) fn expire_timers(&mut self, cx: &mut Cx<'_>) {
        // Usually only the pace of one path is due, so each group is checked as a whole before its timers.
        if self.earliest_before_paths(Runs::of(&self.state)) <= cx.now {
            for timer in BEFORE_PATHS {
                self.expire(cx, timer);
            }
        }
        if self.state.is_connected() && self.is_path_due(cx.now) {
            self.expire_path_timers(cx);
        }
        self.expire(cx, AFTER_PATHS);
    }

    /// Whether a timer of a path may be due that calls something.
    #[inline]
    fn is_path_due(&self, now: Instant) -> bool {
        let mut paths = self.transmitter.paths.iter().zip(self.paths.iter());
        paths.any(|(sending, path)| earliest_that_calls(sending, path) <= now)
    }

    fn expire_path_timers(&mut self, cx: &mut Cx<'_>) {
        // Of T3-rtx timers that expire together each sees the congestion windows of before.
        let mut groups = None;
        for timer in OF_PATHS {
            for path in self.paths.ids() {
                if self.path_deadline(path, timer) <= cx.now {
                    self.path_expired(cx, path, timer, &mut groups);
                }
            }
        }
    }

    #[inline]
    fn earliest_before_paths(&self, runs: Runs<'_>) -> Instant {
        let of = |timer| self.deadline(timer, runs);
        // Spelled out, as in `earliest_of`: a loop over them chooses the timer again for each.
        let earliest = of(Timer::ShutdownGuard)
            .min(of(Timer::State))
            .min(of(Timer::Sack))
            .min(of(Timer::Abandon))
            .min(of(Timer::Demand))
            .min(of(Timer::ZeroWindow))
            .min(of(Timer::Reconfiguration))
            .min(of(Timer::AddressChanges))
            .min(of(Timer::Autoclose));
        debug_assert_eq!(Some(earliest), BEFORE_PATHS.into_iter().map(of).min(), "all timers");
        earliest
    }

    /// The earliest deadline of all paths.
    #[inline]
    fn earliest_of_paths(&self, runs: Runs<'_>) -> Instant {
        let mut next = NEVER;
        if runs.connected.is_some() {
            for (sending, path) in self.transmitter.paths.iter().zip(self.paths.iter()) {
                next = next.min(match runs.may_send {
                    true => earliest_of(sending, path),
                    false => deadline_of(PathTimer::T3, sending, path),
                });
            }
        }
        next
    }

    /// When a timer expires; [`NEVER`] if it does not run.
    #[inline(always)]
    fn deadline(&self, timer: Timer, Runs { may_send, connected }: Runs<'_>) -> Instant {
        let deadline = match timer {
            Timer::ShutdownGuard => connected.and_then(|connected| connected.shutdown_guard),
            Timer::State => connected.map_or_else(|| self.state.timer(), Connected::timer),
            Timer::Sack => connected.and_then(|connected| connected.peer.receiver.poll_timeout()),
            Timer::Abandon => self.transmitter.abandon_deadline(self.state.send_phase()),
            Timer::Demand if may_send => self.transmitter.demand_deadline(),
            Timer::ZeroWindow if may_send => self.transmitter.zero_window.deadline(),
            Timer::PathMtu if may_send => self.mtu_work.due(),
            Timer::Reconfiguration if may_send => self.reconfiguration_due(),
            Timer::AddressChanges if may_send => self.address_changes_due(),
            Timer::Autoclose if may_send => self.autoclose_due(),
            Timer::Demand
            | Timer::ZeroWindow
            | Timer::Reconfiguration
            | Timer::AddressChanges
            | Timer::Autoclose
            | Timer::PathMtu => None,
        };
        deadline.unwrap_or(NEVER)
    }

    /// The same for a timer of a path.
    #[inline(always)]
    fn path_deadline(&self, id: PathId, timer: PathTimer) -> Instant {
        let runs = match timer {
            PathTimer::T3 => self.state.is_connected(),
            _ => self.state.may_send_data(),
        };
        match runs {
            true => deadline_of(timer, &self.transmitter.paths[id], &self.paths[id]),
            false => NEVER,
        }
    }

    fn expire(&mut self, cx: &mut Cx<'_>, timer: Timer) {
        if self.deadline(timer, Runs::of(&self.state)) > cx.now {
            return;
        }
        match timer {
            Timer::ShutdownGuard => {
                let timer = TimerKind::T5ShutdownGuard;
                cx.probe.on(cx.now, ProbeEvent::TimerExpired { timer, path: None });
                self.give_up_shutdown(cx);
            }
            Timer::State if self.state.is_handshake() => self.handshake_timeout(cx),
            Timer::State => self.shutdown_timeout(cx),
            Timer::Sack => {
                if let Some(receiver) = self.state.receiver_mut() {
                    receiver.handle_timeout(cx.now);
                }
            }
            Timer::Abandon => {
                let (transmitter, mut send_cx) = self.sending(cx);
                transmitter.on_lifetime_over(&mut send_cx);
                self.apply_effects(cx);
            }
            Timer::Demand => self.transmitter.on_demand_over(),
            Timer::ZeroWindow => {
                let timer = TimerKind::ZeroWindow;
                cx.probe.on(cx.now, ProbeEvent::TimerExpired { timer, path: None });
                self.transmitter.zero_window.expire(cx.now);
            }
            Timer::Reconfiguration => self.repeat_request(cx),
            Timer::AddressChanges => self.repeat_address_changes(cx),
            Timer::Autoclose => self.watch_idle_time(cx),
            Timer::PathMtu => self.expire_mtu_timers(cx.now),
        }
    }

    fn path_expired(
        &mut self,
        cx: &mut Cx<'_>,
        id: PathId,
        timer: PathTimer,
        groups: &mut Option<GroupViews>,
    ) {
        match timer {
            PathTimer::Ban => self.transmitter.paths[id].new_data_ban.lift(),
            PathTimer::T3 => {
                self.t3_expired(cx, id, groups);
                self.probe_in_outage(cx.now);
            }
            PathTimer::Late => {
                let (transmitter, mut send_cx) = self.sending(cx);
                transmitter.on_late(&mut send_cx, id);
            }
            // What they bring forth is decided when the next packet is polled; `earliest_that_calls` leaves them out.
            PathTimer::TailProbe | PathTimer::Overdue | PathTimer::Pace => {}
            PathTimer::Heartbeat => {
                self.heartbeat_expired(cx, id);
                self.probe_in_outage(cx.now);
            }
        }
    }

    /// T3-rtx expired (RFC 9260 section 6.3.3).
    fn t3_expired(&mut self, cx: &mut Cx<'_>, id: PathId, groups: &mut Option<GroupViews>) {
        let before = self.paths[id].reach();
        let lowest = self.transmitter.lowest_on(id);
        let (transmitter, mut send_cx) = self.sending(cx);
        let groups = groups.get_or_insert_with(|| transmitter.group_views(&send_cx));
        let expiry = transmitter.on_timeout(&mut send_cx, id, groups);
        if expiry != Expiry::AnsweredProbe {
            // A probe of a closed window is answered if it arrives: one that is not may have been too large, too.
            self.doubt_mtu(cx, id);
            if self.is_too_large(cx, id, lowest) {
                return;
            }
            self.count_path_error(cx, id);
        }
        self.probe_after_timeout(cx, id, before);
    }
}

/// The earliest deadline of a path that may send data.
#[inline]
fn earliest_of(sending: &SendPath, path: &Path) -> Instant {
    let of = |timer| deadline_of(timer, sending, path);
    // Written out: a loop over this many timers is not unrolled, and then each costs a jump.
    let earliest = of(PathTimer::Ban)
        .min(of(PathTimer::T3))
        .min(of(PathTimer::Late))
        .min(of(PathTimer::TailProbe))
        .min(of(PathTimer::Overdue))
        .min(of(PathTimer::Pace))
        .min(of(PathTimer::Heartbeat));
    debug_assert_eq!(Some(earliest), OF_PATHS.into_iter().map(of).min(), "no timer is left out");
    earliest
}

/// The earliest deadline of a path that calls something: the others only wake the driver.
#[inline]
fn earliest_that_calls(sending: &SendPath, path: &Path) -> Instant {
    let of = |timer| deadline_of(timer, sending, path);
    of(PathTimer::Ban).min(of(PathTimer::T3)).min(of(PathTimer::Late)).min(of(PathTimer::Heartbeat))
}

/// When a timer of a path expires that runs in the present state.
#[inline(always)]
fn deadline_of(timer: PathTimer, sending: &SendPath, path: &Path) -> Instant {
    match timer {
        PathTimer::Ban => sending.new_data_ban.ends_at().unwrap_or(NEVER),
        PathTimer::T3 => sending.t3.unwrap_or(NEVER),
        PathTimer::Late => sending.late_due(),
        PathTimer::TailProbe => sending.tail_probe.due(),
        PathTimer::Overdue => sending.tail_probe.overdue_at(),
        PathTimer::Pace => sending.pace_due(),
        PathTimer::Heartbeat => path.heartbeat.due.unwrap_or(NEVER),
    }
}
