//! The scenario file of a network, and how to run each of its paths alone.

use std::fmt::{self, Write};

use polypath_sim::Scenario;
use polypath_sim::document::{Document, DocumentError};

use super::generate::CALL_MS;
use super::network::{Loss, Network, Path, Traffic};

/// The pair of hosts that is measured, and its flow.
pub(super) const MAIN: &str = "main";
/// Requests of a run. The second longest response time of them is the 99th percentile.
const REQUESTS: u32 = 200;

/// Paths of a run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Way {
    /// All paths of the network.
    All,
    /// One path alone, by its index from 0.
    Alone(usize),
}

impl Way {
    /// All of them, and each alone.
    pub fn of(network: &Network) -> impl Iterator<Item = Self> {
        std::iter::once(Self::All).chain((0..network.paths.len()).map(Self::Alone))
    }

    /// Change of the scenario; `None` for all paths.
    pub fn edit(self) -> Option<String> {
        match self {
            Self::All => None,
            Self::Alone(place) => {
                Some(format!("network.shared.pairs.{MAIN}.paths=[{}]", element(place)))
            }
        }
    }
}

/// The name in tables.
impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::Alone(place) => f.write_str(&Path::name(*place)),
        }
    }
}

impl Network {
    /// The scenario of a run, with changes of the form `key.to.value=value`.
    ///
    /// # Errors
    /// A change is invalid; the error names it.
    pub fn scenario(&self, way: Way, edits: &[String]) -> Result<Scenario, DocumentError> {
        let mut document = Document::parse(self.title(), self.text())?;
        for edit in edits.iter().chain(&way.edit()) {
            document.set(edit)?;
        }
        Scenario::from_document(&document)
    }

    /// Its name.
    fn title(&self) -> String {
        format!("random network {} of {}", self.number, self.kind.label())
    }

    /// The scenario as a file that `polypath sim` takes, without the comments that [`Network::file`] has.
    pub fn text(&self) -> String {
        let mut out = String::new();
        // Writing to memory cannot fail.
        let _ = self.write(&mut out);
        out
    }

    /// The scenario file with the commands that run it and each path alone, where `name` is the file's name and `edits` are
    /// changes that each command makes.
    pub fn file(&self, name: &str, edits: &[String]) -> String {
        let changes: String = edits.iter().map(|edit| format!(" --set {}", quoted(edit))).collect();
        let mut out = format!("# {}\n# All paths, then each alone:\n", self);
        for way in Way::of(self) {
            let alone = way.edit().map(|edit| format!(" --set {}", quoted(&edit)));
            let alone = alone.unwrap_or_default();
            let _ = writeln!(out, "# polypath sim {name} --json{changes}{alone}");
        }
        out + &self.text()
    }

    fn write(&self, out: &mut String) -> fmt::Result {
        writeln!(out, "title = \"{}\"\n", self.title())?;
        writeln!(out, "[run]\nduration = \"{} ms\"\nseed = {}\n", self.duration_ms, self.seed)?;
        for (place, path) in self.paths.iter().enumerate() {
            write_route(out, place, path)?;
        }
        writeln!(out, "[[network.shared.pairs]]\nname = \"{MAIN}\"\npaths = [")?;
        for place in 0..self.paths.len() {
            writeln!(out, "    {},", element(place))?;
        }
        writeln!(out, "]\n\n[[traffic]]\nname = \"{MAIN}\"\npair = \"{MAIN}\"")?;
        match self.traffic {
            Traffic::Saturated => writeln!(out, "source = \"saturated\"")?,
            Traffic::File(bytes) => writeln!(out, "source = {{ file = \"{bytes} B\" }}")?,
            Traffic::Requests { response, think_ms } => writeln!(
                out,
                "source = {{ request-response = {{ response = \"{response} B\", think = \"{think_ms} ms\", requests = {REQUESTS} }} }}"
            )?,
            Traffic::Voice => writeln!(
                out,
                "source = {{ constant = {{ rate = \"64 kbit/s\" }} }}\nstop = \"{CALL_MS} ms\""
            )?,
        }
        let delivery = if self.unordered { "unordered" } else { "ordered" };
        writeln!(out, "message_size = \"{} B\"\ndelivery = \"{delivery}\"\n", self.message_bytes)?;
        if let Some(change) = &self.change {
            change.write(out)?;
            change.write_end(&self.paths, out)?;
            writeln!(out)?;
        }
        writeln!(
            out,
            "[sctp]\npreset = \"recommended\"\nsend_buffer = \"{} B\"\nreceive_buffer = \"{} B\"",
            self.send_buffer, self.receive_buffer
        )
    }
}

/// A path as an element of the pair's list.
fn element(place: usize) -> String {
    let name = Path::name(place);
    format!("{{ name = \"{name}\", route = \"{name}\", access = {{ rate = \"10 Gbit/s\" }} }}")
}

fn write_route(out: &mut String, place: usize, path: &Path) -> fmt::Result {
    writeln!(out, "[[network.shared.routes]]\nname = \"{}\"", Path::name(place))?;
    writeln!(
        out,
        "[network.shared.routes.bottleneck]\nrate = \"{} bit/s\"\ndelay = \"{} us\"",
        path.rate, path.delay
    )?;
    let queue = path.queue;
    match path.red {
        false => writeln!(out, "queue = {{ drop-tail = {{ packets = {queue} }} }}")?,
        true => {
            let (min, max) = (queue / 4, queue * 3 / 4);
            writeln!(
                out,
                "queue = {{ red = {{ min = {{ packets = {min} }}, max = {{ packets = {max} }}, limit = {{ packets = {queue} }} }} }}"
            )?;
        }
    }
    match path.loss {
        Loss::None => {}
        Loss::Random(probability) => {
            let loss = Percent(probability);
            writeln!(out, "loss = {{ forward = \"{loss}\", backward = \"{loss}\" }}")?;
        }
        Loss::Bursts { to_bad, to_good } => writeln!(
            out,
            "gilbert_elliott = {{ to_bad = \"{}\", to_good = \"{}\" }}",
            Percent(to_bad),
            Percent(to_good)
        )?,
    }
    if let Some(back) = path.back {
        writeln!(
            out,
            "backward = {{ rate = \"{} bit/s\", delay = \"{} us\" }}",
            back.rate, back.delay
        )?;
    }
    writeln!(out)
}

/// Millionths in the notation of scenarios.
struct Percent(u64);

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:04} %", self.0 / 10_000, self.0 % 10_000)
    }
}

/// An argument for a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use polypath_sim::scenario::Network as Form;
    use polypath_units::ByteCount;

    use super::super::Kind;
    use super::*;

    const KINDS: [Kind; 6] = [
        Kind::Bulk,
        Kind::Range,
        Kind::File(ByteCount::from_bytes(100_000)),
        Kind::Requests,
        Kind::Voice,
        Kind::Changing,
    ];

    #[test]
    fn every_network_is_a_scenario_with_all_paths_and_with_each() {
        for kind in KINDS {
            for number in 1..=60 {
                let network = Network::draw(kind, 2, number);
                for way in Way::of(&network) {
                    let scenario = network.scenario(way, &[]).unwrap_or_else(|error| {
                        panic!("{error}\n{}", network.text());
                    });
                    let paths = match way {
                        Way::All => network.paths.len(),
                        Way::Alone(_) => 1,
                    };
                    let Form::Shared(shared) = &scenario.network else { panic!("no routes") };
                    assert_eq!(shared.pairs[0].paths.len(), paths);
                    assert_eq!(scenario.run.seed, network.seed);
                }
            }
        }
    }

    #[test]
    fn changes_of_the_user_hold_in_every_run() {
        let network = Network::draw(Kind::Bulk, 2, 1);
        let edits = ["sctp.preset=cmt".to_owned()];
        for way in Way::of(&network) {
            let scenario = network.scenario(way, &edits).expect("a scenario");
            assert_ne!(scenario.sctp, network.scenario(way, &[]).expect("a scenario").sctp);
        }
        let error = network.scenario(Way::All, &["sctp.presett=cmt".to_owned()]);
        assert!(error.expect_err("no such key").to_string().contains("preset"));
    }

    #[test]
    fn a_file_names_the_commands() {
        let network = Network::draw(Kind::Bulk, 2, 1);
        let file = network.file("n.toml", &["sctp.policies.nr_sack=off".to_owned()]);
        let commands: Vec<&str> =
            file.lines().filter(|line| line.starts_with("# polypath sim n.toml --json")).collect();
        assert_eq!(commands.len(), network.paths.len() + 1);
        assert!(commands.iter().all(|line| line.contains("--set 'sctp.policies.nr_sack=off'")));
        assert!(commands[1].contains("--set 'network.shared.pairs.main.paths=[{ name = \"p1\""));
        assert_eq!(quoted("it's"), "'it'\\''s'");
        assert_eq!(Percent(20_105).to_string(), "2.0105 %");
    }
}
