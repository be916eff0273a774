/*
 * What the interoperability peer needs of an SCTP stack: calls in the style of RFC 6458. usrsctp_stack.c and
 * linux_stack.c are the two that there are; the one association of a program lives behind them.
 */
#ifndef STACK_H
#define STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

/* Types and constants under the names of RFC 6458. */
#ifdef USRSCTP
#include <usrsctp.h>
#else
#include <linux/sctp.h>
#endif

struct options;

/* What came with a piece of a message. */
struct arrival {
	bool notification;
	bool complete;
	bool has_stream;
	uint16_t stream;
	bool unordered;
};

struct way {
	uint16_t stream;
	uint16_t flags;
	uint16_t policy; /* SCTP_PR_SCTP_NONE, SCTP_PR_SCTP_RTX or SCTP_PR_SCTP_TTL */
	uint32_t policy_value;
};

/* Starts the stack. */
void stack_begin(const struct options *options);
/* Asks the socket for extensions that have no option in the style of RFC 6458, such as I-DATA. */
void stack_offer_all(void);
void stack_open(int family);
/* These give a negative number and set errno when they fail. */
int stack_set(int name, const void *value, socklen_t size);
int stack_get(int name, void *value, socklen_t *size);
int stack_set_buffers(int send_bytes, int receive_bytes);
int stack_bind(const struct sockaddr *address, socklen_t size, bool first);
int stack_unbind(const struct sockaddr *address, socklen_t size);
int stack_connect(const uint8_t *packed_addresses, size_t size, int count);
int stack_listen(void);
/* The accepted association takes the place of the listening socket. */
int stack_accept(void);
ssize_t stack_send(const uint8_t *message, size_t length, const struct way *way);
ssize_t stack_receive(uint8_t *into, size_t room, struct arrival *arrival);
int stack_shutdown(void);
/* Aborts the association, telling the peer why if the stack can. */
int stack_abort(const char *reason);
/* From now on the end of the program leaves nothing of the association behind. */
int stack_prepare_to_vanish(void);
void stack_close(void);
/* Whether I-DATA was agreed on; negative where the stack does not tell. */
int stack_interleaving(void);
/* Prints what the stack has counted and the tests ask for. */
void stack_print_counters(void);

#endif
