#!/usr/bin/env python3
"""Kernel sockets for the test of the emulation; prints what it measured as JSON.

    emulation_probe.py echo ADDRESS                 answers datagrams until it is stopped
    emulation_probe.py ping FROM TO COUNT           round-trip times over UDP, in seconds
    emulation_probe.py sink ADDRESS                 takes one TCP connection to its end
    emulation_probe.py watch ADDRESS                the same, and tells the longest time without a byte
    emulation_probe.py pour FROM TO BYTES           sends so much over TCP, until the other end has it all
    emulation_probe.py flood FROM TO COUNT          sends so many datagrams, as fast as it can
    emulation_probe.py hose FROM TO SECONDS         sends over TCP for so long

With MPTCP=1 in the environment, TCP is Multipath TCP; CONGESTION names its congestion control.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time

PORT = 7777
PATIENCE = 20.0


IPPROTO_MPTCP = 262


def tcp(address: str) -> socket.socket:
    made = socket.socket(family(address), socket.SOCK_STREAM, IPPROTO_MPTCP if os.environ.get("MPTCP") else 0)
    congestion = os.environ.get("CONGESTION")
    if congestion:
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion.encode())
    return made


def family(address: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def until_bound(bind) -> None:
    """The other end may not be there yet: tries for a while."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return bind()
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


def echo(address: str) -> None:
    with socket.socket(family(address), socket.SOCK_DGRAM) as server:
        server.bind((address, PORT))
        while True:
            data, peer = server.recvfrom(2048)
            server.sendto(data, peer)


def ping(local: str, remote: str, count: str) -> None:
    times: list[float] = []
    with socket.socket(family(local), socket.SOCK_DGRAM) as client:
        client.bind((local, 0))
        client.settimeout(3.0)
        end = time.monotonic() + PATIENCE
        number = 0
        while len(times) < int(count) and time.monotonic() < end:
            number += 1
            message = str(number).encode()
            start = time.monotonic()
            client.sendto(message.ljust(100), (remote, PORT))
            try:
                while client.recv(2048).strip() != message:
                    pass
                times.append(time.monotonic() - start)
            except (TimeoutError, ConnectionRefusedError):
                time.sleep(0.1)
    print(json.dumps({"count": len(times), "least": min(times, default=0.0), "median": sorted(times)[len(times) // 2]}))


def sink(address: str) -> None:
    taken(address)


def watch(address: str) -> None:
    times = taken(address)
    gaps = [(later - earlier, earlier - times[0]) for earlier, later in zip(times, times[1:])]
    longest, at = max(gaps, default=(0.0, 0.0))
    print(json.dumps({"longest_gap_s": longest, "gap_at_s": at}), flush=True)


def taken(address: str) -> list[float]:
    """Takes one connection to its end; when bytes came."""
    times: list[float] = []
    with tcp(address) as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Further subflows come to other addresses, where somebody must listen, too.
        server.bind(("" if os.environ.get("MPTCP") else address, PORT))
        server.listen()
        connection, _ = server.accept()
        with connection:
            while connection.recv(1 << 16):
                times.append(time.monotonic())
    return times


def pour(local: str, remote: str, count: str) -> None:
    with tcp(local) as client:
        client.bind((local, 0))
        client.settimeout(90.0)  # for all of it
        until_bound(lambda: client.connect((remote, PORT)))
        start = time.monotonic()
        client.sendall(bytes(int(count)))
        client.shutdown(socket.SHUT_WR)
        client.recv(1)
        print(json.dumps({"bit_s": 8 * int(count) / (time.monotonic() - start)}))


def flood(local: str, remote: str, count: str) -> None:
    with socket.socket(family(local), socket.SOCK_DGRAM) as client:
        client.bind((local, 0))
        for _ in range(int(count)):
            client.sendto(bytes(100), (remote, PORT))


def hose(local: str, remote: str, seconds: str) -> None:
    with tcp(local) as client:
        client.bind((local, 0))
        client.settimeout(30.0)
        until_bound(lambda: client.connect((remote, PORT)))
        end = time.monotonic() + float(seconds)
        while time.monotonic() < end:
            client.send(bytes(1 << 16))


if __name__ == "__main__":
    commands = {"echo": echo, "ping": ping, "sink": sink, "watch": watch, "pour": pour, "flood": flood, "hose": hose}
    commands[sys.argv[1]](*sys.argv[2:])
