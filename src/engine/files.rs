//! File jobs: projects, exports, dialogs, and where the program keeps its own things.

use std::path::{Path, PathBuf};

use crate::domain::evidence::Sealed;
use crate::domain::failure::{Failure, FailureKind};
use crate::project::store::{self, AUTOSAVE_FILE, EVIDENCE_FOLDER, PLAN_FILE};

use super::event::{Outcome, What};
use super::job::{JobCtx, JobSpec, OpenMode};
use super::part;

/// The most that is read of this user's settings, bytes.
const USER_FILE_CAP: u64 = 1 << 20;

/// Where the program keeps what belongs to a user and to no project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    config: PathBuf,
    data: PathBuf,
}

impl Places {
    /// The folders that the operating system names for it; `LEASEBENCH_HOME` puts both elsewhere.
    #[must_use]
    pub fn of_user() -> Self {
        if let Some(home) = std::env::var_os("LEASEBENCH_HOME").filter(|home| !home.is_empty()) {
            return Self::under(Path::new(&home));
        }
        directories::ProjectDirs::from("", "", "leasebench").map_or_else(
            || Self::under(&std::env::temp_dir().join("leasebench")),
            |dirs| Self { config: dirs.config_dir().to_path_buf(), data: dirs.data_local_dir().to_path_buf() },
        )
    }

    /// Both under one folder.
    #[must_use]
    pub fn under(folder: &Path) -> Self {
        Self { config: folder.join("config"), data: folder.join("data") }
    }

    /// Settings and recent projects.
    #[must_use]
    pub fn user_file(&self) -> PathBuf {
        self.config.join("settings.ron")
    }

    /// The folder with the scratch folders of projects that were never saved.
    #[must_use]
    pub fn unsaved(&self) -> PathBuf {
        self.data.join("unsaved")
    }
}

/// This user's settings, when there are any that can be read.
#[must_use]
pub fn read_user_file(places: &Places) -> Option<String> {
    String::from_utf8(store::read_capped(&places.user_file(), USER_FILE_CAP).ok()?).ok()
}

/// The sample project: in `projects` beside the working folder or the program, or where the program was built.
#[must_use]
pub fn sample_folder() -> Option<PathBuf> {
    let beside_program =
        std::env::current_exe().ok().and_then(|path| path.parent().map(|folder| folder.join("projects")));
    [Some(PathBuf::from("projects")), beside_program, Some(Path::new(env!("CARGO_MANIFEST_DIR")).join("projects"))]
        .into_iter()
        .flatten()
        .find_map(|projects| {
            let named = projects.join("sample");
            if store::holds_project(&named) { Some(absolute(&named)) } else { first_project(&projects) }
        })
}

/// The first folder, by name, that holds a project.
fn first_project(projects: &Path) -> Option<PathBuf> {
    let mut folders: Vec<PathBuf> = std::fs::read_dir(projects).ok()?.flatten().map(|entry| entry.path()).collect();
    folders.sort();
    folders.into_iter().find(|folder| store::holds_project(folder)).map(|folder| absolute(&folder))
}

/// The project folder that a path means: the folder itself, or the one around a `project.ron`.
#[must_use]
pub fn project_folder(path: &Path) -> PathBuf {
    match path.file_name() {
        Some(name) if name == PLAN_FILE => path.parent().map_or_else(|| PathBuf::from("."), Path::to_path_buf),
        _ => path.to_path_buf(),
    }
}

/// The path from the root, without links where it exists.
#[must_use]
pub fn absolute(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).or_else(|_missing| std::path::absolute(path)).unwrap_or_else(|_odd| path.to_path_buf())
}

/// Whether two paths lead to one folder.
#[must_use]
pub fn same_folder(a: &Path, b: &Path) -> bool {
    absolute(a) == absolute(b)
}

/// Runs a file job.
pub(super) fn run(ctx: &JobCtx, spec: JobSpec) -> Outcome {
    match work(ctx, spec) {
        Ok(()) => Outcome::Done,
        Err(failure) => Outcome::Failed(failure),
    }
}

fn work(ctx: &JobCtx, spec: JobSpec) -> Result<(), Failure> {
    match spec {
        JobSpec::Keep { folder, sealed } => {
            keep(&folder, &sealed)?;
            ctx.emit_blocking(What::Kept(sealed.id.clone()));
        }
        JobSpec::Open { folder, mode } => ctx.emit_blocking(What::Opened(Box::new(open(&folder, mode)?))),
        JobSpec::Save { folder, plan, revision, evidence, own, scratch, drop_autosave } => {
            let lock = if own { None } else { claim(&folder)? };
            let mut kept = Vec::with_capacity(evidence.len());
            // Records first: a plan on disk never speaks of a record that is not.
            for sealed in &evidence {
                keep(&folder, sealed)?;
                kept.push(sealed.id.clone());
            }
            store::save_plan(&folder, &plan, revision)?;
            // The save stands; an unsaved plan left behind would only offer again what is saved.
            if drop_autosave {
                store::drop_autosave(&folder).ok();
            }
            clear_scratch(&scratch, &folder).ok();
            ctx.emit_blocking(What::Saved { revision, folder: absolute(&folder), kept, lock });
        }
        JobSpec::Autosave { folder, holds_lock, plan, revision } => {
            make_folder(&folder)?;
            let lock = if holds_lock { None } else { store::lock(&folder)? };
            store::autosave_plan(&folder, &plan, revision)?;
            ctx.emit_blocking(What::Autosaved { revision, lock });
        }
        JobSpec::DropAutosave { folder } => drop_autosave(&folder).map_err(|error| unwritable(&folder, error))?,
        JobSpec::FindUnsaved { folder } => ctx.emit_blocking(What::UnsavedFound(unsaved_in(&folder))),
        JobSpec::WriteFile { path, bytes } => {
            store::write_atomic(&path, &bytes).map_err(|error| unwritable(&path, error))?;
            ctx.emit_blocking(What::Written(path));
        }
        JobSpec::ReadFile { path, cap } => {
            let (bytes, len) = store::read_head(&path, cap)
                .map_err(|error| Failure::new(FailureKind::FileUnreadable).because(error).at(path.display()))?;
            ctx.emit_blocking(What::FileRead(path, bytes, len));
        }
        other => return Err(Failure::new(FailureKind::Internal).because(format!("{other:?} is no file job"))),
    }
    Ok(())
}

/// Keeps a record; what a load run gathered on its way to it is then no longer needed.
fn keep(folder: &Path, sealed: &Sealed) -> Result<(), Failure> {
    store::keep(folder, sealed)?;
    let part = folder.join(EVIDENCE_FOLDER).join(format!("{}.part", sealed.id.0));
    match std::fs::remove_file(&part) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(unwritable(&part, error)),
        _ => Ok(()),
    }
}

fn unwritable(path: &Path, error: std::io::Error) -> Failure {
    Failure::new(FailureKind::FileUnwritable).because(error).at(path.display())
}

fn make_folder(folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder)
        .map_err(|error| Failure::new(FailureKind::SaveFailed).because(error).at(folder.display()))
}

/// Takes a folder for a project that was kept elsewhere or nowhere. Another project in it is left alone.
fn claim(folder: &Path) -> Result<Option<store::Lock>, Failure> {
    make_folder(folder)?;
    if store::holds_project(folder) {
        return Err(Failure::new(FailureKind::ProjectExists).at(folder.display()));
    }
    store::lock(folder)
}

fn open(folder: &Path, mode: OpenMode) -> Result<store::Opened, Failure> {
    let folder = absolute(folder);
    match mode {
        OpenMode::Sample => store::read(&folder),
        OpenMode::Unsaved => {
            let lock = store::lock(&folder)?;
            store::read_unsaved(&folder).map(|opened| store::Opened { lock, ..with_interrupted(&folder, opened) })
        }
        OpenMode::Edit => {
            // Read before anything is made in the folder: a wrong path must not gain a lock file.
            if !store::holds_project(&folder) {
                return store::read(&folder);
            }
            let (lock, read_only) = match store::lock(&folder) {
                Ok(lock) => (lock, None),
                Err(failure) => (None, Some(failure)),
            };
            let opened = store::read(&folder)?;
            // Only who holds the project may take up its part files: a run of another window still writes its own.
            let opened = if read_only.is_none() { with_interrupted(&folder, opened) } else { opened };
            Ok(store::Opened { lock, read_only, ..opened })
        }
    }
}

/// The project with the runs in it that were interrupted, sealed now. A run that cannot be kept stays a part file, to be
/// found again.
fn with_interrupted(folder: &Path, mut opened: store::Opened) -> store::Opened {
    for (file, sealed) in take_up_interrupted(folder) {
        opened.unsealed.retain(|other| *other != file);
        opened.missing.retain(|other| *other != sealed.id);
        opened.interrupted.push(sealed.id.clone());
        opened.evidence.push(sealed);
    }
    opened
}

/// Seals the runs in a project that were interrupted, and keeps them: each record with the name its part file had.
pub fn take_up_interrupted(folder: &Path) -> Vec<(String, Sealed)> {
    let mut taken = Vec::new();
    for (path, sealed) in part::seal_found(&folder.join(EVIDENCE_FOLDER)) {
        if store::keep(folder, &sealed).is_ok() {
            std::fs::remove_file(&path).ok();
            taken.push((path.file_name().unwrap_or_default().to_string_lossy().into_owned(), sealed));
        }
    }
    taken
}

/// Forgets the unsaved plan, and the scratch folder around it when no record is in it.
fn drop_autosave(folder: &Path) -> std::io::Result<()> {
    if store::holds_project(folder) {
        return store::drop_autosave(folder);
    }
    // A scratch folder with records keeps its plan: what was measured is offered again at the next start.
    if has_files(&folder.join(EVIDENCE_FOLDER)) {
        return Ok(());
    }
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn has_files(folder: &Path) -> bool {
    std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some())
}

/// Removes a scratch folder whose records are all in the project's folder now.
fn clear_scratch(scratch: &Path, folder: &Path) -> std::io::Result<()> {
    let records = scratch.join(EVIDENCE_FOLDER);
    if records.is_dir() {
        for entry in std::fs::read_dir(&records)? {
            if !folder.join(EVIDENCE_FOLDER).join(entry?.file_name()).exists() {
                // A record that came meanwhile, or a run that still goes on.
                return Ok(());
            }
        }
    }
    match std::fs::remove_dir_all(scratch) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Scratch folders with a plan in them that no running program holds, newest first.
fn unsaved_in(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut found: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.join(AUTOSAVE_FILE).is_file() && store::lock(path).is_ok())
        .collect();
    found.sort();
    found.reverse();
    found
}
