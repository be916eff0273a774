//! Content of a message that does not fit into its frame: memory that is handed over by its descriptor, with the frame.

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{MemfdFlags, fcntl_get_seals, fstat, memfd_create};
use rustix::io::{Errno, pread, writev};
use rustix::process::{Resource, getrlimit};

/// New memory for so many bytes, empty.
///
/// # Errors
///
/// Those of the system, such as too many descriptors.
pub fn create(bytes: usize) -> io::Result<OwnedFd> {
    ensure_size(bytes as u64)?;
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
    let annex = create(parts.iter().map(|part| part.len()).sum())?;
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

/// Whether there may be so many bytes. Another kind of file than memory is refused: reading it might never end, or take what is another's.
///
/// # Errors
///
/// If it is another kind of file, or has fewer bytes.
pub fn ensure(annex: &impl AsFd, bytes: u64) -> io::Result<()> {
    fcntl_get_seals(annex)?;
    let size = u64::try_from(fstat(annex)?.st_size).unwrap_or(0);
    if size < bytes { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
}

/// Appends so many bytes of the content to `into`. Whoever has sent the frame says how many there are: that is verified before there is memory for them.
///
/// # Errors
///
/// If it is another kind of file than memory, or has fewer bytes, or there is no memory for them.
pub fn append(annex: &impl AsFd, bytes: u32, into: &mut Vec<u8>) -> io::Result<()> {
    ensure(annex, bytes.into())?;
    let before = into.len();
    into.try_reserve_exact(bytes as usize).map_err(|_| io::ErrorKind::OutOfMemory)?;
    into.resize(before + bytes as usize, 0);
    let mut place = before;
    while place < into.len() {
        match pread(annex, &mut into[place..], (place - before) as u64) {
            // Others may make it shorter at any time.
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(more) => place += more,
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
    fn content_is_read_as_far_as_it_is_wanted() {
        let bytes: Vec<u8> = (0..200_000_u32).map(|number| number as u8).collect();
        let parts: Vec<&[u8]> = bytes.chunks(37).collect();
        let annex = with(&parts).unwrap();
        let mut read_back = b"in front".to_vec();
        append(&annex, 200_000, &mut read_back).unwrap();
        assert!(read_back[..8] == *b"in front" && read_back[8..] == bytes);
        read_back.clear();
        append(&annex, 3, &mut read_back).unwrap();
        assert_eq!(read_back, bytes[..3]);
        append(&with(&[]).unwrap(), 0, &mut read_back).unwrap();
        assert_eq!(read_back.len(), 3);
    }

    #[test]
    fn memory_is_not_taken_for_bytes_that_are_not_there() {
        let annex = with(&[b"few"]).unwrap();
        for wrong in [4, u32::MAX] {
            let mut bytes = Vec::new();
            let kind = append(&annex, wrong, &mut bytes).map_err(|error| error.kind());
            assert_eq!(kind, Err(io::ErrorKind::UnexpectedEof));
            assert_eq!(bytes.capacity(), 0);
        }
    }

    #[test]
    fn other_files_are_refused() {
        let (pipe, _other) = std::io::pipe().unwrap();
        let file = std::fs::File::open("/proc/self/exe").unwrap();
        assert!(append(&pipe, 1, &mut Vec::new()).is_err());
        assert!(append(&file, 1, &mut Vec::new()).is_err());
        assert!(ensure(&file, 0).is_err());
    }
}
