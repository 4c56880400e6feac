//! All waiting: jobs on a tokio runtime and on named threads. Gets a self-contained [`JobSpec`], gives back [`Event`]s.

mod capture;
pub mod clock;
mod dialogs;
pub mod endpoint;
pub mod event;
pub mod files;
pub mod host;
pub mod job;
mod load;
mod local;
#[cfg(feature = "desktop")]
mod local_gpu;
pub mod part;
pub mod practice;
mod probing;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::mpsc as std_mpsc;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::domain::failure::{Failure, FailureKind};
use crate::domain::ids::JobId;

use event::{Event, Outcome, Progress, Reply, What};
use job::{JobCtx, JobSpec};

/// Events waiting for the app; the queue waits when it is full.
const QUEUE: usize = 1024;

/// Runs jobs. One a program, owned by the app.
pub struct Engine {
    runtime: Option<tokio::runtime::Runtime>,
    events: mpsc::Sender<Event>,
    inbox: mpsc::Receiver<Event>,
    jobs: BTreeMap<JobId, Handle>,
    next: u64,
    wake: Arc<dyn Fn() + Send + Sync>,
    ssh: host::Setup,
    /// Work that writes goes through one thread in order: an older save never lands after a newer one.
    writer: std_mpsc::Sender<(JobCtx, JobSpec)>,
}

/// What the engine keeps of a running job.
struct Handle {
    cancel: CancellationToken,
    progress: watch::Receiver<Progress>,
    replies: std_mpsc::Sender<Reply>,
}

impl Engine {
    /// A new engine. `wake` is called after every event and progress; it must be cheap and may come from any thread.
    ///
    /// # Errors
    /// The operating system's error when it gives no threads.
    pub fn new(wake: impl Fn() + Send + Sync + 'static) -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().thread_name("engine").enable_all().build()?;
        let (events, inbox) = mpsc::channel(QUEUE);
        let ssh = host::Setup { config: std::env::var_os("LEASEBENCH_SSH_CONFIG").map(Into::into) };
        let (writer, writes) = std_mpsc::channel::<(JobCtx, JobSpec)>();
        std::thread::Builder::new().name("writer".to_owned()).spawn(move || {
            while let Ok((ctx, spec)) = writes.recv() {
                let outcome = files::run(&ctx, spec);
                ctx.emit_blocking(What::Ended(outcome));
            }
        })?;
        Ok(Self {
            runtime: Some(runtime),
            events,
            inbox,
            jobs: BTreeMap::new(),
            next: 1,
            wake: Arc::new(wake),
            ssh,
            writer,
        })
    }

    /// Where later jobs find the SSH configuration. At first it is the user's, or the file that the variable
    /// `LEASEBENCH_SSH_CONFIG` names.
    pub fn set_ssh(&mut self, ssh: host::Setup) {
        self.ssh = ssh;
    }

    /// Starts a job and returns its id at once.
    pub fn start(&mut self, spec: JobSpec) -> JobId {
        let id = JobId(self.next);
        self.next += 1;
        let (progress, progress_inbox) = watch::channel(Progress::default());
        let (replies, reply_inbox) = std_mpsc::channel();
        let cancel = CancellationToken::new();
        self.jobs.insert(id, Handle { cancel: cancel.clone(), progress: progress_inbox, replies });
        let ctx = JobCtx {
            id,
            cancel,
            events: self.events.clone(),
            progress,
            replies: job::parking::Replies(Mutex::new(reply_inbox)),
            wake: Arc::clone(&self.wake),
            started: Instant::now(),
            ssh: self.ssh.clone(),
        };
        if writes(&spec) {
            // The writer lives as long as the engine.
            self.writer.send((ctx, spec)).ok();
        } else if let Some(runtime) = &self.runtime {
            run(runtime, ctx, spec);
        }
        id
    }

    /// Wakes the screen after this time, for what only time brings.
    pub fn wake_after(&self, after: Duration) {
        if let Some(runtime) = &self.runtime {
            let wake = Arc::clone(&self.wake);
            runtime.spawn(async move {
                tokio::time::sleep(after).await;
                wake();
            });
        }
    }

    /// Cancels a job; it ends by itself and says what was kept.
    pub fn cancel(&self, id: JobId) {
        if let Some(handle) = self.jobs.get(&id) {
            handle.cancel.cancel();
        }
    }

    /// Answers a job's question.
    pub fn answer(&self, id: JobId, reply: Reply) {
        if let Some(handle) = self.jobs.get(&id) {
            // A job that no longer waits has ended; its answer is not needed.
            handle.replies.send(reply).ok();
        }
    }

    /// The newest progress of a job.
    #[must_use]
    pub fn progress(&self, id: JobId) -> Option<Progress> {
        self.jobs.get(&id).map(|handle| handle.progress.borrow().clone())
    }

    /// The next event, if one waits.
    pub fn poll(&mut self) -> Option<Event> {
        let event = self.inbox.try_recv().ok()?;
        self.note(&event);
        Some(event)
    }

    /// The next event, waiting for it up to `timeout`; for programs without a window.
    pub fn wait(&mut self, timeout: Duration) -> Option<Event> {
        let runtime = self.runtime.as_ref()?;
        let inbox = &mut self.inbox;
        let event = runtime.block_on(async { tokio::time::timeout(timeout, inbox.recv()).await }).ok().flatten()?;
        self.note(&event);
        Some(event)
    }

    fn note(&mut self, event: &Event) {
        if matches!(event.what, What::Ended(_)) {
            self.jobs.remove(&event.job);
        }
    }
}

impl Drop for Engine {
    /// Cancels every job and waits two seconds at most.
    fn drop(&mut self) {
        for handle in self.jobs.values() {
            handle.cancel.cancel();
        }
        self.inbox.close();
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(Duration::from_secs(2));
        }
    }
}

/// Whether a job writes into a project or beside one.
fn writes(spec: &JobSpec) -> bool {
    matches!(
        spec,
        JobSpec::Keep { .. }
            | JobSpec::Save { .. }
            | JobSpec::Autosave { .. }
            | JobSpec::DropAutosave { .. }
            | JobSpec::WriteFile { .. }
    )
}

/// Gives the job a thread of its own with its number in the name.
fn run(runtime: &tokio::runtime::Runtime, ctx: JobCtx, spec: JobSpec) {
    let name = format!("job-{}", ctx.id.0);
    let events = ctx.events.clone();
    let (id, wake) = (ctx.id, Arc::clone(&ctx.wake));
    let spawned = std::thread::Builder::new().name(name).spawn(move || {
        let outcome = blocking(&ctx, spec);
        ctx.emit_blocking(What::Ended(outcome));
    });
    if let Err(error) = spawned {
        let failure = Failure::new(FailureKind::Internal).because(error);
        runtime.spawn(async move {
            if events.send(Event { job: id, what: What::Ended(Outcome::Failed(failure)) }).await.is_ok() {
                wake();
            }
        });
    }
}

/// Where each kind of work is done.
fn blocking(ctx: &JobCtx, spec: JobSpec) -> Outcome {
    match spec {
        JobSpec::Probe { host, probes, stamp } => probing::probe_job(ctx, &host, &probes, &stamp),
        JobSpec::ReadOutput { probe, source, exit, stamp } => probing::read_output(ctx, probe, &source, exit, &stamp),
        JobSpec::ListSshAliases => {
            ctx.emit_blocking(What::SshAliases(host::aliases(&ctx.ssh)));
            Outcome::Done
        }
        JobSpec::Load(spec) => load::run(ctx, *spec),
        JobSpec::Pick { picking, suggested } => dialogs::pick(ctx, picking, &suggested),
        spec => files::run(ctx, spec),
    }
}
