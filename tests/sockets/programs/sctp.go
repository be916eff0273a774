// SCTP sockets in Go: calls of the C library by cgo, which the preloaded library sees. Go's own package syscall makes system calls itself, so
// a descriptor of such a socket must not get into os.File or net.FileConn. A call that waits takes a thread, and no other goroutine waits for it.
package main

// #cgo LDFLAGS: -lsctp
// #include <arpa/inet.h>
// #include <netinet/sctp.h>
// #include <stdlib.h>
// #include <unistd.h>
//
// static int sctp_open(int style) { return socket(AF_INET, style, IPPROTO_SCTP); }
// static struct sockaddr_in at(const char *ip, int port) {
//     struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
//     inet_pton(AF_INET, ip, &address.sin_addr);
//     return address;
// }
// static int bind_to(int fd, const char *ip, int port) {
//     struct sockaddr_in address = at(ip, port);
//     return bind(fd, (struct sockaddr *)&address, sizeof address);
// }
// static int connect_to(int fd, const char *ip, int port) {
//     struct sockaddr_in address = at(ip, port);
//     return connect(fd, (struct sockaddr *)&address, sizeof address);
// }
// static int port_of(int fd) {
//     struct sockaddr_in address;
//     socklen_t length = sizeof address;
//     return getsockname(fd, (struct sockaddr *)&address, &length) < 0 ? -1 : ntohs(address.sin_port);
// }
// static int accept_next(int fd) { return accept(fd, NULL, NULL); }
// static int no_delay(int fd) {
//     int on = 1;
//     return setsockopt(fd, IPPROTO_SCTP, SCTP_NODELAY, &on, sizeof on);
// }
// static int want_info(int fd) {
//     struct sctp_event_subscribe events = {.sctp_data_io_event = 1};
//     return setsockopt(fd, IPPROTO_SCTP, SCTP_EVENTS, &events, sizeof events);
// }
// static ssize_t send_on(int fd, const void *bytes, size_t count, int stream, unsigned ppid) {
//     return sctp_sendmsg(fd, bytes, count, NULL, 0, htonl(ppid), 0, stream, 0, 0);
// }
// static ssize_t receive(int fd, void *bytes, size_t count, int *stream, unsigned *ppid) {
//     struct sctp_sndrcvinfo info = {0};
//     int flags = 0;
//     ssize_t got = sctp_recvmsg(fd, bytes, count, NULL, NULL, &info, &flags);
//     *stream = info.sinfo_stream;
//     *ppid = ntohl(info.sinfo_ppid);
//     return got;
// }
import "C"

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"unsafe"
)

// A Socket is one-to-one: a listening one, or an association.
type Socket struct{ fd C.int }

func open(then func(fd C.int) (C.int, error)) (*Socket, error) {
	fd, err := C.sctp_open(C.SOCK_STREAM)
	if fd < 0 {
		return nil, err
	}
	if done, err := then(fd); done < 0 {
		C.close(fd)
		return nil, err
	}
	return &Socket{fd}, nil
}

// Listen takes any free port of an address.
func Listen(ip string) (*Socket, error) {
	address := C.CString(ip)
	defer C.free(unsafe.Pointer(address))
	return open(func(fd C.int) (C.int, error) {
		if done, err := C.bind_to(fd, address, 0); done < 0 {
			return done, err
		}
		done, err := C.listen(fd, 16)
		return done, err
	})
}

// Dial connects.
func Dial(ip string, port int) (*Socket, error) {
	address := C.CString(ip)
	defer C.free(unsafe.Pointer(address))
	return open(func(fd C.int) (C.int, error) {
		C.no_delay(fd)
		done, err := C.connect_to(fd, address, C.int(port))
		return done, err
	})
}

// Port is the local one.
func (socket *Socket) Port() int { return int(C.port_of(socket.fd)) }

// Accept waits for an association.
func (socket *Socket) Accept() (*Socket, error) {
	fd, err := C.accept_next(socket.fd)
	if fd < 0 {
		return nil, err
	}
	C.no_delay(fd)
	return &Socket{fd}, nil
}

// Send sends a message on a stream.
func (socket *Socket) Send(message []byte, stream int, ppid uint32) error {
	sent, err := C.send_on(socket.fd, unsafe.Pointer(&message[0]), C.size_t(len(message)), C.int(stream), C.uint(ppid))
	if sent < 0 {
		return err
	}
	return nil
}

// Receive gives a message, its stream and its payload protocol identifier; io.EOF at the end of the association.
func (socket *Socket) Receive(buffer []byte) (int, int, uint32, error) {
	var stream C.int
	var ppid C.uint
	got, err := C.receive(socket.fd, unsafe.Pointer(&buffer[0]), C.size_t(len(buffer)), &stream, &ppid)
	if got < 0 {
		return 0, 0, 0, err
	}
	if got == 0 {
		return 0, 0, 0, io.EOF
	}
	return int(got), int(stream), uint32(ppid), nil
}

// Close ends an association.
func (socket *Socket) Close() { C.close(socket.fd) }

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// Sends back what comes, on the same stream.
func echo(socket *Socket) {
	defer socket.Close()
	buffer := make([]byte, 100_000)
	for {
		count, stream, ppid, err := socket.Receive(buffer)
		if err == io.EOF {
			return
		} else if err != nil {
			panic(err)
		}
		if err := socket.Send(buffer[:count], stream, ppid); err != nil {
			panic(err)
		}
	}
}

func ask(ip string, port int, number byte) {
	socket := must(Dial(ip, port))
	defer socket.Close()
	C.want_info(socket.fd)
	buffer := make([]byte, 100_000)
	for round := 0; round < 50; round++ {
		message := bytes.Repeat([]byte{number}, 1+round*1000)
		if err := socket.Send(message, round%5, uint32(round)); err != nil {
			panic(err)
		}
		count, stream, ppid, err := socket.Receive(buffer)
		if err != nil || !bytes.Equal(buffer[:count], message) || stream != round%5 || ppid != uint32(round) {
			panic(fmt.Sprint(number, " ", round, ": ", count, " bytes on stream ", stream, ", ", ppid, ": ", err))
		}
	}
}

func main() {
	const clients = 8
	listener := must(Listen("127.0.0.1"))
	var all sync.WaitGroup
	for number := 0; number < clients; number++ {
		all.Add(2)
		go func(number byte) {
			defer all.Done()
			ask("127.0.0.1", listener.Port(), number)
		}(byte(number))
		go func() {
			defer all.Done()
			accepted := must(listener.Accept())
			C.want_info(accepted.fd)
			echo(accepted)
		}()
	}
	all.Wait()
	listener.Close()
	fmt.Println("all messages came back")
}
