//! In which order messages are delivered.

/// Order of delivery.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
pub enum Delivery {
    /// In the order of sending.
    #[default]
    Ordered,
    /// In the order of arrival.
    Unordered,
}
