//! Answers: a number, dates, yes or no, a span of readings, or no value with its reason.

use std::fmt;

use chrono::NaiveDate;

use super::number::{Q, RoundMode, finite_places, number, round_places, show, show_long};

/// Why there is no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// Nothing was accepted, so there is nothing to divide by.
    ZeroAccepted,
    /// Nothing of the other denominator came out.
    ZeroCount,
    /// A component has no price.
    MissingPrice,
    /// No rate of exchange for the day.
    MissingRate,
    /// A quantity is in a unit that the price does not know.
    UnknownUnit,
    /// Two components cover the same part.
    Overlap,
    /// The state table does not say what a state costs.
    StateNotStated,
    /// The two plans never cost the same.
    NoCrossing,
    /// Several resources share an allowance, and nobody said how it is split.
    SharedSplit,
    /// A length of time without instants was asked for a part of the calendar.
    NoInstant,
    /// The case does not record it.
    NotRecorded,
    /// Cash and accrual have no sum.
    MixedBasis,
    /// Two currencies have no sum without a rate.
    MixedCurrency,
    /// Two answers hold the same time of the same component.
    CountedTwice,
    /// A diagnostic is a view on amounts already counted; it has no sum.
    NotAddable,
    /// The readings of a rule that is not stated do not agree on whether there is a value.
    RuleNotStated,
    /// The need is above what the plan can do.
    OutOfCapacity,
    /// The account ran empty.
    WalletEmpty,
}

impl Why {
    /// Every reason.
    pub const ALL: [Self; 18] = [
        Self::ZeroAccepted,
        Self::ZeroCount,
        Self::MissingPrice,
        Self::MissingRate,
        Self::UnknownUnit,
        Self::Overlap,
        Self::StateNotStated,
        Self::NoCrossing,
        Self::SharedSplit,
        Self::NoInstant,
        Self::NotRecorded,
        Self::MixedBasis,
        Self::MixedCurrency,
        Self::CountedTwice,
        Self::NotAddable,
        Self::RuleNotStated,
        Self::OutOfCapacity,
        Self::WalletEmpty,
    ];

    /// Its name in cases and JSON.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::ZeroAccepted => "zero_accepted",
            Self::ZeroCount => "zero_count",
            Self::MissingPrice => "missing_price",
            Self::MissingRate => "missing_rate",
            Self::UnknownUnit => "unknown_unit",
            Self::Overlap => "overlap",
            Self::StateNotStated => "state_not_stated",
            Self::NoCrossing => "no_crossing",
            Self::SharedSplit => "shared_split",
            Self::NoInstant => "no_instant",
            Self::NotRecorded => "not_recorded",
            Self::MixedBasis => "mixed_basis",
            Self::MixedCurrency => "mixed_currency",
            Self::CountedTwice => "counted_twice",
            Self::NotAddable => "not_addable",
            Self::RuleNotStated => "rule_not_stated",
            Self::OutOfCapacity => "out_of_capacity",
            Self::WalletEmpty => "wallet_empty",
        }
    }
}

/// No value: why, about what, and what it will be at least.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoValue {
    /// The reason.
    pub why: Why,
    /// About what: names of components, a state, a currency.
    pub about: String,
    /// The sum of the priced part, where that is a lower bound.
    pub at_least: Option<Q>,
}

impl NoValue {
    /// No value for this reason.
    pub fn new(why: Why, about: impl Into<String>) -> Self {
        Self { why, about: about.into(), at_least: None }
    }
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// A number.
    Number(Q),
    /// The least and the most over the readings of a rule that is not stated.
    Span(Q, Q),
    /// Several numbers in order, as crossings.
    Numbers(Vec<Q>),
    /// Dates in order.
    Dates(Vec<NaiveDate>),
    /// Yes or no.
    Yes(bool),
    /// A name, as that of the cheaper plan.
    Name(String),
    /// No value.
    None(NoValue),
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(value) => f.write_str(&show_long(value)),
            Self::Span(low, high) => write!(f, "{} to {}", show_long(low), show_long(high)),
            Self::Numbers(values) if values.is_empty() => f.write_str("none"),
            Self::Numbers(values) => f.write_str(&values.iter().map(show).collect::<Vec<_>>().join(", ")),
            Self::Dates(dates) => f.write_str(&dates.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
            Self::Yes(true) => f.write_str("yes"),
            Self::Yes(false) => f.write_str("no"),
            Self::Name(name) => f.write_str(name),
            Self::None(none) => {
                write!(f, "no value: {}", none.why.key())?;
                if !none.about.is_empty() {
                    write!(f, " ({})", none.about)?;
                }
                none.at_least.as_ref().map_or(Ok(()), |least| write!(f, ", at least {}", show_long(least)))
            }
        }
    }
}

/// What a case says the answer is, or is not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// This answer; for no value any of its reason.
    Is(Answer),
    /// No value, whatever the reason.
    NoValue,
    /// A text that no number is ever shown as ("Infinity").
    Text(String),
}

impl Wanted {
    /// Reads an expected answer: `"3.72"`, `"1196/375"`, `"no value"`, `"no value: zero_accepted"`, `"6.4 to 6.7"`,
    /// `"yes"`, `"2027-02-28, 2027-03-31"`, `"431, 900"`, `"none"` or the name of a plan.
    ///
    /// # Errors
    /// Words for a reason that does not exist and for a number that cannot be held exactly.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text == "no value" {
            return Ok(Self::NoValue);
        }
        if let Some(key) = text.strip_prefix("no value:") {
            let key = key.trim();
            let why = Why::ALL.into_iter().find(|why| why.key() == key).ok_or_else(|| {
                let known: Vec<&str> = Why::ALL.iter().map(|why| why.key()).collect();
                format!("\"{key}\" is no reason; known are {}", known.join(", "))
            })?;
            return Ok(Self::Is(Answer::None(NoValue::new(why, ""))));
        }
        Ok(match text {
            "yes" => Self::Is(Answer::Yes(true)),
            "no" => Self::Is(Answer::Yes(false)),
            "none" => Self::Is(Answer::Numbers(Vec::new())),
            _ => {
                if let Some((low, high)) = text.split_once(" to ") {
                    return Ok(Self::Is(Answer::Span(number(low.trim())?, number(high.trim())?)));
                }
                let parts: Vec<&str> = text.split(',').map(str::trim).collect();
                let dates: Option<Vec<NaiveDate>> =
                    parts.iter().map(|part| NaiveDate::parse_from_str(part, "%Y-%m-%d").ok()).collect();
                if let Some(dates) = dates {
                    return Ok(Self::Is(Answer::Dates(dates)));
                }
                if text.starts_with(|c: char| c.is_ascii_digit() || c == '-') && !text.chars().any(char::is_alphabetic)
                {
                    let mut numbers = parts.iter().map(|part| number(part)).collect::<Result<Vec<_>, _>>()?;
                    let only = if numbers.len() == 1 { numbers.pop() } else { None };
                    Self::Is(only.map_or(Answer::Numbers(numbers), Answer::Number))
                } else {
                    Self::Text(text.to_owned())
                }
            }
        })
    }

    /// Whether the answer is the expected one.
    #[must_use]
    pub fn is_met(&self, answer: &Answer) -> bool {
        match (self, answer) {
            (Self::NoValue, Answer::None(_)) => true,
            (Self::Is(Answer::None(want)), Answer::None(got)) => want.why == got.why,
            (Self::Is(Answer::Number(want)), Answer::Number(got)) => is_same(want, got),
            (Self::Is(Answer::Span(low, high)), Answer::Span(got_low, got_high)) => {
                is_same(low, got_low) && is_same(high, got_high)
            }
            (Self::Is(Answer::Numbers(want)), Answer::Numbers(got)) => {
                want.len() == got.len() && want.iter().zip(got).all(|(want, got)| is_same(want, got))
            }
            (Self::Is(Answer::Numbers(want)), Answer::Number(got)) => want.as_slice() == std::slice::from_ref(got),
            (Self::Is(Answer::Number(want)), Answer::Numbers(got)) => got.as_slice() == std::slice::from_ref(want),
            // A single date is a list of one.
            (Self::Is(want), got) => want == got,
            (Self::Text(want), got) => *want == got.to_string(),
            (Self::NoValue, _) => false,
        }
    }

    /// Whether the answer is the value of a known mistake, in whichever form it is written.
    #[must_use]
    pub fn is_shown(&self, answer: &Answer) -> bool {
        self.is_met(answer)
    }
}

/// Whether a number is the wanted one: the same, or its rounding to twelve places where it has no finite decimal.
fn is_same(want: &Q, got: &Q) -> bool {
    want == got || (finite_places(got).is_none() && round_places(got, 12, RoundMode::HalfEven) == *want)
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Is(answer) => answer.fmt(f),
            Self::NoValue => f.write_str("no value"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expected_answers_meet_what_they_say() {
        let third = Answer::Number(number("20/3").unwrap());
        let none = Answer::None(NoValue::new(Why::ZeroAccepted, "image"));
        for (text, answer, want) in [
            ("20/3", &third, true),
            ("6.666666666667", &third, true),
            ("6.66666666667", &third, false),
            ("6.6", &third, false),
            ("no value", &none, true),
            ("no value: zero_accepted", &none, true),
            ("no value: overlap", &none, false),
            ("0", &none, false),
            ("Infinity", &none, false),
            ("yes", &Answer::Yes(true), true),
            ("431.5", &Answer::Numbers(vec![number("431.5").unwrap()]), true),
            ("1 to 2", &Answer::Span(number("1").unwrap(), number("2").unwrap()), true),
            ("2027-02-28", &Answer::Dates(vec![NaiveDate::from_ymd_opt(2027, 2, 28).unwrap()]), true),
            ("api", &Answer::Name("api".into()), true),
        ] {
            assert_eq!(Wanted::parse(text).unwrap().is_met(answer), want, "{text}");
        }
        assert!(Wanted::parse("no value: never").is_err());
    }
}
