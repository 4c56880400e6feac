//! Sizes that training needs from a model's facts: weights by kind, and what a layer keeps of a token.

use crate::domain::memory::ModelFacts;

/// Counts in elements.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sizes {
    /// Decoder layers.
    pub layers: f64,
    /// Hidden size.
    pub hidden: f64,
    /// Vocabulary.
    pub vocab: f64,
    /// Query heads.
    pub heads: f64,
    /// Weights of all linear layers of the decoder: what a quantised base quantises.
    pub linear: f64,
    /// Embedding, and the output projection where it is not the embedding.
    pub vocabulary: f64,
    /// The embedding alone.
    pub embedding: f64,
    /// Norms, biases, routers: never quantised.
    pub small: f64,
    /// Weights of the largest layer.
    pub layer: f64,
    /// Feed-forward vectors that one token goes through, in elements.
    pub token_mlp: f64,
    /// The same that is worked on at one time: experts are gone through one after the other.
    pub part_mlp: f64,
    /// Feed-forward parts (experts, shared and dense ones) of all layers.
    pub mlp_parts: f64,
    /// Width of all query heads.
    pub query: f64,
    /// Width of all KV heads.
    pub kv: f64,
    /// Widths of the routed experts, dense and shared parts over all layers: (intermediate × count).
    pub mlp_width_sum: f64,
    /// Matrices of a feed-forward part.
    pub mlp_matrices: f64,
}

impl Sizes {
    /// All parameters.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.linear + self.vocabulary + self.small
    }

    /// Counts from facts.
    ///
    /// # Errors
    /// The facts that are missing, by their column.
    pub fn of(facts: &ModelFacts) -> Result<Self, Vec<&'static str>> {
        let mut missing = Vec::new();
        let mut need = |value: Option<u32>, name: &'static str| match value.filter(|value| *value > 0) {
            Some(value) => f64::from(value),
            None => {
                missing.push(name);
                0.0
            }
        };
        let layers = need(facts.layers, "layers");
        let hidden = need(facts.hidden, "hidden");
        let heads = need(facts.heads, "heads");
        let kv_heads = need(facts.kv_heads, "kv_heads");
        let vocab = need(facts.vocab, "vocab");
        let mlp = if facts.is_moe() { facts.expert_intermediate() } else { facts.intermediate };
        let mlp = need(mlp, "intermediate");
        let linear_mixer = linear_mixer(facts);
        if facts.is_linear_hybrid() && linear_mixer.is_none() && facts.params_text_computed.is_none() {
            missing.push("params_text_computed");
        }
        if !missing.is_empty() {
            return Err(missing);
        }
        let head_dim = facts.head_dim.filter(|dim| *dim > 0).map_or(hidden / heads, f64::from);
        let (query, kv) = (heads * head_dim, kv_heads * head_dim);
        let attention = latent_attention(facts, hidden, heads).unwrap_or_else(|| {
            let gate = if facts.attn_output_gate == Some(true) { 2.0 } else { 1.0 };
            hidden * query * gate + 2.0 * hidden * kv + query * hidden
        });
        let matrices = facts.mlp_matrices.filter(|count| *count > 0).map_or(3.0, f64::from);
        let experts = facts.moe_experts.filter(|_| facts.is_moe()).map_or(0.0, f64::from);
        let used = facts.experts_per_tok.filter(|count| *count > 0).map_or(1.0, f64::from);
        let shared = f64::from(facts.shared_size());
        let dense_layers = if experts > 0.0 {
            facts.moe_layers.map_or_else(
                || facts.first_dense_layers.map_or(0.0, f64::from),
                |moe| (layers - f64::from(moe)).max(0.0),
            )
        } else {
            layers
        }
        .min(layers);
        let dense = facts.intermediate.map_or(mlp, f64::from);
        let expert_width = experts * mlp + shared;
        let mlp_width_sum = dense_layers * dense + (layers - dense_layers) * expert_width;
        let embedding = vocab * hidden;
        let tied = facts.tie_embeddings == Some(true);
        let small = layers * (2.0 * hidden + experts * hidden + bias(facts, query, kv)) + hidden;
        let vocabulary = embedding * if tied { 1.0 } else { 2.0 };
        let mut linear = layers * attention + mlp_width_sum * matrices * hidden;
        if let Some((mixer_layers, mixer)) = linear_mixer {
            linear += mixer_layers.min(layers) * (mixer - attention);
        } else if facts.is_linear_hybrid() {
            // The mixers differ by family; the count of the whole is stated and their share is what remains.
            let stated = facts.params_text_computed.unwrap_or(0);
            #[allow(clippy::cast_precision_loss, reason = "a count of parameters stays exact below 2^53")]
            let stated = stated as f64;
            linear = (stated - vocabulary - small).max(0.0);
        }
        let widest = if layers > dense_layers { expert_width.max(dense.min(expert_width)) } else { dense };
        let (token_mlp, part_mlp) =
            if layers > dense_layers { (used * mlp + shared, mlp * used / experts.max(1.0)) } else { (dense, dense) };
        let parts = experts + if shared > 0.0 { 1.0 } else { 0.0 };
        Ok(Self {
            layers,
            hidden,
            vocab,
            heads,
            linear,
            vocabulary,
            embedding,
            small,
            layer: attention + widest * matrices * hidden,
            token_mlp,
            part_mlp,
            mlp_parts: dense_layers + (layers - dense_layers) * parts,
            query,
            kv,
            mlp_width_sum,
            mlp_matrices: matrices,
        })
    }
}

fn bias(facts: &ModelFacts, query: f64, kv: f64) -> f64 {
    if facts.qkv_bias == Some(true) { query + 2.0 * kv } else { 0.0 }
}

/// Layers with linear attention and the weights of one: queries, keys, values, gate and output.
fn linear_mixer(facts: &ModelFacts) -> Option<(f64, f64)> {
    if facts.mamba_layers.is_some_and(|layers| layers > 0) {
        return None;
    }
    let size = |value: Option<u32>| value.filter(|value| *value > 0).map(f64::from);
    let layers = size(facts.linear_attn_layers)?;
    let hidden = size(facts.hidden)?;
    let key = size(facts.linear_k_heads)? * size(facts.linear_k_head_dim)?;
    let value_heads = size(facts.linear_v_heads)?;
    let value = value_heads * size(facts.linear_v_head_dim)?;
    Some((layers, hidden * (2.0 * key + 2.0 * value + 2.0 * value_heads) + value * hidden))
}

fn latent_attention(facts: &ModelFacts, hidden: f64, heads: f64) -> Option<f64> {
    let rank = f64::from(facts.kv_lora_rank.filter(|rank| *rank > 0)?);
    let nope = f64::from(facts.qk_nope_head_dim?);
    let rope = f64::from(facts.qk_rope_head_dim?);
    let value = f64::from(facts.v_head_dim?);
    let query = match facts.q_lora_rank.filter(|rank| *rank > 0).map(f64::from) {
        Some(q_rank) => hidden * q_rank + q_rank * heads * (nope + rope),
        None => hidden * heads * (nope + rope),
    };
    Some(query + hidden * (rank + rope) + rank * heads * (nope + value) + heads * value * hidden)
}

/// Which linear layers carry an adapter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Targets {
    /// Query projection.
    pub query: bool,
    /// Key projection.
    pub key: bool,
    /// Value projection.
    pub value: bool,
    /// Output projection of attention.
    pub output: bool,
    /// Feed-forward matrices, of every expert.
    pub mlp: bool,
}

impl Targets {
    /// The four projections of attention.
    pub const ATTENTION: Self = Self { query: true, key: true, value: true, output: true, mlp: false };
    /// Query and value alone.
    pub const QUERY_VALUE: Self = Self { query: true, key: false, value: true, output: false, mlp: false };
    /// Every linear layer of the decoder.
    pub const ALL: Self = Self { query: true, key: true, value: true, output: true, mlp: true };

    /// Reads names of modules; `None` when none of them is known.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.to_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
        if has(&["all-linear", "all linear", "all_linear"]) {
            return Some(Self::ALL);
        }
        let fused = has(&["attention", "attn", "qkv"]);
        let named = has(&["q_proj", "k_proj", "v_proj", "o_proj"]);
        let all = fused && !named;
        let targets = Self {
            query: all || has(&["q_proj"]),
            key: all || has(&["k_proj"]),
            value: all || has(&["v_proj"]),
            output: all || has(&["o_proj"]),
            mlp: has(&["mlp", "gate_proj", "up_proj", "down_proj"]),
        };
        (targets.query || targets.key || targets.value || targets.output || targets.mlp).then_some(targets)
    }

    /// Parameters of adapters of rank one.
    #[must_use]
    pub fn per_rank(self, sizes: &Sizes) -> f64 {
        let (h, q, kv) = (sizes.hidden, sizes.query, sizes.kv);
        let count = |on: bool, size: f64| if on { size } else { 0.0 };
        let attention =
            count(self.query, h + q) + count(self.key, h + kv) + count(self.value, h + kv) + count(self.output, q + h);
        let mlp = sizes.mlp_matrices * (sizes.mlp_width_sum + sizes.mlp_parts * h);
        sizes.layers * attention + count(self.mlp, mlp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::memory::Catalogue;

    #[test]
    fn counts_agree_with_the_catalogue() {
        let mut checked = 0;
        for facts in Catalogue::builtin().rows() {
            let (Ok(sizes), Some(stated)) = (Sizes::of(facts), facts.params_text_computed) else { continue };
            if facts.vision == Some(true) || facts.is_linear_hybrid() || facts.mamba_layers.is_some() {
                continue;
            }
            #[allow(clippy::cast_precision_loss, reason = "a test's tolerance")]
            let off = sizes.total() / stated as f64 - 1.0;
            assert!(off.abs() <= 0.02, "{}: {off:.3} off {stated}", facts.model);
            checked += 1;
        }
        assert!(checked > 40, "{checked}");
    }

    #[test]
    fn targets_are_read_from_names() {
        for (text, want) in [
            ("q_proj k_proj v_proj o_proj c_attn", Some(Targets::ATTENTION)),
            ("attention", Some(Targets::ATTENTION)),
            ("q_proj v_proj", Some(Targets::QUERY_VALUE)),
            ("all-linear", Some(Targets::ALL)),
            ("nothing known", None),
        ] {
            assert_eq!(Targets::parse(text), want, "{text}");
        }
    }
}
