//! How metrics are defined, and every record the report stands on.

use super::{Ctx, filled};
use crate::domain::evidence::{CommandEnd, Record, Source};
use crate::domain::format;
use crate::domain::ids::{CandidateId, EvidenceId, HostId};
use crate::report::doc::{Block, Line, Part, Table};

/// The definitions of the metrics in this report.
pub(super) fn definitions(ctx: &Ctx<'_>) -> Vec<Block> {
    let w = ctx.w;
    let definitions = [
        (&w.def_start, &w.def_start_is),
        (&w.def_ttft, &w.def_ttft_is),
        (&w.def_ttfc, &w.def_ttfc_is),
        (&w.def_itl, &w.def_itl_is),
        (&w.def_tpot, &w.def_tpot_is),
        (&w.def_e2el, &w.def_e2el_is),
        (&w.def_percentile, &w.def_percentile_is),
        (&w.def_interval, &w.def_interval_is),
        (&w.def_accepted, &w.def_accepted_is),
        (&w.def_goodput, &w.def_goodput_is),
        (&w.def_cost, &w.def_cost_is),
        (&w.def_invalid, &w.def_invalid_is),
        (&w.def_bytes, &w.def_bytes_is),
    ];
    vec![Block::Facts(definitions.into_iter().map(|(name, is)| (name.clone(), is.as_str().into())).collect())]
}

/// Every record, oldest first.
pub(super) fn list(ctx: &Ctx<'_>) -> Vec<Block> {
    let w = ctx.w;
    if ctx.report.evidence.is_empty() {
        return vec![Block::Para(Line::absent(&w.no_evidence))];
    }
    let mut table = Table::new(&w.evidence)
        .words(w.record.as_str())
        .words(w.what.as_str())
        .words(w.when.as_str())
        .words(w.kind.as_str())
        .words(w.candidate.as_str())
        .words(w.host.as_str())
        .words(w.vantage.as_str())
        .words(w.remarks.as_str());
    let mut records: Vec<_> = ctx.report.evidence.values().collect();
    records.sort_by(|a, b| a.record.taken_at.cmp(&b.record.taken_at).then_with(|| a.id.cmp(&b.id)));
    for sealed in records {
        table.row(row(ctx, &sealed.id, &sealed.record));
    }
    vec![Block::Note(w.evidence_note.as_str().into()), Block::Table(table)]
}

fn row(ctx: &Ctx<'_>, id: &EvidenceId, record: &Record) -> Vec<Line> {
    let candidate = match &record.candidate {
        Some(id) => ctx.candidate_named(id),
        None => Line::absent(&ctx.w.none_named),
    };
    let host = match &record.host {
        Some(host) => ctx.host(host),
        None => Line::absent(&ctx.w.none_named),
    };
    vec![
        Line::new().cites([id]),
        what(ctx, record),
        super::moment(&record.taken_at),
        ctx.text.kind(record.kind).into(),
        candidate,
        host,
        ctx.text.vantage(record.vantage).into(),
        remarks(ctx, record),
    ]
}

fn what(ctx: &Ctx<'_>, record: &Record) -> Line {
    let w = ctx.w;
    match &record.source {
        Source::Probe { id, parser } => filled(&w.what_probe, &[("id", id), ("parser", parser)]).into(),
        Source::Pasted { id, parser } => filled(&w.what_pasted, &[("id", id), ("parser", parser)]).into(),
        Source::Load => w.what_load.as_str().into(),
        Source::Manual { by, note, holds, .. } => {
            let holds = if *holds { &w.holds } else { &w.does_not_hold };
            Line::from(filled(&w.what_manual, &[("by", by), ("holds", holds)])).br().muted(note.trim())
        }
    }
}

fn remarks(ctx: &Ctx<'_>, record: &Record) -> Line {
    let w = ctx.w;
    let mut remarks: Vec<String> = Vec::new();
    if let Some(captured) = &record.captured {
        match &captured.ended {
            CommandEnd::Exit(0) | CommandEnd::Unknown => {}
            CommandEnd::Exit(code) => remarks.push(filled(&w.ended_exit, &[("code", code)])),
            CommandEnd::Signal(name) => remarks.push(filled(&w.ended_signal, &[("name", name)])),
            CommandEnd::Deadline(secs) => remarks.push(filled(&w.ended_deadline, &[("secs", secs)])),
            CommandEnd::TooMuch(bytes) => {
                remarks.push(filled(&w.ended_too_much, &[("bytes", &format::count(*bytes))]));
            }
            CommandEnd::Cancelled => remarks.push(w.ended_cancelled.clone()),
            CommandEnd::ConnectionLost => remarks.push(w.ended_lost.clone()),
            // The words of a server may hold its address.
            CommandEnd::Refused(_) => remarks.push(w.ended_refused.clone()),
        }
        let masked: u32 = captured.masked.iter().map(|masked| masked.count).sum();
        if masked > 0 {
            remarks.push(filled(&w.n_masked, &[("n", &masked)]));
        }
    }
    if let Some(absent) = &record.absent {
        remarks.push(ctx.said(&ctx.text.absent(absent)));
    }
    if let Some(load) = &record.load {
        remarks.push(ctx.text.run_end(load.ended).to_owned());
    }
    if let Some(old) = &record.supersedes {
        remarks.push(filled(&w.corrects, &[("id", &old.cite())]));
    }
    if !record.origin_note.trim().is_empty() {
        remarks.push(ctx.said(record.origin_note.trim()));
    }
    if remarks.is_empty() { Line::absent(&w.no_remark) } else { Line::new().muted(remarks.join(" · ")) }
}

impl Ctx<'_> {
    /// A host: its id, and its name where names are asked for.
    pub(super) fn host(&self, id: &HostId) -> Line {
        let host = self.report.plan.host(id).filter(|_| self.report.with_addresses);
        let line = Line::new().with(Part::Mono(id.to_string()));
        match host {
            Some(host) => line.muted(&host.name),
            None => line,
        }
    }

    /// A candidate by its id.
    pub(super) fn candidate_named(&self, id: &CandidateId) -> Line {
        match self.report.candidates.iter().find(|compared| compared.candidate.id == *id) {
            Some(compared) => self.candidate(compared),
            None => Line::new().with(Part::Mono(id.to_string())),
        }
    }
}
