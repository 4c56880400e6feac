//! What the world did: events of jobs, their progress, and what a job asks a person.

use std::path::PathBuf;

use crate::domain::curve::StepPoint;
use crate::domain::evidence::Sealed;
use crate::domain::failure::Failure;
use crate::domain::host::KeyPin;
use crate::domain::ids::{EvidenceId, HostId, JobId};
use crate::domain::load::GpuSample;
use crate::domain::secret::Secret;
use crate::domain::timeline::LiveRow;
use crate::project::store::{Lock, Opened};

/// Something a job did.
#[derive(Debug)]
pub struct Event {
    /// Which job.
    pub job: JobId,
    /// What it did.
    pub what: What,
}

/// What a job did.
#[derive(Debug)]
pub enum What {
    /// A record was sealed (probe, load run, pasted text). It is already in the part file or in memory; the app keeps it.
    Sealed(Box<Sealed>),
    /// A step of a load run is final.
    Step(Box<StepPoint>),
    /// The host connected with this key; `newly_accepted` when a person just accepted it.
    Connected {
        /// The host.
        host: HostId,
        /// Its key.
        key: KeyPin,
        /// A person accepted it in this run.
        newly_accepted: bool,
        /// Connection facts in one line (server banner, cipher), for show.
        line: String,
    },
    /// Evidence reached the disk.
    Kept(EvidenceId),
    /// A project was read.
    Opened(Box<Opened>),
    /// A project was saved at this revision.
    Saved {
        /// The revision that is on disk now.
        revision: u64,
        /// Where.
        folder: PathBuf,
        /// Records that are in the folder now.
        kept: Vec<EvidenceId>,
        /// The lock on the folder, when the job took it.
        lock: Option<Lock>,
    },
    /// The unsaved plan was put beside the project.
    Autosaved {
        /// The revision.
        revision: u64,
        /// The lock on the folder, when the job took it.
        lock: Option<Lock>,
    },
    /// Unsaved projects of earlier runs of the program.
    UnsavedFound(Vec<PathBuf>),
    /// A file dialog was answered; `None` when it was closed.
    Picked(Picking, Option<PathBuf>),
    /// A file was written (report, CSV, image).
    Written(PathBuf),
    /// A file was read for a field.
    FileRead(PathBuf, Vec<u8>, u64),
    /// SSH aliases were read from the configuration.
    SshAliases(Vec<String>),
    /// The job waits for a person.
    Asked(Question),
    /// The job ended.
    Ended(Outcome),
}

/// How a job ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// As asked.
    Done,
    /// A person stopped it; what was measured is kept.
    Cancelled,
    /// It failed.
    Failed(Failure),
}

/// What a file dialog is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Picking {
    /// A project folder to open.
    OpenProject,
    /// A folder to save the project in.
    SaveProject,
    /// A prompts file.
    Prompts,
    /// A captured output for a probe's parser.
    CapturedOutput,
    /// A key file.
    KeyFile,
    /// A model's `config.json`.
    ModelConfig,
    /// Where a report goes.
    Report,
    /// Where a CSV goes.
    Csv,
    /// Where a picture goes.
    Picture,
}

/// A question a job asks a person. The job waits; cancelling it answers too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    /// The host's key is unknown.
    HostKey {
        /// Host name and port.
        host: String,
        /// The key.
        key: KeyPin,
        /// Fingerprints known for this host under other types, if any.
        other_types: Vec<String>,
    },
    /// A key file is encrypted.
    Passphrase {
        /// The file.
        file: String,
        /// Whether the last answer was wrong.
        again: bool,
    },
    /// The server wants a password or another prompt answered.
    Password {
        /// User and host.
        login: String,
        /// The server's prompt, controls made visible.
        prompt: String,
        /// Whether what is typed may show.
        echo: bool,
        /// Whether the server did not take what was answered before.
        again: bool,
    },
}

/// The answer to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// Yes: the key is right, remember it.
    Accept,
    /// No.
    Refuse,
    /// The secret that was asked for.
    Secret(Secret),
}

/// How far a job is. Newest wins; at most ten a second.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Progress {
    /// What it does now: an untranslated detail such as a probe id or a stage number.
    pub step: String,
    /// Part done, 0..1, when it can be known.
    pub share: Option<f64>,
    /// What is kept so far (records, samples).
    pub kept: u64,
    /// Elapsed, s.
    pub elapsed_secs: f64,
    /// Planned, s, when known.
    pub planned_secs: Option<f64>,
    /// Figures of a running load test.
    pub load: Option<Box<LoadProgress>>,
}

/// Live figures of a load run.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadProgress {
    /// The step that runs, provisional.
    pub point: StepPoint,
    /// Requests in flight now.
    pub in_flight: u32,
    /// Send lateness p99 so far, ms.
    pub lateness_p99_ms: Option<f64>,
    /// Client CPU share so far, 0..1 of what it may use.
    pub cpu_share: f64,
    /// Seconds since the start of the run, and one row a second: TTFT p50 and p95 of the last seconds, achieved and
    /// offered rate, in flight, lateness p99.
    pub series: std::sync::Arc<Vec<LiveRow>>,
    /// GPU samples so far, newest last.
    pub gpu: Vec<GpuSample>,
}
