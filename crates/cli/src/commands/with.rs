//! `polypath with`: unmodified programs with the SCTP sockets of this stack.

mod file;

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, anyhow};
use polypath::Preset;
use polypath_sockets::names::{SERVICE_VARIABLE, SETTINGS_VARIABLE, START_VARIABLE};

use self::file::Options;
use super::sockets::ServiceArgs;
use super::stack::check_settings;
use crate::counts;
use crate::failure::{Failure, Outcome};
use crate::sctp_args::preset_parser;

/// Name of the library that is preloaded.
const LIBRARY: &str = "libpolypath_sctp.so";

/// Environment variable with the path of the library, if it is not installed beside this program.
const LIBRARY_VARIABLE: &str = "POLYPATH_SCTP_LIBRARY";

/// Which addresses sockets use.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Paths {
    /// Those that the program binds
    AsBound,
    /// All addresses of the host, even if the program binds one
    All,
}

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The program needs no SCTP in the kernel, no privileges and no changes. Its SCTP packets travel in UDP (RFC 6951), so
the other side needs SCTP in UDP, too: a program that `polypath with` runs, usrsctp, or Linux with net.sctp.udp_port set.
Both programs may run on the same host. `polypath ss` shows the sockets.

Examples:
  polypath with iperf3 --server
  polypath with iperf3 --sctp --client 192.0.2.1
  polypath with --paths all --preset cmt sctp_darn -H 0 -P 5000 -l
  polypath with --config uplinks.toml freeDiameterd")]
pub(crate) struct Args {
    /// Read options from a TOML file: preset, set, paths, encapsulation_port, local_encapsulation_port, raw. Options of the command line take precedence
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Preset of policies to begin with (default: recommended); `polypath policies` describes them
    #[arg(long, value_name = "NAME", value_parser = preset_parser())]
    preset: Option<Preset>,
    /// Change a setting of the associations, for example 'policies.rto.min=200 ms'; repeatable
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Addresses that the sockets use (default: as-bound)
    #[arg(long, value_enum)]
    paths: Option<Paths>,
    /// UDP port of the peers
    #[arg(long, value_name = "N", conflicts_with = "raw", value_parser = counts::within(0..=u16::MAX))]
    encapsulation_port: Option<u16>,
    #[command(flatten)]
    service: ServiceArgs,
    /// The program
    #[arg(value_name = "PROGRAM")]
    program: OsString,
    /// Its arguments
    #[arg(value_name = "ARGS", trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// Runs the program in place of this one.
pub(crate) fn run(args: &Args) -> Outcome {
    let file = args.config.as_deref().map_or_else(|| Ok(Options::default()), Options::read)?;
    let settings = settings(args, &file);
    let service = ServiceArgs {
        local_encapsulation_port: args
            .service
            .local_encapsulation_port
            .or(file.local_encapsulation_port),
        raw: args.service.raw || file.raw == Some(true) && args.encapsulation_port.is_none(),
    };
    check_settings(&settings, service)?;
    let library = library()?;
    let path = service.ensure().map_err(Failure::Unfit)?;
    let mut preload = library.into_os_string();
    if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        preload.push(":");
        preload.push(others);
    }
    let error = Command::new(&args.program)
        .args(&args.arguments)
        .env("LD_PRELOAD", preload)
        .env(SERVICE_VARIABLE, path)
        .env(START_VARIABLE, service.start_command()?)
        .env(SETTINGS_VARIABLE, settings)
        .exec();
    let name = args.program.to_string_lossy();
    Err(Failure::Usage(anyhow!("cannot run {name}: {error}")))
}

/// A line for each setting: that of the command line, else that of the file.
fn settings(args: &Args, file: &Options) -> String {
    let preset = args.preset.or(file.preset).unwrap_or(Preset::Recommended);
    let mut lines = format!("preset={}\n", preset.name());
    for change in file.set.iter().chain(&args.set) {
        lines.push_str(&format!("set={change}\n"));
    }
    if args.paths.or(file.paths) == Some(Paths::All) {
        lines.push_str("paths=all\n");
    }
    let of_file = file.encapsulation_port.filter(|_| !args.service.raw);
    if let Some(port) = args.encapsulation_port.or(of_file) {
        lines.push_str(&format!("udp-port={port}\n"));
    }
    lines
}

/// The library that is preloaded: from the directory of this program, or from the library directory beside it.
fn library() -> Result<PathBuf> {
    if let Some(named) = std::env::var_os(LIBRARY_VARIABLE).filter(|named| !named.is_empty()) {
        return Ok(named.into());
    }
    let program = std::env::current_exe().context("cannot find this program")?;
    let folder = program.parent().unwrap_or(&program);
    let places = [
        folder.join(LIBRARY),
        folder.join("../lib/polypath").join(LIBRARY),
        folder.join("../lib").join(LIBRARY),
    ];
    places.into_iter().find(|place| place.is_file()).ok_or_else(|| {
        anyhow!(
            "{LIBRARY} is not in {}: build it with `cargo build --release --package polypath-capi`, or say in {LIBRARY_VARIABLE} where it is",
            folder.display()
        )
    })
}
