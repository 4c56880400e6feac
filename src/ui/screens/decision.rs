//! Step: decision.

use egui::Ui;

use crate::app::command::Command;
use crate::app::state::State;
use crate::domain::text::Text;
use crate::ui::widgets::page_header;

/// Draws the step.
pub fn decision_ui(ui: &mut Ui, _state: &State, text: &Text, _out: &mut Vec<Command>) {
    page_header(ui, &text.decision.title, "", |_ui| {});
}
