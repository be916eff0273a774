//! Networks with a name.

mod disjoint;
mod dumbbell;
mod graph;
mod shared;
mod star;

pub use disjoint::{Disjoint, DisjointPath, DisjointPaths, Duplex, IpVersion, PathConfig};
pub use dumbbell::{CrossPair, DumbbellConfig, DumbbellNetwork, Dumbbells, draw_delay};
pub use graph::{Graph, GraphAddress, GraphLink, GraphNetwork, MAX_NETWORK};
pub use shared::{HostPair, Shared, SharedPath, SharedRoutes};
pub use star::{Star, StarNetwork};
