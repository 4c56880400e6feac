//! The command line as scripts meet it: exit status, standard output, standard error.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use super::store::record;
use leasebench::project::store;

/// The program with its own home, no display, and these arguments.
pub fn leasebench(home: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_leasebench"));
    command
        .args(args)
        .env("LEASEBENCH_HOME", home)
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY")
        .env_remove("WAYLAND_SOCKET");
    command
}

/// Status, standard output, standard error.
pub fn told(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

/// A project with two criteria and a candidate of which nothing was seen; a waiver for one of them.
const PROJECT: &str = r#"(version: 1, revision: 3, plan: (
    name: "p",
    candidates: [(id: "c1", series: 0, name: "A"), (id: "c2", series: 1, name: "B")],
    criteria: [
        (id: "k1", stage: Fault, metric: attested, comparison: Equals, threshold: Number(1.0), words: "restore"),
        (id: "k2", stage: Load, metric: valid_runs, comparison: AtLeast, threshold: Number(1.0), waivers: [
            (candidate: "c1", by: "M", reason: "later", until: "9999-12-31", given_at: "2026-12-01T10:00:00+08:00"),
        ]),
    ],
))"#;

fn project(temp: &Path) -> String {
    let folder = temp.join("p");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("project.ron"), PROJECT).unwrap();
    folder.to_str().unwrap().to_owned()
}

#[test]
fn without_a_display_it_says_so_and_names_what_can_be_done() {
    let temp = tempfile::tempdir().unwrap();
    let (code, out, err) = told(&leasebench(temp.path(), &[]).output().unwrap());
    assert_eq!((code, out.as_str()), (2, ""));
    assert_eq!(
        err,
        "Could not open the window: there is no display\nhint: without one, use leasebench check, verify, report, probe, \
         parse, load or practice-server; leasebench --help lists them\n"
    );
}

#[test]
fn wrong_use_leaves_with_2() {
    let temp = tempfile::tempdir().unwrap();
    let project = project(temp.path());
    for args in [
        &["--screen", "nowhere"][..],
        &["--lang", "fr"],
        &["check"],
        &["verify", "/nowhere/at/all"],
        &["check", &project, "--candidate", "Z"],
        &["frobnicate", "x"],
    ] {
        let (code, out, err) = told(&leasebench(temp.path(), args).output().unwrap());
        assert_eq!((code, out.as_str()), (2, ""), "{args:?}");
        assert!(!err.is_empty(), "{args:?}");
    }
}

#[test]
fn an_unreadable_project_is_told_in_the_chosen_language_with_its_place() {
    let temp = tempfile::tempdir().unwrap();
    fs::write(temp.path().join("project.ron"), "(version: 1,\n plan: (name: 3))").unwrap();
    let path = temp.path().to_str().unwrap();
    let (code, _, err) = told(&leasebench(temp.path(), &["verify", path, "--lang", "zh-Hans"]).output().unwrap());
    assert_eq!(code, 2);
    assert!(err.starts_with("无法读取项目：第 2 行第 14 列：Expected string\n"), "{err}");
    assert!(err.contains(&format!("at: {path}/project.ron\n  |  plan: (name: 3))\n")), "{err}");
}

#[test]
fn verify_names_what_was_altered() {
    let temp = tempfile::tempdir().unwrap();
    let project = project(temp.path());
    let folder = Path::new(&project);
    let (good, bad) = (record("good"), record("bad"));
    for sealed in [&good, &bad] {
        store::keep(folder, sealed).unwrap();
    }
    let (code, out, _) = told(&leasebench(temp.path(), &["verify", &project]).output().unwrap());
    assert_eq!((code, out.as_str()), (0, "2 records match their id, 0 altered, 0 missing\n"));

    let path = folder.join("evidence").join(format!("{}.ron", bad.id.0));
    fs::write(&path, fs::read_to_string(&path).unwrap().replace("bad", "fit")).unwrap();
    let (code, out, _) = told(&leasebench(temp.path(), &["verify", &project]).output().unwrap());
    assert_eq!(code, 1);
    assert!(out.starts_with(&format!("{}.ron  The evidence record is not what its name says", bad.id.0)), "{out}");
    assert!(out.ends_with("1 records match their id, 1 altered, 0 missing\n"), "{out}");
    let (code, out, _) = told(&leasebench(temp.path(), &["verify", &project, "--json"]).output().unwrap());
    let shape: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(code, 1);
    assert_eq!(shape["records"], 1);
    assert_eq!(shape["altered"][0]["file"], format!("{}.ron", bad.id.0));
    assert_eq!(shape["ok"], false);
}

/// Verdicts of the project as scripts read them: exit status, who is judged, accepted, and each criterion's verdict.
fn checked(home: &Path, args: &[&str]) -> (i32, serde_json::Value, serde_json::Value, Vec<String>) {
    let (code, out, err) = told(&leasebench(home, args).output().unwrap());
    let shape: serde_json::Value = serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}{err}"));
    let verdicts = shape["candidates"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|candidate| candidate["criteria"].as_array().unwrap())
        .map(|criterion| {
            let waived = if criterion["waiver"].is_null() { "" } else { " waived" };
            format!("{} {}{waived}", criterion["id"].as_str().unwrap(), criterion["verdict"].as_str().unwrap())
        })
        .collect();
    (code, shape["judged"].clone(), shape["accepted"].clone(), verdicts)
}

#[test]
fn check_passes_only_when_every_criterion_passes_or_is_waived() {
    use leasebench::app::App;
    use leasebench::app::command::Command;
    use leasebench::domain::ids::{CandidateId, CriterionId};
    use leasebench::engine::files::Places;

    let temp = tempfile::tempdir().unwrap();
    let project = project(temp.path());
    let home = temp.path();
    // Two candidates, nobody named, nothing decided.
    let (code, judged, accepted, verdicts) = checked(home, &["check", &project, "--json"]);
    assert_eq!((code, judged, accepted), (1, serde_json::Value::Null, false.into()));
    assert_eq!(verdicts, ["k1 not_tested", "k2 not_tested waived", "k1 not_tested", "k2 not_tested"]);
    let named = ["check", project.as_str(), "--json", "--candidate", "A"];
    let (code, judged, accepted, verdicts) = checked(home, &named);
    assert_eq!((code, judged, accepted), (1, "c1".into(), false.into()));
    assert_eq!(verdicts, ["k1 not_tested", "k2 not_tested waived"]);

    // A person attests what is open.
    let mut app = App::with_places(Places::under(home), || {}).unwrap();
    app.command(Command::Open(project.clone().into()));
    while app.busy() {
        app.wait(std::time::Duration::from_millis(100));
    }
    app.command(Command::Attest {
        criterion: CriterionId("k1".into()),
        candidate: CandidateId("c1".into()),
        by: "M".into(),
        note: "restored in 4 minutes".into(),
        holds: true,
    });
    drop(app);
    let (code, _, accepted, verdicts) = checked(home, &named);
    assert_eq!((code, accepted), (0, true.into()));
    assert_eq!(verdicts, ["k1 pass", "k2 not_tested waived"]);
    let (code, _, _, verdicts) = checked(home, &["check", &project, "--json", "--candidate", "c2"]);
    assert_eq!((code, verdicts), (1, vec!["k1 not_tested".to_owned(), "k2 not_tested".to_owned()]));

    let (code, out, _) = told(&leasebench(home, &["check", &project, "--candidate", "A"]).output().unwrap());
    assert_eq!(code, 0);
    assert!(out.starts_with("A  Waived\nPass "), "{out}");
    assert!(out.contains("waived by M until 9999-12-31: later"), "{out}");
}
