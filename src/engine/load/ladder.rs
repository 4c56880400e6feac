//! The steps of a run, one after the other, on one thread: closed loops that keep so many requests in flight, and open
//! loops that send at times laid out before.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::Note;
use super::flight::{Shared, fly};
use super::health::{micros, thread_cpu_secs};
use crate::domain::arrivals;
use crate::domain::load::{Arrivals, RunEnd, StagePlan, Until};
use crate::engine::part::Line;

/// A worker whose request failed at once waits until this much time has passed since it was sent: a server that refuses
/// everything is asked 20 times a second by each worker, not as fast as it can refuse.
const AFTER_FAILURE: Duration = Duration::from_millis(50);
/// How often the loop's own lag is measured.
const TICK: Duration = Duration::from_millis(10);
/// Connections opened at once before a step begins.
const OPENED_AT_ONCE: usize = 64;
/// The step number of the warm-up, for its prompts.
const WARM_UP: u64 = u64::MAX;

/// Runs the warm-up and every step. Ends early when cancelled, or when nobody ever answers.
pub(super) async fn climb(shared: &Arc<Shared>, cancel: &CancellationToken) -> RunEnd {
    if let Some(first) = shared.plan.stages.first().copied()
        && shared.plan.warmup_requests > 0
    {
        let warm_up = StagePlan { until: Until::Requests(shared.plan.warmup_requests), ..first };
        if !step(shared, cancel, warm_up, None).await {
            return RunEnd::Stopped;
        }
    }
    shared.note(Note::MeasuringBegins { at: shared.now() });
    let cpu_start = thread_cpu_secs();
    let ticker = tokio::spawn(tick(Arc::clone(shared), cpu_start));
    let mut ended = RunEnd::Done;
    for (idx, stage) in shared.plan.stages.iter().enumerate() {
        let asked = match stage.until {
            Until::Requests(n) => Some(n),
            Until::Secs(_) => None,
        };
        let opened = tokio::select! {
            biased;
            () = cancel.cancelled() => false,
            () = open_connections(shared, *stage) => true,
        };
        if !opened {
            ended = RunEnd::Stopped;
            break;
        }
        shared.note(Note::Line(Line::Step { level: stage.level, start_secs: shared.now(), asked }));
        let is_whole = step(shared, cancel, *stage, Some(idx)).await;
        shared.note(Note::Line(Line::StepEnd(shared.now())));
        if !is_whole {
            ended = RunEnd::Stopped;
            break;
        }
        if shared.gauges.answered.load(Ordering::Relaxed) == 0 {
            // Nobody was reached in a whole step; the next ones would say the same.
            break;
        }
    }
    ticker.abort();
    tell_cpu_time(shared, cpu_start);
    ended
}

/// Runs one step and answers whether it was left to end by itself.
async fn step(shared: &Arc<Shared>, cancel: &CancellationToken, stage: StagePlan, idx: Option<usize>) -> bool {
    let mut flights = JoinSet::new();
    let is_whole = {
        let run = async {
            match shared.plan.arrivals {
                Arrivals::Concurrency => closed(shared, &mut flights, stage, idx).await,
                Arrivals::Constant | Arrivals::Poisson => open(shared, &mut flights, stage, idx).await,
            }
        };
        tokio::select! {
            biased;
            () = cancel.cancelled() => false,
            () = run => true,
        }
    };
    // Requests still in the air are dropped here, and each records that it was cancelled.
    flights.shutdown().await;
    is_whole
}

/// So many workers, each sending its next request when the last one ended.
async fn closed(shared: &Arc<Shared>, flights: &mut JoinSet<()>, stage: StagePlan, idx: Option<usize>) {
    let (n_most, until) = match stage.until {
        Until::Requests(n) => (n, None),
        Until::Secs(secs) => (u32::MAX, Some(Instant::now() + Duration::from_secs_f64(secs.max(0.0)))),
    };
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to be a whole number up to 20,000"
    )]
    let n_workers = (stage.level as u32).min(n_most);
    let tickets = Arc::new(AtomicU32::new(0));
    let step_number = idx.map_or(WARM_UP, |idx| idx as u64);
    let first_prompt = if idx.is_some() { prompts_before(shared, idx) } else { 0 };
    for _ in 0..n_workers {
        let (shared, tickets) = (Arc::clone(shared), Arc::clone(&tickets));
        flights.spawn(async move {
            let mut conn = shared.take_idle();
            loop {
                let ticket = tickets.fetch_add(1, Ordering::Relaxed);
                if ticket >= n_most || until.is_some_and(|until| Instant::now() >= until) || shared.is_hopeless() {
                    break;
                }
                let asked = shared.body(step_number, first_prompt + u64::from(ticket));
                let began = Instant::now();
                let landed = fly(&shared, conn, asked, None, idx.is_some()).await;
                conn = landed.conn;
                if !landed.is_complete && began.elapsed() < AFTER_FAILURE {
                    tokio::time::sleep_until((began + AFTER_FAILURE).into()).await;
                }
            }
            if let Some(conn) = conn {
                shared.put_idle(conn);
            }
        });
    }
    while flights.join_next().await.is_some() {}
}

/// Requests at times laid out before, whatever the server does.
async fn open(shared: &Arc<Shared>, flights: &mut JoinSet<()>, stage: StagePlan, idx: Option<usize>) {
    let step_number = idx.map_or(WARM_UP, |idx| idx as u64);
    let first_prompt = if idx.is_some() { prompts_before(shared, idx) } else { 0 };
    let layout_step = idx.unwrap_or(usize::MAX);
    let times = arrivals::lay_out(shared.plan.arrivals, stage, shared.plan.seed, layout_step);
    let start = Instant::now();
    let start_secs = shared.now();
    let mut opening = JoinSet::new();
    for (number, offset) in times.into_iter().enumerate() {
        let asked = shared.body(step_number, first_prompt + number as u64);
        let due = start + Duration::from_secs_f64(offset);
        if Instant::now() < due {
            tokio::time::sleep_until(due.into()).await;
        } else {
            // Late already: the requests that are due must not wait for this loop to end.
            tokio::task::yield_now().await;
        }
        if shared.is_hopeless() {
            break;
        }
        let conn = shared.take_idle();
        let sharing = Arc::clone(shared);
        flights.spawn(async move {
            let landed = fly(&sharing, conn, asked, Some(start_secs + offset), idx.is_some()).await;
            if let Some(conn) = landed.conn {
                sharing.put_idle(conn);
            }
        });
        while flights.try_join_next().is_some() {}
        while opening.try_join_next().is_some() {}
        if shared.n_idle() + opening.len() < spare(stage.level) {
            let sharing = Arc::clone(shared);
            opening.spawn(async move {
                if let Some(conn) = sharing.open_ahead().await {
                    sharing.put_idle(conn);
                }
            });
        }
    }
    while flights.join_next().await.is_some() {}
}

/// How many requests the steps before this one planned, so that a file of prompts goes on where it was. Steps that end
/// by time count as none: how many they send is not known before.
fn prompts_before(shared: &Shared, idx: Option<usize>) -> u64 {
    let planned = shared.plan.stages.iter().take(idx.unwrap_or(0)).map(|stage| match stage.until {
        Until::Requests(n) => u64::from(n),
        Until::Secs(_) => 0,
    });
    planned.sum()
}

/// Idle connections kept ready in a rate-driven step, so that a request need not wait for its own.
fn spare(rate: f64) -> usize {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped just here")]
    let spare = (rate * 0.2).ceil().clamp(2.0, 64.0) as usize;
    spare
}

/// Opens the connections that a step begins with, before its clock runs.
async fn open_connections(shared: &Arc<Shared>, stage: StagePlan) {
    let wanted = match shared.plan.arrivals {
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked to be a whole number up to 20,000"
        )]
        Arrivals::Concurrency => stage.level as usize,
        Arrivals::Constant | Arrivals::Poisson => spare(stage.level),
    };
    // Connections of the step before may have been closed by the server meanwhile.
    let mut usable = Vec::new();
    while let Some(mut conn) = shared.take_idle() {
        if conn.is_usable().await {
            usable.push(conn);
        }
    }
    let mut n_missing = wanted.saturating_sub(usable.len());
    usable.into_iter().for_each(|conn| shared.put_idle(conn));
    while n_missing > 0 {
        let n_now = n_missing.min(OPENED_AT_ONCE);
        n_missing -= n_now;
        let mut opening = JoinSet::new();
        for _ in 0..n_now {
            let sharing = Arc::clone(shared);
            opening.spawn(async move { sharing.open_ahead().await });
        }
        let mut n_opened = 0;
        while let Some(opened) = opening.join_next().await {
            if let Ok(Some(conn)) = opened {
                shared.put_idle(conn);
                n_opened += 1;
            }
        }
        if n_opened == 0 {
            // Nobody is there; the requests will say so.
            break;
        }
    }
}

/// Measures how late this thread's loop is, and tells its CPU time.
async fn tick(shared: Arc<Shared>, cpu_start: Option<f64>) {
    // The first one comes early, so that even the shortest run has a measurement.
    let mut due = Instant::now() + Duration::from_millis(1);
    loop {
        tokio::time::sleep_until(due.into()).await;
        let now = Instant::now();
        shared.note(Note::Lag(micros(now.saturating_duration_since(due).as_secs_f64())));
        tell_cpu_time(&shared, cpu_start);
        // After a stall, the ticks that it swallowed would all say the same; one does.
        due = (due + TICK).max(now);
    }
}

fn tell_cpu_time(shared: &Shared, start: Option<f64>) {
    if let (Some(start), Some(cpu)) = (start, thread_cpu_secs()) {
        let spent = Duration::try_from_secs_f64(cpu - start).unwrap_or_default();
        shared.gauges.cpu_us.store(u64::try_from(spent.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}
