//! Which descriptors of this process are SCTP sockets.
//!
//! The table only saves time: what a descriptor is, its name tells (`getpeername`), whoever has opened it. It is filled when the process
//! begins and wherever descriptors are made or copied.

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};

use libc::{c_int, c_uint};
use polypath_sockets::frame::wanted;
use polypath_sockets::names::{SocketName, Style};

use crate::complaint::complain;
use crate::real;

/// Descriptors beyond are not looked at; a socket cannot be one of them.
pub(crate) const MAX_DESCRIPTORS: usize = 65_536;

const ONE_TO_MANY: u8 = 1;
const IPV6: u8 = 2;
const CONNECTED: u8 = 4;
const LISTENING: u8 = 8;
const CARRIED: u8 = 16;
const PEELED_OFF: u8 = 32;
const UNFRAGMENTED: u8 = 64;
const READ_SHUT: u8 = 128;

/// One more than the highest descriptor that was a socket of ours.
static END: AtomicUsize = AtomicUsize::new(0);

/// Identifiers of sockets by descriptor; 0 where it is none.
static IDS: [AtomicU64; MAX_DESCRIPTORS] = [const { AtomicU64::new(0) }; MAX_DESCRIPTORS];
/// What else is known of them.
static TRAITS: [AtomicU8; MAX_DESCRIPTORS] = [const { AtomicU8::new(0) }; MAX_DESCRIPTORS];

/// Ancillary data that this process has asked for, as far as it has set that itself; [`KNOWN`] says so.
static WANTED: [AtomicU8; MAX_DESCRIPTORS] = [const { AtomicU8::new(0) }; MAX_DESCRIPTORS];
const KNOWN: u8 = 0x80;

/// An SCTP socket by its descriptor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sctp {
    pub(crate) fd: c_int,
    pub(crate) id: u64,
    traits: u8,
}

impl Sctp {
    /// The socket of a descriptor, if it is one.
    pub(crate) fn of(fd: c_int) -> Option<Self> {
        let place = usize::try_from(fd).ok()?;
        let id = IDS.get(place)?.load(Ordering::Relaxed);
        (id != 0).then(|| Self { fd, id, traits: TRAITS[place].load(Ordering::Relaxed) })
    }

    pub(crate) fn is_one_to_one(self) -> bool {
        self.traits & ONE_TO_MANY == 0
    }

    /// Whether a one-to-many socket had its association before.
    pub(crate) fn is_peeled_off(self) -> bool {
        self.traits & PEELED_OFF != 0
    }

    pub(crate) fn is_ipv6(self) -> bool {
        self.traits & IPV6 != 0
    }

    /// Whether the program carries its packets, so that its stack is in this process.
    pub(crate) fn is_carried(self) -> bool {
        self.traits & CARRIED != 0
    }

    /// Whether it is known to be connected; if not, it may be all the same.
    pub(crate) fn is_connected(self) -> bool {
        self.traits & CONNECTED != 0
    }

    pub(crate) fn is_listening(self) -> bool {
        self.traits & LISTENING != 0
    }

    /// Whether messages must fit into a packet, as far as this process knows.
    pub(crate) fn is_unfragmented(self) -> bool {
        self.traits & UNFRAGMENTED != 0
    }

    /// Whether the program reads nothing more, as far as this descriptor knows.
    pub(crate) fn is_read_shut(self) -> bool {
        self.traits & READ_SHUT != 0
    }

    pub(crate) fn note_read_shut(self) {
        self.note(READ_SHUT);
    }

    pub(crate) fn note_connected(self) {
        self.note(CONNECTED);
    }

    /// An association has ended; there may be others.
    pub(crate) fn note_end(self) {
        self.drop_note(CONNECTED);
    }

    /// What the service has said of the socket decides whether messages must fit into a packet.
    pub(crate) fn note_unfragmented(self, said: u8) {
        match said & wanted::UNFRAGMENTED {
            0 => self.drop_note(UNFRAGMENTED),
            _ => self.note(UNFRAGMENTED),
        }
    }

    pub(crate) fn note_listening(self) {
        self.note(LISTENING);
    }

    /// Ancillary data that goes with what is received from now on, also with what has been delivered already. `None` if another
    /// process has set it: then each message says what was wanted when it came.
    pub(crate) fn wanted(self) -> Option<u8> {
        let place = usize::try_from(self.fd).ok()?;
        let wanted = WANTED.get(place)?.load(Ordering::Relaxed);
        (wanted & KNOWN != 0).then_some(wanted & !KNOWN)
    }

    /// The process has asked for this ancillary data, whichever descriptor of the socket it has named.
    pub(crate) fn note_wanted(self, wanted: u8) {
        let of_socket = places().filter(|place| IDS[*place].load(Ordering::Relaxed) == self.id);
        of_socket.for_each(|place| WANTED[place].store(wanted | KNOWN, Ordering::Relaxed));
    }

    fn drop_note(self, what: u8) {
        if let Some(traits) = usize::try_from(self.fd).ok().and_then(|place| TRAITS.get(place)) {
            traits.fetch_and(!what, Ordering::Relaxed);
        }
    }

    fn note(self, what: u8) {
        if let Some(traits) = usize::try_from(self.fd).ok().and_then(|place| TRAITS.get(place)) {
            traits.fetch_or(what, Ordering::Relaxed);
        }
    }
}

/// Descriptors that may be sockets of ours.
fn places() -> impl Iterator<Item = usize> {
    0..END.load(Ordering::Relaxed)
}

/// A descriptor is a copy of another one.
pub(crate) fn copy(from: c_int, to: c_int) {
    let Ok(to) = usize::try_from(to) else { return };
    if to >= MAX_DESCRIPTORS {
        return;
    }
    let (id, traits) = Sctp::of(from).map_or((0, 0), |socket| (socket.id, socket.traits));
    TRAITS[to].store(traits, Ordering::Relaxed);
    let wanted = usize::try_from(from).ok().and_then(|from| WANTED.get(from));
    WANTED[to].store(wanted.map_or(0, |one| one.load(Ordering::Relaxed)), Ordering::Relaxed);
    store(to, id);
}

/// Says which socket a descriptor is.
fn store(place: usize, id: u64) {
    if id != 0 {
        END.fetch_max(place + 1, Ordering::Relaxed);
    }
    IDS[place].store(id, Ordering::Relaxed);
}

/// A descriptor is closed.
pub(crate) fn forget(fd: c_int) {
    if let Some(id) = usize::try_from(fd).ok().and_then(|place| IDS.get(place)) {
        id.store(0, Ordering::Relaxed);
    }
}

/// Descriptors with these numbers, and between them, that are sockets of ours.
pub(crate) fn sockets_between(first: c_uint, last: c_uint) -> impl Iterator<Item = c_int> {
    let wanted = first as usize..=last as usize;
    let all = places().filter(move |place| wanted.contains(place)).map(|place| place as c_int);
    all.filter(|fd| Sctp::of(*fd).is_some())
}

/// Whether a descriptor of this process is this socket. Looks at all of them.
pub(crate) fn has(socket: u64) -> bool {
    places().any(|place| IDS[place].load(Ordering::Relaxed) == socket)
}

/// Looks at a descriptor that this process did not have before; whether it is a socket of ours.
pub(crate) fn learn(fd: c_int) -> bool {
    let Some(place) = usize::try_from(fd).ok().filter(|place| *place < MAX_DESCRIPTORS) else {
        return false;
    };
    let name = name_of(fd);
    if let Some(name) = name {
        let mut traits = match name.style {
            Style::OneToOne => 0,
            Style::OneToMany => ONE_TO_MANY,
            Style::PeeledOff => PEELED_OFF,
        };
        if name.is_ipv6 {
            traits |= IPV6;
        }
        if name.is_carried {
            traits |= CARRIED;
        }
        TRAITS[place].store(traits, Ordering::Relaxed);
        WANTED[place].store(0, Ordering::Relaxed);
    }
    store(place, name.map_or(0, |name| name.id));
    name.is_some()
}

/// The name at the other end of a descriptor.
fn name_of(fd: c_int) -> Option<SocketName> {
    let mut address = MaybeUninit::<libc::sockaddr_un>::zeroed();
    let mut length = size_of::<libc::sockaddr_un>() as libc::socklen_t;
    // SAFETY: the address has room for `length` bytes.
    if unsafe { real::getpeername(fd, address.as_mut_ptr().cast(), &raw mut length) } != 0 {
        return None;
    }
    // SAFETY: all of it was zero or has been written.
    let address = unsafe { address.assume_init() };
    if c_int::from(address.sun_family) != libc::AF_UNIX {
        return None;
    }
    let length = (length as usize).checked_sub(2)?.min(address.sun_path.len());
    let bytes: Vec<u8> =
        address.sun_path[..length].iter().map(|byte| byte.cast_unsigned()).collect();
    let name = bytes.strip_prefix(&[0])?;
    if SocketName::is_of_other_version(name) {
        complain(format_args!(
            "descriptor {fd} is an SCTP socket of another version of Polypath than the library of this program: start all programs that share it anew"
        ));
    }
    SocketName::decode(name)
}
