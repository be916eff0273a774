//! The ECN field on the loopback interface: new data arrives as it was sent, in batches and alone.
#![cfg(target_os = "linux")]

mod common;

use common::{CLIENT, SERVER, client_on, pair_with, server_with};
use polypath::config::ExplicitCongestionNotification;
use polypath::{AssociationConfig, Message};

const MESSAGES: u64 = 500;

#[tokio::test]
async fn new_data_arrives_capable() {
    let mut config = AssociationConfig::default();
    config.policies.explicit_congestion_notification = ExplicitCongestionNotification::On;
    for (server, client) in [(&SERVER[..], &CLIENT[..]), (&["::1"], &["::1"])] {
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
