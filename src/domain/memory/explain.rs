//! The parts of a prediction as figures with formula, inputs and interval, for the trace. Made when somebody asks.

use super::GIB;
use super::band::Band;
use super::serve::{PartKind, Prediction, Prepared, Setup};
use crate::domain::figure::{Figure, Input, Origin};
use crate::domain::format;

fn leaf(name: &'static str, value: impl Into<String>, unit: &str, origin: Origin) -> Input {
    Input::leaf(name, value, unit, origin)
}

fn gib(name: &'static str, bytes: f64) -> Input {
    leaf(name, format::fixed(bytes / GIB, 2), "GiB", Origin::Predicted)
}

fn count(name: &'static str, value: Option<u32>, unit: &str) -> Option<Input> {
    value.map(|value| leaf(name, format::count(u64::from(value)), unit, Origin::Declared))
}

fn number(name: &'static str, value: f64, digits: usize, unit: &str) -> Input {
    leaf(name, format::fixed(value, digits), unit, Origin::Declared)
}

fn figure(band: Band, formula: &'static str, inputs: Vec<Input>) -> Figure<f64> {
    Figure::predicted(band.value, formula, inputs).within(band.low, band.high)
}

/// Each part that is known, bytes of one GPU, with formula, inputs and interval.
#[must_use]
pub fn parts(setup: &Setup, prepared: &Prepared, prediction: &Prediction) -> Vec<(PartKind, Figure<f64>)> {
    let parts = prediction.parts();
    parts
        .into_iter()
        .filter_map(|(kind, band)| {
            let (formula, inputs) = match kind {
                PartKind::Weights => weights(setup, prepared),
                PartKind::Pool => pool(setup, prediction),
                PartKind::Activations => activations(setup),
                PartKind::NonTorch => ("measured range of engine logs", vec![count("gpu_count", Some(setup.tp), "")?]),
                PartKind::Graphs => (
                    "graph_piece × layers × captured_sizes",
                    [count("layers", setup.facts.layers, ""), Some(number("sequences", setup.seqs().value, 0, ""))]
                        .into_iter()
                        .flatten()
                        .collect(),
                ),
                PartKind::Context => ("measured range of engine logs", Vec::new()),
                PartKind::Headroom => (
                    "gpu_memory − peak",
                    [
                        setup.card.memory.map(|memory| gib("gpu_memory", memory.value)),
                        prediction.peak.map(|peak| gib("memory_peak", peak.value)),
                    ]
                    .into_iter()
                    .flatten()
                    .collect(),
                ),
            };
            Some((kind, figure(band?, formula, inputs)))
        })
        .collect()
}

fn weights(setup: &Setup, prepared: &Prepared) -> (&'static str, Vec<Input>) {
    let Ok(weights) = &prepared.weights else {
        return ("parameters × bytes_per_weight ÷ gpu_count", vec![number("gpu_count", f64::from(setup.tp), 0, "")]);
    };
    let mut inputs: Vec<Input> = weights.parts.iter().map(|(part, band)| gib(part_input(*part), band.value)).collect();
    inputs.push(number("bytes_per_weight", setup.scheme.format.bytes(), 4, "B"));
    inputs.push(number("gpu_count", f64::from(setup.tp), 0, ""));
    ("sum of tensors, each rounded as the allocator does", inputs)
}

const fn part_input(part: super::weights::Part) -> &'static str {
    use super::weights::Part;
    match part {
        Part::Embedding => "weights_embedding",
        Part::Head => "weights_head",
        Part::Attention => "weights_attention",
        Part::Latent => "weights_latent",
        Part::LatentCopy => "weights_latent_copy",
        Part::Indexer => "weights_indexer",
        Part::Linear => "weights_linear",
        Part::LinearSmall => "weights_linear_small",
        Part::Mlp => "weights_mlp",
        Part::Experts => "weights_experts",
        Part::Shared => "weights_shared",
        Part::Router => "weights_router",
        Part::Norms => "weights_norms",
        Part::Vision => "weights_vision",
        Part::Other => "weights_other",
        Part::Positions => "weights_positions",
        Part::Adapters => "weights_adapters",
        Part::Draft => "weights_draft",
    }
}

fn pool(setup: &Setup, prediction: &Prediction) -> (&'static str, Vec<Input>) {
    let inputs = [
        setup.card.memory.map(|memory| gib("gpu_memory", memory.value)),
        Some(number("utilization", setup.utilisation().value, 2, "")),
        prediction.weights.map(|band| gib("weights", band.value)),
        prediction.activations.map(|band| gib("activations", band.value)),
        Some(gib("non_torch", prediction.non_torch.value)),
        Some(gib("graphs_charged", prediction.graphs_charged.value)),
    ];
    (
        "gpu_memory × utilization − weights − activations − non_torch − graphs_charged",
        inputs.into_iter().flatten().collect(),
    )
}

fn activations(setup: &Setup) -> (&'static str, Vec<Input>) {
    let bytes = super::rules::engine(setup.engine, setup.version, super::rules::Key::SamplerBytes);
    let inputs = [
        Some(number("sampler_bytes", bytes.value, 1, "B")),
        Some(number("sequences", setup.seqs().value, 0, "")),
        count("vocab", setup.facts.vocab, ""),
        Some(number("batched_tokens", setup.batched().value, 0, "tokens")),
        count("hidden", setup.facts.hidden, ""),
    ];
    (
        "max(sampler_bytes × sequences × vocab + 2 × batched_tokens × hidden, bytes of a token × batched_tokens)",
        inputs.into_iter().flatten().collect(),
    )
}
