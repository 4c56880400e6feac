//! The look of a candidate: colour, marker and line, the same in every plot, table head and chip.

use egui::{Painter, Pos2, Rect, Response, Role, Sense, Shape, Stroke, Ui, Vec2, WidgetInfo, pos2, vec2};

use crate::ui::theme::{Line, Marker, SeriesLook, tokens};

/// The marker of a candidate; `name` is what a screen reader says.
pub fn swatch(ui: &mut Ui, series: u8, name: &str) -> Response {
    let t = tokens(ui);
    let (rect, response) = ui.allocate_exact_size(Vec2::splat(t.size.verdict), Sense::hover());
    paint_marker(ui.painter(), rect.center(), t.size.verdict / 2.0 - 1.0, t.series(series), true);
    response.widget_info(|| WidgetInfo::labeled(Role::Image, true, name));
    response
}

/// Paints a marker around a centre. Hollow means provisional.
pub fn paint_marker(painter: &Painter, center: Pos2, radius: f32, look: SeriesLook, filled: bool) {
    let color = look.color;
    let at = |x: f32, y: f32| center + vec2(x, y) * radius;
    let line = Stroke::new((radius * 0.36).clamp(1.5, 3.0), color);
    let (fill, outline) =
        if filled { (color, Stroke::NONE) } else { (egui::Color32::TRANSPARENT, Stroke::new(1.5, color)) };
    let polygon = |points: Vec<Pos2>| painter.add(Shape::convex_polygon(points, fill, outline));
    match look.marker {
        Marker::Circle => {
            painter.circle(center, radius, fill, outline);
        }
        Marker::Square => {
            polygon(vec![at(-0.9, -0.9), at(0.9, -0.9), at(0.9, 0.9), at(-0.9, 0.9)]);
        }
        Marker::Up => {
            polygon(vec![at(0.0, -1.0), at(1.08, 0.88), at(-1.08, 0.88)]);
        }
        Marker::Down => {
            polygon(vec![at(0.0, 1.0), at(-1.08, -0.88), at(1.08, -0.88)]);
        }
        Marker::Diamond => {
            polygon(vec![at(0.0, -1.15), at(1.15, 0.0), at(0.0, 1.15), at(-1.15, 0.0)]);
        }
        Marker::Plus => {
            painter.line_segment([at(-1.0, 0.0), at(1.0, 0.0)], line);
            painter.line_segment([at(0.0, -1.0), at(0.0, 1.0)], line);
        }
        Marker::Cross => {
            painter.line_segment([at(-0.8, -0.8), at(0.8, 0.8)], line);
            painter.line_segment([at(-0.8, 0.8), at(0.8, -0.8)], line);
        }
        Marker::Asterisk => {
            for angle in [0.0_f32, 1.047, 2.094] {
                let arm = Vec2::angled(angle) * radius;
                painter.line_segment([center - arm, center + arm], line);
            }
        }
    }
}

/// Paints a short line in a series' stroke across a rectangle's middle.
pub fn paint_line(painter: &Painter, rect: Rect, line: Line, stroke: Stroke) {
    let points = [pos2(rect.left(), rect.center().y), pos2(rect.right(), rect.center().y)];
    match line {
        Line::Solid => {
            painter.line_segment(points, stroke);
        }
        Line::Dashed(length) => {
            // A swatch shows at least two dashes, whatever their length in the plot.
            let length = length.min(rect.width() * 0.4);
            painter.extend(Shape::dashed_line(&points, stroke, length, length * 0.6));
        }
        Line::Dotted(distance) => {
            painter.extend(Shape::dotted_line(&points, stroke.color, distance, stroke.width * 0.6));
        }
    }
}
