//! Binding the sockets of an endpoint.

use std::io;
use std::net::IpAddr;

use super::port::Port;
use super::raw::{self, RawPort};
use super::udp::UdpPort;
use crate::carriers::Carriers;
use crate::device::{self, Devices};
use crate::error::BindError;

/// Attempts to find a UDP port that is free on every local address.
const PORT_ATTEMPTS: usize = 32;

/// Common settings of the sockets of an endpoint.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Binding {
    pub(crate) carriers: Carriers,
    /// The interfaces that addresses are bound to.
    pub(crate) devices: Devices,
    /// SCTP port.
    pub(crate) port: u16,
    /// UDP port; 0 before it is known, or without UDP.
    pub(crate) udp_port: u16,
}

impl Binding {
    /// Binds the sockets of `addresses`, and notes their UDP port.
    pub(crate) fn bind_all(&mut self, addresses: &[IpAddr]) -> Result<Vec<Port>, BindError> {
        self.check_kernel()?;
        addresses.iter().try_for_each(|&address| self.check_device(address))?;
        let mut ports = Vec::with_capacity(2 * addresses.len());
        if self.carriers.udp() {
            let sockets = self.bind_udp(addresses)?;
            self.udp_port = sockets.first().map_or(0, UdpPort::port);
            ports.extend(sockets.into_iter().map(Port::Udp));
        } else {
            self.udp_port = 0;
        }
        for &address in addresses.iter().filter(|_| self.carriers.raw_ip()) {
            ports.push(Port::Raw(self.bind_raw(address)?));
        }
        Ok(ports)
    }

    /// Binds the sockets of one more address.
    pub(crate) fn bind_one(&self, address: IpAddr) -> Result<Vec<Port>, BindError> {
        self.check_device(address)?;
        let mut ports = Vec::with_capacity(2);
        if self.carriers.udp() {
            ports.push(Port::Udp(self.bind_udp_port(address, self.udp_port)?));
        }
        if self.carriers.raw_ip() {
            ports.push(Port::Raw(self.bind_raw(address)?));
        }
        Ok(ports)
    }

    fn bind_raw(&self, address: IpAddr) -> Result<RawPort, BindError> {
        RawPort::bind(address, self.devices.of(address), self.port)
            .map_err(|source| BindError::RawSocket { address, source })
    }

    fn bind_udp_port(&self, address: IpAddr, port: u16) -> Result<UdpPort, BindError> {
        UdpPort::bind(address, self.devices.of(address), port).map_err(|source| BindError::Socket {
            address,
            port,
            source,
        })
    }

    /// Binds all sockets to one UDP port (RFC 6951 section 5.1). If the system chooses the port, the first address
    /// decides, and another port is tried if that one is in use on a later address.
    fn bind_udp(&self, addresses: &[IpAddr]) -> Result<Vec<UdpPort>, BindError> {
        let attempts = if self.udp_port == 0 { PORT_ATTEMPTS } else { 1 };
        for attempt in 1..=attempts {
            match self.bind_udp_once(addresses) {
                Err(BindError::Socket { source, .. })
                    if self.udp_port == 0
                        && source.kind() == io::ErrorKind::AddrInUse
                        && attempt < attempts => {}
                done => return done,
            }
        }
        Err(BindError::NoCommonPort)
    }

    fn bind_udp_once(&self, addresses: &[IpAddr]) -> Result<Vec<UdpPort>, BindError> {
        let mut sockets: Vec<UdpPort> = Vec::with_capacity(addresses.len());
        for &address in addresses {
            let port = sockets.first().map_or(self.udp_port, UdpPort::port);
            sockets.push(self.bind_udp_port(address, port)?);
        }
        Ok(sockets)
    }

    fn check_device(&self, address: IpAddr) -> Result<(), BindError> {
        self.devices.of(address).map_or(Ok(()), |device| device::check(address, device))
    }

    fn check_kernel(&self) -> Result<(), BindError> {
        if self.carriers.raw_ip() && raw::kernel_has_sctp() {
            return Err(BindError::KernelSctp);
        }
        Ok(())
    }
}
