//! Which knob buys how much, and the smallest configuration that carries the brief.

use egui::Ui;

use crate::app::derived::CandidateView;
use crate::app::state::{Project, State};
use crate::domain::format;
use crate::domain::memory::knobs::{Gain, Knob};
use crate::domain::memory::offer::Searched;
use crate::domain::memory::{GIB, MemoryWork};
use crate::domain::text::{Text, fill};
use crate::ui::theme::{Font, tokens};
use crate::ui::widgets::{Card, Column, Table, caption, columns, heading, small};

/// Rows of each table; what is further from the point is left out.
const SHOWN: usize = 6;

/// Two cards side by side, of a serving engine.
pub(super) fn advice_ui(ui: &mut Ui, state: &State, project: &Project, text: &Text) {
    if project.plan.memory.work != MemoryWork::Inference {
        return;
    }
    let t = tokens(ui);
    columns(ui, t.space.m, [1.0, 1.0], |[left, right]| {
        Card::new().show(left, |ui| knobs_ui(ui, state, project, text));
        Card::new().show(right, |ui| smallest_ui(ui, &state.derived.smallest, text));
    });
    ui.add_space(t.space.m);
}

/// The knobs of the selected candidate, or of the first that does not surely fit.
fn knobs_ui(ui: &mut Ui, state: &State, project: &Project, text: &Text) {
    let words = &text.memory;
    heading(ui, Font::Heading, &words.knobs_title);
    let views = &state.derived.candidates;
    let is_short = |view: &&CandidateView| view.memory.as_ref().is_ok_and(|figure| !figure.value.fits());
    let selected = state.view.candidate.as_ref().and_then(|id| state.derived.candidate(id));
    let Some(view) = selected.or_else(|| views.iter().find(is_short)).or_else(|| views.first()) else { return };
    if let Some(candidate) = project.plan.candidate(&view.id) {
        caption(ui, &fill(&words.knobs_of, &[("candidate", candidate.name.clone())]));
    }
    if view.gains.is_empty() {
        small(ui, &words.knobs_none);
        return;
    }
    let heads = [
        Column::left(&words.knob, 1.6),
        Column::right(&words.knob_pool, -96.0),
        Column::right(&words.knob_requests, -96.0),
        Column::left(&words.knob_then, 1.0),
    ];
    let n_shown = view.gains.len().min(SHOWN);
    Table::new("memory knobs", &heads).row_height(30.0).pad(0.0).show(ui, n_shown, |row| {
        let Some(gain) = view.gains.get(row.idx) else { return };
        row.text(&knob_words(gain, text));
        row.text(&signed(gain.pool / GIB, 1));
        row.text(&signed(gain.requests.floor(), 0));
        row.muted(gain.verdict.map_or("", |verdict| text.name(verdict.name())));
    });
}

fn knob_words(gain: &Gain, text: &Text) -> String {
    let name = text.name(gain.knob.name());
    match (gain.knob, gain.knob.setting()) {
        (Knob::Utilisation(share), _) => format!("{name} {}", format::fixed(share, 2)),
        (_, Some(setting)) => format!("{name} {}", format::fixed(setting, 0)),
        (_, None) => name.to_owned(),
    }
}

fn signed(value: f64, digits: usize) -> String {
    let shown = format::fixed(value, digits);
    if value > 0.0 { format!("+{shown}") } else { shown.replace('-', "−") }
}

fn smallest_ui(ui: &mut Ui, searched: &[Searched], text: &Text) {
    let words = &text.memory;
    heading(ui, Font::Heading, &words.smallest_title);
    let gpus = |searched: &Searched| fill(&words.n_gpus, &[("n", searched.n_gpus.to_string())]);
    match searched.iter().find(|configuration| configuration.why_not.is_none()) {
        Some(smallest) => {
            let gib = |bytes: f64| format::fixed(bytes / GIB, 1);
            let values = [
                ("name", smallest.name.clone()),
                ("gpus", gpus(smallest)),
                ("memory", gib(smallest.memory)),
                ("free", smallest.free.map(|free| gib(free.value)).unwrap_or_default()),
            ];
            small(ui, &fill(&words.smallest_is, &values));
        }
        None => {
            small(ui, &words.smallest_none);
        }
    }
    let smaller: Vec<&Searched> = searched.iter().filter(|configuration| configuration.why_not.is_some()).collect();
    // Those next to the limit say the most.
    let nearest: Vec<&Searched> = smaller.iter().rev().take(SHOWN).copied().collect();
    if nearest.is_empty() {
        return;
    }
    let heads = [
        Column::left(&words.configuration, 1.4),
        Column::right(&words.in_all, -110.0),
        Column::left(&words.why_not, 1.8),
    ];
    Table::new("memory smallest", &heads).row_height(30.0).pad(0.0).show(ui, nearest.len(), |row| {
        let Some(configuration) = nearest.get(row.idx) else { return };
        row.text(&format!("{} {}", gpus(configuration), configuration.name));
        row.text(&format::fixed(configuration.memory / GIB, 1));
        row.muted(configuration.why_not.map_or("", |why| text.name(why)));
    });
}
