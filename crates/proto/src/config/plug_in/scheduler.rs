//! Custom path schedulers.

use alloc::boxed::Box;
use core::fmt;

use polypath_units::{BitRate, ByteCount};

use crate::{Duration, Instant, PathId, PathStatus};

/// Chooses the path for new data, packet by packet.
///
/// It schedules new data only: `policies.retransmission` decides the path of lost data, and a packet with lost data is filled
/// with new data. Congestion windows, the peer's receive window and the shares of the buffers are checked elsewhere: a path that
/// may not send is shown as such.
///
/// ```
/// use polypath_proto::PathId;
/// use polypath_proto::scheduling::{NewData, PathScheduler, PathView};
///
/// /// The path with the lowest round-trip time that may send.
/// #[derive(Debug)]
/// struct Fastest;
///
/// impl PathScheduler for Fastest {
///     fn choose(&self, paths: &[PathView], _: &NewData) -> Option<PathId> {
///         let ready = paths.iter().filter(|path| path.is_ready());
///         ready.min_by_key(|path| path.srtt).map(|path| path.id)
///     }
/// }
/// ```
pub trait PathScheduler: fmt::Debug + Send {
    /// Returns the path for the next packet with new data. `None`, or a path that may not send now, means to wait: this is called
    /// again with the next SACK, timer or message. `paths` are those that can carry data, in the order of their ids; at least one
    /// of them may send. While nothing is outstanding on any path, no event would end the wait, and the first path that may send
    /// is used.
    ///
    /// For reproducible simulations, the result should depend only on the arguments and on earlier calls of
    /// [`on_sent`](Self::on_sent); [`NewData::lot`] is a random number.
    fn choose(&self, paths: &[PathView], data: &NewData) -> Option<PathId>;

    /// A packet with data was sent on a path, chosen by this scheduler or not.
    fn on_sent(&mut self, path: PathId, now: Instant) {
        let _ = (path, now);
    }
}

/// A path that can carry data, for schedulers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct PathView {
    /// The path.
    pub id: PathId,
    /// Whether it may send now.
    pub readiness: Readiness,
    /// Its state.
    pub status: PathStatus,
    /// Smoothed round-trip time; `None` before the first sample.
    pub srtt: Option<Duration>,
    /// Smallest round-trip time so far; `None` before the first sample.
    pub smallest_rtt: Option<Duration>,
    /// Congestion window in bytes.
    pub cwnd: u64,
    /// Slow-start threshold in bytes; `u64::MAX` without one.
    pub ssthresh: u64,
    /// Bytes outstanding.
    pub flight: u64,
    /// Path MTU in bytes, including the IP header.
    pub mtu: u32,
    /// Time of its last packet with data.
    pub last_sent: Option<Instant>,
    /// Sequence number of its last packet with data among those of the association; 0: none yet.
    pub last_sent_rank: u64,
}

/// Whether a path may send new data now.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[non_exhaustive]
pub enum Readiness {
    /// It may.
    Ready,
    /// Its congestion window or the burst limit is used up.
    Full,
    /// Its share of the buffers is used up, the peer's window is closed, the next message requests another path, or a
    /// mechanism excludes the path.
    Held,
}

impl PathView {
    /// A path for tests of schedulers: active, ready and unmeasured, with a window of 10 packets of 1,500 bytes.
    pub const fn new(id: PathId) -> Self {
        Self {
            id,
            readiness: Readiness::Ready,
            status: PathStatus::Active,
            srtt: None,
            smallest_rtt: None,
            cwnd: 15_000,
            ssthresh: u64::MAX,
            flight: 0,
            mtu: 1500,
            last_sent: None,
            last_sent_rank: 0,
        }
    }

    /// Whether it may send now.
    pub fn is_ready(&self) -> bool {
        self.readiness == Readiness::Ready
    }

    /// Queueing delay of the path: its smoothed round-trip time minus the smallest one. `None` before the first sample.
    pub fn queueing(&self) -> Option<Duration> {
        Some(self.srtt? - self.smallest_rtt?)
    }

    /// The rate at which a full window is delivered; `None` before the first sample.
    pub fn rate(&self) -> Option<BitRate> {
        Some(BitRate::of(ByteCount::from_bytes(self.cwnd), self.srtt?))
    }
}

/// The data to be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct NewData {
    /// The current time.
    pub now: Instant,
    /// Bytes of user data of the next chunk.
    pub chunk_bytes: u32,
    /// Bytes of user data that wait in the send buffer, the next chunk included.
    pub waiting_bytes: u64,
    /// Unused part of the peer's receive window in bytes.
    pub peer_window: u64,
    /// A random number.
    pub lot: u32,
}

/// A factory of schedulers, shared by the associations of a configuration.
#[allow(clippy::disallowed_types)]
type SchedulerFactory = alloc::sync::Arc<dyn Fn() -> Box<dyn PathScheduler> + Send + Sync>;

/// A path scheduler of the program.
#[derive(Clone)]
pub struct CustomScheduler {
    name: &'static str,
    make: SchedulerFactory,
}

impl CustomScheduler {
    /// Creates a path scheduler with a name for messages. `make` is called when an association is created, and when its peer
    /// restarts.
    #[allow(clippy::disallowed_types)]
    pub fn new(
        name: &'static str,
        make: impl Fn() -> Box<dyn PathScheduler> + Send + Sync + 'static,
    ) -> Self {
        Self { name, make: alloc::sync::Arc::new(make) }
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// A scheduler for an association.
    pub fn scheduler(&self) -> Box<dyn PathScheduler> {
        (self.make)()
    }
}

impl fmt::Debug for CustomScheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CustomScheduler").field(&self.name).finish()
    }
}

/// Two are equal if they have the same factory.
impl PartialEq for CustomScheduler {
    #[allow(clippy::disallowed_types)]
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && alloc::sync::Arc::ptr_eq(&self.make, &other.make)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_from_round_trips() {
        let mut path = PathView::new(PathId(0));
        assert_eq!((path.queueing(), path.rate()), (None, None));
        path.srtt = Some(Duration::from_millis(50));
        path.smallest_rtt = Some(Duration::from_millis(20));
        assert_eq!(path.queueing(), Some(Duration::from_millis(30)));
        // 15,000 bytes in 50 ms.
        assert_eq!(path.rate(), Some(BitRate::from_bits_per_second(2_400_000)));
    }
}
