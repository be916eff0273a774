//! Many honest clients that come, say something and go, all the time: for a test of hours. Some leave without a word.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use polypath::{AssociationConfig, Endpoint, Message, Peer};
use tokio::time::{sleep, timeout};

use crate::server::extended;

#[derive(clap::Args)]
pub struct Options {
    /// Addresses of the clients, which share the associations.
    #[arg(long, value_delimiter = ',', required = true)]
    local: Vec<IpAddr>,
    /// Addresses of the server.
    #[arg(long, value_delimiter = ',', required = true)]
    to: Vec<IpAddr>,
    /// Associations at a time.
    #[arg(long, default_value_t = 1000)]
    associations: usize,
    /// How long.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
}

/// A client that has waited so long has no service.
const PATIENCE: Duration = Duration::from_secs(60);

/// What all clients did.
#[derive(Default)]
struct Done {
    visits: AtomicU64,
    messages: AtomicU64,
    aborted: AtomicU64,
    failed: AtomicU64,
}

/// One client after the other.
async fn client(endpoint: Endpoint, peer: Peer, number: u64, until: Instant, done: Arc<Done>) {
    let config = extended();
    let mut state = number << 8 | 1;
    let mut random = move |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 16) % below
    };
    // Not all at once.
    sleep(Duration::from_millis(random(10_000))).await;
    while Instant::now() < until {
        let (messages, pause) = (random(20), Duration::from_millis(random(1_500)));
        let len = 100 + random(5_000) as usize;
        let aborts = random(8) == 0;
        match visit(&endpoint, &peer, &config, (messages, len), pause, aborts).await {
            Ok(()) => {
                done.visits.fetch_add(1, Ordering::Relaxed);
                done.messages.fetch_add(messages, Ordering::Relaxed);
                done.aborted.fetch_add(u64::from(aborts), Ordering::Relaxed);
            }
            Err(error) => {
                done.failed.fetch_add(1, Ordering::Relaxed);
                eprintln!("client {number}: {error:#}");
            }
        }
    }
}

async fn visit(
    endpoint: &Endpoint,
    peer: &Peer,
    config: &AssociationConfig,
    (messages, len): (u64, usize),
    pause: Duration,
    aborts: bool,
) -> anyhow::Result<()> {
    let association = timeout(PATIENCE, endpoint.connect(peer, config.clone()))
        .await
        .context("no connection")??;
    for number in 0..messages {
        let content: Vec<u8> = (0..len).map(|at| (at as u64 + number) as u8).collect();
        association.send(Message::new((number % 4) as u16, content.clone())).await?;
        let answer = timeout(PATIENCE, association.receive()).await.context("no answer")??;
        ensure!(
            answer.context("an early end")?.into_bytes() == content,
            "message {number} came back changed"
        );
        sleep(pause).await;
    }
    match aborts {
        true => association.abort("enough"),
        false => timeout(PATIENCE, association.shutdown()).await.context("no end")??,
    }
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
pub async fn run(options: &Options) -> anyhow::Result<()> {
    let endpoints: Vec<Endpoint> = options
        .local
        .iter()
        .map(|local| Endpoint::builder([*local]).encapsulation_port(0).bind())
        .collect::<Result<_, _>>()?;
    let peer = Peer::new(options.to.iter().copied(), 5001);
    let until = Instant::now() + Duration::from_secs(options.seconds);
    let done = Arc::new(Done::default());
    let tasks: Vec<_> = (0..options.associations)
        .map(|number| {
            let endpoint = endpoints[number % endpoints.len()].clone();
            tokio::spawn(client(endpoint, peer.clone(), number as u64, until, Arc::clone(&done)))
        })
        .collect();
    for task in tasks {
        task.await?;
    }
    let [visits, messages, aborted, failed] =
        [&done.visits, &done.messages, &done.aborted, &done.failed]
            .map(|it| it.load(Ordering::Relaxed));
    println!("visits={visits} messages={messages} aborted={aborted} failed={failed}");
    ensure!(failed == 0, "{failed} visits failed");
    Ok(())
}
