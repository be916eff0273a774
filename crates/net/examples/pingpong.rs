//! A message there and one back, over and over, between two processes; `tests/sockets/pingpong.c` does the same with sockets.
//!
//! ```text
//! pingpong serve 127.0.0.1 &
//! pingpong ask 127.0.0.1 64 20000
//! ```
//!
//! Prints a line of JSON: median, 90th and 99th percentile of the round trip in microseconds.

use std::net::IpAddr;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use polypath::{AssociationConfig, Endpoint, Message, Peer};

/// UDP port of the server, and its SCTP port.
const PORT: u16 = 19_877;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["serve", address] => serve(address.parse()?).await,
        ["ask", address, bytes, rounds] => {
            ask(address.parse()?, bytes.parse()?, rounds.parse()?).await
        }
        _ => bail!("usage: pingpong serve ADDRESS | ask ADDRESS BYTES ROUNDS"),
    }
}

async fn serve(address: IpAddr) -> Result<()> {
    let endpoint =
        Endpoint::builder([address]).encapsulation_port(PORT).port(PORT).listen(1).bind()?;
    let association = endpoint.accept().await?;
    while let Some(message) = association.receive().await? {
        association.send(Message::new(0, message.into_bytes())).await?;
    }
    Ok(association.closed().await?)
}

async fn ask(address: IpAddr, bytes: usize, rounds: usize) -> Result<()> {
    let endpoint = Endpoint::builder([address]).encapsulation_port(0).bind()?;
    let peer = Peer::new([address], PORT).encapsulation_port(PORT);
    let association = endpoint.connect(&peer, AssociationConfig::default()).await?;
    let mut times = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        let begun = Instant::now();
        association.send(Message::new(0, vec![0; bytes])).await?;
        association.receive().await?.context("the server has ended")?;
        times.push(begun.elapsed().as_secs_f64() * 1e6);
    }
    association.shutdown().await?;
    times.sort_by(f64::total_cmp);
    let [median, p90, p99] = [50, 90, 99].map(|percent| times[times.len() * percent / 100]);
    println!(
        r#"{{"bytes": {bytes}, "median_us": {median:.1}, "p90_us": {p90:.1}, "p99_us": {p99:.1}}}"#
    );
    Ok(())
}
