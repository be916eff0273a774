//! How fast one association is between two processes; `scripts/bench_net.py` runs it beside another stack.
//!
//! ```text
//! rate serve --local 127.0.0.1 --udp 19899
//! rate send --local 127.0.0.1 --to 127.0.0.1 --udp 19899 --size 1400 --seconds 5
//! ```
//!
//! With `--associations 8 --shards 2` at both sides, so many senders of one process, an endpoint each, transfer at the same
//! time to one endpoint of the other, and each process has so many threads and shards.
//!
//! Both use buffers of 8 MB, as `scripts/usrsctp_rate.c` does, and say at the end what they saw in one line of JSON.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use anyhow::ensure;
use clap::{Parser, Subcommand};
use polypath::config::{BufferSize, Burst};
use polypath::{
    Association, AssociationConfig, Carriers, Endpoint, EndpointConfig, EndpointStats, Message,
    Peer,
};
use tokio::runtime::Builder;
use tokio::task::JoinSet;

/// SCTP port of the receiver.
const PORT: u16 = 5001;
/// Send and receive buffer in bytes.
const BUFFER: u32 = 8 << 20;

/// Sends messages of one size, or receives them.
#[derive(Parser)]
struct Options {
    #[command(subcommand)]
    role: Role,
}

#[derive(Subcommand)]
enum Role {
    /// Receive from one sender, then end.
    Serve {
        #[command(flatten)]
        link: Link,
    },
    /// Send for some time, then end.
    Send {
        #[command(flatten)]
        link: Link,
        /// Addresses of the receiver.
        #[arg(long, value_delimiter = ',', required = true)]
        to: Vec<IpAddr>,
        /// Bytes of a message.
        #[arg(long, default_value_t = 1400)]
        size: usize,
        /// How long to send.
        #[arg(long, default_value_t = 5.0)]
        seconds: f64,
    },
}

#[derive(clap::Args)]
struct Link {
    /// Addresses of this side.
    #[arg(long, value_delimiter = ',', required = true)]
    local: Vec<IpAddr>,
    /// UDP port of the receiver.
    #[arg(long, default_value_t = 19899)]
    udp: u16,
    /// Use IP itself and not UDP.
    #[arg(long)]
    raw: bool,
    /// Path MTU to begin with, in bytes.
    #[arg(long, default_value_t = 1500)]
    mtu: u16,
    /// Associations at the same time.
    #[arg(long, default_value_t = 1)]
    associations: usize,
    /// Shards of the receiver's endpoint, and threads of each process.
    #[arg(long, default_value_t = 1)]
    shards: usize,
}

impl Link {
    fn config(&self) -> AssociationConfig {
        let mut config = AssociationConfig {
            mtu_bytes: self.mtu,
            send_buffer_bytes: BUFFER.into(),
            receive_buffer_bytes: BUFFER,
            ..AssociationConfig::default()
        };
        config.policies.send_buffer = BufferSize::Bytes;
        config.policies.receive_buffer = BufferSize::Bytes;
        // Received packets are coalesced and acknowledged together here, which a limit on bursts does not suit.
        config.policies.burst = Burst::Off;
        config
    }

    fn carriers(&self) -> Carriers {
        if self.raw { Carriers::RawIp } else { Carriers::Udp }
    }

    fn peer(&self, to: &[IpAddr]) -> Peer {
        let peer = Peer::new(to.iter().copied(), PORT);
        if self.raw { peer.raw_ip() } else { peer.encapsulation_port(self.udp) }
    }
}

async fn serve(link: &Link) -> anyhow::Result<()> {
    let config = EndpointConfig { association: link.config(), ..EndpointConfig::default() };
    let builder = Endpoint::builder(link.local.iter().copied()).port(PORT).shards(link.shards);
    let builder = builder.encapsulation_port(link.udp).carriers(link.carriers());
    let endpoint = builder.config(config).listen(link.associations).bind()?;
    println!("ready");
    let mut receivers = JoinSet::new();
    for _ in 0..link.associations {
        let association = endpoint.accept().await?;
        receivers.spawn(async move {
            let (mut bytes, mut begin) = (0, None);
            while let Some(message) = association.receive().await? {
                begin.get_or_insert_with(Instant::now);
                bytes += message.len();
            }
            anyhow::Ok((begin, bytes, association))
        });
    }
    let (mut bytes, mut begin, mut ended) = (0, None, Vec::new());
    while let Some(received) = receivers.join_next().await {
        let (from, count, association) = received??;
        bytes += count;
        begin = from.into_iter().chain(begin).min();
        ended.push(association);
    }
    let elapsed = begin.map_or(0.0, |begin| begin.elapsed().as_secs_f64());
    ensure!(elapsed > 0.0, "nothing came");
    endpoint.idle().await;
    report(bytes as f64 * 8.0 / elapsed, bytes, &ended, &[endpoint]);
    Ok(())
}

async fn send(link: &Link, to: &[IpAddr], size: usize, seconds: f64) -> anyhow::Result<()> {
    ensure!(size > 0 && seconds > 0.0, "size and seconds must be positive");
    let (begin, duration) = (Instant::now(), Duration::from_secs_f64(seconds));
    let (mut senders, mut endpoints, mut ended) = (JoinSet::new(), Vec::new(), Vec::new());
    for _ in 0..link.associations {
        let builder = Endpoint::builder(link.local.iter().copied()).encapsulation_port(0);
        let endpoint = builder.carriers(link.carriers()).shards(1).bind()?;
        let association = endpoint.connect(&link.peer(to), link.config()).await?;
        endpoints.push(endpoint);
        senders.spawn(async move {
            let payload = bytes::Bytes::from(vec![0x5A; size]);
            let mut bytes = 0;
            while begin.elapsed() < duration {
                association.send(Message::new(0, payload.clone())).await?;
                bytes += size;
            }
            association.shutdown().await?;
            anyhow::Ok((bytes, association))
        });
    }
    let mut bytes = 0;
    while let Some(sent) = senders.join_next().await {
        let (count, association) = sent??;
        bytes += count;
        ended.push(association);
    }
    let goodput = bytes as f64 * 8.0 / begin.elapsed().as_secs_f64();
    for endpoint in &endpoints {
        endpoint.idle().await;
    }
    report(goodput, bytes, &ended, &endpoints);
    Ok(())
}

/// One line of JSON.
fn report(goodput_bit_s: f64, bytes: usize, associations: &[Association], endpoints: &[Endpoint]) {
    let retransmissions: u64 = associations
        .iter()
        .flat_map(Association::path_stats)
        .map(|path| path.fast_retransmissions + path.timeout_retransmissions)
        .sum();
    let sacks: u64 = associations.iter().map(|association| association.stats().sacks_sent).sum();
    let sum = |counter: fn(&EndpointStats) -> u64| -> u64 {
        endpoints.iter().map(|endpoint| counter(&endpoint.stats())).sum()
    };
    println!(
        "{{\"goodput_bit_s\": {goodput_bit_s}, \"bytes\": {bytes}, \"retransmissions\": {retransmissions}, \
         \"packets_sent\": {}, \"send_calls\": {}, \"packets_received\": {}, \"receive_calls\": {}, \
         \"sacks_sent\": {sacks}}}",
        sum(|stats| stats.packets_sent),
        sum(|stats| stats.send_calls),
        sum(|stats| stats.packets_received),
        sum(|stats| stats.receive_calls),
    );
}

fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    let (Role::Serve { link } | Role::Send { link, .. }) = &options.role;
    let runtime = match link.shards {
        1 => Builder::new_current_thread().enable_all().build()?,
        threads => Builder::new_multi_thread().worker_threads(threads).enable_all().build()?,
    };
    runtime.block_on(async {
        match &options.role {
            Role::Serve { link } => serve(link).await,
            Role::Send { link, to, size, seconds } => send(link, to, *size, *seconds).await,
        }
    })
}
