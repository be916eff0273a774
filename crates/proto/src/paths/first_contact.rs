//! Which paths an INIT takes, and what its answer tells of a path.
//!
//! A handshake over the slowest path takes two of its round trips before there is any data, and over a dead one it waits
//! for T1-init. RFC 9260 lets a client send its INIT to any of the peer's addresses when the timer expires (section 6.4.1);
//! with all paths it does not wait for that. All these INITs are the same, and whoever gets them answers each without keeping
//! anything (section 5.1.3). Of the INIT ACKs, each with a cookie and a tag of its own, the first one is taken; what comes
//! when COOKIE-WAIT is over is discarded (section 5.2.3). An INIT that a slow path delivers when the association exists
//! changes nothing there (section 5.2.2).

use core::net::IpAddr;

use smallvec::SmallVec;

use crate::config::HandshakePaths;
use crate::types::address_scope::scope;
use crate::{Instant, PathId};

/// The pair of addresses of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pair {
    pub(crate) path: PathId,
    pub(crate) local: IpAddr,
    pub(crate) remote: IpAddr,
}

/// Those of the narrowest scope, and the one of them whose turn it is: over them both sides name all addresses that they have,
/// and over the others only some (a link-local address means nothing elsewhere).
pub(crate) fn narrowest(turn: Pair, paths: &[Pair]) -> (Pair, SmallVec<[Pair; 4]>) {
    let least = paths.iter().map(|pair| scope(pair.remote)).min();
    let narrow = |pair: &&Pair| Some(scope(pair.remote)) == least;
    let chosen: SmallVec<[Pair; 4]> = paths.iter().filter(narrow).copied().collect();
    let turn = if chosen.contains(&turn) { turn } else { *chosen.first().unwrap_or(&turn) };
    (turn, chosen)
}

/// The paths for an INIT: the one whose turn it is, and with all paths each other one that has an address which none
/// before it has, so that a full mesh is not probed repeatedly.
pub(crate) fn destinations(
    policy: HandshakePaths,
    turn: Pair,
    paths: impl Iterator<Item = Pair>,
) -> SmallVec<[PathId; 4]> {
    let mut chosen: SmallVec<[Pair; 4]> = SmallVec::from_slice(&[turn]);
    if policy == HandshakePaths::AllPaths {
        for pair in paths.filter(|pair| pair.path != turn.path) {
            let known = chosen.iter().any(|other| other.local == pair.local)
                && chosen.iter().any(|other| other.remote == pair.remote);
            if !known {
                chosen.push(pair);
            }
        }
    }
    chosen.iter().map(|pair| pair.path).collect()
}

/// What is known of the INITs on a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum InitTry {
    /// There were none.
    #[default]
    None,
    /// One, sent then: its INIT ACK measures the round trip.
    Once(Instant),
    /// It was answered, or there were several, and it is unknown which of them an INIT ACK answers (RFC 9260 section 6.3.1,
    /// rule C5).
    Spent,
}

impl InitTry {
    /// An INIT was sent.
    pub(crate) fn on_sent(&mut self, now: Instant) {
        *self = match self {
            Self::None => Self::Once(now),
            Self::Once(_) | Self::Spent => Self::Spent,
        };
    }

    /// One INIT was sent, and no INIT ACK arrived.
    pub(crate) fn is_unanswered(self) -> bool {
        matches!(self, Self::Once(_))
    }

    /// An INIT ACK arrived: when the INIT that it answers was sent, if known.
    pub(crate) fn on_answer(&mut self) -> Option<Instant> {
        match core::mem::replace(self, Self::Spent) {
            Self::Once(at) => Some(at),
            Self::None | Self::Spent => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn run(policy: HandshakePaths, turn: usize, pairs: &[(u8, u8)]) -> Vec<u8> {
        let address = |n: u8| IpAddr::from([10, 0, 0, n]);
        let pairs: Vec<Pair> = (0..)
            .zip(pairs)
            .map(|(id, &(local, remote))| Pair {
                path: PathId(id),
                local: address(local),
                remote: address(remote),
            })
            .collect();
        let chosen = destinations(policy, pairs[turn], pairs.iter().copied());
        chosen.iter().map(|path| path.0).collect()
    }

    #[test]
    fn every_address_is_asked_once() {
        use HandshakePaths::{AllPaths, Primary};
        let mesh = &[(1, 11), (2, 12), (1, 12), (2, 11)];
        for (what, policy, turn, pairs, expected) in [
            ("one path", AllPaths, 0, &[(1, 11)][..], &[0][..]),
            ("the one whose turn it is", Primary, 1, &[(1, 11), (2, 12)], &[1]),
            ("all of them", AllPaths, 0, &[(1, 11), (2, 12), (3, 13)], &[0, 1, 2]),
            ("whose turn it is goes first", AllPaths, 1, &[(1, 11), (2, 12), (3, 13)], &[1, 0, 2]),
            ("two uplinks to one address", AllPaths, 0, &[(1, 11), (2, 11)], &[0, 1]),
            ("one uplink to two addresses", AllPaths, 0, &[(1, 11), (1, 12)], &[0, 1]),
            ("a mesh adds no addresses", AllPaths, 0, mesh, &[0, 1]),
            ("nor from its other diagonal", AllPaths, 2, mesh, &[2, 0, 1]),
        ] {
            assert_eq!(run(policy, turn, pairs), expected, "{what}");
        }
    }

    #[test]
    fn addresses_that_may_name_all_others_are_asked_first() {
        let pair = |id, remote: &str| {
            let remote: IpAddr = remote.parse().unwrap();
            Pair { path: PathId(id), local: remote, remote }
        };
        let (far, link, other) = (pair(0, "10.0.0.1"), pair(1, "fe80::1"), pair(2, "169.254.0.1"));
        let (turn, chosen) = narrowest(far, &[far, link, other]);
        assert_eq!((turn, &chosen[..]), (link, &[link, other][..]));
        assert_eq!(narrowest(other, &[far, link, other]).0, other);
        let (turn, chosen) = narrowest(far, &[far]);
        assert_eq!((turn, &chosen[..]), (far, &[far][..]));
    }

    #[test]
    fn only_a_single_init_measures() {
        let (one, two) = (Instant::from_nanos(1), Instant::from_nanos(2));
        let mut init = InitTry::default();
        assert_eq!(init.on_answer(), None, "the answer came on another path");
        init = InitTry::None;
        init.on_sent(one);
        assert_eq!(init.on_answer(), Some(one));
        assert_eq!(init.on_answer(), None, "a duplicate");
        init = InitTry::None;
        init.on_sent(one);
        init.on_sent(two);
        assert_eq!(init.on_answer(), None, "which one does it answer?");
    }
}
