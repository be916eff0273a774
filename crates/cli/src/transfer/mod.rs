//! What `polypath send` and `polypath receive` show: progress, and a summary in words or JSON.

pub(crate) mod progress;
pub(crate) mod summary;
