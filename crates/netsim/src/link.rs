//! One direction of a link.

use std::collections::VecDeque;

use polypath_units::{BitRate, ByteCount, Duration, Instant};

use crate::impair::UniformLoss;
use crate::queue_discipline::{QueueDiscipline, QueueLevel};
use crate::{ChannelConfig, Counters, DropCause, Streams};

/// A packet that its owner keeps, as a small number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PacketId(pub u32);

/// What a channel has to know of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ticket {
    /// Which packet.
    pub packet: PacketId,
    /// Length of the IP packet in bytes.
    pub bytes: u32,
    /// Handed back unchanged; the simulator keeps the order of events in it.
    pub order: u64,
}

/// Answer of a channel to a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The channel will send it.
    Accepted,
    /// It is gone.
    Dropped(DropCause),
}

/// A packet at the far end of a channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Departure {
    /// The packet.
    pub ticket: Ticket,
    /// The cause, if it was lost on the medium instead of arriving.
    pub lost: Option<DropCause>,
}

/// One direction of a link: a queue, a transmitter and a medium, in this order.
///
/// A channel does no input or output and has no clock. [`offer`](Self::offer) hands it a packet;
/// [`next_departure`](Self::next_departure) tells when the next one leaves at the far end and
/// [`take_departure`](Self::take_departure) takes it there. The simulator calls these in virtual time; a driver with a
/// clock can call them in real time. `now` must not run backwards.
///
/// * The transmitter sends one packet at a time; a packet of n bytes takes the time that n bytes and the framing take
///   at the rate of the channel. Then the packet propagates for the delay, beside any number of others.
/// * A packet that finds the transmitter idle is sent at once and never enters the queue. **The packet being sent is
///   not in the queue** and counts towards no limit. It leaves the queue at the instant at which its transmission
///   starts; a packet offered at that very instant finds its place free.
/// * Losses happen on the medium: a lost packet occupies queue and transmitter like any other and is reported lost at
///   the time at which it would have arrived.
/// * When the channel [is cut](Self::cut), packets that wait and the packet being sent are dropped; those already
///   propagating have passed the cut and arrive. While it is down, every packet offered is dropped.
/// * Packets leave in the order in which they were accepted.
#[derive(Debug)]
pub struct Channel {
    rate: BitRate,
    delay: Duration,
    framing: ByteCount,
    queue: QueueDiscipline,
    loss: Option<UniformLoss>,
    state: State,
    /// When the last transmission that was started ends.
    busy_until: Instant,
    /// Packets whose transmission has started, in order; only the last can be still in transmission.
    in_flight: VecDeque<InFlight>,
    counters: Counters,
    /// Packet length and transmission time of the last packet: most packets have one of two lengths.
    last_time: (u32, Duration),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Up,
    Down,
}

#[derive(Clone, Copy, Debug)]
struct InFlight {
    ticket: Ticket,
    arrives: Instant,
}

impl Channel {
    /// An idle channel that is up. Outages are not its business: whoever keeps the time [cuts](Self::cut) it and
    /// [restores](Self::restore) it. `name` names its random number streams.
    pub fn new(config: &ChannelConfig, name: &str, streams: &Streams) -> Self {
        let loss = &config.uniform_loss;
        Self {
            rate: config.rate,
            delay: config.delay,
            framing: config.framing,
            queue: QueueDiscipline::new(&config.queue),
            loss: (!loss.is_zero())
                .then(|| UniformLoss::new(*loss, streams.stream(&format!("{name}/loss")))),
            state: State::Up,
            busy_until: Instant::ZERO,
            in_flight: VecDeque::new(),
            counters: Counters::default(),
            last_time: (0, config.rate.transmission_time(config.framing)),
        }
    }

    /// Hands a packet to the channel.
    pub fn offer(&mut self, now: Instant, ticket: Ticket) -> Verdict {
        self.advance(now);
        self.counters.offered.add(ticket.bytes);
        match self.accept(now, ticket) {
            Ok(()) => Verdict::Accepted,
            Err(cause) => {
                self.counters.drop(cause, ticket.bytes);
                Verdict::Dropped(cause)
            }
        }
    }

    /// When the next packet leaves at the far end; [`take_departure`](Self::take_departure) is due then.
    pub fn next_departure(&self) -> Option<Instant> {
        self.in_flight.front().map(|packet| packet.arrives)
    }

    /// Takes the packet that has left at the far end by `now`, if one has.
    pub fn take_departure(&mut self, now: Instant) -> Option<Departure> {
        self.advance(now);
        if self.next_departure()? > now {
            return None;
        }
        let InFlight { ticket, .. } = self.in_flight.pop_front()?;
        let lost = self.loss.as_mut().and_then(UniformLoss::judge);
        match lost {
            None => self.counters.delivered.add(ticket.bytes),
            Some(cause) => self.counters.drop(cause, ticket.bytes),
        }
        Some(Departure { ticket, lost })
    }

    /// Counts a packet that was just delivered as dropped instead: the node at the far end could not take it.
    pub fn refuse(&mut self, ticket: Ticket, cause: DropCause) {
        self.counters.delivered.take_back(ticket.bytes);
        self.counters.drop(cause, ticket.bytes);
    }

    /// Takes the channel down; hands every packet that is lost by that to `dropped`, the one being sent first.
    pub fn cut(&mut self, now: Instant, mut dropped: impl FnMut(Ticket)) {
        self.advance(now);
        self.state = State::Down;
        let sending = self.busy_until > now;
        if sending && let Some(packet) = self.in_flight.pop_back() {
            self.counters.busy -= self.busy_until - now;
            self.busy_until = now;
            self.counters.drop(DropCause::Outage, packet.ticket.bytes);
            dropped(packet.ticket);
        }
        while let Some(ticket) = self.queue.dequeue() {
            self.counters.drop(DropCause::Outage, ticket.bytes);
            dropped(ticket);
        }
    }

    /// Takes the channel up again.
    pub fn restore(&mut self) {
        self.state = State::Up;
    }

    /// What happened until `now`.
    pub fn counters(&mut self, now: Instant) -> Counters {
        self.advance(now);
        let mut counters = self.counters;
        counters.busy -= self.busy_until - now;
        counters
    }

    /// What waits at `now`, without the packet being sent.
    pub fn queue_level(&mut self, now: Instant) -> QueueLevel {
        self.advance(now);
        self.queue.level()
    }

    /// What waited when the channel was last called.
    #[inline]
    pub(crate) fn last_queue_level(&self) -> QueueLevel {
        self.queue.level()
    }

    /// When the next packet leaves, and its ticket's order.
    #[inline]
    pub(crate) fn next_key(&self) -> Option<crate::event::Key> {
        self.in_flight
            .front()
            .map(|packet| crate::event::Key { time: packet.arrives, order: packet.ticket.order })
    }

    /// Starts every transmission that was due by `now`. A queue that is not empty means that the transmitter is
    /// never idle, so each starts exactly when the one before it ended.
    #[inline]
    fn advance(&mut self, now: Instant) {
        while self.busy_until <= now
            && let Some(ticket) = self.queue.dequeue()
        {
            self.start(self.busy_until, ticket);
        }
    }

    fn accept(&mut self, now: Instant, ticket: Ticket) -> Result<(), DropCause> {
        if self.state == State::Down {
            return Err(DropCause::Outage);
        }
        if self.busy_until <= now {
            self.start(now, ticket);
            return Ok(());
        }
        self.queue.enqueue(ticket)?;
        let level = self.queue.level();
        self.counters.peak_queue_packets = self.counters.peak_queue_packets.max(level.packets);
        self.counters.peak_queue_bytes = self.counters.peak_queue_bytes.max(level.bytes);
        Ok(())
    }

    fn start(&mut self, at: Instant, ticket: Ticket) {
        if self.last_time.0 != ticket.bytes {
            let bytes = ByteCount::from_bytes(u64::from(ticket.bytes)) + self.framing;
            self.last_time = (ticket.bytes, self.rate.transmission_time(bytes));
        }
        let time = self.last_time.1;
        self.busy_until = at + time;
        self.counters.busy += time;
        self.in_flight.push_back(InFlight { ticket, arrives: self.busy_until + self.delay });
    }
}

#[cfg(test)]
mod tests;
