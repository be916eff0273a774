//! The port and the local addresses of a socket: `bind` and `sctp_bindx`.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use polypath::{AddressChangeError, Association, BindError, Endpoint, PortAddresses, PortConfig};
use rustix::io::Errno;

use super::{Socket, State};
use crate::service::errors;

impl Socket {
    /// Local addresses that belong to the socket.
    pub(in crate::service) fn local_addresses(&self, state: &State) -> Vec<IpAddr> {
        let of_port = self.port_addresses(state);
        let all = self.service.network.local_addresses();
        all.into_iter().filter(|address| of_port.has(*address)).collect()
    }

    pub(super) fn port_addresses(&self, state: &State) -> PortAddresses {
        if !state.addresses.is_empty() && !state.options.all_addresses {
            return PortAddresses::Listed(state.addresses.clone());
        }
        match (self.name.is_ipv6, state.options.is_ipv6_only()) {
            (false, _) => PortAddresses::Ipv4,
            (true, true) => PortAddresses::Ipv6,
            (true, false) => PortAddresses::All,
        }
    }

    /// SCTP port; 0 if it has none yet.
    pub(in crate::service) fn local_port(state: &State) -> u16 {
        let link = state.links.values().find_map(|link| link.association());
        match (&state.port, link) {
            (Some(port), _) => port.port(),
            (None, Some(association)) => association.local_port(),
            (None, None) => 0,
        }
    }

    /// Whether the socket has this port, and its program has not closed it, as far as that can be told.
    pub(in crate::service) fn uses_port(&self, port: u16) -> bool {
        let state = self.state();
        let has_port = state.port.as_ref().is_some_and(|own| own.port() == port);
        has_port && !self.is_in_transit.load(Ordering::Acquire) && !self.channel.is_hung_up()
    }

    /// `bind`: the first addresses, and the port.
    pub(in crate::service) fn bind(&self, addresses: &[SocketAddr]) -> Result<(), Errno> {
        let port = addresses.first().ok_or(Errno::INVAL)?.port();
        // As on Linux, addresses are looked at first.
        let checked = self.checked(addresses, port)?;
        let mut state = self.state();
        state.ensure_open()?;
        if state.port.is_some() || !state.links.is_empty() || state.names.is_some() {
            return Err(Errno::INVAL);
        }
        if self.name.is_carried && checked.is_empty() {
            state.wished_port = port;
            return Ok(());
        }
        state.addresses = checked;
        self.take_port(&mut state, port).inspect_err(|_| state.addresses.clear())
    }

    /// `sctp_bindx`: more addresses.
    pub(in crate::service) fn bind_more(&self, addresses: &[SocketAddr]) -> Result<(), Errno> {
        let mut state = self.state();
        let has_link = state.links.values().any(|link| link.is_up());
        if state.port.is_none() && !has_link {
            drop(state);
            return self.bind(addresses);
        }
        let port = Self::local_port(&state);
        let more = self.checked(addresses, port)?;
        let present = self.own_addresses(&state);
        if state.port.is_some() && state.addresses.is_empty() || more.is_empty() {
            // All of them are bound.
            return Err(Errno::INVAL);
        }
        if more.iter().any(|address| present.contains(address)) {
            return Err(Errno::ADDRINUSE);
        }
        self.tell_associations(&state, &more, Endpoint::bind_add_for)?;
        state.addresses = present.into_iter().chain(more).collect();
        self.options_changed(&state);
        Ok(())
    }

    /// `sctp_bindx`: fewer addresses. The last one stays.
    pub(in crate::service) fn bind_fewer(&self, addresses: &[SocketAddr]) -> Result<(), Errno> {
        let mut state = self.state();
        let mut left = self.own_addresses(&state);
        let mut gone = Vec::new();
        for address in addresses {
            let place = left.iter().position(|one| *one == address.ip()).ok_or(Errno::INVAL)?;
            gone.push(left.remove(place));
        }
        if left.is_empty() {
            return Err(Errno::BUSY);
        }
        self.tell_associations(&state, &gone, Endpoint::bind_remove_for)?;
        state.addresses = left;
        self.options_changed(&state);
        Ok(())
    }

    /// Addresses that the socket has; one that was accepted or peeled off has those of its association.
    fn own_addresses(&self, state: &State) -> Vec<IpAddr> {
        let association = state.links.values().find_map(|link| link.association());
        match (&state.port, association) {
            (None, Some(association)) => association.local_addresses(),
            _ => self.local_addresses(state),
        }
    }

    /// Changes addresses of the associations that can do so. A socket without a port has nothing else to change.
    fn tell_associations(
        &self,
        state: &State,
        addresses: &[IpAddr],
        change: impl Fn(&Endpoint, &Association, IpAddr) -> Result<(), AddressChangeError>,
    ) -> Result<(), Errno> {
        let associations = state.links.values().filter_map(|link| link.association());
        let able: Vec<_> = associations.filter(|one| one.can_change_addresses()).collect();
        if able.is_empty() && (state.port.is_none() || self.name.is_carried) {
            return Err(Errno::OPNOTSUPP);
        }
        let Some(endpoint) = self.service.network.endpoint(&state.addresses) else {
            return Err(Errno::OPNOTSUPP);
        };
        for association in able {
            for address in addresses {
                match change(&endpoint, association, *address) {
                    // It has the address already, or not any more, or ends: nothing is to be told.
                    Ok(())
                    | Err(
                        AddressChangeError::UnknownAddress | AddressChangeError::NotEstablished,
                    ) => {}
                    Err(AddressChangeError::Busy) => return Err(Errno::AGAIN),
                    Err(_) => return Err(Errno::OPNOTSUPP),
                }
            }
        }
        Ok(())
    }

    /// Addresses to bind to, of which each must be one of the host's; none if one is a wildcard.
    fn checked(&self, addresses: &[SocketAddr], port: u16) -> Result<Vec<IpAddr>, Errno> {
        let ours = self.service.network.local_addresses();
        let mut all = Vec::new();
        for address in addresses {
            let ip = address.ip();
            if address.port() != port && address.port() != 0 {
                return Err(Errno::INVAL);
            } else if ip.is_unspecified() {
                return Ok(Vec::new());
            } else if ip.is_ipv6() && !self.name.is_ipv6 {
                return Err(Errno::AFNOSUPPORT);
            } else if !ours.contains(&ip) {
                return Err(Errno::ADDRNOTAVAIL);
            }
            all.push(ip);
        }
        Ok(all)
    }

    pub(super) fn take_port(&self, state: &mut State, port: u16) -> Result<(), Errno> {
        if self.name.is_carried
            && state.addresses.is_empty()
            && let [only] = self.service.network.local_addresses()[..]
        {
            state.addresses = vec![only];
        }
        let config = state.port_config(self);
        let endpoint = self.service.network.endpoint(&state.addresses);
        let endpoint = endpoint.ok_or(Errno::ADDRNOTAVAIL)?;
        let bound = match endpoint.bind_port(port, config, 0) {
            Err(BindError::PortInUse(port)) => self.join_port(state, port)?,
            bound => {
                let bound = Arc::new(bound.map_err(|error| errors::of_bind(&error))?);
                self.offer_port(state, &bound);
                bound
            }
        };
        state.port = Some(bound);
        Ok(())
    }
}

impl State {
    pub(super) fn port_config(&self, socket: &Socket) -> PortConfig {
        PortConfig {
            local_addresses: socket.port_addresses(self),
            listening: self.backlog.is_some(),
            association: self.options.between(self.addresses.iter().copied()),
        }
    }
}
