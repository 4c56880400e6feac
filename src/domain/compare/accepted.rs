//! What one accepted request costs: the month of the units that carry the peak, over the requests accepted in it.

use std::sync::Arc;

use chrono::{DateTime, FixedOffset};
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{ToPrimitive as _, Zero as _};

use super::month::{MonthCost, month_cost};
use super::step::{self, Kept};
use crate::domain::brief::{Brief, Slo};
use crate::domain::candidate::Candidate;
use crate::domain::curve::StepPoint;
use crate::domain::evidence::Kind;
use crate::domain::figure::{Answer, Figure, Gap, GapKind, Input, Origin};
use crate::domain::format;
use crate::domain::ids::EvidenceId;
use crate::domain::interval;
use crate::domain::load::Arrivals;
use crate::domain::money::{Exact, ratio, ratio_of_f64, round_to_places};
use crate::domain::seen::Run;

/// Cost of accepted work on one candidate, with everything it stands on.
#[derive(Debug, Clone, PartialEq)]
pub struct CandidateCost {
    /// The month of one unit.
    pub month: MonthCost,
    /// What one unit was measured to carry, or why nobody knows.
    pub carried: Result<Carried, Gap>,
    /// The month of all units that carry the peak.
    pub month_total: Answer<Exact>,
    /// Cost of one accepted request.
    pub per_request: Answer<Exact>,
    /// Cost of a thousand accepted requests.
    pub per_thousand: Answer<Exact>,
    /// Cost of a million output tokens of accepted requests.
    pub per_million_tokens: Answer<Exact>,
    /// Cost of a thousand accepted requests if one unit ran at its highest load within SLO all month. A reference,
    /// not a forecast.
    pub full_use_per_thousand: Answer<Exact>,
    /// By how much the month is over the brief's budget; `None` when it is not, or when one of them is not known.
    pub over_budget: Option<Exact>,
}

/// What one unit was measured to carry.
#[derive(Debug, Clone, PartialEq)]
pub struct Carried {
    /// The run and step.
    pub basis: RunBasis,
    /// Units that carry the peak together.
    pub units: u32,
    /// Requests that arrive in a month: mean rate × month.
    pub requests_month: Answer<BigRational>,
    /// Accepted share of the requests sent, with its 95 % interval.
    pub share: Figure<f64>,
    /// Requests accepted in a month.
    pub accepted_month: Answer<BigRational>,
    /// Mean output tokens of an accepted request.
    pub tokens_per_request: Answer<f64>,
    /// Accepted requests a second of one unit at its highest load within SLO.
    pub capacity_per_sec: Figure<f64>,
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

/// Cost of accepted work on one candidate. `runs` are its runs, newest first; only a demonstration project counts with
/// practice and replayed runs, and only while it has no real one.
#[must_use]
pub fn cost_per_accepted(
    brief: &Brief,
    candidate: &Candidate,
    runs: &[Arc<Run>],
    is_demonstration: bool,
) -> CandidateCost {
    let month = month_cost(&candidate.billing, &candidate.term, brief.month_hours);
    let carried = choose_run(runs, is_demonstration).and_then(|run| carried(brief, run));
    let parts = || -> Result<(&Figure<Exact>, &Carried), Gap> {
        Ok((month.total.as_ref().map_err(Clone::clone)?, carried.as_ref().map_err(Clone::clone)?))
    };
    let month_total = parts().map(|(month, carried)| {
        let total = month.value.times(&integer(carried.units));
        Figure::derived(total, "month_one_unit × units", vec![month_input(month), units_input(brief, carried)])
    });
    let per_request = parts().and_then(|(month, carried)| per_request(brief, month, carried));
    let thousand = integer(1_000);
    let per_thousand =
        per_request.clone().map(|figure| Figure { formula: PER_THOUSAND, ..figure.map(|each| each.times(&thousand)) });
    let per_million_tokens = parts().and_then(|(_, carried)| per_million_tokens(&per_request, carried));
    let full_use_per_thousand = parts().and_then(|(month, carried)| full_use(brief, month, carried));
    let over_budget = month_total.as_ref().ok().and_then(|total| over_budget(brief, &total.value));
    CandidateCost {
        month,
        carried,
        month_total,
        per_request,
        per_thousand,
        per_million_tokens,
        full_use_per_thousand,
        over_budget,
    }
}

const PER_REQUEST: &str = "month_one_unit × units ÷ (requests_month × accepted_share)";
const PER_THOUSAND: &str = "1,000 × month_one_unit × units ÷ (requests_month × accepted_share)";

/// The newest valid run that may count.
fn choose_run(runs: &[Arc<Run>], is_demonstration: bool) -> Result<&Run, Gap> {
    let real: Vec<&Run> = runs.iter().map(AsRef::as_ref).filter(|run| run.kind() == Kind::Real).collect();
    let pool = match (real.is_empty(), runs.is_empty()) {
        (false, _) => real,
        (true, true) => return Err(Gap::new(GapKind::NoRun)),
        (true, false) if is_demonstration => runs.iter().map(AsRef::as_ref).collect(),
        (true, false) => return Err(Gap::new(GapKind::OnlyPractice)),
    };
    if let Some(run) = pool.iter().find(|run| run.is_valid()) {
        return Ok(run);
    }
    let why = pool.first().and_then(|run| run.validity.iter().find(|item| !item.ok)).map_or("", |item| item.name);
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
    let mut first_beyond = f64::INFINITY;
    let mut unjudged = None;
    for point in points.iter().filter(|point| step::is_whole(point)) {
        let Some(rate) = step::rate(point) else { continue };
        match step::kept(point, slo) {
            Kept::Within => within.push(Rated { point, rate }),
            Kept::Beyond(_) => first_beyond = first_beyond.min(rate),
            Kept::Unjudged(gap) => unjudged = Some(gap),
        }
    }
    within.retain(|step| step.rate < first_beyond && !step::is_same_rate(step.rate, first_beyond));
    within.sort_by(|a, b| a.rate.total_cmp(&b.rate));
    match (within.is_empty(), unjudged) {
        (false, _) => Ok(within),
        (true, Some(gap)) if first_beyond.is_infinite() => Err(gap),
        (true, _) => Err(Gap::new(GapKind::NoStepWithinSlo)),
    }
}

fn carried(brief: &Brief, run: &Run) -> Result<Carried, Gap> {
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
    Ok(Carried {
        basis,
        units,
        requests_month,
        share,
        accepted_month,
        tokens_per_request,
        capacity_per_sec,
        explaining,
    })
}

/// Units that carry the peak together when one carries `rate`: a level within 1 % counts as carried.
fn units(peak: f64, rate: f64) -> u32 {
    let mut units = 1_u32;
    while f64::from(units) * rate * 1.01 < peak && units < 100_000 {
        units += 1;
    }
    units
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

fn per_request(brief: &Brief, month: &Figure<Exact>, carried: &Carried) -> Answer<Exact> {
    let accepted = carried.accepted_month.as_ref().map_err(Clone::clone)?;
    let requests = carried.requests_month.as_ref().map_err(Clone::clone)?;
    let total = month.value.times(&integer(carried.units));
    let over = |accepted: &BigRational| total.over(accepted).ok_or_else(|| Gap::new(GapKind::NothingAccepted));
    let inputs =
        vec![month_input(month), units_input(brief, carried), requests_input(requests), share_input(&carried.share)];
    let figure = Figure::derived(over(&accepted.value)?, PER_REQUEST, inputs);
    // More accepted is cheaper, so the bounds change places. A share whose lower bound is zero has no upper cost.
    let bounds = accepted.interval.as_ref().and_then(|(low, high)| Some((over(high).ok()?, over(low).ok()?)));
    Ok(Figure { interval: bounds, ..figure })
}

fn per_million_tokens(per_request: &Answer<Exact>, carried: &Carried) -> Answer<Exact> {
    let per_request = per_request.clone()?;
    let tokens = carried.tokens_per_request.as_ref().map_err(Clone::clone)?;
    let factor = exact(tokens.value)
        .filter(|tokens| !tokens.is_zero())
        .map(|tokens| integer(1_000_000) / tokens)
        .ok_or_else(|| Gap::new(GapKind::NoEvidence).with("what", "output_tokens"))?;
    let mut figure = per_request.map(|each| each.times(&factor));
    figure.formula = "1,000,000 × month_one_unit × units ÷ (requests_month × accepted_share × tokens_per_request)";
    figure.inputs.push(Input {
        formula: tokens.formula,
        inputs: tokens.inputs.clone(),
        ..Input::leaf("tokens_per_request", format::fixed(tokens.value, 1), "tokens", tokens.origin)
            .on(tokens.evidence.iter().cloned())
    });
    Ok(figure)
}

fn full_use(brief: &Brief, month: &Figure<Exact>, carried: &Carried) -> Answer<Exact> {
    let capacity = &carried.capacity_per_sec;
    let accepted = exact(capacity.value)
        .map(|per_sec| per_sec * month_secs(brief))
        .filter(|accepted| !accepted.is_zero())
        .ok_or_else(|| Gap::new(GapKind::NothingAccepted))?;
    let value = month.value.times(&integer(1_000)).over(&accepted).ok_or_else(|| Gap::new(GapKind::NothingAccepted))?;
    let inputs = vec![
        month_input(month),
        Input {
            formula: capacity.formula,
            inputs: capacity.inputs.clone(),
            ..Input::leaf("capacity_per_sec", format::fixed(capacity.value, 2), "req/s", capacity.origin)
                .on(capacity.evidence.iter().cloned())
        },
        Input::leaf("month_hours", brief.month_hours.to_string(), "h", Origin::Declared),
    ];
    Ok(Figure::derived(value, "1,000 × month_one_unit ÷ (capacity_per_sec × month_hours × 3,600)", inputs))
}

fn over_budget(brief: &Brief, total: &Exact) -> Option<Exact> {
    let budget = Exact::from(brief.budget_month?);
    let over = total.plus(&budget.times(&integer(-1))).ok()?;
    (over.amount > BigRational::zero()).then_some(over)
}

fn month_input(month: &Figure<Exact>) -> Input {
    Input {
        formula: month.formula,
        inputs: month.inputs.clone(),
        ..Input::leaf("month_one_unit", month.value.show(), month.value.currency.code(), month.origin)
    }
}

fn units_input(brief: &Brief, carried: &Carried) -> Input {
    let rate = if carried.basis.choice == StepChoice::HighestWithinSlo { "step_rate" } else { "step_rate_at_peak" };
    Input {
        formula: "smallest number of units whose step_rate reaches peak_rate",
        inputs: vec![
            Input::leaf("peak_rate", brief.peak_rate.unwrap_or(0.0).to_string(), "req/s", Origin::Declared),
            Input::leaf(rate, format::fixed(carried.basis.rate, 2), "req/s", Origin::Measured)
                .on([carried.basis.evidence.clone()]),
        ],
        ..Input::leaf("units", carried.units.to_string(), "", Origin::Derived { from_measured: true })
    }
}

fn requests_input(requests: &Figure<BigRational>) -> Input {
    let shown = format::group_thousands(&round_to_places(&requests.value, 0));
    Input {
        formula: requests.formula,
        inputs: requests.inputs.clone(),
        ..Input::leaf("requests_month", shown, "", requests.origin)
    }
}

fn share_input(share: &Figure<f64>) -> Input {
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

fn month_secs(brief: &Brief) -> BigRational {
    ratio(brief.month_hours) * integer(3_600)
}

fn integer(n: impl Into<BigInt>) -> BigRational {
    BigRational::from_integer(n.into())
}

fn exact(value: f64) -> Option<BigRational> {
    BigRational::from_float(value)
}

/// An exact count as a float, for plots.
#[must_use]
pub fn to_f64(count: &BigRational) -> f64 {
    count.to_f64().unwrap_or(f64::NAN)
}
