//! Peak memory of image generation: the largest stage of text encoding, denoising and decoding, each with what is on
//! the GPU then and its workspace. Components and constants are tables in `assets/memory/image_*.csv`.

mod row;
mod tables;

pub use row::RowSetup;
pub use tables::{Component, Role, Source, components, family_names, source};

use serde::{Deserialize, Serialize};

use super::Band;
use crate::domain::figure::{Input, Origin};
use tables::rule;

/// Number format that a pipeline computes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dtype {
    /// 32 bits.
    F32,
    /// 16 bits, IEEE.
    F16,
    /// 16 bits, brain.
    Bf16,
}

impl Dtype {
    const fn bytes(self) -> f64 {
        match self {
            Self::F32 => 4.0,
            Self::F16 | Self::Bf16 => 2.0,
        }
    }
}

/// How the weights of a component are quantised.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quant {
    /// Bytes of a quantised weight.
    pub bytes: Band,
    /// Bytes of the weights that a loader keeps out of it; `None` when it keeps none out.
    pub kept_bytes: Option<Band>,
    /// Whether only the storage is cast and some layers are left as they are.
    pub layerwise: bool,
    /// Whether its weights can leave the GPU once they are there.
    pub movable: bool,
    /// Whether they are put on the GPU while the pipeline is loaded, offload or not.
    pub loaded_on_gpu: bool,
}

/// A component with its format.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    /// The component.
    pub component: Component,
    /// `None` when it is in the pipeline's format.
    pub quant: Option<Quant>,
}

/// What waits in host memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Offload {
    /// Nothing.
    None,
    /// Components that are not at work.
    Model,
    /// All but a few blocks of the denoiser; the other components stay.
    Group,
    /// Everything but the layer at work.
    Sequential,
}

impl Offload {
    /// Those that the window offers.
    pub const OFFERED: [Self; 3] = [Self::None, Self::Model, Self::Sequential];

    /// Its name for `Text::name`.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::None => "offload_none",
            Self::Model => "offload_model",
            Self::Group => "offload_group",
            Self::Sequential => "offload_sequential",
        }
    }
}

/// How self-attention runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attention {
    /// Fused: scores are never written out.
    Fused,
    /// Written out.
    Written,
    /// Written out one head at a time.
    Sliced,
}

/// How latents become pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decode {
    /// One image at a time.
    pub sliced: bool,
    /// In tiles.
    pub tiled: bool,
    /// By a small distilled decoder instead of the pipeline's.
    pub tiny: bool,
}

/// What runs the pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// PyTorch with cuDNN.
    Torch,
    /// An engine with its own allocator and convolutions.
    Ggml,
}

/// Which memory is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// The peak of what the allocator handed out.
    Peak,
    /// The peak that the driver shows.
    Device,
    /// What stays on the GPU after a run.
    Resident,
    /// The workspace of the decoder alone.
    DecodeBuffer,
}

/// One way of generating images.
#[derive(Debug, Clone, PartialEq)]
pub struct Setup {
    /// Components of the pipeline.
    pub components: Vec<Loaded>,
    /// Pixels.
    pub width: u32,
    /// Pixels.
    pub height: u32,
    /// Images at once.
    pub batch: u32,
    /// Format of computing.
    pub dtype: Dtype,
    /// What waits in host memory.
    pub offload: Offload,
    /// Attention.
    pub attention: Attention,
    /// Decoding.
    pub decode: Decode,
    /// Whether prompts were turned into embeddings before, and the text encoders are gone.
    pub prompts_ready: bool,
    /// What runs it.
    pub engine: Engine,
    /// Which memory is asked for.
    pub measure: Measure,
}

impl Setup {
    /// A pipeline wholly on the GPU, unquantised, fused attention, decoding everything at once.
    #[must_use]
    pub fn new(components: &[Component], width: u32, height: u32, batch: u32, dtype: Dtype) -> Self {
        let components = components.iter().map(|part| Loaded { component: part.clone(), quant: None }).collect();
        Self {
            components,
            width,
            height,
            batch,
            dtype,
            offload: Offload::None,
            attention: Attention::Fused,
            decode: Decode { sliced: false, tiled: false, tiny: false },
            prompts_ready: false,
            engine: Engine::Torch,
            measure: Measure::Peak,
        }
    }
}

/// Stages of a generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Weights that are put on the GPU while the pipeline is loaded.
    Load,
    /// Prompts to embeddings.
    Text,
    /// Steps on latents.
    Denoise,
    /// Latents to pixels.
    Decode,
}

impl Stage {
    /// Snake-case name, for `Text::name`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Load => "image_stage_load",
            Self::Text => "image_stage_text",
            Self::Denoise => "image_stage_denoise",
            Self::Decode => "image_stage_decode",
        }
    }
}

/// One stage, bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct StageNeed {
    /// Which.
    pub stage: Stage,
    /// Weights on the GPU then.
    pub resident: Band,
    /// What the work itself takes.
    pub workspace: Band,
    /// Formula of the workspace with the names of `inputs`.
    pub formula: &'static str,
    /// What went in.
    pub inputs: Vec<Input>,
}

impl StageNeed {
    /// Both together.
    #[must_use]
    pub fn total(&self) -> Band {
        self.resident + self.workspace
    }
}

/// What a generation needs on the GPU, in bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// The figure asked for: the largest stage, unless [`Measure`] says otherwise.
    pub peak: Band,
    /// The stage of the peak.
    pub stage: Stage,
    /// Weights of all components in their formats.
    pub weights: Band,
    /// Stages in order.
    pub stages: Vec<StageNeed>,
    /// Each component's weights in its format.
    pub components: Vec<(String, Role, Band)>,
}

/// Most pixels of a side, images of a batch.
const MOST_PIXELS: u32 = 65_536;
const MOST_IMAGES: u32 = 65_536;

/// Peak memory of a generation.
///
/// # Errors
/// What is missing or cannot be, by column.
pub fn predict(setup: &Setup) -> Result<Prediction, Vec<&'static str>> {
    let mut wrong = Vec::new();
    if ![setup.width, setup.height].iter().all(|side| (8..=MOST_PIXELS).contains(side)) {
        wrong.push("resolution");
    }
    if !(1..=MOST_IMAGES).contains(&setup.batch) {
        wrong.push("batch");
    }
    let has = |role: Role| setup.components.iter().any(|part| part.component.role == role);
    if !has(Role::Denoiser) || !has(Role::Decoder) {
        wrong.push("components");
    }
    if wrong.is_empty() { Ok(Pipeline { setup }.predict()) } else { Err(wrong) }
}

struct Pipeline<'a> {
    setup: &'a Setup,
}

impl Pipeline<'_> {
    fn predict(&self) -> Prediction {
        let setup = self.setup;
        let stages: Vec<StageNeed> = [Stage::Load, Stage::Text, Stage::Denoise, Stage::Decode]
            .into_iter()
            .filter(|stage| *stage != Stage::Text || !setup.prompts_ready)
            .map(|stage| self.stage(stage))
            .collect();
        let peak = stages.iter().map(StageNeed::total).fold(Band::ZERO, super::train::larger);
        let stage = stages
            .iter()
            .max_by(|a, b| a.total().value.total_cmp(&b.total().value))
            .map_or(Stage::Decode, |need| need.stage);
        let weights: Band = self.loaded().map(|part| self.weights(part)).sum();
        let error = rule("formula_error");
        let with_error = |band: Band| super::train::product(band, error);
        let figure = match setup.measure {
            Measure::Peak => with_error(peak),
            Measure::Device => {
                with_error(super::train::product(peak, rule("reserved_factor"))) + rule("device_context")
            }
            Measure::Resident => with_error(weights + rule("small_tensors")),
            Measure::DecodeBuffer => with_error(self.decode_workspace()),
        };
        let components =
            self.loaded().map(|part| (part.component.name.clone(), part.component.role, self.weights(part))).collect();
        Prediction { peak: figure, stage, weights, stages, components }
    }

    /// Components that are there at all.
    fn loaded(&self) -> impl Iterator<Item = &Loaded> {
        self.setup.components.iter().filter(|part| part.component.role != Role::Text || !self.setup.prompts_ready)
    }

    /// Bytes of a component's weights.
    fn weights(&self, part: &Loaded) -> Band {
        let component = &part.component;
        if component.role == Role::Decoder && self.setup.decode.tiny {
            return rule("tiny_parameters").scaled(self.setup.dtype.bytes());
        }
        let wide = self.setup.dtype.bytes();
        let Some(quant) = part.quant else {
            let kept = if self.setup.dtype == Dtype::F16 { 4.0 } else { wide };
            return Band::exact((component.parameters - component.kept) * wide + component.kept * kept);
        };
        let left = component.embedding + if quant.layerwise { component.uncast } else { 0.0 };
        let kept = quant.kept_bytes.map_or(Band::ZERO, |bytes| bytes.scaled(component.kept));
        let quantised = component.parameters - left - if quant.kept_bytes.is_some() { component.kept } else { 0.0 };
        quant.bytes.scaled(quantised) + kept + Band::exact(left * wide)
    }

    /// Bytes of the decoder's weights as they are while it works.
    fn decoder_at_work(&self, part: &Loaded) -> Band {
        let weights = self.weights(part);
        if self.is_upcast(part) { weights.scaled(4.0 / self.setup.dtype.bytes()) } else { weights }
    }

    fn is_upcast(&self, part: &Loaded) -> bool {
        part.component.upcast
            && self.setup.dtype == Dtype::F16
            && !self.setup.decode.tiny
            && self.setup.engine == Engine::Torch
    }

    fn stage(&self, stage: Stage) -> StageNeed {
        let (workspace, formula, inputs) = match stage {
            Stage::Load => (Band::ZERO, "", Vec::new()),
            Stage::Text => {
                let largest = self.of(Role::Text).map(|part| self.weights(part)).fold(Band::ZERO, super::train::larger);
                (super::train::product(largest, rule("text_workspace")), "weights × share", Vec::new())
            }
            Stage::Denoise => (
                self.of(Role::Denoiser).map(|part| self.denoise_workspace(&part.component)).sum(),
                "tokens × passes × batch × (10 × width + 3 × mlp_width) × bytes",
                self.inputs(),
            ),
            Stage::Decode => {
                (self.decode_workspace(), "(2 × images + workspace) × width × pixels × bytes", self.inputs())
            }
        };
        let small = if stage == Stage::Load { Band::ZERO } else { rule("small_tensors") };
        StageNeed { stage, resident: self.resident(stage), workspace: workspace + small, formula, inputs }
    }

    fn of(&self, role: Role) -> impl Iterator<Item = &Loaded> {
        self.setup.components.iter().filter(move |part| part.component.role == role)
    }

    fn inputs(&self) -> Vec<Input> {
        let leaf =
            |name: &'static str, value: u32, unit: &str| Input::leaf(name, value.to_string(), unit, Origin::Declared);
        let (width, height) = (self.setup.width, self.setup.height);
        vec![leaf("image_width", width, "px"), leaf("image_height", height, "px"), leaf("images", self.setup.batch, "")]
    }

    /// Weights on the GPU in a stage.
    fn resident(&self, stage: Stage) -> Band {
        let role = match stage {
            Stage::Load => None,
            Stage::Text => Some(Role::Text),
            Stage::Denoise => Some(Role::Denoiser),
            Stage::Decode => Some(Role::Decoder),
        };
        let mut largest_text = Band::ZERO;
        let mut sum = Band::ZERO;
        for part in self.loaded() {
            let own = part.component.role;
            let at_work = role == Some(own);
            let weights = if own == Role::Decoder && stage == Stage::Decode {
                self.decoder_at_work(part)
            } else {
                self.weights(part)
            };
            let stays = part.quant.is_some_and(|quant| !quant.movable);
            let share = match (self.setup.offload, stage) {
                (Offload::None, _) => weights,
                (Offload::Group, _) if own != Role::Denoiser => weights,
                (Offload::Group, _) => super::train::product(weights, rule("group_share")),
                (_, Stage::Load) => match part.quant {
                    Some(quant) if quant.loaded_on_gpu => weights,
                    _ => Band::ZERO,
                },
                _ if stays => weights,
                (Offload::Sequential, _) if at_work => super::train::product(weights, rule("leaf_share")),
                (Offload::Sequential, _) => Band::ZERO,
                // Encoders work one after the other.
                (Offload::Model, _) if at_work && own == Role::Text => {
                    largest_text = super::train::larger(largest_text, weights);
                    Band::ZERO
                }
                (Offload::Model, _) if at_work => weights,
                // A decoder that is widened first is moved by the pipeline and not by its hook, which would have sent
                // the denoiser away.
                (Offload::Model, Stage::Decode) if own == Role::Denoiser && self.decoder_is_upcast() => {
                    Band::new(weights.value, 0.0, weights.high)
                }
                (Offload::Model, _) => Band::ZERO,
            };
            sum = sum + share;
        }
        sum + largest_text
    }

    fn decoder_is_upcast(&self) -> bool {
        self.of(Role::Decoder).any(|part| self.is_upcast(part))
    }

    fn denoise_workspace(&self, component: &Component) -> Band {
        let setup = self.setup;
        let (width, height) = (f64::from(setup.width), f64::from(setup.height));
        let runs = component.passes * f64::from(setup.batch);
        let tokens = |pixels: f64| (width / pixels).ceil() * (height / pixels).ceil();
        let bytes = setup.dtype.bytes();
        let work = if component.mlp_width > 0.0 {
            let all = tokens(component.pixels_per_token) + component.text_tokens;
            let vectors = rule("token_hidden").scaled(component.width) + rule("token_mlp").scaled(component.mlp_width);
            vectors.scaled(all * runs * bytes)
        } else {
            rule("unet_planes").scaled(component.width * tokens(component.pixels_per_token) * runs * bytes)
        };
        let seen =
            tokens(component.attention_pixels) + if component.mlp_width > 0.0 { component.text_tokens } else { 0.0 };
        let head = rule("written_scores").scaled(seen * seen * bytes);
        let scores = match setup.attention {
            Attention::Fused => Band::ZERO,
            Attention::Written => head.scaled(component.attention_heads * runs),
            Attention::Sliced => head,
        };
        work + scores
    }

    fn decode_workspace(&self) -> Band {
        let setup = self.setup;
        let Some(decoder) = self.of(Role::Decoder).next() else { return Band::ZERO };
        let images = if setup.decode.sliced { 1.0 } else { f64::from(setup.batch) };
        let channels = if setup.decode.tiny { rule("tiny_width") } else { Band::exact(decoder.component.width) };
        let whole = f64::from(setup.width) * f64::from(setup.height);
        let pixels = if setup.decode.tiled {
            let side = rule(if setup.engine == Engine::Ggml { "tile_pixels_direct" } else { "tile_pixels" });
            let area = super::train::product(side, side);
            Band { value: area.value.min(whole), low: area.low.min(whole), high: area.high.min(whole) }
        } else {
            Band::exact(whole)
        };
        let plane = super::train::product(channels, pixels);
        if setup.engine == Engine::Ggml {
            return super::train::product(plane, rule("conv_direct")).scaled(images * 4.0);
        }
        let (bytes, workspace) = if setup.dtype == Dtype::F16 && !self.is_upcast(decoder) {
            (2.0, rule("conv_workspace_fp16"))
        } else if self.is_upcast(decoder) {
            (4.0, rule("conv_workspace"))
        } else {
            (setup.dtype.bytes(), rule("conv_workspace"))
        };
        super::train::product(plane, rule("conv_planes").scaled(images) + workspace).scaled(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gib(setup: &Setup) -> f64 {
        predict(setup).unwrap().peak.value / crate::domain::memory::GIB
    }

    #[test]
    fn levers_move_the_peak_the_right_way() {
        let base = Setup::new(components("sdxl").unwrap(), 1024, 1024, 4, Dtype::F16);
        let all = gib(&base);
        let mut less = base.clone();
        less.decode.sliced = true;
        assert!(gib(&less) < all);
        less.decode.tiled = true;
        let tiled = gib(&less);
        assert!(tiled < all);
        less.offload = Offload::Model;
        let model = gib(&less);
        less.offload = Offload::Sequential;
        assert!(model < tiled && gib(&less) < model);
        let mut more = base.clone();
        more.attention = Attention::Written;
        more.width = 2048;
        assert!(gib(&more) > all);
        assert!(gib(&Setup { dtype: Dtype::F32, ..base.clone() }) > all);
    }

    #[test]
    fn what_cannot_be_is_named() {
        let base = Setup::new(components("sdxl").unwrap(), 1024, 1024, 1, Dtype::F16);
        for (setup, want) in [
            (Setup { width: 0, ..base.clone() }, vec!["resolution"]),
            (Setup { height: u32::MAX, batch: 0, ..base.clone() }, vec!["resolution", "batch"]),
            (Setup { components: Vec::new(), ..base.clone() }, vec!["components"]),
        ] {
            assert_eq!(predict(&setup).unwrap_err(), want);
        }
    }
}
