//! What a job is asked to do, and what it holds while it works.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc as std_mpsc;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::domain::evidence::{Kind, Sealed, Vantage};
use crate::domain::host::{Host, SshTarget};
use crate::domain::ids::{CandidateId, HostId, JobId};
use crate::domain::load::LoadPlan;
use crate::domain::secret::Secret;
use crate::project::plan::Plan;

use super::event::{Event, Picking, Progress, Question, Reply, What};

/// What every record of a job carries.
#[derive(Debug, Clone, PartialEq)]
pub struct Stamp {
    /// The candidate it is about.
    pub candidate: Option<CandidateId>,
    /// The host.
    pub host: Option<HostId>,
    /// Whether it can count.
    pub kind: Kind,
    /// Digest of the brief as it is now.
    pub brief_digest: Option<String>,
}

/// Self-contained work. The engine never holds a project.
#[derive(Debug)]
pub enum JobSpec {
    /// Ask a host these probes, in order, in one connection.
    Probe {
        /// The host.
        host: Box<Host>,
        /// Probe ids.
        probes: Vec<&'static str>,
        /// For the records.
        stamp: Stamp,
    },
    /// Run a load test.
    Load(Box<LoadSpec>),
    /// Read a pasted or opened output by a probe's parser.
    ReadOutput {
        /// Probe id.
        probe: &'static str,
        /// The output.
        source: OutputSource,
        /// Exit status, when known.
        exit: Option<i32>,
        /// For the record.
        stamp: Stamp,
    },
    /// Write a sealed record into the project's folder.
    Keep {
        /// The project's folder.
        folder: PathBuf,
        /// The record.
        sealed: Box<Sealed>,
    },
    /// Read a project.
    Open {
        /// Its folder.
        folder: PathBuf,
        /// What for.
        mode: OpenMode,
    },
    /// Save the plan, and copy evidence that is not in the folder yet.
    Save {
        /// The folder.
        folder: PathBuf,
        /// The plan.
        plan: Arc<Plan>,
        /// Its revision.
        revision: u64,
        /// Every record of the project; those already in the folder are left alone.
        evidence: Vec<Sealed>,
        /// Whether the program already works in this folder; another folder must not hold a project yet.
        own: bool,
        /// Where the unsaved work of this project was put; cleared once the save stands.
        scratch: PathBuf,
        /// Whether an unsaved plan beside the project is forgotten once the save stands.
        drop_autosave: bool,
    },
    /// Put the unsaved plan beside the project.
    Autosave {
        /// The project's folder, or its scratch folder.
        folder: PathBuf,
        /// Whether the program already holds the folder's lock.
        holds_lock: bool,
        /// The plan.
        plan: Arc<Plan>,
        /// Its revision.
        revision: u64,
    },
    /// Forget the unsaved plan beside the project, and the scratch folder when no record is in it.
    DropAutosave {
        /// The project's folder, or its scratch folder.
        folder: PathBuf,
    },
    /// Look for unsaved projects of earlier runs.
    FindUnsaved {
        /// The folder that holds scratch folders.
        folder: PathBuf,
    },
    /// Show a file dialog.
    Pick {
        /// What for.
        picking: Picking,
        /// File name to offer.
        suggested: String,
    },
    /// Write a file a person named, atomically.
    WriteFile {
        /// Where.
        path: PathBuf,
        /// What.
        bytes: Vec<u8>,
    },
    /// Read a file a person named, up to a cap.
    ReadFile {
        /// Where.
        path: PathBuf,
        /// The most that is read, bytes.
        cap: u64,
    },
    /// Read host aliases from the user's SSH configuration.
    ListSshAliases,
}

/// What a project is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenMode {
    /// To work in its folder: the folder is locked, interrupted runs are sealed.
    Edit,
    /// As a sample: read only, and saving asks for another folder.
    Sample,
    /// As an unsaved project of an earlier run: the scratch folder is locked, saving asks for a folder.
    Unsaved,
}

/// Where a pasted output comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutputSource {
    /// Typed or pasted text.
    Text(String),
    /// A file.
    File(PathBuf),
}

/// A load run, self-contained.
#[derive(Debug)]
pub struct LoadSpec {
    /// What is run. For a tunnel the base URL's host and port are replaced by the local end.
    pub plan: LoadPlan,
    /// How the endpoint is reached.
    pub route: LoadRoute,
    /// JSONL prompts, when the plan says so.
    pub prompts_path: Option<PathBuf>,
    /// The API key.
    pub api_key: Option<Secret>,
    /// Where samples are appended as they come; the project's `evidence` folder, or a temporary one.
    pub part_folder: Option<PathBuf>,
    /// Host whose GPUs are sampled beside the run.
    pub sample_on: Option<Box<Host>>,
    /// For the record.
    pub stamp: Stamp,
    /// Where it is measured from.
    pub vantage: Vantage,
}

/// How a load run reaches the endpoint.
#[derive(Debug)]
pub enum LoadRoute {
    /// The URL as it is.
    Direct,
    /// A port on the host's loopback, through a child `ssh -N -L`.
    Tunnel {
        /// The host.
        target: SshTarget,
        /// The host for messages and keys.
        host: Box<Host>,
        /// The port on the host's loopback.
        port: u16,
    },
    /// A practice server that this job starts and stops.
    Practice,
}

/// What a running job holds: its id, where its events go, its cancel flag, its line to a person.
pub struct JobCtx {
    /// Which job this is.
    pub id: JobId,
    /// Cancelled by a person, by dropping the handle, or by leaving the program.
    pub cancel: CancellationToken,
    pub(super) events: mpsc::Sender<Event>,
    pub(super) progress: watch::Sender<Progress>,
    pub(super) replies: parking::Replies,
    pub(super) wake: Arc<dyn Fn() + Send + Sync>,
    pub(super) started: Instant,
    /// Where the SSH configuration stands.
    pub ssh: super::host::Setup,
}

impl JobCtx {
    /// Puts an event into the bounded queue from a blocking thread; waits when it is full. An event after the program
    /// went away is dropped, since nobody is left to read it.
    pub fn emit_blocking(&self, what: What) {
        if self.events.blocking_send(Event { job: self.id, what }).is_ok() {
            (self.wake)();
        }
    }

    /// Puts an event into the bounded queue from a task; waits when it is full.
    pub async fn emit(&self, what: What) {
        if self.events.send(Event { job: self.id, what }).await.is_ok() {
            (self.wake)();
        }
    }

    /// Replaces the progress; call it at most ten times a second.
    pub fn progress(&self, mut progress: Progress) {
        progress.elapsed_secs = self.started.elapsed().as_secs_f64();
        self.progress.send_replace(progress);
        (self.wake)();
    }

    /// Asks a person and waits for the answer on a blocking thread. `None` when the job was cancelled.
    pub fn ask_blocking(&self, question: Question) -> Option<Reply> {
        self.emit_blocking(What::Asked(question));
        loop {
            if self.cancel.is_cancelled() {
                return None;
            }
            match self.replies.recv_timeout(Duration::from_millis(50)) {
                Ok(reply) => return Some(reply),
                Err(std_mpsc::RecvTimeoutError::Timeout) => {}
                Err(std_mpsc::RecvTimeoutError::Disconnected) => return None,
            }
        }
    }
}

/// The receiving end of a person's answers, usable from any thread of the job.
pub(super) mod parking {
    use std::sync::Mutex;
    use std::sync::mpsc::{Receiver, RecvTimeoutError};
    use std::time::Duration;

    use super::Reply;

    /// One receiver, one waiter at a time.
    pub(in crate::engine) struct Replies(pub(in crate::engine) Mutex<Receiver<Reply>>);

    impl Replies {
        pub(in crate::engine) fn recv_timeout(&self, timeout: Duration) -> Result<Reply, RecvTimeoutError> {
            match self.0.lock() {
                Ok(receiver) => receiver.recv_timeout(timeout),
                Err(_poisoned) => Err(RecvTimeoutError::Disconnected),
            }
        }
    }
}
