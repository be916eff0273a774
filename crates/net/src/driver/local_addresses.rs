//! Addition and removal of local addresses of an endpoint in use, and interfaces that come back.

use std::net::IpAddr;

use polypath_proto::LocalAddressChange;
use smallvec::SmallVec;
use tokio::sync::oneshot;

use crate::address;
use crate::error::BindError;
use crate::socket::{Binding, Closing, Sockets};
use crate::wildcard::Wildcard;

/// Receiver of the result of a request.
type Done = oneshot::Sender<Result<(), BindError>>;

/// How sockets are bound, and which of them are closing.
#[derive(Debug)]
pub(super) struct LocalAddresses {
    binding: Binding,
    /// Addresses that follow those of the host.
    wildcard: Wildcard,
    /// Addresses that are being removed.
    leaving: Vec<Leaving>,
}

/// A change that is complete once its old sockets are closed.
#[derive(Debug)]
struct Leaving {
    closing: SmallVec<[Closing; 2]>,
    done: Done,
}

impl Leaving {
    fn is_over(&self) -> bool {
        self.closing.iter().all(Closing::is_over)
    }
}

/// Why an address is added or removed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reason {
    /// The program requested it.
    Wanted,
    /// The host gained or lost it.
    Followed,
}

impl LocalAddresses {
    pub(super) fn new(binding: Binding, wildcard: Wildcard) -> Self {
        Self { binding, wildcard, leaving: Vec::new() }
    }

    /// The changes that an endpoint with all addresses of the host needs.
    pub(super) fn to_follow(&self, sockets: &Sockets) -> Vec<LocalAddressChange> {
        self.wildcard.changes(|address| !sockets.places_of(address).is_empty())
    }

    /// Notes a change.
    pub(super) fn note(&mut self, change: LocalAddressChange, reason: Reason) {
        match reason {
            Reason::Wanted => self.wildcard.on_wanted(change),
            Reason::Followed => self.wildcard.on_followed(change),
        }
    }

    /// Changes the addresses of an endpoint with these `sockets`; returns the new sockets, and those to be closed. An
    /// added address is bound to `device` if one is named, otherwise to the previous one, if any.
    pub(super) fn change(
        &mut self,
        sockets: &Sockets,
        change: LocalAddressChange,
        device: Option<&str>,
    ) -> Result<(Sockets, SmallVec<[Closing; 2]>), BindError> {
        let (mut sockets, mut closing) = (sockets.clone(), SmallVec::new());
        match change {
            LocalAddressChange::Added(address) => {
                let mut binding = self.binding.clone();
                if let Some(device) = device {
                    binding.devices.set(address, device);
                }
                address::check(address, &binding.devices)?;
                if !sockets.places_of(address).is_empty() {
                    return Err(BindError::AlreadyBound(address));
                }
                for socket in binding.bind_one(address)? {
                    sockets.insert(socket);
                }
                self.binding = binding;
            }
            LocalAddressChange::Removed(address) => {
                let places = sockets.places_of(address);
                if places.is_empty() {
                    return Err(BindError::NotBound(address));
                }
                if sockets.count() == places.len() {
                    return Err(BindError::LastAddress(address));
                }
                for place in places {
                    closing.extend(sockets.remove(place));
                }
            }
        }
        Ok((sockets, closing))
    }

    /// Notes that the sockets of a change are in use; completes `done` once the replaced sockets are closed, which
    /// other shards may still use.
    pub(super) fn settle(&mut self, closing: SmallVec<[Closing; 2]>, done: Done) {
        self.leaving.push(Leaving { closing, done });
    }

    /// Completes the changes whose sockets are closed.
    pub(super) fn tell_done(&mut self) {
        for Leaving { done, .. } in self.leaving.extract_if(.., |leaving| leaving.is_over()) {
            // The caller may have stopped waiting.
            let _ = done.send(Ok(()));
        }
    }

    /// Reopens sockets bound to interfaces that were removed, once interfaces with the same names and addresses exist;
    /// returns the new sockets, if any.
    pub(super) fn reopen(&self, sockets: &Sockets) -> Option<Sockets> {
        let lost = sockets.iter().filter(|(_, socket)| socket.has_lost_device());
        let mut addresses: SmallVec<[IpAddr; 2]> =
            lost.map(|(_, socket)| socket.address()).collect();
        addresses.dedup();
        let mut reopened = None;
        for address in addresses {
            // The interface may lack the address yet.
            let Ok(fresh) = self.binding.bind_one(address) else { continue };
            let sockets = reopened.get_or_insert_with(|| sockets.clone());
            for place in sockets.places_of(address) {
                sockets.remove(place);
            }
            for socket in fresh {
                sockets.insert(socket);
            }
        }
        reopened
    }
}

/// Whether some addresses are bound to interfaces.
pub(super) fn has_devices(sockets: &Sockets) -> bool {
    sockets.iter().any(|(_, socket)| socket.device().is_some())
}
