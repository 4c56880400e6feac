//! The load runs: what was asked, whether the client kept up, what became of every request, and memory over time.

use std::collections::BTreeMap;

use super::{Ctx, filled, named, plain};
use crate::domain::curve::ValidityItem;
use crate::domain::figure::Origin;
use crate::domain::format;
use crate::domain::load::{Api, GpuSample, Prompts};
use crate::domain::seen::Run;
use crate::report::Compared;
use crate::report::doc::{Block, Line, Mark, Part, Table};
use crate::report::svg::{Plot, Point, Series, Style};

/// The most points of a line over time.
const MAX_POINTS: usize = 240;

/// The runs of every candidate, newest first, then memory over time where it was sampled.
pub(super) fn runs(ctx: &Ctx<'_>) -> Vec<Block> {
    let mut blocks =
        vec![Block::Part(ctx.w.runs.as_str().into()), Block::Table(plans(ctx)), Block::Table(outcomes(ctx))];
    let plot = memory_plot(ctx);
    if !plot.is_empty() {
        blocks.push(Block::Plot(Box::new(plot), memory_table(ctx)));
    }
    blocks
}

fn all<'a>(ctx: &'a Ctx<'_>) -> impl Iterator<Item = (&'a Compared<'a>, &'a Run)> {
    let runs = |compared: &'a Compared<'a>| compared.runs.iter().map(move |run| (compared, run.as_ref()));
    ctx.report.candidates.iter().flat_map(runs)
}

fn plans(ctx: &Ctx<'_>) -> Table {
    let w = ctx.w;
    let mut table = Table::new(&w.runs)
        .words(w.run.as_str())
        .words(w.when.as_str())
        .words(w.what_was_asked.as_str())
        .words(w.ended.as_str())
        .words(w.client_validity.as_str());
    for (compared, run) in all(ctx) {
        table.row(vec![
            super::curves::run_name(ctx, (compared, run)),
            super::moment(&run.record.taken_at).br().muted(ctx.text.vantage(run.record.vantage)),
            asked(ctx, run),
            ctx.text.run_end(run.ended).into(),
            validity(ctx, run),
        ]);
    }
    table
}

fn asked(ctx: &Ctx<'_>, run: &Run) -> Line {
    let (w, plan) = (ctx.w, &run.plan);
    let api = match plan.api {
        Api::Chat => "chat",
        Api::Completions => "completions",
    };
    let levels: Vec<String> = plan.stages.iter().map(|stage| plain(stage.level)).collect();
    let prompts = match &plan.prompts {
        Prompts::Synthetic { input_tokens, output_tokens } => {
            filled(&w.prompts_synthetic, &[("input", input_tokens), ("output", output_tokens)])
        }
        Prompts::Jsonl { name, sha256, n_prompts, .. } => {
            let hash = sha256.get(..8).unwrap_or(sha256);
            filled(&w.prompts_file, &[("name", name), ("n", n_prompts), ("hash", &hash)])
        }
    };
    let ladder = format!("{} · {}", ctx.text.arrivals(plan.arrivals), levels.join(", "));
    let rest = filled(&w.warmup_and_seed, &[("n", &plan.warmup_requests), ("seed", &plan.seed)]);
    let line = Line::from(format!("{} · {api}", plan.model)).br().text(ladder).br().muted(prompts).br().muted(rest);
    let line = if ctx.report.with_addresses { line.br().muted(&plan.base_url) } else { line };
    let Some(load) = &run.record.load else { return line };
    let line = match load.refused_options.join(", ") {
        refused if refused.is_empty() => line,
        refused => line.br().muted(filled(&w.refused_options, &[("options", &refused)])),
    };
    if load.gpu_gap.is_some() { line.br().muted(&w.gpu_gap) } else { line }
}

fn validity(ctx: &Ctx<'_>, run: &Run) -> Line {
    let (mark, word) = match (run.is_valid(), run.is_sound()) {
        (false, _) => (Mark::Fail, ctx.w.invalid.as_str()),
        (true, false) => (Mark::Fail, ctx.text.run_end(run.ended)),
        (true, true) => (Mark::Pass, ctx.w.valid.as_str()),
    };
    let line = Line::new().with(Part::Shape(mark)).strong(word);
    run.validity.iter().fold(line, |line, item| line.br().line(validity_item(ctx, item)))
}

fn validity_item(ctx: &Ctx<'_>, item: &ValidityItem) -> Line {
    let (factor, unit) = match item.name {
        "cpu_share" => (100.0, "%"),
        "lost_samples" => (1.0, ""),
        _ => (1.0, "ms"),
    };
    let show = |value: f64| if unit.is_empty() { format::fixed(value, 0) } else { format::short(value * factor) };
    let value = item.value.map_or_else(|| ctx.w.not_measured.clone(), show);
    let sign = if item.ok || item.value.is_none() { "≤" } else { ">" };
    let words = format!("{} {value} {sign} {} {unit}", ctx.text.name(item.name), show(item.limit));
    let words = words.trim_end();
    if item.ok { Line::new().muted(words) } else { Line::new().bad(words) }
}

fn outcomes(ctx: &Ctx<'_>) -> Table {
    let w = ctx.w;
    let mut table = Table::new(&w.outcomes)
        .words(w.run.as_str())
        .figures(w.load.as_str())
        .figures(Line::from(w.length.as_str()).muted("s"))
        .figures(w.asked.as_str())
        .figures(w.sent.as_str())
        .figures(w.completed.as_str())
        .figures(w.rejected.as_str())
        .figures(w.failed.as_str())
        .figures(w.cut.as_str())
        .words(w.causes.as_str());
    let count = |n: u32| Line::from(format::count(u64::from(n)));
    for (compared, run) in all(ctx) {
        for step in &run.points {
            let counts = &step.counts;
            let causes: Vec<String> = counts
                .causes
                .iter()
                .map(|(cause, n)| format!("{} {}", ctx.text.cause(cause), format::count(u64::from(*n))))
                .collect();
            table.row(vec![
                super::curves::run_name(ctx, (compared, run)),
                super::curves::level(ctx, step),
                format::fixed(step.secs, 1).into(),
                count(counts.asked),
                count(counts.sent),
                count(counts.completed),
                count(counts.rejected),
                count(counts.failed),
                count(counts.cut),
                causes.join(" · ").into(),
            ]);
        }
    }
    table
}

/// Samples by the driver's index of their GPU, in order of time.
type ByGpu<'a> = BTreeMap<u32, Vec<&'a GpuSample>>;

/// GPU samples of the newest run of each candidate that has any, by GPU.
fn sampled<'a>(ctx: &'a Ctx<'_>) -> Vec<(&'a Compared<'a>, &'a Run, ByGpu<'a>)> {
    let samples = |run: &'a Run| {
        let mut by_gpu = ByGpu::new();
        for sample in run.record.load.iter().flat_map(|load| &load.gpu_samples) {
            by_gpu.entry(sample.gpu_idx).or_default().push(sample);
        }
        by_gpu
    };
    let newest = |compared: &'a Compared<'a>| {
        compared.runs.iter().map(AsRef::as_ref).find_map(|run| {
            let by_gpu = samples(run);
            (!by_gpu.is_empty()).then_some((compared, run, by_gpu))
        })
    };
    ctx.report.candidates.iter().filter_map(newest).collect()
}

fn memory_plot(ctx: &Ctx<'_>) -> Plot {
    let mut series = Vec::new();
    for (compared, _, by_gpu) in sampled(ctx) {
        let name = named(&compared.candidate.name, compared.candidate.id.as_str());
        for samples in by_gpu.values() {
            let step = samples.len().div_ceil(MAX_POINTS).max(1);
            let point = |sample: &&GpuSample| {
                Some(Point { x: sample.at_secs, y: sample.memory_mib? / 1024.0, interval: None, hollow: false })
            };
            series.push(Series {
                name: name.to_owned(),
                place: compared.candidate.series,
                points: samples.iter().step_by(step).filter_map(point).collect(),
                markers: false,
                style: Style::Candidate,
                band: Vec::new(),
            });
        }
    }
    Plot {
        title: ctx.w.memory_over_time.clone(),
        x_title: ctx.w.axis_time.clone(),
        log: false,
        log_words: ctx.w.logarithmic.clone(),
        series,
        limit: None,
    }
}

fn memory_table(ctx: &Ctx<'_>) -> Table {
    let w = ctx.w;
    let measured = |head: &str, unit: &str| Line::new().origin(Origin::Measured).text(head).muted(unit);
    let mut table = Table::new(&w.memory_over_time)
        .words(w.run.as_str())
        .words("GPU")
        .figures(w.samples.as_str())
        .figures(measured(&w.memory_least, "GiB"))
        .figures(measured(&w.memory_most, "GiB"))
        .figures(measured(&w.utilization_mean, "%"))
        .figures(measured(&w.power_most, "W"));
    for (compared, run, by_gpu) in sampled(ctx) {
        for (gpu_idx, samples) in by_gpu {
            let all = |each: fn(&GpuSample) -> Option<f64>| samples.iter().filter_map(move |sample| each(sample));
            let memory = || all(|sample| sample.memory_mib);
            let utilization: Vec<f64> = all(|sample| sample.utilization).collect();
            let shown = |value: Option<f64>, places: usize| match value {
                Some(value) => Line::from(format::fixed(value, places)),
                None => Line::absent(&w.not_measured),
            };
            table.row(vec![
                super::curves::run_name(ctx, (compared, run)),
                format!("gpu:{gpu_idx}").into(),
                format::count(samples.len() as u64).into(),
                shown(memory().reduce(f64::min).map(|mib| mib / 1024.0), 1),
                shown(memory().reduce(f64::max).map(|mib| mib / 1024.0), 1),
                shown(crate::domain::stats::mean(&utilization), 0),
                shown(all(|sample| sample.power_watts).reduce(f64::max), 0),
            ]);
        }
    }
    table
}
