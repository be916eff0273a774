use super::*;

fn entries(directory: &Path) -> Vec<String> {
    let names = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}

fn target(directory: &Path, name: &str, size: u64, existing: Existing) -> Target {
    let (directory, name) = (directory.to_owned(), name.to_owned());
    Target { directory, name, size: Some(size), mode: None, modified: None, existing }
}

fn create(directory: &Path, name: &str, size: u64) -> Result<PartialFile, FileError> {
    PartialFile::create(target(directory, name, size, Existing::Keep), 0)
}

fn open(directory: &Path, name: &str, size: u64) -> Result<PartialFile, FileError> {
    PartialFile::open(target(directory, name, size, Existing::Keep), &part_name(None, name), 0)
}

fn sha256(content: &[u8]) -> [u8; 32] {
    Sha256::digest(content).into()
}

fn digest(beginning: &Sha256) -> [u8; 32] {
    beginning.clone().finalize().into()
}

#[test]
fn a_complete_file_has_its_name_and_content() {
    let directory = tempfile::tempdir().unwrap();
    let mut file = create(directory.path(), "new", 7).unwrap();
    file.write(b"con").unwrap();
    file.write(b"tent").unwrap();
    assert!(entries(directory.path())[0].starts_with(".polypath-"));
    let stored = file.complete().unwrap();
    assert_eq!(stored, Stored { path: directory.path().join("new"), warning: None });
    assert_eq!(fs::read(stored.path).unwrap(), b"content");
    assert_eq!(entries(directory.path()), ["new"]);
}

#[test]
fn an_incomplete_file_leaves_nothing_unless_it_is_to_be_kept() {
    let directory = tempfile::tempdir().unwrap();
    let mut file = create(directory.path(), "new", 6).unwrap();
    file.write(b"half").unwrap();
    drop(file);
    assert!(entries(directory.path()).is_empty());
    let mut short = open(directory.path(), "new", 1 << 20).unwrap();
    short.write(b"half").unwrap();
    drop(short);
    assert!(entries(directory.path()).is_empty(), "not worth it");
    let mut kept = open(directory.path(), "new", 1 << 20).unwrap();
    kept.write(&[7; 100_000]).unwrap();
    drop(kept);
    assert_eq!(entries(directory.path()), [part_name(None, "new")]);
    let mut spoiled = open(directory.path(), "new", 1 << 20).unwrap();
    assert_eq!(spoiled.offsets(), [100_000, MIN_KEPT]);
    spoiled.spoil();
    drop(spoiled);
    assert!(entries(directory.path()).is_empty());
}

#[test]
fn what_was_kept_goes_on_where_it_is_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let content: Vec<u8> = (0..3_000_000_u32).map(|at| (at / 7) as u8).collect();
    let mut file = open(directory.path(), "name", 3_000_000).unwrap();
    file.write(&content[..2_500_000]).unwrap();
    drop(file);
    let mut file = open(directory.path(), "name", 3_000_000).unwrap();
    let offsets = file.offsets();
    assert_eq!(offsets, [2_500_000, 2_500_000 - (1 << 20), MIN_KEPT]);
    let digests: Vec<_> =
        offsets.iter().map(|offset| sha256(&content[..*offset as usize])).collect();
    let (longest, beginning) = file.longest_same(&offsets, &digests, || false).unwrap();
    assert_eq!((longest, digest(&beginning)), (offsets[0], digests[0]));
    file.go_on_from(offsets[1]).unwrap();
    file.write(&content[offsets[1] as usize..]).unwrap();
    assert_eq!(fs::read(file.complete().unwrap().path).unwrap(), content);
    assert_eq!(entries(directory.path()), ["name"]);
    let mut file = open(directory.path(), "other", 10).unwrap();
    assert_eq!(file.longest_same(&[5], &[[0; 32]], || false).unwrap().0, 0, "it is shorter");
    file.write(&[0; 100]).unwrap();
    assert!(file.longest_same(&[5], &[[0; 32]], || true).is_err(), "nobody wants it");
}

#[test]
fn who_has_another_file_makes_nobody_read_a_long_one() {
    /// Content without an end that counts what is read of it.
    struct Zeros(u64);
    impl Read for Zeros {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            buffer.fill(0);
            self.0 += buffer.len() as u64;
            Ok(buffer.len())
        }
    }
    let mut zeros = Zeros(0);
    let offsets = [1 << 40, 1 << 30, MIN_KEPT];
    let found = longest_same(&mut zeros, &offsets, &[[1; 32]; 3], || false).unwrap();
    assert_eq!((found.0, zeros.0), (0, MIN_KEPT));
}

#[test]
fn a_part_has_one_writer_and_one_owner() {
    let directory = tempfile::tempdir().unwrap();
    let file = open(directory.path(), "name", 1 << 20).unwrap();
    let error = open(directory.path(), "name", 1 << 20).unwrap_err();
    assert!(matches!(error, FileError::Busy(_)), "{error}");
    drop(file);
    open(directory.path(), "name", 1 << 20).unwrap();
    let names = [
        part_name(None, "name"),
        part_name(Some(""), "name"),
        part_name(Some("alice"), "name"),
        part_name(Some("bob"), "name"),
        part_name(Some("alice"), "other"),
    ];
    for (place, name) in names.iter().enumerate() {
        assert!(is_partial(name));
        assert!(!names[..place].contains(name));
    }
    assert!(!is_partial(".polypath-0123.part") && !is_partial("0123456789abcdef"));
}

#[cfg(unix)]
#[test]
fn a_link_under_the_hidden_name_is_not_followed() {
    let directory = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    let victim = outside.path().join("victim");
    fs::write(&victim, "victim").unwrap();
    let link = directory.path().join(part_name(None, "name"));
    std::os::unix::fs::symlink(&victim, link).unwrap();
    assert!(open(directory.path(), "name", 1).is_err());
    assert_eq!(fs::read(&victim).unwrap(), b"victim");
}

#[cfg(unix)]
#[test]
fn permissions_and_time_are_those_of_the_sender_without_special_bits() {
    use std::os::unix::fs::PermissionsExt;

    let directory = tempfile::tempdir().unwrap();
    let modified = Some(crate::frame::Modified { seconds: 1_000_000_000, nanoseconds: 5 });
    let target = Target {
        mode: Some(0o6510),
        modified,
        ..target(directory.path(), "name", 1, Existing::Keep)
    };
    let path = PartialFile::create(target, 0).unwrap().complete().unwrap().path;
    let found = fs::metadata(path).unwrap();
    let mode = found.permissions().mode() & 0o7777;
    // The mask of the process may take some away.
    assert_eq!((mode & !0o510, mode & 0o500), (0, 0o500));
    assert_eq!(crate::frame::Modified::of(found.modified().unwrap()), modified);
}

#[test]
fn a_file_that_appears_meanwhile_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let file = create(directory.path(), "name", 0).unwrap();
    fs::write(directory.path().join("name"), "other").unwrap();
    assert!(matches!(file.complete(), Err(FileError::Exists(_))));
    assert_eq!(fs::read(directory.path().join("name")).unwrap(), b"other");
    assert_eq!(entries(directory.path()), ["name"]);
    let target = target(directory.path(), "name", 0, Existing::Replace);
    PartialFile::create(target, 0).unwrap().complete().unwrap();
    assert_eq!(fs::read(directory.path().join("name")).unwrap(), b"");
}

#[cfg(unix)]
#[test]
fn what_cannot_fit_is_refused_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let refused = create(directory.path(), "huge", u64::MAX).unwrap_err();
    assert!(refused.to_string().contains("bytes are free"), "{refused}");
    let target = target(directory.path(), "small", 1, Existing::Keep);
    let refused = PartialFile::create(target, u64::MAX).unwrap_err();
    assert!(matches!(refused, FileError::NoRoom { free: 0, .. }), "promised to others: {refused}");
    assert!(entries(directory.path()).is_empty());
}

#[cfg(unix)]
#[test]
fn a_file_of_unknown_size_asks_for_room_as_it_grows() {
    let directory = tempfile::tempdir().unwrap();
    let target = Target { size: None, ..target(directory.path(), "name", 0, Existing::Keep) };
    let mut file = PartialFile::create(target, 0).unwrap();
    file.write(b"content").unwrap();
    // Meanwhile all of the disk is promised to others.
    file.taken = u64::MAX;
    file.write(&vec![7; ROOM_STEP as usize]).unwrap();
    let refused = file.write(b"one more").unwrap_err();
    assert!(matches!(refused, FileError::NoRoom { free: 0, .. }), "{refused}");
}

/// Only Linux has a file that is always full.
#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_is_full_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let target = target(directory.path(), "holiday.mkv", 10, Existing::Keep);
    let path = directory.path().join("part");
    let mut file = PartialFile::new(full, path, target, (true, 0), 0);
    let error = file.write(b"content").unwrap_err();
    assert_eq!(error.to_string(), "the disk is full: \"holiday.mkv\" does not fit");
}

#[test]
fn a_missing_directory_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    assert!(create(&directory.path().join("missing"), "name", 1).is_err());
}

/// Incomplete files of these names and sizes; each was written to an hour after the one before.
fn leave(directory: &Path, of: &[(&str, u64)]) {
    let begin = SystemTime::now() - Duration::from_secs(100 * 3600 + 1800);
    for (hour, (name, bytes)) in (0..).zip(of) {
        let file = File::create(directory.join(part_name(None, name))).unwrap();
        file.set_len(*bytes).unwrap();
        file.set_modified(begin + Duration::from_secs(3600 * hour)).unwrap();
    }
}

#[test]
fn old_parts_and_those_beyond_a_size_go_the_oldest_first() {
    let directory = tempfile::tempdir().unwrap();
    let of = [("a", 100), ("b", 100), ("c", 100), ("d", 100)];
    leave(directory.path(), &of);
    fs::write(directory.path().join("complete"), "").unwrap();
    let ledger = Ledger::default();
    let names = || parts(directory.path()).into_iter().map(|part| part.name).collect::<Vec<_>>();
    let keep = |hours: u64, max_bytes| Incomplete::Keep {
        time: Duration::from_secs(3600 * hours),
        max_bytes,
    };
    let sweep =
        |rule, except: &str| sweep(directory.path(), &ledger, rule, &part_name(None, except));
    sweep(keep(200, None), "");
    assert_eq!(names().len(), 4);
    sweep(keep(99, None), "a");
    assert_eq!(names().len(), 3, "two are too old, and one of them is wanted");
    // One is being written to.
    let held = File::open(directory.path().join(part_name(None, "c"))).unwrap();
    held.try_lock().unwrap();
    sweep(keep(200, Some(100)), "a");
    assert_eq!(names(), [part_name(None, "a"), part_name(None, "c")]);
    drop(held);
    sweep(keep(200, Some(100)), "");
    assert_eq!(names(), [part_name(None, "c")]);
    sweep(Incomplete::Discard, "");
    assert_eq!(names().len(), 1, "another receiver may want it");
    assert!(directory.path().join("complete").exists());
}
