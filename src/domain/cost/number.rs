//! Exact numbers: decimal text in, rationals inside, decimal text out, rounded where somebody says so and nowhere else.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One as _, Signed as _, Zero as _};
use rust_decimal::Decimal;
use serde::Deserialize;

use crate::domain::money::{ratio, round_to_places};

/// An exact number.
pub type Q = BigRational;

/// The whole number as an exact one.
#[must_use]
pub(super) fn whole(value: i64) -> Q {
    Q::from_integer(BigInt::from(value))
}

/// Reads a plain decimal number, as `"-0.05"`.
///
/// # Errors
/// Words for anything else: exponents, separators, and more digits than 28, which a decimal cannot hold exactly.
pub(super) fn decimal(text: &str) -> Result<Decimal, String> {
    let text = text.trim();
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_plain = digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.chars().all(|c| c.is_ascii_digit() || c == '.')
        && digits.chars().filter(|c| *c == '.').count() < 2
        && !digits.ends_with('.');
    if !is_plain {
        return Err(format!("\"{text}\" is not a plain decimal number"));
    }
    Decimal::from_str_exact(text).map_err(|_too_long| {
        let n_digits = digits.chars().filter(char::is_ascii_digit).count();
        format!("\"{text}\" has {n_digits} digits; a decimal holds 28 exactly, and nothing is rounded here")
    })
}

/// Reads a plain decimal number or a fraction of two, as `"1196/375"`.
///
/// # Errors
/// As [`decimal`], and for a zero below the line.
pub(super) fn number(text: &str) -> Result<Q, String> {
    match text.split_once('/') {
        None => decimal(text).map(ratio),
        Some((above, below)) => {
            let below = ratio(decimal(below)?);
            if below.is_zero() {
                return Err(format!("\"{text}\" divides by zero"));
            }
            Ok(ratio(decimal(above)?) / below)
        }
    }
}

/// The number as exact decimal text without trailing zeros; as a fraction where it has no finite decimal.
#[must_use]
pub fn show(value: &Q) -> String {
    match finite_places(value) {
        Some(places) => round_to_places(value, places),
        None => format!("{}/{}", value.numer(), value.denom()),
    }
}

/// The number for people: as [`show`], with its rounding to 12 places beside a fraction.
#[must_use]
pub(super) fn show_long(value: &Q) -> String {
    match finite_places(value) {
        Some(places) => round_to_places(value, places),
        None => format!("{}/{} ({})", value.numer(), value.denom(), round_to_places(value, 12)),
    }
}

/// How many decimals the number needs; `None` when no number of them is enough.
pub(super) fn finite_places(value: &Q) -> Option<u32> {
    let mut rest = value.denom().clone();
    let mut count = |prime: u32| {
        let prime = BigInt::from(prime);
        let mut n = 0_u32;
        while (&rest % &prime).is_zero() {
            rest /= &prime;
            n += 1;
        }
        n
    };
    let places = count(2).max(count(5));
    rest.is_one().then_some(places)
}

/// Which way a half goes, or that everything goes up or down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RoundMode {
    /// A half goes to the even neighbour.
    #[default]
    HalfEven,
    /// A half goes away from zero.
    HalfUp,
    /// Everything goes up.
    Up,
    /// Everything goes down.
    Down,
}

/// `value` rounded to a multiple of `step`, which is above zero.
#[must_use]
pub(super) fn round_to_step(value: &Q, step: &Q, mode: RoundMode) -> Q {
    let steps = value / step;
    let rounded = match mode {
        RoundMode::Up => steps.ceil(),
        RoundMode::Down => steps.floor(),
        RoundMode::HalfEven | RoundMode::HalfUp => {
            let half = Q::new(BigInt::one(), BigInt::from(2));
            let size = steps.abs();
            let floor = size.floor();
            let rest = &size - &floor;
            let is_odd = !(floor.to_integer() % BigInt::from(2)).is_zero();
            let goes_up = rest > half || (rest == half && (mode == RoundMode::HalfUp || is_odd));
            let size = if goes_up { floor + Q::one() } else { floor };
            if steps.is_negative() { -size } else { size }
        }
    };
    rounded * step
}

/// `value` rounded to this many decimals.
#[must_use]
pub(super) fn round_places(value: &Q, places: u32, mode: RoundMode) -> Q {
    let unit = Q::new(BigInt::one(), num_traits::pow(BigInt::from(10), usize::try_from(places).unwrap_or(0)));
    round_to_step(value, &unit, mode)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_is_exact_and_refuses_the_rest() {
        for (text, want) in [
            ("3.60", Ok("3.6")),
            ("1196/375", Ok("1196/375")),
            ("20/4", Ok("5")),
            ("-0.050", Ok("-0.05")),
            ("1e3", Err("\"1e3\" is not a plain decimal number")),
            ("1,000", Err("\"1,000\" is not a plain decimal number")),
            ("1.", Err("\"1.\" is not a plain decimal number")),
            ("1/0", Err("\"1/0\" divides by zero")),
            (
                "0.1234567890123456789012345678901234567890",
                Err("\"0.1234567890123456789012345678901234567890\" has 41 digits; a decimal holds 28 exactly, and \
                     nothing is rounded here"),
            ),
        ] {
            let got = number(text).map(|value| show(&value));
            assert_eq!(got, want.map(str::to_owned).map_err(str::to_owned), "{text}");
        }
    }

    #[test]
    fn rounds_the_way_it_is_told() {
        for (value, places, mode, want) in [
            ("0.125", 2, RoundMode::HalfEven, "0.12"),
            ("0.125", 2, RoundMode::HalfUp, "0.13"),
            ("-0.125", 2, RoundMode::HalfUp, "-0.13"),
            ("0.121", 2, RoundMode::Up, "0.13"),
            ("0.129", 2, RoundMode::Down, "0.12"),
            ("150.5", 0, RoundMode::HalfEven, "150"),
        ] {
            assert_eq!(show(&round_places(&number(value).unwrap(), places, mode)), want, "{value} {mode:?}");
        }
    }
}
