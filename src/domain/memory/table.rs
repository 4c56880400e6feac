//! A whole table predicted at once: one row a run, its kind told by its columns.
//!
//! What was measured is never looked at, with one exception that its name says: the figures `*_from_pool` start from the
//! row's own `kv_gib_per_gpu`.

use crate::domain::text::{Language, Text};
use serde::Serialize;

use super::band::Band;
use super::catalogue::Catalogue;
use super::facts::ModelFacts;
use super::kv::Printed;
use super::quant::{KvFormat, Scheme};
use super::rules::{self, CardKind, EngineKind, Version};
use super::serve::{self, Card, Draft, Knobs, Setup, Work};
use super::{GIB, image, train};

/// The most rows that are read.
const MAX_ROWS: usize = 100_000;

/// What the rows of a table are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableKind {
    /// Runs of serving engines.
    Serving,
    /// Training runs.
    Training,
    /// Image generation.
    Images,
}

/// Why a table cannot be predicted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// Not a table: the reader's words.
    #[error("the table cannot be read as CSV: {0}")]
    Csv(String),
    /// The columns belong to no kind of table.
    #[error(
        "the columns belong to no known table: serving has \"engine\" and \"tp\", training \"method\" and \"seq_len\", images \"resolution\" and \"configuration\""
    )]
    UnknownKind,
}

/// A figure of a row.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RowFigure {
    /// The best single answer.
    pub value: f64,
    /// The least it may be.
    pub low: f64,
    /// The most it may be.
    pub high: f64,
}

impl From<Band> for RowFigure {
    fn from(band: Band) -> Self {
        Self { value: band.value, low: band.low, high: band.high }
    }
}

/// The prediction of one row. A figure that cannot be known, or that the row's kind does not have, is `None`.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct RowPrediction {
    /// The row's own id; its number when it has none.
    pub id: String,
    /// Weights of one GPU, GiB.
    pub weights_gib_per_gpu: Option<RowFigure>,
    /// Pool for keys and values of one GPU, GiB.
    pub kv_gib_per_gpu: Option<RowFigure>,
    /// Tokens as the engine prints them, from the predicted pool.
    pub kv_tokens: Option<RowFigure>,
    /// Tokens as the engine prints them, from the row's own pool.
    pub kv_tokens_from_pool: Option<RowFigure>,
    /// Requests of the longest length, from the row's own pool.
    pub max_concurrency_from_pool: Option<RowFigure>,
    /// Peak of one GPU, GiB.
    pub peak_gib_per_gpu: Option<RowFigure>,
    /// `fits`, `fits_with_less_headroom`, `does_not_fit` or `too_close_to_call`.
    pub fits: Option<&'static str>,
    /// What is not known and would be needed.
    pub missing: Vec<String>,
    /// What was assumed.
    pub notes: Vec<String>,
}

/// One row's cells by column, trimmed; an empty cell is nothing.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    head: &'a [String],
    cells: &'a csv::StringRecord,
    /// Place in the table, from 1.
    pub number: usize,
}

impl<'a> Row<'a> {
    /// A column's text; `None` when it is empty or not there.
    #[must_use]
    pub fn get(&self, column: &str) -> Option<&'a str> {
        let idx = self.head.iter().position(|name| name == column)?;
        self.cells.get(idx).map(str::trim).filter(|cell| !cell.is_empty())
    }

    /// The row's id, or its number.
    #[must_use]
    pub fn id(&self) -> String {
        self.get("id").map_or_else(|| self.number.to_string(), |id| id.chars().take(200).collect())
    }
}

/// The kind of a table with these columns.
#[must_use]
pub fn kind(head: &[String]) -> Option<TableKind> {
    let has = |names: &[&str]| names.iter().all(|name| head.iter().any(|column| column == name));
    if has(&["method", "seq_len"]) || has(&["method", "peak_gib_per_gpu"]) {
        Some(TableKind::Training)
    } else if has(&["resolution", "configuration"]) || has(&["resolution", "peak_gb"]) {
        Some(TableKind::Images)
    } else if has(&["engine", "tp"]) || has(&["engine", "facts"]) || has(&["engine", "model"]) {
        Some(TableKind::Serving)
    } else {
        None
    }
}

/// Predicts every row of a table.
///
/// # Errors
/// When the text is no table, or its columns belong to no kind. A row that cannot be predicted is no error: it says
/// what is missing.
pub fn predict(text: &str, catalogue: &Catalogue) -> Result<Vec<RowPrediction>, TableError> {
    let text = text.trim_start_matches('\u{feff}');
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
    let csv_error = |error: csv::Error| TableError::Csv(error.to_string());
    let head: Vec<String> = reader.headers().map_err(csv_error)?.iter().map(|name| name.trim().to_owned()).collect();
    let kind = kind(&head).ok_or(TableError::UnknownKind)?;
    let mut out = Vec::new();
    for (idx, record) in reader.records().take(MAX_ROWS).enumerate() {
        let record = record.map_err(csv_error)?;
        let row = Row { head: &head, cells: &record, number: idx + 1 };
        out.push(match kind {
            TableKind::Serving => serving(row, catalogue),
            TableKind::Training => training(row, catalogue),
            TableKind::Images => images(row),
        });
    }
    Ok(out)
}

/// A training run.
fn training(row: Row, catalogue: &Catalogue) -> RowPrediction {
    let read = train::RowSetup::read(|column| row.get(column), catalogue);
    let mut out = RowPrediction { id: row.id(), notes: read.notes, ..RowPrediction::default() };
    out.missing.extend(read.missing.iter().map(|name| (*name).to_owned()));
    let Some(setup) = read.setup else { return out };
    match train::predict(&setup) {
        Ok(prediction) => {
            let gib = |band: Band| Some(band.scaled(1.0 / GIB).into());
            out.weights_gib_per_gpu = gib(prediction.weights);
            out.peak_gib_per_gpu = gib(prediction.peak);
            if !prediction.assumed.is_empty() {
                out.notes.push(format!("not stated, within the interval: {}", prediction.assumed.join(", ")));
            }
            let card = row.get("gpu").and_then(rules::card);
            let free = card.map(|card| card.gib.scaled(GIB) - prediction.peak);
            out.fits = free.map(|free| serve::Verdict::of(free, 0.0).name());
        }
        Err(lacks) => out.missing.extend(lacks.iter().map(|name| (*name).to_owned())),
    }
    out
}

/// Image generation.
fn images(row: Row) -> RowPrediction {
    let read = image::RowSetup::read(|column| row.get(column));
    let mut out = RowPrediction { id: row.id(), notes: read.notes, ..RowPrediction::default() };
    out.missing.extend(read.missing.iter().map(|name| (*name).to_owned()));
    let Some(setup) = read.setup else { return out };
    match image::predict(&setup) {
        Ok(prediction) => {
            let gib = |band: Band| Some(band.scaled(1.0 / GIB).into());
            out.weights_gib_per_gpu = gib(prediction.weights);
            out.peak_gib_per_gpu = gib(prediction.peak);
            let card = row.get("gpu").and_then(rules::card);
            let free = card.map(|card| card.gib.scaled(GIB) - prediction.peak);
            out.fits = free.map(|free| serve::Verdict::of(free, 0.0).name());
        }
        Err(lacks) => out.missing.extend(lacks.iter().map(|name| (*name).to_owned())),
    }
    out
}

/// Columns that state something; the rest is measured or tells where the row comes from.
const INPUTS: &[&str] = &[
    "engine",
    "engine_version",
    "model",
    "facts",
    "dtype",
    "quantisation",
    "kv_cache_dtype",
    "gpu",
    "gpu_total_gib",
    "tp",
    "pp",
    "gpu_memory_utilization",
    "max_model_len",
    "max_num_batched_tokens",
    "max_num_seqs",
    "enforce_eager",
    "block_size",
    "speculative",
    "note",
];

/// The cells of a serving row that state something, with the problems of those that cannot be.
struct Stated<'a> {
    row: Row<'a>,
    bad: Vec<String>,
}

impl<'a> Stated<'a> {
    fn get(&self, column: &str) -> Option<&'a str> {
        if INPUTS.contains(&column) { self.row.get(column) } else { None }
    }

    /// A whole number from 1 on, or nothing with a sentence.
    fn count(&mut self, column: &str, most: f64) -> Option<u32> {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to lie in 1..=2^31")]
        self.number(column, 1.0, most.min(2_147_483_648.0)).filter(|n| n.fract() == 0.0).map(|n| n as u32)
    }

    fn number(&mut self, column: &str, least: f64, most: f64) -> Option<f64> {
        let cell = self.get(column)?;
        let number = cell.parse::<f64>().ok().filter(|number| (least..=most).contains(number));
        if number.is_none() {
            let shown: String = cell.chars().take(40).collect();
            self.bad
                .push(format!("{column} \"{shown}\" is not a number from {least} to {most}; it counts as not stated"));
        }
        number
    }

    fn flag(&self, column: &str) -> Option<bool> {
        match self.get(column)?.to_lowercase().as_str() {
            "true" | "yes" | "1" => Some(true),
            "false" | "no" | "0" => Some(false),
            _ => None,
        }
    }
}

/// What a row's remark says of its settings, in words that mean the same everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Remark {
    has_adapters: bool,
    has_fixed_pool: bool,
    page: Option<u32>,
    slots: Option<u32>,
    printed: Option<bool>,
}

impl Remark {
    fn of(note: &str) -> Self {
        let note = note.to_lowercase();
        let words: Vec<&str> = note.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        let after = |name: &str| {
            let at = words.iter().position(|word| *word == name)?;
            words.get(at + 1)?.parse::<u32>().ok().filter(|n| (1..=65_536).contains(n))
        };
        let before = |name: &str| {
            let at = words.iter().position(|word| *word == name)?.checked_sub(1)?;
            words.get(at)?.parse::<u32>().ok().filter(|n| (1..=65_536).contains(n))
        };
        Self {
            has_adapters: words.contains(&"lora"),
            has_fixed_pool: note.contains("kv-cache-memory") || note.contains("kv_cache_memory"),
            page: after("page"),
            slots: before("slots"),
            printed: match () {
                () if note.contains("concurrency x max") => Some(true),
                () if note.contains("as full attention") => Some(false),
                () => None,
            },
        }
    }
}

/// A run of a serving engine.
fn serving(row: Row, catalogue: &Catalogue) -> RowPrediction {
    let mut out = RowPrediction { id: row.id(), ..RowPrediction::default() };
    let mut stated = Stated { row, bad: Vec::new() };
    let Some(facts) = facts_of(&stated, catalogue, &mut out) else { return out };
    let (facts, is_own) = (&facts.0, facts.1);
    let Some(engine) = stated.get("engine").and_then(EngineKind::named) else {
        let name: String = stated.get("engine").unwrap_or_default().chars().take(40).collect();
        out.missing.push(format!("rules of the engine \"{name}\""));
        return out;
    };
    let remark = Remark::of(stated.get("note").unwrap_or_default());
    let setup = setup_of(&mut stated, facts, is_own, engine, remark, &mut out);
    let prepared = serve::prepare(&setup);
    let prediction = serve::predict_with(&setup, &prepared);
    let gib = |band: Band| RowFigure::from(band.scaled(1.0 / GIB));
    out.weights_gib_per_gpu = prediction.weights.map(gib);
    out.kv_gib_per_gpu = prediction.pool.map(gib);
    out.kv_tokens = prediction.printed_tokens.map(Into::into);
    out.peak_gib_per_gpu = prediction.peak.map(gib);
    out.fits = prediction.verdict.map(serve::Verdict::name);
    out.missing.extend(prediction.missing.iter().map(|name| (*name).to_owned()));
    out.notes.extend(prediction.notes.iter().map(|note| Text::of(Language::En).memory_note(note)));
    if remark.has_fixed_pool {
        // The pool's size is a setting here, and the row does not state it.
        (out.kv_gib_per_gpu, out.kv_tokens, out.peak_gib_per_gpu, out.fits) = (None, None, None, None);
        out.missing.push("the fixed size of the pool".to_owned());
    }
    if let Some((pool, digits)) = pool_of(row) {
        let version_rule = serve::printed_rule(&setup);
        // Without a version the two rules are both within the interval; a length makes the newer likelier.
        let rule = match (remark.printed, setup.version) {
            (Some(true), _) => Printed::ConcurrencyTimesLength,
            (Some(false), _) => Printed::BlocksOverGroups,
            (None, Some(_)) => version_rule,
            (None, None) if setup.knobs.max_len.is_some() => version_rule,
            (None, None) => Printed::BlocksOverGroups,
        };
        // SGLang prints keys and values apart: two roundings.
        let digits = if engine == EngineKind::Sglang { 2.0 * digits } else { digits };
        let pool = Band::within(pool, digits, digits).not_negative().scaled(GIB);
        let (tokens, requests) = serve::from_pool(&setup, &prepared, pool, rule);
        let widened = tokens.map(|tokens| match (remark.printed, setup.version) {
            (None, None) => {
                let other = match rule {
                    Printed::BlocksOverGroups => Printed::ConcurrencyTimesLength,
                    Printed::ConcurrencyTimesLength => Printed::BlocksOverGroups,
                };
                let other = serve::from_pool(&setup, &prepared, pool, other).0.unwrap_or(tokens);
                Band::new(tokens.value, tokens.low.min(other.low), tokens.high.max(other.high))
            }
            _ => tokens,
        });
        out.kv_tokens_from_pool = widened.map(Into::into);
        out.max_concurrency_from_pool = requests.map(Into::into);
    }
    out.notes.extend(stated.bad);
    out
}

/// The setups of a table of serving runs, each given to `f` with its row's id. Rows without facts or of an unknown engine
/// are left out.
///
/// # Errors
/// When the text is no table of serving runs.
pub fn each_setup(text: &str, catalogue: &Catalogue, mut f: impl FnMut(&str, &Setup)) -> Result<(), TableError> {
    let text = text.trim_start_matches('\u{feff}');
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
    let csv_error = |error: csv::Error| TableError::Csv(error.to_string());
    let head: Vec<String> = reader.headers().map_err(csv_error)?.iter().map(|name| name.trim().to_owned()).collect();
    if kind(&head) != Some(TableKind::Serving) {
        return Err(TableError::UnknownKind);
    }
    for (idx, record) in reader.records().take(MAX_ROWS).enumerate() {
        let record = record.map_err(csv_error)?;
        let row = Row { head: &head, cells: &record, number: idx + 1 };
        let mut out = RowPrediction::default();
        let mut stated = Stated { row, bad: Vec::new() };
        let Some((facts, is_own)) = facts_of(&stated, catalogue, &mut out) else { continue };
        let Some(engine) = stated.get("engine").and_then(EngineKind::named) else { continue };
        let remark = Remark::of(stated.get("note").unwrap_or_default());
        f(&row.id(), &setup_of(&mut stated, &facts, is_own, engine, remark, &mut out));
    }
    Ok(())
}

/// The row of facts that `facts` names, or `model` where there is none.
///
/// The facts that are named may be a base model's: what a checkpoint made from it can differ in (image part, output
/// projection, longest context) is taken from the row that `model` selects, where it selects one.
///
/// With it comes whether the facts are the checkpoint's own.
fn facts_of(stated: &Stated, catalogue: &Catalogue, out: &mut RowPrediction) -> Option<(ModelFacts, bool)> {
    let name = stated.get("facts").or_else(|| stated.get("model"));
    let found = name.and_then(|name| catalogue.find(name));
    if found.is_none() {
        let shown: String = name.unwrap_or_default().chars().take(120).collect();
        out.missing.push(if shown.is_empty() {
            "facts of the model: no name is stated".to_owned()
        } else {
            format!("facts of the model: no row is called \"{shown}\"")
        });
    }
    let mut facts = found?.clone();
    let own = stated.get("model").filter(|_| stated.get("facts").is_some()).and_then(|name| catalogue.find(name));
    if let Some(own) = own.filter(|own| own.model != facts.model) {
        facts.vision = own.vision.or(facts.vision);
        facts.vision_patches = own.vision_patches.or(facts.vision_patches);
        facts.vision_params = own.vision_params.or(facts.vision_params);
        facts.pooling = own.pooling.or(facts.pooling);
        facts.tie_embeddings = own.tie_embeddings.or(facts.tie_embeddings);
        facts.max_position = own.max_position.or(facts.max_position);
    }
    let model = stated.get("model").unwrap_or_default();
    let is_own = stated.get("facts").is_none()
        || model.eq_ignore_ascii_case(&facts.model)
        || own.is_some_and(|own| own.model == facts.model);
    Some((facts, is_own))
}

fn setup_of<'f>(
    stated: &mut Stated,
    facts: &'f ModelFacts,
    is_own: bool,
    engine: EngineKind,
    remark: Remark,
    out: &mut RowPrediction,
) -> Setup<'f> {
    if !is_own {
        out.notes.push(format!(
            "the facts are those of \"{}\"; an image part, the output projection, the longest context and layers left unquantised may differ in this checkpoint",
            facts.model
        ));
    }
    let scheme =
        Scheme::read(stated.get("quantisation").unwrap_or_default(), stated.get("dtype").unwrap_or_default(), facts);
    if stated.get("quantisation").is_none() && facts.quant_method.is_none() && facts.quant_bits.is_none() && !is_own {
        out.notes.push("no quantisation is stated; the weights are taken to be unquantised".to_owned());
    }
    let cache = stated.get("kv_cache_dtype").unwrap_or_default();
    let kv = KvFormat::read(cache, scheme.plain.min(2.0)).unwrap_or_else(|| {
        let shown: String = cache.chars().take(40).collect();
        out.notes.push(format!("cache format \"{shown}\" is not known; 4 to 16 bits are within the interval"));
        KvFormat { range: (0.5, 2.0), ..KvFormat::of(2.0) }
    });
    let version = stated.get("engine_version");
    let is_npu_build = version.is_some_and(|version| version.eq_ignore_ascii_case("npu"));
    let named = stated.get("gpu").and_then(rules::card);
    let mut card = named.map_or(Card::UNKNOWN, Card::from);
    if stated.get("gpu").is_some_and(|gpu| gpu.eq_ignore_ascii_case("cpu")) {
        card.kind = CardKind::Host;
    }
    if is_npu_build {
        card.kind = CardKind::Npu;
    }
    if let Some(gib) = stated.number("gpu_total_gib", 0.1, 100_000.0) {
        card.memory = Some(Band::within(gib, 0.003 * gib, 0.003 * gib).scaled(GIB));
    } else if card.memory.is_some() {
        out.notes.push("the card's memory is that of its class".to_owned());
    }
    let draft = match stated.get("speculative").map(str::to_lowercase).as_deref() {
        None | Some("false" | "no" | "off" | "0" | "none" | "ngram") => Draft::Off,
        Some(text) => {
            let digits: String = text.chars().filter(char::is_ascii_digit).collect();
            digits.parse().ok().filter(|tokens| (1..=64).contains(tokens)).map_or(Draft::Unstated, Draft::Tokens)
        }
    };
    let knobs = Knobs {
        utilisation: stated.number("gpu_memory_utilization", 0.001, 1.0),
        max_len: stated.count("max_model_len", 1e9),
        batched: stated.count("max_num_batched_tokens", 1e9),
        seqs: stated.count("max_num_seqs", 1e7).or(remark.slots),
        eager: stated.flag("enforce_eager"),
        block: stated.count("block_size", 65_536.0).or(remark.page),
        adapters: remark.has_adapters.then_some((0, 0)),
        draft,
        pool: None,
    };
    Setup {
        facts,
        is_own,
        scheme,
        kv,
        engine,
        version: version.and_then(Version::read),
        card,
        tp: stated.count("tp", 100_000.0).unwrap_or(1),
        pp: stated.count("pp", 100_000.0).unwrap_or(1),
        knobs,
        work: Work::default(),
        calibration: None,
    }
}

/// The row's own pool in GiB, and half a unit of its last printed digit.
fn pool_of(row: Row) -> Option<(f64, f64)> {
    let cell = row.get("kv_gib_per_gpu")?;
    let pool = cell.parse::<f64>().ok().filter(|pool| (0.0..=100_000.0).contains(pool))?;
    let digits = cell.split_once('.').map_or(0, |(_, digits)| digits.len().min(6));
    #[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "at most 6")]
    let unit = 10_f64.powi(-(digits as i32));
    Some((pool, 0.5 * unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(columns: &str) -> Vec<String> {
        columns.split(',').map(str::to_owned).collect()
    }

    #[test]
    fn kinds_are_told_by_columns() {
        for (columns, want) in [
            ("id,engine,model,tp", Some(TableKind::Serving)),
            ("id,model,method,seq_len", Some(TableKind::Training)),
            ("id,model,resolution,batch,configuration", Some(TableKind::Images)),
            ("a,b", None),
        ] {
            assert_eq!(kind(&head(columns)), want, "{columns}");
        }
    }

    #[test]
    fn bad_values_are_named_and_the_rest_is_known() {
        let text = "id,engine,engine_version,model,facts,quantisation,gpu_total_gib,tp,max_model_len,gpu_memory_utilization\n\
                    a,vllm,0.11.0,x,Qwen/Qwen3-8B,bf16,-5,1,9e99,7\n\
                    b,vllm,0.11.0,x,no such model,bf16,80,1,4096,0.9\n\
                    c,other,1.0,x,Qwen/Qwen3-8B,bf16,80,1,4096,0.9\n\
                    d,vllm,0.11.0,x,Qwen/Qwen3-8B,exl9,80,1,4096,0.9\n";
        let rows = predict(text, Catalogue::builtin()).unwrap();
        let [a, b, c, d] = rows.as_slice() else { panic!("{rows:?}") };
        assert!(a.weights_gib_per_gpu.is_some() && a.kv_gib_per_gpu.is_none());
        assert_eq!(a.missing, ["gpu_total_gib"]);
        assert_eq!(a.notes.iter().filter(|note| note.contains("counts as not stated")).count(), 3, "{:?}", a.notes);
        assert_eq!(b.missing, ["facts of the model: no row is called \"no such model\""]);
        assert_eq!((b.weights_gib_per_gpu, b.fits), (None, None));
        assert_eq!(c.missing, ["rules of the engine \"other\""]);
        let weights = d.weights_gib_per_gpu.unwrap();
        assert!(weights.low < 7.0 && weights.high > 15.2, "{weights:?}");
        assert!(d.notes.iter().any(|note| note.contains("\"exl9\" is not known")), "{:?}", d.notes);
    }

    #[test]
    fn a_broken_table_says_what_is_wrong() {
        assert_eq!(predict("a,b\n1,2\n", Catalogue::builtin()).unwrap_err(), TableError::UnknownKind);
        assert_eq!(predict("", Catalogue::builtin()).unwrap_err(), TableError::UnknownKind);
        assert_eq!(predict("id,engine,tp\n", Catalogue::builtin()), Ok(Vec::new()));
    }

    #[test]
    fn remarks_are_read_by_their_words() {
        assert!(Remark::of("LoRA slots enabled").has_adapters);
        assert_eq!(Remark::of("page 128").page, Some(128));
        assert!(Remark::of("--kv-cache-memory fixed").has_fixed_pool);
        assert_eq!(Remark::of("nothing of note"), Remark::default());
    }
}
