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
         parse, memory, import-bill, load or practice-server; leasebench --help lists them\n"
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
    assert!(err.starts_with("无法读取项目：第 2 行第 14 列：“Expected string”\n提示："), "{err}");
    assert!(err.contains(&format!("位置：{path}/project.ron\n  |  plan: (name: 3))\n")), "{err}");
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
    assert!(out.ends_with("1 record matches its id, 1 altered, 0 missing\n"), "{out}");
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

/// A leftover of a run that began at 10:00 and wrote down 7.5 s of itself before its program went away.
fn leave_part(folder: &Path) -> std::path::PathBuf {
    let evidence = folder.join("evidence");
    fs::create_dir_all(&evidence).unwrap();
    let path = evidence.join("load-20261203-100000-1.part");
    let header = concat!(
        "Run((program:\"leasebench 0.1.0\",kind:Real,candidate:Some(\"c1\"),host:None,vantage:ThisComputer,",
        "brief_digest:None,began_at:\"2026-12-03T10:00:00+08:00\",plan:(base_url:\"http://127.0.0.1:9\",model:\"m\",",
        "api:Chat,prompts:Synthetic(input_tokens:8,output_tokens:8),arrivals:Concurrency,",
        "stages:[(level:1.0,until:Secs(600.0))],warmup_requests:0,",
        "timeouts:(connect_secs:1.0,first_byte_secs:1.0,gap_secs:1.0,total_secs:1.0),",
        "validity:(lateness_p99_ms:5.0,loop_lag_p99_ms:5.0,cpu_share:0.7),slo:(),acceptance:AnyComplete,seed:1,",
        "api_key_env:None)))\n",
        "Step(level:1.0,start_secs:7.5,asked:None)\n",
    );
    fs::write(&path, header).unwrap();
    path
}

#[test]
fn an_interrupted_run_is_named_by_verbs_that_read_and_sealed_by_those_that_write() {
    let temp = tempfile::tempdir().unwrap();
    let project = project(temp.path());
    let part = leave_part(Path::new(&project));
    let name = part.file_name().unwrap().to_str().unwrap();
    for (args, code) in [(&["check", &project][..], 1), (&["verify", &project], 0), (&["report", &project], 0)] {
        let (found, _, err) = told(&leasebench(temp.path(), args).output().unwrap());
        assert_eq!(found, code, "{args:?}: {err}");
        assert!(err.starts_with(&format!("{name}: an interrupted run that is not sealed yet")), "{args:?}: {err}");
    }
    let (_, out, _) = told(&leasebench(temp.path(), &["verify", &project, "--json"]).output().unwrap());
    let shape: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&shape["unsealed"], &shape["ok"]), (&serde_json::json!([name]), &true.into()));
    assert!(part.exists(), "a verb that reads changes nothing");

    // While its writer holds it, it is no interrupted run.
    let writer = fs::File::open(&part).unwrap();
    writer.try_lock().unwrap();
    let (_, _, err) = told(&leasebench(temp.path(), &["verify", &project]).output().unwrap());
    assert_eq!(err, "");
    drop(writer);

    let args = ["probe", "--host", "local", "--probes", "os", "--project", &project];
    let (code, _, err) = told(&leasebench(temp.path(), &args).output().unwrap());
    assert_eq!(code, 0, "{err}");
    assert!(err.starts_with(&format!("{name}: an interrupted run of 2026-12-03 10:00 +08:00 was sealed")), "{err}");
    assert!(!part.exists());
    let opened = store::read(Path::new(&project)).unwrap();
    let run = opened.evidence.iter().find(|sealed| sealed.record.load.is_some()).unwrap();
    let at = chrono::DateTime::parse_from_rfc3339("2026-12-03T10:00:07.500+08:00").unwrap();
    assert_eq!(run.record.taken_at, at, "what it wrote down dates it, not its file");
}

#[test]
fn check_names_what_is_altered_and_a_stray_file_is_no_record() {
    let temp = tempfile::tempdir().unwrap();
    let project = project(temp.path());
    let folder = Path::new(&project);
    let sealed = record("good");
    store::keep(folder, &sealed).unwrap();
    fs::write(folder.join("evidence/notes.ron"), "()").unwrap();
    let (code, out, _) = told(&leasebench(temp.path(), &["verify", &project]).output().unwrap());
    assert_eq!(code, 0, "{out}");
    assert!(out.starts_with("notes.ron  not a record: its name is no id"), "{out}");
    assert!(out.ends_with("1 record matches its id, 0 altered, 0 missing\n"), "{out}");

    fs::write(folder.join("evidence").join(format!("{}.ron", sealed.id.0)), "()").unwrap();
    let (_, out, _) = told(&leasebench(temp.path(), &["check", &project]).output().unwrap());
    assert!(out.contains(&format!("{}.ron  The evidence record is not what its name says", sealed.id.0)), "{out}");
    let (_, out, _) = told(&leasebench(temp.path(), &["check", &project, "--json"]).output().unwrap());
    let shape: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(shape["altered"][0]["file"], format!("{}.ron", sealed.id.0));
    assert_eq!(shape["strays"], serde_json::json!(["notes.ron"]));
}

#[test]
fn a_record_that_is_gone_is_named_as_missing() {
    let temp = tempfile::tempdir().unwrap();
    let project = project(temp.path());
    let folder = Path::new(&project);
    // A comment of somebody's stays when a verb lists its records.
    fs::write(folder.join("project.ron"), format!("// mine\n{PROJECT}\n")).unwrap();
    let args = ["probe", "--host", "local", "--probes", "os,memory", "--project", &project];
    assert_eq!(told(&leasebench(temp.path(), &args).output().unwrap()).0, 0);
    assert!(fs::read_to_string(folder.join("project.ron")).unwrap().starts_with("// mine\n(version: 1, revision: 3,"));
    let ids: Vec<_> = store::read(folder).unwrap().evidence.into_iter().map(|sealed| sealed.id).collect();
    assert_eq!(ids.len(), 2);

    let gone = folder.join("evidence").join(format!("{}.ron", ids[0].0));
    let bytes = fs::read(&gone).unwrap();
    fs::remove_file(&gone).unwrap();
    let verify = |code: i32| {
        let (found, out, err) = told(&leasebench(temp.path(), &["verify", &project]).output().unwrap());
        assert_eq!(found, code, "{out}{err}");
        out
    };
    let want = format!(
        "{}  gone: the project knows this record, and its file is not in the folder\n1 record matches its id, 0 altered, \
         1 missing\n",
        ids[0].0
    );
    assert_eq!(verify(1), want);
    // Neither a save nor another record makes the loss forgotten.
    let opened = store::read(folder).unwrap();
    assert_eq!(opened.missing, [ids[0].clone()]);
    store::save_plan(folder, &opened.plan, opened.revision + 1).unwrap();
    assert_eq!(verify(1), want);
    store::keep(folder, &record("another")).unwrap();
    store::list_records(folder).unwrap();
    assert!(verify(1).ends_with("2 records match their id, 0 altered, 1 missing\n"));
    fs::write(&gone, bytes).unwrap();
    assert_eq!(verify(0), "3 records match their id, 0 altered, 0 missing\n");
    assert_eq!(store::read(folder).unwrap().plan, opened.plan);
}

#[test]
fn a_run_must_belong_to_a_candidate_where_there_are_several() {
    let temp = tempfile::tempdir().unwrap();
    let project = project(temp.path());
    let args = ["load", "--url", "http://127.0.0.1:9", "--model", "m", "--concurrency", "1", "--requests", "1"];
    let run = |more: &[&str]| {
        let mut args = args.to_vec();
        args.extend(["--project", &project]);
        args.extend(more);
        told(&leasebench(temp.path(), &args).output().unwrap())
    };
    let (code, out, err) = run(&[]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.starts_with("The project has several candidates, and the run must belong to one: A, B\n"), "{err}");
    let (code, _, err) = run(&["--candidate", "Z"]);
    assert!(code == 2 && err.contains("no candidate \"Z\"") && err.contains("A, B"), "{err}");
    let plan = Path::new(&project).join("project.ron");
    let only = fs::read_to_string(&plan).unwrap().replace(r#", (id: "c2", series: 1, name: "B")"#, "");
    fs::write(&plan, only).unwrap();
    let (code, _, err) = run(&[]);
    assert_eq!(code, 1, "nothing listens there");
    assert!(err.starts_with("The run is kept for \"A\", the only candidate\n"), "{err}");
    let kept = store::read(Path::new(&project)).unwrap().evidence;
    assert_eq!(kept[0].record.candidate.as_ref().unwrap().as_str(), "c1");
}

#[test]
fn a_project_that_is_not_utf8_says_at_which_byte() {
    let temp = tempfile::tempdir().unwrap();
    fs::write(temp.path().join("project.ron"), b"(version: 1,\n plan: (name: \"\xff\"))").unwrap();
    let (code, _, err) = told(&leasebench(temp.path(), &["check", temp.path().to_str().unwrap()]).output().unwrap());
    assert_eq!(code, 2);
    assert!(
        err.starts_with("Could not read the project: byte 29, on line 2, is not UTF-8\nhint: save the file as UTF-8"),
        "{err}"
    );
}

#[test]
fn memory_predicts_a_table_and_refuses_what_is_none() {
    let temp = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = temp.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let runs = write(
        "runs.csv",
        "id,engine,engine_version,model,facts,quantisation,gpu_total_gib,tp,max_model_len\n\
         a,vllm,0.11.0,x,own,bf16,79.19,1,4096\nb,vllm,0.11.0,x,nobody,bf16,79.19,1,4096\n",
    );
    let models = write(
        "models.csv",
        "model,layers,hidden,heads,kv_heads,head_dim,intermediate,vocab,colour\nown,32,4096,32,8,128,14336,128256,red\n",
    );
    let args = ["memory", "--input", &runs, "--models", &models, "--json"];
    let (code, out, err) = told(&leasebench(temp.path(), &args).output().unwrap());
    assert_eq!((code, err.as_str()), (0, "column \"colour\" is not known and was left out\n"));
    let rows: serde_json::Value = serde_json::from_str(&out).unwrap();
    let weights = rows[0]["weights_gib_per_gpu"]["value"].as_f64().unwrap();
    assert!((weights - 14.96).abs() < 0.02, "{weights}");
    assert_eq!(rows[0]["fits"], "fits");
    assert_eq!(rows[1]["weights_gib_per_gpu"], serde_json::Value::Null);
    assert_eq!(rows[1]["missing"][0], "facts of the model: no row is called \"nobody\"");

    let (code, out, err) = told(&leasebench(temp.path(), &["memory", "--input", &models]).output().unwrap());
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.starts_with("Could not read the table: the columns belong to no known table"), "{err}");
    let (code, _, err) = told(&leasebench(temp.path(), &["memory", "--input", "no-such.csv"]).output().unwrap());
    assert!(code == 2 && err.starts_with("Could not read the file"), "{err}");
}

/// An offer with an unknown part, one without any price, and no run.
const GAPS: &str = r#"(version: 1, revision: 1, plan: (
    name: "gaps",
    brief: (month_hours: "720"),
    candidates: [
        (id: "c1", series: 0, name: "A", billing: [
            (id: "p1", category: Accelerator, label: "GPU", status: Priced((price: "2 USD", per: Hour, quantity: "1"))),
            (id: "p2", category: Storage, label: "disk", status: Included),
            (id: "p3", category: Network, label: "traffic out", status: Unknown),
        ]),
        (id: "c2", series: 1, name: "B"),
    ],
))"#;

#[test]
fn cost_says_what_is_known_and_why_the_rest_is_not() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("gaps");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("project.ron"), GAPS).unwrap();
    let (code, out, err) =
        told(&leasebench(temp.path(), &["cost", folder.to_str().unwrap(), "--json"]).output().unwrap());
    assert_eq!((code, err.as_str()), (1, ""));
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    let [a, b] = json["candidates"].as_array().unwrap().as_slice() else { panic!("{out}") };
    assert_eq!(a["amount"], serde_json::Value::Null);
    assert_eq!(a["month_one_unit"]["why"], "unknown_price");
    assert_eq!((&a["month_one_unit"]["at_least"], &a["month_one_unit"]["currency"]), (&"1440".into(), &"USD".into()));
    let parts: Vec<_> = a["components"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| (part["status"].as_str().unwrap(), part["amount"].as_str(), part["why"].as_str()))
        .collect();
    assert_eq!(
        parts,
        [
            ("priced", Some("1440"), None),
            ("included", None, Some("another line includes it")),
            ("unknown", None, Some("nobody said the price")),
        ]
    );
    assert_eq!(
        a["coverage"],
        serde_json::json!({
            "priced": 1, "included": 1, "unknown": 1, "not_applicable": 0, "unknown_names": ["traffic out"]
        })
    );
    assert_eq!(a["diagnostics"], serde_json::Value::Null);
    assert_eq!(b["month_one_unit"]["why"], "no_price");
}

#[test]
fn cost_of_the_sample_is_what_its_screen_shows() {
    let temp = tempfile::tempdir().unwrap();
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("projects/support-chat");
    let (_, out, err) = told(&leasebench(temp.path(), &["cost", sample.to_str().unwrap(), "--json"]).output().unwrap());
    assert_eq!(err, "");
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    let costed: Vec<&serde_json::Value> =
        json["candidates"].as_array().unwrap().iter().filter(|of| !of["amount"].is_null()).collect();
    assert!(!costed.is_empty(), "{out}");
    for of in costed {
        let number = |value: &serde_json::Value| value.as_str().unwrap().parse::<f64>().unwrap();
        let (low, high) = (number(&of["interval"][0]), number(&of["interval"][1]));
        assert!(low <= number(&of["amount"]) && number(&of["amount"]) <= high, "{of}");
        assert_eq!(of["unit"], "accepted request");
        assert!(of["diagnostics"]["sent"].is_string() && of["run"]["evidence"].is_string(), "{of}");
    }
}
