//! Page header, cards, sections, rows and columns.

use egui::{Align, CornerRadius, Frame, Layout, Margin, Rect, Response, Sense, Stroke, Ui, UiBuilder, Vec2};

use super::badge::{Mark, mark};
use crate::ui::theme::{Font, tokens};

/// Title, the finding in one sentence under it, and actions at the right (added from right to left).
pub fn page_header(ui: &mut Ui, title: &str, finding: &str, actions: impl FnOnce(&mut Ui)) {
    let t = tokens(ui);
    ui.horizontal_top(|ui| {
        let width = ui.available_width();
        let actions_width = ui
            .scope_builder(UiBuilder::new().layout(Layout::right_to_left(Align::Min)), |ui| {
                ui.spacing_mut().item_spacing.x = t.space.s;
                actions(ui);
                ui.min_rect().width()
            })
            .inner;
        let left =
            Rect::from_min_size(ui.max_rect().min, Vec2::new((width - actions_width - t.space.l).max(200.0), 50.0));
        let mut words = ui.new_child(UiBuilder::new().max_rect(left).layout(Layout::top_down(Align::Min)));
        words.spacing_mut().item_spacing.y = 0.0;
        let _title = heading(&mut words, Font::Title, title);
        words.label(Font::Body.rich(finding).color(t.color.text_secondary));
        let used = words.min_rect();
        ui.allocate_rect(Rect::from_min_max(used.min, used.max.max(used.min + Vec2::new(0.0, 48.0))), Sense::hover());
    });
    ui.add_space(t.space.m);
}

/// A heading: a label that screen readers announce as one.
pub fn heading(ui: &mut Ui, font: Font, words: &str) -> Response {
    let response = ui.label(font.rich(words));
    ui.ctx().accesskit_node_builder(response.id, |node| {
        node.set_role(egui::Role::Heading);
        node.set_label(words);
    });
    response
}

/// A card: panel ground, hairline, padding. Never put a card into a card.
#[derive(Debug, Clone, Copy, Default)]
#[must_use = "call `show`"]
pub struct Card {
    selected: bool,
    failing: bool,
    tight: bool,
    min_height: f32,
}

impl Card {
    /// A plain card as wide as there is room.
    pub fn new() -> Self {
        Self::default()
    }

    /// With the accent stroke of a selected card.
    pub fn selected(mut self, selected: bool) -> Self {
        self.selected = selected;
        self
    }

    /// With the stroke of a failure.
    pub fn failing(mut self) -> Self {
        self.failing = true;
        self
    }

    /// Without padding, for a card that holds a table from edge to edge.
    pub fn tight(mut self) -> Self {
        self.tight = true;
        self
    }

    /// At least this high, outer size.
    pub fn min_height(mut self, height: f32) -> Self {
        self.min_height = height;
        self
    }

    /// Draws it. Returns what the content returned and the card's response.
    pub fn show<R>(self, ui: &mut Ui, content: impl FnOnce(&mut Ui) -> R) -> egui::InnerResponse<R> {
        let t = tokens(ui);
        let stroke = if self.failing {
            Stroke::new(t.stroke.error, t.color.fail)
        } else if self.selected {
            Stroke::new(t.stroke.selected_card, t.color.accent)
        } else {
            t.hairline()
        };
        // The stroke lies inside the padding, so that selecting a card moves nothing.
        let padding = if self.tight { 1.0 } else { t.size.card_padding };
        let mut frame =
            Frame::new().fill(t.color.bg_panel).stroke(stroke).corner_radius(CornerRadius::same(t.radius.card));
        frame.inner_margin = Margin::same(super::small_i8(padding - stroke.width));
        frame.show(ui, |ui| {
            ui.set_width(ui.available_width());
            if self.min_height > 0.0 {
                ui.set_min_height(self.min_height - 2.0 * padding);
            }
            content(ui)
        })
    }
}

/// A plain card.
pub fn card<R>(ui: &mut Ui, content: impl FnOnce(&mut Ui) -> R) -> R {
    Card::new().show(ui, content).inner
}

/// Head of a section inside a card: mark, title, and at the right how much of it is there ("3 of 4").
pub fn section_header(ui: &mut Ui, state: Option<(Mark, &str)>, title: &str, count: &str) {
    let t = tokens(ui);
    split(
        ui,
        |ui| {
            if let Some((state, word)) = state {
                mark(ui, state, t.size.verdict, word);
            }
            heading(ui, Font::Heading, title);
        },
        |ui| {
            if !count.is_empty() {
                ui.label(Font::Caption.rich(count).color(t.color.text_muted));
            }
        },
    );
    ui.add_space(t.space.xs);
}

/// One row with something at its left and something at its right (added from right to left), centred on one line.
pub fn split<R>(ui: &mut Ui, left: impl FnOnce(&mut Ui), right: impl FnOnce(&mut Ui) -> R) -> R {
    ui.horizontal(|ui| {
        left(ui);
        ui.with_layout(Layout::right_to_left(Align::Center), right).inner
    })
    .inner
}

/// A row of the kind "Layers … 28": label left, value right, hairline under it.
pub fn key_value(ui: &mut Ui, key: &str, value: impl FnOnce(&mut Ui)) {
    let t = tokens(ui);
    let width = ui.available_width();
    let row = ui
        .allocate_ui_with_layout(Vec2::new(width, t.size.row), Layout::left_to_right(Align::Center), |ui| {
            ui.set_min_size(Vec2::new(width, t.size.row));
            ui.label(Font::Body.rich(key).color(t.color.text_secondary));
            ui.with_layout(Layout::right_to_left(Align::Center), value);
        })
        .response;
    ui.painter().hline(row.rect.x_range(), row.rect.bottom(), t.hairline());
}

/// A hairline across, with room above and below.
pub fn rule(ui: &mut Ui) {
    let t = tokens(ui);
    ui.add_space(t.space.s);
    let (rect, _) = ui.allocate_exact_size(Vec2::new(ui.available_width(), 1.0), Sense::hover());
    ui.painter().hline(rect.x_range(), rect.center().y, t.hairline());
    ui.add_space(t.space.s);
}

/// Columns side by side; widths share the room by their weights. A negative weight is a fixed width in points.
pub fn columns<const N: usize, R>(
    ui: &mut Ui,
    gap: f32,
    weights: [f32; N],
    content: impl FnOnce(&mut [Ui; N]) -> R,
) -> R {
    let widths = share_widths(ui.available_width(), gap, &weights);
    let top = ui.cursor().min;
    let height = ui.available_height();
    let mut x = top.x;
    let mut idx = 0;
    let mut children = weights.map(|_weight| {
        let width = widths.get(idx).copied().unwrap_or(0.0);
        let rect = Rect::from_min_size(egui::pos2(x, top.y), Vec2::new(width, height));
        x += width + gap;
        idx += 1;
        let mut child =
            ui.new_child(UiBuilder::new().id_salt(("column", idx)).max_rect(rect).layout(Layout::top_down(Align::Min)));
        child.set_width(width);
        child
    });
    let result = content(&mut children);
    let height = children.iter().map(|child| child.min_rect().height()).fold(0.0, f32::max);
    ui.allocate_rect(Rect::from_min_size(top, Vec2::new(ui.available_width(), height)), Sense::hover());
    result
}

/// Widths of columns: negative weights are fixed, the rest share what is left.
#[must_use]
pub fn share_widths(available: f32, gap: f32, weights: &[f32]) -> Vec<f32> {
    #[allow(clippy::cast_precision_loss, reason = "a handful of columns")]
    let gaps = gap * weights.len().saturating_sub(1) as f32;
    let fixed: f32 = weights.iter().filter(|weight| **weight < 0.0).map(|weight| -weight).sum();
    let shares: f32 = weights.iter().filter(|weight| **weight > 0.0).sum();
    let rest = (available - gaps - fixed).max(0.0);
    weights
        .iter()
        .map(|weight| if *weight < 0.0 { -weight } else { rest * weight / shares.max(f32::EPSILON) })
        .collect()
}

/// Runs content in a column that scrolls up and down and fills the room left.
pub fn scroll<R>(ui: &mut Ui, salt: &str, content: impl FnOnce(&mut Ui) -> R) -> R {
    egui::ScrollArea::vertical().id_salt(salt).auto_shrink([false, false]).show(ui, content).inner
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_share_what_fixed_columns_leave() {
        assert_eq!(share_widths(412.0, 12.0, &[1.0, 1.0]), vec![200.0, 200.0]);
        assert_eq!(share_widths(424.0, 12.0, &[-100.0, 1.0, 3.0]), vec![100.0, 75.0, 225.0]);
        assert_eq!(share_widths(10.0, 12.0, &[1.0, 1.0]), vec![0.0, 0.0]);
    }
}
