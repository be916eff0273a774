//! Packets of a peer that means harm and knows the tag, in every state: no panic, no flood, an end that is told.

use std::net::IpAddr;

use polypath_proto::config::{
    AddressReconfiguration, AssociationConfig, EndpointConfig, ExplicitCongestionNotification,
};
use polypath_proto::{
    Body, Duration, Ecn, Encapsulation, Event, Instant, OutgoingMessage, Received, Transmit,
};
use polypath_testkit::Host;
use polypath_wire::{
    Checksum, ChecksumPolicy, Chunk, Packet, PacketView, chunk_type, parameter_type, write_checksum,
};
use proptest::prelude::*;

const CLIENT_PORT: u16 = 4000;
const SERVER_PORT: u16 = 5001;
const CLIENT: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
const SERVER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2));

/// How far a session goes before the packets come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    CookieWait,
    CookieEchoed,
    Established,
    DataOutstanding,
    ShutdownSent,
    ShutdownAckSent,
}

const STAGES: [Stage; 6] = [
    Stage::CookieWait,
    Stage::CookieEchoed,
    Stage::Established,
    Stage::DataOutstanding,
    Stage::ShutdownSent,
    Stage::ShutdownAckSent,
];

fn deliver(host: &mut Host, now: Instant, transmit: &Transmit) {
    host.receive(
        now,
        &Received {
            local: transmit.remote,
            remote: transmit.local,
            encapsulation: transmit.encapsulation,
            ecn: Ecn::NotEct,
            body: Body::Structured(&transmit.packet),
        },
    );
}

/// The victim is the client, at this stage of its session; the server is gone.
fn victim(stage: Stage, now: Instant) -> Host {
    let mut config = AssociationConfig::default();
    config.policies.address_reconfiguration = AddressReconfiguration::Unauthenticated;
    config.policies.explicit_congestion_notification = ExplicitCongestionNotification::On;
    let listening =
        EndpointConfig { listening: true, association: config.clone(), ..Default::default() };
    let mut server = Host::new(2, listening, SERVER_PORT, &[SERVER], now);
    let mut client = Host::new(1, EndpointConfig::default(), CLIENT_PORT, &[CLIENT], now);
    let peer = [SERVER];
    client.connect(now, config, SERVER_PORT, &peer).unwrap();
    let turns = match stage {
        Stage::CookieWait => 0,
        Stage::CookieEchoed => 1,
        _ => 10,
    };
    for _ in 0..turns {
        client.take_output().iter().for_each(|transmit| deliver(&mut server, now, transmit));
        server.take_output().iter().for_each(|transmit| deliver(&mut client, now, transmit));
    }
    match stage {
        Stage::CookieWait | Stage::CookieEchoed | Stage::Established => {}
        Stage::DataOutstanding => {
            client.send(now, 0, OutgoingMessage::new(0, vec![1; 20_000])).unwrap();
        }
        Stage::ShutdownSent => client.shutdown(now, 0),
        Stage::ShutdownAckSent => {
            server.shutdown(now, 0);
            server.take_output().iter().for_each(|transmit| deliver(&mut client, now, transmit));
        }
    }
    let slot = &client.slots[0];
    let forming = matches!(stage, Stage::CookieWait | Stage::CookieEchoed);
    assert_eq!(slot.association.is_established(), !forming);
    assert_eq!(slot.events.contains(&Event::PeerShutdown), stage == Stage::ShutdownAckSent);
    client.take_output();
    client
}

/// One chunk of any kind; the numbers in it are often near those that matter.
fn chunk(near: u32) -> impl Strategy<Value = Vec<u8>> {
    let known = prop::sample::select(vec![
        chunk_type::DATA,
        chunk_type::INIT,
        chunk_type::INIT_ACK,
        chunk_type::SACK,
        chunk_type::HEARTBEAT,
        chunk_type::HEARTBEAT_ACK,
        chunk_type::ABORT,
        chunk_type::SHUTDOWN,
        chunk_type::SHUTDOWN_ACK,
        chunk_type::ERROR,
        chunk_type::COOKIE_ECHO,
        chunk_type::COOKIE_ACK,
        chunk_type::SHUTDOWN_COMPLETE,
        chunk_type::I_DATA,
        chunk_type::FORWARD_TSN,
        chunk_type::ECNE,
        chunk_type::CWR,
        chunk_type::RE_CONFIG,
        chunk_type::ASCONF,
        chunk_type::ASCONF_ACK,
    ]);
    let types =
        (known, any::<u8>(), 0..8).prop_map(|(known, any, n)| if n == 0 { any } else { known });
    let word = (any::<u32>(), 0_u32..20, 0..5).prop_map(move |(any, little, n)| match n {
        0 => any,
        1 => little,
        2 => near.wrapping_add(little),
        // Requests for addresses, and addresses in them.
        3 => [
            u32::from(parameter_type::ADD_IP) << 16 | 16,
            u32::from(parameter_type::DELETE_IP) << 16 | 16,
            0x0005_0008,
            0x0A00_0002,
        ][little as usize % 4],
        _ => u32::from(parameter_type::STATE_COOKIE) << 16 | (little + 4),
    });
    let value = prop::collection::vec(word, 0..12);
    let flags = any::<u8>();
    (types, flags, value, 0..4_usize).prop_map(|(chunk_type, flags, words, cut)| {
        let mut value: Vec<u8> = words.into_iter().flat_map(u32::to_be_bytes).collect();
        value.truncate(value.len().saturating_sub(cut));
        let [high, low] = (value.len() as u16 + 4).to_be_bytes();
        let mut chunk = vec![chunk_type, flags, high, low];
        chunk.extend_from_slice(&value);
        chunk.resize(chunk.len().next_multiple_of(4), 0);
        chunk
    })
}

/// Encoded, and with the right checksum.
fn encode(tag: u32, chunks: &[Vec<u8>]) -> Vec<u8> {
    let header = Packet {
        source_port: SERVER_PORT,
        destination_port: CLIENT_PORT,
        verification_tag: tag,
        chunks: Default::default(),
    };
    let mut bytes = Vec::new();
    header.append_to(&mut bytes, Checksum::Crc32c).unwrap();
    chunks.iter().for_each(|chunk| bytes.extend_from_slice(chunk));
    write_checksum(&mut bytes);
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn whoever_knows_the_tag_cannot_break_the_stack(
        stage in prop::sample::select(STAGES.to_vec()),
        packets in prop::collection::vec(prop::collection::vec(chunk(0), 1..5), 1..12),
        tags in prop::collection::vec(0..10_u8, 12),
    ) {
        let mut now = Instant::from_nanos(1_000_000);
        let mut client = victim(stage, now);
        let identity = client.slots[0].association.identity().clone();
        for (mut chunks, tag) in packets.into_iter().zip(tags) {
            // Numbers near zero become numbers near our first TSN.
            for chunk in &mut chunks {
                if let Some(number) = chunk.get_mut(4..8).filter(|number| number[..3] == [0, 0, 0]) {
                    let near = identity.initial_tsn.wrapping_add(u32::from(number[3]));
                    number.copy_from_slice(&near.to_be_bytes());
                }
            }
            let tag = match tag {
                0 => 0,
                1 => identity.local_tag ^ 1,
                _ => identity.local_tag,
            };
            let bytes = encode(tag, &chunks);
            let (local, remote) = (CLIENT, SERVER);
            let encapsulation = Encapsulation::None;
            let body = Body::Datagram(&bytes);
            client.receive(now, &Received { local, remote, encapsulation, ecn: Ecn::Ce, body });
            let answers = client.take_output();
            // SACKs may free the window, so data may follow; nothing else grows with what comes in.
            let control = answers.iter().filter(|answer| {
                answer.packet.chunks.iter().all(|chunk| !matches!(chunk, Chunk::Data(_)))
            });
            prop_assert!(control.count() <= chunks.len() + 2, "{answers:?}");
            for answer in answers {
                let mut bytes = Vec::new();
                answer.packet.append_to(&mut bytes, Checksum::Crc32c).unwrap();
                let view = PacketView::parse(&bytes, ChecksumPolicy::Verify).unwrap();
                prop_assert!(view.to_packet().is_ok());
            }
            now += Duration::from_millis(50);
            client.handle_timeout(now);
            client.take_output();
        }
        // Left alone, the association comes to an end, and tells the user exactly once.
        for _ in 0..10_000 {
            let Some(due) = client.next_timeout() else { break };
            now = now.max(due);
            client.handle_timeout(now);
            client.take_output();
        }
        let slot = &client.slots[0];
        let ends = slot.events.iter().filter(|event| matches!(event, Event::Ended(_)));
        prop_assert_eq!(ends.count(), 1);
        prop_assert!(matches!(slot.events.last(), Some(Event::Ended(_))));
        prop_assert!(slot.association.is_closed());
        prop_assert_eq!(client.endpoint.association_count(), 0);
    }
}
