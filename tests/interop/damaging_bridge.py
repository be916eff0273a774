#!/usr/bin/env python3
"""Carries Ethernet frames between two interfaces and damages some of the SCTP packets in UDP over IPv4.

Usage: damaging_bridge.py LEFT RIGHT EVERY

Of the packets whose first chunk is DATA, every EVERY-th gets a wrong bit at its end. UDP checksums are taken out, so that
the damage reaches SCTP.
"""

from __future__ import annotations

import select
import socket
import sys

ALL_PROTOCOLS = 3
OUTGOING = 4
ETHERNET = 14
UDP_HEADER = 8
SCTP_HEADER = 12
DATA = 0


class Damage:
    """Counts packets with DATA and damages some."""

    def __init__(self, every: int) -> None:
        self.every = every
        self.seen = 0

    def apply(self, frame: bytearray) -> None:
        if frame[12:14] != b"\x08\x00" or len(frame) < ETHERNET + 20:
            return
        header = (frame[ETHERNET] & 0x0F) * 4
        udp = ETHERNET + header
        if frame[ETHERNET + 9] != socket.IPPROTO_UDP or len(frame) < udp + UDP_HEADER:
            return
        frame[udp + 6 : udp + 8] = b"\0\0"
        end = ETHERNET + int.from_bytes(frame[ETHERNET + 2 : ETHERNET + 4], "big")
        chunk = udp + UDP_HEADER + SCTP_HEADER
        if not chunk < end <= len(frame) or frame[chunk] != DATA:
            return
        self.seen += 1
        if self.seen % self.every == 0:
            frame[end - 5] ^= 0x10


def interface(name: str) -> socket.socket:
    opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL_PROTOCOLS))
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    opened.bind((name, 0))
    return opened


def main() -> None:
    left, right = interface(sys.argv[1]), interface(sys.argv[2])
    damage = Damage(int(sys.argv[3]))
    other = {left: right, right: left}
    print("ready", flush=True)
    while True:
        for source in select.select([left, right], [], [])[0]:
            frame, address = source.recvfrom(1 << 16)
            if address[2] == OUTGOING:
                continue
            carried = bytearray(frame)
            damage.apply(carried)
            try:
                other[source].send(carried)
            except OSError:
                pass  # full or too long: lost, as on any link


if __name__ == "__main__":
    main()
