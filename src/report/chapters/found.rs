//! Promised against found.

use super::Ctx;
use crate::domain::compare::promises::{Agreement, NotFound, PromiseRow};
use crate::domain::figure::Origin;
use crate::report::Compared;
use crate::report::doc::{Block, Line, Mark, Part, Table};

/// A table a candidate, rows to act on first.
pub(super) fn found(ctx: &Ctx<'_>) -> Vec<Block> {
    if ctx.report.candidates.is_empty() {
        return vec![Block::Para(Line::absent(&ctx.w.no_candidates))];
    }
    let mut blocks = Vec::new();
    for compared in &ctx.report.candidates {
        blocks.push(Block::Part(ctx.candidate(compared)));
        if compared.promises.iter().all(|row| row.evidence.is_empty()) {
            blocks.push(Block::Para(Line::absent(&ctx.w.not_looked)));
        } else {
            blocks.push(Block::Table(table(ctx, compared)));
        }
    }
    blocks
}

fn table(ctx: &Ctx<'_>, compared: &Compared<'_>) -> Table {
    let w = ctx.w;
    let mut table = Table::new(&w.promised_found)
        .words(w.field.as_str())
        .words(Line::new().origin(Origin::Declared).text(&w.promised))
        .words(Line::new().origin(Origin::Measured).text(&w.found))
        .words(w.result.as_str())
        .words(w.host.as_str())
        .words(w.when.as_str())
        .words(w.evidence.as_str());
    for row in compared.promises {
        table.row(cells(ctx, row));
    }
    table
}

fn cells(ctx: &Ctx<'_>, row: &PromiseRow) -> Vec<Line> {
    let (w, common) = (ctx.w, &ctx.text.common);
    let promised = match &row.promised {
        Some(promised) => promised.words(ctx.text).into(),
        None => Line::absent(&common.not_stated),
    };
    let found = match &row.found {
        Ok(found) if row.agreement == Agreement::Mismatch => Line::new().bad(found.words(ctx.text)),
        Ok(found) => found.words(ctx.text).into(),
        Err(NotFound::NeverAsked) => Line::absent(&w.never_asked),
        Err(NotFound::Absent(absent)) => Line::absent(ctx.said(&ctx.text.absent(absent))),
        Err(NotFound::NotVisible) => Line::absent(&w.not_visible),
    };
    let result = match row.agreement {
        Agreement::Match => Line::new().with(Part::Shape(Mark::Pass)).text(&w.as_promised),
        Agreement::Mismatch => Line::new().with(Part::Shape(Mark::Fail)).bad(&w.mismatch),
        Agreement::NotStated => Line::new().with(Part::Shape(Mark::Inconclusive)).text(&common.not_stated),
        Agreement::NotFound => Line::new().with(Part::Shape(Mark::NotTested)).muted(&w.not_found),
    };
    let result = match row.note {
        Some(note) if row.found.is_ok() => result.br().muted(ctx.text.name(note)),
        _ => result,
    };
    let when = match (row.taken_at, row.kind.and_then(|kind| ctx.kind_remark(kind))) {
        (Some(at), Some(kind)) => super::moment(&at).br().muted(kind),
        (Some(at), None) => super::moment(&at),
        (None, _) => Line::absent(&w.never),
    };
    let host = match &row.host {
        Some(host) => ctx.host(host),
        None => Line::absent(&w.no_host),
    };
    let evidence = if row.evidence.is_empty() { Line::absent(&w.no_record) } else { Line::new().cites(&row.evidence) };
    vec![ctx.text.name(row.field).into(), promised, found, result, host, when, evidence]
}
