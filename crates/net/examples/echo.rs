//! An echo server and its client, over as many paths as there are addresses.
//!
//! ```text
//! cargo run --example echo -- serve 127.0.0.1,127.0.0.2
//! cargo run --example echo -- say 127.0.0.1 "hello over two paths" --from 127.0.0.3,127.0.0.4
//! ```

use std::error::Error;
use std::net::IpAddr;

use polypath::{AssociationConfig, Endpoint, EndpointConfig, Message, Peer, source_address};

/// SCTP port of the echo service (RFC 862).
const PORT: u16 = 7;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

#[tokio::main]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["serve", local] => serve(&addresses(local)?).await,
        ["say", remote, text] => {
            let remote = addresses(remote)?;
            let local = remote.iter().map(|to| source_address(*to)).collect::<std::io::Result<Vec<_>>>()?;
            say(&local, &remote, text).await
        }
        ["say", remote, text, "--from", local] => say(&addresses(local)?, &addresses(remote)?, text).await,
        _ => Err("usage: echo serve ADDRESS[,ADDRESS...] | say ADDRESS[,...] TEXT [--from ADDRESS[,...]]".into()),
    }
}

fn addresses(list: &str) -> Result<Vec<IpAddr>> {
    Ok(list.split(',').map(str::parse).collect::<std::result::Result<_, _>>()?)
}

async fn serve(local: &[IpAddr]) -> Result<()> {
    // Limits for peers that are not trusted: places of each address, and memory of all.
    let limits = EndpointConfig {
        max_associations_per_address: Some(16),
        max_buffered_bytes: Some(64 << 20),
        ..EndpointConfig::default()
    };
    let builder = Endpoint::builder(local.iter().copied()).port(PORT).config(limits);
    let endpoint = builder.listen(128).bind()?;
    loop {
        let association = endpoint.accept().await?;
        tokio::spawn(async move {
            while let Some(message) = association.receive().await? {
                let (stream, ppid) = (message.stream(), message.ppid());
                association.send(Message::new(stream, message.into_bytes()).ppid(ppid)).await?;
            }
            Result::Ok(())
        });
    }
}

async fn say(local: &[IpAddr], remote: &[IpAddr], text: &str) -> Result<()> {
    let endpoint = Endpoint::builder(local.iter().copied()).encapsulation_port(0).bind()?;
    let peer = Peer::new(remote.iter().copied(), PORT);
    let association = endpoint.connect(&peer, AssociationConfig::default()).await?;
    association.send(Message::new(0, text.to_owned())).await?;
    let answer = association.receive().await?.ok_or("the server said nothing")?;
    println!("{}", String::from_utf8_lossy(&answer.into_bytes()));
    for path in association.path_stats() {
        println!("path {} -> {}: {:?}", path.local, path.remote, path.status);
    }
    association.shutdown().await?;
    Ok(())
}
