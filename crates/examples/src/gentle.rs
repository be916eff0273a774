//! A congestion controller: delay-based, after TCP Vegas (Brakmo, Peterson 1995).

use polypath::congestion::{Acked, Context, Controller, Loss, NewPath, Timeout};

/// Keeps two to four packets in the queue of its path. It sees the queue grow before anything is lost.
#[derive(Debug)]
pub struct Gentle {
    cwnd: u64,
    /// Bytes acknowledged since the last step; there is one step per window.
    acked: u64,
    /// Whether the window still doubles.
    probing: bool,
}

impl Gentle {
    /// A controller for a path at its start.
    pub fn new(path: &NewPath) -> Self {
        Self { cwnd: path.initial_cwnd, acked: 0, probing: true }
    }
}

impl Controller for Gentle {
    fn on_ack(&mut self, cx: &Context<'_>, acked: &Acked) {
        self.acked += acked.acked_bytes;
        let now = acked.rate.and_then(|rate| rate.round_trip);
        let (Some(now), Some(least)) = (now, cx.smallest_rtt) else { return };
        if self.acked < self.cwnd || !cx.path.is_full(self.cwnd, acked.flight_before) {
            return;
        }
        self.acked = 0;
        let (now, least) = (now.as_secs_f64(), least.as_secs_f64());
        let queued = self.cwnd as f64 * (1.0 - (least / now).min(1.0)) / cx.path.unit as f64;
        self.probing &= queued < 2.0;
        self.cwnd = match queued {
            ..2.0 if self.probing => 2 * self.cwnd,
            ..2.0 => self.cwnd + cx.path.unit,
            4.0.. => (self.cwnd - cx.path.unit).max(2 * cx.path.unit),
            _ => self.cwnd,
        };
    }

    fn on_loss(&mut self, cx: &Context<'_>, loss: &Loss) {
        if !loss.in_recovery {
            (self.cwnd, self.probing) = ((self.cwnd * 3 / 4).max(2 * cx.path.unit), false);
        }
    }

    fn on_timeout(&mut self, cx: &Context<'_>, _: &Timeout) {
        (self.cwnd, self.probing) = (2 * cx.path.unit, true);
    }

    fn cwnd(&self) -> u64 {
        self.cwnd
    }
}
