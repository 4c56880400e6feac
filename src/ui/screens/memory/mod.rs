//! Step 2: does the work fit, with how much left, before anything is rented.

mod advice;
mod against;
mod bars;
mod curve;
mod log;
mod setup;

use egui::Ui;

use crate::app::command::{Command, Layer, Screen};
use crate::app::derived::CandidateView;
use crate::app::state::{Project, State};
use crate::domain::format;
use crate::domain::memory::{self, MemoryWork};
use crate::domain::text::{Text, fill};
use crate::ui::theme::tokens;
use crate::ui::widgets::states::empty_state;
use crate::ui::widgets::{Button, caption, icons, page_header};

pub use log::log_ui;

/// Draws the step.
pub fn memory_ui(ui: &mut Ui, state: &State, text: &Text, out: &mut Vec<Command>) {
    let Some(project) = &state.project else { return };
    let views = &state.derived.candidates;
    let words = &text.memory;
    page_header(ui, &words.title, &finding(project, views, text), |ui| {
        let may = !views.is_empty();
        let import = Button::secondary(&words.import_log).icon(icons::UPLOAD_SIMPLE);
        if import.enabled(may, &words.no_candidates).show(ui).clicked() {
            out.push(Command::Show(Layer::ImportLog));
        }
    });
    if views.is_empty() {
        if empty_state(ui, &words.no_candidates, &words.needs_candidates_button, &words.needs_candidates_then) {
            out.push(Command::Go(Screen::Candidates));
        }
        return;
    }
    let t = tokens(ui);
    setup::tabs_ui(ui, project, text, out);
    ui.add_space(t.space.m);
    if project.plan.memory.work != MemoryWork::Images {
        setup::model_ui(ui, project, text, out);
        ui.add_space(t.space.m);
    }
    if project.plan.memory.work != MemoryWork::Images && !model_is_known(project) {
        if empty_state(ui, &words.needs_model, &words.needs_model_button, &words.needs_model_then) {
            out.push(Command::Go(Screen::Brief));
        }
        return;
    }
    setup::inputs_ui(ui, project, text, out);
    ui.add_space(t.space.m);
    bars::bars_ui(ui, project, views, text, out);
    ui.add_space(t.space.m);
    curve::curve_ui(ui, project, views, text, out);
    ui.add_space(t.space.m);
    advice::advice_ui(ui, state, project, text);
    against::against_ui(ui, project, views, text, out);
    ui.add_space(t.space.s);
    caption(ui, &words.note);
}

/// Whether anything can be said about the brief's model: its name selects facts, its files were read, or its fields are
/// filled.
fn model_is_known(project: &Project) -> bool {
    let (facts, _) = memory::offer::facts_of(&project.plan.brief, &project.plan.memory);
    facts.layers.is_some() && (facts.kv_heads.is_some() || facts.kv_lora_rank.is_some())
}

/// The answer in one sentence.
fn finding(project: &Project, views: &[CandidateView], text: &Text) -> String {
    let words = &text.memory;
    let name = |view: &CandidateView| {
        project.plan.candidate(&view.id).map_or_else(|| view.id.to_string(), |candidate| candidate.name.clone())
    };
    let fits = |view: &&CandidateView| view.memory.as_ref().is_ok_and(|figure| figure.value.fits());
    let is_close = |view: &&CandidateView| {
        let verdict = view.memory.as_ref().ok().and_then(|figure| figure.value.verdict);
        verdict == Some(memory::serve::Verdict::TooClose)
    };
    let known = views.iter().filter(|view| view.memory.is_ok()).count();
    if views.is_empty() || known == 0 {
        return if views.is_empty() { words.no_candidates.clone() } else { words.nothing_known.clone() };
    }
    let list = |names: Vec<String>| names.join(&text.common.list_comma);
    let named = |keep: &dyn Fn(&&CandidateView) -> bool| views.iter().filter(|view| keep(view)).map(name).collect();
    let fit: Vec<String> = named(&|view| fits(view));
    let close: Vec<String> = named(&|view| is_close(view));
    let rest: Vec<String> = named(&|view| view.memory.is_ok() && !fits(view) && !is_close(view));
    let in_flight = format::count(u64::from(memory::in_flight_at_peak(&project.plan.brief).unwrap_or(1)));
    let is_serving = project.plan.memory.work == MemoryWork::Inference;
    let template = match (is_serving, fit.is_empty(), rest.is_empty() && close.is_empty()) {
        (true, true, _) => &words.none_fit,
        (true, false, true) => &words.all_fit,
        (true, false, false) => &words.some_fit,
        (false, true, _) => &words.none_fit_work,
        (false, false, _) => &words.some_fit_work,
    };
    let mut sentence = fill(template, &[("fits", list(fit)), ("in_flight", in_flight)]);
    for (names, template) in [(rest, &words.too_small_for), (close, &words.too_close_for)] {
        if !names.is_empty() {
            let second = fill(template, &[("names", list(names))]);
            sentence = fill(&text.common.two_sentences, &[("first", sentence), ("second", second)]);
        }
    }
    sentence
}
