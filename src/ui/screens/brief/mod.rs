//! Step 1: the work, written so that it can fail a test. Four sections at the left; what is open and the run's
//! architecture at the right.

mod fields;
mod import;
mod open;
mod picture;

use egui::Ui;

pub use import::import_ui;

use crate::app::command::{Command, Layer};
use crate::app::state::State;
use crate::domain::gate::{FieldState, Gate};
use crate::domain::text::{Text, fill};
use crate::project::edit::Edit;
use crate::ui::theme::tokens;
use crate::ui::widgets::{Button, Field, columns, icons, page_header};

/// Open fields that the line under the title names.
const NAMED: usize = 3;

/// Draws the step.
pub fn brief_ui(ui: &mut Ui, state: &State, text: &Text, out: &mut Vec<Command>) {
    let Some(project) = &state.project else { return };
    let t = tokens(ui);
    let brief = &project.plan.brief;
    let gate = &state.derived.gate;
    page_header(ui, &text.brief.title, &finding(gate, text), |ui| {
        if let Some(first) = gate.open().next() {
            let words = match (gate.filled, gate.open().count()) {
                (0, _) => text.brief.start.clone(),
                (_, 1) => text.brief.fix_one.clone(),
                (_, n) => fill(&text.brief.fix_n, &[("n", n.to_string())]),
            };
            if Button::primary(&words).show(ui).clicked() {
                Field::focus(ui, open::salt(brief, first.input));
            }
        }
        if Button::secondary(&text.brief.import).icon(icons::UPLOAD_SIMPLE).show(ui).clicked() {
            out.push(Command::Show(Layer::ImportModel));
        }
    });
    let mut edited = brief.clone();
    let changed = columns(ui, t.space.l, [1.42, 1.0], |[left, right]| {
        left.spacing_mut().item_spacing.y = t.space.m;
        right.spacing_mut().item_spacing.y = t.space.m;
        import::outcome_ui(left, state, text, out);
        let changed = fields::fields_ui(left, gate, text, &mut edited, out);
        open::gate_ui(right, gate, brief, text);
        picture::run_ui(right, brief, project.revision, text);
        changed
    });
    if changed {
        out.push(Command::Edit(Edit::PutBrief(Box::new(edited))));
    }
}

/// What stands under the title.
fn finding(gate: &Gate, text: &Text) -> String {
    if gate.filled == 0 {
        return text.brief.finding_empty.clone();
    }
    let names: Vec<&str> = gate.open().map(|field| text.name(field.input)).collect();
    let comma = &text.common.list_comma;
    match names.get(..NAMED) {
        None if names.is_empty() => text.brief.finding_full.clone(),
        Some(first) if names.len() > NAMED => {
            let n = (names.len() - NAMED).to_string();
            fill(&text.brief.finding_open_more, &[("fields", first.join(comma)), ("n", n)])
        }
        _ => fill(&text.brief.finding_open, &[("fields", names.join(comma))]),
    }
}

/// What stands under a field that is weak, or missing in a section that is mostly written.
fn problem(gate: &Gate, text: &Text, input: &str) -> Option<String> {
    let field = gate.open().find(|field| field.input == input)?;
    let (filled, total) = gate.of_group(field.group);
    if field.state == FieldState::Missing && filled * 2 <= total {
        return None;
    }
    let key = format!("short_{}", field.why);
    let short = text.name(&key);
    Some(match (short == key, field.state) {
        (false, _) => fill(short, &field.values),
        (true, FieldState::Missing) => text.brief.missing.clone(),
        (true, _) => field.reason(text),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::brief::Brief;
    use crate::domain::gate::gate;
    use crate::domain::text::Language;

    #[test]
    fn the_line_under_the_title_names_what_is_open() {
        let text = Text::of(Language::En);
        let mut brief = Brief::default();
        assert_eq!(finding(&gate(&brief), text), "No work described yet. Start with the outcome.");
        brief.outcome = "Answer".into();
        let got = finding(&gate(&brief), text);
        assert_eq!(got, "Still open: Model, Context length, Mean arrival rate and 12 more.");
    }

    #[test]
    fn a_section_that_nobody_began_is_not_red() {
        let text = Text::of(Language::En);
        let mut brief = Brief::default();
        assert_eq!(problem(&gate(&brief), text, "stop_rule"), None);
        brief.data_boundary = "EU".into();
        brief.must_persist = "log".into();
        brief.owner = "team".into();
        assert_eq!(problem(&gate(&brief), text, "stop_rule").as_deref(), Some("Missing: idle hours go on billing"));
        assert_eq!(problem(&gate(&brief), text, "budget_month").as_deref(), Some("Missing"));
    }
}
