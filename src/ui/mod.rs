//! The window: shell, screens, widgets, theme, fonts. The only place that knows egui.
//!
//! A screen draws `&State` and pushes commands; the shell hands them to the app after drawing.

pub mod fonts;
pub mod screens;
pub mod shell;
pub mod theme;
pub mod widgets;
