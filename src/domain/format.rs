//! How numbers are written, the same in both languages. Rounding is half-even and happens here, once.

/// Comma thousands in the whole part of a plain decimal ("6832800.5" → "6,832,800.5"). The minus becomes U+2212.
#[must_use]
pub fn group_thousands(plain: &str) -> String {
    let (sign, rest) = plain.strip_prefix('-').map_or(("", plain), |rest| ("−", rest));
    let (whole, fraction) = rest.split_once('.').map_or((rest, None), |(whole, fraction)| (whole, Some(fraction)));
    let mut grouped = String::with_capacity(whole.len() + whole.len() / 3 + 1);
    for (idx, digit) in whole.chars().enumerate() {
        if idx > 0 && (whole.len() - idx).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    match fraction {
        Some(fraction) => format!("{sign}{grouped}.{fraction}"),
        None => format!("{sign}{grouped}"),
    }
}

/// A count with comma thousands.
#[must_use]
pub fn count(n: u64) -> String {
    group_thousands(&n.to_string())
}

/// A number with a fixed number of decimals and comma thousands. Not a number reads "?".
#[must_use]
pub fn fixed(value: f64, places: usize) -> String {
    if value.is_finite() { group_thousands(&format!("{value:.places$}")) } else { "?".to_owned() }
}

/// A number with the decimals its size deserves: 3 significant digits below 100, none above ("9.86", "11.6", "388").
#[must_use]
pub fn short(value: f64) -> String {
    let size = value.abs();
    fixed(
        value,
        if size >= 100.0 || size == 0.0 {
            0
        } else if size >= 10.0 {
            1
        } else {
            2
        },
    )
}

/// A latency: ms below one second ("388 ms"), seconds above ("6.52 s").
#[must_use]
pub fn latency(secs: f64) -> String {
    if secs < 1.0 { format!("{} ms", short(secs * 1e3)) } else { format!("{} s", short(secs)) }
}

/// Elapsed time as mm:ss, or h:mm:ss from one hour on.
#[must_use]
pub fn clock(secs: f64) -> String {
    // A run of more than 2^53 seconds does not happen; saturating is fine.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped to 0.. and float casts saturate"
    )]
    let total = secs.max(0.0) as u64;
    let (hours, minutes, seconds) = (total / 3600, total / 60 % 60, total % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}

/// Binary bytes as GiB ("28.0 GiB") or MiB below one GiB.
#[must_use]
pub fn bytes_binary(bytes: f64) -> String {
    const GIB: f64 = 1_073_741_824.0;
    if bytes.abs() < GIB {
        format!("{} MiB", fixed(bytes / 1_048_576.0, 0))
    } else {
        format!("{} GiB", fixed(bytes / GIB, 1))
    }
}

/// Decimal bytes as sold ("500 GB", "2 TB").
#[must_use]
pub fn bytes_decimal(bytes: u64) -> String {
    if bytes >= 1_000_000_000_000 && bytes.is_multiple_of(1_000_000_000_000) {
        format!("{} TB", count(bytes / 1_000_000_000_000))
    } else {
        // Exact below 2^53 bytes; what is sold is far smaller.
        #[allow(clippy::cast_precision_loss, reason = "sizes that are sold are below 2^53")]
        let gb = bytes as f64 / 1e9;
        let places = usize::from(gb.fract() != 0.0);
        format!("{} GB", fixed(gb, places))
    }
}

/// Decimal bytes as measured ("1.92 TB", "274.9 GB", "64 MB").
#[must_use]
pub fn bytes_measured(bytes: f64) -> String {
    let tenths = |value: f64| {
        let shown = fixed(value, 1);
        shown.strip_suffix(".0").map_or(shown.clone(), str::to_owned)
    };
    match bytes.abs() {
        size if size >= 1e12 => format!("{} TB", fixed(bytes / 1e12, 2)),
        size if size >= 1e9 => format!("{} GB", tenths(bytes / 1e9)),
        _ => format!("{} MB", tenths(bytes / 1e6)),
    }
}

/// A share as per cent with a narrow no-break space ("97.88 %").
#[must_use]
pub fn percent(share: f64, places: usize) -> String {
    format!("{}\u{202f}%", fixed(share * 100.0, places))
}

/// A date and time with its zone ("2026-12-03 14:18 +08:00").
#[must_use]
pub fn moment(at: &chrono::DateTime<chrono::FixedOffset>) -> String {
    at.format("%Y-%m-%d %H:%M %:z").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_the_guide_says() {
        assert_eq!(count(6_832_800), "6,832,800");
        assert_eq!(group_thousands("-1234.5"), "−1,234.5");
        assert_eq!(latency(0.388), "388 ms");
        assert_eq!(latency(6.52), "6.52 s");
        assert_eq!(clock(192.4), "3:12");
        assert_eq!(bytes_binary(28.0 * 1_073_741_824.0), "28.0 GiB");
        assert_eq!(bytes_decimal(500_000_000_000), "500 GB");
        assert_eq!(percent(0.9788, 2), "97.88\u{202f}%");
        assert_eq!(short(f64::NAN), "?");
    }
}
