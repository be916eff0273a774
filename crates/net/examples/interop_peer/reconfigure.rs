//! What changes in the middle of a transfer (RFC 6525).

use anyhow::{Context, bail};
use clap::ValueEnum;
use polypath::{Association, Event, EventKinds, Events};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::options::Options;

/// What changes when half of the messages are sent. The receiver asks for what it needs of the sender, the sender does the rest.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Reconfiguration {
    /// The sender's streams begin anew, as it wants.
    ResetOutgoing,
    /// The same, as the receiver wants.
    ResetIncoming,
    /// All streams and TSNs begin anew, as the sender wants.
    ResetAssociation,
    /// There are twice as many streams from the sender, as it wants.
    AddOutgoing,
    /// The same, as the receiver wants.
    AddIncoming,
}

impl Reconfiguration {
    /// Whether the association begins with half of the streams.
    pub fn adds_streams(self) -> bool {
        matches!(self, Self::AddOutgoing | Self::AddIncoming)
    }
}

/// What has changed, how often.
#[derive(Clone, Copy, Default)]
pub struct Changes {
    outgoing_resets: u32,
    association_resets: u32,
    additions: u32,
    refusals: u32,
}

impl Changes {
    fn count(&mut self, event: &Event) {
        match event {
            Event::OutgoingStreamsReset { .. } => self.outgoing_resets += 1,
            Event::AssociationReset { .. } => self.association_resets += 1,
            Event::StreamsAdded { .. } => self.additions += 1,
            Event::ReconfigurationRefused { .. } => self.refusals += 1,
            _ => {}
        }
    }
}

/// Counts what changes, and waits for it.
pub struct Reconfigurer {
    association: Association,
    changes: watch::Receiver<Changes>,
    counter: JoinHandle<()>,
}

impl Reconfigurer {
    /// Begins to count.
    pub fn new(association: &Association) -> Self {
        let (sender, changes) = watch::channel(Changes::default());
        let kinds =
            EventKinds::STREAM_RESET | EventKinds::ASSOCIATION_RESET | EventKinds::STREAM_CHANGE;
        let events = association.events_of(kinds);
        let counter = tokio::spawn(count(events, sender));
        Self { association: association.clone(), changes, counter }
    }

    /// What the sender does when half of the messages are sent, or what it waits for.
    pub async fn begin(&mut self, options: &Options) -> anyhow::Result<()> {
        let more = options.streams / 2;
        match options.reconfigure {
            None => Ok(()),
            // What is sent waits for these by itself.
            Some(Reconfiguration::ResetOutgoing) => {
                Ok(self.association.reset_outgoing_streams(&[])?)
            }
            Some(Reconfiguration::ResetAssociation) => Ok(self.association.reset_association()?),
            Some(Reconfiguration::ResetIncoming) => {
                self.wait_for(|changes| changes.outgoing_resets > 0).await
            }
            Some(Reconfiguration::AddOutgoing) => {
                self.association.add_outgoing_streams(more)?;
                self.wait_for(|changes| changes.additions > 0).await
            }
            Some(Reconfiguration::AddIncoming) => {
                self.wait_for(|changes| changes.additions > 0).await
            }
        }
    }

    /// What the receiver asks for when it has half of the messages.
    pub fn ask(&self, options: &Options) -> anyhow::Result<()> {
        match options.reconfigure {
            Some(Reconfiguration::ResetIncoming) => self.association.reset_incoming_streams(&[])?,
            Some(Reconfiguration::AddIncoming) => {
                self.association.add_incoming_streams(options.streams / 2)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Prints what has changed until the association ended.
    pub async fn print(self) -> anyhow::Result<()> {
        self.counter.await?;
        let Changes { association_resets, additions, refusals, .. } = *self.changes.borrow();
        println!(
            "association_resets={association_resets} additions={additions} reconfigurations_refused={refusals}"
        );
        Ok(())
    }

    async fn wait_for(&mut self, done: impl Fn(&Changes) -> bool) -> anyhow::Result<()> {
        let changes = self.changes.wait_for(|it| done(it) || it.refusals > 0).await;
        let changes = *changes.context("an end before the reconfiguration")?;
        if !done(&changes) {
            bail!("the reconfiguration was refused");
        }
        Ok(())
    }
}

async fn count(mut events: Events, changes: watch::Sender<Changes>) {
    while let Some(event) = events.next().await {
        changes.send_modify(|changes| changes.count(&event));
    }
}
