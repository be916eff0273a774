//! Why an emulation cannot be.

use std::io;

/// Why an emulation did not begin, or could not go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The scenario has no external host.
    #[error(
        "the scenario has no external host: write `external = true` below `[hosts.NAME]` for each host that real programs run on"
    )]
    NoExternalHost,
    /// The network cannot be built.
    #[error(transparent)]
    Setup(#[from] polypath_sim::SetupError),
    /// A program is to run on a host that is not external.
    #[error("no external host is called `{name}`; external hosts: {known}")]
    NoSuchHost {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// The system does not let this user.
    #[error("only root may create network namespaces and devices: {0}")]
    NotPermitted(String),
    /// The program `ip` is missing.
    #[error("the program `ip` is missing, which sets up network namespaces (Debian: iproute2)")]
    NoIpCommand,
    /// `ip` failed.
    #[error("`{command}` failed: {message}")]
    Ip {
        /// What was called.
        command: String,
        /// What it said.
        message: String,
    },
    /// No token bucket could be set.
    #[error("links cannot be shaped (`tc qdisc add ... tbf`): {0}")]
    NoTokenBucket(String),
    /// No TUN device could be made.
    #[error("no TUN device could be made (is there /dev/net/tun, and the kernel module tun?): {0}")]
    Device(io::Error),
    /// A program could not be started.
    #[error("`{command}` could not be started: {error}")]
    Start {
        /// The command.
        command: String,
        /// Why.
        error: io::Error,
    },
    /// A device or the alarm failed while the emulation went on.
    #[error("the emulation ended early: {0}")]
    Broken(io::Error),
    /// A capture could not be written.
    #[error("a packet capture could not be written: {0}")]
    Capture(io::Error),
}
