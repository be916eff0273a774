//! What `polypath send` and `polypath receive` show: progress, paths that come and go, and a summary in words or JSON; and how much
//! senders may store.

pub(crate) mod paths;
pub(crate) mod progress;
pub(crate) mod shares;
pub(crate) mod summary;

/// How much is said beside results.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Verbosity {
    /// Errors and warnings only.
    Quiet,
    Normal,
    /// More about paths and associations.
    Verbose,
}

/// Options for it.
#[derive(Debug, clap::Args)]
pub(crate) struct VerbosityArgs {
    /// Print only errors and warnings, and no summary except with --json
    #[arg(short, long)]
    quiet: bool,
    /// Say more about paths and associations
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
