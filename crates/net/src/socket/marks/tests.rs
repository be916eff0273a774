use super::*;

#[test]
fn dscp_and_ecn_share_a_byte() {
    for (dscp, ecn, byte) in [
        (0, Ecn::NotEct, 0x00),
        (46, Ecn::NotEct, 0xb8),
        (46, Ecn::Ect0, 0xba),
        (10, Ecn::Ect1, 0x29),
        (63, Ecn::Ce, 0xff),
    ] {
        let traffic = TrafficMarks { dscp, flow_label: 0 };
        assert_eq!(Marks { ecn, traffic }.byte(), byte);
        assert_eq!(Marks { ecn, traffic }.has_traffic(), dscp > 0);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn control_messages_are_those_of_the_system() {
    let mut control = linux::Control::new();
    control.push(libc::IPPROTO_IP, libc::IP_TOS, &7_i32.to_ne_bytes());
    control.push(libc::SOL_UDP, libc::UDP_SEGMENT, &1200_u16.to_ne_bytes());
    let bytes = control.bytes();
    let word = |at: usize| i32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap());
    let size = size_of::<usize>();
    let next = size + 8 + size;
    assert_eq!((word(size), word(size + 4), word(size + 8)), (0, libc::IP_TOS, 7));
    assert_eq!((word(next + size), word(next + size + 4)), (libc::SOL_UDP, libc::UDP_SEGMENT));
    let lengths =
        [0, next].map(|at| usize::from_ne_bytes(bytes[at..at + size].try_into().unwrap()));
    assert_eq!((lengths, bytes.len()), ([size + 12, size + 10], 2 * next));
}

/// Packets on the loopback interface, as the receiver's kernel sees them.
#[cfg(target_os = "linux")]
mod received {
    use std::io::IoSliceMut;
    use std::net::{IpAddr, SocketAddr, UdpSocket};
    use std::os::fd::AsRawFd;
    use std::time::Duration;

    use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg};
    use socket2::{Domain, Protocol, SockRef, Socket, Type};

    use super::*;
    use crate::socket::bound::BoundSocket;
    use crate::socket::options;

    /// The byte with DSCP and ECN, and the flow label, of a packet that comes.
    fn marks_of(socket: &impl AsRawFd) -> (u8, u32) {
        let (mut buffer, mut control) = ([0; 2000], nix::cmsg_space!([i32; 16]));
        let (mut buffers, flags) = ([IoSliceMut::new(&mut buffer)], MsgFlags::empty());
        let received =
            recvmsg::<()>(socket.as_raw_fd(), &mut buffers, Some(&mut control), flags).unwrap();
        let (mut byte, mut label) = (None, 0);
        for message in received.cmsgs().unwrap() {
            match message {
                ControlMessageOwned::Ipv4Tos(it) => byte = Some(it),
                ControlMessageOwned::Ipv6TClass(it) => byte = Some(it as u8),
                ControlMessageOwned::Unknown(it)
                    if it.cmsg_header.cmsg_type == libc::IPV6_FLOWINFO =>
                {
                    let word = u32::from_be_bytes(it.data_bytes[..4].try_into().unwrap());
                    label = word & 0xF_FFFF;
                }
                _ => {}
            }
        }
        (byte.expect("the system gives the byte"), label)
    }

    fn report(socket: &SockRef<'_>, family: IpAddr) {
        socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        match family {
            IpAddr::V4(_) => socket.set_recv_tos_v4(true).unwrap(),
            IpAddr::V6(_) => socket.set_recv_tclass_v6(true).unwrap(),
        }
    }

    const MARKS: [(Ecn, u8, u32); 6] = [
        (Ecn::NotEct, 0, 0),
        (Ecn::Ect0, 0, 0),
        (Ecn::Ect0, 46, 0),
        (Ecn::NotEct, 46, 0xA_BCDE),
        (Ecn::Ect0, 10, 1),
        (Ecn::Ect0, 0, 0xF_FFFF),
    ];

    /// Single datagrams, and batches of which the system makes them.
    #[tokio::test]
    async fn datagrams_have_them() {
        for address in ["127.0.9.2", "::1"] {
            let address: IpAddr = address.parse().unwrap();
            let socket = Socket::new(
                Domain::for_address((address, 0).into()),
                Type::DGRAM,
                Some(Protocol::UDP),
            );
            let socket = BoundSocket::bind(socket.unwrap(), address, None, 0).unwrap();
            let receiver = UdpSocket::bind((address, 0)).unwrap();
            report(&SockRef::from(&receiver), address);
            if address.is_ipv6() {
                options::report_flow_labels(&receiver);
            }
            let to = receiver.local_addr().unwrap();
            for (ecn, dscp, flow_label) in MARKS {
                let marks = Marks { ecn, traffic: TrafficMarks { dscp, flow_label } };
                for count in [1, 3] {
                    socket.try_send(to, marks, &vec![7; count * 100], 100).unwrap();
                    for _ in 0..count {
                        let (byte, label) = marks_of(&receiver);
                        assert_eq!(byte, marks.byte(), "{marks:?} to {to}, {count}");
                        // With 0 the system chooses.
                        let is_set = address.is_ipv6() && flow_label != 0;
                        assert!(!is_set || label == flow_label, "{marks:?}: {label:x}");
                    }
                }
            }
        }
    }

    /// The same over IP itself.
    #[tokio::test]
    async fn packets_of_raw_sockets_have_them() {
        for address in ["127.0.9.3", "::1"] {
            let address: IpAddr = address.parse().unwrap();
            // A number for experiments (RFC 3692), so that no other test meets these packets.
            let open = || {
                let domain = Domain::for_address((address, 0).into());
                Socket::new(domain, Type::RAW, Some(Protocol::from(253)))
            };
            let (socket, receiver) = match (open(), open()) {
                (Ok(socket), Ok(receiver)) => (socket, receiver),
                (Err(error), _) | (_, Err(error)) => {
                    let required = std::env::var("POLYPATH_REQUIRE").unwrap_or_default();
                    assert!(!required.split(',').any(|name| name == "net"), "{error}");
                    eprintln!("SKIPPED: raw sockets: {error}");
                    return;
                }
            };
            let socket = BoundSocket::bind(socket, address, None, 0).unwrap();
            receiver.bind(&SocketAddr::new(address, 0).into()).unwrap();
            report(&SockRef::from(&receiver), address);
            for (ecn, dscp, flow_label) in MARKS {
                let marks = Marks { ecn, traffic: TrafficMarks { dscp, flow_label } };
                socket.try_send((address, 0).into(), marks, &[7; 100], 100).unwrap();
                assert_eq!(marks_of(&receiver).0, marks.byte(), "{marks:?} to {address}");
            }
        }
    }
}
