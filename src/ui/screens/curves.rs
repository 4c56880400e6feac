//! Step 6: where each candidate leaves the limits: every run over each other, each one to be hidden, the same numbers as
//! rows beside every plot.

use std::sync::Arc;

use egui::Ui;

use crate::app::command::{Command, Layer, Screen};
use crate::app::state::{Project, State};
use crate::domain::brief::Slo;
use crate::domain::candidate::Candidate;
use crate::domain::compare::step::{self, Kept};
use crate::domain::curve::{StepPoint, Summary};
use crate::domain::evidence::Kind;
use crate::domain::format;
use crate::domain::load::Arrivals;
use crate::domain::seen::Run;
use crate::domain::text::{Text, fill};
use crate::ui::theme::{Font, tokens};
use crate::ui::widgets::{
    At, Button, Card, Chart, ChartLine, ChartPoint, Field, Limit, Look, caption, columns, empty_state, heading,
    page_header, rule, segmented, small, swatch, tick,
};

/// What is drawn upwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Metric {
    Ttft(Percentile),
    Itl(Percentile),
    E2e(Percentile),
    Goodput,
    Requests,
    Tokens,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Percentile {
    P50,
    P95,
    P99,
}

impl Metric {
    const ALL: [Self; 12] = [
        Self::Ttft(Percentile::P50),
        Self::Ttft(Percentile::P95),
        Self::Ttft(Percentile::P99),
        Self::Itl(Percentile::P50),
        Self::Itl(Percentile::P95),
        Self::Itl(Percentile::P99),
        Self::E2e(Percentile::P50),
        Self::E2e(Percentile::P95),
        Self::E2e(Percentile::P99),
        Self::Goodput,
        Self::Requests,
        Self::Tokens,
    ];

    fn word(self, text: &Text) -> &str {
        let words = &text.curves;
        match self {
            Self::Ttft(Percentile::P50) => &words.ttft_p50,
            Self::Ttft(Percentile::P95) => &words.ttft_p95,
            Self::Ttft(Percentile::P99) => &words.ttft_p99,
            Self::Itl(Percentile::P50) => &words.itl_p50,
            Self::Itl(Percentile::P95) => &words.itl_p95,
            Self::Itl(Percentile::P99) => &words.itl_p99,
            Self::E2e(Percentile::P50) => &words.e2e_p50,
            Self::E2e(Percentile::P95) => &words.e2e_p95,
            Self::E2e(Percentile::P99) => &words.e2e_p99,
            Self::Goodput => &words.goodput,
            Self::Requests => &words.requests_rate,
            Self::Tokens => &words.output_rate,
        }
    }

    const fn unit(self) -> &'static str {
        match self {
            Self::Ttft(_) | Self::Itl(_) | Self::E2e(_) => "ms",
            Self::Goodput | Self::Requests => "req/s",
            Self::Tokens => "tok/s",
        }
    }

    /// The value of a step in the metric's unit; `None` where the samples do not carry it.
    fn of(self, point: &StepPoint) -> Option<f64> {
        let ms = |summary: Option<Summary>, percentile: Percentile| {
            let summary = summary?;
            let secs = match percentile {
                Percentile::P50 => summary.p50,
                Percentile::P95 => summary.p95,
                Percentile::P99 => summary.p99,
            }?;
            Some(secs * 1e3)
        };
        match self {
            Self::Ttft(percentile) => ms(point.ttft, percentile),
            Self::Itl(percentile) => ms(point.gap, percentile),
            Self::E2e(percentile) => ms(point.e2el, percentile),
            Self::Goodput => point.goodput_per_sec,
            Self::Requests => point.requests_per_sec,
            Self::Tokens => point.output_tokens_per_sec,
        }
    }

    /// The brief's limit on this metric.
    const fn limit(self, slo: &Slo) -> Option<f64> {
        match self {
            Self::Ttft(Percentile::P95) => slo.ttft_p95_ms,
            Self::Itl(Percentile::P95) => slo.itl_p95_ms,
            Self::E2e(Percentile::P95) => slo.e2e_p95_ms,
            Self::Tokens => slo.output_tokens_per_sec,
            _ => None,
        }
    }
}

/// What is drawn across.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Against {
    Rate,
    InFlight,
}

impl Against {
    /// Where a step lies: what was asked where the run was driven by it, what came of it otherwise.
    fn of(self, point: &StepPoint) -> Option<f64> {
        match (self, point.arrivals) {
            (Self::Rate, Arrivals::Concurrency) => point.requests_per_sec,
            (Self::InFlight, Arrivals::Constant | Arrivals::Poisson) => Some(f64::from(point.peak_in_flight)),
            (Self::Rate, _) | (Self::InFlight, _) => Some(point.level),
        }
    }
}

/// What a person chose on this screen; widget memory.
#[derive(Debug, Clone, Copy)]
struct Choice {
    metric: Metric,
    against: Against,
    log: bool,
}

/// A run as it is listed, with its candidate.
struct Listed<'a> {
    run: &'a Arc<Run>,
    candidate: &'a Candidate,
    name: String,
    shown: bool,
}

/// Draws the step.
pub fn curves_ui(ui: &mut Ui, state: &State, text: &Text, out: &mut Vec<Command>) {
    let Some(project) = &state.project else { return };
    let words = &text.curves;
    let runs = listed(state, project, text);
    page_header(ui, &words.title, &finding(project, &runs, text), |ui| {
        if !runs.is_empty() && Button::secondary(&words.export).show(ui).clicked() {
            out.push(Command::Show(Layer::ExportCsv));
        }
    });
    if runs.is_empty() {
        if empty_state(ui, &words.empty, &words.empty_button, &words.empty_then) {
            out.push(Command::Go(Screen::Load));
        }
        return;
    }
    let id = egui::Id::unique("curves choice");
    let mut choice = ui.data(|data| data.get_temp(id)).unwrap_or_else(|| first_choice(&runs));
    let t = tokens(ui);
    columns(ui, t.space.m, [-216.0, 1.0], |[left, right]| {
        filters_ui(left, project, &runs, text, &mut choice, out);
        plots_ui(right, project, &runs, text, choice, out);
    });
    ui.data_mut(|data| {
        data.insert_temp(id, choice);
    });
}

/// TTFT p95 against what drives most runs.
fn first_choice(runs: &[Listed<'_>]) -> Choice {
    let by_rate = runs.iter().filter(|listed| listed.run.plan.arrivals != Arrivals::Concurrency).count();
    let against = if by_rate * 2 >= runs.len() { Against::Rate } else { Against::InFlight };
    Choice { metric: Metric::Ttft(Percentile::P95), against, log: false }
}

/// Every run with a candidate, oldest first. Invalid runs are hidden until somebody asks for them.
fn listed<'a>(state: &'a State, project: &'a Project, text: &Text) -> Vec<Listed<'a>> {
    let mut numbers = std::collections::BTreeMap::new();
    state
        .derived
        .runs
        .iter()
        .filter_map(|run| {
            let candidate = project.plan.candidate(run.record.candidate.as_ref()?)?;
            let number = numbers.entry(candidate.id.clone()).or_insert(0_u32);
            *number += 1;
            let values = [("candidate", candidate.name.clone()), ("number", number.to_string())];
            let name = fill(&text.curves.run_name, &values);
            let shown = run.is_valid() != state.view.hidden_runs.contains(&run.id);
            Some(Listed { run, candidate, name, shown })
        })
        .collect()
}

/// Up to where each candidate keeps the limits, from its valid runs that are shown.
fn finding(project: &Project, runs: &[Listed<'_>], text: &Text) -> String {
    let words = &text.curves;
    if runs.is_empty() {
        return String::new();
    }
    let slo = &project.plan.brief.slo;
    if *slo == Slo::default() {
        return words.keeps_unknown.clone();
    }
    let mut sentences = Vec::new();
    for candidate in &project.plan.candidates {
        let points: Vec<&StepPoint> = runs
            .iter()
            .filter(|listed| listed.candidate.id == candidate.id && listed.run.is_sound())
            .flat_map(|listed| &listed.run.points)
            .collect();
        if points.is_empty() {
            continue;
        }
        let best = points
            .iter()
            .filter(|point| step::kept(point, slo) == Kept::Within)
            .max_by(|a, b| a.level.total_cmp(&b.level));
        sentences.push(match best {
            Some(point) => {
                fill(&words.keeps_up_to, &[("candidate", candidate.name.clone()), ("level", level_words(point, text))])
            }
            None => fill(&words.never_keeps, &[("candidate", candidate.name.clone())]),
        });
    }
    sentences.join(&text.common.list_semicolon)
}

fn level_words(point: &StepPoint, text: &Text) -> String {
    let template = if point.arrivals == Arrivals::Concurrency {
        &text.curves.run_level_in_flight
    } else {
        &text.curves.run_level_rate
    };
    fill(template, &[("level", format::short(point.level).trim_end_matches(".00").to_owned())])
}

fn filters_ui(
    ui: &mut Ui,
    project: &Project,
    runs: &[Listed<'_>],
    text: &Text,
    choice: &mut Choice,
    out: &mut Vec<Command>,
) {
    let words = &text.curves;
    let t = tokens(ui);
    Card::new().show(ui, |ui| {
        let metrics: Vec<(Metric, &str)> = Metric::ALL.iter().map(|metric| (*metric, metric.word(text))).collect();
        Field::new("curves metric", &words.metric).choice(ui, &metrics, &mut choice.metric);
        ui.add_space(t.space.m);
        ui.label(Font::Subhead.rich(&words.against));
        let across = [(Against::Rate, words.by_rate.as_str()), (Against::InFlight, words.by_in_flight.as_str())];
        if let Some(against) = segmented(ui, &across, choice.against) {
            choice.against = against;
        }
        ui.add_space(t.space.m);
        ui.label(Font::Subhead.rich(&words.scale));
        if let Some(log) =
            segmented(ui, &[(true, words.logarithmic.as_str()), (false, words.linear.as_str())], choice.log)
        {
            choice.log = log;
        }
        rule(ui);
        ui.label(Font::Subhead.rich(&words.runs));
        for candidate in &project.plan.candidates {
            for listed in runs.iter().filter(|listed| listed.candidate.id == candidate.id) {
                run_ui(ui, listed, text, out);
            }
        }
        rule(ui);
        caption(ui, &words.note_shown);
        ui.add_space(t.space.xs);
        caption(ui, &words.note_gaps);
    });
}

fn run_ui(ui: &mut Ui, listed: &Listed<'_>, text: &Text, out: &mut Vec<Command>) {
    let mut shown = listed.shown;
    ui.horizontal(|ui| {
        swatch(ui, listed.candidate.series, &listed.candidate.name);
        if tick(ui, &listed.name, &mut shown) {
            out.push(Command::ToggleRun(listed.run.id.clone()));
        }
    });
    ui.horizontal(|ui| {
        crate::ui::widgets::citation(ui, &listed.run.id, out);
        if listed.run.kind() != Kind::Real {
            caption(ui, text.kind(listed.run.kind()));
        }
    });
    if !listed.run.is_valid() {
        caption(ui, &text.curves.run_invalid);
    } else if !listed.run.is_sound() {
        caption(ui, &fill(&text.curves.run_unfinished, &[("ended", text.run_end(listed.run.ended).to_owned())]));
    }
}

fn plots_ui(ui: &mut Ui, project: &Project, runs: &[Listed<'_>], text: &Text, choice: Choice, out: &mut Vec<Command>) {
    let t = tokens(ui);
    let tall = (ui.available_height() * 0.46).clamp(240.0, 480.0);
    Card::new().show(ui, |ui| chart_ui(ui, project, runs, text, choice, "curves main", tall, out));
    ui.add_space(t.space.m);
    let beside = [Metric::Goodput, Metric::Itl(Percentile::P95)];
    let low = (ui.available_height() * 0.30).clamp(170.0, 300.0);
    columns(ui, t.space.m, [1.0, 1.0], |[left, right]| {
        for (ui, metric, salt) in [(left, beside[0], "curves left"), (right, beside[1], "curves right")] {
            let small = Choice { metric, log: false, ..choice };
            Card::new().show(ui, |ui| chart_ui(ui, project, runs, text, small, salt, low, out));
        }
    });
    ui.add_space(t.space.m);
    Card::new().show(ui, |ui| memory_ui(ui, runs, text, low, out));
}

#[allow(clippy::too_many_arguments, reason = "what a chart shows, where, and how high")]
fn chart_ui(
    ui: &mut Ui,
    project: &Project,
    runs: &[Listed<'_>],
    text: &Text,
    choice: Choice,
    salt: &str,
    height: f32,
    out: &mut Vec<Command>,
) {
    let words = &text.curves;
    let brief = &project.plan.brief;
    let mut missing = 0_u64;
    // For every point drawn, the step it comes from, so that a click finds its record.
    let mut lines = Vec::new();
    for listed in runs.iter().filter(|listed| listed.shown || !listed.run.is_valid()) {
        let mut points: Vec<ChartPoint> = Vec::new();
        for point in &listed.run.points {
            match (choice.against.of(point), choice.metric.of(point)) {
                (Some(x), Some(y)) => points.push(ChartPoint { x, y, provisional: point.provisional }),
                _ if listed.shown => missing += 1,
                _ => {}
            }
        }
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        let mut line = ChartLine::new(listed.name.clone(), Look::Series(listed.candidate.series), points);
        line.shown = listed.shown;
        lines.push((line, &listed.run.id));
    }
    let (lines, ids): (Vec<ChartLine>, Vec<_>) = lines.into_iter().unzip();
    let mut limits: Vec<Limit> = choice
        .metric
        .limit(&brief.slo)
        .map(|y| Limit {
            y,
            words: fill(&words.slo_line, &[("value", format!("{} {}", format::short(y), choice.metric.unit()))]),
            soft: false,
        })
        .into_iter()
        .collect();
    if let (Metric::Goodput, Some(peak)) = (choice.metric, brief.peak_rate) {
        limits.push(Limit { y: peak, words: fill(&words.needed_line, &[("value", format::short(peak))]), soft: true });
    }
    let at: Vec<At> = match (choice.against, brief.peak_rate) {
        (Against::Rate, Some(x)) => vec![At { x, words: words.peak_line.clone() }],
        _ => Vec::new(),
    };
    let x_title = if choice.against == Against::Rate { &words.x_rate } else { &words.x_in_flight };
    let note = if missing > 0 { fill(&words.n_missing, &[("n", missing.to_string())]) } else { String::new() };
    let response = Chart::new(salt, choice.metric.word(text), choice.metric.unit(), x_title, &lines)
        .log(choice.log)
        .limits(&limits)
        .at(&at)
        .note(&note)
        .height(height)
        .show(ui, text, out);
    if let Some(id) = response.toggled.and_then(|idx| ids.get(idx)) {
        out.push(Command::ToggleRun((*id).clone()));
    }
    if let Some(id) = response.clicked.and_then(|(line, _)| ids.get(line)) {
        out.push(Command::ShowRecord((*id).clone()));
    }
}

/// Memory of every sampled GPU over the run.
fn memory_ui(ui: &mut Ui, runs: &[Listed<'_>], text: &Text, height: f32, out: &mut Vec<Command>) {
    let words = &text.curves;
    let mut lines = Vec::new();
    for listed in runs.iter().filter(|listed| listed.shown) {
        let Some(load) = &listed.run.record.load else { continue };
        let mut gpus: std::collections::BTreeMap<u32, Vec<ChartPoint>> = std::collections::BTreeMap::new();
        for sample in &load.gpu_samples {
            if let Some(memory) = sample.memory_mib {
                gpus.entry(sample.gpu_idx).or_default().push(ChartPoint::new(sample.at_secs, memory / 1024.0));
            }
        }
        for (gpu_idx, points) in gpus {
            let name = fill(&words.memory_line, &[("run", listed.name.clone()), ("gpu", gpu_idx.to_string())]);
            lines.push(ChartLine::new(name, Look::Series(listed.candidate.series), points).without_markers());
        }
    }
    if lines.is_empty() {
        heading(ui, Font::BodyBold, &words.memory_title);
        small(ui, &words.memory_none);
        return;
    }
    Chart::new("curves memory", &words.memory_title, "GiB", &words.memory_x, &lines).height(height).show(ui, text, out);
}
