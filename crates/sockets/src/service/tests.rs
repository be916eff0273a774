//! The service without programs: its sockets are asked as programs would ask.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use polypath::{AssociationConfig, Endpoint};
use rustix::io::Errno;

use super::options::{self, Options};
use super::socket::Socket;
use super::{Service, Settings, Style};
use crate::abi::{IPPROTO_SCTP, SOL_SOCKET, socket_option};
use crate::address;
use crate::frame::{HEAD_BYTES, Head, Kind};
use crate::support::OPTIONS;

fn settings() -> Settings {
    Settings {
        association: AssociationConfig::default(),
        encapsulation_port: None,
        all_addresses: false,
    }
}

/// A service at one address, and its UDP port.
fn service(address: &str) -> (Arc<Service>, u16) {
    let endpoint =
        Endpoint::builder([address.parse().unwrap()]).encapsulation_port(0).bind().unwrap();
    let port = endpoint.encapsulation_port();
    let service = Service::new(endpoint, |text| match text {
        "" => Ok(settings()),
        other => Err(format!("{other:?} is no setting")),
    });
    (service, port)
}

fn open(service: &Arc<Service>, style: Style, udp_port: u16) -> (Arc<Socket>, OwnedFd) {
    let settings = Settings { encapsulation_port: Some(udp_port), ..settings() };
    Socket::open(service, (style, false), 1, Options::new(settings)).unwrap()
}

fn at(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

/// Reads a frame as the program does, without holding up the service.
async fn frame(fd: &OwnedFd) -> (Head, Vec<u8>) {
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
    let id = socket.connect(&[at("127.0.0.61:7100")]).unwrap();
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
    for option in OPTIONS.iter().filter(|option| !of_library.contains(&option.name)) {
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
    client.connect(&[at("127.0.0.62:7200")]).unwrap();
    client.connected().await.unwrap();
    assert_eq!(client.connect(&[at("127.0.0.62:7200")]), Err(Errno::ISCONN));
    let (head, _) = frame(&server_fd).await;
    assert_eq!(head.kind, Kind::Accepted);

    let (other, _other_fd) = open(&service, Style::OneToOne, port);
    assert_eq!(other.bind(&[at("127.0.0.62:7200")]), Err(Errno::ADDRINUSE));
    assert_eq!(other.bind(&[at("192.0.2.1:0")]), Err(Errno::ADDRNOTAVAIL));
    other.connect(&[at("127.0.0.62:1")]).unwrap();
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
    for bytes in [&[0_u8; 1][..], &[255; 64], &[1; 200], &[3; 70]] {
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
    client.connect(&[at("127.0.0.65:7500")]).unwrap();
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
    socket.connect(&[at("127.0.0.66:1")]).unwrap();
    assert_eq!(socket.connected().await, Err(Errno::CONNREFUSED));
    assert_eq!(Socket::local_port(&socket.state()), 7600);
}
