//! Criteria with their verdicts, by stage, a candidate at a time.

use super::{Ctx, filled};
use crate::domain::acceptance::show;
use crate::domain::acceptance::{Criterion, Judged, Metric, Stage, Threshold, Verdict, Waiver};
use crate::domain::figure::Origin;
use crate::domain::format;
use crate::report::Compared;
use crate::report::doc::{Block, Line, Mark, Part, Table};

/// A table a candidate, then its waivers.
pub(super) fn acceptance(ctx: &Ctx<'_>) -> Vec<Block> {
    let plan = ctx.report.plan;
    if plan.criteria.is_empty() {
        return vec![Block::Para(Line::absent(&ctx.w.no_criteria))];
    }
    if ctx.report.candidates.is_empty() {
        return vec![Block::Para(Line::absent(&ctx.w.no_candidates))];
    }
    let mut blocks = Vec::new();
    for compared in &ctx.report.candidates {
        let mut name = ctx.candidate(compared).text("  ");
        if let Some(worst) = Mark::worst(compared.judged) {
            name = name.badge(worst).text("  ");
        }
        blocks.push(Block::Part(tally(compared, name)));
        blocks.push(Block::Table(table(ctx, compared)));
        let waivers: Vec<Line> = pairs(ctx, compared)
            .filter_map(|(criterion, judged)| Some(waiver(ctx, criterion, judged, judged.waiver.as_ref()?)))
            .collect();
        if !waivers.is_empty() {
            blocks.push(Block::Para(Line::new().strong(&ctx.w.waivers)));
            blocks.push(Block::List(waivers));
        }
    }
    blocks
}

/// The line with how many criteria stand how.
pub(super) fn tally(compared: &Compared<'_>, line: Line) -> Line {
    Mark::ALL.into_iter().fold(line, |line, mark| {
        match compared.judged.iter().filter(|judged| Mark::of(judged) == mark).count() {
            0 => line,
            n => line.with(Part::Tally(mark, n)),
        }
    })
}

/// Each criterion of the plan with what came of it.
fn pairs<'a>(ctx: &Ctx<'a>, compared: &Compared<'a>) -> impl Iterator<Item = (&'a Criterion, &'a Judged)> {
    let judged = compared.judged;
    ctx.report
        .plan
        .criteria
        .iter()
        .filter_map(move |criterion| Some((criterion, judged.iter().find(|judged| judged.criterion == criterion.id)?)))
}

/// The value of the first criterion on a metric, as measured, or why there is none.
pub(super) fn of_metric(ctx: &Ctx<'_>, compared: &Compared<'_>, metric: Metric) -> Line {
    match pairs(ctx, compared).find(|(criterion, _)| criterion.metric == metric) {
        Some((criterion, judged)) => match judged.value {
            Some(_) => value(ctx, criterion, judged),
            None => Line::absent(ctx.said(&show::why(judged.verdict, &judged.why, ctx.text))),
        },
        None => Line::absent(&ctx.w.no_criterion),
    }
}

fn table(ctx: &Ctx<'_>, compared: &Compared<'_>) -> Table {
    let w = ctx.w;
    let mut table = Table::new(&w.acceptance)
        .words(w.criterion.as_str())
        .words(w.must_be.as_str())
        .words(Line::from(w.measured_interval.as_str()))
        .figures(w.samples.as_str())
        .words(w.verdict.as_str())
        .words(w.why.as_str())
        .words(w.evidence.as_str());
    for (number, stage) in (1..).zip(Stage::ALL) {
        let of_stage: Vec<_> = pairs(ctx, compared).filter(|(criterion, _)| criterion.stage == stage).collect();
        if of_stage.is_empty() {
            continue;
        }
        let passed = of_stage.iter().filter(|(_, judged)| judged.verdict == Verdict::Pass).count();
        let counts = filled(&ctx.text.common.n_of_total, &[("n", &passed), ("total", &of_stage.len())]);
        table.group(Line::new().text(format!("{number}  {}", ctx.text.stage(stage))).muted(counts));
        for (criterion, judged) in of_stage {
            table.row(row(ctx, criterion, judged));
        }
    }
    table
}

fn row(ctx: &Ctx<'_>, criterion: &Criterion, judged: &Judged) -> Vec<Line> {
    let w = ctx.w;
    let origin = match criterion.threshold {
        Threshold::Brief => Some(&w.by_brief),
        Threshold::Promised => Some(&w.by_promise),
        Threshold::Number(_) => None,
    };
    let words = show::must_be(criterion, judged.threshold, ctx.text);
    let says_it = origin.is_some_and(|origin| *origin == words);
    let mut must_be = Line::new().origin(Origin::Declared).text(super::one_line(&words));
    if let Some(origin) = origin.filter(|_| !says_it) {
        must_be = must_be.br().muted(origin);
    }
    let samples = match (judged.samples, judged.value) {
        (Some(n), _) => format::count(n).into(),
        (None, Some(_)) => Line::absent(&w.not_counted),
        (None, None) => Line::from("0"),
    };
    let mut verdict = Line::new().badge(judged.verdict.into());
    if judged.waiver.is_some() {
        verdict = verdict.br().badge(Mark::Waived);
    }
    let evidence =
        if judged.evidence.is_empty() { Line::absent(&w.no_record) } else { Line::new().cites(&judged.evidence) };
    let why = ctx.said(&show::why(judged.verdict, &judged.why, ctx.text));
    vec![
        show::statement(criterion, ctx.text).into(),
        must_be,
        value(ctx, criterion, judged),
        samples,
        verdict,
        Line::new().muted(why),
        evidence,
    ]
}

fn value(ctx: &Ctx<'_>, criterion: &Criterion, judged: &Judged) -> Line {
    let Some(value) = judged.value else { return Line::absent(&ctx.w.no_value) };
    let shown = show::value(criterion.metric, value, ctx.text);
    let line = Line::new().origin(Origin::Measured);
    let line = if judged.verdict == Verdict::Fail { line.bad(shown) } else { line.text(shown) };
    match judged.interval {
        Some(interval) => line.br().muted(super::one_line(&show::interval(criterion.metric, interval))),
        None => line,
    }
}

fn waiver(ctx: &Ctx<'_>, criterion: &Criterion, judged: &Judged, waiver: &Waiver) -> Line {
    let values: [(&str, &dyn ToString); 3] = [("by", &waiver.by), ("reason", &waiver.reason), ("until", &waiver.until)];
    Line::new()
        .with(Part::Shape(Mark::Waived))
        .strong(show::statement(criterion, ctx.text))
        .text(" ")
        .badge(judged.verdict.into())
        .br()
        .text(filled(&ctx.w.waived_by, &values))
        .muted(format::moment(&waiver.given_at))
}
