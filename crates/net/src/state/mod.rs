//! The state that public handles share with the driver.
//!
//! Locks are held for single calls into the protocol, never across an await. The lock of an association may be taken
//! under that of the endpoint, not the other way round.

mod association;
mod endpoint;
mod inner;
mod mailbox;
mod parcel;
mod rebind;
mod shard;

pub(crate) use association::{AssociationShared, Handle};
pub(crate) use endpoint::{Accepting, EndpointShared, EndpointState, NOT_ACCEPTING, PortQueue};
pub(crate) use inner::{Inner, Phase};
pub(crate) use mailbox::Mailbox;
pub(crate) use parcel::{Inbox, Parcel};
pub(crate) use rebind::Rebind;
pub(crate) use shard::{ShardShared, Shards};
