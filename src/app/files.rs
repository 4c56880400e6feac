//! Projects on their way to and from the disk: open, save, autosave, recovery, dialogs, exports, this user's settings.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::domain::failure::{Failure, FailureKind};
use crate::domain::ids::JobId;
use crate::domain::memory::{MemoryPlan, offer, source};
use crate::domain::text::Text;
use crate::engine::clock::{self, Now};
use crate::engine::event::{Picking, What};
use crate::engine::files::{self as engine_files, Places};
use crate::engine::job::{JobSpec, OpenMode};
use crate::project::edit::Edit;
use crate::project::plan::Plan;
use crate::project::store::Opened;

use super::App;
use super::command::{Command, Layer};
use super::state::{JobWhat, ModelRead, NoticeWhat, PickingKey, Project, Settings, View};

/// How many projects the list of recent ones holds.
const RECENT: usize = 10;

/// What is kept of a user outside any project.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct UserFile {
    /// Settings.
    pub(super) settings: Settings,
    /// Projects opened before, newest first.
    pub(super) recent: Vec<PathBuf>,
}

impl UserFile {
    /// What was kept, or the defaults: settings that cannot be read are no reason not to start.
    pub(super) fn read(places: &Places) -> Self {
        engine_files::read_user_file(places).and_then(|text| ron::from_str(&text).ok()).unwrap_or_default()
    }
}

impl App {
    pub(super) fn file_command(&mut self, command: Command, now: Now) {
        match command {
            Command::New | Command::OpenSample | Command::Open(_) | Command::Quit => {
                if self.state.project.as_ref().is_some_and(Project::unsaved) {
                    self.state.view.pending = Some(Box::new(command));
                    self.view_command(Command::Show(Layer::ConfirmQuit));
                } else {
                    self.go(command);
                }
            }
            Command::QuitAnyway => {
                let pending = self.take_pending();
                self.discard_autosave();
                self.go(pending);
            }
            Command::SaveAndGo => {
                self.state.view.layers.retain(|layer| *layer != Layer::ConfirmQuit);
                self.go_after_save = true;
                self.save();
            }
            Command::Save => self.save(),
            Command::SaveAs(folder) => self.save_as(folder),
            Command::TakeRecovered => {
                if let Some(plan) = self.state.project.as_mut().and_then(|project| project.recovered.take()) {
                    self.edit(Edit::PutPlan(Box::new(plan)), now);
                }
            }
            Command::DropRecovered => {
                if let Some(project) = &mut self.state.project
                    && project.recovered.take().is_some()
                    && project.read_only.is_none()
                    && let Some(folder) = project.folder.clone()
                {
                    self.start_quiet(JobSpec::DropAutosave { folder });
                }
            }
            Command::Pick(picking) => {
                let suggested = self.suggested_name(picking);
                self.start(JobWhat::Dialog, JobSpec::Pick { picking, suggested });
            }
            Command::ImportModel(path) => {
                let job = self.start(JobWhat::Files, JobSpec::ReadFile { path: path.clone(), cap: source::HEAD_BYTES });
                self.reading_model = Some((job, path));
            }
            Command::TakePicked(picking) => {
                self.state.picked.remove(&PickingKey::from(picking));
            }
            Command::Report { .. } | Command::ExportCsv(_) => self.export(command),
            Command::WriteText { path, contents } => {
                self.start(JobWhat::Files, JobSpec::WriteFile { path, bytes: contents.into_bytes() });
            }
            // Every other command has its own door.
            _ => {}
        }
    }

    pub(super) fn file_event(&mut self, job: JobId, what: What, now: Now) {
        match what {
            What::Opened(opened) => self.opened(job, *opened),
            What::Saved { revision, folder, kept, lock } => {
                let Some(project) = &mut self.state.project else { return };
                if let Some(lock) = lock {
                    project.lock = Some(lock);
                }
                project.folder = Some(folder.clone());
                project.read_only = None;
                project.saved_revision = Some(revision);
                project.saved_at = Some(now.wall);
                project.autosaved_revision = project.autosaved_revision.max(revision);
                if project.revision == revision {
                    self.edited_at = None;
                }
                for id in &kept {
                    project.unkept.remove(id);
                }
                // Records that came while the save was under way went into the scratch folder.
                self.keep_unkept();
                self.remember(&folder);
                self.view_command_close(Layer::SaveAs);
                self.notice(NoticeWhat::Saved(folder));
                self.go_on_when_saved();
            }
            What::Autosaved { revision, lock } => {
                let Some(project) = &mut self.state.project else { return };
                project.autosaved_revision = revision;
                if lock.is_some() {
                    project.lock = lock;
                }
            }
            What::Kept(id) => {
                if let Some(project) = &mut self.state.project
                    && project.folder.is_some()
                    && project.read_only.is_none()
                {
                    project.unkept.remove(&id);
                    self.go_on_when_saved();
                }
            }
            What::Picked(picking, path) => match (picking, path) {
                (_, None) => {}
                (Picking::OpenProject, Some(path)) => self.file_command(Command::Open(path), now),
                (Picking::SaveProject, Some(path)) => self.save_as(path),
                (Picking::ModelConfig, Some(path)) => self.file_command(Command::ImportModel(path), now),
                (picking, Some(path)) => {
                    self.state.picked.insert(PickingKey::from(picking), path);
                }
            },
            What::Written(path) if !self.quiet.contains(&job) => self.notice(NoticeWhat::Written(path)),
            What::FileRead(path, bytes, len)
                if self.reading_model.take_if(|(reading, _)| *reading == job).is_some() =>
            {
                self.model_read(path, &bytes, len, now);
            }
            What::UnsavedFound(found) => self.state.unsaved_found = found,
            // Every other event has its own door.
            _ => {}
        }
    }

    /// The facts of a model's file become the brief's; what could not be read is said on the screen.
    fn model_read(&mut self, path: PathBuf, bytes: &[u8], len: u64, now: Now) {
        let Some(project) = &self.state.project else { return };
        let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
        let outcome = match source::read_model(&path.to_string_lossy(), bytes, Some(len)) {
            Ok(read) => {
                // Files of one folder are one model: the settings, an index, shards complete each other.
                let read = match self.model_source.take() {
                    Some((of, known)) if of == folder => known.joined(read),
                    _ => read,
                };
                let brief = offer::with_facts(&project.plan.brief, &read.facts);
                let facts = Some(Box::new(read.facts.clone()));
                let memory = MemoryPlan { facts, ..project.plan.memory.clone() };
                let notes = read.notes.clone();
                self.model_source = Some((folder, read));
                self.edit(Edit::PutModel(Box::new(brief), Box::new(memory)), now);
                self.view_command_close(Layer::ImportModel);
                Ok(notes)
            }
            Err(error) => {
                let said = Text::of(self.state.settings.language).source_error(&error);
                Err(Failure::new(FailureKind::ModelConfigMalformed).because(said).at(path.display()))
            }
        };
        self.state.view.model_read = Some(ModelRead { path, outcome });
    }

    /// Leaves the project as it is and does what was asked.
    fn go(&mut self, command: Command) {
        match command {
            Command::New => {
                let scratch = self.new_scratch();
                self.put_project(Some(Project::new(Plan::default(), scratch)));
            }
            Command::OpenSample => match engine_files::sample_folder() {
                Some(folder) => self.open(folder, OpenMode::Sample),
                None => self.notice(NoticeWhat::Failed(Failure::new(FailureKind::SampleMissing))),
            },
            Command::Open(path) => {
                let folder = engine_files::project_folder(&path);
                let mode = if folder.starts_with(self.places.unsaved()) { OpenMode::Unsaved } else { OpenMode::Edit };
                self.open(folder, mode);
            }
            Command::Quit => self.state.quit = true,
            // Only these can wait for an answer.
            _ => {}
        }
    }

    fn take_pending(&mut self) -> Command {
        self.view_command_close(Layer::ConfirmQuit);
        self.state.view.pending.take().map_or(Command::Quit, |command| *command)
    }

    fn view_command_close(&mut self, layer: Layer) {
        self.state.view.layers.retain(|other| *other != layer);
    }

    fn go_on_when_saved(&mut self) {
        if self.go_after_save && self.state.project.as_ref().is_none_or(|project| !project.unsaved()) {
            self.go_after_save = false;
            let pending = self.take_pending();
            self.go(pending);
        }
    }

    fn open(&mut self, folder: PathBuf, mode: OpenMode) {
        // Our own lock on the same folder would refuse us.
        if let Some(project) = &mut self.state.project
            && project.folder.as_deref().is_some_and(|own| engine_files::same_folder(own, &folder))
        {
            project.lock = None;
        }
        let job = self.start(JobWhat::Files, JobSpec::Open { folder, mode });
        self.opening = Some((job, mode));
    }

    fn opened(&mut self, job: JobId, opened: Opened) {
        let Some((_, mode)) = self.opening.take_if(|(newest, _)| *newest == job) else { return };
        let scratch = if mode == OpenMode::Unsaved { opened.folder.clone() } else { self.new_scratch() };
        let mut project = Project::new(opened.plan, scratch);
        project.revision = opened.revision;
        project.lock = opened.lock;
        project.altered = opened.altered;
        project.missing = opened.missing;
        project.recovered = opened.recovered;
        project.read_only = opened.read_only;
        if mode == OpenMode::Unsaved {
            project.unkept = opened.evidence.iter().map(|sealed| sealed.id.clone()).collect();
        } else {
            project.saved_revision = Some(opened.revision);
        }
        project.autosaved_revision = opened.revision;
        project.evidence = opened.evidence.into_iter().map(|sealed| (sealed.id.clone(), sealed)).collect();
        if mode == OpenMode::Edit {
            project.folder = Some(opened.folder.clone());
            self.remember(&opened.folder);
        }
        self.state.unsaved_found.retain(|other| *other != opened.folder);
        self.put_project(Some(project));
        if !opened.interrupted.is_empty() {
            self.notice(NoticeWhat::Recovered(opened.interrupted.len()));
        }
    }

    fn put_project(&mut self, project: Option<Project>) {
        self.project_serial += 1;
        self.edited_at = None;
        self.state.view = View::default();
        self.state.project = project;
    }

    fn save(&mut self) {
        let Some(project) = &self.state.project else { return };
        match &project.folder {
            Some(folder) if project.read_only.is_none() => {
                let folder = folder.clone();
                self.start_save(folder, true);
            }
            _ => {
                if let Some(failure) = project.read_only.clone() {
                    self.notice(NoticeWhat::Failed(failure));
                }
                self.view_command(Command::Show(Layer::SaveAs));
            }
        }
    }

    fn save_as(&mut self, folder: PathBuf) {
        let Some(project) = &self.state.project else { return };
        let own = project.read_only.is_none()
            && project.folder.as_deref().is_some_and(|own| engine_files::same_folder(own, &folder));
        self.start_save(folder, own);
    }

    fn start_save(&mut self, folder: PathBuf, own: bool) {
        let Some(project) = &self.state.project else { return };
        let spec = JobSpec::Save {
            folder,
            plan: project.plan.clone(),
            revision: project.revision,
            evidence: project.evidence.values().cloned().collect(),
            own,
            scratch: project.scratch.clone(),
            // What was found beside the project and not answered yet is somebody's work.
            drop_autosave: project.recovered.is_none(),
        };
        self.start(JobWhat::Files, spec);
    }

    /// Puts the unsaved plan beside the project, or into the scratch folder while it has none.
    pub(super) fn autosave(&mut self) {
        self.edited_at = None;
        let Some(project) = &self.state.project else { return };
        // What was found beside the project and not answered yet must not be overwritten.
        if project.recovered.is_some() {
            return;
        }
        let spec = JobSpec::Autosave {
            folder: project.working_folder().to_path_buf(),
            holds_lock: project.lock.is_some(),
            plan: project.plan.clone(),
            revision: project.revision,
        };
        self.autosaving = Some(self.start_quiet(spec));
    }

    /// Whether an autosave is on its way to the disk.
    pub(super) fn autosave_runs(&self) -> bool {
        self.autosaving.is_some_and(|job| self.quiet.contains(&job))
    }

    fn discard_autosave(&mut self) {
        self.edited_at = None;
        if let Some(project) = &self.state.project
            && project.recovered.is_none()
        {
            let folder = project.working_folder().to_path_buf();
            self.start_quiet(JobSpec::DropAutosave { folder });
        }
    }

    /// Puts every record that is not on disk into the folder the project works in.
    fn keep_unkept(&mut self) {
        let Some(project) = &self.state.project else { return };
        let folder = project.working_folder().to_path_buf();
        let sealed: Vec<_> = project.unkept.iter().filter_map(|id| project.evidence.get(id)).cloned().collect();
        for sealed in sealed {
            self.start_quiet(JobSpec::Keep { folder: folder.clone(), sealed: Box::new(sealed) });
        }
    }

    /// A scratch folder that no other project uses. It is made when something is put there.
    fn new_scratch(&self) -> PathBuf {
        let now = clock::now().wall.format("%Y%m%d-%H%M%S");
        self.places.unsaved().join(format!("{now}-{}-{}", std::process::id(), self.project_serial))
    }

    fn remember(&mut self, folder: &Path) {
        let folder = engine_files::absolute(folder);
        self.state.recent.retain(|other| *other != folder);
        self.state.recent.insert(0, folder);
        self.state.recent.truncate(RECENT);
        self.write_user_file();
    }

    /// Keeps settings and recent projects for the next start.
    pub(super) fn write_user_file(&mut self) {
        let file = UserFile { settings: self.kept_settings.clone(), recent: self.state.recent.clone() };
        // Settings are plain values; RON can write them all.
        let Ok(text) = ron::ser::to_string_pretty(&file, ron::ser::PrettyConfig::new()) else { return };
        let path = self.places.user_file();
        self.start_quiet(JobSpec::WriteFile { path, bytes: text.into_bytes() });
    }

    /// A file name for a dialog to offer: the project's name in characters that every file system takes.
    fn suggested_name(&self, picking: Picking) -> String {
        let name: String = self
            .state
            .project
            .as_ref()
            .map(|project| project.plan.name.as_str())
            .unwrap_or_default()
            .chars()
            .map(|c| if c.is_alphanumeric() || matches!(c, '-' | '_') { c } else { '-' })
            .take(60)
            .collect();
        let name = name.trim_matches('-');
        let name = if name.is_empty() { "leasebench" } else { name };
        match picking {
            Picking::Report => format!("{name}.html"),
            Picking::Csv => format!("{name}.csv"),
            Picking::Picture => format!("{name}.svg"),
            _ => name.to_owned(),
        }
    }
}
