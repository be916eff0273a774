#!/usr/bin/env python3
"""A program whose service ends gets another one with its next socket. Run by `polypath with`.

usage: again.py UDP_PORT
"""

import os
import signal
import socket
import subprocess
import sys


def new_socket():
    return socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_SCTP)


def main():
    listening = new_socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    # Children that are executed close descriptors, in memory that may be that of their parent.
    pattern = f"stack --local-encapsulation-port {sys.argv[1]}"
    service = int(subprocess.run(["pgrep", "-f", pattern], capture_output=True, check=True).stdout)
    port = listening.getsockname()[1]
    os.kill(service, signal.SIGKILL)
    again = new_socket()
    again.bind(("127.0.0.1", port))
    again.listen()
    client = new_socket()
    client.connect(("127.0.0.1", port))
    client.sendall(b"again")
    accepted, _ = again.accept()
    assert accepted.recv(100) == b"again"
    try:
        listening.getsockname()
    except OSError:
        pass
    else:
        raise AssertionError("a socket of the service that has ended has a name")
    print("a program got another service")


if __name__ == "__main__":
    main()
