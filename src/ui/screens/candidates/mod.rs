//! Step 3: what is promised, what is missing. Offers side by side at the left; at the right which boundary suits the
//! brief, the billing of the selected offer, and what to ask its provider.

mod billing;
mod component;
mod edit;
mod offer;
mod rows;
mod side;
mod table;

use egui::Ui;

pub use component::component_ui;
pub use edit::candidate_ui;
pub use offer::offer_ui;

use crate::app::command::{Command, Layer};
use crate::app::state::{Project, State};
use crate::domain::candidate::Candidate;
use crate::domain::ids::CandidateId;
use crate::domain::text::{Text, fill};
use crate::project::edit::Edit;
use crate::project::plan::Plan;
use crate::ui::theme::tokens;
use crate::ui::widgets::{Button, columns, empty_state, icons, page_header};

/// Draws the step.
pub fn candidates_ui(ui: &mut Ui, state: &State, text: &Text, out: &mut Vec<Command>) {
    let Some(project) = &state.project else { return };
    let t = tokens(ui);
    let words = &text.candidates;
    let plan = &project.plan;
    let selected = selected(state, plan);
    page_header(ui, &words.title, &finding(state, plan, text), |ui| {
        if !plan.candidates.is_empty() && Button::primary(&words.add).icon(icons::PLUS).show(ui).clicked() {
            add(project, text, out);
        }
        if Button::secondary(&words.paste).icon(icons::CLIPBOARD_TEXT).show(ui).clicked() {
            out.push(Command::Show(Layer::PasteOffer));
        }
        if let Some(candidate) = selected {
            let edit = fill(&words.edit, &[("name", candidate.name.clone())]);
            if Button::secondary(&edit).icon(icons::PENCIL_SIMPLE).show(ui).clicked() {
                open_editor(candidate, out);
            }
        }
    });
    let Some(selected) = selected else {
        if empty_state(ui, &words.empty, &words.add, &words.empty_then) {
            add(project, text, out);
        }
        return;
    };
    columns(ui, t.space.l, [1.72, 1.0], |[left, right]| {
        table::table_ui(left, state, plan, selected, text, out);
        right.spacing_mut().item_spacing.y = t.space.m;
        side::advice_ui(right, state, plan, text);
        billing::billing_ui(right, state, plan, selected, text, out);
        side::questions_ui(right, state, selected, text, out);
    });
}

/// The selected candidate, or the first.
fn selected<'a>(state: &State, plan: &'a Plan) -> Option<&'a Candidate> {
    let chosen = state.view.candidate.as_ref().and_then(|id| plan.candidate(id));
    chosen.or_else(|| plan.candidates.first())
}

/// What stands under the title.
fn finding(state: &State, plan: &Plan, text: &Text) -> String {
    let words = &text.candidates;
    let n = plan.candidates.len();
    if n == 0 {
        return String::new();
    }
    let views = &state.derived.candidates;
    let n_priced = views.iter().filter(|view| view.cost.month.total.is_ok()).count();
    let n_open: usize = views.iter().map(|view| view.questions.len()).sum();
    let n_text = ("n", n.to_string());
    if n_open == 0 && n_priced == n {
        return fill(if n == 1 { &words.finding_one } else { &words.finding_all }, &[n_text]);
    }
    let priced = fill(&words.finding_priced, &[("priced", n_priced.to_string()), n_text]);
    let asked = match n_open {
        0 => return priced,
        1 => words.finding_question.clone(),
        n => fill(&words.finding_questions, &[("n", n.to_string())]),
    };
    let between = if asked.is_ascii() { " " } else { "" };
    format!("{priced}{between}{asked}")
}

/// A new candidate with nothing stated, selected, its fields open.
fn add(project: &Project, text: &Text, out: &mut Vec<Command>) {
    let candidate = new_candidate(project, text);
    let id = candidate.id.clone();
    out.push(Command::Edit(Edit::PutCandidate(Box::new(candidate))));
    out.push(Command::SelectCandidate(Some(id)));
    out.push(Command::Show(Layer::Candidate));
}

fn new_candidate(project: &Project, text: &Text) -> Candidate {
    let plan = &project.plan;
    let in_records = project.evidence.values().filter_map(|sealed| sealed.record.candidate.as_ref());
    plan.new_candidate(in_records, free_name(plan, text))
}

/// "Candidate D": the first letter that no candidate's name has, then numbers.
fn free_name(plan: &Plan, text: &Text) -> String {
    let named = |letter: String| fill(&text.candidates.name, &[("letter", letter)]);
    let letters = ('A'..='Z').map(|letter| letter.to_string());
    let numbers = (27..).map(|n: u32| n.to_string());
    letters
        .chain(numbers)
        .map(named)
        .find(|name| plan.candidates.iter().all(|candidate| candidate.name != *name))
        .unwrap_or_default()
}

fn open_editor(candidate: &Candidate, out: &mut Vec<Command>) {
    select(&candidate.id, out);
    out.push(Command::Show(Layer::Candidate));
}

fn select(id: &CandidateId, out: &mut Vec<Command>) {
    out.push(Command::SelectCandidate(Some(id.clone())));
}

/// The words with a capital at the beginning, for a name that begins a line.
fn capital(words: &str) -> String {
    let mut chars = words.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
