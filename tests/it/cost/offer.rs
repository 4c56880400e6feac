//! The month of an offer by the engine is the month that the comparison shows.

use leasebench::domain::billing::{Category, Component, Per, Rate, Status};
use leasebench::domain::candidate::Term;
use leasebench::domain::compare::month::{LineAmount, month_cost};
use leasebench::domain::cost::{Why, month_of_offer};
use leasebench::domain::figure::GapKind;
use leasebench::domain::ids::ComponentId;
use leasebench::domain::money::Money;
use leasebench::domain::terms::Terms;
use proptest::prelude::*;
use rust_decimal::Decimal;

fn component() -> impl Strategy<Value = Component> {
    let price = (0_i64..10_000_000, 0_u32..=4).prop_map(|(mantissa, scale)| Decimal::new(mantissa, scale));
    let currency = prop::sample::select(vec!["0 USD", "0 USD", "0 USD", "0 USD", "0 EUR"]);
    let per = prop::sample::select(Per::ALL.to_vec());
    let category = prop::sample::select(Category::ALL.to_vec());
    let priced = (price, currency, 0_i64..5_000, per).prop_map(|(amount, currency, quantity, per)| {
        let money: Money = currency.parse().unwrap();
        Status::Priced(Rate { price: Money { amount, ..money }, per, quantity: Decimal::from(quantity) })
    });
    let status = prop_oneof![8 => priced, 1 => Just(Status::Included), 1 => Just(Status::Unknown), 1 => Just(Status::NotApplicable)];
    (category, status).prop_map(|(category, status)| Component {
        id: ComponentId("b1".into()),
        category,
        label: String::new(),
        status,
        when_stopped: None,
        terms: Terms::default(),
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn the_engine_and_the_comparison_agree(
        billing in prop::collection::vec(component(), 0..7),
        months in prop::option::of(0_u32..30),
        hours in 600_u32..760,
    ) {
        let term = Term { months, ..Term::default() };
        let hours = Decimal::from(hours);
        let old = month_cost(&billing, &term, hours);
        let new = month_of_offer(&billing, &term, hours);
        for (old, new) in old.lines.iter().zip(&new.lines) {
            match &old.amount {
                LineAmount::Priced(amount) => prop_assert_eq!(Ok(amount), new.as_ref()),
                LineAmount::Unspread(_) | LineAmount::Unknown => prop_assert!(new.is_err()),
                LineAmount::Included | LineAmount::NotApplicable => {
                    prop_assert!(new.as_ref().is_ok_and(|zero| zero.show().starts_with('0')));
                }
            }
        }
        match (&old.total, &new.total) {
            (Ok(old), Ok(new)) => prop_assert_eq!(&old.value, new.shown()),
            (Err(gap), Err(none)) => {
                let same = match gap.kind {
                    GapKind::TwoCurrencies => none.why == Why::MixedCurrency,
                    _ => matches!(none.why, Why::MissingPrice | Why::NotRecorded),
                };
                prop_assert!(same, "{:?} {:?}", gap.kind, none);
                prop_assert_eq!(old.lower_bound.clone().map(|bound| bound.amount), none.at_least.clone());
            }
            (old, new) => prop_assert!(false, "{old:?} {new:?}"),
        }
    }
}
