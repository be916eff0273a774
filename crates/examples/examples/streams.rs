//! Streams of an association as objects: a quick and a slow consumer, side by side.
//!
//!     cargo run -p polypath-examples --example streams
//!
//! Stream 1 carries a file as bytes, which is read at once. Stream 2 carries measurements, whose reader needs longer for each than the next takes to
//! come: it keeps the newest ones. Neither delays the other.
#![allow(missing_docs)]

use std::time::Duration;

use anyhow::{Context, Result};
use polypath::config::{MessageInterleaving, StreamReconfiguration};
use polypath::{Association, AssociationConfig, Endpoint, EndpointConfig, Peer, SctpStream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const FILE_BYTES: usize = 4_000_000;
const MEASUREMENTS: u32 = 2000;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let mut config = AssociationConfig::default();
    // Streams have an end, and long messages do not occupy the association.
    config.policies.stream_reconfiguration = StreamReconfiguration::On;
    config.policies.message_interleaving = MessageInterleaving::On;
    let endpoint = |addresses: [&str; 2], config: &AssociationConfig| -> Result<_> {
        let addresses = [addresses[0].parse()?, addresses[1].parse()?];
        let config = EndpointConfig { association: config.clone(), ..EndpointConfig::default() };
        Ok(Endpoint::builder(addresses).encapsulation_port(0).config(config).listen(1).bind()?)
    };
    let server = endpoint(["127.0.0.81", "127.0.0.82"], &config)?;
    let client = endpoint(["127.0.0.83", "127.0.0.84"], &config)?;
    let peer = Peer::new(["127.0.0.81".parse()?], server.port())
        .encapsulation_port(server.encapsulation_port());
    let near = client.connect(&peer, config).await?;
    let far = server.accept().await?;

    let (sent, served) = tokio::join!(send(&near), serve(&far));
    sent?;
    for line in served? {
        println!("{line}");
    }
    tokio::try_join!(near.shutdown(), far.closed())?;
    Ok(())
}

async fn send(association: &Association) -> Result<()> {
    let mut file = association.stream(1)?;
    let measurements = association.stream(2)?;
    let write = async {
        file.write_all(&vec![7; FILE_BYTES]).await?;
        file.shutdown().await?;
        anyhow::Ok(())
    };
    let measure = async {
        for number in 0..MEASUREMENTS {
            measurements.send(number.to_be_bytes().repeat(250)).await?;
        }
        anyhow::Ok(())
    };
    tokio::try_join!(write, measure)?;
    let mut measurements = measurements;
    measurements.finish()?;
    Ok(())
}

/// Reads both streams, each in a task of its own.
async fn serve(association: &Association) -> Result<Vec<String>> {
    let mut readers = tokio::task::JoinSet::new();
    for _ in 0..2 {
        let stream = association.accept_stream().await?.context("a stream is missing")?;
        match stream.id() {
            1 => readers.spawn(read_file(stream)),
            _ => readers.spawn(read_measurements(stream)),
        };
    }
    readers.join_all().await.into_iter().collect()
}

async fn read_file(mut stream: SctpStream) -> Result<String> {
    let mut file = Vec::new();
    stream.read_to_end(&mut file).await?;
    Ok(format!("stream {}: {} bytes", stream.id(), file.len()))
}

async fn read_measurements(mut stream: SctpStream) -> Result<String> {
    stream.recv_half().keep_newest(Some(10_000));
    let mut count = 0;
    let mut last = 0;
    while let Some(measurement) = stream.receive().await? {
        count += 1;
        last =
            measurement.into_bytes().first_chunk().map_or(0, |number| u32::from_be_bytes(*number));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let missed = stream.recv_half().missed();
    let id = stream.id();
    Ok(format!("stream {id}: {count} measurements read, {missed} missed, the last was {last}"))
}
