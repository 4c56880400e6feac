//! The brief, and what is open in it.

use super::{Ctx, filled, plain};
use crate::domain::brief::{AcceptRule, Brief, Lengths};
use crate::domain::figure::Origin;
use crate::domain::format;
use crate::domain::gate::{FieldState, Group};
use crate::domain::money::Exact;
use crate::report::doc::{Block, Line, Mark, Part, Table};

/// The gate with every open field, then the fields as written.
pub(super) fn brief(ctx: &Ctx<'_>) -> Vec<Block> {
    let (w, gate) = (ctx.w, ctx.report.gate);
    let mut blocks = vec![Block::Para(filled(&w.gate, &[("filled", &gate.filled), ("total", &gate.total)]).into())];
    let open: Vec<Line> = gate
        .open()
        .map(|field| {
            let state = if field.state == FieldState::Missing { &w.missing } else { &w.weak };
            Line::new()
                .with(Part::Shape(Mark::Inconclusive))
                .strong(ctx.text.name(field.input))
                .muted(state)
                .br()
                .text(field.reason(ctx.text))
        })
        .collect();
    if !open.is_empty() {
        blocks.push(Block::List(open));
    }
    blocks.push(Block::Table(fields(ctx)));
    blocks
}

fn fields(ctx: &Ctx<'_>) -> Table {
    let (w, brief) = (ctx.w, &ctx.report.plan.brief);
    let mut table = Table::new(&w.chapter_brief).words(w.field.as_str()).words(w.value.as_str());
    for group in Group::ALL {
        let (n, total) = ctx.report.gate.of_group(group);
        let name = match group {
            Group::OutcomeModel => &w.group_outcome,
            Group::Traffic => &w.group_traffic,
            Group::SloAcceptance => &w.group_slo,
            Group::Ownership => &w.group_ownership,
        };
        let counts = filled(&ctx.text.common.n_of_total, &[("n", &n), ("total", &total)]);
        table.group(Line::new().text(name).muted(counts));
        let rows = match group {
            Group::OutcomeModel => outcome(ctx, brief),
            Group::Traffic => traffic(ctx, brief),
            Group::SloAcceptance => slo(ctx, brief),
            Group::Ownership => ownership(ctx, brief),
        };
        for (field, value) in rows {
            table.row(vec![ctx.text.name(field).into(), value]);
        }
    }
    table
}

/// Fields by the names of `Text::name`, with their values.
type Fields = Vec<(&'static str, Line)>;

fn count(ctx: &Ctx<'_>, n: Option<u32>, unit: &str) -> Line {
    ctx.stated_value(n.map(|n| format::count(u64::from(n))), unit)
}

fn number(ctx: &Ctx<'_>, value: Option<f64>, unit: &str) -> Line {
    ctx.stated_value(value.map(plain), unit)
}

fn outcome(ctx: &Ctx<'_>, brief: &Brief) -> Fields {
    let model = &brief.model;
    vec![
        ("outcome", ctx.stated(&brief.outcome)),
        ("model", ctx.stated(&model.name)),
        ("revision", ctx.stated(&model.revision)),
        ("parameters", ctx.stated_value(model.parameters.map(format::count), "")),
        ("layers", count(ctx, model.layers, "")),
        ("hidden", count(ctx, model.hidden, "")),
        ("heads", count(ctx, model.heads, "")),
        ("kv_heads", count(ctx, model.kv_heads, "")),
        ("head_dim", count(ctx, model.head_dim, "")),
        ("vocab", count(ctx, model.vocab, "")),
        ("precision", ctx.stated_value(brief.precision.map(|precision| precision.name().to_owned()), "")),
        ("context_tokens", count(ctx, brief.context_tokens, &ctx.w.tokens)),
    ]
}

fn traffic(ctx: &Ctx<'_>, brief: &Brief) -> Fields {
    vec![
        ("mean_rate", rate(ctx, brief.mean_rate)),
        ("peak_rate", rate(ctx, brief.peak_rate)),
        ("input_tokens", lengths(ctx, brief.input_tokens)),
        ("output_tokens", lengths(ctx, brief.output_tokens)),
        ("month_hours", Line::number(Origin::Declared, brief.month_hours.to_string(), "h")),
    ]
}

fn slo(ctx: &Ctx<'_>, brief: &Brief) -> Fields {
    let slo = &brief.slo;
    // A per cent value without the tail of its binary fraction.
    let error = slo.error_share.map(|share| (share * 1e8).round() / 1e6);
    vec![
        ("slo_ttft_p95", number(ctx, slo.ttft_p95_ms, "ms")),
        ("slo_itl_p95", number(ctx, slo.itl_p95_ms, "ms")),
        ("slo_e2e_p95", number(ctx, slo.e2e_p95_ms, "ms")),
        ("slo_error_share", number(ctx, error, "%")),
        ("slo_output_rate", number(ctx, slo.output_tokens_per_sec, "tok/s")),
        ("acceptance_rule", ctx.stated(&rule(ctx, &brief.acceptance))),
        ("golden_prompts", count(ctx, brief.golden_prompts, "")),
    ]
}

fn ownership(ctx: &Ctx<'_>, brief: &Brief) -> Fields {
    let budget = match brief.budget_month {
        Some(money) => Line::number(Origin::Declared, Exact::from(money).show(), money.currency.code()),
        None => ctx.stated_value(None, ""),
    };
    vec![
        ("data_boundary", ctx.stated(&brief.data_boundary)),
        ("must_persist", ctx.stated(&brief.must_persist)),
        ("owner", ctx.stated(&brief.owner)),
        ("budget_month", budget),
        ("stop_rule", ctx.stated(&brief.stop_rule)),
        ("fallback", ctx.stated(&brief.fallback)),
    ]
}

fn rate(ctx: &Ctx<'_>, rate: Option<f64>) -> Line {
    let line = number(ctx, rate, "req/s");
    match rate {
        Some(rate) => line.muted(filled(&ctx.w.a_day, &[("n", &format::fixed(rate * 86_400.0, 0))])),
        None => line,
    }
}

fn lengths(ctx: &Ctx<'_>, lengths: Lengths) -> Line {
    let each = |n: Option<u32>| n.map_or_else(|| ctx.text.common.not_stated.clone(), |n| format::count(u64::from(n)));
    match (lengths.mean, lengths.p95) {
        (None, None) => ctx.stated_value(None, ""),
        (mean, p95) => {
            let words = filled(&ctx.w.mean_and_p95, &[("mean", &each(mean)), ("p95", &each(p95))]);
            Line::number(Origin::Declared, words, &ctx.w.tokens)
        }
    }
}

/// The acceptance rule in words; empty when nobody stated one.
pub(super) fn rule(ctx: &Ctx<'_>, rule: &AcceptRule) -> String {
    let w = ctx.w;
    match rule {
        AcceptRule::NotStated => String::new(),
        AcceptRule::AnyComplete => w.rule_any.clone(),
        AcceptRule::Contains(text) => filled(&w.rule_contains, &[("text", text)]),
        AcceptRule::MinChars(n) => filled(&w.rule_min_chars, &[("n", n)]),
        AcceptRule::External(words) => filled(&w.rule_external, &[("words", words)]),
    }
}
