//! The Memory step's question: does an offer carry the work of the brief, with how much left on each GPU.
//!
//! One function, [`estimate`], stands between the models of this folder and everybody who shows their numbers.

use super::band::Band;
use super::calibrate::{Calibration, MeasuredRun};
use super::catalogue::Catalogue;
use super::facts::ModelFacts;
use super::measured::EngineRun;
use super::note::Note;
use super::plan::{MemoryPlan, MemoryWork};
use super::quant::{KvFormat, Scheme};
use super::rules::{self, CardKind, EngineKind, Version};
use super::serve::{self, Card, Knobs, PartKind, Prediction, Prepared, RunsOut, Setup, Verdict, Work};
use super::{GIB, explain, image, knobs, search, train};
use crate::domain::brief::{Brief, Precision};
use crate::domain::candidate::Candidate;
use crate::domain::curve::StepPoint;
use crate::domain::figure::{Answer, Figure, Gap, GapKind, Input, Origin};
use crate::domain::format;
use crate::domain::ids::EvidenceId;
use crate::domain::load::LoadRecord;

/// Where a part is drawn in the bar of a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    /// Weights.
    Weights,
    /// Activations and workspaces.
    Activations,
    /// Libraries, graphs and buffers.
    Runtime,
    /// What grows with the work: KV cache, gradients and optimiser states.
    Work,
}

/// One part of what a GPU holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// Its name for `Text::name`.
    pub name: &'static str,
    /// Where it is drawn.
    pub slot: Slot,
    /// Bytes.
    pub bytes: Band,
}

/// What a serving engine on this offer carries.
#[derive(Debug, Clone, PartialEq)]
pub struct Serving {
    /// Room for the KV cache, bytes a GPU; below zero when there is none.
    pub pool: Band,
    /// KV cache of one token on one GPU, bytes.
    pub token_bytes: f64,
    /// Requests in flight that the brief's peak asks for.
    pub in_flight: u32,
    /// Tokens of the longest request.
    pub context: u32,
    /// Requests of that length that fit.
    pub capacity: Band,
    /// Requests of the brief's mix of lengths that fit, and the tokens they hold; `None` when no lengths are stated.
    pub mix: Option<(Band, Band)>,
    /// What runs out first.
    pub runs_out: Option<RunsOut>,
    /// The whole prediction.
    pub prediction: Box<Prediction>,
}

/// The estimate for one candidate, bytes of one GPU.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryEstimate {
    /// What the memory is for.
    pub work: MemoryWork,
    /// Parts in the order of the bar.
    pub parts: Vec<Part>,
    /// Memory as CUDA reports it.
    pub memory: Band,
    /// What the parts may use of it.
    pub limit: Band,
    /// What is left under the limit; below zero when it is too small by that much.
    pub free: Band,
    /// What shall stay free.
    pub headroom: f64,
    /// What comes of it; `None` when something decisive is not known.
    pub verdict: Option<Verdict>,
    /// GPUs the work is spread over.
    pub n_gpus: u32,
    /// Of a serving engine.
    pub serving: Option<Serving>,
    /// Facts that are not known and widen the interval or leave a part out, by column.
    pub missing: Vec<&'static str>,
    /// What was assumed.
    pub notes: Vec<Note>,
}

impl MemoryEstimate {
    /// All parts together.
    #[must_use]
    pub fn need(&self) -> Band {
        self.parts.iter().map(|part| part.bytes).sum()
    }

    /// The parts drawn in one place of the bar.
    #[must_use]
    pub fn slot(&self, slot: Slot) -> Band {
        self.parts.iter().filter(|part| part.slot == slot).map(|part| part.bytes).sum()
    }

    /// Whether it fits, with or without the headroom asked for.
    #[must_use]
    pub fn fits(&self) -> bool {
        matches!(self.verdict, Some(Verdict::Fits | Verdict::FitsWithLess))
    }
}

/// Memory of one GPU as a host's own probe reported it.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundMemory {
    /// As CUDA reports it, bytes.
    pub memory: Band,
    /// The record.
    pub evidence: EvidenceId,
}

impl FoundMemory {
    /// From the driver's total and, where it tells, what it keeps for itself, bytes. CUDA reports the difference; where
    /// the driver does not tell it was seen between 0.3 and 3.5 % of the total.
    #[must_use]
    pub fn new(total: f64, reserved: Option<f64>, evidence: EvidenceId) -> Self {
        let memory = match reserved {
            Some(reserved) if reserved >= 0.0 && reserved < total => {
                Band::new(total - reserved, total - reserved * 1.1, total)
            }
            _ => Band::new(total * 0.985, total * 0.965, total),
        };
        Self { memory, evidence }
    }
}

/// A serving log of this offer.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredLog {
    /// What it says.
    pub run: EngineRun,
    /// The record.
    pub evidence: EvidenceId,
}

/// Everything that an estimate for one candidate depends on.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    /// The work.
    pub brief: &'a Brief,
    /// How the model is going to be run.
    pub plan: &'a MemoryPlan,
    /// The offer.
    pub candidate: &'a Candidate,
    /// Memory of its GPUs as a probe found it.
    pub found: Option<&'a FoundMemory>,
    /// The log that calibrates, with the setup it was made under.
    pub calibration: Option<(Calibration, &'a EvidenceId)>,
}

/// Where the facts of the model come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FactsFrom {
    /// The model's own files.
    Files,
    /// A row of the catalogue.
    Catalogue,
    /// Fields of the brief alone.
    Typed,
}

/// Facts of the brief's model: from its files, or else the catalogue's row of its name; fields of the brief win.
#[must_use]
pub fn facts_of(brief: &Brief, plan: &MemoryPlan) -> (ModelFacts, FactsFrom) {
    let row = || Catalogue::builtin().find(&brief.model.name).cloned();
    let (mut facts, from) = match (&plan.facts, row()) {
        (Some(facts), _) => ((**facts).clone(), FactsFrom::Files),
        (None, Some(facts)) => (facts, FactsFrom::Catalogue),
        (None, None) => (ModelFacts { model: brief.model.name.clone(), ..ModelFacts::default() }, FactsFrom::Typed),
    };
    let model = &brief.model;
    for (own, stated) in [
        (&mut facts.layers, model.layers),
        (&mut facts.hidden, model.hidden),
        (&mut facts.heads, model.heads),
        (&mut facts.kv_heads, model.kv_heads),
        (&mut facts.head_dim, model.head_dim),
        (&mut facts.vocab, model.vocab),
    ] {
        *own = stated.or(*own);
    }
    facts.params_text_computed = model.parameters.or(facts.params_text_computed);
    (facts, from)
}

/// The brief with a model's facts. What they do not say is emptied: facts of another model must not stay. A precision
/// that somebody chose stays.
#[must_use]
pub fn with_facts(brief: &Brief, facts: &ModelFacts) -> Brief {
    let mut brief = brief.clone();
    brief.model.parameters = facts.params_text_computed;
    brief.model.layers = facts.layers;
    brief.model.hidden = facts.hidden;
    brief.model.heads = facts.heads;
    brief.model.kv_heads = facts.kv_heads;
    brief.model.head_dim = facts.head_dim;
    brief.model.vocab = facts.vocab;
    let plain = match facts.torch_dtype.as_deref() {
        Some("float32") => Some(Precision::Fp32),
        Some("float16") => Some(Precision::Fp16),
        Some("bfloat16") => Some(Precision::Bf16),
        _ => None,
    };
    // A quantised checkpoint says itself how it is stored.
    let is_quantised = facts.quant_method.is_some() || facts.quant_bits.is_some();
    brief.precision = brief.precision.or(plain.filter(|_| !is_quantised));
    brief
}

/// The trade's words for a precision of the brief.
const fn words_of(precision: Precision) -> (&'static str, &'static str) {
    match precision {
        Precision::Fp32 => ("none", "float32"),
        Precision::Bf16 => ("none", "bfloat16"),
        Precision::Fp16 => ("none", "float16"),
        Precision::Fp8 => ("fp8", "bfloat16"),
        Precision::Int8 => ("int8-w8a8", "bfloat16"),
        Precision::Int4 => ("awq-int4-g128", "bfloat16"),
    }
}

/// How the weights are stored: the setup's own words, or else the brief's precision, or else what the checkpoint's facts
/// say.
#[must_use]
pub fn scheme_of(brief: &Brief, plan: &MemoryPlan, facts: &ModelFacts) -> Scheme {
    let (quantisation, dtype) = brief.precision.map_or(("", ""), words_of);
    match plan.quantisation.trim() {
        "" => Scheme::read(quantisation, dtype, facts),
        words => Scheme::read(words, "", facts),
    }
}

fn kv_of(brief: &Brief, plain: f64) -> KvFormat {
    match brief.kv_precision {
        Some(precision) => KvFormat::of(match precision {
            Precision::Fp32 => 4.0,
            Precision::Bf16 | Precision::Fp16 => 2.0,
            Precision::Fp8 => 1.0,
            Precision::Int8 => 1.01,
            Precision::Int4 => 18.0 / 32.0,
        }),
        None => KvFormat { is_stated: false, ..KvFormat::of(plain.min(2.0)) },
    }
}

/// The card of an offer: as its probe found it, or else as CUDA reports the named card, or else the promised size less
/// what CUDA leaves of such sizes.
#[must_use]
pub fn card_of(case: &Case<'_>) -> Option<Card> {
    let promised = &case.candidate.promised;
    let row = promised.gpu_model.as_deref().and_then(rules::card).filter(|row| {
        // A card that is sold in two sizes: the promised size tells them apart.
        promised.gpu_memory.is_none_or(|size| (size.bytes() / GIB / row.gib.value - 1.0).abs() < 0.15)
    });
    let mut card = match (row, promised.gpu_memory) {
        (Some(row), _) => Card::from(row),
        (None, Some(size)) => {
            // Whatever unit an offer uses, it speaks of the card's class: "80 GB" is 80 × 2^30 bytes less what the
            // driver keeps, and at worst 80 × 10^9.
            let class = size.number * GIB;
            let memory = Band::new(class * 0.984, (size.number * 1e9).min(class * 0.97), class);
            Card { memory: Some(memory), compute: None, kind: CardKind::Gpu }
        }
        (None, None) => Card::UNKNOWN,
    };
    if let Some(found) = case.found {
        card.memory = Some(found.memory);
    }
    card.memory.map(|_| card)
}

fn stated(field: &'static str) -> Gap {
    Gap::new(GapKind::NotStated).with("field", field)
}

fn brief_gap(field: &'static str) -> Gap {
    Gap::new(GapKind::BriefField).with("field", field)
}

/// Requests in flight at the brief's peak by Little's law: peak rate × the longest time a request may take.
///
/// That time is the end-to-end limit, or else the TTFT limit + mean output × ITL limit. `None` when the brief states
/// neither, or no peak.
#[must_use]
pub fn in_flight_at_peak(brief: &Brief) -> Option<u32> {
    let peak = brief.peak_rate?;
    let secs = match (brief.slo.e2e_p95_ms, brief.slo.ttft_p95_ms, brief.slo.itl_p95_ms, brief.output_tokens.mean) {
        (Some(e2e), ..) => e2e / 1e3,
        (None, Some(ttft), Some(itl), Some(output)) => (ttft + f64::from(output) * itl) / 1e3,
        _ => return None,
    };
    let requests = (peak * secs).ceil();
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to lie in 1..=1e6")]
    (1.0..=1e6).contains(&requests).then_some(requests as u32)
}

/// Tokens of one request at the brief's p95 lengths, at most the context; `None` when they are not stated.
#[must_use]
pub fn tokens_p95(brief: &Brief) -> Option<u32> {
    Some(capped(brief, brief.input_tokens.p95?, brief.output_tokens.p95?))
}

/// Tokens of one request at the brief's mean lengths, at most the context; `None` when they are not stated.
#[must_use]
pub fn tokens_mean(brief: &Brief) -> Option<u32> {
    Some(capped(brief, brief.input_tokens.mean?, brief.output_tokens.mean?))
}

fn capped(brief: &Brief, input: u32, output: u32) -> u32 {
    input.saturating_add(output).min(brief.context_tokens.unwrap_or(u32::MAX))
}

/// The brief's mix of lengths: nineteen of twenty requests of the mean length, one of the p95 length. Empty when they
/// are not stated.
#[must_use]
pub fn mix(brief: &Brief) -> Vec<(f64, f64)> {
    match (tokens_mean(brief), tokens_p95(brief)) {
        (Some(mean), Some(p95)) => vec![(f64::from(mean), 0.95), (f64::from(p95), 0.05)],
        (Some(tokens), None) | (None, Some(tokens)) => vec![(f64::from(tokens), 1.0)],
        (None, None) => Vec::new(),
    }
}

/// The setup of a serving engine on the offer's GPUs, tensor parallel over all of them.
///
/// # Errors
/// A gap naming the first field of the brief or the offer that is needed and not stated.
pub fn serving_setup<'a>(case: &Case<'_>, facts: &'a ModelFacts) -> Result<Setup<'a>, Gap> {
    let context = case.brief.context_tokens.ok_or_else(|| brief_gap("context_tokens"))?;
    let card = card_of(case).ok_or_else(|| stated("gpu_memory"))?;
    let tp = case.candidate.promised.gpu_count.filter(|n| *n > 0).ok_or_else(|| stated("gpu_count"))?;
    let scheme = scheme_of(case.brief, case.plan, facts);
    let in_flight = in_flight_at_peak(case.brief).unwrap_or(1);
    Ok(Setup {
        is_own: true,
        kv: kv_of(case.brief, scheme.plain),
        scheme,
        engine: case.plan.engine,
        version: Version::read(&case.plan.engine_version),
        tp,
        pp: 1,
        knobs: Knobs {
            utilisation: case.plan.utilisation,
            max_len: Some(context),
            batched: case.plan.max_batched_tokens,
            seqs: case.plan.max_sequences,
            eager: Some(case.plan.eager.unwrap_or(false)),
            ..Knobs::default()
        },
        work: Work {
            lengths: vec![(f64::from(context), 1.0)],
            requests: f64::from(in_flight),
            headroom: case.plan.headroom(),
        },
        calibration: case.calibration.map(|(calibration, _)| calibration),
        ..Setup::new(facts, card)
    })
}

/// What a serving log teaches about this offer's engine and card; `None` when it does not tell enough.
#[must_use]
pub fn calibration(case: &Case<'_>, log: &EngineRun) -> Option<Calibration> {
    let (facts, _) = facts_of(case.brief, case.plan);
    let mut setup = serving_setup(case, &facts).ok()?;
    // The log's own settings: what it was started with, not what is planned.
    setup.engine = log.engine.as_deref().and_then(EngineKind::named).unwrap_or(setup.engine);
    setup.version = log.engine_version.as_deref().and_then(Version::read).or(setup.version);
    setup.tp = log.tensor_parallel.filter(|n| *n > 0).unwrap_or(setup.tp);
    setup.knobs.utilisation = log.memory_utilization.or(setup.knobs.utilisation);
    let small = |n: u64| u32::try_from(n).ok();
    setup.knobs.max_len = log.max_model_len.and_then(small).or(setup.knobs.max_len);
    setup.knobs.batched = log.max_batched_tokens.and_then(small).or(setup.knobs.batched);
    setup.knobs.seqs = log.max_sequences.and_then(small).or(setup.knobs.seqs);
    setup.knobs.eager = log.is_eager.or(setup.knobs.eager);
    if let Some(gib) = log.memory_total_gib {
        setup.card.memory = Some(Band::exact(gib * GIB));
    }
    let bytes = |gib: Option<f64>| gib.map(|gib| gib * GIB);
    let run = MeasuredRun {
        weights: bytes(log.weights_gib),
        pool: bytes(log.kv_cache_gib),
        activations: bytes(log.activations_gib),
        non_torch: bytes(log.non_torch_gib),
    };
    Calibration::from_run(&setup, &run)
}

/// The estimate for an offer.
///
/// # Errors
/// A gap naming the first field of the brief or the offer that is needed and not stated.
pub fn estimate(case: &Case<'_>) -> Answer<MemoryEstimate> {
    match case.plan.work {
        MemoryWork::Inference => serving(case),
        work if work.is_training() => training(case, work),
        _ => images(case),
    }
}

const SERVING: &str = "free = limit − weights − kv_cache − activations − runtime";
const TRAINING: &str = "free = memory − peak";

fn serving(case: &Case<'_>) -> Answer<MemoryEstimate> {
    let (facts, from) = facts_of(case.brief, case.plan);
    let setup = serving_setup(case, &facts)?;
    let prepared = serve::prepare(&setup);
    let prediction = serve::predict_with(&setup, &prepared);
    let lacking = |what: Option<&&'static str>| brief_gap(what.copied().unwrap_or("parameters"));
    let weights = prediction.weights.ok_or_else(|| lacking(prediction.missing.first()))?;
    let needed = prediction.needed.ok_or_else(|| lacking(prediction.missing.first()))?;
    let memory = setup.card.memory.ok_or_else(|| stated("gpu_memory"))?;
    let limit = prediction.budget.ok_or_else(|| stated("gpu_memory"))?;
    let activations = prediction.activations.ok_or_else(|| brief_gap("hidden"))?;
    let pool = prediction.pool.ok_or_else(|| lacking(prediction.missing.first()))?;
    let free = prediction.free.unwrap_or(pool - needed);
    let runtime = prediction.non_torch + prediction.graphs_charged;
    let mix = mix(case.brief);
    let carried = (!mix.is_empty()).then(|| {
        let work = Work { lengths: mix, ..setup.work.clone() };
        serve::predict_with(&Setup { work, ..setup.clone() }, &prepared)
    });
    let serving = Serving {
        pool,
        token_bytes: prediction.token_bytes.unwrap_or(0.0),
        in_flight: in_flight_at_peak(case.brief).unwrap_or(1),
        context: case.brief.context_tokens.unwrap_or(0),
        capacity: prediction.capacity_requests.unwrap_or(Band::ZERO),
        mix: carried.and_then(|mix| mix.capacity_requests.zip(mix.capacity_tokens)),
        runs_out: prediction.runs_out,
        prediction: Box::new(prediction.clone()),
    };
    let part = |name, slot, bytes| Part { name, slot, bytes };
    let value = MemoryEstimate {
        work: MemoryWork::Inference,
        parts: vec![
            part("weights", Slot::Weights, weights),
            part("activations", Slot::Activations, activations),
            part("runtime", Slot::Runtime, runtime),
            part("kv_cache", Slot::Work, needed),
        ],
        memory,
        limit,
        free,
        headroom: case.plan.headroom(),
        verdict: prediction.verdict,
        n_gpus: setup.tp,
        serving: Some(serving),
        missing: prediction.missing.clone(),
        notes: prediction.notes.clone(),
    };
    let inputs = value
        .serving
        .as_ref()
        .map(|serving| serving_inputs(case, &setup, &prepared, &value, serving, from))
        .unwrap_or_default();
    Ok(Figure::predicted(value, SERVING, inputs))
}

/// A band in GiB for people: the value, and its bounds where they differ from it.
#[must_use]
pub fn gib_words(band: Band) -> String {
    let gib = |bytes: f64| format::fixed(bytes / GIB, 2);
    let [value, low, high] = [band.value, band.low, band.high].map(gib);
    if low == value && high == value { value } else { format!("{value} [{low}, {high}]") }
}

fn serving_inputs(
    case: &Case<'_>,
    setup: &Setup<'_>,
    prepared: &Prepared,
    value: &MemoryEstimate,
    serving: &Serving,
    from: FactsFrom,
) -> Vec<Input> {
    let declared = |name, value: String, unit: &str| Input::leaf(name, value, unit, Origin::Declared);
    let predicted = |name, bytes: Band, formula, inputs| Input {
        formula,
        inputs,
        ..Input::leaf(name, gib_words(bytes), "GiB", Origin::Predicted)
    };
    let facts = match from {
        FactsFrom::Files => "files",
        FactsFrom::Catalogue => "catalogue",
        FactsFrom::Typed => "brief",
    };
    let memory = Input::leaf("gpu_memory", gib_words(value.memory), "GiB", Origin::Declared);
    let memory = match case.found {
        Some(found) => Input { origin: Origin::Measured, ..memory }.on([found.evidence.clone()]),
        None => memory,
    };
    let figures = explain::parts(setup, prepared, &serving.prediction);
    let figure = |kind: PartKind| figures.iter().find(|(of, _)| *of == kind).map(|(_, figure)| figure);
    let part = |name, kind| {
        let bytes = value.parts.iter().find(|part| part.name == name).map_or(Band::ZERO, |part| part.bytes);
        let figure = figure(kind);
        let inputs = figure.map(|figure| figure.inputs.clone()).unwrap_or_default();
        predicted(name, bytes, figure.map_or("", |figure| figure.formula), inputs)
    };
    let mut weights = part("weights", PartKind::Weights);
    weights.inputs.insert(0, declared("model_facts", facts.to_owned(), ""));
    let mut activations = part("activations", PartKind::Activations);
    if let Some((calibration, id)) = case.calibration {
        let factor = Input::leaf("calibration", format::short(calibration.factor), "", Origin::Measured);
        activations.inputs.push(factor.on([id.clone()]));
    }
    let mut cache = part("kv_cache", PartKind::Pool);
    cache.formula = "requests × cache of one request, in blocks";
    cache.inputs = [
        setup.facts.layers.map(|n| declared("layers", n.to_string(), "")),
        setup.facts.kv_heads.map(|n| declared("kv_heads", n.to_string(), "")),
        setup.facts.head_dim.map(|n| declared("head_dim", n.to_string(), "")),
        Some(declared("bytes_per_value", format::short(setup.kv.bytes), "B")),
        Some(Input::leaf("kv_per_token", format::short(serving.token_bytes / 1024.0), "KiB", Origin::Predicted)),
        Some(declared("context", format::count(u64::from(serving.context)), "tokens")),
        Some(declared("requests", format::count(u64::from(serving.in_flight)), "")),
    ]
    .into_iter()
    .flatten()
    .collect();
    let mut runtime = part("runtime", PartKind::NonTorch);
    runtime.formula = "libraries + charged_graphs";
    runtime.inputs = vec![
        predicted("libraries", serving.prediction.non_torch, "", Vec::new()),
        predicted("charged_graphs", serving.prediction.graphs_charged, "", Vec::new()),
    ];
    let share = declared("utilization", format::short(setup.utilisation().value), "");
    vec![
        predicted("limit", value.limit, "gpu_memory × utilization", vec![memory, share]),
        weights,
        cache,
        activations,
        runtime,
    ]
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative; float casts saturate")]
fn whole(value: f64) -> u64 {
    value.max(0.0).round() as u64
}

fn training_setup(case: &Case<'_>, work: MemoryWork) -> Result<train::Setup, Gap> {
    let (facts, _) = facts_of(case.brief, case.plan);
    let training = &case.plan.training;
    let gpus = case.candidate.promised.gpu_count.filter(|n| *n > 0).ok_or_else(|| stated("gpu_count"))?;
    let adapter =
        train::Method::Adapter { rank: Some(training.rank.max(1)), targets: Some(train::Targets::ALL), bits16: false };
    let method = if work == MemoryWork::Full { train::Method::Full } else { adapter };
    let mut setup = train::Setup::new(facts, method, training.seq_len, training.micro_batch);
    if work == MemoryWork::Qlora {
        setup.base = train::Base::Nf4 { double_quant: Some(true) };
        setup.kbit_prepared = true;
    }
    setup.optimizer = Some(training.optimizer);
    setup.checkpointing = Some(training.checkpointing);
    setup.master = if training.master_fp32 { train::Master::F32 } else { train::Master::Bits16 };
    setup.sharding = training.sharding;
    setup.gpus = gpus;
    setup.measure = train::Measure::Device;
    Ok(setup)
}

fn training(case: &Case<'_>, work: MemoryWork) -> Answer<MemoryEstimate> {
    let setup = training_setup(case, work)?;
    let memory = card_of(case).and_then(|card| card.memory).ok_or_else(|| stated("gpu_memory"))?;
    let lacking = |lacks: Vec<&'static str>| brief_gap(lacks.first().copied().unwrap_or("parameters"));
    let prediction = train::predict(&setup).map_err(lacking)?;
    let parts: Vec<Part> = prediction
        .parts
        .iter()
        .map(|part| Part { name: part.kind.name(), slot: slot_of(part.kind), bytes: part.bytes })
        .collect();
    let inputs = prediction
        .parts
        .iter()
        .map(|part| Input {
            formula: part.formula,
            inputs: part.inputs.clone(),
            ..Input::leaf(part.kind.name(), gib_words(part.bytes), "GiB", Origin::Predicted)
        })
        .collect();
    let free = memory - prediction.peak;
    let headroom = case.plan.headroom();
    let value = MemoryEstimate {
        work,
        parts,
        memory,
        limit: memory,
        free,
        headroom,
        verdict: Some(Verdict::of(free, headroom)),
        n_gpus: setup.gpus,
        serving: None,
        missing: prediction.assumed.clone(),
        notes: Vec::new(),
    };
    Ok(Figure::predicted(value, TRAINING, inputs))
}

const fn slot_of(kind: train::PartKind) -> Slot {
    use train::PartKind;
    match kind {
        PartKind::Weights | PartKind::Adapters => Slot::Weights,
        PartKind::Gradients | PartKind::Optimizer | PartKind::StepCopies | PartKind::CastCopies => Slot::Work,
        PartKind::Buffers | PartKind::Overhead => Slot::Runtime,
        PartKind::Gathered | PartKind::Kept | PartKind::Layer | PartKind::Logits => Slot::Activations,
    }
}

fn image_setup(case: &Case<'_>) -> Result<image::Setup, Gap> {
    let images = &case.plan.images;
    let components = image::components(&images.family).ok_or_else(|| brief_gap("image_family"))?;
    let dtype = match case.brief.precision {
        Some(Precision::Fp32) => image::Dtype::F32,
        Some(Precision::Fp16) => image::Dtype::F16,
        _ => image::Dtype::Bf16,
    };
    let mut setup = image::Setup::new(components, images.width, images.height, images.batch, dtype);
    setup.offload = images.offload;
    setup.decode = image::Decode { sliced: images.sliced, tiled: images.tiled, tiny: false };
    setup.measure = image::Measure::Device;
    Ok(setup)
}

fn images(case: &Case<'_>) -> Answer<MemoryEstimate> {
    let setup = image_setup(case)?;
    let memory = card_of(case).and_then(|card| card.memory).ok_or_else(|| stated("gpu_memory"))?;
    let lacking = |lacks: Vec<&'static str>| brief_gap(lacks.first().copied().unwrap_or("image_family"));
    let prediction = image::predict(&setup).map_err(lacking)?;
    let stage = prediction.stages.iter().find(|need| need.stage == prediction.stage);
    let (resident, workspace) = stage.map_or((prediction.weights, Band::ZERO), |need| (need.resident, need.workspace));
    let beside = Band {
        value: (prediction.peak.value - resident.value - workspace.value).max(0.0),
        low: 0.0,
        high: (prediction.peak.high - resident.value - workspace.value).max(0.0),
    };
    let inputs = prediction
        .stages
        .iter()
        .map(|need| Input {
            formula: need.formula,
            inputs: need.inputs.clone(),
            ..Input::leaf(need.stage.name(), gib_words(need.total()), "GiB", Origin::Predicted)
        })
        .collect();
    let free = memory - prediction.peak;
    let headroom = case.plan.headroom();
    let value = MemoryEstimate {
        work: MemoryWork::Images,
        parts: vec![
            Part { name: "weights", slot: Slot::Weights, bytes: resident },
            Part { name: "workspace", slot: Slot::Activations, bytes: workspace },
            Part { name: "runtime", slot: Slot::Runtime, bytes: beside },
        ],
        memory,
        limit: memory,
        free,
        headroom,
        verdict: Some(Verdict::of(free, headroom)),
        // A pipeline runs on one GPU.
        n_gpus: 1,
        serving: None,
        missing: Vec::new(),
        notes: Vec::new(),
    };
    Ok(Figure::predicted(value, TRAINING, inputs))
}

/// What a curve of memory runs over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Axis {
    /// Requests in flight.
    #[default]
    InFlight,
    /// Tokens of a request, or of a sequence in training.
    Context,
    /// Sequences of a step, or images at once.
    Batch,
}

impl Axis {
    /// Its name for `Text::name`.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::InFlight => "axis_in_flight",
            Self::Context => "axis_context",
            Self::Batch => "axis_batch",
        }
    }

    /// The axes that a kind of work has.
    #[must_use]
    pub const fn of(work: MemoryWork) -> &'static [Self] {
        match work {
            MemoryWork::Inference => &[Self::InFlight, Self::Context],
            MemoryWork::Images => &[Self::Batch],
            MemoryWork::Lora | MemoryWork::Qlora | MemoryWork::Full => &[Self::Batch, Self::Context],
        }
    }
}

/// Which need a line shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NeedOf {
    /// Requests of the full context; or everything, in training and image generation.
    Full,
    /// Requests of the brief's p95 lengths.
    P95,
    /// Requests of the brief's mean lengths.
    Mean,
}

/// Memory of one GPU of an offer over one axis, bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryCurve {
    /// What it runs over.
    pub axis: Axis,
    /// Lines: what each needs. Of a serving engine the KV cache, else everything.
    pub needs: Vec<(NeedOf, Vec<(f64, Band)>)>,
    /// What the need has room in: the pool of a serving engine, else the card.
    pub room: Band,
    /// What else the GPU holds beside the need.
    pub fixed: Band,
    /// What everything together may use.
    pub limit: Band,
}

/// Points of a curve after the first.
const STEPS: u32 = 16;

/// Memory of one GPU over each axis that the work has, to a quarter beyond what fits or what is asked for. `estimate` is
/// that of the same case.
///
/// Each curve has the gap of the estimate, or one of its own.
#[must_use]
pub fn curves(case: &Case<'_>, estimate: &Answer<MemoryEstimate>) -> Vec<Answer<MemoryCurve>> {
    let axes = Axis::of(case.plan.work);
    let figure = match estimate {
        Ok(figure) => figure,
        Err(gap) => return axes.iter().map(|_| Err(gap.clone())).collect(),
    };
    let value = &figure.value;
    let of = |curve: MemoryCurve| figure.clone().map(|_| curve.clone());
    if case.plan.work != MemoryWork::Inference {
        return axes.iter().map(|axis| run_curve(case, *axis, value).map(of)).collect();
    }
    let (facts, _) = facts_of(case.brief, case.plan);
    let held = serving_setup(case, &facts).map(|setup| (serve::prepare(&setup), setup));
    let (prepared, setup) = match &held {
        Ok(held) => held,
        Err(gap) => return axes.iter().map(|_| Err(gap.clone())).collect(),
    };
    axes.iter().map(|axis| serving_curve(case, setup, prepared, *axis, value).map(of)).collect()
}

/// The curve of a training run or an image pipeline.
fn run_curve(case: &Case<'_>, axis: Axis, value: &MemoryEstimate) -> Result<MemoryCurve, Gap> {
    let mut points = Vec::new();
    for step in 1..=STEPS {
        let mut plan = case.plan.clone();
        let x = match (axis, plan.work) {
            (Axis::Batch, MemoryWork::Images) => {
                plan.images.batch = step;
                step
            }
            (Axis::Batch, _) => {
                plan.training.micro_batch = step;
                step
            }
            _ => {
                plan.training.seq_len = (plan.training.seq_len.max(512) / 8).saturating_mul(step);
                plan.training.seq_len
            }
        };
        let point = estimate(&Case { plan: &plan, ..*case })?;
        // The peak, not the sum of parts that peak at other moments.
        points.push((f64::from(x), point.value.memory - point.value.free));
    }
    Ok(MemoryCurve {
        axis,
        needs: vec![(NeedOf::Full, points)],
        room: value.memory,
        fixed: Band::ZERO,
        limit: value.memory,
    })
}

fn serving_curve(
    case: &Case<'_>,
    setup: &Setup<'_>,
    prepared: &Prepared,
    axis: Axis,
    estimate: &MemoryEstimate,
) -> Result<MemoryCurve, Gap> {
    let serving = estimate.serving.as_ref().ok_or_else(|| brief_gap("parameters"))?;
    let need = |tokens: f64, requests: f64| {
        let work = Work { lengths: vec![(tokens, 1.0)], requests, headroom: 0.0 };
        serve::predict_with(&Setup { work, ..setup.clone() }, prepared).needed.unwrap_or(Band::ZERO)
    };
    let lengths = [
        (NeedOf::Full, case.brief.context_tokens),
        (NeedOf::P95, tokens_p95(case.brief)),
        (NeedOf::Mean, tokens_mean(case.brief)),
    ];
    let line = |length: Option<u32>, last: u32| -> Option<Vec<(f64, Band)>> {
        let tokens = f64::from(length?);
        let xs = (0..=STEPS).map(|step| f64::from(last.saturating_mul(step) / STEPS));
        Some(xs.map(|x| (x, if x > 0.0 { need(tokens, x) } else { Band::ZERO })).collect())
    };
    let needs = match axis {
        Axis::Context => {
            let last = case.brief.context_tokens.unwrap_or(4096).saturating_mul(2).max(1024);
            let requests = f64::from(serving.in_flight);
            let xs = (0..=STEPS).map(|step| f64::from(last / STEPS * step));
            let points = xs.map(|x| (x, if x > 0.0 { need(x, requests) } else { Band::ZERO })).collect();
            vec![(NeedOf::Full, points)]
        }
        _ => {
            // What is asked for stays in the picture, whatever fits; what fits ends it, at most at four times the need.
            let fits = u32::try_from(whole(serving.capacity.value.floor())).unwrap_or(u32::MAX);
            let most = serving.in_flight.saturating_mul(4).max(64);
            let last = (serving.in_flight.max(fits.min(most)).saturating_mul(5) / 4).max(8);
            lengths.into_iter().filter_map(|(of, length)| Some((of, line(length, last)?))).collect()
        }
    };
    Ok(MemoryCurve {
        axis,
        needs,
        room: serving.pool.not_negative(),
        fixed: estimate.slot(Slot::Weights) + estimate.slot(Slot::Activations) + estimate.slot(Slot::Runtime),
        limit: estimate.limit,
    })
}

/// Which knob of the engine buys how much on this offer, the most requests first; empty where the estimate has a gap or
/// the work is not serving.
#[must_use]
pub fn gains(case: &Case<'_>) -> Vec<knobs::Gain> {
    if case.plan.work != MemoryWork::Inference {
        return Vec::new();
    }
    let (facts, _) = facts_of(case.brief, case.plan);
    serving_setup(case, &facts).map(|setup| knobs::ranked(&setup)).unwrap_or_default()
}

/// Cards of one kind, as a search went through them.
#[derive(Debug, Clone, PartialEq)]
pub struct Searched {
    /// The card's or candidate's name.
    pub name: String,
    /// GPUs that the model is split over.
    pub n_gpus: u32,
    /// Memory of all of them, bytes.
    pub memory: f64,
    /// Why it does not carry the brief; `None` of the one that does.
    pub why_not: Option<&'static str>,
    /// Bytes that the work leaves free on each GPU, where that is known.
    pub free: Option<Band>,
}

/// GPUs of one machine that a model is split over.
const SPLITS: [u32; 4] = [1, 2, 4, 8];

/// Every smaller configuration with why it does not carry the brief, smallest first, and the smallest that does last;
/// over all cards for rent and the candidates. Empty where the work is not serving or the model is not known.
#[must_use]
pub fn smallest(brief: &Brief, plan: &MemoryPlan, candidates: &[(&Candidate, Option<&FoundMemory>)]) -> Vec<Searched> {
    if plan.work != MemoryWork::Inference {
        return Vec::new();
    }
    let (facts, _) = facts_of(brief, plan);
    let of = |candidate, found| Case { brief, plan, candidate, found, calibration: None };
    let mut unknown = Candidate::new(crate::domain::ids::CandidateId(String::new()), 0, String::new());
    unknown.promised.gpu_count = Some(1);
    unknown.promised.gpu_memory =
        Some(crate::domain::units::StatedSize { number: 80.0, unit: crate::domain::units::SizeUnit::GB });
    // The setup's own card and split are not used.
    let Ok(setup) = serving_setup(&of(&unknown, None), &facts) else { return Vec::new() };
    let mut offers: Vec<search::Offer<'_>> = rules::cards()
        .iter()
        .filter(|row| row.is_rentable)
        .map(|row| search::Offer { name: &row.name, card: Card::from(row), most: 8 })
        .collect();
    offers.extend(candidates.iter().filter_map(|(candidate, found)| {
        let card = card_of(&of(candidate, *found))?;
        Some(search::Offer { name: &candidate.name, card, most: candidate.promised.gpu_count.unwrap_or(1) })
    }));
    let found = search::smallest(&setup, &offers, &SPLITS);
    let named = |configuration: &search::Configuration, why_not| Searched {
        name: offers.get(configuration.offer).map_or_else(String::new, |offer| offer.name.to_owned()),
        n_gpus: configuration.tp,
        memory: configuration.memory,
        why_not,
        free: configuration.free,
    };
    let mut all: Vec<Searched> = found.smaller.iter().map(|(smaller, why)| named(smaller, Some(why.name()))).collect();
    all.extend(found.smallest.iter().map(|smallest| named(smallest, None)));
    all
}

/// Memory that the driver showed while a run's steps went on: most requests in flight of each step, and the most of any
/// GPU, bytes. Steps without samples are left out.
#[must_use]
pub fn sampled(points: &[StepPoint], record: &LoadRecord) -> Vec<(f64, f64)> {
    let of_step = |point: &StepPoint| {
        let step = record.steps.get(point.step_idx)?;
        let within = |at: f64| (step.start_secs..=step.end_secs).contains(&at);
        let samples = record.gpu_samples.iter().filter(|sample| within(sample.at_secs));
        let most = samples.filter_map(|sample| sample.memory_mib).fold(0.0, f64::max);
        (most > 0.0).then(|| (f64::from(point.peak_in_flight), most * 1_048_576.0))
    };
    points.iter().filter_map(of_step).collect()
}

/// What was predicted beside what a log says, bytes a GPU: name for `Text::name`, predicted, measured.
#[must_use]
pub fn against(estimate: &MemoryEstimate, log: &EngineRun) -> Vec<(&'static str, Band, f64)> {
    let Some(serving) = &estimate.serving else { return Vec::new() };
    let prediction = &serving.prediction;
    [
        ("weights", prediction.weights, log.weights_gib),
        ("kv_pool", prediction.pool, log.kv_cache_gib),
        ("activations", prediction.activations, log.activations_gib),
        ("libraries", Some(prediction.non_torch), log.non_torch_gib),
        ("graphs", Some(prediction.graphs), log.graphs_gib),
    ]
    .into_iter()
    .filter_map(|(name, predicted, measured)| Some((name, predicted?, measured? * GIB)))
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::fixture;
    use crate::domain::units::{SizeUnit, StatedSize};

    fn offer(gpus: u32, gb: f64, model: &str) -> Candidate {
        let mut candidate = fixture::candidate("c1", Vec::new(), None);
        candidate.promised.gpu_count = Some(gpus);
        candidate.promised.gpu_memory = Some(StatedSize { number: gb, unit: SizeUnit::GB });
        candidate.promised.gpu_model = Some(model.to_owned());
        candidate
    }

    fn case<'a>(brief: &'a Brief, plan: &'a MemoryPlan, candidate: &'a Candidate) -> Case<'a> {
        Case { brief, plan, candidate, found: None, calibration: None }
    }

    #[test]
    fn parts_and_what_is_left_make_up_the_limit() {
        let (brief, plan) = (fixture::brief(), MemoryPlan::default());
        for (gpus, gb, model, fits) in [
            (1, 80.0, "NVIDIA H100 80GB HBM3", true),
            (2, 48.0, "NVIDIA L40S", true),
            (1, 24.0, "NVIDIA GeForce RTX 4090", false),
        ] {
            let candidate = offer(gpus, gb, model);
            let figure = estimate(&case(&brief, &plan, &candidate)).unwrap();
            let value = &figure.value;
            let all = value.need().value + value.free.value;
            assert!((all - value.limit.value).abs() < 1e6, "{model}: {all} against {}", value.limit.value);
            assert!(value.limit.value < gb * GIB && value.memory.value > 0.9 * gb * 1e9, "{model}: {:?}", value.memory);
            assert_eq!(value.fits(), fits, "{model}: {:?}", value.free);
            assert_eq!((figure.origin, figure.inputs.len()), (Origin::Predicted, 5), "{model}");
            let serving = value.serving.as_ref().unwrap();
            assert!(serving.mix.unwrap().0.value > serving.capacity.value, "shorter requests, more of them");
        }
    }

    #[test]
    fn a_probe_says_more_of_the_card_than_the_offer() {
        let (brief, plan, candidate) = (fixture::brief(), MemoryPlan::default(), offer(1, 80.0, "some card"));
        let promised = card_of(&case(&brief, &plan, &candidate)).unwrap().memory.unwrap();
        let found = FoundMemory::new(81_559.0 * 1_048_576.0, Some(481.0 * 1_048_576.0), EvidenceId("e1".into()));
        let seen = Case { found: Some(&found), ..case(&brief, &plan, &candidate) };
        let measured = card_of(&seen).unwrap().memory.unwrap();
        assert!(measured.high - measured.low < promised.high - promised.low);
        assert!((measured.value / GIB - 79.18).abs() < 0.01, "{measured:?}");
        let figure = estimate(&seen).unwrap();
        assert_eq!(figure.evidence, [EvidenceId("e1".into())]);
    }

    #[test]
    fn what_is_missing_is_named() {
        let (plan, candidate) = (MemoryPlan::default(), offer(1, 80.0, "H100"));
        type Change = fn(&mut Brief, &mut Candidate);
        let cases: [(Change, Gap); 4] = [
            (|brief, _| brief.context_tokens = None, brief_gap("context_tokens")),
            (|_, offer| offer.promised.gpu_count = None, stated("gpu_count")),
            (|_, offer| (offer.promised.gpu_memory, offer.promised.gpu_model) = (None, None), stated("gpu_memory")),
            (
                |brief, _| {
                    brief.model =
                        crate::domain::brief::Model { name: "nobody/knows-this".into(), ..Default::default() };
                },
                brief_gap("layers"),
            ),
        ];
        for (change, want) in cases {
            let (mut brief, mut candidate) = (fixture::brief(), candidate.clone());
            change(&mut brief, &mut candidate);
            let gap = estimate(&case(&brief, &plan, &candidate)).unwrap_err();
            assert_eq!((gap.kind, gap.values.first().map(|(name, _)| *name)), (want.kind, Some("field")), "{gap:?}");
            if want != brief_gap("layers") {
                assert_eq!(gap, want);
            }
        }
    }

    #[test]
    fn a_name_selects_the_facts_that_the_brief_does_not_state() {
        let mut brief = fixture::brief();
        brief.model = crate::domain::brief::Model { name: "Qwen/Qwen3-8B".into(), ..Default::default() };
        let (facts, from) = facts_of(&brief, &MemoryPlan::default());
        assert_eq!((facts.layers, facts.kv_heads, from), (Some(36), Some(8), FactsFrom::Catalogue));
        brief.model.layers = Some(12);
        assert_eq!(facts_of(&brief, &MemoryPlan::default()).0.layers, Some(12));
        let own = ModelFacts { layers: Some(7), ..ModelFacts::default() };
        let plan = MemoryPlan { facts: Some(Box::new(own)), ..MemoryPlan::default() };
        brief.model.layers = None;
        assert_eq!((facts_of(&brief, &plan).0.layers, facts_of(&brief, &plan).1), (Some(7), FactsFrom::Files));
    }

    #[test]
    fn training_and_images_are_held_against_the_same_card() {
        let brief = fixture::brief();
        let candidate = offer(1, 24.0, "RTX 4090");
        let of = |work| {
            let mut plan = MemoryPlan { work, ..MemoryPlan::default() };
            plan.images.family = image::family_names().first().map(|name| (*name).to_owned()).unwrap_or_default();
            estimate(&case(&brief, &plan, &candidate)).unwrap().value
        };
        let [lora, qlora, full] = [MemoryWork::Lora, MemoryWork::Qlora, MemoryWork::Full].map(of);
        assert!(qlora.free.value > lora.free.value && lora.free.value > full.free.value);
        assert_eq!(full.verdict, Some(Verdict::DoesNotFit));
        let images = of(MemoryWork::Images);
        assert!(images.need().value > GIB && images.n_gpus == 1);
    }

    #[test]
    fn curves_rise_and_hold_what_is_asked_for() {
        let brief = fixture::brief();
        let candidate = offer(1, 80.0, "H100");
        for work in [MemoryWork::Inference, MemoryWork::Qlora] {
            let plan = MemoryPlan { work, ..MemoryPlan::default() };
            let case = case(&brief, &plan, &candidate);
            let curves = curves(&case, &estimate(&case));
            assert_eq!(curves.len(), Axis::of(work).len());
            for (axis, curve) in Axis::of(work).iter().zip(curves) {
                let curve = curve.unwrap().value;
                assert_eq!(curve.axis, *axis);
                for (of, points) in &curve.needs {
                    let values: Vec<f64> = points.iter().map(|(_, need)| need.value).collect();
                    assert!(values.windows(2).all(|pair| pair[0] <= pair[1] + 1.0), "{work:?} {axis:?} {of:?}");
                    assert!(values.last() > values.first());
                }
            }
        }
    }

    #[test]
    fn a_log_calibrates_what_is_not_arithmetic_and_nothing_else() {
        let (brief, plan, candidate) = (fixture::brief(), MemoryPlan::default(), offer(1, 80.0, "H100"));
        let plain = case(&brief, &plan, &candidate);
        let log = EngineRun {
            engine: Some("vllm".into()),
            engine_version: Some("0.19.1".into()),
            weights_gib: Some(14.25),
            kv_cache_gib: Some(52.0),
            memory_total_gib: Some(79.19),
            memory_utilization: Some(0.9),
            max_model_len: Some(8192),
            ..EngineRun::default()
        };
        let taught = calibration(&plain, &log).unwrap();
        let id = EvidenceId("e9".into());
        let before = estimate(&plain).unwrap();
        let after = estimate(&Case { calibration: Some((taught, &id)), ..plain }).unwrap();
        let part = |figure: &Figure<MemoryEstimate>, name: &str| {
            figure.value.parts.iter().find(|part| part.name == name).unwrap().bytes
        };
        assert_eq!(part(&before, "weights"), part(&after, "weights"));
        assert_eq!(part(&before, "kv_cache"), part(&after, "kv_cache"));
        assert!(part(&before, "activations") != part(&after, "activations"));
        assert_eq!(after.evidence, [id]);
        let compared = against(&after.value, &log);
        assert_eq!(compared.iter().map(|(name, ..)| *name).collect::<Vec<_>>(), ["weights", "kv_pool"]);
    }
}
