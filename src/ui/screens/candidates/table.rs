//! The comparison: fields by group, candidates as columns. A click on a head selects, a click on a cell opens its field.

use egui::{Sense, Ui};

use super::rows::RowKind;
use super::{billing, edit, open_editor, select};
use crate::app::command::Command;
use crate::app::state::State;
use crate::domain::candidate::Candidate;
use crate::domain::figure::Origin;
use crate::domain::money::Exact;
use crate::domain::text::{Text, fill};
use crate::project::plan::Plan;
use crate::ui::theme::{Font, tokens};
use crate::ui::widgets::{Card, Column, Field, FigureUi, Mark, Row, Table, caption, mark, origin_mark};

/// Width of the column with the names of the rows.
const NAMES: f32 = 138.0;
/// The narrowest column of a candidate; below it the table scrolls sideways.
const NARROWEST: f32 = 98.0;

/// The card with the table and the note under it.
pub(super) fn table_ui(
    ui: &mut Ui,
    state: &State,
    plan: &Plan,
    selected: &Candidate,
    text: &Text,
    out: &mut Vec<Command>,
) {
    let t = tokens(ui);
    let mut heads = vec![Column::left("", -NAMES)];
    heads.extend(plan.candidates.iter().map(|candidate| {
        Column::left(&candidate.name, 1.0)
            .candidate(candidate.series, &candidate.short)
            .selected(candidate.id == selected.id)
    }));
    #[allow(clippy::cast_precision_loss, reason = "a handful of candidates")]
    let needed = NAMES + 2.0 * t.size.card_padding + (NARROWEST + t.space.m) * plan.candidates.len() as f32;
    Card::new().tight().show(ui, |ui| {
        let room = ui.available_width();
        if needed <= room {
            draw(ui, &heads, state, plan, text, out);
            return;
        }
        egui::ScrollArea::horizontal().id_salt("candidates table").show(ui, |ui| {
            ui.set_width(needed);
            draw(ui, &heads, state, plan, text, out);
        });
    });
    ui.add_space(t.space.s);
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = 6.0;
        origin_mark(ui, text, Origin::Declared);
        caption(ui, &text.candidates.footnote);
    });
}

fn draw(ui: &mut Ui, heads: &[Column], state: &State, plan: &Plan, text: &Text, out: &mut Vec<Command>) {
    let t = tokens(ui);
    let currency = billing::currency_of_all(plan);
    let money_head = currency.map_or_else(
        || text.candidates.group_money.clone(),
        |currency| fill(&text.candidates.group_money_in, &[("currency", currency.code().to_owned())]),
    );
    let month_head = fill(&text.candidates.row_month, &[("hours", plan.brief.month_hours.normalize().to_string())]);
    let table = Table::new("candidates", heads).row_height(t.size.row_compact);
    let response = table.show(ui, RowKind::ALL.len(), |row| {
        let Some(kind) = RowKind::ALL.get(row.idx).copied() else { return };
        if kind.is_group() {
            row.group(if kind == RowKind::Money { &money_head } else { kind.name(text) });
            return;
        }
        row.secondary(if kind == RowKind::Month { &month_head } else { kind.name(text) });
        for candidate in &plan.candidates {
            if kind == RowKind::Month {
                month_cell(row, state, candidate, text, currency.is_none(), out);
            } else {
                cell(row, kind, candidate, text, out);
            }
        }
    });
    if let Some(candidate) = response.head_clicked.and_then(|idx| plan.candidates.get(idx.checked_sub(1)?)) {
        select(&candidate.id, out);
    }
}

/// A cell that opens its field. It takes no part in the tab order: the editor of the selected candidate does.
fn cell(row: &mut Row<'_>, kind: RowKind, candidate: &Candidate, text: &Text, out: &mut Vec<Command>) {
    let words = kind.cell(candidate, text);
    let plain = words.clone().unwrap_or_else(|| text.common.not_stated.clone());
    row.cell(&plain, |ui| {
        let t = tokens(ui);
        let rect = ui.max_rect();
        let id = ui.scope_id().with(("cell", &candidate.id, kind.name(text)));
        let response = ui.interact(rect, id, Sense::CLICK);
        if response.hovered() {
            ui.painter().rect_filled(rect.expand2(egui::vec2(4.0, -2.0)), t.radius.chip, t.color.bg_hover);
        }
        match &words {
            Some(words) => {
                ui.add(egui::Label::new(Font::Body.rich(words)).truncate().sense(Sense::hover()));
            }
            None => {
                mark(ui, Mark::Inconclusive, t.size.verdict_badge, &text.common.not_stated);
                let label = Font::Body.rich(&text.common.not_stated).color(t.color.inconclusive);
                ui.add(egui::Label::new(label).truncate().sense(Sense::hover()));
            }
        }
        let name = format!("{}, {}, {plain}", candidate.name, kind.name(text));
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Cell, true, &name));
        if response.on_hover_cursor(egui::CursorIcon::PointingHand).clicked() {
            match kind.field() {
                Some(field) => {
                    Field::focus(ui, &edit::field_salt(&candidate.id, field));
                    open_editor(candidate, out);
                }
                None => select(&candidate.id, out),
            }
        }
    });
}

/// What one unit costs in a month; the priced part where there is no sum.
fn month_cell(
    row: &mut Row<'_>,
    state: &State,
    candidate: &Candidate,
    text: &Text,
    with_currency: bool,
    out: &mut Vec<Command>,
) {
    let Some(view) = state.derived.candidate(&candidate.id) else {
        row.text("");
        return;
    };
    let month = &view.cost.month;
    let title = format!("{}, {}", candidate.name, billing::month_title(month, text));
    let write = |amount: &Exact| amount.show();
    match (&month.total, &month.lower_bound) {
        (Ok(figure), _) => {
            let unit = if with_currency { figure.value.currency.code() } else { "" };
            row.figure(FigureUi::new(&title).unit(unit).font(Font::BodyBold), text, &month.total, write, out);
        }
        (Err(gap), Some(so_far)) => {
            let why = text.gap(gap);
            let amount = so_far.show();
            let plain = format!("{amount} {}", text.candidates.so_far);
            row.cell(&plain, |ui| {
                let t = tokens(ui);
                mark(ui, Mark::Inconclusive, t.size.verdict_badge, &why);
                ui.label(Font::Body.rich(&amount)).on_hover_text(&why);
                ui.add(
                    egui::Label::new(Font::Small.rich(&text.candidates.so_far).color(t.color.text_muted)).truncate(),
                );
            });
        }
        (Err(gap), None) => {
            let why = text.gap(gap);
            row.cell(&why, |ui| {
                let t = tokens(ui);
                mark(ui, Mark::Inconclusive, t.size.verdict_badge, &why);
                ui.add(egui::Label::new(Font::Small.rich(&why).color(t.color.text_secondary)).truncate());
            });
        }
    }
}
