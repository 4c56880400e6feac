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
    Component { id: ComponentId(format!("b{id}")), category, label: String::new(), status, when_stopped: Some(true) }
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
