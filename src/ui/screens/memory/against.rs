//! What was predicted beside what serving logs say, and what one of them teaches.

use egui::Ui;

use crate::app::command::Command;
use crate::app::derived::CandidateView;
use crate::app::state::Project;
use crate::domain::format;
use crate::domain::ids::EvidenceId;
use crate::domain::memory::{Band, GIB, MemoryPlan, MemoryWork, offer};
use crate::domain::text::{Text, fill};
use crate::project::edit::Edit;
use crate::ui::theme::{Font, tokens};
use crate::ui::widgets::{Button, Card, Column, Table, caption, heading, split};

/// One line of the table.
struct Row {
    candidate: String,
    part: &'static str,
    predicted: Band,
    measured: f64,
    log: EvidenceId,
}

/// The card; only of a serving engine, the only work whose logs are read.
pub(super) fn against_ui(ui: &mut Ui, project: &Project, views: &[CandidateView], text: &Text, out: &mut Vec<Command>) {
    if project.plan.memory.work != MemoryWork::Inference {
        return;
    }
    let words = &text.memory;
    let t = tokens(ui);
    let plan = &project.plan.memory;
    let rows: Vec<Row> = views
        .iter()
        .flat_map(|view| {
            let name = project.plan.candidate(&view.id).map_or_else(String::new, |candidate| candidate.name.clone());
            let estimate = view.memory.as_ref().ok().map(|figure| &figure.value);
            view.logs.iter().take(1).flat_map(move |log| {
                let name = name.clone();
                let compared = estimate.map(|estimate| offer::against(estimate, &log.run)).unwrap_or_default();
                compared.into_iter().map(move |(part, predicted, measured)| Row {
                    candidate: name.clone(),
                    part,
                    predicted,
                    measured,
                    log: log.evidence.clone(),
                })
            })
        })
        .collect();
    Card::new().tight().show(ui, |ui| {
        egui::Frame::new().inner_margin(egui::Margin { left: 16, right: 16, top: 10, bottom: 6 }).show(ui, |ui| {
            split(
                ui,
                |ui| {
                    heading(ui, Font::Heading, &words.against_title);
                },
                |ui| calibration_ui(ui, views, plan, text, out),
            );
            if rows.is_empty() {
                caption(ui, &words.against_none);
            }
        });
        if rows.is_empty() {
            ui.add_space(t.space.s);
            return;
        }
        let columns = [
            Column::left(&text.report.candidate, 1.0),
            Column::left(&words.part, 1.2),
            Column::right(&words.predicted, -190.0),
            Column::right(&words.measured, -120.0),
            Column::right(&words.error, -100.0),
            Column::right(&text.common.evidence, -110.0),
        ];
        Table::new("memory against", &columns).row_height(t.size.row).show(ui, rows.len(), |row| {
            let Some(line) = rows.get(row.idx) else { return };
            row.text(&line.candidate);
            row.text(text.name(line.part));
            row.text(&offer::gib_words(line.predicted));
            row.text(&format::fixed(line.measured / GIB, 2));
            row.text(&error_words(line));
            row.evidence(std::slice::from_ref(&line.log), "", out);
        });
    });
}

/// Signed error of the prediction in percent of what was measured, or in GiB where that is small.
fn error_words(line: &Row) -> String {
    let off = line.predicted.value - line.measured;
    let words = if line.measured > GIB {
        format!("{} %", format::fixed(off / line.measured * 100.0, 1))
    } else {
        format!("{} GiB", format::fixed(off / GIB, 2))
    };
    let sign = if off > 0.0 { "+" } else { "" };
    format!("{sign}{}", words.replace('-', "−"))
}

/// The log that calibrates, taken or left out by a button.
fn calibration_ui(ui: &mut Ui, views: &[CandidateView], plan: &MemoryPlan, text: &Text, out: &mut Vec<Command>) {
    let words = &text.memory;
    let put = |id: Option<EvidenceId>| {
        Command::Edit(Edit::PutMemory(Box::new(MemoryPlan { calibrated_by: id, ..plan.clone() })))
    };
    if let Some(id) = &plan.calibrated_by {
        if Button::secondary(&words.uncalibrate).small().show(ui).clicked() {
            out.push(put(None));
        }
        caption(ui, &fill(&words.calibrated_by, &[("ev", id.cite())]));
    } else if let Some(log) = views.iter().find_map(|view| view.logs.first())
        && Button::secondary(&words.calibrate).small().hover(&words.calibrate_why).show(ui).clicked()
    {
        out.push(put(Some(log.evidence.clone())));
    }
}
