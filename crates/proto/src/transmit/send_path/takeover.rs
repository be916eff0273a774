//! Another congestion control takes over while the path carries data.
//!
//! What means the same to both goes on: the congestion window, the slow-start threshold between controllers that have one, fast
//! recovery, and what was measured of the path. BBR has no threshold, and its window is twice what the path carries, so that what it
//! leaves is made of its model; it begins without one, as Linux has it when the congestion control of a TCP socket changes.

use alloc::boxed::Box;

use super::SendPath;
use super::feedback::Feedback;
use crate::Instant;
use crate::config::AssociationConfig;
use crate::congestion::{Controller, CorrectionCause};

impl SendPath {
    /// The path's controller becomes that of `config`. A path that carried nothing begins with the initial window, which `sharers`
    /// paths share.
    pub(crate) fn change_controller(
        &mut self,
        now: Instant,
        config: &AssociationConfig,
        peer_window: u64,
        sharers: u64,
    ) {
        let (cwnd, ssthresh) = self.legacy();
        self.reset_cwnd(config, peer_window, sharers);
        if let Some(record) = self.record.if_used() {
            record.reduction.end();
        }
        if self.last_data_sent.is_none() {
            self.feedback = None;
            return;
        }
        if !self.control.hears_of_packets() {
            self.feedback = None;
        } else if self.feedback.is_none() {
            self.feedback = Some(Box::new(Feedback::amid_transfer(now)));
        }
        self.correct(now, CorrectionCause::Takeover, cwnd, ssthresh);
    }

    /// Congestion window and slow-start threshold for a successor of the controller.
    fn legacy(&self) -> (u64, Option<u64>) {
        let cwnd = self.congestion.cwnd;
        match (self.control.ssthresh(), self.full_flight()) {
            (Some(ssthresh), _) => (cwnd, Some(ssthresh)),
            // The window of the model has room for twice the flight. In a probe of the round trip or after a timeout it is smaller,
            // and slow start leads back.
            (None, Some(flight)) => (cwnd.min(flight), Some(flight)),
            // It has not found yet what the path carries: slow start goes on.
            (None, None) => (cwnd, None),
        }
    }
}
