//! A data channel of WebRTC between two programs: DTLS by dimpl, SCTP and channels by Polypath.
//!
//! In one terminal `data_channel --local 127.0.0.1:4444 --peer 127.0.0.1:4445 --server chat`, in another one the same with the
//! addresses exchanged and without `--server`. Without ICE, both must reach each other, and without signalling the fingerprints that both
//! print are to be compared by their users, or told with `--fingerprint`.

use std::net::SocketAddr;

use anyhow::{Context, ensure};
use clap::{Parser, ValueEnum};
use polypath::AssociationError;
use polypath_datachannel::{ChannelParameters, Content, DataChannels};
use polypath_webrtc::dtls::{self, Role};
use polypath_webrtc::{
    Begin, Lossy, associate, channels, check, config, config_without_interleaving,
};
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
    /// Who opens the association.
    #[arg(long, value_enum, default_value_t)]
    begin: Begin,
    /// Do without I-DATA.
    #[arg(long)]
    no_interleaving: bool,
    /// Lose one packet of so many in both directions.
    #[arg(long, default_value_t = 0, value_name = "PACKETS")]
    lose_one_of: usize,
    /// The association ends by ABORT: of this side after `check`, of the peer after `echo`.
    #[arg(long)]
    abort: bool,
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
    let config = match options.no_interleaving {
        true => config_without_interleaving(),
        false => config(),
    };
    let layer = Lossy::new(connection.layer, options.lose_one_of);
    let association = associate(layer, options.begin, config).await.context("no association")?;
    let channels = channels(association.clone(), role);
    match options.what {
        What::Chat => chat(&channels, role).await?,
        What::Echo => {
            echo(channels).await;
            let end = association.closed().await;
            eprintln!("end: {end:?}");
            let by_abort = matches!(end, Err(AssociationError::AbortedByPeer(_)));
            ensure!(by_abort == options.abort, "an end of the other kind");
        }
        What::Check => {
            check::everything(&channels, options.lose_one_of > 0).await?;
            let interleaves = association.interleaves_messages();
            ensure!(interleaves != options.no_interleaving, "I-DATA: {interleaves}");
            if options.abort {
                association.abort("enough");
            } else {
                association.shutdown().await?;
            }
        }
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
