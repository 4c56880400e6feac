//! Where ways to pay for the same work cost the same, over the demand: rented machines with their stairs of capacity, a
//! managed API, and a rented base with its peaks on the API.
//!
//! The demand is counted in accepted requests a month that arrive in the brief's proportion of mean and peak. Everything
//! is exact; crossings are found on the straight pieces, not on a grid.

use iso_currency::Currency;
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One as _, Signed, Zero as _};

use super::accepted::CandidateCost;
use super::carried::{Carried, integer, month_secs, share_input, unit_capacity};
use super::declared::{CostPlan, api_once, api_request};
use crate::domain::brief::Brief;
use crate::domain::candidate::Candidate;
use crate::domain::cost::plan::{Curve, Pieces, Split, crossings_within};
use crate::domain::figure::{Answer, Figure, Gap, GapKind, Input, Origin};
use crate::domain::format::fixed;
use crate::domain::ids::CandidateId;
use crate::domain::money::{Exact, ratio_of_f64};

/// Slots of a day that a hybrid looks at.
const SLOTS: u32 = 24;
/// Pieces that are drawn of one way; a machine that carries next to nothing has more stairs than a plot has points.
const MOST_PIECES: usize = 400;
/// Machines of a hybrid's base that are tried.
const MOST_BASE: u32 = 64;

/// A way to pay for the work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Who {
    /// As many machines of a candidate as the peak needs.
    Candidate(CandidateId),
    /// The managed API.
    Api,
    /// So many machines of a candidate, and what goes beyond them on the API.
    Hybrid(CandidateId, u32),
}

/// What a way costs a month over the demand.
#[derive(Debug, Clone, PartialEq)]
pub struct Way {
    /// Which way.
    pub who: Who,
    /// Corners of the line: accepted requests a month and cost, the two ends of a jump at the same demand.
    pub corners: Vec<(BigRational, BigRational)>,
    /// Its cost a month at the brief's demand.
    pub at_brief: Exact,
    line: Line,
    /// What its line is made of, for the trace.
    inputs: Vec<Input>,
}

#[derive(Debug, Clone, PartialEq)]
enum Line {
    Stairs(Curve),
    Split(Split),
}

impl Line {
    fn cost(&self, x: &BigRational) -> BigRational {
        match self {
            Self::Stairs(curve) => curve.cost(x),
            Self::Split(split) => split.cost(x),
        }
    }

    fn pieces(&self) -> &dyn Pieces {
        match self {
            Self::Stairs(curve) => curve,
            Self::Split(split) => split,
        }
    }
}

/// A stretch of demand and the way that costs least on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reach {
    /// The way.
    pub who: Who,
    /// From this demand on.
    pub from: BigRational,
    /// Up to this one.
    pub to: BigRational,
}

/// Two ways against each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    /// The one that costs less at the lowest demand.
    pub lower: Who,
    /// The other one.
    pub higher: Who,
    /// Every demand at which the cheaper of the two changes, ascending.
    pub crossings: Vec<BigRational>,
    /// Up to which demand both cost the same from the start; `None` where they differ at once.
    pub same_up_to: Option<BigRational>,
}

/// All ways over the demand.
#[derive(Debug, Clone, PartialEq)]
pub struct BreakEven {
    /// The ways that have a line, candidates in the order of the plan first.
    pub ways: Vec<Way>,
    /// Those that have none, and why.
    pub missing: Vec<(Who, Gap)>,
    /// Accepted requests a month at the brief's demand, on the candidate that costs least there.
    pub demand: BigRational,
    /// Up to which demand the ways were held against each other.
    pub up_to: BigRational,
    /// The currency of all of them.
    pub currency: Currency,
    /// Which way costs least on which stretch, without gaps from no demand to `up_to`.
    pub lowest: Vec<Reach>,
    /// The way that costs least at the brief's demand against each other one.
    pub pairs: Vec<Pair>,
    /// One request on the API; `None` where no API is declared.
    pub api_request: Option<Answer<Exact>>,
}

impl BreakEven {
    /// The way with this name.
    #[must_use]
    pub fn way(&self, who: &Who) -> Option<&Way> {
        self.ways.iter().find(|way| way.who == *who)
    }

    /// The way that costs least at the brief's demand.
    #[must_use]
    pub fn at_brief(&self) -> Option<&Reach> {
        self.lowest.iter().find(|reach| self.demand > reach.from && self.demand <= reach.to)
    }

    /// The demand nearest to the brief's at which the cheapest way changes, and what is paid there.
    #[must_use]
    pub fn nearest_change(&self) -> Option<(Figure<BigRational>, BigRational)> {
        let changes = || self.lowest.iter().zip(self.lowest.iter().skip(1));
        // A hybrid leaves the line of its own base without crossing it.
        let is_crossing = |before: &Reach, after: &Reach| match (&before.who, &after.who) {
            (Who::Candidate(base), Who::Hybrid(of, _)) => base != of,
            _ => true,
        };
        let distance = |after: &Reach| (&after.from - &self.demand).abs();
        let crossing =
            changes().filter(|(before, after)| is_crossing(before, after)).min_by_key(|(_, after)| distance(after));
        let (before, after) = crossing.or_else(|| changes().min_by_key(|(_, after)| distance(after)))?;
        let (below, above) = (self.way(&before.who)?, self.way(&after.who)?);
        let inputs = below.inputs.iter().chain(&above.inputs).cloned().collect();
        // Just below a jump the way before it still costs what both cost.
        Some((
            Figure::derived(after.from.clone(), "cost_lower(n) = cost_higher(n)", inputs),
            below.line.cost(&after.from),
        ))
    }
}

/// Holds the candidates, the API and the hybrid against each other.
///
/// # Errors
/// The first candidate's gap when no candidate has both a price and a measured capacity: then nobody knows the scale of
/// the demand.
pub fn break_even(
    brief: &Brief,
    candidates: &[(&Candidate, &CandidateCost)],
    declared: &CostPlan,
) -> Result<BreakEven, Gap> {
    let mut missing = Vec::new();
    let mut known: Vec<(&Candidate, &Carried, Curve, Exact)> = Vec::new();
    for (candidate, cost) in candidates {
        match curve_of(brief, cost) {
            Ok((carried, curve, total)) => known.push((candidate, carried, curve, total)),
            Err(gap) => missing.push((Who::Candidate(candidate.id.clone()), gap)),
        }
    }
    let first_gap = || missing.first().map_or_else(|| Gap::new(GapKind::NoRun), |(_, gap)| gap.clone());
    // The currency that most of them are in; with a tie that of the first.
    let currency = known
        .iter()
        .map(|(.., total)| total.currency)
        .rev()
        .max_by_key(|currency| known.iter().filter(|(.., total)| total.currency == *currency).count())
        .ok_or_else(first_gap)?;
    let two =
        |other: Currency| Gap::new(GapKind::TwoCurrencies).with("first", currency.code()).with("second", other.code());
    known.retain(|(candidate, .., total)| {
        let same = total.currency == currency;
        if !same {
            missing.push((Who::Candidate(candidate.id.clone()), two(total.currency)));
        }
        same
    });
    let (base, base_carried, base_curve, _) =
        known.iter().min_by(|a, b| a.3.amount.cmp(&b.3.amount)).ok_or_else(|| Gap::new(GapKind::NoRun))?;
    let demand = base_carried.accepted_month.as_ref().map_err(Clone::clone)?.value.clone();
    let up_to = round_up(&(&demand * integer(2)));
    let mut lines: Vec<(Who, Line, Vec<Input>)> = known
        .iter()
        .map(|(candidate, carried, curve, _)| {
            let who = Who::Candidate(candidate.id.clone());
            (who, Line::Stairs(curve.clone()), stairs_inputs(brief, carried, curve, currency))
        })
        .collect();
    let per_request = declared.api.as_ref().map(|api| api_request(brief, api));
    if let Some(api) = &declared.api {
        match api_curve(per_request.clone(), api_once(api), currency) {
            Ok(curve) => {
                let api_inputs = api_inputs(per_request.as_ref());
                lines.push((Who::Api, Line::Stairs(curve.clone()), api_inputs.clone()));
                let units = base_carried.units.min(MOST_BASE);
                let splits = (1..=units)
                    .filter_map(|n| Some((n, split_of(brief, base_curve, &curve, n)?)))
                    .min_by(|(_, a), (_, b)| a.cost(&demand).cmp(&b.cost(&demand)));
                if let Some((n, split)) = splits {
                    let mut inputs = stairs_inputs(brief, base_carried, base_curve, currency);
                    inputs.extend(api_inputs);
                    lines.push((Who::Hybrid(base.id.clone(), n), Line::Split(split), inputs));
                }
            }
            Err(gap) => missing.push((Who::Api, gap)),
        }
    }
    let ways: Vec<Way> = lines
        .into_iter()
        .map(|(who, line, inputs)| Way {
            who,
            corners: corners(line.pieces(), &up_to),
            at_brief: Exact { amount: line.cost(&demand), currency },
            line,
            inputs,
        })
        .collect();
    let crossed = crossed(&ways, &up_to);
    let lowest = lowest(&ways, &crossed, &up_to);
    let pairs = pairs(&ways, &crossed, &up_to);
    Ok(BreakEven { ways, missing, demand, up_to, currency, lowest, pairs, api_request: per_request })
}

/// A candidate's month over its accepted requests: as many machines as carry them.
fn curve_of<'a>(brief: &Brief, cost: &'a CandidateCost) -> Result<(&'a Carried, Curve, Exact), Gap> {
    let month = &cost.month.total.as_ref().map_err(Clone::clone)?.value;
    let carried = cost.carried.as_ref().map_err(Clone::clone)?;
    let requests = &carried.requests_month.as_ref().map_err(Clone::clone)?.value;
    let accepted = &carried.accepted_month.as_ref().map_err(Clone::clone)?.value;
    let total = cost.month_total.as_ref().map_err(Clone::clone)?.value.clone();
    let capacity = unit_capacity(brief, carried).filter(Signed::is_positive);
    let capacity = capacity.ok_or_else(|| Gap::new(GapKind::BriefField).with("field", "peak_rate"))?;
    if requests.is_zero() || accepted.is_zero() {
        return Err(Gap::new(GapKind::NothingAccepted));
    }
    let curve = Curve {
        fixed: month.amount.clone(),
        capacity: Some(capacity),
        useful: accepted / requests,
        ..Curve::default()
    };
    Ok((carried, curve, total))
}

/// What a candidate's stairs are made of.
fn stairs_inputs(brief: &Brief, carried: &Carried, curve: &Curve, currency: Currency) -> Vec<Input> {
    let declared =
        |name, rate: Option<f64>| Input::leaf(name, rate.unwrap_or_default().to_string(), "req/s", Origin::Declared);
    let month = Exact { amount: curve.fixed.clone(), currency };
    let derived = Origin::Derived { from_measured: false };
    vec![
        Input::leaf("month_one_unit", month.show(), currency.code(), derived),
        Input::leaf("highest_rate", fixed(carried.highest_rate.value, 2), "req/s", Origin::Measured).on(carried
            .highest_rate
            .evidence
            .iter()
            .cloned()),
        share_input(&carried.share),
        declared("mean_rate", brief.mean_rate),
        declared("peak_rate", brief.peak_rate),
    ]
}

fn api_inputs(per_request: Option<&Answer<Exact>>) -> Vec<Input> {
    let figure = per_request.and_then(|answer| answer.as_ref().ok());
    figure
        .map(|figure| Input {
            formula: figure.formula,
            inputs: figure.inputs.clone(),
            ..Input::leaf("api_request", figure.value.show_significant(4), figure.value.currency.code(), figure.origin)
        })
        .into_iter()
        .collect()
}

fn api_curve(
    per_request: Option<Answer<Exact>>,
    once: Result<Option<Exact>, Gap>,
    currency: Currency,
) -> Result<Curve, Gap> {
    let each = per_request.ok_or_else(|| Gap::new(GapKind::NoPrice))??.value;
    let once = once?.unwrap_or_else(|| Exact::zero(currency));
    for other in [each.currency, once.currency] {
        if other != currency {
            return Err(Gap::new(GapKind::TwoCurrencies).with("first", currency.code()).with("second", other.code()));
        }
    }
    Ok(Curve { once: once.amount, per_unit: each.amount, useful: BigRational::one(), ..Curve::default() })
}

/// `n` machines of a candidate all month, and the rest of each slot on the API.
fn split_of(brief: &Brief, base: &Curve, api: &Curve, n: u32) -> Option<Split> {
    let month = base.capacity.as_ref()? * &base.useful * integer(n);
    // The capacity over a month stands for one at the peak: a slot carries its part of the peak all day.
    let (mean, peak) = (ratio_of_f64(brief.mean_rate?)?, ratio_of_f64(brief.peak_rate?)?);
    if mean.is_zero() || month_secs(brief).is_zero() {
        return None;
    }
    let fixed = &base.once + &base.fixed * integer(n) + &api.once;
    let slot = month * &peak / &mean / integer(SLOTS);
    Some(Split::new(fixed, api.per_unit.clone(), slot, day_shape(&(mean / peak))?))
}

/// Share of a day's requests in each of its slots, when all that is known is the mean as a share of the peak: one slot at
/// the peak and an even decline after it, as steep as the mean asks for.
fn day_shape(mean: &BigRational) -> Option<Vec<BigRational>> {
    let slots = integer(SLOTS);
    let last = integer(SLOTS - 1);
    let half = BigRational::new(BigInt::one(), BigInt::from(2));
    let one = BigRational::one();
    if mean > &one || mean * &slots < one {
        return None;
    }
    let heights: Vec<BigRational> = (0..SLOTS)
        .map(|slot| {
            let down = integer(slot) / &last;
            if *mean >= half {
                // From the peak down to a floor above zero.
                &one - down * (&one - (mean * integer(2) - &one))
            } else if slot == 0 {
                one.clone()
            } else {
                // The other slots go down to nothing; their sum is what the mean leaves.
                (&one - down) * (mean * &slots - &one) / (&slots / integer(2) - &one)
            }
        })
        .collect();
    let sum = heights.iter().fold(BigRational::zero(), |sum, height| sum + height);
    Some(heights.into_iter().map(|height| height / &sum).collect())
}

/// Both ends of every straight piece up to `up_to`.
fn corners(line: &dyn Pieces, up_to: &BigRational) -> Vec<(BigRational, BigRational)> {
    let mut out: Vec<(BigRational, BigRational)> = Vec::new();
    let mut from = BigRational::zero();
    for _ in 0..MOST_PIECES {
        let (start, slope) = line.after(&from);
        let to = line.next_edge(&from).map_or_else(|| up_to.clone(), |edge| edge.min(up_to.clone()));
        let end = &start + slope * (&to - &from);
        if out.last().is_none_or(|last| last.0 != from || last.1 != start) {
            out.push((from, start));
        }
        out.push((to.clone(), end));
        if to >= *up_to {
            break;
        }
        from = to;
    }
    out
}

/// Two ways by their places, and where they cross.
struct Crossed {
    pair: (usize, usize),
    at: Vec<BigRational>,
}

/// Every pair of ways once.
fn crossed(ways: &[Way], up_to: &BigRational) -> Vec<Crossed> {
    let each = ways.iter().enumerate();
    each.flat_map(|(idx, a)| {
        ways.iter().enumerate().skip(idx + 1).map(move |(other, b)| Crossed {
            pair: (idx, other),
            // Only a search of more pieces than any plan has fails; what it found of them says nothing.
            at: crossings_within(a.line.pieces(), b.line.pieces(), up_to).unwrap_or_default(),
        })
    })
    .collect()
}

/// The places in order, each once, with the two ends of the plot.
fn ordered(places: impl Iterator<Item = BigRational>, up_to: &BigRational) -> Vec<BigRational> {
    let mut edges: Vec<BigRational> = places.chain([BigRational::zero(), up_to.clone()]).collect();
    edges.sort();
    edges.dedup();
    edges
}

/// Both ends of each stretch without an edge, and its middle.
fn stretches(edges: &[BigRational]) -> impl Iterator<Item = (&BigRational, &BigRational, BigRational)> {
    edges.iter().zip(edges.iter().skip(1)).map(|(from, to)| (from, to, (from + to) / integer(2)))
}

fn bends(way: &Way) -> impl Iterator<Item = BigRational> {
    way.corners.iter().map(|(x, _)| x.clone())
}

fn lowest(ways: &[Way], crossed: &[Crossed], up_to: &BigRational) -> Vec<Reach> {
    let mut out: Vec<Reach> = Vec::new();
    let places = crossed.iter().flat_map(|crossed| crossed.at.iter().cloned()).chain(ways.iter().flat_map(bends));
    for (from, to, middle) in stretches(&ordered(places, up_to)) {
        // Of several that cost the same the first counts: the plainer one.
        let Some((_, least)) = ways.iter().map(|way| (way.line.cost(&middle), way)).min_by(|a, b| a.0.cmp(&b.0)) else {
            continue;
        };
        match out.last_mut() {
            Some(last) if last.who == least.who => last.to = to.clone(),
            _ => out.push(Reach { who: least.who.clone(), from: from.clone(), to: to.clone() }),
        }
    }
    out
}

/// The way that costs least at the brief's demand, against each other one.
fn pairs(ways: &[Way], crossed: &[Crossed], up_to: &BigRational) -> Vec<Pair> {
    let by_cost = ways.iter().enumerate().min_by(|(_, a), (_, b)| a.at_brief.amount.cmp(&b.at_brief.amount));
    let Some((place, best)) = by_cost else { return Vec::new() };
    let against = |other: usize| {
        let pair = (place.min(other), place.max(other));
        crossed.iter().find(|crossed| crossed.pair == pair).map_or_else(Vec::new, |crossed| crossed.at.clone())
    };
    let others = ways.iter().enumerate().filter(|(other, _)| *other != place);
    others
        .map(|(idx, other)| {
            let crossings = against(idx);
            let edges = ordered(bends(best).chain(bends(other)).chain(crossings.iter().cloned()), up_to);
            let difference = |x: &BigRational| best.line.cost(x) - other.line.cost(x);
            let first = stretches(&edges).map(|(from, _, middle)| (from, difference(&middle)));
            let first = first.into_iter().find(|(_, difference)| !difference.is_zero());
            let best_is_lower = first.as_ref().is_none_or(|(_, difference)| difference.is_negative());
            let same_up_to = first.map_or_else(|| up_to.clone(), |(from, _)| from.clone());
            let (lower, higher) = if best_is_lower { (best, other) } else { (other, best) };
            Pair {
                lower: lower.who.clone(),
                higher: higher.who.clone(),
                crossings,
                same_up_to: Some(same_up_to).filter(Signed::is_positive),
            }
        })
        .collect()
}

/// The next number of two significant digits.
fn round_up(value: &BigRational) -> BigRational {
    let mut step = BigInt::one();
    while BigRational::from_integer(&step * 100) < *value {
        step *= 10;
    }
    let step = BigRational::from_integer(step);
    (value / &step).ceil() * step
}

#[cfg(test)]
mod tests {
    use super::super::accepted::cost_per_accepted;
    use super::super::declared::ApiOffer;
    use super::*;
    use crate::domain::fixture;
    use crate::domain::money::round_to_places;

    fn words(who: &Who) -> String {
        match who {
            Who::Candidate(id) => id.to_string(),
            Who::Api => "api".to_owned(),
            Who::Hybrid(id, n) => format!("{n} × {id} + api"),
        }
    }

    fn whole(value: &BigRational) -> String {
        round_to_places(value, 0)
    }

    fn of_offers(names: &[&str], api: Option<ApiOffer>) -> BreakEven {
        let brief = fixture::brief();
        let offers: Vec<_> =
            fixture::offers().into_iter().filter(|(one, _)| names.contains(&one.id.as_str())).collect();
        let costs: Vec<(Candidate, CandidateCost)> = offers
            .into_iter()
            .map(|(candidate, points)| {
                let runs = [std::sync::Arc::new(fixture::run("e1", &brief, 0, points))];
                let cost = cost_per_accepted(&brief, &candidate, &runs, false);
                (candidate, cost)
            })
            .collect();
        let pairs: Vec<(&Candidate, &CandidateCost)> = costs.iter().map(|(one, cost)| (one, cost)).collect();
        break_even(&brief, &pairs, &CostPlan { api, ranges: Vec::new(), rates: Vec::new() }).unwrap()
    }

    /// 2.35 USD for 10,000 requests of 700 and 240 tokens.
    fn api() -> ApiOffer {
        ApiOffer {
            name: "API".into(),
            input: "0.13 USD".parse().ok(),
            output: "0.60 USD".parse().ok(),
            ..ApiOffer::default()
        }
    }

    #[test]
    fn an_api_and_a_machine_cross_where_the_month_is_paid() {
        let of = of_offers(&["b"], Some(api()));
        assert_eq!(of.api_request.clone().unwrap().unwrap().value.show_significant(4), "0.0002350");
        // 1,225 ÷ 0.000235; one machine carries 8 ÷ 0.99 req/s at the peak, of which 97.875 % is accepted.
        let [pair, hybrid] = of.pairs.as_slice() else { panic!("the API and the hybrid") };
        // As long as one machine carries the work, nothing goes to the API.
        assert_eq!((words(&hybrid.lower), words(&hybrid.higher)), ("1 × b + api".into(), "b".into()));
        assert_eq!(hybrid.same_up_to.as_ref().map(whole).as_deref(), Some("6755155"));
        assert_eq!(pair.same_up_to, None);
        assert_eq!((words(&pair.lower), words(&pair.higher)), ("api".into(), "b".into()));
        assert_eq!(
            pair.crossings.iter().map(whole).collect::<Vec<_>>(),
            ["5212766", "6755155", "10425532", "13510309"]
        );
        assert_eq!(whole(&of.demand), "6687603");
        let lowest: Vec<(String, String)> = of.lowest.iter().map(|one| (words(&one.who), whole(&one.from))).collect();
        // Above one machine, one machine and the API carry the work for less than two machines.
        assert_eq!(
            lowest,
            [("api".into(), "0".into()), ("b".into(), "5212766".into()), ("1 × b + api".into(), "6755155".into())]
        );
        assert_eq!(of.at_brief().map(|reach| words(&reach.who)).as_deref(), Some("b"));
        // The crossing, not where the hybrid leaves its base, though that is nearer to the brief.
        let (at, paid) = of.nearest_change().unwrap();
        assert_eq!((whole(&at.value), whole(&paid)), ("5212766".into(), "1225".into()));
    }

    #[test]
    fn stairs_follow_the_measured_capacity() {
        let of = of_offers(&["a", "b", "c"], None);
        let b = of.way(&Who::Candidate(CandidateId("b".into()))).unwrap();
        let corners: Vec<String> =
            b.corners.iter().take(4).map(|(x, y)| format!("{} {}", whole(x), whole(y))).collect();
        assert_eq!(corners, ["0 1225", "6755155 1225", "6755155 2450", "13510309 2450"]);
        let c = of.way(&Who::Candidate(CandidateId("c".into()))).unwrap();
        assert_eq!(c.at_brief.show(), "1,379.20", "four machines");
        // Up to three machines C costs less than one of B.
        let lowest: Vec<String> = of.lowest.iter().map(|one| words(&one.who)).collect();
        assert_eq!(lowest.first().map(String::as_str), Some("c"));
        assert_eq!(of.at_brief().map(|reach| words(&reach.who)).as_deref(), Some("b"));
        assert_eq!(whole(&of.up_to), "14000000");
    }

    #[test]
    fn what_has_no_line_says_why() {
        let of = of_offers(&["b"], Some(ApiOffer { output: None, ..api() }));
        assert_eq!(
            of.missing.iter().map(|(who, gap)| (words(who), gap.kind)).collect::<Vec<_>>(),
            [("api".into(), GapKind::NotStated)]
        );
        let euro = ApiOffer { input: "1 EUR".parse().ok(), output: "1 EUR".parse().ok(), ..api() };
        assert_eq!(of_offers(&["b"], Some(euro)).missing.first().unwrap().1.kind, GapKind::TwoCurrencies);
        let once = ApiOffer { once: "600 USD".parse().ok(), months: Some(6), ..api() };
        let api = of_offers(&["b"], Some(once));
        assert_eq!(api.way(&Who::Api).unwrap().corners.first().map(|(_, y)| whole(y)).as_deref(), Some("100"));
    }

    #[test]
    fn a_day_has_the_mean_and_the_peak_of_the_brief() {
        for (mean, first, last) in [("13/40", "5/39", "0"), ("1/2", "1/12", "0"), ("3/4", "1/18", "1/36")] {
            let mean: BigRational = mean.parse().unwrap();
            let shape = day_shape(&mean).unwrap();
            let sum = shape.iter().fold(BigRational::zero(), |sum, share| sum + share);
            assert_eq!(sum, BigRational::one());
            assert_eq!(shape.first().unwrap().to_string(), first);
            assert_eq!(shape.last().unwrap().to_string(), last);
        }
        assert_eq!(day_shape(&"2".parse().unwrap()), None);
    }
}
