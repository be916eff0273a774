//! A data channel of WebRTC between two programs: DTLS by dimpl, SCTP and channels by Polypath.
//!
//! In one terminal `data_channel --local 127.0.0.1:4444 --peer 127.0.0.1:4445 --server chat`, in another one the same with the
//! addresses exchanged and without `--server`. Without ICE, both must reach each other, and without signalling the fingerprints that both
//! print are to be compared by their users, or told with `--fingerprint`.

use std::net::SocketAddr;

use anyhow::{Context, bail, ensure};
use clap::{Parser, ValueEnum};
use polypath_datachannel::{ChannelParameters, Content, DataChannel, DataChannels, Reliability};
use polypath_webrtc::dtls::{self, Role};
use polypath_webrtc::{associate, channels};
use tokio::io::{AsyncBufReadExt, BufReader, stdin};
use tokio::net::UdpSocket;

#[derive(Parser)]
#[command(about = "A data channel of WebRTC over DTLS, with Polypath")]
struct Options {
    /// Address and UDP port of this side.
    #[arg(long)]
    local: SocketAddr,
    /// Address and UDP port of the peer.
    #[arg(long)]
    peer: SocketAddr,
    /// Wait for the DTLS handshake of the peer, which begins it otherwise.
    #[arg(long)]
    server: bool,
    /// Fingerprint (SHA-256) that the certificate of the peer must have.
    #[arg(long)]
    fingerprint: Option<String>,
    /// What to do.
    what: What,
}

#[derive(Clone, Copy, ValueEnum)]
enum What {
    /// Lines between standard input and standard output, over one channel.
    Chat,
    /// Send everything back that comes on channels of the peer, until it leaves.
    Echo,
    /// Open channels of every kind to a peer that sends everything back, and see whether it does.
    Check,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    let socket = UdpSocket::bind(options.local).await.context("cannot bind the UDP port")?;
    socket.connect(options.peer).await?;
    let certificate = dimpl::certificate::generate_self_signed_certificate()?;
    eprintln!("own fingerprint:  {}", certificate.fingerprint_str());
    let role = if options.server { Role::Server } else { Role::Client };
    let connection =
        dtls::connect(socket, role, certificate).await.context("the DTLS handshake failed")?;
    eprintln!("peer fingerprint: {}", connection.peer_fingerprint);
    if let Some(wanted) = &options.fingerprint {
        let is_wanted = wanted.eq_ignore_ascii_case(&connection.peer_fingerprint);
        ensure!(is_wanted, "the certificate of the peer is not the one that was expected");
    }
    let association = associate(connection.layer).await.context("no association")?;
    let channels = channels(association.clone(), role);
    match options.what {
        What::Chat => chat(&channels, role).await?,
        What::Echo => echo(channels).await,
        What::Check => check(&channels).await?,
    }
    // Whoever has left already is gone.
    let _ = association.shutdown_within(std::time::Duration::from_secs(2)).await;
    Ok(())
}

async fn chat(channels: &DataChannels, role: Role) -> anyhow::Result<()> {
    let channel = match role {
        Role::Client => channels.open(ChannelParameters::new("chat")).await?,
        Role::Server => channels.accept().await.context("the peer opened no channel")?,
    };
    let mut lines = BufReader::new(stdin()).lines();
    loop {
        tokio::select! {
            line = lines.next_line() => match line? {
                Some(line) => channel.send(line).await?,
                None => return Ok(()),
            },
            message = channel.receive() => match message {
                Some(Content::Text(text)) => println!("{text}"),
                Some(Content::Binary(bytes)) => println!("{} bytes", bytes.len()),
                None => return Ok(()),
            },
        }
    }
}

async fn echo(channels: DataChannels) {
    while let Some(channel) = channels.accept().await {
        tokio::spawn(async move {
            while let Some(content) = channel.receive().await {
                if channel.send(content).await.is_err() {
                    return;
                }
            }
        });
    }
}

async fn check(channels: &DataChannels) -> anyhow::Result<()> {
    let new = ChannelParameters::new;
    let kinds = [
        new("ordered").protocol("test"),
        new("unordered").unordered().priority(1024),
        new("limited").reliability(Reliability::MaxRetransmissions(1000)),
        new("timed").unordered().reliability(Reliability::MaxLifetimeMs(60_000)).priority(128),
    ];
    for parameters in kinds {
        let label = parameters.label.clone();
        let channel = channels.open(parameters).await?;
        ensure!(channel.confirmed().await, "{label}: the peer refuses the channel");
        check_channel(&channel).await.with_context(|| label.clone())?;
        eprintln!("{label}: ok");
        channel.close();
    }
    Ok(())
}

/// Sends messages, and takes their echoes in any order.
async fn check_channel(channel: &DataChannel) -> anyhow::Result<()> {
    let sizes = [1, 3, 1000, 1200, 5000, 60_000];
    let of = |n: usize| match n % 2 {
        0 => Content::from(vec![n as u8; sizes[n % sizes.len()]]),
        _ => Content::from("x".repeat(sizes[n % sizes.len()])),
    };
    let contents: Vec<Content> = (0..60).map(of).collect();
    let send = async {
        for content in &contents {
            channel.send(content.clone()).await?;
        }
        anyhow::Ok(())
    };
    let receive = async {
        let mut missing = contents.clone();
        while !missing.is_empty() {
            let echo = channel.receive().await.context("the peer closed the channel")?;
            match missing.iter().position(|content| *content == echo) {
                Some(0) => drop(missing.remove(0)),
                Some(place) if !channel.parameters().ordered => drop(missing.remove(place)),
                Some(_) => bail!("an ordered message came out of order"),
                None => bail!("{} bytes came back that were never sent", echo.len()),
            }
        }
        anyhow::Ok(())
    };
    tokio::try_join!(send, receive).map(|_| ())
}
