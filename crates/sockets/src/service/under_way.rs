//! Messages that are under way, for notifications that give them back (`SCTP_SEND_FAILED_EVENT`).

use std::collections::VecDeque;

use bytes::Bytes;

/// The lowest number of a message that is kept; programs mostly have contexts below.
const FIRST: u32 = 0x8000_0000;

/// What a message costs beyond its content.
const OVERHEAD_BYTES: usize = 64;

/// A message as the program sent it.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Sent {
    pub(super) stream: u16,
    pub(super) flags: u16,
    pub(super) ppid: u32,
    pub(super) context: u32,
    pub(super) content: Bytes,
}

impl Sent {
    fn cost(&self) -> usize {
        self.content.len() + OVERHEAD_BYTES
    }
}

/// The newest messages of an association, by the numbers that stand for their contexts.
#[derive(Debug, Default)]
pub(super) struct UnderWay {
    next: u32,
    kept: VecDeque<(u32, Sent)>,
    bytes: usize,
}

impl UnderWay {
    /// Keeps a message, and gives its number. Beyond `most` bytes the oldest go: they fill the send buffer no more, but for few that are
    /// late.
    pub(super) fn keep(&mut self, sent: Sent, most: usize) -> u32 {
        let number = FIRST | self.next;
        self.next = self.next.wrapping_add(1);
        self.bytes += sent.cost();
        self.kept.push_back((number, sent));
        while self.bytes > most && self.kept.len() > 1 {
            self.drop_first();
        }
        number
    }

    /// The message with this number will not arrive.
    pub(super) fn take(&mut self, number: u32) -> Option<Sent> {
        let place = self.kept.iter().position(|(known, _)| *known == number)?;
        let (_, sent) = self.kept.remove(place)?;
        self.bytes -= sent.cost();
        Some(sent)
    }

    /// All have arrived, but for the last one, which the association may not have yet.
    pub(super) fn settle(&mut self) {
        while self.kept.len() > 1 {
            self.drop_first();
        }
    }

    fn drop_first(&mut self) {
        if let Some((_, sent)) = self.kept.pop_front() {
            self.bytes -= sent.cost();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(context: u32, bytes: usize) -> Sent {
        Sent { context, content: vec![0; bytes].into(), ..Sent::default() }
    }

    #[test]
    fn messages_come_back_once() {
        let mut all = UnderWay::default();
        let numbers: Vec<_> = (0..5).map(|context| all.keep(sent(context, 100), 10_000)).collect();
        assert_eq!(all.take(numbers[3]), Some(sent(3, 100)));
        assert_eq!(all.take(numbers[3]), None);
        assert_eq!(all.take(7), None, "a context of the program");
        all.settle();
        assert_eq!((all.take(numbers[2]), all.take(numbers[4])), (None, Some(sent(4, 100))));
        assert_eq!(all.bytes, 0);
    }

    #[test]
    fn the_newest_within_the_limit_are_kept() {
        let mut all = UnderWay::default();
        let numbers: Vec<_> = (0..10).map(|context| all.keep(sent(context, 936), 3500)).collect();
        assert_eq!(all.kept.len(), 3);
        assert!(all.take(numbers[6]).is_none() && all.take(numbers[7]).is_some());
        let large = all.keep(sent(0, 9000), 3500);
        assert_eq!(all.kept.len(), 1, "one is kept, however large it is");
        assert!(all.take(large).is_some());
    }
}
