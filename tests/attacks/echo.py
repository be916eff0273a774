"""Echoes messages over SCTP sockets to many peers at once, none of which holds up another one."""

import selectors
import socket
import sys

listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_SCTP)
listener.bind(("0.0.0.0", int(sys.argv[1])))
listener.listen(128)
listener.setblocking(False)
selector = selectors.DefaultSelector()
selector.register(listener, selectors.EVENT_READ)
# What could not be sent yet, by connection: one message, before which no other is read.
waiting = {}


def close(connection):
    """Forgets a connection."""
    waiting.pop(connection, None)
    selector.unregister(connection)
    connection.close()


def serve(connection):
    """Sends what waits, or reads a message and sends that."""
    message = waiting.pop(connection, None)
    if message is None:
        message = connection.recv(100_000)
        if not message:
            close(connection)
            return
    try:
        connection.send(message)
        selector.modify(connection, selectors.EVENT_READ)
    except BlockingIOError:
        waiting[connection] = message
        selector.modify(connection, selectors.EVENT_WRITE)


print("ready", flush=True)
while True:
    for key, _ in selector.select():
        if key.fileobj is listener:
            try:
                accepted, _ = listener.accept()
            except OSError:
                continue
            accepted.setblocking(False)
            selector.register(accepted, selectors.EVENT_READ)
            continue
        try:
            serve(key.fileobj)
        except BlockingIOError:
            pass
        except OSError:
            close(key.fileobj)
