//! Every chunk in every state of an association, with every kind of verification tag (RFC 9260 sections 8.5 and 8.5.1),
//! and whether what a peer must not guess looks random.

mod common;

use std::collections::BTreeSet;

use common::{Victim, config, init_ack, ip, secs};
use polypath_proto::Transmit;
use polypath_proto::config::Preset;
use polypath_wire::{Chunk, Parameter, chunk_type};

/// Tag of the peer in these tests, which a peer that has lost its association reflects.
const THEIRS: u32 = 7;
const WRONG: u32 = 0x3333_3333;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    CookieWait,
    CookieEchoed,
    Established,
    ShutdownPending,
    ShutdownSent,
    ShutdownReceived,
    ShutdownAckSent,
    Closed,
}

const STATES: [State; 8] = [
    State::CookieWait,
    State::CookieEchoed,
    State::Established,
    State::ShutdownPending,
    State::ShutdownSent,
    State::ShutdownReceived,
    State::ShutdownAckSent,
    State::Closed,
];

/// An association in a state. The same call gives the same association, to the last bit.
fn in_state(state: State) -> Victim {
    let mut victim = Victim::connecting(config(Preset::Recommended), &[ip(2)]);
    if state == State::CookieWait {
        return victim;
    }
    victim.receive(ip(2), vec![init_ack(&[])]);
    if state != State::CookieEchoed {
        victim.receive(ip(2), vec![Chunk::CookieAck]);
        assert!(victim.association().is_established());
    }
    if matches!(state, State::ShutdownPending | State::ShutdownReceived) {
        victim.send(1, 1000);
    }
    let shut = Chunk::Shutdown { cumulative_tsn_ack: victim.first_tsn().wrapping_sub(1) };
    match state {
        State::ShutdownPending | State::ShutdownSent => victim.host.shutdown(victim.now, 0),
        State::ShutdownReceived | State::ShutdownAckSent => victim.receive(ip(2), vec![shut]),
        State::Closed => victim.host.abort(victim.now, 0, "over"),
        State::CookieWait | State::CookieEchoed | State::Established => {}
    }
    victim.sent();
    assert_eq!(victim.association().is_closed(), state == State::Closed);
    victim
}

/// A chunk of each type with content that its reader accepts, and of two types that do not exist.
fn chunks(victim: &Victim) -> Vec<(u8, u8, Vec<u8>)> {
    let acked = victim.first_tsn().wrapping_sub(1).to_be_bytes();
    let init =
        [&[0, 0, 0, 99, 0, 1, 0, 0, 0, 10, 0, 10, 0, 0, 0, 1][..], &[0, 7, 0, 8, 1, 2, 3, 4]];
    let init = init.concat();
    let sack = [&acked[..], &[0, 1, 0, 0, 0, 0, 0, 0]].concat();
    let nr_sack = [&sack[..], &[0; 4]].concat();
    let info = vec![0, 1, 0, 8, 9, 9, 9, 9];
    let data = [&[0, 0, 0, 1][..], &[0; 8], b"evil"].concat();
    let i_data = [&[0, 0, 0, 1][..], &[0; 12], b"evil"].concat();
    let dropped = [&[0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0][..], &[0; 12]].concat();
    vec![
        (chunk_type::DATA, 3, data),
        (chunk_type::I_DATA, 3, i_data),
        (chunk_type::INIT, 0, init.clone()),
        (chunk_type::INIT_ACK, 0, init),
        (chunk_type::SACK, 0, sack),
        (chunk_type::NR_SACK, 0, nr_sack),
        (chunk_type::HEARTBEAT, 0, info.clone()),
        (chunk_type::HEARTBEAT_ACK, 0, info),
        (chunk_type::ABORT, 0, vec![]),
        (chunk_type::SHUTDOWN, 0, acked.to_vec()),
        (chunk_type::SHUTDOWN_ACK, 0, vec![]),
        (chunk_type::ERROR, 0, vec![0, 3, 0, 8, 0, 0, 0, 1]),
        (chunk_type::COOKIE_ECHO, 0, vec![7; 100]),
        (chunk_type::COOKIE_ACK, 0, vec![]),
        (chunk_type::ECNE, 0, acked.to_vec()),
        (chunk_type::CWR, 0, acked.to_vec()),
        (chunk_type::SHUTDOWN_COMPLETE, 0, vec![]),
        (chunk_type::AUTH, 0, [&[0, 0, 0, 3][..], &[0; 32]].concat()),
        (chunk_type::ASCONF, 0, vec![0, 0, 0, 1, 0, 5, 0, 8, 10, 0, 0, 2]),
        (chunk_type::ASCONF_ACK, 0, vec![0, 0, 0, 1]),
        (chunk_type::PACKET_DROP, 0, dropped),
        (chunk_type::RE_CONFIG, 0, vec![0, 15, 0, 12, 0, 0, 0, 1, 0, 0, 0, 1]),
        (chunk_type::PAD, 0, vec![0; 4]),
        (chunk_type::FORWARD_TSN, 0, vec![0, 0, 0, 1]),
        (chunk_type::I_FORWARD_TSN, 0, vec![0, 0, 0, 1]),
        (0x3f, 0, vec![1, 2, 3, 4]),
        (0xff, 0, vec![1, 2, 3, 4]),
    ]
}

fn packet(tag: u32, (kind, flags, content): &(u8, u8, Vec<u8>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend_from_slice(&5001_u16.to_be_bytes());
    bytes.extend_from_slice(&4000_u16.to_be_bytes());
    bytes.extend_from_slice(&tag.to_be_bytes());
    bytes.extend_from_slice(&[0; 4]);
    bytes.extend_from_slice(&[*kind, *flags]);
    bytes.extend_from_slice(&(content.len() as u16 + 4).to_be_bytes());
    bytes.extend_from_slice(content);
    bytes
}

/// Everything that an association remembers, but its counters of packets that it looked at and discarded.
fn memory(victim: &Victim) -> String {
    let all = format!("{:?} {:?}", victim.host.slots, victim.host.next_timeout());
    without(&without(&all, " packet: ", ","), "seldom: ", "events: ")
}

/// A text without what is between `from` and `to`, wherever they are.
fn without(text: &str, from: &str, to: &str) -> String {
    let mut parts = text.split(from);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |kept, part| kept + part.split_once(to).map_or(part, |(_, rest)| rest))
}

/// Shows the first difference only: all of it is long.
fn assert_unchanged(before: &str, after: &str, what: &str) {
    let same = before.bytes().zip(after.bytes()).take_while(|(a, b)| a == b).count();
    let near =
        |text: &str| text.chars().skip(same.saturating_sub(100)).take(160).collect::<String>();
    assert!(before == after, "{what}:\n{}\n{}", near(before), near(after));
}

/// Whether a packet with a tag that is not ours may have an effect: RFC 9260 section 8.5.1, A to E.
fn is_exception(state: State, tag: u32, (kind, flags, _): &(u8, u8, Vec<u8>)) -> bool {
    let reflects = flags & 1 == 1 && tag == THEIRS && state != State::CookieWait;
    match *kind {
        chunk_type::INIT => tag == 0,
        chunk_type::ABORT | chunk_type::PACKET_DROP | chunk_type::SHUTDOWN_COMPLETE => reflects,
        _ => false,
    }
}

/// Whether a chunk that changes nothing may be answered although its tag is not ours: nothing but a SHUTDOWN COMPLETE for a peer
/// that shuts down an association which this side has lost, and what an association that has ended leaves to the endpoint.
fn may_be_answered(state: State, kind: u8) -> bool {
    kind == chunk_type::SHUTDOWN_ACK && matches!(state, State::CookieWait | State::CookieEchoed)
        || state == State::Closed
}

#[test]
fn only_the_right_tag_counts_in_every_state() {
    let mut effects = 0;
    for state in STATES {
        for chunk in chunks(&in_state(state)) {
            for flags in [chunk.1, chunk.1 | 1] {
                let chunk = (chunk.0, flags, chunk.2.clone());
                for tag in [0, THEIRS, WRONG, u32::MAX] {
                    let mut victim = in_state(state);
                    let before = memory(&victim);
                    victim.receive_bytes(&packet(tag, &chunk));
                    let answers = victim.sent();
                    if is_exception(state, tag, &chunk) {
                        continue;
                    }
                    let what = format!("{state:?}, tag {tag:#x}, chunk {chunk:?}");
                    assert_unchanged(&before, &memory(&victim), &what);
                    assert!(
                        answers.is_empty() || may_be_answered(state, chunk.0),
                        "{what}: {answers:?}"
                    );
                }
                let mut victim = in_state(state);
                let before = memory(&victim);
                let tag = victim.association().identity().local_tag;
                victim.receive_bytes(&packet(tag, &chunk));
                effects += usize::from(memory(&victim) != before || !victim.sent().is_empty());
            }
        }
    }
    // With the right tag, most of them do something: the others above were not refused for their content.
    assert!(effects > 150, "{effects}");
}

#[test]
fn a_reflected_tag_ends_an_association_in_the_states_that_know_it() {
    for state in STATES {
        let mut victim = in_state(state);
        victim.receive_bytes(&packet(THEIRS, &(chunk_type::ABORT, 1, vec![])));
        assert_eq!(victim.association().is_closed(), state != State::CookieWait, "{state:?}");
        let mut victim = in_state(state);
        victim.receive_bytes(&packet(THEIRS, &(chunk_type::SHUTDOWN_COMPLETE, 1, vec![])));
        let ends = matches!(state, State::ShutdownAckSent | State::Closed);
        assert_eq!(victim.association().is_closed(), ends, "{state:?}");
        assert!(victim.sent().is_empty(), "{state:?}");
    }
}

/// The information of the HEARTBEATs in packets.
fn infos(sent: &[Transmit]) -> Vec<Vec<u8>> {
    let chunks = sent.iter().flat_map(|transmit| &transmit.packet.chunks);
    let info = |chunk: &Chunk<'static>| match chunk {
        Chunk::Heartbeat(parameters) => parameters.iter().find_map(|parameter| match parameter {
            Parameter::HeartbeatInfo(info) => Some(info.to_vec()),
            _ => None,
        }),
        _ => None,
    };
    chunks.filter_map(info).collect()
}

#[test]
fn the_nonces_of_heartbeats_look_random() {
    const COUNT: usize = 2000;
    let mut config = config(Preset::Rfc9260);
    config.heartbeat_interval = Some(secs(1));
    let mut victim = Victim::established(config);
    let mut seen = Vec::new();
    while seen.len() < COUNT {
        assert!(victim.wait_for_timer(), "there is always a next one");
        for info in infos(&victim.sent()) {
            let parameters = [Parameter::HeartbeatInfo(&info)];
            let ack = Chunk::HeartbeatAck(polypath_wire::Parameters::build(parameters));
            victim.receive(ip(2), vec![ack.into_owned()]);
            seen.push(info);
        }
    }
    assert!(victim.association().is_established(), "each was answered");
    assert_eq!(seen.iter().collect::<BTreeSet<_>>().len(), seen.len(), "one came twice");
    // 64 bits are set about as often as not (5 sigma), whatever the others say.
    let shortest = seen.iter().map(Vec::len).min().unwrap_or(0);
    let random = (0..shortest * 8).filter(|bit| {
        let set = seen.iter().filter(|info| info[bit / 8] >> (bit % 8) & 1 == 1).count();
        set.abs_diff(seen.len() / 2) <= 112
    });
    let random = random.count();
    assert!(random >= 64, "only {random} bits");
}
