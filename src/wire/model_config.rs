//! What a model's `config.json` (Hugging Face layout) says about its shape, and how many parameters that comes to.
//!
//! Parameters are counted only for dense decoders of the LLaMA kind, where the file says everything that is needed. For
//! anything else the count is left to a person, with the reason: a guess would look like a fact.

use serde_json::{Map, Value};

use crate::domain::brief::{Brief, Precision};
use crate::domain::failure::{Failure, FailureKind};

/// The most of such a file that is worth reading, bytes. Real ones stay below 100 kB.
pub const CAP: u64 = 1 << 20;

/// The shape of a model as its file states it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ModelConfig {
    /// Number of parameters, where the file is enough to count them.
    pub parameters: Option<u64>,
    /// Transformer layers that keep a KV cache.
    pub layers: Option<u32>,
    /// Hidden size.
    pub hidden: Option<u32>,
    /// Query heads.
    pub heads: Option<u32>,
    /// KV heads.
    pub kv_heads: Option<u32>,
    /// Size of one head.
    pub head_dim: Option<u32>,
    /// Vocabulary size.
    pub vocab: Option<u32>,
    /// Number format of the weights in the checkpoint.
    pub precision: Option<Precision>,
    /// What could not be taken from the file, and why.
    pub notes: Vec<Note>,
}

/// Why something is left to be typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// A mixture of experts: the file alone does not say how many parameters.
    Experts,
    /// An image, sound or video part with parameters of its own.
    OtherPart,
    /// An architecture whose parameters are not counted here: its `model_type`.
    Unfamiliar(String),
    /// A field that the count needs is not there.
    Lacks(&'static str),
    /// Latent attention: its cache does not follow from KV heads and head size.
    LatentAttention,
    /// Only some layers keep a cache that grows.
    HybridAttention,
}

impl Note {
    /// Name of its sentence for `Text::name`.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Experts => "model_note_experts",
            Self::OtherPart => "model_note_other_part",
            Self::Unfamiliar(_) => "model_note_unfamiliar",
            Self::Lacks(_) => "model_note_lacks",
            Self::LatentAttention => "model_note_latent",
            Self::HybridAttention => "model_note_hybrid",
        }
    }

    /// What fills the sentence's `{what}`, or nothing.
    #[must_use]
    pub fn what(&self) -> &str {
        match self {
            Self::Unfamiliar(kind) => kind,
            Self::Lacks(field) => field,
            _ => "",
        }
    }
}

impl ModelConfig {
    /// The brief with this model's facts. What the file does not say is emptied: facts of another model must not stay.
    /// A precision that somebody chose stays.
    #[must_use]
    pub fn put_into(&self, brief: &Brief) -> Brief {
        let mut brief = brief.clone();
        brief.model.parameters = self.parameters;
        brief.model.layers = self.layers;
        brief.model.hidden = self.hidden;
        brief.model.heads = self.heads;
        brief.model.kv_heads = self.kv_heads;
        brief.model.head_dim = self.head_dim;
        brief.model.vocab = self.vocab;
        brief.precision = brief.precision.or(self.precision);
        brief
    }
}

/// Decoders of the LLaMA kind: gated MLP with three matrices, two norms a layer, one at the end.
const LLAMA_LIKE: [(&str, Biases); 4] =
    [("llama", Biases::Configured), ("mistral", Biases::None), ("qwen2", Biases::Qkv), ("qwen3", Biases::Configured)];

/// Which attention matrices have a bias.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Biases {
    None,
    /// Query, key and value.
    Qkv,
    /// All four when `attention_bias` says so.
    Configured,
}

/// Reads a `config.json`. Where the language model is one part of a larger one (`text_config`), that part is read.
///
/// # Errors
/// `ModelConfigMalformed` when it is no JSON object, or names no layers, hidden size or heads, or one of its numbers
/// cannot be a size.
pub fn read(bytes: &[u8]) -> Result<ModelConfig, Failure> {
    let malformed = |cause: String| Failure::new(FailureKind::ModelConfigMalformed).because(cause);
    let root: Value = serde_json::from_slice(bytes).map_err(|error| malformed(error.to_string()))?;
    let Value::Object(root) = root else { return Err(malformed("{ … }".to_owned())) };
    let text = match root.get("text_config") {
        Some(Value::Object(text)) => text,
        _ => &root,
    };
    let size = |key: &'static str| size(text, key).map_err(malformed);
    let needed = |key: &'static str| size(key)?.ok_or_else(|| malformed(format!("{key}: ?")));
    let (layers, hidden, heads) =
        (needed("num_hidden_layers")?, needed("hidden_size")?, needed("num_attention_heads")?);
    let kind = text.get("model_type").or_else(|| root.get("model_type")).and_then(Value::as_str).unwrap_or_default();
    let like = LLAMA_LIKE.iter().find(|(name, _)| *name == kind).map(|(_, biases)| *biases);
    // The library's own defaults for these kinds; for others an absent field stays unknown.
    let kv_heads = size("num_key_value_heads")?.or(like.map(|_| heads));
    let head_dim = size("head_dim")?.or(like.filter(|_| hidden.is_multiple_of(heads)).map(|_| hidden / heads));
    let mut config = ModelConfig {
        parameters: None,
        layers: Some(layers),
        hidden: Some(hidden),
        heads: Some(heads),
        kv_heads,
        head_dim,
        vocab: size("vocab_size")?,
        precision: precision(&root, text),
        notes: Vec::new(),
    };
    if text.contains_key("kv_lora_rank") {
        config.notes.push(Note::LatentAttention);
        config.kv_heads = None;
        config.head_dim = None;
    }
    if is_hybrid(text) {
        config.notes.push(Note::HybridAttention);
        config.layers = None;
    }
    match parameters(&root, text, like, kind, &config) {
        Ok(n) => config.parameters = Some(n),
        Err(note) => config.notes.push(note),
    }
    Ok(config)
}

/// A size: a whole number above zero that fits 32 bits. `None` when the key is absent or null.
fn size(object: &Map<String, Value>, key: &str) -> Result<Option<u32>, String> {
    match object.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match value.as_u64().and_then(|n| u32::try_from(n).ok()).filter(|n| *n > 0) {
            Some(n) => Ok(Some(n)),
            None => Err(format!("{key}: {}", value.to_string().chars().take(40).collect::<String>())),
        },
    }
}

/// Whether some layers keep a fixed state instead of a cache that grows.
fn is_hybrid(text: &Map<String, Value>) -> bool {
    let is_linear = |layer: &Value| matches!(layer.as_str(), Some("linear_attention" | "mamba" | "recurrent"));
    text.contains_key("full_attention_interval")
        || text.get("layer_types").and_then(Value::as_array).is_some_and(|layers| layers.iter().any(is_linear))
}

/// Number format of the checkpoint's weights; `None` where it is not one of ours.
fn precision(root: &Map<String, Value>, text: &Map<String, Value>) -> Option<Precision> {
    let of = |key: &str| text.get(key).or_else(|| root.get(key));
    if let Some(quantised) = of("quantization_config") {
        let bits = quantised.get("bits").and_then(Value::as_u64);
        return match quantised.get("quant_method").and_then(Value::as_str)? {
            "fp8" => Some(Precision::Fp8),
            // Our 4-bit format is groups of 128 with zero points; other group sizes weigh differently.
            "awq" | "gptq" if bits == Some(4) && quantised.get("group_size").and_then(Value::as_u64) == Some(128) => {
                Some(Precision::Int4)
            }
            "gptq" if bits == Some(8) => Some(Precision::Int8),
            _ => None,
        };
    }
    match of("torch_dtype").or_else(|| of("dtype"))?.as_str()? {
        "bfloat16" => Some(Precision::Bf16),
        "float16" => Some(Precision::Fp16),
        "float32" => Some(Precision::Fp32),
        _ => None,
    }
}

/// Parameters of a dense decoder of the LLaMA kind, with h hidden, n query heads, k KV heads, d head size, I intermediate
/// size, V vocabulary, L layers:
///
/// `V·h·(2, or 1 when tied) + h + L·(h·n·d + 2·h·k·d + n·d·h + biases + 3·h·I + 2·h + (2·d with query and key norms))`
///
/// # Errors
/// Why it cannot be counted.
fn parameters(
    root: &Map<String, Value>,
    text: &Map<String, Value>,
    like: Option<Biases>,
    kind: &str,
    config: &ModelConfig,
) -> Result<u64, Note> {
    let experts = ["num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts"];
    if experts.iter().any(|key| text.get(*key).and_then(Value::as_u64).is_some_and(|n| n > 0)) {
        return Err(Note::Experts);
    }
    if ["vision_config", "audio_config", "speech_config"].iter().any(|key| root.contains_key(*key)) {
        return Err(Note::OtherPart);
    }
    let Some(biases) = like else { return Err(Note::Unfamiliar(kind.chars().take(40).collect())) };
    let wide = |value: Option<u32>, field| value.map(u128::from).ok_or(Note::Lacks(field));
    let h = wide(config.hidden, "hidden_size")?;
    let n = wide(config.heads, "num_attention_heads")?;
    let k = wide(config.kv_heads, "num_key_value_heads")?;
    let d = wide(config.head_dim, "head_dim")?;
    let layers = wide(config.layers, "num_hidden_layers")?;
    let vocab = wide(config.vocab, "vocab_size")?;
    let intermediate = wide(size(text, "intermediate_size").ok().flatten(), "intermediate_size")?;
    let says = |key: &str| text.get(key).or_else(|| root.get(key)).and_then(Value::as_bool).unwrap_or(false);
    let attention_biases = match biases {
        Biases::Qkv => n * d + 2 * k * d,
        Biases::Configured if says("attention_bias") => n * d + 2 * k * d + h,
        Biases::None | Biases::Configured => 0,
    };
    let mlp_biases = if kind == "llama" && says("mlp_bias") { 2 * intermediate + h } else { 0 };
    let head_norms = if kind == "qwen3" { 2 * d } else { 0 };
    let attention = h * n * d + 2 * h * k * d + n * d * h + attention_biases;
    let layer = attention + 3 * h * intermediate + mlp_biases + 2 * h + head_norms;
    let embeddings = if says("tie_word_embeddings") { vocab * h } else { 2 * vocab * h };
    // Sizes of 32 bits each cannot overflow 128 in a product of three; nobody's model has more than 2^63 parameters.
    u64::try_from(embeddings + h + layers * layer).ok().ok_or(Note::Lacks("num_hidden_layers"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(kind: &str, sizes: [u32; 7], more: &str) -> String {
        let [hidden, layers, heads, kv_heads, head_dim, intermediate, vocab] = sizes;
        format!(
            "{{\"model_type\": \"{kind}\", \"hidden_size\": {hidden}, \"num_hidden_layers\": {layers}, \
             \"num_attention_heads\": {heads}, \"num_key_value_heads\": {kv_heads}, \"head_dim\": {head_dim}, \
             \"intermediate_size\": {intermediate}, \"vocab_size\": {vocab}{more}}}"
        )
    }

    fn read_text(text: &str) -> ModelConfig {
        read(text.as_bytes()).unwrap()
    }

    /// Counts as the checkpoints' own tensor lists give them.
    #[test]
    fn parameters_are_those_of_known_models() {
        let untied = ", \"tie_word_embeddings\": false";
        let tied = ", \"tie_word_embeddings\": true";
        for (model, text, want) in [
            ("Qwen2.5-7B", config("qwen2", [3584, 28, 28, 4, 128, 18944, 152_064], untied), 7_615_616_512),
            ("Qwen2.5-0.5B", config("qwen2", [896, 24, 14, 2, 64, 4864, 151_936], tied), 494_032_768),
            ("Llama-3.1-8B", config("llama", [4096, 32, 32, 8, 128, 14336, 128_256], untied), 8_030_261_248),
            ("Llama-3.2-1B", config("llama", [2048, 16, 32, 8, 64, 8192, 128_256], tied), 1_235_814_400),
            ("Mistral-7B", config("mistral", [4096, 32, 32, 8, 128, 14336, 32_000], untied), 7_241_732_096),
            ("Qwen3-8B", config("qwen3", [4096, 36, 32, 8, 128, 12288, 151_936], untied), 8_190_735_360),
            ("Qwen3-0.6B", config("qwen3", [1024, 28, 16, 8, 128, 3072, 151_936], tied), 596_049_920),
        ] {
            assert_eq!(read_text(&text).parameters, Some(want), "{model}");
        }
    }

    #[test]
    fn reads_a_file_as_it_is_published() {
        let text = r#"{
            "architectures": ["Qwen2ForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 151643,
            "hidden_act": "silu", "hidden_size": 3584, "initializer_range": 0.02, "intermediate_size": 18944,
            "max_position_embeddings": 32768, "max_window_layers": 28, "model_type": "qwen2",
            "num_attention_heads": 28, "num_hidden_layers": 28, "num_key_value_heads": 4, "rms_norm_eps": 1e-06,
            "rope_theta": 1000000.0, "sliding_window": 131072, "tie_word_embeddings": false,
            "torch_dtype": "bfloat16", "transformers_version": "4.43.1", "use_cache": true,
            "use_sliding_window": false, "vocab_size": 152064
        }"#;
        let want = ModelConfig {
            parameters: Some(7_615_616_512),
            layers: Some(28),
            hidden: Some(3584),
            heads: Some(28),
            kv_heads: Some(4),
            head_dim: Some(128),
            vocab: Some(152_064),
            precision: Some(Precision::Bf16),
            notes: Vec::new(),
        };
        assert_eq!(read_text(text), want);
    }

    #[test]
    fn what_cannot_be_counted_is_left_open_with_its_reason() {
        let sizes = [2048, 48, 32, 4, 128, 6144, 151_936];
        for (case, text, note) in [
            ("experts", config("qwen3_moe", sizes, ", \"num_experts\": 128"), Note::Experts),
            ("a kind of its own", config("gemma2", sizes, ""), Note::Unfamiliar("gemma2".into())),
            (
                "one part of a larger model",
                format!(
                    "{{\"model_type\": \"x\", \"vision_config\": {{}}, \"text_config\": {}}}",
                    config("llama", sizes, "")
                ),
                Note::OtherPart,
            ),
            (
                "no intermediate size",
                config("llama", sizes, "").replace("\"intermediate_size\": 6144, ", ""),
                Note::Lacks("intermediate_size"),
            ),
        ] {
            let read = read_text(&text);
            assert_eq!((read.parameters, read.layers, read.notes), (None, Some(48), vec![note]), "{case}");
        }
    }

    #[test]
    fn a_cache_that_does_not_follow_from_heads_is_not_made_up() {
        let sizes = [7168, 61, 128, 128, 128, 18432, 129_280];
        let latent = read_text(&config("deepseek_v3", sizes, ", \"kv_lora_rank\": 512, \"n_routed_experts\": 256"));
        assert_eq!((latent.kv_heads, latent.head_dim), (None, None));
        assert_eq!(latent.notes, [Note::LatentAttention, Note::Experts]);
        let hybrid =
            read_text(&config("qwen3_next", sizes, ", \"layer_types\": [\"linear_attention\", \"full_attention\"]"));
        assert_eq!(hybrid.layers, None);
        assert_eq!(hybrid.notes.first(), Some(&Note::HybridAttention));
    }

    #[test]
    fn precision_is_the_checkpoints() {
        let with = |more: &str| read_text(&config("llama", [64, 2, 4, 4, 16, 128, 100], more)).precision;
        for (more, want) in [
            ("", None),
            (", \"dtype\": \"float16\"", Some(Precision::Fp16)),
            (
                ", \"torch_dtype\": \"bfloat16\", \"quantization_config\": {\"quant_method\": \"fp8\"}",
                Some(Precision::Fp8),
            ),
            (
                ", \"quantization_config\": {\"quant_method\": \"awq\", \"bits\": 4, \"group_size\": 128}",
                Some(Precision::Int4),
            ),
            (", \"quantization_config\": {\"quant_method\": \"awq\", \"bits\": 4, \"group_size\": 32}", None),
            (", \"torch_dtype\": \"bfloat16\", \"quantization_config\": {\"quant_method\": \"bitsandbytes\"}", None),
        ] {
            assert_eq!(with(more), want, "{more}");
        }
    }

    #[test]
    fn what_is_no_config_is_refused_with_its_cause() {
        for (text, cause) in [
            ("", "EOF while parsing a value at line 1 column 0"),
            ("[1]", "{ … }"),
            ("{}", "num_hidden_layers: ?"),
            ("{\"num_hidden_layers\": 28}", "hidden_size: ?"),
            ("{\"num_hidden_layers\": -1}", "num_hidden_layers: -1"),
            ("{\"num_hidden_layers\": 0}", "num_hidden_layers: 0"),
            ("{\"num_hidden_layers\": 2.5}", "num_hidden_layers: 2.5"),
            ("{\"num_hidden_layers\": 99999999999}", "num_hidden_layers: 99999999999"),
        ] {
            let want = Failure::new(FailureKind::ModelConfigMalformed).because(cause);
            assert_eq!(read(text.as_bytes()), Err(want), "{text}");
        }
    }

    #[test]
    fn facts_of_another_model_do_not_stay() {
        let mut brief = Brief { precision: Some(Precision::Fp8), ..Brief::default() };
        brief.model.parameters = Some(1);
        brief.model.name = "M".into();
        let read = read_text(&config("gemma2", [64, 2, 4, 4, 16, 128, 100], ", \"torch_dtype\": \"bfloat16\""));
        let brief = read.put_into(&brief);
        assert_eq!((brief.model.parameters, brief.model.layers), (None, Some(2)));
        assert_eq!((brief.model.name.as_str(), brief.precision), ("M", Some(Precision::Fp8)));
    }
}
