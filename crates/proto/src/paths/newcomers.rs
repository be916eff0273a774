//! Transport addresses without a path that send packets with the right verification tag: an address translator has
//! given a path another port or address, or the peer opens a path from behind one.
//!
//! What is sent there proves first that the peer receives it: a HEARTBEAT with a nonce, as for every address (RFC 9260
//! section
//! 5.4). Until it is answered from there, packets for the path keep going where they went (RFC 6951 section 5.4 would
//! follow at once), so that nobody can turn the data of an association to a third party with one packet (RFC 5062
//! section 4). Nothing is sent but in answer to a packet from there, and no more than [`MOST_PROBES`] packets.

use alloc::vec::Vec;
use core::net::IpAddr;

use super::heartbeat::SentHeartbeat;
use crate::types::Vacant;
use crate::{Duration, Encapsulation, Instant, PathId};

/// Packets that go to an address which has not answered.
pub(crate) const MOST_PROBES: usize = 3;
/// Maximum number of addresses in doubt; the one not heard of for the longest time is replaced.
const MOST_NEWCOMERS: usize = 4;
/// Probes of all of them in a [`PERIOD`], so that addresses that change with each packet cause few.
const MOST_PROBES_IN_PERIOD: u8 = 8;
const PERIOD: Duration = Duration::from_secs(1);
/// An address that did not answer is forgotten after this time, and may be probed again.
const MEMORY: Duration = Duration::from_secs(60);

/// Two transport addresses between which packets go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Location {
    pub(crate) local: IpAddr,
    pub(crate) remote: IpAddr,
    pub(crate) encapsulation: Encapsulation,
}

/// What an address is to become.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Claim {
    /// The peer's address on this path.
    Moved(PathId),
    /// The peer's address on the path that has this number at the peer, which has proved that it is the peer.
    Proved(u8),
}

/// An address that has proved nothing yet.
#[derive(Clone, Copy, Debug)]
struct Newcomer {
    serial: u16,
    place: Location,
    claim: Claim,
    probes: [Option<SentHeartbeat>; MOST_PROBES],
    last_probe: Instant,
}

/// The addresses in doubt of an association.
#[derive(Debug)]
pub(crate) struct Newcomers {
    list: Vec<Newcomer>,
    /// Listed addresses of the peer that never answered, whose paths newcomers have taken.
    pub(crate) replaced: Vec<IpAddr>,
    next_serial: u16,
    period_began: Instant,
    probes_in_period: u8,
}

/// A HEARTBEAT is due to a newcomer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Admitted {
    /// Names the newcomer.
    pub(crate) serial: u16,
    /// For the Heartbeat Info.
    pub(crate) nonce: u64,
}

/// A newcomer that has answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Proved {
    pub(crate) place: Location,
    pub(crate) claim: Claim,
    /// When the HEARTBEAT was sent that was answered.
    pub(crate) sent_at: Instant,
}

impl Newcomers {
    const NONE: Self = Self {
        list: Vec::new(),
        replaced: Vec::new(),
        next_serial: 0,
        period_began: Instant::ZERO,
        probes_in_period: 0,
    };

    /// A packet arrived from an address without a path. Returns what to send there, unless it was probed less than
    /// `pause` ago, or [`MOST_PROBES`] times; `nonce` is a new random number.
    pub(crate) fn admit(
        &mut self,
        now: Instant,
        place: Location,
        claim: Claim,
        pause: Duration,
        nonce: u64,
    ) -> Option<Admitted> {
        self.list.retain(|newcomer| now.since(newcomer.last_probe) < MEMORY);
        if now.since(self.period_began) >= PERIOD {
            (self.period_began, self.probes_in_period) = (now, 0);
        }
        let known = self.list.iter().position(|newcomer| newcomer.place == place);
        if let Some(known) = known {
            let known = &mut self.list[known];
            if let Claim::Proved(_) = claim {
                known.claim = claim;
            }
            let is_tired = known.probes.iter().all(Option::is_some);
            if is_tired || now.since(known.last_probe) < pause {
                return None;
            }
        }
        if self.probes_in_period >= MOST_PROBES_IN_PERIOD {
            return None;
        }
        let index = known.unwrap_or_else(|| self.add(now, place, claim));
        self.probes_in_period += 1;
        let newcomer = &mut self.list[index];
        newcomer.last_probe = now;
        let free = newcomer.probes.iter_mut().find(|probe| probe.is_none())?;
        *free = Some(SentHeartbeat { nonce, at: now });
        Some(Admitted { serial: newcomer.serial, nonce })
    }

    fn add(&mut self, now: Instant, place: Location, claim: Claim) -> usize {
        if self.list.len() >= MOST_NEWCOMERS {
            let oldest = (0..self.list.len()).min_by_key(|index| self.list[*index].last_probe);
            oldest.map(|oldest| self.list.remove(oldest));
        }
        let serial = self.next_serial;
        self.next_serial = serial.wrapping_add(1);
        let probes = [None; MOST_PROBES];
        self.list.push(Newcomer { serial, place, claim, probes, last_probe: now });
        self.list.len() - 1
    }

    /// Whether a nonce was sent to a newcomer.
    pub(crate) fn knows(&self, nonce: u64) -> bool {
        let mut sent = self.list.iter().flat_map(|newcomer| newcomer.probes.iter().flatten());
        sent.any(|sent| sent.nonce == nonce)
    }

    /// A nonce was echoed from `place`. Removes the newcomer, if the nonce was sent there.
    pub(crate) fn answered(&mut self, place: Location, nonce: u64) -> Option<Proved> {
        let index = self.list.iter().position(|newcomer| newcomer.place == place)?;
        let mut probes = self.list[index].probes.iter().flatten();
        let sent_at = probes.find(|probe| probe.nonce == nonce)?.at;
        let Newcomer { place, claim, .. } = self.list.remove(index);
        Some(Proved { place, claim, sent_at })
    }

    /// Whether a place is in doubt, and may be the peer's.
    pub(crate) fn contains(&self, place: Location) -> bool {
        self.list.iter().any(|newcomer| newcomer.place == place)
    }

    /// Where a newcomer is, while it has not answered.
    pub(crate) fn place(&self, serial: u16) -> Option<Location> {
        self.list.iter().find(|it| it.serial == serial).map(|newcomer| newcomer.place)
    }
}

impl Default for Newcomers {
    fn default() -> Self {
        Self::NONE
    }
}

impl Vacant for Newcomers {
    const VACANT: &'static Self = &Self::NONE;
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSE: Duration = Duration::from_millis(200);
    const CLAIM: Claim = Claim::Moved(PathId(0));

    fn place(remote_port: u16) -> Location {
        Location {
            local: IpAddr::from([10, 0, 0, 1]),
            remote: IpAddr::from([192, 0, 2, 1]),
            encapsulation: Encapsulation::Udp { local_port: 9899, remote_port },
        }
    }

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn admit(newcomers: &mut Newcomers, ms: u64, port: u16, nonce: u64) -> bool {
        newcomers.admit(at(ms), place(port), CLAIM, PAUSE, nonce).is_some()
    }

    #[test]
    fn no_more_than_three_packets_go_to_an_address_in_doubt() {
        let mut newcomers = Newcomers::default();
        for (ms, is_asked) in
            [(0, true), (199, false), (200, true), (400, true), (600, false), (60_399, false)]
        {
            assert_eq!(admit(&mut newcomers, ms, 1, ms), is_asked, "{ms}");
        }
        assert!(admit(&mut newcomers, 60_400, 1, 9), "a minute later it may be another host");
    }

    #[test]
    fn an_answer_counts_from_where_the_question_went() {
        let mut newcomers = Newcomers::default();
        assert!(admit(&mut newcomers, 0, 1, 7) && admit(&mut newcomers, 0, 2, 8));
        assert!(newcomers.knows(7) && newcomers.knows(8) && !newcomers.knows(9));
        for (port, nonce) in [(2, 7), (1, 8), (3, 7), (1, 9)] {
            assert_eq!(newcomers.answered(place(port), nonce), None, "{port} {nonce}");
        }
        let proved = newcomers.answered(place(1), 7);
        assert_eq!(proved, Some(Proved { place: place(1), claim: CLAIM, sent_at: at(0) }));
        assert_eq!(newcomers.answered(place(1), 7), None, "once");
    }

    #[test]
    fn the_first_of_several_questions_may_be_answered_last() {
        let mut newcomers = Newcomers::default();
        assert!(admit(&mut newcomers, 0, 1, 7) && admit(&mut newcomers, 300, 1, 8));
        let proved = newcomers.answered(place(1), 7);
        assert_eq!(proved.map(|proved| proved.sent_at), Some(at(0)));
    }

    #[test]
    fn ports_that_change_with_each_packet_cause_few() {
        let mut newcomers = Newcomers::default();
        let asked = (0..1000).filter(|port| admit(&mut newcomers, 10, *port, 0)).count();
        assert_eq!(asked, usize::from(MOST_PROBES_IN_PERIOD));
        assert_eq!(newcomers.list.len(), MOST_NEWCOMERS);
        assert!(admit(&mut newcomers, 1010, 5000, 1), "and keep nobody away for longer");
        assert_eq!(newcomers.place(newcomers.next_serial - 1), Some(place(5000)));
    }
}
