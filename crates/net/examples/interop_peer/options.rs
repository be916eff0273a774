//! The options, those of `tests/interop/peer/peer.c`.
#![expect(clippy::struct_excessive_bools, reason = "flags of a command line")]

use std::net::IpAddr;

use anyhow::ensure;
use clap::{Parser, ValueEnum};
use polypath::config::{
    AddressJoin, AddressReconfiguration, AuthenticatedChunks, ExplicitCongestionNotification,
    MessageInterleaving, NrSack, PacketDropReport, SharedKeys, StreamReconfiguration,
    StreamScheduler,
};
use polypath::{AssociationConfig, Duration, Peer, Preset};

use crate::reconfigure::Reconfiguration;

/// Sends or receives checked messages over one association.
#[derive(Parser)]
pub struct Options {
    #[command(flatten)]
    pub begin: Begin,
    #[command(flatten)]
    pub role: Role,
    /// Addresses of this side.
    #[arg(long, value_delimiter = ',', required = true)]
    pub local: Vec<IpAddr>,
    /// UDP port of this side.
    #[arg(long, default_value_t = 9899)]
    pub udp: u16,
    /// UDP port of the peer.
    #[arg(long, default_value_t = 9899)]
    pub peer_udp: u16,
    /// Carry SCTP over IP itself and not in UDP.
    #[arg(long)]
    pub raw: bool,
    /// SCTP port of the listening side.
    #[arg(long, default_value_t = 5001)]
    pub port: u16,
    /// SCTP port of the connecting side; any if it is not named.
    #[arg(long)]
    pub local_port: Option<u16>,
    /// Length of the first message, in place of that which follows from its number.
    #[arg(long)]
    pub first_size: Option<u64>,
    /// Messages to send.
    #[arg(long, default_value_t = 1000)]
    pub messages: u64,
    /// Mean length of the messages, without the number.
    #[arg(long, default_value_t = 1000)]
    pub mean_size: u64,
    /// Bytes of the receive buffer, whatever fits it.
    #[arg(long)]
    pub receive_buffer: Option<u32>,
    /// Hand messages over in pieces of so many bytes, the end by itself.
    #[arg(long)]
    pub pieces: Option<usize>,
    /// Streams, used in turn.
    #[arg(long, default_value_t = 4)]
    pub streams: u16,
    /// Messages have no order.
    #[arg(long)]
    pub unordered: bool,
    /// Give messages up that would have to be retransmitted more often.
    #[arg(long, value_name = "RETRANSMISSIONS")]
    pub give_up_after: Option<u16>,
    /// Give messages up that are older.
    #[arg(long, value_name = "MILLISECONDS")]
    pub lifetime: Option<u64>,
    /// Give messages up when more important ones need their place in a small send buffer; one in four is most important.
    #[arg(long)]
    pub priorities: bool,
    /// Who ends the association, and how.
    #[arg(long, value_enum, default_value_t = Ending::Source)]
    pub ending: Ending,
    /// Messages after which it is aborted.
    #[arg(long, default_value_t = 100)]
    pub abort_after: u64,
    /// Begin when the paths to these addresses are confirmed.
    #[arg(long, value_delimiter = ',')]
    pub wait_paths: Vec<IpAddr>,
    /// A path fails after more timeouts in a row than this.
    #[arg(long)]
    pub path_max_retrans: Option<u32>,
    /// Say so when everything is acknowledged, and wait to be killed.
    #[arg(long)]
    pub hold: bool,
    /// The peer restarts, and then everything begins anew.
    #[arg(long)]
    pub expect_restart: bool,
    /// Stay up until SIGTERM: if the last packet gets lost, the peer asks again.
    #[arg(long)]
    pub stay: bool,
    /// What the association begins with, before other options change it.
    #[arg(long, value_parser = parse_preset, default_value = "rfc9260", conflicts_with = "cmt")]
    pub preset: Preset,
    /// Use all paths at once: `--preset cmt`.
    #[arg(long)]
    pub cmt: bool,
    /// Report damaged packets to a peer that understands it.
    #[arg(long)]
    pub drop_reports: bool,
    /// Use NR-SACK with a peer that has it, in this way and not in that of the preset: `off`, `deliverable`, `all` or `all-in-turn`.
    #[arg(long, value_parser = parse_nr_sack)]
    pub nr_sack: Option<NrSack>,
    /// Have stream reconfiguration, and use it when half of the messages are sent.
    #[arg(long, value_enum)]
    pub reconfigure: Option<Reconfiguration>,
    /// Have address reconfiguration; the sender begins with its first address only, moves to the second when half of the messages are
    /// sent, and asks to be sent to there.
    #[arg(long)]
    pub move_addresses: bool,
    /// Have address reconfiguration; when half of the messages are sent or received, this side makes another path the primary one: the
    /// sender for itself, or the receiver by its request.
    #[arg(long, value_enum)]
    pub primary: Option<Primary>,
    /// The peer has another key: nothing comes of the association.
    #[arg(long)]
    pub refused: bool,

    /// Interleave messages of different streams with a peer that has it, the streams in turn.
    #[arg(long)]
    pub interleave: bool,
    /// Let queues mark packets, with a peer that has ECN.
    #[arg(long)]
    pub marks: bool,
    /// Offer all that the association has but interleaving.
    #[arg(long)]
    pub all_extensions: bool,
    /// Offer authentication, and demand nothing.
    #[arg(long)]
    pub offer_authentication: bool,
    /// Demand that everything is authenticated, with this key, or with `none`.
    #[arg(long, value_name = "KEY")]
    pub authenticate: Option<String>,
}

fn parse_preset(name: &str) -> Result<Preset, String> {
    let known = || Preset::ALL.iter().map(|preset| preset.name()).collect::<Vec<_>>().join(", ");
    let named = Preset::ALL.iter().find(|preset| preset.name() == name);
    named.copied().ok_or_else(|| format!("none of {}", known()))
}

fn parse_nr_sack(name: &str) -> Result<NrSack, &'static str> {
    match name {
        "off" => Ok(NrSack::Off),
        "deliverable" => Ok(NrSack::Deliverable),
        "all" => Ok(NrSack::All),
        "all-in-turn" => Ok(NrSack::AllInTurn),
        _ => Err("neither off, deliverable, all nor all-in-turn"),
    }
}

#[derive(clap::Args)]
#[group(required = true, multiple = false)]
pub struct Begin {
    /// Wait for the peer's association.
    #[arg(long)]
    pub listen: bool,
    /// Begin the association with the peer that has these addresses.
    #[arg(long, value_delimiter = ',')]
    pub connect: Vec<IpAddr>,
}

#[derive(clap::Args)]
#[group(required = true, multiple = false)]
pub struct Role {
    /// Send messages.
    #[arg(long)]
    pub source: bool,
    /// Receive messages.
    #[arg(long)]
    pub sink: bool,
    /// Send messages and want them back.
    #[arg(long)]
    pub ask: bool,
    /// Send back what comes.
    #[arg(long)]
    pub echo: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Ending {
    /// The sender shuts down after its last message.
    Source,
    /// The receiver shuts down when it has every message.
    Sink,
    /// Both do.
    Both,
    /// The sender aborts.
    AbortBySource,
    /// The receiver aborts.
    AbortBySink,
}

/// Who changes the primary path.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Primary {
    /// The sender sets its own, to the last of the addresses in `--wait-paths`.
    BySender,
    /// The receiver asks the sender to send to the last of the addresses in `--local`.
    ByReceiver,
}

impl Options {
    /// Whether this side sends of its own accord.
    pub fn sends_first(&self) -> bool {
        self.role.source || self.role.ask
    }

    /// Streams in use when message `number` is sent.
    pub fn streams_at(&self, number: u64) -> u16 {
        let begins_with_half = self.reconfigure.is_some_and(Reconfiguration::adds_streams);
        let divisor = if begins_with_half && number < self.messages / 2 { 2 } else { 1 };
        self.streams / divisor
    }

    /// The first message of a stream. What precedes the second half is a multiple of the number of streams.
    pub fn first_on(&self, stream: u16) -> u64 {
        let offset = if stream < self.streams_at(0) { 0 } else { self.messages / 2 };
        offset + u64::from(stream)
    }

    /// Complains about numbers that the messages cannot have.
    pub fn check(&self) -> anyhow::Result<()> {
        ensure!(self.streams > 0 && self.mean_size > 0, "streams and mean-size must be positive");
        let adds_streams = self.reconfigure.is_some_and(Reconfiguration::adds_streams);
        let streams = u64::from(self.streams);
        ensure!(
            !adds_streams
                || streams.is_multiple_of(2) && (self.messages / 2).is_multiple_of(streams),
            "the streams must be an even number, and half of the messages a multiple of it"
        );
        Ok(())
    }

    /// The addresses to begin with.
    pub fn first_addresses(&self) -> &[IpAddr] {
        let count = if self.move_addresses && self.sends_first() { 1 } else { self.local.len() };
        &self.local[..count]
    }

    /// Whether messages may be given up.
    pub fn gives_up(&self) -> bool {
        self.give_up_after.is_some() || self.lifetime.is_some() || self.priorities
    }

    /// Whether the association ends by an ABORT.
    pub fn aborts(&self) -> bool {
        matches!(self.ending, Ending::AbortBySource | Ending::AbortBySink)
    }

    /// Whom to connect to.
    pub fn peer(&self) -> Peer {
        let peer = Peer::new(self.begin.connect.iter().copied(), self.port);
        if self.raw { peer.raw_ip() } else { peer.encapsulation_port(self.peer_udp) }
    }

    /// How the association behaves.
    pub fn association(&self) -> AssociationConfig {
        let preset = if self.cmt { Preset::Cmt } else { self.preset };
        let mut config = AssociationConfig::with_preset(preset);
        config.outbound_streams = self.streams_at(0);
        self.offer_extensions(&mut config);
        if let Some(key) = &self.authenticate {
            config.policies.authenticated_chunks = AuthenticatedChunks::All;
            if key != "none" {
                config.shared_keys = SharedKeys::with_key(1, key.as_bytes()).expect("a short key");
            }
        }
        // A message must fit, twice.
        let least = 4 * self.mean_size.max(self.first_size.unwrap_or(0));
        config.send_buffer_bytes = config.send_buffer_bytes.max(least);
        config.receive_buffer_bytes =
            self.receive_buffer.unwrap_or(config.receive_buffer_bytes.max(least as u32));
        if self.priorities {
            config.send_buffer_bytes = 32 * self.mean_size;
        }
        if self.refused {
            config.max_init_retransmits = 1;
        }
        if let Some(limit) = self.path_max_retrans {
            config.path_max_retrans = limit;
            config.heartbeat_interval = Some(Duration::from_millis(500));
        }
        config
    }
    fn offer_extensions(&self, config: &mut AssociationConfig) {
        let all = self.all_extensions;
        let policies = &mut config.policies;
        if let Some(nr_sack) = self.nr_sack.or(all.then_some(NrSack::All)) {
            policies.nr_sack = nr_sack;
        }
        if self.drop_reports || all {
            policies.packet_drop_report = PacketDropReport::On;
        }
        if self.reconfigure.is_some() || all {
            policies.stream_reconfiguration = StreamReconfiguration::On;
        }
        if self.move_addresses || self.primary.is_some() || all {
            policies.address_reconfiguration = AddressReconfiguration::Authenticated;
            config.address_join = AddressJoin::Off;
        }
        if self.interleave {
            policies.message_interleaving = MessageInterleaving::On;
            policies.stream_scheduler = StreamScheduler::RoundRobin;
        }
        if self.marks || all {
            policies.explicit_congestion_notification = ExplicitCongestionNotification::On;
        }
        if self.offer_authentication || all {
            policies.authenticated_chunks = AuthenticatedChunks::Offered;
        }
    }
}
