//! Order within streams (RFC 9260 section 6.6).

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use super::Violation;
use crate::{ReceivedMessage, Ssn};

/// Most streams that 16 bits can name.
const MAX_STREAMS: usize = 1 << 16;

/// Holds complete ordered messages back until it is their turn.
#[derive(Debug, Default)]
pub struct OrderedStreams {
    /// The SSN to deliver next, by stream; streams beyond its end have delivered nothing.
    next: Vec<Ssn>,
    /// Messages that wait for earlier ones, by stream and SSN. Only looked up, so the wrap of SSNs does not matter.
    waiting: BTreeMap<(u16, u16), ReceivedMessage>,
}

impl OrderedStreams {
    /// Puts a message, and those that waited for it, at the end of `ready`; or lets it wait.
    pub fn accept(
        &mut self,
        message: ReceivedMessage,
        ready: &mut VecDeque<ReceivedMessage>,
    ) -> Result<(), Violation> {
        let (stream, ssn) = (message.stream, message.ssn);
        let next = self.next_mut(stream);
        if ssn != next.0 {
            return self.wait(message);
        }
        *next = next.next();
        ready.push_back(message);
        if !self.waiting.is_empty() {
            self.release(stream, ready);
        }
        Ok(())
    }

    fn wait(&mut self, message: ReceivedMessage) -> Result<(), Violation> {
        let (stream, ssn) = (message.stream, message.ssn);
        match self.waiting.insert((stream, ssn), message) {
            None => Ok(()),
            Some(_) => Err(Violation::RepeatedSsn { stream, ssn }),
        }
    }

    fn release(&mut self, stream: u16, ready: &mut VecDeque<ReceivedMessage>) {
        let mut next = self.next.get(usize::from(stream)).copied().unwrap_or(Ssn(0));
        while let Some(message) = self.waiting.remove(&(stream, next.0)) {
            ready.push_back(message);
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
