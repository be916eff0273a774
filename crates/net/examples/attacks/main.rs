//! Hostile peers on a network, a server that they attack, and the honest clients beside them. `tests/attacks/attacks.sh` runs them between
//! network namespaces and measures what the attacks cost.
//!
//! ```text
//! attacks server --local 10.77.1.1
//! attacks client --local 10.77.1.2 --to 10.77.1.1 --seconds 5
//! attacks attack renege --local 10.88.0.1 --to 10.77.1.1 --seconds 5
//! attacks list
//! ```
//!
//! Attackers come from a range of addresses that begins with `--local`. They know nothing but what is sent to them: tags, TSNs and
//! cookies are those of handshakes of their own.

mod associations;
mod churn;
mod client;
mod field;
mod peer;
mod relay;
mod server;
mod strangers;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use clap::{Args, Parser, Subcommand};

use crate::field::Field;

#[derive(Parser)]
struct Options {
    #[command(subcommand)]
    role: Role,
}

#[derive(Subcommand)]
enum Role {
    /// Echoes every message, with all extensions on.
    Server(server::Options),
    /// Transfers messages and connects anew all the time, and checks what comes back.
    Client(client::Options),
    /// Connects, sends, receives and leaves with many associations at a time.
    Churn(churn::Options),
    /// Attacks a server.
    Attack {
        /// One of the names that `list` prints.
        name: String,
        #[command(flatten)]
        target: Target,
    },
    /// Passes packets of one client on, and old ones of it again.
    Relay(relay::Options),
    /// Prints the names of the attacks.
    List,
}

#[derive(Args)]
struct Target {
    /// The first address of the attackers.
    #[arg(long)]
    local: Ipv4Addr,
    /// How many addresses they have.
    #[arg(long, default_value_t = 256)]
    addresses: u16,
    /// Address of the server.
    #[arg(long)]
    to: IpAddr,
    /// UDP port of the server.
    #[arg(long, default_value_t = 9899)]
    udp: u16,
    /// SCTP port of the server.
    #[arg(long, default_value_t = 5001)]
    port: u16,
    /// How long it is attacked.
    #[arg(long, default_value_t = 5)]
    seconds: u64,
    /// Packets per second.
    #[arg(long, default_value_t = 20_000)]
    rate: u32,
    /// Hostile associations at a time, where an attack has some.
    #[arg(long, default_value_t = 16)]
    associations: usize,
    /// Associations that are begun, where an attack begins as many as it can.
    #[arg(long, default_value_t = 30_000)]
    most: usize,
}

/// What an attack does until its time is over.
type Attack = fn(&mut Field) -> anyhow::Result<()>;

fn attacks() -> impl Iterator<Item = (&'static str, Attack)> {
    strangers::ATTACKS.into_iter().chain(associations::ATTACKS)
}

fn attack(name: &str, target: &Target) -> anyhow::Result<()> {
    let (_, run) = attacks()
        .find(|it| it.0 == name)
        .ok_or_else(|| anyhow::anyhow!("no attack has the name {name}: see `attacks list`"))?;
    let to = SocketAddr::new(target.to, target.udp);
    let mut field = Field::new(target.local, target.addresses, to, target.port);
    field.limit(target.seconds, target.rate, target.associations);
    field.most = target.most;
    run(&mut field)?;
    println!("{}", field.counts);
    Ok(())
}

fn main() -> anyhow::Result<()> {
    match Options::parse().role {
        Role::Server(options) => server::run(&options),
        Role::Client(options) => client::run(&options),
        Role::Churn(options) => churn::run(&options),
        Role::Attack { name, target } => attack(&name, &target),
        Role::Relay(options) => relay::run(&options),
        Role::List => {
            attacks().for_each(|(name, _)| println!("{name}"));
            Ok(())
        }
    }
}
