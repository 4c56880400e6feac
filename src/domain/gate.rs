//! The completeness gate: which fields of the brief can be tested, which are open, and why each matters.
//!
//! It never forbids going on; it says what stays open.

use super::brief::{AcceptRule, Brief, Lengths};
use super::format;
use super::text::{Text, fill};

/// Fewest golden prompts that can judge a 95 % share: with fewer, two wrong answers decide it.
pub const GOLDEN_PROMPTS: u32 = 40;

/// The gate of one brief.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Gate {
    /// Every field, in the order of the screen.
    pub fields: Vec<GateField>,
    /// Fields that can be tested as they are.
    pub filled: usize,
    /// All fields.
    pub total: usize,
}

impl Gate {
    /// Fields that are missing or weak, in order.
    pub fn open(&self) -> impl Iterator<Item = &GateField> {
        self.fields.iter().filter(|field| field.state != FieldState::Filled)
    }

    /// How many fields of a group are filled, of how many.
    #[must_use]
    pub fn of_group(&self, group: Group) -> (usize, usize) {
        let fields = || self.fields.iter().filter(|field| field.group == group);
        (fields().filter(|field| field.state == FieldState::Filled).count(), fields().count())
    }
}

/// A section of the brief.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Group {
    /// Outcome and model.
    OutcomeModel,
    /// Traffic.
    Traffic,
    /// Service-level objectives and acceptance.
    SloAcceptance,
    /// Boundary, persistence, ownership.
    Ownership,
}

impl Group {
    /// All four, in order.
    pub const ALL: [Self; 4] = [Self::OutcomeModel, Self::Traffic, Self::SloAcceptance, Self::Ownership];
}

/// Whether a field can be tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldState {
    /// It can.
    Filled,
    /// Nothing is written.
    Missing,
    /// Something is written that cannot do its job.
    Weak,
}

/// One field of the gate.
#[derive(Debug, Clone, PartialEq)]
pub struct GateField {
    /// Name for `Text::name` ("peak_rate").
    pub name: &'static str,
    /// The input to fix; differs from `name` where a field of the gate is written in several inputs.
    pub input: &'static str,
    /// Its section.
    pub group: Group,
    /// Whether it can be tested.
    pub state: FieldState,
    /// Name of the sentence that says why it matters, or what is weak about it ("why_peak_rate").
    pub why: &'static str,
    /// Values for the placeholders of that sentence.
    pub values: Vec<(&'static str, String)>,
}

impl GateField {
    /// Why it matters, in words.
    #[must_use]
    pub fn reason(&self, text: &Text) -> String {
        fill(text.name(self.why), &self.values)
    }
}

/// What a check of one field says.
struct Check {
    state: FieldState,
    input: &'static str,
    why: &'static str,
    values: Vec<(&'static str, String)>,
}

/// The gate of this brief: sixteen fields in four groups.
#[must_use]
pub fn gate(brief: &Brief) -> Gate {
    use Group::{OutcomeModel, Ownership, SloAcceptance, Traffic};
    let slo = &brief.slo;
    let fields = vec![
        field("outcome", OutcomeModel, words(&brief.outcome, "outcome", "why_outcome")),
        field("model", OutcomeModel, model(brief)),
        field("context_tokens", OutcomeModel, context(brief)),
        field("mean_rate", Traffic, rate(brief.mean_rate, "mean_rate", "why_mean_rate")),
        field("peak_rate", Traffic, peak(brief)),
        field("input_tokens", Traffic, lengths(brief.input_tokens, "input_tokens", "why_input_tokens")),
        field("output_tokens", Traffic, lengths(brief.output_tokens, "output_tokens", "why_output_tokens")),
        field("slo_ttft_p95", SloAcceptance, rate(slo.ttft_p95_ms, "slo_ttft_p95", "why_slo_ttft_p95")),
        field("slo_itl_p95", SloAcceptance, rate(slo.itl_p95_ms, "slo_itl_p95", "why_slo_itl_p95")),
        field("slo_error_share", SloAcceptance, error_share(slo.error_share)),
        field("acceptance_rule", SloAcceptance, acceptance(brief)),
        field("data_boundary", Ownership, words(&brief.data_boundary, "data_boundary", "why_data_boundary")),
        field("must_persist", Ownership, words(&brief.must_persist, "must_persist", "why_must_persist")),
        field("owner", Ownership, words(&brief.owner, "owner", "why_owner")),
        field("budget_month", Ownership, present(brief.budget_month.is_some(), "budget_month", "why_budget_month")),
        field("stop_rule", Ownership, words(&brief.stop_rule, "stop_rule", "why_stop_rule")),
    ];
    let filled = fields.iter().filter(|field| field.state == FieldState::Filled).count();
    let total = fields.len();
    Gate { fields, filled, total }
}

fn field(name: &'static str, group: Group, check: Check) -> GateField {
    GateField { name, input: check.input, group, state: check.state, why: check.why, values: check.values }
}

fn present(is_there: bool, input: &'static str, why: &'static str) -> Check {
    let state = if is_there { FieldState::Filled } else { FieldState::Missing };
    Check { state, input, why, values: Vec::new() }
}

fn weak(input: &'static str, why: &'static str) -> Check {
    Check { state: FieldState::Weak, input, why, values: Vec::new() }
}

fn words(text: &str, input: &'static str, why: &'static str) -> Check {
    present(!text.trim().is_empty(), input, why)
}

/// A number that must be above zero.
fn rate(value: Option<f64>, input: &'static str, why: &'static str) -> Check {
    match value {
        Some(value) if value > 0.0 => present(true, input, why),
        Some(_) => weak(input, "why_not_positive"),
        None => present(false, input, why),
    }
}

fn model(brief: &Brief) -> Check {
    let model = &brief.model;
    if model.name.trim().is_empty() {
        present(false, "model", "why_model")
    } else if model.revision.trim().is_empty() {
        weak("revision", "why_revision")
    } else if model.parameters.is_none()
        || model.layers.is_none()
        || model.kv_heads.is_none()
        || model.head_dim.is_none()
    {
        weak("model_shape", "why_model_shape")
    } else {
        present(true, "model", "why_model")
    }
}

fn context(brief: &Brief) -> Check {
    let Some(context) = brief.context_tokens else {
        return present(false, "context_tokens", "why_context_tokens");
    };
    if brief.precision.is_none() {
        return present(false, "precision", "why_precision");
    }
    let longest = brief.input_tokens.p95.unwrap_or(0).saturating_add(brief.output_tokens.p95.unwrap_or(0));
    if context < longest {
        let mut check = weak("context_tokens", "why_context_short");
        check.values.push(("need", format::count(u64::from(longest))));
        return check;
    }
    present(true, "context_tokens", "why_context_tokens")
}

fn peak(brief: &Brief) -> Check {
    match (brief.peak_rate, brief.mean_rate) {
        (Some(peak), Some(mean)) if peak < mean => weak("peak_rate", "why_peak_below_mean"),
        (peak, _) => rate(peak, "peak_rate", "why_peak_rate"),
    }
}

fn lengths(lengths: Lengths, input: &'static str, why: &'static str) -> Check {
    match (lengths.mean, lengths.p95) {
        (Some(0), _) => weak(input, "why_not_positive"),
        (Some(mean), Some(p95)) if p95 < mean => weak(input, "why_p95_below_mean"),
        (mean, p95) => present(mean.is_some() && p95.is_some(), input, why),
    }
}

fn error_share(share: Option<f64>) -> Check {
    match share {
        // Zero is a limit like any other; one or more would forbid nothing.
        Some(share) if (0.0..1.0).contains(&share) => present(true, "slo_error_share", "why_slo_error_share"),
        Some(_) => weak("slo_error_share", "why_error_share_range"),
        None => present(false, "slo_error_share", "why_slo_error_share"),
    }
}

fn acceptance(brief: &Brief) -> Check {
    if brief.acceptance == AcceptRule::NotStated {
        return present(false, "acceptance_rule", "why_acceptance_rule");
    }
    match brief.golden_prompts {
        None | Some(0) => present(false, "golden_prompts", "why_golden_prompts"),
        Some(n) if n < GOLDEN_PROMPTS => Check {
            state: FieldState::Weak,
            input: "golden_prompts",
            why: "why_golden_prompts_few",
            values: vec![
                ("have", n.to_string()),
                ("need", GOLDEN_PROMPTS.to_string()),
                ("points", format::fixed(100.0 / f64::from(n), 0)),
            ],
        },
        Some(_) => present(true, "acceptance_rule", "why_acceptance_rule"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::fixture::brief as full;
    use crate::domain::text::Language;

    #[test]
    fn sixteen_fields_in_four_groups() {
        let gate = gate(&full());
        assert_eq!((gate.filled, gate.total), (16, 16));
        assert_eq!(Group::ALL.map(|group| gate.of_group(group)), [(3, 3), (4, 4), (4, 4), (5, 5)]);
        assert_eq!(super::gate(&Brief::default()).filled, 0);
    }

    #[test]
    fn says_what_is_open_and_why() {
        type Case = (&'static str, fn(&mut Brief), &'static str, FieldState, &'static str);
        let cases: [Case; 11] = [
            (
                "few golden prompts",
                |b| b.golden_prompts = Some(12),
                "golden_prompts",
                FieldState::Weak,
                "why_golden_prompts_few",
            ),
            (
                "no rule",
                |b| b.acceptance = AcceptRule::NotStated,
                "acceptance_rule",
                FieldState::Missing,
                "why_acceptance_rule",
            ),
            ("no end", |b| b.stop_rule = "  ".into(), "stop_rule", FieldState::Missing, "why_stop_rule"),
            ("peak below mean", |b| b.peak_rate = Some(1.0), "peak_rate", FieldState::Weak, "why_peak_below_mean"),
            ("no requests", |b| b.mean_rate = Some(0.0), "mean_rate", FieldState::Weak, "why_not_positive"),
            (
                "short context",
                |b| b.context_tokens = Some(2048),
                "context_tokens",
                FieldState::Weak,
                "why_context_short",
            ),
            ("no precision", |b| b.precision = None, "precision", FieldState::Missing, "why_precision"),
            ("no revision", |b| b.model.revision.clear(), "revision", FieldState::Weak, "why_revision"),
            ("no shape", |b| b.model.kv_heads = None, "model_shape", FieldState::Weak, "why_model_shape"),
            ("mean only", |b| b.input_tokens.p95 = None, "input_tokens", FieldState::Missing, "why_input_tokens"),
            (
                "all may fail",
                |b| b.slo.error_share = Some(1.0),
                "slo_error_share",
                FieldState::Weak,
                "why_error_share_range",
            ),
        ];
        for (case, change, input, state, why) in cases {
            let mut brief = full();
            change(&mut brief);
            let gate = gate(&brief);
            let open: Vec<_> = gate.open().map(|field| (field.input, field.state, field.why)).collect();
            assert_eq!(open, [(input, state, why)], "{case}");
        }
    }

    #[test]
    fn every_name_and_reason_has_words() {
        let mut brief = full();
        brief.golden_prompts = Some(12);
        for language in Language::ALL {
            let text = Text::of(language);
            for field in gate(&Brief::default()).fields.into_iter().chain(gate(&brief).fields) {
                for name in [field.name, field.input, field.why] {
                    assert_ne!(text.name(name), name, "{language:?} lacks {name}");
                }
                assert!(!field.reason(text).contains('{'), "{}", field.why);
            }
        }
    }
}
