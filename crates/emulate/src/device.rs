//! TUN devices.

use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd};

use bytes::Bytes;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use polypath_units::Instant;
use tun_rs::{DeviceBuilder, SyncDevice};

use crate::clock::Alarm;
use crate::driver::Devices;

/// Longest packet that a device can have.
const LONGEST: usize = 65_535;

/// A device of the system whose packets come here. It goes when this is dropped.
pub(crate) struct Tun {
    device: SyncDevice,
}

impl Tun {
    /// Makes a device of this name, not up yet, in the namespace of this process.
    pub fn new(name: &str) -> io::Result<Self> {
        let device = DeviceBuilder::new().name(name).enable(false).build_sync()?;
        device.set_nonblocking(true)?;
        Ok(Self { device })
    }
}

/// All devices of an emulation.
pub(crate) struct TunDevices {
    /// By external host and interface.
    hosts: Vec<Vec<Tun>>,
    buffer: Vec<u8>,
}

impl TunDevices {
    /// These devices, by external host and interface.
    pub fn new(hosts: Vec<Vec<Tun>>) -> Self {
        Self { hosts, buffer: vec![0; LONGEST] }
    }

    /// Waits for a packet or the alarm.
    pub fn wait(&self, alarm: &mut Alarm, until: Instant) -> io::Result<()> {
        alarm.set(until)?;
        let devices = self.hosts.iter().flatten().map(|tun| tun.device.as_fd());
        let all: Vec<BorrowedFd<'_>> = devices.chain([alarm.as_fd()]).collect();
        let mut all: Vec<PollFd<'_>> =
            all.into_iter().map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
        match poll(&mut all, PollTimeout::NONE) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl Devices for TunDevices {
    fn receive(&mut self, host: usize, port: usize) -> io::Result<Option<Bytes>> {
        let Some(tun) = self.hosts.get(host).and_then(|host| host.get(port)) else {
            return Ok(None);
        };
        match tun.device.recv(&mut self.buffer) {
            Ok(length) => Ok(self.buffer.get(..length).map(Bytes::copy_from_slice)),
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn deliver(&mut self, host: usize, port: usize, packet: &[u8]) -> bool {
        let tun = self.hosts.get(host).and_then(|host| host.get(port));
        tun.is_some_and(|tun| tun.device.send(packet).is_ok_and(|length| length == packet.len()))
    }
}
