//! The newest answer to each probe: when it came, how it ended, what could be read.

use egui::Ui;

use crate::app::command::Command;
use crate::app::derived::HostView;
use crate::domain::evidence::{Kind, Source};
use crate::domain::format;
use crate::domain::seen::{self, Kept};
use crate::domain::text::{Text, fill};
use crate::ui::theme::{Font, tokens};
use crate::ui::widgets::{Button, Card, Column, Mark, Table, caption, heading, icons, split};

/// The card.
pub(super) fn answers_ui(ui: &mut Ui, view: &HostView, text: &Text, out: &mut Vec<Command>) {
    let words = &text.hosts;
    let t = tokens(ui);
    Card::new().tight().show(ui, |ui| {
        ui.spacing_mut().item_spacing.y = 0.0;
        egui::Frame::new().inner_margin(egui::Margin { left: 16, right: 16, top: 10, bottom: 0 }).show(ui, |ui| {
            split(
                ui,
                |ui| {
                    heading(ui, Font::Heading, &words.answers);
                },
                |ui| {
                    caption(ui, &words.answers_note);
                },
            );
        });
        let columns = [
            Column::left(&words.probe_head, -190.0),
            Column::left(&words.taken, -190.0),
            Column::left(&words.how_ended, -170.0),
            Column::left(&words.what_read, 1.0),
            Column::right(&text.common.raw_output, -120.0),
            Column::right(&text.common.evidence, -90.0),
        ];
        Table::new("hosts answers", &columns).row_height(t.size.row).show(ui, view.latest.len(), |row| {
            let Some(kept) = view.latest.get(row.idx) else { return };
            let id = seen::probe_id(&kept.record).unwrap_or_default();
            row.text(text.probe(id));
            row.muted(&format::moment(&kept.record.taken_at));
            row.muted(&ended(kept, text));
            match &kept.record.absent {
                Some(absent) => {
                    let why = text.absent(absent);
                    row.cell(&why, |ui| {
                        let size = tokens(ui).size.verdict_badge;
                        crate::ui::widgets::mark(ui, Mark::NotTested, size, text.name("severity_not_judged"));
                        let color = tokens(ui).color.text_muted;
                        ui.add(egui::Label::new(Font::Small.rich(&why).color(color)).truncate());
                    });
                }
                None => {
                    let facts = fill(&words.n_facts, &[("n", kept.record.facts.len().to_string())]);
                    row.muted(&facts);
                }
            }
            row.cell(&text.common.raw_output, |ui| {
                let button = Button::link(&text.common.raw_output).small().icon(icons::TERMINAL_WINDOW);
                if button.show(ui).clicked() {
                    out.push(Command::ShowRecord(kept.id.clone()));
                }
            });
            row.evidence(std::slice::from_ref(&kept.id), "", out);
        });
    });
}

/// How the command ended and where its output came from.
fn ended(kept: &Kept, text: &Text) -> String {
    let record = &kept.record;
    let pasted = matches!(record.source, Source::Pasted { .. }).then(|| text.hosts.pasted.clone());
    let ended = record.captured.as_ref().map(|captured| text.ended(captured));
    let kind = (record.kind != Kind::Real).then(|| text.kind(record.kind).to_owned());
    let parts: Vec<String> = [pasted, ended, kind].into_iter().flatten().collect();
    if parts.is_empty() { text.shell.ended_unknown.clone() } else { parts.join(" · ") }
}
