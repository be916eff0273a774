//! Waiting for a socket, by several tasks at a time.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::Interest;
use tokio::net::UdpSocket;

/// At most one wait for a socket. The runtime's own `poll_...` functions support a single waiting task only.
#[derive(Default)]
pub(crate) struct Wait(Option<Pin<Box<dyn Future<Output = ()> + Send + Sync>>>);

impl Wait {
    /// Becomes ready when the socket is.
    pub(super) fn poll(
        &mut self,
        socket: &Arc<UdpSocket>,
        interest: Interest,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        let wait = self.0.get_or_insert_with(|| {
            let socket = Arc::clone(socket);
            Box::pin(async move {
                // An error means that the runtime has ended, which the receiving task finds out, too.
                let _ = socket.ready(interest).await;
            })
        });
        let poll = wait.as_mut().poll(cx);
        if poll.is_ready() {
            self.0 = None;
        }
        poll
    }
}

impl fmt::Debug for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Wait").field(&self.0.is_some()).finish()
    }
}
