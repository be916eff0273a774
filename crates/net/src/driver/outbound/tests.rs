use std::net::{IpAddr, Ipv4Addr};

use bytes::Bytes;
use polypath_proto::config::TrafficMarks;
use polypath_proto::{Ecn, Encapsulation, Fragmentation, PathId};
use polypath_wire::{Checksum, Chunk, Packet, Raw};

use super::*;
use crate::driver::inbound::{BUFFERS, Inbound};
use crate::socket::UdpPort;

const A: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 31));
const B: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 32));

const OWNER: AssociationId = AssociationId(7);

struct Setup {
    sockets: Sockets,
    receiver: Port,
    udp_port: u16,
    outbound: Outbound,
    stats: EndpointStats,
}

impl Setup {
    fn new() -> Self {
        let receiver = UdpPort::bind(B, None, 0).unwrap();
        Self {
            sockets: Sockets::new(vec![Port::Udp(UdpPort::bind(A, None, 0).unwrap())]),
            udp_port: receiver.port(),
            receiver: Port::Udp(receiver),
            outbound: Outbound::new(1),
            stats: EndpointStats::default(),
        }
    }

    fn transmit(&self, tag: u32, padding: usize) -> Transmit {
        let padding = Chunk::Pad(Raw::Shared(Bytes::from(vec![0x5A; padding])));
        Transmit {
            path: Some(PathId(0)),
            local: A,
            remote: B,
            encapsulation: Encapsulation::Udp { local_port: 0, remote_port: self.udp_port },
            ecn: Ecn::Ect0,
            traffic: TrafficMarks::default(),
            fragmentation: Fragmentation::Avoided,
            checksum: Checksum::Crc32c,
            packet: Packet {
                source_port: 1,
                destination_port: 2,
                verification_tag: tag,
                chunks: [padding].into_iter().collect(),
            },
        }
    }

    fn push(&mut self, transmit: &Transmit) {
        self.outbound.push(&self.sockets, transmit, Some(OWNER), &mut self.stats);
    }

    fn flush(&mut self) {
        self.outbound.flush(&self.sockets, &mut self.stats);
        assert!(self.outbound.open.is_empty());
    }

    /// Verification tag, length and ECN codepoint of the next `count` datagrams.
    async fn received(&self, count: usize) -> Vec<(u32, usize, Ecn)> {
        let mut inbound = Inbound::new();
        let mut got = Vec::new();
        while got.len() < count {
            poll_fn(|cx| self.receiver.poll_readable(cx)).await.unwrap();
            let Ok(filled) = inbound.fill(&self.receiver) else { continue };
            assert!(filled <= BUFFERS);
            got.extend(inbound.datagrams(filled, &self.receiver).map(|datagram| {
                let tag = datagram.contents[4..8].try_into().unwrap();
                (u32::from_be_bytes(tag), datagram.contents.len(), datagram.ecn)
            }));
        }
        got
    }
}

use std::future::poll_fn;

#[tokio::test]
async fn packets_of_any_sizes_arrive_one_by_one_in_order() {
    let mut setup = Setup::new();
    let paddings = [1000, 1000, 1000, 400, 1000, 1200, 1200, 8, 8, 60_000, 1000];
    for (tag, &padding) in (0..).zip(&paddings) {
        setup.push(&setup.transmit(tag, padding));
    }
    setup.flush();
    let expected: Vec<_> =
        (0..).zip(&paddings).map(|(tag, padding)| (tag, padding + 16, Ecn::Ect0)).collect();
    assert_eq!(setup.received(paddings.len()).await, expected);
    assert_eq!(setup.stats.packets_sent, paddings.len() as u64);
    assert_eq!(setup.stats.bytes_sent, expected.iter().map(|(_, len, _)| *len as u64).sum::<u64>());
}

#[tokio::test]
async fn equal_packets_share_calls() {
    let mut setup = Setup::new();
    for tag in 0..200 {
        setup.push(&setup.transmit(tag, 1400));
    }
    setup.flush();
    let got = setup.received(200).await;
    assert!(got.iter().map(|(tag, ..)| *tag).eq(0..200));
    let segments = setup.sockets.get(0).unwrap().max_segments().min(MAX_BATCH / 1416) as u64;
    assert_eq!(setup.stats.send_calls, 200_u64.div_ceil(segments));
}

#[tokio::test]
async fn packets_wait_for_a_blocked_socket_in_order() {
    let mut setup = Setup::new();
    let blocked = setup.transmit(0, 100);
    setup.push(&blocked);
    let batch = setup.outbound.open.pop().unwrap();
    setup.outbound.waiting[0].batches.push_back(batch);
    setup.push(&setup.transmit(1, 100));
    setup.flush();
    assert!(!setup.outbound.is_idle());
    assert_eq!(setup.stats.packets_sent, 0);
    let mark = setup.outbound.mark().expect("something waits");
    assert!(!setup.outbound.has_passed(&mark));
    poll_fn(|cx| setup.outbound.poll_writable(&setup.sockets, cx)).await;
    setup.outbound.resume(&setup.sockets, &mut setup.stats);
    assert!(setup.outbound.is_idle() && setup.outbound.has_passed(&mark));
    assert_eq!(setup.outbound.mark(), None);
    let tags: Vec<_> = setup.received(2).await.into_iter().map(|(tag, ..)| tag).collect();
    assert_eq!(tags, [0, 1]);
}

#[tokio::test]
async fn memory_for_a_socket_that_never_writes_is_bounded() {
    let mut setup = Setup::new();
    setup.push(&setup.transmit(0, 100));
    let batch = setup.outbound.open.pop().unwrap();
    setup.outbound.waiting[0].batches.push_back(batch);
    for tag in 0..1000 {
        setup.push(&setup.transmit(tag, 50_000));
    }
    setup.flush();
    assert!(setup.outbound.waiting[0].batches.len() * BUFFER <= MAX_WAITING);
    assert!(setup.stats.packets_overflowed > 0);
}

#[tokio::test]
async fn a_batch_that_the_system_refuses_is_sent_singly() {
    let mut setup = Setup::new();
    for (tag, padding) in [(0, 1000), (1, 1000), (2, 300)] {
        setup.push(&setup.transmit(tag, padding));
    }
    for mode in [Mode::Singly, Mode::Fragmented] {
        setup.outbound.open[0].mode = mode;
        let mut again = Batch {
            buffer: setup.outbound.open[0].buffer.clone(),
            owners: setup.outbound.open[0].owners.clone(),
            ..setup.outbound.open.pop().unwrap()
        };
        let outcome = again.send(setup.sockets.get(0).unwrap(), &mut setup.stats);
        assert!(matches!(outcome, Outcome::Done));
        let lengths: Vec<_> =
            setup.received(3).await.into_iter().map(|(tag, len, _)| (tag, len)).collect();
        assert_eq!(lengths, [(0, 1016), (1, 1016), (2, 316)]);
        again.sent = 0;
        setup.outbound.open.push(again);
    }
    assert_eq!(setup.stats.send_calls, 6);
    assert_eq!(setup.stats.packets_fragmented, if cfg!(target_os = "linux") { 3 } else { 0 });
}

#[tokio::test]
async fn fragmentable_packets_and_probes_go_alone() {
    for fragmentation in [Fragmentation::Allowed, Fragmentation::Forbidden] {
        let mut setup = Setup::new();
        for tag in 0..3 {
            let transmit = Transmit { fragmentation, ..setup.transmit(tag, 1000) };
            setup.push(&transmit);
        }
        setup.flush();
        assert_eq!(setup.received(3).await.len(), 3);
        assert_eq!(setup.stats.send_calls, 3);
    }
}

#[tokio::test]
async fn what_cannot_be_sent_is_counted() {
    let mut setup = Setup::new();
    let ipv6 = "::1".parse().unwrap();
    for transmit in [
        Transmit { local: B, ..setup.transmit(0, 8) },
        Transmit { remote: ipv6, ..setup.transmit(1, 8) },
        Transmit { encapsulation: Encapsulation::None, ..setup.transmit(2, 8) },
        setup.transmit(3, 65_530),
    ] {
        setup.push(&transmit);
    }
    setup.flush();
    assert_eq!(setup.stats.packets_unsendable, 4);
    assert_eq!(setup.stats.packets_sent, 0);
    // Of addresses that nothing can be sent between the association hears at once.
    let refused =
        |local, remote| FaultReport { association: OWNER, local, remote, fault: Fault::Refused };
    assert_eq!(setup.outbound.take_faults(), [refused(B, B), refused(A, ipv6), refused(A, B)]);
}

#[tokio::test]
async fn what_waits_for_a_socket_goes_with_it() {
    let mut setup = Setup::new();
    for tag in 0..3 {
        setup.push(&setup.transmit(tag, 100));
    }
    let batch = setup.outbound.open.pop().unwrap();
    setup.outbound.waiting[0].batches.push_back(batch);
    let mark = setup.outbound.mark().expect("something waits");
    setup.push(&setup.transmit(3, 100));
    setup.sockets.remove(0);
    setup.outbound.close_place(0, &mut setup.stats);
    assert!(setup.outbound.has_passed(&mark));
    setup.flush();
    assert!(setup.outbound.is_idle());
    assert_eq!((setup.stats.packets_unsendable, setup.stats.packets_sent), (4, 0));
    // Another one takes its place, and packets of before do not come back.
    let place = setup.sockets.insert(Port::Udp(UdpPort::bind(A, None, 0).unwrap()));
    setup.outbound.open_place(place);
    setup.push(&setup.transmit(4, 100));
    setup.flush();
    assert_eq!(setup.received(1).await[0].0, 4);
}

#[tokio::test]
async fn what_the_system_says_of_a_path_is_told_once() {
    let mut setup = Setup::new();
    // Broadcasting is not permitted to a socket that was not asked to.
    let refused = Transmit { remote: Ipv4Addr::BROADCAST.into(), ..setup.transmit(0, 100) };
    for _ in 0..2 {
        setup.push(&refused);
        setup.push(&setup.transmit(1, 100));
        setup.flush();
    }
    assert_eq!((setup.stats.packets_refused, setup.stats.packets_sent), (2, 2));
    let report = FaultReport {
        association: OWNER,
        local: A,
        remote: Ipv4Addr::BROADCAST.into(),
        fault: Fault::Refused,
    };
    assert_eq!(setup.outbound.take_faults(), [report]);
    assert_eq!(setup.outbound.take_faults(), []);
    // More than the loopback interface carries in one piece; IPv4 cannot carry it at all.
    setup.push(&setup.transmit(2, 65_500));
    setup.flush();
    assert_eq!(
        setup.outbound.take_faults(),
        [FaultReport { remote: B, fault: Fault::TooBig, ..report }]
    );
}
