#!/usr/bin/env python3
"""scapy as the other end of the wire.

usage: scapy_peer.py read     packets in hexadecimal from standard input, one a line; what scapy reads in them goes out
       scapy_peer.py write    packets that scapy builds, with the values that went into them

Both write a JSON object per packet: `bytes`, `fields` (all values of each field, in the order of the packet, under the
names of tshark without `sctp.`) and `unread` (the bytes from the first chunk on that scapy does not know).

Exit code 77: there is no scapy.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from typing import Iterable, Iterator

try:
    from scapy.config import conf
    from scapy.packet import Packet, Raw
    from scapy.layers import sctp
except ImportError:
    sys.exit(77)

Fields = dict[str, list[str]]

# scapy has these classes, but lists them under names that do not exist.
sctp.sctpchunkparamtypescls |= {
    13: "SCTPChunkParamOutSSNResetReq",
    14: "SCTPChunkParamInSSNResetReq",
    15: "SCTPChunkParamSSNTSNResetReq",
    16: "SCTPChunkParamReConfigRes",
    17: "SCTPChunkParamAddOutgoingStreamReq",
    18: "SCTPChunkParamAddIncomingStreamReq",
}

# Fields whose values are numbers or addresses: class, then scapy's name and the common one.
PLAIN: dict[type[Packet], dict[str, str]] = {
    sctp.SCTPChunkData: {
        "ending": "data_e_bit",
        "beginning": "data_b_bit",
        "unordered": "data_u_bit",
        "delay_sack": "data_i_bit",
        "tsn": "data_tsn_raw",
        "stream_id": "data_sid",
        "stream_seq": "data_ssn",
        "proto_id": "data_payload_proto_id",
    },
    sctp.SCTPChunkIData: {
        "ending": "data_e_bit",
        "beginning": "data_b_bit",
        "unordered": "data_u_bit",
        "delay_sack": "data_i_bit",
        "tsn": "data_tsn_raw",
        "stream_id": "data_sid",
        "message_id": "data_mid",
    },
    sctp.SCTPChunkInit: {
        "init_tag": "init_initiate_tag",
        "a_rwnd": "init_credit",
        "n_out_streams": "init_nr_out_streams",
        "n_in_streams": "init_nr_in_streams",
        "init_tsn": "init_initial_tsn",
    },
    sctp.SCTPChunkSACK: {
        "cumul_tsn_ack": "sack_cumulative_tsn_ack_raw",
        "a_rwnd": "sack_a_rwnd",
    },
    sctp.SCTPChunkAbort: {"TCB": "abort_t_bit"},
    sctp.SCTPChunkShutdown: {"cumul_tsn_ack": "shutdown_cumulative_tsn_ack"},
    sctp.SCTPChunkShutdownComplete: {"TCB": "shutdown_complete_t_bit"},
    sctp.SCTPChunkAuthentication: {"shared_key_id": "shared_key_id", "HMAC_function": "hmac_id"},
    sctp.SCTPChunkAddressConf: {"seq": "asconf_seq_nr_number"},
    sctp.SCTPChunkAddressConfAck: {"seq": "asconf_ack_seq_nr_number"},
    sctp.SCTPForwardSkip: {"stream_id": "forward_tsn_sid", "stream_seq": "forward_tsn_ssn"},
    sctp.SCTPIForwardSkip: {
        "stream_id": "i_forward_tsn_sid",
        "unordered": "i_forward_tsn_u_bit",
        "message_id": "forward_tsn_mid",
    },
    sctp.SCTPChunkParamIPv4Addr: {"addr": "parameter_ipv4_address"},
    sctp.SCTPChunkParamIPv6Addr: {"addr": "parameter_ipv6_address"},
    sctp.SCTPChunkParamCookiePreservative: {"sug_cookie_inc": "parameter_cookie_preservative_incr"},
    sctp.SCTPChunkParamOutSSNResetReq: {
        "re_conf_req_seq_num": "parameter_reconfig_request_sequence_number",
        "re_conf_res_seq_num": "parameter_reconfig_response_sequence_number",
        "tsn": "parameter_senders_last_assigned_tsn",
        "stream_num_list": "parameter_reconfig_sid",
    },
    sctp.SCTPChunkParamInSSNResetReq: {
        "re_conf_req_seq_num": "parameter_reconfig_request_sequence_number",
        "stream_num_list": "parameter_reconfig_sid",
    },
    sctp.SCTPChunkParamSSNTSNResetReq: {
        "re_conf_req_seq_num": "parameter_reconfig_request_sequence_number",
    },
    sctp.SCTPChunkParamReConfigRes: {
        "re_conf_res_seq_num": "parameter_reconfig_response_sequence_number",
        "result": "parameter_reconfig_response_result",
        "sender_next_tsn": "parameter_senders_next_tsn",
        "receiver_next_tsn": "parameter_receivers_next_tsn",
    },
    sctp.SCTPChunkParamAddOutgoingStreamReq: {
        "re_conf_req_seq_num": "parameter_reconfig_request_sequence_number",
        "num_new_stream": "parameter_add_outgoing_streams_number",
    },
    sctp.SCTPChunkParamAddIncomingStreamReq: {
        "re_conf_req_seq_num": "parameter_reconfig_request_sequence_number",
        "num_new_stream": "parameter_add_incoming_streams_number",
    },
    sctp.SCTPChunkParamSupportedAddrTypes: {"addr_type_list": "parameter_supported_address_type"},
    sctp.SCTPChunkParamChunkList: {"chunk_list": "chunk_type_to_auth"},
    sctp.SCTPChunkParamRequestedHMACFunctions: {"HMAC_functions_list": "hmac_id"},
    sctp.SCTPChunkParamSupportedExtensions: {"supported_extensions": "supported_chunk_type"},
    sctp.SCTPChunkParamAddIPAddr: {"correlation_id": "correlation_id"},
    sctp.SCTPChunkParamErrorIndication: {"correlation_id": "correlation_id"},
    sctp.SCTPChunkParamSuccessIndication: {"correlation_id": "correlation_id"},
    sctp.SCTPChunkParamAdaptationLayer: {"indication": "adaptation_layer_indication"},
}
PLAIN[sctp.SCTPChunkInitAck] = {
    name: common.replace("init_", "initack_", 1) for name, common in PLAIN[sctp.SCTPChunkInit].items()
}
for alike in (sctp.SCTPChunkParamDelIPAddr, sctp.SCTPChunkParamSetPrimaryAddr):
    PLAIN[alike] = PLAIN[sctp.SCTPChunkParamAddIPAddr]

# Fields whose values are bytes.
BYTES: dict[type[Packet], dict[str, str]] = {
    sctp.SCTPChunkCookieEcho: {"cookie": "cookie"},
    sctp.SCTPChunkAuthentication: {"HMAC": "hmac"},
    sctp.SCTPChunkAbort: {"error_causes": "error_causes"},
    sctp.SCTPChunkError: {"error_causes": "error_causes"},
    sctp.SCTPChunkParamHeartbeatInfo: {"data": "parameter_heartbeat_information"},
    sctp.SCTPChunkParamStateCookie: {"cookie": "parameter_state_cookie"},
    sctp.SCTPChunkParamRandom: {"random": "random_number"},
}


class Reader:
    """Collects the fields of one packet."""

    def __init__(self) -> None:
        self.fields: Fields = defaultdict(list)
        self.unread = b""

    def packet(self, packet: sctp.SCTP) -> None:
        self.put("srcport", packet.sport)
        self.put("dstport", packet.dport)
        self.put("verification_tag", packet.tag)
        chunk = packet.payload
        # Fewer than 4 bytes are the padding of the last chunk.
        while len(chunk) >= 4:
            # PAD: scapy counts 4 bytes too many for its header.
            if isinstance(chunk, (Raw, conf.padding_layer, sctp.SCTPChunkPad)):
                self.unread = bytes(chunk)
                return
            self.chunk(chunk)
            chunk = chunk.payload

    def put(self, name: str, value: object) -> None:
        if value is not None:
            self.fields[name].append(str(value))

    def put_bytes(self, name: str, value: object) -> None:
        if data := bytes(value or b""):
            self.fields[name].append(data.hex())

    def chunk(self, chunk: Packet) -> None:
        self.put("chunk_type", chunk.type)
        self.known_fields(chunk)
        first_fragment = isinstance(chunk, (sctp.SCTPChunkData, sctp.SCTPChunkIData)) and chunk.beginning
        if isinstance(chunk, sctp.SCTPChunkIData):
            self.put("data_payload_proto_id" if first_fragment else "data_fsn", chunk.ppid_fsn)
        if first_fragment:
            self.put_bytes("data.data", chunk.data)
        if isinstance(chunk, sctp.SCTPChunkSACK):
            for block in chunk.gap_ack_list:
                start, end = block.split(":")
                self.put("sack_gap_block_start", start)
                self.put("sack_gap_block_end", end)
            for tsn in chunk.dup_tsn_list:
                self.put("sack_duplicate_tsn", tsn)
        elif isinstance(chunk, sctp.SCTPChunkIForwardTSN):
            self.put("i_forward_tsn_tsn", chunk.new_tsn)
            self.skipped(chunk, sctp.SCTPIForwardSkip)
        elif isinstance(chunk, sctp.SCTPChunkForwardTSN):
            self.put("forward_tsn_tsn", chunk.new_tsn)
            self.skipped(chunk, sctp.SCTPForwardSkip)
        elif "params" in chunk.fields:
            for parameter in parameters(chunk.params):
                self.parameter(parameter)

    def skipped(self, chunk: Packet, entry: type[Packet]) -> None:
        """The streams of a forward TSN; when reading, scapy takes them for parameters."""
        data = b"".join(bytes(item) for item in chunk.skips)
        size = len(bytes(entry()))
        for at in range(0, len(data), size):
            self.known_fields(entry(data[at : at + size]))

    def parameter(self, parameter: Packet) -> None:
        if isinstance(parameter, Raw):
            kind = int.from_bytes(parameter.load[:2])
            if kind != 16:
                self.put("parameter_type", kind)
                return
            # scapy knows the long form of this response only.
            parameter = sctp.SCTPChunkParamReConfigRes(parameter.load + bytes(8))
            parameter.sender_next_tsn = parameter.receiver_next_tsn = None
        self.put("parameter_type", parameter.type)
        self.known_fields(parameter)
        if isinstance(parameter, sctp.SCTPChunkParamAddIPAddr):
            self.put("parameter_type", parameter.addr_type)
            family = {5: "ipv4", 6: "ipv6"}[parameter.addr_type]
            self.put(f"parameter_{family}_address", parameter.addr)
        elif isinstance(parameter, sctp.SCTPChunkParamHostname):
            self.put("parameter_hostname", parameter.hostname.rstrip(b"\0").decode())
        elif isinstance(parameter, sctp.SCTPChunkParamUnrocognizedParam):
            self.put("parameter_type", int.from_bytes(bytes(parameter.param)[:2]))
        elif isinstance(parameter, sctp.SCTPChunkParamErrorIndication):
            # When reading, scapy forgets the correlation identifier in the length, and takes 4 bytes too many.
            causes = bytes(parameter.error_causes)
            self.put_bytes("error_causes", causes if parameter.len is None else causes[: parameter.len - 8])

    def known_fields(self, packet: Packet) -> None:
        for name, common in PLAIN.get(type(packet), {}).items():
            value = packet.getfieldval(name)
            for one in value if isinstance(value, list) else [value]:
                self.put(common, one)
        for name, common in BYTES.get(type(packet), {}).items():
            self.put_bytes(common, packet.getfieldval(name))


def parameters(items: Iterable[Packet]) -> Iterator[Packet]:
    """Parameters one by one; scapy takes all that follows an unknown one as part of it."""
    for item in items:
        while isinstance(item, Raw) and len(item.load) >= 4:
            end = (int.from_bytes(item.load[2:4]) + 3) // 4 * 4
            yield Raw(item.load[:end])
            item = sctp.ChunkParamField("params", None).m2i(None, item.load[end:]) if end < len(item.load) else None
        if item is not None:
            yield item


def report(packet: sctp.SCTP, data: bytes) -> None:
    reader = Reader()
    reader.packet(packet)
    checksum = int.from_bytes(data[8:12])
    reader.put("checksum", checksum)
    reader.put("checksum.status", int(sctp.crc32c(data[:8] + bytes(4) + data[12:]) == checksum))
    print(json.dumps({"bytes": data.hex(), "fields": reader.fields, "unread": reader.unread.hex()}))


def read() -> None:
    for line in sys.stdin:
        data = bytes.fromhex(line)
        report(sctp.SCTP(data), data)


def write() -> None:
    for chunks in packets():
        packet = sctp.SCTP(sport=40_001, dport=40_002, tag=0x0D0E0F10)
        for chunk in chunks:
            packet = packet / chunk
        report(packet, bytes(packet))


def packets() -> Iterator[list[Packet]]:
    """Every kind of chunk and parameter that scapy can build."""
    data = sctp.SCTPChunkData(
        beginning=1, ending=1, tsn=0x80000001, stream_id=3, stream_seq=9, proto_id=99, data=Raw(b"hello")
    )
    sack = sctp.SCTPChunkSACK(
        cumul_tsn_ack=0x70000001, a_rwnd=70_000, gap_ack_list=["2:4", "6:6"], dup_tsn_list=[5, 6, 7]
    )
    cookie = sctp.SCTPChunkCookieEcho(cookie=b"a cookie of scapy")
    yield [data]
    yield [
        sctp.SCTPChunkData(
            ending=1, unordered=1, delay_sack=1, tsn=7, stream_id=65_535, stream_seq=1, proto_id=0, data=Raw(b"x" * 1400)
        )
    ]
    for first in (0, 1):
        yield [
            sctp.SCTPChunkIData(
                beginning=first, ending=1, tsn=8, stream_id=4, reserved_16=0, message_id=70_000, ppid_fsn=2, data=b"mid"
            )
        ]
    yield [sack]
    yield [sack, data, data]
    yield [cookie, data]
    yield [sctp.SCTPChunkSACK(cumul_tsn_ack=1, a_rwnd=0)]
    for address_parameters in (known_parameters()[:3], known_parameters()):
        yield [init(sctp.SCTPChunkInit, address_parameters)]
    yield [init(sctp.SCTPChunkInitAck, [sctp.SCTPChunkParamStateCookie(cookie=b"state" * 50)])]
    for parameter in known_parameters():
        yield [init(sctp.SCTPChunkInit, [parameter])]
    info = [sctp.SCTPChunkParamHeartbeatInfo(data=b"when and where")]
    yield [sctp.SCTPChunkHeartbeatReq(params=info)]
    yield [sctp.SCTPChunkHeartbeatAck(params=info)]
    causes = bytes.fromhex("000c 0007 627965 00 0003 0008 0001e240")
    yield [sctp.SCTPChunkAbort(TCB=1)]
    yield [sctp.SCTPChunkAbort(TCB=0, error_causes=causes)]
    yield [sctp.SCTPChunkError(error_causes=causes)]
    yield [sctp.SCTPChunkShutdown(cumul_tsn_ack=0x60000001)]
    yield [sctp.SCTPChunkShutdownAck()]
    yield [sctp.SCTPChunkShutdownComplete(TCB=1)]
    yield [sctp.SCTPChunkCookieAck()]
    yield [sctp.SCTPChunkAuthentication(shared_key_id=2, HMAC_function=1, HMAC=b"h" * 20)]
    asconf = [sctp.SCTPChunkParamIPv4Addr(addr="192.0.2.3")]
    for request in (sctp.SCTPChunkParamAddIPAddr, sctp.SCTPChunkParamDelIPAddr, sctp.SCTPChunkParamSetPrimaryAddr):
        asconf.append(request(correlation_id=len(asconf), addr="198.51.100.7"))
        asconf.append(request(correlation_id=len(asconf), addr_type=6, addr="2001:db8::7", len=28, addr_len=20))
    yield [sctp.SCTPChunkAddressConf(seq=17, params=asconf)]
    answers = [
        sctp.SCTPChunkParamSuccessIndication(correlation_id=1),
        sctp.SCTPChunkParamErrorIndication(correlation_id=2, error_causes=bytes.fromhex("00a3 0004")),
    ]
    yield [sctp.SCTPChunkAddressConfAck(seq=17, params=answers)]
    for request in re_config_parameters():
        yield [sctp.SCTPChunkReConfig(params=[request])]
    streams = [sctp.SCTPForwardSkip(stream_id=n, stream_seq=n * 1000) for n in (1, 2, 60)]
    yield [sctp.SCTPChunkForwardTSN(new_tsn=0x50000001, skips=streams)]
    messages = [sctp.SCTPIForwardSkip(stream_id=n, unordered=n & 1, message_id=n * 100_000) for n in (1, 2)]
    yield [sctp.SCTPChunkIForwardTSN(new_tsn=0x50000002, skips=messages)]


def init(kind: type[Packet], params: list[Packet]) -> Packet:
    return kind(init_tag=0x01020304, a_rwnd=1_500, n_out_streams=5, n_in_streams=6, init_tsn=0x90000001, params=params)


def known_parameters() -> list[Packet]:
    return [
        sctp.SCTPChunkParamIPv4Addr(addr="192.0.2.1"),
        sctp.SCTPChunkParamIPv6Addr(addr="2001:db8::1"),
        sctp.SCTPChunkParamSupportedAddrTypes(addr_type_list=[5, 6]),
        sctp.SCTPChunkParamCookiePreservative(sug_cookie_inc=60_000),
        sctp.SCTPChunkParamHostname(hostname=b"peer.example\0"),
        sctp.SCTPChunkParamECNCapable(),
        sctp.SCTPChunkParamRandom(random=bytes(range(32))),
        sctp.SCTPChunkParamChunkList(chunk_list=[193, 128]),
        sctp.SCTPChunkParamRequestedHMACFunctions(HMAC_functions_list=[3, 1]),
        sctp.SCTPChunkParamSupportedExtensions(supported_extensions=[192, 130, 64]),
        sctp.SCTPChunkParamFwdTSN(),
        sctp.SCTPChunkParamAdaptationLayer(indication=0xC0FFEE),
        sctp.SCTPChunkParamUnrocognizedParam(param=bytes.fromhex("fff0 0004")),
    ]


def re_config_parameters() -> list[Packet]:
    return [
        sctp.SCTPChunkParamOutSSNResetReq(
            re_conf_req_seq_num=1, re_conf_res_seq_num=2, tsn=3, stream_num_list=[4, 5, 6]
        ),
        sctp.SCTPChunkParamInSSNResetReq(re_conf_req_seq_num=7, stream_num_list=[8, 9]),
        sctp.SCTPChunkParamSSNTSNResetReq(re_conf_req_seq_num=10),
        sctp.SCTPChunkParamReConfigRes(
            len=20, re_conf_res_seq_num=11, result=1, sender_next_tsn=12, receiver_next_tsn=13
        ),
        sctp.SCTPChunkParamAddOutgoingStreamReq(re_conf_req_seq_num=14, num_new_stream=15, reserved=0),
        sctp.SCTPChunkParamAddIncomingStreamReq(re_conf_req_seq_num=16, num_new_stream=17, reserved=0),
    ]


def main() -> None:
    match sys.argv[1:]:
        case ["read"]:
            read()
        case ["write"]:
            write()
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
