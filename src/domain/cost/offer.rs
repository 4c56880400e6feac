//! The lines of an offer as components of the engine, so that a project's month is computed by the same rules as a case.

use iso_currency::Currency;
use num_bigint::BigInt;
use num_traits::One as _;
use rust_decimal::Decimal;

use super::answer::{NoValue, Why};
use super::basis::Accrual;
use super::case::{
    Allowance, Case, Category, Component, Limit, PartialMonth, Reset, Resource, Scope, Session, SessionFields, Status,
    Tax, TaxOn, Tier, Tiers,
};
use super::field::{Amount, Lasting, MonthBasis, Per, Price, RateText};
use super::ledger::Ledger;
use super::meter::Reading;
use super::number::{Q, whole};
use super::question::{Amounts, Ask, Question, Read};
use super::sum::{Reader, TaxReading};
use super::unit::{Quantity, Unit};
use super::world::World;
use crate::domain::billing;
use crate::domain::candidate::Term;
use crate::domain::money::{Exact, Money, ratio};
use crate::domain::terms::Size;

/// What one unit of an offer costs in a month.
#[derive(Debug, Clone, PartialEq)]
pub struct OfferMonth {
    /// What each line comes to, in the order of the offer; no value where it has no price, or is paid once without a term
    /// to spread it over. Zero for what another line includes and what does not exist.
    pub lines: Vec<Result<Exact, NoValue>>,
    /// What each line comes to in a month in which the machine is stopped.
    pub stopped: Vec<Result<Exact, NoValue>>,
    /// The sum of the lines, or why there is none with what it will be at least.
    pub total: Result<Accrual, NoValue>,
    /// Two lines that both pay for the same part of the machine: they have no sum.
    pub overlap: Option<Overlap>,
    /// The least and the most of each line over the readings of a rule that nobody states; `None` where all agree. The
    /// lines above are those of the reading with the highest total.
    pub spans: Vec<Option<(Exact, Exact)>>,
}

/// Two lines of an offer that pay for the same part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overlap {
    /// The place of one of them.
    pub first: usize,
    /// The place of the other.
    pub second: usize,
    /// The part.
    pub part: billing::Category,
}

/// The month of one unit of an offer, by the engine.
///
/// A month is `month_hours` long; what is paid once is spread over the months of the term.
#[must_use]
pub fn month_of_offer(billing: &[billing::Component], term: &Term, month_hours: Decimal) -> OfferMonth {
    let teras: &[u32] = if billing.iter().any(|line| line.terms.leave_tb_open()) { &[1000, 1024] } else { &[1000] };
    let back: &[bool] = if billing.iter().any(|line| line.terms.leave_tax_open()) { &[false, true] } else { &[false] };
    let readings: Vec<(u32, bool)> = teras.iter().flat_map(|tera| back.iter().map(|back| (*tera, *back))).collect();
    let running = Books::of(billing, term, month_hours, &State::Running, &readings);
    let mut best = 0;
    for (nth, books) in running.iter().enumerate() {
        let amount = |books: &Books| books.total.as_ref().ok().map(|total| total.shown().amount.clone());
        if running.get(best).and_then(amount) < amount(books) {
            best = nth;
        }
    }
    let spans =
        (0..billing.len()).map(|idx| span_of(running.iter().filter_map(|books| books.lines.get(idx)))).collect();
    let chosen = readings.get(best).copied().unwrap_or((1000, false));
    let stopped = Books::of(billing, term, month_hours, &State::Stopped, &[chosen]);
    let none = || Books { lines: Vec::new(), total: Err(NoValue::new(Why::NotRecorded, "no reading")), overlap: None };
    let running = running.into_iter().nth(best).unwrap_or_else(none);
    let stopped = stopped.into_iter().next().unwrap_or_else(none).lines;
    OfferMonth { lines: running.lines, stopped, total: running.total, overlap: running.overlap, spans }
}

/// The least and the most of amounts; `None` where they are the same, or one of them is none.
fn span_of<'a>(amounts: impl Iterator<Item = &'a Result<Exact, NoValue>>) -> Option<(Exact, Exact)> {
    let amounts: Vec<&Exact> = amounts.map(|one| one.as_ref().ok()).collect::<Option<_>>()?;
    let low = amounts.iter().min_by(|a, b| a.amount.cmp(&b.amount))?;
    let high = amounts.iter().max_by(|a, b| a.amount.cmp(&b.amount))?;
    (low != high).then(|| ((*low).clone(), (*high).clone()))
}

/// What the machine does all month.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Running,
    Stopped,
}

/// An offer's month under one reading.
struct Books {
    lines: Vec<Result<Exact, NoValue>>,
    total: Result<Accrual, NoValue>,
    overlap: Option<Overlap>,
}

impl Books {
    /// The month in a state, under each of the readings: GB in a TB, and whether tax is given back.
    fn of(
        billing: &[billing::Component],
        term: &Term,
        month_hours: Decimal,
        state: &State,
        readings: &[(u32, bool)],
    ) -> Vec<Self> {
        let case = case_of(billing, term, month_hours, *state);
        let world = match World::of(&case) {
            Ok(world) => world,
            Err(fault) => {
                let none = || NoValue::new(Why::NotRecorded, fault.text.as_str());
                let books =
                    || Self { lines: billing.iter().map(|_| Err(none())).collect(), total: Err(none()), overlap: None };
                return readings.iter().map(|_| books()).collect();
            }
        };
        let made = readings.iter().map(|(tera, reclaimable)| {
            let reading = Reading {
                month: MonthBasis::Fixed(ratio(month_hours) * whole(3600)),
                partial: PartialMonth::Prorated,
                tera: *tera,
            };
            Self::read(&case, &world, billing, &reading, *reclaimable)
        });
        made.collect()
    }

    fn read(
        case: &Case,
        world: &World<'_>,
        billing: &[billing::Component],
        reading: &Reading,
        reclaimable: bool,
    ) -> Self {
        let ledger = Ledger::of(world, reading);
        let reader = Reader { world, ledger: &ledger, tax: TaxReading { on: TaxOn::Sum, reclaimable } };
        let lines = case
            .components
            .iter()
            .zip(billing)
            .map(|(one, line)| {
                let own =
                    if let billing::Status::Priced(rate) = &line.status { Some(rate.price.currency) } else { None };
                let currency = own.unwrap_or(Currency::USD);
                if matches!(one.status, Some(Status::Included | Status::NotApplicable)) {
                    return Ok(Exact::zero(currency));
                }
                let sum = reader.sum(&Amounts { of: vec![one.id.clone()], ..Amounts::default() })?;
                Ok(Exact { amount: sum.value, currency: sum.currency.unwrap_or(currency) })
            })
            .collect();
        let total = reader.sum(&Amounts::default()).and_then(|sum| {
            // A free offer has no entry that names its currency; its prices do.
            let named = billing.iter().find_map(|line| match &line.status {
                billing::Status::Priced(rate) => Some(rate.price.currency),
                _ => None,
            });
            let none = || NoValue::new(Why::MissingPrice, "nothing is priced");
            let currency = sum.currency.or(named).ok_or_else(none)?;
            Ok(Accrual::new(Exact { amount: sum.value, currency }))
        });
        let all: Vec<usize> = (0..billing.len()).collect();
        let overlap = world.overlapping(&all, None).and_then(|(first, second, part)| {
            let name = part.split('#').next().unwrap_or(part);
            let part = billing::Category::ALL.into_iter().find(|category| category.key() == name)?;
            Some(Overlap { first, second, part })
        });
        Self { lines, total, overlap }
    }
}

/// The offer as a case: its lines, and one machine that runs, or stands still, for a month.
fn case_of(billing: &[billing::Component], term: &Term, month_hours: Decimal, state: State) -> Case {
    let month = ratio(month_hours) * whole(3600);
    let components: Vec<Component> =
        (0..billing.len()).map(|idx| component_of(billing, idx, term, &month, state)).collect();
    let taxes = components.iter().zip(billing).filter_map(|(one, line)| {
        let tax = line.terms.tax.as_ref()?;
        Some(Tax {
            rate: Some(tax.rate.value().clone()),
            on: None,
            included: tax.included,
            reclaimable: tax.reclaimable,
            round: None,
            applies_to: vec![one.id.clone()],
        })
    });
    let taxes = taxes.collect();
    let session = Session(SessionFields {
        lasts: Some(Lasting(month)),
        state: (state == State::Stopped).then(|| "stopped".to_owned()),
        ..SessionFields::default()
    });
    let resource = Resource { id: "machine".to_owned(), region: String::new(), zone: None, sessions: vec![session] };
    let question = Question {
        name: "month".to_owned(),
        ask: Ask::Amount(Amounts::default()),
        expect: None,
        at_least: None,
        wrong: Vec::new(),
        read: Read::default(),
    };
    let resources = vec![resource];
    Case { id: "offer".to_owned(), components, resources, taxes, questions: vec![question], ..Case::default() }
}

/// Ids of an offer are only unique where somebody took care; the place in the list always is.
fn id_of(billing: &[billing::Component], idx: usize) -> String {
    let id = billing.get(idx).map_or("", |line| line.id.as_str());
    format!("{id}#{idx}")
}

/// The parts that a line pays for, so that two lines meet exactly where one of them says that it pays for the other's part.
///
/// Two lines of one category are no overlap by themselves: two volumes are two volumes.
fn parts_of(billing: &[billing::Component], idx: usize) -> Vec<String> {
    let Some(line) = billing.get(idx) else { return Vec::new() };
    let own = format!("{}#{idx}", line.category.key());
    let mut parts = vec![own];
    for part in &line.terms.covers {
        parts.push(part.key().to_owned());
        let others = billing.iter().enumerate();
        let others = others.filter(|(other, one)| *other != idx && one.category == *part);
        parts.extend(others.map(|(other, _)| format!("{}#{other}", part.key())));
    }
    parts
}

fn component_of(billing: &[billing::Component], idx: usize, term: &Term, month: &Q, state: State) -> Component {
    use billing::Per as Old;

    let Some(line) = billing.get(idx) else { return Component::default() };
    let terms = &line.terms;
    // A month of the brief is one month of a price for a calendar month, whichever it is.
    let own_month = terms.month.as_ref().map(|month| month.value().clone());
    let own_month = own_month.filter(|basis| matches!(basis, MonthBasis::Fixed(_) | MonthBasis::Capped(_)));
    let mut out = Component {
        id: id_of(billing, idx),
        name: line.label.clone(),
        category: category_of(line.category),
        covers: Some(parts_of(billing, idx)),
        month: Some(own_month.unwrap_or_else(|| MonthBasis::Fixed(month.clone()))),
        tb: terms.tb,
        ..Component::default()
    };
    let rate = match &line.status {
        billing::Status::Priced(rate) => rate,
        billing::Status::Included => {
            let outer = terms.inside.as_ref();
            let outer = outer.and_then(|outer| billing.iter().position(|one| one.id == *outer));
            let inside = outer.filter(|outer| *outer != idx).map(|outer| id_of(billing, outer));
            return Component { status: Some(Status::Included), inside, ..out };
        }
        billing::Status::Unknown => return Component { status: Some(Status::Unknown), ..out },
        billing::Status::NotApplicable => return Component { status: Some(Status::NotApplicable), ..out },
    };
    let size = terms.size.map_or("GB", Size::name);
    let mut share = Q::one();
    let (unit, counted) = match rate.per {
        Old::Hour => ("hour".to_owned(), ""),
        Old::GbMonth => (format!("{size}-month"), size),
        Old::Month => ("month".to_owned(), ""),
        Old::Gb => (size.to_owned(), size),
        Old::Once => {
            let Some(months) = term.months.filter(|months| *months > 0) else {
                return Component { status: Some(Status::Unknown), ..out };
            };
            share = Q::one() / Q::from_integer(BigInt::from(months));
            // Its share of a term is no use of a machine: how long a month is does not matter to it.
            out.month = Some(MonthBasis::Fixed(month.clone()));
            ("month".to_owned(), "")
        }
    };
    let unit_named = |text: &str| Unit::parse(text).unwrap_or_else(|_not_a_unit| Unit::one());
    let per = Per::Quantity(Quantity { number: Q::one(), unit: unit_named(&unit) });
    let rate_of = |price: &Money| RateText {
        amount: Amount { amount: ratio(price.amount) * &share, currency: Some(price.currency) },
        per: per.clone(),
    };
    out.status = Some(Status::Priced);
    out.quantity = Some(Quantity { number: ratio(rate.quantity), unit: unit_named(counted) });
    out.step = terms.step.as_ref().map(|step| step.value().clone());
    out.minimum = terms.minimum.as_ref().map(|minimum| minimum.value().clone());
    let monthly = |money: &Money| Limit {
        amount: Price(Amount { amount: ratio(money.amount), currency: Some(money.currency) }),
        scope: Scope::Resource,
        each: Reset::Month,
    };
    out.floor = terms.floor_month.as_ref().map(monthly);
    out.cap = terms.cap_month.as_ref().map(monthly);
    out.allowance = terms.allowance.as_ref().map(|amount| Allowance {
        amount: amount.value().clone(),
        times_of: None,
        scope: Scope::Resource,
        reset: Reset::Month,
        until: None,
    });
    if state == State::Stopped {
        let bills = line.when_stopped.map(|bills| if bills { "billed" } else { "not billed" });
        out.states.extend(bills.map(|bills| ("stopped".to_owned(), bills.to_owned())));
        out.states.insert("running".to_owned(), "billed".to_owned());
    }
    // The price while it is stopped is a price of its own; the tiers are those of what runs.
    let stopped_price = terms.stopped_price.as_ref().filter(|_| state == State::Stopped);
    match (&terms.tiers, stopped_price) {
        (Some(tiers), None) => {
            let ends = tiers.steps.iter().map(|step| Some(step.from.value().clone())).chain([None]);
            let prices = std::iter::once(&rate.price).chain(tiers.steps.iter().map(|step| &step.price));
            let steps = ends.zip(prices).map(|(up_to, price)| Tier { from: None, up_to, rate: rate_of(price) });
            let (scope, reset) = (Scope::Resource, Reset::Month);
            out.tiers = Some(Tiers { kind: tiers.kind, scope, reset, steps: steps.collect() });
        }
        (_, stopped) => out.rate = Some(rate_of(stopped.unwrap_or(&rate.price))),
    }
    out
}

fn category_of(category: billing::Category) -> Category {
    match category {
        billing::Category::Accelerator => Category::Accelerator,
        billing::Category::Host => Category::Host,
        billing::Category::Storage => Category::BlockVolume,
        billing::Category::Snapshot => Category::Snapshot,
        billing::Category::Network => Category::Egress,
        billing::Category::Support => Category::Support,
        billing::Category::OneOff => Category::Setup,
    }
}
