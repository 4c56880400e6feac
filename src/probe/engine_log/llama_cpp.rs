//! Lines of llama.cpp and its forks, old wording (`llm_load_tensors`, `llama_new_context_with_model`) and new.

use super::run::{Again, Phase, Run};
use super::scan::{after, bare, gib, number, whole, whole_after};
use crate::domain::facts::{Severity, Value, keys};

/// Whether the line opens a start.
pub(super) fn opens(line: &str) -> bool {
    build(line).is_some()
}

/// `build: 7772 (287a33017) with …`, `main: build = 3432 (…)`, `build_info: b7772-…`.
fn build(line: &str) -> Option<i64> {
    let with_compiler = |rest: &&str| rest.contains(" with ") && rest.contains('(');
    let rest = after(line, "build: ")
        .filter(with_compiler)
        .or_else(|| after(line, "main: build = "))
        .or_else(|| after(line, "main: build: "))
        .or_else(|| after(line, "build_info: b"))?;
    whole(rest).filter(|n| (1..10_000_000).contains(n))
}

/// The functions of the engine whose lines count; a prompt that is printed into the log is none of them.
const SPEAKERS: &[&str] = &[
    "llama_",
    "llm_load",
    "load_tensors",
    "print_info:",
    "sched_reserve",
    "ggml_",
    "common_",
    "load_model",
    "graph_reserve",
];

/// Reads a line; whether it is one of this engine that says something.
pub(super) fn read(line: &str, run: &mut Run) -> bool {
    if let Some(n) = build(line) {
        run.text(keys::ENGINE_VERSION, &format!("b{n}"));
        return true;
    }
    if line.contains("server is listening on http") || line.contains("update_slots: all slots are idle") {
        if run.engine == Some(super::run::Engine::LlamaCpp) {
            run.reach(Phase::Serving);
        }
        return run.engine == Some(super::run::Engine::LlamaCpp);
    }
    if let Some(rest) = after(line, "  Device ")
        .or_else(|| line.strip_prefix("Device "))
        .filter(|rest| rest.contains("compute capability"))
    {
        if let Some(name) = after(rest, ": ").and_then(|rest| rest.split(", compute").next()) {
            run.text_first(keys::NAME, name);
        }
        return true;
    }
    if !SPEAKERS.iter().any(|speaker| line.contains(speaker)) {
        return false;
    }
    model(line, run) || buffers(line, run) || context(line, run) || fitting(line, run)
}

/// What stands behind `name` and its equals sign, whatever blanks lie between.
fn field<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let rest = after(line, name)?.trim_start();
    Some(rest.strip_prefix('=')?.trim())
}

fn model(line: &str, run: &mut Run) -> bool {
    if line.contains("loaded meta data with") {
        let path = after(line, "tensors from ").and_then(|rest| rest.split(" (version").next());
        run.text_first(keys::MODEL, path.unwrap_or_default());
        run.reach(Phase::Weights);
    } else if let Some(kind) = field(line, ": arch ") {
        run.text_first(keys::MODEL_ARCHITECTURE, kind);
    } else if let Some(kind) = field(line, "general.architecture str") {
        run.text_first(keys::MODEL_ARCHITECTURE, kind);
    } else if let Some(kind) = field(line, ": file type ").or_else(|| field(line, ": model ftype ")) {
        run.text_first(keys::QUANTISATION, kind);
    } else if let Some(rest) = field(line, ": file size ").or_else(|| field(line, ": model size ")) {
        if let Some(size) = gib(rest) {
            run.put_first(keys::CHECKPOINT, Value::Float((size * 10_000.0).round() / 10_000.0));
        }
        if let Some((bits, rest)) = after(rest, "(").and_then(number)
            && rest.trim_start().starts_with("BPW")
        {
            run.put_first(keys::BITS_PER_WEIGHT, Value::Float(bits));
        }
    } else if let Some(rest) = after(line, "offloaded ").filter(|rest| rest.contains("layers to GPU")) {
        run.text_first(keys::LAYERS_OFFLOADED, rest.split_whitespace().next().unwrap_or_default());
    } else if let Some(rest) = after(line, "using device ") {
        device(rest, run);
    } else {
        return false;
    }
    true
}

/// "CUDA0 (Tesla T4) (0000:00:04.0) - 14992 MiB free".
fn device(rest: &str, run: &mut Run) {
    let Some((mark, rest)) = rest.split_once(' ').filter(|(mark, _)| is_device(mark)) else { return };
    if let Some(name) = after(rest, "(").and_then(|rest| rest.split(')').next()) {
        run.product(mark, name);
        run.text_first(keys::NAME, name);
    }
    if let Some(size) = after(rest, " - ").and_then(gib) {
        run.size(mark, keys::CUDA_MEMORY_FREE, size, Again::Last);
    }
}

fn is_device(mark: &str) -> bool {
    !mark.is_empty()
        && mark.len() <= 40
        && mark.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '[' | ']' | '.' | ':'))
}

/// "load_tensors:        CUDA0 model buffer size = 12036.68 MiB" and its like for cache, state, compute and output.
fn buffers(line: &str, run: &mut Run) -> bool {
    let Some((left, right)) = line.split_once("buffer size =") else { return false };
    let Some(size) = gib(right) else { return false };
    let mut words = left.split_whitespace().rev();
    let last = words.next().unwrap_or_default();
    let (kind, mark) = match last {
        "model" | "KV" | "compute" | "output" | "RS" => (last, words.next().unwrap_or_default()),
        // The old wording of weights names no kind.
        _ if left.contains("load_tensors") => ("model", last),
        _ => return false,
    };
    if !is_device(mark) {
        return false;
    }
    let (key, again, phase) = match kind {
        "model" => (keys::WEIGHTS, Again::Sum, Phase::Weights),
        "KV" => (keys::KV_CACHE, Again::Sum, Phase::Cache),
        "RS" => (keys::RECURRENT_STATE, Again::Sum, Phase::Cache),
        // Compute buffers are reserved anew when they must grow.
        "compute" => (keys::ACTIVATIONS, Again::Max, Phase::Graphs),
        _ => return true,
    };
    run.size(mark, key, size, again);
    run.reach(phase);
    true
}

fn context(line: &str, run: &mut Run) -> bool {
    if line.contains("constructing llama_context") {
        run.reach(Phase::Cache);
        return true;
    }
    if line.contains("llama_context:") || line.contains("llama_new_context_with_model:") {
        let count = |name: &str| field(line, name).and_then(whole).filter(|n| *n > 0);
        if let Some(n) = count(": n_ctx_seq ").or_else(|| count(": n_ctx_per_seq ")) {
            run.put(keys::MAX_MODEL_LEN, Value::Int(n));
        } else if let Some(n) = count(": n_ctx ") {
            run.put_first(keys::MAX_MODEL_LEN, Value::Int(n));
        } else if let Some(n) = count(": n_seq_max ") {
            run.put(keys::MAX_SEQUENCES, Value::Int(n));
        } else if let Some(n) = count(": n_ubatch ") {
            run.put(keys::MAX_BATCHED_TOKENS, Value::Int(n));
        } else {
            return caches(line, run);
        }
        return true;
    }
    caches(line, run)
}

/// "size = 1500.00 MiB ( 64000 cells,  12 layers,  4/1 seqs), K (f16):  750.00 MiB, V (f16):  750.00 MiB", in old logs
/// "KV self size  = 1024.00 MiB, K (f16):  512.00 MiB, V (f16):  512.00 MiB".
fn caches(line: &str, run: &mut Run) -> bool {
    if let Some(n) = whole_after(line, "kv_size = ").or_else(|| cells(line)) {
        // Sliding layers keep fewer cells than the context has.
        match run.get(&keys::KV_TOKENS) {
            Some(Value::Int(own)) if *own >= n => {}
            _ => run.put(keys::KV_TOKENS, Value::Int(n)),
        }
    }
    let of = |name: &str| after(line, name).and_then(|rest| rest.split(')').next()).filter(|kind| kind.len() < 12);
    if let Some((key, value)) = of("K (").zip(of("V (")) {
        let both = if key == value { key.to_owned() } else { format!("{key}/{value}") };
        run.text_first(keys::KV_DTYPE, &both);
        // Old logs do not count the cells; there are as many as the context has tokens.
        if line.contains("KV self size")
            && let Some(length) = run.get(&keys::MAX_MODEL_LEN).cloned()
        {
            run.put_first(keys::KV_TOKENS, length);
        }
        return true;
    }
    line.contains("kv_size = ") || line.contains(" cells")
}

fn cells(line: &str) -> Option<i64> {
    let left = line.get(..line.find(" cells")?)?;
    whole(left.rsplit(|c: char| !c.is_ascii_digit()).next()?)
}

fn fitting(line: &str, run: &mut Run) -> bool {
    if let Some(rest) = after(line, "context size reduced from ") {
        if let Some((from, rest)) = number(rest)
            && let Some((to, _)) = after(rest, "to ").and_then(number)
        {
            let text = format!("The context was cut from {from} to {to} tokens so that the model fits");
            run.finding(Severity::Watch, "engine_context_cut", text);
        }
        return true;
    }
    if line.contains("unable to allocate") && line.contains("buffer") {
        let which = after(line, "unable to allocate ").map(bare).unwrap_or_default();
        run.out_of_memory(&format!("{which} could not be allocated"));
        return true;
    }
    false
}
