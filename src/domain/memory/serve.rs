//! Serving: what one GPU holds, what its cache carries, what runs out first, and whether that is enough.
//!
//! [`predict`] is arithmetic over a [`Setup`]; the two costly steps, tensors and cache layout, can be kept as
//! [`Prepared`] and used for many cards and knobs. Formulas and inputs for people are made apart, in `explain`.

use super::GIB;
use super::band::Band;
use super::calibrate::Calibration;
use super::facts::ModelFacts;
use super::kv::{CacheSetup, Layout, Printed};
use super::note::Note;
use super::quant::{Backend, KvFormat, Method, Scheme};
use super::rules::{self, CardKind, EngineKind, Key, Version};
use super::weights::{self, Beside, Split, Weights};

/// The card that the engine runs on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Card {
    /// Memory as CUDA reports it, bytes; `None` when it is not known.
    pub memory: Option<Band>,
    /// CUDA compute capability times ten, where known.
    pub compute: Option<u32>,
    /// What the memory belongs to.
    pub kind: CardKind,
}

impl Card {
    /// A card of which nothing is known.
    pub const UNKNOWN: Self = Self { memory: None, compute: None, kind: CardKind::Gpu };
}

impl From<&rules::CardRow> for Card {
    fn from(row: &rules::CardRow) -> Self {
        Self { memory: Some(row.gib.scaled(GIB)), compute: row.compute, kind: row.kind }
    }
}

/// Speculative decoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Draft {
    /// None.
    Off,
    /// A draft layer of the checkpoint with so many tokens a step.
    Tokens(u32),
    /// On, with a number of tokens that is not stated.
    Unstated,
}

/// Settings of the engine. `None` is the engine's default.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Knobs {
    /// Share of the card that the engine plans with.
    pub utilisation: Option<f64>,
    /// Longest request, tokens; the model's longest when not stated.
    pub max_len: Option<u32>,
    /// Most tokens of one step.
    pub batched: Option<u32>,
    /// Most requests of one step.
    pub seqs: Option<u32>,
    /// Whether graphs are off.
    pub eager: Option<bool>,
    /// Tokens of a block or page.
    pub block: Option<u32>,
    /// Rank and number of adapter slots; zeros are the engine's defaults.
    pub adapters: Option<(u32, u32)>,
    /// Speculative decoding.
    pub draft: Draft,
    /// A pool of fixed size, bytes, instead of what the budget leaves.
    pub pool: Option<f64>,
}

impl Default for Knobs {
    fn default() -> Self {
        Self {
            utilisation: None,
            max_len: None,
            batched: None,
            seqs: None,
            eager: None,
            block: None,
            adapters: None,
            draft: Draft::Off,
            pool: None,
        }
    }
}

/// What has to be carried at once.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Work {
    /// Lengths of requests in tokens (input and output together) and their shares. Empty: the longest request alone.
    pub lengths: Vec<(f64, f64)>,
    /// Requests in flight; zero counts as one.
    pub requests: f64,
    /// Bytes a GPU that shall stay free beside the work.
    pub headroom: f64,
}

/// Everything a prediction depends on.
#[derive(Debug, Clone, PartialEq)]
pub struct Setup<'a> {
    /// The model.
    pub facts: &'a ModelFacts,
    /// Whether the facts are of this very checkpoint, not of the model it was made from.
    pub is_own: bool,
    /// Number format of the weights.
    pub scheme: Scheme,
    /// Number format of the cache.
    pub kv: KvFormat,
    /// Engine.
    pub engine: EngineKind,
    /// Its version, where known.
    pub version: Option<Version>,
    /// The card.
    pub card: Card,
    /// Tensor parallel.
    pub tp: u32,
    /// Pipeline parallel.
    pub pp: u32,
    /// Settings.
    pub knobs: Knobs,
    /// What has to be carried.
    pub work: Work,
    /// What a measured run of this engine and card taught.
    pub calibration: Option<Calibration>,
}

impl<'a> Setup<'a> {
    /// A model on one GPU of the newest vLLM with the engine's defaults, weights and cache as the facts state them.
    #[must_use]
    pub fn new(facts: &'a ModelFacts, card: Card) -> Self {
        let scheme = Scheme::read("", "", facts);
        let kv = KvFormat { is_stated: false, ..KvFormat::of(scheme.plain) };
        Self {
            facts,
            is_own: true,
            scheme,
            kv,
            engine: EngineKind::Vllm,
            version: None,
            card,
            tp: 1,
            pp: 1,
            knobs: Knobs::default(),
            work: Work::default(),
            calibration: None,
        }
    }

    fn rule(&self, key: Key) -> Band {
        rules::engine(self.engine, self.version, key)
    }

    /// Longest request, tokens.
    #[must_use]
    pub fn max_len(&self) -> Option<f64> {
        self.knobs.max_len.or(self.facts.max_position).map(f64::from)
    }

    /// Whether the engine takes the larger of its defaults: 70 GiB and more, and not of the generation of the A100.
    fn is_large_card(&self) -> bool {
        let is_old = self.card.compute.is_some_and(|compute| compute <= 80);
        self.card.memory.is_some_and(|memory| memory.value >= 70.0 * GIB) && !is_old
    }

    /// Most tokens of one step.
    #[must_use]
    pub fn batched(&self) -> Band {
        if let Some(batched) = self.knobs.batched {
            return Band::exact(f64::from(batched));
        }
        if self.version.is_some() && self.rule(Key::BatchIsLength).value > 0.0 {
            // A whole prompt is profiled up to 32768 tokens; above, prompts are cut into chunks of 512.
            let length = self.max_len().unwrap_or(2048.0);
            return if length <= 32_768.0 { Band::exact(length.max(2048.0)) } else { Band::new(512.0, 512.0, length) };
        }
        self.rule(if self.is_large_card() { Key::BatchLarge } else { Key::BatchSmall })
    }

    /// Most requests of one step.
    #[must_use]
    pub fn seqs(&self) -> Band {
        if let Some(seqs) = self.knobs.seqs {
            return Band::exact(f64::from(seqs));
        }
        // The two defaults go together: who is seen with one class's tokens has its requests too.
        let (small, large) = (self.rule(Key::BatchSmall).value, self.rule(Key::BatchLarge).value);
        let is_large = match self.knobs.batched.map(f64::from) {
            Some(batched) if small < large && same(batched, small) => false,
            Some(batched) if small < large && same(batched, large) => true,
            _ => self.is_large_card(),
        };
        self.rule(if is_large { Key::SeqsLarge } else { Key::SeqsSmall })
    }

    /// Share of the card that the engine plans with.
    #[must_use]
    pub fn utilisation(&self) -> Band {
        self.knobs.utilisation.map_or_else(|| self.rule(Key::Utilisation), Band::exact)
    }

    fn is_npu(&self) -> bool {
        self.card.kind == CardKind::Npu
    }

    fn split(&self) -> Split {
        Split { tp: self.tp, pp: self.pp, whole_vision: self.is_npu(), backend: self.kernel() }
    }

    /// The kernel of 4-bit experts: the stated one, else the one that the card's generation gets.
    #[must_use]
    pub fn kernel(&self) -> Option<Backend> {
        let chosen = match self.card.compute {
            // The Triton kernel became the choice of this generation with 0.11.
            Some(90) if self.version.is_none_or(|version| version >= Version(0, 11, 0)) => Backend::Triton,
            _ => Backend::Marlin,
        };
        (self.scheme.method == Method::Mxfp4 && matches!(self.engine, EngineKind::Vllm))
            .then(|| self.scheme.backend.unwrap_or(chosen))
    }
}

/// What is costly to make and holds for every card of one kind and many knobs.
#[derive(Debug, Clone, PartialEq)]
pub struct Prepared {
    /// Weights of one GPU, or the columns that are missing.
    pub weights: Result<Weights, Vec<&'static str>>,
    /// Layouts of the cache: the likeliest first, then what else it may be; or the columns that are missing.
    pub layouts: Result<Vec<Layout>, Vec<&'static str>>,
}

/// Which part a figure is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PartKind {
    /// Weights.
    Weights,
    /// The pool for keys and values.
    Pool,
    /// Peak of activations and the sampler while the engine profiles itself.
    Activations,
    /// Libraries inside the budget.
    NonTorch,
    /// Captured graphs.
    Graphs,
    /// CUDA context outside the budget.
    Context,
    /// What is left of the card.
    Headroom,
}

impl PartKind {
    /// All parts in the order shown.
    pub const ALL: [Self; 7] =
        [Self::Weights, Self::Pool, Self::Activations, Self::NonTorch, Self::Graphs, Self::Context, Self::Headroom];

    /// Snake-case name, for `Text` and tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Weights => "weights",
            Self::Pool => "kv_pool",
            Self::Activations => "activations",
            Self::NonTorch => "non_torch",
            Self::Graphs => "graphs",
            Self::Context => "context",
            Self::Headroom => "headroom",
        }
    }
}

/// Whether it fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It fits with the headroom asked for, whatever the intervals.
    Fits,
    /// It fits, and surely with less headroom than asked for.
    FitsWithLess,
    /// It does not fit, whatever the intervals.
    DoesNotFit,
    /// The intervals lie across the limit.
    TooClose,
}

impl Verdict {
    /// Snake-case name, for `Text` and tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fits => "fits",
            Self::FitsWithLess => "fits_with_less_headroom",
            Self::DoesNotFit => "does_not_fit",
            Self::TooClose => "too_close_to_call",
        }
    }

    /// What `free` bytes beside the work mean when `headroom` of them shall stay free.
    #[must_use]
    pub fn of(free: Band, headroom: f64) -> Self {
        if free.low >= headroom.max(0.0) {
            Self::Fits
        } else if free.high < 0.0 {
            Self::DoesNotFit
        } else if free.low >= 0.0 && free.high < headroom {
            Self::FitsWithLess
        } else {
            Self::TooClose
        }
    }
}

/// What runs out first when more is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunsOut {
    /// The weights alone are larger than the budget.
    Weights,
    /// The cache does not hold one request of the longest length.
    Length,
    /// The cache, with requests in flight.
    Cache,
    /// The engine's limit of requests in one step.
    Sequences,
}

impl RunsOut {
    /// Snake-case name, for `Text` and tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Weights => "weights",
            Self::Length => "length",
            Self::Cache => "cache",
            Self::Sequences => "sequences",
        }
    }
}

/// The prediction for one GPU; bytes unless a field says otherwise.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// Weights; `None` with the columns in `missing`.
    pub weights: Option<Band>,
    /// Pool for keys and values that the budget leaves; negative when it leaves less than nothing.
    pub pool: Option<Band>,
    /// Peak of activations and the sampler while the engine profiles itself; reserved, not resident.
    pub activations: Option<Band>,
    /// Libraries inside the budget.
    pub non_torch: Band,
    /// Captured graphs.
    pub graphs: Band,
    /// The share of the graphs that is taken from the budget.
    pub graphs_charged: Band,
    /// CUDA context outside the budget.
    pub context: Band,
    /// What the engine plans with: utilisation × memory.
    pub budget: Option<Band>,
    /// The most that is resident at once.
    pub peak: Option<Band>,
    /// Memory of the card less the peak.
    pub headroom: Option<Band>,
    /// Cache bytes that the work asks for.
    pub needed: Option<Band>,
    /// Pool less what the work asks for.
    pub free: Option<Band>,
    /// Requests of the work's mix of lengths that the pool carries at once.
    pub capacity_requests: Option<Band>,
    /// Tokens that those requests hold together.
    pub capacity_tokens: Option<Band>,
    /// Requests of the longest length that the pool carries; the number that engines print.
    pub concurrency: Option<Band>,
    /// The size in tokens that the engine prints; not a capacity in mixes.
    pub printed_tokens: Option<Band>,
    /// Bytes of cache that one more token costs.
    pub token_bytes: Option<f64>,
    /// Whether it fits; `None` when something decisive is not known.
    pub verdict: Option<Verdict>,
    /// What runs out first.
    pub runs_out: Option<RunsOut>,
    /// Facts and settings that are not known and without which a figure is `None`.
    pub missing: Vec<&'static str>,
    /// What was assumed.
    pub notes: Vec<Note>,
}

impl Prediction {
    /// The parts of the card in the order shown.
    #[must_use]
    pub fn parts(&self) -> [(PartKind, Option<Band>); 7] {
        [
            (PartKind::Weights, self.weights),
            (PartKind::Pool, self.pool),
            (PartKind::Activations, self.activations),
            (PartKind::NonTorch, Some(self.non_torch)),
            (PartKind::Graphs, Some(self.graphs)),
            (PartKind::Context, Some(self.context)),
            (PartKind::Headroom, self.headroom),
        ]
    }
}

/// Tensors and cache layouts of a setup. Of the knobs only adapters, draft, block, lengths and tokens of a step matter.
#[must_use]
pub fn prepare(setup: &Setup) -> Prepared {
    let split = setup.split();
    let weights = weights::inventory(setup.facts, split).map(|tensors| {
        let beside = Beside {
            is_own: setup.is_own,
            has_allocator: setup.engine != EngineKind::LlamaCpp,
            is_host: setup.card.kind == CardKind::Host,
            adapters: setup.knobs.adapters.map(|(rank, slots)| (f64::from(rank.max(16)), f64::from(slots.max(1)))),
            has_draft: setup.knobs.draft != Draft::Off && setup.facts.is_linear_hybrid(),
        };
        weights::weigh(setup.facts, &tensors, &setup.scheme, split, &beside)
    });
    Prepared { weights, layouts: layouts(setup) }
}

fn layouts(setup: &Setup) -> Result<Vec<Layout>, Vec<&'static str>> {
    let state_blocks = setup.rule(Key::StateBlocks);
    let batched = setup.batched();
    let draft = match setup.knobs.draft {
        Draft::Off => 0.0,
        Draft::Tokens(tokens) => f64::from(tokens),
        // Published recipes draft one to three tokens.
        Draft::Unstated => 2.0,
    };
    let base = CacheSetup {
        engine: setup.engine,
        version: setup.version,
        tp: setup.tp,
        pp: setup.pp,
        bytes: setup.kv.bytes,
        plain: setup.scheme.plain.min(2.0),
        block: setup.knobs.block,
        batched: batched.value,
        slots: setup.seqs().value,
        max_len: setup.max_len().unwrap_or(0.0),
        draft,
        state_blocks: state_blocks.value + draft,
        is_npu: setup.is_npu(),
    };
    let mut layouts = vec![Layout::of(setup.facts, &base)?];
    let mut also = |other: CacheSetup| {
        if other != base {
            layouts.extend(Layout::of(setup.facts, &other).ok());
        }
    };
    also(CacheSetup { bytes: setup.kv.range.0, ..base });
    also(CacheSetup { bytes: setup.kv.range.1, ..base });
    if setup.facts.is_linear_hybrid() {
        also(CacheSetup { state_blocks: state_blocks.low + draft, ..base });
        if setup.knobs.draft == Draft::Unstated {
            also(CacheSetup { draft: 1.0, state_blocks: state_blocks.value + 1.0, ..base });
            also(CacheSetup { draft: 3.0, state_blocks: state_blocks.value + 3.0, ..base });
        }
    }
    if setup.facts.sliding_window.is_some() {
        also(CacheSetup { batched: batched.low, ..base });
        also(CacheSetup { batched: batched.high, ..base });
    }
    Ok(layouts)
}

/// Peak of activations: the larger of a step's tokens and the sampler's copies of the logits, or the image part.
fn activations(setup: &Setup) -> Option<Band> {
    let facts = setup.facts;
    let (hidden, vocab) = (f64::from(facts.hidden?), f64::from(facts.vocab?));
    let of = |value: Option<u32>| f64::from(value.unwrap_or(0));
    let t = f64::from(setup.tp.max(1));
    let (batched, seqs) = (setup.batched(), setup.seqs());
    // Values of one token that live at once, in 16 bits.
    let feed = if facts.is_moe() {
        let expert = of(facts.expert_intermediate()) / t;
        of(facts.experts_per_tok) * ((2.0 * expert).max(hidden) + expert)
    } else {
        3.0 * of(facts.intermediate) / t
    };
    let linear =
        of(facts.linear_k_heads) * of(facts.linear_k_head_dim) + of(facts.linear_v_heads) * of(facts.linear_v_head_dim);
    let mixer = (of(facts.heads) * of(facts.head_dim) * 4.0).max(6.0 * linear) / t;
    let token = 2.0 * (feed.max(mixer) + 3.0 * hidden);
    let tokens = Band::new(batched.value * token, batched.low * token * 0.5, batched.high * token * 1.6);
    if setup.engine == EngineKind::LlamaCpp {
        // The compute buffer holds the physical batch's logits and the widest layer.
        let logits = batched.value * vocab * 4.0;
        return Some(Band::new(logits * 1.15 + 0.02 * GIB, logits * 0.8, logits * 1.7 + 0.3 * GIB));
    }
    let bytes = setup.rule(Key::SamplerBytes);
    let last = 2.0 * hidden;
    let rows = |seqs: f64, batched: f64| seqs.min(batched.max(1.0)) * vocab;
    let sampler = Band::new(
        bytes.value * rows(seqs.value, batched.value) + batched.value * last,
        bytes.low * rows(seqs.low, batched.low),
        bytes.high * rows(seqs.high, batched.high) + batched.high * last,
    );
    let mut peak = if facts.pooling == Some(true) { tokens } else { larger(tokens, sampler) };
    if facts.vision == Some(true) || facts.vision_params.is_some() {
        // Towers without a fused attention kernel hold its scores too.
        let unfused = if setup.is_npu() { 1.5 } else { 1.0 };
        let largest = facts.vision_patches.map(|patches| f64::from(patches) * PATCH_BYTES / GIB);
        let value = largest.unwrap_or(VISION_PROFILE.value) * setup.rule(Key::VisionShare).value;
        let profile = Band::new(value, VISION_PROFILE.low, VISION_PROFILE.high * unfused);
        peak = larger(peak, profile.scaled(GIB));
    }
    Some(match setup.calibration {
        Some(calibration) => calibration.activations(peak),
        None => peak,
    })
}

/// One image of the largest size through a tower, as the engine profiles it: it depends on the limit of images a
/// request and was seen between nothing (no images allowed) and several GiB.
const VISION_PROFILE: Band = Band { value: 1.5, low: 0.0, high: 8.5 };

/// Values of one patch that live at once in a tower of about 1150 values: residual and norm, query, key and value, their
/// rotated 32-bit copies, attention's answer, and the feed-forward part before and after its activation; 17 in 16 bits.
const PATCH_BYTES: f64 = 17.0 * 1152.0 * 2.0;

fn larger(a: Band, b: Band) -> Band {
    Band { value: a.value.max(b.value), low: a.low.max(b.low), high: a.high.max(b.high) }
}

/// Sizes that graphs are captured for: 1, 2, 4, then steps of 8 up to twice the requests of a step, at most 512.
fn captured_sizes(seqs: f64) -> f64 {
    let most = (2.0 * seqs).min(512.0);
    let steps = (most.min(256.0) / 8.0).floor() + ((most - 256.0).max(0.0) / 16.0).floor();
    3.0_f64.min(most) + steps
}

fn graphs(setup: &Setup) -> Band {
    if setup.knobs.eager == Some(true) {
        return Band::ZERO;
    }
    let piece = setup.rule(Key::GraphPieceMib).scaled(1_048_576.0);
    let layers = f64::from(setup.facts.layers.unwrap_or(32)) / f64::from(setup.pp.max(1));
    let seqs = setup.seqs();
    let all = |piece: f64, seqs: f64| piece * layers * captured_sizes(seqs);
    let graphs = Band::new(all(piece.value, seqs.value), all(piece.low, seqs.low), all(piece.high, seqs.high));
    // Not stated is the default, graphs on; that they are off stays within the interval.
    if setup.knobs.eager.is_none() { Band { low: 0.0, ..graphs } } else { graphs }
}

/// The prediction for a setup.
#[must_use]
pub fn predict(setup: &Setup) -> Prediction {
    predict_with(setup, &prepare(setup))
}

/// The prediction for a setup whose tensors and layouts are known.
#[must_use]
pub fn predict_with(setup: &Setup, prepared: &Prepared) -> Prediction {
    let mut missing = Vec::new();
    let mut notes = Vec::new();
    let weights = match &prepared.weights {
        Ok(weights) => {
            notes.extend(weights.notes.iter().cloned());
            Some(weights.total)
        }
        Err(lacks) => {
            missing.extend(lacks.iter().copied());
            counted(setup, &mut notes)
        }
    };
    if let Err(lacks) = &prepared.layouts {
        missing.extend(lacks.iter().copied());
    }
    let layouts = prepared.layouts.as_deref().unwrap_or_default();
    notes.extend(layouts.iter().take(1).flat_map(|layout| layout.notes.iter().cloned()));
    missing.sort_unstable();
    missing.dedup();

    let gpus = setup.tp.max(1).saturating_mul(setup.pp.max(1));
    let mut non_torch = setup.rule(match gpus {
        1 => Key::NonTorch1,
        2..=4 => Key::NonTorch2,
        _ => Key::NonTorch8,
    });
    non_torch = non_torch.scaled(GIB);
    if let Some(calibration) = setup.calibration {
        non_torch = calibration.non_torch(non_torch);
    }
    let activations = activations(setup);
    let graphs = graphs(setup);
    let flag = setup.rule(Key::GraphCharged);
    let graphs_charged = Band::new(graphs.value * flag.value, graphs.low * flag.low, graphs.high * flag.high);
    let context = setup.rule(Key::Context).scaled(GIB);
    let utilisation = setup.utilisation();
    let memory = setup.card.memory;
    if memory.is_none() {
        missing.push("gpu_total_gib");
    }
    let budget = memory.map(|memory| {
        Band::new(memory.value * utilisation.value, memory.low * utilisation.low, memory.high * utilisation.high)
    });
    let max_len = setup.max_len();
    let makes_pool = !matches!(setup.engine, EngineKind::LlamaCpp | EngineKind::Transformers);
    let asked = lengths(&setup.work, max_len);
    let requests = setup.work.requests.max(1.0);
    let needed = band_over(layouts, |layout| need_of(layout, &asked, requests)).filter(|_| !asked.is_empty());
    let pool = match (setup.knobs.pool, makes_pool) {
        (Some(pool), _) => Some(Band::exact(pool)),
        // SGLang chooses its share from card, parallelism and draft; without it the pool is not known.
        (None, true) if setup.engine == EngineKind::Sglang && setup.knobs.utilisation.is_none() => {
            missing.push("gpu_memory_utilization");
            None
        }
        (None, true) => match (budget, weights, activations) {
            (Some(budget), Some(weights), Some(activations)) => {
                // SGLang cuts its pool by a share of the memory; activations live in what is left beside.
                let inside = if setup.engine == EngineKind::Sglang { Band::ZERO } else { activations };
                Some(left(budget, &[weights, inside, non_torch, graphs_charged]))
            }
            _ => None,
        },
        // Made as large as the longest request of each slot needs.
        (None, false) => max_len.and_then(|length| band_over(layouts, |layout| layout.need(length) + layout.beside())),
    };
    let peak = match (weights, pool, activations) {
        (Some(weights), Some(pool), Some(activations)) => {
            let pool = pool.not_negative();
            // Activations are reserved at their peak; while requests run they are seldom resident in full.
            let all = weights.value + pool.value + activations.value + non_torch.value;
            let full = match (makes_pool, budget) {
                (true, Some(budget)) => Band::new(all, budget.low - activations.high, budget.high.max(all)),
                _ => {
                    let states = layouts.first().map_or(0.0, |layout| layout.state_bytes() * setup.seqs().value);
                    weights + pool + activations + non_torch + Band::exact(states)
                }
            };
            let outside = Band::new(graphs.value - graphs_charged.value, graphs.low - graphs_charged.low, graphs.high);
            Some((full + outside.not_negative() + context).not_negative())
        }
        _ => None,
    };
    let headroom = memory.zip(peak).map(|(memory, peak)| memory - peak);
    let free = match (makes_pool, pool, needed) {
        (true, Some(pool), Some(needed)) => Some(pool - needed),
        (false, ..) => headroom,
        _ => None,
    };
    let carried = pool.map(Band::not_negative);
    let over = |f: &dyn Fn(&Layout, f64) -> f64| carried.and_then(|pool| band_pool(layouts, pool, f));
    let seqs = setup.seqs();
    let capacity_requests = over(&|layout, pool| layout.mix_concurrency(pool, &asked)).filter(|_| !asked.is_empty());
    let shares: f64 = asked.iter().map(|(_, share)| share).sum();
    let mean = asked.iter().map(|(tokens, share)| tokens * share).sum::<f64>() / shares.max(f64::MIN_POSITIVE);
    let concurrency = max_len.and_then(|length| over(&|layout, pool| layout.concurrency(pool, length)));
    let printed_tokens = over(&|layout, pool| layout.printed_tokens(pool, max_len, printed_rule(setup)));
    let verdict = match (free, weights) {
        (Some(free), Some(_)) => Some(Verdict::of(free, setup.work.headroom)),
        // No card: nothing to fit into. No cache known: only that the weights alone are too large is certain.
        (None, Some(weights)) => budget.filter(|budget| weights.low > budget.high).map(|_| Verdict::DoesNotFit),
        _ => None,
    };
    let longest_need = max_len.and_then(|length| band_over(layouts, |layout| layout.need(length)));
    let runs_out = pool.and_then(|pool| {
        Some(if pool.value <= 0.0 {
            RunsOut::Weights
        } else if longest_need?.value > pool.value {
            RunsOut::Length
        } else if capacity_requests?.value > seqs.value {
            RunsOut::Sequences
        } else {
            RunsOut::Cache
        })
    });
    Prediction {
        weights,
        pool,
        activations,
        non_torch,
        graphs,
        graphs_charged,
        context,
        budget,
        peak,
        headroom,
        needed,
        free,
        capacity_requests,
        capacity_tokens: capacity_requests.map(|requests| Band {
            value: requests.value.floor() * mean,
            low: requests.low.floor() * mean,
            high: requests.high.floor() * mean,
        }),
        concurrency,
        printed_tokens,
        token_bytes: layouts.first().map(|layout| layout.token_bytes),
        verdict,
        runs_out,
        missing,
        notes,
    }
}

/// A budget less its parts. Parts are off independently of each other, so their errors add as squares.
fn left(budget: Band, parts: &[Band]) -> Band {
    let value = budget.value - parts.iter().map(|part| part.value).sum::<f64>();
    let square = |x: f64| x * x;
    let less: f64 =
        parts.iter().map(|part| square(part.high - part.value)).sum::<f64>() + square(budget.value - budget.low);
    let more: f64 =
        parts.iter().map(|part| square(part.value - part.low)).sum::<f64>() + square(budget.high - budget.value);
    Band::within(value, less.sqrt(), more.sqrt())
}

/// Weights from the counted parameters, when the tensors cannot be listed.
fn counted(setup: &Setup, notes: &mut Vec<Note>) -> Option<Band> {
    #[allow(clippy::cast_precision_loss, reason = "parameters are below 2^53")]
    let count = setup.facts.params_text_computed? as f64 / f64::from(setup.tp.max(1)) / f64::from(setup.pp.max(1));
    notes.push(Note::FromParameters);
    let bytes = |format: super::quant::WeightFormat| count * format.bytes();
    let value = bytes(setup.scheme.format);
    Some(Band::new(value, bytes(setup.scheme.range.0) * 0.97, (bytes(setup.scheme.range.1) * 1.05).max(value * 1.3)))
}

fn lengths(work: &Work, max_len: Option<f64>) -> Vec<(f64, f64)> {
    if !work.lengths.is_empty() {
        return work.lengths.clone();
    }
    max_len.map(|length| (length, 1.0)).into_iter().collect()
}

fn need_of(layout: &Layout, asked: &[(f64, f64)], requests: f64) -> f64 {
    let shares: f64 = asked.iter().map(|(_, share)| share).sum();
    let one: f64 = asked.iter().map(|(tokens, share)| layout.need(*tokens) * share).sum();
    if shares > 0.0 { one / shares * requests } else { 0.0 }
}

/// Whether two whole numbers are the same.
fn same(a: f64, b: f64) -> bool {
    (a - b).abs() < 0.5
}

/// A figure over the layouts that the cache may have.
fn band_over(layouts: &[Layout], f: impl Fn(&Layout) -> f64) -> Option<Band> {
    let value = f(layouts.first()?);
    let (low, high) = layouts.iter().map(&f).fold((value, value), |(low, high), x| (low.min(x), high.max(x)));
    Some(Band::new(value, low, high))
}

/// A figure over those layouts and a pool's interval.
fn band_pool(layouts: &[Layout], pool: Band, f: &dyn Fn(&Layout, f64) -> f64) -> Option<Band> {
    let value = f(layouts.first()?, pool.value);
    let ends = layouts.iter().flat_map(|layout| [f(layout, pool.low), f(layout, pool.high)]);
    let (low, high) = ends.fold((value, value), |(low, high), x| (low.min(x), high.max(x)));
    Some(Band::new(value, low, high))
}

/// Which tokens an engine of this version prints.
#[must_use]
pub fn printed_rule(setup: &Setup) -> Printed {
    if setup.rule(Key::PrintedIsConcurrency).value > 0.0 {
        Printed::ConcurrencyTimesLength
    } else {
        Printed::BlocksOverGroups
    }
}

/// What a pool of known size prints and carries: tokens, and requests of the longest length.
#[must_use]
pub fn from_pool(setup: &Setup, prepared: &Prepared, pool: Band, rule: Printed) -> (Option<Band>, Option<Band>) {
    let layouts = prepared.layouts.as_deref().unwrap_or_default();
    let max_len = setup.max_len();
    let tokens = band_pool(layouts, pool, &|layout, pool| layout.printed_tokens(pool, max_len, rule));
    let requests = setup
        .knobs
        .max_len
        .map(f64::from)
        .and_then(|length| band_pool(layouts, pool, &|layout, pool| layout.concurrency(pool, length)));
    (tokens, requests)
}
