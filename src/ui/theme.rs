//! Design tokens: the only source of colours and sizes, read from `assets/theme`, and the egui styles made of them.

use std::sync::OnceLock;

use egui::{
    Color32, Context, CornerRadius, FontFamily, FontId, Margin, RichText, Shadow, Stroke, TextStyle, Theme, Ui, Vec2,
};
use serde::{Deserialize, Deserializer};

use super::fonts;
use crate::app::command::ThemeChoice;

/// Everything a widget needs to know about looks, for one theme.
#[derive(Debug)]
pub struct Tokens {
    /// Colours of the theme.
    pub color: Colors,
    /// Distances.
    pub space: Space,
    /// Corner radii.
    pub radius: Radius,
    /// Widths of lines.
    pub stroke: Strokes,
    /// Sizes of things.
    pub size: Sizes,
    /// Colour, marker and line of each candidate, by `Candidate::series` modulo eight.
    pub series: Vec<SeriesLook>,
    /// How a predicted line is drawn.
    pub predicted: Predicted,
    /// Opacity of a percentile band.
    pub band_opacity: f32,
    /// Shadows of drawer and dialog.
    pub shadow: Shadows,
    /// Times of movements.
    pub motion: Motion,
    type_scale: TypeScale,
}

impl Tokens {
    /// The look of the candidate with this series number.
    #[must_use]
    pub fn series(&self, series: u8) -> SeriesLook {
        let n = self.series.len().max(1);
        self.series.get(usize::from(series) % n).copied().unwrap_or(SeriesLook {
            color: self.color.text_muted,
            marker: Marker::Circle,
            line: Line::Solid,
        })
    }

    /// A hairline.
    #[must_use]
    pub fn hairline(&self) -> Stroke {
        Stroke::new(self.stroke.hairline, self.color.stroke_subtle)
    }

    /// The outline of a control.
    #[must_use]
    pub fn control_stroke(&self) -> Stroke {
        Stroke::new(self.stroke.control, self.color.stroke_control)
    }
}

/// The tokens of the theme that this part of the window is drawn in.
#[must_use]
pub fn tokens(ui: &Ui) -> &'static Tokens {
    of(if ui.visuals().dark_mode { Theme::Dark } else { Theme::Light })
}

/// The tokens of a theme, read once.
///
/// The files are part of the program and a test reads both, so a fault in them cannot reach a user.
#[must_use]
pub fn of(theme: Theme) -> &'static Tokens {
    static DARK: OnceLock<Tokens> = OnceLock::new();
    static LIGHT: OnceLock<Tokens> = OnceLock::new();
    match theme {
        Theme::Dark => DARK.get_or_init(|| read(include_str!("../../assets/theme/dark.ron"))),
        Theme::Light => LIGHT.get_or_init(|| read(include_str!("../../assets/theme/light.ron"))),
    }
}

/// Gives a fresh context our fonts and both styles. Call it once, before the first frame.
pub fn install(ctx: &Context) {
    ctx.set_fonts(fonts::definitions());
    for theme in [Theme::Dark, Theme::Light] {
        ctx.set_style_of(theme, style(of(theme), theme));
    }
}

/// Switches to the theme and text size that the user chose. Cheap when nothing changed.
pub fn apply(ctx: &Context, theme: ThemeChoice, text_size: f32) {
    ctx.set_theme(match theme {
        ThemeChoice::System => egui::ThemePreference::System,
        ThemeChoice::Dark => egui::ThemePreference::Dark,
        ThemeChoice::Light => egui::ThemePreference::Light,
    });
    let factor = text_size.clamp(0.75, 2.0);
    if (ctx.zoom_factor() - factor).abs() > 0.001 {
        ctx.set_zoom_factor(factor);
    }
}

/// Named type. `Font::Title.rich("…")` is text in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names of the type scale in assets/theme/common.ron")]
pub enum Font {
    Title,
    Heading,
    Subhead,
    Body,
    BodyBold,
    Small,
    Caption,
    Figure,
    FigureM,
    Mono,
    Axis,
    SlideTitle,
    SlideFigure,
    SlideBody,
}

impl Font {
    fn spec(self) -> &'static TypeSpec {
        let scale = &of(Theme::Dark).type_scale;
        match self {
            Self::Title => &scale.title,
            Self::Heading => &scale.heading,
            Self::Subhead => &scale.subhead,
            Self::Body => &scale.body,
            Self::BodyBold => &scale.body_bold,
            Self::Small => &scale.small,
            Self::Caption => &scale.caption,
            Self::Figure => &scale.figure,
            Self::FigureM => &scale.figure_m,
            Self::Mono => &scale.mono,
            Self::Axis => &scale.axis,
            Self::SlideTitle => &scale.slide_title,
            Self::SlideFigure => &scale.slide_figure,
            Self::SlideBody => &scale.slide_body,
        }
    }

    /// Family and size.
    #[must_use]
    pub fn id(self) -> FontId {
        let spec = self.spec();
        FontId::new(spec.size, spec.family.family())
    }

    /// Height of a line.
    #[must_use]
    pub fn line(self) -> f32 {
        self.spec().line
    }

    /// Text in this type.
    #[must_use]
    pub fn rich(self, words: impl Into<String>) -> RichText {
        RichText::new(words).font(self.id()).line_height(Some(self.line()))
    }
}

/// Declares colours that are read from hexadecimal text.
macro_rules! colors {
    ($($(#[$doc:meta])* $field:ident),* $(,)?) => {
        /// Colours of one theme.
        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        #[allow(missing_docs, reason = "the names of the colours in assets/theme")]
        pub struct Colors {
            $($(#[$doc])* #[serde(deserialize_with = "hex")] pub $field: Color32,)*
            series: Vec<Hex>,
        }
    };
}

colors! {
    bg_app, bg_canvas, bg_panel, bg_raised, bg_inset, bg_hover, bg_selected,
    stroke_subtle, stroke_control, stroke_focus,
    text_primary, text_secondary, text_muted, text_on_accent,
    accent, accent_fill, accent_soft,
    pass, fail, inconclusive, not_tested, stale, waived,
    pass_soft, fail_soft, inconclusive_soft, not_tested_soft, stale_soft, waived_soft,
    mem_weights, mem_kv, mem_act, mem_rt, mem_free,
    scrim, shadow,
}

/// Distances.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the names in assets/theme/common.ron")]
pub struct Space {
    pub xs: f32,
    pub s: f32,
    pub m: f32,
    pub l: f32,
    pub xl: f32,
    pub xxl: f32,
}

/// Corner radii.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the names in assets/theme/common.ron")]
pub struct Radius {
    pub chip: u8,
    pub field: u8,
    pub button: u8,
    pub card: u8,
    pub dialog: u8,
    pub slide: u8,
}

/// Widths of lines.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the names in assets/theme/common.ron")]
pub struct Strokes {
    pub hairline: f32,
    pub control: f32,
    pub error: f32,
    pub focus: f32,
    pub selected_card: f32,
    pub series: f32,
    pub active_bar: f32,
}

/// Sizes of things.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the names in assets/theme/common.ron")]
pub struct Sizes {
    pub top_bar: f32,
    pub job_strip: f32,
    pub rail: f32,
    pub rail_narrow: f32,
    pub inspector: f32,
    pub drawer: f32,
    pub dialog: f32,
    pub control: f32,
    pub control_small: f32,
    pub row_compact: f32,
    pub row: f32,
    pub row_roomy: f32,
    pub rail_row: f32,
    pub icon: f32,
    pub icon_large: f32,
    pub verdict: f32,
    pub verdict_badge: f32,
    pub origin: f32,
    pub marker: f32,
    pub min_target: f32,
    pub main_padding_x: f32,
    pub main_padding_y: f32,
    pub card_padding: f32,
}

/// Colour, marker and line of a candidate.
#[derive(Debug, Clone, Copy)]
pub struct SeriesLook {
    /// Its colour in this theme.
    pub color: Color32,
    /// Its marker.
    pub marker: Marker,
    /// Its line.
    pub line: Line,
}

/// Shape of a series' points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[allow(missing_docs, reason = "named for what they are")]
pub enum Marker {
    Circle,
    Square,
    Up,
    Diamond,
    Down,
    Plus,
    Cross,
    Asterisk,
}

/// Line of a series.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub enum Line {
    /// Unbroken.
    Solid,
    /// Dashes of this length.
    Dashed(f32),
    /// Dots at this distance.
    Dotted(f32),
}

/// How a predicted line is drawn.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the names in assets/theme/common.ron")]
pub struct Predicted {
    pub line: Line,
    pub width: f32,
    pub opacity: f32,
}

/// Shadows of drawer and dialog.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the names in assets/theme/common.ron")]
pub struct Shadows {
    pub drawer: ShadowSpec,
    pub dialog: ShadowSpec,
}

/// A shadow without its colour.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the names in assets/theme/common.ron")]
pub struct ShadowSpec {
    pub x: i8,
    pub y: i8,
    pub blur: u8,
}

impl ShadowSpec {
    /// The shadow in this colour.
    #[must_use]
    pub fn shadow(self, color: Color32) -> Shadow {
        Shadow { offset: [self.x, self.y], blur: self.blur, spread: 0, color }
    }
}

/// Times of movements, s.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the names in assets/theme/common.ron")]
pub struct Motion {
    pub panel_secs: f32,
    pub tooltip_delay_secs: f32,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Common {
    series: Vec<SeriesSpec>,
    predicted: Predicted,
    band_opacity: f32,
    space: Space,
    radius: Radius,
    stroke: Strokes,
    size: Sizes,
    text: TypeScale,
    shadow: Shadows,
    motion: Motion,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SeriesSpec {
    marker: Marker,
    line: Line,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct TypeScale {
    title: TypeSpec,
    heading: TypeSpec,
    subhead: TypeSpec,
    body: TypeSpec,
    body_bold: TypeSpec,
    small: TypeSpec,
    caption: TypeSpec,
    figure: TypeSpec,
    figure_m: TypeSpec,
    mono: TypeSpec,
    axis: TypeSpec,
    slide_title: TypeSpec,
    slide_figure: TypeSpec,
    slide_body: TypeSpec,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct TypeSpec {
    family: Family,
    size: f32,
    line: f32,
}

#[derive(Debug, Clone, Copy, Deserialize)]
enum Family {
    Ui,
    Strong,
    Mono,
}

impl Family {
    fn family(self) -> FontFamily {
        match self {
            Self::Ui => FontFamily::Proportional,
            Self::Strong => FontFamily::Name(fonts::STRONG.into()),
            Self::Mono => FontFamily::Monospace,
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Hex(Color32);

impl<'de> Deserialize<'de> for Hex {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        hex(deserializer).map(Self)
    }
}

/// Reads "#RRGGBB" or "#RRGGBBAA".
fn hex<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Color32, D::Error> {
    let text = String::deserialize(deserializer)?;
    Color32::from_hex(&text).map_err(|error| serde::de::Error::custom(format!("{text}: {error:?}")))
}

#[allow(
    clippy::panic,
    reason = "the files are part of the program; a test reads them, and no window can be drawn without them"
)]
fn read(colors: &str) -> Tokens {
    let parts = || -> Result<Tokens, ron::error::SpannedError> {
        let color: Colors = ron::from_str(colors)?;
        let common: Common = ron::from_str(include_str!("../../assets/theme/common.ron"))?;
        let series = common
            .series
            .iter()
            .zip(&color.series)
            .map(|(spec, hex)| SeriesLook { color: hex.0, marker: spec.marker, line: spec.line })
            .collect();
        Ok(Tokens {
            color,
            space: common.space,
            radius: common.radius,
            stroke: common.stroke,
            size: common.size,
            series,
            predicted: common.predicted,
            band_opacity: common.band_opacity,
            shadow: common.shadow,
            motion: common.motion,
            type_scale: common.text,
        })
    };
    match parts() {
        Ok(tokens) => tokens,
        Err(error) => panic!("assets/theme: {error}"),
    }
}

/// The egui style of a theme. Widgets of ours paint themselves; this is for what egui paints.
fn style(tokens: &Tokens, theme: Theme) -> egui::Style {
    let mut style = theme.default_style();
    style.text_styles = [
        (TextStyle::Small, Font::Caption),
        (TextStyle::Body, Font::Body),
        (TextStyle::Button, Font::Body),
        (TextStyle::Heading, Font::Heading),
        (TextStyle::Monospace, Font::Mono),
    ]
    .into_iter()
    .map(|(style, font)| (style, font.id()))
    .collect();
    style.animation_time = tokens.motion.panel_secs;
    style.explanation_tooltips = false;
    style.interaction.tooltip_delay = tokens.motion.tooltip_delay_secs;
    style.interaction.selectable_labels = false;
    space(&mut style, tokens);
    colors(&mut style.visuals, tokens);
    style
}

fn space(style: &mut egui::Style, tokens: &Tokens) {
    let spacing = &mut style.spacing;
    spacing.item_spacing = Vec2::new(tokens.space.s, tokens.space.xs);
    spacing.button_padding = Vec2::new(tokens.space.m, 6.0);
    spacing.interact_size = Vec2::new(tokens.size.min_target, tokens.size.min_target);
    spacing.window_margin = Margin::same(16);
    spacing.menu_margin = Margin::same(4);
    spacing.icon_width = tokens.size.icon;
    spacing.icon_width_inner = 10.0;
    spacing.icon_spacing = tokens.space.s;
    spacing.combo_width = 40.0;
    spacing.slider_rail_height = 3.0;
    spacing.tooltip_width = 360.0;
    // Thin and over the content's own margin, so that a longer page does not move what stands on it.
    spacing.scroll = egui::style::ScrollStyle::floating();
    spacing.scroll.dormant_handle_opacity = 0.5;
    spacing.scroll.floating_width = 3.0;
    spacing.scroll.bar_width = 8.0;
}

fn colors(visuals: &mut egui::Visuals, tokens: &Tokens) {
    let color = &tokens.color;
    visuals.override_text_color = None;
    visuals.panel_fill = color.bg_canvas;
    visuals.window_fill = color.bg_raised;
    visuals.window_stroke = tokens.control_stroke();
    visuals.window_corner_radius = CornerRadius::same(tokens.radius.dialog);
    visuals.menu_corner_radius = CornerRadius::same(tokens.radius.button);
    visuals.window_shadow = tokens.shadow.dialog.shadow(color.shadow);
    visuals.popup_shadow = Shadow { offset: [0, 4], blur: 12, spread: 0, color: color.shadow };
    visuals.extreme_bg_color = color.bg_inset;
    visuals.faint_bg_color = color.bg_hover;
    visuals.code_bg_color = color.bg_inset;
    visuals.text_edit_bg_color = Some(color.bg_inset);
    visuals.hyperlink_color = color.accent;
    visuals.warn_fg_color = color.inconclusive;
    visuals.error_fg_color = color.fail;
    visuals.weak_text_color = Some(color.text_muted);
    visuals.selection.bg_fill = color.bg_selected;
    visuals.selection.stroke = Stroke::new(tokens.stroke.control, color.accent);
    visuals.text_cursor.stroke = Stroke::new(2.0, color.text_primary);
    visuals.text_cursor.blink = false;
    visuals.indent_has_left_vline = false;
    visuals.disabled_alpha = 0.45;
    let radius = CornerRadius::same(tokens.radius.field);
    let widgets = &mut visuals.widgets;
    for (widget, fill, stroke, text) in [
        (&mut widgets.noninteractive, color.bg_panel, color.stroke_subtle, color.text_primary),
        (&mut widgets.inactive, color.bg_panel, color.stroke_control, color.text_primary),
        (&mut widgets.hovered, color.bg_hover, color.stroke_control, color.text_primary),
        (&mut widgets.active, color.bg_selected, color.accent, color.text_primary),
        (&mut widgets.open, color.bg_hover, color.stroke_control, color.text_primary),
    ] {
        widget.bg_fill = fill;
        widget.weak_bg_fill = fill;
        widget.bg_stroke = Stroke::new(tokens.stroke.control, stroke);
        widget.fg_stroke = Stroke::new(1.0, text);
        widget.corner_radius = radius;
        widget.expansion = 0.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_themes_are_read_and_have_every_series() {
        for theme in [Theme::Dark, Theme::Light] {
            assert_eq!(of(theme).series.len(), 8);
        }
        assert_eq!(of(Theme::Light).color.accent, Color32::from_rgb(0x1C, 0x5A, 0xC2));
        assert_eq!(of(Theme::Dark).series(8).color, of(Theme::Dark).series(0).color);
    }

    /// Relative luminance of WCAG 2.
    fn luminance(color: Color32) -> f64 {
        let part = |value: u8| {
            let value = f64::from(value) / 255.0;
            if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * part(color.r()) + 0.7152 * part(color.g()) + 0.0722 * part(color.b())
    }

    fn contrast(a: Color32, b: Color32) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn text_and_marks_can_be_read_on_every_ground() {
        for theme in [Theme::Dark, Theme::Light] {
            let color = &of(theme).color;
            for ground in
                [color.bg_app, color.bg_canvas, color.bg_panel, color.bg_raised, color.bg_inset, color.bg_selected]
            {
                for text in [
                    color.text_primary,
                    color.text_secondary,
                    color.text_muted,
                    color.accent,
                    color.pass,
                    color.fail,
                    color.inconclusive,
                    color.not_tested,
                    color.stale,
                    color.waived,
                ] {
                    assert!(
                        contrast(text, ground) >= 4.5,
                        "{theme:?} {text:?} on {ground:?}: {}",
                        contrast(text, ground)
                    );
                }
                // 3.0 to one decimal.
                assert!(contrast(color.stroke_control, ground) >= 2.95, "{theme:?} control stroke on {ground:?}");
            }
        }
    }
}
