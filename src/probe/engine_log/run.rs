//! One start of an engine as its log tells it: settings, sizes a rank, how far it came.

use crate::domain::facts::{Absent, AbsentKind, Device, Finding, Key, Severity, Value, keys};
use crate::probe::{Parsed, words};

const VLLM_SAYS: &[Key] = &[
    keys::ENGINE_VERSION,
    keys::MODEL,
    keys::DTYPE,
    keys::TENSOR_PARALLEL,
    keys::MEMORY_UTILIZATION,
    keys::MAX_MODEL_LEN,
    keys::WEIGHTS,
    keys::KV_CACHE,
    keys::KV_TOKENS,
    keys::CONCURRENCY,
    keys::GRAPHS,
];
const SGLANG_SAYS: &[Key] = &[
    keys::ENGINE_VERSION,
    keys::MODEL,
    keys::TENSOR_PARALLEL,
    keys::MEMORY_UTILIZATION,
    keys::WEIGHTS,
    keys::KV_CACHE,
    keys::KV_TOKENS,
    keys::GRAPHS,
];
const LLAMA_CPP_SAYS: &[Key] =
    &[keys::ENGINE_VERSION, keys::MODEL, keys::WEIGHTS, keys::KV_CACHE, keys::KV_TOKENS, keys::ACTIVATIONS];

/// The engines whose logs are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Engine {
    Vllm,
    Sglang,
    LlamaCpp,
}

impl Engine {
    const fn word(self) -> &'static str {
        match self {
            Self::Vllm => "vllm",
            Self::Sglang => "sglang",
            Self::LlamaCpp => "llama.cpp",
        }
    }

    /// What a whole log of this engine says; what of it is not there is named.
    fn expected(self) -> &'static [Key] {
        match self {
            Self::Vllm => VLLM_SAYS,
            Self::Sglang => SGLANG_SAYS,
            Self::LlamaCpp => LLAMA_CPP_SAYS,
        }
    }
}

/// How far a start has come; where memory runs out is said with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    Start,
    Weights,
    Profile,
    Cache,
    Graphs,
    Serving,
}

impl Phase {
    const fn words(self) -> &'static str {
        match self {
            Self::Start => "before the weights were loaded",
            Self::Weights => "loading the weights",
            Self::Profile => "profiling the peak of activations",
            Self::Cache => "allocating the KV cache",
            Self::Graphs => "warming up and capturing graphs",
            Self::Serving => "serving",
        }
    }
}

/// What becomes of a size that the same rank prints again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Again {
    Last,
    Max,
    Sum,
}

/// How the sizes of ranks make the size that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fold {
    Min,
    Max,
}

/// Sizes of ranks: the key, and which rank counts. The smallest pool limits all; of what fills a card the fullest counts.
const SIZES: &[(Key, Fold)] = &[
    (keys::WEIGHTS, Fold::Max),
    (keys::DRAFT_WEIGHTS, Fold::Max),
    (keys::KV_CACHE, Fold::Min),
    (keys::RECURRENT_STATE, Fold::Max),
    (keys::ACTIVATIONS, Fold::Max),
    (keys::NON_TORCH, Fold::Max),
    (keys::WEIGHTS_AND_NON_TORCH, Fold::Max),
    (keys::GRAPHS, Fold::Max),
    (keys::GRAPHS_ESTIMATED, Fold::Max),
    (keys::CUDA_MEMORY_TOTAL, Fold::Min),
    (keys::CUDA_MEMORY_FREE, Fold::Min),
];

/// Settings and counts of a run in the order in which they are said, with their units.
const SETTINGS: &[(Key, &str)] = &[
    (keys::ENGINE_VERSION, ""),
    (keys::ENGINE_CORE, ""),
    (keys::ENGINE_START, ""),
    (keys::NAME, ""),
    (keys::MODEL, ""),
    (keys::MODEL_ARCHITECTURE, ""),
    (keys::DTYPE, ""),
    (keys::QUANTISATION, ""),
    (keys::BITS_PER_WEIGHT, "bit"),
    (keys::CHECKPOINT, "GiB"),
    (keys::KERNEL_BACKEND, ""),
    (keys::KV_DTYPE, ""),
    (keys::TENSOR_PARALLEL, ""),
    (keys::PIPELINE_PARALLEL, ""),
    (keys::DATA_PARALLEL, ""),
    (keys::MEMORY_UTILIZATION, ""),
    (keys::MAX_MODEL_LEN, "tokens"),
    (keys::MAX_BATCHED_TOKENS, "tokens"),
    (keys::MAX_SEQUENCES, ""),
    (keys::EAGER, ""),
    (keys::SPECULATIVE, ""),
    (keys::LORA, ""),
    (keys::LAYERS_OFFLOADED, ""),
    (keys::BLOCK_SIZE, "tokens"),
    (keys::KV_BLOCKS, ""),
    (keys::KV_TOKENS, "tokens"),
    (keys::CONCURRENCY, ""),
    (keys::CONCURRENCY_LENGTH, "tokens"),
    (keys::KV_NEEDED, "GiB"),
    (keys::MAX_MODEL_LEN_POSSIBLE, "tokens"),
];

/// The most ranks kept of a run; the largest installations have fewer.
const MAX_RANKS: usize = 1_024;

/// Sizes of one rank or device.
#[derive(Debug, Default)]
struct Rank {
    /// What tells it from others in the log.
    mark: String,
    /// Its last part of the path: `rank:0`, `device:CUDA0`.
    name: String,
    /// Product name of the device.
    product: Option<String>,
    sizes: Vec<(Key, f64)>,
    /// Times that weights were loaded: the second time is a draft model.
    loads: u32,
}

/// One start of an engine.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) number: usize,
    pub(super) engine: Option<Engine>,
    pub(super) phase: Phase,
    /// Processes of this run that printed the line with the whole configuration.
    pub(super) initialised: Vec<String>,
    /// Whether the list of arguments was seen, so that what is not in it is the engine's default.
    pub(super) args_seen: bool,
    settings: Vec<(Key, Value)>,
    ranks: Vec<Rank>,
    findings: Vec<Finding>,
    preempted: u64,
}

impl Run {
    pub(super) const fn new(number: usize) -> Self {
        Self {
            number,
            engine: None,
            phase: Phase::Start,
            initialised: Vec::new(),
            args_seen: false,
            settings: Vec::new(),
            ranks: Vec::new(),
            findings: Vec::new(),
            preempted: 0,
        }
    }

    /// Whether the engine's own line with the configuration, or anything behind it, was seen.
    pub(super) fn has_begun(&self) -> bool {
        self.phase > Phase::Start || !self.ranks.is_empty()
    }

    pub(super) fn reach(&mut self, phase: Phase) {
        self.phase = self.phase.max(phase);
        if self.phase == Phase::Serving && self.get(&keys::ENGINE_START).is_none() {
            self.text(keys::ENGINE_START, "ready");
        }
    }

    pub(super) fn get(&self, key: &Key) -> Option<&Value> {
        self.settings.iter().find(|(own, _)| own == key).map(|(_, value)| value)
    }

    /// Takes a setting; a later word for it counts more.
    pub(super) fn put(&mut self, key: Key, value: Value) {
        match self.settings.iter_mut().find(|(own, _)| *own == key) {
            Some((_, own)) => *own = value,
            None => self.settings.push((key, value)),
        }
    }

    /// Takes a setting unless one is known.
    pub(super) fn put_first(&mut self, key: Key, value: Value) {
        if self.get(&key).is_none() {
            self.put(key, value);
        }
    }

    /// Takes the smaller of counts: the smallest rank limits all.
    pub(super) fn put_min(&mut self, key: Key, n: i64) {
        match self.get(&key) {
            Some(Value::Int(own)) if *own <= n => {}
            _ => self.put(key, Value::Int(n)),
        }
    }

    pub(super) fn text(&mut self, key: Key, text: &str) {
        let text = words::tidy(text.trim(), 300);
        if !text.is_empty() {
            self.put(key, Value::Text(text));
        }
    }

    pub(super) fn text_first(&mut self, key: Key, text: &str) {
        if self.get(&key).is_none() {
            self.text(key, text);
        }
    }

    pub(super) fn flag(&mut self, key: Key, flag: bool) {
        self.text(key, if flag { "yes" } else { "no" });
    }

    fn rank(&mut self, mark: &str) -> Option<&mut Rank> {
        if let Some(at) = self.ranks.iter().position(|rank| rank.mark == mark) {
            return self.ranks.get_mut(at);
        }
        if self.ranks.len() >= MAX_RANKS {
            return None;
        }
        let name = self.name_of(mark);
        self.ranks.push(Rank { mark: mark.to_owned(), name, ..Rank::default() });
        self.ranks.last_mut()
    }

    /// The path of a rank: its own name, or the next number where the log names only a process.
    fn name_of(&self, mark: &str) -> String {
        if self.engine == Some(Engine::LlamaCpp) {
            return format!("device:{mark}");
        }
        if !mark.starts_with("pid") {
            return format!("rank:{mark}");
        }
        let taken = |n: usize| self.ranks.iter().any(|rank| rank.name == format!("rank:{n}"));
        let n = (1..=MAX_RANKS + 1).find(|n| !taken(*n)).unwrap_or_default();
        format!("rank:{n}")
    }

    /// Takes a size of a rank, GiB.
    pub(super) fn size(&mut self, mark: &str, key: Key, gib: f64, again: Again) {
        let Some(rank) = self.rank(mark) else { return };
        match rank.sizes.iter_mut().find(|(own, _)| *own == key) {
            None => rank.sizes.push((key, gib)),
            Some((_, own)) => {
                *own = match again {
                    Again::Last => gib,
                    Again::Max => own.max(gib),
                    Again::Sum => *own + gib,
                }
            }
        }
    }

    /// Takes a size of a rank unless one is known.
    pub(super) fn size_first(&mut self, mark: &str, key: Key, gib: f64) {
        if self.rank_size(mark, &key).is_none() {
            self.size(mark, key, gib, Again::Last);
        }
    }

    pub(super) fn rank_size(&self, mark: &str, key: &Key) -> Option<f64> {
        let rank = self.ranks.iter().find(|rank| rank.mark == mark)?;
        rank.sizes.iter().find(|(own, _)| own == key).map(|(_, gib)| *gib)
    }

    /// Counts one more load of weights by a rank and answers how many there were before.
    pub(super) fn load(&mut self, mark: &str) -> u32 {
        let Some(rank) = self.rank(mark) else { return 0 };
        let before = rank.loads;
        rank.loads = rank.loads.saturating_add(1);
        before
    }

    /// How often a rank loaded weights.
    pub(super) fn loads(&self, mark: &str) -> u32 {
        self.ranks.iter().find(|rank| rank.mark == mark).map_or(0, |rank| rank.loads)
    }

    pub(super) fn product(&mut self, mark: &str, name: &str) {
        if let Some(rank) = self.rank(mark) {
            rank.product = Some(words::tidy(name.trim(), 100));
        }
    }

    /// Adds a finding; of one kind, the first at a place in the start is kept: every rank says the same.
    pub(super) fn finding(&mut self, severity: Severity, code: &'static str, text: impl Into<String>) {
        if !self.findings.iter().any(|finding| finding.code == code) {
            self.findings.push(Finding { severity, code: code.into(), text: text.into() });
        }
    }

    pub(super) fn refused(&mut self, why: &str) {
        self.text(keys::ENGINE_START, "refused");
        self.finding(Severity::Configuration, "engine_refused", format!("The engine refused to start: {why}"));
    }

    pub(super) fn out_of_memory(&mut self, detail: &str) {
        let place = self.phase.words();
        let detail = if detail.is_empty() { String::new() } else { format!(": {detail}") };
        if self.phase == Phase::Serving {
            self.finding(
                Severity::Configuration,
                "engine_underprofiled",
                format!("Memory ran out while {place}{detail}; the peak measured at the start was too low"),
            );
        } else {
            self.text(keys::ENGINE_START, "out_of_memory");
            let when = if self.phase == Phase::Start { place.to_owned() } else { format!("while {place}") };
            self.finding(Severity::Configuration, "engine_oom", format!("Memory ran out {when}{detail}"));
        }
    }

    pub(super) const fn preempted(&mut self) {
        self.preempted = self.preempted.saturating_add(1);
    }

    /// Whether anything but the engine's name was read.
    pub(super) fn is_empty(&self) -> bool {
        self.settings.is_empty() && self.ranks.is_empty() && self.findings.is_empty()
    }

    /// The size that counts for the run, over its ranks.
    fn folded(&self, key: &Key, fold: Fold) -> Option<f64> {
        // Host memory of llama.cpp is no card; it counts only where there is nothing else.
        let is_card =
            |rank: &&Rank| !(rank.mark.starts_with("CPU") || rank.mark.ends_with("_Host") || rank.mark == "BLAS");
        let of = |rank: &Rank| rank.sizes.iter().find(|(own, _)| own == key).map(|(_, gib)| *gib);
        // Layers are spread over the cards there, so that the fullest card counts in everything.
        let fold = if self.engine == Some(Engine::LlamaCpp) { Fold::Max } else { fold };
        let pick = |sizes: &mut dyn Iterator<Item = f64>| {
            sizes.reduce(|a, b| if fold == Fold::Min { a.min(b) } else { a.max(b) })
        };
        if self.engine == Some(Engine::LlamaCpp) {
            return pick(&mut self.ranks.iter().filter(is_card).filter_map(of))
                .or_else(|| pick(&mut self.ranks.iter().filter_map(of)));
        }
        pick(&mut self.ranks.iter().filter_map(of))
    }

    /// Puts the run into facts and findings; `many` when the log holds others.
    pub(super) fn say(mut self, parsed: &mut Parsed, many: bool) {
        let Some(engine) = self.engine else { return };
        let device = Device::of("run", self.number);
        parsed.push(&device, keys::ENGINE, Ok(Value::Text(engine.word().to_owned())), "");
        let expected = engine.expected();
        for (key, unit) in SETTINGS {
            match self.get(key) {
                Some(value) => parsed.push(&device, key.clone(), Ok(value.clone()), unit),
                None if expected.contains(key) => self.say_missing(parsed, &device, key),
                None => {}
            }
        }
        for (key, fold) in SIZES {
            match self.folded(key, *fold) {
                Some(gib) => parsed.push(&device, key.clone(), Ok(Value::Float(rounded(gib))), "GiB"),
                None if expected.contains(key) => self.say_missing(parsed, &device, key),
                None => {}
            }
        }
        self.judge();
        self.ranks.sort_by(|a, b| (a.name.len(), &a.name).cmp(&(b.name.len(), &b.name)));
        if self.ranks.len() > 1 || engine == Engine::LlamaCpp {
            for rank in &self.ranks {
                let device = Device(format!("{device}/{}", rank.name));
                if let Some(product) = &rank.product {
                    parsed.push(&device, keys::NAME, Ok(Value::Text(product.clone())), "");
                }
                for (key, _) in SIZES {
                    if let Some((_, gib)) = rank.sizes.iter().find(|(own, _)| own == key) {
                        parsed.push(&device, key.clone(), Ok(Value::Float(rounded(*gib))), "GiB");
                    }
                }
            }
        }
        for mut finding in self.findings {
            if many {
                finding.text = format!("{device}: {}", finding.text);
            }
            parsed.finding(finding);
        }
    }

    fn say_missing(&self, parsed: &mut Parsed, device: &Device, key: &Key) {
        let why = match key {
            _ if *key == keys::KV_TOKENS && self.get(&keys::KV_BLOCKS).is_some() => return,
            _ if *key == keys::GRAPHS && self.get(&keys::EAGER) == Some(&Value::Text("yes".to_owned())) => return,
            _ if *key == keys::MEMORY_UTILIZATION && self.args_seen => "not in the log; the engine's default applies",
            _ => "not in the log",
        };
        parsed.absent(device, key.clone(), AbsentKind::NotReported, why);
    }

    /// Findings that follow from sizes.
    fn judge(&mut self) {
        if let Some(gib) = self.folded(&keys::KV_CACHE, Fold::Min).filter(|gib| *gib <= 0.0)
            && self.engine == Some(Engine::Vllm)
            && !self.findings.iter().any(|finding| finding.code == "engine_refused")
        {
            let text = format!(
                "No memory is left for the KV cache ({} GiB): weights and the peak of activations exceed the engine's share",
                rounded(gib)
            );
            self.finding(Severity::Configuration, "engine_no_cache", text);
        }
        let graphs = self.folded(&keys::GRAPHS, Fold::Max).zip(self.folded(&keys::GRAPHS_ESTIMATED, Fold::Max));
        if let Some((actual, estimated)) = graphs.filter(|(actual, estimated)| *actual > estimated + 0.1) {
            let text = format!(
                "Graphs took {} GiB where {} GiB were estimated; the rest is outside the engine's share",
                rounded(actual),
                rounded(estimated)
            );
            self.finding(Severity::Watch, "engine_underprofiled", text);
        }
        let memory =
            self.folded(&keys::CUDA_MEMORY_FREE, Fold::Min).zip(self.folded(&keys::CUDA_MEMORY_TOTAL, Fold::Min));
        if let Some((free, total)) = memory.filter(|(free, total)| *free < total * 0.95) {
            let text = format!(
                "Only {} of {} GiB were free at the start: something else holds memory of the card",
                rounded(free),
                rounded(total)
            );
            self.finding(Severity::Watch, "engine_memory_taken", text);
        }
        if self.preempted > 0 {
            let text = format!("Requests were preempted for want of KV cache; times in the log: {}", self.preempted);
            self.finding(Severity::Watch, "engine_preempted", text);
        }
    }
}

/// Four decimals are what engines print at most; a sum of binary fractions is not shown with fifteen.
fn rounded(gib: f64) -> f64 {
    (gib * 10_000.0).round() / 10_000.0
}

/// Why nothing could be read from an answer without a line of an engine.
pub(super) fn none_found() -> Absent {
    Absent::new(AbsentKind::Unreadable, "no line of a vLLM, SGLang or llama.cpp log")
}
