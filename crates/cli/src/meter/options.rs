//! Arguments of `polypath meter client`.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use clap::builder::PossibleValuesParser;
use polypath::config::CongestionAlgorithm;
use polypath::{Association, AssociationConfig, Carriers, ENCAPSULATION_PORT, Peer, Preset};
use polypath_meter::document::Document;
use polypath_meter::{
    Client, Clocks, Direction, FlowSpec, Labels, MAX_FLOWS, MAX_MESSAGE_BYTES, MIN_INTERVAL,
    MIN_MESSAGE_BYTES, PORT, Plan, PlanError,
};
use polypath_transfer::MIN_BUFFER_BYTES;
use polypath_units::BitRate;

use super::numbers;
use crate::counts;
use crate::failure::Failure;
use crate::hosts::{self, Host};
use crate::keys::KeyArgs;
use crate::program::program;
use crate::qlog::QlogArgs;
use crate::sctp_args::{ports, preset_parser};
use crate::seed;
use crate::settings::association_config;
use crate::zoned::Zoned;

/// Options of a client.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ClientOptions {
    /// Addresses or names of the server, separated by commas; the server lists its other
    /// addresses in the handshake
    #[arg(value_name = "HOST", value_delimiter = ',', required = true)]
    pub hosts: Vec<Host>,
    #[command(flatten)]
    pub transport: Transport,
    #[command(flatten)]
    pub load: Load,
    #[command(flatten)]
    pub direction: DirectionOptions,
    #[command(flatten)]
    pub family: Family,
    #[command(flatten)]
    pub requirements: Requirements,
    #[command(flatten)]
    pub report: ReportOptions,
    /// Write what the client sends and receives to a file (pcapng), which Wireshark dissects
    #[arg(long, value_name = "FILE")]
    pub pcap: Option<PathBuf>,
    #[command(flatten)]
    pub qlog: QlogArgs,
    /// Timeout for connecting, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = numbers::patience)]
    pub connect_timeout: Duration,
    /// Abort the measurement when the server makes no progress for this many seconds
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = numbers::time)]
    pub idle_timeout: Duration,
}

/// Ports, addresses and policies: the same at both ends.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Transport {
    /// SCTP port of the server
    #[arg(short, long, value_name = "N", default_value_t = PORT, value_parser = counts::within(1..=u16::MAX))]
    pub port: u16,
    /// UDP port of the server for SCTP in UDP (RFC 6951)
    #[arg(long, alias = "encap-port", value_name = "N", default_value_t = ENCAPSULATION_PORT, value_parser = counts::within(0..=u16::MAX))]
    pub encapsulation_port: u16,
    /// Use SCTP over IP (protocol 132) instead of UDP, at both ends; needs the capability
    /// CAP_NET_RAW
    #[arg(long, conflicts_with = "encapsulation_port")]
    pub raw: bool,
    /// Local addresses, separated by commas or in several options; with %DEV, bound to that
    /// interface [default: source addresses of the routes]
    #[arg(short = 'B', long, value_name = "ADDR[%DEV]", value_delimiter = ',')]
    pub bind: Vec<Zoned>,
    #[command(flatten)]
    pub key: KeyArgs,
    /// Preset of policies to begin with; `polypath policies` describes them
    #[arg(long, value_name = "NAME", default_value = Preset::Recommended.name(), value_parser = preset_parser())]
    pub preset: Preset,
    /// Change a setting of the association, for example 'policies.rto.min=200 ms'; repeatable
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Congestion control of this side: a value of `policies.congestion`
    #[arg(short = 'C', long, value_name = "NAME", value_parser = congestion_parser())]
    pub congestion: Option<String>,
    /// Bytes of the send and the receive buffer (K, M, G: powers of 1024)
    #[arg(short, long, value_name = "BYTES", value_parser = numbers::bytes)]
    pub window: Option<u64>,
}

/// The load.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Load {
    /// Seconds to send for [default: 10]
    #[arg(short, long, value_name = "SECONDS", value_parser = numbers::time, conflicts_with = "bytes")]
    pub time: Option<Duration>,
    /// Bytes to send instead (K, M, G: powers of 1024)
    #[arg(short = 'n', long, value_name = "BYTES", value_parser = numbers::bytes)]
    pub bytes: Option<u64>,
    /// Seconds at the beginning that do not count
    #[arg(short = 'O', long, value_name = "SECONDS", default_value = "0", value_parser = numbers::time)]
    pub omit: Duration,
    /// Seconds between reports; 0 for none
    #[arg(short, long, value_name = "SECONDS", default_value = "1", value_parser = numbers::time)]
    pub interval: Duration,
    /// Flows, each with a stream of its own
    #[arg(short = 'P', long, value_name = "N", default_value_t = 1, value_parser = counts::within(1..=MAX_FLOWS as u32))]
    pub parallel: u32,
    /// Rate of each flow in bit/s (K, M, G: powers of 1000), 0 for no limit; with /N, in bursts of
    /// N messages
    #[arg(short, long, value_name = "RATE[/BURST]", default_value = "0", value_parser = paced)]
    pub bitrate: Paced,
    /// Bytes of each message, 48 to 65535 [default: as many packets as fit 16K and half of the buffers]
    #[arg(short, long, value_name = "BYTES", value_parser = numbers::bytes)]
    pub length: Option<u64>,
    /// A flow of NetPerfMeter's model, RATE:SIZE[:RATE BACK:SIZE BACK][:OPTION...], instead of -P, -b, -l, -R and
    /// --bidir; repeatable
    #[arg(long, value_name = "SPEC", value_parser = flow, conflicts_with_all = ["parallel", "bitrate", "length", "reverse", "bidir"])]
    pub flow: Vec<FlowSpec>,
    /// Seed of random numbers [default: at random]
    #[arg(long, value_name = "N", value_parser = seed::parse)]
    pub seed: Option<u64>,
}

/// Direction of the data.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct DirectionOptions {
    /// The server sends, the client receives
    #[arg(short = 'R', long)]
    pub reverse: bool,
    /// Both send
    #[arg(long, conflicts_with = "reverse")]
    pub bidir: bool,
}

/// Address family of names.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Family {
    /// Use only IPv4 addresses of names
    #[arg(short = '4', long)]
    pub version4: bool,
    /// Use only IPv6 addresses of names
    #[arg(short = '6', long, conflicts_with = "version4")]
    pub version6: bool,
}

/// Requirements for the result.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Requirements {
    /// Fail (exit code 4) if less is received, in each direction
    #[arg(long, value_name = "RATE", value_parser = numbers::rate)]
    pub require_rate: Option<BitRate>,
    /// Fail (exit code 4) if less is received than this ratio times the rate of the best path
    /// alone; each path is measured first
    #[arg(long, value_name = "RATIO")]
    pub require_gain: Option<f64>,
    /// Fail (exit code 4) if the 99th percentile of the delay is longer, for example '200 ms'
    #[arg(long, value_name = "TIME", value_parser = delay)]
    pub max_p99: Option<Duration>,
    /// The clocks of both hosts are synchronised: do not estimate how they differ
    #[arg(long)]
    pub synchronized_clocks: bool,
}

/// Options of the report.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ReportOptions {
    #[command(flatten)]
    pub format: FormatOptions,
    /// Title of the results
    #[arg(short = 'T', long, value_name = "TEXT")]
    pub title: Option<String>,
    /// Text to add to the results
    #[arg(long, value_name = "TEXT")]
    pub extra_data: Option<String>,
    /// Also show the output of the server
    #[arg(long)]
    pub get_server_output: bool,
    /// Write each interval as lines of CSV
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
}

/// The format of reports: the same at both ends.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct FormatOptions {
    /// Print the results as JSON
    #[arg(short = 'J', long)]
    pub json: bool,
    /// Print JSON during the measurement: an object per line
    #[arg(long, conflicts_with = "json")]
    pub json_stream: bool,
    /// Begin each line with the time (UTC)
    #[arg(long)]
    pub timestamps: bool,
    /// Write to a file instead of standard output
    #[arg(long, value_name = "FILE")]
    pub logfile: Option<PathBuf>,
    #[command(flatten)]
    pub detail: DetailOptions,
}

/// How much of a measurement is printed as text.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct DetailOptions {
    /// Print only the final results, no intervals
    #[arg(short, long)]
    pub quiet: bool,
    /// Also print the path in each interval if there is only one
    #[arg(short, long, conflicts_with = "quiet")]
    pub verbose: bool,
}

/// A rate, and the messages of a burst.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Paced {
    /// Zero for no limit.
    pub rate: BitRate,
    /// Messages of a burst.
    pub burst: u32,
}

fn congestion_parser() -> PossibleValuesParser {
    PossibleValuesParser::new(CongestionAlgorithm::VALUES.iter().map(|value| value.name))
}

fn paced(text: &str) -> Result<Paced, String> {
    let (rate, burst) = match text.split_once('/').filter(|(_, burst)| !burst.starts_with('s')) {
        Some((rate, burst)) => {
            (rate, burst.parse().map_err(|_| format!("`{burst}` is not a number of messages"))?)
        }
        None => (text, 1),
    };
    if !(1..=1000).contains(&burst) {
        return Err("1 to 1000 messages come at a time".to_owned());
    }
    Ok(Paced { rate: numbers::rate(rate)?, burst })
}

fn flow(text: &str) -> Result<FlowSpec, String> {
    text.parse().map_err(|error: polypath_meter::FlowSpecError| error.to_string())
}

/// A time with its unit.
fn delay(text: &str) -> Result<Duration, String> {
    let time: polypath_units::Duration =
        text.parse().map_err(|error: polypath_units::ParseError| error.to_string())?;
    Ok(Duration::from_nanos(time.as_nanos()))
}

impl Family {
    /// Whether an address may be used.
    pub fn includes(&self, address: &IpAddr) -> bool {
        (!self.version4 || address.is_ipv4()) && (!self.version6 || address.is_ipv6())
    }

    /// Fails for a given address of the wrong family.
    fn check(&self, address: IpAddr) -> Result<()> {
        let (is, wanted) = if address.is_ipv4() { ("IPv4", "-6") } else { ("IPv6", "-4") };
        ensure!(self.includes(&address), "that is an {is} address, and {wanted} allows none");
        Ok(())
    }
}

impl Load {
    /// Checks the numbers.
    fn check(&self) -> Result<()> {
        ensure!(
            !self.time.is_some_and(|time| time.is_zero()),
            "--time 0: a measurement takes more than 0 s"
        );
        ensure!(self.bytes != Some(0), "--bytes 0: a side sends one byte at least");
        ensure!(
            self.interval.is_zero() || self.interval >= MIN_INTERVAL,
            "--interval {}: reports come every {} ms at most; 0 for none",
            self.interval.as_secs_f64(),
            MIN_INTERVAL.as_millis()
        );
        Ok(())
    }
}

impl Transport {
    /// The carriers of the packets.
    pub fn carriers(&self) -> Carriers {
        if self.raw { Carriers::RawIp } else { Carriers::Udp }
    }

    /// The server at these addresses.
    pub fn peer(&self, addresses: &[IpAddr]) -> Peer {
        let peer = Peer::new(addresses.iter().copied(), self.port);
        if self.raw { peer.raw_ip() } else { peer.encapsulation_port(self.encapsulation_port) }
    }

    /// The ports of the server, in words. `udp_port` is the one that it has.
    pub fn ports(&self, udp_port: u16) -> String {
        ports(self.port, (!self.raw).then_some(udp_port))
    }

    /// The configuration of an association with `flows` flows.
    pub fn config(&self, flows: usize) -> Result<AssociationConfig> {
        let mut changes = Vec::new();
        if let Some(window) = self.window {
            ensure!(
                (MIN_BUFFER_BYTES..=u32::MAX.into()).contains(&window),
                "--window {window}: a window has {MIN_BUFFER_BYTES} to {} bytes",
                u32::MAX
            );
            changes.push(format!("send_buffer_bytes={window}"));
            changes.push(format!("receive_buffer_bytes={window}"));
        }
        if let Some(congestion) = &self.congestion {
            changes.push(format!("policies.congestion={congestion}"));
        }
        changes.extend(self.set.iter().cloned());
        let mut config = association_config(self.preset, &changes)?;
        let streams = u16::try_from(flows + 1).unwrap_or(u16::MAX);
        config.outbound_streams = config.outbound_streams.max(streams);
        Ok(config)
    }
}

impl ClientOptions {
    /// Checks the options before connecting.
    pub fn check(&self) -> Result<()> {
        ensure!(
            self.transport.encapsulation_port != 0,
            "--encapsulation-port 0: the server's UDP port must be known"
        );
        if let Some(length) = self.load.length {
            ensure!(
                (MIN_MESSAGE_BYTES as u64..=MAX_MESSAGE_BYTES as u64).contains(&length),
                "--length {length}: messages have {MIN_MESSAGE_BYTES} to {MAX_MESSAGE_BYTES} bytes"
            );
        }
        if let Some(gain) = self.requirements.require_gain {
            ensure!(
                gain.is_finite() && gain > 0.0,
                "--require-gain {gain}: a ratio is more than 0, for example 1.0"
            );
        }
        for local in &self.transport.bind {
            self.family.check(local.address).with_context(|| format!("--bind {local}"))?;
        }
        self.hosts.iter().try_for_each(|host| self.check_host(host))?;
        self.load.check()?;
        let plan = self.plan();
        match plan.check(&self.transport.config(plan.flow_count())?) {
            Err(error @ PlanError::Buffer { .. }) => {
                bail!("{error} (--length or maxmsgsize of --flow; --window)")
            }
            checked => Ok(checked?),
        }
    }

    fn check_host(&self, host: &Host) -> Result<()> {
        match host.address() {
            Some(address) => self.family.check(address).with_context(|| host.to_string()),
            None => Ok(()),
        }
    }

    /// The plan of the measurement.
    pub fn plan(&self) -> Plan {
        let load = &self.load;
        let direction = match (self.direction.reverse, self.direction.bidir) {
            (_, true) => Direction::Both,
            (true, false) => Direction::ToClient,
            (false, false) => Direction::ToServer,
        };
        let mut plan = Plan::new()
            .omit(load.omit)
            .interval(load.interval)
            .parallel(load.parallel)
            .bit_rate(load.bitrate.rate, load.bitrate.burst)
            .direction(direction)
            .flows(load.flow.iter().cloned())
            .server_output(self.report.get_server_output);
        if let Some(time) = load.time {
            plan = plan.duration(time);
        }
        if let Some(bytes) = load.bytes {
            plan = plan.bytes(bytes);
        }
        if let Some(length) = load.length {
            plan = plan.message_bytes(length);
        }
        if let Some(seed) = load.seed {
            plan = plan.seed(seed);
        }
        if let Some(title) = &self.report.title {
            plan = plan.title(title);
        }
        plan
    }

    /// Who measures over an association.
    pub fn client(&self, association: Association) -> Client {
        let clocks = match self.requirements.synchronized_clocks {
            true => Clocks::Synchronized,
            false => Clocks::Estimated,
        };
        Client::new(association, self.plan())
            .idle_timeout(self.idle_timeout)
            .clocks(clocks)
            .labels(&self.labels())
    }

    /// The document of a measurement that did not begin.
    pub fn unconnected(&self, failure: &Failure) -> Document {
        Document::unconnected(&self.plan(), &self.labels(), failure.to_string())
    }

    fn labels(&self) -> Labels {
        let transport = &self.transport;
        let encapsulation_port = (!transport.raw).then_some(transport.encapsulation_port);
        let labels = Labels::new()
            .program(version())
            .connecting_to(hosts::list(&self.hosts), transport.port, encapsulation_port)
            .preset(transport.preset.name());
        match &self.report.extra_data {
            Some(text) => labels.extra_data(text),
            None => labels,
        }
    }
}

/// This program, as documents name it.
pub(crate) fn version() -> String {
    let program = program();
    format!("polypath {} ({})", program.version, program.revision)
}

impl Requirements {
    /// What the results are compared with.
    pub fn required(&self) -> polypath_meter::Requirements {
        polypath_meter::Requirements::new()
            .rate(self.require_rate)
            .gain(self.require_gain)
            .p99(self.max_p99)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Command {
        #[command(flatten)]
        options: ClientOptions,
    }

    fn options(arguments: &[&str]) -> ClientOptions {
        let arguments = ["client", "192.0.2.1"].iter().chain(arguments);
        Command::try_parse_from(arguments).unwrap().options
    }

    fn plan(arguments: &[&str]) -> Plan {
        options(arguments).plan()
    }

    #[test]
    fn the_letters_are_those_of_iperf3() {
        let sent = plan(&[
            "-t", "3", "-i", "0.5", "-P", "2", "-b", "8M/4", "-l", "1K", "-O", "1", "-T", "x",
        ]);
        let seconds = Duration::from_secs_f64;
        let rate = BitRate::from_bits_per_second(8_000_000);
        let expected = Plan::new()
            .duration(seconds(3.0))
            .interval(seconds(0.5))
            .parallel(2)
            .bit_rate(rate, 4)
            .message_bytes(1024)
            .omit(seconds(1.0))
            .title("x");
        assert_eq!(sent, expected);
        assert_eq!(plan(&[]), Plan::new());
        assert_eq!(plan(&["-n", "1M"]), Plan::new().bytes(1 << 20));
        assert_eq!(plan(&["-R"]), Plan::new().direction(Direction::ToClient));
        assert_eq!(plan(&["--bidir"]), Plan::new().direction(Direction::Both));
        assert_eq!(plan(&["--seed", "7"]), Plan::new().seed(7));
        let wanted = Plan::new().server_output(true);
        assert_eq!(plan(&["--get-server-output"]), wanted);
    }

    #[test]
    fn flows_of_netperfmeter_take_the_place_of_the_letters() {
        let flows = ["const0:const1400:const0:const1400", "exp25:const1000"];
        let sent = plan(&["--flow", flows[0], "--flow", flows[1]]);
        assert_eq!(sent, Plan::new().flows(flows.map(|flow| flow.parse().unwrap())));
        let both = ["c", "192.0.2.1", "--flow", "const1:const100", "-R"];
        assert!(Command::try_parse_from(both).is_err());
    }

    #[test]
    fn congestion_control_is_one_that_there_is() {
        let error = Command::try_parse_from(["c", "192.0.2.1", "-C", "oliia"]).unwrap_err();
        let told = error.to_string();
        assert!(
            told.contains("--congestion") && told.contains("a similar value exists: 'olia'"),
            "{told}"
        );
    }

    #[test]
    fn settings_meet_in_one_configuration() {
        let config = options(&["-w", "1M", "-C", "olia", "--set", "path_pairing=full-mesh"])
            .transport
            .config(200)
            .unwrap();
        assert_eq!((config.send_buffer_bytes, config.receive_buffer_bytes), (1 << 20, 1 << 20));
        assert_eq!(config.outbound_streams, 201);
        for (arguments, told) in [
            (&["-w", "1K"][..], "--window 1024: a window has 4096 to"),
            (&["-w", "0"], "--window 0: a window has 4096 to"),
            (&["-l", "20"], "48 to 65535"),
            (&["-l", "5000", "-w", "4K"], "larger than the client's send buffer of 4096 bytes"),
            (&["-l", "5000", "-w", "4K", "-R"], "the client's receive buffer of 4096 bytes"),
            (&["-w", "4K", "--flow", "const1:exp1000"], "messages of 16000 bytes are larger"),
            (&["-B", "::1", "-4"], "--bind ::1: that is an IPv6 address, and -4 allows none"),
            (&["-6"], "192.0.2.1: that is an IPv4 address, and -6 allows none"),
            (&["--require-gain", "0"], "a ratio is more than 0"),
            (&["-t", "0"], "--time 0: a measurement takes more than 0 s"),
            (&["-n", "0"], "--bytes 0: "),
            (&["-i", "0.001"], "--interval 0.001: reports come every 50 ms"),
            (&["-b", "1T", "-l", "48"], "messages per second"),
            (&["-n", "1M", "--flow", "const9:const9:onoff=+1,+1,repeat"], "are not enough"),
        ] {
            let error = format!("{:#}", options(arguments).check().unwrap_err());
            assert!(error.contains(told), "{arguments:?}: {error}");
        }
    }
}
