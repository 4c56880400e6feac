//! The value a criterion looks at, from real records alone.

use super::judge::Case;
use super::{Criterion, Metric, Threshold, Why};
use crate::domain::compare::promises::Agreement;
use crate::domain::compare::step;
use crate::domain::curve::{StepPoint, Summary};
use crate::domain::evidence::{Kind, Record, Source};
use crate::domain::facts::{Absent, AbsentKind, Device, Key, Severity, Value, keys};
use crate::domain::ids::EvidenceId;
use crate::domain::interval;
use crate::domain::seen::{self, Kept, Known, Reading, Run, is_gpu, is_host};
use crate::domain::stats;

/// Bytes of a MiB.
pub(super) const MIB: f64 = 1_048_576.0;

/// A value with everything its verdict needs.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Measured {
    /// `None` where a percentile lacks samples; `few` says so.
    pub(super) value: Option<f64>,
    pub(super) interval: Option<(f64, f64)>,
    pub(super) samples: Option<u64>,
    pub(super) evidence: Vec<EvidenceId>,
    /// Have and need, where a percentile lacks samples or a run lacks repeats.
    pub(super) few: Option<(u64, u64)>,
    /// What changed since, as a name.
    pub(super) changed: Option<&'static str>,
    /// Highest rate and peak, where the peak was never run.
    pub(super) below_peak: Option<(f64, f64)>,
}

/// What the criterion looks at, or why there is nothing to look at.
pub(super) fn measure(criterion: &Criterion, case: &Case<'_>) -> Result<Measured, Why> {
    match criterion.metric {
        Metric::GpuCount
        | Metric::GpuModel
        | Metric::GpuMemory
        | Metric::EccUncorrected
        | Metric::RemapPending
        | Metric::ThrottledGpus
        | Metric::HealthAlarms
        | Metric::DiagnosticFailures
        | Metric::ForeignProcesses
        | Metric::ClockOffset
        | Metric::Mismatches => environment(criterion.metric, case),
        Metric::CompletedRequests
        | Metric::UsageCounted
        | Metric::TtftP95
        | Metric::ItlP95
        | Metric::E2eP95
        | Metric::ErrorShare
        | Metric::OutputRate
        | Metric::AcceptedShare
        | Metric::ValidRuns => load(criterion, case),
        Metric::Attested => attested(criterion, case),
    }
}

// ---- environment ----

fn environment(metric: Metric, case: &Case<'_>) -> Result<Measured, Why> {
    let hosts: Vec<Vec<&Kept>> = case.seen.hosts.iter().map(|host| host.latest(Reading::RealOnly)).collect();
    if hosts.iter().all(Vec::is_empty) {
        let has_any = case.seen.hosts.iter().any(|host| !host.records.is_empty());
        return Err(if has_any { Why::OnlyPractice } else { Why::NeverRun });
    }
    let latest: Vec<&Kept> = hosts.concat();
    match metric {
        Metric::GpuCount => {
            // The promise holds for each host, so the host with the fewest is the one that counts.
            let counts = per_host(&hosts, |latest| {
                let facts = seen::facts(latest, &keys::NAME, is_gpu);
                let n = if facts.is_empty() { None } else { Some(as_f64(facts.len())) };
                (n, facts)
            });
            worst(&latest, counts, f64::min)
        }
        Metric::GpuModel => promise("gpu_model", case, &latest),
        Metric::GpuMemory => {
            let least = per_host(&hosts, |latest| {
                let facts = seen::facts(latest, &keys::MEMORY_TOTAL, is_gpu);
                (numbers(&facts).into_iter().reduce(f64::min), facts)
            });
            worst(&latest, least, f64::min)
        }
        Metric::EccUncorrected => summed(&hosts, &latest, &keys::ECC_UNCORRECTED_VOLATILE, number),
        Metric::RemapPending => remap_pending(&hosts, &latest),
        Metric::ThrottledGpus => summed(&hosts, &latest, &keys::THROTTLE_REASONS, |value| {
            text(value).map(|reasons| f64::from(u8::from(is_held_down(reasons))))
        }),
        Metric::ForeignProcesses => summed(&hosts, &latest, &keys::PROCESSES, number),
        Metric::HealthAlarms => health_alarms(&latest),
        Metric::DiagnosticFailures => diagnostic(&hosts, &latest),
        Metric::ClockOffset => clock_offset(&hosts, &latest),
        _ => mismatches(case),
    }
}

/// A value a host with the facts it stands on.
type PerHost<'a> = Vec<(Option<f64>, Vec<Known<'a>>)>;

fn per_host<'a>(
    hosts: &'a [Vec<&'a Kept>],
    each: impl Fn(&'a [&'a Kept]) -> (Option<f64>, Vec<Known<'a>>),
) -> PerHost<'a> {
    hosts.iter().map(|latest| each(latest)).collect()
}

/// The values of all hosts as one; a host without a value leaves the whole without one.
fn worst(latest: &[&Kept], hosts: PerHost<'_>, join: impl Fn(f64, f64) -> f64) -> Result<Measured, Why> {
    let mut measured = Measured::default();
    let (mut joined, mut n_facts) = (None::<f64>, 0);
    for (value, facts) in hosts {
        let Some(value) = value else { return Err(why_nothing(latest, &facts)) };
        joined = Some(joined.map_or(value, |joined| join(joined, value)));
        n_facts += facts.len() as u64;
        cite(&mut measured.evidence, facts.iter().map(|known| known.kept));
    }
    measured.value = Some(joined.ok_or(Why::NeverRun)?);
    measured.samples = Some(n_facts);
    Ok(measured)
}

/// The sum over GPUs of what `each` makes of a fact. One GPU that does not say leaves the sum unknown.
fn summed<'a>(
    hosts: &'a [Vec<&'a Kept>],
    latest: &[&Kept],
    key: &Key,
    each: impl Fn(&Value) -> Option<f64>,
) -> Result<Measured, Why> {
    let sums = per_host(hosts, |latest| {
        let facts = seen::facts(latest, key, is_gpu);
        let values: Option<Vec<f64>> =
            facts.iter().map(|known| known.fact.value.as_ref().ok().and_then(&each)).collect();
        (values.filter(|values| !values.is_empty()).map(|values| values.iter().sum()), facts)
    });
    worst(latest, sums, |a, b| a + b)
}

/// GPUs with rows waiting for remapping or pages waiting for retirement. A card has one of the two mechanisms.
fn remap_pending<'a>(hosts: &'a [Vec<&'a Kept>], latest: &[&Kept]) -> Result<Measured, Why> {
    let pending = per_host(hosts, |latest| {
        let rows = seen::facts(latest, &keys::REMAPPED_ROWS_PENDING, is_gpu);
        let pages = seen::facts(latest, &keys::RETIRED_PAGES_PENDING, is_gpu);
        let facts: Vec<Known<'a>> = rows.into_iter().chain(pages).collect();
        let mut known = facts.iter().filter_map(|known| text(known.fact.value.as_ref().ok()?)).peekable();
        let count = known.peek().is_some().then(|| known.filter(|pending| pending.eq_ignore_ascii_case("yes")).count());
        (count.map(as_f64), facts)
    });
    worst(latest, pending, |a, b| a + b)
}

/// Findings that take a part out of use, wherever they were read. Somebody must have looked at a GPU.
fn health_alarms(latest: &[&Kept]) -> Result<Measured, Why> {
    let looked: Vec<&Kept> = latest
        .iter()
        .copied()
        .filter(|kept| {
            let record = &kept.record;
            let has_alarm = record.findings.iter().any(|finding| is_alarm(finding.severity));
            has_alarm || record.facts.iter().any(|fact| fact.device.0.starts_with("gpu:"))
        })
        .collect();
    if looked.is_empty() {
        return Err(why_nothing(latest, &[]));
    }
    let alarms = looked.iter().flat_map(|kept| &kept.record.findings).filter(|finding| is_alarm(finding.severity));
    let mut measured =
        Measured { value: Some(as_f64(alarms.count())), samples: Some(looked.len() as u64), ..Measured::default() };
    cite(&mut measured.evidence, looked);
    Ok(measured)
}

const fn is_alarm(severity: Severity) -> bool {
    matches!(severity, Severity::Isolate | Severity::Reset)
}

/// Failed tests of the diagnostic. A suite of which every test was skipped has tested nothing.
fn diagnostic<'a>(hosts: &'a [Vec<&'a Kept>], latest: &[&Kept]) -> Result<Measured, Why> {
    let is_test = |device: &Device| device.0.starts_with("test:");
    let mut n_judged = 0_u64;
    let mut has_any = false;
    let failures = per_host(hosts, |latest| {
        let facts = seen::facts(latest, &keys::RESULT, is_test);
        let results: Vec<&str> = facts.iter().filter_map(|known| text(known.fact.value.as_ref().ok()?)).collect();
        let failed = results.iter().filter(|result| result.eq_ignore_ascii_case("fail")).count();
        (if results.is_empty() { None } else { Some(as_f64(failed)) }, facts)
    });
    for (_, facts) in &failures {
        for result in facts.iter().filter_map(|known| text(known.fact.value.as_ref().ok()?)) {
            has_any = true;
            n_judged += u64::from(!result.eq_ignore_ascii_case("skip"));
        }
    }
    if has_any && n_judged == 0 {
        return Err(Why::Skipped);
    }
    if !has_any {
        let is_diagnostic = |probe: &str| probe.contains("diag");
        return Err(seen::why_absent(latest, is_diagnostic).map_or(Why::NeverRun, |(absent, _)| could_not(absent)));
    }
    let mut measured = worst(latest, failures, |a, b| a + b)?;
    measured.samples = Some(n_judged);
    Ok(measured)
}

/// The clock that is furthest off, with the uncertainty of its measurement as interval.
fn clock_offset<'a>(hosts: &'a [Vec<&'a Kept>], latest: &[&Kept]) -> Result<Measured, Why> {
    let offsets = per_host(hosts, |latest| {
        let facts = seen::facts(latest, &keys::CLOCK_OFFSET, is_host);
        (numbers(&facts).first().map(|offset| offset.abs()), facts)
    });
    let uncertainty = hosts
        .iter()
        .flat_map(|latest| numbers(&seen::facts(latest, &keys::CLOCK_OFFSET_UNCERTAINTY, is_host)))
        .fold(0.0, f64::max);
    let mut measured = worst(latest, offsets, f64::max)?;
    measured.interval = measured.value.map(|offset| ((offset - uncertainty).max(0.0), offset + uncertainty));
    Ok(measured)
}

/// Promises that do not hold, over all hosts. What nobody found is no mismatch; something must have been compared.
fn mismatches(case: &Case<'_>) -> Result<Measured, Why> {
    let compared: Vec<_> =
        case.promises.iter().filter(|row| matches!(row.agreement, Agreement::Match | Agreement::Mismatch)).collect();
    if compared.is_empty() {
        return Err(if case.promises.iter().all(|row| row.promised.is_none()) {
            Why::NoThreshold
        } else {
            Why::NeverRun
        });
    }
    let n = compared.iter().filter(|row| row.agreement == Agreement::Mismatch).count();
    let mut evidence = Vec::new();
    for id in compared.iter().flat_map(|row| &row.evidence) {
        if !evidence.contains(id) {
            evidence.push(id.clone());
        }
    }
    Ok(Measured { value: Some(as_f64(n)), samples: Some(compared.len() as u64), evidence, ..Measured::default() })
}

/// Whether a promise holds on every host: 1 or 0.
fn promise(field: &str, case: &Case<'_>, latest: &[&Kept]) -> Result<Measured, Why> {
    let rows: Vec<_> = case.promises.iter().filter(|row| row.field == field).collect();
    let mut measured = Measured { value: Some(1.0), samples: Some(rows.len() as u64), ..Measured::default() };
    for row in rows {
        match row.agreement {
            Agreement::Match => {}
            Agreement::Mismatch => measured.value = Some(0.0),
            Agreement::NotStated => return Err(Why::NoThreshold),
            Agreement::NotFound => return Err(why_nothing(latest, &[])),
        }
        measured.evidence.extend(row.evidence.iter().cloned());
    }
    Ok(measured)
}

fn is_held_down(reasons: &str) -> bool {
    let reasons = reasons.to_lowercase();
    ["hw", "thermal", "brake"].iter().any(|word| reasons.contains(word))
}

fn numbers(facts: &[Known<'_>]) -> Vec<f64> {
    facts.iter().filter_map(|known| number(known.fact.value.as_ref().ok()?)).collect()
}

fn number(value: &Value) -> Option<f64> {
    value.as_f64().filter(|number| number.is_finite())
}

fn text(value: &Value) -> Option<&str> {
    match value {
        Value::Text(text) => Some(text),
        Value::Int(_) | Value::Float(_) => None,
    }
}

/// Why a fact has no value: what the tool says, or what kept its answer from being read, or nobody asked.
fn why_nothing(latest: &[&Kept], facts: &[Known<'_>]) -> Why {
    facts
        .iter()
        .find_map(|known| known.fact.value.as_ref().err())
        .or_else(|| seen::why_absent(latest, |probe| probe.starts_with("gpu")).map(|(absent, _)| absent))
        .map_or(Why::NeverRun, could_not)
}

fn could_not(absent: &Absent) -> Why {
    match absent.kind {
        AbsentKind::NotRun => Why::NeverRun,
        _ => Why::CouldNotRun(absent.to_string()),
    }
}

fn cite<'a>(evidence: &mut Vec<EvidenceId>, records: impl IntoIterator<Item = &'a Kept>) {
    for kept in records {
        if !evidence.contains(&kept.id) {
            evidence.push(kept.id.clone());
        }
    }
}

// ---- load ----

fn load(criterion: &Criterion, case: &Case<'_>) -> Result<Measured, Why> {
    let real: Vec<&Run> = case.seen.runs.iter().map(AsRef::as_ref).filter(|run| run.kind() == Kind::Real).collect();
    if real.is_empty() {
        return Err(if case.seen.runs.is_empty() { Why::NeverRun } else { Why::OnlyPractice });
    }
    let valid: Vec<&Run> = real.into_iter().filter(|run| run.is_valid()).collect();
    if valid.is_empty() {
        return Err(Why::OnlyInvalid);
    }
    let valid: Vec<&Run> = valid.into_iter().filter(|run| run.is_sound()).collect();
    let newest = *valid.first().ok_or_else(|| Why::CouldNotRun("only_unfinished".to_owned()))?;
    let measured = match criterion.metric {
        Metric::ValidRuns => return Ok(valid_runs(&valid, criterion, case)),
        Metric::CompletedRequests => {
            let completed = newest.points.iter().map(|point| u64::from(point.counts.completed)).sum();
            let sent = newest.points.iter().map(|point| u64::from(point.counts.sent)).sum();
            Measured { value: Some(count_f64(completed)), samples: Some(sent), ..Measured::default() }
        }
        Metric::UsageCounted => usage_counted(newest)?,
        metric => at_peak(metric, newest, case)?,
    };
    Ok(Measured { evidence: vec![newest.id.clone()], changed: changed_since(&newest.record, case), ..measured })
}

/// Valid runs under the brief and on the hosts as they are. Fewer than wanted are too few samples, not a failure; where
/// only older ones exist, they are stale.
fn valid_runs(valid: &[&Run], criterion: &Criterion, case: &Case<'_>) -> Measured {
    let current: Vec<&Run> = valid.iter().copied().filter(|run| changed_since(&run.record, case).is_none()).collect();
    let changed =
        if current.is_empty() { valid.first().and_then(|run| changed_since(&run.record, case)) } else { None };
    let counted = if current.is_empty() { valid } else { &current };
    let need = match criterion.threshold {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float casts saturate")]
        Threshold::Number(need) => need.ceil() as u64,
        Threshold::Promised | Threshold::Brief => 1,
    };
    let have = counted.len() as u64;
    Measured {
        value: Some(as_f64(counted.len())),
        samples: Some(have),
        evidence: counted.iter().map(|run| run.id.clone()).collect(),
        few: (have < need).then_some((have, need)),
        changed,
        ..Measured::default()
    }
}

/// Share of accepted answers whose tokens the server counted. All answers were looked at, so it has no interval.
fn usage_counted(run: &Run) -> Result<Measured, Why> {
    let completed: u64 = run.tokens.iter().map(|tokens| tokens.completed).sum();
    let by_usage: u64 = run.tokens.iter().map(|tokens| tokens.by_usage).sum();
    if completed == 0 {
        return Err(Why::CouldNotRun("nothing_completed".to_owned()));
    }
    Ok(Measured {
        value: Some(count_f64(by_usage) / count_f64(completed)),
        samples: Some(completed),
        ..Measured::default()
    })
}

/// The step at the brief's peak: within 1 % of it, or the lowest above; where none is, the highest that was run.
fn peak_step(run: &Run, peak: f64) -> Option<(&StepPoint, f64)> {
    let mut steps: Vec<(&StepPoint, f64)> = run
        .points
        .iter()
        .filter(|point| step::is_whole(point))
        .filter_map(|point| Some((point, step::rate(point)?)))
        .collect();
    steps.sort_by(|a, b| a.1.total_cmp(&b.1));
    let at_peak = steps.iter().rev().find(|(_, rate)| step::is_same_rate(*rate, peak));
    at_peak.or_else(|| steps.iter().find(|(_, rate)| *rate >= peak)).or_else(|| steps.last()).copied()
}

fn at_peak(metric: Metric, run: &Run, case: &Case<'_>) -> Result<Measured, Why> {
    let peak = case.brief.peak_rate.filter(|peak| *peak > 0.0).ok_or(Why::NoThreshold)?;
    let (point, rate) = peak_step(run, peak).ok_or(Why::NeverRun)?;
    let sent = u64::from(point.counts.sent);
    let of_share = |hits: u32| Measured {
        value: Some(f64::from(hits) / count_f64(sent)),
        interval: interval::wilson(u64::from(hits), sent),
        samples: Some(sent),
        ..Measured::default()
    };
    let measured = match metric {
        Metric::TtftP95 => p95(point.ttft),
        Metric::ItlP95 if point.gap_not_measurable => {
            return Err(Why::CouldNotRun("gap_not_measurable".to_owned()));
        }
        Metric::ItlP95 => p95(point.gap),
        Metric::E2eP95 => p95(point.e2el),
        Metric::ErrorShare => of_share(point.counts.failed + point.counts.cut),
        Metric::AcceptedShare => of_share(step::accepted(point)),
        _ => Measured {
            value: Some(point.output_tokens_per_sec.ok_or_else(|| Why::CouldNotRun("tokens_not_counted".to_owned()))?),
            samples: Some(sent),
            ..Measured::default()
        },
    };
    let below_peak = (rate < peak && !step::is_same_rate(rate, peak)).then_some((rate, peak));
    Ok(Measured { below_peak, ..measured })
}

/// The 95th percentile in ms with its interval; without enough samples no value, and the counts instead.
fn p95(summary: Option<Summary>) -> Measured {
    let have = summary.map_or(0, |summary| summary.n);
    match summary.and_then(|summary| Some((summary.p95?, summary.p95_interval))) {
        Some((p95, interval)) => Measured {
            value: Some(p95 * 1e3),
            interval: interval.map(|(low, high)| (low * 1e3, high * 1e3)),
            samples: Some(have),
            ..Measured::default()
        },
        None => Measured { samples: Some(have), few: Some((have, stats::min_samples(0.95))), ..Measured::default() },
    }
}

// ---- attested ----

fn attested(criterion: &Criterion, case: &Case<'_>) -> Result<Measured, Why> {
    let about =
        |kept: &&Kept| matches!(&kept.record.source, Source::Manual { criterion: Some(id), .. } if *id == criterion.id);
    let (mut has_other, mut newest) = (false, None);
    for kept in case.seen.manual.iter().filter(about) {
        if kept.record.kind == Kind::Real {
            newest = newest.or(Some(kept));
        } else {
            has_other = true;
        }
    }
    let kept = newest.ok_or(if has_other { Why::OnlyPractice } else { Why::NeverRun })?;
    let holds = matches!(&kept.record.source, Source::Manual { holds: true, .. });
    Ok(Measured {
        value: Some(f64::from(u8::from(holds))),
        samples: Some(1),
        evidence: vec![kept.id.clone()],
        changed: changed_since(&kept.record, case),
        ..Measured::default()
    })
}

// ---- staleness ----

/// What changed since this record was made: the brief, or a fact of the candidate's hosts.
fn changed_since(record: &Record, case: &Case<'_>) -> Option<&'static str> {
    if record.brief_digest.as_deref() != case.digest {
        return Some("brief");
    }
    case.seen.hosts.iter().find_map(|host| host.changed_since(record.taken_at))
}

#[allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
fn as_f64(n: usize) -> f64 {
    n as f64
}

#[allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
fn count_f64(n: u64) -> f64 {
    n as f64
}
