//! How fast one association is between two processes; `scripts/bench_net.py` runs it beside another stack.
//!
//! ```text
//! rate serve --local 127.0.0.1 --udp 19899
//! rate send --local 127.0.0.1 --to 127.0.0.1 --udp 19899 --size 1400 --seconds 5
//! ```
//!
//! Both use buffers of 8 MB, as `scripts/usrsctp_rate.c` does, and say at the end what they saw in one line of JSON.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use anyhow::ensure;
use clap::{Parser, Subcommand};
use polypath::config::Burst;
use polypath::{
    Association, AssociationConfig, Carriers, Endpoint, EndpointConfig, EndpointStats, Message,
    Peer,
};

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
}

impl Link {
    fn config(&self) -> AssociationConfig {
        let mut config = AssociationConfig {
            mtu_bytes: self.mtu,
            send_buffer_bytes: BUFFER.into(),
            receive_buffer_bytes: BUFFER,
            ..AssociationConfig::default()
        };
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
    let builder = Endpoint::builder(link.local.iter().copied()).port(PORT);
    let builder = builder.encapsulation_port(link.udp).carriers(link.carriers());
    let endpoint = builder.config(config).listen(1).bind()?;
    println!("ready");
    let association = endpoint.accept().await?;
    let (mut bytes, mut begin) = (0, None);
    while let Some(message) = association.receive().await? {
        begin.get_or_insert_with(Instant::now);
        bytes += message.len();
    }
    let elapsed = begin.map_or(0.0, |begin| begin.elapsed().as_secs_f64());
    ensure!(elapsed > 0.0, "nothing came");
    endpoint.idle().await;
    report(bytes as f64 * 8.0 / elapsed, bytes, &association, endpoint.stats());
    Ok(())
}

async fn send(link: &Link, to: &[IpAddr], size: usize, seconds: f64) -> anyhow::Result<()> {
    ensure!(size > 0 && seconds > 0.0, "size and seconds must be positive");
    let builder = Endpoint::builder(link.local.iter().copied()).encapsulation_port(0);
    let endpoint = builder.carriers(link.carriers()).bind()?;
    let association = endpoint.connect(&link.peer(to), link.config()).await?;
    let payload = bytes::Bytes::from(vec![0x5A; size]);
    let (begin, duration) = (Instant::now(), Duration::from_secs_f64(seconds));
    let mut bytes = 0;
    while begin.elapsed() < duration {
        association.send(Message::new(0, payload.clone())).await?;
        bytes += size;
    }
    association.shutdown().await?;
    let goodput = bytes as f64 * 8.0 / begin.elapsed().as_secs_f64();
    endpoint.idle().await;
    report(goodput, bytes, &association, endpoint.stats());
    Ok(())
}

/// One line of JSON.
fn report(goodput_bit_s: f64, bytes: usize, association: &Association, sockets: EndpointStats) {
    let retransmissions: u64 = association
        .path_stats()
        .iter()
        .map(|path| path.fast_retransmissions + path.timeout_retransmissions)
        .sum();
    println!(
        "{{\"goodput_bit_s\": {goodput_bit_s}, \"bytes\": {bytes}, \"retransmissions\": {retransmissions}, \
         \"packets_sent\": {}, \"send_calls\": {}, \"packets_received\": {}, \"receive_calls\": {}, \
         \"sacks_sent\": {}}}",
        sockets.packets_sent,
        sockets.send_calls,
        sockets.packets_received,
        sockets.receive_calls,
        association.stats().sacks_sent,
    );
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    match &Options::parse().role {
        Role::Serve { link } => serve(link).await,
        Role::Send { link, to, size, seconds } => send(link, to, *size, *seconds).await,
    }
}
