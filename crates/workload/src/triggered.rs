//! Sources that send because something came: requests and responses.

use std::collections::BTreeMap;

use polypath_units::{ByteCount, Duration, Instant};

use crate::random::Stream;
use crate::{Distribution, RequestResponse, Responses};

/// Messages that become due when others have come.
#[derive(Clone, Debug)]
pub(crate) struct Triggered {
    sizes: Distribution<ByteCount>,
    /// From what triggers a message to the message.
    pause: Distribution<Duration>,
    /// By time, then in the order in which they were triggered; with the time at which what is answered was offered.
    due: BTreeMap<(Instant, u64), Option<Instant>>,
    triggered: u64,
    role: Role,
}

#[derive(Clone, Debug)]
enum Role {
    Client {
        /// Requests that wait for their response, or to be sent.
        open: u64,
        /// Requests that are still to come.
        left: Option<u64>,
    },
    Server,
}

impl Triggered {
    pub fn client(of: &RequestResponse, sizes: Distribution<ByteCount>, start: Instant) -> Self {
        let first = u64::from(of.concurrent).min(of.requests.unwrap_or(u64::MAX));
        let left = of.requests.map(|requests| requests - first);
        Self {
            sizes,
            pause: of.think.clone(),
            due: (0..first).map(|number| ((start, number), None)).collect(),
            triggered: first,
            role: Role::Client { open: first, left },
        }
    }

    pub fn server(of: &Responses) -> Self {
        Self {
            sizes: of.size.clone(),
            pause: of.service.clone(),
            due: BTreeMap::new(),
            triggered: 0,
            role: Role::Server,
        }
    }

    /// A response came, or a request that was offered at `since`. Nothing begins from `stop` on.
    pub fn trigger(
        &mut self,
        now: Instant,
        since: Instant,
        stop: Option<Instant>,
        rng: &mut Stream,
    ) {
        let at = now + self.pause.draw(rng);
        let since = match &mut self.role {
            Role::Server => Some(since),
            Role::Client { open, left } => {
                *open = open.saturating_sub(1);
                if *left == Some(0) || stop.is_some_and(|stop| at >= stop) {
                    return;
                }
                if let Some(left) = left {
                    *left -= 1;
                }
                *open += 1;
                None
            }
        };
        self.due.insert((at, self.triggered), since);
        self.triggered += 1;
    }

    /// A message that is due by `now`: when it was, its length, and since when it is waited for.
    pub fn take_due(
        &mut self,
        now: Instant,
        rng: &mut Stream,
    ) -> Option<(Instant, u64, Option<Instant>)> {
        let (&(at, number), since) =
            self.due.first_key_value().filter(|((at, _), _)| *at <= now)?;
        let since = *since;
        self.due.remove(&(at, number));
        Some((at, self.sizes.draw(rng).as_bytes(), since))
    }

    pub fn next_due(&self) -> Option<Instant> {
        self.due.first_key_value().map(|((at, _), _)| *at)
    }

    /// Whether nothing is due or waited for, and nothing will be without a further trigger.
    pub fn is_idle(&self) -> bool {
        match self.role {
            Role::Client { open, .. } => open == 0,
            Role::Server => self.due.is_empty(),
        }
    }

    /// Whether it ends by itself.
    pub fn has_end(&self) -> bool {
        matches!(self.role, Role::Client { left: Some(_), .. })
    }
}
