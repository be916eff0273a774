//! Shared by the integration tests.
#![allow(dead_code)]

pub mod arbitrary;
pub mod captures;
pub mod fields;
pub mod golden;
pub mod hex;
pub mod tool;
pub mod walk;
