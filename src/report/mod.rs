//! From a project to a report. Pure: what is shown comes in, text goes out, the same for the same input.
//!
//! Chapters build one [`doc::Doc`]; each format writes that document down, so HTML and Markdown hold the same. CSV is
//! the table of steps alone, with names that do not change with the language.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, FixedOffset};

use crate::domain::acceptance::Judged;
use crate::domain::candidate::Candidate;
use crate::domain::compare::accepted::CandidateCost;
use crate::domain::compare::breakeven::BreakEven;
use crate::domain::compare::promises::PromiseRow;
use crate::domain::evidence::Sealed;
use crate::domain::figure::Answer;
use crate::domain::gate::Gate;
use crate::domain::ids::EvidenceId;
use crate::domain::memory::{MemoryCurve, MemoryEstimate};
use crate::domain::questions::Question;
use crate::domain::seen::Run;
use crate::domain::text::Text;
use crate::project::plan::Plan;
use crate::project::store::Altered;

mod chapters;
pub mod csv;
pub mod doc;
pub mod escape;
pub mod html;
pub mod markdown;
mod palette;
pub mod svg;

/// Format of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "named for what they are")]
pub enum ReportFormat {
    Html,
    Markdown,
    Csv,
}

impl ReportFormat {
    /// Every format, in the order a list offers them.
    pub const ALL: [Self; 3] = [Self::Html, Self::Markdown, Self::Csv];

    /// The name on the command line and the ending of a file ("html").
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Html => "html",
            Self::Markdown => "md",
            Self::Csv => "csv",
        }
    }
}

/// A project as a report shows it.
#[derive(Debug, Clone)]
pub struct Report<'a> {
    /// What people wrote.
    pub plan: &'a Plan,
    /// Revision of the plan.
    pub revision: u64,
    /// When the report is made.
    pub made_at: DateTime<FixedOffset>,
    /// Every record that counts.
    pub evidence: &'a BTreeMap<EvidenceId, Sealed>,
    /// Evidence files that do not count.
    pub altered: &'a [Altered],
    /// The gate of the brief.
    pub gate: &'a Gate,
    /// The candidates, in the order of the plan.
    pub candidates: Vec<Compared<'a>>,
    /// Ways to pay for the work over the demand; `None` where none is known.
    pub break_even: Option<&'a BreakEven>,
    /// Whether names and addresses of hosts and endpoints are shown. They are left out unless somebody asks.
    pub with_addresses: bool,
}

/// One candidate with everything that was computed for it.
#[derive(Debug, Clone, Copy)]
pub struct Compared<'a> {
    /// The offer.
    pub candidate: &'a Candidate,
    /// Promised against found.
    pub promises: &'a [PromiseRow],
    /// Memory of one GPU at the brief's peak.
    pub memory: &'a Answer<MemoryEstimate>,
    /// Memory of one GPU over each axis that the work has.
    pub memory_curves: &'a [Answer<MemoryCurve>],
    /// What accepted work costs on it.
    pub cost: &'a CandidateCost,
    /// Every criterion of the plan judged for it, in the plan's order.
    pub judged: &'a [Judged],
    /// Its load runs, newest first.
    pub runs: &'a [Arc<Run>],
    /// What its offer does not state.
    pub questions: &'a [Question],
}

/// The report in a format, in the language of `text`.
#[must_use]
pub fn render(report: &Report<'_>, format: ReportFormat, text: &Text) -> String {
    match format {
        ReportFormat::Html => html::render(&chapters::doc(report, text)),
        ReportFormat::Markdown => markdown::render(&chapters::doc(report, text)),
        ReportFormat::Csv => csv::render(report),
    }
}
