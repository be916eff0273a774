//! Queues that drop or mark before they are full.

use std::collections::VecDeque;

use polypath_units::{BitRate, Instant};

use super::{CodelQueue, FqCodel, QueueLevel, Red};
use crate::{Counters, DropCause, Ticket};

/// What a queue may want to know of a packet beside its length.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Class {
    /// A number that packets of one flow have in common, and those of different flows hardly ever.
    pub flow: u64,
    /// Whether it is ECN-capable, and can be marked instead of dropped.
    pub ect: bool,
}

/// What a queue did to a packet that it had accepted before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueueAct {
    /// It dropped it.
    Dropped(Ticket, DropCause),
    /// It lets it pass, to be marked with "congestion experienced".
    Marked(Ticket),
}

/// A packet that waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Waiting {
    pub ticket: Ticket,
    /// Since when.
    pub since: Instant,
    /// Whether it can be marked.
    pub ect: bool,
}

/// How a packet was let in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Admission {
    Unmarked,
    Marked,
}

/// A queue other than drop-tail, and what it did that its owner does not know yet.
#[derive(Debug)]
pub(crate) struct Managed {
    discipline: Discipline,
    acts: VecDeque<QueueAct>,
}

#[derive(Debug)]
pub(crate) enum Discipline {
    Red(Red),
    Codel(CodelQueue),
    FqCodel(FqCodel),
}

impl Managed {
    pub fn new(discipline: Discipline) -> Self {
        Self { discipline, acts: VecDeque::new() }
    }

    /// Whether it decides when packets leave, so that it has to be asked at the very time.
    pub fn decides_late(&self) -> bool {
        match self.discipline {
            Discipline::Red(_) => false,
            Discipline::Codel(_) | Discipline::FqCodel(_) => true,
        }
    }

    /// Takes a packet at `now`; `idle_since` is since when the transmitter has had nothing to do, if it has not.
    #[inline]
    pub fn enqueue(
        &mut self,
        now: Instant,
        ticket: Ticket,
        class: Class,
        idle_since: Option<Instant>,
        counters: &mut Counters,
    ) -> Result<Admission, DropCause> {
        let waiting = Waiting { ticket, since: now, ect: class.ect };
        match &mut self.discipline {
            Discipline::Red(queue) => queue.enqueue(now, waiting, idle_since),
            Discipline::Codel(queue) => {
                queue.enqueue(waiting, idle_since).map(|()| Admission::Unmarked)
            }
            Discipline::FqCodel(queue) => {
                let before = self.acts.len();
                queue.enqueue(waiting, class.flow, &mut self.acts);
                count(self.acts.iter().skip(before), counters);
                Ok(Admission::Unmarked)
            }
        }
    }

    /// Whether to ask for the packet that is to be sent next. Controlled delay takes notice of finding nothing.
    #[inline]
    pub fn may_have_next(&self) -> bool {
        match &self.discipline {
            Discipline::Red(queue) => queue.level().packets > 0,
            Discipline::Codel(_) | Discipline::FqCodel(_) => true,
        }
    }

    /// Takes the packet that is to be sent at `now`.
    #[inline]
    pub fn dequeue(&mut self, now: Instant, counters: &mut Counters) -> Option<Ticket> {
        let before = self.acts.len();
        let next = match &mut self.discipline {
            // What it has let in, it lets pass.
            Discipline::Red(queue) => return queue.dequeue().map(|waiting| waiting.ticket),
            Discipline::Codel(queue) => queue.dequeue(now, &mut self.acts),
            Discipline::FqCodel(queue) => queue.dequeue(now, &mut self.acts),
        };
        count(self.acts.iter().skip(before), counters);
        next.map(|waiting| waiting.ticket)
    }

    /// Takes any packet out, without regard to anything.
    pub fn remove(&mut self) -> Option<Ticket> {
        let next = match &mut self.discipline {
            Discipline::Red(queue) => queue.dequeue(),
            Discipline::Codel(queue) => queue.remove(),
            Discipline::FqCodel(queue) => queue.remove(),
        };
        next.map(|waiting| waiting.ticket)
    }

    /// Notes that the transmitter has another rate now.
    pub fn set_rate(&mut self, rate: BitRate) {
        if let Discipline::Red(queue) = &mut self.discipline {
            queue.set_rate(rate);
        }
    }

    #[inline]
    pub fn level(&self) -> QueueLevel {
        match &self.discipline {
            Discipline::Red(queue) => queue.level(),
            Discipline::Codel(queue) => queue.level(),
            Discipline::FqCodel(queue) => queue.level(),
        }
    }

    /// Whether it makes use of the class of packets.
    #[inline]
    pub fn looks_at_class(&self) -> bool {
        match &self.discipline {
            Discipline::Red(queue) => queue.marks(),
            Discipline::Codel(_) | Discipline::FqCodel(_) => true,
        }
    }

    /// Whether it makes use of the flow of packets.
    pub fn tells_flows_apart(&self) -> bool {
        matches!(self.discipline, Discipline::FqCodel(_))
    }

    /// Whether there are things done that nobody was told of.
    #[inline]
    pub fn has_acts(&self) -> bool {
        !self.acts.is_empty()
    }

    /// The next of the things done that nobody was told of.
    #[inline]
    pub fn take_act(&mut self) -> Option<QueueAct> {
        self.acts.pop_front()
    }
}

fn count<'a>(acts: impl Iterator<Item = &'a QueueAct>, counters: &mut Counters) {
    for act in acts {
        match act {
            QueueAct::Dropped(ticket, cause) => counters.drop(*cause, ticket.bytes),
            QueueAct::Marked(ticket) => counters.marked.add(ticket.bytes),
        }
    }
}
