//! What one GPU of each offer holds, against what it may hold.

use egui::Ui;

use crate::app::command::Command;
use crate::app::derived::CandidateView;
use crate::app::state::Project;
use crate::domain::candidate::Candidate;
use crate::domain::figure::Origin;
use crate::domain::format;
use crate::domain::memory::offer::Slot;
use crate::domain::memory::serve::{RunsOut, Verdict};
use crate::domain::memory::{Band, GIB, MemoryEstimate, MemoryWork};
use crate::domain::text::{Text, fill};
use crate::ui::theme::{Font, tokens};
use crate::ui::widgets::badge::{BadgeSize, Mark, badge};
use crate::ui::widgets::states::{MemoryParts, MemoryWords, legend, memory_bar};
use crate::ui::widgets::{Card, FigureUi, caption, columns, heading, rule, small, split, swatch};

/// The card.
pub(super) fn bars_ui(ui: &mut Ui, project: &Project, views: &[CandidateView], text: &Text, out: &mut Vec<Command>) {
    let words = &text.memory;
    let t = tokens(ui);
    let scale = views
        .iter()
        .filter_map(|view| view.memory.as_ref().ok())
        .map(|figure| parts(&figure.value))
        .fold(1.0_f64, |widest, parts| widest.max(parts.total).max(parts.need().min(parts.total * 2.0)));
    let work = match project.plan.memory.work {
        MemoryWork::Inference => &words.kv_cache,
        MemoryWork::Images => &words.workspaces,
        _ => &words.gradients,
    };
    Card::new().show(ui, |ui| {
        split(
            ui,
            |ui| {
                heading(ui, Font::Heading, &words.need_title);
            },
            |ui| crate::ui::widgets::figure::origin_note(ui, text, Origin::Predicted),
        );
        let mut entries = vec![
            (t.color.mem_weights, words.weights.as_str()),
            (t.color.mem_act, words.activations.as_str()),
            (t.color.mem_rt, words.runtime.as_str()),
        ];
        if project.plan.memory.work != MemoryWork::Images {
            entries.push((t.color.mem_kv, work.as_str()));
        }
        entries.push((t.color.mem_free, words.free_legend.as_str()));
        legend(ui, &entries);
        for (idx, view) in views.iter().enumerate() {
            let Some(candidate) = project.plan.candidate(&view.id) else { continue };
            if idx > 0 {
                rule(ui);
            }
            row_ui(ui, candidate, view, scale, text, out);
        }
    });
}

fn row_ui(ui: &mut Ui, candidate: &Candidate, view: &CandidateView, scale: f64, text: &Text, out: &mut Vec<Command>) {
    let words = &text.memory;
    let t = tokens(ui);
    columns(ui, t.space.l, [1.1, 3.2, 1.5], |[name, middle, right]| {
        name.horizontal(|ui| {
            swatch(ui, candidate.series, &candidate.name);
            ui.label(Font::BodyBold.rich(&candidate.name));
        });
        match &view.memory {
            Ok(figure) => {
                let n_gpus = fill(&words.n_gpus, &[("n", figure.value.n_gpus.to_string())]);
                let memory = format::fixed(figure.value.memory.value / GIB, 1);
                let template = if figure.value.n_gpus == 1 { &words.one_gpu } else { &words.per_gpu };
                caption(name, &fill(template, &[("memory", memory), ("gpus", n_gpus)]));
                bar(middle, candidate, &figure.value, scale, text);
                carried(middle, &figure.value, text);
                assumed(middle, &figure.value, text);
                verdict(right, candidate, view, &figure.value, text, out);
            }
            Err(gap) => {
                small(middle, &text.gap(gap));
            }
        }
    });
}

fn bar(ui: &mut Ui, candidate: &Candidate, estimate: &MemoryEstimate, scale: f64, text: &Text) {
    let words = &text.memory;
    let parts = parts(estimate);
    let size = |gib: f64| ("size", format::fixed(gib, 1));
    let free = fill(&words.free, &[size(estimate.free.value / GIB)]);
    let short = fill(&words.too_small, &[size(-estimate.free.value / GIB)]);
    let limit = fill(&words.limit, &[size(parts.limit)]);
    let name = fill(
        &words.bar_name,
        &[
            ("candidate", candidate.name.clone()),
            ("need", format::fixed(parts.need(), 1)),
            ("limit", format::fixed(parts.limit, 1)),
        ],
    );
    let width = ui.available_width();
    memory_bar(ui, width, scale, &parts, MemoryWords { free: &free, short: &short, limit: &limit, name: &name });
}

/// Notes that are shown at once; the rest under the pointer.
const NOTES: usize = 2;

/// What is not known, and what was taken instead.
fn assumed(ui: &mut Ui, estimate: &MemoryEstimate, text: &Text) {
    if !estimate.missing.is_empty() {
        let names: Vec<&str> = estimate.missing.iter().map(|name| text.name(name)).collect();
        caption(ui, &fill(&text.memory.not_known, &[("names", names.join(&text.common.list_comma))]));
    }
    for note in estimate.notes.iter().take(NOTES) {
        caption(ui, &text.memory_note(note));
    }
    if let Some(more) = estimate.notes.len().checked_sub(NOTES).filter(|more| *more > 0) {
        let rest: Vec<String> = estimate.notes.iter().skip(NOTES).map(|note| text.memory_note(note)).collect();
        let words = fill(&text.memory.more_notes, &[("n", more.to_string())]);
        ui.label(Font::Caption.rich(words).color(tokens(ui).color.text_muted)).on_hover_text(rest.join("\n"));
    }
}

fn verdict(
    ui: &mut Ui,
    candidate: &Candidate,
    view: &CandidateView,
    estimate: &MemoryEstimate,
    text: &Text,
    out: &mut Vec<Command>,
) {
    let words = &text.memory;
    let (mark, word) = match estimate.verdict {
        Some(Verdict::Fits) => (Mark::Pass, text.name(Verdict::Fits.name())),
        Some(verdict @ (Verdict::FitsWithLess | Verdict::TooClose)) => (Mark::Inconclusive, text.name(verdict.name())),
        Some(Verdict::DoesNotFit) => (Mark::Fail, text.name(Verdict::DoesNotFit.name())),
        None => (Mark::NotTested, text.name("not_judged")),
    };
    badge(ui, mark, word, BadgeSize::Normal);
    ui.horizontal(|ui| {
        let title = fill(&words.free_title, &[("candidate", candidate.name.clone())]);
        FigureUi::new(&title).unit("GiB").font(Font::Small).show(
            ui,
            text,
            &view.memory,
            |estimate| format::fixed(estimate.free.value / GIB, 1).replace('-', "−"),
            out,
        );
        caption(ui, &between(words.between.as_str(), estimate.free));
    });
}

/// What a serving engine carries, in one line.
fn carried(ui: &mut Ui, estimate: &MemoryEstimate, text: &Text) {
    let words = &text.memory;
    let Some(serving) = &estimate.serving else { return };
    let count = |requests: f64| format::count(whole(requests));
    let values = [("count", count(serving.capacity.value)), ("wanted", format::count(u64::from(serving.in_flight)))];
    let enough = serving.capacity.value >= f64::from(serving.in_flight);
    let mut parts = vec![fill(if enough { &words.capacity } else { &words.capacity_wanted }, &values)];
    if let Some((requests, tokens)) = serving.mix {
        let values = [("count", count(requests.value)), ("tokens", count(tokens.value))];
        parts.push(fill(&words.capacity_mix, &values));
    }
    parts.extend(serving.runs_out.map(|out| match out {
        RunsOut::Weights => words.out_weights.clone(),
        RunsOut::Length => words.out_length.clone(),
        RunsOut::Sequences => words.out_sequences.clone(),
        RunsOut::Cache => words.out_cache.clone(),
    }));
    caption(ui, &parts.join(" · "));
}

/// "56.1 to 58.4" of a band in GiB; empty when both ends are the same.
fn between(template: &str, band: Band) -> String {
    let [low, high] = [band.low, band.high].map(|bytes| format::fixed(bytes / GIB, 1).replace('-', "−"));
    if low == high { String::new() } else { fill(template, &[("low", low), ("high", high)]) }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative; float casts saturate")]
fn whole(value: f64) -> u64 {
    value.max(0.0).floor() as u64
}

fn parts(estimate: &MemoryEstimate) -> MemoryParts {
    let slot = |slot| estimate.slot(slot).value / GIB;
    MemoryParts {
        weights: slot(Slot::Weights),
        activations: slot(Slot::Activations),
        runtime: slot(Slot::Runtime),
        kv: slot(Slot::Work),
        total: estimate.memory.value / GIB,
        limit: estimate.limit.value / GIB,
    }
}
