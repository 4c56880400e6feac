//! Reports of the open project: what the memo holds, handed to `report`, and the bytes to a file job.

use std::collections::BTreeMap;

use chrono::{DateTime, FixedOffset};

use crate::domain::evidence::Sealed;
use crate::domain::ids::EvidenceId;
use crate::domain::text::Text;
use crate::engine::job::JobSpec;
use crate::project::plan::Plan;
use crate::project::store::Altered;
use crate::report::{self, Compared, Report, ReportFormat};

use super::App;
use super::command::Command;
use super::derived::Derived;
use super::state::JobWhat;

/// What of a project goes into a report beside what was computed from it.
#[derive(Debug, Clone, Copy)]
pub struct Reported<'a> {
    /// What people wrote.
    pub plan: &'a Plan,
    /// Revision of the plan.
    pub revision: u64,
    /// Every record that counts.
    pub evidence: &'a BTreeMap<EvidenceId, Sealed>,
    /// Evidence files that do not count.
    pub altered: &'a [Altered],
    /// When the report is made.
    pub made_at: DateTime<FixedOffset>,
    /// Whether names and addresses of hosts and endpoints are shown.
    pub with_addresses: bool,
}

/// The report of a project and what was computed from it.
#[must_use]
pub fn report<'a>(reported: Reported<'a>, derived: &'a Derived) -> Report<'a> {
    let Reported { plan, revision, evidence, altered, made_at, with_addresses } = reported;
    let compared = plan.candidates.iter().filter_map(|candidate| {
        let view = derived.candidate(&candidate.id)?;
        Some(Compared {
            candidate,
            promises: &view.promises,
            memory: &view.memory,
            memory_curves: &view.memory_curves,
            cost: &view.cost,
            judged: &view.judged,
            runs: &view.runs,
            questions: &view.questions,
        })
    });
    Report {
        plan,
        revision,
        made_at,
        evidence,
        altered,
        gate: &derived.gate,
        candidates: compared.collect(),
        break_even: derived.break_even.as_ref().ok(),
        with_addresses,
    }
}

impl App {
    /// Writes the report, or the numbers of the curves, of the open project.
    pub(super) fn export(&mut self, command: Command) {
        let (format, path) = match command {
            Command::Report { format, path } => (format, path),
            Command::ExportCsv(path) => (ReportFormat::Csv, path),
            // Every other command has its own door.
            _ => return,
        };
        let Some(project) = &self.state.project else { return };
        let reported = Reported {
            plan: &project.plan,
            revision: project.revision,
            evidence: &project.evidence,
            altered: &project.altered,
            made_at: self.state.now,
            with_addresses: false,
        };
        let text = Text::of(self.state.settings.language);
        let bytes = report::render(&report(reported, &self.state.derived), format, text).into_bytes();
        self.start(JobWhat::Files, JobSpec::WriteFile { path, bytes });
    }
}
