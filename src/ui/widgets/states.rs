//! Empty states, failures in place, the completeness gate, simple bars.

use egui::{CornerRadius, Rect, Response, Role, Sense, Stroke, StrokeKind, Ui, WidgetInfo, pos2, vec2};

use super::badge::dashed_rect;
use super::button::Button;
use super::icons;
use super::layout::Card;
use crate::domain::failure::Failure;
use crate::domain::text::Text;
use crate::ui::theme::{Font, tokens};

/// Why a screen is empty, the one button that changes it, and what it will show then. True when the button was clicked.
pub fn empty_state(ui: &mut Ui, why: &str, button: &str, then: &str) -> bool {
    let t = tokens(ui);
    Card::new()
        .show(ui, |ui| {
            ui.vertical_centered(|ui| {
                ui.add_space(t.space.xxl);
                ui.label(Font::Heading.rich(why));
                ui.add_space(t.space.xs);
                if !then.is_empty() {
                    ui.set_max_width(ui.available_width().min(560.0));
                    ui.label(Font::Small.rich(then).color(t.color.text_secondary));
                }
                ui.add_space(t.space.l);
                let clicked = !button.is_empty() && Button::primary(button).show(ui).clicked();
                ui.add_space(t.space.xxl);
                clicked
            })
            .inner
        })
        .inner
}

/// A failure in place: what was tried and happened, what to do, where; its raw text one click away. True when the
/// remedy was clicked.
pub fn failure_card(ui: &mut Ui, text: &Text, salt: &str, failure: &Failure, remedy: Option<&str>) -> bool {
    let t = tokens(ui);
    let shown = text.failure(failure);
    let open_id = egui::Id::unique(("failure raw", salt));
    let mut open = ui.data(|data| data.get_temp::<bool>(open_id)).unwrap_or(false);
    let mut clicked = false;
    Card::new().failing().show(ui, |ui| {
        ui.horizontal_top(|ui| {
            super::badge::mark(ui, super::badge::Mark::Fail, t.size.icon, &text.common.fail);
            ui.vertical(|ui| {
                ui.label(Font::BodyBold.rich(&shown.what));
                if !shown.hint.is_empty() {
                    ui.label(Font::Small.rich(sentence(&shown.hint)).color(t.color.text_secondary));
                }
                if let Some(at) = &shown.at {
                    ui.label(Font::Mono.rich(at).color(t.color.text_muted));
                }
                if remedy.is_some() || failure.raw.is_some() {
                    ui.add_space(t.space.xs);
                    ui.horizontal(|ui| {
                        if let Some(remedy) = remedy {
                            clicked = Button::secondary(remedy).small().show(ui).clicked();
                        }
                        if failure.raw.is_some()
                            && Button::secondary(&text.common.raw_output)
                                .small()
                                .icon(icons::TERMINAL_WINDOW)
                                .show(ui)
                                .clicked()
                        {
                            open = !open;
                        }
                    });
                }
            });
        });
        if let (true, Some(raw)) = (open, &failure.raw) {
            super::raw::raw_view(ui, salt, raw, 240.0);
        }
    });
    ui.data_mut(|data| {
        data.insert_temp(open_id, open);
    });
    clicked
}

/// A hint as a sentence of its own: on the command line it follows "hint:", here nothing stands before it.
fn sentence(hint: &str) -> String {
    let mut letters = hint.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// One segment a field: the first `filled` filled, the rest a dashed outline. `name` is what a screen reader says.
pub fn gate(ui: &mut Ui, filled: usize, total: usize, name: &str) -> Response {
    let t = tokens(ui);
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 8.0), Sense::hover());
    let gap = 3.0;
    #[allow(clippy::cast_precision_loss, reason = "fields of a form")]
    let width = (rect.width() + gap) / total.max(1) as f32 - gap;
    for idx in 0..total {
        #[allow(clippy::cast_precision_loss, reason = "fields of a form")]
        let left = rect.left() + (width + gap) * idx as f32;
        let segment = Rect::from_min_size(pos2(left, rect.top()), vec2(width, rect.height()));
        if idx < filled {
            ui.painter().rect_filled(segment, 2.0, t.color.accent_fill);
        } else {
            dashed_rect(ui.painter(), segment.shrink(0.5), Stroke::new(1.2, t.color.inconclusive));
        }
    }
    response.widget_info(|| WidgetInfo::labeled(Role::Meter, true, name));
    response
}

/// A bar filled to `share` (0..1). `name` says what and how far.
pub fn progress(ui: &mut Ui, width: f32, share: f64, name: &str) -> Response {
    bar(ui, vec2(width, 6.0), share, tokens(ui).color.accent_fill, name)
}

/// A bar of this size and colour filled to `share` (0..1), for comparing amounts.
pub fn bar(ui: &mut Ui, size: egui::Vec2, share: f64, color: egui::Color32, name: &str) -> Response {
    let t = tokens(ui);
    let (rect, response) = ui.allocate_exact_size(size, Sense::hover());
    let radius = CornerRadius::same(2);
    ui.painter().rect_filled(rect, radius, t.color.stroke_subtle);
    let filled = Rect::from_min_size(rect.min, vec2(rect.width() * super::px(share.clamp(0.0, 1.0)), rect.height()));
    ui.painter().rect_filled(filled, radius, color);
    response.widget_info(|| WidgetInfo::labeled(Role::ProgressIndicator, true, name));
    response
}

/// A value with its interval against a limit, on a scale of its own. `at_most`: the good side is below the limit.
#[derive(Debug, Clone, Copy)]
pub struct AgainstLimit<'a> {
    /// The value.
    pub value: f64,
    /// Its 95 % interval.
    pub interval: Option<(f64, f64)>,
    /// The limit.
    pub limit: f64,
    /// Whether the good side is below the limit.
    pub at_most: bool,
    /// Colour of the value.
    pub mark: super::badge::Mark,
    /// Words over the limit ("limit 60 s").
    pub limit_words: &'a str,
    /// What a screen reader says.
    pub name: &'a str,
}

/// Draws the value, its interval and the limit on one scale.
pub fn against_limit(ui: &mut Ui, of: AgainstLimit<'_>) -> Response {
    let t = tokens(ui);
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 84.0), Sense::hover());
    let (low, high) = of.interval.unwrap_or((of.value, of.value));
    let (min, max) = (low.min(of.limit), high.max(of.limit));
    let room = ((max - min) * 0.25).max(of.limit.abs() * 0.1).max(1e-9);
    let ticks = super::chart::ticks(min - room, max + room, 5);
    let (first, last) = (ticks.first().copied().unwrap_or(min).min(min), ticks.last().copied().unwrap_or(max).max(max));
    let scale = rect.shrink2(vec2(8.0, 0.0));
    let x = |value: f64| scale.left() + super::px((value - first) / (last - first).max(1e-12)) * scale.width();
    let painter = ui.painter();
    let band = Rect::from_min_max(pos2(scale.left(), rect.top() + 22.0), pos2(scale.right(), rect.top() + 56.0));
    let (below, above) =
        if of.at_most { (t.color.pass_soft, t.color.fail_soft) } else { (t.color.fail_soft, t.color.pass_soft) };
    painter.rect_filled(band.with_max_x(x(of.limit)), 0.0, below);
    painter.rect_filled(band.with_min_x(x(of.limit)), 0.0, above);
    let color = of.mark.color(&t.color);
    let middle = band.center().y;
    if of.interval.is_some() {
        let line = Stroke::new(2.0, color);
        painter.hline(x(low)..=x(high), middle, line);
        painter.vline(x(low), middle - 7.0..=middle + 7.0, line);
        painter.vline(x(high), middle - 7.0..=middle + 7.0, line);
    }
    let center = pos2(x(of.value), middle);
    let diamond = [vec2(0.0, -7.0), vec2(7.0, 0.0), vec2(0.0, 7.0), vec2(-7.0, 0.0)].map(|arm| center + arm).to_vec();
    painter.add(egui::Shape::convex_polygon(diamond, color, Stroke::NONE));
    painter.vline(x(of.limit), band.top() - 6.0..=band.bottom() + 6.0, Stroke::new(1.5, t.color.text_primary));
    let align = if x(of.limit) > scale.center().x { egui::Align2::RIGHT_BOTTOM } else { egui::Align2::LEFT_BOTTOM };
    painter.text(
        pos2(x(of.limit), band.top() - 6.0),
        align,
        of.limit_words,
        Font::Caption.id(),
        t.color.text_secondary,
    );
    for tick in ticks {
        painter.text(
            pos2(x(tick), band.bottom() + 8.0),
            egui::Align2::CENTER_TOP,
            super::chart::tick_label(tick),
            Font::Axis.id(),
            t.color.text_muted,
        );
    }
    response.widget_info(|| WidgetInfo::labeled(Role::Image, true, of.name));
    response
}

/// Parts of a GPU's memory, GiB.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct MemoryParts {
    /// Weights.
    pub weights: f64,
    /// Activations.
    pub activations: f64,
    /// Runtime and graphs.
    pub runtime: f64,
    /// KV cache that the brief needs.
    pub kv: f64,
    /// Memory of the GPU.
    pub total: f64,
    /// The most that may be used of it.
    pub limit: f64,
}

impl MemoryParts {
    /// What is needed.
    #[must_use]
    pub fn need(&self) -> f64 {
        self.weights + self.activations + self.runtime + self.kv
    }
}

/// Words of a memory bar.
#[derive(Debug, Clone, Copy)]
pub struct MemoryWords<'a> {
    /// "28.2 free", inside the rest.
    pub free: &'a str,
    /// "21.5 GiB too small", beside the overflow.
    pub short: &'a str,
    /// "limit 72.8", under the tick.
    pub limit: &'a str,
    /// All of it, for screen readers.
    pub name: &'a str,
}

/// Stacked parts against the limit tick; what does not fit is a dashed box. `scale` is GiB at full width.
pub fn memory_bar(ui: &mut Ui, width: f32, scale: f64, parts: &MemoryParts, words: MemoryWords<'_>) -> Response {
    let t = tokens(ui);
    let (rect, response) = ui.allocate_exact_size(vec2(width, 50.0), Sense::hover());
    let bar = Rect::from_min_size(rect.min + vec2(0.0, 6.0), vec2(width, 24.0));
    let x = |gib: f64| bar.left() + super::px(gib / scale.max(1e-9)) * bar.width();
    let painter = ui.painter();
    painter.rect_filled(bar.with_max_x(x(parts.total)), 0.0, t.color.mem_free);
    let mut from = 0.0;
    for (size, color) in [
        (parts.weights, t.color.mem_weights),
        (parts.activations, t.color.mem_act),
        (parts.runtime, t.color.mem_rt),
        (parts.kv, t.color.mem_kv),
    ] {
        let to = (from + size).min(parts.limit.max(from));
        let part = bar.with_min_x(x(from)).with_max_x(x(to));
        painter.rect_filled(part, 0.0, color);
        let words = crate::domain::format::fixed(size, 1);
        let galley = painter.layout_no_wrap(words, Font::Subhead.id(), t.color.text_on_accent);
        if to - from >= size - 1e-9 && part.width() > galley.size().x + 8.0 {
            painter.galley(part.center() - galley.size() / 2.0, galley, t.color.text_on_accent);
        }
        from += size;
    }
    let need = parts.need();
    if need > parts.limit {
        let over = bar.with_min_x(x(parts.limit)).with_max_x(x(need).min(bar.right()));
        dashed_rect(painter, over.shrink(0.7), Stroke::new(t.stroke.error, t.color.fail));
        let galley = painter.layout_no_wrap(words.short.to_owned(), Font::Subhead.id(), t.color.fail);
        let beside = over.right() + 8.0;
        let at = if beside + galley.size().x <= bar.right() { beside } else { over.right() - galley.size().x - 6.0 };
        painter.galley(pos2(at, bar.center().y - galley.size().y / 2.0), galley, t.color.fail);
    } else {
        let free = bar.with_min_x(x(need)).with_max_x(x(parts.limit));
        let galley = painter.layout_no_wrap(words.free.to_owned(), Font::Caption.id(), t.color.text_secondary);
        if free.width() > galley.size().x + 6.0 {
            painter.galley(free.center() - galley.size() / 2.0, galley, t.color.text_secondary);
        }
    }
    painter.vline(x(parts.limit), bar.top() - 5.0..=bar.bottom() + 5.0, Stroke::new(2.0, t.color.text_primary));
    let galley = painter.layout_no_wrap(words.limit.to_owned(), Font::Caption.id(), t.color.text_secondary);
    let left =
        (x(parts.limit) - galley.size().x / 2.0).clamp(bar.left(), (bar.right() - galley.size().x).max(bar.left()));
    painter.galley(pos2(left, bar.bottom() + 5.0), galley, t.color.text_secondary);
    response.widget_info(|| WidgetInfo::labeled(Role::Meter, true, words.name));
    response
}

/// A row of coloured squares with words, for the parts of a bar.
pub fn legend(ui: &mut Ui, entries: &[(egui::Color32, &str)]) {
    let t = tokens(ui);
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = 6.0;
        for (color, words) in entries {
            let (rect, _) = ui.allocate_exact_size(egui::Vec2::splat(12.0), Sense::hover());
            ui.painter().rect(rect, 2.0, *color, Stroke::NONE, StrokeKind::Inside);
            ui.label(Font::Small.rich(*words).color(t.color.text_secondary));
            ui.add_space(t.space.s);
        }
    });
}
