//! Commands: what a person wants. Menu, shortcut, button, palette and command line all produce the same ones.

use std::path::PathBuf;

use crate::domain::figure::Input;
use crate::domain::figure::Origin;
use crate::domain::ids::{CandidateId, CriterionId, EvidenceId, HostId, JobId};
use crate::domain::secret::Secret;
use crate::domain::text::Language;
use crate::engine::event::{Picking, Reply};
use crate::engine::job::OutputSource;
use crate::project::edit::Edit;
pub use crate::report::ReportFormat;

/// What a person wants.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Begin an empty project.
    New,
    /// Open the sample that the program carries.
    OpenSample,
    /// Open this project folder.
    Open(PathBuf),
    /// Save where the project is kept; asks for a folder when it has none.
    Save,
    /// Save into this folder, from now on kept there.
    SaveAs(PathBuf),
    /// Show a file dialog.
    Pick(Picking),
    /// Read a model's `config.json` and take its facts into the brief.
    ImportModel(PathBuf),
    /// Forget what the last reading of a `config.json` said.
    DismissModelRead,
    /// A screen has taken the answer of a file dialog into its own field.
    TakePicked(Picking),
    /// Take the plan found beside the project as the plan.
    TakeRecovered,
    /// Forget the plan found beside the project.
    DropRecovered,
    /// Change the plan.
    Edit(Edit),
    /// Take the last edit back.
    Undo,
    /// Do it again.
    Redo,
    /// Go to a step.
    Go(Screen),
    /// Switch the language.
    Language(Language),
    /// Switch dark and light.
    Theme(ThemeChoice),
    /// Text size as a factor, 0.75..2.
    TextSize(f32),
    /// Select a candidate on the screens that show one.
    SelectCandidate(Option<CandidateId>),
    /// Select a host.
    SelectHost(Option<HostId>),
    /// Select a criterion.
    SelectCriterion(Option<CriterionId>),
    /// Show or hide a run on the curves.
    ToggleRun(EvidenceId),
    /// Ask a host these probes.
    Probe {
        /// The host.
        host: HostId,
        /// Probe ids; empty for all that are safe beside running work.
        probes: Vec<&'static str>,
    },
    /// Read a pasted or opened output for a host.
    ReadOutput {
        /// The host.
        host: HostId,
        /// Probe id.
        probe: &'static str,
        /// The output.
        source: OutputSource,
        /// Exit status, when known.
        exit: Option<i32>,
    },
    /// Read the log of a candidate's serving engine.
    ReadLog {
        /// The candidate.
        candidate: CandidateId,
        /// The log.
        source: OutputSource,
    },
    /// Read aliases from the SSH configuration.
    ListSshAliases,
    /// Run the load test as it is set up in the plan. The key is asked for when the setup says so.
    StartLoad(Option<Secret>),
    /// Run the two-minute practice: a ladder against the practice server inside the program.
    TryPractice,
    /// Stop a job and keep what it measured.
    Stop(JobId),
    /// Stop the newest job.
    StopNewest,
    /// Answer a job's question.
    Answer(JobId, Reply),
    /// Attest a criterion by a note: becomes a manual record.
    Attest {
        /// The criterion.
        criterion: CriterionId,
        /// For which candidate.
        candidate: CandidateId,
        /// Who.
        by: String,
        /// What was seen.
        note: String,
        /// Whether the statement holds.
        holds: bool,
    },
    /// Open the trace of a number.
    Trace(Box<Traced>),
    /// Open the trace of a record.
    ShowRecord(EvidenceId),
    /// Close the top layer: dialog, drawer, inspector.
    CloseTop,
    /// Open a layer.
    Show(Layer),
    /// Write the report.
    Report {
        /// In which format.
        format: ReportFormat,
        /// Where.
        path: PathBuf,
    },
    /// Write the curves' numbers.
    ExportCsv(PathBuf),
    /// Write a text that is already there, a chart's numbers or picture, into a file.
    WriteText {
        /// The file.
        path: PathBuf,
        /// All of it.
        contents: String,
    },
    /// Put this text on the clipboard; the window does it.
    Copy(String),
    /// Leave; asks when something is unsaved.
    Quit,
    /// Answer to [`Layer::ConfirmQuit`]: go on without saving (leave, or open the other project).
    QuitAnyway,
    /// Answer to [`Layer::ConfirmQuit`]: save, then go on.
    SaveAndGo,
    /// Dismiss a notice by its number.
    DismissNotice(u64),
}

/// A number on its way into the trace drawer.
#[derive(Debug, Clone, PartialEq)]
pub struct Traced {
    /// Name of the number, already in words.
    pub title: String,
    /// The value with its unit, as shown.
    pub value: String,
    /// Interval as shown, or empty.
    pub interval: String,
    /// Origin.
    pub origin: Origin,
    /// Formula, or empty.
    pub formula: String,
    /// Inputs.
    pub inputs: Vec<Input>,
    /// Records.
    pub evidence: Vec<EvidenceId>,
}

/// The nine steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[allow(missing_docs, reason = "the names of the steps")]
pub enum Screen {
    Brief,
    Memory,
    Candidates,
    Hosts,
    Load,
    Curves,
    Cost,
    Acceptance,
    Decision,
}

impl Screen {
    /// All nine, in order.
    pub const ALL: [Self; 9] = [
        Self::Brief,
        Self::Memory,
        Self::Candidates,
        Self::Hosts,
        Self::Load,
        Self::Curves,
        Self::Cost,
        Self::Acceptance,
        Self::Decision,
    ];

    /// The name on the command line ("brief").
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Brief => "brief",
            Self::Memory => "memory",
            Self::Candidates => "candidates",
            Self::Hosts => "hosts",
            Self::Load => "load",
            Self::Curves => "curves",
            Self::Cost => "cost",
            Self::Acceptance => "acceptance",
            Self::Decision => "decision",
        }
    }

    /// The step with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|screen| screen.name() == name)
    }
}

/// Dark, light, or as the desktop says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[allow(missing_docs, reason = "named for what they are")]
pub enum ThemeChoice {
    #[default]
    System,
    Dark,
    Light,
}

/// A layer above the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Layer {
    /// The palette under the command field.
    Palette,
    /// Open a project: recent ones, a typed path, the dialog.
    OpenProject,
    /// Save into a folder: a typed path, the dialog.
    SaveAs,
    /// Write a report.
    Report,
    /// Write the curves as CSV.
    ExportCsv,
    /// Write the chart at hand as CSV or SVG.
    ExportChart,
    /// Add a host.
    AddHost,
    /// Paste an output for the selected host.
    PasteOutput,
    /// Read a log of the serving engine.
    ImportLog,
    /// Every job.
    Jobs,
    /// Keys of this screen.
    Keys,
    /// Presentation.
    Presentation,
    /// Ask before leaving this project with something unsaved: to quit, or for the project in `View::pending`.
    ConfirmQuit,
    /// Read and sign.
    Sign,
    /// Waive the selected criterion.
    Waive,
    /// Attest the selected criterion.
    Attest,
    /// The setup of a load run.
    LoadSetup,
    /// Settings: language, theme, text size.
    Settings,
    /// Read a model's `config.json`: a typed path, the dialog.
    ImportModel,
    /// Fields of the selected candidate.
    Candidate,
    /// Paste the text of an offer.
    PasteOffer,
    /// One billing component of the selected candidate.
    Component,
    /// A managed API to compare the rentals with.
    ManagedApi,
}
