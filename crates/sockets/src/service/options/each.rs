//! Options that each association has for itself: notifications that are wanted, and defaults for messages.

use std::sync::Arc;

use rustix::io::Errno;

use super::super::socket::Socket;
use super::{CURRENT, FUTURE, Targets, answer_value, assoc_value};
use crate::abi::{flag, notification, option};
use crate::layout::{Building, Fields};

/// What a program has set for an association, or for those to come.
#[derive(Clone, Copy, Default, Debug)]
pub(in crate::service) struct Each {
    /// Kinds of notifications that are wanted, a bit each.
    events: u16,
    /// `SCTP_CONTEXT`.
    pub(in crate::service) receive_context: u32,
    /// For messages without ancillary data.
    pub(in crate::service) default_send: DefaultSend,
}

/// `struct sctp_sndinfo` without the association, and policy and value of `struct sctp_default_prinfo`.
#[derive(Clone, Copy, Default, Debug)]
pub(in crate::service) struct DefaultSend {
    pub(in crate::service) stream: u16,
    pub(in crate::service) flags: u16,
    pub(in crate::service) ppid: u32,
    pub(in crate::service) context: u32,
    pub(in crate::service) pr_policy: u16,
    pub(in crate::service) pr_value: u32,
}

impl Each {
    /// Whether the program wants notifications of this kind.
    pub(in crate::service) fn is_subscribed(&self, kind: u16) -> bool {
        self.events & bit(kind) != 0
    }

    /// Whether the program wants notifications that come from the association's events, beyond its beginning and end.
    pub(in crate::service) fn wants_events(&self) -> bool {
        self.events & !(bit(notification::DATA_IO) | bit(notification::ASSOC_CHANGE)) != 0
    }

    /// Whether the program wants messages back that do not arrive.
    pub(in crate::service) fn wants_messages_back(&self) -> bool {
        self.is_subscribed(notification::SEND_FAILED)
            || self.is_subscribed(notification::SEND_FAILED_EVENT)
    }

    /// Whether the program wants a notification when an association ends.
    pub(in crate::service) fn listens_to_the_end(&self) -> bool {
        self.is_subscribed(notification::ASSOC_CHANGE)
    }

    fn subscribe(&mut self, kind: u16, on: bool) {
        match on {
            true => self.events |= bit(kind),
            false => self.events &= !bit(kind),
        }
    }
}

/// The bit of a kind of notifications.
fn bit(kind: u16) -> u16 {
    1 << (kind & 0xF)
}

/// `None` if the option is not one of these.
pub(super) fn set(
    socket: &Arc<Socket>,
    number: i32,
    value: Fields<'_>,
) -> Option<Result<(), Errno>> {
    Some(match number {
        option::EVENTS => subscribe_all(socket, value),
        option::EVENT => subscribe(socket, value),
        option::DEFAULT_SEND_PARAM | option::DEFAULT_SNDINFO | option::DEFAULT_PRINFO => {
            set_default_send(socket, number, value)
        }
        option::CONTEXT => assoc_value(value)
            .and_then(|(id, context)| change(socket, id, |each| each.receive_context = context)),
        _ => return None,
    })
}

/// `None` if the option is not one of these.
pub(super) fn get(
    socket: &Arc<Socket>,
    number: i32,
    given: Fields<'_>,
) -> Option<Result<Vec<u8>, Errno>> {
    Some(match number {
        option::EVENTS => current(socket, FUTURE).map(|each| {
            let kinds = notification::DATA_IO..notification::DATA_IO + notification::COUNT;
            kinds.map(|kind| each.is_subscribed(kind).into()).collect()
        }),
        option::EVENT => event(socket, given),
        option::DEFAULT_SEND_PARAM | option::DEFAULT_SNDINFO | option::DEFAULT_PRINFO => {
            let id = given.i32(place_of_id(number)).unwrap_or(FUTURE);
            current(socket, id).map(|each| default_send(number, id, &each.default_send))
        }
        option::CONTEXT => {
            let id = given.u32(4).and(given.i32(0)).unwrap_or(FUTURE);
            current(socket, id).map(|each| answer_value(given, each.receive_context))
        }
        _ => return None,
    })
}

/// Changes what is set for the associations that `id` stands for.
fn change(socket: &Socket, id: i32, change: impl Fn(&mut Each)) -> Result<(), Errno> {
    let mut state = socket.state();
    let targets = Targets::of(socket, &state, id)?;
    for link in &targets.links {
        link.change_each(&change);
    }
    if targets.future {
        change(&mut state.options.each);
    }
    socket.options_changed(&state);
    Ok(())
}

/// What is set for the association with this identifier, or for those to come.
fn current(socket: &Socket, id: i32) -> Result<Each, Errno> {
    let state = socket.state();
    match (socket.is_one_to_one(), id) {
        (false, FUTURE) => Ok(state.options.each),
        (false, CURRENT | super::ALL) => Err(Errno::INVAL),
        (false, id) => state.link(socket, id).map(|link| link.each()).ok_or(Errno::INVAL),
        (true, _) => Ok(state.link(socket, id).map_or(state.options.each, |link| link.each())),
    }
}

fn is_kind(kind: u16) -> bool {
    (notification::DATA_IO..notification::DATA_IO + notification::COUNT).contains(&kind)
}

/// `struct sctp_event_subscribe`: a byte for each kind, of which older programs know fewer.
fn subscribe_all(socket: &Socket, value: Fields<'_>) -> Result<(), Errno> {
    if value.0.is_empty() || value.0.len() > usize::from(notification::COUNT) {
        return Err(Errno::INVAL);
    }
    change(socket, super::ALL, |each| {
        for (kind, on) in (notification::DATA_IO..).zip(value.0) {
            each.subscribe(kind, *on != 0);
        }
    })
}

/// `struct sctp_event`.
fn subscribe(socket: &Socket, value: Fields<'_>) -> Result<(), Errno> {
    let id = value.i32(0).ok_or(Errno::INVAL)?;
    let kind = value.u16(4).filter(|kind| is_kind(*kind)).ok_or(Errno::INVAL)?;
    let on = value.u8(6).ok_or(Errno::INVAL)?;
    if kind == notification::DATA_IO && !socket.is_one_to_one() && id != FUTURE && id != super::ALL
    {
        // Ancillary data is that of the socket.
        return Err(Errno::OPNOTSUPP);
    }
    change(socket, id, |each| each.subscribe(kind, on != 0))
}

fn event(socket: &Socket, given: Fields<'_>) -> Result<Vec<u8>, Errno> {
    let id = given.i32(0).ok_or(Errno::INVAL)?;
    let kind = given.u16(4).filter(|kind| is_kind(*kind)).ok_or(Errno::INVAL)?;
    let each = current(socket, id)?;
    Ok(Building::new().i32(id).u16(kind).u8(each.is_subscribed(kind).into()).padded(8).0)
}

/// Where the structure of an option names the association.
fn place_of_id(number: i32) -> usize {
    match number {
        option::DEFAULT_SEND_PARAM => 28,
        option::DEFAULT_SNDINFO => 12,
        _ => 0,
    }
}

/// `struct sctp_sndrcvinfo`, `struct sctp_sndinfo` or `struct sctp_default_prinfo`.
fn set_default_send(socket: &Socket, number: i32, value: Fields<'_>) -> Result<(), Errno> {
    let id = value.i32(place_of_id(number)).ok_or(Errno::INVAL)?;
    let missing = Errno::INVAL;
    let (short, long) =
        (|offset| value.u16(offset).ok_or(missing), |offset| value.u32(offset).ok_or(missing));
    let set = match number {
        option::DEFAULT_SEND_PARAM => {
            let (flags, pr_value) = (short(4)?, long(16)?);
            let pr_policy = match flags & flag::PR_MASK {
                0 if pr_value > 0 => flag::PR_TTL,
                policy => policy,
            };
            let (stream, flags) = (short(0)?, flags & !flag::PR_MASK);
            DefaultSend { stream, flags, ppid: long(8)?, context: long(12)?, pr_policy, pr_value }
        }
        option::DEFAULT_SNDINFO => {
            let (stream, flags) = (short(0)?, short(2)? & !flag::PR_MASK);
            let (ppid, context) = (long(4)?, long(8)?);
            DefaultSend { stream, flags, ppid, context, ..DefaultSend::default() }
        }
        _ => {
            let (pr_value, pr_policy) = (long(4)?, short(8)? & flag::PR_MASK);
            DefaultSend { pr_value, pr_policy, ..DefaultSend::default() }
        }
    };
    // The others are for single messages.
    if set.flags & !(flag::UNORDERED | flag::ADDR_OVER | flag::SACK_IMMEDIATELY) != 0 {
        return Err(Errno::INVAL);
    }
    change(socket, id, |each| {
        let send = &mut each.default_send;
        if number != option::DEFAULT_SNDINFO {
            (send.pr_policy, send.pr_value) = (set.pr_policy, set.pr_value);
        }
        if number != option::DEFAULT_PRINFO {
            (send.stream, send.flags) = (set.stream, set.flags);
            (send.ppid, send.context) = (set.ppid, set.context);
        }
    })
}

fn default_send(number: i32, id: i32, send: &DefaultSend) -> Vec<u8> {
    let built = Building::new();
    match number {
        option::DEFAULT_SEND_PARAM => built
            .u16(send.stream)
            .u16(0)
            .u16(send.flags | send.pr_policy)
            .padded(8)
            .u32(send.ppid)
            .u32(send.context)
            .u32(send.pr_value)
            .u32(0)
            .u32(0)
            .i32(id),
        option::DEFAULT_SNDINFO => {
            built.u16(send.stream).u16(send.flags).u32(send.ppid).u32(send.context).i32(id)
        }
        _ => built.i32(id).u32(send.pr_value).u16(send.pr_policy).padded(12),
    }
    .0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_notification_has_a_bit_of_its_own() {
        let mut bits = 0_u16;
        for kind in 0..notification::COUNT {
            assert_eq!(bits & bit(notification::DATA_IO + kind), 0);
            bits |= bit(notification::DATA_IO + kind);
        }
    }
}
