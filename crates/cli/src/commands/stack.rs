//! `polypath stack`: the service of the SCTP sockets.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, anyhow};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use polypath::config::NetworkLimit;
use polypath::{
    AssociationConfig, BindError, Carriers, ENCAPSULATION_PORT, Endpoint, EndpointConfig, Preset,
};
use polypath_sockets::service::{Service, Settings};
use polypath_units::ByteCount;
use tokio::net::UnixListener;

use super::sockets::ServiceArgs;
use crate::counts;
use crate::failure::{Failure, Outcome};
use crate::meter::numbers;
use crate::runtime::{self, Threads};
use crate::settings;

/// How long it stays when no socket is open.
const PATIENCE: Duration = Duration::from_secs(30);

/// Memory that the machine is taken to have if it does not say.
const MEMORY_IF_UNKNOWN: u64 = 4 << 30;

/// Maximum number of associations of all programs together.
const MAX_ASSOCIATIONS: u32 = 65_536;

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
All programs of a user that `polypath with` starts share one service, and with it one UDP port. It exits when no SCTP socket has been open for 30 s. Run it in the foreground for debugging.

Examples:
  polypath stack
  polypath stack --local-encapsulation-port 9900")]
pub(crate) struct Args {
    #[command(flatten)]
    service: ServiceArgs,
    /// Memory for data that programs have not read (default: a quarter of the machine's). Above half of it, receive windows shrink; near it, new associations are refused
    #[arg(long, value_name = "SIZE", value_parser = numbers::memory)]
    max_memory: Option<ByteCount>,
    /// Maximum number of associations that peers at one address (of IPv6: one /64 network) have with all programs together
    #[arg(long, value_name = "N", default_value_t = 4096, value_parser = counts::within(1..=MAX_ASSOCIATIONS))]
    max_per_address: u32,
    /// The same for the addresses of one network: an IPv4 /24, an IPv6 /48
    #[arg(long, value_name = "N", default_value_t = 16_384, value_parser = counts::within(1..=MAX_ASSOCIATIONS))]
    max_per_network: u32,
    /// Run in the background, detached from the terminal
    #[arg(long)]
    background: bool,
}

impl Args {
    /// What the peers of all programs together may have.
    fn limits(&self) -> EndpointConfig {
        let memory = self.max_memory.map_or_else(default_memory, ByteCount::as_bytes);
        EndpointConfig {
            max_associations: MAX_ASSOCIATIONS,
            max_associations_per_address: Some(self.max_per_address),
            max_associations_per_network: Some(NetworkLimit::new(self.max_per_network)),
            max_buffered_bytes: Some(memory),
            ..EndpointConfig::default()
        }
    }
}

/// Serves.
pub(crate) fn run(args: &Args) -> Outcome {
    if args.background {
        let mut command =
            Command::new(std::env::current_exe().context("cannot find this program")?);
        command
            .args(std::env::args_os().skip(1).filter(|arg| arg != "--background"))
            .stdin(Stdio::null())
            .process_group(0);
        command.spawn().context("cannot start the service")?;
        return Ok(());
    }
    // Fails where the process leads a group, as in a shell: then it has a terminal, and may keep it.
    let _ = nix::unistd::setsid();
    // A descriptor for each socket, and memory that counts as files.
    for resource in [Resource::RLIMIT_NOFILE, Resource::RLIMIT_FSIZE] {
        if let Ok((_, most)) = getrlimit(resource) {
            let _ = setrlimit(resource, most, most);
        }
    }
    let path = args.service.path();
    let config = args.limits();
    let args = args.service;
    runtime::run(Threads::All, async move |interruption| {
        let endpoint = soon(|| bind(args, &config)).await?;
        // What is there belongs to a service that has ended without a word.
        let _ = std::fs::remove_file(&path);
        let listener = UnixListener::bind(&path)
            .with_context(|| format!("cannot listen at {}", path.display()))?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))
            .with_context(|| format!("cannot protect {}", path.display()))?;
        let service = Service::new(endpoint.clone(), move |text| read_settings(text, args));
        tokio::select! {
            () = service.serve(listener, PATIENCE) => {}
            () = interruption.happened() => {}
        }
        let _ = std::fs::remove_file(&path);
        runtime::drain(&endpoint, interruption).await;
        Ok(())
    })
}

/// A quarter of the machine's memory: peers of programs that do not read may fill it.
fn default_memory() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    memory_in(&text).unwrap_or(MEMORY_IF_UNKNOWN) / 4
}

/// Bytes of memory that the machine has, from what the kernel says of it.
fn memory_in(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    kib.checked_mul(1024)
}

/// How often, and how long in between, the port is tried that a service which ends may still have.
const BIND_TRIES: usize = 10;
const BIND_PAUSE: Duration = Duration::from_millis(50);

/// Binds, again and again for a moment while the port is in use. Nothing else passes by itself.
async fn soon<T>(mut bind: impl FnMut() -> Result<T, Failure>) -> Result<T, Failure> {
    for _ in 1..BIND_TRIES {
        match bind() {
            Err(failure) if is_in_use(&failure) => tokio::time::sleep(BIND_PAUSE).await,
            bound => return bound,
        }
    }
    bind()
}

/// Whether another program has the UDP port.
fn is_in_use(failure: &Failure) -> bool {
    let Failure::Unfit(error) = failure else { return false };
    matches!(
        error.downcast_ref(),
        Some(BindError::Socket { source, .. }) if source.kind() == io::ErrorKind::AddrInUse
    )
}

/// An endpoint at all addresses of the host.
fn bind(args: ServiceArgs, config: &EndpointConfig) -> Result<Endpoint, Failure> {
    let all = ["0.0.0.0", "::"].map(|any| any.parse().map_err(|_| anyhow!("{any}")));
    let [v4, v6] = all;
    let (v4, v6) = (v4?, v6?);
    let attempt = |addresses: Vec<std::net::IpAddr>| {
        let carriers = if args.raw { Carriers::Both } else { Carriers::Udp };
        let builder = Endpoint::builder(addresses).config(config.clone());
        runtime::bind(builder.encapsulation_port(args.port()).carriers(carriers))
    };
    let bound = match attempt(vec![v4, v6]) {
        // Hosts without IPv6 have no such addresses.
        Err(failure) if !is_in_use(&failure) => attempt(vec![v4]),
        done => done,
    };
    bound.map_err(|failure| match failure {
        Failure::Unfit(error) if is_in_use(&failure) => {
            let port = args.port();
            let advice = format!(
                "UDP port {port} is in use: choose another one with --local-encapsulation-port"
            );
            Failure::Unfit(error.context(advice))
        }
        other => other,
    })
}

/// What `polypath with` has put into the program's environment: a setting in each line.
fn read_settings(text: &str, service: ServiceArgs) -> Result<Settings, String> {
    let mut preset = Preset::Recommended;
    let mut changes = Vec::new();
    let mut encapsulation_port = (!service.raw).then_some(ENCAPSULATION_PORT);
    let mut all_addresses = false;
    for line in text.lines().filter(|line| !line.is_empty()) {
        match line.split_once('=') {
            Some(("preset", name)) => {
                preset =
                    Preset::from_name(name).ok_or_else(|| format!("no such preset: {name}"))?;
            }
            Some(("set", change)) => changes.push(change.to_owned()),
            Some(("paths", "all")) => all_addresses = true,
            Some(("udp-port", "none")) => encapsulation_port = None,
            Some(("udp-port", port)) => {
                let port = port.parse().map_err(|_| format!("{port} is no UDP port"))?;
                encapsulation_port = Some(port);
            }
            _ => return Err(format!("{line:?} is no setting of SCTP sockets")),
        }
    }
    let association = settings::changed(&AssociationConfig::with_preset(preset), &changes);
    Ok(Settings {
        association: association.map_err(|error| format!("{error:#}"))?,
        encapsulation_port,
        all_addresses,
    })
}

/// Checks settings before a program has them.
pub(crate) fn check_settings(text: &str, service: ServiceArgs) -> Result<(), Failure> {
    read_settings(text, service).map(drop).map_err(|reason| Failure::Usage(anyhow!("{reason}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const UDP: ServiceArgs = ServiceArgs { local_encapsulation_port: None, raw: false };

    #[test]
    fn no_peer_takes_all_associations_of_the_programs() {
        #[derive(Debug, clap::Parser)]
        struct Program {
            #[command(flatten)]
            args: Args,
        }

        let limits = |options: &[&str]| {
            let words = [&["program"], options].concat();
            <Program as clap::Parser>::try_parse_from(words).unwrap().args.limits()
        };
        let usual = limits(&[]);
        let network = usual.max_associations_per_network.unwrap();
        assert!(usual.max_associations_per_address.unwrap() < network.associations);
        assert!(network.associations < usual.max_associations);
        let few = limits(&["--max-per-address", "5", "--max-per-network", "9"]);
        assert_eq!(few.max_associations_per_address, Some(5));
        assert_eq!(few.max_associations_per_network, Some(NetworkLimit::new(9)));
        assert_eq!(few.max_buffered_bytes, usual.max_buffered_bytes);
    }

    #[test]
    fn settings_are_read_line_by_line() {
        let text = "preset=rfc9260\nset=policies.rto.min=200 ms\npaths=all\nudp-port=9900\n";
        let settings = read_settings(text, UDP).unwrap();
        assert!(settings.all_addresses);
        assert_eq!(settings.encapsulation_port, Some(9900));
        assert_eq!(settings.association.policies.rto.min, polypath::Duration::from_millis(200));
        let plain = read_settings("", UDP).unwrap();
        assert_eq!((plain.encapsulation_port, plain.all_addresses), (Some(9899), false));
        let raw = read_settings("", ServiceArgs { raw: true, ..UDP }).unwrap();
        assert_eq!(raw.encapsulation_port, None);
    }

    #[tokio::test(start_paused = true)]
    async fn only_a_port_in_use_is_worth_another_try() {
        for (kind, tries) in [
            (io::ErrorKind::AddrInUse, BIND_TRIES),
            (io::ErrorKind::PermissionDenied, 1),
            (io::ErrorKind::AddrNotAvailable, 1),
        ] {
            let mut tried = 0;
            let bound = soon(|| {
                tried += 1;
                let (address, source) = ([0, 0, 0, 0].into(), kind.into());
                let error = BindError::Socket { address, port: 9899, source };
                Err::<(), _>(Failure::Unfit(anyhow!(error).context("advice")))
            });
            assert!(bound.await.is_err());
            assert_eq!(tried, tries, "{kind:?}");
        }
        let mut others = 2;
        let bound = soon(|| match others {
            0 => Ok(9899),
            _ => {
                others -= 1;
                let (address, source) = ([0, 0, 0, 0].into(), io::ErrorKind::AddrInUse.into());
                Err(Failure::Unfit(BindError::Socket { address, port: 9899, source }.into()))
            }
        });
        assert_eq!(bound.await.ok(), Some(9899), "the service before has ended");
    }

    #[tokio::test]
    async fn a_port_in_use_is_named_with_the_option() {
        let other = std::net::UdpSocket::bind("0.0.0.0:0").unwrap();
        let port = other.local_addr().unwrap().port();
        let args = ServiceArgs { local_encapsulation_port: Some(port), raw: false };
        let failure = bind(args, &EndpointConfig::default()).map(drop).unwrap_err();
        assert!(is_in_use(&failure));
        let text = failure.to_string();
        assert!(text.contains(&port.to_string()) && text.contains("--local-enc"), "{text}");
    }

    #[test]
    fn the_memory_of_the_machine_is_read() {
        assert_eq!(memory_in("MemFree: 1 kB\nMemTotal:       16384 kB\n"), Some(16 << 20));
        for text in ["", "MemTotal: 5", "MemTotal: x kB", "MemTotal: 18446744073709551615 kB"] {
            assert_eq!(memory_in(text), None, "{text}");
        }
        assert!(default_memory() > 0);
    }

    #[test]
    fn wrong_settings_are_named() {
        for (text, named) in [
            ("preset=fast", "no such preset: fast"),
            ("udp-port=70000", "70000"),
            ("paths=two", "paths=two"),
            ("set=policies.rto.mim=1 s", "did you mean"),
        ] {
            let error = read_settings(text, UDP).unwrap_err();
            assert!(error.contains(named), "{error}");
        }
    }
}
