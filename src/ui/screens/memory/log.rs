//! The dialog in which the log of a serving engine is pasted or opened for a candidate. What was typed stays until it
//! was read.

use egui::Ui;

use crate::app::command::Command;
use crate::app::state::{JobWhat, State};
use crate::domain::ids::CandidateId;
use crate::domain::text::Text;
use crate::engine::event::{Outcome, Picking};
use crate::engine::job::OutputSource;
use crate::ui::theme::tokens;
use crate::ui::widgets::{Button, Field, caption, columns, dialog, dialog_buttons, icons, segmented};

/// What is typed; widget memory.
#[derive(Debug, Clone, Default)]
struct Draft {
    candidate: Option<CandidateId>,
    from_file: bool,
    pasted: String,
    path: String,
    /// It was handed on to be read, and nobody has looked since.
    sent: bool,
}

/// Draws the dialog.
pub fn log_ui(ui: &mut Ui, state: &State, text: &Text, out: &mut Vec<Command>) {
    let Some(project) = &state.project else { return };
    let candidates = &project.plan.candidates;
    let Some(first) = candidates.first() else {
        out.push(Command::CloseTop);
        return;
    };
    let words = &text.memory;
    let t = tokens(ui);
    let id = egui::Id::unique("serving log draft");
    let mut draft: Draft = ui.data(|data| data.get_temp(id)).unwrap_or_default();
    if draft.sent {
        let was_read = state.last_ended.as_ref().is_some_and(|ended| {
            matches!(&ended.what, JobWhat::ReadLog(of) if Some(of) == draft.candidate.as_ref())
                && ended.outcome == Outcome::Done
        });
        draft = if was_read { Draft::default() } else { Draft { sent: false, ..draft } };
    }
    if let Some(path) = state.picked.get(&Picking::CapturedOutput.into()) {
        draft.path = path.display().to_string();
        draft.from_file = true;
        out.push(Command::TakePicked(Picking::CapturedOutput));
    }
    let mut chosen = draft.candidate.clone().filter(|id| project.plan.candidate(id).is_some());
    chosen = chosen.or_else(|| state.view.candidate.clone()).filter(|id| project.plan.candidate(id).is_some());
    let mut chosen = chosen.unwrap_or_else(|| first.id.clone());
    dialog(ui, "serving log", &words.log_title, out, |ui, out| {
        ui.spacing_mut().item_spacing.y = t.space.s;
        let choices: Vec<(CandidateId, &str)> =
            candidates.iter().map(|candidate| (candidate.id.clone(), candidate.name.as_str())).collect();
        Field::new("log candidate", &words.log_candidate).choice(ui, &choices, &mut chosen);
        let ways = [(false, text.hosts.paste_text.as_str()), (true, text.hosts.paste_file.as_str())];
        draft.from_file = segmented(ui, &ways, draft.from_file).unwrap_or(draft.from_file);
        if draft.from_file {
            columns(ui, t.space.s, [1.0, -116.0], |[path, browse]| {
                Field::new("log path", &text.hosts.paste_path).text(path, &mut draft.path);
                browse.add_space(20.0);
                if Button::secondary(&text.common.browse).icon(icons::FOLDER_OPEN).show(browse).clicked() {
                    out.push(Command::Pick(Picking::CapturedOutput));
                }
            });
        } else {
            egui::ScrollArea::vertical().id_salt("log text").max_height(220.0).show(ui, |ui| {
                Field::new("log text", &words.log_text).lines(ui, 9, &mut draft.pasted);
            });
        }
        caption(ui, &words.log_note);
        let ready = if draft.from_file { !draft.path.trim().is_empty() } else { !draft.pasted.trim().is_empty() };
        dialog_buttons(ui, "", |ui| {
            if Button::primary(&text.hosts.paste_read).enabled(ready, &text.hosts.paste_nothing).show(ui).clicked() {
                let source = if draft.from_file {
                    OutputSource::File(draft.path.trim().into())
                } else {
                    OutputSource::Text(draft.pasted.clone())
                };
                out.push(Command::CloseTop);
                out.push(Command::ReadLog { candidate: chosen.clone(), source });
                draft.sent = true;
            }
            if Button::secondary(&text.common.cancel).show(ui).clicked() {
                out.push(Command::CloseTop);
            }
        });
    });
    draft.candidate = Some(chosen);
    ui.data_mut(|data| {
        data.insert_temp(id, draft);
    });
}
