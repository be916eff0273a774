//! Numbers of Linux's sockets API for SCTP (`linux/sctp.h`, `netinet/sctp.h`), as programs are compiled with them.

/// `IPPROTO_SCTP`, which is also the level of its options (`SOL_SCTP`).
pub const IPPROTO_SCTP: i32 = 132;
/// `SOL_SOCKET`.
pub const SOL_SOCKET: i32 = 1;
/// `IPPROTO_IPV6`.
pub const IPPROTO_IPV6: i32 = 41;
/// `IPV6_V6ONLY`.
pub const IPV6_V6ONLY: i32 = 26;
/// `MSG_NOTIFICATION`: what was received is a notification.
pub const MSG_NOTIFICATION: i32 = 0x8000;

/// Options of level [`SOL_SOCKET`] that the service knows.
pub mod socket_option {
    /// `SO_REUSEADDR`.
    pub const REUSEADDR: i32 = 2;
    /// `SO_TYPE`.
    pub const TYPE: i32 = 3;
    /// `SO_ERROR`.
    pub const ERROR: i32 = 4;
    /// `SO_SNDBUF`.
    pub const SNDBUF: i32 = 7;
    /// `SO_RCVBUF`.
    pub const RCVBUF: i32 = 8;
    /// `SO_KEEPALIVE`, which SCTP does not need: it has heartbeats.
    pub const KEEPALIVE: i32 = 9;
    /// `SO_LINGER`.
    pub const LINGER: i32 = 13;
    /// `SO_REUSEPORT`.
    pub const REUSEPORT: i32 = 15;
    /// `SO_ACCEPTCONN`.
    pub const ACCEPTCONN: i32 = 30;
    /// `SO_PROTOCOL`.
    pub const PROTOCOL: i32 = 38;
    /// `SO_DOMAIN`.
    pub const DOMAIN: i32 = 39;
}

/// Options of level [`IPPROTO_SCTP`].
pub mod option {
    macro_rules! options {
        ($($(#[$meta:meta])* $name:ident = $number:literal;)*) => {
            $($(#[$meta])* pub const $name: i32 = $number;)*
            /// All of them: number, and name without `SCTP_`.
            pub const ALL: &[(i32, &str)] = &[$(($number, stringify!($name))),*];
        };
    }

    options! {
        /// `struct sctp_rtoinfo`.
        RTOINFO = 0;
        /// `struct sctp_assocparams`.
        ASSOCINFO = 1;
        /// `struct sctp_initmsg`.
        INITMSG = 2;
        /// `int`.
        NODELAY = 3;
        /// `int`, seconds.
        AUTOCLOSE = 4;
        /// `struct sctp_setpeerprim`.
        SET_PEER_PRIMARY_ADDR = 5;
        /// `struct sctp_prim`.
        PRIMARY_ADDR = 6;
        /// `struct sctp_setadaptation`.
        ADAPTATION_LAYER = 7;
        /// `int`.
        DISABLE_FRAGMENTS = 8;
        /// `struct sctp_paddrparams`.
        PEER_ADDR_PARAMS = 9;
        /// `struct sctp_sndrcvinfo`.
        DEFAULT_SEND_PARAM = 10;
        /// `struct sctp_event_subscribe`.
        EVENTS = 11;
        /// `int`.
        I_WANT_MAPPED_V4_ADDR = 12;
        /// `struct sctp_assoc_value`, or `int`.
        MAXSEG = 13;
        /// `struct sctp_status`.
        STATUS = 14;
        /// `struct sctp_paddrinfo`.
        GET_PEER_ADDR_INFO = 15;
        /// `struct sctp_sack_info`, or `struct sctp_assoc_value`.
        DELAYED_SACK = 16;
        /// `struct sctp_assoc_value`.
        CONTEXT = 17;
        /// `int`.
        FRAGMENT_INTERLEAVE = 18;
        /// `int`, bytes.
        PARTIAL_DELIVERY_POINT = 19;
        /// `struct sctp_assoc_value`, or `int`.
        MAX_BURST = 20;
        /// `struct sctp_authchunk`.
        AUTH_CHUNK = 21;
        /// `struct sctp_hmacalgo`.
        HMAC_IDENT = 22;
        /// `struct sctp_authkey`.
        AUTH_KEY = 23;
        /// `struct sctp_authkeyid`.
        AUTH_ACTIVE_KEY = 24;
        /// `struct sctp_authkeyid`.
        AUTH_DELETE_KEY = 25;
        /// `struct sctp_authchunks`.
        PEER_AUTH_CHUNKS = 26;
        /// `struct sctp_authchunks`.
        LOCAL_AUTH_CHUNKS = 27;
        /// `uint32_t`.
        GET_ASSOC_NUMBER = 28;
        /// `struct sctp_assoc_ids`.
        GET_ASSOC_ID_LIST = 29;
        /// `int`.
        AUTO_ASCONF = 30;
        /// `struct sctp_paddrthlds`.
        PEER_ADDR_THLDS = 31;
        /// `int`.
        RECVRCVINFO = 32;
        /// `int`.
        RECVNXTINFO = 33;
        /// `struct sctp_sndinfo`.
        DEFAULT_SNDINFO = 34;
        /// `struct sctp_authkeyid`.
        AUTH_DEACTIVATE_KEY = 35;
        /// `int`.
        REUSE_PORT = 36;
        /// `struct sctp_paddrthlds_v2`.
        PEER_ADDR_THLDS_V2 = 37;
        /// Packed addresses.
        SOCKOPT_BINDX_ADD = 100;
        /// Packed addresses.
        SOCKOPT_BINDX_REM = 101;
        /// `sctp_peeloff_arg_t`.
        SOCKOPT_PEELOFF = 102;
        /// Packed addresses.
        SOCKOPT_CONNECTX_OLD = 107;
        /// `struct sctp_getaddrs`.
        GET_PEER_ADDRS = 108;
        /// `struct sctp_getaddrs`.
        GET_LOCAL_ADDRS = 109;
        /// Packed addresses.
        SOCKOPT_CONNECTX = 110;
        /// `struct sctp_getaddrs_old`.
        SOCKOPT_CONNECTX3 = 111;
        /// `struct sctp_assoc_stats`.
        GET_ASSOC_STATS = 112;
        /// `struct sctp_assoc_value`.
        PR_SUPPORTED = 113;
        /// `struct sctp_default_prinfo`.
        DEFAULT_PRINFO = 114;
        /// `struct sctp_prstatus`.
        PR_ASSOC_STATUS = 115;
        /// `struct sctp_prstatus`.
        PR_STREAM_STATUS = 116;
        /// `struct sctp_assoc_value`.
        RECONFIG_SUPPORTED = 117;
        /// `struct sctp_assoc_value`.
        ENABLE_STREAM_RESET = 118;
        /// `struct sctp_reset_streams`.
        RESET_STREAMS = 119;
        /// `sctp_assoc_t`.
        RESET_ASSOC = 120;
        /// `struct sctp_add_streams`.
        ADD_STREAMS = 121;
        /// `sctp_peeloff_flags_arg_t`.
        SOCKOPT_PEELOFF_FLAGS = 122;
        /// `struct sctp_assoc_value`.
        STREAM_SCHEDULER = 123;
        /// `struct sctp_stream_value`.
        STREAM_SCHEDULER_VALUE = 124;
        /// `struct sctp_assoc_value`.
        INTERLEAVING_SUPPORTED = 125;
        /// Only inside the kernel.
        SENDMSG_CONNECT = 126;
        /// `struct sctp_event`.
        EVENT = 127;
        /// `struct sctp_assoc_value`.
        ASCONF_SUPPORTED = 128;
        /// `struct sctp_assoc_value`.
        AUTH_SUPPORTED = 129;
        /// `struct sctp_assoc_value`.
        ECN_SUPPORTED = 130;
        /// `struct sctp_assoc_value`.
        EXPOSE_POTENTIALLY_FAILED_STATE = 131;
        /// `struct sctp_udpencaps`.
        REMOTE_UDP_ENCAPS_PORT = 132;
        /// `struct sctp_probeinterval`.
        PLPMTUD_PROBE_INTERVAL = 133;
    }
}

/// Flags of messages (`enum sctp_sinfo_flags`).
pub mod flag {
    /// `SCTP_UNORDERED`.
    pub const UNORDERED: u16 = 1;
    /// `SCTP_ADDR_OVER`.
    pub const ADDR_OVER: u16 = 2;
    /// `SCTP_ABORT`.
    pub const ABORT: u16 = 4;
    /// `SCTP_SACK_IMMEDIATELY`.
    pub const SACK_IMMEDIATELY: u16 = 8;
    /// `SCTP_SENDALL`.
    pub const SENDALL: u16 = 0x40;
    /// `SCTP_EOF`.
    pub const EOF: u16 = 0x200;
    /// `SCTP_PR_SCTP_TTL`.
    pub const PR_TTL: u16 = 0x10;
    /// `SCTP_PR_SCTP_RTX`.
    pub const PR_RTX: u16 = 0x20;
    /// `SCTP_PR_SCTP_PRIO`.
    pub const PR_PRIO: u16 = 0x30;
    /// `SCTP_PR_SCTP_MASK`.
    pub const PR_MASK: u16 = 0x30;
}

/// Ancillary data of level [`IPPROTO_SCTP`] (`enum sctp_cmsg_type`).
pub mod ancillary {
    /// `SCTP_INIT`.
    pub const INIT: i32 = 0;
    /// `SCTP_SNDRCV`.
    pub const SNDRCV: i32 = 1;
    /// `SCTP_SNDINFO`.
    pub const SNDINFO: i32 = 2;
    /// `SCTP_RCVINFO`.
    pub const RCVINFO: i32 = 3;
    /// `SCTP_NXTINFO`.
    pub const NXTINFO: i32 = 4;
    /// `SCTP_PRINFO`.
    pub const PRINFO: i32 = 5;
    /// `SCTP_AUTHINFO`.
    pub const AUTHINFO: i32 = 6;
    /// `SCTP_DSTADDRV4`.
    pub const DSTADDRV4: i32 = 7;
    /// `SCTP_DSTADDRV6`.
    pub const DSTADDRV6: i32 = 8;
}

/// Kinds of notifications (`enum sctp_sn_type`).
pub mod notification {
    /// `SCTP_DATA_IO_EVENT`: no notification, but asks for `SCTP_SNDRCV` with each message.
    pub const DATA_IO: u16 = 0x8000;
    /// `SCTP_ASSOC_CHANGE`.
    pub const ASSOC_CHANGE: u16 = 0x8001;
    /// `SCTP_PEER_ADDR_CHANGE`.
    pub const PEER_ADDR_CHANGE: u16 = 0x8002;
    /// `SCTP_SEND_FAILED`.
    pub const SEND_FAILED: u16 = 0x8003;
    /// `SCTP_REMOTE_ERROR`.
    pub const REMOTE_ERROR: u16 = 0x8004;
    /// `SCTP_SHUTDOWN_EVENT`.
    pub const SHUTDOWN_EVENT: u16 = 0x8005;
    /// `SCTP_PARTIAL_DELIVERY_EVENT`.
    pub const PARTIAL_DELIVERY: u16 = 0x8006;
    /// `SCTP_ADAPTATION_INDICATION`.
    pub const ADAPTATION: u16 = 0x8007;
    /// `SCTP_AUTHENTICATION_EVENT`.
    pub const AUTHENTICATION: u16 = 0x8008;
    /// `SCTP_SENDER_DRY_EVENT`.
    pub const SENDER_DRY: u16 = 0x8009;
    /// `SCTP_STREAM_RESET_EVENT`.
    pub const STREAM_RESET: u16 = 0x800A;
    /// `SCTP_ASSOC_RESET_EVENT`.
    pub const ASSOC_RESET: u16 = 0x800B;
    /// `SCTP_STREAM_CHANGE_EVENT`.
    pub const STREAM_CHANGE: u16 = 0x800C;
    /// `SCTP_SEND_FAILED_EVENT`.
    pub const SEND_FAILED_EVENT: u16 = 0x800D;
    /// Number of kinds.
    pub const COUNT: u16 = 14;
}
