//! Keys that work wherever one is, and the four parts of the window that F6 walks through.

use egui::{Id, Key, Modifiers, Role, Sense, Ui, WidgetInfo};

use super::actions::Action;
use crate::app::command::{Command, Layer};
use crate::app::state::State;
use crate::ui::widgets::Field;

/// A part of the window that F6 stops at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Part {
    Rail,
    Content,
    Inspector,
    Jobs,
}

const PARTS: [Part; 4] = [Part::Rail, Part::Content, Part::Inspector, Part::Jobs];

/// Makes the part a stop for F6 and gives it a name. Tab goes on from there.
pub(super) fn anchor(ui: &Ui, part: Part, name: &str) {
    let response = ui.interact(ui.max_rect(), part_id(part), Sense::focusable_noninteractive());
    response.widget_info(|| WidgetInfo::labeled(Role::Pane, true, name));
    if response.has_focus() {
        let t = crate::ui::theme::tokens(ui);
        let ring = egui::Stroke::new(t.stroke.focus, t.color.stroke_focus);
        ui.painter().rect_stroke(response.rect.shrink(1.0), 0.0, ring, egui::StrokeKind::Inside);
    }
}

fn part_id(part: Part) -> Id {
    Id::unique(("window part", part))
}

/// Reads the keys of this frame and pushes what they ask for.
pub(super) fn keys(ui: &Ui, state: &State, out: &mut Vec<Command>) {
    ui.ctx().options_mut(|options| options.zoom_with_keyboard = false);
    let typing = ui.ctx().text_edit_focused();
    let dark = ui.visuals().dark_mode;
    let modal = state.view.layers.last().copied();
    // A question, or the offer of unsaved work, is a dialog that is no layer.
    let asked = super::dialogs::is_asking(state);
    // A dialog keeps everything else from moving under it.
    let covered = asked || modal.is_some_and(|layer| !matches!(layer, Layer::Palette | Layer::Presentation));
    // A key with Shift comes before the same key without it, since the shorter one matches both.
    let mut actions: Vec<Action> = Action::all().filter(|action| action.key().is_some()).collect();
    actions.sort_by_key(|action| !action.key().is_some_and(|key| key.modifiers.shift));
    for action in actions {
        // The text field has its own undo, and Esc belongs to an open popup or dialog first.
        let skipped = match action {
            Action::Undo | Action::Redo => typing || covered,
            Action::Close => asked || egui::Popup::is_any_open(ui.ctx()) || modal.is_some_and(has_own_escape),
            Action::Filter
            | Action::NextPanel
            | Action::PreviousPanel
            | Action::Larger
            | Action::Smaller
            | Action::NormalSize => false,
            _ => covered && !matches!(action, Action::Stop | Action::Keys),
        };
        if skipped || action.why_not(state, crate::domain::text::Text::of(state.settings.language)).is_some() {
            continue;
        }
        if consumed(ui, action) {
            match action {
                Action::Filter => Field::focus(ui, "filter"),
                Action::NextPanel => walk(ui, 1),
                Action::PreviousPanel => walk(ui, PARTS.len() - 1),
                action => out.extend(action.commands(state, dark)),
            }
        }
    }
}

/// Dialogs and the palette close themselves on Esc, so that Esc closes one layer at a time.
fn has_own_escape(layer: Layer) -> bool {
    !matches!(layer, Layer::Presentation)
}

fn consumed(ui: &Ui, action: Action) -> bool {
    let Some(key) = action.key() else { return false };
    ui.input_mut(|input| {
        let pressed = input.consume_shortcut(&key);
        // "+" is typed with or without Shift, or as "=", depending on the keyboard.
        pressed
            || (action == Action::Larger
                && (input.consume_key(Modifiers::COMMAND, Key::Equals)
                    || input.consume_key(Modifiers::COMMAND.plus(Modifiers::SHIFT), Key::Equals)))
    })
}

/// Gives the keyboard to the next part that is on screen.
fn walk(ui: &Ui, by: usize) {
    let focused = ui.memory(|memory| memory.focused());
    let here = PARTS.iter().position(|part| focused == Some(part_id(*part)));
    let mut idx = here.map_or(0, |here| (here + by) % PARTS.len());
    for _ in 0..PARTS.len() {
        let Some(part) = PARTS.get(idx) else { return };
        if ui.ctx().read_response(part_id(*part)).is_some() {
            ui.memory_mut(|memory| memory.request_focus(part_id(*part)));
            return;
        }
        idx = (idx + by) % PARTS.len();
    }
}
