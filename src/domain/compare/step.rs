//! Whether a measured step kept the brief's limits, and at which rate it did so.

use crate::domain::brief::Slo;
use crate::domain::curve::{StepPoint, Summary};
use crate::domain::figure::{Gap, GapKind};
use crate::domain::load::Arrivals;
use crate::domain::stats;

/// What a step says about the limits.
#[derive(Debug, Clone, PartialEq)]
pub enum Kept {
    /// Every limit that is set was kept.
    Within,
    /// This limit was broken (a name of `Text::name`).
    Beyond(&'static str),
    /// No limit was broken, and one could not be judged.
    Unjudged(Gap),
}

/// Whether a step kept the limits on latency and errors, by its own percentiles.
///
/// The limit on throughput is left out: below the peak nobody offers that many tokens. It has its own criterion.
#[must_use]
pub fn kept(point: &StepPoint, slo: &Slo) -> Kept {
    let limits = [
        ("slo_ttft_p95", p95(point.ttft, slo.ttft_p95_ms)),
        ("slo_itl_p95", itl(point, slo.itl_p95_ms)),
        ("slo_e2e_p95", p95(point.e2el, slo.e2e_p95_ms)),
        ("slo_error_share", slo.error_share.map_or(Ok(true), |limit| Ok(error_share(point) <= limit))),
    ];
    let mut unjudged = None;
    for (name, limit) in limits {
        match limit {
            Ok(true) => {}
            Ok(false) => return Kept::Beyond(name),
            Err(gap) => {
                unjudged.get_or_insert(gap);
            }
        }
    }
    unjudged.map_or(Kept::Within, Kept::Unjudged)
}

/// Share of the requests sent that failed or were cut; 0 when none was sent.
#[must_use]
pub fn error_share(point: &StepPoint) -> f64 {
    match point.counts.sent {
        0 => 0.0,
        sent => f64::from(point.counts.failed + point.counts.cut) / f64::from(sent),
    }
}

/// Requests accepted: within every limit one request can keep, or complete and accepted where no such limit is set.
#[must_use]
pub fn accepted(point: &StepPoint) -> u32 {
    point.within_slo.unwrap_or(point.counts.completed)
}

/// Accepted requests a second over the step; `None` for a step without length.
#[must_use]
pub fn accepted_per_sec(point: &StepPoint) -> Option<f64> {
    (point.secs > 0.0).then(|| f64::from(accepted(point)) / point.secs)
}

/// The rate at which the step loaded the endpoint, requests a second: the level of a rate-driven step, what was
/// achieved in a concurrency-driven one.
#[must_use]
pub fn rate(point: &StepPoint) -> Option<f64> {
    match point.arrivals {
        Arrivals::Concurrency => point.requests_per_sec,
        Arrivals::Constant | Arrivals::Poisson => Some(point.level),
    }
    .filter(|rate| *rate > 0.0)
}

/// Whether the step ran to its end. A step in which we cancelled requests says nothing about the server.
#[must_use]
pub fn is_whole(point: &StepPoint) -> bool {
    !point.provisional && point.counts.sent > 0 && !point.counts.causes.contains_key("cancelled")
}

/// Whether two rates are the same level: within 1 %.
#[must_use]
pub fn is_same_rate(a: f64, b: f64) -> bool {
    (a - b).abs() <= 0.01 * b.abs()
}

fn itl(point: &StepPoint, limit_ms: Option<f64>) -> Result<bool, Gap> {
    match limit_ms {
        Some(_) if point.gap_not_measurable => Err(Gap::new(GapKind::NotMeasurable)),
        limit_ms => p95(point.gap, limit_ms),
    }
}

fn p95(summary: Option<Summary>, limit_ms: Option<f64>) -> Result<bool, Gap> {
    let Some(limit) = limit_ms else { return Ok(true) };
    match summary.and_then(|summary| summary.p95) {
        Some(p95) => Ok(p95 * 1e3 <= limit),
        None => Err(Gap::new(GapKind::TooFewSamples)
            .with("have", summary.map_or(0, |summary| summary.n))
            .with("need", stats::min_samples(0.95))),
    }
}
