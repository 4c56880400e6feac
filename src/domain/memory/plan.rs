//! How the model is going to be run, as people set it up: what memory depends on beside the model and the card.
//!
//! It stands beside the brief and not in it: the brief is the work, and records are recognised by it.

use serde::{Deserialize, Serialize};

use super::facts::ModelFacts;
use super::image::Offload;
use super::rules::EngineKind;
use super::train::{Optimizer, Sharding};
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
    pub optimizer: Optimizer,
    /// Whether activations are computed again in the backward pass.
    pub checkpointing: bool,
    /// Whether trained weights are kept in fp32.
    pub master_fp32: bool,
    /// What is split over the GPUs of the offer.
    pub sharding: Sharding,
}

impl Default for TrainingPlan {
    fn default() -> Self {
        Self {
            seq_len: 4096,
            micro_batch: 1,
            rank: 16,
            optimizer: Optimizer::AdamW,
            checkpointing: true,
            master_fp32: false,
            sharding: Sharding::None,
        }
    }
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
    pub offload: Offload,
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
            offload: Offload::None,
            sliced: false,
            tiled: false,
        }
    }
}

/// Whether a value says nothing, so that it is not written.
pub fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
