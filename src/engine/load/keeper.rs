//! What becomes of the samples: a thread of its own writes the part file, makes the points and tells the screen, so that
//! the measuring thread does nothing but measure.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use tokio::sync::mpsc as tokio_mpsc;

use super::Note;
use super::flight::Gauges;
use super::health::{Histogram, micros, rss_mib, thread_cpu_secs};
use crate::domain::curve::{self, StepPoint};
use crate::domain::failure::{Failure, FailureKind};
use crate::domain::load::{Arrivals, ClientHealth, GpuSample, RunEnd, Until};
use crate::domain::timeline::{LiveRow, WINDOW_SECS};
use crate::domain::{latency, stats};
use crate::engine::event::{LoadProgress, Progress, What};
use crate::engine::job::JobCtx;
use crate::engine::part::{Gathered, Line, Writer};

/// How often notes are fetched. The measuring thread never has to wake this one.
const FETCH: Duration = Duration::from_millis(50);
/// Progress is told ten times a second at most.
const TELL: Duration = Duration::from_millis(100);

/// Gathers a run.
pub(super) struct Keeper<'a> {
    pub(super) ctx: &'a JobCtx,
    pub(super) notes: mpsc::Receiver<Note>,
    pub(super) gpu: tokio_mpsc::Receiver<GpuSample>,
    pub(super) gauges: Arc<Gauges>,
    pub(super) origin: Instant,
    pub(super) gathered: Gathered,
    pub(super) part: Option<Writer>,
    pub(super) live: Live,
}

/// Figures that are shown while the run goes on, and the client's health.
#[derive(Default)]
pub(super) struct Live {
    lag: Histogram,
    lateness: Histogram,
    measuring_since: Option<f64>,
    /// CPU time of the keeper's own thread when the measuring began, s.
    own_cpu_before: Option<f64>,
    ttfts: VecDeque<(f64, f64)>,
    latenesses: VecDeque<(f64, f64)>,
    n_ended: u64,
    series: Arc<Vec<LiveRow>>,
    /// When the last row was made, and the counters then.
    row_at: f64,
    row_tokens: u64,
    row_ended: u64,
    told_at: Option<Instant>,
    tell_after: Duration,
    synced_at: Option<Instant>,
    final_points: usize,
    /// The first failure to write the part file; the run goes on in memory.
    unwritten: Option<Failure>,
}

/// A run that was gathered.
pub(super) struct Kept {
    pub(super) gathered: Gathered,
    pub(super) part: Option<Writer>,
    pub(super) client: ClientHealth,
    /// Why the part file is not whole.
    pub(super) unwritten: Option<Failure>,
}

impl Kept {
    /// Adds a line to the record and to the part file, and puts that on the disk.
    pub(super) fn add(&mut self, line: Line) {
        if let Some(part) = &mut self.part
            && let Err(error) = part.append(&line).and_then(|()| part.sync())
        {
            let failure = Failure::new(FailureKind::EvidenceUnwritable).because(error).at(part.path().display());
            self.unwritten = Some(failure);
        }
        self.gathered.take(line);
    }
}

impl Keeper<'_> {
    /// Gathers until the measuring thread is gone and everything it said was taken.
    pub(super) fn run(mut self) -> Kept {
        loop {
            let is_over = self.fetch();
            while let Ok(sample) = self.gpu.try_recv() {
                self.take(Line::Gpu(sample));
            }
            self.write_out(is_over);
            if is_over {
                break;
            }
            self.row();
            self.tell();
            std::thread::park_timeout(FETCH);
        }
        let client = self.health();
        Kept { gathered: self.gathered, part: self.part, client, unwritten: self.live.unwritten }
    }

    /// Takes every note that waits; answers whether no more can come.
    fn fetch(&mut self) -> bool {
        loop {
            match self.notes.try_recv() {
                Ok(Note::Over) | Err(mpsc::TryRecvError::Disconnected) => return true,
                Ok(note) => self.note(note),
                Err(mpsc::TryRecvError::Empty) => return false,
            }
        }
    }

    fn note(&mut self, note: Note) {
        match note {
            Note::MeasuringBegins { at } => {
                self.live.measuring_since = Some(at);
                self.live.own_cpu_before = thread_cpu_secs();
                self.live.row_at = at;
            }
            Note::Lag(micros) => self.live.lag.add(micros),
            Note::Sent { at, lateness_secs } => {
                self.live.lateness.add(micros(lateness_secs));
                self.live.latenesses.push_back((at, lateness_secs));
            }
            Note::First { at, ttft_secs } => self.live.ttfts.push_back((at, ttft_secs)),
            Note::Line(line) => self.take(line),
            Note::Over => {}
        }
    }

    fn take(&mut self, line: Line) {
        if let Some(part) = &mut self.part
            && let Err(error) = part.append(&line)
        {
            self.unwritten(&error);
        }
        let is_end_of_step = matches!(line, Line::StepEnd(_));
        self.live.n_ended += u64::from(matches!(line, Line::Request(_)));
        self.gathered.take(line);
        if is_end_of_step && let Some(point) = self.newest_point() {
            self.live.final_points += 1;
            self.ctx.emit_blocking(What::Step(Box::new(point)));
        }
    }

    /// A disk that takes no more does not end the run: what was measured is in memory, and the end says what is wrong.
    fn unwritten(&mut self, error: &std::io::Error) {
        let path = self.part.take().map(|part| part.path().display().to_string()).unwrap_or_default();
        self.live.unwritten = Some(Failure::new(FailureKind::EvidenceUnwritable).because(error).at(path));
    }

    fn newest_point(&self) -> Option<StepPoint> {
        let idx = self.gathered.steps().len().checked_sub(1)?;
        Some(curve::point(self.gathered.plan(), idx, self.gathered.steps().get(idx)?))
    }

    /// Hands new lines to the operating system, and to the disk once a second, with the health so far.
    fn write_out(&mut self, is_over: bool) {
        let is_due = is_over || self.live.synced_at.is_none_or(|at| at.elapsed() >= Duration::from_secs(1));
        if is_due {
            self.live.synced_at = Some(Instant::now());
        }
        let health =
            is_due.then(|| Line::Health { client: self.health(), sent: self.gauges.sent.load(Ordering::Relaxed) });
        let Some(part) = &mut self.part else { return };
        let written = match health {
            Some(health) => part.append(&health).and_then(|()| part.sync()),
            None => part.flush(),
        };
        if let Err(error) = written {
            self.unwritten(&error);
        }
    }

    fn now(&self) -> f64 {
        self.origin.elapsed().as_secs_f64()
    }

    /// The client's health from the start of the measuring up to now.
    fn health(&self) -> ClientHealth {
        let wall_secs = self.live.measuring_since.map_or(0.0, |since| self.now() - since);
        let measuring = Duration::from_micros(self.gauges.cpu_us.load(Ordering::Relaxed)).as_secs_f64();
        let keeping = match (self.live.own_cpu_before, thread_cpu_secs()) {
            (Some(before), Some(now)) => now - before,
            _ => 0.0,
        };
        ClientHealth {
            cpu_secs: measuring + keeping,
            wall_secs,
            // One thread measures, so one core is what it may use; that this thread counts too is on the safe side.
            cores: 1,
            loop_lag_p99_ms: self.live.lag.p99_ms(),
            lateness_p99_ms: match self.gathered.plan().arrivals {
                Arrivals::Concurrency => None,
                Arrivals::Constant | Arrivals::Poisson => self.live.lateness.p99_ms(),
            },
            lost: 0,
            rss_mib: rss_mib(),
        }
    }

    /// One row a second of the live series.
    fn row(&mut self) {
        let now = self.now();
        let Some(_measuring) = self.live.measuring_since else { return };
        let secs = now - self.live.row_at;
        if secs < 1.0 {
            return;
        }
        for window in [&mut self.live.ttfts, &mut self.live.latenesses] {
            while window.front().is_some_and(|(at, _)| *at < now - WINDOW_SECS) {
                window.pop_front();
            }
        }
        let sorted = |window: &VecDeque<(f64, f64)>| {
            let mut values: Vec<f64> = window.iter().map(|(_, value)| *value * 1e3).collect();
            values.sort_unstable_by(f64::total_cmp);
            values
        };
        let (ttfts, latenesses) = (sorted(&self.live.ttfts), sorted(&self.live.latenesses));
        let tokens = self.gauges.tokens.load(Ordering::Relaxed);
        let row = LiveRow {
            at_secs: now,
            ttft_p50_ms: stats::percentile(&ttfts, 0.5),
            ttft_p95_ms: stats::percentile(&ttfts, 0.95),
            achieved_per_sec: as_f64(self.live.n_ended - self.live.row_ended) / secs,
            offered_per_sec: match self.gathered.plan().arrivals {
                Arrivals::Concurrency => None,
                Arrivals::Constant | Arrivals::Poisson => self.gathered.steps().last().map(|step| step.level),
            },
            in_flight: self.gauges.in_flight.load(Ordering::Relaxed),
            lateness_p99_ms: stats::percentile(&latenesses, 0.99),
            tokens_per_sec: as_f64(tokens - self.live.row_tokens) / secs,
        };
        Arc::make_mut(&mut self.live.series).push(row);
        (self.live.row_at, self.live.row_tokens, self.live.row_ended) = (now, tokens, self.live.n_ended);
    }

    /// Puts the provisional figures into the watch.
    fn tell(&mut self) {
        if self.live.told_at.is_some_and(|at| at.elapsed() < self.live.tell_after.max(TELL)) {
            return;
        }
        let began = Instant::now();
        let provisional = self.newest_point().map(|point| StepPoint { provisional: true, ..point });
        let health = self.health();
        let (share, planned_secs) = self.share();
        let progress = Progress {
            step: format!("{}/{}", self.gathered.steps().len().max(1), self.gathered.plan().stages.len()),
            share,
            kept: self.gathered.n_requests() as u64,
            planned_secs,
            load: provisional.map(|point| {
                Box::new(LoadProgress {
                    point,
                    in_flight: self.gauges.in_flight.load(Ordering::Relaxed),
                    lateness_p99_ms: health.lateness_p99_ms,
                    cpu_share: if health.wall_secs > 0.0 { health.cpu_secs / health.wall_secs } else { 0.0 },
                    series: Arc::clone(&self.live.series),
                    gpu: self.gathered.gpu_samples().to_vec(),
                })
            }),
            ..Progress::default()
        };
        self.ctx.progress(progress);
        // Counting a long step anew takes time; it may take one part in twenty of this thread, not more.
        self.live.tell_after = began.elapsed() * 20;
        self.live.told_at = Some(Instant::now());
    }

    /// The share of the run that is done, and how long the whole takes, where the plan says it.
    fn share(&self) -> (Option<f64>, Option<f64>) {
        let plan = self.gathered.plan();
        let planned = plan.sending_secs();
        let requests: Option<u32> = plan
            .stages
            .iter()
            .map(|stage| match stage.until {
                Until::Requests(n) => Some(n),
                Until::Secs(_) => None,
            })
            .sum();
        let share = match (requests, planned, self.live.measuring_since) {
            (Some(requests), ..) if requests > 0 => {
                Some(as_f64(self.gathered.n_requests() as u64) / f64::from(requests))
            }
            (_, Some(planned), Some(since)) if planned > 0.0 => Some((self.now() - since) / planned),
            _ => None,
        };
        (share.map(|share| share.clamp(0.0, 1.0)), planned)
    }
}

/// The last line of a run, with the exact lateness of all its requests in place of the counted one.
pub(super) fn last_line(kept: &Kept, ended: RunEnd, at: chrono::DateTime<chrono::FixedOffset>) -> Line {
    let mut client = kept.client.clone();
    if kept.gathered.plan().arrivals != Arrivals::Concurrency {
        let mut values: Vec<f64> = kept
            .gathered
            .steps()
            .iter()
            .flat_map(|step| &step.requests)
            .map(|request| latency::lateness(request) * 1e3)
            .collect();
        values.sort_unstable_by(f64::total_cmp);
        client.lateness_p99_ms = stats::percentile(&values, 0.99);
    }
    Line::End { ended, at, client }
}

#[allow(clippy::cast_precision_loss, reason = "counts of requests and tokens are far below 2^53")]
fn as_f64(n: u64) -> f64 {
    n as f64
}
