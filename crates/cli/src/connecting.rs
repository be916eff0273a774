//! Connecting with patience, and what to do where nobody answers.

use std::time::Duration;

use anyhow::{Error, anyhow};
use polypath::{Association, AssociationConfig, ConnectError, Endpoint, EndpointStats, Peer};
use tokio::time::timeout;

use crate::failure::Failure;

/// Connects to `peer`, and gives up after `patience`. `whom` names the peer in errors.
pub(crate) async fn connect(
    endpoint: &Endpoint,
    peer: &Peer,
    config: AssociationConfig,
    patience: Duration,
    whom: &str,
) -> Result<Association, Failure> {
    let context = || format!("cannot connect to {whom}");
    match timeout(patience, endpoint.connect(peer, config)).await {
        Ok(Ok(association)) => Ok(association),
        Ok(Err(error @ (ConnectError::Invalid(_) | ConnectError::NotUnicast(_)))) => {
            Err(Failure::usage(Error::from(error).context(context())))
        }
        Ok(Err(error)) => Err(Failure::CannotConnect(Error::from(error).context(context()))),
        Err(_) => {
            let error = anyhow!(
                "no answer within {} s; {}",
                patience.as_secs_f64(),
                advice(&endpoint.stats())
            );
            Err(Failure::CannotConnect(error.context(context())))
        }
    }
}

/// What the silence may mean, from what the sockets saw.
fn advice(seen: &EndpointStats) -> &'static str {
    if seen.packets_received > 0 {
        "something came back that is no answer: is it another program that has these ports?"
    } else if seen.packets_sent == 0 {
        "nothing could be sent: does a route lead there, and is the interface up?"
    } else {
        "nothing came back: does the program run there with these ports, and do firewalls let them pass?"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_follows_what_was_seen() {
        let seen = |sent, received| {
            let mut stats = EndpointStats::default();
            (stats.packets_sent, stats.packets_received) = (sent, received);
            advice(&stats)
        };
        assert!(seen(3, 0).contains("firewalls"));
        assert!(seen(0, 0).contains("route"));
        assert!(seen(3, 1).contains("another program"));
    }
}
