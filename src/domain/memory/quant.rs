//! Number formats: how a stated quantisation or cache format is read, and how many bytes a matrix takes in it.
//!
//! A text is read by its words (bits, group, method), not by a list of whole spellings. What is not stated stays
//! unknown and widens the band of whatever depends on it.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::facts::{ModelFacts, QuantGroup};
use super::note::Note;

const GGUF: &str = include_str!("../../../assets/memory/gguf.csv");

/// Format of a quantised matrix.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum WeightFormat {
    /// Bytes an element, nothing beside: 4 for fp32, 2 for bf16 and fp16.
    Plain(f64),
    /// One byte an element and one scale a row: fp8 by tensor or channel, int8.
    Byte,
    /// One byte an element and one 32-bit scale a block of 128 × 128.
    ByteBlock,
    /// Half a byte an element, one 16-bit scale a group along the input.
    Int4 {
        /// Weights of one scale.
        group: u32,
        /// Whether each group has a 4-bit zero point beside.
        zeros: bool,
    },
    /// Half a byte an element, one byte a run of 16.
    Nvfp4,
    /// Half a byte an element, one byte a run of 32.
    Mxfp4,
    /// Half a byte an element and one scale a run of 64: 32-bit, or 8-bit when quantised again.
    Nf4 {
        /// Whether the scales are quantised again.
        double: bool,
    },
    /// A GGUF file with this many bits an element over all its tensors.
    Gguf {
        /// Bits an element.
        bits: f64,
    },
}

impl WeightFormat {
    /// Bytes of the tensors that hold a matrix of `rows` outputs and `columns` inputs: the values, then scales and zero
    /// points; a zero is no tensor.
    #[must_use]
    pub fn tensors(self, rows: f64, columns: f64) -> [f64; 3] {
        let n = rows * columns;
        match self {
            Self::Plain(bytes) => [n * bytes, 0.0, 0.0],
            Self::Byte => [n, rows * 4.0, 0.0],
            Self::ByteBlock => [n, (rows / 128.0).ceil() * (columns / 128.0).ceil() * 4.0, 0.0],
            Self::Int4 { group, zeros } => {
                let groups = n / f64::from(group.max(1));
                [n / 2.0, groups * 2.0, if zeros { groups / 2.0 } else { 0.0 }]
            }
            Self::Nvfp4 => [n / 2.0, n / 16.0, 0.0],
            Self::Mxfp4 => [n / 2.0, n / 32.0, 0.0],
            Self::Nf4 { double } => [n / 2.0, if double { n / 64.0 * 1.016 } else { n / 16.0 }, 0.0],
            Self::Gguf { bits } => [n * bits / 8.0, 0.0, 0.0],
        }
    }

    /// Bytes an element, scales included.
    #[must_use]
    pub fn bytes(self) -> f64 {
        // A size that all groups and blocks divide.
        const SIDE: f64 = 16384.0;
        self.tensors(SIDE, SIDE).iter().sum::<f64>() / (SIDE * SIDE)
    }
}

/// Who made the quantised weights, as far as it tells which layers are left alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Method {
    /// Nothing is quantised.
    None,
    /// A checkpoint in fp8 as its makers publish it.
    Checkpoint,
    /// The engine quantises while it loads.
    Online,
    /// The compressed-tensors toolkit.
    CompressedTensors,
    /// GPTQ, AWQ, AutoRound and their like.
    Int4,
    /// bitsandbytes.
    BitsAndBytes,
    /// The modelopt toolkit (NVFP4).
    ModelOpt,
    /// MXFP4 experts.
    Mxfp4,
    /// A GGUF file.
    Gguf,
}

/// Which kernel holds the weights, where that changes their size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Backend {
    /// Marlin.
    Marlin,
    /// Triton.
    Triton,
}

/// How the weights are stored.
#[derive(Debug, Clone, PartialEq)]
pub struct Scheme {
    /// Format of the quantised matrices.
    pub format: WeightFormat,
    /// The least and the most bytes that format may be, where the text left something open; equal formats otherwise.
    pub range: (WeightFormat, WeightFormat),
    /// Bytes of an element that is not quantised.
    pub plain: f64,
    /// Who made it.
    pub method: Method,
    /// The kernel, where it was stated.
    pub backend: Option<Backend>,
    /// Whether the stated text was not understood, or nothing was stated.
    pub is_guess: bool,
    /// What was left open.
    pub open: Vec<Note>,
}

impl Scheme {
    /// Unquantised weights of so many bytes an element.
    #[must_use]
    pub fn plain(bytes: f64) -> Self {
        let format = WeightFormat::Plain(bytes);
        Self {
            format,
            range: (format, format),
            plain: bytes,
            method: Method::None,
            backend: None,
            is_guess: false,
            open: Vec::new(),
        }
    }

    fn of(format: WeightFormat, plain: f64, method: Method) -> Self {
        Self { format, range: (format, format), method, ..Self::plain(plain) }
    }

    fn within(mut self, low: WeightFormat, high: WeightFormat, why: Note) -> Self {
        self.range = (low, high);
        self.open.push(why);
        self
    }

    /// Reads a stated quantisation (`fp8-dynamic`, `awq-int4-g128`, `Q4_K_M 4.99bpw`) and number format (`bfloat16`).
    ///
    /// An empty quantisation means what the model's own facts say; facts that say nothing mean unquantised weights.
    /// A text that is not understood is a guess at 16 bits that may be anything from 4 bits on.
    #[must_use]
    pub fn read(quantisation: &str, dtype: &str, facts: &ModelFacts) -> Self {
        let plain = plain_bytes(dtype).or_else(|| facts.torch_dtype.as_deref().and_then(plain_bytes)).unwrap_or(2.0);
        let text = quantisation.trim().to_lowercase();
        if matches!(text.as_str(), "" | "auto" | "-" | "default" | "checkpoint") {
            return Self::from_facts(plain, facts);
        }
        let words = Words::of(&text);
        if let Some(scheme) = Self::gguf(&words, plain) {
            return scheme;
        }
        // A toolkit's name alone leaves bits to the facts.
        let of_facts =
            || (facts.quant_bits.is_some() && words.has("compressed")).then(|| Self::from_facts(plain, facts));
        let scheme = Self::from_words(&words, plain, facts).or_else(of_facts);
        scheme.unwrap_or_else(|| Self::not_understood(quantisation, plain))
    }

    fn from_facts(plain: f64, facts: &ModelFacts) -> Self {
        let method = facts.quant_method.as_deref().unwrap_or_default().to_lowercase();
        if method.is_empty() && facts.quant_bits.is_none() {
            return Self::plain(plain);
        }
        let mut text = method;
        if let Some(bits) = facts.quant_bits {
            text.push_str(&format!(" int{bits}"));
        }
        let words = Words::of(&text);
        Self::from_words(&words, plain, facts).unwrap_or_else(|| Self::not_understood(&text, plain))
    }

    fn not_understood(text: &str, plain: f64) -> Self {
        let shown: String = text.chars().take(60).collect();
        let mut scheme = Self::plain(plain).within(
            WeightFormat::Nvfp4,
            WeightFormat::Plain(plain),
            Note::QuantisationUnknown(shown),
        );
        scheme.is_guess = true;
        scheme
    }

    fn gguf(words: &Words, plain: f64) -> Option<Self> {
        // The plain names and MXFP4 are formats of other checkpoints too.
        let is_own = |name: &str| name.starts_with(['q', 'i']) || name == "mxfp4_moe";
        let whole = |word: &str| gguf_types().iter().find(|row| is_own(&row.name) && row.name == word);
        // A mixture with a suffix of its own (q4_k_xl) is read as the type before it.
        let shortened = |word: &str| {
            let mut name = word;
            while let Some((shorter, _)) = name.rsplit_once('_') {
                if let Some(row) = whole(name) {
                    return Some(row);
                }
                name = shorter;
            }
            whole(name)
        };
        let is_type = |word: &str| {
            let rest = word.strip_prefix('i').unwrap_or(word);
            rest.strip_prefix('q').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        };
        let of_types = words.list.iter().filter(|word| is_type(word)).find_map(|word| shortened(word));
        let named = of_types.or_else(|| words.list.iter().find_map(|word| whole(word)))?;
        let make = |bits| WeightFormat::Gguf { bits };
        Some(match words.bits_per_weight() {
            Some(bits) => Self::of(make(bits), plain, Method::Gguf),
            None => Self::of(make(named.bits), plain, Method::Gguf).within(
                make(named.low),
                make(named.high),
                Note::TensorTableUnknown,
            ),
        })
    }

    fn from_words(words: &Words, plain: f64, facts: &ModelFacts) -> Option<Self> {
        let compressed = words.any(&["compressed", "tensors", "llmcompressor"]);
        let method = |own: Method| if compressed { Method::CompressedTensors } else { own };
        let backend = match () {
            () if words.has("marlin") => Some(Backend::Marlin),
            () if words.has("triton") => Some(Backend::Triton),
            () => None,
        };
        let with_backend = |scheme: Self| Self { backend, ..scheme };
        if words.any(&["nvfp4", "fp4"]) || (words.has("modelopt") && words.has("int4")) {
            return Some(with_backend(Self::of(WeightFormat::Nvfp4, plain, Method::ModelOpt)));
        }
        if words.has("mxfp4") {
            return Some(with_backend(Self::of(WeightFormat::Mxfp4, plain, Method::Mxfp4)));
        }
        if words.any(&["nf4", "bnb", "bitsandbytes", "qlora"]) && !words.any(&["int8", "8bit", "8"]) {
            // Engines that quantise while they load keep the scales quantised again.
            let is_single = words.any(&["single", "nodq"]);
            let scheme = Self::of(WeightFormat::Nf4 { double: !is_single }, plain, Method::BitsAndBytes);
            return Some(if is_single || words.any(&["double", "dq", "nested"]) {
                scheme
            } else {
                scheme.within(
                    WeightFormat::Nf4 { double: true },
                    WeightFormat::Nf4 { double: false },
                    Note::DoubleQuantisationUnknown,
                )
            });
        }
        if words.any(&["int4", "4bit", "w4a16", "awq", "gptq", "autoround", "w4a8", "w4a4", "4"])
            && !words.any(&["int8", "8bit", "w8a8", "w8a16", "8"])
        {
            let zeros = words.any(&["awq", "asym"]);
            let stated = words.group().or(match facts.quant_group {
                Some(QuantGroup::Run(group)) => Some(group),
                _ => None,
            });
            let make = |group, zeros| WeightFormat::Int4 { group, zeros };
            let scheme = Self::of(make(stated.unwrap_or(128), zeros), plain, method(Method::Int4));
            return Some(with_backend(match stated {
                Some(_) => scheme,
                None => scheme.within(make(4096, false), make(32, true), Note::GroupAssumed),
            }));
        }
        if words.any(&["int8", "w8a8", "w8a16", "8bit", "8"]) && !words.any(&["fp8", "modelopt"]) {
            return Some(Self::of(WeightFormat::Byte, plain, method(Method::Int4)));
        }
        if words.any(&["fp8", "float8", "e4m3", "mxfp8"]) {
            let block = words.any(&["block", "128x128"])
                || (!words.any(&["dynamic", "tensor", "channel", "online", "static"])
                    && matches!(facts.quant_group, Some(QuantGroup::Block(..))));
            let own =
                if words.any(&["online", "dynamic"]) && !compressed { Method::Online } else { Method::Checkpoint };
            let format = if block { WeightFormat::ByteBlock } else { WeightFormat::Byte };
            return Some(Self::of(format, plain, method(own)));
        }
        if words.has("modelopt") {
            let scheme = Self::of(WeightFormat::Nvfp4, plain, Method::ModelOpt);
            return Some(scheme.within(WeightFormat::Nvfp4, WeightFormat::Byte, Note::FormatsMixed));
        }
        if words.has("16") && words.any(&["bit", "bits"]) {
            return Some(Self::plain(2.0));
        }
        let bytes = words.list.iter().find_map(|word| plain_bytes(word));
        bytes
            .map(Self::plain)
            .or_else(|| words.any(&["none", "no", "unquantized", "unquantised"]).then(|| Self::plain(plain)))
    }
}

/// Bytes an element of an unquantised number format; `None` for what is no such name.
#[must_use]
pub fn plain_bytes(dtype: &str) -> Option<f64> {
    match dtype.trim().to_lowercase().trim_start_matches("torch.") {
        "bf16" | "bfloat16" | "fp16" | "float16" | "half" | "f16" | "16bit" => Some(2.0),
        "fp32" | "float32" | "float" | "f32" | "tf32" => Some(4.0),
        _ => None,
    }
}

/// Format of the KV cache.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct KvFormat {
    /// Bytes a value, scales included.
    pub bytes: f64,
    /// The least and most where the text left it open.
    pub range: (f64, f64),
    /// Whether it was stated, not left to the engine.
    pub is_stated: bool,
}

impl KvFormat {
    /// A format of so many bytes a value.
    #[must_use]
    pub const fn of(bytes: f64) -> Self {
        Self { bytes, range: (bytes, bytes), is_stated: true }
    }

    /// Reads a stated cache format (`auto`, `fp8_e4m3`, `q8_0`); `auto` and nothing mean the format of the weights that
    /// are not quantised. `None` for a text that is not understood.
    #[must_use]
    pub fn read(text: &str, plain: f64) -> Option<Self> {
        let text = text.trim().to_lowercase();
        // llama.cpp may name the key's and the value's format: the same for both is the rule.
        let name = text.split(['/', ',', ' ']).next().unwrap_or_default();
        Some(match name {
            "" | "auto" | "model" | "default" => Self { is_stated: false, ..Self::of(plain) },
            "fp8" | "fp8_e4m3" | "fp8_e5m2" | "fp8_inc" | "float8_e4m3fn" | "float8_e5m2" | "e4m3" | "e5m2" => {
                Self::of(1.0)
            }
            // A 32-bit scale a token and head, over 128 values and more.
            "int8" | "int8_per_token_head" | "int8_per_token" => Self { range: (1.0, 1.032), ..Self::of(1.01) },
            "nvfp4" | "fp4" => Self::of(9.0 / 16.0),
            other => match plain_bytes(other) {
                Some(bytes) => Self::of(bytes),
                None => Self::of(gguf_types().iter().find(|row| row.is_exact && row.name == other)?.bits / 8.0),
            },
        })
    }
}

/// A type or mixture of GGUF files.
#[derive(Debug, Clone, PartialEq)]
struct GgufType {
    name: String,
    bits: f64,
    low: f64,
    high: f64,
    /// Whether the bits follow from the type's block alone.
    is_exact: bool,
}

fn gguf_types() -> &'static [GgufType] {
    static TYPES: LazyLock<Vec<GgufType>> = LazyLock::new(|| {
        let mut reader = csv::Reader::from_reader(GGUF.as_bytes());
        let number = |text: Option<&str>| text.and_then(|text| text.parse::<f64>().ok());
        let rows = reader.records().flatten().filter_map(|row| {
            let (bits, low, high) = (number(row.get(1))?, number(row.get(2))?, number(row.get(3))?);
            Some(GgufType { name: row.get(0)?.to_owned(), bits, low, high, is_exact: low >= high })
        });
        rows.collect()
    });
    &TYPES
}

/// The words of a stated quantisation, lower case: whole, and cut at spaces, dashes and brackets.
struct Words {
    list: Vec<String>,
    set: BTreeSet<String>,
}

impl Words {
    fn of(text: &str) -> Self {
        let cut = |c: char| !(c.is_alphanumeric() || c == '.' || c == '_' || c == '?');
        let mut list: Vec<String> = text.split(cut).filter(|word| !word.is_empty()).map(str::to_owned).collect();
        let parts: Vec<String> = list
            .iter()
            .filter(|word| word.contains('_'))
            .flat_map(|word| word.split('_').map(str::to_owned).collect::<Vec<_>>())
            .collect();
        list.extend(parts.into_iter().filter(|word| !word.is_empty()));
        let set = list.iter().cloned().collect();
        Self { list, set }
    }

    fn has(&self, word: &str) -> bool {
        self.set.contains(word)
    }

    fn any(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.has(word))
    }

    /// `g128`, `group 32`, `gs64`.
    fn group(&self) -> Option<u32> {
        let number = |word: &str| word.parse::<u32>().ok().filter(|group| (8..=65536).contains(group));
        let joined = self
            .list
            .iter()
            .find_map(|word| ["g", "gs", "group"].iter().find_map(|prefix| word.strip_prefix(prefix).and_then(number)));
        joined.or_else(|| {
            let after =
                self.list.iter().skip_while(|word| !matches!(word.as_str(), "g" | "gs" | "group" | "groupsize"));
            after.skip(1).find_map(|word| number(word))
        })
    }

    /// `4.99bpw`, `4.99 bpw`.
    fn bits_per_weight(&self) -> Option<f64> {
        let number = |word: &str| word.parse::<f64>().ok().filter(|bits| (1.0..=32.0).contains(bits));
        let joined = self.list.iter().find_map(|word| word.strip_suffix("bpw").and_then(number));
        joined.or_else(|| {
            let at = self.list.iter().position(|word| word == "bpw")?;
            number(self.list.get(at.checked_sub(1)?)?)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_by_their_words() {
        let facts = ModelFacts::default();
        let int4 = |group, zeros| WeightFormat::Int4 { group, zeros };
        for (text, format, method) in [
            ("bf16", WeightFormat::Plain(2.0), Method::None),
            ("fp32", WeightFormat::Plain(4.0), Method::None),
            ("fp8", WeightFormat::Byte, Method::Checkpoint),
            ("FP8_DYNAMIC", WeightFormat::Byte, Method::Online),
            ("fp8-online", WeightFormat::Byte, Method::Online),
            ("fp8-block", WeightFormat::ByteBlock, Method::Checkpoint),
            ("fp8 compressed-tensors", WeightFormat::Byte, Method::CompressedTensors),
            ("int8-w8a8", WeightFormat::Byte, Method::Int4),
            ("w8a8", WeightFormat::Byte, Method::Int4),
            ("awq-int4-g128", int4(128, true), Method::Int4),
            ("gptq-int4-g64", int4(64, false), Method::Int4),
            ("int4-w4a16-g32", int4(32, false), Method::Int4),
            ("int4 compressed-tensors (group assumed 128)", int4(128, false), Method::CompressedTensors),
            ("int4-autoround", int4(128, false), Method::Int4),
            ("bnb-nf4", WeightFormat::Nf4 { double: true }, Method::BitsAndBytes),
            ("nf4 double quant", WeightFormat::Nf4 { double: true }, Method::BitsAndBytes),
            ("nvfp4", WeightFormat::Nvfp4, Method::ModelOpt),
            ("mxfp4 (Marlin backend)", WeightFormat::Mxfp4, Method::Mxfp4),
            ("Q4_K_M 4.99bpw", WeightFormat::Gguf { bits: 4.99 }, Method::Gguf),
            ("Q8_0", WeightFormat::Gguf { bits: 8.5 }, Method::Gguf),
            ("GPTQ 8-bit", WeightFormat::Byte, Method::Int4),
            ("16-bit", WeightFormat::Plain(2.0), Method::None),
            ("UD-Q4_K_XL", WeightFormat::Gguf { bits: 4.85 }, Method::Gguf),
            ("W8A8-FP8", WeightFormat::Byte, Method::Checkpoint),
            ("IQ4_NL 4.25 bpw", WeightFormat::Gguf { bits: 4.25 }, Method::Gguf),
        ] {
            let scheme = Scheme::read(text, "bfloat16", &facts);
            assert_eq!((scheme.format, scheme.method, scheme.is_guess), (format, method, false), "{text}");
        }
        assert_eq!(Scheme::read("mxfp4 (Triton backend)", "", &facts).backend, Some(Backend::Triton));
    }

    #[test]
    fn what_is_not_known_is_said_and_widens() {
        for text in ["?", "zq9", "exl3"] {
            let scheme = Scheme::read(text, "bfloat16", &ModelFacts::default());
            assert!(scheme.is_guess, "{text}");
            assert_eq!(scheme.open.len(), 1, "{text}");
            assert!(scheme.range.0.bytes() < scheme.range.1.bytes(), "{text}");
        }
        // Nothing stated: what the facts say.
        let facts = ModelFacts { quant_method: Some("fp8".into()), quant_bits: Some(8), ..ModelFacts::default() };
        assert_eq!(Scheme::read("", "bfloat16", &facts).format, WeightFormat::Byte);
        assert_eq!(Scheme::read("", "float32", &ModelFacts::default()).format, WeightFormat::Plain(4.0));
    }

    #[test]
    fn bytes_follow_from_the_block() {
        for (format, want) in [
            (WeightFormat::Mxfp4, 17.0 / 32.0),
            (WeightFormat::Nvfp4, 9.0 / 16.0),
            (WeightFormat::ByteBlock, 1.0 + 4.0 / 16384.0),
            (WeightFormat::Int4 { group: 128, zeros: true }, 0.5 + 2.5 / 128.0),
            (WeightFormat::Nf4 { double: false }, 0.5625),
        ] {
            assert!((format.bytes() - want).abs() < 1e-9, "{format:?}");
        }
    }

    #[test]
    fn cache_formats_are_read() {
        for (text, want) in [
            ("auto", Some(2.0)),
            ("fp8_e5m2", Some(1.0)),
            ("q8_0", Some(34.0 / 32.0)),
            ("q4_0", Some(18.0 / 32.0)),
            ("f16", Some(2.0)),
            ("zz", None),
        ] {
            assert_eq!(KvFormat::read(text, 2.0).map(|kv| kv.bytes), want, "{text}");
        }
    }
}
