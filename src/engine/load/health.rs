//! How the client itself fares: CPU time, memory, and short distributions of its own lateness.

/// Counts values in bins of 50 µs up to half a second: enough to judge a limit of milliseconds, and never more memory
/// than this, however long a run is.
#[derive(Debug, Clone)]
pub(super) struct Histogram {
    bins: Vec<u32>,
    n: u64,
    /// The largest value, µs.
    max_us: u32,
}

const BIN_US: u32 = 50;
const BINS: usize = 10_000;

impl Default for Histogram {
    fn default() -> Self {
        Self { bins: vec![0; BINS], n: 0, max_us: 0 }
    }
}

impl Histogram {
    pub(super) fn add(&mut self, micros: u32) {
        let bin = usize::try_from(micros / BIN_US).unwrap_or(BINS).min(BINS - 1);
        if let Some(count) = self.bins.get_mut(bin) {
            *count = count.saturating_add(1);
        }
        self.n += 1;
        self.max_us = self.max_us.max(micros);
    }

    /// The 99th percentile in ms, to the upper edge of its bin; the largest value below 100 samples. `None` without any.
    pub(super) fn p99_ms(&self) -> Option<f64> {
        if self.n == 0 {
            return None;
        }
        // The rank from above: how many samples lie beyond it.
        let beyond = self.n / 100;
        let mut above = 0_u64;
        let mut bin = BINS;
        for (idx, count) in self.bins.iter().enumerate().rev() {
            above += u64::from(*count);
            if above > beyond {
                bin = idx;
                break;
            }
        }
        let edge_us = if bin + 1 >= BINS {
            self.max_us
        } else {
            (u32::try_from(bin).unwrap_or(u32::MAX).saturating_add(1)).saturating_mul(BIN_US).min(self.max_us)
        };
        Some(f64::from(edge_us) / 1e3)
    }
}

/// CPU time of the calling thread, s; `None` where the system does not tell.
#[cfg(unix)]
pub(super) fn thread_cpu_secs() -> Option<f64> {
    use rustix::time::{ClockId, clock_gettime};
    let time = clock_gettime(ClockId::ThreadCPUTime);
    #[allow(clippy::cast_precision_loss, reason = "seconds of CPU time are far below 2^53")]
    let secs = time.tv_sec as f64;
    #[allow(clippy::cast_precision_loss, reason = "nanoseconds below one second fit exactly")]
    let nanos = time.tv_nsec as f64;
    Some(secs + nanos * 1e-9)
}

/// CPU time of the calling thread, s; `None` where the system does not tell.
#[cfg(not(unix))]
pub(super) fn thread_cpu_secs() -> Option<f64> {
    None
}

/// Resident memory of this program, MiB; `None` where the system does not tell.
pub(super) fn rss_mib() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib / 1024.0)
}

/// Whole microseconds; negative counts as zero, and more than an hour as that.
pub(super) fn micros(secs: f64) -> u32 {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to what fits")]
    let micros = (secs * 1e6).clamp(0.0, 3.6e9).round() as u32;
    micros
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_99th_percentile_leaves_one_in_a_hundred_beyond() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.p99_ms(), None);
        histogram.add(120);
        assert_eq!(histogram.p99_ms(), Some(0.12));
        for _ in 0..98 {
            histogram.add(120);
        }
        histogram.add(7_010);
        assert_eq!(histogram.p99_ms(), Some(0.15), "one of a hundred lies beyond");
        histogram.add(7_010);
        histogram.add(7_010);
        assert_eq!(histogram.p99_ms(), Some(7.01));
        let mut late = Histogram::default();
        late.add(2_000_000);
        assert_eq!(late.p99_ms(), Some(2000.0), "beyond the last bin the largest value stands");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_thread_knows_its_own_time_and_size() {
        let before = thread_cpu_secs().unwrap();
        let mut sum = 0_u64;
        while thread_cpu_secs().unwrap() < before + 0.01 {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        assert!(rss_mib().unwrap() > 1.0);
    }
}
