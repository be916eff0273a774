//! Which associations make way for new ones while all places of an endpoint are taken.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::ops::Bound::{Excluded, Unbounded};
use std::time::Duration;

use polypath_proto::config::NetworkLimit;
use polypath_proto::{AssociationId, Instant};

/// Associations checked at a time, each under its lock; more only if all of them would not be checked within the time of the rule.
const AT_A_TIME: usize = 2000;
/// Time between two checks, in seconds.
pub(crate) const PAUSE_S: u64 = 1;
/// Associations that may be replaced until the next look.
const MOST_REPLACEABLE: usize = 64;

/// When the association of a peer makes way for that of another one: see
/// [`EndpointBuilder::make_way`](crate::EndpointBuilder::make_way).
///
/// ```
/// use std::time::Duration;
///
/// use polypath::{Endpoint, MakeWay};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let rule = MakeWay { after: Duration::from_secs(30), ..MakeWay::default() };
/// let server = Endpoint::builder(["127.0.0.20".parse()?])
///     .encapsulation_port(0)
///     .listen(16)
///     .make_way(rule)
///     .bind()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MakeWay {
    /// Time over which the rate of an association is measured, and how long a new one stays in any case. Default: 10 s.
    pub after: Duration,
    /// An association makes way if it carries fewer bytes of user data per second, both directions together. Default: 8,000.
    pub below_bytes_per_second: u64,
}

impl Default for MakeWay {
    fn default() -> Self {
        Self { after: Duration::from_secs(10), below_bytes_per_second: 8000 }
    }
}

/// The associations of peers, if some of them may have to make way.
#[derive(Debug)]
pub(crate) struct Places {
    rule: Option<MakeWay>,
    /// Most associations of the endpoint.
    most: usize,
    of: BTreeMap<AssociationId, Place>,
    /// Number of associations from each network.
    networks: BTreeMap<IpAddr, usize>,
    /// Where the last look ended, if there were more than are looked at at a time.
    looked_at: Option<AssociationId>,
}

/// What is known of an association.
#[derive(Debug)]
struct Place {
    network: IpAddr,
    begin: Instant,
    /// Begin of the present span, and bytes that had been carried by then.
    since: Instant,
    bytes: u64,
    /// Bytes per second in the span before, if they were too few.
    slow: Option<u64>,
}

/// An association as it is now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    /// Bytes of user data carried so far.
    pub(crate) bytes: u64,
    /// Whether it stays whatever it carries: its peer has a key, or waits for this side.
    pub(crate) stays: bool,
}

impl Places {
    pub(crate) fn new(rule: Option<MakeWay>, most: u32) -> Self {
        Self {
            rule,
            most: most as usize,
            of: BTreeMap::new(),
            networks: BTreeMap::new(),
            looked_at: None,
        }
    }

    /// Whether associations may have to make way at all.
    pub(crate) fn have_rule(&self) -> bool {
        self.rule.is_some()
    }

    /// Whether so few places are left that the associations must be watched.
    pub(crate) fn are_scarce(&self, associations: usize) -> bool {
        self.rule.is_some() && associations >= self.most - self.most / 4
    }

    /// A peer at this address has initiated an association.
    pub(crate) fn add(&mut self, id: AssociationId, peer: IpAddr, now: Instant) {
        let network = NetworkLimit::new(0).network(peer);
        self.forget(id);
        *self.networks.entry(network).or_default() += 1;
        self.of.insert(id, Place { network, begin: now, since: now, bytes: 0, slow: None });
    }

    /// An association has ended.
    pub(crate) fn forget(&mut self, id: AssociationId) {
        let Some(Place { network, .. }) = self.of.remove(&id) else { return };
        if let Some(count) = self.networks.get_mut(&network) {
            *count -= 1;
            if *count == 0 {
                self.networks.remove(&network);
            }
        }
    }

    /// Looks at the associations, or at some of them if there are very many. `see` gives one as it is now.
    pub(crate) fn look(
        &mut self,
        now: Instant,
        mut see: impl FnMut(AssociationId) -> Option<Seen>,
    ) {
        let Some(rule) = self.rule else { return };
        let span = polypath_proto::Duration::from_nanos(
            u64::try_from(rule.after.as_nanos()).unwrap_or(u64::MAX).max(1),
        );
        let from = self.looked_at.map_or(Unbounded, Excluded);
        let checks = usize::try_from(rule.after.as_secs() / PAUSE_S).unwrap_or(usize::MAX).max(1);
        let count = AT_A_TIME.max(self.of.len().div_ceil(checks));
        // As long as a place may go without a check.
        let pause = span.max(polypath_proto::Duration::from_secs(2 * PAUSE_S));
        let mut last = None;
        for (id, place) in self.of.range_mut((from, Unbounded)).take(count) {
            last = Some(*id);
            let Some(seen) = see(*id) else { continue };
            if seen.stays {
                place.slow = None;
            }
            let elapsed = now.since(place.since);
            let moved = seen.bytes.saturating_sub(place.bytes);
            if elapsed < span {
                // It has carried enough for the whole span already.
                let enough = u128::from(rule.below_bytes_per_second) * u128::from(span.as_nanos());
                if u128::from(moved) * 1_000_000_000 >= enough {
                    place.slow = None;
                }
                continue;
            }
            let rate = u128::from(moved) * 1_000_000_000 / u128::from(elapsed.as_nanos());
            let rate = u64::try_from(rate).unwrap_or(u64::MAX);
            // After a long time without a look, it may have become slow or fast only just now.
            let is_recent = elapsed < span + pause;
            let is_slow = rate < rule.below_bytes_per_second && !seen.stays;
            place.slow = (is_slow && is_recent).then_some(rate);
            (place.since, place.bytes) = (now, seen.bytes);
        }
        self.looked_at = last.filter(|last| self.of.keys().next_back() != Some(last));
    }

    /// The associations that make way: the slowest first; of equally slow ones, one of the network that has most, and the oldest.
    pub(crate) fn replaceable(&self) -> Vec<AssociationId> {
        let mut slow: Vec<_> = self
            .of
            .iter()
            .filter_map(|(id, place)| {
                let neighbours = self.networks.get(&place.network).copied().unwrap_or(0);
                Some((place.slow?, Reverse(neighbours), place.begin, *id))
            })
            .collect();
        slow.sort_unstable();
        slow.into_iter().take(MOST_REPLACEABLE).map(|(.., id)| id).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: MakeWay = MakeWay { after: Duration::from_secs(10), below_bytes_per_second: 100 };

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + polypath_proto::Duration::from_secs(seconds)
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    /// Associations from 1 on, at these addresses, that began one second after the other.
    fn places(most: u32, peers: &[&str]) -> Places {
        let mut places = Places::new(Some(RULE), most);
        for (n, peer) in (0..).zip(peers) {
            places.add(AssociationId(n + 1), ip(peer), at(n.into()));
        }
        places
    }

    fn moved(bytes: u64) -> Option<Seen> {
        Some(Seen { bytes, stays: false })
    }

    fn ids(places: &Places) -> Vec<u32> {
        places.replaceable().iter().map(|id| id.0).collect()
    }

    #[test]
    fn the_slowest_make_way_first_and_the_fast_never() {
        let mut places = places(4, &["192.0.2.1", "198.51.100.1", "203.0.113.1", "192.0.2.2"]);
        // Ten seconds after the begin of the last one; 2 carries 99 bytes/s, 3 carries 100, and the others nothing.
        places.look(at(9), |_| moved(0));
        assert!(ids(&places).is_empty(), "everybody has its time");
        let bytes = |id: AssociationId| match id.0 {
            2 => moved(99 * 12),
            3 => moved(100 * 11),
            _ => moved(0),
        };
        places.look(at(13), bytes);
        assert_eq!(ids(&places), [1, 4, 2], "two of a network before one; the oldest of them");
        // Those that carry something now stay.
        places.look(at(23), |id| moved(if id.0 == 4 { 1000 } else { 0 }));
        assert_eq!(ids(&places), [1, 2, 3]);
    }

    #[test]
    fn of_equally_slow_ones_one_of_the_largest_network_makes_way() {
        let mut places =
            places(5, &["192.0.2.1", "203.0.113.1", "203.0.113.2", "198.51.100.1", "203.0.113.3"]);
        places.look(at(14), |_| moved(0));
        assert_eq!(ids(&places), [2, 3, 5, 1, 4]);
        for id in [2, 3] {
            places.forget(AssociationId(id));
        }
        assert_eq!(ids(&places), [1, 4, 5], "each is alone in its network");
        for id in [1, 4, 5, 5, 7] {
            places.forget(AssociationId(id));
        }
        assert!(places.of.is_empty() && places.networks.is_empty());
    }

    #[test]
    fn who_has_a_key_or_waits_for_this_side_stays() {
        let mut places = places(2, &["192.0.2.1", "192.0.2.2"]);
        let stays =
            |number: u32| move |id: AssociationId| Some(Seen { bytes: 0, stays: id.0 == number });
        places.look(at(11), stays(1));
        assert_eq!(ids(&places), [2]);
        // Also within a span.
        places.look(at(12), stays(2));
        assert!(ids(&places).is_empty());
        places.look(at(21), stays(2));
        assert_eq!(ids(&places), [1]);
    }

    #[test]
    fn what_nobody_has_watched_is_no_reason() {
        let mut places = places(1, &["192.0.2.1"]);
        places.look(at(3600), |_| moved(7));
        assert!(ids(&places).is_empty(), "it may have been fast a moment ago");
        places.look(at(3609), |_| moved(7));
        assert!(ids(&places).is_empty());
        places.look(at(3610), |_| moved(7));
        assert_eq!(ids(&places), [1]);
    }

    #[test]
    fn nothing_is_watched_without_a_rule_or_without_need() {
        let places = Places::new(None, 8);
        assert!(!places.have_rule() && !places.are_scarce(8));
        let places = Places::new(Some(RULE), 8);
        assert!(!places.are_scarce(5) && places.are_scarce(6) && places.are_scarce(8));
        assert!(
            Places::new(Some(RULE), 1).are_scarce(1) && !Places::new(Some(RULE), 1).are_scarce(0)
        );
    }

    #[test]
    fn of_the_most_that_an_endpoint_has_all_are_checked_in_time() {
        for (after, rounds) in [(10, 25), (0, 4)] {
            let rule = MakeWay { after: Duration::from_millis(after * 1000 + 300), ..RULE };
            let mut places = Places::new(Some(rule), 65_536);
            for id in 0..65_536 {
                places.add(AssociationId(id), ip("2001:db8::1"), at(0));
            }
            for second in 1..=rounds {
                places.look(at(second), |_| moved(0));
            }
            assert!(places.of.values().all(|place| place.slow == Some(0)), "{after}");
        }
    }

    #[test]
    fn who_carries_enough_again_is_not_slow_until_the_span_is_over() {
        let mut places = places(1, &["192.0.2.1"]);
        places.look(at(11), |_| moved(0));
        assert_eq!(ids(&places), [1]);
        places.look(at(12), |_| moved(999));
        assert_eq!(ids(&places), [1], "that is not enough for ten seconds");
        places.look(at(13), |_| moved(1000));
        assert!(ids(&places).is_empty());
    }

    #[test]
    fn of_very_many_some_are_looked_at_at_a_time_and_some_replaced() {
        let mut places = Places::new(Some(RULE), 5000);
        for id in 0..5000 {
            places.add(AssociationId(id), ip("2001:db8::1"), at(0));
        }
        let mut looks = BTreeMap::new();
        for second in 10..15 {
            let mut count = 0;
            places.look(at(second), |id| {
                count += 1;
                *looks.entry(id).or_insert(0) += 1;
                moved(0)
            });
            assert!(count <= AT_A_TIME);
        }
        assert_eq!(looks.len(), 5000);
        assert!(looks.values().all(|count| (1..=2).contains(count)));
        assert_eq!(places.replaceable().len(), MOST_REPLACEABLE);
    }
}
