#!/usr/bin/env python3
"""Carries Ethernet frames between pairs of interfaces, and damages, loses and delays some of the SCTP packets.

Usage: bridge.py [--damage EVERY] [--lose SHARE] [--delay SECONDS[,SECONDS...]] [--rate MBIT[,MBIT...]]
                 [--dark all|busiest] [--dark-after BYTES] LEFT:RIGHT...

SCTP is carried in UDP or by IP itself. Of the packets whose first chunk is DATA, every EVERY-th gets a wrong bit at its
end; UDP checksums are taken out, or made anew in IPv6, which has to have them, so that the damage reaches SCTP. SHARE of all packets is lost, always the same ones
for the same traffic, and the others leave SECONDS later; with several values, pair by pair. With --rate, each direction of a pair
carries so many Mbit/s, and QUEUE bytes wait for it. On SIGUSR1 a part of the pairs carries nothing any more, in either
direction and without telling anybody: all of them, or with --dark busiest the one that has carried most. With --dark-after
BYTES that happens when so much was carried. On SIGUSR2 all carry again; on SIGHUP they do so with the next INIT, which is carried.
"""

from __future__ import annotations

import argparse
import heapq
import random
import select
import signal
import socket
import struct
import time

ALL_PROTOCOLS = 3
OUTGOING = 4
ETHERNET = 14
IPV4 = b"\x08\x00"
IPV6 = b"\x86\xdd"
IPV6_HEADER = 40
UDP_HEADER = 8
SCTP_HEADER = 12
SCTP = 132
DATA = 0
INIT = 1
QUEUE = 150_000


class Impairment:
    """Decides what happens to a frame, and damages it in place."""

    def __init__(self, damage: int, lose: float) -> None:
        self.damage = damage
        self.lose = lose
        self.seen = 0
        self.random = random.Random(1)

    def survives(self, frame: bytearray) -> bool:
        content = content_of(frame)
        if content is None:
            return True
        if self.random.random() < self.lose:
            return False
        protocol, packet, end = content
        in_udp = protocol == socket.IPPROTO_UDP
        if protocol == SCTP or in_udp:
            self.spoil(frame, packet + (UDP_HEADER if in_udp else 0), end)
        # Frames between interfaces of one host have no checksum yet, which nobody would complete.
        if in_udp and end >= packet + UDP_HEADER:
            frame[packet + 6 : packet + 8] = b"\0\0"
            if frame[12:14] == IPV6:
                frame[packet + 6 : packet + 8] = udp_checksum(frame, packet, end)
        return True

    def spoil(self, frame: bytearray, packet: int, end: int) -> None:
        chunk = packet + SCTP_HEADER
        if not self.damage or not chunk < end or frame[chunk] != DATA:
            return
        self.seen += 1
        if self.seen % self.damage == 0:
            frame[end - 5] ^= 0x10


def content_of(frame: bytearray) -> tuple[int, int, int] | None:
    """What a frame carries by IP, but for what IPv6 has in place of ARP: the protocol, and where it begins and ends."""
    if frame[12:14] == IPV4 and len(frame) >= ETHERNET + 20:
        begin = ETHERNET + (frame[ETHERNET] & 0x0F) * 4
        end = ETHERNET + int.from_bytes(frame[ETHERNET + 2 : ETHERNET + 4], "big")
        protocol = frame[ETHERNET + 9]
    elif frame[12:14] == IPV6 and len(frame) >= ETHERNET + IPV6_HEADER:
        begin = ETHERNET + IPV6_HEADER
        end = begin + int.from_bytes(frame[ETHERNET + 4 : ETHERNET + 6], "big")
        protocol = frame[ETHERNET + 6]
    else:
        return None
    if protocol == socket.IPPROTO_ICMPV6 or end > len(frame):
        return None
    return protocol, begin, end


def begins_association(frame: bytearray) -> bool:
    """Whether the first chunk of a frame is INIT."""
    content = content_of(frame)
    if content is None or content[0] not in (SCTP, socket.IPPROTO_UDP):
        return False
    protocol, packet, end = content
    chunk = packet + (UDP_HEADER if protocol == socket.IPPROTO_UDP else 0) + SCTP_HEADER
    return chunk < end and frame[chunk] == INIT


def udp_checksum(frame: bytearray, packet: int, end: int) -> bytes:
    """The checksum of a UDP packet over IPv6 in which it is zero (RFC 8200 section 8.1)."""
    addresses = frame[ETHERNET + 8 : ETHERNET + IPV6_HEADER]
    content = bytes(addresses) + bytes(frame[packet:end]) + bytes((end - packet) % 2)
    total = sum(struct.unpack(f"!{len(content) // 2}H", content)) + (end - packet) + socket.IPPROTO_UDP
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ((~total & 0xFFFF) or 0xFFFF).to_bytes(2, "big")


class Bridge:
    """The pairs of interfaces, and the frames that are still under way."""

    def __init__(self, pairs: list[str], delays: list[float], rates: list[float], impairment: Impairment) -> None:
        self.other: dict[socket.socket, socket.socket] = {}
        self.carried: dict[socket.socket, int] = {}
        self.delay: dict[socket.socket, float] = {}
        # Seconds per byte, and when what has come so far will have left.
        self.pace: dict[socket.socket, float] = {}
        self.busy_until: dict[socket.socket, float] = {}
        self.dark: set[socket.socket] = set()
        for number, pair in enumerate(pairs):
            left, right = (interface(name) for name in pair.split(":"))
            self.other |= {left: right, right: left}
            for one in (left, right):
                rate = of_pair(rates, number)
                self.carried[one], self.delay[one], self.busy_until[one] = 0, of_pair(delays, number), 0.0
                self.pace[one] = 8 / (rate * 1e6) if rate else 0.0
        self.impairment = impairment
        self.which = "all"
        self.dark_after = 0
        self.waits_for_init = False
        self.under_way: list[tuple[float, int, socket.socket, bytearray]] = []
        self.taken = 0

    def take(self, source: socket.socket) -> None:
        frame, address = source.recvfrom(1 << 16)
        if address[2] == OUTGOING or source in self.dark and not self.wakes(bytearray(frame)):
            return
        self.carried[source] += len(frame)
        if self.dark_after and sum(self.carried.values()) >= self.dark_after:
            self.dark_after = 0
            self.darken()
        carried = bytearray(frame)
        if self.impairment.survives(carried):
            self.send_on(source, carried)

    def send_on(self, source: socket.socket, frame: bytearray) -> None:
        now, pace = time.monotonic(), self.pace[source]
        begins = max(now, self.busy_until[source])
        if begins - now > QUEUE * pace and pace:
            return
        self.busy_until[source] = begins + len(frame) * pace
        self.taken += 1
        leaves = self.busy_until[source] + self.delay[source]
        heapq.heappush(self.under_way, (leaves, self.taken, self.other[source], frame))

    def wakes(self, frame: bytearray) -> bool:
        """Whether a frame is carried in the dark. Without ARP and its like, no INIT would come."""
        if not self.waits_for_init:
            return False
        if begins_association(frame):
            self.lighten()
        return not self.dark or content_of(frame) is None

    def wait_for_init(self) -> None:
        self.waits_for_init = True
        print("waiting", flush=True)

    def darken(self) -> None:
        self.dark = set(self.other)
        if self.which == "busiest":
            busiest = max(self.other, key=lambda one: self.carried[one] + self.carried[self.other[one]])
            self.dark = {busiest, self.other[busiest]}
        print("dark", flush=True)

    def lighten(self) -> None:
        self.dark, self.waits_for_init = set(), False
        print("light", flush=True)

    def deliver(self) -> float | None:
        """Sends what is due, and says in how many seconds more will be."""
        while self.under_way:
            wait = self.under_way[0][0] - time.monotonic()
            if wait > 0:
                return wait
            _, _, target, frame = heapq.heappop(self.under_way)
            try:
                target.send(frame)
            except OSError:
                pass  # full or too long: lost, as on any link
        return None

    def run(self) -> None:
        while True:
            wait = self.deliver()
            for source in select.select(list(self.other), [], [], wait)[0]:
                self.take(source)


def of_pair(values: list[float], number: int) -> float:
    return values[min(number, len(values) - 1)]


def numbers(text: str) -> list[float]:
    return [float(part) for part in text.split(",")]


def interface(name: str) -> socket.socket:
    opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL_PROTOCOLS))
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    opened.bind((name, 0))
    return opened


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--damage", type=int, default=0)
    parser.add_argument("--lose", type=float, default=0.0)
    parser.add_argument("--delay", type=numbers, default=[0.0])
    parser.add_argument("--rate", type=numbers, default=[0.0])
    parser.add_argument("--dark", choices=["all", "busiest"], default="all")
    parser.add_argument("--dark-after", type=int, default=0)
    parser.add_argument("pairs", nargs="+")
    options = parser.parse_args()
    bridge = Bridge(options.pairs, options.delay, options.rate, Impairment(options.damage, options.lose))
    bridge.which, bridge.dark_after = options.dark, options.dark_after
    signal.signal(signal.SIGUSR1, lambda *_: bridge.darken())
    signal.signal(signal.SIGUSR2, lambda *_: bridge.lighten())
    signal.signal(signal.SIGHUP, lambda *_: bridge.wait_for_init())
    print("ready", flush=True)
    bridge.run()


if __name__ == "__main__":
    main()
