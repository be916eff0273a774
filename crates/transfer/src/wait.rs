//! Waits for what depends on the peer, as long as that makes progress.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use polypath::{Association, AssociationError};
use tokio::time::{Instant, timeout};

use crate::frame;
use crate::limits::{PeerLimits, Stalled, Watch};

/// Longest time for the shutdown of an association over which everything was said.
pub(crate) const SHUTDOWN_LIMIT: Duration = Duration::from_secs(3);

/// Shuts an association down when the peer has acknowledged everything.
pub(crate) async fn shut_down<E>(association: &Association, idle_timeout: Duration) -> Result<(), E>
where
    E: From<Stalled> + From<AssociationError>,
{
    while_progressing(association, idle_timeout, association.sender_dry()).await??;
    // All that matters was acknowledged, however the association ends.
    let _ = association.shutdown_within(SHUTDOWN_LIMIT).await;
    Ok(())
}

/// Waits for something that depends on the peer, unless the association makes no progress for `idle_timeout`.
pub(crate) async fn while_progressing<T>(
    association: &Association,
    idle_timeout: Duration,
    wanted: impl Future<Output = T>,
) -> Result<T, Stalled> {
    let limits = PeerLimits { idle_timeout, min_rate: None };
    let mut watch = Watch::new(limits, association.progress_bytes());
    watched(&mut watch, || association.progress_bytes(), wanted).await
}

/// Pause between two signs of life.
const SIGN_OF_LIFE: Duration = Duration::from_secs(5);

/// Waits for work of this side, and lets the peer know now and then that it goes on.
pub(crate) async fn with_signs_of_life<T>(
    association: &Association,
    work: impl Future<Output = T>,
) -> T {
    let mut work = pin!(work);
    loop {
        match timeout(SIGN_OF_LIFE, &mut work).await {
            Ok(done) => return done,
            // Where there is no room for it, other messages wait for the peer.
            Err(_) => drop(association.try_send(frame::working())),
        }
    }
}

/// Waits for something that depends on the peer, as long as `watch` allows; `progress` gives the bytes moved so far.
pub(crate) async fn watched<T>(
    watch: &mut Watch,
    progress: impl Fn() -> u64,
    wanted: impl Future<Output = T>,
) -> Result<T, Stalled> {
    let mut wanted = pin!(wanted);
    loop {
        let began = Instant::now();
        match timeout(watch.next_look(), &mut wanted).await {
            Ok(done) => {
                watch.arrived(began.elapsed(), progress())?;
                return Ok(done);
            }
            Err(_) => watch.look(began.elapsed(), progress())?,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::future::pending;

    use polypath_units::BitRate;
    use tokio::time::sleep;

    use super::*;
    use crate::limits::MinRate;

    fn watch(idle: u64, span: u64) -> Watch {
        let rate = BitRate::from_bits_per_second(8000);
        let min_rate = Some(MinRate { rate, span: Duration::from_secs(span) });
        Watch::new(PeerLimits { idle_timeout: Duration::from_secs(idle), min_rate }, 0)
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
