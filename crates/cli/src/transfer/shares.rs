//! Limits of the senders of `polypath receive`, alone and together.

use std::time::Duration;

use polypath::{AssociationConfig, EndpointConfig};
use polypath_transfer::{Inbox, Incomplete, Quota};
use polypath_units::ByteCount;

use crate::counts;
use crate::crowding::CrowdingArgs;
use crate::meter::numbers;

/// Default of `--max-bytes` for anybody.
const MAX_BYTES: ByteCount = ByteCount::from_bytes(10_000_000_000);
/// Default of `--max-total` for anybody.
const MAX_TOTAL: ByteCount = ByteCount::from_bytes(100_000_000_000);
/// Default of `--max-total-files` for anybody.
const MAX_TOTAL_FILES: u64 = 1_000_000;
/// Default of `--keep-free` for anybody.
const KEEP_FREE: ByteCount = ByteCount::from_bytes(1_000_000_000);

/// The options.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Limits of senders")]
pub(crate) struct SharesArgs {
    /// Maximum number of senders at a time; further ones are refused as busy
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = counts::within(1..=10_000_u32))]
    max_senders: u32,
    #[command(flatten)]
    pub(crate) crowding: CrowdingArgs,
    /// Maximum memory for received data of all senders that waits to be written; near this limit,
    /// receive windows shrink and further senders are refused
    #[arg(long, value_name = "SIZE", default_value = "256 MiB", value_parser = numbers::memory)]
    max_memory: ByteCount,
    /// Maximum number of files per sender and association; further offers are refused
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = counts::any)]
    max_files: u64,
    /// Maximum size of all files of one sender and association; offers beyond it are refused.
    /// Default: limited by the disk, or 10 GB if anybody may send: without --key, on other than
    /// loopback addresses, to a directory
    #[arg(long, value_name = "SIZE")]
    max_bytes: Option<ByteCount>,
    /// Maximum size of all files of all senders during this run, including incomplete files.
    /// Default: limited by the disk, or 100 GB if anybody may send
    #[arg(long, value_name = "SIZE")]
    max_total: Option<ByteCount>,
    /// Maximum number of files and directories of all senders during this run. Default: unlimited,
    /// or 1000000 if anybody may send
    #[arg(long, value_name = "N", value_parser = counts::any)]
    max_total_files: Option<u64>,
    /// Free space that received files leave on the disk; offers beyond it are refused. Default: 0 B,
    /// or 1 GB if anybody may send
    #[arg(long, value_name = "SIZE")]
    keep_free: Option<ByteCount>,
    /// How long incomplete files are kept after their last byte arrived; 0 s removes them
    /// immediately
    #[arg(long, value_name = "TIME", default_value = "168 h")]
    keep_incomplete: polypath_units::Duration,
    /// Maximum size of incomplete files that are not being sent; the oldest are removed. Default:
    /// limited by the disk
    #[arg(long, value_name = "SIZE")]
    max_incomplete: Option<ByteCount>,
}

/// Limits of what senders may store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shares {
    max_files: u64,
    max_bytes: Option<ByteCount>,
    max_total: Option<ByteCount>,
    max_total_files: Option<u64>,
    keep_free: ByteCount,
}

impl SharesArgs {
    /// Limits of trusted senders.
    pub(crate) fn of_known(&self) -> Shares {
        Shares {
            max_files: self.max_files,
            max_bytes: self.max_bytes,
            max_total: self.max_total,
            max_total_files: self.max_total_files,
            keep_free: self.keep_free.unwrap_or(ByteCount::ZERO),
        }
    }

    /// Limits if anybody may send.
    pub(crate) fn of_anybody(&self) -> Shares {
        Shares {
            max_bytes: Some(self.max_bytes.unwrap_or(MAX_BYTES)),
            max_total: Some(self.max_total.unwrap_or(MAX_TOTAL)),
            max_total_files: Some(self.max_total_files.unwrap_or(MAX_TOTAL_FILES)),
            keep_free: self.keep_free.unwrap_or(KEEP_FREE),
            ..self.of_known()
        }
    }

    /// Limits of the only sender, whose data is passed on and not stored.
    pub(crate) fn of_one_file(&self) -> Shares {
        Shares { max_files: 1, ..self.of_known() }
    }

    /// Treatment of incomplete files.
    pub(crate) fn incomplete(&self) -> Incomplete {
        let max_bytes = self.max_incomplete.map(ByteCount::as_bytes);
        match Duration::from_nanos(self.keep_incomplete.as_nanos()) {
            Duration::ZERO => Incomplete::Discard,
            time => Incomplete::Keep { time, max_bytes },
        }
    }

    /// How long incomplete files are kept, in days if that is whole ones.
    pub(crate) fn days(&self) -> String {
        const DAY: u64 = 24 * 3600 * 1_000_000_000;
        let time = self.keep_incomplete;
        match (time.as_nanos() / DAY, time.as_nanos() % DAY) {
            (1, 0) => "a day".to_owned(),
            (days, 0) if days > 1 => format!("{days} days"),
            _ => time.to_string(),
        }
    }

    /// How many senders there may be at a time. `anybody` says whether they need no key.
    pub(crate) fn endpoint(&self, association: AssociationConfig, anybody: bool) -> EndpointConfig {
        let config = EndpointConfig {
            association,
            max_associations: self.max_senders,
            max_buffered_bytes: Some(self.max_memory.as_bytes()),
            ..EndpointConfig::default()
        };
        self.crowding.limit(config, anybody)
    }
}

impl Shares {
    /// An inbox with these limits.
    pub(crate) fn limit(&self, inbox: Inbox) -> Inbox {
        let bytes = |most: Option<ByteCount>| most.map(ByteCount::as_bytes);
        let (max_files, max_bytes) = (Some(self.max_files), bytes(self.max_bytes));
        inbox
            .quota(Quota { max_files, max_bytes, ..Quota::default() })
            .max_total(bytes(self.max_total))
            .max_total_files(self.max_total_files)
            .keep_free(self.keep_free.as_bytes())
    }

    /// A line with these limits.
    pub(crate) fn told(&self) -> String {
        let size = |most: Option<ByteCount>| {
            most.map_or_else(|| "any number of bytes".to_owned(), |most| most.to_string())
        };
        let files =
            self.max_total_files.map_or_else(|| "any number of".to_owned(), |n| n.to_string());
        format!(
            "each sender may store {} (--max-bytes) and {} files (--max-files), all of them {} (--max-total) and {files} files \
             (--max-total-files); {} stay free (--keep-free)",
            size(self.max_bytes),
            self.max_files,
            size(self.max_total),
            self.keep_free
        )
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Program {
        #[command(flatten)]
        shares: SharesArgs,
    }

    fn parse(options: &[&str]) -> SharesArgs {
        Program::try_parse_from([&["program"], options].concat()).unwrap().shares
    }

    #[test]
    fn anybody_may_store_a_limited_amount_unless_the_operator_says_otherwise() {
        let args = parse(&[]);
        let (known, anybody) = (args.of_known(), args.of_anybody());
        assert_eq!((known.max_bytes, known.max_total, known.max_total_files), (None, None, None));
        assert_eq!(known.keep_free, ByteCount::ZERO);
        assert_eq!((anybody.max_bytes, anybody.max_total), (Some(MAX_BYTES), Some(MAX_TOTAL)));
        assert_eq!(anybody.max_total_files, Some(MAX_TOTAL_FILES));
        assert_eq!(anybody.keep_free, KEEP_FREE);
        assert_eq!(args.of_one_file(), Shares { max_files: 1, ..known });
        let options = ["--max-bytes", "3 TB", "--max-total", "9 TB", "--max-total-files", "5"];
        let args = parse(&[&options[..], &["--keep-free", "0 B"]].concat());
        assert_eq!(args.of_anybody(), args.of_known());
    }
}
