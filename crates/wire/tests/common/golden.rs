//! One packet per chunk type, parameter and error cause, each with values that cannot be taken for one another.

use std::path::PathBuf;

use bytes::Bytes;
use polypath_wire::*;

/// Number of the payload protocol identifier of user data; 99 is free, so that no dissector reads more into it.
const PPID: u32 = 99;

/// An Add IP parameter inside a cause.
const ADD_IP: &[u8] = &[0xC0, 1, 0, 16, 0, 0, 0, 8, 0, 5, 0, 8, 192, 0, 2, 78];

pub type Named = (String, Packet<'static>);

/// The packets that `tests/golden/packets.txt` holds as bytes.
pub fn packets() -> Vec<Named> {
    let mut named: Vec<Named> = Vec::new();
    let mut add = |name: &str, chunks: Vec<Chunk<'static>>| {
        named.push((name.to_owned(), packet(chunks)));
    };
    for (name, chunk) in user_data() {
        add(name, vec![chunk]);
    }
    for (name, chunk) in acknowledgements() {
        add(name, vec![chunk]);
    }
    for (name, chunk) in handshake() {
        add(name, vec![chunk]);
    }
    for (name, chunk) in closing() {
        add(name, vec![chunk]);
    }
    for (name, chunk) in extensions() {
        add(name, vec![chunk]);
    }
    for (number, parameter) in init_parameters().into_iter().enumerate() {
        let name = format!("init-parameter-{:#06x}-{number}", parameter.parameter_type());
        add(&name, vec![Chunk::Init(init(Parameters::build([parameter])))]);
    }
    for (number, parameter) in re_config_parameters().into_iter().enumerate() {
        let name = format!("re-config-{:#06x}-{number}", parameter.parameter_type());
        add(&name, vec![Chunk::ReConfig(Parameters::build([parameter]))]);
    }
    for cause in error_causes() {
        let name = format!("error-cause-{:#06x}", cause.code());
        add(&name, vec![Chunk::Error(Causes::build([cause]))]);
    }
    add("bundle-sack-data-data", vec![sack(), data(), last_fragment()]);
    add("bundle-cookie-echo-data", vec![cookie_echo(), data()]);
    add("bundle-auth-asconf", vec![auth(), asconf()]);
    add("no-chunks", vec![]);
    named
}

/// Where the bytes of the packets are kept.
pub fn file() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/packets.txt")
}

fn packet(chunks: Vec<Chunk<'static>>) -> Packet<'static> {
    Packet {
        source_port: 50_001,
        destination_port: 50_002,
        verification_tag: 0xA1B2_C3D4,
        chunks: chunks.into(),
    }
}

fn payload(text: &'static [u8]) -> Payload<'static> {
    Payload::Shared(Bytes::from_static(text))
}

fn raw(bytes: &'static [u8]) -> Raw<'static> {
    Raw::Shared(Bytes::from_static(bytes))
}

fn data() -> Chunk<'static> {
    let flags = DataFlags::BEGIN | DataFlags::END;
    let payload = payload(b"ordered");
    Chunk::Data(Data { flags, tsn: 0x8001_0203, stream: 11, ssn: 22, ppid: PPID, payload })
}

fn last_fragment() -> Chunk<'static> {
    let flags = DataFlags::END | DataFlags::UNORDERED | DataFlags::IMMEDIATE;
    let payload = payload(b"the end of it");
    Chunk::Data(Data { flags, tsn: 0x8001_0207, stream: 12, ssn: 23, ppid: PPID, payload })
}

fn user_data() -> [(&'static str, Chunk<'static>); 5] {
    let first = IData {
        flags: DataFlags::BEGIN,
        tsn: 0x7001_0203,
        stream: 31,
        mid: 0x0101_0202,
        ppid_or_fsn: PPID,
        payload: payload(b"first piece"),
    };
    let second = IData {
        flags: DataFlags::UNORDERED,
        tsn: 0x7001_0204,
        ppid_or_fsn: 1,
        payload: payload(b"second piece"),
        ..first.clone()
    };
    let pattern = VirtualPayload { message: 77, offset: 5, len: 33 };
    let of_pattern = Data {
        flags: DataFlags::BEGIN,
        tsn: 9,
        stream: 1,
        ssn: 2,
        ppid: PPID,
        payload: Payload::Virtual(pattern),
    };
    [
        ("data", data()),
        ("data-last-fragment", last_fragment()),
        ("data-virtual", Chunk::Data(of_pattern)),
        ("i-data-first", Chunk::IData(first)),
        ("i-data-middle", Chunk::IData(second)),
    ]
}

fn sack() -> Chunk<'static> {
    Chunk::Sack(Sack {
        flags: 0,
        cumulative_tsn_ack: 0x1000_0001,
        a_rwnd: 65_535,
        gap_ack_blocks: blocks(&[(2, 3), (5, 9)]),
        duplicate_tsns: [0x0FFF_FFF0, 0x0FFF_FFF8].into_iter().collect(),
    })
}

fn blocks(ends: &[(u16, u16)]) -> GapAckBlocks<'static> {
    ends.iter().map(|&(start, end)| GapAckBlock { start, end }).collect()
}

fn acknowledgements() -> [(&'static str, Chunk<'static>); 6] {
    let plain = Sack {
        flags: 0,
        cumulative_tsn_ack: 0x1000_0002,
        a_rwnd: 131_072,
        gap_ack_blocks: GapAckBlocks::default(),
        duplicate_tsns: DuplicateTsns::default(),
    };
    let counted = Sack { flags: 0x80, ..plain.clone() };
    // The three examples of draft-tuexen-tsvwg-sctp-multipath section 4.3.
    let all_renegable = NrSack {
        flags: 0,
        cumulative_tsn_ack: 3,
        a_rwnd: 4000,
        renegable_blocks: blocks(&[(2, 5), (8, 8), (10, 13)]),
        non_renegable_blocks: GapAckBlocks::default(),
        duplicate_tsns: DuplicateTsns::default(),
        reserved: 0,
    };
    let mixed = NrSack {
        renegable_blocks: blocks(&[(8, 8), (11, 12)]),
        non_renegable_blocks: blocks(&[(2, 5), (10, 10), (13, 13)]),
        duplicate_tsns: [2].into_iter().collect(),
        ..all_renegable.clone()
    };
    let none_renegable = NrSack {
        renegable_blocks: GapAckBlocks::default(),
        non_renegable_blocks: all_renegable.renegable_blocks.clone(),
        ..all_renegable.clone()
    };
    [
        ("sack", sack()),
        ("sack-plain", Chunk::Sack(plain)),
        ("sack-with-count", Chunk::Sack(counted)),
        ("nr-sack-all-renegable", Chunk::NrSack(all_renegable)),
        ("nr-sack-mixed", Chunk::NrSack(mixed)),
        ("nr-sack-none-renegable", Chunk::NrSack(none_renegable)),
    ]
}

fn init(parameters: Parameters<'static>) -> Init<'static> {
    Init {
        initiate_tag: 0x1111_2222,
        a_rwnd: 106_496,
        outbound_streams: 10,
        inbound_streams: 2048,
        initial_tsn: 0x3333_4444,
        parameters,
    }
}

fn cookie_echo() -> Chunk<'static> {
    Chunk::CookieEcho(raw(b"a state cookie of 27 bytes."))
}

fn handshake() -> [(&'static str, Chunk<'static>); 6] {
    let both_addresses = Parameters::build([
        Parameter::Ipv4([192, 0, 2, 1].into()),
        Parameter::Ipv6([0x2001, 0xDB8, 0, 0, 0, 0, 0, 0x17].into()),
        Parameter::SupportedAddressTypes(U16List::Numbers(&[5, 6])),
        Parameter::EcnCapable,
        Parameter::ForwardTsnSupported,
        Parameter::SupportedExtensions(&[192, 193, 128, 130, 64]),
    ]);
    let cookie = Parameters::build([
        Parameter::StateCookie(b"opaque cookie"),
        Parameter::Unrecognized(&[0xFF, 0xF1, 0, 4]),
        Parameter::SupportedExtensions(&[192, 16, 129]),
    ]);
    let info = Parameters::build([Parameter::HeartbeatInfo(b"path 3 nonce 0123")]);
    [
        ("init", Chunk::Init(init(both_addresses))),
        ("init-ack", Chunk::InitAck(init(cookie))),
        ("cookie-echo", cookie_echo()),
        ("cookie-ack", Chunk::CookieAck),
        ("heartbeat", Chunk::Heartbeat(info.clone())),
        ("heartbeat-ack", Chunk::HeartbeatAck(info)),
    ]
}

fn closing() -> [(&'static str, Chunk<'static>); 7] {
    let reason = Causes::build([Cause::UserInitiatedAbort(b"enough")]);
    let abort = Abort { reflected_tag: false, causes: reason };
    let bare = Abort { reflected_tag: true, causes: Causes::empty() };
    let two = [Cause::InvalidStream { stream: 99 }, Cause::StaleCookie { staleness_us: 750_000 }];
    [
        ("abort", Chunk::Abort(abort)),
        ("abort-reflected-tag", Chunk::Abort(bare)),
        ("shutdown", Chunk::Shutdown { cumulative_tsn_ack: 0x5566_7788 }),
        ("shutdown-ack", Chunk::ShutdownAck),
        ("shutdown-complete", Chunk::ShutdownComplete { reflected_tag: false }),
        ("shutdown-complete-reflected-tag", Chunk::ShutdownComplete { reflected_tag: true }),
        ("error-two-causes", Chunk::Error(Causes::build(two))),
    ]
}

fn auth() -> Chunk<'static> {
    Chunk::Auth(Auth { shared_key_id: 1, hmac_id: 3, hmac: raw(&[0x5A; 32]) })
}

fn asconf() -> Chunk<'static> {
    let (v4, v6) = ([192, 0, 2, 1].into(), [0xFD00, 0, 0, 0, 0, 0, 0, 9u16].into());
    let parameters = Parameters::build([
        Parameter::Ipv4([192, 0, 2, 9].into()),
        Parameter::AddIp { correlation_id: 1, address: v6 },
        Parameter::DeleteIp { correlation_id: 2, address: v4 },
        Parameter::SetPrimary { correlation_id: 3, address: v6 },
    ]);
    Chunk::Asconf(Asconf { serial: 0x0BAD_CAFE, parameters })
}

fn extensions() -> Vec<(&'static str, Chunk<'static>)> {
    let ack = Parameters::build([
        Parameter::SuccessIndication { correlation_id: 1 },
        Parameter::ErrorCauseIndication {
            correlation_id: 2,
            causes: Causes::build([Cause::ResourceShortage(ADD_IP)]),
        },
    ]);
    let report = PacketDrop {
        flags: 0x02,
        bandwidth_or_limit: 262_144,
        queued: 4096,
        truncated_length: 0,
        reserved: 0,
        packet: Raw::from(dropped_packet()),
    };
    let skipped = [(1, 100), (7, 65_535)].map(|(stream, ssn)| SkippedStream { stream, ssn });
    // Stream 1, ordered, MID 70,000; stream 7, unordered, MID 5.
    let messages = [(1, 0, 70_000), (7, SkippedMessages::UNORDERED, 5)];
    let messages = messages.map(|(stream, flags, mid)| SkippedMessages { stream, flags, mid });
    let messages = ForwardTsn::of_messages(0x2000_0002, messages);
    let unknown = |chunk_type| UnknownChunk { chunk_type, flags: 0x5A, value: raw(b"what?") };
    vec![
        ("auth", auth()),
        ("asconf", asconf()),
        ("asconf-ack", Chunk::AsconfAck(AsconfAck { serial: 0x0BAD_CAFE, parameters: ack })),
        ("packet-drop", Chunk::PacketDrop(report)),
        ("pad", Chunk::Pad(raw(&[0; 9]))),
        ("forward-tsn", Chunk::ForwardTsn(ForwardTsn::of_streams(0x2000_0001, skipped))),
        ("i-forward-tsn", Chunk::IForwardTsn(messages)),
        ("ecne", Chunk::Ecne(Ecne { lowest_tsn: 0x4000_0001, marked_packets: Some(3) })),
        ("ecne-old-form", Chunk::Ecne(Ecne { lowest_tsn: 0x4000_0002, marked_packets: None })),
        ("cwr", Chunk::Cwr(Cwr { override_mark: true, tsn: 0x4000_0003 })),
        ("unknown-stop", Chunk::Unknown(unknown(0x3E))),
        ("unknown-stop-and-report", Chunk::Unknown(unknown(0x7E))),
        ("unknown-skip", Chunk::Unknown(unknown(0xBE))),
        ("unknown-skip-and-report", Chunk::Unknown(unknown(0xFE))),
    ]
}

fn dropped_packet() -> Vec<u8> {
    let mut bytes = Vec::new();
    let inner = Packet {
        source_port: 50_002,
        destination_port: 50_001,
        verification_tag: 0x0102_0304,
        chunks: [data()].into_iter().collect(),
    };
    inner.append_to(&mut bytes, Checksum::Crc32c).expect("a short packet");
    bytes
}

fn init_parameters() -> Vec<Parameter<'static>> {
    vec![
        Parameter::CookiePreservative(30_000),
        Parameter::HostName(b"host.example\0"),
        Parameter::SupportedAddressTypes(U16List::Numbers(&[6])),
        Parameter::ZeroChecksumAcceptable(1),
        Parameter::Random(b"0123456789abcdef0123456789abcdef"),
        Parameter::Chunks(&[193, 128, 16]),
        Parameter::HmacAlgorithms(U16List::Numbers(&[3, 1])),
        Parameter::Padding(&[0; 6]),
        Parameter::AdaptationIndication(0x00C0_FFEE),
        Parameter::SetPrimary { correlation_id: 0, address: [203, 0, 113, 5].into() },
        Parameter::Unknown { parameter_type: 0x3FFE, value: b"stop" },
        Parameter::Unknown { parameter_type: 0x7FFE, value: b"stop, tell" },
        Parameter::Unknown { parameter_type: 0xBFFE, value: b"skip" },
        Parameter::Unknown { parameter_type: 0xFFFE, value: b"skip, tell" },
    ]
}

fn re_config_parameters() -> Vec<Parameter<'static>> {
    vec![
        Parameter::OutgoingSsnReset {
            request_sequence: 0x0A0A_0A01,
            response_sequence: 0x0B0B_0B02,
            last_tsn: 0x0C0C_0C03,
            streams: U16List::Numbers(&[4, 5, 6]),
        },
        Parameter::IncomingSsnReset {
            request_sequence: 0x0A0A_0A02,
            streams: U16List::Numbers(&[7, 8]),
        },
        Parameter::SsnTsnReset { request_sequence: 0x0A0A_0A03 },
        Parameter::ReConfigResponse {
            response_sequence: 0x0B0B_0B04,
            result: 1,
            next_tsns: Some(NextTsns { sender: 0x0D0D_0D05, receiver: 0x0E0E_0E06 }),
        },
        Parameter::ReConfigResponse { response_sequence: 0x0B0B_0B05, result: 6, next_tsns: None },
        Parameter::AddOutgoingStreams { request_sequence: 0x0A0A_0A04, new_streams: 12 },
        Parameter::AddIncomingStreams { request_sequence: 0x0A0A_0A05, new_streams: 13 },
    ]
}

fn error_causes() -> Vec<Cause<'static>> {
    const ADDRESS: &[u8] = &[0, 5, 0, 8, 192, 0, 2, 77];
    vec![
        Cause::InvalidStream { stream: 4711 },
        Cause::MissingParameters(U16List::Numbers(&[7, 12, 5])),
        Cause::StaleCookie { staleness_us: 1_234_567 },
        Cause::OutOfResource,
        Cause::UnresolvableAddress(ADDRESS),
        Cause::UnrecognizedChunk(&[0xFE, 1, 0, 6, b'h', b'i']),
        Cause::InvalidParameter,
        Cause::UnrecognizedParameters(&[0xFF, 0xF0, 0, 8, 1, 2, 3, 4]),
        Cause::NoUserData { tsn: 0x6000_0001 },
        Cause::CookieWhileShuttingDown,
        Cause::RestartWithNewAddresses(ADDRESS),
        Cause::UserInitiatedAbort(b"the user's own words"),
        Cause::ProtocolViolation(b"what was wrong"),
        Cause::DeleteLastAddress(ADD_IP),
        Cause::ResourceShortage(ADD_IP),
        Cause::DeleteSourceAddress(ADD_IP),
        Cause::IllegalAsconfAck,
        Cause::NoAuthorization(ADD_IP),
        Cause::UnsupportedHmac { hmac_id: 9 },
        Cause::Unknown { code: 0x7777, value: b"no idea" },
    ]
}
