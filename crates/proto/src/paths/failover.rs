//! Which potentially failed path carries data while no path is active, and how one starts again.
//!
//! `natarajan` section II-C and III-B.1; RFC 7829 section 3.2 rules 4 and 7. ns-2 `Agent/SCTP/CMT`: `useCmtPF_`, `cmtPFCwnd_`.

use core::cmp::Reverse;

use crate::config::{Failover, FailureDetection};

use super::reach::Thresholds;

/// What is known of a potentially failed path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Suspect {
    /// Position in the path table.
    pub(crate) index: u8,
    /// Consecutive timeouts.
    pub(crate) errors: u32,
    /// How many paths of the association had become doubtful when this one did: the highest was active last.
    pub(crate) rank: u64,
}

/// The one that carries data: that with the fewest consecutive timeouts, of several the one that was active last.
pub(crate) fn stand_in(suspects: impl Iterator<Item = Suspect>) -> Option<u8> {
    let best = suspects.min_by_key(|suspect| (suspect.errors, Reverse(suspect.rank)));
    best.map(|suspect| suspect.index)
}

/// Thresholds of the state machine.
pub(crate) fn thresholds(policy: &Failover, path_max_retrans: u32) -> Thresholds {
    let potentially_failed = match policy.detection {
        FailureDetection::Rfc9260 => None,
        FailureDetection::Pf1 | FailureDetection::Pf2 => Some(policy.pf_threshold),
    };
    Thresholds { potentially_failed, failed: path_max_retrans }
}

/// A heartbeat of a potentially failed path was answered: slow start from this many bytes, 1 MTU (CMT-PF1) or 2 MTU
/// (CMT-PF2), up to the present threshold. `None`: the window stays.
pub(crate) fn restart_cwnd(detection: FailureDetection, unit: u64) -> Option<u64> {
    match detection {
        FailureDetection::Rfc9260 => None,
        FailureDetection::Pf1 => Some(unit),
        FailureDetection::Pf2 => Some(2 * unit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Instant;
    use crate::congestion::testing::{acked, controller, state};
    use crate::congestion::{
        Aimd, Context, Controller, Correction, CorrectionCause, Parameters, Timeout,
    };

    const MTU: u64 = 1500;

    /// What becomes of a window when a heartbeat is answered.
    fn restart(window: &mut Aimd, detection: FailureDetection) {
        let parameters = Parameters::plain(MTU, 4 * MTU);
        let cwnd = restart_cwnd(detection, MTU).unwrap();
        let restart = Correction { cause: CorrectionCause::Restart, cwnd, ssthresh: None };
        window.on_correction(&Context::new(Instant::ZERO, &parameters), &restart);
    }

    #[test]
    fn fewest_timeouts_then_last_active() {
        for (suspects, expected) in [
            (&[][..], None),
            (&[(0, 3, 1)], Some(0)),
            (&[(0, 3, 1), (1, 2, 2)], Some(1)),
            (&[(0, 1, 2), (1, 2, 1)], Some(0)),
            (&[(0, 2, 1), (1, 2, 2)], Some(1)),
            (&[(0, 2, 5), (1, 2, 2), (3, 4, 9)], Some(0)),
        ] {
            let suspects =
                suspects.iter().map(|&(index, errors, rank)| Suspect { index, errors, rank });
            assert_eq!(stand_in(suspects), expected);
        }
    }

    /// Packets sent within n round trips after a timeout: a window each, every packet acknowledged by itself.
    fn packets(mut window: Aimd, first_round: u32, rounds: u32) -> u64 {
        let parameters = Parameters::plain(MTU, 4 * MTU);
        let mut total = 0;
        for _ in first_round..=rounds {
            let packets = window.cwnd() / MTU;
            total += packets;
            for _ in 0..packets {
                // What was acknowledged is replaced at once.
                let flight = window.cwnd();
                let acked = acked(MTU, flight, flight, true);
                window.on_ack(&Context::new(Instant::ZERO, &parameters), &acked);
            }
        }
        total
    }

    #[test]
    fn natarajan_section_iii_b_1() {
        let mut cut = controller(2000 * MTU, 1, 9);
        let parameters = Parameters::plain(MTU, 4 * MTU);
        cut.on_timeout(&Context::new(Instant::ZERO, &parameters), &Timeout::default());
        let restarted = |detection| {
            let mut window = controller(cut.cwnd(), state(&cut).1, 9);
            restart(&mut window, detection);
            let (_, ssthresh, partial_bytes_acked) = state(&window);
            assert_eq!((ssthresh, partial_bytes_acked), (1000 * MTU, 0));
            window
        };
        for n in 1..=9 {
            // Plain CMT sends at once; the others spend the first round trip on a heartbeat.
            assert_eq!(packets(cut.clone(), 0, n), (1 << (n + 1)) - 1);
            assert_eq!(packets(restarted(FailureDetection::Pf2), 1, n), (1 << (n + 1)) - 2);
            assert_eq!(packets(restarted(FailureDetection::Pf1), 1, n), (1 << n) - 1);
        }
    }

    #[test]
    fn a_restart_ends_what_an_idle_path_had() {
        let window = controller(90_000, 40_000, 5);
        for (detection, cwnd) in [(FailureDetection::Pf1, MTU), (FailureDetection::Pf2, 2 * MTU)] {
            let mut window = window.clone();
            restart(&mut window, detection);
            assert_eq!(state(&window), (cwnd, 40_000, 0));
        }
    }
}
