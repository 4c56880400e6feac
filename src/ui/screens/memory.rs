//! Step 2: does the model fit, with how much left, before anything is rented.

use egui::Ui;

use crate::app::command::{Command, Screen};
use crate::app::derived::CandidateView;
use crate::app::state::{Project, State};
use crate::domain::brief::Precision;
use crate::domain::candidate::Candidate;
use crate::domain::format;
use crate::domain::memory::{self, Fit, MemoryCurve, MemoryEstimate};
use crate::domain::text::{Text, fill};
use crate::project::edit::Edit;
use crate::ui::theme::{Font, Line, tokens};
use crate::ui::widgets::badge::{BadgeSize, Mark, badge};
use crate::ui::widgets::chart::{At, Chart, ChartLine, ChartPoint, Look};
use crate::ui::widgets::states::{MemoryParts, MemoryWords, empty_state, legend, memory_bar};
use crate::ui::widgets::{Card, Field, FigureUi, caption, columns, heading, page_header, rule, small, split, swatch};

const GIB: f64 = 1_073_741_824.0;

/// The need at one point of the curve, bytes.
type NeedOf = fn(&memory::MemoryPoint) -> Option<f64>;

/// Draws the step.
pub fn memory_ui(ui: &mut Ui, state: &State, text: &Text, out: &mut Vec<Command>) {
    let Some(project) = &state.project else { return };
    let views = &state.derived.candidates;
    page_header(ui, &text.memory.title, &finding(project, views, text), |_ui| {});
    if views.is_empty() {
        let words = &text.memory;
        if empty_state(ui, &words.no_candidates, &words.needs_candidates_button, &words.needs_candidates_then) {
            out.push(Command::Go(Screen::Candidates));
        }
        return;
    }
    if !model_is_known(project) {
        let words = &text.memory;
        if empty_state(ui, &words.needs_model, &words.needs_model_button, &words.needs_model_then) {
            out.push(Command::Go(Screen::Brief));
        }
        return;
    }
    inputs_ui(ui, project, text, out);
    ui.add_space(tokens(ui).space.m);
    bars_ui(ui, project, views, text, out);
    ui.add_space(tokens(ui).space.m);
    curve_ui(ui, project, views, text, out);
    ui.add_space(tokens(ui).space.s);
    caption(ui, &text.memory.note);
}

fn model_is_known(project: &Project) -> bool {
    let model = &project.plan.brief.model;
    model.parameters.is_some() && model.layers.is_some() && model.kv_heads.is_some() && model.head_dim.is_some()
}

/// The answer in one sentence.
fn finding(project: &Project, views: &[CandidateView], text: &Text) -> String {
    let words = &text.memory;
    let name = |view: &CandidateView| {
        project.plan.candidate(&view.id).map_or_else(|| view.id.to_string(), |candidate| candidate.name.clone())
    };
    let fit = |view: &&CandidateView| view.memory.as_ref().is_ok_and(|figure| figure.value.fit == Fit::Fits);
    let known = views.iter().filter(|view| view.memory.is_ok()).count();
    if views.is_empty() || known == 0 {
        return if views.is_empty() { words.no_candidates.clone() } else { words.nothing_known.clone() };
    }
    let fits: Vec<String> = views.iter().filter(fit).map(name).collect();
    let rest: Vec<String> = views.iter().filter(|view| view.memory.is_ok() && !fit(view)).map(name).collect();
    let in_flight = memory::in_flight_at_peak(&project.plan.brief).unwrap_or(1).to_string();
    let template = match (fits.is_empty(), rest.is_empty()) {
        (true, _) => &words.none_fit,
        (false, true) => &words.all_fit,
        (false, false) => &words.some_fit,
    };
    let list = |names: &[String]| names.join(&text.common.list_comma);
    fill(template, &[("fits", list(&fits)), ("rest", list(&rest)), ("in_flight", in_flight)])
}

/// Context and KV precision, which belong to the brief, and the requests in flight that follow from it.
fn inputs_ui(ui: &mut Ui, project: &Project, text: &Text, out: &mut Vec<Command>) {
    let words = &text.memory;
    let t = tokens(ui);
    let mut brief = project.plan.brief.clone();
    let mut changed = false;
    columns(ui, t.space.m, [-180.0, -240.0, 1.0], |[context, kv, in_flight]| {
        changed |= Field::new("memory context", &words.context).unit(&words.tokens).whole32(
            context,
            text,
            1..=100_000_000,
            &mut brief.context_tokens,
        );
        let mut choices = vec![(None, words.kv_default.as_str())];
        choices.extend(Precision::ALL.iter().map(|precision| (Some(*precision), precision.name())));
        changed |= Field::new("memory kv", &words.kv_precision).choice(kv, &choices, &mut brief.kv_precision);
        caption(in_flight, &words.in_flight);
        match memory::in_flight_at_peak(&project.plan.brief) {
            Some(n) => {
                in_flight.label(Font::FigureM.rich(format::count(u64::from(n))));
            }
            None => {
                small(in_flight, &words.in_flight_unknown);
            }
        }
    });
    if changed {
        out.push(Command::Edit(Edit::PutBrief(Box::new(brief))));
    }
}

fn bars_ui(ui: &mut Ui, project: &Project, views: &[CandidateView], text: &Text, out: &mut Vec<Command>) {
    let words = &text.memory;
    let t = tokens(ui);
    let scale = views
        .iter()
        .filter_map(|view| view.memory.as_ref().ok())
        .map(|figure| parts(&figure.value))
        .fold(1.0_f64, |widest, parts| widest.max(parts.total).max(parts.need().min(parts.total * 2.0)));
    Card::new().show(ui, |ui| {
        split(
            ui,
            |ui| {
                heading(ui, Font::Heading, &words.need_title);
            },
            |ui| crate::ui::widgets::figure::origin_note(ui, text, crate::domain::figure::Origin::Predicted),
        );
        legend(
            ui,
            &[
                (t.color.mem_weights, words.weights.as_str()),
                (t.color.mem_act, words.activations.as_str()),
                (t.color.mem_rt, words.runtime.as_str()),
                (t.color.mem_kv, words.kv_cache.as_str()),
                (t.color.mem_free, words.free_legend.as_str()),
            ],
        );
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
                let values = [("memory", format::bytes_binary(figure.value.memory)), ("gpus", n_gpus)];
                caption(name, &fill(&words.per_gpu, &values));
                bar(middle, candidate, &figure.value, scale, text);
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
    let free = fill(&words.free, &[size(estimate.parts.free / GIB)]);
    let short = fill(&words.too_small, &[size(-estimate.parts.free / GIB)]);
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

fn verdict(
    ui: &mut Ui,
    candidate: &Candidate,
    view: &CandidateView,
    estimate: &MemoryEstimate,
    text: &Text,
    out: &mut Vec<Command>,
) {
    let words = &text.memory;
    let (mark, word) = match estimate.fit {
        Fit::Fits => (Mark::Pass, &words.fits),
        Fit::TooManyRequests => (Mark::Fail, &words.too_many),
        Fit::DoesNotFit => (Mark::Fail, &words.does_not_fit),
    };
    ui.horizontal(|ui| {
        badge(ui, mark, word, BadgeSize::Normal);
        let title = fill(&words.free_title, &[("candidate", candidate.name.clone())]);
        FigureUi::new(&title).unit("GiB").font(Font::Small).show(
            ui,
            text,
            &view.memory,
            |estimate| format::fixed(estimate.parts.free / GIB, 1).replace('-', "−"),
            out,
        );
    });
    let values =
        [("count", format::count(estimate.capacity)), ("wanted", format::count(u64::from(estimate.in_flight)))];
    let template =
        if estimate.capacity >= u64::from(estimate.in_flight) { &words.capacity } else { &words.capacity_wanted };
    caption(ui, &fill(template, &values));
}

fn parts(estimate: &MemoryEstimate) -> MemoryParts {
    MemoryParts {
        weights: estimate.parts.weights / GIB,
        activations: estimate.parts.activations / GIB,
        runtime: estimate.parts.runtime / GIB,
        kv: estimate.parts.kv / GIB,
        total: estimate.memory / GIB,
        limit: estimate.limit / GIB,
    }
}

/// What the KV cache needs over concurrency for the candidate with the widest curve, against the pool of each.
fn curve_ui(ui: &mut Ui, project: &Project, views: &[CandidateView], text: &Text, out: &mut Vec<Command>) {
    let words = &text.memory;
    let t = tokens(ui);
    let brief = &project.plan.brief;
    let known: Vec<_> = views
        .iter()
        .filter_map(|view| Some((project.plan.candidate(&view.id)?, view.memory_curve.as_ref().ok()?)))
        .collect();
    let tokens_words = |tokens: Option<u32>| tokens.map(|tokens| format::count(u64::from(tokens))).unwrap_or_default();
    let last = known
        .iter()
        .filter_map(|(_, curve)| curve.value.points.last())
        .map(|point| f64::from(point.in_flight))
        .fold(1.0_f64, f64::max);
    let mut lines = Vec::new();
    for (candidate, curve) in &known {
        let pool = curve.value.pool / GIB;
        lines.push(
            ChartLine::new(
                fill(&words.pool, &[("candidate", candidate.name.clone()), ("size", format::fixed(pool, 1))]),
                Look::Series(candidate.series),
                vec![ChartPoint::new(0.0, pool), ChartPoint::new(last, pool)],
            )
            .without_markers(),
        );
    }
    let needs: [(&str, Option<u32>, Line, NeedOf); 3] = [
        (&words.full_length, brief.context_tokens, Line::Solid, |point| Some(point.kv_full)),
        (&words.p95_length, memory::tokens_p95(brief), Line::Dashed(9.0), |point| point.kv_p95),
        (&words.mean_length, memory::tokens_mean(brief), Line::Dotted(5.0), |point| point.kv_mean),
    ];
    // A model split over more GPUs needs less on each: one set of lines for every different slope.
    let mut slopes: Vec<(&Candidate, f64, &MemoryCurve)> = Vec::new();
    for (candidate, curve) in &known {
        let slope = curve.value.points.last().map_or(0.0, |point| point.kv_full / f64::from(point.in_flight.max(1)));
        if !slopes.iter().any(|(_, other, _)| (other - slope).abs() < 1.0) {
            slopes.push((candidate, slope, &curve.value));
        }
    }
    for (candidate, _, shape) in &slopes {
        for (template, length, line, value) in needs {
            let points: Vec<ChartPoint> = shape
                .points
                .iter()
                .filter_map(|point| Some(ChartPoint::new(f64::from(point.in_flight), value(point)? / GIB)))
                .collect();
            if points.is_empty() {
                continue;
            }
            let length = fill(template, &[("tokens", tokens_words(length))]);
            let name = if slopes.len() == 1 { length } else { format!("{} · {length}", candidate.name) };
            lines.push(ChartLine::new(name, Look::Plain(t.color.text_secondary, line), points).without_markers());
        }
    }
    let at: Vec<At> = memory::in_flight_at_peak(brief)
        .map(|in_flight| At { x: f64::from(in_flight), words: words.the_brief.clone() })
        .into_iter()
        .collect();
    Card::new().show(ui, |ui| {
        Chart::new("memory curve", &words.plot_title, "GiB", &words.plot_x, &lines)
            .at(&at)
            .height(300.0)
            .show(ui, text, out);
    });
}
