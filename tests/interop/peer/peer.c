/*
 * The other side of the interoperability tests, on the SCTP stack that it is built with (stack.h): sends or receives
 * checked messages over one association. The example `interop_peer` of crate `polypath` takes the same options, sends
 * the same messages and prints the same lines.
 *
 * Message number n (from 0) goes to stream n mod S; of the first half to n mod S/2, if there are only so many then. It begins with n as 8 bytes, most significant first; its length
 * and all further bytes follow from n. So the receiver checks every byte by itself: content, length, and the order
 * in each stream. What both sides print at the end must be equal: messages, bytes and the sum of all FNV-1a hashes.
 *
 *   --source, --sink   one sends, the other receives
 *   --ask, --echo      one sends and wants every message back, the other sends back what it receives
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "peer.h"
#include "stack.h"

enum { MAX_ADDRESSES = 8, MAX_STREAMS = 2048, HEADER = 8, TIME_LIMIT_S = 120, NOTIFICATION = 1024 };
/* Messages that --ask has under way. */
enum { ASKED_AT_ONCE = 16 };

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

struct addresses {
	int count;
	union address each[MAX_ADDRESSES];
};

struct tally {
	uint64_t messages;
	uint64_t bytes;
	uint64_t hash_sum;
};

/* One end of the transfer. */
struct end {
	const struct options *options;
	struct tally sent;
	struct tally received;
	uint64_t expected[MAX_STREAMS]; /* number of the next message, by stream */
	bool *seen;
	size_t room;
	uint8_t *message;
	uint8_t *wanted;
	unsigned restarts;
	uint64_t before_first; /* messages that came before the first one was complete */
	bool were_reset; /* the streams of this side, or everything */
};

enum next { MESSAGE, SHUT_DOWN, ABORTED };

static const char REASON[] = "enough";

void fail(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fputs("peer: ", stderr);
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

static size_t message_length(const struct options *options, uint64_t number)
{
	if (number == 0 && options->first_size)
		return HEADER + (size_t)options->first_size;
	return HEADER + (size_t)(mix(number) % (2 * options->mean_size));
}

/* Whether the association begins with half of the streams. */
static bool adds_streams(const struct options *options)
{
	return options->reconfiguration == ADD_OUTGOING || options->reconfiguration == ADD_INCOMING;
}

static uint16_t streams_at(const struct options *options, uint64_t number)
{
	return adds_streams(options) && number < options->messages / 2 ? options->streams / 2 : options->streams;
}

/* The first message of a stream. What precedes the second half is a multiple of the number of streams. */
static uint64_t first_on(const struct options *options, uint16_t stream)
{
	return stream < streams_at(options, 0) ? stream : options->messages / 2 + stream;
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

/* ---- sockets ---- */

static void parse_addresses(const char *list, uint16_t port, struct addresses *out)
{
	char *copy = strdup(list), *rest = copy, *item;

	out->count = 0;
	while ((item = strsep(&rest, ",")) != NULL) {
		union address *address = &out->each[out->count];

		if (out->count == MAX_ADDRESSES)
			fail("more than %d addresses: %s", MAX_ADDRESSES, list);
		memset(address, 0, sizeof *address);
		if (inet_pton(AF_INET, item, &address->v4.sin_addr) == 1) {
			address->v4.sin_family = AF_INET;
			address->v4.sin_port = htons(port);
		} else if (inet_pton(AF_INET6, item, &address->v6.sin6_addr) == 1) {
			address->v6.sin6_family = AF_INET6;
			address->v6.sin6_port = htons(port);
		} else {
			fail("'%s' is no IP address", item);
		}
		out->count++;
	}
	free(copy);
}

static socklen_t address_size(const union address *address)
{
	return address->any.sa_family == AF_INET ? sizeof address->v4 : sizeof address->v6;
}

static void set_option(int name, const void *value, socklen_t size)
{
	if (stack_set(name, value, size) != 0)
		fail("socket option %d: %s", name, strerror(errno));
}

/*
 * Demands that all but INIT, INIT ACK and SHUTDOWN COMPLETE are authenticated (RFC 4895), with a key that both sides share
 * if there is one.
 */
static void authenticate(const char *text)
{
	static const uint8_t demanded[] = { 0, 3, 4, 5, 6, 7, 8, 9, 10, 11, 192 };
	struct sctp_assoc_value on = { .assoc_id = SCTP_FUTURE_ASSOC, .assoc_value = 1 };
	struct sctp_authkeyid active = { .scact_assoc_id = SCTP_FUTURE_ASSOC, .scact_keynumber = 1 };
	size_t length = strlen(text);
	union {
		struct sctp_authkey key;
		uint8_t room[sizeof(struct sctp_authkey) + 64];
	} shared = { .key = { .sca_assoc_id = SCTP_FUTURE_ASSOC, .sca_keynumber = 1, .sca_keylength = (uint16_t)length } };

	set_option(SCTP_AUTH_SUPPORTED, &on, sizeof on);
	for (unsigned i = 0; i < sizeof demanded; i++) {
		struct sctp_authchunk chunk = { .sauth_chunk = demanded[i] };

		set_option(SCTP_AUTH_CHUNK, &chunk, sizeof chunk);
	}
	if (strcmp(text, "none") == 0)
		return;
	if (length > 64)
		fail("a key of more than 64 bytes");
	memcpy(shared.key.sca_key, text, length);
	set_option(SCTP_AUTH_KEY, &shared, (socklen_t)(sizeof shared.key + length));
	set_option(SCTP_AUTH_ACTIVE_KEY, &active, sizeof active);
}

static void set_limits(const struct options *options, sa_family_t family)
{
	struct sctp_paddrparams paths = { .spp_address.ss_family = family };

	if (!options->path_max_retrans)
		return;
	paths.spp_pathmaxrxt = options->path_max_retrans;
	paths.spp_hbinterval = 500;
	paths.spp_flags = SPP_HB_ENABLE;
	set_option(SCTP_PEER_ADDR_PARAMS, &paths, sizeof paths);
}

/* Whether this side begins with its first address, and moves to the second. */
static bool moves(const struct options *options)
{
	return options->move_addresses && (options->role == SOURCE || options->role == ASK);
}

static void open_socket(const struct options *options)
{
	struct addresses local;
	struct sctp_udpencaps encapsulation = { .sue_assoc_id = SCTP_FUTURE_ASSOC };
	struct sctp_event event = { .se_assoc_id = SCTP_FUTURE_ASSOC, .se_type = SCTP_ASSOC_CHANGE, .se_on = 1 };
	struct sctp_event stream_reset = { .se_assoc_id = SCTP_FUTURE_ASSOC, .se_type = SCTP_STREAM_RESET_EVENT, .se_on = 1 };
	struct sctp_event association_reset = { .se_assoc_id = SCTP_FUTURE_ASSOC, .se_type = SCTP_ASSOC_RESET_EVENT, .se_on = 1 };
	struct sctp_initmsg init = { .sinit_num_ostreams = streams_at(options, 0), .sinit_max_instreams = MAX_STREAMS,
				     .sinit_max_attempts = options->refused ? 1 : 0 };
	struct sctp_assoc_value partial = { .assoc_id = SCTP_FUTURE_ASSOC, .assoc_value = options->partial_reliability };
	struct sctp_assoc_value enabled = { .assoc_id = SCTP_FUTURE_ASSOC, .assoc_value = 1 };
	/* Of streams, of the association, and of the number of streams. */
	struct sctp_assoc_value every_reset = { .assoc_id = SCTP_FUTURE_ASSOC, .assoc_value = 7 };
	int on = 1;

	parse_addresses(options->local, options->listen ? options->sctp_port : options->local_port, &local);
	stack_open(local.each[0].any.sa_family);
	encapsulation.sue_address.ss_family = local.each[0].any.sa_family;
	encapsulation.sue_port = htons(options->peer_udp_port);
	set_option(SCTP_REMOTE_UDP_ENCAPS_PORT, &encapsulation, sizeof encapsulation);
	set_option(SCTP_EVENT, &event, sizeof event);
	set_option(SCTP_INITMSG, &init, sizeof init);
	set_option(SCTP_RECVRCVINFO, &on, sizeof on);
	set_option(SCTP_PR_SUPPORTED, &partial, sizeof partial);
	set_limits(options, local.each[0].any.sa_family);
	if (options->all_extensions)
		stack_offer_all();
	if (options->authenticate)
		authenticate(options->authenticate);
	if (options->reconfiguration != NOTHING) {
		set_option(SCTP_RECONFIG_SUPPORTED, &enabled, sizeof enabled);
		set_option(SCTP_ENABLE_STREAM_RESET, &every_reset, sizeof every_reset);
		set_option(SCTP_EVENT, &stream_reset, sizeof stream_reset);
		set_option(SCTP_EVENT, &association_reset, sizeof association_reset);
	}
	if (options->move_addresses || options->primary != UNCHANGED) {
		set_option(SCTP_AUTH_SUPPORTED, &enabled, sizeof enabled);
		set_option(SCTP_ASCONF_SUPPORTED, &enabled, sizeof enabled);
	}
	/* A message must fit, twice. */
	int room = options->receive_buffer ? options->receive_buffer : (int)(4 * options->mean_size);

	if ((options->receive_buffer || options->mean_size > 20000) && stack_set_buffers(room, room) != 0)
		fail("socket buffers: %s", strerror(errno));
	/* Messages are received whole. */
	if (options->first_size) {
		uint32_t whole = (uint32_t)options->first_size + NOTIFICATION;

		set_option(SCTP_PARTIAL_DELIVERY_POINT, &whole, sizeof whole);
	}
	for (int i = 0; i < (moves(options) ? 1 : local.count); i++) {
		union address *address = &local.each[i];

		int tries = options->local_port ? 200 : 1, result;

		/* What a program that was killed has left in the kernel may still be on its way out. */
		while ((result = stack_bind(&address->any, address_size(address), i == 0)) != 0 && errno == EADDRINUSE &&
		       --tries > 0)
			usleep(50000);
		if (result != 0)
			fail("bind to address %d of %s: %s", i + 1, options->local, strerror(errno));
	}
}

static void connect_to(const struct options *options)
{
	struct addresses remote;
	uint8_t packed[sizeof remote.each];
	size_t used = 0;

	parse_addresses(options->remote, options->sctp_port, &remote);
	for (int i = 0; i < remote.count; i++) {
		memcpy(packed + used, &remote.each[i], address_size(&remote.each[i]));
		used += address_size(&remote.each[i]);
	}
	if (stack_connect(packed, used, remote.count) != 0 && !options->refused)
		fail("connect to %s: %s", options->remote, strerror(errno));
}

/* usrsctp never sends what it got before COOKIE ACK if its peer demands that COOKIE ECHO and DATA are authenticated. */
static void wait_until_established(const struct options *options)
{
	struct sctp_status status;

	for (int tries = 0; tries < (options->refused ? 500 : 1000); tries++) {
		socklen_t size = sizeof status;

		memset(&status, 0, sizeof status);
		if (stack_get(SCTP_STATUS, &status, &size) == 0 && status.sstat_state == SCTP_ESTABLISHED) {
			if (options->refused)
				fail("an association in spite of the key");
			return;
		}
		usleep(10000);
	}
	if (options->refused) {
		puts("refused");
		exit(0);
	}
	fail("the association is not established");
}

static void associate(const struct options *options)
{
	open_socket(options);
	if (!options->listen) {
		connect_to(options);
		if (options->authenticate)
			wait_until_established(options);
		return;
	}
	if (stack_listen() != 0)
		fail("listen: %s", strerror(errno));
	puts("ready");
	fflush(stdout);
	if (stack_accept() != 0)
		fail("accept: %s", strerror(errno));
}

/* Returns when every address of the peer has answered a HEARTBEAT. */
static void wait_for_paths(const struct options *options)
{
	struct addresses remote;

	parse_addresses(options->wait_paths, options->listen ? options->local_port : options->sctp_port, &remote);
	for (int i = 0; i < remote.count; i++) {
		for (;;) {
			struct sctp_paddrinfo path = { 0 };
			socklen_t size = sizeof path;

			memcpy(&path.spinfo_address, &remote.each[i], address_size(&remote.each[i]));
			if (stack_get(SCTP_GET_PEER_ADDR_INFO, &path, &size) != 0)
				fail("state of path %d: %s", i + 1, strerror(errno));
			if (path.spinfo_state == SCTP_ACTIVE)
				break;
			usleep(20000);
		}
	}
	puts("paths are confirmed");
	fflush(stdout);
}

static void get_status(struct sctp_status *status)
{
	socklen_t size = sizeof *status;

	memset(status, 0, sizeof *status);
	if (stack_get(SCTP_STATUS, status, &size) != 0)
		fail("state of the association: %s", strerror(errno));
}

static void wait_for_acknowledgements(void)
{
	struct sctp_status status;

	do {
		usleep(10000);
		get_status(&status);
	} while (status.sstat_unackdata || status.sstat_penddata);
}

/* Of an association that is established: before, usrsctp tells what this side has. */
static void print_agreed(void)
{
	static const struct {
		const char *name;
		int option;
	} known[] = {
		{ "ecn", SCTP_ECN_SUPPORTED },       { "partial_reliability", SCTP_PR_SUPPORTED },
		{ "auth", SCTP_AUTH_SUPPORTED },     { "asconf", SCTP_ASCONF_SUPPORTED },
		{ "reconfig", SCTP_RECONFIG_SUPPORTED },
	};

	printf("agreed i_data=%d", stack_interleaving());
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		struct sctp_assoc_value value = { 0 };
		socklen_t size = sizeof value;

		if (stack_get(known[i].option, &value, &size) == 0)
			printf(" %s=%u", known[i].name, (unsigned)value.assoc_value);
	}
	putchar('\n');
	fflush(stdout);
}

/* ---- messages over the association ---- */

static bool aborts(const struct options *options)
{
	return options->ending == ABORT_BY_SOURCE || options->ending == ABORT_BY_SINK;
}

static bool sends_first(const struct options *options)
{
	return options->role == SOURCE || options->role == ASK;
}

static void abort_association(void)
{
	if (stack_abort(REASON) != 0)
		fail("abort: %s", strerror(errno));
}

/* Where both sides end the association, the other one's end may be through by now. */
static void shut_down(const struct options *options)
{
	bool may_be_over = options->ending == BY_BOTH;

	if (stack_shutdown() != 0 && !(may_be_over && errno == ENOTCONN))
		fail("shutdown: %s", strerror(errno));
}

static void begin_anew(struct end *end)
{
	memset(end->seen, 0, end->options->messages * sizeof *end->seen);
	for (uint16_t stream = 0; stream < end->options->streams; stream++)
		end->expected[stream] = first_on(end->options, stream);
	end->received = (struct tally){ 0 };
}

static void start_end(struct end *end, const struct options *options)
{
	memset(end, 0, sizeof *end);
	end->options = options;
	end->room = HEADER + (options->first_size > 2 * options->mean_size ? options->first_size : 2 * options->mean_size) + 1;
	end->message = must_allocate(end->room);
	end->wanted = must_allocate(end->room);
	end->seen = must_allocate(options->messages * sizeof *end->seen);
	begin_anew(end);
}

/* Whether the message could be sent: not if the receiver has aborted, as it was to. */
static bool send_message(struct end *end, const uint8_t *message, size_t length, uint16_t stream, bool unordered)
{
	const struct options *options = end->options;
	struct way way = { .stream = stream, .flags = unordered ? SCTP_UNORDERED : 0, .policy = SCTP_PR_SCTP_NONE };

	if (options->lifetime_ms) {
		way.policy = SCTP_PR_SCTP_TTL;
		way.policy_value = options->lifetime_ms;
	} else if (options->gives_up) {
		way.policy = SCTP_PR_SCTP_RTX;
		way.policy_value = options->retransmissions;
	}
	ssize_t sent = stack_send(message, length, &way);
	/* Until the streams have begun anew. */
	while (sent < 0 && errno == EAGAIN && options->reconfiguration != NOTHING) {
		usleep(1000);
		sent = stack_send(message, length, &way);
	}
	/* usrsctp says nothing where the association ends during the call. */
	if (sent <= 0 && options->ending == ABORT_BY_SINK)
		return false;
	if (sent != (ssize_t)length)
		fail("message %llu: %s", (unsigned long long)end->sent.messages, strerror(errno));
	count_message(&end->sent, message, length);
	return true;
}

static bool send_number(struct end *end, uint64_t number)
{
	size_t length = message_length(end->options, number);

	fill_message(end->wanted, length, number);
	return send_message(end, end->wanted, length, (uint16_t)(number % streams_at(end->options, number)),
			    end->options->unordered);
}

static void check_message(struct end *end, size_t length, uint16_t stream)
{
	const struct options *options = end->options;

	if (length < HEADER)
		fail("a message of %zu bytes", length);
	uint64_t number = get_u64(end->message);
	if (stream >= options->streams || number >= options->messages || number % streams_at(options, number) != stream)
		fail("message %llu does not belong to stream %u", (unsigned long long)number, stream);
	/* What was given up is missing, the rest is in order, unless it has none. */
	if (options->unordered ? end->seen[number] : number < end->expected[stream])
		fail("message %llu on stream %u came twice or is out of order", (unsigned long long)number, stream);
	if (!options->gives_up && !options->unordered && number != end->expected[stream])
		fail("message %llu on stream %u is missing", (unsigned long long)end->expected[stream], stream);
	end->before_first += number != 0 && !end->seen[0];
	end->seen[number] = true;
	end->expected[stream] = number + streams_at(options, number);
	size_t right_length = message_length(options, number);
	if (length != right_length)
		fail("message %llu has %zu bytes, not %zu", (unsigned long long)number, length, right_length);
	fill_message(end->wanted, length, number);
	if (memcmp(end->message, end->wanted, length) != 0)
		fail("message %llu was damaged", (unsigned long long)number);
	count_message(&end->received, end->message, length);
}

/* Whether a notification is of streams, or of everything, that began anew. Both kinds begin with type and flags, and have the same flags. */
static bool notified_of_reset(struct end *end, const uint8_t *bytes, size_t length)
{
	struct sctp_assoc_reset_event reset;
	bool of_association;

	if (length < sizeof reset.assocreset_type + sizeof reset.assocreset_flags)
		return false;
	memcpy(&reset, bytes, sizeof reset.assocreset_type + sizeof reset.assocreset_flags);
	of_association = reset.assocreset_type == SCTP_ASSOC_RESET_EVENT;
	if (!of_association && reset.assocreset_type != SCTP_STREAM_RESET_EVENT)
		return false;
	if (reset.assocreset_flags & (SCTP_STREAM_RESET_DENIED | SCTP_STREAM_RESET_FAILED))
		fail("a reset was refused, flags %x", reset.assocreset_flags);
	if (of_association || reset.assocreset_flags & SCTP_STREAM_RESET_OUTGOING_SSN)
		end->were_reset = true;
	return true;
}

/* What a notification means for the association; MESSAGE if it goes on. */
static enum next notified(struct end *end, const uint8_t *bytes, size_t length)
{
	struct sctp_assoc_change change;

	if (notified_of_reset(end, bytes, length))
		return MESSAGE;
	if (length < sizeof change)
		return MESSAGE;
	memcpy(&change, bytes, sizeof change);
	if (change.sac_type != SCTP_ASSOC_CHANGE)
		return MESSAGE;
	switch (change.sac_state) {
	case SCTP_COMM_LOST:
		if (!aborts(end->options))
			fail("the association was lost, error %u", change.sac_error);
		return ABORTED;
	case SCTP_SHUTDOWN_COMP:
		return SHUT_DOWN;
	case SCTP_CANT_STR_ASSOC:
		fail("the association could not be made");
	case SCTP_RESTART:
		if (!end->options->expect_restart)
			fail("the peer restarted");
		end->restarts++;
		begin_anew(end);
		puts("restarted");
		fflush(stdout);
		return MESSAGE;
	default:
		return MESSAGE;
	}
}

/* Reads until a message is complete, or the end of the association. */
static enum next receive_message(struct end *end, struct arrival *arrival)
{
	size_t filled = 0;

	for (;;) {
		uint8_t notification[NOTIFICATION];
		size_t free_room = end->room - filled;
		uint8_t *into = free_room >= NOTIFICATION ? end->message + filled : notification;
		ssize_t got = stack_receive(into, free_room >= NOTIFICATION ? free_room : NOTIFICATION, arrival);

		/* The error may have been told when sending; Linux then says that nothing is connected. */
		if (got < 0 && aborts(end->options) && (errno == ECONNRESET || errno == ECONNABORTED || errno == ENOTCONN))
			return ABORTED;
		if (got < 0)
			fail("receive: %s", strerror(errno));
		if (got == 0 && filled != 0)
			fail("the last message ends after %zu bytes", filled);
		if (got == 0)
			return SHUT_DOWN;
		if (arrival->notification) {
			enum next next = notified(end, into, (size_t)got);

			if (next != MESSAGE)
				return next;
			continue;
		}
		if ((size_t)got > free_room)
			fail("a message longer than %zu bytes", end->room - 1);
		if (into == notification)
			memcpy(end->message + filled, notification, (size_t)got);
		filled += (size_t)got;
		if (!arrival->complete)
			continue;
		if (!arrival->has_stream)
			fail("a message without its stream");
		check_message(end, filled, arrival->stream);
		return MESSAGE;
	}
}

/* ---- roles ---- */

/* Sets an option that is refused while the other side's request is under way. */
static void request(int name, const void *value, socklen_t size)
{
	int tries = 2000;

	while (stack_set(name, value, size) != 0) {
		if ((errno != EAGAIN && errno != EINPROGRESS && errno != EALREADY && errno != EBUSY) || --tries == 0)
			fail("socket option %d: %s", name, strerror(errno));
		usleep(5000);
	}
}

static void request_reset(uint16_t flags)
{
	struct sctp_reset_streams all = { .srs_flags = flags };

	request(SCTP_RESET_STREAMS, &all, sizeof all);
}

static void request_streams(uint16_t outgoing, uint16_t incoming)
{
	struct sctp_add_streams more = { .sas_outstrms = outgoing, .sas_instrms = incoming };

	request(SCTP_ADD_STREAMS, &more, sizeof more);
}

static void wait_for_streams(uint16_t outgoing)
{
	struct sctp_status status;

	do {
		usleep(10000);
		get_status(&status);
	} while (status.sstat_outstrms < outgoing);
}

static void wait_for_reset(struct end *end)
{
	struct arrival arrival;
	uint8_t notification[NOTIFICATION];

	while (!end->were_reset) {
		ssize_t got = stack_receive(notification, sizeof notification, &arrival);

		if (got <= 0 || !arrival.notification || notified(end, notification, (size_t)got) != MESSAGE)
			fail("an end before the reset");
	}
}

/* What the sender does when half of the messages are sent (RFC 6525), or what it waits for. */
static void reconfigure(struct end *end)
{
	const struct options *options = end->options;
	sctp_assoc_t association = 0;

	switch (options->reconfiguration) {
	case NOTHING:
		break;
	case RESET_OUTGOING:
		wait_for_acknowledgements();
		request_reset(SCTP_STREAM_RESET_OUTGOING);
		break;
	case RESET_INCOMING:
		wait_for_reset(end);
		break;
	case RESET_ASSOCIATION:
		wait_for_acknowledgements();
		request(SCTP_RESET_ASSOC, &association, sizeof association);
		/* usrsctp would go on sending with TSNs of before, and take their acknowledgement for a violation of the protocol. */
		wait_for_reset(end);
		break;
	case ADD_OUTGOING:
		/* usrsctp would forget which message it is in the midst of, and put fragments of others between its own. */
		wait_for_acknowledgements();
		request_streams(options->streams / 2, 0);
		wait_for_streams(options->streams);
		break;
	case ADD_INCOMING:
		wait_for_streams(options->streams);
		break;
	}
}

/* What the receiver asks for when it has half of the messages. */
static void ask_for_reconfiguration(const struct options *options)
{
	if (options->reconfiguration == RESET_INCOMING)
		request_reset(SCTP_STREAM_RESET_INCOMING);
	if (options->reconfiguration == ADD_INCOMING)
		request_streams(0, options->streams / 2);
}

/*
 * Goes from the first address to the second (RFC 5061): the peer is told of both, in requests of their own. Nothing tells that it has
 * taken note.
 */
static void move_addresses(const struct options *options)
{
	struct addresses local;

	parse_addresses(options->local, options->listen ? options->sctp_port : options->local_port, &local);
	if (local.count != 2)
		fail("--move-addresses needs two addresses");
	if (stack_bind(&local.each[1].any, address_size(&local.each[1]), false) != 0)
		fail("adding an address: %s", strerror(errno));
	sleep(2);
	if (stack_unbind(&local.each[0].any, address_size(&local.each[0])) != 0)
		fail("removing an address: %s", strerror(errno));
	sleep(2);
	puts("moved");
	fflush(stdout);
}

/* New data goes to the last of the addresses that were waited for. */
static void change_primary(const struct options *options)
{
	struct addresses remote;
	struct sctp_setprim primary = { 0 };

	if (!options->wait_paths)
		fail("--primary needs --wait-paths");
	parse_addresses(options->wait_paths, options->listen ? options->local_port : options->sctp_port, &remote);
	memcpy(&primary.ssp_addr, &remote.each[remote.count - 1], address_size(&remote.each[remote.count - 1]));
	set_option(SCTP_PRIMARY_ADDR, &primary, sizeof primary);
}

/* Asks the sender to send to the last address of this side (RFC 5061). */
static void ask_for_primary(const struct options *options)
{
	struct addresses local;
	struct sctp_setpeerprim primary = { 0 };

	parse_addresses(options->local, options->listen ? options->sctp_port : options->local_port, &local);
	memcpy(&primary.sspp_addr, &local.each[local.count - 1], address_size(&local.each[local.count - 1]));
	set_option(SCTP_SET_PEER_PRIMARY_ADDR, &primary, sizeof primary);
}

/* Sends all messages. If they are wanted back, no more than some are under way. */
static void send_all(struct end *end)
{
	const struct options *options = end->options;
	struct arrival arrival;

	for (uint64_t number = 0; number < options->messages; number++) {
		if (options->ending == ABORT_BY_SOURCE && number == options->abort_after) {
			abort_association();
			return;
		}
		if (options->role == ASK && number >= ASKED_AT_ONCE && receive_message(end, &arrival) != MESSAGE)
			fail("an end before every message came back");
		if (number == options->messages / 2)
			reconfigure(end);
		if (options->move_addresses && number == options->messages / 2)
			move_addresses(options);
		if (options->primary == BY_SENDER && number == options->messages / 2) {
			wait_for_acknowledgements();
			change_primary(options);
		}
		if (!send_number(end, number))
			return;
	}
	if (options->all_extensions) {
		wait_for_acknowledgements();
		print_agreed();
	}
	if (options->hold) {
		wait_for_acknowledgements();
		if (stack_prepare_to_vanish() != 0)
			fail("socket option: %s", strerror(errno));
		puts("held");
		fflush(stdout);
		for (;;)
			pause();
	}
	while (options->role == ASK && end->received.messages < options->messages)
		if (receive_message(end, &arrival) != MESSAGE)
			fail("an end before every message came back");
	if (options->ending == BY_SOURCE || options->ending == BY_BOTH)
		shut_down(options);
}

/* Reads until the association ends. */
static enum next receive_all(struct end *end)
{
	const struct options *options = end->options;
	struct arrival arrival;
	enum next next;

	while ((next = receive_message(end, &arrival)) == MESSAGE) {
		if (sends_first(options))
			fail("a message that nobody asked for");
		uint64_t count = end->received.messages;
		if (options->all_extensions && count == 1)
			print_agreed();
		if (count == options->messages / 2) {
			ask_for_reconfiguration(options);
			if (options->primary == BY_RECEIVER)
				ask_for_primary(options);
		}
		if (options->role == ECHO_BACK)
			send_message(end, end->wanted, message_length(options, get_u64(end->wanted)),
				     arrival.stream, arrival.unordered);
		if (count == options->messages) {
			puts("complete");
			fflush(stdout);
		}
		if (options->ending == ABORT_BY_SINK && count == options->abort_after) {
			abort_association();
			return ABORTED;
		}
		if (count == options->messages && (options->ending == BY_SINK || options->ending == BY_BOTH))
			shut_down(options);
	}
	return next;
}

static void print_result(const struct end *end, enum next next)
{
	const struct options *options = end->options;
	const struct tally *tally = options->role == SOURCE ? &end->sent : &end->received;

	stack_print_counters();
	printf("before_first=%llu\n", (unsigned long long)end->before_first);
	printf("end=%s restarts=%u\n", next == ABORTED ? "aborted" : "graceful", end->restarts);
	/* What was given up is no part of what both sides must agree on. */
	if (options->gives_up || aborts(options))
		printf("arrived=%llu\n", (unsigned long long)end->received.messages);
	else
		printf("messages=%llu bytes=%llu checksum=%016llx\n", (unsigned long long)tally->messages,
		       (unsigned long long)tally->bytes, (unsigned long long)tally->hash_sum);
	fflush(stdout);
}

/* ---- options ---- */

static void __attribute__((noreturn)) usage(void)
{
	fputs("usage: peer --listen | --connect ADDRESS[,ADDRESS]\n"
	      "            --source | --sink | --ask | --echo\n"
	      "            --local ADDRESS[,ADDRESS]\n"
	      "            [--udp PORT] [--peer-udp PORT] [--raw] [--port SCTP_PORT] [--local-port SCTP_PORT]\n"
	      "            [--messages N] [--mean-size BYTES] [--streams N] [--unordered]\n"
	      "            [--give-up-after RETRANSMISSIONS] [--lifetime MILLISECONDS]\n"
	      "            [--ending source|sink|both|abort-by-source|abort-by-sink] [--abort-after MESSAGES]\n"
	      "            [--wait-paths ADDRESS[,ADDRESS]] [--path-max-retrans N] [--hold] [--expect-restart] [--stay]\n"
	      "            [--all-extensions] [--no-partial-reliability] [--cmt] [--drop-reports] [--nr-sack]\n"
	      "            [--authenticate KEY] [--move-addresses] [--receive-buffer BYTES] [--refused]\n"
	      "            [--first-size BYTES] [--primary by-sender|by-receiver] [--priorities]\n"
	      "            [--reconfigure reset-outgoing|reset-incoming|reset-association|add-outgoing|add-incoming]\n",
	      stderr);
	exit(2);
}

static enum ending ending_named(const char *name)
{
	static const char *const names[] = { "source", "sink", "both", "abort-by-source", "abort-by-sink" };

	for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(name, names[i]) == 0)
			return (enum ending)i;
	fail("'%s' is no ending", name);
}

static enum reconfiguration reconfiguration_named(const char *name)
{
	static const char *const names[] = { "reset-outgoing", "reset-incoming", "reset-association", "add-outgoing",
					     "add-incoming" };

	for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(name, names[i]) == 0)
			return (enum reconfiguration)(i + 1);
	fail("'%s' is no reconfiguration", name);
}

static enum primary primary_named(const char *name)
{
	if (strcmp(name, "by-sender") == 0)
		return BY_SENDER;
	if (strcmp(name, "by-receiver") == 0)
		return BY_RECEIVER;
	fail("'%s' changes no primary path", name);
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

static const struct option KNOWN[] = {
	{ "listen", no_argument, NULL, 'l' },
	{ "connect", required_argument, NULL, 'c' },
	{ "source", no_argument, NULL, 's' },
	{ "sink", no_argument, NULL, 'r' },
	{ "ask", no_argument, NULL, 'q' },
	{ "echo", no_argument, NULL, 'e' },
	{ "local", required_argument, NULL, 'a' },
	{ "udp", required_argument, NULL, 'u' },
	{ "peer-udp", required_argument, NULL, 'U' },
	{ "raw", no_argument, NULL, 'R' },
	{ "port", required_argument, NULL, 'p' },
	{ "local-port", required_argument, NULL, 'L' },
	{ "messages", required_argument, NULL, 'n' },
	{ "mean-size", required_argument, NULL, 'm' },
	{ "streams", required_argument, NULL, 'S' },
	{ "unordered", no_argument, NULL, 'O' },
	{ "give-up-after", required_argument, NULL, 'G' },
	{ "lifetime", required_argument, NULL, 'T' },
	{ "ending", required_argument, NULL, 'E' },
	{ "abort-after", required_argument, NULL, 'A' },
	{ "wait-paths", required_argument, NULL, 'w' },
	{ "path-max-retrans", required_argument, NULL, 'M' },
	{ "hold", no_argument, NULL, 'H' },
	{ "expect-restart", no_argument, NULL, 'x' },
	{ "stay", no_argument, NULL, 'y' },
	{ "all-extensions", no_argument, NULL, 'X' },
	{ "no-partial-reliability", no_argument, NULL, 'P' },
	{ "cmt", no_argument, NULL, 'C' },
	{ "drop-reports", no_argument, NULL, 'D' },
	{ "nr-sack", no_argument, NULL, 'N' },
	{ "authenticate", required_argument, NULL, 'k' },
	{ "reconfigure", required_argument, NULL, 'z' },
	{ "move-addresses", no_argument, NULL, 'Z' },
	{ "receive-buffer", required_argument, NULL, 'B' },
	{ "first-size", required_argument, NULL, 'F' },
	{ "primary", required_argument, NULL, 'W' },
	{ "refused", no_argument, NULL, 'f' },
	{ "priorities", no_argument, NULL, 'I' },
	{ NULL, 0, NULL, 0 },
};

static void take_option(struct options *options, int name)
{
	switch (name) {
	case 'l': options->listen = true; break;
	case 'c': options->remote = optarg; break;
	case 's': options->role = SOURCE; break;
	case 'r': options->role = SINK; break;
	case 'q': options->role = ASK; break;
	case 'e': options->role = ECHO_BACK; break;
	case 'a': options->local = optarg; break;
	case 'u': options->udp_port = (uint16_t)number_in(optarg, 1, UINT16_MAX); break;
	case 'U': options->peer_udp_port = (uint16_t)number_in(optarg, 1, UINT16_MAX); break;
	case 'R': options->peer_udp_port = 0; break;
	case 'p': options->sctp_port = (uint16_t)number_in(optarg, 1, UINT16_MAX); break;
	case 'L': options->local_port = (uint16_t)number_in(optarg, 1, UINT16_MAX); break;
	case 'n': options->messages = number_in(optarg, 1, 1u << 30); break;
	case 'm': options->mean_size = number_in(optarg, 1, 1u << 20); break;
	case 'S': options->streams = (uint16_t)number_in(optarg, 1, MAX_STREAMS); break;
	case 'O': options->unordered = true; break;
	case 'G':
		options->gives_up = true;
		options->retransmissions = (uint32_t)number_in(optarg, 0, UINT16_MAX);
		break;
	case 'T':
		options->gives_up = true;
		options->lifetime_ms = (uint32_t)number_in(optarg, 1, UINT16_MAX);
		break;
	case 'E': options->ending = ending_named(optarg); break;
	case 'A': options->abort_after = number_in(optarg, 1, 1u << 30); break;
	case 'w': options->wait_paths = optarg; break;
	case 'M': options->path_max_retrans = (uint16_t)number_in(optarg, 1, 100); break;
	case 'H': options->hold = true; break;
	case 'x': options->expect_restart = true; break;
	case 'y': options->stay = true; break;
	case 'X': options->all_extensions = true; break;
	case 'P': options->partial_reliability = 0; break;
	case 'C': options->cmt = 1; break;
	case 'D': options->drop_reports = 1; break;
	case 'N': options->nr_sack = 1; break;
	case 'k': options->authenticate = optarg; break;
	case 'z': options->reconfiguration = reconfiguration_named(optarg); break;
	case 'Z': options->move_addresses = true; break;
	case 'B': options->receive_buffer = (int)number_in(optarg, 4096, 1 << 28); break;
	case 'F': options->first_size = number_in(optarg, 1, 1u << 22); break;
	case 'W': options->primary = primary_named(optarg); break;
	case 'f': options->refused = true; break;
	/* Which the other side sends. */
	case 'I': options->gives_up = true; break;
	default: usage();
	}
}

static struct options parse_options(int argc, char **argv)
{
	struct options options = { .udp_port = 9899, .peer_udp_port = 9899, .sctp_port = 5001, .messages = 1000,
				   .mean_size = 1000, .abort_after = 100, .streams = 4, .partial_reliability = 1 };
	int name;

	while ((name = getopt_long(argc, argv, "", KNOWN, NULL)) != -1)
		take_option(&options, name);
	if (optind != argc || !options.local || options.listen == (options.remote != NULL) || options.role == NO_ROLE)
		usage();
	if (adds_streams(&options) && (options.streams % 2 != 0 || options.messages / 2 % options.streams != 0))
		fail("the streams must be an even number, and half of the messages a multiple of it");
	return options;
}

static volatile sig_atomic_t told;

static void tell(int number)
{
	(void)number;
	told = 1;
}

/* Keeps the stack up until SIGTERM: if its last SHUTDOWN COMPLETE gets lost, somebody must answer the peer once more. */
static void stay_until_told(void)
{
	while (!told)
		usleep(10000);
}

int main(int argc, char **argv)
{
	static struct end end;
	struct options options = parse_options(argc, argv);
	enum next next = ABORTED;

	if (options.stay)
		signal(SIGTERM, tell);
	alarm(TIME_LIMIT_S); /* a transfer that hangs must not hang its caller */
	stack_begin(&options);
	associate(&options);
	start_end(&end, &options);
	if (options.wait_paths)
		wait_for_paths(&options);
	if (sends_first(&options))
		send_all(&end);
	if (options.role != SOURCE || options.ending != ABORT_BY_SOURCE)
		next = receive_all(&end);
	if ((next == ABORTED) != aborts(&options))
		fail("the association ended in another way than it should");
	if ((end.restarts != 0) != options.expect_restart)
		fail("the peer restarted %u times", end.restarts);
	print_result(&end, next);
	if (options.stay)
		stay_until_told();
	stack_close();
	return 0;
}
