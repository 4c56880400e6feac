//! A project on disk: `project.ron` and `evidence/<id>.ron`. The plan is written aside and renamed; a record is created
//! once and never opened for writing again.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::domain::evidence::{Record, Sealed};
use crate::domain::failure::{Failure, FailureKind};
use crate::domain::ids::EvidenceId;

use super::plan::{Plan, VERSION};

/// Name of the plan's file.
pub const PLAN_FILE: &str = "project.ron";
/// Name of the folder with the records.
pub const EVIDENCE_FOLDER: &str = "evidence";
/// Name of the unsaved plan beside the project.
pub const AUTOSAVE_FILE: &str = ".leasebench-autosave.ron";
/// Name of the file whose lock keeps a second window from writing.
const LOCK_FILE: &str = ".leasebench.lock";
/// The most that is read of a plan, bytes.
const PLAN_CAP: u64 = 16 << 20;
/// The most that is read of one record, bytes. A long load run keeps every request.
const RECORD_CAP: u64 = 256 << 20;

/// A project as it was read.
#[derive(Debug)]
pub struct Opened {
    /// Its folder.
    pub folder: PathBuf,
    /// The plan.
    pub plan: Plan,
    /// The plan's revision.
    pub revision: u64,
    /// Records whose bytes match their id.
    pub evidence: Vec<Sealed>,
    /// Records that do not count: altered or unreadable.
    pub altered: Vec<Altered>,
    /// Names in the evidence folder that are no record's and no run's: somebody's own files. They harm nothing.
    pub strays: Vec<String>,
    /// Records that were there when the plan was saved, or that the plan cites, and whose files are gone.
    pub missing: Vec<EvidenceId>,
    /// Part files of runs that ended without being sealed, and that nobody writes now.
    pub unsealed: Vec<String>,
    /// An unsaved plan that differs was found beside the project: offered as recovery.
    pub recovered: Option<Plan>,
    /// Runs that were interrupted and sealed now.
    pub interrupted: Vec<EvidenceId>,
    /// Whether another window holds the project, or it cannot be written: this one may look, not save.
    pub read_only: Option<Failure>,
    /// Keeps other windows from writing.
    pub lock: Option<Lock>,
}

/// An evidence file that does not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Altered {
    /// Its file name, which is the id it claims.
    pub file: String,
    /// Why.
    pub failure: Failure,
}

/// The lock on a project's folder. It is given back when this is dropped, however the program ends.
#[derive(Debug)]
pub struct Lock {
    // Held, never read: the operating system ties the lock to the open file.
    _file: File,
}

/// `project.ron` as it is written.
#[derive(Serialize)]
#[serde(rename = "Project")]
struct PlanFileOut<'a> {
    version: u32,
    revision: u64,
    plan: &'a Plan,
    #[serde(skip_serializing_if = "<[EvidenceId]>::is_empty")]
    records: &'a [EvidenceId],
}

/// `project.ron` as it is read.
#[derive(Deserialize)]
#[serde(rename = "Project", deny_unknown_fields)]
struct PlanFile {
    #[allow(dead_code, reason = "read first, and judged, through `VersionOnly`; named here so that it is known")]
    version: u32,
    #[serde(default)]
    revision: u64,
    plan: Plan,
    #[allow(dead_code, reason = "read apart, through `RecordsOnly`; named here so that it is known")]
    #[serde(default)]
    records: Vec<EvidenceId>,
}

/// The records that a plan file knows of, whatever else is in it.
#[derive(Deserialize)]
struct RecordsOnly {
    #[serde(default)]
    records: Vec<EvidenceId>,
}

/// The one field that is read of a file of any version.
#[derive(Deserialize)]
struct VersionOnly {
    version: u32,
}

/// Whether the folder holds a project or the unsaved work of one.
#[must_use]
pub fn holds_project(folder: &Path) -> bool {
    folder.join(PLAN_FILE).is_file()
}

/// The unsaved plan beside a project, when there is one that can be read.
#[must_use]
pub fn read_autosave(folder: &Path) -> Option<(Plan, u64)> {
    read_plan(&folder.join(AUTOSAVE_FILE)).ok()
}

/// Reads a project without touching it: no lock, nothing sealed.
///
/// # Errors
/// `NotAProject`, `ProjectUnreadable`, `ProjectMalformed`, `ProjectNewer`. Records that cannot be read or do not match
/// their id are not an error; they are listed in `altered`.
pub fn read(folder: &Path) -> Result<Opened, Failure> {
    let path = folder.join(PLAN_FILE);
    if !path.is_file() {
        // A folder that cannot be looked into is a different thing from one that holds no project.
        if let Err(error) = fs::read_dir(folder) {
            return Err(Failure::new(FailureKind::ProjectUnreadable).because(error).at(folder.display()));
        }
        return Err(Failure::new(FailureKind::NotAProject).at(folder.display()));
    }
    let (plan, revision) = read_plan(&path)?;
    let found = read_evidence(folder)?;
    let missing = missing(&plan, &listed_records(&path), &found);
    let recovered = read_autosave(folder).map(|(unsaved, _)| unsaved).filter(|unsaved| *unsaved != plan);
    Ok(Opened {
        folder: folder.to_path_buf(),
        plan,
        revision,
        evidence: found.evidence,
        altered: found.altered,
        strays: found.strays,
        missing,
        unsealed: found.unsealed,
        recovered,
        interrupted: Vec::new(),
        read_only: None,
        lock: None,
    })
}

/// Reads the plan of a project and none of its records.
///
/// # Errors
/// As [`read`].
pub fn read_plan_of(folder: &Path) -> Result<Plan, Failure> {
    if !holds_project(folder) {
        return Err(Failure::new(FailureKind::NotAProject).at(folder.display()));
    }
    read_plan(&folder.join(PLAN_FILE)).map(|(plan, _)| plan)
}

/// Reads the unsaved work of an earlier run from its scratch folder.
///
/// # Errors
/// As [`read`].
pub fn read_unsaved(folder: &Path) -> Result<Opened, Failure> {
    let (plan, revision) = read_plan(&folder.join(AUTOSAVE_FILE))?;
    let found = read_evidence(folder)?;
    Ok(Opened {
        folder: folder.to_path_buf(),
        missing: missing(&plan, &[], &found),
        plan,
        revision,
        evidence: found.evidence,
        altered: found.altered,
        strays: found.strays,
        unsealed: found.unsealed,
        recovered: None,
        interrupted: Vec::new(),
        read_only: None,
        lock: None,
    })
}

/// Reads one plan file.
fn read_plan(path: &Path) -> Result<(Plan, u64), Failure> {
    let unreadable = |cause: &dyn ToString| {
        Failure::new(FailureKind::ProjectUnreadable).because(cause.to_string()).at(path.display())
    };
    let bytes = read_capped(path, PLAN_CAP).map_err(|error| unreadable(&error))?;
    let text = String::from_utf8(bytes).map_err(|error| not_utf8(&error).at(path.display()))?;
    parse_plan(&text).map_err(|failure| failure.at(path.display()))
}

/// The plan and its revision in the text of a plan file.
///
/// # Errors
/// `ProjectNewer` when a later version of the program wrote it, `ProjectMalformed` with line, column and what was
/// expected.
pub fn parse_plan(text: &str) -> Result<(Plan, u64), Failure> {
    // The version is read first, and leniently: a newer file may hold fields that this program does not know.
    if let Ok(VersionOnly { version }) = ron::from_str::<VersionOnly>(text)
        && version > VERSION
    {
        return Err(Failure::new(FailureKind::ProjectNewer).with("found", version).with("known", VERSION));
    }
    let file: PlanFile = ron::from_str(text).map_err(|error| malformed(&error, text))?;
    Ok((file.plan, file.revision))
}

/// Where a text stops being UTF-8, counted from 1.
fn not_utf8(error: &std::string::FromUtf8Error) -> Failure {
    let valid = error.utf8_error().valid_up_to();
    let before = error.as_bytes().get(..valid).unwrap_or_default();
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    Failure::new(FailureKind::ProjectNotUtf8).with("byte", valid + 1).with("line", line)
}

/// A RON error with its place and the line it stands on.
fn malformed(error: &ron::error::SpannedError, text: &str) -> Failure {
    let at = error.span.start;
    let line = text.lines().nth(at.line.saturating_sub(1)).unwrap_or_default();
    Failure::new(FailureKind::ProjectMalformed)
        .with("line", at.line)
        .with("column", at.col)
        .because(&error.code)
        .raw(line.chars().take(300).collect::<String>())
}

/// The text of a plan file.
fn plan_text(plan: &Plan, revision: u64, records: &[EvidenceId]) -> Result<String, ron::Error> {
    let mut text = ron::ser::to_string_pretty(
        &PlanFileOut { version: VERSION, revision, plan, records },
        ron::ser::PrettyConfig::new().struct_names(false),
    )?;
    text.push('\n');
    Ok(text)
}

/// What stands in a folder of evidence.
#[derive(Default)]
struct Found {
    evidence: Vec<Sealed>,
    altered: Vec<Altered>,
    strays: Vec<String>,
    unsealed: Vec<String>,
}

/// What a name in a folder of evidence is.
enum Named {
    Record,
    Part,
    /// Written aside by us, or hidden by somebody.
    Hidden,
    Stray,
}

fn named(name: &str) -> Named {
    match name.rsplit_once('.') {
        _ if name.starts_with('.') => Named::Hidden,
        Some((stem, "ron")) if stem.len() == 64 && stem.bytes().all(|byte| byte.is_ascii_hexdigit()) => Named::Record,
        Some((_, "part")) => Named::Part,
        _ => Named::Stray,
    }
}

/// Records that are known and not there: those listed at the last save, and those that the plan cites.
fn missing(plan: &Plan, listed: &[EvidenceId], found: &Found) -> Vec<EvidenceId> {
    let there = |id: &EvidenceId| {
        found.evidence.iter().any(|sealed| sealed.id == *id)
            || found.altered.iter().any(|altered| altered.file.strip_suffix(".ron") == Some(id.0.as_str()))
            || found.unsealed.iter().any(|file| file.strip_suffix(".part") == Some(id.0.as_str()))
    };
    let cited = plan.notes.iter().filter_map(|note| note.on.as_ref());
    let known: std::collections::BTreeSet<&EvidenceId> = listed.iter().chain(cited).collect();
    known.into_iter().filter(|id| !there(id)).cloned().collect()
}

/// The records that the plan file knows of; none when it cannot be read, which is told elsewhere.
fn listed_records(path: &Path) -> Vec<EvidenceId> {
    read_capped(path, PLAN_CAP)
        .ok()
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .and_then(|text| ron::from_str::<RecordsOnly>(&text).ok())
        .map(|file| file.records)
        .unwrap_or_default()
}

/// The records that a plan file in this folder is to know of: those that it knew, and those that are there. One that is
/// gone stays listed, so that its loss is told as long as nobody takes it out.
fn known_records(folder: &Path) -> Vec<EvidenceId> {
    let mut known: std::collections::BTreeSet<EvidenceId> =
        listed_records(&folder.join(PLAN_FILE)).into_iter().collect();
    for entry in fs::read_dir(folder.join(EVIDENCE_FOLDER)).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if let (Named::Record, Some(stem)) = (named(&name), name.strip_suffix(".ron")) {
            known.insert(EvidenceId(stem.to_ascii_lowercase()));
        }
    }
    known.into_iter().collect()
}

/// Whether a part file is being written now: its writer holds a lock on it.
#[must_use]
pub fn is_written_now(part: &Path) -> bool {
    // A file that is gone or cannot be opened is written by nobody that could be told.
    File::open(part).is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// Reads every record; those that are not what their name says are listed apart.
fn read_evidence(folder: &Path) -> Result<Found, Failure> {
    let folder = folder.join(EVIDENCE_FOLDER);
    let unreadable =
        |error: io::Error| Failure::new(FailureKind::ProjectUnreadable).because(error).at(folder.display());
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::default()),
        Err(error) => return Err(unreadable(error)),
    };
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(unreadable)?.path();
        paths.push(path);
    }
    paths.sort();
    let mut found = Found { evidence: Vec::with_capacity(paths.len()), ..Found::default() };
    for path in paths {
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match named(&file) {
            Named::Record => match read_record(&path) {
                Ok(sealed) => found.evidence.push(sealed),
                Err(failure) => found.altered.push(Altered { file, failure: failure.at(path.display()) }),
            },
            // A part whose record is kept is only waste, and one that is written now is no interrupted run.
            Named::Part if path.with_extension("ron").exists() || is_written_now(&path) => {}
            Named::Part => found.unsealed.push(file),
            Named::Stray => found.strays.push(file),
            Named::Hidden => {}
        }
    }
    Ok(found)
}

/// Reads one record and holds its bytes against its name.
fn read_record(path: &Path) -> Result<Sealed, Failure> {
    let altered = |cause: String| Failure::new(FailureKind::EvidenceAltered).because(cause);
    let bytes = read_capped(path, RECORD_CAP).map_err(|error| altered(error.to_string()))?;
    let id = EvidenceId::of(&bytes);
    let claimed = path.file_stem().unwrap_or_default().to_string_lossy();
    if claimed != id.0.as_str() {
        return Err(altered(format!("SHA-256 {}", id.0)));
    }
    let text = std::str::from_utf8(&bytes).map_err(|error| altered(error.to_string()))?;
    let record: Record = ron::from_str(text).map_err(|error| altered(error.to_string()))?;
    Ok(Sealed { id, bytes: bytes.into(), record: record.into() })
}

/// Takes the lock on a project's folder and writes into it who holds it.
///
/// `Ok(None)` when the file system knows no locks: work goes on without one.
///
/// # Errors
/// `ProjectLocked` when another window holds it, `ProjectReadOnly` when the folder cannot be written.
pub fn lock(folder: &Path) -> Result<Option<Lock>, Failure> {
    let path = folder.join(LOCK_FILE);
    let read_only = |error: io::Error| Failure::new(FailureKind::ProjectReadOnly).because(error).at(folder.display());
    let mut file =
        OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).map_err(read_only)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            // A holder that cannot be read is still a holder.
            file.take(200).read_to_string(&mut holder).ok();
            return Err(Failure::new(FailureKind::ProjectLocked).with("holder", holder.trim()).at(folder.display()));
        }
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => return Ok(None),
        Err(TryLockError::Error(error)) => return Err(read_only(error)),
    }
    let holder = holder_line();
    // The line is for people; the lock stands without it.
    file.set_len(0).and_then(|()| file.write_all(holder.as_bytes())).ok();
    Ok(Some(Lock { _file: file }))
}

/// Who holds a lock: process and computer.
fn holder_line() -> String {
    let computer = fs::read_to_string("/proc/sys/kernel/hostname")
        .ok()
        .or_else(|| std::env::var("COMPUTERNAME").ok())
        .or_else(|| std::env::var("HOSTNAME").ok())
        .unwrap_or_default();
    format!("{} · pid {}", computer.trim(), std::process::id())
}

/// Saves the plan atomically: whatever happens, the last good `project.ron` or the new one stands.
///
/// # Errors
/// `SaveFailed`.
pub fn save_plan(folder: &Path, plan: &Plan, revision: u64) -> Result<(), Failure> {
    write_plan(&folder.join(PLAN_FILE), plan, revision, &known_records(folder))
}

/// Writes into the plan file which records are there now, and changes nothing else in it: neither its revision nor how
/// somebody wrote it. For records that come without a save.
///
/// # Errors
/// `SaveFailed`; `ProjectLocked` when a window holds the project, which lists them itself at its next save.
pub fn list_records(folder: &Path) -> Result<(), Failure> {
    let path = folder.join(PLAN_FILE);
    let records = known_records(folder);
    if records == listed_records(&path) {
        return Ok(());
    }
    let failed =
        |cause: &dyn ToString| Failure::new(FailureKind::SaveFailed).because(cause.to_string()).at(path.display());
    let _lock = lock(folder)?;
    let bytes = read_capped(&path, PLAN_CAP).map_err(|error| failed(&error))?;
    let text = String::from_utf8(bytes).map_err(|error| failed(&error))?;
    let before = parse_plan(&text)?;
    // A file in which the list could not be put without changing what it says is left as it is.
    match with_records(&text, &records) {
        Some(listed) if parse_plan(&listed).ok() == Some(before) => {
            write_atomic(&path, listed.as_bytes()).map_err(|error| failed(&error))
        }
        _ => Ok(()),
    }
}

/// The text of a plan file with this list of records in place of its own, or at its end.
fn with_records(text: &str, records: &[EvidenceId]) -> Option<String> {
    let lines: String = records.iter().map(|id| format!("        \"{}\",\n", id.0)).collect();
    let list = format!("records: [\n{lines}    ]");
    let had = ron::from_str::<RecordsOnly>(text).ok()?.records;
    let listed = if let (Some(start), false) = (text.rfind("records: ["), had.is_empty()) {
        let (before, from) = text.split_at(start);
        let (_, after) = from.split_once(']')?;
        format!("{before}{list}{after}")
    } else {
        let (body, after) = text.rsplit_once(')')?;
        let body = body.trim_end();
        let comma = if body.ends_with(',') { "" } else { "," };
        format!("{body}{comma}\n    {list},\n){after}")
    };
    (ron::from_str::<RecordsOnly>(&listed).ok()?.records == records).then_some(listed)
}

/// Puts the unsaved plan beside the project, atomically.
///
/// # Errors
/// `SaveFailed`.
pub fn autosave_plan(folder: &Path, plan: &Plan, revision: u64) -> Result<(), Failure> {
    write_plan(&folder.join(AUTOSAVE_FILE), plan, revision, &[])
}

fn write_plan(path: &Path, plan: &Plan, revision: u64, records: &[EvidenceId]) -> Result<(), Failure> {
    let failed =
        |cause: &dyn ToString| Failure::new(FailureKind::SaveFailed).because(cause.to_string()).at(path.display());
    let text = plan_text(plan, revision, records).map_err(|error| failed(&error))?;
    write_atomic(path, text.as_bytes()).map_err(|error| failed(&error))
}

/// Forgets the unsaved plan beside the project. That there is none is fine.
///
/// # Errors
/// The operating system's.
pub fn drop_autosave(folder: &Path) -> io::Result<()> {
    remove_if_there(&folder.join(AUTOSAVE_FILE))
}

/// Writes a record under its id, once. A record that is there already is left alone.
///
/// # Errors
/// `EvidenceUnwritable`.
pub fn keep(folder: &Path, sealed: &Sealed) -> Result<(), Failure> {
    let folder = folder.join(EVIDENCE_FOLDER);
    let path = folder.join(format!("{}.ron", sealed.id.0));
    keep_at(&folder, &path, &sealed.bytes)
        .map_err(|error| Failure::new(FailureKind::EvidenceUnwritable).because(error).at(path.display()))
}

fn keep_at(folder: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    if path.exists() {
        return Ok(());
    }
    fs::create_dir_all(folder)?;
    // Written aside first: a record cut short by a full disk would otherwise stand under an id it does not match.
    let aside = folder.join(format!(".{}.new", path.file_stem().unwrap_or_default().to_string_lossy()));
    remove_if_there(&aside)?;
    let written = write_new(&aside, bytes).and_then(|()| {
        // A link refuses where a rename would replace: what stands under an id is never written again.
        fs::hard_link(&aside, path).or_else(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Ok(()),
            // File systems without links.
            _ => write_new(path, bytes),
        })
    });
    fs::remove_file(&aside).ok();
    written?;
    sync_folder(folder)
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Replaces a file so that the old bytes or the new ones stand, never a part: written aside in the same folder, synced,
/// renamed, and the folder synced.
///
/// # Errors
/// The operating system's; the old file then stands as it was.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    fs::create_dir_all(folder)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let aside = folder.join(format!(".{}.{}.new", name.trim_start_matches('.'), std::process::id()));
    remove_if_there(&aside)?;
    let written = write_new(&aside, bytes).and_then(|()| fs::rename(&aside, path));
    if written.is_err() {
        fs::remove_file(&aside).ok();
    }
    written?;
    sync_folder(folder)
}

/// Makes a new name in a folder survive a power cut.
#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Folders cannot be synced here; the rename itself is journalled by the file system.
#[cfg(not(unix))]
fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}

/// The head of a file, `cap` bytes at most, and the length of all of it.
///
/// # Errors
/// As the operating system says.
pub fn read_head(path: &Path, cap: u64) -> io::Result<(Vec<u8>, u64)> {
    let file = File::open(path)?;
    let len = file.metadata()?.len();
    let mut bytes = Vec::new();
    file.take(cap).read_to_end(&mut bytes)?;
    Ok((bytes, len))
}

/// Reads a file up to a cap.
///
/// # Errors
/// The operating system's, and `FileTooLarge` beyond the cap.
pub fn read_capped(path: &Path, cap: u64) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let mut bytes = Vec::new();
    file.take(cap.saturating_add(1)).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > cap {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("more than {} MiB", cap >> 20)));
    }
    Ok(bytes)
}
