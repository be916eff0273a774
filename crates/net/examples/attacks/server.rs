//! A server that accepts everybody, has all extensions and echoes what it is sent.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use polypath::config::{
    AddressReconfiguration, AuthenticatedChunks, ExplicitCongestionNotification,
    MessageInterleaving, NrSack, PacketDropReport, StreamReconfiguration,
};
use polypath::{Association, AssociationConfig, Endpoint, EndpointConfig, Message};

#[derive(clap::Args)]
pub struct Options {
    /// Addresses of the server.
    #[arg(long, value_delimiter = ',', required = true)]
    local: Vec<IpAddr>,
    /// Associations of one address at a time.
    #[arg(long, default_value_t = 64)]
    max_per_address: u32,
    /// Bytes that all associations together may keep.
    #[arg(long, default_value_t = 64 << 20)]
    max_buffered: u64,
    /// Accept requests about addresses without authentication.
    #[arg(long)]
    open_addresses: bool,
}

/// Has all extensions.
pub fn extended() -> AssociationConfig {
    let mut config = AssociationConfig::default();
    let policies = &mut config.policies;
    policies.message_interleaving = MessageInterleaving::On;
    policies.nr_sack = NrSack::All;
    policies.explicit_congestion_notification = ExplicitCongestionNotification::On;
    policies.stream_reconfiguration = StreamReconfiguration::On;
    policies.packet_drop_report = PacketDropReport::On;
    policies.authenticated_chunks = AuthenticatedChunks::Offered;
    policies.address_reconfiguration = AddressReconfiguration::Authenticated;
    config
}

#[tokio::main(flavor = "current_thread")]
pub async fn run(options: &Options) -> anyhow::Result<()> {
    let mut association = extended();
    if options.open_addresses {
        association.policies.address_reconfiguration = AddressReconfiguration::Unauthenticated;
    }
    let config = EndpointConfig {
        association,
        max_associations_per_address: Some(options.max_per_address),
        max_buffered_bytes: Some(options.max_buffered),
        ..EndpointConfig::default()
    };
    let builder = Endpoint::builder(options.local.iter().copied()).port(5001).config(config);
    let endpoint = builder.listen(1024).bind()?;
    println!("ready");
    let (accepted, present) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let most = Arc::new(AtomicU64::new(0));
    let serve = |association| {
        accepted.fetch_add(1, Ordering::Relaxed);
        let now = present.fetch_add(1, Ordering::Relaxed) + 1;
        most.fetch_max(now, Ordering::Relaxed);
        echo(association)
    };
    let watching = async {
        let (mut last, mut backwards) = (endpoint.stats(), 0);
        loop {
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
            let now = endpoint.stats();
            let goes_back = now.packets_received < last.packets_received
                || now.packets_sent < last.packets_sent
                || now.bytes_received < last.bytes_received
                || now.bytes_sent < last.bytes_sent
                || now.packets_dropped < last.packets_dropped;
            backwards += u64::from(goes_back);
            if goes_back {
                println!("counters went backwards, {backwards} times: {last:?}, then {now:?}");
            }
            last = now;
        }
    };
    tokio::select! {
        () = watching => (),
        () = endpoint.serve(serve, |_| { present.fetch_sub(1, Ordering::Relaxed); }) => (),
        _ = tokio::signal::ctrl_c() => (),
    }
    let [accepted, most, present] =
        [&accepted, &most, &present].map(|it| it.load(Ordering::Relaxed));
    let dropped = endpoint.stats().packets_dropped;
    println!("accepted={accepted} most={most} present={present} dropped={dropped}");
    Ok(())
}

async fn echo(association: Association) {
    while let Ok(Some(message)) = association.receive().await {
        let answer = Message::new(message.stream(), message.into_bytes());
        if association.send(answer).await.is_err() {
            break;
        }
    }
}
