//! tshark reads what we write, and finds in it what we find.

mod common;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use common::fields::{self, CauseStyle, Fields};
use common::{arbitrary, captures, golden, tool};
use polypath_wire::{Cause, Causes, Checksum, Chunk, Packet, Parameter, Parameters};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

/// Fields that are compared. tshark shows all of them under `sctp.`, but for the content of user data.
const FIELDS: &[&str] = &[
    "srcport",
    "dstport",
    "verification_tag",
    "checksum",
    "checksum.status",
    "chunk_type",
    "chunk_flags",
    "chunk_length",
    "chunk_padding",
    "chunk_value",
    "cookie",
    "init_initiate_tag",
    "init_credit",
    "init_nr_out_streams",
    "init_nr_in_streams",
    "init_initial_tsn",
    "initack_initiate_tag",
    "initack_credit",
    "initack_nr_out_streams",
    "initack_nr_in_streams",
    "initack_initial_tsn",
    "data_tsn_raw",
    "data_sid",
    "data_ssn",
    "data_payload_proto_id",
    "data_mid",
    "data_fsn",
    "data_e_bit",
    "data_b_bit",
    "data_u_bit",
    "data_i_bit",
    "data.data",
    "sack_cumulative_tsn_ack_raw",
    "sack_a_rwnd",
    "sack_number_of_gap_blocks",
    "sack_number_of_duplicated_tsns",
    "sack_gap_block_start",
    "sack_gap_block_end",
    "sack_duplicate_tsn",
    "nr_sack_cumulative_tsn_ack",
    "nr_sack_a_rwnd",
    "nr_sack_number_of_gap_blocks",
    "nr_sack_number_of_nr_gap_blocks",
    "nr_sack_number_of_duplicated_tsns",
    "nr_sack_reserved",
    "nr_sack_gap_block_start",
    "nr_sack_gap_block_end",
    "nr_sack_nr_gap_block_start",
    "nr_sack_nr_gap_block_end",
    "nr_sack_duplicate_tsn",
    "shutdown_cumulative_tsn_ack",
    "ecne_lowest_tsn",
    "cwr_lowest_tsn",
    "shutdown_complete_t_bit",
    "abort_t_bit",
    "forward_tsn_tsn",
    "forward_tsn_sid",
    "forward_tsn_ssn",
    "i_forward_tsn_tsn",
    "i_forward_tsn_sid",
    "i_forward_tsn_flags",
    "i_forward_tsn_u_bit",
    "forward_tsn_mid",
    "parameter_type",
    "parameter_value",
    "parameter_ipv4_address",
    "parameter_ipv6_address",
    "parameter_heartbeat_information",
    "parameter_state_cookie",
    "parameter_cookie_preservative_incr",
    "parameter_hostname",
    "parameter_supported_address_type",
    "parameter_reconfig_request_sequence_number",
    "parameter_reconfig_response_sequence_number",
    "parameter_senders_last_assigned_tsn",
    "parameter_senders_next_tsn",
    "parameter_receivers_next_tsn",
    "parameter_reconfig_response_result",
    "parameter_reconfig_sid",
    "parameter_add_outgoing_streams_number",
    "parameter_add_incoming_streams_number",
    "asconf_seq_nr_number",
    "asconf_ack_seq_nr_number",
    "correlation_id",
    "adaptation_layer_indication",
    "random_number",
    "chunk_type_to_auth",
    "hmac_id",
    "hmac",
    "shared_key_id",
    "supported_chunk_type",
    "cause_code",
    "cause_information",
    "cause_stream_identifier",
    "cause_nr_of_missing_parameters",
    "cause_missing_parameter_type",
    "cause_measure_of_staleness",
    "cause_tsn",
    "pckdrop_m_bit",
    "pckdrop_b_bit",
    "pckdrop_t_bit",
    "pktdrop_bandwidth",
    "pktdrop_queuesize",
    "pktdrop_truncated_length",
    "pktdrop_reserved",
    "padding_data",
];

/// Complaints of tshark; the columns behind [`FIELDS`].
const COMPLAINTS: &[&str] = &["_ws.malformed", "_ws.expert.message"];

/// Parts of notes about values that make no sense, as random ones do, in chunks of the right form.
const ABOUT_MEANING: &[&str] =
    &["gap block", "Gap blocks", "TSNs were", "Zero Advertised Receiver"];

/// Between the values of a field: no value contains it.
const SEPARATOR: char = '\u{1f}';

#[test]
fn golden_packets() {
    let (names, packets): (Vec<_>, Vec<_>) =
        golden::packets().iter().map(|(name, packet)| (name.clone(), encoded(packet))).unzip();
    compare("golden", &names, &packets);
}

#[test]
fn packets_of_real_stacks() {
    for capture in captures::all() {
        let number = |number| format!("{} packet {}", capture.name, number + 1);
        let names: Vec<String> = (0..capture.packets.len()).map(number).collect();
        compare(&capture.name, &names, &capture.packets);
    }
}

#[test]
fn arbitrary_packets() {
    const COUNT: usize = 20_000;
    let mut runner = TestRunner::deterministic();
    let strategy = arbitrary::packet();
    let packets: Vec<Vec<u8>> =
        std::iter::repeat_with(|| strategy.new_tree(&mut runner).expect("a packet").current())
            .filter(|packet| packet.chunks.iter().all(is_plain))
            .map(|packet| encoded(&packet))
            .take(COUNT)
            .collect();
    let names: Vec<String> = packets.iter().map(|bytes| common::hex::encode(bytes)).collect();
    compare("arbitrary", &names, &packets);
}

/// Whether the chunk has no random bytes in a place where tshark looks for a chunk, a parameter or a packet.
fn is_plain(chunk: &Chunk<'_>) -> bool {
    match chunk {
        Chunk::Init(init) | Chunk::InitAck(init) => plain_parameters(&init.parameters),
        // It expects one parameter here, and takes more for padding.
        Chunk::Heartbeat(list) | Chunk::HeartbeatAck(list) => {
            list.iter().count() == 1 && plain_parameters(list)
        }
        Chunk::ReConfig(list) => plain_parameters(list),
        Chunk::Asconf(asconf) => plain_parameters(&asconf.parameters),
        Chunk::AsconfAck(ack) => plain_parameters(&ack.parameters),
        Chunk::Abort(abort) => plain_causes(&abort.causes),
        Chunk::Error(causes) => plain_causes(causes),
        Chunk::PacketDrop(_) => false,
        _ => true,
    }
}

fn plain_parameters(list: &Parameters<'_>) -> bool {
    list.iter().all(|parameter| match parameter {
        Parameter::Unrecognized(_) | Parameter::HostName(_) => false,
        Parameter::ErrorCauseIndication { causes, .. } => plain_causes(&causes),
        _ => true,
    })
}

fn plain_causes(list: &Causes<'_>) -> bool {
    list.iter().all(|cause| {
        !matches!(
            cause,
            Cause::UnresolvableAddress(_)
                | Cause::UnrecognizedChunk(_)
                | Cause::UnrecognizedParameters(_)
                | Cause::RestartWithNewAddresses(_)
                | Cause::DeleteLastAddress(_)
                | Cause::ResourceShortage(_)
                | Cause::DeleteSourceAddress(_)
                | Cause::NoAuthorization(_)
                | Cause::Unknown { .. }
        )
    })
}

fn encoded(packet: &Packet<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    packet.append_to(&mut bytes, Checksum::Crc32c).unwrap();
    bytes
}

/// Has tshark read `packets` and compares field by field.
fn compare(file: &str, names: &[String], packets: &[Vec<u8>]) {
    let Some(lines) = dissect(file, packets) else {
        tool::skip("tshark", "tshark was not found");
        return;
    };
    assert_eq!(lines.len(), packets.len());
    for ((line, bytes), name) in lines.iter().zip(packets).zip(names) {
        let columns: Vec<&str> = line.split('\t').collect();
        let (values, complaints) = columns.split_at(FIELDS.len());
        let [malformed, notes] = complaints else { panic!("{} columns", columns.len()) };
        assert_eq!(*malformed, "", "{name}");
        let mut notes = notes.split(SEPARATOR).filter(|note| !note.is_empty());
        let complaint = notes.find(|note| !ABOUT_MEANING.iter().any(|about| note.contains(about)));
        assert_eq!(complaint, None, "{name}");
        let ours = fields::of_packet(bytes, CauseStyle::Fields);
        let theirs: Fields = FIELDS
            .iter()
            .zip(values)
            .map(|(name, value)| (name.to_string(), values_of(value)))
            .filter(|(_, values)| !values.is_empty())
            .collect();
        for field in ours.keys().chain(theirs.keys()) {
            assert_eq!(theirs.get(field), ours.get(field), "{field} in {name}");
        }
    }
}

/// The values of a column; those without content are left out, as we have no fields for them.
fn values_of(column: &str) -> Vec<String> {
    let present = |value: &&str| !value.is_empty() && *value != "<MISSING>";
    column.split(SEPARATOR).filter(present).map(plain).collect()
}

/// A number as decimal digits, however tshark shows it; anything else as it is.
fn plain(value: &str) -> String {
    match value {
        "True" => "1".to_owned(),
        "False" => "0".to_owned(),
        _ => match value.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok())
        {
            Some(number) => number.to_string(),
            None => value.to_owned(),
        },
    }
}

/// One line of tab-separated columns per packet; `None` when there is no tshark.
fn dissect(name: &str, packets: &[Vec<u8>]) -> Option<Vec<String>> {
    let file = pcap(name, packets);
    let mut command = Command::new("tshark");
    command.arg("-r").arg(&file);
    for preference in [
        "checksum:CRC 32c",
        "ulp_dissection:FALSE",
        "reassembly:FALSE",
        "tsn_analysis:FALSE",
        "relative_tsns:FALSE",
    ] {
        command.arg("-o").arg(format!("sctp.{preference}"));
    }
    command.args(["-T", "fields", "-E", "separator=/t", "-E", &format!("aggregator={SEPARATOR}")]);
    for field in FIELDS {
        let prefix = if field.starts_with("data.") { "" } else { "sctp." };
        command.arg("-e").arg(format!("{prefix}{field}"));
    }
    for field in COMPLAINTS {
        command.arg("-e").arg(field);
    }
    let output = tool::run(&mut command, "");
    fs::remove_file(file).expect("the file made above");
    Some(tool::text(&output?).lines().map(str::to_owned).collect())
}

/// A pcap file of bare SCTP packets.
fn pcap(name: &str, packets: &[Vec<u8>]) -> PathBuf {
    const LINK_TYPE_SCTP: u32 = 248;
    let mut bytes = Vec::new();
    for word in [0xa1b2_c3d4, 0x0004_0002, 0, 0, 0x0004_0000, LINK_TYPE_SCTP] {
        bytes.extend(u32::to_le_bytes(word));
    }
    for packet in packets {
        let len = packet.len() as u32;
        bytes.extend([0, 0, len, len].map(u32::to_le_bytes).as_flattened());
        bytes.extend(packet);
    }
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.pcap"));
    fs::write(&file, bytes).expect("a file for tshark");
    file
}
