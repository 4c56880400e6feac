//! The rail at the left: nine steps with a mark and one line each, and the four origins at its foot.

use egui::{CornerRadius, Rect, Role, Sense, Ui, WidgetInfo, pos2, vec2};

use super::actions::{step_name, step_number};
use super::{keys, steps};
use crate::app::command::{Command, Screen};
use crate::app::state::State;
use crate::domain::figure::Origin;
use crate::domain::text::Text;
use crate::ui::theme::{Font, tokens};
use crate::ui::widgets::badge::paint_mark;
use crate::ui::widgets::figure::{origin_word, paint_origin};
use crate::ui::widgets::focus_ring;

pub(super) fn rail_ui(ui: &mut Ui, narrow: bool, state: &State, text: &Text, out: &mut Vec<Command>) {
    let t = tokens(ui);
    let rect = ui.max_rect();
    ui.painter().vline(rect.right() - 0.5, rect.y_range(), t.hairline());
    keys::anchor(ui, keys::Part::Rail, &text.shell.steps);
    ui.add_space(t.space.m);
    ui.spacing_mut().item_spacing.y = 2.0;
    for screen in Screen::ALL {
        step_ui(ui, screen, narrow, state, text, out);
    }
    if !narrow {
        origins(ui, rect, text);
    }
}

fn step_ui(ui: &mut Ui, screen: Screen, narrow: bool, state: &State, text: &Text, out: &mut Vec<Command>) {
    let t = tokens(ui);
    let chosen = state.project.is_some() && state.screen == screen;
    let (mark, line) = steps::step(screen, state, text);
    let name = step_name(screen, text);
    let (row, response) = ui.allocate_exact_size(vec2(ui.available_width(), t.size.rail_row), Sense::click());
    let inner = Rect::from_min_max(pos2(row.left() + 8.0, row.top()), pos2(row.right() - 8.0, row.bottom()));
    let painter = ui.painter();
    if chosen {
        painter.rect_filled(inner, CornerRadius::same(t.radius.button), t.color.bg_selected);
        let bar = Rect::from_min_max(
            pos2(inner.left(), inner.top() + 8.0),
            pos2(inner.left() + t.stroke.active_bar, inner.bottom() - 8.0),
        );
        painter.rect_filled(bar, 1.0, t.color.accent);
    } else if response.hovered() {
        painter.rect_filled(inner, CornerRadius::same(t.radius.button), t.color.bg_hover);
    }
    let middle = row.center().y;
    let number = step_number(screen).to_string();
    let mark_size = t.size.verdict;
    if narrow {
        painter.text(
            pos2(row.left() + 20.0, middle),
            egui::Align2::CENTER_CENTER,
            number,
            Font::Small.id(),
            t.color.text_secondary,
        );
        paint_mark(ui, pos2(row.right() - 18.0, middle), mark_size, mark, t.color.bg_app);
    } else {
        painter.text(
            pos2(row.left() + 22.0, middle),
            egui::Align2::CENTER_CENTER,
            number,
            Font::Small.id(),
            t.color.text_muted,
        );
        let font = if chosen { Font::BodyBold } else { Font::Body };
        let color = if chosen { t.color.text_primary } else { t.color.text_secondary };
        painter.text(pos2(row.left() + 44.0, middle + 1.0), egui::Align2::LEFT_BOTTOM, name, font.id(), color);
        let mut job = egui::text::LayoutJob::simple_singleline(line.clone(), Font::Caption.id(), t.color.text_muted);
        let color = if chosen { t.color.text_secondary } else { t.color.text_muted };
        job.wrap = egui::text::TextWrapping::truncate_at_width(row.right() - 40.0 - (row.left() + 44.0));
        let galley = painter.layout_job(job);
        painter.galley_with_override_text_color(pos2(row.left() + 44.0, middle), galley, color);
        let ground = if chosen { t.color.bg_selected } else { t.color.bg_app };
        paint_mark(ui, pos2(row.right() - 28.0, middle), mark_size, mark, ground);
    }
    let enabled = ui.is_enabled();
    let state_words = format!("{line}, {}", steps::mark_words(mark, text));
    response.widget_info(|| {
        let mut info = WidgetInfo::selected(Role::Button, enabled, chosen, name);
        info.current_text_value = Some(state_words.clone());
        info
    });
    focus_ring(ui, &response.clone().with_new_rect(inner.shrink(1.0)), t.radius.button);
    if response.clicked() && state.project.is_some() {
        out.push(Command::Go(screen));
    } else if response.clicked() && screen == Screen::Brief {
        out.push(Command::New);
    }
    let hover = if narrow { format!("{name}: {state_words}") } else { state_words };
    response.on_hover_text(hover);
}

fn origins(ui: &Ui, rail: Rect, text: &Text) {
    let t = tokens(ui);
    let painter = ui.painter();
    let (left, top) = (rail.left() + 18.0, rail.bottom() - 70.0);
    painter.text(
        pos2(left, top),
        egui::Align2::LEFT_TOP,
        &text.shell.number_origins,
        egui::FontId::new(Font::Caption.id().size, Font::Subhead.id().family),
        t.color.text_secondary,
    );
    let marks = [
        (0.0, 0.0, Origin::Declared),
        (1.0, 0.0, Origin::Predicted),
        (0.0, 1.0, Origin::Measured),
        (1.0, 1.0, Origin::Derived { from_measured: true }),
    ];
    for (column, row, origin) in marks {
        let at = pos2(left + column * 98.0, top + 28.0 + row * 20.0);
        paint_origin(painter, at + vec2(4.5, 0.0), t.size.origin, origin, t.color.text_muted);
        painter.text(
            at + vec2(15.0, 0.0),
            egui::Align2::LEFT_CENTER,
            origin_word(text, origin),
            Font::Caption.id(),
            t.color.text_secondary,
        );
    }
}
