//! Output that never blocks: a bounded queue in front of a writing thread.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, ErrorKind, Write};
use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Makes the remark that replaces a number of dropped pieces, if any.
pub(crate) type Remark = fn(u64) -> Option<String>;

/// Accepts pieces of output without blocking, and passes them to a thread that writes them.
///
/// A pipe without an active reader, or a stopped terminal, blocks its writer: here only the thread. Pieces that do not fit the
/// queue meanwhile are dropped and counted, and the count is reported when the reader is back.
pub(crate) struct Outlet(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    /// Size of the queue in bytes.
    limit: usize,
    remark: Remark,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Vec<u8>>,
    waiting_bytes: usize,
    /// Pieces dropped since the last accepted one.
    left_out: u64,
    /// Whether the thread is writing a piece.
    writing: bool,
    /// Pieces written, including failed attempts.
    written: u64,
    /// The first write error.
    failure: Option<io::Error>,
    /// Whether the input has ended.
    closed: bool,
}

impl Outlet {
    /// Starts a thread that writes to `out`. At most `limit` bytes wait for it, except that a single piece may be larger.
    pub(crate) fn start(
        out: impl Write + Send + 'static,
        limit: usize,
        remark: Remark,
    ) -> io::Result<Self> {
        let (state, changed) = (Mutex::default(), Condvar::new());
        let shared = Arc::new(Shared { state, changed, limit, remark });
        let of_thread = Arc::clone(&shared);
        thread::Builder::new().name("output".to_owned()).spawn(move || of_thread.write(out))?;
        Ok(Self(shared))
    }

    /// Queues a piece, or drops it if the queue is full.
    pub(crate) fn put(&self, piece: Vec<u8>) {
        let mut state = self.0.lock();
        // After a gap, half of the queue must be free first: otherwise every other piece would be a remark.
        let limit = if state.left_out > 0 { self.0.limit / 2 } else { self.0.limit };
        if state.waiting_bytes > 0 && state.waiting_bytes.saturating_add(piece.len()) > limit {
            state.left_out += 1;
            return;
        }
        self.0.remark_gap(&mut state);
        state.push(piece);
        self.0.changed.notify_all();
    }

    /// Waits until everything is written, as long as a piece is written within each `patience`. Returns whether that succeeded.
    pub(crate) fn flush(&self, patience: Duration) -> bool {
        let mut state = self.0.lock();
        while state.is_busy() {
            let written = state.written;
            let wait = self.0.changed.wait_timeout_while(state, patience, |state| {
                state.is_busy() && state.written == written
            });
            let timeout;
            (state, timeout) = wait.unwrap_or_else(PoisonError::into_inner);
            if timeout.timed_out() {
                return false;
            }
        }
        true
    }

    /// The first write error since the last call. A closed pipe is not an error.
    pub(crate) fn take_failure(&self) -> Option<io::Error> {
        self.0.lock().failure.take()
    }
}

impl Drop for Outlet {
    fn drop(&mut self) {
        self.0.lock().closed = true;
        self.0.changed.notify_all();
    }
}

impl fmt::Debug for Outlet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outlet").field("limit", &self.0.limit).finish_non_exhaustive()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues the remark about dropped pieces.
    fn remark_gap(&self, state: &mut State) {
        if state.left_out > 0
            && let Some(remark) = (self.remark)(mem::take(&mut state.left_out))
        {
            state.push(remark.into_bytes());
        }
    }

    /// Writes until the input ends.
    fn write(&self, mut out: impl Write) {
        let mut state = self.lock();
        loop {
            if state.waiting.is_empty() {
                self.remark_gap(&mut state);
            }
            let Some(piece) = state.waiting.pop_front() else {
                if state.closed {
                    return;
                }
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            state.waiting_bytes -= piece.len();
            state.writing = true;
            drop(state);
            let result = out.write_all(&piece).and_then(|()| out.flush());
            state = self.lock();
            state.writing = false;
            state.written += 1;
            if let Err(error) = result
                && error.kind() != ErrorKind::BrokenPipe
            {
                state.failure.get_or_insert(error);
            }
            self.changed.notify_all();
        }
    }
}

impl State {
    fn push(&mut self, piece: Vec<u8>) {
        self.waiting_bytes += piece.len();
        self.waiting.push_back(piece);
    }

    fn is_busy(&self) -> bool {
        self.writing || !self.waiting.is_empty() || self.left_out > 0
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    /// A reader that takes nothing until a test reads.
    struct Pipe(SyncSender<Vec<u8>>);

    impl Write for Pipe {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.send(bytes.to_vec()).map_err(|_| ErrorKind::BrokenPipe)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn outlet(limit: usize) -> (Outlet, Receiver<Vec<u8>>) {
        let (writer, reader) = sync_channel(0);
        let remark = |count| Some(format!("{count} left out"));
        (Outlet::start(Pipe(writer), limit, remark).unwrap(), reader)
    }

    fn text(reader: &Receiver<Vec<u8>>) -> String {
        String::from_utf8(reader.recv().unwrap()).unwrap()
    }

    #[test]
    fn a_reader_that_takes_nothing_blocks_nobody_and_learns_what_it_missed() {
        let (outlet, reader) = outlet(20);
        // The thread blocks on the first piece at some time; all that matters is that this one never does.
        for number in 0..10_000 {
            outlet.put(format!("line {number:05}").into_bytes());
        }
        assert!(!outlet.flush(Duration::from_millis(1)), "nobody reads");
        let (mut read, mut left_out) = (0, 0);
        while read + left_out < 10_000 {
            match text(&reader).strip_suffix(" left out") {
                Some(count) => left_out += count.parse::<u64>().unwrap(),
                None => read += 1,
            }
        }
        assert!((1..=3).contains(&read), "{read}");
        assert!(outlet.flush(LONG));
        outlet.put(b"again".to_vec());
        assert_eq!(text(&reader), "again");
    }

    #[test]
    fn pieces_stay_in_order_and_one_may_be_larger_than_the_queue() {
        let (outlet, reader) = outlet(10);
        outlet.put(vec![b'x'; 1000]);
        assert_eq!(text(&reader).len(), 1000);
        for piece in ["a", "b", "c"] {
            outlet.put(piece.into());
        }
        assert_eq!([(); 3].map(|()| text(&reader)), ["a", "b", "c"]);
        assert!(outlet.flush(LONG));
        assert!(outlet.take_failure().is_none());
    }

    #[test]
    fn a_reader_that_has_gone_is_no_failure_but_a_full_disk_is() {
        let (outlet, reader) = outlet(10);
        drop(reader);
        outlet.put(b"a".to_vec());
        assert!(outlet.flush(LONG));
        assert!(outlet.take_failure().is_none());
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let outlet = Outlet::start(Full, 10, |_| None).unwrap();
        outlet.put(b"a".to_vec());
        assert!(outlet.flush(LONG));
        assert_eq!(outlet.take_failure().unwrap().kind(), ErrorKind::StorageFull);
    }
}
