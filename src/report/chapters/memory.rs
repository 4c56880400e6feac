//! The memory estimate, with its formula.

use super::{Ctx, filled};
use crate::domain::figure::{Input, Origin};
use crate::domain::format;
use crate::domain::memory::offer::{NeedOf, Slot};
use crate::domain::memory::serve::Verdict;
use crate::domain::memory::{Band, GIB, MemoryCurve, MemoryEstimate};
use crate::report::Compared;
use crate::report::doc::{Block, Line, Mark, Part, RowKind, Table};
use crate::report::svg::{Plot, Point, Series, Style};

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

/// A figure of GiB with its interval below, where it has one.
fn gib(band: Band) -> Line {
    let shown = format::fixed(band.value / GIB, 1);
    let line = Line::new().origin(Origin::Predicted);
    let line = (if band.value < 0.0 { line.bad(shown) } else { line.text(shown) }).muted("GiB");
    let [low, high] = [band.low, band.high].map(|bytes| format::fixed(bytes / GIB, 1));
    if low == high { line } else { line.br().muted(format!("[{low}, {high}]")) }
}

fn parts(ctx: &Ctx<'_>) -> Table {
    let w = ctx.w;
    let mut table = Table::new(&w.chapter_memory).even().words(w.one_gpu.as_str());
    for compared in &ctx.report.candidates {
        table = table.figures(ctx.candidate_head(compared));
    }
    let name = |name: &str| ctx.text.name(name).to_owned();
    let mut row = |kind: RowKind, name: String, cell: &dyn Fn(&MemoryEstimate) -> Line| {
        let cells = ctx.report.candidates.iter().map(|compared| match compared.memory {
            Ok(figure) => cell(&figure.value),
            Err(gap) => Line::absent(ctx.text.gap(gap)),
        });
        table.row_of(kind, std::iter::once(name.into()).chain(cells).collect());
    };
    let known = || ctx.report.candidates.iter().filter_map(|compared| compared.memory.as_ref().ok());
    row(RowKind::Normal, name("gpu_memory"), &|estimate| gib(estimate.memory));
    row(RowKind::Normal, w.limit_of_engine.clone(), &|estimate| gib(estimate.limit));
    let mut names: Vec<&'static str> = Vec::new();
    for part in known().flat_map(|figure| &figure.value.parts) {
        if !names.contains(&part.name) {
            names.push(part.name);
        }
    }
    for part in names {
        row(RowKind::Normal, name(part), &|estimate| part_of(ctx, estimate, part));
    }
    row(RowKind::Total, w.headroom.clone(), &|estimate| gib(estimate.free));
    let rest: [(String, Cell); 4] = [
        (w.fits_at_once.clone(), capacity),
        (w.fits_of_mix.clone(), |ctx, estimate| match estimate.serving.as_ref().and_then(|serving| serving.mix) {
            Some((requests, _)) => Line::number(Origin::Predicted, whole(requests.value), &ctx.w.requests_of_mix),
            None => Line::absent(&ctx.text.common.not_stated),
        }),
        (w.split_over.clone(), |_, estimate| Line::number(Origin::Declared, estimate.n_gpus.to_string(), "GPU")),
        (w.result.clone(), fit),
    ];
    for (name, cell) in rest {
        row(RowKind::Normal, name, &|estimate| cell(ctx, estimate));
    }
    table
}

fn part_of(ctx: &Ctx<'_>, estimate: &MemoryEstimate, name: &str) -> Line {
    let Some(part) = estimate.parts.iter().find(|part| part.name == name) else {
        return Line::absent(&ctx.w.not_used);
    };
    match (&estimate.serving, part.slot) {
        (Some(serving), Slot::Work) => gib(part.bytes).br().muted(filled(
            &ctx.w.in_flight_times,
            &[
                ("n", &format::count(u64::from(serving.in_flight))),
                ("tokens", &format::count(u64::from(serving.context))),
            ],
        )),
        _ => gib(part.bytes),
    }
}

fn capacity(ctx: &Ctx<'_>, estimate: &MemoryEstimate) -> Line {
    let Some(serving) = &estimate.serving else { return Line::absent(&ctx.w.not_used) };
    let unit = filled(&ctx.w.requests_of, &[("tokens", &format::count(u64::from(serving.context)))]);
    Line::number(Origin::Predicted, whole(serving.capacity.value), &unit)
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative; float casts saturate")]
fn whole(value: f64) -> String {
    format::count(value.max(0.0).floor() as u64)
}

fn fit(ctx: &Ctx<'_>, estimate: &MemoryEstimate) -> Line {
    let Some(verdict) = estimate.verdict else { return Line::absent(ctx.text.name("not_judged")) };
    let mark = match verdict {
        Verdict::Fits => Mark::Pass,
        Verdict::FitsWithLess | Verdict::TooClose => Mark::Inconclusive,
        Verdict::DoesNotFit => Mark::Fail,
    };
    Line::new().with(Part::Shape(mark)).text(ctx.text.name(verdict.name()))
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

fn curves<'a>(ctx: &'a Ctx<'_>) -> impl Iterator<Item = (&'a Compared<'a>, &'a MemoryCurve)> {
    ctx.report
        .candidates
        .iter()
        .filter_map(|compared| Some((compared, &compared.memory_curves.first()?.as_ref().ok()?.value)))
}

/// All that a GPU holds at a point of a curve.
fn whole_need(curve: &MemoryCurve, need: Band) -> Band {
    curve.fixed + need
}

fn plot(ctx: &Ctx<'_>) -> Plot {
    let w = ctx.w;
    let point = |x: f64, bytes: f64| Point { x, y: bytes / GIB, interval: None, hollow: false };
    let mut series = Vec::new();
    let mut axis = None;
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
        axis.get_or_insert(curve.axis);
        let Some((_, points)) = curve.needs.first() else { continue };
        let need = || points.iter().map(|(x, need)| (*x, whole_need(curve, *need)));
        let mut line = of(&w.need_of, need().map(|(x, band)| point(x, band.value)).collect(), Style::Predicted);
        line.band = need().map(|(x, band)| (x, band.low / GIB, band.high / GIB)).collect();
        series.push(line);
        let ends = [points.first(), points.last()].into_iter().flatten();
        let limit = ends.map(|(x, _)| point(*x, curve.limit.value)).collect();
        series.push(of(&w.limit_of, limit, Style::Candidate));
    }
    Plot {
        title: w.memory_plot.clone(),
        x_title: axis.map_or_else(String::new, |axis| ctx.text.name(axis.key()).to_owned()),
        log: false,
        log_words: w.logarithmic.clone(),
        series,
        limit: None,
    }
}

fn plot_table(ctx: &Ctx<'_>) -> Table {
    let w = ctx.w;
    let axis = curves(ctx).next().map_or("in_flight", |(_, curve)| curve.axis.key());
    let mut table = Table::new(&w.memory_plot).words(w.candidate.as_str()).figures(ctx.text.name(axis));
    let needs = [(NeedOf::Full, &w.need_full), (NeedOf::P95, &w.need_p95), (NeedOf::Mean, &w.need_mean)];
    let has = |of: NeedOf| curves(ctx).any(|(_, curve)| curve.needs.iter().any(|(need, _)| *need == of));
    let shown: Vec<_> = needs.into_iter().filter(|(of, _)| has(*of)).collect();
    for (_, words) in &shown {
        table = table.figures(Line::new().origin(Origin::Predicted).text(words.as_str()).muted("GiB"));
    }
    table = table.figures(Line::new().origin(Origin::Predicted).text(&w.limit_of_engine).muted("GiB"));
    for (compared, curve) in curves(ctx) {
        let gib = |bytes: f64| Line::from(format::fixed(bytes / GIB, 1));
        let Some((_, first)) = curve.needs.first() else { continue };
        // Five points are enough for a table of nearly straight lines.
        for (idx, (x, _)) in first.iter().enumerate().step_by(4) {
            let mut row = vec![ctx.candidate(compared), whole(*x).into()];
            row.extend(shown.iter().map(|(of, _)| {
                let line = curve.needs.iter().find(|(need, _)| need == of);
                match line.and_then(|(_, points)| points.get(idx)) {
                    Some((_, need)) => gib(whole_need(curve, *need).value),
                    None => Line::absent(&ctx.text.common.not_stated),
                }
            }));
            row.push(gib(curve.limit.value));
            table.row(row);
        }
    }
    table
}
