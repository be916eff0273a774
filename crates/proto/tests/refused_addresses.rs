//! Handshakes while the system refuses addresses, or takes them away.

use std::net::IpAddr;

use polypath_proto::config::{AssociationConfig, EndpointConfig, Preset};
use polypath_proto::{
    Body, Duration, Ecn, Encapsulation, Instant, LocalAddressChange, PathError, PathId, Received,
    Transmit,
};
use polypath_testkit::Host;
use polypath_wire::Chunk;

const PORT: u16 = 5001;

/// One INIT at a time, which these tests follow.
fn config() -> AssociationConfig {
    AssociationConfig::with_preset(Preset::Cmt)
}

fn local(n: u8) -> IpAddr {
    IpAddr::from([10, 0, n, 1])
}

fn remote(n: u8) -> IpAddr {
    IpAddr::from([10, 0, n, 2])
}

/// A client with an INIT on its way to the first of three addresses.
struct Client {
    host: Host,
    now: Instant,
}

impl Client {
    fn new() -> Self {
        let now = Instant::from_nanos(1_000_000);
        let addresses: Vec<_> = (0..3).map(local).collect();
        let mut host = Host::new(1, EndpointConfig::default(), 4000, &addresses, now);
        let peer: Vec<_> = (0..3).map(remote).collect();
        host.connect(now, config(), PORT, &peer).unwrap();
        let mut client = Self { host, now };
        assert_eq!(client.inits(), [0]);
        client
    }

    /// To which of the peer's addresses INITs went.
    fn inits(&mut self) -> Vec<u8> {
        let sent = self.host.take_output();
        let is_init = |sent: &Transmit| matches!(sent.packet.chunks[0], Chunk::Init(_));
        assert!(sent.iter().all(is_init), "{sent:?}");
        sent.iter().map(number).collect()
    }

    fn refuse(&mut self, path: u8) {
        self.host.command(self.now, 0, |association, cx| {
            association.handle_path_error(cx, PathId(path), PathError::Refused)
        });
        self.host.settle(self.now, 0);
    }

    fn change(&mut self, change: LocalAddressChange) {
        self.host
            .command(self.now, 0, |association, cx| association.handle_local_address(cx, change));
        self.host.settle(self.now, 0);
    }

    fn expire(&mut self) {
        self.now = self.host.next_timeout().expect("a timer runs");
        self.host.handle_timeout(self.now);
    }
}

/// Which of the peer's addresses a packet goes to; it must leave from the local one that is paired with it.
fn number(transmit: &Transmit) -> u8 {
    let number = (0..3).find(|&n| transmit.remote == remote(n)).expect("an address of the peer");
    assert_eq!(transmit.local, local(number));
    number
}

fn received<'a>(transmit: &'a Transmit) -> Received<'a> {
    Received {
        local: transmit.remote,
        remote: transmit.local,
        encapsulation: Encapsulation::None,
        ecn: Ecn::NotEct,
        body: Body::Structured(&transmit.packet),
    }
}

#[test]
fn the_next_address_is_tried_at_once() {
    let mut client = Client::new();
    let timer = client.host.next_timeout();
    client.refuse(0);
    assert_eq!(client.inits(), [1]);
    client.refuse(1);
    assert_eq!(client.inits(), [2]);
    assert_eq!(client.host.next_timeout(), timer, "the timer runs on");
    // The third answers nothing, and the timer turns to the first, which still is refused.
    client.expire();
    assert_eq!(client.inits(), [0]);
    client.refuse(0);
    client.refuse(1);
    assert_eq!(client.inits(), [1, 2]);
}

#[test]
fn a_host_that_can_send_nowhere_asks_once_in_a_while() {
    let mut client = Client::new();
    let mut tries = 1;
    while !client.host.slots[0].association.is_closed() {
        for path in 0..3 {
            client.refuse(path);
            // The same again, late.
            client.refuse(path);
            tries += client.inits().len();
        }
        client.expire();
        tries += client.inits().len();
    }
    // Max.Init.Retransmits is 8: three for each of nine times, but a round begins where the last one ended.
    assert!((9..=27).contains(&tries), "{tries}");
}

#[test]
fn a_refusal_of_an_address_that_is_not_being_tried_changes_nothing_yet() {
    let mut client = Client::new();
    client.refuse(1);
    assert!(client.inits().is_empty());
    client.refuse(0);
    assert_eq!(client.inits(), [2], "the second is known to be refused");
}

#[test]
fn the_cookie_too_goes_on_at_once_but_only_to_confirmed_addresses() {
    let mut client = Client::new();
    let listening = EndpointConfig { listening: true, association: config(), ..Default::default() };
    let addresses: Vec<_> = (0..3).map(remote).collect();
    let mut server = Host::new(2, listening, PORT, &addresses, client.now);
    client.refuse(0);
    let init = client.host.take_output().remove(0);
    server.receive(client.now, &received(&init));
    let init_ack = server.take_output().remove(0);
    client.host.receive(client.now, &received(&init_ack));
    let to = |sent: Vec<Transmit>| -> Vec<u8> { sent.iter().map(number).collect() };
    assert_eq!(to(client.host.take_output()), [1], "where the INIT ACK came from");
    // All three were named by the user, so all are confirmed.
    client.refuse(1);
    let echo = client.host.take_output();
    assert_eq!(echo.iter().map(number).collect::<Vec<_>>(), [2]);
    assert!(matches!(echo[0].packet.chunks[0], Chunk::CookieEcho(_)));
    server.receive(client.now, &received(&echo[0]));
    let acknowledged = server.take_output().remove(0);
    client.host.receive(client.now, &received(&acknowledged));
    assert!(client.host.slots[0].association.is_established());
}

#[test]
fn a_local_address_that_goes_away_moves_the_handshake() {
    let mut client = Client::new();
    client.change(LocalAddressChange::Removed(local(1)));
    assert!(client.inits().is_empty(), "the handshake goes on where it was");
    client.change(LocalAddressChange::Removed(local(0)));
    let sent = client.host.take_output();
    assert_eq!((sent.len(), sent[0].local), (1, local(2)));
    client.change(LocalAddressChange::Removed(local(2)));
    assert_eq!(client.host.take_output().len(), 0, "the last one stays");
    client.expire();
    assert_eq!(client.host.take_output()[0].local, local(2));
}

#[test]
fn a_handshake_keeps_the_last_address_that_reaches_the_peer() {
    let now = Instant::from_nanos(1_000_000);
    let v6: IpAddr = "2001:db8::1".parse().unwrap();
    let mut host = Host::new(1, EndpointConfig::default(), 4000, &[local(0), v6], now);
    host.connect(now, config(), PORT, &[remote(0)]).unwrap();
    let mut client = Client { host, now };
    client.change(LocalAddressChange::Removed(local(0)));
    let later = now + Duration::from_secs(2);
    client.host.handle_timeout(later);
    let sent = client.host.take_output();
    assert!(!sent.is_empty() && sent.iter().all(|sent| sent.local == local(0)));
}
