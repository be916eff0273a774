//! Local addresses that are added and removed while the endpoint works.

use std::sync::Arc;

use polypath_proto::LocalAddressChange;
use tokio::sync::oneshot;

use super::Driver;
use super::router::touch;
use crate::BindError;
use crate::builder::check_address;

/// A wish of a handle, and where its outcome is told.
#[derive(Debug)]
pub(crate) struct Rebind {
    pub(crate) change: LocalAddressChange,
    pub(crate) done: oneshot::Sender<Result<(), BindError>>,
}

impl Driver {
    /// Does what handles wish, in their order.
    pub(super) fn rebind_all(&mut self, wishes: Vec<Rebind>) {
        for Rebind { change, done } in wishes {
            let result = self.rebind(change);
            // Whoever asked may have stopped waiting.
            let _ = done.send(result);
        }
    }

    fn rebind(&mut self, change: LocalAddressChange) -> Result<(), BindError> {
        match change {
            LocalAddressChange::Added(address) => {
                check_address(address)?;
                if !self.sockets.places_of(address).is_empty() {
                    return Err(BindError::AlreadyBound(address));
                }
                for socket in self.binding.bind_one(address)? {
                    let place = self.sockets.insert(socket);
                    self.outbound.open_place(place);
                }
            }
            LocalAddressChange::Removed(address) => {
                let places = self.sockets.places_of(address);
                if places.is_empty() {
                    return Err(BindError::NotBound(address));
                }
                if self.sockets.count() == places.len() {
                    return Err(BindError::LastAddress(address));
                }
                for place in places {
                    self.sockets.remove(place);
                    self.outbound.close_place(place, &mut self.stats);
                }
            }
        }
        let table: Vec<_> = {
            let mut state = self.shared.state();
            state.protocol.handle_local_address(change);
            state.table.values().map(Arc::clone).collect()
        };
        let now = self.shared.clock.now();
        for association in table {
            let mut inner = association.lock();
            inner.call(now, |protocol, cx| protocol.handle_local_address(cx, change));
            if inner.protocol.is_established() {
                inner.follow_routes(now);
                inner.bound_mtus(now);
            }
            drop(inner);
            touch(&mut self.touched, &association);
        }
        Ok(())
    }
}
