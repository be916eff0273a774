//! The directory that a receiver writes into, before the first file comes.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use super::destination::{is_partial, make_partial};
use super::progress::size;

/// Makes sure that files can be written to `directory`: makes it if it is missing, and tries.
pub(crate) fn prepare(directory: &Path) -> Result<()> {
    let shown = directory.display();
    match fs::metadata(directory) {
        Ok(found) => ensure!(
            found.is_dir(),
            "--out {shown}: that is a file and not a directory; name a directory for the files"
        ),
        Err(error) if error.kind() == ErrorKind::NotFound => make(directory)?,
        Err(error) => return Err(error).with_context(|| format!("--out {shown}")),
    }
    let (_, path) = make_partial(directory).with_context(|| {
        format!(
            "--out {shown}: no file can be made there; name a directory that this user may write into"
        )
    })?;
    fs::remove_file(&path).with_context(|| format!("--out {shown}: a file there cannot be removed"))
}

/// Makes the last part of a path.
fn make(directory: &Path) -> Result<()> {
    let shown = directory.display();
    let parent = directory.parent().filter(|parent| !parent.as_os_str().is_empty());
    if let Some(parent) = parent.filter(|parent| !parent.is_dir()) {
        bail!("--out {shown}: there is no directory {}; make it first", parent.display());
    }
    fs::create_dir(directory).with_context(|| format!("--out {shown}: cannot make the directory"))
}

/// A line about incomplete files that lie in `directory` before this receiver writes any; nothing if there are none. Who
/// made them cannot be known: they may belong to a receiver that runs.
pub(crate) fn leftovers(directory: &Path) -> Option<String> {
    let mut found: Vec<(String, u64)> = fs::read_dir(directory)
        .ok()?
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let name = entry.file_name().into_string().ok().filter(|name| is_partial(name))?;
            Some((name, entry.metadata().ok()?.len()))
        })
        .collect();
    if found.is_empty() {
        return None;
    }
    found.sort();
    let names: Vec<String> =
        found.iter().map(|(name, bytes)| format!("{name} ({})", size(*bytes))).collect();
    Some(format!(
        "incomplete files in {}: {}; unless another receiver is writing them, one that was killed has left them, and they can \
         be removed",
        directory.display(),
        names.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(directory: &Path) -> String {
        format!("{:#}", prepare(directory).unwrap_err())
    }

    #[test]
    fn the_last_part_is_made_and_nothing_is_left_in_it() {
        let place = tempfile::tempdir().unwrap();
        let inbox = place.path().join("inbox");
        for _ in 0..2 {
            prepare(&inbox).unwrap();
            assert_eq!(fs::read_dir(&inbox).unwrap().count(), 0);
        }
    }

    #[test]
    fn what_is_in_the_way_is_named() {
        let place = tempfile::tempdir().unwrap();
        let missing = place.path().join("missing");
        let told = refusal(&missing.join("inbox"));
        assert!(told.contains(&format!("there is no directory {}", missing.display())), "{told}");
        assert!(!missing.exists());
        let file = place.path().join("file");
        fs::write(&file, "content").unwrap();
        assert!(refusal(&file).contains("is a file and not a directory"), "{}", refusal(&file));
        let told = refusal(&file.join("inbox"));
        assert!(told.contains("inbox: Not a directory"), "{told}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn where_nothing_can_be_written_that_is_said() {
        // Not even root may.
        let told = refusal(Path::new("/proc"));
        assert!(told.contains("no file can be made there"), "{told}");
        let told = refusal(Path::new("/proc/inbox"));
        assert!(told.contains("cannot make the directory"), "{told}");
    }

    #[test]
    fn what_a_killed_receiver_left_is_named_and_stays() {
        let place = tempfile::tempdir().unwrap();
        assert_eq!(leftovers(place.path()), None);
        let left = ".polypath-0123456789abcdef.part";
        for name in [left, ".polypath-.part", "other.part", ".polypath-0123456789abcdeX.part"] {
            fs::write(place.path().join(name), "half").unwrap();
        }
        let told = leftovers(place.path()).unwrap();
        assert!(told.contains(&format!(": {left} (4 B); unless")), "{told}");
        assert!(place.path().join(left).exists());
    }
}
