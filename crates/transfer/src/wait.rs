//! Waits for what depends on the peer, as long as that makes progress.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use polypath::{Association, AssociationError, PathStats};
use tokio::time::{Instant, timeout};

use crate::patience::{Impatience, Patience, Wait, Watch};

/// How long the peer may take to agree to the end.
pub(crate) const FAREWELL: Duration = Duration::from_secs(3);

/// Ends an association over which everything was said, when the peer has it all.
pub(crate) async fn part<E>(association: &Association, idle: Duration) -> Result<(), E>
where
    E: From<Impatience> + From<AssociationError>,
{
    patiently(association, idle, association.sender_dry()).await??;
    if timeout(FAREWELL, association.shutdown()).await.is_err() {
        association.abort("the shutdown takes too long");
    }
    Ok(())
}

/// Waits for something that depends on the peer, unless for the time `idle` the association makes no progress.
pub(crate) async fn patiently<T>(
    association: &Association,
    idle: Duration,
    wanted: impl Future<Output = T>,
) -> Result<T, Impatience> {
    let mut watch = Watch::new(Patience { idle, pace: None }, traffic(association));
    watched(&mut watch, || traffic(association), wanted).await
}

/// Waits for something that depends on the peer, as long as `watch` allows; `traffic` tells what was moved so far.
pub(crate) async fn watched<T>(
    watch: &mut Watch,
    traffic: impl Fn() -> u64,
    wanted: impl Future<Output = T>,
) -> Result<T, Impatience> {
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
    use crate::patience::Pace;

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
