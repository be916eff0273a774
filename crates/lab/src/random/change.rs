//! Changes during a run.

use std::fmt::{self, Write};

use super::draw::Draw;
use super::network::Path;

/// A change during a run, on one path. Times are in milliseconds since its start.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Change {
    /// The path is silent for `down` of each `down + up`, from 5 s on.
    Flap {
        /// Index of the path, from 0.
        path: usize,
        /// Length of an outage.
        down: u64,
        /// Time between two outages.
        up: u64,
    },
    /// The path is silent from `at` on.
    Leave {
        /// Index of the path, from 0.
        path: usize,
        /// Time of the change.
        at: u64,
    },
    /// A TCP transfer shares the path from 5 s to 45 s, and fills its queue.
    Bloat {
        /// Index of the path, from 0.
        path: usize,
    },
    /// The path has another rate and delay from 20 s to 40 s.
    Step {
        /// Index of the path, from 0.
        path: usize,
        /// Rate, in bit/s.
        rate: u64,
        /// Propagation delay of one way, in µs.
        delay: u64,
    },
}

/// Length of a run in which something changes, in milliseconds.
pub(super) const DURATION_MS: u64 = 60_000;

impl Change {
    /// Draws a change.
    pub(super) fn draw(draw: &mut Draw, paths: &[Path]) -> Self {
        let path = draw.below(paths.len());
        match draw.below(4) {
            0 => Self::Flap { path, down: draw.whole(100, 3_000), up: draw.whole(1_000, 15_000) },
            1 => Self::Leave { path, at: draw.whole(5_000, 45_000) },
            2 => Self::Bloat { path },
            _ => {
                let rate = paths[path].rate as f64 * draw.log_uniform(0.1, 2.0);
                let delay = paths[path].delay as f64 * draw.log_uniform(0.5, 4.0);
                Self::Step { path, rate: rate as u64, delay: delay as u64 }
            }
        }
    }

    /// The name in tables.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Flap { .. } => "flap",
            Self::Leave { .. } => "leave",
            Self::Bloat { .. } => "bloat",
            Self::Step { .. } => "step",
        }
    }

    /// Adds the change to a scenario.
    pub(super) fn write(&self, out: &mut String) -> fmt::Result {
        match *self {
            Self::Flap { path, down, up } => writeln!(
                out,
                "[[faults]]\nflapping = {{ path = \"{}\", from = \"5 s\", down = \"{down} ms\", up = \"{up} ms\" }}",
                Path::name(path)
            ),
            Self::Leave { path, at } => writeln!(
                out,
                "[[faults]]\noutage = {{ path = \"{}\", from = \"{at} ms\" }}",
                Path::name(path)
            ),
            Self::Bloat { path } => writeln!(
                out,
                "[[network.shared.pairs]]\nname = \"tcp\"\npaths = [{{ name = \"{0}\", route = \"{0}\", access = {{ rate = \"10 Gbit/s\" }} }}]\n\
                 [[traffic]]\nname = \"tcp\"\npair = \"tcp\"\ntransport = \"tcp\"\nsource = \"saturated\"\nmessage_size = \"1448 B\"\n\
                 start = \"5 s\"\nstop = \"45 s\"",
                Path::name(path)
            ),
            Self::Step { path, rate, delay } => {
                let name = Path::name(path);
                writeln!(
                    out,
                    "[[steps]]\npath = \"{name}\"\nat = \"20 s\"\nrate = \"{rate} bit/s\"\ndelay = \"{delay} us\""
                )
            }
        }
    }

    /// Adds the end of a temporary change, which restores the path.
    pub(super) fn write_end(&self, paths: &[Path], out: &mut String) -> fmt::Result {
        let Self::Step { path, .. } = *self else { return Ok(()) };
        let Some(before) = paths.get(path) else { return Ok(()) };
        let name = Path::name(path);
        let back = before.back.map_or((before.rate, before.delay), |back| (back.rate, back.delay));
        for (way, (rate, delay)) in [("forward", (before.rate, before.delay)), ("backward", back)] {
            writeln!(
                out,
                "[[steps]]\npath = \"{name}\"\nat = \"40 s\"\nway = \"{way}\"\nrate = \"{rate} bit/s\"\ndelay = \"{delay} us\""
            )?;
        }
        Ok(())
    }
}

/// Short description.
impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Flap { path, down, up } => {
                write!(f, "{} flaps, {down} ms down and {up} ms up", Path::name(path))
            }
            Self::Leave { path, at } => write!(f, "{} leaves at {at} ms", Path::name(path)),
            Self::Bloat { path } => write!(f, "TCP shares {} from 5 s to 45 s", Path::name(path)),
            Self::Step { path, rate, delay } => write!(
                f,
                "{} has {:.2} Mbit/s and {:.1} ms from 20 s to 40 s",
                Path::name(path),
                rate as f64 / 1e6,
                delay as f64 / 1e3
            ),
        }
    }
}
