//! What is known of a model, one typed field a column of the catalogue.
//!
//! Sizes are in elements, never in bytes. `None` means not known, never zero; a zero is a zero that was stated.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

/// Elements that share one scale of a quantised weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum QuantGroup {
    /// A run of weights along the input.
    Run(u32),
    /// A block of rows × columns.
    Block(u32, u32),
}

/// Facts of one model. The names are the columns of `models.csv`; the second part of the list is what that table lacks
/// and a catalogue may add.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelFacts {
    /// The name that selects the row. Nothing else depends on it.
    pub model: String,
    /// Decoder layers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layers: Option<u32>,
    /// Hidden size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hidden: Option<u32>,
    /// Query heads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heads: Option<u32>,
    /// KV heads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kv_heads: Option<u32>,
    /// Size of one head, as stated; not hidden / heads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head_dim: Option<u32>,
    /// Intermediate size of the dense feed-forward layers (of the experts where `moe_intermediate` is not stated).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intermediate: Option<u32>,
    /// Vocabulary entries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vocab: Option<u32>,
    /// Whether the output projection is the embedding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tie_embeddings: Option<bool>,
    /// Routed experts of a layer; `None` or zero in a dense model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moe_experts: Option<u32>,
    /// Routed experts a token visits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub experts_per_tok: Option<u32>,
    /// Intermediate size of one routed expert.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moe_intermediate: Option<u32>,
    /// Shared experts as stated: a count, or (families that state a size) the shared expert's intermediate size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared_experts: Option<u32>,
    /// First layers with a dense feed-forward part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_dense_layers: Option<u32>,
    /// Rank of the compressed query of latent attention.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub q_lora_rank: Option<u32>,
    /// Rank of the compressed cache of latent attention; its presence means latent attention.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kv_lora_rank: Option<u32>,
    /// Head size of latent attention without position.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub qk_nope_head_dim: Option<u32>,
    /// Head size of latent attention with position.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub qk_rope_head_dim: Option<u32>,
    /// Size of a value head of latent attention.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub v_head_dim: Option<u32>,
    /// Tokens a sliding-window layer sees.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sliding_window: Option<u32>,
    /// Layers with full attention, in a mix with sliding or linear ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_attn_layers: Option<u32>,
    /// Layers with linear attention.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub linear_attn_layers: Option<u32>,
    /// Key heads of linear attention.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub linear_k_heads: Option<u32>,
    /// Size of a key head of linear attention.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub linear_k_head_dim: Option<u32>,
    /// Value heads of linear attention.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub linear_v_heads: Option<u32>,
    /// Size of a value head of linear attention.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub linear_v_head_dim: Option<u32>,
    /// Width of the convolution of linear attention.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub linear_conv: Option<u32>,
    /// Whether the query projection carries an output gate of its own size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attn_output_gate: Option<bool>,
    /// Whether query, key and value projections have biases.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub qkv_bias: Option<bool>,
    /// Whether queries and keys are normalised per head.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub qk_norm: Option<bool>,
    /// KV heads of the full-attention layers where they differ from the sliding ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kv_shared_global_heads: Option<u32>,
    /// Head size of the full-attention layers where it differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub global_head_dim: Option<u32>,
    /// Whether the full-attention layers use the key as value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub k_eq_v: Option<bool>,
    /// Whether there is an image part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vision: Option<bool>,
    /// Number format of the unquantised weights, as stated (`bfloat16`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub torch_dtype: Option<String>,
    /// Method of the checkpoint's quantisation, as stated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quant_method: Option<String>,
    /// Bits of a quantised weight.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quant_bits: Option<u32>,
    /// Group or block of one scale.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quant_group: Option<QuantGroup>,
    /// How many names the checkpoint's list of unquantised layers holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quant_ignore: Option<u32>,
    /// Longest context the model was made for, tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_position: Option<u32>,
    /// Parameters of the language model, counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub params_text_computed: Option<u64>,
    /// Where the row comes from.
    pub origin: String,

    /// Intermediate size of the shared expert (all shared experts together), where it is not their count × the routed
    /// experts' size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared_intermediate: Option<u32>,
    /// Layers with experts, where not every layer after the first dense ones has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moe_layers: Option<u32>,
    /// Hidden size that the experts see, where they work on a compressed one.
    pub moe_hidden: Option<u32>,
    /// Parameters of the image part, its projector included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vision_params: Option<u64>,
    /// Patches of the largest image that is taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vision_patches: Option<u32>,
    /// Parameters of other parts that are loaded: sound, per-layer embeddings. Kept 16-bit, on every GPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_params: Option<u64>,
    /// Last layers that reuse the cache of earlier ones and keep none of their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kv_shared_layers: Option<u32>,
    /// Layers with a state-space mixer (Mamba 2).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mamba_layers: Option<u32>,
    /// Heads of the state-space mixer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mamba_heads: Option<u32>,
    /// Size of a head of the state-space mixer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mamba_head_dim: Option<u32>,
    /// State size of the state-space mixer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mamba_state: Option<u32>,
    /// Groups of the state-space mixer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mamba_groups: Option<u32>,
    /// Heads of the sparse-attention indexer; its presence means that there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index_heads: Option<u32>,
    /// Head size of the sparse-attention indexer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index_head_dim: Option<u32>,
    /// Whether it answers with an embedding or a score: no output projection, no sampling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pooling: Option<bool>,
    /// Matrices of a feed-forward layer: 3 gated (the rule when not stated), 2 plain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mlp_matrices: Option<u32>,
}

/// Why a stated value is not taken. The field stays unknown, the rest of the row is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BadFact {
    /// No column of this name is known; it is left out.
    UnknownColumn(String),
    /// The value is no number, or not one that this field can have.
    Value {
        /// Column.
        column: String,
        /// What stood there, cut to a readable length.
        value: String,
        /// What it may be.
        expected: String,
    },
}

impl std::fmt::Display for BadFact {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::UnknownColumn(column) => write!(f, "column \"{column}\" is not known and was left out"),
            Self::Value { column, value, expected } => {
                write!(f, "{column} \"{value}\" is not {expected}; it counts as not known")
            }
        }
    }
}

/// Layers, heads and counts of parts.
const COUNTS: RangeInclusive<u64> = 0..=100_000;
/// Sizes of one dimension.
const SIZES: RangeInclusive<u64> = 0..=100_000_000;
/// Parameters in all.
const PARAMETERS: RangeInclusive<u64> = 0..=1_000_000_000_000_000;

impl ModelFacts {
    /// Columns of the catalogue, those of `models.csv` first.
    pub const COLUMNS: &'static [&'static str] = &[
        "model",
        "layers",
        "hidden",
        "heads",
        "kv_heads",
        "head_dim",
        "intermediate",
        "vocab",
        "tie_embeddings",
        "moe_experts",
        "experts_per_tok",
        "moe_intermediate",
        "shared_experts",
        "first_dense_layers",
        "q_lora_rank",
        "kv_lora_rank",
        "qk_nope_head_dim",
        "qk_rope_head_dim",
        "v_head_dim",
        "sliding_window",
        "full_attn_layers",
        "linear_attn_layers",
        "linear_k_heads",
        "linear_k_head_dim",
        "linear_v_heads",
        "linear_v_head_dim",
        "linear_conv",
        "attn_output_gate",
        "qkv_bias",
        "qk_norm",
        "kv_shared_global_heads",
        "global_head_dim",
        "k_eq_v",
        "vision",
        "torch_dtype",
        "quant_method",
        "quant_bits",
        "quant_group",
        "quant_ignore",
        "max_position",
        "params_text_computed",
        "origin",
        "shared_intermediate",
        "moe_layers",
        "moe_hidden",
        "vision_params",
        "other_params",
        "kv_shared_layers",
        "mamba_layers",
        "mamba_heads",
        "mamba_head_dim",
        "mamba_state",
        "mamba_groups",
        "index_heads",
        "index_head_dim",
        "pooling",
        "vision_patches",
        "mlp_matrices",
    ];

    /// Reads one row of (column, value) pairs. An empty value is not known. What cannot be taken is named, and the rest
    /// of the row still stands.
    #[must_use]
    pub fn from_row<'a>(row: impl IntoIterator<Item = (&'a str, &'a str)>) -> (Self, Vec<BadFact>) {
        let mut facts = Self::default();
        let mut bad = Vec::new();
        for (column, value) in row {
            let value = value.trim();
            if value.is_empty() {
                continue;
            }
            if let Err(problem) = facts.set(column.trim(), value) {
                bad.push(problem);
            }
        }
        (facts, bad)
    }

    /// Takes one value as text.
    ///
    /// # Errors
    /// What is wrong with the column or the value; the field is left as it was.
    pub fn set(&mut self, column: &str, value: &str) -> Result<(), BadFact> {
        let wrong = |expected: String| BadFact::Value { column: short(column), value: short(value), expected };
        if let Some(field) = self.text_field(column) {
            *field = short(value);
            return Ok(());
        }
        if let Some(field) = self.flag_field(column) {
            *field = Some(flag(value).ok_or_else(|| wrong("true or false".to_owned()))?);
            return Ok(());
        }
        if let Some((field, range)) = self.number_field(column) {
            let (low, high) = (*range.start(), *range.end());
            let number = whole(value).filter(|number| range.contains(number));
            let number = number.and_then(|number| u32::try_from(number).ok());
            *field = Some(number.ok_or_else(|| wrong(format!("a whole number from {low} to {high}")))?);
            return Ok(());
        }
        if let Some(field) = self.count_field(column) {
            let number = whole(value).filter(|number| PARAMETERS.contains(number));
            *field = Some(number.ok_or_else(|| wrong(format!("a whole number up to {}", PARAMETERS.end())))?);
            return Ok(());
        }
        match column {
            "torch_dtype" => self.torch_dtype = Some(short(value)),
            "quant_method" => self.quant_method = Some(short(value)),
            "quant_group" => {
                let group = group(value).ok_or_else(|| wrong("a group (128) or a block (128x128)".to_owned()))?;
                self.quant_group = Some(group);
            }
            _ => return Err(BadFact::UnknownColumn(short(column))),
        }
        Ok(())
    }

    fn text_field(&mut self, column: &str) -> Option<&mut String> {
        match column {
            "model" => Some(&mut self.model),
            "origin" => Some(&mut self.origin),
            _ => None,
        }
    }

    fn flag_field(&mut self, column: &str) -> Option<&mut Option<bool>> {
        Some(match column {
            "tie_embeddings" => &mut self.tie_embeddings,
            "attn_output_gate" => &mut self.attn_output_gate,
            "qkv_bias" => &mut self.qkv_bias,
            "qk_norm" => &mut self.qk_norm,
            "k_eq_v" => &mut self.k_eq_v,
            "vision" => &mut self.vision,
            "pooling" => &mut self.pooling,
            _ => return None,
        })
    }

    fn count_field(&mut self, column: &str) -> Option<&mut Option<u64>> {
        Some(match column {
            "params_text_computed" => &mut self.params_text_computed,
            "vision_params" => &mut self.vision_params,
            "other_params" => &mut self.other_params,
            _ => return None,
        })
    }

    fn number_field(&mut self, column: &str) -> Option<(&mut Option<u32>, RangeInclusive<u64>)> {
        Some(match column {
            "layers" => (&mut self.layers, 1..=100_000),
            "hidden" => (&mut self.hidden, 1..=10_000_000),
            "heads" => (&mut self.heads, COUNTS),
            "kv_heads" => (&mut self.kv_heads, COUNTS),
            "head_dim" => (&mut self.head_dim, 1..=1_000_000),
            "intermediate" => (&mut self.intermediate, SIZES),
            "vocab" => (&mut self.vocab, 1..=100_000_000),
            "moe_experts" => (&mut self.moe_experts, COUNTS),
            "experts_per_tok" => (&mut self.experts_per_tok, COUNTS),
            "moe_intermediate" => (&mut self.moe_intermediate, SIZES),
            "shared_experts" => (&mut self.shared_experts, SIZES),
            "first_dense_layers" => (&mut self.first_dense_layers, COUNTS),
            "q_lora_rank" => (&mut self.q_lora_rank, SIZES),
            "kv_lora_rank" => (&mut self.kv_lora_rank, SIZES),
            "qk_nope_head_dim" => (&mut self.qk_nope_head_dim, SIZES),
            "qk_rope_head_dim" => (&mut self.qk_rope_head_dim, SIZES),
            "v_head_dim" => (&mut self.v_head_dim, SIZES),
            "sliding_window" => (&mut self.sliding_window, SIZES),
            "full_attn_layers" => (&mut self.full_attn_layers, COUNTS),
            "linear_attn_layers" => (&mut self.linear_attn_layers, COUNTS),
            "linear_k_heads" => (&mut self.linear_k_heads, COUNTS),
            "linear_k_head_dim" => (&mut self.linear_k_head_dim, SIZES),
            "linear_v_heads" => (&mut self.linear_v_heads, COUNTS),
            "linear_v_head_dim" => (&mut self.linear_v_head_dim, SIZES),
            "linear_conv" => (&mut self.linear_conv, COUNTS),
            "kv_shared_global_heads" => (&mut self.kv_shared_global_heads, COUNTS),
            "global_head_dim" => (&mut self.global_head_dim, SIZES),
            "quant_bits" => (&mut self.quant_bits, 1..=64),
            "quant_ignore" => (&mut self.quant_ignore, SIZES),
            "max_position" => (&mut self.max_position, 1..=1_000_000_000),
            "shared_intermediate" => (&mut self.shared_intermediate, SIZES),
            "moe_layers" => (&mut self.moe_layers, COUNTS),
            "moe_hidden" => (&mut self.moe_hidden, SIZES),
            "kv_shared_layers" => (&mut self.kv_shared_layers, COUNTS),
            "mamba_layers" => (&mut self.mamba_layers, COUNTS),
            "mamba_heads" => (&mut self.mamba_heads, COUNTS),
            "mamba_head_dim" => (&mut self.mamba_head_dim, SIZES),
            "mamba_state" => (&mut self.mamba_state, SIZES),
            "mamba_groups" => (&mut self.mamba_groups, COUNTS),
            "index_heads" => (&mut self.index_heads, COUNTS),
            "index_head_dim" => (&mut self.index_head_dim, SIZES),
            "vision_patches" => (&mut self.vision_patches, SIZES),
            "mlp_matrices" => (&mut self.mlp_matrices, 1..=4),
            _ => return None,
        })
    }

    /// Takes from `other` what is not known here, of the facts that `models.csv` has no column for.
    pub fn fill_more(&mut self, other: &Self) {
        let more = Self {
            shared_intermediate: other.shared_intermediate,
            moe_layers: other.moe_layers,
            moe_hidden: other.moe_hidden,
            vision: other.vision,
            max_position: other.max_position,
            vision_params: other.vision_params,
            vision_patches: other.vision_patches,
            other_params: other.other_params,
            kv_shared_layers: other.kv_shared_layers,
            mamba_layers: other.mamba_layers,
            mamba_heads: other.mamba_heads,
            mamba_head_dim: other.mamba_head_dim,
            mamba_state: other.mamba_state,
            mamba_groups: other.mamba_groups,
            index_heads: other.index_heads,
            index_head_dim: other.index_head_dim,
            pooling: other.pooling,
            mlp_matrices: other.mlp_matrices,
            // A state-space hybrid's pattern is told by these together.
            full_attn_layers: other.full_attn_layers.filter(|_| other.mamba_layers.is_some()),
            linear_conv: other.linear_conv.filter(|_| other.mamba_layers.is_some()),
            origin: other.origin.clone(),
            ..Self::default()
        };
        self.fill(&more);
    }

    /// Takes from `other` what is not known here; the origin names both when anything was taken.
    pub fn fill(&mut self, other: &Self) {
        fn fill<T: Clone>(own: &mut Option<T>, other: &Option<T>) {
            if own.is_none() {
                own.clone_from(other);
            }
        }
        let before = self.clone();
        fill(&mut self.layers, &other.layers);
        fill(&mut self.hidden, &other.hidden);
        fill(&mut self.heads, &other.heads);
        fill(&mut self.kv_heads, &other.kv_heads);
        fill(&mut self.head_dim, &other.head_dim);
        fill(&mut self.intermediate, &other.intermediate);
        fill(&mut self.vocab, &other.vocab);
        fill(&mut self.tie_embeddings, &other.tie_embeddings);
        fill(&mut self.moe_experts, &other.moe_experts);
        fill(&mut self.experts_per_tok, &other.experts_per_tok);
        fill(&mut self.moe_intermediate, &other.moe_intermediate);
        fill(&mut self.shared_experts, &other.shared_experts);
        fill(&mut self.first_dense_layers, &other.first_dense_layers);
        fill(&mut self.q_lora_rank, &other.q_lora_rank);
        fill(&mut self.kv_lora_rank, &other.kv_lora_rank);
        fill(&mut self.qk_nope_head_dim, &other.qk_nope_head_dim);
        fill(&mut self.qk_rope_head_dim, &other.qk_rope_head_dim);
        fill(&mut self.v_head_dim, &other.v_head_dim);
        fill(&mut self.sliding_window, &other.sliding_window);
        fill(&mut self.full_attn_layers, &other.full_attn_layers);
        fill(&mut self.linear_attn_layers, &other.linear_attn_layers);
        fill(&mut self.linear_k_heads, &other.linear_k_heads);
        fill(&mut self.linear_k_head_dim, &other.linear_k_head_dim);
        fill(&mut self.linear_v_heads, &other.linear_v_heads);
        fill(&mut self.linear_v_head_dim, &other.linear_v_head_dim);
        fill(&mut self.linear_conv, &other.linear_conv);
        fill(&mut self.attn_output_gate, &other.attn_output_gate);
        fill(&mut self.qkv_bias, &other.qkv_bias);
        fill(&mut self.qk_norm, &other.qk_norm);
        fill(&mut self.kv_shared_global_heads, &other.kv_shared_global_heads);
        fill(&mut self.global_head_dim, &other.global_head_dim);
        fill(&mut self.k_eq_v, &other.k_eq_v);
        fill(&mut self.vision, &other.vision);
        fill(&mut self.torch_dtype, &other.torch_dtype);
        fill(&mut self.quant_method, &other.quant_method);
        fill(&mut self.quant_bits, &other.quant_bits);
        fill(&mut self.quant_group, &other.quant_group);
        fill(&mut self.quant_ignore, &other.quant_ignore);
        fill(&mut self.max_position, &other.max_position);
        fill(&mut self.params_text_computed, &other.params_text_computed);
        fill(&mut self.shared_intermediate, &other.shared_intermediate);
        fill(&mut self.moe_layers, &other.moe_layers);
        fill(&mut self.moe_hidden, &other.moe_hidden);
        fill(&mut self.vision_params, &other.vision_params);
        fill(&mut self.other_params, &other.other_params);
        fill(&mut self.kv_shared_layers, &other.kv_shared_layers);
        fill(&mut self.mamba_layers, &other.mamba_layers);
        fill(&mut self.mamba_heads, &other.mamba_heads);
        fill(&mut self.mamba_head_dim, &other.mamba_head_dim);
        fill(&mut self.mamba_state, &other.mamba_state);
        fill(&mut self.mamba_groups, &other.mamba_groups);
        fill(&mut self.index_heads, &other.index_heads);
        fill(&mut self.index_head_dim, &other.index_head_dim);
        fill(&mut self.pooling, &other.pooling);
        fill(&mut self.vision_patches, &other.vision_patches);
        fill(&mut self.mlp_matrices, &other.mlp_matrices);
        if *self != before && self.origin != other.origin {
            self.origin = format!("{}; {}", self.origin, other.origin);
        }
    }

    /// Whether the feed-forward part is a mixture of experts.
    #[must_use]
    pub fn is_moe(&self) -> bool {
        self.moe_experts.is_some_and(|experts| experts > 0)
    }

    /// Whether attention is latent (MLA): one compressed row a token, the same on every GPU.
    #[must_use]
    pub fn is_latent(&self) -> bool {
        self.kv_lora_rank.is_some_and(|rank| rank > 0)
    }

    /// Whether some layers keep a fixed state instead of a growing cache.
    #[must_use]
    pub fn is_linear_hybrid(&self) -> bool {
        self.linear_attn_layers.is_some_and(|layers| layers > 0) || self.mamba_layers.is_some_and(|layers| layers > 0)
    }

    /// Intermediate size of one routed expert.
    #[must_use]
    pub fn expert_intermediate(&self) -> Option<u32> {
        self.moe_intermediate.filter(|size| *size > 0).or(self.intermediate)
    }

    /// Intermediate size of all shared experts of a layer together; zero where none is stated.
    ///
    /// Families state a count (1, 2) or a size (512, 1024) in the same place; no model has 32 shared experts.
    #[must_use]
    pub fn shared_size(&self) -> u32 {
        if let Some(size) = self.shared_intermediate {
            return size;
        }
        match self.shared_experts {
            None => 0,
            Some(count) if count < 32 => self.expert_intermediate().unwrap_or(0).saturating_mul(count),
            Some(size) => size,
        }
    }
}

/// At most as much of a text as a sentence can show.
fn short(text: &str) -> String {
    text.chars().take(200).collect()
}

/// A whole number; a decimal with nothing after the point (as spreadsheets write) is one too.
fn whole(value: &str) -> Option<u64> {
    let digits = value.strip_suffix(".0").unwrap_or(value);
    digits.parse().ok()
}

fn flag(value: &str) -> Option<bool> {
    match value.to_ascii_lowercase().as_str() {
        "true" | "yes" | "1" | "1.0" => Some(true),
        "false" | "no" | "0" | "0.0" => Some(false),
        _ => None,
    }
}

fn group(value: &str) -> Option<QuantGroup> {
    let size = |text: &str| whole(text.trim()).and_then(|size| u32::try_from(size).ok()).filter(|size| *size > 0);
    match value.split_once(['x', 'X', '×']) {
        Some((rows, columns)) => Some(QuantGroup::Block(size(rows)?, size(columns)?)),
        None => size(value).map(QuantGroup::Run),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_can_be_set() {
        for column in ModelFacts::COLUMNS {
            let mut facts = ModelFacts::default();
            assert_eq!(facts.set(column, "1"), Ok(()), "{column}");
            assert_ne!(facts, ModelFacts::default(), "{column}");
        }
    }

    #[test]
    fn values_out_of_range_are_named_and_leave_the_rest() {
        let (facts, bad) = ModelFacts::from_row([
            ("model", "a"),
            ("layers", "-3"),
            ("hidden", "4096.0"),
            ("vocab", "999999999999"),
            ("vision", "perhaps"),
            ("quant_group", "128x128"),
            ("colour", "red"),
        ]);
        let want = ModelFacts {
            model: "a".to_owned(),
            hidden: Some(4096),
            quant_group: Some(QuantGroup::Block(128, 128)),
            ..ModelFacts::default()
        };
        assert_eq!(facts, want);
        let bad: Vec<String> = bad.iter().map(ToString::to_string).collect();
        assert_eq!(
            bad,
            [
                "layers \"-3\" is not a whole number from 1 to 100000; it counts as not known",
                "vocab \"999999999999\" is not a whole number from 1 to 100000000; it counts as not known",
                "vision \"perhaps\" is not true or false; it counts as not known",
                "column \"colour\" is not known and was left out",
            ]
        );
    }

    #[test]
    fn shared_experts_are_a_count_or_a_size() {
        let facts = |shared, size| ModelFacts {
            shared_experts: Some(shared),
            moe_intermediate: Some(size),
            ..ModelFacts::default()
        };
        assert_eq!(facts(2, 1408).shared_size(), 2816);
        assert_eq!(facts(512, 512).shared_size(), 512);
        assert_eq!(facts(0, 512).shared_size(), 0);
    }
}
