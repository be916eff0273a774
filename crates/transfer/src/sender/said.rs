//! What the receiver says at the beginning: the version that it knows, and whether it takes hidden files.

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::time::Duration;

use tokio::time::timeout;

use super::{Sender, out_of_turn, understand};
use crate::error::SendError;
use crate::event::Event;
use crate::frame::{Hello, Version};
use crate::name;
use crate::report::FileReport;

/// Longest time to wait for the beginning. Receivers that say whether they take hidden files do so at once.
const PATIENCE: Duration = Duration::from_secs(2);

/// Why a hidden file is not offered.
const REASON: &str = "its name begins with a dot, and the receiver takes no hidden files";

/// What was said so far.
#[derive(Debug, Default)]
pub(super) struct Said {
    version: AtomicU8,
    /// A [`Hidden`].
    hidden: AtomicU8,
}

/// Whether hidden files are taken.
enum Hidden {
    Refused = 1,
    Taken = 2,
}

impl Said {
    pub(super) fn note(&self, hello: Hello) {
        self.version.fetch_max(hello.version, Relaxed);
        if let Some(takes) = hello.hidden {
            let hidden = if takes { Hidden::Taken } else { Hidden::Refused };
            self.hidden.store(hidden as u8, Relaxed);
        }
    }

    /// The highest version that the receiver knows; 0 if it named none.
    pub(super) fn version(&self) -> u8 {
        self.version.load(Relaxed)
    }

    /// Whether the receiver has said that it takes no hidden files.
    pub(super) fn refuses_hidden(&self) -> bool {
        self.hidden.load(Relaxed) == Hidden::Refused as u8
    }

    fn is_silent_on_hidden(&self) -> bool {
        self.hidden.load(Relaxed) == 0
    }
}

impl Sender {
    /// If hidden files are to be sent, waits until the receiver has said whether it takes them. If it does not, they are left out of the
    /// batch; if it does not say so in time, they are offered.
    pub(super) async fn ask_about_hidden(&mut self) -> Result<(), SendError> {
        let of = self.batch.len();
        let Some((count, first)) = self.batch.hidden() else { return Ok(()) };
        let first = name::shown(first.as_bytes());
        if self.version < Version::Second {
            return Ok(());
        }
        let said = async {
            while self.said.is_silent_on_hidden() {
                let message = self.association.receive().await?.ok_or(SendError::ReceiverLeft)?;
                if let Some(frame) = understand(message, &self.said)? {
                    return Err(out_of_turn(&frame, "before anything was offered"));
                }
            }
            Ok(())
        };
        timeout(PATIENCE, said).await.unwrap_or(Ok(()))?;
        if !self.said.refuses_hidden() {
            return Ok(());
        }
        self.tell(&Event::HiddenRefused { count, of, first });
        // They are no part of the batch any more: the receiver expects as many offers as follow.
        for name in self.batch.take_hidden(self.done) {
            let file = FileReport::refused(name::shown(name.as_bytes()), REASON.to_owned());
            self.tell(&Event::Ended { file: file.clone(), warning: None });
            self.files.add(file);
        }
        Ok(())
    }
}
