//! Lines of SGLang.

use super::run::{Again, Phase, Run};
use super::scan::{after, gib, gib_after, number, pairs, value, whole, whole_after};
use crate::domain::facts::{Value, keys};

/// Whether the line opens a start.
pub(super) fn opens(line: &str) -> bool {
    line.contains("server_args=ServerArgs(")
}

/// Which rank a line is about, from its stamp: `[2025-03-08 12:29:21 TP1]`, `[… DP0 TP1 EP0]`.
pub(super) fn rank(line: &str) -> String {
    let stamp = after(line, "[").and_then(|rest| rest.split(']').next()).filter(|stamp| stamp.len() < 60);
    let parts: Vec<&str> = stamp
        .unwrap_or_default()
        .split_whitespace()
        .filter(|part| ["TP", "PP", "DP"].iter().any(|kind| part.strip_prefix(kind).is_some_and(is_digits)))
        .collect();
    match parts.as_slice() {
        [] => "0".to_owned(),
        [only] => only.trim_start_matches(|c: char| c.is_ascii_alphabetic()).to_owned(),
        _ => parts.join("_").to_lowercase(),
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.len() < 6 && text.chars().all(|c| c.is_ascii_digit())
}

/// Reads a line; whether it is one of this engine that says something.
pub(super) fn read(line: &str, rank: &str, run: &mut Run) -> bool {
    if let Some(list) = after(line, "server_args=ServerArgs(") {
        arguments(&pairs(list), run);
        run.reach(Phase::Weights);
        return true;
    }
    sizes(line, rank, run) || capacity(line, run) || refusals(line, run)
}

fn arguments(list: &[(&str, &str)], run: &mut Run) {
    run.args_seen = true;
    let get = |key: &str| value(list, key);
    for (name, key) in [("model_path", keys::MODEL), ("kv_cache_dtype", keys::KV_DTYPE)] {
        if let Some(text) = get(name) {
            run.text(key, text);
        }
    }
    if let Some(dtype) = get("dtype").filter(|dtype| *dtype != "auto") {
        run.text(keys::DTYPE, dtype);
    }
    run.text(keys::QUANTISATION, get("quantization").unwrap_or("none"));
    for (name, key) in [
        ("tp_size", keys::TENSOR_PARALLEL),
        ("pp_size", keys::PIPELINE_PARALLEL),
        ("dp_size", keys::DATA_PARALLEL),
        ("context_length", keys::MAX_MODEL_LEN),
        ("chunked_prefill_size", keys::MAX_BATCHED_TOKENS),
        ("max_running_requests", keys::MAX_SEQUENCES),
        ("page_size", keys::BLOCK_SIZE),
    ] {
        if let Some(n) = get(name).and_then(whole).filter(|n| *n > 0) {
            run.put(key, Value::Int(n));
        }
    }
    if let Some((share, _)) = get("mem_fraction_static").and_then(number) {
        run.put(keys::MEMORY_UTILIZATION, Value::Float(share));
    }
    if let Some(off) = get("disable_cuda_graph") {
        run.flag(keys::EAGER, off == "True");
    }
    let draft = get("speculative_algorithm").map_or_else(
        || "none".to_owned(),
        |name| match get("speculative_num_draft_tokens").and_then(whole) {
            Some(n) => format!("{name}, {n} tokens"),
            None => name.to_owned(),
        },
    );
    run.text(keys::SPECULATIVE, &draft);
    let lora = get("enable_lora") == Some("True") || get("lora_paths").is_some_and(|paths| paths != "[]");
    run.flag(keys::LORA, lora);
}

fn sizes(line: &str, rank: &str, run: &mut Run) -> bool {
    if line.contains("Load weight begin.") {
        if let Some(size) = gib_after(line, "avail mem=") {
            run.size_first(rank, keys::CUDA_MEMORY_FREE, size);
        }
        run.reach(Phase::Weights);
    } else if let Some(rest) = after(line, "Load weight end.") {
        // The second model that a rank loads is the draft model.
        let is_draft = run.load(rank) > 0;
        if let Some(size) = gib_after(rest, "mem usage=") {
            run.size(rank, if is_draft { keys::DRAFT_WEIGHTS } else { keys::WEIGHTS }, size, Again::Max);
        }
        if !is_draft {
            let word = |name: &str| after(rest, name).and_then(|rest| rest.split(',').next()).map(str::trim);
            if let Some(kind) = word("type=") {
                run.text_first(keys::MODEL_ARCHITECTURE, kind);
            }
            if let Some(dtype) = word("dtype=") {
                run.text_first(keys::DTYPE, dtype.trim_start_matches("torch."));
            }
        }
        run.reach(Phase::Cache);
    } else if line.contains("Init torch distributed ends.") {
        if let Some(size) = gib_after(line, "mem usage=") {
            run.size_first(rank, keys::NON_TORCH, size);
        }
    } else if let Some(dtype) = after(line, "Using KV cache dtype: ") {
        run.text(keys::KV_DTYPE, dtype.trim().trim_start_matches("torch."));
    } else if let Some(rest) = after(line, "KV Cache is allocated.") {
        cache(rest, rank, run);
    } else if let Some(rest) = after(line, "Mamba Cache is allocated.") {
        for words in ["conv_state size: ", "ssm_state size: "] {
            if let Some(size) = gib_after(rest, words) {
                run.size(rank, keys::RECURRENT_STATE, size, Again::Sum);
            }
        }
    } else if line.contains("Memory pool end.") {
        run.reach(Phase::Graphs);
    } else if line.contains("Capture cuda graph end.") {
        if let Some(size) = gib_after(line, "mem usage=") {
            run.size(rank, keys::GRAPHS, size, Again::Sum);
        }
    } else {
        return false;
    }
    true
}

/// "#tokens: 46611, K size: 1.42 GB, V size: 1.42 GB", or "KV size: 4.98 GB" with latent attention. A mix of full and
/// sliding layers has a line for each, and a draft model its own, which does not count here.
fn cache(rest: &str, rank: &str, run: &mut Run) {
    if run.loads(rank) > 1 {
        return;
    }
    let both = gib_after(rest, "K size: ").zip(gib_after(rest, "V size: ")).map(|(key, value)| key + value);
    if let Some(size) = gib_after(rest, "KV size: ").or(both) {
        run.size(rank, keys::KV_CACHE, size, Again::Sum);
    }
    if let Some(tokens) = whole_after(rest, "#tokens: ") {
        run.put_min(keys::KV_TOKENS, tokens);
    }
}

fn capacity(line: &str, run: &mut Run) -> bool {
    // The sum-up of the start stands above the lines of its parts.
    if let Some(tokens) = whole_after(line, "max_total_num_tokens=") {
        run.put(keys::KV_TOKENS, Value::Int(tokens));
        for (words, key) in [
            ("chunked_prefill_size=", keys::MAX_BATCHED_TOKENS),
            ("max_running_requests=", keys::MAX_SEQUENCES),
            ("context_len=", keys::MAX_MODEL_LEN),
        ] {
            if let Some(n) = whole_after(line, words).filter(|n| *n > 0) {
                run.put_first(key, Value::Int(n));
            }
        }
        return true;
    }
    if line.contains("The server is fired up and ready to roll") {
        run.reach(Phase::Serving);
        return true;
    }
    if line.contains("KV cache pool is full. Retract requests") {
        run.preempted();
        return true;
    }
    false
}

fn refusals(line: &str, run: &mut Run) -> bool {
    if line.contains("Not enough memory. Please try to increase --mem-fraction-static") {
        if let Some((share, _)) = after(line, "mem_fraction_static=").and_then(number) {
            run.put_first(keys::MEMORY_UTILIZATION, Value::Float(share));
        }
        run.refused("no memory is left for the KV cache within the static share");
        return true;
    }
    // The sum of memory of a card where the driver was not asked.
    if let Some(rest) = after(line, "Reported total GPU memory per device (MiB): [") {
        if let Some((mib, _)) = number(rest) {
            run.size_first("0", keys::CUDA_MEMORY_TOTAL, gib(&format!("{mib} MiB")).unwrap_or_default());
        }
        return true;
    }
    false
}
