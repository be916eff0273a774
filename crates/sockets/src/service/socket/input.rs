//! What a program sends through its descriptor, until it closes it.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use polypath::AssociationOptions;
use rustix::io::Errno;

use super::departures::Departure;
use super::{Socket, State};
use crate::abi::flag;
use crate::control::Abort;
use crate::frame::{HEAD_BYTES, Head, Kind, MAX_MESSAGE_BYTES, wanted};
use crate::service::link::{Link, Outgoing};
use crate::service::notify::{self, Told};

/// How often a program is looked for whose association takes nothing.
pub(super) const ABANDONED_CHECK: Duration = Duration::from_millis(100);

/// A frame that was taken out of the descriptor.
struct Taken {
    /// `None` if it cannot be read, or is larger than may wait to be sent.
    payload: Option<Bytes>,
    /// The associations that it is meant for.
    links: Vec<Arc<Link>>,
    /// The association that it was meant for, which was aborted meanwhile.
    aborted: Option<Arc<Link>>,
}

impl Socket {
    /// Reads what the program sends, until it has closed its last descriptor.
    pub(super) async fn read(self: Arc<Self>) {
        loop {
            self.end_due().await;
            self.state().departures.settle(0);
            let peeked = tokio::select! {
                biased;
                () = self.ending.notified() => continue,
                peeked = self.channel.peek() => peeked,
            };
            let Ok(Some((head, size))) = peeked else { break };
            self.has_been_taken();
            if head.is_some_and(|head| head.kind == Kind::Filler) {
                // As long as it lies there, the descriptor is not writable.
                self.wait_for_settlement_with_filler(size).await;
                self.wait_while_listening().await;
            }
            let Ok(taken) = self.take(head.as_ref(), size) else { break };
            // What cannot be read is left out, as any other nonsense.
            let Some(payload) = taken.payload else { continue };
            if let Some(link) = taken.aborted {
                let head = head.unwrap_or(Head::of(Kind::Data));
                let message = Outgoing::new(&completed(&link, head), payload);
                link.refuse(&self, message, Errno::CONNABORTED).await;
                continue;
            }
            match head {
                Some(head) if head.kind == Kind::Data => {
                    let goes_on = self.outgoing(&head, payload, taken.links).await;
                    if !goes_on {
                        break;
                    }
                }
                Some(head) if head.kind == Kind::Shutdown => self.shut(head.value).await,
                _ => {}
            }
        }
        self.finish().await;
    }

    /// Takes the next frame, and finds the associations that it is meant for.
    fn take(&self, head: Option<&Head>, size: usize) -> io::Result<Taken> {
        // As long as it is locked, none comes or leaves.
        let mut state = self.state();
        let mut taken = Taken { payload: None, links: Vec::new(), aborted: None };
        if let Some(head) = head.filter(|head| head.kind == Kind::Data) {
            match self.meant_by(&state, head) {
                (Some(Departure::Aborted), links) => taken.aborted = links.into_iter().next(),
                (_, links) => taken.links = links,
            }
        }
        state.endings.taken(size);
        state.departures.taken(size);
        let Some(rest) = head.map(|head| head.rest).filter(|rest| *rest > 0) else {
            taken.payload = Some(self.channel.take(size)?);
            return Ok(taken);
        };
        let options = AssociationOptions::of(&state.options.association);
        let limit = options.send_buffer_bytes.unwrap_or(0).min(MAX_MESSAGE_BYTES);
        if size as u64 + u64::from(rest) > limit + HEAD_BYTES as u64 {
            return self.channel.skip().map(|()| taken);
        }
        match self.channel.take_with_annex(size, rest) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(error),
            read => Ok(Taken { payload: read.ok(), ..taken }),
        }
    }

    /// The associations that the next frame is meant for, and if that is one that has left, why.
    fn meant_by(&self, state: &State, head: &Head) -> (Option<Departure>, Vec<Arc<Link>>) {
        let goes_to_all = head.flags & flag::SENDALL != 0 && !self.is_one_to_one();
        let mut departed = state.departures.open();
        if goes_to_all {
            let peeled = departed.filter(|(_, why)| *why == Departure::PeeledOff);
            let peeled = peeled.map(|(link, _)| Arc::clone(link));
            return (None, peeled.chain(state.links.values().cloned()).collect());
        }
        let is_meant = |link: &Link| match head.peer {
            Some(peer) => link.has_peer(peer),
            None => link.id == head.association,
        };
        match departed.find(|(link, _)| is_meant(link)) {
            Some((link, why)) => (Some(why), vec![Arc::clone(link)]),
            None => (None, Vec::from_iter(self.link_for(state, head))),
        }
    }

    pub(in crate::service) async fn wait_for_settlement(&self) {
        loop {
            let settled = self.settled.notified();
            {
                let state = self.state();
                if state.connecting == 0 || state.is_closed {
                    return;
                }
            }
            settled.await;
        }
    }

    /// The same with a frame of so many bytes in front that fills the descriptor, so that nothing can be behind it.
    async fn wait_for_settlement_with_filler(&self, size: usize) {
        loop {
            self.state().departures.settle(size);
            tokio::select! {
                biased;
                () = self.ending.notified() => {}
                () = self.wait_for_settlement() => return,
            }
        }
    }

    /// Waits until a one-to-one socket does not listen any more, or the program has closed it.
    async fn wait_while_listening(&self) {
        let is_listening = || self.is_one_to_one() && self.is_listening();
        if !is_listening() {
            return;
        }
        // Without the memory for it, the descriptor is writable all the time.
        let Ok(hang_up) = self.channel.hang_up() else { return };
        let mut hung_up = pin!(hang_up.wait());
        loop {
            let mut settled = pin!(self.settled.notified());
            settled.as_mut().enable();
            if !is_listening() {
                return;
            }
            tokio::select! {
                () = &mut hung_up => return,
                () = settled => {}
            }
        }
    }

    /// `SCTP_ABORT`: ends an association, or all of them, whatever waits.
    pub(in crate::service) async fn abort(
        &self,
        (id, is_all): (i32, bool),
        abort: Abort,
    ) -> Result<(), Errno> {
        let head = Head { association: id, peer: abort.peer, ..Head::of(Kind::Data) };
        let links = {
            let mut state = self.state();
            let links = match is_all && !self.is_one_to_one() {
                true => state.links.values().cloned().collect(),
                false => Vec::from_iter(self.link_for(&state, &head)),
            };
            if !self.is_one_to_one() {
                let unread = self.channel.unread();
                for link in &links {
                    if unread > 0 {
                        state.departures.add(Arc::clone(link), Departure::Aborted, unread);
                    }
                    // The program knows it no more, and hears of its end.
                    state.forget(link);
                }
            }
            links
        };
        if links.is_empty() {
            return Err(if self.is_one_to_one() { Errno::PIPE } else { Errno::INVAL });
        }
        let reason = Bytes::from(abort.reason);
        for link in links {
            link.abort(reason.clone()).await;
        }
        Ok(())
    }

    /// A message of the program to these associations; whether there may be more.
    async fn outgoing(
        self: &Arc<Self>,
        head: &Head,
        payload: Bytes,
        links: Vec<Arc<Link>>,
    ) -> bool {
        let links = match (links.is_empty(), head.peer) {
            (true, Some(peer))
                if self.may_begin() && head.flags & (flag::EOF | flag::ABORT) == 0 =>
            {
                // The association begins with its first message.
                match self.connect(&[peer], head.init) {
                    Ok(id) => Vec::from_iter(self.state().links.get(id).cloned()),
                    Err(errno) => {
                        notify::not_tried(Told::without_association(self), errno).await;
                        return true;
                    }
                }
            }
            (true, _) => {
                // It has ended since the program has seen to it.
                let told = Told::of_former(self, head.association);
                notify::refused(told, Outgoing::new(head, payload), Errno::CONNABORTED).await;
                return true;
            }
            _ => links,
        };
        for link in links {
            let head = completed(&link, *head);
            if !self.pass_on(&link, Outgoing::new(&head, payload.clone())).await {
                return false;
            }
        }
        true
    }

    /// Whether a message can begin an association.
    fn may_begin(&self) -> bool {
        !self.is_one_to_one() || self.state().names.is_none()
    }

    /// Waits until an association takes what is to be done. Meanwhile the end of the descriptor is behind what lies there, so that a program
    /// which is gone, and whose associations are to be aborted then, has to be looked for; false if that is so.
    async fn pass_on(self: &Arc<Self>, link: &Link, outgoing: Outgoing) -> bool {
        let mut enqueued = pin!(link.enqueue(outgoing));
        loop {
            tokio::select! {
                biased;
                refused = &mut enqueued => {
                    if let Some(outgoing) = refused {
                        link.refuse(self, outgoing, Errno::CONNABORTED).await;
                    }
                    return true;
                }
                () = tokio::time::sleep(ABANDONED_CHECK) => {
                    if self.state().options.aborts_on_close() && self.channel.is_hung_up() {
                        return false;
                    }
                }
            }
        }
    }

    fn link_for(&self, state: &State, head: &Head) -> Option<Arc<Link>> {
        if self.is_one_to_one() {
            return state.links.first().cloned();
        }
        match head.peer {
            Some(peer) if head.association == 0 || head.flags & flag::ADDR_OVER == 0 => {
                state.link_with(peer).or_else(|| state.links.get(head.association).cloned())
            }
            _ => state.links.get(head.association).cloned(),
        }
    }

    /// No more messages follow.
    pub(super) async fn leave_all(&self) {
        let links: Vec<_> = self.state().links.values().cloned().collect();
        for link in links {
            link.enqueue(Outgoing::End).await;
        }
    }
}

/// With what the program has set for messages that say nothing of it.
fn completed(link: &Link, mut head: Head) -> Head {
    let defaults = head.wanted & (wanted::DEFAULTS | wanted::DEFAULT_PR);
    if defaults == 0 {
        return head;
    }
    let send = link.each().default_send;
    if defaults & wanted::DEFAULTS != 0 {
        head.stream = send.stream;
        head.flags |= send.flags;
        head.ppid = send.ppid;
        head.context = send.context;
    }
    if defaults & wanted::DEFAULT_PR != 0 {
        head.pr_policy = send.pr_policy;
        head.value = send.pr_value;
    }
    head
}
