use super::*;

const STREAMS: u16 = 100;

/// Both sides, with what each hears. Messages of a stream keep their order, and resets come behind them.
struct Both {
    sides: [Channels; 2],
    heard: [Vec<ChannelEvent>; 2],
}

impl Both {
    fn new() -> Self {
        let sides = [Channels::new(Role::Client), Channels::new(Role::Server)];
        Self { sides, heard: Default::default() }
    }

    fn send(&mut self, from: usize, message: Outgoing) {
        let Outgoing { stream, ppid, payload, .. } = message;
        self.sides[1 - from].on_message(stream, ppid, payload, STREAMS);
    }

    fn open(&mut self, side: usize, label: &str) -> u16 {
        let open = self.sides[side].open(ChannelParameters::new(label), STREAMS).unwrap();
        let id = open.stream;
        self.send(side, open);
        self.run();
        id
    }

    fn say(&mut self, side: usize, id: u16, text: &str) {
        let message = self.sides[side].outgoing(id, text.into()).unwrap();
        self.send(side, message);
        self.run();
    }

    /// Carries out what is to be done until nothing is.
    fn run(&mut self) {
        loop {
            let mut is_done = true;
            for side in [0, 1] {
                while let Some(event) = self.sides[side].poll_event() {
                    self.heard[side].push(event);
                }
                while let Some(action) = self.sides[side].poll_action() {
                    is_done = false;
                    match action {
                        Action::Send(message) => self.send(side, message),
                        Action::Reset(stream) => {
                            self.sides[1 - side].on_incoming_reset(&[stream]);
                            self.sides[side].on_outgoing_reset(&[stream], STREAMS);
                        }
                    }
                }
            }
            if is_done {
                return;
            }
        }
    }

    fn heard(&mut self, side: usize) -> Vec<ChannelEvent> {
        std::mem::take(&mut self.heard[side])
    }
}

fn message(id: u16, text: &str) -> ChannelEvent {
    ChannelEvent::Message { id, content: text.into() }
}

#[test]
fn each_side_has_streams_of_its_own() {
    let mut both = Both::new();
    assert_eq!([0, 0, 1, 0, 1].map(|side| both.open(side, "x")), [0, 2, 1, 4, 3]);
    let confirmed = |id| ChannelEvent::Confirmed(id);
    let own: Vec<_> =
        both.heard(0).into_iter().filter(|e| matches!(e, ChannelEvent::Confirmed(_))).collect();
    assert_eq!(own, [confirmed(0), confirmed(2), confirmed(4)]);
    both.say(1, 4, "to the channel of the other");
    assert_eq!(both.heard(0), [message(4, "to the channel of the other")]);
}

#[test]
fn streams_run_out() {
    let mut channels = Channels::new(Role::Client);
    for _ in 0..3 {
        channels.open(ChannelParameters::new(""), 5).unwrap();
    }
    let refused = channels.open(ChannelParameters::new(""), 5);
    assert_eq!(refused, Err(OpenError::NoStream));
    let taken = |id| channels.table.contains_key(&id);
    assert!(taken(0) && taken(2) && taken(4));
    // 65535 is no stream of a channel.
    let mut server = Channels::new(Role::Server);
    let parameters = ChannelParameters::new("");
    let refused = server.open_negotiated(u16::MAX, parameters, u16::MAX);
    assert_eq!(refused, Err(OpenError::StreamTaken(u16::MAX)));
}

#[test]
fn unordered_messages_are_ordered_until_the_peer_knows_the_channel() {
    let mut client = Channels::new(Role::Client);
    let parameters =
        ChannelParameters::new("x").unordered().reliability(Reliability::MaxRetransmissions(3));
    let open = client.open(parameters, STREAMS).unwrap();
    assert_eq!((open.ordered, open.reliability, open.ppid), (true, Reliability::Reliable, 50));
    let early = client.outgoing(0, "early".into()).unwrap();
    assert_eq!((early.ordered, early.reliability), (true, Reliability::MaxRetransmissions(3)));
    client.on_message(0, dcep::PPID, Bytes::from_static(&[2]), STREAMS);
    assert!(!client.outgoing(0, "late".into()).unwrap().ordered);
    // Whoever was asked knows.
    let mut server = Channels::new(Role::Server);
    server.on_message(0, open.ppid, open.payload, STREAMS);
    assert!(!server.outgoing(0, "answer".into()).unwrap().ordered);
}

#[test]
fn a_channel_is_closed_by_both_and_its_stream_is_used_again() {
    for closer in [0, 1] {
        let mut both = Both::new();
        let id = both.open(0, "first");
        both.run();
        both.heard(0);
        both.heard(1);
        both.sides[closer].close(id);
        assert_eq!(both.sides[closer].outgoing(id, "late".into()), Err(ChannelClosed));
        both.run();
        assert_eq!(both.heard(1 - closer), [ChannelEvent::Closed(id)]);
        assert_eq!(both.heard(closer), []);
        assert!(both.sides.iter().all(Channels::is_empty));
        assert_eq!(both.open(0, "second"), id);
        both.say(0, id, "again");
        let parameters = ChannelParameters::new("second");
        assert_eq!(
            both.heard(1),
            [ChannelEvent::Accepted { id, parameters }, message(id, "again")]
        );
    }
}

#[test]
fn both_may_close_at_once() {
    let mut both = Both::new();
    let id = both.open(1, "x");
    both.sides.iter_mut().for_each(|side| side.close(id));
    both.run();
    assert!(both.sides.iter().all(Channels::is_empty));
}

/// The answer to the reset may be lost: then the peer knows before this side that the channel is over.
#[test]
fn what_comes_for_the_next_channel_waits_for_the_end_of_the_last() {
    let mut server = Channels::new(Role::Server);
    let open = |label: &str| -> Bytes {
        DcepMessage::Open(ChannelParameters::new(label)).encode().unwrap().into()
    };
    server.on_message(0, dcep::PPID, open("first"), STREAMS);
    while server.poll_event().is_some() || server.poll_action().is_some() {}
    server.on_incoming_reset(&[0]);
    assert_eq!(server.poll_event(), Some(ChannelEvent::Closed(0)));
    assert_eq!(server.poll_action(), Some(Action::Reset(0)));
    server.on_message(0, dcep::PPID, open("second"), STREAMS);
    server.on_message(0, 51, Bytes::from_static(b"hello"), STREAMS);
    assert_eq!(server.poll_event(), None);
    server.on_outgoing_reset(&[0], STREAMS);
    let parameters = ChannelParameters::new("second");
    assert_eq!(server.poll_event(), Some(ChannelEvent::Accepted { id: 0, parameters }));
    assert_eq!(server.poll_event(), Some(message(0, "hello")));
    for number in 0..100 {
        server.on_incoming_reset(&[0]);
        server.on_message(0, 51, vec![number].into(), STREAMS);
    }
    assert!(server.table[&0].early.len() <= MAX_EARLY);
}

#[test]
fn what_breaks_the_rules_closes_the_channel() {
    let open = DcepMessage::Open(ChannelParameters::new("")).encode().unwrap();
    // Stream, identifier and payload; what the server has: 0 of the client, 1 of its own.
    for (stream, ppid, payload, closes) in [
        (0, 50, &open[..], true),
        (1, 50, &open[..], true),
        (0, 50, b"\x07", true),
        (0, 0, b"x", true),
        (0, 52, b"x", true),
        (0, 51, b"\xFF", true),
        (0, 50, b"\x02", false),
        (0, 51, b"x", false),
    ] {
        let mut both = Both::new();
        both.open(0, "theirs");
        both.open(1, "ours");
        both.heard(1);
        let payload = Bytes::copy_from_slice(payload);
        both.sides[1].on_message(stream, ppid, payload.clone(), STREAMS);
        both.run();
        let closed = both.heard(1).contains(&ChannelEvent::Closed(stream));
        assert_eq!(closed, closes, "{stream} {ppid} {payload:?}");
    }
    // No channel: odd streams are the server's own.
    let mut server = Channels::new(Role::Server);
    for (stream, ppid, payload, action) in [
        (3, 50, &open[..], Some(Action::Reset(3))),
        (4, 50, b"\x09", Some(Action::Reset(4))),
        (STREAMS, 50, &open[..], None),
        (6, 50, b"\x02", None),
        (8, 51, b"x", None),
    ] {
        server.on_message(stream, ppid, Bytes::copy_from_slice(payload), STREAMS);
        assert_eq!((server.poll_action(), server.poll_event()), (action, None), "{stream}");
    }
    assert!(server.is_empty());
}

#[test]
fn channels_agreed_on_otherwise_send_nothing_to_open() {
    let mut both = Both::new();
    for side in &mut both.sides {
        side.open_negotiated(7, ChannelParameters::new("").unordered(), STREAMS).unwrap();
        assert_eq!(side.poll_action(), None);
        assert!(!side.outgoing(7, "x".into()).unwrap().ordered);
        let again = side.open_negotiated(7, ChannelParameters::new(""), STREAMS);
        assert_eq!(again, Err(OpenError::StreamTaken(7)));
    }
    both.say(0, 7, "x");
    assert_eq!(both.heard(1), [message(7, "x")]);
}

#[test]
fn a_reset_of_all_streams_closes_all_channels() {
    let mut both = Both::new();
    let ids = [both.open(0, "a"), both.open(0, "b"), both.open(1, "c")];
    both.heard(1);
    both.sides[1].on_incoming_reset(&[]);
    both.run();
    let heard = both.heard(1);
    assert!(ids.iter().all(|id| heard.contains(&ChannelEvent::Closed(*id))));
}
