//! Options of sockets, in the layouts of Linux.

mod association;
mod each;
mod keys;
mod paths;
mod socket_level;
mod sockets;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use polypath::{
    AssociationConfig, AssociationOptions, LongMessages, ShutdownAnswer, SmallMessages,
};
use rustix::io::Errno;

pub(super) use self::each::Each;
pub(super) use self::keys::check as check_key;
use super::Settings;
use super::link::Link;
use super::socket::{Socket, State};
use crate::abi::{IPPROTO_IPV6, IPPROTO_SCTP, IPV6_V6ONLY, SOL_SOCKET, notification};
use crate::frame::wanted;
use crate::init::InitMessage;
use crate::layout::{Building, Fields};

/// Identifiers that mean several associations.
const FUTURE: i32 = 0;
const CURRENT: i32 = 1;
const ALL: i32 = 2;

/// Values of `SCTP_EXPOSE_POTENTIALLY_FAILED_STATE`; 0 is neither.
const EXPOSE_DISABLE: i32 = 1;
const EXPOSE_ENABLE: i32 = 2;

/// `spi_interval` in milliseconds, where nothing is set: PROBE_TIMER (RFC 8899 section 5.1.1).
const PROBE_INTERVAL_MS: u32 = 15_000;

/// Path MTU in bytes at most, within this host: what the loopback interface of Linux carries, less some room.
const LOOPBACK_MTU_BYTES: u16 = 65_000;

/// What the program has set for a socket; accepted ones begin with those of the one that listens.
#[derive(Clone, Debug)]
pub(super) struct Options {
    /// Configuration of associations to come.
    pub(super) association: AssociationConfig,
    /// UDP port of peers.
    pub(super) encapsulation_port: Option<u16>,
    pub(super) all_addresses: bool,
    /// What associations to come begin with, and can have changed for each.
    pub(super) each: Each,
    gives_rcvinfo: bool,
    gives_nxtinfo: bool,
    /// `SO_LINGER`: seconds, if it is on.
    linger: Option<i32>,
    /// Most milliseconds between two INITs (`sinit_max_init_timeo`); 0 leaves it to the RTO.
    pub(super) max_init_timeout_ms: u16,
    /// Options that can be asked for.
    flags: Flags,
}

/// Numbers that are kept for the program.
#[derive(Clone, Copy, Default, Debug)]
struct Flags {
    mapped_v4: i32,
    fragment_interleave: i32,
    reuse_address: i32,
    reuse_port: i32,
    keep_alive: i32,
    expose_pf: i32,
    ipv6_only: i32,
    stream_reset: u32,
    probe_interval_ms: u32,
    /// Whether key 0 is there without having been set.
    null_key: i32,
}

impl Options {
    pub(super) fn new(settings: Settings) -> Self {
        // Messages wait in the descriptor, too.
        let shutdown_answer = ShutdownAnswer::OnRequest;
        // As in Linux, until a program sets SCTP_NODELAY.
        let small_messages = SmallMessages::Bundled;
        Self {
            association: AssociationConfig {
                shutdown_answer,
                small_messages,
                ..settings.association
            },
            encapsulation_port: settings.encapsulation_port,
            all_addresses: settings.all_addresses,
            each: Each::default(),
            gives_rcvinfo: false,
            gives_nxtinfo: false,
            linger: None,
            max_init_timeout_ms: 0,
            flags: Flags { mapped_v4: 1, probe_interval_ms: PROBE_INTERVAL_MS, ..Flags::default() },
        }
    }

    /// Ancillary data that goes with each message.
    pub(super) fn wanted(&self) -> u8 {
        let mut wanted = 0;
        if self.each.is_subscribed(notification::DATA_IO) {
            wanted |= wanted::SNDRCV;
        }
        if self.gives_rcvinfo {
            wanted |= wanted::RCVINFO;
        }
        if self.gives_nxtinfo {
            wanted |= wanted::NXTINFO;
        }
        if self.association.long_messages == LongMessages::Refuse {
            wanted |= wanted::UNFRAGMENTED;
        }
        wanted
    }

    /// With parameters of associations to come.
    ///
    /// # Errors
    ///
    /// If one cannot be used.
    pub(super) fn with_init(mut self, init: InitMessage) -> Result<Self, Errno> {
        let config = &mut self.association;
        if init.outbound_streams > 0 {
            config.outbound_streams = init.outbound_streams;
        }
        if init.inbound_streams > 0 {
            config.max_inbound_streams = init.inbound_streams;
        }
        if init.attempts > 0 {
            config.max_init_retransmits = init.attempts.into();
        }
        if init.max_timeout_ms > 0 {
            self.max_init_timeout_ms = init.max_timeout_ms;
        }
        config.check().map_err(|_| Errno::INVAL)?;
        Ok(self)
    }

    /// Configuration of associations between these addresses, of this side or of the peer. Within the host, packets may be as large as the
    /// loopback interface carries, unless the user has chosen a size.
    pub(super) fn between(&self, addresses: impl IntoIterator<Item = IpAddr>) -> AssociationConfig {
        let mut addresses = addresses.into_iter().peekable();
        let is_chosen = self.association.mtu_bytes != AssociationConfig::default().mtu_bytes;
        let mut config = self.association.clone();
        if !is_chosen && addresses.peek().is_some() && addresses.all(|ip| ip.is_loopback()) {
            config.mtu_bytes = LOOPBACK_MTU_BYTES;
        }
        config
    }

    /// Configuration of an association that this side begins with a peer at these addresses: INITs are repeated as `sinit_max_init_timeo`
    /// wants it.
    pub(super) fn for_connecting(&self, peer: &[SocketAddr]) -> AssociationConfig {
        let mut config = self.between(peer.iter().map(SocketAddr::ip));
        if self.max_init_timeout_ms > 0 {
            let limit = polypath::Duration::from_millis(self.max_init_timeout_ms.into());
            let rto = &mut config.policies.rto;
            rto.max = rto.max.min(limit);
            rto.initial = rto.initial.min(rto.max);
            rto.min = rto.min.min(rto.max);
        }
        config
    }

    /// What of that ends with the handshake.
    pub(super) fn after_connecting(&self) -> Option<AssociationOptions> {
        let all = AssociationOptions::of(&self.association);
        (self.max_init_timeout_ms > 0).then(|| AssociationOptions {
            rto_initial: all.rto_initial,
            rto_min: all.rto_min,
            rto_max: all.rto_max,
            ..AssociationOptions::default()
        })
    }

    /// Whether the program hears of potentially failed paths (RFC 7829 section 7.3).
    pub(super) fn tells_potentially_failed(&self) -> bool {
        self.flags.expose_pf == EXPOSE_ENABLE
    }

    /// Whether the program cannot even ask for such a path.
    pub(super) fn hides_potentially_failed(&self) -> bool {
        self.flags.expose_pf == EXPOSE_DISABLE
    }

    /// Whether a socket of IPv6 has no addresses of IPv4.
    pub(super) fn is_ipv6_only(&self) -> bool {
        self.flags.ipv6_only != 0
    }

    /// Whether messages that are delivered in pieces keep those of other associations waiting (level 0 of
    /// `SCTP_FRAGMENT_INTERLEAVE`).
    pub(super) fn delivers_one_at_a_time(&self) -> bool {
        self.flags.fragment_interleave == 0
    }

    /// Whether other sockets may have the same port (`SCTP_REUSE_PORT`).
    pub(super) fn shares_port(&self) -> bool {
        self.flags.reuse_port != 0
    }

    /// Whether closing the socket aborts its associations (`SO_LINGER` with 0 seconds).
    pub(super) fn aborts_on_close(&self) -> bool {
        self.linger == Some(0)
    }
}

/// `setsockopt`.
pub(super) fn set(
    socket: &Arc<Socket>,
    level: i32,
    number: i32,
    value: &[u8],
) -> Result<(), Errno> {
    let answer = match level {
        SOL_SOCKET => socket_level::set(socket, number, Fields(value)),
        IPPROTO_IPV6 if number == IPV6_V6ONLY && socket.name.is_ipv6 => {
            Fields(value).i32(0).ok_or(Errno::INVAL).map(|on| {
                let mut state = socket.state();
                state.options.flags.ipv6_only = on;
                socket.options_changed(&state);
            })
        }
        IPPROTO_SCTP => set_sctp(socket, number, value),
        _ => Err(Errno::NOPROTOOPT),
    };
    counted(socket, level, number, answer)
}

/// `getsockopt`, with what the program has put into its buffer.
pub(super) fn get(
    socket: &Arc<Socket>,
    level: i32,
    number: i32,
    given: &[u8],
) -> Result<Vec<u8>, Errno> {
    let answer = match level {
        SOL_SOCKET => socket_level::get(socket, number),
        IPPROTO_IPV6 if number == IPV6_V6ONLY && socket.name.is_ipv6 => {
            Ok(Building::new().i32(socket.state().options.flags.ipv6_only).0)
        }
        IPPROTO_SCTP => get_sctp(socket, number, given),
        _ => Err(Errno::NOPROTOOPT),
    };
    counted(socket, level, number, answer)
}

fn counted<T>(
    socket: &Socket,
    level: i32,
    number: i32,
    answer: Result<T, Errno>,
) -> Result<T, Errno> {
    answer.inspect_err(|errno| {
        if *errno == Errno::NOPROTOOPT {
            socket.service.count_refused(level, number);
        }
    })
}

fn set_sctp(socket: &Arc<Socket>, number: i32, value: &[u8]) -> Result<(), Errno> {
    let fields = Fields(value);
    let done = sockets::set(socket, number, fields)
        .or_else(|| paths::set(socket, number, fields))
        .or_else(|| keys::set(socket, number, fields))
        .or_else(|| each::set(socket, number, fields))
        .or_else(|| association::set(socket, number, fields));
    done.unwrap_or(Err(Errno::NOPROTOOPT))
}

fn get_sctp(socket: &Arc<Socket>, number: i32, given: &[u8]) -> Result<Vec<u8>, Errno> {
    let fields = Fields(given);
    let done = sockets::get(socket, number, fields)
        .or_else(|| paths::get(socket, number, fields))
        .or_else(|| keys::get(socket, number, fields))
        .or_else(|| each::get(socket, number, fields))
        .or_else(|| association::get(socket, number, fields));
    done.unwrap_or(Err(Errno::NOPROTOOPT))
}

/// What an identifier in an option stands for: associations to come or not, and those that there are.
struct Targets {
    future: bool,
    links: Vec<Arc<Link>>,
}

impl Targets {
    fn of(socket: &Socket, state: &State, id: i32) -> Result<Self, Errno> {
        let all = || state.links().cloned().collect();
        Ok(match id {
            // A one-to-one socket has one association, and identifiers do not count.
            _ if socket.is_one_to_one() => Self { future: true, links: all() },
            FUTURE => Self { future: true, links: Vec::new() },
            CURRENT => Self { future: false, links: all() },
            ALL => Self { future: true, links: all() },
            id => {
                let link = state.link(socket, id).ok_or(Errno::INVAL)?;
                Self { future: false, links: vec![link] }
            }
        })
    }
}

/// Changes parameters of the associations that `id` stands for. If one cannot be used, nothing has changed in that association.
fn change(socket: &Socket, id: i32, options: &AssociationOptions) -> Result<(), Errno> {
    let mut state = socket.state();
    let targets = Targets::of(socket, &state, id)?;
    let association = &state.options.association;
    let changed = options.applied_to(association).map_err(|_| Errno::INVAL)?;
    for association in targets.links.iter().filter_map(|link| link.association()) {
        association.set_options(options).map_err(|_| Errno::INVAL)?;
    }
    if targets.future {
        state.options.association = changed;
        socket.options_changed(&state);
    }
    Ok(())
}

/// Refuses an option of associations to come that names others.
fn only_future(socket: &Socket, id: i32, refusal: Errno) -> Result<(), Errno> {
    if socket.is_one_to_one() || id == FUTURE { Ok(()) } else { Err(refusal) }
}

/// Parameters of the association with this identifier, or of those to come.
fn current(socket: &Socket, id: i32) -> Result<AssociationOptions, Errno> {
    let state = socket.state();
    let link = match (socket.is_one_to_one(), id) {
        (false, FUTURE) => None,
        (false, CURRENT | ALL) => return Err(Errno::INVAL),
        (false, id) => Some(state.link(socket, id).ok_or(Errno::INVAL)?),
        (true, _) => state.link(socket, id),
    };
    match link.as_ref().and_then(|link| link.association()) {
        Some(association) => Ok(association.options()),
        None => Ok(AssociationOptions::of(&state.options.association)),
    }
}

/// Whether a message of so many bytes can be sent to an association, or to the one with this peer, where it is not fragmented.
pub(super) fn check_size(
    socket: &Socket,
    id: i32,
    peer: Option<SocketAddr>,
    bytes: i32,
) -> Result<(), Errno> {
    let state = socket.state();
    let of_peer = peer.and_then(|peer| state.link_with(peer));
    let link = of_peer.filter(|_| id == FUTURE).or_else(|| state.link(socket, id));
    // One that does not live yet says so later (`SCTP_SEND_FAILED`).
    let Some(association) = link.as_ref().and_then(|link| link.association()) else {
        return Ok(());
    };
    let limit = i32::try_from(association.max_chunk_payload()).unwrap_or(i32::MAX);
    let may = association.options().long_messages != Some(LongMessages::Refuse) || bytes <= limit;
    if may { Ok(()) } else { Err(Errno::MSGSIZE) }
}

/// Changes the configuration of associations to come.
fn configure(
    socket: &Socket,
    change: impl FnOnce(&mut AssociationConfig) -> Result<(), Errno>,
) -> Result<(), Errno> {
    let mut state = socket.state();
    let mut changed = state.options.association.clone();
    change(&mut changed)?;
    changed.check().map_err(|_| Errno::INVAL)?;
    state.options.association = changed;
    socket.options_changed(&state);
    Ok(())
}

/// The association with this identifier, established.
fn established(socket: &Socket, id: i32) -> Result<Arc<polypath::Association>, Errno> {
    let state = socket.state();
    let link = state.link(socket, id).ok_or(match socket.is_one_to_one() {
        true => Errno::NOTCONN,
        false => Errno::INVAL,
    })?;
    link.association().cloned().ok_or(Errno::NOTCONN)
}

/// An `int` or a `struct sctp_assoc_value`: association and value.
fn assoc_value(fields: Fields<'_>) -> Result<(i32, u32), Errno> {
    match fields.u32(4) {
        Some(value) => Ok((fields.i32(0).unwrap_or_default(), value)),
        None => Ok((FUTURE, fields.u32(0).ok_or(Errno::INVAL)?)),
    }
}

/// The same as an answer, of the size that was asked for.
fn answer_value(given: Fields<'_>, value: u32) -> Vec<u8> {
    match given.u32(4) {
        Some(_) => Building::new().i32(given.i32(0).unwrap_or_default()).u32(value).0,
        None => Building::new().u32(value).0,
    }
}

/// Milliseconds of a duration, rounded up.
fn ms(duration: polypath::Duration) -> u32 {
    u32::try_from(duration.as_nanos().div_ceil(1_000_000)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::option;

    #[test]
    fn packets_within_the_host_are_large_unless_the_user_has_chosen_a_size() {
        let options = |association| {
            Options::new(Settings { association, encapsulation_port: None, all_addresses: false })
        };
        let usual = options(AssociationConfig::default());
        let [v4, v6, other]: [IpAddr; 3] =
            ["127.0.0.9", "::1", "192.0.2.1"].map(|text| text.parse().unwrap());
        let usual_bytes = AssociationConfig::default().mtu_bytes;
        assert_eq!(usual.between([v4, v6]).mtu_bytes, LOOPBACK_MTU_BYTES);
        assert_eq!(usual.between([v4, other]).mtu_bytes, usual_bytes);
        assert_eq!(usual.between([]).mtu_bytes, usual_bytes, "all addresses");
        let chosen = AssociationConfig { mtu_bytes: 1400, ..AssociationConfig::default() };
        assert_eq!(options(chosen).between([v4]).mtu_bytes, 1400);
    }

    #[test]
    fn numbers_of_options_are_not_used_twice() {
        let mut numbers: Vec<_> = option::ALL.iter().map(|(number, _)| number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), option::ALL.len());
    }
}
