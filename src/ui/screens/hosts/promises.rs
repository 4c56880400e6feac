//! Promised against found: the rows of one host, those to act on first.

use egui::Ui;

use crate::app::command::Command;
use crate::app::state::State;
use crate::domain::compare::promises::{Agreement, FIELDS, NotFound, PromiseRow};
use crate::domain::evidence::Kind;
use crate::domain::figure::Origin;
use crate::domain::format;
use crate::domain::host::Host;
use crate::domain::text::{Text, fill};
use crate::ui::theme::{Font, tokens};
use crate::ui::widgets::{Button, Card, Column, Mark, Table, caption, heading, segmented, small, split};

/// Rows that show while the rest is folded, unless more are mismatches.
const FOLDED: usize = 7;

/// The promises of the host's candidate on this host, mismatches first; none while it belongs to no candidate.
pub(super) fn of_host(state: &State, host: &Host) -> Vec<PromiseRow> {
    let view = host.candidate.as_ref().and_then(|id| state.derived.candidate(id));
    let rows = view.map(|view| view.promises.as_slice()).unwrap_or_default();
    rows.iter().filter(|row| row.host.as_ref().is_none_or(|id| *id == host.id)).cloned().collect()
}

/// The card.
pub(super) fn promises_ui(ui: &mut Ui, host: &Host, rows: &[PromiseRow], text: &Text, out: &mut Vec<Command>) {
    let words = &text.hosts;
    let t = tokens(ui);
    if rows.is_empty() {
        Card::new().show(ui, |ui| {
            heading(ui, Font::Heading, &words.promised_found);
            small(ui, if host.candidate.is_none() { &words.no_candidate_why } else { &words.nothing_promised });
        });
        return;
    }
    let order_id = egui::Id::unique("hosts promises order");
    let all_id = egui::Id::unique("hosts promises all");
    let (mut as_offered, mut all) =
        ui.data(|data| (data.get_temp(order_id).unwrap_or(false), data.get_temp(all_id).unwrap_or(false)));
    let mut ordered: Vec<&PromiseRow> = rows.iter().collect();
    ordered.sort_by_key(|row| {
        let place = FIELDS.iter().position(|field| *field == row.field);
        (!as_offered && row.agreement != Agreement::Mismatch, place)
    });
    let n_mismatches = rows.iter().filter(|row| row.agreement == Agreement::Mismatch).count();
    let folded = if all || as_offered { ordered.len() } else { FOLDED.max(n_mismatches).min(ordered.len()) };
    Card::new().tight().show(ui, |ui| {
        ui.spacing_mut().item_spacing.y = 0.0;
        egui::Frame::new().inner_margin(egui::Margin { left: 16, right: 16, top: 10, bottom: 0 }).show(ui, |ui| {
            split(
                ui,
                |ui| {
                    heading(ui, Font::Heading, &words.promised_found);
                },
                |ui| {
                    let shown = [("n", folded.to_string()), ("total", ordered.len().to_string())];
                    caption(ui, &fill(&words.n_of_fields, &shown));
                    let choices = [(false, words.mismatches_first.as_str()), (true, words.as_in_offer.as_str())];
                    as_offered = segmented(ui, &choices, as_offered).unwrap_or(as_offered);
                },
            );
        });
        let columns = [
            Column::left(&words.field, -146.0),
            Column::left(&words.promised, 0.8),
            Column::left(&words.found, 1.15),
            Column::left(&words.result, -120.0),
            Column::left(&words.means, 1.5),
            Column::right(&text.common.evidence, -90.0),
        ];
        Table::new("hosts promises", &columns).row_height(t.size.row).show(ui, folded, |row| {
            let Some(promise) = ordered.get(row.idx) else { return };
            row_ui(row, promise, text, out);
        });
        if folded < ordered.len() || all {
            ui.painter().hline(ui.max_rect().x_range(), ui.cursor().top(), t.hairline());
            egui::Frame::new().inner_margin(egui::Margin::symmetric(8, 2)).show(ui, |ui| {
                let label = if all {
                    words.show_fewer.clone()
                } else {
                    fill(&words.show_all, &[("n", ordered.len().to_string())])
                };
                if Button::link(&label).small().show(ui).clicked() {
                    all = !all;
                }
            });
        }
    });
    ui.data_mut(|data| {
        data.insert_temp(order_id, as_offered);
        data.insert_temp(all_id, all);
    });
}

fn row_ui(row: &mut crate::ui::widgets::Row<'_>, promise: &PromiseRow, text: &Text, out: &mut Vec<Command>) {
    let words = &text.hosts;
    if promise.agreement == Agreement::Mismatch {
        let soft = tokens(row.ui()).color.fail_soft;
        row.tint(soft.gamma_multiply(0.6));
    }
    row.text(text.name(promise.field));
    match &promise.promised {
        Some(shown) => row.marked(text, Origin::Declared, shown.words(text)),
        None => row.muted(&text.common.not_stated),
    }
    match &promise.found {
        Ok(shown) => row.marked(text, Origin::Measured, shown.words(text)),
        Err(why) => row.muted(&why.words(text)),
    }
    let mark = match promise.agreement {
        Agreement::Mismatch => Mark::Fail,
        Agreement::NotStated => Mark::Inconclusive,
        Agreement::NotFound => Mark::NotTested,
        Agreement::Match => Mark::Pass,
    };
    row.badge(mark, text.name(promise.agreement.key()));
    row.muted(&means(promise, text));
    row.evidence(&promise.evidence, &words.no_record, out);
}

/// What comes of a row, in words.
fn means(promise: &PromiseRow, text: &Text) -> String {
    let words = &text.hosts;
    let said = match (promise.agreement, &promise.found) {
        (Agreement::Mismatch, _) => text.name(&format!("means_{}", promise.field)).to_owned(),
        (Agreement::NotStated, _) => words.means_not_stated.clone(),
        (Agreement::NotFound, Err(NotFound::NeverAsked)) => words.means_never_asked.clone(),
        (Agreement::NotFound, Err(NotFound::NotVisible)) => {
            promise.note.map_or(words.means_not_visible.as_str(), |note| text.name(note)).to_owned()
        }
        (Agreement::NotFound, _) => words.means_absent.clone(),
        (Agreement::Match, _) => match (promise.note, &promise.taken_at) {
            (Some(note), _) => text.name(note).to_owned(),
            (None, Some(at)) => fill(&words.means_seen, &[("at", format::moment(at))]),
            (None, None) => words.means_never_asked.clone(),
        },
    };
    match promise.kind {
        Some(kind) if kind != Kind::Real => format!("{} · {said}", text.kind(kind)),
        _ => said,
    }
}
