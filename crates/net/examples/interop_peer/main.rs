//! Our side of the interoperability tests (`tests/interop`): sends or receives checked messages over one association.
//! `tests/interop/peer/peer.c` takes the same options, sends the same messages and prints the same lines; it describes
//! the messages.

mod messages;
mod options;
mod reconfigure;

use std::net::IpAddr;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use clap::Parser;
use messages::{Arrivals, Tally, message};
use options::{Ending, Options, Primary};
use polypath::{
    AddressChange, Association, AssociationError, Carriers, Delivery, Endpoint, EndpointConfig,
    Event, Events, Message, PathStatus, Piece, ReceivedMessage,
};
use reconfigure::Reconfigurer;

/// A transfer that hangs must not hang its caller.
const TIME_LIMIT: Duration = Duration::from_secs(120);
/// Messages that the asking side has under way.
const ASKED_AT_ONCE: u64 = 16;
/// What an ABORT tells the peer.
const REASON: &str = "enough";

/// How an association ended.
enum End {
    Graceful,
    Aborted,
}

/// One end of the transfer.
struct Transfer<'a> {
    options: &'a Options,
    endpoint: Endpoint,
    association: Association,
    sent: Tally,
    arrivals: Arrivals<'a>,
    reconfigurer: Reconfigurer,
    restarts: u32,
}

impl<'a> Transfer<'a> {
    fn new(options: &'a Options, endpoint: Endpoint, association: Association) -> Self {
        let arrivals = Arrivals::new(options);
        let reconfigurer = Reconfigurer::new(&association);
        let (sent, restarts) = (Tally::default(), 0);
        Self { options, endpoint, association, sent, arrivals, reconfigurer, restarts }
    }

    /// Returns when every path to wait for has answered a HEARTBEAT.
    async fn paths_confirmed(&self) -> anyhow::Result<()> {
        let confirmed = || {
            let paths = self.association.path_stats();
            self.options.wait_paths.iter().all(|address| {
                paths.iter().any(|p| p.remote == *address && p.status == PathStatus::Active)
            })
        };
        let mut events = self.association.events();
        while !confirmed() {
            ensure!(events.next().await.is_some(), "an end before the paths were confirmed");
        }
        println!("paths are confirmed");
        Ok(())
    }

    /// Sends all messages. If they are wanted back, no more than some are under way.
    async fn send_all(&mut self) -> anyhow::Result<()> {
        let options = self.options;
        for number in 0..options.messages {
            if options.ending == Ending::AbortBySource && number == options.abort_after {
                self.association.abort(REASON);
                return Ok(());
            }
            if options.role.ask && number >= ASKED_AT_ONCE {
                self.one_back().await?;
            }
            if number == options.messages / 2 {
                self.reconfigurer.begin(options).await?;
            }
            if options.move_addresses && number == options.messages / 2 {
                self.move_addresses().await?;
            }
            if options.primary == Some(Primary::BySender) && number == options.messages / 2 {
                self.association.sender_dry().await?;
                self.change_primary()?;
            }
            self.send_number(number).await?;
        }
        if options.hold {
            self.association.sender_dry().await?;
            println!("held");
            std::future::pending::<()>().await;
        }
        while options.role.ask && !self.arrivals.complete() {
            self.one_back().await?;
        }
        Ok(())
    }

    /// Goes from the first address to the second, and the peer takes note of every step (RFC 5061).
    async fn move_addresses(&self) -> anyhow::Result<()> {
        let [from, to] = self.options.local[..] else {
            bail!("--move-addresses needs two addresses")
        };
        ensure!(self.association.can_change_addresses(), "ASCONF was not agreed on");
        let mut events = self.association.events();
        let (added, preferred) = (AddressChange::Added, AddressChange::MadePrimary);
        self.endpoint.bind_add(to).await?;
        acknowledged(&mut events, to, added).await?;
        while !self
            .association
            .path_stats()
            .iter()
            .any(|path| path.local == to && path.status == PathStatus::Active)
        {
            ensure!(events.next().await.is_some(), "an end before the path worked");
        }
        self.association.set_peer_primary(to)?;
        acknowledged(&mut events, to, preferred).await?;
        self.endpoint.bind_remove(from).await?;
        acknowledged(&mut events, from, AddressChange::Removed).await?;
        println!("moved");
        Ok(())
    }

    /// New data goes to the last of the addresses that were waited for.
    fn change_primary(&self) -> anyhow::Result<()> {
        let to = self.options.wait_paths.last().context("--primary needs --wait-paths")?;
        let paths = self.association.path_stats();
        let path = paths.iter().find(|path| path.remote == *to).context("no such path")?;
        Ok(self.association.set_primary(path.path)?)
    }

    async fn send_number(&mut self, number: u64) -> anyhow::Result<()> {
        let options = self.options;
        let bytes = message(number, options);
        self.sent.count(&bytes);
        let stream = (number % u64::from(options.streams_at(number))) as u16;
        if let Some(size) = options.pieces.filter(|size| *size < bytes.len()) {
            return self.send_pieces(stream, &bytes, size).await;
        }
        let mut message = Message::new(stream, bytes);
        if options.unordered {
            message = message.unordered();
        }
        if let Some(limit) = options.give_up_after {
            message = message.max_retransmissions(limit);
        }
        if options.priorities {
            message = message.priority((number % 4) as u32);
        }
        if let Some(lifetime) = options.lifetime {
            message = message.lifetime(Duration::from_millis(lifetime));
        }
        self.association.send(message).await.with_context(|| format!("message {number}"))
    }

    async fn send_pieces(&self, stream: u16, bytes: &[u8], size: usize) -> anyhow::Result<()> {
        let last = bytes.len().div_ceil(size) - 1;
        for (number, part) in bytes.chunks(size).enumerate() {
            let piece = match number {
                0 => Piece::First,
                _ if number == last => Piece::Last,
                _ => Piece::Middle,
            };
            let mut message = Message::new(stream, part.to_vec()).piece(piece);
            if self.options.unordered {
                message = message.unordered();
            }
            self.association.send(message).await?;
        }
        Ok(())
    }

    async fn one_back(&mut self) -> anyhow::Result<()> {
        let received = self.association.receive().await?;
        self.arrivals.check(received.context("an end before every message came back")?)
    }

    /// Reads until the association ends.
    async fn receive_all(&mut self) -> anyhow::Result<End> {
        loop {
            match self.association.receive().await {
                Ok(Some(message)) => self.take_message(message).await?,
                Ok(None) => {
                    self.association.closed().await?;
                    return Ok(End::Graceful);
                }
                Err(AssociationError::PeerRestarted) => self.begin_anew()?,
                Err(error) => return self.aborted(error),
            }
        }
    }

    /// The peer restarted: it does it all again.
    fn begin_anew(&mut self) -> anyhow::Result<()> {
        ensure!(self.options.expect_restart, "the peer restarted");
        self.association.accept_restart();
        self.restarts += 1;
        self.arrivals = Arrivals::new(self.options);
        println!("restarted");
        Ok(())
    }

    async fn take_message(&mut self, message: ReceivedMessage) -> anyhow::Result<()> {
        let options = self.options;
        ensure!(!options.sends_first(), "a message that nobody asked for");
        if options.role.echo {
            self.association.send(answer(&message)).await?;
        }
        let before = self.arrivals.tally.messages;
        self.arrivals.check(message)?;
        if self.arrivals.are_half() && self.arrivals.tally.messages > before {
            self.reconfigurer.ask(options)?;
            if options.primary == Some(Primary::ByReceiver) {
                let to = options.local.last().context("no address")?;
                self.association.set_peer_primary(*to)?;
            }
        }
        if self.arrivals.complete() {
            println!("complete");
        }
        if options.ending == Ending::AbortBySink
            && self.arrivals.tally.messages == options.abort_after
        {
            self.association.abort(REASON);
        }
        if self.arrivals.complete() && matches!(options.ending, Ending::Sink | Ending::Both) {
            self.shut_down();
        }
        Ok(())
    }

    /// Shuts down in the background: what comes meanwhile is still read.
    fn shut_down(&self) {
        let association = self.association.clone();
        tokio::spawn(async move { association.shutdown().await });
    }

    /// The association ended with an error, which must be the ABORT that both sides agreed on.
    fn aborted(&self, error: AssociationError) -> anyhow::Result<End> {
        let options = self.options;
        let by_us = options.sends_first() == (options.ending == Ending::AbortBySource);
        match &error {
            AssociationError::Aborted if options.aborts() && by_us => Ok(End::Aborted),
            AssociationError::AbortedByPeer(_) if options.aborts() && !by_us => {
                println!("{error}");
                Ok(End::Aborted)
            }
            _ => Err(error.into()),
        }
    }

    async fn run(&mut self) -> anyhow::Result<End> {
        let options = self.options;
        if !options.wait_paths.is_empty() {
            self.paths_confirmed().await?;
        }
        if options.sends_first() {
            match self.send_all().await {
                Ok(()) if matches!(options.ending, Ending::Source | Ending::Both) => {
                    self.shut_down();
                }
                // What receiving says of the end decides.
                Err(_) if options.ending == Ending::AbortBySink => {}
                other => other?,
            }
        }
        self.receive_all().await
    }
}

async fn acknowledged(
    events: &mut Events,
    wanted: IpAddr,
    what: AddressChange,
) -> anyhow::Result<()> {
    loop {
        match events.next().await.context("an end before the peer took note")? {
            Event::LocalAddress { address, change } if (address, change) == (wanted, what) => {
                return Ok(());
            }
            Event::AddressChangeRefused { address, change, cause } => {
                bail!("{change:?} {address} is refused, cause {cause:?}");
            }
            _ => {}
        }
    }
}

/// The same message, as it came.
fn answer(message: &ReceivedMessage) -> Message {
    let answer = Message::new(message.stream(), message.clone().into_bytes());
    match message.delivery() {
        Delivery::Ordered => answer,
        Delivery::Unordered => answer.unordered(),
    }
}

async fn associate(options: &Options) -> anyhow::Result<(Endpoint, Association)> {
    let carriers = if options.raw { Carriers::RawIp } else { Carriers::Udp };
    let builder = Endpoint::builder(options.first_addresses().iter().copied())
        .encapsulation_port(options.udp);
    let builder = builder.carriers(carriers);
    if options.begin.listen {
        let config =
            EndpointConfig { association: options.association(), ..EndpointConfig::default() };
        let endpoint = builder.port(options.port).listen(1).config(config).bind()?;
        println!("ready");
        let association = endpoint.accept().await?;
        return Ok((endpoint, association));
    }
    let endpoint = match options.local_port {
        Some(port) => builder.port(port).bind()?,
        None => builder.bind()?,
    };
    let association = endpoint.connect(&options.peer(), options.association()).await;
    if options.refused {
        let Err(error) = association else { bail!("an association in spite of the key") };
        println!("refused: {error}");
        std::process::exit(0);
    }
    Ok((endpoint, association?))
}

fn print_counters(association: &Association) {
    for path in association.path_stats() {
        println!(
            "path={} data_packets_sent={} data_bytes_received={}",
            path.remote, path.data_packets_sent, path.data_bytes_received
        );
    }
    let stats = association.stats();
    println!(
        "damaged={} reports_sent={} reports_received={} repaired={}",
        stats.packets_damaged,
        stats.drop_reports_sent,
        stats.drop_reports_received,
        stats.reported_retransmissions
    );
    println!(
        "sacks_sent={} nr_sacks_sent={} sacks_received={} nr_sacks_received={} released_early={}",
        stats.sacks_sent,
        stats.nr_sacks_sent,
        stats.sacks_received,
        stats.nr_sacks_received,
        stats.bytes_released_early
    );
    println!("receive_buffer_peak={}", stats.receive_buffer_peak_bytes);
    println!(
        "capable_sent={} capable_received={} marked_received={} echoes_received={} reductions={} retransmitted={}",
        stats.ecn_capable_packets_sent,
        stats.ecn_capable_packets_received,
        stats.ecn_marked_packets_received,
        stats.ecn_echoes_received,
        stats.ecn_reductions,
        stats.fast_retransmissions + stats.timeout_retransmissions
    );
    println!(
        "outgoing_resets={} incoming_resets={}",
        stats.outgoing_stream_resets, stats.incoming_stream_resets
    );
    println!(
        "asconf_sent={} asconf_received={} changes_refused={}",
        stats.asconf_sent, stats.asconf_received, stats.address_changes_refused
    );
    println!(
        "auth_sent={} auth_accepted={} auth_refused={} unauthenticated={}",
        stats.auth_chunks_sent,
        stats.auth_chunks_accepted,
        stats.auth_chunks_refused,
        stats.unauthenticated_chunks
    );
    println!(
        "abandoned={} kept_reliable={} forward_tsns_sent={} forward_tsns_received={}",
        stats.abandoned.all().sent + stats.abandoned.all().unsent,
        stats.messages_kept_reliable,
        stats.forward_tsns_sent,
        stats.forward_tsns_received
    );
}

/// SIGTERM from now on; elsewhere Ctrl-C.
struct TerminationRequest {
    #[cfg(unix)]
    signal: tokio::signal::unix::Signal,
}

impl TerminationRequest {
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            #[cfg(unix)]
            signal: tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?,
        })
    }

    async fn came(&mut self) {
        #[cfg(unix)]
        self.signal.recv().await;
        #[cfg(not(unix))]
        let _ = tokio::signal::ctrl_c().await;
    }
}

async fn run(options: &Options) -> anyhow::Result<()> {
    let mut told = options.stay.then(TerminationRequest::new).transpose()?;
    let (endpoint, association) = associate(options).await?;
    let mut transfer = Transfer::new(options, endpoint.clone(), association);
    let end = transfer.run().await?;
    let ending = match end {
        End::Graceful if !options.aborts() => "graceful",
        End::Aborted => "aborted",
        End::Graceful => bail!("the association was not aborted"),
    };
    ensure!(
        (transfer.restarts > 0) == options.expect_restart,
        "the peer restarted {} times",
        transfer.restarts
    );
    print_counters(&transfer.association);
    transfer.reconfigurer.print().await?;
    println!("in_pieces={}", transfer.arrivals.in_pieces());
    println!("before_first={}", transfer.arrivals.before_first());
    println!("end={ending} restarts={}", transfer.restarts);
    if options.gives_up() || options.aborts() {
        // What was given up is no part of what both sides must agree on.
        println!("arrived={}", transfer.arrivals.tally.messages);
    } else {
        let tally = if options.role.source { &transfer.sent } else { &transfer.arrivals.tally };
        println!(
            "messages={} bytes={} checksum={:016x}",
            tally.messages, tally.bytes, tally.hash_sum
        );
    }
    endpoint.idle().await;
    if let Some(told) = &mut told {
        told.came().await;
    }
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    options.check()?;
    tokio::time::timeout(TIME_LIMIT, run(&options)).await.context("the transfer hangs")?
}
