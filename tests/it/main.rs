//! Integration tests: one binary, a module a subject.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::let_underscore_must_use,
    clippy::map_err_ignore,
    reason = "tests may unwrap: a panic is how they fail"
)]
#![allow(missing_docs, unreachable_pub, reason = "a test module has no users outside this binary")]

mod app;
mod bills;
mod captures;
mod cli;
mod cost;
mod hostile;
mod house;
mod laws;
mod load;
mod memory_accuracy;
mod memory_source;
mod memory_training;
mod model_import;
mod report;
#[cfg(feature = "desktop")]
mod sample;
#[cfg(feature = "desktop")]
mod screens;
#[cfg(all(unix, feature = "desktop"))]
mod ssh;
#[cfg(all(unix, feature = "desktop"))]
mod sshd;
mod store;
#[cfg(all(unix, feature = "desktop"))]
mod walk_headless;
