//! How much one sender may ask of a receiver.

use thiserror::Error;

/// How much a sender may offer and store, over one association. [`Inbox::quota`](crate::Inbox::quota) sets it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Quota {
    /// Most files that are accepted; further ones are refused. `None`: any number.
    pub max_files: Option<u64>,
    /// Most bytes of all accepted files together, by the sizes that were offered; a file that would exceed it is refused.
    /// `None`: any number.
    pub max_bytes: Option<u64>,
    /// Most offers that are refused, for whatever reason; one more ends the association.
    pub max_refused: u32,
    /// Most summaries of files that are kept for the report; further files are counted in
    /// [`Report::files_omitted`](crate::Report::files_omitted).
    pub max_summaries: usize,
}

impl Default for Quota {
    /// Those of `polypath receive`: 100,000 files of any size, 100 refused offers, 1,000 summaries.
    fn default() -> Self {
        Self { max_files: Some(100_000), max_bytes: None, max_refused: 100, max_summaries: 1000 }
    }
}

/// How much all senders of an inbox together may store while it is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Totals {
    pub(crate) max_bytes: Option<u64>,
    /// Files and directories.
    pub(crate) max_files: Option<u64>,
}

/// Why an offer exceeds a [`Quota`], or what all senders together may store.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum QuotaError {
    /// So many files were accepted already.
    #[error(
        "this receiver accepts at most {0} files of a sender; send the others over another association"
    )]
    Files(u64),
    /// With the file it would be more than so many bytes.
    #[error(
        "this receiver accepts at most {limit} bytes of a sender; {left} of them are left, and the file has {size}"
    )]
    Bytes {
        /// Most bytes.
        limit: u64,
        /// Bytes that may still be accepted.
        left: u64,
        /// Size of the file.
        size: u64,
    },
    /// All senders together would store more than so many bytes.
    #[error(
        "this receiver accepts at most {limit} bytes altogether; {left} of them are left, and the file has {size}"
    )]
    Total {
        /// Most bytes.
        limit: u64,
        /// Bytes that may still be accepted.
        left: u64,
        /// Size of the file, or of what came of it.
        size: u64,
    },
    /// All senders together would store more than so many files.
    #[error(
        "this receiver accepts at most {0} files and directories altogether, and has reached that number"
    )]
    TotalFiles(u64),
}

/// What a sender has used of its quota.
#[derive(Clone, Debug)]
pub(crate) struct Account {
    quota: Quota,
    files: u64,
    bytes: u64,
    refused: u32,
}

impl Account {
    /// Nothing is used yet.
    pub(crate) fn new(quota: Quota) -> Self {
        Self { quota, files: 0, bytes: 0, refused: 0 }
    }

    /// Whether a file of `size` bytes fits. Changes nothing.
    pub(crate) fn check(&self, size: u64) -> Result<(), QuotaError> {
        if let Some(most) = self.quota.max_files
            && self.files >= most
        {
            return Err(QuotaError::Files(most));
        }
        if let Some(limit) = self.quota.max_bytes {
            let left = limit.saturating_sub(self.bytes);
            if size > left {
                return Err(QuotaError::Bytes { limit, left, size });
            }
        }
        Ok(())
    }

    /// A file of `size` bytes was accepted. It counts even if it fails later: its bytes were taken in.
    pub(crate) fn accepted(&mut self, size: u64) {
        self.files = self.files.saturating_add(1);
        self.bytes = self.bytes.saturating_add(size);
    }

    /// A file that was accepted is offered once more.
    pub(crate) fn withdrawn(&mut self, size: u64) {
        self.files = self.files.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(size);
    }

    /// More came of a file whose size was not known.
    pub(crate) fn grow(&mut self, bytes: u64) -> Result<(), QuotaError> {
        if let Some(limit) = self.quota.max_bytes {
            let left = limit.saturating_sub(self.bytes);
            if bytes > left {
                return Err(QuotaError::Bytes { limit, left, size: bytes });
            }
        }
        self.bytes = self.bytes.saturating_add(bytes);
        Ok(())
    }

    /// An offer was refused. The error is the number of refusals that were allowed.
    pub(crate) fn refused(&mut self) -> Result<(), u32> {
        if self.refused >= self.quota.max_refused {
            return Err(self.quota.max_refused);
        }
        self.refused += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(max_files: Option<u64>, max_bytes: Option<u64>) -> Account {
        Account::new(Quota { max_files, max_bytes, ..Quota::default() })
    }

    #[test]
    fn files_and_bytes_have_a_limit_each() {
        let mut account = account(Some(2), Some(100));
        assert_eq!(account.check(101), Err(QuotaError::Bytes { limit: 100, left: 100, size: 101 }));
        account.check(60).unwrap();
        account.accepted(60);
        assert_eq!(account.check(41), Err(QuotaError::Bytes { limit: 100, left: 40, size: 41 }));
        account.check(40).unwrap();
        account.accepted(40);
        assert_eq!(account.check(0), Err(QuotaError::Files(2)));
    }

    #[test]
    fn sizes_near_the_end_of_the_range_do_not_wrap() {
        let mut account = account(None, Some(u64::MAX - 1));
        account.accepted(u64::MAX - 1);
        assert!(account.check(u64::MAX).is_err());
        account.accepted(u64::MAX);
        assert!(account.check(1).is_err());
        account.check(0).unwrap();
    }

    #[test]
    fn one_refusal_too_many_is_an_error() {
        let mut account = Account::new(Quota { max_refused: 2, ..Quota::default() });
        assert_eq!([(); 3].map(|()| account.refused()), [Ok(()), Ok(()), Err(2)]);
    }
}
