//! What is wrong with a project's records, told the same by every verb, and records that come through a verb.

use std::collections::BTreeMap;
use std::path::Path;

use chrono::{DateTime, FixedOffset};
use serde::Serialize;

use crate::app::derived::Derived;
use crate::domain::evidence::Sealed;
use crate::domain::failure::{Failure, FailureKind};
use crate::domain::format;
use crate::domain::ids::EvidenceId;
use crate::domain::text::{Text, fill};
use crate::engine::files;
use crate::project::plan::Plan;
use crate::project::store::{self, Altered, Opened};

use super::out;

/// What scripts read of it.
#[derive(Serialize)]
pub(super) struct Faults {
    /// Records that are not what their name says.
    altered: Vec<AlteredShape>,
    /// Ids of records that the plan knows and whose files are gone.
    missing: Vec<String>,
    /// Part files of runs that were interrupted and are not sealed.
    unsealed: Vec<String>,
    /// Files in the folder of evidence that are no records.
    strays: Vec<String>,
}

#[derive(Serialize)]
struct AlteredShape {
    file: String,
    why: String,
}

impl Faults {
    pub(super) fn of(opened: &Opened, text: &Text) -> Self {
        let altered = opened
            .altered
            .iter()
            .map(|altered| AlteredShape { file: altered.file.clone(), why: text.failure(&altered.failure).what });
        Self {
            altered: altered.collect(),
            missing: opened.missing.iter().map(|id| id.0.clone()).collect(),
            unsealed: opened.unsealed.clone(),
            strays: opened.strays.clone(),
        }
    }

    /// Whether every record is there and what its name says.
    pub(super) fn none(&self) -> bool {
        self.altered.is_empty() && self.missing.is_empty()
    }

    /// How many are altered, and how many missing.
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.altered.len(), self.missing.len())
    }

    /// One line each: records that are altered or missing, then files that are none.
    pub(super) fn lines(&self, text: &Text) -> Vec<String> {
        let altered = self.altered.iter().map(|altered| format!("{}  {}", altered.file, altered.why));
        let missing = self.missing.iter().map(|id| fill(&text.cli.verify_missing, &[("id", id.clone())]));
        let strays = self.strays.iter().map(|file| fill(&text.cli.stray, &[("file", file.clone())]));
        altered.chain(missing).chain(strays).map(|line| out::visible(&line)).collect()
    }

    /// Names the interrupted runs on standard error, where a verb only reads.
    pub(super) fn warn_unsealed(&self, text: &Text) {
        for file in &self.unsealed {
            out::warning(&fill(&text.cli.unsealed, &[("file", file.clone())]));
        }
    }
}

/// A project that a verb only reads, with all that is computed from it and what is wrong with its records.
pub(super) struct Looked {
    /// What people wrote.
    pub(super) plan: Plan,
    /// Revision of the plan.
    pub(super) revision: u64,
    /// Every record that counts.
    pub(super) evidence: BTreeMap<EvidenceId, Sealed>,
    /// Files that do not count.
    pub(super) altered: Vec<Altered>,
    /// What is computed from plan and records.
    pub(super) derived: Derived,
    /// What is wrong with the records.
    pub(super) faults: Faults,
}

impl Looked {
    /// Reads a project; `now` is when.
    ///
    /// # Errors
    /// As [`store::read`].
    pub(super) fn at(project: &Path, now: DateTime<FixedOffset>, text: &Text) -> Result<Self, Failure> {
        let opened = store::read(&super::folder_of(project))?;
        let faults = Faults::of(&opened, text);
        let evidence = opened.evidence.into_iter().map(|sealed| (sealed.id.clone(), sealed)).collect();
        let derived = Derived::compute(&opened.plan, &evidence, opened.altered.len(), now.date_naive());
        let (plan, revision, altered) = (opened.plan, opened.revision, opened.altered);
        Ok(Self { plan, revision, evidence, altered, derived, faults })
    }
}

/// Seals and keeps the runs of this project that were interrupted, as opening it in the window does, and says so.
pub(super) fn take_up(folder: &Path, text: &Text) {
    for (file, sealed) in files::take_up_interrupted(folder) {
        let at = format::moment(&sealed.record.taken_at);
        out::warning(&fill(&text.cli.took_up, &[("file", file), ("id", sealed.id.cite()), ("at", at)]));
    }
}

/// Lists the records that are there now in the plan file, so that the loss of one is noticed.
pub(super) fn list(folder: &Path, text: &Text) {
    match store::list_records(folder) {
        // The window that holds the project lists them at its next save.
        Err(failure) if failure.kind != FailureKind::ProjectLocked => {
            out::failure(text, &failure);
        }
        _ => {}
    }
}
