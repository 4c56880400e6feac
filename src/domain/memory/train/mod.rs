//! Peak memory of training on one GPU: full fine-tuning, LoRA and QLoRA.
//!
//! The peak is the largest of four moments of a step: the loss (all kept activations and the logits), the first layers
//! of the backward pass, its last ones (all gradients there), and the optimiser's step. Constants, their ranges and
//! reasons are in `assets/memory/train_rules.csv`.

mod row;
mod rules;
mod size;

pub use row::{RowSetup, states_its_settings};
pub use size::{Sizes, Targets};

use serde::{Deserialize, Serialize};

use super::{Band, ModelFacts};
use crate::domain::figure::{Input, Origin};
use rules::rule;

/// How the base weights lie on the GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base {
    /// 32 bits.
    F32,
    /// 16 bits.
    Bits16,
    /// 8 bits, one scale a row.
    Int8,
    /// nf4; `None` where it is not stated whether the scales are quantised too.
    Nf4 {
        /// Whether the scales are quantised too.
        double_quant: Option<bool>,
    },
    /// 4 bits with a 16-bit scale and a 4-bit zero for each group.
    Int4Groups {
        /// Weights that share a scale.
        group: u32,
    },
}

/// What is trained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Every weight.
    Full,
    /// Low-rank adapters beside a frozen base.
    Adapter {
        /// Rank; `None` when not stated.
        rank: Option<u32>,
        /// Layers with adapters; `None` when not stated.
        targets: Option<Targets>,
        /// Whether the adapters are 16-bit; the rule is fp32.
        bits16: bool,
    },
}

/// Optimisers by what they keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Optimizer {
    /// Two moments in the number format of the trained weights.
    AdamW,
    /// Two moments in 8 bits.
    AdamW8bit,
    /// Two 8-bit moments in pageable memory, which the allocator does not count.
    PagedAdamW8bit,
    /// Two moments in pageable memory.
    PagedAdamW,
    /// Row and column sums of the second moment.
    Adafactor,
    /// One moment (Lion, SGD with momentum).
    OneMoment,
    /// Nothing (plain SGD).
    Sgd,
}

impl Optimizer {
    /// Those that the window offers, with the trade's names.
    pub const OFFERED: [(Self, &'static str); 5] = [
        (Self::AdamW, "AdamW"),
        (Self::AdamW8bit, "AdamW 8-bit"),
        (Self::PagedAdamW8bit, "paged AdamW 8-bit"),
        (Self::Adafactor, "Adafactor"),
        (Self::Sgd, "SGD"),
    ];
}

/// How the optimiser's step runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Over lists of all parameters: temporary copies of the whole.
    Foreach,
    /// Fused: no temporary copies.
    Fused,
    /// In the backward pass, parameter by parameter: gradients never add up.
    InBackward,
}

/// Number format that the trained weights are kept in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Master {
    /// 16-bit weights, gradients and moments.
    Bits16,
    /// fp32 weights, gradients and moments; 16-bit copies exist while they are used.
    F32,
    /// Not stated, 16-bit more likely.
    Likely16,
    /// Not stated, fp32 more likely.
    Likely32,
}

/// How logits and loss are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// Step by step.
    Eager,
    /// One fused kernel over whole logits.
    Fused,
    /// In chunks of tokens, logits kept.
    Chunked,
    /// Fused with the output projection.
    Linear,
}

/// What is split over the GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sharding {
    /// Nothing: one GPU, or each has everything (DDP).
    None,
    /// Optimiser states (ZeRO-1).
    Zero1,
    /// And gradients (ZeRO-2).
    Zero2,
    /// And weights, in buckets (ZeRO-3).
    Zero3,
    /// And weights, by wrapped layers (FSDP).
    Fsdp,
    /// And weights, by parameter (FSDP 2).
    Fsdp2,
}

impl Sharding {
    /// Those that the window offers, with the trade's names; to split nothing has none.
    pub const OFFERED: [(Self, &'static str); 5] = [
        (Self::None, ""),
        (Self::Zero1, "ZeRO-1"),
        (Self::Zero2, "ZeRO-2"),
        (Self::Zero3, "ZeRO-3"),
        (Self::Fsdp, "FSDP"),
    ];
}

/// What lives in host memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Offload {
    /// Kept activations.
    pub activations: bool,
    /// Optimiser states (and fp32 weights).
    pub optimizer: bool,
    /// Sharded weights, gradients and states.
    pub parameters: bool,
}

/// Which memory is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// What the allocator had handed out at its peak.
    Allocated,
    /// What the allocator had taken from the driver.
    Reserved,
    /// What the driver shows as used.
    Device,
    /// Not stated.
    Unknown,
}

/// One training run on N GPUs.
#[derive(Debug, Clone, PartialEq)]
pub struct Setup {
    /// The model.
    pub facts: ModelFacts,
    /// What is trained.
    pub method: Method,
    /// Base weights; for full fine-tuning the format follows from `master`.
    pub base: Base,
    /// `None` when not stated.
    pub optimizer: Option<Optimizer>,
    /// `None` when not stated.
    pub step: Option<Step>,
    /// Format of trained weights (full fine-tuning).
    pub master: Master,
    /// Tokens of a sequence, at most.
    pub seq_len: u32,
    /// Sequences a GPU and step.
    pub micro_batch: u32,
    /// Whether gradients of earlier micro-batches are kept while a batch runs.
    pub accumulates: bool,
    /// Share of `seq_len` × `micro_batch` that is run: 1 when packed.
    pub filled: Band,
    /// `None` when not stated.
    pub checkpointing: Option<bool>,
    /// Loss.
    pub loss: Loss,
    /// Whether layers and loss are compiled.
    pub compiled: bool,
    /// Whether the base was prepared as usual for k-bit training: norms, embedding and residual stream in fp32.
    pub kbit_prepared: bool,
    /// Whether matrix products run in 16 bits whatever they are given (autocast).
    pub autocast: bool,
    /// Whether attention scores are written out.
    pub eager_attention: bool,
    /// What is split.
    pub sharding: Sharding,
    /// GPUs it is split over.
    pub gpus: u32,
    /// What lives in host memory.
    pub offload: Offload,
    /// Which memory is asked for.
    pub measure: Measure,
}

impl Setup {
    /// A run on one GPU with the usual settings: AdamW, checkpointing, packed sequences, 16-bit base.
    #[must_use]
    pub fn new(facts: ModelFacts, method: Method, seq_len: u32, micro_batch: u32) -> Self {
        Self {
            facts,
            method,
            base: Base::Bits16,
            optimizer: Some(Optimizer::AdamW),
            step: Some(Step::Foreach),
            master: Master::Bits16,
            seq_len,
            micro_batch,
            accumulates: false,
            filled: Band::exact(1.0),
            checkpointing: Some(true),
            loss: Loss::Eager,
            compiled: false,
            kbit_prepared: false,
            autocast: true,
            eager_attention: false,
            sharding: Sharding::None,
            gpus: 1,
            offload: Offload::default(),
            measure: Measure::Allocated,
        }
    }
}

/// Parts of the peak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartKind {
    /// Base weights, or the trained ones.
    Weights,
    /// Adapters with gradients and optimiser states.
    Adapters,
    /// Gradients of the trained weights.
    Gradients,
    /// Optimiser states.
    Optimizer,
    /// Whole layers gathered on a GPU under sharding.
    Gathered,
    /// Activations kept for the backward pass.
    Kept,
    /// What a layer needs while it is computed again and differentiated.
    Layer,
    /// Logits and loss.
    Logits,
    /// Temporary copies of the optimiser's step.
    StepCopies,
    /// 16-bit copies of fp32 weights under autocast.
    CastCopies,
    /// Buckets and small buffers.
    Buffers,
    /// What the allocator and the driver hold beside it.
    Overhead,
}

impl PartKind {
    /// Snake-case name, for `Text::name`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Weights => "weights",
            Self::Adapters => "adapter_states",
            Self::Gradients => "gradients",
            Self::Optimizer => "optimizer_states",
            Self::Gathered => "gathered_layers",
            Self::Kept => "kept_activations",
            Self::Layer => "layer_activations",
            Self::Logits => "logits",
            Self::StepCopies => "step_copies",
            Self::CastCopies => "cast_copies",
            Self::Buffers => "buffers",
            Self::Overhead => "allocator_and_context",
        }
    }
}

/// Moments of a step at which memory peaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Logits and loss.
    Loss,
    /// The last layer's backward pass, everything kept.
    BackwardStart,
    /// The first layer's backward pass, all gradients there.
    BackwardEnd,
    /// The optimiser's step.
    Step,
}

/// One part, bytes on a GPU.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// What it is.
    pub kind: PartKind,
    /// Bytes.
    pub bytes: Band,
    /// Formula with the names of `inputs`.
    pub formula: &'static str,
    /// What went in.
    pub inputs: Vec<Input>,
}

/// What a run needs on one GPU, in bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// Peak.
    pub peak: Band,
    /// The moment of the peak.
    pub moment: Moment,
    /// Weights on a GPU, adapters included.
    pub weights: Band,
    /// Parts that make up the peak at that moment; their values add up to its value.
    pub parts: Vec<Part>,
    /// Every moment with its bytes.
    pub moments: Vec<(Moment, Band)>,
    /// Settings that were not stated and widened the band, by column.
    pub assumed: Vec<&'static str>,
}

/// Largest numbers that are taken for what they say.
const MAX_TOKENS: f64 = 1e8;

/// Peak memory of a run.
///
/// # Errors
/// What is missing or cannot be, by column.
pub fn predict(setup: &Setup) -> Result<Prediction, Vec<&'static str>> {
    let sizes = Sizes::of(&setup.facts)?;
    let mut wrong = Vec::new();
    let tokens = f64::from(setup.seq_len) * f64::from(setup.micro_batch);
    if setup.seq_len == 0 || tokens > MAX_TOKENS {
        wrong.push("seq_len");
    }
    if setup.micro_batch == 0 || tokens > MAX_TOKENS {
        wrong.push("micro_batch");
    }
    if setup.gpus == 0 {
        wrong.push("gpus");
    }
    if !wrong.is_empty() {
        return Err(wrong);
    }
    Ok(Run { setup, sizes, tokens: setup.filled.scaled(tokens) }.predict())
}

struct Run<'a> {
    setup: &'a Setup,
    sizes: Sizes,
    tokens: Band,
}

impl Run<'_> {
    fn predict(&self) -> Prediction {
        let states = self.states();
        let kept = self.kept();
        let (layer, logits, gathered) = (self.layer(), self.logits(), self.gathered());
        let early_gradients = if self.setup.accumulates { states.gradients } else { Band::ZERO };
        let one_gradient = self.one_gradient();
        let moments: [(Moment, Vec<(PartKind, Band)>); 4] = [
            (
                Moment::Loss,
                vec![
                    (PartKind::Gathered, gathered),
                    (PartKind::Gradients, larger(early_gradients, one_gradient)),
                    (PartKind::Kept, kept),
                    (PartKind::Logits, logits),
                    (PartKind::CastCopies, self.cast_copies()),
                ],
            ),
            (
                Moment::BackwardStart,
                vec![
                    (PartKind::Gathered, gathered + self.gathered_gradient()),
                    (PartKind::Gradients, larger(early_gradients, one_gradient)),
                    (PartKind::Kept, kept),
                    (PartKind::Layer, layer),
                ],
            ),
            (
                Moment::BackwardEnd,
                vec![
                    (PartKind::Gathered, gathered + self.gathered_gradient()),
                    (PartKind::Gradients, states.gradients),
                    (PartKind::Kept, self.kept_at_end(kept)),
                    (PartKind::Layer, layer),
                ],
            ),
            (Moment::Step, vec![(PartKind::Gradients, states.gradients), (PartKind::StepCopies, states.step)]),
        ];
        let always = [
            (PartKind::Weights, states.weights),
            (PartKind::Adapters, states.adapters),
            (PartKind::Optimizer, states.optimizer),
            (PartKind::Buffers, self.buffers()),
        ];
        let sums: Vec<(Moment, Band)> = moments
            .iter()
            .map(|(moment, parts)| (*moment, always.iter().chain(parts).map(|(_, band)| *band).sum()))
            .collect();
        let allocated = sums.iter().fold(Band::ZERO, |peak, (_, band)| larger(peak, *band));
        let allocated = product(allocated, rule("formula_error"));
        let moment =
            sums.iter().max_by(|a, b| a.1.value.total_cmp(&b.1.value)).map_or(Moment::Loss, |(moment, _)| *moment);
        let overhead = self.overhead(allocated);
        let parts = always
            .iter()
            .chain(moments.iter().filter(|(at, _)| *at == moment).flat_map(|(_, parts)| parts))
            .chain([&(PartKind::Overhead, overhead)])
            .filter(|(_, band)| band.high > 0.0)
            .map(|(kind, band)| self.part(*kind, *band))
            .collect();
        Prediction {
            peak: allocated + overhead,
            moment,
            weights: states.weights + self.adapter_weights(),
            parts,
            moments: sums,
            assumed: self.assumed(),
        }
    }

    /// Bytes of all weights that are not adapters, before they are split.
    fn weights(&self) -> Band {
        self.language_weights() + self.other_weights()
    }

    /// Image, sound and other parts, which stay 16-bit and are not trained.
    fn other_weights(&self) -> Band {
        let facts = &self.setup.facts;
        #[allow(clippy::cast_precision_loss, reason = "a count of parameters stays exact below 2^53")]
        let count = |params: Option<u64>| params.map(|params| Band::exact(params as f64));
        let vision = count(facts.vision_params)
            .unwrap_or_else(|| if facts.vision == Some(true) { rule("vision_parameters") } else { Band::ZERO });
        (vision + count(facts.other_params).unwrap_or(Band::ZERO)).scaled(2.0)
    }

    fn language_weights(&self) -> Band {
        let sizes = &self.sizes;
        let wide = |bytes: f64| Band::exact(sizes.total() * bytes);
        match self.setup.method {
            Method::Full => self.master_bytes().scaled(sizes.total()),
            Method::Adapter { .. } => {
                let linear = match self.setup.base {
                    Base::F32 => return wide(4.0),
                    Base::Bits16 => return wide(2.0),
                    Base::Int8 => rule("int8_bytes"),
                    Base::Nf4 { double_quant: Some(false) } => rule("nf4_plain_bytes"),
                    Base::Nf4 { double_quant: Some(true) } => Band::exact(rule("nf4_bytes").value),
                    Base::Nf4 { double_quant: None } => {
                        let double = rule("nf4_bytes");
                        Band::new(double.value, double.low, rule("nf4_plain_bytes").high)
                    }
                    Base::Int4Groups { group } => Band::exact(0.5 + 2.5 / f64::from(group.max(1))),
                };
                // The usual preparation widens the embedding to fp32; under autocast it goes back to 16 bits.
                let vocabulary = if self.setup.kbit_prepared && !self.setup.autocast {
                    Band::new(4.0, 2.0, 4.0)
                } else {
                    Band::new(2.0, 2.0, if self.setup.kbit_prepared { 4.0 } else { 2.0 })
                };
                linear.scaled(sizes.linear)
                    + vocabulary.scaled(sizes.vocabulary)
                    + Band::new(2.0, 2.0, 4.0).scaled(sizes.small)
            }
        }
    }

    /// Bytes a trained weight.
    fn master_bytes(&self) -> Band {
        match self.setup.master {
            Master::Bits16 => Band::exact(2.0),
            Master::F32 => Band::exact(4.0),
            Master::Likely16 => Band::new(2.0, 2.0, 4.0),
            Master::Likely32 => Band::new(4.0, 2.0, 4.0),
        }
    }

    fn shares(&self) -> (f64, f64, f64) {
        let one = 1.0 / f64::from(self.setup.gpus.max(1));
        match self.setup.sharding {
            Sharding::None => (1.0, 1.0, 1.0),
            Sharding::Zero1 => (1.0, 1.0, one),
            Sharding::Zero2 => (1.0, one, one),
            Sharding::Zero3 | Sharding::Fsdp | Sharding::Fsdp2 => (one, one, one),
        }
    }

    fn is_fully_sharded(&self) -> bool {
        matches!(self.setup.sharding, Sharding::Zero3 | Sharding::Fsdp | Sharding::Fsdp2) && self.setup.gpus > 1
    }

    fn adapter_count(&self) -> Band {
        let Method::Adapter { rank, targets, .. } = self.setup.method else { return Band::ZERO };
        let count = |targets: Targets| targets.per_rank(&self.sizes);
        let per_rank = targets.map_or_else(
            || Band::new(count(Targets::ATTENTION), count(Targets::QUERY_VALUE), count(Targets::ALL)),
            |targets| Band::exact(count(targets)),
        );
        product(per_rank, rank.map_or_else(|| rule("lora_rank_unknown"), |rank| Band::exact(f64::from(rank))))
    }

    fn adapter_bytes(&self) -> Band {
        match self.setup.method {
            Method::Adapter { bits16: true, .. } => Band::exact(2.0),
            Method::Adapter { .. } => rule("adapter_weight_bytes"),
            Method::Full => Band::ZERO,
        }
    }

    fn adapter_weights(&self) -> Band {
        product(self.adapter_count(), self.adapter_bytes()).scaled(self.shares().0)
    }

    /// Optimiser states in bytes, for weights of `count` elements kept in `bytes`.
    fn optimizer_bytes(&self, count: Band, bytes: Band) -> Band {
        let moments = |n: f64| product(count, bytes).scaled(n);
        let paged = |band: Band| {
            let seen =
                if matches!(self.setup.measure, Measure::Device) { band.high } else { band.high.min(band.value) };
            Band::new(0.0, 0.0, seen)
        };
        match self.setup.optimizer {
            Some(Optimizer::AdamW) => moments(2.0),
            // Some loops keep the embedding's moments in 32 bits.
            Some(Optimizer::AdamW8bit) => {
                let embedding = if self.setup.method == Method::Full { 6.0 * self.sizes.embedding } else { 0.0 };
                Band::new(count.value * 2.0, count.low * 2.0, count.high * 2.1 + embedding)
            }
            Some(Optimizer::PagedAdamW8bit) => paged(count.scaled(2.0)),
            Some(Optimizer::PagedAdamW) => paged(moments(2.0)),
            Some(Optimizer::Adafactor) => count.scaled(0.01),
            Some(Optimizer::OneMoment) => moments(1.0),
            Some(Optimizer::Sgd) => Band::ZERO,
            None => Band::new(moments(2.0).value, 0.0, moments(2.0).high),
        }
    }

    fn states(&self) -> States {
        let (of_weights, of_gradients, of_states) = self.shares();
        let stays = if self.setup.offload.parameters { 0.0 } else { 1.0 };
        let states_stay = if self.setup.offload.optimizer { 0.0 } else { stays };
        let weights = self.weights().scaled(of_weights * stays);
        if let Method::Adapter { .. } = self.setup.method {
            let count = self.adapter_count();
            let bytes = self.adapter_bytes();
            let own = product(count, bytes);
            let adapters = own.scaled(of_weights * stays)
                + own.scaled(of_gradients * stays)
                + self.optimizer_bytes(count, bytes).scaled(of_states * states_stay);
            return States { weights, adapters, ..States::default() };
        }
        let count = Band::exact(self.sizes.total());
        let bytes = self.master_bytes();
        let by_buckets = matches!(self.setup.sharding, Sharding::Zero1 | Sharding::Zero2 | Sharding::Zero3);
        // Gradients of 16-bit weights may add up in fp32 under bucket sharding.
        let of_one = if by_buckets { Band::new(bytes.value, bytes.low, 4.0) } else { bytes };
        let gradients = product(count, of_one).scaled(of_gradients * stays);
        let (gradients, copies) = match self.setup.step {
            Some(Step::InBackward) => (Band::ZERO, Band::ZERO),
            Some(Step::Fused) => (gradients, Band::ZERO),
            Some(Step::Foreach) => (gradients, Band::exact(rule("step_copies_foreach").value)),
            None => (gradients, rule("step_copies_foreach")),
        };
        let mut optimizer = self.optimizer_bytes(count, bytes);
        if by_buckets {
            // Sharded states keep fp32 weights beside 16-bit ones: 4 + 4 + 4 bytes a parameter.
            optimizer = larger(optimizer, count.scaled(12.0));
        }
        States {
            weights,
            adapters: Band::ZERO,
            gradients,
            optimizer: optimizer.scaled(of_states * states_stay),
            step: product(product(count, bytes), copies).scaled(of_states * states_stay),
        }
    }

    /// Bytes of an element of the residual stream.
    fn stream_bytes(&self) -> f64 {
        if self.setup.kbit_prepared || matches!(self.setup.base, Base::F32) { 4.0 } else { 2.0 }
    }

    /// Bytes of an element inside a layer.
    fn inside_bytes(&self) -> f64 {
        let wide = self.setup.kbit_prepared || matches!(self.setup.base, Base::F32);
        if wide && !self.setup.autocast { 4.0 } else { 2.0 }
    }

    /// Activations kept until the backward pass.
    fn kept(&self) -> Band {
        let sizes = &self.sizes;
        let inputs = Band::exact(sizes.layers * sizes.hidden * self.stream_bytes());
        let whole = self.saved_layer().scaled(sizes.layers);
        let a_token = match self.setup.checkpointing {
            Some(true) => inputs,
            Some(false) => whole,
            None => Band::new(inputs.value, inputs.low, whole.high),
        };
        // Two layers are in flight while the rest waits in host memory.
        let on_gpu = if self.setup.offload.activations { (2.0 / sizes.layers).min(1.0) } else { 1.0 };
        product(a_token, self.tokens).scaled(on_gpu)
    }

    /// What lies beside the last layer of the backward pass: nothing that was kept, but under wrapped sharding the
    /// gradients of all frozen units.
    fn kept_at_end(&self, kept: Band) -> Band {
        let frozen = matches!(self.setup.method, Method::Adapter { .. });
        if frozen && self.setup.sharding == Sharding::Fsdp && self.is_fully_sharded() {
            let gradient = rule("frozen_unit_gradient").scaled(self.sizes.layers * self.sizes.hidden * 2.0);
            return larger(kept, product(gradient, self.tokens) + kept);
        }
        Band::ZERO
    }

    /// Bytes that one layer keeps of a token.
    fn saved_layer(&self) -> Band {
        let sizes = &self.sizes;
        let elements = rule("saved_mlp").scaled(sizes.token_mlp)
            + rule("saved_attention").scaled(sizes.hidden)
            + Band::exact(2.0 * (sizes.query - sizes.hidden).max(0.0));
        let compiled = if self.setup.compiled { rule("saved_compiled") } else { Band::exact(1.0) };
        product(elements, compiled).scaled(self.inside_bytes()) + self.scores()
    }

    /// Attention scores of a token where they are written out: scores, their softmax and its fp32 copy.
    fn scores(&self) -> Band {
        if self.setup.eager_attention {
            Band::new(8.0, 4.0, 10.0).scaled(self.sizes.heads * f64::from(self.setup.seq_len))
        } else {
            Band::ZERO
        }
    }

    /// One layer while it is differentiated.
    fn layer(&self) -> Band {
        let temporary = rule("backward_mlp").scaled(self.sizes.part_mlp) + Band::exact(1.5 * self.sizes.hidden);
        product(self.saved_layer() + temporary.scaled(self.inside_bytes()), self.tokens)
    }

    fn logits(&self) -> Band {
        let a_word = match self.setup.loss {
            Loss::Linear => rule("loss_linear"),
            Loss::Chunked => rule("loss_chunked"),
            Loss::Fused => rule("loss_fused"),
            Loss::Eager if self.setup.compiled => rule("loss_compiled"),
            Loss::Eager if self.setup.kbit_prepared && !self.setup.autocast => rule("loss_eager_fp32_head"),
            Loss::Eager => rule("loss_eager"),
        };
        let hidden = rule("loss_hidden").scaled(self.sizes.hidden * self.stream_bytes());
        product(a_word.scaled(self.sizes.vocab) + hidden, self.tokens)
    }

    /// Whole weights on a GPU under full sharding: the vocabulary, which stays, and a layer.
    fn gathered(&self) -> Band {
        if !self.is_fully_sharded() {
            return Band::ZERO;
        }
        self.layer_bytes(rule("gathered_layers")) + Band::exact(self.sizes.vocabulary * 2.0)
    }

    fn layer_bytes(&self, layers: Band) -> Band {
        let share = match (self.setup.method, self.setup.base) {
            (Method::Adapter { .. }, Base::Nf4 { .. } | Base::Int4Groups { .. }) => 0.53,
            (Method::Adapter { .. }, Base::Int8) => 1.0,
            _ => 2.0,
        };
        layers.scaled(self.sizes.layer * share)
    }

    /// The gradient of a gathered layer before it is split.
    fn gathered_gradient(&self) -> Band {
        if self.is_fully_sharded() && self.setup.method == Method::Full {
            self.layer_bytes(Band::exact(1.0))
        } else {
            Band::ZERO
        }
    }

    /// The gradient of the output projection, the first one that exists.
    fn one_gradient(&self) -> Band {
        match self.setup.method {
            Method::Full if !self.is_fully_sharded() => {
                let one = product(Band::exact(self.sizes.embedding), self.master_bytes());
                // It and the logits overlap for a moment only.
                Band::new(one.value, 0.0, one.high)
            }
            _ => Band::ZERO,
        }
    }

    fn buffers(&self) -> Band {
        let small = rule("small_buffers");
        match self.setup.sharding {
            Sharding::Zero1 | Sharding::Zero2 | Sharding::Zero3 => {
                let trained = match self.setup.method {
                    Method::Full => self.sizes.total() * 4.0,
                    Method::Adapter { .. } => self.adapter_count().high * 4.0,
                };
                let bucket = rule("zero_buckets");
                small + Band::new(bucket.value.min(trained), bucket.low, bucket.high.min(trained))
            }
            Sharding::None if self.setup.gpus > 1 => {
                // Gradients are copied into buckets to be reduced, unless they live in them.
                let trained = match self.setup.method {
                    Method::Full => product(Band::exact(self.sizes.total()), self.master_bytes()),
                    Method::Adapter { .. } => product(self.adapter_count(), self.adapter_bytes()),
                };
                small + Band::new(trained.value, 0.0, trained.high)
            }
            _ => small,
        }
    }

    /// 16-bit copies of fp32 weights that autocast keeps until the end of the forward pass.
    fn cast_copies(&self) -> Band {
        let wide = match self.setup.master {
            Master::F32 | Master::Likely32 => 2.0,
            Master::Bits16 | Master::Likely16 => 0.0,
        };
        let full = self.setup.method == Method::Full && self.setup.autocast && !self.is_fully_sharded();
        Band::new(if full { wide } else { 0.0 }, 0.0, if full { wide } else { 0.0 }).scaled(self.sizes.total())
    }

    fn overhead(&self, allocated: Band) -> Band {
        let over = |factor: Band| Band {
            value: allocated.value * (factor.value - 1.0),
            low: allocated.low * (factor.low - 1.0),
            high: allocated.high * (factor.high - 1.0),
        };
        match self.setup.measure {
            Measure::Allocated => Band::ZERO,
            Measure::Reserved => over(rule("reserved_factor")),
            Measure::Device => over(rule("device_factor")) + rule("device_context"),
            Measure::Unknown => {
                let device = over(rule("device_factor")) + rule("device_context");
                Band::new(device.value / 2.0, 0.0, device.high)
            }
        }
    }

    fn assumed(&self) -> Vec<&'static str> {
        let setup = self.setup;
        let mut assumed = Vec::new();
        let mut note = |unknown: bool, name: &'static str| {
            if unknown {
                assumed.push(name);
            }
        };
        note(setup.checkpointing.is_none(), "grad_checkpointing");
        note(setup.optimizer.is_none(), "optimizer");
        if let Method::Adapter { rank, targets, .. } = setup.method {
            note(rank.is_none(), "lora_rank");
            note(targets.is_none(), "lora_targets");
        } else {
            note(matches!(setup.master, Master::Likely16 | Master::Likely32), "master_weights");
        }
        note(setup.filled.low < setup.filled.high, "tokens");
        note(setup.measure == Measure::Unknown, "peak_kind");
        note(setup.facts.vision == Some(true) && setup.facts.vision_params.is_none(), "vision_params");
        assumed
    }

    fn part(&self, kind: PartKind, bytes: Band) -> Part {
        let (formula, inputs) = self.explained(kind);
        Part { kind, bytes, formula, inputs }
    }

    fn explained(&self, kind: PartKind) -> (&'static str, Vec<Input>) {
        let sizes = &self.sizes;
        let leaf = |name: &'static str, value: f64, unit: &str| {
            Input::leaf(name, format!("{value:.0}"), unit, Origin::Declared)
        };
        let tokens = || leaf("tokens_step", self.tokens.value, "");
        let parameters = || leaf("parameters", sizes.total(), "");
        let gpus = || leaf("gpus", f64::from(self.setup.gpus), "");
        match kind {
            PartKind::Weights => ("parameters × bytes_weight / gpus", vec![parameters(), gpus()]),
            PartKind::Adapters => {
                ("adapters × (weight + gradient + states)", vec![leaf("adapters", self.adapter_count().value, "")])
            }
            PartKind::Gradients => ("parameters × bytes_gradient / gpus", vec![parameters(), gpus()]),
            PartKind::Optimizer => ("parameters × bytes_states / gpus", vec![parameters(), gpus()]),
            PartKind::Gathered => (
                "2 B × vocabulary + layer",
                vec![leaf("vocabulary", sizes.vocabulary, ""), leaf("layer", sizes.layer, "")],
            ),
            PartKind::Kept => (
                "tokens_step × layers × hidden × bytes",
                vec![tokens(), leaf("layers", sizes.layers, ""), leaf("hidden", sizes.hidden, "")],
            ),
            PartKind::Layer => (
                "tokens_step × (6 × intermediate + 12 × hidden) × bytes",
                vec![tokens(), leaf("intermediate", sizes.token_mlp, ""), leaf("hidden", sizes.hidden, "")],
            ),
            PartKind::Logits => ("tokens_step × vocab × bytes_logit", vec![tokens(), leaf("vocab", sizes.vocab, "")]),
            PartKind::StepCopies => ("parameters × bytes_weight / gpus", vec![parameters(), gpus()]),
            PartKind::CastCopies => ("parameters × 2 B", vec![parameters()]),
            PartKind::Buffers => ("buckets + small_buffers", Vec::new()),
            PartKind::Overhead => ("allocated × (factor − 1) + context", Vec::new()),
        }
    }
}

#[derive(Default)]
struct States {
    weights: Band,
    adapters: Band,
    gradients: Band,
    optimizer: Band,
    step: Band,
}

/// The larger of two, bound by bound.
pub(super) fn larger(a: Band, b: Band) -> Band {
    Band { value: a.value.max(b.value), low: a.low.max(b.low), high: a.high.max(b.high) }
}

/// The product of two that are not negative.
pub(super) fn product(a: Band, b: Band) -> Band {
    Band { value: a.value * b.value, low: a.low * b.low, high: a.high * b.high }
}
