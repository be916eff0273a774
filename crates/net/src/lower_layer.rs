//! What carries the packets of an endpoint in place of sockets.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use tokio::sync::mpsc;

/// A lower layer of the program's own that leads to one peer and carries datagrams, such as DTLS (RFC 8261). It may lose and
/// reorder packets, as networks do.
///
/// [`ChannelLayer`] does for most programs: a task of theirs has the other ends of two channels.
pub trait LowerLayer: fmt::Debug + Send + 'static {
    /// Becomes ready when a packet can be sent. Until then packets wait, and what sends them goes by its acknowledgements.
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<()>;

    /// Sends a packet, after [`poll_ready`](Self::poll_ready) has been ready. One that cannot be sent is lost.
    fn send(&mut self, packet: Bytes);

    /// The next packet that has come; `None` when the lower layer has ended, and with it every association over it.
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>>;
}

/// A lower layer of two channels.
///
/// It ends when the sender of `incoming` is dropped. Packets for `outgoing` wait while that is full, and are lost when its receiver is
/// gone.
pub struct ChannelLayer {
    outgoing: mpsc::Sender<Bytes>,
    incoming: mpsc::Receiver<Bytes>,
    room: Room,
}

/// Whether `outgoing` takes a packet.
enum Room {
    Unknown,
    Awaited(Pin<Box<dyn Future<Output = Option<mpsc::OwnedPermit<Bytes>>> + Send>>),
    Reserved(mpsc::OwnedPermit<Bytes>),
    /// Nobody takes packets any more.
    Gone,
}

impl ChannelLayer {
    /// Packets go out through `outgoing` and come in through `incoming`.
    pub fn new(outgoing: mpsc::Sender<Bytes>, incoming: mpsc::Receiver<Bytes>) -> Self {
        Self { outgoing, incoming, room: Room::Unknown }
    }

    /// Two layers that lead to each other, each of which holds up to `capacity` packets for the other.
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
        // What nobody takes is lost.
        for _ in 0..3 {
            poll_fn(|cx| far.poll_ready(cx)).await;
            far.send(Bytes::new());
        }
    }
}
