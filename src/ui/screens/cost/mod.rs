//! Step 7: what one accepted answer costs, side by side, each component once.

mod api;
mod breakeven;
mod cards;
mod parts;
mod table;
mod tornado;
mod whatif;

use egui::Ui;

pub use api::api_ui;

use crate::app::command::{Command, Screen};
use crate::app::derived::CandidateView;
use crate::app::state::{Project, State};
use crate::domain::candidate::Candidate;
use crate::domain::figure::Answer;
use crate::domain::money::Exact;
use crate::domain::text::{Text, fill};
use crate::ui::theme::{Font, tokens};
use crate::ui::widgets::{Card, caption, columns, empty_state, page_header, segmented};

/// Of what the large figures show the cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
enum Of {
    #[default]
    Thousand,
    Million,
}

/// At which load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
enum Load {
    /// As many units as the brief's peak needs, at the brief's mean.
    #[default]
    Brief,
    /// One unit at its highest load within the limits.
    Full,
}

/// Which cost the large figures show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct View {
    of: Of,
    load: Load,
}

/// A candidate with everything its column shows.
#[derive(Clone, Copy)]
struct Offer<'a> {
    candidate: &'a Candidate,
    view: &'a CandidateView,
}

impl Offer<'_> {
    fn cost(&self, view: View) -> &Answer<Exact> {
        let cost = &self.view.cost;
        match (view.of, view.load) {
            (Of::Thousand, Load::Brief) => &cost.per_thousand,
            (Of::Million, Load::Brief) => &cost.per_million_tokens,
            (Of::Thousand, Load::Full) => &cost.full_use_per_thousand,
            (Of::Million, Load::Full) => &cost.full_use_per_million,
        }
    }
}

/// Draws the step.
pub fn cost_ui(ui: &mut Ui, state: &State, text: &Text, out: &mut Vec<Command>) {
    let Some(project) = &state.project else { return };
    let words = &text.cost;
    let id = egui::Id::unique("cost view");
    let mut shown: View = ui.data(|data| data.get_temp(id)).unwrap_or_default();
    let offers = offers(state, project, shown);
    page_header(ui, &words.title, &finding(&offers, text), |ui| {
        if offers.is_empty() {
            return;
        }
        let loads = [(Load::Brief, words.load_brief.as_str()), (Load::Full, words.load_full.as_str())];
        shown.load = segmented(ui, &loads, shown.load).unwrap_or(shown.load);
        let of = [(Of::Thousand, words.view_thousand.as_str()), (Of::Million, words.view_million.as_str())];
        shown.of = segmented(ui, &of, shown.of).unwrap_or(shown.of);
    });
    ui.data_mut(|data| {
        data.insert_temp(id, shown);
    });
    if offers.is_empty() {
        if empty_state(ui, &words.empty, &words.empty_button, &words.empty_then) {
            out.push(Command::Go(Screen::Candidates));
        }
        return;
    }
    let t = tokens(ui);
    ui.horizontal_wrapped(|ui| {
        let title = match (shown.of, shown.load) {
            (Of::Thousand, Load::Brief) => &words.per_thousand_title,
            (Of::Million, Load::Brief) => &words.per_million_title,
            (Of::Thousand, Load::Full) => &words.per_thousand_full,
            (Of::Million, Load::Full) => &words.per_million_full,
        };
        ui.label(Font::Subhead.rich(title));
        caption(ui, if shown.load == Load::Full { &words.full_use_note } else { &words.accepted_means });
    });
    ui.add_space(t.space.xs);
    cards::cards_ui(ui, &offers, shown, text, out);
    ui.add_space(t.space.m);
    let table = |ui: &mut Ui, out: &mut Vec<Command>| {
        Card::new().tight().show(ui, |ui| table::table_ui(ui, project, &offers, text, out));
        ui.add_space(t.space.xs);
        caption(ui, &words.never_added);
        ui.add_space(t.space.m);
    };
    // Beside the plot there is room for three columns of figures.
    let is_wide = offers.len() > 3;
    if is_wide {
        table(ui, out);
    }
    columns(ui, t.space.m, [if is_wide { 1.0 } else { 1.55 }, 1.0], |[left, right]| {
        if !is_wide {
            table(left, out);
        }
        parts::parts_ui(left, &offers, text, out);
        left.add_space(t.space.xs);
        caption(left, &words.bill_open);
        breakeven::break_even_ui(right, state, project, text, out);
        right.add_space(t.space.m);
        whatif::what_if_ui(right, state, project, text, out);
        right.add_space(t.space.m);
        tornado::tornado_ui(right, state, project, text, out);
    });
}

/// Candidates in the order of their cost, those without one last in the order of the plan.
fn offers<'a>(state: &'a State, project: &'a Project, shown: View) -> Vec<Offer<'a>> {
    let mut offers: Vec<Offer<'a>> = state
        .derived
        .candidates
        .iter()
        .filter_map(|view| Some(Offer { candidate: project.plan.candidate(&view.id)?, view }))
        .collect();
    offers.sort_by(|a, b| match (a.cost(shown), b.cost(shown)) {
        (Ok(a), Ok(b)) if a.value.currency == b.value.currency => a.value.amount.cmp(&b.value.amount),
        (Ok(_), Err(_)) => std::cmp::Ordering::Less,
        (Err(_), Ok(_)) => std::cmp::Ordering::Greater,
        _ => std::cmp::Ordering::Equal,
    });
    offers
}

fn money(exact: &Exact) -> String {
    format!("{} {}", exact.show(), exact.currency.code())
}

fn cost_of_work(exact: &Exact) -> String {
    exact.show_significant(4)
}

fn finding(offers: &[Offer<'_>], text: &Text) -> String {
    let words = &text.cost;
    let known: Vec<(&Offer<'_>, &Exact)> =
        offers.iter().filter_map(|offer| Some((offer, &offer.view.cost.per_thousand.as_ref().ok()?.value))).collect();
    let Some((lowest, value)) = known
        .iter()
        .min_by(|(_, a), (_, b)| a.amount.cmp(&b.amount))
        .filter(|(_, first)| known.iter().all(|(_, other)| other.currency == first.currency))
    else {
        return words.none_known.clone();
    };
    let template = if known.len() > 1 { &words.cheapest } else { &words.only_one };
    let value = format!("{} {}", cost_of_work(value), value.currency.code());
    fill(template, &[("candidate", lowest.candidate.name.clone()), ("value", value)])
}
