//! Units of prices and quantities: a thing (GPU, byte, request, pixel), a time, or a thing over a time.

use num_bigint::BigInt;
use num_traits::{One as _, Signed as _};

use super::number::{Q, decimal, whole};
use crate::domain::money::ratio;

/// What is counted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Thing {
    /// Nothing: a bare number or a bare time.
    One,
    /// Data; the base is one byte.
    Bytes,
    /// Picture size; the base is one pixel.
    Pixels,
    /// Anything else by its name in the singular ("gpu", "request", "token").
    Named(String),
}

/// A unit of time. The month has no length of its own: it is an input of the component.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Time {
    /// 1 s.
    Second,
    /// 60 s.
    Minute,
    /// 3,600 s.
    Hour,
    /// 24 h.
    Day,
    /// 7 days of 24 h.
    Week,
    /// As long as the component says.
    Month,
    /// Twelve months.
    Year,
}

/// How many base units a unit holds.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Factor {
    Fixed(Q),
    /// 10⁹ bytes times 1,000 or 1,024 to this power: TB is 1, PB is 2.
    Tera(u32),
    Megapixel,
}

/// A unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// What is counted.
    pub thing: Thing,
    factor: Factor,
    /// Over which time, if over one.
    pub time: Option<Time>,
    text: String,
}

/// Sizes that price lists do not agree on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sizes {
    /// GB in a TB, and TB in a PB: 1,000 or 1,024.
    pub tera: u32,
    /// Pixels in a megapixel.
    pub megapixel: Q,
}

impl Default for Sizes {
    fn default() -> Self {
        Self { tera: 1000, megapixel: whole(1_000_000) }
    }
}

impl Time {
    fn named(word: &str) -> Option<Self> {
        Some(match word {
            "s" | "sec" | "secs" | "second" | "seconds" => Self::Second,
            "min" | "mins" | "minute" | "minutes" => Self::Minute,
            "h" | "hr" | "hrs" | "hour" | "hours" => Self::Hour,
            "d" | "day" | "days" => Self::Day,
            "week" | "weeks" => Self::Week,
            "month" | "months" => Self::Month,
            "year" | "years" => Self::Year,
            _ => return None,
        })
    }

    /// Its length in seconds; `None` for months and years.
    #[must_use]
    pub fn secs(self) -> Option<Q> {
        Some(whole(match self {
            Self::Second => 1,
            Self::Minute => 60,
            Self::Hour => 3600,
            Self::Day => 86_400,
            Self::Week => 604_800,
            Self::Month | Self::Year => return None,
        }))
    }

    /// Its length in seconds where a month has `month` of them.
    #[must_use]
    pub fn secs_with(self, month: &Q) -> Q {
        match self {
            Self::Month => month.clone(),
            Self::Year => month * whole(12),
            other => other.secs().unwrap_or_else(Q::one),
        }
    }
}

impl Unit {
    /// Reads a unit: a thing, a time, or both as `"gpu-hour"`.
    ///
    /// # Errors
    /// Words for an empty text and for signs that no unit has.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '%');
        if text.is_empty() || !text.chars().all(is_word) {
            return Err(format!("\"{text}\" is not a unit"));
        }
        let (things, time) = match text.rsplit_once('-') {
            Some((things, last)) => match Time::named(last) {
                Some(time) => (things, Some(time)),
                None => (text, None),
            },
            None => match Time::named(text) {
                Some(time) => ("", Some(time)),
                None => (text, None),
            },
        };
        let (thing, factor) = thing_of(things);
        Ok(Self { thing, factor, time, text: text.to_owned() })
    }

    /// No thing and no time: a bare number.
    #[must_use]
    pub fn one() -> Self {
        Self { thing: Thing::One, factor: Factor::Fixed(Q::one()), time: None, text: String::new() }
    }

    /// Base things (bytes, pixels, pieces) in one of it.
    #[must_use]
    pub fn things(&self, sizes: &Sizes) -> Q {
        match &self.factor {
            Factor::Fixed(factor) => factor.clone(),
            Factor::Tera(power) => {
                let step = whole(i64::from(sizes.tera));
                (0..*power).fold(whole(1_000_000_000), |size, _| size * &step)
            }
            Factor::Megapixel => sizes.megapixel.clone(),
        }
    }

    /// Whether its size depends on how many GB a TB has.
    #[must_use]
    pub fn is_tera(&self) -> bool {
        matches!(self.factor, Factor::Tera(_))
    }

    /// Whether its length depends on how long a month is.
    #[must_use]
    pub fn has_month(&self) -> bool {
        matches!(self.time, Some(Time::Month | Time::Year))
    }

    /// The unit as it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// The thing that a word names, and how many base units it holds.
fn thing_of(word: &str) -> (Thing, Factor) {
    let bytes = |base: i64, power: usize| {
        (Thing::Bytes, Factor::Fixed(Q::from_integer(num_traits::pow(BigInt::from(base), power))))
    };
    let tokens = |n: i64| (Thing::Named("token".to_owned()), Factor::Fixed(whole(n)));
    match word {
        "" => (Thing::One, Factor::Fixed(Q::one())),
        "B" | "byte" | "bytes" => bytes(1, 1),
        "kB" | "KB" => bytes(1000, 1),
        "MB" => bytes(1000, 2),
        "GB" => bytes(1000, 3),
        "TB" => (Thing::Bytes, Factor::Tera(1)),
        "PB" => (Thing::Bytes, Factor::Tera(2)),
        "KiB" => bytes(1024, 1),
        "MiB" => bytes(1024, 2),
        "GiB" => bytes(1024, 3),
        "TiB" => bytes(1024, 4),
        "PiB" => bytes(1024, 5),
        "px" | "pixel" | "pixels" => (Thing::Pixels, Factor::Fixed(Q::one())),
        "MP" | "Mpx" | "megapixel" | "megapixels" => (Thing::Pixels, Factor::Megapixel),
        "ktoken" | "ktokens" => tokens(1000),
        "Mtoken" | "Mtokens" => tokens(1_000_000),
        other => {
            let one = match other.strip_suffix('s') {
                Some(one) if one.len() > 1 && !one.ends_with('s') && !one.ends_with('u') => one,
                _ => other,
            };
            (Thing::Named(one.to_lowercase()), Factor::Fixed(Q::one()))
        }
    }
}

/// A number of units.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quantity {
    /// How many; never below zero.
    pub number: Q,
    /// Of what.
    pub unit: Unit,
}

impl Quantity {
    /// Reads `"200 GB"`, `"5952 gpu-hour"`, `"1 million tokens"`, `"1200"`.
    ///
    /// # Errors
    /// Words for what is no number, no unit, or below zero.
    pub fn parse(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let (number, rest) = match words.split_first() {
            Some((first, rest)) if first.starts_with(|c: char| c.is_ascii_digit() || c == '-') => {
                (ratio(decimal(first)?), rest)
            }
            _ => return Err(format!("\"{text}\" is not a quantity, as \"200 GB\" or \"90 s\"")),
        };
        if number.is_negative() {
            return Err(format!("\"{text}\" is below zero"));
        }
        Self::of(number, rest, text)
    }

    /// Reads what stands after "per": a unit, with a number before it where a price is for several.
    ///
    /// # Errors
    /// As [`Quantity::parse`], and for a number of zero.
    pub fn parse_per(text: &str) -> Result<Self, String> {
        let quantity = if text.trim_start().starts_with(|c: char| c.is_ascii_digit() || c == '-') {
            Self::parse(text)?
        } else {
            Self::of(Q::one(), &text.split_whitespace().collect::<Vec<_>>(), text)?
        };
        if quantity.number.is_positive() { Ok(quantity) } else { Err(format!("\"per {text}\" divides by zero")) }
    }

    fn of(number: Q, words: &[&str], text: &str) -> Result<Self, String> {
        match words {
            [] => Ok(Self { number, unit: Unit::one() }),
            ["million", unit] => Ok(Self { number: number * whole(1_000_000), unit: Unit::parse(unit)? }),
            ["thousand", unit] => Ok(Self { number: number * whole(1000), unit: Unit::parse(unit)? }),
            [unit] => Ok(Self { number, unit: Unit::parse(unit)? }),
            _ => Err(format!("\"{text}\" is not a quantity, as \"200 GB\" or \"5952 gpu-hour\"")),
        }
    }

    /// Base things in all of it, without its time.
    #[must_use]
    pub fn things(&self, sizes: &Sizes) -> Q {
        &self.number * self.unit.things(sizes)
    }

    /// Base things × seconds (or things alone where it has no time), a month being `month` seconds long.
    #[must_use]
    pub fn base(&self, sizes: &Sizes, month: &Q) -> Q {
        let things = self.things(sizes);
        self.unit.time.map_or_else(|| things.clone(), |time| &things * time.secs_with(month))
    }

    /// Its length in seconds, when it is a time of fixed length.
    #[must_use]
    pub fn secs(&self) -> Option<Q> {
        if self.unit.thing != Thing::One {
            return None;
        }
        self.unit.time?.secs().map(|secs| secs * &self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::cost::number::show;

    #[test]
    fn reads_units() {
        let month = whole(720 * 3600);
        for (text, thing, base) in [
            ("200 GB", Thing::Bytes, "200000000000"),
            ("20 TiB", Thing::Bytes, "21990232555520"),
            ("1 TB", Thing::Bytes, "1024000000000"),
            ("5952 gpu-hour", Thing::Named("gpu".into()), "21427200"),
            ("2 GB-month", Thing::Bytes, "5184000000000000"),
            ("90 s", Thing::One, "90"),
            ("1 million tokens", Thing::Named("token".into()), "1000000"),
            ("0.5 vCPU", Thing::Named("vcpu".into()), "0.5"),
            ("3 GPUs", Thing::Named("gpu".into()), "3"),
            ("1200", Thing::One, "1200"),
        ] {
            let got = Quantity::parse(text).unwrap();
            let sizes = Sizes { tera: 1024, ..Sizes::default() };
            assert_eq!((got.unit.thing.clone(), show(&got.base(&sizes, &month))), (thing, base.to_owned()), "{text}");
        }
        for text in ["-3 GB", "GB", "3 GB per h", "1e3 s", ""] {
            assert!(Quantity::parse(text).is_err(), "{text}");
        }
    }
}
