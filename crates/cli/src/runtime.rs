//! The runtime of commands that use the network, and their interruption.

use std::time::Duration;

use anyhow::Context;
use polypath::{BindError, Endpoint, EndpointBuilder};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::failure::Failure;
use crate::zoned;

/// How long associations may take to shut down when a command is done.
const DRAIN: Duration = Duration::from_secs(10);
/// How long their last packets may take to leave after that.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Whether the user has interrupted the command (SIGINT or SIGTERM).
#[derive(Clone, Debug)]
pub(crate) struct Interruption(watch::Receiver<bool>);

impl Interruption {
    /// Waits for the interruption.
    pub(crate) async fn happened(&self) {
        let mut receiver = self.0.clone();
        if receiver.wait_for(|interrupted| *interrupted).await.is_err() {
            std::future::pending().await
        }
    }
}

/// Threads of a command besides the main one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Threads {
    /// One, for a single association: its user and its driver alternate anyway, and would wait for each other on two threads.
    One,
    /// One for each processor.
    All,
}

/// Runs a command. The first interruption lets it clean up, the second ends the process.
pub(crate) fn run<T>(
    threads: Threads,
    command: impl AsyncFnOnce(&Interruption) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    if threads == Threads::One {
        builder.worker_threads(1);
    }
    let runtime = builder.enable_all().build().context("cannot start the asynchronous runtime")?;
    // Dropping the runtime waits for threads that write files, so that they remove incomplete ones.
    runtime.block_on(async {
        let (interrupt, receiver) = watch::channel(false);
        let mut signals = Signals::new().context("cannot listen to signals")?;
        tokio::spawn(async move {
            signals.next().await;
            let _ = interrupt.send(true);
            signals.next().await;
            std::process::exit(Failure::INTERRUPTED);
        });
        command(&Interruption(receiver)).await
    })
}

/// Binds an endpoint. Invalid addresses are wrong usage; a refusal of the system is a fault of the machine.
pub(crate) fn bind(builder: EndpointBuilder) -> Result<Endpoint, Failure> {
    builder.bind().map_err(|error| match error {
        BindError::LinkLocal(address) => Failure::Usage(zoned::without_interface(address)),
        BindError::NoAddress | BindError::NotUnicast(_) | BindError::Duplicate(_) => {
            Failure::usage(error)
        }
        BindError::Socket { .. }
        | BindError::RawSocket { .. }
        | BindError::NoDevice { .. }
        | BindError::NotOnDevice { .. }
        | BindError::Device { .. }
        | BindError::KernelSctp
        | BindError::NoCommonPort => Failure::Unfit(error.into()),
        other => Failure::Failed(other.into()),
    })
}

/// Closes the endpoint of a command that is done. The last packets are sent, so that peers learn of the end, but neither peers
/// nor the network can delay the command for long, and an interruption shortens the wait.
pub(crate) async fn drain(endpoint: &Endpoint, interruption: &Interruption) {
    endpoint.stop_listening();
    tokio::select! {
        biased;
        () = endpoint.idle() => return,
        () = interruption.happened() => {}
        () = sleep(DRAIN) => {}
    }
    endpoint.close("the program ends");
    // Peers that miss it detect the end by their timers.
    let _ = timeout(LAST_WORDS, endpoint.idle()).await;
}

/// The signals that interrupt.
struct Signals {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
}

impl Signals {
    #[cfg(unix)]
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    #[cfg(not(unix))]
    fn new() -> std::io::Result<Self> {
        Ok(Self {})
    }

    #[cfg(unix)]
    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }

    #[cfg(not(unix))]
    async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending().await
        }
    }
}
