//! What depends on the engine, its version and the card: rows of data tables, each with its range and origin.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::band::Band;
use super::quant::{Backend, Method};
use super::weights::Part;

const ENGINES: &str = include_str!("../../../assets/memory/engines.csv");
const KEPT: &str = include_str!("../../../assets/memory/kept.csv");
const PADDING: &str = include_str!("../../../assets/memory/padding.csv");
const CARDS: &str = include_str!("../../../assets/memory/cards.csv");

/// An inference engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub enum EngineKind {
    /// vLLM.
    #[default]
    Vllm,
    /// Aphrodite, an offspring of vLLM's first engine.
    Aphrodite,
    /// SGLang.
    Sglang,
    /// llama.cpp.
    LlamaCpp,
    /// Hugging Face Transformers.
    Transformers,
}

impl EngineKind {
    /// All engines.
    pub const ALL: [Self; 5] = [Self::Vllm, Self::Aphrodite, Self::Sglang, Self::LlamaCpp, Self::Transformers];

    /// The name in the data tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Vllm => "vllm",
            Self::Aphrodite => "aphrodite",
            Self::Sglang => "sglang",
            Self::LlamaCpp => "llama.cpp",
            Self::Transformers => "transformers",
        }
    }

    /// The engine that a text names, without regard to case and punctuation.
    #[must_use]
    pub fn named(text: &str) -> Option<Self> {
        let plain: String = text.to_lowercase().chars().filter(char::is_ascii_alphanumeric).collect();
        Some(match plain.as_str() {
            "vllm" => Self::Vllm,
            "aphrodite" => Self::Aphrodite,
            "sglang" => Self::Sglang,
            "llamacpp" | "llamaserver" | "ikllamacpp" => Self::LlamaCpp,
            "transformers" | "hf" | "huggingface" => Self::Transformers,
            _ => return None,
        })
    }
}

/// A version as major, minor, patch; what follows (rc, dev, build) is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Version(pub u32, pub u32, pub u32);

impl Version {
    /// Reads `0.17.2rc1.dev150+g8fbe3f303`; `None` without a major and minor number.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let text = text.trim().trim_start_matches(['v', 'V']);
        let mut parts = text.split('.').map(|part| {
            let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
            digits.parse::<u32>().ok()
        });
        let (major, minor) = (parts.next()??, parts.next()??);
        Some(Self(major, minor, parts.next().flatten().unwrap_or(0)))
    }
}

/// What the tables tell of an engine. The names are the rows of `engines.csv`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each is documented by its rows and their origin")]
pub enum Key {
    Utilisation,
    BatchIsLength,
    BatchSmall,
    BatchLarge,
    SeqsSmall,
    SeqsLarge,
    SamplerBytes,
    GraphCharged,
    PrintedIsConcurrency,
    StateBlocks,
    NonTorch1,
    NonTorch2,
    NonTorch8,
    GraphPieceMib,
    Context,
    VisionShare,
    Block,
    BlockLatent,
}

impl Key {
    const ALL: [(Self, &'static str); 18] = [
        (Self::Utilisation, "utilisation"),
        (Self::BatchIsLength, "batch_is_length"),
        (Self::BatchSmall, "batch_small"),
        (Self::BatchLarge, "batch_large"),
        (Self::SeqsSmall, "seqs_small"),
        (Self::SeqsLarge, "seqs_large"),
        (Self::SamplerBytes, "sampler_bytes"),
        (Self::GraphCharged, "graph_charged"),
        (Self::PrintedIsConcurrency, "printed_is_concurrency"),
        (Self::StateBlocks, "state_blocks"),
        (Self::NonTorch1, "non_torch_1"),
        (Self::NonTorch2, "non_torch_2"),
        (Self::NonTorch8, "non_torch_8"),
        (Self::GraphPieceMib, "graph_piece_mib"),
        (Self::Context, "context"),
        (Self::VisionShare, "vision_share"),
        (Self::Block, "block"),
        (Self::BlockLatent, "block_latent"),
    ];
}

#[derive(Debug, Clone)]
struct EngineRow {
    engine: EngineKind,
    key: Key,
    from: Version,
    until: Option<Version>,
    band: Band,
}

fn engine_rows() -> &'static [EngineRow] {
    static ROWS: LazyLock<Vec<EngineRow>> = LazyLock::new(|| {
        let mut reader = csv::Reader::from_reader(ENGINES.as_bytes());
        let row = |row: csv::StringRecord| {
            let number = |idx| row.get(idx).and_then(|text| text.parse::<f64>().ok());
            Some(EngineRow {
                engine: EngineKind::named(row.get(0)?)?,
                key: Key::ALL.into_iter().find(|(_, name)| row.get(1) == Some(*name))?.0,
                from: Version::read(row.get(2)?)?,
                until: row.get(3).and_then(Version::read),
                band: Band::new(number(4)?, number(5)?, number(6)?),
            })
        };
        reader.records().flatten().filter_map(row).collect()
    });
    &ROWS
}

/// What holds for an engine of a version. Without a version the newest row's value holds, and the interval takes in
/// every generation. Nothing in the table is zero.
#[must_use]
pub fn engine(engine: EngineKind, version: Option<Version>, key: Key) -> Band {
    let rows = engine_rows().iter().filter(|row| row.engine == engine && row.key == key);
    match version {
        Some(version) => {
            let mut fitting = rows.filter(|row| row.from <= version && row.until.is_none_or(|until| version < until));
            fitting.next().map_or(Band::ZERO, |row| row.band)
        }
        None => rows
            .fold(None, |known: Option<Band>, row| {
                let low = known.map_or(row.band.low, |band| band.low.min(row.band.low));
                let high = known.map_or(row.band.high, |band| band.high.max(row.band.high));
                let newest =
                    if row.until.is_none() { row.band.value } else { known.map_or(row.band.value, |b| b.value) };
                Some(Band::new(newest, low, high))
            })
            .unwrap_or(Band::ZERO),
    }
}

/// Whether a part of a quantised checkpoint is quantised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// It stays in 16 bits.
    Plain,
    /// It is quantised.
    Quantised,
    /// The rule is 16 bits; checkpoints differ.
    LikelyPlain,
    /// The rule is quantised; checkpoints differ.
    LikelyQuantised,
}

const fn method_name(method: Method) -> &'static str {
    match method {
        Method::None => "none",
        Method::Checkpoint => "checkpoint",
        Method::Online => "online",
        Method::CompressedTensors => "compressed_tensors",
        Method::Int4 => "int4",
        Method::BitsAndBytes => "bitsandbytes",
        Method::ModelOpt => "modelopt",
        Method::Mxfp4 => "mxfp4",
        Method::Gguf => "gguf",
    }
}

type KeptRow = (String, String, Kept, Kept);

fn kept_rows() -> &'static [KeptRow] {
    static ROWS: LazyLock<Vec<KeptRow>> = LazyLock::new(|| {
        let mut reader = csv::Reader::from_reader(KEPT.as_bytes());
        let state = |text: &str| match text {
            "plain" => Some(Kept::Plain),
            "quantised" => Some(Kept::Quantised),
            "likely_plain" => Some(Kept::LikelyPlain),
            "likely_quantised" => Some(Kept::LikelyQuantised),
            _ => None,
        };
        let row = |row: csv::StringRecord| {
            Some((row.get(0)?.to_owned(), row.get(1)?.to_owned(), state(row.get(2)?)?, state(row.get(3)?)?))
        };
        reader.records().flatten().filter_map(row).collect()
    });
    &ROWS
}

/// Whether `method` quantises `part`. Embedding, output projection, router, norms and small tensors stay in 16 bits
/// everywhere but in GGUF files, whose bits an element are an average over all tensors.
#[must_use]
pub fn kept(method: Method, part: Part, is_listed_per_layer: bool) -> Kept {
    match (method, part) {
        (_, Part::Positions | Part::Adapters | Part::Draft | Part::LatentCopy) | (Method::None, _) => Kept::Plain,
        (Method::Gguf, _) => Kept::Quantised,
        (
            _,
            Part::Embedding | Part::Head | Part::Router | Part::Norms | Part::LinearSmall | Part::Vision | Part::Other,
        ) => Kept::Plain,
        _ => {
            let name = method_name(method);
            let row = kept_rows().iter().find(|(of, what, ..)| of == name && what == part.name());
            row.map_or(Kept::Quantised, |(_, _, rule, listed)| if is_listed_per_layer { *listed } else { *rule })
        }
    }
}

/// Multiples that a kernel pads an expert's sizes to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Padding {
    /// Hidden size.
    pub hidden: f64,
    /// Intermediate size on one GPU.
    pub intermediate: f64,
}

/// Padding of 4-bit experts by a kernel; `None` when it pads nothing.
#[must_use]
pub fn padding(backend: Backend) -> Option<Padding> {
    static ROWS: LazyLock<Vec<(String, Padding)>> = LazyLock::new(|| {
        let mut reader = csv::Reader::from_reader(PADDING.as_bytes());
        let row = |row: csv::StringRecord| {
            let (hidden, intermediate) = (row.get(5)?.parse().ok()?, row.get(6)?.parse().ok()?);
            Some((row.get(1)?.to_owned(), Padding { hidden, intermediate }))
        };
        reader.records().flatten().filter_map(row).collect()
    });
    let name = match backend {
        Backend::Marlin => "marlin",
        Backend::Triton => "triton",
    };
    ROWS.iter().find(|(of, _)| of == name).map(|(_, padding)| *padding)
}

/// What a card's memory belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum CardKind {
    /// A graphics card with memory of its own.
    Gpu,
    /// Another accelerator.
    Npu,
    /// Memory shared with the host.
    Shared,
    /// No accelerator: the host itself.
    Host,
}

/// A card of the table.
#[derive(Debug, Clone, PartialEq)]
pub struct CardRow {
    /// Its name.
    pub name: String,
    /// Other names, compared whole.
    pub aliases: Vec<String>,
    /// Memory as CUDA reports it, GiB.
    pub gib: Band,
    /// CUDA compute capability times ten (90 for 9.0), where it has one.
    pub compute: Option<u32>,
    /// What its memory belongs to.
    pub kind: CardKind,
    /// Whether it is offered for rent by the hour.
    pub is_rentable: bool,
    /// Where the row comes from.
    pub origin: String,
}

/// The cards, smallest memory first.
#[must_use]
pub fn cards() -> &'static [CardRow] {
    static CARDS_ONCE: LazyLock<Vec<CardRow>> = LazyLock::new(|| {
        let mut reader = csv::Reader::from_reader(CARDS.as_bytes());
        let row = |row: csv::StringRecord| {
            let number = |idx| row.get(idx).and_then(|text| text.parse::<f64>().ok());
            let compute = row.get(5).and_then(|text| text.replace('.', "").parse().ok());
            Some(CardRow {
                name: row.get(0)?.to_owned(),
                aliases: row.get(1)?.split('|').map(str::to_owned).collect(),
                gib: Band::new(number(2)?, number(3)?, number(4)?),
                compute,
                kind: match row.get(6)? {
                    "npu" => CardKind::Npu,
                    "shared" => CardKind::Shared,
                    _ => CardKind::Gpu,
                },
                is_rentable: row.get(7)? == "yes",
                origin: row.get(8)?.to_owned(),
            })
        };
        let mut rows: Vec<CardRow> = reader.records().flatten().filter_map(row).collect();
        rows.sort_by(|a, b| a.gib.value.total_cmp(&b.gib.value));
        rows
    });
    &CARDS_ONCE
}

/// The card of this name or alias, without regard to case, vendor words and punctuation.
#[must_use]
pub fn card(name: &str) -> Option<&'static CardRow> {
    let key = card_key(name);
    if key.is_empty() {
        return None;
    }
    let is = |row: &&CardRow| card_key(&row.name) == key || row.aliases.iter().any(|alias| card_key(alias) == key);
    cards().iter().find(is)
}

fn card_key(name: &str) -> String {
    let lower = name.to_lowercase();
    let words = lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| {
        !matches!(
            *word,
            "" | "nvidia" | "geforce" | "tesla" | "instinct" | "hbm3" | "hbm2e" | "hbm3e" | "pcie" | "sxm5" | "gpu"
        )
    });
    words.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_without_what_follows() {
        for (text, want) in [
            ("0.17.2rc1.dev150+g8fbe3f303", Some(Version(0, 17, 2))),
            ("0.9", Some(Version(0, 9, 0))),
            ("v0.11.0+torch271", Some(Version(0, 11, 0))),
            ("", None),
            ("npu", None),
        ] {
            assert_eq!(Version::read(text), want, "{text}");
        }
    }

    #[test]
    fn every_engine_has_every_rule() {
        let rows = csv::Reader::from_reader(ENGINES.as_bytes()).records().count();
        assert_eq!(engine_rows().len(), rows, "a row was not understood");
        for kind in EngineKind::ALL {
            for (key, name) in Key::ALL {
                let is_there = engine_rows().iter().any(|row| row.engine == kind && row.key == key);
                assert!(is_there || key == Key::BatchIsLength, "{} {name}", kind.name());
            }
        }
        let rows = csv::Reader::from_reader(KEPT.as_bytes()).records().count();
        assert_eq!(kept_rows().len(), rows);
        let rows = csv::Reader::from_reader(CARDS.as_bytes()).records().count();
        assert_eq!(cards().len(), rows);
    }

    #[test]
    fn a_generation_holds_within_its_range_and_no_version_takes_in_all() {
        let of = |text: &str| engine(EngineKind::Vllm, Version::read(text), Key::SamplerBytes);
        assert_eq!(of("0.7.3").value, 40.0);
        assert_eq!(of("0.16.9").value, 38.4);
        assert_eq!(of("0.17.0").value, 12.0);
        let unknown = of("");
        assert_eq!((unknown.value, unknown.low, unknown.high), (6.5, 5.5, 42.0));
    }

    #[test]
    fn cards_are_found_by_their_names() {
        for (name, gib) in
            [("NVIDIA H100 80GB HBM3", 79.19), ("A100-SXM4-80", 79.2), ("GeForce RTX 4090", 23.55), ("Tesla T4", 14.74)]
        {
            assert_eq!(card(name).map(|card| card.gib.value), Some(gib), "{name}");
        }
        assert!(card("H1000").is_none());
        assert!(card("").is_none());
    }
}
