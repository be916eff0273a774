"""Messages over the module sctp (pysctp), in both styles."""

import socket

import sctp

server = sctp.sctpsocket_tcp(socket.AF_INET)
server.initparams.num_ostreams = 7
server.bind(("127.0.0.1", 0))
server.listen(5)
client = sctp.sctpsocket_tcp(socket.AF_INET)
client.initparams.num_ostreams = 3
client.initparams.max_instreams = 4
client.nodelay = True
assert client.nodelay
client.connect(server.getsockname())
accepted, _ = server.accept()
client.events.data_io = True
accepted.events.data_io = True
for number in range(100):
    content = bytes([number]) * (1 + number * 100)
    client.sctp_send(content, ppid=socket.htonl(number), stream=number % 3)
    _, flags, got, info = accepted.sctp_recv(100_000)
    assert got == content and info.stream == number % 3 and info.ppid == number, (number, info.stream, info.ppid)
status = client.get_status()
assert status.state == status.state_ESTABLISHED and status.outstrms == 3, vars(status)
assert client.getpaddrs() == (server.getsockname(),), client.getpaddrs()
client.close()
assert accepted.recv(10) == b""
accepted.close()

many = sctp.sctpsocket_udp(socket.AF_INET)
many.bind(("127.0.0.1", 0))
many.listen(5)
many.events.data_io = True
other = sctp.sctpsocket_udp(socket.AF_INET)
assert other.sctp_send(b"one of many", to=many.getsockname(), stream=1) == 11
address, flags, got, info = many.sctp_recv(1000)
assert got == b"one of many" and info.stream == 1
peeled = many.peeloff(info.assoc_id)
peeled.sctp_send(b"back", stream=2)
assert other.sctp_recv(1000)[2] == b"back"
print("all messages came")
