#!/usr/bin/env python3
"""A library whose service is of another version: one line says so, and the error number is one that programs know.

usage: versions.py LIBRARY FOLDER
"""

import os
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
    service.send(b"of the other version")
    command = [sys.executable, "-c", INHERITED, str(program.fileno())]
    done = subprocess.run(
        command, env={**os.environ, "LD_PRELOAD": library}, pass_fds=[program.fileno()],
        capture_output=True, text=True, timeout=60, check=True,
    )
    assert done.stdout.split() == ["93"] * 6, done
    lines = done.stderr.splitlines()
    assert lines and all("another version of Polypath" in line for line in lines), lines
    service.setblocking(False)
    try:
        raise AssertionError(f"the service was sent what it does not understand: {service.recv(100)}")
    except BlockingIOError:
        pass


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


if __name__ == "__main__":
    main()
