//! Events for tests, with only those fields that the formulas of the built-in controllers use.

use super::GroupView;
use super::coupled::Coupling;
use super::{Acked, Context, Controller, Loss, Timeout};
use super::{Aimd, window::CongestionWindow};
use super::{NewPath, Parameters};
use crate::Instant;
use crate::config::CongestionAlgorithm;

/// A controller with this window, as if no loss had happened yet.
pub(crate) fn controller(cwnd: u64, ssthresh: u64, partial_bytes_acked: u64) -> Aimd {
    let path = NewPath::new(Parameters::plain(1500, 6000), cwnd, ssthresh);
    let mut made = Aimd::new(CongestionAlgorithm::Rfc9260, &path);
    made.adjustment.partial_bytes_acked = partial_bytes_acked;
    made
}

/// Its window and partial_bytes_acked.
pub(crate) fn state(controller: &Aimd) -> (u64, u64, u64) {
    let CongestionWindow { cwnd, ssthresh } = controller.window;
    (cwnd, ssthresh, controller.adjustment.partial_bytes_acked)
}

pub(crate) fn acked(
    acked_bytes: u64,
    flight_before: u64,
    flight_after: u64,
    advanced: bool,
) -> Acked {
    Acked { acked_bytes, flight_before, flight_after, advanced, ..Acked::default() }
}

/// What `event` does under a control.
fn under<'a>(
    algorithm: CongestionAlgorithm,
    to: &mut Aimd,
    p: &'a Parameters,
    group: &'a GroupView,
    event: impl FnOnce(&mut Aimd, &Context<'a>),
) {
    let before = to.coupling.algorithm;
    to.coupling = Coupling { algorithm, ..to.coupling };
    event(to, &Context { group, ..Context::new(Instant::ZERO, p) });
    to.coupling.algorithm = before;
}

pub(crate) fn on_ack(
    algorithm: CongestionAlgorithm,
    to: &mut Aimd,
    p: &Parameters,
    acked: &Acked,
    group: &GroupView,
) {
    under(algorithm, to, p, group, |to, cx| to.on_ack(cx, acked));
}

pub(crate) fn on_fast_retransmit(
    algorithm: CongestionAlgorithm,
    to: &mut Aimd,
    p: &Parameters,
    group: &GroupView,
) {
    under(algorithm, to, p, group, |to, cx| to.on_loss(cx, &Loss::default()));
}

pub(crate) fn on_timeout(
    algorithm: CongestionAlgorithm,
    to: &mut Aimd,
    p: &Parameters,
    group: &GroupView,
) {
    under(algorithm, to, p, group, |to, cx| to.on_timeout(cx, &Timeout::default()));
}
