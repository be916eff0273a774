//! The server: agrees to measurements and takes part in them, several at a time.

use std::sync::Arc;
use std::time::Duration;

use polypath::text::with_causes;
use polypath::{Association, ConnectError, Endpoint};
use polypath_units::BitRate;
use tokio::time::timeout;

use crate::buffers::Buffers;
use crate::channel::{self, ControlChannel};
use crate::clock::{self, ClockRelation};
use crate::config::{IDLE_TIMEOUT, SHUTDOWN_LIMIT};
use crate::control::{Accept, Control, Refused};
use crate::document::{Document, Interval, SideReport};
use crate::ensure::ensure;
use crate::error::{Refusal, ServerError, SessionError};
use crate::event::{Event, Observer};
use crate::labels::Labels;
use crate::limits::{Limits, exceed};
use crate::payload::Role;
use crate::proposal::Proposal;
use crate::session::Session;
use crate::tally::Tally;
use crate::text::shown;
use crate::{results, start};

/// Longest time that a client may take to say what it wants.
const PATIENCE: Duration = Duration::from_secs(10);
/// Most questions about the time.
const QUESTIONS: usize = 100;
/// Longest refusal or error that is sent to a client.
const LONGEST_REASON: usize = 200;
/// Most reports of flows and paths, in intervals, that a server keeps of a measurement.
const MOST_REPORTS: usize = 100_000;

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

impl Default for Server {
    fn default() -> Self {
        let limits = Limits { duration: None, bitrate: None, idle: IDLE_TIMEOUT };
        Self { limits, labels: Labels::new(), room: MOST_REPORTS }
    }
}

impl Server {
    /// A server without limits, except that it aborts the association of a client that makes no progress for 60 s.
    pub fn new() -> Self {
        Self::default()
    }

    /// The longest measurement. Longer ones are refused, or stopped. Default: no limit.
    #[must_use]
    pub fn max_duration(mut self, limit: impl Into<Option<Duration>>) -> Self {
        self.limits.duration = limit.into();
        self
    }

    /// The highest rate of a measurement, both directions together. Higher ones are refused, or stopped. Default: no limit.
    #[must_use]
    pub fn max_rate(mut self, limit: impl Into<Option<BitRate>>) -> Self {
        self.limits.bitrate = limit.into();
        self
    }

    /// Longest time without any progress, beside the pauses that are planned, before the association is aborted. Default: 60 s.
    #[must_use]
    pub fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.limits.idle = timeout;
        self
    }

    /// Texts for the documents.
    #[must_use]
    pub fn labels(mut self, labels: Labels) -> Self {
        self.labels = labels;
        self
    }

    /// Whether documents have intervals, up to 100,000 reports of flows and paths each; observers receive them in any case.
    /// Default: yes.
    #[must_use]
    pub fn keep_intervals(mut self, keep: bool) -> Self {
        self.room = if keep { MOST_REPORTS } else { 0 };
        self
    }

    /// The next client that connects to an endpoint. Dropping the future loses no client.
    ///
    /// # Errors
    ///
    /// The endpoint does not listen, or no longer.
    pub async fn accept(&self, endpoint: &Endpoint) -> Result<ServerSession, ConnectError> {
        Ok(self.session(endpoint.accept().await?))
    }

    /// A session with the client at the other end of an established association.
    pub fn session(&self, association: Association) -> ServerSession {
        ServerSession {
            association,
            limits: self.limits,
            room: self.room,
            document: start::document(&self.labels),
            proposal: None,
            session: None,
            peer: None,
        }
    }

    /// Measures with all clients that connect to an endpoint, each in a task of its own, as [`Endpoint::serve`] does, and calls
    /// `ended` with the document of each measurement that started. A failure of one does not concern the others.
    pub async fn serve(&self, endpoint: &Endpoint, mut ended: impl FnMut(Document)) {
        let measure = |association| {
            let mut session = self.session(association);
            async move {
                // The document has the error.
                let _ = session.run(&mut ()).await;
                session.started().then(|| session.into_document())
            }
        };
        let ended = |document: Option<Document>| document.into_iter().for_each(&mut ended);
        endpoint.serve(measure, ended).await;
    }
}

/// The session of a server with one client, and the measurement as the server sees it.
#[derive(Debug)]
pub struct ServerSession {
    association: Association,
    limits: Limits,
    room: usize,
    document: Document,
    proposal: Option<Arc<Proposal>>,
    session: Option<Session>,
    peer: Option<SideReport>,
}

impl ServerSession {
    /// The association.
    pub fn association(&self) -> &Association {
        &self.association
    }

    /// Whether a measurement started.
    pub fn started(&self) -> bool {
        self.session.is_some()
    }

    /// The document; incomplete if the measurement was not completed.
    pub fn into_document(mut self) -> Document {
        if let (Some(proposal), Some(session)) = (&self.proposal, &self.session) {
            let peer = self.peer.map(SideReport::printable);
            self.document.end = results::end(proposal, Role::Server, session.report(), peer);
        }
        self.document
    }

    /// Serves the client to the end of its measurement. `observer` receives each [`Event`]; `&mut ()` ignores them.
    ///
    /// If the future is dropped, [`abort`](Self::abort) must follow. What was measured until then stays.
    ///
    /// # Errors
    ///
    /// The measurement was refused or stopped, the client broke the protocol or was idle for too long, or the association failed.
    /// The association is aborted.
    pub async fn run(&mut self, observer: &mut impl Observer) -> Result<(), ServerError> {
        let served = self.serve(observer).await;
        match &served {
            Ok(()) => self.document.complete = true,
            Err(error) => self.abort(with_causes(error)),
        }
        served
    }

    /// Aborts the association. `reason` is sent to the client and is the error of the document.
    pub fn abort(&mut self, reason: impl Into<String>) {
        let reason = reason.into();
        self.association.abort(reason.clone());
        self.document.error = Some(reason);
    }

    async fn serve(&mut self, observer: &mut impl Observer) -> Result<(), ServerError> {
        let association = self.association.clone();
        let mut channel = ControlChannel::open(&association);
        let proposal = self.agree(&mut channel).await?;
        let tally = Arc::new(Tally::new(&proposal, Role::Server));
        channel.count(Arc::clone(&tally));
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let accept = Accept { boot_id: clock::boot_id(), version };
        channel::send(&association, &Control::Accept(accept)).await?;
        let clock = wait_for_start(&association, &mut channel).await?;
        start::fill(&mut self.document.start, &association, &proposal, clock);
        self.document.title = proposal.title.as_deref().map(shown);
        let wants_output = proposal.server_output;
        observer.event(Event::Started { document: &self.document, wants_output });
        self.measure(&mut channel, proposal, tally, clock, observer).await?;
        if timeout(SHUTDOWN_LIMIT, association.closed()).await.is_err() {
            association.abort("the shutdown takes too long");
        }
        Ok(())
    }

    /// What the client proposes, if it can be done here.
    async fn agree(&self, channel: &mut ControlChannel) -> Result<Arc<Proposal>, ServerError> {
        let Control::Propose(proposal) = channel.receive_within(PATIENCE).await? else {
            return Err(out_of_turn("it proposes nothing").into());
        };
        if let Err(refusal) = check(&proposal, &self.association, &self.limits) {
            let mut reason = with_causes(&refusal);
            reason.truncate(reason.floor_char_boundary(LONGEST_REASON));
            channel::send(&self.association, &Control::Refuse(Refused { reason })).await?;
            // The client hangs up.
            let _ = timeout(SHUTDOWN_LIMIT, self.association.closed()).await;
            return Err(ServerError::Refused(refusal));
        }
        Ok(proposal.into())
    }

    /// Takes part, and exchanges results.
    async fn measure(
        &mut self,
        channel: &mut ControlChannel,
        proposal: Arc<Proposal>,
        tally: Arc<Tally>,
        clock: ClockRelation,
        observer: &mut impl Observer,
    ) -> Result<(), ServerError> {
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
            ended = session.run(channel, limits.idle, observe) => ended?,
            excess = exceed(&tally, limits) => return Err(excess.into()),
        }
        let report = SideReport { output: observer.output(), ..session.report() };
        channel::send(association, &Control::Results(Box::new(report))).await?;
        let Control::Results(report) = channel.receive_within(limits.idle).await? else {
            return Err(out_of_turn("it tells no results").into());
        };
        self.peer = Some(*report);
        Ok(())
    }
}

fn out_of_turn(what: &'static str) -> SessionError {
    SessionError::OutOfTurn { who: "client", what }
}

async fn wait_for_start(
    association: &Association,
    channel: &mut ControlChannel,
) -> Result<ClockRelation, SessionError> {
    for _ in 0..QUESTIONS {
        match channel.receive_within(PATIENCE).await? {
            Control::Ask(question) => {
                channel::send(association, &Control::Answer(question, clock::now_us())).await?;
            }
            Control::Start(clock) => return Ok(clock),
            _ => return Err(out_of_turn("it does not start")),
        }
    }
    Err(SessionError::TooManyTimeRequests)
}

/// Whether this can be done here.
fn check(plan: &Proposal, association: &Association, limits: &Limits) -> Result<(), Refusal> {
    plan.check()?;
    Buffers::present(association).check(plan, Role::Server)?;
    let streams = association.streams().map_or(0, |streams| streams.outbound.min(streams.inbound));
    let flows = plan.flows.len();
    ensure(flows < usize::from(streams), Refusal::TooFewStreams { flows, streams })?;
    limits.check(plan)?;
    Ok(())
}
