//! What is to be sent: files, directories with all that is below them, and standard input.

use std::fs;
use std::path::{Path, PathBuf};

use crate::name::{self, NameError};
use crate::source::{Links, Source, SourceError, base_name};

/// What is to be sent, in its order.
///
/// A directory is sent with everything below it, and its own name is the first part of theirs. Below it, symbolic links are not
/// followed: they and what is neither a file nor a directory are [left out](Self::left_out).
#[derive(Clone, Debug, Default)]
pub struct Batch {
    entries: Vec<Entry>,
    left_out: Vec<LeftOut>,
}

/// Something in a directory that is not sent.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct LeftOut {
    /// Its path.
    pub path: PathBuf,
    /// What it is.
    pub what: &'static str,
}

/// What is left out by [`Batch::without_hidden`].
const HIDDEN: &str = "hidden";

/// One thing that is to be sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Entry {
    File {
        path: PathBuf,
        name: String,
        links: Links,
    },
    Directory {
        name: String,
    },
    Input {
        name: String,
    },
    /// A path that could not be looked at, which is reported in its turn.
    Unknown {
        path: PathBuf,
    },
}

impl Batch {
    /// Looks at files and directories, and checks that they can be sent together. Files are not kept open, since there may be more than a
    /// process may have.
    ///
    /// # Errors
    ///
    /// A file cannot be read, is neither a regular file nor a directory, no receiver would accept its name, or two have the same.
    pub fn of<P: AsRef<Path>>(paths: &[P]) -> Result<Self, SourceError> {
        let mut batch = Self::default();
        for path in paths {
            batch.add(path.as_ref())?;
        }
        batch.check()?;
        Ok(batch)
    }

    /// The same for paths that may have gone meanwhile, each of which is reported in its turn.
    pub(crate) fn lenient(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        let mut batch = Self::default();
        for path in paths {
            if batch.add(&path).is_err() {
                batch.entries.push(Entry::Unknown { path });
            }
        }
        batch
    }

    /// Adds standard input, under a name for the receiver. It is read to its end, once: an association that ends meanwhile ends the
    /// transfer.
    ///
    /// # Errors
    ///
    /// No receiver would accept the name.
    pub fn input(mut self, name: &str) -> Result<Self, SourceError> {
        let checked = name::check_path(name.as_bytes()).map_err(SourceError::InputName)?;
        self.entries.push(Entry::Input { name: checked.to_owned() });
        Ok(self)
    }

    /// What is not sent of the directories.
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    /// Leaves out what has a name that begins with a dot, with everything below it: in directories, not what was named itself.
    #[must_use]
    pub fn without_hidden(mut self) -> Self {
        let mut left: Option<String> = None;
        let mut left_out = std::mem::take(&mut self.left_out);
        self.entries.retain(|entry| {
            let name = entry.name();
            let below = |directory: &String| name.starts_with(directory.as_str());
            if left.as_ref().is_some_and(below) {
                return false;
            }
            let hidden = name.split('/').skip(1).any(|part| part.starts_with('.'));
            if hidden {
                left_out.push(LeftOut { path: PathBuf::from(name), what: HIDDEN });
                left = matches!(entry, Entry::Directory { .. }).then(|| format!("{name}/"));
            }
            !hidden
        });
        Self { left_out, ..self }
    }

    /// How many have a name that begins with a dot, or are below a directory with one, and the first of them.
    pub fn hidden(&self) -> Option<(usize, &str)> {
        let names = self.entries.iter().map(Entry::name);
        let mut hidden = names.filter(|name| name::hidden_part(name).is_some());
        let first = hidden.next()?;
        Some((hidden.count() + 1, first))
    }

    /// Takes out those from the entry `from` on.
    pub(crate) fn take_hidden(&mut self, from: usize) -> Vec<String> {
        let mut taken = Vec::new();
        let mut place = 0;
        self.entries.retain(|entry| {
            place += 1;
            let stays = place <= from || name::hidden_part(entry.name()).is_none();
            if !stays {
                taken.push(entry.name().to_owned());
            }
            stays
        });
        taken
    }

    /// How many files and directories there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is nothing to send.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    fn add(&mut self, path: &Path) -> Result<(), SourceError> {
        let name = base_name(path)?;
        // What the user named may be a link.
        if fs::metadata(path).is_ok_and(|found| found.is_dir()) {
            return self.add_directory(path, &name);
        }
        Source::open(path, &name, Links::Follow)?;
        self.entries.push(Entry::File { path: path.to_owned(), name, links: Links::Follow });
        Ok(())
    }

    fn add_directory(&mut self, path: &Path, name: &str) -> Result<(), SourceError> {
        // A stack, and no recursion: how deep directories are is not ours to say.
        let mut open = vec![(path.to_owned(), name.to_owned())];
        while let Some((path, name)) = open.pop() {
            let failed = |source| SourceError::Open { path: path.clone(), source };
            let wrong = |source: NameError| SourceError::Name { path: path.clone(), source };
            name::check_path(name.as_bytes()).map_err(wrong)?;
            self.entries.push(Entry::Directory { name: name.clone() });
            let entries = fs::read_dir(&path).map_err(failed)?;
            let mut entries = entries.collect::<Result<Vec<_>, _>>().map_err(failed)?;
            entries.sort_by_key(fs::DirEntry::file_name);
            let mut below = Vec::new();
            for entry in entries {
                let (path, kind) = (entry.path(), entry.file_type().map_err(failed)?);
                if !kind.is_dir() && !kind.is_file() {
                    let what =
                        if kind.is_symlink() { "a symbolic link" } else { "no regular file" };
                    self.left_out.push(LeftOut { path, what });
                    continue;
                }
                let base = entry.file_name();
                let wrong = |source| SourceError::Name { path: path.clone(), source };
                let base = name::check(base.as_encoded_bytes()).map_err(wrong)?;
                let name = format!("{name}/{base}");
                name::check_path(name.as_bytes()).map_err(wrong)?;
                if kind.is_dir() {
                    below.push((path, name));
                } else {
                    self.entries.push(Entry::File { path, name, links: Links::Refuse });
                }
            }
            open.extend(below.into_iter().rev());
        }
        Ok(())
    }

    /// Looks whether two have the same name.
    fn check(&self) -> Result<(), SourceError> {
        let mut names: Vec<_> =
            self.entries.iter().map(|entry| (entry.name(), entry.path())).collect();
        names.sort();
        for pair in names.windows(2) {
            if let [(name, first), (other, second)] = pair
                && name == other
            {
                let (first, second) = (first.to_path_buf(), second.to_path_buf());
                return Err(SourceError::SameName { first, second, name: (*name).to_owned() });
            }
        }
        Ok(())
    }
}

impl Entry {
    /// Its name at the receiver.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::File { name, .. } | Self::Directory { name } | Self::Input { name } => name,
            Self::Unknown { path } => {
                path.file_name().and_then(|name| name.to_str()).unwrap_or("?")
            }
        }
    }

    /// Whether it is a file of its own, as every receiver takes it.
    pub(crate) fn is_single_file(&self) -> bool {
        match self {
            Self::File { name, .. } => !name.contains('/'),
            Self::Unknown { .. } => true,
            Self::Directory { .. } | Self::Input { .. } => false,
        }
    }

    fn path(&self) -> &Path {
        match self {
            Self::File { path, .. } | Self::Unknown { path } => path,
            Self::Directory { name } | Self::Input { name } => Path::new(name),
        }
    }
}

/// Looks whether these files and directories can be sent together, before anything is sent. [`Batch::of`] does the same and keeps what it
/// found.
///
/// # Errors
///
/// Those of [`Batch::of`].
pub fn check_files<P: AsRef<Path>>(paths: &[P]) -> Result<(), SourceError> {
    Batch::of(paths).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(batch: &Batch) -> Vec<&str> {
        batch.entries().iter().map(Entry::name).collect()
    }

    #[test]
    fn two_files_of_one_name_are_noticed() {
        let directory = tempfile::tempdir().unwrap();
        let mut paths = Vec::new();
        for place in ["b", "a"] {
            fs::create_dir(directory.path().join(place)).unwrap();
            for name in ["same", place] {
                paths.push(directory.path().join(place).join(name));
                fs::write(paths.last().unwrap(), place).unwrap();
            }
        }
        let error = check_files(&paths).unwrap_err();
        assert!(error.to_string().contains("both be named \"same\""), "{error}");
        check_files(&paths[1..]).unwrap();
        paths.push(directory.path().join("missing"));
        let error = check_files(&paths[1..]).unwrap_err();
        assert!(error.to_string().contains("cannot send"), "{error}");
        assert_eq!(Batch::lenient(paths).len(), 5);
        let twice = Batch::of(&[directory.path().join("a"), directory.path().join("a")]);
        assert!(matches!(twice, Err(SourceError::SameName { .. })));
    }

    #[cfg(unix)]
    #[test]
    fn a_directory_is_walked_and_links_are_left_out() {
        let place = tempfile::tempdir().unwrap();
        let tree = place.path().join("tree");
        fs::create_dir_all(tree.join("b/empty")).unwrap();
        fs::create_dir(tree.join("a")).unwrap();
        for file in ["a/1", "b/2", "z", "0"] {
            fs::write(tree.join(file), file).unwrap();
        }
        // Out of the tree, within it, to nothing, and in a circle.
        for (link, to) in [("out", "/etc"), ("a/in", "../z"), ("b/dangling", "no"), ("a/up", "..")]
        {
            std::os::unix::fs::symlink(to, tree.join(link)).unwrap();
        }
        nix::unistd::mkfifo(&tree.join("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        let batch = Batch::of(&[&tree]).unwrap();
        let expected = [
            "tree",
            "tree/0",
            "tree/z",
            "tree/a",
            "tree/a/1",
            "tree/b",
            "tree/b/2",
            "tree/b/empty",
        ];
        assert_eq!(names(&batch), expected);
        assert_eq!(batch.left_out().len(), 5, "{:?}", batch.left_out());
        // The tree itself may be named by a link.
        let link = place.path().join("link");
        std::os::unix::fs::symlink(&tree, &link).unwrap();
        assert_eq!(names(&Batch::of(&[&link]).unwrap())[1], "link/0");
        assert_eq!(names(&Batch::of(&[tree.join("a/..")]).unwrap())[1], "tree/0");
    }

    #[test]
    fn hidden_names_in_directories_are_left_out_if_wanted() {
        let place = tempfile::tempdir().unwrap();
        let tree = place.path().join(".tree");
        fs::create_dir_all(tree.join(".git/objects")).unwrap();
        fs::create_dir(tree.join("sub")).unwrap();
        for file in [".git/config", ".git/objects/1", ".gitignore", "sub/.env", "sub/1", "z"] {
            fs::write(tree.join(file), file).unwrap();
        }
        let batch = Batch::of(&[&tree]).unwrap();
        assert_eq!(batch.hidden(), Some((10, ".tree")), "all are below it");
        let mut rest = batch.clone();
        assert_eq!(rest.take_hidden(8), [".tree/sub/.env", ".tree/sub/1"]);
        assert_eq!(rest.len(), 8);
        let batch = batch.without_hidden();
        assert_eq!(names(&batch), [".tree", ".tree/z", ".tree/sub", ".tree/sub/1"]);
        let left: Vec<_> = batch.left_out().iter().map(|left| left.path.as_path()).collect();
        let expected = [".tree/.gitignore", ".tree/.git", ".tree/sub/.env"].map(Path::new);
        assert_eq!(left, expected);
        let plain = Batch::of(&[tree.join("sub")]).unwrap();
        assert_eq!(plain.hidden(), Some((1, "sub/.env")));
        assert_eq!(plain.without_hidden().hidden(), None);
    }

    #[cfg(unix)]
    #[test]
    fn names_in_a_directory_that_no_receiver_takes_are_named() {
        use std::os::unix::ffi::OsStrExt;

        for name in [b"\xff".as_slice(), b"a\nb", b"nul", b"a\\b"] {
            let tree = tempfile::tempdir().unwrap();
            fs::write(tree.path().join(std::ffi::OsStr::from_bytes(name)), "").unwrap();
            let error = Batch::of(&[tree.path()]).unwrap_err();
            assert!(matches!(error, SourceError::Name { .. }), "{error}");
        }
    }

    #[test]
    fn standard_input_has_a_name_that_a_receiver_takes() {
        assert_eq!(
            names(&Batch::default().input("backup/today.tar").unwrap()),
            ["backup/today.tar"]
        );
        assert!(Batch::default().input("../up").is_err());
        assert!(Batch::default().input("").is_err());
    }
}
