"""Sends messages to the echoing server, and checks every answer."""

import socket
import sys
import time

PORT = int(sys.argv[1])
HOST = sys.argv[2] if len(sys.argv) > 2 else "127.0.0.1"
SLOWLY = len(sys.argv) > 3
COUNT = 60 if SLOWLY else 200

with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_SCTP) as connection:
    connection.connect((HOST, PORT))
    assert connection.getpeername()[1] == PORT
    for number in range(COUNT):
        message = f"{number} ".encode() * (1 + number % 50 * 20)
        connection.send(message)
        answer = connection.recv(100_000)
        assert answer == message, (number, len(answer), len(message))
        if number == COUNT // 2:
            print("half", flush=True)
        if SLOWLY:
            time.sleep(0.05)
print(f"all answered: {COUNT} messages", flush=True)
