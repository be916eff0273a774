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
//! was acknowledged it gives up.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use anyhow::{Result, bail};
use polypath::Association;
use tokio::time::timeout;

pub(crate) mod destination;
pub(crate) mod frame;
pub(crate) mod name;
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
    let mut wanted = pin!(wanted);
    let mut before = traffic(association);
    loop {
        if let Ok(done) = timeout(idle, &mut wanted).await {
            return Ok(done);
        }
        let now = traffic(association);
        if now == before {
            bail!("the peer was silent for {} s", idle.as_secs());
        }
        before = now;
    }
}

/// Bytes of user data that arrived or were acknowledged.
fn traffic(association: &Association) -> u64 {
    let paths = association.path_stats();
    paths.iter().map(|path| path.data_bytes_acked + path.data_bytes_received).sum()
}
