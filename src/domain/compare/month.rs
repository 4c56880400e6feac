//! What one unit of an offer costs in a month: each component once, exact until shown.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::Zero as _;
use rust_decimal::Decimal;

use crate::domain::billing::{Category, Component, Per, Rate, Status};
use crate::domain::candidate::Term;
use crate::domain::cost::{NoValue, OfferMonth, month_of_offer};
use crate::domain::figure::{Answer, Figure, Gap, GapKind, Input, Origin};
use crate::domain::ids::ComponentId;
use crate::domain::money::{Exact, ratio};
use crate::domain::terms::{Terms, show_tiers};

/// The month of one unit.
#[derive(Debug, Clone, PartialEq)]
pub struct MonthCost {
    /// One line a component, in the order of the offer.
    pub lines: Vec<MonthLine>,
    /// The sum, or what keeps it from existing: an unknown price, a one-off without a term, two currencies, no price.
    pub total: Answer<Exact>,
    /// Sum of the priced part where the total is a gap: it will not be less. `None` where two currencies meet or
    /// nothing is priced.
    pub lower_bound: Option<Exact>,
    /// How many components have which status.
    pub coverage: Coverage,
    /// What goes on while the machine is stopped, a day of 24 hours.
    pub stopped_day: Answer<Exact>,
    /// Hours the month is counted as.
    pub month_hours: Decimal,
}

/// One component in a month.
#[derive(Debug, Clone, PartialEq)]
pub struct MonthLine {
    /// Its id.
    pub component: ComponentId,
    /// What it pays for.
    pub category: Category,
    /// The provider's words for it.
    pub label: String,
    /// What it comes to.
    pub amount: LineAmount,
    /// Whether it goes on while the machine is stopped.
    pub when_stopped: Option<bool>,
}

/// What a component comes to in a month.
#[derive(Debug, Clone, PartialEq)]
pub enum LineAmount {
    /// This much.
    Priced(Exact),
    /// Paid once, and no term to spread it over: the whole amount, apart from any month.
    Unspread(Exact),
    /// Another line includes it.
    Included,
    /// Nobody said.
    Unknown,
    /// It does not exist in this offer.
    NotApplicable,
}

/// How much of an offer is priced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Coverage {
    /// Components with a price.
    pub priced: usize,
    /// Included in another line.
    pub included: usize,
    /// Without a price though they will cost something.
    pub unknown: usize,
    /// That do not exist in this offer.
    pub not_applicable: usize,
}

/// The month of one unit of an offer.
#[must_use]
pub fn month_cost(billing: &[Component], term: &Term, month_hours: Decimal) -> MonthCost {
    let engine = month_of_offer(billing, term, month_hours);
    let lines: Vec<MonthLine> =
        billing.iter().zip(&engine.lines).map(|(component, made)| line(component, made, term)).collect();
    let mut coverage = Coverage::default();
    for component in billing {
        *match component.status {
            Status::Priced(_) => &mut coverage.priced,
            Status::Included => &mut coverage.included,
            Status::Unknown => &mut coverage.unknown,
            Status::NotApplicable => &mut coverage.not_applicable,
        } += 1;
    }
    let total = total(billing, &lines, &engine, term, month_hours);
    let first = lines.iter().find_map(|line| match &line.amount {
        LineAmount::Priced(amount) => Some(amount.currency),
        _ => None,
    });
    let least = engine.total.as_ref().err().and_then(|none| none.at_least.clone());
    let lower_bound = least.zip(first).filter(|_| total.is_err());
    let lower_bound = lower_bound.map(|(amount, currency)| Exact { amount, currency });
    let stopped_day = stopped_day(billing, &lines, &engine, term, month_hours);
    MonthCost { lines, total, lower_bound, coverage, stopped_day, month_hours }
}

/// What one hour of one unit costs by the components that are priced an hour; `None` when none is, or in two currencies.
#[must_use]
pub fn hour_cost(billing: &[Component]) -> Option<Exact> {
    let amounts: Vec<Exact> = billing
        .iter()
        .filter_map(|component| match &component.status {
            Status::Priced(rate) if rate.per == Per::Hour => Some(whole(rate)),
            _ => None,
        })
        .collect();
    sum(amounts.iter()).ok().flatten()
}

fn line(component: &Component, made: &Result<Exact, NoValue>, term: &Term) -> MonthLine {
    let has_term = term.months.is_some_and(|months| months > 0);
    let amount = match &component.status {
        Status::Priced(rate) => match made {
            _ if rate.per == Per::Once && !has_term => LineAmount::Unspread(whole(rate)),
            Ok(amount) => LineAmount::Priced(amount.clone()),
            // Its terms do not fit its price; the total says so.
            Err(_) => LineAmount::Unknown,
        },
        Status::Included => LineAmount::Included,
        Status::Unknown => LineAmount::Unknown,
        Status::NotApplicable => LineAmount::NotApplicable,
    };
    MonthLine {
        component: component.id.clone(),
        category: component.category,
        label: component.label.clone(),
        amount,
        when_stopped: component.when_stopped,
    }
}

/// Price × quantity, for one unit of time or once.
fn whole(rate: &Rate) -> Exact {
    Exact::from(rate.price).times(&ratio(rate.quantity))
}

/// The sum of amounts; `None` when there is none.
///
/// # Errors
/// The gap `TwoCurrencies`.
fn sum<'a>(amounts: impl Iterator<Item = &'a Exact>) -> Result<Option<Exact>, Gap> {
    let mut total: Option<Exact> = None;
    for amount in amounts {
        total = Some(match total {
            None => amount.clone(),
            Some(sum) => sum.plus(amount).map_err(|mismatch| {
                Gap::new(GapKind::TwoCurrencies)
                    .with("first", mismatch.first.code())
                    .with("second", mismatch.second.code())
            })?,
        });
    }
    Ok(total)
}

fn total(
    billing: &[Component],
    lines: &[MonthLine],
    engine: &OfferMonth,
    term: &Term,
    month_hours: Decimal,
) -> Answer<Exact> {
    let gap_of = |kind, line: &MonthLine| Gap::new(kind).with("component", component_words(line));
    let priced = lines.iter().filter_map(|line| match &line.amount {
        LineAmount::Priced(amount) => Some(amount),
        _ => None,
    });
    // Two currencies first: then not even the priced part has a sum.
    sum(priced)?;
    if let Some(overlap) = &engine.overlap
        && let (Some(first), Some(second)) = (lines.get(overlap.first), lines.get(overlap.second))
    {
        return Err(Gap::new(GapKind::Overlap)
            .with("first", component_words(first))
            .with("second", component_words(second))
            .with("part", overlap.part.key()));
    }
    if let Some((line, _)) = unclear(billing, lines).next() {
        return Err(gap_of(GapKind::TermsUnclear, line));
    }
    if let Some(line) = lines.iter().find(|line| line.amount == LineAmount::Unknown) {
        return Err(gap_of(GapKind::UnknownPrice, line));
    }
    if let Some(line) = lines.iter().find(|line| matches!(line.amount, LineAmount::Unspread(_))) {
        return Err(gap_of(GapKind::NoTerm, line));
    }
    let total = engine.total.as_ref().map_err(|_none| Gap::new(GapKind::NoPrice))?.shown().clone();
    let spans = engine.spans.iter().map(Option::as_ref).chain(std::iter::repeat(None));
    let inputs = billing
        .iter()
        .zip(lines)
        .zip(spans)
        .filter_map(|((component, line), span)| input(component, line, span, term, month_hours));
    Ok(Figure::derived(total, "Σ components", inputs.collect()))
}

/// Components with a price whose terms keep it from coming to an amount.
fn unclear<'a>(
    billing: &'a [Component],
    lines: &'a [MonthLine],
) -> impl Iterator<Item = (&'a MonthLine, &'a Component)> {
    lines
        .iter()
        .zip(billing)
        .filter(|(line, component)| line.amount == LineAmount::Unknown && matches!(component.status, Status::Priced(_)))
}

/// The provider's words for a component, or the name of its category.
fn component_words(line: &MonthLine) -> String {
    if line.label.trim().is_empty() { line.category.key().to_owned() } else { line.label.clone() }
}

fn input(
    component: &Component,
    line: &MonthLine,
    span: Option<&(Exact, Exact)>,
    term: &Term,
    month_hours: Decimal,
) -> Option<Input> {
    let (Status::Priced(rate), LineAmount::Priced(amount)) = (&component.status, &line.amount) else { return None };
    let declared = |name, value: String, unit: &str| Input::leaf(name, value, unit, Origin::Declared);
    let mut inputs = vec![
        declared("price", rate.price.amount.to_string(), rate.price.currency.code()),
        declared("quantity", rate.quantity.to_string(), ""),
    ];
    let has_terms = component.terms.change_amounts();
    let formula = match (rate.per, has_terms) {
        (Per::Hour, _) => {
            inputs.push(declared("month_hours", month_hours.to_string(), "h"));
            if has_terms { "terms(price × quantity × month_hours)" } else { "price × quantity × month_hours" }
        }
        (Per::GbMonth | Per::Month | Per::Gb, false) => "price × quantity",
        (Per::GbMonth | Per::Month | Per::Gb, true) => "terms(price × quantity)",
        (Per::Once, _) => {
            inputs.push(declared("term_months", term.months.unwrap_or(0).to_string(), ""));
            if has_terms { "terms(price × quantity ÷ term_months)" } else { "price × quantity ÷ term_months" }
        }
    };
    inputs.extend(terms_inputs(&component.terms));
    if let Some((low, high)) = span {
        let readings = format!("{} – {}", low.show(), high.show());
        let origin = Origin::Derived { from_measured: false };
        inputs.push(Input::leaf("readings", readings, low.currency.code(), origin));
    }
    Some(Input {
        formula,
        inputs,
        ..Input::leaf(
            component.category.key(),
            amount.show(),
            amount.currency.code(),
            Origin::Derived { from_measured: false },
        )
    })
}

/// The terms as they were stated.
fn terms_inputs(terms: &Terms) -> Vec<Input> {
    let mut out = Vec::new();
    let mut push = |name, value: Option<String>| {
        out.extend(value.map(|value| Input::leaf(name, value, "", Origin::Declared)));
    };
    push("step", terms.step.as_ref().map(|one| one.text().to_owned()));
    push("minimum", terms.minimum.as_ref().map(|one| one.text().to_owned()));
    push("allowance", terms.allowance.as_ref().map(|one| one.text().to_owned()));
    push("tiers", terms.tiers.as_ref().map(show_tiers));
    push("floor_month", terms.floor_month.map(|money| money.to_string()));
    push("cap_month", terms.cap_month.map(|money| money.to_string()));
    push("month_basis", terms.month.as_ref().map(|one| one.text().to_owned()));
    push("gb_in_tb", terms.tb.map(|tb| tb.to_string()));
    push("tax", terms.tax.as_ref().map(|tax| tax.rate.text().to_owned()));
    push("stopped_price", terms.stopped_price.map(|money| money.to_string()));
    out
}

/// Each running component that goes on while stopped, as its share of a day.
fn stopped_day(
    billing: &[Component],
    lines: &[MonthLine],
    engine: &OfferMonth,
    term: &Term,
    month_hours: Decimal,
) -> Answer<Exact> {
    // The same lines with what they come to in a month in which the machine is stopped.
    let lines: Vec<MonthLine> = lines
        .iter()
        .zip(&engine.stopped)
        .map(|(line, made)| match (&line.amount, made) {
            (LineAmount::Priced(_), Ok(amount)) => {
                MonthLine { amount: LineAmount::Priced(amount.clone()), ..line.clone() }
            }
            _ => line.clone(),
        })
        .collect();
    let lines = lines.as_slice();
    let running = || {
        lines.iter().zip(billing).filter(|(_, component)| match &component.status {
            Status::Priced(rate) => matches!(rate.per, Per::Hour | Per::GbMonth | Per::Month),
            Status::Unknown => component.category != Category::OneOff,
            Status::Included | Status::NotApplicable => false,
        })
    };
    if let Some((line, _)) = running().find(|(line, _)| line.when_stopped.is_none()) {
        return Err(Gap::new(GapKind::NotStated)
            .with("field", "when_stopped")
            .with("component", component_words(line)));
    }
    let going_on = || running().filter(|(line, _)| line.when_stopped == Some(true));
    if let Some((line, _)) = going_on().find(|(line, _)| line.amount == LineAmount::Unknown) {
        return Err(Gap::new(GapKind::UnknownPrice).with("component", component_words(line)));
    }
    if let Some((line, _)) = unclear(billing, lines).next() {
        return Err(Gap::new(GapKind::TermsUnclear).with("component", component_words(line)));
    }
    let month = sum(going_on().filter_map(|(line, _)| match &line.amount {
        LineAmount::Priced(amount) => Some(amount),
        _ => None,
    }))?;
    // Nothing goes on: zero, in the currency of the offer.
    let month = match month {
        Some(month) => month,
        None => match lines.iter().find_map(|line| match &line.amount {
            LineAmount::Priced(amount) => Some(amount.currency),
            _ => None,
        }) {
            Some(currency) => Exact::zero(currency),
            None => return Err(Gap::new(GapKind::NoPrice)),
        },
    };
    let hours = ratio(month_hours);
    if hours.is_zero() {
        return Err(Gap::new(GapKind::BriefField).with("field", "month_hours"));
    }
    let day = month.times(&(BigRational::from_integer(BigInt::from(24)) / hours));
    let inputs = going_on().filter_map(|(line, component)| input(component, line, None, term, month_hours));
    Ok(Figure::derived(day, "Σ components × 24 ÷ month_hours", inputs.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::cost::{TierKind, Written};
    use crate::domain::fixture::{component, priced};
    use crate::domain::terms::{Tax, read_tiers};

    fn cost(billing: &[Component], months: Option<u32>) -> MonthCost {
        month_cost(billing, &Term { months, ..Term::default() }, Decimal::from(730))
    }

    fn shown(answer: &Answer<Exact>) -> Result<String, (GapKind, String)> {
        answer
            .as_ref()
            .map(|figure| figure.value.show())
            .map_err(|gap| (gap.kind, gap.values.iter().map(|(_, value)| value.as_str()).collect::<Vec<_>>().join(" ")))
    }

    #[test]
    fn every_unit_once_and_exact() {
        use Category::{Accelerator, Network, OneOff, Storage, Support};
        for (name, component, months, want) in [
            ("hours", priced(1, Accelerator, "2.89 USD", Per::Hour, "1"), None, "2,109.70"),
            ("hours of four GPUs", priced(1, Accelerator, "0.44 USD", Per::Hour, "4"), None, "1,284.80"),
            ("kept", priced(1, Storage, "0.08 USD", Per::GbMonth, "500"), None, "40.00"),
            ("a month", priced(1, Support, "60 USD", Per::Month, "1"), None, "60.00"),
            ("moved", priced(1, Network, "0.09 USD", Per::Gb, "180"), None, "16.20"),
            ("once over six months", priced(1, OneOff, "90 USD", Per::Once, "1"), Some(6), "15.00"),
            ("a third is not lost", priced(1, OneOff, "1 USD", Per::Once, "3"), Some(9), "0.33"),
            ("no minor unit", priced(1, Accelerator, "150 JPY", Per::Hour, "1"), None, "109,500"),
            ("free is a price", priced(1, Accelerator, "0 USD", Per::Hour, "1"), None, "0.00"),
        ] {
            let month = cost(&[component], months);
            assert_eq!(shown(&month.total), Ok(want.to_owned()), "{name}");
            assert_eq!(month.lower_bound, None, "{name}");
        }
    }

    #[test]
    fn what_is_missing_is_never_zero() {
        use Category::{Accelerator, Network, OneOff, Storage};
        let gpu = || priced(1, Accelerator, "1 USD", Per::Hour, "1");
        let setup = || priced(2, OneOff, "90 USD", Per::Once, "1");
        for (name, billing, months, want, lower) in [
            ("nothing at all", vec![], None, (GapKind::NoPrice, ""), None),
            ("all included", vec![component(1, Storage, Status::Included)], None, (GapKind::NoPrice, ""), None),
            (
                "an unknown part",
                vec![gpu(), component(2, Network, Status::Unknown)],
                None,
                (GapKind::UnknownPrice, "network_traffic"),
                Some("730.00"),
            ),
            ("one-off without a term", vec![gpu(), setup()], None, (GapKind::NoTerm, "one_off"), Some("730.00")),
            ("one-off of an open end", vec![gpu(), setup()], Some(0), (GapKind::NoTerm, "one_off"), Some("730.00")),
            (
                "two currencies",
                vec![gpu(), priced(2, Storage, "1 EUR", Per::Month, "1")],
                None,
                (GapKind::TwoCurrencies, "USD EUR"),
                None,
            ),
        ] {
            let month = cost(&billing, months);
            assert_eq!(shown(&month.total), Err((want.0, want.1.to_owned())), "{name}");
            assert_eq!(month.lower_bound.map(|lower| lower.show()).as_deref(), lower, "{name}");
        }
    }

    #[test]
    fn coverage_counts_every_component() {
        let month = cost(
            &[
                priced(1, Category::Accelerator, "1 USD", Per::Hour, "1"),
                component(2, Category::Storage, Status::Included),
                component(3, Category::Network, Status::Unknown),
                component(4, Category::Snapshot, Status::NotApplicable),
            ],
            None,
        );
        assert_eq!(month.coverage, Coverage { priced: 1, included: 1, unknown: 1, not_applicable: 1 });
    }

    #[test]
    fn what_goes_on_while_stopped() {
        let gpu =
            |goes_on| Component { when_stopped: goes_on, ..priced(1, Category::Accelerator, "1 USD", Per::Hour, "1") };
        let disk = || priced(2, Category::Storage, "73 USD", Per::Month, "1");
        for (name, billing, want) in [
            ("the disk alone", vec![gpu(Some(false)), disk()], Ok("2.40")),
            ("both", vec![gpu(Some(true)), disk()], Ok("26.40")),
            ("nothing", vec![gpu(Some(false))], Ok("0.00")),
            ("nobody said", vec![gpu(None), disk()], Err((GapKind::NotStated, "when_stopped accelerator"))),
            (
                "an unknown price goes on",
                vec![gpu(Some(false)), component(2, Category::Network, Status::Unknown)],
                Err((GapKind::UnknownPrice, "network_traffic")),
            ),
        ] {
            let want = want.map(str::to_owned).map_err(|(kind, values)| (kind, values.to_owned()));
            assert_eq!(shown(&cost(&billing, None).stopped_day), want, "{name}");
        }
    }

    #[test]
    fn the_trace_names_every_input() {
        let month = cost(&[priced(1, Category::Accelerator, "2.89 USD", Per::Hour, "1")], None);
        let figure = month.total.unwrap();
        let [line] = figure.inputs.as_slice() else { panic!("one component, one input") };
        assert_eq!((line.name, line.value.as_str(), line.unit.as_str()), ("accelerator", "2,109.70", "USD"));
        assert_eq!(line.formula, "price × quantity × month_hours");
        let leaves: Vec<_> = line.inputs.iter().map(|input| (input.name, input.value.as_str())).collect();
        assert_eq!(leaves, [("price", "2.89"), ("quantity", "1"), ("month_hours", "730")]);
        assert_eq!(figure.origin, Origin::Derived { from_measured: false });
    }

    #[test]
    fn an_hour_costs_all_that_is_priced_an_hour() {
        let hour = |billing: &[Component]| hour_cost(billing).map(|cost| cost.show());
        let gpu = priced(1, Category::Accelerator, "2.49 USD", Per::Hour, "2");
        let host = priced(2, Category::Host, "0.10 USD", Per::Hour, "1");
        let disk = priced(3, Category::Storage, "0.10 USD", Per::GbMonth, "200");
        assert_eq!(hour(&[gpu.clone(), host, disk.clone()]), Some("5.08".into()));
        assert_eq!(hour(&[disk]), None);
        assert_eq!(hour(&[gpu, priced(2, Category::Host, "1 EUR", Per::Hour, "1")]), None, "two currencies");
    }

    /// An hour at one dollar, or 180 GB at ten cents, under its terms in a month of 730 hours.
    #[test]
    fn terms_change_the_month() {
        let written = |text: &str| Some(Written::parse(text).unwrap());
        let money = |text: &str| Some(text.parse().unwrap());
        let hour = || priced(1, Category::Accelerator, "1 USD", Per::Hour, "1");
        let moved = || priced(1, Category::Network, "0.10 USD", Per::Gb, "180");
        let kept = || priced(1, Category::Storage, "0.07 USD", Per::GbMonth, "1500");
        let tiers = |kind, text| Some(read_tiers(text, kind, iso_currency::Currency::USD).unwrap());
        let tax = |included, reclaimable| {
            Some(Tax { rate: Written::parse("20 %").unwrap(), included, reclaimable: Some(reclaimable) })
        };
        let none = Terms::default;
        for (name, component, terms, want) in [
            // 730 hours are five weeks begun: 840 hours.
            ("whole weeks", hour(), Terms { step: written("168 h"), ..none() }, "840.00"),
            ("a least session", hour(), Terms { minimum: written("744 h"), ..none() }, "744.00"),
            ("hours that are free", hour(), Terms { allowance: written("30 h"), ..none() }, "700.00"),
            ("a cap", hour(), Terms { cap_month: money("6.49 USD"), ..none() }, "6.49"),
            ("a floor", moved(), Terms { floor_month: money("25 USD"), ..none() }, "25.00"),
            ("traffic that is free", moved(), Terms { allowance: written("100 GB"), ..none() }, "8.00"),
            // 1000 × 0.07 + 500 × 0.05; all 1500 at 0.05.
            ("graduated", kept(), Terms { tiers: tiers(TierKind::Graduated, "1000 GB: 0.05"), ..none() }, "95.00"),
            ("volume", kept(), Terms { tiers: tiers(TierKind::Volume, "1000 GB: 0.05"), ..none() }, "75.00"),
            // 730 of 720 hours; no more than 672 of 672.
            ("its own month", kept(), Terms { month: Written::parse("720 h").ok(), ..none() }, "106.46"),
            ("capped hours", kept(), Terms { month: Written::parse("capped 672 h").ok(), ..none() }, "105.00"),
            ("tax on top", hour(), Terms { tax: tax(false, false), ..none() }, "876.00"),
            ("tax on top that comes back", hour(), Terms { tax: tax(false, true), ..none() }, "730.00"),
            ("tax in it", hour(), Terms { tax: tax(true, false), ..none() }, "730.00"),
            ("tax in it that comes back", hour(), Terms { tax: tax(true, true), ..none() }, "608.33"),
        ] {
            let month = cost(&[Component { terms, ..component }], None);
            assert_eq!(shown(&month.total), Ok(want.to_owned()), "{name}");
        }
    }

    #[test]
    fn what_is_stopped_has_a_price_of_its_own() {
        let disk = priced(1, Category::Storage, "0.10 USD", Per::GbMonth, "730");
        let terms = Terms { stopped_price: Some("0.20 USD".parse().unwrap()), ..Terms::default() };
        let month = cost(&[Component { terms, ..disk }], None);
        assert_eq!(shown(&month.total), Ok("73.00".to_owned()));
        // 730 × 0.20 a month are 146; a day is 24 of 730 hours.
        assert_eq!(shown(&month.stopped_day), Ok("4.80".to_owned()));
    }

    #[test]
    fn two_that_cover_the_same_part_have_no_sum() {
        let gpu = priced(1, Category::Accelerator, "1 USD", Per::Hour, "1");
        let terms = Terms { covers: vec![Category::Host], ..Terms::default() };
        let gpu = Component { terms, label: "GPU VM".into(), ..gpu };
        let host = Component { label: "vCPU".into(), ..priced(2, Category::Host, "1 USD", Per::Hour, "8") };
        let want = Err((GapKind::Overlap, "GPU VM vCPU host_share".to_owned()));
        assert_eq!(shown(&cost(&[gpu.clone(), host.clone()], None).total), want);
        let included = Component { status: Status::Included, ..host };
        assert_eq!(shown(&cost(&[gpu, included], None).total), Ok("730.00".to_owned()));
        let volume = |id| priced(id, Category::Storage, "1 USD", Per::Month, "1");
        assert_eq!(shown(&cost(&[volume(1), volume(2)], None).total), Ok("2.00".to_owned()), "two volumes are two");
    }

    #[test]
    fn what_nobody_states_is_a_span_and_what_does_not_fit_is_a_gap() {
        let moved = priced(1, Category::Network, "0.10 USD", Per::Gb, "2000");
        let terms = Terms { allowance: Some(Written::parse("1 TB").unwrap()), ..Terms::default() };
        let figure = cost(&[Component { terms, ..moved }], None).total.unwrap();
        assert_eq!(figure.value.show(), "100.00");
        let line = &figure.inputs[0];
        assert_eq!(line.formula, "terms(price × quantity)");
        let readings = line.inputs.iter().find(|input| input.name == "readings").unwrap();
        assert_eq!(readings.value, "97.60 – 100.00");
        let hour = priced(1, Category::Accelerator, "1 USD", Per::Hour, "1");
        let terms = Terms { allowance: Some(Written::parse("1 TB").unwrap()), ..Terms::default() };
        let gap = shown(&cost(&[Component { terms, ..hour }], None).total);
        assert_eq!(gap, Err((GapKind::TermsUnclear, "accelerator".to_owned())));
    }
}
