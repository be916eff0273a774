//! Files over an association.
//!
//! # The protocol
//!
//! One association carries any number of files, one after the other, on stream 0 in order. Each message is one frame;
//! its payload protocol identifier says which. Numbers are big-endian.
//!
//! | PPID | frame | direction | content |
//! | --- | --- | --- | --- |
//! | 0x50465401 | offer | to the receiver | version (1 byte, 1), number of offers that follow (4 bytes), smaller each time, size (8 bytes), name (UTF-8, the rest) |
//! | 0x50465402 | answer | to the sender | 0 to go on or 1 for refused (1 byte), reason (UTF-8, the rest) |
//! | 0x50465403 | data | to the receiver | the next bytes of the file, 1 to 524,288 of them |
//! | 0x50465404 | end | to the receiver | SHA-256 of all of it (32 bytes) |
//! | 0x50465405 | verdict | to the sender | 0 for stored or 1 for failed (1 byte), reason (UTF-8, the rest) |
//!
//! The verdict "stored" is given when the content is on the disk under its final name. "Failed" may come at any time
//! after the answer; then the sender aborts. After the verdict on the last offer, or its refusal, both sides shut the
//! association down. Whether that succeeds changes nothing: after a while they abort it.
//!
//! # Time
//!
//! Whoever waits for the peer waits as long as data goes to and fro. After a while in which nothing arrived and nothing
//! was acknowledged it gives up. A receiver, whose places are few, also gives up a sender that stays below a least rate
//! for long ([`patience`]).

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use anyhow::Result;
use polypath::{Association, PathStats};
use tokio::time::{Instant, timeout};

use patience::{Patience, Wait, Watch};

pub(crate) mod destination;
pub(crate) mod frame;
pub(crate) mod inbox;
pub(crate) mod name;
pub(crate) mod patience;
pub(crate) mod progress;
pub(crate) mod receive;
pub(crate) mod send;
pub(crate) mod source;
pub(crate) mod summary;
mod writer;

/// How long the peer may take to agree to the end.
const FAREWELL: Duration = Duration::from_secs(3);

/// Ends an association over which everything was said, when the peer has it all.
async fn part(association: &Association, idle: Duration) -> Result<()> {
    patiently(association, idle, association.sender_dry()).await??;
    if timeout(FAREWELL, association.shutdown()).await.is_err() {
        association.abort("the shutdown takes too long");
    }
    Ok(())
}

/// Waits for something that depends on the peer, unless for the time `idle` the association makes no progress.
async fn patiently<T>(
    association: &Association,
    idle: Duration,
    wanted: impl Future<Output = T>,
) -> Result<T> {
    let mut watch = Watch::new(Patience { idle, pace: None }, traffic(association));
    watched(&mut watch, || traffic(association), wanted).await
}

/// Waits for something that depends on the peer, as long as `watch` allows; `traffic` tells what was moved so far.
async fn watched<T>(
    watch: &mut Watch,
    traffic: impl Fn() -> u64,
    wanted: impl Future<Output = T>,
) -> Result<T> {
    let mut wanted = pin!(wanted);
    loop {
        let began = Instant::now();
        let outcome = timeout(watch.next_look(), &mut wanted).await;
        let wait = if outcome.is_ok() { Wait::Over } else { Wait::Goes };
        watch.look(began.elapsed(), traffic(), wait)?;
        if let Ok(done) = outcome {
            return Ok(done);
        }
    }
}

/// Bytes of user data that arrived or were acknowledged.
pub(crate) fn traffic(association: &Association) -> u64 {
    let paths = association.path_stats();
    paths.iter().map(|path| path.data_bytes_acked + path.data_bytes_received).sum()
}

/// Bytes of user data in a full packet of a path, once its MTU is found: the search is over after a round trip mostly.
pub(crate) fn fragment_size(path: &PathStats) -> Option<usize> {
    let ip = if path.local.is_ipv4() { 20 } else { 40 };
    // UDP header, SCTP common header, DATA chunk header.
    let fragment = (path.mtu_sought_bytes as usize).saturating_sub(ip + 8 + 12 + 16) & !3;
    (fragment > 0).then_some(fragment)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::future::pending;

    use polypath_units::BitRate;
    use tokio::time::sleep;

    use super::*;
    use patience::Pace;

    fn watch(idle: u64, span: u64) -> Watch {
        let rate = BitRate::from_bits_per_second(8000);
        let pace = Some(Pace { rate, span: Duration::from_secs(span) });
        Watch::new(Patience { idle: Duration::from_secs(idle), pace }, 0)
    }

    #[tokio::test(start_paused = true)]
    async fn who_says_nothing_is_given_up() {
        let begin = Instant::now();
        let error = watched(&mut watch(60, 300), || 7, pending::<()>()).await.unwrap_err();
        assert_eq!(error.to_string(), "the peer was silent for 60 s");
        // That the seven bytes were there is seen at the first look.
        assert_eq!(begin.elapsed().as_secs(), 61);
    }

    #[tokio::test(start_paused = true)]
    async fn who_trickles_is_given_up() {
        for (bytes_per_second, patient) in [(990, false), (1010, true)] {
            let (begin, moved) = (Instant::now(), Cell::new(0));
            let mut watch = watch(60, 300);
            let mut messages = 0;
            let result = loop {
                let message = async {
                    sleep(Duration::from_secs(1)).await;
                    moved.set(moved.get() + bytes_per_second);
                };
                if let Err(error) = watched(&mut watch, || moved.get(), message).await {
                    break Err(error.to_string());
                }
                messages += 1;
                if messages == 10_000 {
                    break Ok(());
                }
            };
            if patient {
                assert_eq!(result, Ok(()));
            } else {
                assert_eq!(result, Err("the peer was slower than 8 kbit/s for 300 s".to_owned()));
                assert_eq!(begin.elapsed().as_secs(), 300);
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn our_own_time_does_not_count() {
        let (mut watch, moved) = (watch(60, 300), Cell::new(0));
        for _ in 0..100 {
            sleep(Duration::from_secs(1000)).await;
            let message = async {
                sleep(Duration::from_secs(1)).await;
                moved.set(moved.get() + 1000);
            };
            watched(&mut watch, || moved.get(), message).await.unwrap();
        }
    }
}
