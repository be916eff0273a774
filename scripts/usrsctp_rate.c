/*
 * How fast one association of usrsctp is between two processes, over UDP (RFC 6951): what `scripts/bench_net.py`
 * compares the example `rate` of crate `polypath` with.
 *
 *   usrsctp_rate serve ADDRESS UDP_PORT
 *   usrsctp_rate send ADDRESS UDP_PORT PEER_UDP_PORT SIZE SECONDS
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <usrsctp.h>

enum { PORT = 5001, BUFFER = 8 << 20, TIME_LIMIT_S = 120 };

static void __attribute__((noreturn, format(printf, 1, 2))) fail(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fputs("usrsctp_rate: ", stderr);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	va_end(arguments);
	_exit(1);
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static int number(const char *text, int low, int high)
{
	char *end;
	long value = strtol(text, &end, 10);

	if (end == text || *end || value < low || value > high)
		fail("'%s' is not a number from %d to %d", text, low, high);
	return (int)value;
}

static struct sockaddr_in address_of(const char *text, uint16_t port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(port) };

	if (inet_pton(AF_INET, text, &address.sin_addr) != 1)
		fail("'%s' is no IPv4 address", text);
	return address;
}

static struct socket *open_socket(const char *local, uint16_t port, uint16_t peer_udp)
{
	struct sctp_udpencaps encapsulation = { .sue_assoc_id = SCTP_FUTURE_ASSOC };
	struct sockaddr_in address = address_of(local, port);
	int size = BUFFER;
	struct socket *socket = usrsctp_socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP, NULL, NULL, 0, NULL);

	if (!socket)
		fail("socket: %s", strerror(errno));
	encapsulation.sue_address.ss_family = AF_INET;
	encapsulation.sue_port = htons(peer_udp);
	if (usrsctp_setsockopt(socket, IPPROTO_SCTP, SCTP_REMOTE_UDP_ENCAPS_PORT, &encapsulation, sizeof encapsulation) != 0 ||
	    usrsctp_setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &size, sizeof size) != 0 ||
	    usrsctp_setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &size, sizeof size) != 0)
		fail("socket options: %s", strerror(errno));
	if (usrsctp_bind(socket, (struct sockaddr *)&address, sizeof address) != 0)
		fail("bind: %s", strerror(errno));
	return socket;
}

static void report(double bytes, double seconds)
{
	if (bytes == 0 || seconds <= 0)
		fail("nothing was carried");
	printf("{\"goodput_bit_s\": %.0f, \"bytes\": %.0f}\n", bytes * 8 / seconds, bytes);
	fflush(stdout);
}

static void serve(const char *local)
{
	static uint8_t buffer[1 << 18];
	struct socket *listener = open_socket(local, PORT, 0);
	double bytes = 0, begin = 0;

	if (usrsctp_listen(listener, 1) != 0)
		fail("listen: %s", strerror(errno));
	puts("ready");
	fflush(stdout);
	struct socket *socket = usrsctp_accept(listener, NULL, NULL);
	if (!socket)
		fail("accept: %s", strerror(errno));
	for (;;) {
		struct sctp_rcvinfo info;
		socklen_t info_size = sizeof info, from_size = 0;
		unsigned int type = 0;
		int flags = 0;
		ssize_t got = usrsctp_recvv(socket, buffer, sizeof buffer, NULL, &from_size, &info, &info_size, &type, &flags);

		if (got < 0)
			fail("receive: %s", strerror(errno));
		if (got == 0)
			break;
		if (begin == 0)
			begin = now();
		bytes += (double)got;
	}
	double seconds = now() - begin;
	usrsctp_close(socket);
	usrsctp_close(listener);
	report(bytes, seconds);
}

static void send_for(const char *address, uint16_t peer_udp, size_t size, int seconds)
{
	struct socket *socket = open_socket(address, 0, peer_udp);
	struct sockaddr_in peer = address_of(address, PORT);
	struct sctp_sendv_spa how = { .sendv_flags = SCTP_SEND_SNDINFO_VALID };
	uint8_t *message = calloc(1, size), rest[64];
	double bytes = 0;

	if (!message)
		fail("out of memory");
	if (usrsctp_connect(socket, (struct sockaddr *)&peer, sizeof peer) != 0)
		fail("connect: %s", strerror(errno));
	double begin = now();
	while (now() - begin < seconds) {
		ssize_t sent = usrsctp_sendv(socket, message, size, NULL, 0, &how, sizeof how, SCTP_SENDV_SPA, 0);

		if (sent != (ssize_t)size)
			fail("send: %s", strerror(errno));
		bytes += (double)size;
	}
	if (usrsctp_shutdown(socket, SHUT_WR) != 0)
		fail("shutdown: %s", strerror(errno));
	for (;;) {
		socklen_t from_size = 0, info_size = 0;
		unsigned int type = 0;
		int flags = 0;

		if (usrsctp_recvv(socket, rest, sizeof rest, NULL, &from_size, NULL, &info_size, &type, &flags) <= 0)
			break;
	}
	report(bytes, now() - begin);
	usrsctp_close(socket);
	free(message);
}

int main(int argc, char **argv)
{
	alarm(TIME_LIMIT_S); /* a run that hangs must not hang its caller */
	if (argc == 4 && strcmp(argv[1], "serve") == 0) {
		usrsctp_init((uint16_t)number(argv[3], 1, UINT16_MAX), NULL, NULL);
		serve(argv[2]);
	} else if (argc == 7 && strcmp(argv[1], "send") == 0) {
		usrsctp_init((uint16_t)number(argv[3], 1, UINT16_MAX), NULL, NULL);
		send_for(argv[2], (uint16_t)number(argv[4], 1, UINT16_MAX), (size_t)number(argv[5], 1, 1 << 18),
			 number(argv[6], 1, TIME_LIMIT_S / 2));
	} else {
		fputs("usage: usrsctp_rate serve ADDRESS UDP_PORT\n"
		      "       usrsctp_rate send ADDRESS UDP_PORT PEER_UDP_PORT SIZE SECONDS\n",
		      stderr);
		return 2;
	}
	for (int tries = 0; usrsctp_finish() != 0 && tries < 1000; tries++)
		usleep(5000); /* the end of the association is still under way */
	return 0;
}
