//! How GPUs, network cards and CPUs are connected: as a picture or as the matrix, with the words explained.

use std::collections::BTreeMap;

use egui::{Sense, Stroke, Ui, vec2};

use super::health::mark_of;
use super::picture::{self, GpuState};
use crate::app::command::Command;
use crate::app::derived::HostView;
use crate::domain::facts::{Severity, keys};
use crate::domain::text::{Text, fill};
use crate::domain::topology::{Topology, gpus_named, is_nvlink};
use crate::ui::theme::{Font, Line, tokens};
use crate::ui::widgets::series::paint_line;
use crate::ui::widgets::{caption, card, citation, heading, segmented, small, split};

/// The words of the matrix, nearest first, with their names.
const WORDS: [&str; 5] = ["PIX", "PXB", "PHB", "NODE", "SYS"];

/// The card.
pub(super) fn topology_ui(ui: &mut Ui, view: &HostView, text: &Text, out: &mut Vec<Command>) {
    let words = &text.hosts;
    let t = tokens(ui);
    let id = egui::Id::unique("hosts topology matrix");
    let mut matrix = ui.data(|data| data.get_temp(id)).unwrap_or(false);
    card(ui, |ui| {
        ui.spacing_mut().item_spacing.y = t.space.s;
        split(
            ui,
            |ui| {
                heading(ui, Font::Heading, &words.topology);
            },
            |ui| {
                if let Some((record, _)) = &view.topology {
                    citation(ui, record, out);
                    let choices = [(false, words.picture.as_str()), (true, words.matrix.as_str())];
                    matrix = segmented(ui, &choices, matrix).unwrap_or(matrix);
                }
            },
        );
        let Some((_, topology)) = &view.topology else {
            small(ui, &words.no_topology);
            return;
        };
        pairs_ui(ui, topology, text);
        if matrix {
            matrix_ui(ui, topology);
        } else {
            picture::picture_ui(ui, topology, &gpu_states(view), text);
        }
        explained_ui(ui, topology, text);
    });
    ui.data_mut(|data| {
        data.insert_temp(id, matrix);
    });
}

/// How the pairs of GPUs are connected, and what the lines mean.
fn pairs_ui(ui: &mut Ui, topology: &Topology, text: &Text) {
    let words = &text.hosts;
    let t = tokens(ui);
    let pairs = topology.pairs();
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = 6.0;
        let has_nvlink = pairs.iter().any(|(word, _)| is_nvlink(word));
        let lines = [(has_nvlink, t.color.accent, &words.line_nvlink), (true, t.color.text_muted, &words.line_pcie)];
        for (_, color, words) in lines.into_iter().filter(|(shown, ..)| *shown) {
            let (rect, _) = ui.allocate_exact_size(vec2(20.0, 12.0), Sense::hover());
            paint_line(ui.painter(), rect, Line::Solid, Stroke::new(1.8, color));
            caption(ui, words);
            ui.add_space(t.space.s);
        }
        if !pairs.is_empty() {
            let listed: Vec<String> = pairs.iter().map(|(word, n)| format!("{word} × {n}")).collect();
            caption(ui, &fill(&words.pairs, &[("pairs", listed.join(" · "))]));
        }
    });
}

/// What the words on the lines mean, for those that are there.
fn explained_ui(ui: &mut Ui, topology: &Topology, text: &Text) {
    let n = topology.parts.len();
    let there = |wanted: &str| (0..n).any(|a| (a + 1..n).any(|b| topology.connection(a, b) == Some(wanted)));
    let explained: Vec<String> = WORDS
        .into_iter()
        .filter(|word| there(word))
        .map(|word| format!("{word} {}", text.name(&format!("connection_{}", word.to_lowercase()))))
        .collect();
    if !explained.is_empty() {
        let color = tokens(ui).color.text_muted;
        ui.add(egui::Label::new(Font::Caption.rich(explained.join(" · ")).color(color)).wrap());
    }
}

/// Temperature and worst finding of every GPU, from all answers of the host.
fn gpu_states(view: &HostView) -> BTreeMap<u32, GpuState> {
    let mut states: BTreeMap<u32, GpuState> = BTreeMap::new();
    for fact in view.latest.iter().flat_map(|kept| &kept.record.facts).filter(|fact| fact.key == keys::TEMPERATURE) {
        if let (Some(gpu_idx), Ok(value)) = (fact.device.gpu_idx(), &fact.value) {
            let state = states.entry(gpu_idx).or_default();
            state.temperature.get_or_insert_with(|| format!("{value} {}", fact.unit));
        }
    }
    for (_, finding) in &view.findings {
        // A setting is no fault of the card, and "fine" needs no mark on it.
        if matches!(finding.severity, Severity::Isolate | Severity::Reset | Severity::Watch) {
            for gpu_idx in gpus_named(&finding.text) {
                let state = states.entry(gpu_idx).or_default();
                if state.fault.is_none() {
                    state.fault = Some((mark_of(finding.severity), finding.text.clone()));
                }
            }
        }
    }
    states
}

/// The matrix as the tool prints it.
fn matrix_ui(ui: &mut Ui, topology: &Topology) {
    let t = tokens(ui);
    egui::ScrollArea::both().id_salt("topology matrix").max_height(320.0).auto_shrink([false, true]).show(ui, |ui| {
        egui::Grid::new("topology grid").spacing(vec2(14.0, 4.0)).show(ui, |ui| {
            let head = |ui: &mut Ui, words: &str| {
                ui.add(egui::Label::new(Font::Caption.rich(words).color(t.color.text_muted)).extend());
            };
            head(ui, "");
            for part in &topology.parts {
                head(ui, &part.name);
            }
            ui.end_row();
            for (a, part) in topology.parts.iter().enumerate() {
                head(ui, &part.name);
                for b in 0..topology.parts.len() {
                    let word = if a == b { "×" } else { topology.connection(a, b).unwrap_or("?") };
                    let color = if is_nvlink(word) {
                        t.color.accent
                    } else if word.starts_with('P') {
                        t.color.text_primary
                    } else {
                        t.color.text_muted
                    };
                    ui.add(egui::Label::new(Font::Mono.rich(word).color(color)).extend());
                }
                ui.end_row();
            }
        });
    });
}
