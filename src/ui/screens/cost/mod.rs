//! Step 7: what one accepted answer costs, side by side, each component once.

mod cards;
mod parts;
mod table;

use egui::Ui;

use crate::app::command::{Command, Screen};
use crate::app::derived::CandidateView;
use crate::app::state::{Project, State};
use crate::domain::candidate::Candidate;
use crate::domain::figure::Answer;
use crate::domain::money::Exact;
use crate::domain::text::{Text, fill};
use crate::ui::theme::{Font, tokens};
use crate::ui::widgets::{Card, caption, empty_state, page_header, segmented};

/// Which cost the large figures show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum View {
    Thousand,
    Million,
}

/// A candidate with everything its column shows.
#[derive(Clone, Copy)]
struct Offer<'a> {
    candidate: &'a Candidate,
    view: &'a CandidateView,
}

impl Offer<'_> {
    fn cost(&self, view: View) -> &Answer<Exact> {
        match view {
            View::Thousand => &self.view.cost.per_thousand,
            View::Million => &self.view.cost.per_million_tokens,
        }
    }
}

/// Draws the step.
pub fn cost_ui(ui: &mut Ui, state: &State, text: &Text, out: &mut Vec<Command>) {
    let Some(project) = &state.project else { return };
    let words = &text.cost;
    let id = egui::Id::unique("cost view");
    let mut shown = ui.data(|data| data.get_temp(id)).unwrap_or(View::Thousand);
    let offers = offers(state, project, shown);
    page_header(ui, &words.title, &finding(&offers, text), |ui| {
        let views = [(View::Thousand, words.view_thousand.as_str()), (View::Million, words.view_million.as_str())];
        if let (false, Some(chosen)) = (offers.is_empty(), segmented(ui, &views, shown)) {
            shown = chosen;
        }
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
        let title = if shown == View::Thousand { &words.per_thousand_title } else { &words.per_million_title };
        ui.label(Font::Subhead.rich(title));
        caption(ui, &words.accepted_means);
    });
    ui.add_space(t.space.xs);
    cards::cards_ui(ui, &offers, shown, text, out);
    ui.add_space(t.space.m);
    Card::new().tight().show(ui, |ui| table::table_ui(ui, project, &offers, text, out));
    ui.add_space(t.space.xs);
    caption(ui, &words.never_added);
    ui.add_space(t.space.m);
    Card::new().show(ui, |ui| parts::bars_ui(ui, &offers, text));
    ui.add_space(t.space.xs);
    caption(ui, &words.bill_open);
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
