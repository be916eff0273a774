//! Content of a message that does not fit into its frame: memory that is handed over by its descriptor, with the frame.

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{MemfdFlags, fcntl_get_seals, memfd_create};
use rustix::io::{Errno, pread, writev};
use rustix::process::{Resource, getrlimit};

/// New memory, empty.
///
/// # Errors
///
/// Those of the system, such as too many descriptors.
pub fn create() -> io::Result<OwnedFd> {
    Ok(memfd_create(c"polypath-message", MemfdFlags::CLOEXEC)?)
}

/// Whether the process may write files of this size, of which such memory is one: beyond its limit, the system would end it (`SIGXFSZ`).
///
/// # Errors
///
/// It may not.
pub(crate) fn ensure_size(bytes: u64) -> io::Result<()> {
    match getrlimit(Resource::Fsize).current {
        Some(most) if most < bytes => Err(Errno::FBIG.into()),
        _ => Ok(()),
    }
}

/// Memory with this content.
///
/// # Errors
///
/// Those of the system, such as too many descriptors.
pub fn with(parts: &[&[u8]]) -> io::Result<OwnedFd> {
    /// Most parts that the system takes at once.
    const MOST: usize = 1024;
    ensure_size(parts.iter().map(|part| part.len() as u64).sum())?;
    let annex = create()?;
    for parts in parts.chunks(MOST) {
        let mut slices: Vec<_> = parts.iter().map(|part| IoSlice::new(part)).collect();
        let mut left = &mut slices[..];
        IoSlice::advance_slices(&mut left, 0);
        while !left.is_empty() {
            let written = writev(&annex, left)?;
            if written == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            IoSlice::advance_slices(&mut left, written);
        }
    }
    Ok(annex)
}

/// Fills `into` from a place on. Another kind of file than memory is refused: reading it might never end.
///
/// # Errors
///
/// If it is another kind of file, or ends before.
pub fn read(annex: &impl AsFd, place: u64, into: &mut [u8]) -> io::Result<()> {
    fcntl_get_seals(annex)?;
    let mut done = 0;
    while done < into.len() {
        match pread(annex, &mut into[done..], place + done as u64) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(more) => done += more,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_read_from_any_place() {
        let bytes: Vec<u8> = (0..200_000_u32).map(|number| number as u8).collect();
        let parts: Vec<&[u8]> = bytes.chunks(37).collect();
        let annex = with(&parts).unwrap();
        let mut read_back = vec![0; bytes.len()];
        read(&annex, 0, &mut read_back).unwrap();
        assert!(read_back == bytes);
        let mut end = [0; 3];
        read(&annex, bytes.len() as u64 - 3, &mut end).unwrap();
        assert_eq!(end[..], bytes[bytes.len() - 3..]);
        assert!(read(&annex, bytes.len() as u64 - 2, &mut end).is_err(), "beyond the end");
        read(&with(&[]).unwrap(), 0, &mut []).unwrap();
    }

    #[test]
    fn other_files_are_refused() {
        let (pipe, _other) = std::io::pipe().unwrap();
        let file = std::fs::File::open("/proc/self/exe").unwrap();
        let mut byte = [0];
        assert!(read(&pipe, 0, &mut byte).is_err());
        assert!(read(&file, 0, &mut byte).is_err());
    }
}
