//! Boxes and arrows from laid-out data: request flow, topology, layers. Each box can be reached and has a name.

use egui::{Color32, CornerRadius, Pos2, Rect, Role, Sense, Stroke, StrokeKind, Ui, Vec2, WidgetInfo, pos2, vec2};

use super::badge::{Mark, dashed_rect, paint_mark};
use crate::ui::theme::{Font, tokens};

/// A picture laid out on a canvas of `size`; it is scaled down when there is less room.
#[derive(Debug, Clone, Default)]
pub struct Diagram {
    /// Size of the canvas.
    pub size: Vec2,
    /// Boxes.
    pub boxes: Vec<DiagramBox>,
    /// Arrows and lines.
    pub arrows: Vec<Arrow>,
    /// Words without a box.
    pub notes: Vec<Note>,
}

/// A box.
#[derive(Debug, Clone)]
pub struct DiagramBox {
    /// Where, on the canvas.
    pub rect: Rect,
    /// Bold words.
    pub title: String,
    /// Small words under them.
    pub sub: String,
    /// A dashed outline: it may be there or not.
    pub dashed: bool,
    /// A fault or a state on the part itself.
    pub mark: Option<Mark>,
    /// Drawn in the accent, for a part that joins others.
    pub accent: bool,
}

/// A line through points with an arrow head at its end.
#[derive(Debug, Clone)]
pub struct Arrow {
    /// The points, on the canvas.
    pub points: Vec<Pos2>,
    /// What it means.
    pub kind: ArrowKind,
    /// Whether it has a head.
    pub head: bool,
}

/// What a line means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArrowKind {
    /// The way of a request: solid, accent.
    Request,
    /// What happens on a failure: dashed, fail.
    Failure,
    /// A plain connection: solid, muted.
    Plain,
}

/// Words on the canvas.
#[derive(Debug, Clone)]
pub struct Note {
    /// Top left corner.
    pub at: Pos2,
    /// The words; each entry a line.
    pub lines: Vec<String>,
    /// Whether they speak of a failure.
    pub failure: bool,
}

/// Draws the picture across the width there is.
pub fn diagram(ui: &mut Ui, diagram: &Diagram) {
    let t = tokens(ui);
    let scale = (ui.available_width() / diagram.size.x.max(1.0)).min(1.0);
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), diagram.size.y * scale), Sense::hover());
    let place = |point: Pos2| rect.min + point.to_vec2() * scale;
    for arrow in &diagram.arrows {
        let points: Vec<Pos2> = arrow.points.iter().map(|point| place(*point)).collect();
        let color = match arrow.kind {
            ArrowKind::Request => t.color.accent,
            ArrowKind::Failure => t.color.fail,
            ArrowKind::Plain => t.color.text_muted,
        };
        paint_arrow(ui, &points, Stroke::new(1.8, color), arrow.kind == ArrowKind::Failure, arrow.head);
    }
    for (idx, part) in diagram.boxes.iter().enumerate() {
        let at = Rect::from_min_max(place(part.rect.min), place(part.rect.max));
        paint_box(ui, idx, at, part);
    }
    for note in &diagram.notes {
        let color = if note.failure { t.color.fail } else { t.color.text_secondary };
        ui.painter().text(place(note.at), egui::Align2::LEFT_TOP, note.lines.join("\n"), Font::Caption.id(), color);
    }
}

fn paint_box(ui: &mut Ui, idx: usize, rect: Rect, part: &DiagramBox) {
    let t = tokens(ui);
    let response =
        ui.interact(rect, ui.scope_id().with(("diagram box", idx, &part.title)), Sense::focusable_noninteractive());
    let radius = CornerRadius::same(t.radius.button);
    let (fill, color) = match (part.mark, part.accent) {
        (Some(mark), _) if mark != Mark::Pass => (mark.soft(&t.color), mark.color(&t.color)),
        (_, true) => (t.color.bg_selected, t.color.accent),
        _ => (t.color.bg_inset, t.color.stroke_control),
    };
    if part.dashed {
        ui.painter().rect_filled(rect, radius, fill);
        dashed_rect(ui.painter(), rect.shrink(0.5), Stroke::new(t.stroke.control, color));
    } else {
        ui.painter().rect(rect, radius, fill, Stroke::new(t.stroke.control, color), StrokeKind::Inside);
    }
    let painter = ui.painter().with_clip_rect(rect.expand(1.0).intersect(ui.clip_rect()));
    let title = short(&painter, &part.title, Font::Subhead, t.color.text_primary, rect.width() - 8.0);
    let sub = short(&painter, &part.sub, Font::Caption, t.color.text_secondary, rect.width() - 8.0);
    let sub_height = if part.sub.is_empty() { 0.0 } else { sub.size().y };
    let top = rect.center().y - (title.size().y + sub_height) / 2.0;
    let below = top + title.size().y;
    painter.galley(pos2(rect.center().x - title.size().x / 2.0, top), title, t.color.text_primary);
    if sub_height > 0.0 {
        painter.galley(pos2(rect.center().x - sub.size().x / 2.0, below), sub, t.color.text_secondary);
    }
    if let Some(mark) = part.mark {
        paint_mark(ui, rect.right_top() + vec2(-2.0, 1.0), t.size.verdict, mark, t.color.bg_panel);
    }
    let name = if part.sub.is_empty() { part.title.clone() } else { format!("{}, {}", part.title, part.sub) };
    response.widget_info(|| WidgetInfo::labeled(Role::Figure, true, &name));
    super::focus_ring(ui, &response, t.radius.button);
}

fn short(painter: &egui::Painter, words: &str, font: Font, color: Color32, width: f32) -> std::sync::Arc<egui::Galley> {
    let mut job = egui::text::LayoutJob::simple_singleline(words.to_owned(), font.id(), color);
    job.wrap = egui::text::TextWrapping::truncate_at_width(width.max(8.0));
    painter.layout_job(job)
}

fn paint_arrow(ui: &Ui, points: &[Pos2], stroke: Stroke, dashed: bool, head: bool) {
    let painter = ui.painter();
    if dashed {
        painter.extend(egui::Shape::dashed_line(points, stroke, 5.0, 4.0));
    } else {
        painter.line(points.to_vec(), stroke);
    }
    if let (true, [.., before, tip]) = (head, points) {
        let along = (*tip - *before).normalized();
        let across = along.rot90();
        let base = *tip - along * 8.0;
        painter.add(egui::Shape::convex_polygon(
            vec![*tip, base + across * 3.5, base - across * 3.5],
            stroke.color,
            Stroke::NONE,
        ));
    }
}
