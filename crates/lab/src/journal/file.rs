//! The journal: finished runs, each recorded as soon as it is over.
//!
//! A directory has a part for each process that made runs there, on any machine; no process writes to the part of another. A run that
//! two processes made counts once. Each line has a [checksum](sealed). Names of results are written once per shape instead of in every
//! line.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::index::{Index, Note, Place};
use super::line::{Execution, Head, Line, Program, RunLine};
use super::numbered::Numbered;
use super::part::{self, Writer, Writing};
use super::{FlatResult, Kind, Outcome, RunId, Shard, Status, sealed};

/// A finished run.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    /// Outcome.
    pub outcome: Outcome,
    /// How it was executed.
    pub execution: Execution,
    /// The writer.
    pub program: Arc<Program>,
}

/// An error of a journal.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// Reading or writing failed.
    #[error("cannot read or write {}: {error}{}", .path.display(), advice(.error))]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// A line is invalid.
    #[error(
        "{}:{line}: not a line of a journal: {message}; delete it and the lines after it, and the same command does their runs again",
        .path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The error.
        message: String,
    },
}

/// The remedy for an unusable directory.
pub(crate) fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "; name a directory where you may write"
        }
        ErrorKind::StorageFull => "; make room there, and give the same command again",
        _ => "",
    }
}

/// The journal of a directory.
#[derive(Debug)]
pub struct Journal {
    directory: PathBuf,
    share: Shard,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    parts: Vec<Part>,
    runs: Index,
    /// Names of results.
    shapes: Numbered<Vec<String>>,
    /// Kinds of the values of runs: few different lists for many runs.
    kinds: Numbered<Kinds>,
    programs: Numbered<Program>,
    /// The part that this process writes, and its number; none before it is [signed](Journal::sign).
    writer: Option<(Writer, usize)>,
}

/// A part, with the numbers that its lines use.
#[derive(Debug)]
struct Part {
    path: PathBuf,
    /// Their numbers in the journal.
    shapes: Vec<usize>,
    programs: Vec<usize>,
    threads: usize,
}

/// Number of a shape, and kinds of its values.
type Kinds = (usize, Vec<Option<Kind>>);

/// A process that writes to a directory.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Worker {
    /// The writer.
    pub program: Arc<Program>,
    /// Number of concurrent runs.
    pub threads: usize,
    /// Whether it is known that the process still writes; some file systems have no locks.
    pub is_certain: bool,
}

impl Journal {
    /// Opens the journal of a directory. Nothing is written before it is signed.
    ///
    /// # Errors
    /// It cannot be read, or a part of it is no journal.
    pub fn open(directory: &Path) -> Result<Self, JournalError> {
        Self::of_share(directory, Shard::WHOLE)
    }

    /// Opens the parts that may have runs of a share of the work.
    ///
    /// # Errors
    /// As [`Journal::open`].
    pub(crate) fn of_share(directory: &Path, share: Shard) -> Result<Self, JournalError> {
        Self::loaded(directory, share, State::load)
    }

    /// Opens the journal of a directory without the results of runs, which is fast: for notes and names only.
    ///
    /// # Errors
    /// As [`Journal::open`].
    pub(crate) fn of_notes(directory: &Path) -> Result<Self, JournalError> {
        Self::loaded(directory, Shard::WHOLE, State::load_notes)
    }

    fn loaded(
        directory: &Path,
        share: Shard,
        load: fn(&mut State, &Path) -> Result<(), JournalError>,
    ) -> Result<Self, JournalError> {
        let io = |error| JournalError::Io { path: directory.to_owned(), error };
        let mut state = State {
            parts: Vec::new(),
            runs: Index::default(),
            shapes: Numbered::EMPTY,
            kinds: Numbered::EMPTY,
            programs: Numbered::EMPTY,
            writer: None,
        };
        for path in part::parts_of(directory, share).map_err(io)? {
            load(&mut state, &path)?;
        }
        state.runs.sort();
        Ok(Self { directory: directory.to_owned(), share, state: Mutex::new(state) })
    }

    /// Begins a part, and records the writer and its number of concurrent runs.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn sign(&self, program: &Program, threads: usize) -> Result<(), JournalError> {
        let mut state = self.lock();
        self.io(state.begin(&self.directory, self.share, &program.host))?;
        self.io(state.add_line(&Line::Threads(threads)))?;
        self.io(state.program(program)).map(drop)
    }

    /// Whether it has a run.
    pub fn has(&self, id: RunId) -> bool {
        self.lock().runs.get(id).is_some()
    }

    /// Summary of a run.
    pub(crate) fn note(&self, id: RunId) -> Option<Note> {
        self.lock().runs.get(id).map(|place| place.note())
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
        self.lock().runs.ids()
    }

    /// The writer of a run.
    pub(crate) fn program_of(&self, id: RunId) -> Option<Arc<Program>> {
        let state = self.lock();
        state.runs.get(id).and_then(|place| state.programs.thing(place.program as usize).cloned())
    }

    /// The processes that write to the directory at present.
    ///
    /// # Errors
    /// A part cannot be read.
    pub(crate) fn workers(&self) -> Result<Vec<Worker>, JournalError> {
        let state = self.lock();
        let mut workers = Vec::new();
        for part in &state.parts {
            let writing = match part::writing(&part.path) {
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                other => self.io(other)?,
            };
            let program = part.programs.last().and_then(|number| state.programs.thing(*number));
            if let (Writing::Now | Writing::Unknown, Some(program)) = (writing, program) {
                let (program, threads) = (Arc::clone(program), part.threads);
                workers.push(Worker { program, threads, is_certain: writing == Writing::Now });
            }
        }
        Ok(workers)
    }

    /// Records a run, in the part that signing began.
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
        let ((shape, shape_in_part), program_in_part) = {
            let mut state = self.lock();
            self.io(state.begin(&self.directory, self.share, ""))?;
            (self.io(state.shape(names))?, state.last_program())
        };
        let kinds = (shape, values.iter().map(Kind::of).collect());
        let (run, shape, program) = (id.to_string(), shape_in_part, program_in_part);
        let line =
            RunLine { run, status, error, trace_hash, program, shape, values, series, execution };
        // The long part of the work, without the lock.
        let text = self.io(Line::Run(line).text())?;
        let mut state = self.lock();
        self.io(state.add_run(id, (status, execution), kinds, &text))
    }

    /// Names of all results of these runs, sorted, with their kinds; no kind for results that never had a value.
    pub(crate) fn kinds(&self, ids: impl Iterator<Item = RunId>) -> BTreeMap<String, Option<Kind>> {
        let state = self.lock();
        let lists: BTreeSet<u32> =
            ids.filter_map(|id| state.runs.get(id)).map(|place| place.kinds).collect();
        let mut found: BTreeMap<String, Option<Kind>> = BTreeMap::new();
        let lists = lists.into_iter().filter_map(|list| state.kinds.thing(list as usize));
        for (shape, kinds) in lists.map(|list| &**list) {
            let names = state.shapes.thing(*shape).into_iter().flat_map(|names| names.iter());
            for (name, kind) in names.zip(kinds) {
                let known = found.entry(name.clone()).or_default();
                *known = match (*known, *kind) {
                    (Some(known), Some(kind)) => Some(known.or(kind)),
                    (known, kind) => known.or(kind),
                };
            }
        }
        found
    }

    /// Reads one of its runs.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(&self, id: RunId) -> Result<Option<Entry>, JournalError> {
        let (place, path) = {
            let state = self.lock();
            let Some(place) = state.runs.get(id) else { return Ok(None) };
            (place, state.parts[place.part as usize].path.clone())
        };
        // The long part of the work, without the lock.
        let io = |error| JournalError::Io { path: path.clone(), error };
        let bytes = part::bytes(&path, place.start, place.length as usize).map_err(io)?;
        let line = sealed::open(&bytes).ok().and_then(|json| serde_json::from_slice(json).ok());
        let Some(Line::Run(line)) = line else {
            let message = format!("run {id} has changed");
            return Err(io(io::Error::new(ErrorKind::InvalidData, message)));
        };
        let state = self.lock();
        let shape = state.parts[place.part as usize].shapes.get(line.shape);
        let names = shape.and_then(|shape| state.shapes.thing(*shape)).cloned();
        let program = state.programs.thing(place.program as usize).cloned().unwrap_or_default();
        drop(state);
        let names = names.unwrap_or_default();
        let result = FlatResult { names, values: line.values, series: line.series };
        let RunLine { status, error, trace_hash, execution, .. } = line;
        Ok(Some(Entry {
            outcome: Outcome { status, error, trace_hash, result },
            execution,
            program,
        }))
    }

    /// Imports all runs of another journal that are missing here or have no result; returns their number.
    ///
    /// # Errors
    /// One of them cannot be read or written.
    pub fn absorb(&self, other: &Self) -> Result<usize, JournalError> {
        let mut taken = 0;
        for id in other.ids() {
            let [ours, theirs] = [self, other].map(|journal| journal.note(id));
            let is_result = |note: Option<Note>| note.is_some_and(|note| note.status.has_results());
            if ours.is_some() && (is_result(ours) || !is_result(theirs)) {
                continue;
            }
            if let Some(entry) = other.read(id)? {
                {
                    let mut state = self.lock();
                    self.io(state.begin(&self.directory, self.share, &entry.program.host))?;
                    self.io(state.program(&entry.program))?;
                }
                self.add(id, entry.outcome, entry.execution)?;
                taken += 1;
            }
        }
        Ok(taken)
    }

    /// Flushes to disk.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn sync(&self) -> Result<(), JournalError> {
        let state = self.lock();
        self.io(state.writer.as_ref().map_or(Ok(()), |(writer, _)| writer.sync()))
    }

    /// Discards and removes the part of this process.
    pub(crate) fn discard(self) {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some((writer, _)) = state.writer {
            writer.discard();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn io<T>(&self, result: io::Result<T>) -> Result<T, JournalError> {
        result.map_err(|error| JournalError::Io { path: self.directory.clone(), error })
    }
}

impl State {
    /// Reads a part.
    fn load(&mut self, path: &Path) -> Result<(), JournalError> {
        let number = self.parts.len();
        self.parts.push(Part::new(path.to_owned()));
        let read = part::read(path, |line, start, length| {
            let part = &mut self.parts[number];
            match line {
                Line::Program(program) => part.programs.push(self.programs.number(program)),
                Line::Threads(threads) => part.threads = threads,
                Line::Shape(names) => part.shapes.push(self.shapes.number(names)),
                Line::Run(run) => {
                    let id = run.run.parse().map_err(|error| format!("{error}"))?;
                    let shape =
                        *part.shapes.get(run.shape).ok_or("it has a shape that was not named")?;
                    let program = part.program(run.program, &mut self.programs);
                    let kinds = (shape, run.values.iter().map(Kind::of).collect());
                    let kinds = self.kinds.number(kinds);
                    let lines = (number, start, length);
                    let place = Place::new(lines, (kinds, program), run.status, run.execution);
                    self.runs.push(id, place);
                }
            }
            Ok(())
        });
        self.unless_gone(read)
    }

    /// Reads the notes of a part.
    fn load_notes(&mut self, path: &Path) -> Result<(), JournalError> {
        let number = self.parts.len();
        self.parts.push(Part::new(path.to_owned()));
        let read = part::read(path, |line, start, length| {
            let part = &mut self.parts[number];
            match line {
                Head::Program(program) => part.programs.push(self.programs.number(program)),
                Head::Threads(threads) => part.threads = threads,
                Head::Shape(_) => {}
                Head::Run(run) => {
                    let id = run.run.parse().map_err(|error| format!("{error}"))?;
                    let program = part.program(run.program, &mut self.programs);
                    let lines = (number, start, length);
                    self.runs.push(id, Place::new(lines, (0, program), run.status, run.execution));
                }
            }
            Ok(())
        });
        self.unless_gone(read)
    }

    /// A writer without runs may remove its part while it is read.
    fn unless_gone(&mut self, read: Result<(), JournalError>) -> Result<(), JournalError> {
        match read {
            Err(JournalError::Io { error, .. }) if error.kind() == ErrorKind::NotFound => {
                self.parts.pop();
                Ok(())
            }
            other => other,
        }
    }

    /// Begins a part, unless there is one.
    fn begin(&mut self, directory: &Path, share: Shard, host: &str) -> io::Result<()> {
        if self.writer.is_none() {
            let writer = Writer::begin(directory, share, host)?;
            self.parts.push(Part::new(writer.path().to_owned()));
            self.writer = Some((writer, self.parts.len() - 1));
        }
        Ok(())
    }

    /// The writer and its part, once begun.
    fn writing(&mut self) -> io::Result<(&mut Writer, &mut Part)> {
        match &mut self.writer {
            Some((writer, number)) => Ok((writer, &mut self.parts[*number])),
            None => Err(io::Error::other("nothing was begun")),
        }
    }

    fn add_line(&mut self, line: &Line) -> io::Result<()> {
        let text = line.text()?;
        self.writing()?.0.write(&text).map(drop)
    }

    /// Records the program that makes the next runs; returns its number within the part.
    fn program(&mut self, program: &Program) -> io::Result<usize> {
        let number = self.programs.number(program.clone());
        let (_, part) = self.writing()?;
        if part.programs.last() != Some(&number) {
            self.add_line(&Line::Program(program.clone()))?;
            self.writing()?.1.programs.push(number);
        }
        Ok(self.last_program())
    }

    /// Number, within the part, of the program that makes the next runs.
    fn last_program(&mut self) -> usize {
        self.writing().map_or(0, |(_, part)| part.programs.len().saturating_sub(1))
    }

    /// Numbers of a shape in the journal and in the part, which records it first if it is new.
    fn shape(&mut self, names: Arc<Vec<String>>) -> io::Result<(usize, usize)> {
        let shape = self.shapes.number(Arc::clone(&names));
        let (_, part) = self.writing()?;
        if let Some(known) = part.shapes.iter().position(|known| *known == shape) {
            return Ok((shape, known));
        }
        self.add_line(&Line::Shape(names.to_vec()))?;
        let (_, part) = self.writing()?;
        part.shapes.push(shape);
        Ok((shape, part.shapes.len() - 1))
    }

    /// Writes the line of a run.
    fn add_run(
        &mut self,
        id: RunId,
        (status, execution): (Status, Execution),
        kinds: Kinds,
        text: &str,
    ) -> io::Result<()> {
        let start = self.writing()?.0.write_run(text)?;
        let part = self.writer.as_ref().map_or(0, |(_, number)| *number);
        let program = match self.parts[part].programs.last() {
            Some(program) => *program,
            None => self.programs.number(Program::default()),
        };
        let kinds = self.kinds.number(kinds);
        let lines = (part, start, text.len());
        self.runs.add(id, Place::new(lines, (kinds, program), status, execution));
        Ok(())
    }
}

impl Part {
    fn new(path: PathBuf) -> Self {
        Self { path, shapes: Vec::new(), programs: Vec::new(), threads: 1 }
    }

    /// The number in the journal of the program with a number in the part.
    fn program(&self, number: usize, programs: &mut Numbered<Program>) -> usize {
        match self.programs.get(number) {
            Some(program) => *program,
            None => programs.number(Program::default()),
        }
    }
}

#[cfg(test)]
mod tests;
