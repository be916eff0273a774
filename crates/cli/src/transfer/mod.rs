//! Output of `polypath send` and `polypath receive`: progress, changes of paths, and a summary as text or JSON; and limits of
//! senders.

pub(crate) mod paths;
pub(crate) mod progress;
pub(crate) mod shares;
pub(crate) mod summary;

/// How much is printed beside results.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Verbosity {
    /// Errors and warnings only.
    Quiet,
    Normal,
    /// More about paths and associations.
    Verbose,
}

/// The options.
#[derive(Debug, clap::Args)]
pub(crate) struct VerbosityArgs {
    /// Print only errors and warnings, and no summary except with --json
    #[arg(short, long)]
    quiet: bool,
    /// Print more about paths and associations
    #[arg(short, long, conflicts_with = "quiet")]
    verbose: bool,
}

impl VerbosityArgs {
    pub(crate) fn verbosity(&self) -> Verbosity {
        match (self.quiet, self.verbose) {
            (true, _) => Verbosity::Quiet,
            (false, false) => Verbosity::Normal,
            (false, true) => Verbosity::Verbose,
        }
    }
}
