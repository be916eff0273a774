//! Honest clients: one that transfers all the time, and one after the other that connects, says something and leaves.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use polypath::{Association, AssociationConfig, Endpoint, Message, Peer};
use tokio::time::timeout;

use crate::server::extended;

#[derive(clap::Args)]
pub struct Options {
    /// Addresses of the clients.
    #[arg(long, value_delimiter = ',', required = true)]
    local: Vec<IpAddr>,
    /// Addresses of the server.
    #[arg(long, value_delimiter = ',', required = true)]
    to: Vec<IpAddr>,
    /// UDP port of the server.
    #[arg(long, default_value_t = 9899)]
    udp: u16,
    /// SCTP port of the server.
    #[arg(long, default_value_t = 5001)]
    port: u16,
    /// How long.
    #[arg(long, default_value_t = 5)]
    seconds: u64,
    /// Reset streams, and delete and add an address, all the time.
    #[arg(long)]
    changes: bool,
    /// Use the default extensions only.
    #[arg(long)]
    plain: bool,
}

/// Messages of the transfer that are under way.
const UNDER_WAY: u32 = 16;
/// Bytes of each.
const LENGTH: usize = 16_384;
/// A client that has waited so long has no service.
const PATIENCE: Duration = Duration::from_secs(20);

fn content(number: u32, len: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..len).map(|at| (number as usize * 31 + at) as u8).collect();
    bytes[..4].copy_from_slice(&number.to_be_bytes());
    bytes
}

/// Transfers until the end, and returns the bytes that came back.
async fn transfer(association: &Association, until: Instant, changes: bool) -> anyhow::Result<u64> {
    let (mut sent, mut got) = (0, 0_u32);
    loop {
        while sent < got + UNDER_WAY && Instant::now() < until {
            association.send(Message::new(0, content(sent, LENGTH))).await?;
            sent += 1;
        }
        if got == sent {
            break;
        }
        let message =
            timeout(PATIENCE, association.receive()).await.context("no answer to a message")??;
        let bytes = message.context("the server ended the association")?.into_bytes();
        ensure!(bytes == content(got, LENGTH), "message {got} came back changed");
        got += 1;
        if changes && got % 64 == 0 {
            change(association, got / 64);
        }
    }
    Ok(u64::from(got) * LENGTH as u64)
}

/// Asks for something that an attacker could ask for again. That one request is under way already is no failure.
fn change(association: &Association, number: u32) {
    let _ = match number % 2 {
        0 => association.reset_outgoing_streams(&[1]).is_ok(),
        _ => association.add_outgoing_streams(1).is_ok(),
    };
}

/// Connects, sends a message, waits for it and leaves; the time that this took.
async fn visit(
    endpoint: &Endpoint,
    peer: &Peer,
    config: &AssociationConfig,
) -> anyhow::Result<Duration> {
    let began = Instant::now();
    let visit = async {
        let association = endpoint.connect(peer, config.clone()).await?;
        association.send(Message::new(0, content(7, 1000))).await?;
        let answer = association.receive().await?.context("the server said nothing")?;
        ensure!(answer.into_bytes() == content(7, 1000), "another message came back");
        association.shutdown().await?;
        Ok(())
    };
    timeout(PATIENCE, visit).await.context("a visit took too long")??;
    Ok(began.elapsed())
}

#[tokio::main(flavor = "current_thread")]
pub async fn run(options: &Options) -> anyhow::Result<()> {
    let config = if options.plain { AssociationConfig::default() } else { extended() };
    let endpoint = Endpoint::builder(options.local.iter().copied()).encapsulation_port(0).bind()?;
    let peer = Peer::new(options.to.iter().copied(), options.port).encapsulation_port(options.udp);
    let began = Instant::now();
    let until = began + Duration::from_secs(options.seconds);
    let association = timeout(PATIENCE, endpoint.connect(&peer, config.clone()))
        .await
        .context("no connection")??;
    let transferring = async {
        let bytes = transfer(&association, until, options.changes).await?;
        let elapsed = began.elapsed();
        let further = options.local.iter().skip(1).last();
        if let Some(last) = further.filter(|_| options.changes) {
            endpoint.bind_remove(*last).await?;
        }
        timeout(PATIENCE, association.shutdown()).await.context("no end of the transfer")??;
        anyhow::Ok(bytes as f64 * 8.0 / elapsed.as_secs_f64() / 1e6)
    };
    let visiting = async {
        let (mut times, mut failed) = (Vec::new(), Vec::new());
        while Instant::now() < until {
            match visit(&endpoint, &peer, &config).await {
                Ok(time) => times.push(time),
                Err(error) => failed.push(error),
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        (times, failed)
    };
    let (transferred, (mut times, failed)) = tokio::join!(transferring, visiting);
    times.sort();
    let ms = |it: Option<&Duration>| it.map_or(0.0, |it| it.as_secs_f64() * 1e3);
    let (median, longest) = (ms(times.get(times.len() / 2)), ms(times.last()));
    let mbits = *transferred.as_ref().unwrap_or(&0.0);
    println!(
        "mbits={mbits:.1} visits={} failed={} median_ms={median:.1} longest_ms={longest:.1}",
        times.len(),
        failed.len(),
    );
    transferred?;
    failed.into_iter().next().map_or(Ok(()), Err)
}
