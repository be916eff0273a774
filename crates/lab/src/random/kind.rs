//! Kinds of samples: traffic and networks.

use polypath_units::ByteCount;

/// The traffic over the networks of a sample.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// Saturated.
    Bulk,
    /// The same in the range for which `recommended` makes its promise (docs/promise.md).
    Range,
    /// A file of this length.
    File(ByteCount),
    /// Requests and their responses, one after the other.
    Requests,
    /// Messages of a voice call: 64 kbit/s in messages of 160 B.
    Voice,
    /// Saturated, while a path fails, disappears, slows down or is shared.
    Changing,
}

/// The ranges that a network is drawn from.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Ranges {
    /// Rates, in bit/s.
    pub rate: (u64, u64),
    /// Propagation delays of one way, in µs.
    pub delay: (u64, u64),
    /// Shares of networks with three and with four paths, in per cent.
    pub more_paths: (u32, u32),
    /// The highest probability of loss, in millionths.
    pub loss: u64,
    /// Whether losses can come in bursts.
    pub bursts: bool,
    /// Whether the return direction can have another rate and delay.
    pub asymmetric: bool,
}

/// The widest ranges.
const WIDE: Ranges = Ranges {
    rate: (200_000, 1_000_000_000),
    delay: (100, 400_000),
    more_paths: (20, 20),
    loss: 40_000,
    bursts: true,
    asymmetric: true,
};

impl Kind {
    /// The name on command lines and in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bulk => "bulk",
            Self::Range => "range",
            Self::File(_) => "file",
            Self::Requests => "requests",
            Self::Voice => "voice",
            Self::Changing => "changing",
        }
    }

    /// The length of a file; `None` for other kinds.
    pub fn size(self) -> Option<ByteCount> {
        match self {
            Self::File(size) => Some(size),
            _ => None,
        }
    }

    /// Description, with the length of a file.
    pub fn label(self) -> String {
        match self {
            Self::File(size) => format!("file of {size}"),
            kind => kind.name().to_owned(),
        }
    }

    pub(super) fn ranges(self) -> Ranges {
        let thin = Ranges { rate: (500_000, 300_000_000), delay: (500, 300_000), ..WIDE };
        match self {
            Self::Bulk | Self::File(_) => WIDE,
            Self::Range => Ranges {
                rate: (10_000_000, 100_000_000),
                delay: (100, 200_000),
                more_paths: (0, 0),
                loss: 20_000,
                bursts: false,
                asymmetric: false,
            },
            Self::Requests | Self::Voice => thin,
            Self::Changing => Ranges {
                rate: (1_000_000, 100_000_000),
                delay: (1_000, 150_000),
                more_paths: (0, 0),
                ..WIDE
            },
        }
    }
}
