//! What an engine measured when it started, as typed numbers out of the facts of its log.

use crate::domain::facts::{Device, Fact, Key, Value, keys};

/// One start of a serving engine as its log tells it. `None` is not in the log, never zero.
///
/// Of several ranks the smallest KV cache counts, and of everything that fills a card the fullest one.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EngineRun {
    /// Which start of the log, from 1.
    pub number: u32,
    /// "vllm", "sglang" or "llama.cpp".
    pub engine: Option<String>,
    /// Version as printed.
    pub engine_version: Option<String>,
    /// vLLM's engine, "V0" or "V1".
    pub engine_core: Option<String>,
    /// Whether it came up; `Some(false)` when it refused or ran out of memory, `None` when the log ends before.
    pub is_ready: Option<bool>,
    /// Product name of the card, where the log names it.
    pub gpu_name: Option<String>,
    /// Model, a name or a path.
    pub model: Option<String>,
    /// Class of the model.
    pub model_architecture: Option<String>,
    /// Number format of unquantised weights.
    pub dtype: Option<String>,
    /// Quantisation as the engine calls it, or "none".
    pub quantisation: Option<String>,
    /// Kernels for 4-bit float weights.
    pub kernel_backend: Option<String>,
    /// Number format of the KV cache; "auto" is the model's.
    pub kv_dtype: Option<String>,
    /// Ranks over which each layer is split.
    pub tensor_parallel: Option<u32>,
    /// Ranks over which the layers are dealt out.
    pub pipeline_parallel: Option<u32>,
    /// Copies of the engine.
    pub data_parallel: Option<u32>,
    /// Share of the card's memory that the engine was given, 0 to 1.
    pub memory_utilization: Option<f64>,
    /// Longest request, tokens.
    pub max_model_len: Option<u64>,
    /// Most tokens of one step.
    pub max_batched_tokens: Option<u64>,
    /// Most requests of one step.
    pub max_sequences: Option<u64>,
    /// Whether graphs are off.
    pub is_eager: Option<bool>,
    /// Whether a draft model or method is on.
    pub is_speculative: Option<bool>,
    /// Whether LoRA slots are on.
    pub has_lora: Option<bool>,
    /// Tokens of a block.
    pub block_size: Option<u64>,
    /// Size of the checkpoint's files, GiB.
    pub checkpoint_gib: Option<f64>,
    /// Weights on the fullest GPU, GiB.
    pub weights_gib: Option<f64>,
    /// KV cache of the smallest rank, GiB; negative when nothing was left.
    pub kv_cache_gib: Option<f64>,
    /// States of linear-attention layers, GiB.
    pub recurrent_state_gib: Option<f64>,
    /// KV cache as the engine counts it, tokens.
    pub kv_tokens: Option<u64>,
    /// Blocks of the KV cache.
    pub kv_blocks: Option<u64>,
    /// KV cache that one full request would need, GiB, from a refused start.
    pub kv_needed_gib: Option<f64>,
    /// Requests of `concurrency_length` tokens that the KV cache holds.
    pub concurrency: Option<f64>,
    /// Tokens of a request for which the concurrency is counted.
    pub concurrency_length: Option<u64>,
    /// Peak of activations, GiB.
    pub activations_gib: Option<f64>,
    /// Memory outside the tensor library, GiB: as printed, or the printed sum less the weights.
    pub non_torch_gib: Option<f64>,
    /// Graphs, GiB. Negative values, which some logs print and which mean nothing, are left out.
    pub graphs_gib: Option<f64>,
    /// Memory of the card as CUDA reports it, GiB.
    pub memory_total_gib: Option<f64>,
    /// Memory that was free at the start, GiB.
    pub memory_free_gib: Option<f64>,
}

impl EngineRun {
    /// The start that counts: the last of the log. `None` when the facts hold no engine's start.
    #[must_use]
    pub fn from_facts(facts: &[Fact]) -> Option<Self> {
        let last = facts.iter().filter_map(|fact| run_number(&fact.device)).max()?;
        Some(Self::of(facts, last))
    }

    /// Every start of the log, in its order.
    #[must_use]
    pub fn all(facts: &[Fact]) -> Vec<Self> {
        let mut numbers: Vec<u32> = facts.iter().filter_map(|fact| run_number(&fact.device)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers.into_iter().map(|number| Self::of(facts, number)).collect()
    }

    /// Tokens of the KV cache: as printed, or blocks × their size where both are known.
    #[must_use]
    pub fn kv_tokens_counted(&self) -> Option<u64> {
        self.kv_tokens.or_else(|| self.kv_blocks?.checked_mul(self.block_size?))
    }

    fn of(facts: &[Fact], number: u32) -> Self {
        let device = Device::of("run", number);
        let own: Vec<&Fact> = facts.iter().filter(|fact| fact.device == device).collect();
        let value = |key: &Key| own.iter().find(|fact| fact.key == *key).and_then(|fact| fact.value.as_ref().ok());
        let text = |key: &Key| match value(key) {
            Some(Value::Text(text)) => Some(text.clone()),
            _ => None,
        };
        let gib = |key: &Key| value(key).and_then(Value::as_f64).filter(|x| x.is_finite());
        let count = |key: &Key| match value(key) {
            Some(Value::Int(n)) => u64::try_from(*n).ok(),
            _ => None,
        };
        let ranks = |key: &Key| count(key).and_then(|n| u32::try_from(n).ok());
        let flag = |key: &Key| text(key).map(|word| word == "yes");
        let weights_gib = gib(&keys::WEIGHTS);
        let beside =
            gib(&keys::WEIGHTS_AND_NON_TORCH).zip(weights_gib).map(|(both, weights)| (both - weights).max(0.0));
        Self {
            number,
            engine: text(&keys::ENGINE),
            engine_version: text(&keys::ENGINE_VERSION),
            engine_core: text(&keys::ENGINE_CORE),
            is_ready: text(&keys::ENGINE_START).map(|word| word == "ready"),
            gpu_name: text(&keys::NAME),
            model: text(&keys::MODEL),
            model_architecture: text(&keys::MODEL_ARCHITECTURE),
            dtype: text(&keys::DTYPE),
            quantisation: text(&keys::QUANTISATION),
            kernel_backend: text(&keys::KERNEL_BACKEND),
            kv_dtype: text(&keys::KV_DTYPE),
            tensor_parallel: ranks(&keys::TENSOR_PARALLEL),
            pipeline_parallel: ranks(&keys::PIPELINE_PARALLEL),
            data_parallel: ranks(&keys::DATA_PARALLEL),
            memory_utilization: gib(&keys::MEMORY_UTILIZATION).filter(|share| (0.0..=1.0).contains(share)),
            max_model_len: count(&keys::MAX_MODEL_LEN),
            max_batched_tokens: count(&keys::MAX_BATCHED_TOKENS),
            max_sequences: count(&keys::MAX_SEQUENCES),
            is_eager: flag(&keys::EAGER),
            is_speculative: text(&keys::SPECULATIVE).map(|method| method != "none"),
            has_lora: flag(&keys::LORA),
            block_size: count(&keys::BLOCK_SIZE),
            checkpoint_gib: gib(&keys::CHECKPOINT),
            weights_gib,
            kv_cache_gib: gib(&keys::KV_CACHE),
            recurrent_state_gib: gib(&keys::RECURRENT_STATE),
            kv_tokens: count(&keys::KV_TOKENS),
            kv_blocks: count(&keys::KV_BLOCKS),
            kv_needed_gib: gib(&keys::KV_NEEDED),
            concurrency: gib(&keys::CONCURRENCY),
            concurrency_length: count(&keys::CONCURRENCY_LENGTH),
            activations_gib: gib(&keys::ACTIVATIONS),
            non_torch_gib: gib(&keys::NON_TORCH).or(beside),
            graphs_gib: gib(&keys::GRAPHS).filter(|gib| *gib >= 0.0),
            memory_total_gib: gib(&keys::CUDA_MEMORY_TOTAL),
            memory_free_gib: gib(&keys::CUDA_MEMORY_FREE),
        }
    }
}

/// The number of a whole run: `run:3`, not `run:3/rank:0`.
fn run_number(device: &Device) -> Option<u32> {
    device.0.strip_prefix("run:")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::facts::{Absent, AbsentKind};

    fn fact(device: &str, key: Key, value: Result<Value, Absent>) -> Fact {
        Fact { device: Device(device.to_owned()), key, value, unit: "".into() }
    }

    #[test]
    fn the_last_run_counts_and_what_is_absent_stays_unknown() {
        let facts = [
            fact("run:2", keys::WEIGHTS, Ok(Value::Float(10.0))),
            fact("run:10", keys::ENGINE, Ok(Value::Text("vllm".into()))),
            fact("run:10", keys::WEIGHTS, Ok(Value::Float(56.9))),
            fact("run:10", keys::WEIGHTS_AND_NON_TORCH, Ok(Value::Float(57.4))),
            fact("run:10", keys::GRAPHS, Ok(Value::Float(-0.5))),
            fact("run:10", keys::KV_BLOCKS, Ok(Value::Int(100))),
            fact("run:10", keys::BLOCK_SIZE, Ok(Value::Int(16))),
            fact("run:10", keys::KV_CACHE, Err(Absent::new(AbsentKind::NotReported, "not in the log"))),
            fact("run:10/rank:0", keys::KV_CACHE, Ok(Value::Float(1.0))),
            fact("gpu:0", keys::NAME, Ok(Value::Text("other".into()))),
        ];
        let run = EngineRun::from_facts(&facts).unwrap();
        let want = EngineRun {
            number: 10,
            engine: Some("vllm".into()),
            weights_gib: Some(56.9),
            non_torch_gib: Some(57.4 - 56.9),
            kv_blocks: Some(100),
            block_size: Some(16),
            ..EngineRun::default()
        };
        assert_eq!(run, want);
        assert_eq!(run.kv_tokens_counted(), Some(1_600));
        assert_eq!(EngineRun::all(&facts).len(), 2);
        assert_eq!(EngineRun::from_facts(&facts[9..]), None);
    }
}
