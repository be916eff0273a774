/*
 * The other side of the interoperability test, on usrsctp: sends or receives checked messages over one association
 * with SCTP carried in UDP (RFC 6951). The example `interop_peer` of crate `polypath` takes the same options, sends
 * the same messages and prints the same lines.
 *
 * Message number n (from 0) goes to stream n mod S. It begins with n as 8 bytes, most significant first; its length
 * and all further bytes follow from n. So the receiver checks every byte by itself: content, length, and the order
 * in each stream. What both sides print at the end must be equal: messages, bytes and the sum of all FNV-1a hashes.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <usrsctp.h>

enum { MAX_ADDRESSES = 8, MAX_STREAMS = 256, HEADER = 8, TIME_LIMIT_S = 120 };

struct addresses {
	int count;
	union sctp_sockstore each[MAX_ADDRESSES];
};

struct options {
	bool listen;
	bool source;
	const char *local;
	const char *remote;
	uint16_t udp_port;
	uint16_t peer_udp_port;
	uint16_t sctp_port;
	uint64_t messages;
	uint64_t mean_size;
	uint16_t streams;
	uint32_t cmt;
	uint32_t drop_reports;
	uint32_t nr_sack;
	bool gives_up;
	uint32_t retransmissions;
	bool unordered;
	uint32_t partial_reliability;
};

struct tally {
	uint64_t messages;
	uint64_t bytes;
	uint64_t hash_sum;
};

static void __attribute__((noreturn, format(printf, 1, 2))) fail(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fputs("usrsctp_peer: ", stderr);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	va_end(arguments);
	_exit(1);
}

static void *must_allocate(size_t size)
{
	void *memory = malloc(size);

	if (!memory)
		fail("out of memory");
	return memory;
}

/* ---- messages ---- */

/* The finaliser of SplitMix64: spreads every bit of its argument over the result. */
static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

static void put_u64(uint8_t *at, uint64_t value)
{
	for (int i = 0; i < 8; i++)
		at[i] = (uint8_t)(value >> (56 - 8 * i));
}

static uint64_t get_u64(const uint8_t *at)
{
	uint64_t value = 0;

	for (int i = 0; i < 8; i++)
		value = value << 8 | at[i];
	return value;
}

static size_t message_length(uint64_t number, uint64_t mean_size)
{
	return HEADER + (size_t)(mix(number) % (2 * mean_size));
}

static void fill_message(uint8_t *message, size_t length, uint64_t number)
{
	uint8_t word[8];

	put_u64(message, number);
	for (size_t at = HEADER; at < length; at += 8) {
		size_t part = length - at < 8 ? length - at : 8;

		put_u64(word, mix(number << 20 | at / 8));
		memcpy(message + at, word, part);
	}
}

static void count_message(struct tally *tally, const uint8_t *message, size_t length)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ message[i]) * 0x100000001b3u;
	tally->messages++;
	tally->bytes += length;
	tally->hash_sum += hash;
}

static void print_tally(const struct options *options, const struct tally *tally)
{
	/* What was given up is no part of what both sides must agree on. */
	if (options->gives_up) {
		printf("arrived=%llu\n", (unsigned long long)(options->source ? 0 : tally->messages));
		fflush(stdout);
		return;
	}
	printf("messages=%llu bytes=%llu checksum=%016llx\n", (unsigned long long)tally->messages,
	       (unsigned long long)tally->bytes, (unsigned long long)tally->hash_sum);
	fflush(stdout);
}

/* ---- sockets ---- */

static void parse_addresses(const char *list, uint16_t port, struct addresses *out)
{
	char *copy = strdup(list), *rest = copy, *item;

	out->count = 0;
	while ((item = strsep(&rest, ",")) != NULL) {
		union sctp_sockstore *address = &out->each[out->count];

		if (out->count == MAX_ADDRESSES)
			fail("more than %d addresses: %s", MAX_ADDRESSES, list);
		memset(address, 0, sizeof *address);
		if (inet_pton(AF_INET, item, &address->sin.sin_addr) == 1) {
			address->sin.sin_family = AF_INET;
			address->sin.sin_port = htons(port);
		} else if (inet_pton(AF_INET6, item, &address->sin6.sin6_addr) == 1) {
			address->sin6.sin6_family = AF_INET6;
			address->sin6.sin6_port = htons(port);
		} else {
			fail("'%s' is no IP address", item);
		}
		out->count++;
	}
	free(copy);
}

static socklen_t address_size(const union sctp_sockstore *address)
{
	return address->sa.sa_family == AF_INET ? sizeof address->sin : sizeof address->sin6;
}

static void set_option(struct socket *socket, int name, const void *value, socklen_t size)
{
	if (usrsctp_setsockopt(socket, IPPROTO_SCTP, name, value, size) != 0)
		fail("socket option %d: %s", name, strerror(errno));
}

static struct socket *open_socket(const struct options *options)
{
	struct addresses local;
	struct sctp_udpencaps encapsulation = { .sue_assoc_id = SCTP_FUTURE_ASSOC };
	struct sctp_event event = { .se_assoc_id = SCTP_FUTURE_ASSOC, .se_type = SCTP_ASSOC_CHANGE, .se_on = 1 };
	struct sctp_initmsg init = { .sinit_num_ostreams = options->streams, .sinit_max_instreams = MAX_STREAMS };
	struct sctp_assoc_value partial = { .assoc_id = SCTP_FUTURE_ASSOC, .assoc_value = options->partial_reliability };
	uint32_t on = 1;

	parse_addresses(options->local, options->listen ? options->sctp_port : 0, &local);
	struct socket *socket = usrsctp_socket(local.each[0].sa.sa_family, SOCK_STREAM, IPPROTO_SCTP, NULL, NULL, 0, NULL);
	if (!socket)
		fail("socket: %s", strerror(errno));
	encapsulation.sue_address.ss_family = local.each[0].sa.sa_family;
	encapsulation.sue_port = htons(options->peer_udp_port);
	set_option(socket, SCTP_REMOTE_UDP_ENCAPS_PORT, &encapsulation, sizeof encapsulation);
	set_option(socket, SCTP_EVENT, &event, sizeof event);
	set_option(socket, SCTP_INITMSG, &init, sizeof init);
	set_option(socket, SCTP_RECVRCVINFO, &on, sizeof on);
	set_option(socket, SCTP_PR_SUPPORTED, &partial, sizeof partial);
	for (int i = 0; i < local.count; i++) {
		union sctp_sockstore *address = &local.each[i];
		int result = i == 0 ? usrsctp_bind(socket, &address->sa, address_size(address))
				    : usrsctp_bindx(socket, &address->sa, 1, SCTP_BINDX_ADD_ADDR);
		if (result != 0)
			fail("bind to address %d of %s: %s", i + 1, options->local, strerror(errno));
	}
	return socket;
}

static struct socket *associate(const struct options *options)
{
	struct socket *socket = open_socket(options);

	if (!options->listen) {
		struct addresses remote;
		uint8_t packed[sizeof remote.each];
		size_t used = 0;

		parse_addresses(options->remote, options->sctp_port, &remote);
		for (int i = 0; i < remote.count; i++) {
			memcpy(packed + used, &remote.each[i], address_size(&remote.each[i]));
			used += address_size(&remote.each[i]);
		}
		if (usrsctp_connectx(socket, (struct sockaddr *)packed, remote.count, NULL) != 0)
			fail("connect to %s: %s", options->remote, strerror(errno));
		return socket;
	}
	if (usrsctp_listen(socket, 1) != 0)
		fail("listen: %s", strerror(errno));
	puts("ready");
	fflush(stdout);
	struct socket *accepted = usrsctp_accept(socket, NULL, NULL);
	if (!accepted)
		fail("accept: %s", strerror(errno));
	usrsctp_close(socket);
	return accepted;
}

static void check_notification(const uint8_t *bytes, size_t length)
{
	union sctp_notification notification;

	if (length > sizeof notification)
		length = sizeof notification;
	memset(&notification, 0, sizeof notification);
	memcpy(&notification, bytes, length);
	if (notification.sn_header.sn_type != SCTP_ASSOC_CHANGE)
		return;
	switch (notification.sn_assoc_change.sac_state) {
	case SCTP_COMM_LOST:
		fail("the association was lost, error %u", notification.sn_assoc_change.sac_error);
	case SCTP_CANT_STR_ASSOC:
		fail("the association could not be made");
	default:
		break;
	}
}

/* ---- source and sink ---- */

static void send_messages(struct socket *socket, const struct options *options, struct tally *tally)
{
	uint8_t *message = must_allocate(HEADER + 2 * options->mean_size);

	for (uint64_t number = 0; number < options->messages; number++) {
		struct sctp_sendv_spa how = { .sendv_flags = SCTP_SEND_SNDINFO_VALID };
		size_t length = message_length(number, options->mean_size);

		fill_message(message, length, number);
		how.sendv_sndinfo.snd_sid = (uint16_t)(number % options->streams);
		how.sendv_sndinfo.snd_flags = options->unordered ? SCTP_UNORDERED : 0;
		if (options->gives_up) {
			how.sendv_flags |= SCTP_SEND_PRINFO_VALID;
			how.sendv_prinfo.pr_policy = SCTP_PR_SCTP_RTX;
			how.sendv_prinfo.pr_value = options->retransmissions;
		}
		ssize_t sent = usrsctp_sendv(socket, message, length, NULL, 0, &how, sizeof how, SCTP_SENDV_SPA, 0);
		if (sent != (ssize_t)length)
			fail("message %llu: %s", (unsigned long long)number, strerror(errno));
		count_message(tally, message, length);
	}
	if (usrsctp_shutdown(socket, SHUT_WR) != 0)
		fail("shutdown: %s", strerror(errno));
	free(message);
}

static void check_message(const struct options *options, const uint8_t *message, size_t length, uint16_t stream,
			  uint64_t *expected, bool *seen, uint8_t *wanted)
{
	if (length < HEADER)
		fail("a message of %zu bytes", length);
	uint64_t number = get_u64(message);
	if (stream >= options->streams || number % options->streams != stream || number >= options->messages)
		fail("message %llu does not belong to stream %u", (unsigned long long)number, stream);
	/* What was given up is missing, the rest is in order, unless it has none. */
	if (options->unordered ? seen[number] : number < expected[stream])
		fail("message %llu on stream %u came twice or is out of order", (unsigned long long)number, stream);
	if (!options->gives_up && !options->unordered && number != expected[stream])
		fail("message %llu on stream %u is missing", (unsigned long long)expected[stream], stream);
	seen[number] = true;
	expected[stream] = number + options->streams;
	size_t right_length = message_length(number, options->mean_size);
	if (length != right_length)
		fail("message %llu has %zu bytes, not %zu", (unsigned long long)number, length, right_length);
	fill_message(wanted, length, number);
	if (memcmp(message, wanted, length) != 0)
		fail("message %llu was damaged", (unsigned long long)number);
}

/* Reads until the peer has shut down; on the sending side nothing but that is expected. */
static void receive_messages(struct socket *socket, const struct options *options, struct tally *tally)
{
	size_t room = HEADER + 2 * options->mean_size + 1, filled = 0;
	uint8_t *message = must_allocate(room), *wanted = must_allocate(room), notification[1024];
	uint64_t expected[MAX_STREAMS];
	bool *seen = must_allocate(options->messages * sizeof *seen);

	memset(seen, 0, options->messages * sizeof *seen);
	for (uint16_t stream = 0; stream < options->streams; stream++)
		expected[stream] = stream;
	for (;;) {
		struct sctp_rcvinfo info;
		socklen_t info_size = sizeof info, from_size = 0;
		unsigned int info_type = 0;
		int flags = 0;
		size_t free_room = room - filled;
		uint8_t *into = free_room >= sizeof notification ? message + filled : notification;
		size_t limit = free_room >= sizeof notification ? free_room : sizeof notification;
		ssize_t got = usrsctp_recvv(socket, into, limit, NULL, &from_size, &info, &info_size, &info_type, &flags);

		if (got < 0)
			fail("receive: %s", strerror(errno));
		if (got == 0)
			break;
		if (flags & MSG_NOTIFICATION) {
			check_notification(into, (size_t)got);
			continue;
		}
		if ((size_t)got > free_room)
			fail("a message longer than %zu bytes", room - 1);
		if (into == notification)
			memcpy(message + filled, notification, (size_t)got);
		filled += (size_t)got;
		if (!(flags & MSG_EOR))
			continue;
		if (options->source)
			fail("the source received a message");
		if (info_type != SCTP_RECVV_RCVINFO)
			fail("a message without its stream");
		check_message(options, message, filled, info.rcv_sid, expected, seen, wanted);
		count_message(tally, message, filled);
		filled = 0;
	}
	if (filled != 0)
		fail("the last message ends after %zu bytes", filled);
	free(message);
	free(wanted);
	free(seen);
}

/* ---- options ---- */

static void __attribute__((noreturn)) usage(void)
{
	fputs("usage: usrsctp_peer --listen | --connect ADDRESS[,ADDRESS]\n"
	      "                    --source | --sink\n"
	      "                    --local ADDRESS[,ADDRESS]\n"
	      "                    [--udp PORT] [--peer-udp PORT] [--port SCTP_PORT]\n"
	      "                    [--messages N] [--mean-size BYTES] [--streams N] [--cmt] [--drop-reports]\n"
	      "                    [--nr-sack] [--give-up-after RETRANSMISSIONS] [--unordered]\n"
	      "                    [--no-partial-reliability]\n",
	      stderr);
	exit(2);
}

static uint64_t number_in(const char *text, uint64_t low, uint64_t high)
{
	char *end;

	errno = 0;
	unsigned long long value = strtoull(text, &end, 10);
	if (errno || end == text || *end || value < low || value > high)
		fail("'%s' is not a number from %llu to %llu", text, (unsigned long long)low, (unsigned long long)high);
	return value;
}

static struct options parse_options(int argc, char **argv)
{
	static const struct option known[] = {
		{ "listen", no_argument, NULL, 'l' },       { "connect", required_argument, NULL, 'c' },
		{ "source", no_argument, NULL, 's' },       { "sink", no_argument, NULL, 'r' },
		{ "local", required_argument, NULL, 'a' },  { "udp", required_argument, NULL, 'u' },
		{ "peer-udp", required_argument, NULL, 'U' }, { "port", required_argument, NULL, 'p' },
		{ "messages", required_argument, NULL, 'n' }, { "mean-size", required_argument, NULL, 'm' },
		{ "streams", required_argument, NULL, 'S' }, { "cmt", no_argument, NULL, 'C' },
		{ "drop-reports", no_argument, NULL, 'D' }, { "nr-sack", no_argument, NULL, 'N' },
		{ "give-up-after", required_argument, NULL, 'G' }, { "unordered", no_argument, NULL, 'O' },
		{ "no-partial-reliability", no_argument, NULL, 'P' },
		{ NULL, 0, NULL, 0 },
	};
	struct options options = { .udp_port = 9899, .peer_udp_port = 9899, .sctp_port = 5001, .messages = 1000,
				   .mean_size = 1000, .streams = 4, .partial_reliability = 1 };
	bool sink = false;
	int name;

	while ((name = getopt_long(argc, argv, "", known, NULL)) != -1) {
		switch (name) {
		case 'l': options.listen = true; break;
		case 'c': options.remote = optarg; break;
		case 's': options.source = true; break;
		case 'r': sink = true; break;
		case 'a': options.local = optarg; break;
		case 'u': options.udp_port = (uint16_t)number_in(optarg, 1, UINT16_MAX); break;
		case 'U': options.peer_udp_port = (uint16_t)number_in(optarg, 1, UINT16_MAX); break;
		case 'p': options.sctp_port = (uint16_t)number_in(optarg, 1, UINT16_MAX); break;
		case 'n': options.messages = number_in(optarg, 1, 1u << 30); break;
		case 'm': options.mean_size = number_in(optarg, 1, 1u << 20); break;
		case 'S': options.streams = (uint16_t)number_in(optarg, 1, MAX_STREAMS); break;
		case 'C': options.cmt = 1; break;
		case 'D': options.drop_reports = 1; break;
		case 'N': options.nr_sack = 1; break;
		case 'G':
			options.gives_up = true;
			options.retransmissions = (uint32_t)number_in(optarg, 0, UINT16_MAX);
			break;
		case 'O': options.unordered = true; break;
		case 'P': options.partial_reliability = 0; break;
		default: usage();
		}
	}
	if (optind != argc || !options.local || options.listen == (options.remote != NULL) || options.source == sink)
		usage();
	return options;
}

int main(int argc, char **argv)
{
	struct options options = parse_options(argc, argv);
	struct tally tally = { 0 };

	alarm(TIME_LIMIT_S); /* a transfer that hangs must not hang its caller */
	usrsctp_init(options.udp_port, NULL, NULL);
	usrsctp_sysctl_set_sctp_cmt_on_off(options.cmt);
	usrsctp_sysctl_set_sctp_pktdrop_enable(options.drop_reports);
	usrsctp_sysctl_set_sctp_nrsack_enable(options.nr_sack);
	struct socket *socket = associate(&options);
	if (options.source)
		send_messages(socket, &options, &tally);
	receive_messages(socket, &options, &tally);
	usrsctp_close(socket);
	for (int tries = 0; usrsctp_finish() != 0 && tries < 1000; tries++)
		usleep(5000); /* the end of the association is still under way */
	print_tally(&options, &tally);
	return 0;
}
