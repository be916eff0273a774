//! A sender that offers what is refused, again and again.

#[path = "common/frames.rs"]
mod frames;

use std::net::IpAddr;

use frames::{offer, reason, reply};
use polypath::{Association, Endpoint, Peer};
use polypath_transfer::{Inbox, Quota, ReceiveError, Report, association_config};
use tempfile::TempDir;

/// Name with a path in it, which no receiver accepts, of the greatest length.
const NAME: [u8; 255] = [b'/'; 255];

struct Setup {
    association: Association,
    receiving: tokio::task::JoinHandle<(Result<(), ReceiveError>, Report)>,
    /// They live as long as the association.
    _ends: [Endpoint; 2],
    _place: TempDir,
}

/// A receiver with a quota, and an association with it from a peer that speaks for itself.
async fn setup(last: u8, quota: Quota) -> Setup {
    let local = |last| [IpAddr::from([127, 0, 13, last])];
    let endpoint = Endpoint::builder(local(last)).encapsulation_port(0).listen(16).bind().unwrap();
    let peer =
        Peer::new(local(last), endpoint.port()).encapsulation_port(endpoint.encapsulation_port());
    let place = tempfile::tempdir().unwrap();
    let inbox = Inbox::new(place.path()).quota(quota);
    inbox.prepare().unwrap();
    let listening = endpoint.clone();
    let receiving = tokio::spawn(async move {
        let mut receiver = inbox.accept(&listening).await.unwrap();
        let received = receiver.run().await;
        (received, receiver.into_report())
    });
    let own = Endpoint::builder(local(last + 1)).encapsulation_port(0).bind().unwrap();
    let config = association_config(polypath::Preset::Recommended);
    let association = own.connect(&peer, config).await.unwrap();
    Setup { association, receiving, _ends: [endpoint, own], _place: place }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refused_offers_beyond_a_number_end_the_association() {
    let quota = Quota { max_refused: 100, ..Quota::default() };
    let Setup { association, receiving, .. } = &mut setup(1, quota).await;
    for following in (1000_u32..1101).rev() {
        association.send(offer(following, 1, &NAME)).await.unwrap();
    }
    let mut refusals = 0;
    let end = loop {
        match association.receive().await {
            Ok(Some(reply)) => refusals += usize::from(reply.into_bytes()[0] == 1),
            end => break end,
        }
    };
    let told = end.unwrap_err().to_string();
    assert!(told.contains("more than 100 offers were refused"), "{told}");
    assert!((1..=101).contains(&refusals), "{refusals}");
    let (received, report) = receiving.await.unwrap();
    assert!(matches!(received, Err(ReceiveError::Refused(100))), "{received:?}");
    assert_eq!((report.files.len(), report.complete), (101, false));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_thousand_refused_offers_take_no_memory() {
    const OFFERS: u32 = 100_000;
    let quota = Quota { max_refused: u32::MAX, max_summaries: 50, ..Quota::default() };
    let Setup { association, receiving, .. } = &mut setup(3, quota).await;
    let mut after_some = None;
    let (mut sent, mut answered) = (0, 0);
    while answered < OFFERS {
        // A window of offers, so that neither side waits for each answer.
        while sent < OFFERS && sent - answered < 64 {
            association.send(offer(OFFERS - 1 - sent, 1, &NAME)).await.unwrap();
            sent += 1;
        }
        let answer = reply(association).await.into_bytes();
        assert!(reason(&answer).contains("only plain names"));
        answered += 1;
        if answered == OFFERS / 20 {
            after_some = resident_bytes();
        }
    }
    let at_the_end = resident_bytes();
    let ended = association.receive().await;
    assert!(matches!(ended, Ok(None)), "{ended:?}");
    let (received, report) = receiving.await.unwrap();
    received.unwrap();
    assert_eq!((report.files.len(), report.files_omitted), (50, u64::from(OFFERS) - 50));
    assert!(!report.complete);
    if let (Some(before), Some(after)) = (after_some, at_the_end) {
        let grown = after.saturating_sub(before);
        // Each summary would take more than 800 bytes: 76 MB.
        assert!(grown < 10_000_000, "{grown} bytes more");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sender_learns_of_its_quota() {
    let quota = Quota { max_files: Some(1), max_bytes: Some(1000), ..Quota::default() };
    let Setup { association, receiving, .. } = &mut setup(5, quota).await;
    association.send(offer(1, 1001, b"large")).await.unwrap();
    let answer = reply(association).await.into_bytes();
    let told = reason(&answer);
    assert!(told.contains("at most 1000 bytes") && told.contains("the file has 1001"), "{told}");
    association.send(offer(0, 1000, b"fits")).await.unwrap();
    let answer = reply(association).await.into_bytes();
    assert_eq!(answer.as_ref(), [0]);
    association.abort("enough");
    let (_, report) = receiving.await.unwrap();
    assert_eq!(report.files.len(), 2);
}

/// Bytes of this process in memory, where the system says.
fn resident_bytes() -> Option<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split(' ').nth(1)?.parse().ok()?;
    Some(pages * 4096)
}
