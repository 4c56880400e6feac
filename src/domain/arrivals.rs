//! Every *intended* send time of a rate-driven step, laid out before the run from rate, shape and seed.

use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};

use super::load::{Arrivals, StagePlan, Until};

/// The most requests one step may hold; a plan beyond it is refused.
pub const MAX_REQUESTS: u32 = 5_000_000;

/// Offsets from the start of the step, s, in ascending order. Empty for concurrency-driven steps: there the server's
/// answers decide, and for a rate that is not positive.
///
/// Constant: the first request at once, then one every `1 / rate`. Poisson: independent exponential distances with that
/// mean, from the start on. Two steps of one run differ, since `step_idx` is part of the seed.
#[must_use]
pub fn lay_out(arrivals: Arrivals, stage: StagePlan, seed: u64, step_idx: usize) -> Vec<f64> {
    let rate = stage.level;
    if arrivals == Arrivals::Concurrency || !(rate.is_finite() && rate > 0.0) {
        return Vec::new();
    }
    let (n_most, until_secs) = match stage.until {
        Until::Requests(n) => (n.min(MAX_REQUESTS), f64::INFINITY),
        Until::Secs(secs) => (MAX_REQUESTS, secs),
    };
    let mut rng = rng(seed, step_idx as u64, 0);
    let mut at = 0.0;
    let mut times = Vec::new();
    for idx in 0..n_most {
        at = match arrivals {
            Arrivals::Poisson => at + exponential(&mut rng) / rate,
            Arrivals::Constant | Arrivals::Concurrency => f64::from(idx) / rate,
        };
        if at >= until_secs {
            break;
        }
        times.push(at);
    }
    times
}

/// A generator for one purpose: the run's seed, the step and a stream within it. The same arguments give the same
/// numbers on every machine.
#[must_use]
pub fn rng(seed: u64, step: u64, stream: u64) -> ChaCha8Rng {
    let mut key = [0_u8; 32];
    for (slot, byte) in key
        .iter_mut()
        .zip(seed.to_le_bytes().into_iter().chain(step.to_le_bytes()).chain(stream.to_le_bytes()).chain(*b"arrivals"))
    {
        *slot = byte;
    }
    ChaCha8Rng::from_seed(key)
}

/// One draw of the exponential distribution with mean 1, never infinite.
fn exponential(rng: &mut ChaCha8Rng) -> f64 {
    // 53 random bits: (0, 1], so that the logarithm is finite.
    #[allow(clippy::cast_precision_loss, reason = "53 bits fit exactly")]
    let uniform = ((rng.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
    -uniform.ln()
}

#[cfg(test)]
#[allow(clippy::cast_precision_loss, reason = "sample counts are small")]
mod tests {
    use super::*;

    fn stage(level: f64, until: Until) -> StagePlan {
        StagePlan { level, until }
    }

    #[test]
    fn constant_arrivals_stand_at_equal_distances() {
        let times = lay_out(Arrivals::Constant, stage(4.0, Until::Requests(4)), 7, 0);
        assert_eq!(times, [0.0, 0.25, 0.5, 0.75]);
        assert_eq!(lay_out(Arrivals::Constant, stage(4.0, Until::Secs(1.0)), 7, 0).len(), 4);
        assert!(lay_out(Arrivals::Concurrency, stage(4.0, Until::Requests(4)), 7, 0).is_empty());
        for level in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(lay_out(Arrivals::Poisson, stage(level, Until::Secs(1.0)), 7, 0).is_empty(), "{level}");
        }
    }

    #[test]
    fn poisson_arrivals_have_exponential_distances() {
        let times = lay_out(Arrivals::Poisson, stage(50.0, Until::Requests(20_000)), 7, 0);
        let gaps: Vec<f64> = std::iter::once(times[0]).chain(times.windows(2).map(|pair| pair[1] - pair[0])).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean * 50.0 - 1.0).abs() < 0.03, "{mean}");
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.05, "an exponential's deviation is its mean");
        let beyond = gaps.iter().filter(|gap| **gap > mean).count() as f64 / gaps.len() as f64;
        assert!((beyond - (-1.0_f64).exp()).abs() < 0.02, "{beyond}");
    }

    #[test]
    fn a_seed_gives_the_same_times_and_a_step_others() {
        let stage = stage(5.0, Until::Secs(20.0));
        let times = lay_out(Arrivals::Poisson, stage, 7, 0);
        assert_eq!(times, lay_out(Arrivals::Poisson, stage, 7, 0));
        assert_ne!(times, lay_out(Arrivals::Poisson, stage, 7, 1));
        assert_ne!(times, lay_out(Arrivals::Poisson, stage, 8, 0));
        assert!(times.windows(2).all(|pair| pair[0] <= pair[1]) && times.last().unwrap() < &20.0);
    }
}
