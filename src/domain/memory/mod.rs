//! GPU memory before anything is rented: what a model, an engine, a card and a workload come to, with the interval that
//! each answer deserves.
//!
//! - [`facts`], [`catalogue`]: what is known of a model. A name selects a row of facts and nothing more.
//! - [`source`]: what a model's own files say: settings, headers, lists of tensors.
//! - [`measured`]: what an engine's log says of its memory, to lay over what was predicted.
//! - [`image`]: peak memory of image generation.
//! - [`quant`], [`weights`], [`kv`]: number formats, the tensors an engine loads, the cache it cuts.
//! - [`rules`]: what depends on engine, version and card, as rows of data.
//! - [`serve`]: the prediction for a serving engine; [`calibrate`]: what a measured run teaches it.
//! - [`knobs`], [`search`], [`explain`]: what buys how much, the smallest configuration, formulas and inputs.
//! - [`table`]: whole tables at once, for the command line and the tests.
//! - [`train`]: peak memory of fine-tuning.
//! - [`note`]: what had to be assumed.
//! - [`plan`]: how the model is going to be run, as people set it up.
//! - [`offer`]: whether an offer carries the work of a brief; what the Memory step shows.

pub mod band;
pub mod calibrate;
pub mod catalogue;
pub mod explain;
pub mod facts;
pub mod image;
pub mod knobs;
pub mod kv;
pub mod measured;
pub mod note;
pub mod offer;
pub mod plan;
pub mod quant;
pub mod rules;
pub mod search;
pub mod serve;
pub mod source;
pub mod table;
pub mod train;
pub mod weights;

pub use band::Band;
pub use catalogue::{Catalogue, CatalogueError};
pub use facts::{BadFact, ModelFacts, QuantGroup};
pub use measured::EngineRun;
pub use note::Note;
pub use offer::{MemoryCurve, MemoryEstimate, in_flight_at_peak, tokens_mean, tokens_p95};
pub use plan::{MemoryPlan, MemoryWork};
pub use source::{ModelSource, SourceError, SourceNote, read_model};

/// Bytes of one GiB.
pub const GIB: f64 = 1_073_741_824.0;
