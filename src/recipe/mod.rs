//! Texts we launch on a host, and the one way an argument gets into them.

pub mod quote;
