//! How many associations of one endpoint share it, all of them with as much to send as goes; `scripts/bench_net.py` runs
//! it.
//!
//! ```text
//! fairness hub --local 127.0.0.1 --associations 1000
//! fairness spokes --local 127.0.0.2 --to 127.0.0.1 --associations 1000
//! ```
//!
//! The hub is one endpoint; each spoke is an endpoint of its own, with one association. Whoever receives says at the end
//! in one line of JSON how the bytes were shared: Jain's index (sum of x)^2 / (n * sum of x^2), which is 1 if all got the
//! same and 1/n if one got everything.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::ensure;
use bytes::Bytes;
use clap::{Parser, Subcommand, ValueEnum};
use polypath::config::{BufferSize, STUDY_BUFFER_BYTES};
use polypath::{Association, AssociationConfig, Endpoint, EndpointConfig, Message, Peer};

/// SCTP port of the hub.
const PORT: u16 = 5001;
/// SCTP ports of the spokes, from this on: their addresses are the same, and so must not be their ports.
const FIRST_PORT: u16 = 6000;
/// Most associations.
const MOST: u16 = 50_000;

/// Many saturated associations of one endpoint.
#[derive(Parser)]
struct Options {
    #[command(subcommand)]
    role: Role,
}

#[derive(Subcommand)]
enum Role {
    /// One endpoint that accepts every association.
    Hub {
        #[command(flatten)]
        common: Common,
    },
    /// An endpoint per association.
    Spokes {
        #[command(flatten)]
        common: Common,
        /// Address of the hub.
        #[arg(long)]
        to: IpAddr,
    },
}

#[derive(clap::Args)]
struct Common {
    /// Address of this side.
    #[arg(long)]
    local: IpAddr,
    /// UDP port of the hub.
    #[arg(long, default_value_t = 19898)]
    udp: u16,
    /// How many associations.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u16).range(1..=i64::from(MOST)))]
    associations: u16,
    /// Who sends.
    #[arg(long, value_enum, default_value_t = Sender::Hub)]
    sender: Sender,
    /// Bytes of a message.
    #[arg(long, default_value_t = 1400)]
    size: usize,
    /// How long all send before bytes count.
    #[arg(long, default_value_t = 2.0)]
    warmup: f64,
    /// How long bytes count.
    #[arg(long, default_value_t = 5.0)]
    seconds: f64,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Sender {
    /// The hub sends to all spokes, as servers do that many download from.
    Hub,
    /// All spokes send to the hub.
    Spokes,
}

/// Buffers of one size from the beginning: where only the processor limits, those that grew first would keep their lead.
fn config() -> AssociationConfig {
    let mut config = AssociationConfig {
        send_buffer_bytes: STUDY_BUFFER_BYTES.into(),
        receive_buffer_bytes: STUDY_BUFFER_BYTES,
        ..AssociationConfig::default()
    };
    config.policies.send_buffer = BufferSize::Bytes;
    config.policies.receive_buffer = BufferSize::Bytes;
    config
}

async fn hub(common: &Common) -> anyhow::Result<()> {
    let endpoint = Endpoint::builder([common.local])
        .port(PORT)
        .encapsulation_port(common.udp)
        .config(EndpointConfig { association: config(), ..EndpointConfig::default() })
        .listen(common.associations.into())
        .bind()?;
    println!("ready");
    let mut associations = Vec::new();
    while associations.len() < common.associations.into() {
        associations.push(endpoint.accept().await?);
    }
    run(common, Sender::Hub, associations, &[endpoint]).await
}

async fn spokes(common: &Common, to: IpAddr) -> anyhow::Result<()> {
    let peer = Peer::new([to], PORT).encapsulation_port(common.udp);
    let (mut endpoints, mut associations) = (Vec::new(), Vec::new());
    for port in (FIRST_PORT..).take(common.associations.into()) {
        let endpoint = Endpoint::builder([common.local]).port(port).encapsulation_port(0).bind()?;
        associations.push(endpoint.connect(&peer, config()).await?);
        endpoints.push(endpoint);
    }
    run(common, Sender::Spokes, associations, &endpoints).await
}

/// Sends on all associations until the other side ends them, or receives for some time and ends them.
async fn run(
    common: &Common,
    side: Sender,
    associations: Vec<Association>,
    endpoints: &[Endpoint],
) -> anyhow::Result<()> {
    ensure!(common.size > 0 && common.seconds > 0.0 && common.warmup >= 0.0, "nothing to measure");
    if common.sender == side {
        let payload = Bytes::from(vec![0x5A; common.size]);
        let tasks: Vec<_> = associations
            .into_iter()
            .map(|association| tokio::spawn(send(association, payload.clone())))
            .collect();
        for task in tasks {
            task.await?;
        }
    } else {
        let counters: Arc<[AtomicU64]> = associations.iter().map(|_| AtomicU64::new(0)).collect();
        for (number, association) in associations.into_iter().enumerate() {
            tokio::spawn(receive(association, Arc::clone(&counters), number));
        }
        tokio::time::sleep(Duration::from_secs_f64(common.warmup)).await;
        let (before, begin) = (read(&counters), Instant::now());
        tokio::time::sleep(Duration::from_secs_f64(common.seconds)).await;
        let (after, elapsed) = (read(&counters), begin.elapsed().as_secs_f64());
        for endpoint in endpoints {
            endpoint.close("enough");
        }
        let bytes: Vec<_> =
            after.iter().zip(&before).map(|(after, before)| after - before).collect();
        report(&bytes, elapsed);
    }
    for endpoint in endpoints {
        endpoint.idle().await;
    }
    Ok(())
}

async fn send(association: Association, payload: Bytes) {
    while association.send(Message::new(0, payload.clone())).await.is_ok() {}
}

async fn receive(association: Association, counters: Arc<[AtomicU64]>, number: usize) {
    while let Ok(Some(message)) = association.receive().await {
        counters[number].fetch_add(message.len() as u64, Ordering::Relaxed);
    }
}

fn read(counters: &[AtomicU64]) -> Vec<u64> {
    counters.iter().map(|counter| counter.load(Ordering::Relaxed)).collect()
}

/// Jain's fairness index; 0 if nothing came at all.
fn jain(bytes: &[u64]) -> f64 {
    let sum: f64 = bytes.iter().map(|&x| x as f64).sum();
    let squares: f64 = bytes.iter().map(|&x| (x as f64).powi(2)).sum();
    if squares > 0.0 { sum * sum / (bytes.len() as f64 * squares) } else { 0.0 }
}

/// One line of JSON.
fn report(bytes: &[u64], elapsed: f64) {
    let rate = |bytes: u64| bytes as f64 * 8.0 / elapsed;
    println!(
        "{{\"jain\": {}, \"goodput_bit_s\": {:.0}, \"bytes\": {}, \"least_bit_s\": {:.0}, \"most_bit_s\": {:.0}}}",
        jain(bytes),
        rate(bytes.iter().sum()),
        bytes.iter().sum::<u64>(),
        rate(bytes.iter().copied().min().unwrap_or(0)),
        rate(bytes.iter().copied().max().unwrap_or(0)),
    );
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    match &Options::parse().role {
        Role::Hub { common } => hub(common).await,
        Role::Spokes { common, to } => spokes(common, *to).await,
    }
}
