//! Makes the sample project anew: `cargo test --locked --test it sample -- --ignored`, on a machine that is otherwise idle.
//!
//! Its probe answers are replayed captures of other machines; its load runs are really measured, by this program,
//! against the practice server. Both carry that for ever.

use std::path::{Path, PathBuf};
use std::time::Duration;

use chrono::Local;
use leasebench::app::App;
use leasebench::app::command::Command;
use leasebench::domain::acceptance::defaults::default_criteria;
use leasebench::domain::brief::brief_digest;
use leasebench::domain::evidence::{Captured, CommandEnd, Kind, PROGRAM, Record, Sealed, Source, VERSION, Vantage};
use leasebench::domain::ids::{CandidateId, HostId};
use leasebench::domain::load::{Api, Arrivals, LoadPlan, Prompts, StagePlan, Timeouts, Until, ValidityLimits};
use leasebench::engine::files::Places;
use leasebench::engine::practice::{Mode, Server, Settings};
use leasebench::probe;
use leasebench::project::edit::Edit;
use leasebench::project::plan::{LoadSetup, Plan, Route};
use leasebench::project::store;

/// Requests a second of each step, and how many are sent: enough for a 95th percentile.
const RATES: [f64; 5] = [4.0, 6.0, 8.0, 10.0, 12.0];
const REQUESTS: u32 = 210;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Candidate, host, probe, capture.
const ANSWERS: [(&str, &str, &str, &str); 13] = [
    ("c1", "h1", "os", "os/ubuntu2204.txt"),
    ("c1", "h1", "cpu", "cpu/h100x8_kvm.txt"),
    ("c1", "h1", "memory", "memory/2tb_gpu_host.txt"),
    ("c1", "h1", "disks", "disks/nvme_xfs.json"),
    ("c1", "h1", "gpu_list", "gpu_list/h100x8.txt"),
    ("c1", "h1", "gpu_detail", "gpu_detail/h100x8_570_86.xml"),
    ("c1", "h1", "topology", "topology/h100x8_nic0_header_shifted.txt"),
    ("c1", "h1", "dcgm_diag", "dcgm_diag/r1_3_1_8_h200x8_persistence_fail.txt"),
    ("c2", "h2", "os", "os/ubuntu2204.txt"),
    ("c2", "h2", "gpu_detail", "gpu_detail/l4_580_105_no_prolog.xml"),
    ("c2", "h2", "disks", "disks/bytes.json"),
    ("c3", "h3", "gpu_detail", "gpu_detail/rtx4090_535_86.xml"),
    ("c3", "h3", "topology", "topology/rtx4090x8_all_sys.txt"),
];

fn replayed(plan: &Plan, (candidate, host, id, capture): (&str, &str, &str, &str)) -> Sealed {
    let probe = probe::find(id).unwrap();
    let path = root().join("tests/captures").join(capture);
    let stdout = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let captured = Captured {
        command: probe.command.to_owned(),
        stdout,
        stderr: String::new(),
        pollution: String::new(),
        ended: CommandEnd::Unknown,
        took_secs: 0.0,
        masked: Vec::new(),
    };
    let reading = probe.read(&captured);
    assert!(reading.absent.is_none(), "{capture}: {:?}", reading.absent);
    let record = Record {
        version: VERSION,
        program: PROGRAM.to_owned(),
        kind: Kind::Replay,
        source: Source::Pasted { id: id.to_owned(), parser: probe.parser },
        candidate: Some(CandidateId(candidate.to_owned())),
        host: Some(HostId(host.to_owned())),
        taken_at: Local::now().fixed_offset(),
        vantage: Vantage::ThisComputer,
        brief_digest: brief_digest(&plan.brief),
        captured: Some(captured),
        facts: reading.facts,
        findings: reading.findings,
        absent: None,
        load: None,
        supersedes: None,
        origin_note: format!("a public capture of another machine of this kind ({capture})"),
    };
    Sealed::seal(record).unwrap()
}

fn wait(app: &mut App) {
    while app.busy() {
        app.wait(Duration::from_millis(100));
    }
}

#[test]
#[ignore = "makes projects/support-chat anew; takes about eight minutes on an idle machine"]
fn sample() {
    let folder = root().join("projects/support-chat");
    let mut plan: Plan = ron::from_str(include_str!("sample_plan.ron")).unwrap();
    plan.criteria = default_criteria(&plan.brief);
    std::fs::remove_dir_all(folder.join("evidence")).ok();
    let evidence: Vec<Sealed> = ANSWERS.into_iter().map(|answer| replayed(&plan, answer)).collect();
    std::fs::create_dir_all(folder.join("evidence")).unwrap();
    store::save_plan(&folder, &plan, 1).unwrap();
    for sealed in &evidence {
        store::keep(&folder, sealed).unwrap();
    }
    let home = tempfile::tempdir().unwrap();
    let mut app = App::with_places(Places::under(home.path()), || {}).unwrap();
    app.command(Command::Open(folder.clone()));
    wait(&mut app);
    // What each practice server can do stands for an offer in kind only: many slots, few slots, quick slots.
    for (candidate, ttft_ms, gap_ms, slots) in [("c1", 60, 6, 64), ("c2", 180, 14, 9), ("c3", 110, 9, 8)] {
        let settings = Settings {
            ttft: Duration::from_millis(ttft_ms),
            gap: Duration::from_millis(gap_ms),
            tokens: 64,
            mode: Mode::Plain,
            slots: Some(slots),
        };
        let server = Server::start(0, settings, Some(Duration::from_secs(900))).unwrap();
        run(&mut app, candidate, &format!("http://{}", server.address()));
    }
    app.command(Command::Save);
    wait(&mut app);
    check(&folder);
}

fn run(app: &mut App, candidate: &str, url: &str) {
    let plan = app.state().project.as_ref().unwrap().plan.clone();
    let stage = |level| StagePlan { level, until: Until::Requests(REQUESTS) };
    let setup = LoadSetup {
        candidate: Some(CandidateId(candidate.to_owned())),
        route: Route::Direct,
        plan: LoadPlan {
            base_url: url.to_owned(),
            model: plan.brief.model.name.clone(),
            api: Api::Chat,
            prompts: Prompts::Synthetic { input_tokens: 700, output_tokens: 64 },
            arrivals: Arrivals::Poisson,
            stages: RATES.map(stage).to_vec(),
            warmup_requests: 8,
            timeouts: Timeouts::default(),
            validity: ValidityLimits::default(),
            slo: plan.brief.slo,
            acceptance: plan.brief.acceptance.clone(),
            seed: 4211,
            api_key_env: None,
        },
        prompts_path: String::new(),
        ask_api_key: false,
        sample_on: None,
    };
    app.command(Command::Edit(Edit::PutLoad(Box::new(setup))));
    app.command(Command::StartLoad(None));
    wait(app);
    let last = app.state().derived.runs.last().unwrap();
    assert!(last.is_valid(), "the machine was too busy: {:?}", last.validity);
}

fn check(folder: &Path) {
    let opened = store::read(folder).unwrap();
    assert!(opened.plan.demonstration);
    assert!(opened.evidence.iter().all(|sealed| sealed.record.kind != Kind::Real), "nothing in it is real");
    assert_eq!(opened.evidence.iter().filter(|sealed| sealed.record.load.is_some()).count(), 3);
}

/// The sample that is shipped is what it says it is.
#[test]
fn the_shipped_sample_is_a_demonstration() {
    check(&root().join("projects/support-chat"));
}
