//! First in, first out; what finds no room is dropped.

use super::{Limit, QueueLevel};
use crate::ring::Ring;
use crate::{DropCause, Ticket};

/// A first-in-first-out queue that drops an arriving packet when it would exceed the limit.
///
/// The limit is on what **waits**. The packet being sent is not in the queue (as in the Linux `pfifo`/`bfifo`
/// disciplines and in INET; the ns-2 queue of "n packets" lets n - 1 wait beside the one being sent). A byte limit counts
/// whole IP packets without framing; a packet that would fit only in part is dropped, and a shorter one behind it may
/// still fit.
#[derive(Debug)]
pub struct DropTail {
    waiting: Ring<Ticket>,
    bytes: u64,
    limit: Limit,
}

impl DropTail {
    /// An empty queue.
    pub fn new(limit: Limit) -> Self {
        Self { waiting: Ring::new(), bytes: 0, limit }
    }

    /// Appends a packet.
    ///
    /// # Errors
    /// [`DropCause::QueueFull`] if that would exceed the limit.
    #[inline]
    pub fn enqueue(&mut self, ticket: Ticket) -> Result<(), DropCause> {
        if !self.limit.admits(self.level(), ticket.bytes) {
            return Err(DropCause::QueueFull);
        }
        self.bytes += u64::from(ticket.bytes);
        self.waiting.push_back(ticket);
        Ok(())
    }

    /// Takes the packet that has waited longest.
    #[inline]
    pub fn dequeue(&mut self) -> Option<Ticket> {
        let ticket = self.waiting.pop_front()?;
        self.bytes -= u64::from(ticket.bytes);
        Some(ticket)
    }

    /// Whether nothing waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// What waits.
    #[inline]
    pub fn level(&self) -> QueueLevel {
        QueueLevel { packets: self.waiting.len() as u64, bytes: self.bytes }
    }
}

#[cfg(test)]
mod tests {
    use polypath_units::ByteCount;

    use super::*;
    use crate::PacketId;

    fn ticket(number: u32, bytes: u32) -> Ticket {
        Ticket { packet: PacketId(number), bytes, order: u64::from(number) }
    }

    #[test]
    fn limits_in_packets_ignore_lengths() {
        let mut queue = DropTail::new(Limit::Packets(2));
        let verdicts = [9_000, 1, 1].map(|bytes| queue.enqueue(ticket(0, bytes)).is_ok());
        assert_eq!(verdicts, [true, true, false]);
        assert_eq!(queue.level(), QueueLevel { packets: 2, bytes: 9_001 });
        queue.dequeue();
        assert!(queue.enqueue(ticket(0, 5)).is_ok());
    }

    #[test]
    fn limits_in_bytes_admit_what_fits_exactly() {
        let mut queue = DropTail::new(Limit::Bytes(ByteCount::from_bytes(3_000)));
        let verdicts =
            [1_500, 1_501, 1_499, 2, 1].map(|bytes| queue.enqueue(ticket(0, bytes)).is_ok());
        assert_eq!(verdicts, [true, false, true, false, true]);
        assert_eq!(queue.level(), QueueLevel { packets: 3, bytes: 3_000 });
    }

    #[test]
    fn a_limit_of_zero_lets_nothing_wait() {
        for limit in [Limit::Packets(0), Limit::Bytes(ByteCount::ZERO)] {
            assert_eq!(DropTail::new(limit).enqueue(ticket(0, 40)), Err(DropCause::QueueFull));
        }
    }

    #[test]
    fn first_in_is_first_out() {
        let mut queue = DropTail::new(Limit::Packets(10));
        for number in 0..4 {
            queue.enqueue(ticket(number, 100)).unwrap();
        }
        let out: Vec<u32> = std::iter::from_fn(|| queue.dequeue()).map(|t| t.packet.0).collect();
        assert_eq!(out, [0, 1, 2, 3]);
        assert_eq!(queue.level(), QueueLevel::default());
    }
}
