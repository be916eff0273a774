//! Statements of `docs/standards.md` that no other test shows: defaults, numbers that are not registered, and deviations.

mod common;

use common::{Victim, config, data, init_ack_offering, init_ack_with, ip, millis, sack, secs};
use polypath_proto::config::{
    AddressReconfiguration, AssociationConfig, AuthenticatedChunks, Burst, CongestionAlgorithm,
    EndpointConfig, ErrorDetection, ExplicitCongestionNotification, MessageInterleaving, Pacing,
    Preset, Rto, StreamReconfiguration, T3Restart,
};
use polypath_proto::{AssociationEnd, Ecn, Encapsulation, Event, Transmit};
use polypath_wire::{Chunk, DataFlags, Init, Parameter, Parameters, Raw, U16List, chunk_type};

const JOIN_SUPPORTED: u16 = 0xA9E0;
const JOIN_INVITATION: u16 = 0xA9E1;
const JOIN_PROOF: u16 = 0xA9E2;

/// The INIT of a client with this configuration.
fn init_of(config: AssociationConfig) -> Init<'static> {
    let mut victim = Victim::connecting(config, &[ip(2)]);
    victim.wait_for_timer();
    let sent = victim.sent();
    let init = sent.iter().find_map(|transmit| match &transmit.packet.chunks[0] {
        Chunk::Init(init) => Some(init.clone()),
        _ => None,
    });
    init.expect("INIT again")
}

/// Which of the extensions that the page calls "off by default" an INIT offers, and whether it offers address join.
fn offers(init: &Init<'_>) -> (Vec<&'static str>, bool) {
    let mut offered = vec![];
    let mut joins = false;
    for parameter in &init.parameters {
        match parameter {
            Parameter::Random(_) => offered.push("AUTH"),
            Parameter::EcnCapable => offered.push("ECN"),
            Parameter::ZeroChecksumAcceptable(_) => offered.push("zero checksum"),
            Parameter::SupportedExtensions(types) => {
                for (chunk, name) in [
                    (chunk_type::ASCONF, "ASCONF"),
                    (chunk_type::RE_CONFIG, "RE-CONFIG"),
                    (chunk_type::I_DATA, "I-DATA"),
                ] {
                    offered.extend(types.contains(&chunk).then_some(name));
                }
            }
            Parameter::Unknown { parameter_type: JOIN_SUPPORTED, value: [] } => joins = true,
            _ => {}
        }
    }
    offered.sort_unstable();
    (offered, joins)
}

#[test]
fn extensions_that_are_off_by_default_are_offered_by_no_preset() {
    assert_eq!(offers(&init_of(AssociationConfig::default())), (vec![], true));
    for preset in Preset::ALL {
        assert_eq!(offers(&init_of(config(*preset))).0, [""; 0], "{preset:?}");
    }
    let error_detection = ErrorDetection::LowerLayerDtls;
    let mut all = AssociationConfig { error_detection, ..AssociationConfig::default() };
    all.policies.authenticated_chunks = AuthenticatedChunks::All;
    all.policies.address_reconfiguration = AddressReconfiguration::Authenticated;
    all.policies.stream_reconfiguration = StreamReconfiguration::On;
    all.policies.message_interleaving = MessageInterleaving::On;
    all.policies.explicit_congestion_notification = ExplicitCongestionNotification::On;
    let names = ["ASCONF", "AUTH", "ECN", "I-DATA", "RE-CONFIG", "zero checksum"];
    assert_eq!(offers(&init_of(all)), (names.to_vec(), true));
}

#[test]
fn presets_have_the_parameters_of_the_page() {
    let rfc = config(Preset::Rfc9260);
    // RFC 9260 section 16.
    let section_16 = Rto { min: secs(1), max: secs(60), margin: secs(0), ..rfc.policies.rto };
    assert_eq!((rfc.policies.rto, section_16.initial), (section_16, secs(1)));
    assert_eq!((section_16.alpha, section_16.beta), (0.125, 0.25));
    assert_eq!(rfc.policies.burst, Burst::MaxBurst(4));
    assert_eq!(EndpointConfig::default().cookie_life, secs(60));
    let limits = |it: &AssociationConfig| {
        [it.association_max_retrans, it.path_max_retrans, it.max_init_retransmits]
    };
    assert_eq!((limits(&rfc), rfc.heartbeat_max_burst), ([10, 5, 8], 1));
    assert_eq!(rfc.heartbeat_interval, Some(secs(30)));
    assert_eq!(rfc.policies.delayed_ack.delay, millis(200));
    assert_eq!(rfc.policies.t3_restart, T3Restart::Rfc);
    assert_eq!(rfc.policies.congestion, CongestionAlgorithm::Rfc9260);

    assert_eq!(config(Preset::Cmt).policies.congestion, CongestionAlgorithm::Uncoupled);

    let recommended = AssociationConfig::default();
    assert_eq!(recommended, config(Preset::Recommended));
    let rto = Rto { min: millis(200), margin: millis(200), ..section_16 };
    assert_eq!(recommended.policies.rto, rto);
    assert_eq!((recommended.policies.burst, recommended.policies.pacing), (Burst::Off, Pacing::On));
    assert_eq!((limits(&recommended), recommended.heartbeat_max_burst), ([20, 5, 8], 8));
    assert_eq!(recommended.heartbeat_interval, rfc.heartbeat_interval);
    assert_eq!(recommended.policies.delayed_ack.delay, rfc.policies.delayed_ack.delay);
    assert_eq!(recommended.policies.t3_restart, T3Restart::Smart);
    assert_eq!(recommended.policies.congestion, CongestionAlgorithm::Bbr);
}

/// Types of the parameters from byte 12 on in Heartbeat Infos.
fn behind_heartbeat_infos(sent: &[Transmit]) -> Vec<u16> {
    let mut types = vec![];
    for chunk in sent.iter().flat_map(|transmit| transmit.packet.chunks.iter()) {
        let Chunk::Heartbeat(parameters) = chunk else { continue };
        let mut rest = parameters.heartbeat_info().and_then(|info| info.get(12..));
        while let Some([t0, t1, l0, l1, ..]) = rest {
            types.push(u16::from_be_bytes([*t0, *t1]));
            let len = usize::from(u16::from_be_bytes([*l0, *l1]));
            rest = rest.and_then(|bytes| bytes.get(len.next_multiple_of(4)..));
        }
    }
    types
}

#[test]
fn address_join_has_the_numbers_of_the_page() {
    let supported = Parameter::Unknown { parameter_type: JOIN_SUPPORTED, value: &[] };
    for (peer, invites) in [(init_ack_with(&[supported]), true), (init_ack_with(&[]), false)] {
        let mut victim = Victim::established_by(AssociationConfig::default(), peer);
        victim.wait_for_timer();
        let mut types = vec![];
        for _ in 0..20 {
            types.extend(behind_heartbeat_infos(&victim.sent()));
            victim.wait_for_timer();
        }
        assert_eq!(types.contains(&JOIN_INVITATION), invites, "{types:x?}");
        assert!(!types.contains(&JOIN_PROOF), "{types:x?}");
        // The peer's invitation: twelve bytes of its own, and a secret.
        let mut info = vec![0; 12];
        info.extend(JOIN_INVITATION.to_be_bytes());
        info.extend([0, 36]);
        info.extend([7; 32]);
        victim.receive(
            ip(2),
            vec![Chunk::Heartbeat(Parameters::build([Parameter::HeartbeatInfo(&info)]))],
        );
        let mut types = vec![];
        for _ in 0..20 {
            types.extend(behind_heartbeat_infos(&victim.sent()));
            victim.wait_for_timer();
        }
        assert_eq!(types.contains(&JOIN_PROOF), invites, "{types:x?}");
    }
}

/// Where a peer at address 1 sends from.
fn at(remote_port: u16) -> Encapsulation {
    Encapsulation::Udp { local_port: 9899, remote_port }
}

/// A peer at address 1 and this UDP port makes an association. Returns the tag of the packets to it.
fn opens(victim: &mut Victim, udp_port: u16) -> u32 {
    let init = Init {
        initiate_tag: udp_port.into(),
        a_rwnd: 100_000,
        outbound_streams: 10,
        inbound_streams: 10,
        initial_tsn: 1,
        parameters: Parameters::empty(),
    };
    victim.sent();
    victim.receive_carried_with_tag(0, ip(1), at(udp_port), vec![Chunk::Init(init)]);
    let answer = victim.sent().remove(0);
    let Chunk::InitAck(ack) = &answer.packet.chunks[0] else { panic!("{answer:?}") };
    let cookie = ack.parameters.state_cookie().unwrap().to_vec();
    let echo = Chunk::CookieEcho(Raw::Shared(cookie.into()));
    victim.receive_carried_with_tag(ack.initiate_tag, ip(1), at(udp_port), vec![echo]);
    ack.initiate_tag
}

/// By RFC 9260 section 5.2 alone this would be a restart; behind a translator it may be another host.
#[test]
fn a_peer_that_restarts_at_another_udp_port_is_another_one() {
    let mut victim = Victim::accepting(config(Preset::Rfc9260), &[ip(2)], ip(3), &[]);
    opens(&mut victim, 1000);
    let new = opens(&mut victim, 2000);
    let is_up = |victim: &Victim, slot: usize| victim.host.slots[slot].association.is_established();
    assert!(victim.host.slots.len() == 3 && is_up(&victim, 1) && is_up(&victim, 2));
    // From now on only the new one answers.
    while is_up(&victim, 1) {
        for transmit in victim.sent().into_iter().filter(|it| it.encapsulation == at(2000)) {
            for chunk in transmit.packet.chunks {
                let Chunk::Heartbeat(info) = chunk else { continue };
                let answer = vec![Chunk::HeartbeatAck(info)];
                victim.receive_carried_with_tag(new, ip(1), at(2000), answer);
            }
        }
        assert!(victim.wait_for_timer());
    }
    let events = &victim.host.slots[1].events;
    assert_eq!(events.last(), Some(&Event::Ended(AssociationEnd::Unreachable)));
    assert!(!events.iter().any(|event| matches!(event, Event::Restarted { .. })));
    assert!(is_up(&victim, 2));
}

/// RFC 6525 section 5.2.2 (E2) allows to hold it.
#[test]
fn data_behind_a_deferred_reset_is_not_held() {
    let mut own = config(Preset::Rfc9260);
    own.policies.stream_reconfiguration = StreamReconfiguration::On;
    let mut victim = Victim::established_by(own, init_ack_offering(&[chunk_type::RE_CONFIG]));
    let request = Parameter::OutgoingSsnReset {
        request_sequence: 1,
        response_sequence: 0,
        last_tsn: 2,
        streams: U16List::Numbers(&[0]),
    };
    victim.receive(ip(2), vec![Chunk::ReConfig(Parameters::build([request]))]);
    let Chunk::Data(mut behind) = data(3) else { panic!() };
    behind.flags |= DataFlags::UNORDERED;
    victim.receive(ip(2), vec![Chunk::Data(behind)]);
    assert_eq!(victim.host.slots[0].messages.len(), 1, "although TSNs 1 and 2 are missing");
    let is_reset = |event: &Event| matches!(event, Event::IncomingStreamsReset { .. });
    assert!(!victim.events().iter().any(is_reset));
    victim.receive(ip(2), vec![data(1)]);
    victim.receive(ip(2), vec![data(2)]);
    assert!(victim.events().iter().any(is_reset));
    assert_eq!(victim.host.slots[0].messages.len(), 3);
}

/// Whether a packet with DATA can be marked, for the packets sent.
fn data_marks(sent: &[Transmit]) -> Vec<Ecn> {
    let has_data = |it: &&Transmit| it.packet.chunks.iter().any(|c| matches!(c, Chunk::Data(_)));
    sent.iter().filter(has_data).map(|transmit| transmit.ecn).collect()
}

/// Section 5.6 of the draft.
#[test]
fn the_first_transmission_of_a_window_probe_is_ecn_capable() {
    let mut own = AssociationConfig { heartbeat_interval: None, ..config(Preset::Cmt) };
    own.policies.explicit_congestion_notification = ExplicitCongestionNotification::On;
    let mut victim = Victim::established_by(own, init_ack_with(&[Parameter::EcnCapable]));
    let first = victim.first_tsn();
    victim.send(1, 1000);
    victim.sent();
    victim.receive(ip(2), vec![sack(first, 0, &[])]);
    victim.send(5, 1000);
    let mut probes = data_marks(&victim.sent());
    while probes.len() < 3 {
        assert!(victim.wait_for_timer());
        probes.extend(data_marks(&victim.sent()));
    }
    assert_eq!(probes, [Ecn::Ect0, Ecn::NotEct, Ecn::NotEct]);
}
