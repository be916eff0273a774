//! Networks with a name.

mod disjoint;
mod dumbbell;
mod shared;

pub use disjoint::{Disjoint, DisjointPath, DisjointPaths, Duplex, IpVersion, PathConfig};
pub use dumbbell::{CrossPair, DumbbellConfig, DumbbellNetwork, DumbbellPlan, Dumbbells};
pub use shared::{HostPair, Shared, SharedPath, SharedRoutes};
