/* The SCTP of the Linux kernel, through its header <linux/sctp.h> alone, so that the program links statically. */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "peer.h"
#include "stack.h"

static int descriptor = -1;

void stack_begin(const struct options *options)
{
	if (options->cmt || options->drop_reports || options->nr_sack)
		fail("Linux has neither CMT nor packet drop reports nor NR-SACK");
}

void stack_offer_all(void)
{
	struct sctp_assoc_value on = { .assoc_id = SCTP_FUTURE_ASSOC, .assoc_value = 1 };
	struct sctp_assoc_value every_reset = { .assoc_id = SCTP_FUTURE_ASSOC, .assoc_value = SCTP_ENABLE_STRRESET_MASK };
	int interleave = 2;

	if (stack_set(SCTP_FRAGMENT_INTERLEAVE, &interleave, sizeof interleave) != 0 ||
	    stack_set(SCTP_INTERLEAVING_SUPPORTED, &on, sizeof on) != 0 ||
	    stack_set(SCTP_ECN_SUPPORTED, &on, sizeof on) != 0 ||
	    stack_set(SCTP_AUTH_SUPPORTED, &on, sizeof on) != 0 ||
	    stack_set(SCTP_ASCONF_SUPPORTED, &on, sizeof on) != 0 ||
	    stack_set(SCTP_RECONFIG_SUPPORTED, &on, sizeof on) != 0 ||
	    stack_set(SCTP_ENABLE_STREAM_RESET, &every_reset, sizeof every_reset) != 0)
		fail("not every extension can be offered: %s", strerror(errno));
}

int stack_interleaving(void)
{
	struct sctp_assoc_value agreed = { 0 };
	socklen_t size = sizeof agreed;

	return stack_get(SCTP_INTERLEAVING_SUPPORTED, &agreed, &size) == 0 ? (int)agreed.assoc_value : -1;
}

void stack_print_counters(void)
{
}

void stack_open(int family)
{
	descriptor = socket(family, SOCK_STREAM, IPPROTO_SCTP);
	if (descriptor < 0)
		fail("socket: %s", strerror(errno));
}

int stack_set(int name, const void *value, socklen_t size)
{
	return setsockopt(descriptor, IPPROTO_SCTP, name, value, size);
}

int stack_get(int name, void *value, socklen_t *size)
{
	return getsockopt(descriptor, IPPROTO_SCTP, name, value, size);
}

int stack_set_buffers(int send_bytes, int receive_bytes)
{
	int result = setsockopt(descriptor, SOL_SOCKET, SO_SNDBUFFORCE, &send_bytes, sizeof send_bytes);

	return result != 0 ? result
			   : setsockopt(descriptor, SOL_SOCKET, SO_RCVBUFFORCE, &receive_bytes, sizeof receive_bytes);
}

int stack_bind(const struct sockaddr *address, socklen_t size, bool first)
{
	return first ? bind(descriptor, address, size) : stack_set(SCTP_SOCKOPT_BINDX_ADD, address, size);
}

int stack_unbind(const struct sockaddr *address, socklen_t size)
{
	return stack_set(SCTP_SOCKOPT_BINDX_REM, address, size);
}

int stack_connect(const uint8_t *packed_addresses, size_t size, int count)
{
	(void)count;
	/* Gives the identifier of the association. */
	int result = stack_set(SCTP_SOCKOPT_CONNECTX, packed_addresses, (socklen_t)size);

	return result < 0 ? result : 0;
}

int stack_listen(void)
{
	return listen(descriptor, 1);
}

int stack_accept(void)
{
	int accepted = accept(descriptor, NULL, NULL);

	if (accepted < 0)
		return accepted;
	close(descriptor);
	descriptor = accepted;
	return 0;
}

ssize_t stack_send(const uint8_t *message, size_t length, const struct way *way)
{
	struct sctp_sndinfo send = { .snd_sid = way->stream, .snd_flags = way->flags };
	struct sctp_prinfo reliability = { .pr_policy = way->policy, .pr_value = way->policy_value };
	union {
		struct cmsghdr aligned;
		uint8_t room[CMSG_SPACE(sizeof send) + CMSG_SPACE(sizeof reliability)];
	} control;
	struct iovec piece = { .iov_base = (void *)message, .iov_len = length };
	struct msghdr header = { .msg_iov = &piece, .msg_iovlen = 1, .msg_control = &control,
				 .msg_controllen = sizeof control };

	memset(&control, 0, sizeof control);
	struct cmsghdr *part = CMSG_FIRSTHDR(&header);
	part->cmsg_level = IPPROTO_SCTP;
	part->cmsg_type = SCTP_SNDINFO;
	part->cmsg_len = CMSG_LEN(sizeof send);
	memcpy(CMSG_DATA(part), &send, sizeof send);
	part = CMSG_NXTHDR(&header, part);
	part->cmsg_level = IPPROTO_SCTP;
	part->cmsg_type = SCTP_PRINFO;
	part->cmsg_len = CMSG_LEN(sizeof reliability);
	memcpy(CMSG_DATA(part), &reliability, sizeof reliability);
	return sendmsg(descriptor, &header, MSG_NOSIGNAL);
}

ssize_t stack_receive(uint8_t *into, size_t room, struct arrival *arrival)
{
	union {
		struct cmsghdr aligned;
		uint8_t room[256];
	} control;
	struct iovec piece = { .iov_base = into, .iov_len = room };
	struct msghdr header = { .msg_iov = &piece, .msg_iovlen = 1, .msg_control = &control,
				 .msg_controllen = sizeof control };
	ssize_t got = recvmsg(descriptor, &header, 0);

	*arrival = (struct arrival){ .notification = header.msg_flags & MSG_NOTIFICATION,
				     .complete = header.msg_flags & MSG_EOR };
	if (got <= 0)
		return got;
	for (struct cmsghdr *part = CMSG_FIRSTHDR(&header); part; part = CMSG_NXTHDR(&header, part)) {
		struct sctp_rcvinfo info;

		if (part->cmsg_level != IPPROTO_SCTP || part->cmsg_type != SCTP_RCVINFO)
			continue;
		memcpy(&info, CMSG_DATA(part), sizeof info);
		arrival->has_stream = true;
		arrival->stream = info.rcv_sid;
		arrival->unordered = info.rcv_flags & SCTP_UNORDERED;
	}
	return got;
}

int stack_shutdown(void)
{
	return shutdown(descriptor, SHUT_WR);
}

int stack_prepare_to_vanish(void)
{
	struct linger at_once = { .l_onoff = 1, .l_linger = 0 };

	return setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

/* The kernel has SCTP_ABORT, with a reason, for one-to-many sockets only. */
int stack_abort(const char *reason)
{
	(void)reason;
	int result = stack_prepare_to_vanish();

	close(descriptor);
	descriptor = -1;
	return result;
}

void stack_close(void)
{
	close(descriptor);
}
