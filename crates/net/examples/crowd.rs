//! Many clients of one server at once, each with an address of its own and otherwise alike: the same UDP port and the same SCTP
//! port. Behind one address translator they have one address in common. `tests/interop/cgnat.sh` runs it.
//!
//! ```text
//! crowd server --local 127.0.0.1 --clients 1000
//! crowd clients --local 127.1.0.1 --to 127.0.0.1 --clients 1000
//! ```
//!
//! The server returns nothing before all clients are there. Each client checks every byte of what returns, and its order.

use std::net::{IpAddr, Ipv4Addr};
use std::ops::Range;
use std::sync::Arc;

use anyhow::{Context, ensure};
use clap::{Parser, Subcommand};
use polypath::{Association, AssociationConfig, Endpoint, Message, Peer};
use tokio::io::AsyncReadExt;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

/// SCTP port of everybody.
const PORT: u16 = 5001;
/// Many clients of one server at once.
#[derive(Parser)]
struct Options {
    #[command(subcommand)]
    role: Role,
}

#[derive(Subcommand)]
enum Role {
    /// Accepts every client and returns each message.
    Server {
        /// Address of the server.
        #[arg(long)]
        local: IpAddr,
        #[command(flatten)]
        common: Common,
    },
    /// An endpoint per client, on consecutive addresses.
    Clients {
        /// Address of the first client.
        #[arg(long)]
        local: Ipv4Addr,
        /// Address of the server.
        #[arg(long)]
        to: IpAddr,
        /// Messages of each client, of 500 to 5,500 bytes.
        #[arg(long, default_value_t = 30)]
        messages: u32,
        /// After half of the messages, prints "half" and waits for the end of standard input.
        #[arg(long)]
        pause: bool,
        #[command(flatten)]
        common: Common,
    },
}

#[derive(clap::Args)]
struct Common {
    /// How many clients.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u16).range(1..=20_000))]
    clients: u16,
}

async fn server(local: IpAddr, clients: usize) -> anyhow::Result<()> {
    let endpoint = Endpoint::builder([local]).port(PORT).listen(clients).bind()?;
    println!("ready");
    let everybody = Arc::new(Barrier::new(clients + 1));
    let mut tasks = JoinSet::new();
    for _ in 0..clients {
        let association = endpoint.accept().await?;
        tasks.spawn(give_back(association, Arc::clone(&everybody)));
    }
    everybody.wait().await;
    println!("together={clients}");
    let (mut complete, mut messages) = (0, 0);
    while let Some(outcome) = tasks.join_next().await {
        match outcome? {
            Ok(count) => (complete, messages) = (complete + 1, messages + count),
            Err(error) => eprintln!("an association failed: {error}"),
        }
    }
    println!("complete={complete} messages={messages}");
    ensure!(complete == clients, "{complete} of {clients} associations ended in good order");
    Ok(())
}

/// Returns every message until the client shuts down.
async fn give_back(association: Association, everybody: Arc<Barrier>) -> anyhow::Result<u64> {
    everybody.wait().await;
    let mut count = 0;
    while let Some(message) = association.receive().await? {
        association.send(Message::new(message.stream(), message.into_bytes())).await?;
        count += 1;
    }
    association.closed().await?;
    Ok(count)
}

/// What a client does, and where.
#[derive(Clone, Copy)]
struct Client {
    number: u16,
    address: Ipv4Addr,
    server: IpAddr,
    messages: u32,
}

impl Client {
    /// A message that differs from every other message of all clients.
    fn message(&self, n: u32) -> Vec<u8> {
        let seed = u32::from(self.number) << 16 | n;
        let len = 500 + seed.wrapping_mul(0x9E37_79B1) as usize % 5_000;
        let mut bytes: Vec<u8> = (0..len).map(|at| (seed as usize + at) as u8).collect();
        bytes[..4].copy_from_slice(&seed.to_be_bytes());
        bytes
    }

    async fn run(self, halfway: Arc<Barrier>) -> anyhow::Result<()> {
        let endpoint = Endpoint::builder([self.address.into()]).port(PORT).bind()?;
        let peer = Peer::new([self.server], PORT);
        let association = endpoint.connect(&peer, AssociationConfig::default()).await?;
        self.exchange(&association, 0..self.messages / 2).await?;
        // Once to say so, once to go on.
        halfway.wait().await;
        halfway.wait().await;
        self.exchange(&association, self.messages / 2..self.messages).await?;
        association.shutdown().await?;
        Ok(())
    }

    /// Sends these messages, and checks that they come back whole and in order.
    async fn exchange(&self, association: &Association, numbers: Range<u32>) -> anyhow::Result<()> {
        let send = async {
            for n in numbers.clone() {
                association.send(Message::new(0, self.message(n))).await?;
            }
            Ok(())
        };
        let receive = async {
            for n in numbers.clone() {
                let message = association.receive().await?.context("the server ended too early")?;
                ensure!(message.into_bytes() == self.message(n), "message {n} came back changed");
            }
            Ok(())
        };
        tokio::try_join!(send, receive)?;
        Ok(())
    }
}

async fn clients(first: Client, clients: u16, pause: bool) -> anyhow::Result<()> {
    let halfway = Arc::new(Barrier::new(usize::from(clients) + 1));
    let mut tasks = JoinSet::new();
    for number in 0..clients {
        let address = Ipv4Addr::from_bits(first.address.to_bits() + u32::from(number));
        let client = Client { number, address, ..first };
        let halfway = Arc::clone(&halfway);
        tasks.spawn(async move {
            client.run(halfway).await.with_context(|| format!("the client at {address}"))
        });
    }
    tokio::select! {
        _ = halfway.wait() => println!("half"),
        // None ends before that unless it fails.
        Some(outcome) = tasks.join_next() => outcome??,
    }
    if pause {
        tokio::io::stdin().read_to_end(&mut Vec::new()).await?;
    }
    halfway.wait().await;
    while let Some(outcome) = tasks.join_next().await {
        outcome??;
    }
    println!("complete={clients} messages={}", u64::from(clients) * u64::from(first.messages));
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    match Options::parse().role {
        Role::Server { local, common } => server(local, common.clients.into()).await,
        Role::Clients { local, to, messages, pause, common } => {
            let first = Client { number: 0, address: local, server: to, messages };
            clients(first, common.clients, pause).await
        }
    }
}
