//! The fonts that the program carries. `assets/fonts/make.sh` says how they were made.

use std::sync::Arc;

use egui::{FontData, FontDefinitions, FontFamily, FontTweak};

/// Name of the bold family.
pub const STRONG: &str = "strong";
/// Name of the family of icons.
pub const ICONS: &str = "icons";

/// Noto sits lower beside Plex by this part of the font size; its glyphs are moved up so that one line reads as one.
const CHINESE_RISE: f32 = -0.06;

/// Latin first in each family, so that digits stay Latin; Chinese second; icons on their own.
#[must_use]
pub fn definitions() -> FontDefinitions {
    let mut fonts = FontDefinitions::empty();
    let mut add = |name: &str, bytes: &'static [u8], tweak: FontTweak| {
        let mut data = FontData::from_static(bytes);
        data.tweak = tweak;
        fonts.font_data.insert(name.to_owned(), Arc::new(data));
    };
    let chinese = || FontTweak { y_offset_factor: CHINESE_RISE, ..FontTweak::default() };
    add("sans", include_bytes!("../../assets/fonts/LeasebenchSans-Regular.ttf"), FontTweak::default());
    add("sans-strong", include_bytes!("../../assets/fonts/LeasebenchSans-SemiBold.ttf"), FontTweak::default());
    add("mono", include_bytes!("../../assets/fonts/LeasebenchMono-Regular.ttf"), FontTweak::default());
    add("chinese", include_bytes!("../../assets/fonts/LeasebenchSansSC-Regular.ttf"), chinese());
    add("chinese-strong", include_bytes!("../../assets/fonts/LeasebenchSansSC-Bold.ttf"), chinese());
    add("icons", include_bytes!("../../assets/icons/LeasebenchIcons.ttf"), FontTweak::default());
    for (family, names) in [
        (FontFamily::Proportional, ["sans", "chinese"].as_slice()),
        (FontFamily::Monospace, &["mono", "sans", "chinese"]),
        (FontFamily::Name(STRONG.into()), &["sans-strong", "chinese-strong"]),
        (FontFamily::Name(ICONS.into()), &["icons"]),
    ] {
        fonts.families.insert(family, names.iter().map(|name| (*name).to_owned()).collect());
    }
    fonts
}
