//! Networks with a name.

mod disjoint;
mod shared;

pub use disjoint::{Disjoint, DisjointPath, DisjointPaths, Duplex, IpVersion, PathConfig};
pub use shared::{HostPair, Shared, SharedPath, SharedRoutes};
