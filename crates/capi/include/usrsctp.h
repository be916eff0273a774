/* The functions of usrsctp over Polypath, with its numbers and layouts, for programs that are written for it.
 * docs/sockets-api.md says what differs. SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef POLYPATH_USRSCTP_H
#define POLYPATH_USRSCTP_H

#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef IPPROTO_SCTP
#define IPPROTO_SCTP 132
#endif

/* What was received is a notification. */
#ifndef MSG_NOTIFICATION
#define MSG_NOTIFICATION 0x2000
#endif

typedef uint32_t sctp_assoc_t;

/* Addresses of programs that carry packets themselves. */
#define AF_CONN 123

struct sockaddr_conn {
    uint16_t sconn_family;
    uint16_t sconn_port;
    void *sconn_addr;
};

union sctp_sockstore {
    struct sockaddr_in sin;
    struct sockaddr_in6 sin6;
    struct sockaddr_conn sconn;
    struct sockaddr sa;
};

struct sctp_common_header {
    uint16_t source_port;
    uint16_t destination_port;
    uint32_t verification_tag;
    uint32_t crc32c;
} __attribute__((packed));

/* Instead of an association. */
#define SCTP_FUTURE_ASSOC 0
#define SCTP_CURRENT_ASSOC 1
#define SCTP_ALL_ASSOC 2

/* usrsctp_get_events(). */
#define SCTP_EVENT_READ 0x0001
#define SCTP_EVENT_WRITE 0x0002
#define SCTP_EVENT_ERROR 0x0004

/* Beside a message that is sent. */
#define SCTP_SENDV_NOINFO 0
#define SCTP_SENDV_SNDINFO 1
#define SCTP_SENDV_PRINFO 2
#define SCTP_SENDV_AUTHINFO 3
#define SCTP_SENDV_SPA 4

#define SCTP_SEND_SNDINFO_VALID 0x00000001
#define SCTP_SEND_PRINFO_VALID 0x00000002
#define SCTP_SEND_AUTHINFO_VALID 0x00000004

struct sctp_sndinfo {
    uint16_t snd_sid;
    uint16_t snd_flags;
    uint32_t snd_ppid;
    uint32_t snd_context;
    sctp_assoc_t snd_assoc_id;
};

struct sctp_prinfo {
    uint16_t pr_policy;
    uint32_t pr_value;
};

struct sctp_authinfo {
    uint16_t auth_keynumber;
};

struct sctp_sendv_spa {
    uint32_t sendv_flags;
    struct sctp_sndinfo sendv_sndinfo;
    struct sctp_prinfo sendv_prinfo;
    struct sctp_authinfo sendv_authinfo;
};

/* Beside a message that is received. */
#define SCTP_RECVV_NOINFO 0
#define SCTP_RECVV_RCVINFO 1
#define SCTP_RECVV_NXTINFO 2
#define SCTP_RECVV_RN 3

struct sctp_rcvinfo {
    uint16_t rcv_sid;
    uint16_t rcv_ssn;
    uint16_t rcv_flags;
    uint32_t rcv_ppid;
    uint32_t rcv_tsn;
    uint32_t rcv_cumtsn;
    uint32_t rcv_context;
    sctp_assoc_t rcv_assoc_id;
};

struct sctp_nxtinfo {
    uint16_t nxt_sid;
    uint16_t nxt_flags;
    uint32_t nxt_ppid;
    uint32_t nxt_length;
    sctp_assoc_t nxt_assoc_id;
};

struct sctp_recvv_rn {
    struct sctp_rcvinfo recvv_rcvinfo;
    struct sctp_nxtinfo recvv_nxtinfo;
};

/* Flags of messages. */
#define SCTP_NOTIFICATION 0x0010
#define SCTP_EOF 0x0100
#define SCTP_ABORT 0x0200
#define SCTP_UNORDERED 0x0400
#define SCTP_ADDR_OVER 0x0800
#define SCTP_SENDALL 0x1000
#define SCTP_EOR 0x2000
#define SCTP_SACK_IMMEDIATELY 0x4000

/* Partial reliability. */
#define SCTP_PR_SCTP_NONE 0x0000
#define SCTP_PR_SCTP_TTL 0x0001
#define SCTP_PR_SCTP_BUF 0x0002
#define SCTP_PR_SCTP_RTX 0x0003

/* Notifications. */
#define SCTP_ASSOC_CHANGE 0x0001
#define SCTP_PEER_ADDR_CHANGE 0x0002
#define SCTP_REMOTE_ERROR 0x0003
#define SCTP_SEND_FAILED 0x0004
#define SCTP_SHUTDOWN_EVENT 0x0005
#define SCTP_ADAPTATION_INDICATION 0x0006
#define SCTP_PARTIAL_DELIVERY_EVENT 0x0007
#define SCTP_AUTHENTICATION_EVENT 0x0008
#define SCTP_STREAM_RESET_EVENT 0x0009
#define SCTP_SENDER_DRY_EVENT 0x000a
#define SCTP_NOTIFICATIONS_STOPPED_EVENT 0x000b
#define SCTP_ASSOC_RESET_EVENT 0x000c
#define SCTP_STREAM_CHANGE_EVENT 0x000d
#define SCTP_SEND_FAILED_EVENT 0x000e

struct sctp_assoc_change {
    uint16_t sac_type;
    uint16_t sac_flags;
    uint32_t sac_length;
    uint16_t sac_state;
    uint16_t sac_error;
    uint16_t sac_outbound_streams;
    uint16_t sac_inbound_streams;
    sctp_assoc_t sac_assoc_id;
    uint8_t sac_info[];
};

#define SCTP_COMM_UP 0x0001
#define SCTP_COMM_LOST 0x0002
#define SCTP_RESTART 0x0003
#define SCTP_SHUTDOWN_COMP 0x0004
#define SCTP_CANT_STR_ASSOC 0x0005

#define SCTP_ASSOC_SUPPORTS_PR 0x01
#define SCTP_ASSOC_SUPPORTS_AUTH 0x02
#define SCTP_ASSOC_SUPPORTS_ASCONF 0x03
#define SCTP_ASSOC_SUPPORTS_MULTIBUF 0x04
#define SCTP_ASSOC_SUPPORTS_RE_CONFIG 0x05
#define SCTP_ASSOC_SUPPORTS_INTERLEAVING 0x06
#define SCTP_ASSOC_SUPPORTS_MAX 0x06

struct sctp_paddr_change {
    uint16_t spc_type;
    uint16_t spc_flags;
    uint32_t spc_length;
    struct sockaddr_storage spc_aaddr;
    uint32_t spc_state;
    uint32_t spc_error;
    sctp_assoc_t spc_assoc_id;
    uint8_t spc_padding[4];
};

#define SCTP_ADDR_AVAILABLE 0x0001
#define SCTP_ADDR_UNREACHABLE 0x0002
#define SCTP_ADDR_REMOVED 0x0003
#define SCTP_ADDR_ADDED 0x0004
#define SCTP_ADDR_MADE_PRIM 0x0005
#define SCTP_ADDR_CONFIRMED 0x0006

struct sctp_remote_error {
    uint16_t sre_type;
    uint16_t sre_flags;
    uint32_t sre_length;
    uint16_t sre_error;
    sctp_assoc_t sre_assoc_id;
    uint8_t sre_data[];
};

struct sctp_shutdown_event {
    uint16_t sse_type;
    uint16_t sse_flags;
    uint32_t sse_length;
    sctp_assoc_t sse_assoc_id;
};

struct sctp_adaptation_event {
    uint16_t sai_type;
    uint16_t sai_flags;
    uint32_t sai_length;
    uint32_t sai_adaptation_ind;
    sctp_assoc_t sai_assoc_id;
};

struct sctp_pdapi_event {
    uint16_t pdapi_type;
    uint16_t pdapi_flags;
    uint32_t pdapi_length;
    uint32_t pdapi_indication;
    uint32_t pdapi_stream;
    uint32_t pdapi_seq;
    sctp_assoc_t pdapi_assoc_id;
};

#define SCTP_PARTIAL_DELIVERY_ABORTED 0x0001

struct sctp_authkey_event {
    uint16_t auth_type;
    uint16_t auth_flags;
    uint32_t auth_length;
    uint16_t auth_keynumber;
    uint32_t auth_indication;
    sctp_assoc_t auth_assoc_id;
};

#define SCTP_AUTH_NEW_KEY 0x0001
#define SCTP_AUTH_NO_AUTH 0x0002
#define SCTP_AUTH_FREE_KEY 0x0003

struct sctp_sender_dry_event {
    uint16_t sender_dry_type;
    uint16_t sender_dry_flags;
    uint32_t sender_dry_length;
    sctp_assoc_t sender_dry_assoc_id;
};

struct sctp_stream_reset_event {
    uint16_t strreset_type;
    uint16_t strreset_flags;
    uint32_t strreset_length;
    sctp_assoc_t strreset_assoc_id;
    uint16_t strreset_stream_list[];
};

#define SCTP_STREAM_RESET_INCOMING_SSN 0x0001
#define SCTP_STREAM_RESET_OUTGOING_SSN 0x0002
#define SCTP_STREAM_RESET_DENIED 0x0004
#define SCTP_STREAM_RESET_FAILED 0x0008

/* Flags of struct sctp_reset_streams. */
#define SCTP_STREAM_RESET_INCOMING 0x00000001
#define SCTP_STREAM_RESET_OUTGOING 0x00000002

struct sctp_assoc_reset_event {
    uint16_t assocreset_type;
    uint16_t assocreset_flags;
    uint32_t assocreset_length;
    sctp_assoc_t assocreset_assoc_id;
    uint32_t assocreset_local_tsn;
    uint32_t assocreset_remote_tsn;
};

#define SCTP_ASSOC_RESET_DENIED 0x0004
#define SCTP_ASSOC_RESET_FAILED 0x0008

struct sctp_stream_change_event {
    uint16_t strchange_type;
    uint16_t strchange_flags;
    uint32_t strchange_length;
    sctp_assoc_t strchange_assoc_id;
    uint16_t strchange_instrms;
    uint16_t strchange_outstrms;
};

#define SCTP_STREAM_CHANGE_DENIED 0x0004
#define SCTP_STREAM_CHANGE_FAILED 0x0008

struct sctp_send_failed_event {
    uint16_t ssfe_type;
    uint16_t ssfe_flags;
    uint32_t ssfe_length;
    uint32_t ssfe_error;
    struct sctp_sndinfo ssfe_info;
    sctp_assoc_t ssfe_assoc_id;
    uint8_t ssfe_data[];
};

#define SCTP_DATA_UNSENT 0x0001
#define SCTP_DATA_SENT 0x0002

struct sctp_tlv {
    uint16_t sn_type;
    uint16_t sn_flags;
    uint32_t sn_length;
};

union sctp_notification {
    struct sctp_tlv sn_header;
    struct sctp_assoc_change sn_assoc_change;
    struct sctp_paddr_change sn_paddr_change;
    struct sctp_remote_error sn_remote_error;
    struct sctp_shutdown_event sn_shutdown_event;
    struct sctp_adaptation_event sn_adaptation_event;
    struct sctp_pdapi_event sn_pdapi_event;
    struct sctp_authkey_event sn_auth_event;
    struct sctp_sender_dry_event sn_sender_dry_event;
    struct sctp_send_failed_event sn_send_failed_event;
    struct sctp_stream_reset_event sn_strreset_event;
    struct sctp_assoc_reset_event sn_assocreset_event;
    struct sctp_stream_change_event sn_strchange_event;
};

/* Options of level IPPROTO_SCTP, and what their values are. */
#define SCTP_RTOINFO 0x00000001
#define SCTP_ASSOCINFO 0x00000002
#define SCTP_INITMSG 0x00000003
#define SCTP_NODELAY 0x00000004
#define SCTP_AUTOCLOSE 0x00000005
#define SCTP_SET_PEER_PRIMARY_ADDR 0x00000006
#define SCTP_PRIMARY_ADDR 0x00000007
#define SCTP_ADAPTATION_LAYER 0x00000008
#define SCTP_DISABLE_FRAGMENTS 0x00000009
#define SCTP_PEER_ADDR_PARAMS 0x0000000a
#define SCTP_I_WANT_MAPPED_V4_ADDR 0x0000000d
#define SCTP_MAXSEG 0x0000000e
#define SCTP_DELAYED_SACK 0x0000000f
#define SCTP_FRAGMENT_INTERLEAVE 0x00000010
#define SCTP_PARTIAL_DELIVERY_POINT 0x00000011
#define SCTP_AUTH_CHUNK 0x00000012
#define SCTP_AUTH_KEY 0x00000013
#define SCTP_HMAC_IDENT 0x00000014
#define SCTP_AUTH_ACTIVE_KEY 0x00000015
#define SCTP_AUTH_DELETE_KEY 0x00000016
#define SCTP_AUTO_ASCONF 0x00000018
#define SCTP_MAX_BURST 0x00000019
#define SCTP_CONTEXT 0x0000001a
#define SCTP_REUSE_PORT 0x0000001c
#define SCTP_AUTH_DEACTIVATE_KEY 0x0000001d
#define SCTP_EVENT 0x0000001e
#define SCTP_RECVRCVINFO 0x0000001f
#define SCTP_RECVNXTINFO 0x00000020
#define SCTP_DEFAULT_SNDINFO 0x00000021
#define SCTP_DEFAULT_PRINFO 0x00000022
#define SCTP_REMOTE_UDP_ENCAPS_PORT 0x00000024
#define SCTP_ECN_SUPPORTED 0x00000025
#define SCTP_PR_SUPPORTED 0x00000026
#define SCTP_AUTH_SUPPORTED 0x00000027
#define SCTP_ASCONF_SUPPORTED 0x00000028
#define SCTP_RECONFIG_SUPPORTED 0x00000029
#define SCTP_STATUS 0x00000100
#define SCTP_GET_PEER_ADDR_INFO 0x00000101
#define SCTP_GET_ASSOC_NUMBER 0x00000104
#define SCTP_GET_ASSOC_ID_LIST 0x00000105
#define SCTP_PR_STREAM_STATUS 0x00000107
#define SCTP_PR_ASSOC_STATUS 0x00000108
#define SCTP_ENABLE_STREAM_RESET 0x00000900
#define SCTP_RESET_STREAMS 0x00000901
#define SCTP_RESET_ASSOC 0x00000902
#define SCTP_ADD_STREAMS 0x00000903
#define SCTP_PLUGGABLE_SS 0x00001203
#define SCTP_SS_VALUE 0x00001204

struct sctp_initmsg {
    uint16_t sinit_num_ostreams;
    uint16_t sinit_max_instreams;
    uint16_t sinit_max_attempts;
    uint16_t sinit_max_init_timeo;
};

struct sctp_rtoinfo {
    sctp_assoc_t srto_assoc_id;
    uint32_t srto_initial;
    uint32_t srto_max;
    uint32_t srto_min;
};

struct sctp_assocparams {
    sctp_assoc_t sasoc_assoc_id;
    uint32_t sasoc_peer_rwnd;
    uint32_t sasoc_local_rwnd;
    uint32_t sasoc_cookie_life;
    uint16_t sasoc_asocmaxrxt;
    uint16_t sasoc_number_peer_destinations;
};

struct sctp_setprim {
    struct sockaddr_storage ssp_addr;
    sctp_assoc_t ssp_assoc_id;
    uint8_t ssp_padding[4];
};

struct sctp_setpeerprim {
    struct sockaddr_storage sspp_addr;
    sctp_assoc_t sspp_assoc_id;
    uint8_t sspp_padding[4];
};

struct sctp_setadaptation {
    uint32_t ssb_adaptation_ind;
};

struct sctp_paddrparams {
    struct sockaddr_storage spp_address;
    sctp_assoc_t spp_assoc_id;
    uint32_t spp_hbinterval;
    uint32_t spp_pathmtu;
    uint32_t spp_flags;
    uint32_t spp_ipv6_flowlabel;
    uint16_t spp_pathmaxrxt;
    uint8_t spp_dscp;
};

#define SPP_HB_ENABLE 0x00000001
#define SPP_HB_DISABLE 0x00000002
#define SPP_HB_DEMAND 0x00000004
#define SPP_PMTUD_ENABLE 0x00000008
#define SPP_PMTUD_DISABLE 0x00000010
#define SPP_HB_TIME_IS_ZERO 0x00000080
#define SPP_IPV6_FLOWLABEL 0x00000100
#define SPP_DSCP 0x00000200

struct sctp_assoc_value {
    sctp_assoc_t assoc_id;
    uint32_t assoc_value;
};

#define SCTP_ENABLE_RESET_STREAM_REQ 0x00000001
#define SCTP_ENABLE_RESET_ASSOC_REQ 0x00000002
#define SCTP_ENABLE_CHANGE_ASSOC_REQ 0x00000004

struct sctp_reset_streams {
    sctp_assoc_t srs_assoc_id;
    uint16_t srs_flags;
    uint16_t srs_number_streams;
    uint16_t srs_stream_list[];
};

struct sctp_add_streams {
    sctp_assoc_t sas_assoc_id;
    uint16_t sas_instrms;
    uint16_t sas_outstrms;
};

struct sctp_event {
    sctp_assoc_t se_assoc_id;
    uint16_t se_type;
    uint8_t se_on;
};

struct sctp_sack_info {
    sctp_assoc_t sack_assoc_id;
    uint32_t sack_delay;
    uint32_t sack_freq;
};

struct sctp_default_prinfo {
    uint16_t pr_policy;
    uint32_t pr_value;
    sctp_assoc_t pr_assoc_id;
};

struct sctp_udpencaps {
    struct sockaddr_storage sue_address;
    uint32_t sue_assoc_id;
    uint16_t sue_port;
};

struct sctp_paddrinfo {
    struct sockaddr_storage spinfo_address;
    sctp_assoc_t spinfo_assoc_id;
    int32_t spinfo_state;
    uint32_t spinfo_cwnd;
    uint32_t spinfo_srtt;
    uint32_t spinfo_rto;
    uint32_t spinfo_mtu;
};

struct sctp_status {
    sctp_assoc_t sstat_assoc_id;
    int32_t sstat_state;
    uint32_t sstat_rwnd;
    uint16_t sstat_unackdata;
    uint16_t sstat_penddata;
    uint16_t sstat_instrms;
    uint16_t sstat_outstrms;
    uint32_t sstat_fragmentation_point;
    struct sctp_paddrinfo sstat_primary;
};

/* States of associations, and of paths. */
#define SCTP_CLOSED 0x0000
#define SCTP_COOKIE_WAIT 0x0002
#define SCTP_COOKIE_ECHOED 0x0004
#define SCTP_ESTABLISHED 0x0008
#define SCTP_SHUTDOWN_SENT 0x0010
#define SCTP_SHUTDOWN_RECEIVED 0x0020
#define SCTP_SHUTDOWN_ACK_SENT 0x0040
#define SCTP_SHUTDOWN_PENDING 0x0080

#define SCTP_ACTIVE 0x0001
#define SCTP_INACTIVE 0x0002
#define SCTP_UNCONFIRMED 0x0200

struct sctp_assoc_ids {
    uint32_t gaids_number_of_ids;
    sctp_assoc_t gaids_assoc_id[];
};

struct sctp_hmacalgo {
    uint32_t shmac_number_of_idents;
    uint16_t shmac_idents[];
};

#define SCTP_AUTH_HMAC_ID_SHA1 0x0001
#define SCTP_AUTH_HMAC_ID_SHA256 0x0003

struct sctp_authchunk {
    uint8_t sauth_chunk;
};

struct sctp_authkey {
    sctp_assoc_t sca_assoc_id;
    uint16_t sca_keynumber;
    uint16_t sca_keylength;
    uint8_t sca_key[];
};

struct sctp_authkeyid {
    sctp_assoc_t scact_assoc_id;
    uint16_t scact_keynumber;
};

struct sctp_stream_value {
    sctp_assoc_t assoc_id;
    uint16_t stream_id;
    uint16_t stream_value;
};

struct sctp_prstatus {
    sctp_assoc_t sprstat_assoc_id;
    uint16_t sprstat_sid;
    uint16_t sprstat_policy;
    uint64_t sprstat_abandoned_unsent;
    uint64_t sprstat_abandoned_sent;
};

#define SCTP_SS_DEFAULT 0x00000000
#define SCTP_SS_ROUND_ROBIN 0x00000001
#define SCTP_SS_PRIORITY 0x00000003
#define SCTP_SS_FIRST_COME 0x00000005

/* Functions. */
#define SCTP_BINDX_ADD_ADDR 0x00008001
#define SCTP_BINDX_REM_ADDR 0x00008002
#define SCTP_DUMP_OUTBOUND 1
#define SCTP_DUMP_INBOUND 0

struct socket;

void usrsctp_init(uint16_t, int (*)(void *, void *, size_t, uint8_t, uint8_t), void (*)(const char *, ...));
void usrsctp_init_nothreads(uint16_t, int (*)(void *, void *, size_t, uint8_t, uint8_t), void (*)(const char *, ...));
int usrsctp_finish(void);
void usrsctp_handle_timers(uint32_t);
struct socket *usrsctp_socket(int, int, int,
                              int (*)(struct socket *, union sctp_sockstore, void *, size_t, struct sctp_rcvinfo, int, void *),
                              int (*)(struct socket *, uint32_t, void *), uint32_t, void *);
void usrsctp_close(struct socket *);
int usrsctp_bind(struct socket *, struct sockaddr *, socklen_t);
int usrsctp_bindx(struct socket *, struct sockaddr *, int, int);
int usrsctp_listen(struct socket *, int);
struct socket *usrsctp_accept(struct socket *, struct sockaddr *, socklen_t *);
struct socket *usrsctp_peeloff(struct socket *, sctp_assoc_t);
int usrsctp_connect(struct socket *, struct sockaddr *, socklen_t);
int usrsctp_connectx(struct socket *, const struct sockaddr *, int, sctp_assoc_t *);
int usrsctp_shutdown(struct socket *, int);
ssize_t usrsctp_sendv(struct socket *, const void *, size_t, struct sockaddr *, int, void *, socklen_t, unsigned int, int);
ssize_t usrsctp_recvv(struct socket *, void *, size_t, struct sockaddr *, socklen_t *, void *, socklen_t *, unsigned int *, int *);
int usrsctp_setsockopt(struct socket *, int, int, const void *, socklen_t);
int usrsctp_getsockopt(struct socket *, int, int, void *, socklen_t *);
int usrsctp_opt_info(struct socket *, sctp_assoc_t, int, void *, socklen_t *);
sctp_assoc_t usrsctp_getassocid(struct socket *, struct sockaddr *);
int usrsctp_getpaddrs(struct socket *, sctp_assoc_t, struct sockaddr **);
void usrsctp_freepaddrs(struct sockaddr *);
int usrsctp_getladdrs(struct socket *, sctp_assoc_t, struct sockaddr **);
void usrsctp_freeladdrs(struct sockaddr *);
int usrsctp_set_non_blocking(struct socket *, int);
int usrsctp_get_non_blocking(struct socket *);
int usrsctp_set_ulpinfo(struct socket *, void *);
int usrsctp_get_ulpinfo(struct socket *, void **);
int usrsctp_set_upcall(struct socket *, void (*)(struct socket *, void *, int), void *);
int usrsctp_get_events(struct socket *);
void usrsctp_register_address(void *);
void usrsctp_deregister_address(void *);
void usrsctp_conninput(void *, const void *, size_t, uint8_t);
void usrsctp_enable_crc32c_offload(void);
uint32_t usrsctp_crc32c(void *, size_t);
char *usrsctp_dumppacket(const void *, size_t, int);
void usrsctp_freedumpbuffer(char *);

/* Settings of the stack, which programs share: setting another value than that of `get` fails. */
#define POLYPATH_SETTING(name)               \
    int usrsctp_sysctl_set_##name(uint32_t); \
    uint32_t usrsctp_sysctl_get_##name(void);
POLYPATH_SETTING(sctp_sendspace)
POLYPATH_SETTING(sctp_recvspace)
POLYPATH_SETTING(sctp_ecn_enable)
POLYPATH_SETTING(sctp_pr_enable)
POLYPATH_SETTING(sctp_no_csum_on_loopback)
POLYPATH_SETTING(sctp_blackhole)
POLYPATH_SETTING(sctp_enable_sack_immediately)
POLYPATH_SETTING(sctp_udp_tunneling_port)

#ifdef __cplusplus
}
#endif

#endif
