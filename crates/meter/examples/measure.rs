//! A measurement between two hosts, without the program.
//!
//! ```text
//! cargo run --release --example measure -- server ADDRESS[,ADDRESS...] [UDP_PORT]
//! cargo run --release --example measure -- client SERVER LOCAL[,LOCAL...] [UDP_PORT [SECONDS [MESSAGE_BYTES]]]
//! ```

use std::error::Error;
use std::net::IpAddr;
use std::time::Duration;

use polypath::{ENCAPSULATION_PORT, Endpoint, EndpointConfig, Peer, Preset};
use polypath_meter::document::{Document, Sum};
use polypath_meter::{Client, Event, PORT, Plan, Server, association_config};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// One thread: an association is the work of one at a time.
#[tokio::main(flavor = "multi_thread", worker_threads = 1)]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize, default: u64| {
        arguments.get(place).map_or(Ok(default), |text| text.parse::<u64>())
    };
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["server", local, ..] => {
            serve(addresses(local)?, number(2, ENCAPSULATION_PORT.into())?).await
        }
        ["client", server, local, ..] => {
            let udp_port = number(3, ENCAPSULATION_PORT.into())?;
            let mut plan = Plan::new().duration(Duration::from_secs(number(4, 10)?));
            if arguments.len() > 5 {
                plan = plan.message_bytes(number(5, 0)?);
            }
            measure(server.parse()?, addresses(local)?, udp_port, plan).await
        }
        _ => Err("write server ADDRESSES or client SERVER ADDRESSES".into()),
    }
}

async fn serve(local: Vec<IpAddr>, udp_port: u64) -> Result<()> {
    let association = association_config(Preset::Recommended);
    let endpoint = Endpoint::builder(local)
        .port(PORT)
        .encapsulation_port(udp_port.try_into()?)
        .config(EndpointConfig { association, ..EndpointConfig::default() })
        .listen(16)
        .bind()?;
    println!("listening on UDP port {}", endpoint.encapsulation_port());
    Server::new().serve(&endpoint, |document| show("received", &document)).await;
    Ok(())
}

async fn measure(server: IpAddr, local: Vec<IpAddr>, udp_port: u64, plan: Plan) -> Result<()> {
    let endpoint = Endpoint::builder(local).encapsulation_port(0).bind()?;
    let peer = Peer::new([server], PORT).encapsulation_port(udp_port.try_into()?);
    let config = association_config(Preset::Recommended);
    let mut client = Client::connect(&endpoint, &peer, config, plan).await?;
    let mut observe = |event: Event<'_>| {
        if let Event::Interval(interval) = event {
            println!("{:6.2} s: {}", interval.sum.end, rate(&interval.sum));
        }
    };
    client.run(&mut observe).await?;
    show("measured", &client.into_document());
    endpoint.idle().await;
    Ok(())
}

fn show(what: &str, document: &Document) {
    let end = &document.end;
    let sent = end.sum_sent.as_ref().map_or("nothing".to_owned(), rate);
    let received = end.sum_received.as_ref().map_or("nothing".to_owned(), rate);
    println!("{what}: sent {sent}, received {received}");
    for path in &end.paths {
        println!(
            "  {} {} -> {}: {} bytes sent, {} received, {} retransmissions",
            path.path,
            path.local_host,
            path.remote_host,
            path.sent_bytes,
            path.received_bytes,
            path.retransmits
        );
    }
    if let Some(error) = &document.error {
        println!("  {error}");
    }
}

fn rate(sum: &Sum) -> String {
    format!("{:.3} Gbit/s in {} messages", sum.bits_per_second * 1e-9, sum.messages)
}

fn addresses(text: &str) -> Result<Vec<IpAddr>> {
    Ok(text.split(',').map(str::parse).collect::<std::result::Result<_, _>>()?)
}
