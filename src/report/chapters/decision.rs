//! The decision, and the candidates side by side.

use super::{Ctx, Digits, filled, named, plain};
use crate::domain::acceptance::Metric;
use crate::domain::compare::promises::Agreement;
use crate::domain::evidence::Kind;
use crate::domain::figure::Origin;
use crate::domain::format;
use crate::domain::memory::GIB;
use crate::domain::money::Exact;
use crate::report::Compared;
use crate::report::doc::{Block, Line, Mark, Part, Table};

/// The record of the decision, then the table a meeting looks at.
pub(super) fn decision(ctx: &Ctx<'_>) -> Vec<Block> {
    let mut blocks = record(ctx);
    if ctx.report.candidates.is_empty() {
        blocks.push(Block::Para(Line::absent(&ctx.w.no_candidates)));
        return blocks;
    }
    blocks.push(Block::Part(ctx.w.side_by_side.as_str().into()));
    blocks.push(Block::Table(side_by_side(ctx)));
    blocks.push(Block::Note(basis(ctx)));
    blocks
}

fn record(ctx: &Ctx<'_>) -> Vec<Block> {
    let (w, plan) = (ctx.w, ctx.report.plan);
    let decision = &plan.decision;
    let Some(action) = decision.action else {
        return vec![Block::Para(Line::absent(&w.nothing_decided))];
    };
    let candidate = decision
        .candidate
        .as_ref()
        .map(|id| plan.candidate(id).map_or(id.as_str(), |candidate| named(&candidate.name, id.as_str())).to_owned());
    let words = |text: &str| if text.trim().is_empty() { Line::absent(&w.nobody_said) } else { text.trim().into() };
    let condition = match (decision.condition.trim(), decision.condition_due) {
        ("", _) => Line::absent(&w.no_condition),
        (condition, Some(due)) => Line::new().text(condition).br().muted(filled(&w.due, &[("date", &due)])),
        (condition, None) => condition.into(),
    };
    let fact = |name: &str, line: Line| (name.to_owned(), line);
    let facts = vec![
        fact(&w.decided, Line::new().strong(ctx.text.action(action))),
        fact(&w.candidate, candidate.map_or_else(|| Line::absent(&w.no_candidate_named), Line::from)),
        fact(&w.condition, condition),
        fact(&w.decision_owner, words(&decision.owner)),
        fact(&w.date, decision.date.map_or_else(|| Line::absent(&w.nobody_said), |date| date.to_string().into())),
        fact(&w.signatures, signatures(ctx)),
    ];
    let reasons: Vec<Line> =
        decision.reasons.iter().filter(|reason| !reason.trim().is_empty()).map(|reason| reason.trim().into()).collect();
    let reasons = if reasons.is_empty() { Block::Para(Line::absent(&w.no_reasons)) } else { Block::List(reasons) };
    vec![Block::Facts(facts), Block::Part(w.reasons.as_str().into()), reasons]
}

fn signatures(ctx: &Ctx<'_>) -> Line {
    let signatures = &ctx.report.plan.decision.signatures;
    if signatures.is_empty() {
        return Line::absent(&ctx.w.draft);
    }
    let digest = ctx.report.plan.unsigned_digest();
    let mut line = Line::new();
    for (idx, signature) in signatures.iter().enumerate() {
        if idx > 0 {
            line = line.br();
        }
        let role = signature.role.trim();
        let who = if role.is_empty() { signature.by.clone() } else { format!("{} ({role})", signature.by) };
        line = line.text(who).muted(format!("{} · r{}", format::moment(&signature.at), signature.revision));
        if signature.plan_digest != digest {
            line = line.bad(&ctx.w.signed_other);
        }
    }
    line
}

/// What a cell says about a candidate.
type Cell = fn(&Ctx<'_>, &Compared<'_>) -> Line;

fn side_by_side(ctx: &Ctx<'_>) -> Table {
    let (w, plan) = (ctx.w, ctx.report.plan);
    let mut table = Table::new(&w.side_by_side).even().words("");
    table.roomy = true;
    for (idx, compared) in ctx.report.candidates.iter().enumerate() {
        table = table.figures(ctx.candidate_head(compared));
        if plan.decision.candidate.as_ref() == Some(&compared.candidate.id) {
            table.highlight = Some(idx + 1);
        }
    }
    let rows: [(Line, Cell); 9] = [
        (Line::new().strong(&w.acceptance), acceptance),
        (Line::new().strong(&w.cost_thousand).muted(&w.interval_95), cost),
        (month_name(ctx), month),
        (Line::from(w.highest_load.as_str()).muted(&w.per_unit), highest_load),
        (w.goodput_there.as_str().into(), goodput),
        (ttft_name(ctx), ttft),
        (w.headroom.as_str().into(), headroom),
        (w.promised_found.as_str().into(), found),
        (w.term.as_str().into(), term),
    ];
    for (name, cell) in rows {
        let cells = ctx.report.candidates.iter().map(|compared| cell(ctx, compared));
        table.row(std::iter::once(name).chain(cells).collect());
    }
    table
}

fn month_name(ctx: &Ctx<'_>) -> Line {
    match ctx.report.plan.brief.budget_month {
        Some(budget) => {
            let shown = format!("{} {}", Exact::from(budget).show(), budget.currency.code());
            filled(&ctx.w.month_budget, &[("budget", &shown)]).into()
        }
        None => ctx.w.month_no_budget.as_str().into(),
    }
}

fn ttft_name(ctx: &Ctx<'_>) -> Line {
    let brief = &ctx.report.plan.brief;
    let name = Line::from(match brief.peak_rate {
        Some(peak) => filled(&ctx.w.ttft_at, &[("peak", &plain(peak))]),
        None => ctx.w.ttft_at_peak.clone(),
    });
    match brief.slo.ttft_p95_ms {
        Some(limit) => name.muted(filled(&ctx.w.limit_ms, &[("limit", &plain(limit))])),
        None => name,
    }
}

fn acceptance(ctx: &Ctx<'_>, compared: &Compared<'_>) -> Line {
    let Some(worst) = Mark::worst(compared.judged) else { return Line::absent(&ctx.w.no_criteria) };
    super::acceptance::tally(compared, Line::new().badge(worst).br())
}

/// The figure the eye should find first.
fn cost(ctx: &Ctx<'_>, compared: &Compared<'_>) -> Line {
    let line = ctx.money(&compared.cost.per_thousand, Digits::Four);
    let strong = line.0.into_iter().map(|part| if let Part::Text(text) = part { Part::Strong(text) } else { part });
    let line = Line(strong.collect());
    match &compared.cost.carried {
        Ok(carried) if compared.cost.per_thousand.is_ok() => with_kind(ctx, line, carried.basis.kind),
        _ => line,
    }
}

/// The line, and below it that what it stands on is not real.
fn with_kind(ctx: &Ctx<'_>, line: Line, kind: Kind) -> Line {
    match ctx.kind_remark(kind) {
        Some(kind) => line.br().muted(kind),
        None => line,
    }
}

fn month(ctx: &Ctx<'_>, compared: &Compared<'_>) -> Line {
    let cost = compared.cost;
    // Without a run nobody knows how many units carry the peak; one unit is then all that can be priced.
    let (answer, units) = match (&cost.month_total, &cost.carried) {
        (Ok(_), Ok(carried)) => (&cost.month_total, Some(carried.units)),
        _ => (&cost.month.total, None),
    };
    let Ok(figure) = answer else { return ctx.money(answer, Digits::Minor) };
    let (shown, code) = (figure.value.show(), figure.value.currency.code());
    let line = Line::new().origin(figure.origin);
    let line = if cost.over_budget.is_some() { line.bad(shown) } else { line.text(shown) };
    let line = match units {
        Some(1) => line.muted(code),
        Some(units) => line.muted(code).muted(filled(&ctx.w.for_units, &[("n", &units)])),
        None => line.muted(code).muted(&ctx.w.for_one_unit),
    };
    match &cost.over_budget {
        Some(over) => {
            let over = format!("{} {}", over.show(), over.currency.code());
            line.br().bad(filled(&ctx.w.over_budget, &[("over", &over)]))
        }
        None => line,
    }
}

fn highest_load(ctx: &Ctx<'_>, compared: &Compared<'_>) -> Line {
    match &compared.cost.carried {
        Ok(carried) => {
            let figure = &carried.highest_rate;
            let line = Line::number(figure.origin, format::short(figure.value), "req/s");
            with_kind(ctx, line, carried.basis.kind)
        }
        Err(gap) => Line::absent(ctx.text.gap(gap)),
    }
}

fn goodput(ctx: &Ctx<'_>, compared: &Compared<'_>) -> Line {
    match &compared.cost.carried {
        Ok(carried) => {
            let figure = &carried.capacity_per_sec;
            let line = Line::number(figure.origin, format::short(figure.value), "req/s");
            with_kind(ctx, line, carried.basis.kind)
        }
        Err(gap) => Line::absent(ctx.text.gap(gap)),
    }
}

fn ttft(ctx: &Ctx<'_>, compared: &Compared<'_>) -> Line {
    super::acceptance::of_metric(ctx, compared, Metric::TtftP95)
}

fn headroom(ctx: &Ctx<'_>, compared: &Compared<'_>) -> Line {
    match compared.memory {
        Ok(figure) => {
            let gib = format::fixed(figure.value.free.value / GIB, 1);
            let line = Line::new().origin(figure.origin);
            let line = if figure.value.free.value < 0.0 { line.bad(gib) } else { line.text(gib) };
            line.muted("GiB")
        }
        Err(gap) => Line::absent(ctx.text.gap(gap)),
    }
}

fn found(ctx: &Ctx<'_>, compared: &Compared<'_>) -> Line {
    let w = ctx.w;
    let n_of = |agreement| compared.promises.iter().filter(|row| row.agreement == agreement).count();
    let (mismatches, matches) = (n_of(Agreement::Mismatch), n_of(Agreement::Match));
    let looked = mismatches + matches;
    let line = match (mismatches, looked) {
        (_, 0) => return Line::absent(&w.not_looked),
        (0, looked) => Line::new().with(Part::Shape(Mark::Pass)).text(filled(&w.all_as_promised, &[("n", &looked)])),
        (mismatches, looked) => Line::new()
            .with(Part::Shape(Mark::Fail))
            .text(filled(&w.n_mismatches, &[("n", &mismatches), ("total", &looked)])),
    };
    match compared.promises.iter().filter_map(|row| ctx.kind_remark(row.kind?)).next() {
        Some(kind) => line.br().muted(kind),
        None => line,
    }
}

fn term(ctx: &Ctx<'_>, compared: &Compared<'_>) -> Line {
    let (w, term) = (ctx.w, &compared.candidate.term);
    let months = match term.months {
        None => Line::absent(&ctx.text.common.not_stated),
        Some(0) => Line::number(Origin::Declared, &w.any_time, ""),
        Some(n) => Line::number(Origin::Declared, filled(&w.n_months, &[("n", &n)]), ""),
    };
    match term.reclaimable {
        Some(true) => months.br().muted(&w.reclaimable),
        Some(false) => months,
        None => months.br().muted(&w.reclaim_not_stated),
    }
}

fn basis(ctx: &Ctx<'_>) -> Line {
    let (w, brief) = (ctx.w, &ctx.report.plan.brief);
    let rate = |rate: Option<f64>| {
        rate.map_or_else(|| ctx.text.common.not_stated.clone(), |rate| format!("{} req/s", plain(rate)))
    };
    let values: [(&str, &dyn ToString); 3] =
        [("mean", &rate(brief.mean_rate)), ("peak", &rate(brief.peak_rate)), ("hours", &brief.month_hours)];
    let counted = if ctx.report.plan.demonstration { &w.demonstration_counts } else { &w.real_counts };
    Line::new().text(filled(&w.demand_basis, &values)).text(" ").text(counted)
}
