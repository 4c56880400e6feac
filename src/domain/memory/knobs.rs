//! Which knob buys how much: each lever of the engine turned once, alone, and ranked by what it brings.

use super::quant::{KvFormat, Method, Scheme, WeightFormat};
use super::serve::{self, Knobs, Prediction, Setup, Verdict};

/// A lever and where it would stand.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Knob {
    /// Most requests of one step.
    Sequences(u32),
    /// Most tokens of one step.
    Batched(u32),
    /// Longest request.
    Length(u32),
    /// Cache in 8 bits.
    CacheEightBit,
    /// Weights in 8 bits.
    WeightsEightBit,
    /// Weights in 4 bits.
    WeightsFourBit,
    /// GPUs that a layer is split over.
    TensorParallel(u32),
    /// Share of the card that the engine plans with.
    Utilisation(f64),
    /// No captured graphs.
    Eager,
}

impl Knob {
    /// Snake-case name, for `Text`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sequences(_) => "knob_sequences",
            Self::Batched(_) => "knob_batched_tokens",
            Self::Length(_) => "knob_length",
            Self::CacheEightBit => "knob_cache_8bit",
            Self::WeightsEightBit => "knob_weights_8bit",
            Self::WeightsFourBit => "knob_weights_4bit",
            Self::TensorParallel(_) => "knob_tensor_parallel",
            Self::Utilisation(_) => "knob_utilisation",
            Self::Eager => "knob_eager",
        }
    }

    /// The setting that it stands at, where it is a number.
    #[must_use]
    pub fn setting(self) -> Option<f64> {
        match self {
            Self::Sequences(n) | Self::Batched(n) | Self::Length(n) | Self::TensorParallel(n) => Some(f64::from(n)),
            Self::Utilisation(share) => Some(share),
            Self::CacheEightBit | Self::WeightsEightBit | Self::WeightsFourBit | Self::Eager => None,
        }
    }
}

/// What a knob brings on one GPU.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gain {
    /// The knob.
    pub knob: Knob,
    /// Bytes that the pool gains.
    pub pool: f64,
    /// Requests of the work's mix that it carries more (of the whole engine).
    pub requests: f64,
    /// Whether the work fits then.
    pub verdict: Option<Verdict>,
}

/// The knobs that bring something, the most requests first. Empty when the pool is not known.
#[must_use]
pub fn ranked(setup: &Setup) -> Vec<Gain> {
    let before = serve::predict(setup);
    let (Some(pool), Some(requests)) = (before.pool, before.capacity_requests) else { return Vec::new() };
    let mut gains: Vec<Gain> = turned(setup, &before)
        .into_iter()
        .filter_map(|(knob, setup)| {
            let after = serve::predict(&setup);
            let gain = Gain {
                knob,
                pool: after.pool?.value - pool.value,
                requests: after.capacity_requests?.value - requests.value,
                verdict: after.verdict,
            };
            (gain.pool > 1.0 || gain.requests > 0.01).then_some(gain)
        })
        .collect();
    gains.sort_by(|a, b| b.requests.total_cmp(&a.requests).then(b.pool.total_cmp(&a.pool)));
    gains
}

/// The setup with each knob turned once.
fn turned<'a>(setup: &Setup<'a>, before: &Prediction) -> Vec<(Knob, Setup<'a>)> {
    let mut out = Vec::new();
    let mut with = |knob: Knob, knobs: Knobs| out.push((knob, Setup { knobs, ..setup.clone() }));
    let whole = |x: f64| {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to 1..=2^31")]
        let n = x.clamp(1.0, 2_147_483_648.0) as u32;
        n
    };
    let seqs = setup.seqs().value;
    // No more requests of a step than the work asks for or the pool carries.
    let wanted = setup.work.requests.max(before.capacity_requests.map_or(1.0, |band| band.value.ceil())).max(1.0);
    let fewer = if wanted < seqs { wanted } else { (seqs / 2.0).floor() };
    if fewer >= 1.0 && fewer < seqs {
        with(Knob::Sequences(whole(fewer)), Knobs { seqs: Some(whole(fewer)), ..setup.knobs });
    }
    let batched = setup.batched().value;
    if batched > 2048.0 {
        with(Knob::Batched(2048), Knobs { batched: Some(2048), seqs: Some(whole(seqs)), ..setup.knobs });
    }
    let asked = setup.work.lengths.iter().map(|(tokens, _)| *tokens).fold(0.0, f64::max);
    if setup.max_len().is_some_and(|length| asked > 0.0 && asked < length) {
        with(Knob::Length(whole(asked)), Knobs { max_len: Some(whole(asked)), ..setup.knobs });
    }
    let share = setup.utilisation().value;
    if share < 0.95 && share > 0.0 {
        with(Knob::Utilisation(0.95), Knobs { utilisation: Some(0.95), ..setup.knobs });
    }
    if setup.knobs.eager != Some(true) {
        with(Knob::Eager, Knobs { eager: Some(true), ..setup.knobs });
    }
    if setup.kv.bytes > 1.01 {
        out.push((Knob::CacheEightBit, Setup { kv: KvFormat::of(1.0), ..setup.clone() }));
    }
    let bytes = setup.scheme.format.bytes();
    let scheme = |format: WeightFormat, method: Method| Scheme {
        format,
        range: (format, format),
        method,
        backend: None,
        is_guess: false,
        open: Vec::new(),
        ..setup.scheme.clone()
    };
    if bytes > 1.5 {
        let scheme = scheme(WeightFormat::Byte, Method::Online);
        out.push((Knob::WeightsEightBit, Setup { scheme, ..setup.clone() }));
    }
    if bytes > 0.9 {
        let scheme = scheme(WeightFormat::Int4 { group: 128, zeros: false }, Method::Int4);
        out.push((Knob::WeightsFourBit, Setup { scheme, ..setup.clone() }));
    }
    let tp = setup.tp.max(1).saturating_mul(2);
    if divides(setup, tp) {
        out.push((Knob::TensorParallel(tp), Setup { tp, ..setup.clone() }));
    }
    out
}

/// Whether the query heads can be split over so many GPUs, and the KV heads split or copied.
#[must_use]
pub fn divides(setup: &Setup, tp: u32) -> bool {
    let tp = tp.max(1);
    let heads = setup.facts.heads.is_none_or(|heads| heads % tp == 0);
    let kv = setup.facts.is_latent()
        || setup.facts.kv_heads.is_none_or(|kv| kv == 0 || kv % tp == 0 || tp.is_multiple_of(kv));
    heads && kv
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::memory::Catalogue;
    use crate::domain::memory::rules::{self, EngineKind, Version};
    use crate::domain::memory::serve::{Card, Work};

    #[test]
    fn fewer_sequences_are_a_memory_knob() {
        let facts = Catalogue::builtin().find("Qwen/Qwen3-32B").unwrap();
        let setup = Setup {
            engine: EngineKind::Vllm,
            version: Some(Version(0, 11, 0)),
            knobs: Knobs { max_len: Some(16_384), ..Knobs::default() },
            work: Work { lengths: vec![(4096.0, 1.0)], requests: 16.0, headroom: 0.0 },
            ..Setup::new(facts, Card::from(rules::card("H100").unwrap()))
        };
        let gains = ranked(&setup);
        let of = |name: &str| gains.iter().find(|gain| gain.knob.name() == name).copied();
        // Every request has a row in the sampler: 38 bytes × 151 936 entries.
        let sequences = of("knob_sequences").unwrap();
        assert!(sequences.pool > 4e9, "{sequences:?}");
        assert!(of("knob_weights_4bit").unwrap().requests > of("knob_weights_8bit").unwrap().requests);
        assert!(of("knob_cache_8bit").unwrap().requests > 0.0);
        let requests: Vec<f64> = gains.iter().map(|gain| gain.requests).collect();
        assert!(requests.is_sorted_by(|a, b| a >= b), "{requests:?}");
    }

    #[test]
    fn heads_must_divide() {
        let facts = Catalogue::builtin().find("Qwen/Qwen3-32B").unwrap();
        let setup = Setup::new(facts, Card::UNKNOWN);
        let ok: Vec<u32> = (1..=16).filter(|tp| divides(&setup, *tp)).collect();
        assert_eq!(ok, [1, 2, 4, 8, 16]);
    }
}
