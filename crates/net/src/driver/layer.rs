//! The task that drives an endpoint over a lower layer of the program instead of sockets.

use std::future::poll_fn;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use bytes::Bytes;
use polypath_proto::{Body, Instant, Received};
use tokio::time::sleep_until;

use super::router::Router;
use super::shard::Shard;
use crate::error::BindError;
use crate::lower_layer::LowerLayer;
use crate::socket::Sockets;
use crate::state::EndpointShared;

/// Maximum number of packets taken from the lower layer before the associations run.
const BATCH: usize = 64;

/// Why the task was woken.
enum Wake {
    Work,
    /// The lower layer has ended.
    LayerGone,
}

/// The only shard of an endpoint over a lower layer. Dropping it ends every association.
#[derive(Debug)]
pub(crate) struct LayerDriver {
    shard: Shard,
    layer: Box<dyn LowerLayer>,
    /// The address that names it, if it has a name.
    name: Option<IpAddr>,
    received: Vec<Bytes>,
}

impl LayerDriver {
    pub(crate) fn new(
        shared: Arc<EndpointShared>,
        layer: Box<dyn LowerLayer>,
        name: Option<IpAddr>,
    ) -> Self {
        let shard = Shard::over_layer(shared, Sockets::new(Vec::new()));
        Self { shard, layer, name, received: Vec::new() }
    }

    /// Runs until no handle of the endpoint is left and every association has ended, or until the lower layer has ended.
    pub(crate) async fn run(mut self) {
        let shared = Arc::clone(&self.shard.shared);
        let clock = shared.clock;
        let mut sleep = pin!(sleep_until(clock.to_system(Instant::FAR_FUTURE).into()));
        let mut armed = None;
        while !self.is_finished() {
            let deadline = self.shard.timers.next();
            if armed != deadline {
                sleep
                    .as_mut()
                    .reset(clock.to_system(deadline.unwrap_or(Instant::FAR_FUTURE)).into());
                armed = deadline;
            }
            let wake = tokio::select! {
                biased;
                wake = poll_fn(|cx| self.poll_layer(cx)) => wake,
                () = shared.shards.front().woken() => Wake::Work,
                () = &mut sleep, if deadline.is_some() => {
                    armed = None;
                    Wake::Work
                }
            };
            match wake {
                Wake::Work => self.step(),
                Wake::LayerGone => return,
            }
            // Lets users run on a runtime with a single thread.
            tokio::task::yield_now().await;
        }
    }

    fn is_finished(&self) -> bool {
        self.shard.shared.handles.load(Ordering::Acquire) == 0
            && self.shard.outbound.is_idle()
            && self.shard.shared.state().table.is_empty()
    }

    /// Sends pending packets, and takes received ones.
    fn poll_layer(&mut self, cx: &mut Context<'_>) -> Poll<Wake> {
        let Self { shard, layer, received, .. } = self;
        let mut has_sent = false;
        while shard.outbound.has_for_layer() && layer.poll_ready(cx).is_ready() {
            if let Some(packet) = shard.outbound.take_for_layer(&mut shard.stats) {
                layer.send(packet);
            }
            has_sent = true;
        }
        while received.len() < BATCH {
            match layer.poll_receive(cx) {
                Poll::Ready(Some(packet)) => received.push(packet),
                Poll::Ready(None) if received.is_empty() => return Poll::Ready(Wake::LayerGone),
                Poll::Ready(None) | Poll::Pending => break,
            }
        }
        if has_sent || !received.is_empty() { Poll::Ready(Wake::Work) } else { Poll::Pending }
    }

    /// One round: handles input, sends output, then notifies users.
    fn step(&mut self) {
        self.receive();
        self.shard.expire();
        self.shard.take_touched();
        for wish in self.shard.shared.rebinds.take().unwrap_or_default() {
            // The caller may have stopped waiting.
            drop(wish.done.send(Err(BindError::LowerLayer)));
        }
        self.shard.finish_round();
    }

    fn receive(&mut self) {
        if self.received.is_empty() {
            return;
        }
        let Shard { shared, sockets, outbound, touched, stats, .. } = &mut self.shard;
        let mut replies = Vec::new();
        let mut state = shared.state();
        let mut router =
            Router { shared, now: shared.clock.now(), state: &mut state, touched, stats };
        for packet in self.received.drain(..) {
            let body = Body::Datagram(&packet);
            let received = match self.name {
                Some(name) => Received::from_lower_layer_named(name, body),
                None => Received::from_lower_layer(body),
            };
            router.stats.packets_received += 1;
            router.stats.bytes_received += packet.len() as u64;
            shared.tap.received(&received);
            replies.extend(router.route(&received));
        }
        drop(state);
        for reply in replies {
            shared.tap.sent(&reply);
            outbound.push(sockets, &reply, None, stats);
        }
    }
}

impl Drop for LayerDriver {
    fn drop(&mut self) {
        super::close(&self.shard.shared);
    }
}
