//! What one accepted request costs: the month of the units that carry the peak, over the requests accepted in it.

use std::sync::Arc;

use num_rational::BigRational;
use num_traits::Zero as _;

pub use super::carried::{Aside, Carried, Explaining, RunBasis, StepChoice, to_f64, with_share};
use super::carried::{carried, choose_run, exact, integer, month_secs, requests_input, share_input};
use super::month::{MonthCost, month_cost};
use crate::domain::brief::Brief;
use crate::domain::candidate::Candidate;
use crate::domain::figure::{Answer, Figure, Gap, GapKind, Input, Origin};
use crate::domain::format;
use crate::domain::money::Exact;
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
    /// The same for a million output tokens.
    pub full_use_per_million: Answer<Exact>,
    /// By how much the month is over the brief's budget; `None` when it is not, or when one of them is not known.
    pub over_budget: Option<Exact>,
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
    cost_of(brief, candidate, carried_by(brief, runs, is_demonstration))
}

/// What one unit was measured to carry, by the newest run that may count.
///
/// # Errors
/// The gap that says why nobody knows.
pub fn carried_by(brief: &Brief, runs: &[Arc<Run>], is_demonstration: bool) -> Result<Carried, Gap> {
    choose_run(runs, is_demonstration).and_then(|run| carried(brief, run))
}

/// Cost of accepted work on one candidate that carries so much.
#[must_use]
pub fn cost_of(brief: &Brief, candidate: &Candidate, carried: Result<Carried, Gap>) -> CandidateCost {
    let month = month_cost(&candidate.billing, &candidate.term, brief.month_hours);
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
    let full_use_per_million = parts().and_then(|(month, carried)| {
        let each = full_use(brief, month, carried)?.map(|thousand| thousand.times(&(integer(1) / integer(1_000))));
        let formula = "1,000,000 × month_one_unit ÷ (capacity_per_sec × month_hours × 3,600 × tokens_per_request)";
        per_million_tokens_of(each, carried, formula)
    });
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
        full_use_per_million,
        over_budget,
    }
}

const PER_REQUEST: &str = "month_one_unit × units ÷ (requests_month × accepted_share)";
const PER_THOUSAND: &str = "1,000 × month_one_unit × units ÷ (requests_month × accepted_share)";

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
    let formula = "1,000,000 × month_one_unit × units ÷ (requests_month × accepted_share × tokens_per_request)";
    per_million_tokens_of(per_request.clone()?, carried, formula)
}

fn per_million_tokens_of(per_request: Figure<Exact>, carried: &Carried, formula: &'static str) -> Answer<Exact> {
    let tokens = carried.tokens_per_request.as_ref().map_err(Clone::clone)?;
    let factor = exact(tokens.value)
        .filter(|tokens| !tokens.is_zero())
        .map(|tokens| integer(1_000_000) / tokens)
        .ok_or_else(|| Gap::new(GapKind::NoEvidence).with("what", "output_tokens"))?;
    let mut figure = per_request.map(|each| each.times(&factor));
    figure.formula = formula;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::billing::{Category, Component, Status};
    use crate::domain::brief::Slo;
    use crate::domain::curve::{StepPoint, Summary};
    use crate::domain::evidence::Kind;
    use crate::domain::fixture::{self, Fates, component, invalid, of_kind, offers, run, step};
    use crate::domain::ids::EvidenceId;
    use crate::domain::money::round_to_places;

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
