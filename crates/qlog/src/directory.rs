//! A folder of traces, written by its own thread.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use polypath_proto::{Instant, Probe, ProbeEvent};

use crate::error::{OpenError, WriteError};
use crate::trace::{self, TraceHeader, TraceWriter};

/// Events that may wait to be written: a few megabytes.
const WAITING: usize = 1 << 16;

/// What happens to events that come faster than they can be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WhenFull {
    /// They are left out and counted, so that the protocol never waits. For real networks.
    LeaveOut,
    /// The caller waits. For simulations, where virtual time stands still meanwhile.
    Wait,
}

/// How much a folder of traces takes, whoever begins the associations. What comes after that is in no trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Traces that are begun.
    pub traces: u64,
    /// Bytes of all traces. The last event and the headers of traces may exceed it.
    pub bytes: u64,
}

impl Limits {
    /// No limits, for associations that only the user begins.
    pub const NONE: Self = Self { traces: u64::MAX, bytes: u64::MAX };
}

/// A folder that traces are written to, a file for each association.
///
/// A thread writes the files. An error of writing ends its trace and nothing else; [`finish`](Self::finish) returns it.
#[derive(Debug)]
pub struct QlogDirectory {
    traces: Traces,
    thread: JoinHandle<Option<WriteError>>,
}

/// Begins traces in a folder. Clones share the folder.
#[derive(Clone, Debug)]
pub struct Traces {
    orders: SyncSender<Order>,
    shared: Arc<Shared>,
    when_full: WhenFull,
    limits: Limits,
}

#[derive(Debug, Default)]
struct Shared {
    /// Traces begun so far.
    begun: AtomicU64,
    /// Those of them with a number.
    numbered: AtomicU64,
    /// Names of their files, and how often each was used.
    names: Mutex<BTreeMap<String, u64>>,
    /// Events that were left out.
    missed: AtomicU64,
    /// Associations that have no trace, and those whose trace ended early, because of the limits.
    beyond: AtomicU64,
}

/// Writes the events of one association to its trace.
#[derive(Debug)]
pub struct QlogProbe {
    traces: Traces,
    /// None if there were too many.
    trace: Option<u64>,
    /// Events that were left out since the last one that was not.
    missed: u64,
}

/// A task for the thread.
#[derive(Debug)]
enum Order {
    Begin {
        trace: u64,
        file: String,
        header: Box<TraceHeader>,
    },
    Write {
        trace: u64,
        now: Instant,
        event: ProbeEvent,
    },
    /// So many events before this one are left out.
    Miss {
        trace: u64,
        now: Instant,
        count: u64,
    },
    End {
        trace: u64,
    },
    Finish,
}

impl QlogDirectory {
    /// Opens a folder for traces; makes it if it is missing, and makes sure that files can be written there.
    ///
    /// # Errors
    /// It is a file, cannot be made or cannot be written to, or the system starts no thread.
    pub fn open(folder: &Path, when_full: WhenFull) -> Result<Self, OpenError> {
        Self::open_within(folder, when_full, Limits::NONE)
    }

    /// The same for a folder that takes no more than `limits`: where others may begin associations, they cannot fill the disk.
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub fn open_within(
        folder: &Path,
        when_full: WhenFull,
        limits: Limits,
    ) -> Result<Self, OpenError> {
        fs::create_dir_all(folder)
            .and_then(|()| tempfile::tempfile_in(folder))
            .map_err(|error| OpenError::new(folder, error))?;
        let (orders, received) = sync_channel(WAITING);
        let shared = Arc::<Shared>::default();
        let files = Files {
            folder: folder.to_owned(),
            open: BTreeMap::new(),
            error: None,
            left: limits.bytes,
            shared: Arc::clone(&shared),
        };
        let thread = thread::Builder::new()
            .name("qlog".to_owned())
            .spawn(move || files.run(&received))
            .map_err(OpenError::Thread)?;
        Ok(Self { traces: Traces { orders, shared, when_full, limits }, thread })
    }

    /// A handle that begins traces in the folder.
    pub fn traces(&self) -> Traces {
        self.traces.clone()
    }

    /// Writes what is left, and closes all files. Probes that still live have no effect any more.
    ///
    /// # Errors
    /// The first error of writing; otherwise the number of associations that exceeded the limits, or of events that were left out, if
    /// there are any.
    pub fn finish(self) -> Result<(), WriteError> {
        // If this fails, the thread has ended, and `join` returns why.
        let _ = self.traces.orders.send(Order::Finish);
        match self.thread.join() {
            Ok(None) => {
                let shared = &self.traces.shared;
                let counts = [&shared.beyond, &shared.missed];
                match counts.map(|count| count.load(Ordering::Relaxed)) {
                    [0, 0] => Ok(()),
                    [0, count] => Err(WriteError::Missed { count }),
                    [count, _] => Err(WriteError::Beyond { count }),
                }
            }
            Ok(Some(error)) => Err(error),
            Err(_) => Err(WriteError::Thread),
        }
    }
}

impl Traces {
    /// Begins the trace of an association in the file `name` with the extension `sqlog`, in place of what was there before
    /// the folder was opened. Further traces of that name get a number behind it. Characters that file names cannot have
    /// everywhere become `-`.
    pub fn begin(&self, name: &str, header: TraceHeader) -> QlogProbe {
        let trace = self.shared.begun.fetch_add(1, Ordering::Relaxed);
        if trace >= self.limits.traces {
            self.shared.beyond.fetch_add(1, Ordering::Relaxed);
            return QlogProbe { traces: self.clone(), trace: None, missed: 0 };
        }
        let mut file = plain(name);
        let mut names = self.shared.names.lock().unwrap_or_else(PoisonError::into_inner);
        let count = names.entry(file.clone()).or_default();
        *count += 1;
        if *count > 1 {
            file.push_str(&format!("-{count}"));
        }
        drop(names);
        file.push_str(".sqlog");
        if !self.order(Order::Begin { trace, file, header: Box::new(header) }) {
            self.shared.missed.fetch_add(1, Ordering::Relaxed);
        }
        QlogProbe { traces: self.clone(), trace: Some(trace), missed: 0 }
    }

    /// As [`begin`](Self::begin), with a name that no other process takes: `prefix`, the wall clock of the header, the
    /// number of the process, and a number that counts such traces.
    pub fn begin_numbered(&self, prefix: &str, header: TraceHeader) -> QlogProbe {
        let number = self.shared.numbered.fetch_add(1, Ordering::Relaxed) + 1;
        let time = header.wall_clock.and_then(trace::date).unwrap_or_default();
        // To the second, in the short form of ISO 8601.
        let time = time.split('.').next().unwrap_or_default().replace(['-', ':'], "");
        let zone = if time.is_empty() { "" } else { "Z-" };
        let process = std::process::id();
        self.begin(&format!("{prefix}-{time}{zone}{process}-{number}"), header)
    }

    /// Returns whether there was room for the order. After the end there always is: orders have no effect any more.
    fn order(&self, order: Order) -> bool {
        match self.when_full {
            WhenFull::Wait => {
                let _ = self.orders.send(order);
                true
            }
            WhenFull::LeaveOut => {
                !matches!(self.orders.try_send(order), Err(TrySendError::Full(_)))
            }
        }
    }
}

/// A name that can be that of a file.
fn plain(name: &str) -> String {
    let allowed = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-');
    name.chars().map(|c| if allowed(c) { c } else { '-' }).collect()
}

impl Probe for QlogProbe {
    fn on(&mut self, now: Instant, event: ProbeEvent) {
        let Some(trace) = self.trace else { return };
        if self.missed > 0 {
            let count = self.missed;
            if self.traces.order(Order::Miss { trace, now, count }) {
                self.missed = 0;
            }
        }
        if self.missed > 0 || !self.traces.order(Order::Write { trace, now, event }) {
            self.missed += 1;
            self.traces.shared.missed.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Drop for QlogProbe {
    fn drop(&mut self) {
        if let Some(trace) = self.trace {
            self.traces.order(Order::End { trace });
        }
    }
}

/// The files of the traces that have begun and not ended.
struct Files {
    folder: PathBuf,
    open: BTreeMap<u64, (PathBuf, TraceWriter<BufWriter<Counted>>)>,
    /// The first error.
    error: Option<WriteError>,
    /// Bytes that may still be written.
    left: u64,
    shared: Arc<Shared>,
}

/// A file, and the bytes written to it since it was last asked.
#[derive(Debug)]
struct Counted {
    file: File,
    bytes: u64,
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Files {
    fn run(mut self, orders: &Receiver<Order>) -> Option<WriteError> {
        while let Ok(order) = orders.recv() {
            match order {
                Order::Begin { trace, file, header } => self.begin(trace, &file, &header),
                Order::Write { trace, now, event } => {
                    self.write(trace, |writer| writer.record(now, &event));
                }
                Order::Miss { trace, now, count } => {
                    self.write(trace, |writer| writer.record_missed(now, count));
                }
                Order::End { trace } => self.end(trace),
                Order::Finish => break,
            }
        }
        while let Some((&trace, _)) = self.open.first_key_value() {
            self.end(trace);
        }
        self.error
    }

    fn begin(&mut self, trace: u64, file: &str, header: &TraceHeader) {
        if self.left == 0 {
            self.shared.beyond.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let path = self.folder.join(file);
        let begun = File::create(&path).and_then(|file| {
            let file = Counted { file, bytes: 0 };
            TraceWriter::new(BufWriter::with_capacity(1 << 16, file), header)
        });
        match begun {
            Ok(writer) => drop(self.open.insert(trace, (path, writer))),
            Err(error) => self.note(path, error),
        }
    }

    fn write(
        &mut self,
        trace: u64,
        record: impl FnOnce(&mut TraceWriter<BufWriter<Counted>>) -> io::Result<()>,
    ) {
        let Some((_, writer)) = self.open.get_mut(&trace) else { return };
        let recorded = record(writer);
        self.left = self.left.saturating_sub(std::mem::take(&mut writer.out().get_mut().bytes));
        match recorded {
            Ok(()) if self.left > 0 => {}
            Ok(()) => self.end_all(),
            Err(error) => {
                if let Some((path, _)) = self.open.remove(&trace) {
                    self.note(path, error);
                }
            }
        }
    }

    fn end(&mut self, trace: u64) {
        let Some((path, writer)) = self.open.remove(&trace) else { return };
        match writer.finish() {
            Ok(out) => self.left = self.left.saturating_sub(out.get_ref().bytes),
            Err(error) => self.note(path, error),
        }
    }

    /// No more may be written: every trace ends here.
    fn end_all(&mut self) {
        while let Some((&trace, _)) = self.open.first_key_value() {
            self.shared.beyond.fetch_add(1, Ordering::Relaxed);
            self.end(trace);
        }
    }

    fn note(&mut self, file: PathBuf, error: io::Error) {
        self.error.get_or_insert(WriteError::File { file, error });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::tests::samples;
    use crate::trace::VantagePoint;

    fn header() -> TraceHeader {
        TraceHeader::new("", VantagePoint::Client)
    }

    fn lines(file: &Path) -> usize {
        fs::read_to_string(file).unwrap().lines().count()
    }

    #[test]
    fn every_trace_gets_its_own_events() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("made/on the way");
        let directory = QlogDirectory::open(&deep, WhenFull::Wait).unwrap();
        let traces = directory.traces();
        let (mut a, mut b) = (traces.begin("a", header()), traces.begin("../b /c", header()));
        for event in samples() {
            a.on(Instant::ZERO, event);
        }
        b.on(Instant::ZERO, samples()[0]);
        drop(a);
        b.on(Instant::ZERO, samples()[1]);
        directory.finish().unwrap();
        // After the end: no effect.
        b.on(Instant::ZERO, samples()[2]);
        assert_eq!(lines(&deep.join("a.sqlog")), 1 + samples().len());
        assert_eq!(lines(&deep.join("..-b--c.sqlog")), 1 + 2);
        assert_eq!(fs::read_dir(&deep).unwrap().count(), 2, "nothing else is left there");
    }

    #[test]
    fn no_trace_takes_the_file_of_another() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.sqlog"), "of an earlier run").unwrap();
        let directory = QlogDirectory::open(folder.path(), WhenFull::Wait).unwrap();
        let traces = directory.traces();
        let wall_clock = Some(std::time::SystemTime::UNIX_EPOCH);
        for _ in 0..2 {
            traces.begin("a", header());
            traces.clone().begin_numbered("send", TraceHeader { wall_clock, ..header() });
        }
        directory.finish().unwrap();
        let mut names: Vec<_> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort_unstable();
        let numbered = |n: u8| format!("send-19700101T000000Z-{}-{n}.sqlog", std::process::id());
        let [first, second] = [1, 2].map(numbered);
        assert_eq!(names, ["a-2.sqlog", "a.sqlog", &first, &second]);
        assert_eq!(lines(&folder.path().join("a.sqlog")), 1);
    }

    #[test]
    fn a_file_is_no_folder() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("film.mkv");
        fs::write(&file, "").unwrap();
        for wrong in [file.clone(), file.join("below")] {
            let error = QlogDirectory::open(&wrong, WhenFull::Wait).unwrap_err().to_string();
            assert!(error.ends_with("film.mkv is a file; name a folder for the traces"), "{error}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_folder_has_to_take_files() {
        // Not even root can make files there.
        let error = QlogDirectory::open(Path::new("/proc/self"), WhenFull::Wait).unwrap_err();
        assert!(error.to_string().starts_with("cannot write into /proc/self: "), "{error}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_reported_at_the_end_and_ends_no_other_trace() {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/dev/full", folder.path().join("full.sqlog")).unwrap();
        let directory = QlogDirectory::open(folder.path(), WhenFull::Wait).unwrap();
        let traces = directory.traces();
        let (mut full, mut fine) = (traces.begin("full", header()), traces.begin("fine", header()));
        for _ in 0..2000 {
            full.on(Instant::ZERO, samples()[0]);
            fine.on(Instant::ZERO, samples()[0]);
        }
        let error = directory.finish().unwrap_err().to_string();
        assert!(error.contains("full.sqlog: No space left on device"), "{error}");
        assert!(error.ends_with("; make room there"), "{error}");
        assert_eq!(lines(&folder.path().join("fine.sqlog")), 2001);
    }

    #[test]
    fn events_that_find_no_room_are_left_out_and_counted() {
        let (orders, received) = sync_channel(2);
        let traces = Traces {
            orders,
            shared: Arc::default(),
            when_full: WhenFull::LeaveOut,
            limits: Limits::NONE,
        };
        let mut probe = traces.begin("a", header());
        for event in samples() {
            probe.on(Instant::ZERO, event);
        }
        let missed = samples().len() as u64 - 1;
        assert_eq!(traces.shared.missed.load(Ordering::Relaxed), missed);
        assert!(matches!(received.recv(), Ok(Order::Begin { .. })));
        assert!(matches!(received.recv(), Ok(Order::Write { .. })));
        // The gap is marked once there is room again.
        probe.on(Instant::from_nanos(5), samples()[0]);
        assert!(matches!(received.recv(), Ok(Order::Miss { count, .. }) if count == missed));
        assert!(matches!(received.recv(), Ok(Order::Write { .. })));
        probe.on(Instant::from_nanos(6), samples()[0]);
        assert!(matches!(received.recv(), Ok(Order::Write { .. })));
        drop(probe);
        assert!(matches!(received.recv(), Ok(Order::End { .. })));
        assert_eq!(traces.shared.missed.load(Ordering::Relaxed), missed);
    }

    #[test]
    fn traces_beyond_their_number_take_no_file_and_no_memory() {
        let folder = tempfile::tempdir().unwrap();
        let limits = Limits { traces: 3, ..Limits::NONE };
        let directory = QlogDirectory::open_within(folder.path(), WhenFull::Wait, limits).unwrap();
        let traces = directory.traces();
        for _ in 0..10_000 {
            traces.begin_numbered("receive", header()).on(Instant::ZERO, samples()[0]);
        }
        assert_eq!(traces.shared.names.lock().unwrap().len(), 3);
        let error = directory.finish().unwrap_err().to_string();
        assert!(error.starts_with("9997 associations have no trace, or not all of it"), "{error}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
    }

    #[test]
    fn traces_end_when_all_together_are_too_long() {
        let folder = tempfile::tempdir().unwrap();
        let limits = Limits { bytes: 200_000, ..Limits::NONE };
        let directory = QlogDirectory::open_within(folder.path(), WhenFull::Wait, limits).unwrap();
        let traces = directory.traces();
        let mut probes = ["a", "b"].map(|name| traces.begin(name, header()));
        for _ in 0..10_000 {
            probes.iter_mut().for_each(|probe| probe.on(Instant::ZERO, samples()[0]));
        }
        // Short ones count as well.
        let mut later = traces.begin("c", header());
        later.on(Instant::ZERO, samples()[0]);
        let error = directory.finish().unwrap_err().to_string();
        assert!(error.starts_with("3 associations have no trace, or not all of it"), "{error}");
        let length = |entry: io::Result<fs::DirEntry>| entry.unwrap().metadata().unwrap().len();
        let lengths: Vec<u64> = fs::read_dir(folder.path()).unwrap().map(length).collect();
        // What the buffers of the two had is written.
        let sum: u64 = lengths.iter().sum();
        assert!(lengths.len() == 2 && (200_000..200_000 + 2 * (1 << 16)).contains(&sum), "{sum}");
    }

    #[test]
    fn gaps_are_in_the_trace() {
        let folder = tempfile::tempdir().unwrap();
        let directory = QlogDirectory::open(folder.path(), WhenFull::LeaveOut).unwrap();
        let mut probe = directory.traces().begin("a", header());
        probe.missed = 3;
        probe.on(Instant::ZERO, samples()[0]);
        drop(probe);
        directory.finish().unwrap();
        let text = fs::read_to_string(folder.path().join("a.sqlog")).unwrap();
        let lines: Vec<_> = text.lines().collect();
        assert!(lines[1].ends_with(r#""name":"sctp:events_missed","data":{"count":3}}"#), "{text}");
        assert_eq!(lines.len(), 3);
    }
}
