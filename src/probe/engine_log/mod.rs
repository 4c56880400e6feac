//! Logs of serving engines: what vLLM, SGLang and llama.cpp printed about memory when they started.
//!
//! A log can hold several starts. It is split where the engine prints its configuration, and each start is a device of
//! its own, `run:1`, `run:2`…; the last one counts. Ranks stand below their run (`run:1/rank:0`, `run:1/device:CUDA0`).
//! Of a run, the KV cache is that of the smallest rank, everything that fills a card that of the fullest. "GB" and
//! "GiB" are both 2^30 bytes in these logs.

mod llama_cpp;
mod run;
mod scan;
mod sglang;
mod vllm;

use std::collections::VecDeque;

use super::{Parsed, Probe, words};
use crate::domain::evidence::Captured;
use crate::domain::facts::{Absent, AbsentKind, Severity, keys};
use run::{Engine, Run};
use scan::{after, gib_after};

/// The probe. On a host it reads the beginning of the logs of containers whose image is one of these engines.
pub const PROBE: Probe = Probe {
    id: "engine_log",
    parser: 1,
    command: "sh -c 'for c in $(docker ps --format \"{{.ID}} {{.Image}}\" | grep -iE \"vllm|sglang|llama\" \
              | cut -d\" \" -f1 | head -n 8); do echo \"== container $c\"; docker logs \"$c\" 2>&1 | head -c 400000; done'",
    deadline_secs: 60,
    parse,
};

/// The most runs kept of a log: the last ones.
const MAX_RUNS: usize = 50;
/// The longest line that is read, bytes. The line with all arguments of SGLang has 20,000.
const MAX_LINE: usize = 200_000;

/// Facts of every start in the log, findings about memory. `Absent` when no line of an engine is in it.
fn parse(out: &Captured) -> Result<Parsed, Absent> {
    let mut runs = Runs { done: VecDeque::new(), run: Run::new(1) };
    for line in out.stdout.lines().chain(out.stderr.lines()) {
        // Bars of progress are rewritten in place, and a message can follow one.
        for piece in line.split('\r') {
            let piece = piece.get(..floor(piece, MAX_LINE)).unwrap_or_default();
            if piece.contains('\u{1b}') {
                runs.line(&words::plain(piece));
            } else {
                runs.line(piece);
            }
        }
    }
    let runs = runs.finish();
    let Some(last) = runs.back().map(|run| run.number) else {
        let why = words::why_nothing(out, "docker");
        return Err(match why.kind {
            AbsentKind::Unreadable if out.stdout.trim().is_empty() && out.stderr.trim().is_empty() => {
                Absent::new(AbsentKind::NotReported, "no container of a serving engine runs")
            }
            AbsentKind::Unreadable => run::none_found(),
            _ => why,
        });
    };
    let mut parsed = Parsed::default();
    let (many, n) = (last > 1, runs.len());
    for run in runs {
        run.say(&mut parsed, many);
    }
    if many {
        let kept = if n < last { format!(", of which the last {n} are kept") } else { String::new() };
        parsed.finding_of(
            Severity::Watch,
            "engine_restarts",
            format!("The log holds {last} starts of an engine{kept}; run:{last}, the last, is the one that counts"),
        );
    }
    Ok(parsed)
}

/// The largest boundary of characters at or below `max`.
fn floor(text: &str, max: usize) -> usize {
    let mut end = text.len().min(max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    end
}

struct Runs {
    done: VecDeque<Run>,
    run: Run,
}

impl Runs {
    fn line(&mut self, line: &str) {
        if line.len() < 8 {
            return;
        }
        if line.starts_with("== container ") {
            self.next();
            return;
        }
        if vllm::opens(line) {
            // The launcher's lines stand before the engine's own; behind it they are the next start.
            if self.run.has_begun() {
                self.next();
            }
        } else if vllm::initialises(line) {
            self.initialise(line);
        } else if (sglang::opens(line) || llama_cpp::opens(line)) && self.run.has_begun() {
            self.next();
        }
        if let Some(engine) = self.read(line) {
            self.run.engine.get_or_insert(engine);
        }
    }

    /// With data parallelism each engine process prints the configuration; the same process does so again only when it
    /// was started anew.
    fn initialise(&mut self, line: &str) {
        let process = vllm::rank(line);
        if self.run.initialised.contains(&process) {
            self.next();
        }
        if self.run.initialised.len() < 1_024 {
            self.run.initialised.push(process);
        }
    }

    fn read(&mut self, line: &str) -> Option<Engine> {
        let run = &mut self.run;
        let is = |engine: Engine| run.engine.is_none_or(|own| own == engine);
        let (may_vllm, may_sglang, may_llama) = (is(Engine::Vllm), is(Engine::Sglang), is(Engine::LlamaCpp));
        if may_vllm && vllm::read(line, &vllm::rank(line), run) {
            return Some(Engine::Vllm);
        }
        if may_sglang && sglang::read(line, &sglang::rank(line), run) {
            return Some(Engine::Sglang);
        }
        if may_llama {
            // Its devices are named by the engine, so it must be known before the first is.
            let before = run.engine;
            run.engine = Some(Engine::LlamaCpp);
            if llama_cpp::read(line, run) {
                return Some(Engine::LlamaCpp);
            }
            run.engine = before;
        }
        out_of_memory(line, run);
        None
    }

    fn next(&mut self) {
        let number = self.run.number;
        if self.run.engine.is_none() || self.run.is_empty() {
            self.run = Run::new(number);
            return;
        }
        self.done.push_back(std::mem::replace(&mut self.run, Run::new(number + 1)));
        if self.done.len() > MAX_RUNS {
            self.done.pop_front();
        }
    }

    fn finish(mut self) -> VecDeque<Run> {
        self.next();
        self.done
    }
}

/// Torch's and the runtimes' words for memory that ran out, on whatever device.
fn out_of_memory(line: &str, run: &mut Run) {
    if line.len() > 4_000 || run.engine.is_none() {
        return;
    }
    let lower = line.to_ascii_lowercase();
    let spoken = [
        "cuda out of memory",
        "hip out of memory",
        "npu out of memory",
        "xpu out of memory",
        "error: out of memory",
        "failed: out of memory",
        "outofmemoryerror",
        "erroroutofdevicememory",
    ];
    if !spoken.iter().any(|words| lower.contains(words)) {
        return;
    }
    let size = |words: &str| gib_after(line, words).map(|gib| format!("{} GiB", (gib * 100.0).round() / 100.0));
    let mut detail = Vec::new();
    if let Some(wanted) = size("Tried to allocate ").or_else(|| size("allocating ")) {
        detail.push(format!("{wanted} more were asked for"));
    }
    if let Some(total) = size("total capacity of ") {
        let free = size("of which ").map_or_else(String::new, |free| format!(" with {free} free"));
        detail.push(format!("the card has {total}{free}"));
    }
    if let Some(gib) = gib_after(line, "total capacity of ") {
        let rank = if after(line, "pid=").is_some() { vllm::rank(line) } else { "0".to_owned() };
        if run.engine != Some(Engine::LlamaCpp) {
            run.size_first(&rank, keys::CUDA_MEMORY_TOTAL, gib);
        }
    }
    run.out_of_memory(&detail.join(", "));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::captures::{check_all, check_out, from_text};

    #[test]
    fn reads_captures() {
        check_all(&PROBE);
    }

    #[test]
    fn a_refused_start_names_what_was_needed() {
        let log = "(EngineCore_DP0 pid=6880) INFO [core.py:77] Initializing a V1 LLM engine (v0.11.0) with config: \
                   model='openai/gpt-oss-120b', dtype=torch.bfloat16, max_seq_len=131072, tensor_parallel_size=1\n\
                   (EngineCore_DP0 pid=6880) ValueError: To serve at least one request with the models's max seq len \
                   (131072), (4.54 GiB KV cache is needed, which is larger than the available KV cache memory (1.71 \
                   GiB). Based on the available memory, the estimated maximum model length is 49344.";
        check_out(
            &PROBE,
            "refused",
            &from_text(log, "", 1),
            "run:1 engine vllm
             run:1 engine_version 0.11.0
             run:1 engine_core V1
             run:1 engine_start refused
             run:1 model openai/gpt-oss-120b
             run:1 dtype bfloat16
             run:1 tensor_parallel 1
             run:1 memory_utilization (not reported: not in the log)
             run:1 max_model_len 131072 tokens
             run:1 kv_tokens (not reported: not in the log)
             run:1 concurrency (not reported: not in the log)
             run:1 kv_needed 4.54 GiB
             run:1 max_model_len_possible 49344 tokens
             run:1 weights (not reported: not in the log)
             run:1 kv_cache 1.71 GiB
             run:1 graphs (not reported: not in the log)
             configuration: The engine refused to start: the KV cache of one request of full length is larger than what is left for it (4.54 GiB needed, 1.71 GiB there)",
        );
    }

    #[test]
    fn only_the_last_runs_of_a_crash_loop_are_kept() {
        let start = "INFO llm_engine.py:70] Initializing an LLM engine with config: model='m', max_seq_len=4096)\n";
        let parsed = parse(&from_text(&start.repeat(500), "", 0)).unwrap();
        assert!(parsed.facts.len() < 1_000, "{}", parsed.facts.len());
        assert!(parsed.facts.iter().any(|fact| fact.device.0 == "run:500"));
        assert!(!parsed.facts.iter().any(|fact| fact.device.0 == "run:450"));
        assert_eq!(
            parsed.findings.last().unwrap().text,
            "The log holds 500 starts of an engine, of which the last 50 are kept; run:500, the last, is the one that counts"
        );
    }

    #[test]
    fn a_text_without_an_engine_is_absent() {
        for (text, want) in [
            ("", "not reported: no container of a serving engine runs"),
            (
                "hello\nworld is large enough",
                "the output is not what the parser knows: no line of a vLLM, SGLang or llama.cpp log",
            ),
        ] {
            assert_eq!(parse(&from_text(text, "", 0)).unwrap_err().to_string(), want);
        }
        assert_eq!(
            parse(&from_text("", "sh: 1: docker: not found\n", 0)).unwrap_err().to_string(),
            "docker is not installed"
        );
    }
}
