//! What the report is about, and what nobody may overlook.

use super::{Ctx, filled};
use crate::domain::evidence::{Kind, PROGRAM};
use crate::domain::figure::Origin;
use crate::domain::format;
use crate::domain::ids::EvidenceId;
use crate::project::store::Altered;
use crate::report::doc::{Block, Line, Mark, Part};

/// Banners, the facts of the report, altered records, and the legend of marks.
pub(super) fn head(ctx: &Ctx<'_>) -> Vec<Block> {
    let mut blocks = banners(ctx);
    blocks.push(Block::Facts(facts(ctx)));
    if !ctx.report.altered.is_empty() {
        blocks.push(Block::List(ctx.report.altered.iter().map(|altered| altered_line(ctx, altered)).collect()));
    }
    blocks.push(Block::Note(origins(ctx)));
    blocks.push(Block::Note(verdicts(ctx)));
    blocks
}

fn of_kind(ctx: &Ctx<'_>, kind: Kind) -> usize {
    ctx.report.evidence.values().filter(|sealed| sealed.record.kind == kind).count()
}

fn banners(ctx: &Ctx<'_>) -> Vec<Block> {
    let w = ctx.w;
    let total = ctx.report.evidence.len();
    let unreal = total - of_kind(ctx, Kind::Real);
    let mut banners = Vec::new();
    let mut banner =
        |title: &str, words: String| banners.push(Block::Banner(Line::new().strong(title).text(" ").text(words)));
    if ctx.report.plan.demonstration {
        banner(&w.demonstration, w.demonstration_means.clone());
    }
    if unreal > 0 {
        let words = if unreal == total { &w.all_unreal } else { &w.some_unreal };
        banner(&w.practice_or_replay, filled(words, &[("n", &unreal), ("total", &total)]));
    }
    if !ctx.report.altered.is_empty() {
        banner(&w.altered, filled(&w.altered_means, &[("n", &ctx.report.altered.len())]));
    }
    banners
}

fn facts(ctx: &Ctx<'_>) -> Vec<(String, Line)> {
    let w = ctx.w;
    let evidence = match ctx.report.evidence.len() {
        0 => w.no_evidence.clone(),
        total => {
            let counts: Vec<String> = [Kind::Real, Kind::Practice, Kind::Replay]
                .into_iter()
                .map(|kind| (kind, of_kind(ctx, kind)))
                .filter(|(_, n)| *n > 0)
                .map(|(kind, n)| format!("{} {n}", ctx.text.kind(kind)))
                .collect();
            let seal = if ctx.report.altered.is_empty() { &w.all_match } else { &w.not_all_match };
            filled(&w.n_records, &[("n", &total), ("kinds", &counts.join(" · ")), ("seal", seal)])
        }
    };
    let fact = |name: &str, line: Line| (name.to_owned(), line);
    vec![
        fact(&w.revision, format!("r{}", ctx.report.revision).into()),
        fact(&w.made_at, format::moment(&ctx.report.made_at).into()),
        fact(&w.language, w.language_name.as_str().into()),
        fact(&w.made_by, PROGRAM.into()),
        fact(&w.records, evidence.into()),
    ]
}

fn altered_line(ctx: &Ctx<'_>, altered: &Altered) -> Line {
    let stem = altered.file.strip_suffix(".ron").unwrap_or(&altered.file);
    let is_id = stem.len() == 64 && stem.chars().all(|c| c.is_ascii_hexdigit());
    let name = if is_id { EvidenceId(stem.to_owned()).cite() } else { altered.file.clone() };
    // The place is a path of somebody's computer and stays out.
    Line::new().with(Part::Mono(name)).text(" ").text(ctx.text.failure(&altered.failure).what)
}

fn origins(ctx: &Ctx<'_>) -> Line {
    let (w, common) = (ctx.w, &ctx.text.common);
    Line::new()
        .strong(&w.origins)
        .text("  ")
        .origin(Origin::Declared)
        .text(filled(&w.declared_means, &[("word", &common.declared)]))
        .text("  ·  ")
        .origin(Origin::Predicted)
        .text(filled(&w.predicted_means, &[("word", &common.predicted)]))
        .text("  ·  ")
        .origin(Origin::Measured)
        .text(filled(&w.measured_means, &[("word", &common.measured)]))
        .text("  ·  ")
        .origin(Origin::Derived { from_measured: true })
        .origin(Origin::Derived { from_measured: false })
        .text(filled(&w.derived_means, &[("word", &common.derived)]))
}

fn verdicts(ctx: &Ctx<'_>) -> Line {
    let line = Line::new().strong(&ctx.w.verdicts).text("  ");
    Mark::ALL.into_iter().fold(line, |line, mark| line.badge(mark).text("  ")).text(&ctx.w.verdicts_mean)
}
