//! Limits of packets to addresses that the peer has added and that have not answered.
//!
//! A peer can add the address of a victim. Its heartbeats prove nothing, since their source can be forged. The victim therefore gets few
//! packets (RFC 5062 section 4; RFC 9260 section 5.4 would allow six of ours, then one in half a minute, and any number of answers),
//! and no more if the address is deleted and added again. A real host is found by two more packets per path (a HEARTBEAT, and an
//! answer if it probes at the same time) after one minute, then after two, four, and every eight minutes, or by the packets that it
//! sends.

use alloc::vec::Vec;
use core::net::IpAddr;

use crate::{Duration, Instant};

/// Packets to an address before it has answered.
pub(crate) const MOST_PROBES: u8 = 3;

/// Time after which the address may have another owner, or may have become reachable. It doubles with each attempt.
const PAUSE: Duration = Duration::from_secs(60);

const LONGEST_PAUSE: Duration = Duration::from_secs(8 * 60);

/// Maximum number of addresses on trial.
const MOST_ADDRESSES: usize = 16;

/// The addresses on trial.
#[derive(Debug, Default)]
pub(crate) struct Trials(Vec<Trial>);

#[derive(Debug)]
struct Trial {
    address: IpAddr,
    left: u8,
    since: Instant,
    pause: Duration,
}

impl Trials {
    /// Whether another address may be added.
    pub(crate) fn have_room(&mut self, now: Instant, address: IpAddr) -> bool {
        self.0.retain(|trial| trial.address == address || now.since(trial.since) < trial.pause);
        self.0.len() < MOST_ADDRESSES || self.find(address).is_some()
    }

    /// Adds an address of the peer.
    pub(crate) fn begin(&mut self, now: Instant, address: IpAddr) {
        if self.find(address).is_some() {
            self.renew(now, address);
        } else {
            self.0.push(Trial { address, left: MOST_PROBES, since: now, pause: PAUSE });
        }
    }

    /// Notes a packet from an address, which may be probed again if its last packets were sent long ago. Returns whether it may.
    pub(crate) fn renew(&mut self, now: Instant, address: IpAddr) -> bool {
        let Some(trial) = self.find(address) else { return false };
        let is_due = now.since(trial.since) >= PAUSE;
        if is_due {
            (trial.left, trial.since) = (MOST_PROBES, now);
        }
        is_due
    }

    /// Whether an address without packets left may get a HEARTBEAT and an answer on each of a number of paths. `is_last`: there is no
    /// other path, and the pause does not double.
    pub(crate) fn retry(
        &mut self,
        now: Instant,
        address: IpAddr,
        paths: u8,
        is_last: bool,
    ) -> bool {
        let Some(trial) = self.find(address) else { return true };
        let is_due = now.since(trial.since) >= trial.pause;
        if is_due {
            let pause = if is_last { PAUSE } else { (trial.pause * 2).min(LONGEST_PAUSE) };
            (trial.left, trial.since, trial.pause) = (paths.saturating_mul(2), now, pause);
        }
        is_due
    }

    /// Whether a packet may be sent to an address; counts it.
    pub(crate) fn take(&mut self, address: IpAddr) -> bool {
        let Some(trial) = self.find(address) else { return true };
        let may = trial.left > 0;
        trial.left = trial.left.saturating_sub(1);
        may
    }

    /// Whether an address gets no more packets, and until when.
    pub(crate) fn over_until(&self, address: IpAddr) -> Option<Instant> {
        let trial = self.0.iter().find(|trial| trial.address == address)?;
        (trial.left == 0).then_some(trial.since + trial.pause)
    }

    /// Removes an address that has proved to be the peer's.
    pub(crate) fn proved(&mut self, address: IpAddr) {
        self.0.retain(|trial| trial.address != address);
    }

    fn find(&mut self, address: IpAddr) -> Option<&mut Trial> {
        self.0.iter_mut().find(|trial| trial.address == address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn packets(trials: &mut Trials, address: IpAddr) -> usize {
        (0..10).filter(|_| trials.take(address)).count()
    }

    #[test]
    fn an_address_that_is_silent_gets_three_packets_a_minute() {
        let [victim, other] = [1, 2].map(|host| IpAddr::from([10, 0, 0, host]));
        let mut trials = Trials::default();
        trials.begin(at(5), victim);
        assert_eq!([packets(&mut trials, victim), packets(&mut trials, other)], [3, 10]);
        assert_eq!(trials.over_until(victim), Some(at(60_005)));
        trials.begin(at(6), victim);
        assert_eq!(packets(&mut trials, victim), 0, "added again");
        for (ms, count) in [(7, 0), (60_004, 0), (60_005, 3), (60_006, 0), (120_005, 3)] {
            trials.renew(at(ms), victim);
            assert_eq!(packets(&mut trials, victim), count, "{ms}");
        }
        for (s, is_last, may) in [
            (179, false, false),
            (181, false, true),
            (300, false, false),
            (301, false, true),
            (540, true, false),
            (541, true, true),
            (601, true, true),
        ] {
            assert_eq!(trials.retry(at(s * 1000), victim, 2, is_last), may, "{s}");
            assert_eq!(packets(&mut trials, victim), 4 * usize::from(may), "{s}");
        }
        trials.proved(victim);
        assert_eq!(packets(&mut trials, victim), 10);
    }

    #[test]
    fn there_are_only_so_many_victims() {
        let mut trials = Trials::default();
        let address = |host| IpAddr::from([10, 0, 0, host]);
        for host in 0..MOST_ADDRESSES as u8 {
            assert!(trials.have_room(at(0), address(host)));
            trials.begin(at(0), address(host));
        }
        assert!(!trials.have_room(at(59_999), address(99)));
        assert!(trials.have_room(at(59_999), address(0)));
        assert!(trials.have_room(at(60_000), address(99)), "a minute later");
    }
}
