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

impl fmt::Display for StatedSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.number, self.unit)
    }
}
