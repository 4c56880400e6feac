//! Percentiles and short summaries. One definition each, the same on screen and in reports.

use super::curve::Summary;
use super::interval;

/// The percentile `q` (0..1) of values in ascending order: linear between ranks, type 7, numpy's default.
///
/// `None` without values. The minimum of samples is not checked here; see [`min_samples`].
#[must_use]
pub fn percentile(sorted: &[f64], q: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    #[allow(clippy::cast_precision_loss, reason = "sample counts are far below 2^53")]
    let rank = q.clamp(0.0, 1.0) * last as f64;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 <= rank <= len")]
    let below = rank.floor() as usize;
    let low = *sorted.get(below)?;
    let high = sorted.get(below + 1).copied().unwrap_or(low);
    Some(low + (high - low) * rank.fract())
}

/// How many samples a percentile needs before it is shown: ten beyond it (p50 20, p95 200, p99 1,000).
#[must_use]
pub fn min_samples(q: f64) -> u64 {
    let tail = q.min(1.0 - q).max(1e-9);
    // The subtraction keeps 10 / 0.05 = 200.00000000000017 from becoming 201.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive, and float casts saturate")]
    let needed = (10.0 / tail - 1e-6).ceil() as u64;
    needed
}

/// A distribution in short. Sorts `values`. `None` without values; a percentile below its minimum of samples is `None`.
#[must_use]
pub fn summary(values: &mut [f64]) -> Option<Summary> {
    if values.is_empty() {
        return None;
    }
    values.sort_unstable_by(f64::total_cmp);
    let n = values.len() as u64;
    let at = |q: f64| if n >= min_samples(q) { percentile(values, q) } else { None };
    let p95 = at(0.95);
    let p95_interval = p95.and_then(|_| interval::percentile(values, 0.95));
    Some(Summary { n, mean: mean(values)?, p50: at(0.5), p95, p95_interval, p99: at(0.99) })
}

/// Arithmetic mean; `None` without values.
#[must_use]
pub fn mean(values: &[f64]) -> Option<f64> {
    #[allow(clippy::cast_precision_loss, reason = "sample counts are far below 2^53")]
    let n = values.len() as f64;
    (n > 0.0).then(|| values.iter().sum::<f64>() / n)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(got: f64, want: f64) -> bool {
        (got - want).abs() < 1e-9 * want.abs().max(1.0)
    }

    #[test]
    fn percentiles_are_numpys() {
        // numpy.percentile([1, 2, 4, 8, 16], …)
        let values = [1.0, 2.0, 4.0, 8.0, 16.0];
        for (q, want) in [(0.0, 1.0), (0.5, 4.0), (0.95, 14.4), (0.99, 15.68), (1.0, 16.0), (0.1, 1.4)] {
            assert!(close(percentile(&values, q).unwrap(), want), "{q}");
        }
        assert_eq!(percentile(&[], 0.5), None);
        assert_eq!(percentile(&[7.0], 0.99), Some(7.0));
    }

    #[test]
    fn a_percentile_needs_ten_samples_beyond_it() {
        assert_eq!([min_samples(0.5), min_samples(0.95), min_samples(0.99)], [20, 200, 1000]);
        for (n, shown) in [
            (0, None),
            (1, Some([false, false, false])),
            (19, Some([false, false, false])),
            (20, Some([true, false, false])),
            (199, Some([true, false, false])),
            (200, Some([true, true, false])),
            (999, Some([true, true, false])),
            (1000, Some([true, true, true])),
        ] {
            let mut values: Vec<f64> = (0..n).map(f64::from).rev().collect();
            let got = summary(&mut values).map(|s| [s.p50.is_some(), s.p95.is_some(), s.p99.is_some()]);
            assert_eq!(got, shown, "{n}");
        }
    }
}
