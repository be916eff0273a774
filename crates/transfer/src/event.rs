//! What happens while files are sent or received.

use std::fmt;
use std::time::Duration;

use crate::report::FileReport;

/// Something that happened to a file, or to the association. Files come one after the other: an event is about the file that began last,
/// or, if none has begun, about one that could not begin or need not be sent. Small files begin, in events, when they are stored.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// Both sides agreed on a file, and its content comes next.
    Begun {
        /// Name of the file.
        name: String,
        /// Its size.
        bytes: u64,
    },
    /// The first bytes of the file that has begun are at the receiver already, from an earlier attempt.
    Resumed {
        /// Name of the file.
        name: String,
        /// Bytes that need not be sent.
        bytes: u64,
    },
    /// The association ended before all files were sent, and the sender connects again.
    Interrupted {
        /// Why it ended.
        error: String,
        /// How long the sender goes on trying.
        patience: Duration,
    },
    /// There is an association again.
    Reconnected {
        /// How long there was none.
        after: Duration,
    },
    /// The receiver takes no hidden files, and some of the batch are: they count as refused, and are not offered.
    HiddenRefused {
        /// How many they are.
        count: usize,
        /// How many there are in all.
        of: usize,
        /// The first of them.
        first: String,
    },
    /// More of the content was handed to the association, or received from it and handed to the disk.
    Progress {
        /// Bytes since the last event.
        bytes: u64,
    },
    /// The file is stored and verified, or is not.
    Ended {
        /// What became of it.
        file: FileReport,
        /// What went wrong after the file was stored. It changes nothing, but may be worth a look.
        warning: Option<String>,
    },
}

/// Hears of events.
type Observe = Box<dyn FnMut(&Event) + Send>;

/// Who hears of events, if anybody does.
#[derive(Default)]
pub(crate) struct Observer(Option<Observe>);

impl Observer {
    pub(crate) fn new(observe: impl FnMut(&Event) + Send + 'static) -> Self {
        Self(Some(Box::new(observe)))
    }

    pub(crate) fn hear(&mut self, event: &Event) {
        if let Some(observe) = &mut self.0 {
            observe(event);
        }
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Observer" } else { "Nobody" })
    }
}
