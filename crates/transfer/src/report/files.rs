//! Summaries of files: a bounded number is kept, and the rest is counted.

use super::{FileReport, FileStatus};

/// What became of the files of one association.
///
/// A sender keeps all of them, which its user named. A receiver keeps a limited number: its peer decides how many there are, and
/// each of up to a kilobyte and a half would stay until the association ends.
#[derive(Clone, Debug)]
pub(crate) struct Files {
    kept: Vec<FileReport>,
    most_kept: usize,
    /// Files without a summary.
    omitted: u64,
    /// Files that were not stored.
    not_stored: u64,
    /// Bytes of all files that were stored.
    stored_bytes: u64,
}

impl Files {
    /// No files yet, of which `most_kept` get a summary.
    pub(crate) fn at_most(most_kept: usize) -> Self {
        Self { kept: Vec::new(), most_kept, omitted: 0, not_stored: 0, stored_bytes: 0 }
    }

    /// No files yet; each gets a summary.
    pub(crate) fn all() -> Self {
        Self::at_most(usize::MAX)
    }

    /// Takes note of one more file.
    pub(crate) fn add(&mut self, file: FileReport) {
        match file.status {
            FileStatus::Stored => self.stored_bytes = self.stored_bytes.saturating_add(file.bytes),
            FileStatus::There => {}
            FileStatus::Refused | FileStatus::Failed => self.not_stored += 1,
        }
        if self.kept.len() < self.most_kept {
            self.kept.push(file);
        } else {
            self.omitted += 1;
        }
    }

    /// The summaries, of the first files.
    pub(crate) fn kept(&self) -> &[FileReport] {
        &self.kept
    }

    /// The summaries, and the number of files that have none.
    pub(super) fn into_parts(self) -> (Vec<FileReport>, u64) {
        (self.kept, self.omitted)
    }

    /// Whether every file was stored.
    pub(super) fn all_stored(&self) -> bool {
        self.not_stored == 0
    }

    /// Bytes of the files that were stored.
    pub(super) fn stored_bytes(&self) -> u64 {
        self.stored_bytes
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn stored(bytes: u64) -> FileReport {
        FileReport::stored("file".to_owned(), bytes, 0, &[0; 32], Duration::from_secs(1))
    }

    #[test]
    fn files_beyond_the_number_are_counted_and_add_up() {
        let mut files = Files::at_most(2);
        (0..5).for_each(|_| files.add(stored(10)));
        assert_eq!((files.kept().len(), files.stored_bytes(), files.all_stored()), (2, 50, true));
        // A file that failed makes the transfer incomplete, even if it has no summary.
        files.add(FileReport::failed("late".to_owned(), "the disk is full".to_owned()));
        assert!(!files.all_stored());
        assert_eq!(files.into_parts().1, 4);
    }

    #[test]
    fn what_the_user_named_is_all_kept() {
        let mut files = Files::all();
        (0..5000).for_each(|_| files.add(stored(1)));
        assert_eq!((files.kept().len(), files.into_parts().1), (5000, 0));
    }
}
