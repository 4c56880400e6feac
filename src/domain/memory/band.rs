//! A figure with the interval it deserves.

use serde::{Deserialize, Serialize};

/// A figure with the interval it deserves: bytes, or a count. `low <= value <= high`, none below zero unless it is a
/// difference.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Band {
    /// The best single answer.
    pub value: f64,
    /// The least it may be.
    pub low: f64,
    /// The most it may be.
    pub high: f64,
}

impl Band {
    /// Nothing at all, known exactly.
    pub const ZERO: Self = Self { value: 0.0, low: 0.0, high: 0.0 };

    /// A value known exactly.
    #[must_use]
    pub const fn exact(value: f64) -> Self {
        Self { value, low: value, high: value }
    }

    /// A value within bounds; bounds given the wrong way round, or on the wrong side of the value, are moved to it.
    #[must_use]
    pub fn new(value: f64, low: f64, high: f64) -> Self {
        Self { value, low: low.min(value), high: high.max(value) }
    }

    /// A value that may be this much less and more.
    #[must_use]
    pub fn within(value: f64, less: f64, more: f64) -> Self {
        Self::new(value, value - less.abs(), value + more.abs())
    }

    /// The band with value and bounds in another unit; `factor` is not negative.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        Self { value: self.value * factor, low: self.low * factor, high: self.high * factor }
    }

    /// The same with no part below zero.
    #[must_use]
    pub const fn not_negative(self) -> Self {
        Self { value: self.value.max(0.0), low: self.low.max(0.0), high: self.high.max(0.0) }
    }

    /// Whether a number lies within the bounds.
    #[must_use]
    pub fn holds(&self, number: f64) -> bool {
        (self.low..=self.high).contains(&number)
    }
}

impl std::ops::Add for Band {
    type Output = Self;

    /// Bounds add up: parts may all be off the same way.
    fn add(self, other: Self) -> Self {
        Self { value: self.value + other.value, low: self.low + other.low, high: self.high + other.high }
    }
}

impl std::ops::Sub for Band {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self { value: self.value - other.value, low: self.low - other.high, high: self.high - other.low }
    }
}

impl std::iter::Sum for Band {
    fn sum<I: Iterator<Item = Self>>(bands: I) -> Self {
        bands.fold(Self::ZERO, |sum, band| sum + band)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_never_cross_the_value() {
        for (name, band, want) in [
            ("wrong way round", Band::new(5.0, 7.0, 3.0), Band { value: 5.0, low: 5.0, high: 5.0 }),
            ("within", Band::within(5.0, 1.0, 2.0), Band { value: 5.0, low: 4.0, high: 7.0 }),
            ("less of more", Band::exact(9.0) - Band::within(5.0, 1.0, 2.0), Band { value: 4.0, low: 2.0, high: 5.0 }),
        ] {
            assert_eq!(band, want, "{name}");
        }
    }
}
