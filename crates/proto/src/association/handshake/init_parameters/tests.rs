use crate::config::AuthenticatedChunks;
use std::vec;

use proptest::prelude::*;

use super::*;
use crate::config::Preset;
use crate::types::address_scope::is_unicast;
use crate::types::{AddressList, Capabilities, MAX_ADDRESSES};

const NONE: Capabilities = Capabilities::empty();

const COOKIE: Parameter<'static> = Parameter::StateCookie(b"cookie");

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn ips(text: &str) -> AddressList {
    text.split_whitespace().map(ip).collect()
}

fn init(parameters: &[Parameter<'_>]) -> Init<'static> {
    Init {
        initiate_tag: 7,
        a_rwnd: 1500,
        outbound_streams: 3,
        inbound_streams: 5,
        initial_tsn: 9,
        parameters: Parameters::build(parameters.iter().cloned()),
    }
}

/// What an INIT ACK from the first of these addresses says to the peer, without extensions.
fn answer_to(local: &AddressList, peer: &PeerInit) -> Parameters<'static> {
    init_ack_parameters(local, local[0], over_ip("198.51.100.1"), peer, b"cookie", NONE, None)
}

fn listing(addresses: &str) -> Init<'static> {
    let list: Vec<_> = ips(addresses).into_iter().map(Parameter::from).collect();
    init(&list)
}

fn parse_as(kind: InitKind, init: &Init<'_>) -> Result<PeerInit, InitProblem> {
    let local_addresses = &ips("192.0.2.1 2001:db8::1");
    PeerInit::parse(
        init,
        kind,
        ip("198.51.100.1"),
        &InitLimits {
            max_addresses: 4,
            local_addresses,
            authentication: AuthenticatedChunks::Off.into(),
        },
    )
}

fn parse(init: &Init<'_>) -> Result<PeerInit, InitProblem> {
    parse_as(InitKind::Init, init)
}

fn taken(source: &str, listed: &str, local: &str) -> (AddressList, u32) {
    let limits = InitLimits {
        max_addresses: 8,
        local_addresses: &ips(local),
        authentication: AuthenticatedChunks::Off.into(),
    };
    let peer = PeerInit::parse(&listing(listed), InitKind::Init, ip(source), &limits).unwrap();
    (peer.addresses, peer.ignored_addresses)
}

fn addresses_of(parameters: &Parameters<'_>) -> AddressList {
    parameters.addresses().collect()
}

fn over_ip(address: &str) -> PeerAddress {
    PeerAddress { address: ip(address), encapsulation: Encapsulation::None }
}

fn over_udp(address: &str) -> PeerAddress {
    let encapsulation = Encapsulation::Udp { local_port: 9899, remote_port: 9899 };
    PeerAddress { address: ip(address), encapsulation }
}

#[test]
fn the_fixed_part_is_taken_over() {
    let peer = parse(&init(&[])).unwrap();
    assert_eq!((peer.tag, peer.a_rwnd, peer.initial_tsn), (7, 1500, 9));
    assert_eq!((peer.outbound_streams, peer.inbound_streams), (3, 5));
    assert_eq!(peer.addresses, ips("198.51.100.1"));
    assert_eq!(peer.address_types, AddressTypes::all());
    assert_eq!(peer.cookie, None);
    assert!(peer.unrecognized.is_empty());
    let most =
        Init { a_rwnd: u32::MAX, outbound_streams: 65_535, inbound_streams: 65_535, ..init(&[]) };
    assert_eq!(parse(&most).unwrap().inbound_streams, 65_535);
}

#[test]
fn impossible_fixed_parts_are_refused() {
    let cases = [
        (Init { initiate_tag: 0, a_rwnd: 0, ..init(&[]) }, InitProblem::ZeroTag),
        (Init { a_rwnd: 0, ..init(&[]) }, InitProblem::SmallWindow),
        (Init { a_rwnd: 1499, ..init(&[]) }, InitProblem::SmallWindow),
        (Init { outbound_streams: 0, ..init(&[]) }, InitProblem::NoStreams),
        (Init { inbound_streams: 0, ..init(&[]) }, InitProblem::NoStreams),
    ];
    for (init, problem) in cases {
        for kind in [InitKind::Init, InitKind::InitAck] {
            assert_eq!(parse_as(kind, &init).unwrap_err(), problem);
        }
        let causes = problem.causes();
        assert_eq!(causes.iter().collect::<Vec<_>>(), [Cause::InvalidParameter]);
    }
}

#[test]
fn init_ack_needs_a_cookie_wherever_it_stands() {
    let problem = parse_as(InitKind::InitAck, &init(&[])).unwrap_err();
    assert_eq!(problem, InitProblem::MissingCookie);
    let missing = U16List::Numbers(&[parameter_type::STATE_COOKIE]);
    let causes = problem.causes();
    assert_eq!(causes.iter().collect::<Vec<_>>(), [Cause::MissingParameters(missing)]);

    let stop = Parameter::Unknown { parameter_type: 0x0F00, value: b"" };
    for parameters in [vec![COOKIE], vec![stop, COOKIE], vec![COOKIE, Parameter::StateCookie(b"2")]]
    {
        let peer = parse_as(InitKind::InitAck, &init(&parameters)).unwrap();
        assert_eq!(peer.cookie.as_deref(), Some(&b"cookie"[..]));
        assert_eq!(parse(&init(&parameters)).unwrap().cookie, None);
    }
}

#[test]
fn a_host_name_is_refused_with_the_parameter() {
    let name = Parameter::HostName(b"host.example\0");
    let problem = parse(&init(core::slice::from_ref(&name))).unwrap_err();
    let expected = Parameters::build([name]);
    let causes = problem.causes();
    assert_eq!(
        causes.iter().collect::<Vec<_>>(),
        [Cause::UnresolvableAddress(expected.as_slice())]
    );
}

#[test]
fn listed_addresses_follow_the_source_once_each() {
    let (addresses, ignored) = taken(
        "198.51.100.1",
        "198.51.100.2 198.51.100.1 2001:db8::7 198.51.100.2",
        "192.0.2.1 2001:db8::1",
    );
    assert_eq!(addresses, ips("198.51.100.1 198.51.100.2 2001:db8::7"));
    assert_eq!(ignored, 0);
}

#[test]
fn addresses_that_cannot_be_meant_are_ignored() {
    let unusable = [
        "224.0.0.1",
        "255.255.255.255",
        "0.0.0.0",
        "240.1.1.1",
        "127.0.0.1",
        "169.254.3.4",
        "::",
        "::1",
        "ff02::1",
        "fe80::1",
        "::ffff:198.51.100.3",
        "192.0.2.1",
    ];
    for address in unusable {
        let (addresses, ignored) = taken("198.51.100.1", address, "192.0.2.1 2001:db8::1");
        assert_eq!((addresses, ignored), (ips("198.51.100.1"), 1), "{address}");
    }
}

#[test]
fn a_family_without_local_address_is_ignored() {
    let (addresses, ignored) = taken("198.51.100.1", "2001:db8::7 198.51.100.2", "192.0.2.1");
    assert_eq!((addresses, ignored), (ips("198.51.100.1 198.51.100.2"), 1));
}

#[test]
fn a_peer_on_this_host_may_list_its_addresses() {
    let (addresses, ignored) = taken("127.0.0.1", "127.0.0.2 192.0.2.1", "127.0.0.1 192.0.2.1");
    assert_eq!((addresses, ignored), (ips("127.0.0.1 127.0.0.2 192.0.2.1"), 0));
    // Neither has the other's IPv4 address, both have the same IPv6 one.
    let (addresses, ignored) = taken("127.0.0.2", "127.0.0.2 ::1", "127.0.0.1 ::1");
    assert_eq!((addresses, ignored), (ips("127.0.0.2 ::1"), 0));
}

#[test]
fn excess_addresses_are_counted() {
    let list: Vec<_> = (1..=100).map(|n| Parameter::from(IpAddr::from([203, 0, 113, n]))).collect();
    let peer = parse(&init(&list)).unwrap();
    assert_eq!(peer.addresses, ips("198.51.100.1 203.0.113.1 203.0.113.2 203.0.113.3"));
    assert_eq!(peer.ignored_addresses, 97);
    let limits = InitLimits {
        max_addresses: 1000,
        local_addresses: &ips("192.0.2.1"),
        authentication: AuthenticatedChunks::Off.into(),
    };
    let peer = PeerInit::parse(&init(&list), InitKind::Init, ip("198.51.100.1"), &limits).unwrap();
    assert_eq!(peer.addresses.len(), MAX_ADDRESSES);
    let none = InitLimits { max_addresses: 0, ..limits };
    let peer = PeerInit::parse(&init(&list), InitKind::Init, ip("198.51.100.1"), &none).unwrap();
    assert_eq!(peer.addresses, ips("198.51.100.1"));
}

#[test]
fn unknown_parameters_are_treated_by_their_highest_bits() {
    let after = Parameter::from(ip("198.51.100.2"));
    // Types: 00 stop, 01 stop and report, 10 skip, 11 skip and report.
    let table = [
        (0x0F01, false, false),
        (0x4F01, false, true),
        (0x8F01, true, false),
        (0xCF01, true, true),
    ];
    for (parameter_type, continues, reports) in table {
        let unknown = Parameter::Unknown { parameter_type, value: b"abc" };
        let peer = parse(&init(&[unknown.clone(), after.clone()])).unwrap();
        assert_eq!(peer.addresses.len() == 2, continues, "{parameter_type:#x}");
        let mut expected = Unrecognized::default();
        if reports {
            expected.push(Bytes::copy_from_slice(Parameters::build([unknown]).as_slice()));
        }
        assert_eq!(peer.unrecognized, expected, "{parameter_type:#x}");
    }
}

#[test]
fn extensions_not_implemented_are_unknown_parameters() {
    let known = parse(&init(&[Parameter::ForwardTsnSupported])).unwrap();
    assert!(known.unrecognized.is_empty());
    assert_eq!(known.capabilities, Capabilities::FORWARD_TSN);
    let marked = parse(&init(&[Parameter::EcnCapable])).unwrap();
    assert!(marked.unrecognized.is_empty());
    assert_eq!(marked.capabilities, Capabilities::ECN);
    let silent = [
        Parameter::ZeroChecksumAcceptable(2),
        Parameter::Random(b"r"),
        Parameter::Chunks(&[0]),
        Parameter::HmacAlgorithms(U16List::Numbers(&[3])),
        Parameter::Padding(&[0; 9]),
        Parameter::SupportedExtensions(&[0xC0]),
        Parameter::Unrecognized(b"\xC0\x00\x00\x04"),
    ];
    let peer = parse(&init(&silent)).unwrap();
    assert!(peer.unrecognized.is_empty());
    assert_eq!(peer.capabilities, Capabilities::FORWARD_TSN);
}

#[test]
fn reports_are_bounded() {
    let many = vec![Parameter::Unknown { parameter_type: 0xCF01, value: b"" }; 300];
    let long = [Parameter::Unknown { parameter_type: 0xCF01, value: &[1; 600] }];
    let local = ips("192.0.2.1");
    for (parameters, reports) in [(&many[..], 64), (&long[..], 0)] {
        let peer = parse(&init(parameters)).unwrap();
        assert_eq!(peer.unrecognized.0.len(), reports);
        let answer = answer_to(&local, &peer);
        assert!(answer.as_slice().len() <= MAX_REPORT_BYTES + 12);
    }
}

#[test]
fn reports_quote_the_parameters() {
    let unknown = |parameter_type, value| Parameter::Unknown { parameter_type, value };
    let quoted = [unknown(0xCF01, &b"abc"[..]), unknown(0xCF02, b"")];
    let peer = parse(&init(&quoted)).unwrap();
    let local = ips("192.0.2.1");
    let answer = answer_to(&local, &peer);
    let tlvs: Vec<_> = quoted.iter().map(|p| Parameters::build([p.clone()])).collect();
    let expected = [
        COOKIE,
        Parameter::Unrecognized(tlvs[0].as_slice()),
        Parameter::Unrecognized(tlvs[1].as_slice()),
    ];
    assert_eq!(answer.iter().collect::<Vec<_>>(), expected);
    let causes = peer.unrecognized.to_causes();
    let all = Parameters::build(quoted);
    assert_eq!(causes.iter().collect::<Vec<_>>(), [Cause::UnrecognizedParameters(all.as_slice())]);
}

#[test]
fn address_types_that_the_peer_uses_are_supported() {
    let types = |types| Parameter::SupportedAddressTypes(U16List::Numbers(types));
    let v6 = Parameter::from(ip("2001:db8::9"));
    let table: [(&[Parameter<'_>], AddressTypes); 4] = [
        (&[types(&[5])], AddressTypes::IPV4),
        (&[types(&[11])], AddressTypes::IPV4),
        (&[types(&[6])], AddressTypes::all()),
        (&[v6, types(&[5])], AddressTypes::all()),
    ];
    let local = ips("192.0.2.1 192.0.2.2 2001:db8::1");
    for (parameters, expected) in table {
        let peer = parse(&init(parameters)).unwrap();
        assert_eq!(peer.address_types, expected);
        let told = answer_to(&local, &peer);
        let all = expected == AddressTypes::all();
        assert_eq!(addresses_of(&told).len(), if all { 3 } else { 2 });
    }
}

#[test]
fn the_wish_for_a_longer_life_is_read_and_written() {
    let local = ips("192.0.2.1");
    let wish = Duration::from_micros(1_234_567);
    let parameters =
        init_parameters(&local, local[0], over_ip("198.51.100.1"), Some(wish), NONE, None);
    let peer = parse(&Init { parameters, ..init(&[]) }).unwrap();
    assert_eq!(peer.life_extension, Duration::from_millis(1235));
    let parameters =
        init_parameters(&local, local[0], over_ip("198.51.100.1"), Some(Duration::MAX), NONE, None);
    assert_eq!(
        parse(&Init { parameters, ..init(&[]) }).unwrap().life_extension,
        Duration::from_millis(u32::MAX.into())
    );
}

#[test]
fn init_lists_what_the_peer_can_use() {
    let told = |local: &str, from: &str, to: &str| {
        addresses_of(&init_parameters(&ips(local), ip(from), over_ip(to), None, NONE, None))
    };
    // A single address is the source of the packet, and is told by that alone.
    assert!(told("192.0.2.1", "192.0.2.1", "198.51.100.1").is_empty());
    assert!(told("127.0.0.1 192.0.2.1", "192.0.2.1", "198.51.100.1").is_empty());
    assert_eq!(told("192.0.2.1", "192.0.2.7", "198.51.100.1"), ips("192.0.2.1"));
    let all = "192.0.2.1 10.0.0.1 127.0.0.1 fe80::1 2001:db8::1 ::1 169.254.0.1 0.0.0.0 224.0.0.5";
    let global = ips("192.0.2.1 10.0.0.1 2001:db8::1");
    assert_eq!(told(all, "192.0.2.1", "198.51.100.1"), global);
    assert_eq!(told(all, "10.0.0.1", "10.0.0.2"), global);
    let link = ips("192.0.2.1 10.0.0.1 fe80::1 2001:db8::1 169.254.0.1");
    assert_eq!(told(all, "fe80::1", "fe80::2"), link);
    assert_eq!(told(all, "127.0.0.1", "127.0.0.1").len(), 7);
    assert_eq!(told("192.0.2.1 192.0.2.1 192.0.2.2", "192.0.2.1", "198.51.100.1").len(), 2);
}

#[test]
fn init_names_its_family_if_it_has_only_one() {
    let types = |local: &str, from: &str| {
        let parameters =
            init_parameters(&ips(local), ip(from), over_ip("198.51.100.1"), None, NONE, None);
        parameters.iter().find_map(|parameter| match parameter {
            Parameter::SupportedAddressTypes(types) => Some(types.iter().collect::<Vec<_>>()),
            _ => None,
        })
    };
    assert_eq!(types("192.0.2.1", "192.0.2.1"), Some(vec![5]));
    assert_eq!(types("2001:db8::1", "2001:db8::1"), Some(vec![6]));
    assert_eq!(types("192.0.2.1 2001:db8::1", "192.0.2.1"), None);
}

#[test]
fn what_the_policies_want_is_offered() {
    let local = ips("192.0.2.1");
    let mut config = AssociationConfig::with_preset(Preset::Rfc9260);
    let told = |offered| {
        let parameters =
            init_parameters(&local, local[0], over_ip("198.51.100.1"), None, offered, None);
        let peer = parse(&Init { parameters: parameters.clone(), ..init(&[]) }).unwrap();
        let listed = parameters.iter().any(|p| matches!(p, Parameter::SupportedExtensions(_)));
        // Over IP, its own parameter tells FORWARD-TSN to all who know it.
        let own_parameters = Capabilities::FORWARD_TSN | Capabilities::ADDRESS_JOIN;
        assert_eq!(listed, !(peer.capabilities - own_parameters).is_empty());
        peer.capabilities
    };
    assert_eq!(told(Capabilities::offered(&config)), Capabilities::FORWARD_TSN);
    config.policies.packet_drop_report = PacketDropReport::On;
    let both = Capabilities::FORWARD_TSN | Capabilities::PACKET_DROP;
    assert_eq!(told(Capabilities::offered(&config)), both);
    config.address_join = AddressJoin::On;
    let three = both | Capabilities::ADDRESS_JOIN;
    assert_eq!(told(Capabilities::offered(&config)), three);
    assert_eq!(told(Capabilities::all()), Capabilities::all());
}

fn any_parameter() -> impl Strategy<Value = (u16, Vec<u8>)> {
    let known = prop::sample::select(vec![
        parameter_type::IPV4,
        parameter_type::IPV6,
        parameter_type::STATE_COOKIE,
        parameter_type::SUPPORTED_ADDRESS_TYPES,
        parameter_type::COOKIE_PRESERVATIVE,
        parameter_type::SUPPORTED_EXTENSIONS,
    ]);
    let kinds =
        (any::<u16>(), known, 0..7).prop_map(|(any, known, n)| if n == 0 { any } else { known });
    (kinds, prop::collection::vec(any::<u8>(), 0..20))
}

proptest! {
    /// Whatever a peer lists, what is taken of it is bounded and usable, and the answer is bounded as well.
    #[test]
    fn what_is_taken_is_bounded(
        parameters in prop::collection::vec(any_parameter(), 0..60),
        max_addresses in 0_usize..40,
    ) {
        let mut list = Vec::new();
        for (parameter_type, mut value) in parameters {
            match parameter_type {
                parameter_type::IPV4 | parameter_type::COOKIE_PRESERVATIVE => value.resize(4, 1),
                parameter_type::IPV6 => value.resize(16, 1),
                _ => {}
            }
            list.extend_from_slice(&parameter_type.to_be_bytes());
            list.extend_from_slice(&(value.len() as u16 + 4).to_be_bytes());
            list.extend_from_slice(&value);
            list.resize(list.len().next_multiple_of(4), 0);
        }
        let Ok(parameters) = Parameters::parse(&list) else { return Ok(()) };
        let init = Init { parameters, ..init(&[]) };
        let local = ips("192.0.2.1 2001:db8::1");
        let limits = InitLimits { max_addresses, local_addresses: &local, authentication: AuthenticatedChunks::Off.into() };
        let Ok(peer) = PeerInit::parse(&init, InitKind::Init, ip("198.51.100.1"), &limits) else {
            return Ok(());
        };
        prop_assert_eq!(peer.addresses[0], ip("198.51.100.1"));
        prop_assert!(peer.addresses.len() <= max_addresses.clamp(1, MAX_ADDRESSES));
        for (position, address) in peer.addresses.iter().enumerate() {
            prop_assert!(is_unicast(*address));
            prop_assert!(!peer.addresses[..position].contains(address));
        }
        let answer = init_ack_parameters(&local, local[0], over_ip("198.51.100.1"), &peer, b"", NONE, None);
        prop_assert!(answer.as_slice().len() <= 4 + 8 + 20 + MAX_REPORT_BYTES);
        prop_assert!(Parameters::parse(answer.as_slice()).is_ok());
    }
}

/// What pion, sctp-proto and rtc-sctp want to see, or must not see, where SCTP runs over UDP.
#[test]
fn stacks_of_webrtc_understand_what_is_sent_over_udp() {
    let local = ips("192.0.2.1 192.0.2.2");
    let to = over_udp("198.51.100.1");
    let peer = parse(&init(&[])).unwrap();
    for offered in [Capabilities::FORWARD_TSN, Capabilities::FORWARD_TSN | Capabilities::NR_SACK] {
        let init = init_parameters(&local, local[0], to, None, offered, None);
        let ack = init_ack_parameters(&local, local[0], to, &peer, b"cookie", offered, None);
        for list in [init, ack] {
            let all: Vec<_> = list.iter().collect();
            let listed = all.iter().find_map(|parameter| match parameter {
                Parameter::SupportedExtensions(chunk_types) => Some(*chunk_types),
                _ => None,
            });
            assert!(listed.is_some_and(|listed| listed.contains(&0xC0)), "{all:?}");
            assert!(all.contains(&Parameter::ForwardTsnSupported), "for all others");
            let types = |p: &Parameter<'_>| matches!(p, Parameter::SupportedAddressTypes(_));
            assert!(!all.iter().any(types), "pion stops reading there");
            assert!(matches!(all.last(), Some(Parameter::SupportedExtensions(_))));
        }
    }
}

/// pion and sctp-proto list two or three chunk types and nothing of addresses, and reject what lists addresses.
#[test]
fn a_peer_with_one_path_is_told_no_addresses() {
    let local = ips("192.0.2.1 192.0.2.2");
    let webrtc = Parameter::SupportedExtensions(&[130, 192]);
    let with_asconf = Parameter::SupportedExtensions(&[0xC1, 0x80, 130, 192]);
    let types = Parameter::SupportedAddressTypes(U16List::Numbers(&[5]));
    for (parameters, to, count) in [
        (core::slice::from_ref(&webrtc), over_udp("198.51.100.1"), 0),
        (core::slice::from_ref(&webrtc), over_ip("198.51.100.1"), 2),
        (&[webrtc.clone(), types], over_udp("198.51.100.1"), 2),
        (&[with_asconf], over_udp("198.51.100.1"), 2),
        (&[], over_udp("198.51.100.1"), 2),
    ] {
        let peer = parse(&init(parameters)).unwrap();
        let told = init_ack_parameters(&local, local[0], to, &peer, b"cookie", NONE, None);
        assert_eq!(addresses_of(&told).len(), count, "{parameters:?}");
    }
}

/// RFC 9653 section 5.1: what the peer names must be a method that this side has.
#[test]
fn a_checksum_of_zero_is_told_and_read_with_its_method() {
    for (method, known) in [(1, true), (0, false), (2, false)] {
        let peer = parse(&init(&[Parameter::ZeroChecksumAcceptable(method)])).unwrap();
        assert_eq!(peer.capabilities.contains(Capabilities::ZERO_CHECKSUM), known, "{method}");
        assert!(peer.unrecognized.is_empty(), "its type says that it is skipped");
    }
    let local = ips("192.0.2.1");
    let peer = parse(&init(&[])).unwrap();
    for (offered, told) in [(Capabilities::ZERO_CHECKSUM, true), (NONE, false)] {
        let to = over_ip("198.51.100.1");
        let init = init_parameters(&local, local[0], to, None, offered, None);
        let ack = init_ack_parameters(&local, local[0], to, &peer, b"cookie", offered, None);
        for list in [init, ack] {
            let is_there = list.iter().any(|p| p == Parameter::ZeroChecksumAcceptable(1));
            assert_eq!(is_there, told);
        }
    }
}
