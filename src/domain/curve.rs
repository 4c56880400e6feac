//! One step of a run as a point on every curve.

use super::load::{Arrivals, Counts, TokenSource};

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
