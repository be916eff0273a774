//! All that can happen to a packet between the transmitter and the far end, beside uniform loss.

use std::sync::Arc;

use polypath_units::{ByteCount, Duration, Fraction, Instant};

use crate::impair::{
    BitErrors, Cursor, Damage, Duplication, GilbertElliott, Hit, Jitter, JitterOrder, NumberedLoss,
    RateTrace, Reordering,
};
use crate::{ChannelConfig, DropCause, Streams};

/// The impairments of a channel that has any of them.
#[derive(Debug)]
pub(crate) struct Medium {
    numbered_loss: NumberedLoss,
    burst_loss: Option<GilbertElliott>,
    bit_errors: Option<BitErrors>,
    jitter: Option<Jitter>,
    reordering: Option<Reordering>,
    duplication: Option<Duplication>,
    trace: Option<Arc<RateTrace>>,
    cursor: Cursor,
    /// Whether packets can be reordered.
    overtaking: bool,
}

/// What happens to a packet at the far end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Fate {
    pub lost: Option<DropCause>,
    pub damage: Option<Damage>,
    pub duplicated: bool,
}

impl Medium {
    /// `None` for a channel without any of these.
    pub fn new(config: &ChannelConfig, channel: &str, streams: &Streams) -> Option<Box<Self>> {
        let numbered_loss = NumberedLoss::new(&config.lost_packets);
        let burst_loss =
            config.gilbert_elliott.map(|config| GilbertElliott::new(&config, channel, streams));
        let bit_errors = config
            .bit_errors
            .map(|errors| BitErrors::new(&errors, config.framing, channel, streams));
        let jitter = config.jitter.map(|config| Jitter::new(&config, channel, streams));
        let reordering = config.reordering.map(|config| Reordering::new(&config, channel, streams));
        let duplication = (!config.duplication.is_zero())
            .then(|| Duplication::new(config.duplication, channel, streams));
        let overtaking = reordering.is_some()
            || config.jitter.is_some_and(|jitter| jitter.order == JitterOrder::Overtake)
            || config.steps.iter().any(|step| step.delay.is_some())
            || config.rate_trace.as_ref().is_some_and(|trace| trace.has_delays());
        let medium = Self {
            numbered_loss,
            burst_loss,
            bit_errors,
            jitter,
            reordering,
            duplication,
            trace: config.rate_trace.clone(),
            cursor: Cursor::default(),
            overtaking,
        };
        medium.is_any().then(|| Box::new(medium))
    }

    /// Whether packets can be reordered, so that the next to start can be the next to arrive.
    pub fn overtaking(&self) -> bool {
        self.overtaking
    }

    /// When a packet has been sent whose transmission starts at `at`, if a trace decides that.
    pub fn end(&mut self, at: Instant, bytes: u32, framing: ByteCount) -> Option<Instant> {
        self.trace.as_ref()?.end(at, bytes, framing, &mut self.cursor)
    }

    /// Forgets the transmission that was begun last: it was cut off.
    pub fn cut(&mut self) {
        self.cursor = Cursor::default();
    }

    /// The propagation delay for a packet that starts at `at`, if a trace decides that.
    pub fn delay(&self, at: Instant) -> Option<Duration> {
        self.trace.as_ref()?.delay_at(at)
    }

    /// The probability of uniform loss for a packet that arrives at `at`, if a trace decides that.
    pub fn uniform_loss(&self, at: Instant) -> Option<Fraction> {
        self.trace.as_ref()?.loss_at(at)
    }

    /// When a packet arrives that starts now and would arrive at `plain` otherwise. A packet that is late by reordering
    /// does not hold up those whose order jitter keeps.
    pub fn arrival(&mut self, plain: Instant) -> Instant {
        let arrival = self.jitter.as_mut().map_or(plain, |jitter| jitter.arrival(plain));
        match &mut self.reordering {
            Some(reordering) => arrival + reordering.delay(),
            None => arrival,
        }
    }

    /// Whether what has this place in the order is a copy, to which nothing happens any more.
    pub fn is_copy(&mut self, order: u64) -> bool {
        self.duplication.as_mut().is_some_and(|duplication| duplication.is_copy(order))
    }

    /// What happens to a packet of this length. Each impairment draws for each packet, whatever
    /// the others did, so that they do not disturb each other.
    pub fn judge(&mut self, bytes: u32) -> Fate {
        let numbered = self.numbered_loss.judge();
        let burst = self.burst_loss.as_mut().and_then(GilbertElliott::judge);
        let hit = self.bit_errors.as_mut().and_then(|errors| errors.judge(bytes));
        let duplicated = self.duplication.as_mut().is_some_and(Duplication::judge);
        let (error, damage) = match hit {
            Some(Hit::Dropped) => (Some(DropCause::BitError), None),
            Some(Hit::Damaged(damage)) => (None, Some(damage)),
            None => (None, None),
        };
        Fate { lost: numbered.or(burst).or(error), damage, duplicated }
    }

    /// Notes that what has this place in the order is a copy.
    pub fn expect_copy(&mut self, order: u64) {
        if let Some(duplication) = &mut self.duplication {
            duplication.expect(order);
        }
    }

    fn is_any(&self) -> bool {
        self.overtaking
            || self.trace.is_some()
            || self.numbered_loss.is_any()
            || self.burst_loss.is_some()
            || self.bit_errors.is_some()
            || self.jitter.is_some()
            || self.duplication.is_some()
    }
}
