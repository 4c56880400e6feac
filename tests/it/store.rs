//! Projects on disk: there and back, and every way in which a folder can be wrong.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use leasebench::domain::evidence::{Kind, PROGRAM, Record, Sealed, Source, VERSION, Vantage};
use leasebench::domain::failure::FailureKind;
use leasebench::domain::text::{Language, Text};
use leasebench::project::plan::Plan;
use leasebench::project::store;

/// A record that says this.
pub fn record(note: &str) -> Sealed {
    Sealed::seal(Record {
        version: VERSION,
        program: PROGRAM.to_owned(),
        kind: Kind::Real,
        source: Source::Manual { by: "test".to_owned(), note: note.to_owned(), criterion: None, holds: true },
        candidate: None,
        host: None,
        taken_at: chrono::DateTime::parse_from_rfc3339("2026-12-03T14:18:00+08:00").unwrap(),
        vantage: Vantage::ThisComputer,
        brief_digest: None,
        captured: None,
        facts: Vec::new(),
        findings: Vec::new(),
        absent: None,
        load: None,
        supersedes: None,
        origin_note: String::new(),
    })
    .unwrap()
}

fn plan(name: &str) -> Plan {
    Plan { name: name.to_owned(), ..Plan::default() }
}

/// A folder with a saved project of two records.
fn saved() -> (tempfile::TempDir, PathBuf, Vec<Sealed>) {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("p");
    fs::create_dir(&folder).unwrap();
    let records = vec![record("one"), record("two")];
    for sealed in &records {
        store::keep(&folder, sealed).unwrap();
    }
    store::save_plan(&folder, &plan("saved"), 7).unwrap();
    (temp, folder, records)
}

/// Names in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn what_is_saved_is_what_is_read() {
    let (_temp, folder, mut records) = saved();
    let opened = store::read(&folder).unwrap();
    assert_eq!((opened.plan, opened.revision), (plan("saved"), 7));
    assert!(opened.altered.is_empty() && opened.recovered.is_none());
    records.sort_by(|a, b| a.id.cmp(&b.id));
    let read: Vec<_> = opened.evidence.iter().map(|sealed| (&sealed.id, &sealed.bytes, &sealed.record)).collect();
    let want: Vec<_> = records.iter().map(|sealed| (&sealed.id, &sealed.bytes, &sealed.record)).collect();
    assert_eq!(read, want);
    // Nothing is left beside what was written.
    assert_eq!(names(&folder), ["evidence", "project.ron"]);
    assert_eq!(names(&folder.join("evidence")).len(), 2);
}

#[test]
fn altered_records_are_listed_and_never_counted() {
    let (_temp, folder, records) = saved();
    let path = folder.join("evidence").join(format!("{}.ron", records[0].id.0));
    let text = fs::read_to_string(&path).unwrap().replace("one", "ome");
    fs::write(&path, &text).unwrap();
    fs::write(folder.join("evidence/notes.ron"), "()").unwrap();
    fs::write(folder.join("evidence/readme.txt"), "no record").unwrap();
    let opened = store::read(&folder).unwrap();
    assert_eq!(opened.evidence.iter().map(|sealed| &sealed.id).collect::<Vec<_>>(), [&records[1].id]);
    let altered: Vec<_> = opened.altered.iter().map(|altered| (altered.file.as_str(), altered.failure.kind)).collect();
    assert_eq!(altered, [(path.file_name().unwrap().to_str().unwrap(), FailureKind::EvidenceAltered)]);
    assert_eq!(opened.strays, ["notes.ron", "readme.txt"], "somebody's own files are no records");
}

#[test]
fn a_record_is_never_written_twice() {
    let (_temp, folder, records) = saved();
    let path = folder.join("evidence").join(format!("{}.ron", records[0].id.0));
    fs::write(&path, "somebody's own").unwrap();
    store::keep(&folder, &records[0]).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "somebody's own");
}

/// The failure of reading a `project.ron` with this text, in words.
#[track_caller]
fn refused(text: &str) -> (FailureKind, String) {
    let temp = tempfile::tempdir().unwrap();
    fs::write(temp.path().join("project.ron"), text).unwrap();
    let failure = store::read(temp.path()).unwrap_err();
    let words = Text::of(Language::En).failure(&failure);
    assert_eq!(words.at.as_deref(), Some(temp.path().join("project.ron").to_str().unwrap()));
    (failure.kind, words.what)
}

#[test]
fn wrong_ron_is_shown_with_line_column_and_what_was_expected() {
    for (text, kind, words) in [
        (
            "(version: 1, plan: (name: \"x\"",
            FailureKind::ProjectMalformed,
            "Could not read the project: line 1, column 28: Expected comma",
        ),
        (
            "(version: 1, plan: (\n  name: 3,\n))",
            FailureKind::ProjectMalformed,
            "Could not read the project: line 2, column 8: Expected string",
        ),
        (
            "(version: 1, plan: (\n  nam: \"x\",\n))",
            FailureKind::ProjectMalformed,
            "Could not read the project: line 2, column 3: Unexpected field named `nam` in `Plan`, expected one of `name`, \
             `demonstration`, `brief`, `candidates`, `hosts`, `criteria`, `load`, `memory`, `cost`, `decision`, or `notes` instead",
        ),
        (
            "(plan: ())",
            FailureKind::ProjectMalformed,
            "Could not read the project: line 1, column 10: Unexpected missing field named `version` in `Project`",
        ),
        (
            "(version: 99, plan: (later: 1), more: [2])",
            FailureKind::ProjectNewer,
            "Could not open the project: it was written in format 99, this program knows up to 1",
        ),
        (
            "(version: 1, plan: (brief: (\n budget_month: Some(1200.5),\n)))",
            FailureKind::ProjectMalformed,
            "Could not read the project: line 2, column 21: Expected a quoted amount with its currency, as \"2.49 USD\" \
             but found the floating point number `1200.5` instead",
        ),
    ] {
        let (found, what) = refused(text);
        assert_eq!(found, kind, "{text}: {what}");
        assert_eq!(what, words, "{text}");
    }
}

#[test]
fn a_folder_that_is_no_project_or_cannot_be_read_is_refused() {
    let temp = tempfile::tempdir().unwrap();
    assert_eq!(store::read(temp.path()).unwrap_err().kind, FailureKind::NotAProject);
    assert_eq!(store::read(&temp.path().join("none")).unwrap_err().kind, FailureKind::ProjectUnreadable);
    fs::write(temp.path().join("project.ron"), [0xff, 0xfe]).unwrap();
    assert_eq!(store::read(temp.path()).unwrap_err().kind, FailureKind::ProjectNotUtf8);
    let huge = fs::File::create(temp.path().join("project.ron")).unwrap();
    huge.set_len(17 << 20).unwrap();
    let failure = store::read(temp.path()).unwrap_err();
    assert_eq!(Text::of(Language::En).failure(&failure).what, "Could not read the project: more than 16 MiB");
}

#[test]
fn an_unsaved_plan_is_offered_only_when_it_differs() {
    let (_temp, folder, _records) = saved();
    store::autosave_plan(&folder, &plan("saved"), 8).unwrap();
    assert!(store::read(&folder).unwrap().recovered.is_none());
    store::autosave_plan(&folder, &plan("edited"), 9).unwrap();
    assert_eq!(store::read(&folder).unwrap().recovered, Some(plan("edited")));
    // A damaged one is no reason not to open the project.
    fs::write(folder.join(store::AUTOSAVE_FILE), "(version: 1, pl").unwrap();
    assert!(store::read(&folder).unwrap().recovered.is_none());
}

#[test]
fn a_second_holder_is_refused_and_told_who_holds_it() {
    let (_temp, folder, _records) = saved();
    let lock = store::lock(&folder).unwrap();
    assert!(lock.is_some());
    let failure = store::lock(&folder).unwrap_err();
    assert_eq!(failure.kind, FailureKind::ProjectLocked);
    let what = Text::of(Language::En).failure(&failure).what;
    assert!(what.contains(&format!("pid {}", std::process::id())), "{what}");
    drop(lock);
    assert!(store::lock(&folder).is_ok());
}

/// Runs this test binary's own test `name` in a child under a file size limit, in which every larger write fails as on
/// a full disk.
#[cfg(unix)]
fn under_a_full_disk(name: &str, folder: &Path) {
    let output = Command::new("sh")
        // The signal that comes with the limit is ignored, so that the write itself fails (EFBIG).
        .args(["-c", "trap '' XFSZ; ulimit -f 1; exec \"$0\" --exact \"$1\" --ignored --nocapture"])
        .arg(std::env::current_exe().unwrap())
        .arg(name)
        .env("LEASEBENCH_TEST_FOLDER", folder)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

#[cfg(unix)]
#[test]
fn a_full_disk_keeps_the_last_good_project() {
    let (_temp, folder, _records) = saved();
    let before = fs::read(folder.join("project.ron")).unwrap();
    under_a_full_disk("store::child_saves_on_a_full_disk", &folder);
    assert_eq!(fs::read(folder.join("project.ron")).unwrap(), before);
    assert_eq!(names(&folder), ["evidence", "project.ron"]);
    assert_eq!(names(&folder.join("evidence")).len(), 2);
    assert_eq!(store::read(&folder).unwrap().evidence.len(), 2);
}

/// Runs as a child of [`a_full_disk_keeps_the_last_good_project`].
#[cfg(unix)]
#[test]
#[ignore = "the child half of another test"]
fn child_saves_on_a_full_disk() {
    let folder = PathBuf::from(std::env::var_os("LEASEBENCH_TEST_FOLDER").unwrap());
    let big = "x".repeat(100_000);
    let failure = store::save_plan(&folder, &plan(&big), 8).unwrap_err();
    assert_eq!(failure.kind, FailureKind::SaveFailed);
    assert!(failure.at.unwrap().ends_with("project.ron"));
    let failure = store::autosave_plan(&folder, &plan(&big), 8).unwrap_err();
    assert_eq!(failure.kind, FailureKind::SaveFailed);
    let failure = store::keep(&folder, &record(&big)).unwrap_err();
    assert_eq!(failure.kind, FailureKind::EvidenceUnwritable);
}
