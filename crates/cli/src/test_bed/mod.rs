//! Scenarios with `test_bed`, in real time: this program's meter on two hosts of a test bed.

mod measured;
mod plan;

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use polypath_emulate::{ETHERNET, ShapedLink, Side, TestBed};
use polypath_lab::run::Outcome;
use polypath_sim::Scenario;
use polypath_units::{BitRate, ByteCount};

use plan::Plan;

/// How long the server may take to listen, and the client longer than the scenario.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often their state is polled.
const STEP: Duration = Duration::from_millis(20);
/// Output of the server when it is ready.
const LISTENING: &str = "listening";

/// The test bed of this machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Namespaces;

impl polypath_lab::run::TestBed for Namespaces {
    fn objection(&self) -> Option<String> {
        let link = ShapedLink {
            rate: BitRate::from_mbit(1),
            framing: ETHERNET,
            burst: ByteCount::from_bytes(16_000),
            queue: ByteCount::from_bytes(150_000),
            mtu: ByteCount::from_bytes(1_500),
        };
        TestBed::new(&[link]).err().map(|error| error.to_string())
    }

    fn machine(&self) -> String {
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let processors = thread::available_parallelism().map_or(1, usize::from);
        format!("Linux {}, {processors} processors", kernel.trim())
    }

    fn run(&self, scenario: &Scenario, seed: u64) -> Result<Outcome, String> {
        let plan = Plan::of(scenario, seed)?;
        let document = measure(&plan)?;
        measured::outcome(&document, &plan.names)
    }
}

/// Runs the meter between the hosts, and returns what the client printed.
fn measure(plan: &Plan) -> Result<String, String> {
    let work = tempfile::tempdir().map_err(told("cannot make a directory"))?;
    let program = std::env::current_exe().map_err(told("cannot find this program"))?;
    let bed = TestBed::new(&plan.links).map_err(|error| error.to_string())?;
    let start = |side, name: &str, arguments: &[String]| {
        let file = |ending| File::create(work.path().join(format!("{name}.{ending}")));
        let [out, err] = [file("out"), file("err")];
        let mut command = bed.command(side, &program);
        command.arg("meter").args(arguments).stdin(Stdio::null());
        command.stdout(out.map_err(told("cannot write"))?);
        command.stderr(err.map_err(told("cannot write"))?);
        command.spawn().map_err(told("cannot start the meter"))
    };
    let mut server = start(Side::B, "server", &plan.server)?;
    let said = |name: &str| read(work.path(), name);
    let listens = |_: &mut Child| said("server.err").contains(LISTENING).then_some(());
    if wait(&mut server, PATIENCE, listens)?.is_none() {
        return Err(format!("the server does not listen: {}", said("server.err").trim()));
    }
    let mut client = start(Side::A, "client", &plan.client)?;
    let ended = |client: &mut Child| client.try_wait().ok().flatten();
    let status: Option<ExitStatus> = wait(&mut client, plan.time + PATIENCE, ended)?;
    if !status.is_some_and(|status| status.success()) {
        let how = status.map_or("it did not end".into(), |status| status.to_string());
        return Err(format!("the meter failed ({how}): {}", said("client.err").trim()));
    }
    let document = said("client.out");
    // The programs end with them.
    drop(bed);
    let _ = server.wait();
    Ok(document)
}

/// Waits for an output of a program. Fails if the program ends before, or is late.
fn wait<T>(
    program: &mut Child,
    patience: Duration,
    mut is_there: impl FnMut(&mut Child) -> Option<T>,
) -> Result<Option<T>, String> {
    let end = Instant::now() + patience;
    loop {
        let has_ended = program.try_wait().map_err(told("cannot wait for the meter"))?.is_some();
        if let Some(found) = is_there(program) {
            return Ok(Some(found));
        }
        if has_ended || Instant::now() >= end {
            return Ok(None);
        }
        thread::sleep(STEP);
    }
}

fn read(folder: &Path, name: &str) -> String {
    fs::read(folder.join(name))
        .map_or_else(|_| String::new(), |bytes| String::from_utf8_lossy(&bytes).into_owned())
}

fn told(what: &str) -> impl FnOnce(std::io::Error) -> String {
    move |error| format!("{what}: {error}")
}
