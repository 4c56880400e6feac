//! Lines of vLLM and its relatives: the V0 engine (before 0.8, optional until 0.10) and the V1 engine with its changes
//! of wording in 0.8, 0.11, 0.17 and 0.21.

use super::run::{Again, Phase, Run};
use super::scan::{after, gib, gib_after, number, number_after, pairs, value, whole, whole_after};
use crate::domain::facts::{Value, keys};

/// Whether the line opens a start: what the launcher prints before the engine's own line.
pub(super) fn opens(line: &str) -> bool {
    line.contains("vLLM API server version") || line.contains("non-default args: {") || is_banner(line)
}

/// The process that prints its whole configuration, when this is that line.
pub(super) fn initialises(line: &str) -> bool {
    line.contains("Initializing a") && line.contains("LLM engine") && line.contains("config:")
}

fn is_banner(line: &str) -> bool {
    line.contains('█') && line.contains(" version ")
}

/// Which rank a line is about: the name that its process carries, else its process number, else the first.
///
/// Seen: `(VllmWorkerProcess pid=521)`, `(VllmWorker rank=1 pid=…)`, `(VllmWorker TP1 pid=…)`, `(Worker_PP0_TP1 pid=…)`,
/// `(RayWorkerWrapper pid=…, ip=…)`, `(EngineCore_DP1 pid=…)`, `(EngineCore pid=…)`.
pub(super) fn rank(line: &str) -> String {
    let mut mark = "0".to_owned();
    let mut rest = line.get(..super::floor(line, 400)).unwrap_or_default();
    while let Some(group) = after(rest, "(") {
        let Some((inner, behind)) = group.split_once(')') else { break };
        rest = behind;
        if !inner.contains("pid=") {
            continue;
        }
        let Some(name) = inner.split_whitespace().next() else { continue };
        let pid: String =
            after(inner, "pid=").unwrap_or_default().chars().take_while(char::is_ascii_digit).take(12).collect();
        if let Some(n) = after(inner, "rank=").and_then(whole) {
            mark = n.to_string();
        } else if let Some(parts) = name.strip_prefix("Worker_").or_else(|| name.strip_prefix("EngineCore_")) {
            mark = named(parts);
        } else if name.starts_with("VllmWorker") && inner.contains(" TP") {
            mark = after(inner, " TP").and_then(whole).map_or_else(|| "0".to_owned(), |n| n.to_string());
        } else if let Some(n) = name.strip_prefix("VllmWorker-").and_then(whole) {
            mark = n.to_string();
        } else if matches!(name, "VllmWorkerProcess" | "RayWorkerWrapper" | "RayWorkerVllm" | "RayWorker") {
            mark = format!("pid{pid}");
        }
    }
    mark
}

/// `TP1` is rank 1; `PP0_TP1_EP1` is `pp0_tp1`: the expert rank repeats the others.
fn named(parts: &str) -> String {
    let parts: Vec<String> =
        parts.split('_').filter(|part| !part.starts_with("EP")).map(str::to_lowercase).take(6).collect();
    match parts.as_slice() {
        [only] => {
            let digits = only.trim_start_matches(|c: char| c.is_ascii_alphabetic());
            let is_first = digits == "0" || only.starts_with("tp") || only.starts_with("pp");
            if is_first && !digits.is_empty() { digits.to_owned() } else { only.clone() }
        }
        _ => parts.join("_"),
    }
}

/// Reads a line; whether it is one of this engine that says something.
pub(super) fn read(line: &str, rank: &str, run: &mut Run) -> bool {
    settings(line, run) || sizes(line, rank, run) || capacity(line, rank, run) || refusals(line, rank, run)
}

fn settings(line: &str, run: &mut Run) -> bool {
    if initialises(line) {
        if let Some(version) = after(line, "LLM engine (v").and_then(|rest| rest.split(')').next()) {
            run.text(keys::ENGINE_VERSION, version);
        }
        for core in ["V0", "V1"] {
            if line.contains(&format!("a {core} LLM engine")) {
                run.text(keys::ENGINE_CORE, core);
            }
        }
        let list = after(line, "config:").unwrap_or_default().trim_start();
        configuration(&pairs(list.strip_prefix("VllmConfig(").unwrap_or(list)), run);
        run.reach(Phase::Weights);
        return true;
    }
    if let Some(version) = after(line, "vLLM API server version ") {
        run.text_first(keys::ENGINE_VERSION, version.split_whitespace().next().unwrap_or_default());
    } else if is_banner(line) {
        let version = after(line, " version ").unwrap_or_default();
        run.text_first(keys::ENGINE_VERSION, version.split_whitespace().next().unwrap_or_default());
    } else if let Some(list) = after(line, "non-default args: {").or_else(|| after(line, "args: Namespace(")) {
        arguments(&pairs(list), run);
        run.args_seen = true;
    } else if let Some(n) = whole_after(line, "Using max model len ") {
        run.put_first(keys::MAX_MODEL_LEN, Value::Int(n));
    } else if let Some(n) = whole_after(line, "Chunked prefill is enabled with max_num_batched_tokens") {
        run.put_first(keys::MAX_BATCHED_TOKENS, Value::Int(n));
    } else if let Some(name) = after(line, "Resolved architecture: ") {
        run.text_first(keys::MODEL_ARCHITECTURE, name.split_whitespace().next().unwrap_or_default());
    } else if let Some(n) = whole_after(line, "Setting attention block size to ") {
        run.put(keys::BLOCK_SIZE, Value::Int(n));
    } else if line.contains("data type to store kv cache") {
        let name = after(line, "Using ").unwrap_or_default();
        run.text(keys::KV_DTYPE, name.split_whitespace().next().unwrap_or_default());
    } else if let Some(size) = gib_after(line, "Checkpoint size: ").filter(|size| *size > 0.0) {
        run.put_first(keys::CHECKPOINT, Value::Float(size));
    } else if let Some(name) = card_name(line) {
        run.text_first(keys::NAME, &name);
    } else if let Some(name) = kernel(line) {
        run.text_first(keys::KERNEL_BACKEND, &name);
    } else {
        return false;
    }
    true
}

/// The card where a tuning file for it is missed: `device_name=NVIDIA_A100-SXM4-80GB.json`.
fn card_name(line: &str) -> Option<String> {
    let name = after(line, "device_name=")?;
    let end = name.find([',', '\'', '"', ' ', ']', ')']).unwrap_or(name.len());
    let name = name.get(..end)?.trim_end_matches('.').trim_end_matches(".json").replace('_', " ");
    (!name.is_empty()).then_some(name)
}

/// The kernels for 4-bit float weights, on which their padding depends.
fn kernel(line: &str) -> Option<String> {
    let lower = line.to_lowercase();
    if !(lower.contains("mxfp4") || lower.contains("nvfp4")) || !line.contains(" backend") {
        return None;
    }
    let name = after(line, "Using ")?;
    let name = name.get(..name.find(" backend")?)?;
    (name.len() < 60).then(|| name.replace(['\'', '"'], ""))
}

/// The line with the whole configuration.
fn configuration(list: &[(&str, &str)], run: &mut Run) {
    let get = |key: &str| value(list, key);
    if let Some(model) = get("model") {
        run.text(keys::MODEL, model);
    }
    if let Some(dtype) = get("dtype") {
        run.text(keys::DTYPE, dtype.trim_start_matches("torch."));
    }
    if let Some(n) = get("max_seq_len").and_then(whole) {
        run.put(keys::MAX_MODEL_LEN, Value::Int(n));
    }
    for (name, key) in [
        ("tensor_parallel_size", keys::TENSOR_PARALLEL),
        ("pipeline_parallel_size", keys::PIPELINE_PARALLEL),
        ("data_parallel_size", keys::DATA_PARALLEL),
    ] {
        if let Some(n) = get(name).and_then(whole) {
            run.put(key, Value::Int(n));
        }
    }
    if list.iter().any(|(key, _)| *key == "quantization") {
        run.text(keys::QUANTISATION, get("quantization").unwrap_or("none"));
    }
    if let Some(dtype) = get("kv_cache_dtype") {
        run.text_first(keys::KV_DTYPE, dtype);
    }
    if let Some(eager) = get("enforce_eager") {
        run.flag(keys::EAGER, eager == "True");
    }
    if list.iter().any(|(key, _)| *key == "speculative_config") {
        run.text(keys::SPECULATIVE, &speculative(get("speculative_config")));
    }
    if let Some(lora) = get("enable_lora") {
        run.flag(keys::LORA, lora == "True");
    }
    // The largest of the sizes that are compiled for is the largest batch.
    let compiled = get("compilation_config").and_then(|list| {
        let list = after(list, "compile_ranges_endpoints")
            .or_else(|| after(list, "compile_ranges_split_points"))
            .and_then(|rest| after(rest, "["))?;
        list.split(']').next()?.split(',').filter_map(whole).max()
    });
    if let Some(n) = compiled.filter(|n| *n > 1) {
        run.put_first(keys::MAX_BATCHED_TOKENS, Value::Int(n));
    }
}

/// Arguments of the server: those that differ from the defaults, or all.
fn arguments(list: &[(&str, &str)], run: &mut Run) {
    let get = |key: &str| value(list, key);
    if let Some(model) = get("model").or_else(|| get("model_tag")) {
        run.text_first(keys::MODEL, model);
    }
    if let Some((share, _)) = get("gpu_memory_utilization").and_then(number) {
        run.put(keys::MEMORY_UTILIZATION, Value::Float(share));
    }
    for (name, key) in [
        ("max_model_len", keys::MAX_MODEL_LEN),
        ("max_num_batched_tokens", keys::MAX_BATCHED_TOKENS),
        ("max_num_seqs", keys::MAX_SEQUENCES),
        ("block_size", keys::BLOCK_SIZE),
        ("tensor_parallel_size", keys::TENSOR_PARALLEL),
        ("pipeline_parallel_size", keys::PIPELINE_PARALLEL),
    ] {
        if let Some(n) = get(name).and_then(whole) {
            run.put(key, Value::Int(n));
        }
    }
    if let Some(lora) = get("enable_lora") {
        run.flag(keys::LORA, lora == "True");
    }
    if let Some(dtype) = get("kv_cache_dtype") {
        run.text(keys::KV_DTYPE, dtype);
    }
    if let Some(eager) = get("enforce_eager") {
        run.flag(keys::EAGER, eager == "True");
    }
    if let Some(draft) = get("speculative_config") {
        run.text(keys::SPECULATIVE, &speculative(Some(draft)));
    }
}

/// `SpeculativeConfig(method='mtp', num_spec_tokens=3)`, or a dictionary, as "mtp, 3 tokens".
fn speculative(config: Option<&str>) -> String {
    let Some(config) = config else { return "none".to_owned() };
    let inner = after(config, "(").or_else(|| after(config, "{")).unwrap_or(config);
    let list = pairs(inner);
    let name = value(&list, "method").or_else(|| value(&list, "model")).unwrap_or("yes");
    match value(&list, "num_spec_tokens").or_else(|| value(&list, "num_speculative_tokens")).and_then(whole) {
        Some(n) => format!("{name}, {n} tokens"),
        None => name.to_owned(),
    }
}

fn sizes(line: &str, rank: &str, run: &mut Run) -> bool {
    if let Some(size) =
        gib_after(line, "Loading model weights took ").or_else(|| gib_after(line, "Model loading took "))
    {
        run.size(rank, keys::WEIGHTS, size, Again::Max);
        run.reach(Phase::Profile);
        return true;
    }
    if let Some(size) = gib_after(line, "Available KV cache memory") {
        run.size(rank, keys::KV_CACHE, size, Again::Last);
        run.reach(Phase::Cache);
        return true;
    }
    if line.contains("Graph capturing finished in ") {
        if let Some(size) = gib_after(line, "took ") {
            run.size(rank, keys::GRAPHS, size, Again::Last);
        }
        return true;
    }
    if let Some(rest) = after(line, "CUDA graph pool memory: ") {
        if let Some(size) = gib(rest) {
            run.size(rank, keys::GRAPHS, size, Again::Last);
        }
        if let Some(size) = after(rest, "(actual), ").and_then(gib) {
            run.size(rank, keys::GRAPHS_ESTIMATED, size, Again::Last);
        }
        return true;
    }
    if let Some(size) = gib_after(line, "Estimated CUDA graph memory: ") {
        run.size(rank, keys::GRAPHS_ESTIMATED, size, Again::Last);
        return true;
    }
    // A pool that was set by hand is not profiled: "reserved 5.0 GiB memory for KV Cache as specified by …", and on a
    // processor "Explicitly set (1.0/23.54) GiB for KV cache".
    if let Some(size) = gib_after(line, "reserved ").filter(|_| line.contains("memory for KV Cache as specified")) {
        run.size(rank, keys::KV_CACHE, size, Again::Last);
        return true;
    }
    if let Some((size, _)) = after(line, "Explicitly set (").and_then(number)
        && line.contains(" GiB for KV cache")
    {
        run.size(rank, keys::KV_CACHE, size, Again::Last);
        return true;
    }
    let balance = balance(line, rank, run);
    profile(line, rank, run) || balance
}

/// "Free memory on device (78.84/79.25 GiB) on startup. Desired GPU memory utilization is (0.9, 71.33 GiB). Actual usage
/// is 14.99 GiB for weight, …".
fn balance(line: &str, rank: &str, run: &mut Run) -> bool {
    let Some(rest) = after(line, "Free memory on device") else { return false };
    let pair = after(rest, "(").and_then(|rest| {
        let (free, rest) = number(rest)?;
        Some((free, gib(rest.trim_start().strip_prefix('/')?)?))
    });
    if let Some((free, total)) = pair {
        run.size(rank, keys::CUDA_MEMORY_FREE, free, Again::Last);
        run.size(rank, keys::CUDA_MEMORY_TOTAL, total, Again::Last);
    }
    for words in ["GPU memory utilization is (", "GPU memory utilization ("] {
        if let Some(share) = number_after(rest, words) {
            run.put_first(keys::MEMORY_UTILIZATION, Value::Float(share));
        }
    }
    if let Some(usage) = after(rest, "Actual usage") {
        for (words, key) in [
            (" for weight", keys::WEIGHTS),
            (" for peak activation", keys::ACTIVATIONS),
            (" for non-torch memory", keys::NON_TORCH),
            (" for consumed memory", keys::WEIGHTS_AND_NON_TORCH),
            (" for CUDAGraph memory", keys::GRAPHS),
            (" for NPU graph memory", keys::GRAPHS),
        ] {
            // The size stands before its words.
            let size = usage.find(words).and_then(|end| {
                let before = usage.get(..end)?;
                let unit_at = before.rfind(char::is_whitespace)?;
                let start = before.get(..unit_at)?.rfind([' ', ',', ':']).map_or(0, |at| at + 1);
                gib(before.get(start..)?)
            });
            if let Some(size) = size {
                run.size_first(rank, key, size);
            }
        }
    }
    if let Some(size) = gib_after(rest, "kv cache memory in use is ").or_else(|| gib_after(rest, "KV cache memory: ")) {
        run.size_first(rank, keys::KV_CACHE, size);
    }
    if rest.contains("is less than desired GPU memory utilization") {
        let free = pair.map_or_else(String::new, |(free, total)| format!(", {free} of {total} GiB"));
        run.refused(&format!("less memory is free than the share it was given{free}"));
    }
    true
}

/// The V0 engine's profile, in its three layouts.
fn profile(line: &str, rank: &str, run: &mut Run) -> bool {
    let mut found = false;
    for (words, key) in [
        ("total_gpu_memory", keys::CUDA_MEMORY_TOTAL),
        ("model weights take", keys::WEIGHTS),
        ("non_torch_memory takes", keys::NON_TORCH),
        ("non_torch_memory", keys::NON_TORCH),
        ("PyTorch activation peak memory takes", keys::ACTIVATIONS),
        ("PyTorch activation peak memory", keys::ACTIVATIONS),
        ("reserved for KV Cache is", keys::KV_CACHE),
        ("kv_cache_size", keys::KV_CACHE),
        ("available_kv_cache_memory", keys::KV_CACHE),
    ] {
        if let Some(size) = gib_after(line, words) {
            found = true;
            if key == keys::WEIGHTS {
                run.size_first(rank, key, size);
            } else {
                run.size(rank, key, size, Again::Last);
            }
        }
    }
    // This layout counts the weights into the peak.
    if let Some(peak) = gib_after(line, "peak_torch_memory=") {
        if let Some(weights) = run.rank_size(rank, &keys::WEIGHTS).filter(|weights| *weights <= peak) {
            run.size(rank, keys::ACTIVATIONS, peak - weights, Again::Last);
        }
        found = true;
    }
    if found
        || line.contains("gpu_memory_utilization (")
        || line.contains("gpu_memory_utilization  ")
        || line.contains("Memory profiling ")
    {
        for words in ["gpu_memory_utilization (", "gpu_memory_utilization=", "gpu_memory_utilization  "] {
            if let Some(share) = number_after(line, words).filter(|share| *share > 0.0 && *share <= 1.0) {
                run.put_first(keys::MEMORY_UTILIZATION, Value::Float(share));
                found = true;
            }
        }
    }
    if found {
        run.reach(Phase::Cache);
    }
    found
}

fn capacity(line: &str, rank: &str, run: &mut Run) -> bool {
    let mut found = false;
    if let Some(n) = whole_after(line, " KV cache size: ").filter(|_| line.contains("tokens")) {
        run.put_min(keys::KV_TOKENS, n);
        found = true;
    }
    if let Some(n) = blocks(line) {
        run.put_min(keys::KV_BLOCKS, n);
        found = true;
    }
    let concurrency = after(line, "Maximum concurrency for ").or_else(|| after(line, "maximum concurrency for "));
    if let Some(rest) = concurrency
        && let Some((length, rest)) = number(rest)
        && let Some((times, _)) = after(rest, "per request").and_then(number)
    {
        let smaller = !matches!(run.get(&keys::CONCURRENCY), Some(Value::Float(own)) if *own <= times);
        if smaller {
            run.put(keys::CONCURRENCY, Value::Float(times));
            if let Some(length) = whole(&length.to_string()) {
                run.put(keys::CONCURRENCY_LENGTH, Value::Int(length));
            }
        }
        found = true;
    }
    if found {
        run.reach(Phase::Graphs);
        return true;
    }
    if line.contains("init engine (profile, create kv cache") || (run.engine.is_some() && is_ready(line)) {
        run.reach(Phase::Serving);
        return true;
    }
    if line.contains("is preempted") && line.contains("not enough KV cache space") {
        run.preempted();
        return true;
    }
    // A worker that only tells its place is a rank of the run.
    if let Some(n) = after(line, " in world size ").and_then(whole).filter(|_| line.contains("is assigned as")) {
        return n > 0 && !rank.is_empty();
    }
    false
}

fn is_ready(line: &str) -> bool {
    line.contains("Application startup complete") || line.contains("Starting vLLM API server")
}

/// "# GPU blocks: 13618, # CPU blocks: 2048" in its spellings (GPU, cuda, CUDA, rocm), and the metric's line.
fn blocks(line: &str) -> Option<i64> {
    if let Some(rest) = after(line, "# ") {
        let (device, rest) = rest.split_once(" blocks: ")?;
        if !device.contains(' ') && device != "CPU" {
            return whole(rest);
        }
    }
    whole_after(line, "num_gpu_blocks is: ")
}

fn refusals(line: &str, rank: &str, run: &mut Run) -> bool {
    if line.contains("To serve at least one request") && line.contains("KV cache") {
        let needed = after(line, "max seq len (").and_then(|rest| after(rest, "(")).and_then(gib);
        let available = gib_after(line, "available KV cache memory (");
        if let Some(needed) = needed {
            run.put(keys::KV_NEEDED, Value::Float(needed));
        }
        if let Some(available) = available {
            run.size_first(rank, keys::KV_CACHE, available);
        }
        if let Some(length) = whole_after(line, "max seq len (") {
            run.put_first(keys::MAX_MODEL_LEN, Value::Int(length));
        }
        if let Some(length) = whole_after(line, "estimated maximum model length is ") {
            run.put(keys::MAX_MODEL_LEN_POSSIBLE, Value::Int(length));
        }
        let sizes = needed
            .zip(available)
            .map_or_else(String::new, |(needed, has)| format!(" ({needed} GiB needed, {has} GiB there)"));
        run.refused(&format!("the KV cache of one request of full length is larger than what is left for it{sizes}"));
        return true;
    }
    if line.contains("larger than the maximum number of tokens that can be stored in KV cache") {
        let (length, tokens) = (whole_after(line, "max seq len ("), whole_after(line, "stored in KV cache ("));
        if let Some(length) = length {
            run.put_first(keys::MAX_MODEL_LEN, Value::Int(length));
        }
        if let Some(tokens) = tokens {
            run.put_min(keys::KV_TOKENS, tokens);
        }
        let sizes =
            length.zip(tokens).map_or_else(String::new, |(length, has)| format!(" ({length} tokens, room for {has})"));
        run.refused(&format!("the maximum length is larger than the KV cache{sizes}"));
        return true;
    }
    if line.contains("No available memory for the cache blocks") {
        run.refused("no memory is left for the KV cache");
        return true;
    }
    false
}
