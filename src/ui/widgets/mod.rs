//! What every screen is put together from. Each widget reads tokens only and names itself to screen readers.

pub mod badge;
pub mod button;
pub mod chart;
pub mod dialog;
pub mod field;
pub mod figure;
pub mod flow;
pub mod icons;
pub mod layout;
pub mod raw;
pub mod series;
pub mod states;
pub mod table;

use std::sync::Arc;

use egui::{CornerRadius, Galley, Painter, Pos2, Rect, Response, Stroke, StrokeKind, Ui, vec2};

pub use badge::{BadgeSize, Chip, Mark, badge, mark, tally, verdict_badge};
pub use button::{Button, icon_button, segmented};
pub use chart::{At, Chart, ChartLine, ChartPoint, ChartResponse, Limit, Look};
pub use dialog::{dialog, dialog_buttons};
pub use field::{Field, slider, tick};
pub use figure::{FigureUi, origin_mark, origin_note};
pub use flow::{Arrow, ArrowKind, Diagram, DiagramBox, Note, diagram};
pub use layout::{Card, card, columns, heading, key_value, page_header, rule, scroll, section_header, split};
pub use raw::raw_view;
pub use series::swatch;
pub use states::{
    AgainstLimit, MemoryParts, MemoryWords, against_limit, bar, empty_state, failure_card, gate, legend, memory_bar,
    progress,
};
pub use table::{Column, Row, Table, TableResponse, citation};

use crate::ui::theme::{Font, Tokens, tokens};

/// The ring around what has the keyboard, outside the control.
pub fn focus_ring(ui: &Ui, response: &Response, radius: u8) {
    if response.has_focus() {
        let t = tokens(ui);
        ui.painter().rect_stroke(
            response.rect.expand(1.0),
            CornerRadius::same(radius.saturating_add(2)),
            Stroke::new(t.stroke.focus, t.color.stroke_focus),
            StrokeKind::Outside,
        );
    }
}

/// A key in its small box ("Ctrl K"), its left edge at `left`.
pub fn paint_key(painter: &Painter, t: &Tokens, left: Pos2, key: &Arc<Galley>) -> Rect {
    let rect = Rect::from_min_size(left - vec2(0.0, 10.0), vec2(key.size().x + 12.0, 20.0));
    painter.rect(rect, CornerRadius::same(t.radius.chip), t.color.bg_canvas, t.hairline(), StrokeKind::Inside);
    painter.galley(rect.center() - key.size() / 2.0, key.clone(), t.color.text_secondary);
    rect
}

/// Small secondary text.
pub fn small(ui: &mut Ui, words: &str) -> Response {
    ui.label(Font::Small.rich(words).color(tokens(ui).color.text_secondary))
}

/// The smallest text, muted.
pub fn caption(ui: &mut Ui, words: &str) -> Response {
    ui.label(Font::Caption.rich(words).color(tokens(ui).color.text_muted))
}

/// A size as a margin.
#[allow(clippy::cast_possible_truncation, reason = "margins are a few points; the cast saturates")]
pub(crate) fn small_i8(points: f32) -> i8 {
    points.round() as i8
}

/// A coordinate for the screen.
#[allow(clippy::cast_possible_truncation, reason = "coordinates on a screen")]
pub(crate) fn px(value: f64) -> f32 {
    value as f32
}
