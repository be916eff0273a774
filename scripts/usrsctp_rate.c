/*
 * How fast one association of usrsctp is between two processes, over UDP (RFC 6951): what `scripts/bench_net.py`
 * compares the example `rate` of crate `polypath` with, and `scripts/bench_emulated.py` the program `polypath`.
 *
 *   usrsctp_rate [-b BYTES] serve ADDRESS[,ADDRESS...] UDP_PORT
 *   usrsctp_rate [-b BYTES] [-t ADDRESS[,ADDRESS...]] send ADDRESS[,ADDRESS...] UDP_PORT PEER_UDP_PORT SIZE SECONDS
 *
 * Without -t, the peer has the same addresses. With several, CMT is on. -b sets both buffers; 0 leaves those that the
 * library has by itself. The receiver tells the longest time without a delivery, too, and when that began.
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

enum { PORT = 5001, BUFFER = 8 << 20, TIME_LIMIT_S = 120, MOST_ADDRESSES = 8 };

struct addresses {
	struct sockaddr_in list[MOST_ADDRESSES];
	int count;
};

static int buffer_bytes = BUFFER;

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

/* Addresses with commas between them. */
static struct addresses addresses_of(const char *text, uint16_t port)
{
	struct addresses found = { .count = 0 };
	char *copy = strdup(text), *rest = copy, *one;

	if (!copy)
		fail("out of memory");
	while ((one = strsep(&rest, ",")) != NULL) {
		if (found.count == MOST_ADDRESSES)
			fail("more than %d addresses", MOST_ADDRESSES);
		found.list[found.count++] = address_of(one, port);
	}
	free(copy);
	return found;
}

static void bind_all(struct socket *socket, const struct addresses *local)
{
	struct addresses all = *local;

	if (usrsctp_bind(socket, (struct sockaddr *)&all.list[0], sizeof all.list[0]) != 0)
		fail("bind: %s", strerror(errno));
	for (int number = 1; number < all.count; number++) {
		/* The port is that of the first, which the library may have chosen. */
		struct sockaddr *bound = NULL;
		int count = usrsctp_getladdrs(socket, 0, &bound);

		if (count < 1)
			fail("local addresses: %s", strerror(errno));
		all.list[number].sin_port = ((struct sockaddr_in *)bound)->sin_port;
		usrsctp_freeladdrs(bound);
		if (usrsctp_bindx(socket, (struct sockaddr *)&all.list[number], 1, SCTP_BINDX_ADD_ADDR) != 0)
			fail("bindx: %s", strerror(errno));
	}
}

static struct socket *open_socket(const char *local, uint16_t port, uint16_t peer_udp)
{
	struct sctp_udpencaps encapsulation = { .sue_assoc_id = SCTP_FUTURE_ASSOC };
	struct addresses addresses = addresses_of(local, port);
	struct socket *socket = usrsctp_socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP, NULL, NULL, 0, NULL);

	if (!socket)
		fail("socket: %s", strerror(errno));
	encapsulation.sue_address.ss_family = AF_INET;
	encapsulation.sue_port = htons(peer_udp);
	if (usrsctp_setsockopt(socket, IPPROTO_SCTP, SCTP_REMOTE_UDP_ENCAPS_PORT, &encapsulation, sizeof encapsulation) != 0 ||
	    (buffer_bytes && (usrsctp_setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &buffer_bytes, sizeof buffer_bytes) != 0 ||
			      usrsctp_setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &buffer_bytes, sizeof buffer_bytes) != 0)))
		fail("socket options: %s", strerror(errno));
	bind_all(socket, &addresses);
	return socket;
}

/* The longest time without a delivery, and when it began, since the first one. */
struct gap {
	double longest, at;
};

static void report(double bytes, double seconds, const struct gap *gap)
{
	if (bytes == 0 || seconds <= 0)
		fail("nothing was carried");
	printf("{\"goodput_bit_s\": %.0f, \"bytes\": %.0f", bytes * 8 / seconds, bytes);
	if (gap)
		printf(", \"longest_gap_s\": %.3f, \"gap_at_s\": %.3f", gap->longest, gap->at);
	puts("}");
	fflush(stdout);
}

static void serve(const char *local)
{
	static uint8_t buffer[1 << 18];
	struct socket *listener = open_socket(local, PORT, 0);
	double bytes = 0, begin = 0, last = 0;
	struct gap gap = { 0 };

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
		double present = now();

		if (begin == 0)
			begin = last = present;
		if (present - last > gap.longest)
			gap = (struct gap){ .longest = present - last, .at = last - begin };
		last = present;
		bytes += (double)got;
	}
	double seconds = now() - begin;
	usrsctp_close(socket);
	usrsctp_close(listener);
	report(bytes, seconds, &gap);
}

static void send_for(const char *address, const char *to, uint16_t peer_udp, size_t size, int seconds)
{
	struct socket *socket = open_socket(address, 0, peer_udp);
	struct addresses peers = addresses_of(to, PORT);
	struct sctp_sendv_spa how = { .sendv_flags = SCTP_SEND_SNDINFO_VALID };
	uint8_t *message = calloc(1, size), rest[64];
	double bytes = 0;

	if (!message)
		fail("out of memory");
	if (usrsctp_connectx(socket, (struct sockaddr *)peers.list, peers.count, NULL) != 0)
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
	report(bytes, now() - begin, NULL);
	usrsctp_close(socket);
	free(message);
}

static void usage(void)
{
	fputs("usage: usrsctp_rate [-b BYTES] serve ADDRESS[,ADDRESS...] UDP_PORT\n"
	      "       usrsctp_rate [-b BYTES] [-t ADDRESS[,ADDRESS...]] send ADDRESS[,ADDRESS...] UDP_PORT PEER_UDP_PORT SIZE "
	      "SECONDS\n",
	      stderr);
	exit(2);
}

static void begin(const char *port, const char *local)
{
	usrsctp_init((uint16_t)number(port, 1, UINT16_MAX), NULL, NULL);
	usrsctp_sysctl_set_sctp_cmt_on_off(strchr(local, ',') != NULL);
}

int main(int argc, char **argv)
{
	const char *to = NULL;
	int option;

	alarm(TIME_LIMIT_S); /* a run that hangs must not hang its caller */
	while ((option = getopt(argc, argv, "b:t:")) != -1) {
		if (option == 'b')
			buffer_bytes = number(optarg, 0, 1 << 30);
		else if (option == 't')
			to = optarg;
		else
			usage();
	}
	argc -= optind;
	argv += optind;
	if (argc == 3 && strcmp(argv[0], "serve") == 0) {
		begin(argv[2], argv[1]);
		serve(argv[1]);
	} else if (argc == 6 && strcmp(argv[0], "send") == 0) {
		begin(argv[2], argv[1]);
		send_for(argv[1], to ? to : argv[1], (uint16_t)number(argv[3], 1, UINT16_MAX),
			 (size_t)number(argv[4], 1, 1 << 18), number(argv[5], 1, TIME_LIMIT_S / 2));
	} else {
		usage();
	}
	for (int tries = 0; usrsctp_finish() != 0 && tries < 1000; tries++)
		usleep(5000); /* the end of the association is still under way */
	return 0;
}
