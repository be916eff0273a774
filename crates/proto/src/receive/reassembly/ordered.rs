//! Order within streams (RFC 9260 section 6.6).

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::{Complete, Discarded, ReadyMessages, Violation};
use crate::Ssn;
use crate::receive::tsn_map::WideTsn;

/// Most streams that 16 bits can name.
const MAX_STREAMS: usize = 1 << 16;

/// Holds complete ordered messages back until it is their turn.
#[derive(Debug, Default)]
pub struct OrderedStreams {
    /// The SSN to deliver next, by stream; streams beyond its end have delivered nothing.
    next: Vec<Ssn>,
    /// Messages that wait for earlier ones, by stream and SSN. Only looked up, so the wrap of SSNs does not matter.
    waiting: BTreeMap<(u16, u16), Complete>,
}

impl OrderedStreams {
    /// Puts a message, and those that waited for it, at the end of `ready`; or lets it wait.
    pub fn accept(
        &mut self,
        complete: Complete,
        ready: &mut ReadyMessages,
    ) -> Result<(), Violation> {
        let (stream, ssn) = (complete.message.stream, complete.message.ssn);
        if !self.take_turn(stream, ssn) {
            return self.wait(complete);
        }
        ready.push(complete);
        self.follow(stream, ready);
        Ok(())
    }

    /// Whether it is the turn of `ssn`; if so, the next number is due.
    #[inline]
    pub fn take_turn(&mut self, stream: u16, ssn: u16) -> bool {
        let next = self.next_mut(stream);
        let is_next = ssn == next.0;
        if is_next {
            *next = next.next();
        }
        is_next
    }

    /// Puts what waited for a message whose turn was [taken](Self::take_turn) at the end of `ready`.
    #[inline]
    pub fn follow(&mut self, stream: u16, ready: &mut ReadyMessages) {
        if !self.waiting.is_empty() {
            self.release(stream, ready);
        }
    }

    /// Delivers what waits in a stream up to `ssn`, and what follows on it (RFC 3758 section 3.6).
    pub fn skip(&mut self, stream: u16, ssn: Ssn, ready: &mut ReadyMessages) {
        if self.is_past(stream, ssn) {
            return;
        }
        let next = self.next_mut(stream).0;
        let behind = ssn.next().0;
        // In the order of serial numbers, even if they wrap.
        let (first, second) = match next <= ssn.0 {
            true => (next..=ssn.0, None),
            false => (next..=u16::MAX, Some(0..=ssn.0)),
        };
        for range in [Some(first), second].into_iter().flatten() {
            let (low, high) = ((stream, *range.start()), (stream, *range.end()));
            while let Some((&key, _)) = self.waiting.range(low..=high).next()
                && let Some(complete) = self.waiting.remove(&key)
            {
                ready.push(complete);
            }
        }
        *self.next_mut(stream) = Ssn(behind);
        self.release(stream, ready);
    }

    /// Expects SSN 0 next on these streams; on all of them if none is listed.
    pub fn reset(&mut self, streams: &[u16]) {
        if streams.is_empty() {
            self.next.clear();
        }
        for stream in streams {
            if let Some(next) = self.next.get_mut(usize::from(*stream)) {
                *next = Ssn(0);
            }
        }
    }

    /// Gives the memory of an empty map back: it keeps a node.
    pub fn release_memory(&mut self) {
        if self.waiting.is_empty() {
            self.waiting = BTreeMap::new();
        }
    }

    /// Whether it is the turn of `ssn` in its stream.
    pub fn is_next(&self, stream: u16, ssn: Ssn) -> bool {
        self.next.get(usize::from(stream)).copied().unwrap_or(Ssn(0)) == ssn
    }

    /// Whether the turn of `ssn` in its stream is over.
    pub fn is_past(&self, stream: u16, ssn: Ssn) -> bool {
        let next = self.next.get(usize::from(stream)).copied().unwrap_or(Ssn(0));
        ssn.is_before(next)
    }

    /// The highest first TSN of a message that waits, and its place. Goes over all of them: only for reneging.
    pub fn highest(&self) -> Option<(WideTsn, (u16, u16))> {
        self.waiting.iter().map(|(place, complete)| (complete.first, *place)).max()
    }

    /// Discards the message of a place.
    pub fn discard(&mut self, place: (u16, u16)) -> Option<Discarded> {
        let Complete { first, message } = self.waiting.remove(&place)?;
        Some(Discarded { first, chunks: message.fragments.len() as u32, bytes: message.len() })
    }

    /// Lets a message wait for earlier ones.
    pub fn wait(&mut self, complete: Complete) -> Result<(), Violation> {
        let (stream, ssn) = (complete.message.stream, complete.message.ssn);
        match self.waiting.insert((stream, ssn), complete) {
            None => Ok(()),
            Some(_) => Err(Violation::RepeatedSsn { stream, ssn }),
        }
    }

    fn release(&mut self, stream: u16, ready: &mut ReadyMessages) {
        let mut next = self.next.get(usize::from(stream)).copied().unwrap_or(Ssn(0));
        while let Some(complete) = self.waiting.remove(&(stream, next.0)) {
            ready.push(complete);
            next = next.next();
        }
        *self.next_mut(stream) = next;
    }

    fn next_mut(&mut self, stream: u16) -> &mut Ssn {
        let index = usize::from(stream);
        if index >= self.next.len() {
            let len = (index + 1).next_power_of_two().min(MAX_STREAMS);
            self.next.resize(len, Ssn(0));
        }
        &mut self.next[index]
    }
}
