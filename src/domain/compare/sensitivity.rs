//! Which single unknown could reverse the order of the two cheapest candidates.
//!
//! Each uncertain input is moved to both ends of its range while everything else stays; the difference of the two costs
//! is computed anew by the functions that compute the record.

use std::sync::Arc;

use num_rational::BigRational;
use num_traits::Signed as _;
use rust_decimal::Decimal;

use super::accepted::{CandidateCost, carried_by, cost_of, with_share};
use super::carried::integer;
use super::declared::{CostPlan, PriceRange};
use super::whatif::{Offered, scale_prices};
use crate::domain::billing::{Component, Per, Rate, Status};
use crate::domain::brief::Brief;
use crate::domain::candidate::Candidate;
use crate::domain::figure::{Figure, Gap, GapKind, Input};
use crate::domain::ids::{CandidateId, ComponentId};
use crate::domain::money::{Exact, Money};
use crate::domain::seen::Run;

/// By how many per cent a quoted price is moved: offers are renegotiated by about that much.
pub const PRICE_SHIFT: u32 = 10;
/// The hours that providers count a month as.
pub const MONTHS: [u32; 3] = [720, 730, 744];

/// An input that may be otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unknown {
    /// How many hours a month is counted as.
    MonthHours,
    /// The accepted share, inside its 95 % interval.
    Share(CandidateId),
    /// Every price of the offer.
    Price(CandidateId),
    /// A part without a price, inside the range that somebody declared.
    Part(CandidateId, ComponentId),
}

/// What an input does to the difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Swing {
    /// The input.
    pub what: Unknown,
    /// The least difference: the other candidate's cost less the cheapest one's.
    pub low: BigRational,
    /// The greatest.
    pub high: BigRational,
    /// The input at both ends, as shown ("720", "744").
    pub ends: [String; 2],
}

impl Swing {
    /// Whether it could reverse the order.
    #[must_use]
    pub fn reverses(&self) -> bool {
        self.low.is_negative()
    }
}

/// A part of the cheapest candidate without a price and without a range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Open {
    /// Whose.
    pub candidate: CandidateId,
    /// Which.
    pub component: ComponentId,
    /// What it may cost a month, one unit, before the order reverses; `None` for a part of the dearer one, which only
    /// becomes dearer.
    pub reverses_above: Option<Exact>,
}

/// The two cheapest, and what could reverse their order.
#[derive(Debug, Clone, PartialEq)]
pub struct Sensitivity {
    /// The cheapest.
    pub best: CandidateId,
    /// The next.
    pub other: CandidateId,
    /// By how much 1,000 accepted requests cost more on the other; unknown parts count at their least.
    pub difference: Figure<Exact>,
    /// Every input with both ends, the widest first.
    pub swings: Vec<Swing>,
    /// Parts without a price and without a range.
    pub open: Vec<Open>,
}

struct Subject<'a> {
    candidate: Candidate,
    runs: &'a [Arc<Run>],
    /// Its accepted share, when it is moved.
    share: Option<f64>,
}

/// Looks at the two cheapest candidates.
///
/// # Errors
/// The gap that keeps two candidates from being held against each other.
pub fn sensitivity(
    brief: &Brief,
    offered: &[Offered<'_>],
    is_demonstration: bool,
    declared: &CostPlan,
) -> Result<Sensitivity, Gap> {
    let mut first_gap = None;
    let mut known: Vec<(Subject<'_>, Exact, CandidateCost)> = Vec::new();
    for (candidate, runs) in offered {
        let subject = Subject { candidate: at_least(candidate, declared), runs, share: None };
        let cost = cost(brief, &subject, is_demonstration);
        match cost.per_thousand.clone() {
            Ok(figure) => known.push((subject, figure.value, cost)),
            Err(gap) => first_gap = first_gap.or(Some(gap)),
        }
    }
    known.sort_by(|a, b| a.1.amount.cmp(&b.1.amount));
    let mut known = known.into_iter();
    let (Some(best), Some(other)) = (known.next(), known.next()) else {
        return Err(first_gap.unwrap_or_else(|| Gap::new(GapKind::NoEvidence).with("what", "second_candidate")));
    };
    let two = |two: crate::domain::money::CurrencyMismatch| {
        Gap::new(GapKind::TwoCurrencies).with("first", two.first.code()).with("second", two.second.code())
    };
    let difference = other.1.plus(&best.1.times(&integer(-1))).map_err(two)?;
    let inputs = [("cost_other", &other.2), ("cost_best", &best.2)];
    let inputs = inputs.into_iter().filter_map(|(name, cost)| input(name, cost)).collect();
    let difference = Figure::derived(difference, "cost_other − cost_best", inputs);
    let looked = Looked { brief, is_demonstration, best: &best.0, other: &other.0 };
    let mut swings: Vec<Swing> = Vec::new();
    swings.extend(looked.month_hours());
    for (subject, cost) in [(&best.0, &best.2), (&other.0, &other.2)] {
        swings.extend(looked.share(subject, cost));
        swings.extend(looked.price(subject));
        swings.extend(declared.ranges.iter().filter_map(|range| looked.range(subject, range, offered)));
    }
    swings.sort_by_key(|swing| std::cmp::Reverse(&swing.high - &swing.low));
    let is_open = |candidate: &Candidate, component: &Component| {
        component.status == Status::Unknown && declared.range(&candidate.id, &component.id).is_none()
    };
    let mut open = Vec::new();
    for (subject, cost, is_best) in [(&best.0, &best.2, true), (&other.0, &other.2, false)] {
        let original = offered.iter().find(|(candidate, _)| candidate.id == subject.candidate.id);
        for component in original.iter().flat_map(|(candidate, _)| &candidate.billing) {
            if is_open(&subject.candidate_of(offered), component) {
                let reverses_above = if is_best { headroom(&difference.value, cost) } else { None };
                open.push(Open {
                    candidate: subject.candidate.id.clone(),
                    component: component.id.clone(),
                    reverses_above,
                });
            }
        }
    }
    let (best, other) = (best.0.candidate.id, other.0.candidate.id);
    Ok(Sensitivity { best, other, difference, swings, open })
}

impl Subject<'_> {
    /// The offer as it stands in the record.
    fn candidate_of(&self, offered: &[Offered<'_>]) -> Candidate {
        let found = offered.iter().find(|(candidate, _)| candidate.id == self.candidate.id);
        found.map_or_else(|| self.candidate.clone(), |(candidate, _)| (*candidate).clone())
    }
}

fn input(name: &'static str, cost: &CandidateCost) -> Option<Input> {
    let figure = cost.per_thousand.as_ref().ok()?;
    Some(Input {
        formula: figure.formula,
        inputs: figure.inputs.clone(),
        ..Input::leaf(name, figure.value.show_significant(4), figure.value.currency.code(), figure.origin)
            .on(figure.evidence.iter().cloned())
    })
}

/// What one unit may cost more a month until the difference is used up.
fn headroom(difference: &Exact, cost: &CandidateCost) -> Option<Exact> {
    let carried = cost.carried.as_ref().ok()?;
    let accepted = &carried.accepted_month.as_ref().ok()?.value;
    Some(difference.times(&(accepted / integer(1_000) / integer(carried.units))))
}

struct Looked<'a> {
    brief: &'a Brief,
    is_demonstration: bool,
    best: &'a Subject<'a>,
    other: &'a Subject<'a>,
}

impl Looked<'_> {
    /// The difference with one of the two changed, or under another brief.
    fn difference(&self, brief: &Brief, changed: Option<&Subject<'_>>) -> Option<BigRational> {
        let pick = |own: &Subject<'_>| {
            let subject = changed.filter(|changed| changed.candidate.id == own.candidate.id);
            let cost = cost(brief, subject.unwrap_or(own), self.is_demonstration);
            cost.per_thousand.ok().map(|figure| figure.value.amount)
        };
        Some(pick(self.other)? - pick(self.best)?)
    }

    fn swing(&self, what: Unknown, ends: [(String, Option<BigRational>); 2]) -> Option<Swing> {
        let [(first, a), (second, b)] = ends;
        let (a, b) = (a?, b?);
        let (low, high) = if a <= b { (a, b) } else { (b, a) };
        // What changes nothing is no bar.
        (low != high).then_some(Swing { what, low, high, ends: [first, second] })
    }

    fn month_hours(&self) -> Option<Swing> {
        let ends = MONTHS.map(|hours| {
            let brief = Brief { month_hours: Decimal::from(hours), ..self.brief.clone() };
            (hours, self.difference(&brief, None))
        });
        let known: Vec<(u32, BigRational)> =
            ends.into_iter().filter_map(|(hours, difference)| Some((hours, difference?))).collect();
        let low = known.iter().min_by(|a, b| a.1.cmp(&b.1))?;
        let high = known.iter().max_by(|a, b| a.1.cmp(&b.1))?;
        self.swing(
            Unknown::MonthHours,
            [(low.0.to_string(), Some(low.1.clone())), (high.0.to_string(), Some(high.1.clone()))],
        )
    }

    fn share(&self, subject: &Subject<'_>, cost: &CandidateCost) -> Option<Swing> {
        let (low, high) = cost.carried.as_ref().ok()?.share.interval?;
        let ends = [low, high].map(|share| {
            let changed = Subject { candidate: subject.candidate.clone(), runs: subject.runs, share: Some(share) };
            let shown = crate::domain::format::percent(share, 2);
            (shown, self.difference(self.brief, Some(&changed)))
        });
        self.swing(Unknown::Share(subject.candidate.id.clone()), ends)
    }

    fn price(&self, subject: &Subject<'_>) -> Option<Swing> {
        let ends = [100 - PRICE_SHIFT, 100 + PRICE_SHIFT].map(|percent| {
            let mut candidate = subject.candidate.clone();
            scale_prices(&mut candidate, percent);
            let changed = Subject { candidate, runs: subject.runs, share: subject.share };
            (crate::domain::format::percent(f64::from(percent) / 100.0, 0), self.difference(self.brief, Some(&changed)))
        });
        self.swing(Unknown::Price(subject.candidate.id.clone()), ends)
    }

    fn range(&self, subject: &Subject<'_>, range: &PriceRange, offered: &[Offered<'_>]) -> Option<Swing> {
        let id = &subject.candidate.id;
        let original = subject.candidate_of(offered);
        let is_unknown =
            |component: &&Component| component.id == range.component && component.status == Status::Unknown;
        if range.candidate != *id || original.billing.iter().find(is_unknown).is_none() {
            return None;
        }
        let ends = [range.low, range.high].map(|money| {
            let mut candidate = subject.candidate.clone();
            for component in candidate.billing.iter_mut().filter(|component| component.id == range.component) {
                component.status = monthly(money);
            }
            let changed = Subject { candidate, runs: subject.runs, share: subject.share };
            (money.to_string(), self.difference(self.brief, Some(&changed)))
        });
        self.swing(Unknown::Part(id.clone(), range.component.clone()), ends)
    }
}

fn cost(brief: &Brief, subject: &Subject<'_>, is_demonstration: bool) -> CandidateCost {
    let carried = carried_by(brief, subject.runs, is_demonstration);
    let carried = match subject.share {
        Some(share) => carried.map(|carried| with_share(carried, share)),
        None => carried,
    };
    cost_of(brief, &subject.candidate, carried)
}

/// The offer with each unknown part at the least it may cost: its range's lower end, or nothing.
fn at_least(candidate: &Candidate, declared: &CostPlan) -> Candidate {
    let mut out = candidate.clone();
    let currency = out.billing.iter().find_map(|component| match &component.status {
        Status::Priced(rate) => Some(rate.price.currency),
        _ => None,
    });
    for component in out.billing.iter_mut().filter(|component| component.status == Status::Unknown) {
        let least = declared.range(&candidate.id, &component.id).map(|range| range.low);
        let nothing = currency.map(|currency| Money { amount: Decimal::ZERO, currency });
        if let Some(money) = least.or(nothing) {
            component.status = monthly(money);
        }
    }
    out
}

fn monthly(price: Money) -> Status {
    Status::Priced(Rate { price, per: Per::Month, quantity: Decimal::ONE })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::billing::Category;
    use crate::domain::fixture;
    use crate::domain::money::round_to_places;

    fn look(declared: &CostPlan, change: impl Fn(&mut Candidate)) -> Sensitivity {
        let brief = fixture::brief();
        let offers: Vec<(Candidate, Vec<Arc<Run>>)> = fixture::offers()
            .into_iter()
            .map(|(mut candidate, points)| {
                change(&mut candidate);
                (candidate, vec![Arc::new(fixture::run("e1", &brief, 0, points))])
            })
            .collect();
        let offered: Vec<Offered<'_>> = offers.iter().map(|(one, runs)| (one, runs.as_slice())).collect();
        sensitivity(&brief, &offered, false, declared).unwrap()
    }

    fn shown(swing: &Swing) -> String {
        let what = match &swing.what {
            Unknown::MonthHours => "month".to_owned(),
            Unknown::Share(id) => format!("share {id}"),
            Unknown::Price(id) => format!("price {id}"),
            Unknown::Part(id, part) => format!("part {id} {part}"),
        };
        let [low, high] = [&swing.low, &swing.high].map(|value| round_to_places(value, 4));
        format!("{what} {low} {high}")
    }

    #[test]
    fn which_single_input_reverses_the_order() {
        let of = look(&CostPlan::default(), |_| ());
        assert_eq!((of.best.as_str(), of.other.as_str()), ("b", "c"));
        // 1,379.20 ÷ 6,696.144 less 1,225 ÷ 6,687.603.
        assert_eq!(of.difference.value.show_significant(4), "0.02279");
        assert_eq!(
            of.swings.iter().map(shown).collect::<Vec<_>>(),
            [
                // A tenth of 0.20597 and of 0.18318, either way.
                "price c 0.0022 0.0434",
                "price b 0.0045 0.0411",
                "month 0.0204 0.0260",
                "share c 0.0216 0.0244",
                "share b 0.0221 0.0234",
            ]
        );
        assert!(!of.swings.iter().any(Swing::reverses));
        assert_eq!(of.open, []);
    }

    #[test]
    fn a_part_without_a_price_reverses_it_from_an_amount_on() {
        let with_unknown = |candidate: &mut Candidate| {
            if candidate.id.as_str() == "b" {
                candidate.billing.push(fixture::component(9, Category::Network, Status::Unknown));
            }
        };
        let of = look(&CostPlan::default(), with_unknown);
        let [open] = of.open.as_slice() else { panic!("one part") };
        // 0.022786… for a thousand of 6,687,603.
        assert_eq!(open.reverses_above.as_ref().map(Exact::show).as_deref(), Some("152.44"));
        let range = |high: &str| {
            CostPlan::default().with_range(PriceRange {
                candidate: CandidateId("b".into()),
                component: ComponentId("b9".into()),
                low: "20 USD".parse().unwrap(),
                high: high.parse().unwrap(),
            })
        };
        for (high, want) in [("150 USD", false), ("160 USD", true)] {
            let of = look(&range(high), with_unknown);
            let part = of.swings.iter().find(|swing| matches!(swing.what, Unknown::Part(..))).unwrap();
            assert_eq!(part.reverses(), want, "{high}: {}", shown(part));
            assert_eq!(of.open, []);
        }
    }

    #[test]
    fn one_candidate_has_no_order() {
        let brief = fixture::brief();
        let (candidate, points) = fixture::offers().into_iter().nth(1).unwrap();
        let runs = [Arc::new(fixture::run("e1", &brief, 0, points))];
        let got = sensitivity(&brief, &[(&candidate, &runs)], false, &CostPlan::default());
        assert_eq!(got.unwrap_err().kind, GapKind::NoEvidence);
    }
}
