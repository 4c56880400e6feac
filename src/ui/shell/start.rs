//! The start screen: three ways in, recent projects, and the nine steps.

use std::path::{Path, PathBuf};

use egui::{CornerRadius, Rect, Response, Role, Sense, Stroke, StrokeKind, Ui, WidgetInfo, pos2, vec2};

use super::actions::{Action, step_name, step_number};
use crate::app::command::{Command, Screen};
use crate::app::state::State;
use crate::domain::text::Text;
use crate::ui::theme::{Font, tokens};
use crate::ui::widgets::{Button, columns, heading, icons, paint_key, small};

pub(super) fn start_ui(ui: &mut Ui, state: &State, text: &Text, out: &mut Vec<Command>) {
    let t = tokens(ui);
    let room = ui.available_width();
    let margin = ((room - 1004.0) / 2.0).clamp(t.size.main_padding_x, 84.0);
    egui::ScrollArea::vertical().id_salt("start").auto_shrink([false, false]).show(ui, |ui| {
        ui.add_space((ui.available_height() * 0.16).clamp(24.0, 136.0));
        ui.horizontal_top(|ui| {
            ui.add_space(margin);
            ui.vertical(|ui| {
                ui.set_width(room - 2.0 * margin);
                columns(ui, 88.0, [1.18, 1.0], |[left, right]| {
                    ways_in(left, state, text, out);
                    way_through(right, text);
                });
            });
        });
    });
}

fn ways_in(ui: &mut Ui, state: &State, text: &Text, out: &mut Vec<Command>) {
    let t = tokens(ui);
    let shell = &text.shell;
    ui.spacing_mut().item_spacing.y = t.space.m;
    heading(ui, Font::Figure, &shell.start_title);
    ui.add_space(-t.space.s);
    let lead = egui::RichText::new(&shell.start_sub)
        .font(egui::FontId::proportional(Font::Heading.id().size))
        .line_height(Some(24.0));
    ui.label(lead.color(t.color.text_secondary));
    ui.add_space(t.space.xs);
    let ways = [
        (icons::NOTE_PENCIL, &shell.start_brief, &shell.start_brief_sub, Action::New),
        (icons::FOLDER_OPEN, &shell.start_open, &shell.start_open_sub, Action::Open),
        (icons::FLASK, &shell.start_sample, &shell.start_sample_sub, Action::Sample),
    ];
    for (icon, title, sub, action) in ways {
        if way_in(ui, icon, title, sub, action, action == Action::New).clicked() {
            out.extend(action.commands(state, ui.visuals().dark_mode));
        }
    }
    if !state.unsaved_found.is_empty() {
        ui.label(Font::Subhead.rich(&shell.start_unsaved));
        folders(ui, &state.unsaved_found, out);
    }
    if state.recent.is_empty() {
        small(ui, &shell.start_no_recent);
    } else {
        ui.label(Font::Subhead.rich(&shell.start_recent));
        folders(ui, &state.recent, out);
        small(ui, &shell.start_drop);
    }
}

/// Folders as links, their name first.
fn folders(ui: &mut Ui, folders: &[PathBuf], out: &mut Vec<Command>) {
    let t = tokens(ui);
    for folder in folders.iter().take(5) {
        ui.horizontal(|ui| {
            if Button::link(&folder_name(folder)).show(ui).clicked() {
                out.push(Command::Open(folder.clone()));
            }
            ui.add(
                egui::Label::new(Font::Caption.rich(folder.display().to_string()).color(t.color.text_muted)).truncate(),
            );
        });
    }
}

/// The last part of a path.
pub(super) fn folder_name(folder: &Path) -> String {
    folder.file_name().map_or_else(|| folder.display().to_string(), |name| name.to_string_lossy().into_owned())
}

/// A card that is a button.
fn way_in(ui: &mut Ui, icon: char, title: &str, sub: &str, action: Action, first: bool) -> Response {
    let t = tokens(ui);
    let width = ui.available_width();
    let painter = ui.painter();
    let key = painter.layout_no_wrap(action.key_words(), Font::Small.id(), t.color.text_secondary);
    let title_galley = painter.layout_no_wrap(title.to_owned(), Font::Heading.id(), t.color.text_primary);
    let words_width = width - 64.0 - key.size().x - 60.0;
    let sub_galley = painter.layout(sub.to_owned(), Font::Small.id(), t.color.text_secondary, words_width);
    let height = title_galley.size().y + sub_galley.size().y + 32.0;
    let (rect, response) = ui.allocate_exact_size(vec2(width, height), Sense::click());
    let stroke = if first { Stroke::new(t.stroke.selected_card, t.color.accent) } else { t.hairline() };
    let fill = if response.hovered() { t.color.bg_hover } else { t.color.bg_panel };
    let painter = ui.painter();
    painter.rect(rect, CornerRadius::same(t.radius.card), fill, stroke, StrokeKind::Inside);
    let color = if first { t.color.accent } else { t.color.text_secondary };
    icons::paint(painter, pos2(rect.left() + 32.0, rect.center().y), icon, t.size.icon_large, color);
    let top = rect.center().y - (title_galley.size().y + sub_galley.size().y) / 2.0;
    let below = top + title_galley.size().y;
    painter.galley(pos2(rect.left() + 64.0, top), title_galley, t.color.text_primary);
    painter.galley(pos2(rect.left() + 64.0, below), sub_galley, t.color.text_secondary);
    paint_key(painter, t, pos2(rect.right() - key.size().x - 12.0 - 18.0, rect.center().y), &key);
    let enabled = ui.is_enabled();
    response.widget_info(|| WidgetInfo::labeled(Role::Button, enabled, title));
    crate::ui::widgets::focus_ring(ui, &response, t.radius.card);
    response.on_hover_cursor(egui::CursorIcon::PointingHand)
}

/// The nine steps as a line of numbered rings.
fn way_through(ui: &mut Ui, text: &Text) {
    let t = tokens(ui);
    let shell = &text.shell;
    ui.add_space(t.space.xs);
    ui.label(Font::Subhead.rich(&shell.the_way).color(t.color.text_secondary));
    ui.add_space(t.space.m);
    for screen in Screen::ALL {
        let what = match screen {
            Screen::Brief => &shell.way_brief,
            Screen::Memory => &shell.way_memory,
            Screen::Candidates => &shell.way_candidates,
            Screen::Hosts => &shell.way_hosts,
            Screen::Load => &shell.way_load,
            Screen::Curves => &shell.way_curves,
            Screen::Cost => &shell.way_cost,
            Screen::Acceptance => &shell.way_acceptance,
            Screen::Decision => &shell.way_decision,
        };
        let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 46.0), Sense::hover());
        let center = pos2(rect.left() + 12.5, rect.top() + 16.0);
        let painter = ui.painter();
        if screen != Screen::Decision {
            painter.vline(center.x, center.y + 12.5..=center.y + 37.5 + 4.0, t.control_stroke());
        }
        let color = if screen == Screen::Brief { t.color.accent } else { t.color.stroke_control };
        painter.circle(center, 12.0, t.color.bg_panel, Stroke::new(1.2, color));
        let number = if screen == Screen::Brief { t.color.accent } else { t.color.text_secondary };
        painter.text(center, egui::Align2::CENTER_CENTER, step_number(screen), Font::Small.id(), number);
        painter.text(
            pos2(rect.left() + 34.0, center.y),
            egui::Align2::LEFT_CENTER,
            step_name(screen, text),
            Font::BodyBold.id(),
            t.color.text_primary,
        );
        let clip = Rect::from_min_max(pos2(rect.left() + 134.0, rect.top()), rect.max);
        painter.with_clip_rect(clip.intersect(ui.clip_rect())).text(
            pos2(clip.left(), center.y),
            egui::Align2::LEFT_CENTER,
            what,
            Font::Small.id(),
            t.color.text_secondary,
        );
        let name = format!("{} {}, {what}", step_number(screen), step_name(screen, text));
        response.widget_info(|| WidgetInfo::labeled(Role::Label, true, &name));
    }
}

/// The recent projects as a list for the dialog.
pub(super) fn recent_ui(ui: &mut Ui, state: &State, text: &Text, out: &mut Vec<Command>) {
    if !state.recent.is_empty() {
        ui.label(Font::Subhead.rich(&text.shell.open_recent));
        folders(ui, &state.recent, out);
    }
}
