//! The server: agrees to measurements and takes part in them, several at a time.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Error, Result, anyhow, bail, ensure};
use polypath::Association;
use polypath_units::BitRate;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

use super::buffers::Buffers;
use super::control::{self, Accept, Control, Refusal};
use super::document::{Document, Interval, SideReport};
use super::ears::Ears;
use super::payload::Role;
use super::plan::{Extent, Plan, ServerOutput, Start};
use super::reporter::Reporter;
use super::session::{Session, harmless};
use super::tally::Tally;
use super::traffic::Traffic;
use super::{FAREWELL, clock, results, start};

/// Longest time that a client may take to say what it wants.
const PATIENCE: Duration = Duration::from_secs(10);
/// Most questions about the time.
const QUESTIONS: usize = 100;
/// Rates are limited over this time: nobody sends more at once than the limit allows in it.
const LIMIT_SPAN: Duration = Duration::from_secs(5);
/// How often rates are looked at. A sender without limit is stopped when it has used up its span, not after it.
const LIMIT_LOOK: Duration = Duration::from_millis(100);
/// Longest refusal or error that is told to a client.
const LONGEST_REASON: usize = 200;

/// What a server allows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Longest measurement.
    pub duration: Option<Duration>,
    /// Largest rate of a measurement, both directions together.
    pub bitrate: Option<BitRate>,
    /// Longest time without a sign of life.
    pub idle: Duration,
}

/// A measurement as the server sees it.
pub(crate) struct Visit {
    pub document: Document,
    plan: Option<Arc<Plan>>,
    session: Option<Session>,
    peer: Option<SideReport>,
}

impl Visit {
    pub fn new() -> Self {
        Self { document: start::document(), plan: None, session: None, peer: None }
    }

    /// Whether a measurement started.
    pub fn started(&self) -> bool {
        self.session.is_some()
    }

    /// Serves a client to the end of its measurement.
    pub async fn serve(
        &mut self,
        association: &Association,
        limits: &Limits,
        reporter: &mut Reporter,
    ) -> Result<()> {
        let mut ears = Ears::open(association);
        let Control::Propose(plan) = ears.hear_within(PATIENCE).await? else {
            bail!("the client broke the control protocol: it proposes nothing");
        };
        if let Err(error) = agree(&plan, association, limits) {
            let mut reason = format!("{error:#}");
            reason.truncate(
                (0..=LONGEST_REASON).rev().find(|end| reason.is_char_boundary(*end)).unwrap_or(0),
            );
            control::send(association, &Control::Refuse(Refusal { reason })).await?;
            // The client hangs up.
            let _ = timeout(FAREWELL, association.closed()).await;
            return Err(error.context("refused"));
        }
        let plan: Arc<Plan> = plan.into();
        let tally = Arc::new(Tally::new(&plan, Role::Server));
        ears.count(Arc::clone(&tally));
        let version = env!("CARGO_PKG_VERSION").to_owned();
        control::send(association, &Control::Accept(Accept { boot_id: clock::boot_id(), version }))
            .await?;
        let Start { clock } = wait_for_start(association, &mut ears).await?;
        start::fill(&mut self.document.start, association, &plan, clock);
        self.document.title = plan.title.as_deref().map(super::foreign::shown);
        if plan.server_output == ServerOutput::Wanted {
            reporter.keep();
        }
        reporter.start(&self.document);
        self.plan = Some(Arc::clone(&plan));
        let session = Session::start(
            association.clone(),
            Arc::clone(&plan),
            Role::Server,
            Arc::clone(&tally),
            clock,
        );
        let session = self.session.insert(session);
        let intervals = &mut self.document.intervals;
        let mut room = if reporter.tells_intervals_at_the_end() { MOST_REPORTS } else { 0 };
        let observe = |interval: Interval| {
            reporter.interval(&interval);
            let reports = interval.streams.len() + interval.paths.len();
            room = room.saturating_sub(reports);
            if room > 0 {
                intervals.push(interval);
            }
        };
        let guarded = async {
            tokio::select! {
                ended = session.run(&mut ears, limits.idle, observe) => ended,
                error = exceed(&tally, limits) => Err(error),
            }
        };
        guarded.await?;
        let report = SideReport { output: reporter.kept(), ..session.report() };
        control::send(association, &Control::Results(Box::new(report))).await?;
        let Control::Results(report) = ears.hear_within(limits.idle).await? else {
            bail!("the client broke the control protocol: it tells no results");
        };
        self.peer = Some(*report);
        if timeout(FAREWELL, association.closed()).await.is_err() {
            association.abort("the shutdown takes too long");
        }
        Ok(())
    }

    /// What came out; `error` is what ended it early.
    pub fn conclude(mut self, error: Option<&Error>) -> Document {
        if let (Some(plan), Some(session)) = (&self.plan, &self.session) {
            self.document.end =
                results::end(plan, Role::Server, session.report(), self.peer.map(harmless));
        }
        self.document.complete = error.is_none();
        self.document.error = error.map(|error| format!("{error:#}"));
        self.document
    }
}

/// Most reports of flows and paths, in intervals, that a server keeps of a measurement.
const MOST_REPORTS: usize = 100_000;
/// A measurement may last so much longer than the limit that its plan keeps: its last data are under way, and results.
const GRACE: Duration = Duration::from_secs(10);

async fn wait_for_start(association: &Association, ears: &mut Ears) -> Result<Start> {
    for _ in 0..QUESTIONS {
        match ears.hear_within(PATIENCE).await? {
            Control::Ask(question) => {
                control::send(association, &Control::Answer(question, clock::now_us())).await?;
            }
            Control::Start(start) => return Ok(start),
            _ => bail!("the client broke the control protocol: it does not start"),
        }
    }
    bail!("the client asks for the time without end");
}

/// Whether this can be done here.
fn agree(plan: &Plan, association: &Association, limits: &Limits) -> Result<()> {
    plan.check()?;
    Buffers::present(association).check(plan, Role::Server)?;
    let streams = association.streams().map_or(0, |streams| streams.outbound.min(streams.inbound));
    ensure!(
        plan.flows.len() < usize::from(streams),
        "{} flows need more streams than {streams}",
        plan.flows.len()
    );
    if let (Some(longest), Extent::Seconds(seconds)) = (limits.duration, plan.extent) {
        let seconds = seconds + plan.omit_s;
        ensure!(
            seconds <= longest.as_secs_f64(),
            "{seconds} s are more than this server's limit, {} s",
            longest.as_secs_f64()
        );
    }
    if let Some(limit) = limits.bitrate {
        let sides = plan.flows.iter().flat_map(|flow| flow.to_server.iter().chain(&flow.to_client));
        let wanted: f64 = sides.filter_map(Traffic::mean_bit_s).sum();
        ensure!(
            wanted <= limit.as_bits_per_second() as f64,
            "{wanted:.0} bit/s are more than this server's limit, {limit}"
        );
    }
    Ok(())
}

/// Waits until a measurement is more than the server allows.
async fn exceed(tally: &Tally, limits: &Limits) -> Error {
    let begin = Instant::now();
    let (mut bytes, mut looked) = (0, begin);
    let mut excess = Excess::default();
    let mut ticks = interval(LIMIT_LOOK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks.tick().await;
    loop {
        let longest = limits.duration.unwrap_or(Duration::MAX);
        let left = longest.saturating_add(GRACE).saturating_sub(begin.elapsed());
        if timeout(left, ticks.tick()).await.is_err() {
            return anyhow!(
                "it takes longer than this server's limit, {} s",
                longest.as_secs_f64()
            );
        }
        let now = {
            let counts = tally.lock();
            counts.sent.iter().map(|count| count.bytes).sum::<u64>()
                + counts.received.iter().map(|count| count.bytes).sum::<u64>()
        };
        let span = looked.elapsed();
        if let Some(limit) = limits.bitrate
            && excess.add(now - bytes, span, limit)
        {
            let rate = now as f64 * 8.0 / begin.elapsed().as_secs_f64();
            return anyhow!("{rate:.0} bit/s are more than this server's limit, {limit}");
        }
        (bytes, looked) = (now, looked + span);
    }
}

/// Bits beyond what a limit allowed. A rate that equals the limit comes a little unevenly, and what an outage held up
/// comes at once.
#[derive(Debug, Default)]
struct Excess(f64);

impl Excess {
    /// Adds what came in `span`; gives whether it is more now than the limit allows in [`LIMIT_SPAN`].
    fn add(&mut self, bytes: u64, span: Duration, limit: BitRate) -> bool {
        let limit = limit.as_bits_per_second() as f64;
        self.0 = (self.0 + bytes as f64 * 8.0 - limit * span.as_secs_f64()).max(0.0);
        self.0 > limit * LIMIT_SPAN.as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::plan::tests::plan;

    #[tokio::test(start_paused = true)]
    async fn whoever_sends_all_it_can_is_stopped_when_its_share_is_used_up() {
        let limit = BitRate::from_bits_per_second(8_000_000);
        let limits = Limits { duration: None, bitrate: Some(limit), idle: Duration::MAX };
        let tally = Tally::new(&plan(1), Role::Server);
        // Five megabytes are what five seconds allow.
        (0..500).for_each(|_| tally.sent(0, 10_000, 0));
        let mut exceeded = std::pin::pin!(exceed(&tally, &limits));
        assert!(timeout(Duration::from_secs(3), &mut exceeded).await.is_err());
        (0..500).for_each(|_| tally.sent(0, 10_000, 0));
        let begin = Instant::now();
        let error = exceeded.await.to_string();
        assert!(error.contains("more than this server's limit, 8 Mbit/s"), "{error}");
        assert!(begin.elapsed() <= 2 * LIMIT_LOOK, "in the time of the test");
    }

    #[test]
    fn what_exceeds_a_rate_is_told_from_what_comes_unevenly() {
        let limit = BitRate::from_bits_per_second(8_000_000);
        let told = |megabytes: &[u64]| {
            let mut excess = Excess::default();
            megabytes.iter().position(|bytes| excess.add(bytes * 1_000_000, LIMIT_SPAN, limit))
        };
        assert_eq!(told(&[5; 100]), None);
        assert_eq!(told(&[6, 4, 6, 4, 0, 10, 0, 10, 5]), None);
        assert_eq!(told(&[11]), Some(0));
        assert_eq!(told(&[0, 0, 0, 6, 6, 6, 6, 6, 6]), Some(8));
    }
}
