//! What a program can expect that reads: messages, the end, or nothing.
//!
//! As in Linux, a one-to-one socket reads 0 bytes at its end if the peer has shut down, or if the program itself wants to read nothing more.
//! Otherwise, also where the program was the first to shut down, it has no association any more (`ENOTCONN`).

use super::input::ABANDONED_CHECK;
use super::{Socket, State};
use crate::control::outlook;
use crate::frame::shut;
use crate::names::Style;

/// Who has ended what of a one-to-one socket.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) enum Reading {
    /// Nobody.
    #[default]
    Open,
    /// The program has shut down before the peer did.
    Left,
    /// The peer has shut down, or the program reads nothing more.
    Shut,
}

impl Reading {
    /// The peer has shut down.
    pub(super) fn end_by_peer(&mut self) {
        if *self == Self::Open {
            *self = Self::Shut;
        }
    }
}

impl Socket {
    /// The peer has shut down, which the program finds when it has read all. As in Linux, one whose socket was peeled off finds that the association
    /// is gone.
    pub(in crate::service) fn note_end_of_peer(&self, state: &mut State) {
        if self.name.style == Style::OneToOne {
            state.reading.end_by_peer();
        }
    }

    /// The program shuts these [directions](shut) down.
    pub(super) async fn shut(&self, directions: u32) {
        self.state().shut(directions);
        if directions & shut::WRITE != 0 {
            self.leave_all().await;
        }
    }

    /// The same behind the frames that are in the descriptor.
    pub(in crate::service) fn shut_behind(&self, directions: u32) {
        let mut state = self.state();
        state.shut(directions);
        if directions & shut::WRITE != 0 {
            self.end_behind(&mut state);
        }
    }

    /// Waits until the notifications of all associations that have ended are in the descriptor: the program, which found nothing there, looks there
    /// once more. Messages that have arrived since it asked may leave no room for them, and then it does not wait: it reads those next.
    pub(in crate::service) async fn wait_for_farewells(&self) {
        let before = self.channel.given();
        loop {
            let told = self.settled.notified();
            {
                let state = self.state();
                if state.farewells == 0 || state.is_closed || self.channel.given() != before {
                    return;
                }
            }
            tokio::select! {
                () = told => {}
                () = tokio::time::sleep(ABANDONED_CHECK) => {}
            }
        }
    }

    /// Whether something may come.
    pub(super) fn expects(&self, state: &State) -> bool {
        // Those that are being set up are among them until they have failed.
        !state.links.is_empty() || self.is_listening_now(state) && !self.is_one_to_one()
    }

    /// What can be expected where nothing lies in the descriptor; `is_over` if that says that nothing comes. If an `association` is named, not
    /// 0, it is what can be expected of that.
    pub(in crate::service) fn outlook(&self, is_over: bool, association: i32) -> i32 {
        let state = self.state();
        if association != 0 {
            let is_there = state.link(self, association).is_some();
            return if is_there { outlook::OPEN } else { outlook::ALONE };
        }
        if state.reading == Reading::Shut {
            outlook::END
        } else if self.expects(&state) && !is_over {
            outlook::OPEN
        } else {
            outlook::ALONE
        }
    }
}

impl State {
    fn shut(&mut self, directions: u32) {
        if directions & shut::READ != 0 {
            self.reading = Reading::Shut;
        } else if directions & shut::WRITE != 0 && self.reading == Reading::Open {
            self.reading = Reading::Left;
        }
        self.refuses |= directions & shut::WRITE != 0;
    }
}

#[cfg(test)]
mod tests {
    use crate::control::outlook::{ALONE, END, OPEN};
    use crate::frame::{Head, Kind, shut};
    use crate::init::InitMessage;
    use crate::names::Style;
    use crate::service::socket::ending::tests::accepted;
    use crate::service::tests::{at, open, service};

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_socket_without_associations_expects_nothing_unless_it_listens() {
        let (service, port) = service("127.0.0.90");
        for style in [Style::OneToOne, Style::OneToMany] {
            let (socket, _fd) = open(&service, style, port);
            assert_eq!(socket.outlook(false, 0), ALONE);
            socket.bind(&[at("127.0.0.90:0")]).unwrap();
            socket.listen(1).unwrap();
            let expected = if style == Style::OneToMany { OPEN } else { ALONE };
            assert_eq!(socket.outlook(false, 0), expected);
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn an_answer_waits_for_a_farewell_unless_messages_are_in_its_way() {
        let (service, port) = service("127.0.0.92");
        let (socket, _fd) = open(&service, Style::OneToMany, port);
        socket.state().farewells = 1;
        let waiting = socket.wait_for_farewells();
        let coming = async {
            // It is asked first.
            tokio::task::yield_now().await;
            socket.channel.give(&Head::of(Kind::Data), &[b"a message"]).await.unwrap();
        };
        tokio::join!(waiting, coming);
        assert_eq!(socket.state().farewells, 1);
        assert_eq!(socket.outlook(false, 0), ALONE);
        // Without a message in its way, it is waited for.
        let waiting = socket.wait_for_farewells();
        let told = async {
            tokio::task::yield_now().await;
            socket.has_told_the_end();
        };
        tokio::join!(waiting, told);
        assert_eq!(socket.state().farewells, 0);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn who_shuts_down_first_is_not_told_of_an_end() {
        let (service, port) = service("127.0.0.91");
        let (listener, listener_fd) = open(&service, Style::OneToOne, port);
        let address = at("127.0.0.91:7000");
        listener.bind(&[address]).unwrap();
        listener.listen(1).unwrap();
        let (client, fd) = open(&service, Style::OneToOne, port);
        client.connect(&[address], InitMessage::default()).unwrap();
        assert_eq!(client.outlook(false, 0), OPEN, "it begins");
        client.connected().await.unwrap();
        let server_fd = accepted(&listener_fd);
        let server = crate::service::tests::accepted_at(&service, address).await;
        let head = Head { value: shut::WRITE, ..Head::of(Kind::Shutdown) };
        rustix::net::send(&fd, &head.encoded(), rustix::net::SendFlags::empty()).unwrap();
        let read = |fd: &std::os::fd::OwnedFd| {
            let fd = fd.try_clone().unwrap();
            tokio::task::spawn_blocking(move || {
                let flags = rustix::net::RecvFlags::empty();
                rustix::net::recv(&fd, &mut [0_u8; 1][..], flags).unwrap().0
            })
        };
        assert_eq!(read(&server_fd).await.unwrap(), 0);
        assert_eq!(read(&fd).await.unwrap(), 0);
        assert_eq!((server.outlook(true, 0), client.outlook(true, 0)), (END, ALONE));
        // A program that reads nothing more has its end.
        client.shut(shut::READ).await;
        assert_eq!(client.outlook(true, 0), END);
    }
}
