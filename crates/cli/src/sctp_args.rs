//! Arguments that every command with an association has.

use std::net::IpAddr;

use polypath::{Carriers, ENCAPSULATION_PORT, Peer, Preset};

use crate::counts;
use crate::keys::KeyArgs;

/// Ports and policies.
#[derive(Debug, clap::Args)]
pub(crate) struct SctpArgs {
    /// SCTP port of the receiver
    #[arg(long, value_name = "N", default_value_t = polypath_transfer::PORT, value_parser = counts::within(1..=u16::MAX))]
    pub(crate) port: u16,
    /// UDP port of the receiver for SCTP in UDP (RFC 6951); with 0, a receiver uses any free port
    #[arg(long, alias = "encap-port", value_name = "N", default_value_t = ENCAPSULATION_PORT, value_parser = counts::within(0..=u16::MAX))]
    pub(crate) encapsulation_port: u16,
    /// Use SCTP over IP (protocol 132) instead of UDP, at both ends; needs the capability
    /// CAP_NET_RAW
    #[arg(long, conflicts_with = "encapsulation_port")]
    pub(crate) raw: bool,
    #[command(flatten)]
    pub(crate) key: KeyArgs,
    /// Preset of policies to begin with; `polypath policies` describes them
    #[arg(long, value_name = "NAME", default_value = Preset::Recommended.name(), value_parser = preset_parser())]
    pub(crate) preset: Preset,
    /// Change a setting of the association, for example 'policies.burst=off' or 'policies.rto.min=200 ms'; repeatable
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
}

impl SctpArgs {
    /// The carriers of the packets.
    pub(crate) fn carriers(&self) -> Carriers {
        if self.raw { Carriers::RawIp } else { Carriers::Udp }
    }

    /// The peer at these addresses.
    pub(crate) fn peer(&self, addresses: &[IpAddr]) -> Peer {
        let peer = Peer::new(addresses.iter().copied(), self.port);
        if self.raw { peer.raw_ip() } else { peer.encapsulation_port(self.encapsulation_port) }
    }

    /// The ports of the receiver, in words. `udp_port` is the one that it has.
    pub(crate) fn ports(&self, udp_port: u16) -> String {
        ports(self.port, (!self.raw).then_some(udp_port))
    }
}

/// Ports in words; without a UDP port, SCTP runs over IP itself.
pub(crate) fn ports(port: u16, udp_port: Option<u16>) -> String {
    match udp_port {
        None => format!("SCTP port {port} over IP"),
        Some(udp_port) => format!("SCTP port {port}, UDP port {udp_port}"),
    }
}

pub(crate) fn preset_parser() -> impl clap::builder::TypedValueParser<Value = Preset> {
    use clap::builder::{PossibleValuesParser, TypedValueParser};

    PossibleValuesParser::new(Preset::ALL.iter().map(|preset| preset.name()))
        .try_map(|name| Preset::from_name(&name).ok_or("no such preset"))
}
