//! Networks with a name.

mod disjoint;

pub use disjoint::{Disjoint, DisjointPath, DisjointPaths, Duplex, IpVersion, PathConfig};
