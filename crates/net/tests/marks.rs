//! ECN, DSCP and flow label on the loopback interface: packets arrive as they were sent, in batches and alone.
#![cfg(target_os = "linux")]

mod common;

use std::io::IoSliceMut;
use std::net::{IpAddr, UdpSocket};
use std::os::fd::AsRawFd;

use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg};
use socket2::SockRef;

use common::{CLIENT, SERVER, client_on, pair_with, server_with};
use polypath::config::ExplicitCongestionNotification;
use polypath::{AssociationConfig, Endpoint, Message, Peer};

const MESSAGES: u64 = 500;

#[tokio::test]
async fn new_data_arrives_capable() {
    let mut config = AssociationConfig::default();
    config.policies.explicit_congestion_notification = ExplicitCongestionNotification::On;
    let v4 = (&SERVER[..], &CLIENT[..]);
    let v6 = (&["::1"][..], &["::1"][..]);
    for ((server, client), dscp) in [(v4, 0), (v4, 46), (v6, 0), (v6, 46)] {
        config.dscp = dscp;
        let pair =
            pair_with(server_with(server, config.clone()), client_on(client), config.clone()).await;
        let send = async {
            for _ in 0..MESSAGES {
                pair.near.send(Message::new(0, vec![7; 1300])).await.unwrap();
            }
        };
        let receive = async {
            for _ in 0..MESSAGES {
                pair.far.receive().await.unwrap().unwrap();
            }
        };
        tokio::join!(send, receive);
        let (sent, received) = (pair.near.stats(), pair.far.stats());
        let capable = received.ecn_capable_packets_received;
        assert!(capable >= MESSAGES / 2 && capable <= sent.ecn_capable_packets_sent, "{sent:?}");
        // What the receiver sends alone are acknowledgements, which are not.
        assert_eq!((received.ecn_capable_packets_sent, sent.ecn_reductions), (0, 0));
    }
}

/// What connects says from its first packet on which traffic it is, over either family.
#[tokio::test]
async fn the_first_packet_has_the_dscp() {
    for local in ["127.0.9.1", "::1"] {
        let local: IpAddr = local.parse().unwrap();
        let witness = UdpSocket::bind((local, 0)).unwrap();
        let options = SockRef::from(&witness);
        match local {
            IpAddr::V4(_) => options.set_recv_tos_v4(true).unwrap(),
            IpAddr::V6(_) => options.set_recv_tclass_v6(true).unwrap(),
        }
        let client = Endpoint::builder([local]).encapsulation_port(0).bind().unwrap();
        let peer =
            Peer::new([local], 5001).encapsulation_port(witness.local_addr().unwrap().port());
        let config = AssociationConfig { dscp: 46, ..AssociationConfig::default() };
        let connecting = tokio::spawn(async move { client.connect(&peer, config).await });
        let byte = tokio::task::spawn_blocking(move || byte_of(&witness)).await.unwrap();
        connecting.abort();
        assert_eq!(byte, 46 << 2, "{local}");
    }
}

/// Receives a packet; the byte with DSCP and ECN of its IP header.
fn byte_of(witness: &UdpSocket) -> u8 {
    let (mut buffer, mut control) = ([0; 2000], nix::cmsg_space!(i32, i32));
    let mut buffers = [IoSliceMut::new(&mut buffer)];
    let flags = MsgFlags::empty();
    let received =
        recvmsg::<()>(witness.as_raw_fd(), &mut buffers, Some(&mut control), flags).unwrap();
    let byte = received.cmsgs().unwrap().find_map(|message| match message {
        ControlMessageOwned::Ipv4Tos(byte) => Some(byte),
        ControlMessageOwned::Ipv6TClass(byte) => Some(byte as u8),
        _ => None,
    });
    byte.expect("the system gives the byte")
}
