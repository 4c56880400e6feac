//! 95 % intervals of shares and percentiles, without any assumption about the distribution.

/// 97.5 % point of the standard normal distribution: half of a 95 % interval.
const Z: f64 = 1.959_963_984_540_054;

/// Wilson's 95 % interval of a share of `hits` in `n`; `None` when `n` is zero.
///
/// Unlike the textbook interval it stays inside 0..1 and has a width at 0 and at 1.
#[must_use]
pub fn wilson(hits: u64, n: u64) -> Option<(f64, f64)> {
    if n == 0 {
        return None;
    }
    let (n, share) = (as_f64(n), as_f64(hits.min(n)) / as_f64(n));
    let shrink = 1.0 + Z * Z / n;
    let middle = (share + Z * Z / (2.0 * n)) / shrink;
    let half = Z / shrink * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    Some(((middle - half).max(0.0), (middle + half).min(1.0)))
}

/// 95 % interval of a percentile by order statistics: the number of samples below the true percentile is binomial, so
/// two of the sorted samples enclose it. `q` is 0..1, `sorted` ascends.
///
/// Ranks come from the normal approximation of the binomial, rounded outwards. `None` when there is no sample, or when
/// a rank would lie outside the samples: then the data cannot bound the percentile on that side.
#[must_use]
pub fn percentile(sorted: &[f64], q: f64) -> Option<(f64, f64)> {
    let n = as_f64(u64::try_from(sorted.len()).ok()?);
    let (middle, half) = (n * q, Z * (n * q * (1.0 - q)).sqrt());
    let low = (middle - half).floor();
    let high = (middle + half).ceil() + 1.0;
    // Ranks count from one.
    if low < 1.0 || high > n {
        return None;
    }
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to lie in 1..=n just above")]
    let (low, high) = (low as usize, high as usize);
    Some((*sorted.get(low - 1)?, *sorted.get(high - 1)?))
}

#[allow(clippy::cast_precision_loss, reason = "counts of samples are far below 2^53")]
const fn as_f64(n: u64) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wilson_agrees_with_published_values() {
        // 1 of 10 and 0 of 10 as in Newcombe 1998 and Brown, Cai, DasGupta 2001; 7,047 of 7,200 by hand.
        for (hits, n, low, high) in
            [(1, 10, 0.0179, 0.4042), (0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (7_047, 7_200, 0.9752, 0.9818)]
        {
            let (got_low, got_high) = wilson(hits, n).unwrap();
            assert!((got_low - low).abs() < 5e-5, "{hits} of {n}: {got_low}");
            assert!((got_high - high).abs() < 5e-5, "{hits} of {n}: {got_high}");
        }
        assert_eq!(wilson(0, 0), None);
    }

    #[test]
    fn a_percentile_is_enclosed_by_two_samples() {
        let samples: Vec<f64> = (1..=1000).map(f64::from).collect();
        // 950 ± 1.96·√47.5 = 936.5..963.5: ranks 936 and 965.
        assert_eq!(percentile(&samples, 0.95), Some((936.0, 965.0)));
        // 190 ± 6.04: ranks 183 and 198.
        assert_eq!(percentile(samples.get(..200).unwrap(), 0.95), Some((183.0, 198.0)));
        assert_eq!(percentile(samples.get(..60).unwrap(), 0.95), None, "no sample lies high enough");
        assert_eq!(percentile(&[], 0.5), None);
    }
}
