//! The journal: finished runs, each written down as soon as it is over.
//!
//! A file of JSON lines that only grows. Whatever ends the program, the lines before are whole; a last one without its
//! end is cut off. Each line has a [checksum](sealed). Results are named once per shape and not in every line.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use super::{Cell, FlatResult, Kind, Outcome, RunId, Status, sealed};

/// Who made runs, and where.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Program {
    /// Version of the program.
    pub version: String,
    /// Revision of its source.
    pub revision: String,
    /// Name of the machine.
    pub host: String,
}

/// How a run was executed; never a part of its result.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Execution {
    /// Time that it took, in seconds.
    pub wall_s: f64,
    /// Time of a processor that it used, in seconds; nothing where it was run elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core_s: Option<f64>,
    /// When it began, in seconds since 1970.
    pub started_unix_s: f64,
}

/// A finished run.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    /// What came out.
    pub outcome: Outcome,
    /// How it was executed.
    pub execution: Execution,
    /// By whom.
    pub program: Arc<Program>,
}

/// What is wrong with a journal.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// Reading or writing failed.
    #[error("cannot read or write {}: {error}{}", .path.display(), advice(.error))]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Another process is at it.
    #[error("{}: another process is writing there", .path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// A line makes no sense.
    #[error(
        "{}:{line}: not a line of a journal: {message}; delete it and the lines after it, and the same command does their runs again",
        .path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// Why.
        message: String,
    },
}

/// What to do where a place for results does not work.
pub(crate) fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "; name a directory where you may write"
        }
        ErrorKind::StorageFull => "; make room there, and give the same command again",
        _ => "",
    }
}

/// A line.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Line {
    /// Who wrote the lines that follow.
    Program(Program),
    /// Names of results, numbered from 0.
    Shape(Vec<String>),
    /// A run.
    Run(RunLine),
}

#[derive(Serialize, Deserialize)]
struct RunLine {
    run: String,
    status: Status,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace_hash: Option<String>,
    program: usize,
    shape: usize,
    values: Vec<Cell>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    series: Vec<(String, Vec<f64>, Vec<Option<f64>>)>,
    execution: Execution,
}

/// The journal of a directory.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    file: File,
    end: u64,
    runs: BTreeMap<RunId, Place>,
    /// Names of results.
    shapes: Numbered<Vec<String>>,
    /// What the values of runs are: few different lists, for many runs.
    kinds: Numbered<Kinds>,
    programs: Vec<Arc<Program>>,
}

/// Where a run stands, and what its values are.
#[derive(Clone, Copy, Debug)]
struct Place {
    start: u64,
    length: usize,
    kinds: usize,
}

/// The number of a shape, and the kind of each of its values.
type Kinds = (usize, Vec<Option<Kind>>);

/// Things that are known by their number.
#[derive(Debug)]
struct Numbered<T> {
    numbers: BTreeMap<Arc<T>, usize>,
    things: Vec<Arc<T>>,
}

impl<T: Ord> Numbered<T> {
    const EMPTY: Self = Self { numbers: BTreeMap::new(), things: Vec::new() };

    /// The number of a thing, a new one if it is new.
    fn number(&mut self, thing: impl Into<Arc<T>>) -> usize {
        let thing = thing.into();
        if let Some(number) = self.numbers.get(&thing) {
            return *number;
        }
        self.numbers.insert(Arc::clone(&thing), self.things.len());
        self.things.push(thing);
        self.things.len() - 1
    }
}

impl Journal {
    /// Opens the journal of a directory, or begins it. One process at a time can have it.
    ///
    /// # Errors
    /// It cannot be read, another process has it, or it is no journal.
    pub fn open(path: &Path) -> Result<Self, JournalError> {
        let io = |error| JournalError::Io { path: path.to_owned(), error };
        let mut options = OpenOptions::new();
        let file =
            options.read(true).write(true).create(true).truncate(false).open(path).map_err(io)?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => {
                return Err(JournalError::Busy { path: path.to_owned() });
            }
            // Some file systems have no locks; then nobody watches.
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
        let mut state = State {
            file,
            end: 0,
            runs: BTreeMap::new(),
            shapes: Numbered::EMPTY,
            kinds: Numbered::EMPTY,
            programs: Vec::new(),
        };
        state.load(path)?;
        Ok(Self { path: path.to_owned(), state: Mutex::new(state) })
    }

    /// Notes who writes from now on.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn sign(&self, program: &Program) -> Result<(), JournalError> {
        let mut state = self.lock();
        if state.programs.last().is_some_and(|last| **last == *program) {
            return Ok(());
        }
        self.io(state.write(&Line::Program(program.clone())))?;
        state.programs.push(Arc::new(program.clone()));
        Ok(())
    }

    /// Whether a run is in it.
    pub fn has(&self, id: RunId) -> bool {
        self.lock().runs.contains_key(&id)
    }

    /// Number of runs in it.
    pub fn len(&self) -> usize {
        self.lock().runs.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Names of the runs in it.
    pub fn ids(&self) -> Vec<RunId> {
        self.lock().runs.keys().copied().collect()
    }

    /// Writes a run down.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn add(
        &self,
        id: RunId,
        outcome: Outcome,
        execution: Execution,
    ) -> Result<(), JournalError> {
        let Outcome { status, error, trace_hash, result } = outcome;
        let FlatResult { names, values, series } = result;
        let (shape, program) = {
            let mut state = self.lock();
            (self.io(state.shape(names))?, state.programs.len().saturating_sub(1))
        };
        let run = id.to_string();
        let kinds = (shape, values.iter().map(Kind::of).collect());
        let line =
            RunLine { run, status, error, trace_hash, program, shape, values, series, execution };
        // The long part of the work, without the lock.
        let text = self.io(text_of(&Line::Run(line)))?;
        let mut state = self.lock();
        let start = state.end;
        self.io(state.write_text(&text))?;
        let kinds = state.kinds.number(kinds);
        state.runs.insert(id, Place { start, length: text.len(), kinds });
        Ok(())
    }

    /// Names of all results of these runs, sorted, and what they hold; nothing for what never had a value.
    pub(crate) fn kinds(&self, ids: impl Iterator<Item = RunId>) -> BTreeMap<String, Option<Kind>> {
        let state = self.lock();
        let lists: BTreeSet<usize> =
            ids.filter_map(|id| state.runs.get(&id)).map(|place| place.kinds).collect();
        let mut found: BTreeMap<String, Option<Kind>> = BTreeMap::new();
        for list in lists {
            let (shape, kinds) = &*state.kinds.things[list];
            for (name, kind) in state.shapes.things[*shape].iter().zip(kinds) {
                let known = found.entry(name.clone()).or_default();
                *known = match (*known, *kind) {
                    (Some(known), Some(kind)) => Some(known.or(kind)),
                    (known, kind) => known.or(kind),
                };
            }
        }
        found
    }

    /// A run that is in it.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(&self, id: RunId) -> Result<Option<Entry>, JournalError> {
        let bytes = {
            let mut state = self.lock();
            let Some(&Place { start, length, .. }) = state.runs.get(&id) else { return Ok(None) };
            let mut bytes = vec![0; length];
            let read = state
                .file
                .seek(SeekFrom::Start(start))
                .and_then(|_| state.file.read_exact(&mut bytes));
            self.io(read)?;
            bytes
        };
        // The long part of the work, without the lock.
        let line = sealed::open(&bytes).ok().and_then(|json| serde_json::from_slice(json).ok());
        let Some(Line::Run(line)) = line else {
            let error = io::Error::new(ErrorKind::InvalidData, format!("run {id} has changed"));
            return self.io(Err(error));
        };
        let state = self.lock();
        let names = state.shapes.things.get(line.shape).cloned().unwrap_or_default();
        let program = state.programs.get(line.program).cloned().unwrap_or_default();
        drop(state);
        let result = FlatResult { names, values: line.values, series: line.series };
        let RunLine { status, error, trace_hash, execution, .. } = line;
        Ok(Some(Entry {
            outcome: Outcome { status, error, trace_hash, result },
            execution,
            program,
        }))
    }

    /// Takes over all runs of another journal that are not in this one; returns how many.
    ///
    /// # Errors
    /// One of them cannot be read or written.
    pub fn absorb(&self, other: &Self) -> Result<usize, JournalError> {
        let mut taken = 0;
        for id in other.ids() {
            if self.has(id) {
                continue;
            }
            if let Some(entry) = other.read(id)? {
                self.sign(&entry.program)?;
                self.add(id, entry.outcome, entry.execution)?;
                taken += 1;
            }
        }
        Ok(taken)
    }

    /// Makes sure that what was written is on the disk.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn sync(&self) -> Result<(), JournalError> {
        self.io(self.lock().file.sync_data())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn io<T>(&self, result: io::Result<T>) -> Result<T, JournalError> {
        result.map_err(|error| JournalError::Io { path: self.path.clone(), error })
    }
}

impl State {
    /// Reads what is there, and cuts off a last line without its end.
    fn load(&mut self, path: &Path) -> Result<(), JournalError> {
        let io = |error| JournalError::Io { path: path.to_owned(), error };
        let mut reader = BufReader::new(self.file.try_clone().map_err(io)?);
        let mut line = Vec::new();
        let mut number = 0;
        loop {
            line.clear();
            reader.read_until(b'\n', &mut line).map_err(io)?;
            if line.last() != Some(&b'\n') {
                break;
            }
            number += 1;
            let damaged =
                |message| JournalError::Damaged { path: path.to_owned(), line: number, message };
            let json = sealed::open(&line).map_err(|error| damaged(error.to_string()))?;
            match serde_json::from_slice(json).map_err(|error| damaged(error.to_string()))? {
                Line::Program(program) => self.programs.push(Arc::new(program)),
                Line::Shape(names) => {
                    self.shapes.number(names);
                }
                Line::Run(run) => {
                    let id = run.run.parse().map_err(|error| damaged(format!("{error}")))?;
                    let kinds = (run.shape, run.values.iter().map(Kind::of).collect());
                    if run.shape >= self.shapes.things.len() {
                        return Err(damaged("it has a shape that was not named".into()));
                    }
                    let kinds = self.kinds.number(kinds);
                    self.runs.insert(id, Place { start: self.end, length: line.len(), kinds });
                }
            }
            self.end += line.len() as u64;
        }
        if !line.is_empty() {
            self.file.set_len(self.end).map_err(io)?;
        }
        Ok(())
    }

    /// The number of a shape, which is written down first if it is new.
    fn shape(&mut self, names: Arc<Vec<String>>) -> io::Result<usize> {
        if let Some(number) = self.shapes.numbers.get(&names) {
            return Ok(*number);
        }
        self.write(&Line::Shape(names.to_vec()))?;
        Ok(self.shapes.number(names))
    }

    fn write(&mut self, line: &Line) -> io::Result<()> {
        self.write_text(&text_of(line)?)
    }

    fn write_text(&mut self, text: &str) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(self.end))?;
        self.file.write_all(text.as_bytes())?;
        self.end += text.len() as u64;
        Ok(())
    }
}

fn text_of(line: &Line) -> io::Result<String> {
    Ok(sealed::seal(serde_json::to_string(line)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::Identity;

    fn outcome(value: f64) -> Outcome {
        Outcome {
            status: Status::Ok,
            error: None,
            trace_hash: Some("xxh64:0".into()),
            result: FlatResult {
                names: vec!["a".into(), "b".into(), "c".into()].into(),
                values: vec![Cell::Float(value), Cell::Null, Cell::Int(-3)],
                series: vec![("s".into(), vec![0.1], vec![Some(value)])],
            },
        }
    }

    const EXECUTION: Execution =
        Execution { wall_s: 0.25, core_s: Some(0.125), started_unix_s: 1e9 };

    fn id(number: u64) -> RunId {
        Identity::refused("test").run(number)
    }

    #[test]
    fn what_was_written_is_there_again_to_the_last_bit() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("journal");
        // Numbers that a careless decimal form would change.
        let values = [0.1 + 0.2, 1.0 / 3.0, 5e-324, 9_007_199_254_740_993.0, 4.35];
        {
            let journal = Journal::open(&path).expect("a journal");
            journal.sign(&Program { version: "1".into(), ..Program::default() }).expect("written");
            for (number, value) in (0..).zip(values) {
                journal.add(id(number), outcome(value), EXECUTION).expect("written");
            }
        }
        let journal = Journal::open(&path).expect("a journal");
        assert_eq!(journal.len(), values.len());
        for (number, value) in (0..).zip(values) {
            let entry = journal.read(id(number)).expect("readable").expect("there");
            assert_eq!(entry.outcome, outcome(value));
            assert_eq!((entry.execution, entry.program.version.as_str()), (EXECUTION, "1"));
        }
        assert_eq!(journal.read(id(99)).expect("readable"), None);
    }

    #[test]
    fn a_line_without_its_end_is_forgotten_and_work_goes_on_behind_the_others() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("journal");
        let write = |number| {
            let journal = Journal::open(&path).expect("a journal");
            journal.add(id(number), outcome(number as f64), EXECUTION).expect("written");
        };
        write(1);
        write(2);
        let bytes = std::fs::read(&path).expect("readable");
        std::fs::write(&path, &bytes[..bytes.len() - 5]).expect("writable");
        assert_eq!(Journal::open(&path).expect("a journal").ids(), [id(1)]);
        write(3);
        let journal = Journal::open(&path).expect("a journal");
        assert_eq!(journal.len(), 2);
        assert_eq!(journal.read(id(3)).expect("readable").expect("there").outcome, outcome(3.0));
    }

    #[test]
    fn a_line_that_makes_no_sense_is_named() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("journal");
        std::fs::write(&path, "{\"shape\":[]}\nwhat\n").expect("writable");
        let error = Journal::open(&path).expect_err("no journal").to_string();
        assert!(error.contains("journal:2: not a line of a journal"), "{error}");
    }

    #[test]
    fn a_result_that_was_changed_is_no_result() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("journal");
        Journal::open(&path).expect("a journal").add(id(1), outcome(0.25), EXECUTION).expect("ok");
        let text = std::fs::read_to_string(&path).expect("text");
        assert!(text.contains("0.25"));
        std::fs::write(&path, text.replacen("0.25", "0.75", 1)).expect("writable");
        let error = Journal::open(&path).expect_err("it has changed").to_string();
        assert!(error.contains("journal:2:") && error.contains("checksum is wrong"), "{error}");
        assert!(error.contains("delete it and the lines after it"), "{error}");
        // A journal of before there were checksums is read.
        let old: String =
            text.lines().map(|line| line.split('\t').next().unwrap().to_owned() + "\n").collect();
        std::fs::write(&path, old).expect("writable");
        let journal = Journal::open(&path).expect("a journal");
        assert_eq!(journal.read(id(1)).expect("readable").expect("there").outcome, outcome(0.25));
    }

    #[test]
    fn two_processes_do_not_write_into_one() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("journal");
        let first = Journal::open(&path).expect("a journal");
        assert!(matches!(Journal::open(&path), Err(JournalError::Busy { .. })));
        drop(first);
        Journal::open(&path).expect("free again");
    }

    #[test]
    fn one_takes_over_what_another_has_more() {
        let directory = tempfile::tempdir().expect("a directory");
        let [one, two] = ["one", "two"]
            .map(|name| Journal::open(&directory.path().join(name)).expect("a journal"));
        one.add(id(1), outcome(1.0), EXECUTION).expect("written");
        two.add(id(1), outcome(1.0), EXECUTION).expect("written");
        two.add(id(2), outcome(2.0), EXECUTION).expect("written");
        assert_eq!(one.absorb(&two).expect("readable"), 1);
        assert_eq!(one.read(id(2)).expect("readable").expect("there").outcome, outcome(2.0));
    }
}
