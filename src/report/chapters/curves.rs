//! Curves: every metric over the load, each plot with its numbers as a table, then the runs themselves.

use super::{Ctx, filled, named, plain};
use crate::domain::curve::{StepPoint, Summary};
use crate::domain::evidence::Kind;
use crate::domain::figure::{Gap, GapKind, Origin};
use crate::domain::format;
use crate::domain::load::Arrivals;
use crate::domain::seen::Run;
use crate::domain::stats;
use crate::report::Compared;
use crate::report::doc::{Block, Line, Table};
use crate::report::svg::{Limit, Plot, Point, Series, Style};

/// The newest runs of each candidate and kind of load that are drawn; older ones stay in the table of runs.
const DRAWN_RUNS: usize = 3;
/// From this ratio of the highest to the lowest value on, an axis is logarithmic.
const LOG_RATIO: f64 = 20.0;

/// Plots by kind of load, then the table of runs.
pub(super) fn curves(ctx: &Ctx<'_>) -> Vec<Block> {
    if ctx.report.candidates.iter().all(|compared| compared.runs.is_empty()) {
        return vec![Block::Para(Line::absent(&ctx.w.no_runs))];
    }
    let mut blocks = vec![Block::Note(ctx.w.curves_note.as_str().into())];
    for load in [Load::Rate, Load::InFlight] {
        let drawn = drawn(ctx, load);
        if drawn.is_empty() {
            continue;
        }
        let title = if load == Load::Rate { &ctx.w.over_rate } else { &ctx.w.over_in_flight };
        blocks.push(Block::Part(title.as_str().into()));
        for latency in [Latency::Ttft, Latency::Itl, Latency::E2e] {
            blocks.push(latency_block(ctx, load, latency, &drawn));
        }
        for rate in [Rate::Tokens, Rate::Goodput] {
            blocks.push(rate_block(ctx, load, rate, &drawn));
        }
    }
    blocks.extend(super::runs::runs(ctx));
    blocks
}

/// What lies along the horizontal axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Load {
    Rate,
    InFlight,
}

impl Load {
    fn of(arrivals: Arrivals) -> Self {
        match arrivals {
            Arrivals::Concurrency => Self::InFlight,
            Arrivals::Constant | Arrivals::Poisson => Self::Rate,
        }
    }

    fn axis(self, ctx: &Ctx<'_>) -> String {
        match self {
            Self::Rate => ctx.w.axis_rate.clone(),
            Self::InFlight => ctx.text.name("axis_in_flight").to_owned(),
        }
    }

    /// The head of the column with the level of a step.
    fn head(self, ctx: &Ctx<'_>) -> Line {
        match self {
            Self::Rate => Line::from(ctx.w.rate.as_str()).muted("req/s"),
            Self::InFlight => ctx.text.name("axis_in_flight").into(),
        }
    }
}

/// A run with the candidate it belongs to.
type Drawn<'a> = (&'a Compared<'a>, &'a Run);

fn drawn<'a>(ctx: &'a Ctx<'_>, load: Load) -> Vec<Drawn<'a>> {
    let of = |compared: &'a Compared<'a>| {
        let runs = compared.runs.iter().map(AsRef::as_ref);
        let newest = runs.filter(move |run| Load::of(run.plan.arrivals) == load).take(DRAWN_RUNS);
        // Oldest of them first, as they were made.
        newest.map(|run| (compared, run)).collect::<Vec<_>>().into_iter().rev()
    };
    ctx.report.candidates.iter().flat_map(of).collect()
}

/// Whether a run can count at all; others are drawn hollow.
fn counts(run: &Run) -> bool {
    run.is_sound() && run.kind() == Kind::Real
}

/// Why no verdict stands on a run, in a word; `None` when one may.
fn unsound<'a>(ctx: &Ctx<'a>, run: &Run) -> Option<&'a str> {
    match (run.is_valid(), run.is_sound()) {
        (false, _) => Some(&ctx.w.invalid),
        (true, false) => Some(ctx.text.run_end(run.ended)),
        (true, true) => None,
    }
}

/// A run's name in legends: its candidate, and why it does not count.
fn series_name(ctx: &Ctx<'_>, (compared, run): Drawn<'_>) -> String {
    let mut name = named(&compared.candidate.name, compared.candidate.id.as_str()).to_owned();
    if let Some(kind) = ctx.kind_remark(run.kind()) {
        name = format!("{name} · {kind}");
    }
    match unsound(ctx, run) {
        Some(why) => format!("{name} · {why}"),
        None => name,
    }
}

fn series(ctx: &Ctx<'_>, drawn: Drawn<'_>, each: impl Fn(&StepPoint) -> Option<(f64, Option<(f64, f64)>)>) -> Series {
    let run = drawn.1;
    let mut points: Vec<Point> = run
        .points
        .iter()
        .filter_map(|step| {
            let (y, interval) = each(step)?;
            Some(Point { x: step.level, y, interval, hollow: !counts(run) })
        })
        .collect();
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    Series {
        name: series_name(ctx, drawn),
        place: drawn.0.candidate.series,
        points,
        markers: true,
        style: Style::Candidate,
        band: Vec::new(),
    }
}

fn plot(ctx: &Ctx<'_>, load: Load, title: String, series: Vec<Series>, limit: Option<Limit>) -> Plot {
    let ys = || series.iter().flat_map(|series| &series.points).map(|point| point.y).filter(|y| *y > 0.0);
    let (low, high) = (ys().fold(f64::INFINITY, f64::min), ys().fold(0.0, f64::max));
    let log = high > LOG_RATIO * low;
    Plot { title, x_title: load.axis(ctx), log, log_words: ctx.w.logarithmic.clone(), series, limit }
}

/// A latency with percentiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Latency {
    Ttft,
    Itl,
    E2e,
}

impl Latency {
    fn of(self, step: &StepPoint) -> Option<Summary> {
        match self {
            Self::Ttft => step.ttft,
            Self::Itl => step.gap,
            Self::E2e => step.e2el,
        }
    }

    fn limit(self, ctx: &Ctx<'_>) -> Option<f64> {
        let slo = &ctx.report.plan.brief.slo;
        match self {
            Self::Ttft => slo.ttft_p95_ms,
            Self::Itl => slo.itl_p95_ms,
            Self::E2e => slo.e2e_p95_ms,
        }
    }

    fn name<'a>(self, ctx: &Ctx<'a>) -> &'a str {
        match self {
            Self::Ttft => &ctx.w.name_ttft,
            Self::Itl => &ctx.w.name_itl,
            Self::E2e => &ctx.w.name_e2el,
        }
    }
}

fn latency_block(ctx: &Ctx<'_>, load: Load, latency: Latency, drawn: &[Drawn<'_>]) -> Block {
    let ms = |secs: f64| secs * 1e3;
    let p95: Vec<Series> = drawn
        .iter()
        .map(|run| {
            series(ctx, *run, |step| {
                let summary = latency.of(step)?;
                Some((ms(summary.p95?), summary.p95_interval.map(|(low, high)| (ms(low), ms(high)))))
            })
        })
        .collect();
    let has_p95 = p95.iter().any(|series| !series.points.is_empty());
    // Short steps have a median long before they have a 95th percentile; the limit is one of the latter.
    let (quantile, all, limit) = if has_p95 {
        let limit = latency.limit(ctx).map(|limit| Limit { value: limit, words: format!("SLO {} ms", plain(limit)) });
        ("p95", p95, limit)
    } else {
        let p50 = drawn.iter().map(|run| series(ctx, *run, |step| Some((ms(latency.of(step)?.p50?), None))));
        ("p50", p50.collect(), None)
    };
    let name = format!("{} {quantile}", latency.name(ctx));
    let title = filled(&ctx.w.plot_title, &[("name", &name), ("unit", &"ms")]);
    let table = latency_table(ctx, load, latency, drawn, &title);
    let plot = plot(ctx, load, title, all, limit);
    if plot.is_empty() { Block::Table(table) } else { Block::Plot(Box::new(plot), table) }
}

fn latency_table(ctx: &Ctx<'_>, load: Load, latency: Latency, drawn: &[Drawn<'_>], title: &str) -> Table {
    let w = ctx.w;
    let head = |quantile: &str| Line::new().origin(Origin::Measured).text(quantile).muted("ms");
    let mut table = Table::new(title)
        .words(Line::from(w.run.as_str()))
        .figures(load.head(ctx))
        .figures(head("p50"))
        .figures(head("p95"))
        .figures(w.interval_95.as_str())
        .figures(head("p99"))
        .figures(w.samples.as_str());
    for run in drawn {
        for step in &run.1.points {
            let summary = latency.of(step);
            let cell = |value: Option<f64>, q: f64| match (value, summary) {
                (Some(secs), _) => format::short(secs * 1e3).into(),
                (None, Some(summary)) => too_few(ctx, summary.n, q),
                (None, None) if latency == Latency::Itl && step.gap_not_measurable => {
                    Line::absent(ctx.text.gap(&Gap::new(GapKind::NotMeasurable)))
                }
                (None, None) => too_few(ctx, 0, q),
            };
            let interval = match summary.and_then(|summary| summary.p95_interval) {
                Some((low, high)) => super::interval(&format::short(low * 1e3), &format::short(high * 1e3)).into(),
                None => Line::absent(&w.no_interval),
            };
            table.row(vec![
                run_name(ctx, *run),
                plain(step.level).into(),
                cell(summary.and_then(|summary| summary.p50), 0.5),
                cell(summary.and_then(|summary| summary.p95), 0.95),
                interval,
                cell(summary.and_then(|summary| summary.p99), 0.99),
                format::count(summary.map_or(0, |summary| summary.n)).into(),
            ]);
        }
    }
    table
}

/// How many samples there are, and how many the percentile needs.
fn too_few(ctx: &Ctx<'_>, have: u64, q: f64) -> Line {
    let need = stats::min_samples(q);
    let gap = Gap::new(GapKind::TooFewSamples).with("have", format::count(have)).with("need", format::count(need));
    Line::absent(ctx.text.gap(&gap))
}

/// A rate without percentiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rate {
    Tokens,
    Goodput,
}

fn rate_block(ctx: &Ctx<'_>, load: Load, rate: Rate, drawn: &[Drawn<'_>]) -> Block {
    let w = ctx.w;
    let (title, unit) = match rate {
        Rate::Tokens => (&w.throughput, "tok/s"),
        Rate::Goodput => (&w.def_goodput, "req/s"),
    };
    let title = filled(&w.plot_title, &[("name", title), ("unit", &unit)]);
    let all: Vec<Series> = drawn
        .iter()
        .map(|run| {
            series(ctx, *run, |step| match rate {
                Rate::Tokens => Some((step.output_tokens_per_sec?, None)),
                Rate::Goodput => Some((step.goodput_per_sec?, None)),
            })
        })
        .collect();
    let limit = ctx.report.plan.brief.slo.output_tokens_per_sec.filter(|_| rate == Rate::Tokens);
    let limit = limit.map(|limit| Limit { value: limit, words: format!("SLO {} tok/s", plain(limit)) });
    let table = match rate {
        Rate::Tokens => tokens_table(ctx, load, drawn, &title),
        Rate::Goodput => goodput_table(ctx, load, drawn, &title),
    };
    let mut plot = plot(ctx, load, title, all, limit);
    // Rates begin at nothing, and a logarithmic axis would hide that a step fell to it.
    plot.log = false;
    if plot.is_empty() { Block::Table(table) } else { Block::Plot(Box::new(plot), table) }
}

fn tokens_table(ctx: &Ctx<'_>, load: Load, drawn: &[Drawn<'_>], title: &str) -> Table {
    let w = ctx.w;
    let measured = |head: &str, unit: &str| Line::new().origin(Origin::Measured).text(head).muted(unit);
    let mut table = Table::new(title)
        .words(w.run.as_str())
        .figures(load.head(ctx))
        .figures(measured(&w.throughput, "tok/s"))
        .figures(measured(&w.output_total, &w.tokens))
        .figures(measured(&w.input_mean, &w.tokens))
        .words(w.token_source.as_str());
    for run in drawn {
        for step in &run.1.points {
            table.row(vec![
                run_name(ctx, *run),
                plain(step.level).into(),
                or_absent(step.output_tokens_per_sec.map(format::short), &w.tokens_not_counted),
                format::count(step.output_tokens).into(),
                or_absent(step.input_tokens_mean.map(format::short), &w.tokens_not_counted),
                ctx.text.token_source(step.token_source).into(),
            ]);
        }
    }
    table
}

fn goodput_table(ctx: &Ctx<'_>, load: Load, drawn: &[Drawn<'_>], title: &str) -> Table {
    let w = ctx.w;
    let measured = |head: &str| Line::new().origin(Origin::Measured).text(head).muted("req/s");
    let mut table = Table::new(title)
        .words(w.run.as_str())
        .figures(load.head(ctx))
        .figures(measured(&w.offered))
        .figures(measured(&w.achieved))
        .figures(measured(&w.def_goodput))
        .figures(w.within_of_sent.as_str());
    let no_slo = ctx.text.gap(&Gap::new(GapKind::NoSlo));
    for run in drawn {
        for step in &run.1.points {
            let within = step.within_slo.map(|n| {
                format!("{}\u{a0}/\u{a0}{}", format::count(u64::from(n)), format::count(u64::from(step.counts.sent)))
            });
            table.row(vec![
                run_name(ctx, *run),
                plain(step.level).into(),
                or_absent(step.offered_per_sec.map(format::short), &w.too_short),
                or_absent(step.requests_per_sec.map(format::short), &w.too_short),
                or_absent(step.goodput_per_sec.map(format::short), &no_slo),
                or_absent(within, &no_slo),
            ]);
        }
    }
    table
}

fn or_absent(value: Option<String>, why: &str) -> Line {
    value.map_or_else(|| Line::absent(why), Line::from)
}

/// A run in a table: its candidate and its record.
pub(super) fn run_name(ctx: &Ctx<'_>, (compared, run): (&Compared<'_>, &Run)) -> Line {
    let line = ctx.candidate(compared).text(" ").cites([&run.id]);
    let line = match ctx.kind_remark(run.kind()) {
        Some(kind) => line.muted(kind),
        None => line,
    };
    match unsound(ctx, run) {
        Some(why) => line.bad(why),
        None => line,
    }
}

/// The level of a step with its unit.
pub(super) fn level(ctx: &Ctx<'_>, step: &StepPoint) -> Line {
    let line = Line::from(plain(step.level));
    match Load::of(step.arrivals) {
        Load::Rate => line.muted("req/s"),
        Load::InFlight => line.muted(&ctx.w.level_in_flight),
    }
}
