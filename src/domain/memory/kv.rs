//! The cache of keys and values: what a token and a request cost on one GPU, and what a pool carries.
//!
//! An engine cuts the pool into blocks. A model whose layers all keep the same has one group of layers; a mix of full,
//! sliding-window and recurrent layers has several groups whose pages are made equally large, and a block belongs to one
//! group. Capacity is the pool's blocks over the blocks that one request needs in all groups; the "tokens" that an engine
//! prints are another number, see [`Printed`].

use super::facts::ModelFacts;
use super::note::Note;
use super::rules::{self, EngineKind, Key, Version};
use super::weights::Lacking;

/// What a group of layers keeps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Keeps {
    /// Every token.
    All,
    /// The last so many tokens.
    Window(f64),
    /// A state of fixed size.
    State,
}

/// Layers that share block numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Group {
    /// What they keep.
    pub keeps: Keeps,
    /// Tokens a block holds; of a state block the whole request.
    pub tokens: f64,
}

/// How the cache of one GPU is cut.
#[derive(Debug, Clone, PartialEq)]
pub struct Layout {
    /// Groups of layers.
    pub groups: Vec<Group>,
    /// Bytes of one block over the layers of a group.
    pub block_bytes: f64,
    /// Bytes that one more token of a long request costs on average.
    pub token_bytes: f64,
    /// Bytes that a request takes whatever its length (recurrent states).
    pub request_bytes: f64,
    /// State blocks a request holds in each recurrent group.
    state_blocks: f64,
    /// Most tokens of one step, which a window keeps beside itself.
    batched: f64,
    /// Pages that the engine allocates beside the pool it reports.
    spare_blocks: f64,
    /// Bytes of sliding-window buffers outside the blocks (llama.cpp).
    beside_bytes: f64,
    /// What was assumed.
    pub notes: Vec<Note>,
}

/// What the cache depends on beside the model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CacheSetup {
    /// Engine.
    pub engine: EngineKind,
    /// Its version, where known.
    pub version: Option<Version>,
    /// Tensor parallel.
    pub tp: u32,
    /// Pipeline parallel.
    pub pp: u32,
    /// Bytes a cached value.
    pub bytes: f64,
    /// Bytes of an unquantised value; a recurrent convolution keeps them.
    pub plain: f64,
    /// Tokens of a block or page, where stated.
    pub block: Option<u32>,
    /// Most tokens of one step.
    pub batched: f64,
    /// Slots of llama.cpp.
    pub slots: f64,
    /// Cells or longest request, tokens; only llama.cpp's buffers depend on it.
    pub max_len: f64,
    /// Draft tokens of a step; zero without speculation.
    pub draft: f64,
    /// State blocks a request holds in each recurrent group.
    pub state_blocks: f64,
    /// Whether the accelerator is an NPU.
    pub is_npu: bool,
}

/// Which number an engine prints as the cache's size in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Printed {
    /// Blocks over groups, times the smallest block.
    BlocksOverGroups,
    /// Concurrency times the maximum length.
    ConcurrencyTimesLength,
}

/// Bytes of a mixed layer's recurrent state: the convolution's window, and the state matrix in 32 bits.
fn state_bytes(facts: &ModelFacts, setup: &CacheSetup) -> f64 {
    let of = |value: Option<u32>| f64::from(value.unwrap_or(0));
    let t = f64::from(setup.tp.max(1));
    if facts.mamba_layers.is_some_and(|layers| layers > 0) {
        let inner = of(facts.mamba_heads) * of(facts.mamba_head_dim);
        let groups = of(facts.mamba_groups).max(1.0) * of(facts.mamba_state);
        let conv = (inner + 2.0 * groups) / t * (facts.linear_conv.map_or(4.0, f64::from) - 1.0 + setup.draft);
        return conv * setup.plain + inner / t * of(facts.mamba_state) * 4.0;
    }
    let keys = of(facts.linear_k_heads) * of(facts.linear_k_head_dim);
    let values = of(facts.linear_v_heads) * of(facts.linear_v_head_dim);
    let conv = (2.0 * keys + values) / t * (of(facts.linear_conv).max(1.0) - 1.0 + setup.draft);
    conv * setup.plain + values / t * of(facts.linear_k_head_dim) * 4.0
}

/// Layers of one kind before they are grouped.
struct Layers {
    count: f64,
    keeps: Keeps,
    /// Bytes a token and layer, or of the state.
    bytes: f64,
}

impl Layout {
    /// The cache of a model under an engine.
    ///
    /// # Errors
    /// The columns that are not known and that no rule can stand in for.
    pub fn of(facts: &ModelFacts, setup: &CacheSetup) -> Result<Self, Vec<Lacking>> {
        let mut notes = Vec::new();
        let layers = kinds(facts, setup, &mut notes)?;
        let grows: f64 = layers.iter().filter(|l| l.keeps == Keeps::All).map(|l| l.count * l.bytes).sum();
        let state: f64 = layers.iter().filter(|l| l.keeps == Keeps::State).map(|l| l.count * l.bytes).sum();
        let mut layout = Self {
            groups: Vec::new(),
            block_bytes: 0.0,
            token_bytes: grows,
            request_bytes: state,
            state_blocks: setup.state_blocks,
            batched: setup.batched,
            spare_blocks: 0.0,
            beside_bytes: 0.0,
            notes,
        };
        match setup.engine {
            EngineKind::Vllm | EngineKind::Aphrodite => layout.paged(facts, setup, &layers),
            EngineKind::Sglang => layout.sglang(setup, &layers),
            EngineKind::LlamaCpp | EngineKind::Transformers => layout.cells(setup, &layers),
        }
        if layout.block_bytes > 0.0 { Ok(layout) } else { Err(vec!["kv_heads"]) }
    }

    fn paged(&mut self, facts: &ModelFacts, setup: &CacheSetup, layers: &[Layers]) {
        let key = if facts.is_latent() { Key::BlockLatent } else { Key::Block };
        // Kernels of NPUs work on blocks of 128.
        let default = if setup.is_npu { 128.0 } else { rules::engine(setup.engine, setup.version, key).value };
        let stated = setup.block.map(f64::from);
        let block = stated.unwrap_or(default).max(1.0);
        let state = layers.iter().filter(|l| l.keeps == Keeps::State).map(|l| l.bytes).fold(0.0, f64::max);
        let attention: Vec<&Layers> = layers.iter().filter(|l| l.keeps != Keeps::State).collect();
        // Every layer keeps the same kind: their pages are laid side by side.
        let is_uniform = state == 0.0 && attention.windows(2).all(|pair| matches!(pair, [a, b] if a.keeps == b.keeps));
        if is_uniform {
            let keeps = attention.first().map_or(Keeps::All, |l| l.keeps);
            self.groups = vec![Group { keeps, tokens: block }];
            self.block_bytes = block * attention.iter().map(|l| l.count * l.bytes).sum::<f64>();
            return;
        }
        // Pages are made equal: an attention page holds at least a state, in steps of 16 tokens; the pages of smaller
        // heads hold more tokens.
        let largest = attention.iter().map(|l| l.bytes).fold(0.0, f64::max);
        let mut tokens = block;
        if state > 0.0 && largest > 0.0 {
            tokens = block.max((state / largest / 16.0).ceil() * 16.0);
        }
        let page = largest * tokens;
        let counts: Vec<f64> = layers.iter().map(|l| l.count).collect();
        let least = counts.iter().copied().fold(f64::INFINITY, f64::min);
        let most = counts.iter().copied().fold(0.0, f64::max);
        let size = if most < least * 1.25 { most } else { least };
        for kind in layers {
            let tokens = match kind.keeps {
                Keeps::State => 1.0,
                _ => (page / kind.bytes).floor(),
            };
            let n = (kind.count / size).ceil();
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most the number of layers")]
            self.groups.extend(std::iter::repeat_n(Group { keeps: kind.keeps, tokens }, (n as usize).min(100_000)));
        }
        self.block_bytes = size * page;
    }

    fn sglang(&mut self, setup: &CacheSetup, layers: &[Layers]) {
        let default = if setup.is_npu { 128.0 } else { 1.0 };
        let page = setup.block.map_or(default, f64::from).max(1.0);
        self.groups = vec![Group { keeps: Keeps::All, tokens: page }];
        // Sliding layers keep as much as full ones; states are a pool of their own.
        let bytes: f64 = layers.iter().filter(|l| l.keeps != Keeps::State).map(|l| l.count * l.bytes).sum();
        self.token_bytes = bytes;
        self.block_bytes = page * bytes;
        // One page more than the pool reports takes the writes of padded tokens.
        self.spare_blocks = 1.0;
    }

    fn cells(&mut self, setup: &CacheSetup, layers: &[Layers]) {
        self.groups = vec![Group { keeps: Keeps::All, tokens: 1.0 }];
        let slots = setup.slots.max(1.0);
        let mut all: f64 = layers.iter().filter(|l| l.keeps == Keeps::All).map(|l| l.count * l.bytes).sum();
        for kind in layers {
            if let Keeps::Window(window) = kind.keeps {
                // Each slot keeps its window and one physical batch, in steps of 256 cells.
                let cells = ((window + setup.batched) / 256.0).ceil() * 256.0 * slots;
                self.beside_bytes += kind.count * kind.bytes * cells.min(setup.max_len.max(1.0));
            }
        }
        if all == 0.0 {
            all = layers.iter().filter(|l| l.keeps != Keeps::State).map(|l| l.count * l.bytes).sum();
            self.beside_bytes = 0.0;
        }
        self.token_bytes = all;
        self.block_bytes = all;
    }

    /// Whole blocks of a pool of so many bytes.
    #[must_use]
    pub fn blocks(&self, pool: f64) -> f64 {
        (((pool - self.beside_bytes) / self.block_bytes).floor() - self.spare_blocks).max(0.0)
    }

    /// Blocks that a request of so many tokens needs, in all groups.
    #[must_use]
    pub fn need_blocks(&self, tokens: f64) -> f64 {
        self.groups
            .iter()
            .map(|group| match group.keeps {
                Keeps::All => (tokens / group.tokens).ceil(),
                Keeps::Window(window) => (tokens.min(window - 1.0 + self.batched) / group.tokens).ceil() + 1.0,
                Keeps::State => self.state_blocks,
            })
            .sum()
    }

    /// Bytes of sliding windows in buffers outside the blocks.
    #[must_use]
    pub const fn beside(&self) -> f64 {
        self.beside_bytes
    }

    /// Bytes of one request's recurrent states where they are a pool of their own, outside the blocks.
    #[must_use]
    pub fn state_bytes(&self) -> f64 {
        if self.groups.iter().any(|group| group.keeps == Keeps::State) { 0.0 } else { self.request_bytes }
    }

    /// Bytes that a request of so many tokens needs.
    #[must_use]
    pub fn need(&self, tokens: f64) -> f64 {
        self.need_blocks(tokens) * self.block_bytes
    }

    /// Requests of so many tokens that a pool carries at once; a fraction, as engines print it.
    #[must_use]
    pub fn concurrency(&self, pool: f64, tokens: f64) -> f64 {
        let need = self.need_blocks(tokens);
        if need > 0.0 { self.blocks(pool) / need } else { 0.0 }
    }

    /// Tokens that requests of one length hold together when the pool is full of them.
    #[must_use]
    pub fn capacity_tokens(&self, pool: f64, tokens: f64) -> f64 {
        self.concurrency(pool, tokens).floor() * tokens
    }

    /// Requests of a mix of lengths (tokens, share) that a pool carries; shares need not add up to one.
    #[must_use]
    pub fn mix_concurrency(&self, pool: f64, mix: &[(f64, f64)]) -> f64 {
        let shares: f64 = mix.iter().map(|(_, share)| share).sum();
        let need: f64 = mix.iter().map(|(tokens, share)| self.need_blocks(*tokens) * share).sum();
        if need > 0.0 { self.blocks(pool) * shares / need } else { 0.0 }
    }

    /// The size in tokens that an engine prints for a pool.
    #[must_use]
    pub fn printed_tokens(&self, pool: f64, max_len: Option<f64>, rule: Printed) -> f64 {
        let smallest = self
            .groups
            .iter()
            .filter(|group| group.keeps != Keeps::State)
            .map(|group| group.tokens)
            .fold(f64::INFINITY, f64::min);
        match (rule, max_len) {
            (Printed::ConcurrencyTimesLength, Some(length)) if self.groups.len() > 1 => {
                (self.concurrency(pool, length) * length).floor()
            }
            _ => {
                #[allow(clippy::cast_precision_loss, reason = "groups are few")]
                let groups = self.groups.len().max(1) as f64;
                (self.blocks(pool) / groups).floor() * smallest
            }
        }
    }
}

/// The kinds of layers of a model with what each keeps on one GPU.
fn kinds(facts: &ModelFacts, setup: &CacheSetup, notes: &mut Vec<Note>) -> Result<Vec<Layers>, Vec<Lacking>> {
    let mut lacks = Vec::new();
    let mut need = |name: Lacking, value: Option<u32>| {
        if value.is_none() {
            lacks.push(name);
        }
        f64::from(value.unwrap_or(1))
    };
    let all = need("layers", facts.layers);
    let pp = f64::from(setup.pp.max(1));
    let of_stage = |count: f64| (count / pp).ceil().min(count);
    let t = f64::from(setup.tp.max(1));
    if facts.is_latent() {
        let rope = need("qk_rope_head_dim", facts.qk_rope_head_dim);
        if !lacks.is_empty() {
            return Err(lacks);
        }
        let mut bytes = (f64::from(facts.kv_lora_rank.unwrap_or(0)) + rope) * setup.bytes;
        if facts.index_head_dim.is_some() && setup.bytes < 1.5 && !setup.is_npu {
            // With an indexer an 8-bit cache keeps the positions in 16 bits and a 32-bit scale for every 128 values.
            bytes = f64::from(facts.kv_lora_rank.unwrap_or(0)) * (1.0 + 4.0 / 128.0) + rope * 2.0;
        }
        if let Some(dim) = facts.index_head_dim.filter(|dim| *dim > 0) {
            // An 8-bit key and a scale for each token; in 16 bits on an NPU.
            bytes += f64::from(dim) * if setup.is_npu { 2.0 } else { 1.0 } + if setup.is_npu { 0.0 } else { 4.0 };
        }
        return Ok(vec![Layers { count: of_stage(all), keeps: Keeps::All, bytes }]);
    }
    if facts.q_lora_rank.is_some_and(|rank| rank > 0) {
        return Err(vec!["kv_lora_rank"]);
    }
    let (kv_heads, head_dim) = (need("kv_heads", facts.kv_heads), need("head_dim", facts.head_dim));
    let linear = f64::from(facts.linear_attn_layers.unwrap_or(0)) + f64::from(facts.mamba_layers.unwrap_or(0));
    if facts.mamba_layers.is_some_and(|layers| layers > 0) {
        need("full_attn_layers", facts.full_attn_layers);
        need("mamba_heads", facts.mamba_heads);
    } else if linear > 0.0 {
        need("linear_v_heads", facts.linear_v_heads);
        need("linear_v_head_dim", facts.linear_v_head_dim);
        need("linear_k_head_dim", facts.linear_k_head_dim);
    }
    if !lacks.is_empty() {
        return Err(lacks);
    }
    let pair = |heads: f64, dim: f64| {
        let value = facts.v_head_dim.filter(|dim| *dim > 0).map_or(dim, f64::from);
        (heads / t).max(1.0) * (dim + value) * setup.bytes
    };
    let bytes = pair(kv_heads, head_dim);
    // Layers that reuse another's cache keep none; the rest keep the mix.
    let own = (all - f64::from(facts.kv_shared_layers.unwrap_or(0))).max(0.0) / all;
    let window = facts.sliding_window.filter(|window| *window > 0).map(f64::from);
    let full = f64::from(facts.full_attn_layers.unwrap_or(0));
    let mut out = Vec::with_capacity(3);
    if linear > 0.0 {
        let attention = if full > 0.0 { full } else { (all - linear).max(0.0) };
        // A draft layer keeps a cache like any other attention layer.
        let attention = attention + if setup.draft > 0.0 { 1.0 } else { 0.0 };
        out.push(Layers { count: of_stage(attention), keeps: Keeps::All, bytes });
        out.push(Layers { count: of_stage(linear), keeps: Keeps::State, bytes: state_bytes(facts, setup) });
    } else if let (Some(window), true) = (window, full > 0.0 && full < all) {
        let global = pair(
            facts.kv_shared_global_heads.map_or(kv_heads, f64::from),
            facts.global_head_dim.map_or(head_dim, f64::from),
        );
        out.push(Layers { count: of_stage((full * own).round()), keeps: Keeps::All, bytes: global });
        out.push(Layers { count: of_stage(((all - full) * own).round()), keeps: Keeps::Window(window), bytes });
    } else {
        if window.is_some_and(|window| window < setup.max_len) {
            notes.push(Note::WindowUnknown);
        }
        out.push(Layers { count: of_stage((all * own).round()), keeps: Keeps::All, bytes });
    }
    out.retain(|kind| kind.count > 0.0);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::memory::{Catalogue, GIB};

    const SETUP: CacheSetup = CacheSetup {
        engine: EngineKind::Vllm,
        version: Some(Version(0, 24, 0)),
        tp: 1,
        pp: 1,
        bytes: 2.0,
        plain: 2.0,
        block: None,
        batched: 8192.0,
        slots: 1.0,
        max_len: 131_072.0,
        draft: 0.0,
        state_blocks: 2.0,
        is_npu: false,
    };

    fn layout(name: &str, setup: CacheSetup) -> Layout {
        Layout::of(Catalogue::builtin().find(name).unwrap(), &setup).unwrap()
    }

    #[test]
    fn bytes_of_a_token() {
        for (name, tp, want) in [
            ("llama-3.1-8b-instruct", 1, 131_072.0),
            ("llama-3.1-8b-instruct", 8, 16_384.0),
            // Fewer KV heads than GPUs: each keeps a whole head.
            ("Qwen/Qwen3-235B-A22B", 8, 94.0 * 2.0 * 128.0 * 2.0),
            // Latent attention: the same on every GPU.
            ("deepseek-ai/DeepSeek-R1", 1, 70_272.0),
            ("deepseek-ai/DeepSeek-R1", 8, 70_272.0),
        ] {
            assert_eq!(layout(name, CacheSetup { tp, ..SETUP }).token_bytes, want, "{name} {tp}");
        }
    }

    #[test]
    fn a_mix_is_cut_into_groups_of_equal_pages() {
        let oss = layout("openai/gpt-oss-120b", SETUP);
        assert_eq!(oss.groups.len(), 2);
        assert_eq!(oss.block_bytes, 18.0 * 16.0 * 2048.0);
        // 5.38 GiB print as 78 384 tokens when groups share the blocks.
        let printed = oss.printed_tokens(5.38 * GIB, None, Printed::BlocksOverGroups);
        assert!((printed / 78_384.0 - 1.0).abs() < 0.001, "{printed}");
    }

    #[test]
    fn a_hybrid_pads_its_attention_pages_to_the_state() {
        let hybrid = layout("Qwen/Qwen3.5-27B", SETUP);
        assert_eq!(hybrid.groups.first().unwrap().tokens, 784.0);
        assert_eq!(hybrid.groups.len(), 4);
        let pool = 126.25 * GIB;
        assert!((hybrid.concurrency(pool, 32_768.0) - 54.96).abs() < 0.01);
        assert_eq!(hybrid.printed_tokens(pool, Some(32_768.0), Printed::BlocksOverGroups), 516_656.0);
        let split = layout("Qwen/Qwen3.5-27B", CacheSetup { tp: 2, bytes: 1.0, ..SETUP });
        assert_eq!(split.groups.first().unwrap().tokens, 1568.0);
        let printed = split.printed_tokens(4.99 * GIB, Some(131_072.0), Printed::ConcurrencyTimesLength);
        assert!((printed - 302_921.0).abs() < 1.0, "{printed}");
    }

    #[test]
    fn a_mix_of_lengths_lies_between_its_ends() {
        let dense = layout("llama-3.1-8b-instruct", SETUP);
        let pool = 10.0 * GIB;
        let short = dense.concurrency(pool, 1024.0);
        let long = dense.concurrency(pool, 8192.0);
        let mix = dense.mix_concurrency(pool, &[(1024.0, 3.0), (8192.0, 1.0)]);
        assert!(long < mix && mix < short);
        assert_eq!(dense.mix_concurrency(pool, &[]), 0.0);
    }

    #[test]
    fn an_unknown_attention_is_named() {
        let facts = Catalogue::builtin().find("deepseek-ai/DeepSeek-V4-Pro").unwrap();
        assert_eq!(Layout::of(facts, &SETUP).unwrap_err(), ["kv_lora_rank"]);
    }
}
