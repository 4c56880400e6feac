//! Colours of a report: the light theme of the window, from the same file.

use std::fmt::Write as _;
use std::sync::OnceLock;

use serde::Deserialize;

/// The tokens of the light theme that a report uses. "#RRGGBB".
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[allow(missing_docs, reason = "the names of the tokens in assets/theme")]
pub(super) struct Palette {
    pub(super) bg_app: String,
    pub(super) bg_panel: String,
    pub(super) bg_inset: String,
    pub(super) bg_selected: String,
    pub(super) stroke_subtle: String,
    pub(super) stroke_control: String,
    pub(super) text_primary: String,
    pub(super) text_secondary: String,
    pub(super) text_muted: String,
    pub(super) accent: String,
    pub(super) pass: String,
    pub(super) fail: String,
    pub(super) inconclusive: String,
    pub(super) not_tested: String,
    pub(super) stale: String,
    pub(super) waived: String,
    pub(super) pass_soft: String,
    pub(super) fail_soft: String,
    pub(super) inconclusive_soft: String,
    pub(super) not_tested_soft: String,
    pub(super) stale_soft: String,
    pub(super) waived_soft: String,
    pub(super) series: Vec<String>,
}

impl Palette {
    /// The light theme, read once.
    ///
    /// The file is part of the program and a test reads it, so a fault in it cannot reach a user.
    #[must_use]
    pub(super) fn light() -> &'static Self {
        static LIGHT: OnceLock<Palette> = OnceLock::new();
        LIGHT.get_or_init(|| embedded(include_str!("../../assets/theme/light.ron")))
    }

    /// Colour of a candidate by its place in the series; the series repeats after its last colour.
    #[must_use]
    pub(super) fn series(&self, place: u8) -> &str {
        self.series.iter().cycle().nth(usize::from(place)).map_or(self.text_primary.as_str(), String::as_str)
    }

    /// The tokens as CSS custom properties.
    #[must_use]
    pub(super) fn css(&self) -> String {
        let mut css = String::from(":root {\n");
        for (name, colour) in [
            ("bg-app", &self.bg_app),
            ("bg-panel", &self.bg_panel),
            ("bg-inset", &self.bg_inset),
            ("bg-selected", &self.bg_selected),
            ("stroke-subtle", &self.stroke_subtle),
            ("stroke-control", &self.stroke_control),
            ("text-primary", &self.text_primary),
            ("text-secondary", &self.text_secondary),
            ("text-muted", &self.text_muted),
            ("accent", &self.accent),
            ("pass", &self.pass),
            ("fail", &self.fail),
            ("inconclusive", &self.inconclusive),
            ("not-tested", &self.not_tested),
            ("stale", &self.stale),
            ("waived", &self.waived),
            ("pass-soft", &self.pass_soft),
            ("fail-soft", &self.fail_soft),
            ("inconclusive-soft", &self.inconclusive_soft),
            ("not-tested-soft", &self.not_tested_soft),
            ("stale-soft", &self.stale_soft),
            ("waived-soft", &self.waived_soft),
        ] {
            // Writing into a string cannot fail.
            writeln!(css, "  --{name}: {colour};").ok();
        }
        css.push_str("}\n");
        css
    }
}

#[allow(
    clippy::panic,
    reason = "the file is part of the program; a test reads it, and no report can be drawn without it"
)]
fn embedded(text: &str) -> Palette {
    match ron::from_str(text) {
        Ok(palette) => palette,
        Err(error) => panic!("assets/theme/light.ron: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_theme_file_has_every_token_as_a_colour() {
        let light = Palette::light();
        assert_eq!(light.series.len(), 8);
        assert_eq!(light.series(8), light.series(0));
        for line in light.css().lines().filter(|line| line.contains("--")) {
            let (_, colour) = line.trim_end_matches(';').split_once(": ").unwrap();
            assert!(colour.len() == 7 && colour.starts_with('#'), "{line}");
        }
    }
}
