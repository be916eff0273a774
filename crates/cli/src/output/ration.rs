//! Rate limit of the lines that a peer causes.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

/// Lines that a peer may cause at once.
const BURST: u32 = 1000;
/// Time after which it may cause one more.
const PER_LINE: Duration = Duration::from_millis(100);
/// Maximum number of peers with state.
const MOST_PEERS: usize = 4096;

/// Limits the lines of each peer, by its address, since it may begin any number of associations. The time is passed in.
#[derive(Debug, Default)]
pub(crate) struct Ration {
    peers: BTreeMap<IpAddr, Peer>,
}

#[derive(Clone, Copy, Debug)]
struct Peer {
    /// Lines that it may cause at present.
    lines: u32,
    /// When the last line was granted, or the allowance was full.
    since: Duration,
    left_out: u64,
}

/// Decision about a line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// Write it. The number counts the dropped lines of the same peer before it.
    Write(u64),
    /// Drop it.
    LeaveOut,
}

impl Ration {
    /// Decides about a line that `peer` causes `now`.
    pub(crate) fn admit(&mut self, peer: IpAddr, now: Duration) -> Verdict {
        if self.peers.len() >= MOST_PEERS && !self.peers.contains_key(&peer) {
            self.forget_full(now);
            if self.peers.len() >= MOST_PEERS {
                return Verdict::LeaveOut;
            }
        }
        let fresh = Peer { lines: BURST, since: now, left_out: 0 };
        let entry = self.peers.entry(peer).or_insert(fresh);
        entry.refill(now);
        if entry.lines == 0 {
            entry.left_out += 1;
            return Verdict::LeaveOut;
        }
        entry.lines -= 1;
        Verdict::Write(std::mem::take(&mut entry.left_out))
    }

    /// Dropped lines that were not reported yet, by peer.
    pub(crate) fn take_left_out(&mut self) -> Vec<(IpAddr, u64)> {
        let take = |(address, peer): (&IpAddr, &mut Peer)| {
            let count = std::mem::take(&mut peer.left_out);
            (count > 0).then_some((*address, count))
        };
        self.peers.iter_mut().filter_map(take).collect()
    }

    /// Removes the peers whose allowance is full again.
    fn forget_full(&mut self, now: Duration) {
        self.peers.retain(|_, peer| {
            peer.refill(now);
            peer.lines < BURST || peer.left_out > 0
        });
    }
}

impl Peer {
    fn refill(&mut self, now: Duration) {
        let due = now.saturating_sub(self.since).as_nanos() / PER_LINE.as_nanos();
        let due = u32::try_from(due).unwrap_or(u32::MAX);
        if due >= BURST - self.lines {
            (self.lines, self.since) = (BURST, now);
        } else {
            self.lines += due;
            self.since += PER_LINE * due;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(number: u32) -> IpAddr {
        IpAddr::from(number.to_be_bytes())
    }

    #[test]
    fn a_burst_then_a_line_now_and_then() {
        let mut ration = Ration::default();
        let mut written = |count, now| {
            (0..count).filter(|_| ration.admit(peer(1), now) != Verdict::LeaveOut).count()
        };
        assert_eq!(written(5000, Duration::ZERO), 1000);
        assert_eq!(written(50, Duration::from_millis(99)), 0);
        assert_eq!(written(50, Duration::from_millis(250)), 2);
        // The rest of the 250 ms is not lost.
        assert_eq!(written(50, Duration::from_millis(300)), 1);
        assert_eq!(written(5000, Duration::from_secs(1000)), 1000);
    }

    #[test]
    fn what_is_left_out_is_counted_and_told_once() {
        let mut ration = Ration::default();
        let written =
            (0..1250).filter(|_| ration.admit(peer(1), Duration::ZERO) != Verdict::LeaveOut);
        assert_eq!(written.count(), 1000);
        assert_eq!(ration.admit(peer(2), Duration::ZERO), Verdict::Write(0), "another peer");
        assert_eq!(ration.admit(peer(1), PER_LINE), Verdict::Write(250));
        assert_eq!(ration.admit(peer(1), PER_LINE), Verdict::LeaveOut);
        assert_eq!(ration.take_left_out(), [(peer(1), 1)]);
        assert_eq!(ration.take_left_out(), []);
    }

    #[test]
    fn the_number_of_peers_is_bounded() {
        let mut ration = Ration::default();
        for number in 0..100_000 {
            let _ = ration.admit(peer(number), Duration::ZERO);
        }
        assert_eq!(ration.peers.len(), MOST_PEERS);
        // Peers that were silent for a while make room.
        assert_eq!(ration.admit(peer(100_001), PER_LINE), Verdict::Write(0));
        assert_eq!(ration.peers.len(), 1);
    }
}
