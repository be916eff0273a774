//! Random operation scripts.

use std::fmt;

use polypath_proto::config::{
    AssociationConfig, AssociationOptions, CongestionAlgorithm, PartialReliability, PathOptions,
};
use polypath_proto::{
    AssociationEnd, Delivery, Duration, Event, OutgoingMessage, PathId, SendError,
};
use polypath_wire::{Payload, VirtualPayload};
use proptest::prelude::*;

use crate::pieces::whole_messages;
use crate::{Capable, Faults, Form, Pair, PairConfig, PathModel, Side, Slot};

/// One operation.
#[derive(Clone, Debug)]
pub enum Op {
    /// Sends messages; those that find no room are left out.
    Send {
        /// By the client or by the server.
        from_client: bool,
        /// Stream.
        stream: u16,
        /// Ordered or not.
        unordered: bool,
        /// Size in bytes.
        size: u32,
        /// Number of messages.
        count: u8,
        /// How reliable they are.
        reliability: PartialReliability,
    },
    /// Lets time pass, in milliseconds.
    Wait(u16),
    /// Cuts a path.
    Cut(u8),
    /// Mends a path.
    Mend(u8),
    /// The MTU of a path becomes so many bytes; what is larger disappears.
    Mtu(u8, u32),
    /// The server stops or resumes reading.
    Reading(bool),
    /// The client or the server asks for a graceful shutdown.
    Shutdown(Side),
    /// A side uses an extension, if it can just now.
    Use(Side, Extension),
}

/// What a side does with an extension.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extension {
    /// Lets a stream of its own begin anew.
    ResetOutgoing(u16),
    /// Asks the peer to let one begin anew.
    ResetIncoming(u16),
    /// Lets all streams and TSNs begin anew.
    ResetAssociation,
    /// Adds a stream.
    AddStream,
    /// Asks the peer to prefer one of its addresses.
    PreferAddress(u8),
    /// Has another congestion control.
    Congestion(CongestionAlgorithm),
    /// Delays the SACKs of a path by its own time in milliseconds.
    SackDelay(u8, u16),
}

/// A whole run.
#[derive(Clone, Debug)]
pub struct Script {
    /// The paths.
    pub paths: Vec<PathModel>,
    /// Operations in order.
    pub ops: Vec<Op>,
    /// Seed of everything random.
    pub seed: u64,
    /// Whether packets travel encoded.
    pub form: Form,
}

/// How a run ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// Everything was delivered and the association shut down gracefully.
    Delivered {
        /// Messages, both directions.
        messages: usize,
    },
    /// There was no association, because faults hit every attempt of the handshake.
    HandshakeLost,
    /// The association ended with this error.
    Ended(AssociationEnd),
}

/// What a run did wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScriptFailure(pub String);

impl fmt::Display for ScriptFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Scripts over one to three paths.
pub fn script_strategy() -> impl Strategy<Value = Script> {
    let faults = (0u16..60, 0u16..30, 0u16..60, 0u16..20).prop_map(
        |(loss, duplication, reordering, damage)| Faults { loss, duplication, reordering, damage },
    );
    let path = (1u64..80, prop::option::of(20_000u64..2_000_000), faults).prop_map(
        |(ms, rate, faults)| PathModel {
            delay: Duration::from_millis(ms),
            bytes_per_second: rate,
            mtu: None,
            drops_fragments: false,
            queue: Duration::from_millis(150),
            capable: Capable::Marked(2 * faults.loss),
            faults,
            faults_back: None,
        },
    );
    let send =
        (
            any::<bool>(),
            0u16..4,
            any::<bool>(),
            prop_oneof![1u32..200, 1000u32..6000],
            1u8..20,
            reliability(),
        )
            .prop_map(|(from_client, stream, unordered, size, count, reliability)| {
                Op::Send { from_client, stream, unordered, size, count, reliability }
            });
    let op = prop_oneof![
        5 => send,
        3 => (1u16..3000).prop_map(Op::Wait),
        1 => (0u8..3).prop_map(Op::Cut),
        1 => (0u8..3).prop_map(Op::Mend),
        1 => any::<bool>().prop_map(Op::Reading),
    ];
    (
        prop::collection::vec(path, 1..4),
        prop::collection::vec(op, 1..25),
        any::<u64>(),
        any::<bool>(),
    )
        .prop_map(|(paths, ops, seed, encoded)| Script {
            paths,
            ops,
            seed,
            form: if encoded { Form::Encoded } else { Form::Structured },
        })
}

/// The same, with one to three shutdowns among the operations.
pub fn shutdown_strategy() -> impl Strategy<Value = Script> {
    let side = prop_oneof![Just(Side::Client), Just(Side::Server)];
    let shutdowns = prop::collection::vec((any::<prop::sample::Index>(), side), 1..4);
    (script_strategy(), shutdowns).prop_map(|(mut script, shutdowns)| {
        for (place, side) in shutdowns {
            script.ops.insert(place.index(script.ops.len() + 1), Op::Shutdown(side));
        }
        script
    })
}

/// The same, with up to a dozen uses of extensions among the operations.
pub fn extension_strategy() -> impl Strategy<Value = Script> {
    let side = prop_oneof![Just(Side::Client), Just(Side::Server)];
    let extension = prop_oneof![
        3 => (0u16..4).prop_map(Extension::ResetOutgoing),
        2 => (0u16..4).prop_map(Extension::ResetIncoming),
        1 => Just(Extension::ResetAssociation),
        1 => Just(Extension::AddStream),
        1 => (0u8..3).prop_map(Extension::PreferAddress),
        2 => prop::sample::select(CongestionAlgorithm::ALL).prop_map(Extension::Congestion),
        1 => (0u8..3, 0u16..500).prop_map(|(path, ms)| Extension::SackDelay(path, ms)),
    ];
    let uses = prop::collection::vec((any::<prop::sample::Index>(), side, extension), 1..13);
    (script_strategy(), uses).prop_map(|(mut script, uses)| {
        for (place, side, extension) in uses {
            script.ops.insert(place.index(script.ops.len() + 1), Op::Use(side, extension));
        }
        script
    })
}

/// The same over paths whose MTUs differ and change: never below what the discovery tries.
pub fn mtu_strategy() -> impl Strategy<Value = Script> {
    let mtu = || 576u32..1600;
    let changes = prop::collection::vec((any::<prop::sample::Index>(), 0u8..3, mtu()), 1..6);
    (script_strategy(), prop::collection::vec(mtu(), 3), changes).prop_map(
        |(mut script, mtus, changes)| {
            for (path, mtu) in script.paths.iter_mut().zip(mtus) {
                path.mtu = Some(mtu);
            }
            for (place, path, mtu) in changes {
                script.ops.insert(place.index(script.ops.len() + 1), Op::Mtu(path, mtu));
            }
            script
        },
    )
}

fn reliability() -> impl Strategy<Value = PartialReliability> {
    prop_oneof![
        3 => Just(PartialReliability::None),
        1 => (0u64..1500).prop_map(|ms| PartialReliability::Timed(Duration::from_millis(ms))),
        1 => (0u16..3).prop_map(PartialReliability::LimitedRetransmissions),
        1 => (0u32..4).prop_map(PartialReliability::Priority),
    ]
}

/// A message that was accepted for sending.
#[derive(Clone, Copy, Debug)]
struct Sent {
    number: u64,
    stream: u16,
    unordered: bool,
    size: u32,
    reliability: PartialReliability,
}

/// Runs a script and then lets everything finish: paths mended and without faults, the server reading, graceful
/// shutdown.
///
/// # Errors
///
/// When a message was lost, duplicated, reordered within its stream or damaged although the association lives, when it
/// got stuck, or when buffers did not return to zero.
pub fn run_script(script: &Script, config: &AssociationConfig) -> Result<Outcome, ScriptFailure> {
    let mut pair = Pair::new(PairConfig {
        paths: script.paths.clone(),
        client: config.clone(),
        server: config.clone(),
        seed: script.seed,
        form: script.form,
        tick: Duration::ZERO,
    });
    pair.connect();
    if !pair.run_until(Duration::from_secs(600), Pair::is_connected) {
        return not_connected(&pair, config.max_init_retransmits);
    }
    let mut sent: [Vec<Sent>; 2] = [Vec::new(), Vec::new()];
    for op in &script.ops {
        apply(&mut pair, op, &script.paths, &mut sent);
    }
    for (path, model) in pair.paths.iter_mut().zip(&script.paths) {
        *path = PathModel { mtu: path.mtu, ..model.with_faults(Faults::default()) };
    }
    pair.hosts[1].reads = true;
    pair.read(Side::Server);
    let done = |pair: &Pair| [0, 1].iter().all(|side| is_settled(pair, *side, &sent[*side]));
    let over = |pair: &Pair| ended(pair).is_some();
    pair.run_until(Duration::from_secs(3600), |pair| done(pair) || over(pair));
    // Perhaps everything had arrived, and the sender never learnt of it.
    if let Some(outcome) = failed(&pair) {
        return Ok(outcome);
    }
    // What waits for the answer to a reset of all is delivered when the association ends, and one side learns of that later.
    if !done(&pair) && over(&pair) {
        pair.run_for(Duration::from_secs(300));
    }
    if !done(&pair) {
        return Err(ScriptFailure(format!("stuck: {}", describe(&pair, &sent))));
    }
    check(&pair, &sent)?;
    pair.shutdown(Side::Client);
    pair.run_until(Duration::from_secs(600), |pair| {
        pair.hosts.iter().all(|host| host.slots[0].association.is_closed())
    });
    // What was asked for while paths were cut, and the heartbeats of that time, may have been lost too often since.
    if script.ops.iter().any(awaits_answer)
        && let Some(outcome) = failed(&pair)
    {
        return Ok(outcome);
    }
    for (side, host) in pair.hosts.iter().enumerate() {
        let slot = &host.slots[0];
        let stats = slot.association.stats();
        if slot.events.last() != Some(&Event::Ended(AssociationEnd::ShutdownComplete)) {
            let text = describe(&pair, &sent);
            let events = &slot.events;
            return Err(ScriptFailure(format!(
                "side {side} did not shut down: {events:?}
{text}"
            )));
        }
        if stats.send_buffer_bytes != 0 || stats.receive_buffer_bytes != 0 {
            return Err(ScriptFailure(format!(
                "side {side} has bytes left in its buffers: {stats:?}"
            )));
        }
        if slot.association.path_stats().iter().any(|path| path.flight_bytes != 0) {
            return Err(ScriptFailure(format!("side {side} has bytes in flight after shutdown")));
        }
    }
    Ok(Outcome::Delivered { messages: sent[0].len() + sent[1].len() })
}

/// Whether an operation sends a request that is repeated until the peer answers, or seems to be unreachable.
fn awaits_answer(op: &Op) -> bool {
    match op {
        Op::Shutdown(_) => true,
        Op::Use(_, extension) => match extension {
            Extension::ResetOutgoing(_)
            | Extension::ResetIncoming(_)
            | Extension::ResetAssociation
            | Extension::AddStream
            | Extension::PreferAddress(_) => true,
            Extension::Congestion(_) | Extension::SackDelay(..) => false,
        },
        _ => false,
    }
}

/// Why there is no association. Each attempt to send INIT or COOKIE ECHO has an answer, unless a fault hits one of the two.
fn not_connected(pair: &Pair, retransmissions: u32) -> Result<Outcome, ScriptFailure> {
    match ended(pair) {
        Some(Outcome::Ended(AssociationEnd::CannotConnect))
            if pair.handshake_losses > retransmissions =>
        {
            Ok(Outcome::HandshakeLost)
        }
        Some(outcome) => Ok(outcome),
        None => Err(ScriptFailure("the handshake neither succeeded nor failed".into())),
    }
}

fn apply(pair: &mut Pair, op: &Op, models: &[PathModel], sent: &mut [Vec<Sent>; 2]) {
    match *op {
        Op::Send { from_client, stream, unordered, size, count, reliability } => {
            let side = if from_client { Side::Client } else { Side::Server };
            for _ in 0..count {
                let number = sent[side as usize].len() as u64;
                let payload =
                    Payload::Virtual(VirtualPayload { message: number, offset: 0, len: size });
                let mut message = OutgoingMessage::from_payload(stream, payload);
                message.delivery = if unordered { Delivery::Unordered } else { Delivery::Ordered };
                message.ppid = number as u32;
                message.context = number as u32;
                message.reliability = Some(reliability);
                match pair.send(side, message) {
                    Ok(()) => {
                        let sent = &mut sent[side as usize];
                        sent.push(Sent { number, stream, unordered, size, reliability });
                    }
                    Err(SendError::WouldBlock | SendError::Closed) => break,
                    Err(error) => panic!("unexpected refusal: {error}"),
                }
            }
        }
        Op::Wait(ms) => pair.run_for(Duration::from_millis(ms.into())),
        Op::Cut(path) => {
            if let Some(path) = pair.paths.get_mut(usize::from(path)) {
                *path = path.with_faults(Faults { loss: 1000, ..path.faults });
            }
        }
        Op::Mend(path) => {
            if let Some(model) = models.get(usize::from(path)) {
                let mtu = pair.paths[usize::from(path)].mtu;
                pair.paths[usize::from(path)] = PathModel { mtu, ..*model };
            }
        }
        Op::Mtu(path, bytes) => {
            if let Some(path) = pair.paths.get_mut(usize::from(path)) {
                path.mtu = Some(bytes);
            }
        }
        Op::Reading(reads) => {
            pair.hosts[1].reads = reads;
            if reads {
                pair.read(Side::Server);
            }
        }
        Op::Shutdown(side) => pair.shutdown(side),
        Op::Use(side, extension) => extend(pair, side, extension),
    }
}

/// Uses an extension. That it is refused, because another request is under way or the association ends, is no mistake.
fn extend(pair: &mut Pair, side: Side, extension: Extension) {
    let (now, addresses) = (pair.now, pair.addresses(side));
    let host = &mut pair.hosts[side as usize];
    host.command(now, 0, |it, cx| match extension {
        Extension::ResetOutgoing(stream) => drop(it.reset_outgoing_streams(&[stream])),
        Extension::ResetIncoming(stream) => drop(it.reset_incoming_streams(&[stream])),
        Extension::ResetAssociation => drop(it.reset_association(cx)),
        Extension::AddStream => drop(it.add_outgoing_streams(1)),
        Extension::PreferAddress(index) => {
            if let Some(address) = addresses.get(usize::from(index)) {
                let _ = it.set_peer_primary(*address);
            }
        }
        Extension::Congestion(algorithm) => {
            let congestion = Some(algorithm);
            drop(it.set_options(cx, &AssociationOptions { congestion, ..Default::default() }));
        }
        Extension::SackDelay(path, ms) => {
            let sack_delay = Some(Duration::from_millis(ms.into()));
            let options = PathOptions { sack_delay, ..Default::default() };
            drop(it.set_path_options(cx, PathId(path), &options));
        }
    });
    host.settle(now, 0);
}

fn ended(pair: &Pair) -> Option<Outcome> {
    pair.hosts.iter().filter_map(|host| host.slots.first()).find_map(|slot| {
        match slot.events.last() {
            Some(Event::Ended(end)) => Some(Outcome::Ended(end.clone())),
            _ => None,
        }
    })
}

/// The end of a side that did not end gracefully.
fn failed(pair: &Pair) -> Option<Outcome> {
    let last = |slot: &Slot| slot.events.last().cloned();
    pair.hosts.iter().filter_map(|host| host.slots.first()).find_map(|slot| match last(slot) {
        Some(Event::Ended(end)) if end != AssociationEnd::ShutdownComplete => {
            Some(Outcome::Ended(end))
        }
        _ => None,
    })
}

/// The messages of a side that were given up, by number.
fn abandoned(pair: &Pair, side: usize) -> impl Iterator<Item = usize> + '_ {
    pair.hosts[side].slots[0].events.iter().filter_map(|event| match event {
        Event::Abandoned { context, .. } => Some(*context as usize),
        _ => None,
    })
}

/// Whether every message of a side was delivered or given up.
fn is_settled(pair: &Pair, side: usize, sent: &[Sent]) -> bool {
    let received =
        || pair.hosts[1 - side].slots[0].messages.iter().filter(|message| message.piece.ends());
    if received().count() + abandoned(pair, side).count() < sent.len() {
        return false;
    }
    let mut settled = vec![false; sent.len()];
    let delivered = received().map(|message| message.ppid as usize);
    for number in delivered.chain(abandoned(pair, side)) {
        if let Some(settled) = settled.get_mut(number) {
            *settled = true;
        }
    }
    settled.iter().all(|settled| *settled)
}

fn check_abandoned(pair: &Pair, side: usize, sent: &[Sent]) -> Result<(), ScriptFailure> {
    let mut given_up = vec![false; sent.len()];
    for number in abandoned(pair, side) {
        if sent[number].reliability == PartialReliability::None {
            return Err(ScriptFailure(format!("message {number} is reliable and was given up")));
        }
        if std::mem::replace(&mut given_up[number], true) {
            return Err(ScriptFailure(format!("message {number} was given up twice")));
        }
    }
    let counted = pair.hosts[side].slots[0].association.stats().abandoned.all();
    let told = given_up.iter().filter(|given_up| **given_up).count() as u64;
    if counted.sent + counted.unsent != told {
        return Err(ScriptFailure(format!("{counted:?} messages given up, {told} told")));
    }
    Ok(())
}

fn check(pair: &Pair, sent: &[Vec<Sent>; 2]) -> Result<(), ScriptFailure> {
    for side in 0..2 {
        check_abandoned(pair, side, &sent[side])?;
        let received = whole_messages(&pair.hosts[1 - side].slots[0].messages);
        let received = received.map_err(ScriptFailure)?;
        let mut seen = vec![false; sent[side].len()];
        let mut last_on_stream = [None::<u64>; 4];
        for message in &received {
            let number = u64::from(message.ppid);
            let Some(sent) = sent[side].get(number as usize) else {
                return Err(ScriptFailure(format!("message {number} was never sent")));
            };
            if std::mem::replace(&mut seen[number as usize], true) {
                return Err(ScriptFailure(format!("message {number} was delivered twice")));
            }
            let unordered = message.delivery == Delivery::Unordered;
            if message.stream != sent.stream
                || unordered != sent.unordered
                || message.len() != sent.size as usize
            {
                return Err(ScriptFailure(format!("message {number} was changed: {message:?}")));
            }
            if !is_intact(message, number) {
                return Err(ScriptFailure(format!("message {number} has other content")));
            }
            if !unordered {
                let last = &mut last_on_stream[usize::from(message.stream)];
                if last.is_some_and(|last| last > sent.number) {
                    return Err(ScriptFailure(format!(
                        "message {number} was overtaken on stream {}",
                        message.stream
                    )));
                }
                *last = Some(sent.number);
            }
        }
    }
    Ok(())
}

fn is_intact(message: &polypath_proto::ReceivedMessage, number: u64) -> bool {
    let mut offset = 0u32;
    message.fragments.iter().all(|fragment| {
        let intact = match fragment {
            Payload::Virtual(v) => v.message == number && v.offset == offset,
            Payload::Shared(bytes) => VirtualPayload::verify(number, offset, bytes),
            Payload::Borrowed(bytes) => VirtualPayload::verify(number, offset, bytes),
            Payload::Joined(_) => false,
        };
        offset += fragment.len() as u32;
        intact
    })
}

fn describe(pair: &Pair, sent: &[Vec<Sent>; 2]) -> String {
    let mut text = String::new();
    for (side, host) in pair.hosts.iter().enumerate() {
        let slot = &host.slots[0];
        text += &format!(
            "side {side}: sent {}, received {}, {:?}, paths {:#?}\n",
            sent[side].len(),
            slot.messages.len(),
            slot.association.stats(),
            slot.association.path_stats()
        );
    }
    text
}
