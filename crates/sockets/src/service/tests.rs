//! The service without programs: its sockets are asked as programs would ask.

use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use polypath::{AssociationConfig, Delivery, Endpoint, Event};
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;

use super::link::Outgoing;
use super::options::{self, Options};
use super::socket::Socket;
use super::{Service, Settings, Style};
use crate::abi::option::ENABLE_STREAM_RESET;
use crate::abi::{IPPROTO_SCTP, SOL_SOCKET, option, socket_option};
use crate::address;
use crate::control::{Operation, Request};
use crate::frame::{HEAD_BYTES, Head, Kind};
use crate::init::InitMessage;
use crate::support::OPTIONS;

fn settings() -> Settings {
    Settings {
        association: AssociationConfig::default(),
        encapsulation_port: None,
        all_addresses: false,
    }
}

/// A service at one address, and its UDP port.
pub(super) fn service(address: &str) -> (Arc<Service>, u16) {
    service_at(&[address])
}

fn service_at(addresses: &[&str]) -> (Arc<Service>, u16) {
    let addresses = addresses.iter().map(|one| one.parse::<std::net::IpAddr>().unwrap());
    let endpoint = Endpoint::builder(addresses).encapsulation_port(0).bind().unwrap();
    let port = endpoint.encapsulation_port();
    let service = Service::new(endpoint, |text| match text {
        "" => Ok(settings()),
        other => Err(format!("{other:?} is no setting")),
    });
    (service, port)
}

pub(super) fn open(service: &Arc<Service>, style: Style, udp_port: u16) -> (Arc<Socket>, OwnedFd) {
    let settings = Settings { encapsulation_port: Some(udp_port), ..settings() };
    Socket::open(service, (style, false), 1, Options::new(settings)).unwrap()
}

pub(super) fn at(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

/// Reads a frame as the program does, without holding up the service.
pub(super) async fn frame(fd: &OwnedFd) -> (Head, Vec<u8>) {
    let fd = fd.try_clone().unwrap();
    let bytes = tokio::task::spawn_blocking(move || {
        let mut bytes = vec![0_u8; 200_000];
        let (got, _) =
            rustix::net::recv(&fd, &mut bytes[..], rustix::net::RecvFlags::empty()).unwrap();
        bytes.truncate(got);
        bytes
    });
    let bytes = bytes.await.unwrap();
    (Head::decode(&bytes).expect("a frame"), bytes[HEAD_BYTES..].to_vec())
}

fn send(fd: &OwnedFd, head: &Head, payload: &[u8]) {
    let bytes = [&head.encoded()[..], payload].concat();
    rustix::net::send(fd, &bytes, rustix::net::SendFlags::empty()).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_table_of_options_is_true() {
    let (service, port) = service("127.0.0.61");
    let (server, _server_fd) = open(&service, Style::OneToMany, port);
    server.bind(&[at("127.0.0.61:7100")]).unwrap();
    server.listen(4).unwrap();
    let (socket, _fd) = open(&service, Style::OneToMany, port);
    let id = socket.connect(&[at("127.0.0.61:7100")], InitMessage::default()).unwrap();
    socket.connected().await.unwrap();
    // A structure of any kind that names the association and its peer, at both places where addresses are.
    let peer = address::stored(at("127.0.0.61:7100"), false);
    let mut given = id.to_ne_bytes().to_vec();
    given.extend(&peer);
    given.resize(512, 0);
    // These are the library's own, which turns them into other questions.
    let of_library = [
        "SOCKOPT_PEELOFF",
        "SOCKOPT_PEELOFF_FLAGS",
        "SOCKOPT_CONNECTX",
        "SOCKOPT_CONNECTX_OLD",
        "SOCKOPT_CONNECTX3",
    ];
    // Requests are there where they are enabled.
    let enabled = [0_i32.to_ne_bytes(), 7_i32.to_ne_bytes()].concat();
    for option in OPTIONS.iter().filter(|option| !of_library.contains(&option.name)) {
        options::set(&socket, IPPROTO_SCTP, ENABLE_STREAM_RESET, &enabled).unwrap();
        let got = options::get(&socket, IPPROTO_SCTP, option.number, &given);
        let is_there = got.as_ref().err() != Some(&Errno::NOPROTOOPT);
        assert_eq!(is_there, option.get, "getsockopt of {}: {got:?}", option.name);
        let done = options::set(&socket, IPPROTO_SCTP, option.number, &given);
        let is_there = done.as_ref().err() != Some(&Errno::NOPROTOOPT);
        assert_eq!(is_there, option.set, "setsockopt of {}: {done:?}", option.name);
        // Whatever is cut off is refused, or nothing happens; nothing else does.
        for length in 0..12 {
            let _ = options::get(&socket, IPPROTO_SCTP, option.number, &given[..length]);
            let _ = options::set(&socket, IPPROTO_SCTP, option.number, &given[..length]);
        }
    }
    let refused = super::lock(&service.refused_options).len();
    let missing = OPTIONS.iter().filter(|option| !option.get || !option.set).count();
    assert!(
        refused > 0 && refused <= missing,
        "{refused} counted, {missing} missing in one direction"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_goes_from_one_program_to_another() {
    let (service, port) = service("127.0.0.62");
    let (server, server_fd) = open(&service, Style::OneToOne, port);
    server.bind(&[at("127.0.0.62:7200")]).unwrap();
    assert_eq!(server.bind(&[at("127.0.0.62:7201")]), Err(Errno::INVAL), "bound already");
    server.listen(4).unwrap();
    let (client, client_fd) = open(&service, Style::OneToOne, port);
    client.connect(&[at("127.0.0.62:7200")], InitMessage::default()).unwrap();
    client.connected().await.unwrap();
    assert_eq!(
        client.connect(&[at("127.0.0.62:7200")], InitMessage::default()),
        Err(Errno::ISCONN)
    );
    let (head, _) = frame(&server_fd).await;
    assert_eq!(head.kind, Kind::Accepted);

    let (other, _other_fd) = open(&service, Style::OneToOne, port);
    assert_eq!(other.bind(&[at("127.0.0.62:7200")]), Err(Errno::ADDRINUSE));
    assert_eq!(other.bind(&[at("192.0.2.1:0")]), Err(Errno::ADDRNOTAVAIL));
    other.connect(&[at("127.0.0.62:1")], InitMessage::default()).unwrap();
    assert_eq!(other.connected().await, Err(Errno::CONNREFUSED));

    // The accepted socket was lost on the way to the program: its association ends.
    drop(server_fd);
    // Refused, if that has happened already.
    let late = [&Head::of(Kind::Data).encoded()[..], b"to nobody"].concat();
    let _ = rustix::net::send(&client_fd, &late, rustix::net::SendFlags::NOSIGNAL);
    let mut byte = [0_u8; 1];
    let fd = client_fd.try_clone().unwrap();
    let ended = tokio::task::spawn_blocking(move || {
        rustix::net::recv(&fd, &mut byte[..], rustix::net::RecvFlags::empty()).unwrap().0
    });
    assert_eq!(ended.await.unwrap(), 0, "the end of the association is the end of the file");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closing_the_descriptor_ends_the_socket() {
    let (service, port) = service("127.0.0.63");
    let (socket, fd) = open(&service, Style::OneToMany, port);
    socket.bind(&[at("127.0.0.63:7300")]).unwrap();
    let id = socket.name.id;
    assert!(service.socket(id).is_some());
    drop(fd);
    while service.socket(id).is_some() {
        tokio::task::yield_now().await;
    }
    let (again, _fd) = open(&service, Style::OneToMany, port);
    again.bind(&[at("127.0.0.63:7300")]).expect("the port is free again");
}

#[tokio::test]
async fn what_programs_send_that_is_no_frame_harms_nobody() {
    let (service, port) = service("127.0.0.64");
    let (socket, fd) = open(&service, Style::OneToMany, port);
    for bytes in [&[0_u8; 1][..], &[255; 72], &[1; 200], &[3; 78]] {
        rustix::net::send(&fd, bytes, rustix::net::SendFlags::empty()).unwrap();
    }
    // To a stream, an association and an address that there are not.
    let lost = Head { stream: 65_535, association: 99, ..Head::of(Kind::Data) };
    send(&fd, &lost, b"lost");
    send(&fd, &Head { peer: Some(at("0.0.0.0:0")), ..Head::of(Kind::Data) }, b"lost");
    socket.bind(&[at("127.0.0.64:7400")]).unwrap();
    socket.listen(1).expect("it still works");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closing_with_no_time_to_linger_waits_for_nobody() {
    let (service, port) = service("127.0.0.65");
    let small = 20_000_i32.to_ne_bytes();
    let (server, _server_fd) = open(&service, Style::OneToMany, port);
    options::set(&server, SOL_SOCKET, socket_option::RCVBUF, &small).unwrap();
    server.bind(&[at("127.0.0.65:7500")]).unwrap();
    server.listen(1).unwrap();
    let (client, fd) = open(&service, Style::OneToOne, port);
    client.connect(&[at("127.0.0.65:7500")], InitMessage::default()).unwrap();
    client.connected().await.unwrap();
    let linger = [1_i32.to_ne_bytes(), 0_i32.to_ne_bytes()].concat();
    options::set(&client, SOL_SOCKET, socket_option::LINGER, &linger).unwrap();
    options::set(&client, SOL_SOCKET, socket_option::SNDBUF, &small).unwrap();
    let link = client.state().links().next().cloned().unwrap();
    let association = link.association().unwrap();
    // Nobody reads at the other end, until messages wait everywhere.
    let frame = [&Head::of(Kind::Data).encoded()[..], &[7; 10_000]].concat();
    let flags = rustix::net::SendFlags::NOSIGNAL | rustix::net::SendFlags::DONTWAIT;
    loop {
        let stats = association.stats();
        let is_stuck = stats.peer_window_bytes < 10_000 && stats.send_buffer_bytes > 10_000;
        match rustix::net::send(&fd, &frame, flags) {
            Err(Errno::AGAIN) if is_stuck => break,
            Err(Errno::AGAIN) => tokio::task::yield_now().await,
            sent => assert_eq!(sent, Ok(frame.len())),
        }
    }
    drop(fd);
    let ended = association.closed().await;
    assert_eq!(ended, Err(polypath::AssociationError::Aborted));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_attempt_that_fails_leaves_the_port_bound() {
    let (service, port) = service("127.0.0.66");
    let (socket, _fd) = open(&service, Style::OneToOne, port);
    socket.bind(&[at("0.0.0.0:7600")]).unwrap();
    socket.connect(&[at("127.0.0.66:1")], InitMessage::default()).unwrap();
    assert_eq!(socket.connected().await, Err(Errno::CONNREFUSED));
    assert_eq!(Socket::local_port(&socket.state()), 7600);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_port_is_free_as_soon_as_its_program_has_closed_the_socket() {
    let (service, port) = service("127.0.0.93");
    let (mut used, mut fd) = open(&service, Style::OneToOne, port);
    used.bind(&[at("127.0.0.93:7650")]).unwrap();
    for _ in 0..20 {
        used.listen(1).unwrap();
        let (next, next_fd) = open(&service, Style::OneToOne, port);
        let bytes = address::written(at("127.0.0.93:7650"), false);
        let request = Request { bytes, ..Request::new(Operation::Bind, next.name.id) };
        let answer = || super::calls::answer(&service, 1, (&request, None));
        assert_eq!(answer().await.0.value, -Errno::ADDRINUSE.raw_os_error(), "it is in use");
        drop(fd);
        assert_eq!(answer().await.0.value, 0);
        (used, fd) = (next, next_fd);
    }
    // The service may have the descriptor a moment longer than the program.
    let (next, _next_fd) = open(&service, Style::OneToOne, port);
    let bytes = address::written(at("127.0.0.93:7650"), false);
    let request = Request { bytes, ..Request::new(Operation::Bind, next.name.id) };
    let theirs = super::socket::Theirs::of(&used, fd);
    let later = async {
        tokio::task::yield_now().await;
        drop(theirs);
    };
    let (answer, ()) = tokio::join!(super::calls::answer(&service, 1, (&request, None)), later);
    assert_eq!(answer.0.value, 0);
}

/// Sets an `int` of associations to come.
fn set_future(socket: &Arc<Socket>, number: i32, value: u32) {
    let value = [0_i32.to_ne_bytes(), value.to_ne_bytes()].concat();
    options::set(socket, IPPROTO_SCTP, number, &value).unwrap();
}

/// The socket that was accepted at an address. Its descriptor is on the way to the program.
pub(super) async fn accepted_at(service: &Service, local: SocketAddr) -> Arc<Socket> {
    loop {
        let all: Vec<_> = super::lock(&service.sockets).values().cloned().collect();
        let is_it = |one: &Arc<Socket>| one.state().names().is_some_and(|[own, _]| own == local);
        match all.into_iter().find(is_it) {
            Some(found) => return found,
            None => tokio::task::yield_now().await,
        }
    }
}

/// The association of a one-to-one socket.
fn association_of(socket: &Arc<Socket>) -> Arc<polypath::Association> {
    let state = socket.state();
    state.links().find_map(|link| link.association().cloned()).expect("an association")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn live_associations_follow_the_addresses_of_their_sockets() {
    let (service, port) = service_at(&["127.0.0.67", "127.0.0.68"]);
    let (first, second) = (at("127.0.0.67:7700"), at("127.0.0.68:7700"));
    let (server, _server_fd) = open(&service, Style::OneToOne, port);
    let (client, _fd) = open(&service, Style::OneToOne, port);
    for socket in [&server, &client] {
        set_future(socket, option::ASCONF_SUPPORTED, 1);
    }
    server.bind(&[first]).unwrap();
    server.listen(1).unwrap();
    client.bind(&[at("127.0.0.67:0")]).unwrap();
    client.connect(&[first], InitMessage::default()).unwrap();
    client.connected().await.unwrap();
    let near = association_of(&client);
    let mut events = near.events();
    let accepted = accepted_at(&service, first).await;
    assert!(accepted.name.id != client.name.id && accepted.name.id != server.name.id);

    // An accepted socket has no port of its own: a further address is added to its association.
    accepted.bind_more(&[at("127.0.0.68:0")]).unwrap();
    assert_eq!(accepted.bind_more(&[at("127.0.0.68:0")]), Err(Errno::ADDRINUSE));
    let added = polypath::AddressChange::Added;
    while events.next().await.expect("the association lives")
        != (Event::PeerAddress { address: second.ip(), change: added })
    {}
    assert_eq!(near.remote_addresses(), [first.ip(), second.ip()]);
    accepted.bind_fewer(&[first]).unwrap();
    let removed = polypath::AddressChange::Removed;
    while events.next().await.expect("the association lives")
        != (Event::PeerAddress { address: first.ip(), change: removed })
    {}
    assert_eq!(accepted.bind_fewer(&[second]), Err(Errno::BUSY), "the last one");

    // So is that of the socket that connected, which is bound.
    let far = association_of(&accepted);
    let mut events = far.events();
    client.bind_more(&[at("127.0.0.68:0")]).unwrap();
    while events.next().await.expect("the association lives")
        != (Event::PeerAddress { address: second.ip(), change: added })
    {}
    assert_eq!(near.local_addresses().len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_socket_whose_association_cannot_be_told_says_so() {
    let (service, port) = service_at(&["127.0.0.69", "127.0.0.70"]);
    let (server, _server_fd) = open(&service, Style::OneToOne, port);
    server.bind(&[at("127.0.0.69:7800")]).unwrap();
    server.listen(1).unwrap();
    let (client, _fd) = open(&service, Style::OneToOne, port);
    client.bind(&[at("127.0.0.69:0")]).unwrap();
    client.connect(&[at("127.0.0.69:7800")], InitMessage::default()).unwrap();
    client.connected().await.unwrap();
    let accepted = accepted_at(&service, at("127.0.0.69:7800")).await;
    assert_eq!(accepted.bind_more(&[at("127.0.0.70:0")]), Err(Errno::OPNOTSUPP));
    // One with a port has further associations, which will have the address.
    client.bind_more(&[at("127.0.0.70:0")]).unwrap();
    assert_eq!(association_of(&client).local_addresses().len(), 1);
}

/// A service that listens, and where.
fn listening(address: &str) -> (Arc<Service>, tempfile::TempDir, std::path::PathBuf) {
    let (service, _) = service(address);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sockets");
    let listener = tokio::net::UnixListener::bind(&path).unwrap();
    tokio::spawn(Arc::clone(&service).serve(listener, std::time::Duration::from_secs(3600)));
    (service, folder, path)
}

/// Asks for the status over a new connection; whether there is an answer.
async fn is_served(path: &std::path::Path) -> bool {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    let mut stream = tokio::net::UnixStream::connect(path).await.unwrap();
    let question = crate::control::Request::new(crate::control::Operation::Status, 0);
    let asked = stream.write_all(&question.encoded()).await;
    asked.is_ok() && stream.read_exact(&mut [0; 8]).await.is_ok()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_has_so_many_connections_at_a_time() {
    use tokio::io::AsyncReadExt;

    let (service, _folder, path) = listening("127.0.0.71");
    let process = std::process::id().cast_signed();
    let mut taken = 0;
    while service.conversations.take(process) {
        taken += 1;
    }
    assert!((2..=super::MAX_CONVERSATIONS_PER_PROCESS).contains(&taken), "{taken}");
    service.conversations.give_back(process);
    assert!(is_served(&path).await, "the last one that it may have");
    while !service.conversations.take(process) {
        tokio::task::yield_now().await;
    }
    let mut refused = tokio::net::UnixStream::connect(&path).await.unwrap();
    assert_eq!(refused.read(&mut [0]).await.unwrap(), 0, "closed without an answer");
    service.conversations.give_back(process);
    assert!(is_served(&path).await, "one of them has ended");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn those_who_wait_for_attempts_leave_connections_to_others() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    let (service, _folder, path) = listening("127.0.0.97");
    let (socket, _fd) = open(&service, Style::OneToOne, 9);
    let settle = async || {
        let mut stream = tokio::net::UnixStream::connect(&path).await.unwrap();
        let question = Request::new(Operation::Settle, socket.name.id).encoded();
        stream.write_all(&question).await.unwrap();
        let mut answer = [0_u8; 8];
        stream.read_exact(&mut answer).await.unwrap();
        i32::from_ne_bytes([answer[4], answer[5], answer[6], answer[7]])
    };
    assert_eq!(settle().await, 0);
    let process = std::process::id().cast_signed();
    while service.waiting.take(process) {}
    assert_eq!(settle().await, -Errno::BUSY.raw_os_error());
    assert!(is_served(&path).await);
    service.waiting.give_back(process);
    assert_eq!(settle().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_is_silent_or_talks_nonsense_holds_nobody_up() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    let (_service, _folder, path) = listening("127.0.0.72");
    let silent = tokio::net::UnixStream::connect(&path).await.unwrap();
    for nonsense in [u32::MAX.to_ne_bytes(), 0_u32.to_ne_bytes(), 5_u32.to_ne_bytes()] {
        let mut stream = tokio::net::UnixStream::connect(&path).await.unwrap();
        stream.write_all(&[nonsense, [255; 4], [255; 4]].concat()).await.unwrap();
        let read = stream.read(&mut [0]).await;
        assert!(read.map_or(true, |bytes| bytes == 0), "closed");
    }
    assert!(is_served(&path).await);
    drop(silent);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_has_so_many_sockets_and_no_other_has_fewer() {
    let (service, port) = service("127.0.0.73");
    while service.counts.take(1) {}
    let settings = || Options::new(Settings { encapsulation_port: Some(port), ..settings() });
    let opened =
        |process| Socket::open(&service, (Style::OneToMany, false), process, settings()).map(drop);
    // Sockets that are refused take no places on the board.
    let places = [(); 2].map(|()| {
        assert_eq!(opened(1), Err(Errno::MFILE));
        let place = service.board.take(1);
        service.board.give_back(place);
        place
    });
    assert_eq!(places[0], places[1]);
    assert_eq!(opened(2), Ok(()));
    // The socket of the other process may not be gone yet.
    service.counts.give_back(1);
    service.counts.give_back(1);
    assert_eq!(opened(1), Ok(()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_has_so_many_attempts_to_connect_at_a_time() {
    let (service, port) = service("127.0.0.80");
    while service.attempts.take(1) {}
    let (socket, _fd) = open(&service, Style::OneToMany, port);
    let connect = || socket.connect(&[at("127.0.0.80:1")], InitMessage::default());
    assert_eq!(connect(), Err(Errno::NOBUFS));
    service.attempts.give_back(1);
    connect().unwrap();
    assert_eq!(socket.connected().await, Err(Errno::CONNREFUSED));
    assert!(service.attempts.take(1), "given back");
    assert!(!service.attempts.take(1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn annexes_that_are_missing_too_large_or_other_files_are_left_out() {
    let (service, port) = service("127.0.0.74");
    let (server, server_fd) = open(&service, Style::OneToMany, port);
    server.bind(&[at("127.0.0.74:7900")]).unwrap();
    server.listen(1).unwrap();
    let (_client, fd) = open(&service, Style::OneToMany, port);
    let to = |rest| Head { peer: Some(at("127.0.0.74:7900")), rest, ..Head::of(Kind::Data) };
    let pass = |head: Head, annex: &OwnedFd| {
        let (head, content) = (head.encoded(), b"in the frame, ");
        let parts = [std::io::IoSlice::new(&head), std::io::IoSlice::new(content)];
        super::channel::send_with(fd.as_fd(), &parts, Some(annex.as_fd())).unwrap();
    };
    send(&fd, &to(9), b"without one");
    let exe = OwnedFd::from(std::fs::File::open("/proc/self/exe").unwrap());
    pass(to(9), &exe);
    let short = crate::annex::with(&[b"short"]).unwrap();
    pass(to(9), &short);
    pass(to(u32::MAX), &short);
    pass(to(5), &short);
    let (head, content) = frame(&server_fd).await;
    assert_eq!((head.kind, &content[..]), (Kind::Data, &b"in the frame, short"[..]));
}

#[tokio::test]
async fn options_that_nobody_knows_fill_no_memory() {
    let (service, port) = service("127.0.0.75");
    let (socket, _fd) = open(&service, Style::OneToMany, port);
    for number in 0..5000 {
        let done = options::set(&socket, IPPROTO_SCTP, 1000 + number, &[0; 4]);
        assert_eq!(done, Err(Errno::NOPROTOOPT));
    }
    assert_eq!(super::lock(&service.refused_options).len(), 1024);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_association_that_its_peer_has_ended_leaves_nothing_behind() {
    let (service, port) = service("127.0.0.76");
    let (server, _server_fd) = open(&service, Style::OneToMany, port);
    server.bind(&[at("127.0.0.76:8000")]).unwrap();
    server.listen(1).unwrap();
    let (client, fd) = open(&service, Style::OneToOne, port);
    client.connect(&[at("127.0.0.76:8000")], InitMessage::default()).unwrap();
    client.connected().await.unwrap();
    let link = loop {
        let link = server.state().links().next().map(Arc::downgrade);
        match link {
            Some(link) => break link,
            None => tokio::task::yield_now().await,
        }
    };
    drop(fd);
    while link.upgrade().is_some() {
        tokio::task::yield_now().await;
    }
    assert!(server.state().links().next().is_none());
}

/// A program that is over before it has read its notifications.
#[tokio::test]
async fn what_was_sent_arrives_although_notifications_were_not_read() {
    let (service, port) = service("127.0.0.77");
    let (server, server_fd) = open(&service, Style::OneToMany, port);
    server.bind(&[at("127.0.0.77:8100")]).unwrap();
    server.listen(1).unwrap();
    let (client, fd) = open(&service, Style::OneToMany, port);
    let all = [1_u8; 14];
    options::set(&client, IPPROTO_SCTP, option::EVENTS, &all).unwrap();
    client.connect(&[at("127.0.0.77:8100")], InitMessage::default()).unwrap();
    client.connected().await.unwrap();
    let told = fd.try_clone().unwrap();
    let told = tokio::task::spawn_blocking(move || {
        let mut fds = [PollFd::new(&told, PollFlags::IN)];
        rustix::event::poll(&mut fds, None).unwrap()
    });
    assert_eq!(told.await.unwrap(), 1, "the notification is there");
    let head = Head { peer: Some(at("127.0.0.77:8100")), ..Head::of(Kind::Data) };
    for number in 0..20 {
        send(&fd, &head, &[number]);
    }
    drop(fd);
    for number in 0..20 {
        assert_eq!(frame(&server_fd).await.1, [number]);
    }
}

#[tokio::test]
async fn a_library_of_another_version_is_told_so() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use crate::control::{Operation, Request, VERSION};

    let (_service, _folder, path) = listening("127.0.0.81");
    let mut later = Request::new(Operation::Open, 0).encoded();
    later[6..8].copy_from_slice(&(VERSION + 1).to_ne_bytes());
    // The first byte was the operation before there were versions.
    let old = [&17_u32.to_ne_bytes()[..], &[Operation::Open as u8], &[0; 16]].concat();
    for question in [later, old] {
        let mut stream = tokio::net::UnixStream::connect(&path).await.unwrap();
        stream.write_all(&question).await.unwrap();
        let length = stream.read_u32_le().await.unwrap();
        let mut answer = vec![0; length as usize];
        stream.read_exact(&mut answer).await.unwrap();
        let value = i32::from_ne_bytes(answer[..4].try_into().unwrap());
        assert_eq!(value, -Errno::PROTONOSUPPORT.raw_os_error());
        let text = String::from_utf8(answer[4..].to_vec()).unwrap();
        assert!(text.contains("not of the same version") && !text.contains('\n'), "{text}");
        assert!(text.contains(&std::process::id().to_string()), "{text}");
    }
}

#[tokio::test]
async fn a_socket_that_is_closed_begins_nothing() {
    let (service, port) = service("127.0.0.82");
    let (socket, fd) = open(&service, Style::OneToMany, port);
    drop(fd);
    while service.socket(socket.name.id).is_some() {
        tokio::task::yield_now().await;
    }
    let peer = at("127.0.0.82:8200");
    assert_eq!(socket.connect(&[peer], InitMessage::default()), Err(Errno::NOTCONN));
    assert_eq!(socket.listen(1), Err(Errno::NOTCONN));
    assert_eq!(socket.bind(&[peer]), Err(Errno::NOTCONN));
    let (other, _fd) = open(&service, Style::OneToMany, port);
    other.bind(&[peer]).expect("the port is free");
}

/// Reads notifications of a kind, up to the first for which `is_it` is true of the bytes behind its head; leaves out messages and other kinds.
async fn notification(fd: &OwnedFd, kind: u16, is_it: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    loop {
        let (head, content) = frame(fd).await;
        let is_kind = head.kind == Kind::Notification && content[..2] == kind.to_ne_bytes();
        if is_kind && is_it(&content[8..]) {
            return content;
        }
    }
}

/// Subscribes a socket to a kind of notifications.
fn subscribe(socket: &Arc<Socket>, kind: u16) {
    let event = crate::layout::Building::new().i32(0).u16(kind).u8(1).padded(8);
    options::set(socket, IPPROTO_SCTP, option::EVENT, &event.0).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn programs_hear_of_the_addresses_of_their_peers() {
    const ADDED: i32 = 3;
    const REMOVED: i32 = 2;
    const MADE_PRIMARY: i32 = 4;
    let (service, port) = service_at(&["127.0.0.94", "127.0.0.95"]);
    let (first, second) = (at("127.0.0.94:8300"), at("127.0.0.95:8300"));
    let (server, _server_fd) = open(&service, Style::OneToOne, port);
    let (client, fd) = open(&service, Style::OneToOne, port);
    for socket in [&server, &client] {
        set_future(socket, option::ASCONF_SUPPORTED, 1);
    }
    server.bind(&[first]).unwrap();
    server.listen(1).unwrap();
    subscribe(&client, crate::abi::notification::PEER_ADDR_CHANGE);
    client.bind(&[at("127.0.0.94:0")]).unwrap();
    client.connect(&[first], InitMessage::default()).unwrap();
    client.connected().await.unwrap();
    let id = client.state().links().next().unwrap().id;
    let accepted = accepted_at(&service, first).await;
    let told = async |peer: SocketAddr, state: i32| {
        // The address, its state, an error, and the association.
        let body = crate::layout::Building::new().bytes(&address::stored(peer, false));
        let expected = body.i32(state).i32(0).i32(id).0;
        let kind = crate::abi::notification::PEER_ADDR_CHANGE;
        let whole = notification(&fd, kind, |body| body == expected).await;
        assert_eq!(whole[4..8], 148_u32.to_ne_bytes(), "its length");
    };
    accepted.bind_more(&[at("127.0.0.95:0")]).unwrap();
    told(second, ADDED).await;
    let primary = crate::layout::Building::new().i32(0).bytes(&address::stored(second, false));
    options::set(&accepted, IPPROTO_SCTP, option::SET_PEER_PRIMARY_ADDR, &primary.0).unwrap();
    told(second, MADE_PRIMARY).await;
    accepted.bind_fewer(&[first]).unwrap();
    told(first, REMOVED).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn programs_hear_that_the_rest_of_a_message_will_not_come() {
    let (service, port) = service("127.0.0.96");
    let (server, server_fd) = open(&service, Style::OneToMany, port);
    let small = 20_000_i32.to_ne_bytes();
    options::set(&server, SOL_SOCKET, socket_option::RCVBUF, &small).unwrap();
    let point = 1000_u32.to_ne_bytes();
    options::set(&server, IPPROTO_SCTP, option::PARTIAL_DELIVERY_POINT, &point).unwrap();
    subscribe(&server, crate::abi::notification::PARTIAL_DELIVERY);
    server.bind(&[at("127.0.0.96:8400")]).unwrap();
    server.listen(1).unwrap();
    let (client, fd) = open(&service, Style::OneToMany, port);
    let failed = crate::abi::notification::SEND_FAILED_EVENT;
    subscribe(&client, failed);
    // More than fits into the descriptor of the program, which does not read until a message of which it has a part is too old.
    let large = vec![7; 100_000];
    let (peer, pr_policy) = (Some(at("127.0.0.96:8400")), crate::abi::flag::PR_TTL);
    let head = Head { peer, pr_policy, value: 200, stream: 3, ..Head::of(Kind::Data) };
    let writing = fd.try_clone().unwrap();
    let written = tokio::task::spawn_blocking(move || {
        for _ in 0..30 {
            send(&writing, &head, &large);
        }
    });
    // One of which a part was sent.
    loop {
        let (told, content) = frame(&fd).await;
        if told.kind == Kind::Notification && content[2..4] == 1_u16.to_ne_bytes() {
            break;
        }
    }
    let kind = crate::abi::notification::PARTIAL_DELIVERY;
    let told = notification(&server_fd, kind, |_| true).await;
    // The indication, the association, the stream, and the sequence number.
    assert_eq!((told.len(), &told[8..12], &told[16..20]), (24, &[0; 4][..], &[3, 0, 0, 0][..]));
    drop((fd, server_fd));
    let _ = written.await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_to_an_association_that_has_ended_comes_back() {
    let (service, port) = service("127.0.0.97");
    let (socket, fd) = open(&service, Style::OneToMany, port);
    subscribe(&socket, crate::abi::notification::SEND_FAILED_EVENT);
    let head = Head { association: 99, stream: 5, context: 77, ..Head::of(Kind::Data) };
    send(&fd, &head, b"too late");
    let (told, content) = frame(&fd).await;
    assert_eq!((told.kind, told.association), (Kind::Notification, 99));
    assert!(content.ends_with(b"too late"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_attempt_that_fails_wakes_who_reads() {
    let (service, port) = service("127.0.0.98");
    let (socket, fd) = open(&service, Style::OneToOne, port);
    socket.connect(&[at("127.0.0.98:1")], InitMessage::default()).unwrap();
    let (told, _) = frame(&fd).await;
    assert_eq!((told.kind, socket.take_error()), (Kind::Fault, Errno::CONNREFUSED.raw_os_error()));
    assert_eq!(socket.connected().await, Err(Errno::CONNREFUSED));
    assert_eq!(socket.take_error(), 0);
}

#[test]
fn flags_of_a_message_are_those_of_what_is_sent() {
    use crate::abi::flag::{SACK_IMMEDIATELY, UNORDERED};
    for (flags, is_unordered, sack_immediately) in [
        (0, false, false),
        (UNORDERED, true, false),
        (SACK_IMMEDIATELY, false, true),
        (UNORDERED | SACK_IMMEDIATELY, true, true),
    ] {
        let head = Head { flags, ..Head::of(Kind::Data) };
        let outgoing = Outgoing::new(&head, b"x"[..].into());
        let Outgoing::Message { message, .. } = outgoing else { panic!("{outgoing:?}") };
        let found = (message.delivery == Delivery::Unordered, message.sack_immediately);
        assert_eq!(found, (is_unordered, sack_immediately), "{flags}");
    }
}
