//! A run second by second: what its client saw, for plots over time.

use super::latency;
use super::load::{Arrivals, LoadRecord, Outcome, RequestRecord};
use super::stats;

/// How far back the percentiles of a row look, s.
pub const WINDOW_SECS: f64 = 5.0;
/// Rows beyond this are not made: a run of a week is no plot by the second.
const MOST_ROWS: u32 = 100_000;

/// One second of a load run.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LiveRow {
    /// Seconds since the start of the run.
    pub at_secs: f64,
    /// Median TTFT of requests whose first token came in the last 5 s, ms.
    pub ttft_p50_ms: Option<f64>,
    /// Their 95th percentile, ms; from few samples, for the eye and for no verdict.
    pub ttft_p95_ms: Option<f64>,
    /// Requests finished a second.
    pub achieved_per_sec: f64,
    /// Requests a second asked for in rate-driven runs.
    pub offered_per_sec: Option<f64>,
    /// Requests in flight.
    pub in_flight: u32,
    /// Send lateness p99 of the last 5 s, ms.
    pub lateness_p99_ms: Option<f64>,
    /// Output tokens a second.
    pub tokens_per_sec: f64,
}

/// The rows of a finished run, one a second. Tokens count in the second in which their request ended.
#[must_use]
pub fn timeline(run: &LoadRecord) -> Vec<LiveRow> {
    let arrivals = run.plan.arrivals;
    let requests: Vec<&RequestRecord> = run.steps.iter().flat_map(|step| &step.requests).collect();
    let first_tokens = sorted(
        requests
            .iter()
            .filter_map(|request| Some((request.first_token_secs?, latency::ttft(request, arrivals)? * 1e3))),
    );
    let sends = sorted(requests.iter().map(|request| (request.sent_secs, latency::lateness(request) * 1e3)));
    let ends = sorted(
        requests
            .iter()
            .filter(|request| request.outcome != Outcome::Cancelled)
            .map(|request| (request.end_secs, f64::from(request.output_tokens.unwrap_or(0)))),
    );
    let begins = sorted(requests.iter().map(|request| (request.sent_secs, 0.0)));
    let closes = sorted(requests.iter().map(|request| (request.end_secs, 0.0)));
    let last = closes.last().map_or(0.0, |(at, _)| *at);
    let mut rows = Vec::new();
    for second in 1..=MOST_ROWS {
        let at = f64::from(second);
        if at >= last + 1.0 {
            break;
        }
        let recent = |values: &[(f64, f64)]| {
            let mut window: Vec<f64> = between(values, at - WINDOW_SECS, at).iter().map(|(_, value)| *value).collect();
            window.sort_unstable_by(f64::total_cmp);
            window
        };
        let (ttfts, latenesses) = (recent(&first_tokens), recent(&sends));
        let ended = between(&ends, at - 1.0, at);
        let step = run.steps.iter().rev().find(|step| step.start_secs <= at);
        rows.push(LiveRow {
            at_secs: at,
            ttft_p50_ms: stats::percentile(&ttfts, 0.5),
            ttft_p95_ms: stats::percentile(&ttfts, 0.95),
            achieved_per_sec: f64::from(count(ended.len())),
            offered_per_sec: if arrivals == Arrivals::Concurrency { None } else { step.map(|step| step.level) },
            in_flight: count(until(&begins, at)).saturating_sub(count(until(&closes, at))),
            lateness_p99_ms: stats::percentile(&latenesses, 0.99),
            tokens_per_sec: ended.iter().map(|(_, tokens)| tokens).sum(),
        });
    }
    rows
}

fn sorted(values: impl Iterator<Item = (f64, f64)>) -> Vec<(f64, f64)> {
    let mut values: Vec<(f64, f64)> = values.collect();
    values.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    values
}

/// How many lie at or before `at`.
fn until(values: &[(f64, f64)], at: f64) -> usize {
    values.partition_point(|(when, _)| *when <= at)
}

/// Those after `from`, up to and with `to`.
fn between(values: &[(f64, f64)], from: f64, to: f64) -> &[(f64, f64)] {
    values.get(until(values, from)..until(values, to)).unwrap_or_default()
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::curve::tests::run;
    use crate::domain::load::ClientHealth;

    /// Four requests, one a second from 0 on, each 0.1 s to its first token and 0.21 s in all, 11 tokens.
    #[test]
    fn every_second_has_its_row() {
        let rows = timeline(&run(ClientHealth::default()));
        let shown: Vec<(f64, f64, u32, f64)> =
            rows.iter().map(|row| (row.at_secs, row.achieved_per_sec, row.in_flight, row.tokens_per_sec)).collect();
        assert_eq!(shown, [(1.0, 1.0, 0, 11.0), (2.0, 1.0, 0, 11.0), (3.0, 1.0, 0, 11.0), (4.0, 1.0, 0, 11.0)]);
        assert!(rows.iter().all(|row| row.offered_per_sec == Some(1.0)));
        assert!(rows.iter().all(|row| row.ttft_p50_ms.is_some_and(|ms| (ms - 100.0).abs() < 1e-6)));
        assert!(rows.iter().all(|row| row.lateness_p99_ms.is_some_and(|ms| (ms - 10.0).abs() < 1e-6)));
    }

    #[test]
    fn a_run_without_requests_has_no_rows() {
        let mut run = run(ClientHealth::default());
        run.steps.clear();
        assert!(timeline(&run).is_empty());
    }
}
