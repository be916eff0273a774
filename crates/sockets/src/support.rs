//! What of the sockets API there is: the source of the tables in `docs/sockets-api.md`, which tests hold against the code.

/// An option, and what can be done with it.
#[derive(Clone, Copy, Debug)]
pub struct OptionSupport {
    /// Number.
    pub number: i32,
    /// Name without `SCTP_`.
    pub name: &'static str,
    /// Whether `getsockopt` gives it.
    pub get: bool,
    /// Whether `setsockopt` takes it.
    pub set: bool,
    /// What differs from Linux, or why it is missing.
    pub remark: &'static str,
}

/// How an option is used.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Get,
    Set,
    Both,
    Neither,
}
use Use::{Both, Get, Neither, Set};

const fn row(number: i32, name: &'static str, used: Use, remark: &'static str) -> OptionSupport {
    OptionSupport {
        number,
        name,
        get: matches!(used, Get | Both),
        set: matches!(used, Set | Both),
        remark,
    }
}

/// How messages come back.
const RETURNED: &str = "once per message, with all its content; only the newest messages, up to the size of the send buffer, have it";

/// What becomes of associations that exist.
const BINDX: &str =
    "live associations follow with the policy `address_reconfiguration` (`SCTP_ASCONF_SUPPORTED`)";

/// All options of level `IPPROTO_SCTP` that Linux has.
pub const OPTIONS: &[OptionSupport] = &[
    row(0, "RTOINFO", Both, ""),
    row(1, "ASSOCINFO", Both, "a cookie lifetime other than 60 s fails with `EOPNOTSUPP`"),
    row(2, "INITMSG", Both, ""),
    row(3, "NODELAY", Both, ""),
    row(4, "AUTOCLOSE", Both, ""),
    row(5, "SET_PEER_PRIMARY_ADDR", Set, ""),
    row(6, "PRIMARY_ADDR", Both, ""),
    row(7, "ADAPTATION_LAYER", Both, ""),
    row(8, "DISABLE_FRAGMENTS", Both, ""),
    row(9, "PEER_ADDR_PARAMS", Both, ""),
    row(10, "DEFAULT_SEND_PARAM", Both, ""),
    row(11, "EVENTS", Both, ""),
    row(12, "I_WANT_MAPPED_V4_ADDR", Both, "cannot be switched off for IPv6 sockets"),
    row(13, "MAXSEG", Both, ""),
    row(14, "STATUS", Get, ""),
    row(15, "GET_PEER_ADDR_INFO", Get, ""),
    row(16, "DELAYED_SACK", Both, ""),
    row(17, "CONTEXT", Both, ""),
    row(
        18,
        "FRAGMENT_INTERLEAVE",
        Both,
        "1 and 2 are the same: within an association, `SCTP_INTERLEAVING_SUPPORTED` decides",
    ),
    row(19, "PARTIAL_DELIVERY_POINT", Both, ""),
    row(20, "MAX_BURST", Both, ""),
    row(21, "AUTH_CHUNK", Set, "peers without authentication are refused then"),
    row(22, "HMAC_IDENT", Both, "SHA-256 and SHA-1, in this order; others fail with `EOPNOTSUPP`"),
    row(23, "AUTH_KEY", Set, ""),
    row(24, "AUTH_ACTIVE_KEY", Both, ""),
    row(25, "AUTH_DELETE_KEY", Set, ""),
    row(26, "PEER_AUTH_CHUNKS", Get, ""),
    row(27, "LOCAL_AUTH_CHUNKS", Get, ""),
    row(28, "GET_ASSOC_NUMBER", Get, ""),
    row(29, "GET_ASSOC_ID_LIST", Get, ""),
    row(30, "AUTO_ASCONF", Both, "on for sockets with all addresses, and off for others"),
    row(31, "PEER_ADDR_THLDS", Both, ""),
    row(32, "RECVRCVINFO", Both, ""),
    row(33, "RECVNXTINFO", Both, ""),
    row(34, "DEFAULT_SNDINFO", Both, ""),
    row(35, "AUTH_DEACTIVATE_KEY", Set, ""),
    row(
        36,
        "REUSE_PORT",
        Both,
        "one-to-one sockets with the same addresses, of which one may listen",
    ),
    row(37, "PEER_ADDR_THLDS_V2", Both, ""),
    row(100, "SOCKOPT_BINDX_ADD", Set, BINDX),
    row(101, "SOCKOPT_BINDX_REM", Set, BINDX),
    row(102, "SOCKOPT_PEELOFF", Get, ""),
    row(107, "SOCKOPT_CONNECTX_OLD", Set, ""),
    row(108, "GET_PEER_ADDRS", Get, ""),
    row(109, "GET_LOCAL_ADDRS", Get, ""),
    row(110, "SOCKOPT_CONNECTX", Set, ""),
    row(111, "SOCKOPT_CONNECTX3", Get, ""),
    row(112, "GET_ASSOC_STATS", Get, "counters that the stack does not keep are 0"),
    row(113, "PR_SUPPORTED", Both, "cannot be switched off"),
    row(114, "DEFAULT_PRINFO", Both, ""),
    row(115, "PR_ASSOC_STATUS", Get, ""),
    row(116, "PR_STREAM_STATUS", Get, ""),
    row(117, "RECONFIG_SUPPORTED", Both, ""),
    row(
        118,
        "ENABLE_STREAM_RESET",
        Both,
        "of the socket; requests of the peer are answered regardless of the kinds enabled",
    ),
    row(119, "RESET_STREAMS", Set, ""),
    row(120, "RESET_ASSOC", Set, ""),
    row(121, "ADD_STREAMS", Set, ""),
    row(122, "SOCKOPT_PEELOFF_FLAGS", Get, ""),
    row(123, "STREAM_SCHEDULER", Both, "of associations to come; others fail with `EOPNOTSUPP`"),
    row(124, "STREAM_SCHEDULER_VALUE", Set, ""),
    row(125, "INTERLEAVING_SUPPORTED", Both, ""),
    row(
        126,
        "SENDMSG_CONNECT",
        Neither,
        "internal to Linux; `sendmsg` connects one-to-many sockets to unknown peers",
    ),
    row(127, "EVENT", Both, ""),
    row(128, "ASCONF_SUPPORTED", Both, ""),
    row(129, "AUTH_SUPPORTED", Both, ""),
    row(130, "ECN_SUPPORTED", Both, ""),
    row(131, "EXPOSE_POTENTIALLY_FAILED_STATE", Both, ""),
    row(132, "REMOTE_UDP_ENCAPS_PORT", Both, "of the socket; 0 means over IP itself"),
    row(
        133,
        "PLPMTUD_PROBE_INTERVAL",
        Both,
        "0 ends probing, other values begin it; the interval is kept only: a probe is repeated after the RTO",
    ),
];

/// Functions that the library has in front of those of the C library, and those of `libsctp`, with what differs.
pub const FUNCTIONS: &[(&str, &str)] = &[
    ("socket", "`SOCK_STREAM` and `SOCK_SEQPACKET` of `AF_INET` and `AF_INET6`"),
    ("bind", ""),
    (
        "listen",
        "the backlog may be up to 4,096; one-to-many sockets have no other. After `listen` with 0, `poll` still reports the peers that wait",
    ),
    (
        "accept",
        "its place in the backlog is free a moment after the call, also if the peer has gone before; in Linux it is free as soon as the peer goes",
    ),
    ("accept4", ""),
    ("connect", ""),
    (
        "shutdown",
        "after `SHUT_RD`, notifications are not received either, and a socket that listens refuses peers",
    ),
    ("close", "`SO_LINGER` with 0 seconds aborts; closing never waits"),
    ("close_range", ""),
    ("closefrom", ""),
    ("fclose", "streams of `fdopen` do not read or write sockets"),
    ("getsockname", ""),
    ("getpeername", ""),
    ("getsockopt", ""),
    ("setsockopt", ""),
    ("dup", ""),
    ("dup2", ""),
    ("dup3", ""),
    ("fcntl", ""),
    ("fcntl64", ""),
    ("ioctl", "`FIONREAD`; all else goes to the descriptor"),
    ("poll", "`select`, `ppoll` and `epoll` are those of the kernel"),
    ("read", ""),
    ("readv", ""),
    ("write", ""),
    ("writev", ""),
    ("recv", ""),
    ("recvfrom", ""),
    ("recvmsg", ""),
    ("recvmmsg", ""),
    ("send", ""),
    ("sendto", ""),
    ("sendmsg", ""),
    ("sendmmsg", ""),
    ("sendfile", "`EINVAL`: programs copy with `read` and `send` then"),
    ("sendfile64", "as `sendfile`"),
    ("sctp_bindx", BINDX),
    ("sctp_connectx", ""),
    ("sctp_getaddrlen", ""),
    ("sctp_getladdrs", ""),
    ("sctp_freeladdrs", ""),
    ("sctp_getpaddrs", ""),
    ("sctp_freepaddrs", ""),
    ("sctp_opt_info", ""),
    (
        "sctp_peeloff",
        "at its end, the new socket is readable, and reading fails with `ENOTCONN` also where it does not wait",
    ),
    ("sctp_peeloff_flags", ""),
    ("sctp_recvmsg", ""),
    ("sctp_recvv", ""),
    ("sctp_send", ""),
    ("sctp_sendmsg", ""),
    ("sctp_sendv", ""),
    ("sctp_sendx", "`libsctp` has none; as in FreeBSD"),
];

/// Ancillary data: name, and what differs from Linux.
pub const ANCILLARY: &[(&str, &str)] = &[
    ("SCTP_INIT", ""),
    ("SCTP_SNDRCV", ""),
    ("SCTP_SNDINFO", ""),
    ("SCTP_RCVINFO", ""),
    ("SCTP_NXTINFO", ""),
    ("SCTP_PRINFO", ""),
    (
        "SCTP_AUTHINFO",
        "a message with a key that is not active waits for those before it, and later ones wait for it; retransmissions use the active key",
    ),
    ("SCTP_DSTADDRV4", ""),
    ("SCTP_DSTADDRV6", ""),
];

/// Notifications: name, and what differs from Linux.
pub const NOTIFICATIONS: &[(&str, &str)] = &[
    ("SCTP_ASSOC_CHANGE", ""),
    ("SCTP_PEER_ADDR_CHANGE", ""),
    ("SCTP_SEND_FAILED", RETURNED),
    ("SCTP_SEND_FAILED_EVENT", RETURNED),
    ("SCTP_REMOTE_ERROR", ""),
    ("SCTP_SHUTDOWN_EVENT", ""),
    ("SCTP_PARTIAL_DELIVERY_EVENT", ""),
    ("SCTP_ADAPTATION_INDICATION", ""),
    ("SCTP_AUTHENTICATION_EVENT", ""),
    ("SCTP_SENDER_DRY_EVENT", ""),
    ("SCTP_STREAM_RESET_EVENT", "for refused requests, the list of streams is empty"),
    ("SCTP_ASSOC_RESET_EVENT", ""),
    ("SCTP_STREAM_CHANGE_EVENT", ""),
];

/// Functions of usrsctp, and what differs from it. Settings of the whole stack (`usrsctp_sysctl_…`) are not listed.
pub const USRSCTP: &[(&str, &str)] = &[
    (
        "usrsctp_init",
        "the port and the function that prints are not used: the service has its own UDP port",
    ),
    (
        "usrsctp_init_nothreads",
        "packets are carried, and callbacks called, within `usrsctp_handle_timers`, `usrsctp_conninput` and `usrsctp_close` only; the stack has threads of its own",
    ),
    ("usrsctp_handle_timers", "the timers run by themselves; see `usrsctp_init_nothreads`"),
    (
        "usrsctp_finish",
        "0 once all sockets are closed and the associations over `AF_CONN` have ended; others end in the service",
    ),
    (
        "usrsctp_socket",
        "the threshold of the send callback is not used: it is called whenever the socket becomes writable",
    ),
    ("usrsctp_bind", ""),
    ("usrsctp_bindx", BINDX),
    ("usrsctp_listen", ""),
    ("usrsctp_accept", ""),
    ("usrsctp_peeloff", ""),
    ("usrsctp_connect", ""),
    ("usrsctp_connectx", ""),
    ("usrsctp_shutdown", "as `shutdown`"),
    ("usrsctp_close", ""),
    ("usrsctp_set_non_blocking", ""),
    ("usrsctp_get_non_blocking", ""),
    ("usrsctp_set_ulpinfo", ""),
    ("usrsctp_get_ulpinfo", ""),
    ("usrsctp_set_upcall", "all upcalls and callbacks of a process come from one thread"),
    ("usrsctp_get_events", ""),
    ("usrsctp_sendv", "messages in parts (`SCTP_EXPLICIT_EOR`) are not supported"),
    ("usrsctp_recvv", ""),
    ("usrsctp_setsockopt", "options without a counterpart in Linux fail with `ENOPROTOOPT`"),
    ("usrsctp_getsockopt", "as `usrsctp_setsockopt`"),
    ("usrsctp_opt_info", "as `usrsctp_setsockopt`"),
    ("usrsctp_getpaddrs", ""),
    ("usrsctp_freepaddrs", ""),
    ("usrsctp_getladdrs", ""),
    ("usrsctp_freeladdrs", ""),
    ("usrsctp_getassocid", ""),
    ("usrsctp_dumppacket", ""),
    ("usrsctp_freedumpbuffer", ""),
    ("usrsctp_register_address", ""),
    ("usrsctp_deregister_address", "associations at the address end as they would without it"),
    (
        "usrsctp_conninput",
        "takes packets of up to 65,535 bytes, without ECN; those beyond 8,192 that wait are lost",
    ),
    ("usrsctp_enable_crc32c_offload", "packets that are handed in are not verified"),
    ("usrsctp_crc32c", ""),
];

/// The tables as `docs/sockets-api.md` has them.
pub fn tables() -> String {
    let mut text =
        String::from("## Functions\n\n| function | what differs from Linux |\n| --- | --- |\n");
    let simple = |text: &mut String, rows: &[(&str, &str)]| {
        for (name, remark) in rows {
            text.push_str(&format!("| `{name}` | {remark} |\n"));
        }
    };
    simple(&mut text, FUNCTIONS);
    text.push_str("\n## Options of level `IPPROTO_SCTP`\n\n");
    text.push_str("| option | get | set | remark |\n| --- | --- | --- | --- |\n");
    for option in OPTIONS {
        let mark = |is_there: bool| if is_there { "yes" } else { "" };
        let remark = match (option.get || option.set, option.remark) {
            (true, remark) => remark.to_owned(),
            (false, "") => "`ENOPROTOOPT`".to_owned(),
            (false, remark) => format!("`ENOPROTOOPT`: {remark}"),
        };
        text.push_str(&format!(
            "| `SCTP_{}` | {} | {} | {remark} |\n",
            option.name,
            mark(option.get),
            mark(option.set)
        ));
    }
    text.push_str("\n## Ancillary data\n\n| item | what differs from Linux |\n| --- | --- |\n");
    simple(&mut text, ANCILLARY);
    text.push_str(
        "\n## Notifications\n\n| notification | what differs from Linux |\n| --- | --- |\n",
    );
    simple(&mut text, NOTIFICATIONS);
    text.push_str(
        "\n## Functions of usrsctp\n\n| function | what differs from usrsctp |\n| --- | --- |\n",
    );
    simple(&mut text, USRSCTP);
    text
}
