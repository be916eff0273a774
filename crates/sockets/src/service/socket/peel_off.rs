//! `sctp_peeloff`: an association gets a socket of its own, in the order of what goes either way.
//!
//! RFC 6458 section 9.2 says only that the association is branched off. In Linux, messages that were sent before have gone to the association by
//! then, and what waits to be received moves to the new socket. Here, both may still be in the descriptor:
//!
//! * What the program has written comes before what it writes to the new socket, which is not read until then.
//! * What the program has not read moves to the new descriptor, with notifications.

use std::os::fd::{AsFd, OwnedFd};
use std::pin::pin;
use std::sync::Arc;

use rustix::io::Errno;
use tokio::sync::futures::Notified;

use super::departures::{Departure, Passed};
use super::input::ABANDONED_CHECK;
use super::{Socket, names_of};
use crate::names::Style;

impl Socket {
    /// Takes an association away from the socket, for one of its own. `theirs` is the program's descriptor of this socket: without it, messages
    /// that wait there stay there.
    pub(in crate::service) fn peel_off(
        self: &Arc<Self>,
        id: i32,
        theirs: Option<&OwnedFd>,
    ) -> Result<OwnedFd, Errno> {
        if self.is_one_to_one() {
            return Err(Errno::INVAL);
        }
        let options = self.state().options.clone();
        let kind = (Style::PeeledOff, self.name.is_ipv6);
        let (socket, new) = Self::unread(&self.service, kind, self.process, options)?;
        let moved = self.move_to(&socket, id, theirs);
        // If it cannot be, reading finds the end of the descriptor.
        let (passed, moved) =
            moved.map_or_else(|errno| (None, Err(errno)), |one| (Some(one), Ok(())));
        tokio::spawn(async move {
            if let Some(passed) = passed {
                socket.wait_behind(passed).await;
            }
            socket.read().await;
        });
        moved.map(|()| new)
    }

    /// Gives an association to a socket, which may send when what was written here has passed.
    fn move_to(
        &self,
        socket: &Arc<Self>,
        id: i32,
        theirs: Option<&OwnedFd>,
    ) -> Result<Passed, Errno> {
        // Whoever looks for the socket of an association that ends has this lock.
        let mut state = self.state();
        let link = state.links.get(id).filter(|link| link.is_up()).cloned().ok_or(Errno::INVAL)?;
        let mut peeled = socket.state();
        peeled.names = link.association().and_then(|association| names_of(association));
        peeled.links.insert(&link);
        drop(peeled);
        let theirs = theirs.map(AsFd::as_fd).filter(|fd| self.channel.is_other_end(*fd));
        let move_on = || link.move_to(socket);
        let lost =
            self.channel.hand_over(theirs, &socket.channel, move_on, |head| head.association == id);
        let unread = self.channel.unread();
        let passed = state.departures.add(Arc::clone(&link), Departure::PeeledOff, unread);
        let has_shut_down = state.endings.withdraw(|ending| Arc::ptr_eq(ending, &link));
        let lost: Vec<_> = lost.into_iter().filter_map(|id| state.links.get(id).cloned()).collect();
        state.links.remove(id);
        drop(state);
        if has_shut_down {
            socket.peer_has_shut_down(&link);
        }
        for association in lost.iter().filter_map(|link| link.association()) {
            association.abort("this side has no memory or no descriptors left");
        }
        self.peeled.notify_waiters();
        self.reconfigured.notify_waiters();
        self.ending.notify_one();
        Ok(passed)
    }

    /// Tells when an association gets a socket of its own from now on.
    pub(in crate::service) fn peels_off(&self) -> Notified<'_> {
        self.peeled.notified()
    }

    /// Waits until what was written to the association at its first socket has passed, or its program is gone and wants no more of it.
    async fn wait_behind(&self, mut passed: Passed) {
        let mut passed = pin!(passed.wait());
        loop {
            tokio::select! {
                biased;
                () = &mut passed => return,
                () = tokio::time::sleep(ABANDONED_CHECK) => {
                    if self.state().options.aborts_on_close() && self.channel.is_hung_up() {
                        return;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use rustix::io::Errno;
    use rustix::net::{RecvFlags, SendFlags, recv};

    use super::*;
    use crate::frame::{Head, Kind};
    use crate::init::InitMessage;
    use crate::service::socket::ending::tests::stuck;
    use crate::service::tests::{at, frame, open, service};

    fn write(fd: &OwnedFd, peer: SocketAddr, payload: &[u8]) {
        let head = Head { peer: Some(peer), ..Head::of(Kind::Data) }.encoded();
        rustix::net::send(fd, &[&head[..], payload].concat(), SendFlags::empty()).unwrap();
    }

    fn waiting(fd: &OwnedFd) -> u64 {
        rustix::io::ioctl_fionread(fd).unwrap()
    }

    /// Writes, and waits until it has arrived at a descriptor.
    async fn put(from: &OwnedFd, peer: SocketAddr, payload: &[u8], to: &OwnedFd) {
        let before = waiting(to);
        write(from, peer, payload);
        while waiting(to) == before {
            tokio::task::yield_now().await;
        }
    }

    fn is_empty(fd: &OwnedFd) -> bool {
        recv(fd, &mut [0_u8; 1][..], RecvFlags::DONTWAIT | RecvFlags::PEEK) == Err(Errno::AGAIN)
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn what_was_written_before_goes_first() {
        let (server_fd, client, fd, written) = stuck(Style::OneToMany, "127.0.0.84").await;
        let link = client.state().links().next().cloned().unwrap();
        let new = client.peel_off(link.id, None).unwrap();
        assert_eq!(client.peel_off(link.id, None).map(drop), Err(Errno::INVAL), "it has one");
        for number in written..written + 3 {
            write(&new, at("127.0.0.84:7000"), &number.to_be_bytes());
        }
        drop(fd);
        let (first, content) = frame(&server_fd).await;
        assert_eq!(content[..4], [0; 4]);
        for number in 1..written + 3 {
            let (head, content) = frame(&server_fd).await;
            assert_eq!(content[..4], number.to_be_bytes());
            assert_eq!(head.association, first.association, "it is the same association");
        }
    }

    /// A one-to-many socket with two associations whose peers have sent to it. Gives it, its descriptor, the peers' ones, and the
    /// associations.
    async fn crowded(ip: &str) -> (Arc<Socket>, OwnedFd, [OwnedFd; 2], [i32; 2]) {
        let (service, port) = service(ip);
        let (server, server_fd) = open(&service, Style::OneToMany, port);
        let address = at(&format!("{ip}:7000"));
        server.bind(&[address]).unwrap();
        server.listen(2).unwrap();
        let mut ids = Vec::new();
        let mut fds = Vec::new();
        for number in 0..2_u8 {
            let (client, fd) = open(&service, Style::OneToOne, port);
            client.connect(&[address], InitMessage::default()).unwrap();
            client.connected().await.unwrap();
            write(&fd, address, &[number]);
            let (head, content) = frame(&server_fd).await;
            assert_eq!(content, [number]);
            ids.push(head.association);
            fds.push(fd);
        }
        (server, server_fd, fds.try_into().unwrap(), ids.try_into().unwrap())
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn what_waits_to_be_read_moves() {
        let (server, server_fd, [a, b], [id, other]) = crowded("127.0.0.85").await;
        let peer = at("127.0.0.85:7000");
        // The rest of a large message is not in its frame.
        let large = [9; 150_000];
        put(&a, peer, b"a1", &server_fd).await;
        put(&b, peer, b"b1", &server_fd).await;
        put(&a, peer, &large[..100_000], &server_fd).await;
        put(&b, peer, b"b2", &server_fd).await;
        put(&a, peer, b"a3", &server_fd).await;
        let new = server.peel_off(id, Some(&server_fd)).unwrap();
        put(&a, peer, b"a4", &new).await;
        put(&b, peer, b"b3", &server_fd).await;
        for (fd, id, expected) in [
            (&new, id, [&b"a1"[..], &large[..100_000], b"a3", b"a4"].as_slice()),
            (&server_fd, other, &[&b"b1"[..], b"b2", b"b3"]),
        ] {
            for content in expected {
                let (head, got) = frame(fd).await;
                assert!(got == *content && head.association == id, "{head:?}");
            }
            assert!(is_empty(fd));
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn what_had_no_room_goes_to_the_new_socket() {
        const MESSAGES: u32 = 500;
        let (server, server_fd, [a, b], [id, _]) = crowded("127.0.0.86").await;
        let peer = at("127.0.0.86:7000");
        let writing = tokio::task::spawn_blocking(move || {
            for number in 0..MESSAGES {
                let content = [&number.to_be_bytes()[..], &[7; 9996]].concat();
                write(&a, peer, &content);
            }
            a
        });
        // More than half of what the descriptor holds.
        while waiting(&server_fd) < 400_000 && !writing.is_finished() {
            tokio::task::yield_now().await;
        }
        let new = server.peel_off(id, Some(&server_fd)).unwrap();
        for number in 0..MESSAGES {
            assert_eq!(frame(&new).await.1[..4], number.to_be_bytes());
        }
        put(&b, peer, b"of another", &server_fd).await;
        assert_eq!(frame(&server_fd).await.1, b"of another");
        drop(writing.await.unwrap());
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn no_descriptor_of_another_socket_is_read() {
        let (server, server_fd, [a, b], [id, _]) = crowded("127.0.0.87").await;
        put(&a, at("127.0.0.87:7000"), b"hello", &server_fd).await;
        let (ours, theirs) = rustix::net::socketpair(
            rustix::net::AddressFamily::UNIX,
            rustix::net::SocketType::SEQPACKET,
            rustix::net::SocketFlags::empty(),
            None,
        )
        .unwrap();
        let head = Head { association: id, ..Head::of(Kind::Data) }.encoded();
        rustix::net::send(&ours, &head, SendFlags::empty()).unwrap();
        for wrong in [theirs, b, std::fs::File::open("/dev/zero").unwrap().into()] {
            assert!(!server.channel.is_other_end(wrong.as_fd()));
            let _ = server.peel_off(id, Some(&wrong));
        }
        assert_eq!(frame(&server_fd).await.1, b"hello");
    }
}
