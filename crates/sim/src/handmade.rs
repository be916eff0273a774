//! A sender of the stack with hand-written acknowledgements: examples of papers, chunk by chunk.
//!
//! Two endpoints of the stack establish an association over two paths. Then the receiver is removed: the sender's
//! packets are taken out, and the SACKs of the example are passed in, in its order. No time passes, so no timer
//! expires.

use std::net::IpAddr;

use polypath_netsim::{Stream, Streams};
use polypath_proto::config::{
    AssociationConfig, Burst, EndpointConfig, InitialCwnd, NrSack, Preset, StaleSack,
};
use polypath_proto::{
    Association, Body, Cx, Delivery, Ecn, Encapsulation, Endpoint, NoProbe, OutgoingMessage,
    PeerAddress, Received, Route, Transmit,
};
use polypath_units::{Duration, Instant};
use polypath_wire::{
    Chunk, DuplicateTsns, GapAckBlock, GapAckBlocks, NrSack as NrSackChunk, Packet, Sack,
};
use serde::{Deserialize, Serialize};

const PORT: u16 = 5001;
const PATHS: u8 = 2;
const CHUNK_BYTES: u16 = 1000;
/// More chunks do not fit into the initial window.
const MOST_CHUNKS: u16 = 200;
/// Time in which both paths are confirmed.
const SETTLING: Duration = Duration::from_secs(10);

/// An example: the chunks sent, and the acknowledgements that arrive.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct HandmadeExample {
    /// Number of chunks sent, with 1,000 bytes each, unordered and numbered from 1. At most 200.
    pub sent: u16,
    /// How the sender treats reordered SACKs.
    #[serde(default = "same_path")]
    pub stale_sack: StaleSack,
    /// The acknowledgements, in the order in which they were sent.
    pub sacks: Vec<HandmadeSack>,
    /// Numbers of the acknowledgements that arrive, in order of arrival, from 1. Default: all, in order.
    #[serde(default)]
    pub arrive: Option<Vec<usize>>,
}

fn same_path() -> StaleSack {
    StaleSack::SamePath
}

/// A hand-written acknowledgement.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct HandmadeSack {
    /// Path on which it arrives: 1 or 2.
    pub path: u8,
    /// Last chunk received in sequence; 0 for none.
    pub cumulative: u16,
    /// First and last chunk of each gap ack block.
    #[serde(default)]
    pub gaps: Vec<[u16; 2]>,
    /// Whether it is an NR-SACK: the receiver will not renege on what it acknowledges.
    #[serde(default)]
    pub nr: bool,
    /// Advertised receive window in bytes.
    pub window: u32,
}

/// State of the sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HandmadeState {
    /// Retransmitted chunks.
    pub sent_again: u64,
    /// Chunks that no longer occupy the send buffer.
    pub freed: u64,
    /// The sender's view of the peer's free receive window, in bytes.
    pub peer_window_bytes: u64,
    /// Bytes in flight.
    pub flight_bytes: u64,
}

impl HandmadeExample {
    /// The state of the sender after the last acknowledgement; `None` for an impossible example.
    pub fn outcome(&self) -> Option<HandmadeState> {
        let all: Vec<usize> = (1..=self.sacks.len()).collect();
        let order = self.arrive.as_ref().unwrap_or(&all);
        let mut sender = Sender::connect(self)?;
        sender.send(self.sent)?;
        for number in order {
            sender.acknowledge(self.sacks.get(number.checked_sub(1)?)?)?;
        }
        Some(sender.state())
    }

    /// Like [`outcome`](Self::outcome), with the acknowledgements arriving in the order in which they were sent.
    pub fn outcome_in_order(&self) -> Option<HandmadeState> {
        let mut order = self.arrive.clone();
        order.iter_mut().for_each(|numbers| numbers.sort_unstable());
        Self { arrive: order, ..self.clone() }.outcome()
    }
}

fn address(host: u8, path: u8) -> IpAddr {
    IpAddr::from([10, 0, path, host])
}

fn config(example: &HandmadeExample) -> AssociationConfig {
    let mut config = AssociationConfig::with_preset(Preset::Cmt);
    config.policies.stale_sack = example.stale_sack;
    config.policies.burst = Burst::Off;
    config.policies.window.initial_cwnd = InitialCwnd::Bytes(1 << 20);
    if example.sacks.iter().any(|sack| sack.nr) {
        config.policies.nr_sack = NrSack::All;
    }
    config
}

/// The sender, and the fields of acknowledgements to it.
struct Sender {
    association: Association,
    rng: Stream,
    now: Instant,
    /// Verification tag of packets to the sender.
    tag: u32,
    /// Port of the sender.
    port: u16,
    first_tsn: u32,
    sent: u16,
}

/// One end during the handshake.
struct Side {
    endpoint: Endpoint,
    association: Option<Association>,
    rng: Stream,
}

impl Side {
    fn new(name: &str, host: u8, port: u16, config: EndpointConfig) -> Self {
        let mut rng = Streams::new(1).stream(name);
        let addresses: Vec<IpAddr> = (0..PATHS).map(|path| address(host, path)).collect();
        let mut cx = Cx { now: Instant::ZERO, rng: &mut rng, probe: &mut NoProbe };
        let endpoint = Endpoint::new(config, port, &addresses, &mut cx);
        Self { endpoint, association: None, rng }
    }

    fn take(&mut self, now: Instant, transmit: &Transmit, replies: &mut Vec<Transmit>) {
        let mut cx = Cx { now, rng: &mut self.rng, probe: &mut NoProbe };
        let received = received(transmit.remote, transmit.local, &transmit.packet);
        match self.endpoint.handle(&mut cx, &received) {
            Route::Association(_) => {
                if let Some(association) = &mut self.association {
                    association.handle(&mut cx, &received);
                }
            }
            Route::New(_, association) => self.association = Some(*association),
            Route::Reply(reply) => replies.push(*reply),
            _ => {}
        }
    }

    /// Polls all packets.
    fn poll(&mut self, now: Instant, out: &mut Vec<Transmit>) {
        let mut cx = Cx { now, rng: &mut self.rng, probe: &mut NoProbe };
        let Some(association) = &mut self.association else { return };
        if association.poll_timeout().is_some_and(|due| due <= now) {
            association.handle_timeout(&mut cx);
        }
        out.extend(std::iter::from_fn(|| association.poll_transmit(&mut cx)));
    }
}

impl Sender {
    /// Establishes the association, and removes the receiver.
    fn connect(example: &HandmadeExample) -> Option<Self> {
        let association = config(example);
        let settings = |listening| EndpointConfig {
            listening,
            association: association.clone(),
            ..EndpointConfig::default()
        };
        let mut sides = [
            Side::new("sender", 1, PORT, settings(false)),
            Side::new("receiver", 2, PORT, settings(true)),
        ];
        let mut now = Instant::ZERO + Duration::from_millis(1);
        let peer = (0..PATHS).map(|path| PeerAddress {
            address: address(2, path),
            encapsulation: Encapsulation::None,
        });
        let peer: Vec<PeerAddress> = peer.collect();
        let sender = &mut sides[0];
        let mut cx = Cx { now, rng: &mut sender.rng, probe: &mut NoProbe };
        let (_, made) = sender.endpoint.connect(&mut cx, association.clone(), PORT, &peer).ok()?;
        sender.association = Some(*made);
        let mut tag = None;
        let mut under_way: [Vec<Transmit>; 2] = Default::default();
        let end = now + SETTLING;
        while now < end {
            for number in [0, 1] {
                for transmit in std::mem::take(&mut under_way[number]) {
                    let [mine, other] = if number == 0 { [0, 1] } else { [1, 0] };
                    if mine == 0 {
                        tag = Some(transmit.packet.verification_tag);
                    }
                    sides[mine].take(now, &transmit, &mut under_way[other]);
                }
                sides[number].poll(now, &mut under_way[1 - number]);
            }
            now += Duration::from_millis(1);
        }
        let [Side { association, rng, .. }, _] = sides;
        let association = association.filter(Association::is_established)?;
        Some(Self { association, rng, now, tag: tag?, port: PORT, first_tsn: 0, sent: 0 })
    }

    /// Sends the chunks, in packets of their own or bundled, and loses them.
    fn send(&mut self, chunks: u16) -> Option<()> {
        if !(1..=MOST_CHUNKS).contains(&chunks) {
            return None;
        }
        let mut cx = Cx { now: self.now, rng: &mut self.rng, probe: &mut NoProbe };
        for _ in 0..chunks {
            let mut message = OutgoingMessage::new(0, vec![0; usize::from(CHUNK_BYTES)]);
            message.delivery = Delivery::Unordered;
            self.association.send(&mut cx, message).ok()?;
        }
        let mut first = None;
        while let Some(transmit) = self.association.poll_transmit(&mut cx) {
            for chunk in &transmit.packet.chunks {
                if let Chunk::Data(data) = chunk {
                    first = first.or(Some(data.tsn));
                    self.sent += 1;
                }
            }
        }
        self.first_tsn = first?;
        (self.sent == chunks).then_some(())
    }

    fn acknowledge(&mut self, sack: &HandmadeSack) -> Option<()> {
        let path = sack.path.checked_sub(1).filter(|path| *path < PATHS)?;
        let blocks = sack.gaps.iter().map(|[start, end]| {
            let offset = |chunk: u16| chunk.checked_sub(sack.cumulative);
            Some(GapAckBlock { start: offset(*start)?, end: offset(*end)? })
        });
        let blocks = GapAckBlocks::Owned(blocks.collect::<Option<_>>()?);
        let cumulative_tsn_ack =
            self.first_tsn.wrapping_sub(1).wrapping_add(u32::from(sack.cumulative));
        let duplicate_tsns = DuplicateTsns::Owned(Default::default());
        let chunk = if sack.nr {
            Chunk::NrSack(NrSackChunk {
                flags: 0,
                cumulative_tsn_ack,
                a_rwnd: sack.window,
                renegable_blocks: GapAckBlocks::Owned(Default::default()),
                non_renegable_blocks: blocks,
                duplicate_tsns,
                reserved: 0,
            })
        } else {
            Chunk::Sack(Sack {
                flags: 0,
                cumulative_tsn_ack,
                a_rwnd: sack.window,
                gap_ack_blocks: blocks,
                duplicate_tsns,
            })
        };
        let packet = Packet {
            source_port: PORT,
            destination_port: self.port,
            verification_tag: self.tag,
            chunks: [chunk].into_iter().collect(),
        };
        let mut cx = Cx { now: self.now, rng: &mut self.rng, probe: &mut NoProbe };
        self.association.handle(&mut cx, &received(address(1, path), address(2, path), &packet));
        while self.association.poll_transmit(&mut cx).is_some() {}
        Some(())
    }

    fn state(&self) -> HandmadeState {
        let stats = self.association.stats();
        let buffered = stats.send_buffer_bytes / u64::from(CHUNK_BYTES);
        let flight = self.association.path_stats();
        HandmadeState {
            sent_again: stats.fast_retransmissions + stats.timeout_retransmissions,
            freed: u64::from(self.sent) - buffered,
            peer_window_bytes: stats.peer_window_bytes,
            flight_bytes: flight.iter().map(|path| path.flight_bytes).sum(),
        }
    }
}

fn received<'a>(local: IpAddr, remote: IpAddr, packet: &'a Packet<'static>) -> Received<'a> {
    Received {
        local,
        remote,
        encapsulation: Encapsulation::None,
        ecn: Ecn::NotEct,
        body: Body::Structured(packet),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sack(cumulative: u16, gaps: &[[u16; 2]], window: u32) -> HandmadeSack {
        HandmadeSack { path: 1, cumulative, gaps: gaps.to_vec(), nr: false, window }
    }

    fn example(sent: u16, sacks: Vec<HandmadeSack>) -> HandmadeExample {
        HandmadeExample { sent, stale_sack: StaleSack::SamePath, sacks, arrive: None }
    }

    #[test]
    fn chunks_leave_the_send_buffer_as_acknowledgements_say() {
        let received = sack(1, &[[3, 8]], 50_000);
        let mut renegable = example(8, vec![received.clone()]);
        let state = renegable.outcome().unwrap();
        assert_eq!((state.freed, state.flight_bytes), (1, 1016));
        renegable.sacks[0] = HandmadeSack { nr: true, ..received };
        assert_eq!(renegable.outcome().unwrap().freed, 7);
    }

    #[test]
    fn three_reports_of_a_missing_chunk_send_it_again() {
        // Chunks may alternate between the paths; only later chunks of the same path count.
        let reports = (1..=4).map(|count| sack(0, &[[2, 1 + 2 * count]], 50_000));
        assert_eq!(example(10, reports.collect()).outcome().unwrap().sent_again, 1);
    }

    #[test]
    fn only_the_classic_way_believes_the_window_of_a_sack_that_was_overtaken() {
        let late = HandmadeSack { path: 2, ..sack(12, &[], 50_000) };
        let mut example = example(18, vec![late, sack(12, &[[17, 18]], 48_000)]);
        example.arrive = Some(vec![2, 1]);
        assert_eq!(example.outcome(), example.outcome_in_order());
        example.stale_sack = StaleSack::Classic;
        let [late, in_order] = [example.outcome().unwrap(), example.outcome_in_order().unwrap()];
        assert_ne!(late.peer_window_bytes, in_order.peer_window_bytes);
    }

    #[test]
    fn impossible_examples_have_no_outcome() {
        assert_eq!(example(0, vec![]).outcome(), None);
        assert_eq!(example(201, vec![]).outcome(), None);
        assert_eq!(example(5, vec![sack(4, &[[3, 3]], 0)]).outcome(), None);
        assert_eq!(example(5, vec![HandmadeSack { path: 3, ..sack(1, &[], 0) }]).outcome(), None);
        let mut nobody = example(5, vec![sack(1, &[], 50_000)]);
        nobody.arrive = Some(vec![2]);
        assert_eq!(nobody.outcome(), None);
    }
}
