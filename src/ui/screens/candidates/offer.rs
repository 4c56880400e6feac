//! Pasting the text of an offer: it is kept word for word as the source of a new or the selected candidate.

use chrono::NaiveDate;
use egui::Ui;

use crate::app::command::{Command, Layer};
use crate::app::state::State;
use crate::domain::candidate::OfferSource;
use crate::domain::ids::CandidateId;
use crate::domain::text::Text;
use crate::project::edit::Edit;
use crate::ui::theme::tokens;
use crate::ui::widgets::{Button, Field, columns, dialog, dialog_buttons, small};

/// The pasted text on its way.
#[derive(Debug, Clone, Default)]
struct Draft {
    text: String,
    who: String,
    read_on: Option<NaiveDate>,
    /// `None` for a new candidate.
    candidate: Option<CandidateId>,
}

/// The dialog.
pub fn offer_ui(ui: &mut Ui, state: &State, text: &Text, out: &mut Vec<Command>) {
    let Some(project) = &state.project else { return };
    let words = &text.candidates;
    let key = egui::Id::unique("pasted offer");
    let mut draft: Draft = ui.data(|data| data.get_temp(key)).unwrap_or_default();
    draft.candidate.take_if(|id| project.plan.candidate(id).is_none());
    let mut done = false;
    dialog(ui, "offer", &words.offer_title, out, |ui, out| {
        let t = tokens(ui);
        ui.spacing_mut().item_spacing.y = t.space.s;
        small(ui, &words.offer_what);
        Field::new("offer.text", &words.source_text).lines(ui, 10, &mut draft.text);
        columns(ui, t.space.m, [1.0, 1.0, 0.9], |[target, who, read_on]| {
            let mut choices = vec![(None, words.offer_new.as_str())];
            choices.extend(
                project.plan.candidates.iter().map(|candidate| (Some(candidate.id.clone()), candidate.name.as_str())),
            );
            Field::new("offer.for", &words.offer_for).choice(target, &choices, &mut draft.candidate);
            Field::new("offer.who", &words.who).hint(&words.hint_who).text(who, &mut draft.who);
            Field::new("offer.read_on", &words.read_on).date(read_on, text, &mut draft.read_on);
        });
        let is_ready = !draft.text.trim().is_empty() && !Field::is_wrong(ui, "offer.read_on");
        dialog_buttons(ui, "", |ui| {
            if Button::primary(&words.keep).enabled(is_ready, "").show(ui).clicked() {
                done = true;
            }
            if Button::secondary(&text.common.cancel).show(ui).clicked() {
                out.push(Command::CloseTop);
            }
        });
    });
    if !done {
        ui.data_mut(|data| data.insert_temp(key, draft));
        return;
    }
    ui.data_mut(|data| data.remove::<Draft>(key));
    let chosen = draft.candidate.as_ref().and_then(|id| project.plan.candidate(id)).cloned();
    let mut candidate = chosen.unwrap_or_else(|| super::new_candidate(project, text));
    candidate.source = OfferSource { who: draft.who, read_on: draft.read_on, text: draft.text };
    let id = candidate.id.clone();
    out.push(Command::CloseTop);
    out.push(Command::Edit(Edit::PutCandidate(Box::new(candidate))));
    out.push(Command::SelectCandidate(Some(id)));
    out.push(Command::Show(Layer::Candidate));
}
