//! Buttons. One main action a screen is `primary`; destructive ones are outlined and never the default.

use egui::{Color32, CornerRadius, Response, Role, Sense, Stroke, StrokeKind, Ui, WidgetInfo, pos2, vec2};

use super::icons;
use crate::ui::theme::{Font, tokens};

/// What a button looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Primary,
    Secondary,
    Destructive,
    DestructiveFilled,
    Link,
    Ghost,
}

/// A button with words, an optional icon before them and an optional key after them.
#[derive(Debug, Clone, Copy)]
#[must_use = "call `show`"]
pub struct Button<'a> {
    words: &'a str,
    kind: Kind,
    icon: Option<char>,
    icon_after: Option<char>,
    key: &'a str,
    small: bool,
    enabled: bool,
    why_disabled: &'a str,
    hover: &'a str,
    width: Option<f32>,
}

impl<'a> Button<'a> {
    fn new(words: &'a str, kind: Kind) -> Self {
        Self {
            words,
            kind,
            icon: None,
            icon_after: None,
            key: "",
            small: false,
            enabled: true,
            why_disabled: "",
            hover: "",
            width: None,
        }
    }

    /// The one main action, filled.
    pub fn primary(words: &'a str) -> Self {
        Self::new(words, Kind::Primary)
    }

    /// Any other action, outlined.
    pub fn secondary(words: &'a str) -> Self {
        Self::new(words, Kind::Secondary)
    }

    /// An action that destroys or stops, outlined in `fail`.
    pub fn destructive(words: &'a str) -> Self {
        Self::new(words, Kind::Destructive)
    }

    /// The confirming button of a dialog that disturbs or destroys.
    pub fn destructive_filled(words: &'a str) -> Self {
        Self::new(words, Kind::DestructiveFilled)
    }

    /// Words in `accent` without a frame.
    pub fn link(words: &'a str) -> Self {
        Self::new(words, Kind::Link)
    }

    /// Words without a frame, in secondary text ("Add host…").
    pub fn ghost(words: &'a str) -> Self {
        Self::new(words, Kind::Ghost)
    }

    /// With an icon before the words.
    pub fn icon(mut self, icon: char) -> Self {
        self.icon = Some(icon);
        self
    }

    /// With an icon after the words ("Fix →").
    pub fn icon_after(mut self, icon: char) -> Self {
        self.icon_after = Some(icon);
        self
    }

    /// With its key in a small box ("F5").
    pub fn key(mut self, key: &'a str) -> Self {
        self.key = key;
        self
    }

    /// 26 high instead of 32.
    pub fn small(mut self) -> Self {
        self.small = true;
        self
    }

    /// Off unless `enabled`; `why` is shown on hover while it is off.
    pub fn enabled(mut self, enabled: bool, why: &'a str) -> Self {
        self.enabled = enabled;
        self.why_disabled = why;
        self
    }

    /// With words on hover.
    pub fn hover(mut self, words: &'a str) -> Self {
        self.hover = words;
        self
    }

    /// With this width instead of the width of its words.
    pub fn width(mut self, width: f32) -> Self {
        self.width = Some(width);
        self
    }

    /// Draws it. Enter and Space click it when it has the focus.
    pub fn show(self, ui: &mut Ui) -> Response {
        let t = tokens(ui);
        let on = self.enabled && ui.is_enabled();
        let (font, text_color) = match self.kind {
            Kind::Primary | Kind::DestructiveFilled => (Font::BodyBold, t.color.text_on_accent),
            Kind::Secondary => (Font::Body, t.color.text_primary),
            Kind::Destructive => (Font::Body, t.color.fail),
            Kind::Link => (Font::Small, t.color.accent),
            Kind::Ghost => (Font::Body, t.color.text_secondary),
        };
        let font = match (self.small, font) {
            (true, Font::BodyBold) => Font::Subhead,
            (true, _) => Font::Small,
            (false, font) => font,
        };
        let icon_size = if self.small { 14.0 } else { t.size.icon };
        let words = ui.painter().layout_no_wrap(self.words.to_owned(), font.id(), text_color);
        let key = (!self.key.is_empty())
            .then(|| ui.painter().layout_no_wrap(self.key.to_owned(), Font::Caption.id(), t.color.text_secondary));
        let pad = match self.kind {
            Kind::Link => 2.0,
            _ if self.small => 9.0,
            _ => t.space.m,
        };
        let height = match (self.kind, self.small) {
            (Kind::Link, _) => t.size.min_target,
            (_, true) => t.size.control_small,
            _ => t.size.control,
        };
        let icon_room = icon_size + 7.0;
        let key_width = key.as_ref().map_or(0.0, |galley| galley.size().x + 12.0);
        let mut inner = words.size().x;
        inner += f32::from(u8::from(self.icon.is_some()) + u8::from(self.icon_after.is_some())) * icon_room;
        if key.is_some() {
            inner += key_width + 10.0;
        }
        let width = self.width.unwrap_or(inner + 2.0 * pad);
        let sense = if on { Sense::click() } else { Sense::hover() };
        let (rect, response) = ui.allocate_exact_size(vec2(width, height), sense);
        if ui.is_rect_visible(rect) {
            let radius = CornerRadius::same(t.radius.button);
            let hot = on && (response.hovered() || response.has_focus());
            let (fill, stroke) = match self.kind {
                Kind::Primary => (
                    if hot { mix(t.color.accent_fill, t.color.text_primary, 0.14) } else { t.color.accent_fill },
                    Stroke::NONE,
                ),
                Kind::DestructiveFilled => {
                    (if hot { mix(t.color.fail, t.color.text_primary, 0.14) } else { t.color.fail }, Stroke::NONE)
                }
                Kind::Secondary => (if hot { t.color.bg_hover } else { t.color.bg_panel }, t.control_stroke()),
                Kind::Destructive => (
                    if hot { t.color.fail_soft } else { t.color.bg_panel },
                    Stroke::new(t.stroke.control, t.color.fail),
                ),
                Kind::Link | Kind::Ghost => (if hot { t.color.bg_hover } else { Color32::TRANSPARENT }, Stroke::NONE),
            };
            let mut painter = ui.painter().clone();
            if !self.enabled {
                painter.multiply_opacity(0.5);
            }
            painter.rect(rect, radius, fill, stroke, StrokeKind::Inside);
            let middle = rect.center().y;
            let mut x = rect.left() + ((width - inner) / 2.0).max(pad.min(4.0));
            if let Some(icon) = self.icon {
                icons::paint(&painter, pos2(x + icon_size / 2.0, middle), icon, icon_size, text_color);
                x += icon_room;
            }
            let words_width = words.size().x;
            painter.galley(pos2(x, middle - words.size().y / 2.0), words, text_color);
            x += words_width;
            if let Some(icon) = self.icon_after {
                icons::paint(&painter, pos2(x + 7.0 + icon_size / 2.0, middle), icon, icon_size, text_color);
                x += icon_room;
            }
            if let Some(key) = key {
                super::paint_key(&painter, t, pos2(x + 10.0, middle), &key);
            }
        }
        let role = if self.kind == Kind::Link { Role::Link } else { Role::Button };
        response.widget_info(|| WidgetInfo::labeled(role, on, self.words));
        super::focus_ring(ui, &response, t.radius.button);
        let response = if on { response.on_hover_cursor(egui::CursorIcon::PointingHand) } else { response };
        match (on, self.why_disabled.is_empty(), self.hover.is_empty()) {
            (false, false, _) => response.on_hover_text(self.why_disabled),
            (true, _, false) => response.on_hover_text(self.hover),
            _ => response,
        }
    }
}

/// A button that is an icon alone; `name` is its accessible name and hover text.
pub fn icon_button(ui: &mut Ui, icon: char, name: &str, enabled: bool) -> Response {
    let t = tokens(ui);
    let on = enabled && ui.is_enabled();
    let (rect, response) =
        ui.allocate_exact_size(egui::Vec2::splat(t.size.control), if on { Sense::click() } else { Sense::hover() });
    let mut painter = ui.painter().clone();
    if !enabled {
        painter.multiply_opacity(0.45);
    }
    if on && (response.hovered() || response.has_focus()) {
        painter.rect_filled(rect, CornerRadius::same(t.radius.button), t.color.bg_hover);
    }
    icons::paint(&painter, rect.center(), icon, 18.0, t.color.text_secondary);
    response.widget_info(|| WidgetInfo::labeled(Role::Button, on, name));
    super::focus_ring(ui, &response, t.radius.button);
    response.on_hover_text(name)
}

/// One of a few choices side by side in one outline. Returns the choice that was clicked when it differs.
pub fn segmented<T: PartialEq + Copy>(ui: &mut Ui, choices: &[(T, &str)], chosen: T) -> Option<T> {
    let t = tokens(ui);
    let galleys: Vec<_> = choices
        .iter()
        .map(|(choice, words)| {
            let font = if *choice == chosen { Font::Subhead } else { Font::Small };
            ui.painter().layout_no_wrap(
                (*words).to_owned(),
                font.id(),
                if *choice == chosen { t.color.text_primary } else { t.color.text_secondary },
            )
        })
        .collect();
    // Widths are those of the bold words, so that choosing moves nothing.
    let widths: Vec<f32> = choices
        .iter()
        .map(|(_, words)| {
            ui.painter().layout_no_wrap((*words).to_owned(), Font::Subhead.id(), t.color.text_primary).size().x + 24.0
        })
        .collect();
    let height = 26.0;
    let (rect, _) = ui.allocate_exact_size(vec2(widths.iter().sum(), height), Sense::hover());
    let radius = CornerRadius::same(t.radius.button);
    ui.painter().rect_filled(rect, radius, t.color.bg_panel);
    let mut picked = None;
    let mut x = rect.left();
    let last = choices.len().saturating_sub(1);
    for (idx, (((choice, words), galley), width)) in choices.iter().zip(galleys).zip(&widths).enumerate() {
        let cell = egui::Rect::from_min_size(pos2(x, rect.top()), vec2(*width, height));
        x += width;
        let response = ui.interact(cell, ui.next_auto_id().with(("segment", idx, *words)), Sense::click());
        let corners = CornerRadius {
            nw: if idx == 0 { radius.nw } else { 0 },
            sw: if idx == 0 { radius.sw } else { 0 },
            ne: if idx == last { radius.ne } else { 0 },
            se: if idx == last { radius.se } else { 0 },
        };
        if *choice == chosen {
            ui.painter().rect_filled(cell, corners, t.color.bg_selected);
        } else if response.hovered() {
            ui.painter().rect_filled(cell, corners, t.color.bg_hover);
        }
        if idx > 0 {
            ui.painter().vline(cell.left(), cell.y_range(), t.hairline());
        }
        ui.painter().galley(cell.center() - galley.size() / 2.0, galley, t.color.text_primary);
        let selected = *choice == chosen;
        let enabled = ui.is_enabled();
        response.widget_info(|| WidgetInfo::selected(Role::Button, enabled, selected, *words));
        super::focus_ring(ui, &response, t.radius.button);
        if response.clicked() && !selected {
            picked = Some(*choice);
        }
    }
    ui.painter().rect_stroke(rect, radius, t.control_stroke(), StrokeKind::Inside);
    picked
}

/// A colour between two.
pub(super) fn mix(from: Color32, to: Color32, share: f32) -> Color32 {
    from.lerp_to_gamma(to, share)
}
