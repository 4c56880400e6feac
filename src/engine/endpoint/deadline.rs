//! The time-outs of one request: connection aside, to the first byte, between two frames, and of the whole.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::time::Sleep;

use crate::domain::load::Timeouts;

/// Which time-out passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Late {
    /// No first body byte in time.
    FirstByte,
    /// A gap between two frames was too long.
    Gap,
    /// The whole took too long.
    Total,
}

/// Watches the time-outs of one request with a single timer. Every frame moves the limit, but the timer is set anew only
/// when it rings, so that a frame costs nothing.
pub(crate) struct Deadline {
    timer: Pin<Box<Sleep>>,
    total: Instant,
    phase: Instant,
    is_streaming: bool,
    gap: Duration,
}

impl Deadline {
    /// Begins with the request.
    pub(crate) fn new(start: Instant, timeouts: &Timeouts) -> Self {
        let phase = start + secs(timeouts.first_byte_secs);
        let total = start + secs(timeouts.total_secs);
        let timer = Box::pin(tokio::time::sleep_until(phase.min(total).into()));
        Self { timer, total, phase, is_streaming: false, gap: secs(timeouts.gap_secs) }
    }

    /// A body frame arrived.
    pub(crate) fn frame(&mut self, at: Instant) {
        self.phase = at + self.gap;
        if !self.is_streaming {
            self.is_streaming = true;
            // The limit may have moved forward, which a timer does not notice by itself.
            self.timer.as_mut().reset(self.phase.min(self.total).into());
        }
    }

    /// Nothing but the rest of a finished answer may still come, for this long.
    pub(crate) fn only(&mut self, at: Instant, rest: Duration) {
        self.total = self.total.min(at + rest);
        self.timer.as_mut().reset(self.phase.min(self.total).into());
    }

    /// Ready when a time-out passed.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Late> {
        while self.timer.as_mut().poll(cx).is_ready() {
            let due = self.phase.min(self.total);
            if Instant::now() >= due {
                return Poll::Ready(match (self.total <= self.phase, self.is_streaming) {
                    (true, _) => Late::Total,
                    (false, true) => Late::Gap,
                    (false, false) => Late::FirstByte,
                });
            }
            self.timer.as_mut().reset(due.into());
        }
        Poll::Pending
    }
}

/// A duration of so many seconds; a year at most, and nothing for what is no duration.
pub(crate) fn secs(secs: f64) -> Duration {
    Duration::try_from_secs_f64(secs.clamp(0.0, 31_536_000.0)).unwrap_or_default()
}
