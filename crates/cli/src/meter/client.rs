//! The client: connects, proposes a measurement, and tells its results.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use polypath::{Association, AssociationConfig, Carriers, Endpoint, EndpointBuilder, PacketTap};
use tokio::time::timeout;

use super::buffers::{Buffers, fragment_size};
use super::capture::Capture;
use super::clock::{self, ClockRelation, ClockSource, Sample};
use super::control::{self, Accept, Control};
use super::document::{ConnectingTo, Document};
use super::ears::{Ears, within};
use super::foreign::shown;
use super::options::ClientOptions;
use super::payload::Role;
use super::plan::{Plan, Start};
use super::reporter::Reporter;
use super::session::{Session, harmless};
use super::tally::Tally;
use super::{FAREWELL, results, start};
use crate::failure::{Failure, Outcome};
use crate::runtime::{self, Interruption};
use crate::unused::{Named, unused};
use crate::zoned::{self, Zoned};
use crate::{connecting, output};

/// How often the server is asked for its time.
const QUESTIONS: usize = 8;
/// Longest time that the server may think about a proposal.
const THINKING: Duration = Duration::from_secs(10);

/// Whom to connect to, from where.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub from: Vec<Zoned>,
    pub to: Vec<IpAddr>,
    pub config: AssociationConfig,
    /// What packets travel in.
    pub carriers: Carriers,
    /// Where packets are written to.
    pub capture: Option<Arc<Capture>>,
}

impl Target {
    /// What an endpoint of this side is made with.
    pub fn builder(&self) -> EndpointBuilder {
        let builder = zoned::builder(&self.from).carriers(self.carriers).encapsulation_port(0);
        match &self.capture {
            Some(capture) => builder.tap(Arc::clone(capture) as Arc<dyn PacketTap>),
            None => builder,
        }
    }
}

/// A measurement as far as it has come; what there is survives an interruption.
struct Record {
    document: Document,
    plan: Option<Arc<Plan>>,
    session: Option<Session>,
    peer: Option<super::document::SideReport>,
}

/// Measures, and tells what comes out through `reporter`. The outcome says how it ended; the document is whole as far as
/// it goes.
pub(crate) async fn measure(
    target: &Target,
    options: &ClientOptions,
    reporter: &mut Reporter,
    interruption: &Interruption,
) -> (Document, Outcome) {
    let document = document(options);
    let mut record = Record { document, plan: None, session: None, peer: None };
    let outcome = attempt(target, options, &mut record, reporter, interruption).await;
    let mut document = record.document;
    if let (Some(plan), Some(session)) = (&record.plan, &record.session) {
        let peer = record.peer.map(harmless);
        document.server_output_text = peer.as_ref().and_then(|peer| peer.output.clone());
        document.end = results::end(plan, Role::Client, session.report(), peer);
    }
    document.complete = outcome.is_ok();
    document.error = outcome.as_ref().err().map(ToString::to_string);
    (document, outcome)
}

/// A measurement that did not even begin.
pub(crate) fn describe(options: &ClientOptions, failure: &Failure) -> Document {
    Document { error: Some(failure.to_string()), ..document(options) }
}

fn document(options: &ClientOptions) -> Document {
    let transport = &options.transport;
    let mut document = start::document();
    document.title = options.report.title.as_deref().map(shown);
    document.extra_data.clone_from(&options.report.extra_data);
    document.start.connecting_to = Some(ConnectingTo {
        host: options.hosts.join(","),
        port: transport.port,
        encapsulation_port: (!transport.raw).then_some(transport.encap_port),
    });
    document.start.test_start.preset = Some(transport.preset.name().to_owned());
    document
}

async fn attempt(
    target: &Target,
    options: &ClientOptions,
    record: &mut Record,
    reporter: &mut Reporter,
    interruption: &Interruption,
) -> Outcome {
    let endpoint = runtime::bind(target.builder())?;
    let result = tokio::select! {
        connected = connect(&endpoint, target, options) => match connected {
            Ok(association) => {
                let talked = tokio::select! {
                    talked = talk(&association, options, record, reporter) => talked,
                    () = interruption.happened() => Err(Failure::Interrupted),
                };
                tell_unused(target, options, &association);
                match &talked {
                    Ok(()) => part(&association).await,
                    Err(failure) => association.abort(format!("the client gives up: {failure}")),
                }
                talked
            }
            Err(failure) => Err(failure),
        },
        () = interruption.happened() => Err(Failure::Interrupted),
    };
    runtime::drain(&endpoint, interruption).await;
    result
}

/// Tells of addresses that the user wrote down and that did nothing. Of those that a name stands for, some often do not.
fn tell_unused(target: &Target, options: &ClientOptions, association: &Association) {
    let written = options.hosts.iter().filter_map(|host| host.parse::<Zoned>().ok());
    let to: Vec<IpAddr> =
        written.map(|host| host.address).filter(|address| target.to.contains(address)).collect();
    let bound = options.transport.bind.iter().filter(|local| target.from.contains(local));
    let from: Vec<IpAddr> = bound.map(|local| local.address).collect();
    let named = Named { to: &to, from: &from, options: ["host", "--bind"] };
    for unused in unused(named, association) {
        output::tell(format_args!("{unused}"));
    }
}

/// Connects, and says with whom if that fails.
pub(crate) async fn connect(
    endpoint: &Endpoint,
    target: &Target,
    options: &ClientOptions,
) -> Result<Association, Failure> {
    let transport = &options.transport;
    let peer = transport.peer(&target.to);
    let addresses: Vec<_> = target.to.iter().map(ToString::to_string).collect();
    let whom = format!("{}, {}", addresses.join(", "), transport.ports(transport.encap_port));
    let config = target.config.clone();
    connecting::connect(endpoint, &peer, config, options.connect_timeout, &whom).await
}

async fn talk(
    association: &Association,
    options: &ClientOptions,
    record: &mut Record,
    reporter: &mut Reporter,
) -> Outcome {
    let packet = association.path_stats().iter().filter_map(fragment_size).min().unwrap_or(1400);
    // Of the server's buffers only the one that receives is known; the other one mostly has the same size. Otherwise the
    // server refuses what it cannot send.
    let peer = association.stats().peer_window_bytes;
    let buffer = Buffers::present(association).least().min(peer);
    let plan = options.plan(packet, buffer, getrandom::u64()?, getrandom::u64()?)?;
    let plan = Arc::new(plan);
    let mut ears = Ears::open(association);
    let accept = propose(association, &plan, &mut ears).await.map_err(Failure::CannotConnect)?;
    let clock = if options.requirements.synchronized_clocks {
        ClockRelation::equal(ClockSource::Synchronized)
    } else if accept.boot_id.is_some() && accept.boot_id == clock::boot_id() {
        ClockRelation::equal(ClockSource::Shared)
    } else {
        within(options.idle_timeout, compare_clocks(association, &mut ears)).await?
    };
    let preset = record.document.start.test_start.preset.take();
    start::fill(&mut record.document.start, association, &plan, clock);
    record.document.start.test_start.preset = preset;
    reporter.start(&record.document);
    let tally = Arc::new(Tally::new(&plan, Role::Client));
    ears.count(Arc::clone(&tally));
    control::send(association, &Control::Start(Start { clock })).await?;
    record.plan = Some(Arc::clone(&plan));
    let session = Session::start(association.clone(), plan, Role::Client, tally, clock);
    let session = record.session.insert(session);
    let intervals = &mut record.document.intervals;
    let observe = |interval: super::document::Interval| {
        reporter.interval(&interval);
        intervals.push(interval);
    };
    session.run(&mut ears, options.idle_timeout, observe).await?;
    control::send(association, &Control::Results(Box::new(session.report()))).await?;
    match ears.hear_within(options.idle_timeout).await? {
        Control::Results(report) => record.peer = Some(*report),
        _ => {
            return Err(
                anyhow!("the server broke the control protocol: it tells no results").into()
            );
        }
    }
    Ok(())
}

async fn propose(association: &Association, plan: &Plan, ears: &mut Ears) -> Result<Accept> {
    let proposal = Control::Propose(Box::new(plan.clone()));
    within(THINKING, control::send(association, &proposal)).await?;
    match ears.hear_within(THINKING).await.context("the server does not take part")? {
        Control::Accept(accept) => Ok(accept),
        Control::Refuse(refusal) => bail!("the server refuses: {}", shown(&refusal.reason)),
        _ => bail!("the server broke the control protocol: it neither agrees nor refuses"),
    }
}

async fn compare_clocks(association: &Association, ears: &mut Ears) -> Result<ClockRelation> {
    let mut samples = Vec::with_capacity(QUESTIONS);
    for _ in 0..QUESTIONS {
        let asked = clock::now_us();
        control::send(association, &Control::Ask(asked)).await?;
        match ears.hear().await? {
            Control::Answer(question, answered) if question == asked => {
                samples.push(Sample { asked, answered, heard: clock::now_us() });
            }
            _ => bail!("the server broke the control protocol: it was asked for its time"),
        }
    }
    Ok(ClockRelation::estimate(&samples))
}

/// Ends an association over which everything was said.
async fn part(association: &Association) {
    if timeout(FAREWELL, association.shutdown()).await.is_err() {
        association.abort("the shutdown takes too long");
    }
}
