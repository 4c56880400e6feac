//! The lines of an offer as components of the engine, so that a project's month is computed by the same rules as a case.

use iso_currency::Currency;
use num_bigint::BigInt;
use num_traits::One as _;
use rust_decimal::Decimal;

use super::answer::{NoValue, Why};
use super::basis::Accrual;
use super::case::{Case, Category, Component, Resource, Session, SessionFields, Status};
use super::field::{Amount, Lasting, MonthBasis, Per, RateText};
use super::ledger::Ledger;
use super::meter::Reading;
use super::number::{Q, whole};
use super::question::{Amounts, Ask, Question, Read};
use super::sum::{Reader, TaxReading};
use super::unit::{Quantity, Unit};
use super::world::World;
use crate::domain::billing;
use crate::domain::candidate::Term;
use crate::domain::money::{Exact, ratio};

/// What one unit of an offer costs in a month.
#[derive(Debug, Clone, PartialEq)]
pub struct OfferMonth {
    /// What each line comes to, in the order of the offer; no value where it has no price, or is paid once without a term
    /// to spread it over. Zero for what another line includes and what does not exist.
    pub lines: Vec<Result<Exact, NoValue>>,
    /// The sum, or why there is none with what it will be at least.
    pub total: Result<Accrual, NoValue>,
}

/// The month of one unit of an offer, by the engine.
///
/// A month is `month_hours` long; what is paid once is spread over the months of the term.
#[must_use]
pub fn month_of_offer(billing: &[billing::Component], term: &Term, month_hours: Decimal) -> OfferMonth {
    let case = case_of(billing, term, month_hours);
    let world = match World::of(&case) {
        Ok(world) => world,
        Err(fault) => {
            let none = || NoValue::new(Why::NotRecorded, fault.text.as_str());
            return OfferMonth { lines: billing.iter().map(|_| Err(none())).collect(), total: Err(none()) };
        }
    };
    let reading = Reading {
        month: MonthBasis::Fixed(ratio(month_hours) * whole(3600)),
        partial: super::case::PartialMonth::Prorated,
        tera: 1000,
    };
    let ledger = Ledger::of(&world, &reading);
    let tax = TaxReading { on: super::case::TaxOn::Sum, reclaimable: false };
    let reader = Reader { world: &world, ledger: &ledger, tax };
    let lines = case
        .components
        .iter()
        .zip(billing)
        .map(|(one, line)| {
            let own = if let billing::Status::Priced(rate) = &line.status { Some(rate.price.currency) } else { None };
            let currency = own.unwrap_or(Currency::USD);
            if matches!(one.status, Some(Status::Included | Status::NotApplicable)) {
                return Ok(Exact::zero(currency));
            }
            let sum = reader.sum(&Amounts { of: vec![one.id.clone()], ..Amounts::default() })?;
            Ok(Exact { amount: sum.value, currency: sum.currency.unwrap_or(currency) })
        })
        .collect();
    let total = reader.sum(&Amounts::default()).and_then(|sum| {
        let currency = sum.currency.ok_or_else(|| NoValue::new(Why::MissingPrice, "nothing is priced"))?;
        Ok(Accrual::new(Exact { amount: sum.value, currency }))
    });
    OfferMonth { lines, total }
}

/// The offer as a case: its lines, and one machine that runs for a month.
fn case_of(billing: &[billing::Component], term: &Term, month_hours: Decimal) -> Case {
    let month = ratio(month_hours) * whole(3600);
    let components = billing.iter().enumerate().map(|(idx, line)| component_of(idx, line, term, &month)).collect();
    let session = Session(SessionFields { lasts: Some(Lasting(month)), ..SessionFields::default() });
    let resource = Resource { id: "machine".to_owned(), region: String::new(), zone: None, sessions: vec![session] };
    let question = Question {
        name: "month".to_owned(),
        ask: Ask::Amount(Amounts::default()),
        expect: None,
        at_least: None,
        wrong: Vec::new(),
        read: Read::default(),
    };
    Case { id: "offer".to_owned(), components, resources: vec![resource], questions: vec![question], ..Case::default() }
}

fn component_of(idx: usize, line: &billing::Component, term: &Term, month: &Q) -> Component {
    use billing::Per as Old;

    let mut out = Component {
        // Ids of an offer are only unique where somebody took care; the place in the list always is.
        id: format!("{}#{idx}", line.id.as_str()),
        name: line.label.clone(),
        category: category_of(line.category),
        // Lines of an offer say nothing yet about what else they include.
        covers: Some(Vec::new()),
        month: Some(MonthBasis::Fixed(month.clone())),
        ..Component::default()
    };
    let rate = match &line.status {
        billing::Status::Priced(rate) => rate,
        billing::Status::Included => return Component { status: Some(Status::Included), ..out },
        billing::Status::Unknown => return Component { status: Some(Status::Unknown), ..out },
        billing::Status::NotApplicable => return Component { status: Some(Status::NotApplicable), ..out },
    };
    let mut price = ratio(rate.price.amount);
    let (unit, counted) = match rate.per {
        Old::Hour => ("hour", ""),
        Old::GbMonth => ("GB-month", "GB"),
        Old::Month => ("month", ""),
        Old::Gb => ("GB", "GB"),
        Old::Once => {
            let Some(months) = term.months.filter(|months| *months > 0) else {
                return Component { status: Some(Status::Unknown), ..out };
            };
            price /= Q::from_integer(BigInt::from(months));
            ("month", "")
        }
    };
    let unit_named = |text: &str| Unit::parse(text).unwrap_or_else(|_not_a_unit| Unit::one());
    out.status = Some(Status::Priced);
    out.rate = Some(RateText {
        amount: Amount { amount: price, currency: Some(rate.price.currency) },
        per: Per::Quantity(Quantity { number: Q::one(), unit: unit_named(unit) }),
    });
    out.quantity = Some(Quantity { number: ratio(rate.quantity), unit: unit_named(counted) });
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
