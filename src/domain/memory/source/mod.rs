//! What a model's own files say of it: `config.json`, a list of quantisation, the header of a safetensors file, an index
//! of shards, the header of a GGUF file.
//!
//! [`read_model`] tells which of these the bytes are. The head of a large file is enough; its length is given beside.
//! What a file cannot tell is named in notes, and nothing is guessed to fill it. Sizes that a file claims are checked
//! against its length before anything is made of them.

pub mod config;
pub mod gguf;
pub mod matching;
pub mod quant;
pub mod safetensors;
pub mod tensors;

pub use quant::QuantRules;
pub use tensors::{ModelTensor, TensorGroup, TensorList};

use super::facts::ModelFacts;

/// Which kind of file the bytes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceKind {
    /// A Hugging Face `config.json`.
    Config,
    /// A list of quantisation beside the weights (`hf_quant_config.json`, `quantize_config.json`).
    QuantConfig,
    /// The header of a safetensors file, with or without its length before it.
    Safetensors,
    /// `model.safetensors.index.json`: names and files, no shapes.
    SafetensorsIndex,
    /// The header of a GGUF file.
    Gguf,
}

impl SourceKind {
    /// Name of its word for `Text::name`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Config => "source_config",
            Self::QuantConfig => "source_quant_config",
            Self::Safetensors => "source_safetensors",
            Self::SafetensorsIndex => "source_safetensors_index",
            Self::Gguf => "source_gguf",
        }
    }
}

/// What is known after a file was read.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelSource {
    /// Which kind of file it was.
    pub kind: SourceKind,
    /// Facts the file states, or that follow from what it states.
    pub facts: ModelFacts,
    /// How the weights are quantised, where the file says so.
    pub quant: Option<QuantRules>,
    /// Tensors, where the file lists them.
    pub tensors: Option<TensorList>,
    /// What the file cannot tell, or tells in a way that could not be taken.
    pub notes: Vec<SourceNote>,
}

impl ModelSource {
    fn new(kind: SourceKind) -> Self {
        Self { kind, facts: ModelFacts::default(), quant: None, tensors: None, notes: Vec::new() }
    }

    fn note(&mut self, kind: NoteKind, what: impl AsRef<str>) {
        let note = SourceNote { kind, what: short(what.as_ref()) };
        if self.notes.len() < MAX_NOTES && !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Takes a fact; one that the field cannot have is named and left unknown.
    fn set(&mut self, column: &str, value: impl ToString) {
        if let Err(problem) = self.facts.set(column, &value.to_string()) {
            self.note(NoteKind::BadValue, problem.to_string());
        }
    }

    /// The same model from two files: what the first does not know is taken from the second. Tensors with sizes count
    /// more than a list of names, and shards add up.
    #[must_use]
    pub fn joined(mut self, other: Self) -> Self {
        self.facts.fill(&other.facts);
        self.quant = self.quant.or(other.quant);
        self.tensors = match (self.tensors, other.tensors) {
            (Some(own), Some(more)) => {
                let list = own.joined(more);
                // Shards tell together what none tells alone.
                let mut facts = list.facts(list.is_whole());
                facts.origin.clone_from(&self.facts.origin);
                self.facts.fill(&facts);
                Some(list)
            }
            (own, more) => own.or(more),
        };
        let solved = self.tensors.as_ref().is_some_and(|list| list.total_bytes().is_some());
        for note in other.notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        if solved {
            self.notes.retain(|note| !matches!(note.kind, NoteKind::NamesOnly | NoteKind::QuantMixed));
        }
        self
    }
}

/// The most notes a file can give.
const MAX_NOTES: usize = 50;

/// What a file cannot tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceNote {
    /// Which kind of note.
    pub kind: NoteKind,
    /// What fills its sentence's `{what}`: a field, a name, a value as it stood there.
    pub what: String,
}

/// Kinds of notes; each has its sentence in the text files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoteKind {
    /// A kind of model that is not known: only what it states plainly is taken.
    UnknownArchitecture,
    /// A method of quantisation that is not known.
    UnknownQuantisation,
    /// A field whose value could not be taken.
    BadValue,
    /// A field that the memory model needs and the file does not state.
    Lacks,
    /// KV heads are not stated and taken to be the query heads, which is the library's default.
    KvHeadsAssumed,
    /// An image or sound part whose size the file does not state.
    OtherPart,
    /// Layers differ in a way that is not kept apart: taken together.
    LayersDiffer,
    /// Some layers slide and the file does not say which.
    SlidingUnknown,
    /// Several formats of weights in one model; which layer has which is told by the tensors alone.
    QuantMixed,
    /// The list of unquantised layers is in another file.
    QuantElsewhere,
    /// A pattern of the list of unquantised layers that could not be read.
    PatternUnread,
    /// One of several files of weights.
    OneOfSeveral,
    /// Names without shapes: only the total is known.
    NamesOnly,
    /// The bytes end inside the header: how many are needed, where that is known.
    HeaderCut,
    /// Sizes in the header do not fit the file's length.
    SizesDoNotFit,
    /// A number format of tensors that is not known.
    UnknownFormat,
}

impl NoteKind {
    /// Every kind, for tests.
    pub const ALL: &'static [Self] = &[
        Self::UnknownArchitecture,
        Self::UnknownQuantisation,
        Self::BadValue,
        Self::Lacks,
        Self::KvHeadsAssumed,
        Self::OtherPart,
        Self::LayersDiffer,
        Self::SlidingUnknown,
        Self::QuantMixed,
        Self::QuantElsewhere,
        Self::PatternUnread,
        Self::OneOfSeveral,
        Self::NamesOnly,
        Self::HeaderCut,
        Self::SizesDoNotFit,
        Self::UnknownFormat,
    ];

    /// Name of its sentence for `Text::name`; `{what}` in it is filled with the note's.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::UnknownArchitecture => "source_note_unknown_architecture",
            Self::UnknownQuantisation => "source_note_unknown_quantisation",
            Self::BadValue => "source_note_bad_value",
            Self::Lacks => "source_note_lacks",
            Self::KvHeadsAssumed => "source_note_kv_heads_assumed",
            Self::OtherPart => "source_note_other_part",
            Self::LayersDiffer => "source_note_layers_differ",
            Self::SlidingUnknown => "source_note_sliding_unknown",
            Self::QuantMixed => "source_note_quant_mixed",
            Self::QuantElsewhere => "source_note_quant_elsewhere",
            Self::PatternUnread => "source_note_pattern_unread",
            Self::OneOfSeveral => "source_note_one_of_several",
            Self::NamesOnly => "source_note_names_only",
            Self::HeaderCut => "source_note_header_cut",
            Self::SizesDoNotFit => "source_note_sizes_do_not_fit",
            Self::UnknownFormat => "source_note_unknown_format",
        }
    }
}

/// Why nothing could be taken from a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceError {
    /// Which kind of trouble.
    pub kind: SourceErrorKind,
    /// What fills its sentence's `{what}`: a place, a value, a parser's own words.
    pub what: String,
}

impl SourceError {
    fn new(kind: SourceErrorKind, what: impl AsRef<str>) -> Self {
        Self { kind, what: short(what.as_ref()) }
    }
}

/// Kinds of trouble with a whole file; each has its sentence in the text files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceErrorKind {
    /// None of the known kinds of file.
    UnknownFile,
    /// Not valid JSON.
    BrokenJson,
    /// JSON that describes no model.
    NoModel,
    /// A header that claims to be longer than the file, or than any header may be.
    HeaderTooLong,
    /// The bytes end before the header does.
    Cut,
    /// A version of the format that is not known.
    UnknownVersion,
    /// A count or a length in the header that no file can have.
    AbsurdSize,
    /// Bytes written in the other order.
    WrongByteOrder,
}

impl SourceErrorKind {
    /// Every kind, for tests.
    pub const ALL: &'static [Self] = &[
        Self::UnknownFile,
        Self::BrokenJson,
        Self::NoModel,
        Self::HeaderTooLong,
        Self::Cut,
        Self::UnknownVersion,
        Self::AbsurdSize,
        Self::WrongByteOrder,
    ];

    /// Name of its sentence for `Text::name`; `{what}` in it is filled with the error's.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::UnknownFile => "source_error_unknown_file",
            Self::BrokenJson => "source_error_broken_json",
            Self::NoModel => "source_error_no_model",
            Self::HeaderTooLong => "source_error_header_too_long",
            Self::Cut => "source_error_cut",
            Self::UnknownVersion => "source_error_unknown_version",
            Self::AbsurdSize => "source_error_absurd_size",
            Self::WrongByteOrder => "source_error_wrong_byte_order",
        }
    }
}

/// How much of a file's head is worth giving, bytes: the largest vocabularies in GGUF headers take 20 MB, the headers
/// of the largest safetensors files 10 MB.
pub const HEAD_BYTES: u64 = 64 << 20;

/// The longest file of settings that is read, bytes; the longest published ones have 300 kB.
const MAX_SETTINGS: usize = 4 << 20;

/// Reads a file of a model. `name_hint` is its name or path, which only tells shards apart and names the origin; `bytes`
/// are its head, [`HEAD_BYTES`] at most; `file_len` is its whole length, `None` for pasted text.
///
/// # Errors
/// Why nothing could be taken. What can be taken in part is not an error but a note.
pub fn read_model(name_hint: &str, bytes: &[u8], file_len: Option<u64>) -> Result<ModelSource, SourceError> {
    let head = usize::try_from(HEAD_BYTES).ok().and_then(|max| bytes.get(..max)).unwrap_or(bytes);
    let mut source = if head.starts_with(b"GGUF") || head.starts_with(b"FUGG") {
        gguf::read(head, file_len)?
    } else if let Some(text) = json_text(head) {
        read_json(text)?
    } else {
        safetensors::read(head, file_len)?
    };
    let file = name_hint.rsplit(['/', '\\']).next().unwrap_or_default();
    if source.facts.origin.is_empty() {
        source.facts.origin = short(if file.is_empty() { "pasted" } else { file });
    }
    if is_shard(file) && matches!(source.kind, SourceKind::Safetensors | SourceKind::Gguf) {
        source.note(NoteKind::OneOfSeveral, file);
    }
    Ok(source)
}

/// JSON objects, whatever they describe.
fn read_json(text: &[u8]) -> Result<ModelSource, SourceError> {
    match shape_of(text) {
        JsonShape::Index => safetensors::read_index(text),
        JsonShape::Header => safetensors::read_pasted(text),
        JsonShape::Other if text.len() > MAX_SETTINGS => {
            Err(SourceError::new(SourceErrorKind::HeaderTooLong, text.len().to_string()))
        }
        JsonShape::Other => config::read(text),
    }
}

enum JsonShape {
    Index,
    Header,
    Other,
}

/// Tells the kinds by words that only they have, near the beginning: a header can be too large to parse twice.
fn shape_of(text: &[u8]) -> JsonShape {
    let holds = |words: &[u8], within: usize| {
        let head = text.get(..within.min(text.len())).unwrap_or_default();
        head.windows(words.len()).any(|window| window == words)
    };
    if holds(b"\"data_offsets\"", 4096) || (holds(b"\"__metadata__\"", 64) && holds(b"\"data_offsets\"", 1 << 20)) {
        JsonShape::Header
    } else if holds(b"\"weight_map\"", 1 << 16) {
        JsonShape::Index
    } else {
        JsonShape::Other
    }
}

/// The text without blanks and a byte order mark before it, when it begins like a JSON object.
fn json_text(bytes: &[u8]) -> Option<&[u8]> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let text = bytes.trim_ascii_start();
    // A safetensors file begins with a length, which can look like a brace: its header's own brace stands at 8.
    let is_binary = bytes.get(1..8).is_some_and(|rest| rest.contains(&0));
    (text.first() == Some(&b'{') && !is_binary).then_some(text)
}

/// "model-00001-of-00030.safetensors".
fn is_shard(name: &str) -> bool {
    let Some((_, rest)) = name.split_once("-of-") else { return false };
    rest.starts_with(|c: char| c.is_ascii_digit()) && !rest.starts_with("00001.")
}

/// Text without control characters, at a readable length.
fn short(text: &str) -> String {
    let mut out: String = text.chars().filter(|c| !c.is_control()).take(200).collect();
    if text.chars().count() > 200 {
        out.push('…');
    }
    out
}
