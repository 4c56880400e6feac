//! Decimals of any length, exact: what a cell of a bill says, and sums of it.

use std::cmp::Ordering;
use std::fmt;

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{ToPrimitive as _, Zero as _};

/// Digits behind the point, or zeros before it by an exponent, beyond which a text is no amount.
const MAX_SCALE: i64 = 400;
/// Characters beyond which a text is no amount.
const MAX_CHARS: usize = 500;

/// An exact decimal: whole number ÷ 10^scale. Keeps the digits behind the point that were written, as an invoice does:
/// the sum of 1.50 and 2.5 is 4.00.
#[derive(Debug, Clone)]
pub struct ExactDecimal {
    mantissa: Mantissa,
    scale: u32,
}

/// Nearly every number of a bill fits the small form; the large one is for the rest.
#[derive(Debug, Clone)]
enum Mantissa {
    Small(i128),
    Large(BigInt),
}

impl Default for ExactDecimal {
    fn default() -> Self {
        Self::ZERO
    }
}

impl From<i64> for ExactDecimal {
    fn from(value: i64) -> Self {
        Self { mantissa: Mantissa::Small(i128::from(value)), scale: 0 }
    }
}

/// 10^n where that fits.
fn small_power(n: u32) -> Option<i128> {
    10_i128.checked_pow(n)
}

fn power(n: u32) -> BigInt {
    BigInt::from(10).pow(n)
}

impl Mantissa {
    fn to_big(&self) -> BigInt {
        match self {
            Self::Small(value) => BigInt::from(*value),
            Self::Large(value) => value.clone(),
        }
    }

    fn of_big(value: BigInt) -> Self {
        value.to_i128().map_or(Self::Large(value), Self::Small)
    }

    fn times_power(&self, n: u32) -> Self {
        if let Self::Small(value) = self
            && let Some(scaled) = small_power(n).and_then(|factor| value.checked_mul(factor))
        {
            return Self::Small(scaled);
        }
        Self::of_big(self.to_big() * power(n))
    }

    fn plus(&self, other: &Self) -> Self {
        if let (Self::Small(a), Self::Small(b)) = (self, other)
            && let Some(sum) = a.checked_add(*b)
        {
            return Self::Small(sum);
        }
        Self::of_big(self.to_big() + other.to_big())
    }

    fn times(&self, other: &Self) -> Self {
        if let (Self::Small(a), Self::Small(b)) = (self, other)
            && let Some(product) = a.checked_mul(*b)
        {
            return Self::Small(product);
        }
        Self::of_big(self.to_big() * other.to_big())
    }

    fn is_zero(&self) -> bool {
        match self {
            Self::Small(value) => *value == 0,
            Self::Large(value) => value.is_zero(),
        }
    }

    fn is_negative(&self) -> bool {
        match self {
            Self::Small(value) => *value < 0,
            Self::Large(value) => value.sign() == num_bigint::Sign::Minus,
        }
    }
}

impl ExactDecimal {
    /// Nothing, without digits behind the point.
    pub const ZERO: Self = Self { mantissa: Mantissa::Small(0), scale: 0 };

    /// Reads digits with at most one point, an optional sign and an optional exponent: "-12", "0.50", "2.32E-9".
    ///
    /// `None` for anything else, and for numbers of more than 400 places or 500 characters.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        if text.len() > MAX_CHARS {
            return None;
        }
        let (digits, exponent) = match text.find(['e', 'E']) {
            Some(at) => (text.get(..at)?, exponent(text.get(at + 1..)?)?),
            None => (text, 0),
        };
        let (negative, digits) = match digits.as_bytes().first()? {
            b'-' => (true, digits.get(1..)?),
            b'+' => (false, digits.get(1..)?),
            _ => (false, digits),
        };
        let mut small = Some(0_i128);
        let (mut n_digits, mut scale, mut behind_point) = (0_usize, 0_i64, false);
        for byte in digits.bytes() {
            match byte {
                b'0'..=b'9' => {
                    n_digits += 1;
                    scale += i64::from(behind_point);
                    let digit = i128::from(byte - b'0');
                    small = small.and_then(|value| value.checked_mul(10)).and_then(|value| value.checked_add(digit));
                }
                b'.' if !behind_point => behind_point = true,
                _ => return None,
            }
        }
        if n_digits == 0 {
            return None;
        }
        let mantissa = match small {
            Some(value) => Mantissa::Small(if negative { -value } else { value }),
            None => {
                let whole: String = digits.chars().filter(|c| *c != '.').collect();
                let value: BigInt = whole.parse().ok()?;
                Mantissa::of_big(if negative { -value } else { value })
            }
        };
        let scale = scale - exponent;
        if !(-MAX_SCALE..=MAX_SCALE).contains(&scale) {
            return None;
        }
        Some(match u32::try_from(scale) {
            Ok(scale) => Self { mantissa, scale },
            Err(_before_the_point) => {
                let zeros = u32::try_from(-scale).ok()?;
                Self { mantissa: mantissa.times_power(zeros), scale: 0 }
            }
        })
    }

    /// Digits behind the point, as written.
    #[must_use]
    pub const fn scale(&self) -> u32 {
        self.scale
    }

    /// Whether it is nothing.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.mantissa.is_zero()
    }

    /// Whether it is below zero.
    #[must_use]
    pub fn is_negative(&self) -> bool {
        self.mantissa.is_negative()
    }

    /// Whether nothing but zeros stands behind the point.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        match &self.mantissa {
            _ if self.scale == 0 => true,
            Mantissa::Small(value) => small_power(self.scale).map_or(*value == 0, |factor| value % factor == 0),
            Mantissa::Large(value) => (value % power(self.scale)).is_zero(),
        }
    }

    /// Adds another to this one.
    pub fn add(&mut self, other: &Self) {
        match self.scale.cmp(&other.scale) {
            Ordering::Equal => self.mantissa = self.mantissa.plus(&other.mantissa),
            Ordering::Less => {
                self.mantissa = self.mantissa.times_power(other.scale - self.scale).plus(&other.mantissa);
                self.scale = other.scale;
            }
            Ordering::Greater => {
                self.mantissa = self.mantissa.plus(&other.mantissa.times_power(self.scale - other.scale));
            }
        }
    }

    /// This one less another.
    #[must_use]
    pub fn minus(&self, other: &Self) -> Self {
        let mut difference = other.negated();
        difference.add(self);
        difference
    }

    /// The other sign.
    #[must_use]
    pub fn negated(&self) -> Self {
        let mantissa = match &self.mantissa {
            Mantissa::Small(value) => {
                value.checked_neg().map_or_else(|| Mantissa::Large(-BigInt::from(*value)), Mantissa::Small)
            }
            Mantissa::Large(value) => Mantissa::of_big(-value),
        };
        Self { mantissa, scale: self.scale }
    }

    /// Without its sign.
    #[must_use]
    pub fn absolute(&self) -> Self {
        if self.is_negative() { self.negated() } else { self.clone() }
    }

    /// The exact product.
    #[must_use]
    pub fn times(&self, other: &Self) -> Self {
        Self { mantissa: self.mantissa.times(&other.mantissa), scale: self.scale.saturating_add(other.scale) }
    }

    /// One unit of the last digit that was written: 0.01 for "2.50".
    #[must_use]
    pub const fn last_digit(&self) -> Self {
        Self { mantissa: Mantissa::Small(1), scale: self.scale }
    }

    /// How often `other` goes into this one, where that is a whole number above one.
    #[must_use]
    pub fn whole_multiple_of(&self, other: &Self) -> Option<BigInt> {
        if other.is_zero() {
            return None;
        }
        let ratio = self.to_ratio() / other.to_ratio();
        (ratio.is_integer() && ratio.to_integer() > BigInt::from(1)).then(|| ratio.to_integer())
    }

    /// As an exact fraction.
    #[must_use]
    pub fn to_ratio(&self) -> BigRational {
        BigRational::new(self.mantissa.to_big(), power(self.scale))
    }

    /// Without zeros at the end of what stands behind the point.
    #[must_use]
    pub fn trimmed(&self) -> String {
        let text = self.to_string();
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
    }
}

/// The exponent behind an E, within what a number may have.
fn exponent(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || digits.len() > 6 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    text.strip_prefix('+').unwrap_or(text).parse().ok()
}

impl PartialEq for ExactDecimal {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for ExactDecimal {}

impl PartialOrd for ExactDecimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ExactDecimal {
    /// By value: 1.50 equals 1.5.
    fn cmp(&self, other: &Self) -> Ordering {
        if let (Mantissa::Small(a), Mantissa::Small(b)) = (&self.mantissa, &other.mantissa)
            && self.scale == other.scale
        {
            return a.cmp(b);
        }
        let difference = self.minus(other);
        if difference.is_zero() {
            Ordering::Equal
        } else if difference.is_negative() {
            Ordering::Less
        } else {
            Ordering::Greater
        }
    }
}

impl fmt::Display for ExactDecimal {
    /// All digits, without exponent, with as many behind the point as the longest addend had.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = match &self.mantissa {
            Mantissa::Small(value) => value.unsigned_abs().to_string(),
            Mantissa::Large(value) => value.magnitude().to_string(),
        };
        if self.is_negative() {
            f.write_str("-")?;
        }
        let places = usize::try_from(self.scale).unwrap_or(0);
        if places == 0 {
            return f.write_str(&digits);
        }
        let padded = format!("{digits:0>width$}", width = places + 1);
        let (whole, fraction) = padded.split_at(padded.len() - places);
        write!(f, "{whole}.{fraction}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> ExactDecimal {
        ExactDecimal::read(text).unwrap()
    }

    #[test]
    fn reads_what_is_a_number_and_nothing_else() {
        for (text, want) in [
            ("12", Some("12")),
            ("-0.50", Some("-0.50")),
            ("+3", Some("3")),
            (".5", Some("0.5")),
            ("5.", Some("5")),
            ("2.323760000E-9", Some("0.000000002323760000")),
            ("5.64902E-05", Some("0.0000564902")),
            ("1e3", Some("1000")),
            ("1.5E+3", Some("1500")),
            ("0E-3", Some("0.000")),
            ("-0.00", Some("0.00")),
            ("123456789012345678901234567890123456789.5", Some("123456789012345678901234567890123456789.5")),
            ("", None),
            ("-", None),
            (".", None),
            ("1.2.3", None),
            ("1,5", None),
            ("1e", None),
            ("1e999999", None),
            ("1e9999999999", None),
            ("0x10", None),
            (" 1", None),
            ("NaN", None),
            ("inf", None),
        ] {
            assert_eq!(ExactDecimal::read(text).map(|value| value.to_string()), want.map(str::to_owned), "{text}");
        }
        assert!(ExactDecimal::read(&"9".repeat(501)).is_none());
    }

    #[test]
    fn sums_keep_every_digit_past_what_a_machine_word_holds() {
        let mut sum = ExactDecimal::ZERO;
        for text in ["99999999999999999999999999999999999999", "0.1", "-0.000000000000000000000000000001", "1"] {
            sum.add(&number(text));
        }
        assert_eq!(sum.to_string(), "100000000000000000000000000000000000000.099999999999999999999999999999");
        for _ in 0..10 {
            sum.add(&number("0.10"));
        }
        assert_eq!(
            sum.minus(&number("100000000000000000000000000000000000001")).trimmed(),
            "0.099999999999999999999999999999"
        );
    }

    #[test]
    fn products_comparisons_and_multiples_are_exact() {
        assert_eq!(number("0.05").times(&number("0.0003")), number("0.000015"));
        assert_eq!(number("1.50"), number("1.5"));
        assert!(number("-2") < number("0.1"));
        assert!(number("2.000").is_whole() && !number("2.001").is_whole() && number("0.00").is_whole());
        assert_eq!(number("0.0003").whole_multiple_of(&number("0.00000003")), Some(10_000.into()));
        assert_eq!(number("0.5").whole_multiple_of(&number("0.3")), None);
        let big = number("170141183460469231731687303715884105727");
        assert_eq!(big.times(&number("10")).to_string(), "1701411834604692317316873037158841057270");
        assert_eq!(
            number("-170141183460469231731687303715884105728").negated().to_string(),
            "170141183460469231731687303715884105728"
        );
    }
}
