//! State and its two doors, `command` and `event`. Knows no window.

pub mod command;
pub mod derived;
pub mod state;
