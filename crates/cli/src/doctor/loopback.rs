//! A real association over UDP on the loopback interface.

use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use polypath::{Association, AssociationConfig, Endpoint, Message, Peer};

use super::{Check, Finding};

/// Bytes to echo: enough for several packets.
const MESSAGE: usize = 64 << 10;
/// Long enough for slow machines.
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) fn examine() -> Finding {
    let tried = with_runtime(async {
        tokio::time::timeout(PATIENCE, there_and_back())
            .await
            .with_context(|| format!("no answer within {} s", PATIENCE.as_secs()))?
    });
    match tried.and_then(|result| result) {
        Ok(took) => Finding::ok(
            Check::Loopback,
            format!("an association over loopback echoed {MESSAGE} bytes in {took:.1?}"),
        ),
        Err(error) => Finding::fail(
            Check::Loopback,
            format!("an association on 127.0.0.1 failed: {error:#}"),
            "let UDP pass on the interface lo: look at the rules of the firewall (nft list ruleset) and at ip link show lo",
        ),
    }
}

/// Runs a future on a runtime of its own.
pub(super) fn with_runtime<T>(work: impl Future<Output = T>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the asynchronous runtime")?;
    Ok(runtime.block_on(work))
}

async fn there_and_back() -> anyhow::Result<Duration> {
    let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let bind = || Endpoint::builder([address]).encapsulation_port(0).listen(1).bind();
    let (server, client) = (bind()?, bind()?);
    let peer = Peer::new([address], server.port()).encapsulation_port(server.encapsulation_port());
    let begin = Instant::now();
    let near = client.connect(&peer, AssociationConfig::default()).await?;
    let far = server.accept().await?;
    let sent = vec![0x5A; MESSAGE];
    near.send(Message::new(0, sent.clone())).await?;
    far.send(Message::new(0, next(&far).await?)).await?;
    ensure!(next(&near).await? == sent, "the message came back damaged");
    let took = begin.elapsed();
    near.shutdown().await?;
    Ok(took)
}

async fn next(association: &Association) -> anyhow::Result<bytes::Bytes> {
    let message = association.receive().await?.context("the other end went away")?;
    Ok(message.into_bytes())
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::*;

    #[test]
    fn this_machine_passes() {
        let finding = examine();
        assert_eq!(finding.verdict, Verdict::Ok, "{finding:?}");
        assert!(finding.found.contains("65536 bytes"), "{finding:?}");
    }
}
