//! Icons, for actions only. The glyphs are a subset of Phosphor; `assets/fonts/make.sh` prints this list.

#![allow(missing_docs, reason = "each name says what the icon shows")]

use egui::{Align2, Color32, FontFamily, FontId, Painter, Pos2, RichText};

use crate::ui::fonts;

/// An icon as text of this size, for labels.
#[must_use]
pub fn rich(icon: char, size: f32) -> RichText {
    RichText::new(icon).font(font(size))
}

/// The font of icons at this size.
#[must_use]
pub fn font(size: f32) -> FontId {
    FontId::new(size, FontFamily::Name(fonts::ICONS.into()))
}

/// Paints an icon around a centre. It says nothing to a screen reader; its widget does.
pub fn paint(painter: &Painter, center: Pos2, icon: char, size: f32, color: Color32) {
    painter.text(center, Align2::CENTER_CENTER, icon, font(size), color);
}

pub const ARROW_CLOCKWISE: char = '\u{e036}';
pub const ARROW_COUNTER_CLOCKWISE: char = '\u{e038}';
pub const ARROW_DOWN: char = '\u{e03e}';
pub const ARROW_LEFT: char = '\u{e058}';
pub const ARROW_RIGHT: char = '\u{e06c}';
pub const ARROW_SQUARE_OUT: char = '\u{e5de}';
pub const ARROW_U_UP_LEFT: char = '\u{e08a}';
pub const ARROW_U_UP_RIGHT: char = '\u{e08c}';
pub const ARROW_UP: char = '\u{e08e}';
pub const CALENDAR_BLANK: char = '\u{e10a}';
pub const CARET_DOWN: char = '\u{e136}';
pub const CARET_LEFT: char = '\u{e138}';
pub const CARET_RIGHT: char = '\u{e13a}';
pub const CARET_UP: char = '\u{e13c}';
pub const CHART_LINE: char = '\u{e154}';
pub const CHECK: char = '\u{e182}';
pub const CHECK_CIRCLE: char = '\u{e184}';
pub const CLIPBOARD: char = '\u{e196}';
pub const CLIPBOARD_TEXT: char = '\u{e198}';
pub const CLOCK: char = '\u{e19a}';
pub const COPY: char = '\u{e1ca}';
pub const CPU: char = '\u{e610}';
pub const CROSSHAIR: char = '\u{e1d6}';
pub const CUBE: char = '\u{e1da}';
pub const CURRENCY_CIRCLE_DOLLAR: char = '\u{e54c}';
pub const DATABASE: char = '\u{e1de}';
pub const DESKTOP: char = '\u{e560}';
pub const DOTS_THREE: char = '\u{e1fe}';
pub const DOWNLOAD_SIMPLE: char = '\u{e20c}';
pub const EXPORT: char = '\u{eaf0}';
pub const EYE: char = '\u{e220}';
pub const EYE_SLASH: char = '\u{e224}';
pub const FILE: char = '\u{e230}';
pub const FILE_TEXT: char = '\u{e23a}';
pub const FLAG: char = '\u{e244}';
pub const FLASK: char = '\u{e79e}';
pub const FLOPPY_DISK: char = '\u{e248}';
pub const FOLDER_OPEN: char = '\u{e256}';
pub const FUNNEL: char = '\u{e266}';
pub const GEAR: char = '\u{e270}';
pub const GIT_COMMIT: char = '\u{e27a}';
pub const GIT_DIFF: char = '\u{e27c}';
pub const GRAPH: char = '\u{eb58}';
pub const HARD_DRIVES: char = '\u{e2a0}';
pub const INFO: char = '\u{e2ce}';
pub const KEY: char = '\u{e2d6}';
pub const KEYBOARD: char = '\u{e2d8}';
pub const LINK: char = '\u{e2e2}';
pub const LIST: char = '\u{e2f0}';
pub const LOCK: char = '\u{e2fa}';
pub const MAGNIFYING_GLASS: char = '\u{e30c}';
pub const MEMORY: char = '\u{e9c4}';
pub const MINUS: char = '\u{e32a}';
pub const MOON: char = '\u{e330}';
pub const NOTE_PENCIL: char = '\u{e34c}';
pub const PACKAGE: char = '\u{e390}';
pub const PAPER_PLANE_TILT: char = '\u{e398}';
pub const PENCIL_SIMPLE: char = '\u{e3b4}';
pub const PLAY: char = '\u{e3d0}';
pub const PLUGS: char = '\u{eb56}';
pub const PLUGS_CONNECTED: char = '\u{eb5a}';
pub const PLUS: char = '\u{e3d4}';
pub const PRESENTATION_CHART: char = '\u{e656}';
pub const QUESTION: char = '\u{e3e8}';
pub const SEAL_CHECK: char = '\u{e606}';
pub const SHIELD_CHECK: char = '\u{e40c}';
pub const SIGNATURE: char = '\u{ebac}';
pub const SLIDERS: char = '\u{e432}';
pub const SQUARE: char = '\u{e45e}';
pub const STOP: char = '\u{e46c}';
pub const STOP_CIRCLE: char = '\u{e46e}';
pub const SUN: char = '\u{e472}';
pub const TABLE: char = '\u{e476}';
pub const TARGET: char = '\u{e47c}';
pub const TERMINAL_WINDOW: char = '\u{eae8}';
pub const TEXT_AA: char = '\u{e6ee}';
pub const TIMER: char = '\u{e492}';
pub const TRASH: char = '\u{e4a6}';
pub const UPLOAD_SIMPLE: char = '\u{e4c0}';
pub const USER: char = '\u{e4c2}';
pub const USERS_THREE: char = '\u{e68e}';
pub const WARNING: char = '\u{e4e0}';
pub const WARNING_CIRCLE: char = '\u{e4e2}';
pub const WARNING_DIAMOND: char = '\u{e7fc}';
pub const WARNING_OCTAGON: char = '\u{e4e4}';
pub const WIFI_SLASH: char = '\u{e4f2}';
pub const X: char = '\u{e4f6}';
