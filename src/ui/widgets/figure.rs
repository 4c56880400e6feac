//! A figure: origin mark, value and unit on one baseline. A click or Enter opens its trace; a gap says what is missing.

use egui::{Color32, Galley, Painter, Pos2, Response, Role, Sense, Shape, Stroke, Ui, Vec2, WidgetInfo, pos2, vec2};
use std::sync::Arc;

use crate::app::command::{Command, Traced};
use crate::domain::figure::{Answer, Figure, Origin};
use crate::domain::text::{Text, fill};
use crate::ui::theme::{Font, tokens};

/// The word of an origin ("Measured").
#[must_use]
pub fn origin_word(text: &Text, origin: Origin) -> &str {
    match origin {
        Origin::Declared => &text.common.declared,
        Origin::Predicted => &text.common.predicted,
        Origin::Measured => &text.common.measured,
        Origin::Derived { .. } => &text.common.derived,
    }
}

/// The mark of an origin alone, with its word as accessible name and hover text.
pub fn origin_mark(ui: &mut Ui, text: &Text, origin: Origin) -> Response {
    let t = tokens(ui);
    let (rect, response) = ui.allocate_exact_size(vec2(t.size.origin + 2.0, t.size.origin + 2.0), Sense::hover());
    paint_origin(ui.painter(), rect.center(), t.size.origin, origin, t.color.text_muted);
    let word = origin_word(text, origin);
    response.widget_info(|| WidgetInfo::labeled(Role::Image, true, word));
    response.on_hover_text(word)
}

/// The mark of an origin with its word after it ("● Measured").
pub fn origin_note(ui: &mut Ui, text: &Text, origin: Origin) {
    let t = tokens(ui);
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 6.0;
        let (rect, _) = ui.allocate_exact_size(Vec2::splat(t.size.origin), Sense::hover());
        paint_origin(ui.painter(), rect.center(), t.size.origin, origin, t.color.text_muted);
        ui.label(Font::Caption.rich(origin_word(text, origin)).color(t.color.text_secondary));
    });
}

/// Paints the mark: filled rests on measurement, hollow on words or models.
pub fn paint_origin(painter: &Painter, center: Pos2, size: f32, origin: Origin, color: Color32) {
    let r = size / 2.0;
    let line = Stroke::new(1.3, color);
    let diamond = || vec![center + vec2(0.0, -r), center + vec2(r, 0.0), center + vec2(0.0, r), center + vec2(-r, 0.0)];
    match origin {
        Origin::Declared => {
            let square = egui::Rect::from_center_size(center, Vec2::splat(size * 0.86));
            painter.rect_stroke(square, 0.0, line, egui::StrokeKind::Middle);
        }
        Origin::Predicted => super::badge::dashed_ring(painter, center, r * 0.9, line),
        Origin::Measured => {
            painter.circle_filled(center, r * 0.85, color);
        }
        Origin::Derived { from_measured: true } => {
            painter.add(Shape::convex_polygon(diamond(), color, Stroke::NONE));
        }
        Origin::Derived { from_measured: false } => {
            painter.add(Shape::closed_line(diamond(), line));
        }
    }
}

/// How a figure is drawn.
#[derive(Debug, Clone, Copy)]
#[must_use = "call `show`"]
pub struct FigureUi<'a> {
    title: &'a str,
    unit: &'a str,
    font: Font,
    color: Option<Color32>,
    mark: bool,
    interval: bool,
}

impl<'a> FigureUi<'a> {
    /// A figure of body size. The title names it in the trace and for screen readers ("Candidate B, cost of 1,000 accepted").
    pub fn new(title: &'a str) -> Self {
        Self { title, unit: "", font: Font::Body, color: None, mark: true, interval: false }
    }

    /// The unit after the value, smaller and muted.
    pub fn unit(mut self, unit: &'a str) -> Self {
        self.unit = unit;
        self
    }

    /// Another type: `Font::Figure`, `Font::FigureM`, `Font::BodyBold`, `Font::Small`, `Font::SlideFigure`.
    pub fn font(mut self, font: Font) -> Self {
        self.font = font;
        self
    }

    /// Another colour of the value, for one that breaks a limit.
    pub fn color(mut self, color: Color32) -> Self {
        self.color = Some(color);
        self
    }

    /// Without the origin mark: the head of its column or the card says it once.
    pub fn hide_mark(mut self) -> Self {
        self.mark = false;
        self
    }

    /// With the 95 % interval after the value, in square brackets.
    pub fn interval(mut self) -> Self {
        self.interval = true;
        self
    }

    /// Draws the figure, or the gap in its place. A click pushes `Command::Trace`.
    pub fn show<T>(
        self,
        ui: &mut Ui,
        text: &Text,
        answer: &Answer<T>,
        write: impl Fn(&T) -> String,
        out: &mut Vec<Command>,
    ) -> Response {
        match answer {
            Ok(figure) => self.value(ui, text, figure, write, out),
            Err(gap) => {
                let words = text.gap(gap);
                let font = if matches!(self.font, Font::Figure | Font::FigureM | Font::SlideFigure) {
                    Font::Body
                } else {
                    Font::Small
                };
                ui.label(font.rich(words).color(tokens(ui).color.text_muted))
            }
        }
    }

    fn value<T>(
        self,
        ui: &mut Ui,
        text: &Text,
        figure: &Figure<T>,
        write: impl Fn(&T) -> String,
        out: &mut Vec<Command>,
    ) -> Response {
        let t = tokens(ui);
        let value = write(&figure.value);
        let interval = figure
            .interval
            .as_ref()
            .map(|(low, high)| format!("[{}, {}]", write(low), write(high)))
            .unwrap_or_default();
        let shown = if self.interval && !interval.is_empty() { format!("{value} {interval}") } else { value.clone() };
        let response = paint_figure(ui, self, figure.origin, &shown);
        let word = origin_word(text, figure.origin);
        let with_unit = if self.unit.is_empty() { value } else { format!("{value} {}", self.unit) };
        let name = format!("{} {with_unit}, {word}", self.title);
        let enabled = ui.is_enabled();
        response.widget_info(|| WidgetInfo::labeled(Role::Button, enabled, &name));
        super::focus_ring(ui, &response, t.radius.chip);
        if response.clicked() {
            out.push(Command::Trace(Box::new(Traced {
                title: self.title.to_owned(),
                value: with_unit,
                interval: interval.clone(),
                origin: figure.origin,
                formula: figure.formula.to_owned(),
                inputs: figure.inputs.clone(),
                evidence: figure.evidence.clone(),
            })));
        }
        response.on_hover_cursor(egui::CursorIcon::PointingHand).on_hover_ui(|ui| {
            ui.label(Font::Small.rich(word));
            if !interval.is_empty() {
                ui.label(Font::Caption.rich(fill(&text.common.interval_95, &[("interval", interval.clone())])));
            }
            for id in figure.evidence.iter().take(3) {
                ui.label(Font::Mono.rich(id.cite()).color(t.color.accent));
            }
        })
    }
}

/// Mark, value and unit on one baseline; the rectangle senses clicks.
fn paint_figure(ui: &mut Ui, look: FigureUi<'_>, origin: Origin, value: &str) -> Response {
    let t = tokens(ui);
    let color = look.color.unwrap_or(t.color.text_primary);
    let unit_font = match look.font {
        Font::Figure => Font::Heading,
        Font::FigureM => Font::Body,
        Font::SlideFigure => Font::SlideBody,
        Font::Small => Font::Caption,
        _ => Font::Small,
    };
    let unit_id = egui::FontId::new(unit_font.id().size, egui::FontFamily::Proportional);
    let value = ui.painter().layout_no_wrap(value.to_owned(), look.font.id(), color);
    let unit = ui.painter().layout_no_wrap(look.unit.to_owned(), unit_id, t.color.text_muted);
    let mark_room = if look.mark { t.size.origin + 6.0 } else { 0.0 };
    let unit_room = if look.unit.is_empty() { 0.0 } else { unit.size().x + 5.0 };
    let (rect, response) = ui.allocate_exact_size(
        vec2(mark_room + value.size().x + unit_room, value.size().y.max(t.size.min_target.min(20.0))),
        Sense::click(),
    );
    let top = rect.center().y - value.size().y / 2.0;
    let line = top + baseline(&value);
    let painter = ui.painter();
    if response.hovered() {
        painter.rect_filled(rect.expand(2.0), t.radius.chip, t.color.bg_hover);
    }
    if look.mark {
        // Digits are about 0.7 of the size high: the mark sits at their middle.
        let middle = line - look.font.id().size * 0.35;
        paint_origin(
            painter,
            pos2(rect.left() + t.size.origin / 2.0, middle),
            t.size.origin,
            origin,
            t.color.text_muted,
        );
    }
    let x = rect.left() + mark_room;
    let unit_x = x + value.size().x + 5.0;
    painter.galley(pos2(x, top), value, color);
    painter.galley(pos2(unit_x, line - baseline(&unit)), unit, t.color.text_muted);
    response
}

/// Distance from the top of a one-line text to its baseline.
fn baseline(galley: &Arc<Galley>) -> f32 {
    galley.rows.first().and_then(|row| row.glyphs.first()).map_or(galley.size().y * 0.8, |glyph| glyph.pos.y)
}
