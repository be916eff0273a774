//! Where content goes that does not become a file here.

use std::fmt;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// Takes the content of one file after the other, for example a pipe to another program.
#[derive(Clone)]
pub(crate) struct Sink(Arc<Mutex<dyn Write + Send>>);

impl Sink {
    pub(crate) fn new(to: impl Write + Send + 'static) -> Self {
        Self(Arc::new(Mutex::new(to)))
    }

    pub(crate) fn write(&self, content: &[u8]) -> io::Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write_all(content)
    }

    pub(crate) fn flush(&self) -> io::Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).flush()
    }
}

impl fmt::Debug for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sink")
    }
}
