//! Spans and events of `tracing`.
#![cfg(feature = "tracing")]
#![allow(missing_docs)]

mod common;

use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex};

use common::{CLIENT, SERVER, client_on, pair_with, server_with};
use polypath::{AssociationConfig, Message};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Registry;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

/// One line: `level span{fields}: fields`.
type Line = (Level, String);

/// Keeps what is logged up to a level.
#[derive(Clone)]
struct Book {
    lines: Arc<Mutex<Vec<Line>>>,
    most: LevelFilter,
}

#[derive(Default)]
struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let _ = write!(self.0, " {}={value:?}", field.name());
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Book {
    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.most)
    }

    fn enabled(&self, metadata: &tracing::Metadata<'_>, _: Context<'_, S>) -> bool {
        metadata.target() == "polypath" && *metadata.level() <= self.most
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let span = context.event_span(event).map(|span| {
            let inside = span.extensions().get::<Fields>().map(|fields| fields.0.clone());
            format!("{}{{{}}}", span.name(), inside.unwrap_or_default())
        });
        let line = format!("{}:{}", span.unwrap_or_default(), fields.0);
        self.lines.lock().unwrap().push((*event.metadata().level(), line));
    }
}

/// What an exchange of one message logs, up to a level, and the server's SCTP port.
fn exchange(most: LevelFilter) -> (Vec<Line>, u16) {
    let book = Book { lines: Arc::default(), most };
    let _guard = tracing::subscriber::set_default(Registry::default().with(book.clone()));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let port = runtime.block_on(async {
        let config = AssociationConfig::default();
        let server = server_with(&SERVER, config.clone());
        let pair = pair_with(server, client_on(&CLIENT), config).await;
        pair.near.send(Message::new(0, "hello")).await.unwrap();
        pair.far.receive().await.unwrap().unwrap();
        pair.near.sender_dry().await.unwrap();
        pair.far.abort("enough");
        assert!(pair.near.closed().await.is_err());
        assert!(pair.far.closed().await.is_err());
        pair.server.port()
    });
    let lines = book.lines.lock().unwrap().clone();
    (lines, port)
}

fn count(lines: &[Line], level: Level, text: &str) -> usize {
    lines.iter().filter(|(at, line)| *at == level && line.contains(text)).count()
}

#[test]
fn every_event_is_in_the_span_of_its_association() {
    let (lines, port) = exchange(LevelFilter::TRACE);
    assert!(lines.iter().all(|(_, line)| line.starts_with("association{ id=")), "{lines:#?}");
    let near = format!("remote_port={port} peer={}}}", SERVER[0]);
    assert!(lines.iter().any(|(_, line)| line.contains(&near)), "{lines:#?}");
    assert_eq!(count(&lines, Level::DEBUG, "association begins"), 2);
    assert_eq!(count(&lines, Level::INFO, "established"), 2);
    assert_eq!(count(&lines, Level::ERROR, "ended"), 2);
    assert_eq!(count(&lines, Level::TRACE, "chunk received"), 1);
    assert_eq!(count(&lines, Level::TRACE, "chunk acknowledged"), 1);
    assert!(count(&lines, Level::TRACE, "packet sent") >= 4, "handshake and data");
    assert!(count(&lines, Level::TRACE, "packet received") >= 4);
    assert_eq!(count(&lines, Level::TRACE, "COOKIE-ECHO"), 2, "sent and received");
    // COOKIE-WAIT, COOKIE-ECHOED, ESTABLISHED, CLOSED; the server's last two.
    assert_eq!(count(&lines, Level::DEBUG, "association state"), 6);
    assert!(count(&lines, Level::DEBUG, "path opened") >= 3);
}

#[test]
fn levels_choose_what_is_logged() {
    let (lines, _) = exchange(LevelFilter::INFO);
    assert_eq!(count(&lines, Level::INFO, "established"), 2);
    assert!(lines.iter().all(|(level, _)| *level <= Level::INFO), "{lines:#?}");
    let (lines, _) = exchange(LevelFilter::DEBUG);
    assert!(lines.iter().all(|(level, _)| *level <= Level::DEBUG), "{lines:#?}");
    assert!(exchange(LevelFilter::OFF).0.is_empty());
}
