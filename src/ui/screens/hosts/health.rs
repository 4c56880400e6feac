//! What a person should know about the machine, worst first, each with its advice and record.

use egui::{Align, Layout, Ui};

use crate::app::command::Command;
use crate::app::derived::HostView;
use crate::domain::facts::{Finding, Severity};
use crate::domain::ids::EvidenceId;
use crate::domain::text::{Text, fill};
use crate::ui::theme::{Font, tokens};
use crate::ui::widgets::{Button, Card, Mark, caption, citation, heading, mark, small, split};

/// Findings that show while the rest is folded.
const FOLDED: usize = 5;

/// The shape of a severity.
pub(super) const fn mark_of(severity: Severity) -> Mark {
    match severity {
        Severity::Isolate => Mark::Fail,
        Severity::Reset | Severity::Configuration | Severity::Watch => Mark::Inconclusive,
        Severity::Fine => Mark::Pass,
        Severity::NotJudged => Mark::NotTested,
    }
}

/// The card, at least as high as the one beside it.
pub(super) fn health_ui(ui: &mut Ui, view: &HostView, height: f32, text: &Text, out: &mut Vec<Command>) {
    let words = &text.hosts;
    let all_id = egui::Id::unique("hosts findings all");
    let mut all = ui.data(|data| data.get_temp(all_id)).unwrap_or(false);
    Card::new().min_height(height).show(ui, |ui| {
        ui.spacing_mut().item_spacing.y = 0.0;
        split(
            ui,
            |ui| {
                heading(ui, Font::Heading, &words.health);
            },
            |ui| {
                caption(ui, &checks(view, text));
            },
        );
        ui.add_space(tokens(ui).space.s);
        if view.findings.is_empty() {
            ui.horizontal(|ui| {
                let size = tokens(ui).size.verdict;
                mark(ui, Mark::Pass, size, &words.no_findings);
                small(ui, &words.no_findings);
            });
        }
        let folded = if all { view.findings.len() } else { FOLDED.min(view.findings.len()) };
        for (record, finding) in view.findings.iter().take(folded) {
            finding_ui(ui, record, finding, text, out);
        }
        if view.findings.len() > FOLDED {
            ui.add_space(tokens(ui).space.xs);
            let label = if all {
                words.show_fewer.clone()
            } else {
                fill(&words.show_all, &[("n", view.findings.len().to_string())])
            };
            if Button::link(&label).small().show(ui).clicked() {
                all = !all;
            }
        }
    });
    ui.data_mut(|data| {
        data.insert_temp(all_id, all);
    });
}

/// How many answers were looked at, and what they came to.
fn checks(view: &HostView, text: &Text) -> String {
    let words = &text.hosts;
    let n = |wanted: &[Severity]| view.findings.iter().filter(|(_, f)| wanted.contains(&f.severity)).count();
    let mut parts = match view.latest.len() {
        1 => vec![words.one_check.clone()],
        n => vec![fill(&words.n_checks, &[("n", n.to_string())])],
    };
    for (words, count) in [
        (&words.n_isolate, n(&[Severity::Isolate])),
        (&words.n_watch, n(&[Severity::Reset, Severity::Configuration, Severity::Watch])),
        (&words.n_not_judged, n(&[Severity::NotJudged])),
    ] {
        if count > 0 {
            parts.push(fill(words, &[("n", count.to_string())]));
        }
    }
    parts.join(" · ")
}

fn finding_ui(ui: &mut Ui, record: &EvidenceId, finding: &Finding, text: &Text, out: &mut Vec<Command>) {
    let t = tokens(ui);
    let top = ui.cursor().top();
    ui.painter().hline(ui.max_rect().x_range(), top, t.hairline());
    ui.add_space(t.space.s);
    ui.horizontal_top(|ui| {
        ui.spacing_mut().item_spacing.x = t.space.s;
        let word = text.severity(finding.severity);
        mark(ui, mark_of(finding.severity), t.size.verdict, word);
        // The citation first, so that long words wrap before it.
        ui.with_layout(Layout::right_to_left(Align::Min), |ui| {
            citation(ui, record, out);
            ui.with_layout(Layout::top_down(Align::Min), |ui| {
                ui.spacing_mut().item_spacing.y = 2.0;
                ui.add(egui::Label::new(Font::BodyBold.rich(shortened(&finding.text))).wrap())
                    .on_hover_text(&finding.text);
                let advice = text.advice(finding);
                let said = match advice {
                    Some(advice) => format!("{word} · {advice}"),
                    None => word.to_owned(),
                };
                ui.add(egui::Label::new(Font::Small.rich(said).color(t.color.text_secondary)).wrap());
            });
        });
    });
    ui.add_space(t.space.s);
}

/// A tool's sentence, cut where it stops being a headline; the record has the whole.
fn shortened(words: &str) -> String {
    const LONGEST: usize = 160;
    if words.chars().count() <= LONGEST {
        return words.to_owned();
    }
    let mut cut: String = words.chars().take(LONGEST).collect();
    cut.push('…');
    cut
}
