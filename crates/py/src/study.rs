//! Many runs.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use polypath_lab::run::{
    self, Limits, Progress, Request, Shard, Sharing, Status, Summary, check_names, run_study,
};
use polypath_lab::study::{Extent, Reading, Study as Plan};
use polypath_sim::document::Document;
use pyo3::prelude::*;

use crate::{failure, identity};

/// How often the caller hears of progress, and Ctrl-C is noticed.
const INTERVAL: Duration = Duration::from_millis(100);

/// A study that makes sense.
#[pyclass(module = "polypath._polypath", frozen)]
pub(crate) struct Study {
    plan: Plan,
}

/// Counts runs; other threads read it.
#[derive(Default)]
struct Count {
    expected: AtomicUsize,
    done: AtomicUsize,
}

impl Progress for Count {
    fn expect(&self, runs: usize) {
        self.expected.fetch_add(runs, Ordering::Relaxed);
    }

    fn done(&self, _: Status) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }
}

#[pymethods]
impl Study {
    #[staticmethod]
    fn read(path: PathBuf, quick: bool, edits: Vec<String>, runs: Option<u32>) -> PyResult<Self> {
        Self::checked(Plan::read(&path, reading(quick, &edits)).map_err(failure)?, runs)
    }

    #[staticmethod]
    fn parse(
        text: String,
        folder: PathBuf,
        quick: bool,
        edits: Vec<String>,
        runs: Option<u32>,
    ) -> PyResult<Self> {
        let document = Document::parse("study", text).map_err(failure)?;
        let plan = Plan::from_document(&document, &folder, reading(quick, &edits));
        Self::checked(plan.map_err(failure)?, runs)
    }

    #[getter]
    fn title(&self) -> &str {
        self.plan.title()
    }

    /// Names of axes, variants and measures.
    #[getter]
    fn names(&self) -> [Vec<String>; 3] {
        [
            self.plan.axes().iter().map(|axis| axis.name.clone()).collect(),
            self.plan.variants().iter().map(|variant| variant.name.clone()).collect(),
            self.plan.measures().iter().map(|measure| measure.name.clone()).collect(),
        ]
    }

    /// Runs part `unit` of the study; `progress` is called with the runs that are over and those that are to be made, in the
    /// thread that calls this. The summary is JSON.
    fn run(
        &self,
        py: Python<'_>,
        out: PathBuf,
        jobs: Option<NonZeroUsize>,
        unit: Option<String>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<String> {
        let (shard, sharing) = match unit {
            Some(unit) => (unit.parse::<Shard>().map_err(failure)?, Sharing::Shared),
            None => (Shard::WHOLE, Sharing::Alone),
        };
        let (stop, count) = (AtomicBool::new(false), Count::default());
        let (finished, is_finished) = mpsc::channel();
        // A receiver is for one thread; the lock says that it is.
        let is_finished = Mutex::new(is_finished);
        let request = Request {
            jobs,
            shard,
            sharing,
            limits: Limits::default(),
            at_least: &[],
            program: identity::program(),
            test_bed: None,
            stop: &stop,
            progress: &count,
        };
        let mut interrupted = Ok(());
        let summary = std::thread::scope(|scope| {
            let (plan, out, request) = (&self.plan, &out, &request);
            let work = scope.spawn(move || {
                // It goes when the work is over, also by a panic.
                let _finished: mpsc::Sender<()> = finished;
                run_study(plan, out, request)
            });
            while wait(py, &is_finished) == Err(RecvTimeoutError::Timeout) {
                if interrupted.is_ok() {
                    interrupted =
                        py.check_signals().and_then(|()| tell(py, progress.as_ref(), &count));
                    stop.store(interrupted.is_err(), Ordering::Relaxed);
                }
            }
            py.detach(|| work.join())
        });
        interrupted?;
        tell(py, progress.as_ref(), &count)?;
        match summary {
            Ok(summary) => json(summary.map_err(failure)?),
            Err(_) => Err(failure("a thread of the study panicked")),
        }
    }
}

impl Study {
    fn checked(plan: Plan, runs: Option<u32>) -> PyResult<Self> {
        let plan = match runs {
            None => plan,
            Some(runs) => {
                let runs =
                    NonZeroU32::new(runs).ok_or_else(|| failure("runs must be at least 1"))?;
                plan.with_runs(runs)
            }
        };
        for (point, variant) in plan.sample() {
            plan.scenario(&plan.points().at(point), variant).map_err(failure)?;
        }
        check_names(&plan).map_err(failure)?;
        Ok(Self { plan })
    }
}

fn reading(quick: bool, edits: &[String]) -> Reading<'_> {
    Reading { extent: if quick { Extent::Quick } else { Extent::Full }, edits }
}

/// Waits for the end of the work while other threads of Python run.
fn wait(py: Python<'_>, is_finished: &Mutex<Receiver<()>>) -> Result<(), RecvTimeoutError> {
    py.detach(|| {
        let receiver = is_finished.lock().unwrap_or_else(PoisonError::into_inner);
        receiver.recv_timeout(INTERVAL)
    })
}

fn tell(py: Python<'_>, progress: Option<&Py<PyAny>>, count: &Count) -> PyResult<()> {
    let Some(progress) = progress else { return Ok(()) };
    let [done, expected] = [&count.done, &count.expected].map(|it| it.load(Ordering::Relaxed));
    progress.call1(py, (done, expected)).map(drop)
}

fn json(summary: Summary) -> PyResult<String> {
    serde_json::to_string(&summary).map_err(failure)
}

/// Writes the tables of a directory to which units have written.
#[pyfunction]
pub(crate) fn gather(py: Python<'_>, out: PathBuf) -> PyResult<String> {
    json(py.detach(|| run::gather(&out)).map_err(failure)?)
}
