//! The data table: caption heads, hairline rows, right-aligned numbers, a highlighted column, `ev:` citations at the end.
//!
//! Only rows in view are drawn. A clickable row takes the keyboard: ↑ and ↓ move, Enter clicks, Ctrl C copies it as TSV.

use egui::{Align, Color32, Layout, Rect, Response, Role, Sense, Ui, UiBuilder, Vec2, WidgetInfo, pos2, vec2};

use super::badge::Mark;
use super::figure::{FigureUi, paint_origin};
use super::layout::share_widths;
use crate::app::command::Command;
use crate::domain::figure::{Answer, Origin};
use crate::domain::ids::EvidenceId;
use crate::domain::text::Text;
use crate::ui::theme::{Font, tokens};

/// A column before it is drawn.
#[derive(Debug, Clone)]
pub struct Column {
    head: String,
    sub: String,
    width: f32,
    right: bool,
    origin: Option<Origin>,
    series: Option<u8>,
    selected: bool,
}

impl Column {
    /// A column of words. A positive width is a share of the room left, a negative one is points.
    #[must_use]
    pub fn left(head: impl Into<String>, width: f32) -> Self {
        Self { head: head.into(), sub: String::new(), width, right: false, origin: None, series: None, selected: false }
    }

    /// A column of numbers, aligned at the right.
    #[must_use]
    pub fn right(head: impl Into<String>, width: f32) -> Self {
        Self { right: true, ..Self::left(head, width) }
    }

    /// The origin of every number in it, said once in the head.
    #[must_use]
    pub fn origin(mut self, origin: Origin) -> Self {
        self.origin = Some(origin);
        self
    }

    /// The swatch of a candidate in the head, with a second line under its name.
    #[must_use]
    pub fn candidate(mut self, series: u8, sub: impl Into<String>) -> Self {
        self.series = Some(series);
        self.sub = sub.into();
        self
    }

    /// Whether it is the highlighted column.
    #[must_use]
    pub fn selected(mut self, selected: bool) -> Self {
        self.selected = selected;
        self
    }
}

/// A table before it is drawn. The salt names it in the whole window.
#[derive(Debug)]
#[must_use = "call `show`"]
pub struct Table<'a> {
    salt: &'a str,
    columns: &'a [Column],
    row_height: f32,
    clickable: bool,
    selected_row: Option<usize>,
    pad: f32,
}

/// What a person did with a table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TableResponse {
    /// The row that was clicked or entered.
    pub clicked: Option<usize>,
    /// The column whose head was clicked.
    pub head_clicked: Option<usize>,
}

impl<'a> Table<'a> {
    /// A table with rows 32 high.
    pub fn new(salt: &'a str, columns: &'a [Column]) -> Self {
        Self { salt, columns, row_height: 32.0, clickable: false, selected_row: None, pad: 16.0 }
    }

    /// Another row height: `size.row_compact`, `size.row_roomy`.
    pub fn row_height(mut self, height: f32) -> Self {
        self.row_height = height;
        self
    }

    /// Rows can be clicked; `selected` is the chosen one.
    pub fn clickable(mut self, selected: Option<usize>) -> Self {
        self.clickable = true;
        self.selected_row = selected;
        self
    }

    /// Room left and right of the outer columns; 16 as in a card that the table fills from edge to edge (`Card::tight`).
    pub fn pad(mut self, pad: f32) -> Self {
        self.pad = pad;
        self
    }

    /// Draws `n_rows` rows; `row` fills the cells of one, from left to right.
    pub fn show(self, ui: &mut Ui, n_rows: usize, mut row: impl FnMut(&mut Row<'_>)) -> TableResponse {
        let t = tokens(ui);
        let width = ui.available_width();
        let gap = t.space.m;
        let weights: Vec<f32> = self.columns.iter().map(|column| column.width).collect();
        let widths = share_widths(width - 2.0 * self.pad, gap, &weights);
        let has_sub = self.columns.iter().any(|column| !column.sub.is_empty());
        let head_height = if has_sub { 58.0 } else { t.size.row };
        #[allow(clippy::cast_precision_loss, reason = "rows of a table")]
        let height = head_height + self.row_height * n_rows as f32;
        let (rect, _) = ui.allocate_exact_size(vec2(width, height), Sense::hover());
        let cells: Vec<(f32, f32)> = widths
            .iter()
            .scan(rect.left() + self.pad, |x, width| {
                let left = *x;
                *x += width + gap;
                Some((left, left + width))
            })
            .collect();
        let mut result = TableResponse::default();
        for (idx, (column, (left, right))) in self.columns.iter().zip(&cells).enumerate() {
            if column.selected {
                // The highlight reaches half a gap beyond the column.
                let band = Rect::from_min_max(
                    pos2(left - gap / 2.0, rect.top()),
                    pos2(right + gap.min(self.pad) / 2.0 + 2.0, rect.bottom()),
                );
                ui.painter().rect_filled(band, 0.0, t.color.bg_selected);
                let bar = Rect::from_min_size(band.min, vec2(band.width(), t.stroke.active_bar));
                ui.painter().rect_filled(bar, 0.0, t.color.accent);
            }
            let cell = Rect::from_min_max(pos2(*left, rect.top()), pos2(*right, rect.top() + head_height));
            if self.head(ui, idx, column, cell) {
                result.head_clicked = Some(idx);
            }
        }
        ui.painter().hline(rect.x_range(), rect.top() + head_height, t.hairline());
        let first_top = rect.top() + head_height;
        for idx in visible(ui.clip_rect(), first_top, self.row_height, n_rows) {
            #[allow(clippy::cast_precision_loss, reason = "rows of a table")]
            let top = first_top + self.row_height * idx as f32;
            let row_rect = Rect::from_min_size(pos2(rect.left(), top), vec2(width, self.row_height));
            if self.row(ui, idx, row_rect, &cells, &mut row) {
                result.clicked = Some(idx);
            }
            if idx + 1 < n_rows {
                ui.painter().hline(rect.x_range(), row_rect.bottom(), t.hairline());
            }
        }
        result
    }

    /// One head. True when it was clicked.
    fn head(&self, ui: &mut Ui, idx: usize, column: &Column, cell: Rect) -> bool {
        let t = tokens(ui);
        let layout =
            if column.right { Layout::right_to_left(Align::Center) } else { Layout::left_to_right(Align::Center) };
        let Some(series) = column.series else {
            let mut child =
                ui.new_child(UiBuilder::new().id_salt((self.salt, "head", idx)).max_rect(cell).layout(layout));
            child.spacing_mut().item_spacing.x = 5.0;
            child.add(egui::Label::new(Font::Caption.rich(&column.head).color(t.color.text_muted)).truncate());
            if let Some(origin) = column.origin {
                let (mark, _) = child.allocate_exact_size(Vec2::splat(t.size.origin), Sense::hover());
                paint_origin(child.painter(), mark.center(), t.size.origin, origin, t.color.text_muted);
            }
            return false;
        };
        let response = ui.interact(cell, ui.scope_id().with((self.salt, "head", idx)), Sense::click());
        let (enabled, selected) = (ui.is_enabled(), column.selected);
        response.widget_info(|| WidgetInfo::selected(Role::ColumnHeader, enabled, selected, &column.head));
        super::focus_ring(ui, &response, t.radius.chip);
        let painter = ui.painter();
        let name = painter.layout_no_wrap(column.head.clone(), Font::BodyBold.id(), t.color.text_primary);
        let mut job =
            egui::text::LayoutJob::simple_singleline(column.sub.clone(), Font::Caption.id(), t.color.text_muted);
        job.wrap = egui::text::TextWrapping::truncate_at_width(cell.width());
        let sub = painter.layout_job(job);
        let lead = t.size.verdict + 6.0;
        // A head without a second line has its name in the middle.
        let sub_height = if column.sub.is_empty() { 0.0 } else { sub.size().y };
        let top = cell.center().y - (name.size().y + sub_height) / 2.0;
        let (name_x, sub_x) = if column.right {
            (cell.right() - name.size().x, cell.right() - sub.size().x)
        } else {
            (cell.left() + lead, cell.left())
        };
        super::series::paint_marker(
            painter,
            pos2(name_x - lead + t.size.verdict / 2.0, top + name.size().y / 2.0),
            t.size.verdict / 2.0 - 1.0,
            t.series(series),
            true,
        );
        let below = top + name.size().y;
        painter.galley(pos2(name_x, top), name, t.color.text_primary);
        painter.galley(pos2(sub_x, below), sub, t.color.text_muted);
        response.clicked()
    }

    /// One row. True when it was clicked.
    fn row(
        &self,
        ui: &mut Ui,
        idx: usize,
        rect: Rect,
        cells: &[(f32, f32)],
        fill: &mut impl FnMut(&mut Row<'_>),
    ) -> bool {
        let t = tokens(ui);
        let response =
            self.clickable.then(|| ui.interact(rect, ui.scope_id().with((self.salt, "row", idx)), Sense::click()));
        if self.selected_row == Some(idx) {
            ui.painter().rect_filled(rect, 0.0, t.color.bg_selected);
        } else if response.as_ref().is_some_and(Response::hovered) {
            ui.painter().rect_filled(rect, 0.0, t.color.bg_hover);
        }
        let mut row = Row { ui, salt: self.salt, idx, rect, columns: self.columns, cells, next: 0, plain: Vec::new() };
        fill(&mut row);
        let plain = row.plain;
        let Some(response) = response else { return false };
        let (enabled, selected) = (ui.is_enabled(), self.selected_row == Some(idx));
        let name = plain.join(" ");
        response.widget_info(|| WidgetInfo::selected(Role::Row, enabled, selected, &name));
        super::focus_ring(ui, &response, t.radius.chip);
        if response.has_focus() && ui.input(|input| input.events.contains(&egui::Event::Copy)) {
            ui.copy_text(plain.join("\t"));
        }
        response.clicked()
    }
}

/// One row while it is filled. Each method fills the next cell.
pub struct Row<'a> {
    ui: &'a mut Ui,
    salt: &'a str,
    /// Its position in the table.
    pub idx: usize,
    rect: Rect,
    columns: &'a [Column],
    cells: &'a [(f32, f32)],
    next: usize,
    plain: Vec<String>,
}

impl Row<'_> {
    /// A ground under the whole row, for rows that break a promise. Call it before the cells.
    pub fn tint(&mut self, color: Color32) {
        self.ui.painter().rect_filled(self.rect, 0.0, color);
    }

    /// A group head across the whole row.
    pub fn group(&mut self, words: &str) {
        let t = tokens(self.ui);
        self.tint(t.color.bg_inset);
        self.plain.push(words.to_owned());
        self.next = self.columns.len();
        let left = self.cells.first().map_or(self.rect.left(), |(left, _)| *left);
        let rect = Rect::from_min_max(pos2(left, self.rect.top()), self.rect.max);
        let mut ui = self.ui.new_child(
            UiBuilder::new()
                .id_salt((self.salt, self.idx, "group"))
                .max_rect(rect)
                .layout(Layout::left_to_right(Align::Center)),
        );
        ui.label(Font::Subhead.rich(words).color(t.color.text_secondary));
    }

    /// Anything; `plain` is what Ctrl C copies and a screen reader says for it.
    pub fn cell(&mut self, plain: &str, content: impl FnOnce(&mut Ui)) {
        let idx = self.next;
        self.next += 1;
        self.plain.push(plain.to_owned());
        let (Some(column), Some((left, right))) = (self.columns.get(idx), self.cells.get(idx)) else { return };
        let rect = Rect::from_min_max(pos2(*left, self.rect.top()), pos2(*right, self.rect.bottom()));
        let layout =
            if column.right { Layout::right_to_left(Align::Center) } else { Layout::left_to_right(Align::Center) };
        let mut ui =
            self.ui.new_child(UiBuilder::new().id_salt((self.salt, self.idx, idx)).max_rect(rect).layout(layout));
        ui.spacing_mut().item_spacing.x = 6.0;
        content(&mut ui);
    }

    fn words(&mut self, words: &str, font: Font, color: Color32) {
        self.cell(words, |ui| {
            ui.add(egui::Label::new(font.rich(words).color(color)).truncate());
        });
    }

    /// Words, shortened when they do not fit.
    pub fn text(&mut self, words: &str) {
        let color = tokens(self.ui).color.text_primary;
        self.words(words, Font::Body, color);
    }

    /// Words that go on in a second, smaller line when they do not fit; for rows of 42.
    pub fn long_text(&mut self, words: &str) {
        let color = tokens(self.ui).color.text_primary;
        self.cell(words, |ui| {
            let room = ui.available_width();
            ui.add(egui::Label::new(two_lines(ui, words, color, room, Align::Min)));
        });
    }

    /// Bold words.
    pub fn strong(&mut self, words: &str) {
        let color = tokens(self.ui).color.text_primary;
        self.words(words, Font::BodyBold, color);
    }

    /// Words in secondary colour.
    pub fn secondary(&mut self, words: &str) {
        let color = tokens(self.ui).color.text_secondary;
        self.words(words, Font::Body, color);
    }

    /// Small muted words, for what is missing and for remarks.
    pub fn muted(&mut self, words: &str) {
        let color = tokens(self.ui).color.text_muted;
        self.words(words, Font::Small, color);
    }

    /// A value with its origin mark before it.
    pub fn marked(&mut self, text: &Text, origin: Origin, words: &str) {
        let right = self.columns.get(self.next).is_some_and(|column| column.right);
        self.cell(words, |ui| {
            if right {
                let room = ui.available_width() - tokens(ui).size.origin - ui.spacing().item_spacing.x;
                let color = tokens(ui).color.text_primary;
                ui.add(egui::Label::new(two_lines(ui, words, color, room, Align::Max)));
                super::figure::origin_mark(ui, text, origin);
            } else {
                super::figure::origin_mark(ui, text, origin);
                ui.add(egui::Label::new(Font::Body.rich(words)).truncate());
            }
        });
    }

    /// A figure with its trace behind it, or its gap.
    pub fn figure<T>(
        &mut self,
        figure: FigureUi<'_>,
        text: &Text,
        answer: &Answer<T>,
        write: impl Fn(&T) -> String,
        out: &mut Vec<Command>,
    ) {
        let plain = match answer {
            Ok(figure) => write(&figure.value),
            Err(gap) => text.gap(gap),
        };
        self.cell(&plain, |ui| {
            figure.show(ui, text, answer, write, out);
        });
    }

    /// A verdict badge with this word.
    pub fn badge(&mut self, mark: Mark, word: &str) {
        self.cell(word, |ui| {
            super::badge::badge(ui, mark, word, super::badge::BadgeSize::Normal);
        });
    }

    /// A state mark alone; the word is its name.
    pub fn mark(&mut self, mark: Mark, word: &str) {
        self.cell(word, |ui| {
            let size = tokens(ui).size.verdict;
            super::badge::mark(ui, mark, size, word);
        });
    }

    /// Citations of records; a click shows the record. `none` is said when there is none.
    pub fn evidence(&mut self, ids: &[EvidenceId], none: &str, out: &mut Vec<Command>) {
        let plain = if ids.is_empty() {
            none.to_owned()
        } else {
            ids.iter().map(EvidenceId::cite).collect::<Vec<_>>().join(" ")
        };
        self.cell(&plain, |ui| {
            if ids.is_empty() {
                ui.label(Font::Small.rich(none).color(tokens(ui).color.text_muted));
            }
            for id in ids.iter().take(2) {
                citation(ui, id, out);
            }
        });
    }

    /// The row's own `Ui`, for painting over it.
    pub fn ui(&mut self) -> &mut Ui {
        self.ui
    }
}

/// Words on one line, or smaller on two; the rest of what still does not fit is cut.
fn two_lines(ui: &Ui, words: &str, color: Color32, room: f32, halign: Align) -> std::sync::Arc<egui::Galley> {
    let whole = ui.painter().layout_no_wrap(words.to_owned(), Font::Body.id(), color);
    if whole.size().x <= room {
        return whole;
    }
    let mut job = egui::text::LayoutJob::simple(words.to_owned(), Font::Small.id(), color, room);
    job.wrap.max_rows = 2;
    job.halign = halign;
    ui.painter().layout_job(job)
}

/// A citation ("ev:e7b05c94") that shows its record when clicked.
pub fn citation(ui: &mut Ui, id: &EvidenceId, out: &mut Vec<Command>) -> Response {
    let t = tokens(ui);
    let response = ui.add(egui::Label::new(Font::Mono.rich(id.cite()).color(t.color.accent)).sense(Sense::click()));
    let enabled = ui.is_enabled();
    response.widget_info(|| WidgetInfo::labeled(Role::Link, enabled, id.cite()));
    super::focus_ring(ui, &response, t.radius.chip);
    if response.clicked() {
        out.push(Command::ShowRecord(id.clone()));
    }
    response.on_hover_cursor(egui::CursorIcon::PointingHand)
}

/// The rows that lie in view.
fn visible(clip: Rect, top: f32, row_height: f32, n_rows: usize) -> std::ops::Range<usize> {
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped below, and float casts saturate"
    )]
    let row_at = |y: f32| ((y - top) / row_height.max(1.0)).max(0.0) as usize;
    row_at(clip.top()).min(n_rows)..row_at(clip.bottom()).saturating_add(1).min(n_rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_rows_in_view_are_drawn() {
        let clip = Rect::from_min_max(pos2(0.0, 100.0), pos2(10.0, 164.0));
        assert_eq!(visible(clip, 0.0, 32.0, 10_000), 3..6);
        assert_eq!(visible(clip, 120.0, 32.0, 1), 0..1);
        assert_eq!(visible(clip, 500.0, 32.0, 4), 0..1, "a row that starts below is asked for once at most");
        assert_eq!(visible(clip, -500.0, 32.0, 4), 4..4);
    }
}
