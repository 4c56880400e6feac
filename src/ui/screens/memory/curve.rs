//! What the work needs over requests in flight, context or batch, against what each offer has room for, with what was
//! measured laid over it.

use egui::{Id, Ui};

use crate::app::command::Command;
use crate::app::derived::CandidateView;
use crate::app::state::Project;
use crate::domain::candidate::Candidate;
use crate::domain::format;
use crate::domain::memory::offer::{Axis, NeedOf};
use crate::domain::memory::{self, Band, GIB, MemoryCurve, MemoryWork};
use crate::domain::text::{Text, fill};
use crate::ui::theme::{Line, tokens};
use crate::ui::widgets::chart::{At, Chart, ChartLine, ChartPoint, Look};
use crate::ui::widgets::{Card, caption, segmented};

/// The card.
pub(super) fn curve_ui(ui: &mut Ui, project: &Project, views: &[CandidateView], text: &Text, out: &mut Vec<Command>) {
    let words = &text.memory;
    let work = project.plan.memory.work;
    let axes = Axis::of(work);
    Card::new().show(ui, |ui| {
        let id = Id::unique("memory axis");
        let chosen: Axis = ui
            .data(|data| data.get_temp(id))
            .filter(|axis| axes.contains(axis))
            .unwrap_or_else(|| axes.first().copied().unwrap_or_default());
        let mut whole = false;
        ui.horizontal(|ui| {
            if axes.len() > 1 {
                let choices: Vec<(Axis, &str)> = axes.iter().map(|axis| (*axis, text.name(axis.key()))).collect();
                caption(ui, &words.against_axis);
                if let Some(axis) = segmented(ui, &choices, chosen) {
                    ui.data_mut(|data| {
                        data.insert_temp(id, axis);
                    });
                }
            }
            whole = work == MemoryWork::Inference && whole_ui(ui, text);
        });
        let known: Vec<(&Candidate, &MemoryCurve, &CandidateView)> = views
            .iter()
            .filter_map(|view| {
                let curve = view.memory_curves.iter().filter_map(|curve| curve.as_ref().ok());
                let curve = curve.map(|figure| &figure.value).find(|curve| curve.axis == chosen)?;
                Some((project.plan.candidate(&view.id)?, curve, view))
            })
            .collect();
        let mut lines = if whole { limit_lines(&known, text) } else { room_lines(&known, work, text) };
        lines.extend(need_lines(ui, project, &known, work, whole, text));
        lines.extend(if whole { sampled_lines(&known, chosen, text) } else { measured_lines(&known, work, text) });
        let at: Vec<At> =
            asked_at(project, chosen).map(|x| At { x, words: words.the_brief.clone() }).into_iter().collect();
        let title = if work == MemoryWork::Inference && !whole { &words.plot_title } else { &words.plot_title_work };
        Chart::new("memory curve", title, "GiB", text.name(chosen.key()), &lines)
            .at(&at)
            .height(300.0)
            .show(ui, text, out);
    });
}

/// The cache alone, or everything that a GPU holds.
fn whole_ui(ui: &mut Ui, text: &Text) -> bool {
    let id = Id::unique("memory whole gpu");
    let mut whole = ui.data(|data| data.get_temp::<bool>(id)).unwrap_or(false);
    let choices = [(false, text.memory.cache_alone.as_str()), (true, text.memory.whole_gpu.as_str())];
    if let Some(chosen) = segmented(ui, &choices, whole) {
        whole = chosen;
        ui.data_mut(|data| {
            data.insert_temp(id, whole);
        });
    }
    whole
}

/// What the engine of each offer may use of a GPU.
fn limit_lines(known: &[(&Candidate, &MemoryCurve, &CandidateView)], text: &Text) -> Vec<ChartLine> {
    let last = known.iter().map(|(_, curve, _)| ends(curve).1).fold(1.0_f64, f64::max);
    let line = |(candidate, curve, _): &(&Candidate, &MemoryCurve, &CandidateView)| {
        let limit = curve.limit.value / GIB;
        let values = [("candidate", candidate.name.clone()), ("size", format::fixed(limit, 1))];
        let points = [0.0, last].map(|x| ChartPoint::new(x, limit)).to_vec();
        ChartLine::new(fill(&text.memory.limit_of, &values), Look::Series(candidate.series), points).without_markers()
    };
    known.iter().map(line).collect()
}

/// What the driver showed beside load runs, a marker a step. An engine takes its pool at once, so the markers of one run
/// lie in a row.
fn sampled_lines(known: &[(&Candidate, &MemoryCurve, &CandidateView)], axis: Axis, text: &Text) -> Vec<ChartLine> {
    if axis != Axis::InFlight {
        return Vec::new();
    }
    let line = |(candidate, _, view): &(&Candidate, &MemoryCurve, &CandidateView)| {
        let runs = view.runs.iter().filter_map(|run| Some((&run.points, run.record.load.as_ref()?)));
        let mut points: Vec<ChartPoint> = runs
            .flat_map(|(points, load)| memory::offer::sampled(points, load))
            .map(|(x, bytes)| ChartPoint::new(x, bytes / GIB))
            .collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        let name = fill(&text.memory.sampled, &[("candidate", candidate.name.clone())]);
        (!points.is_empty()).then(|| ChartLine::new(name, Look::Series(candidate.series), points))
    };
    known.iter().filter_map(line).collect()
}

/// What is asked for on an axis.
fn asked_at(project: &Project, axis: Axis) -> Option<f64> {
    let plan = &project.plan.memory;
    match (axis, plan.work) {
        (Axis::InFlight, _) => memory::in_flight_at_peak(&project.plan.brief).map(f64::from),
        (Axis::Context, MemoryWork::Inference) => project.plan.brief.context_tokens.map(f64::from),
        (Axis::Context, _) => Some(f64::from(plan.training.seq_len)),
        (Axis::Batch, MemoryWork::Images) => Some(f64::from(plan.images.batch)),
        (Axis::Batch, _) => Some(f64::from(plan.training.micro_batch)),
    }
}

fn ends(curve: &MemoryCurve) -> (f64, f64) {
    let xs = || curve.needs.iter().flat_map(|(_, points)| points.iter().map(|(x, _)| *x));
    (xs().fold(f64::INFINITY, f64::min), xs().fold(0.0, f64::max))
}

/// What each offer has room for: the pool of a serving engine, else the card.
fn room_lines(known: &[(&Candidate, &MemoryCurve, &CandidateView)], work: MemoryWork, text: &Text) -> Vec<ChartLine> {
    let last = known.iter().map(|(_, curve, _)| ends(curve).1).fold(1.0_f64, f64::max);
    let template = if work == MemoryWork::Inference { &text.memory.pool } else { &text.memory.card };
    known
        .iter()
        .map(|(candidate, curve, _)| {
            let room = curve.room.scaled(1.0 / GIB);
            let name = fill(template, &[("candidate", candidate.name.clone()), ("size", format::fixed(room.value, 1))]);
            let points = [0.0, last].map(|x| ChartPoint::new(x, room.value)).to_vec();
            let mut line = ChartLine::new(name, Look::Series(candidate.series), points).without_markers();
            line.band = [0.0, last].map(|x| (x, room.low, room.high)).to_vec();
            line
        })
        .collect()
}

fn need_lines(
    ui: &Ui,
    project: &Project,
    known: &[(&Candidate, &MemoryCurve, &CandidateView)],
    work: MemoryWork,
    whole: bool,
    text: &Text,
) -> Vec<ChartLine> {
    let words = &text.memory;
    let brief = &project.plan.brief;
    let color = tokens(ui).color.text_secondary;
    let mut lines = Vec::new();
    // Offers whose GPUs hold the same share need the same: one set of lines for every different need.
    let mut seen: Vec<f64> = Vec::new();
    let slope = |curve: &MemoryCurve| {
        let last = curve.needs.first().and_then(|(_, points)| points.last());
        let fixed = if whole { curve.fixed.value } else { 0.0 };
        last.map_or(0.0, |(x, need)| need.value / x.max(1.0) + fixed)
    };
    let slopes: Vec<f64> = known.iter().map(|(_, curve, _)| slope(curve)).collect();
    let is_shared = slopes.windows(2).all(|pair| matches!(pair, [a, b] if (a - b).abs() < 1.0));
    for ((candidate, curve, _), slope) in known.iter().zip(&slopes) {
        if seen.iter().any(|other| (other - slope).abs() < 1.0) {
            continue;
        }
        seen.push(*slope);
        // Several offers: the full length of each alone; the lines of all lengths would hide each other.
        let shown = curve.needs.iter().filter(|(of, _)| is_shared || *of == NeedOf::Full);
        for (of, points) in shown {
            let (template, dash, tokens) = match of {
                NeedOf::Full => (&words.full_length, Line::Solid, brief.context_tokens),
                NeedOf::P95 => (&words.p95_length, Line::Dashed(9.0), memory::tokens_p95(brief)),
                NeedOf::Mean => (&words.mean_length, Line::Dotted(5.0), memory::tokens_mean(brief)),
            };
            let length = match (work, curve.axis) {
                (MemoryWork::Inference, Axis::Context) => words.need_at_peak.clone(),
                (MemoryWork::Inference, _) => {
                    let tokens = tokens.map(|tokens| format::count(u64::from(tokens))).unwrap_or_default();
                    fill(template, &[("tokens", tokens)])
                }
                _ => words.need_of_work.clone(),
            };
            let is_own = !is_shared;
            let name = if is_own { format!("{} · {length}", candidate.name) } else { length };
            let look = if is_own { Look::Predicted(candidate.series) } else { Look::Plain(color, dash) };
            let gib = |band: &Band| if whole { curve.fixed + *band } else { *band }.scaled(1.0 / GIB);
            let line = points.iter().map(|(x, need)| ChartPoint::new(*x, gib(need).value)).collect();
            let mut line = ChartLine::new(name, look, line).without_markers();
            if points.iter().any(|(_, need)| gib(need).high - gib(need).low > 0.005 * gib(need).value) {
                line.band = points.iter().map(|(x, need)| (*x, gib(need).low, gib(need).high)).collect();
            }
            lines.push(line);
        }
    }
    lines
}

/// Pools that serving logs printed, each a marker near the left on its candidate's line.
fn measured_lines(
    known: &[(&Candidate, &MemoryCurve, &CandidateView)],
    work: MemoryWork,
    text: &Text,
) -> Vec<ChartLine> {
    if work != MemoryWork::Inference {
        return Vec::new();
    }
    let last = known.iter().map(|(_, curve, _)| ends(curve).1).fold(1.0_f64, f64::max);
    known
        .iter()
        .filter_map(|(candidate, _, view)| {
            let pools: Vec<f64> = view.logs.iter().filter_map(|log| log.run.kv_cache_gib).collect();
            let newest = pools.first()?;
            let name = fill(
                &text.memory.pool_measured,
                &[("candidate", candidate.name.clone()), ("size", format::fixed(*newest, 1))],
            );
            let points = pools.iter().map(|pool| ChartPoint::new(last / 8.0, *pool)).collect();
            let mut line = ChartLine::new(name, Look::Series(candidate.series), points);
            line.markers = true;
            Some(line)
        })
        .collect()
}
