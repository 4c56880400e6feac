//! State: everything a screen may read. One owner, one thread.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use chrono::{DateTime, FixedOffset};

use crate::domain::curve::StepPoint;
use crate::domain::evidence::Sealed;
use crate::domain::failure::Failure;
use crate::domain::host::KeyPin;
use crate::domain::ids::{CandidateId, CriterionId, EvidenceId, HostId, JobId};
use crate::domain::memory::SourceNote;
use crate::domain::text::Language;
use crate::engine::event::{Outcome, Picking, Progress, Question};
use crate::project::plan::Plan;
use crate::project::store::{Altered, Lock};

use super::command::{Command, Layer, Screen, ThemeChoice, Traced};
use super::derived::Derived;

/// Everything a screen may read.
pub struct State {
    /// The open project; `None` on the start screen.
    pub project: Option<Project>,
    /// The step on screen.
    pub screen: Screen,
    /// What is selected and open.
    pub view: View,
    /// Settings of this user.
    pub settings: Settings,
    /// Jobs that run, oldest first.
    pub jobs: Vec<Job>,
    /// The job that ended last.
    pub last_ended: Option<Ended>,
    /// Things done (toasts) and failures that have no better place, newest last.
    pub notices: VecDeque<Notice>,
    /// Made from the project when it changed; screens read it and compute nothing.
    pub derived: Derived,
    /// Projects opened before, newest first.
    pub recent: Vec<PathBuf>,
    /// Aliases of the SSH configuration, once read.
    pub ssh_aliases: Option<Vec<String>>,
    /// Answers of file dialogs that a screen has not taken yet.
    pub picked: BTreeMap<PickSlot, PathBuf>,
    /// Wall clock of the last event or command, for "ago" and waivers' expiry.
    pub now: DateTime<FixedOffset>,
    /// The window should close now.
    pub quit: bool,
    /// Text for the clipboard, which the window takes.
    pub clipboard: Option<String>,
    /// Unsaved projects of earlier runs; [`Command::Open`] takes one up again.
    pub unsaved_found: Vec<PathBuf>,
}

impl State {
    /// The start screen.
    #[must_use]
    pub fn new(settings: Settings, recent: Vec<PathBuf>, now: DateTime<FixedOffset>) -> Self {
        Self {
            project: None,
            screen: Screen::Brief,
            view: View::default(),
            settings,
            jobs: Vec::new(),
            last_ended: None,
            notices: VecDeque::new(),
            derived: Derived::default(),
            recent,
            ssh_aliases: None,
            picked: BTreeMap::new(),
            now,
            quit: false,
            clipboard: None,
            unsaved_found: Vec::new(),
        }
    }
}

/// Where a picked path goes.
pub type PickSlot = PickingKey;

/// [`Picking`] as an ordered key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PickingKey(pub u8);

impl From<Picking> for PickingKey {
    fn from(picking: Picking) -> Self {
        Self(picking as u8)
    }
}

/// The open project.
pub struct Project {
    /// Its folder, once it has one.
    pub folder: Option<PathBuf>,
    /// What people edit.
    pub plan: Arc<Plan>,
    /// Counts every change of the plan.
    pub revision: u64,
    /// The revision that is on disk.
    pub saved_revision: Option<u64>,
    /// When it was saved.
    pub saved_at: Option<DateTime<FixedOffset>>,
    /// Every record that counts, by id.
    pub evidence: BTreeMap<EvidenceId, Sealed>,
    /// Counts every record that came.
    pub evidence_revision: u64,
    /// Records not yet on disk.
    pub unkept: BTreeSet<EvidenceId>,
    /// Files that do not count.
    pub altered: Vec<Altered>,
    /// Records that the project knows and whose files are gone.
    pub missing: Vec<EvidenceId>,
    /// A newer unsaved plan that was found.
    pub recovered: Option<Plan>,
    /// Why it cannot be saved here: another window holds it.
    pub read_only: Option<Failure>,
    /// Undo and redo.
    pub history: crate::project::history::History,
    /// Keys of hosts that connected in this run of the program, with a line about the connection.
    pub connected: BTreeMap<HostId, (KeyPin, String)>,
    /// Points of a load run that is not sealed yet.
    pub live_steps: Vec<StepPoint>,
    /// What the newest load run of this program was asked to do.
    pub live_plan: Option<crate::domain::load::LoadPlan>,
    /// Where work is put while the project has no folder of its own.
    pub scratch: PathBuf,
    /// Keeps other windows from writing; given back when the project is closed.
    pub lock: Option<Lock>,
    /// The newest revision that a save or an autosave holds.
    pub autosaved_revision: u64,
}

impl Project {
    /// A project around a plan, with nothing seen yet and nothing saved.
    #[must_use]
    pub fn new(plan: Plan, scratch: PathBuf) -> Self {
        Self {
            folder: None,
            plan: Arc::new(plan),
            revision: 0,
            saved_revision: None,
            saved_at: None,
            evidence: BTreeMap::new(),
            evidence_revision: 0,
            unkept: BTreeSet::new(),
            altered: Vec::new(),
            missing: Vec::new(),
            recovered: None,
            read_only: None,
            history: crate::project::history::History::default(),
            connected: BTreeMap::new(),
            live_steps: Vec::new(),
            live_plan: None,
            scratch,
            lock: None,
            autosaved_revision: 0,
        }
    }

    /// Where records are written as they come: the project's folder, or its scratch folder while it has none or may
    /// not be written.
    #[must_use]
    pub fn working_folder(&self) -> &std::path::Path {
        match &self.folder {
            Some(folder) if self.read_only.is_none() => folder,
            _ => &self.scratch,
        }
    }

    /// Whether the plan or a record is not on disk.
    #[must_use]
    pub fn unsaved(&self) -> bool {
        // A new project that nobody has written into holds nothing to save.
        let plan = self.saved_revision.map_or(self.revision > 0, |saved| saved != self.revision);
        plan || !self.unkept.is_empty()
    }
}

/// What is selected and open.
#[derive(Default)]
pub struct View {
    /// Selected candidate.
    pub candidate: Option<CandidateId>,
    /// Selected host.
    pub host: Option<HostId>,
    /// Selected criterion.
    pub criterion: Option<CriterionId>,
    /// Runs hidden on the curves.
    pub hidden_runs: BTreeSet<EvidenceId>,
    /// Layers, top last.
    pub layers: Vec<Layer>,
    /// What waits for the answer of [`Layer::ConfirmQuit`].
    pub pending: Option<Box<Command>>,
    /// The number in the trace drawer.
    pub trace: Option<Box<Traced>>,
    /// The record in the trace drawer.
    pub record: Option<EvidenceId>,
    /// What the last reading of a model's file came to.
    pub model_read: Option<ModelRead>,
}

impl View {
    /// Hides a run on the curves, or shows it again.
    pub fn toggle_run(&mut self, run: EvidenceId) {
        if !self.hidden_runs.remove(&run) {
            self.hidden_runs.insert(run);
        }
    }

    /// Closes what lies on top: a layer, the record, the trace, the inspector.
    pub fn close_top(&mut self) {
        if let Some(layer) = self.layers.pop() {
            if layer == Layer::ConfirmQuit {
                self.pending = None;
            }
        } else if self.record.take().is_none() && self.trace.take().is_none() {
            self.criterion = None;
        }
    }
}

/// What the reading of a model's file came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelRead {
    /// The file.
    pub path: PathBuf,
    /// What could not be taken from it, or why nothing could.
    pub outcome: Result<Vec<SourceNote>, Failure>,
}

/// Settings of this user, kept outside any project.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Language.
    pub language: Language,
    /// Theme.
    pub theme: ThemeChoice,
    /// Text size factor.
    pub text_size: f32,
}

impl Default for Settings {
    fn default() -> Self {
        Self { language: Language::En, theme: ThemeChoice::System, text_size: 1.0 }
    }
}

/// A job that runs.
pub struct Job {
    /// Its id.
    pub id: JobId,
    /// What it is.
    pub what: JobWhat,
    /// Newest progress.
    pub progress: Progress,
    /// When it began.
    pub began: Instant,
    /// What it asks a person.
    pub question: Option<Question>,
}

/// What a job is, for its name on screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobWhat {
    /// Probing a host.
    Probe(HostId),
    /// A load run for a candidate.
    Load(Option<CandidateId>),
    /// Reading an output.
    Read(HostId),
    /// Reading the log of a candidate's serving engine.
    ReadLog(CandidateId),
    /// Opening, saving, keeping, writing.
    Files,
    /// A file dialog.
    Dialog,
}

/// A job that ended.
pub struct Ended {
    /// What it was.
    pub what: JobWhat,
    /// How it ended.
    pub outcome: Outcome,
    /// When.
    pub at: DateTime<FixedOffset>,
    /// How many records or samples were kept.
    pub kept: u64,
}

/// Something a person should see.
pub struct Notice {
    /// Running number.
    pub number: u64,
    /// What it says.
    pub what: NoticeWhat,
    /// When it came up.
    pub at: Instant,
}

/// What a notice says.
pub enum NoticeWhat {
    /// Saved, at this place.
    Saved(PathBuf),
    /// Written, at this place.
    Written(PathBuf),
    /// This many records were recovered from interrupted runs.
    Recovered(usize),
    /// The desktop has no file dialog.
    NoDialog,
    /// It failed.
    Failed(Failure),
}
