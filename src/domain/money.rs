//! Exact money: a quoted decimal with its ISO currency on disk, a rational while it is computed, rounded once when shown.

use std::fmt;
use std::str::FromStr;

use iso_currency::Currency;
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Zero};
use rust_decimal::Decimal;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An amount as a person wrote it, with its ISO 4217 currency. On disk and in fields: `"2.49 USD"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Money {
    /// The amount, with every digit that was written.
    pub amount: Decimal,
    /// The currency.
    pub currency: Currency,
}

/// Why a text is not money.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MoneyError {
    /// The amount is not a plain decimal number.
    #[error("\"{0}\" is not a decimal amount")]
    Amount(String),
    /// The currency is not an ISO 4217 code.
    #[error("\"{0}\" is not an ISO 4217 currency code")]
    Currency(String),
    /// No currency was written.
    #[error("the amount \"{0}\" has no currency")]
    NoCurrency(String),
}

impl FromStr for Money {
    type Err = MoneyError;

    /// Reads `"2.49 USD"`. No thousands separators, no symbols, no exponent.
    fn from_str(text: &str) -> Result<Self, MoneyError> {
        let mut words = text.split_whitespace();
        let (Some(amount), Some(code), None) = (words.next(), words.next(), words.next()) else {
            return Err(MoneyError::NoCurrency(text.trim().to_owned()));
        };
        Ok(Self { amount: parse_decimal(amount)?, currency: parse_currency(code)? })
    }
}

/// Reads a plain decimal: digits, at most one point, an optional minus.
///
/// # Errors
/// `MoneyError::Amount` for anything else, exponents and separators included.
pub fn parse_decimal(text: &str) -> Result<Decimal, MoneyError> {
    let wrong = || MoneyError::Amount(text.to_owned());
    let digits = text.strip_prefix('-').unwrap_or(text);
    if !digits.starts_with(|c: char| c.is_ascii_digit()) || digits.chars().any(|c| !c.is_ascii_digit() && c != '.') {
        return Err(wrong());
    }
    // `from_str_exact` refuses what it would have to round.
    Decimal::from_str_exact(text).ok().ok_or_else(wrong)
}

/// Reads an ISO 4217 code, in any case.
///
/// # Errors
/// `MoneyError::Currency` when no currency has that code.
pub fn parse_currency(text: &str) -> Result<Currency, MoneyError> {
    Currency::from_code(&text.to_ascii_uppercase()).ok_or_else(|| MoneyError::Currency(text.to_owned()))
}

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.amount, self.currency.code())
    }
}

impl Serialize for Money {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Money {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Quoted;

        impl serde::de::Visitor<'_> for Quoted {
            type Value = Money;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a quoted amount with its currency, as \"2.49 USD\"")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Money, E> {
                text.parse().map_err(E::custom)
            }
        }

        // Any type is looked at, so that a bare number is told what was expected instead of it.
        deserializer.deserialize_any(Quoted)
    }
}

/// Reads an exact number that is written as quoted text: a bare number would come through a binary float.
///
/// # Errors
/// The deserializer's error for anything but the text of a plain decimal.
pub fn quoted_decimal<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Decimal, D::Error> {
    struct Quoted;

    impl serde::de::Visitor<'_> for Quoted {
        type Value = Decimal;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a quoted decimal, as \"7.12\"")
        }

        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Decimal, E> {
            parse_decimal(text).map_err(E::custom)
        }
    }

    deserializer.deserialize_any(Quoted)
}

/// Reads money that is a price or a budget.
///
/// # Errors
/// The deserializer's error for an amount below zero: a price of that kind would turn costs around.
pub fn not_negative<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Money, D::Error> {
    let money = Money::deserialize(deserializer)?;
    if money.amount.is_sign_negative() && !money.amount.is_zero() {
        return Err(serde::de::Error::custom(format!("\"{money}\" is below zero")));
    }
    Ok(money)
}

/// The same for money that may be left out.
///
/// # Errors
/// As [`not_negative`].
pub fn option_not_negative<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Money>, D::Error> {
    #[derive(Deserialize)]
    #[serde(transparent)]
    struct Checked(#[serde(deserialize_with = "not_negative")] Money);
    Ok(Option::<Checked>::deserialize(deserializer)?.map(|checked| checked.0))
}

/// Exact money while it is computed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exact {
    /// The amount.
    pub amount: BigRational,
    /// The currency.
    pub currency: Currency,
}

/// Two currencies met in one sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CurrencyMismatch {
    /// The currency of the sum so far.
    pub first: Currency,
    /// The other one.
    pub second: Currency,
}

impl Exact {
    /// Nothing of this currency.
    #[must_use]
    pub fn zero(currency: Currency) -> Self {
        Self { amount: BigRational::zero(), currency }
    }

    /// The sum.
    ///
    /// # Errors
    /// `CurrencyMismatch` when the currencies differ: without a dated rate there is no sum.
    pub fn plus(&self, other: &Self) -> Result<Self, CurrencyMismatch> {
        if self.currency == other.currency {
            Ok(Self { amount: &self.amount + &other.amount, currency: self.currency })
        } else {
            Err(CurrencyMismatch { first: self.currency, second: other.currency })
        }
    }

    /// The amount times an exact factor.
    #[must_use]
    pub fn times(&self, factor: &BigRational) -> Self {
        Self { amount: &self.amount * factor, currency: self.currency }
    }

    /// The amount over an exact divisor; `None` when the divisor is zero.
    #[must_use]
    pub fn over(&self, divisor: &BigRational) -> Option<Self> {
        (!divisor.is_zero()).then(|| Self { amount: &self.amount / divisor, currency: self.currency })
    }

    /// By which share this is above `other` (0.12 for 12 %); `None` for two currencies or where `other` is zero.
    #[must_use]
    pub fn share_above(&self, other: &Self) -> Option<f64> {
        use num_traits::ToPrimitive as _;
        if self.currency != other.currency || other.amount.is_zero() {
            return None;
        }
        (&self.amount / &other.amount - BigRational::one()).to_f64()
    }

    /// The amount as a float, for plots only.
    #[must_use]
    pub fn to_f64(&self) -> f64 {
        use num_traits::ToPrimitive as _;
        self.amount.to_f64().unwrap_or(f64::NAN)
    }

    /// Rounded half-even to the currency's minor units, as text without the code ("1,225.00").
    #[must_use]
    pub fn show(&self) -> String {
        let places = self.currency.exponent().unwrap_or(2);
        super::format::group_thousands(&round_to_places(&self.amount, u32::from(places)))
    }

    /// Rounded half-even to `digits` significant digits, as text without the code ("0.1832").
    #[must_use]
    pub fn show_significant(&self, digits: u32) -> String {
        super::format::group_thousands(&round_significant(&self.amount, digits))
    }
}

impl From<Money> for Exact {
    fn from(money: Money) -> Self {
        Self { amount: ratio(money.amount), currency: money.currency }
    }
}

/// The decimal as an exact rational.
#[must_use]
pub fn ratio(decimal: Decimal) -> BigRational {
    let denominator = num_traits::pow(BigInt::from(10), decimal.scale() as usize);
    BigRational::new(BigInt::from(decimal.mantissa()), denominator)
}

/// The exact rational value of a finite float; `None` for infinities and NaN.
#[must_use]
pub fn ratio_of_f64(value: f64) -> Option<BigRational> {
    // The shortest decimal that reads back as this float: what a person typed, not its binary neighbour.
    let text = format!("{value}");
    Decimal::from_str_exact(&text).ok().map(ratio).or_else(|| BigRational::from_float(value))
}

/// `value` rounded half-even to `places` decimals, as plain decimal text ("-0.05").
#[must_use]
pub fn round_to_places(value: &BigRational, places: u32) -> String {
    let scale = num_traits::pow(BigInt::from(10), places as usize);
    let scaled = value * BigRational::from_integer(scale);
    let rounded = round_half_even(&scaled);
    decimal_text(&rounded, places)
}

/// `value` rounded half-even to `digits` significant digits, as plain decimal text.
#[must_use]
pub fn round_significant(value: &BigRational, digits: u32) -> String {
    if value.is_zero() {
        return "0".to_owned();
    }
    let ten = BigRational::from_integer(BigInt::from(10));
    let mut magnitude = value.clone();
    if magnitude < BigRational::zero() {
        magnitude = -magnitude;
    }
    // Exponent of the leading digit.
    let mut exponent = 0_i64;
    while magnitude >= ten {
        magnitude /= &ten;
        exponent += 1;
    }
    while magnitude < BigRational::one() {
        magnitude *= &ten;
        exponent -= 1;
    }
    let places = i64::from(digits) - 1 - exponent;
    match u32::try_from(places) {
        Ok(places) => round_to_places(value, places),
        Err(_negative) => {
            let unit = num_traits::pow(BigInt::from(10), usize::try_from(-places).unwrap_or(0));
            let scaled = value / BigRational::from_integer(unit.clone());
            (round_half_even(&scaled) * unit).to_string()
        }
    }
}

fn round_half_even(value: &BigRational) -> BigInt {
    let floor = value.floor().to_integer();
    let rest = value - BigRational::from_integer(floor.clone());
    let half = BigRational::new(BigInt::one(), BigInt::from(2));
    let odd = (&floor % BigInt::from(2)) != BigInt::zero();
    if rest > half || (rest == half && odd) { floor + 1 } else { floor }
}

fn decimal_text(scaled: &BigInt, places: u32) -> String {
    let negative = *scaled < BigInt::zero();
    let digits = scaled.magnitude().to_string();
    let places = places as usize;
    let padded = format!("{digits:0>width$}", width = places + 1);
    let (whole, fraction) = padded.split_at(padded.len() - places);
    let sign = if negative { "-" } else { "" };
    if fraction.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_keeps_every_digit_and_refuses_the_rest() {
        for (text, want) in [
            ("2.49 USD", Ok("2.49 USD")),
            ("0.10 usd", Ok("0.10 USD")),
            ("-3 EUR", Ok("-3 EUR")),
            ("2.49", Err(MoneyError::NoCurrency("2.49".into()))),
            ("1,000 USD", Err(MoneyError::Amount("1,000".into()))),
            ("1e3 USD", Err(MoneyError::Amount("1e3".into()))),
            ("$2 USD", Err(MoneyError::Amount("$2".into()))),
            ("2 USX", Err(MoneyError::Currency("USX".into()))),
        ] {
            let got = text.parse::<Money>().map(|money| money.to_string());
            assert_eq!(got, want.map(str::to_owned), "{text}");
        }
    }

    #[test]
    fn a_third_three_times_is_one() {
        let third = Exact { amount: BigRational::new(1.into(), 3.into()), currency: Currency::USD };
        let sum = third.plus(&third).unwrap().plus(&third).unwrap();
        assert_eq!(sum.show(), "1.00");
    }

    #[test]
    fn rounding_is_half_even_and_once() {
        for (value, places, want) in
            [("0.125", 2, "0.12"), ("0.135", 2, "0.14"), ("-0.125", 2, "-0.12"), ("2.5", 0, "2")]
        {
            assert_eq!(round_to_places(&ratio(parse_decimal(value).unwrap()), places), want, "{value}");
        }
        for (value, want) in
            [("0.18317", "0.1832"), ("1234.56", "1235"), ("123456", "123500"), ("9.99951", "10.000"), ("0", "0")]
        {
            assert_eq!(round_significant(&ratio(parse_decimal(value).unwrap()), 4), want, "{value}");
        }
    }

    #[test]
    fn a_price_below_zero_is_refused_where_it_is_read() {
        let rate = |price: &str| {
            ron::from_str::<crate::domain::billing::Rate>(&format!("(price: \"{price}\", per: Hour, quantity: \"1\")"))
        };
        assert!(rate("2.45 USD").is_ok());
        assert!(rate("0 USD").is_ok());
        assert!(rate("-2.45 USD").unwrap_err().to_string().contains("below zero"));
        let brief =
            |budget: &str| ron::from_str::<crate::domain::brief::Brief>(&format!("(budget_month: Some(\"{budget}\"))"));
        assert!(brief("5 USD").is_ok());
        assert!(brief("-5 USD").is_err());
    }

    #[test]
    fn two_currencies_have_no_sum() {
        let usd = Exact::zero(Currency::USD);
        assert!(usd.plus(&Exact::zero(Currency::EUR)).is_err());
    }
}
