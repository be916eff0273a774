//! Limits, timers and policies, with the defaults of RFC 9260 section 16.

mod association;
mod buffer_size;
mod check;
mod network_limit;
mod options;
pub(crate) mod plug_in;
mod policies;
mod presets;
mod reference;
mod shared_keys;
mod traffic;

pub(crate) use association::SharedConfig;
pub use association::{
    AddressJoin, AssociationConfig, BUFFER_BYTES, EndpointConfig, ErrorDetection, LongMessages,
    PathPairing, PmtuDiscovery, STUDY_BUFFER_BYTES, ShutdownAnswer, SmallMessages, SourceRoute,
};
pub(crate) use buffer_size::BufferBounds;
pub use check::ConfigError;
pub use network_limit::NetworkLimit;
pub use options::{AssociationOptions, Heartbeats, PathOptions, PathOptionsError};
pub use policies::*;
pub use presets::Preset;
pub use reference::{POLICY_KEYS, PolicyExample, PolicyKey, PolicyLevel, PolicySide, PolicyValues};
pub use shared_keys::SharedKeys;
pub use traffic::TrafficMarks;
