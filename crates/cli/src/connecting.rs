//! Connects with a timeout, and explains failures.

use std::net::IpAddr;
use std::time::Duration;

use anyhow::{Error, anyhow};
use polypath::config::AuthenticatedChunks;
use polypath::{
    Association, AssociationConfig, AssociationError, ConnectError, Endpoint, EndpointStats, Peer,
    source_address,
};
use tokio::time::timeout;

use crate::failure::Failure;
use crate::interfaces;

/// Connects to `peer`, for at most `patience`. `whom` names the peer in errors.
pub(crate) async fn connect(
    endpoint: &Endpoint,
    peer: &Peer,
    config: AssociationConfig,
    patience: Duration,
    whom: &str,
) -> Result<Association, Failure> {
    let context = || format!("cannot connect to {whom}");
    let demands = demands_authentication(&config);
    match timeout(patience, endpoint.connect(peer, config)).await {
        Ok(Ok(association)) => Ok(association),
        Ok(Err(error @ ConnectError::NotUnicast(_))) => {
            Err(Failure::usage(Error::from(error).context(context())))
        }
        Ok(Err(error)) => {
            let error = match meaning(&error, peer) {
                Some(meaning) => anyhow!("{error}; {meaning}"),
                None if matches!(error, ConnectError::Ended(AssociationError::CannotConnect)) => {
                    anyhow!("{error}; {}", advice(&endpoint.stats(), demands))
                }
                None => Error::from(error),
            };
            Err(Failure::CannotConnect(error.context(context())))
        }
        Err(_) => {
            let seen = endpoint.stats();
            let advice = advice(&seen, demands);
            let patience = patience.as_secs_f64();
            let error = if demands && seen.packets_received > 0 {
                // A chunk with a wrong HMAC is discarded silently (RFC 4895 section 6.3).
                anyhow!("no association within {patience} s; {advice}")
            } else {
                let trouble = interfaces::trouble(&endpoint.local_addresses());
                anyhow!("no answer within {patience} s; {}", trouble.as_deref().unwrap_or(advice))
            };
            Err(Failure::CannotConnect(error.context(context())))
        }
    }
}

/// What a refusal means (RFC 9260 sections 5.1 and 8.4), and what to do.
fn meaning(error: &ConnectError, peer: &Peer) -> Option<String> {
    /// Error cause "out of resource" (RFC 9260 section 3.3.10.4).
    const OUT_OF_RESOURCE: [u8; 2] = [0, 4];
    let meaning = match error {
        ConnectError::Invalid(polypath::ConnectRefusal::NoUsablePath) => {
            return Some(usable(peer.addresses()));
        }
        // The two cases look the same from here: the kernel answers before the program.
        ConnectError::Ended(AssociationError::AbortedByPeer(causes))
            if causes.is_empty() && peer.is_over_ip() =>
        {
            "nobody accepts associations there at that SCTP port, or that host's kernel has its own SCTP loaded \
             and does not know the program (run polypath doctor there)"
        }
        ConnectError::Ended(AssociationError::AbortedByPeer(causes)) if causes.is_empty() => {
            "nobody accepts associations there at that SCTP port: is it the right one?"
        }
        ConnectError::Ended(AssociationError::AbortedByPeer(causes))
            if causes.starts_with(&OUT_OF_RESOURCE) =>
        {
            "it is busy and accepts no more associations now: try again later"
        }
        ConnectError::Ended(AssociationError::ProtocolUnreachable) if peer.is_over_ip() => {
            "start it there, with --raw"
        }
        ConnectError::Ended(AssociationError::ProtocolUnreachable) => {
            "start it there, or name its UDP port (--encapsulation-port)"
        }
        ConnectError::Ended(AssociationError::AbortedByPeer(causes)) if lacks_auth(causes) => {
            "it accepts only peers with a key: name a file with the key (--key)"
        }
        ConnectError::Ended(AssociationError::HandshakeRefused(causes)) if lacks_auth(causes) => {
            "it has no key: start it with one (--key), or connect without"
        }
        _ => return None,
    };
    Some(meaning.to_owned())
}

/// Whether this side accepts authenticated peers only.
fn demands_authentication(config: &AssociationConfig) -> bool {
    let policy = config.policies.authenticated_chunks;
    !matches!(policy, AuthenticatedChunks::Off | AuthenticatedChunks::Offered)
}

/// Whether authentication is missing in a handshake: error cause "missing mandatory parameter" (RFC 9260 section 3.3.10.2)
/// with RANDOM or HMAC-ALGO (RFC 4895 section 3).
fn lacks_auth(causes: &[u8]) -> bool {
    const OF_AUTH: [[u8; 2]; 2] = [[0x80, 0x02], [0x80, 0x04]];
    let Some(([0, 2, high, low], behind)) = causes.split_first_chunk() else { return false };
    let len = usize::from(u16::from_be_bytes([*high, *low])).saturating_sub(4);
    // The first four bytes are the number of parameters.
    let missing = behind.get(4..len).unwrap_or_default();
    missing.as_chunks().0.iter().any(|missing| OF_AUTH.contains(missing))
}

/// Explains which local addresses reach a peer when the given ones do not.
fn usable(peer: &[IpAddr]) -> String {
    let rule = "both have to be of one family, and both or none of this host's loopback";
    let mut ways = Vec::new();
    for remote in peer {
        match source_address(*remote) {
            Ok(local) => ways.push(format!("{remote} is reached from {local}")),
            Err(_) => ways.push(format!("no route leads to {remote}")),
        }
    }
    format!("{rule}: {}", ways.join(", "))
}

/// Likely cause of the failure, from the counters of the endpoint.
fn advice(seen: &EndpointStats, demands_authentication: bool) -> &'static str {
    if seen.packets_received > 0 && demands_authentication {
        "it answered, and then refused the association: it does not accept this key (--key), or the key was revoked there"
    } else if seen.packets_received > 0 {
        "something came back that is not an answer: does another program use these ports?"
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
    fn refusals_are_told_apart() {
        let udp = Peer::new([std::net::IpAddr::from([192, 0, 2, 1])], 5001);
        let told = |causes: &[u8], peer: &Peer| {
            let error = AssociationError::AbortedByPeer(causes.to_vec());
            meaning(&ConnectError::Ended(error), peer)
        };
        assert!(told(&[], &udp).unwrap().ends_with("is it the right one?"));
        assert!(told(&[], &udp.clone().raw_ip()).unwrap().contains("kernel"));
        assert!(told(&[0, 4, 0, 4], &udp).unwrap().contains("busy"));
        assert_eq!(told(&[0, 12, 0, 4], &udp), None);
        let random_and_hmac = [0, 2, 0, 12, 0, 0, 0, 2, 0x80, 0x02, 0x80, 0x04];
        assert!(told(&random_and_hmac, &udp).unwrap().contains("--key"));
        assert_eq!(told(&[0, 2, 0, 10, 0, 0, 0, 1, 0, 7, 0, 0], &udp), None, "no cookie");
        for len in 0..9 {
            assert_ne!(told(&random_and_hmac[..len], &udp), told(&random_and_hmac, &udp));
        }
        let refused = AssociationError::HandshakeRefused(random_and_hmac.to_vec());
        let told_here = meaning(&ConnectError::Ended(refused), &udp).unwrap();
        assert!(told_here.starts_with("it has no key"), "{told_here}");
        assert_eq!(meaning(&ConnectError::EndpointClosed, &udp), None);
        let nobody = ConnectError::Ended(AssociationError::ProtocolUnreachable);
        assert!(meaning(&nobody, &udp).unwrap().contains("UDP port"));
        let raw = meaning(&nobody, &udp.clone().raw_ip()).unwrap();
        assert!(raw.contains("--raw") && !raw.contains("UDP"), "{raw}");
    }

    #[test]
    fn addresses_that_reach_a_peer_are_named() {
        let told = usable(&[IpAddr::from([127, 0, 0, 1])]);
        assert!(told.contains("127.0.0.1 is reached from 127.0.0.1"), "{told}");
    }

    #[test]
    fn advice_follows_what_was_seen() {
        let seen_with = |demands, sent, received| {
            let mut stats = EndpointStats::default();
            (stats.packets_sent, stats.packets_received) = (sent, received);
            advice(&stats, demands)
        };
        let seen = |sent, received| seen_with(false, sent, received);
        assert!(seen_with(true, 3, 1).contains("--key"));
        assert!(seen_with(true, 3, 0).contains("firewalls"));
        assert!(seen(3, 0).contains("firewalls"));
        assert!(seen(0, 0).contains("route"));
        assert!(seen(3, 1).contains("another program"));
    }
}
