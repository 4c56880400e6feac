//! Reports of a small project in every format and both languages, held against golden files, and of a hostile one.
//! `UPDATE_GOLDEN=1` writes the golden files anew; read them before they are committed.

use leasebench::domain::terms::Terms;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use chrono::{DateTime, FixedOffset, NaiveDate};
use leasebench::app::App;
use leasebench::app::command::Command;
use leasebench::app::derived::Derived;
use leasebench::app::report::{Reported, report};
use leasebench::domain::acceptance::Waiver;
use leasebench::domain::acceptance::defaults::default_criteria;
use leasebench::domain::billing::{Category, Component, Per, Rate, Status};
use leasebench::domain::brief::{AcceptRule, Brief, Lengths, Model, Precision, Slo, brief_digest};
use leasebench::domain::candidate::{Boundary, Candidate, OfferSource, Promised, Term};
use leasebench::domain::decision::{Action, Decision, Signature};
use leasebench::domain::evidence::{Captured, CommandEnd, Kind, Masked, Record, Sealed, Source, VERSION, Vantage};
use leasebench::domain::facts::{Absent, AbsentKind, Device, Fact, Key, Value, keys};
use leasebench::domain::failure::{Failure, FailureKind};
use leasebench::domain::host::{Host, Reach, SshTarget};
use leasebench::domain::ids::{CandidateId, ComponentId, EvidenceId, HostId};
use leasebench::domain::load::{
    Api, Arrivals, ClientHealth, GpuSample, LoadPlan, LoadRecord, Outcome, Prompts, RequestRecord, RunEnd, StagePlan,
    StepRecord, Timeouts, TokenSource, Until, ValidityLimits,
};
use leasebench::domain::text::{Language, Text};
use leasebench::domain::units::{SizeUnit, StatedSize};
use leasebench::engine::files::Places;
use leasebench::project::plan::Plan;
use leasebench::project::store::{self, Altered};
use leasebench::report::svg::{Limit, Plot, Point, Series, Style};
use leasebench::report::{ReportFormat, render};

use super::cli::{leasebench, told};

fn at(text: &str) -> DateTime<FixedOffset> {
    DateTime::parse_from_rfc3339(text).unwrap()
}

fn day(text: &str) -> NaiveDate {
    text.parse().unwrap()
}

fn brief() -> Brief {
    Brief {
        outcome: "Answer support questions in chat".into(),
        model: Model {
            name: "Qwen2.5-7B-Instruct".into(),
            revision: "a09a354".into(),
            parameters: Some(7_615_616_512),
            layers: Some(28),
            hidden: Some(3584),
            heads: Some(28),
            kv_heads: Some(4),
            head_dim: Some(128),
            vocab: Some(152_064),
        },
        precision: Some(Precision::Bf16),
        context_tokens: Some(8192),
        mean_rate: Some(2.6),
        peak_rate: Some(8.0),
        input_tokens: Lengths { mean: Some(700), p95: Some(2400) },
        output_tokens: Lengths { mean: Some(240), p95: Some(560) },
        slo: Slo { ttft_p95_ms: Some(500.0), itl_p95_ms: Some(50.0), error_share: Some(0.005), ..Slo::default() },
        acceptance: AcceptRule::MinChars(1),
        golden_prompts: Some(12),
        data_boundary: "Never outside EU regions".into(),
        must_persist: "Chat log, 30 days".into(),
        owner: "ML platform team".into(),
        budget_month: Some("1500.00 USD".parse().unwrap()),
        ..Brief::default()
    }
}

fn component(id: &str, category: Category, label: &str, status: Status, when_stopped: Option<bool>) -> Component {
    Component {
        id: ComponentId(id.into()),
        category,
        label: label.into(),
        status,
        when_stopped,
        terms: Terms::default(),
    }
}

fn priced(price: &str, per: Per, quantity: u32) -> Status {
    Status::Priced(Rate { price: price.parse().unwrap(), per, quantity: quantity.into() })
}

fn candidates() -> Vec<Candidate> {
    let gb = |number| Some(StatedSize { number, unit: SizeUnit::GB });
    let a = Candidate {
        id: CandidateId("c1".into()),
        series: 0,
        name: "Candidate A".into(),
        short: "1×L40S virtual machine".into(),
        promised: Promised {
            boundary: Some(Boundary::Vm),
            gpu_model: Some("L40S".into()),
            gpu_count: Some(1),
            gpu_memory: gb(48.0),
            driver: Some("570".into()),
            cuda: Some("12.8".into()),
            vcpu: Some(16),
            ram: gb(128.0),
            region: Some("eu-north".into()),
            ..Promised::default()
        },
        billing: vec![
            component("b1", Category::Accelerator, "GPU VM", priced("1.29 USD", Per::Hour, 1), Some(false)),
            component("b2", Category::Storage, "Block volume", priced("0.08 USD", Per::GbMonth, 500), Some(true)),
            component("b3", Category::Network, "", Status::Included, None),
            component("b4", Category::OneOff, "Setup", priced("90.00 USD", Per::Once, 1), None),
        ],
        term: Term { months: Some(6), reclaimable: Some(false), note: String::new() },
        source: OfferSource { who: "price page".into(), read_on: Some(day("2026-11-20")), text: String::new() },
    };
    let b = Candidate {
        id: CandidateId("c2".into()),
        series: 1,
        name: "Candidate B".into(),
        short: "2×L4 dedicated".into(),
        promised: Promised {
            boundary: Some(Boundary::Dedicated),
            gpu_model: Some("L4".into()),
            gpu_count: Some(2),
            gpu_memory: gb(24.0),
            ..Promised::default()
        },
        billing: vec![
            component("b1", Category::Accelerator, "Server", priced("640.00 USD", Per::Month, 1), Some(true)),
            component("b2", Category::Network, "Traffic", Status::Unknown, None),
        ],
        term: Term::default(),
        source: OfferSource::default(),
    };
    let c = Candidate {
        id: CandidateId("c3".into()),
        series: 2,
        name: "Candidate C".into(),
        short: String::new(),
        promised: Promised::default(),
        billing: Vec::new(),
        term: Term { months: Some(0), reclaimable: Some(true), note: String::new() },
        source: OfferSource::default(),
    };
    vec![a, b, c]
}

fn host(id: &str, candidate: &str, name: &str, address: &str) -> Host {
    Host {
        id: HostId(id.into()),
        candidate: Some(CandidateId(candidate.into())),
        name: name.into(),
        reach: Reach::Ssh(SshTarget { address: address.into(), ..SshTarget::default() }),
        pinned_key: None,
        note: String::new(),
    }
}

fn plan() -> Plan {
    let brief = brief();
    let mut criteria = default_criteria(&brief);
    let waiver = Waiver {
        candidate: CandidateId("c1".into()),
        by: "R. Lead".into(),
        reason: "the contract has no reclaim".into(),
        until: day("2027-03-31"),
        given_at: at("2026-12-02T09:00:00+08:00"),
    };
    criteria.last_mut().unwrap().waivers.push(waiver);
    let mut plan = Plan {
        name: "Support chat, Q1 rental".into(),
        brief,
        candidates: candidates(),
        hosts: vec![
            host("h1", "c1", "north one", "gpu-a1.example"),
            host("h2", "c2", "the two cards", "gpu-b1.example"),
        ],
        criteria,
        decision: Decision {
            action: Some(Action::Reserve),
            candidate: Some(CandidateId("c1".into())),
            reasons: vec!["Lowest cost that carries the peak".into(), "B has no price for traffic".into()],
            condition: "2 more valid runs".into(),
            condition_due: Some(day("2026-12-10")),
            owner: "R. Lead".into(),
            date: Some(day("2026-12-03")),
            signatures: Vec::new(),
        },
        ..Plan::default()
    };
    let signature = |by: &str, role: &str, digest: String| Signature {
        by: by.into(),
        role: role.into(),
        at: at("2026-12-03T14:18:00+08:00"),
        revision: 40,
        plan_digest: digest,
    };
    let digest = plan.unsigned_digest();
    plan.decision.signatures = vec![
        signature("M. Engineer", "author", digest),
        signature("R. Lead", "second reader", "of another plan".into()),
    ];
    plan
}

fn fact(device: Device, key: Key, value: Value, unit: &'static str) -> Fact {
    Fact { device, key, value: Ok(value), unit: unit.into() }
}

fn text(value: &str) -> Value {
    Value::Text(value.into())
}

fn record(source: Source, candidate: &str, host: Option<&str>, taken_at: &str) -> Record {
    Record {
        version: VERSION,
        program: "leasebench 0.1.0".into(),
        kind: Kind::Real,
        source,
        candidate: Some(CandidateId(candidate.into())),
        host: host.map(|id| HostId(id.into())),
        taken_at: at(taken_at),
        vantage: Vantage::OnHost,
        brief_digest: brief_digest(&brief()),
        captured: None,
        facts: Vec::new(),
        findings: Vec::new(),
        absent: None,
        load: None,
        supersedes: None,
        origin_note: String::new(),
    }
}

fn probe(id: &str, candidate: &str, host: &str, taken_at: &str, facts: Vec<Fact>) -> Record {
    let source = Source::Probe { id: id.into(), parser: 1 };
    let captured = Captured {
        command: "nvidia-smi -L".into(),
        stdout: String::new(),
        stderr: String::new(),
        pollution: String::new(),
        ended: CommandEnd::Exit(0),
        took_secs: 0.4,
        masked: Vec::new(),
    };
    Record { facts, captured: Some(captured), ..record(source, candidate, Some(host), taken_at) }
}

fn gpu(idx: u32, name: &str, mib: i64) -> Vec<Fact> {
    vec![
        fact(Device::gpu(idx), keys::NAME, text(name), ""),
        fact(Device::gpu(idx), keys::UUID, text("GPU-5d1f3c2a-0000-1111-2222-333344445555"), ""),
        fact(Device::gpu(idx), keys::MEMORY_TOTAL, Value::Int(mib), "MiB"),
        fact(Device::gpu(idx), keys::ECC_UNCORRECTED_VOLATILE, Value::Int(0), ""),
        fact(Device::gpu(idx), keys::REMAPPED_ROWS_PENDING, text("No"), ""),
        fact(Device::gpu(idx), keys::THROTTLE_REASONS, text("none"), ""),
    ]
}

/// `n` requests at this rate. The first token takes `first` s and up to half as much again, in a pattern of 50; tokens
/// come 20 ms apart; one in `one_in_fails` is answered with status 503.
fn step(level: f64, rate: f64, start: f64, n: u32, first: f64, one_in_fails: u32) -> StepRecord {
    let requests: Vec<RequestRecord> = (0..n)
        .map(|idx| {
            let sent = start + f64::from(idx) / rate;
            if idx % one_in_fails == one_in_fails - 1 {
                return RequestRecord {
                    intended_secs: sent,
                    sent_secs: sent,
                    first_token_secs: None,
                    first_text_secs: None,
                    last_token_secs: None,
                    end_secs: sent + 0.05,
                    gaps_us: Vec::new(),
                    events: 0,
                    merged: false,
                    first_event_tokens: 0,
                    input_tokens: None,
                    output_tokens: None,
                    token_source: TokenSource::None,
                    outcome: Outcome::Status(503),
                    message: "overloaded at 10.1.2.3".into(),
                };
            }
            let ttft = first * (1.0 + f64::from(idx % 50) / 100.0);
            RequestRecord {
                intended_secs: sent,
                sent_secs: sent,
                first_token_secs: Some(sent + ttft),
                first_text_secs: Some(sent + ttft),
                last_token_secs: Some(sent + ttft + 0.4),
                end_secs: sent + ttft + 0.4,
                gaps_us: vec![20_000; 20],
                events: 21,
                merged: false,
                first_event_tokens: 1,
                input_tokens: Some(700),
                output_tokens: Some(21),
                token_source: TokenSource::Usage,
                outcome: Outcome::Completed,
                message: String::new(),
            }
        })
        .collect();
    let end = requests.iter().map(|request| request.end_secs).fold(start, f64::max);
    StepRecord { level, start_secs: start, end_secs: end, asked: n, requests }
}

fn run(kind: Kind, arrivals: Arrivals, steps: Vec<StepRecord>, lateness_ms: Option<f64>) -> LoadRecord {
    let wall_secs = steps.last().map_or(0.0, |step| step.end_secs);
    LoadRecord {
        plan: LoadPlan {
            base_url: "http://10.1.2.3:8000".into(),
            model: "Qwen2.5-7B-Instruct".into(),
            api: Api::Chat,
            prompts: Prompts::Synthetic { input_tokens: 700, output_tokens: 21 },
            arrivals,
            stages: steps
                .iter()
                .map(|step| StagePlan { level: step.level, until: Until::Requests(step.asked) })
                .collect(),
            warmup_requests: 8,
            timeouts: Timeouts::default(),
            validity: ValidityLimits::default(),
            slo: brief().slo,
            acceptance: brief().acceptance,
            seed: 7,
            api_key_env: None,
        },
        steps,
        client: ClientHealth {
            cpu_secs: 3.0,
            wall_secs,
            cores: 2,
            loop_lag_p99_ms: Some(0.4),
            lateness_p99_ms: lateness_ms,
            lost: 0,
            rss_mib: Some(41.0),
        },
        ended: RunEnd::Done,
        gpu_samples: match kind {
            Kind::Real => (0..40)
                .map(|idx| GpuSample {
                    at_secs: f64::from(idx) * 5.0,
                    gpu_idx: 0,
                    memory_mib: Some(38_000.0 + f64::from(idx.min(20)) * 100.0),
                    utilization: Some(90.0),
                    power_watts: Some(280.0),
                })
                .collect(),
            _ => Vec::new(),
        },
        server: "uvicorn".into(),
        refused_options: Vec::new(),
        gpu_gap: (kind == Kind::Practice).then_some(FailureKind::HostUnreachable),
    }
}

fn load(candidate: &str, kind: Kind, taken_at: &str, load: LoadRecord) -> Record {
    Record { kind, vantage: Vantage::Tunnel, load: Some(load), ..record(Source::Load, candidate, None, taken_at) }
}

fn evidence() -> BTreeMap<EvidenceId, Sealed> {
    let host_facts = vec![
        fact(Device::host(), keys::DRIVER_VERSION, text("570.86.15"), ""),
        fact(Device::host(), keys::CUDA_VERSION, text("12.8"), ""),
    ];
    let system = vec![
        fact(Device::host(), keys::HOST_NAME, text("node-17.internal"), ""),
        fact(Device::host(), keys::CPUS, Value::Int(16), ""),
        fact(Device::host(), keys::MEMORY_TOTAL, Value::Int(121_000), "MiB"),
        fact(Device::host(), keys::OS, text("Ubuntu 24.04.1 LTS"), ""),
        fact(Device::host(), keys::HYPERVISOR, text("KVM"), ""),
        fact(Device::host(), keys::CLOCK_OFFSET, Value::Float(0.004), "s"),
    ];
    let rates = [(2.0, 0.1), (4.0, 0.15), (8.0, 0.25), (12.0, 0.45)];
    let mut start = 0.0;
    let steps = rates.map(|(rate, first)| {
        let step = step(rate, rate, start, 1100, first, 1000);
        start = step.end_secs + 1.0;
        step
    });
    let mut missing = probe("dcgm_diag", "c1", "h1", "2026-12-01T10:03:00+08:00", Vec::new());
    missing.absent = Some(Absent::new(AbsentKind::ServiceDown, "no answer from node-17.internal (10.1.2.3:5555)"));
    if let Some(captured) = &mut missing.captured {
        captured.ended = CommandEnd::Exit(255);
        captured.masked = vec![Masked { rule: "bearer token".into(), count: 1 }];
    }
    let mut found = probe(
        "gpu_query",
        "c2",
        "h2",
        "2026-12-01T11:00:00+08:00",
        [gpu(0, "NVIDIA L4", 23_034), gpu(1, "Tesla T4", 15_360)].concat(),
    );
    found.kind = Kind::Replay;
    found.origin_note = "capture of another machine".into();
    let attested = Source::Manual {
        by: "M. Engineer".into(),
        note: "Killed the worker at 15:02; served again at 15:03".into(),
        criterion: default_criteria(&brief())
            .iter()
            .find(|criterion| criterion.words == "attest_restart")
            .map(|k| k.id.clone()),
        holds: true,
    };
    let records = vec![
        probe(
            "gpu_query",
            "c1",
            "h1",
            "2026-12-01T10:00:00+08:00",
            [gpu(0, "NVIDIA L40S", 46_068), host_facts].concat(),
        ),
        probe("system", "c1", "h1", "2026-12-01T10:02:00+08:00", system),
        missing,
        found,
        load(
            "c1",
            Kind::Real,
            "2026-12-02T16:00:00+08:00",
            run(Kind::Real, Arrivals::Poisson, steps.to_vec(), Some(1.2)),
        ),
        load(
            "c1",
            Kind::Real,
            "2026-12-02T15:00:00+08:00",
            run(Kind::Real, Arrivals::Constant, vec![step(8.0, 8.0, 0.0, 400, 0.9, 1000)], Some(48.0)),
        ),
        load(
            "c2",
            Kind::Practice,
            "2026-12-02T17:00:00+08:00",
            run(
                Kind::Practice,
                Arrivals::Concurrency,
                vec![step(4.0, 6.0, 0.0, 60, 0.2, 20), step(8.0, 9.0, 20.0, 250, 0.3, 125)],
                None,
            ),
        ),
        record(attested, "c1", None, "2026-12-02T18:00:00+08:00"),
    ];
    records.into_iter().map(|record| Sealed::seal(record).unwrap()).map(|sealed| (sealed.id.clone(), sealed)).collect()
}

fn altered() -> Vec<Altered> {
    let failure =
        Failure::new(FailureKind::EvidenceAltered).because("SHA-256 0f3a").at("/home/someone/project/evidence");
    vec![Altered { file: format!("{}.ron", "ab12cd34".repeat(8)), failure }]
}

fn rendered(plan: &Plan, evidence: &BTreeMap<EvidenceId, Sealed>, format: ReportFormat, language: Language) -> String {
    rendered_with(plan, evidence, format, language, false)
}

fn rendered_with(
    plan: &Plan,
    evidence: &BTreeMap<EvidenceId, Sealed>,
    format: ReportFormat,
    language: Language,
    with_addresses: bool,
) -> String {
    let made_at = at("2026-12-03T14:20:00+08:00");
    let altered = altered();
    let derived = Derived::compute(plan, evidence, altered.len(), made_at.date_naive());
    let reported = Reported { plan, revision: 41, evidence, altered: &altered, made_at, with_addresses };
    render(&report(reported, &derived), format, Text::of(language))
}

/// Holds a text against its golden file, or writes the file anew.
#[track_caller]
fn check_golden(name: &str, got: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, got).unwrap();
        return;
    }
    let want = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = got.lines().zip(want.lines()).position(|(got, want)| got != want);
    if got != want {
        let line = differs.unwrap_or(got.lines().count().min(want.lines().count()));
        let at = |text: &str| text.lines().nth(line).unwrap_or("(end)").to_owned();
        panic!("{name} line {}:\n got: {}\nwant: {}\n(UPDATE_GOLDEN=1 writes it anew)", line + 1, at(got), at(&want));
    }
}

#[test]
fn reports_read_as_their_golden_files() {
    let (plan, evidence) = (plan(), evidence());
    for language in Language::ALL {
        for format in [ReportFormat::Html, ReportFormat::Markdown] {
            let got = rendered(&plan, &evidence, format, language);
            check_golden(&format!("report.{}.{}", language.tag(), format.name()), &got);
        }
    }
    check_golden("report.csv", &rendered(&plan, &evidence, ReportFormat::Csv, Language::En));
}

#[test]
fn csv_does_not_change_with_the_language() {
    let (plan, evidence) = (plan(), evidence());
    let of = |language| rendered(&plan, &evidence, ReportFormat::Csv, language);
    assert_eq!(of(Language::En), of(Language::ZhHans));
    let text = of(Language::En);
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let n_columns = reader.headers().unwrap().len();
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 7, "one row a step");
    assert!(rows.iter().all(|row| row.len() == n_columns));
}

#[test]
fn names_and_addresses_stay_out_unless_asked_for() {
    let (plan, evidence) = (plan(), evidence());
    let secrets = ["gpu-a1.example", "node-17.internal", "10.1.2.3", "GPU-5d1f", "north one", "/home/someone"];
    for format in ReportFormat::ALL {
        let text = rendered(&plan, &evidence, format, Language::En);
        for secret in secrets {
            assert!(!text.contains(secret), "{secret} in {format:?}");
        }
    }
    let asked = rendered_with(&plan, &evidence, ReportFormat::Html, Language::En, true);
    for named in ["north one", "http://10.1.2.3:8000", "node-17.internal"] {
        assert!(asked.contains(named), "{named}");
    }
}

/// A logarithmic plot with everything a plot can have.
fn plot() -> Plot {
    let point = |x: f64, y: f64, half: f64, hollow: bool| Point {
        x,
        y,
        interval: (half > 0.0).then_some((y - half, y + half)),
        hollow,
    };
    let series = |name: &str, place: u8, hollow: bool, points: &[(f64, f64, f64)]| Series {
        name: name.into(),
        place,
        points: points.iter().map(|(x, y, half)| point(*x, *y, *half, hollow)).collect(),
        markers: true,
        style: Style::Candidate,
        band: Vec::new(),
    };
    let mut predicted = series("A, predicted", 0, false, &[(2.0, 95.0, 0.0), (8.0, 170.0, 0.0), (14.0, 900.0, 0.0)]);
    (predicted.markers, predicted.style) = (false, Style::Predicted);
    Plot {
        title: "TTFT p95, ms".into(),
        x_title: "arrival rate, req/s".into(),
        log: true,
        log_words: "logarithmic".into(),
        series: vec![
            series(
                "A · 1×H100",
                0,
                false,
                &[(2.0, 118.0, 4.0), (8.0, 205.0, 9.0), (12.0, 452.0, 0.0), (14.0, 1900.0, 0.0)],
            ),
            series("B · 2×L40S", 1, false, &[(2.0, 188.0, 0.0), (8.0, 388.0, 20.0), (12.0, 3300.0, 0.0)]),
            series("C · 练习", 2, true, &[(1.0, 232.0, 0.0), (4.0, 2950.0, 0.0)]),
            series("D", 3, false, &[]),
            predicted,
        ],
        limit: Some(Limit { value: 500.0, words: "SLO 500 ms".into() }),
    }
}

#[test]
fn a_plot_is_drawn_byte_for_byte_the_same() {
    check_golden("plot.svg", &plot().render());
    assert_eq!(plot().render(), plot().render());
}

#[test]
fn the_command_line_writes_reports() {
    let temp = tempfile::tempdir().unwrap();
    let project = temp.path().join("p");
    store::save_plan(&project, &plan(), 41).unwrap();
    for sealed in evidence().values() {
        store::keep(&project, sealed).unwrap();
    }
    let (project, file) = (project.to_str().unwrap(), temp.path().join("report.md"));
    let out = file.to_str().unwrap();
    let run = |args: &[&str]| told(&leasebench(temp.path(), args).output().unwrap());

    let (code, printed, err) = run(&["report", project, "--format", "md", "--lang", "zh-Hans", "-o", out, "--json"]);
    assert_eq!((code, err.as_str()), (0, ""));
    let shape: serde_json::Value = serde_json::from_str(&printed).unwrap();
    assert_eq!((&shape["format"], &shape["language"], &shape["records"]), (&"md".into(), &"zh-Hans".into(), &8.into()));
    let written = std::fs::read_to_string(&file).unwrap();
    assert_eq!(shape["bytes"], written.len());
    assert!(written.starts_with("# Support chat, Q1 rental\n") && written.contains("## 7 合格工作量的成本"));

    let (code, printed, _) = run(&["report", project, "--format", "csv"]);
    assert_eq!((code, printed.lines().count()), (0, 8), "a head and one row a step");

    let missing = temp.path().join("nothing");
    let (code, _, err) =
        run(&["report", missing.to_str().unwrap(), "-o", temp.path().join("x.html").to_str().unwrap()]);
    assert_eq!((code, temp.path().join("x.html").exists()), (2, false), "{err}");
    assert_eq!(run(&["report", project, "--format", "docx"]).0, 2);
    let nowhere = temp.path().join("report.md/inside.html");
    let (code, _, err) = run(&["report", project, "-o", nowhere.to_str().unwrap()]);
    assert!(code == 2 && err.contains("inside.html"), "{err}");
}

#[test]
fn the_app_writes_the_open_project() {
    let temp = tempfile::tempdir().unwrap();
    let project = temp.path().join("p");
    store::save_plan(&project, &plan(), 41).unwrap();
    for sealed in evidence().values() {
        store::keep(&project, sealed).unwrap();
    }
    let mut app = App::with_places(Places::under(temp.path()), || {}).unwrap();
    let (html, csv) = (temp.path().join("r.html"), temp.path().join("r.csv"));
    for command in [
        Command::Open(project),
        Command::Language(Language::ZhHans),
        Command::Report { format: ReportFormat::Html, path: html.clone() },
        Command::ExportCsv(csv.clone()),
    ] {
        app.command(command);
        while app.busy() {
            app.wait(Duration::from_millis(200));
        }
    }
    let html = std::fs::read_to_string(html).unwrap();
    assert!(html.contains("<html lang=\"zh-Hans\">") && html.contains("Support chat, Q1 rental"));
    assert_eq!(std::fs::read_to_string(csv).unwrap(), rendered(&plan(), &evidence(), ReportFormat::Csv, Language::En));
}

/// Everything a person or a machine can write, written to do harm.
fn hostile() -> (Plan, BTreeMap<EvidenceId, Sealed>) {
    const EVIL: &str =
        "=HYPERLINK(\"http://x\")</td><script>alert(1)</script>\u{1b}[31m\u{202e}|`*_[a](javascript:b)\n# h";
    let mut plan = plan();
    plan.name = EVIL.into();
    plan.brief.outcome = EVIL.into();
    plan.brief.owner = EVIL.into();
    plan.decision.reasons = vec![EVIL.into()];
    plan.decision.condition = EVIL.into();
    plan.decision.signatures[0].by = EVIL.into();
    for candidate in &mut plan.candidates {
        candidate.name = EVIL.into();
        candidate.short = EVIL.into();
        candidate.source.who = EVIL.into();
        candidate.promised.gpu_model = Some(EVIL.into());
        for component in &mut candidate.billing {
            component.label = EVIL.into();
        }
    }
    for criterion in &mut plan.criteria {
        criterion.words = EVIL.into();
        for waiver in &mut criterion.waivers {
            waiver.reason = EVIL.into();
        }
    }
    let evil = |mut record: Record| {
        for fact in &mut record.facts {
            if let Ok(Value::Text(text)) = &mut fact.value {
                *text = EVIL.into();
            }
        }
        record.origin_note = EVIL.into();
        if let Some(absent) = &mut record.absent {
            absent.detail = EVIL.into();
        }
        if let Some(load) = &mut record.load {
            load.plan.model = EVIL.into();
            load.refused_options = vec![EVIL.into()];
        }
        let sealed = Sealed::seal(record).unwrap();
        (sealed.id.clone(), sealed)
    };
    (plan, evidence().into_values().map(|sealed| evil(Record::clone(&sealed.record))).collect())
}

#[test]
fn nothing_that_was_written_can_act() {
    let (plan, evidence) = hostile();
    for language in Language::ALL {
        let html = rendered(&plan, &evidence, ReportFormat::Html, language);
        for acts in ["<script", "\u{1b}", "\u{202e}", "http://x\"", "onload"] {
            assert!(!html.contains(acts), "{acts:?} in HTML");
        }
        assert!(html.contains("&lt;script&gt;alert(1)&lt;/script&gt;\\x1b[31m\\u{202e}"), "and all of it can be read");
        let markdown = rendered(&plan, &evidence, ReportFormat::Markdown, language);
        for acts in ["<script", "\u{1b}", "\u{202e}", "[a](", "\n# h", "http://x"] {
            assert!(!markdown.contains(acts), "{acts:?} in Markdown");
        }
        // Every row of a table has the cells its head has.
        let columns = |line: &str| line.replace("\\|", "").matches('|').count();
        let mut in_table = None;
        for line in markdown.lines() {
            match (line.starts_with('|'), in_table) {
                (true, None) => in_table = Some(columns(line)),
                (true, Some(want)) => assert_eq!(columns(line), want, "{line}"),
                (false, _) => in_table = None,
            }
        }
    }
    let csv = rendered(&plan, &evidence, ReportFormat::Csv, Language::En);
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    for row in reader.records() {
        for cell in &row.unwrap() {
            assert!(!cell.starts_with(['=', '+', '-', '@']), "{cell}");
        }
    }
}

#[test]
fn an_empty_project_has_a_report_that_says_what_is_missing() {
    let (plan, none) = (Plan::default(), BTreeMap::new());
    let html = rendered(&plan, &none, ReportFormat::Html, Language::En);
    for said in ["Unnamed project", "Nothing is decided yet", "No candidates yet", "No criteria yet", "No load run yet"]
    {
        assert!(html.contains(said), "{said}");
    }
}

#[test]
fn a_demonstration_says_so_at_the_top() {
    let plan = Plan { demonstration: true, ..plan() };
    let evidence = evidence();
    for (language, words) in [(Language::En, "Demonstration."), (Language::ZhHans, "演示。")] {
        let html = rendered(&plan, &evidence, ReportFormat::Html, language);
        let (banner, first_chapter) = (html.find(words).unwrap(), html.find("id=\"c1\"").unwrap());
        assert!(banner < first_chapter);
    }
    let real = rendered(&self::plan(), &evidence, ReportFormat::Html, Language::En);
    assert!(!real.contains("Demonstration."));
}
