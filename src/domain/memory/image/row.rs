//! A row of a table of generations: its columns read into a setup. What is measured is never looked at.

use super::tables::{format_bytes, source};
use super::{Attention, Dtype, Engine, Measure, Offload, Quant, Role, Setup, components};
use crate::domain::memory::Band;

/// What a row says of a generation.
#[derive(Debug, Clone, PartialEq)]
pub struct RowSetup {
    /// The generation; `None` when something that decides everything is missing.
    pub setup: Option<Setup>,
    /// What is missing, by column.
    pub missing: Vec<&'static str>,
    /// What was taken for granted, in sentences.
    pub notes: Vec<String>,
    /// Unit of the publication's figures, where it is known.
    pub unit: Option<String>,
}

/// The columns that this reader looks at. None of them is measured; the origin tells what its figures mean.
const COLUMNS: &[&str] = &["model", "resolution", "batch", "dtype", "configuration", "peak_kind", "origin"];

impl RowSetup {
    /// Reads a row; `cell` gives a column's text.
    #[must_use]
    pub fn read<'a>(cell: impl Fn(&str) -> Option<&'a str>) -> Self {
        let get = |column: &str| {
            let known = COLUMNS.contains(&column);
            known.then(|| cell(column)).flatten().map(str::trim).filter(|text| !text.is_empty())
        };
        let lower = |column: &str| get(column).unwrap_or_default().to_lowercase();
        let mut missing = Vec::new();
        let mut notes = Vec::new();
        let parts = get("model").and_then(components);
        if parts.is_none() {
            missing.push("components");
        }
        let size = get("resolution").and_then(resolution);
        if size.is_none() {
            missing.push("resolution");
        }
        let batch = match get("batch") {
            None => Some(1),
            Some(text) => text.strip_suffix(".0").unwrap_or(text).parse::<u32>().ok().filter(|batch| *batch > 0),
        };
        if batch.is_none() {
            missing.push("batch");
        }
        let words = lower("configuration");
        let dtype = dtype(&words, &lower("dtype"));
        if dtype.is_none() {
            missing.push("dtype");
        }
        let published = get("origin").and_then(source);
        let unit = published.as_ref().and_then(|source| source.unit.clone());
        let (Some(parts), Some((width, height)), Some(batch), Some(dtype)) = (parts, size, batch, dtype) else {
            return Self { setup: None, missing, notes, unit };
        };
        let mut setup = Setup::new(parts, width, height, batch, dtype);
        quantise(&mut setup, &words);
        let has = |list: &[&str]| list.iter().any(|word| words.contains(word));
        setup.offload = if has(&["group offload"]) {
            Offload::Group
        } else if has(&["sequential"]) {
            Offload::Sequential
        } else if has(&["offload"]) {
            Offload::Model
        } else {
            Offload::None
        };
        setup.attention = if has(&["no sdpa", "without sdpa", "default attention", "vanilla attention"]) {
            Attention::Written
        } else if has(&["attention slicing", "sliced attention"]) {
            Attention::Sliced
        } else {
            Attention::Fused
        };
        setup.decode.sliced = has(&["vae slicing", "slicing + vae", "sliced vae"]);
        setup.decode.tiled = has(&["tiling", "tiled"]);
        setup.decode.tiny = has(&["tiny autoencoder", "tiny vae", "taesd", "tiny ae"]);
        setup.prompts_ready = has(&["precomputed", "cached embeddings", "without text encoder"]);
        if has(&["stable-diffusion.cpp", "sd.cpp", "ggml"]) {
            setup.engine = Engine::Ggml;
        }
        let kind = lower("peak_kind");
        setup.measure = if kind.contains("buffer") || has(&["buffer only", "decode buffer"]) {
            Measure::DecodeBuffer
        } else if published.as_ref().is_some_and(|source| source.resident) {
            Measure::Resident
        } else if kind.contains("device") || kind.contains("nvidia-smi") {
            Measure::Device
        } else {
            Measure::Peak
        };
        if setup.measure == Measure::Resident {
            notes.push(format!("the source prints what stays on the GPU after a run: {}", reason(published)));
        }
        Self { setup: Some(setup), missing, notes, unit }
    }
}

fn reason(published: Option<super::Source>) -> String {
    published.map(|source| source.reason).unwrap_or_default()
}

/// "1024x768 (assumed)".
fn resolution(text: &str) -> Option<(u32, u32)> {
    let text = text.split('(').next()?.trim().to_lowercase();
    let (width, height) = match text.split_once(['x', '×']) {
        Some((width, height)) => (width.trim().to_owned(), height.trim().to_owned()),
        None => (text.clone(), text),
    };
    let sizes = (width.parse().ok()?, height.parse().ok()?);
    (sizes.0 > 0 && sizes.1 > 0).then_some(sizes)
}

/// The format of computing; a configuration that says "(bf16)" differs from its table's column.
fn dtype(words: &str, column: &str) -> Option<Dtype> {
    let stated = if words.contains("(bf16)") { "bf16" } else { column };
    match stated {
        "fp32" | "float32" | "f32" => Some(Dtype::F32),
        "fp16" | "float16" | "f16" | "half" => Some(Dtype::F16),
        "bf16" | "bfloat16" => Some(Dtype::Bf16),
        _ => None,
    }
}

/// Formats of components, from what the configuration says.
fn quantise(setup: &mut Setup, words: &str) {
    let Some(bytes) = format_bytes(words) else { return };
    let has = |list: &[&str]| list.iter().any(|word| words.contains(word));
    let (bits, torchao, quanto, gguf) =
        (has(&["bitsandbytes", "bnb"]), has(&["torchao"]), has(&["quanto"]), has(&["gguf"]));
    let layerwise = has(&["layerwise", "layer-wise", "diffusers fp8"]);
    let by_loader = bits || torchao || quanto;
    let quant = Quant {
        bytes,
        // Loaders leave a model's fp32-kept weights alone: in fp32 or in the pipeline's format.
        kept_bytes: by_loader.then(|| if bits { Band::new(4.0, 2.0, 4.0) } else { Band::new(2.0, 2.0, 4.0) }),
        layerwise,
        movable: !(bits && has(&["8-bit", "8bit", "int8"])),
        loaded_on_gpu: bits,
    };
    let encoders = encoders(words);
    let names_denoiser = has(&["transformer", "unet", "denoiser", "dit"]);
    let mut nth = 0;
    let largest = setup.components.iter().filter(|part| part.component.role == Role::Text);
    let largest = largest.map(|part| part.component.parameters).fold(0.0, f64::max);
    for part in &mut setup.components {
        let is_it = match part.component.role {
            Role::Decoder => false,
            Role::Denoiser => names_denoiser || encoders == Encoders::NotNamed,
            Role::Text => {
                nth += 1;
                match &encoders {
                    Encoders::All => true,
                    Encoders::Some(which) => which.contains(&nth),
                    // A loader that is given no component quantises the denoiser and the large encoder.
                    Encoders::NotNamed => by_loader && !gguf && !names_denoiser && part.component.parameters >= largest,
                }
            }
        };
        if is_it {
            part.quant = Some(quant);
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Encoders {
    NotNamed,
    All,
    Some(Vec<u32>),
}

/// Which text encoders a configuration names ("all text encoders", "TE 1 and 3", "first text encoder").
fn encoders(words: &str) -> Encoders {
    let words: Vec<&str> =
        words.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let ordinals = [("first", 1), ("second", 2), ("third", 3)];
    let mut which: Vec<u32> =
        ordinals.into_iter().filter(|(word, _)| words.contains(word)).map(|(_, nth)| nth).collect();
    let mut named = false;
    let mut listing = false;
    for word in words {
        let short =
            word.strip_prefix("te").filter(|rest| rest.is_empty() || *rest == "s" || rest.parse::<u32>().is_ok());
        if let Some(rest) = short {
            named = true;
            listing = true;
            which.extend(rest.parse::<u32>().ok());
        } else if word.starts_with("encoder") || word.starts_with("t5") {
            named = true;
            listing = true;
        } else if let (true, Ok(nth @ 1..=4)) = (listing, word.parse::<u32>()) {
            which.push(nth);
        } else {
            listing = listing && word == "and";
        }
    }
    match (named, which.is_empty()) {
        (false, _) => Encoders::NotNamed,
        (true, true) => Encoders::All,
        (true, false) => Encoders::Some(which),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoders_are_read_from_words() {
        for (words, want) in [
            ("fp8 transformer", Encoders::NotNamed),
            ("fp8 transformer + all text encoders", Encoders::All),
            ("int4 transformer+text encoder (bf16)", Encoders::All),
            ("fp8 transformer + text encoders 1 and 3", Encoders::Some(vec![1, 3])),
            ("fp8 transformer + te3", Encoders::Some(vec![3])),
            ("fp8 transformer + te1+te3", Encoders::Some(vec![1, 3])),
            ("int8 transformer + t5", Encoders::All),
            ("torchao int8_weight_only + model cpu offload", Encoders::NotNamed),
            ("fp8 transformer + first text encoder", Encoders::Some(vec![1])),
        ] {
            assert_eq!(encoders(words), want, "{words}");
        }
    }

    #[test]
    fn sizes_are_read_or_refused() {
        for (text, want) in [
            ("1024x1024 (assumed)", Some((1024, 1024))),
            ("768×512", Some((768, 512))),
            ("512", Some((512, 512))),
            ("-1x5", None),
            ("0x0", None),
            ("big", None),
        ] {
            assert_eq!(resolution(text), want, "{text}");
        }
    }
}
