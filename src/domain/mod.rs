//! What things are and how numbers are made. Pure: no io, no clock, no randomness, no threads.

pub mod acceptance;
pub mod advice;
pub mod arrivals;
pub mod bill;
pub mod billing;
pub mod brief;
pub mod candidate;
pub mod compare;
pub mod cost;
pub mod curve;
pub mod decision;
pub mod digest;
pub mod evidence;
pub mod facts;
pub mod failure;
pub mod figure;
#[cfg(test)]
pub(crate) mod fixture;
pub mod format;
pub mod gate;
pub mod host;
pub mod ids;
pub mod interval;
pub mod latency;
pub mod load;
pub mod mask;
pub mod memory;
pub mod money;
pub mod questions;
pub mod secret;
pub mod seen;
pub mod stats;
pub mod text;
pub mod timeline;
pub mod topology;
pub mod units;
