//! The four sections of fields.

use egui::Ui;
use iso_currency::Currency;
use rust_decimal::Decimal;

use super::problem;
use crate::app::command::Command;
use crate::domain::brief::{AcceptRule, Brief, Precision, requests_a_day};
use crate::domain::format;
use crate::domain::gate::{Gate, Group};
use crate::domain::text::{Text, fill};
use crate::ui::theme::{Font, tokens};
use crate::ui::widgets::{Field, FigureUi, Mark, caption, card, columns, icons, section_header};

/// More than anybody rents for; a typing slip above it is refused.
const MOST_TOKENS: u32 = 100_000_000;
const MOST_RATE: f64 = 1_000_000.0;
const MOST_MS: f64 = 86_400_000.0;

/// All four sections. Whether the brief was changed.
pub(super) fn fields_ui(ui: &mut Ui, gate: &Gate, text: &Text, brief: &mut Brief, out: &mut Vec<Command>) -> bool {
    let mut form = Form { gate, text, brief, changed: false };
    section(ui, &mut form, Group::OutcomeModel, outcome);
    section(ui, &mut form, Group::Traffic, |ui, form| traffic(ui, form, out));
    section(ui, &mut form, Group::SloAcceptance, slo);
    section(ui, &mut form, Group::Ownership, ownership);
    form.changed
}

/// What a section needs to draw its fields.
struct Form<'a> {
    gate: &'a Gate,
    text: &'a Text,
    brief: &'a mut Brief,
    changed: bool,
}

impl<'a> Form<'a> {
    /// A field with the problem of the gate's input under it.
    fn field(&self, salt: &'static str, label: &'a str, input: &str) -> Field<'a> {
        Field::new(salt, label).error(problem(self.gate, self.text, input))
    }
}

fn section(ui: &mut Ui, form: &mut Form<'_>, group: Group, content: impl FnOnce(&mut Ui, &mut Form<'_>)) {
    let text = form.text;
    let title = match group {
        Group::OutcomeModel => &text.brief.section_outcome,
        Group::Traffic => &text.brief.section_traffic,
        Group::SloAcceptance => &text.brief.section_slo,
        Group::Ownership => &text.brief.section_ownership,
    };
    let (filled, total) = form.gate.of_group(group);
    let state = match filled {
        n if n == total => (Mark::Pass, text.brief.state_full.as_str()),
        0 => (Mark::NotTested, text.brief.state_empty.as_str()),
        _ => (Mark::Inconclusive, text.brief.state_partly.as_str()),
    };
    let count = fill(&text.common.n_of_total, &[("n", filled.to_string()), ("total", total.to_string())]);
    card(ui, |ui| {
        ui.spacing_mut().item_spacing.y = tokens(ui).space.s;
        section_header(ui, Some(state), title, &count);
        content(ui, form);
    });
}

fn outcome(ui: &mut Ui, form: &mut Form<'_>) {
    let (text, words, gap) = (form.text, &form.text.brief, tokens(ui).space.m);
    let field = form.field("brief.outcome", text.name("outcome"), "outcome").hint(&words.hint_outcome);
    form.changed |= field.text(ui, &mut form.brief.outcome);
    let precisions = Precision::ALL.map(|precision| (precision, precision.name()));
    columns(ui, gap, [1.85, 1.0, 1.1, 1.0, 1.2], |[name, revision, precision, kv, context]| {
        let field = form.field("brief.model", text.name("model"), "model").hint(&words.hint_model);
        form.changed |= field.text(name, &mut form.brief.model.name);
        let field = form.field("brief.revision", &words.revision, "revision").hint(&words.hint_revision);
        form.changed |= field.text(revision, &mut form.brief.model.revision);
        let field = form.field("brief.precision", text.name("precision"), "precision");
        form.changed |= field.optional_choice(precision, text, &precisions, &mut form.brief.precision);
        let mut kv_choices: Vec<(Option<Precision>, &str)> = vec![(None, &words.kv_default)];
        kv_choices.extend(
            [Precision::Bf16, Precision::Fp8, Precision::Int8].map(|precision| (Some(precision), precision.name())),
        );
        form.changed |=
            Field::new("brief.kv_precision", &words.kv_precision).choice(kv, &kv_choices, &mut form.brief.kv_precision);
        let field = form.field("brief.context", text.name("context_tokens"), "context_tokens").unit(&words.unit_tokens);
        form.changed |= field.whole32(context, text, 1..=MOST_TOKENS, &mut form.brief.context_tokens);
    });
    model_facts(ui, form);
}

/// What the memory estimate needs, in a compact row.
fn model_facts(ui: &mut Ui, form: &mut Form<'_>) {
    let (text, gap) = (form.text, tokens(ui).space.s);
    let shape_error = problem(form.gate, text, "model_shape");
    let model = &mut form.brief.model;
    let mut changed = false;
    columns(ui, gap, [1.7, 0.8, 0.9, 1.0, 1.1, 1.1], |[parameters, layers, kv_heads, head_dim, hidden, vocab]| {
        changed |= Field::new("brief.parameters", text.name("parameters")).small().whole(
            parameters,
            text,
            1..=1_000_000_000_000_000,
            &mut model.parameters,
        );
        let mut size = |ui: &mut Ui, salt: &str, name: &str, value: &mut Option<u32>| {
            changed |= Field::new(salt, name).small().whole32(ui, text, 1..=MOST_TOKENS, value);
        };
        size(layers, "brief.layers", text.name("layers"), &mut model.layers);
        size(kv_heads, "brief.kv_heads", text.name("kv_heads"), &mut model.kv_heads);
        size(head_dim, "brief.head_dim", text.name("head_dim"), &mut model.head_dim);
        size(hidden, "brief.hidden", text.name("hidden"), &mut model.hidden);
        size(vocab, "brief.vocab", text.name("vocab"), &mut model.vocab);
    });
    form.changed |= changed;
    if let Some(error) = shape_error {
        remark(ui, &error, true);
    }
}

/// A line under several fields; with the icon and colour of an error when it is one.
fn remark(ui: &mut Ui, words: &str, is_error: bool) {
    let t = tokens(ui);
    if !is_error {
        caption(ui, words);
        return;
    }
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 6.0;
        ui.label(icons::rich(icons::WARNING, 14.0).color(t.color.fail));
        ui.add(egui::Label::new(Font::Small.rich(words).color(t.color.fail)).wrap());
    });
}

fn traffic(ui: &mut Ui, form: &mut Form<'_>, out: &mut Vec<Command>) {
    let (text, words, gap) = (form.text, &form.text.brief, tokens(ui).space.m);
    let a_day = requests_a_day(form.brief);
    columns(ui, gap, [1.0; 4], |[mean, peak, day, month]| {
        let field = form.field("brief.mean_rate", text.name("mean_rate"), "mean_rate").unit(&words.unit_rate);
        form.changed |= field.number(mean, text, 0.0..=MOST_RATE, &mut form.brief.mean_rate);
        let field = form.field("brief.peak_rate", text.name("peak_rate"), "peak_rate").unit(&words.unit_rate);
        form.changed |= field.number(peak, text, 0.0..=MOST_RATE, &mut form.brief.peak_rate);
        day.spacing_mut().item_spacing.y = 8.0;
        day.label(Font::Small.rich(&words.requests_a_day).color(tokens(day).color.text_secondary));
        FigureUi::new(&words.requests_a_day).show(day, text, &a_day, |n| format::fixed(*n, 0), out);
        let mut hours = Some(form.brief.month_hours);
        let low = Decimal::ONE;
        let high = Decimal::from(744);
        let field = Field::new("brief.month_hours", &words.month_hours).unit("h");
        if field.decimal_within(month, text, low..=high, &mut hours) {
            form.brief.month_hours = hours.unwrap_or(Brief::default().month_hours);
            form.changed = true;
        }
    });
    let errors = [problem(form.gate, text, "input_tokens"), problem(form.gate, text, "output_tokens")];
    let [input_error, output_error] = errors;
    let (input, output) = (&mut form.brief.input_tokens, &mut form.brief.output_tokens);
    let mut changed = false;
    columns(ui, gap, [1.0; 4], |[input_mean, input_p95, output_mean, output_p95]| {
        let mut length = |ui: &mut Ui, salt: &str, label: &str, error: Option<&String>, value: &mut Option<u32>| {
            let field = Field::new(salt, label).unit(&words.unit_tokens).error(error.cloned());
            changed |= field.whole32(ui, text, 0..=MOST_TOKENS, value);
        };
        // The problem of a pair stands under the half that has to change.
        let (in_mean, in_p95) = if input.mean.is_none() || input.mean == Some(0) {
            (input_error.as_ref(), None)
        } else {
            (None, input_error.as_ref())
        };
        let (out_mean, out_p95) = if output.mean.is_none() || output.mean == Some(0) {
            (output_error.as_ref(), None)
        } else {
            (None, output_error.as_ref())
        };
        length(input_mean, "brief.input_mean", &words.input_mean, in_mean, &mut input.mean);
        length(input_p95, "brief.input_p95", &words.input_p95, in_p95, &mut input.p95);
        length(output_mean, "brief.output_mean", &words.output_mean, out_mean, &mut output.mean);
        length(output_p95, "brief.output_p95", &words.output_p95, out_p95, &mut output.p95);
    });
    form.changed |= changed;
}

fn slo(ui: &mut Ui, form: &mut Form<'_>) {
    let (text, words, gap) = (form.text, &form.text.brief, tokens(ui).space.m);
    columns(ui, gap, [1.0; 3], |[ttft, itl, e2e]| {
        let field = form.field("brief.ttft", text.name("slo_ttft_p95"), "slo_ttft_p95").unit("ms");
        form.changed |= field.number(ttft, text, 0.0..=MOST_MS, &mut form.brief.slo.ttft_p95_ms);
        let field = form.field("brief.itl", text.name("slo_itl_p95"), "slo_itl_p95").unit("ms");
        form.changed |= field.number(itl, text, 0.0..=MOST_MS, &mut form.brief.slo.itl_p95_ms);
        let field = Field::new("brief.e2e", text.name("slo_e2e_p95")).unit("ms");
        form.changed |= field.number(e2e, text, 0.0..=MOST_MS, &mut form.brief.slo.e2e_p95_ms);
    });
    columns(ui, gap, [1.0; 3], |[errors, rate, golden]| {
        let field = form.field("brief.error_share", text.name("slo_error_share"), "slo_error_share");
        form.changed |= field.share(errors, text, &mut form.brief.slo.error_share);
        let field = Field::new("brief.output_rate", text.name("slo_output_rate")).unit(&words.unit_token_rate);
        form.changed |= field.number(rate, text, 0.0..=1e9, &mut form.brief.slo.output_tokens_per_sec);
        let field =
            form.field("brief.golden_prompts", text.name("golden_prompts"), "golden_prompts").unit(&words.unit_prompts);
        form.changed |= field.whole32(golden, text, 0..=1_000_000, &mut form.brief.golden_prompts);
    });
    acceptance(ui, form);
}

/// Which kind of rule, without its argument.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RuleKind {
    NotStated,
    Any,
    Contains,
    MinChars,
    External,
}

impl RuleKind {
    fn of(rule: &AcceptRule) -> Self {
        match rule {
            AcceptRule::NotStated => Self::NotStated,
            AcceptRule::AnyComplete => Self::Any,
            AcceptRule::Contains(_) => Self::Contains,
            AcceptRule::MinChars(_) => Self::MinChars,
            AcceptRule::External(_) => Self::External,
        }
    }

    /// A rule of this kind; words of the old one are kept where they can be.
    fn rule(self, old: &AcceptRule) -> AcceptRule {
        let words = match old {
            AcceptRule::Contains(words) | AcceptRule::External(words) => words.clone(),
            _ => String::new(),
        };
        match self {
            Self::NotStated => AcceptRule::NotStated,
            Self::Any => AcceptRule::AnyComplete,
            Self::Contains => AcceptRule::Contains(words),
            Self::MinChars => AcceptRule::MinChars(1),
            Self::External => AcceptRule::External(words),
        }
    }
}

fn acceptance(ui: &mut Ui, form: &mut Form<'_>) {
    let (text, words, gap) = (form.text, &form.text.brief, tokens(ui).space.m);
    let choices = [
        (RuleKind::NotStated, words.rule_not_stated.as_str()),
        (RuleKind::Any, words.rule_any.as_str()),
        (RuleKind::Contains, words.rule_contains.as_str()),
        (RuleKind::MinChars, words.rule_min_chars.as_str()),
        (RuleKind::External, words.rule_external.as_str()),
    ];
    columns(ui, gap, [1.0, 2.0], |[kind_ui, argument]| {
        let mut kind = RuleKind::of(&form.brief.acceptance);
        let field = form.field("brief.rule", &words.rule, "acceptance_rule");
        if field.choice(kind_ui, &choices, &mut kind) {
            form.brief.acceptance = kind.rule(&form.brief.acceptance);
            form.changed = true;
        }
        form.changed |= match &mut form.brief.acceptance {
            AcceptRule::NotStated => note(argument, &words.rule_not_stated_note),
            AcceptRule::AnyComplete => note(argument, &words.rule_any_note),
            AcceptRule::Contains(part) => {
                let error = part.is_empty().then(|| words.rule_text_missing.clone());
                let field = Field::new("brief.rule_text", &words.rule_text).hint(&words.rule_text_hint).error(error);
                field.text(argument, part)
            }
            AcceptRule::External(how) => {
                let error = how.trim().is_empty().then(|| words.rule_words_missing.clone());
                let field = Field::new("brief.rule_words", &words.rule_words).hint(&words.rule_words_hint).error(error);
                field.text(argument, how)
            }
            AcceptRule::MinChars(n) => {
                let mut value = Some(*n);
                let field = Field::new("brief.rule_chars", &words.rule_chars).unit(&words.unit_chars);
                let changed = field.whole32(argument, text, 1..=1_000_000, &mut value);
                *n = value.unwrap_or(1);
                changed
            }
        };
    });
}

/// A remark in the place of an argument, level with the control beside it.
fn note(ui: &mut Ui, words: &str) -> bool {
    let t = tokens(ui);
    ui.add_space(Font::Small.line() + t.space.s + 3.0);
    ui.label(Font::Small.rich(words).color(t.color.text_secondary));
    false
}

fn ownership(ui: &mut Ui, form: &mut Form<'_>) {
    let (text, words, gap) = (form.text, &form.text.brief, tokens(ui).space.m);
    columns(ui, gap, [1.0; 2], |[boundary, persist]| {
        let field = form.field("brief.data_boundary", text.name("data_boundary"), "data_boundary");
        let field = field.icon(icons::SHIELD_CHECK).hint(&words.hint_boundary);
        form.changed |= field.text(boundary, &mut form.brief.data_boundary);
        let field = form.field("brief.must_persist", text.name("must_persist"), "must_persist");
        form.changed |= field.hint(&words.hint_persist).text(persist, &mut form.brief.must_persist);
    });
    let field = Field::new("brief.fallback", text.name("fallback")).hint(&words.hint_fallback);
    form.changed |= field.text(ui, &mut form.brief.fallback);
    columns(ui, gap, [1.0; 3], |[owner, budget, stop]| {
        let field = form.field("brief.owner", text.name("owner"), "owner").hint(&words.hint_owner);
        form.changed |= field.text(owner, &mut form.brief.owner);
        let currency = form.brief.budget_month.map_or(Currency::USD, |money| money.currency);
        let field = form.field("brief.budget", text.name("budget_month"), "budget_month");
        let field = field.hint(&words.hint_budget).unit(&words.unit_month);
        form.changed |= field.money(budget, text, currency, &mut form.brief.budget_month);
        let field = form.field("brief.stop_rule", text.name("stop_rule"), "stop_rule").hint(&words.hint_stop);
        form.changed |= field.text(stop, &mut form.brief.stop_rule);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_kind_of_rule_keeps_the_words() {
        let rule = AcceptRule::External("score ≥ 0.80".into());
        assert_eq!(RuleKind::Contains.rule(&rule), AcceptRule::Contains("score ≥ 0.80".into()));
        assert_eq!(RuleKind::MinChars.rule(&rule), AcceptRule::MinChars(1));
        assert!(RuleKind::of(&RuleKind::Any.rule(&rule)) == RuleKind::Any);
    }
}
