//! Hugging Face's `config.json`, whatever family it describes, and files with only a list of quantisation.

use serde_json::{Map, Value};

use super::{ModelSource, NoteKind, SourceError, SourceErrorKind, SourceKind, quant};

/// What is known of a kind of model beyond its file: the library's defaults for what files leave out.
struct Family {
    /// `model_type` up to a `_text` at its end; with `*` at the end, everything that begins like this.
    kind: &'static str,
    /// Embeddings shared where the file does not say.
    tied: Option<bool>,
    /// Biases of query, key and value where the file does not say.
    qkv_bias: Option<bool>,
    /// Query and key normalised per head.
    qk_norm: Option<bool>,
    /// One layer in so many keeps all tokens, where a window is stated and its layers are not.
    full_every: Option<u32>,
    /// Matrices of a feed-forward layer, where not three.
    mlp_matrices: Option<u32>,
}

const fn family(kind: &'static str) -> Family {
    Family { kind, tied: Some(false), qkv_bias: None, qk_norm: None, full_every: None, mlp_matrices: None }
}

const fn normed(kind: &'static str) -> Family {
    Family { qk_norm: Some(true), ..family(kind) }
}

const fn biased(kind: &'static str) -> Family {
    Family { qkv_bias: Some(true), ..family(kind) }
}

/// A feed-forward part without a gate.
const fn plain(kind: &'static str) -> Family {
    Family { tied: None, mlp_matrices: Some(2), ..family(kind) }
}

const fn gemma(kind: &'static str, full_every: Option<u32>) -> Family {
    Family { tied: Some(true), qk_norm: None, full_every, ..family(kind) }
}

/// Kinds of models that are known; the first that fits counts.
const FAMILIES: &[Family] = &[
    family("llama"),
    Family { tied: None, qk_norm: None, ..family("llama4") },
    family("mistral"),
    family("mistral3"),
    family("ministral*"),
    family("mixtral"),
    biased("qwen2"),
    biased("qwen2_moe"),
    biased("qwen2_vl"),
    biased("qwen2_5_vl"),
    normed("qwen3*"),
    gemma("gemma", None),
    gemma("gemma2", Some(2)),
    Family { qk_norm: Some(true), ..gemma("gemma3", Some(6)) },
    Family { qk_norm: Some(true), ..gemma("gemma3n", Some(5)) },
    gemma("gemma4", Some(6)),
    family("phi3"),
    family("phimoe"),
    Family { full_every: Some(2), ..family("gpt_oss") },
    family("deepseek*"),
    family("kimi*"),
    Family { tied: None, ..family("minimax*") },
    Family { tied: None, ..family("glm*") },
    Family { tied: None, ..family("chatglm") },
    Family { tied: None, ..family("step*") },
    Family { tied: None, ..family("mimo*") },
    Family { tied: None, ..family("nemotron*") },
    Family { tied: None, ..family("laguna") },
    Family { tied: None, ..family("exaone*") },
    Family { tied: None, ..family("ernie4*") },
    Family { tied: None, ..family("hunyuan*") },
    Family { tied: None, ..family("granite*") },
    Family { tied: None, ..family("olmo*") },
    Family { tied: None, ..family("internlm*") },
    Family { tied: None, ..family("internvl*") },
    Family { tied: None, ..family("baichuan") },
    Family { tied: None, ..family("smollm3") },
    Family { tied: None, ..family("bamba") },
    Family { tied: None, ..family("jamba") },
    Family { tied: None, ..family("falcon_h1") },
    Family { tied: Some(true), full_every: Some(4), ..family("cohere2") },
    Family { tied: Some(true), ..family("cohere") },
    family("llava*"),
    family("pixtral"),
    plain("gpt2"),
    plain("gpt_neox"),
    plain("gptj"),
    plain("opt"),
    plain("phi"),
    plain("falcon"),
    plain("mpt"),
    plain("bloom"),
    plain("starcoder2"),
    plain("gpt_bigcode"),
];

fn family_of(kind: &str) -> Option<&'static Family> {
    let kind = kind.trim_end_matches("_text");
    FAMILIES.iter().find(|family| match family.kind.strip_suffix('*') {
        Some(start) => kind.starts_with(start),
        None => family.kind == kind,
    })
}

/// The file's objects: the language model's part, and the whole.
struct Parts<'a> {
    text: &'a Map<String, Value>,
    root: &'a Map<String, Value>,
}

impl<'a> Parts<'a> {
    /// A value of the language model's part, or else of the whole; null is none.
    fn get(&self, key: &str) -> Option<&'a Value> {
        self.text
            .get(key)
            .filter(|value| !value.is_null())
            .or_else(|| self.root.get(key).filter(|value| !value.is_null()))
    }

    fn first(&self, keys: &[&str]) -> Option<(&'a Value, String)> {
        keys.iter().find_map(|key| Some((self.get(key)?, (*key).to_owned())))
    }

    fn number(&self, keys: &[&str]) -> Option<u64> {
        self.first(keys)?.0.as_u64()
    }

    fn flag(&self, keys: &[&str]) -> Option<bool> {
        self.first(keys)?.0.as_bool()
    }

    fn text(&self, keys: &[&str]) -> Option<&'a str> {
        self.first(keys)?.0.as_str()
    }

    fn list(&self, keys: &[&str]) -> Option<&'a Vec<Value>> {
        self.first(keys)?.0.as_array()
    }
}

/// Parts that hold the language model of a larger one.
const TEXT_PARTS: &[&str] =
    &["text_config", "llm_config", "language_config", "language_model_config", "text_model_config", "thinker_config"];

/// Reads a `config.json`, or a file with only a list of quantisation.
///
/// # Errors
/// It is no valid JSON object, or names no part of a model.
pub(super) fn read(text: &[u8]) -> Result<ModelSource, SourceError> {
    let root: Value = serde_json::from_slice(text)
        .map_err(|error| SourceError::new(SourceErrorKind::BrokenJson, error.to_string()))?;
    let Value::Object(root) = root else {
        return Err(SourceError::new(SourceErrorKind::NoModel, "{ … }"));
    };
    let mut inner = &root;
    // Some models hold their language model two levels down.
    for _ in 0..2 {
        match TEXT_PARTS.iter().find_map(|key| inner.get(*key)?.as_object()) {
            Some(part) => inner = part,
            None => break,
        }
    }
    let parts = Parts { text: inner, root: &root };
    let is_model =
        ["num_hidden_layers", "hidden_size", "num_attention_heads", "n_layer", "n_embd", "d_model", "n_layers"];
    if is_model.iter().all(|key| parts.get(key).is_none()) {
        return read_quant_alone(&root);
    }
    let mut source = ModelSource::new(SourceKind::Config);
    if let Some(name) = root.get("_name_or_path").and_then(Value::as_str) {
        source.facts.model = super::short(name);
    }
    let kind = parts.text(&["model_type"]).unwrap_or_default();
    let family =
        family_of(kind).or_else(|| family_of(root.get("model_type").and_then(Value::as_str).unwrap_or_default()));
    if family.is_none() {
        let class = parts.list(&["architectures"]).and_then(|list| list.first()).and_then(Value::as_str);
        source.note(NoteKind::UnknownArchitecture, if kind.is_empty() { class.unwrap_or("model_type") } else { kind });
    }
    sizes(&parts, &mut source);
    attention(&parts, family, kind, &mut source);
    experts(&parts, &mut source);
    mixes(&parts, family, kind, &mut source);
    state_space(&parts, &mut source);
    rest(&parts, family, kind, &mut source);
    let quantised =
        parts.get("quantization_config").or_else(|| parts.get("compression_config")).and_then(Value::as_object);
    if let Some(config) = quantised {
        quant::read(config, &mut source);
    }
    for column in ["layers", "hidden", "heads", "vocab"] {
        let known = match column {
            "layers" => source.facts.layers.is_some(),
            "hidden" => source.facts.hidden.is_some(),
            "heads" => source.facts.heads.is_some(),
            _ => source.facts.vocab.is_some(),
        };
        if !known {
            source.note(NoteKind::Lacks, column);
        }
    }
    Ok(source)
}

/// `hf_quant_config.json` has its list under `quantization`; `quantize_config.json` is the list.
fn read_quant_alone(root: &Map<String, Value>) -> Result<ModelSource, SourceError> {
    let mut config = match root.get("quantization").or_else(|| root.get("quantization_config")) {
        Some(Value::Object(config)) => config.clone(),
        _ => root.clone(),
    };
    // Old files of GPTQ and AWQ do not name their method.
    if !config.contains_key("quant_method") && !config.contains_key("quant_algo") {
        let method = if config.contains_key("desc_act") || config.contains_key("damp_percent") {
            "gptq"
        } else if config.contains_key("w_bit") || config.contains_key("q_group_size") {
            "awq"
        } else {
            return Err(SourceError::new(SourceErrorKind::NoModel, "num_hidden_layers, hidden_size"));
        };
        config.insert("quant_method".to_owned(), Value::String(method.to_owned()));
    }
    let mut source = ModelSource::new(SourceKind::QuantConfig);
    quant::read(&config, &mut source);
    if source.quant.is_none() {
        return Err(SourceError::new(SourceErrorKind::NoModel, "quant_method"));
    }
    Ok(source)
}

/// Takes the first of these keys that is stated. A list with the same number for every layer is that number; other lists
/// are named.
fn take(parts: &Parts<'_>, source: &mut ModelSource, column: &str, keys: &[&str]) {
    let Some((value, key)) = parts.first(keys) else { return };
    match value {
        Value::Array(list) => {
            let numbers: Vec<u64> = list.iter().filter_map(Value::as_u64).collect();
            let most = numbers.iter().copied().max();
            if numbers.iter().any(|n| Some(*n) != most) || numbers.len() != list.len() {
                source.note(NoteKind::LayersDiffer, &key);
            }
            if let Some(n) = most {
                source.set(column, n);
            }
        }
        Value::Number(n) => source.set(column, n),
        other => source.note(NoteKind::BadValue, format!("{key} {other}")),
    }
}

fn sizes(parts: &Parts<'_>, source: &mut ModelSource) {
    for (column, keys) in [
        ("layers", &["num_hidden_layers", "n_layer", "num_layers", "n_layers"][..]),
        ("hidden", &["hidden_size", "n_embd", "d_model"][..]),
        ("heads", &["num_attention_heads", "n_head", "n_heads"][..]),
        ("kv_heads", &["num_key_value_heads", "num_kv_heads", "multi_query_group_num", "n_head_kv"][..]),
        ("vocab", &["vocab_size", "padded_vocab_size"][..]),
        ("max_position", &["max_position_embeddings", "max_sequence_length", "seq_length", "n_positions"][..]),
        ("intermediate", &["intermediate_size", "ffn_hidden_size", "ffn_dim", "n_inner"][..]),
        ("head_dim", &["head_dim", "kv_channels"][..]),
        ("q_lora_rank", &["q_lora_rank"][..]),
        ("kv_lora_rank", &["kv_lora_rank"][..]),
        ("qk_nope_head_dim", &["qk_nope_head_dim"][..]),
        ("qk_rope_head_dim", &["qk_rope_head_dim"][..]),
        ("v_head_dim", &["v_head_dim"][..]),
        ("kv_shared_global_heads", &["num_global_key_value_heads"][..]),
        ("global_head_dim", &["global_head_dim"][..]),
        ("kv_shared_layers", &["num_kv_shared_layers"][..]),
        ("index_heads", &["index_n_heads"][..]),
        ("index_head_dim", &["index_head_dim"][..]),
        ("linear_k_heads", &["linear_num_key_heads"][..]),
        ("linear_k_head_dim", &["linear_key_head_dim"][..]),
        ("linear_v_heads", &["linear_num_value_heads"][..]),
        ("linear_v_head_dim", &["linear_value_head_dim"][..]),
        ("linear_conv", &["linear_conv_kernel_dim"][..]),
    ] {
        take(parts, source, column, keys);
    }
}

fn attention(parts: &Parts<'_>, family: Option<&Family>, kind: &str, source: &mut ModelSource) {
    // Where sliding layers have heads of their own, the plain ones are those of the layers that keep all tokens.
    if let Some(sliding) = parts.number(&["swa_num_key_value_heads"])
        && source.facts.kv_heads.is_some_and(|heads| u64::from(heads) != sliding)
    {
        source.facts.kv_shared_global_heads = source.facts.kv_heads;
        source.set("kv_heads", sliding);
    }
    let facts = &mut source.facts;
    let is_latent = facts.kv_lora_rank.is_some();
    if facts.kv_heads.is_none() && parts.flag(&["multi_query"]) == Some(true) {
        facts.kv_heads = Some(1);
    }
    if facts.kv_heads.is_none()
        && let Some(heads) = facts.heads
    {
        facts.kv_heads = Some(heads);
        if !is_latent && !matches!(family, Some(Family { mlp_matrices: Some(2), .. })) {
            source.note(NoteKind::KvHeadsAssumed, "num_key_value_heads");
        }
    }
    let facts = &mut source.facts;
    if facts.head_dim.is_none() && !is_latent {
        facts.head_dim = match (kind, facts.hidden, facts.heads) {
            // These do not divide the hidden size where the file leaves the size out.
            (kind, ..) if kind.starts_with("gemma") => Some(256),
            (kind, ..) if kind.starts_with("qwen3") => Some(128),
            (_, Some(hidden), Some(heads)) if heads > 0 && hidden % heads == 0 => Some(hidden / heads),
            _ => None,
        };
    }
    facts.qkv_bias = parts
        .flag(&["attention_bias", "qkv_bias", "use_qkv_bias", "add_qkv_bias", "use_bias"])
        .or_else(|| family.and_then(|family| family.qkv_bias));
    facts.qk_norm =
        parts.flag(&["use_qk_norm", "qk_norm", "qk_layernorm"]).or_else(|| family.and_then(|family| family.qk_norm));
    facts.attn_output_gate = parts.flag(&["attn_output_gate"]).or((kind == "qwen3_next").then_some(true));
    facts.k_eq_v = parts.flag(&["attention_k_eq_v"]);
    facts.tie_embeddings = parts.flag(&["tie_word_embeddings"]).or_else(|| family.and_then(|family| family.tied));
}

fn experts(parts: &Parts<'_>, source: &mut ModelSource) {
    for (column, keys) in [
        (
            "moe_experts",
            &["num_experts", "n_routed_experts", "num_local_experts", "moe_num_experts", "num_routed_experts"][..],
        ),
        (
            "experts_per_tok",
            &[
                "num_experts_per_tok",
                "num_experts_per_token",
                "experts_per_token",
                "top_k_experts",
                "moe_topk",
                "moe_k",
            ][..],
        ),
        ("moe_intermediate", &["moe_intermediate_size", "expert_ffn_hidden_size", "moe_ffn_hidden_size"][..]),
        (
            "shared_experts",
            &["n_shared_experts", "num_shared_experts", "num_shared_expert", "moe_num_shared_experts"][..],
        ),
        (
            "shared_intermediate",
            &["shared_expert_intermediate_size", "moe_shared_expert_intermediate_size", "share_expert_dim"][..],
        ),
        ("first_dense_layers", &["first_k_dense_replace", "num_dense_layers"][..]),
    ] {
        take(parts, source, column, keys);
    }
    let facts = &mut source.facts;
    if facts.moe_experts.unwrap_or(0) == 0 {
        return;
    }
    // One size stated without a count is one shared expert of that size.
    if facts.shared_experts.is_none() {
        facts.shared_experts = facts.shared_intermediate;
    }
    // A dense part beside the experts of each layer weighs like a shared expert.
    if parts.flag(&["enable_moe_block"]) == Some(true) {
        facts.shared_intermediate = facts.shared_intermediate.or(facts.intermediate);
    }
    let is_llama4 = parts.number(&["intermediate_size_mlp"]).is_some();
    if is_llama4 {
        // The plain size is that of the experts there, and one shared expert has it too.
        facts.moe_intermediate = facts.moe_intermediate.or(facts.intermediate);
        facts.shared_experts = facts.shared_experts.or(Some(1));
        facts.shared_intermediate = facts.shared_intermediate.or(facts.moe_intermediate);
        take(parts, source, "intermediate", &["intermediate_size_mlp"]);
    }
    let Some(layers) = source.facts.layers else { return };
    let sparse = sparse_layers(parts, layers);
    if let Some((first_dense, n)) = sparse {
        if source.facts.first_dense_layers.is_none() && first_dense > 0 && first_dense.saturating_add(n) == layers {
            source.set("first_dense_layers", first_dense);
        } else if n < layers && source.facts.first_dense_layers.is_none() {
            source.set("moe_layers", n);
        }
    }
}

/// How many layers come before the first with experts, and how many have them; `None` when the file does not single
/// any out.
fn sparse_layers(parts: &Parts<'_>, layers: u32) -> Option<(u32, u32)> {
    let is_sparse: Vec<bool> = if let Some(list) = parts.list(&["moe_layer_freq", "mlp_layer_types"]) {
        let truth = |value: &Value| value.as_u64().map_or(value.as_str() == Some("sparse"), |n| n != 0);
        list.iter().map(truth).collect()
    } else if let Some(step) = parts.number(&["decoder_sparse_step", "interleave_moe_layer_step"]) {
        let only: Vec<u64> = parts
            .list(&["mlp_only_layers"])
            .map(|list| list.iter().filter_map(Value::as_u64).collect())
            .unwrap_or_default();
        let step = step.max(1);
        (0..u64::from(layers.min(10_000))).map(|layer| (layer + 1) % step == 0 && !only.contains(&layer)).collect()
    } else if let Some(list) = parts.list(&["moe_layers"]) {
        let own: Vec<u64> = list.iter().filter_map(Value::as_u64).collect();
        (0..u64::from(layers.min(10_000))).map(|layer| own.contains(&layer)).collect()
    } else if let Some(every) = parts.number(&["moe_layer_freq", "expert_layer_period"]).filter(|every| *every > 1) {
        let offset = parts.number(&["expert_layer_offset"]).unwrap_or(0);
        (0..u64::from(layers.min(10_000))).map(|layer| layer % every == offset % every).collect()
    } else {
        return None;
    };
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let first = is_sparse.iter().position(|sparse| *sparse)?;
    Some((count(first), count(is_sparse.iter().filter(|sparse| **sparse).count())))
}

/// Which layers keep all tokens, which a window, which a state.
fn mixes(parts: &Parts<'_>, family: Option<&Family>, kind: &str, source: &mut ModelSource) {
    let layers = source.facts.layers;
    let slides = parts.flag(&["use_sliding_window"]) != Some(false);
    if slides {
        take(parts, source, "sliding_window", &["sliding_window", "sliding_window_size"]);
    }
    if let Some(list) = parts.list(&["layer_types", "layers_block_type"]) {
        let count = |names: &[&str]| list.iter().filter_map(Value::as_str).filter(|name| names.contains(name)).count();
        let full = count(&["full_attention", "global_attention", "attention"]);
        let linear = count(&["linear_attention", "kda"]);
        let sliding = count(&["sliding_attention", "chunked_attention"]);
        let state = count(&["mamba", "mamba2", "recurrent"]);
        if full + linear + sliding + state == 0 {
            source.note(NoteKind::LayersDiffer, "layer_types");
            return;
        }
        if linear + sliding + state > 0 {
            source.set("full_attn_layers", full);
            source.set("linear_attn_layers", linear);
        }
        if state > 0 {
            source.set("mamba_layers", state);
        }
        return;
    }
    let Some(layers) = layers else { return };
    if let Some(every) = parts.number(&["full_attention_interval"]).filter(|every| *every > 0) {
        let full = u64::from(layers) / every;
        source.set("full_attn_layers", full);
        source.set("linear_attn_layers", u64::from(layers) - full);
        return;
    }
    if let Some(kda) = parts.get("linear_attn_config").and_then(Value::as_object) {
        kimi_linear(kda, source);
        return;
    }
    if let Some(list) = parts.list(&["attn_type_list"]) {
        let full = list.iter().filter(|kind| kind.as_u64() == Some(1)).count();
        if full < list.len() {
            source.set("full_attn_layers", full);
            source.set("linear_attn_layers", list.len() - full);
        }
        return;
    }
    if source.facts.sliding_window.unwrap_or(0) > 0 {
        sliding(parts, family, kind, layers, source);
    }
}

/// Kimi's linear attention: the layers of each kind as lists.
fn kimi_linear(config: &Map<String, Value>, source: &mut ModelSource) {
    let count = |key: &str| config.get(key).and_then(Value::as_array).map(Vec::len);
    if let Some(n) = count("full_attn_layers") {
        source.set("full_attn_layers", n);
    }
    if let Some(n) = count("kda_layers") {
        source.set("linear_attn_layers", n);
    }
    for (key, columns) in [
        ("num_heads", &["linear_k_heads", "linear_v_heads"][..]),
        ("head_dim", &["linear_k_head_dim", "linear_v_head_dim"][..]),
        ("short_conv_kernel_size", &["linear_conv"][..]),
    ] {
        if let Some(n) = config.get(key).and_then(Value::as_u64) {
            for column in columns {
                source.set(column, n);
            }
        }
    }
}

/// Layers that keep all tokens among those with a window, in the ways files say it.
fn sliding(parts: &Parts<'_>, family: Option<&Family>, kind: &str, layers: u32, source: &mut ModelSource) {
    if let Some(list) = parts.list(&["hybrid_layer_pattern"]) {
        source.set("full_attn_layers", list.iter().filter(|kind| kind.as_u64() == Some(0)).count());
        return;
    }
    let full = match parts.get("sliding_window_pattern") {
        Some(Value::String(pattern)) if !pattern.is_empty() => {
            let letters: Vec<char> = pattern.chars().take(1_000).collect();
            let full = letters.iter().cycle().take(usize::try_from(layers.min(10_000)).unwrap_or(0));
            u32::try_from(full.filter(|letter| **letter == 'G').count()).ok()
        }
        Some(value) => {
            value.as_u64().and_then(|every| u32::try_from(every).ok()).filter(|n| *n > 0).map(|n| layers / n)
        }
        None => None,
    };
    let every = parts.number(&["global_attn_every_n_layers"]).and_then(|n| u32::try_from(n).ok()).filter(|n| *n > 0);
    let full = full.or(every.map(|every| layers / every));
    let full = full.or_else(|| family.and_then(|family| family.full_every).map(|every| layers / every));
    if let Some(full) = full {
        source.set("full_attn_layers", full);
    } else if parts.flag(&["use_sliding_window"]) == Some(true)
        && let Some(first) = parts.number(&["max_window_layers"])
    {
        // The first so many layers keep all tokens there.
        source.set("full_attn_layers", first.min(u64::from(layers)));
    } else if kind == "mistral" || kind == "phi3" || kind == "mixtral" {
        source.set("full_attn_layers", 0);
    } else {
        source.note(NoteKind::SlidingUnknown, "sliding_window");
    }
}

/// State-space mixers beside or instead of attention.
fn state_space(parts: &Parts<'_>, source: &mut ModelSource) {
    let pattern = parts.text(&["hybrid_override_pattern"]);
    let has_mixer = pattern.is_some()
        || source.facts.mamba_layers.is_some()
        || parts.first(&["mamba_num_heads", "mamba_n_heads", "mamba_d_state"]).is_some();
    if !has_mixer {
        return;
    }
    for (column, keys) in [
        ("mamba_heads", &["mamba_num_heads", "mamba_n_heads"][..]),
        ("mamba_head_dim", &["mamba_head_dim", "mamba_d_head"][..]),
        ("mamba_state", &["ssm_state_size", "mamba_d_state", "state_size"][..]),
        ("mamba_groups", &["n_groups", "mamba_n_groups"][..]),
        ("linear_conv", &["conv_kernel", "mamba_d_conv"][..]),
    ] {
        take(parts, source, column, keys);
    }
    if let Some(pattern) = pattern {
        let count = |letter: char| pattern.chars().take(100_000).filter(|c| *c == letter).count();
        source.set("mamba_layers", count('M'));
        source.set("full_attn_layers", count('*'));
        if count('E') > 0 {
            source.set("moe_layers", count('E'));
        }
        if source.facts.layers.is_none() {
            source.set("layers", pattern.chars().take(100_000).count());
        }
        return;
    }
    let layers = u64::from(source.facts.layers.unwrap_or(0));
    let own = parts.list(&["attn_layer_indices"]).map(|list| u64::try_from(list.len()).unwrap_or(0));
    let every = parts.number(&["attn_layer_period"]).filter(|every| *every > 0).map(|every| layers / every);
    if let Some(full) = own.or(every).filter(|full| *full <= layers)
        && source.facts.mamba_layers.is_none()
    {
        source.set("full_attn_layers", full);
        source.set("mamba_layers", layers - full);
    }
}

fn rest(parts: &Parts<'_>, family: Option<&Family>, kind: &str, source: &mut ModelSource) {
    if let Some(dtype) = parts.text(&["torch_dtype", "dtype"]) {
        source.set("torch_dtype", dtype.trim_start_matches("torch."));
    }
    let is_part =
        |key: &str| parts.root.get(key).or_else(|| parts.text.get(key)).is_some_and(|value| value.is_object());
    if ["vision_config", "visual", "vision_tower_config", "vit_config"].iter().any(|key| is_part(key)) {
        source.facts.vision = Some(true);
        source.note(NoteKind::OtherPart, "vision_config");
    }
    for key in ["audio_config", "speech_config", "encoder_config"] {
        if is_part(key) {
            source.note(NoteKind::OtherPart, key);
        }
    }
    if parts.number(&["hidden_size_per_layer_input"]).is_some_and(|n| n > 0) {
        source.note(NoteKind::OtherPart, "hidden_size_per_layer_input");
    }
    let act = parts.text(&["mlp_hidden_act", "hidden_act"]).unwrap_or_default();
    source.facts.mlp_matrices = if act == "relu2" { Some(2) } else { family.and_then(|family| family.mlp_matrices) };
    if parts.get("block_configs").is_some() {
        source.note(NoteKind::LayersDiffer, "block_configs");
    }
    if parts.text(&["expert_dtype"]).is_some() {
        source.note(NoteKind::QuantMixed, "expert_dtype");
    }
    // modelopt's older checkpoints keep their list beside the configuration.
    if parts.get("quantization_config").is_none() && (kind.contains("fp4") || parts.root.contains_key("producer")) {
        source.note(NoteKind::QuantElsewhere, "hf_quant_config.json");
    }
}
