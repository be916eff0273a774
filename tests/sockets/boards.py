"""What the library knows of sockets, under `polypath with`: no name of a descriptor, and no process without the library, misleads it."""

import ctypes
import errno
import os
import platform
import socket
import subprocess
import sys

libc = ctypes.CDLL(None, use_errno=True)
# Calls that the library does not see.
GETPEERNAME, SHUTDOWN = {"x86_64": (52, 48), "aarch64": (205, 210)}[platform.machine()]


def name_of(sock):
    """The name that the service has given to the other end of a socket's descriptor."""
    address, length = ctypes.create_string_buffer(110), ctypes.c_uint(110)
    assert libc.syscall(GETPEERNAME, sock.fileno(), address, ctypes.byref(length)) == 0
    return address.raw[3:length.value].decode()


def slot_of(sock):
    return name_of(sock)[-8:]


def opened():
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 132)
    sock.bind(("127.0.0.1", 0))
    return sock


def outcome(call):
    try:
        call()
        return 0
    except OSError as error:
        return error.errno


def among_forged_names(name):
    """Whoever passes descriptors chooses the names of their other ends: the board of the service finds room all the same."""
    ours, theirs = socket.socketpair()
    kept = []
    for number in range(1, 200):
        forged, program = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        forged.bind(f"\0{name[:-24]}{number:016x}{1:08x}")
        socket.send_fds(theirs, [b"x"], [program.fileno()])
        _, fds, _, _ = socket.recv_fds(ours, 1, 1)
        passed = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 132, fileno=fds[0])
        passed.setblocking(False)
        outcome(passed.accept)
        kept += [forged, program, passed]
    for one in kept:
        one.close()
    real = opened()
    real.listen(1)
    real.setblocking(False)
    # From now on the service cannot be asked.
    os.environ["POLYPATH_SOCKETS"] = "/nowhere"
    assert outcome(real.accept) == errno.EAGAIN
    real.close()


def after_an_end():
    """A process without the library shuts a socket down, and the service takes it for closed: what is posted next in its slot is not its own."""
    ended, kept = opened(), []
    assert libc.syscall(SHUTDOWN, ended.fileno(), socket.SHUT_WR) == 0
    while not kept or slot_of(kept[-1]) != slot_of(ended):
        kept.append(opened())
    kept[-1].listen(1)
    assert outcome(ended.accept) == errno.ENOTCONN


if __name__ == "__main__":
    if len(sys.argv) > 1:
        among_forged_names(sys.argv[1])
    else:
        real = opened()
        subprocess.run([sys.executable, sys.argv[0], name_of(real)], check=True, timeout=60)
        after_an_end()
