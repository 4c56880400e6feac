//! A project on disk: `project.ron` and `evidence/<id>.ron`.

use std::path::PathBuf;

use crate::domain::evidence::Sealed;
use crate::domain::failure::Failure;
use crate::domain::ids::EvidenceId;

use super::plan::Plan;

/// A project as it was read.
#[derive(Debug)]
pub struct Opened {
    /// Its folder.
    pub folder: PathBuf,
    /// The plan.
    pub plan: Plan,
    /// Records whose bytes match their id.
    pub evidence: Vec<Sealed>,
    /// Records that do not count: altered or unreadable.
    pub altered: Vec<Altered>,
    /// A newer unsaved plan was found beside the project: offered as recovery.
    pub recovered: Option<Plan>,
    /// Runs that were interrupted and sealed now.
    pub interrupted: Vec<EvidenceId>,
    /// Whether another window holds the project: this one may look, not save.
    pub read_only: Option<Failure>,
}

/// An evidence file that does not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Altered {
    /// Its file name, which is the id it claims.
    pub file: String,
    /// Why.
    pub failure: Failure,
}
