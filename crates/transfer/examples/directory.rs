//! Copies a directory to another host, without the program.
//!
//! ```text
//! cargo run --release --example directory -- receive DIRECTORY ADDRESS[,ADDRESS...]
//! cargo run --release --example directory -- send DIRECTORY RECEIVER LOCAL[,LOCAL...]
//! ```

use std::error::Error;
use std::net::IpAddr;
use std::time::Duration;

use polypath::{Endpoint, EndpointConfig, Peer, Preset};
use polypath_transfer::{Batch, Inbox, PORT, Report, Sender, association_config};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

#[tokio::main]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["receive", directory, local] => receive(directory, addresses(local)?).await,
        ["send", directory, receiver, local] => {
            send(directory, receiver.parse()?, addresses(local)?).await
        }
        _ => Err("write receive DIRECTORY ADDRESSES or send DIRECTORY RECEIVER ADDRESSES".into()),
    }
}

/// Receives from all senders until the program is interrupted.
async fn receive(directory: &str, local: Vec<IpAddr>) -> Result<()> {
    let association = association_config(Preset::Recommended);
    let endpoint = Endpoint::builder(local)
        .port(PORT)
        .config(EndpointConfig { association, ..EndpointConfig::default() })
        .listen(16)
        .bind()?;
    let inbox = Inbox::new(directory);
    inbox.prepare()?;
    inbox.serve(&endpoint, |report| show(&report)).await;
    Ok(())
}

/// Sends the directory, and goes on when an association fails.
async fn send(directory: &str, receiver: IpAddr, local: Vec<IpAddr>) -> Result<()> {
    let batch = Batch::of(&[directory])?;
    let endpoint = Endpoint::builder(local).encapsulation_port(0).bind()?;
    let (peer, config) = (Peer::new([receiver], PORT), association_config(Preset::Recommended));
    let mut sender = Sender::connect(&endpoint, &peer, config.clone()).await?;
    let again = || endpoint.connect(&peer, config.clone());
    sender.send_with_retries(batch, Duration::from_secs(600), again).await?;
    show(&sender.into_report());
    endpoint.idle().await;
    Ok(())
}

fn show(report: &Report) {
    for file in &report.files {
        println!("{}: {:?}, {} bytes", file.name, file.status, file.bytes);
    }
    for path in &report.paths {
        println!("  {} {} -> {}: {} bytes", path.name, path.local, path.remote, path.bytes);
    }
    if let Some(error) = &report.error {
        println!("  {error}");
    }
}

fn addresses(text: &str) -> Result<Vec<IpAddr>> {
    Ok(text.split(',').map(str::parse).collect::<std::result::Result<_, _>>()?)
}
