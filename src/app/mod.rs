//! State and its two doors: [`App::command`] for what a person wants, [`App::event`] for what the world did. Knows no
//! window.
//!
//! This file only routes. Work lives beside its subject: jobs are put together in [`jobs`], notices in [`notices`],
//! what follows from the project in [`derived`].

pub mod command;
pub mod derived;
mod files;
mod jobs;
mod notices;
pub mod rail;
pub mod report;
pub mod state;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use chrono::NaiveDate;

use crate::domain::failure::{Failure, FailureKind};
use crate::domain::ids::JobId;
use crate::domain::text::Language;
use crate::engine::Engine;
use crate::engine::clock::{self, Now};
use crate::engine::event::{Event, Outcome, What};
use crate::engine::files::{self as engine_files, Places};
use crate::engine::job::{JobSpec, OpenMode};
use crate::project::edit::Edit;

use command::{Command, Screen, ThemeChoice};
use derived::Derived;
use state::{Ended, Job, JobWhat, ModelRead, NoticeWhat, Settings, State};

/// The unsaved plan is put beside the project this long after the last edit.
const AUTOSAVE_AFTER: Duration = Duration::from_secs(2);
/// How long leaving waits for work that is being put on disk.
const LEAVE_WITHIN: Duration = Duration::from_secs(2);

/// The program without a window: the state and the engine behind it.
pub struct App {
    state: State,
    engine: Engine,
    places: Places,
    /// What `state.derived` was made from: project, plan, evidence, day.
    derived_from: Option<(u64, u64, u64, NaiveDate)>,
    /// Counts projects that were opened, so that two at the same revision are not taken for one.
    project_serial: u64,
    /// Jobs whose end is no news: autosaves, settings.
    quiet: BTreeSet<JobId>,
    /// The autosave that was started last. Two at once would fight for the lock on a folder.
    autosaving: Option<JobId>,
    /// The last edit that no autosave holds yet.
    edited_at: Option<Instant>,
    next_notice: u64,
    /// Settings as they are kept; those of the state may differ for this run.
    kept_settings: Settings,
    /// The newest project that is being read; an older answer is dropped.
    opening: Option<(JobId, OpenMode)>,
    /// The job that reads a model's `config.json`, and the file.
    reading_model: Option<(JobId, PathBuf)>,
    /// What the files of the model said that were read last, and the folder they lie in.
    model_source: Option<(PathBuf, crate::domain::memory::ModelSource)>,
    /// What is done once the save under way stands: go on with `View::pending`.
    go_after_save: bool,
}

/// How the window begins.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Begin {
    /// Project folder to open.
    pub project: Option<PathBuf>,
    /// Step to show first.
    pub screen: Option<Screen>,
    /// Language of this run; the kept one stays as it is.
    pub language: Option<Language>,
    /// Theme of this run; the kept one stays as it is.
    pub theme: Option<ThemeChoice>,
}

impl App {
    /// A program without a project. `wake` is called after every event and must be cheap; it may come from any thread.
    ///
    /// Reads this user's settings, which are small and on this computer, before there is a window to freeze.
    ///
    /// # Errors
    /// `Internal` when the operating system gives no threads.
    pub fn new(wake: impl Fn() + Send + Sync + 'static) -> Result<Self, Failure> {
        let places = Places::of_user();
        let is_new_here = engine_files::read_user_file(&places).is_none();
        let mut app = Self::with_places(places, wake)?;
        if is_new_here {
            let language = language_of_locale(|name| std::env::var(name).ok());
            app.state.settings.language = language;
            app.kept_settings.language = language;
        }
        Ok(app)
    }

    /// The same with its files elsewhere.
    ///
    /// # Errors
    /// As [`App::new`].
    pub fn with_places(places: Places, wake: impl Fn() + Send + Sync + 'static) -> Result<Self, Failure> {
        let engine = Engine::new(wake).map_err(|error| Failure::new(FailureKind::Internal).because(error))?;
        let user = files::UserFile::read(&places);
        let mut app = Self {
            state: State::new(user.settings.clone(), user.recent, clock::now().wall),
            engine,
            places,
            derived_from: None,
            project_serial: 0,
            quiet: BTreeSet::new(),
            autosaving: None,
            edited_at: None,
            next_notice: 1,
            kept_settings: user.settings.clone(),
            opening: None,
            reading_model: None,
            model_source: None,
            go_after_save: false,
        };
        app.start_quiet(JobSpec::FindUnsaved { folder: app.places.unsaved() });
        Ok(app)
    }

    /// Where later jobs find the SSH configuration; at first it is the user's.
    pub fn set_ssh(&mut self, ssh: crate::engine::host::Setup) {
        self.engine.set_ssh(ssh);
    }

    /// Begins as asked: on the named project, or on the sample for somebody who never kept a project.
    pub fn begin(&mut self, begin: Begin) {
        let settings = &mut self.state.settings;
        settings.language = begin.language.unwrap_or(settings.language);
        settings.theme = begin.theme.unwrap_or(settings.theme);
        self.state.screen = begin.screen.unwrap_or(self.state.screen);
        match begin.project {
            Some(folder) => self.command(Command::Open(folder)),
            None if self.state.recent.is_empty() => self.command(Command::OpenSample),
            None => {}
        }
    }

    /// Everything a screen may read.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// What a person wants.
    pub fn command(&mut self, command: Command) {
        let now = clock::now();
        self.state.now = now.wall;
        self.route_command(command, now);
        self.refresh();
    }

    /// What the world did.
    pub fn event(&mut self, event: Event) {
        let now = clock::now();
        self.state.now = now.wall;
        self.route_event(event, now);
        self.refresh();
    }

    /// Takes up to `max` waiting events (a window: 256 a frame) and the newest progress of every job. True when more
    /// may wait.
    pub fn poll(&mut self, max: usize) -> bool {
        let mut taken = 0;
        while taken < max {
            let Some(event) = self.engine.poll() else { break };
            taken += 1;
            let now = clock::now();
            self.state.now = now.wall;
            self.route_event(event, now);
        }
        for job in &mut self.state.jobs {
            if let Some(progress) = self.engine.progress(job.id) {
                job.progress = progress;
            }
        }
        if taken > 0 {
            self.refresh();
        }
        taken == max
    }

    /// Waits up to `timeout` for one event and takes it; for programs without a window. False when none came.
    pub fn wait(&mut self, timeout: Duration) -> bool {
        let Some(event) = self.engine.wait(timeout) else { return false };
        self.event(event);
        true
    }

    /// What only time brings: the autosave, the end of a waiver, the end of a toast. Call it once a frame.
    pub fn tick(&mut self, now: Now) {
        self.state.now = now.wall;
        let is_due = self.edited_at.is_some_and(|at| now.mono.saturating_duration_since(at) >= AUTOSAVE_AFTER);
        if is_due && !self.autosave_runs() {
            self.autosave();
        }
        self.expire_notices(now.mono);
        self.refresh();
    }

    /// Whether a job runs that puts something on disk, or one that a person started.
    #[must_use]
    pub fn busy(&self) -> bool {
        !self.state.jobs.is_empty() || !self.quiet.is_empty()
    }

    /// Makes the derived figures anew when the project, its evidence or the day changed.
    fn refresh(&mut self) {
        let Some(project) = &self.state.project else {
            if self.derived_from.take().is_some() {
                self.state.derived = Derived::default();
            }
            return;
        };
        let today = self.state.now.date_naive();
        let from = (self.project_serial, project.revision, project.evidence_revision, today);
        if self.derived_from != Some(from) {
            self.derived_from = Some(from);
            self.state.derived =
                self.state.derived.again(&project.plan, &project.evidence, project.altered.len(), today);
        }
    }

    fn route_command(&mut self, command: Command, now: Now) {
        match command {
            Command::New
            | Command::OpenSample
            | Command::Open(_)
            | Command::Save
            | Command::SaveAs(_)
            | Command::SaveAndGo
            | Command::Quit
            | Command::QuitAnyway
            | Command::TakeRecovered
            | Command::DropRecovered
            | Command::Pick(_)
            | Command::ImportModel(_)
            | Command::TakePicked(_)
            | Command::Report { .. }
            | Command::ExportCsv(_)
            | Command::WriteText { .. } => self.file_command(command, now),
            Command::Probe { .. }
            | Command::ReadOutput { .. }
            | Command::ReadLog { .. }
            | Command::ListSshAliases
            | Command::StartLoad(_)
            | Command::TryPractice
            | Command::Stop(_)
            | Command::StopNewest
            | Command::Answer(..)
            | Command::Attest { .. } => self.job_command(command, now),
            Command::Edit(edit) => self.edit(edit, now),
            Command::Undo => self.step_back(now),
            Command::Redo => self.step_forward(now),
            Command::Language(_) | Command::Theme(_) | Command::TextSize(_) => self.settings_command(&command),
            Command::DismissNotice(number) => self.state.notices.retain(|notice| notice.number != number),
            Command::Copy(text) => self.state.clipboard = Some(text),
            other => self.view_command(other),
        }
    }

    /// Commands that change what is shown and nothing else.
    fn view_command(&mut self, command: Command) {
        let view = &mut self.state.view;
        match command {
            Command::Go(screen) => self.state.screen = screen,
            Command::SelectCandidate(candidate) => view.candidate = candidate,
            Command::SelectHost(host) => view.host = host,
            Command::SelectCriterion(criterion) => view.criterion = criterion,
            Command::ToggleRun(run) => view.toggle_run(run),
            Command::Trace(traced) => {
                view.trace = Some(traced);
                view.record = None;
            }
            Command::ShowRecord(record) => view.record = Some(record),
            Command::Show(layer) => {
                view.layers.retain(|other| *other != layer);
                view.layers.push(layer);
            }
            Command::CloseTop => view.close_top(),
            Command::DismissModelRead => view.model_read = None,
            // Every other command has its own door.
            _ => {}
        }
    }

    fn edit(&mut self, edit: Edit, now: Now) {
        let Some(project) = &mut self.state.project else { return };
        let plan = project.history.edit(&project.plan, edit, now.mono);
        if plan == project.plan {
            return;
        }
        project.plan = plan;
        self.changed(now);
    }

    fn step_back(&mut self, now: Now) {
        let Some(project) = &mut self.state.project else { return };
        if let Some(plan) = project.history.undo(&project.plan) {
            project.plan = plan;
            self.changed(now);
        }
    }

    fn step_forward(&mut self, now: Now) {
        let Some(project) = &mut self.state.project else { return };
        if let Some(plan) = project.history.redo(&project.plan) {
            project.plan = plan;
            self.changed(now);
        }
    }

    /// The plan changed: a new revision, an autosave soon, and nothing selected that is gone.
    fn changed(&mut self, now: Now) {
        let Some(project) = &mut self.state.project else { return };
        project.revision += 1;
        self.edited_at = Some(now.mono);
        let (plan, view) = (&project.plan, &mut self.state.view);
        view.candidate.take_if(|id| plan.candidate(id).is_none());
        view.host.take_if(|id| plan.host(id).is_none());
        view.criterion.take_if(|id| plan.criteria.iter().all(|criterion| criterion.id != *id));
        self.engine.wake_after(AUTOSAVE_AFTER);
    }

    fn settings_command(&mut self, command: &Command) {
        for settings in [&mut self.state.settings, &mut self.kept_settings] {
            match command {
                Command::Language(language) => settings.language = *language,
                Command::Theme(theme) => settings.theme = *theme,
                Command::TextSize(size) if size.is_finite() => settings.text_size = size.clamp(0.75, 2.0),
                _ => {}
            }
        }
        self.write_user_file();
    }

    fn route_event(&mut self, event: Event, now: Now) {
        let Event { job, what } = event;
        match what {
            What::Opened(_)
            | What::Saved { .. }
            | What::Autosaved { .. }
            | What::Kept(_)
            | What::Picked(..)
            | What::Written(_)
            | What::FileRead(..)
            | What::UnsavedFound(_) => self.file_event(job, what, now),
            What::Sealed(sealed) => self.sealed(*sealed),
            What::Step(point) => {
                if let Some(project) = &mut self.state.project {
                    project.live_steps.retain(|other| other.step_idx != point.step_idx);
                    project.live_steps.push(*point);
                }
            }
            What::Connected { host, key, newly_accepted, line } => self.connected(host, key, newly_accepted, line, now),
            What::SshAliases(aliases) => self.state.ssh_aliases = Some(aliases),
            What::Asked(question) => {
                if let Some(job) = self.state.jobs.iter_mut().find(|other| other.id == job) {
                    job.question = Some(question);
                }
            }
            What::Ended(outcome) => self.ended(job, outcome),
        }
    }

    fn ended(&mut self, id: JobId, outcome: Outcome) {
        let quiet = self.quiet.remove(&id);
        if let Some(idx) = self.state.jobs.iter().position(|job| job.id == id) {
            let job = self.state.jobs.remove(idx);
            if matches!(job.what, JobWhat::Probe(_) | JobWhat::Load(_) | JobWhat::Read(_) | JobWhat::ReadLog(_)) {
                self.state.last_ended = Some(Ended {
                    what: job.what,
                    outcome: outcome.clone(),
                    at: self.state.now,
                    kept: job.progress.kept,
                });
            }
        }
        if let Outcome::Failed(failure) = outcome {
            if let Some((_, path)) = self.reading_model.take_if(|(job, _)| *job == id) {
                self.state.view.model_read = Some(ModelRead { path, outcome: Err(failure) });
                return;
            }
            match failure.kind {
                FailureKind::NoFileDialog => self.notice(NoticeWhat::NoDialog),
                // A failed look for unsaved work or a failed settings file is no reason to disturb anybody, but a
                // record or a plan that did not reach the disk is.
                _ if quiet && failure.kind == FailureKind::FileUnwritable => {}
                _ => self.notice(NoticeWhat::Failed(failure)),
            }
        }
    }

    /// Starts a job that is shown among the jobs.
    fn start(&mut self, what: JobWhat, spec: JobSpec) -> JobId {
        let id = self.engine.start(spec);
        self.state.jobs.push(Job {
            id,
            what,
            progress: crate::engine::event::Progress::default(),
            began: clock::now().mono,
            question: None,
        });
        id
    }

    /// Starts a job that nobody needs to see.
    fn start_quiet(&mut self, spec: JobSpec) -> JobId {
        let id = self.engine.start(spec);
        self.quiet.insert(id);
        id
    }
}

/// The language of this user's locale, as POSIX orders its variables.
fn language_of_locale(variable: impl Fn(&str) -> Option<String>) -> Language {
    let locale = ["LC_ALL", "LC_MESSAGES", "LANG"].into_iter().filter_map(variable).find(|value| !value.is_empty());
    if locale.is_some_and(|locale| locale.starts_with("zh")) { Language::ZhHans } else { Language::En }
}

impl Drop for App {
    /// Stops every job and lets what they measured reach the disk, two seconds at most.
    fn drop(&mut self) {
        if self.edited_at.is_some() && !self.state.quit {
            self.autosave();
        }
        for job in &self.state.jobs {
            self.engine.cancel(job.id);
        }
        let until = clock::now().mono + LEAVE_WITHIN;
        while self.busy() {
            let left = until.saturating_duration_since(clock::now().mono);
            if left.is_zero() || !self.wait(left) {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_start_speaks_the_language_of_the_locale() {
        for (variables, want) in [
            (&[][..], Language::En),
            (&[("LANG", "zh_CN.UTF-8")], Language::ZhHans),
            (&[("LANG", "zh_CN.UTF-8"), ("LC_ALL", "C")], Language::En),
            (&[("LANG", "de_DE.UTF-8"), ("LC_ALL", ""), ("LC_MESSAGES", "zh_SG")], Language::ZhHans),
        ] {
            let variable =
                |name: &str| variables.iter().find(|(other, _)| *other == name).map(|(_, v)| (*v).to_owned());
            assert_eq!(language_of_locale(variable), want, "{variables:?}");
        }
    }
}
