//! Mailboxes between tasks.

use std::sync::{Arc, Mutex};

use tokio::sync::Notify;

use crate::lock::lock;

/// Contents that any task adds to and one task takes. When that task ends, it closes the mailbox, which then accepts
/// nothing more: contents that own the mailbox would otherwise never be freed.
#[derive(Debug)]
pub(crate) struct Mailbox<T> {
    contents: Mutex<Option<T>>,
    /// Wakes the task that takes the contents.
    bell: Arc<Notify>,
}

impl<T: Default> Mailbox<T> {
    /// An empty mailbox for the task that `bell` wakes.
    pub(crate) fn new(bell: &Arc<Notify>) -> Self {
        Self { contents: Mutex::new(Some(T::default())), bell: Arc::clone(bell) }
    }

    /// Changes the contents and wakes the task; `None` if the mailbox is closed.
    pub(crate) fn leave<R>(&self, what: impl FnOnce(&mut T) -> R) -> Option<R> {
        let mut contents = lock(&self.contents);
        let left = what(contents.as_mut()?);
        self.bell.notify_one();
        Some(left)
    }

    /// Takes the contents; `None` if the mailbox is closed.
    pub(crate) fn take(&self) -> Option<T> {
        lock(&self.contents).as_mut().map(std::mem::take)
    }

    /// Closes the mailbox. The contents are dropped outside the lock.
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
