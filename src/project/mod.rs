//! A project: the plan that people edit, the evidence that was seen, undo, and the folder it is kept in.

pub mod edit;
pub mod history;
pub mod plan;
pub mod store;
