#!/usr/bin/env python3
"""A library whose service is of another version: one line says so, and the error number is one that programs know.

usage: versions.py LIBRARY FOLDER
"""

import os
import re
import socket
import struct
import subprocess
import sys
import threading

ATTEMPT = """
import socket
try:
    socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_SCTP)
except OSError as error:
    print(error.errno)
"""


def serve(path, answer, count):
    """Answers so many questions, each as a service of another version does."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()

    def run():
        for _ in range(count):
            connection, _ = listener.accept()
            length = struct.unpack("I", connection.recv(4, socket.MSG_WAITALL))[0]
            connection.recv(length, socket.MSG_WAITALL)
            connection.sendall(answer)
            connection.close()

    threading.Thread(target=run, daemon=True).start()


def attempt(library, path):
    environment = {**os.environ, "LD_PRELOAD": library, "POLYPATH_SOCKETS": path}
    environment.pop("POLYPATH_SOCKETS_START", None)
    command = [sys.executable, "-c", ATTEMPT]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.strip(), done.stderr.splitlines()


INHERITED = """
import os, socket, sys
fd = int(sys.argv[1])
inherited = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 132, fileno=fd)
other = os.dup(fd)
for call in [lambda: os.read(fd, 10), lambda: os.write(other, b"x"), lambda: inherited.shutdown(socket.SHUT_WR),
             lambda: inherited.getsockopt(132, 0, 16), lambda: inherited.listen(1), lambda: inherited.connect(("127.0.0.1", 9))]:
    try:
        print("done", call())
    except OSError as error:
        print(error.errno)
"""


def inherit(library):
    """A program of one version starts another one, with its socket: no call misunderstands what lies there."""
    service, program = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    service.bind(b"\0polypath-sctp-4-14" + b"0" * 15 + b"7")
    # It looks like one that this version takes out of the queue.
    frame = b"\x04" + bytes(99)
    service.send(frame)
    command = [sys.executable, "-c", INHERITED, str(program.fileno())]
    done = subprocess.run(
        command, env={**os.environ, "LD_PRELOAD": library}, pass_fds=[program.fileno()],
        capture_output=True, text=True, timeout=60, check=True,
    )
    assert done.stdout.split() == ["93"] * 6, done
    lines = done.stderr.splitlines()
    assert lines and all("another version of Polypath" in line for line in lines), lines
    program.setblocking(False)
    assert program.recv(200) == frame, "what lies there stays"
    service.setblocking(False)
    try:
        raise AssertionError(f"the service was sent what it does not understand: {service.recv(100)}")
    except BlockingIOError:
        pass


FORGED = """
import os, socket, sys
forged = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 132, fileno=int(sys.argv[1]))
forged.setblocking(False)
for call in [lambda: forged.recv(10), lambda: forged.send(b"x"), lambda: forged.accept(), lambda: forged.listen(1),
             lambda: forged.getpeername(), lambda: forged.shutdown(socket.SHUT_RDWR)]:
    try:
        call()
    except OSError:
        pass
print("alive", len(os.listdir("/proc/self/task")))
"""


def forge(library, path):
    """Whoever passes a descriptor chooses the name of its other end: none makes a program read what is not there, or start a
    stack."""
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../crates/sockets/src/control.rs")
    with open(source, encoding="utf-8") as code:
        version = re.search(r"pub const VERSION: \w+ = (\d+);", code.read()).group(1)
    environment = {**os.environ, "LD_PRELOAD": library, "POLYPATH_SOCKETS": path}
    environment.pop("POLYPATH_SOCKETS_START", None)
    places = [(0, 1), (0, 0), (7, 1), (7, (1 << 20) - 1), (7, 1 << 20), (1 << 63, (1 << 32) - 1)]
    for style, (board, slot) in [(style, place) for style in ("14", "1c") for place in places]:
        other, program = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        other.bind(f"\0polypath-sctp-{version}-{style}{9:016x}{board:016x}{slot:08x}".encode())
        command = [sys.executable, "-c", FORGED, str(program.fileno())]
        done = subprocess.run(
            command, env=environment, pass_fds=[program.fileno()], capture_output=True, text=True, timeout=60, check=False
        )
        assert (done.returncode, done.stdout) == (0, "alive 1\n"), (style, board, slot, done)


def main():
    library, folder = sys.argv[1:]
    # A later version answers with the reason, and one from before there were versions closes the connection.
    reason = b"not of the same version"
    later = struct.pack("Ii", 4 + len(reason), -93) + reason
    for name, answer, count, number, words in [
        ("later", later, 1, "93", "not of the same version"),
        ("older", b"", 2, "100", "services of other versions"),
    ]:
        path = os.path.join(folder, name)
        serve(path, answer, count)
        errno, lines = attempt(library, path)
        assert errno == number, (name, errno)
        assert len(lines) == 1 and lines[0].startswith("polypath: ") and words in lines[0], (name, lines)
    inherit(library)
    forge(library, os.path.join(folder, "nobody"))


if __name__ == "__main__":
    main()
