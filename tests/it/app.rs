//! The app through its two doors, without a window.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use leasebench::app::command::{Command, Layer, Screen};
use leasebench::app::state::NoticeWhat;
use leasebench::app::{App, Begin};
use leasebench::domain::candidate::Candidate;
use leasebench::domain::failure::FailureKind;
use leasebench::domain::ids::{CandidateId, CriterionId};
use leasebench::engine::clock::Now;
use leasebench::engine::files::Places;
use leasebench::project::edit::{Edit, EditStep};
use leasebench::project::store;

/// An app with its files in a folder of its own.
struct Bench {
    temp: tempfile::TempDir,
    app: App,
}

impl Bench {
    fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let app = app_in(temp.path());
        Self { temp, app }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.temp.path().join(name)
    }

    /// Gives a command and waits until nothing is under way.
    fn command(&mut self, command: Command) {
        self.app.command(command);
        settle(&mut self.app);
    }

    /// The program ends and begins again.
    fn restart(&mut self) {
        let places = self.temp.path().to_path_buf();
        let old = std::mem::replace(&mut self.app, app_in(&places.join("elsewhere")));
        drop(old);
        self.app = app_in(&places);
    }

    fn name(&self) -> &str {
        &self.app.state().project.as_ref().unwrap().plan.name
    }

    /// Kinds of the failures on show.
    fn failures(&self) -> Vec<FailureKind> {
        let kind = |what: &NoticeWhat| match what {
            NoticeWhat::Failed(failure) => Some(failure.kind),
            _ => None,
        };
        self.app.state().notices.iter().filter_map(|notice| kind(&notice.what)).collect()
    }

    /// Lets the time go on that an autosave waits for.
    fn pause(&mut self) {
        let now = leasebench::engine::clock::now();
        self.app.tick(Now { wall: now.wall, mono: now.mono + Duration::from_secs(3) });
        settle(&mut self.app);
    }
}

fn app_in(folder: &Path) -> App {
    let mut app = App::with_places(Places::under(folder), || {}).unwrap();
    settle(&mut app);
    app
}

fn settle(app: &mut App) {
    let until = Instant::now() + Duration::from_secs(60);
    while app.busy() {
        assert!(Instant::now() < until, "the jobs do not end");
        app.wait(Duration::from_millis(200));
    }
}

fn rename(name: &str) -> Command {
    Command::Edit(Edit::Rename(name.to_owned()))
}

fn attest(note: &str) -> Command {
    Command::Attest {
        criterion: CriterionId("k1".into()),
        candidate: CandidateId("c1".into()),
        by: "A".into(),
        note: note.into(),
        holds: true,
    }
}

#[test]
fn edit_undo_save_reopen() {
    let mut bench = Bench::new();
    bench.command(Command::New);
    bench.command(rename("first"));
    let candidate = Candidate {
        id: CandidateId("c1".into()),
        series: 0,
        name: "A".into(),
        short: String::new(),
        promised: Default::default(),
        billing: Vec::new(),
        term: Default::default(),
        source: Default::default(),
    };
    bench.command(Command::Edit(Edit::PutCandidate(Box::new(candidate))));
    {
        let project = bench.app.state().project.as_ref().unwrap();
        assert_eq!((project.revision, project.history.undo_step()), (2, Some(EditStep::AddCandidate)));
    }
    bench.command(Command::Undo);
    assert!(bench.app.state().project.as_ref().unwrap().plan.candidates.is_empty());
    bench.command(Command::Redo);
    assert_eq!(bench.app.state().project.as_ref().unwrap().plan.candidates.len(), 1);

    // Saving asks for a folder first.
    bench.command(Command::Save);
    assert_eq!(bench.app.state().view.layers, [Layer::SaveAs]);
    let folder = bench.path("project");
    bench.command(Command::SaveAs(folder.clone()));
    let state = bench.app.state();
    assert!(state.view.layers.is_empty());
    let project = state.project.as_ref().unwrap();
    assert!(!project.unsaved());
    let plan = project.plan.clone();
    assert_eq!(bench.failures(), []);

    bench.restart();
    assert_eq!(bench.app.state().recent, [std::fs::canonicalize(&folder).unwrap()]);
    bench.command(Command::Open(folder.join("project.ron")));
    let project = bench.app.state().project.as_ref().unwrap();
    assert_eq!((&project.plan, project.revision, project.unsaved()), (&plan, 4, false));
}

#[test]
fn an_edit_that_changes_nothing_is_none() {
    let mut bench = Bench::new();
    bench.command(Command::New);
    bench.command(rename("x"));
    bench.command(rename("x"));
    assert_eq!(bench.app.state().project.as_ref().unwrap().revision, 1);
}

#[test]
fn a_record_is_on_disk_before_anybody_saves() {
    let mut bench = Bench::new();
    bench.command(Command::New);
    let folder = bench.path("project");
    bench.command(Command::SaveAs(folder.clone()));
    bench.command(attest("seen"));
    let project = bench.app.state().project.as_ref().unwrap();
    assert_eq!((project.evidence.len(), project.unsaved()), (1, false));
    let id = project.evidence.keys().next().unwrap().clone();
    let bytes = std::fs::read(folder.join("evidence").join(format!("{}.ron", id.0))).unwrap();
    assert_eq!(&*project.evidence[&id].bytes, &bytes);

    // A copy takes the records along, byte for byte.
    let copy = bench.path("copy");
    bench.command(Command::SaveAs(copy.clone()));
    assert_eq!(std::fs::read(copy.join("evidence").join(format!("{}.ron", id.0))).unwrap(), bytes);
    assert_eq!(bench.app.state().project.as_ref().unwrap().folder, Some(std::fs::canonicalize(&copy).unwrap()));
}

#[test]
fn a_crash_loses_nothing_of_a_saved_project() {
    let mut bench = Bench::new();
    bench.command(Command::New);
    let folder = bench.path("project");
    bench.command(Command::SaveAs(folder.clone()));
    bench.command(rename("edited"));
    assert!(!folder.join(store::AUTOSAVE_FILE).exists());
    bench.pause();
    assert!(folder.join(store::AUTOSAVE_FILE).exists());

    // The folder as the crash left it, opened by the next program.
    let left = bench.path("left");
    copy_folder(&folder, &left);
    let mut next = Bench::new();
    next.command(Command::Open(left.clone()));
    assert_eq!(next.name(), "");
    // An edit before the answer does not overwrite what was found.
    next.command(rename("hasty"));
    next.pause();
    assert_eq!(store::read_autosave(&left).unwrap().0.name, "edited");
    next.command(Command::TakeRecovered);
    assert_eq!(next.name(), "edited");
    next.command(Command::Undo);
    assert_eq!(next.name(), "hasty");
    next.command(Command::Redo);
    next.command(Command::Save);
    assert!(!left.join(store::AUTOSAVE_FILE).exists());
    assert_eq!(store::read(&left).unwrap().plan.name, "edited");
}

#[test]
fn a_crash_loses_nothing_of_a_project_without_a_folder() {
    let mut bench = Bench::new();
    bench.command(Command::New);
    bench.command(rename("nowhere yet"));
    bench.command(attest("seen"));
    bench.pause();
    // Its own window still runs: nobody else is offered it.
    assert!(app_in(bench.temp.path()).state().unsaved_found.is_empty());
    bench.restart();
    let found = bench.app.state().unsaved_found.clone();
    assert_eq!(found.len(), 1);
    bench.command(Command::Open(found[0].clone()));
    assert_eq!(bench.name(), "nowhere yet");
    let project = bench.app.state().project.as_ref().unwrap();
    assert_eq!((project.evidence.len(), project.folder.as_ref(), project.unsaved()), (1, None, true));
    // Once it has a folder, the scratch copy goes.
    let folder = bench.path("project");
    bench.command(Command::SaveAs(folder.clone()));
    assert!(!found[0].exists());
    assert_eq!(store::read(&folder).unwrap().evidence.len(), 1);
    bench.restart();
    assert!(bench.app.state().unsaved_found.is_empty());
}

#[test]
fn closing_asks_and_the_answer_counts() {
    let mut bench = Bench::new();
    bench.command(Command::New);
    let folder = bench.path("project");
    bench.command(Command::SaveAs(folder.clone()));
    bench.command(rename("changed"));
    bench.command(Command::Quit);
    assert_eq!(
        (bench.app.state().view.layers.as_slice(), bench.app.state().quit),
        ([Layer::ConfirmQuit].as_slice(), false)
    );
    bench.command(Command::CloseTop);
    assert_eq!((bench.app.state().view.layers.len(), bench.app.state().quit), (0, false));
    bench.command(Command::Quit);
    bench.command(Command::SaveAndGo);
    assert!(bench.app.state().quit);
    assert_eq!(store::read(&folder).unwrap().plan.name, "changed");

    let mut other = Bench::new();
    other.command(Command::New);
    let folder = other.path("project");
    other.command(Command::SaveAs(folder.clone()));
    other.command(rename("thrown away"));
    other.pause();
    other.command(Command::Quit);
    other.command(Command::QuitAnyway);
    assert!(other.app.state().quit);
    assert!(store::read(&folder).unwrap().recovered.is_none());
    assert_eq!(store::read(&folder).unwrap().plan.name, "");
}

#[test]
fn opening_another_project_asks_too() {
    let mut bench = Bench::new();
    bench.command(Command::New);
    let folder = bench.path("project");
    bench.command(Command::SaveAs(folder.clone()));
    bench.command(rename("changed"));
    bench.command(Command::New);
    assert_eq!((bench.name(), bench.app.state().view.layers.as_slice()), ("changed", [Layer::ConfirmQuit].as_slice()));
    bench.command(Command::SaveAndGo);
    assert_eq!((bench.name(), bench.app.state().quit), ("", false));
    assert_eq!(store::read(&folder).unwrap().plan.name, "changed");
}

#[test]
fn a_second_window_looks_and_does_not_write() {
    let mut first = Bench::new();
    first.command(Command::New);
    let folder = first.path("project");
    first.command(Command::SaveAs(folder.clone()));

    let mut second = Bench::new();
    second.command(Command::Open(folder.clone()));
    let read_only = second.app.state().project.as_ref().unwrap().read_only.clone().unwrap();
    assert_eq!(read_only.kind, FailureKind::ProjectLocked);
    second.command(rename("from the second window"));
    second.command(attest("from the second window"));
    second.pause();
    second.command(Command::Save);
    assert_eq!(
        (second.failures().as_slice(), second.app.state().view.layers.as_slice()),
        ([FailureKind::ProjectLocked].as_slice(), [Layer::SaveAs].as_slice())
    );
    let opened = store::read(&folder).unwrap();
    assert_eq!((opened.plan.name.as_str(), opened.evidence.len(), opened.recovered.is_some()), ("", 0, false));
    // It can be kept elsewhere.
    let copy = second.path("copy");
    second.command(Command::SaveAs(copy.clone()));
    assert_eq!(store::read(&copy).unwrap().evidence.len(), 1);
    assert!(second.app.state().project.as_ref().unwrap().read_only.is_none());
    // Once the first window has gone, the folder is free.
    drop(first.app);
    second.command(Command::Open(folder));
    assert!(second.app.state().project.as_ref().unwrap().read_only.is_none());
}

#[test]
fn another_project_is_never_overwritten() {
    let mut bench = Bench::new();
    bench.command(Command::New);
    let folder = bench.path("project");
    bench.command(Command::SaveAs(folder.clone()));
    bench.command(Command::New);
    bench.command(rename("other"));
    bench.command(Command::SaveAs(folder.clone()));
    assert_eq!(bench.failures(), [FailureKind::ProjectExists]);
    assert_eq!(store::read(&folder).unwrap().plan.name, "");
}

#[test]
fn what_cannot_be_opened_leaves_what_is_open() {
    let mut bench = Bench::new();
    bench.command(Command::New);
    bench.command(rename("here"));
    let folder = bench.path("project");
    bench.command(Command::SaveAs(folder));
    let wrong = bench.path("wrong");
    std::fs::create_dir(&wrong).unwrap();
    std::fs::write(wrong.join("project.ron"), "(version: 1, plan: (name: 3))").unwrap();
    bench.command(Command::Open(wrong.clone()));
    assert_eq!((bench.failures().as_slice(), bench.name()), ([FailureKind::ProjectMalformed].as_slice(), "here"));
    bench.command(Command::Open(bench.path("nothing")));
    assert_eq!(bench.failures().last(), Some(&FailureKind::ProjectUnreadable));
    assert_eq!(bench.name(), "here");
    // A look into a folder that is no project leaves nothing in it.
    let empty = bench.path("empty");
    std::fs::create_dir(&empty).unwrap();
    bench.command(Command::Open(empty.clone()));
    assert_eq!(bench.failures().last(), Some(&FailureKind::NotAProject));
    assert_eq!(std::fs::read_dir(&empty).unwrap().count(), 0);
}

#[test]
fn a_language_of_one_run_is_not_kept() {
    use leasebench::domain::text::Language;

    let mut bench = Bench::new();
    let folder = bench.path("project");
    bench.command(Command::New);
    bench.command(Command::SaveAs(folder.clone()));
    bench.restart();
    bench.app.begin(Begin {
        project: Some(folder),
        screen: Some(Screen::Cost),
        language: Some(Language::ZhHans),
        theme: None,
    });
    settle(&mut bench.app);
    assert_eq!((bench.app.state().settings.language, bench.app.state().screen), (Language::ZhHans, Screen::Cost));
    assert!(bench.app.state().project.is_some());
    bench.restart();
    assert_eq!(bench.app.state().settings.language, Language::En);
    bench.command(Command::Language(Language::ZhHans));
    bench.restart();
    assert_eq!(bench.app.state().settings.language, Language::ZhHans);
}

fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy_folder(&path, &target);
        } else {
            std::fs::copy(&path, &target).unwrap();
        }
    }
}

/// Waits until `until` says so; the jobs go on.
#[track_caller]
fn wait_until(app: &mut App, until: impl Fn(&App) -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !until(app) {
        assert!(Instant::now() < deadline, "it does not come");
        app.wait(Duration::from_millis(50));
        app.poll(256);
    }
}

fn samples(app: &App) -> u64 {
    app.state().jobs.first().map_or(0, |job| job.progress.kept)
}

#[test]
fn a_practice_run_that_is_stopped_keeps_what_it_measured() {
    use leasebench::domain::evidence::Kind;
    use leasebench::domain::load::RunEnd;
    use leasebench::engine::event::Outcome;

    let mut bench = Bench::new();
    bench.command(Command::New);
    let folder = bench.path("project");
    bench.command(Command::SaveAs(folder.clone()));
    bench.app.command(Command::TryPractice);
    assert_eq!(bench.app.state().screen, Screen::Load);
    // A second one is refused while the first runs.
    bench.app.command(Command::TryPractice);
    assert_eq!(bench.failures(), [FailureKind::AlreadyRunning]);
    wait_until(&mut bench.app, |app| samples(app) > 3);
    bench.app.command(Command::StopNewest);
    settle(&mut bench.app);
    let ended = bench.app.state().last_ended.as_ref().unwrap();
    assert!(matches!(ended.outcome, Outcome::Cancelled) && ended.kept > 3);
    let opened = store::read(&folder).unwrap();
    let record = &opened.evidence[0].record;
    let run = record.load.as_ref().unwrap();
    assert_eq!((opened.evidence.len(), record.kind, run.ended), (1, Kind::Practice, RunEnd::Stopped));
    assert!(run.steps[0].requests.len() > 3);
    // Nothing but the record is left.
    let names: Vec<_> = std::fs::read_dir(folder.join("evidence")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names.len(), 1, "{names:?}");
    assert!(!bench.app.state().project.as_ref().unwrap().unsaved());
    assert_eq!(bench.app.state().derived.runs.len(), 1);
}

#[test]
fn leaving_in_the_middle_of_a_run_keeps_what_it_measured() {
    let mut bench = Bench::new();
    bench.command(Command::New);
    let folder = bench.path("project");
    bench.command(Command::SaveAs(folder.clone()));
    bench.app.command(Command::TryPractice);
    wait_until(&mut bench.app, |app| samples(app) > 0);
    bench.restart();
    let opened = store::read(&folder).unwrap();
    assert_eq!(opened.evidence.len(), 1);
    assert!(!opened.evidence[0].record.load.as_ref().unwrap().steps[0].requests.is_empty());
}

#[test]
fn a_run_that_the_program_did_not_survive_is_sealed_at_the_next_start() {
    use leasebench::domain::load::RunEnd;

    let mut bench = Bench::new();
    bench.command(Command::New);
    let folder = bench.path("project");
    bench.command(Command::SaveAs(folder.clone()));
    bench.app.command(Command::TryPractice);
    wait_until(&mut bench.app, |app| samples(app) > 3);
    // The folder as a crash at this moment would leave it; the part file is synced each second.
    let left = bench.path("left");
    let part = |folder: &Path| {
        std::fs::read_dir(folder.join("evidence"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .find(|path| path.extension().is_some_and(|extension| extension == "part"))
    };
    wait_until(&mut bench.app, |_| std::fs::metadata(part(&folder).unwrap()).unwrap().len() > 3000);
    copy_folder(&folder, &left);
    bench.app.command(Command::StopNewest);

    let mut next = Bench::new();
    next.command(Command::Open(left.clone()));
    assert!(next.app.state().notices.iter().any(|notice| matches!(notice.what, NoticeWhat::Recovered(1))));
    let project = next.app.state().project.as_ref().unwrap();
    let run = project.evidence.values().next().unwrap().record.load.as_ref().unwrap();
    assert_eq!((project.evidence.len(), run.ended), (1, RunEnd::Interrupted));
    assert!(!run.steps[0].requests.is_empty());
    assert_eq!(part(&left), None);
    assert_eq!(store::read(&left).unwrap().evidence.len(), 1);
}

#[cfg(all(unix, feature = "desktop"))]
#[test]
fn a_host_key_that_a_person_accepts_is_pinned_in_the_plan() {
    use leasebench::domain::host::{Auth, Host};
    use leasebench::engine::event::{Question, Reply};

    let sshd = super::sshd::Sshd::start();
    let mut bench = Bench::new();
    bench.app.set_ssh(sshd.setup("", ""));
    bench.command(Command::New);
    let host = Host { candidate: Some(CandidateId("c1".into())), ..super::sshd::host("gpu-a", Auth::Auto) };
    bench.command(Command::Edit(Edit::PutHost(Box::new(host.clone()))));
    let probe = Command::Probe { host: host.id.clone(), probes: vec!["gpu_list"] };
    let asked = |app: &App| app.state().jobs.iter().find_map(|job| Some((job.id, job.question.clone()?)));

    // Refused: nothing is pinned, nothing was asked of the host.
    bench.app.command(probe.clone());
    wait_until(&mut bench.app, |app| asked(app).is_some());
    let (job, _) = asked(&bench.app).unwrap();
    bench.app.command(Command::Answer(job, Reply::Refuse));
    settle(&mut bench.app);
    assert_eq!(bench.failures(), [FailureKind::HostKeyUnknown]);

    bench.app.command(probe.clone());
    wait_until(&mut bench.app, |app| asked(app).is_some());
    let (job, question) = asked(&bench.app).unwrap();
    let Question::HostKey { key, .. } = question else { panic!("{question:?}") };
    bench.app.command(Command::Answer(job, Reply::Accept));
    settle(&mut bench.app);
    let project = bench.app.state().project.as_ref().unwrap();
    assert_eq!(project.plan.host(&host.id).unwrap().pinned_key.as_ref(), Some(&key));
    let record = &project.evidence.values().next().unwrap().record;
    assert_eq!((record.host.as_ref(), record.candidate.as_ref()), (Some(&host.id), host.candidate.as_ref()));
    assert_eq!(project.history.undo_step(), Some(EditStep::Host));

    // From now on nobody is asked.
    bench.command(probe);
    assert_eq!(bench.app.state().project.as_ref().unwrap().evidence.len(), 2);
}
