//! From a criterion and what was seen to a verdict. Only real evidence counts; a practice or replayed record satisfies
//! nothing, an invalid run satisfies nothing.

use chrono::NaiveDate;

use super::measure::{self, Measured};
use super::{Comparison, Criterion, Judged, Metric, Threshold, Verdict, Waiver, Why};
use crate::domain::brief::Brief;
use crate::domain::candidate::Candidate;
use crate::domain::compare::promises::{self, PromiseRow};
use crate::domain::seen::Seen;

/// What a criterion is judged by.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    /// The brief.
    pub brief: &'a Brief,
    /// Its digest as it is now.
    pub digest: Option<&'a str>,
    /// The candidate.
    pub candidate: &'a Candidate,
    /// What was seen of it.
    pub seen: &'a Seen,
    /// Its promises against real records alone.
    pub promises: &'a [PromiseRow],
    /// Today, for the expiry of waivers.
    pub today: NaiveDate,
}

/// The verdict of one criterion for one candidate.
#[must_use]
pub fn judge(criterion: &Criterion, case: &Case<'_>) -> Judged {
    let threshold = threshold(criterion, case);
    let mut judged = Judged {
        criterion: criterion.id.clone(),
        verdict: Verdict::NotTested,
        why: Why::NoThreshold,
        value: None,
        interval: None,
        threshold,
        samples: None,
        evidence: Vec::new(),
        waiver: waiver_in_force(criterion, case),
    };
    match (threshold, measure::measure(criterion, case)) {
        (_, Err(why)) => judged.why = why,
        (None, Ok(measured)) => fill_in(&mut judged, &measured),
        (Some(threshold), Ok(measured)) => {
            fill_in(&mut judged, &measured);
            (judged.verdict, judged.why) = verdict(criterion, threshold, &measured);
        }
    }
    judged
}

fn fill_in(judged: &mut Judged, measured: &Measured) {
    judged.value = measured.value;
    judged.interval = measured.interval;
    judged.samples = measured.samples;
    judged.evidence.clone_from(&measured.evidence);
}

fn verdict(criterion: &Criterion, threshold: f64, measured: &Measured) -> (Verdict, Why) {
    if let Some(what) = measured.changed {
        return (Verdict::Stale, Why::Changed(what.to_owned()));
    }
    if let Some((have, need)) = measured.few {
        return (Verdict::Inconclusive, Why::FewSamples { have, need });
    }
    let (have, need) = (measured.samples.unwrap_or(u64::MAX), u64::from(criterion.min_samples));
    if have < need {
        return (Verdict::Inconclusive, Why::FewSamples { have, need });
    }
    let (verdict, why) = compare(criterion.comparison, threshold, measured);
    match measured.below_peak {
        // What breaks below the peak will not hold at the peak; what holds below it says nothing yet.
        Some((reached, peak)) if verdict != Verdict::Fail => (Verdict::NotTested, Why::BelowPeak { reached, peak }),
        _ => (verdict, why),
    }
}

fn compare(comparison: Comparison, threshold: f64, measured: &Measured) -> (Verdict, Why) {
    let Some((low, high)) = measured.interval.or(measured.value.map(|value| (value, value))) else {
        return (Verdict::Inconclusive, Why::FewSamples { have: 0, need: 1 });
    };
    let (is_kept, is_broken) = match comparison {
        Comparison::AtMost => (high <= threshold, low > threshold),
        Comparison::AtLeast => (low >= threshold, high < threshold),
        #[allow(clippy::float_cmp, reason = "counts and flags, which are whole numbers")]
        Comparison::Equals => (low == threshold && high == threshold, low > threshold || high < threshold),
    };
    match (is_kept, is_broken) {
        (true, _) => (Verdict::Pass, Why::Compared),
        (false, true) => (Verdict::Fail, Why::Compared),
        (false, false) => (Verdict::Inconclusive, Why::Straddles),
    }
}

/// The threshold as a number in the metric's unit; `None` when the brief or the offer sets none.
fn threshold(criterion: &Criterion, case: &Case<'_>) -> Option<f64> {
    let (slo, promised) = (&case.brief.slo, &case.candidate.promised);
    match (&criterion.threshold, criterion.metric) {
        (Threshold::Number(number), _) => Some(*number),
        (Threshold::Brief, Metric::TtftP95) => slo.ttft_p95_ms,
        (Threshold::Brief, Metric::ItlP95) => slo.itl_p95_ms,
        (Threshold::Brief, Metric::E2eP95) => slo.e2e_p95_ms,
        (Threshold::Brief, Metric::ErrorShare) => slo.error_share,
        (Threshold::Brief, Metric::OutputRate) => slo.output_tokens_per_sec,
        (Threshold::Promised, Metric::GpuCount) => promised.gpu_count.map(f64::from),
        (Threshold::Promised, Metric::GpuModel) => promised.gpu_model.as_ref().map(|_| 1.0),
        (Threshold::Promised, Metric::GpuMemory) => {
            promised.gpu_memory.map(|size| promises::lowest_gpu_memory(size) / measure::MIB)
        }
        (Threshold::Brief | Threshold::Promised, _) => None,
    }
}

fn waiver_in_force(criterion: &Criterion, case: &Case<'_>) -> Option<Waiver> {
    criterion
        .waivers
        .iter()
        .filter(|waiver| waiver.candidate == case.candidate.id && waiver.until >= case.today)
        .max_by_key(|waiver| waiver.given_at)
        .cloned()
}

/// How a criterion stands: its verdict, or waived where it did not pass and a waiver is in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Standing {
    /// It fails.
    Fail,
    /// It cannot be judged.
    Inconclusive,
    /// Something changed since.
    Stale,
    /// It was not tested.
    NotTested,
    /// It did not pass, and a named person lets it stand.
    Waived,
    /// It passes.
    Pass,
}

impl Standing {
    /// All six, worst first.
    pub const ALL: [Self; 6] = [Self::Fail, Self::Inconclusive, Self::Stale, Self::NotTested, Self::Waived, Self::Pass];

    /// How a judged criterion stands.
    #[must_use]
    pub const fn of(judged: &Judged) -> Self {
        match (judged.verdict, &judged.waiver) {
            (Verdict::Pass, _) => Self::Pass,
            (_, Some(_)) => Self::Waived,
            (Verdict::Fail, None) => Self::Fail,
            (Verdict::Inconclusive, None) => Self::Inconclusive,
            (Verdict::Stale, None) => Self::Stale,
            (Verdict::NotTested, None) => Self::NotTested,
        }
    }

    /// The word scripts read ("waived").
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Fail => "fail",
            Self::Inconclusive => "inconclusive",
            Self::Stale => "stale",
            Self::NotTested => "not_tested",
            Self::Waived => "waived",
            Self::Pass => "pass",
        }
    }
}

/// A candidate's verdicts together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overall {
    /// The worst of its criteria.
    pub worst: Standing,
    /// How many stand how, worst first, none left out.
    pub tally: [(Standing, usize); 6],
    /// How many criteria there are.
    pub total: usize,
}

impl Overall {
    /// How many criteria stand like this.
    #[must_use]
    pub fn count(&self, standing: Standing) -> usize {
        self.tally.iter().find(|(other, _)| *other == standing).map_or(0, |(_, n)| *n)
    }

    /// Whether every criterion passes or is waived.
    #[must_use]
    pub fn is_accepted(&self) -> bool {
        self.worst >= Standing::Waived
    }
}

/// The worst of a candidate's criteria and their tally; `None` without criteria.
#[must_use]
pub fn overall(judged: &[Judged]) -> Option<Overall> {
    let worst = judged.iter().map(Standing::of).min()?;
    let tally = Standing::ALL
        .map(|standing| (standing, judged.iter().filter(|judged| Standing::of(judged) == standing).count()));
    Some(Overall { worst, tally, total: judged.len() })
}
