//! The memory estimate, with its formula.

use super::{Ctx, filled};
use crate::domain::figure::{Input, Origin};
use crate::domain::format;
use crate::domain::memory::{Fit, MemoryEstimate};
use crate::report::Compared;
use crate::report::doc::{Block, Line, Mark, Part, RowKind, Table};
use crate::report::svg::{Plot, Point, Series, Style};

const GIB: f64 = 1_073_741_824.0;

/// Parts of one GPU side by side, the formula with its inputs, and the need over concurrency.
pub(super) fn memory(ctx: &Ctx<'_>) -> Vec<Block> {
    if ctx.report.candidates.is_empty() {
        return vec![Block::Para(Line::absent(&ctx.w.no_candidates))];
    }
    let mut blocks = vec![Block::Table(parts(ctx))];
    let first = ctx.report.candidates.iter().find_map(|compared| compared.memory.as_ref().ok());
    if let Some(figure) = first {
        blocks.push(Block::Para(ctx.w.formula.as_str().into()));
        blocks.push(Block::Formula(figure.formula.to_owned()));
        blocks.push(Block::Table(inputs(ctx)));
        blocks.push(Block::Note(ctx.w.memory_left_out.as_str().into()));
    }
    let plot = plot(ctx);
    if !plot.is_empty() {
        let table = plot_table(ctx);
        blocks.push(Block::Plot(Box::new(plot), table));
    }
    blocks
}

/// What a row says about an estimate.
type Cell = fn(&Ctx<'_>, &MemoryEstimate) -> Line;

fn gib(bytes: f64) -> Line {
    let shown = format::fixed(bytes / GIB, 1);
    let line = Line::new().origin(Origin::Predicted);
    (if bytes < 0.0 { line.bad(shown) } else { line.text(shown) }).muted("GiB")
}

fn parts(ctx: &Ctx<'_>) -> Table {
    let w = ctx.w;
    let mut table = Table::new(&w.chapter_memory).even().words(w.one_gpu.as_str());
    for compared in &ctx.report.candidates {
        table = table.figures(ctx.candidate_head(compared));
    }
    let name = |name: &str| ctx.text.name(name).to_owned();
    let rows: [(RowKind, String, Cell); 10] = [
        (RowKind::Normal, name("gpu_memory"), |_, estimate| {
            Line::number(Origin::Declared, format::fixed(estimate.memory / GIB, 1), "GiB")
        }),
        (RowKind::Normal, w.limit_of_engine.clone(), |_, estimate| gib(estimate.limit)),
        (RowKind::Normal, name("weights"), |_, estimate| gib(estimate.parts.weights)),
        (RowKind::Normal, name("kv_cache"), kv),
        (RowKind::Normal, name("activations"), |_, estimate| gib(estimate.parts.activations)),
        (RowKind::Normal, w.runtime.clone(), |_, estimate| gib(estimate.parts.runtime)),
        (RowKind::Total, w.headroom.clone(), |_, estimate| gib(estimate.parts.free)),
        (RowKind::Normal, w.fits_at_once.clone(), |ctx, estimate| {
            let unit = filled(&ctx.w.requests_of, &[("tokens", &format::count(u64::from(estimate.context)))]);
            Line::number(Origin::Predicted, format::count(estimate.capacity), &unit)
        }),
        (RowKind::Normal, w.split_over.clone(), |_, estimate| {
            Line::number(Origin::Declared, estimate.n_gpus.to_string(), "GPU")
        }),
        (RowKind::Normal, w.result.clone(), fit),
    ];
    for (kind, name, cell) in rows {
        let cells = ctx.report.candidates.iter().map(|compared| match compared.memory {
            Ok(figure) => cell(ctx, &figure.value),
            Err(gap) => Line::absent(ctx.text.gap(gap)),
        });
        table.row_of(kind, std::iter::once(name.into()).chain(cells).collect());
    }
    table
}

fn kv(ctx: &Ctx<'_>, estimate: &MemoryEstimate) -> Line {
    gib(estimate.parts.kv).br().muted(filled(
        &ctx.w.in_flight_times,
        &[
            ("n", &format::count(u64::from(estimate.in_flight))),
            ("tokens", &format::count(u64::from(estimate.context))),
        ],
    ))
}

fn fit(ctx: &Ctx<'_>, estimate: &MemoryEstimate) -> Line {
    let (mark, words) = match estimate.fit {
        Fit::Fits => (Mark::Pass, &ctx.w.fits),
        Fit::TooManyRequests => (Mark::Inconclusive, &ctx.w.too_many_requests),
        Fit::DoesNotFit => (Mark::Fail, &ctx.w.does_not_fit),
    };
    Line::new().with(Part::Shape(mark)).text(words)
}

/// Every input of the formula, by candidate.
fn inputs(ctx: &Ctx<'_>) -> Table {
    let mut table = Table::new(&ctx.w.inputs).even().words(ctx.w.input.as_str());
    let mut names: Vec<&'static str> = Vec::new();
    let mut all: Vec<Vec<&Input>> = Vec::new();
    for compared in &ctx.report.candidates {
        table = table.figures(ctx.candidate(compared));
        let mut flat = Vec::new();
        if let Ok(figure) = compared.memory {
            flatten(&figure.inputs, &mut flat);
        }
        for input in &flat {
            if !names.contains(&input.name) {
                names.push(input.name);
            }
        }
        all.push(flat);
    }
    for name in names {
        let cells = all.iter().map(|inputs| match inputs.iter().find(|input| input.name == name) {
            Some(input) => Line::number(input.origin, &input.value, &input.unit),
            None => Line::absent(&ctx.w.not_used),
        });
        table.row(std::iter::once(Line::from(ctx.text.name(name))).chain(cells).collect());
    }
    table
}

fn flatten<'a>(inputs: &'a [Input], out: &mut Vec<&'a Input>) {
    for input in inputs {
        out.push(input);
        flatten(&input.inputs, out);
    }
}

fn curves<'a>(ctx: &'a Ctx<'_>) -> impl Iterator<Item = (&'a Compared<'a>, &'a crate::domain::memory::MemoryCurve)> {
    ctx.report.candidates.iter().filter_map(|compared| Some((compared, &compared.memory_curve.as_ref().ok()?.value)))
}

fn plot(ctx: &Ctx<'_>) -> Plot {
    let w = ctx.w;
    let point = |x: u32, y: f64| Point { x: f64::from(x), y: y / GIB, interval: None, hollow: false };
    let mut series = Vec::new();
    for (compared, curve) in curves(ctx) {
        let name = super::named(&compared.candidate.name, compared.candidate.id.as_str());
        let of = |words: &str, points: Vec<Point>, style: Style| Series {
            name: filled(words, &[("name", &name)]),
            place: compared.candidate.series,
            points,
            markers: false,
            style,
            band: Vec::new(),
        };
        let need = curve.points.iter().map(|at| point(at.in_flight, curve.fixed + at.kv_full)).collect();
        series.push(of(&w.need_of, need, Style::Predicted));
        let ends = [curve.points.first(), curve.points.last()].into_iter().flatten();
        series.push(of(&w.limit_of, ends.map(|at| point(at.in_flight, curve.limit)).collect(), Style::Candidate));
    }
    Plot {
        title: w.memory_plot.clone(),
        x_title: w.axis_in_flight.clone(),
        log: false,
        log_words: w.logarithmic.clone(),
        series,
        limit: None,
    }
}

fn plot_table(ctx: &Ctx<'_>) -> Table {
    let w = ctx.w;
    let mut table = Table::new(&w.memory_plot)
        .words(w.candidate.as_str())
        .figures(w.in_flight.as_str())
        .figures(Line::new().origin(Origin::Predicted).text(&w.need_full).muted("GiB"))
        .figures(Line::new().origin(Origin::Predicted).text(&w.need_p95).muted("GiB"))
        .figures(Line::new().origin(Origin::Predicted).text(&w.need_mean).muted("GiB"))
        .figures(Line::new().origin(Origin::Predicted).text(&w.limit_of_engine).muted("GiB"));
    for (compared, curve) in curves(ctx) {
        let gib = |bytes: f64| Line::from(format::fixed(bytes / GIB, 1));
        let each = |kv: Option<f64>| match kv {
            Some(kv) => gib(curve.fixed + kv),
            None => Line::absent(&ctx.text.common.not_stated),
        };
        // Five points are enough for a table of straight lines.
        for at in curve.points.iter().step_by(4) {
            table.row(vec![
                ctx.candidate(compared),
                format::count(u64::from(at.in_flight)).into(),
                gib(curve.fixed + at.kv_full),
                each(at.kv_p95),
                each(at.kv_mean),
                gib(curve.limit),
            ]);
        }
    }
    table
}
