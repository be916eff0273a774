//! Network namespaces, made with the program `ip`.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, ErrorKind, Write as _};
use std::net::IpAddr;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use polypath_sim::ExternalHost;

use crate::error::Error;

/// What names of all our namespaces begin with; the number of the process follows.
const PREFIX: &str = "polypath-emulate-";
/// Where names of namespaces are.
const NAMES: &str = "/run/netns";
/// Routing tables of addresses begin here; each interface has its own.
const FIRST_TABLE: usize = 1_000;
/// Packets that wait for the emulation to take them. Queues of the scenario are the links': here nothing may be lost.
const DEVICE_QUEUE: u32 = 20_000;
/// How often programs are looked for that are to end, at least and for how long, and what lies between.
const ROUNDS: usize = 3;
const PATIENCE: Duration = Duration::from_secs(2);
const ROUND: Duration = Duration::from_millis(10);
/// How long a call of `ip` may take: milliseconds where nothing is wrong, more where all processors do something else.
const CALL: Duration = Duration::from_secs(30);
/// Switches off what would drop packets that come by one interface and are answered by another, and what would make
/// addresses wait.
const SETTINGS: [(&str, &str); 5] = [
    ("ipv4/conf/all/rp_filter", "0"),
    ("ipv4/conf/default/rp_filter", "0"),
    ("ipv6/conf/all/accept_dad", "0"),
    ("ipv6/conf/default/accept_dad", "0"),
    ("ipv6/conf/default/addr_gen_mode", "1"),
];

/// The namespace of an external host. It and all programs in it end when this is dropped.
#[derive(Debug)]
pub(crate) struct Namespace {
    name: String,
}

impl Namespace {
    /// Makes the namespace of host number `index`, whose name is part of its own.
    pub fn new(index: usize, host: &str) -> Result<Self, Error> {
        let name = name(std::process::id(), index, host);
        ip(&["netns", "add", &name])?;
        let namespace = Self { name };
        let script: String = SETTINGS.iter().fold(String::new(), |mut script, (key, value)| {
            let _ = write!(
                script,
                "[ ! -e /proc/sys/net/{key} ] || echo {value} > /proc/sys/net/{key}; "
            );
            script
        });
        ip(&["netns", "exec", &namespace.name, "sh", "-c", &script])?;
        Ok(namespace)
    }

    /// Its name, as `ip netns` shows it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Takes devices of this process in, one for each interface of the host, and gives them addresses and routes: what is
    /// sent from an address leaves by its own interface.
    pub fn connect(&self, host: &ExternalHost, devices: &[String]) -> Result<(), Error> {
        for device in devices {
            ip(&["link", "set", device, "netns", &self.name])?;
        }
        // In a batch, rules take their version from the call. All addresses of a scenario have the same.
        let is_v6 = host.ports.iter().any(|port| port.address.is_ipv6());
        batch(&self.name, if is_v6 { "-6" } else { "-4" }, &setup(host, devices))
    }

    /// Packets that its devices dropped before the emulation saw them.
    pub fn dropped(&self) -> u64 {
        let output = ip(&["-n", &self.name, "-json", "-stats", "link", "show"]);
        let links = output.ok().and_then(|output| serde_json::from_slice(&output.stdout).ok());
        let links: Vec<serde_json::Value> = links.unwrap_or_default();
        let ours = links
            .iter()
            .filter(|link| link["ifname"].as_str().is_some_and(|name| name.starts_with(DEVICE)));
        ours.filter_map(|link| link["stats64"]["tx"]["dropped"].as_u64()).sum()
    }

    /// Ends every program that is still in it, and what they start meanwhile.
    pub fn end_programs(&self) {
        let end = Instant::now() + PATIENCE;
        let mut rounds = 0..;
        while rounds.next().is_some_and(|round| round < ROUNDS) || Instant::now() < end {
            let Ok(output) = ip(&["netns", "pids", &self.name]) else { return };
            let found = String::from_utf8_lossy(&output.stdout);
            let mut is_empty = true;
            for pid in found.split_whitespace().filter_map(|pid| pid.parse().ok()) {
                is_empty = false;
                let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
            }
            if is_empty {
                return;
            }
            thread::sleep(ROUND);
        }
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        self.end_programs();
        let _ = ip(&["netns", "delete", &self.name]);
    }
}

/// Begin of the names of our devices in a namespace; the number of the interface follows, from 1.
const DEVICE: &str = "path";

/// Name of the device of an interface.
pub(crate) fn device_name(port: usize) -> String {
    format!("{DEVICE}{}", port + 1)
}

/// A name with what every name of a namespace may have: it is the name of a file.
fn name(process: u32, index: usize, host: &str) -> String {
    const LONGEST: usize = 40;
    let fit = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    let fitted: String = host.chars().take(LONGEST).map(fit).collect();
    // Two hosts may differ in what does not fit only.
    match host.as_bytes() {
        [letter] if letter.is_ascii_alphanumeric() => format!("{PREFIX}{process}-{host}"),
        _ => format!("{PREFIX}{process}-{}-{fitted}", index + 1),
    }
}

/// Removes namespaces of processes that were killed before they could.
pub(crate) fn remove_orphans() {
    for name in fs::read_dir(NAMES).into_iter().flatten().flatten() {
        let name = name.file_name().to_string_lossy().into_owned();
        let process = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next());
        let Some(process) = process.and_then(|number| number.parse::<u32>().ok()) else { continue };
        if !fs::exists(format!("/proc/{process}")).unwrap_or(true) {
            drop(Namespace { name });
        }
    }
}

/// The commands of `ip` that set the interfaces of a host up.
fn setup(host: &ExternalHost, devices: &[String]) -> String {
    let mut commands = String::from("link set lo up\n");
    let mut add = |command: std::fmt::Arguments<'_>| {
        let _ = writeln!(commands, "{command}");
    };
    for (index, (port, device)) in host.ports.iter().zip(devices).enumerate() {
        let own = device_name(index);
        add(format_args!("link set dev {device} name {own}"));
        add(format_args!("link set dev {own} mtu {} txqueuelen {DEVICE_QUEUE}", host.mtu));
        match port.address {
            IpAddr::V4(ip) => add(format_args!("address add {ip}/32 dev {own}")),
            IpAddr::V6(ip) => add(format_args!("address add {ip}/128 dev {own} nodad")),
        }
        add(format_args!("link set dev {own} up"));
    }
    let mut taken: Vec<IpAddr> = Vec::new();
    for (index, port) in host.ports.iter().enumerate() {
        let (own, ip, table) = (device_name(index), port.address, FIRST_TABLE + index);
        let (all, bits) = if ip.is_ipv4() { ("0.0.0.0/0", 32) } else { ("::/0", 128) };
        add(format_args!("route add {all} dev {own} src {ip} table {table}"));
        add(format_args!("rule add from {ip} lookup {table}"));
        // For programs that name no address of their own.
        for peer in &port.peers {
            if !taken.contains(peer) {
                taken.push(*peer);
                add(format_args!("route add {peer}/{bits} dev {own} src {ip}"));
            }
        }
    }
    commands
}

/// Calls `ip`.
pub(crate) fn ip(arguments: &[&str]) -> Result<Output, Error> {
    let mut command = Command::new("ip");
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    judge(arguments, command.spawn().and_then(|child| output_within(child, CALL)))
}

/// Calls `ip` in a namespace, with many commands at once.
fn batch(namespace: &str, version: &str, commands: &str) -> Result<(), Error> {
    let arguments = ["-n", namespace, version, "-batch", "-"];
    let mut child = Command::new("ip");
    child.args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let output = child.spawn().and_then(|mut child| {
        // What it did not read it complains about itself.
        let _ = child.stdin.take().map(|mut input| input.write_all(commands.as_bytes()));
        output_within(child, CALL)
    });
    judge(&arguments, output).map(|_| ())
}

/// Waits for the end of a program, which is ended if that takes too long.
fn output_within(child: Child, limit: Duration) -> io::Result<Output> {
    let pid = i32::try_from(child.id()).ok();
    let (end, ended) = mpsc::channel();
    thread::spawn(move || end.send(child.wait_with_output()));
    ended.recv_timeout(limit).unwrap_or_else(|_| {
        let _ = pid.map(|pid| kill(Pid::from_raw(pid), Signal::SIGKILL));
        let message = format!("it did not end within {} s", limit.as_secs());
        Err(io::Error::new(ErrorKind::TimedOut, message))
    })
}

fn judge(arguments: &[&str], output: io::Result<Output>) -> Result<Output, Error> {
    let command = || format!("ip {}", arguments.join(" "));
    let output = output.map_err(|error| match error.kind() {
        ErrorKind::NotFound => Error::NoIpCommand,
        _ => Error::Ip { command: command(), message: error.to_string() },
    })?;
    if output.status.success() {
        return Ok(output);
    }
    let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    match message.contains("Operation not permitted") || message.contains("Permission denied") {
        true => Err(Error::NotPermitted(format!("`{}`: {message}", command()))),
        false => Err(Error::Ip { command: command(), message }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_waits_for_ever() {
        let child = |command: &str| {
            let mut sh = Command::new("sh");
            sh.args(["-c", command]).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap()
        };
        let output = output_within(child("echo x"), CALL).unwrap();
        assert_eq!(output.stdout, b"x\n");
        let slow = child("exec sleep 1000");
        let error = output_within(slow, Duration::ZERO).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
    }

    #[test]
    fn names_are_names_of_files_and_differ() {
        assert_eq!(name(7, 0, "a"), "polypath-emulate-7-a");
        assert_eq!(name(7, 0, "client 1"), "polypath-emulate-7-1-client-1");
        assert_eq!(name(7, 1, "client/1"), "polypath-emulate-7-2-client-1");
        assert_ne!(name(7, 0, "ä"), name(7, 1, "ö"));
        assert!(name(u32::MAX, 9, &"ä".repeat(300)).len() < 255);
    }
}
