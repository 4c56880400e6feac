//! The plot of every screen: title with unit at the left, clickable legend and "Plot | Table" at the right, hairlines
//! only across, words on limit lines, one hover card over all series, the same numbers as rows.
//!
//! Axes start at 0 or are logarithmic by our own transform (`log10` before egui_plot sees a value) and say so.

use std::ops::RangeInclusive;

use egui::{
    Align, Align2, Color32, CornerRadius, Id, LayerId, Layout, Order, Pos2, Rect, Role, Sense, Stroke, StrokeKind, Ui,
    UiBuilder, WidgetInfo, pos2, vec2,
};
use egui_plot::{FilledArea, Line as PlotLine, LineStyle, Plot, PlotBounds, PlotPoints};

use super::button::{icon_button, segmented};
use super::icons;
use super::series::{paint_line, paint_marker};
use super::table::{Column, Table};
use crate::app::command::{Command, Layer};
use crate::domain::format::{fixed, short};
use crate::domain::text::{Text, fill};
use crate::report::svg;
use crate::ui::theme::{Font, Line, Marker, SeriesLook, Tokens, tokens};

/// How a line looks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Look {
    /// A candidate's own colour, marker and dash.
    Series(u8),
    /// A prediction for a candidate: thin, dotted, paler, without markers.
    Predicted(u8),
    /// A colour and line of its own, without a marker.
    Plain(Color32, Line),
}

/// One point. Provisional points are hollow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChartPoint {
    /// Where across.
    pub x: f64,
    /// How high, in the chart's unit.
    pub y: f64,
    /// The figure still moves.
    pub provisional: bool,
}

impl ChartPoint {
    /// A final point.
    #[must_use]
    pub const fn new(x: f64, y: f64) -> Self {
        Self { x, y, provisional: false }
    }
}

/// One series.
#[derive(Debug, Clone)]
pub struct ChartLine {
    /// Its name in legend, card and table.
    pub name: String,
    /// Its look.
    pub look: Look,
    /// Its points, by x.
    pub points: Vec<ChartPoint>,
    /// A band around it: x, low, high.
    pub band: Vec<(f64, f64, f64)>,
    /// With a marker at each point.
    pub markers: bool,
    /// Whether it is shown; a hidden one stays in the legend, muted.
    pub shown: bool,
    /// Short words at its last point, or empty.
    pub label: String,
}

impl ChartLine {
    /// A line with markers, shown.
    #[must_use]
    pub fn new(name: impl Into<String>, look: Look, points: Vec<ChartPoint>) -> Self {
        let markers = matches!(look, Look::Series(_));
        Self { name: name.into(), look, points, band: Vec::new(), markers, shown: true, label: String::new() }
    }

    /// Without markers, for many points.
    #[must_use]
    pub fn without_markers(mut self) -> Self {
        self.markers = false;
        self
    }
}

/// A dashed line across with words on it.
#[derive(Debug, Clone)]
pub struct Limit {
    /// Its height.
    pub y: f64,
    /// "SLO 500 ms".
    pub words: String,
    /// A warning rather than a limit that fails.
    pub soft: bool,
}

/// A vertical line with words at its top.
#[derive(Debug, Clone)]
pub struct At {
    /// Where across.
    pub x: f64,
    /// "the brief", "now".
    pub words: String,
}

/// A chart before it is drawn. The salt names it in the whole window.
#[derive(Debug)]
#[must_use = "call `show`"]
pub struct Chart<'a> {
    salt: &'a str,
    title: &'a str,
    unit: &'a str,
    x_title: &'a str,
    height: f32,
    log: bool,
    lines: &'a [ChartLine],
    limits: &'a [Limit],
    at: &'a [At],
    x_range: Option<RangeInclusive<f64>>,
    y_top: Option<f64>,
    note: &'a str,
}

/// What a person did with a chart.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChartResponse {
    /// The line whose legend entry was clicked: show or hide it.
    pub toggled: Option<usize>,
    /// The point that was clicked: line and point.
    pub clicked: Option<(usize, usize)>,
}

/// A chart that a person asked to have as a file, as it was shown.
#[derive(Debug, Clone, Default)]
pub struct ChartFile {
    /// Its title.
    pub title: String,
    /// Its numbers.
    pub csv: String,
    /// Its picture.
    pub svg: String,
}

fn export_id() -> Id {
    Id::unique("chart to export")
}

/// The chart whose export was asked for last.
#[must_use]
pub fn to_export(ui: &Ui) -> Option<ChartFile> {
    ui.data(|data| data.get_temp(export_id()))
}

/// What is on the axes.
struct Frame {
    x: RangeInclusive<f64>,
    y: RangeInclusive<f64>,
    x_ticks: Vec<f64>,
    y_ticks: Vec<f64>,
}

impl<'a> Chart<'a> {
    /// A chart 260 high.
    pub fn new(salt: &'a str, title: &'a str, unit: &'a str, x_title: &'a str, lines: &'a [ChartLine]) -> Self {
        Self {
            salt,
            title,
            unit,
            x_title,
            height: 260.0,
            log: false,
            lines,
            limits: &[],
            at: &[],
            x_range: None,
            y_top: None,
            note: "",
        }
    }

    /// Height of everything under the title.
    pub fn height(mut self, height: f32) -> Self {
        self.height = height;
        self
    }

    /// Logarithmic upwards.
    pub fn log(mut self, log: bool) -> Self {
        self.log = log;
        self
    }

    /// Limits with their words.
    pub fn limits(mut self, limits: &'a [Limit]) -> Self {
        self.limits = limits;
        self
    }

    /// Vertical lines with their words.
    pub fn at(mut self, at: &'a [At]) -> Self {
        self.at = at;
        self
    }

    /// What the x axis covers, when the data does not say.
    pub fn x_range(mut self, range: RangeInclusive<f64>) -> Self {
        self.x_range = Some(range);
        self
    }

    /// What the plot shows at most upwards; lines beyond it are cut there. The table has them whole.
    pub fn y_top(mut self, top: Option<f64>) -> Self {
        self.y_top = top;
        self
    }

    /// Small words after the title.
    pub fn note(mut self, note: &'a str) -> Self {
        self.note = note;
        self
    }

    /// Draws it across the width there is.
    pub fn show(self, ui: &mut Ui, text: &Text, out: &mut Vec<Command>) -> ChartResponse {
        let mut result = ChartResponse::default();
        let table_id = Id::unique(("chart table", self.salt));
        let mut as_table = ui.data(|data| data.get_temp::<bool>(table_id)).unwrap_or(false);
        if self.head(ui, text, &mut as_table, &mut result) {
            let file = ChartFile { title: self.title.to_owned(), csv: self.csv(), svg: self.svg(text) };
            ui.data_mut(|data| {
                data.insert_temp(export_id(), file);
            });
            out.push(Command::Show(Layer::ExportChart));
        }
        ui.data_mut(|data| {
            data.insert_temp(table_id, as_table);
        });
        if as_table {
            self.table(ui, text);
        } else {
            self.plot(ui, text, &mut result);
        }
        result
    }

    /// Whether the chart is to be exported.
    fn head(&self, ui: &mut Ui, text: &Text, as_table: &mut bool, result: &mut ChartResponse) -> bool {
        let t = tokens(ui);
        let mut export = false;
        let mut fits = true;
        super::split(
            ui,
            |ui| {
                ui.label(Font::BodyBold.rich(self.title));
                let unit = match (self.unit.is_empty(), self.log) {
                    (false, true) => format!("{}, log", self.unit),
                    (true, true) => "log".to_owned(),
                    (_, false) => self.unit.to_owned(),
                };
                if !unit.is_empty() {
                    ui.label(Font::Caption.rich(unit).color(t.color.text_muted));
                }
                if !self.note.is_empty() {
                    ui.label(Font::Caption.rich(self.note).color(t.color.text_muted));
                }
            },
            |ui| {
                ui.spacing_mut().item_spacing.x = t.space.m;
                if let Some(chosen) =
                    segmented(ui, &[(false, text.common.plot.as_str()), (true, text.common.table.as_str())], *as_table)
                {
                    *as_table = chosen;
                }
                let name = fill(&text.common.export_chart, &[("title", self.title.to_owned())]);
                export = icon_button(ui, icons::EXPORT, &name, !self.lines.is_empty()).clicked();
                let widths = self.lines.iter().map(|line| {
                    let words = ui.painter().layout_no_wrap(line.name.clone(), Font::Small.id(), t.color.text_primary);
                    words.size().x + 38.0 + t.space.m
                });
                fits = widths.sum::<f32>() <= ui.available_width() - t.space.m;
                for (idx, line) in self.lines.iter().enumerate().rev().filter(|_| fits) {
                    if legend_entry(ui, text, line) {
                        result.toggled = Some(idx);
                    }
                }
            },
        );
        // A legend that has no room beside the title stands under it. One line alone is named by the title.
        if !fits && self.lines.len() > 1 {
            ui.horizontal_wrapped(|ui| {
                ui.spacing_mut().item_spacing.x = t.space.m;
                for (idx, line) in self.lines.iter().enumerate() {
                    if legend_entry(ui, text, line) {
                        result.toggled = Some(idx);
                    }
                }
            });
        }
        ui.add_space(t.space.xs);
        export
    }

    /// Every x of what is shown, ascending.
    fn xs(&self) -> Vec<f64> {
        let shown = self.lines.iter().filter(|line| line.shown);
        let mut xs: Vec<f64> = shown.flat_map(|line| line.points.iter().map(|point| point.x)).collect();
        xs.sort_by(f64::total_cmp);
        xs.dedup_by(|a, b| (*a - *b).abs() < 1e-9);
        xs
    }

    /// What is shown as CSV: a row for each x, a column for each line, and two more where it has a band. Full precision.
    fn csv(&self) -> String {
        let shown: Vec<&ChartLine> = self.lines.iter().filter(|line| line.shown).collect();
        let mut rows = vec![vec![self.x_title.to_owned()]];
        for line in &shown {
            let name = unit_after(&line.name, self.unit);
            let bounds = if line.band.is_empty() { &[""][..] } else { &["", " low", " high"] };
            rows.iter_mut().for_each(|head| head.extend(bounds.iter().map(|bound| format!("{name}{bound}"))));
        }
        for x in self.xs() {
            let mut row = vec![x.to_string()];
            for line in &shown {
                let point = line.points.iter().find(|point| (point.x - x).abs() < 1e-9);
                row.push(point.map(|point| point.y.to_string()).unwrap_or_default());
                if !line.band.is_empty() {
                    let band = line.band.iter().find(|(at, _, _)| (at - x).abs() < 1e-9);
                    row.push(band.map(|(_, low, _)| low.to_string()).unwrap_or_default());
                    row.push(band.map(|(_, _, high)| high.to_string()).unwrap_or_default());
                }
            }
            rows.push(row);
        }
        crate::report::csv::table(&rows)
    }

    /// What is shown as a picture.
    fn svg(&self, text: &Text) -> String {
        let series = self.lines.iter().filter(|line| line.shown).map(|line| {
            let (place, style) = match line.look {
                Look::Series(place) => (place, svg::Style::Candidate),
                Look::Predicted(place) => (place, svg::Style::Predicted),
                Look::Plain(color, dash) => {
                    let length = match dash {
                        Line::Solid => None,
                        Line::Dashed(length) | Line::Dotted(length) => Some(length),
                    };
                    let [red, green, blue, _] = color.to_array();
                    (0, svg::Style::Plain(format!("#{red:02X}{green:02X}{blue:02X}"), length))
                }
            };
            let point =
                |point: &ChartPoint| svg::Point { x: point.x, y: point.y, interval: None, hollow: point.provisional };
            svg::Series {
                name: line.name.clone(),
                place,
                points: line.points.iter().map(point).collect(),
                markers: line.markers,
                style,
                band: line.band.clone(),
            }
        });
        let plot = svg::Plot {
            title: if self.unit.is_empty() { self.title.to_owned() } else { format!("{}, {}", self.title, self.unit) },
            x_title: self.x_title.to_owned(),
            log: self.log,
            log_words: text.report.logarithmic.clone(),
            series: series.collect(),
            limit: self.limits.first().map(|limit| svg::Limit { value: limit.y, words: limit.words.clone() }),
        };
        plot.render()
    }

    /// The same numbers as rows: one column a series.
    fn table(&self, ui: &mut Ui, text: &Text) {
        let xs = self.xs();
        let shown: Vec<&ChartLine> = self.lines.iter().filter(|line| line.shown).collect();
        let mut columns = vec![Column::left(self.x_title, 1.2)];
        columns.extend(shown.iter().map(|line| Column::right(&line.name, 1.0)));
        egui::ScrollArea::vertical()
            .id_salt((self.salt, "rows"))
            .max_height(self.height)
            .auto_shrink([false, false])
            .show(ui, |ui| {
                Table::new(self.salt, &columns).row_height(28.0).pad(0.0).show(ui, xs.len(), |row| {
                    let Some(x) = xs.get(row.idx).copied() else { return };
                    row.text(&short(x));
                    for line in &shown {
                        match line.points.iter().find(|point| (point.x - x).abs() < 1e-9) {
                            Some(point) => row.text(&short(point.y)),
                            None => row.muted(&text.common.not_run_here),
                        }
                    }
                });
            });
    }

    fn plot(&self, ui: &mut Ui, text: &Text, result: &mut ChartResponse) {
        let t = tokens(ui);
        let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), self.height), Sense::hover());
        let frame = self.frame();
        let labels: Vec<String> = frame
            .y_ticks
            .iter()
            .map(|tick| if self.log { tick_label(10_f64.powf(*tick)) } else { tick_label(*tick) })
            .collect();
        let font = Font::Axis.id();
        let label_width = labels
            .iter()
            .map(|label| ui.painter().layout_no_wrap(label.clone(), font.clone(), t.color.text_muted).size().x)
            .fold(0.0, f32::max);
        let area = Rect::from_min_max(rect.min + vec2(label_width + 8.0, 8.0), rect.max - vec2(14.0, 38.0));
        self.axes(ui, area, &frame, &labels);
        let response = self.lines_in(ui, area, &frame);
        self.words(ui, area, &frame);
        let name = self.spoken();
        response.widget_info(|| WidgetInfo::labeled(Role::Image, true, &name));
        if let Some(pointer) = response.hover_pos() {
            self.hover(ui, text, area, &frame, pointer);
        }
        if let Some(pointer) = response.interact_pointer_pos().filter(|_| response.clicked()) {
            result.clicked = self.nearest(area, &frame, pointer);
        }
    }

    fn spoken(&self) -> String {
        let names: Vec<&str> = self.lines.iter().filter(|line| line.shown).map(|line| line.name.as_str()).collect();
        format!("{} {} {}", self.title, self.unit, names.join(", "))
    }

    fn to_y(&self, y: f64) -> f64 {
        if self.log { y.max(1e-12).log10() } else { y }
    }

    /// Ranges and ticks from what is shown.
    fn frame(&self) -> Frame {
        let points = || self.lines.iter().filter(|line| line.shown).flat_map(|line| &line.points);
        let highest_x = points().map(|point| point.x).chain(self.at.iter().map(|at| at.x)).fold(0.0, f64::max);
        let x = self.x_range.clone().unwrap_or(0.0..=if highest_x > 0.0 { highest_x * 1.02 } else { 1.0 });
        let x_ticks: Vec<f64> = ticks(*x.start(), *x.end(), 7).into_iter().filter(|tick| x.contains(tick)).collect();
        let ys = || {
            points()
                .map(|point| point.y)
                .chain(
                    self.lines
                        .iter()
                        .filter(|line| line.shown)
                        .flat_map(|line| line.band.iter().map(|(_, _, high)| *high)),
                )
                .chain(self.limits.iter().map(|limit| limit.y))
                .filter(|y| y.is_finite())
        };
        let highest = ys().fold(0.0, f64::max);
        let highest = self.y_top.map_or(highest, |top| highest.min(top));
        if self.log {
            let lowest = ys().filter(|y| *y > 0.0).fold(f64::INFINITY, f64::min);
            let (low, high) = if lowest.is_finite() { (lowest * 0.8, highest * 1.25) } else { (1.0, 10.0) };
            let y_ticks = log_ticks(low, high);
            let y = y_ticks.first().copied().unwrap_or(0.0)..=y_ticks.last().copied().unwrap_or(1.0);
            return Frame { x, y, x_ticks, y_ticks };
        }
        let y_ticks = ticks(0.0, if highest > 0.0 { highest * 1.05 } else { 1.0 }, 5);
        let y = 0.0..=y_ticks.last().copied().unwrap_or(1.0);
        Frame { x, y, x_ticks, y_ticks }
    }

    fn axes(&self, ui: &Ui, area: Rect, frame: &Frame, labels: &[String]) {
        let t = tokens(ui);
        let painter = ui.painter();
        let font = Font::Axis.id();
        for (tick, label) in frame.y_ticks.iter().zip(labels) {
            let y = place(*tick, &frame.y, area.bottom(), area.top());
            painter.hline(area.x_range(), y, t.hairline());
            painter.text(pos2(area.left() - 8.0, y), Align2::RIGHT_CENTER, label, font.clone(), t.color.text_muted);
        }
        painter.hline(area.x_range(), area.bottom(), Stroke::new(1.0, t.color.stroke_control));
        for tick in &frame.x_ticks {
            let x = place(*tick, &frame.x, area.left(), area.right());
            painter.vline(x, area.bottom()..=area.bottom() + 4.0, Stroke::new(1.0, t.color.stroke_control));
            painter.text(
                pos2(x, area.bottom() + 5.0),
                Align2::CENTER_TOP,
                tick_label(*tick),
                font.clone(),
                t.color.text_muted,
            );
        }
        painter.text(
            pos2(area.right(), area.bottom() + 20.0),
            Align2::RIGHT_TOP,
            self.x_title,
            font,
            t.color.text_secondary,
        );
    }

    /// Lines and bands through egui_plot, markers over them.
    fn lines_in(&self, ui: &mut Ui, area: Rect, frame: &Frame) -> egui::Response {
        let t = tokens(ui);
        let bounds = PlotBounds::from_min_max([*frame.x.start(), *frame.y.start()], [*frame.x.end(), *frame.y.end()]);
        let mut child = ui.new_child(
            UiBuilder::new().id_salt((self.salt, "plot")).max_rect(area).layout(Layout::top_down(Align::Min)),
        );
        let plot = Plot::new(self.salt)
            .width(area.width())
            .height(area.height())
            .show_axes(false)
            .show_grid(false)
            .show_background(false)
            .show_x(false)
            .show_y(false)
            .show_crosshair(false)
            .allow_zoom(false)
            .allow_drag(false)
            .allow_scroll(false)
            .allow_boxed_zoom(false)
            .allow_double_click_reset(false)
            .set_margin_fraction(egui::Vec2::ZERO)
            .sense(Sense::click())
            .label_formatter(|_hover| None);
        let to_y = |y: f64| self.to_y(y);
        let mut items = Vec::new();
        for line in self.lines.iter().filter(|line| line.shown) {
            let (color, width, style, _) = stroke_of(t, line.look);
            let points: PlotPoints<'_> = line.points.iter().map(|point| [point.x, to_y(point.y)]).collect();
            let drawn = PlotLine::new(line.name.clone(), points)
                .stroke(Stroke::new(width, color))
                .style(style)
                // Joining points into a band per column of pixels would turn a stair into an area.
                .allow_band(!is_stair(&line.points))
                .allow_hover(false);
            let band = (!line.band.is_empty()).then(|| {
                let xs: Vec<f64> = line.band.iter().map(|(x, _, _)| *x).collect();
                let low: Vec<f64> = line.band.iter().map(|(_, low, _)| to_y(*low)).collect();
                let high: Vec<f64> = line.band.iter().map(|(_, _, high)| to_y(*high)).collect();
                FilledArea::new(format!("{} band", line.name), &xs, &low, &high)
                    .fill_color(color.gamma_multiply(t.band_opacity))
                    .allow_hover(false)
            });
            items.push((drawn, band));
        }
        let response = plot
            .show(&mut child, |plot| {
                plot.set_plot_bounds(bounds);
                for (line, band) in items {
                    if let Some(band) = band {
                        plot.add(band);
                    }
                    plot.line(line);
                }
            })
            .response;
        let painter = ui.painter().with_clip_rect(area.expand(8.0).intersect(ui.clip_rect()));
        for line in self.lines.iter().filter(|line| line.shown) {
            let look = marker_of(t, line.look);
            for point in &line.points {
                if line.markers || point.provisional {
                    let at = self.at_screen(area, frame, point);
                    if point.provisional {
                        paint_marker(
                            &painter,
                            at,
                            t.size.marker + 1.0,
                            SeriesLook { color: t.color.bg_panel, ..look },
                            true,
                        );
                    }
                    paint_marker(&painter, at, t.size.marker + 0.5, look, !point.provisional);
                }
            }
        }
        response
    }

    fn at_screen(&self, area: Rect, frame: &Frame, point: &ChartPoint) -> Pos2 {
        pos2(
            place(point.x, &frame.x, area.left(), area.right()),
            place(self.to_y(point.y), &frame.y, area.bottom(), area.top()),
        )
    }

    /// Limit lines, vertical lines and direct labels.
    fn words(&self, ui: &Ui, area: Rect, frame: &Frame) {
        let t = tokens(ui);
        let painter = ui.painter();
        for limit in self.limits {
            let color = if limit.soft { t.color.inconclusive } else { t.color.fail };
            let y = place(self.to_y(limit.y), &frame.y, area.bottom(), area.top());
            painter.extend(egui::Shape::dashed_line(
                &[pos2(area.left(), y), pos2(area.right(), y)],
                Stroke::new(1.6, color),
                7.0,
                4.0,
            ));
            let galley = painter.layout_no_wrap(limit.words.clone(), Font::Subhead.id(), color);
            let x = self.clear_place(area, frame, y, galley.size());
            painter.galley(pos2(x, y - galley.size().y - 2.0), galley, color);
        }
        for at in self.at {
            let x = place(at.x, &frame.x, area.left(), area.right());
            painter.extend(egui::Shape::dashed_line(
                &[pos2(x, area.top()), pos2(x, area.bottom())],
                Stroke::new(1.2, t.color.text_muted),
                2.0,
                3.0,
            ));
            let galley = painter.layout_no_wrap(at.words.clone(), Font::Caption.id(), t.color.text_secondary);
            let left = if x + galley.size().x + 6.0 > area.right() { x - galley.size().x - 6.0 } else { x + 6.0 };
            painter.galley(pos2(left, area.top() - 2.0), galley, t.color.text_secondary);
        }
        for line in self.lines.iter().filter(|line| line.shown && !line.label.is_empty()) {
            if let Some(last) = line.points.last() {
                let at = self.at_screen(area, frame, last);
                let right = at.x + 60.0 < area.right();
                let (align, shift) = if right { (Align2::LEFT_CENTER, 10.0) } else { (Align2::RIGHT_BOTTOM, -8.0) };
                // Words of a point that is alone stand clear of the lines that meet there, on the ground of the plot.
                let is_alone = line.points.len() == 1;
                let up = if is_alone { -16.0 } else { 0.0 };
                let at = at + vec2(shift, up + if right { 0.0 } else { -4.0 });
                let galley = painter.layout_no_wrap(line.label.clone(), Font::Subhead.id(), t.color.text_primary);
                let rect = align.anchor_size(at, galley.size());
                if is_alone {
                    painter.rect_filled(rect.expand2(vec2(3.0, 0.0)), 2.0, t.color.bg_panel);
                }
                painter.galley(rect.min, galley, t.color.text_primary);
            }
        }
    }

    /// Where across words above a limit line meet no point: left, then middle, then right.
    fn clear_place(&self, area: Rect, frame: &Frame, y: f32, size: egui::Vec2) -> f32 {
        let left = area.left() + 8.0;
        let places = [left, area.center().x - size.x / 2.0, area.right() - size.x - 8.0];
        let meets = |x: f32| {
            let words = Rect::from_min_size(pos2(x, y - size.y - 2.0), size).expand2(vec2(16.0, 6.0));
            self.lines
                .iter()
                .filter(|line| line.shown)
                .flat_map(|line| &line.points)
                .any(|point| words.contains(self.at_screen(area, frame, point)))
        };
        places.into_iter().find(|x| !meets(*x)).unwrap_or(left)
    }

    fn nearest(&self, area: Rect, frame: &Frame, pointer: Pos2) -> Option<(usize, usize)> {
        let mut best: Option<(f32, (usize, usize))> = None;
        for (line_idx, line) in self.lines.iter().enumerate().filter(|(_, line)| line.shown) {
            for (point_idx, point) in line.points.iter().enumerate() {
                let distance = self.at_screen(area, frame, point).distance(pointer);
                if distance < 12.0 && best.is_none_or(|(nearest, _)| distance < nearest) {
                    best = Some((distance, (line_idx, point_idx)));
                }
            }
        }
        best.map(|(_, at)| at)
    }

    /// A vertical line at the nearest x and a card with every series there.
    fn hover(&self, ui: &Ui, text: &Text, area: Rect, frame: &Frame, pointer: Pos2) {
        let t = tokens(ui);
        let pointed = place_back(pointer.x, &frame.x, area.left(), area.right());
        let Some(x) = self
            .lines
            .iter()
            .filter(|line| line.shown)
            .flat_map(|line| line.points.iter().map(|point| point.x))
            .min_by(|a, b| (a - pointed).abs().total_cmp(&(b - pointed).abs()))
        else {
            return;
        };
        let screen_x = place(x, &frame.x, area.left(), area.right());
        ui.painter().vline(screen_x, area.y_range(), Stroke::new(1.0, t.color.text_muted));
        let rows: Vec<(SeriesLook, bool, &str, String)> = self
            .lines
            .iter()
            .filter(|line| line.shown)
            .map(|line| {
                let value = line.points.iter().find(|point| (point.x - x).abs() < 1e-9);
                let words = value
                    .map_or_else(|| text.common.not_run_here.clone(), |point| unit_after(&short(point.y), self.unit));
                (marker_of(t, line.look), line.markers, line.name.as_str(), words)
            })
            .collect();
        paint_card(ui, self.salt, area, screen_x, &unit_after(&short(x), self.x_title), &rows);
    }
}

/// The hover card, beside the line at `x`.
fn paint_card(ui: &Ui, salt: &str, area: Rect, x: f32, head: &str, rows: &[(SeriesLook, bool, &str, String)]) {
    let t = tokens(ui);
    let painter = ui.ctx().layer_painter(LayerId::new(Order::Tooltip, Id::unique(("chart card", salt))));
    let head = painter.layout_no_wrap(head.to_owned(), Font::Subhead.id(), t.color.text_primary);
    let cells: Vec<_> = rows
        .iter()
        .map(|(look, marker, name, value)| {
            (
                *look,
                *marker,
                painter.layout_no_wrap((*name).to_owned(), Font::Small.id(), t.color.text_secondary),
                painter.layout_no_wrap(value.clone(), Font::Subhead.id(), t.color.text_primary),
            )
        })
        .collect();
    let widest = cells
        .iter()
        .map(|(_, _, name, value)| 24.0 + name.size().x + 20.0 + value.size().x)
        .fold(head.size().x, f32::max);
    #[allow(clippy::cast_precision_loss, reason = "a handful of series")]
    let size = vec2(widest + 24.0, 32.0 + 21.0 * cells.len() as f32 + 6.0);
    let left = if x + 14.0 + size.x < area.right() { x + 14.0 } else { x - 14.0 - size.x };
    let rect = Rect::from_min_size(pos2(left, (area.bottom() - size.y - 10.0).max(area.top())), size);
    painter.rect(rect, CornerRadius::same(t.radius.button), t.color.bg_raised, t.control_stroke(), StrokeKind::Inside);
    painter.galley(rect.min + vec2(12.0, 9.0), head, t.color.text_primary);
    let mut y = rect.top() + 41.0;
    for (look, marker, name, value) in cells {
        if marker {
            paint_marker(&painter, pos2(rect.left() + 19.0, y), 5.5, look, true);
        } else {
            paint_line(
                &painter,
                Rect::from_center_size(pos2(rect.left() + 19.0, y), vec2(14.0, 4.0)),
                look.line,
                Stroke::new(2.0, look.color),
            );
        }
        painter.galley(pos2(rect.left() + 34.0, y - name.size().y / 2.0), name, t.color.text_secondary);
        painter.galley(
            pos2(rect.right() - 12.0 - value.size().x, y - value.size().y / 2.0),
            value,
            t.color.text_primary,
        );
        y += 21.0;
    }
}

/// Swatch and name; a click shows or hides the line. True when clicked.
fn legend_entry(ui: &mut Ui, text: &Text, line: &ChartLine) -> bool {
    let t = tokens(ui);
    let color = if line.shown { t.color.text_primary } else { t.color.text_muted };
    let name = ui.painter().layout_no_wrap(line.name.clone(), Font::Small.id(), color);
    let swatch = if line.markers { 32.0 } else { 24.0 };
    let (rect, response) = ui.allocate_exact_size(vec2(swatch + 6.0 + name.size().x, 24.0), Sense::click());
    let mut painter = ui.painter().clone();
    if !line.shown {
        painter.multiply_opacity(0.4);
    }
    let (stroke_color, width, _, dash) = stroke_of(t, line.look);
    let bar = Rect::from_min_size(pos2(rect.left(), rect.center().y - 2.0), vec2(swatch, 4.0));
    paint_line(&painter, bar, dash, Stroke::new(width.max(1.4), stroke_color));
    if line.markers {
        paint_marker(&painter, bar.center(), 5.0, marker_of(t, line.look), true);
    }
    ui.painter().galley(pos2(rect.left() + swatch + 6.0, rect.center().y - name.size().y / 2.0), name, color);
    let (enabled, shown) = (ui.is_enabled(), line.shown);
    let label = fill(&text.common.show_series, &[("name", line.name.clone())]);
    response.widget_info(|| WidgetInfo::selected(Role::CheckBox, enabled, shown, &label));
    super::focus_ring(ui, &response, t.radius.chip);
    response.clicked()
}

/// Colour, width, egui_plot's style and our dash of a look.
fn stroke_of(t: &Tokens, look: Look) -> (Color32, f32, LineStyle, Line) {
    let (color, width, line) = match look {
        Look::Series(series) => (t.series(series).color, t.stroke.series, t.series(series).line),
        Look::Predicted(series) => {
            (t.series(series).color.gamma_multiply(t.predicted.opacity), t.predicted.width, t.predicted.line)
        }
        Look::Plain(color, line) => (color, t.stroke.series, line),
    };
    // Dots are drawn with the width as their radius.
    match line {
        Line::Solid => (color, width, LineStyle::Solid, line),
        Line::Dashed(length) => (color, width, LineStyle::Dashed { length }, line),
        Line::Dotted(spacing) => (color, width * 0.6, LineStyle::Dotted { spacing }, line),
    }
}

fn marker_of(t: &Tokens, look: Look) -> SeriesLook {
    match look {
        Look::Series(series) | Look::Predicted(series) => t.series(series),
        Look::Plain(color, line) => SeriesLook { color, marker: Marker::Circle, line },
    }
}

fn unit_after(value: &str, unit: &str) -> String {
    if unit.is_empty() { value.to_owned() } else { format!("{value} {unit}") }
}

/// Whether two neighbouring points stand at the same place across.
fn is_stair(points: &[ChartPoint]) -> bool {
    points.windows(2).any(|pair| matches!(pair, [a, b] if (a.x - b.x).abs() < f64::EPSILON))
}

/// From a value to a screen coordinate; `from` and `to` are where the range starts and ends on screen.
fn place(value: f64, range: &RangeInclusive<f64>, from: f32, to: f32) -> f32 {
    let span = range.end() - range.start();
    from + super::px((value - range.start()) / if span.abs() < 1e-12 { 1.0 } else { span }) * (to - from)
}

fn place_back(at: f32, range: &RangeInclusive<f64>, from: f32, to: f32) -> f64 {
    range.start() + f64::from((at - from) / (to - from).max(1.0)) * (range.end() - range.start())
}

/// At most about `most` round values from the one at or below `low` to the one at or above `high`.
#[must_use]
pub fn ticks(low: f64, high: f64, most: usize) -> Vec<f64> {
    if !(low.is_finite() && high.is_finite()) || high <= low {
        return vec![0.0, 1.0];
    }
    #[allow(clippy::cast_precision_loss, reason = "a handful of ticks")]
    let raw = (high - low) / most.max(1) as f64;
    let magnitude = 10_f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .map(|factor| factor * magnitude)
        .into_iter()
        .find(|step| *step >= raw * 0.8)
        .unwrap_or(raw);
    let first = (low / step).floor();
    let mut out = Vec::new();
    for n in 0..=most.saturating_mul(2) {
        #[allow(clippy::cast_precision_loss, reason = "a handful of ticks")]
        let tick = (first + n as f64) * step;
        // The product of two round numbers shows its binary tail; twelve digits are far more than a tick has.
        out.push((tick / step).round() * step);
        if tick >= high - step * 1e-9 {
            break;
        }
    }
    out
}

/// 1, 2 and 5 of each decade as logarithms, thinned to decades when there are many.
fn log_ticks(low: f64, high: f64) -> Vec<f64> {
    let (from, to) = (low.log10().floor(), high.log10().ceil());
    let mut out = Vec::new();
    let mut decade = from;
    while decade <= to + 0.5 {
        for factor in [1.0_f64, 2.0, 5.0] {
            out.push(decade + factor.log10());
        }
        decade += 1.0;
    }
    // Keep one tick at or below the lowest value and one at or above the highest.
    let start = out.iter().rposition(|tick| *tick <= low.log10()).unwrap_or(0);
    let end = out.iter().position(|tick| *tick >= high.log10()).unwrap_or(out.len().saturating_sub(1));
    let kept: Vec<f64> = out.get(start..=end.max(start)).unwrap_or_default().to_vec();
    if kept.len() <= 9 {
        return kept;
    }
    let ends = [kept.first().copied(), kept.last().copied()];
    kept.into_iter().filter(|tick| (tick - tick.round()).abs() < 1e-9 || ends.contains(&Some(*tick))).collect()
}

/// A tick as text: as many decimals as it needs, comma thousands.
#[must_use]
pub fn tick_label(value: f64) -> String {
    let places = (0..=4).find(|places| {
        let scale = 10_f64.powi(*places);
        ((value * scale).round() / scale - value).abs() < 1e-9 * value.abs().max(1.0)
    });
    fixed(value, usize::try_from(places.unwrap_or(4)).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_cover_the_data() {
        assert_eq!(ticks(0.0, 87.0, 5), vec![0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!(ticks(0.0, 570.0, 5), vec![0.0, 100.0, 200.0, 300.0, 400.0, 500.0, 600.0]);
        assert_eq!(ticks(0.0, 14.3, 7).len(), 9);
        assert_eq!(ticks(0.0, 0.7, 5).len(), 5);
        assert_eq!(ticks(5.0, 5.0, 5), vec![0.0, 1.0]);
        assert_eq!(ticks(0.0, f64::NAN, 5), vec![0.0, 1.0]);
    }

    #[test]
    fn log_ticks_are_one_two_five() {
        let labels =
            |low, high| log_ticks(low, high).into_iter().map(|tick| tick_label(10_f64.powf(tick))).collect::<Vec<_>>();
        assert_eq!(labels(60.0, 2500.0), ["50", "100", "200", "500", "1,000", "2,000", "5,000"]);
        assert_eq!(labels(0.02, 2500.0), ["0.02", "0.1", "1", "10", "100", "1,000", "5,000"]);
    }

    #[test]
    fn tick_labels_have_the_decimals_they_need() {
        for (value, want) in [(0.1, "0.1"), (2.5, "2.5"), (1000.0, "1,000"), (0.0, "0"), (-20.0, "−20")] {
            assert_eq!(tick_label(value), want);
        }
    }
}
