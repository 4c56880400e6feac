//! The clock: the one place that asks what time it is for records and for the app.

use std::time::Instant;

use chrono::{DateTime, FixedOffset};

/// A moment on both clocks.
#[derive(Debug, Clone, Copy)]
pub struct Now {
    /// Wall clock with this computer's zone, for records and people.
    pub wall: DateTime<FixedOffset>,
    /// Monotonic clock, for distances.
    pub mono: Instant,
}

/// The present moment.
#[must_use]
pub fn now() -> Now {
    Now { wall: chrono::Local::now().fixed_offset(), mono: Instant::now() }
}
