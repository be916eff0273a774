//! What a link can carry, from a record of one.

mod begin;
mod csv;
mod mahimahi;

use polypath_units::{BitRate, ByteCount, Duration, Fraction, Instant};

/// Rate, delay and loss of a channel over the time of a run, read from a trace.
///
/// Where the trace names a rate it decides how long transmissions take: a packet is sent when the bits of it and its
/// framing have passed at the rates of the time from its start on, also where these change or are zero meanwhile. Where a
/// trace consists of **opportunities** to send (Mahimahi), each carries so many bytes of IP packets; a packet is sent at the
/// opportunity that carries its last byte, several short ones share one, and an opportunity in which nothing waits is
/// lost. In either case the transmitter counts as busy from the start to that time.
///
/// A delay holds for packets whose transmission starts while it holds, and a loss for those that arrive while it holds. What the
/// trace does not name is that of the channel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RateTrace {
    service: Service,
    /// From when on in a cycle which delay holds.
    delays: Vec<(Duration, Duration)>,
    /// From when on in a cycle which loss holds.
    losses: Vec<(Duration, Fraction)>,
    /// Length of a cycle; what is last holds for ever where there is none.
    period: Option<Duration>,
}

/// What happens at the end of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum AfterEnd {
    /// The last row stays valid.
    #[default]
    Hold,
    /// The table starts again. The last row is valid for as long as the one before it.
    Repeat,
}

/// What is wrong with the text of a trace.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct TraceError {
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong there.
    pub message: String,
}

impl TraceError {
    fn new(line: usize, message: impl Into<String>) -> Self {
        Self { line, message: message.into() }
    }
}

/// How transmissions pass.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Service {
    /// At the rate of the channel.
    Channel,
    Rates(Vec<Piece>),
    Opportunities(Opportunities),
}

/// A time of one rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Piece {
    /// Its begin in the cycle.
    from: Duration,
    rate: BitRate,
    /// What has passed since the cycle began, in bits times 10⁹.
    before: u128,
}

/// Times in a cycle at which something can be sent.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Opportunities {
    /// In order; there is at least one.
    times: Vec<Duration>,
    /// Length of a cycle; not zero.
    period: Duration,
    /// What one of them carries; not zero.
    bytes: u32,
}

/// How far a channel has come with opportunities.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cursor {
    /// The opportunity in use, counted through all cycles, and the bytes that it still carries.
    current: Option<(u64, u32)>,
}

impl RateTrace {
    /// Reads a trace of the link emulator Mahimahi (Netravali et al. 2015): in each line the time in ms of an opportunity to
    /// send `opportunity`, in order; after the last one it begins anew.
    ///
    /// # Errors
    /// A line is no time, times run backwards, or there is no time but zero.
    pub fn from_mahimahi(text: &str, opportunity: ByteCount) -> Result<Self, TraceError> {
        mahimahi::read(text, opportunity)
    }

    /// Reads a table: a header `time [s],rate [Mbit/s],delay [ms],loss [%]` with any units and in any order, of which only the
    /// time must be there, and rows from time zero on; an empty cell leaves the value as it was.
    ///
    /// # Errors
    /// The table is not of this kind; the error names line and column.
    pub fn from_csv(text: &str, after_end: AfterEnd) -> Result<Self, TraceError> {
        csv::read(text, after_end)
    }

    /// Length of a cycle; nothing for a trace that holds its last row.
    pub fn period(&self) -> Option<Duration> {
        self.period
    }

    /// The same trace for a run that begins `offset` after the begin of a cycle. One without cycles stays as it is.
    #[must_use]
    pub fn begun_at(&self, offset: Duration) -> Self {
        let Some(period) = self.period.filter(|period| !period.is_zero()) else {
            return self.clone();
        };
        let offset = Duration::from_nanos(offset.as_nanos() % period.as_nanos());
        let service = match &self.service {
            Service::Channel => Service::Channel,
            Service::Rates(pieces) => Service::Rates(begin::rates(pieces, offset, period)),
            Service::Opportunities(all) => Service::Opportunities(Opportunities {
                times: begin::times(&all.times, offset, period),
                ..*all
            }),
        };
        Self {
            service,
            delays: begin::rows(&self.delays, offset, period),
            losses: begin::rows(&self.losses, offset, period),
            period: self.period,
        }
    }

    /// Whether it names delays.
    pub fn has_delays(&self) -> bool {
        !self.delays.is_empty()
    }

    /// Whether it names losses.
    pub fn has_losses(&self) -> bool {
        !self.losses.is_empty()
    }

    /// Mean loss over a cycle, or over the rows of a trace without cycles; nothing where it names none.
    pub fn mean_loss(&self) -> Option<f64> {
        let (last, _) = self.losses.last()?;
        let end = self.period.unwrap_or(*last);
        if end.is_zero() {
            return self.losses.first().map(|(_, loss)| loss.as_f64());
        }
        let ends = self.losses.iter().skip(1).map(|(from, _)| *from).chain([end]);
        let weigh = |((from, loss), to): (&(Duration, Fraction), Duration)| {
            loss.as_f64() * (to.as_nanos().saturating_sub(from.as_nanos())) as f64
        };
        Some(self.losses.iter().zip(ends).map(weigh).sum::<f64>() / end.as_nanos() as f64)
    }

    /// When a packet of `bytes` has been sent whose transmission starts at `at`; nothing where the channel's rate decides.
    pub(crate) fn end(
        &self,
        at: Instant,
        bytes: u32,
        framing: ByteCount,
        cursor: &mut Cursor,
    ) -> Option<Instant> {
        match &self.service {
            Service::Channel => None,
            Service::Rates(pieces) => {
                let bits = (framing.as_bytes() as u128 + u128::from(bytes)) * 8;
                Some(end_at_rates(pieces, self.period, at, bits))
            }
            Service::Opportunities(all) => Some(all.end(at, bytes, cursor)),
        }
    }

    /// The delay that holds at `at`.
    pub(crate) fn delay_at(&self, at: Instant) -> Option<Duration> {
        holding(&self.delays, self.in_cycle(at))
    }

    /// The loss that holds at `at`.
    pub(crate) fn loss_at(&self, at: Instant) -> Option<Fraction> {
        holding(&self.losses, self.in_cycle(at))
    }

    fn in_cycle(&self, at: Instant) -> Duration {
        let nanos = at.as_nanos();
        Duration::from_nanos(self.period.map_or(nanos, |period| nanos % period.as_nanos().max(1)))
    }
}

const SECOND: u128 = 1_000_000_000;

/// The value of the last row that has begun.
fn holding<T: Copy>(rows: &[(Duration, T)], at: Duration) -> Option<T> {
    let begun = rows.partition_point(|(from, _)| *from <= at);
    rows.get(begun.checked_sub(1)?).map(|(_, value)| *value)
}

/// What passes in a cycle, in bits times 10⁹.
fn cycle_work(pieces: &[Piece], period: Duration) -> u128 {
    pieces.last().map_or(0, |last| last.passed_by(period))
}

impl Piece {
    /// What has passed in the cycle by `at`, which lies in this piece.
    fn passed_by(&self, at: Duration) -> u128 {
        let time = at.as_nanos().saturating_sub(self.from.as_nanos());
        self.before.saturating_add(u128::from(self.rate.as_bits_per_second()) * u128::from(time))
    }
}

/// When so many bits have passed since `at`: what has passed by then in all is what has passed by `at` and the bits.
fn end_at_rates(pieces: &[Piece], period: Option<Duration>, at: Instant, bits: u128) -> Instant {
    let nanos = at.as_nanos();
    let (cycles, within) = match period.map(Duration::as_nanos) {
        Some(period) if period > 0 => (nanos / period, nanos % period),
        _ => (0, nanos),
    };
    let within = Duration::from_nanos(within);
    let begun = pieces.partition_point(|piece| piece.from <= within).saturating_sub(1);
    let Some(piece) = pieces.get(begun) else { return Instant::FAR_FUTURE };
    let mut target = piece.passed_by(within).saturating_add(bits.saturating_mul(SECOND));
    let mut start = u128::from(cycles) * u128::from(period.map_or(0, Duration::as_nanos));
    if let Some(period) = period {
        let work = cycle_work(pieces, period);
        // Whole cycles are passed over at once; some of the last one is always left.
        let Some(whole) = target.saturating_sub(1).checked_div(work) else {
            return Instant::FAR_FUTURE;
        };
        start = start.saturating_add(whole.saturating_mul(u128::from(period.as_nanos())));
        target -= whole * work;
    }
    let last = pieces.partition_point(|piece| piece.before < target).saturating_sub(1);
    let piece = &pieces[last];
    let rate = u128::from(piece.rate.as_bits_per_second());
    let rest = target - piece.before;
    if rate == 0 {
        return Instant::FAR_FUTURE;
    }
    let end = start.saturating_add(u128::from(piece.from.as_nanos()) + rest.div_ceil(rate));
    u64::try_from(end).map_or(Instant::FAR_FUTURE, Instant::from_nanos)
}

impl Opportunities {
    /// When the last of `bytes` is carried that wait from `at` on.
    fn end(&self, at: Instant, bytes: u32, cursor: &mut Cursor) -> Instant {
        let (mut number, mut left) = match cursor.current {
            Some((number, left)) if self.time(number) >= at => (number, left),
            _ => (self.first_from(at), self.bytes),
        };
        let mut need = bytes;
        while left < need {
            need -= left;
            left = self.bytes;
            number += 1;
        }
        cursor.current = Some((number, left - need));
        self.time(number)
    }

    fn time(&self, number: u64) -> Instant {
        let count = self.times.len() as u64;
        let cycle = self.period.as_nanos().saturating_mul(number / count);
        Instant::from_nanos(cycle) + self.times[(number % count) as usize]
    }

    /// The first opportunity that is not before `at`.
    fn first_from(&self, at: Instant) -> u64 {
        let (nanos, period) = (at.as_nanos(), self.period.as_nanos());
        // The end of a cycle is the begin of the next.
        let cycle = (nanos / period).saturating_sub(u64::from(nanos.is_multiple_of(period)));
        let within = Duration::from_nanos(nanos - cycle * period);
        let place = self.times.partition_point(|time| *time < within);
        cycle.saturating_mul(self.times.len() as u64).saturating_add(place as u64)
    }
}

#[cfg(test)]
mod tests;
