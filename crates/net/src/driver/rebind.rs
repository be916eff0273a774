//! Local addresses that are added and removed while the endpoint works.

use std::net::IpAddr;
use std::sync::{Arc, Weak};

use polypath_proto::LocalAddressChange;
use smallvec::SmallVec;
use tokio::sync::oneshot;

use super::port::Port;
use super::{Driver, Sockets};
use crate::BindError;
use crate::builder::check_address;

/// A wish of a handle, and where its outcome is told.
#[derive(Debug)]
pub(crate) struct Rebind {
    pub(crate) change: LocalAddressChange,
    /// The interface that an added address is to be bound to; otherwise the one of before, if any.
    pub(crate) device: Option<String>,
    pub(crate) done: oneshot::Sender<Result<(), BindError>>,
}

/// An address that is being removed: its sockets are to be closed before that is told.
#[derive(Debug)]
pub(super) struct Leaving {
    sockets: SmallVec<[Weak<Port>; 2]>,
    done: oneshot::Sender<Result<(), BindError>>,
}

impl Leaving {
    fn is_over(&self) -> bool {
        self.sockets.iter().all(|socket| socket.strong_count() == 0)
    }
}

impl Driver {
    /// Does what handles wish, in their order.
    pub(super) fn rebind_all(&mut self, wishes: Vec<Rebind>) {
        for Rebind { change, device, done } in wishes {
            match self.rebind(change, device.as_deref()) {
                // Other shards may still have them.
                Ok(sockets) => self.leaving.push(Leaving { sockets, done }),
                // Whoever asked may have stopped waiting.
                Err(error) => drop(done.send(Err(error))),
            }
        }
        for Leaving { done, .. } in self.leaving.extract_if(.., |leaving| leaving.is_over()) {
            let _ = done.send(Ok(()));
        }
    }

    /// Gives the sockets that are to be closed.
    fn rebind(
        &mut self,
        change: LocalAddressChange,
        device: Option<&str>,
    ) -> Result<SmallVec<[Weak<Port>; 2]>, BindError> {
        let mut leaving = SmallVec::new();
        let mut sockets = self.shard.sockets.clone();
        match change {
            LocalAddressChange::Added(address) => {
                let mut binding = self.binding.clone();
                if let Some(device) = device {
                    binding.devices.set(address, device);
                }
                check_address(address, &binding.devices)?;
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
                    leaving.extend(sockets.remove(place).map(|socket| Arc::downgrade(&socket)));
                }
            }
        }
        self.use_sockets(sockets);
        self.tell_associations(change);
        Ok(leaving)
    }

    /// Whether some addresses are bound to interfaces.
    pub(super) fn has_devices(&self) -> bool {
        self.shard.sockets.iter().any(|(_, socket)| socket.device().is_some())
    }

    /// Opens sockets anew that are bound to interfaces which have been removed, once others have their names and addresses.
    pub(super) fn follow_devices(&mut self) {
        let lost = self.shard.sockets.iter().filter(|(_, socket)| socket.has_lost_device());
        let mut addresses: SmallVec<[IpAddr; 2]> =
            lost.map(|(_, socket)| socket.address()).collect();
        addresses.dedup();
        for address in addresses {
            // The address may still be missing there.
            let Ok(fresh) = self.binding.bind_one(address) else { continue };
            let mut sockets = self.shard.sockets.clone();
            for place in sockets.places_of(address) {
                sockets.remove(place);
            }
            for socket in fresh {
                sockets.insert(socket);
            }
            self.use_sockets(sockets);
        }
    }

    /// These are the sockets from now on, for every shard.
    fn use_sockets(&mut self, mut sockets: Sockets) {
        self.shard.shared.sockets.set(&mut sockets);
        drop(sockets);
        self.shard.follow_sockets();
        for shard in &self.shard.shared.shards {
            shard.work.notify_one();
        }
    }

    fn tell_associations(&mut self, change: LocalAddressChange) {
        let table: Vec<_> = {
            let mut state = self.shard.shared.state();
            state.protocol.handle_local_address(change);
            state.table.values().map(Arc::clone).collect()
        };
        let now = self.shard.shared.clock.now();
        for association in table {
            let mut inner = association.lock();
            inner.call(now, |protocol, cx| protocol.handle_local_address(cx, change));
            if inner.protocol.is_established() {
                inner.follow_routes(now);
                inner.bound_mtus(&association.endpoint, now);
            }
            drop(inner);
            self.shard.follow(&association);
        }
    }
}
