//! How fast one association is over the loopback interface of this host.
//!
//! ```text
//! cargo run --release --example throughput -- [PATHS [MESSAGE_BYTES [SECONDS [MTU [MAX_BURST]]]]]
//! ```

use std::error::Error;
use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use polypath::config::{BufferSize, Burst};
use polypath::{Association, AssociationConfig, Endpoint, EndpointConfig, Message, Peer};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

#[tokio::main]
async fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let mut next = |default: usize| arguments.next().map_or(Ok(default), |text| text.parse());
    let (paths, message, seconds, mtu) = (next(2)?, next(65_536)?, next(5)?, next(1500)?);
    let max_burst = next(0)?;
    let mut config = AssociationConfig {
        mtu_bytes: u16::try_from(mtu)?,
        send_buffer_bytes: 8 << 20,
        receive_buffer_bytes: 8 << 20,
        ..AssociationConfig::default()
    };
    config.policies.send_buffer = BufferSize::Bytes;
    config.policies.receive_buffer = BufferSize::Bytes;
    // Received packets are coalesced and acknowledged together here, which a limit on bursts does not suit.
    config.policies.burst = match u8::try_from(max_burst)? {
        0 => Burst::Off,
        packets => Burst::MaxBurst(packets.into()),
    };

    let server = Endpoint::builder(addresses(1, paths)?)
        .encapsulation_port(0)
        .listen(1)
        .config(EndpointConfig { association: config.clone(), ..EndpointConfig::default() })
        .bind()?;
    let client = Endpoint::builder(addresses(101, paths)?).encapsulation_port(0).bind()?;
    let peer =
        Peer::new(addresses(1, 1)?, server.port()).encapsulation_port(server.encapsulation_port());
    let near = client.connect(&peer, config).await?;
    let far = server.accept().await?;

    let sending = tokio::spawn(send(near.clone(), message, Duration::from_secs(seconds as u64)));
    let begin = Instant::now();
    let mut bytes = 0;
    while let Some(message) = far.receive().await? {
        bytes += message.len();
    }
    let elapsed = begin.elapsed().as_secs_f64();
    sending.await??;
    println!(
        "{:.3} Gbit/s over {paths} paths, {message} B messages, MTU {mtu}",
        bytes as f64 * 8e-9 / elapsed
    );
    for path in near.path_stats() {
        println!(
            "  {} -> {}: {} B acked, {} fast rtx, {} timer rtx, {} timeouts, cwnd {}, srtt {:?} ms",
            path.local,
            path.remote,
            path.data_bytes_acked,
            path.fast_retransmissions,
            path.timeout_retransmissions,
            path.timeouts,
            path.cwnd_bytes,
            path.srtt.map(|srtt| srtt.as_secs_f64() * 1e3)
        );
    }
    println!("  {} SACKs sent", far.stats().sacks_sent);
    println!("  sender {:?}\n  receiver {:?}", client.stats(), server.stats());
    Ok(())
}

fn addresses(first: u8, count: usize) -> Result<Vec<IpAddr>> {
    let count = u8::try_from(count)?;
    Ok((first..first + count).map(|last| Ipv4Addr::new(127, 0, 1, last).into()).collect())
}

async fn send(association: Association, message: usize, duration: Duration) -> Result<()> {
    let payload = bytes::Bytes::from(vec![0x5A; message]);
    let begin = Instant::now();
    while begin.elapsed() < duration {
        association.send(Message::new(0, payload.clone())).await?;
    }
    association.shutdown().await?;
    Ok(())
}
