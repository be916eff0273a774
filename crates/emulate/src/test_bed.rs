//! A test bed: two hosts joined by links that the kernel shapes, in real time and without a simulator.
//!
//! Each host is a network namespace, each link a pair of virtual Ethernet devices with a token bucket (`tc tbf`) in each
//! direction.

use std::ffi::OsStr;
use std::net::Ipv4Addr;
use std::os::unix::process::CommandExt;
use std::process::Command;

use polypath_units::{BitRate, ByteCount};

use crate::error::Error;
use crate::guardian::Guardian;
use crate::namespace::{Namespace, device_name, ip, remove_orphans};

/// Bytes of an Ethernet header, which the kernel counts.
pub const ETHERNET: ByteCount = ByteCount::from_bytes(14);
/// Most links, by the addresses that they get.
pub const MOST_LINKS: usize = 200;

/// A link, equal in both directions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShapedLink {
    /// What it carries, framing included.
    pub rate: BitRate,
    /// Bytes that a packet takes beside itself, at least those of an Ethernet header ([`ETHERNET`]). What of them is more
    /// counts once for packets that the system segments later, behind the bucket.
    pub framing: ByteCount,
    /// What it lets pass at once after it was idle.
    pub burst: ByteCount,
    /// What waits for it at most, Ethernet headers included.
    pub queue: ByteCount,
    /// Longest IP packet.
    pub mtu: ByteCount,
}

/// A host of a test bed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The first one.
    A,
    /// The second one.
    B,
}

/// Two hosts and the links between them. All of it, and the programs there, are gone when this is dropped or the process
/// is killed.
#[derive(Debug)]
pub struct TestBed {
    hosts: [Namespace; 2],
    // Dropped after the namespaces.
    _guardian: Guardian,
}

impl TestBed {
    /// Makes hosts and links.
    ///
    /// # Errors
    /// This process may not, `ip` or `tc` is missing, or the kernel has no token buckets.
    pub fn new(links: &[ShapedLink]) -> Result<Self, Error> {
        if !nix::unistd::geteuid().is_root() {
            return Err(Error::NotPermitted("run it with sudo".into()));
        }
        remove_orphans();
        let [a, b] = [Namespace::new(0, "a")?, Namespace::new(1, "b")?];
        let guardian = Guardian::over([&a, &b])?;
        for side in [&a, &b] {
            ip(&["-n", side.name(), "link", "set", "lo", "up"])?;
        }
        for (number, link) in links.iter().take(MOST_LINKS).enumerate() {
            join([&a, &b], number, link)?;
        }
        Ok(Self { hosts: [a, b], _guardian: guardian })
    }

    /// The address of a host on a link.
    pub fn address(side: Side, link: usize) -> Ipv4Addr {
        // At most MOST_LINKS.
        let network = u8::try_from(link + 1).unwrap_or(u8::MAX);
        Ipv4Addr::new(10, 78, network, 1 + side as u8)
    }

    /// A program on a host, in a process group of its own: an interruption by the keyboard is not for it.
    pub fn command(&self, side: Side, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", self.hosts[side as usize].name()]).arg(program);
        command.process_group(0);
        command
    }
}

/// Makes a link between two hosts.
fn join(hosts: [&Namespace; 2], number: usize, link: &ShapedLink) -> Result<(), Error> {
    let device = device_name(number);
    let [a, b] = hosts.map(Namespace::name);
    ip(&["-n", a, "link", "add", &device, "type", "veth", "peer", "name", &device, "netns", b])?;
    let mtu = link.mtu.as_bytes().to_string();
    let rate = format!("{}bit", link.rate.as_bits_per_second());
    let [burst, queue] = [link.burst, link.queue].map(|size| format!("{}b", size.as_bytes()));
    let overhead = link.framing.as_bytes().saturating_sub(ETHERNET.as_bytes()).to_string();
    for (side, name) in [(Side::A, a), (Side::B, b)] {
        let address = format!("{}/24", TestBed::address(side, number));
        ip(&["-n", name, "link", "set", &device, "mtu", &mtu])?;
        ip(&["-n", name, "address", "add", &address, "dev", &device])?;
        let bucket =
            ["tbf", "rate", &rate, "burst", &burst, "limit", &queue, "overhead", &overhead];
        let replace = ["tc", "qdisc", "replace", "dev", &device, "root"];
        let arguments = [&["netns", "exec", name][..], &replace, &bucket].concat();
        ip(&arguments).map_err(token_bucket_error)?;
        ip(&["-n", name, "link", "set", &device, "up"])?;
    }
    Ok(())
}

/// What `ip netns exec` says where there is no `tc` is about a file.
fn token_bucket_error(error: Error) -> Error {
    match error {
        Error::Ip { message, .. } if message.contains("No such file or directory") => {
            Error::NoTokenBucket(format!("is the program `tc` there (Debian: iproute2)? {message}"))
        }
        Error::Ip { message, .. } => {
            Error::NoTokenBucket(format!("has the kernel the module sch_tbf? {message}"))
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_link_has_a_network_of_its_own() {
        assert_eq!(TestBed::address(Side::A, 0), Ipv4Addr::new(10, 78, 1, 1));
        assert_eq!(TestBed::address(Side::B, 0), Ipv4Addr::new(10, 78, 1, 2));
        assert_eq!(TestBed::address(Side::B, 9), Ipv4Addr::new(10, 78, 10, 2));
    }

    #[test]
    fn what_is_missing_is_named() {
        let error = |message: &str| {
            token_bucket_error(Error::Ip { command: "ip".into(), message: message.into() })
        };
        let told = error("exec of \"tc\" failed: No such file or directory").to_string();
        assert!(told.contains("iproute2"), "{told}");
        let told = error("Error: Specified qdisc kind is unknown.").to_string();
        assert!(told.contains("sch_tbf"), "{told}");
    }
}
