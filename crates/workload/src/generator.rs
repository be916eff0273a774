//! Messages of a flow, one after the other.

use std::collections::VecDeque;

use polypath_units::{BitRate, ByteCount, Fraction, Instant};

use crate::pulled::Pulled;
use crate::random::{self, Stream};
use crate::source::{
    Arrival, ConstantArrivals, Frames, OnOffArrivals, PoissonArrivals, TraceArrivals,
};
use crate::triggered::Triggered;
use crate::{Delivery, FlowError, FlowSpec, Source};

/// Produces the messages of a flow.
///
/// Ask [`peek`](Self::peek) for the next message, offer it to the transport, and call [`taken`](Self::taken) if that took
/// it; a message that was refused stays the next. [`next_turn`](Self::next_turn) says when to come back at the latest.
#[derive(Clone, Debug)]
pub struct Generator {
    spec: FlowSpec,
    carrier: Carrier,
    rng: Stream,
    kind: Kind,
    marks: Marks,
    /// The next message of a source that sends whatever the transport takes, once it was asked for.
    pulled: Option<Message>,
    /// Messages of other sources that are due and not yet taken.
    waiting: VecDeque<Message>,
    /// Messages that have a number.
    numbered: u64,
    messages: u64,
    bytes: ByteCount,
    dropped: u64,
}

/// What a generator has to know of the transport and the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Carrier {
    /// Rate of the link that loads are about.
    pub link: BitRate,
    /// Bytes of headers per message, on a link.
    pub headers: u32,
    /// Shortest message. Shorter ones are made that long.
    pub shortest: u32,
    /// Longest message. Longer ones are cut to that length, frames into several.
    pub longest: u32,
}

impl Default for Carrier {
    /// Takes everything, and adds nothing.
    fn default() -> Self {
        Self { link: BitRate::ZERO, headers: 0, shortest: 1, longest: u32::MAX }
    }
}

/// A message to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message {
    /// Counts the messages of the flow from 0.
    pub number: u64,
    /// Length in bytes.
    pub bytes: u32,
    /// Whether it may be delivered out of order.
    pub delivery: Delivery,
    /// How hard the transport tries.
    pub effort: Effort,
    /// Stream of the flow, from 0; in turn where it is not given.
    pub stream: Option<u16>,
    /// When the source had it; the present for sources that send whatever the transport takes.
    pub offered: Instant,
    /// For a response, when the request was offered.
    pub since: Option<Instant>,
}

/// How hard the transport tries to deliver a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Effort {
    /// As for all messages of the flow.
    #[default]
    AsFlow,
    /// It is sent once.
    SentOnce,
}

#[derive(Clone, Debug)]
enum Kind {
    /// Sends whatever the transport takes.
    Pulled(Pulled),
    /// Follows a clock.
    Timed(Timed),
    /// Follows what comes.
    Triggered(Triggered),
}

#[derive(Clone, Debug)]
struct Timed {
    arrivals: Arrivals,
    next: Option<Arrival>,
    /// Longest message, if not the longest of the transport.
    longest: Option<u64>,
}

#[derive(Clone, Debug)]
enum Arrivals {
    Constant(ConstantArrivals),
    Poisson(PoissonArrivals),
    OnOff(OnOffArrivals),
    Trace(TraceArrivals),
    Frames(Frames),
}

/// What is drawn for each message.
#[derive(Clone, Copy, Debug, Default)]
struct Marks {
    unordered: Fraction,
    unreliable: Fraction,
}

impl Generator {
    /// A generator at the start of the flow, with random numbers of its own.
    ///
    /// # Errors
    /// A flow that [makes no sense](FlowSpec::check).
    pub fn new(spec: FlowSpec, carrier: Carrier, mut rng: Stream) -> Result<Self, FlowError> {
        spec.check()?;
        let kind = Kind::of(&spec, carrier, &mut rng);
        let marks = match &spec.source {
            Source::Netperfmeter(of) => {
                Marks { unordered: of.unordered, unreliable: of.unreliable }
            }
            _ => Marks::default(),
        };
        Ok(Self {
            spec,
            carrier,
            rng,
            kind,
            marks,
            pulled: None,
            waiting: VecDeque::new(),
            numbered: 0,
            messages: 0,
            bytes: ByteCount::ZERO,
            dropped: 0,
        })
    }

    /// The message to offer at `now`, if there is one.
    #[inline]
    pub fn peek(&mut self, now: Instant) -> Option<Message> {
        let Kind::Pulled(pulled) = &self.kind else {
            self.collect(now);
            return self.waiting.front().copied();
        };
        if !self.is_within(now) || !pulled.is_on(now.since(self.start())) {
            return None;
        }
        if self.pulled.is_none() && pulled.left() != Some(0) {
            self.pull(now);
        }
        self.pulled.map(|message| Message { offered: now, ..message })
    }

    /// The transport took the message that [`peek`](Self::peek) gave.
    #[inline]
    pub fn taken(&mut self, message: Message) {
        if let Kind::Pulled(pulled) = &mut self.kind {
            pulled.taken(message.bytes.into());
            self.pulled = None;
        } else {
            self.waiting.pop_front();
        }
        self.messages += 1;
        self.bytes += ByteCount::from_bytes(message.bytes.into());
    }

    /// What a source of requests or responses waits for has come: a response, or a request that was offered at `since`.
    /// Other sources take no notice.
    pub fn trigger(&mut self, now: Instant, since: Instant) {
        let stop = self.stop();
        if let Kind::Triggered(triggered) = &mut self.kind {
            triggered.trigger(now, since, stop, &mut self.rng);
        }
    }

    /// When something changes by itself next, after `now`.
    #[inline]
    pub fn next_turn(&self, now: Instant) -> Option<Instant> {
        let of_kind = match &self.kind {
            Kind::Pulled(pulled) => {
                pulled.next_turn(now.since(self.start())).map(|after| self.start() + after)
            }
            Kind::Timed(timed) => self.time_of(timed.next),
            Kind::Triggered(triggered) => triggered.next_due(),
        };
        let turns = [Some(self.start()), self.stop(), of_kind];
        turns.into_iter().flatten().filter(|turn| *turn > now).min()
    }

    /// Whether nothing will follow after `now`.
    #[inline]
    pub fn is_finished(&self, now: Instant) -> bool {
        let is_stopped = self.stop().is_some_and(|stop| now >= stop);
        match &self.kind {
            Kind::Pulled(pulled) => pulled.left() == Some(0) || is_stopped,
            Kind::Timed(timed) => self.waiting.is_empty() && (self.time_of(timed.next).is_none()),
            Kind::Triggered(triggered) => {
                let is_server = matches!(self.spec.source, Source::Responses(_));
                let ends = is_server || is_stopped || triggered.has_end();
                self.waiting.is_empty() && triggered.is_idle() && ends
            }
        }
    }

    /// Whether all that the flow is to carry was taken: the whole file, or at least something until the stop of a flow
    /// without other end. A flow that was stopped before it began carried nothing.
    pub fn is_exhausted(&self, now: Instant) -> bool {
        match &self.kind {
            Kind::Pulled(pulled) if pulled.left().is_some() => pulled.left() == Some(0),
            _ => self.messages > 0 && self.is_finished(now),
        }
    }

    /// Whether it ends by itself or by a stop.
    pub fn has_end(&self) -> bool {
        let by_itself = match &self.kind {
            Kind::Pulled(pulled) => pulled.left().is_some(),
            Kind::Timed(Timed { arrivals: Arrivals::Trace(_), .. }) => {
                matches!(&self.spec.source, Source::Trace(of) if of.after_end == crate::AfterEnd::Stop)
            }
            Kind::Timed(_) => false,
            Kind::Triggered(triggered) => triggered.has_end(),
        };
        by_itself || self.spec.stop.is_some()
    }

    /// When the first message may be offered.
    #[inline]
    pub fn start(&self) -> Instant {
        Instant::ZERO + self.spec.start
    }

    /// When no more messages are offered.
    #[inline]
    pub fn stop(&self) -> Option<Instant> {
        self.spec.stop.map(|stop| Instant::ZERO + stop)
    }

    /// Messages that the transport took.
    #[inline]
    pub fn messages(&self) -> u64 {
        self.messages
    }

    /// Bytes of the messages that the transport took.
    pub fn bytes(&self) -> ByteCount {
        self.bytes
    }

    /// Messages that found the queue full and were dropped before the transport saw them.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Messages that the source had by the last time it was asked: taken, waiting or dropped. What a source that sends
    /// whatever the transport takes would have next does not count.
    pub fn offered(&self) -> u64 {
        let waiting = match self.kind {
            Kind::Pulled(_) => 0,
            Kind::Timed(_) | Kind::Triggered(_) => self.waiting.len() as u64,
        };
        self.messages + waiting + self.dropped
    }

    /// Makes messages of all that is due.
    fn collect(&mut self, now: Instant) {
        match &mut self.kind {
            // Whatever the transport takes is made when it asks.
            Kind::Pulled(_) => {}
            Kind::Timed(_) => {
                while let Some((at, arrival)) = self.take_arrival(now) {
                    self.add_arrival(at, arrival);
                }
            }
            Kind::Triggered(triggered) => {
                while let Some((at, bytes, since)) = triggered.take_due(now, &mut self.rng) {
                    let bytes =
                        bytes.clamp(self.carrier.shortest.into(), self.carrier.longest.into());
                    let message = Message {
                        number: self.numbered,
                        bytes: bytes as u32,
                        delivery: self.spec.delivery,
                        effort: Effort::AsFlow,
                        stream: None,
                        offered: at,
                        since,
                    };
                    self.numbered += 1;
                    self.waiting.push_back(message);
                }
            }
        }
    }

    /// Makes the next message of a source that sends whatever the transport takes.
    fn pull(&mut self, now: Instant) {
        let Carrier { shortest, longest, .. } = self.carrier;
        let Kind::Pulled(pulled) = &mut self.kind else { return };
        let bytes = pulled.next(shortest.into(), longest.into(), &mut self.rng);
        // The last message of a file is as short as it is.
        let shortest = if pulled.left().is_some() { 1 } else { shortest };
        self.pulled = Some(self.message(now, bytes, shortest, None, None));
    }

    /// The next arrival, if it is due by `now`.
    fn take_arrival(&mut self, now: Instant) -> Option<(Instant, Arrival)> {
        let Kind::Timed(timed) = &self.kind else { return None };
        let at = self.time_of(timed.next).filter(|at| *at <= now)?;
        let Kind::Timed(timed) = &mut self.kind else { return None };
        let next = timed.arrivals.next(&mut self.rng);
        std::mem::replace(&mut timed.next, next).map(|arrival| (at, arrival))
    }

    /// When an arrival happens, if the flow has not stopped before.
    fn time_of(&self, arrival: Option<Arrival>) -> Option<Instant> {
        let at = self.start() + arrival?.after;
        (at < Instant::FAR_FUTURE && self.stop().is_none_or(|stop| at < stop)).then_some(at)
    }

    /// Cuts what came into messages.
    fn add_arrival(&mut self, at: Instant, arrival: Arrival) {
        let longest = match &self.kind {
            Kind::Timed(Timed { longest: Some(longest), .. }) => {
                (*longest).min(self.carrier.longest.into())
            }
            _ => {
                let bytes = arrival.bytes.min(self.carrier.longest.into());
                return self.add(at, bytes, arrival.delivery, arrival.stream);
            }
        };
        let mut left = arrival.bytes;
        while left > 0 {
            // A frame may be as long as it likes: what finds no room is not even cut.
            if self.waiting.len() >= self.spec.queue as usize {
                self.dropped = self.dropped.saturating_add(left.div_ceil(longest));
                return;
            }
            let bytes = left.min(longest);
            left -= bytes;
            self.add(at, bytes, arrival.delivery, arrival.stream);
        }
    }

    /// Adds a message to those that wait, if there is room.
    fn add(&mut self, at: Instant, bytes: u64, delivery: Option<Delivery>, stream: Option<u16>) {
        if self.waiting.len() >= self.spec.queue as usize {
            self.dropped += 1;
            return;
        }
        let message = self.message(at, bytes, self.carrier.shortest, delivery, stream);
        self.waiting.push_back(message);
    }

    /// The next message in the order of numbers.
    #[inline]
    fn message(
        &mut self,
        offered: Instant,
        bytes: u64,
        shortest: u32,
        delivery: Option<Delivery>,
        stream: Option<u16>,
    ) -> Message {
        let number = self.numbered;
        self.numbered += 1;
        Message {
            number,
            bytes: u32::try_from(bytes).unwrap_or(u32::MAX).max(shortest),
            delivery: self.draw_delivery(delivery.unwrap_or(self.spec.delivery)),
            effort: self.draw_effort(),
            stream,
            offered,
            since: None,
        }
    }

    fn draw_delivery(&mut self, of_flow: Delivery) -> Delivery {
        match self.hits(self.marks.unordered) {
            true => Delivery::Unordered,
            false => of_flow,
        }
    }

    fn draw_effort(&mut self) -> Effort {
        match self.hits(self.marks.unreliable) {
            true => Effort::SentOnce,
            false => Effort::AsFlow,
        }
    }

    fn hits(&mut self, share: Fraction) -> bool {
        !share.is_zero() && random::unit(&mut self.rng) <= share.as_f64()
    }

    /// Whether the flow has begun and not stopped.
    #[inline]
    fn is_within(&self, now: Instant) -> bool {
        now >= self.start() && self.stop().is_none_or(|stop| now < stop)
    }
}

impl Kind {
    fn of(spec: &FlowSpec, carrier: Carrier, rng: &mut Stream) -> Self {
        let sizes = spec.sizes();
        let timed = |arrivals| Timed { arrivals, next: None, longest: None };
        let mut timed = match &spec.source {
            Source::Saturated => return Self::Pulled(Pulled::endless(sizes)),
            Source::File(size) => return Self::Pulled(Pulled::file(*size, sizes)),
            Source::RequestResponse(of) => {
                let start = Instant::ZERO + spec.start;
                return Self::Triggered(Triggered::client(of, sizes, start));
            }
            Source::Responses(of) => return Self::Triggered(Triggered::server(of)),
            Source::Netperfmeter(of) if of.is_saturated() => {
                return Self::Pulled(Pulled::meter(of.clone()));
            }
            Source::Netperfmeter(of) => Timed {
                longest: Some(of.max_message_size.as_bytes()),
                ..timed(Arrivals::Frames(Frames::new(of.clone())))
            },
            Source::Constant(rate) => {
                timed(Arrivals::Constant(ConstantArrivals::new(*rate, sizes)))
            }
            Source::Poisson(rate) => timed(Arrivals::Poisson(PoissonArrivals::new(*rate, sizes))),
            Source::ParetoOnOff(of) => {
                timed(Arrivals::OnOff(OnOffArrivals::new(*of, sizes, 0, rng)))
            }
            Source::CrossTraffic(of) => {
                let headers = u64::from(carrier.headers);
                let (sizes, of) = (of.packet_size.clone(), of.on_link(carrier.link));
                timed(Arrivals::OnOff(OnOffArrivals::new(of, sizes, headers, rng)))
            }
            Source::Trace(of) => timed(Arrivals::Trace(TraceArrivals::new(of))),
        };
        timed.next = timed.arrivals.next(rng);
        Self::Timed(timed)
    }
}

impl Arrivals {
    fn next(&mut self, rng: &mut Stream) -> Option<Arrival> {
        match self {
            Self::Constant(arrivals) => Some(arrivals.next(rng)),
            Self::Poisson(arrivals) => Some(arrivals.next(rng)),
            Self::OnOff(arrivals) => arrivals.next(rng),
            Self::Trace(arrivals) => arrivals.next(),
            Self::Frames(frames) => frames.next(rng),
        }
    }
}

#[cfg(test)]
mod tests;
