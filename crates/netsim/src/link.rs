//! One direction of a link.

mod medium;
mod outcome;

use polypath_units::{BitRate, ByteCount, Duration, Instant};

use crate::event::Key;
use crate::impair::{Step, UniformLoss};
use crate::queue_discipline::{Admission, Class, QueueAct, QueueDiscipline, QueueLevel};
use crate::ring::Ring;
use crate::{ChannelConfig, Counters, DropCause, Streams, Ticket};
use medium::{Fate, Medium};
use outcome::InFlight;
pub use outcome::{Departure, Verdict};

/// One direction of a link: a queue, a transmitter and a medium, in this order.
///
/// A channel does no input or output and has no clock. [`offer`](Self::offer) hands it a packet;
/// [`next_departure`](Self::next_departure) tells when the next one leaves at the far end and
/// [`take_departure`](Self::take_departure) takes it there; after either, [`take_act`](Self::take_act) tells what the queue
/// did to packets that it had accepted. The simulator calls these in virtual time; a driver with a
/// clock can call them in real time. `now` must not run backwards.
///
/// * The transmitter sends one packet at a time; a packet of n bytes takes the time that n bytes and the framing take
///   at the rate of the channel. Then the packet propagates for the delay, beside any number of others.
/// * A packet that finds the transmitter idle is sent at once and never enters the queue. **The packet being sent is
///   not in the queue** and counts towards no limit. It leaves the queue at the instant at which its transmission
///   starts; a packet offered at that very instant finds its place free.
/// * A packet that is larger than the MTU is dropped before the queue, and nobody is told.
/// * Losses happen on the medium: a lost packet occupies queue and transmitter like any other and is reported lost at
///   the time at which it would have arrived.
/// * When the channel [is cut](Self::cut), packets that wait and the packet being sent are dropped; those already
///   propagating have passed the cut and arrive. While it is down, every packet offered is dropped.
/// * Packets leave in the order in which they were accepted, unless jitter, reordering or a step to
///   a shorter delay changes it.
#[derive(Debug)]
pub struct Channel {
    rate: BitRate,
    delay: Duration,
    framing: ByteCount,
    /// In bytes of IP packets; the largest number where there is none.
    mtu: u32,
    queue: QueueDiscipline,
    loss: Option<UniformLoss>,
    medium: Option<Box<Medium>>,
    state: State,
    /// When the last transmission that was started ends.
    busy_until: Instant,
    /// The packet whose transmission was started last.
    sending: Option<Ticket>,
    /// Packets whose transmission has started, in order of arrival.
    in_flight: Ring<InFlight>,
    counters: Counters,
    /// Whether it has to be called whenever a packet starts.
    calls_at_starts: bool,
    /// Whether what was sent arrives as it is: nothing on the medium is to be judged.
    keeps_all: bool,
    /// Longest packet that needs no second look: up to the MTU where the queue does not classify, else none.
    plain: u32,
    /// Packet length and transmission time of the last packet: most packets have one of two lengths.
    last_time: (u32, Duration),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Up,
    Down,
}

impl Channel {
    /// An idle channel that is up. Outages are not its business: whoever keeps the time [cuts](Self::cut) it and
    /// [restores](Self::restore) it. `name` names its random number streams.
    pub fn new(config: &ChannelConfig, name: &str, streams: &Streams) -> Self {
        let loss = &config.uniform_loss;
        let lossy = !loss.is_zero()
            || config.steps.iter().any(|step| step.uniform_loss.is_some())
            || config.rate_trace.as_ref().is_some_and(|trace| trace.has_losses());
        let queue = QueueDiscipline::new(&config.queue, config.rate, name, streams);
        let medium = Medium::new(config, name, streams);
        let mtu = mtu_of(config.mtu);
        Self {
            rate: config.rate,
            delay: config.delay,
            framing: config.framing,
            mtu,
            plain: plain_of(&queue, mtu),
            keeps_all: !lossy && medium.is_none(),
            calls_at_starts: medium.as_ref().is_some_and(|medium| medium.overtaking())
                || matches!(&queue, QueueDiscipline::Managed(queue) if queue.decides_late()),
            queue,
            loss: lossy.then(|| UniformLoss::new(*loss, streams.stream(&format!("{name}/loss")))),
            medium,
            state: State::Up,
            busy_until: Instant::ZERO,
            sending: None,
            in_flight: Ring::new(),
            counters: Counters::default(),
            last_time: (0, config.rate.transmission_time(config.framing)),
        }
    }

    /// Hands a packet to the channel. Where the queue [wants to know](Self::classifies) more of packets, it is one of a
    /// flow of its own and not ECN-capable.
    pub fn offer(&mut self, now: Instant, ticket: Ticket) -> Verdict {
        if self.is_too_large(ticket.bytes) {
            return self.drop_too_large(ticket);
        }
        if self.classifies() {
            return self.offer_of(now, ticket, Class { flow: ticket.order, ect: false });
        }
        self.offer_plain(now, ticket)
    }

    /// Whether a packet of so many bytes is larger than the MTU.
    #[inline]
    pub(crate) fn is_too_large(&self, bytes: u32) -> bool {
        bytes > self.mtu
    }

    /// Drops a packet that is larger than the MTU, and must not be fragmented.
    #[cold]
    pub(crate) fn drop_too_large(&mut self, ticket: Ticket) -> Verdict {
        self.counters.offered.add(ticket.bytes);
        self.counters.drop(DropCause::TooLarge, ticket.bytes);
        Verdict::Dropped(DropCause::TooLarge)
    }

    /// Whether a packet of so many bytes can be [offered plainly](Self::offer_plain): it is not too large, and the channel
    /// does not classify.
    #[inline]
    pub(crate) fn takes_plainly(&self, bytes: u32) -> bool {
        bytes <= self.plain
    }

    /// Hands a packet to a channel that does not classify. Whoever calls has seen to the MTU.
    #[inline(always)]
    pub(crate) fn offer_plain(&mut self, now: Instant, ticket: Ticket) -> Verdict {
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

    /// Whether the queue makes use of the class of packets.
    #[inline]
    pub fn classifies(&self) -> bool {
        matches!(self.queue, QueueDiscipline::Managed(_))
    }

    /// Hands a packet of that class to the channel. Whoever calls has seen to the MTU.
    #[inline]
    pub fn offer_of(&mut self, now: Instant, ticket: Ticket, class: Class) -> Verdict {
        if !self.classifies() {
            return self.offer_plain(now, ticket);
        }
        self.advance(now);
        self.counters.offered.add(ticket.bytes);
        match self.accept_managed(now, ticket, class) {
            Ok(Admission::Unmarked) => Verdict::Accepted,
            Ok(Admission::Marked) => {
                self.counters.marked.add(ticket.bytes);
                Verdict::Marked
            }
            Err(cause) => {
                self.counters.drop(cause, ticket.bytes);
                Verdict::Dropped(cause)
            }
        }
    }

    /// Whether the queue makes use of the class of packets in its present settings.
    #[inline]
    pub(crate) fn looks_at_class(&self) -> bool {
        matches!(&self.queue, QueueDiscipline::Managed(queue) if queue.looks_at_class())
    }

    /// Whether the queue makes use of the flow in the class of packets.
    pub(crate) fn tells_flows_apart(&self) -> bool {
        matches!(&self.queue, QueueDiscipline::Managed(queue) if queue.tells_flows_apart())
    }

    /// Whether [`take_act`](Self::take_act) has something to tell.
    #[inline]
    pub(crate) fn has_acts(&self) -> bool {
        matches!(&self.queue, QueueDiscipline::Managed(queue) if queue.has_acts())
    }

    /// What the queue did to a packet that it had accepted; to be asked after every call with a time until there is nothing
    /// left.
    #[inline]
    pub fn take_act(&mut self) -> Option<QueueAct> {
        match &mut self.queue {
            QueueDiscipline::DropTail(_) => None,
            QueueDiscipline::Managed(queue) => queue.take_act(),
        }
    }

    /// When the next packet leaves at the far end; [`take_departure`](Self::take_departure) is due
    /// then. If packets can be reordered, or if the queue decides when they leave it, this is also
    /// the start of a transmission, when nothing departs. Call it again after every change of the
    /// channel.
    pub fn next_departure(&self) -> Option<Instant> {
        self.next_key().map(|key| key.time)
    }

    /// Takes the packet that has left at the far end by `now`, if one has.
    pub fn take_departure(&mut self, now: Instant) -> Option<Departure> {
        let (ticket, arrives) = self.take_sent(now)?;
        Some(self.judge_departure(ticket, arrives))
    }

    /// The same before the medium [judges](Self::judge_departure) the packet; also when it arrives.
    #[inline]
    pub(crate) fn take_sent(&mut self, now: Instant) -> Option<(Ticket, Instant)> {
        self.advance(now);
        if self.in_flight.front()?.arrives > now {
            return None;
        }
        let InFlight { ticket, arrives } = self.in_flight.pop_front()?;
        Some((ticket, arrives))
    }

    /// Counts a packet as delivered if the medium delivers everything as it was sent; otherwise it has to be
    /// [judged](Self::judge_departure).
    #[inline]
    pub(crate) fn is_delivered(&mut self, ticket: Ticket) -> bool {
        if self.keeps_all {
            self.counters.delivered.add(ticket.bytes);
        }
        self.keeps_all
    }

    /// What the medium has done to a packet that was [taken](Self::take_sent).
    #[inline(never)]
    pub(crate) fn judge_departure(&mut self, ticket: Ticket, arrives: Instant) -> Departure {
        let Fate { lost, damage, duplicated } = self.judge(ticket, arrives);
        match lost {
            None => self.counters.delivered.add(ticket.bytes),
            Some(cause) => self.counters.drop(cause, ticket.bytes),
        }
        if damage.is_some() && lost.is_none() {
            self.counters.damaged.add(ticket.bytes);
        }
        Departure { ticket, lost, damage, duplicated: duplicated && lost.is_none() }
    }

    /// Hands over the copy of a packet that was taken just now and is [duplicated](Departure::duplicated): it arrives at
    /// once.
    pub fn repeat(&mut self, now: Instant, copy: Ticket) {
        self.counters.duplicated.add(copy.bytes);
        if let Some(medium) = &mut self.medium {
            medium.expect_copy(copy.order);
        }
        self.insert(InFlight { ticket: copy, arrives: now });
    }

    /// Changes parameters.
    pub fn step(&mut self, now: Instant, step: &Step) {
        // What starts at this very instant starts with the new parameters.
        while self.busy_until < now
            && let Some(ticket) = self.next_to_send()
        {
            self.start(self.busy_until, ticket);
        }
        if let Some(rate) = step.rate {
            self.rate = rate;
            self.last_time = (0, rate.transmission_time(self.framing));
            if let QueueDiscipline::Managed(queue) = &mut self.queue {
                queue.set_rate(rate);
            }
        }
        if let Some(delay) = step.delay {
            self.delay = delay;
        }
        if let (Some(loss), Some(probability)) = (&mut self.loss, step.uniform_loss) {
            loss.set(probability);
        }
        if step.mtu.is_some() {
            self.mtu = mtu_of(step.mtu);
            self.plain = plain_of(&self.queue, self.mtu);
        }
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
        let sending = self.sending.filter(|_| self.busy_until > now);
        let place = self.in_flight.iter().rposition(|packet| Some(packet.ticket) == sending);
        if let Some(packet) = place.and_then(|place| self.in_flight.remove(place)) {
            self.counters.busy -= self.busy_until - now;
            self.busy_until = now;
            if let Some(medium) = &mut self.medium {
                medium.cut();
            }
            self.counters.drop(DropCause::Outage, packet.ticket.bytes);
            dropped(packet.ticket);
        }
        while let Some(ticket) = self.queue.remove() {
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

    /// When the channel has to be called next, and the place of that in the order of events.
    #[inline]
    pub(crate) fn next_key(&self) -> Option<Key> {
        let arrival = self.in_flight.front().map(InFlight::key);
        if self.calls_at_starts { self.start_or(arrival) } else { arrival }
    }

    /// When the next packet starts that waits, or this arrival if that comes first.
    #[inline(never)]
    fn start_or(&self, arrival: Option<Key>) -> Option<Key> {
        let before = self.sending.filter(|_| self.queue.level().packets > 0);
        let start = before.map(|before| Key { time: self.busy_until, order: before.order });
        start.into_iter().chain(arrival).min()
    }

    fn judge(&mut self, ticket: Ticket, arrives: Instant) -> Fate {
        let mut fate = match &mut self.medium {
            None => Fate::default(),
            Some(medium) => {
                if medium.is_copy(ticket.order) {
                    return Fate::default();
                }
                if let (Some(loss), Some(probability)) =
                    (&mut self.loss, medium.uniform_loss(arrives))
                {
                    loss.set(probability);
                }
                medium.judge(ticket.bytes)
            }
        };
        if let Some(loss) = &mut self.loss {
            fate.lost = loss.judge().or(fate.lost);
        }
        fate
    }

    /// Starts every transmission that was due by `now`. A queue that is not empty means that the transmitter is
    /// never idle, so each starts exactly when the one before it ended.
    #[inline(always)]
    fn advance(&mut self, now: Instant) {
        if self.busy_until <= now && self.queue.may_have_next() {
            self.start_waiting(now);
        }
    }

    #[inline(never)]
    fn start_waiting(&mut self, now: Instant) {
        while self.busy_until <= now
            && let Some(ticket) = self.next_to_send()
        {
            self.start(self.busy_until, ticket);
        }
    }

    /// The packet whose transmission starts when the one before it ends.
    #[inline]
    fn next_to_send(&mut self) -> Option<Ticket> {
        match &mut self.queue {
            QueueDiscipline::DropTail(queue) => queue.dequeue(),
            QueueDiscipline::Managed(queue) => queue.dequeue(self.busy_until, &mut self.counters),
        }
    }

    #[inline(always)]
    fn accept(&mut self, now: Instant, ticket: Ticket) -> Result<(), DropCause> {
        if self.state == State::Down {
            return Err(DropCause::Outage);
        }
        if self.busy_until <= now {
            self.start(now, ticket);
            return Ok(());
        }
        if let QueueDiscipline::DropTail(queue) = &mut self.queue {
            queue.enqueue(ticket)?;
            let level = queue.level();
            self.note_level(level);
        }
        Ok(())
    }

    #[inline]
    fn accept_managed(
        &mut self,
        now: Instant,
        ticket: Ticket,
        class: Class,
    ) -> Result<Admission, DropCause> {
        if self.state == State::Down {
            return Err(DropCause::Outage);
        }
        let QueueDiscipline::Managed(queue) = &mut self.queue else {
            return Err(DropCause::QueueFull);
        };
        let idle = (self.busy_until <= now).then_some(self.busy_until);
        let admission = queue.enqueue(now, ticket, class, idle, &mut self.counters)?;
        if idle.is_none() {
            let level = queue.level();
            self.note_level(level);
        } else if let Some(ticket) = queue.dequeue(now, &mut self.counters) {
            // It went through the queue, which sees every packet, but did not wait in it.
            self.start(now, ticket);
        }
        Ok(admission)
    }

    #[inline]
    fn note_level(&mut self, level: QueueLevel) {
        // Peaks are rare: two comparisons, where both maxima at once would be computed in vectors.
        if level.packets > self.counters.peak_queue_packets {
            self.counters.peak_queue_packets = level.packets;
        }
        if level.bytes > self.counters.peak_queue_bytes {
            self.counters.peak_queue_bytes = level.bytes;
        }
    }

    // Called for every packet on every link, so that calls count: what is rare is apart.
    #[inline(always)]
    fn start(&mut self, at: Instant, ticket: Ticket) {
        if self.last_time.0 != ticket.bytes {
            let bytes = ByteCount::from_bytes(u64::from(ticket.bytes)) + self.framing;
            self.last_time = (ticket.bytes, self.rate.transmission_time(bytes));
        }
        let plain = at + self.last_time.1;
        let (ends, arrives) = match &mut self.medium {
            None => (plain, plain + self.delay),
            Some(medium) => {
                let ends = medium.end(at, ticket.bytes, self.framing).unwrap_or(plain);
                let delay = medium.delay(at).unwrap_or(self.delay);
                (ends, medium.arrival(ends + delay))
            }
        };
        self.busy_until = ends;
        self.counters.busy += ends - at;
        self.sending = Some(ticket);
        self.insert(InFlight { ticket, arrives });
    }

    #[inline(always)]
    fn insert(&mut self, packet: InFlight) {
        match self.in_flight.back() {
            Some(last) if last.key() > packet.key() => self.insert_before_others(packet),
            _ => self.in_flight.push_back(packet),
        }
    }

    #[cold]
    fn insert_before_others(&mut self, packet: InFlight) {
        let place = self.in_flight.partition_point(|other| other.key() <= packet.key());
        self.in_flight.insert(place, packet);
    }
}

/// Longest packet that may be offered plainly.
fn plain_of(queue: &QueueDiscipline, mtu: u32) -> u32 {
    match queue {
        QueueDiscipline::DropTail(_) => mtu,
        QueueDiscipline::Managed(_) => 0,
    }
}

/// An MTU in bytes; packets of any length pass where there is none.
fn mtu_of(mtu: Option<ByteCount>) -> u32 {
    mtu.map_or(u32::MAX, |mtu| u32::try_from(mtu.as_bytes()).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests;
