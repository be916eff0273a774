//! What tasks leave for each other.

use std::sync::{Arc, Mutex};

use tokio::sync::Notify;

use crate::lock::lock;

/// A list that others add to and one task takes. Once that task runs no more, nothing can be left in it: what is in it
/// could otherwise keep itself alive.
#[derive(Debug)]
pub(crate) struct Mailbox<T> {
    contents: Mutex<Option<T>>,
    /// Wakes the task that takes.
    bell: Arc<Notify>,
}

impl<T: Default> Mailbox<T> {
    /// An empty mailbox of the task that `bell` wakes.
    pub(crate) fn new(bell: &Arc<Notify>) -> Self {
        Self { contents: Mutex::new(Some(T::default())), bell: Arc::clone(bell) }
    }

    /// Leaves something for the task and wakes it; `None` where it runs no more.
    pub(crate) fn leave<R>(&self, what: impl FnOnce(&mut T) -> R) -> Option<R> {
        let mut contents = lock(&self.contents);
        let left = what(contents.as_mut()?);
        self.bell.notify_one();
        Some(left)
    }

    /// Takes what others left; `None` once the mailbox is closed.
    pub(crate) fn take(&self) -> Option<T> {
        lock(&self.contents).as_mut().map(std::mem::take)
    }

    /// Nobody takes anything any more. What is left is dropped, without the lock.
    pub(crate) fn close(&self) {
        let contents = lock(&self.contents).take();
        drop(contents);
        self.bell.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_mailbox_keeps_nothing() {
        let bell = Arc::new(Notify::new());
        let mailbox = Mailbox::<Vec<Arc<u8>>>::new(&bell);
        let letter = Arc::new(7);
        assert!(mailbox.leave(|letters| letters.push(Arc::clone(&letter))).is_some());
        assert_eq!(mailbox.take().map(|letters| letters.len()), Some(1));
        assert_eq!(mailbox.take().map(|letters| letters.len()), Some(0));
        mailbox.leave(|letters| letters.push(Arc::clone(&letter)));
        mailbox.close();
        assert_eq!(Arc::strong_count(&letter), 1);
        assert!(mailbox.leave(|letters| letters.push(Arc::clone(&letter))).is_none());
        assert_eq!((mailbox.take(), Arc::strong_count(&letter)), (None, 1));
    }
}
