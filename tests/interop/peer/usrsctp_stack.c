/* usrsctp, the SCTP of FreeBSD as a library. */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "peer.h"
#include "stack.h"

/* Missing in the header of 0.9.5, though the library has it. */
#ifndef SCTP_INTERLEAVING_SUPPORTED
#define SCTP_INTERLEAVING_SUPPORTED 0x00001206
#endif

static struct socket *opened;

void stack_begin(const struct options *options)
{
	usrsctp_init(options->peer_udp_port ? options->udp_port : 0, NULL, NULL);
	usrsctp_sysctl_set_sctp_cmt_on_off(options->cmt);
	usrsctp_sysctl_set_sctp_pktdrop_enable(options->drop_reports || options->all_extensions);
	usrsctp_sysctl_set_sctp_nrsack_enable(options->nr_sack || options->all_extensions);
}

void stack_offer_all(void)
{
	struct sctp_assoc_value on = { .assoc_id = SCTP_FUTURE_ASSOC, .assoc_value = 1 };
	int interleave = 2;

	if (stack_set(SCTP_FRAGMENT_INTERLEAVE, &interleave, sizeof interleave) != 0 ||
	    stack_set(SCTP_INTERLEAVING_SUPPORTED, &on, sizeof on) != 0 ||
	    stack_set(SCTP_ECN_SUPPORTED, &on, sizeof on) != 0 ||
	    stack_set(SCTP_AUTH_SUPPORTED, &on, sizeof on) != 0 ||
	    stack_set(SCTP_ASCONF_SUPPORTED, &on, sizeof on) != 0 ||
	    stack_set(SCTP_RECONFIG_SUPPORTED, &on, sizeof on) != 0)
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
	struct sctpstat counted;

	usrsctp_get_stat(&counted);
	printf("dropped_at_limit=%u\n", (unsigned)counted.sctps_datadropchklmt);
}

void stack_open(int family)
{
	opened = usrsctp_socket(family, SOCK_STREAM, IPPROTO_SCTP, NULL, NULL, 0, NULL);
	if (!opened)
		fail("socket: %s", strerror(errno));
}

int stack_set(int name, const void *value, socklen_t size)
{
	return usrsctp_setsockopt(opened, IPPROTO_SCTP, name, value, size);
}

int stack_get(int name, void *value, socklen_t *size)
{
	return usrsctp_getsockopt(opened, IPPROTO_SCTP, name, value, size);
}

int stack_set_buffers(int send_bytes, int receive_bytes)
{
	int result = usrsctp_setsockopt(opened, SOL_SOCKET, SO_SNDBUF, &send_bytes, sizeof send_bytes);

	return result != 0 ? result
			   : usrsctp_setsockopt(opened, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes);
}

int stack_bind(const struct sockaddr *address, socklen_t size, bool first)
{
	if (first)
		return usrsctp_bind(opened, (struct sockaddr *)address, size);
	return usrsctp_bindx(opened, (struct sockaddr *)address, 1, SCTP_BINDX_ADD_ADDR);
}

int stack_unbind(const struct sockaddr *address, socklen_t size)
{
	(void)size;
	return usrsctp_bindx(opened, (struct sockaddr *)address, 1, SCTP_BINDX_REM_ADDR);
}

int stack_connect(const uint8_t *packed_addresses, size_t size, int count)
{
	(void)size;
	return usrsctp_connectx(opened, (struct sockaddr *)packed_addresses, count, NULL);
}

int stack_listen(void)
{
	return usrsctp_listen(opened, 1);
}

int stack_accept(void)
{
	struct socket *accepted = usrsctp_accept(opened, NULL, NULL);

	if (!accepted)
		return -1;
	usrsctp_close(opened);
	opened = accepted;
	return 0;
}

ssize_t stack_send(const uint8_t *message, size_t length, const struct way *way)
{
	struct sctp_sendv_spa how = { .sendv_flags = SCTP_SEND_SNDINFO_VALID };

	how.sendv_sndinfo.snd_sid = way->stream;
	how.sendv_sndinfo.snd_flags = way->flags;
	if (way->policy != SCTP_PR_SCTP_NONE) {
		how.sendv_flags |= SCTP_SEND_PRINFO_VALID;
		how.sendv_prinfo.pr_policy = way->policy;
		how.sendv_prinfo.pr_value = way->policy_value;
	}
	return usrsctp_sendv(opened, message, length, NULL, 0, &how, sizeof how, SCTP_SENDV_SPA, 0);
}

ssize_t stack_receive(uint8_t *into, size_t room, struct arrival *arrival)
{
	struct sctp_rcvinfo info;
	socklen_t info_size = sizeof info, from_size = 0;
	unsigned int info_type = 0;
	int flags = 0;
	ssize_t got = usrsctp_recvv(opened, into, room, NULL, &from_size, &info, &info_size, &info_type, &flags);

	*arrival = (struct arrival){ .notification = flags & MSG_NOTIFICATION, .complete = flags & MSG_EOR };
	if (got > 0 && info_type == SCTP_RECVV_RCVINFO) {
		arrival->has_stream = true;
		arrival->stream = info.rcv_sid;
		arrival->unordered = info.rcv_flags & SCTP_UNORDERED;
	}
	return got;
}

int stack_shutdown(void)
{
	return usrsctp_shutdown(opened, SHUT_WR);
}

int stack_prepare_to_vanish(void)
{
	return 0; /* it all lives in this process */
}

int stack_abort(const char *reason)
{
	struct way way = { .flags = SCTP_ABORT, .policy = SCTP_PR_SCTP_NONE };

	return stack_send((const uint8_t *)reason, strlen(reason), &way) < 0 ? -1 : 0;
}

void stack_close(void)
{
	usrsctp_close(opened);
	for (int tries = 0; usrsctp_finish() != 0 && tries < 1000; tries++)
		usleep(5000); /* the end of the association is still under way */
}
