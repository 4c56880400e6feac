//! The server's own stamps.

use serde_json::{Value, json};

use crate::domain::stats::percentile;

/// The most stamps that are kept of each kind; a lesson has some thousands.
const MOST: usize = 8_000_000;

/// What the server saw of itself, in seconds.
#[derive(Debug, Default)]
pub(super) struct Stats {
    pub(super) requests: u64,
    /// Answers that were given to their end.
    pub(super) completed: u64,
    pub(super) tokens: u64,
    /// Events with at least one token.
    pub(super) events: u64,
    ttfts: Vec<f32>,
    gaps: Vec<f32>,
    n_streams: u32,
    peak_streams: u32,
}

impl Stats {
    /// A stream began.
    pub(super) fn enter(&mut self) {
        self.n_streams += 1;
        self.peak_streams = self.peak_streams.max(self.n_streams);
    }

    /// A stream ended.
    pub(super) fn leave(&mut self) {
        self.n_streams = self.n_streams.saturating_sub(1);
    }

    /// An event with `tokens` tokens is written, this long after the request (the first) or after the last event.
    pub(super) fn event(&mut self, tokens: u32, after_secs: f64, is_first: bool) {
        self.tokens += u64::from(tokens);
        self.events += 1;
        let kept = if is_first { &mut self.ttfts } else { &mut self.gaps };
        if kept.len() < MOST {
            #[allow(
                clippy::cast_possible_truncation,
                reason = "microseconds of a minute fit into 24 bits of mantissa"
            )]
            kept.push(after_secs as f32);
        }
    }

    /// Everything again from zero; streams that are open stay counted.
    pub(super) fn reset(&mut self) {
        *self = Self { n_streams: self.n_streams, peak_streams: self.n_streams, ..Self::default() };
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "requests": self.requests,
            "completed": self.completed,
            "tokens": self.tokens,
            "events": self.events,
            "ttft_ms": distribution(&self.ttfts),
            "gap_ms": distribution(&self.gaps),
            "streams": self.n_streams,
            "streams_peak": self.peak_streams,
        })
    }
}

fn distribution(secs: &[f32]) -> Value {
    let mut values: Vec<f64> = secs.iter().map(|secs| f64::from(*secs) * 1e3).collect();
    values.sort_unstable_by(f64::total_cmp);
    let at = |q| percentile(&values, q);
    json!({ "n": values.len(), "p50": at(0.5), "p99": at(0.99), "max": at(1.0) })
}
