//! Will it fit: a first estimate of GPU memory for serving a dense model with grouped-query attention.
//!
//! One function, [`estimate`], stands between the numbers and everybody who shows them, so that a fuller model
//! (mixture of experts, sliding windows, quantised layers, fine-tuning, images) can take its place.
//!
//! Left out on purpose, and therefore said: replicated small tensors, layers that stay 16-bit in a quantised
//! checkpoint, kernel padding, vision towers. On engine logs the weights formula has a median error of 1 % and can be
//! 25 % low for quantised checkpoints.

use crate::domain::brief::{Brief, Precision};
use crate::domain::candidate::Candidate;
use crate::domain::figure::{Answer, Figure, Gap, GapKind, Input, Origin};
use crate::domain::format;

use super::GIB;
/// Share of the card that a serving engine plans with by default (`gpu_memory_utilization`). The rest is left to the
/// CUDA context and to peaks after profiling.
pub const UTILIZATION: f64 = 0.9;
/// Bytes a vocabulary entry and sequence of the sampler's profile peak, vLLM 0.17 and later.
const SAMPLER_BYTES: f64 = 12.0;
/// Cards from this size on get the larger scheduler defaults of the engine.
const LARGE_CARD_BYTES: f64 = 70.0 * GIB;
/// Activations where the model's hidden size or vocabulary is not stated.
const ACTIVATIONS_UNKNOWN: f64 = 2.0 * GIB;

/// What one GPU holds, in bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parts {
    /// Weights.
    pub weights: f64,
    /// KV cache of the requests in flight.
    pub kv: f64,
    /// Peak of activations and the sampler.
    pub activations: f64,
    /// Communication buffers, CUDA graphs.
    pub runtime: f64,
    /// What is left under the limit; negative when it is too small by that much.
    pub free: f64,
}

/// The estimate for one candidate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MemoryEstimate {
    /// Parts of one GPU.
    pub parts: Parts,
    /// Memory of one GPU as promised, bytes; not what CUDA will report.
    pub memory: f64,
    /// What the engine may use of it: [`UTILIZATION`] of the memory.
    pub limit: f64,
    /// Room for the KV cache under the limit, bytes a GPU; never below zero.
    pub pool: f64,
    /// GPUs the model is split over (tensor parallel over all GPUs of the offer).
    pub n_gpus: u32,
    /// KV cache bytes of one token on one GPU.
    pub kv_per_token: f64,
    /// Requests in flight that were asked for.
    pub in_flight: u32,
    /// Tokens a request holds.
    pub context: u32,
    /// Requests of that length that fit.
    pub capacity: u64,
    /// What comes of it.
    pub fit: Fit,
}

/// What an estimate says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fit {
    /// Everything fits.
    Fits,
    /// The weights fit, the requests asked for do not.
    TooManyRequests,
    /// Not even one request fits beside the weights.
    DoesNotFit,
}

/// Memory of one GPU over concurrency.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryCurve {
    /// Points with ascending concurrency, the first at zero.
    pub points: Vec<MemoryPoint>,
    /// Memory of one GPU as promised, bytes.
    pub memory: f64,
    /// What the engine may use of it, bytes.
    pub limit: f64,
    /// Room for the KV cache under the limit, bytes a GPU.
    pub pool: f64,
    /// Weights, activations and runtime, bytes a GPU.
    pub fixed: f64,
}

/// One point of the curve; bytes of KV cache on one GPU.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MemoryPoint {
    /// Requests in flight.
    pub in_flight: u32,
    /// When every request holds the full context.
    pub kv_full: f64,
    /// When every request holds the brief's p95 input and output; `None` when they are not stated.
    pub kv_p95: Option<f64>,
    /// When every request holds the brief's mean input and output; `None` when they are not stated.
    pub kv_mean: Option<f64>,
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

/// Bytes of one GPU when `in_flight` requests of `context` tokens each are served.
///
/// # Errors
/// A gap naming the first field of the brief or the offer that the formula needs and does not find.
pub fn estimate(brief: &Brief, candidate: &Candidate, in_flight: u32, context: u32) -> Answer<MemoryEstimate> {
    let shape = Shape::of(brief, candidate)?;
    let kv = shape.kv_per_token * f64::from(in_flight) * f64::from(context);
    let fixed = shape.fixed();
    let pool = (shape.limit() - fixed).max(0.0);
    let per_request = shape.kv_per_token * f64::from(context);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative; float casts saturate")]
    let capacity = if per_request > 0.0 { (pool / per_request).floor() as u64 } else { 0 };
    let free = shape.limit() - fixed - kv;
    let fit = if capacity == 0 {
        Fit::DoesNotFit
    } else if free < 0.0 {
        Fit::TooManyRequests
    } else {
        Fit::Fits
    };
    let value = MemoryEstimate {
        parts: Parts { weights: shape.weights, kv, activations: shape.activations, runtime: shape.runtime, free },
        memory: shape.memory,
        limit: shape.limit(),
        pool,
        n_gpus: shape.n_gpus,
        kv_per_token: shape.kv_per_token,
        in_flight,
        context,
        capacity,
        fit,
    };
    Ok(Figure::predicted(value, FORMULA, shape.inputs(brief, &value)))
}

/// KV cache of one GPU over concurrency, up to a quarter beyond what fits or what the brief needs.
///
/// # Errors
/// As [`estimate`]; also when the context length is not stated.
pub fn curve(brief: &Brief, candidate: &Candidate) -> Answer<MemoryCurve> {
    let context = brief.context_tokens.ok_or_else(|| brief_gap("context_tokens"))?;
    let wanted = in_flight_at_peak(brief).unwrap_or(1);
    let estimate = estimate(brief, candidate, wanted, context)?;
    let of = |in_flight: u32, tokens: u32| f64::from(in_flight) * f64::from(tokens) * estimate.value.kv_per_token;
    let capacity = u32::try_from(estimate.value.capacity).unwrap_or(u32::MAX).min(4096);
    let last = (wanted.max(capacity).saturating_mul(5) / 4).max(8);
    let points = (0..=STEPS)
        .map(|step| last.saturating_mul(step) / STEPS)
        .map(|in_flight| MemoryPoint {
            in_flight,
            kv_full: of(in_flight, context),
            kv_p95: tokens_p95(brief).map(|tokens| of(in_flight, tokens)),
            kv_mean: tokens_mean(brief).map(|tokens| of(in_flight, tokens)),
        })
        .collect();
    Ok(estimate.map(|estimate| MemoryCurve {
        points: Vec::clone(&points),
        memory: estimate.memory,
        limit: estimate.limit,
        pool: estimate.pool,
        fixed: estimate.parts.weights + estimate.parts.activations + estimate.parts.runtime,
    }))
}

/// Points of a curve after the one at zero. The curve is a straight line; points make it a table too.
const STEPS: u32 = 16;

const FORMULA: &str = "free = memory × utilization − weights − kv_cache − activations − runtime";

/// What the model and the offer say, resolved once. Bytes of one GPU.
struct Shape {
    n_gpus: u32,
    memory: f64,
    weights: f64,
    activations: f64,
    runtime: f64,
    kv_per_token: f64,
    layers: u32,
    kv_heads_per_gpu: u32,
    head_dim: u32,
    parameters: u64,
    precision: Precision,
    kv_precision: Precision,
}

impl Shape {
    fn of(brief: &Brief, candidate: &Candidate) -> Result<Self, Gap> {
        let model = &brief.model;
        let parameters = model.parameters.ok_or_else(|| brief_gap("parameters"))?;
        let precision = brief.precision.ok_or_else(|| brief_gap("precision"))?;
        let layers = model.layers.ok_or_else(|| brief_gap("layers"))?;
        let kv_heads = model.kv_heads.ok_or_else(|| brief_gap("kv_heads"))?;
        let head_dim = model.head_dim.ok_or_else(|| brief_gap("head_dim"))?;
        let stated = |field| Gap::new(GapKind::NotStated).with("field", field);
        let memory = candidate.promised.gpu_memory.ok_or_else(|| stated("gpu_memory"))?.bytes();
        let n_gpus = candidate.promised.gpu_count.filter(|n| *n > 0).ok_or_else(|| stated("gpu_count"))?;
        let kv_precision = brief.kv_precision.unwrap_or(Precision::Bf16);
        // With more GPUs than KV heads each GPU keeps a whole head: heads are replicated, never split.
        let kv_heads_per_gpu = kv_heads.div_ceil(n_gpus);
        let kv_per_token =
            2.0 * f64::from(layers) * f64::from(kv_heads_per_gpu) * f64::from(head_dim) * kv_precision.bytes();
        #[allow(clippy::cast_precision_loss, reason = "numbers of parameters are below 2^53")]
        let weights = parameters as f64 * precision.bytes() / f64::from(n_gpus);
        Ok(Self {
            n_gpus,
            memory,
            weights,
            activations: activations(brief, memory),
            runtime: runtime(n_gpus),
            kv_per_token,
            layers,
            kv_heads_per_gpu,
            head_dim,
            parameters,
            precision,
            kv_precision,
        })
    }

    fn limit(&self) -> f64 {
        self.memory * UTILIZATION
    }

    fn fixed(&self) -> f64 {
        self.weights + self.activations + self.runtime
    }

    fn inputs(&self, brief: &Brief, estimate: &MemoryEstimate) -> Vec<Input> {
        let declared = |name, value: String, unit: &str| Input::leaf(name, value, unit, Origin::Declared);
        let gib = |bytes: f64| format::fixed(bytes / GIB, 2);
        let predicted = |name, bytes: f64, formula, inputs| Input {
            formula,
            inputs,
            ..Input::leaf(name, gib(bytes), "GiB", Origin::Predicted)
        };
        let n_gpus = declared("gpu_count", self.n_gpus.to_string(), "");
        vec![
            declared("gpu_memory", gib(self.memory), "GiB"),
            declared("utilization", UTILIZATION.to_string(), ""),
            predicted(
                "weights",
                self.weights,
                "parameters × bytes_per_weight ÷ gpu_count",
                vec![
                    declared("parameters", format::count(self.parameters), ""),
                    declared("bytes_per_weight", self.precision.bytes().to_string(), "B"),
                    n_gpus.clone(),
                ],
            ),
            predicted(
                "kv_cache",
                estimate.parts.kv,
                "2 × layers × kv_heads_per_gpu × head_dim × bytes_per_value × context × requests",
                vec![
                    declared("layers", self.layers.to_string(), ""),
                    declared("kv_heads_per_gpu", self.kv_heads_per_gpu.to_string(), ""),
                    declared("head_dim", self.head_dim.to_string(), ""),
                    declared("bytes_per_value", self.kv_precision.bytes().to_string(), "B"),
                    declared("context", format::count(u64::from(estimate.context)), "tokens"),
                    declared("requests", format::count(u64::from(estimate.in_flight)), ""),
                ],
            ),
            match (brief.model.vocab, brief.model.hidden) {
                (Some(vocab), Some(hidden)) => predicted(
                    "activations",
                    self.activations,
                    "max(sampler_bytes × sequences × vocab, batched_tokens × 30 × hidden)",
                    vec![
                        declared("sampler_bytes", SAMPLER_BYTES.to_string(), "B"),
                        declared("sequences", scheduler(self.memory).0.to_string(), ""),
                        declared("vocab", format::count(u64::from(vocab)), ""),
                        declared("batched_tokens", format::count(u64::from(scheduler(self.memory).1)), "tokens"),
                        declared("hidden", format::count(u64::from(hidden)), ""),
                    ],
                ),
                _ => declared("activations_allowance", gib(self.activations), "GiB"),
            },
            declared("runtime_allowance", gib(self.runtime), "GiB"),
        ]
    }
}

/// The engine's defaults for sequences at once and tokens in a batch, by the size of the card.
const fn scheduler(memory: f64) -> (u32, u32) {
    if memory >= LARGE_CARD_BYTES { (1024, 8192) } else { (256, 2048) }
}

/// Profile peak: the larger of the sampler (12 B × sequences × vocabulary) and the token part (2 B × 15 × hidden a
/// token, with the intermediate size taken as 4 × hidden).
fn activations(brief: &Brief, memory: f64) -> f64 {
    let (Some(vocab), Some(hidden)) = (brief.model.vocab, brief.model.hidden) else {
        return ACTIVATIONS_UNKNOWN;
    };
    let (sequences, batched_tokens) = scheduler(memory);
    let sampler = SAMPLER_BYTES * f64::from(sequences) * f64::from(vocab);
    let tokens = f64::from(batched_tokens) * 30.0 * f64::from(hidden);
    sampler.max(tokens)
}

/// Communication buffers and CUDA graphs, as seen in engine logs: 0.15 and 0.5 GiB on one GPU, 0.6 and 1 on two to
/// four, 2 and 2 on more.
const fn runtime(n_gpus: u32) -> f64 {
    match n_gpus {
        0 | 1 => 0.65 * GIB,
        2..=4 => 1.6 * GIB,
        _ => 4.0 * GIB,
    }
}

fn brief_gap(field: &'static str) -> Gap {
    Gap::new(GapKind::BriefField).with("field", field)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::fixture;
    use crate::domain::units::{SizeUnit, StatedSize};

    fn candidate(gpus: u32, gib: f64) -> Candidate {
        let mut candidate = fixture::candidate("c1", Vec::new(), None);
        candidate.promised.gpu_count = Some(gpus);
        candidate.promised.gpu_memory = Some(StatedSize { number: gib, unit: SizeUnit::GiB });
        candidate
    }

    fn gib(bytes: f64) -> String {
        format::fixed(bytes / GIB, 2)
    }

    #[test]
    fn parts_of_a_7b_model_by_hand() {
        // Weights 7,615,616,512 × 2 B. KV 2 × 28 × 4 × 128 × 2 B = 56 KiB a token, × 8,192 × 64 = 28 GiB. Sampler
        // 12 × 1,024 × 152,064 B on a large card, 12 × 256 × 152,064 B on a small one.
        let brief = fixture::brief();
        for (name, gpus, memory, want, capacity, fit) in [
            ("one large card", 1, 80.0, ["14.19", "28.00", "1.74", "0.65", "27.42"], 126, Fit::Fits),
            ("two cards", 2, 48.0, ["7.09", "14.00", "0.44", "1.60", "20.07"], 155, Fit::Fits),
            ("eight cards keep one head each", 8, 24.0, ["1.77", "7.00", "0.44", "4.00", "8.39"], 140, Fit::Fits),
            ("one small card", 1, 24.0, ["14.19", "28.00", "0.44", "0.65", "−21.67"], 14, Fit::TooManyRequests),
            ("too small for the weights", 1, 16.0, ["14.19", "28.00", "0.44", "0.65", "−28.87"], 0, Fit::DoesNotFit),
        ] {
            let figure = estimate(&brief, &candidate(gpus, memory), 64, 8192).unwrap();
            let Parts { weights, kv, activations, runtime, free } = figure.value.parts;
            assert_eq!([weights, kv, activations, runtime, free].map(gib), want, "{name}");
            assert_eq!((figure.value.capacity, figure.value.fit), (capacity, fit), "{name}");
            assert_eq!(figure.origin, Origin::Predicted, "{name}");
        }
    }

    #[test]
    fn a_missing_field_is_named() {
        let card = candidate(1, 80.0);
        type Case = (fn(&mut Brief), &'static str);
        let cases: [Case; 5] = [
            (|b| b.model.parameters = None, "parameters"),
            (|b| b.precision = None, "precision"),
            (|b| b.model.layers = None, "layers"),
            (|b| b.model.kv_heads = None, "kv_heads"),
            (|b| b.model.head_dim = None, "head_dim"),
        ];
        for (change, field) in cases {
            let mut brief = fixture::brief();
            change(&mut brief);
            assert_eq!(estimate(&brief, &card, 1, 1).unwrap_err(), brief_gap(field));
        }
        let mut unstated = candidate(1, 80.0);
        unstated.promised.gpu_memory = None;
        let gap = estimate(&fixture::brief(), &unstated, 1, 1).unwrap_err();
        assert_eq!(gap, Gap::new(GapKind::NotStated).with("field", "gpu_memory"));
    }

    #[test]
    fn in_flight_follows_the_limits() {
        let mut brief = fixture::brief();
        // 8 req/s × (0.5 s + 240 × 0.05 s).
        assert_eq!(in_flight_at_peak(&brief), Some(100));
        brief.slo.e2e_p95_ms = Some(8_000.0);
        assert_eq!(in_flight_at_peak(&brief), Some(64));
        brief.peak_rate = None;
        assert_eq!(in_flight_at_peak(&brief), None);
    }

    #[test]
    fn the_curve_is_straight_and_covers_need_and_capacity() {
        let curve = curve(&fixture::brief(), &candidate(1, 80.0)).unwrap().value;
        let last = curve.points.last().unwrap();
        assert_eq!((curve.points.len(), last.in_flight), (17, 157));
        for point in &curve.points {
            assert!((point.kv_full - f64::from(point.in_flight) * 57_344.0 * 8_192.0).abs() < 1.0);
            assert!(point.kv_mean.unwrap() <= point.kv_p95.unwrap() && point.kv_p95.unwrap() <= point.kv_full);
        }
        assert_eq!(gib(curve.pool + curve.fixed), gib(curve.limit));
    }
}
