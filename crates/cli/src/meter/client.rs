//! A measurement at the client: binds, connects, measures, and shuts the endpoint down.

use std::net::IpAddr;
use std::sync::Arc;

use polypath::{
    Association, AssociationConfig, Carriers, Endpoint, EndpointBuilder, Observer, PacketTap,
};
use polypath_meter::document::Document;
use polypath_meter::{Client, ClientError};

use super::capture::Capture;
use super::options::ClientOptions;
use super::reporter::Reporter;
use crate::failure::{Failure, Outcome};
use crate::hosts::Host;
use crate::runtime::{self, Interruption};
use crate::unused::{Named, idle_paths, unused};
use crate::zoned::{self, Zoned};
use crate::{connecting, output};

/// The server and the local addresses.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub from: Vec<Zoned>,
    pub to: Vec<IpAddr>,
    pub config: AssociationConfig,
    /// Carriers of the packets.
    pub carriers: Carriers,
    /// Capture of the packets.
    pub capture: Option<Arc<Capture>>,
    /// Observer of the associations.
    pub observer: Option<Arc<dyn Observer>>,
}

impl Target {
    /// Builder of an endpoint of this side.
    pub fn builder(&self) -> EndpointBuilder {
        let builder = zoned::builder(&self.from).carriers(self.carriers).encapsulation_port(0);
        let builder = match &self.observer {
            Some(observer) => builder.observer(Arc::clone(observer)),
            None => builder,
        };
        match &self.capture {
            Some(capture) => builder.tap(Arc::clone(capture) as Arc<dyn PacketTap>),
            None => builder,
        }
    }
}

/// Measures, and passes results to `reporter`. Returns the outcome, and the document of everything up to the end.
pub(crate) async fn measure(
    target: &Target,
    options: &ClientOptions,
    reporter: &mut Reporter,
    interruption: &Interruption,
) -> (Document, Outcome) {
    let endpoint = match runtime::bind(target.builder()) {
        Ok(endpoint) => endpoint,
        Err(failure) => return (options.unconnected(&failure), Err(failure)),
    };
    let connected = tokio::select! {
        connected = connect(&endpoint, target, options) => connected,
        () = interruption.happened() => Err(Failure::Interrupted),
    };
    let measured = match connected {
        Ok(association) => {
            let client = options.client(association);
            run(client, target, options, reporter, interruption).await
        }
        Err(failure) => (options.unconnected(&failure), Err(failure)),
    };
    runtime::drain(&endpoint, interruption).await;
    measured
}

async fn run(
    mut client: Client,
    target: &Target,
    options: &ClientOptions,
    reporter: &mut Reporter,
    interruption: &Interruption,
) -> (Document, Outcome) {
    let association = client.association().clone();
    let ended = tokio::select! {
        ended = client.run(reporter) => Some(ended.map_err(failure)),
        () = interruption.happened() => None,
    };
    let outcome = match ended {
        Some(ended) => ended,
        // Only the shutdown was interrupted.
        None if client.is_complete() => Ok(()),
        None => Err(Failure::Interrupted),
    };
    if let Err(Failure::Interrupted) = outcome {
        client.abort(Failure::Interrupted.to_string());
    }
    tell_unused(target, options, &association);
    (client.into_document(), outcome)
}

/// Maps errors: a server that rejects the measurement counts as unreachable.
fn failure(error: ClientError) -> Failure {
    match error {
        ClientError::NotAgreed(error) => Failure::CannotConnect(error.into()),
        other => Failure::Failed(other.into()),
    }
}

/// Warns of addresses that the user gave and that were not used. Addresses of names are not mentioned: some are often unused.
fn tell_unused(target: &Target, options: &ClientOptions, association: &Association) {
    let written = options.hosts.iter().filter_map(Host::address);
    let to: Vec<IpAddr> = written.filter(|address| target.to.contains(address)).collect();
    let bound = options.transport.bind.iter().filter(|local| target.from.contains(local));
    let from: Vec<IpAddr> = bound.map(|local| local.address).collect();
    let named = Named { to: &to, from: &from, options: ["host", "--bind"] };
    for unused in unused(named, association) {
        output::tell(format_args!("{unused}"));
    }
    for path in idle_paths(association) {
        output::tell(format_args!("{path}"));
    }
}

/// Connects; errors name the server.
pub(crate) async fn connect(
    endpoint: &Endpoint,
    target: &Target,
    options: &ClientOptions,
) -> Result<Association, Failure> {
    let transport = &options.transport;
    let peer = transport.peer(&target.to);
    let addresses: Vec<_> = target.to.iter().map(ToString::to_string).collect();
    let whom =
        format!("{}, {}", addresses.join(", "), transport.ports(transport.encapsulation_port));
    let config = target.config.clone();
    connecting::connect(endpoint, &peer, config, options.connect_timeout, &whom).await
}
