/* What all of the interoperability peer shares: its options and how it fails. */
#ifndef PEER_H
#define PEER_H

#include <stdbool.h>
#include <stdint.h>

enum role { NO_ROLE, SOURCE, SINK, ASK, ECHO_BACK };
/* What changes when half of the messages are sent: the receiver asks for what it needs of the sender, the sender does the rest. */
enum reconfiguration { NOTHING, RESET_OUTGOING, RESET_INCOMING, RESET_ASSOCIATION, ADD_OUTGOING, ADD_INCOMING };
/* Who changes the primary path when half of the messages are sent or received. */
enum primary { UNCHANGED, BY_SENDER, BY_RECEIVER };
enum ending { BY_SOURCE, BY_SINK, BY_BOTH, ABORT_BY_SOURCE, ABORT_BY_SINK };

struct options {
	bool listen;
	enum role role;
	enum ending ending;
	const char *local;
	const char *remote;
	const char *wait_paths;
	uint16_t udp_port;
	uint16_t peer_udp_port; /* 0: SCTP is carried by IP itself */
	uint16_t sctp_port;
	uint16_t local_port;
	uint64_t messages;
	uint64_t mean_size;
	uint64_t first_size; /* of the first message, if not 0 */
	uint64_t abort_after;
	uint16_t streams;
	uint16_t path_max_retrans;
	int receive_buffer;
	uint32_t cmt;
	uint32_t drop_reports;
	uint32_t nr_sack;
	const char *authenticate; /* the key, or "none" */
	enum reconfiguration reconfiguration;
	bool move_addresses;
	enum primary primary;
	bool refused; /* the other side has another key */
	bool gives_up;
	uint32_t retransmissions;
	uint32_t lifetime_ms;
	bool unordered;
	uint32_t partial_reliability;
	bool all_extensions;
	bool hold;
	bool expect_restart;
	bool stay;
};

void fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

#endif
