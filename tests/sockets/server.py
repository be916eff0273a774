"""Echoes messages over SCTP, as a program does that knows nothing but the system's sockets."""

import selectors
import socket
import sys

HOST = sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1"

listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_SCTP)
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
# All addresses: the peer hears of every path.
listener.bind(("0.0.0.0" if HOST != "127.0.0.1" else HOST, 0))
listener.listen(5)
listener.setblocking(False)
selector = selectors.DefaultSelector()
selector.register(listener, selectors.EVENT_READ)
print("listening", listener.getsockname()[1], flush=True)
while True:
    for key, _ in selector.select():
        if key.fileobj is listener:
            connection, _ = listener.accept()
            connection.setblocking(False)
            selector.register(connection, selectors.EVENT_READ)
            continue
        connection = key.fileobj
        try:
            message = connection.recv(100_000)
        except ConnectionError:
            message = b""
        if message:
            connection.send(message)
        else:
            selector.unregister(connection)
            connection.close()
