//! The brief: the work to be done, written so that it can fail a test.

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use super::figure::{Answer, Figure, Gap, GapKind, Input, Origin};
use super::money::Money;

/// The written workload. A field that nobody filled in is `None`; it is never a default that looks like an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Brief {
    /// What the work is for, in a sentence.
    pub outcome: String,
    /// The model that does it.
    pub model: Model,
    /// Number format of the weights.
    pub precision: Option<Precision>,
    /// Number format of the KV cache; as the weights' activations (16-bit) when `None`.
    pub kv_precision: Option<Precision>,
    /// Longest context, tokens.
    pub context_tokens: Option<u32>,
    /// Mean arrival rate, requests a second.
    pub mean_rate: Option<f64>,
    /// Peak arrival rate, requests a second.
    pub peak_rate: Option<f64>,
    /// Prompt length, tokens.
    pub input_tokens: Lengths,
    /// Answer length, tokens.
    pub output_tokens: Lengths,
    /// Hours that one month is counted as; 730 unless changed.
    pub month_hours: Decimal,
    /// The service-level objectives.
    pub slo: Slo,
    /// When an answer counts as accepted.
    pub acceptance: AcceptRule,
    /// How many golden prompts are scored.
    pub golden_prompts: Option<u32>,
    /// Where data may be, in words.
    pub data_boundary: String,
    /// What must survive the rental, in words.
    pub must_persist: String,
    /// Who owns the work.
    pub owner: String,
    /// The most it may cost in a month; never below zero.
    #[serde(deserialize_with = "super::money::option_not_negative")]
    pub budget_month: Option<Money>,
    /// When the rental ends, in words.
    pub stop_rule: String,
    /// What happens when capacity disappears, in words.
    pub fallback: String,
}

impl Default for Brief {
    fn default() -> Self {
        Self {
            outcome: String::new(),
            model: Model::default(),
            precision: None,
            kv_precision: None,
            context_tokens: None,
            mean_rate: None,
            peak_rate: None,
            input_tokens: Lengths::default(),
            output_tokens: Lengths::default(),
            month_hours: Decimal::from(730),
            slo: Slo::default(),
            acceptance: AcceptRule::default(),
            golden_prompts: None,
            data_boundary: String::new(),
            must_persist: String::new(),
            owner: String::new(),
            budget_month: None,
            stop_rule: String::new(),
            fallback: String::new(),
        }
    }
}

/// SHA-256 of the brief's RON text: a record made under another brief is recognised by it.
///
/// `None` only when the brief cannot be written as RON, which a defect of the program alone can cause; it then equals
/// no recorded digest.
#[must_use]
pub fn brief_digest(brief: &Brief) -> Option<String> {
    ron::ser::to_string(brief).ok().map(|text| super::digest::sha256_hex(text.as_bytes()))
}

/// Requests of a day at the mean rate.
///
/// # Errors
/// The gap `BriefField` without a mean rate.
pub fn requests_a_day(brief: &Brief) -> Answer<f64> {
    let mean = brief.mean_rate.ok_or_else(|| Gap::new(GapKind::BriefField).with("field", "mean_rate"))?;
    let inputs = vec![Input::leaf("mean_rate", mean.to_string(), "req/s", Origin::Declared)];
    Ok(Figure::derived(mean * 86_400.0, "mean_rate × 86,400", inputs))
}

/// Mean and 95th percentile of a length, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Lengths {
    /// Mean.
    pub mean: Option<u32>,
    /// 95th percentile.
    pub p95: Option<u32>,
}

/// The model and the facts the memory estimate needs.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Model {
    /// Name as it is served ("Qwen2.5-7B-Instruct").
    pub name: String,
    /// Revision (a commit or tag of the weights).
    pub revision: String,
    /// Number of parameters.
    pub parameters: Option<u64>,
    /// Transformer layers.
    pub layers: Option<u32>,
    /// Hidden size.
    pub hidden: Option<u32>,
    /// Query heads.
    pub heads: Option<u32>,
    /// Key-value heads (grouped-query attention); equals `heads` for multi-head attention.
    pub kv_heads: Option<u32>,
    /// Size of one head. Read it, never hidden / heads when it is stated.
    pub head_dim: Option<u32>,
    /// Vocabulary size.
    pub vocab: Option<u32>,
}

/// Number format of weights or cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Precision {
    /// 32-bit float.
    Fp32,
    /// bfloat16.
    Bf16,
    /// 16-bit float.
    Fp16,
    /// 8-bit float.
    Fp8,
    /// 8-bit integer.
    Int8,
    /// 4-bit integer in groups of 128 with a 16-bit scale (AWQ, GPTQ).
    Int4,
}

impl Precision {
    /// Every precision, in the order a list offers them.
    pub const ALL: [Self; 6] = [Self::Bf16, Self::Fp16, Self::Fp8, Self::Int8, Self::Int4, Self::Fp32];

    /// The trade's name ("BF16").
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fp32 => "FP32",
            Self::Bf16 => "BF16",
            Self::Fp16 => "FP16",
            Self::Fp8 => "FP8",
            Self::Int8 => "INT8",
            Self::Int4 => "INT4 (g128)",
        }
    }

    /// Bytes of one parameter. INT4: 0.5 + 2/128 for the scale + 0.5/128 for the zero point.
    #[must_use]
    pub const fn bytes(self) -> f64 {
        match self {
            Self::Fp32 => 4.0,
            Self::Bf16 | Self::Fp16 => 2.0,
            Self::Fp8 | Self::Int8 => 1.0,
            Self::Int4 => 0.5 + 2.0 / 128.0 + 0.5 / 128.0,
        }
    }
}

/// Service-level objectives. Each is a limit at most, but throughput.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Slo {
    /// Start to first token, p95, ms.
    pub ttft_p95_ms: Option<f64>,
    /// Gap between neighbouring token events, p95, ms.
    pub itl_p95_ms: Option<f64>,
    /// Start to last token, p95, ms.
    pub e2e_p95_ms: Option<f64>,
    /// Share of requests that may fail, 0..1.
    pub error_share: Option<f64>,
    /// Output tokens a second, at least.
    pub output_tokens_per_sec: Option<f64>,
}

/// When an answer counts as accepted. Applied to each completed answer.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub enum AcceptRule {
    /// Nobody said; every completed answer counts and reports say so.
    #[default]
    NotStated,
    /// Every completed answer counts.
    AnyComplete,
    /// The answer holds this text.
    Contains(String),
    /// The answer has at least this many characters that are not blank.
    MinChars(u32),
    /// Checked outside, described in words; every completed answer counts here and reports say so.
    External(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_has_86_400_seconds() {
        let brief = Brief { mean_rate: Some(2.6), ..Brief::default() };
        let figure = requests_a_day(&brief).unwrap();
        assert!((figure.value - 224_640.0).abs() < 1e-6);
        assert_eq!(figure.origin, Origin::Derived { from_measured: false });
        assert_eq!(requests_a_day(&Brief::default()), Err(Gap::new(GapKind::BriefField).with("field", "mean_rate")));
    }
}
