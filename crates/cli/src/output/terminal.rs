//! A terminal for progress bars that can be stopped (Ctrl-S) without blocking the program.

use std::fmt::Write as _;
use std::io;
use std::sync::{Mutex, PoisonError};

use indicatif::TermLike;

/// Collects what is drawn, and passes it on as a whole when flushed.
#[derive(Debug)]
pub(crate) struct Terminal {
    /// Used for its size only.
    size: console::Term,
    drawn: Mutex<String>,
    /// Takes what was drawn. It must not block.
    out: fn(String),
}

impl Terminal {
    /// Standard error, to which `out` writes.
    pub(crate) fn stderr(out: fn(String)) -> Self {
        Self { size: console::Term::stderr(), drawn: Mutex::default(), out }
    }

    fn draw(&self, text: std::fmt::Arguments<'_>) -> io::Result<()> {
        let mut drawn = self.drawn.lock().unwrap_or_else(PoisonError::into_inner);
        drawn.write_fmt(text).map_err(io::Error::other)
    }

    /// A movement of the cursor by `n`, which 0 would make one by 1.
    fn move_cursor(&self, n: usize, direction: char) -> io::Result<()> {
        if n == 0 { Ok(()) } else { self.draw(format_args!("\x1b[{n}{direction}")) }
    }
}

impl TermLike for Terminal {
    fn width(&self) -> u16 {
        self.size.size().1
    }

    fn height(&self) -> u16 {
        self.size.size().0
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        self.move_cursor(n, 'A')
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        self.move_cursor(n, 'B')
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.move_cursor(n, 'C')
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.move_cursor(n, 'D')
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.draw(format_args!("{text}\n"))
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        self.draw(format_args!("{text}"))
    }

    fn clear_line(&self) -> io::Result<()> {
        self.draw(format_args!("\r\x1b[2K"))
    }

    fn flush(&self) -> io::Result<()> {
        let drawn = std::mem::take(&mut *self.drawn.lock().unwrap_or_else(PoisonError::into_inner));
        if !drawn.is_empty() {
            (self.out)(drawn);
        }
        Ok(())
    }
}
