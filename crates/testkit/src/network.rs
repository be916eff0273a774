//! The paths between the two hosts.

use std::net::IpAddr;

use polypath_proto::{Duration, Ecn, Fragmentation, Instant};
use rand_core::Rng;

/// Whether packets travel encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Form {
    /// As structured packets.
    #[default]
    Structured,
    /// Encoded with checksum and parsed again.
    Encoded,
}

/// One path, the same in both directions but for its faults.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PathModel {
    /// Propagation delay.
    pub delay: Duration,
    /// Rate in bytes per second; `None`: no limit, no queue.
    pub bytes_per_second: Option<u64>,
    /// Longest IP packet; longer ones disappear, or are fragmented where they may be. `None`: any.
    pub mtu: Option<u32>,
    /// Nothing is fragmented: what is longer disappears even where it may be.
    pub drops_fragments: bool,
    /// Longest time a packet may wait for its turn before it is dropped.
    pub queue: Duration,
    /// What becomes of ECN-capable packets, in both directions.
    pub capable: Capable,
    /// Faults, in both directions unless `faults_back` says otherwise.
    pub faults: Faults,
    /// Faults from the server to the client, where they differ.
    pub faults_back: Option<Faults>,
}

impl PathModel {
    /// The same path with these faults in both directions.
    pub fn with_faults(self, faults: Faults) -> Self {
        Self { faults, faults_back: None, ..self }
    }

    /// Whether a packet passes, if IP may fragment it or not.
    pub(crate) fn carries(&self, bytes: usize, fragmentation: Fragmentation) -> bool {
        let fits = self.mtu.is_none_or(|mtu| bytes <= mtu as usize);
        fits || fragmentation == Fragmentation::Allowed && !self.drops_fragments
    }

    /// Faults of what `side` (0 or 1) sends.
    fn faults_from(&self, side: usize) -> Faults {
        if side == 0 { self.faults } else { self.faults_back.unwrap_or(self.faults) }
    }
}

/// What goes wrong on a path, in thousandths of all packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Faults {
    /// Packets lost.
    pub loss: u16,
    /// Packets delivered twice.
    pub duplication: u16,
    /// Packets delayed by up to five times the path's delay and 10 ms more.
    pub reordering: u16,
    /// Packets with a flipped bit: anywhere in [`Form::Encoded`], of the checksum in [`Form::Structured`].
    pub damage: u16,
}

impl Default for PathModel {
    fn default() -> Self {
        Self {
            delay: Duration::from_millis(10),
            bytes_per_second: None,
            mtu: None,
            drops_fragments: false,
            queue: Duration::from_millis(100),
            capable: Capable::default(),
            faults: Faults::default(),
            faults_back: None,
        }
    }
}

/// What a path does to ECN-capable packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Capable {
    /// They pass as they are.
    #[default]
    Kept,
    /// So many thousandths of them are marked.
    Marked(u16),
    /// They pass, but are not ECN-capable any more.
    Bleached,
    /// They are lost.
    Lost,
}

impl Capable {
    /// The codepoint with which a packet arrives that was sent with this one; `None` if it is lost.
    pub(crate) fn pass(self, ecn: Ecn, rng: &mut dyn Rng) -> Option<Ecn> {
        match self {
            _ if ecn == Ecn::NotEct => Some(ecn),
            Self::Kept => Some(ecn),
            Self::Marked(per_mille) => {
                let hit = rng.next_u32() % 1000 < u32::from(per_mille);
                Some(if hit { Ecn::Ce } else { ecn })
            }
            Self::Bleached => Some(Ecn::NotEct),
            Self::Lost => None,
        }
    }
}

/// State of one direction of a path.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Direction {
    free_at: Instant,
}

/// What becomes of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Fate {
    /// Arrival of the packet and of its duplicate.
    pub(crate) arrivals: [Option<Instant>; 2],
    pub(crate) damaged: bool,
}

impl Direction {
    /// Sends a packet of `len` bytes from `side` at `now`.
    pub(crate) fn send(
        &mut self,
        model: &PathModel,
        side: usize,
        now: Instant,
        len: usize,
        rng: &mut dyn Rng,
    ) -> Fate {
        let mut hit =
            |per_mille: u16| per_mille > 0 && rng.next_u32() % 1000 < u32::from(per_mille);
        let faults = model.faults_from(side);
        let (lost, twice, late, damaged) =
            (hit(faults.loss), hit(faults.duplication), hit(faults.reordering), hit(faults.damage));
        let mut leaves = now;
        if let Some(rate) = model.bytes_per_second {
            let start = self.free_at.max(now);
            if start.since(now) > model.queue {
                return Fate::default();
            }
            leaves = start + Duration::from_nanos(len as u64 * 1_000_000_000 / rate.max(1));
            self.free_at = leaves;
        }
        if lost {
            return Fate::default();
        }
        let mut arrival = leaves + model.delay;
        if late {
            let most = (model.delay * 5 + Duration::from_millis(10)).as_nanos();
            arrival += Duration::from_nanos(rng.next_u64() % most);
        }
        Fate {
            arrivals: [Some(arrival), twice.then(|| arrival + Duration::from_micros(50))],
            damaged,
        }
    }
}

/// Address of `side` (0 or 1) on path `path`.
pub(crate) fn address(side: usize, path: usize) -> IpAddr {
    IpAddr::from([10, 0, path as u8, side as u8 + 1])
}

/// Side and path of an address.
pub(crate) fn locate(address: IpAddr) -> Option<(usize, usize)> {
    match address {
        IpAddr::V4(v4) => {
            let [10, 0, path, side @ 1..=2] = v4.octets() else { return None };
            Some((usize::from(side) - 1, usize::from(path)))
        }
        IpAddr::V6(_) => None,
    }
}
