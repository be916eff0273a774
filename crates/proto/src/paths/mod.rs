//! What is known of each path but its sending half: a pair of a local and a remote transport address, and whether it works.

mod book;
pub(crate) mod failover;
pub(crate) mod first_contact;
pub(crate) mod heartbeat;
pub(crate) mod newcomers;
pub(crate) mod pairing;
pub(crate) mod plpmtu;
pub(crate) mod reach;
pub(crate) mod rtt;
pub(crate) mod stopwatch;

pub(crate) use book::PathBook;

use alloc::boxed::Box;
use core::net::IpAddr;

use crate::config::{AssociationConfig, PmtuDiscovery};
use crate::types::{Lazy, Vacant};
use crate::{Encapsulation, Instant, PathId, PathStatus};
use first_contact::InitTry;
use heartbeat::Heartbeat;
use plpmtu::{Plpmtu, SizeLimits};
use reach::{Reach, Reason};
use stopwatch::Stopwatch;

/// One path of an association: its addresses, its reachability and what watches that.
#[derive(Debug)]
pub(crate) struct Path {
    pub(crate) id: PathId,
    pub(crate) local: IpAddr,
    pub(crate) remote: IpAddr,
    pub(crate) encapsulation: Encapsulation,
    /// Its number at the peer, where the peer has proved it.
    pub(crate) peer_number: Option<u8>,
    /// Changed by the book, which keeps sets of it.
    reach: Reach,
    /// Consecutive timeouts and unanswered heartbeats.
    pub(crate) errors: u32,
    pub(crate) suspicion: Lazy<Suspicion>,
    pub(crate) init: InitTry,
    pub(crate) heartbeat: Heartbeat,
    /// When its host first said that it does not take SCTP, of the times since something was heard from it.
    pub(crate) denied_since: Option<Instant>,
    /// Rank of the last SACK among all.
    pub(crate) sack_rank: u64,
    /// SACKs sent here, counted for those whose blocks take turns.
    pub(crate) sack_turn: u16,
    /// Discovery of the MTU by probes, if enabled.
    pub(crate) plpmtu: Option<Box<Plpmtu>>,
    pub(crate) counters: PathCounters,
}

/// History of a path's failures, suspected and real.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Suspicion {
    /// How many times any path of the association had become doubtful when this one did the last time.
    pub(crate) rank: u64,
    /// When it did.
    pub(crate) since: Option<Instant>,
    /// How often this one did.
    pub(crate) times: u64,
    /// How long it was.
    pub(crate) time: Stopwatch,
    /// When timeouts made it inactive the last time.
    pub(crate) failed_at: Option<Instant>,
}

impl Suspicion {
    const NONE: Self =
        Self { rank: 0, since: None, times: 0, time: Stopwatch::NEW, failed_at: None };
}

impl Vacant for Suspicion {
    const VACANT: &'static Self = &Self::NONE;
}

/// The same of all paths of an association together.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Suspicions {
    /// How many times a path became potentially failed.
    pub(crate) count: u64,
    /// Time in which no path was active and one or more were potentially failed.
    pub(crate) all: Stopwatch,
}

impl Vacant for Suspicions {
    const VACANT: &'static Self = &Self { count: 0, all: Stopwatch::NEW };
}

/// Counters of a path that its sending half does not keep; they stay after the path has failed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PathCounters {
    pub(crate) packets_sent: u64,
    pub(crate) packets_received: u64,
    pub(crate) data_bytes_received: u64,
    pub(crate) heartbeats_sent: u64,
    pub(crate) heartbeat_acks_received: u64,
}

impl Path {
    /// A path that nothing is known of yet; `mtu` is the one of its sending half, in bytes.
    pub(crate) fn new(
        id: PathId,
        local: IpAddr,
        remote: IpAddr,
        encapsulation: Encapsulation,
        mtu: u32,
        config: &AssociationConfig,
    ) -> Self {
        let mut path = Self {
            id,
            local,
            remote,
            encapsulation,
            peer_number: None,
            reach: Reach::Unconfirmed,
            errors: 0,
            suspicion: Lazy::default(),
            init: InitTry::None,
            heartbeat: Heartbeat::default(),
            denied_since: None,
            sack_rank: 0,
            sack_turn: 0,
            plpmtu: None,
            counters: PathCounters::default(),
        };
        if config.pmtu_discovery == Some(PmtuDiscovery::Probe) {
            let limits = SizeLimits::new(path.headers(), path.least_mtu(), mtu);
            path.plpmtu = Some(Box::new(Plpmtu::new(limits)));
        }
        path
    }

    /// The same path while the peer does not know its local address.
    pub(crate) fn unannounced(self) -> Self {
        Self { reach: Reach::Inactive(Reason::Unannounced), ..self }
    }

    /// Its reachability.
    #[inline]
    pub(crate) fn reach(&self) -> Reach {
        self.reach
    }

    /// Bytes of IP and UDP before each SCTP packet; those of another lower layer do not count.
    pub(crate) fn headers(&self) -> u32 {
        headers(self.remote, self.encapsulation)
    }

    /// Least MTU that is believed: what every IPv4 host must be able to receive (RFC 9260 section 7.3), and every IPv6
    /// link must carry. Less is a forgery, or not worth fragments of a few bytes.
    pub(crate) fn least_mtu(&self) -> u32 {
        match self.encapsulation {
            // The program configures what it carries.
            Encapsulation::LowerLayer => 256,
            _ if self.remote.is_ipv4() => 576,
            _ => 1280,
        }
    }

    /// Whether messages are cut to fit this path: where MTUs are probed, not before it works and not when it has failed.
    pub(crate) fn bounds_fragments(&self) -> bool {
        let has_failed = matches!(self.reach(), Reach::Inactive(_));
        self.plpmtu.as_ref().is_none_or(|plpmtu| plpmtu.mtu().is_some() && !has_failed)
    }

    /// Whether the path is not in doubt, so that an answer over it proves nothing new.
    #[inline]
    pub(crate) fn is_beyond_doubt(&self) -> bool {
        self.reach().is_active() && self.errors == 0 && self.denied_since.is_none()
    }

    pub(crate) fn status(&self) -> PathStatus {
        self.reach().status()
    }
}

/// Bytes of IP and UDP before each SCTP packet to an address.
pub(crate) fn headers(remote: IpAddr, encapsulation: Encapsulation) -> u32 {
    let ip = if remote.is_ipv4() { 20 } else { 40 };
    match encapsulation {
        Encapsulation::None => ip,
        Encapsulation::Udp { .. } => ip + 8,
        Encapsulation::LowerLayer => 0,
    }
}
