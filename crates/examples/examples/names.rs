//! A server at every address of its host, and a client that knows its name.
//!
//!     cargo run -p polypath-examples --example names -- server
//!     cargo run -p polypath-examples --example names -- client localhost:5001
//!
//! Without arguments both run in one program. The server's addresses follow its interfaces: add one (`ip address add`), and the next client can
//! use it. The name may have several addresses, which are all tried; the client lists the paths that came of it.
#![allow(missing_docs)]

use std::time::Duration;

use anyhow::{Result, bail};
use polypath::{AssociationConfig, Endpoint, Event, EventKinds, Peer, default_addresses};

const PORT: u16 = 5001;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => {
            let server = bind_everywhere()?;
            let peer = Peer::resolve(&format!("localhost:{PORT}")).await?;
            let peer = peer.encapsulation_port(server.encapsulation_port());
            tokio::select! {
                served = serve(&server) => served,
                done = greet(&peer) => done,
            }
        }
        ["server"] => serve(&bind_everywhere()?).await,
        ["client", name] => greet(&Peer::resolve(name).await?).await,
        _ => bail!("usage: names [server | client NAME:PORT]"),
    }
}

/// On Linux a wildcard stands for the addresses of all interfaces; elsewhere they must be named.
fn bind_everywhere() -> Result<Endpoint> {
    let addresses = match cfg!(target_os = "linux") {
        true => vec!["0.0.0.0".parse()?, "::".parse()?],
        false => default_addresses(),
    };
    let udp_port = if std::env::args().len() > 1 { polypath::ENCAPSULATION_PORT } else { 0 };
    let builder = Endpoint::builder(addresses).port(PORT).encapsulation_port(udp_port);
    Ok(builder.listen(16).bind()?)
}

async fn serve(server: &Endpoint) -> Result<()> {
    let mut known = vec![];
    let mut look = tokio::time::interval(Duration::from_secs(1));
    loop {
        tokio::select! {
            _ = look.tick() => {
                let now = server.local_addresses();
                if now != known {
                    println!("server at {now:?}");
                    known = now;
                }
            }
            client = server.accept() => {
                let client = client?;
                tokio::spawn(async move {
                    while let Ok(Some(mut stream)) = client.accept_stream().await {
                        while let Ok(Some(message)) = stream.receive().await {
                            if stream.send(message.into_bytes()).await.is_err() {
                                return;
                            }
                        }
                    }
                });
            }
        }
    }
}

async fn greet(peer: &Peer) -> Result<()> {
    println!("the name has the addresses {:?}", peer.addresses());
    let client = Endpoint::builder(default_addresses()).encapsulation_port(0).bind()?;
    let association = client.connect(peer, AssociationConfig::default()).await?;
    let mut stream = association.stream(0)?;
    stream.send("hello").await?;
    let answer = stream.receive().await?.map(|message| message.into_bytes());
    println!("answer: {answer:?}");
    // Only what concerns paths: nothing else is worth a wake-up here.
    let mut events = association.events_of(EventKinds::PATH);
    let first = tokio::time::timeout(Duration::from_secs(1), events.next()).await;
    if let Ok(Some(Event::Path { path, change })) = first {
        println!("{path}: {change:?}");
    }
    for path in association.path_stats() {
        println!("{}: {} -> {}, {:?}", path.path, path.local, path.remote, path.status);
    }
    association.shutdown_within(Duration::from_secs(5)).await?;
    Ok(())
}
