//! Fields of a case as they are written: quoted text with its unit. A bare number would pass through a binary float, so
//! it is refused wherever digits could be lost.

use std::fmt;
use std::marker::PhantomData;

use iso_currency::Currency;
use num_traits::Signed as _;
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::calendar::Moment;
use super::number::{Q, decimal, number, whole};
use super::unit::{Quantity, Unit};
use crate::domain::money::{parse_currency, ratio};

/// Something that is read from quoted text.
pub trait FromText: Sized {
    /// What is expected, for the error of another kind of value.
    const EXPECTING: &'static str;
    /// Reads it.
    ///
    /// # Errors
    /// Words for what is wrong with the text.
    fn from_text(text: &str) -> Result<Self, String>;
    /// Reads a bare whole number, where that loses nothing.
    fn from_whole(_value: u64) -> Option<Self> {
        None
    }
}

struct TextVisitor<T>(PhantomData<T>);

impl<T: FromText> Visitor<'_> for TextVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTING)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        T::from_text(text).map_err(E::custom)
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<T, E> {
        T::from_whole(value).ok_or_else(|| E::invalid_type(de::Unexpected::Unsigned(value), &self))
    }
}

/// Reads a field from its text. Any type is looked at, so that a bare number is told what was expected instead of it.
pub(super) fn read_text<'de, D: Deserializer<'de>, T: FromText>(deserializer: D) -> Result<T, D::Error> {
    deserializer.deserialize_any(TextVisitor(PhantomData))
}

macro_rules! from_text {
    ($($name:ty),*) => {$(
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                super::field::read_text(deserializer)
            }
        }
    )*};
}
pub(super) use from_text;

/// Money as written; the case's currency where it names none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Amount {
    /// How much.
    pub amount: Q,
    /// The currency, where one is written.
    pub currency: Option<Currency>,
}

impl Amount {
    fn words(words: &[&str], text: &str) -> Result<Self, String> {
        match words {
            [amount] => Ok(Self { amount: ratio(decimal(amount)?), currency: None }),
            [amount, code] => Ok(Self {
                amount: ratio(decimal(amount)?),
                currency: Some(parse_currency(code).map_err(|error| error.to_string())?),
            }),
            _ => Err(format!("\"{text}\" is no amount, as \"2.49\" or \"2.49 USD\"")),
        }
    }
}

impl FromText for Amount {
    const EXPECTING: &'static str = "a quoted amount, as \"2.49\" or \"2.49 USD\"";

    fn from_text(text: &str) -> Result<Self, String> {
        Self::words(&text.split_whitespace().collect::<Vec<_>>(), text)
    }
}

/// Money that is not below zero.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Price(pub Amount);

impl FromText for Price {
    const EXPECTING: &'static str = "a quoted price, as \"2.49\" or \"2.49 USD\"";

    fn from_text(text: &str) -> Result<Self, String> {
        let amount = Amount::from_text(text)?;
        if amount.amount.is_negative() { Err(format!("\"{text}\" is below zero")) } else { Ok(Self(amount)) }
    }
}

/// What a price is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Per {
    /// For this much of something.
    Quantity(Quantity),
    /// Once, however long it lasts.
    Once,
    /// A share of the named components.
    Percent(Vec<String>),
}

/// A price with what it is for: `"3.60 USD per hour"`, `"0.20 per GiB-month"`, `"74.40 once"`, `"3 % of gpu, disk"`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateText {
    /// The price of one unit, or the percentage.
    pub amount: Amount,
    /// What one unit is.
    pub per: Per,
}

impl FromText for RateText {
    const EXPECTING: &'static str =
        "a quoted rate, as \"3.60 per hour\", \"0.20 USD per GB-month\", \"90 once\" or \"3 % of gpu\"";

    fn from_text(text: &str) -> Result<Self, String> {
        let wrong = || format!("\"{text}\" is no rate, as \"3.60 per hour\", \"90 once\" or \"3 % of gpu\"");
        // "per GB per month" and "/GB/month" say what "per GB-month" says.
        let spelled = text.replace('/', " per ");
        let rate = if let Some((amount, per)) = spelled.split_once(" per ") {
            let per: Vec<&str> = per.split(" per ").map(str::trim).collect();
            Self { amount: Amount::from_text(amount)?, per: Per::Quantity(Quantity::parse_per(&per.join("-"))?) }
        } else if let Some(amount) = text.trim_end().strip_suffix(" once") {
            Self { amount: Amount::from_text(amount)?, per: Per::Once }
        } else if let Some((percent, of)) = text.split_once(" % of ") {
            let names: Vec<String> = of.split(',').map(|name| name.trim().to_owned()).collect();
            if names.iter().any(String::is_empty) {
                return Err(wrong());
            }
            let amount = Amount { amount: ratio(decimal(percent)?) / whole(100), currency: None };
            Self { amount, per: Per::Percent(names) }
        } else {
            return Err(wrong());
        };
        if rate.amount.amount.is_negative() { Err(format!("\"{text}\" is below zero")) } else { Ok(rate) }
    }
}

/// A number that is not below zero: quoted text, or a bare whole number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Number(pub Q);

impl FromText for Number {
    const EXPECTING: &'static str = "a quoted number, as \"0.19\" or \"1080\"";

    fn from_text(text: &str) -> Result<Self, String> {
        let value = match text.trim().strip_suffix('%') {
            Some(percent) => number(percent.trim_end())? / whole(100),
            None => number(text)?,
        };
        if value.is_negative() { Err(format!("\"{text}\" is below zero")) } else { Ok(Self(value)) }
    }

    fn from_whole(value: u64) -> Option<Self> {
        Some(Self(Q::from_integer(value.into())))
    }
}

/// How many came out of the work: a number, or a number for each second (`"2450 per s"`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Count {
    /// How many, or how many in a second.
    pub number: Q,
    /// Whether it is for each second.
    pub is_rate: bool,
}

impl FromText for Count {
    const EXPECTING: &'static str = "a whole number or a quoted one, as 1080, \"1080\" or \"2450 per s\"";

    fn from_text(text: &str) -> Result<Self, String> {
        match text.split_once(" per ") {
            None => Number::from_text(text).map(|number| Self { number: number.0, is_rate: false }),
            Some((number, per)) => {
                let secs = Quantity::parse_per(per)?
                    .secs()
                    .ok_or_else(|| format!("\"{text}\" is not for a time, as \"2450 per s\""))?;
                Ok(Self { number: Number::from_text(number)?.0 / secs, is_rate: true })
            }
        }
    }

    fn from_whole(value: u64) -> Option<Self> {
        Number::from_whole(value).map(|number| Self { number: number.0, is_rate: false })
    }
}

impl FromText for Quantity {
    const EXPECTING: &'static str = "a quoted quantity, as \"200 GB\" or \"5952 gpu-hour\"";

    fn from_text(text: &str) -> Result<Self, String> {
        Self::parse(text)
    }

    fn from_whole(value: u64) -> Option<Self> {
        Some(Self { number: Q::from_integer(value.into()), unit: Unit::one() })
    }
}

/// A length of time in seconds: `"90 s"`, `"700 h"`, `"17 days"`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lasting(pub Q);

impl FromText for Lasting {
    const EXPECTING: &'static str = "a quoted length of time, as \"90 s\" or \"700 h\"";

    fn from_text(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        if words.len() > 2 && words.len().is_multiple_of(2) {
            // "24 h 15 min" is the sum of its parts.
            let mut parts = words.chunks(2).map(|pair| Self::from_text(&pair.join(" ")));
            return parts.try_fold(Self(whole(0)), |sum, part| Ok(Self(sum.0 + part?.0)));
        }
        let quantity = Quantity::parse(text)?;
        if quantity.unit.has_month() {
            return Err(format!("\"{text}\" has no fixed length; write hours or days, or from and to"));
        }
        quantity.secs().map(Self).ok_or_else(|| format!("\"{text}\" is no length of time, as \"90 s\" or \"700 h\""))
    }
}

/// A step on the calendar: months (with years), or a fixed length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Every {
    /// Whole months.
    Months(u32),
    /// Seconds.
    Secs(Q),
}

impl FromText for Every {
    const EXPECTING: &'static str = "a quoted step, as \"1 month\" or \"7 days\"";

    fn from_text(text: &str) -> Result<Self, String> {
        let quantity = Quantity::parse(text)?;
        if !quantity.number.is_positive() {
            return Err(format!("\"{text}\" is no step: it is not above zero"));
        }
        if !quantity.unit.has_month() {
            return Lasting::from_text(text).map(|lasting| Self::Secs(lasting.0));
        }
        let months = &quantity.number * quantity.unit.time.map_or_else(|| whole(1), |time| time.secs_with(&whole(1)));
        let wrong = || format!("\"{text}\" is not a whole number of months");
        if !months.is_integer() {
            return Err(wrong());
        }
        u32::try_from(months.to_integer()).map(Self::Months).map_err(|_too_many| wrong())
    }
}

/// How long a month is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MonthBasis {
    /// This many seconds, always.
    Fixed(Q),
    /// The calendar month of the zone, by its seconds.
    Real,
    /// The calendar month of the zone, by its days: a local day counts as one, whatever its length.
    Days,
    /// From the day a session started to the same day of the next month, by its seconds.
    Anniversary,
    /// At most this many seconds of a calendar month are billed, and the monthly price is for as many.
    Capped(Q),
}

impl FromText for MonthBasis {
    const EXPECTING: &'static str =
        "a quoted month, as \"720 h\", \"real\", \"days\", \"anniversary\" or \"capped 672 h\"";

    fn from_text(text: &str) -> Result<Self, String> {
        let secs = |text: &str| match Lasting::from_text(text)?.0 {
            secs if secs.is_positive() => Ok(secs),
            _ => Err(format!("a month of \"{text}\" divides by zero")),
        };
        match text.trim() {
            "real" => Ok(Self::Real),
            "days" => Ok(Self::Days),
            "anniversary" => Ok(Self::Anniversary),
            other => match other.strip_prefix("capped ") {
                Some(hours) => secs(hours).map(Self::Capped),
                None => secs(other).map(Self::Fixed).map_err(|_other| {
                    format!(
                        "\"{text}\" is no month, as \"720 h\", \"real\", \"days\", \"anniversary\" or \"capped 672 h\""
                    )
                }),
            },
        }
    }
}

impl FromText for Moment {
    const EXPECTING: &'static str = "a quoted instant or date, as \"2026-10-31T15:00Z\" or \"2026-10-31\"";

    fn from_text(text: &str) -> Result<Self, String> {
        Self::parse(text)
    }
}

/// What one unit is: `"h"`, `"request"`, `"1000 tokens"`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitOf(pub Quantity);

impl FromText for UnitOf {
    const EXPECTING: &'static str = "a quoted unit, as \"h\" or \"request\"";

    fn from_text(text: &str) -> Result<Self, String> {
        Quantity::parse_per(text).map(Self)
    }
}

/// A currency code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Code(pub Currency);

impl FromText for Code {
    const EXPECTING: &'static str = "a quoted ISO 4217 code, as \"USD\"";

    fn from_text(text: &str) -> Result<Self, String> {
        parse_currency(text).map(Self).map_err(|error| error.to_string())
    }
}

from_text!(Amount, Price, RateText, Number, Count, Quantity, Lasting, Every, MonthBasis, Moment, Code, UnitOf);

/// Something read from text that is kept as it was written: a project says "1 TB" again, not its number of bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written<T> {
    text: String,
    value: T,
}

impl<T: FromText> Written<T> {
    /// Reads it.
    ///
    /// # Errors
    /// Words for what is wrong with the text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        Ok(Self { text: text.to_owned(), value: T::from_text(text)? })
    }
}

impl<T> Written<T> {
    /// As it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What it means.
    #[must_use]
    pub const fn value(&self) -> &T {
        &self.value
    }
}

impl<T: FromText> FromText for Written<T> {
    const EXPECTING: &'static str = T::EXPECTING;

    fn from_text(text: &str) -> Result<Self, String> {
        Self::parse(text)
    }
}

impl<'de, T: FromText> Deserialize<'de> for Written<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_text(deserializer)
    }
}

impl<T> Serialize for Written<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}
