//! The client: proposes a measurement, takes part in it, and has its results.

use std::sync::Arc;
use std::time::Duration;

use polypath::text::with_causes;
use polypath::{Association, AssociationConfig, ConnectError, Endpoint, Peer};

use crate::buffers::Buffers;
use crate::channel::{self, ControlChannel, within};
use crate::clock::{self, ClockRelation, ClockSource, Sample};
use crate::config::{IDLE_TIMEOUT, SHUTDOWN_LIMIT};
use crate::control::{Accept, Control};
use crate::document::{Document, Interval, SideReport};
use crate::error::{AgreementError, ClientError, SessionError};
use crate::event::{Event, Observer};
use crate::labels::Labels;
use crate::payload::Role;
use crate::plan::{LIKELY_PACKET, Plan};
use crate::proposal::Proposal;
use crate::session::Session;
use crate::tally::Tally;
use crate::text::shown;
use crate::{results, start};

/// How often the server is asked for its time.
const QUESTIONS: usize = 8;
/// Longest time that the server may think about a proposal.
const THINKING: Duration = Duration::from_secs(10);

/// How the offset between the clocks of both ends is determined, which one-way delays are measured with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Clocks {
    /// It is estimated from round trips as in NTP (RFC 5905 section 8), unless both ends run on one machine.
    #[default]
    Estimated,
    /// Taken to be zero: both clocks are synchronised.
    Synchronized,
}

/// Measures with a server over an association that carries nothing else.
///
/// ```no_run
/// # async fn example(endpoint: polypath::Endpoint, peer: polypath::Peer) -> Result<(), Box<dyn std::error::Error>> {
/// use polypath::Preset;
/// use polypath_meter::{Client, Event, Plan, association_config};
///
/// let config = association_config(Preset::Recommended);
/// let mut client = Client::connect(&endpoint, &peer, config, Plan::new()).await?;
/// let mut show = |event: Event<'_>| {
///     if let Event::Interval(interval) = event {
///         println!("{:.0} bit/s", interval.sum.bits_per_second);
///     }
/// };
/// client.run(&mut show).await?;
/// println!("{:?}", client.into_document().end.sum_received);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Client {
    association: Association,
    plan: Plan,
    idle: Duration,
    clocks: Clocks,
    record: Record,
}

/// A measurement as far as it has come; what there is survives an interruption.
#[derive(Debug)]
struct Record {
    document: Document,
    proposal: Option<Arc<Proposal>>,
    session: Option<Session>,
    peer: Option<SideReport>,
}

impl Client {
    /// Connects to a server. [`association_config`](crate::association_config) has settings that suit a measurement.
    ///
    /// # Errors
    ///
    /// There is no association, for the reasons of [`Endpoint::connect`].
    pub async fn connect(
        endpoint: &Endpoint,
        peer: &Peer,
        config: AssociationConfig,
        plan: Plan,
    ) -> Result<Self, ConnectError> {
        Ok(Self::new(endpoint.connect(peer, config).await?, plan))
    }

    /// A client over an established association with a server, which carries nothing else.
    pub fn new(association: Association, plan: Plan) -> Self {
        let document = Document {
            title: plan.shown_title().map(str::to_owned),
            ..start::document(&Labels::new())
        };
        let record = Record { document, proposal: None, session: None, peer: None };
        Self { association, plan, idle: IDLE_TIMEOUT, clocks: Clocks::default(), record }
    }

    /// Longest time without any progress, beside the pauses that are planned, before the association is aborted. Default: 60 s.
    #[must_use]
    pub fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.idle = timeout;
        self
    }

    /// How the offset between the clocks is determined. Default: it is estimated.
    #[must_use]
    pub fn clocks(mut self, clocks: Clocks) -> Self {
        self.clocks = clocks;
        self
    }

    /// Texts for the document.
    #[must_use]
    pub fn labels(mut self, labels: &Labels) -> Self {
        let title = self.plan.shown_title().map(str::to_owned);
        self.record.document = Document { title, ..start::document(labels) };
        self
    }

    /// The association.
    pub fn association(&self) -> &Association {
        &self.association
    }

    /// Whether the measurement was completed, and both ends have the results.
    pub fn is_complete(&self) -> bool {
        self.record.document.complete
    }

    /// The document; incomplete if the measurement was not completed.
    pub fn into_document(self) -> Document {
        let Record { mut document, proposal, session, peer } = self.record;
        if let (Some(proposal), Some(session)) = (&proposal, &session) {
            let peer = peer.map(SideReport::printable);
            document.server_output_text = peer.as_ref().and_then(|peer| peer.output.clone());
            document.end = results::end(proposal, Role::Client, session.report(), peer);
        }
        document
    }

    /// Measures, and ends the association. `observer` receives each [`Event`]; `&mut ()` ignores them.
    ///
    /// If the future is dropped, [`abort`](Self::abort) must follow. What was measured until then stays.
    ///
    /// # Errors
    ///
    /// The plan does not fit the association, the server does not agree, breaks the protocol or is idle for too long, or the
    /// association failed. The association is aborted.
    pub async fn run(&mut self, observer: &mut impl Observer) -> Result<(), ClientError> {
        match self.talk(observer).await {
            Ok(()) => {
                self.record.document.complete = true;
                // Both ends have all results, however the association ends.
                let _ = self.association.shutdown_within(SHUTDOWN_LIMIT).await;
                Ok(())
            }
            Err(error) => {
                self.abort(with_causes(&error));
                Err(error)
            }
        }
    }

    /// Aborts the association. `reason` is sent to the server and is the error of the document. A measurement that is complete
    /// stays so.
    pub fn abort(&mut self, reason: impl Into<String>) {
        let reason = reason.into();
        self.association.abort(format!("the client gives up: {reason}"));
        if !self.is_complete() {
            self.record.document.error = Some(reason);
        }
    }

    async fn talk(&mut self, observer: &mut impl Observer) -> Result<(), ClientError> {
        let association = &self.association;
        let proposal = Arc::new(settle(&self.plan, association)?);
        let mut channel = ControlChannel::open(association);
        let accept = propose(association, &proposal, &mut channel).await?;
        let clock = if self.clocks == Clocks::Synchronized {
            ClockRelation::equal(ClockSource::Synchronized)
        } else if accept.boot_id.is_some() && accept.boot_id == clock::boot_id() {
            ClockRelation::equal(ClockSource::Shared)
        } else {
            within(self.idle, compare_clocks(association, &mut channel)).await?
        };
        let record = &mut self.record;
        start::fill(&mut record.document.start, association, &proposal, clock);
        observer.event(Event::Started { document: &record.document, wants_output: false });
        let tally = Arc::new(Tally::new(&proposal, Role::Client));
        channel.count(Arc::clone(&tally));
        channel::send(association, &Control::Start(clock)).await?;
        record.proposal = Some(Arc::clone(&proposal));
        let session = Session::start(association.clone(), proposal, Role::Client, tally, clock);
        let session = record.session.insert(session);
        let intervals = &mut record.document.intervals;
        let observe = |interval: Interval| {
            observer.event(Event::Interval(&interval));
            intervals.push(interval);
        };
        session.run(&mut channel, self.idle, observe).await?;
        channel::send(association, &Control::Results(Box::new(session.report()))).await?;
        match channel.receive_within(self.idle).await? {
            Control::Results(report) => record.peer = Some(*report),
            _ => return Err(out_of_turn("it tells no results").into()),
        }
        Ok(())
    }
}

/// What is proposed over this association.
fn settle(plan: &Plan, association: &Association) -> Result<Proposal, ClientError> {
    let paths = association.path_stats();
    let packet = paths.iter().map(|path| path.full_fragment_bytes as usize).min();
    let packet = packet.unwrap_or(LIKELY_PACKET);
    // Of the server's buffers only the one that receives is known; the other one mostly has the same size. Otherwise the
    // server refuses what it cannot send.
    let peer = association.stats().peer_window_bytes;
    let buffer = Buffers::present(association).least().min(peer);
    Ok(plan.settle(packet, buffer, getrandom::u64()?, getrandom::u64()?)?)
}

async fn propose(
    association: &Association,
    proposal: &Proposal,
    channel: &mut ControlChannel,
) -> Result<Accept, AgreementError> {
    let proposal = Control::Propose(Box::new(proposal.clone()));
    within(THINKING, channel::send(association, &proposal)).await?;
    match channel.receive_within(THINKING).await.map_err(AgreementError::NoAnswer)? {
        Control::Accept(accept) => Ok(accept),
        Control::Refuse(refused) => Err(AgreementError::Refused(shown(&refused.reason))),
        _ => Err(out_of_turn("it neither agrees nor refuses").into()),
    }
}

async fn compare_clocks(
    association: &Association,
    channel: &mut ControlChannel,
) -> Result<ClockRelation, SessionError> {
    let mut samples = Vec::with_capacity(QUESTIONS);
    for _ in 0..QUESTIONS {
        let asked = clock::now_us();
        channel::send(association, &Control::Ask(asked)).await?;
        match channel.receive().await? {
            Control::Answer(question, answered) if question == asked => {
                samples.push(Sample { asked, answered, heard: clock::now_us() });
            }
            _ => return Err(out_of_turn("it was asked for its time")),
        }
    }
    Ok(ClockRelation::estimate(&samples))
}

fn out_of_turn(what: &'static str) -> SessionError {
    SessionError::OutOfTurn { who: "server", what }
}
