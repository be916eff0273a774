//! Associations that their peers shut down: what the program had written by then is still sent, and then they end.
//!
//! A message is in the descriptor before the association has it. A SHUTDOWN that arrives in between must not get ahead of it, so
//! associations of sockets answer it on request only ([`ShutdownAnswer::OnRequest`](polypath::ShutdownAnswer)).

use std::sync::Arc;

use super::{Socket, State};
use crate::service::link::{Link, Outgoing};

/// Associations that end, each with the bytes of frames in the descriptor that come before.
#[derive(Debug)]
pub(super) struct Endings<T>(Vec<(T, usize)>);

impl<T> Endings<T> {
    pub(super) const NONE: Self = Self(Vec::new());

    fn add(&mut self, ending: T, unread: usize) {
        self.0.push((ending, unread));
    }

    /// A frame of so many bytes was taken out of the descriptor.
    pub(super) fn taken(&mut self, size: usize) {
        for (_, left) in &mut self.0 {
            *left = left.saturating_sub(size);
        }
    }

    /// Takes those back that `are_meant`; whether there were any.
    pub(super) fn withdraw(&mut self, are_meant: impl Fn(&T) -> bool) -> bool {
        self.0.extract_if(.., |(ending, _)| are_meant(ending)).count() > 0
    }

    /// Those with nothing before them any more.
    fn due(&mut self) -> Vec<T> {
        self.0.extract_if(.., |(_, left)| *left == 0).map(|(ending, _)| ending).collect()
    }
}

impl Socket {
    /// The peer sends nothing more, and wants nothing more than what the program has written so far. False if the association is not of this
    /// socket any more.
    pub(in crate::service) fn peer_has_shut_down(&self, link: &Arc<Link>) -> bool {
        let mut state = self.state();
        if !state.links.get(link.id).is_some_and(|own| Arc::ptr_eq(own, link)) {
            return false;
        }
        if self.is_one_to_one() {
            // From now on writing fails.
            state.refuses = true;
            self.note_end_of_peer(&mut state);
        }
        let unread = self.channel.unread();
        state.endings.add(Arc::clone(link), unread);
        drop(state);
        self.ending.notify_one();
        true
    }

    /// All associations end behind what is in the descriptor.
    pub(super) fn end_behind(&self, state: &mut State) {
        let unread = self.channel.unread();
        for link in state.links.values() {
            state.endings.add(Arc::clone(link), unread);
        }
        self.ending.notify_one();
    }

    /// Ends the associations whose last message is on its way.
    pub(super) async fn end_due(&self) {
        let due = self.state().endings.due();
        for link in due {
            link.enqueue(Outgoing::End).await;
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::os::fd::OwnedFd;

    use rustix::io::Errno;
    use rustix::net::SendFlags;

    use super::*;
    use crate::abi::{SOL_SOCKET, socket_option};
    use crate::board::posted;
    use crate::frame::{Head, Kind};
    use crate::init::InitMessage;
    use crate::names::Style;
    use crate::service::options;
    use crate::service::tests::{at, frame, open, service};

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_full_descriptor_is_shut_down_behind_what_is_in_it() {
        let (listener_fd, client, fd, written) = stuck(Style::OneToOne, "127.0.0.78").await;
        let server_fd = accepted(&listener_fd);
        client.shut_behind(crate::frame::shut::WRITE);
        assert!(client.state().posted.flags() & posted::REFUSES != 0);
        all_arrive(&server_fd, written).await;
        let read = tokio::task::spawn_blocking(move || {
            rustix::net::recv(&server_fd, &mut [0_u8; 1][..], rustix::net::RecvFlags::empty())
        });
        assert_eq!(read.await.unwrap().unwrap().0, 0, "the end comes behind all messages");
        // The program has the socket all the while.
        drop(fd);
    }

    #[test]
    fn an_association_ends_behind_the_frames_that_were_there() {
        let mut endings = Endings::NONE;
        endings.add('a', 100);
        endings.taken(60);
        endings.add('b', 50);
        assert_eq!(endings.due(), []);
        endings.taken(40);
        assert_eq!(endings.due(), ['a']);
        endings.taken(40);
        endings.add('c', 0);
        assert_eq!(endings.due(), ['b', 'c']);
        assert_eq!(endings.due(), []);
        endings.add('d', 0);
        assert!(endings.withdraw(|ending| *ending == 'd'));
        assert!(!endings.withdraw(|ending| *ending == 'd'));
        assert_eq!(endings.due(), []);
    }

    /// Connects a socket to one that takes in little, and writes until messages wait everywhere. Gives both descriptors, how many
    /// messages were written, and the client's socket.
    pub(in crate::service::socket) async fn stuck(
        style: Style,
        ip: &str,
    ) -> (OwnedFd, Arc<Socket>, OwnedFd, u32) {
        let (service, port) = service(ip);
        let small = 20_000_i32.to_ne_bytes();
        let (server, server_fd) = open(&service, style, port);
        options::set(&server, SOL_SOCKET, socket_option::RCVBUF, &small).unwrap();
        let peer = at(&format!("{ip}:7000"));
        server.bind(&[peer]).unwrap();
        server.listen(1).unwrap();
        let (client, fd) = open(&service, style, port);
        options::set(&client, SOL_SOCKET, socket_option::SNDBUF, &small).unwrap();
        client.connect(&[peer], InitMessage::default()).unwrap();
        client.connected().await.unwrap();
        let link = client.state().links().next().cloned().unwrap();
        let association = link.association().unwrap();
        let head = Head { peer: Some(peer), ..Head::of(Kind::Data) }.encoded();
        let mut written = 0_u32;
        loop {
            let bytes = [&head[..], &written.to_be_bytes(), &[7; 9996]].concat();
            let stats = association.stats();
            let is_stuck = stats.peer_window_bytes < 10_000 && stats.send_buffer_bytes > 10_000;
            match rustix::net::send(&fd, &bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
                Err(Errno::AGAIN) if is_stuck => break,
                Err(Errno::AGAIN) => tokio::task::yield_now().await,
                sent => {
                    assert_eq!(sent, Ok(bytes.len()));
                    written += 1;
                }
            }
        }
        (server_fd, client, fd, written)
    }

    /// The descriptor of the next socket that waits at one that listens.
    pub(in crate::service::socket) fn accepted(listener: &OwnedFd) -> OwnedFd {
        let mut byte = [0_u8; 256];
        let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = rustix::net::RecvAncillaryBuffer::new(&mut space);
        let mut parts = [std::io::IoSliceMut::new(&mut byte)];
        let flags = rustix::net::RecvFlags::empty();
        rustix::net::recvmsg(listener, &mut parts, &mut ancillary, flags).unwrap();
        let found = ancillary.drain().find_map(|item| match item {
            rustix::net::RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
            _ => None,
        });
        found.expect("a descriptor")
    }

    async fn all_arrive(fd: &OwnedFd, written: u32) {
        for number in 0..written {
            assert_eq!(frame(fd).await.1[..4], number.to_be_bytes());
        }
    }

    /// Waits until the association of a socket knows that its peer shuts down.
    async fn is_shut_down(client: &Arc<Socket>) {
        let link = client.state().links().next().cloned().unwrap();
        link.association().unwrap().shut_by_peer().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn what_was_written_before_the_peer_shut_down_arrives() {
        let (server_fd, client, fd, written) = stuck(Style::OneToMany, "127.0.0.78").await;
        let end = Head { flags: crate::abi::flag::EOF, ..Head::of(Kind::Data) };
        let (first, _) = frame(&server_fd).await;
        let end = Head { association: first.association, ..end }.encoded();
        rustix::net::send(&server_fd, &end, SendFlags::empty()).unwrap();
        is_shut_down(&client).await;
        for number in 1..written {
            assert_eq!(frame(&server_fd).await.1[..4], number.to_be_bytes());
        }
        while client.state().links().next().is_some() {
            tokio::task::yield_now().await;
        }
        drop(fd);
    }

    /// An association that its peer shuts down lives on while messages wait, and may be given a socket of its own meanwhile.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_socket_of_an_association_that_ends_hears_of_the_end() {
        let (server_fd, client, fd, written) = stuck(Style::OneToMany, "127.0.0.83").await;
        let end = Head { flags: crate::abi::flag::EOF, ..Head::of(Kind::Data) };
        let (first, _) = frame(&server_fd).await;
        let end = Head { association: first.association, ..end }.encoded();
        rustix::net::send(&server_fd, &end, SendFlags::empty()).unwrap();
        is_shut_down(&client).await;
        let id = client.state().links().next().unwrap().id;
        let theirs = client.peel_off(id, None).unwrap();
        assert_eq!(
            client.peel_off(id, None).map(drop),
            Err(Errno::INVAL),
            "it is another socket's"
        );
        for number in 1..written {
            assert_eq!(frame(&server_fd).await.1[..4], number.to_be_bytes());
        }
        let read = tokio::task::spawn_blocking(move || {
            rustix::net::recv(&theirs, &mut [0_u8; 1][..], rustix::net::RecvFlags::empty())
        });
        assert_eq!(read.await.unwrap().unwrap().0, 0, "the association has ended");
        drop(fd);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_program_is_told_that_it_writes_too_late() {
        let (listener_fd, client, fd, written) = stuck(Style::OneToOne, "127.0.0.79").await;
        let server_fd = accepted(&listener_fd);
        let end = Head { value: crate::frame::shut::WRITE, ..Head::of(Kind::Shutdown) }.encoded();
        rustix::net::send(&server_fd, &end, SendFlags::empty()).unwrap();
        is_shut_down(&client).await;
        let refuses = |socket: &Socket| socket.state().posted.flags() & posted::REFUSES != 0;
        // The task that refuses hears of the SHUTDOWN as this test does.
        while !refuses(&client) {
            tokio::task::yield_now().await;
        }
        all_arrive(&server_fd, written).await;
        let read = tokio::task::spawn_blocking(move || {
            rustix::net::recv(&server_fd, &mut [0_u8; 1][..], rustix::net::RecvFlags::empty())
        });
        assert_eq!(read.await.unwrap().unwrap().0, 0, "the association has ended");
        // The program still has the socket, and may ask what it was.
        assert!(refuses(&client) && client.service.socket(client.name.id).is_some());
        assert!(client.state().names().is_some());
        let id = client.name.id;
        drop(fd);
        while client.service.socket(id).is_some() {
            tokio::task::yield_now().await;
        }
    }
}
