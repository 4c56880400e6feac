//! Reading a file of the model: the dialog with a typed path, and what the last reading came to.

use std::path::PathBuf;

use egui::Ui;

use crate::app::command::{Command, Layer};
use crate::app::state::{JobWhat, State};
use crate::domain::text::{Text, fill};
use crate::engine::event::Picking;
use crate::ui::theme::{Font, tokens};
use crate::ui::widgets::{Button, Field, Mark, card, dialog, dialog_buttons, failure_card, icons, mark, small, split};

/// The dialog.
pub fn import_ui(ui: &mut Ui, state: &State, text: &Text, out: &mut Vec<Command>) {
    let id = egui::Id::unique("brief config path");
    let mut path: String = ui.data(|data| data.get_temp(id)).unwrap_or_default();
    let is_reading = state.jobs.iter().any(|job| matches!(job.what, JobWhat::Files | JobWhat::Dialog));
    dialog(ui, "import_model", &text.brief.import_title, out, |ui, out| {
        let t = tokens(ui);
        small(ui, &text.brief.import_what);
        ui.add_space(t.space.s);
        Field::new("brief.config_path", &text.brief.import_path).icon(icons::FILE).text(ui, &mut path);
        let entered = ui.memory(|memory| memory.has_focus(Field::id("brief.config_path")))
            && ui.input(|input| input.key_pressed(egui::Key::Enter));
        if let Some(read) = &state.view.model_read
            && let Err(failure) = &read.outcome
        {
            ui.add_space(t.space.s);
            failure_card(ui, text, "import model", failure, None);
        }
        let typed = path.trim();
        dialog_buttons(ui, if is_reading { &text.brief.reading } else { "" }, |ui| {
            let read = Button::primary(&text.brief.import_read).enabled(!typed.is_empty() && !is_reading, "").show(ui);
            if (read.clicked() || entered) && !typed.is_empty() && !is_reading {
                out.push(Command::ImportModel(PathBuf::from(typed)));
            }
            if Button::secondary(&text.common.cancel).show(ui).clicked() {
                out.push(Command::CloseTop);
            }
            if Button::secondary(&text.common.browse).icon(icons::FOLDER_OPEN).show(ui).clicked() {
                out.push(Command::Pick(Picking::ModelConfig));
            }
        });
    });
    ui.data_mut(|data| data.insert_temp(id, path));
}

/// What the last reading left open, or why nothing could be read; nothing when all was taken over.
pub(super) fn outcome_ui(ui: &mut Ui, state: &State, text: &Text, out: &mut Vec<Command>) {
    // The dialog says it itself.
    let Some(read) = state.view.model_read.as_ref().filter(|_| !state.view.layers.contains(&Layer::ImportModel)) else {
        return;
    };
    let notes = match &read.outcome {
        Err(failure) => {
            let dismissed = ui.scope(|ui| {
                ui.spacing_mut().item_spacing.y = tokens(ui).space.xs;
                failure_card(ui, text, "model read", failure, Some(&text.common.dismiss))
            });
            if dismissed.inner {
                out.push(Command::DismissModelRead);
            }
            return;
        }
        Ok(notes) if notes.is_empty() => return,
        Ok(notes) => notes,
    };
    let t = tokens(ui);
    card(ui, |ui| {
        let file = read.path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        split(
            ui,
            |ui| {
                mark(ui, Mark::Inconclusive, t.size.verdict, &text.brief.state_partly);
                ui.label(Font::Subhead.rich(fill(&text.brief.read_from, &[("file", file)])));
            },
            |ui| {
                if Button::link(&text.common.dismiss).show(ui).clicked() {
                    out.push(Command::DismissModelRead);
                }
            },
        );
        for note in notes {
            small(ui, &text.source_note(note));
        }
    });
}
