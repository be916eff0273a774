//! An emulation from its beginning to its end.

use std::fs::File;
use std::io::{self, BufWriter};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use nix::unistd::geteuid;
use polypath_sim::{ExternalHost, Live, Scenario};
use thread_priority::{
    RealtimeThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy,
    set_thread_priority_and_policy, thread_native_id,
};

use crate::clock::{Alarm, Clock, WallClock};
use crate::device::{Tun, TunDevices};
use crate::driver::{Driver, PortCounts};
use crate::error::Error;
use crate::guardian::Guardian;
use crate::namespace::{self, Namespace, device_name};
use crate::outcome::{HostOutcome, Outcome, PortOutcome, Verdict};
use crate::program::{Program, Running, Stream, stop};

/// How often the end is looked for.
const STEP: Duration = Duration::from_millis(10);
/// How long the last lines of programs are waited for when all have ended: one that left its namespace may never end.
const PATIENCE: Duration = Duration::from_secs(2);

/// What to emulate.
#[derive(Debug)]
pub struct Options<'a> {
    /// The network, with external hosts.
    pub scenario: &'a Scenario,
    /// Seed of all random numbers.
    pub seed: u64,
    /// How long at most; without it, until the programs have ended or the run is interrupted.
    pub duration: Option<Duration>,
    /// Programs to run, started in this order.
    pub programs: Vec<Program>,
    /// Part of the time for which the emulation may be more than 1 ms behind the clock and still be believed, from 0 to 1.
    pub allowed_behind: f64,
    /// For each external host, by its position, a file for the packets that it sends and receives; may be shorter.
    pub captures: Vec<File>,
}

/// Observes the emulation.
pub trait Watcher: Sync {
    /// The network is up.
    fn ready(&self, hosts: &[HostOutcome]);
    /// A program on a host wrote a line.
    fn said(&self, host: &str, stream: Stream, line: &str);
}

/// Emulates until the programs in the foreground have ended, the time is over, or `interrupted` is set. Whatever happens,
/// namespaces and devices are gone afterwards, and programs have ended.
///
/// # Errors
/// It could not begin, or broke off. That it did not keep up with the clock, or that a program failed, is in the outcome.
pub fn run(
    options: Options<'_>,
    watcher: &dyn Watcher,
    interrupted: &AtomicBool,
) -> Result<Outcome, Error> {
    let mut live = Live::new(options.scenario, options.seed)?;
    let placed = place(&options.programs, live.hosts())?;
    if !geteuid().is_root() {
        return Err(Error::NotPermitted("run it with sudo".into()));
    }
    for (host, file) in options.captures.into_iter().enumerate() {
        live.capture(host, Box::new(BufWriter::new(file)));
    }
    namespace::remove_orphans();
    let (namespaces, devices) = connect(live.hosts())?;
    let (_guardian, namespaces) = (Guardian::over(&namespaces)?, namespaces);
    let before = hosts(live.hosts(), &namespaces, &[]);
    let driver = Driver::new(live);
    let (is_over, is_silent) = (AtomicBool::new(false), AtomicBool::new(false));
    let mut programs: Vec<Running> = Vec::new();
    let driven = thread::scope(|scope| {
        let driving = scope.spawn(|| drive(driver, devices, &is_over));
        watcher.ready(&before);
        let mut listeners = Vec::new();
        let mut begin = || {
            for (program, host) in options.programs.iter().zip(&placed) {
                let mut running = Running::start(program, namespaces[*host].name())?;
                let said = |stream, line: &str| watcher.said(&program.host, stream, line);
                listeners.extend(running.listen(scope, said, &is_silent));
                programs.push(running);
            }
            Ok(())
        };
        let begun = begin();
        let end = options.duration.map(|duration| Instant::now() + duration);
        if begun.is_ok() {
            let is_time = || end.is_some_and(|end| Instant::now() >= end);
            let is_interrupted = || interrupted.load(Ordering::Relaxed) || driving.is_finished();
            while !is_interrupted() && !is_time() && are_at_work(&mut programs) {
                thread::sleep(STEP);
            }
        }
        stop(&mut programs);
        is_over.store(true, Ordering::Relaxed);
        let driven = driving.join();
        // What programs left behind may keep their output open.
        namespaces.iter().for_each(Namespace::end_programs);
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end && !listeners.iter().all(ScopedJoinHandle::is_finished) {
            thread::sleep(STEP);
        }
        is_silent.store(true, Ordering::Relaxed);
        begun.and(driven.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    let (driver, devices, now) = driven?;
    let timing = driver.timing().outcome(now);
    let system_drops = namespaces.iter().map(Namespace::dropped).sum();
    // The system counted what it dropped per device.
    drop(devices);
    let duration_s = now.as_secs_f64();
    let mut outcome = Outcome {
        title: options.scenario.title.clone(),
        seed: options.seed,
        duration_s,
        verdict: Verdict::of(&timing, duration_s, system_drops, options.allowed_behind),
        timing,
        system_drops,
        hosts: hosts(driver.hosts(), &namespaces, driver.counts()),
        links: Vec::new(),
        unanswered_packets: 0,
        flows: Vec::new(),
        programs: programs.iter().map(Running::outcome).collect(),
    };
    let mut live = driver.into_live();
    outcome.links = live.links();
    outcome.unanswered_packets = live.unanswered();
    outcome.flows = live.finish().map_err(Error::Capture)?.flows;
    Ok(outcome)
}

/// Whether there is something to wait for: a program in the foreground, or the end where there is none at all.
fn are_at_work(programs: &mut [Running]) -> bool {
    let mut in_front = programs.iter_mut().filter(|program| program.is_in_foreground()).peekable();
    in_front.peek().is_none() || in_front.any(|program| !program.has_ended())
}

/// Positions of the hosts on which programs run.
fn place(programs: &[Program], hosts: &[ExternalHost]) -> Result<Vec<usize>, Error> {
    if hosts.is_empty() {
        return Err(Error::NoExternalHost);
    }
    let position = |program: &Program| {
        hosts.iter().position(|host| host.name == program.host).ok_or_else(|| {
            let known: Vec<String> = hosts.iter().map(|host| format!("`{}`", host.name)).collect();
            Error::NoSuchHost { name: program.host.clone(), known: known.join(", ") }
        })
    };
    programs.iter().map(position).collect()
}

/// A namespace for each host with a device for each of its interfaces.
fn connect(hosts: &[ExternalHost]) -> Result<(Vec<Namespace>, TunDevices), Error> {
    let mut namespaces = Vec::new();
    let mut devices = Vec::new();
    let mut made = 0;
    for (index, host) in hosts.iter().enumerate() {
        let namespace = Namespace::new(index, &host.name)?;
        let (mut names, mut own) = (Vec::new(), Vec::new());
        for _ in &host.ports {
            made += 1;
            let name = format!("pp{}n{made}", std::process::id());
            own.push(Tun::new(&name).map_err(device_error)?);
            names.push(name);
        }
        namespace.connect(host, &names)?;
        namespaces.push(namespace);
        devices.push(own);
    }
    Ok((namespaces, TunDevices::new(devices)))
}

fn device_error(error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::PermissionDenied => Error::NotPermitted(format!("/dev/net/tun: {error}")),
        _ => Error::Device(error),
    }
}

/// The thread that keeps the network up with the clock. Returns everything at the end, and when that was.
fn drive<'a>(
    mut driver: Driver<'a>,
    mut devices: TunDevices,
    is_over: &AtomicBool,
) -> Result<(Driver<'a>, TunDevices, polypath_units::Instant), Error> {
    go_first();
    let clock = WallClock::start();
    let mut alarm = Alarm::new(clock).map_err(Error::Broken)?;
    loop {
        let until = driver.turn(&clock, &mut devices).map_err(Error::Broken)?;
        if is_over.load(Ordering::Relaxed) {
            return Ok((driver, devices, clock.now()));
        }
        if until > clock.now() {
            devices.wait(&mut alarm, until).map_err(Error::Broken)?;
        }
    }
}

/// Puts this thread before those of other programs, if the system lets it: what is late here is a wrong link.
fn go_first() {
    let fifo = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
    if set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Min, fifo).is_err() {
        let _ = rustix::process::setpriority_process(None, -20);
    }
}

fn hosts(
    hosts: &[ExternalHost],
    namespaces: &[Namespace],
    counts: &[Vec<PortCounts>],
) -> Vec<HostOutcome> {
    let outcome = |(index, (host, namespace)): (usize, (&ExternalHost, &Namespace))| {
        let count = |port: usize| {
            counts.get(index).and_then(|host| host.get(port)).copied().unwrap_or_default()
        };
        let ports = host.ports.iter().enumerate().map(|(number, port)| {
            let PortCounts { sent, refused, received, failed } = count(number);
            PortOutcome {
                device: device_name(number),
                address: port.address,
                network: port.network.clone(),
                peers: port.peers.clone(),
                sent,
                refused,
                received,
                failed,
            }
        });
        HostOutcome {
            name: host.name.clone(),
            namespace: namespace.name().to_owned(),
            ports: ports.collect(),
        }
    };
    hosts.iter().zip(namespaces).enumerate().map(outcome).collect()
}
