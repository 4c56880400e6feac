//! Things that tests of several modules are made from.

use std::sync::Arc;

use chrono::{DateTime, FixedOffset};

use super::billing::{Category, Component, Per, Rate, Status};
use super::brief::{AcceptRule, Brief, Lengths, Model, Precision, Slo};
use super::candidate::{Candidate, Promised, Term};
use super::curve::{StepPoint, Summary, ValidityItem};
use super::evidence::{Kind, Record, Source, VERSION, Vantage};
use super::facts::{Absent, AbsentKind, Device, Fact, Finding, Key, Severity, Value};
use super::ids::{CandidateId, ComponentId, EvidenceId, HostId};
use super::load::{
    Api, Arrivals, Counts, LoadPlan, Prompts, RunEnd, StagePlan, Timeouts, TokenSource, Until, ValidityLimits,
};
use super::seen::{HostSeen, Kept, Run, Seen, StepTokens};
use super::terms::Terms;

/// A moment on a day in December, hours and minutes apart.
pub(crate) fn moment(minute: u32) -> DateTime<FixedOffset> {
    DateTime::parse_from_rfc3339("2026-12-03T10:00:00+08:00").unwrap() + chrono::Duration::minutes(i64::from(minute))
}

/// The brief of the support chat: 2.6 req/s on average, 8 at the peak.
pub(crate) fn brief() -> Brief {
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
        golden_prompts: Some(40),
        data_boundary: "Never outside EU regions".into(),
        must_persist: "Chat log".into(),
        owner: "ML platform team".into(),
        budget_month: Some("1500.00 USD".parse().unwrap()),
        stop_rule: "Ends on 31 March".into(),
        ..Brief::default()
    }
}

/// A component with a price.
pub(crate) fn priced(id: u32, category: Category, price: &str, per: Per, quantity: &str) -> Component {
    let rate = Rate { price: price.parse().unwrap(), per, quantity: quantity.parse().unwrap() };
    component(id, category, Status::Priced(rate))
}

/// A component.
pub(crate) fn component(id: u32, category: Category, status: Status) -> Component {
    Component {
        id: ComponentId(format!("b{id}")),
        category,
        label: String::new(),
        status,
        when_stopped: Some(true),
        terms: Terms::default(),
    }
}

/// A candidate with nothing promised.
pub(crate) fn candidate(id: &str, billing: Vec<Component>, months: Option<u32>) -> Candidate {
    Candidate {
        id: CandidateId(id.into()),
        series: 0,
        name: format!("Candidate {id}"),
        short: String::new(),
        promised: Promised::default(),
        billing,
        term: Term { months, ..Term::default() },
        source: super::candidate::OfferSource::default(),
    }
}

/// Three offers for the same chat. A: one large card in a virtual machine. B: a dedicated machine by the month.
/// C: a small card that carries 2 req/s.
pub(crate) fn offers() -> [(Candidate, Vec<StepPoint>); 3] {
    use Category::{Accelerator, Network, OneOff, Snapshot, Storage, Support};
    let included = |id, category| component(id, category, Status::Included);
    let a = vec![
        priced(1, Accelerator, "2.89 USD", Per::Hour, "1"),
        priced(2, Storage, "0.08 USD", Per::GbMonth, "500"),
        priced(3, Snapshot, "0.05 USD", Per::GbMonth, "100"),
        priced(4, Network, "0.09 USD", Per::Gb, "180"),
        included(5, Support),
    ];
    let b = vec![
        priced(1, Accelerator, "1150 USD", Per::Month, "1"),
        included(2, Storage),
        included(3, Snapshot),
        included(4, Network),
        priced(5, Support, "60 USD", Per::Month, "1"),
        priced(6, OneOff, "90 USD", Per::Once, "1"),
    ];
    let c = vec![
        priced(1, Accelerator, "0.44 USD", Per::Hour, "1"),
        priced(2, Storage, "0.10 USD", Per::GbMonth, "200"),
        component(3, Snapshot, Status::NotApplicable),
        priced(4, Network, "0.02 USD", Per::Gb, "180"),
    ];
    let at_8_a = Fates { sent: 7_200, late: 22, rejected: 41, failed: 0 };
    let at_12_a = Fates { sent: 10_800, late: 301, rejected: 41, failed: 0 };
    let at_8_b = Fates { sent: 7_200, late: 106, rejected: 45, failed: 2 };
    let at_10_b = Fates { sent: 9_000, late: 3_000, rejected: 45, failed: 2 };
    let at_2_c = Fates { sent: 1_800, late: 27, rejected: 9, failed: 0 };
    let at_3_c = Fates { sent: 2_700, late: 2_000, rejected: 9, failed: 0 };
    [
        (candidate("a", a, Some(0)), vec![step(0, 8.0, 210.0, 20.0, at_8_a), step(1, 12.0, 480.0, 30.0, at_12_a)]),
        (candidate("b", b, Some(6)), vec![step(0, 8.0, 388.0, 35.8, at_8_b), step(1, 10.0, 900.0, 48.0, at_10_b)]),
        (candidate("c", c, None), vec![step(0, 2.0, 410.0, 44.0, at_2_c), step(1, 3.0, 2_600.0, 80.0, at_3_c)]),
    ]
}

/// What became of the requests of a step.
#[derive(Clone, Copy, Default)]
pub(crate) struct Fates {
    pub(crate) sent: u32,
    pub(crate) late: u32,
    pub(crate) rejected: u32,
    pub(crate) failed: u32,
}

/// A step at this rate over 900 s; TTFT and ITL p95 in ms, each with an interval of 2 % to both sides.
pub(crate) fn step(step_idx: usize, rate: f64, ttft_ms: f64, itl_ms: f64, fates: Fates) -> StepPoint {
    let completed = fates.sent - fates.rejected - fates.failed;
    let within = completed - fates.late;
    let summary = |ms: f64, n: u32| Summary {
        n: u64::from(n),
        mean: ms / 2e3,
        p50: Some(ms / 2e3),
        p95: Some(ms / 1e3),
        p95_interval: Some((ms * 0.98 / 1e3, ms * 1.02 / 1e3)),
        p99: None,
    };
    let secs = f64::from(fates.sent) / rate;
    StepPoint {
        step_idx,
        level: rate,
        arrivals: Arrivals::Constant,
        secs,
        counts: Counts {
            asked: fates.sent,
            sent: fates.sent,
            completed,
            failed: fates.failed,
            rejected: fates.rejected,
            cut: 0,
            causes: std::collections::BTreeMap::new(),
        },
        ttft: Some(summary(ttft_ms, completed)),
        ttfc: None,
        gap: Some(summary(itl_ms, completed * 100)),
        gap_not_measurable: false,
        tpot: None,
        e2el: None,
        output_tokens: u64::from(completed) * 240,
        input_tokens_mean: Some(700.0),
        token_source: TokenSource::Usage,
        output_tokens_per_sec: Some(f64::from(completed) * 240.0 / secs),
        requests_per_sec: Some(f64::from(completed + fates.rejected) / secs),
        offered_per_sec: Some(rate),
        within_slo: Some(within),
        goodput_per_sec: Some(f64::from(within) / secs),
        peak_in_flight: 64,
        provisional: false,
    }
}

/// A valid real run of these steps under the brief's limits; every answer has 240 tokens.
pub(crate) fn run(id: &str, brief: &Brief, minute: u32, points: Vec<StepPoint>) -> Run {
    let tokens = points
        .iter()
        .map(|point| {
            let completed = u64::from(point.counts.completed);
            StepTokens { completed, counted: completed, by_usage: completed, output: completed * 240 }
        })
        .collect();
    let plan = LoadPlan {
        base_url: "http://127.0.0.1:8000".into(),
        model: "m".into(),
        api: Api::Chat,
        prompts: Prompts::Synthetic { input_tokens: 700, output_tokens: 240 },
        arrivals: Arrivals::Constant,
        stages: vec![StagePlan { level: 8.0, until: Until::Requests(7200) }],
        warmup_requests: 0,
        timeouts: Timeouts::default(),
        validity: ValidityLimits::default(),
        slo: brief.slo,
        acceptance: brief.acceptance.clone(),
        seed: 1,
        api_key_env: None,
    };
    let mut record = record(Source::Load, minute);
    record.brief_digest = super::brief::brief_digest(brief);
    Run {
        id: EvidenceId(id.into()),
        record: Arc::new(record),
        plan,
        ended: RunEnd::Done,
        points,
        tokens,
        validity: vec![ValidityItem { name: "cpu_share", ok: true, value: Some(0.2), limit: 0.7 }],
        timeline: Vec::new(),
    }
}

/// The same run as another kind of evidence.
pub(crate) fn of_kind(mut run: Run, kind: Kind) -> Run {
    run.record = Arc::new(Record { kind, ..(*run.record).clone() });
    run
}

/// The same run, invalid.
pub(crate) fn invalid(mut run: Run) -> Run {
    run.validity = vec![ValidityItem { name: "cpu_share", ok: false, value: Some(0.9), limit: 0.7 }];
    run
}

/// An empty real record.
pub(crate) fn record(source: Source, minute: u32) -> Record {
    Record {
        version: VERSION,
        program: "leasebench 0".into(),
        kind: Kind::Real,
        source,
        candidate: None,
        host: None,
        taken_at: moment(minute),
        vantage: Vantage::OnHost,
        brief_digest: None,
        captured: None,
        facts: Vec::new(),
        findings: Vec::new(),
        absent: None,
        load: None,
        supersedes: None,
        origin_note: String::new(),
    }
}

/// A real answer of a probe with these facts, one a line: `gpu:0 name NVIDIA L40S`. A whole number becomes one, `!text`
/// an absence.
pub(crate) fn answer(id: &str, probe: &str, minute: u32, facts: &[&str]) -> Kept {
    let mut record = record(Source::Probe { id: probe.into(), parser: 1 }, minute);
    record.facts = facts.iter().map(|line| fact(line)).collect();
    Kept { id: EvidenceId(id.into()), record: Arc::new(record) }
}

fn fact(line: &str) -> Fact {
    let mut words = line.splitn(3, ' ');
    let (device, key, value) = (words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
    let value = match (value.strip_prefix('!'), value.parse::<i64>(), value.parse::<f64>()) {
        (Some(detail), ..) => Err(Absent::new(AbsentKind::NotReported, detail)),
        (_, Ok(n), _) => Ok(Value::Int(n)),
        // Versions look like numbers and are none.
        (_, _, Ok(x)) if !key.ends_with("version") => Ok(Value::Float(x)),
        _ => Ok(Value::Text(value.to_owned())),
    };
    Fact { device: Device(device.into()), key: Key(key.to_owned().into()), value, unit: "".into() }
}

/// The same answer as another kind of evidence.
pub(crate) fn kept_as(kept: Kept, kind: Kind) -> Kept {
    let record = Record { kind, ..(*kept.record).clone() };
    Kept { record: Arc::new(record), ..kept }
}

/// The same answer with a finding.
pub(crate) fn with_finding(kept: Kept, severity: Severity, code: &'static str) -> Kept {
    let mut record = (*kept.record).clone();
    record.findings.push(Finding { severity, code: code.into(), text: code.into() });
    Kept { record: Arc::new(record), ..kept }
}

/// The answer that nothing could be read.
pub(crate) fn unread(id: &str, probe: &str, minute: u32, kind: AbsentKind, detail: &str) -> Kept {
    let mut record = record(Source::Probe { id: probe.into(), parser: 1 }, minute);
    record.absent = Some(Absent::new(kind, detail));
    Kept { id: EvidenceId(id.into()), record: Arc::new(record) }
}

/// One host with these answers.
pub(crate) fn host(records: Vec<Kept>) -> HostSeen {
    HostSeen::new(HostId("h1".into()), records)
}

/// A candidate seen through these runs, newest first.
pub(crate) fn seen(hosts: Vec<HostSeen>, runs: Vec<Run>, manual: Vec<Kept>) -> Seen {
    Seen { hosts, runs: runs.into_iter().map(Arc::new).collect(), manual, logs: Vec::new() }
}
