//! How a checkpoint is quantised, from the `quantization_config` of its configuration or a file of its own.

use serde_json::{Map, Value};

use super::matching::Pattern;
use super::{ModelSource, NoteKind};
use crate::domain::memory::facts::QuantGroup;

/// What is said of a checkpoint's quantisation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QuantRules {
    /// Method as stated ("awq", "compressed-tensors").
    pub method: String,
    /// Format within the method ("NVFP4", "pack-quantized", "nf4").
    pub format: Option<String>,
    /// Bits of a weight.
    pub bits: Option<u32>,
    /// Weights of one scale.
    pub group: Option<QuantGroup>,
    /// Whether groups have zero points beside their scales.
    pub has_zero_points: Option<bool>,
    /// Whether scales are quantised again.
    pub has_double_scales: Option<bool>,
    /// Whether several formats are in one checkpoint.
    pub is_mixed: bool,
    /// Number format of the KV cache that the checkpoint asks for.
    pub kv_format: Option<String>,
    /// Names and patterns of modules that are left alone, at most [`MAX_IGNORED`].
    pub ignored: Vec<String>,
    patterns: Vec<Pattern>,
}

/// The most names kept of a list of unquantised modules; the longest published lists have 2,000.
pub const MAX_IGNORED: usize = 20_000;

/// Methods that are known, and the bits of those that have but one.
const METHODS: &[(&str, Option<u32>)] = &[
    ("fp8", Some(8)),
    ("fbgemm_fp8", Some(8)),
    ("awq", None),
    ("gptq", None),
    ("auto-round", None),
    ("intel/auto-round", None),
    ("compressed-tensors", None),
    ("bitsandbytes", None),
    ("mxfp4", Some(4)),
    ("modelopt", None),
    ("modelopt_fp4", Some(4)),
    ("torchao", None),
    ("hqq", None),
    ("quark", None),
    ("w8a8", Some(8)),
];

impl QuantRules {
    /// Whether a module ("model.layers.3.mlp.gate") is left unquantised by the list.
    #[must_use]
    pub fn ignores(&self, module: &str) -> bool {
        self.patterns.iter().any(|pattern| pattern.matches(module))
    }

    /// Share of the layers in which the modules of a kind are left alone, 0 to 1: `of(layer)` names such a module
    /// ("model.layers.3.self_attn.q_proj"). `None` without layers.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "counts of layers")]
    pub fn share_ignored(&self, layers: u32, of: impl Fn(u32) -> String) -> Option<f64> {
        let layers = layers.min(10_000);
        let n = (0..layers).filter(|layer| self.ignores(&of(*layer))).count();
        (layers > 0).then(|| n as f64 / f64::from(layers))
    }

    fn ignore(&mut self, names: &Value, source: &mut ModelSource) {
        let names: Vec<&str> = match names {
            Value::Array(list) => list.iter().filter_map(Value::as_str).collect(),
            Value::String(name) => vec![name.as_str()],
            _ => return,
        };
        for name in names.into_iter().take(MAX_IGNORED.saturating_sub(self.ignored.len())) {
            match Pattern::read(name) {
                Some(pattern) => self.patterns.push(pattern),
                None => source.note(NoteKind::PatternUnread, name),
            }
            self.ignored.push(super::short(name));
        }
    }
}

/// Keys under which lists of unquantised modules stand.
const LISTS: &[&str] = &[
    "ignore",
    "ignored_layers",
    "exclude_modules",
    "exclude",
    "modules_to_not_convert",
    "llm_int8_skip_modules",
    "modules_to_exclude",
];

/// Reads a `quantization_config` into the source's facts and rules.
pub(super) fn read(config: &Map<String, Value>, source: &mut ModelSource) {
    let text = |key: &str| config.get(key).and_then(Value::as_str);
    let number =
        |keys: &[&str]| keys.iter().find_map(|key| config.get(*key)?.as_u64()).and_then(|n| u32::try_from(n).ok());
    let flag = |keys: &[&str]| keys.iter().find_map(|key| config.get(*key)?.as_bool());
    let algo = text("quant_algo");
    let Some(method) = text("quant_method").or(algo.map(|_| "modelopt")) else {
        if !config.is_empty() {
            source.note(NoteKind::UnknownQuantisation, "quant_method");
        }
        return;
    };
    let mut rules = QuantRules { method: super::short(method), ..QuantRules::default() };
    let known = METHODS.iter().find(|(name, _)| name.eq_ignore_ascii_case(method));
    if known.is_none() {
        source.note(NoteKind::UnknownQuantisation, method);
    }
    rules.bits = number(&["bits", "w_bit", "nbits", "weight_bits"]).or_else(|| known.and_then(|(_, bits)| *bits));
    rules.group = number(&["group_size", "q_group_size"]).filter(|n| *n > 0).map(QuantGroup::Run);
    rules.has_zero_points = flag(&["zero_point"]);
    if method.eq_ignore_ascii_case("gptq") || method.ends_with("auto-round") {
        // The format stores zero points whether or not they are needed.
        rules.has_zero_points = rules.has_zero_points.or(Some(true));
    }
    if let Some(Value::Array(block)) = config.get("weight_block_size")
        && let [Some(rows), Some(columns)] = [0, 1].map(|idx| block.get(idx).and_then(Value::as_u64))
        && let (Ok(rows), Ok(columns)) = (u32::try_from(rows), u32::try_from(columns))
    {
        rules.group = Some(QuantGroup::Block(rows, columns));
    }
    bits_and_bytes(config, &mut rules);
    if let Some(algo) = algo {
        algorithm(algo, &mut rules);
    }
    groups(config, &mut rules);
    rules.format = rules.format.or_else(|| text("format").or_else(|| text("packing_format")).map(super::short));
    rules.kv_format = text("kv_cache_quant_algo").or_else(|| text("kv_cache_scheme")).map(super::short);
    if rules.kv_format.is_none()
        && let Some(scheme) = config.get("kv_cache_scheme").and_then(Value::as_object)
    {
        let bits = scheme.get("num_bits").and_then(Value::as_u64);
        rules.kv_format = bits.map(|bits| format!("{bits}-bit"));
    }
    for key in LISTS {
        if let Some(list) = config.get(*key) {
            rules.ignore(list, source);
        }
    }
    if ["dynamic", "extra_config", "quantized_layers", "layer_quant_config"]
        .iter()
        .any(|key| config.get(*key).is_some_and(|value| value.as_object().is_some_and(|map| !map.is_empty())))
    {
        rules.is_mixed = true;
    }
    put(rules, source);
}

/// Puts the rules into the facts.
fn put(rules: QuantRules, source: &mut ModelSource) {
    if rules.is_mixed {
        source.note(NoteKind::QuantMixed, &rules.method);
    }
    source.set("quant_method", &rules.method);
    if let Some(bits) = rules.bits {
        source.set("quant_bits", bits);
    } else {
        source.note(NoteKind::Lacks, "quantization_config.bits");
    }
    match rules.group {
        Some(QuantGroup::Run(n)) => source.set("quant_group", n),
        Some(QuantGroup::Block(rows, columns)) => source.set("quant_group", format!("{rows}x{columns}")),
        None => {}
    }
    source.set("quant_ignore", rules.ignored.len());
    source.quant = Some(rules);
}

fn bits_and_bytes(config: &Map<String, Value>, rules: &mut QuantRules) {
    if !rules.method.eq_ignore_ascii_case("bitsandbytes") {
        return;
    }
    let on = |key: &str| config.get(key).and_then(Value::as_bool).unwrap_or(false);
    if on("load_in_4bit") || on("_load_in_4bit") {
        rules.bits = Some(4);
        let kind = config.get("bnb_4bit_quant_type").and_then(Value::as_str).unwrap_or("fp4");
        rules.format = Some(super::short(kind));
        rules.group = Some(QuantGroup::Run(64));
        rules.has_double_scales = Some(on("bnb_4bit_use_double_quant"));
    } else if on("load_in_8bit") || on("_load_in_8bit") {
        rules.bits = Some(8);
    }
}

/// modelopt's algorithms.
fn algorithm(algo: &str, rules: &mut QuantRules) {
    rules.format = Some(super::short(algo));
    let upper = algo.to_ascii_uppercase();
    if upper.contains("MIXED") {
        rules.is_mixed = true;
    } else if upper.contains("NVFP4") || upper.contains("FP4") {
        rules.bits = rules.bits.or(Some(4));
        rules.group = rules.group.or(Some(QuantGroup::Run(16)));
    } else if upper.starts_with("W4") || upper.contains("INT4") {
        rules.bits = rules.bits.or(Some(4));
    } else if upper.contains("FP8") || upper.starts_with("W8") || upper.contains("INT8") {
        rules.bits = rules.bits.or(Some(8));
    }
}

/// Groups of compressed-tensors and modelopt; the first counts, others make the checkpoint a mixed one.
fn groups(config: &Map<String, Value>, rules: &mut QuantRules) {
    let Some(groups) = config.get("config_groups").and_then(Value::as_object) else { return };
    let mut first: Option<(Option<u64>, Option<u64>)> = None;
    for group in groups.values().take(100) {
        let Some(weights) = group.get("weights").and_then(Value::as_object) else { continue };
        let number = |key: &str| weights.get(key).and_then(Value::as_u64);
        let own = (number("num_bits"), number("group_size"));
        match first {
            None => {
                first = Some(own);
                rules.bits = rules.bits.or(own.0.and_then(|n| u32::try_from(n).ok()));
                if let Some(n) = own.1.and_then(|n| u32::try_from(n).ok()).filter(|n| *n > 0) {
                    rules.group = rules.group.or(Some(QuantGroup::Run(n)));
                }
                if let Some(Value::Array(block)) = weights.get("block_structure")
                    && let [Some(rows), Some(columns)] = [0, 1].map(|idx| block.get(idx).and_then(Value::as_u64))
                    && let (Ok(rows), Ok(columns)) = (u32::try_from(rows), u32::try_from(columns))
                {
                    rules.group = Some(QuantGroup::Block(rows, columns));
                }
                if let Some(symmetric) = weights.get("symmetric").and_then(Value::as_bool) {
                    rules.has_zero_points = rules.has_zero_points.or(Some(!symmetric));
                }
            }
            Some(known) if known != own => rules.is_mixed = true,
            Some(_) => {}
        }
    }
}
