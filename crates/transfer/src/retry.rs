//! Goes on after an outage: connects again, and sends what is left.

use std::fmt::Display;
use std::future::Future;
use std::time::Duration;

use polypath::Association;
use polypath::text::with_causes;
use tokio::time::{Instant, sleep, timeout_at};

use crate::batch::Batch;
use crate::error::{CONNECTING_AGAIN, SendError};
use crate::event::Event;
use crate::sender::Sender;

/// Longest pause between two attempts to connect.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// Associations in a row over which nothing came of the transfer: the receiver does not want it, or takes nothing.
const MOST_FRUITLESS: u32 = 3;
/// Bytes that are more than questions and answers.
const FRUIT: u64 = 64 << 10;

impl Sender {
    /// Sends a batch as [`send_batch`](Self::send_batch) does, and goes on where it was when an association fails: `connect` makes
    /// another one, which is tried for `patience` each time. Files that the receiver has stored are not sent again, nor is the beginning of a
    /// file that it has kept.
    ///
    /// If the future is dropped, [`abort`](Self::abort) must follow.
    ///
    /// # Errors
    ///
    /// Those of [`send`](Self::send), where another association does not help, or none came about.
    pub async fn send_with_retries<C, F, E>(
        &mut self,
        batch: Batch,
        patience: Duration,
        mut connect: C,
    ) -> Result<(), SendError>
    where
        C: FnMut() -> F,
        F: Future<Output = Result<Association, E>>,
        E: Display,
    {
        self.begin_batch(batch);
        let mut fruitless = 0;
        loop {
            let (bytes, done) = (self.association().progress_bytes(), self.done());
            let Err(error) = self.go_on().await else { return Ok(()) };
            let moved = self.association().progress_bytes().saturating_sub(bytes);
            let is_fruitless = moved < FRUIT && self.done() == done;
            fruitless = if is_fruitless { fruitless + 1 } else { 0 };
            let is_over = patience.is_zero() || fruitless >= MOST_FRUITLESS || !error.is_outage();
            let error = match error {
                error if is_over => error,
                error if !self.can_begin_again() => SendError::InputLost(with_causes(&error)),
                error => match self.connect_again(&error, patience, &mut connect).await {
                    Ok(()) => continue,
                    Err(error) => error,
                },
            };
            self.give_up(&error);
            return Err(error);
        }
    }

    async fn connect_again<C, F, E>(
        &mut self,
        error: &SendError,
        patience: Duration,
        connect: &mut C,
    ) -> Result<(), SendError>
    where
        C: FnMut() -> F,
        F: Future<Output = Result<Association, E>>,
        E: Display,
    {
        let error = with_causes(error);
        // The receiver keeps what came, as soon as it learns that no more does.
        self.association().abort(format!("{error}{CONNECTING_AGAIN}"));
        self.association_ended();
        self.tell(&Event::Interrupted { error: error.clone(), patience });
        let begin = Instant::now();
        let mut pause = Duration::from_millis(250);
        let mut last = None;
        loop {
            match timeout_at(begin + patience, connect()).await {
                Ok(Ok(association)) => {
                    self.continue_over(association);
                    self.tell(&Event::Reconnected { after: begin.elapsed() });
                    return Ok(());
                }
                Ok(Err(error)) => last = Some(error.to_string()),
                Err(_) => {}
            }
            if begin.elapsed() + pause >= patience {
                let last = last.unwrap_or_else(|| "no answer".to_owned());
                return Err(SendError::NotBack { error, last, patience });
            }
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}
