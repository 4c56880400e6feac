//! Quantities that carry their unit in their type.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A size in bytes. GB is 10⁹, GiB is 2³⁰; what is shown says which.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bytes(pub u64);

impl Bytes {
    /// Whole gibibytes (2³⁰).
    #[must_use]
    pub const fn gib(n: u64) -> Self {
        Self(n << 30)
    }

    /// Whole mebibytes (2²⁰).
    #[must_use]
    pub const fn mib(n: u64) -> Self {
        Self(n << 20)
    }

    /// Whole gigabytes (10⁹).
    #[must_use]
    pub const fn gb(n: u64) -> Self {
        Self(n * 1_000_000_000)
    }

    /// As a float, for models and plots.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "sizes of machines are far below 2^53 bytes")]
    pub fn as_f64(self) -> f64 {
        self.0 as f64
    }
}

/// How memory of a GPU was promised: binary as the driver counts, or decimal as vendors sell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SizeUnit {
    /// 2³⁰ bytes.
    GiB,
    /// 10⁹ bytes.
    GB,
}

impl fmt::Display for SizeUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::GiB => "GiB",
            Self::GB => "GB",
        })
    }
}

/// A size as somebody stated it: a number and the unit it was stated in.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StatedSize {
    /// The number as stated; positive and finite.
    pub number: f64,
    /// The unit as stated.
    pub unit: SizeUnit,
}

impl StatedSize {
    /// The size in bytes.
    #[must_use]
    pub fn bytes(self) -> f64 {
        self.number
            * match self.unit {
                SizeUnit::GiB => 1_073_741_824.0,
                SizeUnit::GB => 1e9,
            }
    }
}

/// A text that is no size.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not a size")]
pub struct NotASize(pub String);

impl std::str::FromStr for StatedSize {
    type Err = NotASize;

    /// Reads "80 GB", "80GiB", "2 TB" (as 2000 GB), "1,024 GiB". A bare number is GB, as vendors sell.
    fn from_str(text: &str) -> Result<Self, NotASize> {
        let wrong = || NotASize(text.to_owned());
        let split = text.find(|c: char| c.is_alphabetic()).unwrap_or(text.len());
        let (number, unit) = text.split_at(split);
        let digits: String = number.chars().filter(|c| !matches!(c, ',' | ' ')).collect();
        let number: f64 = digits.parse().ok().filter(|n: &f64| n.is_finite() && *n > 0.0).ok_or_else(wrong)?;
        let (number, unit) = match unit.trim().to_ascii_lowercase().as_str() {
            "" | "gb" => (number, SizeUnit::GB),
            "gib" => (number, SizeUnit::GiB),
            // Rounded, or 30.7 TB would be 30699.999999999996 GB.
            "tb" => ((number * 1e6).round() / 1e3, SizeUnit::GB),
            "tib" => (number * 1024.0, SizeUnit::GiB),
            _ => return Err(wrong()),
        };
        Ok(Self { number, unit })
    }
}

impl fmt::Display for StatedSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.number, self.unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        let gb = |number| Ok(StatedSize { number, unit: SizeUnit::GB });
        let gib = |number| Ok(StatedSize { number, unit: SizeUnit::GiB });
        for (text, want) in [
            ("80 GB", gb(80.0)),
            ("80", gb(80.0)),
            ("80gib", gib(80.0)),
            ("1,024 GiB", gib(1024.0)),
            ("30.7 TB", gb(30_700.0)),
            ("2 TiB", gib(2048.0)),
            ("0 GB", Err(NotASize("0 GB".into()))),
            ("-1 GB", Err(NotASize("-1 GB".into()))),
            ("80 MB", Err(NotASize("80 MB".into()))),
            ("big", Err(NotASize("big".into()))),
            ("", Err(NotASize(String::new()))),
        ] {
            assert_eq!(text.parse::<StatedSize>(), want, "{text}");
        }
    }
}
