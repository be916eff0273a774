//! Nodes and their wake-up calls.

use std::net::IpAddr;

use crate::ChannelId;
use crate::event::{Key, Target};
use crate::queue::EventQueue;

/// What a node does with packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NodeKind {
    /// Sends and receives, never forwards.
    Host,
    /// Forwards.
    Router,
}

/// A host or router.
#[derive(Debug)]
pub(crate) struct Node {
    pub name: String,
    pub kind: NodeKind,
    pub ifaces: Vec<Iface>,
    pub timer: NodeTimer,
}

/// Where a link meets a node.
#[derive(Debug)]
pub(crate) struct Iface {
    pub addresses: Vec<IpAddr>,
    pub outgoing: ChannelId,
}

/// The one wake-up call of a node.
///
/// Protocols move their deadline with almost every packet, mostly to a later time. So a pending event stays where it is
/// when the deadline moves later; once its time comes it is ignored and, if need be, a new one is made. Keys keep this
/// invisible: a call happens in the place of the order that the deadline had when it was set.
#[derive(Debug, Default)]
pub(crate) struct NodeTimer {
    wanted: Option<Key>,
    /// Pending events of this node, the earliest last.
    pending: Vec<Key>,
}

/// What to do after an event of a timer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Firing {
    /// Wake the node.
    Due,
    /// Nothing is due; put this event in the place of the one that came, if any.
    Stale(Option<Key>),
}

impl NodeTimer {
    #[inline]
    pub fn wanted(&self) -> Option<Key> {
        self.wanted
    }

    #[inline]
    pub fn set(&mut self, key: Key, node: u32, events: &mut EventQueue) {
        self.wanted = Some(key);
        if self.pending.last().is_none_or(|earliest| key < *earliest) {
            self.add(key, node, events);
        }
    }

    // Apart, because most deadlines move later.
    #[inline(never)]
    fn add(&mut self, key: Key, node: u32, events: &mut EventQueue) {
        self.pending.push(key);
        events.push(key, Target::Timer(node));
    }

    pub fn clear(&mut self) {
        self.wanted = None;
    }

    /// The earliest pending event, `key`, has come.
    pub fn fire(&mut self, key: Key) -> Firing {
        self.pending.pop();
        match self.wanted {
            Some(wanted) if wanted == key => {
                self.wanted = None;
                Firing::Due
            }
            Some(wanted) if self.pending.last().is_none_or(|earliest| wanted < *earliest) => {
                self.pending.push(wanted);
                Firing::Stale(Some(wanted))
            }
            _ => Firing::Stale(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use polypath_units::Instant;

    use super::*;

    /// Runs a timer through `(now, deadline to set then)` and returns when it woke and how many events it took.
    fn run(sets: &[(u64, Option<u64>)], end: u64) -> (Vec<u64>, usize) {
        let mut events = EventQueue::default();
        let mut timer = NodeTimer::default();
        let mut woken = Vec::new();
        let mut taken = 0;
        let mut sets = sets.iter().peekable();
        for now in 0..=end {
            while let Some((key, target)) = events.first(Instant::from_nanos(now)) {
                events.remove_first();
                taken += 1;
                match timer.fire(key) {
                    Firing::Due => woken.push(now),
                    Firing::Stale(Some(next)) => events.push(next, target),
                    Firing::Stale(None) => {}
                }
            }
            while let Some((_, deadline)) = sets.next_if(|(at, _)| *at == now) {
                match deadline {
                    Some(at) => {
                        let key = events.key(Instant::from_nanos(*at));
                        timer.set(key, 0, &mut events);
                    }
                    None => timer.clear(),
                }
            }
        }
        (woken, taken)
    }

    #[test]
    fn wakes_once_at_the_last_deadline() {
        assert_eq!(run(&[(0, Some(10))], 50), (vec![10], 1));
        assert_eq!(run(&[(0, Some(10)), (3, Some(20))], 50), (vec![20], 2));
        assert_eq!(run(&[(0, Some(20)), (3, Some(10))], 50), (vec![10], 2));
        assert_eq!(run(&[(0, Some(10)), (3, None)], 50), (vec![], 1));
        assert_eq!(run(&[(0, Some(10)), (3, None), (4, Some(30))], 50), (vec![30], 2));
    }

    #[test]
    fn moving_later_costs_no_event_each_time() {
        let sets: Vec<_> = (0..1_000).map(|now| (now, Some(now + 100))).collect();
        let (woken, taken) = run(&sets, 2_000);
        assert_eq!(woken, [1_099]);
        assert!(taken <= 12, "{taken} events");
    }

    #[test]
    fn a_far_deadline_between_near_ones_leaves_no_trail() {
        // Near deadlines come and go, a far one remains: its event must not be made again each time.
        let sets: Vec<_> = (0..100)
            .flat_map(|i| [(i * 10, Some(i * 10 + 5)), (i * 10 + 5, Some(100_000))])
            .collect();
        let (woken, taken) = run(&sets, 100_001);
        assert_eq!(woken.len(), 101);
        assert!(taken <= 102, "{taken} events");
    }
}
