//! A dialog: centred, 580 wide, over a scrim. Esc and a click beside it close it.

use egui::{Align, CornerRadius, Frame, Id, Layout, Margin, Modal, Ui};

use super::layout::heading;
use crate::app::command::Command;
use crate::ui::theme::{Font, tokens};

/// Draws a dialog and pushes `Command::CloseTop` when it is to be closed. `title` is also its accessible name.
pub fn dialog<R>(
    ui: &mut Ui,
    salt: &str,
    title: &str,
    out: &mut Vec<Command>,
    content: impl FnOnce(&mut Ui, &mut Vec<Command>) -> R,
) -> R {
    let t = tokens(ui);
    let id = Id::unique(("dialog", salt));
    let mut frame = Frame::new()
        .fill(t.color.bg_panel)
        .stroke(t.hairline())
        .corner_radius(CornerRadius::same(t.radius.dialog))
        .shadow(t.shadow.dialog.shadow(t.color.shadow));
    frame.inner_margin = Margin::symmetric(26, 22);
    let room = ui.ctx().content_rect().size();
    let width = t.size.dialog.min(room.x - 32.0) - 52.0;
    let area = Modal::default_area(id).accessible_name(title);
    let modal = Modal::new(id).area(area).frame(frame).backdrop_color(t.color.scrim).show(ui.ctx(), |ui| {
        ui.set_width(width);
        heading(ui, Font::FigureM, title);
        ui.add_space(t.space.xs);
        egui::ScrollArea::vertical()
            .max_height(room.y - 160.0)
            // The area remembers its last height; without this, content that grows would scroll in the old one.
            .min_scrolled_height(room.y - 160.0)
            .auto_shrink([false, true])
            .show(ui, |ui| content(ui, out))
            .inner
    });
    if modal.should_close() {
        out.push(Command::CloseTop);
    }
    modal.inner
}

/// The last row of a dialog: a remark at the left, buttons at the right (added from right to left, the main one first).
pub fn dialog_buttons(ui: &mut Ui, remark: &str, buttons: impl FnOnce(&mut Ui)) {
    let t = tokens(ui);
    ui.add_space(t.space.l);
    let row = egui::vec2(ui.available_width(), t.size.control);
    ui.allocate_ui_with_layout(row, Layout::right_to_left(Align::Center), |ui| {
        buttons(ui);
        ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
            super::caption(ui, remark);
        });
    });
}
