//! What accepted work costs: each component once, the denominator, and figures that explain and are never added.

use super::{Ctx, Digits, filled, share};
use crate::domain::billing::Category;
use crate::domain::compare::accepted::{Aside, Carried, StepChoice};
use crate::domain::compare::tell::Teller;
use crate::domain::figure::{Gap, Origin};
use crate::domain::format;
use crate::report::Compared;
use crate::report::doc::{Block, Line, RowKind, Table};

/// The table, then where each accepted share was measured.
pub(super) fn cost(ctx: &Ctx<'_>) -> Vec<Block> {
    if ctx.report.candidates.is_empty() {
        return vec![Block::Para(Line::absent(&ctx.w.no_candidates))];
    }
    let mut blocks = vec![Block::Table(table(ctx)), Block::Note(ctx.w.explaining_note.as_str().into())];
    let bases: Vec<Line> = ctx.report.candidates.iter().map(|compared| basis(ctx, compared)).collect();
    blocks.push(Block::Para(Line::new().strong(&ctx.w.measured_where)));
    blocks.push(Block::List(bases));
    let formula = ctx.report.candidates.iter().find_map(|compared| compared.cost.per_thousand.as_ref().ok());
    if let Some(figure) = formula {
        blocks.push(Block::Formula(figure.formula.to_owned()));
    }
    blocks.extend(break_even(ctx));
    blocks
}

/// Where ways to pay cost the same, in the words of the screen.
fn break_even(ctx: &Ctx<'_>) -> Vec<Block> {
    let Some(of) = ctx.report.break_even else { return Vec::new() };
    let plan = ctx.report.plan;
    let teller = Teller { text: ctx.text, candidates: &plan.candidates, declared: &plan.cost };
    let mut lines: Vec<Line> = vec![teller.lowest_paragraph(of).into()];
    lines.extend(of.pairs.iter().map(|pair| Line::from(teller.pair(pair, &of.up_to))));
    let missing = of.missing.iter().map(|(who, gap)| {
        let values: [(&str, &dyn ToString); 2] = [("way", &teller.way(who)), ("gap", &ctx.text.gap(gap))];
        Line::from(filled(&ctx.text.cost.no_line, &values))
    });
    lines.extend(missing);
    vec![Block::Para(Line::new().strong(&ctx.text.cost.break_even)), Block::List(lines)]
}

/// What a row says about a candidate.
type Cell = fn(&Ctx<'_>, &Compared<'_>) -> Line;

fn table(ctx: &Ctx<'_>) -> Table {
    let w = ctx.w;
    let mut table = Table::new(&w.chapter_cost).even().words(Line::from(w.component.as_str()).muted(&w.interval_below));
    for compared in &ctx.report.candidates {
        table = table.figures(ctx.candidate_head(compared));
    }
    let mut row = |kind, name: Line, cell: &dyn Fn(&Compared<'_>) -> Line| {
        let cells = ctx.report.candidates.iter().map(cell);
        table.row_of(kind, std::iter::once(name).chain(cells).collect());
    };
    for category in Category::ALL {
        row(RowKind::Normal, ctx.text.category(category).into(), &|compared| of_category(ctx, compared, category));
    }
    let hours = &ctx.report.plan.brief.month_hours;
    let rows: [(RowKind, Line, Cell); 9] = [
        (RowKind::Total, Line::new().strong(filled(&w.total_hours, &[("hours", hours)])), |ctx, compared| {
            total(ctx, compared)
        }),
        (RowKind::Normal, w.units_for_peak.as_str().into(), |ctx, compared| {
            of_carried(ctx, compared, |carried| {
                Line::number(Origin::Derived { from_measured: true }, carried.units.to_string(), "")
            })
        }),
        (RowKind::Normal, w.month_of_units.as_str().into(), |ctx, compared| {
            ctx.money(&compared.cost.month_total, Digits::Minor)
        }),
        (RowKind::Normal, w.requests_month.as_str().into(), |ctx, compared| {
            of_carried(ctx, compared, |carried| ctx.big_count(&carried.requests_month))
        }),
        (RowKind::Normal, w.accepted_share.as_str().into(), |ctx, compared| {
            of_carried(ctx, compared, |carried| share(&carried.share))
        }),
        (RowKind::Normal, w.accepted_month.as_str().into(), |ctx, compared| {
            of_carried(ctx, compared, |carried| ctx.big_count(&carried.accepted_month))
        }),
        (RowKind::Normal, w.per_accepted.as_str().into(), |ctx, compared| {
            ctx.money(&compared.cost.per_request, Digits::Four)
        }),
        (RowKind::Total, Line::new().strong(&w.per_thousand), |ctx, compared| {
            ctx.money(&compared.cost.per_thousand, Digits::Four)
        }),
        (RowKind::Normal, w.per_million.as_str().into(), |ctx, compared| {
            ctx.money(&compared.cost.per_million_tokens, Digits::Four)
        }),
    ];
    for (kind, name, cell) in rows {
        row(kind, name, &|compared| cell(ctx, compared));
    }
    let explaining: [(&str, Cell); 3] =
        [(&w.explain_full_use, full_use), (&w.explain_idle, idle), (&w.explain_lost, lost)];
    for (name, cell) in explaining {
        row(RowKind::Explaining, name.into(), &|compared| cell(ctx, compared));
    }
    table
}

/// Every line of a category; each component stands in exactly one.
fn of_category(ctx: &Ctx<'_>, compared: &Compared<'_>, category: Category) -> Line {
    let lines: Vec<_> = compared.cost.month.lines.iter().filter(|line| line.category == category).collect();
    if lines.is_empty() {
        return Line::absent(&ctx.w.not_in_offer);
    }
    let several = lines.len() > 1;
    let mut out = Line::new();
    for (idx, line) in lines.into_iter().enumerate() {
        if idx > 0 {
            out = out.br();
        }
        if several && !line.label.trim().is_empty() {
            out = out.muted(line.label.trim());
        }
        out = out.line(super::candidates::amount(ctx, &line.amount));
    }
    out
}

fn total(ctx: &Ctx<'_>, compared: &Compared<'_>) -> Line {
    let month = &compared.cost.month;
    let line = ctx.money(&month.total, Digits::Minor);
    match (&month.total, &month.lower_bound) {
        (Err(_), Some(bound)) => {
            let bound = format!("{} {}", bound.show(), bound.currency.code());
            line.br().muted(filled(&ctx.w.at_least, &[("bound", &bound)]))
        }
        _ => line,
    }
}

fn of_carried(ctx: &Ctx<'_>, compared: &Compared<'_>, show: impl FnOnce(&Carried) -> Line) -> Line {
    match &compared.cost.carried {
        Ok(carried) => show(carried),
        Err(gap) => absent(ctx, gap),
    }
}

fn absent(ctx: &Ctx<'_>, gap: &Gap) -> Line {
    Line::absent(ctx.text.gap(gap))
}

fn full_use(ctx: &Ctx<'_>, compared: &Compared<'_>) -> Line {
    ctx.money(&compared.cost.full_use_per_thousand, Digits::Four)
}

fn aside(aside: &Aside) -> Line {
    Line::number(Origin::Derived { from_measured: true }, aside.text(), aside.unit())
}

fn idle(ctx: &Ctx<'_>, compared: &Compared<'_>) -> Line {
    of_carried(ctx, compared, |carried| match &carried.explaining.idle {
        Some(idle) => aside(idle),
        None => Line::absent(&ctx.text.common.not_stated),
    })
}

fn lost(ctx: &Ctx<'_>, compared: &Compared<'_>) -> Line {
    of_carried(ctx, compared, |carried| {
        let explaining = &carried.explaining;
        let values: [(&str, &dyn ToString); 5] = [
            ("late", &explaining.late.text()),
            ("rejected", &explaining.rejected.text()),
            ("failed", &explaining.failed.text()),
            ("cut", &explaining.cut.text()),
            ("sent", &explaining.sent.text()),
        ];
        Line::number(Origin::Measured, filled(&ctx.w.lost_of_sent, &values), "")
    })
}

/// The run and step an accepted share stands on.
fn basis(ctx: &Ctx<'_>, compared: &Compared<'_>) -> Line {
    let (w, name) = (ctx.w, ctx.candidate(compared));
    let carried = match &compared.cost.carried {
        Ok(carried) => carried,
        Err(gap) => return name.text(" ").line(absent(ctx, gap)),
    };
    let basis = &carried.basis;
    let choice = match basis.choice {
        StepChoice::AtPeak => &w.step_at_peak,
        StepChoice::AbovePeak => &w.step_above_peak,
        StepChoice::HighestWithinSlo => &w.step_highest,
    };
    let values: [(&str, &dyn ToString); 3] = [
        ("rate", &format::short(basis.rate)),
        ("step", &(basis.step_idx + 1)),
        ("when", &format::moment(&basis.taken_at)),
    ];
    let line = name.text(" ").text(filled(choice, &values)).text(" ").cites([&basis.evidence]);
    match ctx.kind_remark(basis.kind) {
        Some(kind) => line.text(" ").muted(kind),
        None => line,
    }
}
