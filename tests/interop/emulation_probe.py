#!/usr/bin/env python3
"""Kernel sockets for the test of the emulation; prints what it measured as JSON.

    emulation_probe.py echo ADDRESS                 answers datagrams until it is stopped
    emulation_probe.py ping FROM TO COUNT           round-trip times over UDP, in seconds
    emulation_probe.py load FROM TO SECONDS         the same every 20 ms for so long, whatever becomes of it: percentiles
    emulation_probe.py sink ADDRESS                 takes one TCP connection to its end
    emulation_probe.py take ADDRESS SECONDS         takes one TCP connection for so long after its first byte
    emulation_probe.py watch ADDRESS                the same, and tells the longest time without a byte
    emulation_probe.py pour FROM TO BYTES           sends so much over TCP, until the other end has it all
    emulation_probe.py flood FROM TO COUNT          sends so many datagrams, as fast as it can
    emulation_probe.py hose FROM TO SECONDS         sends over TCP for so long

With MPTCP=1 in the environment, TCP is Multipath TCP; CONGESTION names its congestion control; PATIENCE is how many seconds
`pour` may take.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import time
from collections.abc import Iterator

PORT = 7777
PATIENCE = 20.0


IPPROTO_MPTCP = 262


def tcp(address: str) -> socket.socket:
    made = socket.socket(family(address), socket.SOCK_STREAM, IPPROTO_MPTCP if os.environ.get("MPTCP") else 0)
    control(made)
    return made


def control(made: socket.socket) -> None:
    """Sets the congestion control. Subflows that Multipath TCP joins later may begin with the system's: senders repeat it."""
    congestion = os.environ.get("CONGESTION")
    if congestion:
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion.encode())


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


def load(local: str, remote: str, seconds: str) -> None:
    """Datagrams of 100 bytes; those without an answer a second after the last one are lost."""
    step, sent = 0.02, 0
    times: list[float] = []
    with socket.socket(family(local), socket.SOCK_DGRAM) as client:
        client.bind((local, 0))
        start = time.monotonic()
        end = start + float(seconds)
        while (now := time.monotonic()) < end + 1.0:
            due = start + sent * step
            if now >= due and now < end:
                sent += 1
                try:
                    client.sendto(f"{now:.9f}".encode().ljust(100), (remote, PORT))
                except ConnectionRefusedError:
                    pass  # nobody listens yet
                continue
            client.settimeout(max(0.001, min(due if now < end else end + 1.0, end + 1.0) - now))
            try:
                began = float(client.recv(2048))
                times.append(time.monotonic() - began)
            except (TimeoutError, ConnectionRefusedError):
                pass
    times.sort()
    ranked = {f"p{part}_s": times[min(len(times) - 1, len(times) * part // 100)] if times else None for part in (50, 99)}
    print(json.dumps({f"load {local}": {"sent": sent, "answered": len(times), **ranked}}), flush=True)


def sink(address: str) -> None:
    taken(address)


def take(address: str, seconds: str) -> None:
    times, sizes = [], []
    with accepted(address) as connection:
        while not times or times[-1] < times[0] + float(seconds):
            data = connection.recv(1 << 16)
            times.append(time.monotonic())
            sizes.append(len(data))
            if not data:
                break
    span = max(times[-1] - times[0], 0.001) if times else 1.0
    print(json.dumps({"bit_s": 8 * sum(sizes) / span}), flush=True)


def watch(address: str) -> None:
    times = taken(address)
    gaps = [(later - earlier, earlier - times[0]) for earlier, later in zip(times, times[1:])]
    longest, at = max(gaps, default=(0.0, 0.0))
    print(json.dumps({"longest_gap_s": longest, "gap_at_s": at}), flush=True)


def taken(address: str) -> list[float]:
    """Takes one connection to its end; when bytes came."""
    times: list[float] = []
    with accepted(address) as connection:
        while connection.recv(1 << 16):
            times.append(time.monotonic())
    return times


@contextlib.contextmanager
def accepted(address: str) -> Iterator[socket.socket]:
    """One connection; the listening socket stays, since further subflows of Multipath TCP come to it."""
    with tcp(address) as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Further subflows come to other addresses, where somebody must listen, too.
        server.bind(("" if os.environ.get("MPTCP") else address, PORT))
        server.listen()
        connection, _ = server.accept()
        with connection:
            yield connection


def pour(local: str, remote: str, count: str) -> None:
    with tcp(local) as client:
        client.bind((local, 0))
        patience = float(os.environ.get("PATIENCE", "90"))  # for all of it
        client.settimeout(patience)
        until_bound(lambda: client.connect((remote, PORT)))
        start = time.monotonic()
        for begin in range(0, int(count), 1 << 16):
            control(client)
            client.settimeout(max(0.1, start + patience - time.monotonic()))
            client.sendall(bytes(min(1 << 16, int(count) - begin)))
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
            try:
                control(client)
                client.send(bytes(1 << 16))
            except (ConnectionError, TimeoutError):
                break  # `take` has had enough


if __name__ == "__main__":
    commands = {"echo": echo, "ping": ping, "load": load, "sink": sink, "take": take}
    commands |= {"watch": watch, "pour": pour, "flood": flood, "hose": hose}
    commands[sys.argv[1]](*sys.argv[2:])
