//! Leasebench: a workbench for people who rent GPU servers.

pub mod app;
pub mod domain;
pub mod engine;
pub mod probe;
pub mod project;
pub mod recipe;
#[cfg(feature = "desktop")]
pub mod ui;
pub mod wire;
