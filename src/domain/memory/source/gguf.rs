//! Headers of GGUF files: keys of the model, then a table of tensors with the format of each.
//!
//! The head of a file is enough. Where it ends inside the table, the keys still count; where it ends inside the keys,
//! those before count if they name the architecture.

use std::collections::BTreeMap;

use super::tensors::{ModelTensor, TensorList};
use super::{ModelSource, NoteKind, SourceError, SourceErrorKind, SourceKind};

/// The most keys and tensors of a header; published files have some hundred keys and some thousand tensors.
const MAX_KEYS: u64 = 100_000;
const MAX_TENSORS: u64 = 1_000_000;
/// The longest name, bytes; the format's own limit is 65,535 for keys and 64 for tensors.
const MAX_NAME: u64 = 65_535;
/// Numbers kept of an array: one a layer.
const MAX_NUMBERS: usize = 10_000;
/// Arrays within arrays.
const MAX_DEPTH: u32 = 4;

/// A format of tensors: its number in the file, name, elements of a block, bytes of a block (`ggml.h`).
const TYPES: &[(u32, &str, u64, u64)] = &[
    (0, "F32", 1, 4),
    (1, "F16", 1, 2),
    (2, "Q4_0", 32, 18),
    (3, "Q4_1", 32, 20),
    (6, "Q5_0", 32, 22),
    (7, "Q5_1", 32, 24),
    (8, "Q8_0", 32, 34),
    (9, "Q8_1", 32, 36),
    (10, "Q2_K", 256, 84),
    (11, "Q3_K", 256, 110),
    (12, "Q4_K", 256, 144),
    (13, "Q5_K", 256, 176),
    (14, "Q6_K", 256, 210),
    (15, "Q8_K", 256, 292),
    (16, "IQ2_XXS", 256, 66),
    (17, "IQ2_XS", 256, 74),
    (18, "IQ3_XXS", 256, 98),
    (19, "IQ1_S", 256, 50),
    (20, "IQ4_NL", 32, 18),
    (21, "IQ3_S", 256, 110),
    (22, "IQ2_S", 256, 82),
    (23, "IQ4_XS", 256, 136),
    (24, "I8", 1, 1),
    (25, "I16", 1, 2),
    (26, "I32", 1, 4),
    (27, "I64", 1, 8),
    (28, "F64", 1, 8),
    (29, "IQ1_M", 256, 56),
    (30, "BF16", 1, 2),
    (34, "TQ1_0", 256, 54),
    (35, "TQ2_0", 256, 66),
    (39, "MXFP4", 32, 17),
    (40, "NVFP4", 64, 36),
];

/// A value of a key, as far as it is kept.
#[derive(Debug, Clone, PartialEq)]
enum Kept {
    Text(String),
    Number(i128),
    Float,
    Flag(bool),
    /// Numbers or flags of an array, at most [`MAX_NUMBERS`], and how many elements it has.
    Array(Vec<i128>, u64),
}

/// Why reading stopped.
enum Stop {
    /// The bytes end here.
    Cut,
    /// What stands here no file can have.
    Absurd(String),
}

/// A place in the bytes. Numbers are little-endian.
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn take(&mut self, n: u64) -> Result<&'a [u8], Stop> {
        let end = usize::try_from(n).ok().and_then(|n| self.at.checked_add(n)).ok_or(Stop::Cut)?;
        let taken = self.bytes.get(self.at..end).ok_or(Stop::Cut)?;
        self.at = end;
        Ok(taken)
    }

    fn number<const N: usize>(&mut self) -> Result<[u8; N], Stop> {
        let bytes = self.bytes.get(self.at..).and_then(|rest| rest.first_chunk::<N>()).ok_or(Stop::Cut)?;
        self.at += N;
        Ok(*bytes)
    }

    fn u32(&mut self) -> Result<u32, Stop> {
        self.number().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, Stop> {
        self.number().map(u64::from_le_bytes)
    }

    fn name(&mut self) -> Result<String, Stop> {
        let length = self.u64()?;
        if length > MAX_NAME {
            return Err(Stop::Absurd(format!("a name of {length} bytes")));
        }
        Ok(String::from_utf8_lossy(self.take(length)?).into_owned())
    }

    /// A value of this type; only a short text is kept.
    fn value(&mut self, kind: u32, depth: u32) -> Result<Kept, Stop> {
        Ok(match kind {
            0 => Kept::Number(i128::from(u8::from_le_bytes(self.number()?))),
            1 => Kept::Number(i128::from(i8::from_le_bytes(self.number()?))),
            2 => Kept::Number(i128::from(u16::from_le_bytes(self.number()?))),
            3 => Kept::Number(i128::from(i16::from_le_bytes(self.number()?))),
            4 => Kept::Number(i128::from(self.u32()?)),
            5 => Kept::Number(i128::from(i32::from_le_bytes(self.number()?))),
            10 => Kept::Number(i128::from(self.u64()?)),
            11 => Kept::Number(i128::from(i64::from_le_bytes(self.number()?))),
            6 => self.number::<4>().map(|_bytes| Kept::Float)?,
            12 => self.number::<8>().map(|_bytes| Kept::Float)?,
            7 => Kept::Flag(self.number::<1>()? != [0]),
            8 => {
                let length = self.u64()?;
                let text = self.take(length)?;
                Kept::Text(super::short(&String::from_utf8_lossy(
                    text.get(..text.len().min(1_000)).unwrap_or_default(),
                )))
            }
            9 => self.array(depth)?,
            other => return Err(Stop::Absurd(format!("value type {other}"))),
        })
    }

    fn array(&mut self, depth: u32) -> Result<Kept, Stop> {
        if depth >= MAX_DEPTH {
            return Err(Stop::Absurd("arrays within arrays".to_owned()));
        }
        let kind = self.u32()?;
        let n = self.u64()?;
        // Every element takes a byte, so that a longer array than the rest ends there; nothing is kept for it.
        let mut numbers = Vec::new();
        for _ in 0..n {
            match self.value(kind, depth + 1)? {
                Kept::Number(number) if numbers.len() < MAX_NUMBERS => numbers.push(number),
                Kept::Flag(flag) if numbers.len() < MAX_NUMBERS => numbers.push(i128::from(flag)),
                _ => {}
            }
        }
        Ok(Kept::Array(numbers, n))
    }
}

/// Reads the head of a GGUF file.
///
/// # Errors
/// It is of an unknown version or the other byte order, claims more than any file has, or ends before it names an
/// architecture.
pub(super) fn read(bytes: &[u8], file_len: Option<u64>) -> Result<ModelSource, SourceError> {
    if bytes.starts_with(b"FUGG") {
        return Err(SourceError::new(SourceErrorKind::WrongByteOrder, "GGUF"));
    }
    let mut cursor = Cursor { bytes, at: 4 };
    let cut = |_stop| SourceError::new(SourceErrorKind::Cut, format!("> {}", bytes.len()));
    let version = cursor.u32().map_err(cut)?;
    match version {
        2 | 3 => {}
        0x0200_0000 | 0x0300_0000 => return Err(SourceError::new(SourceErrorKind::WrongByteOrder, "GGUF")),
        _ => return Err(SourceError::new(SourceErrorKind::UnknownVersion, format!("GGUF {version}"))),
    }
    let n_tensors = cursor.u64().map_err(cut)?;
    let n_keys = cursor.u64().map_err(cut)?;
    // An entry of the table takes 24 bytes at least, a key 13.
    let claimed = n_tensors.checked_mul(24).and_then(|bytes| n_keys.checked_mul(13)?.checked_add(bytes));
    let too_many = n_keys > MAX_KEYS || n_tensors > MAX_TENSORS || claimed.is_none();
    if too_many || claimed.zip(file_len).is_some_and(|(claimed, len)| claimed > len) {
        return Err(SourceError::new(SourceErrorKind::AbsurdSize, format!("{n_keys} keys, {n_tensors} tensors")));
    }
    let mut keys = BTreeMap::new();
    let mut stop = None;
    for _ in 0..n_keys {
        match key(&mut cursor) {
            Ok((name, value)) => {
                keys.entry(name).or_insert(value);
            }
            Err(why) => {
                stop = Some(why);
                break;
            }
        }
    }
    let Some(Kept::Text(arch)) = keys.get("general.architecture").cloned() else {
        return Err(match stop {
            Some(Stop::Absurd(what)) => SourceError::new(SourceErrorKind::AbsurdSize, what),
            Some(Stop::Cut) => SourceError::new(SourceErrorKind::Cut, format!("> {}", bytes.len())),
            None => SourceError::new(SourceErrorKind::NoModel, "general.architecture"),
        });
    };
    let mut source = ModelSource::new(SourceKind::Gguf);
    let mut list = None;
    if stop.is_none() {
        match table(&mut cursor, n_tensors, &keys, file_len, &mut source) {
            Ok(tensors) => list = Some(tensors),
            Err(why) => stop = Some(why),
        }
    }
    match stop {
        Some(Stop::Cut) => source.note(NoteKind::HeaderCut, bytes.len().to_string()),
        Some(Stop::Absurd(what)) => source.note(NoteKind::SizesDoNotFit, what),
        None => {}
    }
    facts(&arch, &keys, list.as_ref(), &mut source);
    if let Some(list) = list
        && list.total_bytes().is_some()
    {
        source.tensors = Some(list);
    }
    Ok(source)
}

fn key(cursor: &mut Cursor<'_>) -> Result<(String, Kept), Stop> {
    let name = cursor.name()?;
    let kind = cursor.u32()?;
    Ok((name, cursor.value(kind, 0)?))
}

/// The table of tensors. A format that is not known has the bytes up to the next tensor.
fn table(
    cursor: &mut Cursor<'_>,
    n_tensors: u64,
    keys: &BTreeMap<String, Kept>,
    file_len: Option<u64>,
    source: &mut ModelSource,
) -> Result<TensorList, Stop> {
    let mut entries = Vec::new();
    for _ in 0..n_tensors {
        let name = cursor.name()?;
        let n_dimensions = cursor.u32()?;
        if n_dimensions > 8 {
            return Err(Stop::Absurd(format!("{}: {n_dimensions} dimensions", super::short(&name))));
        }
        let shape = (0..n_dimensions).map(|_| cursor.u64()).collect::<Result<Vec<u64>, Stop>>()?;
        let kind = cursor.u32()?;
        let offset = cursor.u64()?;
        entries.push((name, shape, kind, offset));
    }
    let alignment = match keys.get("general.alignment") {
        Some(Kept::Number(n)) => u64::try_from(*n).ok().filter(|n| (1..=1 << 20).contains(n)).unwrap_or(32),
        _ => 32,
    };
    let header = u64::try_from(cursor.at).unwrap_or(u64::MAX);
    let data = header.checked_next_multiple_of(alignment).unwrap_or(header);
    let room = file_len.map(|len| len.saturating_sub(data));
    let mut offsets: Vec<u64> = entries.iter().map(|(.., offset)| *offset).collect();
    offsets.sort_unstable();
    let mut tensors = Vec::with_capacity(entries.len());
    let mut fits = true;
    for (name, shape, kind, offset) in entries {
        let known = TYPES.iter().find(|(number, ..)| *number == kind);
        let elements = shape.iter().try_fold(1_u64, |product, size| product.checked_mul(*size));
        let Some(elements) = elements else {
            return Err(Stop::Absurd(super::short(&name)));
        };
        let bytes = match known {
            Some((_, _, block, size)) => elements.div_ceil(*block).checked_mul(*size),
            None => {
                source.note(NoteKind::UnknownFormat, format!("ggml type {kind}"));
                let next = offsets.get(offsets.partition_point(|other| *other <= offset)).copied().or(room);
                next.and_then(|next| next.checked_sub(offset))
            }
        };
        let end = bytes.and_then(|bytes| offset.checked_add(bytes));
        if bytes.is_some() && (end.is_none() || end.zip(room).is_some_and(|(end, room)| end > room)) {
            fits = false;
            source.note(NoteKind::SizesDoNotFit, &name);
        }
        let dtype = known.map_or_else(|| format!("type {kind}"), |(_, name, ..)| (*name).to_owned());
        tensors.push(ModelTensor { name: super::short(&name), dtype, shape, bytes });
    }
    let stated_bytes = None;
    // A table that does not fit its file has no total that could be believed; names and shapes stay.
    if !fits {
        for tensor in &mut tensors {
            tensor.bytes = None;
        }
    }
    Ok(TensorList { tensors, stated_bytes, n_files: 1 })
}

/// Every how many layers one keeps all tokens, for kinds of models whose files do not say.
const SLIDING_EVERY: &[(&str, u64)] =
    &[("gemma2", 2), ("gemma3", 6), ("gemma3n", 5), ("gpt-oss", 2), ("cohere2", 4), ("olmo2", 4)];

/// Keys of the model, under the name of its architecture.
struct Keys<'a> {
    arch: &'a str,
    keys: &'a BTreeMap<String, Kept>,
}

impl Keys<'_> {
    fn get(&self, key: &str) -> Option<&Kept> {
        self.keys.get(&format!("{}.{key}", self.arch))
    }

    fn number(&self, key: &str) -> Option<i128> {
        match self.get(key)? {
            Kept::Number(n) => Some(*n),
            _ => None,
        }
    }

    /// A number, or an array with one a layer.
    fn numbers(&self, key: &str) -> Vec<i128> {
        match self.get(key) {
            Some(Kept::Number(n)) => vec![*n],
            Some(Kept::Array(numbers, _)) => numbers.clone(),
            _ => Vec::new(),
        }
    }
}

fn facts(arch: &str, keys: &BTreeMap<String, Kept>, list: Option<&TensorList>, source: &mut ModelSource) {
    let of = Keys { arch, keys };
    if let Some(Kept::Text(name)) = keys.get("general.name") {
        source.facts.model.clone_from(name);
    }
    source.facts.quant_method = Some("gguf".to_owned());
    for (key, column) in [
        ("embedding_length", "hidden"),
        ("context_length", "max_position"),
        ("expert_count", "moe_experts"),
        ("expert_used_count", "experts_per_tok"),
        ("expert_feed_forward_length", "moe_intermediate"),
        ("expert_shared_count", "shared_experts"),
        ("expert_shared_feed_forward_length", "shared_intermediate"),
        ("leading_dense_block_count", "first_dense_layers"),
        ("attention.q_lora_rank", "q_lora_rank"),
        ("attention.kv_lora_rank", "kv_lora_rank"),
        ("attention.sliding_window", "sliding_window"),
        ("attention.shared_kv_layers", "kv_shared_layers"),
        ("attention.indexer.head_count", "index_heads"),
        ("attention.indexer.key_length", "index_head_dim"),
    ] {
        if let Some(n) = of.number(key).filter(|n| *n != 0 || column != "moe_experts") {
            source.set(column, n);
        }
    }
    let drafts = of.number("nextn_predict_layers").unwrap_or(0).max(0);
    let layers = of.number("block_count").map(|n| n - drafts);
    match layers {
        Some(n) => source.set("layers", n),
        None => source.note(NoteKind::Lacks, "block_count"),
    }
    heads(&of, layers, source);
    linear(&of, layers, source);
    let vocab = match (of.number("vocab_size"), keys.get("tokenizer.ggml.tokens")) {
        (Some(n), _) => Some(n),
        (None, Some(Kept::Array(_, n))) => Some(i128::from(*n)),
        _ => None,
    };
    if let Some(n) = vocab {
        source.set("vocab", n);
    }
    if matches!(keys.get("split.count"), Some(Kept::Number(n)) if *n > 1) {
        source.note(NoteKind::OneOfSeveral, "split.count");
    } else if let Some(list) = list {
        let has = |name: &str| list.tensors.iter().any(|tensor| tensor.name == name);
        let any = |part: &str| list.tensors.iter().any(|tensor| tensor.name.ends_with(part));
        source.facts.tie_embeddings = Some(has("token_embd.weight") && !has("output.weight"));
        source.facts.qkv_bias = Some(any(".attn_q.bias") || any(".attn_qkv.bias"));
        source.facts.qk_norm = Some(any(".attn_q_norm.weight"));
        let plain = list.tensors.iter().all(|tensor| matches!(tensor.dtype.as_str(), "F32" | "F16" | "BF16"));
        let elements = list.tensors.iter().try_fold(0_u64, |sum, tensor| sum.checked_add(tensor.elements()?));
        if let Some(elements) = elements.filter(|_| list.has_sizes()) {
            source.set("params_text_computed", elements);
        }
        if plain {
            source.facts.quant_method = None;
        }
    }
}

/// Heads, the sizes of heads, and which layers slide.
fn heads(of: &Keys<'_>, layers: Option<i128>, source: &mut ModelSource) {
    let same = |numbers: &[i128]| numbers.iter().all(|n| Some(n) == numbers.first());
    let most = |numbers: &[i128]| numbers.iter().copied().max().filter(|n| *n > 0);
    let widths = of.numbers("feed_forward_length");
    if let Some(n) = most(&widths) {
        source.set("intermediate", n);
        if !same(&widths) {
            source.note(NoteKind::LayersDiffer, "feed_forward_length");
        }
    }
    let heads = of.numbers("attention.head_count");
    if let Some(n) = most(&heads) {
        source.set("heads", n);
    }
    let own = of.numbers("attention.head_count_kv");
    let kv_heads = if own.is_empty() { heads.clone() } else { own };
    let latent = of.number("attention.kv_lora_rank").is_some_and(|n| n > 0);
    let with_cache: Vec<i128> = kv_heads.iter().copied().filter(|n| *n > 0).collect();
    if kv_heads.len() > 1 && with_cache.len() < kv_heads.len() {
        source.set("full_attn_layers", with_cache.len());
    }
    let pattern = of.get("attention.sliding_window_pattern");
    // Layers with fewer heads are those that keep all tokens, where the pattern says so.
    match (most(&with_cache), with_cache.iter().copied().min(), pattern) {
        (Some(n), Some(least), Some(Kept::Array(slides, _))) if n != least && slides.len() == kv_heads.len() => {
            let pick = |sliding: bool| {
                kv_heads.iter().zip(slides).find(|(_, slides)| (**slides != 0) == sliding).map(|(heads, _)| *heads)
            };
            source.set("kv_heads", pick(true).unwrap_or(n));
            if let Some(global) = pick(false) {
                source.set("kv_shared_global_heads", global);
            }
        }
        (Some(n), Some(least), _) => {
            if n != least {
                source.note(NoteKind::LayersDiffer, "attention.head_count_kv");
            }
            // With latent attention the file states how the cache is laid out, one head for all.
            if !latent {
                source.set("kv_heads", n);
            }
        }
        _ => {}
    }
    let rope = of.number("rope.dimension_count");
    if latent {
        let key = of.number("attention.key_length_mla").or_else(|| of.number("attention.key_length"));
        if let Some(rope) = rope {
            source.set("qk_rope_head_dim", rope);
            if let Some(key) = key.filter(|key| *key > rope) {
                source.set("qk_nope_head_dim", key - rope);
            }
        }
        if let Some(n) = of.number("attention.value_length_mla").or_else(|| of.number("attention.value_length")) {
            source.set("v_head_dim", n);
        }
    } else {
        head_sizes(of, most(&heads), source);
    }
    let Some(layers) = layers.filter(|_| of.number("attention.sliding_window").is_some_and(|n| n > 0)) else { return };
    let every = match pattern {
        Some(Kept::Array(slides, _)) => {
            source.set("full_attn_layers", slides.iter().filter(|slides| **slides == 0).count());
            return;
        }
        Some(Kept::Number(n)) if *n > 0 => Some(*n),
        _ => SLIDING_EVERY.iter().find(|(name, _)| *name == of.arch).map(|(_, n)| i128::from(*n)),
    };
    match every {
        Some(every) => source.set("full_attn_layers", layers / every),
        None => source.note(NoteKind::SlidingUnknown, of.arch),
    }
}

fn head_sizes(of: &Keys<'_>, heads: Option<i128>, source: &mut ModelSource) {
    let even = of.number("embedding_length").zip(heads).filter(|(hidden, heads)| *heads > 0 && hidden % heads == 0);
    let key = of.number("attention.key_length").or_else(|| even.map(|(hidden, heads)| hidden / heads));
    let Some(key) = key else { return };
    // A size of its own for sliding layers makes the plain one that of the layers that keep all.
    match of.number("attention.key_length_swa") {
        Some(sliding) if sliding != key => {
            source.set("head_dim", sliding);
            source.set("global_head_dim", key);
        }
        _ => source.set("head_dim", key),
    }
    if let Some(value) = of.number("attention.value_length").filter(|value| *value != key) {
        source.set("v_head_dim", value);
    }
}

/// Linear attention and state-space layers share their keys.
fn linear(of: &Keys<'_>, layers: Option<i128>, source: &mut ModelSource) {
    let Some(state) = of.number("ssm.state_size") else { return };
    let (heads, inner) = (of.number("ssm.time_step_rank"), of.number("ssm.inner_size"));
    let head_dim = heads.zip(inner).filter(|(heads, _)| *heads > 0).map(|(heads, inner)| inner / heads);
    let groups = of.number("ssm.group_count");
    if let Some(n) = of.number("ssm.conv_kernel") {
        source.set("linear_conv", n);
    }
    let full = match (layers, of.number("full_attention_interval")) {
        (Some(layers), Some(every)) if every > 0 => Some(layers / every),
        _ => source.facts.full_attn_layers.map(i128::from),
    };
    let is_delta = of.arch.contains("next") || of.arch.starts_with("qwen3") || of.arch.contains("kimi");
    let columns = if is_delta {
        [
            ("linear_k_head_dim", Some(state)),
            ("linear_k_heads", groups),
            ("linear_v_heads", heads),
            ("linear_v_head_dim", head_dim),
        ]
    } else {
        [("mamba_state", Some(state)), ("mamba_groups", groups), ("mamba_heads", heads), ("mamba_head_dim", head_dim)]
    };
    for (column, value) in columns {
        if let Some(n) = value {
            source.set(column, n);
        }
    }
    if let Some(full) = full {
        source.set("full_attn_layers", full);
        if is_delta && let Some(layers) = layers {
            source.set("linear_attn_layers", layers - full);
        }
    }
    if !is_delta {
        source.note(NoteKind::LayersDiffer, "ssm");
    }
    if is_delta {
        // The query of these carries its gate.
        source.facts.attn_output_gate = Some(true);
    }
}
