//! Strategies for any parameter, cause, chunk and packet.

use bytes::Bytes;
use polypath_wire::*;
use proptest::collection::vec;
use proptest::prelude::*;

/// Random content from which any parameter or cause can be made.
#[derive(Clone, Debug)]
pub struct Recipe {
    kind: usize,
    bytes: Vec<u8>,
    list: Vec<u16>,
    numbers: [u32; 4],
    v4: [u8; 4],
    v6: [u8; 16],
}

const PARAMETER_KINDS: usize = 34;
const CAUSE_KINDS: usize = 21;

/// Ingredients for a parameter or a cause.
pub fn recipe() -> impl Strategy<Value = Recipe> {
    let kind = 0..PARAMETER_KINDS.max(CAUSE_KINDS);
    let numbers = any::<[u32; 4]>();
    let addresses = (any::<[u8; 4]>(), any::<[u8; 16]>());
    (kind, vec(any::<u8>(), 0..40), vec(any::<u16>(), 0..9), numbers, addresses).prop_map(
        |(kind, bytes, list, numbers, (v4, v6))| Recipe { kind, bytes, list, numbers, v4, v6 },
    )
}

impl Recipe {
    pub fn parameter(&self) -> Parameter<'_> {
        let bytes = self.bytes.as_slice();
        let list = U16List::Numbers(&self.list);
        let [first, second, third, fourth] = self.numbers;
        let v4 = std::net::IpAddr::from(self.v4);
        let v6 = std::net::IpAddr::from(self.v6);
        let new_streams = first as u16;
        match self.kind % PARAMETER_KINDS {
            0 => Parameter::HeartbeatInfo(bytes),
            1 => v4.into(),
            2 => v6.into(),
            3 => Parameter::StateCookie(bytes),
            4 => Parameter::Unrecognized(bytes),
            5 => Parameter::CookiePreservative(first),
            6 => Parameter::HostName(bytes),
            7 => Parameter::SupportedAddressTypes(list),
            8 => Parameter::OutgoingSsnReset {
                request_sequence: first,
                response_sequence: second,
                last_tsn: third,
                streams: list,
            },
            9 => Parameter::IncomingSsnReset { request_sequence: first, streams: list },
            10 => Parameter::SsnTsnReset { request_sequence: first },
            11 => Parameter::ReConfigResponse {
                response_sequence: first,
                result: second,
                next_tsns: None,
            },
            12 => Parameter::ReConfigResponse {
                response_sequence: first,
                result: second,
                next_tsns: Some(NextTsns { sender: third, receiver: fourth }),
            },
            13 => Parameter::AddOutgoingStreams { request_sequence: second, new_streams },
            14 => Parameter::AddIncomingStreams { request_sequence: second, new_streams },
            15 => Parameter::EcnCapable,
            16 => Parameter::ZeroChecksumAcceptable(first),
            17 => Parameter::Random(bytes),
            18 => Parameter::Chunks(bytes),
            19 => Parameter::HmacAlgorithms(list),
            20 => Parameter::Padding(bytes),
            21 => Parameter::SupportedExtensions(bytes),
            22 => Parameter::ForwardTsnSupported,
            23 => Parameter::AddIp { correlation_id: first, address: v4 },
            24 => Parameter::AddIp { correlation_id: first, address: v6 },
            25 => Parameter::DeleteIp { correlation_id: first, address: v4 },
            26 => Parameter::DeleteIp { correlation_id: first, address: v6 },
            27 => Parameter::ErrorCauseIndication {
                correlation_id: first,
                causes: Causes::build([Cause::OutOfResource, Cause::ResourceShortage(bytes)]),
            },
            28 => Parameter::SetPrimary { correlation_id: first, address: v4 },
            29 => Parameter::SetPrimary { correlation_id: first, address: v6 },
            30 => Parameter::SuccessIndication { correlation_id: first },
            31 => Parameter::AdaptationIndication(first),
            32 => Parameter::Unknown { parameter_type: 0x3FFF, value: bytes },
            _ => Parameter::Unknown { parameter_type: 0xFFF0 | first as u16, value: bytes },
        }
    }

    pub fn cause(&self) -> Cause<'_> {
        let bytes = self.bytes.as_slice();
        let number = self.numbers[0];
        match self.kind % CAUSE_KINDS {
            0 => Cause::InvalidStream { stream: number as u16 },
            1 => Cause::MissingParameters(U16List::Numbers(&self.list)),
            2 => Cause::StaleCookie { staleness_us: number },
            3 => Cause::OutOfResource,
            4 => Cause::UnresolvableAddress(bytes),
            5 => Cause::UnrecognizedChunk(bytes),
            6 => Cause::InvalidParameter,
            7 => Cause::UnrecognizedParameters(bytes),
            8 => Cause::NoUserData { tsn: number },
            9 => Cause::CookieWhileShuttingDown,
            10 => Cause::RestartWithNewAddresses(bytes),
            11 => Cause::UserInitiatedAbort(bytes),
            12 => Cause::ProtocolViolation(bytes),
            13 => Cause::DeleteLastAddress(bytes),
            14 => Cause::ResourceShortage(bytes),
            15 => Cause::DeleteSourceAddress(bytes),
            16 => Cause::IllegalAsconfAck,
            17 => Cause::NoAuthorization(bytes),
            18 => Cause::UnsupportedHmac { hmac_id: number as u16 },
            // A known code with a value of a form that it cannot have.
            19 => Cause::Unknown { code: cause_code::STALE_COOKIE, value: &self.v6 },
            _ => Cause::Unknown { code: 0xFFF0 | number as u16, value: bytes },
        }
    }
}

pub fn parameters() -> impl Strategy<Value = Parameters<'static>> {
    vec(recipe(), 0..6).prop_map(|recipes| Parameters::build(recipes.iter().map(Recipe::parameter)))
}

pub fn causes() -> impl Strategy<Value = Causes<'static>> {
    vec(recipe(), 0..6).prop_map(|recipes| Causes::build(recipes.iter().map(Recipe::cause)))
}

pub fn packet() -> impl Strategy<Value = Packet<'static>> {
    let header = (any::<u16>(), any::<u16>(), any::<u32>());
    (header, vec(chunk(), 0..5)).prop_map(|((source_port, destination_port, tag), chunks)| Packet {
        source_port,
        destination_port,
        verification_tag: tag,
        chunks: chunks.into(),
    })
}

pub fn chunk() -> impl Strategy<Value = Chunk<'static>> {
    prop_oneof![user_data(), acknowledgement(), with_parameters(), with_bytes(), fixed()]
}

fn payload() -> impl Strategy<Value = Payload<'static>> {
    vec(any::<u8>(), 0..60).prop_map(|bytes| Payload::Shared(Bytes::from(bytes)))
}

fn raw() -> impl Strategy<Value = Raw<'static>> {
    vec(any::<u8>(), 0..60).prop_map(Raw::from)
}

fn user_data() -> impl Strategy<Value = Chunk<'static>> {
    let flags = any::<u8>().prop_map(DataFlags::from_bits_retain);
    let data = (flags.clone(), any::<[u32; 2]>(), any::<[u16; 2]>(), payload()).prop_map(
        |(flags, [tsn, ppid], [stream, ssn], payload)| {
            Chunk::Data(Data { flags, tsn, stream, ssn, ppid, payload })
        },
    );
    let i_data = (flags, any::<[u32; 3]>(), any::<u16>(), payload()).prop_map(
        |(flags, [tsn, mid, ppid_or_fsn], stream, payload)| {
            Chunk::IData(IData { flags, tsn, stream, mid, ppid_or_fsn, payload })
        },
    );
    prop_oneof![data, i_data]
}

fn blocks() -> impl Strategy<Value = GapAckBlocks<'static>> {
    vec(any::<[u16; 2]>(), 0..8).prop_map(|blocks| {
        blocks.into_iter().map(|[start, end]| GapAckBlock { start, end }).collect()
    })
}

fn duplicates() -> impl Strategy<Value = DuplicateTsns<'static>> {
    vec(any::<u32>(), 0..5).prop_map(|tsns| tsns.into_iter().collect())
}

fn acknowledgement() -> impl Strategy<Value = Chunk<'static>> {
    let sack = (any::<u8>(), any::<[u32; 2]>(), blocks(), duplicates()).prop_map(
        |(flags, [cumulative_tsn_ack, a_rwnd], gap_ack_blocks, duplicate_tsns)| {
            Chunk::Sack(Sack { flags, cumulative_tsn_ack, a_rwnd, gap_ack_blocks, duplicate_tsns })
        },
    );
    let lists = (blocks(), blocks(), duplicates());
    let nr_sack = (any::<u8>(), any::<[u32; 2]>(), lists, any::<u16>()).prop_map(
        |(
            flags,
            [cumulative_tsn_ack, a_rwnd],
            (renegable_blocks, non_renegable_blocks, duplicate_tsns),
            reserved,
        )| {
            Chunk::NrSack(NrSack {
                flags,
                cumulative_tsn_ack,
                a_rwnd,
                renegable_blocks,
                non_renegable_blocks,
                duplicate_tsns,
                reserved,
            })
        },
    );
    prop_oneof![sack, nr_sack]
}

fn init() -> impl Strategy<Value = Init<'static>> {
    (any::<[u32; 3]>(), any::<[u16; 2]>(), parameters()).prop_map(
        |([initiate_tag, a_rwnd, initial_tsn], [outbound_streams, inbound_streams], parameters)| {
            Init {
                initiate_tag,
                a_rwnd,
                outbound_streams,
                inbound_streams,
                initial_tsn,
                parameters,
            }
        },
    )
}

fn with_parameters() -> impl Strategy<Value = Chunk<'static>> {
    prop_oneof![
        init().prop_map(Chunk::Init),
        init().prop_map(Chunk::InitAck),
        parameters().prop_map(Chunk::Heartbeat),
        parameters().prop_map(Chunk::HeartbeatAck),
        parameters().prop_map(Chunk::ReConfig),
        causes().prop_map(Chunk::Error),
        (any::<bool>(), causes())
            .prop_map(|(reflected_tag, causes)| Chunk::Abort(Abort { reflected_tag, causes })),
        (any::<u32>(), parameters())
            .prop_map(|(serial, parameters)| Chunk::Asconf(Asconf { serial, parameters })),
        (any::<u32>(), parameters())
            .prop_map(|(serial, parameters)| Chunk::AsconfAck(AsconfAck { serial, parameters })),
    ]
}

fn with_bytes() -> impl Strategy<Value = Chunk<'static>> {
    prop_oneof![
        raw().prop_map(Chunk::CookieEcho),
        raw().prop_map(Chunk::Pad),
        (any::<[u16; 2]>(), raw()).prop_map(|([shared_key_id, hmac_id], hmac)| {
            Chunk::Auth(Auth { shared_key_id, hmac_id, hmac })
        }),
        (any::<u8>(), any::<[u32; 2]>(), any::<[u16; 2]>(), raw()).prop_map(
            |(flags, [bandwidth_or_limit, queued], [truncated_length, reserved], packet)| {
                Chunk::PacketDrop(PacketDrop {
                    flags,
                    bandwidth_or_limit,
                    queued,
                    truncated_length,
                    reserved,
                    packet,
                })
            }
        ),
        // Types 17 to 63 are not assigned.
        (17..64u8, any::<u8>(), raw()).prop_map(|(chunk_type, flags, value)| {
            Chunk::Unknown(UnknownChunk { chunk_type, flags, value })
        }),
        (any::<u32>(), vec(any::<[u16; 2]>(), 0..6)).prop_map(|(tsn, skipped)| {
            let skipped = skipped.into_iter().map(|[stream, ssn]| SkippedStream { stream, ssn });
            Chunk::ForwardTsn(ForwardTsn::of_streams(tsn, skipped))
        }),
        (any::<u32>(), vec(any::<[u8; 8]>(), 0..6)).prop_map(|(new_cumulative_tsn, skipped)| {
            let skipped = Raw::Shared(Bytes::from(skipped.concat()));
            Chunk::IForwardTsn(ForwardTsn { new_cumulative_tsn, skipped })
        }),
    ]
}

fn fixed() -> impl Strategy<Value = Chunk<'static>> {
    prop_oneof![
        any::<u32>().prop_map(|cumulative_tsn_ack| Chunk::Shutdown { cumulative_tsn_ack }),
        Just(Chunk::ShutdownAck),
        Just(Chunk::CookieAck),
        any::<bool>().prop_map(|reflected_tag| Chunk::ShutdownComplete { reflected_tag }),
        any::<(u32, Option<u32>)>().prop_map(|(lowest_tsn, marked_packets)| {
            Chunk::Ecne(Ecne { lowest_tsn, marked_packets })
        }),
        any::<(bool, u32)>()
            .prop_map(|(override_mark, tsn)| Chunk::Cwr(Cwr { override_mark, tsn })),
    ]
}
