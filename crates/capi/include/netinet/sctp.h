/* The sockets API of SCTP (RFC 6458) over Polypath, with the numbers and layouts of Linux: what programs include as <netinet/sctp.h>.
 * docs/sockets-api.md says what each call and option does. SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef POLYPATH_NETINET_SCTP_H
#define POLYPATH_NETINET_SCTP_H

#include <netinet/in.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>

#ifndef IPPROTO_SCTP
#define IPPROTO_SCTP 132
#endif
#ifndef SOL_SCTP
#define SOL_SCTP 132
#endif

/* The kernel's header declares the same, and is left out behind this one. */
#ifndef _SCTP_H
#define _SCTP_H

typedef int32_t sctp_assoc_t;

/* Instead of an association. */
#define SCTP_FUTURE_ASSOC 0
#define SCTP_CURRENT_ASSOC 1
#define SCTP_ALL_ASSOC 2

/* Options of level IPPROTO_SCTP, and what their values are. */
#define SCTP_RTOINFO 0
#define SCTP_ASSOCINFO 1
#define SCTP_INITMSG 2
#define SCTP_NODELAY 3
#define SCTP_AUTOCLOSE 4
#define SCTP_SET_PEER_PRIMARY_ADDR 5
#define SCTP_PRIMARY_ADDR 6
#define SCTP_ADAPTATION_LAYER 7
#define SCTP_DISABLE_FRAGMENTS 8
#define SCTP_PEER_ADDR_PARAMS 9
#define SCTP_DEFAULT_SEND_PARAM 10
#define SCTP_EVENTS 11
#define SCTP_I_WANT_MAPPED_V4_ADDR 12
#define SCTP_MAXSEG 13
#define SCTP_STATUS 14
#define SCTP_GET_PEER_ADDR_INFO 15
#define SCTP_DELAYED_ACK_TIME 16
#define SCTP_DELAYED_ACK SCTP_DELAYED_ACK_TIME
#define SCTP_DELAYED_SACK SCTP_DELAYED_ACK_TIME
#define SCTP_CONTEXT 17
#define SCTP_FRAGMENT_INTERLEAVE 18
#define SCTP_PARTIAL_DELIVERY_POINT 19
#define SCTP_MAX_BURST 20
#define SCTP_AUTH_CHUNK 21
#define SCTP_HMAC_IDENT 22
#define SCTP_AUTH_KEY 23
#define SCTP_AUTH_ACTIVE_KEY 24
#define SCTP_AUTH_DELETE_KEY 25
#define SCTP_PEER_AUTH_CHUNKS 26
#define SCTP_LOCAL_AUTH_CHUNKS 27
#define SCTP_GET_ASSOC_NUMBER 28
#define SCTP_GET_ASSOC_ID_LIST 29
#define SCTP_AUTO_ASCONF 30
#define SCTP_PEER_ADDR_THLDS 31
#define SCTP_RECVRCVINFO 32
#define SCTP_RECVNXTINFO 33
#define SCTP_DEFAULT_SNDINFO 34
#define SCTP_AUTH_DEACTIVATE_KEY 35
#define SCTP_REUSE_PORT 36
#define SCTP_PEER_ADDR_THLDS_V2 37
#define SCTP_SOCKOPT_BINDX_ADD 100
#define SCTP_SOCKOPT_BINDX_REM 101
#define SCTP_SOCKOPT_PEELOFF 102
#define SCTP_SOCKOPT_CONNECTX_OLD 107
#define SCTP_GET_PEER_ADDRS 108
#define SCTP_GET_LOCAL_ADDRS 109
#define SCTP_SOCKOPT_CONNECTX 110
#define SCTP_SOCKOPT_CONNECTX3 111
#define SCTP_GET_ASSOC_STATS 112
#define SCTP_PR_SUPPORTED 113
#define SCTP_DEFAULT_PRINFO 114
#define SCTP_PR_ASSOC_STATUS 115
#define SCTP_PR_STREAM_STATUS 116
#define SCTP_RECONFIG_SUPPORTED 117
#define SCTP_ENABLE_STREAM_RESET 118
#define SCTP_RESET_STREAMS 119
#define SCTP_RESET_ASSOC 120
#define SCTP_ADD_STREAMS 121
#define SCTP_SOCKOPT_PEELOFF_FLAGS 122
#define SCTP_STREAM_SCHEDULER 123
#define SCTP_STREAM_SCHEDULER_VALUE 124
#define SCTP_INTERLEAVING_SUPPORTED 125
#define SCTP_SENDMSG_CONNECT 126
#define SCTP_EVENT 127
#define SCTP_ASCONF_SUPPORTED 128
#define SCTP_AUTH_SUPPORTED 129
#define SCTP_ECN_SUPPORTED 130
#define SCTP_EXPOSE_POTENTIALLY_FAILED_STATE 131
#define SCTP_EXPOSE_PF_STATE SCTP_EXPOSE_POTENTIALLY_FAILED_STATE
#define SCTP_REMOTE_UDP_ENCAPS_PORT 132
#define SCTP_PLPMTUD_PROBE_INTERVAL 133

struct sctp_assoc_value {
	sctp_assoc_t assoc_id;
	uint32_t assoc_value;
};

struct sctp_rtoinfo {
	sctp_assoc_t srto_assoc_id;
	uint32_t srto_initial, srto_max, srto_min;
};

struct sctp_assocparams {
	sctp_assoc_t sasoc_assoc_id;
	uint16_t sasoc_asocmaxrxt, sasoc_number_peer_destinations;
	uint32_t sasoc_peer_rwnd, sasoc_local_rwnd, sasoc_cookie_life;
};

struct sctp_setpeerprim {
	sctp_assoc_t sspp_assoc_id;
	struct sockaddr_storage sspp_addr;
} __attribute__((packed, aligned(4)));

struct sctp_prim {
	sctp_assoc_t ssp_assoc_id;
	struct sockaddr_storage ssp_addr;
} __attribute__((packed, aligned(4)));
#define sctp_setprim sctp_prim

struct sctp_setadaptation {
	uint32_t ssb_adaptation_ind;
};

enum sctp_spp_flags {
	SPP_HB_ENABLE = 1,
	SPP_HB_DISABLE = 2,
	SPP_HB = SPP_HB_ENABLE | SPP_HB_DISABLE,
	SPP_HB_DEMAND = 4,
	SPP_PMTUD_ENABLE = 8,
	SPP_PMTUD_DISABLE = 0x10,
	SPP_PMTUD = SPP_PMTUD_ENABLE | SPP_PMTUD_DISABLE,
	SPP_SACKDELAY_ENABLE = 0x20,
	SPP_SACKDELAY_DISABLE = 0x40,
	SPP_SACKDELAY = SPP_SACKDELAY_ENABLE | SPP_SACKDELAY_DISABLE,
	SPP_HB_TIME_IS_ZERO = 0x80,
	SPP_IPV6_FLOWLABEL = 0x100,
	SPP_DSCP = 0x200
};

struct sctp_paddrparams {
	sctp_assoc_t spp_assoc_id;
	struct sockaddr_storage spp_address;
	uint32_t spp_hbinterval;
	uint16_t spp_pathmaxrxt;
	uint32_t spp_pathmtu, spp_sackdelay, spp_flags, spp_ipv6_flowlabel;
	uint8_t spp_dscp;
} __attribute__((packed, aligned(4)));

enum sctp_spinfo_state {
	SCTP_INACTIVE,
	SCTP_PF,
	SCTP_ACTIVE,
	SCTP_UNCONFIRMED,
	SCTP_UNKNOWN = 0xffff
};
#define SCTP_POTENTIALLY_FAILED SCTP_PF

struct sctp_paddrinfo {
	sctp_assoc_t spinfo_assoc_id;
	struct sockaddr_storage spinfo_address;
	int32_t spinfo_state;
	uint32_t spinfo_cwnd, spinfo_srtt, spinfo_rto, spinfo_mtu;
} __attribute__((packed, aligned(4)));

enum sctp_sstat_state {
	SCTP_EMPTY,
	SCTP_CLOSED,
	SCTP_COOKIE_WAIT,
	SCTP_COOKIE_ECHOED,
	SCTP_ESTABLISHED,
	SCTP_SHUTDOWN_PENDING,
	SCTP_SHUTDOWN_SENT,
	SCTP_SHUTDOWN_RECEIVED,
	SCTP_SHUTDOWN_ACK_SENT
};

struct sctp_status {
	sctp_assoc_t sstat_assoc_id;
	int32_t sstat_state;
	uint32_t sstat_rwnd;
	uint16_t sstat_unackdata, sstat_penddata, sstat_instrms, sstat_outstrms;
	uint32_t sstat_fragmentation_point;
	struct sctp_paddrinfo sstat_primary;
};

struct sctp_sack_info {
	sctp_assoc_t sack_assoc_id;
	uint32_t sack_delay, sack_freq;
};

struct sctp_paddrthlds {
	sctp_assoc_t spt_assoc_id;
	struct sockaddr_storage spt_address;
	uint16_t spt_pathmaxrxt, spt_pathpfthld;
};

struct sctp_paddrthlds_v2 {
	sctp_assoc_t spt_assoc_id;
	struct sockaddr_storage spt_address;
	uint16_t spt_pathmaxrxt, spt_pathpfthld, spt_pathcpthld;
};

struct sctp_assoc_ids {
	uint32_t gaids_number_of_ids;
	sctp_assoc_t gaids_assoc_id[];
};

struct sctp_getaddrs {
	sctp_assoc_t assoc_id;
	uint32_t addr_num;
	uint8_t addrs[];
};

struct sctp_getaddrs_old {
	sctp_assoc_t assoc_id;
	int addr_num;
	struct sockaddr *addrs;
};

struct sctp_assoc_stats {
	sctp_assoc_t sas_assoc_id;
	struct sockaddr_storage sas_obs_rto_ipaddr;
	uint64_t sas_maxrto, sas_isacks, sas_osacks, sas_opackets, sas_ipackets, sas_rtxchunks, sas_outofseqtsns;
	uint64_t sas_idupchunks, sas_gapcnt, sas_ouodchunks, sas_iuodchunks, sas_oodchunks, sas_iodchunks;
	uint64_t sas_octrlchunks, sas_ictrlchunks;
};

struct sctp_udpencaps {
	sctp_assoc_t sue_assoc_id;
	struct sockaddr_storage sue_address;
	uint16_t sue_port;
};

struct sctp_probeinterval {
	sctp_assoc_t spi_assoc_id;
	struct sockaddr_storage spi_address;
	uint32_t spi_interval;
};

typedef struct {
	sctp_assoc_t associd;
	int sd;
} sctp_peeloff_arg_t;

typedef struct {
	sctp_peeloff_arg_t p_arg;
	unsigned flags;
} sctp_peeloff_flags_arg_t;

/* Authentication (RFC 4895). */
enum {
	SCTP_AUTH_HMAC_ID_SHA1 = 1,
	SCTP_AUTH_HMAC_ID_SHA256 = 3
};

struct sctp_authchunk {
	uint8_t sauth_chunk;
};

struct sctp_hmacalgo {
	uint32_t shmac_num_idents;
	uint16_t shmac_idents[];
};
#define shmac_number_of_idents shmac_num_idents

struct sctp_authkey {
	sctp_assoc_t sca_assoc_id;
	uint16_t sca_keynumber, sca_keylength;
	uint8_t sca_key[];
};

struct sctp_authkeyid {
	sctp_assoc_t scact_assoc_id;
	uint16_t scact_keynumber;
};

struct sctp_authchunks {
	sctp_assoc_t gauth_assoc_id;
	uint32_t gauth_number_of_chunks;
	uint8_t gauth_chunks[];
};
#define guth_number_of_chunks gauth_number_of_chunks

/* Partial reliability (RFC 3758, RFC 7496). */
#define SCTP_PR_SCTP_NONE 0x0000
#define SCTP_PR_SCTP_TTL 0x0010
#define SCTP_PR_SCTP_RTX 0x0020
#define SCTP_PR_SCTP_PRIO 0x0030
#define SCTP_PR_SCTP_MAX SCTP_PR_SCTP_PRIO
#define SCTP_PR_SCTP_MASK 0x0030
#define SCTP_PR_POLICY(flags) ((flags) & SCTP_PR_SCTP_MASK)
#define SCTP_PR_TTL_ENABLED(flags) (SCTP_PR_POLICY(flags) == SCTP_PR_SCTP_TTL)
#define SCTP_PR_RTX_ENABLED(flags) (SCTP_PR_POLICY(flags) == SCTP_PR_SCTP_RTX)
#define SCTP_PR_PRIO_ENABLED(flags) (SCTP_PR_POLICY(flags) == SCTP_PR_SCTP_PRIO)

struct sctp_default_prinfo {
	sctp_assoc_t pr_assoc_id;
	uint32_t pr_value;
	uint16_t pr_policy;
};

struct sctp_prstatus {
	sctp_assoc_t sprstat_assoc_id;
	uint16_t sprstat_sid, sprstat_policy;
	uint64_t sprstat_abandoned_unsent, sprstat_abandoned_sent;
};

/* Streams that change (RFC 6525), and their schedulers (RFC 8260). */
#define SCTP_ENABLE_RESET_STREAM_REQ 1
#define SCTP_ENABLE_RESET_ASSOC_REQ 2
#define SCTP_ENABLE_CHANGE_ASSOC_REQ 4
#define SCTP_ENABLE_STRRESET_MASK 7
#define SCTP_STREAM_RESET_INCOMING 1
#define SCTP_STREAM_RESET_OUTGOING 2

struct sctp_reset_streams {
	sctp_assoc_t srs_assoc_id;
	uint16_t srs_flags, srs_number_streams;
	uint16_t srs_stream_list[];
};

struct sctp_add_streams {
	sctp_assoc_t sas_assoc_id;
	uint16_t sas_instrms, sas_outstrms;
};

enum sctp_sched_type {
	SCTP_SS_FCFS,
	SCTP_SS_DEFAULT = SCTP_SS_FCFS,
	SCTP_SS_PRIO,
	SCTP_SS_RR,
	SCTP_SS_MAX = SCTP_SS_RR
};

struct sctp_stream_value {
	sctp_assoc_t assoc_id;
	uint16_t stream_id, stream_value;
};

/* Messages: flags, and ancillary data. */
#ifndef MSG_NOTIFICATION
#define MSG_NOTIFICATION 0x8000
#endif

enum sctp_sinfo_flags {
	SCTP_UNORDERED = 1,
	SCTP_ADDR_OVER = 2,
	SCTP_ABORT = 4,
	SCTP_SACK_IMMEDIATELY = 8,
	SCTP_SENDALL = 0x40,
	SCTP_PR_SCTP_ALL = 0x80,
	SCTP_NOTIFICATION = MSG_NOTIFICATION,
	SCTP_EOF = 0x200
};

typedef enum sctp_cmsg_type {
	SCTP_INIT,
	SCTP_SNDRCV,
	SCTP_SNDINFO,
	SCTP_RCVINFO,
	SCTP_NXTINFO,
	SCTP_PRINFO,
	SCTP_AUTHINFO,
	SCTP_DSTADDRV4,
	SCTP_DSTADDRV6
} sctp_cmsg_t;

struct sctp_initmsg {
	uint16_t sinit_num_ostreams, sinit_max_instreams, sinit_max_attempts, sinit_max_init_timeo;
};

struct sctp_sndrcvinfo {
	uint16_t sinfo_stream, sinfo_ssn, sinfo_flags;
	uint32_t sinfo_ppid, sinfo_context, sinfo_timetolive, sinfo_tsn, sinfo_cumtsn;
	sctp_assoc_t sinfo_assoc_id;
};

struct sctp_sndinfo {
	uint16_t snd_sid, snd_flags;
	uint32_t snd_ppid, snd_context;
	sctp_assoc_t snd_assoc_id;
};

struct sctp_rcvinfo {
	uint16_t rcv_sid, rcv_ssn, rcv_flags;
	uint32_t rcv_ppid, rcv_tsn, rcv_cumtsn, rcv_context;
	sctp_assoc_t rcv_assoc_id;
};

struct sctp_nxtinfo {
	uint16_t nxt_sid, nxt_flags;
	uint32_t nxt_ppid, nxt_length;
	sctp_assoc_t nxt_assoc_id;
};

struct sctp_prinfo {
	uint16_t pr_policy;
	uint32_t pr_value;
};

struct sctp_authinfo {
	uint16_t auth_keynumber;
};

/* Notifications. */
enum sctp_sn_type {
	SCTP_SN_TYPE_BASE = 0x8000,
	SCTP_DATA_IO_EVENT = SCTP_SN_TYPE_BASE,
	SCTP_ASSOC_CHANGE,
	SCTP_PEER_ADDR_CHANGE,
	SCTP_SEND_FAILED,
	SCTP_REMOTE_ERROR,
	SCTP_SHUTDOWN_EVENT,
	SCTP_PARTIAL_DELIVERY_EVENT,
	SCTP_ADAPTATION_INDICATION,
	SCTP_AUTHENTICATION_EVENT,
	SCTP_SENDER_DRY_EVENT,
	SCTP_STREAM_RESET_EVENT,
	SCTP_ASSOC_RESET_EVENT,
	SCTP_STREAM_CHANGE_EVENT,
	SCTP_SEND_FAILED_EVENT,
	SCTP_SN_TYPE_MAX = SCTP_SEND_FAILED_EVENT
};
#define SCTP_AUTHENTICATION_INDICATION SCTP_AUTHENTICATION_EVENT

struct sctp_event {
	sctp_assoc_t se_assoc_id;
	uint16_t se_type;
	uint8_t se_on;
};

struct sctp_event_subscribe {
	uint8_t sctp_data_io_event, sctp_association_event, sctp_address_event, sctp_send_failure_event;
	uint8_t sctp_peer_error_event, sctp_shutdown_event, sctp_partial_delivery_event, sctp_adaptation_layer_event;
	uint8_t sctp_authentication_event, sctp_sender_dry_event, sctp_stream_reset_event, sctp_assoc_reset_event;
	uint8_t sctp_stream_change_event, sctp_send_failure_event_event;
};

enum sctp_sac_state {
	SCTP_COMM_UP,
	SCTP_COMM_LOST,
	SCTP_RESTART,
	SCTP_SHUTDOWN_COMP,
	SCTP_CANT_STR_ASSOC
};

struct sctp_assoc_change {
	uint16_t sac_type, sac_flags;
	uint32_t sac_length;
	uint16_t sac_state, sac_error, sac_outbound_streams, sac_inbound_streams;
	sctp_assoc_t sac_assoc_id;
	uint8_t sac_info[];
};

enum sctp_spc_state {
	SCTP_ADDR_AVAILABLE,
	SCTP_ADDR_UNREACHABLE,
	SCTP_ADDR_REMOVED,
	SCTP_ADDR_ADDED,
	SCTP_ADDR_MADE_PRIM,
	SCTP_ADDR_CONFIRMED,
	SCTP_ADDR_POTENTIALLY_FAILED
};
#define SCTP_ADDR_PF SCTP_ADDR_POTENTIALLY_FAILED

struct sctp_paddr_change {
	uint16_t spc_type, spc_flags;
	uint32_t spc_length;
	struct sockaddr_storage spc_aaddr;
	int spc_state, spc_error;
	sctp_assoc_t spc_assoc_id;
} __attribute__((packed, aligned(4)));

enum sctp_ssf_flags {
	SCTP_DATA_UNSENT,
	SCTP_DATA_SENT
};

struct sctp_send_failed {
	uint16_t ssf_type, ssf_flags;
	uint32_t ssf_length, ssf_error;
	struct sctp_sndrcvinfo ssf_info;
	sctp_assoc_t ssf_assoc_id;
	uint8_t ssf_data[];
};

struct sctp_send_failed_event {
	uint16_t ssf_type, ssf_flags;
	uint32_t ssf_length, ssf_error;
	struct sctp_sndinfo ssfe_info;
	sctp_assoc_t ssf_assoc_id;
	uint8_t ssf_data[];
};

struct sctp_remote_error {
	uint16_t sre_type, sre_flags;
	uint32_t sre_length;
	uint16_t sre_error;
	sctp_assoc_t sre_assoc_id;
	uint8_t sre_data[];
};

struct sctp_shutdown_event {
	uint16_t sse_type, sse_flags;
	uint32_t sse_length;
	sctp_assoc_t sse_assoc_id;
};

struct sctp_adaptation_event {
	uint16_t sai_type, sai_flags;
	uint32_t sai_length, sai_adaptation_ind;
	sctp_assoc_t sai_assoc_id;
};

enum {
	SCTP_PARTIAL_DELIVERY_ABORTED
};

struct sctp_pdapi_event {
	uint16_t pdapi_type, pdapi_flags;
	uint32_t pdapi_length, pdapi_indication;
	sctp_assoc_t pdapi_assoc_id;
	uint32_t pdapi_stream, pdapi_seq;
};

enum {
	SCTP_AUTH_NEW_KEY,
	SCTP_AUTH_FREE_KEY,
	SCTP_AUTH_NO_AUTH
};
#define SCTP_AUTH_NEWKEY SCTP_AUTH_NEW_KEY

struct sctp_authkey_event {
	uint16_t auth_type, auth_flags;
	uint32_t auth_length;
	uint16_t auth_keynumber, auth_altkeynumber;
	uint32_t auth_indication;
	sctp_assoc_t auth_assoc_id;
};

struct sctp_sender_dry_event {
	uint16_t sender_dry_type, sender_dry_flags;
	uint32_t sender_dry_length;
	sctp_assoc_t sender_dry_assoc_id;
};

#define SCTP_STREAM_RESET_INCOMING_SSN 1
#define SCTP_STREAM_RESET_OUTGOING_SSN 2
#define SCTP_STREAM_RESET_DENIED 4
#define SCTP_STREAM_RESET_FAILED 8

struct sctp_stream_reset_event {
	uint16_t strreset_type, strreset_flags;
	uint32_t strreset_length;
	sctp_assoc_t strreset_assoc_id;
	uint16_t strreset_stream_list[];
};

#define SCTP_ASSOC_RESET_DENIED 4
#define SCTP_ASSOC_RESET_FAILED 8

struct sctp_assoc_reset_event {
	uint16_t assocreset_type, assocreset_flags;
	uint32_t assocreset_length;
	sctp_assoc_t assocreset_assoc_id;
	uint32_t assocreset_local_tsn, assocreset_remote_tsn;
};

#define SCTP_ASSOC_CHANGE_DENIED 4
#define SCTP_ASSOC_CHANGE_FAILED 8
#define SCTP_STREAM_CHANGE_DENIED SCTP_ASSOC_CHANGE_DENIED
#define SCTP_STREAM_CHANGE_FAILED SCTP_ASSOC_CHANGE_FAILED

struct sctp_stream_change_event {
	uint16_t strchange_type, strchange_flags;
	uint32_t strchange_length;
	sctp_assoc_t strchange_assoc_id;
	uint16_t strchange_instrms, strchange_outstrms;
};

union sctp_notification {
	struct {
		uint16_t sn_type, sn_flags;
		uint32_t sn_length;
	} sn_header;
	struct sctp_assoc_change sn_assoc_change;
	struct sctp_paddr_change sn_paddr_change;
	struct sctp_remote_error sn_remote_error;
	struct sctp_send_failed sn_send_failed;
	struct sctp_shutdown_event sn_shutdown_event;
	struct sctp_adaptation_event sn_adaptation_event;
	struct sctp_pdapi_event sn_pdapi_event;
	struct sctp_authkey_event sn_authkey_event;
	struct sctp_sender_dry_event sn_sender_dry_event;
	struct sctp_stream_reset_event sn_strreset_event;
	struct sctp_assoc_reset_event sn_assocreset_event;
	struct sctp_stream_change_event sn_strchange_event;
	struct sctp_send_failed_event sn_send_failed_event;
};

#define SCTP_BINDX_ADD_ADDR 1
#define SCTP_BINDX_REM_ADDR 2
#endif

/* What sctp_sendv takes beside a message, and sctp_recvv gives. */
enum {
	SCTP_SENDV_NOINFO,
	SCTP_SENDV_SNDINFO,
	SCTP_SENDV_PRINFO,
	SCTP_SENDV_AUTHINFO,
	SCTP_SENDV_SPA
};
#define SCTP_SEND_SNDINFO_VALID 1
#define SCTP_SEND_PRINFO_VALID 2
#define SCTP_SEND_AUTHINFO_VALID 4

struct sctp_sendv_spa {
	uint32_t sendv_flags;
	struct sctp_sndinfo sendv_sndinfo;
	struct sctp_prinfo sendv_prinfo;
	struct sctp_authinfo sendv_authinfo;
};

enum {
	SCTP_RECVV_NOINFO,
	SCTP_RECVV_RCVINFO,
	SCTP_RECVV_NXTINFO,
	SCTP_RECVV_RN
};

struct sctp_recvv_rn {
	struct sctp_rcvinfo recvv_rcvinfo;
	struct sctp_nxtinfo recvv_nxtinfo;
};

#ifdef __cplusplus
extern "C" {
#endif

int sctp_bindx(int fd, struct sockaddr *addresses, int count, int flags);
int sctp_connectx(int fd, struct sockaddr *addresses, int count, sctp_assoc_t *association);
int sctp_peeloff(int fd, sctp_assoc_t association);
int sctp_peeloff_flags(int fd, sctp_assoc_t association, unsigned flags);
int sctp_opt_info(int fd, sctp_assoc_t association, int option, void *value, socklen_t *size);
int sctp_getpaddrs(int fd, sctp_assoc_t association, struct sockaddr **addresses);
int sctp_freepaddrs(struct sockaddr *addresses);
int sctp_getladdrs(int fd, sctp_assoc_t association, struct sockaddr **addresses);
int sctp_freeladdrs(struct sockaddr *addresses);
int sctp_getaddrlen(sa_family_t family);
int sctp_send(int fd, const void *message, size_t size, const struct sctp_sndrcvinfo *info, int flags);
int sctp_sendmsg(int fd, const void *message, size_t size, struct sockaddr *to, socklen_t to_size, uint32_t ppid,
		 uint32_t flags, uint16_t stream, uint32_t lifetime_ms, uint32_t context);
int sctp_sendv(int fd, const struct iovec *parts, int part_count, struct sockaddr *addresses, int address_count,
	       void *info, socklen_t info_size, unsigned int info_type, int flags);
int sctp_sendx(int fd, const void *message, size_t size, struct sockaddr *addresses, int address_count,
	       struct sctp_sndrcvinfo *info, int flags);
int sctp_recvmsg(int fd, void *message, size_t size, struct sockaddr *from, socklen_t *from_size,
		 struct sctp_sndrcvinfo *info, int *flags);
int sctp_recvv(int fd, const struct iovec *parts, int part_count, struct sockaddr *from, socklen_t *from_size,
	       void *info, socklen_t *info_size, unsigned int *info_type, int *flags);

#ifdef __cplusplus
}
#endif
#endif
