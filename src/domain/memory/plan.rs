//! How the model is going to be run, as people set it up: what memory depends on beside the model and the card.
//!
//! It stands beside the brief and not in it: the brief is the work, and records are recognised by it.

use serde::{Deserialize, Serialize};

use super::facts::ModelFacts;
use super::rules::EngineKind;
use crate::domain::ids::EvidenceId;

/// The setup of the Memory step. A field that nobody filled in is the engine's default.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MemoryPlan {
    /// What the memory is for.
    #[serde(skip_serializing_if = "is_default")]
    pub work: MemoryWork,
    /// Facts of the model that were read from its files, where they were.
    #[serde(skip_serializing_if = "is_default")]
    pub facts: Option<Box<ModelFacts>>,
    /// The serving engine.
    #[serde(skip_serializing_if = "is_default")]
    pub engine: EngineKind,
    /// Its version as printed ("0.19.1"); the newest known generation when empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub engine_version: String,
    /// Number format of the checkpoint's weights in the trade's words ("awq-int4-g128"); the brief's precision when
    /// empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub quantisation: String,
    /// Share of the card that the engine plans with, 0..1.
    #[serde(skip_serializing_if = "is_default")]
    pub utilisation: Option<f64>,
    /// Most requests of one step.
    #[serde(skip_serializing_if = "is_default")]
    pub max_sequences: Option<u32>,
    /// Most tokens of one step.
    #[serde(skip_serializing_if = "is_default")]
    pub max_batched_tokens: Option<u32>,
    /// Whether graphs are off.
    #[serde(skip_serializing_if = "is_default")]
    pub eager: Option<bool>,
    /// GiB a GPU that shall stay free beside the work; [`DEFAULT_HEADROOM_GIB`] when not stated.
    #[serde(skip_serializing_if = "is_default")]
    pub headroom_gib: Option<f64>,
    /// The serving log that calibrates activations and libraries.
    #[serde(skip_serializing_if = "is_default")]
    pub calibrated_by: Option<EvidenceId>,
    /// A training run.
    #[serde(skip_serializing_if = "is_default")]
    pub training: TrainingPlan,
    /// An image pipeline.
    #[serde(skip_serializing_if = "is_default")]
    pub images: ImagePlan,
}

/// GiB a GPU that stay free where nobody says otherwise: samplers and draft checks are under-profiled in several engine
/// versions by up to this much.
pub const DEFAULT_HEADROOM_GIB: f64 = 1.0;

impl MemoryPlan {
    /// Bytes a GPU that shall stay free.
    #[must_use]
    pub fn headroom(&self) -> f64 {
        self.headroom_gib.unwrap_or(DEFAULT_HEADROOM_GIB).max(0.0) * super::GIB
    }
}

/// What the memory is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum MemoryWork {
    /// Serving the brief.
    #[default]
    Inference,
    /// Low-rank adapters beside a 16-bit base.
    Lora,
    /// Low-rank adapters beside a 4-bit base.
    Qlora,
    /// Every weight is trained.
    Full,
    /// Image generation.
    Images,
}

impl MemoryWork {
    /// Every kind in the order shown.
    pub const ALL: [Self; 5] = [Self::Inference, Self::Lora, Self::Qlora, Self::Full, Self::Images];

    /// Whether it is training.
    #[must_use]
    pub const fn is_training(self) -> bool {
        matches!(self, Self::Lora | Self::Qlora | Self::Full)
    }

    /// Its name for `Text::name`.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Inference => "memory_inference",
            Self::Lora => "memory_lora",
            Self::Qlora => "memory_qlora",
            Self::Full => "memory_full",
            Self::Images => "memory_images",
        }
    }
}

/// A training run as set up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrainingPlan {
    /// Tokens of a sequence.
    pub seq_len: u32,
    /// Sequences a GPU and step.
    pub micro_batch: u32,
    /// Rank of the adapters.
    pub rank: u32,
    /// Optimiser.
    pub optimizer: TrainOptimizer,
    /// Whether activations are computed again in the backward pass.
    pub checkpointing: bool,
    /// Whether trained weights are kept in fp32.
    pub master_fp32: bool,
    /// What is split over the GPUs of the offer.
    pub sharding: TrainSharding,
}

impl Default for TrainingPlan {
    fn default() -> Self {
        Self {
            seq_len: 4096,
            micro_batch: 1,
            rank: 16,
            optimizer: TrainOptimizer::AdamW,
            checkpointing: true,
            master_fp32: false,
            sharding: TrainSharding::None,
        }
    }
}

/// Optimisers that can be chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum TrainOptimizer {
    /// AdamW.
    #[default]
    AdamW,
    /// AdamW with 8-bit moments.
    AdamW8bit,
    /// AdamW with 8-bit moments in pageable memory.
    PagedAdamW8bit,
    /// Adafactor.
    Adafactor,
    /// Plain SGD.
    Sgd,
}

impl TrainOptimizer {
    /// Every optimiser with the trade's name.
    pub const ALL: [(Self, &'static str); 5] = [
        (Self::AdamW, "AdamW"),
        (Self::AdamW8bit, "AdamW 8-bit"),
        (Self::PagedAdamW8bit, "paged AdamW 8-bit"),
        (Self::Adafactor, "Adafactor"),
        (Self::Sgd, "SGD"),
    ];
}

/// Ways of splitting a training run over the GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum TrainSharding {
    /// Each GPU has everything.
    #[default]
    None,
    /// Optimiser states are split.
    Zero1,
    /// And gradients.
    Zero2,
    /// And weights.
    Zero3,
    /// And weights, by wrapped layers.
    Fsdp,
}

impl TrainSharding {
    /// Every way with the trade's name; `None` has none.
    pub const ALL: [(Self, &'static str); 5] = [
        (Self::None, ""),
        (Self::Zero1, "ZeRO-1"),
        (Self::Zero2, "ZeRO-2"),
        (Self::Zero3, "ZeRO-3"),
        (Self::Fsdp, "FSDP"),
    ];
}

/// An image pipeline as set up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ImagePlan {
    /// Family whose components are loaded ("FLUX.1 dev").
    pub family: String,
    /// Pixels across.
    pub width: u32,
    /// Pixels down.
    pub height: u32,
    /// Images at once.
    pub batch: u32,
    /// What waits in host memory.
    pub offload: ImageOffload,
    /// Whether images are decoded one at a time.
    pub sliced: bool,
    /// Whether they are decoded in tiles.
    pub tiled: bool,
}

impl Default for ImagePlan {
    fn default() -> Self {
        Self {
            family: String::new(),
            width: 1024,
            height: 1024,
            batch: 1,
            offload: ImageOffload::None,
            sliced: false,
            tiled: false,
        }
    }
}

/// What of an image pipeline waits in host memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum ImageOffload {
    /// Nothing.
    #[default]
    None,
    /// Components that are not at work.
    Model,
    /// Everything but the layer at work.
    Sequential,
}

impl ImageOffload {
    /// Every way in the order shown.
    pub const ALL: [Self; 3] = [Self::None, Self::Model, Self::Sequential];

    /// Its name for `Text::name`.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::None => "offload_none",
            Self::Model => "offload_model",
            Self::Sequential => "offload_sequential",
        }
    }
}

/// Whether a value says nothing, so that it is not written.
pub fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
