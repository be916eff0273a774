//! Local addresses of a single association, for `sctp_bindx`.

use std::net::IpAddr;

use polypath_proto::{AddressChangeError, LocalAddressChange};

use crate::association::Association;
use crate::endpoint::Endpoint;

impl Endpoint {
    /// Adds a local address of the endpoint to one association, whose peer is requested to add it (ASCONF, RFC 5061).
    /// Other associations do not change.
    ///
    /// # Errors
    ///
    /// One side lacks the extension (policy `address_reconfiguration`), or this is not an address of the endpoint.
    pub fn bind_add_for(
        &self,
        association: &Association,
        address: IpAddr,
    ) -> Result<(), AddressChangeError> {
        if !self.local_addresses().contains(&address) {
            return Err(AddressChangeError::UnknownAddress);
        }
        self.rebind_one(association, LocalAddressChange::Added(address))
    }

    /// Removes a local address from one association, whose peer is requested to delete it. The last one stays.
    ///
    /// # Errors
    ///
    /// One side lacks the extension, or this is not an address of the association, or its last one.
    pub fn bind_remove_for(
        &self,
        association: &Association,
        address: IpAddr,
    ) -> Result<(), AddressChangeError> {
        let addresses = association.local_addresses();
        if !addresses.contains(&address) || addresses.len() == 1 {
            return Err(AddressChangeError::UnknownAddress);
        }
        self.rebind_one(association, LocalAddressChange::Removed(address))
    }

    fn rebind_one(
        &self,
        association: &Association,
        change: LocalAddressChange,
    ) -> Result<(), AddressChangeError> {
        let now = association.shared.clock.now();
        let mut inner = association.shared.lock();
        if !inner.protocol.is_established() {
            return Err(AddressChangeError::NotEstablished);
        }
        if !inner.protocol.can_change_addresses() {
            return Err(AddressChangeError::Unsupported);
        }
        inner.call(now, |protocol, cx| protocol.handle_local_address(cx, change));
        inner.follow_routes(now);
        inner.bound_mtus(&self.shared().sockets, now);
        drop(inner);
        association.shared.command();
        Ok(())
    }
}
