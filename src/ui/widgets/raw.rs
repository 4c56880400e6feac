//! Raw output: mono on the inset ground, control codes made visible, masked parts marked. It can be selected and copied.

use std::sync::Arc;

use egui::text::{LayoutJob, TextFormat};
use egui::{CornerRadius, Frame, Margin, Ui};

use crate::ui::theme::{Font, tokens};

/// Lines longer than this are cut on screen; the record keeps them whole.
const LONGEST: usize = 2_000;

/// The text in a box of at most this height, with scroll bars of its own. Only lines in view are laid out.
pub fn raw_view(ui: &mut Ui, salt: &str, raw: &str, max_height: f32) {
    let t = tokens(ui);
    let lines = lines(ui, salt, raw);
    let mut frame =
        Frame::new().fill(t.color.bg_inset).stroke(t.hairline()).corner_radius(CornerRadius::same(t.radius.card));
    frame.inner_margin = Margin::symmetric(12, 8);
    frame.show(ui, |ui| {
        ui.set_width(ui.available_width());
        ui.spacing_mut().item_spacing.y = 0.0;
        let height = Font::Mono.line();
        egui::ScrollArea::both().id_salt(("raw", salt)).max_height(max_height).auto_shrink([false, true]).show_rows(
            ui,
            height,
            lines.len(),
            |ui, rows| {
                for line in lines.get(rows).unwrap_or_default() {
                    ui.add(egui::Label::new(job(ui, line)).selectable(true).extend());
                }
            },
        );
    });
}

/// The prepared lines, kept while the same text is shown.
fn lines(ui: &Ui, salt: &str, raw: &str) -> Arc<Vec<String>> {
    let id = egui::Id::unique(("raw lines", salt, raw.len(), raw.get(..64.min(raw.len())).unwrap_or_default()));
    if let Some(lines) = ui.data(|data| data.get_temp::<Arc<Vec<String>>>(id)) {
        return lines;
    }
    let lines = Arc::new(raw.lines().map(visible_line).collect::<Vec<_>>());
    ui.data_mut(|data| {
        data.insert_temp(id, Arc::clone(&lines));
    });
    lines
}

/// A line with its control codes as escapes, cut when it is very long.
fn visible_line(line: &str) -> String {
    let mut shown = String::with_capacity(line.len());
    for (n, c) in line.chars().enumerate() {
        if n >= LONGEST {
            shown.push('…');
            break;
        }
        match c {
            '\t' => shown.push_str("    "),
            // Bidirectional and zero-width characters could make a line read as what it is not.
            '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' => {
                shown.push_str(&format!("\\u{{{:x}}}", u32::from(c)));
            }
            c if c.is_control() => shown.push_str(&format!("\\x{:02x}", u32::from(c))),
            c => shown.push(c),
        }
    }
    shown
}

/// A line with what was masked on its own ground.
fn job(ui: &Ui, line: &str) -> LayoutJob {
    let t = tokens(ui);
    let plain = TextFormat {
        font_id: Font::Mono.id(),
        color: t.color.text_primary,
        line_height: Some(Font::Mono.line()),
        ..Default::default()
    };
    let masked = TextFormat { color: t.color.stale, background: t.color.stale_soft, ..plain.clone() };
    let mut job = LayoutJob::default();
    let mut rest = line;
    while let Some(start) = rest.find("[masked: ") {
        let (before, from) = rest.split_at(start);
        let end = from.find(']').map_or(from.len(), |end| end + 1);
        let (mask, after) = from.split_at(end);
        job.append(before, 0.0, plain.clone());
        job.append(mask, 0.0, masked.clone());
        rest = after;
    }
    job.append(rest, 0.0, plain);
    job
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_codes_are_shown_and_not_obeyed() {
        assert_eq!(visible_line("\u{1b}[31mred\tx\u{202e}y"), "\\x1b[31mred    x\\u{202e}y");
        assert_eq!(visible_line(&"a".repeat(LONGEST + 5)).chars().count(), LONGEST + 1);
    }
}
