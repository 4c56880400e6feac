//! A row of a table of training runs: its columns read into a setup. What is measured is never looked at.

use super::rules::{Lever, levers, rule};
use super::{Base, Loss, Master, Measure, Method, Offload, Optimizer, Setup, Sharding, Step, Targets};
use crate::domain::memory::{Band, Catalogue};

/// What a row says of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RowSetup {
    /// The run; `None` when something that decides everything is missing.
    pub setup: Option<Setup>,
    /// What is missing, by column.
    pub missing: Vec<&'static str>,
    /// What was taken for granted, in sentences.
    pub notes: Vec<String>,
}

/// The columns that this reader looks at. None of them is measured, and none says where a row comes from.
pub(in crate::domain::memory) const COLUMNS: &[&str] = &[
    "model",
    "method",
    "framework",
    "base_dtype",
    "optimizer",
    "seq_len",
    "micro_batch",
    "grad_checkpointing",
    "lora_rank",
    "lora_targets",
    "gpus",
    "sharding",
    "peak_kind",
    "note",
];

/// One row's cells by column, trimmed; an empty cell is nothing.
struct Cells<F>(F);

impl<'a, F: Fn(&str) -> Option<&'a str>> Cells<F> {
    fn get(&self, column: &str) -> Option<&'a str> {
        if !COLUMNS.contains(&column) {
            return None;
        }
        (self.0)(column).map(str::trim).filter(|cell| !cell.is_empty())
    }

    fn lower(&self, column: &str) -> String {
        self.get(column).unwrap_or_default().to_lowercase()
    }

    /// The whole number that a cell begins with ("4096 packed"), if it lies in the range.
    fn count(&self, column: &str, most: u32) -> Option<u32> {
        let cell = self.get(column)?;
        let digits: String = cell.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok().filter(|count| (1..=most).contains(count))
    }
}

/// Most tokens of a sequence, sequences of a batch, GPUs, rank.
const MOST: [u32; 4] = [100_000_000, 1_000_000, 1_000_000, 100_000];

impl RowSetup {
    /// Reads a row; `cell` gives a column's text. The model's facts come from the catalogue.
    #[must_use]
    pub fn read<'a>(cell: impl Fn(&str) -> Option<&'a str>, catalogue: &Catalogue) -> Self {
        let cells = Cells(cell);
        let said = levers(|column| cells.get(column).map(str::to_owned));
        let on = |lever: Lever| said.contains(&lever);
        let mut missing = Vec::new();
        let mut notes = Vec::new();
        let facts = cells.get("model").and_then(|name| catalogue.find(name));
        if facts.is_none() {
            missing.push("facts");
        }
        let work = work(&cells.lower("method"), &cells.lower("base_dtype"), &said);
        if work.is_none() {
            missing.push("method");
        }
        let [tokens, batch, gpus, rank] = MOST;
        let seq_len = cells.count("seq_len", tokens);
        let micro_batch = cells.count("micro_batch", batch);
        for (value, name) in [(seq_len, "seq_len"), (micro_batch, "micro_batch")] {
            if value.is_none() {
                missing.push(name);
            }
        }
        let gpus = match cells.get("gpus") {
            None => Some(1),
            Some(_) => cells.count("gpus", gpus),
        };
        if gpus.is_none() {
            missing.push("gpus");
        }
        let (Some(facts), Some((mut method, base)), Some(seq_len), Some(micro_batch), Some(gpus)) =
            (facts, work, seq_len, micro_batch, gpus)
        else {
            return Self { setup: None, missing, notes };
        };
        if let Method::Adapter { rank: of_rank, targets, bits16 } = &mut method {
            *of_rank = cells.count("lora_rank", rank);
            *targets = cells.get("lora_targets").and_then(Targets::parse);
            *bits16 = on(Lever::Native16bit);
        }
        let sharding = sharding(&cells.lower("sharding"), on(Lever::ShardingByParameter), &mut notes);
        let optimizer = optimizer(&cells.lower("optimizer"), &said, &mut notes);
        let master = master(&cells.lower("base_dtype"), sharding, gpus, &said);
        let prepared = matches!(base, Base::Nf4 { .. } | Base::Int8)
            && (sharding == Sharding::None || gpus == 1)
            && !on(Lever::KbitNotPrepared)
            && !on(Lever::Native16bit);
        let mut filled = Band::exact(1.0);
        let mut micro_batch = micro_batch;
        if on(Lever::PreferencePairs) {
            micro_batch = micro_batch.saturating_mul(2);
            notes.push("a chosen and a rejected answer are counted for every sample".to_owned());
        }
        if on(Lever::Padded) || on(Lever::PreferencePairs) {
            filled = rule("padding_share");
        }
        let setup = Setup {
            base,
            optimizer,
            step: step(&cells.lower("optimizer"), &said),
            master,
            accumulates: accumulates(&cells.lower("note")),
            filled,
            checkpointing: checkpointing(&cells.lower("grad_checkpointing")),
            loss: loss(&said),
            compiled: on(Lever::Compiled),
            kbit_prepared: prepared,
            autocast: on(Lever::Autocast) || on(Lever::Native16bit),
            eager_attention: on(Lever::EagerAttention),
            sharding,
            gpus,
            offload: Offload {
                activations: on(Lever::ActivationsOffloaded),
                optimizer: on(Lever::OptimizerOffloaded),
                parameters: on(Lever::ParametersOffloaded),
            },
            measure: measure(&cells.lower("peak_kind")),
            ..Setup::new(facts.clone(), method, seq_len, micro_batch)
        };
        Self { setup: Some(setup), missing, notes }
    }
}

/// Whether a row states everything that its peak hangs on; the columns that do not.
///
/// A run states its settings when method, base format, optimiser, sequence length, micro-batch, checkpointing, GPUs and
/// the tokens in a sequence (not padded to an unknown length) are there; with adapters also rank and layers.
///
/// # Errors
/// What is not stated, by column.
pub fn states_its_settings<'a>(cell: impl Fn(&str) -> Option<&'a str>) -> Result<(), Vec<&'static str>> {
    let cells = Cells(cell);
    let said = levers(|column| cells.get(column).map(str::to_owned));
    let mut open: Vec<&'static str> =
        ["model", "method", "base_dtype", "optimizer", "seq_len", "micro_batch", "grad_checkpointing", "gpus"]
            .into_iter()
            .filter(|column| cells.get(column).is_none())
            .collect();
    if cells.lower("method").contains("lora") {
        open.extend(["lora_rank", "lora_targets"].into_iter().filter(|column| cells.get(column).is_none()));
    }
    if said.contains(&Lever::Padded) || said.contains(&Lever::PreferencePairs) {
        open.push("tokens");
    }
    if measure(&cells.lower("peak_kind")) == Measure::Unknown {
        open.push("peak_kind");
    }
    if open.is_empty() { Ok(()) } else { Err(open) }
}

/// Method and base weights.
fn work(method: &str, dtype: &str, said: &[Lever]) -> Option<(Method, Base)> {
    let adapter = Method::Adapter { rank: None, targets: None, bits16: false };
    let wide = if dtype.contains("32") { Base::F32 } else { Base::Bits16 };
    if method.contains("full") || method == "sft" || method.contains("pretrain") {
        return Some((Method::Full, wide));
    }
    let groups = Base::Int4Groups { group: 128 };
    if method.contains("gptq") || method.contains("awq") || said.contains(&Lever::BaseInt4Groups) {
        return Some((adapter, groups));
    }
    if method.contains("qlora") || dtype.contains("nf4") || dtype.contains("4bit") || dtype.contains("int4") {
        return Some((adapter, Base::Nf4 { double_quant: None }));
    }
    if method.contains("lora") || method.contains("dora") {
        let base = if dtype.contains("int8") || dtype.contains("8bit") { Base::Int8 } else { wide };
        return Some((adapter, base));
    }
    None
}

fn sharding(text: &str, by_parameter: bool, notes: &mut Vec<String>) -> Sharding {
    let zero = text.replace(['-', ' ', '_'], "");
    match zero.as_str() {
        "" | "none" | "no" | "ddp" | "dp" => Sharding::None,
        zero if zero.contains("zero1") => Sharding::Zero1,
        zero if zero.contains("zero2") => Sharding::Zero2,
        zero if zero.contains("zero3") || zero.contains("zero++") => Sharding::Zero3,
        zero if zero.contains("fsdp2") => Sharding::Fsdp2,
        zero if zero.contains("fsdp") && by_parameter => Sharding::Fsdp2,
        zero if zero.contains("fsdp") => Sharding::Fsdp,
        _ => {
            notes.push(format!("sharding \"{}\" is not known; nothing is taken to be split", short(text)));
            Sharding::None
        }
    }
}

fn optimizer(text: &str, said: &[Lever], notes: &mut Vec<String>) -> Option<Optimizer> {
    let has = |word: &str| text.contains(word);
    let eight = has("8bit") || has("8-bit") || said.contains(&Lever::Adam8bit);
    let paged = has("paged") || said.contains(&Lever::Paged8bit);
    if has("adafactor") {
        Some(Optimizer::Adafactor)
    } else if has("lion") || has("momentum") {
        Some(Optimizer::OneMoment)
    } else if has("sgd") {
        Some(Optimizer::Sgd)
    } else if paged && (eight || text.is_empty()) {
        Some(Optimizer::PagedAdamW8bit)
    } else if eight {
        Some(Optimizer::AdamW8bit)
    } else if paged {
        Some(Optimizer::PagedAdamW)
    } else if has("adam") {
        Some(Optimizer::AdamW)
    } else {
        if !text.is_empty() {
            notes.push(format!("optimizer \"{}\" is not known", short(text)));
        }
        None
    }
}

fn step(optimizer: &str, said: &[Lever]) -> Option<Step> {
    if said.contains(&Lever::OptimizerInBackward) {
        Some(Step::InBackward)
    } else if optimizer.contains("fused") || optimizer.contains("8bit") || said.contains(&Lever::Native16bit) {
        Some(Step::Fused)
    } else if optimizer.is_empty() {
        None
    } else {
        Some(Step::Foreach)
    }
}

/// Format of trained weights. A trainer's flag (`bf16`, `fp16`) means mixed precision over fp32 weights; the name of a
/// tensor format (`bfloat16`) says how the weights were loaded. Since accelerate 0.30 wrapped sharding widens trained
/// weights to fp32 in mixed precision all the same.
fn master(dtype: &str, sharding: Sharding, gpus: u32, said: &[Lever]) -> Master {
    let wrapped = sharding == Sharding::Fsdp && gpus > 1;
    let flag = matches!(dtype, "bf16" | "fp16") && said.contains(&Lever::Autocast);
    if dtype.contains("32") {
        Master::F32
    } else if said.contains(&Lever::Native16bit) {
        Master::Bits16
    } else if matches!(sharding, Sharding::Zero1 | Sharding::Zero2 | Sharding::Zero3) && gpus > 1 {
        // Bucket sharding keeps 16-bit weights and gradients and counts its fp32 weights among the states.
        Master::Bits16
    } else if flag || (wrapped && said.contains(&Lever::Since202408)) {
        Master::Likely32
    } else if wrapped {
        Master::Likely16
    } else {
        Master::Bits16
    }
}

fn loss(said: &[Lever]) -> Loss {
    let on = |lever: Lever| said.contains(&lever);
    if on(Lever::LossLinear) {
        Loss::Linear
    } else if on(Lever::LossChunked) || (on(Lever::Native16bit) && !on(Lever::Cumulative)) {
        // Recipes take the chunked loss unless a list of steps says that it comes later.
        Loss::Chunked
    } else if on(Lever::LossFused) {
        Loss::Fused
    } else {
        Loss::Eager
    }
}

fn checkpointing(text: &str) -> Option<bool> {
    match text.split(' ').next() {
        Some("yes" | "true" | "on" | "1" | "full") => Some(true),
        Some("no" | "false" | "off" | "0" | "none") => Some(false),
        _ => None,
    }
}

/// "ga=8": gradients of earlier micro-batches are there while the next runs.
fn accumulates(note: &str) -> bool {
    ["ga=", "gradient accumulation "].iter().any(|word| {
        note.split(word).nth(1).is_some_and(|rest| {
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            digits.parse::<u32>().is_ok_and(|steps| steps > 1)
        })
    })
}

fn measure(text: &str) -> Measure {
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    if has(&["allocated", "active"]) {
        Measure::Allocated
    } else if has(&["reserved", "cached"]) {
        Measure::Reserved
    } else if has(&["device", "nvidia-smi", "nvml"]) {
        Measure::Device
    } else {
        Measure::Unknown
    }
}

fn short(text: &str) -> String {
    text.chars().take(60).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(cells: &[(&str, &str)]) -> Setup {
        let usual =
            [("model", "Qwen/Qwen3-8B"), ("seq_len", "4096 packed"), ("micro_batch", "2"), ("base_dtype", "bfloat16")];
        let cell = |column: &str| cells.iter().chain(&usual).find(|(name, _)| *name == column).map(|(_, text)| *text);
        let got = RowSetup::read(cell, Catalogue::builtin());
        assert_eq!(got.missing, Vec::<&str>::new(), "{cells:?}");
        got.setup.unwrap()
    }

    #[test]
    fn words_of_a_row_become_settings() {
        let full = [("method", "full"), ("framework", "HF Trainer"), ("optimizer", "adamw")];
        let with = |more: &[(&'static str, &'static str)]| read(&[more, &full].concat());
        assert_eq!(with(&[]).master, Master::Bits16);
        assert_eq!(with(&[("base_dtype", "bf16")]).master, Master::Likely32);
        assert_eq!(with(&[("gpus", "2"), ("sharding", "FSDP")]).master, Master::Likely16);
        assert_eq!(with(&[("gpus", "2"), ("sharding", "FSDP"), ("note", "liger kernels")]).master, Master::Likely32);
        assert_eq!(with(&[("gpus", "8"), ("sharding", "ZeRO-3"), ("base_dtype", "bf16")]).master, Master::Bits16);
        assert_eq!(with(&[("base_dtype", "fp32")]).master, Master::F32);
        assert_eq!(with(&[("framework", "torchtune"), ("base_dtype", "bf16")]).master, Master::Bits16);
        assert_eq!(with(&[("framework", "torchtune")]).loss, Loss::Chunked);
        assert_eq!(with(&[("framework", "HF Trainer liger")]).loss, Loss::Linear);
        assert_eq!(with(&[("optimizer", "adamw_torch_fused")]).step, Some(Step::Fused));
        assert_eq!(with(&[("note", "optimizer in backward, paged 8-bit")]).step, Some(Step::InBackward));
        assert!(with(&[("note", "int4 base ga=8")]).accumulates && !with(&[("note", "ga=1")]).accumulates);
        for (text, want) in [
            ("", None),
            ("adamw", Some(Optimizer::AdamW)),
            ("paged_adamw_8bit", Some(Optimizer::PagedAdamW8bit)),
            ("adamw_8bit", Some(Optimizer::AdamW8bit)),
            ("paged_adamw_32bit", Some(Optimizer::PagedAdamW)),
            ("adafactor", Some(Optimizer::Adafactor)),
            ("lion", Some(Optimizer::OneMoment)),
            ("sgd", Some(Optimizer::Sgd)),
            ("novel", None),
        ] {
            assert_eq!(with(&[("optimizer", text)]).optimizer, want, "{text}");
        }
        for (text, want) in [
            ("none", Sharding::None),
            ("DDP", Sharding::None),
            ("ZeRO-1", Sharding::Zero1),
            ("zero 2", Sharding::Zero2),
            ("DeepSpeed ZeRO-3", Sharding::Zero3),
            ("FSDP", Sharding::Fsdp),
            ("FSDP2 + CPU offload", Sharding::Fsdp2),
        ] {
            let got = with(&[("sharding", text), ("gpus", "2")]);
            assert_eq!((got.sharding, got.offload.parameters), (want, text.contains("CPU offload")), "{text}");
        }
    }

    #[test]
    fn a_quantised_base_is_prepared_unless_something_says_otherwise() {
        let prepared = |more: &[(&str, &str)]| read(&[more, &[("method", "qlora")]].concat()).kbit_prepared;
        assert!(prepared(&[("framework", "transformers+peft")]));
        assert!(!prepared(&[("framework", "HF Trainer accelerated-peft-bnb")]));
        assert!(!prepared(&[("framework", "torchtune")]));
        assert!(!prepared(&[("sharding", "FSDP"), ("gpus", "2")]));
        assert_eq!(read(&[("method", "gptq-lora")]).base, Base::Int4Groups { group: 128 });
    }
}
