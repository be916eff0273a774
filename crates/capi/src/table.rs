//! Which descriptors of this process are SCTP sockets.
//!
//! The table only saves time: what a descriptor is, its name tells (`getpeername`), whoever has opened it. It is filled when the process
//! begins and wherever descriptors are made or copied.

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicU64, AtomicUsize, Ordering};

use libc::{c_int, c_uint};
use polypath_sockets::board::Place;
use polypath_sockets::names::{SocketName, Style};

use crate::complaint::complain;
use crate::fault::{Fault, Outcome};
use crate::real;

/// Descriptors beyond are not looked at; a socket cannot be one of them.
pub(crate) const MAX_DESCRIPTORS: usize = 65_536;

const ONE_TO_MANY: u8 = 1;
const IPV6: u8 = 2;
const CARRIED: u8 = 4;
const PEELED_OFF: u8 = 8;
const READ_SHUT: u8 = 16;
const WRITE_SHUT: u8 = 32;
const FOREIGN: u8 = 64;

/// Stands for all sockets of other versions.
pub(crate) const FOREIGN_ID: u64 = u64::MAX;

/// One more than the highest descriptor that was a socket of ours.
static END: AtomicUsize = AtomicUsize::new(0);

/// Identifiers of sockets by descriptor; 0 where it is none.
static IDS: [AtomicU64; MAX_DESCRIPTORS] = [const { AtomicU64::new(0) }; MAX_DESCRIPTORS];
/// What else is known of them.
static TRAITS: [AtomicU8; MAX_DESCRIPTORS] = [const { AtomicU8::new(0) }; MAX_DESCRIPTORS];

/// Where they are posted ([`Posting`]): null where it was not looked, and [`NOWHERE`].
static SLOTS: [AtomicPtr<u8>; MAX_DESCRIPTORS] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; MAX_DESCRIPTORS];
const NOWHERE: *mut u8 = std::ptr::without_provenance_mut(1);

/// Where the service posts what is so of a socket.
pub(crate) enum Posting {
    Slot(*mut u8),
    /// It cannot be had.
    None,
    /// It was not looked.
    Unknown,
}

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

    /// Whether the program reads nothing more, as far as this process knows.
    pub(crate) fn is_read_shut(self) -> bool {
        self.traits & READ_SHUT != 0
    }

    /// Whether it is a socket of another version of this project, of which nothing can be done here.
    fn is_foreign(self) -> bool {
        self.traits & FOREIGN != 0
    }

    /// Fails for a socket of another version: what lies in its descriptor is not understood.
    pub(crate) fn ensure_known(self) -> Outcome<()> {
        if self.is_foreign() { Err(Fault(libc::EPROTONOSUPPORT)) } else { Ok(()) }
    }

    /// Whether the program sends nothing more, as far as this process knows.
    pub(crate) fn is_write_shut(self) -> bool {
        self.traits & WRITE_SHUT != 0
    }

    pub(crate) fn note_read_shut(self) {
        self.note(READ_SHUT);
    }

    pub(crate) fn note_write_shut(self) {
        self.note(WRITE_SHUT);
    }

    /// Whichever descriptor of the socket the program uses.
    fn note(self, what: u8) {
        let of_socket = places().filter(|place| IDS[*place].load(Ordering::Relaxed) == self.id);
        for place in of_socket {
            TRAITS[place].fetch_or(what, Ordering::Relaxed);
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
    let slot = usize::try_from(from).ok().and_then(|from| SLOTS.get(from));
    let slot = slot.map_or(std::ptr::null_mut(), |slot| slot.load(Ordering::Relaxed));
    SLOTS[to].store(slot, Ordering::SeqCst);
    store(to, id);
}

/// Says which socket a descriptor is.
fn store(place: usize, id: u64) {
    if id != 0 {
        END.fetch_max(place + 1, Ordering::Relaxed);
    }
    IDS[place].store(id, Ordering::SeqCst);
}

/// A descriptor is closed.
pub(crate) fn forget(fd: c_int) {
    if let Some(id) = usize::try_from(fd).ok().and_then(|place| IDS.get(place)) {
        id.store(0, Ordering::SeqCst);
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

/// Where the socket of a descriptor is posted, as far as this process knows.
pub(crate) fn slot(fd: c_int) -> Posting {
    let slot = usize::try_from(fd).ok().and_then(|place| SLOTS.get(place));
    match slot.map_or(NOWHERE, |slot| slot.load(Ordering::Acquire)) {
        NOWHERE => Posting::None,
        slot if slot.is_null() => Posting::Unknown,
        slot => Posting::Slot(slot),
    }
}

/// A socket is posted there; nowhere, if that is null.
pub(crate) fn note_slot(socket: Sctp, slot: *mut u8) {
    let Ok(place) = usize::try_from(socket.fd) else { return };
    let Some((noted, id)) = SLOTS.get(place).zip(IDS.get(place)) else { return };
    let slot = if slot.is_null() { NOWHERE } else { slot };
    noted.store(slot, Ordering::SeqCst);
    // Another thread may have closed the descriptor since, and the next socket that has its number is posted elsewhere. It forgets the socket
    // before it forgets the slot, so that one of the two is noticed.
    if id.load(Ordering::SeqCst) != socket.id {
        let (set, read) = (Ordering::SeqCst, Ordering::SeqCst);
        let _ = noted.compare_exchange(slot, std::ptr::null_mut(), set, read);
    }
}

/// Where the service says that the socket of a descriptor is posted.
pub(crate) fn place(fd: c_int) -> Option<Place> {
    name_of(fd).map(|name| name.place)
}

/// Looks at a descriptor that this process did not have before; whether it is a socket of ours.
pub(crate) fn learn(fd: c_int) -> bool {
    let Some(place) = usize::try_from(fd).ok().filter(|place| *place < MAX_DESCRIPTORS) else {
        return false;
    };
    let found = bytes_of_name(fd).and_then(|bytes| {
        let known = SocketName::decode(&bytes).map(|name| (traits_of(name), name.id));
        known.or_else(|| {
            let is_foreign = SocketName::is_of_other_version(&bytes);
            is_foreign.then(|| {
                complain(format_args!(
                    "descriptor {fd} is an SCTP socket of another version of Polypath than the library of this program: start all programs that share it anew"
                ));
                (FOREIGN, FOREIGN_ID)
            })
        })
    });
    if let Some((traits, _)) = found {
        TRAITS[place].store(traits, Ordering::Relaxed);
        SLOTS[place].store(std::ptr::null_mut(), Ordering::SeqCst);
    }
    store(place, found.map_or(0, |(_, id)| id));
    found.is_some()
}

fn traits_of(name: SocketName) -> u8 {
    let style = match name.style {
        Style::OneToOne => 0,
        Style::OneToMany => ONE_TO_MANY,
        Style::PeeledOff => PEELED_OFF,
    };
    let family = if name.is_ipv6 { IPV6 } else { 0 };
    style | family | if name.is_carried { CARRIED } else { 0 }
}

/// The name at the other end of a descriptor, if it is one of ours.
fn name_of(fd: c_int) -> Option<SocketName> {
    SocketName::decode(&bytes_of_name(fd)?)
}

/// The abstract name at the other end of a descriptor, without the zero in front.
fn bytes_of_name(fd: c_int) -> Option<Vec<u8>> {
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
    bytes.strip_prefix(&[0]).map(<[u8]>::to_vec)
}
