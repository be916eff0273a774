//! Channels of every kind to a peer that sends everything back.

use std::time::Duration;

use anyhow::{Context, bail, ensure};
use polypath_datachannel::{ChannelParameters, Content, DataChannel, DataChannels, Reliability};

/// Channels that are open at once.
const CHANNELS: usize = 200;
/// The largest message that implementations of WebRTC accept by default.
const LARGEST: usize = 256 << 10;
/// Messages that may be abandoned.
const ABANDONABLE: u16 = 300;

/// All of it: every kind, many channels at once, large messages, where packets get lost also messages that are abandoned, and zero
/// checksums, which both sides have.
///
/// # Errors
///
/// If something does not come back as it was sent.
pub async fn everything(channels: &DataChannels, loses_packets: bool) -> anyhow::Result<()> {
    every_kind(channels).await?;
    many_channels(channels).await?;
    large_messages(channels).await?;
    if loses_packets {
        abandoned_messages(channels).await?;
    }
    let stats = channels.association().stats();
    let zero = (stats.zero_checksums_sent, stats.zero_checksums_received);
    ensure!(zero.0 > 0 && zero.1 > 0, "zero checksums sent and received: {zero:?}");
    Ok(())
}

async fn open(
    channels: &DataChannels,
    parameters: ChannelParameters,
) -> anyhow::Result<DataChannel> {
    let label = parameters.label.clone();
    let channel = channels.open(parameters).await?;
    ensure!(channel.confirmed().await, "{label}: the peer refuses the channel");
    Ok(channel)
}

/// Messages over channels with and without order and limits.
///
/// # Errors
///
/// If one does not come back.
pub async fn every_kind(channels: &DataChannels) -> anyhow::Result<()> {
    let new = ChannelParameters::new;
    let kinds = [
        new("ordered").protocol("test"),
        new("unordered").unordered().priority(1024),
        new("limited").reliability(Reliability::MaxRetransmissions(1000)),
        new("timed").unordered().reliability(Reliability::MaxLifetimeMs(60_000)).priority(128),
    ];
    for parameters in kinds {
        let label = parameters.label.clone();
        let channel = open(channels, parameters).await?;
        messages(&channel).await.with_context(|| label.clone())?;
        eprintln!("{label}: ok");
        channel.close();
    }
    Ok(())
}

/// Sends messages, and takes their echoes in any order.
async fn messages(channel: &DataChannel) -> anyhow::Result<()> {
    let sizes = [1, 3, 1000, 1200, 5000, 60_000];
    let of = |n: usize| match n % 2 {
        0 => Content::from(vec![n as u8; sizes[n % sizes.len()]]),
        _ => Content::from("x".repeat(sizes[n % sizes.len()])),
    };
    come_back(channel, (0..60).map(of).collect()).await
}

async fn come_back(channel: &DataChannel, contents: Vec<Content>) -> anyhow::Result<()> {
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

/// Messages over many channels that are open at once.
///
/// # Errors
///
/// If one does not come back.
pub async fn many_channels(channels: &DataChannels) -> anyhow::Result<()> {
    let mut opened = Vec::new();
    for number in 0..CHANNELS {
        opened.push(open(channels, ChannelParameters::new(format!("channel {number}"))).await?);
    }
    let content = |channel: &DataChannel, n: u8| Content::from(format!("{} {n}", channel.id()));
    for n in 0..3 {
        for channel in &opened {
            channel.send(content(channel, n)).await?;
        }
    }
    for channel in &opened {
        for n in 0..3 {
            let echo = channel.receive().await.context("the peer closed the channel")?;
            ensure!(echo == content(channel, n), "channel {}: {echo:?}", channel.id());
        }
    }
    for channel in opened {
        channel.close();
    }
    eprintln!("{CHANNELS} channels: ok");
    Ok(())
}

/// The largest messages that there are.
///
/// # Errors
///
/// If one does not come back.
pub async fn large_messages(channels: &DataChannels) -> anyhow::Result<()> {
    let channel = open(channels, ChannelParameters::new("large")).await?;
    for n in 0..4 {
        come_back(&channel, vec![Content::from(vec![n; LARGEST])]).await?;
    }
    channel.close();
    eprintln!("messages of {LARGEST} bytes: ok");
    Ok(())
}

/// Messages that are abandoned when they are lost, or too old, and others of the same channel behind them, which must arrive. The peer
/// sends them back under the same conditions if its stack has them.
///
/// # Errors
///
/// If nothing is abandoned, or nothing comes any more.
pub async fn abandoned_messages(channels: &DataChannels) -> anyhow::Result<()> {
    for reliability in [Reliability::MaxRetransmissions(0), Reliability::MaxLifetimeMs(1)] {
        for ordered in [true, false] {
            let parameters = ChannelParameters::new("abandoned").reliability(reliability);
            let parameters = if ordered { parameters } else { parameters.unordered() };
            let channel = open(channels, parameters).await?;
            let before = channels.association().stats();
            let echoes = abandoned_on(&channel).await?;
            let after = channels.association().stats();
            let of = |stats: &polypath::AssociationStats| match reliability {
                Reliability::MaxLifetimeMs(_) => stats.abandoned.timed,
                _ => stats.abandoned.limited_retransmissions,
            };
            let abandoned =
                of(&after).sent + of(&after).unsent - of(&before).sent - of(&before).unsent;
            let forwards = after.forward_tsns_sent - before.forward_tsns_sent;
            let what = format!("{reliability:?}, ordered: {ordered}");
            eprintln!("{what}: {echoes} came back, {abandoned} abandoned, {forwards} FORWARD-TSN");
            ensure!(abandoned > 0, "{what}: nothing was abandoned");
            // What was too old may never have been sent: then the peer need not be told.
            let was_sent = matches!(reliability, Reliability::MaxRetransmissions(_));
            ensure!(forwards > 0 || !was_sent, "{what}: no FORWARD-TSN was sent");
            channel.close();
        }
    }
    Ok(())
}

/// A message that begins with its number.
fn numbered(number: u16) -> Content {
    let mut bytes = vec![number as u8; 1000];
    bytes[..2].copy_from_slice(&number.to_be_bytes());
    Content::from(bytes)
}

/// How many of the messages come back until the last one does, which is sent until then.
async fn abandoned_on(channel: &DataChannel) -> anyhow::Result<usize> {
    let send = async {
        for n in 0..ABANDONABLE {
            channel.send(numbered(n)).await?;
        }
        let mut again = tokio::time::interval(Duration::from_millis(50));
        loop {
            again.tick().await;
            channel.send("last").await?;
        }
    };
    let receive = async {
        let (mut echoes, mut next) = (0, 0);
        loop {
            let echo = channel.receive().await.context("the peer closed the channel")?;
            let Content::Binary(bytes) = &echo else { return anyhow::Ok(echoes) };
            let number = bytes.first_chunk().map_or(0, |bytes| u16::from_be_bytes(*bytes));
            ensure!(echo == numbered(number), "damaged");
            let in_order = !channel.parameters().ordered || number >= next;
            ensure!(in_order, "message {number} came, though {next} was the next one");
            (echoes, next) = (echoes + 1, number + 1);
        }
    };
    tokio::select! {
        echoes = async { tokio::time::timeout(Duration::from_secs(60), receive).await } => {
            echoes.context("nothing arrives any more behind what was abandoned")?
        }
        never = send => never,
    }
}
