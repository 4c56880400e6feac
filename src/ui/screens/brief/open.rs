//! The completeness gate: how much can be tested, and each open field with its reason and the way to it.

use egui::Ui;

use crate::domain::brief::Brief;
use crate::domain::gate::{FieldState, Gate, GateField};
use crate::domain::text::{Text, fill};
use crate::ui::theme::{Font, tokens};
use crate::ui::widgets::{self, BadgeSize, Button, Field, Mark, badge, card, icons, mark, rule, small, split};

/// Open fields shown before a person asks for all.
const SHOWN: usize = 4;

/// The card.
pub(super) fn gate_ui(ui: &mut Ui, gate: &Gate, brief: &Brief, text: &Text) {
    let t = tokens(ui);
    let n_open = gate.total - gate.filled;
    card(ui, |ui| {
        ui.spacing_mut().item_spacing.y = t.space.s;
        split(
            ui,
            |ui| {
                widgets::heading(ui, Font::Heading, &text.brief.gate_title);
            },
            |ui| {
                if n_open == 0 {
                    badge(ui, Mark::Pass, &text.brief.gate_done, BadgeSize::Normal);
                } else {
                    let words = fill(&text.brief.gate_open, &[("n", n_open.to_string())]);
                    badge(ui, Mark::Inconclusive, &words, BadgeSize::Normal);
                }
            },
        );
        let counts = [("filled", gate.filled.to_string()), ("total", gate.total.to_string())];
        let line = fill(if n_open == 0 { &text.brief.gate_line_full } else { &text.brief.gate_line }, &counts);
        widgets::gate(
            ui,
            gate.filled,
            gate.total,
            &fill(&text.common.n_of_total, &[("n", gate.filled.to_string()), ("total", gate.total.to_string())]),
        );
        small(ui, &line);
        if n_open == 0 {
            return;
        }
        rule(ui);
        let id = egui::Id::unique("brief open fields");
        let all = ui.data(|data| data.get_temp::<bool>(id)).unwrap_or(false);
        for field in gate.open().take(if all { n_open } else { SHOWN }) {
            open_field(ui, field, brief, text);
        }
        if n_open > SHOWN {
            let words = if all {
                text.brief.show_fewer.clone()
            } else {
                fill(&text.brief.show_all, &[("n", n_open.to_string())])
            };
            if Button::link(&words).show(ui).clicked() {
                ui.data_mut(|data| data.insert_temp(id, !all));
            }
        }
    });
}

fn open_field(ui: &mut Ui, field: &GateField, brief: &Brief, text: &Text) {
    let t = tokens(ui);
    let name = text.name(field.input);
    let verb = if field.state == FieldState::Missing { &text.brief.fill_in } else { &text.brief.fix };
    ui.spacing_mut().item_spacing.y = 0.0;
    split(
        ui,
        |ui| {
            mark(ui, Mark::Inconclusive, t.size.verdict, verb);
            ui.label(Font::Subhead.rich(name));
        },
        |ui| {
            let button = Button::link(verb).icon_after(icons::ARROW_RIGHT).show(ui);
            let full_name = format!("{verb} {name}");
            ui.ctx().accesskit_node_builder(button.id, |node| node.set_label(full_name));
            if button.clicked() {
                Field::focus(ui, salt(brief, field.input));
            }
        },
    );
    ui.horizontal(|ui| {
        ui.add_space(t.size.verdict + ui.spacing().item_spacing.x);
        ui.vertical(|ui| small(ui, &field.reason(text)));
    });
    ui.add_space(t.space.s);
}

/// The field on screen that fixes an input of the gate.
pub(super) fn salt(brief: &Brief, input: &'static str) -> &'static str {
    let model = &brief.model;
    match input {
        "outcome" => "brief.outcome",
        "model" => "brief.model",
        "revision" => "brief.revision",
        "model_shape" if model.parameters.is_none() => "brief.parameters",
        "model_shape" if model.layers.is_none() => "brief.layers",
        "model_shape" if model.kv_heads.is_none() => "brief.kv_heads",
        "model_shape" => "brief.head_dim",
        "precision" => "brief.precision",
        "context_tokens" => "brief.context",
        "mean_rate" => "brief.mean_rate",
        "peak_rate" => "brief.peak_rate",
        "input_tokens" if brief.input_tokens.mean.is_none() => "brief.input_mean",
        "input_tokens" => "brief.input_p95",
        "output_tokens" if brief.output_tokens.mean.is_none() => "brief.output_mean",
        "output_tokens" => "brief.output_p95",
        "slo_ttft_p95" => "brief.ttft",
        "slo_itl_p95" => "brief.itl",
        "slo_error_share" => "brief.error_share",
        "acceptance_rule" => "brief.rule",
        "golden_prompts" => "brief.golden_prompts",
        "data_boundary" => "brief.data_boundary",
        "must_persist" => "brief.must_persist",
        "owner" => "brief.owner",
        "budget_month" => "brief.budget",
        "stop_rule" => "brief.stop_rule",
        _ => "brief.outcome",
    }
}
