//! How long a call waits that receives: no longer than `SO_RCVTIMEO` says, however often and for whatever it waits.

use std::cell::Cell;
use std::time::{Duration, Instant};

use libc::c_int;
use polypath_sockets::frame::Head;

use crate::fault::{Fault, Outcome};
use crate::frames::look;
use crate::real;

/// When a call began to wait.
#[derive(Default)]
pub(crate) struct Patience(Cell<Option<Instant>>);

impl Patience {
    #[cfg(test)]
    pub(crate) fn begun(at: Instant) -> Self {
        Self(Cell::new(Some(at)))
    }

    /// What is left of `SO_RCVTIMEO` from the first question on; `None` if there is no limit.
    pub(crate) fn left(&self, fd: c_int) -> Option<Duration> {
        let begun = self.0.get().unwrap_or_else(Instant::now);
        self.0.set(Some(begun));
        limit(fd).map(|limit| limit.saturating_sub(begun.elapsed()))
    }

    /// Looks at the next frame as [`look`] does.
    pub(crate) fn look(&self, fd: c_int, flags: c_int) -> Outcome<Option<(Head, usize)>> {
        if flags & libc::MSG_DONTWAIT != 0 {
            return look(fd, flags);
        }
        if self.0.get().is_none() {
            // The system counts.
            self.0.set(Some(Instant::now()));
            return look(fd, flags);
        }
        while let Some(left) = self.left(fd) {
            match look(fd, flags | libc::MSG_DONTWAIT) {
                Err(Fault(libc::EAGAIN)) if !left.is_zero() => wait(fd, left)?,
                seen => return seen,
            }
        }
        look(fd, flags)
    }
}

/// `SO_RCVTIMEO`, if it is set.
fn limit(fd: c_int) -> Option<Duration> {
    let mut limit = libc::timeval { tv_sec: 0, tv_usec: 0 };
    let mut length = size_of::<libc::timeval>() as libc::socklen_t;
    let place = (&raw mut limit).cast();
    // SAFETY: the structure and its length live longer than the call.
    unsafe { real::getsockopt(fd, libc::SOL_SOCKET, libc::SO_RCVTIMEO, place, &raw mut length) };
    let [seconds, micros] =
        [limit.tv_sec, limit.tv_usec].map(|number| u64::try_from(number).unwrap_or(0));
    let limit = Duration::from_secs(seconds).saturating_add(Duration::from_micros(micros));
    (!limit.is_zero()).then_some(limit)
}

/// Waits until something may lie there. As of all calls with a time limit, every signal that is handled ends it.
pub(crate) fn wait(fd: c_int, limit: Duration) -> Outcome<()> {
    let mut entry = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    let limit = libc::timespec {
        tv_sec: libc::time_t::try_from(limit.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: libc::c_long::from(limit.subsec_nanos().cast_signed()),
    };
    // SAFETY: there is one entry; a null pointer stands for no mask.
    let ready = unsafe { libc::ppoll(&raw mut entry, 1, &raw const limit, std::ptr::null()) };
    if ready < 0 { Err(Fault::last()) } else { Ok(()) }
}
