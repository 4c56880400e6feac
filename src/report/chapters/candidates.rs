//! The offers: what each promises, what its price is made of, and what it leaves unsaid.

use super::{Ctx, Digits, filled};
use crate::domain::billing::{Component, Status};
use crate::domain::compare::month::{LineAmount, MonthLine};
use crate::domain::compare::promises::PromiseRow;
use crate::domain::figure::Origin;
use crate::domain::format;
use crate::domain::money::Exact;
use crate::report::Compared;
use crate::report::doc::{Block, Line, RowKind, Table};

/// Promises side by side, then each offer's price and open questions.
pub(super) fn candidates(ctx: &Ctx<'_>) -> Vec<Block> {
    if ctx.report.candidates.is_empty() {
        return vec![Block::Para(Line::absent(&ctx.w.no_candidates))];
    }
    let mut blocks = vec![Block::Table(promises(ctx))];
    for compared in &ctx.report.candidates {
        blocks.push(Block::Part(ctx.candidate(compared)));
        blocks.extend(source(ctx, compared));
        blocks.push(Block::Table(billing(ctx, compared)));
        blocks.push(Block::Para(coverage(ctx, compared)));
        if !compared.questions.is_empty() {
            blocks.push(Block::Para(Line::new().strong(&ctx.w.questions)));
            blocks.push(Block::List(compared.questions.iter().map(|asked| asked.words(ctx.text).into()).collect()));
        }
    }
    blocks
}

/// The promises of a candidate once, whatever number of hosts it has, in the order of the offer.
fn stated<'a>(compared: &Compared<'a>) -> Vec<&'a PromiseRow> {
    let host = compared.promises.first().and_then(|row| row.host.as_ref());
    let mut rows: Vec<&PromiseRow> = compared.promises.iter().filter(|row| row.host.as_ref() == host).collect();
    let place = |field: &str| FIELDS.iter().position(|other| *other == field).unwrap_or(FIELDS.len());
    rows.sort_by_key(|row| place(row.field));
    rows
}

/// Fields of an offer, in the order of the table.
const FIELDS: [&str; 15] = [
    "boundary",
    "gpu_model",
    "gpu_count",
    "gpu_memory",
    "driver",
    "cuda",
    "vcpu",
    "ram",
    "disk",
    "disk_kind",
    "network",
    "os_image",
    "ipv4",
    "ipv6",
    "region",
];

fn promises(ctx: &Ctx<'_>) -> Table {
    let w = ctx.w;
    let mut table =
        Table::new(&w.promised_configuration).even().words(Line::new().origin(Origin::Declared).text(&w.promised));
    for compared in &ctx.report.candidates {
        table = table.words(ctx.candidate_head(compared));
    }
    for field in FIELDS {
        let cells = ctx.report.candidates.iter().map(|compared| {
            let row = stated(compared).into_iter().find(|row| row.field == field);
            match row.and_then(|row| row.promised.as_ref()) {
                Some(promised) => promised.words(ctx.text).into(),
                None => Line::absent(&ctx.text.common.not_stated),
            }
        });
        table.row(std::iter::once(Line::from(ctx.text.name(field))).chain(cells).collect());
    }
    table
}

fn source(ctx: &Ctx<'_>, compared: &Compared<'_>) -> Option<Block> {
    let source = &compared.candidate.source;
    let line = match (source.who.trim(), source.read_on) {
        ("", None) => return None,
        (who, Some(on)) if !who.is_empty() => filled(&ctx.w.read_from_on, &[("who", &who), ("date", &on)]),
        ("", Some(on)) => filled(&ctx.w.read_on, &[("date", &on)]),
        (who, _) => filled(&ctx.w.read_from, &[("who", &who)]),
    };
    Some(Block::Note(line.into()))
}

fn billing(ctx: &Ctx<'_>, compared: &Compared<'_>) -> Table {
    let w = ctx.w;
    let mut table = Table::new(&w.billing)
        .words(w.component.as_str())
        .words(w.label.as_str())
        .figures(Line::new().origin(Origin::Declared).text(&w.price))
        .figures(w.quantity.as_str())
        .words(w.when_stopped.as_str())
        .figures(Line::from(w.a_month_one_unit.as_str()));
    let month = &compared.cost.month;
    for (component, line) in compared.candidate.billing.iter().zip(&month.lines) {
        table.row(billing_row(ctx, component, line));
    }
    let mut total = ctx.money(&month.total, Digits::Minor);
    if let (Err(_), Some(bound)) = (&month.total, &month.lower_bound) {
        let bound = format!("{} {}", bound.show(), bound.currency.code());
        total = total.br().muted(filled(&w.at_least, &[("bound", &bound)]));
    }
    let name = filled(&w.total_hours, &[("hours", &month.month_hours)]);
    let empty = Line::new;
    table.row_of(RowKind::Total, vec![Line::new().strong(name), empty(), empty(), empty(), empty(), total]);
    let stopped = ctx.money(&month.stopped_day, Digits::Minor);
    table.row_of(RowKind::Explaining, vec![w.stopped_day.as_str().into(), empty(), empty(), empty(), empty(), stopped]);
    table
}

fn billing_row(ctx: &Ctx<'_>, component: &Component, line: &MonthLine) -> Vec<Line> {
    let (w, common) = (ctx.w, &ctx.text.common);
    let label = match component.label.trim() {
        "" => Line::absent(&common.not_stated),
        label => label.into(),
    };
    let (price, quantity) = match &component.status {
        Status::Priced(rate) => (
            Line::from(format::group_thousands(&rate.price.amount.to_string())).muted(format!(
                "{} {}",
                rate.price.currency.code(),
                ctx.text.per(rate.per)
            )),
            format::group_thousands(&rate.quantity.normalize().to_string()).into(),
        ),
        Status::Included => (Line::absent(&w.included), Line::absent(&w.included)),
        Status::Unknown => (Line::new().bad(&w.price_unknown), Line::absent(&common.not_stated)),
        Status::NotApplicable => (Line::absent(&w.not_applicable), Line::absent(&w.not_applicable)),
    };
    let stopped = match (&component.status, component.when_stopped) {
        (Status::Included | Status::NotApplicable, None) => Line::absent(&w.does_not_apply),
        (_, None) => Line::absent(&common.not_stated),
        (_, Some(true)) => w.goes_on.as_str().into(),
        (_, Some(false)) => w.stops_too.as_str().into(),
    };
    vec![ctx.text.category(component.category).into(), label, price, quantity, stopped, amount(ctx, &line.amount)]
}

/// What a component comes to in a month.
pub(super) fn amount(ctx: &Ctx<'_>, amount: &LineAmount) -> Line {
    let w = ctx.w;
    let money =
        |amount: &Exact| Line::number(Origin::Derived { from_measured: false }, amount.show(), amount.currency.code());
    match amount {
        LineAmount::Priced(amount) => money(amount),
        LineAmount::Unspread(amount) => money(amount).br().muted(&w.unspread),
        LineAmount::Included => Line::absent(&w.included),
        LineAmount::Unknown => Line::new().bad(&w.price_unknown),
        LineAmount::NotApplicable => Line::absent(&w.not_applicable),
    }
}

fn coverage(ctx: &Ctx<'_>, compared: &Compared<'_>) -> Line {
    let coverage = compared.cost.month.coverage;
    let values: [(&str, &dyn ToString); 4] = [
        ("priced", &coverage.priced),
        ("included", &coverage.included),
        ("unknown", &coverage.unknown),
        ("none", &coverage.not_applicable),
    ];
    filled(&ctx.w.coverage, &values).into()
}
