//! Notices a peer that shows no sign of life.

use std::time::Duration;

use polypath::Association;

use crate::error::SessionError;

/// Longest time between two looks at a peer; with a shorter patience it is looked at ten times within it.
const LONGEST_LOOK: Duration = Duration::from_secs(1);
/// See [`LONGEST_LOOK`].
const LOOKS: u32 = 10;

/// What was seen of a peer.
#[derive(Clone, Debug)]
pub(crate) struct Silence {
    longest: Duration,
    /// Bytes that were moved when the peer was looked at last.
    bytes: u64,
    /// Time since then without any more.
    silent: Duration,
}

impl Silence {
    /// A peer that has moved `bytes` already and may be silent for `longest`.
    pub fn new(longest: Duration, bytes: u64) -> Self {
        Self { longest, bytes, silent: Duration::ZERO }
    }

    /// How long to wait before the next look.
    pub fn next_look(&self) -> Duration {
        let left = self.longest.saturating_sub(self.silent);
        left.min(self.longest / LOOKS).min(LONGEST_LOOK)
    }

    /// Looks at the peer after `waited` more; `bytes` are all that have been moved so far. Gives an error when it is to
    /// be given up.
    pub fn look(&mut self, waited: Duration, bytes: u64) -> Result<(), SessionError> {
        self.silent = if bytes == self.bytes { self.silent + waited } else { Duration::ZERO };
        self.bytes = bytes;
        if self.silent >= self.longest {
            return Err(SessionError::Silent(self.longest));
        }
        Ok(())
    }
}

/// Bytes of user data that arrived or were acknowledged.
pub(crate) fn traffic(association: &Association) -> u64 {
    let paths = association.path_stats();
    paths.iter().map(|path| path.data_bytes_acked + path.data_bytes_received).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_is_given_up_and_any_progress_ends_it() {
        const SECOND: Duration = Duration::from_secs(1);
        let mut silence = Silence::new(5 * SECOND, 7);
        assert_eq!(silence.next_look(), SECOND / 2);
        silence.look(4 * SECOND, 7).unwrap();
        silence.look(SECOND, 8).unwrap();
        silence.look(5 * SECOND - SECOND / 10, 8).unwrap();
        assert_eq!(silence.next_look(), SECOND / 10, "what is left");
        let error = silence.look(SECOND / 10, 8).unwrap_err();
        assert_eq!(error.to_string(), "the peer was silent for 5 s");
    }
}
