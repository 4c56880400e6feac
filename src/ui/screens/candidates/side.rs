//! Which boundary suits the brief, and what to ask the provider.

use egui::Ui;

use super::capital;
use crate::app::command::Command;
use crate::app::state::State;
use crate::domain::advice::Suit;
use crate::domain::candidate::Candidate;
use crate::domain::questions::letter;
use crate::domain::text::{Language, Text, fill};
use crate::project::plan::Plan;
use crate::ui::theme::{Font, tokens};
use crate::ui::widgets::{Button, Mark, card, heading, icons, mark, section_header, small, split, swatch};

/// Reasons shown; the rest come on hover.
const REASONS: usize = 2;
/// Questions shown before a person asks for all.
const SHOWN: usize = 4;

/// Advice on every boundary, what suits best first, with the offers that have it.
pub(super) fn advice_ui(ui: &mut Ui, state: &State, plan: &Plan, text: &Text) {
    let t = tokens(ui);
    card(ui, |ui| {
        ui.spacing_mut().item_spacing.y = 0.0;
        heading(ui, Font::Heading, &text.candidates.advice_title);
        for advice in &state.derived.advice {
            let (shape, word) = match advice.suit {
                Suit::Fits => (Mark::Pass, "suit_fits"),
                Suit::Weigh => (Mark::Inconclusive, "suit_weigh"),
                Suit::Unfit => (Mark::Fail, "suit_unfit"),
                Suit::Open => (Mark::NotTested, "suit_open"),
            };
            ui.add_space(t.space.s);
            split(
                ui,
                |ui| {
                    mark(ui, shape, t.size.verdict, text.name(word));
                    ui.label(Font::Subhead.rich(capital(text.boundary(advice.boundary))));
                },
                |ui| {
                    ui.spacing_mut().item_spacing.x = 4.0;
                    let offers = plan.candidates.iter().rev();
                    for offer in offers.filter(|offer| offer.promised.boundary == Some(advice.boundary)) {
                        swatch(ui, offer.series, &offer.name).on_hover_text(&offer.name);
                    }
                },
            );
            let reasons: Vec<String> = advice.reasons.iter().map(|reason| reason.words(text)).collect();
            let first = reasons.get(..REASONS).unwrap_or(&reasons);
            let between = if reasons.first().is_some_and(|words| words.ends_with('。')) { "" } else { " " };
            ui.horizontal(|ui| {
                ui.add_space(t.size.verdict + ui.spacing().item_spacing.x);
                ui.vertical(|ui| small(ui, &first.join(between)).on_hover_text(reasons.join(between)));
            });
        }
    });
}

/// What the offer does not state, as questions that can be copied in either language.
pub(super) fn questions_ui(ui: &mut Ui, state: &State, candidate: &Candidate, text: &Text, out: &mut Vec<Command>) {
    let t = tokens(ui);
    let words = &text.candidates;
    let Some(view) = state.derived.candidate(&candidate.id) else { return };
    let questions = &view.questions;
    let id = egui::Id::unique(("candidates questions", &candidate.id));
    let all = ui.data(|data| data.get_temp::<bool>(id)).unwrap_or(false);
    card(ui, |ui| {
        ui.spacing_mut().item_spacing.y = t.space.xs;
        let state_mark = if questions.is_empty() { Mark::Pass } else { Mark::Inconclusive };
        section_header(ui, Some((state_mark, &candidate.name)), &words.questions_title, &questions.len().to_string());
        if questions.is_empty() {
            small(ui, &words.questions_none);
            return;
        }
        for (n, question) in questions.iter().take(if all { questions.len() } else { SHOWN }).enumerate() {
            small(ui, &format!("{}. {}", n + 1, question.words(text)));
        }
        if questions.len() > SHOWN {
            let toggle = if all {
                words.show_fewer.clone()
            } else {
                fill(&words.show_all, &[("n", questions.len().to_string())])
            };
            if Button::link(&toggle).show(ui).clicked() {
                ui.data_mut(|data| data.insert_temp(id, !all));
            }
        }
        ui.add_space(t.space.xs);
        ui.horizontal(|ui| {
            ui.spacing_mut().item_spacing.x = t.space.s;
            for (words, language) in [(&words.copy_en, Language::En), (&words.copy_zh, Language::ZhHans)] {
                if Button::secondary(words).small().icon(icons::COPY).show(ui).clicked() {
                    out.push(Command::Copy(letter(candidate, Text::of(language))));
                }
            }
        });
    });
}
