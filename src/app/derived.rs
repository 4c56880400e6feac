//! The one memo: everything screens show that is computed from the project, made anew when the project changed.

/// Everything computed from the project.
#[derive(Debug, Default)]
pub struct Derived {}
