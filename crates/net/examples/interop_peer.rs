//! Our side of the interoperability test (`tests/interop/usrsctp.sh`): sends or receives checked messages over one
//! association. `tests/interop/usrsctp_peer.c` takes the same options, sends the same messages and prints the same
//! lines; it describes the messages.

use std::net::IpAddr;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use clap::Parser;
use polypath::config::{NrSack, PacketDropReport};
use polypath::{
    Association, AssociationConfig, Endpoint, EndpointConfig, Message, Peer, Preset,
    ReceivedMessage,
};

/// Bytes at the beginning of a message that hold its number.
const HEADER: usize = 8;
/// A transfer that hangs must not hang its caller.
const TIME_LIMIT: Duration = Duration::from_secs(120);

/// Sends or receives checked messages over one association, as `usrsctp_peer` does.
#[derive(Parser)]
struct Options {
    #[command(flatten)]
    begin: Begin,
    #[command(flatten)]
    role: Role,
    /// Addresses of this side.
    #[arg(long, value_delimiter = ',', required = true)]
    local: Vec<IpAddr>,
    /// UDP port of this side.
    #[arg(long, default_value_t = 9899)]
    udp: u16,
    /// UDP port of the peer.
    #[arg(long, default_value_t = 9899)]
    peer_udp: u16,
    /// SCTP port of the listening side.
    #[arg(long, default_value_t = 5001)]
    port: u16,
    /// Messages to send.
    #[arg(long, default_value_t = 1000)]
    messages: u64,
    /// Mean length of the messages, without the number.
    #[arg(long, default_value_t = 1000)]
    mean_size: u64,
    /// Streams, used in turn.
    #[arg(long, default_value_t = 4)]
    streams: u16,
    /// Use all paths at once.
    #[arg(long)]
    cmt: bool,
    /// Report damaged packets to a peer that understands it.
    #[arg(long)]
    drop_reports: bool,
    /// Use NR-SACK with a peer that has it: `deliverable` or `all`.
    #[arg(long, value_parser = parse_nr_sack, default_value = "off")]
    nr_sack: NrSack,
    /// Give messages up that would have to be retransmitted more often.
    #[arg(long, value_name = "RETRANSMISSIONS")]
    give_up_after: Option<u16>,
    /// Messages have no order.
    #[arg(long)]
    unordered: bool,
}

fn parse_nr_sack(name: &str) -> Result<NrSack, &'static str> {
    match name {
        "off" => Ok(NrSack::Off),
        "deliverable" => Ok(NrSack::Deliverable),
        "all" => Ok(NrSack::All),
        _ => Err("neither off, deliverable nor all"),
    }
}

#[derive(clap::Args)]
#[group(required = true, multiple = false)]
struct Begin {
    /// Wait for the peer's association.
    #[arg(long)]
    listen: bool,
    /// Begin the association with the peer that has these addresses.
    #[arg(long, value_delimiter = ',')]
    connect: Vec<IpAddr>,
}

#[derive(clap::Args)]
#[group(required = true, multiple = false)]
struct Role {
    /// Send messages.
    #[arg(long)]
    source: bool,
    /// Receive messages.
    #[arg(long)]
    sink: bool,
}

impl Options {
    fn association(&self) -> AssociationConfig {
        let preset = if self.cmt { Preset::Cmt } else { Preset::Rfc9260 };
        let mut config = AssociationConfig::with_preset(preset);
        config.outbound_streams = self.streams;
        config.policies.nr_sack = self.nr_sack;
        if self.drop_reports {
            config.policies.packet_drop_report = PacketDropReport::On;
        }
        config
    }

    async fn associate(&self) -> anyhow::Result<Association> {
        let builder = Endpoint::builder(self.local.iter().copied()).encapsulation_port(self.udp);
        if self.begin.listen {
            let config =
                EndpointConfig { association: self.association(), ..EndpointConfig::default() };
            let endpoint = builder.port(self.port).listen(1).config(config).bind()?;
            println!("ready");
            return Ok(endpoint.accept().await?);
        }
        let peer = Peer::new(self.begin.connect.iter().copied(), self.port);
        let peer = peer.encapsulation_port(self.peer_udp);
        Ok(builder.bind()?.connect(&peer, self.association()).await?)
    }
}

/// What both sides must agree on.
#[derive(Default)]
struct Tally {
    messages: u64,
    bytes: u64,
    hash_sum: u64,
}

impl Tally {
    fn count(&mut self, message: &[u8]) {
        let hash = message.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        });
        self.messages += 1;
        self.bytes += message.len() as u64;
        self.hash_sum = self.hash_sum.wrapping_add(hash);
    }
}

/// The finaliser of SplitMix64: spreads every bit of its argument over the result.
fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The message of that number.
fn message(number: u64, mean_size: u64) -> Vec<u8> {
    let length = HEADER + (mix(number) % (2 * mean_size)) as usize;
    let mut bytes = Vec::with_capacity(length + HEADER);
    bytes.extend_from_slice(&number.to_be_bytes());
    while bytes.len() < length {
        let word = bytes.len() as u64 / 8;
        bytes.extend_from_slice(&mix(number << 20 | word).to_be_bytes());
    }
    bytes.truncate(length);
    bytes
}

async fn send_messages(association: &Association, options: &Options) -> anyhow::Result<Tally> {
    let mut tally = Tally::default();
    for number in 0..options.messages {
        let bytes = message(number, options.mean_size);
        tally.count(&bytes);
        let stream = (number % u64::from(options.streams)) as u16;
        let mut message = Message::new(stream, bytes);
        if options.unordered {
            message = message.unordered();
        }
        if let Some(limit) = options.give_up_after {
            message = message.max_retransmissions(limit);
        }
        association.send(message).await.with_context(|| format!("message {number}"))?;
    }
    association.shutdown().await.context("shutdown")?;
    ensure!(association.receive().await?.is_none(), "the source received a message");
    Ok(tally)
}

async fn receive_messages(association: &Association, options: &Options) -> anyhow::Result<Tally> {
    let mut tally = Tally::default();
    let mut order = Order {
        expected: (0..u64::from(options.streams)).collect(),
        seen: vec![false; options.messages as usize],
    };
    while let Some(received) = association.receive().await? {
        check(received, options, &mut order, &mut tally)?;
    }
    association.closed().await?;
    Ok(tally)
}

/// What may come next.
struct Order {
    /// Number of the next message, by stream.
    expected: Vec<u64>,
    /// Messages that have come.
    seen: Vec<bool>,
}

fn check(
    received: ReceivedMessage,
    options: &Options,
    order: &mut Order,
    tally: &mut Tally,
) -> anyhow::Result<()> {
    let stream = received.stream();
    let bytes = received.into_bytes();
    let Some((header, _)) = bytes.split_first_chunk::<HEADER>() else {
        bail!("a message of {} bytes", bytes.len());
    };
    let number = u64::from_be_bytes(*header);
    let next =
        order.expected.get_mut(usize::from(stream)).with_context(|| format!("stream {stream}"))?;
    let streams = u64::from(options.streams);
    ensure!(number % streams == u64::from(stream), "message {number} on stream {stream}");
    let seen = order.seen.get_mut(number as usize).with_context(|| format!("message {number}"))?;
    // What was given up is missing, the rest is in order, unless it has none.
    let fits = match (options.unordered, options.give_up_after) {
        (true, _) => !*seen,
        (false, Some(_)) => number >= *next,
        (false, None) => number == *next,
    };
    ensure!(fits, "message {number} on stream {stream}, expected {next}");
    *seen = true;
    *next = number + streams;
    ensure!(*bytes == *message(number, options.mean_size), "message {number} was damaged");
    tally.count(&bytes);
    Ok(())
}

async fn run(options: &Options) -> anyhow::Result<()> {
    let association = options.associate().await?;
    let tally = if options.role.source {
        send_messages(&association, options).await?
    } else {
        receive_messages(&association, options).await?
    };
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
    println!(
        "abandoned={} kept_reliable={} forward_tsns_sent={} forward_tsns_received={}",
        stats.abandoned.all().sent + stats.abandoned.all().unsent,
        stats.messages_kept_reliable,
        stats.forward_tsns_sent,
        stats.forward_tsns_received
    );
    if options.give_up_after.is_some() {
        // What was given up is no part of what both sides must agree on.
        let arrived = if options.role.source { 0 } else { tally.messages };
        println!("arrived={arrived}");
        return Ok(());
    }
    println!("messages={} bytes={} checksum={:016x}", tally.messages, tally.bytes, tally.hash_sum);
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    ensure!(options.streams > 0 && options.mean_size > 0, "streams and mean-size must be positive");
    tokio::time::timeout(TIME_LIMIT, run(&options)).await.context("the transfer hangs")?
}
