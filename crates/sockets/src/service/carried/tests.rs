//! Two addresses of one program, which hands the packets of either to the other.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::AtomicBool;

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;

use super::*;
use crate::abi::{SOL_SOCKET, socket_option};
use crate::frame::HEAD_BYTES;
use crate::init::InitMessage;
use crate::names::Style;
use crate::service::channel::receive_with_annex;
use crate::service::options::{self, Options};
use crate::service::socket::Socket;

/// Addresses, one from each half of the memory.
const ENDS: [u64; 2] = [0x1000, 0xFFFF_8000_0000_2000];

fn at(pointer: u64, port: u16) -> SocketAddr {
    SocketAddr::new(address::of_pointer(pointer), port)
}

/// A stack with both addresses, whose packets a thread carries as long as they come.
fn carried() -> Arc<Carried> {
    let (carried, packets) = Carried::start().unwrap();
    let carried = Arc::new(carried);
    for pointer in ENDS {
        carried.register(pointer).unwrap();
    }
    let weak = Arc::downgrade(&carried);
    thread::spawn(move || {
        for packet in packets {
            let Some(carried) = weak.upgrade() else { return };
            let [near, far] = ENDS;
            let to = if packet.pointer == near { far } else { near };
            carried.input(to, &packet.content);
        }
    });
    carried
}

fn open(carried: &Carried) -> (Arc<Socket>, OwnedFd) {
    let _entered = carried.runtime.enter();
    let options = Options::new((carried.service.read_settings)("").unwrap());
    Socket::open(&carried.service, (Style::OneToOne, true), 1, options).unwrap()
}

/// A socket that has connected, the one that listens, and the descriptor of the accepted one.
fn connected(carried: &Carried, port: u16) -> ([(Arc<Socket>, OwnedFd); 2], OwnedFd) {
    let (listener, listener_fd) = open(carried);
    listener.bind(&[at(ENDS[1], port)]).unwrap();
    let (client, client_fd) = open(carried);
    client.bind(&[at(ENDS[0], port)]).unwrap();
    carried.runtime.block_on(async {
        listener.listen(1).unwrap();
        client.connect(&[at(ENDS[0], port)], InitMessage::default()).unwrap();
        client.connected().await.unwrap();
    });
    let mut poll = [PollFd::new(&listener_fd, PollFlags::IN)];
    rustix::event::poll(&mut poll, None).unwrap();
    let (_, accepted) = receive_with_annex(listener_fd.as_fd(), &mut [0; HEAD_BYTES]).unwrap();
    ([(client, client_fd), (listener, listener_fd)], accepted.unwrap())
}

#[test]
fn sockets_connect_by_packets_that_the_program_carries() {
    let carried = carried();
    // Both sides have the same port, each at its own address.
    let ([(client, _fd), (listener, _listener_fd)], _accepted) = connected(&carried, 5000);
    let expected = [at(ENDS[0], 5000); 2];
    assert_eq!(client.state().names(), Some(expected));
    assert_eq!(Socket::local_port(&listener.state()), 5000);
    let other = open(&carried);
    assert_eq!(other.0.bind(&[at(ENDS[0], 5000)]), Err(Errno::ADDRINUSE));
}

#[test]
fn garbage_from_many_threads_changes_nothing() {
    let carried = carried();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for seed in 1..=4_u8 {
            let (carried, is_over) = (&carried, &is_over);
            scope.spawn(move || {
                let garbage: Vec<u8> = (0..=255_u8).map(|n| n.wrapping_mul(seed)).collect();
                while !is_over.load(Ordering::Relaxed) {
                    for length in [0, 1, 11, 12, 13, 64, 256] {
                        carried.input(ENDS[usize::from(seed % 2)], &garbage[..length]);
                        carried.input(u64::from(seed), &garbage[..length]);
                    }
                    carried.input(ENDS[0], &vec![seed; MAX_PACKET_BYTES + 1]);
                    thread::yield_now();
                }
            });
        }
        let sockets = connected(&carried, 5000);
        is_over.store(true, Ordering::Relaxed);
        drop(sockets);
    });
}

#[test]
fn a_withdrawn_address_takes_no_sockets_and_its_associations_end_as_they_would() {
    let carried = carried();
    let sockets = connected(&carried, 5000);
    assert!(!carried.is_idle());
    for pointer in ENDS {
        carried.deregister(pointer);
        carried.deregister(pointer);
    }
    let (late, _fd) = open(&carried);
    assert_eq!(late.bind(&[at(ENDS[0], 5001)]), Err(Errno::ADDRNOTAVAIL));
    let refused = late.connect(&[at(ENDS[0], 5001)], InitMessage::default());
    assert_eq!(refused, Err(Errno::ADDRNOTAVAIL));
    // Closing them lets both sides shut down, by packets that still go through.
    drop(sockets);
    while !carried.is_idle() {
        thread::yield_now();
    }
    carried.input(ENDS[0], &[0; 12]);
    // The address may come back, for others.
    for pointer in ENDS {
        carried.register(pointer).unwrap();
    }
    drop(connected(&carried, 5000));
}

#[test]
fn a_socket_that_aborts_is_open_until_its_abort_is_under_way() {
    let (carried, packets) = Carried::start().unwrap();
    for pointer in ENDS {
        carried.register(pointer).unwrap();
    }
    let is_abort = |packet: &Packet| packet.content[12] == 6;
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        // Carries the handshake, and no more once the socket is closed.
        let (carried, is_over) = (&carried, &is_over);
        let carrier = scope.spawn(move || {
            let mut aborts = 0;
            while !is_over.load(Ordering::Acquire) {
                let Ok(packet) = packets.try_recv() else {
                    thread::yield_now();
                    continue;
                };
                aborts += usize::from(is_abort(&packet));
                let to = if packet.pointer == ENDS[0] { ENDS[1] } else { ENDS[0] };
                carried.input(to, &packet.content);
            }
            (aborts, packets)
        });
        let ([(client, fd), _listener], _accepted) = connected(carried, 5000);
        let linger = [1_i32.to_ne_bytes(), 0_i32.to_ne_bytes()].concat();
        let option = (SOL_SOCKET, socket_option::LINGER);
        options::set(&client, option.0, option.1, &linger).unwrap();
        drop(fd);
        while carried.has_socket(client.name.id) {
            thread::yield_now();
        }
        let given = carried.given();
        is_over.store(true, Ordering::Release);
        let (aborts, packets) = carrier.join().unwrap();
        let left = packets.try_iter().filter(is_abort).count();
        assert!(given > 0 && aborts + left == 1, "{aborts} carried, {left} left");
    });
}

#[test]
fn a_socket_without_an_address_has_that_of_its_peer() {
    let carried = carried();
    let any = SocketAddr::new(address::of_pointer(0), 5000);
    let (socket, _fd) = open(&carried);
    socket.bind(&[any]).unwrap();
    assert_eq!(socket.listen(1), Err(Errno::ADDRNOTAVAIL), "which of two is not known");
    let _entered = carried.runtime.enter();
    let wrong = socket.connect(&[at(ENDS[0], 5000), at(ENDS[1], 5000)], InitMessage::default());
    assert_eq!(wrong, Err(Errno::INVAL), "there is one path");
    socket.connect(&[at(ENDS[0], 5000)], InitMessage::default()).unwrap();
    assert_eq!(socket.state().bound_addresses(), [address::of_pointer(ENDS[0])]);
    assert_eq!(Socket::local_port(&socket.state()), 5000);
    carried.deregister(ENDS[0]);
    let (only, _fd) = open(&carried);
    only.bind(&[any]).unwrap();
    only.listen(1).unwrap();
    assert_eq!(only.state().bound_addresses(), [address::of_pointer(ENDS[1])]);
}

/// Types of the parameters of an INIT.
fn parameters(packet: &[u8]) -> Vec<u16> {
    let number = |at: usize| u16::from_be_bytes([packet[at], packet[at + 1]]);
    let (mut types, mut place) = (Vec::new(), 12 + 20);
    while place + 4 <= packet.len() {
        types.push(number(place));
        place += usize::from(number(place + 2)).next_multiple_of(4).max(4);
    }
    types
}

#[test]
fn peers_do_not_learn_the_addresses() {
    let (carried, packets) = Carried::start().unwrap();
    carried.register(ENDS[0]).unwrap();
    let (socket, _fd) = open(&carried);
    {
        let _entered = carried.runtime.enter();
        socket.connect(&[at(ENDS[0], 5000)], InitMessage::default()).unwrap();
    }
    let packet = packets.recv().unwrap();
    assert_eq!((packet.pointer, packet.content[12]), (ENDS[0], 1), "an INIT");
    let types = parameters(&packet.content);
    // IPv4 Address, IPv6 Address.
    assert!(!types.is_empty() && !types.iter().any(|one| [5, 6].contains(one)), "{types:?}");
    let pointer = ENDS[0].to_be_bytes();
    assert!(!packet.content.windows(8).any(|eight| eight == pointer));
}

#[test]
fn the_stack_does_not_wait_for_the_program() {
    let (outgoing, packets) = sync_channel(1);
    let (_sender, incoming) = mpsc::channel(1);
    let given = Arc::new(AtomicU64::new(0));
    let mut layer = Layer { pointer: 7, outgoing, given: Arc::clone(&given), incoming };
    let mut cx = Context::from_waker(Waker::noop());
    for content in ["first", "lost"] {
        assert!(layer.poll_ready(&mut cx).is_ready());
        layer.send(content.into());
    }
    assert_eq!(packets.try_recv().unwrap(), Packet { pointer: 7, content: "first".into() });
    assert!(packets.try_recv().is_err());
    assert_eq!(given.load(Ordering::Relaxed), 1);
    drop(packets);
    assert!(layer.poll_ready(&mut cx).is_ready());
    layer.send("nobody carries it".into());
    assert!(layer.poll_receive(&mut cx).is_pending());
}

/// A question over a connection, as the library asks it.
#[test]
fn questions_are_answered_in_the_process() {
    use std::io::{Read, Write};

    use crate::control::{Operation, Reply, Request};

    let (carried, _packets) = Carried::start().unwrap();
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    carried.attend(theirs).unwrap();
    ours.write_all(&Request::new(Operation::PeerName, 1).encoded()).unwrap();
    let mut length = [0; 4];
    ours.read_exact(&mut length).unwrap();
    let reply = Reply::read(&mut ours, length).unwrap();
    assert_eq!(reply.value, -Errno::NOTCONN.raw_os_error());
}

#[test]
fn the_null_pointer_is_no_address() {
    let (carried, _packets) = Carried::start().unwrap();
    carried.register(0).unwrap();
    assert_eq!(carried.service.network.local_addresses(), Vec::<IpAddr>::new());
    assert!(carried.is_idle());
}
