//! Billing of the selected candidate: one line a component, the month, and what keeps the month from existing.

use egui::Ui;
use iso_currency::Currency;

use super::{component, rows};
use crate::app::command::Command;
use crate::app::state::State;
use crate::domain::billing::{Component, Per, Status};
use crate::domain::candidate::Candidate;
use crate::domain::compare::month::MonthCost;
use crate::domain::figure::Origin;
use crate::domain::money::Exact;
use crate::domain::text::{Text, fill};
use crate::project::plan::Plan;
use crate::ui::theme::{Font, tokens};
use crate::ui::widgets::{Button, Card, Column, FigureUi, Mark, Row, Table, card, heading, mark, small, split, swatch};

/// The card, and notes on what is missing.
pub(super) fn billing_ui(
    ui: &mut Ui,
    state: &State,
    plan: &Plan,
    candidate: &Candidate,
    text: &Text,
    out: &mut Vec<Command>,
) {
    let t = tokens(ui);
    let words = &text.candidates;
    let Some(view) = state.derived.candidate(&candidate.id) else { return };
    let month = &view.cost.month;
    Card::new().tight().show(ui, |ui| {
        ui.spacing_mut().item_spacing.y = 0.0;
        egui::Frame::new().inner_margin(egui::Margin { left: 15, right: 15, top: 12, bottom: 4 }).show(ui, |ui| {
            split(
                ui,
                |ui| {
                    swatch(ui, candidate.series, &candidate.name);
                    heading(ui, Font::Heading, &fill(&words.billing_title, &[("name", candidate.name.clone())]));
                },
                |ui| {
                    if Button::link(&words.add_component).show(ui).clicked() {
                        component::open_new(ui, plan, candidate, out);
                    }
                },
            );
            if candidate.billing.is_empty() {
                small(ui, &words.no_components);
                ui.add_space(t.space.s);
            }
        });
        if !candidate.billing.is_empty() {
            components(ui, candidate, text, out);
            total(ui, candidate, month, text, out);
        }
    });
    notes(ui, state, candidate, text);
}

fn components(ui: &mut Ui, candidate: &Candidate, text: &Text, out: &mut Vec<Command>) {
    let words = &text.candidates;
    let currency = currency_of(candidate);
    let first = currency.map_or_else(
        || words.col_component.clone(),
        |currency| fill(&words.col_component_in, &[("currency", currency.code().to_owned())]),
    );
    let columns = [
        Column::left(first, 1.0),
        Column::right(&words.col_amount, -96.0).origin(Origin::Declared),
        Column::left(&words.col_stopped, -78.0),
    ];
    let table = Table::new("billing", &columns).row_height(tokens(ui).size.row_roomy).clickable(None);
    let response = table.show(ui, candidate.billing.len(), |row| {
        if let Some(line) = candidate.billing.get(row.idx) {
            component_row(row, line, currency.is_none(), text);
        }
    });
    if let Some(line) = response.clicked.and_then(|idx| candidate.billing.get(idx)) {
        component::open(ui, candidate, line, out);
    }
}

fn component_row(row: &mut Row<'_>, line: &Component, with_currency: bool, text: &Text) {
    let words = &text.candidates;
    let category = text.category(line.category);
    let label = Some(line.label.trim()).filter(|label| !label.is_empty()).unwrap_or(category);
    let unit = match &line.status {
        Status::Priced(rate) => rows::amount(text.per(rate.per), &rate.quantity.normalize().to_string(), text),
        _ if label == category => String::new(),
        _ => category.to_owned(),
    };
    let plain = if unit.is_empty() { label.to_owned() } else { format!("{label}, {unit}") };
    row.cell(&plain, |ui| {
        let t = tokens(ui);
        if unit.is_empty() {
            ui.add(egui::Label::new(Font::Body.rich(label)).truncate());
            return;
        }
        ui.vertical(|ui| {
            ui.spacing_mut().item_spacing.y = 0.0;
            ui.add_space(3.0);
            ui.add(egui::Label::new(Font::Body.rich(label)).truncate());
            ui.add(egui::Label::new(Font::Caption.rich(&unit).color(t.color.text_muted)).truncate());
        });
    });
    match &line.status {
        Status::Priced(rate) => {
            let price = Exact::from(rate.price).show();
            row.text(&if with_currency { format!("{price} {}", rate.price.currency.code()) } else { price });
        }
        Status::Included => row.muted(&words.included),
        Status::NotApplicable => row.muted(&words.not_applicable),
        Status::Unknown => open_cell(row, text),
    }
    match line.when_stopped {
        _ if matches!(&line.status, Status::Priced(rate) if rate.per == Per::Once) => row.muted(&words.at_start),
        _ if !rows::runs_on(line) => row.cell("", |_ui| {}),
        Some(true) => row.muted(&words.billed),
        Some(false) => row.muted(&words.not_billed),
        None => open_cell(row, text),
    }
}

/// "not stated" with its diamond.
fn open_cell(row: &mut Row<'_>, text: &Text) {
    row.cell(&text.common.not_stated, |ui| {
        let t = tokens(ui);
        let words = Font::Small.rich(&text.common.not_stated).color(t.color.inconclusive);
        if ui.layout().prefer_right_to_left() {
            ui.label(words);
            mark(ui, Mark::Inconclusive, t.size.verdict_badge, &text.common.not_stated);
        } else {
            mark(ui, Mark::Inconclusive, t.size.verdict_badge, &text.common.not_stated);
            ui.label(words);
        }
    });
}

/// "Month of 730 h".
pub(super) fn month_title(month: &MonthCost, text: &Text) -> String {
    fill(&text.candidates.row_month, &[("hours", month.month_hours.normalize().to_string())])
}

fn total(ui: &mut Ui, candidate: &Candidate, month: &MonthCost, text: &Text, out: &mut Vec<Command>) {
    let t = tokens(ui);
    ui.painter().hline(ui.max_rect().x_range(), ui.cursor().top(), t.hairline());
    let title = month_title(month, text);
    egui::Frame::new().inner_margin(egui::Margin::symmetric(15, 5)).show(ui, |ui| {
        split(
            ui,
            |ui| {
                ui.label(Font::BodyBold.rich(&title));
            },
            |ui| {
                let name = format!("{}, {title}", candidate.name);
                let write = |amount: &Exact| format!("{} {}", amount.show(), amount.currency.code());
                match (&month.total, &month.lower_bound) {
                    (Err(gap), Some(so_far)) => {
                        let words = format!("{} {}", write(so_far), text.candidates.so_far);
                        ui.label(Font::Body.rich(words).color(t.color.text_secondary)).on_hover_text(text.gap(gap));
                    }
                    _ => {
                        FigureUi::new(&name).font(Font::BodyBold).show(ui, text, &month.total, write, out);
                    }
                }
            },
        );
    });
}

/// What keeps the month from existing, and a month over the budget.
fn notes(ui: &mut Ui, state: &State, candidate: &Candidate, text: &Text) {
    let words = &text.candidates;
    let Some(view) = state.derived.candidate(&candidate.id) else { return };
    let name = || ("name", candidate.name.clone());
    if let Err(gap) = &view.cost.month.total {
        let title = match view.cost.month.coverage.unknown {
            0 => fill(&words.no_total, &[name()]),
            1 => fill(&words.unpriced_one, &[name()]),
            n => fill(&words.unpriced_n, &[name(), ("n", n.to_string())]),
        };
        note(ui, Mark::Inconclusive, &title, &[&text.gap(gap), &words.stays_out], text);
    }
    if let Some(over) = &view.cost.over_budget {
        let amount = format!("{} {}", over.show(), over.currency.code());
        note(ui, Mark::Fail, &fill(&words.over_budget, &[("amount", amount)]), &[], text);
    }
}

fn note(ui: &mut Ui, shape: Mark, title: &str, lines: &[&str], text: &Text) {
    let t = tokens(ui);
    card(ui, |ui| {
        ui.horizontal_top(|ui| {
            ui.add_space(0.0);
            mark(ui, shape, t.size.icon, shape.word(text));
            ui.vertical(|ui| {
                ui.spacing_mut().item_spacing.y = 2.0;
                ui.label(Font::Subhead.rich(title));
                for line in lines {
                    small(ui, line);
                }
            });
        });
    });
}

/// The currency that every price of the offer is in; `None` without a price or with two.
fn currency_of(candidate: &Candidate) -> Option<Currency> {
    one_currency(candidate.billing.iter())
}

/// The currency that every price of every offer is in.
pub(super) fn currency_of_all(plan: &Plan) -> Option<Currency> {
    one_currency(plan.candidates.iter().flat_map(|candidate| &candidate.billing))
}

fn one_currency<'a>(components: impl Iterator<Item = &'a Component>) -> Option<Currency> {
    let mut currencies = components.filter_map(|component| match &component.status {
        Status::Priced(rate) => Some(rate.price.currency),
        _ => None,
    });
    let first = currencies.next()?;
    currencies.all(|other| other == first).then_some(first)
}
