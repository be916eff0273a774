#!/usr/bin/env python3
"""Answers every SCTP packet that comes over IP to an address with ABORT, as a stack does that knows of no association
(RFC 9260 section 8.4): to INIT with the tag that it announces, to others with their own tag and the T bit.

    foreign_stack.py ADDRESS

Prints "ready" when it begins, and "aborted NUMBER" for each answer.
"""

import socket
import struct
import sys

SCTP = 132
INIT, ABORT = 1, 6
# INIT ACK, ABORT, COOKIE ACK, SHUTDOWN COMPLETE: to the first a stranger would answer, too, but nobody would believe it.
SILENT = {2, 6, 11, 14}
HEADER = struct.Struct("!HHII")


def crc32c(data: bytes) -> int:
    """The checksum of SCTP (RFC 9260 appendix A), bit by bit: packets are few and short."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def answer(packet: bytes) -> bytes | None:
    """The ABORT for an SCTP packet, if there is one."""
    if len(packet) < HEADER.size + 4:
        return None
    source, destination, tag, _ = HEADER.unpack_from(packet)
    kind = packet[HEADER.size]
    if kind in SILENT:
        return None
    if kind == INIT:
        if len(packet) < HEADER.size + 8:
            return None
        (tag,) = struct.unpack_from("!I", packet, HEADER.size + 4)
    chunk = struct.pack("!BBH", ABORT, 0 if kind == INIT else 1, 4)
    checksum = crc32c(HEADER.pack(destination, source, tag, 0) + chunk)
    # The checksum is the only field with the least significant byte first.
    return HEADER.pack(destination, source, tag, int.from_bytes(checksum.to_bytes(4, "little"), "big")) + chunk


def main() -> None:
    sock = socket.socket(socket.AF_INET, socket.SOCK_RAW, SCTP)
    sock.bind((sys.argv[1], 0))
    print("ready", flush=True)
    answered = 0
    while True:
        packet, (peer, _) = sock.recvfrom(65535)
        abort = answer(packet[(packet[0] & 15) * 4 :])
        if abort is not None:
            sock.sendto(abort, (peer, 0))
            answered += 1
            print("aborted", answered, flush=True)


if __name__ == "__main__":
    main()
