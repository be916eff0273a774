//! The controller and the scheduler on a real network: sends bytes to a receiver and says what became of each path.
//!
//! ```text
//! network receive 127.0.0.31,127.0.0.32
//! network send 127.0.0.33,127.0.0.34 127.0.0.31 20000000
//! ```

use std::env;
use std::net::IpAddr;
use std::time::Instant;

use polypath::{AssociationConfig, Endpoint, Message, Peer};
use polypath_examples::{with_earliest_first, with_gentle};

/// SCTP and UDP port of the receiver.
const PORT: u16 = 5001;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["receive", local] => receive(&addresses(local)?).await,
        ["send", local, remote, bytes] => {
            send(&addresses(local)?, &addresses(remote)?, bytes.parse()?).await
        }
        _ => anyhow::bail!("usage: network receive ADDRESSES | send ADDRESSES ADDRESSES BYTES"),
    }
}

fn addresses(list: &str) -> anyhow::Result<Vec<IpAddr>> {
    Ok(list.split(',').map(str::parse).collect::<Result<_, _>>()?)
}

async fn receive(local: &[IpAddr]) -> anyhow::Result<()> {
    let builder = Endpoint::builder(local.iter().copied());
    let endpoint = builder.port(PORT).encapsulation_port(PORT).listen(1).bind()?;
    let association = endpoint.accept().await?;
    let mut bytes = 0;
    while let Some(message) = association.receive().await? {
        bytes += message.len();
    }
    println!("received {bytes} bytes");
    Ok(())
}

async fn send(local: &[IpAddr], remote: &[IpAddr], bytes: usize) -> anyhow::Result<()> {
    let endpoint = Endpoint::builder(local.iter().copied()).encapsulation_port(0).bind()?;
    let peer = Peer::new(remote.iter().copied(), PORT).encapsulation_port(PORT);
    let mut config = AssociationConfig::default();
    with_gentle(&mut config);
    with_earliest_first(&mut config);
    let association = endpoint.connect(&peer, config).await?;
    let begun = Instant::now();
    for piece in vec![7; bytes].chunks(10_000) {
        association.send(Message::new(0, piece.to_vec())).await?;
    }
    association.shutdown().await?;
    let rate = bytes as f64 * 8e-6 / begun.elapsed().as_secs_f64();
    println!("sent {bytes} bytes at {rate:.1} Mbit/s");
    for path in association.path_stats() {
        let srtt = path.srtt.unwrap_or_default().as_secs_f64() * 1e3;
        println!(
            "{} -> {}: window {} bytes, {srtt:.3} ms",
            path.local, path.remote, path.cwnd_bytes
        );
    }
    Ok(())
}
