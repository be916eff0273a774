//! Controllers from outside.

use alloc::boxed::Box;
use core::fmt;

use super::controller::Controller;
use super::view::NewPath;

/// Makes controllers; associations that share a configuration share it.
#[allow(clippy::disallowed_types)]
type ControllerFactory = alloc::sync::Arc<dyn Fn(&NewPath) -> Box<dyn Controller> + Send + Sync>;

/// A congestion control that the program brings: makes a controller for each path.
///
/// ```
/// use polypath_proto::config::{AssociationConfig, CongestionAlgorithm};
/// use polypath_proto::congestion::{BuiltIn, CustomCongestion};
///
/// let mut config = AssociationConfig::default();
/// config.custom_congestion = Some(CustomCongestion::new("my-own", |path| {
///     Box::new(BuiltIn::new(CongestionAlgorithm::Rfc9260, path))
/// }));
/// ```
#[derive(Clone)]
pub struct CustomCongestion {
    name: &'static str,
    make: ControllerFactory,
}

impl CustomCongestion {
    /// A congestion control of this name, for messages. `make` is called when a path begins, again when the peer's receive
    /// window is known, and whenever a path begins anew. It should make controllers that depend on nothing but their
    /// argument and what happens to them, so that simulations repeat.
    #[allow(clippy::disallowed_types)]
    pub fn new(
        name: &'static str,
        make: impl Fn(&NewPath) -> Box<dyn Controller> + Send + Sync + 'static,
    ) -> Self {
        Self { name, make: alloc::sync::Arc::new(make) }
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// A controller for a path.
    pub fn controller(&self, path: &NewPath) -> Box<dyn Controller> {
        (self.make)(path)
    }
}

impl fmt::Debug for CustomCongestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CustomCongestion").field(&self.name).finish()
    }
}

/// Equal are those with the same factory.
impl PartialEq for CustomCongestion {
    #[allow(clippy::disallowed_types)]
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && alloc::sync::Arc::ptr_eq(&self.make, &other.make)
    }
}
