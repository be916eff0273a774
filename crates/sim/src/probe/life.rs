//! The life of each TSN, from the records of both hosts.

use std::collections::BTreeMap;

use polypath_proto::{PathId, Tsn};
use polypath_units::{Duration, Instant};
use serde::Serialize;

use super::Distribution;
use super::chunks::Chunks;

/// The first arrival of a chunk at the receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Arrival {
    pub at: Instant,
    pub tsn: Tsn,
    /// Path id of the receiver.
    pub path: PathId,
    pub carried: Carried,
}

/// The position of a chunk in messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Carried {
    /// It begins this message.
    Begins(u64),
    /// It continues the message of the chunk before it.
    Continues,
    /// Its bytes do not show it.
    #[default]
    Unknown,
}

/// The delivery of a message to the application.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Delivered {
    pub at: Instant,
    /// Its identity in the association.
    pub message: u64,
    pub bytes: u64,
}

/// The life of a chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Life {
    pub sent: Instant,
    /// Path of the first transmission.
    pub path: usize,
    /// When a transmission of it arrived first, and on which path.
    pub received: Option<(Instant, usize)>,
    /// When its message was delivered to the application.
    pub delivered: Option<Instant>,
    pub acked: Option<Instant>,
    pub again: u32,
}

impl Life {
    /// From its first transmission to the first arrival of a transmission at the receiver.
    pub fn transfer(&self) -> Option<Duration> {
        self.received.map(|(at, _)| at.since(self.sent))
    }

    /// From its first transmission to its delivery to the application.
    pub fn delivery(&self) -> Option<Duration> {
        self.delivered.map(|at| at.since(self.sent))
    }

    /// From its arrival to its delivery to the application.
    pub fn waiting(&self) -> Option<Duration> {
        self.delivered.zip(self.received).map(|(at, (received, _))| at.since(received))
    }

    /// From its first transmission to its acknowledgement.
    pub fn acknowledgement(&self) -> Option<Duration> {
        self.acked.map(|at| at.since(self.sent))
    }
}

/// Combines the records of both sides. `path_of` maps a path of the receiver to that of the sender.
pub(super) fn lives(
    chunks: &Chunks,
    arrivals: &[Arrival],
    delivered: &[Delivered],
    path_of: impl Fn(PathId) -> usize,
) -> Vec<Life> {
    let delivered: BTreeMap<u64, Instant> =
        delivered.iter().rev().map(|message| (message.message, message.at)).collect();
    let mut lives: Vec<Life> = chunks
        .sent()
        .iter()
        .map(|sent| Life {
            sent: sent.first_at,
            path: sent.first_path.index(),
            received: None,
            delivered: None,
            acked: sent.acked,
            again: sent.again,
        })
        .collect();
    let mut carried = vec![Carried::Unknown; lives.len()];
    for arrival in arrivals {
        let Some(number) = chunks.number(arrival.tsn) else { continue };
        lives[number].received.get_or_insert((arrival.at, path_of(arrival.path)));
        carried[number] = arrival.carried;
    }
    let mut message = None;
    for (life, carried) in lives.iter_mut().zip(carried) {
        message = match carried {
            Carried::Begins(message) => Some(message),
            Carried::Continues => message,
            Carried::Unknown => None,
        };
        life.delivered = message.and_then(|message| delivered.get(&message).copied());
    }
    lives
}

/// The lives of a sender's TSNs. Times include retransmissions.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct TsnResult {
    /// TSNs sent.
    pub sent: u64,
    /// TSNs sent more than once.
    pub retransmitted: u64,
    /// From the first transmission to the first arrival of a transmission at the receiver (`iyengar` fig. 4c).
    pub transfer: Distribution,
    /// From the first transmission to the delivery to the application.
    pub delivery: Distribution,
    /// From the arrival to the delivery to the application.
    pub waiting: Distribution,
    /// From the first transmission to the first acknowledgement.
    pub acknowledgement: Distribution,
    /// Mean difference of the delivery times of consecutively delivered TSNs.
    pub jitter_s: Option<f64>,
}

/// The TSNs of a path.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct PathTsnResult {
    /// TSNs whose first transmission took this path.
    pub sent: u64,
    /// Those that were retransmitted, on any path.
    pub retransmitted: u64,
    /// TSNs that arrived on it.
    pub arrived: u64,
    /// For TSNs whose first transmission took this path: time to the arrival on any path.
    pub transfer: Distribution,
    /// For TSNs whose first transmission took this path: time to the delivery to the application.
    pub delivery: Distribution,
}

impl TsnResult {
    pub(super) fn of(lives: &[Life]) -> Self {
        Self {
            sent: lives.len() as u64,
            retransmitted: lives.iter().filter(|life| life.again > 0).count() as u64,
            transfer: Distribution::of(lives.iter().filter_map(Life::transfer)),
            delivery: Distribution::of(lives.iter().filter_map(Life::delivery)),
            waiting: Distribution::of(lives.iter().filter_map(Life::waiting)),
            acknowledgement: Distribution::of(lives.iter().filter_map(Life::acknowledgement)),
            jitter_s: jitter(lives),
        }
    }
}

impl PathTsnResult {
    pub(super) fn of(lives: &[Life], path: usize) -> Self {
        let own = || lives.iter().filter(|life| life.path == path);
        let arrived = lives.iter().filter_map(|life| life.received).filter(|(_, on)| *on == path);
        Self {
            sent: own().count() as u64,
            retransmitted: own().filter(|life| life.again > 0).count() as u64,
            arrived: arrived.count() as u64,
            transfer: Distribution::of(own().filter_map(Life::transfer)),
            delivery: Distribution::of(own().filter_map(Life::delivery)),
        }
    }
}

/// Mean absolute difference of consecutive delivery times, in the order of delivery and then of TSNs.
fn jitter(lives: &[Life]) -> Option<f64> {
    let mut order: Vec<(Instant, Duration)> =
        lives.iter().filter_map(|life| life.delivered.zip(life.delivery())).collect();
    order.sort_by_key(|(at, _)| *at);
    let differences = order.windows(2).map(|pair| {
        let [one, other] = [pair[0].1, pair[1].1];
        if one < other { other - one } else { one - other }
    });
    let count = order.len().checked_sub(1).filter(|count| *count > 0)?;
    Some(super::total(differences) / count as f64)
}

#[cfg(test)]
mod tests {
    use polypath_proto::TransmissionCause;

    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    fn ms(ms: u64) -> Option<f64> {
        Some(ms as f64 / 1e3)
    }

    /// TSN 10 on path 0, 11 lost on path 1 and retransmitted on path 0, 12 on path 0, 13 never arrives. 11 and 12 are one
    /// message.
    fn example() -> Vec<Life> {
        let mut chunks = Chunks::default();
        for (tsn, path) in [(10, 0), (11, 1), (12, 0), (13, 1)] {
            chunks.on_sent(at(0), PathId(path), Tsn(tsn), TransmissionCause::New);
        }
        chunks.on_sent(at(1_000), PathId(0), Tsn(11), TransmissionCause::TimerRetransmission);
        chunks.on_acked(at(90), Tsn(10));
        let arrival =
            |ms, tsn, carried| Arrival { at: at(ms), tsn: Tsn(tsn), path: PathId(1), carried };
        let arrivals = [
            arrival(45, 10, Carried::Begins(7)),
            arrival(46, 12, Carried::Continues),
            arrival(1_045, 11, Carried::Begins(8)),
            arrival(1_046, 99, Carried::Begins(9)),
        ];
        let delivered = |ms, message| Delivered { at: at(ms), message, bytes: 1 };
        lives(&chunks, &arrivals, &[delivered(45, 7), delivered(1_045, 8)], |path| 1 - path.index())
    }

    #[test]
    fn both_sides_make_a_life() {
        let lives = example();
        let seen: Vec<_> = lives.iter().map(|life| (life.received, life.delivered)).collect();
        let expected = [
            (Some((at(45), 0)), Some(at(45))),
            (Some((at(1_045), 0)), Some(at(1_045))),
            (Some((at(46), 0)), Some(at(1_045))),
            (None, None),
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn times_count_from_the_first_transmission() {
        let lives = example();
        let all = TsnResult::of(&lives);
        assert_eq!((all.sent, all.retransmitted, all.transfer.count), (4, 1, 3));
        assert_eq!((all.transfer.p50_s, all.transfer.max_s), (ms(46), ms(1_045)));
        assert_eq!((all.delivery.p50_s, all.waiting.max_s), (ms(1_045), ms(999)));
        assert_eq!((all.acknowledgement.count, all.acknowledgement.max_s), (1, ms(90)));
        // Delivery times are 45, 1045 and 1045 ms.
        assert_eq!(all.jitter_s, ms(500));
        let second = PathTsnResult::of(&lives, 1);
        assert_eq!((second.sent, second.retransmitted, second.arrived), (2, 1, 0));
        assert_eq!((second.transfer.count, second.transfer.max_s), (1, ms(1_045)));
    }
}
