//! Lower layers, which carry the packets of an endpoint instead of sockets.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use tokio::sync::mpsc;

/// A lower layer of the program that connects to one peer and carries datagrams, such as DTLS (RFC 8261). It may lose
/// and reorder packets, like networks.
///
/// [`ChannelLayer`] is enough for most programs: one of their tasks has the other ends of two channels.
pub trait LowerLayer: fmt::Debug + Send + 'static {
    /// Becomes ready when a packet can be sent. Until then packets wait; congestion control limits their number.
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<()>;

    /// Sends a packet, after [`poll_ready`](Self::poll_ready) has been ready. One that cannot be sent is lost.
    fn send(&mut self, packet: Bytes);

    /// The next received packet; `None` when the lower layer has ended, which ends every association over it.
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>>;
}

/// A lower layer of two channels.
///
/// It ends when the sender of `incoming` is dropped. Packets for `outgoing` wait while it is full, and are lost once
/// its receiver is dropped.
pub struct ChannelLayer {
    outgoing: mpsc::Sender<Bytes>,
    incoming: mpsc::Receiver<Bytes>,
    room: Room,
}

/// Whether `outgoing` has space for a packet.
enum Room {
    Unknown,
    Awaited(Pin<Box<dyn Future<Output = Option<mpsc::OwnedPermit<Bytes>>> + Send>>),
    Reserved(mpsc::OwnedPermit<Bytes>),
    /// The receiver is dropped.
    Gone,
}

impl ChannelLayer {
    /// Sends packets through `outgoing` and receives them from `incoming`.
    pub fn new(outgoing: mpsc::Sender<Bytes>, incoming: mpsc::Receiver<Bytes>) -> Self {
        Self { outgoing, incoming, room: Room::Unknown }
    }

    /// Two connected layers, each of which holds up to `capacity` packets for the other.
    ///
    /// # Panics
    ///
    /// If `capacity` is 0.
    pub fn pair(capacity: usize) -> (Self, Self) {
        let (to_first, first) = mpsc::channel(capacity);
        let (to_second, second) = mpsc::channel(capacity);
        (Self::new(to_second, first), Self::new(to_first, second))
    }
}

impl LowerLayer for ChannelLayer {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            self.room = match &mut self.room {
                Room::Reserved(_) | Room::Gone => return Poll::Ready(()),
                Room::Unknown => match self.outgoing.clone().try_reserve_owned() {
                    Ok(permit) => Room::Reserved(permit),
                    Err(mpsc::error::TrySendError::Closed(_)) => Room::Gone,
                    Err(mpsc::error::TrySendError::Full(outgoing)) => {
                        Room::Awaited(Box::pin(async { outgoing.reserve_owned().await.ok() }))
                    }
                },
                Room::Awaited(permit) => match ready!(permit.as_mut().poll(cx)) {
                    Some(permit) => Room::Reserved(permit),
                    None => Room::Gone,
                },
            };
        }
    }

    fn send(&mut self, packet: Bytes) {
        if let Room::Reserved(permit) = std::mem::replace(&mut self.room, Room::Unknown) {
            permit.send(packet);
        }
    }

    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        self.incoming.poll_recv(cx)
    }
}

impl fmt::Debug for ChannelLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChannelLayer").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn packets_wait_while_the_channel_is_full() {
        let (mut near, mut far) = ChannelLayer::pair(1);
        assert!(poll_fn(|cx| near.poll_ready(cx)).now_or_never().is_some());
        near.send(Bytes::from_static(b"one"));
        assert!(poll_fn(|cx| near.poll_ready(cx)).now_or_never().is_none());
        assert_eq!(poll_fn(|cx| far.poll_receive(cx)).await.unwrap(), "one");
        poll_fn(|cx| near.poll_ready(cx)).await;
        near.send(Bytes::from_static(b"two"));
        assert_eq!(poll_fn(|cx| far.poll_receive(cx)).await.unwrap(), "two");
        drop(near);
        assert_eq!(poll_fn(|cx| far.poll_receive(cx)).await, None);
        // Packets without a receiver are lost.
        for _ in 0..3 {
            poll_fn(|cx| far.poll_ready(cx)).await;
            far.send(Bytes::new());
        }
    }
}
