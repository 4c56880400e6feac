//! Candidates held against their promises, their prices and the brief.

pub mod accepted;
pub mod carried;
pub mod month;
pub mod names;
pub mod promises;
pub mod step;
