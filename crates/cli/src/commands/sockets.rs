//! Where the service of the SCTP sockets is, and how it is begun.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use nix::fcntl::{Flock, FlockArg};
use nix::sys::socket::{getsockopt, sockopt};
use polypath::ENCAPSULATION_PORT;
use polypath_sockets::control::{Operation, Reply, Request};
use polypath_sockets::names::{SERVICE_VARIABLE, default_service_path, is_trusted};

use crate::counts;

/// How long the service may take to begin.
const START_LIMIT: Duration = Duration::from_secs(10);

/// What distinguishes services of one user: the UDP port that they have themselves, or raw IP.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::Args)]
pub(crate) struct ServiceArgs {
    /// Local UDP port for the packets of the programs (default: 9899); 0 uses any free port
    #[arg(long, value_name = "N", value_parser = counts::within(0..=u16::MAX))]
    pub(crate) local_encapsulation_port: Option<u16>,
    /// Also use SCTP over IP (protocol 132); needs the capability CAP_NET_RAW
    #[arg(long)]
    pub(crate) raw: bool,
}

impl ServiceArgs {
    /// Local UDP port.
    pub(crate) fn port(self) -> u16 {
        self.local_encapsulation_port.unwrap_or(ENCAPSULATION_PORT)
    }

    /// Path of the service's socket.
    pub(crate) fn path(self) -> PathBuf {
        if let Some(path) = named() {
            return path;
        }
        let mut path = default_service_path(nix::unistd::getuid().as_raw()).into_os_string();
        if self.port() != ENCAPSULATION_PORT {
            path.push(format!("-udp-{}", self.port()));
        }
        if self.raw {
            path.push("-raw");
        }
        path.into()
    }

    /// The command that begins this service where [`SERVICE_VARIABLE`] names its socket, a word in each line.
    pub(crate) fn start_command(self) -> Result<OsString> {
        let program = std::env::current_exe().context("cannot find this program")?;
        let mut words = program.into_os_string();
        words.push(format!("\nwith\n--local-encapsulation-port\n{}", self.port()));
        words.push(if self.raw { "\n--raw\ntrue" } else { "\ntrue" });
        Ok(words)
    }

    /// Begins the service, unless it runs.
    pub(crate) fn ensure(self) -> Result<PathBuf> {
        let path = self.path();
        if connect(&path)?.is_some() {
            return Ok(path);
        }
        let folder = path.parent().ok_or_else(|| anyhow!("{} has no folder", path.display()))?;
        make_private(folder)?;
        // Two programs that begin at once must not begin two of them.
        let lock = std::fs::File::create(with_end(&path, ".lock"))
            .with_context(|| format!("cannot write in {}", folder.display()))?;
        let _lock = Flock::lock(lock, FlockArg::LockExclusive)
            .map_err(|(_, errno)| anyhow!("cannot lock {}: {errno}", folder.display()))?;
        if connect(&path)?.is_some() {
            return Ok(path);
        }
        self.start(&path)?;
        Ok(path)
    }

    fn start(self, path: &Path) -> Result<()> {
        let program = std::env::current_exe().context("cannot find this program")?;
        let log = with_end(path, ".log");
        let output = std::fs::File::create(&log)
            .with_context(|| format!("cannot write {}", log.display()))?;
        let mut command = Command::new(program);
        command
            .args(["stack", "--background", "--local-encapsulation-port"])
            .arg(self.port().to_string())
            .env(SERVICE_VARIABLE, path)
            .env_remove("LD_PRELOAD")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(output);
        if self.raw {
            command.arg("--raw");
        }
        let status = command.status().context("cannot start the service of the SCTP sockets")?;
        let begun = Instant::now();
        while status.success() && begun.elapsed() < START_LIMIT {
            if connect(path)?.is_some() {
                return Ok(());
            }
            if std::fs::metadata(&log).is_ok_and(|log| log.len() > 0) {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let said = std::fs::read_to_string(&log).unwrap_or_default();
        match said.lines().last() {
            Some(last) => bail!("{}", last.strip_prefix("error: ").unwrap_or(last)),
            None => bail!("the service of the SCTP sockets did not start: see {}", log.display()),
        }
    }
}

/// The path of the service's socket that the environment names.
fn named() -> Option<PathBuf> {
    std::env::var_os(SERVICE_VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// A connection to the service, if it runs. A folder in a place where everybody may write can be that of another user, with a service
/// that pretends to be this user's.
fn connect(path: &Path) -> Result<Option<UnixStream>> {
    let Ok(stream) = UnixStream::connect(path) else { return Ok(None) };
    let peer = getsockopt(&stream, sockopt::PeerCredentials)
        .with_context(|| format!("cannot find out who listens at {}", path.display()))?;
    let own = nix::unistd::geteuid().as_raw();
    if !is_trusted(peer.uid(), own, named().is_some()) {
        bail!(
            "the service at {} belongs to another user ({}), who could read and change everything: set XDG_RUNTIME_DIR to a folder of this user",
            path.display(),
            peer.uid()
        );
    }
    Ok(Some(stream))
}

/// A folder of this user that nobody else can enter.
fn make_private(folder: &Path) -> Result<()> {
    match std::fs::DirBuilder::new().mode(0o700).recursive(false).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(error)
                .with_context(|| format!("cannot make the folder {}", folder.display()));
        }
        _ => {}
    }
    let found = std::fs::symlink_metadata(folder)
        .with_context(|| format!("cannot look at {}", folder.display()))?;
    let is_ours = found.is_dir() && found.uid() == nix::unistd::getuid().as_raw();
    if !is_ours || found.mode() & 0o077 != 0 {
        bail!(
            "{} is not a folder that only this user can enter: remove it, or set XDG_RUNTIME_DIR to another place",
            folder.display()
        );
    }
    Ok(())
}

fn with_end(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// What the service says of all sockets; `None` if it does not run.
pub(crate) fn status(path: &Path) -> Result<Option<String>> {
    let Some(mut stream) = connect(path)? else { return Ok(None) };
    let ask = |stream: &mut UnixStream| -> io::Result<Reply> {
        stream.write_all(&Request::new(Operation::Status, 0).encoded())?;
        let mut length = [0; 4];
        stream.read_exact(&mut length)?;
        Reply::read(stream, length)
    };
    let reply = ask(&mut stream).context("the service of the SCTP sockets does not answer")?;
    let text = String::from_utf8_lossy(&reply.bytes).into_owned();
    if reply.value < 0 { Err(anyhow!("{text}")) } else { Ok(Some(text)) }
}
