//! Weights of one GPU: the tensors an engine loads for a model, their bytes in a number format, and what the allocator
//! makes of them.
//!
//! The allocator is part of the answer. PyTorch rounds what it takes from the driver to 2 MiB and does not give back a
//! rest of up to 1 MiB; a matrix of 67.5 MiB therefore costs 68. Over the layers of a model that is up to a percent.

use super::band::Band;
use super::facts::ModelFacts;
use super::note::Note;
use super::quant::{Backend, Method, Scheme, WeightFormat};
use super::rules::{self, Kept};

/// What a tensor is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    /// Token embedding.
    Embedding,
    /// Output projection.
    Head,
    /// Projections of softmax attention.
    Attention,
    /// Projections of latent attention.
    Latent,
    /// The decode-time copy of latent attention's absorbed matrices.
    LatentCopy,
    /// Indexer of sparse attention.
    Indexer,
    /// Large projections of linear attention or a state-space mixer.
    Linear,
    /// Small projections and convolutions of the same.
    LinearSmall,
    /// Dense feed-forward layers.
    Mlp,
    /// Routed experts.
    Experts,
    /// Shared experts.
    Shared,
    /// Router.
    Router,
    /// Norms and biases.
    Norms,
    /// Image part.
    Vision,
    /// Other parts that are loaded.
    Other,
    /// Table of rotary positions.
    Positions,
    /// Adapter slots.
    Adapters,
    /// Draft layer of speculative decoding.
    Draft,
}

impl Part {
    /// All parts, in the order shown.
    pub const ALL: [Self; 18] = [
        Self::Embedding,
        Self::Head,
        Self::Attention,
        Self::Latent,
        Self::LatentCopy,
        Self::Indexer,
        Self::Linear,
        Self::LinearSmall,
        Self::Mlp,
        Self::Experts,
        Self::Shared,
        Self::Router,
        Self::Norms,
        Self::Vision,
        Self::Other,
        Self::Positions,
        Self::Adapters,
        Self::Draft,
    ];

    /// The name used in the data tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Embedding => "embedding",
            Self::Head => "head",
            Self::Attention => "attention",
            Self::Latent => "latent",
            Self::LatentCopy => "latent_copy",
            Self::Indexer => "indexer",
            Self::Linear => "linear",
            Self::LinearSmall => "linear_small",
            Self::Mlp => "mlp",
            Self::Experts => "experts",
            Self::Shared => "shared",
            Self::Router => "router",
            Self::Norms => "norms",
            Self::Vision => "vision",
            Self::Other => "other",
            Self::Positions => "positions",
            Self::Adapters => "adapters",
            Self::Draft => "draft",
        }
    }
}

/// Tensors of one shape on one GPU. Sizes are what the GPU holds; they may be fractions where a split is uneven.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tensor {
    /// What it is for.
    pub part: Part,
    /// How many of them (layers).
    pub count: f64,
    /// Matrices stacked in one tensor (experts).
    pub stack: f64,
    /// Outputs.
    pub rows: f64,
    /// Inputs.
    pub columns: f64,
}

impl Tensor {
    const fn new(part: Part, count: f64, rows: f64, columns: f64) -> Self {
        Self { part, count, stack: 1.0, rows, columns }
    }

    /// Elements of all of them.
    #[must_use]
    pub fn elements(&self) -> f64 {
        self.count * self.stack * self.rows * self.columns
    }
}

/// How a model is laid out over GPUs, and what is loaded beside it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Split {
    /// Tensor parallel.
    pub tp: u32,
    /// Pipeline parallel.
    pub pp: u32,
    /// Whether the image part is kept whole on every GPU.
    pub whole_vision: bool,
    /// Kernel that holds 4-bit experts, where it pads them.
    pub backend: Option<Backend>,
}

/// A fact that the inventory needs and does not find: a column of the catalogue.
pub type Lacking = &'static str;

/// Tensors of one GPU (the fullest, with pipeline parallel), without what is optional beside the model.
///
/// # Errors
/// The columns that are not known and that no rule can stand in for.
pub fn inventory(facts: &ModelFacts, split: Split) -> Result<Vec<Tensor>, Vec<Lacking>> {
    let mut lacks = Vec::new();
    let mut need = |name: Lacking, value: Option<u32>| {
        if value.is_none() {
            lacks.push(name);
        }
        f64::from(value.unwrap_or(1))
    };
    let (hidden, layers, vocab) =
        (need("hidden", facts.hidden), need("layers", facts.layers), need("vocab", facts.vocab));
    let latent = facts.is_latent();
    let (heads, kv_heads, head_dim) = (
        need("heads", facts.heads),
        if latent { 1.0 } else { need("kv_heads", facts.kv_heads) },
        if latent { 1.0 } else { need("head_dim", facts.head_dim) },
    );
    let is_moe = facts.is_moe();
    let linear = f64::from(facts.linear_attn_layers.unwrap_or(0));
    let mamba = f64::from(facts.mamba_layers.unwrap_or(0));
    let first_dense = f64::from(facts.first_dense_layers.unwrap_or(0));
    let has_mixers_only = mamba > 0.0;
    // Layers that do one thing each (state-space hybrids) have attention where they say so; else each layer has it.
    let attention =
        if has_mixers_only { need("full_attn_layers", facts.full_attn_layers) } else { (layers - linear).max(0.0) };
    let moe = match (is_moe, facts.moe_layers) {
        (false, _) => 0.0,
        (true, Some(layers)) => f64::from(layers),
        (true, None) => (layers - first_dense).max(0.0),
    };
    let dense = if has_mixers_only { (layers - attention - mamba - moe).max(0.0) } else { (layers - moe).max(0.0) };
    let expert = if is_moe { need("moe_intermediate", facts.expert_intermediate()) } else { 0.0 };
    let intermediate = if dense > 0.0 { need("intermediate", facts.intermediate) } else { 0.0 };
    if linear > 0.0 {
        need("linear_k_heads", facts.linear_k_heads);
        need("linear_k_head_dim", facts.linear_k_head_dim);
        need("linear_v_heads", facts.linear_v_heads);
        need("linear_v_head_dim", facts.linear_v_head_dim);
    }
    if latent {
        need("qk_nope_head_dim", facts.qk_nope_head_dim);
        need("qk_rope_head_dim", facts.qk_rope_head_dim);
        need("v_head_dim", facts.v_head_dim);
    } else if facts.q_lora_rank.is_some_and(|rank| rank > 0) {
        // A compressed query without a compressed cache: a family whose projections are not described by the columns.
        lacks.push("kv_lora_rank");
    }
    if !lacks.is_empty() {
        return Err(lacks);
    }

    let t = f64::from(split.tp.max(1));
    let of = |value: Option<u32>| f64::from(value.unwrap_or(0));
    let mut out = Vec::with_capacity(32);
    let mut add = |part, count: f64, rows: f64, columns: f64| {
        if count > 0.0 && rows > 0.0 && columns > 0.0 {
            out.push(Tensor::new(part, count, rows, columns));
        }
    };
    let vocab_rows = (vocab / 64.0).ceil() * 64.0 / t;
    add(Part::Embedding, 1.0, vocab_rows, hidden);
    // The last of several pipeline stages holds the output projection of its own, tied or not.
    if facts.tie_embeddings != Some(true) && facts.pooling != Some(true) {
        add(Part::Head, 1.0, vocab_rows, hidden);
    }

    let gate = if facts.attn_output_gate == Some(true) { 2.0 } else { 1.0 };
    let mut softmax = |count: f64, kv_heads: f64, head_dim: f64, has_value: bool| {
        let kv = (kv_heads / t).max(1.0) * head_dim;
        let value_dim = facts.v_head_dim.filter(|dim| *dim > 0).map_or(head_dim, f64::from);
        let value = if has_value { (kv_heads / t).max(1.0) * value_dim } else { 0.0 };
        let rows = gate * heads / t * head_dim + kv + value;
        add(Part::Attention, count, rows, hidden);
        add(Part::Attention, count, hidden, heads / t * value_dim);
        if facts.qkv_bias == Some(true) {
            add(Part::Norms, count, rows, 1.0);
        }
        if facts.qk_norm == Some(true) {
            add(Part::Norms, 2.0 * count, head_dim, 1.0);
        }
    };
    let is_mix = linear == 0.0 && !has_mixers_only && facts.full_attn_layers.is_some_and(|full| full > 0);
    let has_global_shape = facts.global_head_dim.is_some() || facts.kv_shared_global_heads.is_some();
    if latent {
        let (nope, rope, value) = (of(facts.qk_nope_head_dim), of(facts.qk_rope_head_dim), of(facts.v_head_dim));
        let (query, cache) = (of(facts.q_lora_rank), of(facts.kv_lora_rank));
        if query > 0.0 {
            add(Part::Latent, attention, query + cache + rope, hidden);
            add(Part::Latent, attention, heads / t * (nope + rope), query);
        } else {
            add(Part::Latent, attention, heads / t * (nope + rope), hidden);
            add(Part::Latent, attention, cache + rope, hidden);
        }
        add(Part::Latent, attention, heads / t * (nope + value), cache);
        add(Part::Latent, attention, hidden, heads / t * value);
        add(Part::LatentCopy, attention, heads / t * nope, cache);
        add(Part::LatentCopy, attention, heads / t * value, cache);
        if let (Some(index_heads), Some(dim)) = (facts.index_heads, facts.index_head_dim) {
            // The indexer is not split over GPUs.
            let columns = if query > 0.0 { query } else { hidden };
            add(Part::Indexer, attention, f64::from(index_heads) * f64::from(dim), columns);
            add(Part::Indexer, attention, f64::from(dim), hidden);
            add(Part::Router, attention, f64::from(index_heads), hidden);
        }
    } else if is_mix && has_global_shape {
        let full = of(facts.full_attn_layers).min(attention);
        let global_dim = facts.global_head_dim.map_or(head_dim, f64::from);
        let global_heads = facts.kv_shared_global_heads.map_or(kv_heads, f64::from);
        softmax(full, global_heads, global_dim, facts.k_eq_v != Some(true));
        softmax(attention - full, kv_heads, head_dim, true);
    } else {
        softmax(attention, kv_heads, head_dim, true);
    }
    if linear > 0.0 {
        let keys = of(facts.linear_k_heads) * of(facts.linear_k_head_dim);
        let value_heads = of(facts.linear_v_heads);
        let values = value_heads * of(facts.linear_v_head_dim);
        add(Part::Linear, linear, (2.0 * keys + 2.0 * values) / t, hidden);
        add(Part::Linear, linear, hidden, values / t);
        add(Part::LinearSmall, linear, 2.0 * value_heads / t, hidden);
        add(Part::LinearSmall, linear, (2.0 * keys + values) / t, of(facts.linear_conv).max(1.0));
    }
    if mamba > 0.0 {
        let inner = of(facts.mamba_heads) * of(facts.mamba_head_dim);
        let state = of(facts.mamba_groups).max(1.0) * of(facts.mamba_state);
        add(Part::Linear, mamba, (2.0 * inner + 2.0 * state + of(facts.mamba_heads)) / t, hidden);
        add(Part::Linear, mamba, hidden, inner / t);
        add(Part::LinearSmall, mamba, (inner + 2.0 * state) / t, of(facts.linear_conv).max(4.0));
    }
    // Gated feed-forward parts stack two matrices in the first tensor.
    let first = f64::from(facts.mlp_matrices.unwrap_or(3).saturating_sub(1).max(1));
    add(Part::Mlp, dense, first * intermediate / t, hidden);
    add(Part::Mlp, dense, hidden, intermediate / t);
    if moe > 0.0 {
        let experts = of(facts.moe_experts);
        let shared = f64::from(facts.shared_size());
        add(Part::Router, moe, experts, hidden);
        add(Part::Shared, moe, first * shared / t, hidden);
        add(Part::Shared, moe, hidden, shared / t);
        let seen = facts.moe_hidden.filter(|size| *size > 0).map_or(hidden, f64::from);
        if seen < hidden {
            // Down to the size that the experts see, and up again.
            add(Part::Shared, 2.0 * moe, seen, hidden);
        }
        let (wide, narrow) = padded(seen, expert / t, split.backend);
        for (rows, columns) in [(first * narrow, wide), (wide, narrow)] {
            out.push(Tensor { part: Part::Experts, count: moe, stack: experts, rows, columns });
        }
    }
    out.push(Tensor::new(Part::Norms, 2.0 * layers + 1.0, hidden, 1.0));
    if split.pp > 1 {
        let stages = f64::from(split.pp);
        for tensor in &mut out {
            if !matches!(tensor.part, Part::Embedding | Part::Head) {
                // The fullest stage has one layer more when they do not divide.
                tensor.count = (tensor.count / stages).ceil().min(tensor.count);
            }
        }
        out.retain(|tensor| tensor.part != Part::Head);
    }
    Ok(out)
}

/// Hidden and intermediate size of an expert as the kernel holds them.
fn padded(hidden: f64, intermediate: f64, backend: Option<Backend>) -> (f64, f64) {
    let Some(pad) = backend.and_then(rules::padding) else { return (hidden, intermediate) };
    let up = |size: f64, multiple: f64| (size / multiple).ceil() * multiple;
    (up(hidden, pad.hidden), up(intermediate, pad.intermediate))
}

/// Elements of a tensor list by part, for the model as a whole.
#[must_use]
pub fn elements(tensors: &[Tensor], is_counted: impl Fn(Part) -> bool) -> f64 {
    tensors.iter().filter(|tensor| is_counted(tensor.part)).map(Tensor::elements).sum()
}

const MIB: f64 = 1_048_576.0;

/// What the PyTorch allocator counts for a tensor of so many bytes.
///
/// Small ones are rounded to 512 bytes. Up to 10 MiB they share segments of 20 MiB, larger ones get segments rounded to
/// 2 MiB; a rest of up to 1 MiB is not split off. Source: `c10/cuda/CUDACachingAllocator.cpp`, `should_split` and
/// `get_allocation_size`.
#[must_use]
pub fn allocated(bytes: f64) -> f64 {
    if bytes <= 0.0 {
        return 0.0;
    }
    let bytes = (bytes / 512.0).ceil() * 512.0;
    if bytes <= MIB {
        return bytes;
    }
    let (segment, n) = if bytes < 10.0 * MIB {
        (20.0 * MIB, (20.0 * MIB / bytes).floor())
    } else {
        ((bytes / (2.0 * MIB)).ceil() * 2.0 * MIB, 1.0)
    };
    let rest = segment - n * bytes;
    if rest <= MIB { bytes + rest / n } else { bytes }
}

/// What is loaded beside the language model, and how sure its facts are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Beside {
    /// Whether the facts are of this very checkpoint and not of the model it was made from.
    pub is_own: bool,
    /// Whether tensors live in PyTorch's allocator (not in llama.cpp).
    pub has_allocator: bool,
    /// Whether the weights are in the host's memory.
    pub is_host: bool,
    /// Rank and number of adapter slots; `None` when adapters are off.
    pub adapters: Option<(f64, f64)>,
    /// Whether a draft layer of the checkpoint is loaded.
    pub has_draft: bool,
}

/// Bytes of one GPU by part.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Weights {
    /// All parts together.
    pub total: Band,
    /// Each part that is not empty.
    pub parts: Vec<(Part, Band)>,
    /// What was assumed, one sentence each.
    pub notes: Vec<Note>,
}

/// Rotary tables are kept in 16 bits: two numbers for each pair of a head's values and position.
fn positions(facts: &ModelFacts, is_own: bool, plain: f64) -> Band {
    let dim = if facts.is_latent() { facts.qk_rope_head_dim } else { facts.head_dim };
    let dim = f64::from(dim.unwrap_or(128)) * plain;
    // Long-context variants of one family differ in this and in nothing else that shows.
    let longest = 262_144.0 * dim;
    match facts.max_position {
        Some(length) if is_own => Band::within(f64::from(length) * dim, 0.0, f64::from(length) * dim),
        Some(length) => Band::new(f64::from(length) * dim, 0.0, (f64::from(length) * dim).max(longest)),
        None => Band::new(4096.0 * dim, 0.0, longest),
    }
}

/// Parameters of an image part that is there and not described: published towers of 0.4 to 0.7 billion.
const VISION_PARAMETERS: Band = Band { value: 0.55e9, low: 0.0, high: 0.75e9 };

/// Bytes of a tensor list in a number format.
#[must_use]
pub fn weigh(facts: &ModelFacts, tensors: &[Tensor], scheme: &Scheme, split: Split, beside: &Beside) -> Weights {
    let mut notes = scheme.open.clone();
    let bytes = |tensor: &Tensor, format: WeightFormat| -> f64 {
        let all = format.tensors(tensor.rows, tensor.columns);
        let one =
            |bytes: f64| if beside.has_allocator { allocated(bytes * tensor.stack) } else { bytes * tensor.stack };
        all.into_iter().map(one).sum::<f64>() * tensor.count
    };
    let mut parts: Vec<(Part, Band)> = Vec::with_capacity(16);
    let mut put = |part: Part, band: Band| {
        if band.high <= 0.0 {
            return;
        }
        match parts.iter_mut().find(|(known, _)| *known == part) {
            Some((_, sum)) => *sum = *sum + band,
            None => parts.push((part, band)),
        }
    };
    let plain = WeightFormat::Plain(scheme.plain);
    let mut unsure: Vec<Part> = Vec::new();
    for tensor in tensors {
        let (low, high) = scheme.range;
        let band = match kept(scheme, tensor.part, facts) {
            Kept::Plain => Band::exact(bytes(tensor, plain)),
            Kept::Quantised => Band::new(bytes(tensor, scheme.format), bytes(tensor, low), bytes(tensor, high)),
            Kept::LikelyPlain => Band::new(bytes(tensor, plain), bytes(tensor, low), bytes(tensor, plain)),
            Kept::LikelyQuantised => Band::new(bytes(tensor, scheme.format), bytes(tensor, low), bytes(tensor, plain)),
        };
        if matches!(kept(scheme, tensor.part, facts), Kept::LikelyPlain | Kept::LikelyQuantised)
            && !unsure.contains(&tensor.part)
        {
            unsure.push(tensor.part);
        }
        // Some layouts keep shared experts whole on every GPU.
        let whole = if tensor.part == Part::Shared { f64::from(split.tp.max(1)) } else { 1.0 };
        put(tensor.part, Band { high: band.high * whole, ..band });
    }
    if !unsure.is_empty() {
        notes.push(Note::KeptUnknown(unsure.iter().map(|part| part.name()).collect()));
    }
    let stages = f64::from(split.pp.max(1));
    if beside.has_allocator {
        put(Part::Positions, positions(facts, beside.is_own, scheme.plain.min(2.0)));
    }
    let t = f64::from(split.tp.max(1));
    if facts.vision == Some(true) || facts.vision_params.is_some() {
        if scheme.method == Method::Gguf {
            notes.push(Note::ImagePartApart);
        } else {
            let share = if split.whole_vision { 1.0 } else { t };
            let stated = facts.vision_params.map(|count| {
                #[allow(clippy::cast_precision_loss, reason = "parameters are below 2^53")]
                let count = count as f64;
                Band::new(count, 0.0, count * 1.05)
            });
            let count = stated.unwrap_or(VISION_PARAMETERS);
            // Whole on every GPU at most; nothing when it is switched off.
            // NPU kernels pad the heads of a tower to 128.
            let padded = if split.whole_vision { 1.6 } else { 1.0 };
            put(Part::Vision, Band::new(count.value * 2.0 / share, count.low, count.high * 2.0 * padded));
            if stated.is_none() {
                notes.push(Note::ImagePartAssumed);
            }
        }
    }
    if !beside.has_allocator && !beside.is_host && facts.tie_embeddings == Some(true) {
        // llama.cpp keeps the embedding on the host and a copy of it as output projection on the card, in a type of at
        // least six bits.
        let n: f64 = tensors.iter().filter(|tensor| tensor.part == Part::Embedding).map(Tensor::elements).sum();
        let bytes = |bits: f64| n * bits / 8.0;
        let bits = scheme.format.bytes() * 8.0;
        put(Part::Head, Band::new(bytes(bits.max(6.5625)), bytes(bits), bytes(bits.max(8.5))));
    }
    if let Some(other) = facts.other_params {
        #[allow(clippy::cast_precision_loss, reason = "parameters are below 2^53")]
        let bytes = other as f64 * if scheme.method == Method::Gguf { scheme.format.bytes() } else { scheme.plain };
        put(Part::Other, Band::new(bytes, bytes * 0.9, bytes * 1.1));
    }
    if let Some((rank, slots)) = beside.adapters {
        let sides: f64 = tensors
            .iter()
            .filter(|tensor| is_adapted(tensor.part))
            .map(|t| t.count * t.stack * (t.rows + t.columns))
            .sum();
        let bytes = sides * rank * slots * 2.0;
        put(Part::Adapters, Band::new(bytes, bytes * 0.5, bytes * 4.0));
        notes.push(Note::AdapterSlots);
    }
    if beside.has_draft {
        let layer = draft(facts, tensors, scheme.plain);
        put(Part::Draft, Band::new(layer, 0.0, layer * 1.2));
        notes.push(Note::DraftUnquantised);
    }
    let sum: Band = parts.iter().map(|(_, band)| *band).sum();
    // Buffers that no list names, and the allocator's own freedom where tensors are freed and made again.
    let spare = (0.004 * sum.value).max(8.0 * MIB);
    // 4-bit kernels lay the weights out anew and keep indices and workspaces of their own.
    let layout = if matches!(scheme.format, WeightFormat::Int4 { .. }) { 0.015 * sum.value } else { 0.0 };
    let total = Band::within(sum.value, sum.value - sum.low + spare, sum.high - sum.value + spare + layout);
    let total = total.not_negative();
    if stages > 1.0 {
        notes.push(Note::FullestStage);
    }
    Weights { total, parts, notes }
}

const fn is_adapted(part: Part) -> bool {
    matches!(part, Part::Attention | Part::Mlp | Part::Shared)
}

/// Bytes of one more decoder layer, the kind a multi-token-prediction head adds.
fn draft(facts: &ModelFacts, tensors: &[Tensor], plain: f64) -> f64 {
    let one = |part: Part| {
        tensors.iter().filter(|tensor| tensor.part == part).map(|tensor| tensor.elements() / tensor.count).sum::<f64>()
    };
    let attention = one(Part::Attention) + one(Part::Latent);
    let feed = if facts.is_moe() { one(Part::Experts) + one(Part::Shared) } else { one(Part::Mlp) };
    let hidden = f64::from(facts.hidden.unwrap_or(0));
    (attention + feed + 2.0 * hidden * hidden) * plain
}

/// Whether a part is quantised under a scheme.
fn kept(scheme: &Scheme, part: Part, facts: &ModelFacts) -> Kept {
    if scheme.method == Method::None && !scheme.is_guess {
        return Kept::Plain;
    }
    if scheme.is_guess && !matches!(part, Part::Norms | Part::Router | Part::Embedding | Part::Head) {
        return Kept::Quantised;
    }
    // A list with a name for each layer and few more names one kind of projection in each: the attention.
    let is_per_layer = match (facts.quant_ignore, facts.layers) {
        (Some(names), Some(layers)) => names >= layers,
        _ => false,
    };
    rules::kept(scheme.method, part, is_per_layer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::memory::Catalogue;
    use crate::domain::memory::GIB;

    const ONE: Split = Split { tp: 1, pp: 1, whole_vision: false, backend: None };
    const BESIDE: Beside =
        Beside { is_own: true, has_allocator: true, is_host: false, adapters: None, has_draft: false };

    fn facts(name: &str) -> &'static ModelFacts {
        Catalogue::builtin().find(name).unwrap()
    }

    #[test]
    fn the_allocator_keeps_small_rests() {
        let mib = |n: f64| n * MIB;
        for (bytes, want) in [
            (0.0, 0.0),
            (1.0, 512.0),
            (mib(4.0), mib(4.0)),
            (mib(67.5), mib(68.0)),
            (mib(12.5), mib(12.5)),
            (mib(259.0), mib(260.0)),
            (mib(6.5), mib(20.0) / 3.0),
        ] {
            assert!((allocated(bytes) - want).abs() < 1.0, "{bytes}: {} {want}", allocated(bytes));
        }
    }

    #[test]
    fn parameters_agree_with_the_catalogue() {
        let mut checked = 0;
        for facts in Catalogue::builtin().rows() {
            let (Some(want), Ok(tensors)) = (facts.params_text_computed, inventory(facts, ONE)) else { continue };
            let got = elements(&tensors, |part| !matches!(part, Part::LatentCopy));
            #[allow(clippy::cast_precision_loss, reason = "below 2^53")]
            let want = want as f64;
            assert!((got / want - 1.0).abs() < 0.006, "{}: {got} {want}", facts.model);
            checked += 1;
        }
        assert!(checked > 60, "{checked}");
    }

    #[test]
    fn weights_of_known_checkpoints() {
        for (name, tp, quantisation, gib) in [
            ("llama-3.1-8b-instruct", 1, "bf16", 14.9889),
            ("torchtune:llama2_13b", 1, "fp16", 24.2841),
            ("Qwen/Qwen3-32B", 2, "bf16", 30.5855),
            ("Qwen/Qwen3-30B-A3B", 2, "bf16", 28.4571),
        ] {
            let split = Split { tp, ..ONE };
            let tensors = inventory(facts(name), split).unwrap();
            let scheme = Scheme::read(quantisation, "bfloat16", facts(name));
            let weights = weigh(facts(name), &tensors, &scheme, split, &BESIDE);
            assert!((weights.total.value / GIB - gib).abs() < 0.001, "{name}: {}", weights.total.value / GIB);
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        assert_eq!(
            inventory(&ModelFacts { hidden: Some(4096), ..ModelFacts::default() }, ONE).unwrap_err(),
            ["layers", "vocab", "heads", "kv_heads", "head_dim", "intermediate"]
        );
    }
}
