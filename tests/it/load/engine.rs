//! Runs as jobs of the engine: cancelling, the part file, what a record holds.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use leasebench::domain::brief::{AcceptRule, Slo};
use leasebench::domain::curve;
use leasebench::domain::evidence::{Kind, Sealed, Vantage};
use leasebench::domain::load::{
    Api, Arrivals, LoadPlan, Outcome as Ended, Prompts, RunEnd, StagePlan, Timeouts, Until, ValidityLimits,
};
use leasebench::engine::Engine;
use leasebench::engine::event::{Outcome, What};
use leasebench::engine::job::{JobSpec, LoadRoute, LoadSpec, Stamp};
use leasebench::engine::part;
use leasebench::project::plan::Plan;
use leasebench::project::store;

use super::{PROGRAM, Practice, wait_for};

/// An empty project.
pub fn project() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    store::save_plan(folder.path(), &Plan::default(), 1).unwrap();
    folder
}

/// Records of a project, by path.
pub fn records(project: &Path) -> Vec<PathBuf> {
    files(project, "ron")
}

fn files(project: &Path, extension: &str) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(project.join("evidence")) else { return Vec::new() };
    entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|is| is == extension))
        .collect()
}

fn spec(url: &str, arrivals: Arrivals, stages: &[(f64, u32)], part_folder: &Path) -> LoadSpec {
    LoadSpec {
        plan: LoadPlan {
            base_url: url.to_owned(),
            model: "practice".to_owned(),
            api: Api::Chat,
            prompts: Prompts::Synthetic { input_tokens: 16, output_tokens: 8 },
            arrivals,
            stages: stages.iter().map(|(level, n)| StagePlan { level: *level, until: Until::Requests(*n) }).collect(),
            warmup_requests: 2,
            timeouts: Timeouts::default(),
            validity: ValidityLimits::default(),
            slo: Slo { ttft_p95_ms: Some(60_000.0), ..Slo::default() },
            acceptance: AcceptRule::AnyComplete,
            seed: 7,
            api_key_env: None,
        },
        route: LoadRoute::Direct,
        prompts_path: None,
        api_key: None,
        part_folder: Some(part_folder.to_path_buf()),
        sample_on: None,
        stamp: Stamp { candidate: None, host: None, kind: Kind::Real, brief_digest: Some("b".to_owned()) },
        vantage: Vantage::ThisComputer,
    }
}

/// Steps, record and end of a run, in the order they came.
struct Ran {
    steps: Vec<curve::StepPoint>,
    sealed: Option<Sealed>,
    outcome: Outcome,
}

/// Runs a job to its end; `meanwhile` is called again and again with its id.
fn run(spec: LoadSpec, meanwhile: impl FnMut(&Engine, leasebench::domain::ids::JobId)) -> Ran {
    run_with(Engine::new(|| {}).unwrap(), spec, meanwhile)
}

fn run_with(
    mut engine: Engine,
    spec: LoadSpec,
    mut meanwhile: impl FnMut(&Engine, leasebench::domain::ids::JobId),
) -> Ran {
    let job = engine.start(JobSpec::Load(Box::new(spec)));
    let (mut steps, mut sealed) = (Vec::new(), None);
    let deadline = Instant::now() + Duration::from_secs(120);
    loop {
        assert!(Instant::now() < deadline, "the run does not end");
        meanwhile(&engine, job);
        let Some(event) = engine.wait(Duration::from_millis(20)) else { continue };
        match event.what {
            What::Step(step) => {
                assert!(sealed.is_none(), "a step after its record");
                steps.push(*step);
            }
            What::Sealed(record) => sealed = Some(*record),
            What::Ended(outcome) => return Ran { steps, sealed, outcome },
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_ladder_becomes_steps_and_one_record() {
    let server = Practice::start(&["--ttft-ms", "5", "--gap-ms", "1"]);
    let folder = tempfile::tempdir().unwrap();
    for arrivals in [Arrivals::Concurrency, Arrivals::Poisson, Arrivals::Constant] {
        let stages = [(2.0, 10), (20.0, 30)];
        let mut saw_progress = false;
        let ran = run(spec(&server.url, arrivals, &stages, folder.path()), |engine, job| {
            saw_progress |= engine.progress(job).is_some_and(|progress| {
                progress.load.is_some_and(|load| load.point.provisional && load.point.counts.sent > 0)
            });
        });
        assert_eq!(ran.outcome, Outcome::Done);
        let sealed = ran.sealed.unwrap();
        let run = sealed.record.load.clone().unwrap();
        assert_eq!(sealed.record.kind, Kind::Practice, "the server says what it is");
        assert!(run.server.starts_with("leasebench-practice/"), "{}", run.server);
        assert_eq!(run.ended, RunEnd::Done);
        assert_eq!(curve::points(&run), ran.steps, "the record says what the steps said");
        assert_eq!(ran.steps.iter().map(|step| step.counts.completed).collect::<Vec<_>>(), [10, 30]);
        assert!(saw_progress || arrivals == Arrivals::Concurrency, "figures came while it ran");
        for step in &run.steps {
            assert!(step.requests.iter().all(|request| request.intended_secs >= step.start_secs));
            assert!(step.requests.iter().all(|request| request.end_secs <= step.end_secs));
            assert!(step.requests.windows(2).all(|pair| pair[0].intended_secs <= pair[1].intended_secs));
        }
        // The part file stands beside it under its name, and says the same to the last byte.
        let part = folder.path().join(format!("{}.part", sealed.id.0));
        let again = part::seal_part(&part).unwrap();
        assert_eq!((again.id, again.bytes), (sealed.id, sealed.bytes));
        std::fs::remove_file(part).unwrap();
    }
}

#[test]
fn a_seed_makes_the_same_times_again() {
    let server = Practice::start(&["--ttft-ms", "1", "--gap-ms", "1"]);
    let folder = tempfile::tempdir().unwrap();
    let offsets = || -> Vec<i64> {
        let ran = run(spec(&server.url, Arrivals::Poisson, &[(50.0, 20)], folder.path()), |_, _| {});
        let run = ran.sealed.unwrap().record.load.clone().unwrap();
        let first = run.steps[0].requests[0].intended_secs;
        run.steps[0].requests.iter().map(|request| ((request.intended_secs - first) * 1e6).round() as i64).collect()
    };
    assert_eq!(offsets(), offsets());
}

#[test]
fn cancelling_keeps_what_was_measured() {
    // Answers end after half their tokens and never come to an end.
    let server = Practice::start(&["--ttft-ms", "1", "--gap-ms", "1"]);
    let folder = tempfile::tempdir().unwrap();
    let spec = LoadSpec {
        plan: LoadPlan { warmup_requests: 0, ..spec("", Arrivals::Concurrency, &[(4.0, 100)], folder.path()).plan },
        ..spec(&server.mode("stall"), Arrivals::Concurrency, &[(4.0, 100)], folder.path())
    };
    let spec = LoadSpec { plan: LoadPlan { base_url: server.mode("stall"), ..spec.plan }, ..spec };
    let mut cancelled_at = None;
    let ran = run(spec, |engine, job| {
        let n_tokens = server.stats()["tokens"].as_u64().unwrap();
        if n_tokens == 4 * 4 && cancelled_at.is_none() {
            engine.cancel(job);
            cancelled_at = Some(Instant::now());
        }
    });
    assert!(cancelled_at.unwrap().elapsed() < Duration::from_secs(10), "it ends at once, not by a time-out");
    assert_eq!(ran.outcome, Outcome::Cancelled);
    let run = ran.sealed.unwrap().record.load.clone().unwrap();
    assert_eq!(run.ended, RunEnd::Stopped);
    let [step] = &run.steps[..] else { panic!("one step began") };
    assert_eq!(step.requests.iter().map(|request| request.outcome).collect::<Vec<_>>(), [Ended::Cancelled; 4]);
    assert_eq!(step.requests.iter().map(|request| request.events).collect::<Vec<_>>(), [4; 4], "what came is kept");
    assert_eq!(ran.steps[0].counts.cut, 4);
}

#[test]
fn practice_runs_against_its_own_server() {
    let folder = tempfile::tempdir().unwrap();
    let spec = LoadSpec { route: LoadRoute::Practice, ..spec("", Arrivals::Concurrency, &[(2.0, 4)], folder.path()) };
    let ran = run(spec, |_, _| {});
    let sealed = ran.sealed.unwrap();
    assert_eq!((ran.outcome, sealed.record.kind), (Outcome::Done, Kind::Practice));
    assert_eq!(ran.steps[0].counts.completed, 4);
}

#[test]
fn a_run_that_is_killed_leaves_what_it_measured() {
    let server = Practice::start(&["--ttft-ms", "20", "--gap-ms", "2"]);
    let project = project();
    let mut child = Command::new(PROGRAM)
        .args(["load", "--json", "--url", &server.url, "--model", "m", "--concurrency", "2", "--seconds", "600"])
        .args(["--output-tokens", "5", "--project", project.path().to_str().unwrap()])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let has_lines = || {
        let part = files(project.path(), "part").pop()?;
        let text = std::fs::read_to_string(&part).ok()?;
        (text.lines().filter(|line| line.starts_with("Request(")).count() >= 5).then_some(part)
    };
    let part = wait_for("five requests on disk", has_lines);
    child.kill().unwrap();
    child.wait().unwrap();

    let sealed = part::seal_part(&part).unwrap();
    assert_eq!(sealed.record.kind, Kind::Practice);
    let run = sealed.record.load.clone().unwrap();
    assert_eq!(run.ended, RunEnd::Interrupted);
    assert!(run.steps[0].requests.len() >= 5);
    assert!(run.steps[0].requests.iter().all(|request| request.outcome == Ended::Completed));
    assert_eq!(part::seal_part(&part).unwrap().id, sealed.id, "sealing again makes no other record");
    // A line that was cut in the writing is left out, and the rest stands.
    let text = std::fs::read_to_string(&part).unwrap();
    let cut = &text[..text.trim_end().len() - 3];
    std::fs::write(&part, cut).unwrap();
    assert!(part::seal_part(&part).is_some());

    // Opening the project seals it.
    let found = part::seal_found(&project.path().join("evidence"));
    assert_eq!(found.len(), 1);
    let (path, sealed) = &found[0];
    store::keep(project.path(), sealed).unwrap();
    std::fs::rename(path, path.with_file_name(format!("{}.part", sealed.id.0))).unwrap();
    assert!(part::seal_found(&project.path().join("evidence")).is_empty(), "a kept run is not sealed twice");
    assert!(files(project.path(), "part").is_empty(), "its part file is gone");
}

#[test]
fn a_run_kept_in_a_project_is_one_record_under_its_id() {
    let server = Practice::start(&["--ttft-ms", "1", "--gap-ms", "1"]);
    let project = project();
    let status = Command::new(PROGRAM)
        .args(["load", "--json", "--url", &server.url, "--model", "m", "--concurrency", "2", "--requests", "4"])
        .args(["--project", project.path().to_str().unwrap()])
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
    assert_eq!((records(project.path()).len(), files(project.path(), "part").len()), (1, 0));
    let opened = store::read(project.path()).unwrap();
    assert!(opened.altered.is_empty());
    let record = &opened.evidence[0].record;
    assert_eq!((record.kind, record.load.as_ref().unwrap().steps[0].requests.len()), (Kind::Practice, 4));
}

#[test]
fn a_plan_that_cannot_be_run_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (name, stages, arrivals) in [
        ("no step", &[][..], Arrivals::Concurrency),
        ("half a request", &[(0.5, 1)][..], Arrivals::Concurrency),
        ("no rate", &[(0.0, 1)][..], Arrivals::Poisson),
        ("no number", &[(f64::NAN, 1)][..], Arrivals::Poisson),
        ("no request", &[(1.0, 0)][..], Arrivals::Concurrency),
    ] {
        let ran = run(spec("http://127.0.0.1:9", arrivals, stages, folder.path()), |_, _| {});
        let Outcome::Failed(failure) = ran.outcome else { panic!("{name}: {:?}", ran.outcome) };
        assert_eq!(failure.kind, leasebench::domain::failure::FailureKind::PlanRefused, "{name}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing was begun");
}

#[cfg(all(unix, feature = "desktop"))]
#[test]
fn a_run_goes_through_the_tunnel_with_gpus_sampled_beside_it() {
    let server = Practice::start(&["--ttft-ms", "5", "--gap-ms", "1"]);
    let folder = tempfile::tempdir().unwrap();
    let sshd = crate::sshd::Sshd::start();
    let host = crate::sshd::host("gpu-a", leasebench::domain::host::Auth::Auto);
    let leasebench::domain::host::Reach::Ssh(target) = host.reach.clone() else { panic!("an SSH host") };
    let port: u16 = server.url.rsplit(':').next().unwrap().parse().unwrap();
    let through = |known_hosts: &str| {
        let mut engine = Engine::new(|| {}).unwrap();
        engine.set_ssh(sshd.setup(known_hosts, ""));
        let mut spec = spec("http://127.0.0.1:8000/m/early-role", Arrivals::Constant, &[(10.0, 25)], folder.path());
        spec.plan.prompts = Prompts::Synthetic { input_tokens: 16, output_tokens: 20 };
        spec.route = LoadRoute::Tunnel { target: target.clone(), host: Box::new(host.clone()), port };
        spec.sample_on = Some(Box::new(host.clone()));
        spec.vantage = Vantage::Tunnel;
        run_with(engine, spec, |_, _| {})
    };
    let ran = through(&sshd.known_hosts());
    assert_eq!(ran.outcome, Outcome::Done);
    let record = ran.sealed.unwrap().record;
    let run = record.load.clone().unwrap();
    assert_eq!(ran.steps[0].counts.completed, 25);
    assert_eq!((record.kind, record.vantage), (Kind::Practice, Vantage::Tunnel));
    assert_eq!(run.plan.base_url, "http://127.0.0.1:8000/m/early-role", "the record says what was planned");
    assert_eq!(run.gpu_gap, None);
    assert!(run.gpu_samples.iter().any(|sample| sample.memory_mib == Some(61_251.0)), "{:?}", run.gpu_samples);
    assert_eq!(server.stats()["requests"], 27, "the warm-up too");

    let Outcome::Failed(failure) = through("").outcome else { panic!("an unknown host key") };
    assert_eq!(failure.kind, leasebench::domain::failure::FailureKind::HostKeyUnknown);
}
