//! Lists of tensors: names, formats, shapes, exact bytes, and which part of the model each belongs to.

use std::collections::BTreeMap;

use crate::domain::memory::facts::ModelFacts;

/// One tensor as a header lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelTensor {
    /// Its name.
    pub name: String,
    /// Number format as the file calls it ("BF16", "Q4_K"); empty in a list of names.
    pub dtype: String,
    /// Sizes of its dimensions, as stored. GGUF states the fastest dimension first, safetensors last. Empty in a list
    /// of names.
    pub shape: Vec<u64>,
    /// Bytes it takes in the file. `None` in a list of names, or for a format that is not known.
    pub bytes: Option<u64>,
}

impl ModelTensor {
    /// Elements as stored; several weights may be packed into one. `None` where no shape is known or it overflows.
    #[must_use]
    pub fn elements(&self) -> Option<u64> {
        if self.dtype.is_empty() {
            return None;
        }
        self.shape.iter().try_fold(1_u64, |product, size| product.checked_mul(*size))
    }
}

/// Which part of a model a tensor belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TensorGroup {
    /// The embedding of tokens.
    Embedding,
    /// The output projection.
    Output,
    /// Attention with a cache: projections, biases, their norms.
    Attention,
    /// Linear attention and state-space mixers.
    LinearAttention,
    /// The indexer of sparse attention.
    Indexer,
    /// Dense feed-forward layers.
    Mlp,
    /// Routed experts.
    Experts,
    /// Shared experts.
    SharedExperts,
    /// Routers.
    Router,
    /// Norms of layers.
    Norm,
    /// The image or sound part with its projector.
    Vision,
    /// Layers for drafting several tokens.
    Draft,
    /// Anything else.
    Other,
}

/// What a group of tensors comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GroupTotal {
    /// Tensors.
    pub n_tensors: u64,
    /// Elements as stored.
    pub elements: u64,
    /// Bytes.
    pub bytes: u64,
    /// Bytes in 16-bit and wider float formats: what was not quantised.
    pub plain_bytes: u64,
}

/// The tensors of a model, or of one of its files.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TensorList {
    /// Tensors by name.
    pub tensors: Vec<ModelTensor>,
    /// Bytes of all tensors as an index states them; counts where the tensors themselves have no sizes.
    pub stated_bytes: Option<u64>,
    /// Files the tensors lie in.
    pub n_files: usize,
}

impl TensorList {
    /// Bytes of all tensors: summed, or else as stated. `None` when neither is known.
    #[must_use]
    pub fn total_bytes(&self) -> Option<u64> {
        let sum = self.tensors.iter().try_fold(0_u64, |sum, tensor| sum.checked_add(tensor.bytes?));
        sum.filter(|_| !self.tensors.is_empty()).or(self.stated_bytes)
    }

    /// Whether the list begins with the embedding and ends with the last norm, so that it is all of a model.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.tensors.iter().any(|tensor| group_of(&tensor.name, None) == TensorGroup::Embedding)
            && self.tensors.iter().any(|tensor| tensor.name.contains("norm") && layer_of(&tensor.name).is_none())
    }

    /// Whether every tensor has a size.
    #[must_use]
    pub fn has_sizes(&self) -> bool {
        !self.tensors.is_empty() && self.tensors.iter().all(|tensor| tensor.bytes.is_some())
    }

    /// Totals of each part. Empty in a list of names.
    #[must_use]
    pub fn by_group(&self) -> BTreeMap<TensorGroup, GroupTotal> {
        let mut groups: BTreeMap<TensorGroup, GroupTotal> = BTreeMap::new();
        let layers = self.draft_from();
        for tensor in &self.tensors {
            let Some(bytes) = tensor.bytes else { continue };
            let total = groups.entry(group_of(&tensor.name, layers)).or_default();
            total.n_tensors = total.n_tensors.saturating_add(1);
            total.elements = total.elements.saturating_add(tensor.elements().unwrap_or(0));
            total.bytes = total.bytes.saturating_add(bytes);
            if is_plain(&tensor.dtype) {
                total.plain_bytes = total.plain_bytes.saturating_add(bytes);
            }
        }
        groups
    }

    /// Bytes by number format.
    #[must_use]
    pub fn by_dtype(&self) -> BTreeMap<&str, u64> {
        let mut formats: BTreeMap<&str, u64> = BTreeMap::new();
        for tensor in &self.tensors {
            let total = formats.entry(tensor.dtype.as_str()).or_default();
            *total = total.saturating_add(tensor.bytes.unwrap_or(0));
        }
        formats
    }

    /// Bits an element over all tensors, as a GGUF file is described. `None` without sizes, or where weights are packed
    /// so that elements are not weights.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "a ratio of sizes below 2^53")]
    pub fn bits_per_element(&self) -> Option<f64> {
        let elements = self.tensors.iter().try_fold(0_u64, |sum, tensor| sum.checked_add(tensor.elements()?))?;
        (elements > 0).then_some(self.total_bytes()? as f64 * 8.0 / elements as f64)
    }

    /// Lists of several files as one; a name that both have counts once, with the size that is known.
    #[must_use]
    pub fn joined(self, other: Self) -> Self {
        let n_files = if self.has_sizes() && other.has_sizes() {
            self.n_files.saturating_add(other.n_files)
        } else {
            self.n_files.max(other.n_files)
        };
        let mut tensors: BTreeMap<String, ModelTensor> =
            self.tensors.into_iter().map(|tensor| (tensor.name.clone(), tensor)).collect();
        for tensor in other.tensors {
            match tensors.get(&tensor.name) {
                Some(own) if own.bytes.is_some() || tensor.bytes.is_none() => {}
                _ => {
                    tensors.insert(tensor.name.clone(), tensor);
                }
            }
        }
        Self {
            tensors: tensors.into_values().collect(),
            stated_bytes: self.stated_bytes.or(other.stated_bytes),
            n_files,
        }
    }

    /// The layer from which on tensors belong to drafting: DeepSeek-like checkpoints number those on.
    fn draft_from(&self) -> Option<u32> {
        let marks = [".eh_proj.", ".enorm.", ".hnorm.", ".nextn."];
        self.tensors
            .iter()
            .filter(|tensor| marks.iter().any(|mark| tensor.name.contains(mark)))
            .filter_map(|tensor| layer_of(&tensor.name))
            .min()
    }

    /// Facts that follow from names and shapes. `is_whole` when the list holds all tensors of the model, so that what is
    /// not in it is not in the model.
    #[must_use]
    pub fn facts(&self, is_whole: bool) -> ModelFacts {
        let mut facts = ModelFacts::default();
        let draft = self.draft_from();
        let has = |part: &str| self.tensors.iter().any(|tensor| tensor.name.contains(part));
        let set = |facts: &mut ModelFacts, column: &str, value: String| facts.set(column, &value).is_ok();
        let embedding = self.tensors.iter().find(|tensor| group_of(&tensor.name, draft) == TensorGroup::Embedding);
        // Only plain two-dimensional embeddings have the shape of the model.
        if let Some([a, b]) = embedding.filter(|tensor| is_plain(&tensor.dtype)).map(|tensor| tensor.shape.as_slice()) {
            set(&mut facts, "vocab", a.to_string());
            set(&mut facts, "hidden", b.to_string());
        }
        if !is_whole {
            return facts;
        }
        let language =
            |tensor: &&ModelTensor| !matches!(group_of(&tensor.name, draft), TensorGroup::Vision | TensorGroup::Draft);
        let last = self.tensors.iter().filter(language).filter_map(|tensor| layer_of(&tensor.name)).max();
        if let Some(last) = last {
            set(&mut facts, "layers", (u64::from(last) + 1).to_string());
        }
        let experts = self.tensors.iter().filter_map(|tensor| number_behind(&tensor.name, ".experts.")).max();
        if let Some(last) = experts {
            set(&mut facts, "moe_experts", (u64::from(last) + 1).to_string());
        }
        if embedding.is_some() {
            let has_output = self.tensors.iter().any(|tensor| group_of(&tensor.name, draft) == TensorGroup::Output);
            facts.tie_embeddings = Some(!has_output);
        }
        if has("q_proj.") || has("qkv_proj.") {
            facts.qkv_bias = Some(has(".q_proj.bias") || has(".qkv_proj.bias"));
            facts.qk_norm = Some(has(".q_norm.weight") || has(".q_layernorm.weight"));
        }
        if self.tensors.iter().any(|tensor| group_of(&tensor.name, draft) == TensorGroup::Vision) {
            facts.vision = Some(true);
        }
        facts
    }
}

/// Formats of weights that were not quantised.
fn is_plain(dtype: &str) -> bool {
    matches!(dtype.to_ascii_uppercase().as_str(), "BF16" | "F16" | "F32" | "F64")
}

/// The number behind these words in a name.
fn number_behind(name: &str, words: &str) -> Option<u32> {
    let rest = name.get(name.find(words)? + words.len()..)?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest.get(..end)?.parse().ok().filter(|n| *n < 100_000)
}

/// The layer that a tensor of a decoder stands in.
#[must_use]
pub fn layer_of(name: &str) -> Option<u32> {
    [".layers.", ".h.", ".blocks.", "layers.", "blk."].iter().find_map(|words| {
        let must_begin = !words.starts_with('.');
        if must_begin && !name.starts_with(words) { None } else { number_behind(name, words) }
    })
}

/// Which part of a model a tensor belongs to, by the names that Hugging Face checkpoints and GGUF files use. Layers from
/// `draft_from` on belong to drafting.
#[must_use]
pub fn group_of(name: &str, draft_from: Option<u32>) -> TensorGroup {
    let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
    let is_norm = has(&["norm", "ln_1", "ln_2", "ln_f"]);
    if has(&[
        "visual.",
        "vision",
        "image_newline",
        "mm_projector",
        "multi_modal_projector",
        "audio_tower",
        "embed_vision",
        "patch_embed",
        "v.blk.",
        "mm.",
    ]) && !name.starts_with("blk.")
    {
        return TensorGroup::Vision;
    }
    if name.starts_with("mtp.") || has(&[".mtp.", "mtp_block", ".nextn.", ".eh_proj."]) {
        return TensorGroup::Draft;
    }
    if let (Some(from), Some(layer)) = (draft_from, layer_of(name))
        && layer >= from
    {
        return TensorGroup::Draft;
    }
    if has(&["embed_tokens", "token_embd", "wte.", "word_embeddings.", "tok_embeddings", "embeddings.word"])
        && !has(&["per_layer"])
    {
        return TensorGroup::Embedding;
    }
    if has(&["lm_head", "embed_out"]) || name == "output.weight" || name == "output.bias" {
        return TensorGroup::Output;
    }
    if has(&[".indexer.", "indexer_"]) {
        return TensorGroup::Indexer;
    }
    if has(&["shared_expert", "shared_mlp", "_shexp", "share_expert"]) {
        return if has(&["gate_inp_shexp", "shared_expert_gate"]) {
            TensorGroup::Router
        } else {
            TensorGroup::SharedExperts
        };
    }
    if has(&[".experts.", "_exps.", ".experts_", "block_sparse_moe.experts"]) {
        return TensorGroup::Experts;
    }
    if has(&[".gate.weight", ".gate.e_score", ".gate.bias", ".router.", "ffn_gate_inp", "exp_probs_b", ".gate.tid2eid"])
        || name.ends_with(".router")
    {
        return TensorGroup::Router;
    }
    if has(&["linear_attn", "mamba", ".mixer.", ".ssm_", "conv1d", "in_proj_qkvz", "in_proj_ba", "delta_net"])
        && !has(&["mixer.q_proj", "mixer.k_proj", "mixer.v_proj", "mixer.o_proj", "mixer.up_proj", "mixer.down_proj"])
    {
        return TensorGroup::LinearAttention;
    }
    if has(&[
        "self_attn",
        "attention",
        ".attn.",
        ".attn_",
        "mixer.q_proj",
        "mixer.k_proj",
        "mixer.v_proj",
        "mixer.o_proj",
    ]) && !has(&["attention_norm", "attn_norm.", "post_attention", "attn_post_norm", "ln_attn"])
    {
        return TensorGroup::Attention;
    }
    if is_norm {
        return TensorGroup::Norm;
    }
    if has(&[".mlp.", ".ffn_", "feed_forward", ".mixer.up_proj", ".mixer.down_proj", ".mlp_"]) {
        return TensorGroup::Mlp;
    }
    TensorGroup::Other
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_every_family_find_their_part() {
        use TensorGroup::{
            Attention, Draft, Embedding, Experts, Indexer, LinearAttention, Mlp, Norm, Output, Router, SharedExperts,
            Vision,
        };
        for (name, want) in [
            ("model.embed_tokens.weight", Embedding),
            ("model.language_model.embed_tokens.weight", Embedding),
            ("token_embd.weight", Embedding),
            ("lm_head.weight", Output),
            ("output.weight", Output),
            ("output_norm.weight", Norm),
            ("model.layers.0.self_attn.q_proj.weight", Attention),
            ("model.layers.0.self_attn.q_norm.weight", Attention),
            ("model.layers.0.self_attn.kv_b_proj.weight_scale_inv", Attention),
            ("model.layers.0.self_attn.indexer.wk.weight", Indexer),
            ("blk.0.attn_q.weight", Attention),
            ("blk.0.attn_norm.weight", Norm),
            ("blk.0.attn_qkv.weight", Attention),
            ("blk.0.ssm_conv1d.weight", LinearAttention),
            ("model.layers.0.linear_attn.in_proj_qkv.weight", LinearAttention),
            ("backbone.layers.0.mixer.in_proj.weight", LinearAttention),
            ("backbone.layers.0.mixer.q_proj.weight", Attention),
            ("backbone.layers.1.mixer.experts.3.up_proj.weight", Experts),
            ("backbone.layers.1.mixer.gate.weight", Router),
            ("model.layers.3.mlp.experts.17.down_proj.weight", Experts),
            ("model.layers.3.mlp.experts.gate_up_proj_blocks", Experts),
            ("blk.3.ffn_gate_exps.weight", Experts),
            ("blk.3.ffn_up_shexp.weight", SharedExperts),
            ("blk.3.ffn_gate_inp.weight", Router),
            ("model.layers.3.mlp.shared_experts.up_proj.weight", SharedExperts),
            ("model.layers.3.mlp.gate.weight", Router),
            ("model.layers.3.mlp.gate_proj.weight", Mlp),
            ("model.layers.3.mlp.gate_up_proj.weight", Mlp),
            ("blk.3.ffn_down.weight", Mlp),
            ("blk.3.ffn_norm.weight", Norm),
            ("model.layers.3.post_attention_layernorm.weight", Norm),
            ("model.norm.weight", Norm),
            ("model.visual.blocks.0.attn.qkv.weight", Vision),
            ("vision_tower.encoder.layers.0.self_attn.q_proj.weight", Vision),
            ("mtp.layers.0.mlp.up_proj.weight", Draft),
            ("model.layers.61.self_attn.o_proj.weight", Draft),
        ] {
            assert_eq!(group_of(name, Some(61)), want, "{name}");
        }
    }
}
