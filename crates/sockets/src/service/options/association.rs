//! Options of associations (RFC 6458 sections 8.1 and 8.2, RFC 6525, 7496, 8260).

use std::sync::Arc;

use polypath::config::{
    AddressReconfiguration, AuthenticatedChunks, ExplicitCongestionNotification,
    MessageInterleaving, StreamReconfiguration, StreamScheduler,
};
use polypath::{
    AssociationConfig, AssociationOptions, AssociationState, Duration, LongMessages,
    ReconfigurationError, SmallMessages,
};
use rustix::io::Errno;

use super::super::socket::Socket;
use super::{
    FUTURE, answer_value, assoc_value, change, configure, current, established, ms, paths,
};
use crate::abi::option;
use crate::layout::{Building, Fields};

/// How long a cookie is accepted, in milliseconds.
const COOKIE_LIFE_MS: u32 = 60_000;

/// `None` if the option is not one of these.
pub(super) fn set(
    socket: &Arc<Socket>,
    number: i32,
    value: Fields<'_>,
) -> Option<Result<(), Errno>> {
    let int = || value.u32(0).ok_or(Errno::INVAL);
    let none = AssociationOptions::default();
    let done = match number {
        option::RTOINFO => set_rto(socket, value),
        option::ASSOCINFO => set_parameters(socket, value),
        option::AUTOCLOSE if socket.is_one_to_one() => Err(Errno::OPNOTSUPP),
        option::AUTOCLOSE => int().and_then(|seconds| {
            let autoclose = Some(Duration::from_secs(seconds.into()));
            change(socket, super::ALL, &AssociationOptions { autoclose, ..none })
        }),
        option::DISABLE_FRAGMENTS => int().and_then(|on| {
            let long = if on == 0 { LongMessages::Fragment } else { LongMessages::Refuse };
            let long_messages = Some(long);
            change(socket, super::ALL, &AssociationOptions { long_messages, ..none })
        }),
        option::NODELAY => int().and_then(|on| {
            let small = if on == 0 { SmallMessages::Bundled } else { SmallMessages::Immediate };
            let small_messages = Some(small);
            change(socket, super::ALL, &AssociationOptions { small_messages, ..none })
        }),
        option::MAXSEG => assoc_value(value).and_then(|(id, bytes)| {
            let max_fragment_bytes = Some(bytes);
            change(socket, id, &AssociationOptions { max_fragment_bytes, ..none })
        }),
        option::MAX_BURST => assoc_value(value).and_then(|(id, packets)| {
            let max_burst = Some(packets);
            change(socket, id, &AssociationOptions { max_burst, ..none })
        }),
        option::PARTIAL_DELIVERY_POINT => int().and_then(|bytes| {
            let partial_delivery_point = Some(bytes);
            change(socket, super::ALL, &AssociationOptions { partial_delivery_point, ..none })
        }),
        option::DELAYED_SACK => set_sack(socket, value),
        option::STREAM_SCHEDULER => assoc_value(value).and_then(|(id, number)| {
            super::only_future(socket, id, Errno::OPNOTSUPP)?;
            let scheduler = scheduler(number).ok_or(Errno::INVAL)?;
            configure(socket, |config| {
                config.policies.stream_scheduler = scheduler;
                Ok(())
            })
        }),
        option::STREAM_SCHEDULER_VALUE => set_stream_value(socket, value),
        option::RESET_STREAMS | option::RESET_ASSOC | option::ADD_STREAMS => {
            reconfigure(socket, number, value)
        }
        option::ENABLE_STREAM_RESET => assoc_value(value).and_then(|(_, kinds)| {
            socket.state().options.flags.stream_reset = kinds & 7;
            match kinds & 7 {
                0 => Ok(()),
                _ => switch(socket, option::RECONFIG_SUPPORTED, true),
            }
        }),
        option::PR_SUPPORTED
        | option::RECONFIG_SUPPORTED
        | option::INTERLEAVING_SUPPORTED
        | option::ASCONF_SUPPORTED
        | option::AUTH_SUPPORTED
        | option::ECN_SUPPORTED => assoc_value(value).and_then(|(id, on)| {
            super::only_future(socket, id, Errno::INVAL)?;
            let delivers_one_at_a_time = socket.state().options.delivers_one_at_a_time();
            if number == option::INTERLEAVING_SUPPORTED && on != 0 && delivers_one_at_a_time {
                // SCTP_FRAGMENT_INTERLEAVE comes first (RFC 8260 section 4.3.1).
                return Err(Errno::PERM);
            }
            switch(socket, number, on != 0)
        }),
        _ => return None,
    };
    Some(done)
}

/// `None` if the option is not one of these.
pub(super) fn get(
    socket: &Arc<Socket>,
    number: i32,
    given: Fields<'_>,
) -> Option<Result<Vec<u8>, Errno>> {
    let id = given.i32(0).unwrap_or(FUTURE);
    let value = |read: fn(&AssociationOptions) -> u32| {
        let id = if given.u32(4).is_some() { id } else { FUTURE };
        current(socket, id).map(|options| answer_value(given, read(&options)))
    };
    Some(match number {
        option::RTOINFO => current(socket, id).map(|now| {
            let times = [now.rto_initial, now.rto_max, now.rto_min];
            let times = times.map(|time| time.map_or(0, ms));
            times.into_iter().fold(Building::new().i32(id), Building::u32).0
        }),
        option::ASSOCINFO => parameters(socket, id),
        option::AUTOCLOSE if socket.is_one_to_one() => Err(Errno::OPNOTSUPP),
        option::AUTOCLOSE => value(|now| now.autoclose.map_or(0, |time| ms(time).div_ceil(1000))),
        option::DISABLE_FRAGMENTS => {
            value(|now| u32::from(now.long_messages == Some(LongMessages::Refuse)))
        }
        option::NODELAY => {
            value(|now| u32::from(now.small_messages == Some(SmallMessages::Immediate)))
        }
        option::MAXSEG => value(|now| now.max_fragment_bytes.unwrap_or(0)),
        option::MAX_BURST => value(|now| now.max_burst.unwrap_or(0)),
        option::PARTIAL_DELIVERY_POINT => value(|now| now.partial_delivery_point.unwrap_or(0)),
        option::DELAYED_SACK => current(socket, id).map(|now| {
            let delay = now.sack_delay.map_or(0, ms);
            let packets = now.sack_packets.unwrap_or(2).into();
            Building::new().i32(id).u32(delay).u32(packets).0
        }),
        option::STATUS => status(socket, id),
        option::STREAM_SCHEDULER => {
            let scheduler = socket.state().options.association.policies.stream_scheduler;
            let number = (0..=2).find(|number| self::scheduler(*number) == Some(scheduler));
            number.map(|number| answer_value(given, number)).ok_or(Errno::OPNOTSUPP)
        }
        option::ENABLE_STREAM_RESET => {
            Ok(answer_value(given, socket.state().options.flags.stream_reset))
        }
        option::PR_SUPPORTED
        | option::RECONFIG_SUPPORTED
        | option::INTERLEAVING_SUPPORTED
        | option::ASCONF_SUPPORTED
        | option::AUTH_SUPPORTED
        | option::ECN_SUPPORTED => {
            let on = match established(socket, id).ok().and_then(|it| is_agreed(&it, number)) {
                Some(agreed) => agreed,
                None => is_on(&socket.state().options.association, number),
            };
            Ok(answer_value(given, on.into()))
        }
        option::PR_ASSOC_STATUS | option::PR_STREAM_STATUS => abandoned(socket, number, given),
        option::GET_ASSOC_STATS => statistics(socket, id),
        _ => return None,
    })
}

/// `struct sctp_rtoinfo`; 0 leaves a time as it is.
fn set_rto(socket: &Socket, value: Fields<'_>) -> Result<(), Errno> {
    let at = |offset| {
        let time = value.u32(offset).ok_or(Errno::INVAL)?;
        Ok((time > 0).then(|| Duration::from_millis(time.into())))
    };
    let options = AssociationOptions {
        rto_initial: at(4)?,
        rto_max: at(8)?,
        rto_min: at(12)?,
        ..AssociationOptions::default()
    };
    change(socket, value.i32(0).ok_or(Errno::INVAL)?, &options)
}

/// `struct sctp_assocparams`; 0 leaves a value as it is.
fn set_parameters(socket: &Socket, value: Fields<'_>) -> Result<(), Errno> {
    let attempts = value.u16(4).ok_or(Errno::INVAL)?;
    if !matches!(value.u32(16).ok_or(Errno::INVAL)?, 0 | COOKIE_LIFE_MS) {
        return Err(Errno::OPNOTSUPP);
    }
    let association_max_retrans = (attempts > 0).then(|| attempts.into());
    let options = AssociationOptions { association_max_retrans, ..AssociationOptions::default() };
    change(socket, value.i32(0).ok_or(Errno::INVAL)?, &options)
}

fn parameters(socket: &Socket, id: i32) -> Result<Vec<u8>, Errno> {
    let now = current(socket, id)?;
    let attempts = now.association_max_retrans.unwrap_or(0);
    let (peers, peer_window) = match established(socket, id) {
        Ok(association) => {
            let peers = association.remote_addresses().len();
            (peers, association.stats().peer_window_bytes)
        }
        Err(_) => (0, 0),
    };
    Ok(Building::new()
        .i32(id)
        .u16(u16::try_from(attempts).unwrap_or(u16::MAX))
        .u16(u16::try_from(peers).unwrap_or(u16::MAX))
        .u32(u32::try_from(peer_window).unwrap_or(u32::MAX))
        .u32(now.receive_buffer_bytes.unwrap_or(0))
        .u32(COOKIE_LIFE_MS)
        .0)
}

/// `struct sctp_sack_info`, or the older `struct sctp_assoc_value` with the delay.
fn set_sack(socket: &Socket, value: Fields<'_>) -> Result<(), Errno> {
    let id = value.i32(0).ok_or(Errno::INVAL)?;
    let delay = value.u32(4).ok_or(Errno::INVAL)?;
    let packets = value.u32(8).unwrap_or(0);
    if delay > 500 {
        return Err(Errno::INVAL);
    }
    let options = AssociationOptions {
        sack_delay: (delay > 0).then(|| Duration::from_millis(delay.into())),
        sack_packets: (packets > 0).then(|| u8::try_from(packets).unwrap_or(u8::MAX)),
        ..AssociationOptions::default()
    };
    change(socket, id, &options)
}

/// Linux knows three of the schedulers.
fn scheduler(number: u32) -> Option<StreamScheduler> {
    match number {
        0 => Some(StreamScheduler::Fcfs),
        1 => Some(StreamScheduler::Priority),
        2 => Some(StreamScheduler::RoundRobin),
        _ => None,
    }
}

/// `struct sctp_stream_value`.
fn set_stream_value(socket: &Socket, value: Fields<'_>) -> Result<(), Errno> {
    let association = established(socket, value.i32(0).ok_or(Errno::INVAL)?)?;
    let stream = value.u16(4).ok_or(Errno::INVAL)?;
    let number = value.u16(6).ok_or(Errno::INVAL)?;
    association.set_stream_value(stream, number).map_err(|_| Errno::INVAL)
}

/// Extensions that associations to come offer.
pub(super) fn switch(socket: &Socket, number: i32, on: bool) -> Result<(), Errno> {
    configure(socket, |config| {
        let policies = &mut config.policies;
        match number {
            // What does not ask for it is sent reliably all the same.
            option::PR_SUPPORTED if on => {}
            option::RECONFIG_SUPPORTED => {
                policies.stream_reconfiguration =
                    if on { StreamReconfiguration::On } else { StreamReconfiguration::Off };
            }
            option::INTERLEAVING_SUPPORTED => {
                policies.message_interleaving =
                    if on { MessageInterleaving::On } else { MessageInterleaving::Off };
            }
            option::ASCONF_SUPPORTED => {
                // RFC 5061 wants every change authenticated.
                policies.address_reconfiguration = match on {
                    true => AddressReconfiguration::Authenticated,
                    false => AddressReconfiguration::Off,
                };
                if on && policies.authenticated_chunks == AuthenticatedChunks::Off {
                    policies.authenticated_chunks = AuthenticatedChunks::Offered;
                }
            }
            option::AUTH_SUPPORTED => {
                policies.authenticated_chunks =
                    if on { AuthenticatedChunks::Offered } else { AuthenticatedChunks::Off };
            }
            option::ECN_SUPPORTED => {
                policies.explicit_congestion_notification = match on {
                    true => ExplicitCongestionNotification::On,
                    false => ExplicitCongestionNotification::Off,
                };
            }
            _ => return Err(Errno::OPNOTSUPP),
        }
        Ok(())
    })
}

/// Whether both sides of an association have an extension, as far as it says so.
fn is_agreed(association: &polypath::Association, number: i32) -> Option<bool> {
    match number {
        option::INTERLEAVING_SUPPORTED => Some(association.interleaves_messages()),
        option::ASCONF_SUPPORTED => Some(association.can_change_addresses()),
        option::AUTH_SUPPORTED => Some(association.is_authenticated()),
        _ => None,
    }
}

fn is_on(config: &AssociationConfig, number: i32) -> bool {
    let policies = &config.policies;
    match number {
        option::RECONFIG_SUPPORTED => policies.stream_reconfiguration == StreamReconfiguration::On,
        option::INTERLEAVING_SUPPORTED => policies.message_interleaving == MessageInterleaving::On,
        option::ASCONF_SUPPORTED => policies.address_reconfiguration != AddressReconfiguration::Off,
        option::AUTH_SUPPORTED => policies.authenticated_chunks != AuthenticatedChunks::Off,
        option::ECN_SUPPORTED => {
            policies.explicit_congestion_notification == ExplicitCongestionNotification::On
        }
        _ => true,
    }
}

/// A request, and whether it is wished for.
type Wish<'a> = (bool, &'a dyn Fn() -> Result<(), ReconfigurationError>);

/// Makes the requests that are wished for, up to the first that fails.
fn in_turn(wishes: [Wish<'_>; 2]) -> Result<(), ReconfigurationError> {
    wishes.into_iter().filter(|(is_wished, _)| *is_wished).try_for_each(|(_, request)| request())
}

/// RFC 6525.
fn reconfigure(socket: &Socket, number: i32, value: Fields<'_>) -> Result<(), Errno> {
    let association = established(socket, value.i32(0).ok_or(Errno::INVAL)?)?;
    let kind = match number {
        option::RESET_STREAMS => 1,
        option::RESET_ASSOC => 2,
        _ => 4,
    };
    if socket.state().options.flags.stream_reset & kind == 0 {
        return Err(Errno::NOPROTOOPT);
    }
    let done = match number {
        option::RESET_STREAMS => {
            let flags = value.u16(4).ok_or(Errno::INVAL)?;
            let count = usize::from(value.u16(6).ok_or(Errno::INVAL)?);
            let list = value.rest(8).chunks_exact(2);
            let streams: Vec<u16> =
                list.take(count).map(|pair| u16::from_ne_bytes([pair[0], pair[1]])).collect();
            if streams.len() != count || flags & 3 == 0 {
                return Err(Errno::INVAL);
            }
            in_turn([
                (flags & 2 != 0, &|| association.reset_outgoing_streams(&streams)),
                (flags & 1 != 0, &|| association.reset_incoming_streams(&streams)),
            ])
        }
        option::RESET_ASSOC => association.reset_association(),
        _ => {
            let (inbound, outbound) = (value.u16(4), value.u16(6));
            let (inbound, outbound) = inbound.zip(outbound).ok_or(Errno::INVAL)?;
            in_turn([
                (outbound > 0, &|| association.add_outgoing_streams(outbound)),
                (inbound > 0, &|| association.add_incoming_streams(inbound)),
            ])
        }
    };
    done.map_err(|error| match error {
        ReconfigurationError::Unsupported => Errno::OPNOTSUPP,
        ReconfigurationError::InvalidStream { .. } | ReconfigurationError::InvalidCount { .. } => {
            Errno::INVAL
        }
        ReconfigurationError::NotEstablished => Errno::NOTCONN,
        _ => Errno::INPROGRESS,
    })
}

/// `struct sctp_status`.
fn status(socket: &Arc<Socket>, id: i32) -> Result<Vec<u8>, Errno> {
    let association = established(socket, id)?;
    let stats = association.stats();
    let streams = association.streams();
    let (outbound, inbound) = streams.map_or((0, 0), |all| (all.outbound, all.inbound));
    let state = match association.state() {
        AssociationState::Closed => 1,
        AssociationState::CookieWait => 2,
        AssociationState::CookieEchoed => 3,
        AssociationState::Established => 4,
        AssociationState::ShutdownPending => 5,
        AssociationState::ShutdownSent => 6,
        AssociationState::ShutdownReceived => 7,
        AssociationState::ShutdownAckSent => 8,
    };
    let paths = association.path_stats();
    let primary = paths.iter().find(|path| path.primary).or(paths.first()).ok_or(Errno::NOTCONN)?;
    let short = |bytes: u64, chunk: u64| u16::try_from(bytes / chunk).unwrap_or(u16::MAX);
    let chunk = u64::from(primary.mtu_bytes).max(1);
    let under_way = stats.send_buffer_bytes.saturating_sub(stats.unsent_bytes);
    Ok(Building::new()
        .i32(id)
        .i32(state)
        .u32(u32::try_from(stats.peer_window_bytes).unwrap_or(u32::MAX))
        .u16(short(under_way, chunk))
        .u16(short(stats.receive_buffer_bytes, chunk))
        .u16(inbound)
        .u16(outbound)
        .u32(primary.full_fragment_bytes)
        .bytes(&paths::info(socket, id, primary, association.remote_port()))
        .0)
}

/// `struct sctp_prstatus`.
fn abandoned(socket: &Socket, number: i32, given: Fields<'_>) -> Result<Vec<u8>, Errno> {
    let id = given.i32(0).ok_or(Errno::INVAL)?;
    let (stream, policy) = given.u16(4).zip(given.u16(6)).ok_or(Errno::INVAL)?;
    let association = established(socket, id)?;
    let streams = association.streams();
    let all = match number {
        option::PR_ASSOC_STATUS => association.stats().abandoned,
        _ if streams.is_some_and(|all| stream >= all.outbound) => return Err(Errno::INVAL),
        _ => association.abandoned_on(stream),
    };
    let counts = match policy {
        0x10 => all.timed,
        0x20 => all.limited_retransmissions,
        0x30 => all.priority,
        0x80 => all.all(),
        _ => return Err(Errno::INVAL),
    };
    Ok(Building::new()
        .bytes(given.0.get(..8).unwrap_or_default())
        .padded(8)
        .u64(counts.unsent)
        .u64(counts.sent)
        .0)
}

/// `struct sctp_assoc_stats`; what is not counted is 0.
fn statistics(socket: &Socket, id: i32) -> Result<Vec<u8>, Errno> {
    let association = established(socket, id)?;
    let stats = association.stats();
    let rto = association.path_stats().iter().map(|path| ms(path.rto)).max().unwrap_or(0);
    let repeated = stats.fast_retransmissions + stats.timeout_retransmissions;
    let numbers = [
        rto.into(),
        stats.sacks_received + stats.nr_sacks_received,
        stats.sacks_sent + stats.nr_sacks_sent,
        stats.packets_sent,
        stats.packets_received,
        repeated,
        0,
        stats.duplicate_chunks_received,
        0,
        0,
        0,
        stats.data_chunks_sent,
        stats.data_chunks_received,
    ];
    let head = Building::new().i32(id).padded(136);
    Ok(numbers.into_iter().fold(head, Building::u64).padded(256).0)
}
