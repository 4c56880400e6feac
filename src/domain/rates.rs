//! Exchange rates that a person typed, each with its date and source, and amounts converted by them.

use chrono::NaiveDate;
use iso_currency::Currency;
use num_rational::BigRational;
use num_traits::Zero as _;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use super::figure::{Answer, Figure, Gap, GapKind, Input, Origin};
use super::money::{Exact, ratio};

/// What one unit of a currency was in another on a day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExchangeRate {
    /// The day it is of.
    pub on: NaiveDate,
    /// The currency of which one unit is meant.
    pub from: Currency,
    /// The currency it is told in.
    pub to: Currency,
    /// Units of `to` for one of `from`; above zero.
    #[serde(deserialize_with = "crate::domain::money::quoted_decimal")]
    pub rate: Decimal,
    /// Who said so.
    #[serde(default)]
    pub source: String,
}

impl ExchangeRate {
    /// Whether it can convert anything: above zero, and of two currencies.
    #[must_use]
    pub fn is_usable(&self) -> bool {
        self.rate > Decimal::ZERO && self.from != self.to
    }

    /// The same rate for people ("1 EUR = 1.08 USD").
    #[must_use]
    pub fn words(&self) -> String {
        format!("1 {} = {} {}", self.from.code(), self.rate, self.to.code())
    }
}

/// The newest rate between two currencies that is not later than `today`; of one day the last one typed, and one that
/// is told in the asked direction before one that has to be turned round.
#[must_use]
pub fn newest(rates: &[ExchangeRate], from: Currency, to: Currency, today: NaiveDate) -> Option<&ExchangeRate> {
    let joins = |rate: &ExchangeRate| (rate.from, rate.to) == (from, to) || (rate.from, rate.to) == (to, from);
    rates
        .iter()
        .filter(|rate| rate.is_usable() && rate.on <= today && joins(rate))
        .max_by_key(|rate| (rate.on, rate.from == from))
}

/// A figure in another currency, by the newest rate; its own currency as it is.
///
/// # Errors
/// The gap `TwoCurrencies` where no rate joins the two: an amount is never only relabelled.
pub fn convert(figure: &Figure<Exact>, to: Currency, rates: &[ExchangeRate], today: NaiveDate) -> Answer<Exact> {
    let from = figure.value.currency;
    if from == to {
        return Ok(figure.clone());
    }
    let rate = newest(rates, from, to, today)
        .ok_or_else(|| Gap::new(GapKind::TwoCurrencies).with("first", from.code()).with("second", to.code()))?;
    let exact = ratio(rate.rate);
    // A rate told the other way round divides, so that nothing is rounded.
    let (factor, formula): (BigRational, &'static str) = if rate.from == from {
        (exact, "amount × exchange_rate")
    } else if exact.is_zero() {
        return Err(Gap::new(GapKind::TwoCurrencies).with("first", from.code()).with("second", to.code()));
    } else {
        (exact.recip(), "amount ÷ exchange_rate")
    };
    let turn = |amount: &Exact| Exact { amount: &amount.amount * &factor, currency: to };
    let own = Input {
        formula: figure.formula,
        inputs: figure.inputs.clone(),
        ..Input::leaf("amount", figure.value.show_significant(6), from.code(), figure.origin)
            .on(figure.evidence.iter().cloned())
    };
    let source = if rate.source.trim().is_empty() { String::new() } else { format!(", {}", rate.source.trim()) };
    let told = Input::leaf("exchange_rate", rate.words(), format!("({}{source})", rate.on), Origin::Declared);
    let converted = Figure::derived(turn(&figure.value), formula, vec![own, told]);
    Ok(Figure { interval: figure.interval.as_ref().map(|(low, high)| (turn(low), turn(high))), ..converted })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(on: &str, from: Currency, to: Currency, rate: &str) -> ExchangeRate {
        ExchangeRate { on: on.parse().unwrap(), from, to, rate: rate.parse().unwrap(), source: "bank".into() }
    }

    #[test]
    fn the_newest_rate_that_is_not_later_than_today_converts() {
        use Currency::{CNY, EUR, USD};
        let rates = [
            rate("2026-11-01", EUR, USD, "1.10"),
            rate("2026-11-20", EUR, USD, "1.20"),
            rate("2026-12-24", EUR, USD, "9"),
            rate("2026-11-10", USD, CNY, "7"),
            rate("2026-11-30", USD, USD, "2"),
        ];
        let today = "2026-12-01".parse().unwrap();
        for (from, to, want) in [
            ("10 EUR", USD, Ok("12.00 USD amount × exchange_rate 1 EUR = 1.20 USD")),
            ("12 USD", EUR, Ok("10.00 EUR amount ÷ exchange_rate 1 EUR = 1.20 USD")),
            ("1 CNY", USD, Ok("0.14 USD amount ÷ exchange_rate 1 USD = 7 CNY")),
            ("3 USD", USD, Ok("3.00 USD  ")),
            // No way over a third currency is taken by itself.
            ("1 CNY", EUR, Err(GapKind::TwoCurrencies)),
        ] {
            let figure = Figure::declared(Exact::from(from.parse::<crate::domain::money::Money>().unwrap()));
            let got = convert(&figure, to, &rates, today)
                .map(|figure| {
                    let rate = figure.inputs.get(1).map_or("", |input| input.value.as_str());
                    format!("{} {} {} {rate}", figure.value.show(), figure.value.currency.code(), figure.formula)
                })
                .map_err(|gap| gap.kind);
            assert_eq!(got, want.map(str::to_owned), "{from} {to:?}");
        }
    }

    #[test]
    fn there_and_back_is_the_same_amount() {
        let rates = [rate("2026-11-01", Currency::EUR, Currency::USD, "1.07")];
        let today = "2026-12-01".parse().unwrap();
        let one = Figure::declared(Exact::from("1 USD".parse::<crate::domain::money::Money>().unwrap()));
        let there = convert(&one, Currency::EUR, &rates, today).unwrap();
        let back = convert(&Figure::declared(there.value), Currency::USD, &rates, today).unwrap();
        assert_eq!(back.value, one.value);
    }

    #[test]
    fn a_rate_is_written_as_quoted_text() {
        let text = ron::to_string(&rate("2026-11-01", Currency::EUR, Currency::USD, "1.10")).unwrap();
        assert_eq!(text, r#"(on:"2026-11-01",from:EUR,to:USD,rate:"1.10",source:"bank")"#);
        assert!(ron::from_str::<ExchangeRate>(&text.replace("\"1.10\"", "1.10")).is_err());
    }
}
