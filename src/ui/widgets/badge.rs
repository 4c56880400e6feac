//! Verdict shapes, badges, state marks, tallies, chips. A shape never stands without its word: shown, or as its name.

use egui::{
    Color32, CornerRadius, Painter, Pos2, Rect, Response, Role, Sense, Shape, Stroke, StrokeKind, Ui, Vec2, WidgetInfo,
    pos2, vec2,
};

use super::icons;
use crate::domain::acceptance::judge::Standing;
use crate::domain::acceptance::{Judged, Verdict};
use crate::domain::text::Text;
use crate::ui::theme::{Colors, Font, tokens};

/// What a shape says: a verdict, a waiver, or that a job runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mark {
    /// Filled disc with a tick: pass; nothing open.
    Pass,
    /// Filled square with a cross: fail; blocked.
    Fail,
    /// Filled diamond with a bar: inconclusive; needs a person.
    Inconclusive,
    /// Ring with clock hands.
    Stale,
    /// Dashed ring: not tested; not begun.
    NotTested,
    /// Flag.
    Waived,
    /// Turning ring: a job runs.
    Running,
}

impl From<Verdict> for Mark {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Pass => Self::Pass,
            Verdict::Fail => Self::Fail,
            Verdict::Inconclusive => Self::Inconclusive,
            Verdict::NotTested => Self::NotTested,
            Verdict::Stale => Self::Stale,
        }
    }
}

impl From<Standing> for Mark {
    fn from(standing: Standing) -> Self {
        match standing {
            Standing::Fail => Self::Fail,
            Standing::Inconclusive => Self::Inconclusive,
            Standing::Stale => Self::Stale,
            Standing::NotTested => Self::NotTested,
            Standing::Waived => Self::Waived,
            Standing::Pass => Self::Pass,
        }
    }
}

impl Mark {
    /// The mark of a judged criterion: the flag where it did not pass and a waiver is in force.
    #[must_use]
    pub fn of(judged: &Judged) -> Self {
        Standing::of(judged).into()
    }

    /// Its colour.
    #[must_use]
    pub fn color(self, colors: &Colors) -> Color32 {
        match self {
            Self::Pass => colors.pass,
            Self::Fail => colors.fail,
            Self::Inconclusive => colors.inconclusive,
            Self::Stale => colors.stale,
            Self::NotTested => colors.not_tested,
            Self::Waived => colors.waived,
            Self::Running => colors.accent,
        }
    }

    /// The ground of its badge.
    #[must_use]
    pub fn soft(self, colors: &Colors) -> Color32 {
        match self {
            Self::Pass => colors.pass_soft,
            Self::Fail => colors.fail_soft,
            Self::Inconclusive => colors.inconclusive_soft,
            Self::Stale => colors.stale_soft,
            Self::NotTested => colors.not_tested_soft,
            Self::Waived => colors.waived_soft,
            Self::Running => colors.accent_soft,
        }
    }

    /// The fixed word of the verdict it stands for ("Pass"); `Running` has the word of a running job.
    #[must_use]
    pub fn word(self, text: &Text) -> &str {
        let words = &text.common;
        match self {
            Self::Pass => &words.pass,
            Self::Fail => &words.fail,
            Self::Inconclusive => &words.inconclusive,
            Self::Stale => &words.stale,
            Self::NotTested => &words.not_tested,
            Self::Waived => &words.waived,
            Self::Running => &words.running,
        }
    }
}

/// The shape alone, with its word as accessible name and hover text.
pub fn mark(ui: &mut Ui, mark: Mark, size: f32, word: &str) -> Response {
    let (rect, response) = ui.allocate_exact_size(Vec2::splat(size), Sense::hover());
    paint_mark(ui, rect.center(), size, mark, tokens(ui).color.bg_panel);
    response.widget_info(|| WidgetInfo::labeled(Role::Image, true, word));
    if word.is_empty() { response } else { response.on_hover_text(word) }
}

/// Paints a shape around a centre; `ground` is what shows through (ticks and crosses).
pub fn paint_mark(ui: &Ui, center: Pos2, size: f32, mark: Mark, ground: Color32) {
    let t = tokens(ui);
    let painter = ui.painter();
    let color = mark.color(&t.color);
    let r = size / 2.0;
    let at = |x: f32, y: f32| center + vec2(x, y) * r;
    // Ticks and crosses are cut out of the shape in the colour of the ground.
    let cut = Stroke::new(size * 0.11, ground);
    match mark {
        Mark::Pass => {
            painter.circle_filled(center, r * 0.93, color);
            painter.line(vec![at(-0.42, 0.02), at(-0.1, 0.34), at(0.44, -0.3)], cut);
        }
        Mark::Fail => {
            painter.rect_filled(Rect::from_center_size(center, Vec2::splat(size * 0.86)), size * 0.12, color);
            painter.line_segment([at(-0.36, -0.36), at(0.36, 0.36)], cut);
            painter.line_segment([at(0.36, -0.36), at(-0.36, 0.36)], cut);
        }
        Mark::Inconclusive => {
            painter.add(Shape::convex_polygon(
                vec![at(0.0, -1.0), at(1.0, 0.0), at(0.0, 1.0), at(-1.0, 0.0)],
                color,
                Stroke::NONE,
            ));
            painter.line_segment([at(-0.4, 0.0), at(0.4, 0.0)], cut);
        }
        Mark::Stale => {
            let line = Stroke::new(size * 0.1, color);
            painter.circle_stroke(center, r * 0.88, line);
            painter.line(vec![at(0.0, -0.5), at(0.0, 0.05), at(0.4, 0.3)], line);
        }
        Mark::NotTested => dashed_ring(painter, center, r * 0.88, Stroke::new(size * 0.1, color)),
        Mark::Waived => {
            painter.line_segment([at(-0.62, -0.85), at(-0.62, 0.95)], Stroke::new(size * 0.12, color));
            painter.add(Shape::convex_polygon(
                vec![at(-0.62, -0.85), at(0.85, -0.85), at(0.85, 0.25), at(-0.62, 0.25)],
                color,
                Stroke::NONE,
            ));
            painter.add(Shape::convex_polygon(
                vec![at(0.9, -0.86), at(0.9, 0.26), at(0.5, -0.3)],
                ground,
                Stroke::NONE,
            ));
        }
        Mark::Running => {
            // The ring turns with the clock of the frame; the shell asks for frames while a job runs.
            #[allow(clippy::cast_possible_truncation, reason = "an angle")]
            let turn = (ui.input(|input| input.time) * 4.0 % std::f64::consts::TAU) as f32;
            let arc = |from: f32, to: f32| -> Vec<Pos2> {
                (0..=16_u8)
                    .map(|step| center + Vec2::angled(from + (to - from) * f32::from(step) / 16.0) * (r * 0.88))
                    .collect()
            };
            painter.line(arc(turn, turn + std::f32::consts::TAU), Stroke::new(size * 0.1, t.color.stroke_subtle));
            painter.line(arc(turn, turn + 1.6), Stroke::new(size * 0.13, color));
        }
    }
}

/// A ring of dashes: eight, or six where they would run together.
pub fn dashed_ring(painter: &Painter, center: Pos2, radius: f32, stroke: Stroke) {
    let points: Vec<Pos2> = (0..=32_u8)
        .map(|step| center + Vec2::angled(std::f32::consts::TAU * f32::from(step) / 32.0) * radius)
        .collect();
    let around = std::f32::consts::TAU * radius;
    let dash = around / if radius < 5.0 { 6.0 } else { 8.0 };
    let drawn = if radius < 5.0 { 0.45 } else { 0.55 };
    painter.extend(Shape::dashed_line(&points, stroke, dash * drawn, dash * (1.0 - drawn)));
}

/// A dashed outline of a rectangle.
pub fn dashed_rect(painter: &Painter, rect: Rect, stroke: Stroke) {
    let corners = [rect.left_top(), rect.right_top(), rect.right_bottom(), rect.left_bottom(), rect.left_top()];
    painter.extend(Shape::dashed_line(&corners, stroke, 4.0, 3.0));
}

/// How big a badge is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadgeSize {
    /// 22 high.
    Normal,
    /// 28 high.
    Big,
}

/// Shape and word on their soft ground. `word` is usually `mark.word(text)`, or what it means here ("Fits", "Mismatch").
pub fn badge(ui: &mut Ui, mark: Mark, word: &str, size: BadgeSize) -> Response {
    let t = tokens(ui);
    let (height, font, shape, pad) = match size {
        BadgeSize::Normal => (22.0, Font::Subhead, t.size.verdict_badge, 6.0),
        BadgeSize::Big => (28.0, Font::BodyBold, t.size.verdict, 8.0),
    };
    let color = mark.color(&t.color);
    let galley = ui.painter().layout_no_wrap(word.to_owned(), font.id(), color);
    let width = pad + shape + 6.0 + galley.size().x + pad + 2.0;
    let (rect, response) = ui.allocate_exact_size(vec2(width, height), Sense::hover());
    let painter = ui.painter();
    if mark == Mark::NotTested {
        dashed_rect(painter, rect.shrink(0.5), Stroke::new(t.stroke.control, t.color.not_tested));
    } else {
        painter.rect_filled(rect, CornerRadius::same(t.radius.chip), mark.soft(&t.color));
    }
    paint_mark(ui, pos2(rect.left() + pad + shape / 2.0, rect.center().y), shape, mark, mark.soft(&t.color));
    painter.galley(pos2(rect.left() + pad + shape + 6.0, rect.center().y - galley.size().y / 2.0), galley, color);
    response.widget_info(|| WidgetInfo::labeled(Role::Label, true, word));
    response
}

/// The badge of a verdict or waiver with its fixed word.
pub fn verdict_badge(ui: &mut Ui, text: &Text, verdict: Mark, size: BadgeSize) -> Response {
    badge(ui, verdict, verdict.word(text), size)
}

/// Shape and count of each verdict, in the given order; zero counts are left out.
pub fn tally(ui: &mut Ui, text: &Text, counts: &[(Mark, usize)]) {
    let t = tokens(ui);
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 4.0;
        for (kind, count) in counts.iter().filter(|(_, count)| *count > 0) {
            mark(ui, *kind, t.size.verdict_badge, kind.word(text));
            ui.label(Font::Caption.rich(count.to_string()).color(t.color.text_secondary));
            ui.add_space(t.space.xs);
        }
    });
}

/// A chip that can be chosen: optional series swatch, bold name, muted rest. Returns its response.
#[derive(Debug)]
#[must_use = "call `show`"]
pub struct Chip<'a> {
    name: &'a str,
    rest: &'a str,
    selected: bool,
    series: Option<u8>,
    mark: Option<Mark>,
    tick: bool,
}

impl<'a> Chip<'a> {
    /// A chip with this name.
    pub fn new(name: &'a str) -> Self {
        Self { name, rest: "", selected: false, series: None, mark: None, tick: false }
    }

    /// Muted words after the name.
    pub fn rest(mut self, rest: &'a str) -> Self {
        self.rest = rest;
        self
    }

    /// Whether it is the chosen one.
    pub fn selected(mut self, selected: bool) -> Self {
        self.selected = selected;
        self
    }

    /// With the swatch of a candidate before the name.
    pub fn series(mut self, series: u8) -> Self {
        self.series = Some(series);
        self
    }

    /// With a state mark before the muted words.
    pub fn mark(mut self, mark: Mark) -> Self {
        self.mark = Some(mark);
        self
    }

    /// Small, with a tick when chosen: one of several choices.
    pub fn tick(mut self) -> Self {
        self.tick = true;
        self
    }

    /// Draws it.
    pub fn show(self, ui: &mut Ui) -> Response {
        let t = tokens(ui);
        let painter = ui.painter();
        let font = if self.tick { Font::Small } else { Font::Subhead };
        let name = painter.layout_no_wrap(self.name.to_owned(), font.id(), t.color.text_primary);
        let rest = painter.layout_no_wrap(self.rest.to_owned(), Font::Small.id(), t.color.text_muted);
        let pad = if self.tick { 8.0 } else { 11.0 };
        let lead = match (self.series.is_some(), self.tick && self.selected) {
            (true, _) => t.size.verdict + 6.0,
            (_, true) => 18.0,
            _ => 0.0,
        };
        let mark = if self.mark.is_some() { t.size.verdict + 12.0 } else { 0.0 };
        let gap = if self.rest.is_empty() || self.mark.is_some() { 0.0 } else { 6.0 };
        let height = if self.tick { t.size.min_target } else { t.size.control };
        let width = pad * 2.0 + lead + name.size().x + mark + gap + rest.size().x;
        let (rect, response) = ui.allocate_exact_size(vec2(width, height), Sense::click());
        let (fill, stroke) = if self.selected {
            (t.color.bg_selected, Stroke::new(t.stroke.control, t.color.accent))
        } else if response.hovered() {
            (t.color.bg_hover, t.hairline())
        } else {
            (t.color.bg_panel, t.hairline())
        };
        let painter = ui.painter();
        painter.rect(rect, CornerRadius::same(t.radius.chip), fill, stroke, StrokeKind::Inside);
        let mut x = rect.left() + pad;
        let middle = rect.center().y;
        if let Some(series) = self.series {
            super::series::paint_marker(
                painter,
                pos2(x + t.size.verdict / 2.0, middle),
                t.size.verdict / 2.0 - 1.0,
                t.series(series),
                true,
            );
        } else if self.tick && self.selected {
            icons::paint(painter, pos2(x + 6.0, middle), icons::CHECK, 13.0, t.color.text_primary);
        }
        x += lead;
        let put = |x: f32, galley: &std::sync::Arc<egui::Galley>, color: Color32| {
            painter.galley(pos2(x, middle - galley.size().y / 2.0), galley.clone(), color);
        };
        put(x, &name, t.color.text_primary);
        x += name.size().x;
        if let Some(state) = self.mark {
            paint_mark(ui, pos2(x + 6.0 + t.size.verdict / 2.0, middle), t.size.verdict_badge, state, fill);
            x += mark;
        }
        put(x + gap, &rest, t.color.text_muted);
        let label = if self.rest.is_empty() { self.name.to_owned() } else { format!("{} {}", self.name, self.rest) };
        let (enabled, selected) = (ui.is_enabled(), self.selected);
        response.widget_info(|| WidgetInfo::selected(Role::Button, enabled, selected, &label));
        super::focus_ring(ui, &response, t.radius.chip);
        response
    }
}
