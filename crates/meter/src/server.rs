//! The server: agrees to measurements and takes part in them, several at a time.

use std::sync::Arc;
use std::time::Duration;

use polypath::{Association, ConnectError, Endpoint};
use polypath_units::BitRate;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

use crate::buffers::Buffers;
use crate::control::{self, Accept, Control, Refused};
use crate::document::{Document, Interval, SideReport};
use crate::ears::Ears;
use crate::error::{Excess, Refusal, SessionError, VisitError, chain, ensure};
use crate::event::{Event, Observer};
use crate::foreign::shown;
use crate::labels::Labels;
use crate::payload::Role;
use crate::proposal::{Extent, Proposal, Start};
use crate::session::{Session, harmless};
use crate::tally::Tally;
use crate::traffic::Traffic;
use crate::{FAREWELL, IDLE, clock, results, start};

/// Longest time that a client may take to say what it wants.
const PATIENCE: Duration = Duration::from_secs(10);
/// Most questions about the time.
const QUESTIONS: usize = 100;
/// Rates are limited over this time: nobody sends more at once than the limit allows in it.
const LIMIT_SPAN: Duration = Duration::from_secs(5);
/// How often rates are looked at. A sender without limit is stopped when it has used up its span, not after it.
const LIMIT_LOOK: Duration = Duration::from_millis(100);
/// Longest refusal or error that is sent to a client.
const LONGEST_REASON: usize = 200;
/// Most reports of flows and paths, in intervals, that a server keeps of a measurement.
const MOST_REPORTS: usize = 100_000;
/// A measurement may last so much longer than the limit that its plan keeps: its last data are under way, and results.
const GRACE: Duration = Duration::from_secs(10);

/// Measures with the clients that connect to an endpoint, several at a time.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use polypath::{Endpoint, EndpointConfig, Preset};
/// use polypath_meter::{PORT, Server, association_config};
///
/// let association = association_config(Preset::Recommended);
/// let endpoint = Endpoint::builder(["192.0.2.1".parse()?])
///     .port(PORT)
///     .listen(16)
///     .config(EndpointConfig { association, ..EndpointConfig::default() })
///     .bind()?;
/// Server::new().serve(&endpoint, |document| println!("{:?}", document.end.sum_received)).await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Server {
    limits: Limits,
    labels: Labels,
    /// Reports of flows and paths that documents may have in their intervals.
    room: usize,
}

/// What a server allows.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// Longest measurement.
    duration: Option<Duration>,
    /// Largest rate of a measurement, both directions together.
    bitrate: Option<BitRate>,
    /// Longest time without a sign of life.
    idle: Duration,
}

/// Whether the documents of a server have intervals.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Intervals {
    /// They do, up to 100,000 reports of flows and paths.
    #[default]
    Kept,
    /// They do not: only observers hear of them.
    Dropped,
}

impl Default for Server {
    fn default() -> Self {
        let limits = Limits { duration: None, bitrate: None, idle: IDLE };
        Self { limits, labels: Labels::new(), room: MOST_REPORTS }
    }
}

impl Server {
    /// A server without limits, except that it gives up a client that shows no sign of life for 60 s.
    pub fn new() -> Self {
        Self::default()
    }

    /// The longest measurement. Longer ones are refused, or stopped.
    #[must_use]
    pub fn longest(mut self, limit: impl Into<Option<Duration>>) -> Self {
        self.limits.duration = limit.into();
        self
    }

    /// The largest rate of a measurement, both directions together. Larger ones are refused, or stopped.
    #[must_use]
    pub fn largest_rate(mut self, limit: impl Into<Option<BitRate>>) -> Self {
        self.limits.bitrate = limit.into();
        self
    }

    /// Gives a client up after so long without a sign of life, beside the pauses that are planned.
    #[must_use]
    pub fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.limits.idle = timeout;
        self
    }

    /// What documents say besides results.
    #[must_use]
    pub fn labels(mut self, labels: Labels) -> Self {
        self.labels = labels;
        self
    }

    /// Whether documents have intervals.
    #[must_use]
    pub fn intervals(mut self, intervals: Intervals) -> Self {
        self.room = if intervals == Intervals::Kept { MOST_REPORTS } else { 0 };
        self
    }

    /// The next client that connects to an endpoint. Dropping the future loses no client.
    ///
    /// # Errors
    ///
    /// The endpoint does not listen, or no longer.
    pub async fn accept(&self, endpoint: &Endpoint) -> Result<Visit, ConnectError> {
        Ok(self.visit(endpoint.accept().await?))
    }

    /// A visit of the client at the other end of an association.
    pub fn visit(&self, association: Association) -> Visit {
        Visit {
            association,
            limits: self.limits,
            room: self.room,
            document: start::document(&self.labels),
            proposal: None,
            session: None,
            peer: None,
        }
    }

    /// Measures with all clients that connect to an endpoint, each in a task of its own, and calls `ended` with the document of
    /// each measurement that started. What goes wrong with one does not concern the others. Ends when the endpoint stops to listen
    /// and the last client is gone.
    pub async fn serve(&self, endpoint: &Endpoint, mut ended: impl FnMut(Document)) {
        let mut visits = JoinSet::new();
        let mut listens = true;
        while listens || !visits.is_empty() {
            tokio::select! {
                accepted = self.accept(endpoint), if listens => match accepted {
                    Ok(mut visit) => {
                        visits.spawn(async move {
                            // The document has the error.
                            let _ = visit.run(&mut ()).await;
                            visit.started().then(|| visit.into_document())
                        });
                    }
                    Err(_) => listens = false,
                },
                Some(done) = visits.join_next() => {
                    if let Ok(Some(document)) = done {
                        ended(document);
                    }
                }
            }
        }
    }
}

/// A client at a server, and the measurement as the server sees it.
#[derive(Debug)]
pub struct Visit {
    association: Association,
    limits: Limits,
    room: usize,
    document: Document,
    proposal: Option<Arc<Proposal>>,
    session: Option<Session>,
    peer: Option<SideReport>,
}

impl Visit {
    /// The association.
    pub fn association(&self) -> &Association {
        &self.association
    }

    /// Whether a measurement started.
    pub fn started(&self) -> bool {
        self.session.is_some()
    }

    /// The results, as far as it came.
    pub fn into_document(mut self) -> Document {
        if let (Some(proposal), Some(session)) = (&self.proposal, &self.session) {
            let peer = self.peer.map(harmless);
            self.document.end = results::end(proposal, Role::Server, session.report(), peer);
        }
        self.document
    }

    /// Serves the client to the end of its measurement. `observer` receives each [`Event`]; `&mut ()` ignores them.
    ///
    /// If the future is dropped, [`give_up`](Self::give_up) must follow. What was measured until then stays.
    ///
    /// # Errors
    ///
    /// The measurement was refused or stopped, or the client or the association failed. The association is aborted.
    pub async fn run(&mut self, observer: &mut impl Observer) -> Result<(), VisitError> {
        let served = self.serve(observer).await;
        match &served {
            Ok(()) => self.document.complete = true,
            Err(error) => self.give_up(chain(error)),
        }
        served
    }

    /// Aborts the association. `reason` is sent to the client and stands in the document.
    pub fn give_up(&mut self, reason: impl Into<String>) {
        let reason = reason.into();
        self.association.abort(reason.clone());
        self.document.error = Some(reason);
    }

    async fn serve(&mut self, observer: &mut impl Observer) -> Result<(), VisitError> {
        let association = self.association.clone();
        let mut ears = Ears::open(&association);
        let proposal = self.agree(&mut ears).await?;
        let tally = Arc::new(Tally::new(&proposal, Role::Server));
        ears.count(Arc::clone(&tally));
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let accept = Accept { boot_id: clock::boot_id(), version };
        control::send(&association, &Control::Accept(accept)).await?;
        let Start { clock } = wait_for_start(&association, &mut ears).await?;
        start::fill(&mut self.document.start, &association, &proposal, clock);
        self.document.title = proposal.title.as_deref().map(shown);
        observer.event(Event::Started { document: &self.document, output: proposal.server_output });
        self.measure(&mut ears, proposal, tally, clock, observer).await?;
        if timeout(FAREWELL, association.closed()).await.is_err() {
            association.abort("the shutdown takes too long");
        }
        Ok(())
    }

    /// What the client proposes, if it can be done here.
    async fn agree(&self, ears: &mut Ears) -> Result<Arc<Proposal>, VisitError> {
        let Control::Propose(proposal) = ears.hear_within(PATIENCE).await? else {
            return Err(out_of_turn("it proposes nothing").into());
        };
        if let Err(refusal) = check(&proposal, &self.association, &self.limits) {
            let mut reason = chain(&refusal);
            reason.truncate(
                (0..=LONGEST_REASON).rev().find(|end| reason.is_char_boundary(*end)).unwrap_or(0),
            );
            control::send(&self.association, &Control::Refuse(Refused { reason })).await?;
            // The client hangs up.
            let _ = timeout(FAREWELL, self.association.closed()).await;
            return Err(VisitError::Refused(refusal));
        }
        Ok(proposal.into())
    }

    /// Takes part, and exchanges results.
    async fn measure(
        &mut self,
        ears: &mut Ears,
        proposal: Arc<Proposal>,
        tally: Arc<Tally>,
        clock: clock::ClockRelation,
        observer: &mut impl Observer,
    ) -> Result<(), VisitError> {
        self.proposal = Some(Arc::clone(&proposal));
        let (association, limits) = (&self.association, &self.limits);
        let session =
            Session::start(association.clone(), proposal, Role::Server, Arc::clone(&tally), clock);
        let session = self.session.insert(session);
        let (intervals, room) = (&mut self.document.intervals, &mut self.room);
        let observe = |interval: Interval| {
            observer.event(Event::Interval(&interval));
            *room = room.saturating_sub(interval.streams.len() + interval.paths.len());
            if *room > 0 {
                intervals.push(interval);
            }
        };
        tokio::select! {
            ended = session.run(ears, limits.idle, observe) => ended?,
            excess = exceed(&tally, limits) => return Err(excess.into()),
        }
        let report = SideReport { output: observer.output(), ..session.report() };
        control::send(association, &Control::Results(Box::new(report))).await?;
        let Control::Results(report) = ears.hear_within(limits.idle).await? else {
            return Err(out_of_turn("it tells no results").into());
        };
        self.peer = Some(*report);
        Ok(())
    }
}

fn out_of_turn(what: &'static str) -> SessionError {
    SessionError::OutOfTurn { who: "client", what }
}

async fn wait_for_start(association: &Association, ears: &mut Ears) -> Result<Start, SessionError> {
    for _ in 0..QUESTIONS {
        match ears.hear_within(PATIENCE).await? {
            Control::Ask(question) => {
                control::send(association, &Control::Answer(question, clock::now_us())).await?;
            }
            Control::Start(start) => return Ok(start),
            _ => return Err(out_of_turn("it does not start")),
        }
    }
    Err(SessionError::EndlessQuestions)
}

/// Whether this can be done here.
fn check(plan: &Proposal, association: &Association, limits: &Limits) -> Result<(), Refusal> {
    plan.check()?;
    Buffers::present(association).check(plan, Role::Server)?;
    let streams = association.streams().map_or(0, |streams| streams.outbound.min(streams.inbound));
    let flows = plan.flows.len();
    ensure(flows < usize::from(streams), Refusal::TooFewStreams { flows, streams })?;
    if let (Some(longest), Extent::Seconds(seconds)) = (limits.duration, plan.extent) {
        let seconds = seconds + plan.omit_s;
        let excess = Excess::Planned { seconds, limit: longest };
        ensure(seconds <= longest.as_secs_f64(), excess)?;
    }
    if let Some(limit) = limits.bitrate {
        let sides = plan.flows.iter().flat_map(|flow| flow.to_server.iter().chain(&flow.to_client));
        let wanted: f64 = sides.filter_map(Traffic::mean_bit_s).sum();
        let excess = Excess::Rate { bit_s: wanted, limit };
        ensure(wanted <= limit.as_bits_per_second() as f64, excess)?;
    }
    Ok(())
}

/// Waits until a measurement is more than the server allows.
async fn exceed(tally: &Tally, limits: &Limits) -> Excess {
    let begin = Instant::now();
    let (mut bytes, mut looked) = (0, begin);
    let mut surplus = Surplus::default();
    let mut ticks = interval(LIMIT_LOOK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks.tick().await;
    loop {
        let longest = limits.duration.unwrap_or(Duration::MAX);
        let left = longest.saturating_add(GRACE).saturating_sub(begin.elapsed());
        if timeout(left, ticks.tick()).await.is_err() {
            return Excess::Duration(longest);
        }
        let sent: u64 = tally.sent_counts().iter().map(|count| count.bytes).sum();
        let received: u64 = tally.lock().received.iter().map(|count| count.bytes).sum();
        let now = sent + received;
        let span = looked.elapsed();
        if let Some(limit) = limits.bitrate
            && surplus.add(now - bytes, span, limit)
        {
            let rate = now as f64 * 8.0 / begin.elapsed().as_secs_f64();
            return Excess::Rate { bit_s: rate, limit };
        }
        (bytes, looked) = (now, looked + span);
    }
}

/// Bits beyond what a limit allowed. A rate that equals the limit comes a little unevenly, and what an outage held up
/// comes at once.
#[derive(Debug, Default)]
struct Surplus(f64);

impl Surplus {
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
    use crate::proposal::tests::proposal;

    #[tokio::test(start_paused = true)]
    async fn whoever_sends_all_it_can_is_stopped_when_its_share_is_used_up() {
        let limit = BitRate::from_bits_per_second(8_000_000);
        let limits = Limits { duration: None, bitrate: Some(limit), idle: Duration::MAX };
        let tally = Tally::new(&proposal(1), Role::Server);
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
            let mut surplus = Surplus::default();
            megabytes.iter().position(|bytes| surplus.add(bytes * 1_000_000, LIMIT_SPAN, limit))
        };
        assert_eq!(told(&[5; 100]), None);
        assert_eq!(told(&[6, 4, 6, 4, 0, 10, 0, 10, 5]), None);
        assert_eq!(told(&[11]), Some(0));
        assert_eq!(told(&[0, 0, 0, 6, 6, 6, 6, 6, 6]), Some(8));
    }
}
