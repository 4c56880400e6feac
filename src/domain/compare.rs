//! Candidates held against their promises, their prices and the brief.

pub mod accepted;
pub mod breakeven;
pub mod carried;
pub mod declared;
pub mod month;
pub mod names;
pub mod promises;
pub mod sensitivity;
pub mod step;
pub mod tell;
pub mod whatif;
