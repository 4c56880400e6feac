//! One step of a run as a point on every curve, and whether the run measured the server or its own client.

use super::brief::Slo;
use super::latency;
use super::load::{
    Arrivals, Counts, LoadPlan, LoadRecord, Outcome, OutcomeClass, RequestRecord, StepRecord, TokenSource,
};
use super::stats;

/// The share of tokens without an event of their own up to which gaps are still shown. Tokens that share an event hide
/// gaps of about zero, so what is shown errs to the slow side by at most this many percentile points. Real servers
/// merge a token now and then; speculative decoding does it always.
pub const UNMATCHED_TOLERANCE: f64 = 0.01;

/// A step's figures. Latencies are seconds from the *start* of the guide: intended send time in rate-driven runs,
/// actual send time in concurrency-driven runs.
#[derive(Debug, Clone, PartialEq)]
pub struct StepPoint {
    /// Index of the step in its run.
    pub step_idx: usize,
    /// Requests in flight, or requests a second, as asked.
    pub level: f64,
    /// How requests started.
    pub arrivals: Arrivals,
    /// Length of the step: from its start to the end of its last request, s.
    pub secs: f64,
    /// Requests by what became of them.
    pub counts: Counts,
    /// Start to first token of any kind.
    pub ttft: Option<Summary>,
    /// Start to first visible text.
    pub ttfc: Option<Summary>,
    /// Gap between neighbouring token events; `None` also where events and tokens do not match.
    pub gap: Option<Summary>,
    /// Whether `gap` is missing because events and tokens do not match.
    pub gap_not_measurable: bool,
    /// Mean time per output token after the first event, one value a request.
    pub tpot: Option<Summary>,
    /// Start to last token.
    pub e2el: Option<Summary>,
    /// Output tokens of all requests, complete or not, as far as counted.
    pub output_tokens: u64,
    /// Mean input tokens of completed requests by `usage`.
    pub input_tokens_mean: Option<f64>,
    /// The weakest source among the counts.
    pub token_source: TokenSource,
    /// Output tokens a second over the step.
    pub output_tokens_per_sec: Option<f64>,
    /// Finished requests (completed and rejected) a second over the step.
    pub requests_per_sec: Option<f64>,
    /// Sent requests a second over the sending part of the step.
    pub offered_per_sec: Option<f64>,
    /// Completed requests within every limit that is set; `None` when no limit is set.
    pub within_slo: Option<u32>,
    /// `within_slo` a second over the step.
    pub goodput_per_sec: Option<f64>,
    /// Most requests in flight at once.
    pub peak_in_flight: u32,
    /// Still running: the figures move.
    pub provisional: bool,
}

/// A distribution in short, s. A percentile without enough samples is `None`: p50 needs 20, p95 200, p99 1,000.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// Samples.
    pub n: u64,
    /// Mean.
    pub mean: f64,
    /// Median, from 20 samples on.
    pub p50: Option<f64>,
    /// 95th percentile, from 200 samples on.
    pub p95: Option<f64>,
    /// 95 % interval of `p95` by order statistics ([`super::interval::percentile`]); `None` without `p95`.
    pub p95_interval: Option<(f64, f64)>,
    /// 99th percentile, from 1,000 samples on.
    pub p99: Option<f64>,
}

/// Every step of a run as a point, in order.
#[must_use]
pub fn points(run: &LoadRecord) -> Vec<StepPoint> {
    run.steps.iter().enumerate().map(|(step_idx, step)| point(&run.plan, step_idx, step)).collect()
}

/// One step as a point. Latencies are those of complete answers; counts and tokens are those of all requests.
#[must_use]
pub fn point(plan: &LoadPlan, step_idx: usize, step: &StepRecord) -> StepPoint {
    let secs = (step.end_secs - step.start_secs).max(0.0);
    let per_sec = |n: f64| (secs > 0.0).then(|| n / secs);
    let complete: Vec<&RequestRecord> = step.requests.iter().filter(|request| latency::is_complete(request)).collect();
    let of = |each: &dyn Fn(&RequestRecord) -> Option<f64>| {
        let mut values: Vec<f64> = complete.iter().filter_map(|request| each(request)).collect();
        stats::summary(&mut values)
    };
    let (gap, gap_not_measurable) = gap_summary(&complete);
    let output_tokens = step.requests.iter().map(|request| u64::from(request.output_tokens.unwrap_or(0))).sum();
    let token_source = step
        .requests
        .iter()
        .filter(|request| request.events > 0 || latency::is_complete(request))
        .map(|request| request.token_source)
        .max()
        .unwrap_or(TokenSource::None);
    let inputs: Vec<f64> = complete.iter().filter_map(|request| request.input_tokens).map(f64::from).collect();
    let within_slo = has_request_limit(&plan.slo)
        .then(|| count(complete.iter().filter(|request| is_within(request, plan.arrivals, &plan.slo)).count()));
    StepPoint {
        step_idx,
        level: step.level,
        arrivals: plan.arrivals,
        secs,
        counts: counts(step.asked, &step.requests),
        ttft: of(&|request| latency::ttft(request, plan.arrivals)),
        ttfc: of(&|request| latency::ttfc(request, plan.arrivals)),
        gap,
        gap_not_measurable,
        tpot: of(&latency::tpot),
        e2el: of(&|request| latency::e2el(request, plan.arrivals)),
        output_tokens,
        input_tokens_mean: stats::mean(&inputs),
        token_source,
        output_tokens_per_sec: if token_source == TokenSource::None { None } else { per_sec(as_f64(output_tokens)) },
        requests_per_sec: per_sec(as_f64(complete.len() as u64)),
        offered_per_sec: offered(&step.requests),
        within_slo,
        goodput_per_sec: within_slo.and_then(|n| per_sec(f64::from(n))),
        peak_in_flight: peak_in_flight(&step.requests),
        provisional: false,
    }
}

/// Requests by what became of them.
#[must_use]
pub fn counts(asked: u32, requests: &[RequestRecord]) -> Counts {
    let mut counts = Counts { asked, sent: count(requests.len()), ..Counts::default() };
    for request in requests {
        *match request.outcome.class() {
            OutcomeClass::Completed => &mut counts.completed,
            OutcomeClass::Failed => &mut counts.failed,
            OutcomeClass::Rejected => &mut counts.rejected,
            OutcomeClass::Cut => &mut counts.cut,
        } += 1;
        *counts.causes.entry(request.outcome.cause()).or_insert(0) += 1;
    }
    counts
}

/// Whether any limit is set that one request can keep or break.
#[must_use]
pub fn has_request_limit(slo: &Slo) -> bool {
    slo.ttft_p95_ms.is_some() || slo.itl_p95_ms.is_some() || slo.e2e_p95_ms.is_some()
}

/// Whether a request is accepted and within every limit that is set.
///
/// For the gap limit it is the request's own 95th percentile of gaps that counts, or its TPOT where events and tokens do
/// not match; a request with one token has no gap and keeps it. A latency that does not exist keeps no limit.
#[must_use]
pub fn is_within(request: &RequestRecord, arrivals: Arrivals, slo: &Slo) -> bool {
    let keeps = |secs: Option<f64>, limit_ms: Option<f64>| {
        limit_ms.is_none_or(|limit| secs.is_some_and(|secs| secs * 1e3 <= limit))
    };
    request.outcome == Outcome::Completed
        && keeps(latency::ttft(request, arrivals), slo.ttft_p95_ms)
        && keeps(latency::e2el(request, arrivals), slo.e2e_p95_ms)
        && slo.itl_p95_ms.is_none_or(|limit| {
            let gap = if latency::unmatched(request) == 0 {
                let mut gaps: Vec<f64> = latency::gaps(request).collect();
                gaps.sort_unstable_by(f64::total_cmp);
                stats::percentile(&gaps, 0.95)
            } else {
                latency::tpot(request)
            };
            gap.is_none_or(|secs| secs * 1e3 <= limit) && request.events > 0
        })
}

/// One condition a run must keep so that it measured the server and not its own client.
#[derive(Debug, Clone, PartialEq)]
pub struct ValidityItem {
    /// Name in snake case ("lateness_p99_ms"); `Text::name` has the words.
    pub name: &'static str,
    /// Whether it holds.
    pub ok: bool,
    /// The value, in the unit of the name; `None` when it was not measured.
    pub value: Option<f64>,
    /// The limit; the value may reach it.
    pub limit: f64,
}

/// The conditions of a run with what was measured. What should have been measured and was not does not hold.
#[must_use]
pub fn validity(run: &LoadRecord) -> Vec<ValidityItem> {
    let (client, limits) = (&run.client, &run.plan.validity);
    let item = |name, value: Option<f64>, limit: f64| ValidityItem {
        name,
        ok: value.is_some_and(|value| value <= limit),
        value,
        limit,
    };
    let available = client.wall_secs * f64::from(client.cores);
    let cpu_share = (available > 0.0).then(|| client.cpu_secs / available);
    let mut items = Vec::new();
    if run.plan.arrivals != Arrivals::Concurrency {
        items.push(item("lateness_p99_ms", client.lateness_p99_ms, limits.lateness_p99_ms));
    }
    items.push(item("loop_lag_p99_ms", client.loop_lag_p99_ms, limits.loop_lag_p99_ms));
    items.push(item("cpu_share", cpu_share, limits.cpu_share));
    items.push(item("lost_samples", Some(f64::from(client.lost)), 0.0));
    items
}

/// Whether the run measured the server; an invalid run satisfies no criterion.
#[must_use]
pub fn is_valid(run: &LoadRecord) -> bool {
    validity(run).iter().all(|item| item.ok)
}

/// Gaps of all complete requests pooled, and whether they are missing because events and tokens do not match.
fn gap_summary(complete: &[&RequestRecord]) -> (Option<Summary>, bool) {
    let unmatched: u64 = complete.iter().map(|request| u64::from(latency::unmatched(request))).sum();
    let tokens: u64 = complete.iter().map(|request| u64::from(request.output_tokens.unwrap_or(request.events))).sum();
    if as_f64(unmatched) > UNMATCHED_TOLERANCE * as_f64(tokens) {
        return (None, true);
    }
    let mut gaps: Vec<f64> = complete.iter().flat_map(|request| latency::gaps(request)).collect();
    (stats::summary(&mut gaps), false)
}

/// Requests a second between the first and the last send; `None` for fewer than two.
fn offered(requests: &[RequestRecord]) -> Option<f64> {
    let sent = || requests.iter().map(|request| request.sent_secs);
    let (first, last) = (sent().min_by(f64::total_cmp)?, sent().max_by(f64::total_cmp)?);
    (last > first).then(|| as_f64(requests.len() as u64 - 1) / (last - first))
}

/// Most requests in flight at once, by their intervals from send to end.
fn peak_in_flight(requests: &[RequestRecord]) -> u32 {
    let mut edges: Vec<(f64, i32)> =
        requests.iter().flat_map(|request| [(request.sent_secs, 1), (request.end_secs, -1)]).collect();
    // An end and a send at the same instant are one after the other: the end comes first.
    edges.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let (mut now, mut peak) = (0_i32, 0_i32);
    for (_, step) in edges {
        now += step;
        peak = peak.max(now);
    }
    u32::try_from(peak).unwrap_or(0)
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[allow(clippy::cast_precision_loss, reason = "counts of requests and tokens are far below 2^53")]
fn as_f64(n: u64) -> f64 {
    n as f64
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::domain::brief::AcceptRule;
    use crate::domain::load::{Api, ClientHealth, Prompts, RunEnd, StagePlan, Timeouts, Until, ValidityLimits};

    /// `n` complete requests of 11 tokens, 0.1 s to the first, 10 ms apart, one started every second.
    fn step(n: u32) -> StepRecord {
        let requests: Vec<RequestRecord> = (0..n)
            .map(|idx| {
                let at = f64::from(idx);
                RequestRecord {
                    intended_secs: at,
                    sent_secs: at + 0.01,
                    first_token_secs: Some(at + 0.1),
                    first_text_secs: Some(at + 0.1),
                    last_token_secs: Some(at + 0.2),
                    end_secs: at + 0.21,
                    gaps_us: vec![10_000; 10],
                    events: 11,
                    merged: false,
                    first_event_tokens: 1,
                    input_tokens: Some(100),
                    output_tokens: Some(11),
                    token_source: TokenSource::Usage,
                    outcome: Outcome::Completed,
                    message: String::new(),
                }
            })
            .collect();
        StepRecord { level: 1.0, start_secs: 0.0, end_secs: f64::from(n) - 0.79, asked: n, requests }
    }

    fn plan() -> LoadPlan {
        LoadPlan {
            base_url: "http://127.0.0.1:1".into(),
            model: "m".into(),
            api: Api::Chat,
            prompts: Prompts::Synthetic { input_tokens: 100, output_tokens: 11 },
            arrivals: Arrivals::Constant,
            stages: vec![StagePlan { level: 1.0, until: Until::Requests(4) }],
            warmup_requests: 0,
            timeouts: Timeouts::default(),
            validity: ValidityLimits::default(),
            slo: Slo { ttft_p95_ms: Some(150.0), itl_p95_ms: Some(15.0), ..Slo::default() },
            acceptance: AcceptRule::AnyComplete,
            seed: 1,
            api_key_env: None,
        }
    }

    pub(crate) fn run(client: ClientHealth) -> LoadRecord {
        LoadRecord {
            plan: plan(),
            steps: vec![step(4)],
            client,
            ended: RunEnd::Done,
            gpu_samples: Vec::new(),
            server: String::new(),
            refused_options: Vec::new(),
            gpu_gap: None,
        }
    }

    #[test]
    fn a_step_becomes_a_point() {
        let mut step = step(4);
        step.requests[1].outcome = Outcome::Status(503);
        step.requests[1].output_tokens = None;
        step.requests[1].events = 0;
        step.requests[1].token_source = TokenSource::None;
        step.requests[2].outcome = Outcome::Rejected;
        step.requests[3].first_token_secs = Some(3.5);
        let point = point(&plan(), 0, &step);
        assert_eq!(
            (point.counts.asked, point.counts.sent, point.counts.completed, point.counts.failed, point.counts.rejected),
            (4, 4, 2, 1, 1)
        );
        assert_eq!(
            point.counts.causes.into_iter().collect::<Vec<_>>(),
            [("completed".to_owned(), 2), ("rejected".to_owned(), 1), ("status_503".to_owned(), 1)]
        );
        assert_eq!(point.ttft.map(|ttft| ttft.n), Some(3), "the failed request has no latency");
        assert!((point.ttft.unwrap().mean - (0.1 + 0.1 + 0.5) / 3.0).abs() < 1e-9, "from the intended time");
        assert_eq!(point.ttft.unwrap().p50, None, "three samples are no median");
        assert_eq!(point.gap.map(|gap| (gap.n, gap.p50)), Some((30, Some(0.01))));
        assert_eq!(point.within_slo, Some(1), "one is late, one is rejected, one failed");
        assert_eq!(point.output_tokens, 33);
        assert_eq!(point.token_source, TokenSource::Usage);
        assert_eq!(point.peak_in_flight, 1);
        assert!((point.offered_per_sec.unwrap() - 1.0).abs() < 1e-9);
        assert_eq!(point.input_tokens_mean, Some(100.0));
    }

    #[test]
    fn merged_tokens_leave_the_gap_unmeasured_but_rare_ones_do_not() {
        for (name, merged, measurable) in
            [("none", 0, true), ("one in a hundred requests", 1, true), ("many", 50, false)]
        {
            let mut step = step(100);
            for request in step.requests.iter_mut().take(merged) {
                request.events = 10;
                request.merged = true;
                request.gaps_us.pop();
            }
            let point = point(&plan(), 0, &step);
            assert_eq!((point.gap.is_some(), point.gap_not_measurable), (measurable, !measurable), "{name}");
        }
    }

    #[test]
    fn goodput_needs_a_limit() {
        let mut plan = plan();
        plan.slo = Slo { output_tokens_per_sec: Some(1.0), ..Slo::default() };
        let point = point(&plan, 0, &step(4));
        assert_eq!((point.within_slo, point.goodput_per_sec), (None, None));
    }

    #[test]
    fn in_flight_counts_overlaps() {
        let mut step = step(4);
        for request in &mut step.requests {
            request.end_secs = 2.5;
        }
        step.requests[3].end_secs = 3.2;
        assert_eq!(peak_in_flight(&step.requests), 3);
    }

    #[test]
    fn a_run_is_invalid_for_each_reason_of_its_own() {
        let good = ClientHealth {
            cpu_secs: 1.0,
            wall_secs: 10.0,
            cores: 1,
            loop_lag_p99_ms: Some(1.0),
            lateness_p99_ms: Some(1.0),
            lost: 0,
            rss_mib: None,
        };
        type Case = (&'static str, fn(&mut ClientHealth), &'static [&'static str]);
        let cases: [Case; 6] = [
            ("sound", |_| {}, &[]),
            ("late", |client| client.lateness_p99_ms = Some(5.1), &["lateness_p99_ms"]),
            ("not measured", |client| client.lateness_p99_ms = None, &["lateness_p99_ms"]),
            ("lagging", |client| client.loop_lag_p99_ms = Some(9.0), &["loop_lag_p99_ms"]),
            ("busy", |client| client.cpu_secs = 7.1, &["cpu_share"]),
            ("lost", |client| client.lost = 1, &["lost_samples"]),
        ];
        for (name, change, broken) in cases {
            let mut client = good.clone();
            change(&mut client);
            let run = run(client);
            let got: Vec<&str> = validity(&run).iter().filter(|item| !item.ok).map(|item| item.name).collect();
            assert_eq!(got, broken, "{name}");
            assert_eq!(is_valid(&run), broken.is_empty(), "{name}");
        }
    }
}
