//! Readers beside others, which take frames between two steps of theirs.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use polypath_sockets::board::posted;
use polypath_sockets::control::Reply;
use polypath_sockets::names::{SocketName, Style};

use super::*;
use crate::frames::send_frame;
use crate::testing::{Board, answer_by, answer_with, between_looks, named, pair, pass, put, steal};

/// What a reader gets: the bytes, or the end.
type Read = Outcome<Option<(Vec<u8>, c_int)>>;

fn read_by(socket: Sctp, room: usize, flags: c_int) -> Read {
    let mut buffer = vec![0_u8; room];
    let part = iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: room };
    // SAFETY: so many bytes are there.
    let received = unsafe { receive_if_connected(socket, &[part], flags) }?;
    Ok(received.map(|received| {
        buffer.truncate(received.bytes);
        (buffer, received.flags)
    }))
}

fn message(content: &[u8]) -> Read {
    Ok(Some((content.to_vec(), libc::MSG_EOR)))
}

const ALONE: Read = Err(Fault(libc::ENOTCONN));

/// A reader of this socket waits no longer than for so many microseconds: one that waits where nothing comes gets `EAGAIN`.
fn limit(socket: Sctp, micros: libc::suseconds_t) {
    limit_by(socket, libc::timeval { tv_sec: 0, tv_usec: micros });
}

fn limit_by(socket: Sctp, limit: libc::timeval) {
    let (place, length) = ((&raw const limit).cast(), size_of_val(&limit) as libc::socklen_t);
    // SAFETY: the structure lives longer than the call.
    let done = unsafe {
        let option = (libc::SOL_SOCKET, libc::SO_RCVTIMEO);
        crate::real::setsockopt(socket.fd, option.0, option.1, place, length)
    };
    assert_eq!(done, 0);
}

#[test]
fn a_reader_that_has_waited_does_not_wait_anew() {
    use std::cell::Cell;
    use std::time::Instant;
    let (ours, _theirs, socket) = pair(0xFFF9_0001);
    let hours = |hours: u64| Duration::from_secs(hours * 3600);
    let seconds = libc::timeval { tv_sec: 3600, tv_usec: 0 };
    limit_by(socket, seconds);
    let patience = Patience::begun(Instant::now().checked_sub(hours(2)).unwrap());
    assert_eq!(patience.look(socket.fd, 0), Err(Fault(libc::EAGAIN)));
    // What is there is seen all the same, and what comes meanwhile.
    let patience = Patience::begun(Instant::now());
    let come = Cell::new(0);
    let put_one = |look| {
        come.set(look);
        if look == 1 {
            put(&ours, Kind::Data, 1, b"m");
        }
    };
    let seen = between_looks(socket.fd, |_| {}, put_one, || patience.look(socket.fd, 0));
    assert_eq!(seen.map(|seen| seen.map(|(head, _)| head.number)), Ok(Some(1)));
    assert_eq!(come.get(), 2);
}

/// `SO_ERROR` as the service answers it: once.
fn error_once(error: &AtomicI32) -> (i32, Vec<u8>) {
    (0, error.swap(0, Ordering::Relaxed).to_ne_bytes().to_vec())
}

/// The service says that nothing comes, and that this error has happened.
fn answer_alone(socket: Sctp, error: c_int) {
    let error = AtomicI32::new(error);
    answer_by(socket.id, move |operation| match operation {
        Operation::Outlook => (outlook::ALONE, Vec::new()),
        Operation::GetOption => error_once(&error),
        _ => (-libc::ENOTCONN, Vec::new()),
    });
}

fn end_of(ours: &OwnedFd) {
    // SAFETY: the arguments are numbers.
    unsafe { crate::real::shutdown(ours.as_raw_fd(), libc::SHUT_WR) };
}

#[test]
fn no_reader_waits_behind_a_frame_that_another_one_takes() {
    for look in 1..8 {
        for kind in [Kind::Fault, Kind::Data] {
            let (ours, theirs, socket) = pair(0xFFF0_0000 | (look as u64) << 8 | kind as u64);
            answer_alone(socket, 0);
            limit(socket, 300_000);
            put(&ours, kind, 1, b"m");
            let take = |now| {
                if now == look {
                    steal(&theirs);
                }
            };
            let read = || read_by(socket, 9, 0);
            let read = between_looks(socket.fd, |_| {}, take, read);
            let is_there = kind == Kind::Data && look > 1;
            assert_eq!(read, if is_there { message(b"m") } else { ALONE }, "{kind:?} {look}");
        }
    }
}

/// A socket whose board a test writes, with a service that says when an attempt to connect is over.
fn posted_socket(board: &Arc<Board>, slot: u32, id: u64) -> (OwnedFd, OwnedFd, Sctp) {
    let place = board.place(slot);
    let name = SocketName { id, style: Style::OneToOne, is_ipv6: false, is_carried: false, place };
    board.write(slot, posted::EXPECTS, id);
    let (ours, theirs, socket) = named(name);
    let theirs_too = Arc::clone(board);
    answer_with(id, move |request| {
        let flags = match request.operation {
            Operation::Board => return (Reply::value(0), Some(theirs_too.descriptor())),
            Operation::Outlook => facts::posted(socket).map_or(0, |posted| posted.flags),
            Operation::GetOption => {
                return (Reply { value: 0, bytes: vec![0; 4] }, None);
            }
            Operation::Settle => return (Reply::value(0), None),
            _ => return (Reply::value(-libc::ENOTCONN), None),
        };
        let is_alone = flags & posted::EXPECTS == 0;
        (Reply::value(if is_alone { outlook::ALONE } else { outlook::OPEN }), None)
    });
    facts::look(socket);
    assert!(facts::expects(socket));
    limit(socket, 300_000);
    (ours, theirs, socket)
}

#[test]
fn no_reader_waits_for_an_attempt_that_has_failed_since() {
    let board = Arc::new(Board::new(0xFFF1_0000));
    // Before its first look, and another reader takes the frame that says so.
    let (ours, theirs, socket) = posted_socket(&board, 1, 0xFFF1_0001);
    let fail = |look| {
        if look == 1 {
            board.write(1, 0, socket.id);
            put(&ours, Kind::Fault, 1, b"");
        }
    };
    let take = |look| {
        if look == 1 {
            steal(&theirs);
        }
    };
    assert_eq!(between_looks(socket.fd, fail, take, || read_by(socket, 9, 0)), ALONE);
    // After it has waited for an attempt, and another one was begun.
    let (_ours, _theirs, socket) = posted_socket(&board, 2, 0xFFF1_0002);
    let fail = |look| {
        if look == 2 {
            board.write(2, 0, socket.id);
        }
    };
    assert_eq!(between_looks(socket.fd, fail, |_| {}, || read_by(socket, 9, 0)), ALONE);
    // One that succeeds brings messages.
    let (ours, _theirs, socket) = posted_socket(&board, 3, 0xFFF1_0003);
    let succeed = |look| {
        if look == 3 {
            board.write(3, posted::EXPECTS | posted::CONNECTED, socket.id);
            put(&ours, Kind::Data, 1, b"m");
        }
    };
    let read = between_looks(socket.fd, |_| {}, succeed, || read_by(socket, 9, 0));
    assert_eq!(read, message(b"m"));
}

#[test]
fn a_reader_waits_once_for_as_long_as_it_may() {
    let board = Arc::new(Board::new(0xFFF2_0000));
    let (_ours, _theirs, socket) = posted_socket(&board, 1, 0xFFF2_0001);
    limit(socket, 1);
    // The attempt succeeds while the reader waits for it, and nothing more comes.
    let looks = std::cell::Cell::new(0);
    let succeed = |look| {
        looks.set(look);
        board.write(1, posted::EXPECTS | posted::CONNECTED, socket.id);
    };
    let read = between_looks(socket.fd, |_| {}, succeed, || read_by(socket, 9, 0));
    assert_eq!(read, Err(Fault(libc::EAGAIN)));
    assert!(looks.get() <= 2);
}

#[test]
fn a_reader_hears_of_an_abort_whose_frame_comes_in_place_of_a_message() {
    let (ours, theirs, socket) = pair(0xFFF3_0001);
    let error = Arc::new(AtomicI32::new(libc::ECONNRESET));
    let answer = Arc::clone(&error);
    answer_by(socket.id, move |operation| match operation {
        Operation::Outlook => (outlook::ALONE, Vec::new()),
        Operation::GetOption => error_once(&answer),
        _ => (0, Vec::new()),
    });
    for flags in [libc::MSG_DONTWAIT, 0] {
        error.store(libc::ECONNRESET, Ordering::Relaxed);
        put(&ours, Kind::Data, 1, b"last");
        put(&ours, Kind::Fault, 2, b"");
        let take = |look| {
            if look == 1 {
                steal(&theirs);
            }
        };
        let read = between_looks(socket.fd, |_| {}, take, || read_by(socket, 9, flags));
        assert_eq!(read, Err(Fault(libc::ECONNRESET)));
    }
    end_of(&ours);
    assert_eq!(read_by(socket, 9, libc::MSG_DONTWAIT), Ok(None));
    // Another process has taken the frame, and ended.
    error.store(libc::ECONNRESET, Ordering::Relaxed);
    assert_eq!(read_by(socket, 9, 0), Err(Fault(libc::ECONNRESET)));
    assert_eq!(read_by(socket, 9, 0), ALONE);
}

#[test]
fn what_comes_in_place_of_a_message_is_read() {
    let (ours, theirs, socket) = pair(0xFFF4_0001);
    let flags = libc::MSG_DONTWAIT;
    let take = |look| {
        if look == 1 {
            steal(&theirs);
        }
    };
    let beside =
        |room, flags| between_looks(socket.fd, |_| {}, take, || read_by(socket, room, flags));
    // All of it, where there is room.
    put(&ours, Kind::Data, 1, b"first");
    put(&ours, Kind::Data, 2, b"second");
    assert_eq!(beside(9, flags), message(b"second"));
    assert!(!rests::has(socket.id));
    // A part of it, and the rest next.
    put(&ours, Kind::Data, 3, b"x");
    put(&ours, Kind::Data, 4, b"fourth");
    put(&ours, Kind::Data, 5, b"fifth");
    assert_eq!(beside(4, flags), Ok(Some((b"four".to_vec(), 0))));
    assert_eq!(read_by(socket, 9, flags), message(b"th"));
    // The message in front was read in part.
    assert_eq!(read_by(socket, 2, flags), Ok(Some((b"fi".to_vec(), 0))));
    put(&ours, Kind::Data, 6, b"sixth");
    assert_eq!(beside(9, flags), message(b"sixth"));
    assert!(!places::has(socket.id) || places::of(socket.id, 6) == 0);
    // Nothing is there any more.
    put(&ours, Kind::Data, 7, b"seventh");
    assert_eq!(beside(9, flags), Err(Fault(libc::EAGAIN)));
    // A look that leaves it there.
    put(&ours, Kind::Data, 8, b"eighth");
    put(&ours, Kind::Data, 9, b"ninth");
    assert_eq!(beside(9, flags | libc::MSG_PEEK), message(b"ninth"));
    assert_eq!(read_by(socket, 9, flags), message(b"ninth"));
}

#[test]
fn a_large_message_is_whole_or_an_error() {
    let (ours, theirs, socket) = pair(0xFFF5_0001);
    let annex = annex::with(&[b"rest"]).unwrap();
    let file = std::fs::File::open("/proc/self/exe").unwrap();
    let head = |number| Head { number, rest: 4, ..Head::of(Kind::Data) };
    let take = |look| {
        if look == 1 {
            steal(&theirs);
        }
    };
    for (room, flags) in [(64, libc::MSG_DONTWAIT), (5, libc::MSG_DONTWAIT)] {
        put(&ours, Kind::Data, 1, b"x");
        pass(&ours, &head(2), b"front ", &[&annex]);
        let mut all = Vec::new();
        let mut got = between_looks(socket.fd, |_| {}, take, || read_by(socket, room, flags));
        while let Ok(Some((bytes, flags))) = got {
            all.extend(bytes);
            if flags == libc::MSG_EOR {
                break;
            }
            got = read_by(socket, room, libc::MSG_DONTWAIT);
        }
        assert_eq!(all, b"front rest");
    }
    for (passed, fault) in [(None, libc::EMFILE), (Some(&file), libc::EPROTO)] {
        for is_in_place in [true, false] {
            for room in [64, 5] {
                put(&ours, Kind::Data, 1, b"xxxxxxxxxxx");
                match passed {
                    Some(file) => pass(&ours, &head(2), b"front ", &[file]),
                    None => pass(&ours, &head(2), b"front ", &[]),
                }
                let read = || read_by(socket, room, libc::MSG_DONTWAIT);
                let got = match is_in_place {
                    true => between_looks(socket.fd, |_| {}, take, read),
                    false => {
                        steal(&theirs);
                        read()
                    }
                };
                assert_eq!(got, Err(Fault(fault)), "{is_in_place} {room}");
                if !is_in_place && fault == libc::EMFILE {
                    assert_eq!(read(), got, "it is still there");
                }
                steal(&theirs);
            }
        }
    }
}

#[test]
fn descriptors_that_nobody_asked_for_are_closed() {
    use std::io::Read as _;
    let (ours, _theirs, socket) = pair(0xFFF6_0001);
    let (mut reader, writer) = std::io::pipe().unwrap();
    // SAFETY: this command takes a number.
    unsafe { libc::fcntl(reader.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
    for number in 1..4 {
        let head = Head { number, ..Head::of(Kind::Data) };
        pass(&ours, &head, b"m", &[&writer, &writer, &writer, &writer]);
    }
    drop(writer);
    for flags in [libc::MSG_PEEK, 0, 0] {
        assert_eq!(read_by(socket, 9, flags | libc::MSG_DONTWAIT), message(b"m"));
    }
    assert!(matches!(rests::discard(socket, 3), Ok(Discarded::Done)));
    assert_eq!(reader.read(&mut [0]).unwrap(), 0, "none is left");
}

#[test]
fn a_frame_that_names_no_error_is_none() {
    for (value, expected) in [(0, Err(Fault(libc::EAGAIN))), (1 << 31, Err(Fault(libc::EAGAIN)))]
        .into_iter()
        .chain([(4096, Err(Fault(libc::EAGAIN))), (104, Err(Fault(libc::ECONNRESET)))])
    {
        let (ours, _theirs, socket) = pair(0xFFF7_0000 | u64::from(value));
        // As where the service cannot be asked.
        answer_by(socket.id, |_| (-libc::ENETDOWN, Vec::new()));
        let head = Head { value, number: 1, ..Head::of(Kind::Fault) };
        send_frame(ours.as_raw_fd(), &head, &[], 0).unwrap();
        assert_eq!(read_by(socket, 9, libc::MSG_DONTWAIT), expected, "{value}");
    }
}

#[test]
fn a_name_starts_no_stack() {
    let name = SocketName {
        id: 0xFFF8_0001,
        style: Style::OneToOne,
        is_ipv6: true,
        is_carried: true,
        place: polypath_sockets::board::Place { board: 7, slot: 1 },
    };
    let (_ours, _theirs, socket) = named(name);
    assert_eq!(read_by(socket, 9, libc::MSG_DONTWAIT), Err(Fault(libc::EAGAIN)));
    assert_eq!(crate::stack::reach().map(drop), Err(Fault(libc::ENETDOWN)));
}
