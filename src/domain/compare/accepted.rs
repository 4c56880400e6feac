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
    Input {
        formula: "ceil(peak_rate ÷ step_rate)",
        inputs: vec![
            Input::leaf("peak_rate", brief.peak_rate.unwrap_or(0.0).to_string(), "req/s", Origin::Declared),
            Input::leaf("step_rate", format::fixed(carried.basis.rate, 2), "req/s", Origin::Measured)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::billing::{Category, Component, Per, Status};
    use crate::domain::curve::Summary;
    use crate::domain::fixture::{self, Fates, component, invalid, of_kind, priced, run, step};

    fn shown(answer: &Answer<Exact>) -> String {
        match answer {
            Ok(figure) => figure.value.show_significant(4),
            Err(gap) => format!("{:?} {:?}", gap.kind, gap.values),
        }
    }

    fn interval(answer: &Answer<Exact>) -> [String; 2] {
        let (low, high) = answer.as_ref().unwrap().interval.clone().unwrap();
        [low.show_significant(4), high.show_significant(4)]
    }

    /// Three offers for the same chat. A: one large card in a virtual machine. B: a dedicated machine by the month.
    /// C: a small card that carries 2 req/s.
    fn offers() -> [(Candidate, Vec<StepPoint>); 3] {
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
            (
                fixture::candidate("a", a, Some(0)),
                vec![step(0, 8.0, 210.0, 20.0, at_8_a), step(1, 12.0, 480.0, 30.0, at_12_a)],
            ),
            (
                fixture::candidate("b", b, Some(6)),
                vec![step(0, 8.0, 388.0, 35.8, at_8_b), step(1, 10.0, 900.0, 48.0, at_10_b)],
            ),
            (
                fixture::candidate("c", c, None),
                vec![step(0, 2.0, 410.0, 44.0, at_2_c), step(1, 3.0, 2_600.0, 80.0, at_3_c)],
            ),
        ]
    }

    #[test]
    fn three_offers_side_by_side() {
        let brief = fixture::brief();
        let want = [
            ("2,170.90", 1, "99.12", "6,773,013", "0.3205", ["0.3199", "0.3213"], "0.07109", "77.6", "22/41/0"),
            ("1,225.00", 1, "97.88", "6,687,603", "0.1832", ["0.1826", "0.1839"], "0.05953", "66.8", "106/45/2"),
            ("1,379.20", 4, "98.00", "6,696,144", "0.2060", ["0.2048", "0.2076"], "0.06694", "66.8", "27/9/0"),
        ];
        for ((candidate, points), want) in offers().into_iter().zip(want) {
            let runs = [Arc::new(run("e1", &brief, 0, points))];
            let cost = cost_per_accepted(&brief, &candidate, &runs, false);
            let carried = cost.carried.as_ref().unwrap();
            let accepted = &carried.accepted_month.as_ref().unwrap().value;
            let asides = &carried.explaining;
            let got = (
                cost.month_total.as_ref().unwrap().value.show(),
                carried.units,
                format::fixed(carried.share.value * 100.0, 2),
                format::group_thousands(&round_to_places(accepted, 0)),
                shown(&cost.per_thousand),
                interval(&cost.per_thousand),
                shown(&cost.full_use_per_thousand),
                asides.idle.as_ref().unwrap().text().to_owned(),
                [&asides.late, &asides.rejected, &asides.failed].map(Aside::text).join("/"),
            );
            let (total, units, share, accepted, thousand, bounds, full_use, idle, fates) = want;
            let want = (
                total.to_owned(),
                units,
                share.to_owned(),
                accepted.to_owned(),
                thousand.to_owned(),
                bounds.map(str::to_owned),
                full_use.to_owned(),
                idle.to_owned(),
                fates.to_owned(),
            );
            assert_eq!(got, want, "{}", candidate.name);
        }
    }

    #[test]
    fn a_million_tokens_and_the_budget() {
        let brief = fixture::brief();
        let [a, b, _] = offers();
        let cost = |(candidate, points): (Candidate, Vec<StepPoint>)| {
            cost_per_accepted(&brief, &candidate, &[Arc::new(run("e1", &brief, 0, points))], false)
        };
        // 0.18317… USD a thousand requests of 240 tokens each.
        assert_eq!(shown(&cost(b.clone()).per_million_tokens), "0.7632");
        assert_eq!(cost(b).over_budget, None);
        assert_eq!(cost(a).over_budget.unwrap().show(), "670.90");
    }

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

    #[test]
    fn only_a_valid_run_that_may_count() {
        let brief = fixture::brief();
        let of = |id: &str, minute| {
            run(id, &brief, minute, vec![step(0, 8.0, 100.0, 20.0, Fates { sent: 1_000, ..Fates::default() })])
        };
        let other = |mut run: Run| {
            run.plan.slo.ttft_p95_ms = Some(900.0);
            run
        };
        // Newest first.
        type Want = Result<&'static str, GapKind>;
        let cases: [(&str, Vec<Run>, bool, Want); 9] = [
            ("none", vec![], false, Err(GapKind::NoRun)),
            ("the newest", vec![of("new", 9), of("old", 1)], false, Ok("new")),
            ("the newest valid", vec![invalid(of("new", 9)), of("old", 1)], false, Ok("old")),
            ("only invalid", vec![invalid(of("new", 9))], false, Err(GapKind::InvalidRun)),
            ("only practice", vec![of_kind(of("p", 9), Kind::Practice)], false, Err(GapKind::OnlyPractice)),
            ("practice in a demonstration", vec![of_kind(of("p", 9), Kind::Practice)], true, Ok("p")),
            ("real before newer practice", vec![of_kind(of("p", 9), Kind::Practice), of("r", 1)], true, Ok("r")),
            (
                "an invalid real run is not hidden by practice",
                vec![of_kind(of("p", 9), Kind::Practice), invalid(of("r", 1))],
                true,
                Err(GapKind::InvalidRun),
            ),
            ("under other limits", vec![other(of("new", 9)), of("old", 1)], false, Err(GapKind::OtherLimits)),
        ];
        let (candidate, _) = &offers()[1];
        for (name, runs, is_demonstration, want) in cases {
            let runs: Vec<Arc<Run>> = runs.into_iter().map(Arc::new).collect();
            let cost = cost_per_accepted(&brief, candidate, &runs, is_demonstration);
            let got = cost.carried.map(|carried| carried.basis.evidence.0).map_err(|gap| gap.kind);
            assert_eq!(got, want.map(str::to_owned), "{name}");
        }
    }

    #[test]
    fn a_cost_without_its_inputs_says_what_is_missing() {
        let (candidate, points) = offers().into_iter().nth(1).unwrap();
        let nothing = vec![step(0, 8.0, 100.0, 20.0, Fates { sent: 1_000, rejected: 1_000, ..Fates::default() })];
        type Case = (&'static str, fn(&mut Brief), fn(&mut Vec<Component>), GapKind);
        let cases: [Case; 5] = [
            ("no price", |_| (), Vec::clear, GapKind::NoPrice),
            ("no mean rate", |b| b.mean_rate = None, |_| (), GapKind::BriefField),
            ("no peak", |b| b.peak_rate = None, |_| (), GapKind::BriefField),
            ("no limit", |b| b.slo = Slo::default(), |_| (), GapKind::NoSlo),
            (
                "an unknown price",
                |_| (),
                |lines| lines.push(component(9, Category::Network, Status::Unknown)),
                GapKind::UnknownPrice,
            ),
        ];
        for (name, change, bill, want) in cases {
            let (mut brief, mut candidate) = (fixture::brief(), candidate.clone());
            change(&mut brief);
            bill(&mut candidate.billing);
            let runs = [Arc::new(run("e1", &brief, 0, points.clone()))];
            let cost = cost_per_accepted(&brief, &candidate, &runs, false);
            assert_eq!(cost.per_request.unwrap_err().kind, want, "{name}");
        }
        // Every answer was wrong: neither free nor infinitely dear.
        let brief = fixture::brief();
        let mut points = nothing;
        points[0].ttft = points[0].ttft.map(|ttft| Summary { n: 1_000, ..ttft });
        let cost = cost_per_accepted(&brief, &candidate, &[Arc::new(run("e1", &brief, 0, points))], false);
        assert_eq!(cost.month_total.unwrap().value.show(), "1,225.00");
        for answer in [&cost.per_request, &cost.per_thousand, &cost.per_million_tokens, &cost.full_use_per_thousand] {
            assert_eq!(answer.as_ref().unwrap_err().kind, GapKind::NothingAccepted);
        }
    }

    #[test]
    fn the_trace_leads_to_the_run() {
        let brief = fixture::brief();
        let (candidate, points) = offers().into_iter().nth(1).unwrap();
        let cost = cost_per_accepted(&brief, &candidate, &[Arc::new(run("e1", &brief, 0, points))], false);
        let figure = cost.per_thousand.unwrap();
        let inputs: Vec<_> = figure.inputs.iter().map(|input| (input.name, input.value.as_str())).collect();
        assert_eq!(
            inputs,
            [
                ("month_one_unit", "1,225.00"),
                ("units", "1"),
                ("requests_month", "6,832,800"),
                ("accepted_share", "97.88"),
            ]
        );
        assert_eq!(figure.evidence, [EvidenceId("e1".into())]);
        assert_eq!(figure.origin, Origin::Derived { from_measured: true });
        for input in &figure.inputs {
            assert!(figure.formula.contains(input.name), "{}", input.name);
        }
    }
}
