//! The sockets of an endpoint, one per local address and way to carry packets: UDP or IP itself.
//!
//! Nothing here knows about associations. A socket sends and receives datagrams. A system error about a packet is a
//! [`Fault`], an ICMP message a report; the driver finds their association.

mod bind;
mod bound;
mod fault;
mod fragment;
// On other systems no report is ever made.
#[cfg_attr(not(any(target_os = "linux", target_os = "android")), allow(dead_code))]
mod icmp;
mod ipv4_fragments;
mod marks;
mod options;
mod port;
mod raw;
mod table;
mod udp;
mod wait;

pub(crate) use bind::Binding;
pub(crate) use bound::{SOCKET_BUFFER, ecn_of, wish_for_buffers};
pub(crate) use fault::Fault;
pub(crate) use icmp::Meaning;
pub(crate) use marks::Marks;
pub(crate) use port::Port;
pub(crate) use raw::kernel_has_sctp;
pub(crate) use table::{Closing, SharedSockets, Sockets};
#[cfg(test)]
pub(crate) use udp::UdpPort;
pub(crate) use wait::Wait;
