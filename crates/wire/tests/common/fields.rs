//! A packet as flat lists of field values, under the names that tshark gives to fields, less their prefix `sctp.`:
//! a form in which readings of different dissectors can be compared.

use std::collections::BTreeMap;
use std::net::IpAddr;

use polypath_wire::*;

use super::hex;

/// All values of each field, in the order of the packet.
pub type Fields = BTreeMap<String, Vec<String>>;

/// How error causes are shown.
#[derive(Clone, Copy, PartialEq)]
pub enum CauseStyle {
    /// Field by field.
    Fields,
    /// A list as one field `error_causes` of bytes.
    Bytes,
}

/// What we read in `bytes`, which have to be a packet in order.
pub fn of_packet(bytes: &[u8], causes: CauseStyle) -> Fields {
    let mut flat = Flat { fields: Fields::new(), causes };
    flat.packet(bytes);
    flat.fields
}

struct Flat {
    fields: Fields,
    causes: CauseStyle,
}

impl Flat {
    fn text(&mut self, name: &str, value: impl ToString) {
        self.fields.entry(name.to_owned()).or_default().push(value.to_string());
    }

    fn number(&mut self, name: &str, value: impl Into<u64>) {
        self.text(name, value.into());
    }

    /// Bytes; dissectors show no field without content.
    fn bytes(&mut self, name: &str, value: &[u8]) {
        if !value.is_empty() {
            self.text(name, hex::encode(value));
        }
    }

    fn packet(&mut self, bytes: &[u8]) {
        let view = PacketView::parse(bytes, ChecksumPolicy::Ignore).expect("a common header");
        self.number("srcport", view.source_port());
        self.number("dstport", view.destination_port());
        self.number("verification_tag", view.verification_tag());
        self.number("checksum", view.checksum().swap_bytes());
        self.number("checksum.status", packet_checksum(bytes) == Some(view.checksum()));
        let mut chunks = view.chunks();
        let mut at = chunks.offset();
        while let Some(chunk) = chunks.next() {
            self.chunk(&chunk.expect("a chunk in order"), &bytes[at..]);
            at = chunks.offset();
        }
    }

    /// `bytes` start with the chunk and perhaps end before its padding.
    fn chunk(&mut self, chunk: &Chunk<'_>, bytes: &[u8]) {
        self.number("chunk_type", chunk.chunk_type());
        self.number("chunk_flags", bytes[1]);
        self.number("chunk_length", chunk.encoded_len() as u64);
        let padding = bytes.get(chunk.encoded_len()..chunk.padded_len());
        self.bytes("chunk_padding", padding.unwrap_or_default());
        match chunk {
            Chunk::Data(data) => self.data(data),
            Chunk::IData(data) => self.i_data(data),
            Chunk::Init(init) => self.init("init", init),
            Chunk::InitAck(init) => self.init("initack", init),
            Chunk::Sack(sack) => self.sack(sack),
            Chunk::NrSack(sack) => self.nr_sack(sack),
            Chunk::Heartbeat(list) | Chunk::HeartbeatAck(list) | Chunk::ReConfig(list) => {
                self.parameters(list);
            }
            Chunk::Abort(abort) => {
                self.number("abort_t_bit", abort.reflected_tag);
                self.causes(&abort.causes);
            }
            Chunk::Shutdown { cumulative_tsn_ack } => {
                self.number("shutdown_cumulative_tsn_ack", *cumulative_tsn_ack);
            }
            Chunk::ShutdownComplete { reflected_tag } => {
                self.number("shutdown_complete_t_bit", *reflected_tag);
            }
            Chunk::Error(causes) => self.causes(causes),
            Chunk::CookieEcho(cookie) => self.bytes("cookie", cookie.as_slice()),
            Chunk::Ecne(ecne) => self.number("ecne_lowest_tsn", ecne.lowest_tsn),
            Chunk::Cwr(cwr) => self.number("cwr_lowest_tsn", cwr.tsn),
            Chunk::Auth(auth) => {
                self.number("shared_key_id", auth.shared_key_id);
                self.number("hmac_id", auth.hmac_id);
                self.bytes("hmac", auth.hmac.as_slice());
            }
            Chunk::Asconf(asconf) => {
                self.number("asconf_seq_nr_number", asconf.serial);
                self.parameters(&asconf.parameters);
            }
            Chunk::AsconfAck(ack) => {
                self.number("asconf_ack_seq_nr_number", ack.serial);
                self.parameters(&ack.parameters);
            }
            Chunk::PacketDrop(report) => self.packet_drop(report),
            Chunk::Pad(padding) => self.bytes("padding_data", padding.as_slice()),
            Chunk::ForwardTsn(forward) => self.forward_tsn(forward),
            Chunk::IForwardTsn(forward) => self.i_forward_tsn(forward),
            Chunk::Unknown(unknown) => self.bytes("chunk_value", unknown.value.as_slice()),
            Chunk::ShutdownAck | Chunk::CookieAck => {}
        }
    }

    fn data_flags(&mut self, flags: DataFlags) {
        self.number("data_e_bit", flags.contains(DataFlags::END));
        self.number("data_b_bit", flags.contains(DataFlags::BEGIN));
        self.number("data_u_bit", flags.contains(DataFlags::UNORDERED));
        self.number("data_i_bit", flags.contains(DataFlags::IMMEDIATE));
    }

    /// User data; not that of later fragments, which a dissector shows as part of the whole message.
    fn payload(&mut self, flags: DataFlags, payload: &Payload<'_>) {
        if !flags.contains(DataFlags::BEGIN) {
            return;
        }
        let mut bytes = vec![0; payload.len()];
        payload.copy_to(&mut bytes);
        self.bytes("data.data", &bytes);
    }

    fn data(&mut self, data: &Data<'_>) {
        self.data_flags(data.flags);
        self.number("data_tsn_raw", data.tsn);
        self.number("data_sid", data.stream);
        self.number("data_ssn", data.ssn);
        self.number("data_payload_proto_id", data.ppid);
        self.payload(data.flags, &data.payload);
    }

    fn i_data(&mut self, data: &IData<'_>) {
        self.data_flags(data.flags);
        self.number("data_tsn_raw", data.tsn);
        self.number("data_sid", data.stream);
        self.number("data_mid", data.mid);
        let first = data.flags.contains(DataFlags::BEGIN);
        let name = if first { "data_payload_proto_id" } else { "data_fsn" };
        self.number(name, data.ppid_or_fsn);
        self.payload(data.flags, &data.payload);
    }

    fn init(&mut self, prefix: &str, init: &Init<'_>) {
        self.number(&format!("{prefix}_initiate_tag"), init.initiate_tag);
        self.number(&format!("{prefix}_credit"), init.a_rwnd);
        self.number(&format!("{prefix}_nr_out_streams"), init.outbound_streams);
        self.number(&format!("{prefix}_nr_in_streams"), init.inbound_streams);
        self.number(&format!("{prefix}_initial_tsn"), init.initial_tsn);
        self.parameters(&init.parameters);
    }

    fn blocks(&mut self, prefix: &str, blocks: &GapAckBlocks<'_>) {
        for block in blocks.iter() {
            self.number(&format!("{prefix}_start"), block.start);
            self.number(&format!("{prefix}_end"), block.end);
        }
    }

    fn sack(&mut self, sack: &Sack<'_>) {
        self.number("sack_cumulative_tsn_ack_raw", sack.cumulative_tsn_ack);
        self.number("sack_a_rwnd", sack.a_rwnd);
        self.number("sack_number_of_gap_blocks", sack.gap_ack_blocks.len() as u64);
        self.number("sack_number_of_duplicated_tsns", sack.duplicate_tsns.len() as u64);
        self.blocks("sack_gap_block", &sack.gap_ack_blocks);
        sack.duplicate_tsns.iter().for_each(|tsn| self.number("sack_duplicate_tsn", tsn));
    }

    fn nr_sack(&mut self, sack: &NrSack<'_>) {
        self.number("nr_sack_cumulative_tsn_ack", sack.cumulative_tsn_ack);
        self.number("nr_sack_a_rwnd", sack.a_rwnd);
        self.number("nr_sack_number_of_gap_blocks", sack.renegable_blocks.len() as u64);
        self.number("nr_sack_number_of_nr_gap_blocks", sack.non_renegable_blocks.len() as u64);
        self.number("nr_sack_number_of_duplicated_tsns", sack.duplicate_tsns.len() as u64);
        self.number("nr_sack_reserved", sack.reserved);
        self.blocks("nr_sack_gap_block", &sack.renegable_blocks);
        self.blocks("nr_sack_nr_gap_block", &sack.non_renegable_blocks);
        sack.duplicate_tsns.iter().for_each(|tsn| self.number("nr_sack_duplicate_tsn", tsn));
    }

    fn packet_drop(&mut self, report: &PacketDrop<'_>) {
        self.number("pckdrop_m_bit", report.flags & 1);
        self.number("pckdrop_b_bit", report.flags >> 1 & 1);
        self.number("pckdrop_t_bit", report.flags >> 2 & 1);
        self.number("pktdrop_bandwidth", report.bandwidth_or_limit);
        self.number("pktdrop_queuesize", report.queued);
        self.number("pktdrop_truncated_length", report.truncated_length);
        self.number("pktdrop_reserved", report.reserved);
        self.packet(report.packet.as_slice());
    }

    fn forward_tsn(&mut self, forward: &ForwardTsn<'_>) {
        self.number("forward_tsn_tsn", forward.new_cumulative_tsn);
        for skipped in forward.streams() {
            self.number("forward_tsn_sid", skipped.stream);
            self.number("forward_tsn_ssn", skipped.ssn);
        }
    }

    fn i_forward_tsn(&mut self, forward: &ForwardTsn<'_>) {
        self.number("i_forward_tsn_tsn", forward.new_cumulative_tsn);
        for skipped in forward.messages() {
            self.number("i_forward_tsn_sid", skipped.stream);
            self.number("i_forward_tsn_flags", skipped.flags);
            self.number("i_forward_tsn_u_bit", skipped.flags & SkippedMessages::UNORDERED != 0);
            self.number("forward_tsn_mid", skipped.mid);
        }
    }

    fn parameters(&mut self, list: &Parameters<'_>) {
        list.iter().for_each(|parameter| self.parameter(&parameter));
    }

    fn parameter(&mut self, parameter: &Parameter<'_>) {
        self.number("parameter_type", parameter.parameter_type());
        match parameter {
            Parameter::HeartbeatInfo(info) => self.bytes("parameter_heartbeat_information", info),
            Parameter::Ipv4(_) | Parameter::Ipv6(_) => {
                parameter.address().into_iter().for_each(|address| self.address(address));
            }
            Parameter::StateCookie(cookie) => self.bytes("parameter_state_cookie", cookie),
            Parameter::Unrecognized(inner) => {
                self.parameters(&Parameters::parse(inner).expect("a parameter in order"));
            }
            Parameter::CookiePreservative(n) => {
                self.number("parameter_cookie_preservative_incr", *n)
            }
            Parameter::HostName(name) => {
                let name = name.strip_suffix(&[0]).unwrap_or(name);
                self.text("parameter_hostname", String::from_utf8_lossy(name));
            }
            Parameter::SupportedAddressTypes(types) => {
                types.iter().for_each(|t| self.number("parameter_supported_address_type", t));
            }
            Parameter::Random(number) => self.bytes("random_number", number),
            Parameter::Chunks(types) => {
                types.iter().for_each(|t| self.number("chunk_type_to_auth", *t));
            }
            Parameter::HmacAlgorithms(list) => {
                list.iter().for_each(|id| self.number("hmac_id", id))
            }
            Parameter::Padding(bytes) => self.bytes("parameter_value", bytes),
            Parameter::SupportedExtensions(types) => {
                types.iter().for_each(|t| self.number("supported_chunk_type", *t));
            }
            Parameter::AdaptationIndication(n) => self.number("adaptation_layer_indication", *n),
            Parameter::ZeroChecksumAcceptable(n) => self.bytes("parameter_value", &n.to_be_bytes()),
            Parameter::Unknown { value, .. } => self.bytes("parameter_value", value),
            Parameter::EcnCapable | Parameter::ForwardTsnSupported => {}
            Parameter::AddIp { correlation_id, address }
            | Parameter::DeleteIp { correlation_id, address }
            | Parameter::SetPrimary { correlation_id, address } => {
                self.number("correlation_id", *correlation_id);
                self.parameter(&Parameter::from(*address));
            }
            Parameter::ErrorCauseIndication { correlation_id, causes } => {
                self.number("correlation_id", *correlation_id);
                self.causes(causes);
            }
            Parameter::SuccessIndication { correlation_id } => {
                self.number("correlation_id", *correlation_id);
            }
            _ => self.re_config(parameter),
        }
    }

    fn address(&mut self, address: IpAddr) {
        let name = if address.is_ipv4() { "ipv4" } else { "ipv6" };
        self.text(&format!("parameter_{name}_address"), address);
    }

    fn re_config(&mut self, parameter: &Parameter<'_>) {
        const REQUEST: &str = "parameter_reconfig_request_sequence_number";
        const RESPONSE: &str = "parameter_reconfig_response_sequence_number";
        const STREAM: &str = "parameter_reconfig_sid";
        match parameter {
            Parameter::OutgoingSsnReset {
                request_sequence,
                response_sequence,
                last_tsn,
                streams,
            } => {
                self.number(REQUEST, *request_sequence);
                self.number(RESPONSE, *response_sequence);
                self.number("parameter_senders_last_assigned_tsn", *last_tsn);
                streams.iter().for_each(|stream| self.number(STREAM, stream));
            }
            Parameter::IncomingSsnReset { request_sequence, streams } => {
                self.number(REQUEST, *request_sequence);
                streams.iter().for_each(|stream| self.number(STREAM, stream));
            }
            Parameter::SsnTsnReset { request_sequence } => self.number(REQUEST, *request_sequence),
            Parameter::ReConfigResponse { response_sequence, result, next_tsns } => {
                self.number(RESPONSE, *response_sequence);
                self.number("parameter_reconfig_response_result", *result);
                if let Some(next) = next_tsns {
                    self.number("parameter_senders_next_tsn", next.sender);
                    self.number("parameter_receivers_next_tsn", next.receiver);
                }
            }
            Parameter::AddOutgoingStreams { request_sequence, new_streams } => {
                self.number(REQUEST, *request_sequence);
                self.number("parameter_add_outgoing_streams_number", *new_streams);
            }
            Parameter::AddIncomingStreams { request_sequence, new_streams } => {
                self.number(REQUEST, *request_sequence);
                self.number("parameter_add_incoming_streams_number", *new_streams);
            }
            other => panic!("no parameter of RE-CONFIG: {other:?}"),
        }
    }

    fn causes(&mut self, list: &Causes<'_>) {
        match self.causes {
            CauseStyle::Fields => list.iter().for_each(|cause| self.cause(&cause)),
            CauseStyle::Bytes => self.bytes("error_causes", list.as_slice()),
        }
    }

    fn cause(&mut self, cause: &Cause<'_>) {
        self.number("cause_code", cause.code());
        match cause {
            Cause::InvalidStream { stream } => self.number("cause_stream_identifier", *stream),
            Cause::MissingParameters(types) => {
                self.number("cause_nr_of_missing_parameters", types.len() as u64);
                types.iter().for_each(|t| self.number("cause_missing_parameter_type", t));
            }
            Cause::StaleCookie { staleness_us } => {
                self.number("cause_measure_of_staleness", *staleness_us);
            }
            Cause::UnrecognizedChunk(bytes) => {
                let (chunk, _) = Chunk::parse(bytes).expect("a chunk in order");
                self.chunk(&chunk, bytes);
            }
            Cause::NoUserData { tsn } => self.number("cause_tsn", *tsn),
            Cause::UnresolvableAddress(inner)
            | Cause::UnrecognizedParameters(inner)
            | Cause::RestartWithNewAddresses(inner)
            | Cause::DeleteLastAddress(inner)
            | Cause::ResourceShortage(inner)
            | Cause::DeleteSourceAddress(inner)
            | Cause::NoAuthorization(inner) => {
                self.parameters(&Parameters::parse(inner).expect("parameters in order"));
            }
            Cause::UserInitiatedAbort(bytes)
            | Cause::ProtocolViolation(bytes)
            | Cause::Unknown { value: bytes, .. } => self.bytes("cause_information", bytes),
            Cause::UnsupportedHmac { hmac_id } => self.number("hmac_id", *hmac_id),
            Cause::OutOfResource
            | Cause::InvalidParameter
            | Cause::CookieWhileShuttingDown
            | Cause::IllegalAsconfAck => {}
        }
    }
}
