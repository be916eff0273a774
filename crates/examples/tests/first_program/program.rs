use std::error::Error;
use std::net::IpAddr;

use polypath::{AssociationConfig, Endpoint, Event, Message, Peer};

/// SCTP port of the server.
const PORT: u16 = 5001;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

#[tokio::main]
async fn main() -> Result<()> {
    let server = ["127.0.0.1".parse()?, "127.0.0.2".parse()?];
    let client = ["127.0.0.3".parse()?, "127.0.0.4".parse()?];
    match std::env::args().nth(1).as_deref() {
        Some("serve") => serve(server).await,
        Some("send") => send(client, server).await,
        _ => Err("usage: first-program serve|send".into()),
    }
}

/// Counts what each client sends.
async fn serve(local: [IpAddr; 2]) -> Result<()> {
    let endpoint = Endpoint::builder(local).port(PORT).listen(16).bind()?;
    loop {
        let association = endpoint.accept().await?;
        tokio::spawn(async move {
            let mut bytes = 0;
            while let Some(message) = association.receive().await? {
                bytes += message.into_bytes().len();
            }
            println!("received {bytes} bytes from {:?}", association.remote_addresses());
            Result::Ok(())
        });
    }
}

/// Sends 100 MB, loses an address in the middle, and prints what each path carried.
async fn send(local: [IpAddr; 2], server: [IpAddr; 2]) -> Result<()> {
    let endpoint = Endpoint::builder(local).encapsulation_port(0).bind()?;
    let peer = Peer::new(server, PORT);
    let association = endpoint.connect(&peer, AssociationConfig::default()).await?;
    let mut events = association.events();
    tokio::spawn(async move {
        while let Some(event) = events.next().await {
            if let Event::Path { path, change } = event {
                println!("{path}: {change:?}");
            }
        }
    });
    for number in 0..10_000 {
        if number == 5_000 {
            endpoint.bind_remove(local[0]).await?;
        }
        association.send(Message::new(0, vec![7; 10_000])).await?;
    }
    association.shutdown().await?;
    for path in association.path_stats() {
        println!("{} -> {}: {} bytes", path.local, path.remote, path.data_bytes_acked);
    }
    Ok(())
}
