//! What one unit was measured to carry: the run, the step, the accepted share, the capacity.

use std::sync::Arc;

use chrono::{DateTime, FixedOffset};
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{ToPrimitive as _, Zero as _};

use super::step::{self, Kept};
use crate::domain::brief::{Brief, Slo};
use crate::domain::curve::StepPoint;
use crate::domain::evidence::Kind;
use crate::domain::figure::{Answer, Figure, Gap, GapKind, Input, Origin};
use crate::domain::format;
use crate::domain::ids::EvidenceId;
use crate::domain::interval;
use crate::domain::load::Arrivals;
use crate::domain::money::{ratio, ratio_of_f64, round_to_places};
use crate::domain::seen::Run;

/// What one unit was measured to carry.
#[derive(Debug, Clone, PartialEq)]
pub struct Carried {
    /// The run and step.
    pub basis: RunBasis,
    /// Units that carry the peak together.
    pub units: u32,
    /// The same with what it follows from.
    pub units_figure: Figure<u32>,
    /// Requests that arrive in a month: mean rate × month.
    pub requests_month: Answer<BigRational>,
    /// Accepted share of the requests sent, with its 95 % interval.
    pub share: Figure<f64>,
    /// Requests accepted in a month.
    pub accepted_month: Answer<BigRational>,
    /// Mean output tokens of an accepted request.
    pub tokens_per_request: Answer<f64>,
    /// The highest rate within SLO of one unit, requests a second.
    pub highest_rate: Figure<f64>,
    /// Accepted requests a second of one unit at its highest load within SLO.
    pub capacity_per_sec: Figure<f64>,
    /// Share of what all units can accept that the mean rate asks for; `None` without a mean rate.
    pub utilisation: Option<Figure<f64>>,
    /// What explains the cost.
    pub explaining: Explaining,
}

/// The run and step that a cost stands on.
#[derive(Debug, Clone, PartialEq)]
pub struct RunBasis {
    /// The record.
    pub evidence: EvidenceId,
    /// Its kind: anything but `Real` is a demonstration and says so beside the number.
    pub kind: Kind,
    /// When it ended.
    pub taken_at: DateTime<FixedOffset>,
    /// Index of the step whose accepted share is used.
    pub step_idx: usize,
    /// Its level as asked.
    pub level: f64,
    /// How its requests started.
    pub arrivals: Arrivals,
    /// The rate it stands for, requests a second.
    pub rate: f64,
    /// Why this step.
    pub choice: StepChoice,
}

/// Why a step was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepChoice {
    /// It ran at the brief's peak, within 1 %.
    AtPeak,
    /// It is the lowest measured above the peak.
    AbovePeak,
    /// One unit does not carry the peak; it is the highest measured within SLO.
    HighestWithinSlo,
}

impl StepChoice {
    /// Its name for `Text::name` ("step_at_peak").
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::AtPeak => "step_at_peak",
            Self::AbovePeak => "step_above_peak",
            Self::HighestWithinSlo => "step_highest_within_slo",
        }
    }
}

/// Figures that explain a cost. They are views on what is counted already and can be shown, never added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explaining {
    /// Share of the capacity within SLO that the mean rate leaves idle; `None` without a mean rate.
    pub idle: Option<Aside>,
    /// Requests complete and accepted, but beyond a limit.
    pub late: Aside,
    /// Requests complete, against the acceptance rule.
    pub rejected: Aside,
    /// Requests that failed.
    pub failed: Aside,
    /// Requests that ended early.
    pub cut: Aside,
    /// Requests sent in the step.
    pub sent: Aside,
}

/// A figure beside a sum: it has a text and a unit, and no arithmetic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Aside {
    text: String,
    unit: &'static str,
}

impl Aside {
    fn count(n: u32) -> Self {
        Self { text: format::count(u64::from(n)), unit: "" }
    }

    fn share(share: f64) -> Self {
        Self { text: format::fixed(share * 100.0, 1), unit: "%" }
    }

    /// The figure as shown.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Its unit, or empty.
    #[must_use]
    pub const fn unit(&self) -> &'static str {
        self.unit
    }
}

/// The newest run that may count: valid, and ended as planned.
pub(super) fn choose_run(runs: &[Arc<Run>], is_demonstration: bool) -> Result<&Run, Gap> {
    let real: Vec<&Run> = runs.iter().map(AsRef::as_ref).filter(|run| run.kind() == Kind::Real).collect();
    let pool = match (real.is_empty(), runs.is_empty()) {
        (false, _) => real,
        (true, true) => return Err(Gap::new(GapKind::NoRun)),
        (true, false) if is_demonstration => runs.iter().map(AsRef::as_ref).collect(),
        (true, false) => return Err(Gap::new(GapKind::OnlyPractice)),
    };
    if let Some(run) = pool.iter().find(|run| run.is_sound()) {
        return Ok(run);
    }
    let why = pool.first().and_then(|run| run.why_unsound()).unwrap_or("");
    Err(Gap::new(GapKind::InvalidRun).with("why", why))
}

/// A step with the rate it stands for.
#[derive(Clone, Copy)]
struct Rated<'a> {
    point: &'a StepPoint,
    rate: f64,
}

/// Steps within SLO below the first that broke it, ascending by rate.
///
/// A step that passes above one that failed is luck, and so is one repeat of a level of which another failed.
fn steps_within<'a>(points: &'a [StepPoint], slo: &Slo) -> Result<Vec<Rated<'a>>, Gap> {
    let mut within = Vec::new();
    let mut first_beyond: Option<f64> = None;
    let mut unjudged = None;
    for point in points.iter().filter(|point| step::is_whole(point)) {
        let Some(rate) = step::rate(point) else { continue };
        match step::kept(point, slo) {
            Kept::Within => within.push(Rated { point, rate }),
            Kept::Beyond(_) => first_beyond = Some(first_beyond.map_or(rate, |first| first.min(rate))),
            Kept::Unjudged(gap) => unjudged = Some(gap),
        }
    }
    if let Some(beyond) = first_beyond {
        within.retain(|step| step.rate < beyond && !step::is_same_rate(step.rate, beyond));
    }
    within.sort_by(|a, b| a.rate.total_cmp(&b.rate));
    match (within.is_empty(), unjudged) {
        (false, _) => Ok(within),
        (true, Some(gap)) if first_beyond.is_none() => Err(gap),
        (true, _) => Err(Gap::new(GapKind::NoStepWithinSlo)),
    }
}

pub(super) fn carried(brief: &Brief, run: &Run) -> Result<Carried, Gap> {
    let other = |what: &'static str| Gap::new(GapKind::OtherLimits).with("what", what);
    if brief.slo == Slo::default() {
        return Err(Gap::new(GapKind::NoSlo));
    }
    if run.plan.slo != brief.slo {
        return Err(other("slo"));
    }
    if run.plan.acceptance != brief.acceptance {
        return Err(other("acceptance_rule"));
    }
    let peak = brief
        .peak_rate
        .filter(|peak| *peak > 0.0)
        .ok_or_else(|| Gap::new(GapKind::BriefField).with("field", "peak_rate"))?;
    let within = steps_within(&run.points, &brief.slo)?;
    let no_step = || Gap::new(GapKind::NoStepWithinSlo);
    let highest = *within.last().ok_or_else(no_step)?;
    // The newest of several repeats at the peak, else the lowest above it.
    let at_peak = within.iter().rev().find(|step| step::is_same_rate(step.rate, peak));
    let above = within.iter().find(|step| step.rate >= peak);
    let (chosen, choice) = match (at_peak, above) {
        (Some(step), _) => (*step, StepChoice::AtPeak),
        (None, Some(step)) => (*step, StepChoice::AbovePeak),
        (None, None) => (highest, StepChoice::HighestWithinSlo),
    };
    let units = if choice == StepChoice::HighestWithinSlo { units(peak, highest.rate) } else { 1 };
    let basis = RunBasis {
        evidence: run.id.clone(),
        kind: run.kind(),
        taken_at: run.record.taken_at,
        step_idx: chosen.point.step_idx,
        level: chosen.point.level,
        arrivals: chosen.point.arrivals,
        rate: chosen.rate,
        choice,
    };
    let share = share(&chosen, &run.id)?;
    let capacity_per_sec = capacity(&highest, &run.id).ok_or_else(no_step)?;
    let requests_month = requests_month(brief);
    let accepted_month = accepted_month(&requests_month, chosen.point, &share);
    let tokens_per_request = tokens_per_request(run, chosen.point.step_idx);
    let explaining = explaining(brief, chosen.point, units, capacity_per_sec.value);
    let utilisation = utilisation(brief, units, &capacity_per_sec);
    Ok(Carried {
        basis,
        units,
        units_figure: units_figure(peak, units, chosen.rate, &run.id),
        requests_month,
        share,
        accepted_month,
        tokens_per_request,
        highest_rate: Figure::measured(highest.rate, vec![run.id.clone()]),
        capacity_per_sec,
        utilisation,
        explaining,
    })
}

/// Share of a peak that a measured level has to reach to stand for it; `step::is_same_rate` says the same.
const REACHED: f64 = 0.99;

/// Units that carry the peak together when one carries `rate`: a level within 1 % counts as carried.
fn units(peak: f64, rate: f64) -> u32 {
    let mut units = 1_u32;
    while f64::from(units) * rate < peak * REACHED && units < 100_000 {
        units += 1;
    }
    units
}

fn units_figure(peak: f64, units: u32, rate: f64, run: &EvidenceId) -> Figure<u32> {
    let inputs = vec![
        Input::leaf("peak_rate", peak.to_string(), "req/s", Origin::Declared),
        Input::leaf("step_rate", format::fixed(rate, 2), "req/s", Origin::Measured).on([run.clone()]),
    ];
    Figure::derived(units, "ceil(peak_rate ÷ step_rate)", inputs)
}

/// Requests a month that one unit carries when they arrive in the brief's proportion of mean and peak.
pub(super) fn unit_capacity(brief: &Brief, carried: &Carried) -> Option<BigRational> {
    let (mean, peak) = (ratio_of_f64(brief.mean_rate?)?, ratio_of_f64(brief.peak_rate?)?);
    let rate = ratio_of_f64(carried.highest_rate.value)?;
    let reached = BigRational::new(BigInt::from(99), BigInt::from(100));
    (!peak.is_zero()).then(|| rate / reached * month_secs(brief) * mean / peak)
}

/// The same with another accepted share, without an interval of its own.
#[must_use]
pub fn with_share(mut carried: Carried, share: f64) -> Carried {
    carried.share = Figure { interval: None, ..carried.share }.map(|_measured| share);
    carried.accepted_month = carried.requests_month.clone().and_then(|requests| {
        let factor = ratio_of_f64(share).filter(|share| !share.is_zero());
        let factor = factor.ok_or_else(|| Gap::new(GapKind::NothingAccepted))?;
        let inputs = vec![requests_input(&requests), share_input(&carried.share)];
        Ok(Figure::derived(requests.value * factor, "requests_month × accepted_share", inputs))
    });
    carried
}

fn share(step: &Rated<'_>, run: &EvidenceId) -> Result<Figure<f64>, Gap> {
    let (accepted, sent) = (step::accepted(step.point), step.point.counts.sent);
    let (low, high) =
        interval::wilson(u64::from(accepted), u64::from(sent)).ok_or_else(|| Gap::new(GapKind::NoStepWithinSlo))?;
    let measured =
        |name, n: u32| Input::leaf(name, format::count(u64::from(n)), "", Origin::Measured).on([run.clone()]);
    let inputs = vec![measured("accepted", accepted), measured("sent", sent)];
    Ok(Figure::derived(f64::from(accepted) / f64::from(sent), "accepted ÷ sent", inputs).within(low, high))
}

fn capacity(step: &Rated<'_>, run: &EvidenceId) -> Option<Figure<f64>> {
    let per_sec = step::accepted_per_sec(step.point)?;
    let measured = |name, value: String, unit: &str| Input::leaf(name, value, unit, Origin::Measured).on([run.clone()]);
    let inputs = vec![
        measured("accepted", format::count(u64::from(step::accepted(step.point))), ""),
        measured("step_secs", format::fixed(step.point.secs, 1), "s"),
    ];
    Some(Figure::derived(per_sec, "accepted ÷ step_secs", inputs))
}

/// Mean rate × month, exact.
fn requests_month(brief: &Brief) -> Answer<BigRational> {
    let gap = |field: &'static str| Gap::new(GapKind::BriefField).with("field", field);
    let mean = brief.mean_rate.filter(|mean| *mean > 0.0).ok_or_else(|| gap("mean_rate"))?;
    let rate = ratio_of_f64(mean).ok_or_else(|| gap("mean_rate"))?;
    if ratio(brief.month_hours) <= BigRational::zero() {
        return Err(gap("month_hours"));
    }
    let requests = rate * month_secs(brief);
    let inputs = vec![
        Input::leaf("mean_rate", mean.to_string(), "req/s", Origin::Declared),
        Input::leaf("month_hours", brief.month_hours.to_string(), "h", Origin::Declared),
    ];
    Ok(Figure::derived(requests, "mean_rate × month_hours × 3,600", inputs))
}

fn accepted_month(requests_month: &Answer<BigRational>, point: &StepPoint, share: &Figure<f64>) -> Answer<BigRational> {
    let requests = requests_month.as_ref().map_err(Clone::clone)?;
    if step::accepted(point) == 0 {
        return Err(Gap::new(GapKind::NothingAccepted));
    }
    let of = |share: BigRational| &requests.value * share;
    let accepted = of(exact_share(point));
    let bounds = share.interval.and_then(|(low, high)| Some((of(exact(low)?), of(exact(high)?))));
    let figure = Figure::derived(
        accepted,
        "requests_month × accepted_share",
        vec![requests_input(requests), share_input(share)],
    );
    Ok(Figure { interval: bounds, ..figure })
}

fn tokens_per_request(run: &Run, step_idx: usize) -> Answer<f64> {
    let tokens = run.tokens.get(step_idx).copied().unwrap_or_default();
    if tokens.counted == 0 {
        return Err(Gap::new(GapKind::NoEvidence).with("what", "output_tokens"));
    }
    #[allow(clippy::cast_precision_loss, reason = "counts of tokens are below 2^53")]
    let mean = tokens.output as f64 / tokens.counted as f64;
    let measured = |name, n: u64| Input::leaf(name, format::count(n), "", Origin::Measured).on([run.id.clone()]);
    let inputs = vec![measured("tokens_out", tokens.output), measured("completed_counted", tokens.counted)];
    Ok(Figure::derived(mean, "tokens_out ÷ completed_counted", inputs))
}

/// What follows from the demand and the measured capacity; nobody types it in.
fn utilisation(brief: &Brief, units: u32, capacity: &Figure<f64>) -> Option<Figure<f64>> {
    let mean = brief.mean_rate?;
    let share = mean / (f64::from(units) * capacity.value);
    let inputs = vec![
        Input::leaf("mean_rate", mean.to_string(), "req/s", Origin::Declared),
        Input::leaf("units", units.to_string(), "", Origin::Derived { from_measured: true }),
        Input {
            formula: capacity.formula,
            inputs: capacity.inputs.clone(),
            ..Input::leaf("capacity_per_sec", format::fixed(capacity.value, 2), "req/s", capacity.origin)
                .on(capacity.evidence.iter().cloned())
        },
    ];
    share.is_finite().then(|| Figure::derived(share, "mean_rate ÷ (units × capacity_per_sec)", inputs))
}

fn explaining(brief: &Brief, point: &StepPoint, units: u32, capacity: f64) -> Explaining {
    let counts = &point.counts;
    let idle = brief.mean_rate.map(|mean| 1.0 - mean / (f64::from(units) * capacity));
    Explaining {
        idle: idle.filter(|idle| idle.is_finite()).map(|idle| Aside::share(idle.max(0.0))),
        late: Aside::count(counts.completed.saturating_sub(step::accepted(point))),
        rejected: Aside::count(counts.rejected),
        failed: Aside::count(counts.failed),
        cut: Aside::count(counts.cut),
        sent: Aside::count(counts.sent),
    }
}

pub(super) fn requests_input(requests: &Figure<BigRational>) -> Input {
    let shown = format::group_thousands(&round_to_places(&requests.value, 0));
    Input {
        formula: requests.formula,
        inputs: requests.inputs.clone(),
        ..Input::leaf("requests_month", shown, "", requests.origin)
    }
}

pub(super) fn share_input(share: &Figure<f64>) -> Input {
    Input {
        formula: share.formula,
        inputs: share.inputs.clone(),
        ..Input::leaf("accepted_share", format::fixed(share.value * 100.0, 2), "%", share.origin)
            .on(share.evidence.iter().cloned())
    }
}

fn exact_share(point: &StepPoint) -> BigRational {
    match point.counts.sent {
        0 => BigRational::zero(),
        sent => BigRational::new(BigInt::from(step::accepted(point)), BigInt::from(sent)),
    }
}

pub(super) fn month_secs(brief: &Brief) -> BigRational {
    ratio(brief.month_hours) * integer(3_600)
}

pub(super) fn integer(n: impl Into<BigInt>) -> BigRational {
    BigRational::from_integer(n.into())
}

pub(super) fn exact(value: f64) -> Option<BigRational> {
    BigRational::from_float(value)
}

/// An exact count as a float, for plots.
#[must_use]
pub fn to_f64(count: &BigRational) -> f64 {
    count.to_f64().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::curve::Summary;
    use crate::domain::fixture::{self, Fates, run, step};

    #[test]
    fn which_step_stands_for_the_peak() {
        let many = Fates { sent: 1_000, ..Fates::default() };
        let ok = |idx, rate| step(idx, rate, 100.0, 20.0, many);
        let slow = |idx, rate| step(idx, rate, 900.0, 20.0, many);
        let few = |idx, rate| {
            let mut point = ok(idx, rate);
            point.ttft = point.ttft.map(|ttft| Summary { n: 50, p95: None, p95_interval: None, ..ttft });
            point
        };
        let stopped = |idx, rate| {
            let mut point = ok(idx, rate);
            point.counts.causes.insert("cancelled".into(), 3);
            point
        };
        type Want = Result<(usize, StepChoice, u32), GapKind>;
        let cases: [(&str, Vec<StepPoint>, Want); 12] = [
            ("at the peak", vec![ok(0, 4.0), ok(1, 8.0), slow(2, 10.0)], Ok((1, StepChoice::AtPeak, 1))),
            ("within one per cent", vec![ok(0, 7.95), ok(1, 12.0)], Ok((0, StepChoice::AtPeak, 1))),
            ("the lowest above", vec![ok(0, 6.0), ok(1, 10.0), ok(2, 12.0)], Ok((1, StepChoice::AbovePeak, 1))),
            (
                "below it in two units",
                vec![ok(0, 2.0), ok(1, 6.0), slow(2, 8.0)],
                Ok((1, StepChoice::HighestWithinSlo, 2)),
            ),
            ("the newest repeat", vec![ok(0, 8.0), ok(1, 8.0)], Ok((1, StepChoice::AtPeak, 1))),
            ("one repeat failed", vec![ok(0, 4.0), ok(1, 8.0), slow(2, 8.0)], Ok((0, StepChoice::HighestWithinSlo, 2))),
            (
                "luck above a failure",
                vec![ok(0, 4.0), slow(1, 6.0), ok(2, 8.0)],
                Ok((0, StepChoice::HighestWithinSlo, 2)),
            ),
            (
                "a stopped step says nothing",
                vec![ok(0, 4.0), stopped(1, 8.0)],
                Ok((0, StepChoice::HighestWithinSlo, 2)),
            ),
            ("all too slow", vec![slow(0, 1.0)], Err(GapKind::NoStepWithinSlo)),
            ("too few samples", vec![few(0, 8.0)], Err(GapKind::TooFewSamples)),
            ("few above a failure", vec![slow(0, 1.0), few(1, 8.0)], Err(GapKind::NoStepWithinSlo)),
            ("no step", vec![], Err(GapKind::NoStepWithinSlo)),
        ];
        let brief = fixture::brief();
        for (name, points, want) in cases {
            let got = carried(&brief, &run("e1", &brief, 0, points))
                .map(|carried| (carried.basis.step_idx, carried.basis.choice, carried.units))
                .map_err(|gap| gap.kind);
            assert_eq!(got, want, "{name}");
        }
    }

    #[test]
    fn concurrency_counts_by_what_was_achieved() {
        let brief = fixture::brief();
        let mut point = step(0, 8.2, 100.0, 20.0, Fates { sent: 8_200, ..Fates::default() });
        point.arrivals = Arrivals::Concurrency;
        point.level = 64.0;
        let carried = carried(&brief, &run("e1", &brief, 0, vec![point])).unwrap();
        assert_eq!((carried.basis.choice, carried.units), (StepChoice::AbovePeak, 1));
        assert!((carried.basis.rate - 8.2).abs() < 1e-9);
    }
}
