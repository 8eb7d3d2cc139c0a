//! Work on the disk in the background, while an agent does something else.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

/// A thread that does one kind of work.
pub(crate) struct Background<T> {
    begun: Option<Sender<T>>,
    done: Receiver<Result<(), String>>,
    pending: usize,
    thread: Option<JoinHandle<()>>,
}

impl<T: Send + 'static> Background<T> {
    pub(crate) fn new(mut work: impl FnMut(T) -> Result<(), String> + Send + 'static) -> Self {
        let (begun, tasks) = channel();
        let (sender, done) = channel();
        let thread = std::thread::spawn(move || {
            for task in tasks {
                if sender.send(work(task)).is_err() {
                    break;
                }
            }
        });
        Self { begun: Some(begun), done, pending: 0, thread: Some(thread) }
    }

    /// Begins with a task.
    pub(crate) fn begin(&mut self, task: T) {
        // A thread that is gone is noticed below.
        let _ = self.begun.as_ref().map(|begun| begun.send(task));
        self.pending += 1;
    }

    /// Returns once everything that was begun is done.
    pub(crate) fn finish(&mut self) -> Result<(), String> {
        while self.pending > 0 {
            self.pending -= 1;
            self.done.recv().unwrap_or_else(|_| Err("its writer has ended".into()))?;
        }
        Ok(())
    }
}

/// What the thread holds, such as the lock of a file, is free again when this is gone.
impl<T> Drop for Background<T> {
    fn drop(&mut self) {
        drop(self.begun.take());
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
