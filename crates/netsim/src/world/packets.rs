//! The packets that are under way.

use polypath_units::Instant;

use super::Label;
use crate::PacketId;
use crate::routing::AddressId;

/// What the network knows of a packet beside its content.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub from: AddressId,
    pub to: AddressId,
    /// Length of the IP packet.
    pub bytes: u32,
    /// Links crossed.
    pub hops: u8,
    pub sent: Instant,
    /// Counts all packets of the run from 0.
    pub number: u64,
    pub label: Label,
}

/// The packets that are under way, by small numbers that are used again.
///
/// A frame is written where it stays, and moves once more when it is taken.
#[derive(Debug)]
pub(super) struct Packets<F> {
    places: Vec<Place<F>>,
    /// Numbers of the places without a packet.
    free: Vec<u32>,
}

#[derive(Debug)]
struct Place<F> {
    head: Head,
    frame: Option<F>,
}

impl<F> Packets<F> {
    pub fn new() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }

    /// Adds a packet.
    #[inline]
    pub fn insert(&mut self, head: Head, frame: F) -> PacketId {
        let free = self.free.pop();
        if let Some(number) = free
            && let Some(place) = self.places.get_mut(number as usize)
        {
            place.head = head;
            place.frame = Some(frame);
            return PacketId(number);
        }
        self.add(head, frame)
    }

    #[cold]
    fn add(&mut self, head: Head, frame: F) -> PacketId {
        let number = self.places.len() as u32;
        self.places.push(Place { head, frame: Some(frame) });
        PacketId(number)
    }

    #[inline]
    pub fn get(&self, id: PacketId) -> Option<(&Head, &F)> {
        let Place { head, frame } = self.places.get(id.0 as usize)?;
        Some((head, frame.as_ref()?))
    }

    #[inline]
    pub fn get_mut(&mut self, id: PacketId) -> Option<(&mut Head, &mut F)> {
        let Place { head, frame } = self.places.get_mut(id.0 as usize)?;
        Some((head, frame.as_mut()?))
    }

    /// What is known of a packet, or was of the last one in its place.
    #[inline]
    pub fn head(&self, id: PacketId) -> Option<&Head> {
        self.places.get(id.0 as usize).map(|place| &place.head)
    }

    /// Takes a packet out.
    #[inline]
    pub fn take(&mut self, id: PacketId) -> Option<F> {
        let place = self.places.get_mut(id.0 as usize)?;
        if place.frame.is_some() {
            self.free.push(id.0);
        }
        place.frame.take()
    }

    /// All frames.
    pub fn frames(&self) -> impl Iterator<Item = &F> {
        self.places.iter().filter_map(|place| place.frame.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TraceHash;

    fn head(number: u64) -> Head {
        let label = Label { version: 4, hash: TraceHash(number) };
        Head { from: 0, to: 1, bytes: 1_500, hops: 0, sent: Instant::ZERO, number, label }
    }

    #[test]
    fn numbers_of_packets_that_are_gone_are_used_again() {
        let mut packets = Packets::new();
        let ids = [10, 11, 12].map(|number| packets.insert(head(number), number));
        assert_eq!(ids, [PacketId(0), PacketId(1), PacketId(2)]);
        assert_eq!(packets.head(ids[1]).map(|head| head.number), Some(11));
        assert_eq!(packets.take(ids[1]), Some(11));
        assert!(packets.take(ids[1]).is_none() && packets.get(ids[1]).is_none());
        assert!(packets.get_mut(ids[1]).is_none() && packets.get(PacketId(9)).is_none());
        assert_eq!(packets.frames().copied().collect::<Vec<_>>(), [10, 12]);
        assert_eq!(packets.insert(head(13), 13), ids[1]);
        assert_eq!(packets.insert(head(14), 14), PacketId(3));
        if let Some((head, frame)) = packets.get_mut(ids[0]) {
            (head.hops, *frame) = (1, 20);
        }
        assert_eq!(packets.get(ids[0]).map(|(head, frame)| (head.hops, *frame)), Some((1, 20)));
        assert_eq!(packets.frames().copied().collect::<Vec<_>>(), [20, 13, 12, 14]);
    }
}
