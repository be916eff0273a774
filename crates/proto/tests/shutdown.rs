//! Graceful shutdown with a peer that is slow, silent, or confused (RFC 9260 section 9.2).

mod common;

use common::{PEER_WINDOW, Victim, config, data, data_chunks, init_ack, ip, message, sack, secs};
use polypath_proto::config::{AssociationConfig, Preset, ShutdownAnswer};
use polypath_proto::{AssociationEnd, AssociationState, Event, SendError, Transmit};
use polypath_wire::{Chunk, Parameter, Parameters};

fn chunks(packets: &[Transmit]) -> Vec<&Chunk<'static>> {
    packets.iter().flat_map(|transmit| &transmit.packet.chunks).collect()
}

fn shutdown(cumulative_tsn_ack: u32) -> Chunk<'static> {
    Chunk::Shutdown { cumulative_tsn_ack }
}

/// A side in SHUTDOWN-SENT.
fn shutting_down(config: AssociationConfig) -> Victim {
    let mut victim = Victim::established(config);
    victim.host.shutdown(victim.now, 0);
    assert_eq!(chunks(&victim.sent()), [&shutdown(0)]);
    victim
}

/// "The reception of any packet from its peer SHOULD clear the endpoint's retransmission count."
#[test]
fn a_peer_that_has_much_to_say_is_given_the_time() {
    let config = AssociationConfig { shutdown_guard: Some(secs(3600)), ..config(Preset::Rfc9260) };
    let mut victim = shutting_down(config);
    for tsn in 1..=30 {
        // The timer expires before the next chunk comes.
        assert!(victim.wait_for_timer());
        assert_eq!(chunks(&victim.sent()), [&shutdown(tsn - 1)]);
        victim.receive(ip(2), vec![data(tsn)]);
        let sent = victim.sent();
        assert_eq!(sent.len(), 1, "{tsn}: both in one packet");
        let both = chunks(&sent);
        assert!(matches!(both[..], [Chunk::Sack(_), _]), "{tsn}: {sent:?}");
        assert_eq!(both[1], &shutdown(tsn), "{tsn}");
    }
    // Silence is another matter.
    while victim.wait_for_timer() {}
    assert_eq!(victim.events().last(), Some(&Event::Ended(AssociationEnd::Unreachable)));
}

#[test]
fn who_knows_no_tag_does_not_keep_a_shutdown_alive() {
    let config = AssociationConfig { shutdown_guard: Some(secs(3600)), ..config(Preset::Rfc9260) };
    let mut victim = shutting_down(config);
    let blind = Chunk::ShutdownComplete { reflected_tag: true };
    for _ in 0..30 {
        victim.wait_for_timer();
        victim.receive_with_tag(4711, vec![blind.clone()]);
    }
    assert_eq!(victim.events().last(), Some(&Event::Ended(AssociationEnd::Unreachable)));
}

#[test]
fn the_guard_ends_a_shutdown_that_the_peer_draws_out() {
    let mut victim = shutting_down(config(Preset::Rfc9260));
    let begin = victim.now;
    for tsn in 1.. {
        if !victim.wait_for_timer() {
            break;
        }
        victim.receive(ip(2), vec![data(tsn)]);
    }
    assert_eq!(victim.events().last(), Some(&Event::Ended(AssociationEnd::ShutdownTimeout)));
    assert!(matches!(chunks(&victim.sent())[..], [.., Chunk::Abort(_)]));
    assert_eq!(victim.now.since(begin), secs(300), "5 times RTO.Max");
}

#[test]
fn data_of_ours_is_delivered_before_the_peers_shutdown_is_acknowledged() {
    let mut victim = Victim::established(config(Preset::Rfc9260));
    victim.send(2, 1000);
    let first = victim.first_tsn();
    assert_eq!(data_chunks(&victim.sent()), 2);
    victim.receive(ip(2), vec![shutdown(first)]);
    assert!(victim.events().contains(&Event::PeerShutdown));
    assert!(victim.sent().is_empty());
    let refused = victim.host.send(victim.now, 0, message(9, 10));
    assert_eq!(refused, Err(SendError::Closed));
    // What the peer sends in spite of its SHUTDOWN is discarded.
    victim.receive(ip(2), vec![data(1)]);
    assert!(victim.sent().is_empty());
    assert!(victim.wait_for_timer());
    assert_eq!(data_chunks(&victim.sent()), 1);
    victim.receive(ip(2), vec![sack(first + 1, PEER_WINDOW, &[])]);
    assert_eq!(chunks(&victim.sent()), [&Chunk::ShutdownAck]);
    // The peer did not get it: the timer and a SHUTDOWN repeat it.
    assert!(victim.wait_for_timer());
    assert_eq!(chunks(&victim.sent()), [&Chunk::ShutdownAck]);
    victim.receive(ip(2), vec![shutdown(first + 1)]);
    assert_eq!(chunks(&victim.sent()), [&Chunk::ShutdownAck]);
    victim.receive(ip(2), vec![Chunk::ShutdownComplete { reflected_tag: false }]);
    assert_eq!(victim.events().last(), Some(&Event::Ended(AssociationEnd::ShutdownComplete)));
}

/// The SACK that would tell is lost, and after it the peer has no reason to send another one.
#[test]
fn a_shutdown_tells_what_the_peer_has_discarded() {
    let mut victim = Victim::established(config(Preset::Rfc9260));
    victim.send(3, 1000);
    let first = victim.first_tsn();
    assert_eq!(data_chunks(&victim.sent()), 3);
    victim.receive(ip(2), vec![sack(first - 1, PEER_WINDOW, &[(3, 3)])]);
    // Had it kept the third one, it would acknowledge that too.
    victim.receive(ip(2), vec![shutdown(first + 1)]);
    assert_eq!(victim.path().flight_bytes, 1016);
    assert!(victim.wait_for_timer());
    assert_eq!(data_chunks(&victim.sent()), 1);
    victim.receive(ip(2), vec![shutdown(first + 2)]);
    assert_eq!(chunks(&victim.sent()), [&Chunk::ShutdownAck]);
}

/// Some stacks put a TSN of their own there. It acknowledges nothing, and what is outstanding is sent until SACKs do.
#[test]
fn a_shutdown_that_acknowledges_what_was_not_sent_is_a_shutdown() {
    let mut victim = Victim::established(config(Preset::Rfc9260));
    victim.receive(ip(2), vec![shutdown(victim.first_tsn().wrapping_add(1 << 29))]);
    assert_eq!(chunks(&victim.sent()), [&Chunk::ShutdownAck]);

    let mut victim = Victim::established(config(Preset::Rfc9260));
    victim.send(1, 1000);
    let first = victim.first_tsn();
    assert_eq!(data_chunks(&victim.sent()), 1);
    victim.receive(ip(2), vec![shutdown(first + 1)]);
    assert!(victim.sent().is_empty() && victim.association().is_shut_by_peer());
    victim.receive(ip(2), vec![sack(first, PEER_WINDOW, &[])]);
    assert_eq!(chunks(&victim.sent()), [&Chunk::ShutdownAck]);
}

#[test]
fn chunks_of_a_shutdown_mean_nothing_in_other_states() {
    let heartbeat =
        || Chunk::Heartbeat(Parameters::build([Parameter::HeartbeatInfo(b"info")])).into_owned();
    let complete = Chunk::ShutdownComplete { reflected_tag: false };
    let mut victim = Victim::established(config(Preset::Rfc9260));
    for chunk in [Chunk::ShutdownAck, complete.clone()] {
        victim.receive(ip(2), vec![chunk, heartbeat()]);
        assert!(matches!(chunks(&victim.sent())[..], [Chunk::HeartbeatAck(_)]));
    }
    assert!(victim.association().is_established());
    let mut victim = shutting_down(config(Preset::Rfc9260));
    victim.receive(ip(2), vec![complete.clone()]);
    assert!(victim.association().is_established(), "its SHUTDOWN was not acknowledged");

    let mut victim = Victim::connecting(config(Preset::Rfc9260), &[ip(2)]);
    let first = victim.first_tsn() - 1;
    victim.receive(ip(2), vec![shutdown(first)]);
    victim.receive(ip(2), vec![init_ack(&[])]);
    victim.receive(ip(2), vec![shutdown(first)]);
    victim.receive(ip(2), vec![complete]);
    victim.receive(ip(2), vec![Chunk::CookieAck]);
    assert!(victim.association().is_established() && !victim.association().is_shut_by_peer());
}

/// Messages that waited in a queue of the user's when the SHUTDOWN arrived.
#[test]
fn a_shutdown_is_answered_on_request_where_the_user_wants_that() {
    let shutdown_answer = ShutdownAnswer::OnRequest;
    let mut victim =
        Victim::established(AssociationConfig { shutdown_answer, ..config(Preset::Rfc9260) });
    victim.receive(ip(2), vec![shutdown(victim.first_tsn() - 1)]);
    assert!(victim.events().contains(&Event::PeerShutdown));
    assert_eq!(victim.association().state(), AssociationState::ShutdownReceived);
    // The peer repeats itself.
    victim.receive(ip(2), vec![shutdown(victim.first_tsn() - 1)]);
    assert!(victim.sent().is_empty(), "nothing is outstanding, and there is no answer");
    victim.send(1, 1000);
    let first = victim.first_tsn();
    assert_eq!(data_chunks(&victim.sent()), 1);
    victim.host.shutdown(victim.now, 0);
    let refused = victim.host.send(victim.now, 0, message(9, 10));
    assert_eq!(refused, Err(SendError::Closed));
    assert!(victim.sent().is_empty(), "a message is outstanding");
    victim.receive(ip(2), vec![shutdown(first)]);
    assert_eq!(chunks(&victim.sent()), [&Chunk::ShutdownAck]);
}
