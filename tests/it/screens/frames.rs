//! A project of a thousand records: every screen draws it, and a script asks what a frame of it costs.

use std::path::Path;
use std::time::{Duration, Instant};

use chrono::{DateTime, FixedOffset, TimeDelta};
use leasebench::app::App;
use leasebench::app::command::{Command, Screen, ThemeChoice};
use leasebench::domain::acceptance::defaults::default_criteria;
use leasebench::domain::billing::{Category, Component, Per, Rate, Status};
use leasebench::domain::brief::{Brief, Lengths, Model, Precision, Slo};
use leasebench::domain::candidate::{Candidate, Promised};
use leasebench::domain::evidence::{Captured, CommandEnd, Kind, PROGRAM, Record, Sealed, Source, VERSION, Vantage};
use leasebench::domain::host::{Host, Reach};
use leasebench::domain::ids::{CandidateId, ComponentId, HostId};
use leasebench::domain::load::{
    Api, Arrivals, ClientHealth, LoadPlan, LoadRecord, Outcome, Prompts, RequestRecord, RunEnd, StagePlan, StepRecord,
    Timeouts, TokenSource, Until, ValidityLimits,
};
use leasebench::domain::text::Language;
use leasebench::domain::units::{SizeUnit, StatedSize};
use leasebench::engine::files::Places;
use leasebench::project::plan::Plan;
use leasebench::project::store::{EVIDENCE_FOLDER, save_plan};
use leasebench::ui::shell::Window;
use leasebench::ui::theme;

use super::{Setup, window};

const RATES: [f64; 6] = [2.0, 4.0, 6.0, 8.0, 10.0, 12.0];

fn brief() -> Brief {
    Brief {
        outcome: "Answer support questions in chat, first words within half a second".into(),
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
        owner: "ML platform team".into(),
        budget_month: Some("1500.00 USD".parse().unwrap()),
        ..Brief::default()
    }
}

fn plan() -> Plan {
    let brief = brief();
    let offers = [
        ("Candidate A", "1×H100 80GB VM", 80.0, 1, "2.89 USD"),
        ("Candidate B", "2×L40S dedicated", 48.0, 2, "1.58 USD"),
        ("Candidate C", "1×RTX 4090", 24.0, 1, "0.44 USD"),
    ];
    let candidates = offers.iter().enumerate().map(|(idx, (name, short, memory, count, price))| Candidate {
        id: CandidateId(format!("c{}", idx + 1)),
        series: idx as u8,
        name: (*name).into(),
        short: (*short).into(),
        promised: Promised {
            gpu_count: Some(*count),
            gpu_memory: Some(StatedSize { number: *memory, unit: SizeUnit::GB }),
            gpu_model: Some("NVIDIA H100 80GB HBM3".into()),
            ..Promised::default()
        },
        billing: vec![Component {
            id: ComponentId("b1".into()),
            category: Category::Accelerator,
            label: String::new(),
            status: Status::Priced(Rate { price: price.parse().unwrap(), per: Per::Hour, quantity: 1.into() }),
            when_stopped: Some(false),
            terms: leasebench::domain::terms::Terms::default(),
        }],
        term: Default::default(),
        source: Default::default(),
    });
    let candidates: Vec<Candidate> = candidates.collect();
    let hosts = candidates.iter().enumerate().map(|(idx, candidate)| Host {
        id: HostId(format!("h{}", idx + 1)),
        candidate: Some(candidate.id.clone()),
        name: format!("gpu-{}1", ['a', 'b', 'c'][idx]),
        reach: Reach::Pasted,
        pinned_key: None,
        note: String::new(),
    });
    Plan {
        name: "Support chat, Q1 rental".into(),
        hosts: hosts.collect(),
        criteria: default_criteria(&brief),
        brief,
        candidates,
        ..Plan::default()
    }
}

fn record(n: usize, at: DateTime<FixedOffset>, source: Source, digest: Option<String>) -> Record {
    let which = n % 3 + 1;
    Record {
        version: VERSION,
        program: PROGRAM.into(),
        kind: Kind::Real,
        source,
        candidate: Some(CandidateId(format!("c{which}"))),
        host: Some(HostId(format!("h{which}"))),
        taken_at: at + TimeDelta::minutes(n as i64),
        vantage: Vantage::OnHost,
        brief_digest: digest,
        captured: None,
        facts: Vec::new(),
        findings: Vec::new(),
        absent: None,
        load: None,
        supersedes: None,
        origin_note: String::new(),
    }
}

/// An answer of `nvidia-smi -q -x` from eight GPUs, or of another probe.
fn probed(n: usize, at: DateTime<FixedOffset>) -> Record {
    let captures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures");
    let (id, file) = if n.is_multiple_of(2) {
        ("gpu_detail", "gpu_detail/h100x8_570_86.xml")
    } else {
        ("gpu_detail", "gpu_detail/l4_580_105_no_prolog.xml")
    };
    let probe = leasebench::probe::find(id).unwrap();
    let captured = Captured {
        command: probe.command.into(),
        stdout: std::fs::read_to_string(captures.join(file)).unwrap(),
        stderr: String::new(),
        ended: CommandEnd::Exit(0),
        took_secs: 0.8,
        masked: Vec::new(),
        pollution: Default::default(),
    };
    let reading = probe.read(&captured);
    let source = Source::Probe { id: id.into(), parser: probe.parser };
    Record {
        captured: Some(captured),
        facts: reading.facts,
        findings: reading.findings,
        absent: reading.absent,
        ..record(n, at, source, None)
    }
}

/// A ladder whose latencies rise with the rate.
fn run(n: usize, at: DateTime<FixedOffset>, brief: &Brief) -> Record {
    let step = |idx: usize, level: f64| {
        let start = idx as f64 * 60.0;
        let requests = (0..300_u32).map(|request| {
            let intended = start + f64::from(request) / level.max(1.0);
            let first = intended + 0.06 + 0.02 * level + f64::from(request % 17) * 0.004;
            let gap_us = 15_000 + (level * 900.0) as u32;
            RequestRecord {
                intended_secs: intended,
                sent_secs: intended + 0.0004,
                first_token_secs: Some(first),
                first_text_secs: Some(first),
                last_token_secs: Some(first + 40.0 * f64::from(gap_us) / 1e6),
                end_secs: first + 41.0 * f64::from(gap_us) / 1e6,
                gaps_us: (0..40).map(|gap| gap_us + gap * 37).collect(),
                events: 41,
                merged: false,
                first_event_tokens: 1,
                input_tokens: Some(700),
                output_tokens: Some(41),
                token_source: TokenSource::Usage,
                outcome: if request % 97 == 0 { Outcome::Rejected } else { Outcome::Completed },
                message: String::new(),
            }
        });
        StepRecord { level, start_secs: start, end_secs: start + 60.0, asked: 300, requests: requests.collect() }
    };
    let load = LoadRecord {
        plan: LoadPlan {
            base_url: "http://127.0.0.1:8000".into(),
            model: brief.model.name.clone(),
            api: Api::Chat,
            prompts: Prompts::Synthetic { input_tokens: 700, output_tokens: 240 },
            arrivals: Arrivals::Poisson,
            stages: RATES.iter().map(|level| StagePlan { level: *level, until: Until::Requests(300) }).collect(),
            warmup_requests: 8,
            timeouts: Timeouts::default(),
            validity: ValidityLimits::default(),
            slo: brief.slo,
            acceptance: brief.acceptance.clone(),
            seed: 4211,
            api_key_env: None,
        },
        steps: RATES.iter().enumerate().map(|(idx, level)| step(idx, *level)).collect(),
        client: ClientHealth {
            cpu_secs: 2.0,
            wall_secs: 360.0,
            cores: 2,
            loop_lag_p99_ms: Some(0.4),
            lateness_p99_ms: Some(1.2),
            lost: 0,
            rss_mib: Some(40.0),
        },
        ended: RunEnd::Done,
        gpu_samples: Vec::new(),
        server: "uvicorn".into(),
        refused_options: Vec::new(),
        gpu_gap: None,
    };
    Record { load: Some(load), ..record(n, at, Source::Load, leasebench::domain::brief::brief_digest(brief)) }
}

/// Writes a project with `n` records: one in a hundred is a load run, the rest are answers of hosts.
fn write_project(folder: &Path, n: usize) {
    let plan = plan();
    std::fs::create_dir_all(folder.join(EVIDENCE_FOLDER)).unwrap();
    let at = DateTime::parse_from_rfc3339("2026-11-20T08:00:00+08:00").unwrap();
    for idx in 0..n {
        let record = if idx % 100 < 1 || idx < 3 { run(idx, at, &plan.brief) } else { probed(idx, at) };
        let sealed = Sealed::seal(record).unwrap();
        std::fs::write(folder.join(EVIDENCE_FOLDER).join(format!("{}.ron", sealed.id.0)), &sealed.bytes).unwrap();
    }
    save_plan(folder, &plan, 1).unwrap();
}

#[test]
fn a_project_with_records_is_drawn_on_every_step() {
    let folder = tempfile::tempdir().unwrap();
    write_project(folder.path(), 30);
    for (language, theme) in super::looks() {
        let mut window = window(Setup {
            language,
            theme,
            commands: vec![Command::Open(folder.path().to_path_buf())],
            ..Setup::default()
        });
        window.step_until("the project", Duration::from_secs(60), |harness| {
            harness.state().app().state().project.is_some()
        });
        for screen in Screen::ALL {
            window.harness.state_mut().app_mut().command(Command::Go(screen));
            window.harness.run_ok();
        }
        // The lock goes back before the next window opens the same folder.
        drop(window);
    }
}

#[test]
#[ignore = "makes pictures for people to look at"]
fn pictures_of_a_project_with_records() {
    let folder = tempfile::tempdir().unwrap();
    write_project(folder.path(), 60);
    for (language, theme) in super::looks() {
        let mut window = window(Setup {
            language,
            theme,
            commands: vec![Command::Open(folder.path().to_path_buf())],
            ..Setup::default()
        });
        window.step_until("the project", Duration::from_secs(60), |harness| {
            harness.state().app().state().project.is_some()
        });
        for screen in Screen::ALL {
            window.harness.state_mut().app_mut().command(Command::Go(screen));
            super::pictures::picture(&mut window, &format!("made-{}", screen.name()), language, theme);
        }
    }
}

fn cpu_ms() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}

#[test]
#[ignore = "prints figures that depend on the machine; tests/bench runs it"]
fn frame_times() {
    let folder = tempfile::tempdir().unwrap();
    write_project(folder.path(), 1000);
    let home = tempfile::tempdir().unwrap();
    let app = App::with_places(Places::under(home.path()), || {}).unwrap();
    let mut window = Window::new(app);
    window.app_mut().command(Command::Language(Language::ZhHans));
    window.app_mut().command(Command::Theme(ThemeChoice::Dark));
    let ctx = egui::Context::default();
    theme::install(&ctx);
    let opened = Instant::now();
    window.app_mut().command(Command::Open(folder.path().to_path_buf()));
    while window.app().state().project.is_none() {
        assert!(opened.elapsed() < Duration::from_secs(120), "the project did not open");
        window.logic(&ctx);
        std::thread::sleep(Duration::from_millis(1));
    }
    println!("a project of 1,000 records opened in {:.2} s", opened.elapsed().as_secs_f64());
    println!("{:<12} {:>10} {:>8} {:>8}   CPU ms a frame, with tessellation", "screen", "first", "p50", "p95");
    // The clock of the window never goes back, from one step to the next either.
    for (screen, first) in Screen::ALL.into_iter().zip((0..).step_by(125)) {
        window.app_mut().command(Command::Go(screen));
        let mut times: Vec<f64> = (first..first + 125).map(|n| frame(&ctx, &mut window, n)).collect();
        let first = times.remove(0);
        times.drain(..4);
        times.sort_by(f64::total_cmp);
        println!(
            "{:<12} {first:>10.2} {:>8.2} {:>8.2}",
            screen.name(),
            times[times.len() / 2],
            times[times.len() * 95 / 100]
        );
    }
}

/// CPU time of one frame; the pointer moves, so that hovering is in it.
fn frame(ctx: &egui::Context, window: &mut Window, n: u32) -> f64 {
    let size = egui::Rect::from_min_size(egui::Pos2::ZERO, egui::vec2(1440.0, 900.0));
    let pointer = egui::pos2(260.0 + (n * 13 % 1000) as f32, 160.0 + (n * 7 % 600) as f32);
    let input = egui::RawInput {
        screen_rect: Some(size),
        time: Some(f64::from(n) / 60.0),
        events: vec![egui::Event::PointerMoved(pointer)],
        ..Default::default()
    };
    let before = cpu_ms();
    let output = ctx.run_ui(input, |ui| {
        window.logic(ui.ctx());
        window.show(ui);
    });
    let shapes = output.shapes.clone();
    let primitives = ctx.tessellate(shapes, 1.0);
    let spent = cpu_ms() - before;
    assert!(!primitives.is_empty());
    output.drop_without_applying_deltas();
    spent
}
